#include "operations/collective/execution/mpi.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/arguments/topology.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"
#include "mpi/quirks.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most = std::numeric_limits<int>::max();

#ifdef LANEWAY_HAS_LARGE_COUNT_COLLECTIVES
constexpr bool has_large_functions = true;
#else
constexpr bool has_large_functions = false;
#endif

int narrowed(std::int64_t value, const char* name, std::int64_t i) {
  require(value >= -most - 1 && value <= most, ErrorKind::count, [&] {
    return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(value) +
           ", and this MPI library takes none over 2^31 there";
  });
  return static_cast<int>(value);
}

MPI_Datatype copy_of(MPI_Datatype type, std::vector<MadeType>& made) {
  if (type == MPI_DATATYPE_NULL || is_predefined(type)) return type;
  check_mpi(MPI_Type_dup(type, made.emplace_back().place()), "MPI_Type_dup");
  return made.back().get();
}

template <class To>
std::vector<To> widened(const Integers& given, int entries) {
  std::vector<To> all;
  if (given.null()) return all;
  all.reserve(static_cast<std::size_t>(entries));
  for (int i = 0; i < entries; ++i) all.push_back(given[i]);
  return all;
}

/// See Quirks::misreduces_in_place.
template <class Arguments>
int reduce_copy(Arguments arguments, MPI_Comm comm) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  MPI_Aint true_lower = 0;
  MPI_Aint true_extent = 0;
  check_mpi(MPI_Type_get_extent(arguments.receive.type, &lower, &extent), "MPI_Type_get_extent");
  check_mpi(MPI_Type_get_true_extent(arguments.receive.type, &true_lower, &true_extent), "MPI_Type_get_true_extent");
  const std::int64_t count = arguments.receive.count;
  if (count == 0 || true_extent == 0) return call_mpi(DenseKind::reduce, arguments, comm);
  const std::byte* const first = static_cast<const std::byte*>(arguments.recvbuf) + true_lower;
  const std::vector<std::byte> copy(first, first + (count - 1) * extent + true_extent);
  arguments.sendbuf = copy.data() - true_lower;
  return call_mpi(DenseKind::reduce, arguments, comm);
}

/// The first rank of an exscan gets nothing, and may give no buffer for it. MPICH's nonblocking one wants some address.
void* receive_buffer(const CollectiveCall& call) {
  static std::byte unused;
  const bool is_needless = call.kind == DenseKind::exscan && call.recvbuf == nullptr;
  return is_needless && lie_nowhere(call.receive.count, call.receive.type, 0, false) ? &unused : call.recvbuf;
}

}  // namespace

