#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/types.hpp"

namespace laneway {

/// A message of a plan, bound to memory.
struct Message {
  bool is_send = false;
  Rank peer = 0;
  int channel = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
};

/// The messages of one bound plan. Everything is allocated when it is made; the functions below allocate nothing.
/// Messages of one pair and channel match in the order in which both sides start them.
class Endpoint {
 public:
  virtual ~Endpoint() = default;

  /// Starts messages [first, first + count).
  virtual void start(int first, int count) = 0;
  /// Stores the indices of messages that have completed since the last call, and returns how many.
  virtual int poll(std::span<int> completed) = 0;
  /// As poll, but may wait until something has completed.
  virtual int wait_some(std::span<int> completed) { return poll(completed); }
  /// True, once, when all started messages are complete.
  virtual bool test_all() = 0;
  virtual void wait_all() = 0;
  /// Gives progress to messages that are not of this endpoint.
  virtual void advance() {}
};

/// A way to carry messages between ranks.
class Transport {
 public:
  virtual ~Transport() = default;
  [[nodiscard]] virtual std::unique_ptr<Endpoint> bind(std::span<const Message> messages) = 0;
};

}  // namespace laneway
