#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/lowering/through_host.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/planner/planner.hpp"
#include "base/bytes/ranges.hpp"
#include "base/error.hpp"
#include "machine/fabric.hpp"
#include "machine/machine.hpp"
#include "offline/reference.hpp"
#include "plan/pattern.hpp"

/// Seeded random patterns, machines and strategies: the same seed always gives the same case.
namespace laneway::cases {

/// One for each byte.
using Offsets = std::vector<std::int64_t>;
inline Offsets offsets(const RangeList& list) {
  Offsets result;
  list.for_each([&](Range range) {
    for (std::int64_t i = 0; i < range.bytes; ++i) result.push_back(range.offset + i);
  });
  return result;
}

/// The text of what `f` throws; "none" if it throws nothing.
template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

/// How many seeds a test goes through: half of `seeds`, six times as many with LANEWAY_TEST_LONG, and always a tenth of
/// `seeds` under sanitizers, which take that much longer.
inline std::uint64_t effort(std::uint64_t seeds) {
  if (sanitized) return (seeds + 9) / 10;
  return std::getenv("LANEWAY_TEST_LONG") != nullptr ? 3 * seeds : (seeds + 1) / 2;
}

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  /// Uniform in [low, high].
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(1, 100) <= percent; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[between(0, static_cast<std::int64_t>(values.size()) - 1)];
  }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  template <class T>
  void shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i)
      std::swap(values[i - 1], values[static_cast<std::size_t>(between(0, static_cast<std::int64_t>(i) - 1))]);
  }
  std::byte byte() { return static_cast<std::byte>(engine_()); }

 private:
  std::mt19937_64 engine_;
};

/// Cuts every block at random places and deals the pieces to several lanes with random members at both ends. It is no
/// sensible strategy; it shows that the setup serves any.
class RandomCuts final : public Strategy {
 public:
  explicit RandomCuts(std::uint64_t seed) : Strategy({.scales = false, .relays_inside = seed % 3 == 0}), seed_(seed) {}

  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) {
      Random random(seed_ + static_cast<std::uint64_t>(traffic.region) * 1000003 +
                    static_cast<std::uint64_t>(view.region.id));
      std::vector<Piece> pieces;
      for (const SourceBytes& source : traffic.sources) {
        std::vector<std::int64_t> cuts = {0, source.bytes};
        for (std::int64_t n = random.between(0, 3); n > 0; --n) cuts.push_back(random.between(0, source.bytes));
        std::sort(cuts.begin(), cuts.end());
        for (std::size_t i = 1; i < cuts.size(); ++i)
          if (cuts[i - 1] < cuts[i]) pieces.push_back({source.rank, cuts[i - 1], cuts[i]});
      }
      random.shuffle(pieces);
      const std::int64_t count = random.between(1, std::min<std::int64_t>(4, static_cast<std::int64_t>(pieces.size())));
      std::vector<Lane> parts;
      for (std::int64_t i = 0; i < count; ++i)
        parts.push_back({traffic.region, view.region.id, -1, random.pick(view.region.members), {}});
      for (std::size_t i = 0; i < pieces.size(); ++i) {
        const auto part = i < parts.size() ? i : static_cast<std::size_t>(random.between(0, count - 1));
        parts[part].pieces.push_back(pieces[i]);
      }
      for (Lane& lane : parts) add_some(random, view, traffic, std::move(lane), lanes);
    }
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    Random random(seed_ + 77 + static_cast<std::uint64_t>(view.region.id));
    for (Lane& lane : lanes) do {
        lane.sender = random.pick(view.region.members);
      } while (lane.sender == lane.receiver);
  }

 private:
  /// One lane, or inside a region two that share its destinations.
  static void add_some(Random& random, const RegionView& view, const Traffic& traffic, Lane lane,
                       std::vector<Lane>& lanes) {
    if (traffic.region != view.region.id) {
      lanes.push_back(std::move(lane));
      return;
    }
    Lane other = lane;
    other.receiver = random.pick(view.region.members);
    std::set<Rank> destinations;
    for (const CrossEdge& edge : traffic.edges) destinations.insert(edge.destination);
    for (Rank destination : destinations) (random.chance(50) ? lane : other).destinations.push_back(destination);
    const bool two = random.chance(50) && !lane.destinations.empty() && !other.destinations.empty();
    if (!two) lane.destinations.clear();
    lanes.push_back(std::move(lane));
    if (two) lanes.push_back(std::move(other));
  }

  std::uint64_t seed_;
};

