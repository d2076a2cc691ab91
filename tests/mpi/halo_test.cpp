// Halos of the C interface, compared with arrays that every rank can make: an element's value follows from its number.
#include "laneway/halo.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

class CHaloTest : public MpiTest {};

void run_request(LNW_Request& request) {
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
}

/// Global numbers of a rank's elements: in one piece, or every size()-th in falling order.
std::vector<MPI_Count> owned_numbers(int rank, bool scattered) {
  std::vector<MPI_Count> numbers;
  MPI_Count begin = 0;
  for (int before = 0; before < rank; ++before) begin += before % 4;
  const int count = scattered ? 6 : rank % 4;
  for (int i = 0; i < count; ++i) numbers.push_back(scattered ? MPI_Count{5 - i} * size() + rank : begin + i);
  return numbers;
}

struct Numbers {
  std::vector<MPI_Count> owned;
  std::vector<MPI_Count> ghosts;
  MPI_Count all = 0;
};

/// Any ghosts, also own elements and twice.
std::vector<MPI_Count> random_ghosts(std::uint64_t seed, int rank, MPI_Count all) {
  Random random(static_cast<std::uint32_t>(mix({seed, 5, static_cast<std::uint64_t>(rank)})));
  std::vector<MPI_Count> ghosts(static_cast<std::size_t>(all == 0 ? 0 : pick(random, 0, 12)));
  for (MPI_Count& ghost : ghosts) ghost = pick(random, 0, static_cast<int>(all) - 1);
  return ghosts;
}

Numbers random_numbers(std::uint64_t seed, bool scattered) {
  Numbers numbers;
  for (int other = 0; other < size(); ++other)
    numbers.all += static_cast<MPI_Count>(owned_numbers(other, scattered).size());
  numbers.owned = owned_numbers(rank(), scattered);
  numbers.ghosts = random_ghosts(seed, rank(), numbers.all);
  return numbers;
}

LNW_Halo make_halo(const Numbers& numbers, bool scattered) {
  LNW_Halo halo = LNW_HALO_NULL;
  const auto owned = static_cast<MPI_Count>(numbers.owned.size()),
             ghosts = static_cast<MPI_Count>(numbers.ghosts.size());
  if (scattered)
    EXPECT_MPI(LNW_Halo_create_from_ids(MPI_COMM_WORLD, owned, numbers.owned.data(), ghosts, numbers.ghosts.data(),
                                        MPI_INFO_NULL, &halo));
  else
    EXPECT_MPI(LNW_Halo_create(MPI_COMM_WORLD, numbers.owned.empty() ? 0 : numbers.owned.front(), owned, ghosts,
                               numbers.ghosts.data(), MPI_INFO_NULL, &halo));
  MPI_Count own = -1, elements = -1;
  EXPECT_MPI(LNW_Halo_get_count(halo, &own, &elements));
  EXPECT_EQ(own, owned);
  EXPECT_EQ(elements, owned + ghosts);
  return halo;
}

/// Values of own elements; ghosts are -1, or filled.
template <class T>
std::vector<T> field_of(const Numbers& numbers, double scale, bool filled) {
  std::vector<T> x;
  for (const MPI_Count number : numbers.owned) x.push_back(static_cast<T>(scale * static_cast<double>(number)));
  for (const MPI_Count number : numbers.ghosts)
    x.push_back(filled ? static_cast<T>(scale * static_cast<double>(number)) : T{-1});
  return x;
}

