#include <mpi.h>

#include <array>

#include "candidates/dense.hpp"

namespace laneway::bench {

namespace {

/// Calls f(blocking, nonblocking, arguments that they have in common...) for the task's operation.
template <class F>
void with_own_operation(const DenseTask& task, F&& f) {
  const DenseBlocks& b = task.blocks;
  std::byte* const in = task.receive.data();
  const std::byte* const out = task.send.data();
  const Rank root = task.dense.root;
  const int bytes = static_cast<int>(task.dense.bytes);
  const int elements = static_cast<int>(task.dense.elements());
  switch (task.dense.kind) {
    case DenseKind::alltoall:
      return f(MPI_Alltoall, MPI_Ialltoall, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE);
    case DenseKind::alltoallv:
      return f(MPI_Alltoallv, MPI_Ialltoallv, out, b.send_counts.data(), b.send_displacements.data(), MPI_BYTE, in,
               b.receive_counts.data(), b.receive_displacements.data(), MPI_BYTE);
    case DenseKind::allgather:
      return f(MPI_Allgather, MPI_Iallgather, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE);
    case DenseKind::gather:
      return f(MPI_Gather, MPI_Igather, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root);
    case DenseKind::scatter:
      return f(MPI_Scatter, MPI_Iscatter, out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, root);
    case DenseKind::bcast:
      return f(MPI_Bcast, MPI_Ibcast, in, bytes, MPI_BYTE, root);
    case DenseKind::reduce:
      return f(MPI_Reduce, MPI_Ireduce, out, in, elements, MPI_DOUBLE, MPI_SUM, root);
    case DenseKind::allreduce:
      return f(MPI_Allreduce, MPI_Iallreduce, out, in, elements, MPI_DOUBLE, MPI_SUM);
    case DenseKind::reduce_scatter:
      return f(MPI_Reduce_scatter, MPI_Ireduce_scatter, out, in, b.receive_counts.data(), MPI_DOUBLE, MPI_SUM);
    default:
      return f(MPI_Barrier, MPI_Ibarrier);
  }
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
    with_own_operation(task_,
                       [&](auto, auto begin, auto... arguments) { begin(arguments..., task_.run.comm, &request); });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

 private:
  const DenseTask& task_;
};

constexpr std::array own_names = {"mpi", "mpi-again", "mpi-nonblocking"};

}  // namespace

void call_mpi(const DenseTask& task, MPI_Comm comm) {
  with_own_operation(task, [&](auto blocking, auto, auto... arguments) { blocking(arguments..., comm); });
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
