#include "comm/agreement.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "carriers/messages/p2p.hpp"
#include "comm/background.hpp"
#include "comm/discovery.hpp"
#include "comm/mailbox.hpp"
#include "core/error.hpp"
#include "core/simulated.hpp"
#include "core/wire.hpp"

namespace laneway {

namespace {

/// Of what the ranks give, the least is wanted.
using Words = std::vector<std::int64_t>;

enum Word : std::uint8_t { failed_rank, fingerprint, negative_fingerprint, world, negative_world, first_flag };

bool is_agreement(const Words& least) {
  return least[failed_rank] == INT_MAX && least[fingerprint] == -least[negative_fingerprint];
}

void put(Writer& writer, const Words& words) {
  for (const std::int64_t word : words) writer.put(word);
}

Words get_words(Reader& reader, std::size_t n) {
  Words words(n);
  for (std::int64_t& word : words) word = reader.get<std::int64_t>();
  return words;
}

/// What few ranks have in common, and their planners' next round.
struct Answer {
  Words least;
  std::optional<Round> round;
  std::uint64_t edges = 0;  // the sum
};

/// Simulated letters are as long as they were without it.
void put_edges(Writer& writer, std::uint64_t edges) {
  if constexpr (!simulated) writer.put(edges);
}
std::uint64_t get_edges(Reader& reader) {
  if constexpr (simulated) return 0;
  return reader.get<std::uint64_t>();
}

Answer ask_first(Mailbox& mailbox, const Words& mine, std::uint64_t edges, Planner* planner,
                 const std::vector<Letter>& letters) {
  Writer writer;
  put(writer, mine);
  put_edges(writer, edges);
  if (planner != nullptr) writer.put(letters.front().data);
  const Bytes told = mailbox.carry({Round::Kind::exchange, {{0, writer.take()}}, {0}, {}, nullptr}).front();
  Reader reader(told);
  Answer answer{get_words(reader, mine.size()), std::nullopt};
  answer.edges = get_edges(reader);
  if (reader.done()) return answer;
  (void)planner->resume({});
  answer.round = planner->resume({reader.get_bytes()});
  return answer;
}

/// Whoever fails while it chooses for all tells them. `failure` is this rank's.
Answer answer_all(Mailbox& mailbox, const PrivateComm& comm, Words least, std::uint64_t edges, Planner* planner,
                  std::exception_ptr& failure) {
  std::vector<Rank> others;
  for (Rank rank = 1; rank < comm.size(); ++rank) others.push_back(rank);
  const std::vector<Bytes> inbox = mailbox.carry({Round::Kind::exchange, {}, others, {}, nullptr});
  bool all_plan = planner != nullptr;
  std::vector<Bytes> letters;
  for (const Bytes& bytes : inbox) {
    Reader reader(bytes);
    const Words words = get_words(reader, least.size());
    edges += get_edges(reader);
    std::ranges::transform(least, words, least.begin(), [](auto a, auto b) { return std::min(a, b); });
    all_plan = all_plan && !reader.done();
    if (all_plan) letters.push_back(reader.get_bytes());
  }
  all_plan = all_plan && is_agreement(least) && edges == 0;
  std::vector<Letter> choices;
  try {
    if (all_plan) choices = planner->resume(letters).letters;
  } catch (...) {
    failure = std::current_exception();
    least[failed_rank] = comm.rank();
    all_plan = false;
  }
  Round answers{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (std::size_t i = 0; i < others.size(); ++i) {
    Writer writer;
    put(writer, least);
    put_edges(writer, edges);
    if (all_plan) writer.put(choices[i].data);
    answers.letters.push_back({others[i], writer.take()});
  }
  (void)mailbox.carry(std::move(answers));
  if (!all_plan) return {std::move(least), std::nullopt, edges};
  return {std::move(least), planner->resume({}), edges};
}

}  // namespace

Agreement agree(const PrivateComm& comm, std::exception_ptr failure, const Hints& hints, const Flags& flags,
                std::optional<Rank> region, std::optional<std::uint64_t> edges, Planner* planner,
                const std::vector<Letter>& letters) {
  const auto own_fingerprint = static_cast<std::int64_t>(hints.fingerprint() >> 1);
  const std::int64_t own_world = known_world();
  Words mine = {failure ? comm.rank() : INT_MAX, own_fingerprint, -own_fingerprint, own_world, -own_world};
  mine.insert(mine.end(), flags.begin(), flags.end());
  if constexpr (!simulated) mine.push_back(has_helper());
  const std::size_t first_region = mine.size();
  Answer answer;
  if (comm.size() <= few_ranks) {
    mine.resize(first_region + static_cast<std::size_t>(comm.size()), INT_MAX);
    mine[first_region + static_cast<std::size_t>(comm.rank())] = region.value_or(-1);
    Mailbox mailbox(comm);
    const std::uint64_t own_edges = simulated ? 0 : edges.value_or(0);
    answer = comm.rank() == 0 ? answer_all(mailbox, comm, std::move(mine), own_edges, planner, failure)
                              : ask_first(mailbox, mine, own_edges, planner, letters);
  } else {
    answer.least = reduce_progressing(mine, MPI_INT64_T, MPI_MIN, comm);
  }
  const Words& least = answer.least;
  if (least[failed_rank] != INT_MAX || !is_agreement(least)) comm.all_throw();
  if (failure) std::rethrow_exception(failure);
  require(least[failed_rank] == INT_MAX, ErrorKind::argument,
          "rank " + std::to_string(least[failed_rank]) + " has reported an error in this call");
  require(is_agreement(least), ErrorKind::info,
          "info and environment: the hints differ between ranks (here: strategy " + std::string(hints.strategy.name()) +
              ", machine '" + hints.machine + "')");
  if (!simulated && edges && comm.size() > few_ranks)
    reduce_progressing(&*edges, &answer.edges, 1, MPI_UINT64_T, MPI_SUM, comm);
  Agreement agreed;
  agreed.edges_match = answer.edges == 0;
  agreed.round = std::move(answer.round);
  for (std::size_t i = 0; i < flags.size(); ++i) agreed.flags[i] = least[first_flag + i] != 0;
  if constexpr (!simulated) agreed.have_helpers = least[first_flag + flags.size()] != 0;
  agreed.knows_nodes = least[world] == -least[negative_world] && least[world] != 0;
  const bool are_described = !hints.machine.empty() || !hints.grid.empty();
  if (!are_described && !agreed.knows_nodes) return agreed;
  if (std::find(least.begin() + static_cast<std::ptrdiff_t>(first_region), least.end(), -1) == least.end())
    for (std::size_t i = first_region; i < least.size(); ++i)
      agreed.regions.emplace(static_cast<Rank>(i - first_region), static_cast<Rank>(least[i]));
  return agreed;
}

void carry_out(Planner& planner, Round round, Communicator& communicator, const PrivateComm& comm, const Hints& hints) {
  Mailbox mailbox(comm);
  while (round.kind != Round::Kind::done) round = planner.resume(mailbox.carry(std::move(round)));
  communicator.learn_regions(hints, planner.peer_regions());
}

Agreement agree_on_nodes(Communicator& communicator, const Hints& hints) {
  return agree(*communicator.private_comm(), nullptr, hints, {}, communicator.known_region(hints));
}

}  // namespace laneway
