#include "node.hpp"

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <iterator>
#include <string>

namespace laneway::plugin {

std::uint64_t process_began_at() {
  std::ifstream file("/proc/self/stat");
  const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::size_t at = line.rfind(')');
  // The name of the program is field 2, the time is field 22.
  for (int field = 2; field < 22 && at != std::string::npos; ++field) at = line.find(' ', at + 1);
  return at == std::string::npos ? 0 : std::strtoull(line.c_str() + at, nullptr, 10);
}

int numa_node_of_pci(int domain, int bus, int device, int function) {
  std::array<char, 80> path{};
  std::snprintf(path.data(), path.size(), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/numa_node", domain, bus, device,
                function);
  int node = -1;
  std::ifstream(path.data()) >> node;
  return node;
}

std::vector<std::vector<int>> count_hops(const std::vector<std::vector<int>>& links) {
  const std::size_t size = links.size();
  std::vector<std::vector<int>> hops(size, std::vector<int>(size, -1));
  for (std::size_t from = 0; from < size; ++from) {
    std::deque<std::size_t> next = {from};
    hops[from][from] = 0;
    while (!next.empty()) {
      const std::size_t here = next.front();
      next.pop_front();
      for (std::size_t there = 0; there < size; ++there)
        if (links[here][there] > 0 && hops[from][there] < 0) {
          hops[from][there] = hops[from][here] + 1;
          next.push_back(there);
        }
    }
  }
  return hops;
}

}  // namespace laneway::plugin
