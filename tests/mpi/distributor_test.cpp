// Queries, distributors, collectors and halos that find their partners: compared with arrays that every rank can make.
#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "laneway/laneway.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class DistributorTest : public MpiTest {};

struct Particle {
  double x = 0;
  int id = 0;
  char tag = 0;

  friend bool operator==(const Particle&, const Particle&) = default;
};

std::vector<int> random_ranks(std::uint64_t seed, int rank, int size, int least = -1) {
  Random random(static_cast<std::uint32_t>(mix({seed, 17, static_cast<std::uint64_t>(rank)})));
  std::vector<int> ranks(static_cast<std::size_t>(pick(random, 0, 40)));
  for (int& one : ranks) one = pick(random, 0, 2) == 0 ? rank : pick(random, least, size - 1);
  return ranks;
}

Particle particle_of(int rank, std::size_t i, int step) {
  return {rank + 0.25 * static_cast<double>(i), static_cast<int>(i) + 1000 * step, static_cast<char>('a' + i % 26)};
}

TEST_F(DistributorTest, MovesParticlesAndBringsThemBack) {
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(6)); ++seed) {
    const std::vector<int> ranks = random_ranks(seed, rank(), size());
    laneway::Distributor<Particle> distributor(MPI_COMM_WORLD, ranks);
    for (int step = 0; step < 3; ++step) {  // without a plan, with one, with other arrays
      std::vector<Particle> mine, expected;
      for (std::size_t i = 0; i < ranks.size(); ++i) mine.push_back(particle_of(rank(), i, step));
      for (int source = 0; source < size(); ++source) {
        const std::vector<int> theirs = random_ranks(seed, source, size());
        for (std::size_t i = 0; i < theirs.size(); ++i)
          if (theirs[i] == rank()) expected.push_back(particle_of(source, i, step));
      }
      std::vector<Particle> arrived(distributor.imports());
      ASSERT_EQ(arrived.size(), expected.size());
      distributor.distribute(mine, arrived);
      EXPECT_EQ(arrived, expected) << "step " << step;
    }
    EXPECT_TRUE(std::is_sorted(distributor.sources().begin(), distributor.sources().end()));
  }
}

/// In memory of an earlier step, what stays comes first.
TEST_F(DistributorTest, MovesParticlesInOneCall) {
  std::vector<Particle> moved;
  for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(12)); ++seed) {
    const std::vector<int> ranks = random_ranks(seed, rank(), size());
    std::vector<Particle> mine, stays, comes;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      mine.push_back(particle_of(rank(), i, 0));
      if (ranks[i] == rank()) stays.push_back(mine.back());
    }
    for (int source = 0; source < size(); ++source) {
      const std::vector<int> theirs = random_ranks(seed, source, size());
      for (std::size_t i = 0; source != rank() && i < theirs.size(); ++i)
        if (theirs[i] == rank()) comes.push_back(particle_of(source, i, 0));
    }
    moved = laneway::distribute<Particle>(MPI_COMM_WORLD, ranks, mine, std::move(moved));
    stays.insert(stays.end(), comes.begin(), comes.end());
    EXPECT_EQ(moved, stays) << "seed " << seed;
  }
}

TEST_F(DistributorTest, OneCallSaysWhatIsWrongOnAllRanks) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const std::vector<Particle> mine(2);
  const std::vector<int> stay(2, rank());
  const bool is_wrong = rank() == size() - 1;
  EXPECT_THROW((void)laneway::distribute<Particle>(MPI_COMM_WORLD, is_wrong ? std::vector<int>{0, size()} : stay, mine),
               MpiError);
  const auto short_by_one = [&] {
    (void)laneway::distribute<Particle>(MPI_COMM_WORLD, is_wrong ? std::span(stay).first(1) : std::span(stay), mine);
  };
  if (is_wrong)
    EXPECT_THROW(short_by_one(), std::invalid_argument);
  else
    EXPECT_THROW(short_by_one(), MpiError);
  EXPECT_EQ(laneway::distribute<Particle>(MPI_COMM_WORLD, stay, mine), mine);
}

