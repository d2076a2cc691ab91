#include "runtime/carriers/rma/windows.hpp"

#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/bytes/mix.hpp"
#include "base/bytes/ranges.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "mpi/attribute_key.hpp"
#include "runtime/carriers/messages/advance.hpp"
#include "runtime/carriers/rma/puts.hpp"
#include "runtime/carriers/rma/window.hpp"
#include "runtime/carriers/rma/window_arena.hpp"

namespace laneway {

namespace {

/// One of those that plans use in turn.
struct PutWindow {
  Window window;
  std::int64_t bytes = 0;
  std::uint64_t number = 0;  ///< the same on all ranks, and no other window's
  std::atomic<bool> taken{true};
};

/// Of a communicator, in the order in which they were made, which is the same on all its ranks.
struct WindowPool {
  std::vector<PutWindow*> windows;
  std::string refusal;  ///< why there will be no more; empty on all ranks or on none
};

/// All windows of the process. Never destroyed, because MPI is gone when the program ends.
struct KeptWindows {
  std::mutex mutex;
  std::vector<PutWindow*> all;
};
KeptWindows& kept_windows() {
  static KeptWindows* const one = new KeptWindows;
  return *one;
}

/// What a communicator had stays among all windows.
AttributeKey pool_key([](void* pool) { delete static_cast<WindowPool*>(pool); });

WindowPool& pool_of(MPI_Comm comm) {
  const std::lock_guard lock(kept_windows().mutex);
  if (void* const found = pool_key.find(comm)) return *static_cast<WindowPool*>(found);
  auto pool = std::make_unique<WindowPool>();
  pool->refusal = Window::refusal(comm);
  pool_key.set(comm, pool.get());
  return *pool.release();
}

/// Memory that costs nothing before it is written, in the place of a part of another rank's window.
struct FreeMemory {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Mirror = std::unique_ptr<std::byte, FreeMemory>;

/// What a plan writes of the window of each far peer, whose words it raises or awaits.
std::map<Rank, Range> find_written(const Plan& plan, const PlanMemory& memory) {
  std::map<Rank, Range> written;
  for (const Step& step : plan.steps) {
    if (!step.raise && !step.await) continue;
    if (step.peer == plan.rank || memory.reach({Buffer::window, true}, step.peer)) continue;
    Range& range = written[step.peer];
    if (!step.raise) continue;
    const Word& word = *step.raise;
    const std::int64_t begin = std::min(word.offset, step.span.offset) / cache_line * cache_line;
    const std::int64_t end = word.offset + cache_line + word.ring.distance * (word.ring.places - 1);
    const std::int64_t first = range.bytes == 0 ? begin : std::min(begin, range.offset);
    range = {first, std::max(end, range.end()) - first};
  }
  return written;
}

void require_open(const Window& window) {
  require(window.is_open(), ErrorKind::mpi, "windows have been freed by MPI_Finalize");
}

class WindowPuts final : public Puts {
 public:
  WindowPuts(MPI_Comm comm, PutWindow& kept) : comm_(comm), kept_(kept), window_(kept.window) {}
  /// What MPI may still read is not freed, and what may still be put is put where nothing else is.
  ~WindowPuts() override {
    bool is_over = true;
    for (auto& [peer, far] : far_)
      if (far.is_under_way) {
        is_over = false;
        (void)far.mirror.release();
      }
    if (is_over) kept_.taken.store(false, std::memory_order_release);
  }
  WindowPuts(const WindowPuts&) = delete;
  WindowPuts& operator=(const WindowPuts&) = delete;

  void add_mirror(Rank peer, Range part) {
    Mirror mirror(static_cast<std::byte*>(std::calloc(static_cast<std::size_t>(part.bytes) + 1, 1)));
    if (!mirror) throw std::bad_alloc();
    std::byte* const window = at(mirror.get(), -part.offset);
    far_.insert_or_assign(peer, Far{std::move(mirror), window});
  }

  [[nodiscard]] std::optional<Reached> reach(const Operand& operand, Rank peer) const override {
    const auto far = far_.find(peer);
    if (operand.buffer != Buffer::window || far == far_.end()) return std::nullopt;
    std::byte* const other = far->second.window;
    return operand.of_peer ? Reached{other, window_.memory()} : Reached{window_.memory(), other};
  }
  [[nodiscard]] std::int64_t metadata_bytes() const override {
    return static_cast<std::int64_t>(sizeof *this + far_.size() * sizeof *far_.begin());
  }
  [[nodiscard]] bool reaches(Rank peer) const override { return far_.contains(peer); }

