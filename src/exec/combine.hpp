#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "device/device.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// The arithmetic of moves that combine: whoever makes an executor knows the operator.
class Combiner {
 public:
  virtual ~Combiner() = default;
  /// to = to op from, of elements that lie one after the other on both sides. May write `from` where operands are in
  /// order. Allocates nothing.
  virtual void combine(std::byte* from, std::byte* to, std::int64_t bytes) const = 0;
  /// What kernels call it; none if they do not know it.
  [[nodiscard]] virtual std::optional<DeviceOperation> on_device() const { return std::nullopt; }
};

/// By index in Plan::combinations.
using Combiners = std::vector<std::shared_ptr<const Combiner>>;

/// Run by run, and block by block in each.
inline void combine(const Combiner& combiner, std::span<const CopyRun> runs, std::byte* from, std::byte* to) {
  for (const CopyRun& run : runs)
    for (std::int64_t i = 0; i < run.count; ++i)
      combiner.combine(from + run.from + i * run.from_stride, to + run.to + i * run.to_stride, run.bytes);
}

}  // namespace laneway
