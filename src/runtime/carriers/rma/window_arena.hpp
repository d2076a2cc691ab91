#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/bytes/types.hpp"
#include "runtime/carriers/bootstrap.hpp"

namespace laneway {

class Window;

/// A window of all ranks of a communicator, in which each rank has memory for those that it meets one by one: to make
/// and to free a piece takes this rank alone. Kept until MPI_Finalize, as all windows.
class WindowArena : public std::enable_shared_from_this<WindowArena> {
 public:
  /// Of so many bytes on this rank. Null on all ranks where one gets none; `why` then says so, for people. Collective.
  [[nodiscard]] static std::shared_ptr<WindowArena> make(Bootstrap& bootstrap, std::int64_t bytes, std::string& why);

  WindowArena(const Window& window, MPI_Comm comm, std::int64_t bytes);

  /// A piece, all zero, which is given back with its last owner. Null: there is no room for it.
  [[nodiscard]] std::shared_ptr<std::byte> take(std::int64_t bytes);
  /// Of a piece, from the beginning of this rank's window.
  [[nodiscard]] std::int64_t offset(const std::byte* piece) const;

  /// @name As those of Puts
  /// @{
  void put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) const;
  void raise(Rank peer, const std::uint64_t* word, std::int64_t offset) const;
  void flush(Rank peer) const;
  void advance() const;
  /// @}

 private:
  void give_back(std::int64_t begin, std::int64_t bytes);

  const Window& window_;
  MPI_Comm comm_;
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> free_;  // bytes by offset; no two follow each other
};

}  // namespace laneway
