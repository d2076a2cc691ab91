#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>

#include "base/error.hpp"
#include "matrix/box.hpp"
#include "matrix/generators.hpp"
#include "matrix/halo.hpp"
#include "matrix/load.hpp"

namespace {

using namespace laneway;
using namespace laneway::matrix;

using Dense = std::map<std::pair<std::int64_t, std::int64_t>, double>;

Dense dense(const Csr& m) {
  Dense result;
  for (std::int64_t r = 0; r < m.rows; ++r)
    for (std::int64_t k = m.row_begin[r]; k < m.row_begin[r + 1]; ++k) result[{r, m.column[k]}] = m.value[k];
  return result;
}

void expect_well_formed(const Csr& m) {
  ASSERT_EQ(m.row_begin.size(), static_cast<std::size_t>(m.rows) + 1);
  ASSERT_EQ(m.row_begin.front(), 0);
  ASSERT_EQ(m.row_begin.back(), m.nonzeros());
  ASSERT_EQ(m.column.size(), m.value.size());
  for (std::int64_t r = 0; r < m.rows; ++r) {
    ASSERT_LE(m.row_begin[r], m.row_begin[r + 1]);
    for (std::int64_t k = m.row_begin[r]; k < m.row_begin[r + 1]; ++k) {
      ASSERT_GE(m.column[k], 0);
      ASSERT_LT(m.column[k], m.columns);
      ASSERT_TRUE(std::isfinite(m.value[k]));
      if (k > m.row_begin[r]) {
        ASSERT_LT(m.column[k - 1], m.column[k]);
      }
    }
  }
}

Csr random_matrix(std::int64_t rows, std::int64_t columns, double density, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  std::vector<Entry> entries;
  for (std::int64_t r = 0; r < rows; ++r) {
    if (uniform(engine) < 0.2) continue;  // an empty row
    for (std::int64_t c = 0; c < columns; ++c)
      if (uniform(engine) < density) entries.push_back({r, c, uniform(engine) + 1.0});
  }
  return assemble(rows, columns, entries);
}

class MatrixFile : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "laneway-matrix-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  /// The message of the Error that reading gives; it must name the file.
  static std::string failure(const std::string& path) {
    try {
      (void)load(path);
    } catch (const Error& error) {
      const std::string message = error.what();
      EXPECT_EQ(error.kind(), ErrorKind::io) << message;
      EXPECT_EQ(message.rfind(path, 0), 0U) << message;
      return message.substr(std::min(message.size(), path.size()));
    }
    ADD_FAILURE() << path << " was read";
    return {};
  }

  std::filesystem::path folder_;
};

using MarketFile = MatrixFile;
using GraphFile = MatrixFile;

TEST_F(MarketFile, ReadsEveryFieldAndSymmetry) {
  const std::string body = "% a comment\n\n3 3 3\n1 1 2\n3 1 -4.5e0\n\n% another\n3 2 1\n";
  EXPECT_EQ(dense(load(write("a.mtx", "%%MatrixMarket matrix coordinate real general\n" + body))),
            (Dense{{{0, 0}, 2}, {{2, 0}, -4.5}, {{2, 1}, 1}}));
  const Dense symmetric{{{0, 0}, 2}, {{2, 0}, -4.5}, {{0, 2}, -4.5}, {{2, 1}, 1}, {{1, 2}, 1}};
  EXPECT_EQ(dense(load(write("b.mtx", "%%MatrixMarket MATRIX Coordinate Real Symmetric\n" + body))), symmetric);
  EXPECT_EQ(dense(load(write("c.mtx", "%%MatrixMarket matrix coordinate real hermitian\n" + body))), symmetric);
  EXPECT_EQ(dense(load(write("d.mtx", "%%MatrixMarket matrix coordinate integer skew-symmetric\n2 2 1\n2 1 +7\n"))),
            (Dense{{{1, 0}, 7}, {{0, 1}, -7}}));
  EXPECT_EQ(dense(load(write("e.mtx", "%%MatrixMarket matrix coordinate pattern symmetric\r\n2 2 2\r\n1 1\r\n2 1"))),
            (Dense{{{0, 0}, 1}, {{1, 0}, 1}, {{0, 1}, 1}}));
  EXPECT_EQ(dense(load(write("f.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 4 3\n1 4\n2 1\n1 4\n"))),
            (Dense{{{0, 3}, 1}, {{1, 0}, 1}}));
  EXPECT_EQ(dense(load(write("g.mtx", "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1\n1 1 2\n"))),
            (Dense{{{0, 0}, 3}}));
  EXPECT_EQ(load(write("h.mtx", "%%MatrixMarket matrix coordinate real general\n5 0 0\n")).rows, 5);
}

