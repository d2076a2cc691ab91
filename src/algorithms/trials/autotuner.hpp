#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/trials/expected_exchanges.hpp"
#include "base/bytes/mix.hpp"
#include "base/simulated.hpp"

namespace laneway {

/// What trials differ in. All ranks that compare have equal rules.
struct TrialRules {
  std::int64_t samples = 0;  ///< of each way
  std::int64_t early = 0;    ///< so many of each suffice where a difference is clear
  std::int64_t turn = 1;     ///< one way has so many in a row
  double shortest = 0;       ///< this share of a way's samples, its shortest, does not count
  double longest = 0;        ///< nor this one, its longest
  double least_gain = 0;     ///< a way must save more than this share of the first way's time to be taken
  double clear = 0;          ///< a larger share between the first two ways is a clear difference
  std::int64_t keep = 0;     ///< of each way the last so many samples count, in memory taken before; 0: all

  /// @name Of exchanges that the library makes for nothing else
  /// @{
  std::size_t most_ways = 2;      ///< of all ways so many, the most promising, are timed
  double hopeless = 0;            ///< a way is expected to take more than so many times the least; 0: none is hopeless
  bool warms_up = false;          ///< an exchange of each way comes first, which does not count
  double seconds = 0;             ///< that all samples are to take
  std::int64_t fewest = 0;        ///< samples of each way, however long they take
  double first_turn_seconds = 0;  ///< exchanges in a row are to take, in the turn after which slow ways are out
  double turn_seconds = 0;        ///< exchanges in a row, which are one sample, are to take; 0: a sample is one
  double most_of_turn = 1;        ///< exchanges in a row
  bool is_ahead = false;  ///< ranks may run ahead of each other: one after a meeting counts as well as one in a row
  double out_after_first = 0;   ///< a way is out that then took more than so many times the least; 0: none is
  double out_after_sample = 0;  ///< likewise
  /// @}
};

/// Calls of an operation in a running program, from each to the next. Such an interval has other work of the program in
/// it, some of it in few of them only: the longest eighth is left out, and a plan must save more than trials were seen
/// to err. A program that goes back and forth between two operations would give one of them only every other
/// call: four in a row. Half of the trial is spared where 15% tell already.
inline constexpr TrialRules trial_of_calls{
    .samples = 20, .early = 8, .turn = 4, .longest = 1.0 / 8, .least_gain = 0.03, .clear = 0.15};

/// Calls that are sampled for as long as a program runs, one of each way in turns.
inline constexpr TrialRules samples_of_calls{.samples = std::int64_t{1} << 40, .turn = 1, .keep = 48};

/// Cycles of a solver, each a whole: hundreds of exchanges with what is between them. They differ less than calls do,
/// so 1% counts, but there are few: accidents are in the longest quarter. What follows a cycle is alike for both ways.
inline constexpr TrialRules trial_of_cycles{.samples = 16, .longest = 1.0 / 4, .least_gain = 0.01};

/// Exchanges of candidate plans, one after another in nobody's program, until the slowest of all ranks is done. That
/// makes every accident of any rank count, so only the median does. No plan is preferred: none is in use yet.
inline constexpr TrialRules trial_of_plans{.samples = 100,
                                           .shortest = 0.5,
                                           .longest = 0.5,
                                           .most_ways = 3,
                                           .warms_up = true,
                                           .seconds = simulated ? 0 : 0.2,
                                           .fewest = 5};

/// A collective's rules beside MPI's own operation, the first way, which all ranks are in. Each sample is what the
/// slowest of all ranks takes. The middle one counts: a rule whose messages meet on a link is fast by chance once in
/// three times. What a rule gains pays for its setup. The model does not
/// know the memory of nodes, and a first exchange also has what it costs to come first. After a meeting one or two tell
/// how soon a rule is through, which is not what calls cost that follow each other: what decides is longer turns.
inline constexpr TrialRules trial_of_rules{.samples = 3,
                                           .shortest = 1.0 / 3,
                                           .longest = 1.0 / 3,
                                           .least_gain = 0.03,
                                           .most_ways = 7,
                                           .hopeless = 10,
                                           .fewest = 3,
                                           .first_turn_seconds = 2e-3,
                                           .turn_seconds = 6e-3,
                                           .most_of_turn = 50,
                                           .out_after_first = 4,
                                           .out_after_sample = 1.5};

/// Those of long calls, which are tried early: the trial is not to cost much more than they do.
inline constexpr TrialRules trial_of_long_rules = [] {
  TrialRules rules = trial_of_rules;
  rules.most_ways = 4;
  rules.most_of_turn = 3;
  return rules;
}();

/// Those of operations with a root. One alone shows what a program waits for; but that is mostly how ranks leave the
/// meeting before it. Those in a row show what they cost. Both count as shares of the first way's.
inline constexpr TrialRules with_a_root(TrialRules rules) {
  rules.is_ahead = true;
  rules.turn_seconds = 10e-3;
  return rules;
}

/// Calls after which a trial of ways to run them pays. It costs some ten long calls, so that after as many it at most
/// doubles what has been spent. Short calls are timed many at a time: they must be as many as an unknown program is
/// expected to make. `bytes`: of the largest buffer.
constexpr double calls_before_trial(std::int64_t bytes) {
  constexpr double fewest = 8;
  constexpr double short_bytes = 65536;
  const double most = number_of_exchanges(exchanges_of_requests);
  if (static_cast<double>(bytes) <= short_bytes) return most;
  return std::max(fewest, most * short_bytes / static_cast<double>(bytes));
}

/// Which of some ways to do a thing takes the least time, found out by doing it: first come the samples, way by way in
/// turns, then a comparison of what all ranks found. In each round all ways have a turn. Which of them begins follows
/// the digit sum of the round in base `ways` (for two of them the Thue-Morse sequence), so that what changes slowly
/// meets all alike; or is drawn, where several trials go on at a time that should not change their ways together.
class Autotuner {
 public:
  explicit Autotuner(const TrialRules& rules, std::size_t ways = 2, std::optional<std::uint64_t> seed = {})
      : rules_(rules),
        goal_(rules.early > 0 ? std::min(rules.early, rules.samples) : rules.samples),
        seed_(seed),
        samples_(ways),
        in_(ways, true) {
    for (std::vector<double>& samples : samples_) samples.reserve(static_cast<std::size_t>(rules.keep));
  }

