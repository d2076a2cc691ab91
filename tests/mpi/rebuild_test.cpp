// Operations made again among some of the ranks: those that are left after one has died, as far as these are concerned.
// What arrives is compared with plain messages between them, all of the receive buffer.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "laneway/laneway.h"
#include "support.hpp"

namespace laneway::test {
namespace {

class RebuildTest : public MpiTest {};

using Places = std::vector<int>;  // of ints in a buffer

/// Which ranks are left, in the order of their new ranks.
using Left = std::vector<int>;

struct Loss {
  std::string name;
  Left left;
};

std::vector<Loss> losses() {
  const int n = size();
  Left all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  const auto without = [&](int gone) {
    Left left = all;
    std::erase(left, gone);
    return left;
  };
  Left turned = without(n / 2), even;
  std::ranges::reverse(turned);
  for (int rank = 0; rank < n; rank += 2) even.push_back(rank);
  return {{"the first", without(0)},         {"one between", without(n / 2)}, {"the last", without(n - 1)},
          {"one, in another order", turned}, {"every other", even},           {"none", all}};
}

/// MPI_COMM_NULL at those that are gone.
Comm comm_of(const Left& left) {
  const auto place = std::ranges::find(left, rank());
  const bool is_left = place != left.end();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, is_left ? 0 : MPI_UNDEFINED, static_cast<int>(place - left.begin()), &comm);
  if (comm != MPI_COMM_NULL) MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return Comm(comm);
}

/// A block of one side: the other end, and where its ints are.
struct Block {
  int peer = MPI_PROC_NULL;
  Places places;
};

struct Moves {
  std::vector<Block> out, in;
};

/// Plain messages on `comm`, whose ranks are `left`; the k-th block from one rank to another is the k-th there.
std::vector<int> by_messages(const Moves& moves, MPI_Comm comm, const Left& left, const std::vector<int>& send,
                             std::vector<int> receive, bool adds) {
  const auto fresh = [&](int old) {
    const auto at = std::ranges::find(left, old);
    return at == left.end() ? MPI_PROC_NULL : static_cast<int>(at - left.begin());
  };
  std::vector<MPI_Request> requests;
  std::vector<std::vector<int>> packed(moves.out.size()), came(moves.in.size());
  std::map<int, int> sent, received;
  for (std::size_t i = 0; i < moves.in.size(); ++i) {
    came[i].assign(moves.in[i].places.size() + 1, 0);
    const int from = fresh(moves.in[i].peer);
    MPI_Irecv(came[i].data(), static_cast<int>(moves.in[i].places.size()), MPI_INT, from, received[from]++, comm,
              &requests.emplace_back());
  }
  for (std::size_t i = 0; i < moves.out.size(); ++i) {
    for (const int place : moves.out[i].places) packed[i].push_back(send[static_cast<std::size_t>(place)]);
    packed[i].push_back(0);
    const int to = fresh(moves.out[i].peer);
    MPI_Isend(packed[i].data(), static_cast<int>(moves.out[i].places.size()), MPI_INT, to, sent[to]++, comm,
              &requests.emplace_back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  for (std::size_t i = 0; i < moves.in.size(); ++i) {
    if (fresh(moves.in[i].peer) == MPI_PROC_NULL) continue;
    for (std::size_t k = 0; k < moves.in[i].places.size(); ++k) {
      int& at = receive[static_cast<std::size_t>(moves.in[i].places[k])];
      at = adds ? at + came[i][k] : came[i][k];
    }
  }
  return receive;
}

constexpr int room = 16;  // ints that the place of a block has

std::vector<int> numbers(std::size_t n, std::uint64_t seed) {
  std::vector<int> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<int>(mix({seed, i, 77}) % 100000));
  return values;
}

/// Ints `room` apart: gaps stay as they are.
struct WithGap {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  WithGap() {
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &type);
    MPI_Type_commit(&type);
  }
  ~WithGap() { MPI_Type_free(&type); }
  WithGap(const WithGap&) = delete;
  WithGap& operator=(const WithGap&) = delete;
};

/// A persistent neighborhood operation on ranks of the world, its arguments no longer there once it is made.
struct Neighborly {
  std::string name;
  Moves moves;
  bool adds = false;
  bool is_partitioned = false;
  std::vector<int> sent_parts, received_parts;
  std::vector<int> send, receive;
  LNW_Request request = LNW_REQUEST_NULL;

