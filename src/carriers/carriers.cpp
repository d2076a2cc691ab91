#include <algorithm>
#include <array>

#include "carriers/carrier.hpp"
#include "core/error.hpp"

namespace laneway {

// In a folder each.
Carrier device_carrier(), node_carrier(), rma_carrier(), messages_carrier();

std::span<const Carrier> carriers() {
  static const std::array table = {device_carrier(), node_carrier(), rma_carrier(), messages_carrier()};
  return table;
}

const Carrier& carrier_of(const local::Side& side) {
  LANEWAY_ASSERT(side.carrier < carriers().size());
  return carriers()[side.carrier];
}

bool is_in_node(const CarrierView& view, Rank peer) {
  return view.is_local(peer);
}

bool CarrierView::is_local(Rank peer) const {
  return std::binary_search(node.members.begin(), node.members.end(), peer);
}

}  // namespace laneway
