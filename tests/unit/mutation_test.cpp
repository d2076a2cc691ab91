#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "mutants.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"
#include "plan/verify/verify.hpp"

// Breaks valid plans in every way that a bug in a strategy, in lowering or in the setup could, and shows that the
// prover in charge notices. A mutator only makes mutants that change the meaning of the plan; where a change can be
// harmless, its comment says why that is so, and the mutant must still be proven (Catches::nothing).
//
// The patterns name no receive place twice, so every byte that moves anywhere ends up in some receive buffer.

namespace laneway {
namespace {

using cases::At;
using cases::Catches;
using cases::Plans;

Step& step_at(Plans& plans, At at) {
  return plans[at.rank].steps[static_cast<std::size_t>(at.step)];
}
const Step& step_at(const Plans& plans, At at) {
  return plans[at.rank].steps[static_cast<std::size_t>(at.step)];
}

bool is_send(const Step& step) {
  return step.kind == StepKind::send;
}
bool is_receive(const Step& step) {
  return step.kind == StepKind::receive;
}
bool same_channel(const Step& a, const Step& b) {
  return a.kind == b.kind && a.peer == b.peer && a.channel == b.channel;
}

/// Removes a step; those after it no longer depend on it.
void remove(Plan& plan, int at) {
  plan.steps.erase(plan.steps.begin() + at);
  for (Step& step : plan.steps) {
    std::erase(step.after, at);
    for (int& before : step.after) before -= before > at;
  }
}

int append(Plan& plan, Step step) {
  plan.steps.push_back(std::move(step));
  return static_cast<int>(plan.steps.size()) - 1;
}

/// Whether there is a dependency path from step `a` to step `b`.
bool reaches(const Plan& plan, int a, int b) {
  std::vector<bool> from(plan.steps.size(), false);
  from[static_cast<std::size_t>(a)] = true;
  for (int s = a + 1; s <= b; ++s)
    for (int before : plan.steps[static_cast<std::size_t>(s)].after)
      if (from[static_cast<std::size_t>(before)]) from[static_cast<std::size_t>(s)] = true;
  return from[static_cast<std::size_t>(b)];
}

/// Whether `step` reads (or writes) that byte of the staging memory.
bool touches(const Step& step, bool writes, std::int64_t byte) {
  if (!is_copy(step))
    return step.span.buffer == Buffer::staging && is_receive(step) == writes && step.span.offset <= byte &&
           byte < step.span.offset + step.span.bytes;
  if ((writes ? step.to : step.from) != Buffer::staging) return false;
  for (const CopyRun& run : step.runs)
    for (std::int64_t i = 0; i < run.count; ++i) {
      const std::int64_t begin = writes ? run.to + i * run.to_stride : run.from + i * run.from_stride;
      if (begin <= byte && byte < begin + run.bytes) return true;
    }
  return false;
}

bool feeds(const Plan& plan, int writer, int reader) {
  for (std::int64_t byte = 0; byte < plan.staging_bytes; ++byte)
    if (touches(plan.steps[static_cast<std::size_t>(writer)], true, byte) &&
        touches(plan.steps[static_cast<std::size_t>(reader)], false, byte))
      return true;
  return false;
}

/// The receive that belongs to a send.
At partner(const Plans& plans, At send) {
  const Step& step = step_at(plans, send);
  int nth = 0;
  for (int s = 0; s < send.step; ++s) nth += same_channel(step_at(plans, {send.rank, s}), step);
  At at{static_cast<std::size_t>(step.peer), 0};
  for (;; ++at.step) {
    const Step& other = step_at(plans, at);
    if (is_receive(other) && other.peer == static_cast<Rank>(send.rank) && other.channel == step.channel && nth-- == 0)
      return at;
  }
}

struct Mutator {
  const char* name;
  std::function<std::optional<Catches>(cases::Random&, Plans&)> apply;  // nullopt: nothing to break here
};

std::optional<Catches> drop_copy(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, is_copy);
  if (!at) return std::nullopt;
  remove(plans[at->rank], at->step);
  return Catches::delivers;
}

std::optional<Catches> drop_message(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return !is_copy(step); });
  if (!at) return std::nullopt;
  remove(plans[at->rank], at->step);
  return Catches::matching;
}