TEST_F(CHaloTest, FillsGhostsFromTheirNumbers) {
  for (const bool scattered : {false, true})
    for (std::uint64_t seed = 1; seed <= static_cast<std::uint64_t>(effort(4)); ++seed) {
      const Numbers numbers = random_numbers(seed, scattered);
      LNW_Halo halo = make_halo(numbers, scattered);
      // Ghosts in the order of the ranks that they come from.
      int neighbors = -1;
      const int* ranks = nullptr;
      const MPI_Count *counts = nullptr, *elements = nullptr;
      EXPECT_MPI(LNW_Halo_get_received(halo, &neighbors, &ranks, &counts, &elements));
      MPI_Count listed = 0;
      for (int i = 0; i < neighbors; ++i)
        for (MPI_Count k = 0; k < counts[i]; ++k, ++listed) {
          const std::size_t ghost = static_cast<std::size_t>(elements[listed]) - numbers.owned.size();
          const std::vector<MPI_Count> theirs = owned_numbers(ranks[i], scattered);
          EXPECT_NE(std::find(theirs.begin(), theirs.end(), numbers.ghosts.at(ghost)), theirs.end());
        }
      EXPECT_EQ(listed, static_cast<MPI_Count>(numbers.ghosts.size()));
      MPI_Count sent = 0, leaving = 0;
      EXPECT_MPI(LNW_Halo_get_sent(halo, &neighbors, nullptr, &counts, nullptr));
      for (int i = 0; i < neighbors; ++i) sent += counts[i];
      MPI_Allreduce(&sent, &leaving, 1, MPI_COUNT, MPI_SUM, MPI_COMM_WORLD);
      MPI_Allreduce(&listed, &sent, 1, MPI_COUNT, MPI_SUM, MPI_COMM_WORLD);
      EXPECT_EQ(leaving, sent);
      std::vector<double> x = field_of<double>(numbers, 1, false), y = field_of<double>(numbers, 3, false);
      LNW_Request request = LNW_REQUEST_NULL, late = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Halo_init(halo, x.data(), MPI_DOUBLE, MPI_INFO_NULL, &request));
      EXPECT_MPI(LNW_Halo_init(halo, nullptr, MPI_DOUBLE, MPI_INFO_NULL, &late));
      EXPECT_MPI(LNW_Halo_free(&halo));  // requests go on
      EXPECT_EQ(halo, LNW_HALO_NULL);
      run_request(request);
      EXPECT_EQ(x, field_of<double>(numbers, 1, true));
      EXPECT_MPI(LNW_Request_set_buffers(request, y.data(), y.data()));
      run_request(request);
      EXPECT_EQ(y, field_of<double>(numbers, 3, true));
      x = field_of<double>(numbers, 2, false);
      EXPECT_MPI(LNW_Request_set_buffers(late, x.data(), x.data()));
      run_request(late);
      EXPECT_EQ(x, field_of<double>(numbers, 2, true));
      EXPECT_MPI(LNW_Request_free(&request));
      EXPECT_MPI(LNW_Request_free(&late));
    }
}

TEST_F(CHaloTest, ElementsOfAnyDatatype) {
  // Two of three numbers: the middle one stays.
  MPI_Datatype pair = MPI_DATATYPE_NULL, element = MPI_DATATYPE_NULL;
  MPI_Type_vector(2, 1, 2, MPI_INT, &pair);
  MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &element);
  MPI_Type_commit(&element);
  const Numbers numbers = random_numbers(9, true);
  LNW_Halo halo = make_halo(numbers, true);
  const auto array = [&](bool filled) {
    std::vector<int> x;
    for (std::size_t i = 0; i < numbers.owned.size() + numbers.ghosts.size(); ++i) {
      const bool own = i < numbers.owned.size();
      const auto number = static_cast<int>(own ? numbers.owned[i] : numbers.ghosts[i - numbers.owned.size()]);
      const bool known = own || filled;
      x.insert(x.end(), {known ? number : -1, -7, known ? number + 1000 : -1});
    }
    return x;
  };
  std::vector<int> x = array(false);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Halo_init(halo, x.data(), element, MPI_INFO_NULL, &request));
  MPI_Type_free(&element);
  MPI_Type_free(&pair);
  run_request(request);
  EXPECT_EQ(x, array(true));
  EXPECT_MPI(LNW_Request_free(&request));
  EXPECT_MPI(LNW_Halo_free(&halo));
}

