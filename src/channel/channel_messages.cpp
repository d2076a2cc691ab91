#include "channel/channel_messages.hpp"

#include "carriers/messages/p2p.hpp"
#include "core/relax.hpp"

namespace laneway {

namespace {

constexpr std::int64_t line = 64;

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

}  // namespace

ChannelMessages::ChannelMessages(const Way& way, bool is_sender, std::int64_t bytes, std::int64_t segments)
    : way_(way),
      is_sender_(is_sender),
      bytes_(bytes),
      stride_((bytes + line - 1) / line * line),
      memory_(is_sender ? std::size_t{0} : static_cast<std::size_t>(stride_ * segments)),
      segments_(static_cast<std::size_t>(segments)) {
  for (std::int64_t s = 0; s < segments; ++s) {
    const int back = way_.tag_back + static_cast<int>(s);
    if (is_sender_) {
      check_mpi(MPI_Recv_init(nullptr, 0, MPI_BYTE, way_.peer, back, way_.comm, &at(s).back), "MPI_Recv_init");
      continue;
    }
    check_mpi(MPI_Recv_init(memory_.data() + s * stride_, static_cast<int>(bytes), MPI_BYTE, way_.peer, tag(s),
                            way_.comm, &at(s).data),
              "MPI_Recv_init");
    check_mpi(MPI_Send_init(nullptr, 0, MPI_BYTE, way_.peer, back, way_.comm, &at(s).back), "MPI_Send_init");
    check_mpi(MPI_Start(&at(s).data), "MPI_Start");
  }
}

ChannelMessages::~ChannelMessages() {
  if (mpi_is_finalized()) return;
  for (Segment& segment : segments_) {
    const bool is_full = segment.state.load(std::memory_order_acquire) == State::full;
    // The receive of a segment that is not full is posted, and so is that of the empty message back of a full one.
    if (is_sender_ ? !is_full : is_full) {
      if (segment.data != MPI_REQUEST_NULL) MPI_Request_free(&segment.data);
      if (segment.back != MPI_REQUEST_NULL) MPI_Request_free(&segment.back);
      continue;
    }
    give_up(segment.data, !is_sender_);
    if (is_sender_ && !segment.has_back)
      give_up(segment.back, true);
    else if (segment.back != MPI_REQUEST_NULL)
      MPI_Request_free(&segment.back);
  }
}

bool ChannelMessages::is_free(std::int64_t s) {
  Segment& segment = at(s);
  State state = segment.state.load(std::memory_order_acquire);
  if (state == State::empty) return true;
  if (state == State::busy || !segment.state.compare_exchange_strong(state, State::busy, std::memory_order_acquire))
    return false;
  try {
    if (!segment.has_back) segment.has_back = test(segment.back);
    // What has come back was sent after the data had been received.
    const bool is_done = segment.has_back && test(segment.data);
    segment.state.store(is_done ? State::empty : State::full, std::memory_order_release);
    return is_done;
  } catch (...) {
    segment.state.store(State::full, std::memory_order_release);
    throw;
  }
}

bool ChannelMessages::put(std::int64_t s, const void* data, std::int64_t bytes) {
  if (!is_free(s)) return false;
  Segment& segment = at(s);
  State state = State::empty;
  if (!segment.state.compare_exchange_strong(state, State::busy, std::memory_order_acquire)) return false;
  try {
    check_mpi(MPI_Start(&segment.back), "MPI_Start");
    segment.has_back = false;
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, way_.peer, tag(s), way_.comm, &segment.data),
              "MPI_Isend");
  } catch (...) {
    segment.state.store(State::full, std::memory_order_release);
    throw;
  }
  segment.state.store(State::full, std::memory_order_release);
  return true;
}

bool ChannelMessages::is_flushed(std::int64_t s) {
  Segment& segment = at(s);
  State state = segment.state.load(std::memory_order_acquire);
  if (state == State::empty) return true;
  if (state == State::busy || !segment.state.compare_exchange_strong(state, State::busy, std::memory_order_acquire))
    return false;
  try {
    const bool is_done = test(segment.data);
    segment.state.store(State::full, std::memory_order_release);
    return is_done;
  } catch (...) {
    segment.state.store(State::full, std::memory_order_release);
    throw;
  }
}

bool ChannelMessages::has_come(std::int64_t s) {
  Segment& segment = at(s);
  State state = segment.state.load(std::memory_order_acquire);
  if (state == State::full) return true;
  if (state == State::busy || !segment.state.compare_exchange_strong(state, State::busy, std::memory_order_acquire))
    return false;
  try {
    MPI_Status status;
    int flag = 0;
    int bytes = 0;
    check_mpi(MPI_Test(&segment.data, &flag, &status), "MPI_Test");
    if (flag != 0) check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    segment.bytes = bytes;
    segment.state.store(flag != 0 ? State::full : State::empty, std::memory_order_release);
    return flag != 0;
  } catch (...) {
    segment.state.store(State::empty, std::memory_order_release);
    throw;
  }
}

const std::byte* ChannelMessages::data(std::int64_t s) const {
  return memory_.data() + s * stride_;
}

std::int64_t ChannelMessages::bytes(std::int64_t s) const {
  return segments_[static_cast<std::size_t>(s)].bytes;
}

bool ChannelMessages::release(std::int64_t s) {
  Segment& segment = at(s);
  State state = State::full;
  if (!segment.state.compare_exchange_strong(state, State::busy, std::memory_order_acquire)) return false;
  try {
    check_mpi(MPI_Start(&segment.data), "MPI_Start");
    // The last one was empty and has been received, or what has come since would not have been sent.
    if (segment.has_back) check_mpi(MPI_Wait(&segment.back, MPI_STATUS_IGNORE), "MPI_Wait");
    check_mpi(MPI_Start(&segment.back), "MPI_Start");
    segment.has_back = true;
  } catch (...) {
    segment.state.store(State::empty, std::memory_order_release);
    throw;
  }
  segment.state.store(State::empty, std::memory_order_release);
  return true;
}

}  // namespace laneway
