#include "operations/collective/checked.hpp"

#include <algorithm>
#include <cstddef>

#include "communicator/datatypes/datatype.hpp"

namespace laneway {

namespace {

/// Bytes of all blocks of a side, of which all ranks know the sizes.
std::int64_t bytes_of_all(const SideArguments& side, std::int64_t element_bytes, Rank ranks) {
  std::int64_t elements = 0;
  for (Rank i = 0; i < ranks; ++i) elements += side.counts[i];
  return elements * element_bytes;
}

DenseFacts facts_of(const CheckedCollective& checked) {
  const CollectiveCall& call = checked.call;
  DenseFacts facts;
  facts.kind = family_of(call.kind);
  facts.root = has_root(call.kind) ? call.root : 0;
  facts.bytes = std::max<std::int64_t>(checked.block_bytes, 0);
  if (call.kind == DenseKind::allgatherv)
    facts.bytes =
        bytes_of_all(call.receive, type_map(call.receive.type)->ranges.bytes(), checked.ranks) / checked.ranks;
  facts.equal = has_equal_blocks(call.kind);
  if (!checked.reduction) return facts;
  const Combination& how = checked.reduction->how;
  facts.element_bytes = std::max<std::int64_t>(how.element_bytes, 1);
  facts.in_order = how.in_order;
  if (call.kind == DenseKind::reduce_scatter)
    facts.bytes = bytes_of_all(call.receive, how.element_bytes, checked.ranks);
  else
    facts.bytes =
        call.receive.count * how.element_bytes * (call.kind == DenseKind::reduce_scatter_block ? checked.ranks : 1);
  return facts;
}

}  // namespace

CheckedCollective::CheckedCollective(const CollectiveCall& given, Rank own, Rank all, bool by_rank)
    : call(given),
      rank(own),
      ranks(all),
      block_bytes(check_collective(given, own, all)),
      reduction(reduction_of(given, by_rank && !given.any_order)),
      facts(facts_of(*this)) {}

bool CheckedCollective::is_of_one_rule() const {
  return reduction && reduction->combiner != nullptr && is_predefined_operator(call.op) &&
         is_predefined(call.receive.type) && depends_on_order(call.op, call.receive.type);
}

std::int64_t CheckedCollective::bytes_of_blocks() const {
  if (has_root(call.kind) && call.root != rank) return 0;
  const DenseCall all = blocks();
  const Blocks& counted = call.kind == DenseKind::scatterv ? all.send : all.receive;
  std::int64_t bytes = 0;
  for (Rank peer = 0; peer < ranks; ++peer) bytes += counted.bytes(peer);
  return bytes;
}

Buffers buffers_of(const CollectiveCall& call) {
  static const std::byte byte{};
  if (call.kind == DenseKind::barrier) return {&byte, nullptr};
  const void* const sent = call.sendbuf == MPI_IN_PLACE ? call.recvbuf : call.sendbuf;
  void* const received = call.recvbuf == MPI_IN_PLACE ? const_cast<void*>(call.sendbuf) : call.recvbuf;
  return {sent, received};
}

bool is_on_host(const CollectiveCall& call) {
  const Buffers buffers = buffers_of(call);
  return memory_at(buffers.send).host_may_touch() && memory_at(buffers.receive).host_may_touch();
}

}  // namespace laneway
