// Reductions over neighbors against messages and MPI_Reduce_local.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "device_memory.hpp"
#include "plan/plan.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

struct Edge {
  int source = 0;
  int destination = 0;
  int count = 0;
};

/// Edges of all ranks, the same on each: some twice, some to the rank itself, some of no elements.
std::vector<Edge> random_edges(std::uint64_t seed, bool equal) {
  Random random(static_cast<Random::result_type>(mix({seed, 7})));
  const int same = pick(random, 0, 5);
  std::vector<Edge> edges;
  for (int n = pick(random, 0, 4 * size()); n > 0; --n) {
    const Edge edge{pick(random, 0, size() - 1), pick(random, 0, size() - 1),
                    equal                     ? same
                    : pick(random, 0, 9) == 0 ? 3000
                                              : pick(random, 0, 6)};
    for (int times = pick(random, 0, 4) == 0 ? 2 : 1; times > 0; --times) edges.push_back(edge);
  }
  return edges;
}

/// How elements are made, and compared.
struct Kind {
  const char* name;
  MPI_Datatype type;
  MPI_Op op;
  std::size_t bytes;
  void (*fill)(Random&, std::byte*);
};

template <class T>
void fill_number(Random& random, std::byte* element) {
  const T value = static_cast<T>(pick(random, 1, 3));
  std::memcpy(element, &value, sizeof value);
}

template <class T>
struct Pair {
  T value;
  int index;
};
template <class T>
void fill_pair(Random& random, std::byte* element) {
  Pair<T> pair;
  std::memset(&pair, 0, sizeof pair);
  pair.value = static_cast<T>(pick(random, 1, 9));
  pair.index = pick(random, 0, 99);
  std::memcpy(element, &pair, sizeof pair);
}

/// Composes maps x -> a x + b modulo 251: the order matters.
struct Affine {
  int a;
  int b;
};
void compose(void* in, void* inout, int* n, MPI_Datatype*) {
  const auto* const left = static_cast<const Affine*>(in);
  auto* const right = static_cast<Affine*>(inout);
  for (int i = 0; i < *n; ++i) right[i] = {left[i].a * right[i].a % 251, (left[i].a * right[i].b + left[i].b) % 251};
}
void fill_affine(Random& random, std::byte* element) {
  const Affine map{pick(random, 1, 250), pick(random, 0, 250)};
  std::memcpy(element, &map, sizeof map);
}

/// One rank's arguments of a v-operation, and what they mean.
class Case {
 public:
  /// `info`: hints for the operations of the communicator.
  Case(std::uint64_t seed, const Kind& kind, bool equal, MPI_Info info = MPI_INFO_NULL)
      : kind_(kind), edges_(random_edges(seed, equal)), random_(seed_of(seed)) {
    for (const Edge& edge : edges_) {
      if (edge.source == rank()) add(edge, edge.destination, destinations_, sendcounts_, sdispls_, send_extent_, equal);
      if (edge.destination == rank()) add(edge, edge.source, sources_, recvcounts_, rdispls_, receive_extent_, equal);
    }
    if (!equal)
      for (int& displacement : rdispls_) displacement = pick(random_, 0, 9);  // places come again
    comm_ = make_graph(MPI_COMM_WORLD, {sources_, destinations_}, info);
    send_.resize(static_cast<std::size_t>(send_extent_ + 1) * kind.bytes);
    receive_.resize(static_cast<std::size_t>(std::max(receive_extent_, 3020) + 1) * kind.bytes);
    fill(send_);
    sent_ = send_.data();
    fill(receive_);
    expect();
  }

  [[nodiscard]] MPI_Comm comm() const { return comm_.get(); }
  [[nodiscard]] const std::vector<std::byte>& sent() const { return send_; }
  /// Where a copy of it is.
  void send_from(const void* sent) { sent_ = sent; }
  [[nodiscard]] const std::vector<std::byte>& before() const { return receive_; }
  [[nodiscard]] const std::vector<std::byte>& expected() const { return expected_; }
  [[nodiscard]] int equal_count() const { return edges_.empty() ? 0 : edges_.front().count; }

