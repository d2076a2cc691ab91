#pragma once

#include <cstdint>
#include <span>

#include "plan/plan.hpp"
#include "runtime/carriers/local_options.hpp"
#include "runtime/carriers/side.hpp"

namespace laneway::local {

/// A slot of a mailbox has the bytes of a message and, behind them, a word: where that is, and how large the slot is.
[[nodiscard]] std::int64_t word_offset(std::int64_t bytes);
[[nodiscard]] std::int64_t slot_bytes(std::int64_t bytes);
/// A message goes into the slot of its side, or is taken out of it.
void rewrite_mailed(Step& step, const Side& side);

/// Which messages have mailboxes in this rank's window, and where. The references must outlive the object.
class Mailboxes {
 public:
  Mailboxes(const Sides& out, const LocalOptions& options) : out_(out), options_(options) {}

  /// The size up to which what arrives gets one. What cannot cross over is written into memory that is in the
  /// receiver's cache.
  [[nodiscard]] std::int64_t most_mailed(const Side& in) const;
  /// Whether by a mailbox its sender may be further ahead of this rank than by a push.
  [[nodiscard]] bool lets_ahead(const Side& in) const {
    return in.bytes <= most_mailed(in) && slots(in.peer, bytes(in)) > 2;
  }
  /// Leaves the largest messages to the MPI library if mailboxes for all would take too much memory.
  void drop_largest(std::span<Side* const> in) const;
  /// Gives each its place in the window, behind the words that are there and those that the other messages need, and
  /// returns the size of the window.
  [[nodiscard]] std::int64_t lay_out(std::span<Side* const> in, std::int64_t window_bytes) const;

 private:
  [[nodiscard]] std::int64_t answer_bytes(const Side& in) const;
  [[nodiscard]] std::int64_t bytes(const Side& in) const;
  [[nodiscard]] int slots(Rank peer, std::int64_t bytes) const;

  const Sides& out_;
  const LocalOptions& options_;
};

/// Lets ranks that have mailboxes for each other use one slot of each. Both ranks of a pair come to the same result.
void cross_over(Sides& out, Sides& in);

}  // namespace laneway::local
