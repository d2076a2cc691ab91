/// Cabana's own halos and distributors, by its Cabana::Mpi, beside ours: the same particles, bit for bit, at the same
/// places. Compiled where Cabana is found.
#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <tuple>

#include "laneway/cabana.hpp"
#include "support.hpp"

namespace laneway {
namespace {

using test::rank;
using test::size;
using Memory = Kokkos::HostSpace;
using Particles = Cabana::AoSoA<Cabana::MemberTypes<double[3], float, int, double[2][3]>, Memory>;

class CabanaOwnTest : public test::MpiTest {
 protected:
  static void SetUpTestSuite() {
    int words = 0;
    char* none[] = {nullptr};
    Kokkos::initialize(words, none);
  }
  static void TearDownTestSuite() { Kokkos::finalize(); }
};

void set(const Particles& particles, std::size_t i, int number) {
  const auto position = Cabana::slice<0>(particles);
  const auto velocity = Cabana::slice<3>(particles);
  for (std::size_t c = 0; c < 3; ++c) position(i, c) = number + 0.25 * static_cast<double>(c);
  Cabana::slice<1>(particles)(i) = static_cast<float>(number) / 3;
  Cabana::slice<2>(particles)(i) = number;
  for (std::size_t r = 0; r < 2; ++r)
    for (std::size_t c = 0; c < 3; ++c) velocity(i, r, c) = -number / (1.0 + static_cast<double>(3 * r + c));
}

/// All numbers of an element.
std::array<double, 11> numbers(const Particles& particles, std::size_t i) {
  std::array<double, 11> all{};
  const auto position = Cabana::slice<0>(particles);
  const auto velocity = Cabana::slice<3>(particles);
  for (std::size_t c = 0; c < 3; ++c) all[c] = position(i, c);
  all[3] = Cabana::slice<1>(particles)(i);
  all[4] = Cabana::slice<2>(particles)(i);
  for (std::size_t n = 0; n < 6; ++n) all[5 + n] = velocity(i, n / 3, n % 3);
  return all;
}

Particles filled(std::size_t elements, std::size_t with_ghosts) {
  Particles particles("particles", with_ghosts);
  for (std::size_t i = 0; i < with_ghosts; ++i)
    set(particles, i, i < elements ? 1000 * rank() + static_cast<int>(i) : -1);
  return particles;
}

template <class T>
Kokkos::View<T*, Memory> view_of(const std::vector<T>& list) {
  Kokkos::View<T*, Memory> view("list", list.size());
  for (std::size_t i = 0; i < list.size(); ++i) view(i) = list[i];
  return view;
}

std::vector<int> all_ranks() {
  std::vector<int> ranks(static_cast<std::size_t>(size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

/// Some elements of 23 to each rank, itself included.
struct Exports {
  static constexpr std::size_t owned = 23;
  std::vector<std::size_t> ids;
  std::vector<int> ranks;

  explicit Exports(int round) {
    for (int peer = 0; peer < size(); ++peer)
      for (int i = 0; i < (rank() * 3 + peer * 5 + round) % 7; ++i) {
        ids.push_back(static_cast<std::size_t>(i * 11 + peer * 2 + round) % owned);
        ranks.push_back(peer);
      }
  }
  template <class Space>
  [[nodiscard]] Cabana::Halo<Memory, Cabana::Export, Space> halo() const {
    return {MPI_COMM_WORLD, owned, view_of(ids), view_of(ranks), all_ranks()};
  }
};

/// Elements that come from each rank, as a plan numbers them from `first` on.
template <class Plan>
HaloSide imports_of(const Plan& plan, std::size_t first) {
  HaloSide side;
  for (int n = 0; n < plan.numNeighbor(); ++n) {
    side.ranks.push_back(plan.neighborRank(n));
    side.counts.push_back(static_cast<int>(plan.numImport(n)));
    for (std::size_t i = 0; i < plan.numImport(n); ++i) side.indices.push_back(static_cast<MPI_Count>(first++));
  }
  return side;
}

/// What has come from each rank, in order.
std::vector<std::vector<std::array<double, 11>>> by_rank(const Particles& particles, const HaloSide& imports) {
  std::vector<std::vector<std::array<double, 11>>> found(static_cast<std::size_t>(size()));
  std::size_t next = 0;
  for (std::size_t n = 0; n < imports.ranks.size(); ++n)
    for (int i = 0; i < imports.counts[n]; ++i)
      found[static_cast<std::size_t>(imports.ranks[n])].push_back(
          numbers(particles, static_cast<std::size_t>(imports.indices[next++])));
  return found;
}

TEST_F(CabanaOwnTest, GathersAsCabanaDoes) {
  for (int round = 0; round < 5; ++round) {
    const Exports exports(round);
    const auto own = exports.halo<Cabana::Mpi>();
    const auto lane = exports.halo<CabanaCommSpace>();
    const std::size_t all = Exports::owned + own.numGhost();
    ASSERT_EQ(lane.numGhost(), own.numGhost());
    Particles expected = filled(Exports::owned, all), gathered = filled(Exports::owned, all),
              exchanged = filled(Exports::owned, all);
    Cabana::gather(own, expected);
    Cabana::gather(lane, gathered);
    const HaloSide imports = imports_of(own, Exports::owned);
    ASSERT_EQ(by_rank(gathered, imports_of(lane, Exports::owned)), by_rank(expected, imports)) << round;

    HaloSide sent;
    for (int n = 0; n < own.numNeighbor(); ++n) {
      sent.ranks.push_back(own.neighborRank(n));
      sent.counts.push_back(0);
      for (std::size_t i = 0; i < exports.ids.size(); ++i)
        if (exports.ranks[i] == own.neighborRank(n)) {
          sent.indices.push_back(static_cast<MPI_Count>(exports.ids[i]));
          ++sent.counts.back();
        }
    }
    auto position = Cabana::slice<0>(exchanged);
    auto weight = Cabana::slice<1>(exchanged);
    auto number = Cabana::slice<2>(exchanged);
    auto velocity = Cabana::slice<3>(exchanged);
    kokkos::AosoaHalo halo(MPI_COMM_WORLD, sent, imports, position, weight, number, velocity);
    halo.exchange(Kokkos::DefaultHostExecutionSpace(), position, weight, number, velocity);
    for (std::size_t i = 0; i < all; ++i) ASSERT_EQ(numbers(exchanged, i), numbers(expected, i)) << round << " " << i;
  }
}

TEST_F(CabanaOwnTest, MigratesAsCabanaDoes) {
  for (int round = 0; round < 5; ++round) {
    const std::size_t elements = round == 3 ? 0 : 20 + 7 * static_cast<std::size_t>(round);
    std::vector<int> ranks(elements);
    for (std::size_t i = 0; i < elements; ++i) {
      const int kind = static_cast<int>(i * 7 + static_cast<std::size_t>(round)) % 5;
      ranks[i] = kind == 0 ? -1 : (rank() + kind) % size();
    }
    const Cabana::Distributor<Memory, Cabana::Mpi> own(MPI_COMM_WORLD, view_of(ranks), all_ranks());
    const Cabana::Distributor<Memory, CabanaCommSpace> lane(MPI_COMM_WORLD, view_of(ranks), all_ranks());
    const std::size_t arriving = own.totalNumImport();
    ASSERT_EQ(lane.totalNumImport(), arriving);
    Particles source = filled(elements, elements), expected("expected", arriving), migrated("migrated", arriving),
              moved("moved", arriving);
    Cabana::migrate(own, source, expected);
    Cabana::migrate(lane, source, migrated);
    const HaloSide imports = imports_of(own, 0);
    ASSERT_EQ(by_rank(migrated, imports_of(lane, 0)), by_rank(expected, imports)) << round;

    auto from = std::tuple(Cabana::slice<0>(source), Cabana::slice<1>(source), Cabana::slice<2>(source),
                           Cabana::slice<3>(source));
    auto to =
        std::tuple(Cabana::slice<0>(moved), Cabana::slice<1>(moved), Cabana::slice<2>(moved), Cabana::slice<3>(moved));
    auto& [position, weight, number, velocity] = from;
    kokkos::AosoaDistributor distributor(MPI_COMM_WORLD, std::span<const int>(ranks), position, weight, number,
                                         velocity);
    ASSERT_EQ(distributor.imports(), arriving);
    distributor.migrate(Kokkos::DefaultHostExecutionSpace(), std::tie(position, weight, number, velocity),
                        std::apply([](const auto&... slices) { return std::tie(slices...); }, to));
    HaloSide in_order = imports;  // by rank
    for (std::size_t i = 0, next = 0; i < in_order.ranks.size(); ++i) {
      in_order.ranks[i] = static_cast<int>(i);
      const auto at = std::ranges::find(imports.ranks, static_cast<int>(i)) - imports.ranks.begin();
      in_order.counts[i] =
          static_cast<std::size_t>(at) < imports.ranks.size() ? imports.counts[static_cast<std::size_t>(at)] : 0;
      for (int n = 0; n < in_order.counts[i]; ++n, ++next) in_order.indices[next] = static_cast<MPI_Count>(next);
    }
    ASSERT_EQ(by_rank(moved, in_order), by_rank(expected, imports)) << round;
  }
}

}  // namespace
}  // namespace laneway
