#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mutants.hpp"
#include "verify/verify.hpp"
#include "virtual_node.hpp"

// Breaks plans as they run, with memory of nodes, shared staging memory and what is lent of devices, and shows that the
// prover in charge notices. Where other steps order what a mutant no longer does, the whole proof must hold, and the
// mutant must run right.

namespace laneway {
namespace {

using cases::At;
using cases::Catches;
using cases::NodeUse;
using cases::Plans;

/// A place where a mutator finds something to break, in the plans that it breaks.
class Mutant {
 public:
  Mutant(cases::Random& random, Plans plans) : random_(random), plans_(std::move(plans)) {}

  Plans& plans() { return plans_; }
  Plan& plan(At at) { return plans_[at.rank]; }
  Step& step(At at) { return plans_[at.rank].steps[static_cast<std::size_t>(at.step)]; }
  cases::Random& random() { return random_; }

  template <class Condition>
  std::optional<At> find(Condition&& condition) {
    return cases::find_step(random_, plans_, condition);
  }

  /// The take that waits for what a put raises.
  At take_of(At put) {
    const Step raising = step(put);
    for (At at{static_cast<std::size_t>(raising.peer), 0};; ++at.step) {
      const Step& other = step(at);
      if (other.kind == StepKind::take && other.peer == static_cast<Rank>(put.rank) && other.flag == raising.flag)
        return at;
    }
  }

  void remove(At at) {
    plan(at).steps.erase(plan(at).steps.begin() + at.step);
    for (Step& step : plan(at).steps) {
      std::erase(step.after, at.step);
      for (int& before : step.after) before -= before > at.step;
    }
  }

  /// Nothing waits for the step any more.
  void detach(At at) {
    for (Step& step : plan(at).steps) std::erase(step.after, at.step);
  }

