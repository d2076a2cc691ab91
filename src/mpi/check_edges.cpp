#include "mpi/check_edges.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <map>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/mix.hpp"
#include "exec/progress.hpp"
#include "mpi/mailbox.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

using Sizes = std::vector<std::int64_t>;

/// Sends each destination its edges' sizes and returns what arrived, by source, without knowing who sends: nonblocking
/// consensus (Hoefler, Siebert, Lumsdaine: Scalable Communication Protocols for Dynamic Sparse Data Exchange, 2010).
std::map<Rank, Sizes> exchange_sizes(const PrivateComm& comm, const std::map<Rank, Sizes>& outgoing) {
  std::vector<MPI_Request> sends;
  sends.reserve(outgoing.size());
  for (const auto& [peer, sizes] : outgoing) {
    sends.push_back(MPI_REQUEST_NULL);
    check_mpi(MPI_Issend(sizes.data(), static_cast<int>(sizes.size()), MPI_INT64_T, peer, PrivateComm::check_tag,
                         comm.get(), &sends.back()),
              "MPI_Issend");
  }
  std::map<Rank, Sizes> incoming;
  MPI_Request barrier = MPI_REQUEST_NULL;
  bool in_barrier = false;
  progress_until([&] {
    int flag = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, PrivateComm::check_tag, comm.get(), &flag, &status), "MPI_Iprobe");
    if (flag) {
      int count = 0;
      check_mpi(MPI_Get_count(&status, MPI_INT64_T, &count), "MPI_Get_count");
      Sizes& sizes = incoming[status.MPI_SOURCE];
      sizes.resize(static_cast<std::size_t>(count));
      check_mpi(MPI_Recv(sizes.data(), count, MPI_INT64_T, status.MPI_SOURCE, PrivateComm::check_tag, comm.get(),
                         MPI_STATUS_IGNORE),
                "MPI_Recv");
      return false;
    }
    if (in_barrier) {
      check_mpi(MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE), "MPI_Test");
      return flag != 0;
    }
    if (test_all(sends)) {
      check_mpi(MPI_Ibarrier(comm.get(), &barrier), "MPI_Ibarrier");
      in_barrier = true;
    }
    return false;
  });
  return incoming;
}

/// The first edge of this rank that disagrees, as (source, destination, text length) for ordering, with its text.
struct Disagreement {
  std::array<std::int64_t, 2> edge{LLONG_MAX, LLONG_MAX};
  std::string text;
};

Disagreement first_disagreement(Rank rank, const std::map<Rank, Sizes>& told, const std::map<Rank, Sizes>& expected) {
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
  for (const auto& [source, sent] : told) {
    const auto it = expected.find(source);
    compare(source, sent, it == expected.end() ? Sizes{} : it->second);
  }
  for (const auto& [source, received] : expected)
    if (!told.contains(source)) compare(source, {}, received);
  return first;
}

}  // namespace

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

void check_edges(const PrivateComm& comm, const RankPattern& pattern) {
  std::map<Rank, Sizes> outgoing;
  std::map<Rank, Sizes> expected;
  for (const Edge& edge : pattern.out) outgoing[edge.peer].push_back(edge.ranges.bytes());
  for (const Edge& edge : pattern.in) expected[edge.peer].push_back(edge.ranges.bytes());
  Disagreement mine = first_disagreement(comm.rank(), exchange_sizes(comm, outgoing), expected);

  std::int64_t key = mine.text.empty() ? LLONG_MAX : mine.edge[0] * comm.size() + mine.edge[1];
  std::int64_t first = key;
  reduce_progressing(&key, &first, 1, MPI_INT64_T, MPI_MIN, comm.get());
  if (first == LLONG_MAX) return;
  std::array<char, 512> text{};
  const Rank owner = static_cast<Rank>(first % comm.size());
  if (owner == comm.rank()) mine.text.copy(text.data(), text.size() - 1);
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Ibcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, owner, comm.get(), request.data()),
            "MPI_Ibcast");
  wait_all_progressing(request);
  throw Error(ErrorKind::topology, text.data());
}

}  // namespace laneway