  /// Whose sample number `n` is, of all ways' together.
  [[nodiscard]] std::size_t way_of(std::int64_t n) const {
    const auto ways = static_cast<std::int64_t>(samples_.size());
    const std::int64_t round = n / (ways * rules_.turn);
    const std::int64_t left = rules_.samples - round * rules_.turn;
    const std::int64_t turn = std::clamp<std::int64_t>(left, 1, rules_.turn);
    return static_cast<std::size_t>(((n - round * ways * rules_.turn) / turn + first_of(round)) % ways);
  }
  /// Whose the next sample is.
  [[nodiscard]] std::size_t way() const { return way_of(next_); }
  void add(double seconds) {
    const std::int64_t n = next_++;
    std::vector<double>& samples = samples_[way_of(n)];
    const auto kept = static_cast<std::size_t>(rules_.keep);
    if (kept == 0 || samples.size() < kept)
      samples.push_back(seconds);
    else
      samples[static_cast<std::size_t>(n) / samples_.size() % kept] = seconds;
  }
  /// Of all ways at once, in place of turns: a sample of each that is still in. Then that is out whose shortest sample
  /// takes more than `most` times the shortest of all, for its turns would cost more than they tell; 0: all stay in.
  /// Ranks that give equal seconds come to equal ends.
  void add_round(std::span<const double> seconds, double most) {
    for (std::size_t way = 0; way < samples_.size(); ++way)
      if (in_[way]) samples_[way].push_back(seconds[way]);
    if (most == 0) return;
    std::vector<double> shortest;
    for (const std::vector<double>& samples : samples_) shortest.push_back(std::ranges::min(samples));
    const double limit = most * std::ranges::min(shortest);
    for (std::size_t way = 0; way < samples_.size(); ++way) in_[way] = in_[way] && shortest[way] <= limit;
  }
  [[nodiscard]] bool is_in(std::size_t way) const { return in_[way]; }
  /// Samples of those that are still in are to be others from now on.
  void start_over() {
    for (std::size_t way = 0; way < samples_.size(); ++way)
      if (in_[way]) samples_[way].clear();
  }
  /// Those that are kept, in an order that is the same on all ranks.
  [[nodiscard]] std::span<const double> samples(std::size_t way) const { return samples_[way]; }

  /// Whether it is time to compare.
  [[nodiscard]] bool is_due() const { return next_ >= goal_ * static_cast<std::int64_t>(samples_.size()); }

  /// By way: the mean of the samples that count; 0 without any.
  [[nodiscard]] std::vector<double> typical() const {
    std::vector<double> means;
    for (std::vector<double> sorted : samples_) {
      std::sort(sorted.begin(), sorted.end());
      const auto share = [&](double part) {
        return static_cast<std::ptrdiff_t>(part * static_cast<double>(sorted.size()));
      };
      const auto begin = sorted.begin() + share(rules_.shortest);
      const auto end = std::max(begin + (sorted.empty() ? 0 : 1), sorted.end() - share(rules_.longest));
      means.push_back(sorted.empty() ? 0 : std::accumulate(begin, end, 0.0) / static_cast<double>(end - begin));
    }
    return means;
  }

  /// The way to take; none if it is not clear yet and there are samples left to take. `seconds`: by way what all ranks
  /// agree on, such as the sums of what is typical for each of them.
  [[nodiscard]] std::optional<std::size_t> decide(std::span<const double> seconds) {
    const bool is_clear = std::abs(seconds[0] - seconds[1 % seconds.size()]) > rules_.clear * seconds[0];
    if (std::exchange(goal_, rules_.samples) < rules_.samples && !is_clear) return std::nullopt;
    const auto best = std::ranges::min_element(seconds);
    const bool is_gain = *best < (1 - rules_.least_gain) * seconds[0];
    return is_gain ? static_cast<std::size_t>(best - seconds.begin()) : 0;
  }

 private:
  [[nodiscard]] std::int64_t first_of(std::int64_t round) const {
    const auto ways = static_cast<std::int64_t>(samples_.size());
    if (seed_) return static_cast<std::int64_t>(mix(*seed_ ^ mix(static_cast<std::uint64_t>(round))) % samples_.size());
    std::int64_t digits = 0;
    for (; ways > 1 && round > 0; round /= ways) digits += round % ways;
    return digits;
  }

  TrialRules rules_;
  std::int64_t goal_;
  std::optional<std::uint64_t> seed_;
  std::int64_t next_ = 0;
  std::vector<std::vector<double>> samples_;  // by way
  std::vector<bool> in_;
};

}  // namespace laneway