TEST_F(CHaloTest, SeveralArraysInOneExchange) {
  for (const bool scattered : {false, true}) {
    const Numbers numbers = random_numbers(3, scattered);
    LNW_Halo halo = make_halo(numbers, scattered);
    std::vector<double> x = field_of<double>(numbers, 1, false), z = field_of<double>(numbers, 3, false);
    std::vector<int> y = field_of<int>(numbers, 2, false);
    const std::array<void*, 3> arrays = {x.data(), y.data(), z.data()};
    const std::array<MPI_Datatype, 3> types = {MPI_DOUBLE, MPI_INT, MPI_DOUBLE};
    LNW_Request together = LNW_REQUEST_NULL, single = LNW_REQUEST_NULL;
    const Info info(Hints{{"lnw_strategy", "direct"}});
    EXPECT_MPI(LNW_Halo_init_fields(halo, 3, arrays.data(), types.data(), info.get(), &together));
    EXPECT_MPI(LNW_Halo_init(halo, x.data(), MPI_DOUBLE, info.get(), &single));
    for (int again = 0; again < 2; ++again) {
      run_request(together);
      EXPECT_EQ(x, field_of<double>(numbers, 1, true));
      EXPECT_EQ(y, field_of<int>(numbers, 2, true));
      EXPECT_EQ(z, field_of<double>(numbers, 3, true));
      std::fill(x.begin() + static_cast<std::ptrdiff_t>(numbers.owned.size()), x.end(), -1);
      std::fill(z.begin() + static_cast<std::ptrdiff_t>(numbers.owned.size()), z.end(), -1);
    }
    // As many messages as of one array.
    LNW_Request_statistics of_three, of_one;
    EXPECT_MPI(LNW_Request_get_statistics(together, &of_three));
    EXPECT_MPI(LNW_Request_get_statistics(single, &of_one));
    EXPECT_EQ(of_three.messages, of_one.messages);
    EXPECT_MPI(LNW_Request_free(&together));
    EXPECT_MPI(LNW_Request_free(&single));
    EXPECT_MPI(LNW_Halo_free(&halo));
  }
}

TEST_F(CHaloTest, CombinesGhostsIntoWhatTheyAreCopiesOf) {
  for (const bool scattered : {false, true}) {
    const std::uint64_t seed = 13;
    const Numbers numbers = random_numbers(seed, scattered);
    LNW_Halo halo = make_halo(numbers, scattered);
    const auto start = [&] {
      std::vector<long> x(numbers.owned.size(), 1);
      for (std::size_t i = 0; i < numbers.ghosts.size(); ++i) x.push_back(static_cast<long>(i) + 100L * rank());
      return x;
    };
    // What all ranks' ghosts give each own element.
    std::vector<long> sums = start(), largest = start();
    for (int other = 0; other < size(); ++other) {
      const std::vector<MPI_Count> ghosts = random_ghosts(seed, other, numbers.all);
      for (std::size_t i = 0; i < ghosts.size(); ++i) {
        const auto at = std::find(numbers.owned.begin(), numbers.owned.end(), ghosts[i]);
        if (at == numbers.owned.end()) continue;
        const auto element = static_cast<std::size_t>(at - numbers.owned.begin());
        const long value = static_cast<long>(i) + 100L * other;
        sums[element] += value;
        largest[element] = std::max(largest[element], value);
      }
    }
    std::vector<long> x = start(), y = start();
    LNW_Request sum = LNW_REQUEST_NULL, both = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Halo_reverse_init(halo, x.data(), MPI_LONG, MPI_SUM, MPI_INFO_NULL, &sum));
    run_request(sum);
    EXPECT_EQ(x, sums);
    x = start();
    const std::array<void*, 2> arrays = {x.data(), y.data()};
    const std::array<MPI_Datatype, 2> types = {MPI_LONG, MPI_LONG};
    EXPECT_MPI(LNW_Halo_reverse_init_fields(halo, 2, arrays.data(), types.data(), MPI_MAX, MPI_INFO_NULL, &both));
    run_request(both);
    EXPECT_EQ(x, largest);
    EXPECT_EQ(y, largest);
    EXPECT_MPI(LNW_Request_free(&sum));
    EXPECT_MPI(LNW_Request_free(&both));
    EXPECT_MPI(LNW_Halo_free(&halo));
  }
}

/// A grid whose ranks may have more or fewer elements, by their place in each dimension.
struct GridCase {
  std::vector<int> dims;  ///< as given: 0 where it is chosen
  std::vector<int> least;
  std::vector<int> widths;
  std::vector<int> periods;
  bool corners = true;
  bool even = true;
};

int extent_at(const GridCase& what, std::size_t d, int coord) {
  return what.least[d] + (what.even ? 0 : coord % 3);
}

/// The number of the own elements before those of place `coord`.
int begin_at(const GridCase& what, std::size_t d, int coord) {
  int begin = 0;
  for (int before = 0; before < coord; ++before) begin += extent_at(what, d, before);
  return begin;
}