  void put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) override {
    far_of(peer).is_under_way = true;
    window_.put(peer, from, offset, bytes);
  }

  void raise(Rank peer, const std::byte* word, std::int64_t offset) override {
    far_of(peer).is_under_way = true;
    window_.accumulate(peer, word, MPI_UINT64_T, offset, MPI_REPLACE);
  }

  void flush(Rank peer) override {
    Far& far = far_of(peer);
    if (!far.is_under_way) return;
    window_.flush(peer);
    far.is_under_way = false;
  }

  void advance() override {
    check_open();
    advance_mpi(comm_);
    window_.sync();
  }

 private:
  struct Far {
    Mirror mirror;
    std::byte* window = nullptr;  ///< where the peer's would begin
    bool is_under_way = false;    ///< something, since the last flush
  };

  Far& far_of(Rank peer) {
    check_open();
    return far_.at(peer);
  }
  void check_open() const { require_open(window_); }

  MPI_Comm comm_;
  PutWindow& kept_;
  Window& window_;
  std::map<Rank, Far> far_;
};

/// The first of a pool that is free on all ranks and fits everywhere; null if there is none. `can`: whether this rank
/// can take one at all; becomes whether all can.
PutWindow* find_free(Bootstrap& bootstrap, const WindowPool& pool, std::int64_t bytes, bool& can) {
  constexpr std::size_t most = 63;
  constexpr std::uint64_t can_bit = std::uint64_t{1} << most;
  std::uint64_t free = can ? can_bit : 0;
  for (std::size_t w = 0; w < std::min(most, pool.windows.size()); ++w) {
    const PutWindow& window = *pool.windows[w];
    if (!window.taken.load(std::memory_order_acquire) && window.bytes >= bytes) free |= std::uint64_t{1} << w;
  }
  free = bootstrap.common_bits(free);
  can = (free & can_bit) != 0;
  free &= ~can_bit;
  return can && free != 0 ? pool.windows[static_cast<std::size_t>(std::countr_zero(free))] : nullptr;
}

/// The first rank of the communicator gives it.
std::uint64_t next_number(const Bootstrap& bootstrap, const PutWindow& window) {
  if (bootstrap.rank() != 0) return ~std::uint64_t{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  return mix(mix(mix(static_cast<std::uint64_t>(now)) + static_cast<std::uint64_t>(getpid())) +
             reinterpret_cast<std::uintptr_t>(&window)) |
         1;
}

/// Null on all ranks where one gets none: to free it would take all of them, so it is left behind.
PutWindow* make_window(Bootstrap& bootstrap, MPI_Comm comm, WindowPool& pool, std::int64_t bytes) {
  auto window = std::make_unique<PutWindow>();
  window->bytes = bytes;
  std::uint64_t number = next_number(bootstrap, *window);
  try {
    window->window.allocate(comm, bytes);
  } catch (const std::exception& error) {
    pool.refusal = error.what();
    number &= ~std::uint64_t{1};
  }
  window->number = bootstrap.common_bits(number);
  if ((window->number & 1) == 0) {
    if (pool.refusal.empty()) pool.refusal = "the MPI library gives another rank no window";
    return nullptr;
  }
  KeptWindows& known = kept_windows();
  const std::lock_guard lock(known.mutex);
  known.all.push_back(window.get());
  pool.windows.push_back(window.get());
  return window.release();
}

std::shared_ptr<Puts> puts_of(MPI_Comm comm, PutWindow& window, const Plan& plan, const PlanMemory& memory) {
  auto puts = std::make_shared<WindowPuts>(comm, window);
  for (const auto& [peer, part] : find_written(plan, memory)) puts->add_mirror(peer, part);
  return puts;
}

MPI_Comm communicator_of(const Bootstrap& bootstrap) {
  return *static_cast<const MPI_Comm*>(bootstrap.communicator());
}

}  // namespace

std::string why_no_window(const Bootstrap& bootstrap) {
  if constexpr (simulated) return "puts are not simulated";
  return pool_of(communicator_of(bootstrap)).refusal;
}

std::string share_window_with_all(Bootstrap& bootstrap, const Plan& plan, std::shared_ptr<PlanMemory>& memory) {
  const MPI_Comm comm = communicator_of(bootstrap);
  WindowPool& pool = pool_of(comm);
  bool can = memory != nullptr;
  PutWindow* window = find_free(bootstrap, pool, plan.window_bytes, can);
  if (!can) {
    memory = nullptr;
    return "some ranks get no memory for the words of their plans";
  }
  if (window == nullptr && pool.refusal.empty()) window = make_window(bootstrap, comm, pool, plan.window_bytes);
  if (window == nullptr) {
    memory = nullptr;
    return pool.refusal;
  }
  window->taken.store(true, std::memory_order_relaxed);
  std::byte* const memory_here = window->window.memory();
  if (memory_here != nullptr) std::memset(memory_here, 0, static_cast<std::size_t>(plan.window_bytes));
  std::string failure;
  try {
    memory->parts.push_back(puts_of(comm, *window, plan, *memory));
    window->window.sync();
  } catch (const std::exception& error) {
    failure = error.what();
  }
  // Nobody puts before all words are 0.
  if (bootstrap.common_bits(failure.empty() ? 1 : 0) != 0) return {};
  memory = nullptr;
  return failure.empty() ? "another rank has no memory for what it puts" : failure;
}

std::shared_ptr<WindowArena> WindowArena::make(Bootstrap& bootstrap, std::int64_t bytes, std::string& why) {
  why = why_no_window(bootstrap);
  if (!why.empty()) return nullptr;
  const MPI_Comm comm = communicator_of(bootstrap);
  WindowPool& pool = pool_of(comm);
  const PutWindow* const made = make_window(bootstrap, comm, pool, bytes);
  if (made != nullptr) return std::make_shared<WindowArena>(made->window, comm, bytes);
  why = pool.refusal;
  return nullptr;
}

WindowArena::WindowArena(const Window& window, MPI_Comm comm, std::int64_t bytes)
    : window_(window), comm_(comm), free_{{0, bytes / cache_line * cache_line}} {}

std::shared_ptr<std::byte> WindowArena::take(std::int64_t bytes) {
  const std::int64_t whole = (bytes + cache_line - 1) / cache_line * cache_line;
  std::int64_t begin = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::ranges::find_if(free_, [&](const auto& gap) { return gap.second >= whole; });
    if (found == free_.end() || !window_.is_open()) return nullptr;
    begin = found->first;
    const std::int64_t room = found->second;
    free_.erase(found);
    if (room > whole) free_.emplace(begin + whole, room - whole);
  }
  // Without the lock: the MPI library's engine may free an end of a channel meanwhile.
  std::byte* const memory = window_.memory() + begin;
  std::memset(memory, 0, static_cast<std::size_t>(whole));
  window_.sync();
  return {memory, [self = shared_from_this(), begin, whole](std::byte*) { self->give_back(begin, whole); }};
}

void WindowArena::give_back(std::int64_t begin, std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  auto next = free_.upper_bound(begin);
  if (next != free_.end() && begin + bytes == next->first) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == begin) {
      before->second += bytes;
      return;
    }
  }
  free_.emplace(begin, bytes);
}

std::int64_t WindowArena::offset(const std::byte* piece) const {
  return piece - window_.memory();
}

void WindowArena::put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) const {
  require_open(window_);
  window_.put(peer, from, offset, bytes);
}

void WindowArena::raise(Rank peer, const std::uint64_t* word, std::int64_t offset) const {
  require_open(window_);
  window_.accumulate(peer, word, MPI_UINT64_T, offset, MPI_REPLACE);
}

void WindowArena::flush(Rank peer) const {
  require_open(window_);
  window_.flush(peer);
}

void WindowArena::advance() const {
  require_open(window_);
  advance_mpi(comm_);
  window_.sync();
}

void free_windows() noexcept {
  KeptWindows& known = kept_windows();
  const std::lock_guard lock(known.mutex);
  // Threads may have made windows of different communicators at the same time.
  std::ranges::stable_sort(known.all, {}, &PutWindow::number);
  for (PutWindow* const kept : known.all) (void)kept->window.close();
}

}  // namespace laneway
