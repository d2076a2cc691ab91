#include "interpose/engine.hpp"

#include <dlfcn.h>
#include <link.h>
#include <mpi.h>

#include <atomic>
#include <cstdint>

#include "interpose/next.hpp"

extern "C" int laneway_next_MPI_Test(MPI_Request*, int*, MPI_Status*);
extern "C" int laneway_next_MPI_Wait(MPI_Request*, MPI_Status*);

namespace laneway::interpose {

#ifdef OPEN_MPI

namespace {

using Registration = int (*)(int (*)());

Registration registration(const char* name) {
  return reinterpret_cast<Registration>(dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool has_engine() {
  static const bool has = registration("opal_progress_register") && registration("opal_progress_unregister");
  return has;
}

void call_in_engine(int (*function)()) {
  static int (*registered)() = nullptr;
  if (registered == function) return;
  if (registered != nullptr) registration("opal_progress_unregister")(registered);
  if (function != nullptr) registration("opal_progress_register")(function);
  registered = function;
}

#else

namespace {

std::atomic<int (*)()> called{nullptr};

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
    static const auto known = reinterpret_cast<std::uintptr_t>(find_next("PMPI_Recv"));
    for (int i = 0; i < library.dlpi_phnum; ++i) {
      const auto& segment = library.dlpi_phdr[i];
      const std::uintptr_t begin = library.dlpi_addr + segment.p_vaddr;
      if (segment.p_type != PT_LOAD || known < begin || known >= begin + segment.p_memsz) continue;
      first = begin;
      end = begin + segment.p_memsz;
    }
  }
};

int turns = 0;

int count_turn() {
  return ++turns;
}

/// A test of a message that has not been sent is a turn.
bool try_engine() {
  int level = MPI_THREAD_SINGLE;
  MPI_Comm self = MPI_COMM_NULL;
  if (PMPI_Query_thread(&level) != MPI_SUCCESS || level == MPI_THREAD_MULTIPLE ||
      PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &self) != MPI_SUCCESS)
    return false;
  int flag = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, 0, self, &request);
  call_in_engine(count_turn);
  laneway_next_MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
  call_in_engine(nullptr);
  PMPI_Send(nullptr, 0, MPI_BYTE, 0, 0, self);
  laneway_next_MPI_Wait(&request, MPI_STATUS_IGNORE);
  PMPI_Comm_free(&self);
  return turns > 0;
}

}  // namespace

bool has_engine() {
  static const bool has = try_engine();
  return has;
}

void call_in_engine(int (*function)()) {
  called.store(function, std::memory_order_release);
}

#endif

}  // namespace laneway::interpose

#ifndef OPEN_MPI
extern "C" __attribute__((visibility("default"))) unsigned ucp_worker_progress(void* worker) {
  using namespace laneway::interpose;
  static const auto next = reinterpret_cast<unsigned (*)(void*)>(find_next("ucp_worker_progress"));
  const unsigned progress = next(worker);
  if (const auto function = called.load(std::memory_order_acquire)) {
    static const Code mpi_library;
    if (mpi_library.has(__builtin_return_address(0))) function();
  }
  return progress;
}
#endif
