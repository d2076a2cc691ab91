#include "operations/choose/trial.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "communicator/control/control_rounds.hpp"

namespace laneway {

std::vector<Candidate> most_promising(std::vector<Candidate> candidates, std::string_view first,
                                      const TrialRules& rules) {
  const auto expected = [&](const Candidate& candidate) {
    return candidate.name == first ? -1 : candidate.seconds.value_or(0);
  };
  std::ranges::stable_sort(candidates, {}, expected);
  candidates.resize(std::min(candidates.size(), rules.most_ways));
  const double least = candidates.size() > 1 ? expected(candidates[1]) : 0;
  if (rules.hopeless > 0)
    std::erase_if(candidates, [&](const Candidate& one) { return expected(one) > rules.hopeless * least; });
  return candidates;
}

namespace {

class Trial {
 public:
  Trial(const PrivateComm& comm, std::span<const TrialCandidate> candidates, const TrialRules& rules)
      : comm_(comm), candidates_(candidates), rules_(rules) {}

  [[nodiscard]] TrialResult run() {
    if (rules_.warms_up)
      for (const TrialCandidate& candidate : candidates_) (void)times_of(candidate, 1);
    Autotuner tuner(rules_, candidates_.size());
    time(tuner, 1, 1, rules_.out_after_first);
    const std::vector<double> once = tuner.typical();
    const double once_each = std::accumulate(once.begin(), once.end(), 1e-9);
    const auto affordable = static_cast<std::int64_t>(std::min(rules_.seconds / once_each, 1e6));
    std::int64_t rounds = std::clamp(affordable, rules_.fewest, rules_.samples);
    int in_row = exchanges_of(rules_.first_turn_seconds, once);
    if (in_row > 1) {
      tuner = Autotuner(rules_, candidates_.size());
      time(tuner, 1, in_row, rules_.out_after_sample);
    }
    if (const int more = exchanges_of(rules_.turn_seconds, tuner.typical()); more > in_row) {
      in_row = more;
      tuner.start_over();
    } else if (in_row > 1) {
      --rounds;  // the first turn is one of them
    }
    time(tuner, rounds, in_row, rules_.out_after_sample);
    const std::vector<double> seconds = tuner.typical();
    TrialResult result{candidates_[tuner.decide(seconds).value()].name};
    for (std::size_t c = 0; c < candidates_.size(); ++c) result.measured.push_back({candidates_[c].name, seconds[c]});
    return result;
  }

 private:
  /// Of the fastest, that are to take so long in a row.
  [[nodiscard]] int exchanges_of(double seconds, std::span<const double> of_each) const {
    const double least = std::max(*std::ranges::min_element(of_each), 1e-7);
    return static_cast<int>(std::clamp(seconds / least, 1.0, rules_.most_of_turn));
  }

  /// What one exchange takes in the mean: in a row, and apart from others where ranks may run ahead of them.
  struct Times {
    double in_a_row = 0;
    double apart = 0;
  };

  /// Other ranks begin at the same time.
  [[nodiscard]] Times times_of(const TrialCandidate& candidate, int exchanges) const {
    const auto seconds_in_a_row = [&](int n) {
      barrier_progressing(comm_);
      const double begin = MPI_Wtime();
      for (int i = 0; i < n; ++i) candidate.exchange();
      return MPI_Wtime() - begin;
    };
    Times times{.in_a_row = seconds_in_a_row(exchanges) / exchanges};
    if (!rules_.is_ahead) return times;
    const int meetings = (exchanges + 3) / 4;  // which take longer than what they are for
    for (int n = 0; n < meetings; ++n) times.apart += seconds_in_a_row(1) / meetings;
    return times;
  }

  /// By way. `times`: of the slowest rank, both of each. They are shares of the first way's, of which the quadratic
  /// mean counts: a way that loses much in one of them is not taken for what it gains in the other.
  [[nodiscard]] std::vector<double> seconds_of(std::span<const double> times, const Autotuner& tuner) {
    if (tuner.is_in(0)) first_ = {times[0], times[1]};
    const double scale = std::sqrt(first_.in_a_row * first_.apart / 2);
    std::vector<double> seconds;
    for (std::size_t i = 0; i < times.size(); i += 2)
      seconds.push_back(rules_.is_ahead ? scale * std::hypot(times[i] / first_.in_a_row, times[i + 1] / first_.apart)
                                        : times[i]);
    return seconds;
  }

  /// In each round all have a turn, so that what else the machine does is in all of them. `most`: see
  /// Autotuner::add_round; where it takes nobody out, ranks compare after the last round alone.
  void time(Autotuner& tuner, std::int64_t rounds, int exchanges, double most) {
    const std::size_t ways = candidates_.size();
    std::vector<double> mine;
    for (std::int64_t round = 0; round < rounds; ++round) {
      mine.resize(mine.size() + 2 * ways);
      const auto times = std::span(mine).last(2 * ways);
      for (std::size_t turn = 0; turn < ways; ++turn) {
        const std::size_t way = tuner.way_of(round * static_cast<std::int64_t>(ways) + static_cast<std::int64_t>(turn));
        if (!tuner.is_in(way)) continue;
        const auto [in_a_row, apart] = times_of(candidates_[way], exchanges);
        times[2 * way] = in_a_row;
        times[2 * way + 1] = apart;
      }
      if (most == 0 && round + 1 < rounds) continue;
      const std::vector<double> of_all = reduce_progressing(mine, MPI_DOUBLE, MPI_MAX, comm_);
      for (std::size_t begin = 0; begin < of_all.size(); begin += times.size())
        tuner.add_round(seconds_of(std::span(of_all).subspan(begin, times.size()), tuner), most);
      mine.clear();
    }
  }

  const PrivateComm& comm_;
  const std::span<const TrialCandidate> candidates_;
  const TrialRules& rules_;
  Times first_;  ///< of the first way, when it was last timed
};

}  // namespace

TrialResult try_candidates(const PrivateComm& comm, std::span<const TrialCandidate> candidates,
                           const TrialRules& rules) {
  return Trial(comm, candidates, rules).run();
}

}  // namespace laneway
