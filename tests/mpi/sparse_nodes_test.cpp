// What finders by nodes do inside a node: its ranks tell each other by memory, and only the first of them sends. This
// program counts what the library sends; the oracle is MPI_Alltoallv.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <numeric>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "exchange.hpp"
#include "machine/machine.hpp"
#include "support.hpp"

namespace {

/// Destinations on the world's ranks of what has been sent since counting began.
std::vector<int> sent_to;
bool counting = false;

void count(int destination, MPI_Comm comm) {
  if (!counting) return;
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  int translated = MPI_UNDEFINED;
  MPI_Comm_group(comm, &group);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(group, 1, &destination, world, &translated);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  sent_to.push_back(translated);
}

}  // namespace

// In place of the MPI library's, for the library as well.
#pragma GCC visibility push(default)
extern "C" {

int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  count(to, comm);
  return PMPI_Isend(data, n, type, to, tag, comm, request);
}
int MPI_Issend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  count(to, comm);
  return PMPI_Issend(data, n, type, to, tag, comm, request);
}
int MPI_Send(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  count(to, comm);
  return PMPI_Send(data, n, type, to, tag, comm);
}
}
#pragma GCC visibility pop

namespace laneway::test {
namespace {

class SparseNodesTest : public MpiTest {};

constexpr std::array node_finders = {"personalized_node", "nbx_node"};

/// So many integers to each rank, which say from whom, to whom and in which round.
struct ToEach {
  std::vector<int> destinations, counts, displacements, data;

