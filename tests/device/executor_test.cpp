// Executors whose buffers are on the sim device, against the oracle: every strategy, every memory path, and what
// happens when the device forgets one of the dependencies that it was told.
#include "runtime/executor/executor.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "../unit/virtual_node.hpp"
#include "offline/in_process.hpp"
#include "plan/memory_path.hpp"
#include "sim.hpp"

namespace laneway {
namespace {

class Reordering : public testing::Test {
 protected:
  void TearDown() override { configure("reorder=off,drop=0,h2d=0:0,d2h=0:0,d2d=0:0,kernel=0:0"); }
};

/// An array that is in some kind of memory.
class AnyMemory {
 public:
  AnyMemory(MemoryKind kind, const Memory& contents) : kind_(kind), host_(contents) {
    if (kind != MemoryKind::host && !contents.bytes.empty())
      memory_ = DeviceMemory(sim_device(), contents.bytes.size(), kind);
  }
  [[nodiscard]] void* base() {
    std::byte* const begin = kind_ == MemoryKind::host ? host_.bytes.data() : memory_.data();
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(begin) - static_cast<std::uintptr_t>(host_.first));
  }
  void set(const Memory& contents) {
    host_.bytes = contents.bytes;
    if (kind_ != MemoryKind::host) write(memory_.data(), host_.bytes);
  }
  [[nodiscard]] const Memory& get() {
    if (kind_ != MemoryKind::host) host_.bytes = read<std::byte>(memory_.data(), host_.bytes.size());
    return host_;
  }
  /// Both in a stream; `contents` must stay.
  void set(const Stream& stream, const Memory& contents) const {
    stream.copy(memory_.data(), contents.bytes.data(), contents.bytes.size());
  }
  void get(const Stream& stream, Memory& contents) const {
    stream.copy(contents.bytes.data(), memory_.data(), contents.bytes.size());
  }

 private:
  MemoryKind kind_;
  Memory host_;
  DeviceMemory memory_;
};

MemoryKind any_kind(cases::Random& random) {
  return random.one_of({MemoryKind::device, MemoryKind::device, MemoryKind::device, MemoryKind::host,
                        MemoryKind::managed, MemoryKind::pinned});
}

struct Kinds {
  MemoryKind send = MemoryKind::host;
  MemoryKind receive = MemoryKind::host;
};

/// As ranks of a node do, with buffers of these kinds when they make the plan.
cases::Localized localize(cases::Random& random, const cases::Case& c, const cases::Candidate& candidate,
                          const std::vector<Kinds>& kinds, MemoryPath path) {
  PlanOptions plan_options = c.options;
  plan_options.deduplicate = candidate.deduplicate;
  plan_options.packs = path == MemoryPath::device_aware;
  cases::Localized result{plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, plan_options).plans, {}};
  std::vector<LocalOptions> options;
  const LocalOptions local{.mailbox_bytes = random.one_of<std::int64_t>({0, 16, 4096, 65536}),
                           .all_mailboxes_bytes = random.one_of<std::int64_t>({0, 600, 1 << 23, 1 << 23})};
  for (std::size_t r = 0; r < kinds.size(); ++r) {
    result.nodes.push_back(c.machine.region(0, static_cast<Rank>(r)));
    if (path == MemoryPath::device_aware) continue;
    const OnDevice on_device{kinds[r].send == MemoryKind::device, kinds[r].receive == MemoryKind::device};
    const bool lends = path == MemoryPath::borrowed && on_device.send;
    if (!lends) result.plans[r] = fetch_sent(std::move(result.plans[r]), on_device, Buffer::staging);
    LocalOptions& mine = options.emplace_back(local);
    mine.send_on_device = on_device.send && !lends;
    mine.receive_on_device = on_device.receive;
    mine.lends = lends ? 1 : 0;
    mine.borrows = path == MemoryPath::borrowed ? 1 : 0;
    mine.lend_bytes = random.one_of<std::int64_t>({0, 0, 100});
  }
  if (path != MemoryPath::device_aware)
    result.plans = localize_virtual_ranks(std::move(result.plans), result.nodes, options);
  return result;
}

