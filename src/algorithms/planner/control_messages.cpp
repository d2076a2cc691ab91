#include "algorithms/planner/control_messages.hpp"

#include <cstdint>
#include <utility>

namespace laneway {

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

namespace {

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

}  // namespace

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

void put_traffic(Writer& writer, const std::vector<Traffic>& all, bool with_edges) {
  writer.put_compact(static_cast<std::int64_t>(all.size()));
  for (const Traffic& traffic : all) {
    writer.put_compact(traffic.region);
    writer.put_compact(static_cast<std::int64_t>(traffic.sources.size()));
    for (const SourceBytes& source : traffic.sources)
      for (std::int64_t number : {std::int64_t{source.rank}, source.bytes}) writer.put_compact(number);
    writer.put_compact(with_edges ? static_cast<std::int64_t>(traffic.edges.size()) : 0);
    if (!with_edges) continue;
    for (const CrossEdge& edge : traffic.edges)
      for (std::int64_t number : {std::int64_t{edge.source}, std::int64_t{edge.destination}, edge.bytes})
        writer.put_compact(number);
  }
}

std::vector<Traffic> get_traffic(Reader& reader) {
  std::vector<Traffic> all(static_cast<std::size_t>(reader.get_compact()));
  for (Traffic& traffic : all) {
    traffic.region = static_cast<Rank>(reader.get_compact());
    traffic.sources.resize(static_cast<std::size_t>(reader.get_compact()));
    for (SourceBytes& source : traffic.sources) {
      source.rank = static_cast<Rank>(reader.get_compact());
      source.bytes = reader.get_compact();
    }
    traffic.edges.resize(static_cast<std::size_t>(reader.get_compact()));
    for (CrossEdge& edge : traffic.edges) {
      edge.source = static_cast<Rank>(reader.get_compact());
      edge.destination = static_cast<Rank>(reader.get_compact());
      edge.bytes = reader.get_compact();
    }
  }
  return all;
}

void put_edge_ranges(Writer& writer, const std::optional<EdgeRanges>& places) {
  writer.put_compact(places ? static_cast<std::int64_t>(places->size()) + 1 : 0);
  if (!places) return;
  for (const auto& [edge, ranges] : *places) {
    for (Rank rank : {edge.first, edge.second}) writer.put_compact(rank);
    writer.put_compact(static_cast<std::int64_t>(ranges.size()));
    for (const Range& range : ranges)
      for (std::int64_t number : {range.offset, range.bytes}) writer.put_compact(number);
  }
}

std::optional<EdgeRanges> get_edge_ranges(Reader& reader) {
  std::int64_t n = reader.get_compact();
  if (n == 0) return std::nullopt;
  EdgeRanges places;
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

std::vector<std::vector<Lane>> lanes_in(const std::vector<Bytes>& inbox, std::size_t strategies) {
  std::vector<std::vector<Lane>> lanes(strategies);
  for (const Bytes& bytes : inbox) {
    Reader reader(bytes);
    for (std::vector<Lane>& of_strategy : lanes) get_lanes(reader, of_strategy);
  }
  return lanes;
}

}  // namespace laneway
