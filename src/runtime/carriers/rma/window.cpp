#include "runtime/carriers/rma/window.hpp"

#include <algorithm>

#include "base/bytes/address.hpp"
#include "base/bytes/types.hpp"
#include "mpi/check.hpp"
#include "mpi/quirks.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_of_a_put = std::int64_t{1} << 30;

}  // namespace

std::string Window::refusal(MPI_Comm comm) {
  if constexpr (!quirks.mixes_windows_up) return {};
  int is_initialized = 0;
  int all = 0;
  int size = 0;
  check_mpi(MPI_Initialized(&is_initialized), "MPI_Initialized");
  if (is_initialized != 0) check_mpi(MPI_Comm_size(MPI_COMM_WORLD, &all), "MPI_Comm_size");
  check_mpi(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  return size == 1 || size == all ? ""
                                  : "the MPI library mixes up windows of communicators that have some of all ranks";
}

/// MPICH 4.0 over UCX takes windows to begin at multiples of 16 bytes, and puts before those that do not.
std::int64_t Window::lead(const void* memory) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(memory) % cache_line);
}

void Window::create(MPI_Comm comm, void* memory, std::int64_t bytes, Epochs epochs) {
  const std::int64_t before = lead(memory);
  std::byte* const begin = at(static_cast<std::byte*>(memory), -before);
  check_mpi(MPI_Win_create(begin, static_cast<MPI_Aint>(before + bytes), 1, MPI_INFO_NULL, comm, &handle_),
            "MPI_Win_create");
  open(begin, epochs);
}

void Window::allocate(MPI_Comm comm, std::int64_t bytes) {
  std::byte* memory = nullptr;
  check_mpi(MPI_Win_allocate(static_cast<MPI_Aint>(bytes), 1, MPI_INFO_NULL, comm, &memory, &handle_),
            "MPI_Win_allocate");
  int* model = nullptr;
  int has_one = 0;
  check_mpi(MPI_Win_get_attr(handle_, MPI_WIN_MODEL, static_cast<void*>(&model), &has_one), "MPI_Win_get_attr");
  require(has_one != 0 && *model == MPI_WIN_UNIFIED, ErrorKind::mpi,
          "MPI_WIN_MODEL: what others put is not seen in memory");
  open(memory, Epochs::lock);
}

void Window::open(std::byte* memory, Epochs epochs) {
  check_mpi(MPI_Win_set_errhandler(handle_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  if (epochs == Epochs::lock) check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, handle_), "MPI_Win_lock_all");
  memory_ = memory;
  epochs_ = epochs;
}

int Window::close() noexcept {
  if (!is_open()) return MPI_SUCCESS;
  if (epochs_ == Epochs::lock) MPI_Win_unlock_all(handle_);
  const int code = MPI_Win_free(&handle_);
  handle_ = MPI_WIN_NULL;
  return code;
}

void Window::put(Rank peer, const std::byte* from, std::int64_t offset, std::int64_t bytes) const {
  for (std::int64_t done = 0; done < bytes; done += most_of_a_put) {
    const int part = static_cast<int>(std::min(most_of_a_put, bytes - done));
    const auto place = static_cast<MPI_Aint>(offset + done);
    check_mpi(MPI_Put(from + done, part, MPI_BYTE, peer, place, part, MPI_BYTE, handle_), "MPI_Put");
  }
}

void Window::accumulate(Rank peer, const void* number, MPI_Datatype type, std::int64_t offset, MPI_Op operation) const {
  check_mpi(MPI_Accumulate(number, 1, type, peer, static_cast<MPI_Aint>(offset), 1, type, operation, handle_),
            "MPI_Accumulate");
}

void Window::flush(Rank peer) const {
  check_mpi(MPI_Win_flush(peer, handle_), "MPI_Win_flush");
}

void Window::sync() const {
  check_mpi(MPI_Win_sync(handle_), "MPI_Win_sync");
}

void Window::begin_epoch() const {
  if (epochs_ == Epochs::lock) return sync();
  check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE, handle_), "MPI_Win_fence");
}

void Window::end_epoch() const {
  if (epochs_ == Epochs::lock)
    check_mpi(MPI_Win_flush_all(handle_), "MPI_Win_flush_all");
  else
    check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, handle_), "MPI_Win_fence");
}

}  // namespace laneway