/// Runs a persistent request once, and frees it.
void run_once(LNW_Request& request) {
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(DistributorTest, DistributorsAndCollectorsInC) {
  for (std::uint64_t seed = 31; seed <= 30 + static_cast<std::uint64_t>(effort(4)); ++seed) {
    const std::vector<int> ranks = random_ranks(seed, rank(), size());
    LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
    EXPECT_MPI(LNW_Distributor_create(MPI_COMM_WORLD, static_cast<MPI_Count>(ranks.size()), ranks.data(), MPI_INFO_NULL,
                                      &distributor));
    std::vector<int> mine, expected, back(ranks.size()), back_expected(ranks.size());
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      mine.push_back(1000 * rank() + static_cast<int>(i));
      back_expected[i] = ranks[i] < 0 ? 0 : mine[i] + ranks[i];
    }
    for (int source = 0; source < size(); ++source) {
      const std::vector<int> theirs = random_ranks(seed, source, size());
      for (std::size_t i = 0; i < theirs.size(); ++i)
        if (theirs[i] == rank()) expected.push_back(1000 * source + static_cast<int>(i));
    }
    MPI_Count exports = -1, imports = -1;
    EXPECT_MPI(LNW_Distributor_get_count(distributor, &exports, &imports));
    EXPECT_EQ(exports, static_cast<MPI_Count>(ranks.size()));
    ASSERT_EQ(imports, static_cast<MPI_Count>(expected.size()));
    std::vector<int> arrived(expected.size(), -1);
    EXPECT_MPI(LNW_Distributor_exchange(distributor, mine.data(), arrived.data(), MPI_INT));
    EXPECT_EQ(arrived, expected);
    std::fill(arrived.begin(), arrived.end(), -1);
    int nsources = -1;
    const int* sources = nullptr;
    const MPI_Count* counts = nullptr;
    EXPECT_MPI(LNW_Distributor_get_sources(distributor, &nsources, &sources, &counts));
    std::vector<int> from, all_from;
    for (int i = 0; i < nsources; ++i) from.insert(from.end(), static_cast<std::size_t>(counts[i]), sources[i]);
    for (const int value : expected) all_from.push_back(value / 1000);
    EXPECT_EQ(from, all_from);
    LNW_Request request = LNW_REQUEST_NULL, reverse = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Distributor_init(distributor, mine.data(), arrived.data(), MPI_INT, MPI_INFO_NULL, &request));
    EXPECT_MPI(LNW_Distributor_reverse_init(distributor, arrived.data(), back.data(), MPI_INT, MPI_SUM, MPI_INFO_NULL,
                                            &reverse));
    EXPECT_MPI(LNW_Distributor_free(&distributor));  // requests go on
    run_once(request);
    EXPECT_EQ(arrived, expected);
    for (int& value : arrived) value += rank();
    run_once(reverse);
    EXPECT_EQ(back, back_expected);
    // Each rank has 10 elements, and wants some of some ranks.
    std::vector<MPI_Count> ids;
    std::vector<int> owned(10), wanted(ranks.size(), -1), wanted_expected;
    for (std::size_t i = 0; i < owned.size(); ++i) owned[i] = 100 * rank() + static_cast<int>(i);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      ids.push_back(static_cast<MPI_Count>((i * 7) % 10));
      wanted_expected.push_back(ranks[i] < 0 ? -1 : 100 * ranks[i] + static_cast<int>(ids.back()));
    }
    EXPECT_MPI(LNW_Distributor_create_from_imports(MPI_COMM_WORLD, 10, static_cast<MPI_Count>(ranks.size()),
                                                   ranks.data(), ids.data(), MPI_INFO_NULL, &distributor));
    EXPECT_MPI(LNW_Distributor_init(distributor, owned.data(), wanted.data(), MPI_INT, MPI_INFO_NULL, &request));
    run_once(request);
    EXPECT_EQ(wanted, wanted_expected);
    EXPECT_MPI(LNW_Distributor_free(&distributor));
  }
}

TEST_F(DistributorTest, BadListsInC) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  const int bad = rank() == 0 ? size() : 0;
  int code = LNW_Distributor_create(MPI_COMM_WORLD, 1, &bad, MPI_INFO_NULL, &distributor);
  expect_error_class(code, rank() == 0 ? MPI_ERR_RANK : MPI_ERR_ARG);
  const int first = 0;
  const MPI_Count id = 3;
  code = LNW_Distributor_create_from_imports(MPI_COMM_WORLD, 3, 1, &first, &id, MPI_INFO_NULL, &distributor);
  expect_error_class(code, MPI_ERR_ARG);
  EXPECT_EQ(distributor, LNW_DISTRIBUTOR_NULL);
}

