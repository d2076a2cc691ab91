#pragma once

#include <stdexcept>
#include <string>
#include <type_traits>

namespace laneway {

/// What went wrong, as the C binding maps it to an MPI error class.
enum class ErrorKind {
  argument,
  count,
  type,
  rank,
  topology,
  communicator,
  request,
  buffer,
  info,
  io,
  mpi,
  device,
  internal,
  unsupported
};

[[nodiscard]] const char* name(ErrorKind kind);

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message, int mpi_class = 0)
      : std::runtime_error(message), kind_(kind), mpi_class_(mpi_class) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  /// The MPI library's class of an error of kind `mpi`; 0 if it is not known.
  [[nodiscard]] int mpi_class() const { return mpi_class_; }

 private:
  ErrorKind kind_;
  int mpi_class_;
};

/// Throws Error(kind, message) unless `condition` holds.
inline void require(bool condition, ErrorKind kind, const char* message) {
  if (!condition) throw Error(kind, message);
}
inline void require(bool condition, ErrorKind kind, const std::string& message) {
  if (!condition) throw Error(kind, message);
}

/// The same for hot paths: `message()` is called only to throw, out of the caller's way.
template <class Message>
requires std::is_invocable_r_v<std::string, Message>
[[gnu::always_inline]] inline void require(bool condition, ErrorKind kind, Message&& message) {
  if (!condition) [[unlikely]]
    [&]() __attribute__((noinline, cold)) {
      throw Error(kind, message());
    }
  ();
}

/// Throws Error(ErrorKind::internal): the library has contradicted itself.
[[noreturn]] void internal_error(const char* what, const char* file, int line);

}  // namespace laneway

/// Of what the library itself guarantees; takes constant time, and is checked in every build.
#define LANEWAY_ASSERT(condition)                                                \
  do {                                                                           \
    if (!(condition)) ::laneway::internal_error(#condition, __FILE__, __LINE__); \
  } while (false)
