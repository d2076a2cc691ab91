#include "setup/planner.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "core/error.hpp"
#include "core/simulated.hpp"

namespace laneway {

namespace {

/// Where an edge's bytes lie in a block, in the edge's order, to be looked up by pieces of the block.
class Located {
 public:
  explicit Located(const RangeList& offsets) {
    std::int64_t position = 0;
    offsets.for_each([&](Range range) {
      is_ascending_ = is_ascending_ && (blocks_.empty() || blocks_.back().range.end() <= range.offset);
      blocks_.push_back({range, position});
      position += range.bytes;
    });
  }

  /// The part that lies in `piece`, and which positions of the edge's bytes it is.
  [[nodiscard]] std::pair<RangeList, RangeList> within(const Piece& piece) const {
    RangeList inside;
    RangeList intervals;
    auto block = blocks_.begin();
    if (is_ascending_)
      block = std::ranges::partition_point(blocks_, [&](const auto& b) { return b.range.end() <= piece.begin; });
    for (; block != blocks_.end() && !(is_ascending_ && block->range.offset >= piece.end); ++block) {
      const auto& [range, position] = *block;
      const std::int64_t begin = std::max(range.offset, piece.begin);
      const std::int64_t end = std::min(range.end(), piece.end);
      if (begin >= end) continue;
      inside.append(Range{begin, end - begin});
      intervals.append(Range{position + begin - range.offset, end - begin});
    }
    return {std::move(inside), std::move(intervals)};
  }

