#pragma once

#include "mpi/quirks.hpp"

namespace laneway {

/// MPICH and its descendants: Intel MPI, MVAPICH, Cray MPICH.
inline constexpr Quirks quirks = {
    .name = "MPICH",
    .others = {"Open MPI"},
    // The handler of MPI_COMM_WORLD is called, which ends the job by default. Messages that are looked at one by one
    // take no more time.
    .arrays_return_errors = false,
    // A nonblocking send of a short message takes a little less time than a persistent one.
    .inline_send_bytes = 4096,
    .misplaces_backward_types = false,
    .keeps_too_few_types = false,
    .miscounts_in_place = false,
    // 4.0 reads from the address MPI_IN_PLACE, for more than 2 KiB; MPI_Ireduce does not.
    .misreduces_in_place = true,
    // 4.0.2 (tests/mpi/dense_test.cpp, AloneBlocksAreAtTheirPlaces).
    .misplaces_alone = true,
    .reduces_locally_without_world = true,
    .destroys_active_communicators = false,
    .mixes_windows_up = false,
    .duplicates_on_the_original = false,
    // Over TCP, UCX asks before it sends more than some 16 KiB (docs/results/libraries.md).
    .network_message = "16384",
    .waits_well = false,
};

}  // namespace laneway
