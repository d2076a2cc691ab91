/// Halos of Views against plain messages of packed boxes, element by element.
#include "support.hpp"

#include <cstdint>
#include <numeric>

#include "laneway/kokkos.hpp"

namespace laneway {
namespace {

using test::rank;
using test::size;
using Space = Kokkos::DefaultHostExecutionSpace;

class KokkosHalo : public test::MpiTest {
 protected:
  static void SetUpTestSuite() {
    int words = 0;
    char* none[] = {nullptr};
    Kokkos::initialize(words, none);
  }
  static void TearDownTestSuite() { Kokkos::finalize(); }
};

/// All indices of a box, the last dimension first: an order of the test's own.
template <std::size_t R, class F>
void for_each(const Box<R>& box, F&& f) {
  const std::size_t elements = box.size();
  std::array<std::size_t, R> index = box.begin;
  for (std::size_t i = 0; i < elements; ++i) {
    f(index);
    for (std::size_t d = R; d-- > 0;) {
      if (++index[d] < box.end[d]) break;
      index[d] = box.begin[d];
    }
  }
}

template <class T, std::size_t R>
std::vector<T> packed(const StridedView<T, R>& view, const Box<R>& box) {
  std::vector<T> values;
  for_each(box, [&](const auto& index) { values.push_back(view(index)); });
  return values;
}

/// What arrives in each of the parts that are received, by messages of packed boxes.
template <class T, std::size_t R>
std::vector<std::vector<T>> exchanged(const StridedView<T, R>& view, const std::vector<Part<R>>& from,
                                      const std::vector<Part<R>>& to) {
  std::vector<std::vector<T>> sent, arrived;
  std::vector<MPI_Request> requests;
  for (const Part<R>& part : to) arrived.emplace_back(part.box.size());
  for (const Part<R>& part : from) sent.push_back(packed(view, part.box));
  for (std::size_t p = 0; p < to.size(); ++p)
    MPI_Irecv(arrived[p].data(), static_cast<int>(arrived[p].size() * sizeof(T)), MPI_BYTE, to[p].rank, 7,
              MPI_COMM_WORLD, &requests.emplace_back());
  for (std::size_t p = 0; p < from.size(); ++p)
    MPI_Isend(sent[p].data(), static_cast<int>(sent[p].size() * sizeof(T)), MPI_BYTE, from[p].rank, 7, MPI_COMM_WORLD,
              &requests.emplace_back());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return arrived;
}

/// A ring in every dimension: two layers of `u` go to the next rank, one to the previous; with a part of no elements.
template <std::size_t R>
struct Ring {
  std::vector<Part<R>> send, receive;

  explicit Ring(const std::array<std::size_t, R>& extents) {
    const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
    for (std::size_t d = 0; d < R; ++d) {
      Box<R> inner;
      for (std::size_t e = 0; e < R; ++e) {
        inner.begin[e] = 2;
        inner.end[e] = extents[e] - 1;
      }
      const auto slab = [&](std::size_t begin, std::size_t end) {
        Box<R> box = inner;
        box.begin[d] = begin;
        box.end[d] = end;
        return box;
      };
      const std::size_t n = extents[d];
      send.push_back({next, slab(n - 3, n - 1)});
      receive.push_back({previous, slab(0, 2)});
      send.push_back({previous, slab(2, 3)});
      receive.push_back({next, slab(n - 1, n)});
      send.push_back({next, slab(2, 2)});
      receive.push_back({previous, slab(1, 1)});
    }
  }
};

template <class View>
void fill(const View& view, int seed) {
  const auto all = kokkos::strided(view);
  Box<all.extents.size()> box;
  box.end = all.extents;
  std::int64_t number = 1000 * rank() + seed;
  for_each(box, [&](const auto& index) { all(index) = static_cast<typename View::value_type>(number += 3); });
}

/// Exchanges and accumulates `view`, whose memory lies in `whole`, and looks at all of `whole`.
template <class View, class Whole>
void compare(const View& view, const Whole& whole, int seed) {
  using T = typename View::value_type;
  constexpr auto R = static_cast<std::size_t>(View::rank);
  const Space space;
  const auto strided = kokkos::strided(view);
  const Ring<R> parts(strided.extents);
  kokkos::Halo<View> halo(MPI_COMM_WORLD, view, parts.send, parts.receive);
  for (int turn = 0; turn < 2; ++turn) {
    fill(whole, seed + turn);
    const auto all = kokkos::strided(whole);
    const std::span<T> memory(all.data, all.span());
    std::vector<T> expected(memory.begin(), memory.end());
    StridedView<T, R> model = strided;
    model.data = expected.data() + (strided.data - all.data);
    const auto arrived = exchanged(model, parts.send, parts.receive);
    for (std::size_t p = 0; p < arrived.size(); ++p) {
      std::size_t at = 0;
      for_each(parts.receive[p].box, [&](const auto& index) { model(index) = arrived[p][at++]; });
    }
    kokkos::exchange(space, halo, view);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin()));