 private:
  struct Block {
    Range range;
    std::int64_t position;
  };
  std::vector<Block> blocks_;
  bool is_ascending_ = true;
};

void put_lanes(Writer& writer, std::span<const Lane> lanes) {
  writer.put_compact(static_cast<std::int64_t>(lanes.size()));
  for (const Lane& lane : lanes) {
    for (Rank rank : {lane.from_region, lane.to_region}) writer.put_compact(rank);
    for (Rank rank : {lane.sender, lane.receiver}) writer.put_compact(rank + 1);
    const bool for_some = !lane.destinations.empty();
    writer.put_compact(2 * static_cast<std::int64_t>(lane.pieces.size()) + (for_some ? 1 : 0));
    for (const Piece& piece : lane.pieces)
      for (std::int64_t number : {std::int64_t{piece.source}, piece.begin, piece.end}) writer.put_compact(number);
    if (!for_some) continue;
    writer.put_compact(static_cast<std::int64_t>(lane.destinations.size()));
    for (Rank rank : lane.destinations) writer.put_compact(rank);
  }
}

void get_lanes(Reader& reader, std::vector<Lane>& lanes) {
  for (auto n = reader.get_compact(); n > 0; --n) {
    Lane& lane = lanes.emplace_back();
    for (Rank* rank : {&lane.from_region, &lane.to_region}) *rank = static_cast<Rank>(reader.get_compact());
    for (Rank* rank : {&lane.sender, &lane.receiver}) *rank = static_cast<Rank>(reader.get_compact()) - 1;
    const std::int64_t pieces = reader.get_compact();
    lane.pieces.resize(static_cast<std::size_t>(pieces / 2));
    for (Piece& piece : lane.pieces) {
      piece.source = static_cast<Rank>(reader.get_compact());
      piece.begin = reader.get_compact();
      piece.end = reader.get_compact();
    }
    if (pieces % 2 == 0) continue;
    lane.destinations.resize(static_cast<std::size_t>(reader.get_compact()));
    for (Rank& rank : lane.destinations) rank = static_cast<Rank>(reader.get_compact());
  }
}

/// Most numbers of a prediction are 0.
void put_prediction(Writer& writer, const Prediction& prediction) {
  std::int64_t some = 0;
  for_each_number([&](double number) { some += number != 0; }, prediction);
  writer.put_compact(some);
  std::uint8_t index = 0;
  const auto put = [&](double number) {
    if (number != 0) {
      writer.put(index);
      writer.put(static_cast<float>(number));
    }
    ++index;
  };
  for_each_number(put, prediction);
}

Prediction get_prediction(Reader& reader) {
  std::int64_t left = reader.get_compact();
  const auto next_index = [&] { return left > 0 ? int{reader.get<std::uint8_t>()} : -1; };
  Prediction prediction;
  int next = next_index();
  int index = 0;
  const auto take = [&](double& number) {
    if (index++ != next) return;
    number = reader.get<float>();
    --left;
    next = next_index();
  };
  for_each_number(take, prediction);
  return prediction;
}

void put_selection(Writer& writer, const Selection& selection) {
  writer.put_compact(static_cast<std::int64_t>(selection.chosen));
  writer.put(selection.setup_seconds);
  writer.put_compact(static_cast<std::int64_t>(selection.predictions.size()));
  for (const Prediction& prediction : selection.predictions) put_prediction(writer, prediction);
}

Selection get_selection(Reader& reader) {
  Selection selection;
  selection.chosen = static_cast<std::size_t>(reader.get_compact());
  selection.setup_seconds = reader.get<double>();
  for (auto n = reader.get_compact(); n > 0; --n) selection.predictions.push_back(get_prediction(reader));
  return selection;
}

/// The edges say what else is needed of a block that was cut, where their places do not.
void put_links(Writer& writer, const std::vector<Link>& links, bool with_edges) {
  writer.put_compact(static_cast<std::int64_t>(links.size()));
  for (const Link& link : links) {
    writer.put_compact(link.region);
    writer.put_compact(static_cast<std::int64_t>(link.sources.size()));
    for (const SourceBytes& source : link.sources)
      for (std::int64_t number : {std::int64_t{source.rank}, source.bytes}) writer.put_compact(number);
    writer.put_compact(with_edges ? static_cast<std::int64_t>(link.edges.size()) : 0);
    if (!with_edges) continue;
    for (const CrossEdge& edge : link.edges)
      for (std::int64_t number : {std::int64_t{edge.source}, std::int64_t{edge.destination}, edge.bytes})
        writer.put_compact(number);
  }
}

std::vector<Link> get_links(Reader& reader) {
  std::vector<Link> links(static_cast<std::size_t>(reader.get_compact()));
  for (Link& link : links) {
    link.region = static_cast<Rank>(reader.get_compact());
    link.sources.resize(static_cast<std::size_t>(reader.get_compact()));
    for (SourceBytes& source : link.sources) {
      source.rank = static_cast<Rank>(reader.get_compact());
      source.bytes = reader.get_compact();
    }
    link.edges.resize(static_cast<std::size_t>(reader.get_compact()));
    for (CrossEdge& edge : link.edges) {
      edge.source = static_cast<Rank>(reader.get_compact());
      edge.destination = static_cast<Rank>(reader.get_compact());
      edge.bytes = reader.get_compact();
    }
  }
  return links;
}

void put_places(Writer& writer, const std::optional<Places>& places) {
  writer.put_compact(places ? static_cast<std::int64_t>(places->size()) + 1 : 0);
  if (!places) return;
  for (const auto& [edge, ranges] : *places) {
    for (Rank rank : {edge.first, edge.second}) writer.put_compact(rank);
    writer.put_compact(static_cast<std::int64_t>(ranges.size()));
    for (const Range& range : ranges)
      for (std::int64_t number : {range.offset, range.bytes}) writer.put_compact(number);
  }
}

std::optional<Places> get_places(Reader& reader) {
  std::int64_t n = reader.get_compact();
  if (n == 0) return std::nullopt;
  Places places;
  for (; n > 1; --n) {
    const auto source = static_cast<Rank>(reader.get_compact());
    const auto destination = static_cast<Rank>(reader.get_compact());
    std::vector<Range>& ranges = places[{source, destination}];
    ranges.resize(static_cast<std::size_t>(reader.get_compact()));
    for (Range& range : ranges) {
      range.offset = reader.get_compact();
      range.bytes = reader.get_compact();
    }
  }
  return places;
}

/// The lanes of all letters, by candidate.
std::vector<std::vector<Lane>> lanes_in(const std::vector<Bytes>& inbox, std::size_t candidates) {
  std::vector<std::vector<Lane>> lanes(candidates);
  for (const Bytes& bytes : inbox) {
    Reader reader(bytes);
    for (std::vector<Lane>& of_candidate : lanes) get_lanes(reader, of_candidate);
  }
  return lanes;
}

/// What one strategy's lanes and costs take to be found for each edge between regions and for each rank: estimates,
/// which no measurement stands behind.
constexpr double seconds_of_edge = 0.15e-6;
constexpr double seconds_of_rank = 0.5e-6;

/// Simulated processors take no time for it.
double seconds_of_choice(std::size_t candidates, std::size_t edges, std::size_t ranks) {
  if constexpr (simulated) return 0;
  return static_cast<double>(candidates) *
         (seconds_of_edge * static_cast<double>(edges) + seconds_of_rank * static_cast<double>(ranks));
}

/// What a rank's messages of one round take if each of `ranks` has as many: their work at one end, in turns with the
/// other ranks of the core, and the latency of one.
double seconds_of_messages(const Parameters& parameters, LinkClass link, std::size_t ranks, std::size_t messages,
                           std::size_t bytes) {
  const Overhead& work = link == LinkClass::network ? parameters.network_overhead : parameters.node_overhead;
  const auto host = static_cast<double>(ranks) * std::max(1, parameters.host_nodes);
  const double turns = parameters.cores > 0 ? std::max(1.0, host / parameters.cores) : 1.0;
  const LinkCost* const known = known_link(parameters.links, link);
  const double one = known != nullptr ? known->seconds(static_cast<std::int64_t>(bytes / messages)) : 0.0;
  const double ends = static_cast<double>(messages) * work.message + static_cast<double>(bytes) * work.byte;
  return turns * ends / 2 + latency(one, work, parameters);
}

std::size_t edges_of(const RegionView& view) {
  std::size_t edges = 0;
  for (const std::vector<Link>* links : {&view.in, &view.out})
    for (const Link& link : *links) edges += link.edges.size();
  return edges;
}

/// The fastest that makes up for its setup within so many exchanges, against those that need none. What remains to be
/// done for a plan that relays takes no longer than learning the costs has, which is done already.
std::size_t best_of(const Selection& selection, const Candidates& candidates, const PlanOptions& options) {
  const double setup_share = selection.setup_seconds / options.exchanges;
  const double gain = least_gain(options.costs->parameters());
  const auto cost = [&](std::size_t c) {
    const double seconds = selection.predictions[c].seconds;
    return candidates[c]->relays() ? (1 + gain) * seconds + setup_share : seconds;
  };
  std::size_t best = 0;
  for (std::size_t c = 1; c < candidates.size(); ++c)
    if (cost(c) < cost(best)) best = c;
  return best;
}

}  // namespace

Bytes to_bytes(const std::vector<double>& numbers) {
  Writer writer;
  for (double number : numbers) writer.put(number);
  return writer.take();
}

Plan plan_direct(Rank rank, const Demand& demand, const LoweringOptions& options) {
  Itinerary itinerary;
  itinerary.rank = rank;
  itinerary.out_direct.assign(demand.pattern.out.size(), true);
  itinerary.in_direct.assign(demand.pattern.in.size(), true);
  itinerary.out_inside = itinerary.out_direct;
  itinerary.in_inside = itinerary.in_direct;
  return Lowering(demand, itinerary, options).finish();
}

Planner::Planner(Rank rank, Demand demand, const Region& region, Candidates candidates, const PlanOptions& options,
                 std::span<const InnerLevel> inner)
    : rank_(rank),
      demand_(std::move(demand)),
      pattern_(demand_.pattern),
      region_(region),
      candidates_(std::move(candidates)),
      strategy_(candidates_.front()),
      relays_inside_(std::ranges::any_of(candidates_, [](const Strategy* s) { return s->traits().relays_inside; })),
      options_(options),
      inner_(inner),
      in_lanes_(candidates_.size()),
      out_lanes_(candidates_.size()) {
  LANEWAY_ASSERT(1, candidates_.size() == 1 || options_.costs != nullptr);
  LANEWAY_ASSERT(1, std::ranges::none_of(candidates_, [&](const Strategy* candidate) {
                   return candidate->relays() && candidate->traits().relays_inside != relays_inside_;
                 }));
  source_order_.resize(pattern_.out.size());
  std::iota(source_order_.begin(), source_order_.end(), std::size_t{0});
  std::stable_sort(source_order_.begin(), source_order_.end(),
                   [&](std::size_t a, std::size_t b) { return pattern_.out[a].peer < pattern_.out[b].peer; });
  source_begin_.resize(pattern_.out.size());
  std::int64_t at = 0;
  for (std::size_t edge : source_order_) {
    source_begin_[edge] = at;
    at += pattern_.out[edge].ranges.bytes();
  }
}

LoweringOptions Planner::lowering() const {
  LoweringOptions options = options_.lowering;
  options.spread = options.spread || strategy_->traits().spreads;
  return options;
}

/// Whether some candidate does.
bool Planner::relays() const {
  return std::any_of(candidates_.begin(), candidates_.end(), [](const Strategy* s) { return s->relays(); });
}

bool Planner::merges_all() const {
  return std::ranges::all_of(candidates_, &Strategy::deduplicates);
}

bool Planner::crosses(const Edge& edge) const {
  return !edge.ranges.empty() && (region_of(edge.peer) != region_.id || (relays_inside_ && edge.peer != rank_));
}

/// Without deduplication every edge has bytes of its own, as if the send buffer were its edges one after another, by
/// ascending destination: so the other side can tell from the sizes of edges where in a block each of them is.
RangeList Planner::source_ranges(std::size_t edge) const {
  const RangeList& ranges = pattern_.out[edge].ranges;
  if (deduplicates()) return ranges;
  return {{source_begin_[edge], ranges.bytes()}};
}

RangeList Planner::in_buffer(const RangeList& source_ranges) const {
  if (deduplicates()) return source_ranges;
  RangeList result;
  source_ranges.for_each([&](Range range) {
    auto edge = std::upper_bound(source_order_.begin(), source_order_.end(), range.offset,
                                 [&](std::int64_t offset, std::size_t e) { return offset < source_begin_[e]; });
    --edge;
    while (range.bytes > 0) {
      const RangeList& ranges = pattern_.out[*edge].ranges;
      const std::int64_t skip = range.offset - source_begin_[*edge];
      const std::int64_t bytes = std::min(range.bytes, ranges.bytes() - skip);
      if (bytes > 0) result.append(ranges.slice(skip, bytes));
      range = {range.offset + bytes, range.bytes - bytes};
      ++edge;
    }
  });
  return result;
}

const Link& Planner::in_link(Rank region) const {
  const auto it = std::lower_bound(view_.in.begin(), view_.in.end(), region,
                                   [](const Link& link, Rank id) { return link.region < id; });
  LANEWAY_ASSERT(1, it != view_.in.end() && it->region == region);
  return *it;
}

Round Planner::begin(const std::map<Rank, Rank>* peer_regions) {
  if (!relays() && inner_.empty()) return plan_inside();
  if (peer_regions) {
    peer_regions_ = *peer_regions;
    return counted(tell_sizes());
  }
  // Regions travel along the edges in both directions: a rank knows only its own.
  std::set<Rank> peers;
  for (const Edge& edge : pattern_.out) peers.insert(edge.peer);
  for (const Edge& edge : pattern_.in) peers.insert(edge.peer);
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (Rank peer : peers) {
    Writer writer;
    writer.put(region_.id);
    round.letters.push_back({peer, writer.take()});
    round.from.push_back(peer);
  }
  expected_ = round.from;
  next_ = &Planner::learn_regions;
  return counted(std::move(round));
}

Round Planner::resume(const std::vector<Bytes>& inbox) {
  return counted((this->*next_)(inbox));
}

/// Of a gather the first member has most to do: it hears from all and answers.
Round Planner::counted(Round round) {
  if (!options_.counts_setup || options_.costs == nullptr) return round;
  const Parameters& parameters = options_.costs->parameters();
  std::size_t bytes = 0;
  for (const Letter& letter : round.letters) bytes += letter.data.size();
  const std::size_t messages = round.letters.size() + round.from.size();
  if (messages > 0)
    setup_seconds_ += seconds_of_messages(parameters, LinkClass::network, region_.members.size(), messages, bytes);
  if (round.kind == Round::Kind::region_gather && round.region->members.size() > 1) {
    const std::size_t others = round.region->members.size() - 1;
    const double there = seconds_of_messages(parameters, LinkClass::node, round.region->members.size(), others,
                                             others * round.contribution.size());
    setup_seconds_ += 2 * there;
  }
  return round;
}

Round Planner::learn_regions(const std::vector<Bytes>& inbox) {
  for (std::size_t i = 0; i < expected_.size(); ++i) peer_regions_[expected_[i]] = Reader(inbox[i]).get<Rank>();
  return tell_sizes();
}

/// Where strategies know more than the views, no rank can choose for others.
Round Planner::tell_sizes() {
  if (!relays()) return plan_inside();
  find_blocks();
  const bool views_are_all =
      std::ranges::none_of(candidates_, [](const Strategy* s) { return s->traits().needs == Traits::Needs::fabric; });
  return views_are_all && options_.ranks > 1 && options_.ranks <= few_ranks ? tell_first() : tell_blocks();
}

void Planner::find_blocks() {
  if (deduplicates() && std::ranges::any_of(pattern_.out, [](const Edge& edge) { return edge.ranges.groups() > 0; })) {
    std::map<Rank, std::vector<const RangeList*>> lists_for;
    for (const Edge& edge : pattern_.out)
      if (crosses(edge)) lists_for[region_of(edge.peer)].push_back(&edge.ranges);
    for (const auto& [region, lists] : lists_for)
      itinerary_.out_blocks[region] = blocks_.emplace(region, Block(lists)).first->second.list();
    return;
  }
  std::map<Rank, std::vector<Range>> bytes_for;
  for (std::size_t i = 0; i < pattern_.out.size(); ++i)
    if (crosses(pattern_.out[i]))
      source_ranges(i).for_each([&](Range range) { bytes_for[region_of(pattern_.out[i].peer)].push_back(range); });
  for (auto& [region, ranges] : bytes_for) {
    const Block& block = blocks_.emplace(region, Block(RangeSet(std::move(ranges)))).first->second;
    itinerary_.out_blocks[region] = in_buffer(block.set().list());
  }
}

/// Each source tells the first of its destinations in every other region the size of its block for that region.
Round Planner::tell_blocks() {
  std::map<Rank, Rank> first_destination;
  for (const Edge& edge : pattern_.out) {
    if (!crosses(edge)) continue;
    const auto [it, fresh] = first_destination.emplace(region_of(edge.peer), edge.peer);
    if (!fresh) it->second = std::min(it->second, edge.peer);
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (const auto& [region, block] : blocks_) {
    Writer writer;
    writer.put(block.bytes());
    round.letters.push_back({first_destination.at(region), writer.take()});
  }
  // The source alone knows which of its destinations is the first, so every destination gets a letter.
  std::set<Rank> told;
  for (const Letter& letter : round.letters) told.insert(letter.peer);
  std::set<Rank> others;
  for (const Edge& edge : pattern_.out)
    if (crosses(edge) && !told.contains(edge.peer)) others.insert(edge.peer);
  for (Rank peer : others) round.letters.push_back({peer, {}});
  std::set<Rank> sources;
  for (const Edge& edge : pattern_.in)
    if (crosses(edge)) sources.insert(edge.peer);
  round.from.assign(sources.begin(), sources.end());
  expected_ = round.from;
  next_ = &Planner::share_sizes;
  return round;
}

InsideEdges Planner::inside_edges() const {
  InsideEdges inside;
  if (relays_inside_) return inside;
  const auto stays = [&](const Edge& edge) {
    return !edge.ranges.empty() && edge.peer != rank_ && region_of(edge.peer) == region_.id;
  };
  for (const Edge& edge : pattern_.out) {
    if (!stays(edge)) continue;
    ++inside.messages_out;
    inside.bytes_out += edge.ranges.bytes();
  }
  for (const Edge& edge : pattern_.in) {
    if (!stays(edge)) continue;
    ++inside.messages_in;
    inside.bytes_in += edge.ranges.bytes();
  }
  return inside;
}

Rank Planner::inner_id() const {
  return inner_.empty() ? rank_ : inner_.front().region.id;
}

ViewPart Planner::own_part() const {
  ViewPart part;
  part.inner = inner_id();
  part.distance = options_.network_distance;
  for (const Edge& edge : pattern_.out)
    if (crosses(edge)) part.leaving.push_back({region_of(edge.peer), edge.peer, edge.ranges.bytes()});
  for (const auto& [region, block] : blocks_) part.out_blocks.push_back({region, rank_, block.bytes()});
  if (candidates_.size() > 1) part.inside = inside_edges();
  return part;
}

Round Planner::share_sizes(const std::vector<Bytes>& inbox) {
  ViewPart part = own_part();
  for (const Edge& edge : pattern_.in)
    if (crosses(edge)) part.entering.push_back({region_of(edge.peer), edge.peer, edge.ranges.bytes()});
  for (std::size_t i = 0; i < expected_.size(); ++i)
    if (!inbox[i].empty())
      part.in_blocks.push_back({region_of(expected_[i]), expected_[i], Reader(inbox[i]).get<std::int64_t>()});
  next_ = &Planner::answer_lanes;
  return {Round::Kind::region_gather, {}, {}, part.to_bytes(), &region_};
}

/// Every member now chooses the incoming lanes, for every candidate; the destination of each link's representative edge
/// tells its source.
Round Planner::answer_lanes(const std::vector<Bytes>& inbox) {
  std::vector<ViewPart> parts;
  parts.reserve(inbox.size());
  for (const Bytes& bytes : inbox) parts.push_back(ViewPart::from_bytes(bytes));
  view_ = make_view(region_, parts);
  if (!merges_all()) unmerged_ = without_merging(view_);
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    if (!candidates_[c]->relays()) continue;
    in_lanes_[c] = candidates_[c]->assign_receivers(seen_by(*candidates_[c]));
    std::stable_sort(in_lanes_[c].begin(), in_lanes_[c].end(),
                     [](const Lane& a, const Lane& b) { return a.from_region < b.from_region; });
  }
  std::map<Rank, Writer> letters;
  for (const Link& link : view_.in) {
    if (link.edges.front().destination != rank_) continue;
    Writer& writer = letters[link.edges.front().source];
    for (const std::vector<Lane>& all : in_lanes_)
      put_lanes(writer, std::ranges::equal_range(all, link.region, {}, &Lane::from_region));
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, writer] : letters) round.letters.push_back({peer, writer.take()});
  for (const Link& link : view_.out)
    if (link.edges.front().source == rank_) round.from.push_back(link.edges.front().destination);
  next_ = &Planner::share_lanes;
  return round;
}

