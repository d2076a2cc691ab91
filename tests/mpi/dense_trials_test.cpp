// How dense calls that are repeated come to run: which of them send messages, when trials are made and what they
// change. Messages and MPI's own operations are counted where the library calls them; its clock is this test's.

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "dense_operations.hpp"
#include "device_memory.hpp"
#include "setting.hpp"

namespace {

struct Counts {
  long inside = 0;   ///< messages to ranks of the same node
  long between = 0;  ///< and of other nodes
  long own = 0;      ///< MPI's own operations
  long largest = 0;  ///< bytes of a message, or of what a rank gives and gets in an operation of MPI's
};

Counts counts;
std::map<MPI_Request, int> peers;  // of persistent messages
std::vector<int> node_of_rank;     // empty: all are on one node

bool is_inside(int peer) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return node_of_rank.empty() ||
         node_of_rank[static_cast<std::size_t>(peer)] == node_of_rank[static_cast<std::size_t>(rank)];
}

void count_message(int peer) {
  ++(is_inside(peer) ? counts.inside : counts.between);
}

void count_bytes(int count, MPI_Datatype type) {
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  counts.largest = std::max(counts.largest, static_cast<long>(count) * bytes);
}

void count_of_all(int count, MPI_Datatype type, MPI_Comm comm) {
  int ranks = 0;
  PMPI_Comm_size(comm, &ranks);
  count_bytes(count * ranks, type);
}

void count_start(MPI_Request request) {
  if (const auto found = peers.find(request); found != peers.end()) count_message(found->second);
}

bool has_own_clock = false;
double now = 0;
double seconds_of_own = 0;  // that an operation of MPI's own takes by this test's clock

void count_own() {
  ++counts.own;
  now += seconds_of_own;
}

}  // namespace

// In place of the MPI library's, for the library as well.
#pragma GCC visibility push(default)
extern "C" {

double MPI_Wtime() {
  return has_own_clock ? now += 1e-5 : PMPI_Wtime();
}

int MPI_Send(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  count_message(peer);
  count_bytes(count, type);
  return PMPI_Send(data, count, type, peer, tag, comm);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  count_message(peer);
  count_bytes(count, type);
  return PMPI_Isend(data, count, type, peer, tag, comm, request);
}
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  const int code = PMPI_Send_init(data, count, type, peer, tag, comm, request);
  peers[*request] = peer;
  return code;
}
int MPI_Recv_init(void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  const int code = PMPI_Recv_init(data, count, type, peer, tag, comm, request);
  peers.erase(*request);
  return code;
}
int MPI_Start(MPI_Request* request) {
  count_start(*request);
  return PMPI_Start(request);
}
int MPI_Startall(int count, MPI_Request requests[]) {
  std::for_each(requests, requests + count, count_start);
  return PMPI_Startall(count, requests);
}

int MPI_Barrier(MPI_Comm comm) {
  count_own();
  return PMPI_Barrier(comm);
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
  count_own();
  count_bytes(count, type);
  return PMPI_Bcast(data, count, type, root, comm);
}
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  count_own();
  count_bytes(count, type);
  return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Allgather(const void* from, int sent, MPI_Datatype sent_type, void* to, int received,
                  MPI_Datatype received_type, MPI_Comm comm) {
  count_own();
  count_of_all(received, received_type, comm);
  return PMPI_Allgather(from, sent, sent_type, to, received, received_type, comm);
}
int MPI_Alltoall(const void* from, int sent, MPI_Datatype sent_type, void* to, int received, MPI_Datatype received_type,
                 MPI_Comm comm) {
  count_own();
  count_of_all(received, received_type, comm);
  return PMPI_Alltoall(from, sent, sent_type, to, received, received_type, comm);
}
int MPI_Ialltoall(const void* from, int sent, MPI_Datatype sent_type, void* to, int received,
                  MPI_Datatype received_type, MPI_Comm comm, MPI_Request* request) {
  count_own();
  return PMPI_Ialltoall(from, sent, sent_type, to, received, received_type, comm, request);
}
int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request) {
  count_own();
  count_bytes(count, type);
  return PMPI_Iallreduce(from, to, count, type, op, comm, request);
}
int MPI_Reduce_scatter(const void* from, void* to, const int received[], MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
  count_own();
  return PMPI_Reduce_scatter(from, to, received, type, op, comm);
}
int MPI_Ireduce_scatter(const void* from, void* to, const int received[], MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        MPI_Request* request) {
  count_own();
  return PMPI_Ireduce_scatter(from, to, received, type, op, comm, request);
}

}  // extern "C"
#pragma GCC visibility pop