  void run(LNW_Request one) const {
    EXPECT_MPI(LNW_Start(&one));
    if (is_partitioned)
      for (std::size_t edge = 0; edge < sent_parts.size(); ++edge)
        for (int part = 0; part < sent_parts[edge]; ++part)
          EXPECT_MPI(LNW_Pready_edge(one, static_cast<int>(edge), part));
    if (is_partitioned)
      for (int edge = 0, part = 0; edge != MPI_UNDEFINED;) EXPECT_MPI(LNW_Wait_any_edge(one, &edge, &part));
    EXPECT_MPI(LNW_Wait(&one, MPI_STATUS_IGNORE));
  }
};

/// Where operations are made: on a communicator or on a topology object.
struct Where {
  MPI_Comm comm = MPI_COMM_NULL;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
};
#define MAKE(NAME, ...)                                                                             \
  EXPECT_MPI(where.topology != LNW_TOPOLOGY_NULL                                                    \
                 ? LNW_Neighbor_##NAME##_topology(__VA_ARGS__, where.topology, info, &made.request) \
                 : LNW_Neighbor_##NAME(__VA_ARGS__, where.comm, info, &made.request))

const std::vector<std::string>& neighborly_names() {
  static const std::vector<std::string> names{"allgather", "allgatherv", "alltoall",        "alltoallv",  "alltoallw",
                                              "indexed",   "reducev",    "reducev_indexed", "partitioned"};
  return names;
}

/// `sources` and `destinations`: with MPI_PROC_NULL where there is none.
Neighborly make(const std::string& name, const std::vector<int>& sources, const std::vector<int>& destinations,
                const Where& where, std::uint64_t seed, MPI_Info info = MPI_INFO_NULL) {
  Neighborly made;
  made.name = name;
  made.adds = name.starts_with("reduce");
  made.is_partitioned = name == "partitioned";
  const auto of = [](int rank) { return static_cast<std::uint64_t>(rank); };
  const int equal = static_cast<int>(1 + mix({seed, 9}) % 4);
  const auto count_of = [&](int from, int to, int k) {
    if (name == "allgather" || name == "alltoall") return equal;
    if (name == "allgatherv") return static_cast<int>(mix({seed, of(from)}) % 5);
    return static_cast<int>(mix({seed, of(from), of(to), of(k)}) % 5);
  };
  std::map<int, int> sent, received;
  std::vector<int> counts[2], places[2];
  std::vector<MPI_Aint> bytes[2];
  std::vector<MPI_Count> indices[2];
  std::vector<MPI_Datatype> types[2];
  const WithGap gap;
  const int degree = static_cast<int>(sources.size());
  for (int i = 0; i < static_cast<int>(destinations.size()); ++i) {
    const int to = destinations[static_cast<std::size_t>(i)];
    Block block{to, {}};
    const int count = count_of(rank(), to, sent[to]++);
    const bool spreads = name == "alltoallw" && i % 2 == 1;
    const int first = name.starts_with("allgather") ? 0 : name == "alltoall" ? i * equal : i * room;
    for (int k = 0; k < count; ++k) {
      const int place = name.ends_with("indexed") ? first + count - 1 - k : first + (spreads ? 2 * k : k);
      block.places.push_back(place);
      indices[0].push_back(place);
    }
    made.moves.out.push_back(block);
    counts[0].push_back(count);
    places[0].push_back(first);
    bytes[0].push_back(first * static_cast<MPI_Aint>(sizeof(int)));
    types[0].push_back(spreads ? gap.type : MPI_INT);
    made.sent_parts.push_back(i % 3);
  }
  for (int i = 0; i < degree; ++i) {
    const int from = sources[static_cast<std::size_t>(i)];
    Block block{from, {}};
    const int count = count_of(from, rank(), received[from]++);
    const bool spreads = name == "alltoallw" && i % 3 == 1;
    const int first = name == "allgather" || name == "alltoall" ? i * equal : (degree - 1 - i) * room;
    for (int k = 0; k < count; ++k) {
      const int place = name.ends_with("indexed") ? first + (7 * k) % 5 : first + (spreads ? 2 * k : k);
      block.places.push_back(place);
      indices[1].push_back(place);
    }
    made.moves.in.push_back(block);
    counts[1].push_back(count);
    places[1].push_back(first);
    bytes[1].push_back(first * static_cast<MPI_Aint>(sizeof(int)));
    types[1].push_back(spreads ? gap.type : MPI_INT);
    made.received_parts.push_back((i + 1) % 3);
  }
  made.send = numbers((destinations.size() + 1) * room, mix({seed, of(rank()), 1}));
  made.receive = numbers((sources.size() + 1) * room, mix({seed, of(rank()), 2}));
  const void* const from = made.send.data();
  int* const to = made.receive.data();
  const auto sendsize = static_cast<MPI_Count>(made.send.size()),
             recvsize = static_cast<MPI_Count>(made.receive.size());
  const int shared = static_cast<int>(mix({seed, of(rank())}) % 5);
  if (name == "allgather") MAKE(allgather_init, from, equal, MPI_INT, to, equal, MPI_INT);
  if (name == "alltoall") MAKE(alltoall_init, from, equal, MPI_INT, to, equal, MPI_INT);
  if (name == "allgatherv")
    MAKE(allgatherv_init, from, shared, MPI_INT, to, counts[1].data(), places[1].data(), MPI_INT);
  if (name == "alltoallv")
    MAKE(alltoallv_init, from, counts[0].data(), places[0].data(), MPI_INT, to, counts[1].data(), places[1].data(),
         MPI_INT);
  if (name == "alltoallw")
    MAKE(alltoallw_init, from, counts[0].data(), bytes[0].data(), types[0].data(), to, counts[1].data(),
         bytes[1].data(), types[1].data());
  if (name == "indexed")
    MAKE(alltoallv_init_indexed, from, sendsize, counts[0].data(), indices[0].data(), MPI_INT, to, recvsize,
         counts[1].data(), indices[1].data(), MPI_INT);
  if (name == "reducev")
    MAKE(reducev_init, from, counts[0].data(), places[0].data(), MPI_INT, to, counts[1].data(), places[1].data(),
         MPI_INT, MPI_SUM);
  if (name == "reducev_indexed")
    MAKE(reducev_init_indexed, from, sendsize, counts[0].data(), indices[0].data(), MPI_INT, to, recvsize,
         counts[1].data(), indices[1].data(), MPI_INT, MPI_SUM);
  if (name == "partitioned")
    MAKE(alltoallv_init_partitioned, from, counts[0].data(), places[0].data(), MPI_INT, to, counts[1].data(),
         places[1].data(), MPI_INT, made.sent_parts.data(), made.received_parts.data());
  return made;
}
#undef MAKE

/// Twice, with other data the second time.
void expect_messages(Neighborly& made, LNW_Request request, const Loss& loss, MPI_Comm comm) {
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    const std::vector<int> values = numbers(made.send.size(), mix({turn, static_cast<std::uint64_t>(rank()), 3}));
    std::ranges::copy(values, made.send.begin());
    const std::vector<int> expected = by_messages(made.moves, comm, loss.left, made.send, made.receive, made.adds);
    made.run(request);
    EXPECT_EQ(made.receive, expected) << made.name << " without " << loss.name;
  }
}

void free_topology(LNW_Topology topology) {
  EXPECT_MPI(LNW_Topology_free(&topology));
}

TEST_F(RebuildTest, NeighborhoodsAmongThoseThatAreLeft) {
  std::uint64_t seed = 100;
  for (const Loss& loss : losses()) {
    for (const std::string& name : neighborly_names()) {
      const Shape shape = ++seed % 3 == 0 ? complete_shape(size()) : random_shape(seed, rank(), size());
      const Comm comm = comm_of(loss.left);
      Comm graph = make_graph(MPI_COMM_WORLD, shape);
      Neighborly made = make(name, shape.sources, shape.destinations, {.comm = graph.get()}, seed);
      if (seed % 2 == 0) made.run(made.request);
      MPI_Barrier(MPI_COMM_WORLD);
      if (comm.get() != MPI_COMM_NULL) {
        LNW_Request rebuilt = LNW_REQUEST_NULL;
        if (seed % 5 == 0) graph.free();  // by some alone, as of a communicator that has been revoked
        EXPECT_MPI(LNW_Request_rebuild(made.request, comm.get(), &rebuilt));
        expect_messages(made, rebuilt, loss, comm.get());
        EXPECT_MPI(LNW_Request_free(&made.request));
        expect_messages(made, rebuilt, loss, comm.get());
        EXPECT_MPI(LNW_Request_free(&rebuilt));
      } else {
        graph.free();
        EXPECT_MPI(LNW_Request_free(&made.request));
      }
    }
  }
}

TEST_F(RebuildTest, ATopologyOnceForAllRequests) {
  std::uint64_t seed = 500;
  for (const Loss& loss : losses()) {
    const Shape shape = random_shape(++seed, rank(), size());
    const Comm comm = comm_of(loss.left);
    const Comm graph = make_graph(MPI_COMM_WORLD, shape);
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    EXPECT_MPI(LNW_Topology_from_comm(graph.get(), &topology));
    std::vector<Neighborly> all;
    for (const std::string& name : neighborly_names())
      all.push_back(make(name, shape.sources, shape.destinations, {.topology = topology}, ++seed));
    if (comm.get() != MPI_COMM_NULL) {
      LNW_Topology fewer = LNW_TOPOLOGY_NULL;
      if (seed % 2 == 0)
        EXPECT_MPI(LNW_Topology_shrink(topology, comm.get(), &fewer));
      else
        EXPECT_MPI(LNW_Topology_shrink_comm(graph.get(), comm.get(), &fewer));
      int indegree = -1, outdegree = -1;
      EXPECT_MPI(LNW_Topology_get_neighbors_count(fewer, &indegree, &outdegree));
      std::vector<int> sources(shape.sources.size()), destinations(shape.destinations.size());
      ASSERT_EQ(indegree, static_cast<int>(sources.size()));
      ASSERT_EQ(outdegree, static_cast<int>(destinations.size()));
      EXPECT_MPI(LNW_Topology_get_neighbors(fewer, indegree, sources.data(), outdegree, destinations.data()));
      const auto fresh = [&](int old) {
        const auto at = std::ranges::find(loss.left, old);
        return at == loss.left.end() ? MPI_PROC_NULL : static_cast<int>(at - loss.left.begin());
      };
      for (std::size_t i = 0; i < sources.size(); ++i) EXPECT_EQ(sources[i], fresh(shape.sources[i]));
      for (std::size_t i = 0; i < destinations.size(); ++i) EXPECT_EQ(destinations[i], fresh(shape.destinations[i]));
      for (Neighborly& made : all) {
        LNW_Request rebuilt = LNW_REQUEST_NULL;
        EXPECT_MPI(LNW_Request_rebuild_topology(made.request, fewer, &rebuilt));
        expect_messages(made, rebuilt, loss, comm.get());
        EXPECT_MPI(LNW_Request_free(&rebuilt));
      }
      // Calls that nothing was kept of.
      std::vector<int> send{rank(), rank() + 1000}, receive(2 * shape.sources.size() + 1, -1);
      EXPECT_MPI(LNW_Neighbor_allgather_topology(send.data(), 2, MPI_INT, receive.data(), 2, MPI_INT, fewer));
      for (std::size_t i = 0; i < sources.size(); ++i)
        EXPECT_EQ(receive[2 * i + 1], sources[i] == MPI_PROC_NULL ? -1 : shape.sources[i] + 1000);
      free_topology(fewer);
    }
    for (Neighborly& made : all) EXPECT_MPI(LNW_Request_free(&made.request));
    free_topology(topology);
  }
}

TEST_F(RebuildTest, GridsWithOpenEndsAndOtherBuffers) {
  for (const Loss& loss : losses()) {
    const int whole = size(), open = 0;
    MPI_Comm cart = MPI_COMM_NULL;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &whole, &open, 0, &cart);
    const int before = rank() == 0 ? MPI_PROC_NULL : rank() - 1;
    const int after = rank() + 1 == size() ? MPI_PROC_NULL : rank() + 1;
    const Comm comm = comm_of(loss.left);
    for (const std::string& name : neighborly_names()) {
      Neighborly made = make(name, {before, after}, {before, after}, {.comm = cart}, 900);
      Neighborly other = made;  // has other buffers
      if (name == "partitioned") continue;
      EXPECT_MPI(LNW_Request_set_buffers(made.request, other.send.data(), other.receive.data()));
      if (comm.get() != MPI_COMM_NULL) {
        LNW_Request rebuilt = LNW_REQUEST_NULL;
        EXPECT_MPI(LNW_Request_rebuild(made.request, comm.get(), &rebuilt));
        const std::vector<int> untouched = made.receive;
        expect_messages(other, rebuilt, loss, comm.get());
        EXPECT_EQ(made.receive, untouched);
        EXPECT_MPI(LNW_Request_free(&rebuilt));
      }
      EXPECT_MPI(LNW_Request_free(&made.request));
    }
    MPI_Comm_free(&cart);
  }
}

