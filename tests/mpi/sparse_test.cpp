// Sparse exchanges: each finder of the table against a plain exchange of whole matrices.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "exchange.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class SparseTest : public MpiTest {};

/// One rank's part of a sparse exchange of integers.
struct Part {
  std::vector<int> destinations;
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<int> data;

  void add(int destination, int count, int first) {
    destinations.push_back(destination);
    counts.push_back(count);
    displacements.push_back(static_cast<int>(data.size()));
    for (int i = 0; i < count; ++i) data.push_back(first == 0 ? 0 : first + i);
  }
};

/// Some ranks say nothing, some say it twice, some to themselves, some without any elements, some only zeros.
Part random_part(std::uint64_t seed, int rank, int size, int longest = 40) {
  Random random(static_cast<std::uint32_t>(mix({seed, static_cast<std::uint64_t>(rank)})));
  Part part;
  const int degree = pick(random, 0, 3) == 0 ? 0 : pick(random, 0, 7);
  for (int i = 0; i < degree; ++i) {
    const int destination = pick(random, 0, 9) == 0 ? rank : pick(random, 0, size - 1);
    const int count = pick(random, 0, 4) == 0 ? 0 : pick(random, 1, longest);
    part.add(destination, count, pick(random, 0, 4) == 0 ? 0 : pick(random, 1, 1 << 20));
  }
  return part;
}

/// What arrives, by looking at what all ranks send.
struct Expected {
  std::vector<int> sources;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Count> offsets;
  std::vector<int> data;
};

template <class MakePart>
Expected expected_at(int rank, int size, MakePart&& make_part) {
  Expected expected;
  for (int source = 0; source < size; ++source) {
    const Part part = make_part(source);
    for (std::size_t i = 0; i < part.destinations.size(); ++i) {
      if (part.destinations[i] != rank) continue;
      expected.sources.push_back(source);
      expected.counts.push_back(part.counts[i]);
      expected.offsets.push_back(static_cast<MPI_Count>(expected.data.size()));
      const auto first = part.data.begin() + part.displacements[i];
      expected.data.insert(expected.data.end(), first, first + part.counts[i]);
    }
  }
  return expected;
}

Expected read(LNW_Arrivals arrivals) {
  Expected found;
  int entries = -1;
  EXPECT_MPI(LNW_Arrivals_get_count(arrivals, &entries));
  const int* sources = nullptr;
  const MPI_Count* counts = nullptr;
  const MPI_Count* offsets = nullptr;
  EXPECT_MPI(LNW_Arrivals_get_sources(arrivals, &sources, &counts, &offsets));
  void* data = nullptr;
  MPI_Count bytes = -1;
  EXPECT_MPI(LNW_Arrivals_get_data(arrivals, &data, &bytes));
  found.sources.assign(sources, sources + entries);
  found.counts.assign(counts, counts + entries);
  found.offsets.assign(offsets, offsets + entries);
  const int* const values = static_cast<const int*>(data);
  found.data.assign(values, values + bytes / static_cast<MPI_Count>(sizeof(int)));
  return found;
}

void expect_arrived(LNW_Arrivals& arrivals, const Expected& expected, const std::string& where) {
  const Expected found = read(arrivals);
  EXPECT_EQ(found.sources, expected.sources) << where;
  EXPECT_EQ(found.counts, expected.counts) << where;
  EXPECT_EQ(found.offsets, expected.offsets) << where;
  EXPECT_EQ(found.data, expected.data) << where;
  EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  EXPECT_EQ(arrivals, LNW_ARRIVALS_NULL);
}

int run(const Part& part, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals) {
  return LNW_Sparse_alltoallv(static_cast<int>(part.destinations.size()), part.destinations.data(), part.data.data(),
                              part.counts.data(), part.displacements.data(), MPI_INT, comm, info, arrivals);
}

int start(const Part& part, MPI_Comm comm, MPI_Info info, LNW_Arrivals* arrivals, LNW_Request* request) {
  return LNW_Isparse_alltoallv(static_cast<int>(part.destinations.size()), part.destinations.data(), part.data.data(),
                               part.counts.data(), part.displacements.data(), MPI_INT, comm, info, arrivals, request);
}