 private:
  cases::Random& random_;
  Plans plans_;
};

bool is_put(const Step& step) {
  return step.kind == StepKind::put;
}
bool is_take(const Step& step) {
  return step.kind == StepKind::take;
}
bool is_gate(const Step& step, std::int64_t word) {
  return step.kind == StepKind::gate && step.flag == word;
}
bool is_push(const Step& step) {
  return is_put(step) && step.to == Buffer::staging;
}
bool is_mailed(const Step& step) {
  return is_put(step) && step.to == Buffer::window && !step.runs.empty();
}
bool is_pulled(const Step& step) {
  return is_take(step) && step.from == Buffer::staging;
}
/// Says that a pull may begin; its bytes are in staging memory.
bool offers(const Step& step) {
  return is_put(step) && step.from == Buffer::staging && step.runs.empty();
}
bool shares_staging(const Plans& plans) {
  return std::ranges::any_of(plans, [](const Plan& plan) {
    return std::ranges::any_of(plan.steps, [](const Step& step) { return is_gate(step, ready_word); });
  });
}
bool waits_for(const Step& step, int before) {
  return std::ranges::count(step.after, before) > 0;
}
bool guards_puts(const Plan& plan, int gate) {
  return std::ranges::any_of(plan.steps, [&](const Step& step) { return is_push(step) && waits_for(step, gate); });
}

/// Whether the gate says that others may write this rank's staging memory.
bool opens(Mutant& mutant, const Step& step, At at) {
  return is_gate(step, ready_word) && step.peer == mutant.plan(at).rank;
}

using Apply = std::function<bool(Mutant&)>;  // false: nothing to break here

struct Mutator {
  const char* name;
  Catches by;
  Apply apply;
};

/// Changes one step for which the condition holds.
template <class Condition, class Change>
Apply change(Condition condition, Change spoil) {
  return [=](Mutant& mutant) {
    const auto at = mutant.find([&](const Step& step, At) { return condition(step); });
    if (at) spoil(mutant, *at);
    return at.has_value();
  };
}

/// The same with a condition about step and place.
template <class Condition, class Change>
Apply change_at(Condition condition, Change spoil) {
  return [=](Mutant& mutant) {
    const auto at = mutant.find([&](const Step& step, At place) { return condition(mutant, step, place); });
    if (at) spoil(mutant, *at);
    return at.has_value();
  };
}

const auto drop = [](Mutant& mutant, At at) { mutant.remove(at); };

/// A second step of the kind that uses the same window, in whichever plan.
std::optional<At> other_in_window(Mutant& mutant, At at, bool (*kind)(const Step&)) {
  const Step one = mutant.step(at);
  return mutant.find([&](const Step& step, At place) {
    return kind(step) && step.flag != one.flag && (is_put(one) ? step.peer == one.peer : place.rank == at.rank);
  });
}

bool use_word_of_another(Mutant& mutant, bool (*kind)(const Step&)) {
  const auto at = mutant.find(
      [&](const Step& step, At place) { return kind(step) && other_in_window(mutant, place, kind).has_value(); });
  if (!at) return false;
  mutant.step(*at).flag = mutant.step(*other_in_window(mutant, *at, kind)).flag;
  return true;
}

/// A mailbox moves over that of another message, whose word and bytes it then writes.
bool move_over_live_place(Mutant& mutant) {
  const auto at = mutant.find([&](const Step& step, At place) {
    return is_mailed(step) && other_in_window(mutant, place, is_mailed).has_value();
  });
  if (!at) return false;
  const Step other = mutant.step(*other_in_window(mutant, *at, is_mailed));
  Step& step = mutant.step(*at);
  const std::int64_t by = other.span.offset - step.span.offset;
  for (CopyRun& run : step.runs) run.to += by;
  return true;
}

/// Both sides of a message's ring, and of the one that crosses it.
template <class Condition, class Change>
Apply change_ring(Condition condition, Change spoil) {
  return change([=](const Step& step) { return is_mailed(step) && condition(step); },
                [=](Mutant& mutant, At put) {
                  spoil(mutant.step(mutant.take_of(put)));
                  spoil(mutant.step(put));
                });
}

bool use_one_place_of_staging(Mutant& mutant) {
  const auto at =
      mutant.find([&](const Step& step, At) { return (is_push(step) || is_pulled(step)) && step.alternate > 0; });
  if (!at) return false;
  const Rank owner = mutant.step(*at).peer;
  mutant.plans()[static_cast<std::size_t>(owner)].staging_alternate = 0;
  for (Plan& plan : mutant.plans())
    for (Step& step : plan.steps)
      if (step.peer == owner && (is_push(step) || is_pulled(step))) step.alternate = 0;
  return true;
}

/// Each of two ranks puts only after it has taken from the other.
bool wait_in_a_circle(Mutant& mutant) {
  const auto forth = mutant.find([&](const Step& step, At at) {
    return is_put(step) && std::ranges::any_of(mutant.plan(at).steps, [&](const Step& other) {
             return is_take(other) && other.peer == step.peer;
           });
  });
  if (!forth) return false;
  const At there = mutant.take_of(*forth);
  for (int s = 0; s < static_cast<int>(mutant.plan(there).steps.size()); ++s) {
    const At back{there.rank, s};
    if (!is_put(mutant.step(back)) || mutant.step(back).peer != static_cast<Rank>(forth->rank)) continue;
    const At here = mutant.take_of(back);
    if (here.step >= forth->step || there.step >= back.step) continue;
    mutant.step(*forth).after.push_back(here.step);
    mutant.step(back).after.push_back(there.step);
    return true;
  }
  return false;
}

/// A step reads what a take or push has written, and no longer waits for it.
bool read_before_the_word(Mutant& mutant) {
  const auto take = mutant.find([&](const Step& step, At at) {
    return is_take(step) && (step.to == Buffer::staging || step.from == Buffer::window) &&
           std::ranges::any_of(mutant.plan(at).steps, [&](const Step& other) { return waits_for(other, at.step); });
  });
  if (!take) return false;
  mutant.detach(*take);
  return true;
}

Apply gate_lag(std::int64_t word, std::int64_t more, std::optional<bool> puts = std::nullopt) {
  return change_at(
      [=](Mutant& mutant, const Step& step, At at) {
        return is_gate(step, word) && (!puts || guards_puts(mutant.plan(at), at.step) == *puts);
      },
      [=](Mutant& mutant, At at) { mutant.step(at).lag += more; });
}

Apply drop_gate(std::int64_t word, std::optional<bool> puts = std::nullopt) {
  return change_at(
      [=](Mutant& mutant, const Step& step, At at) {
        return is_gate(step, word) && (!puts || guards_puts(mutant.plan(at), at.step) == *puts);
      },
      drop);
}

bool is_reply(const Step& step) {
  return is_put(step) && step.from == Buffer::window;
}

/// Of what is lent; nobody says any more that it has been taken.
bool drop_reply(Mutant& mutant) {
  const auto at = mutant.find([](const Step& step, At) { return is_reply(step); });
  if (!at) return false;
  const At take = mutant.take_of(*at);
  mutant.remove(take);
  mutant.remove(*at);
  return true;
}

template <class Condition>
Apply shift(Condition condition, std::int64_t CopyRun::*side) {
  return change([=](const Step& step) { return condition(step) && !step.runs.empty(); },
                [=](Mutant& mutant, At at) { mutant.step(at).runs.front().*side += 1; });
}

const auto any_put = [](const Step& step) { return is_put(step); };
const auto any_take = [](const Step& step) { return is_take(step); };

void use_another_peer(Mutant& m, At at) {
  Step& step = m.step(at);
  const auto ranks = static_cast<Rank>(m.plans().size());
  do {
    step.peer = (step.peer + 1) % ranks;
  } while (step.peer == static_cast<Rank>(at.rank));
}

std::vector<Mutator> words() {
  return {
      {"a raise dropped", Catches::matching, change(any_put, drop)},
      {"an await dropped", Catches::matching, change(any_take, drop)},
      {"a raise of another's word", Catches::matching, [](Mutant& m) { return use_word_of_another(m, is_put); }},
      {"an await of another's word", Catches::matching, [](Mutant& m) { return use_word_of_another(m, is_take); }},
      {"a raise to the wrong word", Catches::matching, change(any_put, [](Mutant& m, At at) { m.step(at).flag += 8; })},
      {"an await of the wrong word", Catches::matching,
       change(any_take, [](Mutant& m, At at) { m.step(at).flag -= 8; })},
      {"a raise at another rank", Catches::matching,
       change_at([](Mutant& m, const Step& step, At) { return is_put(step) && m.plans().size() > 2; },
                 use_another_peer)},
      {"a take from another rank", Catches::matching,
       change_at([](Mutant& m, const Step& step, At) { return is_take(step) && m.plans().size() > 2; },
                 use_another_peer)},
      {"crossing at the sender only", Catches::matching,
       change([](const Step& step) { return is_take(step) && step.crosses; },
              [](Mutant& m, At at) { m.step(at).crosses = false; })},
      {"crossing at the receiver only", Catches::matching,
       change([](const Step& step) { return is_put(step) && step.crosses; },
              [](Mutant& m, At at) { m.step(at).crosses = false; })},
      {"half the places at the sender", Catches::matching,
       change([](const Step& step) { return is_mailed(step) && step.slots > 2; },
              [](Mutant& m, At at) { m.step(at).slots /= 2; })},
      {"half the places at the receiver", Catches::matching,
       change([](const Step& step) { return is_take(step) && step.from == Buffer::window && step.slots > 2; },
              [](Mutant& m, At at) { m.step(at).slots /= 2; })},
      {"one place at the receiver", Catches::matching,
       change([](const Step& step) { return is_take(step) && step.from == Buffer::window && step.alternate != 0; },
              [](Mutant& m, At at) { m.step(at).alternate = 0; })},
      {"sizes that differ", Catches::matching, change(any_put, [](Mutant& m, At at) { ++m.step(at).span.bytes; })},
      {"a put twice", Catches::matching,
       change(any_put, [](Mutant& m, At at) { m.plan(at).steps.push_back(m.step(at)); })},
      {"a gate for a word that nobody raises", Catches::matching,
       change_at(
           [](Mutant& m, const Step& step, At) { return is_gate(step, completed_word) && !shares_staging(m.plans()); },
           [](Mutant& m, At at) { m.step(at).flag = ready_word; })},
  };
}

std::vector<Mutator> orders() {
  return {
      {"a raise too early", Catches::race_free,
       change([](const Step& step) { return offers(step) && !step.after.empty(); },
              [](Mutant& m, At at) { m.step(at).after.clear(); })},
      {"a read before the await", Catches::race_free, read_before_the_word},
      {"a move over a live place", Catches::race_free, move_over_live_place},
      {"a push over what was pushed", Catches::race_free,
       change([](const Step& step) { return is_push(step) && !step.runs.empty(); },
              [](Mutant& m, At at) { m.step(at).runs.push_back(m.step(at).runs.front()); })},
      {"data over a word", Catches::race_free,
       change([](const Step& step) { return is_mailed(step); },
              [](Mutant& m, At at) {
                Step& step = m.step(at);
                for (CopyRun& run : step.runs) run.to += step.flag - step.span.offset;
              })},
      {"a gate for the end of this exchange", Catches::deadlock_free,
       change_at([](Mutant& m, const Step& step,
                    At at) { return is_gate(step, completed_word) && guards_puts(m.plan(at), at.step); },
                 [](Mutant& m, At at) { m.step(at).lag = 0; })},
      {"a gate for the exchange to come", Catches::deadlock_free,
       change([](const Step& step) { return is_gate(step, completed_word) || is_gate(step, started_word); },
              [](Mutant& m, At at) { m.step(at).lag = -1; })},
      {"puts that wait in a circle", Catches::deadlock_free, wait_in_a_circle},
  };
}

std::vector<Mutator> places() {
  return {
      {"no gate before pushes", Catches::reuses_safely, drop_gate(completed_word, true)},
      {"a gate before pushes with the wrong lag", Catches::reuses_safely, gate_lag(completed_word, 1, true)},
      {"no gate before what is pulled", Catches::reuses_safely, drop_gate(completed_word, false)},
      {"a gate before what is pulled with the wrong lag", Catches::reuses_safely, gate_lag(completed_word, 1, false)},
      {"no gate after mailboxes", Catches::reuses_safely, drop_gate(started_word)},
      {"a gate after mailboxes with the wrong lag", Catches::reuses_safely, gate_lag(started_word, 1)},
      {"one place of staging memory less", Catches::reuses_safely, use_one_place_of_staging},
      {"half the places of a mailbox", Catches::reuses_safely,
       change_ring([](const Step& step) { return step.slots > 2; }, [](Step& step) { step.slots /= 2; })},
      {"one place of a mailbox", Catches::reuses_safely,
       change_ring([](const Step& step) { return step.alternate != 0 && !step.crosses; },
                   [](Step& step) { step.alternate = 0; })},
      {"a mailbox that does not cross", Catches::reuses_safely,
       change_ring([](const Step& step) { return step.crosses; },
                   [](Step& step) {
                     step.crosses = false;
                     step.alternate = 0;
                   })},
      {"nobody says that what is lent is taken", Catches::reuses_safely, drop_reply},
      {"that is said too early", Catches::reuses_safely,
       change([](const Step& step) { return is_reply(step); }, [](Mutant& m, At at) { m.step(at).after.clear(); })},
      {"shared memory written before it is open", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return opens(m, step, at); },
                 [](Mutant& m, At at) { m.detach(at); })},
      {"shared memory opened with a lag", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return opens(m, step, at); },
                 [](Mutant& m, At at) { m.step(at).lag = 1; })},
      {"a push that does not wait until memory is open", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return is_gate(step, ready_word) && !opens(m, step, at); },
                 [](Mutant& m, At at) { m.detach(at); })},
      {"a push that waits until its reader is done", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return is_gate(step, ready_word) && !opens(m, step, at); },
                 [](Mutant& m, At at) {
                   m.step(at).flag = completed_word;
                   m.step(at).lag = 1;
                 })},
  };
}

