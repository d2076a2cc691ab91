#pragma once

namespace laneway {

/// The progress engine of the MPI library, which runs whenever one of its calls waits, in whatever call. Each way into
/// one is a file in quirks/.

/// Whether functions can be called by the engine of this process. Found out by trying, in the first call; MPI must be
/// usable. Other ranks may find something else. False if LANEWAY_ENGINE is 0.
[[nodiscard]] bool has_engine();

/// `function` is called in each turn of the engine from now on, instead of what was; null, which may be given
/// without an engine, too: nothing is.
void call_in_engine(int (*function)());

/// What is called in each turn, or null.
[[nodiscard]] int (*function_in_engine())();

}  // namespace laneway
