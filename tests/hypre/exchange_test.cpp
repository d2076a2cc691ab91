// hypre's exchanges, taken over: linked before hypre, which is the same as preloaded. The environment has
// LANEWAY_HYPRE_CALLERS=all and LANEWAY_HYPRE_AFTER=2; some tests also run with other callers.
#include <_hypre_parcsr_ls.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <set>
#include <vector>

#include "laneway/hypre.h"
#include "support.hpp"

namespace laneway::test {
namespace {

constexpr int after = 2;  // exchanges of a kind until it is taken over
constexpr int jobs[] = {1, 2, 11, 12, 21, 22};

class Hypre : public testing::Environment {
  void SetUp() override { HYPRE_Init(); }
  void TearDown() override { HYPRE_Finalize(); }
};
const auto* const hypre = testing::AddGlobalTestEnvironment(new Hypre);

class HypreExchange : public MpiTest {};

/// Who sends which elements of a vector of `length` elements to whom; the same on all ranks for the same seed.
class Pattern {
 public:
  static constexpr int length = 40;

  Pattern(MPI_Comm comm, std::uint64_t seed) : seed_(seed) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
  }

  /// Elements that `from` sends to `to`. Some occur twice, and most go to several ranks.
  [[nodiscard]] std::vector<int> elements(int from, int to) const {
    const auto f = static_cast<std::uint64_t>(from);
    const auto t = static_cast<std::uint64_t>(to);
    // Some ranks have no neighbours at all.
    const bool alone = mix({seed_, 1, f}) % 5 == 0 || mix({seed_, 1, t}) % 5 == 0;
    if (from == to || alone || mix({seed_, 2, f, t}) % 3 == 0) return {};
    std::vector<int> found(mix({seed_, 3, f, t}) % 30 + 1);
    for (std::size_t i = 0; i < found.size(); ++i) found[i] = static_cast<int>(mix({seed_, 4, f, t, i}) % length);
    return found;
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }

 private:
  std::uint64_t seed_;
  int rank_ = 0;
  int size_ = 0;
};

/// Lists that are empty are null in hypre's packages, too.
HYPRE_Int* host_copy(const std::vector<HYPRE_Int>& values) {
  if (values.empty()) return nullptr;
  HYPRE_Int* const copy = hypre_TAlloc(HYPRE_Int, values.size(), HYPRE_MEMORY_HOST);
  std::copy(values.begin(), values.end(), copy);
  return copy;
}

/// In new memory, or where `package` is.
hypre_ParCSRCommPkg* make_package(MPI_Comm comm, const Pattern& pattern, hypre_ParCSRCommPkg* package = nullptr) {
  std::vector<HYPRE_Int> to, send_starts{0}, map, from, receive_starts{0};
  for (int peer = 0; peer < pattern.size(); ++peer) {
    if (const auto sent = pattern.elements(pattern.rank(), peer); !sent.empty()) {
      to.push_back(peer);
      map.insert(map.end(), sent.begin(), sent.end());
      send_starts.push_back(static_cast<HYPRE_Int>(map.size()));
    }
    if (const auto received = pattern.elements(peer, pattern.rank()); !received.empty()) {
      from.push_back(peer);
      receive_starts.push_back(receive_starts.back() + static_cast<HYPRE_Int>(received.size()));
    }
  }
  hypre_ParCSRCommPkgCreateAndFill(comm, static_cast<HYPRE_Int>(from.size()), host_copy(from),
                                   host_copy(receive_starts), static_cast<HYPRE_Int>(to.size()), host_copy(to),
                                   host_copy(send_starts), host_copy(map), &package);
  return package;
}

/// As some functions of hypre do with packages of their own: nobody is told.
void free_lists(hypre_ParCSRCommPkg* package) {
  for (HYPRE_Int* list : {package->send_procs, package->send_map_starts, package->send_map_elmts, package->recv_procs,
                          package->recv_vec_starts})
    hypre_TFree(list, HYPRE_MEMORY_HOST);
}

/// The data of one exchange, and what must arrive, from the pattern alone. Entries of a packed buffer that stand for
/// the same element hold the same value only if `by_element`.
template <class T>
struct Data {
  std::vector<T> send, receive, expected;