/// Two ranges of the send buffer change places. They begin at different bytes, so they are different data.
std::optional<Catches> swap_ranges(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) {
    return is_copy(step) && step.from == Buffer::send && step.runs.size() > 1 &&
           step.runs[0].bytes == step.runs[1].bytes && step.runs[0].from != step.runs[1].from;
  });
  if (!at) return std::nullopt;
  std::vector<CopyRun>& runs = step_at(plans, *at).runs;
  std::swap(runs[0].from, runs[1].from);
  return Catches::delivers;
}

std::optional<Catches> reverse_ranges(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) {
    return is_copy(step) && step.from == Buffer::send && step.runs[0].count > 1 && step.runs[0].from_stride != 0;
  });
  if (!at) return std::nullopt;
  CopyRun& run = step_at(plans, *at).runs[0];
  run.from += (run.count - 1) * run.from_stride;
  run.from_stride = -run.from_stride;
  return Catches::delivers;
}

std::optional<Catches> swap_spans(cases::Random& random, Plans& plans) {
  auto movable = [](const Step& step) { return is_send(step) && step.span.buffer == Buffer::send; };
  const auto at = cases::find_step(random, plans, movable);
  if (!at) return std::nullopt;
  for (Step& other : plans[at->rank].steps) {
    Step& step = step_at(plans, *at);
    if (!movable(other) || other.span.bytes != step.span.bytes || other.span.offset == step.span.offset) continue;
    std::swap(other.span, step.span);
    return Catches::delivers;
  }
  return std::nullopt;
}

/// Whether a message may start before the last one on its channel: if that waits for something that it does not wait
/// for itself. Those that wait for nothing, or for the same, start in plan order.
bool loses_order(const Plan& plan) {
  for (int b = 0; b < static_cast<int>(plan.steps.size()); ++b) {
    const Step& step = plan.steps[static_cast<std::size_t>(b)];
    int a = b - 1;
    while (a >= 0 && !same_channel(plan.steps[static_cast<std::size_t>(a)], step)) --a;
    if (is_copy(step) || a < 0 || reaches(plan, a, b)) continue;
    const std::vector<int>& awaited = plan.steps[static_cast<std::size_t>(a)].after;
    if (std::any_of(awaited.begin(), awaited.end(), [&](int before) { return !reaches(plan, before, b); })) return true;
  }
  return false;
}

/// Harmless if the two steps remain ordered by other dependencies, or if one needs nothing from the other and no two
/// messages of a channel were in order because of them.
std::optional<Catches> drop_dependency(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return !step.after.empty(); });
  if (!at) return std::nullopt;
  Plan& plan = plans[at->rank];
  Step& step = step_at(plans, *at);
  const auto dropped = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(step.after.size()) - 1));
  const int before = step.after[dropped];
  step.after.erase(step.after.begin() + static_cast<std::ptrdiff_t>(dropped));
  if (reaches(plan, before, at->step)) return Catches::nothing;
  if (feeds(plan, before, at->step)) return Catches::race_free;
  return loses_order(plan) ? Catches::matching : Catches::nothing;
}

std::optional<Catches> duplicate_send(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, is_send);
  if (!at) return std::nullopt;
  append(plans[at->rank], step_at(plans, *at));
  return Catches::matching;
}

/// Both sides of a message once more, in order: the second receive writes the same memory.
std::optional<Catches> duplicate_message(cases::Random& random, Plans& plans) {
  const auto send = cases::find_step(random, plans, is_send);
  if (!send) return std::nullopt;
  const At receive = partner(plans, *send);
  append(plans[receive.rank], step_at(plans, receive));
  Step again = step_at(plans, *send);
  for (int s = 0; s < static_cast<int>(plans[send->rank].steps.size()); ++s)
    if (same_channel(step_at(plans, {send->rank, s}), again)) again.after.push_back(s);
  append(plans[send->rank], again);
  return Catches::race_free;
}

