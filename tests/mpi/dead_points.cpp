// dead_points FAMILY WHERE…: on an MPI library that goes on without a process (ULFM), one process of each three ranks
// is killed at a point of all that it does in setup, start, wait and free. Points are all that other ranks can see of
// one: its calls of MPI that may communicate, its stores into memory that the ranks of the node share, and its system
// calls that write there. Between two of them others cannot tell how far it has come, only that it has ended: who is
// killed at each of these points is killed, for all others, at each instruction. Shared memory is write-protected: a
// store is a fault, which counts, and the processor's trap flag lets one instruction through. Tests and probes are as
// many as time allows: of those without another point in between only the first counts. What else happens within a call
// of MPI is that library's; so is a receive into memory of the node by the system, which fails here, and so would be
// noticed.
//
// Each three ranks, which share a communicator, have a WHERE, RANK:POINT. The others end, with an error of class
// MPIX_ERR_PROC_FAILED, or MPIX_ERR_REVOKED from whoever has heard of it first, or with right data; what they start
// later ends so, too, and all can be freed. WHERE 0: nobody is killed, and the points of each rank are counted. On
// other MPI libraries that one may end the job, or return any error.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace {

constexpr int group_size = 3;

bool counting = false;
bool has_looked = false;  // at the last point
long point = 0;           // 0: none
long points = 0;
const char* where = "";

void pass() {
  has_looked = false;
  if (counting && ++points == point) kill(getpid(), SIGKILL);
}

void look() {
  if (!has_looked) pass();
  has_looked = true;
}

/// What this library calls in place of a function.
template <auto behind, void (*count)()>
struct Counted;
template <class Result, class... Arguments, bool throws, Result (*behind)(Arguments...) noexcept(throws),
          void (*count)()>
struct Counted<behind, count> {
  static Result call(Arguments... arguments) {
    count();
    return behind(arguments...);
  }
};

/// Memory that ranks of the node share: where it is mapped.
std::map<std::byte*, std::size_t> shared;

void* shared_mmap(void* at, std::size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  void* const made = mmap(at, bytes, protection, flags, descriptor, offset);
  if (counting && made != MAP_FAILED && (flags & MAP_SHARED) != 0) {
    shared[static_cast<std::byte*>(made)] = bytes;
    mprotect(made, bytes, PROT_READ);
  }
  return made;
}

int shared_munmap(void* at, std::size_t bytes) {
  shared.erase(static_cast<std::byte*>(at));
  return munmap(at, bytes);
}

void make_writable(const std::pair<std::byte* const, std::size_t>& memory, bool writable) {
  mprotect(memory.first, memory.second, writable ? PROT_READ | PROT_WRITE : PROT_READ);
}

#ifdef __x86_64__
constexpr long trap_flag = 0x100;
const std::pair<std::byte* const, std::size_t>* stored_to = nullptr;
greg_t stored_by = 0;  // the instruction

greg_t& register_of(void* context, int which) {
  return static_cast<ucontext_t*>(context)->uc_mcontext.gregs[which];
}

void on_store(int, siginfo_t* fault, void* context) {
  auto* const to = static_cast<std::byte*>(fault->si_addr);
  const auto after = shared.upper_bound(to);
  if (after == shared.begin() || to >= std::prev(after)->first + std::prev(after)->second) {
    signal(SIGSEGV, SIG_DFL);  // a fault indeed, which comes again
    return;
  }
  pass();
  stored_to = &*std::prev(after);
  stored_by = register_of(context, REG_RIP);
  make_writable(*stored_to, true);
  register_of(context, REG_EFL) |= trap_flag;
}

void on_stored(int, siginfo_t*, void* context) {
  if (register_of(context, REG_RIP) == stored_by) return;  // one that repeats itself
  make_writable(*stored_to, !counting);
  register_of(context, REG_EFL) &= ~trap_flag;
}

void count_stores() {
  struct sigaction action = {};
  action.sa_flags = SA_SIGINFO;
  action.sa_sigaction = on_store;
  sigaction(SIGSEGV, &action, nullptr);
  action.sa_sigaction = on_stored;
  sigaction(SIGTRAP, &action, nullptr);
}
#else
void count_stores() {}
#endif