namespace laneway::test {
namespace {

Comm copy_of_world() {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &copy);
  return Comm(copy);
}

/// Of all ranks.
long sum(long mine) {
  long all = 0;
  PMPI_Allreduce(&mine, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
  return all;
}

std::string told(LNW_Request request, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(request, &info));
  std::array<char, MPI_MAX_INFO_VAL + 1> value{};
  int found = 0;
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found);
  MPI_Info_free(&info);
  return found != 0 ? value.data() : "";
}

/// An all-to-all of a few numbers, with what must come of it.
class Numbers {
 public:
  explicit Numbers(int each) : each_(each), sent_(all()), received_(all()), expected_(all()) {}

  void fill(int seed) {
    for (std::size_t i = 0; i < sent_.size(); ++i) {
      const int peer = static_cast<int>(i) / each_;
      sent_[i] = number(seed, rank(), peer);
      expected_[i] = number(seed, peer, rank());
    }
    std::ranges::fill(received_, -1);
  }
  void call(MPI_Comm comm) {
    EXPECT_MPI(LNW_Alltoall(sent_.data(), each_, MPI_INT, received_.data(), each_, MPI_INT, comm));
  }
  LNW_Request start(MPI_Comm comm) {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Ialltoall(sent_.data(), each_, MPI_INT, received_.data(), each_, MPI_INT, comm, &request));
    return request;
  }
  LNW_Request init(MPI_Comm comm, const Hints& hints = {}) {
    const Info info(hints);
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Alltoall_init(sent_.data(), each_, MPI_INT, received_.data(), each_, MPI_INT, comm, info.get(), &request));
    return request;
  }
  [[nodiscard]] bool are_right() const { return received_ == expected_; }

 private:
  [[nodiscard]] std::vector<int> all() const {
    return std::vector<int>(static_cast<std::size_t>(each_) * static_cast<std::size_t>(size()));
  }
  static int number(int seed, int from, int to) { return (seed * 64 + from) * 64 + to; }

  int each_;
  std::vector<int> sent_, received_, expected_;
};

class DenseTrialsTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    setenv("LANEWAY_PROGRESS", "wait", 1);  // so that rules may relay with every MPI library
  }
  void TearDown() override {
    unsetenv("LANEWAY_PROGRESS");
    has_own_clock = false;
    seconds_of_own = 0;
    node_of_rank.clear();
    MpiTest::TearDown();
  }

  /// From now on rules take no time, and MPI's own operations so long.
  static void say_that_own_takes(double seconds) {
    has_own_clock = true;
    seconds_of_own = seconds;
  }
  static void skip_one_rank() {
    if (size() == 1) GTEST_SKIP() << "SKIP: one rank has nothing to try";
  }

  /// A request that has been made as the hints say, and has given the right results; its reason.
  std::string reason_of(MPI_Comm comm, const Hints& hints, std::string& strategy, int each = 5) {
    Numbers numbers(each);
    LNW_Request request = numbers.init(comm, hints);
    const Counts before = counts;
    for (int n = 0; n < 3; ++n) {
      numbers.fill(n);
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(numbers.are_right()) << n;
    }
    messages_ = counts.inside - before.inside;
    strategy = told(request, "lnw_strategy");
    const std::string reason = told(request, "lnw_reason");
    EXPECT_EQ(told(request, "lnw_measured_mpi").empty(), reason.find("trial") == std::string::npos) << reason;
    EXPECT_MPI(LNW_Request_free(&request));
    return reason;
  }

  long messages_ = 0;  ///< of this rank's exchanges of the last such request
};

bool is_of_trial(const std::string& reason) {
  return reason.starts_with("in a trial");
}

/// Operations that are named here, by every rule that has messages.
std::vector<std::pair<std::string, std::string>> named_rules() {
  std::vector<std::pair<std::string, std::string>> all;
  for (const laneway::DenseRule& rule : laneway::dense_rules()) {
    const std::string operation = laneway::name(rule.kind);
    for (const char* const known : {"allreduce", "bcast", "allgather", "barrier", "alltoall"})
      if (operation == known && rule.traits.windows == laneway::Windows::none)
        all.emplace_back(operation, std::string(rule.name));
  }
  return all;
}