struct Candidate {
  std::string name;
  std::unique_ptr<Strategy> strategy;
  bool deduplicate = true;
};

/// A few devices with random links, and up to 64 ranks on them.
inline std::shared_ptr<const Fabric> random_fabric(Random& random) {
  const auto devices = static_cast<std::size_t>(random.between(1, 5));
  std::vector<std::vector<int>> links(devices, std::vector<int>(devices, 0));
  for (std::size_t a = 1; a < devices; ++a)
    for (std::size_t b = 0; b < a; ++b)
      links[a][b] = links[b][a] = static_cast<int>(random.between(b + 1 == a ? 1 : 0, 4));
  std::map<Rank, std::pair<Rank, int>> places;
  for (Rank rank = 0; rank < 64; ++rank)
    places[rank] = {0, static_cast<int>(random.between(0, static_cast<std::int64_t>(devices) - 1))};
  return std::make_shared<const Fabric>(std::make_shared<const DeviceLinks>(with_hops(std::move(links))),
                                        std::move(places));
}

/// Every registered strategy and RandomCuts, with deduplication and, where that makes a difference, without.
inline std::vector<Candidate> candidates(std::uint64_t seed) {
  std::vector<Candidate> result;
  StrategySettings settings;
  settings.message_cap = Random(seed + 5).one_of<std::int64_t>({1, 8, 40, 200, 65536});
  Random random(seed + 6);
  if (random.chance(50)) settings.fabric = random_fabric(random);
  for (bool deduplicate : {true, false}) {
    const std::string suffix = deduplicate ? "" : "_nodedup";
    for (const StrategyRow& row : strategies()) {
      std::unique_ptr<Strategy> strategy = row.make(settings);
      if (deduplicate || (strategy->relays() && strategy->deduplicates()))
        result.push_back({std::string(row.name) + suffix, std::move(strategy), deduplicate});
    }
    result.push_back({"random_cuts" + suffix, std::make_unique<RandomCuts>(seed), deduplicate});
  }
  return result;
}

/// A plan of a rank whose buffers are, or are not, in memory of a device. What is sent may be fetched before the rest
/// is decided.
inline Plan through_host(Random& random, Plan plan) {
  const OnDevice buffers{random.chance(70), random.chance(70)};
  if (random.chance(50)) plan = fetch_sent(std::move(plan), buffers, Buffer::staging);
  plan = laneway::through_host(std::move(plan), buffers);
  return random.chance(50) ? in_stream(std::move(plan), InStream{buffers, false, false}) : plan;
}

struct Shape {
  Rank most_ranks = 16;
  /// Receive places may be named more than once.
  bool places_may_overlap = true;
};

struct Case {
  Pattern pattern;
  Machine machine;
  std::vector<Rank> region_of;
  PlanOptions options;
};

