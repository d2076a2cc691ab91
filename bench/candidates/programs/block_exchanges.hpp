#pragma once

#include <memory>
#include <string>
#include <vector>

#include "candidates/programs/block_product.hpp"
#include "measure/run.hpp"

namespace laneway::bench {

/// A way to exchange the parts of a BlockProduct. Parts are packed to where they leave from, and used where they come.
class BlockExchange {
 public:
  virtual ~BlockExchange() = default;

  [[nodiscard]] virtual double* send_place(std::size_t part) = 0;
  [[nodiscard]] virtual const double* receive_place(std::size_t part) const = 0;

  /// Whether parts may leave before all are packed. Then `ready` and `arrived` are called by any thread, between
  /// `start` and `wait`; else everything is packed before `start`.
  [[nodiscard]] virtual bool is_partitioned() const = 0;
  virtual void start() = 0;
  virtual void ready(std::size_t /*part*/) {}
  [[nodiscard]] virtual bool arrived(std::size_t /*part*/) { return false; }
  virtual void wait() = 0;
};

/// By name: a baseline or a strategy of this library, which exchange all at once; `partitioned:STRATEGY`, this
/// library's partitioned exchange; or `mpi-partitioned`, a partitioned message of MPI 4 for each neighbour. Collective.
/// Throws Error(argument) for names that are none, and what the MPI library has not.
/// `progress`: the hint lnw_progress of this library's; empty: not given.
[[nodiscard]] std::unique_ptr<BlockExchange> make_block_exchange(const std::string& name, const Run& run,
                                                                 const BlockProduct& product,
                                                                 const std::string& progress);

/// Whether the MPI library has partitioned messages.
[[nodiscard]] bool has_mpi_partitioned();

}  // namespace laneway::bench
