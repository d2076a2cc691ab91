#pragma once

#include <cstddef>
#include <cstdint>

#include "carriers/local_options.hpp"
#include "carriers/side.hpp"

namespace laneway::local {

/// Which messages have mailboxes in this rank's window, and where. The references must outlive the object.
class Mailboxes {
 public:
  Mailboxes(const Sides& out, Sides& in, const LocalOptions& options) : out_(out), in_(in), options_(options) {}

  /// The largest message from the peer of this number that gets one. What cannot cross over is written into memory that
  /// is in the receiver's cache.
  [[nodiscard]] std::int64_t most_mailed(Rank peer, std::size_t message) const;
  /// Leaves the largest messages to the MPI library if mailboxes for all would take too much memory.
  void drop_largest();
  /// Gives each its place in the window, behind the words that are there and those that the other messages need, and
  /// returns the size of the window.
  [[nodiscard]] std::int64_t lay_out(std::int64_t window_bytes);

 private:
  [[nodiscard]] std::int64_t answer_bytes(Rank peer, std::size_t message) const;
  [[nodiscard]] std::int64_t bytes(Rank peer, std::size_t message) const;
  [[nodiscard]] int slots(Rank peer, std::int64_t bytes) const;

  const Sides& out_;
  Sides& in_;
  const LocalOptions& options_;
};

/// Lets ranks that have mailboxes for each other use one slot of each. Both ranks of a pair come to the same result.
void cross_over(Sides& out, Sides& in);

}  // namespace laneway::local
