#include "communicator/control/agreement.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"

namespace laneway {

namespace {

/// What a rank says; merged, what holds for all ranks.
struct Votes {
  static constexpr std::int64_t nobody = INT_MAX;
  /// A number, and whether it is the same on all ranks.
  struct Same {
    std::int64_t least = 0;
    std::int64_t least_negative = 0;

    Same(std::int64_t value) : least(value), least_negative(-value) {}
    [[nodiscard]] bool holds() const { return least == -least_negative; }
  };

  std::int64_t failed;  ///< the first rank that did
  Same hints;
  Same world;
  Flags flags;
  bool has_helper = true;             ///< no simulated rank says so
  std::vector<std::int64_t> regions;  ///< by rank, -1 if that is not known; of few ranks

  [[nodiscard]] bool is_agreement() const { return failed == nobody && hints.holds(); }

  void put(Writer& writer) const {
    for_each([&](std::int64_t vote) { writer.put(vote); }, *this);
  }
  void get(Reader& reader) {
    for_each(
        [&](auto& vote) { vote = static_cast<std::remove_reference_t<decltype(vote)>>(reader.get<std::int64_t>()); },
        *this);
  }
  /// Of every number the least counts.
  void merge(const Votes& other) {
    for_each([](auto& vote, const auto& others) { vote = std::min(vote, others); }, *this, other);
  }
  void merge_all(const ControlComm& comm) {
    Writer writer;
    put(writer);
    const Bytes mine = writer.take();
    Bytes all(mine.size());
    const auto count = static_cast<int>(mine.size() / sizeof(std::int64_t));
    reduce_progressing(mine.data(), all.data(), count, MPI_INT64_T, MPI_MIN, comm);
    Reader reader(all);
    get(reader);
  }

