#include "program_kernels.hpp"

#include "sim.hpp"

namespace laneway {
namespace {

const lnw_device_kernels& sim_kernels() {
  return *static_cast<const lnw_device_kernels*>(sim_device().table().extension(LNW_DEVICE_KERNELS_EXTENSION));
}

template <class T>
DeviceMemory on_device(const std::vector<T>& values) {
  DeviceMemory memory(sim_device(), values.size() * sizeof(T));
  write(memory.data(), values);
  return memory;
}

TEST(ProgramKernels, MultiplyInTheOrderOfRows) {
  const Stream stream(sim_device());
  for (const int width : {1, 5}) {
    const SparseProduct product(width);
    const DeviceMemory row_begin = on_device(product.row_begin), column = on_device(product.column);
    const DeviceMemory value = on_device(product.value), x = on_device(product.x);
    const DeviceMemory y(sim_device(), product.y.size() * sizeof(double));
    lnw_device_csr matrix = product.matrix;
    matrix.row_begin = reinterpret_cast<const std::int64_t*>(row_begin.data());
    matrix.column = reinterpret_cast<const std::int32_t*>(column.data());
    matrix.value = reinterpret_cast<const double*>(value.data());
    const auto multiply = [&](int columns) {
      return sim_kernels().multiply(0, stream.handle(), &matrix, reinterpret_cast<const double*>(x.data()),
                                    reinterpret_cast<double*>(y.data()), columns);
    };
    EXPECT_EQ(multiply(width), LNW_DEVICE_OK);
    EXPECT_EQ(multiply(0), LNW_DEVICE_INVALID);
    stream.synchronize();
    EXPECT_EQ(read<double>(y.data(), product.y.size()), product.y);
  }
}

TEST(ProgramKernels, MoveElementsByIndex) {
  const Stream stream(sim_device());
  const Elements elements(1000);
  const DeviceMemory values = on_device(elements.values), index = on_device(elements.index);
  const DeviceMemory moved(sim_device(), values.bytes());
  const auto move = [&](const std::uint32_t* to_index, const std::uint32_t* from_index) {
    EXPECT_EQ(sim_kernels().move_elements(0, stream.handle(), reinterpret_cast<std::uint64_t*>(moved.data()), to_index,
                                          reinterpret_cast<const std::uint64_t*>(values.data()), from_index, 1000),
              LNW_DEVICE_OK);
    stream.synchronize();
    return read<std::uint64_t>(moved.data(), 1000);
  };
  const auto* const places = reinterpret_cast<const std::uint32_t*>(index.data());
  EXPECT_EQ(move(nullptr, places), elements.gathered);
  EXPECT_EQ(move(places, nullptr), elements.scattered);
}

}  // namespace
}  // namespace laneway