  ToEach(int round, int from, int ranks, int longest) {
    Random random(
        static_cast<std::uint32_t>(mix({static_cast<std::uint64_t>(round), static_cast<std::uint64_t>(from)})));
    for (int to = 0; to < ranks; ++to) {
      if (pick(random, 0, 3) == 0) continue;
      destinations.push_back(to);
      counts.push_back(longest == 0 ? 2 : pick(random, 0, longest));
      displacements.push_back(static_cast<int>(data.size()));
      for (int i = 0; i < counts.back(); ++i) data.push_back(round + 1000 * from + 100000 * to + i);
    }
  }
};

/// What arrives at this rank, by MPI's own exchange of whole vectors.
std::vector<int> reference(const ToEach& what, MPI_Comm comm) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  std::vector<int> out(static_cast<std::size_t>(ranks)), out_at(out), in(out), in_at(out);
  for (std::size_t i = 0; i < what.destinations.size(); ++i) {
    out[static_cast<std::size_t>(what.destinations[i])] = what.counts[i];
    out_at[static_cast<std::size_t>(what.destinations[i])] = what.displacements[i];
  }
  MPI_Alltoall(out.data(), 1, MPI_INT, in.data(), 1, MPI_INT, comm);
  std::exclusive_scan(in.begin(), in.end(), in_at.begin(), 0);
  std::vector<int> data(static_cast<std::size_t>(in_at.back() + in.back()));
  MPI_Alltoallv(what.data.data(), out.data(), out_at.data(), MPI_INT, data.data(), in.data(), in_at.data(), MPI_INT,
                comm);
  return data;
}

std::vector<int> exchange(const ToEach& what, MPI_Comm comm, MPI_Info info) {
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  EXPECT_MPI(LNW_Sparse_alltoallv(static_cast<int>(what.destinations.size()), what.destinations.data(),
                                  what.data.data(), what.counts.data(), what.displacements.data(), MPI_INT, comm, info,
                                  &arrivals));
  void* data = nullptr;
  MPI_Count bytes = 0;
  EXPECT_MPI(LNW_Arrivals_get_data(arrivals, &data, &bytes));
  const int* const values = static_cast<const int*>(data);
  std::vector<int> all(values, values + bytes / static_cast<MPI_Count>(sizeof(int)));
  EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  return all;
}

Comm duplicate_world() {
  MPI_Comm made = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  return Comm(made);
}

/// Calls f(machine, members of this rank's node) with the machine described.
template <class F>
void on_each_machine(F&& f) {
  for (const std::string& machine : machines()) {
    if (machine.empty()) continue;  // as discovered: all ranks, here
    setenv("LANEWAY_MACHINE", machine.c_str(), 1);
    f(machine, Machine::parse(machine, size()).region(0, rank()).members);
  }
  unsetenv("LANEWAY_MACHINE");
}

TEST_F(SparseNodesTest, NoMessageIsSentInsideANode) {
  on_each_machine([&](const std::string& machine, const std::vector<Rank>& node) {
    const Comm comm = duplicate_world();
    for (const char* const finder : node_finders) {
      const Info info(laneway::test::Hints{{"lnw_find", finder}});
      for (int round = 0; round < effort(20); ++round) {
        const ToEach what(round, rank(), size(), 0);
        const std::vector<int> expected = reference(what, comm.get());
        if (round == 0) {
          EXPECT_EQ(exchange(what, comm.get(), info.get()), expected) << finder << " on " << machine;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        sent_to.clear();
        counting = true;
        const std::vector<int> found = exchange(what, comm.get(), info.get());
        counting = false;
        ASSERT_EQ(found, expected) << finder << " on " << machine << ", round " << round;
        for (const int to : sent_to)
          EXPECT_FALSE(std::ranges::binary_search(node, to)) << finder << " on " << machine << ": sends to " << to;
        if (rank() != node.front()) {
          EXPECT_TRUE(sent_to.empty()) << finder << " on " << machine;
        }
        // Few nodes: a message to each other one.
        if (rank() == node.front() && std::string(finder) == "personalized_node") {
          EXPECT_EQ(std::set<int>(sent_to.begin(), sent_to.end()).size(), sent_to.size()) << machine;
        }
      }
    }
  });
}

TEST_F(SparseNodesTest, WhatDoesNotFitIntoMemoryGoesInMessages) {
  on_each_machine([&](const std::string& machine, const std::vector<Rank>&) {
    const Comm comm = duplicate_world();
    for (const char* const finder : node_finders) {
      const Info info(laneway::test::Hints{{"lnw_find", finder}});
      for (int round = 0; round < effort(6); ++round) {
        // Up to 8 KB to each, so more than a rank may say in memory; every third round longer than goes by a relay.
        const ToEach what(round, rank(), size(), round % 3 == 2 ? 30000 : 2000);
        ASSERT_EQ(exchange(what, comm.get(), info.get()), reference(what, comm.get())) << finder << " on " << machine;
      }
    }
  });
}

TEST_F(SparseNodesTest, WithoutMemoryOfTheNodeItsRanksSendMessages) {
  setenv("LANEWAY_TRANSPORT", "p2p", 1);
  on_each_machine([&](const std::string& machine, const std::vector<Rank>& node) {
    const Comm comm = duplicate_world();
    for (const char* const finder : node_finders) {
      const Info info(laneway::test::Hints{{"lnw_find", finder}});
      const ToEach what(3, rank(), size(), 5);
      ASSERT_EQ(exchange(what, comm.get(), info.get()), reference(what, comm.get())) << finder << " on " << machine;
      MPI_Barrier(MPI_COMM_WORLD);
      sent_to.clear();
      counting = true;
      (void)exchange(what, comm.get(), info.get());
      counting = false;
      if (rank() != node.front()) {
        EXPECT_FALSE(sent_to.empty()) << finder << " on " << machine;
      }
    }
  });
  unsetenv("LANEWAY_TRANSPORT");
}

TEST_F(SparseNodesTest, ARankThatComesLateHoldsUpNobodyForEver) {
  on_each_machine([&](const std::string& machine, const std::vector<Rank>&) {
    const Comm comm = duplicate_world();
    for (const char* const finder : node_finders) {
      const Info info(laneway::test::Hints{{"lnw_find", finder}});
      for (int late = 0; late < std::min(size(), 3); ++late) {
        const ToEach what(late, rank(), size(), 5);
        const std::vector<int> expected = reference(what, comm.get());
        if (rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        ASSERT_EQ(exchange(what, comm.get(), info.get()), expected) << finder << " on " << machine;
      }
    }
  });
}

TEST_F(SparseNodesTest, OtherMessagesOfARankThatWaitsArrive) {
  // The program's own long message leaves while its sender waits for words of this library: its receiver comes to the
  // exchange only when it has it.
  if (size() == 1) GTEST_SKIP() << "SKIP: needs another rank";
  const Comm comm = duplicate_world();
  constexpr int many = 1 << 20;
  for (const char* const finder : node_finders) {
    const Info info(laneway::test::Hints{{"lnw_find", finder}});
    const ToEach what(1, rank(), size(), 5);
    const std::vector<int> expected = reference(what, comm.get());
    std::vector<int> values(many, rank());
    MPI_Request request = MPI_REQUEST_NULL;
    const int first = 0, last = size() - 1;
    if (rank() == last) MPI_Isend(values.data(), many, MPI_INT, first, 5, MPI_COMM_WORLD, &request);
    if (rank() == first) MPI_Recv(values.data(), many, MPI_INT, last, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    ASSERT_EQ(exchange(what, comm.get(), info.get()), expected) << finder;
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    EXPECT_EQ(values.back(), rank() == first ? last : rank());
  }
}

TEST_F(SparseNodesTest, ManyRoundsUnderWayInOtherOrders) {
  constexpr std::size_t rounds = 40;  // more than use memory at a time
  on_each_machine([&](const std::string& machine, const std::vector<Rank>&) {
    const Comm comm = duplicate_world();
    std::vector<ToEach> what;
    std::vector<std::vector<int>> expected;
    for (std::size_t i = 0; i < rounds; ++i) {
      what.emplace_back(static_cast<int>(i), rank(), size(), i % 5 == 4 ? 1500 : 8);
      expected.push_back(reference(what.back(), comm.get()));
    }
    std::array<LNW_Arrivals, rounds> arrivals{};
    std::array<LNW_Request, rounds> requests{};
    for (std::size_t i = 0; i < rounds; ++i) {
      const Info info(laneway::test::Hints{{"lnw_find", i % 7 == 6 ? "nbx" : node_finders[i % 2]}});
      const ToEach& one = what[i];
      EXPECT_MPI(LNW_Isparse_alltoallv(static_cast<int>(one.destinations.size()), one.destinations.data(),
                                       one.data.data(), one.counts.data(), one.displacements.data(), MPI_INT,
                                       comm.get(), info.get(), &arrivals[i], &requests[i]));
    }
    std::vector<std::size_t> order(rounds);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), Random(static_cast<std::uint32_t>(rank() + 11)));
    for (const std::size_t i : order) {
      EXPECT_MPI(LNW_Wait(&requests[i], MPI_STATUS_IGNORE));
      void* data = nullptr;
      MPI_Count bytes = 0;
      EXPECT_MPI(LNW_Arrivals_get_data(arrivals[i], &data, &bytes));
      const int* const values = static_cast<const int*>(data);
      EXPECT_EQ(std::vector<int>(values, values + bytes / static_cast<MPI_Count>(sizeof(int))), expected[i])
          << machine << ", round " << i;
      EXPECT_MPI(LNW_Arrivals_free(&arrivals[i]));
    }
  });
}

}  // namespace
}  // namespace laneway::test
