#include "carriers/rma/windows.hpp"

#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "carriers/messages/p2p.hpp"
#include "core/error.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_of_a_put = std::int64_t{1} << 30;

/// A window of all ranks of a communicator.
struct PutWindow {
  MPI_Win handle = MPI_WIN_NULL;
  std::byte* base = nullptr;
  std::int64_t bytes = 0;
  std::atomic<bool> taken{true};
};

/// Of a communicator, in the order in which they were made, which is the same on all its ranks.
struct WindowPool {
  std::vector<PutWindow*> windows;
};

/// All windows of the process. Never destroyed, because MPI is gone when the program ends.
struct KeptWindows {
  std::mutex mutex;
  std::vector<PutWindow*> all;
  int key = MPI_KEYVAL_INVALID;
};
KeptWindows& kept_windows() {
  static KeptWindows* const one = new KeptWindows;
  return *one;
}

/// What a communicator had stays among all windows.
int delete_pool(MPI_Comm, int, void* pool, void*) {
  delete static_cast<WindowPool*>(pool);
  return MPI_SUCCESS;
}

WindowPool& pool_of(MPI_Comm comm) {
  KeptWindows& known = kept_windows();
  const std::lock_guard lock(known.mutex);
  if (known.key == MPI_KEYVAL_INVALID)
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_pool, &known.key, nullptr),
              "MPI_Comm_create_keyval");
  void* found = nullptr;
  int has_one = 0;
  check_mpi(MPI_Comm_get_attr(comm, known.key, &found, &has_one), "MPI_Comm_get_attr");
  if (has_one != 0) return *static_cast<WindowPool*>(found);
  auto pool = std::make_unique<WindowPool>();
  check_mpi(MPI_Comm_set_attr(comm, known.key, pool.get()), "MPI_Comm_set_attr");
  return *pool.release();
}

/// Memory that costs nothing before it is written.
struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Mirror = std::unique_ptr<std::byte, FreeMemory>;

/// Of the steps that raise words of far peers: where in the peer's window the last byte is that they write.
std::map<Rank, std::int64_t> find_ends(const Plan& plan, const NodeMemory& memory) {
  std::map<Rank, std::int64_t> ends;
  for (const Step& step : plan.steps) {
    if (!step.raise && !step.await) continue;
    if (step.peer == plan.rank || memory.peers.contains(step.peer)) continue;
    std::int64_t& end = ends[step.peer];
    if (!step.raise) continue;
    const Word& word = *step.raise;
    end = std::max(end, word.offset + cache_line + word.ring.distance * (word.ring.places - 1));
  }
  return ends;
}

class WindowPuts final : public Puts {
 public:
  WindowPuts(MPI_Comm comm, PutWindow& window) : comm_(comm), window_(window) {}
  /// What MPI may still read is not freed, and what may still be put is put where nothing else is.
  ~WindowPuts() override {
    if (under_way_ == 0) {
      window_.taken.store(false, std::memory_order_release);
      return;
    }
    for (auto& [peer, mirror] : mirrors_) (void)mirror.release();
  }
  WindowPuts(const WindowPuts&) = delete;
  WindowPuts& operator=(const WindowPuts&) = delete;

  std::byte* add_mirror(Rank peer, std::int64_t bytes) {
    Mirror mirror(static_cast<std::byte*>(std::calloc(static_cast<std::size_t>(bytes) + 1, 1)));
    if (!mirror) throw std::bad_alloc();
    return mirrors_.insert_or_assign(peer, std::move(mirror)).first->second.get();
  }

  [[nodiscard]] std::byte* window() const override { return window_.base; }
  [[nodiscard]] bool reaches(Rank peer) const override { return mirrors_.contains(peer); }

  void put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) override {
    check_open();
    for (std::int64_t done = 0; done < bytes; done += most_of_a_put) {
      const int part = static_cast<int>(std::min(most_of_a_put, bytes - done));
      ++under_way_;
      check_mpi(MPI_Put(from + done, part, MPI_BYTE, peer, static_cast<MPI_Aint>(offset + done), part, MPI_BYTE,
                        window_.handle),
                "MPI_Put");
    }
  }

  void raise(Rank peer, const std::byte* word, std::int64_t offset) override {
    check_open();
    ++under_way_;
    check_mpi(MPI_Accumulate(word, 1, MPI_UINT64_T, peer, static_cast<MPI_Aint>(offset), 1, MPI_UINT64_T, MPI_REPLACE,
                             window_.handle),
              "MPI_Accumulate");
  }

  void flush(Rank peer) override {
    check_open();
    check_mpi(MPI_Win_flush(peer, window_.handle), "MPI_Win_flush");
    under_way_ = 0;
  }

  void advance() override {
    check_open();
    int flag = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE), "MPI_Iprobe");
    check_mpi(MPI_Win_sync(window_.handle), "MPI_Win_sync");
  }

 private:
  void check_open() const {
    require(window_.handle != MPI_WIN_NULL, ErrorKind::mpi, "windows have been freed by MPI_Finalize");
  }

  MPI_Comm comm_;
  PutWindow& window_;
  std::map<Rank, Mirror> mirrors_;
  int under_way_ = 0;
};

