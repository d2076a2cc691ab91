#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstring>
#include <optional>
#include <type_traits>

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "base/error.hpp"

namespace laneway {

/// A control message that has come, and is still to be received: until there is memory for it, MPI keeps it. One thread
/// at a time looks for messages of a tag on a communicator, so that it receives what it has found.
struct FoundMessage {
  MPI_Comm comm = MPI_COMM_NULL;
  Rank source = 0;
  int tag = 0;
  int bytes = 0;

  /// Throws Error(mpi).
  [[nodiscard]] Bytes take() const;
  /// Throws Error(internal) where it has another size, and receives it for nobody.
  template <class T>
  [[nodiscard]] T as() const {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    take_into(&value, sizeof value);
    return value;
  }
  /// Receives it for nobody. False where there is no memory, or MPI fails.
  bool drop() const noexcept;

 private:
  void take_into(void* place, std::size_t size) const;
};

/// The first that has come from `source` with this tag, which may be wildcards. Local. Throws Error(mpi).
[[nodiscard]] std::optional<FoundMessage> find_message(MPI_Comm comm, int source, int tag);
/// The same for a rank that the others count on: it looks again where MPI fails. `failed`: unless null, MPI's code.
[[nodiscard]] std::optional<FoundMessage> look_for_message(MPI_Comm comm, int source, int tag,
                                                           int* failed = nullptr) noexcept;

/// Sends what is never written again, and is forgotten. Returns MPI's code.
int send_away(const void* data, std::size_t bytes, Rank to, int tag, MPI_Comm comm) noexcept;

/// A control message that MPI reads or writes until its request is complete.
struct MessageUnderWay {
  Rank other = 0;
  int tag = 0;
  Bytes data = {};
  bool is_acknowledged = false;  ///< one that is sent is complete when it has been taken
  MPI_Request request = MPI_REQUEST_NULL;

  /// These two begin it. Throw Error(mpi).
  void send(MPI_Comm comm);
  void receive(const FoundMessage& found);
  /// Throws Error(mpi).
  [[nodiscard]] bool is_complete();
};

/// Puts a T after the data, which need not be moved for it.
template <class T>
void append(Bytes& data, const T& trailer) {
  static_assert(std::is_trivially_copyable_v<T>);
  const auto* const bytes = reinterpret_cast<const std::byte*>(&trailer);
  data.insert(data.end(), bytes, bytes + sizeof trailer);
}
/// Takes it off again.
template <class T>
[[nodiscard]] T take_trailer(Bytes& data) {
  T trailer;
  LANEWAY_ASSERT(data.size() >= sizeof trailer);
  std::memcpy(&trailer, data.data() + data.size() - sizeof trailer, sizeof trailer);
  data.resize(data.size() - sizeof trailer);
  return trailer;
}

}  // namespace laneway
