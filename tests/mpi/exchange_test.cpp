// Every operation, blocking, nonblocking and persistent, by every strategy on several machines, against MPI's own
// result.
#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

namespace laneway::test {
namespace {

/// All operations on a communicator, each strategy on the machines in `on` in turn.
void all_operations(MPI_Comm comm, std::uint64_t seed, const std::vector<std::string>& on) {
  const int has_twice = neighborhood_of(comm).has_edge_twice();
  int twice = 0;
  MPI_Allreduce(&has_twice, &twice, 1, MPI_INT, MPI_MAX, comm);
  std::size_t turn = seed, form_turn = seed;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(LNW_Topology_from_comm(comm, &topology));
  const std::array<Form, 4> forms{
      {{false, LNW_TOPOLOGY_NULL}, {true, LNW_TOPOLOGY_NULL}, {false, topology}, {true, topology}}};
  for (Op op : all_ops) {
    for (bool typed : {false, true}) {
      Exchange exchange(op, comm, mix({seed, static_cast<std::uint64_t>(op), typed}), typed);
      exchange.fill(0);
      exchange.reference();
      // MPICH 4.0's own alltoallw gives wrong results and writes beyond the buffers, on graphs without anything
      // special.
      const bool compare = !(is_mpich() && op == Op::alltoallw);
      static bool said = false;
      if (!compare && !std::exchange(said, true) && rank() == 0)
        std::cout << "SKIP-compare: MPI_Neighbor_alltoallw of this MPI library is not reliable; compared with messages "
                     "only\n";
      const int mine = compare && !exchange.mpi_agrees();
      int any = 0;
      MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
      if (any && rank() == 0)
        std::cout << "SKIP-compare: MPI_Neighbor_" << name(op)
                  << " of this MPI library does not match an edge that occurs twice in the "
                  << "standard's order; compared with the rule only\n";
      EXPECT_FALSE(any && !twice) << "MPI_Neighbor_" << name(op);
      for (const Form& form : forms) exchange.expect_calls(form.text(), form);
      for (const Choice& choice : choices(on[turn++ % on.size()])) {
        const Info info(choice.hints(comm));
        LNW_Request request = LNW_REQUEST_NULL;
        Form form = forms[form_turn % forms.size()];
        form.generic = form_turn++ / forms.size() % 2 == 0;
        EXPECT_MPI(exchange.init(info.get(), &request, form));
        if (request == LNW_REQUEST_NULL) return;
        for (int iteration = 1; iteration <= 2; ++iteration) {
          exchange.fill(iteration);
          exchange.reference();
          EXPECT_MPI(LNW_Start(&request));
          if (iteration == 1) {
            EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
          } else {
            for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
          }
          EXPECT_TRUE(exchange.arrived()) << choice.text() << ", " << form.text() << ", iteration " << iteration;
        }
        EXPECT_MPI(LNW_Request_free(&request));
      }
    }
  }
  EXPECT_MPI(LNW_Topology_free(&topology));
}

// Must stay the first test: nothing has used MPI_COMM_WORLD's nodes yet.
TEST(First, SubcommunicatorsBeforeTheWorld) {
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &part);
  const Comm owner(part);
  int r = 0, n = 0;
  MPI_Comm_rank(part, &r);
  MPI_Comm_size(part, &n);
  const Comm graph = make_graph(part, random_shape(31, r, n));
  all_operations(graph.get(), 32, {""});
}

class ExchangeTest : public MpiTest {};

TEST_F(ExchangeTest, RandomGraphs) {
  // Six graphs have each operation on each machine. On devices that is enough: other graphs run in the host's memory.
  const int graphs = effort(std::getenv("LANEWAY_TEST_MEMORY") != nullptr ? 6 : size() > 3 ? 8 : 16);
  for (int n = 0; n < graphs; ++n) {
    const auto seed = static_cast<std::uint64_t>(n) + 1;
    const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()));
    all_operations(graph.get(), seed, machines());
  }
}

