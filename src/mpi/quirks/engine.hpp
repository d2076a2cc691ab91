#pragma once

#include <atomic>

namespace laneway::engine {

/// What is called in each turn, or null.
inline std::atomic<int (*)()> called{nullptr};

/// Whether a call of the MPI library in which nothing is to be waited for calls a function that is given to the engine.
/// Such a function may call MPI.
[[nodiscard]] bool is_tried();

/// @name What each way in gives
/// @{
/// `setting`: of LANEWAY_ENGINE, or null.
[[nodiscard]] bool can_be_entered(const char* setting);
/// `function`, which may be null, instead of `before`; one thread at a time.
void enter(int (*function)(), int (*before)());
/// @}

}  // namespace laneway::engine
