// lnw_transport=rma: messages between nodes are put into windows.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "exchange.hpp"
#include "plan/plan.hpp"
#include "setting.hpp"

namespace {

/// What the library has begun by MPI since somebody set them to 0.
int sent_messages = 0;
int put_messages = 0;
/// The rank of the world that gets no window while this is set; -1: each gets one.
int refused = -1;
/// What another rank has got meanwhile.
MPI_Win useless = MPI_WIN_NULL;

}  // namespace

extern "C" {

#pragma GCC visibility push(default)
int MPI_Isend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
  ++sent_messages;
  return PMPI_Isend(buffer, count, type, to, tag, comm, request);
}
int MPI_Send(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  ++sent_messages;
  return PMPI_Send(buffer, count, type, to, tag, comm);
}
int MPI_Start(MPI_Request* request) {
  ++sent_messages;
  return PMPI_Start(request);
}
int MPI_Startall(int count, MPI_Request* requests) {
  sent_messages += count;
  return PMPI_Startall(count, requests);
}
int MPI_Put(const void* from, int count, MPI_Datatype type, int to, MPI_Aint at, int to_count, MPI_Datatype to_type,
            MPI_Win window) {
  ++put_messages;
  return PMPI_Put(from, count, type, to, at, to_count, to_type, window);
}
int MPI_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window) {
  int rank = -1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == refused) return MPI_ERR_NO_MEM;
  const int code = PMPI_Win_allocate(bytes, unit, info, refused < 0 ? comm : MPI_COMM_SELF, base, window);
  if (refused >= 0 && code == MPI_SUCCESS) useless = *window;
  return code;
}
int MPI_Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window) {
  if (refused < 0) return PMPI_Win_create(base, bytes, unit, info, comm, window);
  return MPI_Win_allocate(bytes, unit, info, comm, &base, window);  // Open MPI makes none of one rank of given memory
}
#pragma GCC visibility pop

}  // extern "C"

