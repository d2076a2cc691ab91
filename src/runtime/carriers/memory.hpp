#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"
#include "plan/plan.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

class SharedSegment;

/// Memory that several objects hold, and that devices can address once it is pinned. Pinning is for init calls.
class SharedMemory {
 public:
  SharedMemory(std::shared_ptr<void> memory, std::size_t bytes) : memory_(std::move(memory)), bytes_(bytes) {}
  void pin(const Device& device);

 private:
  std::shared_ptr<void> memory_;
  std::size_t bytes_;
  std::map<const DevicePlugin*, HostRegistration> pinned_;
};

/// Where the pages of a rank's staging memory come from, if others see it.
struct StagingPages {
  std::shared_ptr<const SharedSegment> segment;
  std::size_t begin = 0;  ///< in the segment
};

/// Staging memory that plans of one rank share, which are never active together, and how far the ranks of the node have
/// come with them. All ranks of the node run these plans in the same order, also those that have nothing to do.
class StagingArena {
 public:
  struct Part {
    std::byte* words = nullptr;
    std::byte* staging = nullptr;
  };

  /// `parts`: of all ranks of the node, or of this one alone, whose memory nobody else sees then.
  StagingArena(Rank rank, std::int64_t bytes, std::map<Rank, Part> parts, std::shared_ptr<SharedMemory> mapping,
               StagingPages pages = {})
      : own_(parts.at(rank)),
        bytes_(bytes),
        parts_(std::move(parts)),
        mapping_(std::move(mapping)),
        pages_(std::move(pages)),
        readers_(parts_.size()) {}

  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] const Part& own() const { return own_; }
  [[nodiscard]] const std::map<Rank, Part>& parts() const { return parts_; }
  void pin(const Device& device) {
    if (mapping_) mapping_->pin(device);
  }
  [[nodiscard]] bool is_private() const { return parts_.size() == 1; }

  /// Reserves the first `bytes` of this rank's part, which costs pages, so as plans need them. Throws std::system_error
  /// if there are not enough.
  void reserve(std::int64_t bytes) const;
  /// All ranks of the node have reserved so much. They say so together, so that they agree on who has to reserve.
  void set_reserved(std::int64_t bytes) { reserved_ = std::max(reserved_, bytes); }
  [[nodiscard]] bool has_reserved(std::int64_t bytes) const { return bytes <= reserved_ || !pages_.segment; }

  /// The number of the next exchange. The first is 1.
  [[nodiscard]] std::uint64_t next_exchange() { return ++exchange_; }

  /// Ranks that take from this rank's memory in some plan. One thread at a time adds; others may meanwhile call ready.
  void add_readers(const std::vector<Rank>& ranks);

  /// Whether all readers have completed the exchange before `exchange`, or one that is earlier by `lag`.
  [[nodiscard]] bool ready(std::uint64_t exchange, std::uint64_t lag) const;

  /// True if nobody else has claimed the memory; then `user` has it until it is released.
  [[nodiscard]] bool claim(const void* user) {
    const void* other = nullptr;
    return user_.compare_exchange_strong(other, user, std::memory_order_acquire) || other == user;
  }
  void release(const void* user) {
    user_.compare_exchange_strong(user, nullptr, std::memory_order_release, std::memory_order_relaxed);
  }
  [[nodiscard]] bool claimed() const { return user_.load(std::memory_order_relaxed) != nullptr; }

 private:
  Part own_;
  std::int64_t bytes_;
  std::map<Rank, Part> parts_;
  std::shared_ptr<SharedMemory> mapping_;
  StagingPages pages_;
  std::int64_t reserved_ = 0;
  std::vector<std::byte*> readers_;  // their words; the first count_ are valid
  std::atomic<std::size_t> count_{0};
  std::uint64_t exchange_ = 0;
  std::atomic<const void*> user_{nullptr};
};

