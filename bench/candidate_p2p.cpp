#include "candidates.hpp"

namespace laneway::bench {

namespace {

class PointToPoint final : public EdgeCandidate {
 public:
  explicit PointToPoint(const Task& task) : EdgeCandidate(task), blocks_(task) {
    MPI_Comm_dup(task.run.comm, &comm_);
    const std::vector<Rank>& sources = task.exchange.receive.peers;
    const std::vector<Rank>& destinations = task.exchange.send.peers;
    requests_.reserve(sources.size() + destinations.size());
    for (std::size_t k = 0; k < sources.size(); ++k)
      MPI_Recv_init(blocks_.receive + blocks_.receive_displacements[k], blocks_.receive_counts[k], MPI_BYTE, sources[k],
                    0, comm_, &requests_.emplace_back());
    for (std::size_t k = 0; k < destinations.size(); ++k)
      MPI_Send_init(blocks_.send + blocks_.send_displacements[k], blocks_.send_counts[k], MPI_BYTE, destinations[k], 0,
                    comm_, &requests_.emplace_back());
  }
  ~PointToPoint() override {
    for (MPI_Request& request : requests_) MPI_Request_free(&request);
    MPI_Comm_free(&comm_);
  }

  void start() override {
    blocks_.pack();
    if (count() > 0) MPI_Startall(count(), requests_.data());  // Open MPI refuses to start no requests
  }
  bool test() override {
    int flag = 0;
    MPI_Testall(count(), requests_.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  void wait() override { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }

  Blocks blocks_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Candidate> make_p2p(const Task& task) {
  return std::make_unique<PointToPoint>(task);
}

}  // namespace laneway::bench