/// A network that takes addresses on devices.
InProcessNetwork device_aware_network() {
  return InProcessNetwork(
      [](void* to, const void* from, std::size_t bytes) { (void)sim_extension().copy_now(to, from, bytes); });
}

std::unique_ptr<Executor> make_executor(const Plan& plan, const Buffers& buffers, MemoryPath path, Transport& transport,
                                        std::shared_ptr<PlanMemory> memory = nullptr, bool in_stream = false) {
  BufferMemory where = glance_at(buffers, plan);
  where.device_aware = path == MemoryPath::device_aware;
  // Rows are a kernel's, an engine's, or some the one's and some the other's.
  constexpr std::array rows = {KernelRows{}, KernelRows{0, 24}, KernelRows{0, 1 << 30}, KernelRows{0, 0}};
  const auto rule = static_cast<std::size_t>(plan.rank);
  where.rule = {rows[rule % 4], rows[(rule + 1) % 4], rows[(rule + 2) % 4]};
  PlansByBuffers plans(std::make_shared<const Plan>(plan));
  const std::shared_ptr<const Plan> bound =
      in_stream ? plans.on(InStream{where.on_device(), where.device_aware, memory != nullptr})
                : plans.on(where.behind_host());
  return std::make_unique<Executor>(bound, buffers, where, transport, std::move(memory));
}

/// Runs exchanges; false if one ends with wrong bytes.
bool run(const cases::Localized& localized, const std::vector<Kinds>& kinds, const cases::Exchanges& data,
         MemoryPath path = MemoryPath::staged) {
  const std::size_t ranks = localized.plans.size();
  cases::SharedByAll shared(localized.plans);
  const std::vector<HostRegistration> pinned = shared.pin(sim_device());
  InProcessNetwork network = device_aware_network();
  std::vector<std::unique_ptr<AnyMemory>> send, receive;
  std::vector<std::unique_ptr<Executor>> executors;
  for (std::size_t r = 0; r < ranks; ++r) {
    send.push_back(std::make_unique<AnyMemory>(kinds[r].send, data.send[0][r]));
    receive.push_back(std::make_unique<AnyMemory>(kinds[r].receive, data.before[r]));
    // Whether its own messages begin on the device is each rank's own business.
    executors.push_back(make_executor(localized.plans[r], {send[r]->base(), receive[r]->base()},
                                      r % 4 == 3 ? MemoryPath::staged : path, *network.transport(static_cast<Rank>(r)),
                                      shared.seen_by(r)));
  }
  for (std::size_t k = 0; k < data.send.size(); ++k) {
    for (std::size_t r = 0; r < ranks; ++r) {
      send[r]->set(data.send[k][r]);
      receive[r]->set(data.before[r]);
    }
    for (const auto& executor : executors) executor->start();
    std::vector<bool> done(ranks, false);
    while (std::ranges::find(done, false) != done.end())
      for (std::size_t r = 0; r < ranks; ++r)
        if (!done[r]) done[r] = executors[r]->progress();
    for (std::size_t r = 0; r < ranks; ++r)
      if (receive[r]->get() != data.expected[k][r]) return false;
  }
  return true;
}

TEST_F(Reordering, EveryStrategyAgreesWithTheOracleWhereverBuffersAre) {
  const std::uint64_t seeds = cases::effort(60);
  int count = 0;
  std::ptrdiff_t borrowed = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    configure(seed % 2 == 0 ? "reorder=off" : "reorder=" + std::to_string(seed) + ",delay=20e-6");
    const cases::Case c = cases::make_case(seed, {.most_ranks = 6});
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const MemoryPathRow& path = memory_paths()[static_cast<std::size_t>(count) % memory_paths().size()];
      std::vector<Kinds> kinds(c.pattern.size());
      for (Kinds& rank : kinds) rank = {any_kind(random), any_kind(random)};
      const cases::Localized localized = localize(random, c, candidate, kinds, path.path);
      for (const Plan& plan : localized.plans)
        borrowed += std::ranges::count_if(plan.steps, [](const Step& step) { return borrows(step); });
      const cases::Exchanges data(random, c.pattern, 2);
      ASSERT_TRUE(run(localized, kinds, data, path.path))
          << "seed " << seed << " " << candidate.name << " " << path.name;
      // Other buffers than those that the plan was made for.
      for (Kinds& rank : kinds) rank = {any_kind(random), any_kind(random)};
      ASSERT_TRUE(run(localized, kinds, data, path.path))
          << "seed " << seed << " " << candidate.name << " " << path.name << ", rebound";
      ++count;
    }
  }
  if (!cases::sanitized) {  // which has a tenth of the cases
    EXPECT_GT(borrowed, 50);
  }
  std::printf("%d cases (pattern, machine, strategy, memory), in which %td messages are borrowed\n", count, borrowed);
}