/// `elements` elements of `width` bytes from a window around offset 0: contiguous, strided, in pieces or one by one;
/// bytes may repeat.
inline RangeList random_ranges(Random& random, std::int64_t elements, std::int64_t width) {
  constexpr std::int64_t window = 40;
  RangeList list;
  auto anywhere = [&] { return random.between(-window / 2, window) * width; };
  switch (random.between(0, 3)) {
    case 0:
      list.append(Range{anywhere(), elements * width});
      break;
    case 1: {
      const std::int64_t block = random.between(1, std::max<std::int64_t>(1, elements / 2));
      const std::int64_t stride = random.between(-2, 2 * block + 3) * width;
      list.append(Run{anywhere(), block * width, stride, elements / block});
      list.append(Range{anywhere(), elements % block * width});
      break;
    }
    case 2:
      for (std::int64_t left = elements; left > 0;) {
        const std::int64_t n = random.between(1, left);
        list.append(Range{anywhere(), n * width});
        left -= n;
      }
      break;
    default:
      for (std::int64_t i = 0; i < elements; ++i) list.append(Range{anywhere(), width});
  }
  return list;
}

/// Places for messages of those numbers of elements that do not overlap: one after the other with gaps, interleaved, or
/// element by element in random order.
inline std::vector<RangeList> disjoint_places(Random& random, const std::vector<std::int64_t>& elements,
                                              std::int64_t width) {
  std::vector<RangeList> places(elements.size());
  const std::int64_t origin = random.between(-20, 20) * width;
  const std::int64_t total = std::accumulate(elements.begin(), elements.end(), std::int64_t{0});
  const auto n = static_cast<std::int64_t>(elements.size());
  const std::int64_t style = total > 1000 ? 0 : random.between(0, 2);
  if (style == 0) {
    std::int64_t at = origin;
    for (std::size_t i = 0; i < elements.size(); ++i) {
      places[i].append(Range{at, elements[i] * width});
      at += (elements[i] + (random.chance(50) ? 0 : random.between(0, 3))) * width;
    }
  } else if (style == 1) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      places[i].append(Run{origin + static_cast<std::int64_t>(i) * width, width, n * width, elements[i]});
  } else {
    std::vector<std::int64_t> slots(static_cast<std::size_t>(total + total / 4));
    std::iota(slots.begin(), slots.end(), std::int64_t{0});
    random.shuffle(slots);
    std::size_t next = 0;
    for (std::size_t i = 0; i < elements.size(); ++i)
      for (std::int64_t e = 0; e < elements[i]; ++e) places[i].append(Range{origin + slots[next++] * width, width});
  }
  return places;
}

/// Reorders edges at random, keeping the order among those with one peer.
inline void shuffle_edges(Random& random, std::vector<Edge>& edges) {
  std::vector<Rank> peers;
  for (const Edge& edge : edges) peers.push_back(edge.peer);
  random.shuffle(peers);
  std::vector<Edge> result;
  std::vector<bool> used(edges.size(), false);
  for (Rank peer : peers)
    for (std::size_t i = 0; i < edges.size(); ++i)
      if (!used[i] && edges[i].peer == peer) {
        used[i] = true;
        result.push_back(edges[i]);
        break;
      }
  edges = std::move(result);
}

inline Pattern random_pattern(Random& random, Rank ranks, const Shape& shape) {
  Pattern pattern(static_cast<std::size_t>(ranks));
  const auto width = random.one_of<std::int64_t>({1, 2, 4, 8});
  std::vector<Rank> busy;  // some ranks may have no edges at all
  for (Rank r = 0; r < ranks; ++r)
    if (random.chance(85)) busy.push_back(r);
  if (busy.empty()) return pattern;
  const std::int64_t most = random.one_of<std::int64_t>({6, 6, 20, 60});
  const std::int64_t edges = random.one_of<std::int64_t>({1, 4, 4, 12}) * static_cast<std::int64_t>(busy.size());
  for (std::int64_t n = random.between(0, edges); n > 0; --n) {
    const Rank source = random.pick(busy);
    const Rank destination = random.chance(8) ? source : random.pick(busy);
    std::vector<Edge>& out = pattern[static_cast<std::size_t>(source)].out;
    RangeList ranges;
    if (!out.empty() && random.chance(35))
      ranges = random.pick(out).ranges;
    else if (random.chance(1))
      ranges = {{random.between(0, 8) * width, 20000}};
    else if (!random.chance(10))
      ranges = random_ranges(random, random.between(1, most), width);
    for (std::int64_t repeat = random.chance(10) ? random.between(2, 4) : 1; repeat > 0; --repeat) {
      out.push_back({destination, ranges});
      pattern[static_cast<std::size_t>(destination)].in.push_back({source, ranges});
    }
  }
  for (RankPattern& p : pattern) {
    shuffle_edges(random, p.out);
    shuffle_edges(random, p.in);
    std::vector<std::int64_t> elements;
    for (const Edge& edge : p.in) elements.push_back(edge.ranges.bytes() / width);
    if (shape.places_may_overlap && random.chance(40)) {
      for (std::size_t i = 0; i < p.in.size(); ++i)
        p.in[i].ranges =
            elements[i] > 500 ? RangeList{{0, elements[i] * width}} : random_ranges(random, elements[i], width);
    } else {
      std::vector<RangeList> places = disjoint_places(random, elements, width);
      for (std::size_t i = 0; i < p.in.size(); ++i) p.in[i].ranges = std::move(places[i]);
    }
  }
  return pattern;
}