std::optional<Catches> shorten_one_side(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return !is_copy(step); });
  if (!at) return std::nullopt;
  --step_at(plans, *at).span.bytes;
  return Catches::matching;
}

std::optional<Catches> shorten_both_sides(cases::Random& random, Plans& plans) {
  const auto send = cases::find_step(random, plans, is_send);
  if (!send) return std::nullopt;
  --step_at(plans, partner(plans, *send)).span.bytes;
  --step_at(plans, *send).span.bytes;
  return Catches::delivers;
}

std::optional<Catches> shorten_copy(cases::Random& random, Plans& plans) {
  const auto at =
      cases::find_step(random, plans, [](const Step& step) { return is_copy(step) && step.runs.back().bytes > 1; });
  if (!at) return std::nullopt;
  --step_at(plans, *at).runs.back().bytes;
  return Catches::delivers;
}

std::optional<Catches> shift_send(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans,
                                   [](const Step& step) { return is_send(step) && step.span.buffer == Buffer::send; });
  if (!at) return std::nullopt;
  step_at(plans, *at).span.offset += random.chance(50) ? 1 : -1;
  return Catches::delivers;
}

/// The first (or last) byte of the message's place is then written by nobody.
std::optional<Catches> shift_receive(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, is_receive);
  if (!at) return std::nullopt;
  End& span = step_at(plans, *at).span;
  span.offset += random.chance(50) ? 1 : -1;
  const bool inside =
      span.buffer != Buffer::staging || (span.offset >= 0 && span.offset + span.bytes <= plans[at->rank].staging_bytes);
  return inside ? Catches::delivers : Catches::well_formed;
}

std::optional<Catches> shift_copy(cases::Random& random, Plans& plans) {
  const auto at =
      cases::find_step(random, plans, [](const Step& step) { return is_copy(step) && step.from == Buffer::send; });
  if (!at) return std::nullopt;
  ++step_at(plans, *at).runs.front().from;
  return Catches::delivers;
}

/// Two messages to one peer, each alone on its channel, from different places of the send buffer.
std::optional<Catches> swap_channels(cases::Random& random, Plans& plans) {
  auto movable = [](const Step& step) { return is_send(step) && step.span.buffer == Buffer::send; };
  const auto at = cases::find_step(random, plans, movable);
  if (!at) return std::nullopt;
  std::vector<Step>& steps = plans[at->rank].steps;
  auto alone = [&](const Step& step) {
    return std::count_if(steps.begin(), steps.end(), [&](const Step& s) { return same_channel(s, step); }) == 1;
  };
  for (Step& other : steps) {
    Step& step = step_at(plans, *at);
    if (!movable(other) || other.peer != step.peer || other.channel == step.channel || !alone(step) || !alone(other))
      continue;
    if (other.span.offset == step.span.offset) continue;
    std::swap(other.channel, step.channel);
    return other.span.bytes == step.span.bytes ? Catches::delivers : Catches::matching;
  }
  return std::nullopt;
}

/// Two messages of one channel change places in the plan. They are different data or of different sizes.
std::optional<Catches> reverse_messages(cases::Random& random, Plans& plans) {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const auto at = cases::find_step(
        random, plans, [](const Step& step) { return is_send(step) && step.span.buffer == Buffer::send; });
    if (!at) return std::nullopt;
    std::vector<Step>& steps = plans[at->rank].steps;
    Step& step = step_at(plans, *at);
    for (std::size_t s = static_cast<std::size_t>(at->step) + 1; s < steps.size(); ++s) {
      if (!same_channel(steps[s], step) || steps[s].span.buffer != Buffer::send) continue;
      if (steps[s].span.offset == step.span.offset) break;
      std::swap(steps[s].span, step.span);
      return steps[s].span.bytes == step.span.bytes ? Catches::delivers : Catches::matching;
    }
  }
  return std::nullopt;
}