  int blocking(std::byte* receive) const {
    return LNW_Neighbor_reducev(sent_, some(sendcounts_), some(sdispls_), kind_.type, receive, some(recvcounts_),
                                some(rdispls_), kind_.type, kind_.op, comm());
  }
  int blocking_equal(std::byte* receive) const {
    return LNW_Neighbor_reduce(sent_, equal_count(), kind_.type, receive, equal_count(), kind_.type, kind_.op, comm());
  }
  int nonblocking_equal(std::byte* receive, LNW_Request* request) const {
    return LNW_Ineighbor_reduce(sent_, equal_count(), kind_.type, receive, equal_count(), kind_.type, kind_.op, comm(),
                                request);
  }
  int nonblocking(std::byte* receive, LNW_Request* request) const {
    return LNW_Ineighbor_reducev(sent_, some(sendcounts_), some(sdispls_), kind_.type, receive, some(recvcounts_),
                                 some(rdispls_), kind_.type, kind_.op, comm(), request);
  }
  int persistent(std::byte* receive, MPI_Info info, LNW_Request* request) const {
    return LNW_Neighbor_reducev_init(sent_, some(sendcounts_), some(sdispls_), kind_.type, receive, some(recvcounts_),
                                     some(rdispls_), kind_.type, kind_.op, comm(), info, request);
  }
  int persistent_indexed(std::byte* receive, MPI_Info info, LNW_Request* request) const {
    const auto indices = [](const std::vector<int>& counts, const std::vector<int>& displacements) {
      std::vector<MPI_Count> all = {};
      for (std::size_t i = 0; i < counts.size(); ++i)
        for (int j = 0; j < counts[i]; ++j) all.push_back(displacements[i] + j);
      all.push_back(0);
      return all;
    };
    const std::vector<MPI_Count> sent = indices(sendcounts_, sdispls_);
    const std::vector<MPI_Count> received = indices(recvcounts_, rdispls_);
    const auto elements = [&](const std::vector<std::byte>& buffer) {
      return static_cast<MPI_Count>(buffer.size() / kind_.bytes);
    };
    return LNW_Neighbor_reducev_init_indexed(sent_, elements(send_), some(sendcounts_), sent.data(), kind_.type,
                                             receive, elements(receive_), some(recvcounts_), received.data(),
                                             kind_.type, kind_.op, comm(), info, request);
  }

 private:
  static Random::result_type seed_of(std::uint64_t seed) {
    return static_cast<Random::result_type>(mix({seed, static_cast<std::uint64_t>(rank())}));
  }
  static const int* some(const std::vector<int>& list) {
    static const int none = 0;
    return list.empty() ? &none : list.data();
  }

  void add(const Edge& edge, int peer, std::vector<int>& peers, std::vector<int>& counts, std::vector<int>& displs,
           int& extent, bool equal) {
    peers.push_back(peer);
    counts.push_back(edge.count);
    displs.push_back(extent);
    extent += edge.count + (equal ? 0 : pick(random_, 0, 2));
  }

  void fill(std::vector<std::byte>& buffer) {
    for (std::size_t i = 0; i + kind_.bytes <= buffer.size(); i += kind_.bytes) kind_.fill(random_, buffer.data() + i);
  }

