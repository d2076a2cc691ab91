#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "runtime/executor/combine.hpp"

namespace laneway {
namespace {

struct Pair {
  int first;
  int last;

  friend bool operator==(const Pair&, const Pair&) = default;
};

std::byte* bytes_of(std::vector<Pair>& pairs) {
  return reinterpret_cast<std::byte*>(pairs.data());
}

/// Calls of few elements each give what one call of all gives; operands are exchanged unless they must not be.
TEST(Combining, InPartsIsAsAtOnce) {
  for (const bool in_order : {false, true})
    for (const std::size_t elements : {0, 1, 2, 3, 4, 7, 9}) {
      std::vector<std::int64_t> calls;
      const auto combine = [&](std::int64_t most) {
        std::vector<Pair> from, to;
        for (int i = 0; i < static_cast<int>(elements); ++i) {
          from.push_back({1000 + i, 2000 + i});
          to.push_back({i, -i});
        }
        calls.clear();
        // From the first operand and the last: it does not commute.
        combine_in_parts(bytes_of(from), bytes_of(to), static_cast<std::int64_t>(elements * sizeof(Pair)),
                         {.element_bytes = sizeof(Pair), .in_order = in_order, .most = most},
                         [&](const std::byte* in, std::byte* inout, std::int64_t n) {
                           calls.push_back(n);
                           for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
                             Pair a, b;
                             std::memcpy(&a, in + i * sizeof a, sizeof a);
                             std::memcpy(&b, inout + i * sizeof b, sizeof b);
                             b = {a.first, b.last};
                             std::memcpy(inout + i * sizeof b, &b, sizeof b);
                           }
                         });
        return to;
      };
      const std::vector<Pair> at_once = combine(1000);
      EXPECT_EQ(calls.size(), elements > 0 ? 1U : 0U);
      for (int i = 0; i < static_cast<int>(elements); ++i)
        EXPECT_EQ(at_once[static_cast<std::size_t>(i)], (in_order ? Pair{i, 2000 + i} : Pair{1000 + i, -i}));
      EXPECT_EQ(combine(3), at_once);
      EXPECT_EQ(calls.size(), (elements + 2) / 3);
      for (const std::int64_t n : calls) EXPECT_LE(n, 3);
    }
}

}  // namespace
}  // namespace laneway
