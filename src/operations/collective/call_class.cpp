#include "operations/collective/call_class.hpp"

#include <limits>

#include "communicator/datatypes/operators.hpp"
#include "operations/request/packed_call.hpp"

namespace laneway {

namespace {

/// Whether the root alone may give its part in place, which the others do not know.
bool is_root_in_place(const CollectiveCall& call) {
  return is_in_place(call) &&
         (call.kind == DenseKind::gather || call.kind == DenseKind::scatter || call.kind == DenseKind::reduce);
}

}  // namespace

CallClass::Bytes CallClass::bytes(Rank rank, Rank ranks) const {
  const bool is_root = rank == root;
  const std::int64_t block = reduces(kind) ? count * type_map(element)->extent : count;
  const std::int64_t all = block * ranks;
  switch (kind) {
    case DenseKind::alltoall:
      return {all, all};
    case DenseKind::allgather:
      return {block, all};
    case DenseKind::gather:
      return {block, is_root ? all : 0};
    case DenseKind::scatter:
      return {is_root ? all : 0, block};
    case DenseKind::bcast:
      return {0, block};
    case DenseKind::reduce:
      return {block, is_root ? block : 0};
    case DenseKind::reduce_scatter_block:
      return {all, in_place ? all : block};
    case DenseKind::barrier:
      return {};
    default:
      return {block, block};
  }
}

CollectiveCall CallClass::call(Buffers buffers) const {
  CollectiveCall call;
  call.kind = kind;
  call.root = root;
  call.op = op;
  if (kind == DenseKind::barrier) return call;
  call.receive.count = count;
  call.receive.type = reduces(kind) ? element : MPI_BYTE;
  if (kind != DenseKind::bcast) call.send = call.receive;
  call.sendbuf = kind == DenseKind::bcast ? nullptr : in_place ? MPI_IN_PLACE : buffers.send;
  call.recvbuf = buffers.receive;
  return call;
}

namespace {

/// With equal counts, which all ranks give, a reduce_scatter is that of a block.
DenseKind kind_of(const CollectiveCall& call, Rank ranks) {
  if (call.kind != DenseKind::reduce_scatter) return call.kind;
  for (Rank rank = 1; rank < ranks; ++rank)
    if (call.receive.counts[rank] != call.receive.counts[0]) return call.kind;
  return DenseKind::reduce_scatter_block;
}

}  // namespace

std::optional<CallClass> class_of(const CheckedCollective& checked) {
  const CollectiveCall& call = checked.call;
  CallClass found;
  found.kind = kind_of(call, checked.ranks);
  if (!has_equal_blocks(found.kind)) return std::nullopt;
  found.root = has_root(call.kind) ? call.root : 0;
  found.in_place = is_in_place(call) && !is_root_in_place(call);
  found.count = checked.block_bytes;
  if (reduces(call.kind)) {
    if (!is_predefined_operator(call.op) || !is_predefined(call.receive.type)) return std::nullopt;
    found.op = call.op;
    found.element = call.receive.type;
    found.count = call.kind == found.kind ? call.receive.count : call.receive.counts[0];
  }
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (found.count < 0 || found.count > most / checked.ranks) return std::nullopt;
  return found;
}

namespace {

/// The elements of one side, of all blocks.
struct Whole {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  std::int64_t count = 0;  ///< 0: this rank's arguments for that side mean nothing
};

Whole sent(const CollectiveCall& call, Rank rank, Rank ranks) {
  if (reduces(call.kind) || !uses_send(call, !has_root(call.kind) || call.root == rank)) return {};
  const bool to_each = call.kind == DenseKind::alltoall || call.kind == DenseKind::scatter;
  return {call.send.type, call.send.count * (to_each ? ranks : 1)};
}

Whole received(const CollectiveCall& call, Rank rank, Rank ranks) {
  if (reduces(call.kind) || !uses_receive(call, !has_root(call.kind) || call.root == rank)) return {};
  const bool is_one = call.kind == DenseKind::scatter || call.kind == DenseKind::bcast;
  return {call.receive.type, call.receive.count * (is_one ? 1 : ranks)};
}

bool lies_together(const Whole& whole) {
  if (whole.count == 0) return true;
  const std::optional<Range> range = type_map(whole.type)->contiguous(whole.count, 0);
  return range && (range->offset == 0 || range->bytes == 0);
}

}  // namespace

bool ContiguousBuffers::needs_copies(const CollectiveCall& call, Rank rank, Rank ranks) {
  return is_root_in_place(call) || !lies_together(sent(call, rank, ranks)) ||
         !lies_together(received(call, rank, ranks));
}

ContiguousBuffers::ContiguousBuffers(const CallClass& call_class, const CollectiveCall& call, Rank rank, Rank ranks) {
  const void* const from = call.sendbuf;
  void* const to = call.recvbuf;
  buffers_ = {from == MPI_IN_PLACE ? to : from, to == MPI_IN_PLACE ? nullptr : to};
  const CallClass::Bytes bytes = call_class.bytes(rank, ranks);
  const Whole out = sent(call, rank, ranks);
  const Whole in = received(call, rank, ranks);
  if (!lies_together(out)) {
    pack_bytes(send_, from, type_map(out.type)->elements(out.count, 0));
    buffers_.send = send_.data();
  } else if (from == MPI_IN_PLACE && call.kind == DenseKind::reduce) {
    pack_bytes(send_, to, {{0, bytes.send}});
    buffers_.send = send_.data();
  } else if (from == MPI_IN_PLACE && call.kind == DenseKind::gather) {
    const std::shared_ptr<const TypeMap> map = type_map(call.receive.type);
    pack_bytes(send_, to, map->elements(call.receive.count, rank * call.receive.count * map->extent));
    buffers_.send = send_.data();
  }
  if (to == MPI_IN_PLACE) {
    receive_.resize(static_cast<std::size_t>(bytes.receive));
    buffers_.receive = receive_.data();
  } else if (!lies_together(in)) {
    places_ = type_map(in.type)->elements(in.count, 0);
    wanted_ = to;
    pack_bytes(receive_, to, places_);  // a part of it may be given in place
    buffers_.receive = receive_.data();
    if (call_class.in_place) buffers_.send = buffers_.receive;
  }
}

void ContiguousBuffers::finish() {
  if (places_.empty()) return;
  unpack_bytes(wanted_, receive_, places_);
}

}  // namespace laneway
