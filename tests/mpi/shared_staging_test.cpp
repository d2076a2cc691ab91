// Persistent requests that share staging memory: lnw_shared_staging.
#include <algorithm>
#include <memory>
#include <string>

#include "communicator/communicator.hpp"
#include "exchange.hpp"
#include "runtime/carriers/node/node_memory.hpp"
#include "runtime/carriers/node/sharing.hpp"

namespace laneway::test {
namespace {

constexpr const char* enough = "1000000";

struct Operation {
  Operation(MPI_Comm comm, std::uint64_t seed, Hints hints, const std::string& bytes = enough)
      : exchange(all_ops[seed % 5], comm, seed, seed % 3 == 0) {
    hints.emplace_back("lnw_shared_staging", bytes);
    for (const auto& [key, value] : hints) words += key + "=" + value + " ";
    EXPECT_MPI(exchange.init(Info(hints).get(), &request));
  }
  ~Operation() { EXPECT_MPI(LNW_Request_free(&request)); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  void fill(int iteration) {
    exchange.fill(iteration);
    exchange.reference();
  }
  [[nodiscard]] LNW_Request_statistics statistics() const {
    LNW_Request_statistics result{};
    EXPECT_MPI(LNW_Request_get_statistics(request, &result));
    return result;
  }

  Exchange exchange;
  std::string words;
  LNW_Request request = LNW_REQUEST_NULL;
};

void complete(LNW_Request& request, bool by_test) {
  if (!by_test) {
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    return;
  }
  for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
}

class SharedStagingTest : public MpiTest {
 protected:
  /// `turns` exchanges of requests with different strategies in random order, the same on all ranks.
  void alternate(const std::string& machine, const Hints& more, int turns) {
    const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(mix({41, machine.size()}), rank(), size()));
    Random order(static_cast<unsigned>(mix({42, machine.size(), more.size()})));
    const std::vector<Choice> all = choices(machine);
    std::vector<std::unique_ptr<Operation>> operations;
    const auto add = [&] {
      Hints hints = all[static_cast<std::size_t>(pick(order, 0, static_cast<int>(all.size()) - 1))].hints();
      hints.insert(hints.end(), more.begin(), more.end());
      operations.push_back(std::make_unique<Operation>(graph.get(), 300 + operations.size(), hints));
    };
    for (int n = 0; n < 4; ++n) add();
    for (int turn = 0; turn < turns; ++turn) {
      if (turn % 10 == 5) add();  // others take from the same memory from now on
      Operation& operation =
          *operations[static_cast<std::size_t>(pick(order, 0, static_cast<int>(operations.size()) - 1))];
      operation.fill(turn);
      EXPECT_MPI(LNW_Start(&operation.request));
      complete(operation.request, mix({43, static_cast<std::uint64_t>(turn), static_cast<std::uint64_t>(rank())}) % 2);
      ASSERT_TRUE(operation.exchange.arrived()) << operation.words << ", turn " << turn;
    }
  }
};

TEST_F(SharedStagingTest, RequestsTakeTurns) {
  for (const std::string& machine : machines()) alternate(machine, {}, effort(40));
}

TEST_F(SharedStagingTest, RequestsTakeTurnsWithoutSharedMemory) {
  alternate("node:* rank:2", {{"lnw_transport", "p2p"}}, effort(20));
}

TEST_F(SharedStagingTest, RequestsTakeTurnsWithAProgressThread) {
  for (const std::string& machine : {std::string("node:* rank:2"), uneven_machine()})
    alternate(machine, {{"lnw_progress", "thread"}}, effort(20));
}

/// A rank may be late with a request that does not share the memory.
TEST_F(SharedStagingTest, OthersMayBeActiveMeanwhile) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const Hints hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}};
  Operation first(graph.get(), 21, hints), second(graph.get(), 22, hints), other(graph.get(), 23, hints, "0");
  for (int turn = 0; turn < effort(20); ++turn) {
    for (Operation* operation : {&first, &second, &other}) operation->fill(turn);
    EXPECT_MPI(LNW_Start(&other.request));
    const bool late = (rank() + turn) % 2 == 0;
    if (!late) EXPECT_MPI(LNW_Wait(&other.request, MPI_STATUS_IGNORE));
    for (Operation* operation : {&first, &second}) {
      EXPECT_MPI(LNW_Start(&operation->request));
      complete(operation->request, late);
    }
    EXPECT_MPI(LNW_Wait(&other.request, MPI_STATUS_IGNORE));
    for (Operation* operation : {&first, &second, &other})
      ASSERT_TRUE(operation->exchange.arrived()) << operation->words;
  }
}