Round Planner::share_lanes(const std::vector<Bytes>& inbox) {
  Writer writer;
  for (const std::vector<Lane>& lanes : lanes_in(inbox, candidates_.size())) put_lanes(writer, lanes);
  next_ = &Planner::choose_senders;
  return {Round::Kind::region_gather, {}, {}, writer.take(), &region_};
}

Round Planner::choose_senders(const std::vector<Bytes>& inbox) {
  out_lanes_ = lanes_in(inbox, candidates_.size());
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    std::stable_sort(out_lanes_[c].begin(), out_lanes_[c].end(),
                     [](const Lane& a, const Lane& b) { return a.to_region < b.to_region; });
    if (candidates_[c]->relays()) candidates_[c]->assign_senders(seen_by(*candidates_[c]), in_lanes_[c], out_lanes_[c]);
  }
  if (candidates_.size() > 1) return agree_on_costs();
  itinerary_.in_lanes = std::move(in_lanes_.front());
  itinerary_.out_lanes = std::move(out_lanes_.front());
  return tell_receivers();
}

/// The costs of an exchange are those of the region in which it takes longest. Among the ranks of a communicator the
/// largest numbers are found by one reduction; the ranks of a region choose for the levels inside it.
Round Planner::agree_on_costs() {
  std::vector<Prediction>& predictions = selection_.predictions;
  for (std::size_t c = 0; c < candidates_.size(); ++c) {
    const Strategy& candidate = *candidates_[c];
    const NodeLoad load = options_.costs->load(candidate, seen_by(candidate), in_lanes_[c], out_lanes_[c]);
    predictions.push_back(options_.costs->predict({&load, 1}));
  }
  const double choice = seconds_of_choice(candidates_.size(), edges_of(view_), region_.members.size());
  std::vector<double> numbers{options_.counts_setup ? setup_seconds_ + choice : 0};
  for (const Prediction& prediction : predictions)
    for_each_number([&](double number) { numbers.push_back(number); }, prediction);
  next_ = &Planner::choose;
  if (scope_ == nullptr) return {Round::Kind::largest, {}, {}, {}, nullptr, std::move(numbers)};
  return {Round::Kind::region_gather, {}, {}, to_bytes(numbers), scope_};
}

