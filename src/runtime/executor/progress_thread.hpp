#pragma once

namespace laneway {

/// One thread advances all work in the list of Progress::by_thread, so that it goes on while the program computes. It
/// sleeps while there is none; otherwise it polls, with pauses that grow while nothing is started or completed.

/// No effect if it runs. Throws std::system_error.
void start_progress_thread();

/// Returns when it has ended; no effect if it does not run.
void stop_progress_thread();

/// `stop` is called first in each stop_progress_thread from now on: it ends a thread that runs exchanges, too.
void stop_before_progress_thread(void (*stop)());

}  // namespace laneway
