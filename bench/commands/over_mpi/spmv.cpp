#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "candidates/devices/device_buffers.hpp"
#include "candidates/programs/device_product.hpp"
#include "commands.hpp"
#include "commands/compare.hpp"
#include "data/specs.hpp"
#include "matrix/halo.hpp"

namespace laneway::bench {

namespace {

struct SpmvOptions {
  std::vector<std::string> matrices;
  int columns = 1;
  CompareOptions compare;
  MemoryOptions memory;
};

/// Y = A X by rows in contiguous blocks; X has `width` columns, X_jk = number(j, salt + k).
class DistributedProduct {
 public:
  DistributedProduct(const Run& run, std::shared_ptr<const matrix::Csr> matrix, int width)
      : matrix_(std::move(matrix)),
        width_(width),
        halo_(matrix::halo(*matrix_, run.rank, run.ranks)),
        x_(static_cast<std::size_t>(halo_.local.columns * width)),
        y_(static_cast<std::size_t>(halo_.local.rows * width)) {}

  /// From now on it is computed there, from X in the buffers.
  void move_to(const DeviceBuffers& buffers) {
    on_device_ = std::make_unique<DeviceProduct>(buffers, halo_.local, width_);
  }

  void multiply() {
    if (on_device_)
      on_device_->multiply();
    else
      matrix::multiply(halo_.local, x_, y_, width_);
  }

  [[nodiscard]] bool check(std::uint64_t salt) {
    if (on_device_ && !agrees_with_host(on_device_->result())) return false;
    for (std::int64_t row = 0; row < halo_.local.rows; ++row)
      for (int column = 0; column < width_; ++column)
        if (!check(row, column, salt)) return false;
    return true;
  }

  /// Owned elements first, then the ghosts.
  [[nodiscard]] Buffers buffers() {
    const std::span<std::byte> all = std::as_writable_bytes(std::span(x_));
    const std::size_t owned = static_cast<std::size_t>(halo_.owned * width_) * sizeof(double);
    return {all.first(owned), all.subspan(owned)};
  }

 private:
  /// Bit for bit; leaves the host's result in y.
  [[nodiscard]] bool agrees_with_host(const std::vector<double>& result) {
    matrix::multiply(halo_.local, x_, y_, width_);
    return std::memcmp(result.data(), y_.data(), y_.size() * sizeof(double)) == 0;
  }

  /// Compares with a sum over the row of the whole matrix, which adds up in another order.
  [[nodiscard]] bool check(std::int64_t row, int column, std::uint64_t salt) const {
    const auto begin = static_cast<std::size_t>(matrix_->row_begin[static_cast<std::size_t>(halo_.first_row + row)]);
    const auto end = static_cast<std::size_t>(matrix_->row_begin[static_cast<std::size_t>(halo_.first_row + row) + 1]);
    double sum = 0;
    double magnitude = 0;
    for (std::size_t k = begin; k < end; ++k) {
      const double x = number(static_cast<std::uint64_t>(matrix_->column[k]), salt + static_cast<unsigned>(column));
      const double term = matrix_->value[k] * x;
      sum += term;
      magnitude += std::fabs(term);
    }
    const double rounding = 2 * static_cast<double>(end - begin) * std::numeric_limits<double>::epsilon() * magnitude;
    return std::fabs(y_[static_cast<std::size_t>(row * width_ + column)] - sum) <= rounding;
  }

  std::shared_ptr<const matrix::Csr> matrix_;
  int width_;
  matrix::Halo halo_;
  std::vector<double> x_;
  std::vector<double> y_;
  std::unique_ptr<DeviceProduct> on_device_;
};

/// Of elements of `bytes` bytes.
std::int64_t theory_net_bytes(const Run& run, const matrix::Csr& matrix, std::int64_t bytes) {
  return matrix::unique_values_between(matrix::halos(matrix, run.ranks), run.nodes.of) * bytes;
}

bool multiply(const Run& run, const char* benchmark, const std::string& spec, const SpmvOptions& options,
              std::optional<double> goodput) {
  const std::shared_ptr<const matrix::Csr> matrix = load_matrix(run, spec);
  const std::int64_t element_bytes = options.columns * static_cast<std::int64_t>(sizeof(double));
  Workload workload{"matrix:" + spec, Op::alltoallv, element_bytes, run.ranks, matrix};
  workload.memory = options.memory.memory;
  workload.path = options.memory.path;
  const Exchange exchange = workload.exchange(run.rank);
  require_edges(run, exchange, spec);
  DistributedProduct distributed(run, matrix, options.columns);
  Task task{run, exchange, distributed.buffers(), {}};
  const std::unique_ptr<DeviceBuffers> on_device = make_device_buffers(run, task.buffers, options.memory);
  task.on_device = on_device.get();
  task.path = options.memory.path;
  if (on_device) distributed.move_to(*on_device);
  const Product product{[&] { distributed.multiply(); }, [&](std::uint64_t salt) { return distributed.check(salt); },
                        run.is_root() ? theory_net_bytes(run, *matrix, element_bytes) : 0};
  return publish(run, compare(run, benchmark, workload, task, options.compare, goodput, &product), options.compare);
}

int multiply_all(const Run& run, const char* benchmark, const SpmvOptions& options) {
  static_cast<void>(options.compare.candidates());
  const std::optional<double> goodput = find_goodput(run, options.compare);
  bool good = true;
  for (const std::string& spec : split_specs(options.matrices))
    good = multiply(run, benchmark, spec, options, goodput) && good;
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_product(CLI::App& command, Action& action, const char* name, const std::shared_ptr<SpmvOptions>& options) {
  command
      .add_option("--matrix", options->matrices,
                  "Files (.mtx, .graph) or generators; separated by spaces or semicolons")
      ->required();
  add_options(command, options->compare);
  add_options(command, options->memory);
  command.callback([options, name, &action] {
    action = [options, name] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return multiply_all(run, name, *options); });
    };
  });
}

void add_spmv(CLI::App& command, Action& action) {
  add_product(command, action, "spmv", std::make_shared<SpmvOptions>());
}

void add_spmm(CLI::App& command, Action& action) {
  auto options = std::make_shared<SpmvOptions>();
  options->columns = 16;
  add_product(command, action, "spmm", options);
  command.add_option("--columns", options->columns, "Of the dense matrix")
      ->check(CLI::Range(1, 1 << 16))
      ->capture_default_str();
}

}  // namespace

std::vector<Command> spmv_commands() {
  return {{"spmv", Topic::programs, "Halo exchange of a row-distributed sparse matrix-vector product", add_spmv},
          {"spmm", Topic::programs, "The same for a product with a dense matrix of some columns", add_spmm}};
}

}  // namespace laneway::bench