TEST_F(DenseTrialsTest, RepeatedCallsSendNoMessageInsideANode) {
  const Setting transport("LANEWAY_TRANSPORT", "node");
  for (const int ranks_of_node : {size(), 2}) {
    if (ranks_of_node > size()) continue;
    const Setting machine("LANEWAY_MACHINE", "node:* rank:" + std::to_string(ranks_of_node));
    node_of_rank.resize(static_cast<std::size_t>(size()));
    for (int i = 0; i < size(); ++i) node_of_rank[static_cast<std::size_t>(i)] = i / ranks_of_node;
    for (const auto& [operation, rule] : named_rules()) {
      SCOPED_TRACE(operation + " by " + rule + ", nodes of " + std::to_string(ranks_of_node));
      const Setting collective("LANEWAY_COLLECTIVE", operation + ":" + rule);
      const Comm comm = copy_of_world();
      test::Dense dense{.operation = operation, .comm = comm.get(), .count = 20, .root = size() - 1, .seed = 4};
      const std::vector<std::byte> expected = dense.run(Way::mpi);
      for (int n = 0; n < 3; ++n) ASSERT_TRUE(dense.run(Way::blocking) == expected) << n;
      counts = {};
      for (int n = 0; n < 5; ++n) ASSERT_TRUE(dense.run(Way::blocking) == expected) << n;
      const Counts counted = counts;
      EXPECT_EQ(sum(counted.inside), 0);
      EXPECT_EQ(sum(counted.own), 0);
      EXPECT_EQ(sum(counted.between) > 0, ranks_of_node < size());
    }
  }
}

/// All ranks see that its counts are equal, and it uses the same memory.
TEST_F(DenseTrialsTest, AReduceScatterWithEqualCountsIsThatOfABlock) {
  const Setting transport("LANEWAY_TRANSPORT", "node");
  const Setting collective("LANEWAY_COLLECTIVE", "reduce_scatter:hierarchical");
  node_of_rank.clear();
  const Comm comm = copy_of_world();
  constexpr int each = 3;
  const std::vector<int> equal(static_cast<std::size_t>(size()), each);
  std::vector<int> mine(static_cast<std::size_t>(size() * each));
  std::iota(mine.begin(), mine.end(), 100 * rank());
  std::vector<int> sums(each), expected(each);
  PMPI_Reduce_scatter(mine.data(), expected.data(), equal.data(), MPI_INT, MPI_SUM, comm.get());
  for (int n = 0; n < 8; ++n) {
    if (n == 3) counts = {};
    sums.assign(each, -1);
    EXPECT_MPI(LNW_Reduce_scatter(mine.data(), sums.data(), equal.data(), MPI_INT, MPI_SUM, comm.get()));
    EXPECT_EQ(sums, expected) << n;
  }
  const Counts counted = counts;
  EXPECT_EQ(sum(counted.inside), 0);
  EXPECT_EQ(sum(counted.own), 0);
}

/// It leaves out ranks that have none, as its nonblocking one does not. Where operands are in an order, a rule says in
/// which.
TEST_F(DenseTrialsTest, ABlockingReduceScatterOfFewerElementsThanRanksIsMpis) {
  if (size() < 3) GTEST_SKIP() << "SKIP: ranks of several nodes are needed";
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  for (const std::string order : {"fixed", "canonical", "exact"})
    for (const int without : {0, 1}) {
      SCOPED_TRACE(order + ", " + std::to_string(without) + " ranks without elements");
      const Setting setting("LANEWAY_ORDER", order);
      const Comm comm = copy_of_world();
      const long of_mpi = order == "fixed" && without > 0 ? 1 : 0;
      std::vector<int> elements(static_cast<std::size_t>(size()), 1);
      elements.front() -= without;
      const std::vector<double> mine(elements.size(), rank() + 1);
      const double all = elements[static_cast<std::size_t>(rank())] * size() * (size() + 1) / 2;
      for (int n = 0; n < 2; ++n) {
        counts = {};
        double sum = 0;
        EXPECT_MPI(LNW_Reduce_scatter(mine.data(), &sum, elements.data(), MPI_DOUBLE, MPI_SUM, comm.get()));
        EXPECT_EQ(sum, all);
      }
      EXPECT_EQ(counts.own, of_mpi);
      double sum = 0;
      std::array<LNW_Request, 2> requests{};
      EXPECT_MPI(
          LNW_Ireduce_scatter(mine.data(), &sum, elements.data(), MPI_DOUBLE, MPI_SUM, comm.get(), &requests[0]));
      EXPECT_NE(told(requests[0], "lnw_strategy"), "mpi");
      EXPECT_MPI(LNW_Wait(requests.data(), MPI_STATUS_IGNORE));
      EXPECT_EQ(sum, all);
      EXPECT_MPI(LNW_Reduce_scatter_init(mine.data(), &sum, elements.data(), MPI_DOUBLE, MPI_SUM, comm.get(),
                                         MPI_INFO_NULL, &requests[1]));
      EXPECT_NE(told(requests[1], "lnw_strategy"), "mpi");
      EXPECT_MPI(LNW_Request_free(&requests[1]));
    }
}

