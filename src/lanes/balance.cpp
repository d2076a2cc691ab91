#include "lanes/balance.hpp"

namespace laneway {

BytesOf needs(const Link& link) {
  BytesOf result;
  for (const CrossEdge& edge : link.edges) result[edge.destination] += edge.bytes;
  return result;
}

void balance_senders(const RegionView& view, std::vector<Lane>& lanes) {
  Balance balance(view.region);
  for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); })) {
    BytesOf own_bytes;
    for (const Piece& piece : lanes[i].pieces) own_bytes[piece.source] += piece.bytes();
    lanes[i].sender = balance.choose(lanes[i].bytes(), own_bytes);
  }
}

}  // namespace laneway
