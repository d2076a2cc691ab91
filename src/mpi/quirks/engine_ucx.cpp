#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/log_line.hpp"
#include "mpi/quirks/engine.hpp"

/// An MPICH before 4.3 lets nobody into its engine; but that calls ucp_worker_progress in each of its turns where it
/// was built on UCX, and that function is in another library, so this one can stand in front of it: it comes before UCX
/// in the order in which the dynamic linker looks, whether it is linked to the program or preloaded, but not where it
/// was opened later (dlopen). All waiting loops of MPICH are turns of the engine (MPICH 4.0: MPIDI_progress_test,
/// MPIDI_progress_test_vci, and ucp_worker_progress itself in MPI_Win_flush). What is called in such a turn may call
/// MPI, since at this point no data of the engine is being changed; but not with MPI_THREAD_MULTIPLE, where MPICH holds
/// a lock that is not recursive.
namespace laneway::engine {

namespace {

/// Where the MPI library's code is. Other users of UCX in the process are none of our business, UCX itself included.
struct Code {
  std::uintptr_t first = 0;
  std::uintptr_t end = 0;

  Code() {
    dl_iterate_phdr(
        [](dl_phdr_info* library, std::size_t, void* found) {
          static_cast<Code*>(found)->look_at(*library);
          return 0;
        },
        this);
  }
  [[nodiscard]] bool has(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    return at >= first && at < end;
  }

 private:
  void look_at(const dl_phdr_info& library) {
    static const auto known = reinterpret_cast<std::uintptr_t>(dlsym(RTLD_NEXT, "PMPI_Recv"));
    for (int i = 0; i < library.dlpi_phnum; ++i) {
      const auto& segment = library.dlpi_phdr[i];
      const std::uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || known < begin || known >= begin + segment.p_memsz) continue;
      first = begin;
      end = begin + segment.p_memsz;
    }
  }
};

using WorkerProgress = unsigned (*)(void*);

/// UCX's function, for `caller`: a library that was opened for itself may have brought UCX along.
WorkerProgress find_worker_progress(const void* caller) {
  constexpr const char* name = "ucp_worker_progress";
  void* found = dlsym(RTLD_NEXT, name);
  Dl_info library{};
  if (found == nullptr && dladdr(caller, &library) != 0)
    if (void* const opened = dlopen(library.dli_fname, RTLD_LAZY | RTLD_NOLOAD)) found = dlsym(opened, name);
  if (found == nullptr) {
    log_line("ucp_worker_progress was called, but there is no UCX library in this process");
    std::abort();
  }
  return reinterpret_cast<WorkerProgress>(found);
}

std::atomic<WorkerProgress> worker_progress{nullptr};

/// Ends in a jump, so that another library of this kind behind this one sees the same caller.
[[gnu::noinline]] unsigned progress_for(const void* caller, void* worker) {
  WorkerProgress next = worker_progress.load(std::memory_order_relaxed);
  if (next == nullptr) worker_progress.store(next = find_worker_progress(caller), std::memory_order_relaxed);
  if (const auto function = called.load(std::memory_order_acquire)) {
    static const Code mpi_library;
    if (mpi_library.has(caller)) function();
  }
  return next(worker);
}

}  // namespace

bool can_be_entered(const char* setting) {
  const bool is_refused = setting != nullptr && std::string_view(setting) == "0";
  return !is_refused && is_tried();
}

void enter(int (*)(), int (*)()) {}

}  // namespace laneway::engine

extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  namespace engine = laneway::engine;
  const auto next = engine::worker_progress.load(std::memory_order_relaxed);
  if (next != nullptr && engine::called.load(std::memory_order_relaxed) == nullptr) return next(worker);
  return engine::progress_for(__builtin_return_address(0), worker);
}
