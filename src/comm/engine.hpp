#pragma once

namespace laneway {

/// The progress engine of the MPI library, which runs whenever one of its calls waits, in whatever call.
///
/// Open MPI lets others register functions with it (opal_progress_register), and so does MPICH since 4.3
/// (MPIX_Async_start). An older MPICH lets nobody in; but its engine calls ucp_worker_progress in each of its turns
/// where it was built on UCX, and that function is in another library, so this one can stand in front of it: it comes
/// before UCX in the order in which the dynamic linker looks, whether it is linked to the program or preloaded, but not
/// where it was opened later (dlopen). All waiting loops of MPICH are turns of the engine (MPICH 4.0:
/// MPIDI_progress_test, MPIDI_progress_test_vci, and ucp_worker_progress itself in MPI_Win_flush). What is called in
/// such a turn may call MPI, since at this point no data of the engine is being changed; but not with
/// MPI_THREAD_MULTIPLE, where MPICH holds a lock that is not recursive.

/// Whether functions can be called by the engine of this process. Found out by trying, in the first call; MPI must be
/// usable. Other ranks may find something else. False if LANEWAY_ENGINE is 0.
[[nodiscard]] bool has_engine();

/// `function` is called in each turn of the engine from now on, instead of what was; null, which may be given
/// without an engine, too: nothing is.
void call_in_engine(int (*function)());

/// The engine advances all active work from now on, unless a function has been given to it already.
void advance_in_engine();
/// No more. No effect on a function that the engine was given otherwise.
void stop_in_engine();

}  // namespace laneway