/// The numbers of others have its own among them.
Round Planner::choose(const std::vector<Bytes>& inbox) {
  for (Prediction& prediction : selection_.predictions) prediction = {};
  for (const Bytes& bytes : inbox) {
    Reader reader(bytes);
    selection_.setup_seconds = std::max(selection_.setup_seconds, reader.get<double>());
    for (Prediction& prediction : selection_.predictions) {
      Prediction other;
      for_each_number([&](double& number) { number = reader.get<double>(); }, other);
      prediction.merge(other);
    }
  }
  selection_.chosen = best_of(selection_, candidates_, options_);
  itinerary_.in_lanes = std::move(in_lanes_[selection_.chosen]);
  itinerary_.out_lanes = std::move(out_lanes_[selection_.chosen]);
  if (!candidates_[selection_.chosen]->deduplicates()) view_ = std::move(unmerged_);
  return go_on();
}

/// Blocks are those of the strategy that was chosen.
Round Planner::go_on() {
  const bool merges = deduplicates();
  strategy_ = candidates_[selection_.chosen];
  relays_inside_ = strategy_->traits().relays_inside;
  if (!strategy_->relays()) return plan_inside();
  if (merges != deduplicates()) {
    blocks_.clear();
    itinerary_.out_blocks.clear();
    find_blocks();
  }
  return places_ ? find_forwards() : tell_receivers();
}