  /// A message for each edge, and MPI_Reduce_local by rank and edge.
  void expect() {
    std::vector<MPI_Request> requests;
    std::map<int, int> sent;
    for (std::size_t i = 0; i < destinations_.size(); ++i)
      MPI_Isend(send_.data() + static_cast<std::size_t>(sdispls_[i]) * kind_.bytes,
                sendcounts_[i] * static_cast<int>(kind_.bytes), MPI_BYTE, destinations_[i], sent[destinations_[i]]++,
                comm(), &requests.emplace_back());
    std::map<int, int> received;
    std::vector<std::vector<std::byte>> arrived;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      arrived.emplace_back(static_cast<std::size_t>(recvcounts_[i]) * kind_.bytes + 1);
      MPI_Irecv(arrived.back().data(), recvcounts_[i] * static_cast<int>(kind_.bytes), MPI_BYTE, sources_[i],
                received[sources_[i]]++, comm(), &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    expected_ = receive_;
    std::vector<std::size_t> order(sources_.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return sources_[a] < sources_[b]; });
    for (const std::size_t i : order) {
      std::byte* const place = expected_.data() + static_cast<std::size_t>(rdispls_[i]) * kind_.bytes;
      MPI_Reduce_local(place, arrived[i].data(), recvcounts_[i], kind_.type, kind_.op);
      std::memcpy(place, arrived[i].data(), static_cast<std::size_t>(recvcounts_[i]) * kind_.bytes);
    }
  }

  Kind kind_;
  std::vector<Edge> edges_;
  Random random_;
  std::vector<int> sources_, destinations_, sendcounts_, recvcounts_, sdispls_, rdispls_;
  int send_extent_ = 0;
  int receive_extent_ = 0;
  Comm comm_;
  std::vector<std::byte> send_, receive_, expected_;
  const void* sent_ = nullptr;
};

std::string strategy_of(LNW_Request request) {
  const char* name = nullptr;
  EXPECT_EQ(LNW_Request_get_strategy(request, &name), MPI_SUCCESS);
  return name;
}

class ReduceTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    MPI_Op_create(compose, 0, &affine_);
    MPI_Type_contiguous(2, MPI_INT, &two_ints_);
    MPI_Type_commit(&two_ints_);
  }
  void TearDown() override {
    MPI_Op_free(&affine_);
    MPI_Type_free(&two_ints_);
    MpiTest::TearDown();
  }

  [[nodiscard]] std::vector<Kind> kinds() const {
    return {{"int sum", MPI_INT, MPI_SUM, sizeof(int), fill_number<int>},
            {"double sum", MPI_DOUBLE, MPI_SUM, sizeof(double), fill_number<double>},
            {"float max", MPI_FLOAT, MPI_MAX, sizeof(float), fill_number<float>},
            {"int64 prod", MPI_INT64_T, MPI_PROD, sizeof(std::int64_t), fill_number<std::int64_t>},
            {"uint8 bxor", MPI_UINT8_T, MPI_BXOR, 1, fill_number<std::uint8_t>},
            {"short land", MPI_SHORT, MPI_LAND, sizeof(short), fill_number<short>},
            {"double minloc", MPI_DOUBLE_INT, MPI_MINLOC, sizeof(Pair<double>), fill_pair<double>},
            {"short maxloc", MPI_SHORT_INT, MPI_MAXLOC, sizeof(Pair<short>), fill_pair<short>},
            {"affine", two_ints_, affine_, sizeof(Affine), fill_affine}};
  }

  MPI_Op affine_ = MPI_OP_NULL;
  MPI_Datatype two_ints_ = MPI_DATATYPE_NULL;
};

TEST_F(ReduceTest, BlockingAndNonblockingAgreeWithMessages) {
  for (const Kind& kind : kinds())
    for (int seed = 0; seed < effort(6); ++seed) {
      SCOPED_TRACE(std::string(kind.name) + ", seed " + std::to_string(seed));
      const Case c(static_cast<std::uint64_t>(seed), kind, false);
      std::vector<std::byte> received = c.before();
      ASSERT_EQ(c.blocking(received.data()), MPI_SUCCESS);
      ASSERT_EQ(received, c.expected());
      received = c.before();
      LNW_Request request = LNW_REQUEST_NULL;
      ASSERT_EQ(c.nonblocking(received.data(), &request), MPI_SUCCESS);
      ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(received, c.expected());
      const Case equal(static_cast<std::uint64_t>(seed), kind, true);
      received = equal.before();
      ASSERT_EQ(equal.blocking_equal(received.data()), MPI_SUCCESS);
      ASSERT_EQ(received, equal.expected());
    }
}

