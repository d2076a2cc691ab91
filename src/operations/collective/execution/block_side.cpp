#include "operations/collective/execution/block_side.hpp"

#include <cstring>

#include "base/bytes/address.hpp"

namespace laneway {

const TypeMap* CallTypes::map(MPI_Datatype type) {
  // The few predefined ones are found fastest here, derived ones by their attributes.
  for (const auto& [known, map] : predefined_)
    if (known == type) return map.get();
  if (!is_predefined(type)) return derived_.emplace_back(type_map(type)).get();
  return predefined_.emplace_back(type, type_map(type)).second.get();
}

void BlockSide::describe(const SideArguments& arguments, void* buffer, CallTypes& types) {
  const bool has_list = arguments.types != nullptr;
  const TypeMap* map = has_list ? nullptr : types.map(arguments.type);
  MPI_Datatype type = has_list ? MPI_DATATYPE_NULL : arguments.type;
  auto* const first = static_cast<std::byte*>(buffer);
  std::int64_t peer = 0;
  for (Block& block : blocks_) {
    if (has_list && arguments.types[peer] != type) {
      type = arguments.types[peer];
      map = types.map(type);
    }
    const std::int64_t count = arguments.counts[peer];
    const std::int64_t displacement = arguments.displacements[peer];
    block = {map, type, count, count * map->ranges.bytes(), at(first, displacement * (has_list ? 1 : map->extent))};
    ++peer;
  }
}

std::byte* BlockSide::Block::together() const {
  const std::optional<Range> range = map->contiguous(count, 0);
  return range ? at(first, range->offset) : nullptr;
}

namespace {

/// Calls f(piece, bytes) for each in the order of the type map.
template <class F>
void for_each_piece(const BlockSide::Block& block, F&& f) {
  if (std::byte* const whole = block.together()) return f(whole, static_cast<std::size_t>(block.bytes));
  for (std::int64_t i = 0; i < block.count; ++i)
    block.map->ranges.for_each([&](const Range& range) {
      f(at(block.first, i * block.map->extent + range.offset), static_cast<std::size_t>(range.bytes));
    });
}

}  // namespace

void BlockSide::Block::gather(std::byte* to) const {
  for_each_piece(*this, [&](const std::byte* piece, std::size_t length) {
    std::memcpy(to, piece, length);
    to += length;
  });
}

void BlockSide::Block::scatter(const std::byte* from) const {
  for_each_piece(*this, [&](std::byte* piece, std::size_t length) {
    std::memcpy(piece, from, length);
    from += length;
  });
}

void CallBlocks::describe(const CollectiveCall& call) {
  in_place = call.sendbuf == MPI_IN_PLACE;
  send.describe(in_place ? call.receive : call.send, in_place ? call.recvbuf : const_cast<void*>(call.sendbuf), types);
  receive.describe(call.receive, call.recvbuf, types);
}

}  // namespace laneway
