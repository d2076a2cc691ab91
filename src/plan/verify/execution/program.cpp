#include "plan/verify/execution/program.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "plan/stream_event.hpp"

namespace laneway::verification {

void complain(Report& report, std::string problem) {
  report.ok = false;
  if (!is_full(report)) report.problems.push_back(std::move(problem));
}

std::string describe(const Plan& plan, int step) {
  const Step& s = plan.steps[static_cast<std::size_t>(step)];
  std::string text = "rank " + std::to_string(plan.rank) + " step " + std::to_string(step) + " (" + name(s.kind);
  if (is_copy(s)) return text + " from " + name(s.from.buffer) + " to " + name(s.to.buffer) + ")";
  if (s.kind == StepKind::event)
    return text + " " + (is_of_stream(s) ? "of the stream" : std::to_string(s.event)) + (s.goes_out ? " out)" : " in)");
  text += sends(s) ? " to " : " from ";
  text += std::to_string(s.peer);
  if (!signals(s)) return text + ", channel " + std::to_string(s.channel) + ")";
  const Word& word = s.raise ? *s.raise : *s.await;
  return text +
         (word.sign == Sign::flag ? ", word " + std::to_string(word.offset) : std::string(", ") + name(word.sign)) +
         ")";
}

std::int64_t blocks(std::span<const Plan> plans) {
  std::int64_t all = 0;
  const auto add = [&](std::int64_t more) { all = std::min(all + std::min(more, most_blocks + 1), most_blocks + 1); };
  for (const Plan& plan : plans)
    for (const Step& step : plan.steps) {
      for (const CopyRun& run : step.runs) add(run.count);
      if (!step.span.is_scattered()) continue;
      add(step.span.stream().blocks());
      for (const Segment& part : step.span.parts()) add(part.ranges.blocks());
    }
  return all;
}

namespace {

std::uint64_t pair_of(Rank from, Rank to) {
  return static_cast<std::uint64_t>(from) << 32 | static_cast<std::uint32_t>(to);
}

/// A flag in the window of a rank, as a step of an exchange uses it.
struct Flag {
  int exchange = 0;  // 0 is like the one in which the ring has come round
  Rank window = 0;
  std::int64_t offset = 0;
  int step = 0;