  Data(const Pattern& pattern, bool transpose, bool by_element, std::uint64_t round) {
    const auto value = [&](int from, int to, std::size_t entry, int element) {
      const auto f = static_cast<std::uint64_t>(from);
      return static_cast<T>(by_element ? mix({round, f, static_cast<std::uint64_t>(element)}) % 1000003
                                       : mix({round, f, static_cast<std::uint64_t>(to), entry}) % 1000003);
    };
    for (int peer = 0; peer < pattern.size(); ++peer) {
      const auto out = pattern.elements(pattern.rank(), peer);
      const auto in = pattern.elements(peer, pattern.rank());
      const auto& sent = transpose ? in : out;
      const auto& received = transpose ? out : in;
      for (std::size_t i = 0; i < sent.size(); ++i) send.push_back(value(pattern.rank(), peer, i, sent[i]));
      for (std::size_t i = 0; i < received.size(); ++i) expected.push_back(value(peer, pattern.rank(), i, received[i]));
    }
    receive.assign(expected.size(), static_cast<T>(-1));
  }
  [[nodiscard]] bool arrived() const {
    return receive.empty() || std::memcmp(receive.data(), expected.data(), receive.size() * sizeof(T)) == 0;
  }
};

bool has_neighbours(const hypre_ParCSRCommPkg* package) {
  return package->num_sends + package->num_recvs > 0;
}

/// hypre's own handles have a request for each neighbour.
bool is_taken_over(const hypre_ParCSRCommHandle* handle) {
  return handle->num_requests == 0;
}

template <class T>
void exchange(HYPRE_Int job, hypre_ParCSRCommPkg* package, const Pattern& pattern, int round) {
  Data<T> data(pattern, job % 10 == 2, false, static_cast<std::uint64_t>(round));
  hypre_ParCSRCommHandle* const handle =
      hypre_ParCSRCommHandleCreate(job, package, data.send.data(), data.receive.data());
  if (has_neighbours(package)) {
    EXPECT_EQ(is_taken_over(handle), round >= after) << "job " << job << ", round " << round;
  }
  hypre_ParCSRCommHandleDestroy(handle);
  EXPECT_TRUE(data.arrived()) << "job " << job << ", round " << round;
}

void exchange(HYPRE_Int job, hypre_ParCSRCommPkg* package, const Pattern& pattern, int round) {
  if (job < 10) return exchange<HYPRE_Complex>(job, package, pattern, round);
  if (job < 20) return exchange<HYPRE_Int>(job, package, pattern, round);
  exchange<HYPRE_BigInt>(job, package, pattern, round);
}

TEST_F(HypreExchange, AllJobs) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(6)); ++seed) {
    const Pattern pattern(MPI_COMM_WORLD, seed);
    hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, pattern);
    std::set<std::pair<std::size_t, bool>> kinds;  // jobs whose elements have one size share a plan
    for (const HYPRE_Int job : jobs) {
      const bool is_new = kinds.emplace(LNW_Hypre_value_bytes(job), job % 10 == 2).second;
      for (int round = is_new ? 0 : after; round < after + 4; ++round) exchange(job, package, pattern, round);
    }
    hypre_MatvecCommPkgDestroy(package);
  }
}

TEST_F(HypreExchange, RebuiltPackagesMeetNoOldPlan) {
  hypre_ParCSRCommPkg* place = nullptr;
  for (std::uint64_t seed = 100; seed < 112; ++seed) {
    // One in new memory or, as hypre's allocator likes it, where the last one was; one always in the same place.
    const Pattern first(MPI_COMM_WORLD, seed), second(MPI_COMM_WORLD, seed + 100);
    hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, first);
    place = make_package(MPI_COMM_WORLD, second, place);
    for (int round = 0; round < after + 2; ++round) {
      exchange(1, package, first, round);
      exchange(1, place, second, round);
    }
    free_lists(place);
    hypre_MatvecCommPkgDestroy(package);
  }
  hypre_TFree(place, HYPRE_MEMORY_HOST);
}

/// Three numbers, as hypre's block exchanges move them.
struct Block {
  double values[3];
  Block() = default;
  explicit Block(std::uint64_t value) {
    for (double& each : values) each = static_cast<double>(value++);
  }
  explicit Block(int value) : Block(static_cast<std::uint64_t>(value)) {}
};

