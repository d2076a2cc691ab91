#include "operations/collective/execution/windows.hpp"

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <optional>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/failure.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "mpi/check.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/mpi_exchange.hpp"
#include "operations/request/packed_call.hpp"
#include "runtime/carriers/rma/window.hpp"

namespace laneway {

namespace {

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

/// One side of the call.
struct Side {
  void* buffer = nullptr;
  std::vector<RangeList> blocks;
  RangeList places;  // of all blocks, whose bytes are in `packed`; empty: they are in the buffer as they are
  std::vector<std::byte> packed;  // blocks lie one after the other
  std::byte* base = nullptr;
  std::vector<std::int64_t> offsets;  // of each block, from the base

  Side(const Blocks& given, Rank ranks, const void* where, bool must_pack) : buffer(const_cast<void*>(where)) {
    std::int64_t bytes = 0;
    for (Rank peer = 0; peer < ranks; ++peer) {
      blocks.push_back(given.of(peer));
      offsets.push_back(bytes);
      bytes += blocks.back().bytes();
    }
    const std::optional<Range> span = must_pack ? std::nullopt : span_of(blocks);
    if (!span) {
      for (const RangeList& block : blocks) places.append(block);
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
};

/// With the memory that it is of, unless that is the caller's.
struct KeptWindow {
  std::vector<std::byte> packed;
  Window window;
  KeptWindow() = default;
  KeptWindow(const KeptWindow&) = delete;
  KeptWindow& operator=(const KeptWindow&) = delete;
  ~KeptWindow() {
    if (!mpi_is_finalized()) (void)window.close();
  }
};

/// Begins with a barrier. Where a fence does not wait for all ranks after the puts, another one does.
class WindowExchange final : public MpiOperation {
 public:
  WindowExchange(std::shared_ptr<PrivateComm> comm, const DenseCall& call, Buffers buffers, Windows way, WindowUse use,
                 std::shared_ptr<const Plan> plan)
      : comm_(std::move(comm)),
        epochs_(way == Windows::fence ? Window::Epochs::fence : Window::Epochs::lock),
        use_(use),
        plan_(std::move(plan)),
        // In place, others may put where this rank still reads.
        send_(call.in_place ? call.receive : call.send, comm_->size(), call.in_place ? buffers.receive : buffers.send,
              call.in_place),
        receive_(call.receive, comm_->size(), buffers.receive, false) {}
  ~WindowExchange() override {
    if (!kept_ || mpi_is_finalized()) return;
    kept_->packed = std::move(receive_.packed);
    comm_->retire_part(number_, std::move(kept_));
  }
  WindowExchange(const WindowExchange&) = delete;
  WindowExchange& operator=(const WindowExchange&) = delete;

  [[nodiscard]] bool open();
  int start(MPI_Comm comm, MPI_Request* request) override {
    if (!send_.places.empty()) pack_bytes(send_.packed, send_.buffer, send_.places);
    all_have_put_ = false;
    return MPI_Ibarrier(comm, request);
  }
  void finish(MPI_Request* request) override;
  [[nodiscard]] const Plan* plan() const override { return plan_.get(); }

 private:
  void put() const;

  std::shared_ptr<PrivateComm> comm_;
  Window::Epochs epochs_;
  WindowUse use_;
  std::shared_ptr<const Plan> plan_;
  Side send_;
  Side receive_;
  std::vector<std::int64_t> places_;  // of this rank's blocks in the others' windows
  std::shared_ptr<KeptWindow> kept_;
  std::int64_t number_ = 0;
  bool all_have_put_ = false;
};

/// All ranks have come when the first exchange is over, so that no rank waits in MPI for one that needs its help.
bool WindowExchange::open() {
  if (!Window::refusal(comm_->get()).empty()) return false;
  const auto ranks = static_cast<std::size_t>(comm_->size());
  std::vector<std::int64_t> own_places = receive_.offsets;
  for (std::int64_t& place : own_places) place += Window::lead(receive_.base);
  places_.resize(ranks);
  std::vector<MPI_Request> requests(1);
  check_mpi(
      MPI_Ialltoall(own_places.data(), 1, MPI_INT64_T, places_.data(), 1, MPI_INT64_T, comm_->get(), requests.data()),
      "MPI_Ialltoall");
  wait_all_progressing(*comm_, requests);
  std::int64_t bytes = 0;
  for (std::size_t peer = 0; peer < ranks; ++peer)
    bytes = std::max(bytes, receive_.offsets[peer] + receive_.blocks[peer].bytes());
  comm_->free_parts();
  auto kept = std::make_shared<KeptWindow>();
  Window made;  // left behind where some rank has none, or fails
  const std::exception_ptr failure = failure_of([&] { made.create(comm_->get(), receive_.base, bytes, epochs_); });
  if (MpiBootstrap(*comm_).common_bits(failure ? 0 : 1) == 0) return false;
  kept->window = made;
  number_ = comm_->number_part();
  kept_ = std::move(kept);
  return true;
}

void WindowExchange::put() const {
  const Rank ranks = comm_->size();
  for (Rank step = 0; step < ranks; ++step) {
    const Rank to = (comm_->rank() + step) % ranks;
    const auto place = static_cast<std::size_t>(to);
    const std::int64_t bytes = send_.blocks[place].bytes();
    const std::byte* const block = send_.base + send_.offsets[place];
    if (step > 0)
      kept_->window.put(to, block, places_[place], bytes);
    else if (bytes > 0)
      std::memcpy(receive_.base + receive_.offsets[place], block, static_cast<std::size_t>(bytes));
  }
}

void WindowExchange::finish(MPI_Request* request) {
  if (!std::exchange(all_have_put_, true)) {
    kept_->window.in_epoch([this] { put(); });
    if (epochs_ == Window::Epochs::lock) return check_mpi(MPI_Ibarrier(comm_->get(), request), "MPI_Ibarrier");
  }
  if (epochs_ == Window::Epochs::lock) kept_->window.sync();
  if (!receive_.places.empty()) unpack_bytes(receive_.buffer, receive_.packed, receive_.places);
  if (use_ == WindowUse::once) kept_.reset();
}

}  // namespace

std::unique_ptr<Work> make_in_windows(std::shared_ptr<PrivateComm> comm, const DenseCall& blocks, Buffers buffers,
                                      Windows way, std::shared_ptr<const Plan> plan, WindowUse use) {
  const BufferMemory where = glance_at(buffers, *plan);
  std::unique_ptr<HostImages> images;
  if (where.on_device().any())
    images = std::make_unique<HostImages>(buffers, where, touched_by(*plan), MemoryKind::pinned);
  auto made =
      std::make_unique<WindowExchange>(comm, blocks, images ? images->images() : buffers, way, use, std::move(plan));
  if (!made->open()) return nullptr;
  const Rank rank = comm->rank();
  const MPI_Comm handle = comm->get();
  return std::make_unique<MpiExchange>(std::move(made), rank, handle, std::move(images), std::move(comm));
}

}  // namespace laneway
