#include <mpi.h>

#include <array>

#include "candidates/dense.hpp"

namespace laneway::bench {

namespace {

/// Of the vector that is combined.
int elements(const DenseTask& task) {
  return static_cast<int>(task.dense.elements());
}
int bytes(const DenseTask& task) {
  return static_cast<int>(task.dense.bytes);
}

class OwnBlocking final : public DenseCandidate {
 public:
  explicit OwnBlocking(const DenseTask& task) : task_(task) {}
  void run() override { call_mpi(task_, task_.run.comm); }

 private:
  const DenseTask& task_;
};

class OwnNonblocking final : public DenseCandidate {
 public:
  explicit OwnNonblocking(const DenseTask& task) : task_(task) {}
  void run() override {
    MPI_Request request = MPI_REQUEST_NULL;
    start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

 private:
  void start(MPI_Request* request) {
    const DenseBlocks& b = task_.blocks;
    std::byte* const in = task_.receive.data();
    const std::byte* const out = task_.send.data();
    const Rank root = task_.dense.root;
    MPI_Comm const comm = task_.run.comm;
    switch (task_.dense.kind) {
      case DenseKind::alltoall:
        MPI_Ialltoall(out, bytes(task_), MPI_BYTE, in, bytes(task_), MPI_BYTE, comm, request);
        break;
      case DenseKind::alltoallv:
        MPI_Ialltoallv(out, b.send_counts.data(), b.send_displacements.data(), MPI_BYTE, in, b.receive_counts.data(),
                       b.receive_displacements.data(), MPI_BYTE, comm, request);
        break;
      case DenseKind::allgather:
        MPI_Iallgather(out, bytes(task_), MPI_BYTE, in, bytes(task_), MPI_BYTE, comm, request);
        break;
      case DenseKind::gather:
        MPI_Igather(out, bytes(task_), MPI_BYTE, in, bytes(task_), MPI_BYTE, root, comm, request);
        break;
      case DenseKind::scatter:
        MPI_Iscatter(out, bytes(task_), MPI_BYTE, in, bytes(task_), MPI_BYTE, root, comm, request);
        break;
      case DenseKind::bcast:
        MPI_Ibcast(in, bytes(task_), MPI_BYTE, root, comm, request);
        break;
      case DenseKind::reduce:
        MPI_Ireduce(out, in, elements(task_), MPI_DOUBLE, MPI_SUM, root, comm, request);
        break;
      case DenseKind::allreduce:
        MPI_Iallreduce(out, in, elements(task_), MPI_DOUBLE, MPI_SUM, comm, request);
        break;
      case DenseKind::reduce_scatter:
        MPI_Ireduce_scatter(out, in, b.receive_counts.data(), MPI_DOUBLE, MPI_SUM, comm, request);
        break;
      default:
        MPI_Ibarrier(comm, request);
        break;
    }
  }

  const DenseTask& task_;
};

constexpr std::array own_names = {"mpi", "mpi-again", "mpi-nonblocking"};

}  // namespace

void call_mpi(const DenseTask& task, MPI_Comm comm) {
  const DenseBlocks& b = task.blocks;
  std::byte* const in = task.receive.data();
  const std::byte* const out = task.send.data();
  const Rank root = task.dense.root;
  switch (task.dense.kind) {
    case DenseKind::alltoall:
      MPI_Alltoall(out, bytes(task), MPI_BYTE, in, bytes(task), MPI_BYTE, comm);
      break;
    case DenseKind::alltoallv:
      MPI_Alltoallv(out, b.send_counts.data(), b.send_displacements.data(), MPI_BYTE, in, b.receive_counts.data(),
                    b.receive_displacements.data(), MPI_BYTE, comm);
      break;
    case DenseKind::allgather:
      MPI_Allgather(out, bytes(task), MPI_BYTE, in, bytes(task), MPI_BYTE, comm);
      break;
    case DenseKind::gather:
      MPI_Gather(out, bytes(task), MPI_BYTE, in, bytes(task), MPI_BYTE, root, comm);
      break;
    case DenseKind::scatter:
      MPI_Scatter(out, bytes(task), MPI_BYTE, in, bytes(task), MPI_BYTE, root, comm);
      break;
    case DenseKind::bcast:
      MPI_Bcast(in, bytes(task), MPI_BYTE, root, comm);
      break;
    case DenseKind::reduce:
      MPI_Reduce(out, in, elements(task), MPI_DOUBLE, MPI_SUM, root, comm);
      break;
    case DenseKind::allreduce:
      MPI_Allreduce(out, in, elements(task), MPI_DOUBLE, MPI_SUM, comm);
      break;
    case DenseKind::reduce_scatter:
      MPI_Reduce_scatter(out, in, b.receive_counts.data(), MPI_DOUBLE, MPI_SUM, comm);
      break;
    default:
      MPI_Barrier(comm);
      break;
  }
}

DenseMaker dense_mpi() {
  return {"mpi", [](DenseKind) { return std::vector<std::string>(own_names.begin(), own_names.end()); },
          [](const std::string& name, const DenseTask& task) -> std::unique_ptr<DenseCandidate> {
            if (name == "mpi" || name == "mpi-again") return std::make_unique<OwnBlocking>(task);
            if (name == "mpi-nonblocking") return std::make_unique<OwnNonblocking>(task);
            return nullptr;
          }};
}

}  // namespace laneway::bench
