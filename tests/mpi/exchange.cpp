#include "exchange.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

namespace laneway::test {

std::string Form::text() const {
  return std::string(large ? "large counts" : "int counts") +
         (topology != LNW_TOPOLOGY_NULL ? ", topology object" : "") + (generic ? ", generic" : "");
}

Neighborhood neighborhood_of(MPI_Comm comm) {
  Neighborhood result;
  int kind = MPI_UNDEFINED;
  MPI_Topo_test(comm, &kind);
  if (kind == MPI_DIST_GRAPH) {
    int indegree = 0, outdegree = 0, weighted = 0;
    MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted);
    std::vector<int> sources(static_cast<std::size_t>(indegree) + 1),
        destinations(static_cast<std::size_t>(outdegree) + 1);
    std::vector<int> source_weights(sources.size()), destination_weights(destinations.size());
    MPI_Dist_graph_neighbors(comm, indegree, sources.data(), weighted ? source_weights.data() : MPI_UNWEIGHTED,
                             outdegree, destinations.data(), weighted ? destination_weights.data() : MPI_UNWEIGHTED);
    sources.pop_back();
    destinations.pop_back();
    return {sources, destinations, false};
  }
  std::vector<int> both;
  if (kind == MPI_CART) {
    int dimensions = 0;
    MPI_Cartdim_get(comm, &dimensions);
    for (int d = 0; d < dimensions; ++d) {
      int negative = MPI_PROC_NULL, positive = MPI_PROC_NULL;
      MPI_Cart_shift(comm, d, 1, &negative, &positive);
      both.push_back(negative);
      both.push_back(positive);
    }
  } else {
    int r = 0, count = 0;
    MPI_Comm_rank(comm, &r);
    MPI_Graph_neighbors_count(comm, r, &count);
    both.resize(static_cast<std::size_t>(count) + 1);
    MPI_Graph_neighbors(comm, r, count, both.data());
    both.pop_back();
  }
  return {both, both, kind == MPI_CART};
}

bool Neighborhood::has_edge_twice() const {
  for (std::vector<int> peers : {sources, destinations}) {
    std::erase(peers, MPI_PROC_NULL);
    std::sort(peers.begin(), peers.end());
    if (std::adjacent_find(peers.begin(), peers.end()) != peers.end()) return true;
  }
  return false;
}

namespace {

std::vector<MPI_Datatype> make_pair_types() {
  std::vector<MPI_Datatype> types;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  auto add = [&] {
    MPI_Type_commit(&type);
    types.push_back(type);
  };
  MPI_Type_contiguous(2, MPI_INT, &type);
  add();
  MPI_Type_vector(2, 1, 3, MPI_INT, &type);
  add();
  const std::array<int, 2> ones{1, 1};
  const std::array<int, 2> backwards{3, 0};
  MPI_Type_indexed(2, ones.data(), backwards.data(), MPI_INT, &type);
  add();
  const std::array<MPI_Aint, 2> around{-8, 4};
  MPI_Type_create_hindexed(2, ones.data(), around.data(), MPI_INT, &type);
  add();
  const std::array<MPI_Datatype, 2> ints{MPI_INT, MPI_INT};
  const std::array<MPI_Aint, 2> apart{12, 0};
  MPI_Type_create_struct(2, ones.data(), apart.data(), ints.data(), &type);
  add();
  MPI_Datatype inner = types[1];
  MPI_Type_create_resized(inner, -8, 32, &type);
  add();
  MPI_Type_dup(types[2], &type);
  add();
  const std::array<int, 2> sizes{3, 3}, subsizes{2, 1}, starts{1, 2};
  MPI_Type_create_subarray(2, sizes.data(), subsizes.data(), starts.data(), MPI_ORDER_FORTRAN, MPI_INT, &type);
  add();
  MPI_Type_create_hvector(2, 1, -12, MPI_INT, &type);
  add();
  return types;
}

std::vector<MPI_Datatype>& pair_types_storage() {
  static std::vector<MPI_Datatype> types = make_pair_types();
  return types;
}

struct Footprint {
  std::int64_t lower = 0;
  std::int64_t upper = 0;
  std::int64_t extent = 0;
};

Footprint footprint(MPI_Datatype type, int count) {
  MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
  MPI_Type_get_extent(type, &lower, &extent);
  MPI_Type_get_true_extent(type, &true_lower, &true_extent);
  if (count == 0) return {0, 0, extent};
  return {true_lower, static_cast<std::int64_t>(count - 1) * extent + true_lower + true_extent, extent};
}

}  // namespace

