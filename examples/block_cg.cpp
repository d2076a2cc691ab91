// Conjugate gradients for several right-hand sides at once (D. P. O'Leary, The block conjugate gradient algorithm and
// related methods, 1980): each iteration multiplies a sparse matrix by a block of vectors, whose rows travel together.
// The same systems one after another take as many exchanges for each.
#include <laneway/laneway.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace {

constexpr int rows = 600;
constexpr int columns = 8;
constexpr int most_iterations = 500;
constexpr double tolerance = 1e-10;

using Numbers = std::vector<double>;

/// The neighbours of a row of A, a graph's Laplacian plus a tenth of the identity: a ring, and chords across it.
std::set<int> neighbors_of(int row) {
  std::set<int> all = {(row + 1) % rows, (row + rows - 1) % rows};
  const auto chord = [](int from) { return (7 * from + 31) % rows; };
  all.insert(chord(row));
  for (int from = 0; from < rows; ++from)
    if (chord(from) == row) all.insert(from);
  all.erase(row);
  return all;
}

double solution(int row, int column) {
  return std::sin(1.0 + 0.37 * row * (column + 1)) + 0.1 * column;
}

/// Rows of A by ranks in contiguous blocks, and the halo of what their product needs.
struct Matrix {
  int first = 0, owned = 0;
  std::vector<std::vector<int>> places;  // by row: where its neighbours are in an array with ghosts
  LNW_Halo halo = LNW_HALO_NULL;
  int elements = 0;

  Matrix(int rank, int size) : first(rows * rank / size), owned(rows * (rank + 1) / size - first) {
    std::vector<MPI_Count> ghosts;
    std::map<int, int> place;
    for (int row = first; row < first + owned; ++row) {
      std::vector<int>& own = places.emplace_back();
      for (const int neighbor : neighbors_of(row)) {
        if (neighbor >= first && neighbor < first + owned) {
          own.push_back(neighbor - first);
          continue;
        }
        const auto [at, is_new] = place.emplace(neighbor, owned + static_cast<int>(ghosts.size()));
        if (is_new) ghosts.push_back(neighbor);
        own.push_back(at->second);
      }
    }
    elements = owned + static_cast<int>(ghosts.size());
    LNW_Halo_create(MPI_COMM_WORLD, first, owned, static_cast<MPI_Count>(ghosts.size()), ghosts.data(), MPI_INFO_NULL,
                    &halo);
  }
  ~Matrix() { LNW_Halo_free(&halo); }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
};