std::vector<std::string> finder_names() {
  std::vector<std::string> names = {"auto"};
  for (const FinderRow& row : finders()) names.emplace_back(row.name);
  return names;
}

/// A communicator whose ranks are on a described machine.
Comm duplicate(MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Comm made = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Comm_dup(comm, &made));
  return Comm(made);
}

TEST_F(SparseTest, EachFinderOnEachMachine) {
  for (const std::string& machine : machines()) {
    setenv("LANEWAY_MACHINE", machine.c_str(), 1);
    const Comm comm = duplicate();
    for (const std::string& finder : finder_names()) {
      if (finder == "rma" && machine != machines().front()) continue;  // knows no nodes, and makes a window each time
      const Info info(Hints{{"lnw_find", finder}});
      for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(5)); ++seed) {
        LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
        EXPECT_MPI(run(random_part(seed, rank(), size()), comm.get(), info.get(), &arrivals));
        const auto part = [&](int source) { return random_part(seed, source, size()); };
        expect_arrived(arrivals, expected_at(rank(), size(), part), finder + " on " + machine);
      }
    }
  }
  unsetenv("LANEWAY_MACHINE");
}

TEST_F(SparseTest, LongNotesGoStraight) {
  for (const std::string& finder : finder_names()) {
    const Info info(Hints{{"lnw_find", finder}});
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    const auto part = [&](int source) { return random_part(99, source, size(), 30000); };
    EXPECT_MPI(run(part(rank()), MPI_COMM_WORLD, info.get(), &arrivals));
    expect_arrived(arrivals, expected_at(rank(), size(), part), finder);
  }
}

TEST_F(SparseTest, InterleavedRoundsWithOtherPartnersDoNotMix) {
  const std::vector<std::string> names = finder_names();
  constexpr std::size_t rounds = 20;  // more than are under way at a time
  std::array<LNW_Arrivals, rounds> arrivals{};
  std::array<LNW_Request, rounds> requests{};
  for (std::size_t i = 0; i < rounds; ++i) {
    const Info info(Hints{{"lnw_find", names[i % names.size()]}});
    EXPECT_MPI(start(random_part(500 + i, rank(), size()), MPI_COMM_WORLD, info.get(), &arrivals[i], &requests[i]));
    // A blocking round, and one of the topology's operations, between them.
    if (i == 10) {
      LNW_Arrivals between = LNW_ARRIVALS_NULL;
      const auto part = [&](int source) { return random_part(1000, source, size()); };
      EXPECT_MPI(run(part(rank()), MPI_COMM_WORLD, MPI_INFO_NULL, &between));
      expect_arrived(between, expected_at(rank(), size(), part), "between");
    }
  }
  // Completed in other orders on other ranks.
  std::vector<std::size_t> order(rounds);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), Random(static_cast<std::uint32_t>(rank() + 7)));
  for (const std::size_t i : order) {
    EXPECT_MPI(LNW_Wait(&requests[i], MPI_STATUS_IGNORE));
    EXPECT_EQ(requests[i], LNW_REQUEST_NULL);
    const auto part = [&](int source) { return random_part(500 + i, source, size()); };
    expect_arrived(arrivals[i], expected_at(rank(), size(), part), "round " + std::to_string(i));
  }
}

TEST_F(SparseTest, ManyRoundsInARow) {
  for (std::uint64_t round = 0; round < static_cast<std::uint64_t>(effort(60)); ++round) {
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    const auto part = [&](int source) { return random_part(2000 + round, source, size(), 6); };
    EXPECT_MPI(run(part(rank()), MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals));
    expect_arrived(arrivals, expected_at(rank(), size(), part), "round " + std::to_string(round));
  }
}

