#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "communicator/private_comm.hpp"
#include "preload/report/rows.hpp"

namespace laneway::interpose {

/// What speaks against a plan for calls of one kind, and what the turns of its trial are drawn by.
struct PlanMade {
  const char* against = nullptr;
  std::uint64_t seed = 0;
};

/// Calls of one kind on one communicator: the first are left to the MPI library, then there is a plan, it is tried
/// against the MPI library's own, and if it wins few calls are left to be timed. All ranks make such calls in the same
/// order, so their number alone tells all of them which way each goes, and the trial ends by what they compare.
class TriedCalls {
 public:
  /// `open`: whether nobody has chosen how, by which so many calls are tried. The first `after` calls are left to the
  /// MPI library. `row`: of the first call. Throws Error(argument).
  TriedCalls(bool open, std::int64_t after, std::shared_ptr<Row> row);
  /// LANEWAY_PRELOAD_AFTER. Throws Error(argument).
  [[nodiscard]] static std::int64_t first_calls(bool open);

  /// Null if the next call goes by the plan, else what speaks against that. `is_good`: whether its arguments are, since
  /// a call that no other rank may know of counts nothing. `comm` gives the private communicator, `make` the plan,
  /// once: where it throws, it does so on all ranks.
  template <class Good, class Comm, class Make>
  const char* decide(const Good& is_good, const Comm& comm, const Make& make) {
    if (after_ > 0) {
      if (is_good()) --after_;
      return too_early;
    }
    if (state_ == State::first) begin(make(trial_calls_ > 0));
    if ((state_ == State::tried || sampling_) && !is_good()) return nullptr;
    if (state_ == State::tried) take_time(*comm());
    return way();
  }

  /// Without a trial: what is decided for the first call is so for all.
  void stays_as_planned() { trial_calls_ = 0; }

  [[nodiscard]] Row& row() { return *row_; }
  static constexpr const char* too_early =
      "among the first of their kind, for which nothing is planned (LANEWAY_PRELOAD_AFTER)";

 private:
  enum class State : std::uint8_t { first, tried, decided };

  void begin(const PlanMade& made);
  /// From the call before to this one: work for others, or on a core that ranks share, costs time outside the
  /// operation, too.
  void take_time(const PrivateComm& comm);
  /// Ends the trial if it has told enough.
  void compare(const PrivateComm& comm);
  [[nodiscard]] const char* way();

  std::shared_ptr<Row> row_;
  std::int64_t after_ = 0;
  std::int64_t trial_calls_ = 0;
  State state_ = State::first;
  std::optional<double> begin_;  // of the call before
  std::optional<Sampling> sampling_;
  const char* against_ = nullptr;
};

}  // namespace laneway::interpose