/// Solves for `width` columns of the right-hand sides, from column `column` on.
class Solver {
 public:
  Solver(const Matrix& matrix, int column, int width)
      : matrix_(matrix), column_(column), width_(width), x_(size()), r_(size()), q_(size()), p_(places()) {
    MPI_Datatype row = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(width, MPI_DOUBLE, &row);
    MPI_Type_commit(&row);
    LNW_Halo_init(matrix.halo, p_.data(), row, MPI_INFO_NULL, &exchange_);
    MPI_Type_free(&row);
    gram_.resize(static_cast<std::size_t>(width * width));
    LNW_Allreduce_init(MPI_IN_PLACE, gram_.data(), width * width, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &sum_);
  }
  ~Solver() {
    LNW_Request_free(&exchange_);
    LNW_Request_free(&sum_);
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// How many products it took.
  int solve() {
    // The right-hand sides are A times the solutions.
    for (int i = 0; i < matrix_.owned; ++i)
      for (int c = 0; c < width_; ++c) at(p_, i, c) = solution(matrix_.first + i, column_ + c);
    multiply();
    r_ = q_;
    std::copy(r_.begin(), r_.end(), p_.begin());
    Numbers rho = products(r_, r_);
    const double least = tolerance * tolerance * trace(rho);
    int iterations = 0;
    while (trace(rho) > least && iterations < most_iterations) {
      multiply();
      ++iterations;
      const Numbers alpha = divided(products(p_, q_), rho);
      add(x_, p_, alpha, 1);
      add(r_, q_, alpha, -1);
      const Numbers next = products(r_, r_);
      const Numbers beta = divided(rho, next);
      Numbers direction = r_;
      add(direction, p_, beta, 1);
      std::copy(direction.begin(), direction.end(), p_.begin());
      rho = next;
    }
    return iterations;
  }
  [[nodiscard]] double error() const {
    double most = 0;
    for (int i = 0; i < matrix_.owned; ++i)
      for (int c = 0; c < width_; ++c) {
        const double found = x_[static_cast<std::size_t>(i * width_ + c)];
        most = std::max(most, std::abs(found - solution(matrix_.first + i, column_ + c)));
      }
    return most;
  }

 private:
  [[nodiscard]] std::size_t size() const { return static_cast<std::size_t>(matrix_.owned * width_); }
  [[nodiscard]] std::size_t places() const { return static_cast<std::size_t>(matrix_.elements * width_); }
  double& at(Numbers& block, int row, int column) { return block[static_cast<std::size_t>(row * width_ + column)]; }

  /// Q = A P.
  void multiply() {
    LNW_Start(&exchange_);
    LNW_Wait(&exchange_, MPI_STATUS_IGNORE);
    for (int i = 0; i < matrix_.owned; ++i) {
      const std::vector<int>& others = matrix_.places[static_cast<std::size_t>(i)];
      for (int c = 0; c < width_; ++c) {
        double sum = (0.1 + static_cast<double>(others.size())) * at(p_, i, c);
        for (const int other : others) sum -= at(p_, other, c);
        at(q_, i, c) = sum;
      }
    }
  }
  /// Of all ranks: A^T B, for the own rows of blocks.
  Numbers products(const Numbers& a, const Numbers& b) {
    std::fill(gram_.begin(), gram_.end(), 0.0);
    for (int i = 0; i < matrix_.owned; ++i)
      for (int j = 0; j < width_; ++j)
        for (int k = 0; k < width_; ++k)
          gram_[static_cast<std::size_t>(j * width_ + k)] +=
              a[static_cast<std::size_t>(i * width_ + j)] * b[static_cast<std::size_t>(i * width_ + k)];
    LNW_Start(&sum_);
    LNW_Wait(&sum_, MPI_STATUS_IGNORE);
    return gram_;
  }
  [[nodiscard]] double trace(const Numbers& square) const {
    double sum = 0;
    for (int j = 0; j < width_; ++j) sum += square[static_cast<std::size_t>(j * width_ + j)];
    return sum;
  }
  /// A^-1 B of square blocks, by elimination with pivots.
  [[nodiscard]] Numbers divided(Numbers a, Numbers b) const {
    const auto place = [this](int row, int column) { return static_cast<std::size_t>(row * width_ + column); };
    for (int k = 0; k < width_; ++k) {
      int pivot = k;
      for (int row = k + 1; row < width_; ++row)
        if (std::abs(a[place(row, k)]) > std::abs(a[place(pivot, k)])) pivot = row;
      for (int column = 0; column < width_; ++column) {
        std::swap(a[place(k, column)], a[place(pivot, column)]);
        std::swap(b[place(k, column)], b[place(pivot, column)]);
      }
      for (int row = 0; row < width_; ++row) {
        if (row == k) continue;
        const double factor = a[place(row, k)] / a[place(k, k)];
        for (int column = 0; column < width_; ++column) {
          a[place(row, column)] -= factor * a[place(k, column)];
          b[place(row, column)] -= factor * b[place(k, column)];
        }
      }
    }
    for (int row = 0; row < width_; ++row)
      for (int column = 0; column < width_; ++column) b[place(row, column)] /= a[place(row, row)];
    return b;
  }
  /// A += sign * B C, for the own rows.
  void add(Numbers& a, const Numbers& b, const Numbers& c, double sign) const {
    for (int i = 0; i < matrix_.owned; ++i)
      for (int j = 0; j < width_; ++j)
        for (int k = 0; k < width_; ++k)
          a[static_cast<std::size_t>(i * width_ + k)] +=
              sign * b[static_cast<std::size_t>(i * width_ + j)] * c[static_cast<std::size_t>(j * width_ + k)];
  }

  const Matrix& matrix_;
  int column_, width_;
  Numbers x_, r_, q_, p_, gram_;
  LNW_Request exchange_ = LNW_REQUEST_NULL, sum_ = LNW_REQUEST_NULL;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bool right = true;
  {
    const Matrix matrix(rank, size);
    Solver block(matrix, 0, columns);
    const int together = block.solve();
    double error = block.error();
    int apart = 0;
    for (int column = 0; column < columns; ++column) {
      Solver one(matrix, column, 1);
      apart += one.solve();
      error = std::max(error, one.error());
    }
    MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    right = error < 1e-6 && together < apart / columns;
    if (rank == 0)
      std::printf("%d systems at once: %d exchanges of %d bytes a row; one after another: %d of 8; %s\n", columns,
                  together, 8 * columns, apart, right ? "right" : "WRONG");
  }
  MPI_Finalize();
  return right ? 0 : 1;
}
