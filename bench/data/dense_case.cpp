#include "data/dense_case.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <string>

#include "base/bytes/mix.hpp"
#include "base/error.hpp"

namespace laneway::bench {

namespace {

constexpr std::array measured_kinds = {
    DenseKind::alltoall, DenseKind::alltoallv,      DenseKind::allgather, DenseKind::allreduce, DenseKind::bcast,
    DenseKind::reduce,   DenseKind::reduce_scatter, DenseKind::gather,    DenseKind::scatter,   DenseKind::barrier};
constexpr Rank everybody = -1;

std::uint64_t draw(std::uint64_t salt, Rank from, Rank to, std::int64_t word) {
  const auto pair = (static_cast<std::uint64_t>(static_cast<std::uint32_t>(from)) << 32U) |
                    static_cast<std::uint64_t>(static_cast<std::uint32_t>(to));
  return mix(mix(salt) ^ mix(pair) ^ static_cast<std::uint64_t>(word));
}

/// What a rank contributes to an element: a small integer.
double number(std::uint64_t salt, Rank rank, std::int64_t element) {
  return static_cast<double>(draw(salt, rank, everybody, element) % 2048) - 1024;
}

template <class Each>
void by_word(std::int64_t bytes, const Each& each) {
  for (std::int64_t begin = 0; begin < bytes; begin += 8) each(begin, std::min<std::int64_t>(8, bytes - begin));
}

void write_block(std::byte* to, std::int64_t bytes, std::uint64_t salt, Rank from, Rank destination) {
  by_word(bytes, [&](std::int64_t begin, std::int64_t length) {
    const std::uint64_t word = draw(salt, from, destination, begin / 8);
    std::memcpy(to + begin, &word, static_cast<std::size_t>(length));
  });
}

bool is_block(const std::byte* found, std::int64_t bytes, std::uint64_t salt, Rank from, Rank destination) {
  bool same = true;
  by_word(bytes, [&](std::int64_t begin, std::int64_t length) {
    const std::uint64_t word = draw(salt, from, destination, begin / 8);
    same = same && std::memcmp(found + begin, &word, static_cast<std::size_t>(length)) == 0;
  });
  return same;
}

bool is_sum(const DenseCase& dense, std::span<const std::byte> receive, std::int64_t first, std::uint64_t salt) {
  const auto elements = static_cast<std::int64_t>(receive.size() / 8);
  for (std::int64_t element = 0; element < elements; ++element) {
    double sum = 0;
    for (Rank rank = 0; rank < dense.ranks; ++rank) sum += number(salt, rank, first + element);
    double found = 0;
    std::memcpy(&found, receive.data() + element * 8, 8);
    if (found != sum) return false;
  }
  return true;
}

/// Ranks of each node.
std::vector<std::int64_t> node_sizes(const Nodes& nodes) {
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(nodes.count));
  for (const int node : nodes.of) ++sizes[static_cast<std::size_t>(node)];
  return sizes;
}

/// Of blocks from rank to rank, every one of which crosses by itself.
std::int64_t busiest_of_blocks(const DenseCase& dense, const Nodes& nodes) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(nodes.count));
  std::vector<std::int64_t> in = out;
  for (Rank from = 0; from < dense.ranks; ++from)
    for (Rank to = 0; to < dense.ranks; ++to) {
      const auto source = static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(from)]);
      const auto destination = static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(to)]);
      if (source == destination) continue;
      out[source] += dense.block(from, to);
      in[destination] += dense.block(from, to);
    }
  return std::max(*std::ranges::max_element(out), *std::ranges::max_element(in));
}

int as_int(std::int64_t value) {
  require(value <= std::numeric_limits<int>::max(), ErrorKind::count, "blocks of more than 2147483647 bytes in all");
  return static_cast<int>(value);
}

}  // namespace

std::span<const DenseKind> dense_kinds() {
  return measured_kinds;
}

DenseKind parse_dense_kind(std::string_view text) {
  std::string names;
  for (const DenseKind kind : measured_kinds) {
    if (text == name(kind)) return kind;
    names += (names.empty() ? "" : ", ") + std::string(name(kind));
  }
  throw Error(ErrorKind::argument, "--op " + std::string(text) + ": none of " + names);
}

std::int64_t DenseCase::block(Rank from, Rank to) const {
  switch (kind) {
    case DenseKind::alltoall:
    case DenseKind::allgather:
      return bytes;
    case DenseKind::alltoallv:
      return static_cast<std::int64_t>(draw(seed, from, to, 0) % static_cast<std::uint64_t>(2 * bytes + 1));
    case DenseKind::gather:
      return to == root ? bytes : 0;
    case DenseKind::scatter:
      return from == root ? bytes : 0;
    default:
      return 0;
  }
}

