#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/events.hpp"
#include "base/bytes/disjoint.hpp"
#include "cases.hpp"
#include "offline/in_process.hpp"
#include "offline/reference.hpp"
#include "offline/virtual_ranks.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/node/node_memory.hpp"
#include "runtime/executor/executor.hpp"

/// Ranks of one process that share memory, as those of a node do.
namespace laneway::cases {

/// A message through memory, as its sender or receiver has it.
inline bool is_put(const Step& step) {
  return step.raise.has_value();
}
inline bool is_take(const Step& step) {
  return step.await && !is_gate(step);
}
inline bool is_gate(const Step& step, Sign sign) {
  return laneway::is_gate(step) && step.await->sign == sign;
}
inline bool is_push(const Step& step) {
  return is_put(step) && step.kind == StepKind::move && step.to.buffer == Buffer::staging;
}
inline bool is_pulled(const Step& step) {
  return is_take(step) && step.kind == StepKind::move && step.from.buffer == Buffer::staging;
}
/// That which a put raises, or a take or gate awaits.
inline Word& word(Step& step) {
  return step.raise ? *step.raise : *step.await;
}
inline const Word& word(const Step& step) {
  return step.raise ? *step.raise : *step.await;
}
/// Of the memory that a put or take reaches.
inline Ring& ring(Step& step) {
  return is_put(step) ? step.to.ring : step.from.ring;
}
inline const Ring& ring(const Step& step) {
  return is_put(step) ? step.to.ring : step.from.ring;
}
/// Changes it, and that of a word that lies beside it.
template <class Change>
void change_ring(Step& step, Change change) {
  if (word(step).ring == ring(step)) change(word(step).ring);
  change(ring(step));
}

/// Windows and staging memory of all ranks, which each of them sees.
class SharedByAll {
 public:
  explicit SharedByAll(const std::vector<Plan>& plans) {
    for (const Plan& plan : plans) {
      windows_.emplace_back(static_cast<std::size_t>(plan.window_bytes / 8 + 1));
      staging_.emplace_back(static_cast<std::size_t>(plan.staging_bytes / 8 + 1));
    }
  }
  /// For as long as the result lives.
  std::vector<HostRegistration> pin(const Device& device) {
    std::vector<HostRegistration> pinned;
    for (auto* all : {&windows_, &staging_})
      for (std::vector<std::uint64_t>& words : *all)
        pinned.emplace_back(device, words.data(), words.size() * sizeof(std::uint64_t));
    return pinned;
  }
  std::shared_ptr<PlanMemory> seen_by(std::size_t rank) {
    auto memory = std::make_shared<NodeMemory>();
    memory->own = part(rank);
    for (std::size_t peer = 0; peer < windows_.size(); ++peer) memory->peers[static_cast<Rank>(peer)] = part(peer);
    return plan_memory(std::move(memory));
  }

 private:
  NodeMemory::Part part(std::size_t rank) {
    std::vector<std::uint64_t>& window = windows_[rank];
    return {window.size() == 1 ? nullptr : reinterpret_cast<std::byte*>(window.data()),
            reinterpret_cast<std::byte*>(staging_[rank].data())};
  }

  std::vector<std::vector<std::uint64_t>> windows_;
  std::vector<std::vector<std::uint64_t>> staging_;
};

/// Data of several exchanges, and what the oracle says about them.
struct Exchanges {
  Exchanges(Random& random, const Pattern& pattern, std::size_t count)
      : Exchanges(random, pattern, count,
                  [&](const auto& sent, auto& received) { exchange(pattern, sent, received); }) {}
  /// oracle(what is sent, what is received): does what the operation does.
  template <class Oracle>
  Exchanges(Random& random, const Pattern& pattern, std::size_t count, Oracle&& oracle)
      : before(buffers(random, pattern, &RankPattern::in)) {
    for (std::size_t k = 0; k < count; ++k) {
      send.push_back(buffers(random, pattern, &RankPattern::out));
      expected.push_back(before);
      oracle(send.back(), expected.back());
    }
  }

