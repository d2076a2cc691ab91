#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/kind.hpp"
#include "matrix/csr.hpp"
#include "matrix/halo.hpp"
#include "plan/pattern.hpp"

namespace laneway::bench {

/// Of these allgather, allgatherv and alltoallv.
using Op = Kind;
/// Throws Error(argument).
[[nodiscard]] Op parse_op(std::string_view text);

/// One direction of one rank's exchange, in elements.
struct Side {
  std::vector<Rank> peers;
  std::vector<int> counts;            ///< elements for each peer
  std::vector<std::int64_t> indices;  ///< their places in the buffer, one peer's after another's
  std::vector<std::uint64_t> labels;  ///< which value each element of the buffer has, the same on both sides

  /// The part of `indices` of each peer.
  [[nodiscard]] std::vector<std::span<const std::int64_t>> edges() const;
};

/// One rank's part of an exchange.
struct Exchange {
  Op op = Op::allgather;
  bool indexed = false;  ///< the send side names single elements, not one block for a destination
  std::int64_t element_bytes = 1;
  Side send;
  Side receive;

  [[nodiscard]] std::size_t send_bytes() const { return send.labels.size() * static_cast<std::size_t>(element_bytes); }
  [[nodiscard]] std::size_t receive_bytes() const {
    return receive.labels.size() * static_cast<std::size_t>(element_bytes);
  }
};

/// Of x in y = A x. Labels are the numbers of columns of A.
[[nodiscard]] Exchange halo_exchange(const matrix::Halo& halo, std::int64_t element_bytes);

/// The exchange in bytes.
[[nodiscard]] RankPattern to_pattern(const Exchange& exchange);
/// Of all ranks.
[[nodiscard]] Pattern to_pattern(std::span<const Exchange> exchanges);

/// Ranks whose blocks have a size of their own.
struct Heavy {
  std::vector<Rank> ranks;
  std::int64_t bytes = 0;

  /// `64 KiB from ranks 0,8`
  [[nodiscard]] std::string description() const;
};

/// Devices whose memory the data is in. Their host processes exchange it: the first ranks of each device's equal share
/// of a node's. All other ranks have no data. Several processes of a device have an equal part of each element.
struct Devices {
  int of_node = 0;    ///< 0: there are none, and every rank has data of its own
  int processes = 1;  ///< host processes of each
  Rank node_ranks = 1;
  bool staged = false;  ///< copies between device and host count as part of the exchange

  [[nodiscard]] bool any() const { return of_node > 0; }
  /// Ranks for each device.
  [[nodiscard]] Rank share() const { return node_ranks / of_node; }
  /// `data of 4 devices a node, 1 host process each, staged`
  [[nodiscard]] std::string description() const;
};

/// What all ranks exchange; any rank's part follows without communication, unless it is distributed.
struct Workload {
  std::string
      pattern;  ///< a graph or box spec, `matrix:` and a matrix spec, or `halo:` and a file; if distributed, a name
  Op op = Op::allgather;
  std::int64_t bytes = 0;  ///< of the block for an edge; of an element for the halo of a matrix
  Rank ranks = 0;
  std::shared_ptr<const matrix::Csr> matrix = nullptr;  ///< if the pattern is one of a matrix
  Heavy heavy = {};
  Devices devices = {};         ///< if there are any, the pattern is one of devices, not of ranks
  bool distributed = false;     ///< the halo of a matrix of which each rank has its rows only, and so its part only
  std::string memory = "host";  ///< where buffers are
  std::string path = {};        ///< how data in them gets to other ranks, if that was chosen

  /// The values of a matrix's vector that each rank needs; otherwise blocks along the edges of a graph.
  [[nodiscard]] bool is_halo() const;
  /// Throws Error(argument) if the operation cannot have heavy ranks, there are no such ranks, or the devices do not
  /// fit the ranks of a node or the size of an element.
  void check() const;
  /// Of the block that a rank sends along an edge of a graph.
  [[nodiscard]] std::int64_t block_bytes(Rank source) const;
  /// Not if distributed.
  [[nodiscard]] Exchange exchange(Rank rank) const;
  [[nodiscard]] std::vector<Exchange> exchanges() const;
  /// For titles: operation, pattern and sizes.
  [[nodiscard]] std::string description() const;
};

/// The spec of the matrix in `matrix:SPEC`.
[[nodiscard]] std::optional<std::string> matrix_spec(const std::string& pattern);

/// Elements can be numbers of 8 bytes between 0 and 1 instead of arbitrary bits: the k-th of an element is
/// number(label, salt + k).
enum class Content : std::uint8_t { bits, numbers };

[[nodiscard]] double number(std::uint64_t label, std::uint64_t salt);

/// Writes the value of every label, in order. Different salts give different values.
void fill(std::span<std::byte> buffer, std::span<const std::uint64_t> labels, Content content, std::uint64_t salt);

}  // namespace laneway::bench
