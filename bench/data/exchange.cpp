#include "data/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/bytes/block_memory.hpp"
#include "base/bytes/mix.hpp"
#include "base/error.hpp"
#include "base/readable.hpp"
#include "data/halo_file.hpp"
#include "matrix/box.hpp"
#include "offline/random_graphs.hpp"

namespace laneway::bench {

namespace {

template <class T>
void append_consecutive(std::vector<T>& values, std::int64_t first, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<T>(first + i));
}

/// Its elements are as large as the sizes of all blocks allow.
Exchange graph_exchange(const Neighborhood& neighborhood, Rank rank, const Workload& workload) {
  const std::int64_t largest = std::max(workload.bytes, workload.heavy.bytes);
  const auto degree = std::max(std::ssize(neighborhood.sources), std::ssize(neighborhood.destinations));
  const std::int64_t most = moves_data() ? std::numeric_limits<int>::max() : std::numeric_limits<std::int64_t>::max();
  require(largest <= most / std::max<std::int64_t>(degree, 1), ErrorKind::argument,
          "rank " + std::to_string(rank) + ": " + std::to_string(degree) + " blocks of " + std::to_string(largest) +
              " bytes do not fit the int displacements of MPI");
  Exchange exchange{workload.op, false, std::gcd(workload.bytes, workload.heavy.bytes), {}, {}};
  const bool same_for_all = workload.op != Op::alltoallv;
  // Dense, since some libraries cut indices to 32 bits.
  const auto first_label = [&](Rank source, Rank destination) {
    const std::int64_t block = same_for_all ? source : static_cast<std::int64_t>(source) * workload.ranks + destination;
    return block * (largest / exchange.element_bytes);
  };

  Side& receive = exchange.receive;
  receive.peers = neighborhood.sources;
  for (Rank source : receive.peers) {
    const std::int64_t elements = workload.block_bytes(source) / exchange.element_bytes;
    receive.counts.push_back(static_cast<int>(elements));
    append_consecutive(receive.labels, first_label(source, rank), elements);
  }
  append_consecutive(receive.indices, 0, std::ssize(receive.labels));

  Side& send = exchange.send;
  const std::int64_t elements = workload.block_bytes(rank) / exchange.element_bytes;
  send.peers = neighborhood.destinations;
  send.counts.assign(send.peers.size(), static_cast<int>(elements));
  if (same_for_all) {
    append_consecutive(send.labels, first_label(rank, -1), elements);
    for (std::size_t k = 0; k < send.peers.size(); ++k) append_consecutive(send.indices, 0, elements);
  } else {
    for (Rank destination : send.peers) append_consecutive(send.labels, first_label(rank, destination), elements);
    append_consecutive(send.indices, 0, std::ssize(send.labels));
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

/// Of the devices' own pattern, what a rank has of it.
Exchange device_exchange(const Workload& workload, Rank rank) {
  const Devices& devices = workload.devices;
  Workload own = workload;
  own.devices = {};
  own.ranks = workload.ranks / devices.share();
  own.bytes = workload.bytes / devices.processes;
  Exchange exchange = own.exchange(rank / devices.share());
  const Rank process = rank % devices.share();
  for (Side* side : {&exchange.send, &exchange.receive}) {
    if (process >= devices.processes) *side = {};
    for (Rank& peer : side->peers) peer = peer * devices.share() + process;
    for (std::uint64_t& label : side->labels)
      label = label * static_cast<std::uint64_t>(devices.processes) + static_cast<std::uint64_t>(process);
  }
  return exchange;
}

std::vector<Edge> to_edges(const Side& side, std::int64_t element_bytes) {
  std::vector<Edge> result;
  std::size_t k = 0;
  for (std::span<const std::int64_t> indices : side.edges())
    result.push_back({side.peers[k++], RangeList::from_indices(indices, element_bytes)});
  return result;
}

}  // namespace

Op parse_op(std::string_view text) {
  for (Op op : {Op::allgather, Op::allgatherv, Op::alltoallv})
    if (text == name(op)) return op;
  throw Error(ErrorKind::argument,
              "unknown operation '" + std::string(text) + "'; valid are allgather, allgatherv, alltoallv");
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

RankPattern to_pattern(const Exchange& exchange) {
  return {to_edges(exchange.send, exchange.element_bytes), to_edges(exchange.receive, exchange.element_bytes)};
}

Pattern to_pattern(std::span<const Exchange> exchanges) {
  Pattern pattern;
  for (const Exchange& exchange : exchanges) pattern.push_back(to_pattern(exchange));
  return pattern;
}

std::string Heavy::description() const {
  std::string list;
  for (Rank rank : ranks) list += (list.empty() ? "" : ",") + std::to_string(rank);
  return readable_bytes(bytes) + " from ranks " + list;
}

std::string Devices::description() const {
  return "data of " + std::to_string(of_node) + " devices a node, " + std::to_string(processes) +
         (processes == 1 ? " host process each" : " host processes each") + (staged ? ", staged" : "");
}

bool Workload::is_halo() const {
  return distributed || halo_file(pattern) || matrix::is_box(pattern) || (matrix != nullptr && op == Op::alltoallv);
}

void Workload::check() const {
  require(!(halo_file(pattern) || matrix::is_box(pattern)) || op == Op::alltoallv, ErrorKind::argument,
          pattern + " is a halo, and so an alltoallv, not an " + name(op));
  if (devices.any()) {
    require(
        devices.node_ranks % devices.of_node == 0 && devices.share() >= devices.processes, ErrorKind::argument,
        devices.description() + ": " + std::to_string(devices.node_ranks) + " ranks of a node cannot be their hosts");
    require(bytes % devices.processes == 0, ErrorKind::argument,
            devices.description() + ": " + std::to_string(bytes) + " bytes cannot be divided by them");
    require(heavy.ranks.empty(), ErrorKind::argument, "there are no heavy ranks where the data is in devices");
  }
  if (heavy.ranks.empty()) return;
  require(op != Op::allgather, ErrorKind::argument,
          "all blocks of an allgather have one size; heavy ranks need allgatherv or alltoallv");
  require(!is_halo(), ErrorKind::argument, "the sizes in the halo of a matrix are its own; it has no heavy ranks");
  for (Rank rank : heavy.ranks)
    require(rank >= 0 && rank < ranks, ErrorKind::argument,
            "heavy rank " + std::to_string(rank) + ": there are " + std::to_string(ranks) + " ranks");
}

std::int64_t Workload::block_bytes(Rank source) const {
  return std::find(heavy.ranks.begin(), heavy.ranks.end(), source) == heavy.ranks.end() ? bytes : heavy.bytes;
}

Exchange Workload::exchange(Rank rank) const {
  require(!distributed, ErrorKind::internal, "the parts of " + pattern + " do not follow from its name");
  if (devices.any()) return device_exchange(*this, rank);
  if (const std::optional<std::string> file = halo_file(pattern)) return read_halo(*file, rank, ranks, bytes);
  if (matrix::is_box(pattern)) return halo_exchange(matrix::box_halo(pattern, rank, ranks), bytes);
  if (matrix) return matrix_exchange(matrix::halo(*matrix, rank, ranks), *this);
  return graph_exchange(neighborhood(pattern, rank, ranks), rank, *this);
}

std::vector<Exchange> Workload::exchanges() const {
  std::vector<Exchange> result;
  if (matrix && !devices.any()) {
    for (const matrix::Halo& halo : matrix::halos(*matrix, ranks)) result.push_back(matrix_exchange(halo, *this));
  } else {
    for (Rank rank = 0; rank < ranks; ++rank) result.push_back(exchange(rank));
  }
  return result;
}

std::string Workload::description() const {
  const std::string text =
      std::string(name(op)) + ", " + pattern + ", " + readable_bytes(bytes) + (is_halo() ? " an element" : " an edge");
  const std::string of_devices = devices.any() ? ", " + devices.description() : "";
  const std::string where = memory == "host" ? "" : ", buffers in " + memory + " memory";
  const std::string by = path.empty() ? "" : ", path " + path;
  return (heavy.ranks.empty() ? text : text + ", " + heavy.description()) + of_devices + where + by;
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
      const double value = number(label, salt + done / sizeof value);
      const void* from = content == Content::numbers ? static_cast<const void*>(&value) : &bits;
      std::memcpy(at + done, from, std::min(sizeof bits, element_bytes - done));
    }
    at += element_bytes;
  }
}

}  // namespace laneway::bench
