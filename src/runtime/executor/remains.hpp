#pragma once

#include <array>
#include <memory>

#include "base/bytes/block_memory.hpp"
#include "runtime/carriers/device/lending.hpp"
#include "runtime/carriers/node/node_memory.hpp"
#include "runtime/carriers/transport.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// What an exchange that has failed leaves behind: messages that could be neither completed nor cancelled, and memory
/// that they, or peers, may still read or write.
struct Remains {
  std::array<std::unique_ptr<Endpoint>, 2> endpoints;
  BlockMemory staging;
  DeviceMemory device_staging;
  DeviceMemory shadow;
  /// What is lent to peers, who do not say when they have stopped to read it.
  Lent lent;
  std::shared_ptr<NodeMemory> node_memory;

  /// Whether something may still be used.
  [[nodiscard]] bool abandon() noexcept;
};

/// Keeps them until nothing is under way any more, or as long as the process runs.
void keep(Remains remains);

/// Frees what is kept for nothing. Called now and then.
void look_through_remains() noexcept;

}  // namespace laneway