/// A message that must wait for something, with a successor on its channel that need not.
std::optional<Catches> overtake(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans,
                                   [](const Step& step) { return is_send(step) && step.span.buffer == Buffer::send; });
  if (!at) return std::nullopt;
  Step& step = step_at(plans, *at);
  for (int before = at->step - 1; before > 0; --before) {
    Step& other = step_at(plans, {at->rank, before});
    if (!same_channel(step, other) || !other.after.empty()) continue;
    other.after = {static_cast<int>(random.between(0, before - 1))};
    step.after.clear();
    return Catches::matching;
  }
  return std::nullopt;
}

std::optional<Catches> reverse_plan(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step& step) { return !step.after.empty(); });
  if (!at) return std::nullopt;
  Plan& plan = plans[at->rank];
  std::reverse(plan.steps.begin(), plan.steps.end());
  for (Step& step : plan.steps)
    for (int& before : step.after) before = static_cast<int>(plan.steps.size()) - 1 - before;
  return Catches::well_formed;
}

/// Each of two ranks sends to the other only after it has received from it.
std::optional<Catches> wait_in_a_circle(cases::Random& random, Plans& plans) {
  const auto forth = cases::find_step(random, plans, is_send);
  if (!forth) return std::nullopt;
  const At forth_end = partner(plans, *forth);
  for (int s = forth_end.step + 1; s < static_cast<int>(plans[forth_end.rank].steps.size()); ++s) {
    const At back{forth_end.rank, s};
    if (!is_send(step_at(plans, back)) || step_at(plans, back).peer != static_cast<Rank>(forth->rank)) continue;
    const At back_end = partner(plans, back);
    if (back_end.step >= forth->step) continue;
    step_at(plans, *forth).after.push_back(back_end.step);
    step_at(plans, back).after.push_back(forth_end.step);
    return Catches::deadlock_free;
  }
  return std::nullopt;
}

std::optional<Catches> write_into_gap(cases::Random& random, Plans& plans) {
  const auto rank = static_cast<std::size_t>(random.between(0, static_cast<std::int64_t>(plans.size()) - 1));
  Step step;
  step.runs = {{0, 1000000, 1, 0, 0, 1}};
  append(plans[rank], step);
  return Catches::delivers;
}

std::optional<Catches> write_twice(cases::Random& random, Plans& plans) {
  const auto at =
      cases::find_step(random, plans, [](const Step& step) { return is_copy(step) && step.to == Buffer::receive; });
  if (!at) return std::nullopt;
  append(plans[at->rank], step_at(plans, *at));
  return Catches::race_free;
}

/// In order, so there is no race; but not the byte that the pattern asks for.
std::optional<Catches> overwrite(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(
      random, plans, [](const Step& step) { return is_receive(step) && step.span.buffer == Buffer::receive; });
  if (!at) return std::nullopt;
  Step step;
  step.runs = {{1000000, step_at(plans, *at).span.offset, 1, 0, 0, 1}};
  step.after = {at->step};
  append(plans[at->rank], step);
  return Catches::delivers;
}

std::optional<Catches> send_undefined(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, is_send);
  if (!at) return std::nullopt;
  End& span = step_at(plans, *at).span;
  span = {Buffer::staging, plans[at->rank].staging_bytes, span.bytes};
  plans[at->rank].staging_bytes += span.bytes;
  return Catches::delivers;
}

