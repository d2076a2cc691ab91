#pragma once

#include <mpi.h>

namespace laneway::interpose {

/// An info argument with hints of this library's own.
class MoreHints {
 public:
  /// With `given`, and lnw_exchanges where neither it nor the environment has that: programs make graphs and persistent
  /// operations to use them often.
  explicit MoreHints(MPI_Info given);
  ~MoreHints();
  MoreHints(const MoreHints&) = delete;
  MoreHints& operator=(const MoreHints&) = delete;

  /// Replaces what is given.
  void set(const char* key, const char* value);
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace laneway::interpose
