/// Cabana's plans, gathers, scatters and migrations against plain messages, and halos of grids against the numbers of
/// the whole grid. Where Cabana is not installed, its types are those of the stand-in.
#include <array>
#include <cstdint>
#include <map>

#include "laneway/cabana_grid.hpp"
#include "support.hpp"

namespace laneway {
namespace {

using test::rank;
using test::size;
using Memory = Kokkos::HostSpace;
using Lane = CabanaCommSpace;

struct Particle {
  double x[3];
  int id;
  char kind;
};
bool operator==(const Particle& a, const Particle& b) {
  return std::equal(a.x, a.x + 3, b.x) && a.id == b.id && a.kind == b.kind;
}

Particle particle(int of, int number) {
  return {{0.5 * number, 1.0 * of, -number / 3.0}, 1000 * of + number, static_cast<char>('a' + number % 26)};
}

class CabanaTest : public test::MpiTest {
 protected:
  static void SetUpTestSuite() {
    int words = 0;
    char* none[] = {nullptr};
    Kokkos::initialize(words, none);
  }
  static void TearDownTestSuite() { Kokkos::finalize(); }
};

template <class T>
Kokkos::View<T*, Memory> view_of(const std::vector<T>& list) {
  Kokkos::View<T*, Memory> view("list", list.size());
  for (std::size_t i = 0; i < list.size(); ++i) view(i) = list[i];
  return view;
}

/// Ranks for elements: some go nowhere, some stay, others go to up to three ranks.
std::vector<int> ranks_for(std::size_t elements, unsigned seed) {
  std::vector<int> ranks(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const unsigned mixed = (static_cast<unsigned>(i) + 7u * static_cast<unsigned>(rank())) * 2654435761u + seed;
    const int kind = static_cast<int>(mixed >> 28);
    ranks[i] = kind < 2 ? -1 : (rank() + kind % 3) % size();
  }
  return ranks;
}

std::vector<int> all_ranks() {
  std::vector<int> ranks;
  for (int r = size() - 1; r >= 0; --r) ranks.push_back(r);
  return ranks;
}

/// The oracle: what arrives from each rank, by plain messages. Elements of one rank keep their order.
template <class T>
std::map<int, std::vector<T>> sent_by_messages(const std::map<int, std::vector<T>>& out) {
  std::vector<int> lengths(static_cast<std::size_t>(size())), arriving(static_cast<std::size_t>(size()));
  for (const auto& [to, list] : out) lengths[static_cast<std::size_t>(to)] = static_cast<int>(list.size());
  MPI_Alltoall(lengths.data(), 1, MPI_INT, arriving.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::map<int, std::vector<T>> in;
  std::vector<MPI_Request> requests;
  for (int r = 0; r < size(); ++r) {
    const auto length = static_cast<std::size_t>(arriving[static_cast<std::size_t>(r)]);
    if (length == 0) continue;
    in[r].resize(length);
    MPI_Irecv(in[r].data(), static_cast<int>(length * sizeof(T)), MPI_BYTE, r, 3, MPI_COMM_WORLD,
              &requests.emplace_back());
  }
  for (const auto& [to, list] : out)
    if (!list.empty())
      MPI_Isend(list.data(), static_cast<int>(list.size() * sizeof(T)), MPI_BYTE, to, 3, MPI_COMM_WORLD,
                &requests.emplace_back());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return in;
}

/// In the order of the plan's neighbours.
template <class T, class Plan>
std::vector<T> in_order(const std::map<int, std::vector<T>>& in, const Plan& plan) {
  std::vector<T> all;
  for (int n = 0; n < plan.numNeighbor(); ++n) {
    const auto found = in.find(plan.neighborRank(n));
    if (found == in.end()) continue;
    EXPECT_EQ(found->second.size(), plan.numImport(n));
    all.insert(all.end(), found->second.begin(), found->second.end());
  }
  EXPECT_EQ(all.size(), plan.totalNumImport());
  return all;
}

using Particles = Cabana::AoSoA<Particle, Memory>;

TEST_F(CabanaTest, MigratesParticles) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::size_t elements = (seed + static_cast<unsigned>(rank())) % 4 == 0 ? 0 : 20 + 13 * seed;
    const std::vector<int> ranks = ranks_for(elements, seed);
    const auto make = [&] {
      if (seed % 2 == 0) return Cabana::Distributor<Memory, Lane>(MPI_COMM_WORLD, view_of(ranks));
      return Cabana::Distributor<Memory, Lane>(MPI_COMM_WORLD, view_of(ranks), all_ranks());
    };
    const auto distributor = make();
    Particles source("source", elements), target("target", distributor.totalNumImport());
    std::map<int, std::vector<Particle>> out;
    for (std::size_t i = 0; i < elements; ++i) {
      source.setTuple(i, particle(rank(), static_cast<int>(i)));
      if (ranks[i] >= 0) out[ranks[i]].push_back(source.getTuple(i));
    }
    const std::vector<Particle> expected = in_order(sent_by_messages(out), distributor);
    for (int turn = 0; turn < 2; ++turn) {
      Cabana::migrate(distributor, source, target);
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(target.getTuple(i), expected[i]) << seed << " " << i;
    }
    Cabana::migrate(distributor, source);
    ASSERT_EQ(source.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(source.getTuple(i), expected[i]) << seed << " " << i;
  }
}

using Field = Cabana::Slice<double, Memory, 3>;

TEST_F(CabanaTest, MigratesSlices) {
  const std::vector<int> ranks = ranks_for(31, 5);
  const Cabana::Distributor<Memory, Lane> distributor(MPI_COMM_WORLD, view_of(ranks));
  const Field source("source", 31);
  Field target("target", distributor.totalNumImport());
  std::map<int, std::vector<std::array<double, 3>>> out;
  for (std::size_t i = 0; i < 31; ++i) {
    for (std::size_t n = 0; n < 3; ++n)
      source(i, n) = 100.0 * rank() + static_cast<double>(i) + 0.25 * static_cast<double>(n);
    if (ranks[i] >= 0) out[ranks[i]].push_back({source(i, 0), source(i, 1), source(i, 2)});
  }
  const auto expected = in_order(sent_by_messages(out), distributor);
  Cabana::migrate(distributor, source, target);
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t n = 0; n < 3; ++n) ASSERT_EQ(target(i, n), expected[i][n]) << i << " " << n;
}

/// A halo of `owned` elements, of which some are exported several times, made from exports or from imports.
template <class Build>
struct TestHalo {
  static constexpr int owned = 17;
  std::vector<int> ids, ranks;

