#pragma once

namespace laneway {

/// MPIX_ERR_PROC_FAILED; 0 where the MPI library has no such class.
[[nodiscard]] int class_of_ended_process();

/// Whether MPI says so since a process has ended, or since the program has revoked the communicator for that.
[[nodiscard]] bool is_of_ended_process(int code);

}  // namespace laneway
