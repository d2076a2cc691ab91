#pragma once

#include <mpi.h>

#include <string>

namespace laneway {

/// Says why on stderr, and ends the job.
[[noreturn]] void end_job(const std::string& why, MPI_Comm comm, int code);

}  // namespace laneway