Round Planner::tell_first() {
  Summary own;
  own.region = region_.id;
  own.inner = inner_id();
  own.distance = options_.network_distance;
  if (options_.costs != nullptr && !options_.costs->sharing().empty()) own.sharing = options_.costs->sharing().front();
  own.inside = inside_edges();
  for (std::size_t i = 0; i < pattern_.out.size(); ++i) {
    const Edge& edge = pattern_.out[i];
    if (!crosses(edge)) continue;
    const Rank region = region_of(edge.peer);
    const std::int64_t bytes = edge.ranges.bytes();
    const RangeList located = blocks_.at(region).locate(source_ranges(i));
    const std::int64_t begin = located.runs().front().offset;
    own.edges.push_back(
        {region, edge.peer, bytes, located == RangeList{{begin, bytes}} ? std::optional(begin) : std::nullopt});
  }
  std::stable_sort(own.edges.begin(), own.edges.end(), [](const PlacedEdge& a, const PlacedEdge& b) {
    return std::pair(a.region, a.destination) < std::pair(b.region, b.destination);
  });
  for (const auto& [region, block] : blocks_) own.block_bytes[region] = block.bytes();
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  if (rank_ == 0) {
    own_letter_ = own.to_bytes();
    for (Rank rank = 1; rank < options_.ranks; ++rank) round.from.push_back(rank);
    next_ = &Planner::choose_for_all;
  } else {
    round.letters.push_back({0, own.to_bytes()});
    next_ = &Planner::await_choice;
  }
  return round;
}