TEST_F(DistributorTest, BothEndsOfAnEdgeHaveElementsOfOneSize) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int right = (rank() + 1) % size(), left = (rank() + size() - 1) % size();
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  EXPECT_MPI(LNW_Distributor_create(MPI_COMM_WORLD, 1, &right, MPI_INFO_NULL, &distributor));
  std::array<double, 1> mine{0.5 + rank()}, arrived{-1};
  const bool differs = size() > 1 && rank() == size() - 1;
  const int code = LNW_Distributor_exchange(distributor, mine.data(), arrived.data(), differs ? MPI_CHAR : MPI_DOUBLE);
  if (size() > 1) {
    EXPECT_NE(code, MPI_SUCCESS);
    EXPECT_EQ(arrived[0], -1);
  }
  // A null buffer of one rank.
  EXPECT_NE(LNW_Distributor_exchange(distributor, rank() == 0 ? nullptr : mine.data(), arrived.data(), MPI_DOUBLE),
            MPI_SUCCESS);
  EXPECT_MPI(LNW_Distributor_exchange(distributor, mine.data(), arrived.data(), MPI_DOUBLE));
  EXPECT_EQ(arrived[0], 0.5 + left);
  EXPECT_MPI(LNW_Distributor_free(&distributor));
  // Not all edges need have the same: what stays is of one size here, and of another there.
  const int own = rank();
  EXPECT_MPI(LNW_Distributor_create(MPI_COMM_WORLD, 1, &own, MPI_INFO_NULL, &distributor));
  const MPI_Datatype type = rank() % 2 == 0 ? MPI_DOUBLE : MPI_CHAR;
  std::array<double, 1> kept{};
  EXPECT_MPI(LNW_Distributor_exchange(distributor, mine.data(), kept.data(), type));
  EXPECT_EQ(std::memcmp(mine.data(), kept.data(), rank() % 2 == 0 ? sizeof(double) : 1), 0);
  EXPECT_MPI(LNW_Distributor_free(&distributor));
}

TEST_F(DistributorTest, ReversesWithASum) {
  for (std::uint64_t seed = 11; seed <= 10 + static_cast<std::uint64_t>(effort(4)); ++seed) {
    const std::vector<int> ranks = random_ranks(seed, rank(), size());
    laneway::Distributor<double> distributor(MPI_COMM_WORLD, ranks);
    std::vector<double> mine(ranks.size());
    std::iota(mine.begin(), mine.end(), 1);
    std::vector<double> arrived(distributor.imports());
    distributor.distribute(mine, arrived);
    for (double& value : arrived) value = 10 * value + rank();
    std::vector<double> expected = mine;
    for (std::size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i] >= 0) expected[i] += 10 * mine[i] + ranks[i];
    std::vector<double> least = mine, largest = mine;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] < 0) continue;
      least[i] = std::min(mine[i], -10 * mine[i] - ranks[i]);
      largest[i] = std::max(mine[i], 10 * mine[i] + ranks[i]);
    }
    for (int again = 0; again < 2; ++again) {
      std::vector<double> sums = mine, values = mine;
      distributor.reverse(arrived, sums);
      EXPECT_EQ(sums, expected);
      distributor.reverse(arrived, values, MPI_MAX);
      EXPECT_EQ(values, largest);
      values = mine;
      std::vector<double> negative = arrived;
      for (double& value : negative) value = -value;
      distributor.reverse(negative, values, MPI_MIN);
      EXPECT_EQ(values, least);
    }
  }
}

std::size_t owned_by(int rank) {
  return static_cast<std::size_t>(3 + rank % 4);
}