std::optional<Catches> malform(cases::Random& random, Plans& plans) {
  const auto at = cases::find_step(random, plans, [](const Step&) { return true; });
  if (!at) return std::nullopt;
  Plan& plan = plans[at->rank];
  Step& step = step_at(plans, *at);
  const bool copy = is_copy(step);
  switch (random.between(0, 9)) {
    case 0:
      step.after.push_back(at->step);
      break;
    case 1:
      step.after.push_back(static_cast<int>(plan.steps.size()));
      break;
    case 2:
      step.after.push_back(-1);
      break;
    case 3:
      plan.rank += 1;
      break;
    case 4:
      if (copy) return std::nullopt;
      step.channel = random.one_of({-1, plan_channels});
      break;
    case 5:
      if (copy) return std::nullopt;
      step.peer = random.one_of<Rank>({-1, plan.rank, static_cast<Rank>(plans.size())});
      break;
    case 6:
      if (copy) return std::nullopt;
      step.span.buffer = is_send(step) ? Buffer::receive : Buffer::send;
      break;
    case 7:
      if (copy) return std::nullopt;
      step.span = {Buffer::staging, plan.staging_bytes - step.span.bytes + 1, step.span.bytes};
      break;
    case 8:
      if (!copy) return std::nullopt;
      (random.chance(50) ? step.from : step.to) = step.from == Buffer::receive ? Buffer::send : Buffer::receive;
      if (step.from != Buffer::receive) step.to = Buffer::send;
      break;
    default:
      if (!copy) return std::nullopt;
      step.to = Buffer::staging;
      step.runs.front().to = random.one_of<std::int64_t>({-1, plan.staging_bytes});
  }
  return Catches::well_formed;
}

const std::vector<Mutator> mutators = {
    {"drop a copy", drop_copy},
    {"drop a message's side", drop_message},
    {"swap two ranges", swap_ranges},
    {"reverse ranges", reverse_ranges},
    {"swap two messages' data", swap_spans},
    {"drop a dependency", drop_dependency},
    {"duplicate a send", duplicate_send},
    {"duplicate a message", duplicate_message},
    {"shorten one side", shorten_one_side},
    {"shorten both sides", shorten_both_sides},
    {"shorten a copy", shorten_copy},
    {"shift a send", shift_send},
    {"shift a receive", shift_receive},
    {"shift a copy", shift_copy},
    {"swap channels", swap_channels},
    {"reverse messages of a channel", reverse_messages},
    {"overtake on a channel", overtake},
    {"reverse a plan", reverse_plan},
    {"wait in a circle", wait_in_a_circle},
    {"write into a gap", write_into_gap},
    {"write twice", write_twice},
    {"overwrite", overwrite},
    {"send undefined bytes", send_undefined},
    {"malform", malform},
};

/// Bytes that a lane takes along, though only those need them for whom it does not carry them, may be any.
bool spoils_nothing(std::uint64_t seed, const Plans& plans, const Pattern& pattern) {
  if (!well_formed(plans).ok || !matching(plans).ok || !deadlock_free(plans).ok) return false;
  cases::Random random(seed);
  const std::vector<Memory> send = cases::buffers(random, pattern, &RankPattern::out);
  std::vector<Memory> expected = cases::buffers(random, pattern, &RankPattern::in);
  std::vector<Memory> received = expected;
  exchange(pattern, send, expected);
  run_reference(plans, send, received, {seed, false});
  return received == expected;
}

/// A random case; sometimes one pair with so many messages that they share channels.
cases::Case base_case(std::uint64_t seed) {
  cases::Shape shape;
  shape.places_may_overlap = false;
  cases::Case c = cases::make_case(seed, shape);
  if (seed % 4 != 0 || c.pattern.size() < 2) return c;
  cases::Random random(seed);
  c.options.lowering.direct_message_bytes = 0;
  c.options.lowering.relay_message_bytes = 0;
  for (RankPattern& p : c.pattern) p = {};
  std::int64_t at = 0;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t bytes = random.between(1, 4);
    const auto other =
        static_cast<Rank>(random.chance(80) ? 1 : random.between(0, static_cast<std::int64_t>(c.pattern.size()) - 1));
    c.pattern[0].out.push_back({other, {{at, bytes}}});
    c.pattern[static_cast<std::size_t>(other)].in.push_back({0, {{at, bytes}}});
    c.pattern[1].out.push_back({0, {{at, bytes}}});
    c.pattern[0].in.push_back({1, {{at + 1000, bytes}}});
    at += bytes + random.between(0, 1);
  }
  return c;
}

