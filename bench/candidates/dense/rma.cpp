// All-to-all-v by one-sided communication, after Namugwanya, Optimizing Collective Communication Using MPI RMA (2025):
// every rank puts its blocks into the receive buffers of the others. Where they go is exchanged once, when it is made.
// There locks go with MPI_Rput, whose requests are waited for here; `lock` needs none, since a flush completes all
// puts.
#include <algorithm>
#include <array>

#include "candidates/dense.hpp"

namespace laneway::bench {

namespace {

enum class Synchronization : std::uint8_t { fence, lock, lock_and_requests };

class Rma final : public DenseCandidate {
 public:
  Rma(const DenseTask& task, Synchronization synchronization, bool keeps_window)
      : task_(task), synchronization_(synchronization), keeps_window_(keeps_window) {
    MPI_Comm_dup(task.run.comm, &comm_);
    MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN);
    const std::vector<int>& places = task.blocks.receive_displacements;
    places_.resize(places.size());
    if (synchronization == Synchronization::lock_and_requests) requests_.resize(places.size(), MPI_REQUEST_NULL);
    MPI_Alltoall(places.data(), 1, MPI_INT, places_.data(), 1, MPI_INT, comm_);
    has_windows_ = open();
    if (has_windows_ && !keeps_window_) close();
  }
  ~Rma() override {
    if (has_windows_ && keeps_window_) close();
    MPI_Comm_free(&comm_);
  }
  Rma(const Rma&) = delete;
  Rma& operator=(const Rma&) = delete;

  void run() override {
    if (!keeps_window_) (void)open();
    if (synchronization_ == Synchronization::fence) {
      MPI_Win_fence(MPI_MODE_NOPRECEDE, window_);
      put();
      MPI_Win_fence(MPI_MODE_NOSUCCEED | MPI_MODE_NOSTORE, window_);
    } else {
      // Nobody writes into a buffer that its owner still reads.
      MPI_Win_sync(window_);
      MPI_Barrier(comm_);
      put();
      MPI_Win_flush_all(window_);
      MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
      MPI_Barrier(comm_);
      MPI_Win_sync(window_);
    }
    if (!keeps_window_) close();
  }
  [[nodiscard]] std::string obstacle() const override {
    return has_windows_ ? "" : "the MPI library has no windows on these ranks";
  }

 private:
  /// Whether all ranks have a window.
  bool open() {
    int has_one = MPI_Win_create(task_.receive.data(), static_cast<MPI_Aint>(task_.receive.size()), 1, MPI_INFO_NULL,
                                 comm_, &window_) == MPI_SUCCESS
                      ? 1
                      : 0;
    if (has_windows_) return lock();
    MPI_Allreduce(MPI_IN_PLACE, &has_one, 1, MPI_INT, MPI_MIN, comm_);
    return has_one != 0 && lock();
  }
  bool lock() {
    if (synchronization_ != Synchronization::fence) MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
    return true;
  }
  void close() {
    if (synchronization_ != Synchronization::fence) MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  void put() {
    for (Rank step = 0; step < task_.dense.ranks; ++step) {
      const Rank to = (task_.run.rank + step) % task_.dense.ranks;
      const auto at = static_cast<std::size_t>(to);
      const int count = task_.blocks.send_counts[at];
      const std::byte* const from = task_.send.data() + task_.blocks.send_displacements[at];
      if (count == 0) continue;
      if (requests_.empty())
        MPI_Put(from, count, MPI_BYTE, to, places_[at], count, MPI_BYTE, window_);
      else
        MPI_Rput(from, count, MPI_BYTE, to, places_[at], count, MPI_BYTE, window_, &requests_[at]);
    }
  }

  const DenseTask& task_;
  Synchronization synchronization_;
  bool keeps_window_;
  bool has_windows_ = false;
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Win window_ = MPI_WIN_NULL;
  std::vector<int> places_;            // of this rank's blocks in the others' receive buffers
  std::vector<MPI_Request> requests_;  // one for each rank, or none
};

struct RmaRow {
  const char* name;
  Synchronization synchronization;
  bool keeps_window;
};
constexpr std::array rma_rows = {RmaRow{"rma:fence", Synchronization::fence, false},
                                 RmaRow{"rma:lock", Synchronization::lock, false},
                                 RmaRow{"rma:rput", Synchronization::lock_and_requests, false},
                                 RmaRow{"rma:fence:persistent", Synchronization::fence, true},
                                 RmaRow{"rma:lock:persistent", Synchronization::lock, true},
                                 RmaRow{"rma:rput:persistent", Synchronization::lock_and_requests, true}};

bool is_all_to_all(DenseKind kind) {
  return kind == DenseKind::alltoall || kind == DenseKind::alltoallv;
}

}  // namespace

DenseMaker dense_rma() {
  return {"rma",
          [](DenseKind kind) {
            std::vector<std::string> names;
            if (is_all_to_all(kind))
              for (const RmaRow& row : rma_rows) names.emplace_back(row.name);
            return names;
          },
          [](const std::string& name, const DenseTask& task) -> std::unique_ptr<DenseCandidate> {
            if (!is_all_to_all(task.dense.kind)) return nullptr;
            for (const RmaRow& row : rma_rows)
              if (name == row.name) return std::make_unique<Rma>(task, row.synchronization, row.keeps_window);
            return nullptr;
          }};
}

}  // namespace laneway::bench