/// One sum has the mean, and what the busiest rank and node send; others say what is wanted, and that nothing failed.
TEST_F(DenseTrialsTest, AnAllToAllVIsSetUpWithOneSumOfSizes) {
  skip_one_rank();
  if (IsSkipped()) return;
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  const Setting transport("LANEWAY_TRANSPORT", "p2p");
  const Info info(Hints{{"lnw_collective", "pairwise"}, {"lnw_exchanges", "1"}});
  const Comm comm = copy_of_world();
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<int> mine(ranks), received(ranks), places(ranks);
  const std::vector<int> each(ranks, 1);
  std::iota(places.begin(), places.end(), 0);
  long messages = 0;
  for (int n = 0; n < 2; ++n) {
    counts = {};
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Alltoallv_init(mine.data(), each.data(), places.data(), MPI_INT, received.data(), each.data(),
                                  places.data(), MPI_INT, comm.get(), info.get(), &request));
    messages = sum(counts.inside + counts.between);
    EXPECT_MPI(LNW_Request_free(&request));
  }
  EXPECT_LT(messages, 4 * 2 * (size() - 1)) << "as many as four";
}

/// Once a communicator knows its layout, nothing that setup sends grows with the number of ranks.
TEST_F(DenseTrialsTest, AllreduceIsSetUpWithoutMessagesThatGrowWithRanks) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  const Setting transport("LANEWAY_TRANSPORT", "p2p");
  for (const laneway::DenseRule& rule : laneway::dense_rules()) {
    if (rule.kind != laneway::Dense::allreduce) continue;
    SCOPED_TRACE(rule.name);
    const Info info(
        Hints{{"lnw_collective", std::string(rule.name)}, {"lnw_progress", "wait"}, {"lnw_exchanges", "1"}});
    const Comm comm = copy_of_world();
    std::vector<int> mine(96, rank() + 1), received(96);
    std::array<LNW_Request, 2> requests = {LNW_REQUEST_NULL, LNW_REQUEST_NULL};
    std::array<Counts, 2> setups;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      counts = {};
      EXPECT_MPI(LNW_Allreduce_init(mine.data(), received.data(), i == 0 ? 64 : 96, MPI_INT, MPI_SUM, comm.get(),
                                    info.get(), &requests[i]));
      setups[i] = counts;
    }
    constexpr long of_any_ranks = 128;
    EXPECT_LE(setups[1].largest, of_any_ranks);
    // What is wanted, and that nothing failed: each time the first of few ranks hears from all of them, and answers.
    EXPECT_LE(sum(setups[1].inside + setups[1].between), 4 * (size() - 1));
    EXPECT_EQ(sum(setups[1].own), 0);
    EXPECT_MPI(LNW_Start(&requests[1]));
    EXPECT_MPI(LNW_Wait(&requests[1], MPI_STATUS_IGNORE));
    EXPECT_EQ(received.back(), size() * (size() + 1) / 2);
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(DenseTrialsTest, APersistentRequestIsTriedWhereItIsMade) {
  skip_one_rank();
  if (IsSkipped()) return;
  std::string strategy;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  EXPECT_TRUE(is_of_trial(reason_of(comm.get(), {}, strategy)));
  EXPECT_NE(strategy, "mpi");
  // The next one of the kind takes the verdict: MPI's own operation is not run again.
  counts = {};
  seconds_of_own = 0;
  EXPECT_TRUE(is_of_trial(reason_of(comm.get(), {}, strategy)));
  EXPECT_NE(strategy, "mpi");
  EXPECT_EQ(counts.own, 0);
  EXPECT_EQ(messages_, 0);
  // Of another size there is another trial, with another end.
  EXPECT_TRUE(is_of_trial(reason_of(comm.get(), {}, strategy, 6)));
  EXPECT_EQ(strategy, "mpi");
}