TEST_F(SparseTest, EqualCountsAndWideCounts) {
  const int right = (rank() + 1) % size(), left = (rank() + size() - 1) % size();
  const std::array<int, 3> destinations = {right, MPI_PROC_NULL, right};
  const std::array<int, 6> data = {rank(), 1, -1, -1, rank(), 2};
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  EXPECT_MPI(
      LNW_Sparse_alltoall(3, destinations.data(), data.data(), 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals));
  const Expected expected{{left, left}, {2, 2}, {0, 2}, {left, 1, left, 2}};
  expect_arrived(arrivals, expected, "equal");
  EXPECT_MPI(
      LNW_Sparse_alltoall_c(3, destinations.data(), data.data(), 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals));
  expect_arrived(arrivals, expected, "equal, wide");
  const std::array<MPI_Count, 3> counts = {2, 5, 2};
  const std::array<MPI_Aint, 3> displacements = {0, 1000, 4};
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Isparse_alltoallv_c(3, destinations.data(), data.data(), counts.data(), displacements.data(), MPI_INT,
                                     MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals, &request));
  int flag = 0;
  while (!flag) EXPECT_MPI(LNW_Testall(1, &request, &flag, MPI_STATUSES_IGNORE));
  expect_arrived(arrivals, expected, "counted, wide, nonblocking");
  EXPECT_MPI(LNW_Sparse_alltoallv_c(3, destinations.data(), data.data(), counts.data(), displacements.data(), MPI_INT,
                                    MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals));
  expect_arrived(arrivals, expected, "counted, wide");
  EXPECT_MPI(LNW_Isparse_alltoall_c(3, destinations.data(), data.data(), 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                                    &arrivals, &request));
  EXPECT_EQ(arrivals, LNW_ARRIVALS_NULL);
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  expect_arrived(arrivals, expected, "equal, wide, nonblocking");
}

TEST_F(SparseTest, DerivedTypesAndCallersBuffers) {
  // Every second integer of six, sent as three; received into every third.
  MPI_Datatype second = MPI_DATATYPE_NULL, third = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_INT, &second);
  MPI_Type_vector(3, 1, 3, MPI_INT, &third);
  MPI_Type_commit(&second);
  MPI_Type_commit(&third);
  const std::array<int, 6> data = {10 + rank(), -1, 20 + rank(), -1, 30 + rank(), -1};
  const std::array<int, 2> destinations = {0, size() - 1};
  const std::array<int, 2> counts = {1, 1}, displacements = {0, 0};
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  EXPECT_MPI(LNW_Sparse_alltoallv(2, destinations.data(), data.data(), counts.data(), displacements.data(), second,
                                  MPI_COMM_WORLD, MPI_INFO_NULL, &arrivals));
  int entries = 0;
  EXPECT_MPI(LNW_Arrivals_get_count(arrivals, &entries));
  const int of_each = size() == 1 ? 2 : 1;
  EXPECT_EQ(entries, rank() == 0 || rank() == size() - 1 ? of_each * size() : 0);
  const auto capacity = static_cast<std::size_t>(entries) + 1;
  std::vector<int> sources(capacity, -7), received(9 * capacity, -7);
  std::vector<MPI_Count> recvcounts(capacity), recvdispls(capacity);
  {
    const Handler returns(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (entries > 0) {
      const int code = LNW_Arrivals_copy(arrivals, entries - 1, sources.data(), nullptr, nullptr, nullptr, 0, third);
      expect_error_class(code, MPI_ERR_TRUNCATE);
      expect_error_class(LNW_Arrivals_copy(arrivals, 0, nullptr, nullptr, nullptr, received.data(), entries - 1, third),
                         MPI_ERR_TRUNCATE);
    }
    expect_error_class(LNW_Arrivals_copy(arrivals, 0, nullptr, nullptr, nullptr, received.data(), 99, MPI_INT),
                       MPI_ERR_TYPE);
  }
  EXPECT_EQ(received, std::vector<int>(9 * capacity, -7));
  EXPECT_MPI(LNW_Arrivals_copy(arrivals, static_cast<int>(capacity), sources.data(), recvcounts.data(),
                               recvdispls.data(), received.data(), static_cast<MPI_Count>(capacity), third));
  for (int i = 0; i < entries; ++i) {
    const auto at = static_cast<std::size_t>(i);
    EXPECT_EQ(sources[at], i / of_each);
    EXPECT_EQ(recvcounts[at], 1);
    EXPECT_EQ(recvdispls[at], i);
    // A vector's extent ends with its last block.
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_EQ(received[at * 7 + 3 * k], static_cast<int>(10 * (k + 1)) + i / of_each) << i << " " << k;
  }
  EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  MPI_Type_free(&second);
  MPI_Type_free(&third);
}