  explicit TestHalo(unsigned seed) {
    ranks = ranks_for(40, seed);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] < 0) ranks[i] = rank();
      ids.push_back(static_cast<int>((i * 5 + seed) % owned));
    }
  }
  [[nodiscard]] Cabana::Halo<Memory, Build, Lane> make(bool knows_neighbors) const {
    if (knows_neighbors) return {MPI_COMM_WORLD, owned, view_of(ids), view_of(ranks), all_ranks()};
    return {MPI_COMM_WORLD, owned, view_of(ids), view_of(ranks)};
  }
  /// Elements to each rank, in order.
  [[nodiscard]] std::map<int, std::vector<int>> exported() const {
    std::map<int, std::vector<int>> lists;
    for (std::size_t i = 0; i < ids.size(); ++i) lists[ranks[i]].push_back(ids[i]);
    return std::is_same_v<Build, Cabana::Export> ? lists : sent_by_messages(lists);
  }
};

template <class Build>
void gather_and_scatter() {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const TestHalo<Build> test(seed);
    const auto halo = test.make(seed % 2 == 1);
    const std::map<int, std::vector<int>> exported = test.exported();
    constexpr std::size_t owned = TestHalo<Build>::owned;
    const std::size_t all = owned + halo.numGhost();

    Particles particles("particles", all), others("others", all);
    auto gather = Cabana::createGather(halo, particles);
    for (int turn = 0; turn < 3; ++turn) {
      const Particles& now = turn == 1 ? others : particles;
      gather.reserve(halo, now, turn == 2 ? 4.0 : 1.0);  // other buffers
      std::map<int, std::vector<Particle>> out;
      for (std::size_t i = 0; i < all; ++i) now.setTuple(i, particle(rank(), static_cast<int>(i) + 100 * turn));
      for (const auto& [to, list] : exported)
        for (const int id : list) out[to].push_back(now.getTuple(static_cast<std::size_t>(id)));
      const auto expected = in_order(sent_by_messages(out), halo);
      gather.apply();
      for (std::size_t i = 0; i < owned; ++i)
        ASSERT_EQ(now.getTuple(i), particle(rank(), static_cast<int>(i) + 100 * turn)) << i;
      for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(now.getTuple(owned + i), expected[i]) << seed << i;
    }

    const Field field("field", all);
    auto fill = [&](double scale) {
      for (std::size_t i = 0; i < all; ++i)
        for (std::size_t n = 0; n < 3; ++n)
          field(i, n) = scale * (1.0 + rank()) / (1.0 + static_cast<double>(3 * i + n));
    };
    fill(1.0);
    std::map<int, std::vector<std::array<double, 3>>> out;
    for (const auto& [to, list] : exported)
      for (const int id : list) {
        const auto i = static_cast<std::size_t>(id);
        out[to].push_back({field(i, 0), field(i, 1), field(i, 2)});
      }
    const auto expected = in_order(sent_by_messages(out), halo);
    auto gather_field = Cabana::createGather(halo, field);
    gather_field.apply();
    for (std::size_t i = 0; i < expected.size(); ++i)
      for (std::size_t n = 0; n < 3; ++n) ASSERT_EQ(field(owned + i, n), expected[i][n]) << seed;

    // Back: ghosts of each neighbour, added neighbour after neighbour in the order of exports.
    fill(0.1);
    std::map<int, std::vector<std::array<double, 3>>> ghosts;
    std::size_t ghost = owned;
    for (int n = 0; n < halo.numNeighbor(); ++n)
      for (std::size_t k = 0; k < halo.numImport(n); ++k, ++ghost)
        ghosts[halo.neighborRank(n)].push_back({field(ghost, 0), field(ghost, 1), field(ghost, 2)});
    const auto back = sent_by_messages(ghosts);
    std::vector<std::array<double, 3>> sums(owned);
    for (std::size_t i = 0; i < owned; ++i) sums[i] = {field(i, 0), field(i, 1), field(i, 2)};
    for (int n = 0; n < halo.numNeighbor(); ++n) {
      const int from = halo.neighborRank(n);
      if (!exported.contains(from)) continue;
      const std::vector<int>& list = exported.at(from);
      ASSERT_EQ(back.at(from).size(), list.size());
      for (std::size_t k = 0; k < list.size(); ++k)
        for (std::size_t c = 0; c < 3; ++c) sums[static_cast<std::size_t>(list[k])][c] += back.at(from)[k][c];
    }
    auto scatter = Cabana::createScatter(halo, field);
    scatter.apply();
    for (std::size_t i = 0; i < owned; ++i)
      for (std::size_t c = 0; c < 3; ++c) ASSERT_EQ(field(i, c), sums[i][c]) << seed << " " << i;
  }
}