TEST_F(ExchangeTest, GraphsMadeByMpi) {
  const Shape shape = random_shape(77, rank(), size());
  // Adjacent, with weights.
  std::vector<int> source_weights(shape.sources.size() + 1, 3), destination_weights(shape.destinations.size() + 1, 4);
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(shape.sources.size()),
                                            shape.sources.data(), source_weights.data(),
                                            static_cast<int>(shape.destinations.size()), shape.destinations.data(),
                                            destination_weights.data(), MPI_INFO_NULL, 0, &comm));
  all_operations(comm, 78, {uneven_machine()});
  MPI_Comm_free(&comm);

  // Every rank contributes edges of its successor.
  const int owner = (rank() + 1) % size();
  const Shape other = random_shape(79, owner, size());
  std::map<int, int> sorted;
  for (int destination : other.destinations) ++sorted[destination];
  std::vector<int> destinations;
  destinations.reserve(sorted.size() + 1);
  for (const auto& [destination, times] : sorted) destinations.push_back(destination);
  const int degree = static_cast<int>(destinations.size());
  EXPECT_MPI(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &owner, &degree, destinations.data(), MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm));
  all_operations(comm, 80, {"node:* rank:3"});
  MPI_Comm_free(&comm);
}

TEST_F(ExchangeTest, GraphCreate) {
  // Symmetric: i and j are neighbours if a number that both know says so.
  std::vector<int> index, edges;
  edges.reserve(1);
  for (int i = 0; i < size(); ++i) {
    for (int j = 0; j < size(); ++j)
      if (i != j &&
          mix({5, static_cast<std::uint64_t>(std::min(i, j)), static_cast<std::uint64_t>(std::max(i, j))}) % 3 == 0)
        edges.push_back(j);
    index.push_back(static_cast<int>(edges.size()));
  }
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Graph_create(MPI_COMM_WORLD, size(), index.data(), edges.data(), 0, &comm));
  all_operations(comm, 90, {uneven_machine(), "node:* rank:2"});
  MPI_Comm_free(&comm);
}

/// Cartesian communicators of the given sizes, on as many ranks as they need.
void cartesian(const std::vector<int>& sizes, const std::vector<int>& periods) {
  int needed = 1;
  for (int n : sizes) needed *= n;
  if (needed > size()) {
    if (rank() == 0)
      std::cout << "SKIP: a Cartesian communicator of " << needed << " ranks, there are " << size() << "\n";
    return;
  }
  MPI_Comm comm = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Cart_create(MPI_COMM_WORLD, static_cast<int>(sizes.size()), sizes.data(), periods.data(), 0, &comm));
  if (comm != MPI_COMM_NULL) {
    all_operations(comm, mix({91, static_cast<std::uint64_t>(needed), static_cast<std::uint64_t>(periods[0])}),
                   {uneven_machine(), "node:* rank:2"});
    MPI_Comm_free(&comm);
  }
}

TEST_F(ExchangeTest, Cartesian) {
  const std::vector<std::pair<std::vector<int>, std::vector<int>>> cases = {
      {{1}, {0}},
      {{1}, {1}},
      {{2}, {0}},
      {{2}, {1}},
      {{3}, {0}},
      {{3}, {1}},
      {{1, 1}, {1, 1}},
      {{2, 1}, {1, 1}},
      {{2, 2}, {1, 0}},
      {{2, 2}, {1, 1}},
      {{3, 2}, {0, 1}},
      {{3, 3}, {1, 1}},
      {{2, 2, 2}, {1, 1, 1}},
      {{1, 3, 2}, {1, 0, 1}},
      {{4, 4}, {1, 0}},
      {{2, 3, 2}, {0, 1, 0}},
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (effort(3) < 3 && i % 3 != 0) continue;
    cartesian(cases[i].first, cases[i].second);
  }
}