std::vector<Mutator> bytes() {
  return {
      {"a put of other bytes", Catches::delivers,
       shift([](const Step& step) { return is_put(step) && step.from == Buffer::send; }, &CopyRun::from)},
      {"a take to another place", Catches::delivers,
       shift([](const Step& step) { return is_take(step) && step.to == Buffer::receive; }, &CopyRun::to)},
      {"a take of other bytes of a device", Catches::delivers,
       shift([](const Step& step) { return borrows(step); }, &CopyRun::from)},
      {"a mailbox that is not filled", Catches::delivers,
       change([](const Step& step) { return is_mailed(step); }, [](Mutant& m, At at) { m.step(at).runs.clear(); })},
      {"a mailbox that is not emptied", Catches::delivers,
       change([](const Step& step) { return is_take(step) && step.from == Buffer::window && !step.runs.empty(); },
              [](Mutant& m, At at) { m.step(at).runs.pop_back(); })},
      {"a pull from the place of the exchange before", Catches::delivers,
       change([](const Step& step) { return is_pulled(step) && !step.runs.empty() && step.alternate > 0; },
              [](Mutant& m, At at) { m.step(at).alternate = 0; })},
      {"a window too small", Catches::well_formed,
       change_at([](Mutant& m, const Step&, At at) { return m.plan(at).window_bytes > window_header_bytes; },
                 [](Mutant& m, At at) { m.plan(at).window_bytes -= cache_line; })},
      {"a word of a rank's own", Catches::well_formed,
       change(any_put, [](Mutant& m, At at) { m.step(at).flag = completed_word; })},
      {"a word that is not aligned", Catches::well_formed,
       change(any_take, [](Mutant& m, At at) { m.step(at).flag -= 4; })},
      {"three places", Catches::well_formed, change(any_put, [](Mutant& m, At at) { m.step(at).slots = 3; })},
      {"less lent than is taken", Catches::well_formed,
       change_at([](Mutant& m, const Step&, At at) { return m.plan(at).lent_bytes > 0; },
                 [](Mutant& m, At at) { --m.plan(at).lent_bytes; })},
      {"a push outside staging memory", Catches::well_formed,
       change([](const Step& step) { return is_push(step) && !step.runs.empty(); },
              [](Mutant& m, At at) { m.step(at).runs.front().to += 1 << 20; })},
  };
}