TEST_F(SparseTest, SeveralSetsInOneRound) {
  const auto part = [&](std::uint64_t set) {
    return [set](int source) { return random_part(300 + set, source, size()); };
  };
  std::array<Part, 3> parts;
  std::array<LNW_Sparse_set, 3> sets{};
  for (std::size_t i = 0; i < 3; ++i) {
    parts[i] = part(i)(rank());
    sets[i] = {static_cast<int>(parts[i].destinations.size()),
               parts[i].destinations.data(),
               parts[i].data.data(),
               parts[i].counts.data(),
               parts[i].displacements.data(),
               MPI_INT};
  }
  std::array<LNW_Arrivals, 3> arrivals{};
  EXPECT_MPI(LNW_Sparse_alltoallv_sets(3, sets.data(), MPI_COMM_WORLD, MPI_INFO_NULL, arrivals.data()));
  for (std::size_t i = 0; i < 3; ++i)
    expect_arrived(arrivals[i], expected_at(rank(), size(), part(i)), "set " + std::to_string(i));
  EXPECT_MPI(LNW_Sparse_alltoallv_sets(0, nullptr, MPI_COMM_WORLD, MPI_INFO_NULL, nullptr));
}

TEST_F(SparseTest, SubCommunicators) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &half);
  const Comm comm(half);
  int own = -1, all = 0;
  MPI_Comm_rank(half, &own);
  MPI_Comm_size(half, &all);
  for (const std::string& finder : finder_names()) {
    const Info info(Hints{{"lnw_find", finder}});
    const auto part = [&](int source) { return random_part(31 + static_cast<std::uint64_t>(rank() % 2), source, all); };
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    EXPECT_MPI(run(part(own), half, info.get(), &arrivals));
    expect_arrived(arrivals, expected_at(own, all, part), finder);
  }
}

TEST_F(SparseTest, TheHandleSaysWhichFinderAndWhy) {
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  const auto value = [](MPI_Info info, const char* key) {
    std::array<char, 64> text{};
    int flag = 0;
    MPI_Info_get(info, key, 63, text.data(), &flag);
    return std::string(flag ? text.data() : "absent");
  };
  for (const std::string& finder : finder_names()) {
    const Info hints(Hints{{"lnw_find", finder}});
    EXPECT_MPI(run({}, MPI_COMM_WORLD, hints.get(), &arrivals));
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Arrivals_get_info(arrivals, &info));
    const bool chosen = finder == "auto";
    // One rank has no window to find anything by, where the MPI library refuses that.
    if (finder != "rma" || size() > 1) {
      EXPECT_EQ(value(info, "lnw_find") == finder, !chosen);
    }
    EXPECT_EQ(value(info, "lnw_find_cost_nbx") == "absent", !chosen);
    EXPECT_EQ(value(info, "lnw_parameters") == "absent", !chosen);
    MPI_Info_free(&info);
    EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  }
}

