// Halos and distributors of arrays of structures of arrays, in Cabana's layout, against plain messages of elements.
#include <laneway/kokkos.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <tuple>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

constexpr std::size_t lanes = 4;

/// Members as Cabana has them: lane after lane, a component after the other.
struct Structure {
  double position[3][lanes];
  float charge[lanes];
  int id[lanes];
  double velocity[2][3][lanes];
};

/// As Cabana::Slice, as far as laneway/kokkos.hpp uses it.
template <class T, std::size_t Components>
class Slice {
 public:
  static constexpr std::size_t vector_length = lanes;
  using value_type = T;
  using memory_space = Kokkos::HostSpace;

  Slice(T* data, std::size_t size) : data_(data), size_(size) {}
  [[nodiscard]] T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t viewRank() const { return Components > 1 ? 3 : 2; }
  [[nodiscard]] std::size_t extent(std::size_t d) const { return d == 2 ? Components : lanes; }
  [[nodiscard]] std::size_t stride(std::size_t) const { return sizeof(Structure) / sizeof(T); }
  [[nodiscard]] T& at(std::size_t i, std::size_t c) const {
    return data_[i / lanes * stride(0) + c * lanes + i % lanes];
  }

 private:
  T* data_;
  std::size_t size_;
};

class Particles {
 public:
  explicit Particles(std::size_t size, int seed) : size_(size), structures_((size + lanes - 1) / lanes + 1) {
    std::memset(structures_.data(), 0x5A, structures_.size() * sizeof(Structure));
    for (std::size_t i = 0; i < size; ++i) set(i, seed * 1000 + static_cast<int>(i));
  }
  void set(std::size_t i, int number) {
    for (std::size_t c = 0; c < 3; ++c) position().at(i, c) = number + 0.25 * static_cast<double>(c);
    charge().at(i, 0) = static_cast<float>(number) / 2;
    id().at(i, 0) = number;
    for (std::size_t c = 0; c < 6; ++c) velocity().at(i, c) = -number - 0.125 * static_cast<double>(c);
  }
  [[nodiscard]] Slice<double, 3> position() { return {&structures_[0].position[0][0], size_}; }
  [[nodiscard]] Slice<float, 1> charge() { return {&structures_[0].charge[0], size_}; }
  [[nodiscard]] Slice<int, 1> id() { return {&structures_[0].id[0], size_}; }
  [[nodiscard]] Slice<double, 6> velocity() { return {&structures_[0].velocity[0][0][0], size_}; }
  [[nodiscard]] std::vector<unsigned char> bytes() const {
    std::vector<unsigned char> all(structures_.size() * sizeof(Structure));
    std::memcpy(all.data(), structures_.data(), all.size());
    return all;
  }

 private:
  std::size_t size_;
  std::vector<Structure> structures_;
};

/// Of what each rank sends to each other one, by plain messages, the numbers that arrive.
std::vector<int> exchanged(const HaloSide& send, const HaloSide& receive, const std::vector<int>& numbers) {
  std::vector<int> out, in(receive.indices.size());
  for (const MPI_Count index : send.indices) out.push_back(numbers[static_cast<std::size_t>(index)]);
  std::vector<MPI_Request> requests;
  int* place = in.data();
  for (std::size_t i = 0; i < receive.ranks.size(); place += receive.counts[i++])
    MPI_Irecv(place, receive.counts[i], MPI_INT, receive.ranks[i], 7, MPI_COMM_WORLD, &requests.emplace_back());
  int* from = out.data();
  for (std::size_t i = 0; i < send.ranks.size(); from += send.counts[i++])
    MPI_Isend(from, send.counts[i], MPI_INT, send.ranks[i], 7, MPI_COMM_WORLD, &requests.emplace_back());
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  return in;
}

class AosoaTest : public MpiTest {
 protected:
  static void SetUpTestSuite() {
    int words = 0;
    char* none[] = {nullptr};
    Kokkos::initialize(words, none);
  }
  static void TearDownTestSuite() { Kokkos::finalize(); }

  static constexpr std::size_t owned = 23;  // divides nothing

  /// Every rank sends some elements to each rank, itself included, other ones from each round on; ghosts follow.
  void make(int round) {
    send_ = receive_ = {};
    std::size_t ghost = owned;
    for (int peer = 0; peer < size(); ++peer) {
      const int out = (rank() * 3 + peer * 5 + round) % 7, in = (peer * 3 + rank() * 5 + round) % 7;
      send_.ranks.push_back(peer);
      send_.counts.push_back(out);
      for (int i = 0; i < out; ++i) send_.indices.push_back((i * 11 + peer * 2 + round) % static_cast<int>(owned));
      receive_.ranks.push_back(peer);
      receive_.counts.push_back(in);
      for (int i = 0; i < in; ++i) receive_.indices.push_back(static_cast<MPI_Count>(ghost++));
    }
    elements_ = ghost;
    std::vector<int> numbers;
    for (std::size_t i = 0; i < owned; ++i) numbers.push_back(rank() * 1000 + static_cast<int>(i));
    arriving_ = exchanged(send_, receive_, numbers);
  }

