#include <array>

#include "candidates/dense.hpp"

namespace laneway::bench {

namespace {

/// A message for each block, all at once: what programs write by hand. Of operations that only move blocks.
class BlockMessages final : public DenseCandidate {
 public:
  explicit BlockMessages(const DenseTask& task) : task_(task), comm_(task.run.comm) {}

  void run() override {
    const DenseCase& dense = task_.dense;
    const Rank rank = task_.run.rank;
    requests_.clear();
    for (Rank step = 0; step < dense.ranks; ++step) {
      const Rank from = (rank - step + dense.ranks) % dense.ranks;
      const auto at = static_cast<std::size_t>(from);
      if (dense.block(from, rank) > 0)
        MPI_Irecv(task_.receive.data() + task_.blocks.receive_displacements[at], task_.blocks.receive_counts[at],
                  MPI_BYTE, from, 0, comm_, &requests_.emplace_back());
    }
    for (Rank step = 0; step < dense.ranks; ++step) {
      const Rank to = (rank + step) % dense.ranks;
      const auto at = static_cast<std::size_t>(to);
      const bool is_same = dense.kind == DenseKind::allgather;
      if (dense.block(rank, to) > 0)
        MPI_Isend(task_.send.data() + (is_same ? 0 : task_.blocks.send_displacements[at]), task_.blocks.send_counts[at],
                  MPI_BYTE, to, 0, comm_, &requests_.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }

 private:
  const DenseTask& task_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

bool moves_blocks(DenseKind kind) {
  constexpr std::array kinds = {DenseKind::alltoall, DenseKind::alltoallv, DenseKind::allgather, DenseKind::gather,
                                DenseKind::scatter};
  for (const DenseKind one : kinds)
    if (one == kind) return true;
  return false;
}

}  // namespace

DenseMaker dense_messages() {
  return {"messages",
          [](DenseKind kind) {
            return moves_blocks(kind) ? std::vector<std::string>{"messages"} : std::vector<std::string>();
          },
          [](const std::string& name, const DenseTask& task) -> std::unique_ptr<DenseCandidate> {
            if (name != "messages" || !moves_blocks(task.dense.kind)) return nullptr;
            return std::make_unique<BlockMessages>(task);
          }};
}

}  // namespace laneway::bench