TEST_F(ExchangeTest, GridsOfNoDimensionsAndPartsOfGrids) {
  MPI_Comm made = MPI_COMM_NULL;
  EXPECT_MPI(MPI_Cart_create(MPI_COMM_SELF, 0, nullptr, nullptr, 0, &made));
  const Comm point(made);
  const Neighborhood none = neighborhood_of(made);
  EXPECT_TRUE(none.sources.empty() && none.destinations.empty());
  EXPECT_MPI(LNW_Neighbor_alltoall(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, made));
  for (const Choice& choice : choices("node:* rank:1")) {
    const Info info(choice.hints(made));
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoallv_init(nullptr, nullptr, nullptr, MPI_INT, nullptr, nullptr, nullptr, MPI_INT, made,
                                           info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&request));
  }
  std::array<int, 2> sizes{};
  const std::array<int, 2> periods{1, 0};
  EXPECT_MPI(MPI_Dims_create(size(), 2, sizes.data()));
  EXPECT_MPI(MPI_Cart_create(MPI_COMM_WORLD, 2, sizes.data(), periods.data(), 0, &made));
  const Comm grid(made);
  for (const std::array<int, 2>& kept : {std::array{1, 0}, std::array{0, 1}}) {
    EXPECT_MPI(MPI_Cart_sub(grid.get(), kept.data(), &made));
    const Comm line(made);
    all_operations(line.get(), mix({92, static_cast<std::uint64_t>(kept[0])}), {""});
  }
}

TEST_F(ExchangeTest, OtherCommunicators) {
  {
    // Reversed ranks: regions are made of world ranks.
    MPI_Comm reversed = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, 0, size() - rank(), &reversed);
    const Comm owner(reversed);
    int r = 0;
    MPI_Comm_rank(reversed, &r);
    const Comm graph = make_graph(reversed, random_shape(41, r, size()));
    all_operations(graph.get(), 42, {uneven_machine(), ""});
  }
  {
    MPI_Comm part = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, -rank(), &part);
    const Comm owner(part);
    int r = 0, n = 0;
    MPI_Comm_rank(part, &r);
    MPI_Comm_size(part, &n);
    const Comm graph = make_graph(part, random_shape(43, r, n));
    all_operations(graph.get(), 44, {uneven_machine(), "node:* rank:3"});
  }
  {
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank(), 0, &alone);
    const Comm owner(alone);
    const Comm graph = make_graph(alone, {{0, 0, 0}, {0, 0, 0}});
    all_operations(graph.get(), 45, {""});
  }
  const Comm self_graph = make_graph(MPI_COMM_SELF, {{0}, {0}});
  all_operations(self_graph.get(), 46, {"node:* rank:1"});
}

TEST_F(ExchangeTest, NoEdgesAndNullArrays) {
  // Everything that may be NULL is, at degree zero.
  const Comm graph = make_graph(MPI_COMM_WORLD, {});
  const MPI_Comm comm = graph.get();
  EXPECT_MPI(LNW_Neighbor_allgather(nullptr, 3, MPI_INT, nullptr, 3, MPI_INT, comm));
  EXPECT_MPI(LNW_Neighbor_allgatherv(nullptr, 3, MPI_INT, nullptr, nullptr, nullptr, MPI_INT, comm));
  EXPECT_MPI(LNW_Neighbor_alltoall(nullptr, 1, MPI_INT, nullptr, 1, MPI_INT, comm));
  EXPECT_MPI(LNW_Neighbor_alltoallv(nullptr, nullptr, nullptr, MPI_INT, nullptr, nullptr, nullptr, MPI_INT, comm));
  EXPECT_MPI(LNW_Neighbor_alltoallw(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, comm));
  for (const Choice& choice : choices(uneven_machine())) {
    const Info info(choice.hints());
    std::vector<LNW_Request> requests(3);
    EXPECT_MPI(LNW_Neighbor_alltoallv_init(nullptr, nullptr, nullptr, MPI_INT, nullptr, nullptr, nullptr, MPI_INT, comm,
                                           info.get(), &requests[0]));
    EXPECT_MPI(LNW_Neighbor_alltoallw_init(nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, comm,
                                           info.get(), &requests[1]));
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed(nullptr, 0, nullptr, nullptr, MPI_INT, nullptr, 0, nullptr, nullptr,
                                                   MPI_INT, comm, info.get(), &requests[2]));
    for (int i = 0; i < 2; ++i) {
      EXPECT_MPI(LNW_Startall(3, requests.data()));
      EXPECT_MPI(LNW_Waitall(3, requests.data(), MPI_STATUSES_IGNORE));
    }
    for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
  }
}