TEST_F(MarketFile, RoundTrip) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const Csr m = random_matrix(30, 17, 0.2, seed);
    const std::string path = (folder_ / "m.mtx").string();
    write_market(m, path);
    EXPECT_EQ(load(path), m);
  }
  EXPECT_THROW(write_market(random_matrix(3, 3, 0.5, 1), (folder_ / "none" / "m.mtx").string()), Error);
}

TEST_F(MarketFile, BadFilesAreExplained) {
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  const std::string symmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
  const std::array<std::pair<std::string, std::string>, 24> cases{{
      {"", ":1: not a Matrix Market file"},
      {"1 1 1\n", ":1: not a Matrix Market file"},
      {"%%MatrixMarket\n1 1 1\n", ":1: holds a ''"},
      {"%%MatrixMarket vector coordinate real general\n", ":1: holds a 'vector'"},
      {"%%MatrixMarket matrix array real general\n2 1\n1\n2\n", ":1: format 'array'"},
      {"%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", ":1: values of type 'complex'"},
      {"%%MatrixMarket matrix coordinate real\n1 1 1\n1 1 1\n", ":1: unknown symmetry ''"},
      {real, ":1: ends before"},
      {real + "%\n", ":2: ends before"},
      {real + "2 2\n", ":2: expected rows, columns and entries"},
      {real + "2 2 x\n", ":2: expected rows, columns and entries"},
      {real + "-2 2 1\n", ":2: expected rows, columns and entries"},
      {real + "99999999999999999999 2 1\n", ":2: expected rows, columns and entries"},
      {real + "9999999999 2 1\n", ":2: more than 2^31 - 1"},
      {real + "2 2 9000000000000000000\n1 1 1\n", ":3: ends after 1 of 9000000000000000000"},
      {symmetric + "2 3 1\n1 1 1\n", ":2: a symmetric matrix must be square"},
      {real + "2 2 3\n1 1 1\n2 2 1\n", ":4: ends after 2 of 3"},
      {real + "2 2 1\n1 1 1\n2 2 1\n", ":4: more than the 1 entries"},
      {real + "2 2 1\n3 1 1\n", ":3: entry (3, 1) is outside"},
      {real + "2 2 1\n1 0 1\n", ":3: entry (1, 0) is outside"},
      {real + "2 2 1\n1 1\n", ":3: expected row, column and value"},
      {real + "2 2 1\n1 1 1e\n", ":3: expected row, column and value"},
      {real + "2 2 1\n1 1 1 0\n", ":3: more words"},
      {"%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n", ":3: a skew-symmetric matrix"},
  }};
  for (const auto& [text, expected] : cases) {
    const std::string message = failure(write("bad.mtx", text));
    EXPECT_EQ(message.rfind(expected, 0), 0U) << text << " gave " << message;
  }
  EXPECT_EQ(failure((folder_ / "missing.mtx").string()), ": no such file");
  std::filesystem::create_directory(folder_ / "folder.mtx");
  EXPECT_EQ(failure((folder_ / "folder.mtx").string()), ": not a regular file");
}

TEST_F(MarketFile, NoTruncationCrashes) {
  const std::string text = "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 3\n1 1 2\n3 1 -4.5\n3 2 11\n";
  for (std::size_t size = 0; size + 3 < text.size(); ++size) failure(write("cut.mtx", text.substr(0, size)));
}

TEST_F(GraphFile, ReadsEveryFormat) {
  const Dense path_of_three{{{0, 0}, 2},  {{0, 1}, -1}, {{1, 0}, -1}, {{1, 1}, 3},
                            {{1, 2}, -1}, {{2, 1}, -1}, {{2, 2}, 2}};
  EXPECT_EQ(dense(load(write("a.graph", "3 2\n2\n1 3\n2\n"))), path_of_three);
  EXPECT_EQ(dense(load(write("b.graph", "% c\n3 2 0\n% c\n2 \n 3 1\n2"))), path_of_three);
  EXPECT_EQ(dense(load(write("c.graph", "3 2 1\n2 7\n1 7 3 8\n2 8\n"))), path_of_three);
  EXPECT_EQ(dense(load(write("d.graph", "3 2 10\n4 2\n5 1 3\n6 2\n"))), path_of_three);
  EXPECT_EQ(dense(load(write("e.graph", "3 2 011 1\n4 2 7\n5 1 7 3 8\n6 2 8\n"))), path_of_three);
  EXPECT_EQ(dense(load(write("f.graph", "3 1\n\n3\n2\n"))),
            (Dense{{{0, 0}, 1}, {{1, 1}, 2}, {{1, 2}, -1}, {{2, 1}, -1}, {{2, 2}, 2}}));
}

