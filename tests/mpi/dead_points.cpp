// dead_points FAMILY POINT: on an MPI library that goes on without a process (ULFM), the process of rank 1 is killed in
// its POINT-th call of MPI that sends, receives, starts or makes something, in setup, start or wait. All others end,
// with an error of class MPIX_ERR_PROC_FAILED, or MPIX_ERR_REVOKED from whoever has heard of it first, or with right
// data.
#include <mpi.h>
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "laneway/laneway.h"

namespace {

long point = 0;  // 0: none
long calls = 0;

void pass() {
  if (point > 0 && ++calls == point) std::raise(SIGKILL);
}

}  // namespace

#pragma GCC visibility push(default)
extern "C" {
#define COUNTED(name, parameters, arguments) \
  int MPI_##name parameters {                \
    pass();                                  \
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
    LNW_Topology graph = LNW_TOPOLOGY_NULL;
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
    for (int i = 0; i < 3; ++i)
      codes.then([&] {
        LNW_Arrivals arrivals{};
        const int code = LNW_Sparse_alltoallv(size, ranks.data(), send.data(), ones.data(), places.data(), MPI_INT,
                                              comm, MPI_INFO_NULL, &arrivals);
        if (code == MPI_SUCCESS) LNW_Arrivals_free(&arrivals);
        return code;
      });
    return codes.code;
  }
  int channel() {
    LNW_Channel to = LNW_CHANNEL_NULL, from = LNW_CHANNEL_NULL;
    void* data = nullptr;
    MPI_Count bytes = 0;
    Codes codes;
    codes.then([&] { return LNW_Channel_create(comm, next(), LNW_CHANNEL_SEND, 64, 2, MPI_INFO_NULL, &to); }).then([&] {
      return LNW_Channel_create(comm, previous(), LNW_CHANNEL_RECEIVE, 64, 2, MPI_INFO_NULL, &from);
    });
    for (int i = 0; i < 4; ++i)
      codes.then([&] { return LNW_Channel_put(to, i % 2, &rank, sizeof rank); })
          .then([&] { return LNW_Channel_wait(from, i % 2, &data, &bytes); })
          .then([&] { return LNW_Channel_release(from, i % 2); });
    return codes.code;
  }
  int partitioned() {
    Codes codes;
    codes.then(
        [&] { return LNW_Psend_init(send.data(), 2, count / 2, MPI_INT, next(), 0, comm, MPI_INFO_NULL, &request); });
    codes.then([&] {
      return LNW_Precv_init(receive.data(), 2, count / 2, MPI_INT, previous(), 0, comm, MPI_INFO_NULL, &other);
    });
    for (int i = 0; i < 3; ++i)
      codes.then([&] { return LNW_Start(&other); })
          .then([&] { return LNW_Start(&request); })
          .then([&] { return LNW_Pready(0, request); })
          .then([&] { return LNW_Pready(1, request); })
          .then([&] { return LNW_Wait(&request, MPI_STATUS_IGNORE); })
          .then([&] { return LNW_Wait(&other, MPI_STATUS_IGNORE); });
    return codes.code;
  }
  int bag() {
    LNW_Bag bag = LNW_BAG_NULL;
    Codes codes;
    codes.then([&] { return LNW_Bag_create(comm, MPI_INFO_NULL, &bag); });
    for (int i = 0; i < 3; ++i)
      codes.then([&] { return LNW_Bag_send(bag, next(), &rank, sizeof rank); }).then([&] {
        return LNW_Bag_flush(bag);
      });
    return codes.code;
  }
  int queue() {
    LNW_Queue queue = LNW_QUEUE_NULL;
    Codes codes;
    codes
        .then([&] {
          return LNW_Alltoall_init(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm, MPI_INFO_NULL,
                                   &request);
        })
        .then([&] { return LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr); });
    for (int i = 0; i < 3; ++i)
      codes.then([&] { return LNW_Enqueue_start(queue, &request); })
          .then([&] { return LNW_Enqueue_wait(queue, &request); })
          .then([&] { return LNW_Queue_wait(queue); });
    return codes.code;
  }
  int run(const std::string& family) {
    if (family == "neighborhood" || family == "blocking") return neighborhood(family);
    if (family == "dense") return dense();
    if (family == "sparse") return sparse();
    if (family == "channel") return channel();
    if (family == "partitioned") return partitioned();
    if (family == "bag") return bag();
    return queue();
  }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 1;
  MPI_Init(&argc, &argv);
#ifdef MPIX_ERR_PROC_FAILED
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Program program(comm);
  if (program.rank == 1) point = std::atol(argv[2]);
  const int code = program.run(argv[1]);
  point = 0;
  int error_class = MPI_SUCCESS;
  MPI_Error_class(code, &error_class);
  // Others wait for this one, which has stopped.
  if (code != MPI_SUCCESS) MPIX_Comm_revoke(comm);
  const bool is_right =
      error_class == MPI_SUCCESS || error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED;
  char text[MPI_MAX_ERROR_STRING + 1] = "";
  int length = 0;
  if (code != MPI_SUCCESS) MPI_Error_string(code, text, &length);
  std::printf("%s: rank %d of %s, point %s: %s\n", is_right ? "good" : "wrong", program.rank, argv[1], argv[2],
              code == MPI_SUCCESS ? "all came" : text);
  std::fflush(stdout);
  int all = 0;
  (void)MPIX_Comm_agree(MPI_COMM_WORLD, &all);  // nobody leaves before all have said so
  std::_Exit(0);
#else
  std::puts("SKIP: this MPI library ends the job with a process");
  MPI_Finalize();
#endif
}