TEST_F(DenseTrialsTest, HintsSayWhetherThereIsATrial) {
  skip_one_rank();
  if (IsSkipped()) return;
  std::string strategy;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  for (const Hints& without :
       {Hints{{"lnw_exchanges", "1"}}, Hints{{"lnw_collective", "mpi"}}, Hints{{"lnw_collective", "bruck"}},
        Hints{{"lnw_transport", "p2p"}}, Hints{{"lnw_progress", "strict"}}})
    EXPECT_FALSE(is_of_trial(reason_of(comm.get(), without, strategy))) << without.front().first;
  for (const Hints& with : {Hints{{"lnw_exchanges", "1"}, {"lnw_tune", "measure"}}, Hints{{"lnw_exchanges", "1000"}}}) {
    EXPECT_TRUE(is_of_trial(reason_of(comm.get(), with, strategy))) << with.front().first;
    EXPECT_NE(strategy, "mpi");
  }
  // Requests that will not be started often are counted together.
  const Hints ten{{"lnw_exchanges", "10"}};
  EXPECT_FALSE(is_of_trial(reason_of(comm.get(), ten, strategy)));
  EXPECT_TRUE(is_of_trial(reason_of(comm.get(), ten, strategy)));
}

TEST_F(DenseTrialsTest, RequestsOfOneTrialMayBeActiveTogether) {
  skip_one_rank();
  if (IsSkipped()) return;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  std::vector<Numbers> numbers(3, Numbers(4));
  std::vector<LNW_Request> requests;
  for (Numbers& one : numbers) requests.push_back(one.init(comm.get()));
  for (int n = 0; n < 5; ++n) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i].fill(3 * n + static_cast<int>(i));
      EXPECT_MPI(LNW_Start(&requests[i]));
    }
    for (std::size_t i = numbers.size(); i-- > 0;) {
      EXPECT_MPI(LNW_Wait(&requests[i], MPI_STATUS_IGNORE));
      EXPECT_TRUE(numbers[i].are_right()) << n;
    }
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// Their order must not follow from times.
TEST_F(DenseTrialsTest, SumsOfFloatingPointNumbersAreNotTried) {
  skip_one_rank();
  if (IsSkipped()) return;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  std::array<double, 4> mine{1, 2, 3, 4}, all{};
  const auto reason = [&](MPI_Op op) {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Allreduce_init(mine.data(), all.data(), 4, MPI_DOUBLE, op, comm.get(), MPI_INFO_NULL, &request));
    std::string text = told(request, "lnw_reason");
    EXPECT_MPI(LNW_Request_free(&request));
    return text;
  };
  EXPECT_FALSE(is_of_trial(reason(MPI_SUM)));
  EXPECT_TRUE(is_of_trial(reason(MPI_MAX)));
}