namespace laneway::test {
namespace {

constexpr const char* alone = "node:* rank:1";

/// A persistent request under `hints`, with data of its own.
struct Operation {
  Operation(Op op, MPI_Comm comm, std::uint64_t seed, Hints hints) : exchange(op, comm, seed, seed % 3 == 0) {
    hints.emplace_back("lnw_transport", "rma");
    EXPECT_MPI(exchange.init(Info(hints).get(), &request));
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Request_get_info(request, &info));
    char value[MPI_MAX_INFO_VAL] = "";
    int has_reason = 0;
    MPI_Info_get(info, "lnw_transport_reason", sizeof value - 1, value, &has_reason);
    if (has_reason != 0) reason = value;
    MPI_Info_free(&info);
  }
  ~Operation() { EXPECT_MPI(LNW_Request_free(&request)); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  void fill(int turn) {
    exchange.fill(turn);
    exchange.reference();
    sent_messages = put_messages = 0;
  }
  [[nodiscard]] Plan plan() const { return plan_from_json(plan_text(request)); }
  /// Messages of the plan that are the MPI library's, and that are put.
  [[nodiscard]] std::pair<std::ptrdiff_t, std::ptrdiff_t> count() const {
    const Plan all = plan();
    return {
        std::ranges::count_if(
            all.steps, [](const Step& step) { return step.kind == StepKind::send || step.kind == StepKind::receive; }),
        std::ranges::count_if(all.steps, [](const Step& step) { return step.kind == StepKind::move && step.raise; })};
  }

  Exchange exchange;
  std::string reason;  ///< why nothing is put
  LNW_Request request = LNW_REQUEST_NULL;
};

void complete(LNW_Request& request, bool by_test) {
  if (!by_test) {
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
}

bool some_rank(bool mine) {
  int one = mine ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  return one != 0;
}

using RmaTest = MpiTest;

/// Each rank is a node: nothing is a message of the MPI library, from the start to the end of each exchange.
TEST_F(RmaTest, ExchangesAreFreeOfMessages) {
  if (uses_devices()) GTEST_SKIP() << "SKIP: what is on devices stays a message";
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (const Op op : all_ops) {
    Operation operation(op, graph.get(), 1 + static_cast<std::uint64_t>(op), {{"lnw_machine", alone}});
    if (some_rank(!operation.reason.empty())) {
      EXPECT_EQ(operation.plan().window_bytes, 0);
      GTEST_SKIP() << "SKIP: " << operation.reason;
    }
    const auto [sent, put] = operation.count();
    EXPECT_EQ(sent, 0);
    EXPECT_EQ(some_rank(put > 0), size() > 1);
    for (int turn = 0; turn < effort(50); ++turn) {
      operation.fill(turn);
      EXPECT_MPI(LNW_Start(&operation.request));
      complete(operation.request, turn % 2 == 1);
      EXPECT_EQ(sent_messages, 0);
      EXPECT_EQ(put_messages, put);
      ASSERT_TRUE(operation.exchange.arrived()) << name(op) << ", turn " << turn;
    }
  }
}

/// What a rank puts arrives although its receiver, which waits, already has a message of a later request.
TEST_F(RmaTest, ArrivesWhereALaterRequestHasBegun) {
  if (size() < 3) GTEST_SKIP() << "SKIP: takes ranks that wait, put, and make the next request";
  if (uses_devices()) GTEST_SKIP() << "SKIP: what is on devices stays a message";
  const Shape pair = rank() == 0 ? Shape{{2}, {}} : rank() == 2 ? Shape{{}, {0}} : Shape{};
  const Comm graph = make_graph(MPI_COMM_WORLD, pair);
  for (const bool by_test : {false, true}) {
    Operation operation(Op::allgather, graph.get(), 1, {{"lnw_machine", alone}});
    if (some_rank(!operation.reason.empty())) GTEST_SKIP() << "SKIP: " << operation.reason;
    operation.fill(0);
    EXPECT_MPI(LNW_Start(&operation.request));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank() == 0)
      for (int turn = 0, flag = 0; turn < 20; ++turn) {  // takes in what rank 1 has sent
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
      }
    if (rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(300));
    complete(operation.request, by_test);
    Operation later(Op::allgather, graph.get(), 2, {{"lnw_machine", alone}});
    EXPECT_TRUE(operation.exchange.arrived());
  }
}

/// A persistent all-to-all-v by windows, with blocks of other sizes for each pair, some of them of none, and what it
/// says of itself.
struct AllToAll {
  AllToAll(MPI_Comm comm, int rank, int size, int seed) : rank_(rank), size_(size), seed_(seed) {
    for (int peer = 0; peer < size; ++peer) {
      send_counts.push_back(count_of(rank, peer));
      receive_counts.push_back(count_of(peer, rank));
      places.push_back(peer * most);
    }
    send.resize(static_cast<std::size_t>(size * most));
    receive.resize(send.size());
    EXPECT_MPI(LNW_Alltoallv_init(send.data(), send_counts.data(), places.data(), MPI_INT, receive.data(),
                                  receive_counts.data(), places.data(), MPI_INT, comm, MPI_INFO_NULL, &request));
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Request_get_info(request, &info));
    char value[MPI_MAX_INFO_VAL] = "";
    int found = 0;
    MPI_Info_get(info, "lnw_strategy", sizeof value - 1, value, &found);
    strategy = value;
    MPI_Info_free(&info);
  }
  ~AllToAll() { EXPECT_MPI(LNW_Request_free(&request)); }
  AllToAll(const AllToAll&) = delete;
  AllToAll& operator=(const AllToAll&) = delete;

  void fill(int turn) {
    for (int i = 0; i < size_ * most; ++i) send[static_cast<std::size_t>(i)] = value_of(rank_, i, turn);
    std::ranges::fill(receive, -1);
    put_messages = 0;
  }
  /// Nothing else is written.
  [[nodiscard]] bool arrived(int turn) const {
    for (int i = 0; i < size_ * most; ++i) {
      const int peer = i / most;
      const bool is_in_block = i % most < receive_counts[static_cast<std::size_t>(peer)];
      if (receive[static_cast<std::size_t>(i)] != (is_in_block ? value_of(peer, rank_ * most + i % most, turn) : -1))
        return false;
    }
    return true;
  }
  [[nodiscard]] int blocks_for_others() const {
    int blocks = 0;
    for (int peer = 0; peer < size_; ++peer)
      blocks += peer != rank_ && send_counts[static_cast<std::size_t>(peer)] > 0 ? 1 : 0;
    return blocks;
  }

  std::string strategy;
  LNW_Request request = LNW_REQUEST_NULL;

 private:
  static constexpr int most = 4;
  [[nodiscard]] int count_of(int from, int to) const { return (3 * from + to + seed_) % (most + 1); }
  [[nodiscard]] int value_of(int from, int i, int turn) const { return ((turn * 100 + from) * 100 + i) * 10 + seed_; }

