#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <utility>

#include "algorithms/collective/rules/rules.hpp"

// A. Bienz and others: all-to-all for many-core nodes, Algorithms 3 to 5: at most four hops, of which some stay at one
// rank. A collector has the blocks of its sources for all other regions. It sends what each region gets to one of that
// region's collectors, the entry, which hands it on to those of the destinations. Regions may differ in size: the entry
// is found modulo the number of collectors. The exchanges inside, each an all-to-all there, are nonblocking or
// pairwise.

namespace laneway::dense::alltoall_relayed {

namespace {

class Ways {
 public:
  /// `regions`: between which data crosses; `groups`: whose first ranks collect; null: each rank collects for itself.
  Ways(const Layout& regions, const Layout* groups, Rank rank)
      : regions_(regions), groups_(groups), rank_(rank), home_(regions.region(rank)) {
    collectors_.resize(static_cast<std::size_t>(regions.regions()));
    number_.assign(static_cast<std::size_t>(regions.ranks()), -1);
    for (Rank region = 0; region < regions.regions(); ++region)
      for (const Rank member : regions.members(region)) {
        if (groups != nullptr && groups->index(member) != 0) continue;
        std::vector<Rank>& here = collectors_[static_cast<std::size_t>(region)];
        number_[static_cast<std::size_t>(member)] = static_cast<Rank>(here.size());
        here.push_back(member);
      }
  }

  [[nodiscard]] const Layout& regions() const { return regions_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank home() const { return home_; }
  [[nodiscard]] bool gathers() const { return groups_ != nullptr; }
  [[nodiscard]] auto neighbours() const { return regions_.members(home_); }
  [[nodiscard]] std::span<const Rank> collectors() const { return collectors_[static_cast<std::size_t>(home_)]; }
  [[nodiscard]] bool collects() const { return number_[static_cast<std::size_t>(rank_)] >= 0; }
  [[nodiscard]] Rank collector() const { return gathers() ? groups_->leader(groups_->region(rank_)) : rank_; }
  [[nodiscard]] std::vector<Rank> sources(Rank collector) const {
    if (!gathers()) return {collector};
    const auto members = groups_->members(groups_->region(collector));
    return {members.begin(), members.end()};
  }
  [[nodiscard]] Rank entry(Rank collector, Rank region) const {
    const std::vector<Rank>& there = collectors_[static_cast<std::size_t>(region)];
    return there[static_cast<std::size_t>(number_[static_cast<std::size_t>(collector)]) % there.size()];
  }

  /// Calls f(region) for all others, ascending.
  template <class F>
  void for_each_region(F&& f) const {
    for (Rank region = 0; region < regions_.regions(); ++region)
      if (region != home_) f(region);
  }
  /// Calls f(collector) for those of other regions whose data for this one comes in at `entry`.
  template <class F>
  void for_each_sender(Rank entry, F&& f) const {
    for_each_region([&](Rank region) {
      for (const Rank collector : collectors_[static_cast<std::size_t>(region)])
        if (this->entry(collector, home_) == entry) f(collector);
    });
  }
  /// All whose data comes in there, in the order in which it is kept.
  [[nodiscard]] std::vector<Rank> sources_through(Rank entry) const {
    std::vector<Rank> all;
    for_each_sender(entry, [&](Rank collector) {
      const std::vector<Rank> some = sources(collector);
      all.insert(all.end(), some.begin(), some.end());
    });
    return all;
  }

 private:
  const Layout& regions_;
  const Layout* groups_;
  Rank rank_;
  Rank home_;
  std::vector<std::vector<Rank>> collectors_;  // by region
  std::vector<Rank> number_;                   // among them; -1: none
};

/// Blocks of many sources for a few destinations, one source after the other, in staging memory.
class Batch {
 public:
  Batch(PlanWriter& writer, const DenseCall& call, std::vector<Rank> sources, std::vector<Rank> destinations)
      : sources_(std::move(sources)), destinations_(std::move(destinations)) {
    begin_.reserve(sources_.size() * destinations_.size() + 1);
    begin_.push_back(0);
    for (const Rank s : sources_)
      for (const Rank d : destinations_) begin_.push_back(begin_.back() + call.bytes(s, d));
    base_ = writer.stage(begin_.back()).offset;
  }

  [[nodiscard]] const std::vector<Rank>& sources() const { return sources_; }
  /// Of source number `s`, for destinations [d, d + n).
  [[nodiscard]] Segment at(std::size_t s, std::size_t d, std::size_t n = 1) const {
    const std::size_t i = s * destinations_.size() + d;
    return {Buffer::staging, {{base_ + begin_[i], begin_[i + n] - begin_[i]}}};
  }
  [[nodiscard]] Segment row(std::size_t s) const { return at(s, 0, destinations_.size()); }
  /// Number of a destination, which is one of them.
  [[nodiscard]] std::size_t number(Rank destination) const {
    return static_cast<std::size_t>(std::ranges::find(destinations_, destination) - destinations_.begin());
  }