const std::vector<MPI_Datatype>& pair_types() {
  return pair_types_storage();
}

void free_pair_types() {
  for (MPI_Datatype& type : pair_types_storage()) MPI_Type_free(&type);
  pair_types_storage().clear();
}

Exchange::Exchange(Op op, MPI_Comm comm, std::uint64_t seed, bool typed)
    : op_(op), comm_(comm), seed_(seed), neighbors_(neighborhood_of(comm)) {
  MPI_Comm_rank(comm, &rank_);
  Random random(static_cast<unsigned>(mix({seed, 100, static_cast<std::uint64_t>(rank_)})));
  const std::vector<MPI_Datatype>& pool = pair_types();
  auto some_type = [&] {
    return typed ? pool[static_cast<std::size_t>(pick(random, 0, static_cast<int>(pool.size()) - 1))] : MPI_INT;
  };
  // Elements from one rank to another: often none, sometimes many.
  auto edge_count = [&](int source, int destination) {
    const std::uint64_t h =
        mix({seed, 101, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(destination)});
    return static_cast<int>(h % 5 == 0 ? 0 : h % 7 == 0 ? 40 + h % 100 : 1 + h % 4);
  };
  const auto uniform = static_cast<int>(mix({seed, 102}) % 6);
  const bool gathers = op == Op::allgather || op == Op::allgatherv;
  // In gather operations the sender alone decides.
  auto gather_count = [&](int source) {
    return op == Op::allgather ? uniform : static_cast<int>(mix({seed, 103, static_cast<std::uint64_t>(source)}) % 20);
  };
  auto count_on = [&](int source, int destination) {
    if (gathers) return gather_count(source);
    return op == Op::alltoall ? uniform : edge_count(source, destination);
  };

  auto prepare = [&](Side& side, const std::vector<int>& peers, bool sends) {
    const std::size_t degree = peers.size();
    side.type = some_type();
    side.count = gathers && sends ? gather_count(rank_) : uniform;
    // Open MPI's own functions refuse NULL arrays, also at degree zero.
    side.counts.reserve(degree + 1);
    side.displacements.reserve(degree + 1);
    side.large_counts.reserve(degree + 1);
    side.large_displacements.reserve(degree + 1);
    side.byte_displacements.reserve(degree + 1);
    side.types.reserve(degree + 1);
    side.counts.resize(degree);
    side.displacements.resize(degree);
    side.byte_displacements.resize(degree);
    side.types.assign(degree, side.type);
    std::vector<std::size_t> order(degree);
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random);
    std::int64_t lower = 0, upper = 0, cursor = -40;
    auto covers = [&](const Footprint& f, std::int64_t offset) {
      lower = std::min(lower, offset + f.lower);
      upper = std::max(upper, offset + f.upper);
    };
    for (std::size_t slot : order) {
      if (op == Op::alltoallw) side.types[slot] = some_type();
      side.counts[slot] = peers[slot] == MPI_PROC_NULL ? 2
                          : sends                      ? count_on(rank_, peers[slot])
                                                       : count_on(peers[slot], rank_);
      const Footprint f = footprint(side.types[slot], side.counts[slot]);
      const std::int64_t unit = op == Op::alltoallw ? 4 : f.extent;
      // Send blocks may overlap, receive blocks must not.
      std::int64_t place = sends ? pick(random, -4, 6) : (cursor - f.lower + unit - 1) / unit + pick(random, 0, 2);
      if (op == Op::alltoall || op == Op::allgather) place = static_cast<std::int64_t>(slot) * uniform;
      if (gathers && sends) place = 0;
      side.displacements[slot] = static_cast<int>(place);
      side.byte_displacements[slot] = place * unit;
      covers(f, place * unit);
      cursor = std::max(cursor, place * unit + f.upper);
    }
    side.large_counts.assign(side.counts.begin(), side.counts.end());
    side.large_displacements.assign(side.displacements.begin(), side.displacements.end());
    if (gathers && sends) covers(footprint(side.type, side.count), 0);
    side.memory = Memory(lower - 24, upper + 24);
  };
  prepare(send_, neighbors_.destinations, true);
  prepare(receive_, neighbors_.sources, false);
  expected_ = receive_.memory;
  std::uint64_t kind = mix({seed, 105, static_cast<std::uint64_t>(rank_)});
  for (Side* side : {&send_, &receive_}) {
    side->mirror = Mirror(Mirror::kind_of(kind), side->memory.bytes().size());
    kind /= 6;
  }
}

