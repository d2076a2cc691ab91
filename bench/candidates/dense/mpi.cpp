#include <mpi.h>

#include <array>
#include <tuple>

#include "candidates/dense/operations.hpp"

namespace laneway::bench {

namespace {

/// Blocking, nonblocking.
struct OwnForms {
  static constexpr auto alltoall = std::make_tuple(MPI_Alltoall, MPI_Ialltoall);
  static constexpr auto alltoallv = std::make_tuple(MPI_Alltoallv, MPI_Ialltoallv);
  static constexpr auto allgather = std::make_tuple(MPI_Allgather, MPI_Iallgather);
  static constexpr auto gather = std::make_tuple(MPI_Gather, MPI_Igather);
  static constexpr auto scatter = std::make_tuple(MPI_Scatter, MPI_Iscatter);
  static constexpr auto bcast = std::make_tuple(MPI_Bcast, MPI_Ibcast);
  static constexpr auto reduce = std::make_tuple(MPI_Reduce, MPI_Ireduce);
  static constexpr auto allreduce = std::make_tuple(MPI_Allreduce, MPI_Iallreduce);
  static constexpr auto reduce_scatter = std::make_tuple(MPI_Reduce_scatter, MPI_Ireduce_scatter);
  static constexpr auto barrier = std::make_tuple(MPI_Barrier, MPI_Ibarrier);
};

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
    with_operation<OwnForms>(task_, [&](const auto& forms, auto... arguments) {
      std::get<1>(forms)(arguments..., task_.run.comm, &request);
    });
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

 private:
  const DenseTask& task_;
};

constexpr std::array own_names = {"mpi", "mpi-again", "mpi-nonblocking"};

}  // namespace

void call_mpi(const DenseTask& task, MPI_Comm comm) {
  with_operation<OwnForms>(task, [&](const auto& forms, auto... arguments) { std::get<0>(forms)(arguments..., comm); });
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