  int rank_;
  int size_;
  int seed_;
  std::vector<int> send_counts, receive_counts, places, send, receive;
};

/// Each block is one put. Ranks are late in turn, the communicator is freed while requests of it are there, and each
/// rank frees them in another order.
TEST_F(RmaTest, AllToAllsOutliveTheirCommunicator) {
  if (uses_devices()) GTEST_SKIP() << "SKIP: the arrays are in memory of the host";
  const Setting progress("LANEWAY_PROGRESS", "wait");
  for (const std::string rule : {"rma_fence", "rma_lock"}) {
    const Setting collective("LANEWAY_COLLECTIVE", "alltoall:" + rule);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    std::vector<std::unique_ptr<AllToAll>> all;
    for (const int seed : {1, 2}) all.push_back(std::make_unique<AllToAll>(copy, rank(), size(), seed));
    const bool in_windows = all.front()->strategy == rule;
    MPI_Comm_free(&copy);
    for (int turn = 0; turn < 6; ++turn)
      for (const auto& each : all) {
        each->fill(turn);
        if (turn % size() == rank()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        EXPECT_MPI(LNW_Start(&each->request));
        complete(each->request, turn % 2 == 1);
        EXPECT_EQ(put_messages, in_windows ? each->blocks_for_others() : 0);
        ASSERT_TRUE(each->arrived(turn)) << rule << ", turn " << turn;
      }
    if (rank() % 2 == 0) std::ranges::reverse(all);
    while (!all.empty()) all.pop_back();
  }
}

/// Where one rank gets no window, the all-to-all is MPI's on all of them. Others of the communicator get theirs.
TEST_F(RmaTest, WithoutWindowsTheAllToAllIsMpis) {
  if (size() < 2 || uses_devices()) GTEST_SKIP() << "SKIP: nothing is put between ranks";
  const Setting progress("LANEWAY_PROGRESS", "wait");
  for (const std::string rule : {"rma_fence", "rma_lock"}) {
    const Setting collective("LANEWAY_COLLECTIVE", "alltoall:" + rule);
    MPI_Comm copy = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    const Comm comm(copy);
    const bool have_windows = AllToAll(comm.get(), rank(), size(), 1).strategy == rule;
    for (const int refusing : {size() - 1, -1}) {
      refused = refusing;
      AllToAll one(comm.get(), rank(), size(), 2);
      refused = -1;
      if (useless != MPI_WIN_NULL) {  // nobody else could free it
        if (rule == "rma_lock") MPI_Win_unlock_all(useless);
        MPI_Win_free(&useless);
      }
      EXPECT_EQ(one.strategy, have_windows && refusing < 0 ? rule : "mpi");
      for (int turn = 0; turn < 2; ++turn) {
        one.fill(turn);
        EXPECT_MPI(LNW_Start(&one.request));
        complete(one.request, turn == 1);
        ASSERT_TRUE(one.arrived(turn)) << rule << ", refused by " << refusing << ", turn " << turn;
      }
    }
  }
}

/// Where one rank gets no window, all have messages, and say why. Later requests of the communicator do not try again.
TEST_F(RmaTest, WithoutWindowsAllIsMessages) {
  if (size() < 2) GTEST_SKIP() << "SKIP: nothing is put between nodes";
  MPI_Comm reversed = MPI_COMM_NULL;  // which has no windows yet
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank(), &reversed);
  const Comm all(reversed);
  const Comm graph = make_graph(all.get(), complete_shape(size()));
  for (const int refusing : {0, -1}) {
    refused = refusing;
    Operation operation(Op::alltoallv, graph.get(), 11, {{"lnw_machine", alone}});
    refused = -1;
    if (useless != MPI_WIN_NULL) {  // nobody else could free it
      MPI_Win_unlock_all(useless);
      MPI_Win_free(&useless);
    }
    EXPECT_NE(operation.reason, "");
    if (rank() == 0) {
      EXPECT_NE(operation.reason.find("MPI_Win_allocate"), std::string::npos) << operation.reason;
    }
    EXPECT_EQ(operation.plan().window_bytes, 0);
    for (int turn = 0; turn < 4; ++turn) {
      operation.fill(turn);
      EXPECT_MPI(LNW_Start(&operation.request));
      complete(operation.request, turn % 2 == 1);
      EXPECT_EQ(put_messages, 0);
      ASSERT_TRUE(operation.exchange.arrived()) << "turn " << turn;
    }
  }
}

/// Blocking calls with fixed counts are run while a request is active whose messages are put.
TEST_F(RmaTest, BlockingCallsBesideARequest) {
  const Info info(Hints{{"lnw_machine", alone}, {"lnw_transport", "rma"}, {"lnw_fixed_counts", "true"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
  for (const Op op : {Op::alltoallv, Op::allgather}) {
    Exchange exchange(op, graph.get(), 41, false);
    Operation beside(op, graph.get(), 42, {{"lnw_machine", alone}});
    for (int turn = 0; turn < effort(10); ++turn) {
      exchange.fill(turn);
      exchange.reference();
      beside.fill(turn);
      EXPECT_MPI(LNW_Start(&beside.request));
      EXPECT_MPI(exchange.blocking());
      ASSERT_TRUE(exchange.arrived()) << "turn " << turn;
      complete(beside.request, false);
      ASSERT_TRUE(beside.exchange.arrived()) << "turn " << turn;
    }
  }
}

/// All strategies on all machines, with what each carrier brings beside the others, and edges in one direction only.
TEST_F(RmaTest, AllStrategiesDeliver) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(5, rank(), size()));
  std::uint64_t seed = 20;
  for (const std::string& machine : machines())
    for (Choice choice : choices(machine)) {
      if (++seed % 3 != 0) continue;
      choice.transport = "rma";
      choice.path = "auto";
      Hints hints = choice.hints();
      std::erase_if(hints, [](const auto& hint) { return hint.first == "lnw_transport"; });
      Operation operation(all_ops[seed % 5], graph.get(), seed, hints);
      for (int turn = 0; turn < effort(8); ++turn) {
        operation.fill(turn);
        EXPECT_MPI(LNW_Start(&operation.request));
        complete(operation.request, (turn + rank()) % 2 == 1);
        ASSERT_TRUE(operation.exchange.arrived()) << choice.text() << ", turn " << turn;
      }
    }
}

/// Senders may be one exchange ahead of receivers, and no further.
TEST_F(RmaTest, RanksMayBeLate) {
  Shape chain;
  if (rank() > 0) chain.sources = {rank() - 1};
  if (rank() + 1 < size()) chain.destinations = {rank() + 1};
  const Comm graph = make_graph(MPI_COMM_WORLD, chain);
  Operation operation(Op::alltoallv, graph.get(), 7, {{"lnw_machine", alone}});
  for (int turn = 0; turn < 12; ++turn) {
    operation.fill(turn);
    if (turn % size() == rank()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    EXPECT_MPI(LNW_Start(&operation.request));
    complete(operation.request, turn % 3 == 0);
    ASSERT_TRUE(operation.exchange.arrived()) << "turn " << turn;
  }
}

/// Requests of a communicator, some at a time, in windows that earlier ones have had, freed in another order on each
/// rank; beside those of a communicator of some ranks.
TEST_F(RmaTest, RequestsShareWindowsOneAfterAnother) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &some);
  const Comm part(some);
  int part_rank = 0;
  int part_size = 0;
  MPI_Comm_rank(part.get(), &part_rank);
  MPI_Comm_size(part.get(), &part_size);
  const Comm inner = make_graph(part.get(), ring_shape(part_rank, part_size));
  for (int round = 0; round < effort(6); ++round) {
    const auto seed = static_cast<std::uint64_t>(30 + round);
    std::vector<std::unique_ptr<Operation>> all;
    for (const std::uint64_t n : {0U, 1U})
      all.push_back(
          std::make_unique<Operation>(all_ops[(seed + n) % 5], graph.get(), seed + n, Hints{{"lnw_machine", alone}}));
    all.push_back(std::make_unique<Operation>(Op::alltoallv, inner.get(), seed, Hints{{"lnw_machine", alone}}));
#ifdef OPEN_MPI
    // Whose windows of some ranks have names that those of others have, too.
    if (part_size > 1 && part_size < size()) {
      EXPECT_NE(all.back()->reason, "");
    }
#endif
    for (int turn = 0; turn < 4; ++turn) {
      for (const auto& each : all) each->fill(turn);
      for (const auto& each : all) EXPECT_MPI(LNW_Start(&each->request));
      for (const auto& each : all) complete(each->request, (turn + rank()) % 2 == 1);
      for (const auto& each : all) ASSERT_TRUE(each->exchange.arrived()) << "round " << round << ", turn " << turn;
    }
    if ((rank() + round) % 2 == 0) std::ranges::reverse(all);
    while (!all.empty()) all.pop_back();
  }
}

}  // namespace
}  // namespace laneway::test