struct Row {
  std::string_view name;
  void* replacement;
};
// clang-format off
#define COUNT(prefix, behind, name, count) Row{prefix #name, reinterpret_cast<void*>(&Counted<&behind##name, count>::call)}
#define WRITE(name) COUNT("", , name, pass)
#define PASS(name) COUNT("MPI_", PMPI_, name, pass)
#define LOOK(name) COUNT("MPI_", PMPI_, name, look)
const std::array rows{
    Row{"mmap", reinterpret_cast<void*>(shared_mmap)}, Row{"munmap", reinterpret_cast<void*>(shared_munmap)},
    WRITE(pwrite), WRITE(ftruncate), WRITE(fallocate),
    LOOK(Test), LOOK(Testall), LOOK(Testsome), LOOK(Iprobe),
    PASS(Send), PASS(Isend), PASS(Issend), PASS(Recv), PASS(Irecv), PASS(Sendrecv), PASS(Send_init), PASS(Recv_init),
    PASS(Start), PASS(Startall), PASS(Wait), PASS(Waitall), PASS(Waitany), PASS(Cancel), PASS(Request_free),
    PASS(Allgather), PASS(Allgatherv), PASS(Allreduce), PASS(Alltoall), PASS(Alltoallv), PASS(Alltoallw), PASS(Barrier),
    PASS(Bcast), PASS(Exscan), PASS(Gather), PASS(Gatherv), PASS(Reduce), PASS(Reduce_scatter),
    PASS(Reduce_scatter_block), PASS(Scan), PASS(Scatter), PASS(Scatterv),
    PASS(Iallgather), PASS(Iallgatherv), PASS(Iallreduce), PASS(Ialltoall), PASS(Ialltoallv), PASS(Ialltoallw),
    PASS(Ibarrier), PASS(Ibcast), PASS(Iexscan), PASS(Igather), PASS(Igatherv), PASS(Ireduce), PASS(Ireduce_scatter),
    PASS(Ireduce_scatter_block), PASS(Iscan), PASS(Iscatter), PASS(Iscatterv), PASS(Ineighbor_alltoallw),
    PASS(Comm_create), PASS(Comm_create_group), PASS(Comm_dup), PASS(Comm_idup), PASS(Comm_free), PASS(Comm_split),
    PASS(Comm_split_type), PASS(Cart_create), PASS(Dist_graph_create_adjacent),
    PASS(Win_allocate), PASS(Win_create), PASS(Win_free), PASS(Win_fence), PASS(Win_lock_all), PASS(Win_unlock_all),
    PASS(Win_flush), PASS(Win_flush_all), PASS(Win_sync), PASS(Put), PASS(Accumulate),
};
// clang-format on

/// Those of MPI that no other rank sees, or that only messages too long for this program need; and constants, which are
/// variables of some MPI libraries.
const std::regex local(
    "MPI_([A-Z_]+|Abort|Add_err.*|Cart_shift|Cartdim.*|Dims.*|Dist_graph_n.*|Err.*|Finalized|Get.*|Graph.*|Group.*|"
    "Info.*"
    "|Initialized|Op_.*|Pack.*|Query.*|Reduce_local|Status.*|Test_cancelled|Topo.*|Type.*|Win_[gs]et.*|Wtime|.*_c"
    "|Comm_(call|compare|create_keyval|delete|free_keyval|get|group|rank|remote|set|size|test).*)");

/// Lets all that this library calls be counted: it finds functions in a table that the system's loader has filled.
int replace_functions(dl_phdr_info* info, std::size_t, void*) {
  if (std::strstr(info->dlpi_name, "liblaneway.so") == nullptr) return 0;
  std::map<long, ElfW(Addr)> found;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      for (auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
           entry->d_tag != DT_NULL; ++entry)
        found[entry->d_tag] = entry->d_un.d_ptr;
  const auto* const symbols = reinterpret_cast<const ElfW(Sym)*>(found[DT_SYMTAB]);
  for (const auto& [table, size] : {std::pair(DT_RELA, DT_RELASZ), std::pair(DT_JMPREL, DT_PLTRELSZ)}) {
    const auto* const first = reinterpret_cast<const ElfW(Rela)*>(found[table]);
    for (const auto* one = first; one != first + found[size] / sizeof *one; ++one) {
      const char* const name = reinterpret_cast<const char*>(found[DT_STRTAB]) + symbols[one->r_info >> 32].st_name;
      const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& each) { return each.name == name; });
      if (row == rows.end()) {
        if (std::strncmp(name, "MPI_", 4) == 0 && !std::regex_match(name, local))
          std::printf("wrong: %s is not counted\n", name);
        continue;
      }
      auto* const place = reinterpret_cast<void**>(info->dlpi_addr + one->r_offset);
      const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
      mprotect(reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(place) / page * page), page,
               PROT_READ | PROT_WRITE);
      *place = row->replacement;
    }
  }
  return 1;
}