TEST_F(ExchangeTest, ZeroCountsWithNullBuffers) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const MPI_Comm comm = graph.get();
  const std::vector<int> zeros(2, 0);
  EXPECT_MPI(LNW_Neighbor_alltoallv(nullptr, zeros.data(), zeros.data(), MPI_INT, nullptr, zeros.data(), zeros.data(),
                                    MPI_INT, comm));
  EXPECT_MPI(LNW_Neighbor_allgather(nullptr, 0, MPI_INT, nullptr, 0, MPI_INT, comm));
  for (const Choice& choice : choices("node:* rank:2")) {
    const Info info(choice.hints());
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoallv_init(nullptr, zeros.data(), zeros.data(), MPI_INT, nullptr, zeros.data(),
                                           zeros.data(), MPI_INT, comm, info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed(nullptr, 0, zeros.data(), nullptr, MPI_INT, nullptr, 0, zeros.data(),
                                                   nullptr, MPI_INT, comm, info.get(), &request));
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

/// alltoallv_init_indexed against a packed MPI exchange, element by element.
class Indexed {
 public:
  Indexed(MPI_Comm comm, std::uint64_t seed, MPI_Datatype send_type, MPI_Datatype receive_type)
      : comm_(comm),
        seed_(seed),
        send_type_(send_type),
        receive_type_(receive_type),
        neighbors_(neighborhood_of(comm)) {
    int r = 0;
    MPI_Comm_rank(comm, &r);
    Random random(static_cast<unsigned>(mix({seed, static_cast<std::uint64_t>(r)})));
    auto side = [&](const std::vector<int>& peers, bool sends, std::vector<int>& counts,
                    std::vector<MPI_Count>& indices) {
      for (int peer : peers) {
        const auto s = static_cast<std::uint64_t>(sends ? r : peer);
        const auto d = static_cast<std::uint64_t>(sends ? peer : r);
        counts.push_back(peer == MPI_PROC_NULL ? 0 : static_cast<int>(mix({seed, s, d}) % 14));
        for (int i = 0; i < counts.back(); ++i) {
          // Runs of neighbouring elements, and repetitions.
          const bool follows = i > 0 && pick(random, 0, 1) == 0 && indices.back() + 1 < elements;
          indices.push_back(follows ? indices.back() + 1 : pick(random, 0, elements - 1));
        }
      }
    };
    side(neighbors_.destinations, true, send_counts_, send_indices_);
    side(neighbors_.sources, false, receive_counts_, receive_indices_);
    MPI_Aint lower = 0;
    MPI_Type_get_extent(send_type, &lower, &send_extent_);
    MPI_Type_get_extent(receive_type, &lower, &receive_extent_);
    send_ = Memory(-64, send_extent_ * elements + 64);
    receive_ = Memory(-64, receive_extent_ * elements + 64);
    rank_ = r;
  }

  int init(MPI_Info info, LNW_Request* request, bool bind) {
    if (seed_ % 2 == 0) {
      LNW_Call call = LNW_CALL_INIT(LNW_NEIGHBOR_ALLTOALLV_INDEXED);
      call.sendbuf = bind ? send_.base() : nullptr;
      call.recvbuf = bind ? receive_.base() : nullptr;
      call.sendsize = call.recvsize = elements;
      call.sendcounts = send_counts_.data();
      call.recvcounts = receive_counts_.data();
      call.sendindices = send_indices_.data();
      call.recvindices = receive_indices_.data();
      call.sendtype = send_type_;
      call.recvtype = receive_type_;
      return LNW_Operation_init(&call, {comm_, LNW_TOPOLOGY_NULL}, info, request);
    }
    return LNW_Neighbor_alltoallv_init_indexed(bind ? send_.base() : nullptr, elements, send_counts_.data(),
                                               send_indices_.data(), send_type_, bind ? receive_.base() : nullptr,
                                               elements, receive_counts_.data(), receive_indices_.data(), receive_type_,
                                               comm_, info, request);
  }
  int bind(LNW_Request request) { return LNW_Request_set_buffers(request, send_.base(), receive_.base()); }

  void fill(int iteration) {
    Random random(static_cast<unsigned>(
        mix({seed_, static_cast<std::uint64_t>(rank_), 7, static_cast<std::uint64_t>(iteration)})));
    for (unsigned char& byte : send_.bytes()) byte = static_cast<unsigned char>(random() % 251);
    std::fill(receive_.bytes().begin(), receive_.bytes().end(), static_cast<unsigned char>(0xcd));
  }

  testing::AssertionResult arrived() {
    int size_of_element = 0;
    MPI_Type_size(send_type_, &size_of_element);
    const auto bytes = static_cast<std::size_t>(size_of_element);
    std::vector<unsigned char> packed(send_indices_.size() * bytes + 1), unpacked(receive_indices_.size() * bytes + 1);
    int position = 0;
    for (MPI_Count index : send_indices_)
      MPI_Pack(send_.base() + index * send_extent_, 1, send_type_, packed.data(), static_cast<int>(packed.size()),
               &position, comm_);
    std::vector<MPI_Request> requests;
    auto post = [&](const std::vector<int>& peers, const std::vector<int>& counts, unsigned char* data, bool sends) {
      for (std::size_t slot = 0; slot < peers.size(); ++slot) {
        const int n = counts[slot] * size_of_element;
        requests.push_back(MPI_REQUEST_NULL);
        const int tag = neighbors_.cartesian ? static_cast<int>(sends ? slot : slot ^ 1U) : 0;
        if (sends)
          MPI_Isend(data, n, MPI_PACKED, peers[slot], tag, comm_, &requests.back());
        else
          MPI_Irecv(data, n, MPI_PACKED, peers[slot], tag, comm_, &requests.back());
        data += n;
      }
    };
    post(neighbors_.sources, receive_counts_, unpacked.data(), false);
    post(neighbors_.destinations, send_counts_, packed.data(), true);
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    Memory expected = receive_;
    std::fill(expected.bytes().begin(), expected.bytes().end(), static_cast<unsigned char>(0xcd));
    position = 0;
    for (MPI_Count index : receive_indices_)
      MPI_Unpack(unpacked.data(), static_cast<int>(unpacked.size()), &position,
                 expected.base() + index * receive_extent_, 1, receive_type_, comm_);
    if (expected.bytes() == receive_.bytes()) return testing::AssertionSuccess();
    const auto at = std::mismatch(expected.bytes().begin(), expected.bytes().end(), receive_.bytes().begin()).first -
                    expected.bytes().begin();
    return testing::AssertionFailure() << "indexed, seed " << seed_ << ", rank " << rank_ << ": first wrong byte is "
                                       << at - 64;
  }

  static constexpr int elements = 23;

 private:
  MPI_Comm comm_;
  std::uint64_t seed_;
  MPI_Datatype send_type_, receive_type_;
  Neighborhood neighbors_;
  std::vector<int> send_counts_, receive_counts_;
  std::vector<MPI_Count> send_indices_, receive_indices_;
  MPI_Aint send_extent_ = 0, receive_extent_ = 0;
  Memory send_, receive_;
  int rank_ = 0;
};

TEST_F(ExchangeTest, IndexedWithDuplicatesOnBothSides) {
  // Types without holes that another element fills: the pair types that are as large as their extent, and those with
  // gaps.
  const std::vector<MPI_Datatype>& pool = pair_types();
  for (int n = 0; n < effort(24); ++n) {
    const auto seed = 500 + static_cast<std::uint64_t>(n);
    const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()));
    const MPI_Datatype send_type = pool[mix({seed, 1}) % pool.size()];
    const MPI_Datatype receive_type = pool[mix({seed, 2}) % pool.size()];
    const std::vector<std::string> on = machines();
    for (const Choice& choice : choices(on[static_cast<std::size_t>(n) % on.size()])) {
      Indexed indexed(graph.get(), seed, send_type, receive_type);
      const Info info(choice.hints());
      LNW_Request request = LNW_REQUEST_NULL;
      const bool bind = n % 2 == 0;
      EXPECT_MPI(indexed.init(info.get(), &request, bind));
      if (request == LNW_REQUEST_NULL) return;
      if (!bind) {
        EXPECT_MPI(indexed.bind(request));
      }
      for (int iteration = 0; iteration < 2; ++iteration) {
        indexed.fill(iteration);
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(indexed.arrived()) << choice.text();
      }
      EXPECT_MPI(LNW_Request_free(&request));
    }
  }
}

