/// Kokkos Comm's calls on our communication space against MPI's own, bit for bit. The types of Kokkos Comm are those of
/// the stand-in.
#include <array>
#include <cstdint>
#include <numeric>

#include "laneway/kokkos_comm.hpp"
#include "support.hpp"

namespace laneway {
namespace {

using test::rank;
using test::size;
using Exec = Kokkos::DefaultHostExecutionSpace;
using Comm = KokkosComm::Communicator<KokkosCommSpace, Exec>;
template <class T>
using Right = Kokkos::View<T, Kokkos::LayoutRight, Kokkos::HostSpace>;
template <class T>
using Left = Kokkos::View<T, Kokkos::LayoutLeft, Kokkos::HostSpace>;
namespace wide = KokkosComm::Experimental;

class KokkosCommTest : public test::MpiTest {
 protected:
  static void SetUpTestSuite() {
    int words = 0;
    char* none[] = {nullptr};
    Kokkos::initialize(words, none);
  }
  static void TearDownTestSuite() { Kokkos::finalize(); }

  Comm comm_ = Comm::from_raw(MPI_COMM_WORLD);
};

double value(int of, std::size_t i, std::size_t j) {
  return 1.0 / (1.0 + of) + static_cast<double>(10 * i + j);
}

template <class View>
void fill(const View& view, int of) {
  for (std::size_t i = 0; i < view.extent(0); ++i)
    for (std::size_t j = 0; j < view.extent(1); ++j) view(i, j) = value(of, i, j);
}

/// Between Views of any layout, subviews too.
template <class Sent, class Received>
void around_the_ring(Comm& comm, const Sent& sent, Received received) {
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  fill(sent, rank());
  for (int way = 0; way < 2; ++way) {
    Kokkos::deep_copy(received, -1.0);
    if (way == 0) {
      auto from = KokkosComm::recv(comm, received, previous);
      auto to = KokkosComm::send(comm, sent, next);
      to.wait();
      KokkosComm::wait(from);
    } else {
      KokkosComm::exchange(comm, sent, next, received, previous).wait();
    }
    for (std::size_t i = 0; i < received.extent(0); ++i)
      for (std::size_t j = 0; j < received.extent(1); ++j)
        ASSERT_EQ(received(i, j), value(previous, i, j)) << i << " " << j;
  }
}

TEST_F(KokkosCommTest, MessagesOfViewsOfAnyLayout) {
  const Right<double**> right("right", 5, 7), other("other", 5, 7);
  const Left<double**> left("left", 5, 7);
  const Left<double***> whole("whole", 7, 2, 9);
  const auto part = Kokkos::subview(whole, std::make_pair(1, 6), 1, std::make_pair(2, 9));
  around_the_ring(comm_, right, other);
  around_the_ring(comm_, right, left);
  around_the_ring(comm_, left, other);
  around_the_ring(comm_, part, left);
  around_the_ring(comm_, right, part);
  EXPECT_EQ(whole(0, 1, 2), 0) << "beside the subview";
}

/// The Views may go out of scope, and requests complete in any order.
TEST_F(KokkosCommTest, RequestsKeepViews) {
  constexpr int messages = 6;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  std::vector<Right<double**>> received;
  std::vector<KokkosComm::Request<KokkosCommSpace>> requests;
  for (int m = 0; m < messages; ++m) {
    received.emplace_back("received", 3, 4);
    requests.push_back(KokkosComm::recv(comm_, received.back(), previous));
  }
  for (int m = 0; m < messages; ++m) {
    const Left<double**> sent("sent", 3, 4);
    fill(sent, 10 * rank() + m);
    requests.push_back(KokkosComm::send(comm_, sent, next));
  }
  const auto first = KokkosComm::wait_any(requests);
  ASSERT_TRUE(first.has_value());
  EXPECT_LT(*first, 2 * messages);
  KokkosComm::wait_all(requests);
  for (int m = 0; m < messages; ++m)
    EXPECT_EQ(received[static_cast<std::size_t>(m)](2, 3), value(10 * previous + m, 2, 3)) << m;
  EXPECT_FALSE(KokkosComm::wait_any(std::span<KokkosComm::Request<KokkosCommSpace>>()).has_value());
}

template <class Op>
void reduce(Comm& comm, Op op, MPI_Op by, int root) {
  const Right<std::int64_t*> own("own", 100), all("all", 100), one("one", 100);
  const Left<std::int64_t**> pair("pair", 2, 100);
  const auto row = Kokkos::subview(pair, 1, Kokkos::ALL);  // strided
  std::vector<std::int64_t> expected(100);
  for (std::size_t i = 0; i < 100; ++i) own(i) = static_cast<std::int64_t>(i % 7 + 1) + rank();
  MPI_Allreduce(own.data(), expected.data(), 100, MPI_INT64_T, by, MPI_COMM_WORLD);
  wide::allreduce(comm, own, all, op).wait();
  wide::allreduce(comm, own, row, op).wait();
  wide::reduce(comm, own, one, root, op).wait();
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(all(i), expected[i]) << i;
    ASSERT_EQ(row(i), expected[i]) << i;
    ASSERT_EQ(pair(0, i), 0) << i;
    ASSERT_EQ(one(i), rank() == root ? expected[i] : 0) << i;
  }
  wide::allreduce(comm, own, own, op).wait();  // in place
  for (std::size_t i = 0; i < 100; ++i) ASSERT_EQ(own(i), expected[i]) << i;
}

TEST_F(KokkosCommTest, Reductions) {
  reduce(comm_, KokkosComm::Sum(), MPI_SUM, size() - 1);
  reduce(comm_, KokkosComm::Max(), MPI_MAX, 0);
  reduce(comm_, KokkosComm::Min(), MPI_MIN, 0);
  reduce(comm_, KokkosComm::Prod(), MPI_PROD, size() / 2);
}

TEST_F(KokkosCommTest, OtherCollectives) {
  const auto ranks = static_cast<std::size_t>(size());
  const int root = size() - 1;
  const Left<double**> shared("shared", 4, 3);
  fill(shared, rank() == root ? 7 : -5);
  wide::broadcast(comm_, shared, root).wait();
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t j = 0; j < 3; ++j) ASSERT_EQ(shared(i, j), value(7, i, j));