Step flag(StepKind kind, Rank peer, std::int64_t word, std::vector<int> after) {
  Step step;
  step.kind = kind;
  step.peer = peer;
  step.span.buffer = Buffer::window;
  if (kind == StepKind::raise) {
    step.from = Buffer::window;
    step.raise = Word{Sign::flag, true, 0, word, {}};
  } else {
    step.await = Word{Sign::flag, false, 0, word, {}};
  }
  step.after = std::move(after);
  return step;
}

/// Rank 0 lends its send buffer after a copy, rank 1 takes all of it to its device.
std::vector<Plan> lending_late(std::int64_t bytes) {
  constexpr std::int64_t reply = lent_record + lent_record_bytes;
  constexpr std::int64_t may_take = window_header_bytes;
  std::vector<Plan> plans(2);
  Plan& lender = plans[0];
  lender.staging_bytes = lender.lent_bytes = bytes;
  lender.window_bytes = reply + cache_line;
  Step copy;
  copy.to = Buffer::staging;
  copy.runs = {{0, 0, bytes}};
  Step lend = flag(StepKind::raise, 1, may_take, {0});
  lend.from = Buffer::send;
  lender.steps = {std::move(copy), std::move(lend), flag(StepKind::await, 1, reply, {1})};
  Plan& borrower = plans[1];
  borrower.rank = 1;
  borrower.window_bytes = may_take + cache_line;
  Step borrow = flag(StepKind::move, 0, may_take, {});
  borrow.from = {Buffer::send, true};
  borrow.to = Buffer::receive;
  borrow.runs = {{0, 0, bytes}};
  borrower.steps = {std::move(borrow), flag(StepKind::raise, 0, reply, {0})};
  return plans;
}

TEST_F(Reordering, WhatIsLentAfterOtherStepsOnlyIsFound) {
  constexpr std::int64_t bytes = 3000;
  configure("reorder=5,delay=100e-6");
  const Pattern pattern = {{{{1, {{0, bytes}}}}, {}}, {{}, {{0, {{0, bytes}}}}}};
  cases::Random random(1);
  const cases::Exchanges data(random, pattern, 3);
  const cases::Localized localized{lending_late(bytes), {{0, {0, 1}}, {0, {0, 1}}}};
  for (const MemoryKind lent : {MemoryKind::device, MemoryKind::pinned, MemoryKind::host})
    EXPECT_TRUE(run(localized, {{lent, MemoryKind::host}, {MemoryKind::host, MemoryKind::device}}, data)) << name(lent);
}

/// Two ranks exchange blocks with each other, and each with itself. Where they borrow, they are on one node and borrow
/// one block each, and a third rank on another node sends to both what arrives last.
struct StreamCase {
  explicit StreamCase(MemoryPath path) {
    constexpr std::int64_t bytes = 5000;
    const bool borrows = path == MemoryPath::borrowed;
    for (Rank own = 0; own < 2; ++own) {
      const Rank peer = 1 - own;
      RankPattern& rank = pattern.emplace_back();
      rank.out = {{own, {{100, 50}}}, {peer, {{0, bytes}}}};
      rank.in = {{own, {{8000, 50}}}, {peer, {{0, bytes}}}};
      if (borrows) continue;
      rank.out.push_back({peer, {{bytes, 7}, {20, 4}}});
      rank.in.push_back({peer, {{bytes, 7}, {bytes + 20, 4}}});
    }
    if (borrows) {
      pattern.push_back({{{0, {{0, bytes}}}, {1, {{0, bytes}}}}, {}});
      for (std::size_t own = 0; own < 2; ++own) pattern[own].in.push_back({2, {{9000, bytes}}});
    }
    const Machine machine = Machine::parse(borrows ? "ranks:2,1" : "node:2 rank:1", static_cast<int>(pattern.size()));
    PlanOptions plan_options;
    plan_options.packs = !borrows;
    plans = plan_virtual_ranks(pattern, machine, *find_strategy("direct").make({}), plan_options).plans;
    if (!borrows) return;
    for (std::size_t r = 0; r < plans.size(); ++r) nodes.push_back(machine.region(0, static_cast<Rank>(r)));
    LocalOptions options;
    options.receive_on_device = true;
    options.lends = options.borrows = 1;
    plans = localize_virtual_ranks(std::move(plans), nodes, options);
  }

