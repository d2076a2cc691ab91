#pragma once

#include <cstdint>

#include "plan/plan.hpp"

namespace laneway {

/// Which rows of a copy one kernel moves, all of them at once, rather than a copy engine each by itself. The values
/// here are for machines of which nothing is known.
struct KernelRows {
  std::int64_t more_than = 2;         ///< so few are not worth a kernel
  std::int64_t shorter_than = 65536;  ///< bytes

  /// `rows`: of all runs that can begin together.
  [[nodiscard]] bool contain(const CopyRun& run, std::int64_t rows) const {
    return rows > more_than && run.bytes < shorter_than;
  }
  friend bool operator==(const KernelRows&, const KernelRows&) = default;
};

/// The same by where a copy leads.
struct CopyRule {
  KernelRows to_host;
  KernelRows to_device;
  KernelRows inside;  ///< a device, or between two

  [[nodiscard]] const KernelRows& of(bool reads_device, bool writes_device) const {
    return reads_device && writes_device ? inside : reads_device ? to_host : to_device;
  }
};

}  // namespace laneway
