/// Queues in C++20: exchanges that a stream, or an in-order queue of host tasks, starts and waits for. Comes with
/// laneway.hpp.
#pragma once

#include "laneway/laneway.hpp"

namespace laneway {

inline namespace cxx {

/// A queue, which is freed with its owner when all that is in it is done. Operations that are in it must live as long.
///
///     laneway::Queue queue(LNW_QUEUE_CUDA, stream);
///     queue.start(halo.operation());
///     queue.wait(halo.operation());
class Queue {
 public:
  /// LNW_Queue_init.
  explicit Queue(int kind = LNW_QUEUE_HOST, void* stream = nullptr) { check(LNW_Queue_init(&queue_, kind, stream)); }
  ~Queue() { reset(); }
  Queue(Queue&& other) noexcept : queue_(std::exchange(other.queue_, LNW_QUEUE_NULL)) {}
  Queue& operator=(Queue&& other) noexcept {
    if (this != &other) {
      reset();
      queue_ = std::exchange(other.queue_, LNW_QUEUE_NULL);
    }
    return *this;
  }

  /// @name What is put into the queue; these calls return at once
  /// @{
  void start(const Persistent& operation) {
    LNW_Request request = operation.get();
    check(LNW_Enqueue_start(queue_, &request));
  }
  void wait(const Persistent& operation) {
    LNW_Request request = operation.get();
    check(LNW_Enqueue_wait(queue_, &request));
  }
  /// Several by one word.
  void start(std::span<const Persistent* const> operations) {
    std::vector<LNW_Request> requests = handles_of(operations);
    check(LNW_Enqueue_startall(queue_, static_cast<int>(requests.size()), requests.data()));
  }
  void wait(std::span<const Persistent* const> operations) {
    std::vector<LNW_Request> requests = handles_of(operations);
    check(LNW_Enqueue_waitall(queue_, static_cast<int>(requests.size()), requests.data()));
  }
  /// Waits in the stream for all that was started in the queue.
  void wait_for_all_started() { check(LNW_Enqueue_waitall(queue_, LNW_QUEUE_ALL_STARTED, nullptr)); }
  /// LNW_Enqueue_ready: a partition is ready when the stream comes to it.
  void ready(const Persistent& operation, int partition) {
    check(LNW_Enqueue_ready(queue_, operation.get(), partition));
  }
  /// LNW_Enqueue_ready_edge: the same of a partition of a neighbour.
  void ready_edge(const Persistent& operation, int edge, int partition) {
    check(LNW_Enqueue_ready_edge(queue_, operation.get(), edge, partition));
  }
  /// `function`, which must live until it has been called and must not throw, call MPI, the device or this library.
  template <class F>
  void call(F& function) {
    check(LNW_Enqueue_call(
        queue_, [](void* argument) { (*static_cast<F*>(argument))(); }, &function));
  }
  /// @}

  /// Returns when nothing is left; throws MpiError if an exchange has failed since the last call.
  void wait() { check(LNW_Queue_wait(queue_)); }
  /// True if nothing is left.
  bool progress() {
    int flag = 0;
    check(LNW_Queue_progress(queue_, &flag));
    return flag != 0;
  }
  /// What has been put into the queue.
  [[nodiscard]] LNW_Queue_statistics statistics() const {
    LNW_Queue_statistics statistics;
    check(LNW_Queue_get_statistics(queue_, &statistics));
    return statistics;
  }
  /// The handle, valid as long as this object.
  [[nodiscard]] LNW_Queue get() const { return queue_; }

 private:
  static std::vector<LNW_Request> handles_of(std::span<const Persistent* const> operations) {
    std::vector<LNW_Request> requests;
    for (const Persistent* operation : operations) requests.push_back(operation->get());
    return requests;
  }
  void reset() noexcept {
    if (queue_ == LNW_QUEUE_NULL || detail::is_finalized()) return;
    LNW_Queue_wait(queue_);
    LNW_Queue_free(&queue_);
  }

  LNW_Queue queue_ = LNW_QUEUE_NULL;
};

}  // namespace cxx

}  // namespace laneway
