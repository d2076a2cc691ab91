#include "combine_numbers.hpp"

#include "sim.hpp"

namespace laneway {
namespace {

/// One buffer on the device, the other the host's.
TEST(DeviceCombine, EveryOperatorAndNumberAsAPlainLoop) {
  const Stream stream(sim_device());
  for (int operation = first_operation; operation <= last_operation; ++operation)
    for_each_number([&]<class T>(T) {
      using Type = typename T::type;
      if (operation > last_operation_of<Type>) return;
      const CombinedNumbers<Type> numbers(operation);
      const std::size_t bytes = numbers.from.size() * sizeof(Type);
      const DeviceMemory from(sim_device(), bytes, MemoryKind::pinned);
      const DeviceMemory to(sim_device(), bytes);
      write(from.data(), numbers.from);
      write(to.data(), numbers.to);
      const Moves moves(sim_device(), {operation, T::number, sizeof(Type)}, numbers.runs);
      const std::vector<void*> bases = {from.data(), to.data()};
      moves.launch(stream, bases);
      stream.synchronize();
      EXPECT_EQ(read<Type>(to.data(), numbers.expected.size()), numbers.expected)
          << "operation " << operation << ", number " << T::number;
    });
}

TEST(DeviceCombine, RefusesWhatItDoesNotKnow) {
  ASSERT_TRUE(can_combine(sim_device()));
  const std::vector<lnw_device_run> runs = {{0, 0, 12, 0, 0, 1, 0, 1}};
  EXPECT_THROW(Moves(sim_device(), {LNW_DEVICE_SUM, LNW_DEVICE_FLOAT64, 8}, runs), Error) << "a part of a number";
  EXPECT_THROW(Moves(sim_device(), {last_operation + 1, LNW_DEVICE_INT32, 4}, runs), Error);
  EXPECT_THROW(Moves(sim_device(), {LNW_DEVICE_SUM, LNW_DEVICE_UINT16 + 1, 4}, runs), Error);
  EXPECT_THROW(Moves(sim_device(), {LNW_DEVICE_BAND, LNW_DEVICE_FLOAT32, 4}, runs), Error) << "bits of real numbers";
  const std::vector<lnw_device_run> twice = {{0, 0, 8, 0, 0, 1, 0, 1}, {8, 4, 4, 0, 0, 1, 0, 1}};
  EXPECT_THROW(Moves(sim_device(), {LNW_DEVICE_SUM, LNW_DEVICE_INT32, 4}, twice), Error) << "a place twice";
}

}  // namespace
}  // namespace laneway
