#include <array>

#include "runtime/carriers/carrier.hpp"

namespace laneway {

// In a folder each.
Carrier device_carrier(), node_carrier(), rma_carrier(), nccl_carrier(), messages_carrier();
Carrier tiny_carrier();

std::span<const Carrier> carriers() {
  static const std::array table = {
      tiny_carrier(), device_carrier(), node_carrier(), rma_carrier(), nccl_carrier(), messages_carrier(),
  };
  return table;
}

}  // namespace laneway