TEST_F(DistributorTest, CollectsWhatOthersOwnAndSumsBack) {
  for (std::uint64_t seed = 21; seed <= 20 + static_cast<std::uint64_t>(effort(5)); ++seed) {
    const auto wants = [&](int of) {
      std::vector<int> ranks = random_ranks(seed, of, size());
      std::vector<MPI_Count> ids;
      for (std::size_t i = 0; i < ranks.size(); ++i)
        ids.push_back(ranks[i] < 0 ? -5 : static_cast<MPI_Count>((i * 7) % owned_by(ranks[i])));
      return std::pair(ranks, ids);
    };
    const auto [ranks, ids] = wants(rank());
    laneway::Collector<double> collector(MPI_COMM_WORLD, owned_by(rank()), ranks, ids);
    const auto value = [](int owner, MPI_Count id, int step) {
      return owner * 100.0 + static_cast<double>(id) + 0.5 * step;
    };
    for (int step = 0; step < 3; ++step) {
      std::vector<double> owned, imports(ranks.size(), -1), expected;
      for (std::size_t i = 0; i < owned_by(rank()); ++i)
        owned.push_back(value(rank(), static_cast<MPI_Count>(i), step));
      for (std::size_t i = 0; i < ranks.size(); ++i)
        expected.push_back(ranks[i] < 0 ? -1 : value(ranks[i], ids[i], step));
      collector.collect(owned, imports);
      EXPECT_EQ(imports, expected) << "step " << step;
    }
    std::vector<double> ones(ranks.size(), 1), sums(owned_by(rank()), 0), expected(owned_by(rank()), 0);
    for (int other = 0; other < size(); ++other) {
      const auto [theirs, their_ids] = wants(other);
      for (std::size_t i = 0; i < theirs.size(); ++i)
        if (theirs[i] == rank()) ++expected[static_cast<std::size_t>(their_ids[i])];
    }
    collector.reverse(ones, sums);
    EXPECT_EQ(sums, expected);
    // The largest of what all have, and of what the owner has.
    std::vector<double> mine(ranks.size()), most(owned_by(rank()), 4), wanted = most;
    for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = static_cast<double>(i) + rank();
    for (int other = 0; other < size(); ++other) {
      const auto [theirs, their_ids] = wants(other);
      for (std::size_t i = 0; i < theirs.size(); ++i) {
        if (theirs[i] != rank()) continue;
        double& held = wanted[static_cast<std::size_t>(their_ids[i])];
        held = std::max(held, static_cast<double>(i) + other);
      }
    }
    collector.reverse(mine, most, MPI_MAX);
    EXPECT_EQ(most, wanted);
  }
}

TEST_F(DistributorTest, BadArgumentsAreThrownOnAllRanks) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int last = size() - 1;
  const std::vector<int> ranks(1, rank() == last ? size() + 3 : 0);
  const auto expect_thrown = [&](const auto& make, const std::string& text) {
    try {
      make();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const laneway::MpiError& error) {
      const std::string expected = rank() == last ? text : "rank " + std::to_string(last) + " has reported an error";
      EXPECT_NE(std::string(error.what()).find(expected), std::string::npos) << error.what();
    }
  };
  expect_thrown(
      [&] { const laneway::Distributor<int> distributor(MPI_COMM_WORLD, ranks); },
      "exportranks[0] is " + std::to_string(size() + 3) + " in a communicator of " + std::to_string(size()) + " ranks");
  // The rank that owns the elements finds it.
  const std::vector<int> to_last(1, last);
  const std::vector<MPI_Count> ids(1, rank() == 0 ? 4 : 0);
  expect_thrown([&] { laneway::Collector<int>(MPI_COMM_WORLD, 4, to_last, ids); },
                "element 4 is wanted of exports, which is 4");
  const std::vector<MPI_Count> two(rank() == last ? 2 : 1, 0);
  EXPECT_THROW(laneway::Collector<int>(MPI_COMM_WORLD, 4, to_last, two), std::invalid_argument);
}

TEST_F(DistributorTest, QueriesAnswerInOrder) {
  const std::vector<int> targets = random_ranks(5, rank(), size(), 0);
  std::vector<std::vector<int>> requests;
  for (std::size_t i = 0; i < targets.size(); ++i) requests.emplace_back(i % 4, static_cast<int>(i));
  const auto answers = laneway::query(MPI_COMM_WORLD, targets, requests, [](int source, std::span<const int> request) {
    std::vector<double> answer;
    for (const int number : request) answer.push_back(number + 0.5 * test::rank() + 1000 * source);
    answer.push_back(-1);
    return answer;
  });
  ASSERT_EQ(answers.size(), targets.size());
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::vector<double> expected(requests[i].size(), static_cast<double>(i) + 0.5 * targets[i] + 1000 * rank());
    expected.push_back(-1);
    EXPECT_EQ(answers[i], expected);
  }
}

TEST_F(DistributorTest, WhatAnAnswerThrowsIsThrown) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &duplicate);
  const Comm comm(duplicate);
  const Handler returns(comm.get(), MPI_ERRORS_RETURN);
  const std::vector<int> targets(1, 0);
  const std::vector<std::vector<int>> requests(1, std::vector<int>(1, 3));
  const auto refuse = [](int, std::span<const int>) -> std::vector<int> { throw std::out_of_range("no such number"); };
  if (rank() == 0)
    EXPECT_THROW((void)laneway::query(comm.get(), targets, requests, refuse), std::out_of_range);
  else
    EXPECT_THROW((void)laneway::query(comm.get(), targets, requests, refuse), laneway::MpiError);
}