TEST_F(HypreExchange, Blocks) {
  const Pattern pattern(MPI_COMM_WORLD, 11);
  hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, pattern);
  for (const HYPRE_Int job : {1, 2})
    for (int round = 0; round < after + 3; ++round) {
      Data<Block> data(pattern, job == 2, false, static_cast<std::uint64_t>(round));
      auto* const handle = hypre_ParCSRBlockCommHandleCreate(job, 3, package, data.send.data(), data.receive.data());
      if (has_neighbours(package)) {
        EXPECT_EQ(is_taken_over(handle), round >= after) << "round " << round;
      }
      hypre_ParCSRBlockCommHandleDestroy(handle);
      EXPECT_TRUE(data.arrived()) << "round " << round;
      exchange(job, package, pattern, round);  // of single numbers, and a plan of its own
    }
  hypre_MatvecCommPkgDestroy(package);
}

TEST_F(HypreExchange, SeveralAtOnce) {
  const Pattern pattern(MPI_COMM_WORLD, 7);
  hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, pattern);
  for (int round = 0; round < after + 3; ++round) {
    Data<HYPRE_Complex> first(pattern, false, false, 10 + static_cast<std::uint64_t>(round));
    Data<HYPRE_Complex> second(pattern, false, false, 20 + static_cast<std::uint64_t>(round));
    Data<HYPRE_Int> third(pattern, true, false, 30 + static_cast<std::uint64_t>(round));
    auto* const a = hypre_ParCSRCommHandleCreate(1, package, first.send.data(), first.receive.data());
    auto* const b = hypre_ParCSRCommHandleCreate(1, package, second.send.data(), second.receive.data());
    auto* const c = hypre_ParCSRCommHandleCreate(12, package, third.send.data(), third.receive.data());
    if (has_neighbours(package) && round >= after) {
      EXPECT_TRUE(is_taken_over(a));
      EXPECT_FALSE(is_taken_over(b));
      EXPECT_TRUE(is_taken_over(c));
    }
    hypre_ParCSRCommHandleDestroy(c);
    hypre_ParCSRCommHandleDestroy(a);
    hypre_ParCSRCommHandleDestroy(b);
    EXPECT_TRUE(first.arrived() && second.arrived() && third.arrived()) << "round " << round;
  }
  hypre_MatvecCommPkgDestroy(package);
}

TEST_F(HypreExchange, PackageIsDestroyedBeforeTheHandle) {
  const Pattern pattern(MPI_COMM_WORLD, 8);
  hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, pattern);
  for (int round = 0; round < after; ++round) exchange(1, package, pattern, round);
  Data<HYPRE_Complex> data(pattern, false, false, 3);
  auto* const handle = hypre_ParCSRCommHandleCreate(1, package, data.send.data(), data.receive.data());
  hypre_MatvecCommPkgDestroy(package);
  hypre_ParCSRCommHandleDestroy(handle);
  EXPECT_TRUE(data.arrived());
}

TEST_F(HypreExchange, PartsOfTheWorld) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &half);
  const Pattern pattern(half, 9);
  hypre_ParCSRCommPkg* const package = make_package(half, pattern);
  int ranks = 0;
  MPI_Comm_size(half, &ranks);
  for (int round = 0; ranks > 1 && round < after + 2; ++round) exchange(1, package, pattern, round);
  MPI_Comm_free(&half);
  hypre_MatvecCommPkgDestroy(package);
}

TEST_F(HypreExchange, RanksWaitForEachOtherBetweenExchanges) {
  // From one exchange to the next, a rank waits for its predecessor to have completed the former.
  const Pattern pattern(MPI_COMM_WORLD, 10);
  hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, pattern);
  int token = 0;
  for (int round = 0; round < 12; ++round) {
    exchange(1, package, pattern, round);
    if (rank() > 0) MPI_Recv(&token, 1, MPI_INT, rank() - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank() + 1 < size()) MPI_Send(&token, 1, MPI_INT, rank() + 1, 0, MPI_COMM_WORLD);
  }
  hypre_MatvecCommPkgDestroy(package);
}