TEST_F(RebuildTest, HintsOfTheCallAndOfTheGraphHold) {
  const Shape shape = ring_shape(rank(), size());
  const Info of_graph(Hints{{"lnw_progress", "wait"}}), of_call(Hints{{"lnw_strategy", "direct"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, shape, of_graph.get());
  Neighborly made = make("alltoallv", shape.sources, shape.destinations, {.comm = graph.get()}, 5, of_call.get());
  const Loss loss = losses()[1];
  const Comm comm = comm_of(loss.left);
  if (comm.get() != MPI_COMM_NULL) {
    LNW_Request rebuilt = LNW_REQUEST_NULL, again = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Request_rebuild(made.request, comm.get(), &rebuilt));
    MPI_Info found = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Request_get_info(rebuilt, &found));
    int flag = 0;
    std::array<char, 64> text{};
    MPI_Info_get(found, "lnw_strategy", 63, text.data(), &flag);
    EXPECT_EQ(std::string(text.data()), "direct");
    int candidates = 1;
    MPI_Info_get(found, "lnw_parameters", 63, text.data(), &candidates);
    EXPECT_EQ(candidates, 0);  // a hint has named it
    MPI_Info_free(&found);
    // One that was made again is made again.
    EXPECT_MPI(LNW_Request_rebuild(rebuilt, comm.get(), &again));
    EXPECT_MPI(LNW_Request_free(&rebuilt));
    expect_messages(made, again, loss, comm.get());
    EXPECT_MPI(LNW_Request_free(&again));
  }
  EXPECT_MPI(LNW_Request_free(&made.request));
}

