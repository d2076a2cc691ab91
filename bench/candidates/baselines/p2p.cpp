#include "base/simulated.hpp"
#include "candidates/candidates.hpp"

namespace laneway::bench {

namespace {

class PointToPoint final : public EdgeCandidate {
 public:
  explicit PointToPoint(const Task& task) : EdgeCandidate(task), blocks_(task) {
    MPI_Comm_dup(task.run.comm, &comm_);
    requests_.resize(sources().size() + destinations().size(), MPI_REQUEST_NULL);
    if constexpr (!simulated) begin(&MPI_Recv_init, &MPI_Send_init);
  }
  ~PointToPoint() override {
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    MPI_Comm_free(&comm_);
  }

  void start() override {
    blocks_.pack();
    if constexpr (simulated)
      begin(&MPI_Irecv, &MPI_Isend);
    else if (count() > 0)
      MPI_Startall(count(), requests_.data());  // Open MPI refuses to start no requests
  }
  bool test() override {
    int flag = 0;
    MPI_Testall(count(), requests_.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  void wait() override { MPI_Waitall(count(), requests_.data(), MPI_STATUSES_IGNORE); }

 private:
  /// One request for each edge, the receives first.
  void begin(decltype(&MPI_Irecv) receive, decltype(&MPI_Isend) send) {
    MPI_Request* request = requests_.data();
    for (std::size_t k = 0; k < sources().size(); ++k)
      receive(blocks_.receive + blocks_.receive_displacements[k], blocks_.receive_counts[k], MPI_BYTE, sources()[k], 0,
              comm_, request++);
    for (std::size_t k = 0; k < destinations().size(); ++k)
      send(blocks_.send + blocks_.send_displacements[k], blocks_.send_counts[k], MPI_BYTE, destinations()[k], 0, comm_,
           request++);
  }
  [[nodiscard]] const std::vector<Rank>& sources() const { return task_.exchange.receive.peers; }
  [[nodiscard]] const std::vector<Rank>& destinations() const { return task_.exchange.send.peers; }
  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }

  Blocks blocks_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
};

}  // namespace

std::unique_ptr<Candidate> make_p2p(const Task& task) {
  return std::make_unique<PointToPoint>(task);
}

std::vector<Baseline> p2p_baselines() {
  return {{"p2p", make_p2p}, {"p2p-again", make_p2p}};
}

}  // namespace laneway::bench