  const Right<int*> own("own", 5), gathered("gathered", 5 * ranks), sent("sent", 2 * ranks), got("got", 2 * ranks);
  for (std::size_t i = 0; i < 5; ++i) own(i) = 100 * rank() + static_cast<int>(i);
  wide::allgather(comm_, own, gathered).wait();
  for (std::size_t i = 0; i < 5 * ranks; ++i) ASSERT_EQ(gathered(i), static_cast<int>(100 * (i / 5) + i % 5));

  for (std::size_t i = 0; i < 2 * ranks; ++i) sent(i) = 1000 * rank() + static_cast<int>(i);
  std::vector<int> expected(2 * ranks);
  MPI_Alltoall(sent.data(), 2, MPI_INT, expected.data(), 2, MPI_INT, MPI_COMM_WORLD);
  wide::alltoall(comm_, sent, got, 2).wait();
  for (std::size_t i = 0; i < 2 * ranks; ++i) ASSERT_EQ(got(i), expected[i]);
  KokkosComm::Impl::Barrier<Exec, KokkosCommSpace>{comm_};

  if (size() > 1) {
    EXPECT_THROW((void)wide::allgather(comm_, own, own), std::invalid_argument);
  }
  EXPECT_THROW((void)wide::alltoall(comm_, sent, got, 3), std::invalid_argument);
}

/// What Kokkos Comm lacks.
TEST_F(KokkosCommTest, AlltoallvOnceAndPersistent) {
  const auto ranks = static_cast<std::size_t>(size());
  std::vector<MPI_Count> out(ranks), in(ranks);
  std::vector<MPI_Aint> out_at(ranks), in_at(ranks);
  const auto length = [](std::size_t from, std::size_t to) { return static_cast<MPI_Count>((3 * from + 5 * to) % 7); };
  for (std::size_t r = 0; r < ranks; ++r) {
    out[r] = length(static_cast<std::size_t>(rank()), r);
    in[r] = length(r, static_cast<std::size_t>(rank()));
  }
  std::exclusive_scan(out.begin(), out.end(), out_at.begin(), MPI_Aint{1});
  std::exclusive_scan(in.begin(), in.end(), in_at.begin(), MPI_Aint{2});
  const Right<double*> sent("sent", static_cast<std::size_t>(out_at.back() + out.back()) + 1);
  const Right<double*> received("received", static_cast<std::size_t>(in_at.back() + in.back()) + 1);
  std::vector<double> expected(received.extent(0), -3);
  std::vector<int> outs(out.begin(), out.end()), ins(in.begin(), in.end()), outs_at(out_at.begin(), out_at.end()),
      ins_at(in_at.begin(), in_at.end());
  Persistent persistent = kokkos_comm::alltoallv_init(comm_, sent, {out, out_at}, received, {in, in_at});
  for (int turn = 0; turn < 4; ++turn) {
    for (std::size_t i = 0; i < sent.extent(0); ++i) sent(i) = 100.0 * rank() + static_cast<double>(i) / 3 + turn;
    Kokkos::deep_copy(received, -3.0);
    MPI_Alltoallv(sent.data(), outs.data(), outs_at.data(), MPI_DOUBLE, expected.data(), ins.data(), ins_at.data(),
                  MPI_DOUBLE, MPI_COMM_WORLD);
    if (turn % 2 == 0)
      kokkos_comm::alltoallv(comm_, sent, {out, out_at}, received, {in, in_at}).wait();
    else
      kokkos::run<decltype(received)>(comm_.exec(), persistent);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_EQ(received(i), expected[i]) << turn << " " << i;
  }
  in[0] += 1000;
  try {
    (void)kokkos_comm::alltoallv(comm_, sent, {out, out_at}, received, {in, in_at});
    ADD_FAILURE() << "not refused";
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find("receive_shares has"), std::string::npos) << error.what();
  }
}

TEST_F(KokkosCommTest, PersistentHalosOfStridedViews) {
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  const Right<double**> u("u", 6, 8);
  const std::vector<Part<2>> send{{next, {{0, 6}, {6, 7}}}}, receive{{previous, {{0, 0}, {6, 1}}}};
  auto halo = kokkos_comm::halo(comm_, u, send, receive);
  for (int turn = 0; turn < 3; ++turn) {
    fill(u, rank() + turn);
    halo.exchange(comm_.exec(), u);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(u(i, 0), value(previous + turn, i, 6));
  }
}

TEST_F(KokkosCommTest, CommunicatorsSplitDuplicateAndMove) {
  auto twin = comm_.duplicate();
  ASSERT_TRUE(twin.has_value());
  EXPECT_EQ(twin->size(), size());
  Comm moved = std::move(*twin);
  EXPECT_EQ(moved.rank(), rank());
  auto half = moved.split(rank() % 2 == 0 ? 0 : MPI_UNDEFINED, -rank());
  EXPECT_EQ(half.has_value(), rank() % 2 == 0);
  if (half) {
    EXPECT_EQ(half->size(), (size() + 1) / 2);
    const Right<int*> one("one", 1), sum("sum", 1);
    one(0) = 1;
    wide::allreduce(*half, one, sum, KokkosComm::Sum()).wait();
    EXPECT_EQ(sum(0), half->size());
  }
}

}  // namespace
}  // namespace laneway