TEST_F(CabanaTest, GathersAndScattersOfExports) {
  gather_and_scatter<Cabana::Export>();
}

TEST_F(CabanaTest, GathersAndScattersOfImports) {
  gather_and_scatter<Cabana::Import>();
}

TEST_F(CabanaTest, BadRanksAreRefusedByAll) {
  std::vector<int> ranks(3, 0);
  if (rank() == size() - 1) ranks[1] = size() + 4;
  try {
    const Cabana::Distributor<Memory, Lane> distributor(MPI_COMM_WORLD, view_of(ranks));
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(), "Cabana::CommunicationPlan on rank " + std::to_string(size() - 1) + ": ranks[1] is " +
                                std::to_string(size() + 4) + " in a communicator of " + std::to_string(size()) +
                                " ranks");
  }
  ranks.assign(3, rank());
  const std::vector<int> others = size() > 1 ? std::vector<int>{(rank() + 1) % size()} : std::vector<int>{};
  try {
    const Cabana::Distributor<Memory, Lane> distributor(MPI_COMM_WORLD, view_of(ranks), others);
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(),
                 "Cabana::CommunicationPlan on rank 0: export_ranks[0] is 0, which is not in neighbor_ranks");
  }
}

TEST_F(CabanaTest, WrongSizesAreRefused) {
  const std::vector<int> ranks(3, rank());
  const Cabana::Distributor<Memory, Lane> distributor(MPI_COMM_WORLD, view_of(ranks));
  Particles source("source", 4), target("target", 3);
  EXPECT_THROW(Cabana::migrate(distributor, source, target), std::runtime_error);
  const Cabana::Halo<Memory, Cabana::Export, Lane> halo(MPI_COMM_WORLD, 3, view_of(ranks), view_of(ranks));
  EXPECT_THROW(Cabana::createGather(halo, source), std::runtime_error);
  EXPECT_THROW(Cabana::createScatter(halo, Field("field", 5)), std::runtime_error);
}

/// A periodic grid of blocks, two arrays of other types in one halo. Each cell has a number of the whole grid.
struct Grid {
  MPI_Comm comm = MPI_COMM_NULL;
  std::array<int, 2> ranks{}, at{};
  Cabana::Grid::Block<2> block;

  explicit Grid(int width) {
    std::array<int, 2> periods{1, 1};
    MPI_Dims_create(size(), 2, ranks.data());
    MPI_Cart_create(MPI_COMM_WORLD, 2, ranks.data(), periods.data(), 0, &comm);
    MPI_Cart_coords(comm, rank(), 2, at.data());
    block = {comm, {5, 4}, width};
  }
  ~Grid() { MPI_Comm_free(&comm); }
  [[nodiscard]] int number(int i, int j, int value) const {
    const auto whole = [&](std::size_t d, int index) {
      const int cells = ranks[d] * block.cells[d];
      return (at[d] * block.cells[d] + index - block.width + cells) % cells;
    };
    return 1 + 10 * (whole(0, i) + 100 * whole(1, j)) + value;
  }
  [[nodiscard]] bool is_owned(int i, int j) const {
    const auto inside = [&](std::size_t d, int index) {
      return index >= block.width && index < block.width + block.cells[d];
    };
    return inside(0, i) && inside(1, j);
  }
  template <class F>
  void for_each_cell(F&& f) const {
    for (int i = 0; i < block.cells[0] + 2 * block.width; ++i)
      for (int j = 0; j < block.cells[1] + 2 * block.width; ++j) f(i, j);
  }
};