void count_points(bool is_to_count) {
  if (is_to_count) {
    dl_iterate_phdr(replace_functions, nullptr);
    count_stores();
  }
  counting = is_to_count;
  for (const auto& memory : shared) make_writable(memory, !counting);
}

constexpr int count = 600;

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
    for (int i = 0; i < 3; ++i)
      codes.then([&] { return LNW_Start(&request); }).then([&] { return LNW_Wait(&request, MPI_STATUS_IGNORE); });
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
      for (int i = 0; i < 3; ++i)
        codes.then([&] {
          return LNW_Neighbor_alltoall_topology(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph);
        });
    } else {
      exchange(codes.then([&] {
        return LNW_Neighbor_alltoall_init_topology(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, graph,
                                                   MPI_INFO_NULL, &request);
      }));
    }
    return codes.then([&] { return all_came() ? MPI_SUCCESS : MPI_ERR_INTERN; }).code;
  }
  /// `is_tried`: with a trial of rules in setup, of many exchanges.
  Codes& make_dense(Codes& codes, bool is_tried) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    if (!is_tried) MPI_Info_set(info, "lnw_exchanges", "1");
    codes.then([&] {
      return LNW_Alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm, info, &request);
    });
    MPI_Info_free(&info);
    return codes;
  }
  int dense(bool is_tried) {
    Codes codes;
    codes.then([&] { return LNW_Alltoall(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm); });
    return exchange(make_dense(codes, is_tried)).then([&] { return all_came() ? MPI_SUCCESS : MPI_ERR_INTERN; }).code;
  }
  int sparse() {
    Codes codes;
    for (int i = 0; i < 3; ++i) {
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
      codes.then([&] { return LNW_Bag_send(bag, next(), &rank, sizeof rank); }).then([&] {
        return LNW_Bag_flush(bag);
      });
    }
    return codes.code;
  }
  int exchange_in_queue() {
    Codes codes;
    make_dense(codes, false).then([&] {
      return LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr);
    });
    for (int i = 0; i < 3; ++i) {
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
    if (family == "dense" || family == "tried") return dense(family == "tried");
    if (family == "sparse") return sparse();
    if (family == "channel") return channel();
    if (family == "partitioned") return partitioned();
    if (family == "bag") return send_by_bag();
    return exchange_in_queue();
  }
};

}  // namespace

namespace {

void say_points(int rank, const char* family) {
  if (points > 0) std::printf("end: rank %d of %s has %ld points\n", rank, family, points);
  std::fflush(stdout);
}

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

/// Open MPI 5.0.11 has no class of errors for some ends of a process while a collective operation of its own begins.
bool is_of_end(int code) {
  return class_of(code) == MPIX_ERR_PROC_FAILED || class_of(code) == MPIX_ERR_REVOKED ||
         text_of(code).find("MPI_ERR_OTHER: known error not in list") != std::string::npos;
}

void say(bool is_right, const std::string& what, const Program& program, const char* family, int code) {
  std::printf("%s: rank %d of %s, point %s: %s: %s\n", is_right ? "good" : "wrong", program.rank, family, where,
              what.c_str(), text_of(code).c_str());
  std::fflush(stdout);
}

}  // namespace
#endif

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  MPI_Init(&argc, &argv);
  int world_rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int group = world_rank / group_size;
  const char* const family = argv[1];
  where = argv[2 + group];
  if (const char* const colon = std::strchr(where, ':')) point = std::atol(colon + 1);
  const auto is_counted = [&](int rank) { return point == 0 || rank == std::atoi(where); };
#ifdef LANEWAY_TEST_FAULT_TOLERANCE
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, group, 0, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Barrier(
      MPI_COMM_WORLD);  // Open MPI 5.0.11 crashes where a process ends while another makes a communicator with it
  Program program(comm);
  count_points(is_counted(program.rank));
  const int code = program.run(family);
  if (code == MPI_SUCCESS) program.free_all();
  count_points(false);
  say_points(program.rank, family);
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
  Program program(MPI_COMM_WORLD);
  count_points(is_counted(program.rank));
  const int code = program.run(family);
  if (code == MPI_SUCCESS) program.free_all();
  count_points(false);
  say_points(program.rank, family);
  if (code != MPI_SUCCESS) std::_Exit(1);
  MPI_Finalize();
#endif
}
