#pragma once

#include <mpi.h>

#include "carriers/transport.hpp"
#include "core/simulated.hpp"

namespace laneway {

/// Throws Error(mpi) with the MPI library's own text and class.
[[noreturn]] void throw_mpi_error(int code, const char* call);

inline void check_mpi(int code, const char* call) {
  if (code != MPI_SUCCESS) throw_mpi_error(code, call);
}

/// Whether calls with an array of requests return errors where the communicator of these requests returns them. MPICH
/// calls the handler of MPI_COMM_WORLD, which ends the job by default. Where that may be so, messages are looked at one
/// by one; in MPICH this takes no more time.
#ifdef OPEN_MPI
inline constexpr bool arrays_return_errors = true;
inline constexpr bool misplaces_backward_types = !simulated;  // see is_misplaced_by_mpi
#else
inline constexpr bool arrays_return_errors = simulated;
inline constexpr bool misplaces_backward_types = false;
#endif

/// Destructors that may run later must call nothing else of MPI then.
[[nodiscard]] bool mpi_is_finalized();

class MessageElements;

/// MPI point-to-point messages on `comm`, channel c on tag `tag_base + c`; persistent except for the smallest sends.
/// `comm` must return errors and outlive the endpoints. Messages may be larger than 2^31 bytes.
class P2PTransport final : public Transport {
 public:
  /// `elements`, if given, must outlive the transport, but not the endpoints.
  P2PTransport(MPI_Comm comm, int tag_base, const MessageElements* elements = nullptr)
      : comm_(comm), tag_base_(tag_base), elements_(elements) {}
  std::unique_ptr<Endpoint> bind(std::span<const Message> messages) override;
  [[nodiscard]] MessageNames names(Rank own, const std::vector<Rank>& peers) const override;

 private:
  MPI_Comm comm_;
  int tag_base_;
  const MessageElements* elements_;
};

}  // namespace laneway
