// What calls cost grows with what they move, and with nothing else: not with how many requests there are.
#include <algorithm>
#include <ctime>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

class Cost : public MpiTest {};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The least of a few.
template <class F>
double cpu_seconds_of(F&& f) {
  double least = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    const double begin = cpu_seconds();
    f();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

/// Persistent requests of this rank alone, with a self edge each.
class OwnRequests {
 public:
  explicit OwnRequests(std::size_t n) : send_(n, 1), receive_(n), requests_(n) {
    const int self = 0;
    EXPECT_MPI(LNW_Topology_create(MPI_COMM_SELF, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   &topology_));
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_MPI(LNW_Neighbor_alltoall_init_topology(&send_[i], 1, MPI_INT, &receive_[i], 1, MPI_INT, topology_,
                                                     MPI_INFO_NULL, &requests_[i]));
  }
  ~OwnRequests() {
    for (LNW_Request& request : requests_) EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_MPI(LNW_Topology_free(&topology_));
  }
  OwnRequests(const OwnRequests&) = delete;
  OwnRequests& operator=(const OwnRequests&) = delete;

  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }
  [[nodiscard]] LNW_Request* data() { return requests_.data(); }

 private:
  std::vector<int> send_;
  std::vector<int> receive_;
  std::vector<LNW_Request> requests_;
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
};

TEST_F(Cost, StartallTakesAsLongAsItsStarts) {
  OwnRequests requests(8000);
  const auto wait = [&] { EXPECT_MPI(LNW_Waitall(requests.count(), requests.data(), MPI_STATUSES_IGNORE)); };
  const double one_by_one = cpu_seconds_of([&] {
    for (int i = 0; i < requests.count(); ++i) LNW_Start(requests.data() + i);
    wait();
  });
  const double together = cpu_seconds_of([&] {
    EXPECT_MPI(LNW_Startall(requests.count(), requests.data()));
    wait();
  });
  EXPECT_LT(together, 10 * one_by_one);
}

}  // namespace
}  // namespace laneway::test