 private:
  std::vector<Rank> sources_;
  std::vector<Rank> destinations_;
  std::vector<std::int64_t> begin_;
  std::int64_t base_ = 0;
};

class Relay {
 public:
  Relay(PlanWriter& writer, const DenseCall& call, const Ways& ways, const DenseSettings& settings, bool in_turns)
      : writer_(writer),
        call_(call),
        ways_(ways),
        in_turns_(in_turns),
        segment_(std::max<std::int64_t>(settings.segment_bytes, 1)),
        inputs_(writer, call, ways.regions().ranks()) {}

  void write() {
    inside();
    if (ways_.regions().regions() == 1) return;
    if (ways_.gathers()) collect();
    if (ways_.collects()) {
      cross();
      hand_over();
    }
    distribute();
  }

 private:
  void inside() {
    if (!call_.in_place) writer_.move(inputs_.of(call_.rank), output(call_, call_.rank));
    exchange_blocks(writer_, call_, region_of(ways_.regions(), call_.rank), inputs_, in_turns_);
  }

  /// Sources hand their collector all that leaves the region.
  void collect() {
    const auto through = [&](std::function<void(Parts)> message, const auto& place) {
      Cutter cutter(segment_, std::move(message));
      ways_.for_each_region([&](Rank region) {
        for (const Rank d : ways_.regions().members(region)) cutter.add(place(d));
        cutter.may_end();
      });
      cutter.end();
    };
    if (!ways_.collects()) {
      const Rank collector = ways_.collector();
      through([&](Parts parts) { writer_.send(collector, std::move(parts)); }, [&](Rank d) { return inputs_.of(d); });
      return;
    }
    std::vector<Rank> outside;
    outside_number_.assign(static_cast<std::size_t>(ways_.regions().ranks()), 0);
    ways_.for_each_region([&](Rank region) {
      for (const Rank d : ways_.regions().members(region)) {
        outside_number_[static_cast<std::size_t>(d)] = outside.size();
        outside.push_back(d);
      }
    });
    std::vector<Rank> others = ways_.sources(call_.rank);
    std::erase(others, call_.rank);
    collected_.emplace(writer_, call_, others, std::move(outside));
    for (std::size_t s = 0; s < others.size(); ++s)
      through([&](Parts parts) { writer_.receive(others[s], std::move(parts)); },
              [&](Rank d) { return collected_->at(s, outside_number_[static_cast<std::size_t>(d)]); });
  }

  void cross() {
    std::vector<Rank> neighbours(ways_.neighbours().begin(), ways_.neighbours().end());
    // Without gathering, what is for this rank goes to its place at once.
    if (!ways_.gathers()) std::erase(neighbours, call_.rank);
    entered_.emplace(writer_, call_, ways_.sources_through(call_.rank), neighbours);
    const Rank n = ways_.regions().regions();
    std::vector<std::vector<std::pair<Rank, Parts>>> arriving(static_cast<std::size_t>(n));  // by region
    std::size_t s = 0;
    ways_.for_each_sender(call_.rank, [&](Rank collector) {
      Parts parts;
      for (const Rank source : ways_.sources(collector)) {
        if (ways_.gathers()) {
          append(parts, entered_->row(s++));
          continue;
        }
        const auto before = static_cast<std::size_t>(ways_.regions().index(call_.rank));
        append(parts, entered_->at(s, 0, before));
        append(parts, output(call_, source));
        append(parts, entered_->at(s++, before, neighbours.size() - before));
      }
      arriving[static_cast<std::size_t>(ways_.regions().region(collector))].emplace_back(collector, std::move(parts));
    });
    Turns turns(writer_, in_turns_);
    for (Rank i = 1; i < n; ++i) {
      for (auto& [collector, parts] : arriving[static_cast<std::size_t>((ways_.home() - i + n) % n)])
        turns.receive(collector, std::move(parts));
      const Rank region = (ways_.home() + i) % n;
      Parts parts;
      std::size_t other = 0;
      for (const Rank source : ways_.sources(call_.rank)) {
        const auto members = ways_.regions().members(region);
        for (const Rank d : members)
          append(parts, source == call_.rank ? inputs_.of(d)
                                             : collected_->at(other, outside_number_[static_cast<std::size_t>(d)]));
        if (source != call_.rank) ++other;
      }
      turns.send(ways_.entry(call_.rank, region), std::move(parts));
      turns.end_step();
    }
  }