/// Where an operand is in memory: in that of the rank that has it, and in the other rank's of the same kind.
struct Reached {
  std::byte* here = nullptr;
  std::byte* across = nullptr;
};

/// What a carrier keeps for a plan: memory that it has made, or whatever else outlives one binding.
class CarrierMemory {
 public:
  virtual ~CarrierMemory() = default;

  /// Where an operand of a step is that is not in the rank's own buffers; none: this carrier does not reach it.
  [[nodiscard]] virtual std::optional<Reached> reach(const Operand&, Rank) const { return std::nullopt; }
  /// Where the rank says how far it has come; null: this carrier does not know.
  [[nodiscard]] virtual std::byte* words_of(Rank) const { return nullptr; }
  /// Lets devices address it.
  virtual void pin(const Device&) {}
  [[nodiscard]] virtual std::int64_t metadata_bytes() const { return 0; }
  /// A rank with which the memory is shared, of those that are asked for, whose process has ended. System calls: for
  /// waits that have been long.
  [[nodiscard]] virtual std::optional<Rank> find_ended(const std::function<bool(Rank)>&) const { return std::nullopt; }
  /// The ranks of its communicator free it, all of them; who still holds it only destroys it.
  virtual void close() noexcept {}
};

/// The last exchange that a rank has given up since a process has ended, of which MPI may have told it alone.
inline constexpr std::int64_t failed_word = completed_word + 8;
/// Throws the error of an operation that such a rank takes part in.
[[noreturn]] void throw_ended(Rank rank);

/// The memory that carriers have made for one plan, as one rank sees it. Outlives the executors that are bound to it,
/// one after another: the count of exchanges goes on.
struct PlanMemory {
  /// That of the carrier that keeps a T; null: it keeps none.
  template <class T>
  [[nodiscard]] T* of() const {
    for (const std::shared_ptr<CarrierMemory>& part : parts)
      if (T* const found = dynamic_cast<T*>(part.get())) return found;
    return nullptr;
  }
  template <class T>
  T& find_or_add() {
    if (T* const found = of<T>()) return *found;
    auto made = std::make_shared<T>();
    parts.push_back(made);
    return *made;
  }

  [[nodiscard]] std::optional<Reached> reach(const Operand& operand, Rank peer) const;
  [[nodiscard]] std::byte* words_of(Rank peer) const;
  void pin(const Device& device);
  [[nodiscard]] std::int64_t metadata_bytes() const;
  /// Throws if a rank that shares the memory has ended in the exchange, or has given it up: what this one waits for may
  /// never come.
  void require_all_running() const;
  /// This rank leaves the exchange with a failure: if that is for a process that has ended, the others hear of it.
  void give_up(const std::exception_ptr& failure) const;

  /// Counts one more exchange.
  void begin_exchange() {
    ++turn;
    exchange = arena ? arena->next_exchange() : turn;
  }

  /// This rank's own.
  std::byte* window = nullptr;
  std::byte* staging = nullptr;
  std::byte* words = nullptr;  ///< at the beginning of the window, or of the arena
  std::uint64_t turn = 0;      ///< exchanges of this plan
  std::uint64_t exchange = 0;  ///< the number of the last one among all that share the memory; the first is 1
  std::vector<std::shared_ptr<CarrierMemory>> parts = {};
  std::shared_ptr<StagingArena> arena = {};  ///< if staging memory is shared with other plans
  bool connects_devices = false;  ///< a carrier brings all messages from and to devices, where staging memory is, too
};

/// Lets what is bound to the memory use the arena.
void use_arena(PlanMemory& memory, std::shared_ptr<StagingArena> arena);

/// A word that one rank raises and others wait for. What was written before it was raised is seen by who sees it.
inline void raise(std::byte* word, std::uint64_t exchange) {
  std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).store(exchange, std::memory_order_release);
}
[[nodiscard]] inline std::uint64_t seen(std::byte* word) {
  return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(word)).load(std::memory_order_acquire);
}

}  // namespace laneway
