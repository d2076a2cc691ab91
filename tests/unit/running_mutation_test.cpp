#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mutants.hpp"
#include "plan/verify/verify.hpp"
#include "plan/writer/bundles.hpp"
#include "virtual_node.hpp"

// Breaks plans as they run, with memory of nodes, shared staging memory and what is lent of devices, and shows that the
// prover in charge notices, or sometimes another one. Where other steps order what a mutant no longer does, the whole
// proof holds, and the mutant must run right.

namespace laneway {
namespace {

using cases::At;
using cases::Catches;
using cases::change_ring;
using cases::is_gate;
using cases::is_pulled;
using cases::is_push;
using cases::is_put;
using cases::is_take;
using cases::NodeUse;
using cases::Plans;
using cases::ring;
using cases::word;

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
      if (is_take(other) && other.peer == static_cast<Rank>(put.rank) && word(other).offset == word(raising).offset)
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

bool is_mailed(const Step& step) {
  return is_put(step) && step.kind == StepKind::move && step.to.buffer == Buffer::window;
}
bool is_emptied(const Step& step) {
  return is_take(step) && step.kind == StepKind::move && step.from.buffer == Buffer::window;
}
/// Says that a pull may begin; its bytes are in staging memory.
bool offers(const Step& step) {
  return step.kind == StepKind::raise && step.from == Buffer::staging;
}
bool shares_staging(const Plans& plans) {
  return std::ranges::any_of(plans, [](const Plan& plan) {
    return std::ranges::any_of(plan.steps, [](const Step& step) { return is_gate(step, Sign::ready); });
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
  return is_gate(step, Sign::ready) && step.peer == mutant.plan(at).rank;
}

using Apply = std::function<bool(Mutant&)>;  // false: nothing to break here

struct RunningMutator {
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
    return kind(step) && word(step).offset != word(one).offset &&
           (is_put(one) ? step.peer == one.peer : place.rank == at.rank);
  });
}

bool use_word_of_another(Mutant& mutant, bool (*kind)(const Step&)) {
  const auto at = mutant.find(
      [&](const Step& step, At place) { return kind(step) && other_in_window(mutant, place, kind).has_value(); });
  if (!at) return false;
  word(mutant.step(*at)).offset = word(mutant.step(*other_in_window(mutant, *at, kind))).offset;
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
Apply change_rings(Condition condition, Change spoil) {
  return change([=](const Step& step) { return is_mailed(step) && condition(ring(step)); },
                [=](Mutant& mutant, At put) {
                  change_ring(mutant.step(mutant.take_of(put)), spoil);
                  change_ring(mutant.step(put), spoil);
                });
}

const auto halve = [](Ring& ring) { ring.places /= 2; };
const auto stay = [](Ring& ring) { ring.distance = 0; };

bool use_one_place_of_staging(Mutant& mutant) {
  const auto at =
      mutant.find([&](const Step& step, At) { return (is_push(step) || is_pulled(step)) && ring(step).distance > 0; });
  if (!at) return false;
  const Rank owner = mutant.step(*at).peer;
  mutant.plans()[static_cast<std::size_t>(owner)].staging_alternate = 0;
  for (Plan& plan : mutant.plans())
    for (Step& step : plan.steps)
      if (step.peer == owner && (is_push(step) || is_pulled(step))) ring(step).distance = 0;
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

/// Says that a message has been taken.
bool is_reply(const Step& step) {
  return step.kind == StepKind::raise && step.from == Buffer::window;
}

/// A step reads what a take or push has written, and no longer waits for it.
bool read_before_the_word(Mutant& mutant) {
  const auto take = mutant.find([&](const Step& step, At at) {
    return is_take(step) && (step.to == Buffer::staging || step.kind == StepKind::await || is_emptied(step)) &&
           std::ranges::any_of(mutant.plan(at).steps,
                               [&](const Step& other) { return waits_for(other, at.step) && !is_reply(other); });
  });
  if (!take) return false;
  mutant.detach(*take);
  return true;
}

Apply gate_lag(Sign sign, std::int32_t more, std::optional<bool> puts = std::nullopt) {
  return change_at(
      [=](Mutant& mutant, const Step& step, At at) {
        return is_gate(step, sign) && (!puts || guards_puts(mutant.plan(at), at.step) == *puts);
      },
      [=](Mutant& mutant, At at) { mutant.step(at).await->lag += more; });
}

Apply drop_gate(Sign sign, std::optional<bool> puts = std::nullopt) {
  return change_at(
      [=](Mutant& mutant, const Step& step, At at) {
        return is_gate(step, sign) && (!puts || guards_puts(mutant.plan(at), at.step) == *puts);
      },
      drop);
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

/// What a sender waits for before it completes an exchange: that the one before has been taken.
bool is_credit(const Step& step) {
  return step.kind == StepKind::await && step.await->sign == Sign::flag && step.await->lag == 1;
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

std::vector<RunningMutator> words() {
  return {
      {"a raise dropped", Catches::matching, change(any_put, drop)},
      {"an await dropped", Catches::matching, change(any_take, drop)},
      {"a raise of another's word", Catches::matching, [](Mutant& m) { return use_word_of_another(m, is_put); }},
      {"an await of another's word", Catches::matching, [](Mutant& m) { return use_word_of_another(m, is_take); }},
      {"a raise to the wrong word", Catches::matching,
       change(any_put, [](Mutant& m, At at) { word(m.step(at)).offset += 8; })},
      {"an await of the wrong word", Catches::matching,
       change(any_take, [](Mutant& m, At at) { word(m.step(at)).offset -= 8; })},
      {"a raise at another rank", Catches::matching,
       change_at([](Mutant& m, const Step& step, At) { return is_put(step) && m.plans().size() > 2; },
                 use_another_peer)},
      {"a take from another rank", Catches::matching,
       change_at([](Mutant& m, const Step& step, At) { return is_take(step) && m.plans().size() > 2; },
                 use_another_peer)},
      {"crossing at the sender only", Catches::matching,
       change([](const Step& step) { return is_take(step) && ring(step).crosses; },
              [](Mutant& m, At at) { change_ring(m.step(at), [](Ring& r) { r.crosses = false; }); })},
      {"crossing at the receiver only", Catches::matching,
       change([](const Step& step) { return is_put(step) && ring(step).crosses; },
              [](Mutant& m, At at) { change_ring(m.step(at), [](Ring& r) { r.crosses = false; }); })},
      {"half the places at the sender", Catches::matching,
       change([](const Step& step) { return is_mailed(step) && ring(step).places > 2; },
              [](Mutant& m, At at) { change_ring(m.step(at), halve); })},
      {"half the places at the receiver", Catches::matching,
       change([](const Step& step) { return is_emptied(step) && ring(step).places > 2; },
              [](Mutant& m, At at) { change_ring(m.step(at), halve); })},
      {"one place at the receiver", Catches::matching,
       change([](const Step& step) { return is_emptied(step) && ring(step).distance != 0; },
              [](Mutant& m, At at) { change_ring(m.step(at), stay); })},
      {"sizes that differ", Catches::matching, change(any_put, [](Mutant& m, At at) { ++m.step(at).span.bytes; })},
      {"a put twice", Catches::matching,
       change(any_put, [](Mutant& m, At at) { m.plan(at).steps.push_back(m.step(at)); })},
      {"a gate for a word that nobody raises", Catches::matching,
       change_at(
           [](Mutant& m, const Step& step, At) { return is_gate(step, Sign::completed) && !shares_staging(m.plans()); },
           [](Mutant& m, At at) { m.step(at).await->sign = Sign::ready; })},
  };
}

std::vector<RunningMutator> orders() {
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
                for (CopyRun& run : step.runs) run.to += word(step).offset - step.span.offset;
              })},
      {"a gate for the end of this exchange", Catches::deadlock_free,
       change_at([](Mutant& m, const Step& step,
                    At at) { return is_gate(step, Sign::completed) && guards_puts(m.plan(at), at.step); },
                 [](Mutant& m, At at) { m.step(at).await->lag = 0; })},
      {"a gate for the exchange to come", Catches::deadlock_free,
       change([](const Step& step) { return is_gate(step, Sign::completed) || is_gate(step, Sign::started); },
              [](Mutant& m, At at) { m.step(at).await->lag = -1; })},
      {"puts that wait in a circle", Catches::deadlock_free, wait_in_a_circle},
  };
}

bool comes_in(const Step& step) {
  return step.kind == StepKind::event && !step.goes_out;
}
bool goes_out(const Step& step) {
  return step.kind == StepKind::event && step.goes_out;
}

/// One that waits for an event no longer does.
bool touch_too_early(Mutant& mutant) {
  const auto comes = [&](const Plan& plan, int before) {
    return comes_in(plan.steps[static_cast<std::size_t>(before)]);
  };
  const auto at = mutant.find([&](const Step& step, At place) {
    return std::ranges::any_of(step.after, [&](int before) { return comes(mutant.plan(place), before); });
  });
  if (!at) return false;
  const Plan& plan = mutant.plan(*at);
  std::erase_if(mutant.step(*at).after, [&](int before) { return comes(plan, before); });
  return true;
}

/// What goes out no longer waits for one of the steps.
bool announce_too_early(Mutant& mutant) {
  const auto at = mutant.find([](const Step& step, At) { return goes_out(step) && !step.after.empty(); });
  if (!at) return false;
  std::vector<int>& after = mutant.step(*at).after;
  after.erase(after.begin() + mutant.random().between(0, static_cast<std::int64_t>(after.size()) - 1));
  return true;
}

/// What a step that waits for nothing sends, or puts, of the send buffer.
std::optional<End> sent_at_once(const Step& step) {
  if (!step.after.empty()) return std::nullopt;
  if (step.kind == StepKind::send && !step.span.is_scattered() && step.span.buffer == Buffer::send) return step.span;
  if (!is_put(step) || step.kind != StepKind::move || step.from != Buffer::send) return std::nullopt;
  const RangeList read = read_by(step.runs);
  return End({{Buffer::send, read}}, {{0, read.bytes()}}, read.bytes());
}

/// Of bytes that some step touches and no event is about.
bool hold_more_bytes(Mutant& mutant) {
  const auto at = mutant.find([&](const Step& step, At place) {
    return comes_in(step) && step.span.buffer == Buffer::send &&
           std::ranges::any_of(mutant.plan(place).steps,
                               [](const Step& other) { return sent_at_once(other).has_value(); });
  });
  if (!at) return false;
  for (const Step& step : mutant.plan(*at).steps)
    if (std::optional<End> sent = sent_at_once(step)) {
      mutant.step(*at).span = *std::move(sent);
      return true;
    }
  return false;
}

/// An event comes in where one should go out, or the other way round.
template <class Condition>
Apply turn_round(Condition condition) {
  return change_at(
      [=](Mutant& m, const Step& step, At at) {
        return condition(step) &&
               (step.goes_out ? !step.after.empty() : std::ranges::any_of(m.plan(at).steps, [&](const Step& other) {
                 return waits_for(other, at.step);
               }));
      },
      [](Mutant& m, At at) {
        m.step(at).goes_out = !m.step(at).goes_out;
        m.step(at).event += 100;
      });
}

std::vector<RunningMutator> events() {
  return {
      {"a step that does not wait for its event", Catches::race_free, touch_too_early},
      {"an event that goes out too early", Catches::race_free, announce_too_early},
      {"an event about more bytes than wait for it", Catches::race_free, hold_more_bytes},
      {"an event that goes out where it should come in", Catches::race_free, turn_round(comes_in)},
      {"an event that comes in where it should go out", Catches::well_formed, turn_round(goes_out)},
      {"an event about the plan's own memory", Catches::well_formed,
       change(comes_in,
              [](Mutant& m, At at) {
                m.step(at).span = {Buffer::staging, 0, 8};
              })},
  };
}

std::vector<RunningMutator> places() {
  return {
      {"no gate before pushes", Catches::reuses_safely, drop_gate(Sign::completed, true)},
      {"a gate before pushes with the wrong lag", Catches::reuses_safely, gate_lag(Sign::completed, 1, true)},
      {"no gate before what is pulled", Catches::reuses_safely, drop_gate(Sign::completed, false)},
      {"a gate before what is pulled with the wrong lag", Catches::reuses_safely, gate_lag(Sign::completed, 1, false)},
      {"no gate after mailboxes", Catches::reuses_safely, drop_gate(Sign::started)},
      {"a gate after mailboxes with the wrong lag", Catches::reuses_safely, gate_lag(Sign::started, 1)},
      {"one place of staging memory less", Catches::reuses_safely, use_one_place_of_staging},
      {"half the places of a mailbox", Catches::reuses_safely,
       change_rings([](const Ring& ring) { return ring.places > 2; }, halve)},
      {"one place of a mailbox", Catches::reuses_safely,
       change_rings([](const Ring& ring) { return ring.distance != 0 && !ring.crosses; }, stay)},
      {"a mailbox that does not cross", Catches::reuses_safely,
       change_rings([](const Ring& ring) { return ring.crosses; },
                    [](Ring& ring) {
                      ring.crosses = false;
                      ring.distance = 0;
                    })},
      {"nobody says that what is lent is taken", Catches::reuses_safely, drop_reply},
      {"that is said too early", Catches::reuses_safely,
       change([](const Step& step) { return is_reply(step); }, [](Mutant& m, At at) { m.step(at).after.clear(); })},
      {"a credit of the exchange before the one before", Catches::reuses_safely,
       change(is_credit, [](Mutant& m, At at) { m.step(at).await->lag = 2; })},
      {"shared memory written before it is open", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return opens(m, step, at); },
                 [](Mutant& m, At at) { m.detach(at); })},
      {"shared memory opened with a lag", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return opens(m, step, at); },
                 [](Mutant& m, At at) { m.step(at).await->lag = 1; })},
      {"a push that does not wait until memory is open", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return is_gate(step, Sign::ready) && !opens(m, step, at); },
                 [](Mutant& m, At at) { m.detach(at); })},
      {"a push that waits until its reader is done", Catches::reuses_safely,
       change_at([](Mutant& m, const Step& step, At at) { return is_gate(step, Sign::ready) && !opens(m, step, at); },
                 [](Mutant& m, At at) {
                   m.step(at).await->sign = Sign::completed;
                   m.step(at).await->lag = 1;
                 })},
  };
}

