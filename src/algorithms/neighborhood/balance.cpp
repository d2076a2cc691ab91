#include "algorithms/neighborhood/balance.hpp"

namespace laneway {

std::vector<Rank> nearest_first(const RegionView& view, Order among_equals) {
  std::vector<std::size_t> order(view.region.members.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (among_equals == Order::descending) std::ranges::reverse(order);
  std::ranges::stable_sort(order, {}, [&](std::size_t member) { return view.distance_of(member); });
  std::vector<Rank> members;
  for (std::size_t member : order) members.push_back(view.region.members[member]);
  return members;
}

BytesOf needs(const Traffic& traffic) {
  BytesOf result;
  for (const CrossEdge& edge : traffic.edges) result[edge.destination] += edge.bytes;
  return result;
}

BytesOf held(const Lane& lane) {
  BytesOf result;
  for (const Piece& piece : lane.pieces) result[piece.source] += piece.bytes();
  return result;
}

void balance_senders(const RegionView& view, const std::vector<Lane>& incoming, std::vector<Lane>& lanes) {
  BytesOf received;
  for (const Lane& lane : incoming) received[lane.receiver] += lane.bytes();
  Balance balance(view, std::move(received), Order::descending);
  for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); }))
    lanes[i].sender = balance.choose(lanes[i].bytes(), held(lanes[i]));
}

}  // namespace laneway