void expect_grid_halo(const GridCase& what) {
  const std::size_t n = what.least.size();
  // The grid as MPI makes it.
  std::vector<int> dims = what.dims.empty() ? std::vector<int>(n, 0) : what.dims, coords(n), extents(n);
  MPI_Dims_create(size(), static_cast<int>(n), dims.data());
  MPI_Comm cart = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(n), dims.data(), what.periods.data(), 0, &cart);
  const Comm comm(cart);
  MPI_Cart_coords(cart, rank(), static_cast<int>(n), coords.data());
  for (std::size_t d = 0; d < n; ++d) extents[d] = extent_at(what, d, coords[d]);
  LNW_Halo halo = LNW_HALO_NULL;
  ASSERT_EQ(LNW_Halo_create_cart(MPI_COMM_WORLD, static_cast<int>(n), what.dims.empty() ? nullptr : what.dims.data(),
                                 extents.data(), what.widths.data(), what.periods.data(), what.corners ? 1 : 0,
                                 MPI_INFO_NULL, &halo),
            MPI_SUCCESS);
  std::vector<int> found_dims(n), found_coords(n);
  EXPECT_MPI(LNW_Halo_get_cart(halo, static_cast<int>(n), found_dims.data(), found_coords.data()));
  EXPECT_EQ(found_dims, dims);
  EXPECT_EQ(found_coords, coords);
  MPI_Count own = 0, elements = 0;
  EXPECT_MPI(LNW_Halo_get_count(halo, &own, &elements));
  std::vector<int> x(static_cast<std::size_t>(elements), -1), expected = x;
  MPI_Count counted = 0;
  for (std::size_t element = 0; element < x.size(); ++element) {
    std::size_t rest = element;
    int sides = 0, number = 0;
    bool exists = true;
    std::vector<int> at(n);
    for (std::size_t d = n; d-- > 0;) {
      const auto length = static_cast<std::size_t>(extents[d] + 2 * what.widths[d]);
      at[d] = static_cast<int>(rest % length);
      rest /= length;
    }
    for (std::size_t d = 0; d < n; ++d) {
      const int local = at[d] - what.widths[d], whole = begin_at(what, d, dims[d]);
      const int global = begin_at(what, d, coords[d]) + local;
      sides += local < 0 || local >= extents[d] ? 1 : 0;
      exists = exists && (what.periods[d] != 0 || (global >= 0 && global < whole));
      number = number * whole + (global + whole) % whole;
    }
    counted += sides == 0 ? 1 : 0;
    if (sides == 0) x[element] = number;
    if (exists && (sides <= 1 || what.corners)) expected[element] = number;
  }
  EXPECT_EQ(own, counted);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Halo_init(halo, x.data(), MPI_INT, MPI_INFO_NULL, &request));
  run_request(request);
  EXPECT_EQ(x, expected);
  EXPECT_MPI(LNW_Request_free(&request));
  EXPECT_MPI(LNW_Halo_free(&halo));
}

TEST_F(CHaloTest, GridsOfAnyDimensions) {
  expect_grid_halo({{}, {4}, {2}, {1}});
  expect_grid_halo({{}, {4}, {2}, {0}, true, false});
  expect_grid_halo({{}, {3, 4}, {1, 2}, {1, 0}, true, false});
  expect_grid_halo({{}, {3, 4}, {1, 2}, {1, 1}, false});
  expect_grid_halo({{1, 0}, {3, 4}, {0, 1}, {1, 1}});
  expect_grid_halo({{size(), 1}, {2, 2}, {1, 1}, {0, 1}, true, false});
  expect_grid_halo({{}, {2, 3, 2}, {1, 1, 2}, {0, 1, 1}, true, false});
  expect_grid_halo({{}, {2, 1, 2, 2}, {1, 1, 0, 1}, {1, 1, 1, 0}, false, false});
}

/// An error on all ranks: the bad one's says `text`.
void expect_halo_error(int code, int bad_rank, const std::string& text) {
  ASSERT_NE(code, MPI_SUCCESS);
  const bool is_own = rank() == bad_rank || bad_rank < 0;
  const std::string expected = is_own ? text : "rank " + std::to_string(bad_rank) + " has reported an error";
  EXPECT_NE(error_text(code).find(expected), std::string::npos) << error_text(code);
}