/// A distributed matrix with vectors of it.
class Problem {
 public:
  Problem() {
    std::array<int, 3> blocks{};
    MPI_Dims_create(size(), 3, blocks.data());
    const auto [p, q, r] = blocks;
    double value[] = {26.5, -1};
    // Even numbers of rows on each rank, for nodal systems.
    matrix_ = GenerateLaplacian27pt(MPI_COMM_WORLD, 2 * p, 3 * q, 4 * r, p, q, r, rank() % p, rank() / p % q,
                                    rank() / (p * q), value);
    if (matrix_->comm_pkg == nullptr) hypre_MatvecCommPkgCreate(matrix_);
  }
  ~Problem() { hypre_ParCSRMatrixDestroy(matrix_); }
  Problem(const Problem&) = delete;
  Problem& operator=(const Problem&) = delete;
  [[nodiscard]] hypre_ParCSRMatrix* matrix() const { return matrix_; }
  [[nodiscard]] HYPRE_Int rows() const { return hypre_ParCSRMatrixNumRows(matrix_); }

 private:
  hypre_ParCSRMatrix* matrix_ = nullptr;
};

/// Column j of any number of columns holds the same as a single column with `first` = j.
class Vector {
 public:
  Vector(const Problem& problem, int columns, int first) : columns_(columns) {
    hypre_ParCSRMatrix* const a = problem.matrix();
    vector_ = hypre_ParMultiVectorCreate(hypre_ParCSRMatrixComm(a), hypre_ParCSRMatrixGlobalNumRows(a),
                                         hypre_ParCSRMatrixRowStarts(a), columns);
    hypre_ParVectorInitialize(vector_);
    const auto rows = static_cast<std::size_t>(problem.rows());
    for (std::size_t j = 0; j < static_cast<std::size_t>(columns); ++j)
      for (std::size_t i = 0; i < rows; ++i)
        data()[j * rows + i] =
            1.0 / static_cast<double>(
                      mix({static_cast<std::uint64_t>(first) + j, static_cast<std::uint64_t>(rank()), i}) % 1009 + 1);
    values_ = rows * static_cast<std::size_t>(columns);
  }
  ~Vector() { hypre_ParVectorDestroy(vector_); }
  Vector(const Vector&) = delete;
  Vector& operator=(const Vector&) = delete;
  [[nodiscard]] hypre_ParVector* get() const { return vector_; }
  [[nodiscard]] double* data() const { return hypre_VectorData(hypre_ParVectorLocalVector(vector_)); }
  [[nodiscard]] std::vector<double> values() const { return {data(), data() + values_}; }

 private:
  hypre_ParVector* vector_ = nullptr;
  std::size_t values_ = 0;
  int columns_;
};

/// The result of a function of hypre on one vector stays bit for bit the same when its exchange is taken over.
template <class F>
void expect_same_results(const Problem& problem, const char* name, F&& function) {
  std::vector<double> first;
  for (int round = 0; round < after + 4; ++round) {
    const Vector x(problem, 1, 3), y(problem, 1, 5);
    function(x.get(), y.get());
    if (round == 0) first = y.values();
    EXPECT_EQ(std::memcmp(first.data(), y.values().data(), first.size() * sizeof(double)), 0)
        << name << ", round " << round;
  }
}

TEST_F(HypreExchange, ProductsAndSmoothers) {
  const Problem problem;
  hypre_ParCSRMatrix* const a = problem.matrix();
  std::vector<HYPRE_Int> marker(static_cast<std::size_t>(problem.rows()));
  for (std::size_t i = 0; i < marker.size(); ++i) marker[i] = i % 3 == 0 ? 1 : -1;
  expect_same_results(problem, "Matvec", [&](auto* x, auto* y) { hypre_ParCSRMatrixMatvec(2, a, x, 0.5, y); });
  expect_same_results(problem, "MatvecT", [&](auto* x, auto* y) { hypre_ParCSRMatrixMatvecT(2, a, x, 0.5, y); });
  expect_same_results(problem, "Matvec_FF",
                      [&](auto* x, auto* y) { hypre_ParCSRMatrixMatvec_FF(2, a, x, 0.5, y, marker.data(), -1); });
  const Vector v(problem, 1, 1), z(problem, 1, 2);
  std::vector<double> norms(marker.size(), 60.0);
  for (const HYPRE_Int type : {0, 3, 4, 5, 6, 7, 8, 13, 14, 18})
    expect_same_results(problem, ("smoother " + std::to_string(type)).c_str(), [&](auto* x, auto* y) {
      hypre_BoomerAMGRelax(a, x, marker.data(), type, 0, 0.9, 1.1, norms.data(), y, v.get(), z.get());
    });
  expect_same_results(problem, "Kaczmarz", [&](auto* x, auto* y) {
    hypre_BoomerAMGRelax(a, x, marker.data(), 20, 0, 0.9, 1.1, norms.data(), y, v.get(), z.get());
  });
}

