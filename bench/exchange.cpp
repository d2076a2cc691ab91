#include "exchange.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/error.hpp"
#include "core/mix.hpp"
#include "matrix/halo.hpp"
#include "pattern/graph.hpp"

namespace laneway::bench {

namespace {

/// Labels of edges are dense, since some libraries cut indices to 32 bits.
std::uint64_t edge_label(Rank source, Rank destination, Rank ranks) {
  return static_cast<std::uint64_t>(source) * static_cast<std::uint64_t>(ranks) +
         static_cast<std::uint64_t>(destination);
}

Exchange graph_exchange(const Neighborhood& neighborhood, Rank rank, const Workload& workload) {
  const auto [op, bytes] = std::pair(workload.op, workload.bytes);
  const auto degree = std::max(neighborhood.sources.size(), neighborhood.destinations.size());
  require(bytes * static_cast<std::int64_t>(degree) <= std::numeric_limits<int>::max(), ErrorKind::argument,
          "rank " + std::to_string(rank) + ": " + std::to_string(degree) + " blocks of " + std::to_string(bytes) +
              " bytes do not fit the int displacements of MPI");
  Exchange exchange{op, false, bytes, {}, {}};
  Side& send = exchange.send;
  Side& receive = exchange.receive;
  send.peers = neighborhood.destinations;
  send.counts.assign(send.peers.size(), 1);
  send.indices.assign(send.peers.size(), 0);
  receive.peers = neighborhood.sources;
  receive.counts.assign(receive.peers.size(), 1);
  receive.indices.resize(receive.peers.size());
  std::iota(receive.indices.begin(), receive.indices.end(), 0);
  if (op == Op::allgather) {
    send.labels = {static_cast<std::uint64_t>(rank)};
    receive.labels.assign(receive.peers.begin(), receive.peers.end());
  } else {
    std::iota(send.indices.begin(), send.indices.end(), 0);
    for (Rank peer : send.peers) send.labels.push_back(edge_label(rank, peer, workload.ranks));
    for (Rank peer : receive.peers) receive.labels.push_back(edge_label(peer, rank, workload.ranks));
  }
  return exchange;
}

void add_neighbors(Side& side, const std::vector<matrix::HaloNeighbor>& neighbors) {
  for (const matrix::HaloNeighbor& neighbor : neighbors) {
    side.peers.push_back(neighbor.peer);
    side.counts.push_back(static_cast<int>(neighbor.indices.size()));
    side.indices.insert(side.indices.end(), neighbor.indices.begin(), neighbor.indices.end());
  }
}

Exchange halo_exchange(const matrix::Halo& halo, std::int64_t element_bytes) {
  const std::int64_t elements = std::max<std::int64_t>(halo.owned, static_cast<std::int64_t>(halo.ghosts.size()));
  require(elements * element_bytes <= std::numeric_limits<int>::max(), ErrorKind::argument,
          "rank " + std::to_string(halo.rank) + ": " + std::to_string(elements) + " elements of " +
              std::to_string(element_bytes) + " bytes do not fit the int displacements of MPI");
  Exchange exchange{Op::alltoallv, true, element_bytes, {}, {}};
  add_neighbors(exchange.send, halo.out);
  add_neighbors(exchange.receive, halo.in);
  exchange.send.labels.resize(static_cast<std::size_t>(halo.owned));
  std::iota(exchange.send.labels.begin(), exchange.send.labels.end(), static_cast<std::uint64_t>(halo.first_column));
  exchange.receive.labels.assign(halo.ghosts.begin(), halo.ghosts.end());
  return exchange;
}

Neighborhood neighborhood_of(const matrix::Halo& halo) {
  Neighborhood result;
  for (const matrix::HaloNeighbor& neighbor : halo.in) result.sources.push_back(neighbor.peer);
  for (const matrix::HaloNeighbor& neighbor : halo.out) result.destinations.push_back(neighbor.peer);
  return result;
}

Exchange matrix_exchange(const matrix::Halo& halo, const Workload& workload) {
  if (workload.is_halo()) return halo_exchange(halo, workload.bytes);
  return graph_exchange(neighborhood_of(halo), halo.rank, workload);
}

std::vector<Edge> to_edges(const Side& side, std::int64_t element_bytes) {
  std::vector<Edge> result;
  std::size_t k = 0;
  for (std::span<const std::int64_t> indices : side.edges())
    result.push_back({side.peers[k++], RangeList::from_indices(indices, element_bytes)});
  return result;
}

}  // namespace

const char* name(Op op) {
  return op == Op::allgather ? "allgather" : "alltoallv";
}

Op parse_op(std::string_view text) {
  for (Op op : {Op::allgather, Op::alltoallv})
    if (text == name(op)) return op;
  throw Error(ErrorKind::argument, "unknown operation '" + std::string(text) + "'; valid are allgather, alltoallv");
}

std::vector<std::span<const std::int64_t>> Side::edges() const {
  std::vector<std::span<const std::int64_t>> result;
  std::size_t at = 0;
  for (int count : counts) {
    result.emplace_back(indices.data() + at, static_cast<std::size_t>(count));
    at += static_cast<std::size_t>(count);
  }
  return result;
}

RankPattern to_pattern(const Exchange& exchange) {
  return {to_edges(exchange.send, exchange.element_bytes), to_edges(exchange.receive, exchange.element_bytes)};
}

Exchange Workload::exchange(Rank rank) const {
  if (matrix) return matrix_exchange(matrix::halo(*matrix, rank, ranks), *this);
  return graph_exchange(neighborhood(pattern, rank, ranks), rank, *this);
}

std::vector<Exchange> Workload::exchanges() const {
  std::vector<Exchange> result;
  if (matrix) {
    for (const matrix::Halo& halo : matrix::halos(*matrix, ranks)) result.push_back(matrix_exchange(halo, *this));
  } else {
    for (Rank rank = 0; rank < ranks; ++rank) result.push_back(exchange(rank));
  }
  return result;
}

std::optional<std::string> matrix_spec(const std::string& pattern) {
  constexpr std::string_view prefix = "matrix:";
  if (!pattern.starts_with(prefix)) return std::nullopt;
  return pattern.substr(prefix.size());
}

double number(std::uint64_t label, std::uint64_t salt) {
  return static_cast<double>(mix(mix(salt) ^ label) >> 11) * 0x1p-53;
}

void fill(std::span<std::byte> buffer, std::span<const std::uint64_t> labels, Content content, std::uint64_t salt) {
  if (labels.empty()) return;
  const std::size_t element_bytes = buffer.size() / labels.size();
  std::byte* at = buffer.data();
  for (std::uint64_t label : labels) {
    const std::uint64_t seed = mix(mix(salt) ^ label);
    for (std::size_t done = 0; done < element_bytes; done += sizeof(std::uint64_t)) {
      const std::uint64_t bits = mix(seed + done);
      const double value = number(label, salt);
      const void* from = content == Content::numbers ? static_cast<const void*>(&value) : &bits;
      std::memcpy(at + done, from, std::min(sizeof bits, element_bytes - done));
    }
    at += element_bytes;
  }
}

}  // namespace laneway::bench