/// But under lnw_order=tried once, before the first result, for all vectors of a size: no bit changes afterwards.
TEST_F(DenseTrialsTest, SumsOfFloatingPointNumbersAreTriedBeforeTheirFirstResult) {
  skip_one_rank();
  if (IsSkipped()) return;
  const Setting order("LANEWAY_ORDER", "tried");
  for (const double seconds : {1e-3, 0.0}) {
    SCOPED_TRACE(seconds);
    say_that_own_takes(seconds);
    const long own_of_call = seconds > 0 ? 0 : 1;
    const Comm comm = copy_of_world();
    for (const int count : {9, 12, 15}) {
      std::vector<double> mine(static_cast<std::size_t>(count)), first(mine.size()), all(mine.size());
      for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = 1.0 / (1 + rank() * 7 + static_cast<int>(i));
      counts = {};
      EXPECT_MPI(LNW_Allreduce(mine.data(), first.data(), count, MPI_DOUBLE, MPI_SUM, comm.get()));
      if (count == 9)
        EXPECT_GT(counts.own, 1) << "a trial runs MPI's own several times";
      else
        EXPECT_EQ(counts.own, own_of_call) << "of one size there is one trial";
      for (int n = 0; n < 70; ++n) {
        counts = {};
        EXPECT_MPI(LNW_Allreduce(mine.data(), all.data(), count, MPI_DOUBLE, MPI_SUM, comm.get()));
        EXPECT_EQ(counts.own, own_of_call);
        EXPECT_TRUE(all == first) << n;
      }
    }
    std::array<double, 4> mine{1, 2, 3, 4}, all{};
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Allreduce_init(mine.data(), all.data(), 4, MPI_DOUBLE, MPI_SUM, comm.get(), MPI_INFO_NULL, &request));
    EXPECT_TRUE(is_of_trial(told(request, "lnw_reason")));
    EXPECT_EQ(told(request, "lnw_strategy") == "mpi", seconds == 0);
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(all[2], 3.0 * size());
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(DenseTrialsTest, NonblockingCallsAreTriedInALaterCallThatMayBlock) {
  skip_one_rank();
  if (IsSkipped()) return;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  EXPECT_MPI(LNW_Barrier(comm.get()));
  Numbers numbers(3);
  const auto own_of_next = [&](int seed) {
    numbers.fill(seed);
    counts = {};
    LNW_Request request = numbers.start(comm.get());
    const long own = counts.own;
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_TRUE(numbers.are_right()) << seed;
    return own;
  };
  for (int n = 0; n < 25; ++n) ASSERT_EQ(own_of_next(n), 1) << n;
  EXPECT_MPI(LNW_Barrier(comm.get()));
  for (int n = 0; n < 3; ++n) ASSERT_EQ(own_of_next(n), 0) << n;
}

/// Whatever other ranks have: a trial on buffers of the host says nothing about exchanges that copy from devices.
TEST_F(DenseTrialsTest, ABufferOnADeviceOfOneRankPreventsATrial) {
  if (!uses_devices()) GTEST_SKIP() << "SKIP: no device plugin is loaded";
  skip_one_rank();
  if (IsSkipped()) return;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  const auto bytes = 7 * static_cast<std::size_t>(size()) * sizeof(int);
  const Mirror there(Mirror::Kind::device, bytes);
  there.write(std::vector<unsigned char>(bytes));
  std::vector<int> here(bytes / sizeof(int)), received(here.size());
  const bool is_last = rank() == size() - 1;
  const auto reason = [&](const void* sent) {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Alltoall_init(sent, 7, MPI_INT, received.data(), 7, MPI_INT, comm.get(), MPI_INFO_NULL, &request));
    std::string text = told(request, "lnw_reason");
    EXPECT_MPI(LNW_Request_free(&request));
    return text;
  };
  const void* const one_on_device = is_last ? static_cast<const void*>(there.data()) : here.data();
  EXPECT_FALSE(is_of_trial(reason(one_on_device)));
  EXPECT_TRUE(is_of_trial(reason(here.data())));
  // Nonblocking calls, of which the others do not know, are counted on all ranks, and tried on none.
  EXPECT_MPI(LNW_Barrier(comm.get()));
  const auto own_of_next = [&](const void* sent, int each) {
    counts = {};
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Ialltoall(sent, each, MPI_INT, received.data(), each, MPI_INT, comm.get(), &request));
    const long own = counts.own;
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    return own;
  };
  for (const bool on_device : {true, false}) {
    const int each = on_device ? 6 : 5;
    for (int n = 0; n < 25; ++n)
      ASSERT_EQ(own_of_next(on_device && n == 3 ? one_on_device : here.data(), each), 1) << n;
    EXPECT_MPI(LNW_Barrier(comm.get()));
    EXPECT_EQ(own_of_next(here.data(), each), on_device ? 1 : 0);
  }
}

TEST_F(DenseTrialsTest, LongCallsAreTriedEarlier) {
  skip_one_rank();
  if (IsSkipped()) return;
  say_that_own_takes(1e-3);
  const Comm comm = copy_of_world();
  const auto first_without_own = [&](int each, int calls) {
    Numbers numbers(each);
    for (int n = 1; n <= calls; ++n) {
      numbers.fill(n);
      counts = {};
      numbers.call(comm.get());
      EXPECT_TRUE(numbers.are_right()) << n;
      if (counts.own == 0) return n;
    }
    return 0;
  };
  EXPECT_EQ(first_without_own(2, 30), 21);
  EXPECT_EQ(first_without_own((1 << 19) / size(), 20), 9);
  // Larger buffers are not tried: a trial has as many of its own. They take long where many ranks share few cores.
  if (size() == 2 || long_tests()) {
    EXPECT_EQ(first_without_own((17 << 18) / size(), 10), 0);
  }
}

}  // namespace
}  // namespace laneway::test
