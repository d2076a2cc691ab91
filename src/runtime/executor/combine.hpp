#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plan/plan.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// The arithmetic of moves that combine: whoever makes an executor knows the operator.
class Combiner {
 public:
  virtual ~Combiner() = default;
  /// to = from op to, of elements that lie one after the other on both sides; to op from where operands are in order,
  /// and then it may write `from`. Allocates nothing.
  virtual void combine(std::byte* from, std::byte* to, std::int64_t bytes) const = 0;
  /// What kernels call it; none if they do not know it.
  [[nodiscard]] virtual std::optional<DeviceOperation> on_device() const { return std::nullopt; }
};

/// How elements are combined by a function that takes no more than `most` at a time.
struct InParts {
  std::int64_t element_bytes = 1;
  bool in_order = false;  ///< operands may not be exchanged
  std::int64_t most = 1;
};

/// The same by calls of reduce(in, inout, number of elements), which is inout = in op inout, as MPI's.
template <class Reduce>
void combine_in_parts(std::byte* from, std::byte* to, std::int64_t bytes, const InParts& how, Reduce&& reduce) {
  for (std::int64_t left = bytes / how.element_bytes; left > 0;) {
    const std::int64_t n = std::min(left, how.most);
    const std::int64_t part = n * how.element_bytes;
    if (how.in_order) {
      reduce(to, from, n);
      std::memcpy(to, from, static_cast<std::size_t>(part));
    } else {
      reduce(from, to, n);
    }
    from += part;
    to += part;
    left -= n;
  }
}

/// By index in Plan::combinations.
using Combiners = std::vector<std::shared_ptr<const Combiner>>;

/// Run by run, and block by block in each.
inline void combine(const Combiner& combiner, std::span<const CopyRun> runs, std::byte* from, std::byte* to) {
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      combiner.combine(from + run.from + i * run.from_stride, to + run.to + i * run.to_stride, run.bytes);
}

}  // namespace laneway
