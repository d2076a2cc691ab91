#include "candidates/candidates.hpp"

#ifdef LANEWAY_MPI_ADVANCE
#include <locality_aware.h>
#endif

namespace laneway::bench {

namespace {

#ifdef LANEWAY_MPI_ADVANCE
/// MPI Advance's persistent three-step exchange. It removes duplicates by indices that the caller gives, one for each
/// element; the labels of a workload are just that.
class MpiAdvance final : public Candidate {
 public:
  explicit MpiAdvance(const Task& task) : blocks_(task), element_(task.exchange.element_bytes) {
    const Exchange& exchange = task.exchange;
    const auto elements = [&](std::vector<int> bytes) {
      for (int& value : bytes) value = static_cast<int>(value / exchange.element_bytes);
      return bytes;
    };
    const auto indices = [](const Side& side) {
      std::vector<long> result;
      for (std::int64_t index : side.indices)
        result.push_back(static_cast<long>(side.labels[static_cast<std::size_t>(index)]));
      return result;
    };
    MPIL_Info_init(&info_);
    MPIL_Dist_graph_create_adjacent(
        task.run.comm, static_cast<int>(exchange.receive.peers.size()), exchange.receive.peers.data(), MPI_UNWEIGHTED,
        static_cast<int>(exchange.send.peers.size()), exchange.send.peers.data(), MPI_UNWEIGHTED, info_, 0, &comm_);
    MPIL_Set_alltoallv_neighbor_init_alogorithm(NEIGHBOR_ALLTOALLV_INIT_LOCALITY);
    MPIL_Neighbor_alltoallv_init_ext(blocks_.send, elements(blocks_.send_counts).data(),
                                     elements(blocks_.send_displacements).data(), indices(exchange.send).data(),
                                     element_.get(), blocks_.receive, elements(blocks_.receive_counts).data(),
                                     elements(blocks_.receive_displacements).data(), indices(exchange.receive).data(),
                                     element_.get(), comm_, info_, &request_);
  }
  ~MpiAdvance() override {
    MPIL_Request_free(&request_);
    MPIL_Comm_free(&comm_);
    MPIL_Info_free(&info_);
  }
  MpiAdvance(const MpiAdvance&) = delete;
  MpiAdvance& operator=(const MpiAdvance&) = delete;

  void start() override {
    blocks_.pack();
    MPIL_Start(request_);
  }
  bool test() override { return false; }
  void wait() override {
    MPI_Status status;
    MPIL_Wait(request_, &status);
  }

 private:
  Blocks blocks_;
  ElementType element_;
  MPIL_Info* info_ = nullptr;
  MPIL_Comm* comm_ = nullptr;
  MPIL_Request* request_ = nullptr;
};

std::unique_ptr<Candidate> make_mpi_advance(const Task& task) {
  return std::make_unique<MpiAdvance>(task);
}
#else
constexpr std::unique_ptr<Candidate> (*make_mpi_advance)(const Task&) = nullptr;
#endif

}  // namespace

std::vector<Baseline> mpi_advance_baselines() {
  return {{"mpi-advance", make_mpi_advance,
           "MPI Advance was not found when laneway-bench was configured; if it is installed, add its prefix to "
           "CMAKE_PREFIX_PATH"}};
}

}  // namespace laneway::bench