    const auto returned = exchanged(model, parts.receive, parts.send);
    for (std::size_t p = 0; p < returned.size(); ++p) {
      std::size_t at = 0;
      for_each(parts.send[p].box, [&](const auto& index) { model(index) += returned[p][at++]; });
    }
    kokkos::accumulate(space, halo, view);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), memory.begin()));
  }
}

TEST_F(KokkosHalo, ViewsOfAllRanksInBothLayouts) {
  const Kokkos::View<int*, Kokkos::HostSpace> one("one", 9);
  compare(one, one, 1);
  const Kokkos::View<double**, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 7, 9);
  compare(left, left, 2);
  const Kokkos::View<double**, Kokkos::LayoutRight, Kokkos::HostSpace> right("right", 7, 9);
  compare(right, right, 3);
  const Kokkos::View<std::int64_t***, Kokkos::LayoutRight, Kokkos::HostSpace> three("three", 6, 5, 7);
  compare(three, three, 4);
  const Kokkos::View<int** [5][6], Kokkos::LayoutLeft, Kokkos::HostSpace> four("four", 5, 7);
  compare(four, four, 5);
}

TEST_F(KokkosHalo, StridedAndSubviews) {
  const Kokkos::View<double***, Kokkos::LayoutRight, Kokkos::HostSpace> whole("whole", 8, 9, 10);
  compare(Kokkos::subview(whole, std::make_pair(1, 7), std::make_pair(2, 9), std::make_pair(0, 8)), whole, 11);
  compare(Kokkos::subview(whole, Kokkos::ALL, 4, Kokkos::ALL), whole, 12);
  compare(Kokkos::subview(whole, Kokkos::ALL, Kokkos::ALL, 3), whole, 13);
  compare(Kokkos::subview(whole, 2, Kokkos::ALL, 5), whole, 14);
  const Kokkos::View<int**, Kokkos::LayoutStride, Kokkos::HostSpace> strided("strided",
                                                                             Kokkos::LayoutStride(6, 2, 8, 17));
  compare(strided, strided, 15);
}

TEST_F(KokkosHalo, RanksMayHaveOtherLayouts) {
  const Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 7, 9);
  const Kokkos::View<int**, Kokkos::LayoutRight, Kokkos::HostSpace> right("right", 7, 9);
  if (rank() % 2 == 0)
    compare(left, left, 21);
  else
    compare(right, right, 21);
}

/// Puts `turns` exchanges, or accumulations, into a queue of host tasks, between tasks that change the View.
template <class View>
void enqueue(const View& view, int seed) {
  using T = typename View::value_type;
  constexpr auto R = static_cast<std::size_t>(View::rank);
  constexpr int turns = 4;
  const auto strided = kokkos::strided(view);
  const Ring<R> parts(strided.extents);
  kokkos::Halo<View> halo(MPI_COMM_WORLD, view, parts.send, parts.receive),
      model(MPI_COMM_WORLD, view, parts.send, parts.receive);
  StridedHalo<T, R> same(MPI_COMM_WORLD, strided, parts.send, parts.receive);
  const std::span<T> memory(strided.data, strided.span());
  const auto begin = [&] {
    std::fill(memory.begin(), memory.end(), T{});  // what lies between the strides, too
    fill(view, seed);
  };
  const auto expected = [&](auto&& turn) {
    begin();
    for (int i = 0; i < turns; ++i) {
      for (T& element : memory) element += 1;
      turn();
    }
    return std::vector<T>(memory.begin(), memory.end());
  };
  const Space space;
  const std::vector<T> exchanged = expected([&] { model.exchange(space, view); });
  const std::vector<T> accumulated = expected([&] { model.accumulate(space, view); });
  Queue queue(LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST);
  auto add = [&] {
    for (T& element : memory) element += 1;
  };
  const auto run = [&](auto&& put) {
    begin();
    for (int i = 0; i < turns; ++i) {
      queue.call(add);
      put();
    }
    queue.wait();
    return std::vector<T>(memory.begin(), memory.end());
  };
  EXPECT_EQ(run([&] { halo.enqueue(queue, view); }), exchanged);
  EXPECT_EQ(run([&] { kokkos::order(queue, halo.operation()); }), exchanged);
  EXPECT_EQ(run([&] { same.enqueue(queue, strided); }), exchanged);
  EXPECT_EQ(run([&] { halo.enqueue_accumulate(queue, view); }), accumulated);
  EXPECT_EQ(run([&] { same.enqueue_accumulate(queue, strided); }), accumulated);
  EXPECT_EQ(queue.statistics().triggers, 5 * turns);
}