TEST_F(ExchangeTest, IndexedOnPeriodicCartesianOfOneAndTwo) {
  // Both neighbours are one rank, and both blocks name the same places: the later slot wins.
  for (int n : {1, 2}) {
    if (n > size()) {
      if (rank() == 0) std::cout << "SKIP: needs " << n << " ranks, there are " << size() << "\n";
      continue;
    }
    const int periodic = 1;
    MPI_Comm comm = MPI_COMM_NULL;
    EXPECT_MPI(MPI_Cart_create(MPI_COMM_WORLD, 1, &n, &periodic, 0, &comm));
    if (comm == MPI_COMM_NULL) continue;
    for (const Choice& choice : choices("node:* rank:1")) {
      const Info info(choice.hints(comm));
      const std::vector<int> counts{1, 1};
      const std::vector<MPI_Count> from{0, 1}, to{0, 0};
      const std::vector<int> send{10 * rank() + 1, 10 * rank() + 2};
      int receive = -1;
      LNW_Request request = LNW_REQUEST_NULL;
      EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed(send.data(), 2, counts.data(), from.data(), MPI_INT, &receive, 1,
                                                     counts.data(), to.data(), MPI_INT, comm, info.get(), &request));
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      // The last slot receives from the positive neighbour, what that sent in the negative direction: its element 0.
      EXPECT_EQ(receive, 10 * ((rank() + 1) % n) + 1) << choice.text();
      EXPECT_MPI(LNW_Request_free(&request));
    }
    for (std::uint64_t seed : {601U, 602U, 603U})
      for (const Choice& choice : choices("node:* rank:1")) {
        Indexed indexed(comm, seed, MPI_2INT, MPI_2INT);
        const Info info(choice.hints(comm));
        LNW_Request request = LNW_REQUEST_NULL;
        EXPECT_MPI(indexed.init(info.get(), &request, true));
        indexed.fill(0);
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(indexed.arrived()) << choice.text();
        EXPECT_MPI(LNW_Request_free(&request));
      }
    MPI_Comm_free(&comm);
  }
}

