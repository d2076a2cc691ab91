#pragma once

#include <mpi.h>

#include <atomic>

namespace laneway {

/// Which instance of the MPI library what it has made is of: another number each time that the library may have ended,
/// with a program's last session, since no communicator has an attribute of this library any more.
[[nodiscard]] int mpi_instance();

/// The key of an attribute of communicators. In a program that opens sessions one after another, the MPI library may be
/// gone with each of them, and what it has made: without MPI_Init the key lives as long as some communicator has the
/// attribute.
class AttributeKey {
 public:
  /// `forget`: is given an attribute whose communicator is freed, or has another one.
  explicit AttributeKey(void (*forget)(void* attribute)) : forget_(forget) {}

  /// Null where the communicator has none.
  [[nodiscard]] void* find(MPI_Comm comm);
  void set(MPI_Comm comm, void* attribute);
  /// Calls `forget`.
  void erase(MPI_Comm comm);

 private:
  [[nodiscard]] int key();
  static int deleted(MPI_Comm comm, int key, void* attribute, void* self);
  void forgotten() noexcept;

  void (*forget_)(void* attribute);
  std::atomic<int> key_{MPI_KEYVAL_INVALID};
  std::atomic<int> kept_{0};
};

}  // namespace laneway