TEST_F(RebuildTest, AHalo) {
  // A ring of elements; each rank owns four, and has the last of the one before and the first of the next as ghosts.
  const MPI_Count owned = 4, all = owned * size(), first = owned * rank();
  const std::array<MPI_Count, 2> ghosts{(first + all - 1) % all, (first + owned) % all};
  LNW_Halo halo = LNW_HALO_NULL;
  EXPECT_MPI(LNW_Halo_create(MPI_COMM_WORLD, first, owned, 2, ghosts.data(), MPI_INFO_NULL, &halo));
  std::vector<double> x(6, -1.0), y(6, -2.0);
  const std::array<void*, 2> arrays{x.data(), y.data()};
  const std::array<MPI_Datatype, 2> types{MPI_DOUBLE, MPI_DOUBLE};
  LNW_Request one = LNW_REQUEST_NULL, fields = LNW_REQUEST_NULL, sums = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Halo_init(halo, x.data(), MPI_DOUBLE, MPI_INFO_NULL, &one));
  EXPECT_MPI(LNW_Halo_init_fields(halo, 2, arrays.data(), types.data(), MPI_INFO_NULL, &fields));
  EXPECT_MPI(LNW_Halo_reverse_init(halo, x.data(), MPI_DOUBLE, MPI_SUM, MPI_INFO_NULL, &sums));
  EXPECT_MPI(LNW_Halo_free(&halo));
  const Loss loss = losses()[1];
  const Comm comm = comm_of(loss.left);
  if (comm.get() != MPI_COMM_NULL) {
    const int before = (rank() + size() - 1) % size(), after = (rank() + 1) % size();
    const auto is_left = [&](int other) { return std::ranges::count(loss.left, other) > 0; };
    const auto fill = [&] {
      for (int i = 0; i < 4; ++i) x[static_cast<std::size_t>(i)] = 100.0 * rank() + i;
      for (int i = 0; i < 4; ++i) y[static_cast<std::size_t>(i)] = 0.5 + 100.0 * rank() + i;
      x[4] = x[5] = -1.0, y[4] = y[5] = -2.0;
    };
    const auto run = [&](LNW_Request old) {
      LNW_Request rebuilt = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Request_rebuild(old, comm.get(), &rebuilt));
      EXPECT_MPI(LNW_Start(&rebuilt));
      EXPECT_MPI(LNW_Wait(&rebuilt, MPI_STATUS_IGNORE));
      EXPECT_MPI(LNW_Request_free(&rebuilt));
    };
    for (const bool two : {false, true}) {
      fill();
      run(two ? fields : one);
      EXPECT_EQ(x[4], is_left(before) ? 100.0 * before + 3 : -1.0);
      EXPECT_EQ(x[5], is_left(after) ? 100.0 * after : -1.0);
      EXPECT_EQ(y[4], two && is_left(before) ? 100.5 * 1 + 100.0 * (before - 1) + 3 : -2.0);
      EXPECT_EQ(y[5], two && is_left(after) ? 0.5 + 100.0 * after : -2.0);
    }
    fill();
    run(sums);
    EXPECT_EQ(x[0], 100.0 * rank() + (is_left(before) ? -1.0 : 0.0));
    EXPECT_EQ(x[3], 100.0 * rank() + 3 + (is_left(after) ? -1.0 : 0.0));
  }
  for (LNW_Request* request : {&one, &fields, &sums}) EXPECT_MPI(LNW_Request_free(request));
}

