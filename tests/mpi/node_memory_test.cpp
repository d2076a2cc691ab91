// Persistent operations use the memory of the node where its ranks share any, and messages where they do not.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fstream>
#include <set>

#include "exchange.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/node/shared_segment.hpp"
#include "system_limits.hpp"

namespace {
int reservations_left = INT_MAX;
}

/// In place of the C library's: there are no pages left after so many calls.
extern "C" int fallocate(int descriptor, int mode, off_t begin, off_t bytes) {
  if (reservations_left > 0) {
    if (reservations_left != INT_MAX) --reservations_left;
    return static_cast<int>(syscall(SYS_fallocate, descriptor, mode, begin, bytes));
  }
  errno = ENOSPC;
  return -1;
}

namespace laneway::test {
namespace {

/// On all ranks together: an edge may have no bytes.
template <class Condition>
int count(const Plan& plan, Condition&& condition) {
  int steps = static_cast<int>(std::ranges::count_if(plan.steps, condition));
  MPI_Allreduce(MPI_IN_PLACE, &steps, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  return steps;
}

bool raises(const Step& step) {
  return step.raise.has_value();
}
bool awaits(const Step& step) {
  return step.await.has_value();
}
bool is_message(const Step& step) {
  return step.kind == StepKind::send || step.kind == StepKind::receive;
}

/// Makes a request and frees it after some exchanges, whose results must be right.
Plan plan_that_works(Op op, MPI_Comm comm, const Hints& hints) {
  constexpr int exchanges = 5;
  const Info info(hints);
  Exchange exchange(op, comm, 1, false);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(exchange.init(info.get(), &request));
  for (int i = 0; i < exchanges; ++i) {
    exchange.fill(i);
    exchange.reference();
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_TRUE(exchange.arrived());
  }
  const Plan plan = plan_from_json(plan_text(request));
  EXPECT_MPI(LNW_Request_free(&request));
  return plan;
}

void expect_messages_only(const Plan& plan) {
  EXPECT_EQ(count(plan, signals), 0);
  EXPECT_GT(count(plan, is_message), 0);
}

constexpr std::array some_ops = {Op::allgather, Op::alltoallv};

class NodeMemory : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    graph_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
    if (size() == 1) GTEST_SKIP() << "SKIP: one rank has nobody to share memory with";
  }
  Comm graph_;
};

TEST_F(NodeMemory, CarriesMessagesInsideTheNode) {
  for (const Op op : some_ops)
    for (const char* strategy : {"direct", "three_step"}) {
      const Plan local = plan_that_works(op, graph_.get(), {{"lnw_strategy", strategy}, {"lnw_transport", "auto"}});
      EXPECT_GT(count(local, raises), 0) << name(op) << " " << strategy;
      EXPECT_GT(count(local, awaits), 0) << name(op) << " " << strategy;
      EXPECT_EQ(count(local, is_message), 0) << name(op) << " " << strategy;
      const Plan p2p = plan_that_works(op, graph_.get(), {{"lnw_strategy", strategy}, {"lnw_transport", "p2p"}});
      expect_messages_only(p2p);
    }
}

/// How often a rank has given its part before the one that gets the sum has begun.
TEST_F(NodeMemory, WhoGivesAShortPartRunsAheadOfALateRoot) {
  constexpr int ahead = 16;
  constexpr std::array<int, 2> counts = {1, 8};
  for (const int count : counts) {
    std::vector<double> part(static_cast<std::size_t>(count)), sum(part.size(), -1);
    const Info info({{"lnw_collective", "one_hop"}, {"lnw_machine", "node:* rank:" + std::to_string(size())}});
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Reduce_init(part.data(), sum.data(), count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, info.get(), &request));
    const auto reduce = [&](int turn) {
      std::ranges::fill(part, rank() + turn);
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      if (rank() != 0) return;
      EXPECT_EQ(sum, std::vector<double>(part.size(), size() * (size() - 1) / 2.0 + size() * turn));
    };
    if (rank() != 0) {
      for (int turn = 0; turn < ahead; ++turn) reduce(turn);
      MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    } else {
      const double begin = MPI_Wtime();
      int done = 0;
      for (int flag = 0; done < size() - 1 && MPI_Wtime() < begin + 20; done += flag) {
        MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (flag != 0) MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      }
      EXPECT_EQ(done, size() - 1) << "some wait for a root that is late";
      for (int turn = 0; turn < ahead; ++turn) reduce(turn);
      for (; done < size() - 1; ++done)
        MPI_Recv(nullptr, 0, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(NodeMemory, DescribedNodesShareNoneIfAsked) {
  const Comm all = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  int inside = 0;
  int across = 0;
  for (const std::string& text : {std::string("node:* rank:2"), std::string("node:* rank:1"), uneven_machine()}) {
    const Machine machine = Machine::parse(text, size());
    for (const Op op : some_ops)
      for (Choice choice : choices(text))
        for (const char* transport : {"node", "auto"}) {
          choice.transport = transport;
          const Plan plan = plan_that_works(op, all.get(), choice.hints());
          for (const Step& step : plan.steps) {
            if (!signals(step)) continue;
            const bool is_inside = machine.region_id(0, step.peer) == machine.region_id(0, rank());
            ++(is_inside ? inside : across);
            EXPECT_TRUE(is_inside || choice.transport == "auto") << choice.text();
          }
        }
  }
  for (int* steps : {&inside, &across}) {
    MPI_Allreduce(MPI_IN_PLACE, steps, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    EXPECT_GT(*steps, 0);
  }
}

TEST_F(NodeMemory, AllRanksSendMessagesIfSomeAreRefused) {
  const auto expect_messages_where = [&](bool refused) {
    for (const Op op : some_ops)
      for (const char* strategy : {"direct", "three_step"}) {
        refuse_shared_memory(refused);
        const Plan plan = plan_that_works(op, graph_.get(), {{"lnw_strategy", strategy}});
        refuse_shared_memory(false);
        expect_messages_only(plan);
      }
  };
  for (int refused = 0; refused < size(); ++refused) expect_messages_where(rank() == refused);
  for (int works = 0; works < size(); ++works) expect_messages_where(rank() != works);
  expect_messages_where(true);
  EXPECT_GT(count(plan_that_works(Op::allgather, graph_.get(), {}), raises), 0);
}

/// A limit of the system for a while, too low for one more of what it limits.
class Limit {
 public:
  Limit(int resource, rlim_t limit) : resource_(resource) {
    getrlimit(resource, &before_);
    const rlimit low{limit, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource, &low), 0);
  }
  ~Limit() { setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  int resource_;
  rlimit before_{};
};

TEST_F(NodeMemory, AllRanksSendMessagesIfTheSystemRefusesOne) {
  // Whatever MPI opens for these messages is open before.
  (void)plan_that_works(Op::allgather, graph_.get(), {{"lnw_transport", "p2p"}});
  for (int refused = 0; refused < size(); ++refused) {
    Plan plan;
    if (rank() == refused) {
      const Limit no_more_files(RLIMIT_NOFILE, 3);
      plan = plan_that_works(Op::allgather, graph_.get(), {});
    } else {
      plan = plan_that_works(Op::allgather, graph_.get(), {});
    }
    expect_messages_only(plan);
  }
}

/// The kernel ends processes with SIGXFSZ whose files become longer than this limit.
TEST_F(NodeMemory, AllRanksSendMessagesIfFilesMayNotBeSoLong) {
  (void)plan_that_works(Op::allgather, graph_.get(), {{"lnw_transport", "p2p"}});
  for (const rlim_t bytes : {rlim_t{0}, rlim_t{8192}})
    for (const int limited : {0, size() - 1, size()}) {
      const bool is_limited = rank() == limited || limited == size();
      const Limit short_files(RLIMIT_FSIZE, is_limited ? bytes : RLIM_INFINITY);
      expect_messages_only(plan_that_works(Op::alltoallv, graph_.get(), {{"lnw_strategy", "three_step"}}));
    }
  EXPECT_GT(count(plan_that_works(Op::allgather, graph_.get(), {}), raises), 0);
}

/// Without reservation the first write to a page that is not there ends the process with SIGBUS.
TEST_F(NodeMemory, AllRanksSendMessagesIfThereAreNoPagesForOne) {
  for (const int refused : {0, size() - 1, size()}) {
    reservations_left = rank() == refused || refused == size() ? 0 : INT_MAX;
    const Plan plan = plan_that_works(Op::alltoallv, graph_.get(), {{"lnw_strategy", "three_step"}});
    reservations_left = INT_MAX;
    expect_messages_only(plan);
  }
}

TEST_F(NodeMemory, SharedStagingWorksWhereverPagesRunOut) {
  const Comm all = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (const int refused : {0, size() - 1})
    for (int left = 0; left < 4; ++left) {
      // An arena belongs to a communicator and a size.
      const std::string bytes = std::to_string((1 << 20) + 8 * (5 * refused + left));
      reservations_left = rank() == refused ? left : INT_MAX;
      for (int turn = 0; turn < 2; ++turn)
        (void)plan_that_works(Op::alltoallv, all.get(),
                              {{"lnw_strategy", "three_step"},
                               {"lnw_machine", size() > 2 ? "node:* rank:2" : "node:* rank:1"},
                               {"lnw_shared_staging", bytes}});
      reservations_left = INT_MAX;
    }
}

/// Files that this process has mapped for sharing with others.
std::set<std::string> shared_mappings() {
  std::set<std::string> names;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (line.find(" rw-s ") != std::string::npos && path != std::string::npos) names.insert(line.substr(path));
  }
  return names;
}

TEST_F(NodeMemory, HasNoName) {
  (void)plan_that_works(Op::allgather, graph_.get(), {{"lnw_transport", "p2p"}});
  const std::set<std::string> before = shared_mappings();
  std::vector<int> receive(2);
  const int send = rank();
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_allgather_init(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, graph_.get(), MPI_INFO_NULL,
                                         &request));
  std::set<std::string> now = shared_mappings();
  for (const std::string& name : before) now.erase(name);
  EXPECT_EQ(now, std::set<std::string>{"/memfd:laneway (deleted)"});
  EXPECT_MPI(LNW_Request_free(&request));
  EXPECT_EQ(shared_mappings().count("/memfd:laneway (deleted)"), 0U);
}

}  // namespace
}  // namespace laneway::test