TEST_F(KokkosHalo, ExchangesInAQueue) {
  const Kokkos::View<std::int64_t**, Kokkos::LayoutLeft, Kokkos::HostSpace> left("left", 7, 9);
  enqueue(left, 41);
  const Kokkos::View<int***, Kokkos::LayoutRight, Kokkos::HostSpace> whole("whole", 8, 9, 10);
  enqueue(Kokkos::subview(whole, Kokkos::ALL, 4, Kokkos::ALL), 42);
}

TEST_F(KokkosHalo, BoxOutsideAndOtherViewAreRefused) {
  const Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> view("view", 7, 9), other("other", 8, 9);
  using Halo = kokkos::Halo<Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace>>;
  std::vector<Part<2>> wrong;
  if (rank() == size() - 1) wrong.push_back({0, {{0, 3}, {7, 10}}});
  try {
    Halo(MPI_COMM_WORLD, view, wrong, {});
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(error.what(), "laneway::StridedHalo on rank " + std::to_string(size() - 1) +
                                ": send[0].box is [3, 10) in dimension 1 of extent 9");
  }
  Halo halo(MPI_COMM_WORLD, view, {}, {});
  EXPECT_THROW(halo.exchange(Space(), other), std::invalid_argument);
}

/// Every element is a number of the whole torus; ghosts, those of corners too, must get their neighbours'.
TEST_F(KokkosHalo, PartsOfAGrid) {
  std::array<int, 2> ranks{}, periods{1, 1}, at{};
  MPI_Dims_create(size(), 2, ranks.data());
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Cart_create(MPI_COMM_WORLD, 2, ranks.data(), periods.data(), 0, &grid);
  MPI_Cart_coords(grid, rank(), 2, at.data());
  const int own[] = {4, 3}, width = 2;
  const Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace> view("view", own[0] + 4, own[1] + 4);
  const auto number = [&](int i, int j) {
    const int x = (at[0] * own[0] + i - width + ranks[0] * own[0]) % (ranks[0] * own[0]);
    const int y = (at[1] * own[1] + j - width + ranks[1] * own[1]) % (ranks[1] * own[1]);
    return 1 + x + 100 * y;
  };
  for (int j = 2; j < own[1] + 2; ++j)
    for (int i = 2; i < own[0] + 2; ++i) view(i, j) = number(i, j);
  const Parts<2> parts = cart_parts<2>(grid, kokkos::strided(view).extents, width);
  kokkos::Halo<Kokkos::View<int**, Kokkos::LayoutLeft, Kokkos::HostSpace>> halo(grid, view, parts.send, parts.receive);
  halo.exchange(Space(), view);
  for (int j = 0; j < own[1] + 4; ++j)
    for (int i = 0; i < own[0] + 4; ++i) EXPECT_EQ(view(i, j), number(i, j)) << i << ", " << j;
  MPI_Comm_free(&grid);
}

TEST_F(KokkosHalo, AlltoallvOfViews) {
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  const Graph graph(MPI_COMM_WORLD, std::array{previous}, std::array{next});
  const Kokkos::View<double*, Kokkos::HostSpace> send("send", 5), receive("receive", 6);
  fill(send, 31);
  const std::array count{4}, from{1}, to{2};
  Persistent operation = kokkos::neighbor_alltoallv_init(graph.get(), send, {count, from}, receive, {count, to});
  kokkos::run<decltype(receive)>(Space(), operation);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(receive(2 + i), send(1 + i) + 1000.0 * (previous - rank()));
  EXPECT_EQ(receive(0), 0);
  EXPECT_EQ(receive(1), 0);
}

}  // namespace
}  // namespace laneway