TEST_F(GraphFile, BadFilesAreExplained) {
  const std::array<std::pair<std::string, std::string>, 27> cases{{
      {"", ": empty"},
      {"%\n", ":1: empty"},
      {"hello\n", ":1: expected numbers"},
      {"\n3 2\n2\n1 3\n2\n", ":1: expected numbers"},
      {"3\n", ":1: expected numbers"},
      {"-3 2\n2\n1 3\n2\n", ":1: expected numbers"},
      {"2000000000 2000000000\n2\n", ":1: announces"},
      {"99999999999 2\n2\n", ":1: announces"},
      {"3 2 7\n2\n1 3\n2\n", ":1: format '7'"},
      {"3 2 0000\n2\n1 3\n2\n", ":1: format '0000'"},
      {"3 2 100\n1 2\n2 1 3\n3 2\n", ":1: format '100'"},
      {"3 2 11 2\n4 1 2 7\n5 1 1 7 3 8\n6 1 2 8\n", ":1: more than one weight"},
      {"3 2\n2\n1 9\n2\n", ":3: vertex 2 has the neighbour 9"},
      {"3 2\n2\n1 0\n2\n", ":3: vertex 2 has the neighbour 0"},
      {"3 2\n2\n1 x\n2\n", ":3: 'x' is not a whole number"},
      {"3 3\n2\n1 3\n2\n", ":4: ends after 4 neighbours, two for each of 3"},
      {"3 2\n2\n1 3\n", ":3: ends after 3 neighbours, two for each of 2"},
      {"3 2\n2\n", ":2: ends after 1 of 3 vertices"},
      {"3 1\n2\n3\n2\n", ":4: more neighbours than the two for each of 1"},
      {"3 1\n2\n1 3\n2\n", ":3: more neighbours than the two for each of 1"},
      {"3 2 1\n2 7\n1 7 3\n2 8\n", ":3: the line of vertex 2 ends where a weight is expected"},
      {"3 1 10\n1 2\n1 1\n\n", ":4: the line of vertex 3 ends where a weight is expected"},
      {"3 2 1\n2 7\n1 7 3 0\n2 0\n", ":3: the weight 0"},
      {"3 1\n\n%\n2\n3\n", ":4: vertex 2 is its own neighbour"},
      {"3 2\n2 2\n1\n2\n", ":2: vertex 1 lists its neighbour 2 more than once"},
      {"3 1\n2\n3\n\n", ":3: vertex 2 does not list 1"},
      {"3 2\n2\n1 3\n2\n1 2\n", ":5: goes on after the last of 3"},
  }};
  for (const auto& [text, expected] : cases) {
    const std::string message = failure(write("bad.graph", text));
    EXPECT_EQ(message.rfind(expected, 0), 0U) << text << " gave " << message;
  }
  failure((folder_ / "missing.graph").string());
  const std::string text = "4 4 1\n2 5 4 6\n1 5 3 7\n2 7 4 8\n1 6 3 8\n";
  for (std::size_t size = 0; size + 2 < text.size(); ++size) failure(write("cut.graph", text.substr(0, size)));
}

TEST(Generators, DeBruijn) {
  const Csr m = load("debruijn:k=8");
  expect_well_formed(m);
  EXPECT_EQ(m.rows, 256);
  EXPECT_EQ(m.nonzeros(), 1018);
  EXPECT_EQ(transpose(m), m);
  EXPECT_EQ(load("debruijn:k=12").nonzeros(), 2 * 8189);
  EXPECT_EQ(dense(load("debruijn:k=1")), (Dense{{{0, 1}, 1}, {{1, 0}, 1}}));
}