std::int64_t DenseCase::part(Rank rank) const {
  return elements() / ranks + (rank < elements() % ranks ? 1 : 0);
}

std::int64_t DenseCase::send_bytes(Rank rank) const {
  if (kind == DenseKind::barrier || kind == DenseKind::bcast) return 0;
  if (reduces(kind)) return elements() * 8;
  if (kind == DenseKind::allgather) return bytes;
  std::int64_t sum = 0;
  for (Rank to = 0; to < ranks; ++to) sum += block(rank, to);
  return sum;
}

std::int64_t DenseCase::receive_bytes(Rank rank) const {
  if (kind == DenseKind::barrier) return 0;
  if (kind == DenseKind::bcast) return bytes;
  if (kind == DenseKind::reduce_scatter) return part(rank) * 8;
  if (kind == DenseKind::reduce) return rank == root ? elements() * 8 : 0;
  if (reduces(kind)) return elements() * 8;
  std::int64_t sum = 0;
  for (Rank from = 0; from < ranks; ++from) sum += block(from, rank);
  return sum;
}

std::optional<std::int64_t> DenseCase::busiest_bytes(const Nodes& nodes) const {
  if (nodes.count < 2 || kind == DenseKind::barrier) return std::nullopt;
  const std::vector<std::int64_t> sizes = node_sizes(nodes);
  const std::int64_t least = *std::ranges::min_element(sizes);
  switch (kind) {
    case DenseKind::allgather:
      return bytes * (ranks - least);
    case DenseKind::allreduce:
      return 2 * elements() * 8 * (nodes.count - 1) / nodes.count;
    case DenseKind::bcast:
      return bytes;
    case DenseKind::reduce:
      return elements() * 8;
    case DenseKind::reduce_scatter:
      return elements() * 8 * (ranks - least) / ranks;
    default:
      return busiest_of_blocks(*this, nodes);
  }
}

void DenseCase::fill(Rank rank, std::span<std::byte> send, std::span<std::byte> receive, std::uint64_t salt) const {
  std::ranges::fill(receive, std::byte{0xA5});
  if (kind == DenseKind::bcast) {
    if (rank == root) write_block(receive.data(), bytes, salt, root, everybody);
  } else if (reduces(kind)) {
    for (std::int64_t element = 0; element < elements(); ++element) {
      const double value = number(salt, rank, element);
      std::memcpy(send.data() + element * 8, &value, 8);
    }
  } else if (kind == DenseKind::allgather) {
    write_block(send.data(), bytes, salt, rank, everybody);
  } else {
    std::byte* to = send.data();
    for (Rank destination = 0; destination < ranks; to += block(rank, destination), ++destination)
      write_block(to, block(rank, destination), salt, rank, destination);
  }
}

bool DenseCase::arrived(Rank rank, std::span<const std::byte> receive, std::uint64_t salt) const {
  if (kind == DenseKind::bcast) return is_block(receive.data(), bytes, salt, root, everybody);
  if (kind == DenseKind::reduce_scatter) {
    std::int64_t first = 0;
    for (Rank before = 0; before < rank; ++before) first += part(before);
    return is_sum(*this, receive, first, salt);
  }
  if (reduces(kind)) return is_sum(*this, receive, 0, salt);
  const std::byte* found = receive.data();
  for (Rank from = 0; from < ranks; found += block(from, rank), ++from)
    if (!is_block(found, block(from, rank), salt, from, kind == DenseKind::allgather ? everybody : rank)) return false;
  return true;
}

DenseBlocks blocks_of(const DenseCase& dense, Rank rank) {
  DenseBlocks blocks;
  std::int64_t out = 0;
  std::int64_t in = 0;
  for (Rank other = 0; other < dense.ranks; ++other) {
    const bool is_part = dense.kind == DenseKind::reduce_scatter;
    const std::int64_t to = is_part ? dense.part(other) : dense.block(rank, other);
    const std::int64_t from = is_part ? dense.part(other) : dense.block(other, rank);
    blocks.send_counts.push_back(as_int(to));
    blocks.send_displacements.push_back(as_int(out));
    blocks.receive_counts.push_back(as_int(from));
    blocks.receive_displacements.push_back(as_int(in));
    out += to;
    in += from;
  }
  static_cast<void>(as_int(out));
  static_cast<void>(as_int(in));
  return blocks;
}

}  // namespace laneway::bench