TEST_F(CHaloTest, BadArgumentsAreErrorsOfAllRanks) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int last = size() - 1;
  const bool bad = rank() == last;
  LNW_Halo halo = LNW_HALO_NULL;
  const MPI_Count first = 2 * rank(), ghost = bad ? 2 * size() + 5 : 0;
  expect_halo_error(LNW_Halo_create(MPI_COMM_WORLD, bad ? -1 : first, 2, 0, nullptr, MPI_INFO_NULL, &halo), last,
                    "LNW_Halo_create on rank " + std::to_string(last) + ": first is -1");
  expect_halo_error(LNW_Halo_create(MPI_COMM_WORLD, first, 2, bad ? 1 : 0, nullptr, MPI_INFO_NULL, &halo), last,
                    "ghost_ids is NULL");
  expect_halo_error(LNW_Halo_create(MPI_COMM_WORLD, first, 2, 1, &ghost, MPI_INFO_NULL, &halo), last,
                    "ghost_ids[0] is " + std::to_string(2 * size() + 5) + ", which no rank owns");
  const std::array<MPI_Count, 2> ids = {first, bad ? -3 : first + 1};
  expect_halo_error(LNW_Halo_create_from_ids(MPI_COMM_WORLD, 2, ids.data(), 0, nullptr, MPI_INFO_NULL, &halo), last,
                    "owned_ids[1] is -3");
  const Info info(Hints{{"lnw_find", bad ? "nobody" : "auto"}});
  expect_halo_error(LNW_Halo_create(MPI_COMM_WORLD, first, 2, 0, nullptr, info.get(), &halo), last, "lnw_find");
  // Every rank owns number 0: the rank that is told of it says so.
  if (size() > 1)
    expect_halo_error(LNW_Halo_create(MPI_COMM_WORLD, 0, 1, 0, nullptr, MPI_INFO_NULL, &halo), 0,
                      "element 0 is owned twice, by ranks 0 and 1");
  const int extent = bad ? 0 : 2, width = 1, period = 1, dims = 2 * size();
  expect_halo_error(LNW_Halo_create_cart(MPI_COMM_WORLD, 1, nullptr, &extent, &width, &period, 1, MPI_INFO_NULL, &halo),
                    last, "extents[0] is 0");
  const int two = 2, wide = bad ? 3 : 1;
  expect_halo_error(LNW_Halo_create_cart(MPI_COMM_WORLD, 1, nullptr, &two, &wide, &period, 1, MPI_INFO_NULL, &halo),
                    last, "widths[0] is 3 where extents[0] is 2");
  expect_halo_error(LNW_Halo_create_cart(MPI_COMM_WORLD, 1, &dims, &two, &width, &period, 1, MPI_INFO_NULL, &halo), -1,
                    "dims make no grid of " + std::to_string(size()) + " ranks");
  // Widths that do not fit those of the neighbours.
  if (size() > 1) {
    const int other = bad ? 2 : 1;
    const int code = LNW_Halo_create_cart(MPI_COMM_WORLD, 1, nullptr, &two, &other, &period, 1, MPI_INFO_NULL, &halo);
    ASSERT_NE(code, MPI_SUCCESS);
    if (bad) {
      EXPECT_NE(error_text(code).find("extents or widths do not fit those of rank"), std::string::npos);
    }
  }
  EXPECT_EQ(halo, LNW_HALO_NULL);
  expect_error_class(LNW_Halo_init(halo, nullptr, MPI_INT, MPI_INFO_NULL, nullptr), MPI_ERR_REQUEST);
  // And requests.
  EXPECT_MPI(LNW_Halo_create(MPI_COMM_WORLD, first, 2, 0, nullptr, MPI_INFO_NULL, &halo));
  int coord = 0;
  expect_error_class(LNW_Halo_get_cart(halo, 1, nullptr, &coord), MPI_ERR_TOPOLOGY);
  std::array<int, 2> x{};
  const std::array<void*, 2> arrays = {x.data(), bad ? nullptr : x.data()};
  const std::array<MPI_Datatype, 2> types = {MPI_INT, MPI_INT};
  LNW_Request request = LNW_REQUEST_NULL;
  const int code = LNW_Halo_init_fields(halo, 2, arrays.data(), types.data(), MPI_INFO_NULL, &request);
  ASSERT_NE(code, MPI_SUCCESS);
  if (bad) {
    EXPECT_NE(error_text(code).find("LNW_Halo_init_fields on rank " + std::to_string(last) + ": arrays[1] is NULL"),
              std::string::npos)
        << error_text(code);
  }
  EXPECT_MPI(LNW_Halo_free(&halo));
}

}  // namespace
}  // namespace laneway::test
