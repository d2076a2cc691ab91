#pragma once

#include <memory>
#include <optional>

#include "machine/fabric.hpp"
#include "machine/machine.hpp"
#include "runtime/device/topology.hpp"

namespace laneway {

class PrivateComm;

/// What the ranks of a node know of each other's devices.
struct NodeDevices {
  Region sharing;  ///< the ranks on the calling rank's device; the node if some rank has no device
  std::shared_ptr<const Fabric> fabric;  ///< null if some rank has no device, or links do not join all of them
};

/// `own`: that of the calling rank. Each rank asks for the links of its own device only. Collective over the node.
[[nodiscard]] NodeDevices find_node_devices(const PrivateComm& comm, const Region& node,
                                            const std::optional<DeviceIdentity>& own);

}  // namespace laneway
