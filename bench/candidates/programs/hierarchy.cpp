#include "candidates/programs/hierarchy.hpp"

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <_hypre_parcsr_ls.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <sstream>
#include <vector>

#include "base/error.hpp"
#include "matrix/generators.hpp"
#include "matrix/halo.hpp"

namespace laneway::bench {

namespace {

// The numbers that hypre gives these methods.
constexpr HYPRE_Int hmis_coarsening = 10;
constexpr HYPRE_Int extended_i_interpolation = 6;
constexpr HYPRE_Int forward_job = 1;
constexpr HYPRE_Int coarse_point = 1;

void check_hypre(const char* what) {
  const HYPRE_Int code = HYPRE_GetError();
  if (code == 0) return;
  std::array<char, 256> text{};
  HYPRE_DescribeError(code, text.data());
  throw Error(ErrorKind::internal, std::string("hypre, ") + what + ": " + text.data());
}

/// A grid in rectangular blocks, one for each rank; points are numbered block after block, in a block x first.
class BlockGrid {
 public:
  BlockGrid(std::int64_t nx, std::int64_t ny, int ranks) {
    std::array<int, 2> blocks{};
    MPI_Dims_create(ranks, 2, blocks.data());
    require(nx >= blocks[0] && ny >= blocks[1], ErrorKind::argument,
            "a grid of " + std::to_string(nx) + " x " + std::to_string(ny) + " points is too small for " +
                std::to_string(blocks[0]) + " x " + std::to_string(blocks[1]) + " ranks");
    require(
        nx <= std::numeric_limits<HYPRE_BigInt>::max() / ny, ErrorKind::argument,
        "a grid of " + std::to_string(nx) + " x " + std::to_string(ny) + " points is too large for hypre's integers");
    x_begin_ = matrix::row_blocks(nx, blocks[0]);
    y_begin_ = matrix::row_blocks(ny, blocks[1]);
  }

  [[nodiscard]] bool contains(std::int64_t x, std::int64_t y) const {
    return x >= 0 && x < x_begin_.back() && y >= 0 && y < y_begin_.back();
  }

  /// The least number of a rank's points; of the rank after the last one: how many points there are.
  [[nodiscard]] HYPRE_BigInt first_of(int rank) const {
    const auto across = std::ssize(x_begin_) - 1;
    if (rank == across * (std::ssize(y_begin_) - 1))
      return static_cast<HYPRE_BigInt>(x_begin_.back() * y_begin_.back());
    return number(part(x_begin_, rank % across).begin, part(y_begin_, rank / across).begin);
  }

  [[nodiscard]] HYPRE_BigInt number(std::int64_t x, std::int64_t y) const {
    const Part columns = part(x_begin_, index(x_begin_, x));
    const Part rows = part(y_begin_, index(y_begin_, y));
    const std::int64_t before = rows.begin * x_begin_.back() + columns.begin * rows.size();
    return static_cast<HYPRE_BigInt>(before + (y - rows.begin) * columns.size() + x - columns.begin);
  }

  /// Calls `body(x, y)` for the points of a rank in the order of their numbers.
  template <class F>
  void for_each_point(int rank, F&& body) const {
    const auto across = std::ssize(x_begin_) - 1;
    const Part columns = part(x_begin_, rank % across);
    const Part rows = part(y_begin_, rank / across);
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t x = columns.begin; x < columns.end; ++x) body(x, y);
  }

 private:
  struct Part {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    [[nodiscard]] std::int64_t size() const { return end - begin; }
  };

  static std::int64_t index(const std::vector<std::int64_t>& begins, std::int64_t at) {
    return std::ranges::upper_bound(begins, at) - begins.begin() - 1;
  }
  static Part part(const std::vector<std::int64_t>& begins, std::int64_t index) {
    return {begins[static_cast<std::size_t>(index)], begins[static_cast<std::size_t>(index) + 1]};
  }

