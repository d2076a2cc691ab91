#pragma once

#include "mpi/quirks.hpp"

namespace laneway {

/// Seen in 4.1.4 and, where it is not said, in 5.0 as well.
inline constexpr Quirks quirks = {
    .name = "Open MPI",
    .others = {"MPICH", "Intel(R) MPI", "MVAPICH"},
    .arrays_return_errors = true,
    // These go out inline, without a request, in half the time that starting a persistent one takes; larger ones
    // take more.
    .inline_send_bytes = 256,
    // Buffers are allocated by the extent, which may be negative, and a vector of single bytes with a stride of -1 is
    // taken for a contiguous one (tests/mpi/backward_types_test.cpp).
    .misplaces_backward_types = true,
    // A program of MPI alone shows it; it reads behind the array.
    .keeps_too_few_types = true,
    .miscounts_in_place = true,
    .misreduces_in_place = false,
    .misplaces_alone = false,
    // 5.0.11 looks it up at MPI_COMM_WORLD: a program of MPI alone crashes (tests/mpi/sessions.cpp).
    .reduces_locally_without_world = false,
    // Its engine goes on with the operation (tests/mpi/mixed_test.cpp, WhatMayBeFreedEarlyIs).
    .destroys_active_communicators = true,
    // Windows are named on a node by context ids, which may be the same (4.1).
    .mixes_windows_up = true,
    // Its MPI_Comm_idup is several nonblocking collectives on the original, each started when the one before has ended:
    // at another place among the program's on each rank, so that they match each other's messages, and a communicator
    // that is freed meanwhile is gone. It shows in a program of MPI alone that adds numbers meanwhile.
    .duplicates_on_the_original = true,
    // Over TCP, 64 KiB and more do; some are left for headers.
    .network_message = "57344",
    .waits_well = true,
};

}  // namespace laneway
