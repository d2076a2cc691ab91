// Start, test and wait of messages through the memory of the node make no system call, but for what yields the core and
// what the MPI library does when it is asked for progress. Counted by the kernel's dispatch of system calls to SIGSYS.
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <iostream>
#include <map>
#include <numeric>

#include "partitions.hpp"
#include "plan/plan.hpp"
#include "support.hpp"

namespace {

constexpr int dispatch = 59;  // PR_SET_SYSCALL_USER_DISPATCH
constexpr unsigned long off = 0;
constexpr unsigned long on = 1;
constexpr char pass = 0;
constexpr char trap = 1;

#ifdef __x86_64__

volatile char selector = pass;
std::array<long, 512> calls;

void on_call(int, siginfo_t* info, void* context) {
  selector = pass;
  greg_t* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (info->si_syscall >= 0 && info->si_syscall < static_cast<int>(calls.size()))
    ++calls[static_cast<std::size_t>(info->si_syscall)];
  const long result = syscall(info->si_syscall, registers[REG_RDI], registers[REG_RSI], registers[REG_RDX],
                              registers[REG_R10], registers[REG_R8], registers[REG_R9]);
  registers[REG_RAX] = result == -1 ? -errno : result;
  selector = trap;
}

/// As the kernel has it.
struct KernelAction {
  void* handler = nullptr;
  unsigned long flags = 0;
  char* restorer = nullptr;
  unsigned long mask = 0;
};

/// Counts the system calls of this thread between `begin` and `end`.
class Counter {
 public:
  /// Whether the system allows it.
  [[nodiscard]] static bool prepare() {
    struct sigaction action {};
    action.sa_sigaction = on_call;
    action.sa_flags = SA_SIGINFO;
    if (sigaction(SIGSYS, &action, nullptr) != 0) return false;
    // The handler's way back is a system call itself, which must not be trapped.
    KernelAction installed;
    constexpr std::size_t mask_bytes = 8;
    if (syscall(SYS_rt_sigaction, SIGSYS, nullptr, &installed, mask_bytes) != 0) return false;
    constexpr unsigned long restorer_bytes = 16;
    return prctl(dispatch, on, installed.restorer, restorer_bytes, &selector) == 0;
  }
  static void begin() {
    calls.fill(0);
    selector = trap;
  }
  static void end() { selector = pass; }
  static void finish() { prctl(dispatch, off, 0, 0, 0); }
};

#else

std::array<long, 1> calls;

struct Counter {
  static bool prepare() { return false; }
  static void begin() {}
  static void end() {}
  static void finish() {}
};

#endif

}  // namespace

namespace laneway::test {
namespace {

class SystemCalls : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
#ifdef LANEWAY_TEST_SANITIZED
    GTEST_SKIP() << "SKIP: the sanitizer makes calls of its own";
#endif
    int counts = Counter::prepare();
    MPI_Allreduce(MPI_IN_PLACE, &counts, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!counts) GTEST_SKIP() << "SKIP: the system dispatches no system calls";
  }
};

/// Whether this rank has no messages that the MPI library carries.
bool is_local(LNW_Request request) {
  return std::ranges::none_of(plan_from_json(plan_text(request)).steps, [](const Step& step) {
    return step.kind == StepKind::send || step.kind == StepKind::receive;
  });
}

/// Who waits yields, and asks the MPI library for progress after so many fruitless turns, which looks at connections.
/// Who has waited long asks whether the others have ended, once in many yields.
void expect_only_looks(const std::map<std::size_t, long>& total) {
  const std::vector<std::size_t> allowed = {SYS_sched_yield, SYS_poll, SYS_epoll_wait, SYS_epoll_pwait};
  const std::vector<std::size_t> asks = {SYS_getpid, SYS_kill, SYS_pidfd_open, SYS_close};
  const long yields = total.contains(SYS_sched_yield) ? total.at(SYS_sched_yield) : 0;
  for (const auto& [number, times] : total) {
    const bool is_rare = std::ranges::count(asks, number) == 1 && times * 50 <= yields;
    EXPECT_TRUE(is_rare || std::ranges::count(allowed, number) == 1)
        << times << " system calls of number " << number << ", " << yields << " yields";
    testing::Test::RecordProperty("system_call_" + std::to_string(number), std::to_string(times));
    if (rank() == 0) std::cout << "system call " << number << ": " << times << " times\n";
  }
}