inline Machine random_machine(Random& random, Rank ranks) {
  switch (random.between(0, 4)) {
    case 0:
      return Machine::parse("node:* rank:" + std::to_string(random.between(1, std::min<Rank>(ranks, 5))), ranks);
    case 1: {
      std::string sizes = "ranks:";
      for (Rank left = ranks; left > 0;) {
        const auto n = static_cast<Rank>(random.chance(30) ? 1 : random.between(1, left));
        left -= n;
        sizes += std::to_string(n) + (left > 0 ? "," : "");
      }
      return Machine::parse(sizes, ranks);
    }
    default: {
      std::vector<std::string> paths;
      const std::int64_t nodes = random.between(1, 6);
      for (Rank r = 0; r < ranks; ++r) paths.push_back("n" + std::to_string(random.between(1, nodes)));
      return Machine::from_paths(paths);
    }
  }
}

inline Case make_case(std::uint64_t seed, const Shape& shape = {}) {
  Random random(seed);
  const auto ranks = static_cast<Rank>(random.between(1, shape.most_ranks));
  Case c{random_pattern(random, ranks, shape), random_machine(random, ranks), {}, {}};
  for (Rank r = 0; r < ranks; ++r) c.region_of.push_back(c.machine.region_id(0, r));
  c.options.lowering.direct_message_bytes = random.one_of<std::int64_t>({0, 0, 16, 100, 1000000});
  c.options.lowering.relay_message_bytes = random.one_of<std::int64_t>({0, 8, 32, 100, 16384});
  c.options.lowering.network_message_bytes = random.one_of<std::int64_t>({0, 8, 32, 100, 65536});
  c.options.lowering.network_message_bytes = random.one_of<std::int64_t>({0, 24, 100, 65536});
  return c;
}

/// Buffers that hold all offsets which the edges name, and some bytes more on both sides, filled at random.
inline std::vector<Memory> buffers(Random& random, const Pattern& pattern, std::vector<Edge> RankPattern::*edges) {
  constexpr std::int64_t margin = 32;
  std::vector<Memory> result;
  for (const RankPattern& p : pattern) {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    for (const Edge& edge : p.*edges)
      edge.ranges.for_each([&](Range range) {
        begin = std::min(begin, range.offset);
        end = std::max(end, range.end());
      });
    Memory& memory = result.emplace_back(Memory{begin - margin, {}});
    memory.bytes.resize(static_cast<std::size_t>(end - begin + 2 * margin));
    for (std::byte& byte : memory.bytes) byte = random.byte();
  }
  return result;
}

/// The address that offset 0 of a virtual rank's buffer has.
inline void* base_of(const Memory& memory) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory.bytes.data()) -
                                 static_cast<std::uintptr_t>(memory.first));
}

}  // namespace laneway::cases
