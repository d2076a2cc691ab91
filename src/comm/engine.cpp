#include "comm/engine.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "comm/running.hpp"
#include "core/simulated.hpp"
#include "core/tell.hpp"
#include "exec/progress.hpp"

namespace laneway {

namespace {

std::atomic<int (*)()> called{nullptr};

bool is_refused() {
  const char* const setting = std::getenv("LANEWAY_ENGINE");
#ifdef LANEWAY_HAS_ASYNC_START
  // MPICH 5.0.2 waits in MPI_Finalize for what was started by MPIX_Async_start before it deletes the attributes of
  // MPI_COMM_SELF, by which the library learns that it shall end it: programs would hang. So only who asks gets it.
  return setting == nullptr || std::string_view(setting) != "1";
#else
  return simulated || (setting != nullptr && std::string_view(setting) == "0");
#endif
}

}  // namespace

void advance_in_engine() {
  if (called.load(std::memory_order_acquire) == nullptr) call_in_engine(progress_in_engine);
}

void stop_in_engine() {
  if (called.load(std::memory_order_acquire) == progress_in_engine) call_in_engine(nullptr);
}

#ifdef OPEN_MPI

namespace {

using Registration = int (*)(int (*)());

Registration registration(const char* name) {
  return reinterpret_cast<Registration>(dlsym(RTLD_DEFAULT, name));
}

std::mutex registering;

}  // namespace

bool has_engine() {
  static const bool has =
      !is_refused() && registration("opal_progress_register") && registration("opal_progress_unregister");
  return has;
}

void call_in_engine(int (*function)()) {
  const std::lock_guard lock(registering);
  int (*const before)() = called.load(std::memory_order_relaxed);
  if (before == function) return;
  if (before != nullptr) registration("opal_progress_unregister")(before);
  if (function != nullptr) registration("opal_progress_register")(function);
  called.store(function, std::memory_order_release);
}

#else

namespace {

/// What try_engine has the engine call: whether that comes about, and may call MPI.
MPI_Comm tried = MPI_COMM_NULL;
int turns = 0;
bool counting = false;

int count_turn() {
  if (counting) return 0;
  counting = true;
  int flag = 0;
  MPI_Iprobe(0, 0, tried, &flag, MPI_STATUS_IGNORE);
  counting = false;
  return ++turns;
}

/// A test of a message that has not been sent is a turn.
bool try_engine() {
  int level = MPI_THREAD_SINGLE;
  if (is_refused() || !has_world() || MPI_Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE ||
      MPI_Comm_split(MPI_COMM_SELF, 0, 0, &tried) != MPI_SUCCESS)
    return false;
  int flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, tried, &request);
  call_in_engine(count_turn);
  MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  call_in_engine(nullptr);
  MPI_Send(nullptr, 0, MPI_BYTE, 0, 0, tried);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Comm_free(&tried);
  return turns > 0;
}

}  // namespace

bool has_engine() {
  static const bool has = try_engine();
  return has;
}

#ifdef LANEWAY_HAS_ASYNC_START

namespace {

std::atomic<bool> is_started{false};

/// MPI_Finalize waits until all that was started is done.
int poll(MPIX_Async_thing) {
  if (const auto function = called.load(std::memory_order_acquire)) {
    function();
    return MPIX_ASYNC_NOPROGRESS;
  }
  is_started.store(false, std::memory_order_release);
  return MPIX_ASYNC_DONE;
}

}  // namespace

void call_in_engine(int (*function)()) {
  called.store(function, std::memory_order_release);
  if (function != nullptr && !is_started.exchange(true, std::memory_order_acq_rel))
    MPIX_Async_start(poll, nullptr, MPIX_STREAM_NULL);
}

#else

void call_in_engine(int (*function)()) {
  called.store(function, std::memory_order_release);
}

#ifndef LANEWAY_SIMULATED

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
    tell("ucp_worker_progress was called, but there is no UCX library in this process");
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

#endif  // LANEWAY_SIMULATED
#endif  // LANEWAY_HAS_ASYNC_START
#endif  // OPEN_MPI

}  // namespace laneway

#if !defined(OPEN_MPI) && !defined(LANEWAY_HAS_ASYNC_START) && !defined(LANEWAY_SIMULATED)
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  const auto next = laneway::worker_progress.load(std::memory_order_relaxed);
  if (next != nullptr && laneway::called.load(std::memory_order_relaxed) == nullptr) return next(worker);
  return laneway::progress_for(__builtin_return_address(0), worker);
}
#endif