/// A dense operation among all ranks of the world, with blocks of the ranks that are `room` ints apart, or not.
struct Collective {
  Moves moves;
  bool sums = false;            // the receive buffer gets the sum of what comes
  bool sends_received = false;  // in place
  std::vector<int> send, receive;
  LNW_Request request = LNW_REQUEST_NULL;
};

Collective make_dense(const std::string& name, int root, bool in_place, bool large) {
  Collective made;
  const int n = size(), equal = 3;
  const auto many = static_cast<std::size_t>(n);
  const bool is_root = rank() == root;
  const auto count_of = [&](int from, int to) {
    if (!name.ends_with("v") && name != "alltoallw") return equal;
    // What is sent in place is as long as what comes.
    const auto f = static_cast<std::uint64_t>(in_place ? std::min(from, to) : from),
               t = static_cast<std::uint64_t>(in_place ? std::max(from, to) : to);
    if (name == "alltoallv" || name == "alltoallw") return static_cast<int>(mix({f, t, 8}) % 5);
    return static_cast<int>(mix({static_cast<std::uint64_t>(name == "scatterv" ? to : from), 9}) % 5);
  };
  const bool spread = name.ends_with("v") || name == "alltoallw";
  const auto block = [&](int at, int count) {
    Places places;
    for (int k = 0; k < count; ++k) places.push_back((spread ? room : equal) * at + k);
    return places;
  };
  made.send = numbers(many * room, mix({static_cast<std::uint64_t>(rank()), 41}));
  made.receive = numbers(many * room, mix({static_cast<std::uint64_t>(rank()), 42}));
  made.sends_received = in_place;
  std::vector<int> sendcounts, recvcounts, places, bytes;
  std::vector<MPI_Count> large_sendcounts, large_recvcounts;
  std::vector<MPI_Aint> large_places, large_bytes;
  std::vector<MPI_Datatype> types(many, MPI_INT);
  for (int other = 0; other < n; ++other) {
    sendcounts.push_back(count_of(rank(), other));
    recvcounts.push_back(count_of(other, rank()));
    places.push_back(room * other);
    bytes.push_back(room * other * static_cast<int>(sizeof(int)));
    large_sendcounts.push_back(sendcounts.back());
    large_recvcounts.push_back(recvcounts.back());
    large_places.push_back(places.back());
    large_bytes.push_back(bytes.back());
    const Places one = block(0, count_of(rank(), other));
    if (name.starts_with("alltoall")) {
      made.moves.out.push_back({other, block(other, count_of(rank(), other))});
      made.moves.in.push_back({other, block(other, count_of(other, rank()))});
    } else if (name.starts_with("allgather")) {
      made.moves.out.push_back({other, in_place ? block(rank(), count_of(rank(), other)) : one});
      made.moves.in.push_back({other, block(other, count_of(other, rank()))});
    } else if (name.starts_with("gather")) {
      if (other == root)
        made.moves.out.push_back({other, in_place && is_root ? block(rank(), count_of(rank(), other)) : one});
      if (is_root) made.moves.in.push_back({other, block(other, count_of(other, rank()))});
    } else if (name.starts_with("scatter")) {
      if (is_root && !(in_place && other == root))
        made.moves.out.push_back({other, block(other, count_of(rank(), other))});
      if (other == root && !(in_place && is_root)) made.moves.in.push_back({other, block(0, count_of(other, rank()))});
    } else if (name == "bcast") {
      if (is_root && other != root) made.moves.out.push_back({other, one});
      if (!is_root && other == root) made.moves.in.push_back({other, one});
    } else if (name == "allreduce" || name == "reduce") {
      if (name == "allreduce" || other == root) made.moves.out.push_back({other, one});
      if (name == "allreduce" || is_root) made.moves.in.push_back({other, one});
    }
  }
  // Ranks before this one in the new order are known later.
  made.sums = name == "allreduce" || name == "reduce";
  if (name.starts_with("scatter") || name == "bcast") made.sends_received = name == "bcast";
  if (name == "gather" || name == "gatherv") made.sends_received = in_place && is_root;
  const void* const from = in_place && !name.starts_with("scatter") && (!name.starts_with("gather") || is_root)
                               ? MPI_IN_PLACE
                               : made.send.data();
  void* const to =
      in_place && name.starts_with("scatter") && is_root ? MPI_IN_PLACE : static_cast<void*>(made.receive.data());
  LNW_Request* const request = &made.request;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const MPI_Info info = MPI_INFO_NULL;
  const int own = count_of(rank(), root);
#define CALL(NAME, SMALL, LARGE) EXPECT_MPI(large ? LNW_##NAME##_init_c LARGE : LNW_##NAME##_init SMALL)
#define REST comm, info, request
  if (name == "alltoall")
    CALL(Alltoall, (from, equal, MPI_INT, to, equal, MPI_INT, REST), (from, equal, MPI_INT, to, equal, MPI_INT, REST));
  if (name == "allgather")
    CALL(Allgather, (from, equal, MPI_INT, to, equal, MPI_INT, REST), (from, equal, MPI_INT, to, equal, MPI_INT, REST));
  if (name == "gather")
    CALL(Gather, (from, equal, MPI_INT, to, equal, MPI_INT, root, REST),
         (from, equal, MPI_INT, to, equal, MPI_INT, root, REST));
  if (name == "scatter")
    CALL(Scatter, (from, equal, MPI_INT, to, equal, MPI_INT, root, REST),
         (from, equal, MPI_INT, to, equal, MPI_INT, root, REST));
  if (name == "alltoallv")
    CALL(Alltoallv,
         (from, sendcounts.data(), places.data(), MPI_INT, to, recvcounts.data(), places.data(), MPI_INT, REST),
         (from, large_sendcounts.data(), large_places.data(), MPI_INT, to, large_recvcounts.data(), large_places.data(),
          MPI_INT, REST));
  if (name == "alltoallw")
    CALL(Alltoallw,
         (from, sendcounts.data(), bytes.data(), types.data(), to, recvcounts.data(), bytes.data(), types.data(), REST),
         (from, large_sendcounts.data(), large_bytes.data(), types.data(), to, large_recvcounts.data(),
          large_bytes.data(), types.data(), REST));
  if (name == "allgatherv")
    CALL(Allgatherv, (from, own, MPI_INT, to, recvcounts.data(), places.data(), MPI_INT, REST),
         (from, own, MPI_INT, to, large_recvcounts.data(), large_places.data(), MPI_INT, REST));
  if (name == "gatherv")
    CALL(Gatherv, (from, own, MPI_INT, to, recvcounts.data(), places.data(), MPI_INT, root, REST),
         (from, own, MPI_INT, to, large_recvcounts.data(), large_places.data(), MPI_INT, root, REST));
  if (name == "scatterv")
    CALL(
        Scatterv, (from, sendcounts.data(), places.data(), MPI_INT, to, count_of(root, rank()), MPI_INT, root, REST),
        (from, large_sendcounts.data(), large_places.data(), MPI_INT, to, count_of(root, rank()), MPI_INT, root, REST));
  if (name == "bcast") CALL(Bcast, (to, equal, MPI_INT, root, REST), (to, equal, MPI_INT, root, REST));
  if (name == "allreduce")
    CALL(Allreduce, (from, to, equal, MPI_INT, MPI_SUM, REST), (from, to, equal, MPI_INT, MPI_SUM, REST));
  if (name == "reduce")
    CALL(Reduce, (from, to, equal, MPI_INT, MPI_SUM, root, REST), (from, to, equal, MPI_INT, MPI_SUM, root, REST));
  if (name == "scan") CALL(Scan, (from, to, equal, MPI_INT, MPI_SUM, REST), (from, to, equal, MPI_INT, MPI_SUM, REST));
  if (name == "exscan")
    CALL(Exscan, (from, to, equal, MPI_INT, MPI_SUM, REST), (from, to, equal, MPI_INT, MPI_SUM, REST));
  if (name == "barrier") EXPECT_MPI(LNW_Barrier_init(REST));
#undef REST
#undef CALL
  return made;
}

