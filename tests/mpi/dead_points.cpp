// dead_points FAMILY KIND POINT…: on an MPI library that goes on without a process (ULFM), one process of each three
// ranks is killed at a point of all that it does in setup, start, wait and free. KIND says what is counted: `call`,
// calls of MPI that send, receive, start or make something; `instruction`, instructions of this library, one by one, by
// the processor's trap flag. Each three ranks, which share a communicator, have a POINT; the rank that is killed is one
// more than the POINT, modulo 3. All others end, with an error of class MPIX_ERR_PROC_FAILED, or MPIX_ERR_REVOKED from
// whoever has heard of it first, or with right data; what they start later ends so, too, and all can be freed. POINT 0:
// nobody is killed, and the points are counted. On other MPI libraries that one may end the job, or return any error.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "laneway/laneway.h"

namespace {

constexpr int group_size = 3;

bool counting = false;
bool counts_calls = false;
bool steps = false;
long point = 0;  // 0: none
long points = 0;

void pass() {
  if (counting && ++points == point) kill(getpid(), SIGKILL);
}

void pass_call() {
  if (counts_calls) pass();
}

/// Where this library's instructions are.
std::uintptr_t text_begin = 0, text_end = 0;

int find_text(dl_phdr_info* info, std::size_t, void*) {
  if (std::strstr(info->dlpi_name, "liblaneway.so") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    text_begin = info->dlpi_addr + part.p_vaddr;
    text_end = text_begin + part.p_memsz;
  }
  return 1;
}

#ifdef __x86_64__
constexpr long trap_flag = 0x100;
constexpr unsigned char breakpoint = 0xCC;
unsigned char* stopped_at = nullptr;  // where this library goes on when a call of another has returned
unsigned char instruction_there = 0;

/// What is called by this library is not looked at: the flag is cleared until that returns.
void on_trap(int, siginfo_t*, void* context) {
  auto* const registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (stopped_at != nullptr && registers[REG_RIP] == reinterpret_cast<greg_t>(stopped_at + 1)) {
    --registers[REG_RIP];
    *stopped_at = instruction_there;
    stopped_at = nullptr;
    if (counting) registers[REG_EFL] |= trap_flag;
  }
  if (!counting) registers[REG_EFL] &= ~trap_flag;
  const auto is_own = [](std::uintptr_t at) { return at >= text_begin && at < text_end; };
  if (is_own(static_cast<std::uintptr_t>(registers[REG_RIP]))) return pass();
  const std::uintptr_t back = *reinterpret_cast<const std::uintptr_t*>(registers[REG_RSP]);
  if (!is_own(back)) return;
  stopped_at = reinterpret_cast<unsigned char*>(back);
  instruction_there = *stopped_at;
  *stopped_at = breakpoint;
  registers[REG_EFL] &= ~trap_flag;
}

bool trap_each_instruction() {
  dl_iterate_phdr(find_text, nullptr);
  if (text_end == 0) return false;
  const std::uintptr_t page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t begin = text_begin / page * page;
  if (mprotect(reinterpret_cast<void*>(begin), text_end - begin, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) return false;
  struct sigaction action = {};
  action.sa_sigaction = on_trap;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGTRAP, &action, nullptr);
  asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
  return true;
}
#else
bool trap_each_instruction() {
  return false;
}
#endif

/// The second of three exchanges is looked at instruction by instruction: the first has made what the ranks share.
/// Before, other ranks see nothing of one between two of its calls of MPI.
void begin_exchange(int number) {
  if (!steps) return;
  counting = number == 1;
  if (counting && !trap_each_instruction()) std::puts("SKIP: instructions are not counted on this system");
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
#define COUNTED(name, parameters, arguments) \
  int MPI_##name parameters {                \
    pass_call();                             \
    return PMPI_##name arguments;            \
  }
COUNTED(Isend, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
        (data, n, type, to, tag, comm, request))
COUNTED(Issend, (const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request),
        (data, n, type, to, tag, comm, request))
COUNTED(Irecv, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
        (data, n, type, from, tag, comm, request))
COUNTED(Recv, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status),
        (data, n, type, from, tag, comm, status))
COUNTED(Recv_init, (void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request),
        (data, n, type, from, tag, comm, request))
COUNTED(Start, (MPI_Request * request), (request))
COUNTED(Startall, (int n, MPI_Request* requests), (n, requests))
COUNTED(Wait, (MPI_Request * request, MPI_Status* status), (request, status))
COUNTED(Waitall, (int n, MPI_Request* requests, MPI_Status* statuses), (n, requests, statuses))
COUNTED(Iallreduce,
        (const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm, MPI_Request* request),
        (from, to, n, type, op, comm, request))
COUNTED(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
}
#pragma GCC visibility pop