void expect_refused(int code, const std::string& call, const std::string& what) {
  expect_error_class(code, MPI_ERR_REQUEST);
  EXPECT_EQ(error_text(code), call + " on rank " + std::to_string(rank()) + ": " + what);
}

/// On any rank.
std::int64_t most(std::int64_t mine) {
  MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
  return mine;
}

TEST_F(SharedStagingTest, TwoCannotBeActive) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  MPI_Comm_set_errhandler(graph.get(), MPI_ERRORS_RETURN);
  for (const char* transport : {"auto", "p2p"}) {
    const Hints hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}, {"lnw_transport", transport}};
    Operation first(graph.get(), 31, hints), second(graph.get(), 32, hints);
    const bool share = first.statistics().arena_bytes > 0 && second.statistics().arena_bytes > 0;
    EXPECT_EQ(most(share), size() > 2);
    for (int turn = 0; turn < 3; ++turn) {
      first.fill(turn);
      second.fill(turn);
      EXPECT_MPI(LNW_Start(&first.request));
      if (share)
        expect_refused(LNW_Start(&second.request), "LNW_Start",
                       "request shares its staging memory (lnw_shared_staging) with a request that is active");
      expect_refused(LNW_Start(&first.request), "LNW_Start", "request is active");
      EXPECT_MPI(LNW_Wait(&first.request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(first.exchange.arrived());
      LNW_Request both[2] = {first.request, second.request};
      if (share)
        expect_refused(LNW_Startall(2, both), "LNW_Startall",
                       "array_of_requests[1] shares its staging memory (lnw_shared_staging) with array_of_requests[0]");
      EXPECT_MPI(LNW_Startall(1, &first.request));  // the refused call has claimed no memory
      EXPECT_MPI(LNW_Wait(&first.request, MPI_STATUS_IGNORE));
      int flag = 0;
      EXPECT_MPI(LNW_Test(&first.request, &flag, MPI_STATUS_IGNORE));
      EXPECT_TRUE(flag);
      EXPECT_MPI(LNW_Startall(1, &second.request));
      EXPECT_MPI(LNW_Wait(&second.request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(second.exchange.arrived());
    }
  }
}

TEST_F(SharedStagingTest, MemoryIsTheSame) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const Hints hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}};
  std::weak_ptr<StagingArena> arena;
  {
    Operation first(graph.get(), 31, hints), second(graph.get(), 32, hints);
    const auto& arenas = Communicator::of(graph.get()).attachment<Arenas>().by_sharers;
    const int users = (first.statistics().arena_bytes > 0) + (second.statistics().arena_bytes > 0);
    EXPECT_EQ(arenas.size(), users > 0 ? 1U : 0U);
    EXPECT_EQ(most(users), size() > 2 ? 2 : 0);
    if (users > 0) {
      arena = arenas.begin()->second;
      EXPECT_EQ(arena.use_count(), 1 + users);
      EXPECT_EQ(std::max(first.statistics().arena_bytes, second.statistics().arena_bytes), std::stoll(enough));
    }
    Operation large(graph.get(), 31, hints, "8"), none(graph.get(), 31, hints, "0");
    EXPECT_EQ(none.statistics().arena_bytes, 0);
    EXPECT_EQ(most(large.statistics().staging_bytes) > 8, size() > 2);
    EXPECT_TRUE(large.statistics().staging_bytes <= 8 || large.statistics().arena_bytes == 0);
    EXPECT_GE(large.statistics().staging_bytes, first.statistics().staging_bytes);  // memory of its own has two places
    for (Operation* operation : {&first, &large}) {  // they share nothing, and may be active together
      operation->fill(1);
      EXPECT_MPI(LNW_Start(&operation->request));
    }
    for (Operation* operation : {&large, &first}) {
      EXPECT_MPI(LNW_Wait(&operation->request, MPI_STATUS_IGNORE));
      EXPECT_TRUE(operation->exchange.arrived());
    }
  }
  EXPECT_LE(arena.use_count(), 1);
}

}  // namespace
}  // namespace laneway::test