  /// Entries hand the collectors of their region what is for their sources.
  void hand_over() {
    const std::span<const Rank> all = ways_.collectors();
    const auto n = static_cast<Rank>(all.size());
    const auto me = static_cast<Rank>(std::ranges::find(all, call_.rank) - all.begin());
    if (ways_.gathers()) {
      for (const Rank e : all)
        if (e != call_.rank) handed_.emplace_back(writer_, call_, ways_.sources_through(e), ways_.sources(call_.rank));
    }
    Turns turns(writer_, in_turns_);
    for (Rank i = 1; i < n; ++i) {
      give(turns, all[static_cast<std::size_t>((me + i) % n)]);
      const Rank from = (me - i + n) % n;
      get(turns, all[static_cast<std::size_t>(from)], static_cast<std::size_t>(from < me ? from : from - 1));
      turns.end_step();
    }
  }

  void give(Turns& turns, Rank collector) {
    Cutter cutter(segment_, [&](Parts parts) { turns.send(collector, std::move(parts)); });
    for (std::size_t s = 0; s < entered_->sources().size(); ++s) {
      for (const Rank d : ways_.sources(collector)) cutter.add(entered_->at(s, entered_->number(d)));
      cutter.may_end();
    }
    cutter.end();
  }

  /// `number`: of the entry among the others.
  void get(Turns& turns, Rank entry, std::size_t number) {
    Cutter cutter(segment_, [&](Parts parts) { turns.receive(entry, std::move(parts)); });
    const auto add = [&](const Segment& part) {
      cutter.add(part);
      cutter.may_end();
    };
    if (ways_.gathers()) {
      for (std::size_t s = 0; s < handed_[number].sources().size(); ++s) add(handed_[number].row(s));
    } else {
      for (const Rank source : ways_.sources_through(entry)) add(output(call_, source));
    }
    cutter.end();
  }

  /// Collectors hand those whose data they collect what is for them.
  void distribute() {
    if (!ways_.gathers()) return;
    std::size_t handed = 0;
    for (const Rank e : ways_.collectors()) {
      if (!ways_.collects()) {
        Cutter cutter(segment_, [&](Parts parts) { writer_.receive(ways_.collector(), std::move(parts)); });
        for (const Rank source : ways_.sources_through(e)) {
          cutter.add(output(call_, source));
          cutter.may_end();
        }
        cutter.end();
        continue;
      }
      const Batch& batch = e == call_.rank ? *entered_ : handed_[handed++];
      for (const Rank d : ways_.sources(call_.rank)) {
        const std::size_t number = batch.number(d);
        if (d == call_.rank) {
          take(batch, number);
          continue;
        }
        Cutter cutter(segment_, [&](Parts parts) { writer_.send(d, std::move(parts)); });
        for (std::size_t s = 0; s < batch.sources().size(); ++s) {
          cutter.add(batch.at(s, number));
          cutter.may_end();
        }
        cutter.end();
      }
    }
  }

  /// What is for this rank.
  void take(const Batch& batch, std::size_t number) {
    Segment from{Buffer::staging, {}};
    Segment to{Buffer::receive, {}};
    for (std::size_t s = 0; s < batch.sources().size(); ++s) {
      from.ranges.append(batch.at(s, number).ranges);
      to.ranges.append(output(call_, batch.sources()[s]).ranges);
    }
    writer_.move(from, to);
  }

