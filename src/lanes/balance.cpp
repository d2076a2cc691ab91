#include "lanes/balance.hpp"

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

BytesOf needs(const Link& link) {
  BytesOf result;
  for (const CrossEdge& edge : link.edges) result[edge.destination] += edge.bytes;
  return result;
}

void balance_senders(const RegionView& view, std::vector<Lane>& lanes, const std::vector<Lane>& incoming) {
  BytesOf received;
  for (const Lane& lane : incoming) received[lane.receiver] += lane.bytes();
  Balance balance(view, std::move(received));
  for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); })) {
    BytesOf own_bytes;
    for (const Piece& piece : lanes[i].pieces) own_bytes[piece.source] += piece.bytes();
    lanes[i].sender = balance.choose(lanes[i].bytes(), own_bytes);
  }
}

}  // namespace laneway
