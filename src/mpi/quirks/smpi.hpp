#pragma once

#include <climits>

#include "mpi/quirks.hpp"

namespace laneway {

/// SimGrid's SMPI. It has many of Open MPI's and MPICH's algorithms.
inline constexpr Quirks quirks = {
    .name = "SMPI",
    .others = {},
    .arrays_return_errors = true,
    // It charges sends to the sender only where they are nonblocking.
    .inline_send_bytes = INT_MAX,
    .misplaces_backward_types = false,
    .keeps_too_few_types = false,
    .miscounts_in_place = true,
    .misreduces_in_place = false,
    .misplaces_alone = false,
    .reduces_locally_without_world = true,
    .destroys_active_communicators = false,
    .mixes_windows_up = false,
    .duplicates_on_the_original = false,
    // Simulated machines are as Open MPI's.
    .network_message = "57344",
    .waits_well = false,
};

}  // namespace laneway
