#pragma once

namespace laneway {

/// How many sessions this process has open, of those whose MPI_Session_init has come by here: the library stands in
/// front of that and of MPI_Session_finalize, to free with the last session what it has kept. Where the dynamic linker
/// looks them up elsewhere there seem to be none.
[[nodiscard]] int open_sessions() noexcept;

/// Which process this is of all that the sessions can have; -1 where no session is known.
[[nodiscard]] int process_in_sessions() noexcept;

}  // namespace laneway