TEST_F(ReduceTest, EveryStrategyAgreesWithMessages) {
  const std::array strategies = {"auto",
                                 "direct",
                                 "three_step",
                                 "two_step",
                                 "split",
                                 "spread",
                                 "grouped",
                                 "leader_scatter",
                                 "cartesian_combining",
                                 "load_aware",
                                 "common_neighborhood"};
  const std::string grid = "1x" + std::to_string(size());
  int at = 0;
  for (const Kind& kind : kinds())
    for (int seed = 0; seed < effort(4); ++seed) {
      const char* const strategy = strategies[static_cast<std::size_t>(at++) % strategies.size()];
      SCOPED_TRACE(std::string(kind.name) + ", seed " + std::to_string(seed) + ", " + strategy);
      const Case c(static_cast<std::uint64_t>(seed), kind, false);
      MPI_Info info = MPI_INFO_NULL;
      MPI_Info_create(&info);
      MPI_Info_set(info, "lnw_strategy", strategy);
      MPI_Info_set(info, "lnw_machine", "node:* rank:2");
      MPI_Info_set(info, "lnw_grid", grid.c_str());
      MPI_Info_set(info, "lnw_progress", "wait");
      MPI_Info_set(info, "lnw_check", "plan");
      for (const bool indexed : {false, true}) {
        std::vector<std::byte> received = c.before();
        LNW_Request request = LNW_REQUEST_NULL;
        ASSERT_EQ(indexed ? c.persistent_indexed(received.data(), info, &request)
                          : c.persistent(received.data(), info, &request),
                  MPI_SUCCESS);
        if (std::string(strategy) != "auto") {
          EXPECT_EQ(strategy_of(request), strategy);
        }
        for (int iteration = 0; iteration < 2; ++iteration) {
          std::copy(c.before().begin(), c.before().end(), received.begin());
          ASSERT_EQ(LNW_Start(&request), MPI_SUCCESS);
          ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
          ASSERT_EQ(received, c.expected());
        }
        ASSERT_EQ(LNW_Request_free(&request), MPI_SUCCESS);
      }
      MPI_Info_free(&info);
    }
}

/// Values of which each order of summing gives other bits.
void fill_real(Random& random, std::byte* element) {
  const double value = std::ldexp(pick(random, 1, 1 << 20), pick(random, -60, 60));
  std::memcpy(element, &value, sizeof value);
}

TEST_F(ReduceTest, CanonicalOrderIsThatOfRanksBitForBit) {
  const Kind kind{"reals", MPI_DOUBLE, MPI_SUM, sizeof(double), fill_real};
  for (int seed = 0; seed < effort(8); ++seed) {
    const Case c(static_cast<std::uint64_t>(seed), kind, false);
    std::vector<std::byte> received;
    for (const char* const strategy : {"direct", "two_step", "three_step", "multi_path", "auto"}) {
      SCOPED_TRACE(strategy);
      const Info info(Hints{{"lnw_strategy", strategy},
                            {"lnw_machine", "node:* rank:2"},
                            {"lnw_progress", "wait"},
                            {"lnw_order", "canonical"},
                            {"lnw_check", "plan"}});
      received = c.before();
      LNW_Request request = LNW_REQUEST_NULL;
      ASSERT_EQ(c.persistent(received.data(), info.get(), &request), MPI_SUCCESS);
      if (std::string(strategy) != "auto") {
        EXPECT_EQ(strategy_of(request), strategy);
      }
      ASSERT_EQ(LNW_Start(&request), MPI_SUCCESS);
      ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      ASSERT_EQ(received, c.expected());
      ASSERT_EQ(LNW_Request_free(&request), MPI_SUCCESS);
    }
    received = c.before();
    ASSERT_EQ(c.blocking(received.data()), MPI_SUCCESS);
    ASSERT_EQ(received, c.expected());
  }
}

