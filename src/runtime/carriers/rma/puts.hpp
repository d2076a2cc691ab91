#pragma once

#include <cstddef>
#include <cstdint>

#include "base/bytes/types.hpp"
#include "runtime/carriers/memory.hpp"

namespace laneway {

/// Puts of one plan into windows of ranks that share no memory with this one, and where this rank writes what it then
/// puts. Nothing allocates but making one. Throws Error(mpi).
class Puts : public CarrierMemory {
 public:
  [[nodiscard]] virtual bool reaches(Rank peer) const = 0;
  /// Begins to bring bytes to `offset` of the peer's window. `from` must not change before they are flushed.
  virtual void put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) = 0;
  /// The same for a word, which others see as a whole.
  virtual void raise(Rank peer, const std::byte* word, std::int64_t offset) = 0;
  /// Waits until all that was brought to the peer is there. The MPI library may need calls of the peer for that.
  virtual void flush(Rank peer) = 0;
  /// Helps the MPI library with what others put here, and lets this rank see it.
  virtual void advance() = 0;
};

}  // namespace laneway