TEST_F(SystemCalls, NoneButYields) {
  Counter::begin();
  (void)getppid();
  Counter::end();
  EXPECT_EQ(std::accumulate(calls.begin(), calls.end(), 0L), 1);
  constexpr int warm_up = 3;
  constexpr int exchanges = 40;
  // Those who are ahead must not go on to what sends messages, for which the MPI library may need memory.
  constexpr int cool_down = 20;
  constexpr std::size_t elements = 64;
  const Shape shape = random_shape(7, rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  const std::vector<double> send(elements, rank());
  std::map<std::size_t, long> total;
  for (Choice choice : choices("")) {
    choice.transport = "auto";
    std::vector<double> receive(elements * shape.sources.size() + 1);
    LNW_Request request = LNW_REQUEST_NULL;
    const Info info(choice.hints());
    EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), elements, MPI_DOUBLE, receive.data(), elements, MPI_DOUBLE,
                                           graph.get(), info.get(), &request));
    EXPECT_TRUE(is_local(request)) << choice.text();
    for (int i = 0; i < warm_up + exchanges + cool_down; ++i) {
      if (i == warm_up) Counter::begin();
      if (i == warm_up + exchanges) Counter::end();
      LNW_Start(&request);
      if (i % 2 == 0)
        for (int done = 0; !done;) LNW_Test(&request, &done, MPI_STATUS_IGNORE);
      else
        LNW_Wait(&request, MPI_STATUS_IGNORE);
    }
    for (std::size_t n = 0; n < calls.size(); ++n)
      if (calls[n] > 0) total[n] += calls[n];
    EXPECT_MPI(LNW_Request_free(&request));
  }
  Counter::finish();
  expect_only_looks(total);
}

/// Partitions that are ready, and looks at what has arrived: of edges, through memory, and of messages between two
/// ranks, which the MPI library carries.
TEST_F(SystemCalls, PartitionsMakeNoneButLooks) {
  constexpr int warm_up = 3, exchanges = 30;
  PartitionedRing ring(rank(), size());
  EXPECT_TRUE(is_local(ring.edges().request()));
  std::map<std::size_t, long> total;
  int wrong = 0;
  for (int exchange = 0; exchange < warm_up + exchanges; ++exchange) {
    wrong += ring.exchange(Counter::begin, Counter::end);
    for (std::size_t n = 0; exchange >= warm_up && n < calls.size(); ++n)
      if (calls[n] > 0) total[n] += calls[n];
  }
  Counter::finish();
  EXPECT_EQ(wrong, 0);
  expect_only_looks(total);
}

TEST_F(SystemCalls, ChannelsThroughMemoryMakeNone) {
  constexpr int segments = 4;
  LNW_Channel to = LNW_CHANNEL_NULL, from = LNW_CHANNEL_NULL;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, next, LNW_CHANNEL_SEND, 64, segments, MPI_INFO_NULL, &to));
  EXPECT_MPI(LNW_Channel_create(MPI_COMM_WORLD, previous, LNW_CHANNEL_RECEIVE, 64, segments, MPI_INFO_NULL, &from));
  for (const LNW_Channel end : {to, from}) {
    MPI_Info info = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Channel_get_info(end, &info));  // they have met
    MPI_Info_free(&info);
  }
  const double value = rank();
  MPI_Barrier(MPI_COMM_WORLD);
  long total = 0;
  int wrong = 0;
  for (int round = 0; round < 20; ++round) {
    Counter::begin();
    for (int s = 0; s < segments; ++s) wrong += LNW_Channel_put(to, s, &value, sizeof value) != MPI_SUCCESS;
    Counter::end();
    total += std::accumulate(calls.begin(), calls.end(), 0L);
    MPI_Barrier(MPI_COMM_WORLD);
    Counter::begin();
    for (int s = 0; s < segments; ++s) {
      int flag = 0;
      void* data = nullptr;
      MPI_Count bytes = 0;
      wrong += LNW_Channel_test(from, s, &flag, &data, &bytes) != MPI_SUCCESS || !flag;
      wrong += LNW_Channel_wait(from, s, &data, &bytes) != MPI_SUCCESS;
      wrong += LNW_Channel_release(from, s) != MPI_SUCCESS;
    }
    Counter::end();
    total += std::accumulate(calls.begin(), calls.end(), 0L);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  Counter::finish();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(total, 0);
  EXPECT_MPI(LNW_Channel_free(&to));
  EXPECT_MPI(LNW_Channel_free(&from));
}

}  // namespace
}  // namespace laneway::test