/// Where ranks can share memory, no message stays inside a node.
TEST_F(ReduceTest, NoMessageStaysInsideANode) {
  const Kind kind = kinds().front();
  for (const char* const order : {"fixed", "canonical"})
    for (const bool by_two : {false, true}) {
      SCOPED_TRACE(std::string(order) + (by_two ? ", nodes of two" : ""));
      const Case c(5, kind, false);
      Hints hints{{"lnw_strategy", "three_step"},
                  {"lnw_transport", "node"},
                  {"lnw_progress", "wait"},
                  {"lnw_order", order},
                  {"lnw_check", "plan"}};
      if (by_two) hints.emplace_back("lnw_machine", "node:* rank:2");
      const Info info(hints);
      std::vector<std::byte> received = c.before();
      LNW_Request request = LNW_REQUEST_NULL;
      ASSERT_EQ(c.persistent(received.data(), info.get(), &request), MPI_SUCCESS);
      const Plan plan = plan_from_json(plan_text(request));
      int inside = 0;
      for (const Step& step : plan.steps)
        inside += step.kind == StepKind::send && (!by_two || step.peer / 2 == rank() / 2);
      EXPECT_EQ(inside, 0) << plan_text(request);
      for (int iteration = 0; iteration < 5; ++iteration) {
        std::copy(c.before().begin(), c.before().end(), received.begin());
        ASSERT_EQ(LNW_Start(&request), MPI_SUCCESS);
        ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        ASSERT_EQ(received, c.expected());
      }
      ASSERT_EQ(LNW_Request_free(&request), MPI_SUCCESS);
    }
}

/// Blocks of one size by the routes of the communicator, others under the promise of fixed counts.
TEST_F(ReduceTest, BlockingAndNonblockingOnesRelay) {
  for (const char* const fixed : {"false", "true"}) {
    const Info info(Hints{{"lnw_strategy", "three_step"},
                          {"lnw_machine", "node:* rank:2"},
                          {"lnw_progress", "wait"},
                          {"lnw_fixed_counts", fixed}});
    const bool equal = std::string(fixed) == "false";
    for (const Kind& kind : kinds())
      for (int seed = 0; seed < effort(3); ++seed) {
        SCOPED_TRACE(std::string(kind.name) + ", seed " + std::to_string(seed) + ", fixed counts: " + fixed);
        const Case c(static_cast<std::uint64_t>(seed), kind, equal, info.get());
        for (int iteration = 0; iteration < 3; ++iteration) {
          std::vector<std::byte> received = c.before();
          ASSERT_EQ(equal ? c.blocking_equal(received.data()) : c.blocking(received.data()), MPI_SUCCESS);
          ASSERT_EQ(received, c.expected());
          received = c.before();
          LNW_Request request = LNW_REQUEST_NULL;
          ASSERT_EQ(equal ? c.nonblocking_equal(received.data(), &request) : c.nonblocking(received.data(), &request),
                    MPI_SUCCESS);
          const bool has_gaps = kind.op == MPI_MINLOC || kind.op == MPI_MAXLOC;
          const bool relays = equal ? c.equal_count() > 0 && !has_gaps : kind.op != affine_;
          if (relays) {
            EXPECT_EQ(strategy_of(request), "three_step");
          }
          ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
          ASSERT_EQ(received, c.expected());
        }
      }
  }
}

void keep_first(void* in, void* inout, int* n, MPI_Datatype*) {
  std::memcpy(inout, in, static_cast<std::size_t>(*n) * sizeof(int));
}

