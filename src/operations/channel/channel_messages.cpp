#include "operations/channel/channel_messages.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/process/relax.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

constexpr std::int64_t line = 64;
constexpr std::int64_t header_bytes = sizeof(ShortMessages::Header);
constexpr std::int64_t nowhere = -1;  // no segment

[[nodiscard]] bool test(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int flag = 0;
  check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

/// For what may never complete, since the peer is gone.
void give_up(MPI_Request& request, bool is_receive) {
  if (request == MPI_REQUEST_NULL) return;
  if (is_receive) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
}

[[nodiscard]] bool is_to_itself(const ChannelMessages::Way& way) {
  int own = MPI_PROC_NULL;
  MPI_Comm_rank(way.comm, &own);
  return way.peer == own;
}

}  // namespace

ChannelMessages::ChannelMessages(ShortMessages& shorts, const Way& way, bool is_sender, std::int64_t bytes,
                                 std::int64_t segments, std::byte* buffer)
    : shorts_(shorts),
      way_(way),
      is_sender_(is_sender),
      bytes_(bytes),
      stride_(buffer != nullptr ? bytes : (bytes + (is_sender ? header_bytes : 0) + line - 1) / line * line),
      memory_(buffer != nullptr || (is_sender && !is_short(bytes)) ? std::size_t{0}
                                                                   : static_cast<std::size_t>(stride_ * segments)),
      data_(buffer != nullptr ? buffer : memory_.data()),
      segments_(static_cast<std::size_t>(segments)) {
  for (std::int64_t s = 0; s < segments && !is_sender_ && !is_short(bytes); ++s) {
    check_mpi(MPI_Recv_init(data_ + s * stride_, static_cast<int>(bytes), MPI_BYTE, way_.peer, tag(s), way_.comm,
                            &at(s).data),
              "MPI_Recv_init");
    check_mpi(MPI_Start(&at(s).data), "MPI_Start");
  }
  peer_ = &shorts_.open(key(), *this, way_.comm);
}

ChannelMessages::~ChannelMessages() {
  if (mpi_is_finalized()) return;
  const bool is_to_self = is_to_itself(way_);
  ShortMessages::SelfSends own;
  const auto end_send = [&](MPI_Request& request) {
    if (is_to_self)
      own.requests.push_back(request);
    else
      give_up(request, false);
  };
  for (Segment& segment : segments_) {
    const bool is_full = segment.state.load(std::memory_order_acquire) == State::full;
    // The receive of a segment that is not full is posted.
    if (is_sender_)
      end_send(segment.data);
    else if (is_full && segment.data != MPI_REQUEST_NULL)
      MPI_Request_free(&segment.data);
    else
      give_up(segment.data, true);
    end_send(segment.back);
  }
  if (!is_to_self) return;
  // A receiver has sent headers alone, which are in its segments.
  own.read = std::make_shared<std::pair<BlockMemory, std::vector<Segment>>>(
      is_sender_ ? std::move(memory_) : BlockMemory(), std::move(segments_));
  shorts_.keep(std::move(own));
}

void ChannelMessages::leave() {
  shorts_.forget(key());
  if (is_sender_ || is_short(bytes_) || data_ == memory_.data()) return;
  memory_ = BlockMemory(static_cast<std::size_t>(bytes_) * segments_.size());
  data_ = memory_.data();
  for (std::int64_t s = 0; s < static_cast<std::int64_t>(segments_.size()); ++s) {
    Segment& segment = at(s);
    if (segment.state.load(std::memory_order_acquire) != State::empty) continue;
    MPI_Status status;
    int is_cancelled = 0;
    check_mpi(MPI_Cancel(&segment.data), "MPI_Cancel");
    check_mpi(MPI_Wait(&segment.data, &status), "MPI_Wait");
    check_mpi(MPI_Test_cancelled(&status, &is_cancelled), "MPI_Test_cancelled");
    if (is_cancelled == 0) {
      segment.state.store(State::full, std::memory_order_release);
      continue;
    }
    MPI_Request_free(&segment.data);
    check_mpi(MPI_Recv_init(data_ + s * stride_, static_cast<int>(bytes_), MPI_BYTE, way_.peer, tag(s), way_.comm,
                            &segment.data),
              "MPI_Recv_init");
    check_mpi(MPI_Start(&segment.data), "MPI_Start");
  }
}

/// Whoever finds the segment in the state `from` looks after its messages, alone. `work` returns what it is afterwards;
/// where it throws, the segment is `failed`. False, and nothing is done, if it was not in that state.
template <class Work>
bool ChannelMessages::claim(Segment& segment, State from, State failed, Work&& work) {
  if (!segment.state.compare_exchange_strong(from, State::busy, std::memory_order_acquire)) return false;
  State after = failed;
  try {
    after = work();
  } catch (...) {
    segment.state.store(failed, std::memory_order_release);
    throw;
  }
  segment.state.store(after, std::memory_order_release);
  return true;
}

