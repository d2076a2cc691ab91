#include "operations/collective/execution/windows.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "base/bytes/address.hpp"
#include "base/error.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "runtime/carriers/rma/names.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_of_a_put = std::int64_t{1} << 30;

/// Where blocks that are each in one piece begin; nothing if one has gaps.
std::optional<Range> span_of(const std::vector<RangeList>& blocks) {
  std::optional<Range> all;
  for (const RangeList& block : blocks) {
    const std::optional<Range> piece = block.contiguous();
    if (!piece) return std::nullopt;
    if (piece->bytes == 0) continue;
    const std::int64_t begin = all ? std::min(all->offset, piece->offset) : piece->offset;
    const std::int64_t end = all ? std::max(all->end(), piece->end()) : piece->end();
    all = Range{begin, end - begin};
  }
  return all ? all : Range{};
}

void pack(const std::byte* buffer, const RangeList& block, std::byte* to) {
  block.for_each([&](Range range) {
    std::memcpy(to, at(const_cast<std::byte*>(buffer), range.offset), static_cast<std::size_t>(range.bytes));
    to += range.bytes;
  });
}

void unpack(const std::byte* from, const RangeList& block, std::byte* buffer) {
  block.for_each([&](Range range) {
    std::memcpy(at(buffer, range.offset), from, static_cast<std::size_t>(range.bytes));
    from += range.bytes;
  });
}

}  // namespace

void WindowExchange::Side::look_at(const Blocks& given, Rank ranks, void* buffer, bool must_pack) {
  std::int64_t bytes = 0;
  for (Rank peer = 0; peer < ranks; ++peer) {
    blocks.push_back(given.of(peer));
    offsets.push_back(bytes);
    bytes += blocks.back().bytes();
  }
  const std::optional<Range> span = must_pack ? std::nullopt : span_of(blocks);
  if (!span) {
    packed.resize(static_cast<std::size_t>(bytes));
    base = packed.data();
    return;
  }
  base = at(static_cast<std::byte*>(buffer), span->offset);
  for (std::size_t peer = 0; peer < blocks.size(); ++peer) {
    const Range piece = *blocks[peer].contiguous();
    offsets[peer] = piece.bytes == 0 ? 0 : piece.offset - span->offset;
  }
}

WindowExchange::WindowExchange(std::shared_ptr<PrivateComm> comm, const DenseCall& blocks, Buffers buffers, Windows way,
                               std::shared_ptr<const Plan> plan, std::unique_ptr<HostImages> images)
    : comm_(std::move(comm)),
      way_(way),
      buffers_(images ? images->images() : buffers),
      in_place_(blocks.in_place),
      plan_(std::move(plan)),
      images_(std::move(images)) {
  receive_.look_at(blocks.receive, comm_->size(), buffers_.receive, false);
  // In place, others may put where this rank still reads.
  const Blocks& sent = in_place_ ? blocks.receive : blocks.send;
  send_.look_at(sent, comm_->size(), const_cast<void*>(in_place_ ? buffers_.receive : buffers_.send), in_place_);
}

std::unique_ptr<WindowExchange> WindowExchange::make(std::shared_ptr<PrivateComm> comm, const DenseCall& blocks,
                                                     Buffers buffers, Windows way, std::shared_ptr<const Plan> plan) {
  const BufferMemory where = glance_at(buffers, *plan);
  std::unique_ptr<HostImages> images;
  if (where.on_device().any())
    images = std::make_unique<HostImages>(buffers, where, touched_by(*plan), MemoryKind::pinned);
  std::unique_ptr<WindowExchange> made(
      new WindowExchange(std::move(comm), blocks, buffers, way, std::move(plan), std::move(images)));
  return made->open() ? std::move(made) : nullptr;
}