TEST_F(HypreExchange, BlockProductsAndSmoothers) {
  const Problem problem;
  hypre_ParCSRBlockMatrix* const a = hypre_ParCSRBlockMatrixConvertFromParCSRMatrix(problem.matrix(), 2);
  std::vector<HYPRE_Int> marker(static_cast<std::size_t>(problem.rows() / 2), 1);
  expect_same_results(problem, "block Matvec",
                      [&](auto* x, auto* y) { hypre_ParCSRBlockMatrixMatvec(2, a, x, 0.5, y); });
  expect_same_results(problem, "block MatvecT",
                      [&](auto* x, auto* y) { hypre_ParCSRBlockMatrixMatvecT(2, a, x, 0.5, y); });
  const Vector v(problem, 1, 1);
  for (const HYPRE_Int type : {0, 3, 6, 20})
    expect_same_results(problem, ("block smoother " + std::to_string(type)).c_str(), [&](auto* x, auto* y) {
      hypre_BoomerAMGBlockRelax(a, x, marker.data(), type, 0, 0.9, 1.1, y, v.get());
    });
  hypre_ParCSRBlockMatrixDestroy(a);
}

TEST_F(HypreExchange, ProductsOutsideSolversNeedNotSynchronise) {
  if (std::getenv("LANEWAY_HYPRE_CALLERS") != nullptr)
    GTEST_SKIP() << "SKIP: LANEWAY_HYPRE_CALLERS promises that this does not happen";
  if (size() < 3) GTEST_SKIP() << "SKIP: needs 3 ranks, of which two are no neighbours";
  // Slices: neighbours are the ranks before and after.
  double value[] = {26.5, -1};
  hypre_ParCSRMatrix* const a =
      GenerateLaplacian27pt(MPI_COMM_WORLD, 2 * size(), 3, 3, size(), 1, 1, rank(), 0, 0, value);
  if (a->comm_pkg == nullptr) hypre_MatvecCommPkgCreate(a);
  hypre_ParVector* const x = hypre_ParVectorInDomainOf(a);
  hypre_ParVector* const y = hypre_ParVectorInRangeOf(a);
  hypre_ParVectorInitialize(x);
  hypre_ParVectorInitialize(y);
  hypre_ParVectorSetConstantValues(x, 1);
  for (int round = 0; round < after + 4; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    // The last rank comes when the first is done.
    int token = round;
    if (rank() + 1 == size()) MPI_Recv(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    hypre_ParCSRMatrixMatvec(1, a, x, 0, y);
    if (rank() == 0) MPI_Send(&token, 1, MPI_INT, size() - 1, 0, MPI_COMM_WORLD);
  }
  hypre_ParVectorDestroy(y);
  hypre_ParVectorDestroy(x);
  hypre_ParCSRMatrixDestroy(a);
}

TEST_F(HypreExchange, PackagesThatFollowTheNumberOfColumns) {
  // hypre 2.26 cannot go back to fewer columns: it multiplies by the quotient of two integers.
  const Problem problem;
  std::vector<double> reference;
  for (int columns : {1, 3}) {
    for (int round = 0; round < after + 3; ++round) {
      const Vector x(problem, columns, 3), y(problem, columns, 20);
      hypre_ParCSRMatrixMatvec(1, problem.matrix(), x.get(), 0, y.get());
      if (reference.empty()) reference = y.values();
      EXPECT_EQ(std::memcmp(reference.data(), y.values().data(), reference.size() * sizeof(double)), 0)
          << columns << " columns, round " << round;
    }
  }
}

TEST_F(HypreExchange, NodalSystemsExtendThePackage) {
  const Problem problem;
  std::vector<double> reference;
  for (int round = 0; round < 2 * (after + 3); ++round) {
    const Vector x(problem, 1, 3), y(problem, 1, 20);
    hypre_ParCSRMatrixMatvec(1, problem.matrix(), x.get(), 0, y.get());
    if (reference.empty()) reference = y.values();
    EXPECT_EQ(std::memcmp(reference.data(), y.values().data(), reference.size() * sizeof(double)), 0)
        << "round " << round;
    if (round != after + 2) continue;
    hypre_ParCSRMatrix* nodal = nullptr;
    hypre_BoomerAMGCreateNodalA(problem.matrix(), 2, nullptr, 1, 0, &nodal);
    hypre_ParCSRMatrixDestroy(nodal);
  }
}

template <class T>
void run_source_level(HYPRE_Int job, LNW_Hypre_layout layout, std::uint64_t seed) {
  const Pattern pattern(MPI_COMM_WORLD, seed);
  hypre_ParCSRCommPkg* package = make_package(MPI_COMM_WORLD, pattern);
  std::vector<HYPRE_Int> map;
  if (package->num_sends > 0)
    map.assign(package->send_map_elmts, package->send_map_elmts + package->send_map_starts[package->num_sends]);
  LNW_Hypre_exchange exchange;
  ASSERT_EQ(LNW_Hypre_exchange_init(job, 1, package, layout, MPI_INFO_NULL, &exchange), MPI_SUCCESS);
  free_lists(package);
  hypre_TFree(package, HYPRE_MEMORY_HOST);
  const bool transpose = job % 10 == 2;
  if (!transpose && layout != LNW_HYPRE_ENTRIES) {
    EXPECT_EQ(exchange.send_elements, std::set<HYPRE_Int>(map.begin(), map.end()).size());
  }
  for (std::uint64_t round = 0; round < 3; ++round) {
    Data<T> data(pattern, transpose, layout != LNW_HYPRE_ENTRIES, round);
    std::vector<T> vector(Pattern::length, static_cast<T>(-7));
    if (!transpose && layout == LNW_HYPRE_VECTOR)
      for (std::size_t i = 0; i < map.size(); ++i) vector[static_cast<std::size_t>(map[i])] = data.send[i];
    const bool from_vector = !transpose && layout == LNW_HYPRE_VECTOR;
    EXPECT_MPI(LNW_Hypre_exchange_start(&exchange, from_vector ? vector.data() : data.send.data()));
    std::fill(vector.begin(), vector.end(), static_cast<T>(-8));
    std::fill(data.send.begin(), data.send.end(), static_cast<T>(-8));
    EXPECT_MPI(LNW_Hypre_exchange_wait(&exchange, data.receive.data()));
    EXPECT_TRUE(data.arrived()) << "job " << job << ", layout " << layout;
  }
  EXPECT_MPI(LNW_Hypre_exchange_free(&exchange));
  EXPECT_EQ(exchange.request, LNW_REQUEST_NULL);
  std::vector<T> nothing(1);
  EXPECT_MPI(LNW_Hypre_exchange_start(&exchange, nothing.data()));
  EXPECT_MPI(LNW_Hypre_exchange_wait(&exchange, nothing.data()));
  EXPECT_MPI(LNW_Hypre_exchange_free(&exchange));
}

TEST_F(HypreExchange, SourceLevel) {
  for (const LNW_Hypre_layout layout : {LNW_HYPRE_VECTOR, LNW_HYPRE_PACKED, LNW_HYPRE_ENTRIES})
    for (const HYPRE_Int job : jobs) {
      const std::uint64_t seed = mix({static_cast<std::uint64_t>(layout), static_cast<std::uint64_t>(job)});
      if (job < 10) run_source_level<HYPRE_Complex>(job, layout, seed);
      if (job > 10 && job < 20) run_source_level<HYPRE_Int>(job, layout, seed);
      if (job > 20) run_source_level<HYPRE_BigInt>(job, layout, seed);
    }
}

TEST_F(HypreExchange, SourceLevelErrors) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Pattern pattern(MPI_COMM_WORLD, 4);
  hypre_ParCSRCommPkg* const package = make_package(MPI_COMM_WORLD, pattern);
  LNW_Hypre_exchange exchange;
  EXPECT_NE(LNW_Hypre_exchange_init(3, 1, package, LNW_HYPRE_PACKED, MPI_INFO_NULL, &exchange), MPI_SUCCESS);
  EXPECT_EQ(exchange.request, LNW_REQUEST_NULL);
  EXPECT_MPI(LNW_Hypre_exchange_free(&exchange));
  hypre_MatvecCommPkgDestroy(package);
}

}  // namespace
}  // namespace laneway::test
