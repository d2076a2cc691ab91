#pragma once

#include <cstddef>
#include <optional>
#include <type_traits>
#include <vector>

#include "cases.hpp"
#include "plan/verify/verify.hpp"

namespace laneway::cases {

using Plans = std::vector<Plan>;

/// The prover in charge of what a mutant breaks; `nothing` where it breaks nothing.
enum class Catches { well_formed, matching, race_free, deadlock_free, reuses_safely, delivers, nothing };

/// Whether it notices; of `nothing`, whether all is proven.
inline bool caught(Catches by, const Plans& plans, const Pattern& pattern) {
  switch (by) {
    case Catches::well_formed:
      return !well_formed(plans).ok;
    case Catches::matching:
      return !matching(plans).ok;
    case Catches::race_free:
      return !race_free(plans).ok;
    case Catches::deadlock_free:
      return !deadlock_free(plans).ok;
    case Catches::reuses_safely:
      return !reuses_safely(plans).ok;
    case Catches::delivers:
      return !delivers(plans, pattern).ok;
    case Catches::nothing:
      break;
  }
  return verify(plans, pattern).ok;
}

struct At {
  std::size_t rank = 0;
  int step = 0;
};

/// One of the steps for which `condition(step)`, or `condition(step, At)`, is true.
template <class Condition>
std::optional<At> find_step(Random& random, const Plans& plans, Condition&& condition) {
  std::vector<At> found;
  for (std::size_t r = 0; r < plans.size(); ++r)
    for (int s = 0; s < static_cast<int>(plans[r].steps.size()); ++s) {
      const Step& step = plans[r].steps[static_cast<std::size_t>(s)];
      const At at{r, s};
      if constexpr (std::is_invocable_v<Condition&, const Step&, At>) {
        if (condition(step, at)) found.push_back(at);
      } else {
        if (condition(step)) found.push_back(at);
      }
    }
  if (found.empty()) return std::nullopt;
  return random.pick(found);
}

}  // namespace laneway::cases
