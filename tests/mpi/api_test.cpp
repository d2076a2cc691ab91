// The C++ interface: halos, ownership, exceptions.
#include <algorithm>
#include <complex>
#include <cstring>
#include <numeric>

#include "laneway/laneway.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class ApiTest : public MpiTest {};

/// A one-dimensional periodic halo: `n` owned elements between two ghosts.
struct Line {
  explicit Line(int n) : owned(n) {
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    send = {{left, right}, {1, 1}, {1, n}};
    receive = {{right, left}, {1, 1}, {n + 1, 0}};
  }
  [[nodiscard]] std::vector<double> values(double shift) const {
    std::vector<double> x(static_cast<std::size_t>(owned) + 2, -1);
    for (int i = 1; i <= owned; ++i) x[static_cast<std::size_t>(i)] = shift + rank() * owned + i - 1;
    return x;
  }
  void expect_ghosts(const std::vector<double>& x, double shift) const {
    const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
    EXPECT_EQ(x.front(), shift + left * owned + owned - 1);
    EXPECT_EQ(x.back(), shift + right * owned);
  }

  int owned;
  HaloSide send, receive;
};

TEST_F(ApiTest, HaloWithChangingArrays) {
  const Line line(4);
  for (const Choice& choice : choices("node:* rank:2")) {
    const std::string grid = "1x" + std::to_string(size());
    Halo<double> halo(MPI_COMM_WORLD, line.send, line.receive,
                      laneway::Hints{{"lnw_strategy", choice.strategy.c_str()},
                                     {"lnw_deduplicate", choice.deduplicate.c_str()},
                                     {"lnw_machine", choice.machine.c_str()},
                                     {"lnw_grid", grid.c_str()}});
    if (choice.strategy.find("auto") == std::string::npos) {
      EXPECT_EQ(halo.operation().strategy(), choice.strategy);
    }
    for (int turn = 0; turn < 3; ++turn) {
      std::vector<double> a = line.values(turn), b = line.values(1000 + turn);
      halo.exchange(a);
      line.expect_ghosts(a, turn);
      halo.exchange(b);
      line.expect_ghosts(b, 1000 + turn);
      a = line.values(5);
      halo.start(a);
      while (!halo.test()) {
      }
      line.expect_ghosts(a, 5);
    }
    std::vector<double> larger = line.values(7);
    larger.push_back(77);
    halo.start(larger);
    halo.wait();
    EXPECT_EQ(larger.back(), 77);
    std::vector<double> small(3);
    EXPECT_THROW(halo.exchange(small), std::invalid_argument);
  }
}

TEST_F(ApiTest, HaloBackwards) {
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const Line line(4);
  for (const char* strategy : {"auto", "direct", "three_step"}) {
    Halo<double> halo(MPI_COMM_WORLD, line.send, line.receive,
                      laneway::Hints{{"lnw_strategy", strategy}, {"lnw_machine", "node:* rank:2"}});
    for (int turn = 0; turn < 2; ++turn) {
      std::vector<double> x = line.values(turn);
      x.front() = 1000 + rank();
      x.back() = 2000 + rank();
      std::vector<double> expected = x;
      expected[1] += 2000 + left;
      expected[4] += 1000 + right;
      halo.accumulate(x);
      EXPECT_EQ(x, expected);
      expected[1] = std::max(expected[1], 2000.0 + left);
      expected[4] = std::max(expected[4], 1000.0 + right);
      halo.accumulate(x, MPI_MAX);
      EXPECT_EQ(x, expected);
      halo.exchange(x);
    }
    std::vector<double> small(3);
    EXPECT_THROW(halo.accumulate(small), std::invalid_argument);
  }
}

TEST_F(ApiTest, HaloOnRanksWithoutElements) {
  // Only rank 0 has elements, and sends itself one.
  HaloSide send, receive;
  std::vector<float> x;
  if (rank() == 0) {
    send = {{0}, {1}, {0}};
    receive = {{0}, {1}, {1}};
    x = {3.5F, 0};
  }
  Halo<float> halo(MPI_COMM_WORLD, send, receive);
  for (int turn = 0; turn < 2; ++turn) halo.exchange(x);
  if (rank() == 0) {
    EXPECT_EQ(x[1], 3.5F);
  }
}

