#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "plan/verify/verify.hpp"
#include "team.hpp"
#include "virtual_node.hpp"

// Plans with events, fired by another thread than the one that runs them, in any order. What an event is about holds
// other bytes until it is fired, and again as soon as it has gone out. So a byte that moves too early, or an event that
// goes out too early, shows in the result, and in the thread sanitizer.

namespace laneway {
namespace {

constexpr auto scribble = std::byte{0xa5};

/// An event of one rank.
struct Event {
  std::size_t rank = 0;
  int number = 0;
  bool goes_out = false;
  Buffer buffer = Buffer::send;
  std::vector<Range> ranges;
};

std::vector<Event> events_of(const std::vector<Plan>& plans) {
  std::vector<Event> events;
  for (std::size_t r = 0; r < plans.size(); ++r)
    for (const Step& step : plans[r].steps) {
      if (step.kind != StepKind::event) continue;
      Event event{r, step.event, step.goes_out, step.span.buffer, {}};
      step.span.for_each_part([&](Buffer buffer, const RangeList& ranges) {
        event.buffer = buffer;
        ranges.for_each([&](Range range) { event.ranges.push_back(range); });
      });
      events.push_back(std::move(event));
    }
  return events;
}

/// The ranks of one process, and a thread beside it that fires their events and sees them go out.
class Ranks {
 public:
  Ranks(const cases::Localized& localized, const Pattern& pattern, const cases::Exchanges& data)
      : data_(data),
        shared_(localized.plans),
        events_(events_of(localized.plans)),
        send_(data.send[0]),
        received_(data.before),
        written_(data.before) {
    for (std::size_t r = 0; r < written_.size(); ++r) {
      std::ranges::fill(written_[r].bytes, std::byte{0});
      for (const Edge& edge : pattern[r].in)
        edge.ranges.for_each(
            [&](Range range) { std::ranges::fill(written_[r].at(range.offset, range.bytes), std::byte{1}); });
    }
    for (std::size_t r = 0; r < localized.plans.size(); ++r)
      executors_.push_back(std::make_unique<Executor>(std::make_shared<const Plan>(localized.plans[r]),
                                                      Buffers{cases::base_of(send_[r]), cases::base_of(received_[r])},
                                                      *network_.transport(static_cast<Rank>(r)), shared_.seen_by(r)));
  }

  /// Says what is wrong, if anything is.
  std::string run(std::uint64_t seed) {
    std::thread user([&] { fire_all(seed); });
    std::string fault;
    for (std::size_t k = 0; k < data_.send.size(); ++k) {
      fill(k);
      for (const auto& executor : executors_) executor->start();
      started_.store(k + 1, std::memory_order_release);
      if (fault.empty() && !complete(k)) fault = "an exchange never completes";
      if (!fault.empty()) break;
      while (fired_.load(std::memory_order_acquire) <= k) std::this_thread::yield();
      if (received_ != data_.expected[k]) fault = "exchange " + std::to_string(k) + " has wrong bytes";
      for (const Event& event : events_)
        if (event.goes_out && !executors_[event.rank]->reached(event.number)) fault = "an event has not gone out";
    }
    gives_up_.store(true, std::memory_order_release);
    user.join();
    return fault.empty() ? wrong_ : fault;
  }

  [[nodiscard]] std::size_t events() const { return events_.size(); }

 private:
  Memory& memory_of(const Event& event) { return (event.buffer == Buffer::send ? send_ : received_)[event.rank]; }

  /// What an event is about is not there yet.
  void fill(std::size_t k) {
    for (std::size_t r = 0; r < send_.size(); ++r) {
      std::ranges::copy(data_.send[k][r].bytes, send_[r].bytes.begin());
      std::ranges::copy(data_.before[r].bytes, received_[r].bytes.begin());
    }
    for (const Event& event : events_)
      if (!event.goes_out) overwrite(event);
  }

  void overwrite(const Event& event) {
    for (const Range& range : event.ranges) std::ranges::fill(memory_of(event).at(range.offset, range.bytes), scribble);
  }

  bool complete(std::size_t k) {
    std::vector<bool> done(executors_.size(), false);
    for (std::size_t turn = 0; std::ranges::count(done, false) > 0; ++turn) {
      const std::size_t r = turn % executors_.size();
      if (!done[r]) done[r] = executors_[r]->progress();
      if (r == 0) std::this_thread::yield();
      constexpr std::size_t most_turns = 200'000'000;
      if (turn > most_turns || k >= data_.send.size()) return false;
    }
    return true;
  }

