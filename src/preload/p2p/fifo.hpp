#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace laneway::interpose::p2p {

/// First in, first out. What goes is kept for what comes: of elements that hold memory none is allocated in the end.
template <class T>
class Fifo {
 public:
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] T& operator[](std::size_t i) { return slots_[(first_ + i) % slots_.size()]; }
  [[nodiscard]] T& front() { return slots_[first_]; }
  /// The last one from now on, as one that went has left it.
  T& push() {
    if (count_ == slots_.size()) {
      std::rotate(slots_.begin(), slots_.begin() + static_cast<std::ptrdiff_t>(first_), slots_.end());
      first_ = 0;
      slots_.resize(std::max<std::size_t>(8, 2 * count_));
    }
    return (*this)[count_++];
  }
  void pop() {
    first_ = (first_ + 1) % slots_.size();
    --count_;
  }

 private:
  std::vector<T> slots_;
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// Of elements that have a `next`, each in one list at most.
template <class T>
class List {
 public:
  [[nodiscard]] bool empty() const { return first_ == nullptr; }
  [[nodiscard]] T* front() const { return first_; }
  void push_back(T* element) {
    element->next = nullptr;
    (first_ == nullptr ? first_ : last_->next) = element;
    last_ = element;
  }
  void pop_front() { first_ = first_->next; }
  void remove(const T* element) {
    T* before = nullptr;
    for (T* one = first_; one != nullptr; before = one, one = one->next) {
      if (one != element) continue;
      (before == nullptr ? first_ : before->next) = one->next;
      if (last_ == one) last_ = before;
      return;
    }
  }

 private:
  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace laneway::interpose::p2p