std::vector<RunningMutator> bytes() {
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
       change([](const Step& step) { return is_emptied(step); }, [](Mutant& m, At at) { m.step(at).runs.pop_back(); })},
      {"a pull from the place of the exchange before", Catches::delivers,
       change([](const Step& step) { return is_pulled(step) && ring(step).distance > 0; },
              [](Mutant& m, At at) { ring(m.step(at)).distance = 0; })},
      {"a window too small", Catches::well_formed,
       change_at([](Mutant& m, const Step&, At at) { return m.plan(at).window_bytes > window_header_bytes; },
                 [](Mutant& m, At at) { m.plan(at).window_bytes -= cache_line; })},
      {"a word of a rank's own", Catches::well_formed,
       change(any_put, [](Mutant& m, At at) { word(m.step(at)).offset = completed_word; })},
      {"a word that is not aligned", Catches::well_formed,
       change(any_take, [](Mutant& m, At at) { word(m.step(at)).offset -= 4; })},
      {"three places", Catches::well_formed,
       change(any_put, [](Mutant& m, At at) { word(m.step(at)).ring.places = 3; })},
      {"less lent than is taken", Catches::well_formed,
       change_at([](Mutant& m, const Step&, At at) { return m.plan(at).lent_bytes > 0; },
                 [](Mutant& m, At at) { --m.plan(at).lent_bytes; })},
      {"a push outside staging memory", Catches::well_formed,
       change([](const Step& step) { return is_push(step) && !step.runs.empty(); },
              [](Mutant& m, At at) { m.step(at).runs.front().to += 1 << 20; })},
  };
}