TEST_F(SparseTest, BadArgumentsOfOneRankAreAnErrorOnAll) {
  const Comm comm = duplicate();
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  const int bad = size() - 1;
  const int wrong_rank = size(), negative = -3, zero = 0, one = 1;
  const auto expect = [&](int code, int wanted, const std::string& text) {
    expect_error_class(code, rank() == bad ? wanted : MPI_ERR_ARG);
    const std::string said = error_text(code);
    const std::string other = "rank " + std::to_string(bad) + " has reported an error in this call";
    EXPECT_NE(said.find(rank() == bad ? text : other), std::string::npos) << said;
  };
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  for (const std::string& finder : finder_names()) {
    const Info info(Hints{{"lnw_find", finder}});
    const auto call = [&](int destination, int count, const void* buffer, int n = 1) {
      const bool is_bad = rank() == bad;
      const int good = (rank() + 1) % size();
      const int to = is_bad ? destination : good, how_many = is_bad ? count : 1;
      return LNW_Sparse_alltoallv(is_bad ? n : 1, &to, is_bad ? buffer : &one, &how_many, &zero, MPI_INT, comm.get(),
                                  info.get(), &arrivals);
    };
    expect(
        call(wrong_rank, 1, &one), MPI_ERR_RANK,
        "LNW_Sparse_alltoallv on rank " + std::to_string(bad) + ": destinations[0] is " + std::to_string(wrong_rank));
    expect(call(0, negative, &one), MPI_ERR_COUNT, "sendcounts[0] is -3");
    expect(call(0, 1, nullptr), MPI_ERR_BUFFER, "sendbuf is NULL");
    expect(call(0, 1, &one, -1), MPI_ERR_ARG, "ndestinations is -1");
    // Nothing is left behind.
    const auto part = [&](int source) { return random_part(77, source, size()); };
    EXPECT_MPI(run(part(rank()), comm.get(), info.get(), &arrivals));
    expect_arrived(arrivals, expected_at(rank(), size(), part), finder);
  }
  const int code = run(random_part(1, rank(), size()), comm.get(), MPI_INFO_NULL, rank() == bad ? nullptr : &arrivals);
  expect(code, MPI_ERR_ARG, "arrivals is NULL");
}

/// An error of this text on all ranks; then a round that works.
void expect_all_differ(MPI_Comm comm, int code, const std::string& text, const std::string& where) {
  expect_error_class(code, MPI_ERR_ARG);
  EXPECT_NE(error_text(code).find(text), std::string::npos) << where << ": " << error_text(code);
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  const auto part = [&](int source) { return random_part(55, source, size()); };
  EXPECT_MPI(run(part(rank()), comm, MPI_INFO_NULL, &arrivals));
  expect_arrived(arrivals, expected_at(rank(), size(), part), "after " + where);
}

TEST_F(SparseTest, FindersThatDifferAreAnErrorOnAll) {
  if (size() == 1) GTEST_SKIP() << "SKIP: one rank agrees with itself";
  const std::vector<std::string> names = finder_names();
  for (const std::string& machine : machines()) {
    setenv("LANEWAY_MACHINE", machine.c_str(), 1);
    const Comm comm = duplicate();
    const Handler returns(comm.get(), MPI_ERRORS_RETURN);
    // One rank says something else than all others; then any of them anything.
    const std::size_t pairs = names.size() * names.size();
    for (std::size_t what = 0; what < pairs + static_cast<std::size_t>(effort(20)); ++what) {
      Random random(static_cast<std::uint32_t>(mix({what, 3})));
      std::vector<std::string> said(static_cast<std::size_t>(size()), names[what % names.size()]);
      const auto odd = static_cast<std::size_t>(pick(random, 0, size() - 1));
      said[odd] = names[what / names.size() % names.size()];
      if (what >= pairs)
        for (std::string& one : said)
          one = names[static_cast<std::size_t>(pick(random, 0, static_cast<int>(names.size()) - 1))];
      const auto second = std::ranges::find_if(said, [&](const std::string& one) { return one != said.front(); });
      if (second == said.end()) continue;
      const Info info(Hints{{"lnw_find", said[static_cast<std::size_t>(rank())]}});
      LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
      const Part part = random_part(900 + what, rank(), size(), what % 3 == 0 ? 9000 : 40);
      int code = MPI_SUCCESS;
      if (what % 2 == 0) {
        code = run(part, comm.get(), info.get(), &arrivals);
      } else {
        LNW_Request request = LNW_REQUEST_NULL;
        EXPECT_MPI(start(part, comm.get(), info.get(), &arrivals, &request));
        code = LNW_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_MPI(LNW_Request_free(&request));
      }
      EXPECT_EQ(arrivals, LNW_ARRIVALS_NULL);
      const std::string text = "lnw_find differs: rank 0 says " + said.front() + ", rank " +
                               std::to_string(second - said.begin()) + " " + *second;
      expect_all_differ(comm.get(), code, text, text + " on " + machine);
    }
  }
  unsetenv("LANEWAY_MACHINE");
}