/// All ranks go on from what the letters say, also the one that writes them.
Round Planner::choose_for_all(const std::vector<Bytes>& inbox) {
  std::vector<Summary> ranks = {Summary::from_bytes(own_letter_)};
  for (const Bytes& bytes : inbox) ranks.push_back(Summary::from_bytes(bytes));
  const Overview overview(std::move(ranks), merges_all());
  std::vector<std::map<Rank, LanesOfRegion>> lanes;
  for (const Strategy* candidate : candidates_) lanes.push_back(overview.assign(*candidate));
  Selection selection;
  if (candidates_.size() > 1) {
    for (std::size_t c = 0; c < candidates_.size(); ++c)
      selection.predictions.push_back(overview.predict(*options_.costs, *candidates_[c], lanes[c]));
    // Letters came with an agreement that no plan goes without.
    if (options_.counts_setup)
      selection.setup_seconds =
          seconds_of_choice(candidates_.size(), overview.edges(), static_cast<std::size_t>(options_.ranks));
    selection.chosen = best_of(selection, candidates_, options_);
  }
  const Strategy& chosen = *candidates_[selection.chosen];
  std::map<Rank, Bytes> letters;  // by region
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    const Rank region = overview.region_of(rank);
    Bytes& letter = letters[region];
    if (letter.empty()) {
      Writer writer;
      put_selection(writer, selection);
      if (chosen.relays()) {
        const std::optional<Places> places = overview.places(region, chosen);
        put_links(writer, overview.view(region, chosen).in, !places);
        put_lanes(writer, lanes[selection.chosen].at(region).in);
        put_lanes(writer, lanes[selection.chosen].at(region).out);
        put_places(writer, places);
      }
      letter = writer.take();
    }
    if (rank == rank_)
      own_letter_ = letter;
    else
      round.letters.push_back({rank, letter});
  }
  next_ = &Planner::follow_choice;
  return round;
}

Round Planner::await_choice(const std::vector<Bytes>&) {
  next_ = &Planner::follow_choice;
  return {Round::Kind::exchange, {}, {0}, {}, nullptr};
}

Round Planner::follow_choice(const std::vector<Bytes>& inbox) {
  Reader reader(rank_ == 0 ? own_letter_ : inbox.front());
  selection_ = get_selection(reader);
  if (candidates_[selection_.chosen]->relays()) {
    view_.region = region_;
    view_.in = get_links(reader);
    get_lanes(reader, itinerary_.in_lanes);
    get_lanes(reader, itinerary_.out_lanes);
    places_ = get_places(reader);
  }
  return go_on();
}

/// What sources would tell the receivers of their lanes, and these the destinations.
Round Planner::find_forwards() {
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    const Lane& lane = itinerary_.in_lanes[l];
    if (lane.receiver != rank_) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      const Rank source = lane.pieces[p].source;
      for (auto edge = places_->lower_bound({source, -1}); edge != places_->end() && edge->first.first == source;
           ++edge) {
        if (!lane.carries_for(edge->first.second)) continue;
        for (std::size_t ordinal = 0; ordinal < edge->second.size(); ++ordinal) {
          auto [offsets, intervals] = Located({edge->second[ordinal]}).within(lane.pieces[p]);
          if (!offsets.empty())
            itinerary_.forwards.push_back({static_cast<int>(l), static_cast<int>(p), edge->first.second,
                                           static_cast<int>(ordinal), std::move(offsets), std::move(intervals)});
        }
      }
    }
  }
  expected_.clear();
  find_cut_pieces();
  return finish({});
}