  [[nodiscard]] auto place() const { return std::tuple(exchange, window, offset); }
  friend auto operator<=>(const Flag&, const Flag&) = default;
};

std::string text_of(const Flag& word) {
  return "word " + std::to_string(word.offset) + " of rank " + std::to_string(word.window);
}

}  // namespace

namespace {

/// Of all that a step touches in memory that ranks share.
template <class F>
void for_each_places(const Plan& plan, const Step& step, F&& f) {
  for (const Boxed<Word>& word : {step.raise, step.await})
    if (word) f(places_of(plan, step, *word));
  if (step.kind != StepKind::move) return;
  f(source(plan, step).places);
  f(target(plan, step).places);
}

}  // namespace

Program::Program(std::span<const Plan> plans) : plans_(plans) {
  first_.reserve(plans.size() + 1);
  first_.push_back(0);
  for (const Plan& plan : plans) first_.push_back(first_.back() + static_cast<int>(plan.steps.size()));
  rank_.reserve(static_cast<std::size_t>(steps()));
  for (Rank r = 0; r < ranks(); ++r) {
    int id = first(r);
    for (const Step& step : plan(r).steps) {
      rank_.push_back(r);
      if (step.kind == StepKind::send) sends_.push_back({pair_of(r, step.peer), step.channel, id});
      if (step.kind == StepKind::receive) receives_.push_back({pair_of(step.peer, r), step.channel, id});
      shares_memory_ = shares_memory_ || signals(step);
      ++id;
    }
  }
  for (std::vector<int>* other : {&partner_, &raiser_, &awaiter_}) other->assign(static_cast<std::size_t>(steps()), -1);
  await_begin_.assign(static_cast<std::size_t>(steps()) + 1, 0);
  opening_.assign(plans.size(), -1);
  pair_messages();
  if (!shares_memory_) return;
  pair_words();
  find_awaits();
}

void Program::pair_messages() {
  std::sort(sends_.begin(), sends_.end());
  std::sort(receives_.begin(), receives_.end());
  auto send = sends_.begin();
  auto receive = receives_.begin();
  while (send != sends_.end() && receive != receives_.end()) {
    const auto channel = std::pair(send->pair, send->channel);
    const auto other = std::pair(receive->pair, receive->channel);
    if (channel < other) {
      ++send;
    } else if (other < channel) {
      ++receive;
    } else {
      partner_[static_cast<std::size_t>(send->step)] = receive->step;
      partner_[static_cast<std::size_t>(receive->step)] = send->step;
      ++send;
      ++receive;
    }
  }
}

/// In each exchange one step must raise a word and one wait for it, and these must be the same two in all.
void Program::pair_words() {
  for (Rank r = 0; r < ranks(); ++r) {
    if (plan(r).staging_alternate > 0) period_ = std::max(period_, 2);
    for (const Step& step : plan(r).steps)
      for_each_places(plan(r), step, [&](const Places& places) { period_ = std::max(period_, places.period()); });
  }
  std::vector<Flag> raised;
  std::vector<Flag> awaited;
  const auto add = [&](const Boxed<Word>& word, int id, std::vector<Flag>& flags) {
    if (!word || word->sign != Sign::flag) return;
    const Places places = places_of(plan(rank(id)), step(id), *word);
    for (int t = 0; t < period_; ++t) flags.push_back({t, places.rank(t), word->offset + places.shift(t), id});
  };
  for (int id = 0; id < steps(); ++id) {
    add(step(id).raise, id, raised);
    add(step(id).await, id, awaited);
  }
  const auto set_partner = [&](std::vector<int>& partners, int step, int other, const Flag& word) {
    int& partner = partners[static_cast<std::size_t>(step)];
    if (partner >= 0 && partner != other)
      complain(words_, describe(step) + " shares " + text_of(word) + " with " + describe(other) +
                           ", but in other exchanges words with " + describe(partner));
    partner = other;
  };
  const auto check_alone = [&](const std::vector<Flag>& words, std::size_t i, const char* what) {
    if (i + 1 < words.size() && words[i].place() == words[i + 1].place())
      complain(words_, describe(words[i + 1].step) + what + text_of(words[i]) + ", which " + describe(words[i].step) +
                           " does, too");
  };
  std::sort(raised.begin(), raised.end());
  std::sort(awaited.begin(), awaited.end());
  std::size_t r = 0;
  std::size_t a = 0;
  while (r < raised.size() || a < awaited.size()) {
    const bool no_raise = r == raised.size() || (a < awaited.size() && awaited[a].place() < raised[r].place());
    const bool no_await = a == awaited.size() || (r < raised.size() && raised[r].place() < awaited[a].place());
    if (no_raise) {
      complain(words_, describe(awaited[a].step) + " waits for " + text_of(awaited[a]) + ", which nobody raises");
    } else if (no_await) {
      complain(words_, describe(raised[r].step) + " raises " + text_of(raised[r]) + ", for which nobody waits");
    } else {
      set_partner(awaiter_, raised[r].step, awaited[a].step, raised[r]);
      set_partner(raiser_, awaited[a].step, raised[r].step, raised[r]);
    }
    if (!no_await) check_alone(awaited, a, " waits for ");
    if (!no_raise) check_alone(raised, r, " raises ");
    a += no_await ? 0 : 1;
    r += no_raise ? 0 : 1;
  }
}

void Program::find_awaits() {
  std::vector<std::vector<Rank>> takers(plans_.size());  // of each rank's staging memory
  for (int id = 0; id < steps(); ++id) {
    const Step& s = step(id);
    if (s.kind == StepKind::move && reaches_staging(s.from))
      takers[static_cast<std::size_t>(s.peer)].push_back(rank(id));
    if (s.await && s.await->sign == Sign::ready) shares_staging_ = true;
    if (opens_staging(s)) opening_[static_cast<std::size_t>(rank(id))] = id;
  }
  for (int id = 0; id < steps(); ++id) {
    const Step& s = step(id);
    if (is_gate(s))
      await(s, rank(id), takers);
    else if (s.await)
      awaits_.push_back({raiser(id), s.await->lag});
    await_begin_[static_cast<std::size_t>(id) + 1] = static_cast<int>(awaits_.size());
  }
}

void Program::await(const Step& gate, Rank rank, const std::vector<std::vector<Rank>>& takers) {
  const Word& word = *gate.await;
  if (opens_staging(gate)) {
    for (Rank taker : takers[static_cast<std::size_t>(rank)]) awaits_.push_back({completed(taker), word.lag + 1});
    return;
  }
  const Rank of = word.of_peer ? gate.peer : rank;
  const int point = word.sign == Sign::started     ? started(of)
                    : word.sign == Sign::completed ? completed(of)
                                                   : opening(of);
  awaits_.push_back({point, word.lag});
}

std::string Program::describe(int point) const {
  if (point < steps()) return verification::describe(plan(rank(point)), local(point));
  return std::string(point < steps() + ranks() ? "the start" : "the end") + " of rank " + std::to_string(rank(point));
}

}  // namespace laneway::verification