TEST(Generators, CubeConnectedCycles) {
  const Csr m = load("ccc:k=6");
  expect_well_formed(m);
  EXPECT_EQ(m.rows, 384);
  EXPECT_EQ(m.nonzeros(), 1152);
  EXPECT_EQ(transpose(m), m);
  for (std::int64_t r = 0; r < m.rows; ++r) EXPECT_EQ(m.row_begin[r + 1] - m.row_begin[r], 3);
}

TEST(Generators, StencilCounts) {
  const std::int64_t x = 5;
  const std::int64_t y = 4;
  const std::int64_t z = 3;
  const auto line = [](std::int64_t n) { return 3 * n - 2; };  // points of a 3-point stencil on n points
  const std::map<std::string, std::int64_t> counts{
      {"5pt:nx=5,ny=4", line(x) * y + x * line(y) - x * y},
      {"9pt:nx=5,ny=4", line(x) * line(y)},
      {"7pt3d:nx=5,ny=4,nz=3", line(x) * y * z + x * line(y) * z + x * y * line(z) - 2 * x * y * z},
      {"27pt:nx=5,ny=4,nz=3", line(x) * line(y) * line(z)},
      {"rotated:nx=5,ny=4,points=9", line(x) * line(y)},
      {"rotated:nx=5,ny=4,points=7", line(x) * y + x * line(y) - x * y + 2 * (x - 1) * (y - 1)},
      {"27pt:nx=1,ny=1,nz=1", 1}};
  for (const auto& [spec, count] : counts) {
    const Csr m = load(spec);
    expect_well_formed(m);
    EXPECT_EQ(m.nonzeros(), count) << spec;
    EXPECT_EQ(transpose(m), m) << spec;
  }
  const Csr m = load("27pt:nx=5,ny=5,nz=5");
  EXPECT_EQ(m.row_begin[63] - m.row_begin[62], 27);
  EXPECT_EQ(dense(m).at({62, 62}), 26);
}

TEST(Generators, RotatedDiffusionApproximatesItsOperator) {
  // On quadratics both stencils are exact, but for the 9 points' averaging, which vanishes for them too.
  for (int points : {7, 9})
    for (double angle : {0.0, 30.0, 45.0, 120.0, 90.0, -20.0}) {
      const double epsilon = 0.01;
      const std::int64_t n = 5;
      const Csr m = rotated_diffusion(n, n, angle, epsilon, points);
      const double c = std::cos(angle * std::acos(-1.0) / 180);
      const double s = std::sin(angle * std::acos(-1.0) / 180);
      const std::array<double, 3> second{2 * (c * c + epsilon * s * s), 2 * (s * s + epsilon * c * c),
                                         2 * (1 - epsilon) * c * s};
      for (int kind = 0; kind < 3; ++kind) {
        std::vector<double> u;
        for (std::int64_t y = 0; y < n; ++y)
          for (std::int64_t x = 0; x < n; ++x)
            u.push_back(static_cast<double>(kind == 0 ? x * x : kind == 1 ? y * y : x * y));
        std::vector<double> result(u.size());
        multiply(m, u, result);
        EXPECT_NEAR(result[12], -second[kind], 1e-12) << points << " points, " << angle << " degrees, term " << kind;
      }
    }
}

TEST(Generators, DelaunayHasEulersNumberOfEdges) {
  for (std::int64_t n : {4, 5, 50, 3000}) {
    const Csr m = delaunay(n, 3);
    expect_well_formed(m);
    ASSERT_EQ(m.rows, n);
    EXPECT_EQ(transpose(m), m);
    const std::int64_t edges = m.nonzeros() / 2;
    // Triangles of a planar triangulation: an edge of the hull is in one, any other in two. With t triangles and h hull
    // edges: n - e + (t + 1) = 2 and 3 t = 2 e - h, so e = 3 n - 3 - h.
    const std::int64_t hull = 3 * n - 3 - edges;
    EXPECT_GE(hull, 3);
    EXPECT_LE(hull, n < 1000 ? n : 100);
    for (std::int64_t r = 0; r < n; ++r) EXPECT_GE(m.row_begin[r + 1] - m.row_begin[r], 2);
  }
}

TEST(Generators, DelaunayIsRepeatableAndLocal) {
  const Csr m = load("delaunay:n=4096,seed=1");
  EXPECT_EQ(m, load("delaunay:n=4096"));
  EXPECT_NE(m, load("delaunay:n=4096,seed=2"));
  const Csr unordered = load("delaunay:n=4096,curve=0");
  EXPECT_EQ(unordered.column.size(), m.column.size());
  EXPECT_NE(unordered, m);
  std::int64_t ghosts = 0;
  for (const Halo& h : halos(m, 16)) ghosts += static_cast<std::int64_t>(h.ghosts.size());
  EXPECT_LT(ghosts, 16 * 140);  // 256 points a rank have a boundary of about 4 * 16 neighbours
}

