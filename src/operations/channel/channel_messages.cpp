#include "operations/channel/channel_messages.hpp"

#include "base/process/relax.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

constexpr std::int64_t line = 64;

[[nodiscard]] bool test(MPI_Request& request) {
  if (request == MPI_REQUEST_NULL) return true;
  int flag = 0;
  check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

/// For what may never complete, since the peer is gone. A send to this rank itself is not freed before it is complete:
/// MPICH 4.0 keeps it in its queue, and takes what has its memory next for it.
void give_up(MPI_Request& request, bool is_receive, bool is_to_self) {
  if (request == MPI_REQUEST_NULL) return;
  if (is_to_self && !is_receive) {
    int flag = 0;
    if (MPI_Test(&request, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS || flag == 0) return;
  }
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

ChannelMessages::ChannelMessages(const Way& way, bool is_sender, std::int64_t bytes, std::int64_t segments,
                                 std::byte* buffer)
    : way_(way),
      is_sender_(is_sender),
      bytes_(bytes),
      stride_(buffer != nullptr ? bytes : (bytes + line - 1) / line * line),
      memory_(is_sender || buffer != nullptr ? std::size_t{0} : static_cast<std::size_t>(stride_ * segments)),
      data_(buffer != nullptr ? buffer : memory_.data()),
      segments_(static_cast<std::size_t>(segments)) {
  for (std::int64_t s = 0; s < segments; ++s) {
    if (is_sender_) {
      check_mpi(MPI_Recv_init(nullptr, 0, MPI_BYTE, way_.peer, tag_back(s), way_.comm, &at(s).back), "MPI_Recv_init");
      continue;
    }
    check_mpi(MPI_Recv_init(data_ + s * stride_, static_cast<int>(bytes), MPI_BYTE, way_.peer, tag(s), way_.comm,
                            &at(s).data),
              "MPI_Recv_init");
    if (is_to_itself(way_))  // a blocking send would wait for a sender that is freed
      check_mpi(MPI_Send_init(nullptr, 0, MPI_BYTE, way_.peer, tag_back(s), way_.comm, &at(s).back), "MPI_Send_init");
    check_mpi(MPI_Start(&at(s).data), "MPI_Start");
  }
}

ChannelMessages::~ChannelMessages() {
  if (mpi_is_finalized()) return;
  const bool is_to_self = is_to_itself(way_);
  for (Segment& segment : segments_) {
    const bool is_full = segment.state.load(std::memory_order_acquire) == State::full;
    // The receive of a segment that is not full is posted, and so is that of the empty message back of a full one.
    if (is_sender_ ? !is_full : is_full) {
      if (segment.data != MPI_REQUEST_NULL) MPI_Request_free(&segment.data);
      if (segment.back != MPI_REQUEST_NULL) MPI_Request_free(&segment.back);
      continue;
    }
    give_up(segment.data, !is_sender_, is_to_self);
    give_up(segment.back, is_sender_ && !segment.has_back, is_to_self);
  }
}

void ChannelMessages::leave_buffer() {
  if (is_sender_ || data_ == memory_.data()) return;
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
  bool is_done = false;
  (void)claim(segment, State::full, State::full, [&] {
    if (!segment.has_back) segment.has_back = test(segment.back);
    // What has come back was sent after the data had been received.
    is_done = segment.has_back && test(segment.data);
    return is_done ? State::empty : State::full;
  });
  return is_done;
}

bool ChannelMessages::put(std::int64_t s, const void* data, std::int64_t bytes) {
  if (!is_free(s)) return false;
  Segment& segment = at(s);
  return claim(segment, State::empty, State::full, [&] {
    check_mpi(MPI_Start(&segment.back), "MPI_Start");
    segment.has_back = false;
    check_mpi(MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, way_.peer, tag(s), way_.comm, &segment.data),
              "MPI_Isend");
    return State::full;
  });
}

bool ChannelMessages::is_flushed(std::int64_t s) {
  Segment& segment = at(s);
  if (segment.state.load(std::memory_order_acquire) == State::empty) return true;
  bool is_done = false;
  (void)claim(segment, State::full, State::full, [&] {
    is_done = test(segment.data);
    return State::full;
  });
  return is_done;
}

bool ChannelMessages::has_come(std::int64_t s) {
  Segment& segment = at(s);
  if (segment.state.load(std::memory_order_acquire) == State::full) return true;
  int flag = 0;
  (void)claim(segment, State::empty, State::empty, [&] {
    MPI_Status status;
    int bytes = 0;
    check_mpi(MPI_Test(&segment.data, &flag, &status), "MPI_Test");
    if (flag != 0) check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
    segment.bytes = bytes;
    return flag != 0 ? State::full : State::empty;
  });
  return flag != 0;
}

const std::byte* ChannelMessages::data(std::int64_t s) const {
  return data_ + s * stride_;
}

std::int64_t ChannelMessages::bytes(std::int64_t s) const {
  return segments_[static_cast<std::size_t>(s)].bytes;
}

bool ChannelMessages::release(std::int64_t s) {
  Segment& segment = at(s);
  return claim(segment, State::full, State::empty, [&] {
    check_mpi(MPI_Start(&segment.data), "MPI_Start");
    if (segment.back == MPI_REQUEST_NULL) {
      // Does not wait for the sender, which has posted its receive before it put: one call, without a request.
      check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, way_.peer, tag_back(s), way_.comm), "MPI_Send");
      return State::empty;
    }
    // The last one was empty and has been received, or what has come since would not have been sent.
    if (segment.has_back) check_mpi(MPI_Wait(&segment.back, MPI_STATUS_IGNORE), "MPI_Wait");
    check_mpi(MPI_Start(&segment.back), "MPI_Start");
    segment.has_back = true;
    return State::empty;
  });
}

}  // namespace laneway
