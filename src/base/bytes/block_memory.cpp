#include "base/bytes/block_memory.hpp"

#include <sys/mman.h>

#include <cstdlib>
#include <new>
#include <string_view>

namespace laneway {

namespace {

constexpr std::size_t page = 4096;

std::byte* map_at(std::uintptr_t where, std::size_t bytes) {
  void* const data = mmap(reinterpret_cast<void*>(where), bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  return data == MAP_FAILED ? nullptr : static_cast<std::byte*>(data);
}

/// Addresses that nothing else has. Which are next is in the first page of all, since simulated ranks have globals of
/// their own, but one address space.
std::byte* reserve(std::size_t bytes) {
  auto* const next = reinterpret_cast<std::uintptr_t*>(unmoved_begin);
  if (map_at(unmoved_begin, page) != nullptr) *next = unmoved_begin + page;
  std::byte* const data = bytes <= unmoved_end - *next ? map_at(*next, bytes) : nullptr;
  if (data == nullptr) throw std::bad_alloc();
  *next += (bytes + page - 1) / page * page;
  return data;
}

}  // namespace

bool moves_data() {
  static const bool moves = [] {
    const char* const data = std::getenv("LANEWAY_SIMULATION_DATA");
    return !simulated || data == nullptr || std::string_view(data) != "0";
  }();
  return moves;
}

BlockMemory::BlockMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  data_ = {moves_data() ? new std::byte[bytes] : reserve(bytes), ReleaseBlocks{bytes}};
}

void ReleaseBlocks::operator()(std::byte* data) const {
  if (is_unmoved(data))
    munmap(data, bytes);
  else
    delete[] data;
}

}  // namespace laneway