  Pattern pattern;
  std::vector<Plan> plans;
  std::vector<Region> nodes;  ///< empty: messages only
};

/// All is in streams: what is sent, the buffers before the exchange, and what is done with the result. Nothing else
/// tells the device or the host to wait. One rank has its data later than others. Each exchange may have other streams
/// than the one before, as the program orders them by events of its own. Whether all is as it must be.
bool run_in_streams(MemoryPath path, std::size_t slow, bool changes_streams = false) {
  const StreamCase c(path);
  const std::size_t ranks = c.pattern.size();
  cases::Random random(1);
  const cases::Exchanges data(random, c.pattern, 2);
  cases::SharedByAll shared(c.plans);
  const std::vector<HostRegistration> pinned = shared.pin(sim_device());
  InProcessNetwork network = device_aware_network();
  std::vector<AnyMemory> send, receive;
  std::vector<std::unique_ptr<Executor>> executors;
  std::array<std::vector<Stream>, 2> streams;
  std::vector<Event> handed_over;
  for (std::size_t r = 0; r < ranks; ++r) {
    send.emplace_back(MemoryKind::device, data.send[0][r]);
    receive.emplace_back(MemoryKind::device, data.before[r]);
    send[r].set(data.send[1][r]);
    receive[r].set(data.before[r]);
    for (std::vector<Stream>& each : streams) each.emplace_back(sim_device());
    handed_over.emplace_back(sim_device());
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    executors.push_back(make_executor(c.plans[r], {send[r].base(), receive[r].base()}, path,
                                      *network.transport(static_cast<Rank>(r)),
                                      c.nodes.empty() ? nullptr : shared.seen_by(r), true));
    executors[r]->set_stream(streams[0][r].handle());
  }
  std::vector<std::vector<Memory>> results(data.send.size(), data.before);
  for (std::size_t k = 0; k < data.send.size(); ++k) {
    const std::vector<Stream>& now = streams[changes_streams ? k % 2 : 0];
    for (std::size_t r = 0; r < ranks; ++r) {
      if (changes_streams && k > 0) {
        now[r].wait(handed_over[r]);
        executors[r]->set_stream(now[r].handle());
      }
      if (r == slow) now[r].call([](void*) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); }, nullptr);
      send[r].set(now[r], data.send[k][r]);
      receive[r].set(now[r], data.before[r]);
    }
    for (const auto& executor : executors) executor->start();
    for (bool done = false; !done;) {
      done = true;
      for (const auto& executor : executors) done = executor->progress() && done;
    }
    for (std::size_t r = 0; r < ranks; ++r) {
      receive[r].get(now[r], results[k][r]);
      send[r].set(now[r], data.send[(k + 1) % data.send.size()][r]);
      if (changes_streams) handed_over[r].record(now[r]);
    }
  }
  for (const std::vector<Stream>& each : streams)
    for (const Stream& stream : each) stream.synchronize();
  return results == data.expected;
}

TEST_F(Reordering, StreamsMayChangeBetweenExchanges) {
  for (const MemoryPath path : {MemoryPath::staged, MemoryPath::borrowed, MemoryPath::device_aware})
    for (int seed = 1; seed <= 5; ++seed) {
      configure("delay=3e-3,reorder=" + std::to_string(seed));
      EXPECT_TRUE(run_in_streams(path, static_cast<std::size_t>(seed) % 3, true)) << name(path) << ", seed " << seed;
    }
}