TEST(Mutation, EveryBrokenPlanIsCaughtByTheProverInCharge) {
  struct Count {
    int mutants = 0;
    int caught = 0;
    int harmless = 0;
  };
  constexpr int enough = cases::sanitized ? 30 : 50;
  std::vector<Count> counts(mutators.size());
  for (std::uint64_t seed = 1; seed <= cases::effort(500); ++seed) {
    const cases::Case c = base_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      PlanOptions options = c.options;
      options.deduplicate = candidate.deduplicate;
      const Plans plans = plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans;
      cases::Random random(seed);
      for (std::size_t m = 0; m < mutators.size(); ++m) {
        Plans mutant = plans;
        const auto by = mutators[m].apply(random, mutant);
        // Provers refuse all of a kind by the same code, so sanitizers see no more in the next ones.
        if (!by || (cases::sanitized && counts[m].mutants >= enough)) continue;
        const bool good = cases::caught(*by, mutant, c.pattern);
        if (!good && *by == Catches::delivers && spoils_nothing(seed, mutant, c.pattern)) {
          ++counts[m].harmless;
          continue;
        }
        ASSERT_TRUE(good) << mutators[m].name << ", seed " << seed << ", " << candidate.name
                          << (*by == Catches::nothing
                                  ? ": harmless, but refused\n" + to_string(verify(mutant, c.pattern))
                                  : ": not caught");
        if (*by == Catches::nothing) {
          ++counts[m].harmless;
          continue;
        }
        ++counts[m].mutants;
        counts[m].caught += good;
        ASSERT_FALSE(verify(mutant, c.pattern).ok) << mutators[m].name << ", seed " << seed << ", " << candidate.name;
      }
    }
  }
  int total = 0;
  for (std::size_t m = 0; m < mutators.size(); ++m) {
    std::printf("%-32s %5d of %5d caught, %5d harmless and proven\n", mutators[m].name, counts[m].caught,
                counts[m].mutants, counts[m].harmless);
    EXPECT_GE(counts[m].mutants, enough) << mutators[m].name;
    total += counts[m].caught;
  }
  std::printf("%d mutants\n", total);
}

/// Plans without deduplication deliver, but let bytes cross more than once where edges share them.
TEST(Mutation, BytesThatCrossTwiceAreCounted) {
  int several = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    const cases::Case c = cases::make_case(seed);
    PlanOptions options = c.options;
    options.deduplicate = false;
    const Plans plans = plan_virtual_ranks(c.pattern, c.machine, *make_strategy("three_step"), options).plans;
    const Crossing crossing = crosses_once(plans, c.pattern, c.region_of);
    EXPECT_GE(crossing.bytes, crossing.minimal_bytes);
    EXPECT_EQ(crossing.report.ok, crossing.bytes == crossing.minimal_bytes) << "seed " << seed;
    several += !crossing.report.ok;
  }
  EXPECT_GE(several, 100);
}

/// Bytes that nobody asked for may be sent into unused staging memory without harm to the result; they still count.
TEST(Mutation, BytesThatCrossForNobodyAreCounted) {
  Plans plans(2);
  plans[1].rank = 1;
  plans[1].staging_bytes = 4;
  Step step;
  step.kind = StepKind::send;
  step.peer = 1;
  step.span = {Buffer::send, 0, 4};
  Step copy;
  copy.runs = {{0, 0, 4}};
  plans[0].steps = {step, copy};
  step.kind = StepKind::receive;
  step.peer = 0;
  step.span = {Buffer::staging, 0, 4};
  plans[1].steps = {step};
  Pattern pattern(2);
  pattern[0].out = {{0, {{0, 4}}}};
  pattern[0].in = {{0, {{0, 4}}}};
  EXPECT_TRUE(verify(plans, pattern).ok);
  EXPECT_TRUE(crosses_once(plans, pattern, std::vector<Rank>{0, 0}).report.ok);
  const Crossing crossing = crosses_once(plans, pattern, std::vector<Rank>{0, 1});
  EXPECT_FALSE(crossing.report.ok);
  EXPECT_EQ(crossing.bytes, 4);
  EXPECT_EQ(crossing.minimal_bytes, 0);
}

}  // namespace
}  // namespace laneway