/// Scans: from those that come before in the new order.
void add_scan(Collective& made, const std::string& name, const Left& left) {
  const auto mine = std::ranges::find(left, rank());
  for (auto other = left.begin(); other != left.end(); ++other) {
    const bool itself = name == "scan" && other == mine;
    if (other > mine || itself) made.moves.out.push_back({*other, {0, 1, 2}});
    if (other < mine || itself) made.moves.in.push_back({*other, {0, 1, 2}});
  }
  made.sums = true;
}

TEST_F(RebuildTest, DenseOperationsAmongThoseThatAreLeft) {
  const std::vector<std::string> names{"alltoall",  "alltoallv", "alltoallw", "allgather", "allgatherv",
                                       "gather",    "gatherv",   "scatter",   "scatterv",  "bcast",
                                       "allreduce", "reduce",    "scan",      "exscan",    "barrier"};
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int turn = 0;
  for (const Loss& loss : losses())
    for (const std::string& name : names)
      for (const bool in_place : {false, true}) {
        const bool takes = name.starts_with("all") || name.starts_with("gather") || name.starts_with("scatter") ||
                           name == "scan" || name == "exscan";
        if (in_place && !takes) continue;
        const int root = loss.left[static_cast<std::size_t>(++turn) % loss.left.size()];
        const Comm comm = comm_of(loss.left);
        Collective made = make_dense(name, root, in_place, turn % 3 == 0);
        if (name.ends_with("scan")) add_scan(made, name, loss.left);
        if (comm.get() != MPI_COMM_NULL) {
          LNW_Request rebuilt = LNW_REQUEST_NULL;
          EXPECT_MPI(LNW_Request_rebuild(made.request, comm.get(), &rebuilt));
          EXPECT_MPI(LNW_Request_free(&made.request));
          for (int time = 0; time < 2; ++time) {
            std::vector<int> before = made.receive;
            if (made.sums && !made.moves.in.empty()) std::fill_n(before.begin(), 3, 0);
            const std::vector<int>& sent = made.sends_received ? made.receive : made.send;
            const std::vector<int> expected = by_messages(made.moves, comm.get(), loss.left, sent, before, made.sums);
            EXPECT_MPI(LNW_Start(&rebuilt));
            EXPECT_MPI(LNW_Wait(&rebuilt, MPI_STATUS_IGNORE));
            EXPECT_EQ(made.receive, expected)
                << name << (in_place ? " in place" : "") << " without " << loss.name << ", root " << root;
          }
          EXPECT_MPI(LNW_Request_free(&rebuilt));
        } else {
          EXPECT_MPI(LNW_Request_free(&made.request));
        }
      }
}