/// Sources tell the receivers of their lanes the sender, and which bytes of their blocks go to whom.
Round Planner::tell_receivers() {
  const std::vector<Lane>& lanes = itinerary_.out_lanes;
  const std::vector<int> ordinal = ordinals(pattern_.out);
  std::map<Rank, std::vector<std::size_t>> edges_to;
  for (std::size_t i = 0; i < pattern_.out.size(); ++i)
    if (crosses(pattern_.out[i])) edges_to[region_of(pattern_.out[i].peer)].push_back(i);
  for (auto& [region, edges] : edges_to)
    std::stable_sort(edges.begin(), edges.end(), [&](std::size_t a, std::size_t b) {
      return std::pair(pattern_.out[a].peer, ordinal[a]) < std::pair(pattern_.out[b].peer, ordinal[b]);
    });
  std::map<std::size_t, Located> located;
  std::map<Rank, Writer> letters;
  for (const Lane& lane : lanes) {
    for (const Piece& piece : lane.pieces) {
      if (piece.source != rank_) continue;
      Writer& writer = letters[lane.receiver];
      writer.put(lane.sender);
      std::vector<std::pair<std::size_t, std::pair<RangeList, RangeList>>> carried;
      for (std::size_t edge : edges_to.at(lane.to_region)) {
        if (!lane.carries_for(pattern_.out[edge].peer)) continue;
        auto it = located.find(edge);
        if (it == located.end())
          it = located.emplace(edge, Located(blocks_.at(lane.to_region).locate(source_ranges(edge)))).first;
        auto parts = it->second.within(piece);
        if (!parts.first.empty()) carried.emplace_back(edge, std::move(parts));
      }
      writer.put(static_cast<std::int64_t>(carried.size()));
      for (const auto& [edge, parts] : carried) {
        writer.put(pattern_.out[edge].peer);
        writer.put(ordinal[edge]);
        writer.put(parts.first);
        writer.put(parts.second);
      }
    }
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  for (auto& [peer, writer] : letters) round.letters.push_back({peer, writer.take()});
  std::set<Rank> sources;
  for (const Lane& lane : itinerary_.in_lanes)
    if (lane.receiver == rank_)
      for (const Piece& piece : lane.pieces) sources.insert(piece.source);
  round.from.assign(sources.begin(), sources.end());
  expected_ = round.from;
  next_ = &Planner::tell_destinations;
  return round;
}

/// What for_each_cut_arrival goes through.
void Planner::find_cut_pieces() {
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    const Lane& lane = itinerary_.in_lanes[l];
    lanes_of_receiver_[lane.receiver].push_back(l);
    const std::vector<SourceBytes>& sources = in_link(lane.from_region).sources;
    for (const Piece& piece : lane.pieces) {
      const auto source = std::ranges::lower_bound(sources, piece.source, {}, &SourceBytes::rank);
      if (source == sources.end() || source->rank != piece.source)
        internal_error("piece of an unknown source", __FILE__, __LINE__);
      is_cut_.push_back(piece.begin != 0 || piece.end != source->bytes);
    }
    first_piece_.push_back(is_cut_.size() - lane.pieces.size());
  }
}

/// Calls f(lane, piece, ordinal) for every edge to `destination` of which the lanes of `receiver` carry some cut piece:
/// both of them know these, but only the receiver knows which bytes of the edge they are.
template <class F>
void Planner::for_each_cut_arrival(Rank receiver, Rank destination, F&& f) const {
  const auto lanes = lanes_of_receiver_.find(receiver);
  if (lanes == lanes_of_receiver_.end()) return;
  for (std::size_t l : lanes->second) {
    const Lane& lane = itinerary_.in_lanes[l];
    if (!lane.carries_for(destination)) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      if (!is_cut(l, p)) continue;
      const std::span<const CrossEdge> edges = in_link(lane.from_region).edges_of(lane.pieces[p].source);
      const std::size_t count = std::ranges::equal_range(edges, destination, {}, &CrossEdge::destination).size();
      for (std::size_t ordinal = 0; ordinal < count; ++ordinal)
        f(static_cast<int>(l), static_cast<int>(p), static_cast<int>(ordinal));
    }
  }
}

Round Planner::tell_destinations(const std::vector<Bytes>& inbox) {
  find_cut_pieces();
  std::map<Rank, Reader> readers;
  for (std::size_t i = 0; i < expected_.size(); ++i) readers.emplace(expected_[i], Reader(inbox[i]));
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    Lane& lane = itinerary_.in_lanes[l];
    if (lane.receiver != rank_) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      Reader& reader = readers.at(lane.pieces[p].source);
      lane.sender = reader.get<Rank>();
      for (auto n = reader.get<std::int64_t>(); n > 0; --n) {
        Forward forward{static_cast<int>(l), static_cast<int>(p), 0, 0, {}, {}};
        forward.destination = reader.get<Rank>();
        forward.ordinal = reader.get<int>();
        forward.offsets = reader.get_ranges();
        forward.intervals = reader.get_ranges();
        itinerary_.forwards.push_back(std::move(forward));
      }
    }
  }
  Round round{Round::Kind::exchange, {}, {}, {}, nullptr};
  std::set<Rank> from;
  for (Rank member : region_.members) {
    if (member == rank_) continue;
    Writer writer;
    for_each_cut_arrival(rank_, member, [&](int lane, int piece, int ordinal) {
      const auto key = [](const Forward& f) { return std::tuple(f.lane, f.piece, f.destination, f.ordinal); };
      const std::tuple wanted(lane, piece, member, ordinal);
      const auto forward = std::ranges::lower_bound(itinerary_.forwards, wanted, {}, key);
      const bool carried = forward != itinerary_.forwards.end() && key(*forward) == wanted;
      writer.put(carried ? forward->intervals : RangeList{});
    });
    if (!writer.empty()) round.letters.push_back({member, writer.take()});
    for_each_cut_arrival(member, rank_, [&](int, int, int) { from.insert(member); });
  }
  round.from.assign(from.begin(), from.end());
  expected_ = round.from;
  next_ = &Planner::finish;
  return round;
}