bool ChannelMessages::is_free(std::int64_t s) {
  Segment& segment = at(s);
  if (segment.state.load(std::memory_order_acquire) == State::empty) return true;
  if (!segment.is_credited.load(std::memory_order_acquire)) {
    shorts_.poll();
    if (!segment.is_credited.load(std::memory_order_acquire)) {
      shorts_.miss(*peer_, way_.number, nowhere);
      return false;
    }
  }
  bool is_done = false;
  (void)claim(segment, State::full, State::full, [&] {
    // The credit was sent after the data had been received.
    is_done = segment.is_credited.load(std::memory_order_relaxed) && test(segment.data);
    return is_done ? State::empty : State::full;
  });
  return is_done;
}

/// Any thread may find the credit for what is put here before the segment is said to be full.
bool ChannelMessages::put(std::int64_t s, const void* data, std::int64_t bytes) {
  if (!is_free(s)) return false;
  Segment& segment = at(s);
  return claim(segment, State::empty, State::full, [&] {
    segment.is_credited.store(false, std::memory_order_relaxed);
    if (is_short(bytes_)) {
      std::byte* const message = data_ + s * stride_;
      const ShortMessages::Header header{way_.number, s, ShortMessages::to_carry(*peer_)};
      std::memcpy(message, &header, sizeof header);
      if (bytes > 0) std::memcpy(message + header_bytes, data, static_cast<std::size_t>(bytes));
      send_short(message, header_bytes + bytes, segment.data);
    } else {
      check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, way_.peer, tag(s), way_.comm, &segment.data),
                "MPI_Isend");
    }
    return State::full;
  });
}

void ChannelMessages::send_short(const void* message, std::int64_t bytes, MPI_Request& request) {
  check_mpi(MPI_Isend(message, static_cast<int>(bytes), MPI_BYTE, way_.peer, ShortMessages::tag, way_.comm, &request),
            "MPI_Isend");
}

bool ChannelMessages::is_flushed(std::int64_t s) {
  Segment& segment = at(s);
  if (segment.state.load(std::memory_order_acquire) == State::empty) return true;
  if (is_short(bytes_)) shorts_.poll();  // both ends may be this rank's
  bool is_done = false;
  (void)claim(segment, State::full, State::full, [&] {
    is_done = test(segment.data);
    return State::full;
  });
  return is_done;
}

void ChannelMessages::credit(const Credits& credits) {
  for (std::uint32_t left = credits.mask; left != 0; left &= left - 1)
    at(credits.first + std::countr_zero(left)).is_credited.store(true, std::memory_order_release);
}

bool ChannelMessages::has_come(std::int64_t s) {
  Segment& segment = at(s);
  if (segment.state.load(std::memory_order_acquire) == State::full) return true;
  if (is_short(bytes_)) {
    shorts_.poll();
    if (segment.state.load(std::memory_order_acquire) == State::full) return true;
  } else {
    int flag = 0;
    (void)claim(segment, State::empty, State::empty, [&] {
      MPI_Status status;
      int bytes = 0;
      check_mpi(MPI_Test(&segment.data, &flag, &status), "MPI_Test");
      if (flag != 0) check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
      segment.bytes = bytes;
      return flag != 0 ? State::full : State::empty;
    });
    if (flag != 0) return true;
  }
  shorts_.miss(*peer_, way_.number, s);
  return false;
}

void ChannelMessages::take(std::int64_t s, const std::byte* data, std::int64_t bytes) {
  Segment& segment = at(s);
  if (bytes > 0) std::memcpy(data_ + s * stride_, data, static_cast<std::size_t>(bytes));
  segment.bytes = bytes;
  segment.state.store(State::full, std::memory_order_release);
}

const std::byte* ChannelMessages::data(std::int64_t s) const {
  return data_ + s * stride_;
}

std::int64_t ChannelMessages::bytes(std::int64_t s) const {
  return segments_[static_cast<std::size_t>(s)].bytes;
}

bool ChannelMessages::release(std::int64_t s) {
  Segment& segment = at(s);
  // Before the sender may put the next, which another thread may find.
  const bool was_full = claim(segment, State::full, State::empty, [&] {
    if (!is_short(bytes_)) check_mpi(MPI_Start(&segment.data), "MPI_Start");
    return State::empty;
  });
  if (!was_full) return false;
  if (way_.may_owe && shorts_.owe(*peer_, way_.number, s, static_cast<std::int64_t>(segments_.size()))) return true;
  const auto first = static_cast<std::int32_t>(s / 32 * 32);
  send_credits({way_.number, first, std::uint32_t{1} << (s - first)});
  return true;
}

void ChannelMessages::send_credits(const Credits& credits) {
  Segment& segment = at(credits.first + std::countr_zero(credits.mask));
  // The last one has been received, or what has come since would not have been sent.
  if (segment.back != MPI_REQUEST_NULL) check_mpi(MPI_Wait(&segment.back, MPI_STATUS_IGNORE), "MPI_Wait");
  segment.header.credits = credits;
  send_short(&segment.header, header_bytes, segment.back);
}

}  // namespace laneway
