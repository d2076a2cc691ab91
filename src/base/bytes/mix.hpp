#pragma once

#include <cstdint>

namespace laneway {

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014, Figure 13).
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

}  // namespace laneway
