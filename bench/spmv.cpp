#include <cmath>
#include <cstdlib>
#include <limits>
#include <memory>

#include "commands.hpp"
#include "compare.hpp"
#include "matrix/halo.hpp"
#include "specs.hpp"

namespace laneway::bench {

namespace {

struct Options {
  std::vector<std::string> matrices;
  CompareOptions compare;
};

/// y = A x by rows in contiguous blocks; x_j = number(j, salt).
class DistributedProduct {
 public:
  DistributedProduct(const Run& run, std::shared_ptr<const matrix::Csr> matrix)
      : matrix_(std::move(matrix)),
        halo_(matrix::halo(*matrix_, run.rank, run.ranks)),
        x_(static_cast<std::size_t>(halo_.local.columns)),
        y_(static_cast<std::size_t>(halo_.local.rows)) {}

  void multiply() { matrix::multiply(halo_.local, x_, y_); }

  /// Compares with sums over the rows of the whole matrix, which add up in another order.
  [[nodiscard]] bool check(std::uint64_t salt) const {
    for (std::int64_t row = 0; row < halo_.local.rows; ++row) {
      const auto begin = static_cast<std::size_t>(matrix_->row_begin[static_cast<std::size_t>(halo_.first_row + row)]);
      const auto end =
          static_cast<std::size_t>(matrix_->row_begin[static_cast<std::size_t>(halo_.first_row + row) + 1]);
      double sum = 0;
      double magnitude = 0;
      for (std::size_t k = begin; k < end; ++k) {
        const double term = matrix_->value[k] * number(static_cast<std::uint64_t>(matrix_->column[k]), salt);
        sum += term;
        magnitude += std::fabs(term);
      }
      const double rounding = 2 * static_cast<double>(end - begin) * std::numeric_limits<double>::epsilon() * magnitude;
      if (!(std::fabs(y_[static_cast<std::size_t>(row)] - sum) <= rounding)) return false;
    }
    return true;
  }

  /// Owned elements first, then the ghosts.
  [[nodiscard]] Buffers buffers() {
    const std::span<std::byte> all = std::as_writable_bytes(std::span(x_));
    const std::size_t owned = static_cast<std::size_t>(halo_.owned) * sizeof(double);
    return {all.first(owned), all.subspan(owned)};
  }

 private:
  std::shared_ptr<const matrix::Csr> matrix_;
  matrix::Halo halo_;
  std::vector<double> x_;
  std::vector<double> y_;
};

std::int64_t theory_net_bytes(const Run& run, const matrix::Csr& matrix) {
  return matrix::unique_values_between(matrix::halos(matrix, run.ranks), run.nodes.of) *
         static_cast<std::int64_t>(sizeof(double));
}

int spmv(const Run& run, const Options& options) {
  static_cast<void>(options.compare.candidates());
  const std::optional<double> goodput = find_goodput(run, options.compare);
  bool good = true;
  for (const std::string& spec : split_specs(options.matrices)) {
    const std::shared_ptr<const matrix::Csr> matrix = load_matrix(run, spec);
    const Workload workload{"matrix:" + spec, Op::alltoallv, sizeof(double), run.ranks, matrix};
    const Exchange exchange = workload.exchange(run.rank);
    DistributedProduct distributed(run, matrix);
    const Task task{run, exchange, distributed.buffers(), {}};
    const Product product{[&] { distributed.multiply(); }, [&](std::uint64_t salt) { return distributed.check(salt); },
                          run.is_root() ? theory_net_bytes(run, *matrix) : 0};
    good =
        publish(run, compare(run, "spmv", workload, task, options.compare, goodput, &product), options.compare) && good;
  }
  return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

void add_spmv(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("spmv", "Halo exchange of a row-distributed sparse matrix-vector product");
  command
      ->add_option("--matrix", options->matrices,
                   "Files (.mtx, .graph) or generators; separated by spaces or semicolons")
      ->required();
  add_options(*command, options->compare);
  command->callback([options, &action] {
    action = [options] {
      return with_mpi(options->compare.machine, [&](const Run& run) { return spmv(run, *options); });
    };
  });
}

}  // namespace laneway::bench