  std::vector<Memory> before;
  std::vector<std::vector<Memory>> send;
  std::vector<std::vector<Memory>> expected;
};

/// A rank that runs exchange after exchange with new data, at its own pace.
class VirtualRank {
 public:
  VirtualRank(std::size_t rank, const Plan& plan, std::shared_ptr<PlanMemory> memory, Transport& transport,
              const Exchanges& data, Combiners combiners = {})
      : rank_(rank), data_(data), mine_(data.send[0][rank]), received_(data.before[rank]) {
    const Buffers own{base_of(mine_), base_of(received_)};
    executor_ = std::make_unique<Executor>(std::make_shared<const Plan>(plan), own, glance_at(own, plan), transport,
                                           std::move(memory), std::move(combiners));
  }

  [[nodiscard]] bool finished() const { return !active_ && exchange_ == data_.send.size(); }

  /// Starts or advances an exchange; false if it ended with wrong bytes.
  bool act() {
    if (!active_) {
      std::ranges::copy(data_.send[exchange_][rank_].bytes, mine_.bytes.begin());
      std::ranges::copy(data_.before[rank_].bytes, received_.bytes.begin());
      executor_->start();
      active_ = true;
      return true;
    }
    if (!executor_->progress()) return true;
    active_ = false;
    std::ranges::fill(mine_.bytes, std::byte{0});
    return received_ == data_.expected[exchange_++][rank_];
  }

 private:
  std::size_t rank_;
  const Exchanges& data_;
  Memory mine_;
  Memory received_;
  std::unique_ptr<Executor> executor_;
  std::size_t exchange_ = 0;
  bool active_ = false;
};

/// Plans that use the memory of nodes.
struct Localized {
  std::vector<Plan> plans;
  std::vector<Region> nodes;  ///< by rank
};

/// What the plans' staging memory is, where their buffers are, and whether they have events.
enum class NodeUse : std::uint8_t { own_staging, shared_staging, devices, events };

/// Cuts what a rank sends, and what it receives, into up to four parts each, about which an event comes in and one goes
/// out. Some parts have no events.
inline std::vector<PlanEvent> random_events(Random& random, const RankPattern& pattern) {
  std::vector<PlanEvent> events;
  std::array<int, 2> counts{};
  const auto cut = [&](Buffer buffer, const std::vector<Edge>& edges) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    for (const Edge& edge : edges) {
      const Range all = hull(edge.ranges);
      begin = std::min(begin, all.offset);
      end = std::max(end, all.end());
    }
    std::vector<std::int64_t> cuts = {begin, end};
    for (std::int64_t n = random.between(0, 3); n > 0; --n) cuts.push_back(random.between(begin, end));
    std::ranges::sort(cuts);
    for (std::size_t i = 1; i < cuts.size(); ++i)
      for (const bool goes_out : {false, true})
        if (cuts[i - 1] < cuts[i] && random.chance(70))
          events.push_back({counts[goes_out ? 1 : 0]++, goes_out, {{buffer, {{cuts[i - 1], cuts[i] - cuts[i - 1]}}}}});
  };
  cut(Buffer::send, pattern.out);
  cut(Buffer::receive, pattern.in);
  return events;
}

/// For some seeds all carriers, for others one of the table alone, of those that bring messages one by one.
inline const Carrier* carrier_for(std::uint64_t seed) {
  std::vector<const Carrier*> choices;
  for (const Carrier& carrier : carriers())
    if (carrier.answer != nullptr) choices.push_back(&carrier);
  choices.push_back(nullptr);
  return choices[seed / 4 % choices.size()];
}