TEST(Generators, EveryDefaultIsAllowed) {
  for (const Generator& generator : generators()) {
    EXPECT_FALSE(generator.description.empty());
    EXPECT_NE(describe_generators().find(generator.name), std::string::npos);
    Spec spec;
    spec.name = generator.name;
    for (const Parameter& p : generator.parameters) {
      EXPECT_FALSE(p.fallback.empty());
      const bool grows = p.name == "k" || p.name.front() == 'n';
      spec.parameters.emplace(p.name, grows ? "6" : p.fallback);
    }
    expect_well_formed(generator.make(spec));
  }
}

TEST(Generators, BadSpecsListWhatIsValid) {
  const auto message = [](const std::string& spec) -> std::string {
    try {
      (void)load(spec);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::argument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message("4pt:nx=2").find("5pt, 9pt, 7pt3d"), std::string::npos) << message("4pt:nx=2");
  EXPECT_NE(message("5pt:nz=2").find("nx, ny"), std::string::npos) << message("5pt:nz=2");
  EXPECT_NE(message("5pt:nx=0").find("nx=0"), std::string::npos) << message("5pt:nx=0");
  EXPECT_NE(message("5pt:nx=2000000000,ny=2000000000").find("2^31"), std::string::npos);
  EXPECT_NE(message("27pt:nx=2000000000,ny=1,nz=2").find("2^31"), std::string::npos);
  EXPECT_NE(message("rotated:points=8").find("points=8"), std::string::npos);
  EXPECT_NE(message("rotated:angle=inf").find("finite"), std::string::npos);
  EXPECT_NE(message("delaunay:n=3").find("n=3"), std::string::npos);
  EXPECT_NE(message("debruijn:k=40").find("k=40"), std::string::npos);
  EXPECT_NE(message("nothing").find(".mtx"), std::string::npos);
}

TEST(Halo, RowBlocks) {
  EXPECT_EQ(row_blocks(10, 3), (std::vector<std::int64_t>{0, 4, 7, 10}));
  EXPECT_EQ(row_blocks(2, 4), (std::vector<std::int64_t>{0, 1, 2, 2, 2}));
  EXPECT_EQ(row_blocks(0, 2), (std::vector<std::int64_t>{0, 0, 0}));
  EXPECT_THROW((void)row_blocks(3, 0), Error);
  EXPECT_THROW((void)halo(Csr{}, 2, 2), Error);
}

/// The matrix of a stencil on the points of a grid of cubes, by its definition: entries between points whose
/// coordinates differ by at most 1, for 7 points only in one of them.
Csr stencil_on_cubes(int points, std::int64_t side, const std::vector<std::int64_t>& dims) {
  struct Point {
    std::int64_t x, y, z;
  };
  std::vector<Point> all;  // by their numbers
  for (std::int64_t rank = 0; rank < dims[0] * dims[1] * dims[2]; ++rank)
    for (std::int64_t i = 0; i < side * side * side; ++i)
      all.push_back({rank / (dims[1] * dims[2]) * side + i / (side * side),
                     rank / dims[2] % dims[1] * side + i / side % side, rank % dims[2] * side + i % side});
  std::vector<Entry> entries;
  for (std::size_t row = 0; row < all.size(); ++row)
    for (std::size_t column = 0; column < all.size(); ++column) {
      const std::int64_t x = std::abs(all[row].x - all[column].x);
      const std::int64_t y = std::abs(all[row].y - all[column].y);
      const std::int64_t z = std::abs(all[row].z - all[column].z);
      if (std::max({x, y, z}) <= 1 && (points == 27 || x + y + z <= 1))
        entries.push_back({static_cast<std::int64_t>(row), static_cast<std::int64_t>(column), 1});
    }
  return assemble(std::ssize(all), std::ssize(all), entries);
}

TEST(Halo, OfCubesIsThatOfTheirMatrix) {
  for (const int points : {7, 27})
    for (const std::int64_t side : {1, 3})
      for (const std::vector<std::int64_t>& dims :
           std::vector<std::vector<std::int64_t>>{{3, 2, 2}, {1, 4, 3}, {1, 1, 1}}) {
        const auto ranks = static_cast<Rank>(dims[0] * dims[1] * dims[2]);
        const std::string spec = "box:points=" + std::to_string(points) + ",unknowns=" + std::to_string(side) +
                                 ",dims=" + std::to_string(dims[0]) + "x" + std::to_string(dims[1]) + "x" +
                                 std::to_string(dims[2]);
        for (Halo expected : halos(stencil_on_cubes(points, side, dims), ranks)) {
          expected.local = {};
          EXPECT_EQ(box_halo(spec, expected.rank, ranks), expected) << spec << ", rank " << expected.rank;
        }
      }
  EXPECT_THROW((void)box_halo("box:points=9", 0, 1), Error);
  EXPECT_THROW((void)box_halo("box:unknowns=0", 0, 1), Error);
  EXPECT_THROW((void)box_halo("box:dims=2x2x2", 0, 9), Error);
}

/// Everything a halo says, one entry at a time from its definition.
void expect_halos_by_definition(const Csr& m, int ranks) {
  const std::vector<std::int64_t> rows = row_blocks(m.rows, ranks);
  const std::vector<std::int64_t> columns = row_blocks(m.columns, ranks);
  const auto owner = [&](std::int64_t column) {
    for (Rank r = 0; r < ranks; ++r)
      if (column >= columns[r] && column < columns[r + 1]) return r;
    return Rank{-1};
  };
  std::map<std::pair<Rank, Rank>, std::set<std::int64_t>> needs;  // (owner, user) -> columns
  for (Rank r = 0; r < ranks; ++r)
    for (std::int64_t row = rows[r]; row < rows[r + 1]; ++row)
      for (std::int64_t k = m.row_begin[row]; k < m.row_begin[row + 1]; ++k)
        if (owner(m.column[k]) != r) needs[{owner(m.column[k]), r}].insert(m.column[k]);

  const Dense all = dense(m);
  const std::vector<Halo> every = halos(m, ranks);
  ASSERT_EQ(every.size(), static_cast<std::size_t>(ranks));
  std::size_t edges_in = 0;
  std::size_t edges_out = 0;
  for (Rank r = 0; r < ranks; ++r) {
    const Halo& h = every[r];
    ASSERT_EQ(h, halo(m, r, ranks));
    ASSERT_EQ(h.rank, r);
    ASSERT_EQ(h.first_row, rows[r]);
    ASSERT_EQ(h.first_column, columns[r]);
    ASSERT_EQ(h.owned, columns[r + 1] - columns[r]);
    std::vector<std::int64_t> ghosts;
    for (const HaloNeighbor& source : h.in) {
      std::set<std::int64_t> received;
      for (std::int64_t slot : source.indices) {
        ASSERT_EQ(slot, static_cast<std::int64_t>(ghosts.size()));  // in order of (owner, column), without gaps
        ghosts.push_back(h.ghosts.at(slot));
        received.insert(h.ghosts.at(slot));
      }
      ASSERT_EQ(received, (needs.at({source.peer, r})));
      ++edges_in;
    }
    ASSERT_EQ(ghosts, h.ghosts);
    for (const HaloNeighbor& destination : h.out) {
      std::vector<std::int64_t> sent;
      for (std::int64_t index : destination.indices) sent.push_back(index + h.first_column);
      const auto& needed = needs.at({r, destination.peer});
      ASSERT_EQ(sent, std::vector<std::int64_t>(needed.begin(), needed.end()));
      ++edges_out;
    }
    ASSERT_TRUE(std::ranges::is_sorted(h.in, {}, &HaloNeighbor::peer));
    ASSERT_TRUE(std::ranges::is_sorted(h.out, {}, &HaloNeighbor::peer));

    expect_well_formed(h.local);
    ASSERT_EQ(h.local.rows, rows[r + 1] - rows[r]);
    ASSERT_EQ(h.local.columns, h.owned + static_cast<std::int64_t>(h.ghosts.size()));
    Dense global;
    for (const auto& [place, value] : dense(h.local)) {
      const std::int64_t column =
          place.second < h.owned ? place.second + h.first_column : h.ghosts.at(place.second - h.owned);
      global[{place.first + h.first_row, column}] = value;
    }
    Dense expected;
    for (const auto& [place, value] : all)
      if (place.first >= rows[r] && place.first < rows[r + 1]) expected[place] = value;
    ASSERT_EQ(global, expected);
  }
  ASSERT_EQ(edges_in, needs.size());
  ASSERT_EQ(edges_out, needs.size());
}

TEST(Halo, AgreesWithItsDefinitionOnRandomMatrices) {
  unsigned seed = 100;
  for (int ranks : {1, 2, 3, 7, 16})
    for (auto [rows, columns] : {std::pair{40, 40}, {23, 23}, {5, 5}, {17, 29}, {29, 4}, {0, 0}, {1, 1}, {6, 0}})
      for (double density : {0.02, 0.3}) {
        SCOPED_TRACE(::testing::Message()
                     << rows << " x " << columns << ", density " << density << ", " << ranks << " ranks");
        expect_halos_by_definition(random_matrix(rows, columns, density, seed++), ranks);
      }
}

TEST(Halo, ExchangeThenLocalProductIsTheProduct) {
  for (const char* spec : {"delaunay:n=500", "27pt:nx=7,ny=6,nz=5", "debruijn:k=7"}) {
    const Csr m = load(spec);
    std::vector<double> x(static_cast<std::size_t>(m.columns));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<double>(i));
    std::vector<double> y(static_cast<std::size_t>(m.rows));
    multiply(m, x, y);
    const std::vector<Halo> every = halos(m, 6);
    for (const Halo& h : every) {
      std::vector<double> local(x.begin() + h.first_column, x.begin() + h.first_column + h.owned);
      local.resize(static_cast<std::size_t>(h.local.columns), std::nan(""));
      for (const HaloNeighbor& source : h.in) {
        const Halo& sender = every[source.peer];
        const auto out = std::ranges::find(sender.out, h.rank, &HaloNeighbor::peer);
        ASSERT_EQ(out->indices.size(), source.indices.size());
        for (std::size_t i = 0; i < source.indices.size(); ++i)
          local[h.owned + source.indices[i]] = x[sender.first_column + out->indices[i]];
      }
      std::vector<double> part(static_cast<std::size_t>(h.local.rows));
      multiply(h.local, local, part);
      for (std::size_t i = 0; i < part.size(); ++i) EXPECT_NEAR(part[i], y[h.first_row + i], 1e-13);
    }
  }
}