MadeType as_one(std::int64_t count, MPI_Datatype type) {
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check_mpi(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
  constexpr std::int64_t chunk = std::int64_t{1} << 30;
  MadeType whole;
  MadeType chunks;
  MadeType rest;
  MadeType both;
  MadeType one;
  check_mpi(MPI_Type_contiguous(static_cast<int>(chunk), type, whole.place()), "MPI_Type_contiguous");
  check_mpi(MPI_Type_contiguous(static_cast<int>(count / chunk), whole.get(), chunks.place()), "MPI_Type_contiguous");
  check_mpi(MPI_Type_contiguous(static_cast<int>(count % chunk), type, rest.place()), "MPI_Type_contiguous");
  const int lengths[] = {1, 1};
  const MPI_Aint places[] = {0, extent * (count - count % chunk)};
  const MPI_Datatype types[] = {chunks.get(), rest.get()};
  check_mpi(MPI_Type_create_struct(2, lengths, places, types, both.place()), "MPI_Type_create_struct");
  check_mpi(MPI_Type_create_resized(both.get(), lower, extent * count, one.place()), "MPI_Type_create_resized");
  check_mpi(MPI_Type_commit(one.place()), "MPI_Type_commit");
  return one;
}

MpiCall::MpiCall(const CollectiveCall& call, int peers, int ranks, bool is_root, Borrows borrows)
    : kind_(call.kind),
      packed_(PackedCall::make(call, peers, is_root)),
      is_large_(call.is_large && has_large_functions) {
  const CollectiveCall& given = packed_ ? packed_->call() : call;
  const int entries = laneway::entries(call, peers, ranks);
  fill(given, entries, is_root, borrows);
  if (quirks.misplaces_alone && call.kind == DenseKind::allgatherv && ranks == 1 && peers == 1) begin_at_block(given);
  const bool exchanges = call.kind == DenseKind::alltoallv || call.kind == DenseKind::alltoallw;
  if (quirks.miscounts_in_place && exchanges && call.sendbuf == MPI_IN_PLACE && borrows != Borrows::all &&
      peers == ranks)
    send_copies(ranks);
}

std::optional<int> MpiCall::run_as_given(const CollectiveCall& call, MPI_Comm comm) {
  const bool is_long = call.is_large || call.receive.count > most || call.receive.counts.wide();
  if (!reduces(call.kind) || is_long || is_in_place(call) || call.recvbuf == nullptr) return std::nullopt;
  MpiArguments arguments{call.sendbuf, call.recvbuf, {}, {}, call.op, call.root};
  arguments.receive.count = static_cast<int>(call.receive.count);
  arguments.receive.counts = static_cast<const int*>(call.receive.counts.data());
  arguments.receive.type = call.receive.type;
  return call_mpi(call.kind, arguments, comm);
}

void MpiCall::fill(const CollectiveCall& call, int entries, bool is_root, Borrows borrows) {
  small_.sendbuf = large_.sendbuf = call.sendbuf;
  small_.recvbuf = large_.recvbuf = receive_buffer(call);
  small_.op = large_.op = call.op;
  small_.root = large_.root = call.root;
  const DenseRow& row = row_of(call.kind);
  if (reduces(call.kind) && borrows != Borrows::all) op_.emplace(call.op);
  if (reduces(call.kind) && borrows == Borrows::nothing) operand_.emplace(call.receive.type);
  if (uses_send(call, is_root)) fill(call.send, row.send, entries, borrows, true);
  // Only the root of a reduction receives, but all say how much.
  if (uses_receive(call, is_root) || reduces(call.kind)) fill(call.receive, row.receive, entries, borrows, false);
}

/// See Quirks::misplaces_alone: the buffer begins where the block is.
void MpiCall::begin_at_block(const CollectiveCall& call) {
  if (call.receive.displacements.null()) return;
  const std::int64_t offset = call.receive.displacements[0] * type_map(call.receive.type)->extent;
  small_.recvbuf = large_.recvbuf = static_cast<std::byte*>(small_.recvbuf) + offset;
  receive_.displacements.assign(1, 0);
  receive_.large_displacements.assign(1, 0);
  small_.receive.displacements = receive_.displacements.data();
  large_.receive.displacements = receive_.large_displacements.data();
}

/// See Quirks::miscounts_in_place. What is sent is packed, so that the call is not in place.
void MpiCall::send_copies(int ranks) {
  int end = 0;
  for (int peer = 0; peer < ranks; ++peer) {
    int bytes = 0;
    check_mpi(MPI_Pack_size(small_.receive.counts[peer], received_type(peer), MPI_COMM_SELF, &bytes), "MPI_Pack_size");
    send_.displacements.push_back(end);
    end += bytes;
  }
  copies_.resize(static_cast<std::size_t>(end) + 1);
  send_.counts.resize(static_cast<std::size_t>(ranks));
  send_.types.assign(static_cast<std::size_t>(ranks), MPI_PACKED);
  small_.sendbuf = copies_.data();
  small_.send = {0, send_.counts.data(), send_.displacements.data(), MPI_PACKED, send_.types.data()};
}

MPI_Datatype MpiCall::received_type(int peer) const {
  return small_.receive.types != nullptr ? small_.receive.types[peer] : small_.receive.type;
}

void MpiCall::pack_copies() {
  MPI_Aint lower = 0;
  MPI_Aint extent = 1;
  if (small_.receive.types == nullptr)
    check_mpi(MPI_Type_get_extent(small_.receive.type, &lower, &extent), "MPI_Type_get_extent");
  for (std::size_t peer = 0; peer < send_.counts.size(); ++peer) {
    const int begin = send_.displacements[peer];
    int position = begin;
    const std::byte* const from =
        static_cast<const std::byte*>(small_.recvbuf) + small_.receive.displacements[peer] * extent;
    check_mpi(MPI_Pack(from, small_.receive.counts[peer], received_type(static_cast<int>(peer)), copies_.data(),
                       static_cast<int>(copies_.size()), &position, MPI_COMM_SELF),
              "MPI_Pack");
    send_.counts[peer] = position - begin;
  }
}

void MpiCall::fill(const SideArguments& given, const SideRow& names, int entries, Borrows borrows, bool is_send) {
  if (is_large_)
    fill_large(given, names, entries, is_send);
  else
    fill_small(given, names, entries, borrows, is_send);
  const bool borrows_types = borrows == Borrows::types && given.types != nullptr;
  if (borrows_types && !quirks.keeps_too_few_types) {
    // MPI reads the array, which the caller may free, to the end.
    std::vector<MPI_Datatype>& handles = (is_send ? send_ : receive_).handles;
    handles.assign(given.types, given.types + entries);
    (is_send ? small_.send : small_.receive).types = handles.data();
    (is_send ? large_.send : large_.receive).types = handles.data();
  }
  const bool owns = borrows == Borrows::nothing || (borrows_types && quirks.keeps_too_few_types);
  if (owns && !operand_) own_types(given, entries, is_send);
}

void MpiCall::fill_small(const SideArguments& given, const SideRow& names, int entries, Borrows borrows, bool is_send) {
  MpiSide<int, int>& side = is_send ? small_.send : small_.receive;
  Owned& owned = is_send ? send_ : receive_;
  side.type = given.type;
  side.types = given.types;
  if (given.count <= most) {
    side.count = static_cast<int>(given.count);
  } else if (!reduces(kind_)) {
    side.count = 1;
    side.type = owned.made.emplace_back(as_one(given.count, given.type)).get();
  } else if (type_map(given.type)->ranges.empty()) {
    side.count = 1;  // as good as any number of nothing
  } else {
    parts_count_ = given.count;
  }
  const auto array = [&](const Integers& values, const char* name, std::vector<int>& copy) -> const int* {
    if (values.null() || name == nullptr) return nullptr;
    if (!values.wide() && borrows == Borrows::all) return static_cast<const int*>(values.data());
    copy.reserve(static_cast<std::size_t>(entries));
    for (int i = 0; i < entries; ++i) copy.push_back(narrowed(values[i], name, i));
    return copy.data();
  };
  side.counts = array(given.counts, names.counts, owned.counts);
  side.displacements = array(given.displacements, names.displacements, owned.displacements);
}

void MpiCall::fill_large(const SideArguments& given, const SideRow&, int entries, bool is_send) {
  MpiSide<MPI_Count, MPI_Aint>& side = is_send ? large_.send : large_.receive;
  Owned& owned = is_send ? send_ : receive_;
  const bool is_nothing = reduces(kind_) && given.count > most && type_map(given.type)->ranges.empty();
  side.count = is_nothing ? 1 : given.count;  // MPICH gives an operator no more elements than int counts
  side.type = given.type;
  side.types = given.types;
  owned.large_counts = widened<MPI_Count>(given.counts, entries);
  owned.large_displacements = widened<MPI_Aint>(given.displacements, entries);
  side.counts = owned.large_counts.data();
  side.displacements = owned.large_displacements.data();
}

void MpiCall::own_types(const SideArguments& given, int entries, bool is_send) {
  Owned& owned = is_send ? send_ : receive_;
  if (given.types != nullptr) {
    for (int i = 0; i < entries; ++i) owned.types.push_back(copy_of(given.types[i], owned.made));
    (is_send ? small_.send : small_.receive).types = owned.types.data();
    (is_send ? large_.send : large_.receive).types = owned.types.data();
  } else if (owned.made.empty()) {
    const MPI_Datatype copy = copy_of(given.type, owned.made);
    (is_send ? small_.send : small_.receive).type = copy;
    (is_send ? large_.send : large_.receive).type = copy;
  }
}

int MpiCall::run(MPI_Comm comm) {
  if (!packed_) return run_own(comm);
  packed_->fetch();
  const int code = run_own(comm);
  if (code == MPI_SUCCESS) packed_->put_back();
  return code;
}

int MpiCall::run_own(MPI_Comm comm) const {
  const bool is_wrong_in_place = quirks.misreduces_in_place && kind_ == DenseKind::reduce && small_.root != 0;
  const bool copies = is_wrong_in_place && small_.sendbuf == MPI_IN_PLACE;
#ifdef LANEWAY_HAS_LARGE_COUNT_COLLECTIVES
  if (is_large_) return copies ? reduce_copy(large_, comm) : call_mpi(kind_, large_, comm);
#endif
  if (parts_count_ > 0) return run_in_parts(comm);
  return copies ? reduce_copy(small_, comm) : call_mpi(kind_, small_, comm);
}

/// See Quirks::keeps_too_few_types.
void MpiCall::lengthen_types(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  check_mpi(MPI_Topo_test(comm, &kind), "MPI_Topo_test");
  if (kind == MPI_UNDEFINED) return;
  const Topology topology = read_topology(comm);
  const auto degree = static_cast<std::size_t>(std::max(topology.indegree, topology.outdegree));
  for (Owned* const owned : {&send_, &receive_})
    if (!owned->types.empty() && owned->types.size() < degree) owned->types.resize(degree, MPI_BYTE);
  small_.send.types = large_.send.types = send_.types.data();
  small_.receive.types = large_.receive.types = receive_.types.data();
}

int MpiCall::start(MPI_Comm comm, MPI_Request* request) {
  if (quirks.keeps_too_few_types && kind_ == DenseKind::alltoallw) lengthen_types(comm);
  if (packed_) packed_->fetch();
  if (!copies_.empty()) pack_copies();
  if (operand_)
    for (MPI_Datatype* const type : {&small_.send.type, &small_.receive.type, &large_.send.type, &large_.receive.type})
      *type = operand_->get();
#ifdef LANEWAY_HAS_LARGE_COUNT_COLLECTIVES
  if (is_large_) return start_mpi(kind_, large_, comm, request);
#endif
  require(parts_count_ == 0, ErrorKind::count, [&] {
    return "count is " + std::to_string(parts_count_) +
           ", and this MPI library takes none over 2^31 in a reduction that does not block";
  });
  return start_mpi(kind_, small_, comm, request);
}

int MpiCall::run_progressing(MPI_Comm comm) {
  if (parts_count_ > 0) return run(comm);
  MPI_Request request = MPI_REQUEST_NULL;
  int code = start(comm, &request);
  if (code != MPI_SUCCESS) return code;
  int flag = 0;
  progress_until([&] {
    code = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return flag != 0 || code != MPI_SUCCESS;
  });
  if (code == MPI_SUCCESS) finish(nullptr);
  return code;
}

/// Operators combine element by element, so a vector may be cut; but not where parts of it go to different ranks.
int MpiCall::run_in_parts(MPI_Comm comm) const {
  require(kind_ != DenseKind::reduce_scatter && kind_ != DenseKind::reduce_scatter_block, ErrorKind::count, [&] {
    return "recvcount is " + std::to_string(parts_count_) + ", and this MPI library takes none over 2^31";
  });
  MPI_Aint lower = 0;
  MPI_Aint extent = 0;
  check_mpi(MPI_Type_get_extent(small_.receive.type, &lower, &extent), "MPI_Type_get_extent");
  MpiArguments part = small_;
  constexpr std::int64_t chunk = std::int64_t{1} << 30;
  for (std::int64_t done = 0; done < parts_count_; done += chunk) {
    const auto at = [&](auto* buffer) {
      using Byte =
          std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(buffer)>>, const std::byte, std::byte>;
      return buffer == MPI_IN_PLACE || buffer == nullptr ? buffer : static_cast<Byte*>(buffer) + done * extent;
    };
    part.sendbuf = at(small_.sendbuf);
    part.recvbuf = at(small_.recvbuf);
    part.send.count = part.receive.count = static_cast<int>(std::min(chunk, parts_count_ - done));
    if (const int code = call_mpi(kind_, part, comm); code != MPI_SUCCESS) return code;
  }
  return MPI_SUCCESS;
}

}  // namespace laneway