TEST_F(ApiTest, MovedHalo) {
  const Line line(3);
  auto make = [&](const char* strategy) {
    return Halo<double>(MPI_COMM_WORLD, line.send, line.receive, {{"lnw_strategy", strategy}});
  };
  std::vector<Halo<double>> halos;
  halos.push_back(make("direct"));
  halos.push_back(make("three_step"));
  std::vector<double> x = line.values(0), y = line.values(10);
  // An active exchange moves with its owner.
  halos[0].start(x);
  Halo<double> moved = std::move(halos[0]);
  halos[0] = std::move(halos[1]);
  halos.pop_back();
  halos[0].exchange(y);
  moved.wait();
  line.expect_ghosts(x, 0);
  line.expect_ghosts(y, 10);
  EXPECT_EQ(halos[0].operation().strategy(), "three_step");
  // The destructor waits for an exchange that is still active.
  x = line.values(20);
  moved.start(x);
  moved = std::move(halos[0]);
  y = line.values(30);
  moved.exchange(y);
  line.expect_ghosts(y, 30);
}

TEST_F(ApiTest, Operations) {
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const std::vector<int> sources{left, right}, destinations{right, left};
  Graph graph(MPI_COMM_WORLD, sources, destinations,
              {{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:1"}});
  const std::vector<std::int64_t> send{rank(), 100 + rank()};
  std::vector<std::int64_t> receive(4);
  Persistent gather = neighbor_allgather_init<std::int64_t>(graph.get(), send, receive);
  EXPECT_EQ(gather.strategy(), "three_step");
  gather.run();
  EXPECT_EQ(receive, (std::vector<std::int64_t>{left, 100 + left, right, 100 + right}));
  EXPECT_THROW(
      (void)neighbor_allgather_init<std::int64_t>(graph.get(), send, std::span<std::int64_t>(receive).first(3)),
      std::invalid_argument);

  const std::vector<int> counts{1, 1}, backwards{1, 0};
  Persistent exchange =
      neighbor_alltoallv_init<std::int64_t>(graph.get(), send, {counts, backwards}, receive, {counts, counts});
  receive = {-1, -1, -1, -1};
  Graph moved = std::move(graph);
  EXPECT_EQ(graph.get(), MPI_COMM_NULL);
  exchange.start();
  gather = std::move(exchange);
  gather.wait();
  EXPECT_EQ(gather.statistics().bytes, gather.statistics().net_bytes);
}

TEST_F(ApiTest, Exceptions) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  try {
    const std::vector<int> nobody{size()};
    const Graph graph(MPI_COMM_WORLD, nobody, nobody);
    ADD_FAILURE() << "no exception";
  } catch (const MpiError& error) {
    EXPECT_NE(std::string(error.what()).find("sources[0] is " + std::to_string(size())), std::string::npos)
        << error.what();
    EXPECT_EQ(error_text(error.code()), error.what());
  }
  const std::vector<int> self{rank()};
  const HaloSide side{self, {1}, {9}};
  EXPECT_THROW(Halo<double>(MPI_COMM_WORLD, side, side, 5), MpiError);
  EXPECT_THROW(Halo<double>(MPI_COMM_WORLD, side, side, 10, {{"lnw_strategy", "nonsense"}}), MpiError);
  Persistent nothing;
  EXPECT_THROW(nothing.start(), MpiError);
  EXPECT_THROW((void)nothing.strategy(), MpiError);
  EXPECT_TRUE(nothing.test());
  Halo<double> halo(MPI_COMM_WORLD, side, side);
  std::vector<double> x(10, 1.0);
  halo.start(x);
  EXPECT_THROW(halo.start(x), MpiError);
  halo.wait();
  halo.exchange(x);
}

/// Ranks v and v + size/2 exchange much, and neighbours on the ring little; nodes are pairs of consecutive ranks.
TEST_F(ApiTest, ReorderedGraph) {
  const Shape ring = ring_shape(rank(), size());
  const int half = size() / 2;
  std::vector<int> sources = ring.sources, destinations = ring.destinations, weights{1, 1};
  if (half > 0 && rank() < 2 * half) {
    sources.push_back((rank() + half) % (2 * half));
    destinations.push_back(sources.back());
    weights.push_back(1000);
  }
  const laneway::Hints hints{{"lnw_machine", "node:* rank:2"}};
  const Graph graph(MPI_COMM_WORLD, {sources, weights}, {destinations, weights}, hints, true);
  const LNW_Reorder report = graph.reorder();
  EXPECT_EQ(report.weight, 2 * size() + 2000 * half);
  EXPECT_LE(report.cut_after, report.cut_before);
  EXPECT_EQ(report.moved > 0, report.cut_after < report.cut_before);
  if (report.has_partitioner && size() > 3) {
    EXPECT_LT(report.cut_after, 1000);
  }
  int vertex = -1, indegree = 0, outdegree = 0, weighted = 0;
  MPI_Comm_rank(graph.get(), &vertex);
  MPI_Dist_graph_neighbors_count(graph.get(), &indegree, &outdegree, &weighted);
  EXPECT_TRUE(weighted);
  std::vector<int> received(static_cast<std::size_t>(indegree)), expected(received.size()), unused(received.size());
  EXPECT_MPI(LNW_Neighbor_allgather(&vertex, 1, MPI_INT, received.data(), 1, MPI_INT, graph.get()));
  MPI_Dist_graph_neighbors(graph.get(), indegree, expected.data(), unused.data(), outdegree, unused.data(),
                           unused.data());
  EXPECT_EQ(received, expected);

  const Graph unweighted(MPI_COMM_WORLD, sources, destinations, hints, true);
  EXPECT_EQ(unweighted.reorder().weight, 2 * size() + 2 * half);
  const Graph plain(MPI_COMM_WORLD, {}, {});
  const Handler handler(plain.get(), MPI_ERRORS_RETURN);
  EXPECT_THROW((void)plain.reorder(), MpiError);
  EXPECT_THROW(WeightedNeighbors({sources}, {}), std::invalid_argument);
}

struct Particle {
  int id;
  double mass;
  char kind;
};
struct Colour {
  unsigned char red, green, blue;
};
struct alignas(16) Wide {
  std::array<float, 4> lanes;
};
enum class State : short { cold, warm };

/// Elements go right around the ring, every other one of the owned, in reverse, and twice to the right. Compared with
/// plain messages of bytes.
template <class T>
void expect_halo_of(T (*make)(int)) {
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const HaloSide send{{right, left}, {4, 1}, {5, 3, 1, 3, 0}}, receive{{left, right}, {4, 1}, {6, 8, 7, 9, 10}};
  for (const char* strategy : {"direct", "three_step"}) {
    Halo<T> halo(MPI_COMM_WORLD, send, receive, {{"lnw_strategy", strategy}, {"lnw_machine", "node:* rank:2"}});
    std::vector<T> x;
    for (int i = 0; i < 11; ++i) x.push_back(make(100 * rank() + i));
    std::vector<T> expected = x;
    const std::array<T, 4> to_right{x[5], x[3], x[1], x[3]};
    std::array<T, 4> from_left{};
    MPI_Sendrecv(to_right.data(), static_cast<int>(sizeof to_right), MPI_BYTE, right, 0, from_left.data(),
                 static_cast<int>(sizeof from_left), MPI_BYTE, left, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x[0], sizeof(T), MPI_BYTE, left, 1, &expected[10], sizeof(T), MPI_BYTE, right, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    expected[6] = from_left[0];
    expected[8] = from_left[1];
    expected[7] = from_left[2];
    expected[9] = from_left[3];
    for (int turn = 0; turn < 2; ++turn) halo.exchange(x);
    if constexpr (std::is_arithmetic_v<T>) {
      EXPECT_EQ(x, expected) << strategy;
    } else {
      EXPECT_EQ(std::memcmp(x.data(), expected.data(), x.size() * sizeof(T)), 0) << strategy << ", " << sizeof(T);
    }
  }
}

TEST_F(ApiTest, HaloOfAnyTriviallyCopyableType) {
  expect_halo_of<long long>([](int i) { return (1LL << 40) + i; });
  expect_halo_of<unsigned long>([](int i) { return 3UL * static_cast<unsigned long>(i); });
  expect_halo_of<char>([](int i) { return static_cast<char>(i); });
  expect_halo_of<float>([](int i) { return 0.5F * static_cast<float>(i); });
  expect_halo_of<std::complex<double>>([](int i) { return std::complex<double>(i, -i); });
  expect_halo_of<std::complex<float>>([](int i) { return std::complex<float>(static_cast<float>(i), 1); });
  expect_halo_of<State>([](int i) { return i % 2 == 0 ? State::cold : State::warm; });
  expect_halo_of<Colour>([](int i) {
    const auto byte = static_cast<unsigned char>(i);
    return Colour{byte, 1, 2};
  });
  expect_halo_of<Wide>([](int i) { return Wide{{static_cast<float>(i), 1, 2, 3}}; });
  expect_halo_of<Particle>([](int i) {
    Particle particle;
    std::memset(static_cast<void*>(&particle), 0, sizeof particle);  // padding travels, too
    particle.id = i;
    particle.mass = 0.25 * i;
    particle.kind = 'k';
    return particle;
  });
  expect_halo_of<long double>([](int i) { return 0.125L * i; });
  const Datatype<Particle> type;
  int bytes = 0;
  MPI_Type_size(type.get(), &bytes);
  EXPECT_EQ(bytes, static_cast<int>(sizeof(Particle)));
  EXPECT_EQ(datatype<long long>(), MPI_INT64_T);
  EXPECT_EQ(datatype<Particle>(), MPI_DATATYPE_NULL);
}

/// What `make` throws on every rank, where the last one gives it something wrong.
template <class Make>
void expect_refusal(const std::string& text, Make&& make) {
  const std::string wanted = " on rank " + std::to_string(size() - 1) + ": " + text;
  try {
    make(rank() == size() - 1);
    ADD_FAILURE() << "nothing is thrown: " << text;
  } catch (const std::invalid_argument& error) {
    EXPECT_NE(std::string(error.what()).find(wanted), std::string::npos) << error.what() << "\nfor " << text;
  }
}

TEST_F(ApiTest, SidesThatContradictThemselvesAreRefusedOnAllRanks) {
  const int left = (rank() + size() - 1) % size(), right = (rank() + 1) % size();
  const HaloSide good_send{{right}, {2}, {0, 1}}, good_receive{{left}, {2}, {2, 3}};
  const auto expect = [&](const HaloSide& bad, const std::string& text) {
    expect_refusal("send" + text,
                   [&](bool wrong) { Halo<double>(MPI_COMM_WORLD, wrong ? bad : good_send, good_receive); });
    expect_refusal("receive" + text,
                   [&](bool wrong) { Halo<double>(MPI_COMM_WORLD, good_send, wrong ? bad : good_receive, 4); });
  };
  expect({{right}, {3}, {0, 1}}, ".counts add up to 3, but there are 2 indices");
  expect({{right}, {1}, {0, 1}}, ".counts add up to 1, but there are 2 indices");
  expect({{right, left}, {2}, {0, 1}}, " has 1 counts for 2 ranks");
  expect({{right}, {1, 1}, {0, 1}}, " has 2 counts for 1 ranks");
  expect({{right, left}, {3, -1}, {0, 1}}, ".counts[1] is -1");
  expect({{size()}, {2}, {0, 1}}, ".ranks[0] is " + std::to_string(size()) + " in a communicator of ");
  expect({{-1}, {2}, {0, 1}}, ".ranks[0] is -1 in a communicator of ");
  expect({{right}, {2}, {0, -7}}, ".indices[1] is -7");
  // The communicator is as before.
  Halo<double> halo(MPI_COMM_WORLD, good_send, good_receive);
  std::vector<double> x{rank() + 0.25, rank() + 0.5, -1, -1};
  halo.exchange(x);
  EXPECT_EQ(x[3], left + 0.5);
}

TEST_F(ApiTest, BlocksThatContradictThemselvesAreRefusedOnAllRanks) {
  const Shape shape = ring_shape(rank(), size());
  const Graph graph(MPI_COMM_WORLD, shape.sources, shape.destinations);
  const std::vector<double> send{rank() + 0.5, rank() + 0.75};
  std::vector<double> receive(2);
  const std::vector<int> counts{1, 1}, displacements{0, 1}, one{1}, negative{1, -2}, large{1, 2};
  const Blocks good{counts, displacements};
  const auto expect = [&](const Blocks& bad, const std::string& text) {
    expect_refusal("send_blocks" + text, [&](bool wrong) {
      (void)neighbor_alltoallv_init<double>(graph.get(), send, wrong ? bad : good, receive, good);
    });
    expect_refusal("receive_blocks" + text, [&](bool wrong) {
      (void)neighbor_alltoallv_init<double>(graph.get(), send, good, receive, wrong ? bad : good);
    });
  };
  expect({one, displacements}, " has 1 counts and 2 displacements for 2 neighbors");
  expect({counts, one}, " has 2 counts and 1 displacements for 2 neighbors");
  expect({negative, displacements}, ".counts[1] is -2");
  expect({counts, negative}, ".displacements[1] is -2");
  expect({large, displacements}, ".displacements[1] is 1 and its count 2 in an array of 2 elements");
  expect_refusal("receive has 2 elements for 2 blocks of the 2 of send", [&](bool wrong) {
    const std::span<const double> all = send;
    (void)neighbor_allgather_init<double>(graph.get(), wrong ? all : all.first(1), receive);
  });
  Persistent exchange = neighbor_alltoallv_init<double>(graph.get(), send, good, receive, good);
  exchange.run();
  EXPECT_EQ(receive[0], shape.sources[0] + 0.5);
}

TEST_F(ApiTest, TopologyObject) {
  const Shape shape = ring_shape(rank(), size());
  Topology first(MPI_COMM_WORLD, shape.sources, shape.destinations);
  const Topology topology = std::move(first);
  EXPECT_EQ(first.get(), LNW_TOPOLOGY_NULL);
  const int send = rank();
  std::array<int, 2> receive{};
  EXPECT_MPI(LNW_Neighbor_allgather_topology(&send, 1, MPI_INT, receive.data(), 1, MPI_INT, topology.get()));
  EXPECT_EQ(receive, (std::array<int, 2>{shape.sources[0], shape.sources[1]}));
}

}  // namespace
}  // namespace laneway::test
