// Halos by Laneway's plans against GHEX's own exchange, bit for bit: unstructured patterns with two domains on one
// rank, and one that needs nothing, fields of several types, levels and strides; regular grids in three dimensions,
// periodic and not, with components and other layouts; several patterns in one exchange.
#include <ghex/communication_object.hpp>
#include <ghex/structured/regular/domain_descriptor.hpp>
#include <ghex/structured/regular/field_descriptor.hpp>
#include <ghex/structured/regular/halo_generator.hpp>
#include <ghex/structured/regular/make_pattern.hpp>
#include <ghex/unstructured/pattern.hpp>
#include <ghex/unstructured/user_concepts.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "laneway/ghex.hpp"

namespace {

int differences = 0;

void check(bool holds, const char* what) {
  if (holds) return;
  ++differences;
  std::fprintf(stderr, "FAILED: %s\n", what);
}

template <class T>
bool same(const std::vector<T>& one, const std::vector<T>& other) {
  return one.size() == other.size() && std::memcmp(one.data(), other.data(), one.size() * sizeof(T)) == 0;
}

// --- unstructured

using Domain = ghex::unstructured::domain_descriptor<int, int>;
template <class T>
using Data = ghex::unstructured::data_descriptor<ghex::cpu, int, int, T>;

/// Every element belongs to the domain that its number says; one domain needs nothing. Rank 0 has two domains, but from
/// eight on: GHEX 0.8 gives two pairs of domains one tag there.
std::vector<Domain> domains_of(int rank, int ranks) {
  const bool has_two = ranks < 7;
  const int all = has_two ? ranks + 1 : ranks;
  std::vector<Domain> made;
  for (const int id : rank == 0 && has_two ? std::vector<int>{0, ranks} : std::vector<int>{rank}) {
    std::mt19937 random(static_cast<unsigned>(id));
    std::vector<int> own, others;
    for (int gid = 0; gid < 40 * all; ++gid) {
      const int owner = gid * 11 % all;
      if (owner == id) own.push_back(gid);
      if (owner != id && random() % 3 == 0 && (id == 0 || id != ranks - 1)) others.push_back(gid);
    }
    // The halo lies in between, not behind.
    std::vector<int> gids(own.begin(), own.begin() + 5);
    std::vector<std::size_t> outer;
    for (const int gid : others) {
      outer.push_back(gids.size());
      gids.push_back(gid);
    }
    gids.insert(gids.end(), own.begin() + 5, own.end());
    made.emplace_back(id, gids.begin(), gids.end(), outer.begin(), outer.end());
  }
  return made;
}

/// The memory of a field of each domain; what is not inside has a value of its own.
template <class T>
struct Field {
  std::size_t levels;
  bool levels_first;
  std::size_t stride;
  std::vector<std::vector<T>> memory;
  std::vector<Data<T>> data;

