#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <vector>

#include "algorithms/cost/tuning_file.hpp"
#include "operations/choose/planning.hpp"
#include "operations/choose/trial.hpp"

namespace laneway {

/// Memory for the ranges of one side of a pattern, laid out as the user's buffer. Pages that no range touches cost
/// nothing.
class Scratch {
 public:
  explicit Scratch(const std::vector<Edge>& edges);

  [[nodiscard]] bool failed() const { return failed_; }
  /// Where offsets count from.
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] void* data() const {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory_.get()) -
                                   static_cast<std::uintptr_t>(begin_));
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::int64_t begin_ = 0;
  bool failed_ = false;
};

/// A trial of strategies under lnw_tune=measure. What it finds is remembered in the tuning file
/// (docs/concepts/choosing.md). All functions but `add` are collective.
class StrategyTrial {
 public:
  /// `agreed` must outlive it.
  StrategyTrial(const PrivateComm& comm, const Agreed& agreed);

  /// Whether all ranks have some to run exchanges in.
  [[nodiscard]] bool has_memory() const { return key_ != 0; }
  [[nodiscard]] std::optional<TrialResult> recall(const std::vector<Candidate>& candidates) const;
  void add(const Candidate& candidate, const Planned& planned);
  [[nodiscard]] TrialResult run() const;

 private:
  [[nodiscard]] std::uint64_t find_key() const;

  const PrivateComm& comm_;
  const Agreed& agreed_;
  Scratch send_;
  Scratch receive_;
  std::uint64_t key_;
  std::optional<TuningFile> file_;  // of the first rank
  std::vector<TrialCandidate> candidates_;
};

}  // namespace laneway