  /// The bytes are there now, or may be written.
  void come(const Event& event, std::size_t k) {
    const Memory& from = event.buffer == Buffer::send ? data_.send[k][event.rank] : data_.before[event.rank];
    for (const Range& range : event.ranges) {
      const auto place = memory_of(event).at(range.offset, range.bytes);
      const auto untouched = [](std::byte byte) { return byte == scribble; };
      if (!std::ranges::all_of(place, untouched)) wrong_ = "bytes are written before their event";
      std::ranges::copy(from.at(range.offset, range.bytes), place.begin());
    }
    executors_[event.rank]->fire(event.number);
  }

  /// What has arrived is right; what has been sent may be overwritten.
  void go(const Event& event, std::size_t k) {
    if (event.buffer == Buffer::send) return overwrite(event);
    const std::size_t r = event.rank;
    for (const Range& range : event.ranges)
      for (std::int64_t byte = range.offset; byte < range.end(); ++byte)
        if (written_[r].at(byte, 1)[0] != std::byte{0} &&
            received_[r].at(byte, 1)[0] != data_.expected[k][r].at(byte, 1)[0])
          wrong_ = "an event goes out before its bytes are there";
  }

  void fire_all(std::uint64_t seed) {
    cases::Random random(seed);
    for (std::size_t k = 0; k < data_.send.size(); ++k) {
      while (started_.load(std::memory_order_acquire) <= k) {
        if (gives_up_.load(std::memory_order_acquire)) return;
        std::this_thread::yield();
      }
      std::vector<Event> open = events_;
      random.shuffle(open);
      std::ranges::stable_partition(open, [](const Event& event) { return !event.goes_out; });
      while (!open.empty() && !gives_up_.load(std::memory_order_acquire)) {
        std::erase_if(open, [&](const Event& event) {
          if (event.goes_out) {
            if (!executors_[event.rank]->reached(event.number)) return false;
            go(event, k);
            return true;
          }
          if (random.chance(50)) return false;
          come(event, k);
          if (random.chance(20)) std::this_thread::yield();
          return true;
        });
        std::this_thread::yield();
      }
      fired_.store(k + 1, std::memory_order_release);
    }
  }

  const cases::Exchanges& data_;
  cases::SharedByAll shared_;
  InProcessNetwork network_;
  std::vector<Event> events_;
  std::vector<Memory> send_;
  std::vector<Memory> received_;
  std::vector<Memory> written_;  // 1: an edge ends there
  std::vector<std::unique_ptr<Executor>> executors_;
  std::atomic<std::size_t> started_{0};
  std::atomic<std::size_t> fired_{0};
  std::atomic<bool> gives_up_{false};
  std::string wrong_;
};

/// Which the host alone cannot run.
bool is_on_devices(const Plan& plan) {
  return plan.lent_bytes + plan.shadow_bytes > 0;
}

TEST(Events, NothingMovesBeforeItsEventOrGoesOutTooEarly) {
  std::size_t events = 0;
  int run = 0;
  for (std::uint64_t seed = 1; seed <= cases::effort(80); ++seed) {
    cases::Shape shape;
    shape.most_ranks = 8;
    shape.places_may_overlap = false;
    const cases::Case c = cases::make_case(seed, shape);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized localized = cases::localize(random, c, candidate, cases::NodeUse::events);
      ASSERT_EQ(to_string(verify(localized.plans, c.pattern)), "ok") << "seed " << seed << " " << candidate.name;
      if (std::ranges::any_of(localized.plans, is_on_devices)) continue;
      const cases::Exchanges data(random, c.pattern, 3);
      Ranks ranks(localized, c.pattern, data);
      ASSERT_EQ(ranks.run(seed), "") << "seed " << seed << " " << candidate.name;
      events += ranks.events();
      ++run;
    }
  }
  EXPECT_GT(run, cases::sanitized ? 5 : 50);
  EXPECT_GT(events, static_cast<std::size_t>(run));
}

/// The test above sees plans whose steps do not wait for events, and events that do not wait for steps.
TEST(Events, TheRunFindsBrokenPlans) {
  if (cases::sanitized) GTEST_SKIP() << "SKIP: broken plans race";
  constexpr std::size_t enough = 3;
  std::array<std::size_t, 2> found{};  // events that come in, and that go out
  for (std::uint64_t seed = 1; seed <= 60 && std::ranges::min(found) < enough; ++seed) {
    const cases::Case c = cases::make_case(seed, {.most_ranks = 4, .places_may_overlap = false});
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      cases::Localized localized = cases::localize(random, c, candidate, cases::NodeUse::events);
      const std::size_t goes_out = seed % 2;
      if (found[goes_out] >= enough || std::ranges::any_of(localized.plans, is_on_devices)) continue;
      for (Plan& plan : localized.plans)
        for (Step& step : plan.steps)
          std::erase_if(step.after, [&](int before) {
            const Step& event = goes_out == 1 ? step : plan.steps[static_cast<std::size_t>(before)];
            return event.kind == StepKind::event;
          });
      const cases::Exchanges data(random, c.pattern, 3);
      found[goes_out] += !Ranks(localized, c.pattern, data).run(seed).empty();
    }
  }
  EXPECT_GE(found[0], enough);
  EXPECT_GE(found[1], enough);
}

