#include "communicator/control/check_edges.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes/mix.hpp"
#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "communicator/control/control_rounds.hpp"

namespace laneway {

namespace {

using Sizes = std::vector<std::int64_t>;

/// A barrier by dissemination, of which a turn does what can be done at once.
class TurnByTurnBarrier {
 public:
  explicit TurnByTurnBarrier(const ControlComm& comm) : comm_(comm), sent_(comm) {}

  /// True when all ranks have come.
  [[nodiscard]] bool advance() {
    for (; distance_ < comm_.size(); distance_ *= 2, has_sent_ = false) {
      if (!has_sent_) sent_.send((comm_.rank() + distance_) % comm_.size(), ControlComm::barrier_tag, {});
      has_sent_ = true;
      const Rank from = (comm_.rank() - distance_ + comm_.size()) % comm_.size();
      const std::optional<FoundMessage> found = comm_.find(from, ControlComm::barrier_tag);
      if (!found) return false;
      (void)found->take();
    }
    return sent_.all_complete();
  }

 private:
  const ControlComm& comm_;
  ControlMessages sent_;
  Rank distance_ = 1;
  bool has_sent_ = false;
};

/// Sends each destination its edges' sizes and returns what arrived, by source, without knowing who sends: nonblocking
/// consensus (Hoefler, Siebert, Lumsdaine: Scalable Communication Protocols for Dynamic Sparse Data Exchange, 2010).
std::map<Rank, Sizes> exchange_sizes(const ControlComm& comm, const std::map<Rank, Sizes>& outgoing) {
  ControlMessages sent(comm);
  for (const auto& [peer, sizes] : outgoing) {
    Writer writer;
    for (const std::int64_t size : sizes) writer.put(size);
    sent.send(peer, ControlComm::check_tag, writer.take(), true);
  }
  std::map<Rank, Sizes> incoming;
  TurnByTurnBarrier barrier(comm);
  await(comm, [&] {
    while (const std::optional<FoundMessage> found = comm.find(MPI_ANY_SOURCE, ControlComm::check_tag)) {
      const Bytes data = found->take();
      for (Reader reader(data); !reader.done();) incoming[found->source].push_back(reader.get<std::int64_t>());
    }
    return sent.all_complete() && barrier.advance();
  });
  return incoming;
}

/// The first edge of this rank that disagrees, as (source, destination, text length) for ordering, with its text.
struct Disagreement {
  std::array<std::int64_t, 2> edge{LLONG_MAX, LLONG_MAX};
  std::string text;
};

Disagreement first_disagreement(Rank rank, const std::map<Rank, Sizes>& announced,
                                const std::map<Rank, Sizes>& expected) {
  Disagreement first;
  auto compare = [&](Rank source, const Sizes& sent, const Sizes& received) {
    if (sent == received || first.edge[0] <= source) return;
    first.edge = {source, rank};
    const auto nth = static_cast<std::size_t>(
        std::mismatch(sent.begin(), sent.begin() + static_cast<std::ptrdiff_t>(std::min(sent.size(), received.size())),
                      received.begin())
            .first -
        sent.begin());
    auto side = [&](const Sizes& sizes, const char* arguments) {
      return nth < sizes.size() ? std::to_string(sizes[nth]) + " bytes (" + arguments + ")"
                                : std::string("no such edge");
    };
    first.text = "edge " + std::to_string(source) + " -> " + std::to_string(rank) + " (number " +
                 std::to_string(nth + 1) + " between these two): the source has " + side(sent, "sendcounts, sendtype") +
                 ", the destination " + side(received, "recvcounts, recvtype");
  };
  for (const auto& [source, sent] : announced) {
    const auto it = expected.find(source);
    compare(source, sent, it == expected.end() ? Sizes{} : it->second);
  }
  for (const auto& [source, received] : expected)
    if (!announced.contains(source)) compare(source, {}, received);
  return first;
}

/// The text of one rank, as all have it.
std::string share_text(const ControlComm& comm, Rank owner, const std::string& mine) {
  std::vector<std::uint8_t> text(512);
  if (owner == comm.rank()) std::copy_n(mine.begin(), std::min(mine.size(), text.size() - 1), text.begin());
  text = reduce_progressing(text, MPI_UINT8_T, MPI_MAX, comm);
  return reinterpret_cast<const char*>(text.data());
}

}  // namespace

std::optional<RankText> first_text(const ControlComm& comm, const std::string& mine) {
  const std::vector<int> own = {mine.empty() ? INT_MAX : comm.rank()};
  const Rank first = reduce_progressing(own, MPI_INT, MPI_MIN, comm).front();
  if (first == INT_MAX) return std::nullopt;
  return RankText{first, share_text(comm, first, mine)};
}

void check_same(const ControlComm& comm, const std::string& what, const std::string& mine, int error_class) {
  const std::optional<RankText> first = first_text(comm, mine);
  if (!first) return;
  const std::optional<RankText> other = first_text(comm, mine == first->text ? "" : mine);
  if (!other) return;
  comm.all_throw();
  throw Error(ErrorKind::mpi,
              what + " " + first->text + " on rank " + std::to_string(first->rank) + ", but " + other->text +
                  " on rank " + std::to_string(other->rank),
              error_class);
}

std::uint64_t edge_sum(Rank rank, const RankPattern& pattern) {
  std::uint64_t sum = 0;
  const auto pair_of = [](Rank source, Rank destination) {
    return (static_cast<std::uint64_t>(source) << 32) | static_cast<std::uint64_t>(destination);
  };
  const auto add = [&](const std::vector<Edge>& edges, bool outgoing) {
    const std::vector<int> numbers = ordinals(edges);
    for (std::size_t i = 0; i < edges.size(); ++i) {
      if (numbers[i] < 0) continue;
      const std::uint64_t pair = outgoing ? pair_of(rank, edges[i].peer) : pair_of(edges[i].peer, rank);
      const std::uint64_t edge = mix(mix(mix(pair) + static_cast<std::uint64_t>(numbers[i])) +
                                     static_cast<std::uint64_t>(edges[i].ranges.bytes()));
      sum += outgoing ? edge : 0 - edge;
    }
  };
  add(pattern.out, true);
  add(pattern.in, false);
  return sum;
}

void check_edges(const ControlComm& comm, const RankPattern& pattern) {
  std::map<Rank, Sizes> outgoing;
  std::map<Rank, Sizes> expected;
  for (const Edge& edge : pattern.out) outgoing[edge.peer].push_back(edge.ranges.bytes());
  for (const Edge& edge : pattern.in) expected[edge.peer].push_back(edge.ranges.bytes());
  Disagreement mine = first_disagreement(comm.rank(), exchange_sizes(comm, outgoing), expected);

  std::int64_t key = mine.text.empty() ? LLONG_MAX : mine.edge[0] * comm.size() + mine.edge[1];
  std::int64_t first = key;
  reduce_progressing(&key, &first, 1, MPI_INT64_T, MPI_MIN, comm);
  if (first == LLONG_MAX) return;
  const std::string text = share_text(comm, static_cast<Rank>(first % comm.size()), mine.text);
  comm.all_throw();
  throw Error(ErrorKind::topology, text);
}

}  // namespace laneway