 private:
  template <class F, class... V>
  static void for_each(F&& f, V&... votes) {
    f(votes.failed...);
    f(votes.hints.least...);
    f(votes.hints.least_negative...);
    f(votes.world.least...);
    f(votes.world.least_negative...);
    for (std::size_t i = 0; i < std::tuple_size_v<Flags>; ++i) f(votes.flags[i]...);
    if constexpr (!simulated) f(votes.has_helper...);
    const std::size_t ranks = std::min({votes.regions.size()...});
    for (std::size_t i = 0; i < ranks; ++i) f(votes.regions[i]...);
  }
};

/// What few ranks have in common, and their planners' next round.
struct Answer {
  Votes all;
  std::optional<Round> round;
  std::uint64_t edges = 0;  // the sum
};

/// Simulated control messages are as long as they were without it.
void put_edges(Writer& writer, std::uint64_t edges) {
  if constexpr (!simulated) writer.put(edges);
}
std::uint64_t get_edges(Reader& reader) {
  if constexpr (simulated) return 0;
  return reader.get<std::uint64_t>();
}

Answer ask_first(ControlRounds& rounds, const Votes& mine, std::uint64_t edges, Planner* planner,
                 const std::vector<ControlMessage>& control_messages) {
  Writer writer;
  mine.put(writer);
  put_edges(writer, edges);
  if (planner != nullptr) writer.put(control_messages.front().data);
  const Bytes choice = rounds.carry({Round::Kind::exchange, {{0, writer.take()}}, {0}, {}, nullptr}).front();
  Reader reader(choice);
  Answer answer{mine, std::nullopt};
  answer.all.get(reader);
  answer.edges = get_edges(reader);
  if (reader.done()) return answer;
  (void)planner->resume({});
  answer.round = planner->resume({reader.get_bytes()});
  return answer;
}

/// Whoever fails while it chooses for all tells them. `failure` is this rank's.
Answer answer_all(ControlRounds& rounds, const ControlComm& comm, Votes all, std::uint64_t edges, Planner* planner,
                  std::exception_ptr& failure) {
  std::vector<Rank> others;
  for (Rank rank = 1; rank < comm.size(); ++rank) others.push_back(rank);
  const std::vector<Bytes> inbox = rounds.carry({Round::Kind::exchange, {}, others, {}, nullptr});
  bool all_plan = planner != nullptr;
  std::vector<Bytes> control_messages;
  for (const Bytes& bytes : inbox) {
    Reader reader(bytes);
    Votes votes = all;
    votes.get(reader);
    all.merge(votes);
    edges += get_edges(reader);
    all_plan = all_plan && !reader.done();
    if (all_plan) control_messages.push_back(reader.get_bytes());
  }
  all_plan = all_plan && all.is_agreement() && edges == 0;
  std::vector<ControlMessage> choices;
  try {
    if (all_plan) choices = planner->resume(control_messages).control_messages;
  } catch (...) {
    failure = std::current_exception();
    all.failed = comm.rank();
    all_plan = false;
  }
  Round answers{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (std::size_t i = 0; i < others.size(); ++i) {
    Writer writer;
    all.put(writer);
    put_edges(writer, edges);
    if (all_plan) writer.put(choices[i].data);
    answers.control_messages.push_back({others[i], writer.take()});
  }
  (void)rounds.carry(std::move(answers));
  if (!all_plan) return {std::move(all), std::nullopt, edges};
  return {std::move(all), planner->resume({}), edges};
}

}  // namespace

Agreement agree(const ControlComm& comm, std::exception_ptr failure, const Hints& hints, const Flags& flags,
                std::optional<Rank> region, std::optional<std::uint64_t> edges, Planner* planner,
                const std::vector<ControlMessage>& control_messages) {
  Votes mine{.failed = failure ? comm.rank() : Votes::nobody,
             .hints = static_cast<std::int64_t>(hints.fingerprint() >> 1),
             .world = known_world(),
             .flags = flags,
             .regions = {}};
  if constexpr (!simulated) mine.has_helper = has_helper();
  Answer answer{mine, std::nullopt};
  if (comm.size() <= few_ranks) {
    mine.regions.assign(static_cast<std::size_t>(comm.size()), INT_MAX);
    mine.regions[static_cast<std::size_t>(comm.rank())] = region.value_or(-1);
    ControlRounds rounds(comm);
    const std::uint64_t own_edges = simulated ? 0 : edges.value_or(0);
    answer = comm.rank() == 0 ? answer_all(rounds, comm, std::move(mine), own_edges, planner, failure)
                              : ask_first(rounds, mine, own_edges, planner, control_messages);
  } else {
    answer.all.merge_all(comm);
  }
  const Votes& all = answer.all;
  if (!all.is_agreement()) comm.all_throw();
  if (failure) std::rethrow_exception(failure);
  require(all.failed == Votes::nobody, ErrorKind::argument,
          "rank " + std::to_string(all.failed) + " has reported an error in this call");
  require(all.is_agreement(), ErrorKind::info,
          "info and environment: the hints differ between ranks (here: strategy " + std::string(hints.strategy.name()) +
              ", machine '" + hints.machine + "')");
  if (!simulated && edges && comm.size() > few_ranks)
    reduce_progressing(&*edges, &answer.edges, 1, MPI_UINT64_T, MPI_SUM, comm);
  Agreement agreed;
  agreed.flags = all.flags;
  agreed.have_helpers = all.has_helper;
  agreed.edges_match = answer.edges == 0;
  agreed.round = std::move(answer.round);
  agreed.knows_nodes = all.world.holds() && all.world.least != 0;
  const bool are_described = !hints.machine.empty() || !hints.grid.empty();
  if (!are_described && !agreed.knows_nodes) return agreed;
  if (std::ranges::count(all.regions, -1) == 0)
    for (std::size_t i = 0; i < all.regions.size(); ++i)
      agreed.regions.emplace(static_cast<Rank>(i), static_cast<Rank>(all.regions[i]));
  return agreed;
}

void carry_out(Planner& planner, Round round, Communicator& communicator, const ControlComm& comm, const Hints& hints) {
  ControlRounds rounds(comm);
  while (round.kind != Round::Kind::done) round = planner.resume(rounds.carry(std::move(round)));
  communicator.learn_regions(hints, planner.peer_regions());
}

Agreement agree_on_nodes(Communicator& communicator, const Hints& hints) {
  return agree(*communicator.private_comm(), nullptr, hints, {}, communicator.known_region(hints));
}

}  // namespace laneway