TEST_F(ExchangeTest, BottomWithAbsoluteDisplacements) {
  const Shape shape = ring_shape(rank(), size());
  const Comm graph = make_graph(MPI_COMM_WORLD, shape);
  std::vector<int> send{rank() * 10 + 1, -7, rank() * 10 + 2};
  std::vector<int> receive(5, -1);
  const std::vector<int> counts{1, 1};
  std::vector<MPI_Aint> from(2), to(2);
  MPI_Get_address(&send[0], &from[0]);
  MPI_Get_address(&send[2], &from[1]);
  MPI_Get_address(&receive[3], &to[0]);
  MPI_Get_address(&receive[1], &to[1]);
  const std::vector<MPI_Datatype> types{MPI_INT, MPI_INT};
  const std::vector<int> expected{-1, shape.sources[1] * 10 + 2, -1, shape.sources[0] * 10 + 1, -1};
  EXPECT_MPI(LNW_Neighbor_alltoallw(MPI_BOTTOM, counts.data(), from.data(), types.data(), MPI_BOTTOM, counts.data(),
                                    to.data(), types.data(), graph.get()));
  EXPECT_EQ(receive, expected);
  for (const Choice& choice : choices("node:* rank:2")) {
    const Info info(choice.hints());
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_alltoallw_init(MPI_BOTTOM, counts.data(), from.data(), types.data(), MPI_BOTTOM,
                                           counts.data(), to.data(), types.data(), graph.get(), info.get(), &request));
    std::fill(receive.begin(), receive.end(), -1);
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(receive, expected) << choice.text();
    EXPECT_MPI(LNW_Request_free(&request));
  }
}

}  // namespace
}  // namespace laneway::test
