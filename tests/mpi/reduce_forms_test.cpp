// Every function that reduces over neighbours, and every datatype and operator, against MPI_Reduce_local: what each
// rank sends follows from the two ends of an edge, so that everybody knows what arrives.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "predefined_types.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

struct Element {
  MPI_Datatype type = MPI_INT;
  MPI_Op op = MPI_SUM;
  std::size_t bytes = sizeof(int);
  void (*fill)(Random&, std::byte*) = nullptr;
};

/// One rank's part of a reduction on a communicator: each rank sends to the three after it, unless it is itself. Blocks
/// differ in size, and all that arrives is combined from the same place on; or they are equal, one after another.
class Blocks {
 public:
  Blocks(MPI_Comm comm, const Element& element, bool equal) : element_(element) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    for (int step = 1; step <= 3 && step < size_; ++step) {
      shape.destinations.push_back((rank_ + step) % size_);
      shape.sources.push_back((rank_ + size_ - step) % size_);
    }
    int end = 0;
    for (const int peer : shape.destinations) {
      sendcounts.push_back(equal ? equal_count : count(rank_, peer));
      sdispls.push_back(end);
      end += sendcounts.back() + (equal ? 0 : 1);
      for (int i = 0; i < sendcounts.back(); ++i) sendindices.push_back(sdispls.back() + i);
    }
    send.resize(static_cast<std::size_t>(end + 1) * element_.bytes);
    for (std::size_t i = 0; i < shape.destinations.size(); ++i) {
      const std::vector<std::byte> block = data(rank_, shape.destinations[i], sendcounts[i]);
      std::ranges::copy(block, send.begin() + at(sdispls[i]));
    }
    end = 0;
    for (const int peer : shape.sources) {
      recvcounts.push_back(equal ? equal_count : count(peer, rank_));
      rdispls.push_back(equal ? end : 0);
      end += recvcounts.back();
      for (int i = 0; i < recvcounts.back(); ++i) recvindices.push_back(rdispls.back() + i);
    }
    before = data(rank_, rank_, end + 8);
    expect();
  }

  /// As MPI_Count and MPI_Aint, with displacements in elements.
  template <class To>
  static std::vector<To> as(const std::vector<int>& list, std::size_t scale = 1) {
    std::vector<To> result;
    for (const int value : list) result.push_back(static_cast<To>(value) * static_cast<To>(scale));
    return result;
  }
  [[nodiscard]] MPI_Count elements(const std::vector<std::byte>& buffer) const {
    return static_cast<MPI_Count>(buffer.size() / element_.bytes);
  }

  static constexpr int equal_count = 2;
  Shape shape;
  std::vector<int> sendcounts, sdispls, recvcounts, rdispls;
  std::vector<MPI_Count> sendindices, recvindices;
  std::vector<std::byte> send, before, expected;

 private:
  static int count(int source, int destination) { return (source + 2 * destination) % 4; }
  [[nodiscard]] std::ptrdiff_t at(int element) const { return element * static_cast<std::ptrdiff_t>(element_.bytes); }

  [[nodiscard]] std::vector<std::byte> data(int source, int destination, int elements) const {
    Random random(static_cast<Random::result_type>(
        mix({17, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination)})));
    std::vector<std::byte> block(static_cast<std::size_t>(elements) * element_.bytes);
    for (int i = 0; i < elements; ++i) element_.fill(random, block.data() + at(i));
    return block;
  }

  void expect() {
    expected = before;
    std::vector<std::size_t> order(shape.sources.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::sort(order, {}, [&](std::size_t i) { return shape.sources[i]; });
    for (const std::size_t i : order) {
      std::vector<std::byte> arrived = data(shape.sources[i], rank_, recvcounts[i]);
      arrived.resize(arrived.size() + 1);
      std::byte* const place = expected.data() + at(rdispls[i]);
      MPI_Reduce_local(place, arrived.data(), recvcounts[i], element_.type, element_.op);
      std::memcpy(place, arrived.data(), static_cast<std::size_t>(at(recvcounts[i])));
    }
  }

  Element element_;
  int rank_ = 0;
  int size_ = 0;
};