  std::vector<std::int64_t> x_begin_;
  std::vector<std::int64_t> y_begin_;
};

HYPRE_IJMatrix assemble(MPI_Comm comm, const Diffusion& problem) {
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const BlockGrid grid(problem.nx, problem.ny, ranks);
  const auto stencil = matrix::rotated_diffusion_stencil(problem.angle, problem.epsilon, problem.points);
  std::vector<HYPRE_BigInt> rows;
  std::vector<HYPRE_Int> row_sizes;
  std::vector<HYPRE_BigInt> columns;
  std::vector<HYPRE_Complex> values;
  grid.for_each_point(rank, [&](std::int64_t x, std::int64_t y) {
    const std::size_t before = columns.size();
    for (const matrix::StencilPoint& point : stencil) {
      if (!grid.contains(x + point.dx, y + point.dy)) continue;
      columns.push_back(grid.number(x + point.dx, y + point.dy));
      values.push_back(point.value);
    }
    rows.push_back(grid.number(x, y));
    row_sizes.push_back(static_cast<HYPRE_Int>(columns.size() - before));
  });
  HYPRE_IJMatrix matrix = nullptr;
  HYPRE_IJMatrixCreate(comm, rows.front(), rows.back(), rows.front(), rows.back(), &matrix);
  HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
  HYPRE_IJMatrixInitialize(matrix);
  HYPRE_IJMatrixSetValues(matrix, static_cast<HYPRE_Int>(rows.size()), row_sizes.data(), rows.data(), columns.data(),
                          values.data());
  HYPRE_IJMatrixAssemble(matrix);
  check_hypre("matrix");
  return matrix;
}

/// Appends the peers of one side of a communication package; `starts` has one entry more than there are peers.
void add_peers(Side& side, HYPRE_Int count, const HYPRE_Int* peers, const HYPRE_Int* starts) {
  for (HYPRE_Int i = 0; i < count; ++i) {
    side.peers.push_back(static_cast<Rank>(peers[i]));
    side.counts.push_back(static_cast<int>(starts[i + 1] - starts[i]));
  }
}

class Hypre final : public EdgeCandidate {
 public:
  Hypre(const Task& task, hypre_ParCSRCommPkg* package) : EdgeCandidate(task), blocks_(task), package_(package) {}

  void start() override {
    blocks_.pack();
    handle_ =
        hypre_ParCSRCommHandleCreate(forward_job, package_, const_cast<std::byte*>(blocks_.send), blocks_.receive);
  }
  bool test() override { return false; }
  void wait() override { hypre_ParCSRCommHandleDestroy(handle_); }

 private:
  Blocks blocks_;
  hypre_ParCSRCommPkg* package_;
  hypre_ParCSRCommHandle* handle_ = nullptr;
};

}  // namespace

std::string Diffusion::description() const {
  std::ostringstream text;
  text << "nx=" << nx << ",ny=" << ny << ",angle=" << angle << ",epsilon=" << epsilon << ",points=" << points;
  return text.str();
}

