#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/error.hpp"

namespace laneway {

/// A message of a plan, bound to memory.
struct Message {
  bool is_send = false;
  Rank peer = 0;
  int channel = 0;
  std::byte* data = nullptr;
  std::int64_t bytes = 0;
  bool in_user_buffer = false;  ///< which may be gone when the exchange is inactive
};

/// What is still under way of messages that have been given up.
enum class Left : std::uint8_t {
  nothing,
  in_own_memory,  ///< the memory of no message is the user's
  sends,          ///< also sends from the user's buffer
  receives        ///< also receives into the user's buffer
};

/// An error of one message.
class MessageError : public Error {
 public:
  MessageError(int index, const std::string& message, int mpi_class)
      : Error(ErrorKind::mpi, message, mpi_class), index_(index) {}
  [[nodiscard]] int index() const { return index_; }

 private:
  int index_;
};

/// The messages of one bound plan. Everything is allocated when it is made; the functions below allocate nothing.
/// Messages of one pair and channel match in the order in which both sides start them. They throw MessageError, or
/// Error(mpi); then only `abandon` may be called.
class Endpoint {
 public:
  /// No message is under way, or nobody uses their memory for anything else as long as the process runs.
  virtual ~Endpoint() = default;

  /// To be called once, before the first start, if `poll` or `wait_some` will be.
  virtual void expect_poll() {}

  /// Starts messages [first, first + count).
  virtual void start(int first, int count) = 0;
  /// Stores the indices of messages that have completed since the last call. Returns how many; -1: none is under way.
  virtual int poll(std::span<int> completed) = 0;
  /// As poll, but may wait until something has completed.
  virtual int wait_some(std::span<int> completed) { return poll(completed); }
  /// True, once, when all started messages are complete.
  virtual bool test_all() = 0;
  virtual void wait_all() = 0;
  /// Gives progress to messages that are not of this endpoint.
  virtual void advance() {}
  /// Gives up what is under way: cancels receives, once, and frees what has ended. To be called again while something
  /// is left.
  [[nodiscard]] virtual Left abandon() noexcept { return Left::nothing; }
};

/// What messages are called outside their communicator: for traces.
struct MessageNames {
  std::uint64_t group = 0;  ///< equal on ranks whose communicator has the same ranks in the same order
  int tag = 0;              ///< of the first channel
  Rank own = 0;             ///< this rank's in MPI_COMM_WORLD
  std::vector<Rank> peers;  ///< those asked for
};

/// A way to carry messages between ranks.
class Transport {
 public:
  virtual ~Transport() = default;
  /// Ranks of which there is no other name keep that of the communicator.
  [[nodiscard]] virtual MessageNames names(Rank own, const std::vector<Rank>& peers) const {
    return {0, 0, own, peers};
  }
  [[nodiscard]] virtual std::unique_ptr<Endpoint> bind(std::span<const Message> messages) = 0;
};

}  // namespace laneway