TEST_F(SparseTest, ABadHintOfOneRankIsAnErrorOnAll) {
  const Comm comm = duplicate();
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  for (const std::string& finder : finder_names()) {
    const Info info(Hints{{"lnw_find", rank() == size() - 1 ? "nowhere" : finder}});
    LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
    const int code = run(random_part(3, rank(), size()), comm.get(), info.get(), &arrivals);
    ASSERT_NE(code, MPI_SUCCESS);
    const std::string other = "rank " + std::to_string(size() - 1) + " has reported an error in this call";
    EXPECT_NE(error_text(code).find(rank() == size() - 1 ? "nowhere" : other), std::string::npos) << error_text(code);
  }
}

int answer_nothing(int, const void*, MPI_Count, void*, LNW_Answer) {
  return MPI_SUCCESS;
}

TEST_F(SparseTest, CallsThatDifferAreAnErrorOnAll) {
  if (size() == 1) GTEST_SKIP() << "SKIP: one rank agrees with itself";
  const Comm comm = duplicate();
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  const bool odd = rank() == size() / 2;
  const int to = (rank() + 1) % size(), one = 1, two = 2, none = 0;
  const std::array<int, 2> values = {1, 2};
  const double value = 1;
  for (const std::string& finder : finder_names()) {
    const Info info(Hints{{"lnw_find", finder}});
    std::array<LNW_Arrivals, 2> arrivals{};
    const auto check = [&](int code, const std::string& text, const std::string& what) {
      expect_all_differ(comm.get(), code, text, what + " by " + finder);
      EXPECT_EQ(arrivals[0], LNW_ARRIVALS_NULL);
    };
    const std::string differ = "the ranks' calls differ";
    check(LNW_Sparse_alltoall(1, &to, &value, 1, odd ? MPI_DOUBLE : MPI_INT, comm.get(), info.get(), arrivals.data()),
          differ, "datatypes");
    check(LNW_Sparse_alltoall(1, &to, values.data(), odd ? 2 : 1, MPI_INT, comm.get(), info.get(), arrivals.data()),
          differ, "counts");
    const LNW_Sparse_set set = {1, &to, values.data(), &one, &none, MPI_INT};
    const std::array<LNW_Sparse_set, 2> sets = {set, set};
    check(LNW_Sparse_alltoallv_sets(odd ? 2 : 1, sets.data(), comm.get(), info.get(), arrivals.data()), differ,
          "numbers of sets");
    check(odd ? LNW_Sparse_alltoall(1, &to, values.data(), 1, MPI_INT, comm.get(), info.get(), arrivals.data())
              : LNW_Sparse_alltoallv(1, &to, values.data(), &two, &none, MPI_INT, comm.get(), info.get(),
                                     arrivals.data()),
          differ, "equal and single counts");
    const auto query = [&](MPI_Info hints) {
      return LNW_Sparse_query(1, &to, values.data(), &two, &none, MPI_INT, answer_nothing, nullptr, comm.get(), hints,
                              arrivals.data());
    };
    const auto exchange = [&](MPI_Info hints) {
      return LNW_Sparse_alltoallv(1, &to, values.data(), &two, &none, MPI_INT, comm.get(), hints, arrivals.data());
    };
    const std::string asking = "asks for answers, rank ";
    check(odd ? query(info.get()) : exchange(info.get()), asking, "a query among exchanges");
    check(odd ? exchange(info.get()) : query(info.get()), asking, "an exchange among queries");
  }
}

/// Answers with the request's numbers, each times the own rank, as often as the first of them says.
int answer_times_rank(int source, const void* request, MPI_Count bytes, void* extra, LNW_Answer answer) {
  ++*static_cast<int*>(extra);
  EXPECT_GE(source, 0);
  std::vector<int> numbers(static_cast<std::size_t>(bytes) / sizeof(int));
  if (bytes > 0) std::memcpy(numbers.data(), request, static_cast<std::size_t>(bytes));
  for (int& number : numbers) number = number * rank() + source;
  EXPECT_MPI(LNW_Answer_append(answer, numbers.data(), bytes));
  return MPI_SUCCESS;
}