namespace {

constexpr int count = 2000;

/// The first code that is not MPI_SUCCESS ends what follows.
struct Codes {
  int code = MPI_SUCCESS;
  template <class Call>
  Codes& then(Call&& call) {
    if (code == MPI_SUCCESS) code = call();
    return *this;
  }
};

struct Program {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0, size = 0;
  std::vector<int> ranks, ones, places, send, receive;
  LNW_Request request = LNW_REQUEST_NULL, other = LNW_REQUEST_NULL;
  LNW_Topology graph = LNW_TOPOLOGY_NULL;
  LNW_Channel to = LNW_CHANNEL_NULL, from = LNW_CHANNEL_NULL;
  LNW_Bag bag = LNW_BAG_NULL;
  LNW_Queue queue = LNW_QUEUE_NULL;

  explicit Program(MPI_Comm of) : comm(of) {
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int i = 0; i < size; ++i) {
      ranks.push_back(i);
      ones.push_back(1);
      places.push_back(i);
      for (int k = 0; k < count; ++k) send.push_back(rank);
    }
    receive.assign(send.size(), -1);
  }
  [[nodiscard]] int next() const { return (rank + 1) % size; }
  [[nodiscard]] int previous() const { return (rank + size - 1) % size; }
  Codes& exchange(Codes& codes) {
    for (int i = 0; i < 3; ++i) {
      begin_exchange(i);
      codes.then([&] { return LNW_Start(&request); }).then([&] { return LNW_Wait(&request, MPI_STATUS_IGNORE); });
    }
    return codes;
  }
  [[nodiscard]] bool all_came() const {
    for (std::size_t i = 0; i < receive.size(); ++i)
      if (receive[i] != static_cast<int>(i) / count) return false;
    return true;
  }

  int neighborhood(const std::string& form) {
    Codes codes;
    codes.then([&] {
      return LNW_Topology_create(comm, size, ranks.data(), MPI_UNWEIGHTED, size, ranks.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, &graph);
    });
    if (form == "blocking") {
      for (int i = 0; i < 3; ++i) {
        begin_exchange(i);
        codes.then([&] {
          return LNW_Neighbor_alltoall_topology(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph);
        });
      }
    } else {
      exchange(codes.then([&] {
        return LNW_Neighbor_alltoall_init_topology(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph,
                                                   MPI_INFO_NULL, &request);
      }));
    }
    return codes.then([&] { return all_came() ? MPI_SUCCESS : MPI_ERR_INTERN; }).code;
  }
  int dense() {
    Codes codes;
    codes.then([&] { return LNW_Alltoall(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm); })
        .then([&] {
          return LNW_Alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm, MPI_INFO_NULL,
                                   &request);
        });
    return exchange(codes).then([&] { return all_came() ? MPI_SUCCESS : MPI_ERR_INTERN; }).code;
  }
  int sparse() {
    Codes codes;
    for (int i = 0; i < 3; ++i) {
      begin_exchange(i);
      codes.then([&] {
        LNW_Arrivals arrivals{};
        const int code = LNW_Sparse_alltoallv(size, ranks.data(), send.data(), ones.data(), places.data(), MPI_INT,
                                              comm, MPI_INFO_NULL, &arrivals);
        if (code == MPI_SUCCESS) LNW_Arrivals_free(&arrivals);
        return code;
      });
    }
    return codes.code;
  }
  int channel() {
    void* data = nullptr;
    MPI_Count bytes = 0;
    Codes codes;
    codes.then([&] { return LNW_Channel_create(comm, next(), LNW_CHANNEL_SEND, 64, 2, MPI_INFO_NULL, &to); }).then([&] {
      return LNW_Channel_create(comm, previous(), LNW_CHANNEL_RECEIVE, 64, 2, MPI_INFO_NULL, &from);
    });
    for (int i = 0; i < 4; ++i) {
      begin_exchange(i);
      int is_free = 0;
      while (!is_free && codes.code == MPI_SUCCESS)
        codes.then([&] { return LNW_Channel_test_free(to, i % 2, &is_free); });
      codes.then([&] { return LNW_Channel_put(to, i % 2, &rank, sizeof rank); })
          .then([&] { return LNW_Channel_wait(from, i % 2, &data, &bytes); })
          .then([&] { return LNW_Channel_release(from, i % 2); });
    }
    return codes.code;
  }
  int partitioned() {
    Codes codes;
    codes.then(
        [&] { return LNW_Psend_init(send.data(), 2, count / 2, MPI_INT, next(), 0, comm, MPI_INFO_NULL, &request); });
    codes.then([&] {
      return LNW_Precv_init(receive.data(), 2, count / 2, MPI_INT, previous(), 0, comm, MPI_INFO_NULL, &other);
    });
    for (int i = 0; i < 3; ++i) {
      begin_exchange(i);
      codes.then([&] { return LNW_Start(&other); })
          .then([&] { return LNW_Start(&request); })
          .then([&] { return LNW_Pready(0, request); })
          .then([&] { return LNW_Pready(1, request); })
          .then([&] { return LNW_Wait(&request, MPI_STATUS_IGNORE); })
          .then([&] { return LNW_Wait(&other, MPI_STATUS_IGNORE); });
    }
    return codes.code;
  }
  int send_by_bag() {
    Codes codes;
    codes.then([&] { return LNW_Bag_create(comm, MPI_INFO_NULL, &bag); });
    for (int i = 0; i < 3; ++i) {
      begin_exchange(i);
      codes.then([&] { return LNW_Bag_send(bag, next(), &rank, sizeof rank); }).then([&] {
        return LNW_Bag_flush(bag);
      });
    }
    return codes.code;
  }
  int exchange_in_queue() {
    Codes codes;
    codes
        .then([&] {
          return LNW_Alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm, MPI_INFO_NULL,
                                   &request);
        })
        .then([&] { return LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr); });
    for (int i = 0; i < 3; ++i) {
      begin_exchange(i);
      codes.then([&] { return LNW_Enqueue_start(queue, &request); })
          .then([&] { return LNW_Enqueue_wait(queue, &request); })
          .then([&] { return LNW_Queue_wait(queue); });
    }
    return codes.code;
  }
  /// A request that is active, whose exchange will never be complete, is completed with an error before.
  void free_request(LNW_Request& one) {
    if (one != LNW_REQUEST_NULL && LNW_Request_free(&one) == MPI_SUCCESS) return;
    if (one != LNW_REQUEST_NULL) LNW_Wait(&one, MPI_STATUS_IGNORE);
    if (one != LNW_REQUEST_NULL) LNW_Request_free(&one);
  }
  void free_all() {
    if (queue != LNW_QUEUE_NULL) LNW_Queue_free(&queue);
    free_request(request);
    free_request(other);
    if (to != LNW_CHANNEL_NULL) LNW_Channel_free(&to);
    if (from != LNW_CHANNEL_NULL) LNW_Channel_free(&from);
    if (bag != LNW_BAG_NULL) LNW_Bag_free(&bag);
    if (graph != LNW_TOPOLOGY_NULL) LNW_Topology_free(&graph);
  }
  int run(const std::string& family) {
    if (family == "neighborhood" || family == "blocking") return neighborhood(family);
    if (family == "dense") return dense();
    if (family == "sparse") return sparse();
    if (family == "channel") return channel();
    if (family == "partitioned") return partitioned();
    if (family == "bag") return send_by_bag();
    return exchange_in_queue();
  }
};

}  // namespace