/// A plan that is kept is not that of an operator whose handle it has, nor that of another one.
TEST_F(ReduceTest, KeptPlansKnowTheirOperators) {
  const int left = (rank() + size() - 1) % size();
  const int right = (rank() + 1) % size();
  const Comm graph = make_graph(MPI_COMM_WORLD, {{left}, {right}});
  const int sent = rank() + 2;
  const auto reduce = [&](MPI_Op op, MPI_Datatype type) {
    int received = 1000;
    EXPECT_EQ(LNW_Neighbor_reduce(&sent, 1, type, &received, 1, type, op, graph.get()), MPI_SUCCESS);
    return received;
  };
  for (int iteration = 0; iteration < 3; ++iteration) {
    EXPECT_EQ(reduce(MPI_SUM, MPI_INT), 1000 + left + 2);
    EXPECT_EQ(reduce(MPI_MAX, MPI_INT), 1000);
    EXPECT_EQ(reduce(MPI_MIN, MPI_INT), left + 2);
    for (const int commutes : {0, 1}) {
      MPI_Op op = MPI_OP_NULL;
      MPI_Op_create(keep_first, commutes, &op);
      // In order, what is there comes first; else the operands may be exchanged.
      EXPECT_EQ(reduce(op, MPI_INT), commutes ? left + 2 : 1000);
      MPI_Op_free(&op);
    }
  }
}

/// Under lnw_check, what differs between ranks is named on all of them.
TEST_F(ReduceTest, OperatorsAndTypesThatDifferAreNamed) {
  if (size() < 2) {
    std::puts("SKIP: one rank agrees with itself");
    return;
  }
  const int last = size() - 1;
  const int other = (rank() + 1) % size();
  const Comm graph = make_graph(MPI_COMM_WORLD, {{(rank() + size() - 1) % size()}, {other}});
  const Handler handler(graph.get(), MPI_ERRORS_RETURN);
  const Info info(Hints{{"lnw_check", "true"}});
  const int one = 1;
  const int none = 0;
  const MPI_Aint first = 0;
  std::array<int, 2> buffer{};
  LNW_Request request = LNW_REQUEST_NULL;
  int code = LNW_Neighbor_reducev_init(buffer.data(), &one, &none, MPI_INT, &buffer[1], &one, &none, MPI_INT,
                                       rank() == last ? MPI_MAX : MPI_SUM, graph.get(), info.get(), &request);
  expect_error_class(code, MPI_ERR_OP);
  EXPECT_NE(error_text(code).find("op is MPI_SUM on rank 0, but MPI_MAX on rank " + std::to_string(last)),
            std::string::npos)
      << error_text(code);
  const MPI_Datatype type = rank() == last ? MPI_FLOAT : MPI_INT;
  code = LNW_Neighbor_reducew_init(buffer.data(), &one, &first, &type, &buffer[1], &one, &first, &type, MPI_SUM,
                                   graph.get(), info.get(), &request);
  expect_error_class(code, MPI_ERR_TYPE);
  EXPECT_NE(
      error_text(code).find("datatypes are made of MPI_INT on rank 0, but MPI_FLOAT on rank " + std::to_string(last)),
      std::string::npos)
      << error_text(code);
  MPI_Op user = MPI_OP_NULL;
  MPI_Op_create(keep_first, rank() == last ? 0 : 1, &user);
  code = LNW_Neighbor_reducev_init(buffer.data(), &one, &none, MPI_INT, &buffer[1], &one, &none, MPI_INT, user,
                                   graph.get(), info.get(), &request);
  MPI_Op_free(&user);
  expect_error_class(code, MPI_ERR_OP);
  EXPECT_NE(error_text(code).find("that does not commute on rank " + std::to_string(last)), std::string::npos)
      << error_text(code);
}

bool has_kernel(const Kind& kind) {
  const std::array ops = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_LAND, MPI_BXOR};
  return std::ranges::find(ops, kind.op) != ops.end();
}