/// Global numbers of a rank's elements: in one piece, or every size()-th.
std::vector<MPI_Count> numbers_of(int rank, int size, bool scattered) {
  std::vector<MPI_Count> numbers;
  const int count = scattered ? 6 : 4 + rank % 3;
  MPI_Count begin = 0;
  for (int before = 0; before < rank; ++before) begin += 4 + before % 3;
  for (int i = 0; i < count; ++i) numbers.push_back(scattered ? MPI_Count{i} * size + rank : begin + i);
  return numbers;
}

TEST_F(DistributorTest, HalosFromGhostNumbers) {
  for (const bool scattered : {false, true}) {
    const std::vector<MPI_Count> owned = numbers_of(rank(), size(), scattered);
    MPI_Count all = 0;
    for (int other = 0; other < size(); ++other)
      all += static_cast<MPI_Count>(numbers_of(other, size(), scattered).size());
    // Any numbers, also own ones and twice.
    Random random(static_cast<std::uint32_t>(rank() + 3));
    std::vector<MPI_Count> ghosts(static_cast<std::size_t>(pick(random, 0, 12)));
    for (MPI_Count& ghost : ghosts) ghost = pick(random, 0, static_cast<int>(all) - 1);
    laneway::Halo<double> halo =
        scattered ? laneway::Halo<double>::from_ghosts(MPI_COMM_WORLD, owned, ghosts)
                  : laneway::Halo<double>::from_ghosts(MPI_COMM_WORLD, owned.empty() ? 0 : owned.front(),
                                                       static_cast<MPI_Count>(owned.size()), ghosts);
    const auto field = [&](double scale) {
      std::vector<double> x;
      for (const MPI_Count number : owned) x.push_back(scale * static_cast<double>(number));
      x.resize(owned.size() + ghosts.size(), -1);
      return x;
    };
    const auto filled = [&](double scale) {
      std::vector<double> x = field(scale);
      for (std::size_t i = 0; i < ghosts.size(); ++i) x[owned.size() + i] = scale * static_cast<double>(ghosts[i]);
      return x;
    };
    std::vector<double> x = field(1), y = field(2), z = field(3);
    halo.exchange(x);
    EXPECT_EQ(x, filled(1));
    x = field(1);
    for (int again = 0; again < 2; ++again) {
      halo.exchange(std::span(x), std::span(y), std::span(z));
      EXPECT_EQ(x, filled(1));
      EXPECT_EQ(y, filled(2));
      EXPECT_EQ(z, filled(3));
      x = field(1);
      z = field(3);
    }
    const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const std::vector<MPI_Count> nobodys(1, rank() == size() - 1 ? all + 5 : 0);
    EXPECT_THROW((void)laneway::Halo<double>::from_ghosts(MPI_COMM_WORLD, owned, nobodys), laneway::MpiError);
  }
}

/// An element of an array with ghosts: its number in the whole array, row-major, and what it is.
struct CartElement {
  int number = 0;
  bool is_own = true;
  bool exists = true;  ///< of an array whose ends are not joined, ghosts beyond them do not
  int sides = 0;       ///< dimensions in which it is a ghost
};

template <std::size_t N>
CartElement cart_element(std::size_t element, const laneway::CartHalo<int>& halo, const std::array<int, N>& extents,
                         const std::array<int, N>& widths, const std::array<bool, N>& periods) {
  CartElement found;
  std::array<int, N> at{};
  for (std::size_t d = N; d-- > 0;) {
    const auto length = static_cast<std::size_t>(extents[d] + 2 * widths[d]);
    at[d] = static_cast<int>(element % length);
    element /= length;
  }
  for (std::size_t d = 0; d < N; ++d) {
    const bool inside = at[d] >= widths[d] && at[d] < widths[d] + extents[d];
    const int whole = halo.dims()[d] * extents[d];
    const int global = halo.coords()[d] * extents[d] + at[d] - widths[d];
    found.is_own = found.is_own && inside;
    found.sides += inside ? 0 : 1;
    found.exists = found.exists && (periods[d] || (global >= 0 && global < whole));
    found.number = found.number * whole + (global + whole) % whole;
  }
  return found;
}

