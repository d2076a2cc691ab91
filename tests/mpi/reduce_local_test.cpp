// The loops that stand in for MPI_Reduce_local against it, bit for bit, with small numbers.
#include "mpi/reduce_local.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include "predefined_types.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class ReduceLocal : public MpiTest {};

TEST_F(ReduceLocal, AsMpi) {
  constexpr std::size_t count = 37;
  Random random(5);
  int pairs = 0;
  for (const PredefinedType& type : predefined_types())
    for (const PredefinedOperator& op : operators_of(type)) {
      std::vector<std::byte> in(count * type.bytes), mine(in.size());
      for (std::vector<std::byte>* const operand : {&in, &mine}) {
        for (std::size_t i = 0; i < count; ++i) type.fill(random, operand->data() + i * type.bytes);
        clear_unused(type, *operand);
      }
      std::vector<std::byte> expected = mine;
      const std::vector<std::byte> before = mine;
      ASSERT_EQ(MPI_Reduce_local(in.data(), expected.data(), count, type.type, op.op), MPI_SUCCESS);
      const bool is_known = reduce_by_loops(nullptr, nullptr, 0, type.type, op.op);
      EXPECT_EQ(reduce_by_loops(in.data(), mine.data(), count, type.type, op.op), is_known);
      clear_unused(type, mine);
      clear_unused(type, expected);
      EXPECT_EQ(mine, is_known ? expected : before) << op.name << " of " << type.name;
      pairs += is_known;
    }
  EXPECT_GT(pairs, 150);
}

}  // namespace
}  // namespace laneway::test