void fill_int(Random& random, std::byte* element) {
  const int value = pick(random, 1, 99);
  std::memcpy(element, &value, sizeof value);
}
/// Values of which each order of summing gives other bits.
void fill_real(Random& random, std::byte* element) {
  const double value = std::ldexp(pick(random, 1, 1 << 20), pick(random, -40, 40));
  std::memcpy(element, &value, sizeof value);
}
const Element ints{MPI_INT, MPI_SUM, sizeof(int), fill_int};
const Element reals{MPI_DOUBLE, MPI_SUM, sizeof(double), fill_real};

class TopologyObject {
 public:
  TopologyObject(MPI_Comm comm, const Shape& shape) {
    const std::vector<int> sources = padded(shape.sources), destinations = padded(shape.destinations);
    EXPECT_MPI(LNW_Topology_create(comm, static_cast<int>(shape.sources.size()), sources.data(), MPI_UNWEIGHTED,
                                   static_cast<int>(shape.destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, &topology_));
  }
  ~TopologyObject() { LNW_Topology_free(&topology_); }
  TopologyObject(const TopologyObject&) = delete;
  TopologyObject& operator=(const TopologyObject&) = delete;
  [[nodiscard]] LNW_Topology get() const { return topology_; }

 private:
  static std::vector<int> padded(std::vector<int> list) {
    list.push_back(0);
    return list;
  }
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
};

class ReduceFormsTest : public MpiTest {};

/// Arguments of all functions in one width.
template <class Count, class Displacement>
struct Arguments {
  Arguments(const Blocks& b, std::size_t bytes)
      : sendcounts(padded(Blocks::as<Count>(b.sendcounts))),
        recvcounts(padded(Blocks::as<Count>(b.recvcounts))),
        sdispls(padded(Blocks::as<Displacement>(b.sdispls))),
        rdispls(padded(Blocks::as<Displacement>(b.rdispls))),
        sbytes(padded(Blocks::as<MPI_Aint>(b.sdispls, bytes))),
        rbytes(padded(Blocks::as<MPI_Aint>(b.rdispls, bytes))) {}
  template <class T>
  static std::vector<T> padded(std::vector<T> list) {
    list.push_back(0);
    return list;
  }
  std::vector<Count> sendcounts, recvcounts;
  std::vector<Displacement> sdispls, rdispls;
  std::vector<MPI_Aint> sbytes, rbytes;
};

/// The twelve functions of a name in one width.
#define FORMS(BASE, C, ...)                                                                                     \
  call("LNW_Neighbor_" #BASE #C, Way::now,                                                                      \
       [&](LNW_Request*) { return LNW_Neighbor_##BASE##C(__VA_ARGS__, op, graph.get()); });                     \
  call("LNW_Neighbor_" #BASE "_topology" #C, Way::now,                                                          \
       [&](LNW_Request*) { return LNW_Neighbor_##BASE##_topology##C(__VA_ARGS__, op, topology.get()); });       \
  call("LNW_Ineighbor_" #BASE #C, Way::later,                                                                   \
       [&](LNW_Request* r) { return LNW_Ineighbor_##BASE##C(__VA_ARGS__, op, graph.get(), r); });               \
  call("LNW_Ineighbor_" #BASE "_topology" #C, Way::later,                                                       \
       [&](LNW_Request* r) { return LNW_Ineighbor_##BASE##_topology##C(__VA_ARGS__, op, topology.get(), r); }); \
  INIT_FORMS(BASE##_init, C, __VA_ARGS__)
#define INIT_FORMS(BASE, C, ...)                                                                       \
  call("LNW_Neighbor_" #BASE #C, Way::persistent,                                                      \
       [&](LNW_Request* r) { return LNW_Neighbor_##BASE##C(__VA_ARGS__, op, graph.get(), info, r); }); \
  call("LNW_Neighbor_" #BASE "_topology" #C, Way::persistent,                                          \
       [&](LNW_Request* r) { return LNW_Neighbor_##BASE##_topology##C(__VA_ARGS__, op, topology.get(), info, r); });

TEST_F(ReduceFormsTest, EveryFunctionAgreesWithTheOracle) {
  enum class Way { now, later, persistent };
  const MPI_Op op = MPI_SUM;
  const MPI_Datatype type = MPI_INT;
  const MPI_Info info = MPI_INFO_NULL;
  std::set<std::string> called;
  for (const bool equal : {false, true}) {
    const Blocks b(MPI_COMM_WORLD, ints, equal);
    const Comm graph = make_graph(MPI_COMM_WORLD, b.shape);
    const TopologyObject topology(MPI_COMM_WORLD, b.shape);
    std::vector<std::byte> received;
    const auto call = [&](const char* name, Way way, const std::function<int(LNW_Request*)>& function) {
      SCOPED_TRACE(name);
      called.insert(name);
      LNW_Request request = LNW_REQUEST_NULL;
      received = b.before;
      EXPECT_MPI(function(&request));
      if (way == Way::later) EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      for (int turn = 0; way == Way::persistent && turn < 2; ++turn) {
        std::ranges::copy(b.before, received.begin());
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      }
      if (way == Way::persistent) EXPECT_MPI(LNW_Request_free(&request));
      EXPECT_EQ(received, b.expected);
    };
    received = b.before;
    const void* const from = b.send.data();
    void* const to = received.data();  // whose memory stays: what is assigned to it has the same size
    const std::vector<MPI_Datatype> types(b.shape.sources.size() + 1, type);
    const Arguments<int, int> small(b, sizeof(int));
    const Arguments<MPI_Count, MPI_Aint> large(b, sizeof(int));
    if (equal) {
      FORMS(reduce, , from, Blocks::equal_count, type, to, Blocks::equal_count, type)
      FORMS(reduce, _c, from, Blocks::equal_count, type, to, Blocks::equal_count, type)
      continue;
    }
    FORMS(reducev, , from, small.sendcounts.data(), small.sdispls.data(), type, to, small.recvcounts.data(),
          small.rdispls.data(), type)
    FORMS(reducev, _c, from, large.sendcounts.data(), large.sdispls.data(), type, to, large.recvcounts.data(),
          large.rdispls.data(), type)
    FORMS(reducew, , from, small.sendcounts.data(), small.sbytes.data(), types.data(), to, small.recvcounts.data(),
          small.rbytes.data(), types.data())
    FORMS(reducew, _c, from, large.sendcounts.data(), large.sbytes.data(), types.data(), to, large.recvcounts.data(),
          large.rbytes.data(), types.data())
    std::vector<MPI_Count> sent = b.sendindices, combined = b.recvindices;
    sent.push_back(0);
    combined.push_back(0);
    INIT_FORMS(reducev_init_indexed, , from, b.elements(b.send), small.sendcounts.data(), sent.data(), type, to,
               b.elements(b.before), small.recvcounts.data(), combined.data(), type)
    INIT_FORMS(reducev_init_indexed, _c, from, b.elements(b.send), large.sendcounts.data(), sent.data(), type, to,
               b.elements(b.before), large.recvcounts.data(), combined.data(), type)
  }
  EXPECT_EQ(called.size(), 40U);
}

#undef FORMS
#undef INIT_FORMS

/// What `info` says, and once more.
void run_persistent(const Blocks& b, const Element& element, MPI_Comm graph, MPI_Info info,
                    std::vector<std::byte>& received) {
  const Arguments<int, int> small(b, element.bytes);
  received = b.before;
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_reducev_init(b.send.data(), small.sendcounts.data(), small.sdispls.data(), element.type,
                                       received.data(), small.recvcounts.data(), small.rdispls.data(), element.type,
                                       element.op, graph, info, &request));
  for (int turn = 0; turn < 2; ++turn) {
    std::ranges::copy(b.before, received.begin());
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(ReduceFormsTest, AllDatatypesAndOperators) {
  const Info relays(Hints{{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}, {"lnw_progress", "wait"}});
  int turn = 0;
  for (const PredefinedType& type : predefined_types())
    for (const auto& [name, op] : operators_of(type)) {
      SCOPED_TRACE(type.name + ", " + name);
      const Element element{type.type, op, type.bytes, type.fill};
      Blocks b(MPI_COMM_WORLD, element, false);
      const Comm graph = make_graph(MPI_COMM_WORLD, b.shape);
      const Arguments<int, int> small(b, element.bytes);
      clear_unused(type, b.expected);
      std::vector<std::byte> received = b.before;
      EXPECT_MPI(LNW_Neighbor_reducev(b.send.data(), small.sendcounts.data(), small.sdispls.data(), type.type,
                                      received.data(), small.recvcounts.data(), small.rdispls.data(), type.type, op,
                                      graph.get()));
      clear_unused(type, received);
      ASSERT_EQ(received, b.expected);
      if (size() > 3 && turn++ % 4 != 0) continue;  // more ranks take turns
      run_persistent(b, element, graph.get(), relays.get(), received);
      clear_unused(type, received);
      ASSERT_EQ(received, b.expected);
    }
}

/// As many as there may be under way on one communicator, completed in any order.
TEST_F(ReduceFormsTest, ManyRequestsAtOnce) {
  constexpr int many = 40;
  const Blocks b(MPI_COMM_WORLD, ints, false);
  const Comm graph = make_graph(MPI_COMM_WORLD, b.shape);
  const Arguments<int, int> small(b, sizeof(int));
  std::vector<std::vector<std::byte>> received(2 * many, b.before);
  std::vector<LNW_Request> requests(2 * many, LNW_REQUEST_NULL);
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  for (int i = many; i < 2 * many; ++i)
    EXPECT_MPI(LNW_Neighbor_reducev_init(b.send.data(), small.sendcounts.data(), small.sdispls.data(), MPI_INT,
                                         received[at(i)].data(), small.recvcounts.data(), small.rdispls.data(), MPI_INT,
                                         MPI_SUM, graph.get(), MPI_INFO_NULL, &requests[at(i)]));
  for (int i = 0; i < many; ++i) {
    EXPECT_MPI(LNW_Ineighbor_reducev(b.send.data(), small.sendcounts.data(), small.sdispls.data(), MPI_INT,
                                     received[at(i)].data(), small.recvcounts.data(), small.rdispls.data(), MPI_INT,
                                     MPI_SUM, graph.get(), &requests[at(i)]));
    EXPECT_MPI(LNW_Start(&requests[at(many + (rank() % 2 == 0 ? i : many - 1 - i))]));
  }
  Random random(static_cast<Random::result_type>(rank()));
  std::vector<int> order(2 * many);
  for (int i = 0; i < 2 * many; ++i) order[at(i)] = i;
  std::ranges::shuffle(order, random);
  for (const int i : order) EXPECT_MPI(LNW_Wait(&requests[at(i)], MPI_STATUS_IGNORE));
  for (int i = 0; i < 2 * many; ++i) EXPECT_EQ(received[at(i)], b.expected) << i;
  for (int i = many; i < 2 * many; ++i) EXPECT_MPI(LNW_Request_free(&requests[at(i)]));
}

/// Ranks in another order, and parts of all ranks, all at once.
TEST_F(ReduceFormsTest, Subcommunicators) {
  std::vector<Comm> parts;
  for (const int color : {0, rank() % 2, rank() / 2}) {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, color, -rank(), &part);
    parts.emplace_back(part);
  }
  const Info relays(Hints{{"lnw_strategy", "three_step"}, {"lnw_progress", "wait"}, {"lnw_check", "plan"}});
  for (const Comm& part : parts)
    for (const MPI_Info info : {MPI_INFO_NULL, relays.get()}) {
      const Blocks b(part.get(), ints, false);
      const Comm graph = make_graph(part.get(), b.shape);
      const Arguments<int, int> small(b, sizeof(int));
      std::vector<std::byte> received = b.before;
      EXPECT_MPI(LNW_Neighbor_reducev(b.send.data(), small.sendcounts.data(), small.sdispls.data(), MPI_INT,
                                      received.data(), small.recvcounts.data(), small.rdispls.data(), MPI_INT, MPI_SUM,
                                      graph.get()));
      EXPECT_EQ(received, b.expected);
      run_persistent(b, ints, graph.get(), info, received);
      EXPECT_EQ(received, b.expected);
    }
}

/// Also with datatypes of neighbours, on nodes of two sizes, and by any strategy: the bits are those of ranks in order.
TEST_F(ReduceFormsTest, CanonicalResultsDoNotDependOnMachines) {
  const Blocks b(MPI_COMM_WORLD, reals, false);
  const Comm graph = make_graph(MPI_COMM_WORLD, b.shape);
  const Arguments<int, int> small(b, sizeof(double));
  const std::vector<MPI_Datatype> types(b.shape.sources.size() + 1, MPI_DOUBLE);
  for (const char* const machine : {"node:* rank:2", "node:* rank:1", "node:* rank:3"})
    for (const char* const strategy : {"direct", "three_step", "two_step"}) {
      SCOPED_TRACE(std::string(machine) + ", " + strategy);
      const Info info(Hints{
          {"lnw_strategy", strategy}, {"lnw_machine", machine}, {"lnw_progress", "wait"}, {"lnw_order", "canonical"}});
      std::vector<std::byte> received;
      run_persistent(b, reals, graph.get(), info.get(), received);
      EXPECT_EQ(received, b.expected);
      received = b.before;
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Neighbor_reducew_init(b.send.data(), small.sendcounts.data(), small.sbytes.data(), types.data(),
                                           received.data(), small.recvcounts.data(), small.rbytes.data(), types.data(),
                                           MPI_SUM, graph.get(), info.get(), &request));
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      EXPECT_MPI(LNW_Request_free(&request));
      EXPECT_EQ(received, b.expected);
    }
}

/// Whoever is late: partial sums are made in an order that the plan says, not that of arrival.
TEST_F(ReduceFormsTest, DefaultOrderGivesTheSameEachTime) {
  const Blocks b(MPI_COMM_WORLD, reals, false);
  const Arguments<int, int> small(b, sizeof(double));
  for (const char* const strategy : {"direct", "three_step", "two_step", "grouped"}) {
    SCOPED_TRACE(strategy);
    const Info info(Hints{{"lnw_strategy", strategy}, {"lnw_machine", "node:* rank:2"}, {"lnw_progress", "wait"}});
    std::vector<std::byte> first;
    for (int run = 0; run < 3; ++run) {
      const Comm graph = make_graph(MPI_COMM_WORLD, b.shape);
      std::vector<std::byte> received = b.before;
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Neighbor_reducev_init(b.send.data(), small.sendcounts.data(), small.sdispls.data(), MPI_DOUBLE,
                                           received.data(), small.recvcounts.data(), small.rdispls.data(), MPI_DOUBLE,
                                           MPI_SUM, graph.get(), info.get(), &request));
      for (int turn = 0; turn < 3 * size(); ++turn) {
        std::ranges::copy(b.before, received.begin());
        if (turn % size() == rank()) {
          const double until = MPI_Wtime() + 2e-4;
          while (MPI_Wtime() < until) {
          }
        }
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        if (first.empty()) first = received;
        ASSERT_EQ(received, first) << "run " << run << ", exchange " << turn;
      }
      EXPECT_MPI(LNW_Request_free(&request));
    }
  }
}

}  // namespace
}  // namespace laneway::test