TEST_F(SparseTest, AnswersComeInTheOrderOfRequests) {
  for (const std::string& finder : finder_names()) {
    const Info info(Hints{{"lnw_find", finder}});
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(6)); ++seed) {
      const Part part = random_part(seed + 60, rank(), size());
      LNW_Arrivals answers = LNW_ARRIVALS_NULL;
      int asked = 0;
      EXPECT_MPI(LNW_Sparse_query(static_cast<int>(part.destinations.size()), part.destinations.data(),
                                  part.data.data(), part.counts.data(), part.displacements.data(), MPI_INT,
                                  answer_times_rank, &asked, MPI_COMM_WORLD, info.get(), &answers));
      Expected expected;
      for (std::size_t i = 0; i < part.destinations.size(); ++i) {
        expected.sources.push_back(part.destinations[i]);
        expected.counts.push_back(part.counts[i] * static_cast<int>(sizeof(int)));
        expected.offsets.push_back(static_cast<MPI_Count>(expected.data.size() * sizeof(int)));
        for (int k = 0; k < part.counts[i]; ++k) {
          const int number = part.data[static_cast<std::size_t>(part.displacements[i] + k)];
          expected.data.push_back(
              static_cast<int>(static_cast<unsigned>(number) * static_cast<unsigned>(part.destinations[i])) + rank());
        }
      }
      expect_arrived(answers, expected, finder);
      const auto all = [&](int source) { return random_part(seed + 60, source, size()); };
      EXPECT_EQ(asked, static_cast<int>(expected_at(rank(), size(), all).sources.size()));
    }
  }
}

TEST_F(SparseTest, RequestsFartherThanAnIntCounts) {
  constexpr MPI_Aint far = 3'000'000'000;
  void* const memory =
      mmap(nullptr, far + 8, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* const bytes = static_cast<std::uint8_t*>(memory);
  bytes[0] = static_cast<std::uint8_t>(rank());
  bytes[far] = static_cast<std::uint8_t>(100 + rank());
  const auto echo = [](int, const void* request, MPI_Count length, void*, LNW_Answer answer) {
    return LNW_Answer_append(answer, request, length);
  };
  const std::array<int, 2> targets = {(rank() + 1) % size(), rank()};
  const std::array<MPI_Count, 2> counts = {1, 1};
  const std::array<MPI_Aint, 2> displacements = {far, 0};
  LNW_Arrivals answers = LNW_ARRIVALS_NULL;
  EXPECT_MPI(LNW_Sparse_query_c(2, targets.data(), memory, counts.data(), displacements.data(), MPI_BYTE, echo, nullptr,
                                MPI_COMM_WORLD, MPI_INFO_NULL, &answers));
  void* data = nullptr;
  MPI_Count length = 0;
  EXPECT_MPI(LNW_Arrivals_get_data(answers, &data, &length));
  ASSERT_EQ(length, 2);
  EXPECT_EQ(static_cast<std::uint8_t*>(data)[0], 100 + rank());
  EXPECT_EQ(static_cast<std::uint8_t*>(data)[1], rank());
  EXPECT_MPI(LNW_Arrivals_free(&answers));
  munmap(memory, far + 8);
}

int refuse(int, const void*, MPI_Count, void*, LNW_Answer) {
  return MPI_ERR_OTHER;
}

TEST_F(SparseTest, ARefusedAnswerIsAnErrorForBoth) {
  const Comm comm = duplicate();
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  const int target = 0, count = 1, none = 0;
  LNW_Arrivals answers = LNW_ARRIVALS_NULL;
  const int code = LNW_Sparse_query(1, &target, &count, &count, &none, MPI_INT, refuse, nullptr, comm.get(),
                                    MPI_INFO_NULL, &answers);
  expect_error_class(code, MPI_ERR_ARG);
  const std::string said = error_text(code);
  const char* const text = rank() == 0 ? "answer_function returned " : "rank 0 has reported an error in its answer";
  EXPECT_NE(said.find(text), std::string::npos) << said;
  EXPECT_EQ(answers, LNW_ARRIVALS_NULL);
}

}  // namespace
}  // namespace laneway::test