  Field(const std::vector<Domain>& domains, std::size_t levels_, bool levels_first_, std::size_t stride_)
      : levels(levels_), levels_first(levels_first_), stride(stride_) {
    for (const Domain& domain : domains) {
      const std::size_t outer = stride != 0 ? stride : levels_first ? levels : domain.size();
      memory.emplace_back((levels_first ? domain.size() : levels) * outer, T(-7));
    }
    for (std::size_t i = 0; i < domains.size(); ++i)
      data.emplace_back(domains[i], memory[i], levels, levels_first, stride);
  }
  void fill(const std::vector<Domain>& domains, int round) {
    for (std::size_t i = 0; i < domains.size(); ++i)
      for (const auto& [gid, lid] : domains[i].inner_ids())
        for (std::size_t level = 0; level < levels; ++level)
          data[i](lid, level) = static_cast<T>(1000 * round + 10 * gid + static_cast<int>(level));
  }
};

void unstructured(ghex::context& context) {
  const std::vector<Domain> domains = domains_of(context.rank(), context.size());
  const ghex::unstructured::halo_generator<int, int> all;
  auto pattern = ghex::make_pattern<ghex::unstructured::grid>(context, all, domains);
  auto again = ghex::make_pattern<ghex::unstructured::grid>(context, all, domains);
  struct Fields {
    Field<double> column;
    Field<int> padded;
    Field<float> planes;
  };
  const auto make = [&] { return Fields{{domains, 1, true, 0}, {domains, 3, true, 5}, {domains, 2, false, 0}}; };
  Fields theirs = make(), ours = make();
  auto object = ghex::make_communication_object<decltype(pattern)>(context);
  const auto with_fields = [&](Fields& fields, const auto& call) {
    if (domains.size() == 2)
      call(pattern(fields.column.data[0]), pattern(fields.column.data[1]), again(fields.padded.data[0]),
           again(fields.padded.data[1]), pattern(fields.planes.data[0]), pattern(fields.planes.data[1]));
    else
      call(pattern(fields.column.data[0]), again(fields.padded.data[0]), pattern(fields.planes.data[0]));
  };
  const auto fill = [&](Fields& fields, int round) {
    fields.column.fill(domains, round);
    fields.padded.fill(domains, round);
    fields.planes.fill(domains, round);
  };
  with_fields(ours, [&](auto... infos) {
    laneway::ghex::Exchange exchange(context.mpi_comm(), MPI_INFO_NULL, infos...);
    for (int round = 1; round <= 3; ++round) {
      fill(theirs, round);
      fill(ours, round);
      with_fields(theirs, [&](auto... other) { object.exchange(other...).wait(); });
      exchange();
      for (std::size_t i = 0; i < domains.size(); ++i) {
        check(same(theirs.column.memory[i], ours.column.memory[i]), "unstructured, a column");
        check(same(theirs.padded.memory[i], ours.padded.memory[i]), "unstructured, levels with padding");
        check(same(theirs.planes.memory[i], ours.planes.memory[i]), "unstructured, planes");
        for (const auto& [gid, lid] : domains[i].outer_ids())
          check(ours.column.memory[i][lid] == 1000 * round + 10 * gid, "unstructured, the owner's value");
      }
    }
  });
}

// --- regular grids

using Three = std::integral_constant<int, 3>;
using Box = ghex::structured::regular::domain_descriptor<int, Three>;
using Halos = ghex::structured::regular::halo_generator<int, Three>;
template <class T, int... Order>
using Cells = ghex::structured::regular::field_descriptor<T, ghex::cpu, Box, ::gridtools::layout_map<Order...>>;

void regular(ghex::context& context, std::array<bool, 3> periodic) {
  constexpr std::array<int, 3> length{4, 5, 6}, offsets{2, 1, 1}, extents{4 + 3, 5 + 2, 6 + 3};
  const int rank = context.rank();
  const std::array<int, 3> first{length[0] * rank, 0, 0},
      last{length[0] * (rank + 1) - 1, length[1] - 1, length[2] - 1};
  const std::vector<Box> boxes{Box(rank, first, last)};
  const std::array<int, 3> origin{0, 0, 0}, end{length[0] * context.size() - 1, length[1] - 1, length[2] - 1};
  const Halos halos(origin, end, std::array<int, 6>{2, 1, 1, 1, 1, 2}, periodic);
  auto pattern = ghex::make_pattern<ghex::structured::grid>(context, halos, boxes);
  const std::size_t cells = static_cast<std::size_t>(extents[0] * extents[1] * extents[2]);
  std::array<std::vector<double>, 2> scalar;
  std::array<std::vector<float>, 2> turned;
  std::array<std::vector<int>, 2> vectors;
  std::vector<Cells<double, 2, 1, 0>> scalars;
  std::vector<Cells<float, 0, 2, 1>> turns;
  std::vector<Cells<int, 3, 2, 1, 0>> components;
  for (std::size_t who = 0; who < 2; ++who) {
    for (std::size_t i = 0; i < cells; ++i) {
      scalar[who].push_back(1e6 * rank + static_cast<double>(i));
      turned[who].push_back(static_cast<float>(-1000 * rank) - static_cast<float>(i));
    }
    for (std::size_t i = 0; i < 3 * cells; ++i) vectors[who].push_back(-1000000 * rank - static_cast<int>(i));
    scalars.emplace_back(boxes[0], scalar[who].data(), offsets, extents);
    turns.emplace_back(boxes[0], turned[who].data(), offsets, extents);
    components.emplace_back(boxes[0], vectors[who].data(), offsets, extents, 3);
  }
  // The same components beside one another: GHEX 0.8 gives other cells' values there.
  std::vector<int> beside(3 * cells);
  Cells<int, 0, 2, 1, 3> compact(boxes[0], beside.data(), offsets, extents, 3);
  const auto agree = [&](bool sets) {
    bool agrees = true;
    for (int i = -offsets[0]; i < extents[0] - offsets[0]; ++i)
      for (int j = -offsets[1]; j < extents[1] - offsets[1]; ++j)
        for (int k = -offsets[2]; k < extents[2] - offsets[2]; ++k)
          for (int c = 0; c < 3; ++c) {
            if (sets) compact({i, j, k, c}) = components[1]({i, j, k, c});
            if (compact({i, j, k, c}) != components[1]({i, j, k, c})) agrees = false;
          }
    return agrees;
  };
  agree(true);
  ghex::make_communication_object<decltype(pattern)>(context)
      .exchange(pattern(scalars[0]), pattern(turns[0]), pattern(components[0]))
      .wait();
  laneway::ghex::Exchange exchange(context.mpi_comm(), MPI_INFO_NULL, pattern(scalars[1]), pattern(turns[1]),
                                   pattern(components[1]), pattern(compact));
  const std::vector<double> before = scalar[1];
  exchange();
  check(same(scalar[0], scalar[1]), "a regular grid");
  check(same(turned[0], turned[1]), "a regular grid in another layout");
  check(same(vectors[0], vectors[1]), "a regular grid with components");
  check(agree(false), "a regular grid with components beside one another");
  if (context.size() > 1) check(!same(scalar[1], before), "a regular grid has halos");
}

}  // namespace

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  int total = 0;
  {
    ghex::context context(MPI_COMM_WORLD, false);
    unstructured(context);
    regular(context, {true, true, false});
    regular(context, {false, false, false});
    MPI_Allreduce(&differences, &total, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (total == 0 && context.rank() == 0) std::printf("passed\n");
  }
  MPI_Finalize();
  return total == 0 ? 0 : 1;
}
