#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "plan/plan.hpp"

namespace laneway {

/// Where the elements of a copy operation are on one side: from `base` on, each `step` bytes after the one before, or
/// at offsets from `base` that a table lists from byte `step` on.
struct CopySide {
  std::int64_t base = 0;
  std::int64_t step = 0;
};

/// `count` elements of `bytes` bytes each, copied by the kernel that fits their size and how they lie.
struct CopyOperation {
  void (*kernel)(const CopyOperation&, std::byte* from, std::byte* to, const std::byte* table) = nullptr;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  CopySide from;
  CopySide to;
};

/// A list of copy runs, compiled to few operations that can be run again and again. Bytes are written in the order of
/// the runs. What is written must not overlap what is read.
class CopyProgram {
 public:
  explicit CopyProgram(std::span<const CopyRun> runs);

  /// Copies; the offsets of the runs are relative to `from` and `to`, which may be null. Allocates nothing.
  void run(std::byte* from, std::byte* to) const {
    for (const CopyOperation& operation : operations_) operation.kernel(operation, from, to, table_.data());
  }

  /// The bytes that a run copies.
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  /// The bytes that the program itself takes.
  [[nodiscard]] std::int64_t metadata_bytes() const;

 private:
  void add_regular(const CopyRun& run);
  void add_together(std::span<const CopyRun> bundle);
  void add_irregular(std::span<const CopyRun> runs);

  std::vector<CopyOperation> operations_;
  std::vector<std::byte> table_;
  std::int64_t bytes_ = 0;
};

/// What such copies take in a simulation: `per_byte` where pieces are large.
[[nodiscard]] double simulated_seconds(std::span<const CopyRun> runs, double per_byte);

}  // namespace laneway