/// A rank in the host's memory, which waits for nothing, sends to one on a device that has another stream in each
/// exchange. The last copies of an exchange read what the messages of the next one overwrite. Whether all is as it must
/// be.
bool run_with_alternating_streams() {
  constexpr std::int64_t bytes = 5000;
  const Pattern pattern = {{{}, {{1, {{0, bytes}}}}}, {{{0, {{0, bytes}}}}, {}}};
  const Machine machine = Machine::parse("node:2 rank:1", 2);
  const std::vector<Plan> plans = plan_virtual_ranks(pattern, machine, *find_strategy("direct").make({}), {}).plans;
  cases::Random random(1);
  const cases::Exchanges data(random, pattern, 4);
  InProcessNetwork network;
  cases::VirtualRank sender(1, plans[1], nullptr, *network.transport(1), data);
  while (!sender.finished()) (void)sender.act();  // all is on its way before it is asked for
  AnyMemory received(MemoryKind::device, data.before[0]);
  const std::unique_ptr<Executor> receiver =
      make_executor(plans[0], {nullptr, received.base()}, MemoryPath::staged, *network.transport(0), nullptr, true);
  const std::array<Stream, 2> streams = {Stream(sim_device()), Stream(sim_device())};
  const Event handed_over(sim_device());
  std::vector<Memory> results(data.send.size(), data.before[0]);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Stream& now = streams[k % 2];
    if (k > 0) now.wait(handed_over);
    receiver->set_stream(now.handle());
    received.set(now, data.before[0]);
    receiver->start();
    while (!receiver->progress()) continue;
    received.get(now, results[k]);
    if (k + 1 < results.size()) handed_over.record(now);
  }
  for (const Stream& stream : streams) stream.synchronize();
  return std::ranges::equal(results, data.expected, {}, {}, [](const auto& of_ranks) { return of_ranks.front(); });
}

TEST_F(Reordering, WhatOneStreamHasLeftIsWaitedForUnderTheNext) {
  for (int seed = 1; seed <= 10; ++seed) {
    configure("delay=1e-3,reorder=" + std::to_string(seed));
    EXPECT_TRUE(run_with_alternating_streams()) << "seed " << seed;
  }
}

class StreamDependencies : public testing::TestWithParam<MemoryPath> {
 protected:
  void TearDown() override { configure("reorder=off,drop=0,delay=200e-6"); }
};

/// Each time the device keeps one dependency less: a wait of a stream or of the host for an event, or what an event was
/// recorded for. `run(attempt)` is whether all is as it must be.
template <class Run>
void expect_all_needed(Run&& run) {
  configure("reorder=off,drop=0");
  const std::uint64_t before = sim_counters().dependencies;
  ASSERT_TRUE(run(0));
  const std::uint64_t count = sim_counters().dependencies - before;
  ASSERT_GT(count, 10U);
  std::vector<std::uint64_t> unnoticed;
  for (std::uint64_t k = 1; k <= count; ++k) {
    bool noticed = false;  // whoever does not wait may be lucky, most of all on a busy machine with a fast device
    for (std::size_t attempt = 0; attempt < 180 && !noticed; ++attempt) {
      configure((attempt < 60 ? "delay=200e-6,reorder=" : "delay=2e-3,reorder=") + std::to_string(attempt) +
                ",drop=" + std::to_string(sim_counters().dependencies + k));
      noticed = !run(attempt);
    }
    if (!noticed) unnoticed.push_back(k);
  }
  EXPECT_EQ(unnoticed, std::vector<std::uint64_t>{}) << "of " << count;
}

TEST_P(StreamDependencies, AreAllNeeded) {
  expect_all_needed([](std::size_t attempt) { return run_in_streams(GetParam(), attempt % 3); });
}

TEST_F(Reordering, DependenciesOfAlternatingStreamsAreAllNeeded) {
  expect_all_needed([](std::size_t) { return run_with_alternating_streams(); });
}

INSTANTIATE_TEST_SUITE_P(Paths, StreamDependencies,
                         testing::Values(MemoryPath::staged, MemoryPath::borrowed, MemoryPath::device_aware),
                         [](const auto& given) { return std::string(name(given.param)); });

}  // namespace
}  // namespace laneway
