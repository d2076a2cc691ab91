#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/bytes/types.hpp"

namespace laneway {

/// Memory of each rank of a communicator that the others put into. The library calls MPI's windows here alone, and
/// knows here what MPI libraries want of them. Nothing allocates but what makes one. Throws Error(mpi).
///
/// To free a window takes all ranks. So nothing frees it but `close`, and one that some rank lacks is left behind.
class Window {
 public:
  /// How ranks know that what is put is there.
  enum class Epochs : std::uint8_t {
    fence,  ///< all ranks end an epoch together
    lock    ///< one epoch, from the beginning to the end of the window: what is flushed is there
  };

  /// Why ranks of the communicator get none, for people; empty: they may get one. The same on all of them. Local.
  [[nodiscard]] static std::string refusal(MPI_Comm comm);
  /// How far before `memory` a window of it begins, where its offset 0 is. Nobody puts there.
  [[nodiscard]] static std::int64_t lead(const void* memory);

  /// @name These make it. Collective; one rank may fail alone
  /// @{
  void create(MPI_Comm comm, void* memory, std::int64_t bytes, Epochs epochs);
  /// In memory that the MPI library gives, where this rank sees without a call what others put. Epochs::lock.
  void allocate(MPI_Comm comm, std::int64_t bytes);
  /// @}
  /// Collective. Returns MPI's code; also where there is no window.
  int close() noexcept;

  [[nodiscard]] bool is_open() const { return handle_ != MPI_WIN_NULL; }
  [[nodiscard]] std::byte* memory() const { return memory_; }

  /// `from` must not change before it is flushed, or the epoch ends.
  void put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) const;
  /// A number that others see as a whole.
  void accumulate(Rank peer, const void* number, MPI_Datatype type, std::int64_t offset, MPI_Op operation) const;
  /// All that was put at the peer is there.
  void flush(Rank peer) const;
  /// This rank sees what was put, and others see what it has written.
  void sync() const;
  /// What `body` puts is there when all ranks have come out of it; with Epochs::lock, when it returns.
  template <class Body>
  void in_epoch(Body&& body) const {
    begin_epoch();
    std::forward<Body>(body)();
    end_epoch();
  }

 private:
  void open(std::byte* memory, Epochs epochs);
  void begin_epoch() const;
  void end_epoch() const;

  MPI_Win handle_ = MPI_WIN_NULL;
  std::byte* memory_ = nullptr;
  Epochs epochs_ = Epochs::fence;
};

}  // namespace laneway