  HaloSide send_, receive_;
  std::size_t elements_ = 0;
  std::vector<int> arriving_;
};

TEST_F(AosoaTest, AllMembersAtOnce) {
  for (int round = 0; round < 5; ++round) {
    make(round);
    Particles particles(elements_, rank()), expected(elements_, rank());
    for (std::size_t g = 0; g < arriving_.size(); ++g) expected.set(owned + g, arriving_[g]);
    kokkos::AosoaHalo halo(MPI_COMM_WORLD, send_, receive_, particles.position(), particles.charge(), particles.id(),
                           particles.velocity());
    const Kokkos::DefaultHostExecutionSpace space;
    for (int turn = 0; turn < 2; ++turn) {
      halo.exchange(space, particles.position(), particles.charge(), particles.id(), particles.velocity());
      ASSERT_EQ(particles.bytes(), expected.bytes()) << round;
    }
  }
}

/// In any order of slices; what is not named stays.
TEST_F(AosoaTest, SomeMembersLeaveTheOthersAlone) {
  make(2);
  Particles particles(elements_, rank()), expected(elements_, rank()), arrived(elements_, rank());
  for (std::size_t g = 0; g < arriving_.size(); ++g) arrived.set(owned + g, arriving_[g]);
  for (std::size_t i = owned; i < elements_; ++i) {
    expected.id().at(i, 0) = arrived.id().at(i, 0);
    for (std::size_t c = 0; c < 3; ++c) expected.position().at(i, c) = arrived.position().at(i, c);
  }
  kokkos::AosoaHalo halo(MPI_COMM_WORLD, send_, receive_, particles.id(), particles.position());
  Queue queue(LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST);
  halo.enqueue(queue, particles.id(), particles.position());
  queue.wait();
  EXPECT_EQ(particles.bytes(), expected.bytes());
  Particles other(elements_, rank());
  halo.exchange(Kokkos::DefaultHostExecutionSpace(), other.id(), other.position());
  EXPECT_EQ(other.bytes(), expected.bytes());
}

TEST_F(AosoaTest, ElementsMigrate) {
  for (int round = 0; round < 4; ++round) {
    std::vector<int> ranks;
    for (std::size_t i = 0; i < owned; ++i) {
      const int to = (rank() * 7 + static_cast<int>(i * i) + round) % (size() + 1);
      ranks.push_back(round == 3 && rank() == 0 ? -1 : to - 1);  // some go nowhere, in one round all of a rank's
    }
    Particles from(owned, rank());
    kokkos::AosoaDistributor distributor(MPI_COMM_WORLD, ranks, from.position(), from.charge(), from.id(),
                                         from.velocity());
    HaloSide send, receive;
    std::vector<int> numbers, counts_out(static_cast<std::size_t>(size())), counts_in(counts_out);
    for (std::size_t i = 0; i < owned; ++i) numbers.push_back(rank() * 1000 + static_cast<int>(i));
    for (int peer = 0; peer < size(); ++peer) {
      send.ranks.push_back(peer);
      receive.ranks.push_back(peer);
      for (std::size_t i = 0; i < owned; ++i)
        if (ranks[i] == peer) send.indices.push_back(static_cast<MPI_Count>(i));
      const auto before = static_cast<std::size_t>(std::accumulate(send.counts.begin(), send.counts.end(), 0));
      send.counts.push_back(static_cast<int>(send.indices.size() - before));
      counts_out[static_cast<std::size_t>(peer)] = send.counts.back();
    }
    MPI_Alltoall(counts_out.data(), 1, MPI_INT, counts_in.data(), 1, MPI_INT, MPI_COMM_WORLD);
    receive.counts = counts_in;
    receive.indices.resize(static_cast<std::size_t>(std::accumulate(counts_in.begin(), counts_in.end(), 0)));
    const std::vector<int> arriving = exchanged(send, receive, numbers);
    ASSERT_EQ(distributor.imports(), arriving.size());
    const std::size_t room = arriving.size() + 2;
    Particles to(room, 9), expected(room, 9);
    for (std::size_t i = 0; i < arriving.size(); ++i) expected.set(i, arriving[i]);
    const auto slices = [](Particles& of) { return std::tuple(of.position(), of.charge(), of.id(), of.velocity()); };
    const auto source = slices(from), target = slices(to);
    for (int turn = 0; turn < 2; ++turn) {
      distributor.migrate(Kokkos::DefaultHostExecutionSpace(), source, target);
      ASSERT_EQ(to.bytes(), expected.bytes()) << round;
    }
  }
}

TEST_F(AosoaTest, SlicesOfSeveralArraysAreRefused) {
  Particles one(10, 0), other(11, 0);
  EXPECT_THROW((void)kokkos::aosoa(one.id(), other.charge()), std::invalid_argument);
  EXPECT_NO_THROW((void)kokkos::aosoa(one.charge(), one.velocity()));
  static_assert(std::is_same_v<decltype(kokkos::aosoa(one.position(), one.velocity()).data), std::uint64_t*>);
  static_assert(std::is_same_v<decltype(kokkos::aosoa(one.position(), one.id()).data), std::uint32_t*>);
}

}  // namespace
}  // namespace laneway::test