void Exchange::fill(int iteration) {
  Random random(static_cast<unsigned>(
      mix({seed_, 104, static_cast<std::uint64_t>(rank_), static_cast<std::uint64_t>(iteration)})));
  for (unsigned char& byte : send_.memory.bytes()) byte = static_cast<unsigned char>(random() % 251);
  if (send_.mirror) send_.mirror.write(send_.memory.bytes());
  clear();
  expected_.bytes() = receive_.memory.bytes();
}

void Exchange::clear() {
  std::fill(receive_.memory.bytes().begin(), receive_.memory.bytes().end(), static_cast<unsigned char>(0xab));
  if (receive_.mirror) receive_.mirror.write(receive_.memory.bytes());
}

Exchange::Block Exchange::block(Side& side, std::size_t slot, bool sends) {
  const bool same = sends && (op_ == Op::allgather || op_ == Op::allgatherv);
  return {side.memory.base() + (same ? 0 : side.byte_displacements[slot]), same ? side.count : side.counts[slot],
          side.types[slot]};
}

void Exchange::run_messages(Memory& receive) {
  std::vector<MPI_Request> requests;
  std::swap(receive, receive_.memory);
  for (std::size_t slot = 0; slot < neighbors_.sources.size(); ++slot) {
    const Block b = block(receive_, slot, false);
    if (neighbors_.sources[slot] == MPI_PROC_NULL) continue;
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(b.data, b.count, b.type, neighbors_.sources[slot], neighbors_.cartesian ? static_cast<int>(slot ^ 1U) : 0,
              comm_, &requests.back());
  }
  for (std::size_t slot = 0; slot < neighbors_.destinations.size(); ++slot) {
    const Block b = block(send_, slot, true);
    if (neighbors_.destinations[slot] == MPI_PROC_NULL) continue;
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Isend(b.data, b.count, b.type, neighbors_.destinations[slot], neighbors_.cartesian ? static_cast<int>(slot) : 0,
              comm_, &requests.back());
  }
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  std::swap(receive, receive_.memory);
}

