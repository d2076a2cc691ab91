#include "candidates/programs/device_product.hpp"

#include "base/error.hpp"

namespace laneway::bench {

template <class T>
DeviceMemory DeviceProduct::uploaded(std::span<const T> values) const {
  DeviceMemory memory(buffers_.stream().device(), values.size_bytes());
  buffers_.stream().copy(memory.data(), values.data(), values.size_bytes());
  buffers_.stream().synchronize();
  return memory;
}

DeviceProduct::DeviceProduct(const DeviceBuffers& buffers, const matrix::Csr& matrix, int width)
    : buffers_(buffers), kernels_(find_kernels(buffers.stream().device())), width_(width) {
  require(kernels_ != nullptr, ErrorKind::unsupported, "the device plugin has no kernels of programs");
  const std::vector<std::int32_t> columns(matrix.column.begin(), matrix.column.end());
  row_begin_ = uploaded<std::int64_t>(matrix.row_begin);
  column_ = uploaded<std::int32_t>(columns);
  value_ = uploaded<double>(matrix.value);
  y_ = DeviceMemory(buffers.stream().device(), static_cast<std::size_t>(matrix.rows * width) * sizeof(double));
  matrix_ = {matrix.rows, matrix.columns, reinterpret_cast<const std::int64_t*>(row_begin_.data()),
             reinterpret_cast<const std::int32_t*>(column_.data()), reinterpret_cast<const double*>(value_.data())};
}

void DeviceProduct::multiply() const {
  const Stream& stream = buffers_.stream();
  const Device device = stream.device();
  const auto* const x = reinterpret_cast<const double*>(buffers_.get().send.data());
  auto* const y = reinterpret_cast<double*>(y_.data());
  device.check(kernels_->multiply(device.number(), stream.handle(), &matrix_, x, y, width_), "multiply");
  stream.synchronize();
}

std::vector<double> DeviceProduct::result() const {
  std::vector<double> y(y_.bytes() / sizeof(double));
  buffers_.stream().copy(y.data(), y_.data(), y_.bytes());
  buffers_.stream().synchronize();
  return y;
}

}  // namespace laneway::bench