/// The first of a pool that is free on all ranks and fits everywhere; null if there is none. `ok`: whether this rank
/// can take one at all. Sets it to whether all can.
PutWindow* find_free(Talk& talk, const WindowPool& pool, std::int64_t bytes, bool& ok) {
  constexpr std::size_t most = 63;
  constexpr std::uint64_t can = std::uint64_t{1} << most;
  std::uint64_t free = ok ? can : 0;
  for (std::size_t w = 0; w < std::min(most, pool.windows.size()); ++w) {
    const PutWindow& window = *pool.windows[w];
    if (!window.taken.load(std::memory_order_acquire) && window.bytes >= bytes) free |= std::uint64_t{1} << w;
  }
  free = talk.common_bits(free);
  ok = (free & can) != 0;
  free &= ~can;
  return ok && free != 0 ? pool.windows[static_cast<std::size_t>(std::countr_zero(free))] : nullptr;
}

/// Null on all ranks where one gets none: to free it would take all of them, so it is left behind.
PutWindow* make_window(Talk& talk, MPI_Comm comm, WindowPool& pool, std::int64_t bytes) {
  auto window = std::make_unique<PutWindow>();
  window->bytes = bytes;
  const int code = MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &window->base, &window->handle);
  bool ok = code == MPI_SUCCESS && MPI_Win_set_errhandler(window->handle, MPI_ERRORS_RETURN) == MPI_SUCCESS;
  if (ok) {
    int* model = nullptr;
    int has_one = 0;
    ok = MPI_Win_get_attr(window->handle, MPI_WIN_MODEL, static_cast<void*>(&model), &has_one) == MPI_SUCCESS &&
         has_one != 0 && *model == MPI_WIN_UNIFIED;
  }
  ok = ok && MPI_Win_lock_all(MPI_MODE_NOCHECK, window->handle) == MPI_SUCCESS;
  if (talk.common_bits(ok ? 1 : 0) == 0) return nullptr;
  KeptWindows& known = kept_windows();
  const std::lock_guard lock(known.mutex);
  known.all.push_back(window.get());
  pool.windows.push_back(window.get());
  return window.release();
}

}  // namespace

void share_windows_with_all(Talk& talk, const Plan& plan, bool uses_puts, std::shared_ptr<NodeMemory>& memory) {
  if (!uses_puts) return;
  const MPI_Comm comm = *static_cast<const MPI_Comm*>(talk.communicator());
  WindowPool& pool = pool_of(comm);
  bool ok = memory != nullptr;
  PutWindow* window = find_free(talk, pool, plan.window_bytes, ok);
  if (ok && window == nullptr) {
    window = make_window(talk, comm, pool, plan.window_bytes);
    ok = window != nullptr;
  }
  if (!ok) {
    memory = nullptr;
    return;
  }
  window->taken.store(true, std::memory_order_relaxed);
  auto puts = std::make_shared<WindowPuts>(comm, *window);
  if (window->base != nullptr) std::memset(window->base, 0, static_cast<std::size_t>(plan.window_bytes));
  for (const auto& [peer, bytes] : find_ends(plan, *memory)) {
    std::byte* const mirror = puts->add_mirror(peer, bytes);
    memory->peers[peer] = {mirror, nullptr, nullptr};
  }
  memory->puts = std::move(puts);
  check_mpi(MPI_Win_sync(window->handle), "MPI_Win_sync");
  // Nobody puts before all words are 0.
  (void)talk.common_bits(0);
}

void free_windows() noexcept {
  KeptWindows& known = kept_windows();
  const std::lock_guard lock(known.mutex);
  for (PutWindow* const window : known.all) {
    MPI_Win_unlock_all(window->handle);
    MPI_Win_free(&window->handle);
    window->handle = MPI_WIN_NULL;
  }
}

}  // namespace laneway