void Exchange::run_mpi(Memory& receive) {
  void* const from = send_.memory.base();
  void* const to = receive.base();
  switch (op_) {
    case Op::allgather:
      EXPECT_MPI(MPI_Neighbor_allgather(from, send_.count, send_.type, to, receive_.count, receive_.type, comm_));
      break;
    case Op::allgatherv:
      EXPECT_MPI(MPI_Neighbor_allgatherv(from, send_.count, send_.type, to, receive_.counts.data(),
                                         receive_.displacements.data(), receive_.type, comm_));
      break;
    case Op::alltoall:
      EXPECT_MPI(MPI_Neighbor_alltoall(from, send_.count, send_.type, to, receive_.count, receive_.type, comm_));
      break;
    case Op::alltoallv:
      EXPECT_MPI(MPI_Neighbor_alltoallv(from, send_.counts.data(), send_.displacements.data(), send_.type, to,
                                        receive_.counts.data(), receive_.displacements.data(), receive_.type, comm_));
      break;
    case Op::alltoallw:
      EXPECT_MPI(MPI_Neighbor_alltoallw(from, send_.counts.data(), send_.byte_displacements.data(), send_.types.data(),
                                        to, receive_.counts.data(), receive_.byte_displacements.data(),
                                        receive_.types.data(), comm_));
      break;
    default:
      break;
  }
}

void Exchange::reference() {
  run_messages(expected_);
}

bool Exchange::mpi_agrees() {
  Memory other = receive_.memory;
  std::fill(other.bytes().begin(), other.bytes().end(), static_cast<unsigned char>(0xab));
  run_mpi(other);
  return other.bytes() == expected_.bytes();
}

// The arguments of the operations up to the receive side's type; `large_` is the prefix of the arrays of the
// large-count forms.
#define ALLGATHER(prefix) from, send_.count, send_.type, to, receive_.count, receive_.type
#define ALLGATHERV(prefix)                                                                                  \
  from, send_.count, send_.type, to, receive_.prefix##counts.data(), receive_.prefix##displacements.data(), \
      receive_.type
#define ALLTOALL(prefix) ALLGATHER(prefix)
#define ALLTOALLV(prefix)                                                                \
  from, send_.prefix##counts.data(), send_.prefix##displacements.data(), send_.type, to, \
      receive_.prefix##counts.data(), receive_.prefix##displacements.data(), receive_.type
#define ALLTOALLW(prefix)                                                                     \
  from, send_.prefix##counts.data(), send_.byte_displacements.data(), send_.types.data(), to, \
      receive_.prefix##counts.data(), receive_.byte_displacements.data(), receive_.types.data()