class Hierarchy::Solver {
 public:
  Solver(MPI_Comm comm, const Diffusion& problem) {
    HYPRE_Init();
    matrix_ = assemble(comm, problem);
    void* finest = nullptr;
    HYPRE_IJMatrixGetObject(matrix_, &finest);
    auto* a = static_cast<hypre_ParCSRMatrix*>(finest);
    right_side_ = hypre_ParVectorInRangeOf(a);
    solution_ = hypre_ParVectorInRangeOf(a);
    HYPRE_BoomerAMGCreate(&solver_);
    HYPRE_BoomerAMGSetCoarsenType(solver_, hmis_coarsening);
    HYPRE_BoomerAMGSetInterpType(solver_, extended_i_interpolation);
    HYPRE_BoomerAMGSetStrongThreshold(solver_, 0.25);
    hypre_BoomerAMGSetup(solver_, a, right_side_, solution_);
    check_hypre("BoomerAMG setup");
    for (int level = 0; level < levels(); ++level)
      if (package(level) == nullptr) hypre_MatvecCommPkgCreate(matrix(level));
  }
  ~Solver() {
    HYPRE_BoomerAMGDestroy(solver_);
    hypre_ParVectorDestroy(solution_);
    hypre_ParVectorDestroy(right_side_);
    HYPRE_IJMatrixDestroy(matrix_);
    HYPRE_Finalize();
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  [[nodiscard]] int levels() const { return static_cast<int>(hypre_ParAMGDataNumLevels(data())); }
  [[nodiscard]] hypre_ParCSRMatrix* matrix(int level) const { return hypre_ParAMGDataAArray(data())[level]; }
  [[nodiscard]] hypre_ParCSRCommPkg* package(int level) const { return hypre_ParCSRMatrixCommPkg(matrix(level)); }

  /// Rows of the finest level, one for each row of a level. All rows are on this rank.
  [[nodiscard]] std::vector<HYPRE_Int> points(int level) const {
    std::vector<HYPRE_Int> points(static_cast<std::size_t>(hypre_ParCSRMatrixGlobalNumRows(matrix(0))));
    std::iota(points.begin(), points.end(), 0);
    for (int finer = 0; finer < level; ++finer) {
      const HYPRE_Int* kind = hypre_IntArrayData(hypre_ParAMGDataCFMarkerArray(data())[finer]);
      std::vector<HYPRE_Int> coarse;
      for (HYPRE_Int point : points)
        if (*kind++ == coarse_point) coarse.push_back(point);
      points = std::move(coarse);
    }
    require(std::ssize(points) == hypre_ParCSRMatrixGlobalNumRows(matrix(level)), ErrorKind::internal,
            "hypre's marks of level " + std::to_string(level) + " are not those of its rows");
    return points;
  }

 private:
  [[nodiscard]] hypre_ParAMGData* data() const { return reinterpret_cast<hypre_ParAMGData*>(solver_); }

  HYPRE_IJMatrix matrix_ = nullptr;
  hypre_ParVector* right_side_ = nullptr;
  hypre_ParVector* solution_ = nullptr;
  HYPRE_Solver solver_ = nullptr;
};

Hierarchy::Hierarchy(MPI_Comm comm, const Diffusion& problem)
    : problem_(problem), solver_(std::make_unique<Solver>(comm, problem)) {}

Hierarchy::~Hierarchy() = default;

int Hierarchy::levels() const {
  return solver_->levels();
}

std::int64_t Hierarchy::rows(int level) const {
  return hypre_ParCSRMatrixGlobalNumRows(solver_->matrix(level));
}

Exchange Hierarchy::exchange(int level) const {
  hypre_ParCSRMatrix* matrix = solver_->matrix(level);
  const hypre_ParCSRCommPkg* package = solver_->package(level);
  Exchange exchange{Op::alltoallv, true, sizeof(HYPRE_Complex), {}, {}};

  Side& send = exchange.send;
  const HYPRE_Int* send_starts = hypre_ParCSRCommPkgSendMapStarts(package);
  const HYPRE_Int* elements = hypre_ParCSRCommPkgSendMapElmts(package);
  const HYPRE_Int send_count = hypre_ParCSRCommPkgNumSends(package);
  add_peers(send, send_count, hypre_ParCSRCommPkgSendProcs(package), send_starts);
  send.indices.assign(elements, elements + send_starts[send_count]);
  send.labels.resize(static_cast<std::size_t>(hypre_ParCSRMatrixNumCols(matrix)));
  std::iota(send.labels.begin(), send.labels.end(), static_cast<std::uint64_t>(hypre_ParCSRMatrixFirstColDiag(matrix)));

  Side& receive = exchange.receive;
  const HYPRE_Int* receive_starts = hypre_ParCSRCommPkgRecvVecStarts(package);
  const HYPRE_Int receive_count = hypre_ParCSRCommPkgNumRecvs(package);
  const HYPRE_BigInt* columns = hypre_ParCSRMatrixColMapOffd(matrix);
  add_peers(receive, receive_count, hypre_ParCSRCommPkgRecvProcs(package), receive_starts);
  receive.labels.assign(columns, columns + receive_starts[receive_count]);
  receive.indices.resize(receive.labels.size());
  std::iota(receive.indices.begin(), receive.indices.end(), std::int64_t{0});
  return exchange;
}

std::vector<Exchange> Hierarchy::exchanges(int level, int ranks) const {
  const BlockGrid grid(problem_.nx, problem_.ny, ranks);
  const std::vector<HYPRE_Int> points = solver_->points(level);
  const auto number = [&](std::size_t row) {
    return grid.number(points[row] % problem_.nx, points[row] / problem_.nx);
  };
  std::vector<std::size_t> order(points.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, number);
  std::vector<std::int64_t> blocks;
  for (int rank = 0; rank <= ranks; ++rank)
    blocks.push_back(std::ranges::lower_bound(order, grid.first_of(rank), {}, number) - order.begin());
  std::vector<std::int64_t> place(points.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);

  const hypre_CSRMatrix* matrix = hypre_ParCSRMatrixDiag(solver_->matrix(level));
  const HYPRE_Int* row_begin = hypre_CSRMatrixI(matrix);
  const HYPRE_Int* column = hypre_CSRMatrixJ(matrix);
  matrix::Csr renumbered;
  renumbered.rows = renumbered.columns = std::ssize(points);
  for (std::size_t row : order) {
    const auto begin = std::ssize(renumbered.column);
    std::transform(column + row_begin[row], column + row_begin[row + 1], std::back_inserter(renumbered.column),
                   [&](HYPRE_Int c) { return place[static_cast<std::size_t>(c)]; });
    std::sort(renumbered.column.begin() + begin, renumbered.column.end());
    renumbered.row_begin.push_back(renumbered.nonzeros());
  }
  renumbered.value.resize(renumbered.column.size());
  std::vector<Exchange> result;
  for (const matrix::Halo& halo : matrix::halos(renumbered, blocks))
    result.push_back(halo_exchange(halo, sizeof(HYPRE_Complex)));
  return result;
}

OwnCandidate Hierarchy::candidate(int level) const {
  return {"hypre", [package = solver_->package(level)](const Task& task) -> std::unique_ptr<Candidate> {
            return std::make_unique<Hypre>(task, package);
          }};
}

}  // namespace laneway::bench
