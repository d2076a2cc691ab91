#include "communicator/arguments/dense_blocks.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "communicator/datatypes/datatype.hpp"

namespace laneway {

Dense family_of(DenseKind kind) {
  switch (kind) {
    case DenseKind::alltoall:
    case DenseKind::alltoallv:
    case DenseKind::alltoallw:
      return Dense::alltoall;
    case DenseKind::allgather:
    case DenseKind::allgatherv:
      return Dense::allgather;
    case DenseKind::gather:
    case DenseKind::gatherv:
      return Dense::gather;
    case DenseKind::scatter:
    case DenseKind::scatterv:
      return Dense::scatter;
    case DenseKind::bcast:
      return Dense::bcast;
    case DenseKind::reduce:
      return Dense::reduce;
    case DenseKind::allreduce:
      return Dense::allreduce;
    case DenseKind::reduce_scatter:
    case DenseKind::reduce_scatter_block:
      return Dense::reduce_scatter;
    case DenseKind::scan:
      return Dense::scan;
    case DenseKind::exscan:
      return Dense::exscan;
    case DenseKind::barrier:
      return Dense::barrier;
  }
  return Dense::barrier;
}

bool has_equal_blocks(DenseKind kind) {
  return knows_all_sizes(kind) && kind != DenseKind::allgatherv && kind != DenseKind::reduce_scatter;
}

bool knows_all_sizes(DenseKind kind) {
  return kind != DenseKind::alltoallv && kind != DenseKind::alltoallw && kind != DenseKind::gatherv &&
         kind != DenseKind::scatterv;
}

namespace {

Blocks one_block(const SideArguments& side) {
  return Blocks::one(type_map(side.type)->elements(side.count, 0));
}

/// A block for each rank, as the arguments say.
Blocks blocks_of(const SideArguments& side, const SideRow& names, Rank ranks) {
  if (names.blocks == BlockForm::typed) {
    std::vector<RangeList> lists;
    for (Rank i = 0; i < ranks; ++i)
      lists.push_back(type_map(side.types[i])->elements(side.counts[i], side.displacements[i]));
    return Blocks::lists(std::move(lists));
  }
  const std::shared_ptr<const TypeMap> map = type_map(side.type);
  if (names.blocks == BlockForm::equal)
    return Blocks::equal(map->ranges, map->extent, side.count, 0, side.count * map->extent);
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> offsets;
  for (Rank i = 0; i < ranks; ++i) {
    counts.push_back(side.counts[i]);
    offsets.push_back(side.displacements[i] * map->extent);
  }
  return Blocks::table(map->ranges, map->extent, std::move(counts), std::move(offsets));
}

/// The parts of the vector that reduce_scatter combines.
Blocks parts_of(const SideArguments& side, const Combination& how, Rank ranks) {
  const std::int64_t bytes = how.element_bytes;
  if (side.counts.null()) return Blocks::equal({{0, bytes}}, bytes, side.count, 0, side.count * bytes);
  std::vector<std::int64_t> counts;
  std::vector<std::int64_t> offsets;
  std::int64_t offset = 0;
  for (Rank i = 0; i < ranks; ++i) {
    counts.push_back(side.counts[i]);
    offsets.push_back(offset);
    offset += side.counts[i] * bytes;
  }
  return Blocks::table({{0, bytes}}, bytes, std::move(counts), std::move(offsets));
}

void describe_reduction(DenseCall& dense, const CollectiveCall& call, Rank rank, Rank ranks, const Combination& how) {
  dense.combination = how;
  if (dense.kind == Dense::reduce_scatter) {
    dense.send = parts_of(call.receive, how, ranks);
    const std::int64_t count = call.receive.counts.null() ? call.receive.count : call.receive.counts[rank];
    dense.receive = Blocks::one({{0, count * how.element_bytes}});
    return;
  }
  const RangeList vector = {{0, call.receive.count * how.element_bytes}};
  if (!dense.in_place) dense.send = Blocks::one(vector);
  if (dense.kind != Dense::reduce || call.root == rank) dense.receive = Blocks::one(vector);
}

}  // namespace

DenseCall blocks_of(const CollectiveCall& call, std::int64_t bytes, Rank rank, Rank ranks, const Combination& how) {
  DenseCall dense;
  dense.kind = family_of(call.kind);
  dense.rank = rank;
  dense.root = has_root(call.kind) ? call.root : 0;
  dense.in_place = is_in_place(call);
  const DenseRow& row = row_of(call.kind);
  const bool is_root = !has_root(call.kind) || call.root == rank;
  if (reduces(call.kind)) {
    describe_reduction(dense, call, rank, ranks, how);
  } else if (dense.kind == Dense::barrier) {
    dense.send = Blocks::contiguous(1);
  } else {
    const bool sends_one = dense.kind == Dense::allgather || dense.kind == Dense::gather;
    const bool receives_one = dense.kind == Dense::scatter || dense.kind == Dense::bcast;
    if (uses_send(call, is_root)) dense.send = sends_one ? one_block(call.send) : blocks_of(call.send, row.send, ranks);
    if (uses_receive(call, is_root))
      dense.receive = receives_one ? one_block(call.receive) : blocks_of(call.receive, row.receive, ranks);
    if (has_equal_blocks(call.kind)) dense.sizes = Sizes::equal(bytes);
  }
  return dense;
}

std::optional<DenseReduction> reduction_of(const CollectiveCall& call, bool by_rank) {
  if (!reduces(call.kind)) return std::nullopt;
  return dense_reduction(call.op, call.receive.type, row_of(call.kind).receive.type, by_rank);
}

void check_dense(const CollectiveCall& call, Rank rank, Rank ranks) {
  check_collective(call, rank, ranks);
  if (reduces(call.kind)) (void)check_operator(call.op, call.receive.type, row_of(call.kind).receive.type);
}

}  // namespace laneway
