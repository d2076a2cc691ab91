#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "support.hpp"

namespace laneway::test {

/// Partitioned edges to the neighbours of a ring, all of which name the same elements: partitions share events.
class PartitionedEdges {
 public:
  static constexpr int partitions = 4;
  static constexpr int elements = 32;

  PartitionedEdges(int rank, int size, MPI_Info info)
      : shape_(ring_shape(rank, size)),
        graph_(make_graph(MPI_COMM_WORLD, shape_)),
        data_(elements, rank),
        received_(degree() * elements) {
    const std::vector<int> counts(degree(), elements), same(degree(), 0), parts(degree(), partitions);
    std::vector<int> apart(degree());
    for (std::size_t i = 0; i < degree(); ++i) apart[i] = static_cast<int>(i) * elements;
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(data_.data(), counts.data(), same.data(), MPI_DOUBLE,
                                                       received_.data(), counts.data(), apart.data(), MPI_DOUBLE,
                                                       parts.data(), parts.data(), graph_.get(), info, &request_));
  }
  ~PartitionedEdges() { EXPECT_MPI(LNW_Request_free(&request_)); }
  PartitionedEdges(const PartitionedEdges&) = delete;
  PartitionedEdges& operator=(const PartitionedEdges&) = delete;

  [[nodiscard]] LNW_Request& request() { return request_; }

  /// Makes a partition of all edges ready, or waits until it has come on all. Return how many calls failed.
  int ready(int partition) {
    int wrong = 0;
    for (int e = 0; e < static_cast<int>(degree()); ++e)
      wrong += LNW_Pready_edge(request_, e, partition) != MPI_SUCCESS;
    return wrong;
  }
  int look(int partition) {
    int wrong = 0;
    for (int e = 0; e < static_cast<int>(degree()); ++e)
      for (int flag = 0; !flag;) wrong += LNW_Parrived_edge(request_, e, partition, &flag) != MPI_SUCCESS;
    return wrong;
  }
  /// Once an exchange is complete.
  void expect_all() const {
    for (std::size_t i = 0; i < degree(); ++i) EXPECT_EQ(received_[i * elements + 1], shape_.sources[i]);
  }

 private:
  [[nodiscard]] std::size_t degree() const { return shape_.sources.size(); }

  Shape shape_;
  Comm graph_;
  std::vector<double> data_, received_;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

/// Such edges, and a partitioned message from each rank to the next one.
class PartitionedRing {
 public:
  PartitionedRing(int rank, int size)
      : edges_(rank, size, MPI_INFO_NULL), data_(PartitionedEdges::elements, rank), received_(data_.size()) {
    constexpr int each = PartitionedEdges::elements / PartitionedEdges::partitions;
    EXPECT_MPI(LNW_Psend_init(data_.data(), PartitionedEdges::partitions, each, MPI_DOUBLE, (rank + 1) % size, 0,
                              MPI_COMM_WORLD, MPI_INFO_NULL, &pair_[0]));
    EXPECT_MPI(LNW_Precv_init(received_.data(), PartitionedEdges::partitions, each, MPI_DOUBLE,
                              (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &pair_[1]));
  }
  ~PartitionedRing() {
    for (LNW_Request& request : pair_) EXPECT_MPI(LNW_Request_free(&request));
  }
  PartitionedRing(const PartitionedRing&) = delete;
  PartitionedRing& operator=(const PartitionedRing&) = delete;

  [[nodiscard]] PartitionedEdges& edges() { return edges_; }

  /// An exchange; `begin` and `end` are called before the first partition is ready and after the last one has come.
  /// Returns how many calls failed.
  template <class Begin, class End>
  int exchange(Begin&& begin, End&& end) {
    EXPECT_MPI(LNW_Startall(2, pair_.data()));
    EXPECT_MPI(LNW_Start(&edges_.request()));
    int wrong = 0;
    begin();
    for (int p = 0; p < PartitionedEdges::partitions; ++p) {
      wrong += LNW_Pready(p, pair_[0]) != MPI_SUCCESS;
      wrong += edges_.ready(p);
    }
    for (int p = 0; p < PartitionedEdges::partitions; ++p) {
      for (int flag = 0; !flag;) wrong += LNW_Parrived(pair_[1], p, &flag) != MPI_SUCCESS;
      wrong += edges_.look(p);
    }
    end();
    EXPECT_MPI(LNW_Waitall(2, pair_.data(), MPI_STATUSES_IGNORE));
    EXPECT_MPI(LNW_Wait(&edges_.request(), MPI_STATUS_IGNORE));
    edges_.expect_all();
    return wrong;
  }

 private:
  PartitionedEdges edges_;
  std::vector<double> data_, received_;
  std::array<LNW_Request, 2> pair_{};
};

}  // namespace laneway::test
