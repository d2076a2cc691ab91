#include "plan/memory_path.hpp"

#include <array>

namespace laneway {

namespace {

constexpr std::array rows = {
    MemoryPathRow{"auto", MemoryPath::automatic},
    MemoryPathRow{"staged", MemoryPath::staged},
    MemoryPathRow{"md", MemoryPath::staged},
    MemoryPathRow{"dd", MemoryPath::borrowed},
};

}  // namespace

std::span<const MemoryPathRow> memory_paths() {
  return rows;
}

}  // namespace laneway