/// All ranks have come when the first exchange is over, so that no rank waits in MPI for one that needs its help.
bool WindowExchange::open() {
  if (!are_windows_apart(comm_->get())) return false;
  const auto ranks = static_cast<std::size_t>(comm_->size());
  // MPICH 4.0 over UCX takes windows to begin at multiples of 16 bytes, and puts before those that do not. So they
  // begin at cache lines; nobody puts into what is before the buffer.
  const auto before = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(receive_.base) % cache_line);
  std::vector<std::int64_t> own_places = receive_.offsets;
  for (std::int64_t& place : own_places) place += before;
  places_.resize(ranks);
  std::vector<MPI_Request> requests(1);
  check_mpi(
      MPI_Ialltoall(own_places.data(), 1, MPI_INT64_T, places_.data(), 1, MPI_INT64_T, comm_->get(), requests.data()),
      "MPI_Ialltoall");
  wait_all_progressing(*comm_, requests);
  std::int64_t bytes = static_cast<std::int64_t>(receive_.packed.size());
  if (receive_.packed.empty())
    for (std::size_t peer = 0; peer < ranks; ++peer)
      bytes = std::max(bytes, receive_.offsets[peer] + receive_.blocks[peer].bytes());
  comm_->free_parts();
  auto made = std::make_shared<Window>();
  made->way = way_;
  const int code = MPI_Win_create(at(receive_.base, -before), static_cast<MPI_Aint>(before + bytes), 1, MPI_INFO_NULL,
                                  comm_->get(), &made->handle);
  int has_one = code == MPI_SUCCESS ? 1 : 0;
  int all_have = 0;
  reduce_progressing(&has_one, &all_have, 1, MPI_INT, MPI_MIN, *comm_);
  if (all_have == 0) {
    // To free a window takes all ranks: one that some have is left behind.
    made->handle = MPI_WIN_NULL;
    return false;
  }
  number_ = comm_->number_part();
  window_ = std::move(made);
  check_mpi(MPI_Win_set_errhandler(window_->handle, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
  if (way_ == Windows::lock) check_mpi(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_->handle), "MPI_Win_lock_all");
  return true;
}

WindowExchange::Window::~Window() {
  if (handle == MPI_WIN_NULL || mpi_is_finalized()) return;
  if (way == Windows::lock) MPI_Win_unlock_all(handle);
  MPI_Win_free(&handle);
}

WindowExchange::~WindowExchange() {
  if (!window_ || mpi_is_finalized()) return;
  window_->packed = std::move(receive_.packed);
  comm_->retire_part(number_, std::move(window_));
}

bool WindowExchange::start() {
  if (state_ != State::inactive) return false;
  if (images_) {
    images_->fetch();
    images_->synchronize();
  }
  const auto* const from = static_cast<const std::byte*>(in_place_ ? buffers_.receive : buffers_.send);
  if (!send_.packed.empty())
    for (std::size_t peer = 0; peer < send_.blocks.size(); ++peer)
      pack(from, send_.blocks[peer], send_.packed.data() + send_.offsets[peer]);
  check_mpi(MPI_Ibarrier(comm_->get(), &request_), "MPI_Ibarrier");
  state_ = State::entering;
  return true;
}

void WindowExchange::put() {
  const Rank ranks = comm_->size();
  for (Rank step = 0; step < ranks; ++step) {
    const Rank to = (comm_->rank() + step) % ranks;
    const auto place = static_cast<std::size_t>(to);
    const std::int64_t bytes = send_.blocks[place].bytes();
    if (bytes == 0) continue;
    const std::byte* const block = send_.base + send_.offsets[place];
    if (step == 0) {
      std::memcpy(receive_.base + receive_.offsets[place], block, static_cast<std::size_t>(bytes));
      continue;
    }
    for (std::int64_t done = 0; done < bytes; done += most_of_a_put) {
      const int part = static_cast<int>(std::min(most_of_a_put, bytes - done));
      check_mpi(MPI_Put(block + done, part, MPI_BYTE, to, static_cast<MPI_Aint>(places_[place] + done), part, MPI_BYTE,
                        window_->handle),
                "MPI_Put");
    }
  }
}

void WindowExchange::move() {
  if (way_ == Windows::fence) {
    check_mpi(MPI_Win_fence(MPI_MODE_NOPRECEDE, window_->handle), "MPI_Win_fence");
    put();
    check_mpi(MPI_Win_fence(MPI_MODE_NOSUCCEED, window_->handle), "MPI_Win_fence");
    finish();
    return;
  }
  check_mpi(MPI_Win_sync(window_->handle), "MPI_Win_sync");
  put();
  check_mpi(MPI_Win_flush_all(window_->handle), "MPI_Win_flush_all");
  check_mpi(MPI_Ibarrier(comm_->get(), &request_), "MPI_Ibarrier");
  state_ = State::leaving;
}

void WindowExchange::finish() {
  if (way_ == Windows::lock) check_mpi(MPI_Win_sync(window_->handle), "MPI_Win_sync");
  if (!receive_.packed.empty())
    for (std::size_t peer = 0; peer < receive_.blocks.size(); ++peer)
      unpack(receive_.packed.data() + receive_.offsets[peer], receive_.blocks[peer],
             static_cast<std::byte*>(buffers_.receive));
  if (images_) {
    images_->put_back();
    images_->synchronize();
  }
  state_ = State::complete;
}

bool WindowExchange::done() {
  while (state_ == State::entering || state_ == State::leaving) {
    int flag = 0;
    check_mpi(MPI_Test(&request_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return false;
    state_ == State::entering ? move() : finish();
  }
  return true;
}

bool WindowExchange::test() {
  if (!done()) return false;
  state_ = State::inactive;
  return true;
}

}  // namespace laneway