/// One rank sends two parts to another, which waits for the second part's event before it receives there.
TEST(Events, StepsThatTouchNothingOfAnEventDoNotWait) {
  const Pattern pattern = {{{{1, {{0, 8}}}, {1, {{8, 8}}}}, {}}, {{}, {{0, {{0, 8}}}, {0, {{8, 8}}}}}};
  std::vector<Plan> plans = {plan_direct(0, pattern[0]), plan_direct(1, pattern[1])};
  plans[0] = add_events(std::move(plans[0]), std::vector<PlanEvent>{{0, false, {{Buffer::send, {{8, 8}}}}},
                                                                    {0, true, {{Buffer::send, {{0, 8}}}}}});
  plans[1] = add_events(std::move(plans[1]), std::vector<PlanEvent>{{0, true, {{Buffer::receive, {{0, 8}}}}},
                                                                    {1, true, {{Buffer::receive, {{8, 8}}}}}});
  EXPECT_EQ(to_string(verify(plans, pattern)), "ok");
  for (const Plan& plan : plans) EXPECT_EQ(plan_from_json(to_json(plan)), plan);
  InProcessNetwork network;
  Memory send{0, std::vector<std::byte>(16, std::byte{1})};
  Memory received{0, std::vector<std::byte>(16)};
  Executor sender(std::make_shared<const Plan>(plans[0]), {send.bytes.data(), nullptr}, *network.transport(0));
  Executor receiver(std::make_shared<const Plan>(plans[1]), {nullptr, received.bytes.data()}, *network.transport(1));
  for (int exchange = 1; exchange <= 3; ++exchange) {
    sender.start();
    receiver.start();
    EXPECT_FALSE(receiver.reached(0));
    for (int i = 0; i < 10; ++i) {
      EXPECT_FALSE(sender.progress());
      EXPECT_FALSE(receiver.progress());
    }
    EXPECT_TRUE(sender.reached(0));
    EXPECT_TRUE(receiver.reached(0));
    EXPECT_FALSE(receiver.reached(1));
    EXPECT_EQ(received.bytes[8], static_cast<std::byte>(exchange - 1));
    std::ranges::fill(std::span(send.bytes).last(8), static_cast<std::byte>(exchange));
    sender.fire(0);
    while (!sender.progress()) continue;
    while (!receiver.progress()) continue;
    EXPECT_TRUE(receiver.reached(1));
    EXPECT_EQ(received.bytes[15], static_cast<std::byte>(exchange));
  }
}

/// An event may be fired before the exchange that waits for it has started.
TEST(Events, CountExchanges) {
  const Pattern pattern = {{{{1, {{0, 8}}}}, {}}, {{}, {{0, {{0, 8}}}}}};
  Plan plan = add_events(plan_direct(0, pattern[0]), std::vector<PlanEvent>{{0, false, {{Buffer::send, {{0, 8}}}}}});
  InProcessNetwork network;
  std::vector<std::byte> bytes(8);
  Executor sender(std::make_shared<const Plan>(std::move(plan)), {bytes.data(), nullptr}, *network.transport(0));
  Executor receiver(std::make_shared<const Plan>(plan_direct(1, pattern[1])), {nullptr, bytes.data()},
                    *network.transport(1));
  sender.fire(0);
  sender.fire(0);
  for (int exchange = 0; exchange < 2; ++exchange) {
    sender.start();
    receiver.start();
    while (!sender.progress()) continue;
    while (!receiver.progress()) continue;
  }
  sender.start();
  receiver.start();
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(sender.progress());
  sender.fire(0);
  while (!sender.progress()) continue;
  while (!receiver.progress()) continue;
}