TEST(Halo, PatternsOfAllRanksMatch) {
  const std::vector<Halo> every = halos(random_matrix(37, 37, 0.1, 5), 5);
  Pattern pattern;
  for (const Halo& h : every) pattern.push_back(to_pattern(h, 8));
  check_matched(pattern);
  for (const Halo& h : every) {
    RangeList received;
    for (const Edge& edge : pattern[h.rank].in) received.append(edge.ranges);
    EXPECT_EQ(received, (RangeList{{0, 8 * static_cast<std::int64_t>(h.ghosts.size())}}));
    for (std::size_t e = 0; e < h.out.size(); ++e) {
      EXPECT_EQ(pattern[h.rank].out[e].peer, h.out[e].peer);
      std::vector<std::int64_t> elements;
      pattern[h.rank].out[e].ranges.for_each([&](Range range) {
        for (std::int64_t offset = range.offset; offset < range.end(); offset += 8) elements.push_back(offset / 8);
      });
      EXPECT_EQ(elements, h.out[e].indices);
    }
  }
}

TEST(Halo, UniqueValuesBetweenRegions) {
  // Rank 0 owns x0, needed by ranks 2 and 3 of the other region: it counts once.
  const std::vector<Entry> entries{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}, {3, 0, 1}, {0, 3, 1}, {1, 2, 1}};
  const std::vector<Halo> four = halos(assemble(4, 4, entries), 4);
  const std::vector<int> regions{0, 0, 1, 1};
  EXPECT_EQ(unique_values_by_pair(four, regions),
            (std::map<std::pair<int, int>, std::int64_t>{{{0, 1}, 1}, {{1, 0}, 2}}));
  EXPECT_EQ(unique_values_between(four, regions), 3);
  EXPECT_EQ(unique_values_between(four, std::vector<int>{0, 1, 2, 3}), 5);
  EXPECT_EQ(unique_values_between(four, std::vector<int>{7, 7, 7, 7}), 0);
  EXPECT_THROW((void)unique_values_between(four, std::vector<int>{0}), Error);

  const Csr m = random_matrix(60, 60, 0.1, 9);
  const std::vector<int> of_rank{0, 1, 0, 2, 2, 1, 0};
  const std::vector<std::int64_t> blocks = row_blocks(60, 7);
  const auto region_of = [&](std::int64_t row) {
    int rank = 0;
    while (row >= blocks[rank + 1]) ++rank;
    return of_rank[rank];
  };
  std::set<std::pair<std::int64_t, int>> crossing;
  for (const auto& [place, value] : dense(m))
    if (region_of(place.first) != region_of(place.second)) crossing.insert({place.second, region_of(place.first)});
  EXPECT_EQ(unique_values_between(halos(m, 7), of_rank), static_cast<std::int64_t>(crossing.size()));
}