TEST_F(RebuildTest, OneVectorForAllRanksKeepsTheFirst) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<int> counts(static_cast<std::size_t>(size()), 2);
  std::vector<int> send = numbers(counts.size() * 2, static_cast<std::uint64_t>(rank())), receive(2, -1);
  LNW_Request same = LNW_REQUEST_NULL, own = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Reduce_scatter_block_init(send.data(), receive.data(), 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                           MPI_INFO_NULL, &same));
  EXPECT_MPI(LNW_Reduce_scatter_init(send.data(), receive.data(), counts.data(), MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                                     MPI_INFO_NULL, &own));
  for (const Loss& loss : losses()) {
    const Comm comm = comm_of(loss.left);
    if (comm.get() == MPI_COMM_NULL) continue;
    const bool keeps = loss.left.front() == 0 && std::ranges::is_sorted(loss.left) &&
                       loss.left.back() + 1 == static_cast<int>(loss.left.size());
    for (const LNW_Request old : {same, own}) {
      LNW_Request rebuilt = LNW_REQUEST_NULL;
      const int code = LNW_Request_rebuild(old, comm.get(), &rebuilt);
      if (!keeps) {
        expect_error_class(code, MPI_ERR_UNSUPPORTED_OPERATION);
        EXPECT_NE(error_text(code).find("one vector for all ranks"), std::string::npos) << error_text(code);
        EXPECT_EQ(rebuilt, LNW_REQUEST_NULL);
        continue;
      }
      EXPECT_MPI(code);
      Moves moves;
      for (const int other : loss.left) {
        moves.out.push_back({other, {2 * other, 2 * other + 1}});
        moves.in.push_back({other, {0, 1}});
      }
      const auto expected = by_messages(moves, comm.get(), loss.left, send, {0, 0}, true);
      EXPECT_MPI(LNW_Start(&rebuilt));
      EXPECT_MPI(LNW_Wait(&rebuilt, MPI_STATUS_IGNORE));
      EXPECT_EQ(receive, expected);
      EXPECT_MPI(LNW_Request_free(&rebuilt));
    }
  }
  EXPECT_MPI(LNW_Request_free(&same));
  EXPECT_MPI(LNW_Request_free(&own));
}

TEST_F(RebuildTest, PartitionsOfTwoRanks) {
  const int after = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  for (const Loss& loss : losses()) {
    std::vector<int> send(4, rank()), receive(4, -1);
    LNW_Request to = LNW_REQUEST_NULL, from = LNW_REQUEST_NULL;
    MPI_Datatype pair = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
    EXPECT_MPI(LNW_Psend_init(send.data(), 2, 1, pair, after, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &to));
    EXPECT_MPI(LNW_Precv_init(receive.data(), 2, 1, pair, before, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &from));
    MPI_Type_free(&pair);
    const Comm comm = comm_of(loss.left);
    if (comm.get() != MPI_COMM_NULL) {
      EXPECT_MPI(LNW_Comm_prepare(comm.get()));
      std::array<LNW_Request, 2> rebuilt{};
      EXPECT_MPI(LNW_Request_rebuild(to, comm.get(), &rebuilt[0]));
      EXPECT_MPI(LNW_Request_rebuild(from, comm.get(), &rebuilt[1]));
      EXPECT_MPI(LNW_Startall(2, rebuilt.data()));
      EXPECT_MPI(LNW_Pready_range(0, 1, rebuilt[0]));
      EXPECT_MPI(LNW_Waitall(2, rebuilt.data(), MPI_STATUSES_IGNORE));
      const bool is_left = std::ranges::count(loss.left, before) > 0;
      EXPECT_EQ(receive, std::vector<int>(4, is_left ? before : -1)) << loss.name;
      for (LNW_Request& request : rebuilt) EXPECT_MPI(LNW_Request_free(&request));
    }
    EXPECT_MPI(LNW_Request_free(&to));
    EXPECT_MPI(LNW_Request_free(&from));
    MPI_Barrier(MPI_COMM_WORLD);
  }
}

/// All ranks fail, and those that `mine` says with its text.
void expect_all_fail(int code, bool mine, const std::string& text, const std::string& what) {
  EXPECT_NE(code, MPI_SUCCESS) << what;
  if (!mine || code == MPI_SUCCESS) return;
  EXPECT_NE(error_text(code).find(text), std::string::npos) << what << ": " << error_text(code);
}

