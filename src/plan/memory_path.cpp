#include "plan/memory_path.hpp"

#include <algorithm>
#include <array>

namespace laneway {

namespace {

constexpr std::array rows = {
    MemoryPathRow{"auto", MemoryPath::automatic},      MemoryPathRow{"staged", MemoryPath::staged},
    MemoryPathRow{"md", MemoryPath::staged},           MemoryPathRow{"dd", MemoryPath::borrowed},
    MemoryPathRow{"device", MemoryPath::device_aware},
};

}  // namespace

std::span<const MemoryPathRow> memory_paths() {
  return rows;
}

std::string_view name(MemoryPath path) {
  return std::find_if(rows.begin(), rows.end(), [path](const MemoryPathRow& row) { return row.path == path; })->name;
}

}  // namespace laneway