/// Eight threads at once, each with a block of its own; bytes that all of them name have an event that each fires
/// before its own. Each exchange has messages of random blocks. The next one starts as soon as the last event has come
/// in, while those who fired return.
TEST(Events, EightThreadsFireAtOnce) {
  constexpr int threads = 8, blocks = threads + 1, shared = threads;
  constexpr std::int64_t bytes = 16;
  cases::Random random(11);
  Team team(threads);
  constexpr int each = 100;
  for (int round = 0; round < std::max(thread_exchanges(3000) / each, 1); ++round) {
    // Messages of one to three blocks, none in two of them.
    Pattern pattern(2);
    std::vector<std::int64_t> order(blocks);
    for (std::size_t b = 0; b < order.size(); ++b) order[b] = static_cast<std::int64_t>(b);
    random.shuffle(order);
    for (std::size_t next = 0; next < order.size();) {
      RangeList named;
      for (std::int64_t n = random.between(1, 3); n > 0 && next < order.size(); --n, ++next)
        named.append(Range{order[next] * bytes, bytes});
      pattern[0].out.push_back({1, named});
      pattern[1].in.push_back({0, named});
    }
    std::vector<PlanEvent> come_in, go_out;
    for (int b = 0; b < blocks; ++b) {
      come_in.push_back({b, false, {{Buffer::send, {{b * bytes, bytes}}}}});
      go_out.push_back({b, true, {{Buffer::receive, {{b * bytes, bytes}}}}});
    }
    std::vector<std::byte> send(blocks * bytes), received(blocks * bytes);
    InProcessNetwork network;
    Executor sender(std::make_shared<const Plan>(add_events(plan_direct(0, pattern[0]), come_in)),
                    {send.data(), nullptr}, *network.transport(0));
    Executor receiver(std::make_shared<const Plan>(add_events(plan_direct(1, pattern[1]), go_out)),
                      {nullptr, received.data()}, *network.transport(1));
    const auto write = [&](std::vector<std::byte>& to, int block, int exchange) {
      std::fill_n(to.begin() + block * bytes, bytes, static_cast<std::byte>(exchange));
    };
    const auto is = [&](int block, int exchange) {
      return std::all_of(received.begin() + block * bytes, received.begin() + (block + 1) * bytes,
                         [&](std::byte byte) { return byte == static_cast<std::byte>(exchange); });
    };
    std::atomic<int> started{0}, looked{0}, wrong{0};
    const bool no_waiting = random.chance(50);
    team.begin([&](int t) {
      for (int exchange = 1; exchange <= each; ++exchange) {
        while (started.load(std::memory_order_acquire) < exchange) std::this_thread::yield();
        write(send, t, exchange);
        (void)sender.fire_once(shared);
        wrong += !sender.fire_once(t);
        if (no_waiting) continue;  // the receiver alone looks
        while (!receiver.reached(t)) std::this_thread::yield();
        wrong += !is(t, exchange);
        looked.fetch_add(1, std::memory_order_release);
      }
    });
    for (int exchange = 1; exchange <= each; ++exchange) {
      write(send, shared, exchange);
      sender.start();
      receiver.start();
      started.store(exchange, std::memory_order_release);
      for (bool sent = false, come = false; !sent || !come;) {
        sent = sent || sender.progress();
        come = come || receiver.progress();
        if (!sent || !come) std::this_thread::yield();
      }
      for (int b = 0; b < blocks; ++b) wrong += !is(b, exchange);
      while (!no_waiting && looked.load(std::memory_order_acquire) < exchange * threads) std::this_thread::yield();
    }
    team.join();
    ASSERT_EQ(wrong, 0) << "round " << round;
  }
}

/// Steps wait for sets of events. In each order of these, something can go when the last of a set has come in.
TEST(Events, LetGoWhatWaitsForNoOther) {
  const std::vector<std::vector<int>> sets = {{0, 1}, {0, 1}, {1, 2, 3}, {3}, {4}};
  constexpr int events = 6;  // nothing waits for the last one
  Plan plan;
  for (int e = 0; e < events; ++e) {
    Step event;
    event.kind = StepKind::event;
    event.event = e;
    plan.steps.push_back(event);
  }
  for (const std::vector<int>& set : sets) {
    Step step;
    step.kind = StepKind::send;
    step.after = set;
    plan.steps.push_back(step);
  }
  ExchangeEvents counted(plan);
  std::array<int, events> order{0, 1, 2, 3, 4, 5};
  do {
    counted.start();
    std::array<bool, events> come{};
    for (const int event : order) {
      EXPECT_TRUE(counted.fire_once(event));
      come[static_cast<std::size_t>(event)] = true;
      const bool completes = std::ranges::any_of(sets, [&](const std::vector<int>& set) {
        return std::ranges::find(set, event) != set.end() &&
               std::ranges::all_of(set, [&](int each) { return come[static_cast<std::size_t>(each)]; });
      });
      EXPECT_EQ(counted.lets_go(event), completes) << event;
    }
  } while (std::ranges::next_permutation(order).found);
}

}  // namespace
}  // namespace laneway