Cabana::Grid::HaloPattern<2> all_directions() {
  Cabana::Grid::HaloPattern<2> pattern;
  for (int i = -1; i < 2; ++i)
    for (int j = -1; j < 2; ++j)
      if (i != 0 || j != 0) pattern.neighbors.push_back({i, j});
  return pattern;
}

template <class Halo, class Gather, class Scatter>
void exchange_grids(const Grid& grid, Halo& halo, const Cabana::Grid::Array<double, Memory>& u,
                    const Cabana::Grid::Array<std::int16_t, Memory>& kind, Gather&& gather, Scatter&& scatter) {
  for (int turn = 0; turn < 2; ++turn) {
    grid.for_each_cell([&](int i, int j) {
      for (int l = 0; l < 2; ++l) u.view()(i, j, l) = grid.is_owned(i, j) ? grid.number(i, j, l) + turn : -1;
      kind.view()(i, j, 0) = static_cast<std::int16_t>(grid.is_owned(i, j) ? grid.number(i, j, 5) : -1);
    });
    gather(halo);
    grid.for_each_cell([&](int i, int j) {
      for (int l = 0; l < 2; ++l) ASSERT_EQ(u.view()(i, j, l), grid.number(i, j, l) + turn) << i << " " << j;
      ASSERT_EQ(kind.view()(i, j, 0), static_cast<std::int16_t>(grid.number(i, j, 5))) << i << " " << j;
    });
  }
  // Every cell holds its number, so that a sum has it as many times as there are copies: all copies are counted by
  // what the whole torus has.
  const int cells[] = {grid.block.cells[0], grid.block.cells[1]}, width = grid.block.width;
  const auto copies = [&](int d, int index) { return 1 + (index < 2 * width) + (index >= cells[d]); };
  scatter(halo, Cabana::Grid::ScatterReduce::Sum());
  grid.for_each_cell([&](int i, int j) {
    if (!grid.is_owned(i, j)) return;
    for (int l = 0; l < 2; ++l)
      ASSERT_EQ(u.view()(i, j, l), copies(0, i) * copies(1, j) * (grid.number(i, j, l) + 1)) << i << " " << j;
  });
  grid.for_each_cell([&](int i, int j) {
    for (int l = 0; l < 2; ++l) u.view()(i, j, l) = grid.is_owned(i, j) ? 5 : rank() - 100;
  });
  scatter(halo, Cabana::Grid::ScatterReduce::Min());
  grid.for_each_cell([&](int i, int j) {
    if (!grid.is_owned(i, j)) return;
    const bool has_copies = copies(0, i) * copies(1, j) > 1;
    ASSERT_EQ(u.view()(i, j, 0) < 5, has_copies) << i << " " << j;
  });
}

TEST_F(CabanaTest, HalosOfGrids) {
  for (const int width : {1, 2}) {
    const Grid grid(width);
    const Cabana::Grid::Array<double, Memory> u("u", grid.block, 2);
    const Cabana::Grid::Array<std::int16_t, Memory> kind("kind", grid.block, 1);
    const auto halo = Cabana::Grid::createHalo<Lane>(all_directions(), width, u, kind);
    const Kokkos::DefaultHostExecutionSpace space;
    exchange_grids(
        grid, *halo, u, kind, [&](auto& with) { with.gather(space, u, kind); },
        [&](auto& with, auto op) { with.scatter(space, op, u, kind); });
  }
}

TEST_F(CabanaTest, StreamHalosOfGrids) {
  const Grid grid(2);
  const Cabana::Grid::Array<double, Memory> u("u", grid.block, 2);
  const Cabana::Grid::Array<std::int16_t, Memory> kind("kind", grid.block, 1);
  const auto halo = cabana::create_stream_halo(Kokkos::DefaultHostExecutionSpace(), all_directions(), 2, u, kind);
  exchange_grids(
      grid, *halo, u, kind,
      [&](auto& with) {
        with.enqueueGather(u, kind);
        with.wait();
      },
      [&](auto& with, auto op) {
        with.enqueueScatter(op, u, kind);
        with.wait();
      });
}

}  // namespace
}  // namespace laneway
