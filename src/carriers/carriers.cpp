#include <algorithm>
#include <array>

#include "carriers/carrier.hpp"

namespace laneway {

// In a folder each.
Carrier device_carrier(), node_carrier(), messages_carrier();

std::span<const Carrier> carriers() {
  static const std::array table = {device_carrier(), node_carrier(), messages_carrier()};
  return table;
}

bool CarrierView::is_local(Rank peer) const {
  return std::binary_search(node.members.begin(), node.members.end(), peer);
}

}  // namespace laneway