Round Planner::finish(const std::vector<Bytes>& inbox) {
  std::map<std::pair<int, int>, std::map<int, RangeList>> cut;  // (lane, piece) -> ordinal -> intervals
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    Reader reader(inbox[i]);
    for_each_cut_arrival(expected_[i], rank_, [&](int lane, int piece, int ordinal) {
      cut[{lane, piece}][ordinal] = reader.get_ranges();
    });
  }
  std::map<Rank, std::vector<std::size_t>> edges_from;
  for (std::size_t i = 0; i < pattern_.in.size(); ++i)
    if (crosses(pattern_.in[i])) edges_from[pattern_.in[i].peer].push_back(i);
  for (std::size_t l = 0; l < itinerary_.in_lanes.size(); ++l) {
    const Lane& lane = itinerary_.in_lanes[l];
    if (lane.receiver == rank_ || !lane.carries_for(rank_)) continue;
    for (std::size_t p = 0; p < lane.pieces.size(); ++p) {
      const auto edges = edges_from.find(lane.pieces[p].source);
      if (edges == edges_from.end()) continue;
      const std::pair key{static_cast<int>(l), static_cast<int>(p)};
      const bool whole = !is_cut(l, p);
      int nth = 0;
      for (std::size_t edge : edges->second) {
        RangeList intervals =
            whole     ? RangeList{{0, pattern_.in[edge].ranges.bytes()}}
            : places_ ? Located({places_->at({lane.pieces[p].source, rank_})[static_cast<std::size_t>(nth)]})
                            .within(lane.pieces[p])
                            .second
                      : cut.at(key).at(nth);
        ++nth;
        if (!intervals.empty())
          itinerary_.arrivals.push_back({key.first, key.second, static_cast<int>(edge), std::move(intervals)});
      }
    }
  }
  return plan_inside();
}

Round Planner::plan_inside() {
  if (!strategy_->relays() && inner_.empty()) {
    plan_ = plan_direct(rank_, demand_, lowering());
    return {};
  }
  itinerary_.rank = rank_;
  const auto stays = [this](const Edge& edge) { return region_of(edge.peer) == region_.id && !crosses(edge); };
  for (const Edge& edge : pattern_.out) itinerary_.out_inside.push_back(stays(edge));
  for (const Edge& edge : pattern_.in) itinerary_.in_inside.push_back(stays(edge));
  const bool relays = strategy_->relays();
  itinerary_.out_direct = relays ? itinerary_.out_inside : std::vector<bool>(pattern_.out.size(), true);
  itinerary_.in_direct = relays ? itinerary_.in_inside : std::vector<bool>(pattern_.in.size(), true);
  lowering_ = std::make_unique<Lowering>(demand_, itinerary_, lowering());
  if (inner_.empty()) {
    plan_ = lowering_->finish();
    return {};
  }
  // Inside a region messages are shared as on-node parts of lanes are.
  child_options_ = options_;
  child_options_.ranks = 0;
  child_options_.deduplicate = inner_.front().deduplicate;
  child_options_.network_distance = 0;  // nothing leaves the region
  child_options_.lowering.direct_message_bytes = options_.lowering.relay_message_bytes;
  ++child_options_.lowering.level;
  const Candidates& chosen = inner_.front().candidates;
  const Candidates inside = strategy_->inside() != nullptr ? Candidates{strategy_->inside()} : chosen;
  const Candidates scatter = strategy_->scatter() != nullptr ? Candidates{strategy_->scatter()} : chosen;
  children_.push_back({chosen, lowering_->gather()});
  if (inside == scatter) {
    children_.push_back({inside, lowering_->inside(true, true)});
  } else {
    children_.push_back({inside, lowering_->inside(true, false)});
    children_.push_back({scatter, lowering_->inside(false, true)});
  }
  return next_child();
}

Round Planner::next_child() {
  while (child_plans_.size() < children_.size()) {
    Child& child = children_[child_plans_.size()];
    child_ = std::make_unique<Planner>(rank_, std::move(child.demand), inner_.front().region,
                                       std::move(child.candidates), child_options_, inner_.subspan(1));
    child_->scope_ = &region_;
    Round round = child_->begin();
    if (round.kind != Round::Kind::done) {
      next_ = &Planner::resume_child;
      return round;
    }
    child_plans_.push_back(child_->take_plan());
  }
  plan_ = lowering_->finish(child_plans_.front(), std::span(child_plans_).subspan(1));
  return {};
}

Round Planner::resume_child(const std::vector<Bytes>& inbox) {
  Round round = child_->resume(inbox);
  if (round.kind != Round::Kind::done) return round;
  child_plans_.push_back(child_->take_plan());
  return next_child();
}

}  // namespace laneway