/// Send and receive buffers in memory of any kind: by kernels where there are some, else by the host.
TEST_F(ReduceTest, OnDevices) {
  if (!uses_devices()) {
    std::puts("SKIP: needs LANEWAY_TEST_MEMORY=mixed and a device plugin");
    return;
  }
  const auto bytes_of = [](const std::vector<std::byte>& all) {
    const auto* const begin = reinterpret_cast<const unsigned char*>(all.data());
    return std::vector<unsigned char>(begin, begin + all.size());
  };
  std::vector<Kind> all = kinds();
  all.push_back({"uint64 min", MPI_UINT64_T, MPI_MIN, sizeof(std::uint64_t), fill_number<std::uint64_t>});
  all.push_back({"uint32 max", MPI_UINT32_T, MPI_MAX, sizeof(std::uint32_t), fill_number<std::uint32_t>});
  all.push_back({"float prod", MPI_FLOAT, MPI_PROD, sizeof(float), fill_number<float>});
  for (const Kind& kind : all)
    for (int seed = 0; seed < effort(2); ++seed) {
      SCOPED_TRACE(std::string(kind.name) + ", seed " + std::to_string(seed));
      Case c(static_cast<std::uint64_t>(seed), kind, false);
      const auto number = static_cast<std::uint64_t>(seed + rank());
      const Mirror sent(Mirror::kind_of(mix({number, 1})), c.sent().size());
      const Mirror::Kind where = Mirror::kind_of(mix({number, 2}));
      const Mirror received(where, c.before().size());
      if (sent) {
        sent.write(bytes_of(c.sent()));
        c.send_from(sent.data());
      }
      std::vector<std::byte> host = c.before();
      std::byte* const buffer = received ? reinterpret_cast<std::byte*>(received.data()) : host.data();
      const auto prepare = [&] {
        host = c.before();
        if (received) received.write(bytes_of(c.before()));
      };
      const auto check = [&] {
        std::vector<unsigned char> result = bytes_of(host);
        if (received) received.read(result);
        ASSERT_EQ(result, bytes_of(c.expected()));
      };
      prepare();
      ASSERT_EQ(c.blocking(buffer), MPI_SUCCESS);
      check();
      prepare();
      LNW_Request request = LNW_REQUEST_NULL;
      ASSERT_EQ(c.nonblocking(buffer, &request), MPI_SUCCESS);
      ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
      check();
      const Info info(Hints{{"lnw_strategy", seed % 2 == 0 ? "three_step" : "direct"},
                            {"lnw_machine", "node:* rank:2"},
                            {"lnw_progress", "wait"},
                            {"lnw_check", "plan"}});
      ASSERT_EQ(c.persistent(buffer, info.get(), &request), MPI_SUCCESS);
      const Plan plan = plan_from_json(plan_text(request));
      const auto into_buffer = [](const Step& step) { return combines(step) && step.to == Buffer::receive; };
      const bool combines_any = std::ranges::any_of(plan.steps, [](const Step& step) { return combines(step); });
      if (where == Mirror::Kind::device && combines_any) {
        EXPECT_EQ(std::ranges::any_of(plan.steps, into_buffer), has_kernel(kind)) << plan_text(request);
      }
      for (int iteration = 0; iteration < 3; ++iteration) {
        prepare();
        ASSERT_EQ(LNW_Start(&request), MPI_SUCCESS);
        ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
        check();
      }
      ASSERT_EQ(LNW_Request_free(&request), MPI_SUCCESS);
    }
}

/// Every second element, on the receive side only; a ring.
TEST_F(ReduceTest, DerivedTypesOfOnePredefinedType) {
  const int left = (rank() + size() - 1) % size();
  const int right = (rank() + 1) % size();
  MPI_Comm graph = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &graph);
  const Comm comm(graph);
  MPI_Datatype every_second = MPI_DATATYPE_NULL;
  MPI_Type_vector(3, 1, 2, MPI_DOUBLE, &every_second);
  MPI_Type_commit(&every_second);
  const std::array<double, 3> sent = {rank() + 1.0, rank() + 2.0, rank() + 3.0};
  std::array<double, 5> received = {10, 20, 30, 40, 50};
  const int three = 3;
  const int one = 1;
  const MPI_Aint none = 0;
  const MPI_Datatype plain = MPI_DOUBLE;
  ASSERT_EQ(LNW_Neighbor_reducew(sent.data(), &three, &none, &plain, received.data(), &one, &none, &every_second,
                                 MPI_SUM, comm.get()),
            MPI_SUCCESS);
  EXPECT_EQ(received, (std::array<double, 5>{10 + left + 1.0, 20, 30 + left + 2.0, 40, 50 + left + 3.0}));
  MPI_Type_free(&every_second);
}

