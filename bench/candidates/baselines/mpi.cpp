#include <mpi.h>
#ifdef LANEWAY_NEIGHBOR_INIT_MPIX
#include <mpi-ext.h>
#endif

#include "base/simulated.hpp"
#include "candidates/candidates.hpp"

namespace laneway::bench {

namespace {

class Mpi final : public EdgeCandidate {
 public:
  explicit Mpi(const Task& task) : EdgeCandidate(task), blocks_(task), graph_(task) {}

  void start() override { blocks_.pack(); }
  bool test() override { return false; }
  void wait() override {
    const auto bytes = static_cast<int>(task_.exchange.send_bytes());
    switch (task_.exchange.op) {
      case Op::allgather:
        MPI_Neighbor_allgather(blocks_.send, bytes, MPI_BYTE, blocks_.receive, bytes, MPI_BYTE, graph_.get());
        break;
      case Op::allgatherv:
        MPI_Neighbor_allgatherv(blocks_.send, bytes, MPI_BYTE, blocks_.receive, blocks_.receive_counts.data(),
                                blocks_.receive_displacements.data(), MPI_BYTE, graph_.get());
        break;
      case Op::alltoallv:
        MPI_Neighbor_alltoallv(blocks_.send, blocks_.send_counts.data(), blocks_.send_displacements.data(), MPI_BYTE,
                               blocks_.receive, blocks_.receive_counts.data(), blocks_.receive_displacements.data(),
                               MPI_BYTE, graph_.get());
        break;
      default:
        break;
    }
  }

 private:
  Blocks blocks_;
  GraphComm graph_;
};

#if defined(LANEWAY_NEIGHBOR_INIT_MPI)
constexpr auto neighbor_allgather_init = &MPI_Neighbor_allgather_init;
constexpr auto neighbor_allgatherv_init = &MPI_Neighbor_allgatherv_init;
constexpr auto neighbor_alltoallv_init = &MPI_Neighbor_alltoallv_init;
#elif defined(LANEWAY_NEIGHBOR_INIT_MPIX)
constexpr auto neighbor_allgather_init = &MPIX_Neighbor_allgather_init;
constexpr auto neighbor_allgatherv_init = &MPIX_Neighbor_allgatherv_init;
constexpr auto neighbor_alltoallv_init = &MPIX_Neighbor_alltoallv_init;
#endif

#if defined(LANEWAY_NEIGHBOR_INIT_MPI) || defined(LANEWAY_NEIGHBOR_INIT_MPIX)
class MpiPersistent final : public EdgeCandidate {
 public:
  explicit MpiPersistent(const Task& task) : EdgeCandidate(task), blocks_(task), graph_(task) {
    const auto bytes = static_cast<int>(task.exchange.send_bytes());
    switch (task.exchange.op) {
      case Op::allgather:
        neighbor_allgather_init(blocks_.send, bytes, MPI_BYTE, blocks_.receive, bytes, MPI_BYTE, graph_.get(),
                                MPI_INFO_NULL, &request_);
        break;
      case Op::allgatherv:
        neighbor_allgatherv_init(blocks_.send, bytes, MPI_BYTE, blocks_.receive, blocks_.receive_counts.data(),
                                 blocks_.receive_displacements.data(), MPI_BYTE, graph_.get(), MPI_INFO_NULL,
                                 &request_);
        break;
      case Op::alltoallv:
        neighbor_alltoallv_init(blocks_.send, blocks_.send_counts.data(), blocks_.send_displacements.data(), MPI_BYTE,
                                blocks_.receive, blocks_.receive_counts.data(), blocks_.receive_displacements.data(),
                                MPI_BYTE, graph_.get(), MPI_INFO_NULL, &request_);
        break;
      default:
        break;
    }
  }
  ~MpiPersistent() override { MPI_Request_free(&request_); }

  void start() override {
    blocks_.pack();
    MPI_Start(&request_);
  }
  bool test() override {
    int flag = 0;
    MPI_Test(&request_, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
  }
  void wait() override { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

 private:
  Blocks blocks_;
  GraphComm graph_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

std::unique_ptr<Candidate> make_mpi_persistent(const Task& task) {
  return std::make_unique<MpiPersistent>(task);
}
#else
constexpr std::unique_ptr<Candidate> (*make_mpi_persistent)(const Task&) = nullptr;
#endif

std::unique_ptr<Candidate> make_mpi(const Task& task) {
  if constexpr (simulated) return make_p2p(task);
  return std::make_unique<Mpi>(task);
}

}  // namespace

std::vector<Baseline> mpi_baselines() {
  return {{"mpi", make_mpi},
          {"mpi-again", make_mpi},
          {"mpi-persistent", make_mpi_persistent, "this MPI library has no persistent neighborhood collectives"}};
}

}  // namespace laneway::bench