#define IN_FORM(call, arguments, ...)                                                                 \
  (form.topology != LNW_TOPOLOGY_NULL                                                                 \
       ? (form.large ? call##_topology_c(arguments(large_), form.topology __VA_OPT__(, ) __VA_ARGS__) \
                     : call##_topology(arguments(), form.topology __VA_OPT__(, ) __VA_ARGS__))        \
       : (form.large ? call##_c(arguments(large_), comm_ __VA_OPT__(, ) __VA_ARGS__)                  \
                     : call(arguments(), comm_ __VA_OPT__(, ) __VA_ARGS__)))

int Exchange::blocking(const Form& form) {
  void* const from = send_.base();
  void* const to = receive_.base();
  switch (op_) {
    case Op::allgather:
      return IN_FORM(LNW_Neighbor_allgather, ALLGATHER);
    case Op::allgatherv:
      return IN_FORM(LNW_Neighbor_allgatherv, ALLGATHERV);
    case Op::alltoall:
      return IN_FORM(LNW_Neighbor_alltoall, ALLTOALL);
    case Op::alltoallv:
      return IN_FORM(LNW_Neighbor_alltoallv, ALLTOALLV);
    case Op::alltoallw:
      return IN_FORM(LNW_Neighbor_alltoallw, ALLTOALLW);
    default:
      break;
  }
  return MPI_ERR_INTERN;
}

int Exchange::nonblocking(LNW_Request* request, const Form& form) {
  void* const from = send_.base();
  void* const to = receive_.base();
  switch (op_) {
    case Op::allgather:
      return IN_FORM(LNW_Ineighbor_allgather, ALLGATHER, request);
    case Op::allgatherv:
      return IN_FORM(LNW_Ineighbor_allgatherv, ALLGATHERV, request);
    case Op::alltoall:
      return IN_FORM(LNW_Ineighbor_alltoall, ALLTOALL, request);
    case Op::alltoallv:
      return IN_FORM(LNW_Ineighbor_alltoallv, ALLTOALLV, request);
    case Op::alltoallw:
      return IN_FORM(LNW_Ineighbor_alltoallw, ALLTOALLW, request);
    default:
      break;
  }
  return MPI_ERR_INTERN;
}

int Exchange::generic_init(MPI_Info info, LNW_Request* request, const Form& form) {
  LNW_Call call = LNW_CALL_INIT(static_cast<int>(op_));
  const bool typed = op_ == Op::alltoallw;
  call.is_large = form.large;
  call.sendbuf = send_.base();
  call.sendcount = send_.count;
  call.sendcounts = form.large ? static_cast<const void*>(send_.large_counts.data()) : send_.counts.data();
  call.sdispls = typed        ? static_cast<const void*>(send_.byte_displacements.data())
                 : form.large ? static_cast<const void*>(send_.large_displacements.data())
                              : send_.displacements.data();
  call.sendtype = send_.type;
  call.sendtypes = send_.types.data();
  call.recvbuf = receive_.base();
  call.recvcount = receive_.count;
  call.recvcounts = form.large ? static_cast<const void*>(receive_.large_counts.data()) : receive_.counts.data();
  call.rdispls = typed        ? static_cast<const void*>(receive_.byte_displacements.data())
                 : form.large ? static_cast<const void*>(receive_.large_displacements.data())
                              : receive_.displacements.data();
  call.recvtype = receive_.type;
  call.recvtypes = receive_.types.data();
  return LNW_Operation_init(&call, {comm_, form.topology}, info, request);
}

int Exchange::init(MPI_Info info, LNW_Request* request, const Form& form) {
  if (form.generic) return generic_init(info, request, form);
  void* const from = send_.base();
  void* const to = receive_.base();
  switch (op_) {
    case Op::allgather:
      return IN_FORM(LNW_Neighbor_allgather_init, ALLGATHER, info, request);
    case Op::allgatherv:
      return IN_FORM(LNW_Neighbor_allgatherv_init, ALLGATHERV, info, request);
    case Op::alltoall:
      return IN_FORM(LNW_Neighbor_alltoall_init, ALLTOALL, info, request);
    case Op::alltoallv:
      return IN_FORM(LNW_Neighbor_alltoallv_init, ALLTOALLV, info, request);
    case Op::alltoallw:
      return IN_FORM(LNW_Neighbor_alltoallw_init, ALLTOALLW, info, request);
    default:
      break;
  }
  return MPI_ERR_INTERN;
}

#undef ALLGATHER
#undef ALLGATHERV
#undef ALLTOALL
#undef ALLTOALLV
#undef ALLTOALLW
#undef IN_FORM

testing::AssertionResult Exchange::arrived() {
  if (receive_.mirror) receive_.mirror.read(receive_.memory.bytes());
  const std::vector<unsigned char>& got = receive_.memory.bytes();
  const std::vector<unsigned char>& wanted = expected_.bytes();
  if (got == wanted) return testing::AssertionSuccess();
  const auto at = std::mismatch(got.begin(), got.end(), wanted.begin()).first - got.begin();
  return testing::AssertionFailure() << name(op_) << ", seed " << seed_ << ", rank " << rank_ << ": byte " << at
                                     << " of " << got.size() << " is " << int{got[static_cast<std::size_t>(at)]}
                                     << ", expected " << int{wanted[static_cast<std::size_t>(at)]};
}

void Exchange::expect_calls(const std::string& what, const Form& form) {
  clear();
  EXPECT_MPI(blocking(form));
  EXPECT_TRUE(arrived()) << "blocking, " << what;
  clear();
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(nonblocking(&request, form));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(request, LNW_REQUEST_NULL);
  EXPECT_TRUE(arrived()) << "nonblocking, " << what;
}

}  // namespace laneway::test
