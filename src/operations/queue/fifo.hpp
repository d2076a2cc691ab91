#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace laneway {

/// One thread pushes and one pops, without locks. Allocates only where more than ever before is in it.
template <class T>
class Fifo {
 public:
  Fifo() : tail_(new Chunk), head_(tail_) {}
  ~Fifo() {
    while (head_ != nullptr) delete std::exchange(head_, head_->next.load());
    delete spare_.load();
  }
  Fifo(const Fifo&) = delete;
  Fifo& operator=(const Fifo&) = delete;

  /// May throw only before anything is pushed.
  void push(const T& value) {
    if (pushed_in_tail_ == chunk_size) {
      Chunk* next = spare_.exchange(nullptr, std::memory_order_acquire);
      if (next == nullptr) next = new Chunk;
      tail_->next.store(next, std::memory_order_release);
      tail_ = next;
      pushed_in_tail_ = 0;
    }
    tail_->values[pushed_in_tail_++] = value;
    tail_->size.store(pushed_in_tail_, std::memory_order_release);
  }

  /// The oldest value, or null.
  [[nodiscard]] const T* front() {
    if (popped_in_head_ == chunk_size) {
      Chunk* const next = head_->next.load(std::memory_order_acquire);
      if (next == nullptr) return nullptr;
      Chunk* const empty = std::exchange(head_, next);
      popped_in_head_ = 0;
      empty->size.store(0, std::memory_order_relaxed);
      empty->next.store(nullptr, std::memory_order_relaxed);
      delete spare_.exchange(empty, std::memory_order_acq_rel);
    }
    if (popped_in_head_ == head_->size.load(std::memory_order_acquire)) return nullptr;
    return &head_->values[popped_in_head_];
  }
  void pop() { ++popped_in_head_; }

 private:
  static constexpr std::size_t chunk_size = 256;
  struct Chunk {
    std::array<T, chunk_size> values{};
    std::atomic<std::size_t> size{0};
    std::atomic<Chunk*> next{nullptr};
  };

  Chunk* tail_;  // of who pushes
  std::size_t pushed_in_tail_ = 0;
  Chunk* head_;  // of who pops
  std::size_t popped_in_head_ = 0;
  std::atomic<Chunk*> spare_{nullptr};
};

}  // namespace laneway