/// Datatypes of neighbours, of which rank 0 has none: what is relayed is not taken together, and rank 0 may relay.
TEST_F(ReduceTest, DatatypesOfNeighborsAreRelayedAndProven) {
  std::vector<int> others;
  for (int peer = 1; rank() > 0 && peer < size(); ++peer) others.push_back(peer);
  const Comm graph = make_graph(MPI_COMM_WORLD, {others, others});
  const auto n = others.size();
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(2, MPI_DOUBLE, &pair);
  MPI_Type_commit(&pair);
  std::vector<int> counts(n + 1, 2), one(n + 1, 1);
  std::vector<MPI_Aint> places(n + 1, 0);
  std::vector<MPI_Datatype> sent_types(n + 1, MPI_DOUBLE), received_types(n + 1, pair);
  const std::array<double, 2> sent = {rank() + 1.0, rank() * 10.0};
  std::array<double, 2> received{};
  const Info info(Hints{{"lnw_strategy", "three_step"},
                        {"lnw_machine", "node:* rank:2"},
                        {"lnw_progress", "wait"},
                        {"lnw_check", "plan"}});
  LNW_Request request = LNW_REQUEST_NULL;
  ASSERT_EQ(LNW_Neighbor_reducew_init(sent.data(), counts.data(), places.data(), sent_types.data(), received.data(),
                                      one.data(), places.data(), received_types.data(), MPI_SUM, graph.get(),
                                      info.get(), &request),
            MPI_SUCCESS);
  EXPECT_EQ(strategy_of(request), "three_step");
  std::array<double, 2> expected{0.5, 0.25};
  for (const int peer : others) {
    expected[0] += peer + 1.0;
    expected[1] += peer * 10.0;
  }
  for (int iteration = 0; iteration < 3; ++iteration) {
    received = {0.5, 0.25};
    ASSERT_EQ(LNW_Start(&request), MPI_SUCCESS);
    ASSERT_EQ(LNW_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    EXPECT_EQ(received, expected);
  }
  ASSERT_EQ(LNW_Request_free(&request), MPI_SUCCESS);
  MPI_Type_free(&pair);
}

TEST_F(ReduceTest, BadOperatorsAreNamed) {
  const Case c(3, kinds().front(), true);
  const Handler handler(c.comm(), MPI_ERRORS_RETURN);
  std::array<int, 8> buffer{};
  const auto expect = [&](MPI_Datatype sent, MPI_Datatype received, MPI_Op op, int wanted, const std::string& part) {
    const int code = LNW_Neighbor_reduce(buffer.data(), 0, sent, buffer.data(), 0, received, op, c.comm());
    expect_error_class(code, wanted);
    EXPECT_NE(error_text(code).find(part), std::string::npos) << error_text(code);
  };
  expect(MPI_INT, MPI_INT, MPI_OP_NULL, MPI_ERR_OP, "op is MPI_OP_NULL");
  expect(MPI_DOUBLE, MPI_DOUBLE, MPI_BAND, MPI_ERR_OP, "op is MPI_BAND, which does not apply to MPI_DOUBLE");
  expect(MPI_INT, MPI_INT, MPI_MINLOC, MPI_ERR_OP, "op is MPI_MINLOC, which does not apply to MPI_INT");
  expect(MPI_INT, MPI_INT, MPI_REPLACE, MPI_ERR_OP, "op is MPI_REPLACE, which reduces nothing");
  expect(MPI_INT, MPI_FLOAT, MPI_SUM, MPI_ERR_TYPE, "recvtype is made of MPI_FLOAT, but sendtype of MPI_INT");
}

}  // namespace
}  // namespace laneway::test