/// Filled by one call, by a start and a wait, and several at a time; then back.
template <std::size_t N>
void expect_cart_halo(const std::array<int, N>& extents, const std::array<int, N>& widths,
                      const std::array<bool, N>& periods, bool corners = true) {
  laneway::CartHalo<int> halo(MPI_COMM_WORLD, extents, widths, periods, laneway::Hints(), corners);
  std::vector<CartElement> elements;
  for (std::size_t element = 0; element < halo.array_size(); ++element)
    elements.push_back(cart_element<N>(element, halo, extents, widths, periods));
  const auto is_filled = [&](const CartElement& one) { return one.exists && (one.sides <= 1 || corners); };
  const auto array = [&](int scale, bool filled) {
    std::vector<int> values;
    for (const CartElement& one : elements)
      values.push_back(one.is_own || (filled && is_filled(one)) ? scale * one.number : -1);
    return values;
  };
  std::vector<int> x = array(1, false);
  halo.exchange(x);
  EXPECT_EQ(x, array(1, true));
  x = array(2, false);
  halo.start(x);
  halo.wait();
  EXPECT_EQ(x, array(2, true));
  x = array(1, false);
  std::vector<int> y = array(3, false), z = array(7, false);
  halo.exchange(std::span(x), std::span(y), std::span(z));
  EXPECT_EQ(x, array(1, true));
  EXPECT_EQ(y, array(3, true));
  EXPECT_EQ(z, array(7, true));
  // What ghosts give the elements of which they are copies, of all ranks.
  int all = 1;
  for (std::size_t d = 0; d < N; ++d) all *= halo.dims()[d] * extents[d];
  const auto share = [](std::size_t place) { return static_cast<int>(place % 50) + 1; };
  std::vector<int> sums(static_cast<std::size_t>(all), 0), most(sums.size(), 0), of_all(sums.size());
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (elements[i].is_own || !is_filled(elements[i])) continue;
    const auto number = static_cast<std::size_t>(elements[i].number);
    sums[number] += share(i);
    most[number] = std::max(most[number], share(i));
  }
  MPI_Allreduce(sums.data(), of_all.data(), all, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  sums = of_all;
  MPI_Allreduce(most.data(), of_all.data(), all, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  const auto given = [&](int own) {
    std::vector<int> values;
    for (std::size_t i = 0; i < elements.size(); ++i) values.push_back(elements[i].is_own ? own : share(i));
    return values;
  };
  const auto summed = [&](int own) {
    std::vector<int> values = given(own);
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (elements[i].is_own) values[i] += sums[static_cast<std::size_t>(elements[i].number)];
    return values;
  };
  const auto largest = [&](int own) {
    std::vector<int> values = given(own);
    for (std::size_t i = 0; i < elements.size(); ++i)
      if (elements[i].is_own) values[i] = std::max(own, of_all[static_cast<std::size_t>(elements[i].number)]);
    return values;
  };
  x = given(5);
  halo.accumulate(x);
  EXPECT_EQ(x, summed(5));
  x = given(2);
  halo.accumulate(x, MPI_MAX);
  EXPECT_EQ(x, largest(2));
  for (int again = 0; again < 2; ++again) {
    x = given(1);
    y = given(10);
    z = given(100 * again);
    halo.accumulate(x, y, std::span(z));
    EXPECT_EQ(x, summed(1));
    EXPECT_EQ(y, summed(10));
    EXPECT_EQ(z, summed(100 * again));
    x = given(3);
    y = given(30);
    halo.accumulate(MPI_MAX, x, y);
    EXPECT_EQ(x, largest(3));
    EXPECT_EQ(y, largest(30));
  }
}

TEST_F(DistributorTest, CartesianHalosWithCorners) {
  expect_cart_halo<1>({4}, {2}, {true});
  expect_cart_halo<1>({4}, {2}, {false});
  expect_cart_halo<2>({3, 4}, {1, 2}, {true, false});
  expect_cart_halo<2>({3, 4}, {1, 2}, {true, true});
  expect_cart_halo<2>({3, 4}, {0, 1}, {true, true});
  expect_cart_halo<3>({2, 3, 2}, {1, 1, 2}, {false, true, true});
}

TEST_F(DistributorTest, CartesianHalosWithoutCorners) {
  expect_cart_halo<2>({3, 4}, {1, 2}, {true, false}, false);
  expect_cart_halo<3>({2, 3, 2}, {1, 1, 2}, {false, true, true}, false);
}

}  // namespace
}  // namespace laneway::test
