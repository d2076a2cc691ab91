#pragma once

#include <cstdint>
#include <vector>

namespace laneway::plugin {

/// When this process began, by the system's clock: tells it from others of the same number. 0 if unknown.
[[nodiscard]] std::uint64_t process_began_at();

/// The host's memory that is nearest to a device of the bus, as the system says; -1 if it says nothing.
[[nodiscard]] int numa_node_of_pci(int domain, int bus, int device, int function);

/// By number of links between two devices, the links on the shortest way: 0 to itself, -1 where there is none.
[[nodiscard]] std::vector<std::vector<int>> count_hops(const std::vector<std::vector<int>>& links);

}  // namespace laneway::plugin
