#pragma once

#include <mpi.h>

#include <atomic>

/// Symbols of the MPI library that this one stands in front of.
///
/// MPI_X and PMPI_X do the same here: profiling tools, and Open MPI's Fortran bindings, call PMPI_X. The function that
/// it hides is found by the dynamic linker and called as laneway_next_MPI_X. In the objects of the other layers that
/// are linked into this library, calls of MPI_X are renamed (rename.cmake), so that nothing of ours comes back here.
///
/// A call that is left to the MPI library goes through laneway_pass_MPI_X, where a profiling tool that comes after this
/// library has its turn. It calls PMPI_X, which is this library's, too: what has been passed on goes straight on.

namespace laneway::interpose {

/// The address of `symbol` in the libraries that come after this one. Ends the process with a text if there is none.
void* find_next(const char* symbol);

/// That of the tool in front of the MPI library that defines MPI_X, `symbol` without its P; null if there is none.
void* find_tool(const char* symbol);

/// How this thread has come here.
enum class Entry : char {
  program,  ///< by MPI_X
  behind,   ///< by PMPI_X, which tools do not see
  passed    ///< a tool has the call that was passed on
};
#ifdef __SANITIZE_ADDRESS__
inline thread_local Entry entry = Entry::program;
#else
[[gnu::tls_model("initial-exec")]] inline thread_local constinit Entry entry = Entry::program;
#endif

class Entered {
 public:
  explicit Entered(Entry by) : before_(entry) { entry = by; }
  ~Entered() { entry = before_; }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;

 private:
  Entry before_;
};

/// Another MPI library that the program has loaded by now ends the process with a text.
void check_loaded_libraries();

}  // namespace laneway::interpose

/// INTERPOSE(MPI_X, (parameters), (arguments)) { body }: defines MPI_X, PMPI_X, laneway_next_MPI_X, laneway_pass_MPI_X.
#define INTERPOSE(NAME, PARAMETERS, ARGUMENTS)                                                                    \
  extern "C" int laneway_next_##NAME PARAMETERS {                                                                 \
    static const auto next = reinterpret_cast<decltype(&P##NAME)>(laneway::interpose::find_next("P" #NAME));      \
    return next ARGUMENTS;                                                                                        \
  }                                                                                                               \
  /* Where it is known that no tool follows: the MPI library's. */                                                \
  static std::atomic<decltype(&P##NAME)> laneway_toolless_##NAME{nullptr};                                        \
  [[gnu::noinline]] static auto laneway_tool_##NAME() {                                                           \
    using namespace laneway::interpose;                                                                           \
    using Function = decltype(&P##NAME);                                                                          \
    static const auto tool = reinterpret_cast<Function>(find_tool(#NAME));                                        \
    if (tool == nullptr)                                                                                          \
      laneway_toolless_##NAME.store(reinterpret_cast<Function>(find_next("P" #NAME)), std::memory_order_relaxed); \
    return tool;                                                                                                  \
  }                                                                                                               \
  static int laneway_pass_##NAME PARAMETERS {                                                                     \
    using namespace laneway::interpose;                                                                           \
    const auto next = laneway_toolless_##NAME.load(std::memory_order_relaxed);                                    \
    if (next != nullptr) [[likely]]                                                                               \
      return next ARGUMENTS;                                                                                      \
    const auto tool = laneway_tool_##NAME();                                                                      \
    if (tool == nullptr || entry != Entry::program) return laneway_next_##NAME ARGUMENTS;                         \
    const Entered passed(Entry::passed);                                                                          \
    return tool ARGUMENTS;                                                                                        \
  }                                                                                                               \
  static int laneway_take_##NAME PARAMETERS;                                                                      \
  extern "C" __attribute__((visibility("default"))) int NAME PARAMETERS {                                         \
    return laneway_take_##NAME ARGUMENTS;                                                                         \
  }                                                                                                               \
  extern "C" __attribute__((visibility("default"))) int P##NAME PARAMETERS {                                      \
    using namespace laneway::interpose;                                                                           \
    const bool toolless = laneway_toolless_##NAME.load(std::memory_order_relaxed) != nullptr;                     \
    if (toolless || laneway_tool_##NAME() == nullptr) [[likely]]                                                  \
      return laneway_take_##NAME ARGUMENTS;                                                                       \
    if (entry == Entry::passed) return laneway_next_##NAME ARGUMENTS;                                             \
    const Entered behind(Entry::behind);                                                                          \
    return laneway_take_##NAME ARGUMENTS;                                                                         \
  }                                                                                                               \
  static int laneway_take_##NAME PARAMETERS
