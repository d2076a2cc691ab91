#pragma once

namespace laneway::interpose {

/// The progress engine of the MPI library, which runs whenever one of its calls waits, in whatever call.
///
/// Open MPI lets others register functions with it (opal_progress_register). MPICH lets nobody in; but its engine calls
/// ucp_worker_progress in each of its turns where it was built on UCX, and that function is in another library, so this
/// one can stand in front of it. All its waiting loops are turns of the engine (MPICH 4.0: MPIDI_progress_test,
/// MPIDI_progress_test_vci, and ucp_worker_progress itself in MPI_Win_flush). What is called in such a turn may call
/// MPI, since at this point no data of the engine is being changed; but not with MPI_THREAD_MULTIPLE, where MPICH holds
/// a lock that is not recursive.

/// Whether functions can be called by the engine. Found out by trying; the same on all ranks.
[[nodiscard]] bool has_engine();

/// `function` is called in each turn of the engine from now on; null: nothing is.
void call_in_engine(int (*function)());

}  // namespace laneway::interpose