/// Proven, and, where a test can run them, right with ranks at their own pace.
std::string why_not_harmless(std::uint64_t seed, NodeUse use, cases::Localized mutant, const Pattern& pattern) {
  if (const Report report = verify(mutant.plans, pattern); !report.ok) return to_string(report);
  if (use != NodeUse::own_staging) return "";
  cases::Random random(seed);
  const cases::Exchanges data(random, pattern, 6);
  return cases::run_exchanges(random, mutant, data);
}

TEST(RunningMutation, EveryBrokenPlanIsCaughtByTheProverInCharge) {
  std::vector<Mutator> mutators;
  for (const auto& some : {words(), orders(), places(), bytes()})
    mutators.insert(mutators.end(), some.begin(), some.end());
  ASSERT_GE(mutators.size(), 30U);
  struct Count {
    int caught = 0;
    int harmless = 0;
  };
  std::vector<Count> counts(mutators.size());
  const auto enough = static_cast<int>(cases::effort(60));
  constexpr std::array uses = {NodeUse::own_staging, NodeUse::shared_staging, NodeUse::devices};
  for (std::uint64_t seed = 1; seed <= cases::effort(60); ++seed) {
    cases::Shape shape;
    shape.places_may_overlap = false;
    const cases::Case c = cases::make_case(seed, shape);
    const NodeUse use = uses[seed % uses.size()];
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized = cases::localize(random, c, candidate, use);
      for (std::size_t m = 0; m < mutators.size(); ++m) {
        if (counts[m].caught >= enough) continue;
        Mutant mutant(random, localized.plans);
        if (!mutators[m].apply(mutant)) continue;
        if (cases::caught(mutators[m].by, mutant.plans(), c.pattern)) {
          ++counts[m].caught;
          ASSERT_FALSE(verify(mutant.plans(), c.pattern).ok) << mutators[m].name;
          continue;
        }
        ++counts[m].harmless;
        EXPECT_EQ(why_not_harmless(seed, use, {mutant.plans(), localized.nodes}, c.pattern), "")
            << mutators[m].name << ", seed " << seed << ", " << candidate.name;
      }
    }
  }
  int total = 0;
  for (std::size_t m = 0; m < mutators.size(); ++m) {
    std::printf("%-48s %5d caught, %5d harmless and proven\n", mutators[m].name, counts[m].caught, counts[m].harmless);
    EXPECT_GE(counts[m].caught, cases::sanitized ? 0 : 20) << mutators[m].name;  // few plans have few mutants
    total += counts[m].caught;
  }
  std::printf("%zu kinds, %d mutants\n", mutators.size(), total);
}

}  // namespace
}  // namespace laneway