TEST(Halo, BlocksMayBeOfAnySize) {
  const Csr m = random_matrix(37, 37, 0.1, 5);
  EXPECT_EQ(halos(m, row_blocks(37, 5)), halos(m, 5));
  const std::vector<std::int64_t> blocks{0, 0, 20, 21, 37};
  const std::vector<Halo> uneven = halos(m, blocks);
  for (std::size_t rank = 0; rank < uneven.size(); ++rank) {
    std::set<std::int64_t> needed;
    for (const auto& [place, value] : dense(m))
      if (place.first >= blocks[rank] && place.first < blocks[rank + 1] &&
          (place.second < blocks[rank] || place.second >= blocks[rank + 1]))
        needed.insert(place.second);
    EXPECT_EQ(uneven[rank].ghosts, std::vector<std::int64_t>(needed.begin(), needed.end()));
  }
  EXPECT_THROW((void)halos(m, std::vector<std::int64_t>{0, 36}), Error);
  EXPECT_THROW((void)halos(m, std::vector<std::int64_t>{0, 20, 10, 37}), Error);
}

/// Real matrices, in the folder that LANEWAY_MATRICES names.
class MatrixCollection : public ::testing::Test {
 protected:
  void SetUp() override {
    const char* folder = std::getenv("LANEWAY_MATRICES");
    if (folder == nullptr || !std::filesystem::is_directory(folder))
      GTEST_SKIP() << "LANEWAY_MATRICES names no folder of matrices";
    folder_ = folder;
  }