#ifdef LANEWAY_TEST_FAULT_TOLERANCE
namespace {

int class_of(int code) {
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  return error_class;
}

std::string text_of(int code) {
  if (code == MPI_SUCCESS) return "all came";
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  return text;
}

bool is_of_end(int code) {
  return class_of(code) == MPIX_ERR_PROC_FAILED || class_of(code) == MPIX_ERR_REVOKED;
}

void say(bool is_right, const std::string& what, const Program& program, const char* family, int code) {
  std::printf("%s: rank %d of %s, point %ld: %s: %s\n", is_right ? "good" : "wrong", program.rank, family, point,
              what.c_str(), text_of(code).c_str());
  std::fflush(stdout);
}

}  // namespace
#endif

int main(int argc, char** argv) {
  if (argc < 4) return 1;
  MPI_Init(&argc, &argv);
#ifdef LANEWAY_TEST_FAULT_TOLERANCE
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int group = world_rank / group_size;
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, group, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const char* const family = argv[1];
  Program program(comm);
  point = std::atol(argv[3 + group]);
  const bool is_victim = program.rank == (point + 1) % group_size;
  counts_calls = is_victim && std::strcmp(argv[2], "call") == 0;
  steps = is_victim && !counts_calls;
  counting = counts_calls;
  const int code = program.run(family);
  counting = counts_calls = steps = false;
  if (is_victim) {
    std::printf("end: %s has %ld points\n", family, points);
    std::fflush(stdout);
  }
  // Others wait for this one, which has stopped.
  if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
  say(code == MPI_SUCCESS || is_of_end(code), "first", program, family, code);
  // What the program frees may still be waited for.
  int all = 0;
  (void)MPIX_Comm_agree(comm, &all);
  if (code != MPI_SUCCESS) {
    program.free_all();
    const int again = program.run(family);
    say(is_of_end(again), "again", program, family, again);
  }
  program.free_all();
  say(true, "free", program, family, MPI_SUCCESS);
  (void)MPIX_Comm_agree(MPI_COMM_WORLD, &all);  // nobody leaves before all have said so
  std::_Exit(0);
#else
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Program program(MPI_COMM_WORLD);
  point = std::atol(argv[3]);
  counts_calls = program.rank == (point + 1) % group_size && std::strcmp(argv[2], "call") == 0;
  steps = program.rank == (point + 1) % group_size && !counts_calls;
  counting = counts_calls;
  const int code = program.run(argv[1]);
  if (counting || steps) std::printf("end: %s has %ld points\n", argv[1], points);
  counting = counts_calls = steps = false;
  std::fflush(stdout);
  if (code != MPI_SUCCESS) std::_Exit(1);
  program.free_all();
  MPI_Finalize();
#endif
}
