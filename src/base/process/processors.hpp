#pragma once

#include <sched.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

namespace laneway {

/// How much time on processors control groups leave to the calling process, in processors: the least along the path of
/// its group, by the quotas of the completely fair scheduler (cpu.max; cpu.cfs_quota_us of version 1).
struct ProcessorQuota {
  double processors = std::numeric_limits<double>::infinity();
  std::uint64_t group = 0;  ///< the control group with that quota, as its file system numbers it; 0: none
};

/// `root`: where /proc and the mounted control groups are found.
[[nodiscard]] ProcessorQuota read_quota(const std::string& root = "");

/// What a process may use. Trivially copyable, to be sent as bytes.
struct Processors {
  cpu_set_t cores{};  ///< none if that is not known
  ProcessorQuota quota;
};

/// Of the calling thread; the quota as it was when this was first asked for.
[[nodiscard]] Processors own_processors();

/// Whether `processes`, of which those in `known` have told, have a processor each. Those that have not told share the
/// quota of any that have.
[[nodiscard]] bool have_one_each(std::size_t processes, std::span<const Processors> known);

/// Ranks of one machine that have a processor each may wait for longer before they yield. Those of emulated nodes share
/// processors with ranks that look far away; their launcher says so. What some of the ranks have shown is taken back
/// only where others cannot have one each, not where they are too few to show it. `ranks`: of this job, on the machine.
void learn_patience(std::size_t ranks, std::span<const Processors> known);

}  // namespace laneway