TEST_F(RebuildTest, WhatIsWrongOnOneRankIsAnErrorOnAll) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  const Shape shape = complete_shape(size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_from_comm(graph.get(), &topology));
  Neighborly made = make("alltoallv", shape.sources, shape.destinations, {.comm = graph.get()}, 3);
  Neighborly other = make("allgather", shape.sources, shape.destinations, {.comm = graph.get()}, 3);
  LNW_Request rebuilt = LNW_REQUEST_NULL;
  LNW_Topology fewer = LNW_TOPOLOGY_NULL;
  const bool here = rank() == 1;
  const auto remake = [&](LNW_Request request) { return LNW_Request_rebuild(request, comm.get(), &rebuilt); };
  const auto on = [&](LNW_Request request, LNW_Topology place) {
    return LNW_Request_rebuild_topology(request, place, &rebuilt);
  };
  const auto good = [&] {
    EXPECT_EQ(rebuilt, LNW_REQUEST_NULL);
    EXPECT_MPI(remake(made.request));
    expect_messages(made, rebuilt, losses().back(), comm.get());
    EXPECT_MPI(LNW_Request_free(&rebuilt));
  };
  good();
  expect_all_fail(remake(here ? LNW_REQUEST_NULL : made.request), here, "request is LNW_REQUEST_NULL", "null");
  good();
  expect_all_fail(here ? LNW_Request_rebuild(made.request, comm.get(), nullptr) : remake(made.request), here,
                  "rebuilt is NULL", "nowhere");
  expect_all_fail(remake(here ? other.request : made.request), true, "request is of", "another");
  good();
  if (here) EXPECT_MPI(LNW_Start(&made.request));
  expect_all_fail(remake(made.request), here, "request is active", "active");
  if (!here) EXPECT_MPI(LNW_Start(&made.request));
  EXPECT_MPI(LNW_Wait(&made.request, MPI_STATUS_IGNORE));
  good();
  // Processes that the request's communicator has not: nobody waits for them, nor for ranks that give what they should.
  LNW_Request alone = LNW_REQUEST_NULL;
  int sent = 0, received = 0;
  EXPECT_MPI(LNW_Allgather_init(&sent, 1, MPI_INT, &received, 1, MPI_INT, MPI_COMM_SELF, MPI_INFO_NULL, &alone));
  if (here) {
    const int code = remake(alone);
    expect_error_class(code, MPI_ERR_COMM);
    expect_all_fail(code, true, "LNW_Request_rebuild on rank 1: comm: its rank 0 is not in the communicator", "others");
  }
  EXPECT_MPI(LNW_Request_free(&alone));
  expect_all_fail(LNW_Request_rebuild(made.request, MPI_COMM_NULL, &rebuilt), true, "MPI_COMM_NULL", "no communicator");
  good();
  LNW_Request once = LNW_REQUEST_NULL;
  if (here) EXPECT_MPI(LNW_Iallreduce(&sent, &received, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF, &once));
  expect_all_fail(remake(here ? once : made.request), here, "request is nonblocking", "nonblocking");
  if (here) EXPECT_MPI(LNW_Wait(&once, MPI_STATUS_IGNORE));
  // Topologies.
  const auto shrink = [&](LNW_Topology one, LNW_Topology* place) {
    return LNW_Topology_shrink(one, comm.get(), place);
  };
  expect_all_fail(shrink(here ? LNW_TOPOLOGY_NULL : topology, &fewer), here, "topology is LNW_TOPOLOGY_NULL", "null");
  expect_all_fail(shrink(topology, here ? nullptr : &fewer), here, "shrunken is NULL", "nowhere");
  expect_all_fail(LNW_Topology_shrink(topology, MPI_COMM_NULL, &fewer), true, "MPI_COMM_NULL", "no communicator");
  expect_all_fail(LNW_Topology_shrink_comm(here ? MPI_COMM_NULL : graph.get(), comm.get(), &fewer), here,
                  "comm_old: MPI_COMM_NULL", "no graph");
  expect_all_fail(LNW_Topology_shrink_comm(here ? comm.get() : graph.get(), comm.get(), &fewer), here,
                  "has no topology", "no topology");
  // One whose edges are others'.
  const Comm ring = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const Comm loops = make_graph(MPI_COMM_WORLD, {{rank()}, {rank()}});
  LNW_Topology of_ring = LNW_TOPOLOGY_NULL, of_loops = LNW_TOPOLOGY_NULL, of_self = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_from_comm(ring.get(), &of_ring));
  EXPECT_MPI(LNW_Topology_from_comm(loops.get(), &of_loops));
  const int itself = 0;
  EXPECT_MPI(LNW_Topology_create(MPI_COMM_SELF, 1, &itself, MPI_UNWEIGHTED, 1, &itself, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                 &of_self));
  if (here) expect_all_fail(shrink(of_self, &fewer), true, "comm: its rank 0 is not in the communicator", "others");
  expect_all_fail(shrink(here ? of_loops : topology, &fewer), true, "edge ", "another");
  EXPECT_EQ(fewer, LNW_TOPOLOGY_NULL);
  EXPECT_MPI(shrink(of_ring, &fewer));
  if (size() != 2) expect_all_fail(on(made.request, fewer), true, "degree", "another number of neighbors");
  free_topology(fewer);
  EXPECT_MPI(
      LNW_Allgather_init(&sent, 1, MPI_INT, made.receive.data(), 1, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &alone));
  expect_all_fail(on(alone, topology), true, "which has no neighborhoods", "dense");
  EXPECT_MPI(LNW_Request_free(&alone));
  // A root that is gone.
  const Loss loss = losses()[1];
  const Comm some = comm_of(loss.left);
  EXPECT_MPI(LNW_Bcast_init(&sent, 1, MPI_INT, size() / 2, MPI_COMM_WORLD, MPI_INFO_NULL, &alone));
  if (some.get() != MPI_COMM_NULL) {
    const int code = LNW_Request_rebuild(alone, some.get(), &rebuilt);
    expect_all_fail(code, true, "root " + std::to_string(size() / 2) + " of the bcast", "root");
    expect_error_class(code, MPI_ERR_RANK);
  }
  EXPECT_MPI(LNW_Request_free(&alone));
  free_topology(topology);
  free_topology(of_ring);
  free_topology(of_loops);
  free_topology(of_self);
  good();
  EXPECT_MPI(LNW_Request_free(&made.request));
  EXPECT_MPI(LNW_Request_free(&other.request));
}

}  // namespace
}  // namespace laneway::test