  std::filesystem::path folder_;
};

TEST_F(MatrixCollection, EveryFileIsReadAndDistributed) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder_)) {
    const std::string path = file.path().string();
    const bool graph = path.ends_with(".graph");
    if (!graph && !path.ends_with(".mtx")) continue;
    SCOPED_TRACE(path);
    const Csr m = load(path);
    expect_well_formed(m);
    std::ifstream in(path);
    std::string line;
    std::string banner;
    while (std::getline(in, line) && line.starts_with('%'))
      if (banner.empty()) banner = line;
    std::int64_t first = 0;
    std::int64_t second = 0;
    std::int64_t third = 0;
    std::sscanf(line.c_str(), "%ld %ld %ld", &first, &second, &third);
    EXPECT_EQ(m.rows, first);
    if (graph) {
      EXPECT_EQ(m.nonzeros(), 2 * second + first);
    } else if (banner.find("general") != std::string::npos) {
      EXPECT_EQ(m.columns, second);
      EXPECT_EQ(m.nonzeros(), third);
    } else {
      std::int64_t diagonal = 0;
      for (std::int64_t r = 0; r < m.rows; ++r)
        diagonal += std::count(m.column.begin() + m.row_begin[r], m.column.begin() + m.row_begin[r + 1], r);
      EXPECT_EQ(m.nonzeros(), 2 * third - diagonal);
      EXPECT_EQ(transpose(m), m);
    }
    const std::vector<Halo> every = halos(m, 16);
    EXPECT_EQ(every[5], halo(m, 5, 16));
    ++files;
  }
  EXPECT_GT(files, 0);
}

TEST_F(MatrixCollection, GeneratorsGiveTheCollectionsMatrices) {
  const std::array<std::pair<const char*, const char*>, 3> pairs{
      {{"debr_G_08.mtx", "debruijn:k=8"}, {"debr_G_12.mtx", "debruijn:k=12"}, {"ccc_G_06.mtx", "ccc:k=6"}}};
  for (const auto& [file, spec] : pairs) {
    if (!std::filesystem::exists(folder_ / file)) continue;
    EXPECT_EQ(load((folder_ / file).string()), load(spec)) << file;
  }
}

}  // namespace