/// Right with ranks at their own pace, where a test can run them.
std::string why_not_harmless(std::uint64_t seed, NodeUse use, cases::Localized mutant, const Pattern& pattern) {
  if (use != NodeUse::own_staging) return "";
  cases::Random random(seed);
  const cases::Exchanges data(random, pattern, 6);
  return cases::run_exchanges(random, mutant, data);
}

TEST(RunningMutation, EveryBrokenPlanIsCaughtByTheProverInCharge) {
  std::vector<RunningMutator> mutators;
  for (const auto& some : {words(), orders(), places(), bytes(), events()})
    mutators.insert(mutators.end(), some.begin(), some.end());
  ASSERT_GE(mutators.size(), 30U);
  struct Count {
    int caught = 0;
    int by_others = 0;  // alone
    int harmless = 0;
  };
  std::vector<Count> counts(mutators.size());
  const auto enough = static_cast<int>(cases::effort(120));
  constexpr std::array uses = {NodeUse::own_staging, NodeUse::shared_staging, NodeUse::devices, NodeUse::events};
  for (std::uint64_t seed = 1; seed <= cases::effort(120); ++seed) {
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
        if (!verify(mutant.plans(), c.pattern).ok) {
          ++counts[m].by_others;
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
    std::printf("%-48s %5d caught, %5d by others, %5d harmless and proven\n", mutators[m].name, counts[m].caught,
                counts[m].by_others, counts[m].harmless);
    EXPECT_LE(counts[m].by_others, counts[m].caught) << mutators[m].name;
    EXPECT_GE(counts[m].caught, cases::sanitized ? 0 : 20) << mutators[m].name;  // few plans have few mutants
    total += counts[m].caught;
  }
  std::printf("%zu kinds, %d mutants\n", mutators.size(), total);
}

}  // namespace
}  // namespace laneway