  PlanWriter& writer_;
  const DenseCall& call_;
  const Ways& ways_;
  bool in_turns_;
  std::int64_t segment_;
  Inputs inputs_;
  std::vector<std::size_t> outside_number_;  // by destination: its number among those outside
  std::optional<Batch> collected_;           // of other sources, for all outside
  std::optional<Batch> entered_;             // from other regions
  std::vector<Batch> handed_;                // by entry
};

std::vector<Want> wants_of(const Ways& ways) {
  std::vector<Want> wants;
  if (ways.regions().regions() == 1 || !ways.collects()) return wants;
  const std::vector<Rank> own = ways.sources(ways.rank());
  std::vector<Rank> outside;
  ways.for_each_region([&](Rank region) {
    const auto members = ways.regions().members(region);
    outside.insert(outside.end(), members.begin(), members.end());
  });
  const std::vector<Rank> through = ways.sources_through(ways.rank());
  for (const Rank member : ways.neighbours()) {
    if (member == ways.rank()) continue;
    const bool is_own = std::ranges::find(own, member) != own.end();
    if (is_own) wants.push_back({member, true, outside});
    if (is_own || !through.empty()) wants.push_back({member, false, is_own ? outside : through});
  }
  return wants;
}

enum class Cut { no, regions, groups };

/// Calls f(Ways): `gathers`: to collectors; `cut`: what `leaders` parts of each region are.
template <bool gathers, Cut cut, class F>
void with_ways(Rank rank, const Layout& layout, const DenseSettings& settings, F&& f) {
  if (cut == Cut::no) return f(Ways(layout, gathers ? &layout : nullptr, rank));
  const Layout fine = layout.refined(settings.leaders);
  f(Ways(cut == Cut::regions ? fine : layout, gathers ? &fine : nullptr, rank));
}

template <bool gathers, Cut cut, bool in_turns>
void relay(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings) {
  with_ways<gathers, cut>(call.rank, layout, settings,
                          [&](const Ways& ways) { Relay(writer, call, ways, settings, in_turns).write(); });
}

template <bool gathers, Cut cut>
std::vector<Want> wants(Rank rank, Rank, const Layout& layout, const DenseSettings& settings) {
  std::vector<Want> result;
  with_ways<gathers, cut>(rank, layout, settings, [&](const Ways& ways) { result = wants_of(ways); });
  return result;
}

template <bool gathers, Cut cut, bool in_turns>
DenseCost cost(const Shape& s) {
  const double parts = cut == Cut::no ? 1 : std::clamp<double>(s.settings.leaders, 1, s.members);
  const double region = s.members / (cut == Cut::regions ? parts : 1);
  const double regions = s.nodes * (cut == Cut::regions ? parts : 1);
  const double sources = gathers ? s.members / parts : 1;  // of a collector
  const double collectors = region / sources;              // of a region
  const double outside = s.ranks - region;
  const double away = outside * s.bytes;  // of a rank
  const auto waits = [](double others) { return in_turns ? others : 1; };
  DenseCost all = inside(s, waits(region - 1), region - 1, (region - 1) * s.bytes);
  if (sources > 1)
    all = add(all, inside(s, 2, 2 * (sources - 1), 2 * (sources - 1) * away, 2 * sources * away, s.ranks / sources));
  // Some of these regions may be on the own node.
  const double elsewhere = s.outside / std::max(outside, 1.0);
  all = add(all, across(s, s.nodes > 1 ? waits((regions - 1) * elsewhere) : 0, (regions - 1) * elsewhere,
                        sources * away * elsewhere, s.members / sources, sources * away));
  all = add(all, inside(s, elsewhere < 1 ? waits((regions - 1) * (1 - elsewhere)) : 0, (regions - 1) * (1 - elsewhere),
                        sources * away * (1 - elsewhere), 0, s.ranks / sources));
  if (collectors > 1)
    all = add(all, inside(s, waits(collectors - 1), collectors - 1, sources * away * (collectors - 1) / collectors,
                          sources * away, s.ranks / sources));
  return all;
}

/// With the exchanges inside nonblocking, or pairwise.
template <bool gathers, Cut cut, bool in_turns>
DenseRule row(std::string_view name, std::string_view description) {
  return DenseRule{Dense::alltoall,
                   name,
                   description,
                   cited::all_to_all,
                   relays,
                   relay<gathers, cut, in_turns>,
                   cost<gathers, cut, in_turns>,
                   wants<gathers, cut>};
}

}  // namespace

std::vector<DenseRule> rules() {
  return {
      // Algorithm 3: one leader a node, or several, each for the ranks next to it.
      row<true, Cut::no, false>("hierarchical", "one leader a node gathers, exchanges and scatters"),
      row<true, Cut::no, true>("hierarchical_pairwise", "as hierarchical, leaders exchange one after another"),
      row<true, Cut::regions, false>("multi_leader", "several leaders a node, each for the ranks next to it"),
      row<true, Cut::regions, true>("multi_leader_pairwise", "as multi_leader, leaders exchange one after another"),
      // Algorithm 4: a region is a node, or a part of it.
      row<false, Cut::no, false>("node_aware", "each rank sends each node one message, which is handed on inside"),
      row<false, Cut::no, true>("node_aware_pairwise", "as node_aware, with one partner after another in both hops"),
      row<false, Cut::regions, false>("locality_aware", "as node_aware, with several regions a node"),
      row<false, Cut::regions, true>("locality_aware_pairwise",
                                     "as locality_aware, with one partner after another in both hops"),
      // Algorithm 5.
      row<true, Cut::groups, false>("multi_leader_locality",
                                    "several leaders gather, send each node one message, and hand it on"),
      row<true, Cut::groups, true>("multi_leader_locality_pairwise",
                                   "as multi_leader_locality, leaders exchange one after another"),
  };
}

}  // namespace laneway::dense::alltoall_relayed