/// `only`: as LocalOptions has it.
inline Localized localize(Random& random, const Case& c, std::vector<Plan> plans, NodeUse use = NodeUse::own_staging,
                          const Carrier* only = nullptr) {
  Localized result{std::move(plans), {}};
  const auto ranks = static_cast<Rank>(result.plans.size());
  if (use == NodeUse::events)
    for (std::size_t r = 0; r < result.plans.size(); ++r)
      result.plans[r] = add_events(std::move(result.plans[r]), random_events(random, c.pattern[r]));
  const bool on_devices = use == NodeUse::devices || (use == NodeUse::events && random.chance(30));
  const Machine memory = random.chance(70) ? c.machine : random_machine(random, ranks);
  for (Rank r = 0; r < ranks; ++r) result.nodes.push_back(memory.region(0, r));
  const LocalOptions local{.only = only,
                           .mailbox_bytes = random.one_of<std::int64_t>({0, 16, 4096, 65536}),
                           .all_mailboxes_bytes = random.one_of<std::int64_t>({0, 600, 1 << 23, 1 << 23}),
                           .doubled_staging_bytes = random.one_of<std::int64_t>({0, 64, 65536}),
                           .shares_staging = use == NodeUse::shared_staging,
                           .leaves_node = only != nullptr ? only->name == "rma" : random.chance(30),
                           .slots = random.one_of<std::int64_t>({2, 4, 4, Ring::most_places}),
                           .slots_bytes = random.one_of<std::int64_t>({0, 0, 512, 65536})};
  std::vector<LocalOptions> all(result.plans.size(), local);
  if (on_devices)
    for (std::size_t r = 0; r < all.size(); ++r) {
      all[r].receive_on_device = random.chance(70);
      all[r].lends = all[r].borrows = random.chance(80) ? 1 : 0;
      all[r].lend_bytes = random.one_of<std::int64_t>({0, 0, 16});
      all[r].send_on_device = all[r].lends == 0;
      if (all[r].send_on_device)
        result.plans[r] = fetch_sent(std::move(result.plans[r]), {true, all[r].receive_on_device}, Buffer::staging);
    }
  result.plans = localize_virtual_ranks(std::move(result.plans), result.nodes, all);
  if (on_devices)
    for (std::size_t r = 0; r < all.size(); ++r)
      result.plans[r] = laneway::through_host(std::move(result.plans[r]), {true, all[r].receive_on_device});
  return result;
}

inline Localized localize(Random& random, const Case& c, const Candidate& candidate, NodeUse use = NodeUse::own_staging,
                          const Carrier* only = nullptr) {
  PlanOptions options = c.options;
  options.deduplicate = candidate.deduplicate;
  options.packs = false;
  return localize(random, c, plan_virtual_ranks(c.pattern, c.machine, *candidate.strategy, options).plans, use, only);
}

/// Runs all exchanges, ranks at their own pace: often some of them run for a while without the others. Says what is
/// wrong, if anything is.
inline std::string run_exchanges(Random& random, const Localized& localized, const Exchanges& data,
                                 const Combiners& combiners = {}) {
  const std::size_t ranks = localized.plans.size();
  SharedByAll shared(localized.plans);
  InProcessNetwork network;
  std::vector<VirtualRank> all;
  all.reserve(ranks);
  std::vector<std::size_t> busy;
  for (std::size_t r = 0; r < ranks; ++r) {
    all.emplace_back(r, localized.plans[r], shared.seen_by(r), *network.transport(static_cast<Rank>(r)), data,
                     combiners);
    busy.push_back(r);
  }
  std::vector<std::size_t> awake = busy;
  for (int turn = 0; !busy.empty() && turn < 20000; ++turn) {
    if (random.chance(2)) {
      awake = busy;
      if (random.chance(70)) std::erase_if(awake, [&](std::size_t) { return random.chance(50); });
    }
    const std::size_t r = random.pick(awake.empty() ? busy : awake);
    for (std::int64_t n = random.one_of<std::int64_t>({1, 1, 1, 20}); n > 0 && !all[r].finished(); --n)
      if (!all[r].act()) return "rank " + std::to_string(r) + " has wrong bytes";
    if (all[r].finished()) {
      std::erase(busy, r);
      std::erase(awake, r);
    }
  }
  return busy.empty() ? "" : "rank " + std::to_string(busy.front()) + " is stuck";
}

}  // namespace laneway::cases
