#include "operations/channel/channel.hpp"

#include <sched.h>

#include <chrono>
#include <climits>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "base/process/relax.hpp"
#include "base/simulated.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"
#include "runtime/carriers/messages/advance.hpp"

namespace laneway {

namespace {

/// A look at messages costs more than one at words, and locks.
constexpr unsigned turns_before_other_end = 256;
/// Nor is MPI called at each of these looks, where it is not needed for what this end waits for.
constexpr unsigned turns_before_messages = 4 * turns_before_other_end;

/// Threads of a process that wait at the same time have no core each, as a rule: who finds nothing gives way.
class WaitingThread {
 public:
  WaitingThread() { waiting_.fetch_add(1, std::memory_order_relaxed); }
  ~WaitingThread() { waiting_.fetch_sub(1, std::memory_order_relaxed); }
  WaitingThread(const WaitingThread&) = delete;
  WaitingThread& operator=(const WaitingThread&) = delete;

  void give_way(unsigned turns) const {
    if (turns > impatient_turns && waiting_.load(std::memory_order_relaxed) > 1) sched_yield();
  }

 private:
  static inline std::atomic<int> waiting_{0};
};

std::string rank_text(Rank rank) {
  return "rank " + std::to_string(rank);
}

}  // namespace

Channel::Channel(std::shared_ptr<PairComm> pairs, const Options& options)
    : pairs_(std::move(pairs)), options_(options) {
  const bool is_sender = options_.is_sender;
  const std::int64_t size = ChannelMemory::size(options_.bytes, options_.segments);
  require(size >= 0, ErrorKind::count, [&] {
    return "segments is " + std::to_string(options_.segments) + " and bytes is " + std::to_string(options_.bytes) +
           ": more than 2^63 bytes";
  });
  Handshake handshake;
  handshake.role = is_sender ? EndRole::channel_send : EndRole::channel_receive;
  handshake.bytes = options_.bytes;
  handshake.parts = options_.segments;
  handshake.shares = !simulated && options_.may_share;
  reason_ = options_.no_memory;
  if (!is_sender && handshake.shares) {
    try {
      ChannelMemoryPool::Block block = ChannelMemoryPool::take(size);
      mapping_ = std::move(block.memory);
      handshake.where = block.place;
    } catch (const std::exception& error) {
      handshake.shares = false;
      reason_ = error.what();
    }
  }
  if (options_.may_put && pairs_->window()) {
    piece_ = pairs_->window()->take(size);
    if (piece_) handshake.window = pairs_->window()->offset(piece_.get());
  }
  {
    // Another thread may find what the other end sends next.
    const ShortMessages::Turn turn = pairs_->short_messages().turn();
    mine_ = pairs_->send_handshake(options_.peer, handshake);
    if (!is_sender) pairs_->short_messages().expect(key());
  }
  const Helper helper = find_helper(options_.progress);
  helped_ = helper == Helper::thread_for_all;
  may_owe_ = helper == Helper::engine;
  activity_.list(*this, progress_by(helper));
  activity_.begin();
  employ(helper);
}

Channel::~Channel() {
  closing_.store(true, std::memory_order_release);
  if (mpi_is_finalized()) return;
  try {
    // `closing_` makes the next look the last one.
    progress_until([&] { return activity_.done(nullptr); });
    (void)activity_.test(nullptr);
    // The sender may have mapped it already, and look for nothing else.
    if (!memory_ && mapping_) memory_.emplace(mapping_.get(), options_.bytes, options_.segments);
    if (memory_ && !window_) memory_->close(options_.is_sender);
    if (messages_ && options_.is_sender) progress_until([&] { return are_all_flushed() || is_gone_for_long(); });
    {
      const ShortMessages::Turn turn = pairs_->short_messages().turn();
      messages_ ? messages_->leave() : pairs_->short_messages().forget(key());
    }
    // A sender that has met nobody has not said what it would use; a receiver may be used in any way.
    std::shared_ptr<void> kept;
    if (messages_)
      kept = std::move(messages_);
    else if (window_)
      kept = std::move(piece_);
    else if (!options_.is_sender)
      kept = std::make_shared<std::pair<std::shared_ptr<std::byte>, std::shared_ptr<std::byte>>>(std::move(mapping_),
                                                                                                 std::move(piece_));
    pairs_->close(options_.peer, mine_, std::move(kept), window_.has_value());
  } catch (...) {
    // Nobody can be told.
  }
}

bool Channel::are_all_flushed() {
  for (std::int64_t s = 0; s < options_.segments; ++s)
    if (!messages_->is_flushed(s)) return false;
  return true;
}

/// A receiver that is freed receives what was sent before, into memory of its own. It may not have heard yet that the
/// data goes in messages.
bool Channel::is_gone_for_long() {
  constexpr std::chrono::seconds long_enough{1};
  try {
    if (!is_gone(++fruitless_)) return false;
  } catch (const Error&) {
    return true;
  }
  if (other_ended_.load(std::memory_order_relaxed)) return true;
  const auto now = std::chrono::steady_clock::now();
  if (!gone_since_) gone_since_ = now;
  return now - *gone_since_ > long_enough;
}

bool Channel::progress() {
  if (closing_.load(std::memory_order_acquire)) return true;
  if (state_.load(std::memory_order_relaxed) == State::meeting) {
    try {
      if (!meet()) return false;
      state_.store(State::open, std::memory_order_release);
    } catch (...) {
      failure_ = std::current_exception();
      state_.store(State::failed, std::memory_order_release);
    }
  }
  if (!helped_ || !(messages_ || window_)) return true;
  advance_mpi(pairs_->get());
  return false;
}

/// The receiver's handshake says where its memory is; the sender finds out whether it can map it, and says what it
/// uses.
bool Channel::meet() {
  const ShortMessages::Turn turn = pairs_->short_messages().try_turn();
  if (!turn) return false;
  // In this order: what was said first is heard where what was said last is.
  if (!reply_) reply_ = pairs_->take_answer(options_.peer, mine_);
  if (!other_) other_ = pairs_->take_handshake(options_.peer, mine_);
  if (other_) check_sizes(*other_);
  if (reply_ && reply_->what == Reply::closed) throw_gone();
  if (!other_) return false;
  if (other_->process.machine != 0 && other_->process.machine == mine_.process.machine)
    other_process_.watch(other_->process.process);
  if (options_.is_sender) {
    meet_as_sender(*other_);
    return true;
  }
  if (!reply_) return false;
  if (reply_->what == Reply::memory) {
    use_memory(mapping_);
    return true;
  }
  if (reason_.empty() && other_->process.machine != mine_.process.machine)
    reason_ = rank_text(options_.peer) + " is on another node";
  if (reason_.empty()) reason_ = "the sender cannot map memory of this rank";
  mapping_.reset();
  if (reply_->what == Reply::window) {
    use_window(*other_);
    return true;
  }
  check_message_size();
  if (reply_->what == Reply::no_tags) PairComm::throw_no_tags(options_.peer, rank());
  use_messages(*reply_);
  return true;
}

void Channel::check_sizes(const Handshake& other) const {
  require(other.bytes == options_.bytes && other.parts == options_.segments, ErrorKind::count, [&] {
    return "the two ends of the channel differ: here segments is " + std::to_string(options_.segments) +
           " and bytes is " + std::to_string(options_.bytes) + ", on " + rank_text(options_.peer) + " segments is " +
           std::to_string(other.parts) + " and bytes is " + std::to_string(other.bytes);
  });
}

void Channel::meet_as_sender(const Handshake& other) {
  if (!mine_.shares) {
    if (reason_.empty()) reason_ = "there is no memory to share";
  } else if (other.process.machine != mine_.process.machine) {
    reason_ = rank_text(options_.peer) + " is on another node";
  } else if (!other.shares) {
    reason_ = rank_text(options_.peer) + " shares no memory";
  } else {
    try {
      use_memory(ChannelMemoryPool::find(other.where));
      return pairs_->answer(options_.peer, mine_, {.what = Reply::memory});
    } catch (const std::exception& error) {
      reason_ = error.what();
    }
  }
  if (piece_ && other.window >= 0) {
    use_window(other);
    return pairs_->answer(options_.peer, mine_, {.what = Reply::window});
  }
  if (options_.bytes > INT_MAX) pairs_->answer(options_.peer, mine_, {.what = Reply::no_tags});
  check_message_size();
  Answer tags{.what = Reply::messages, .first_tag = -1};
  if (!ChannelMessages::is_short(options_.bytes))
    tags = {Reply::messages, pairs_->take_tags(options_.peer, mine_, options_.segments),
            static_cast<std::int32_t>(options_.segments)};
  pairs_->answer(options_.peer, mine_, tags);
  use_messages(tags);
}

void Channel::use_memory(std::shared_ptr<std::byte> memory) {
  mapping_ = std::move(memory);
  piece_.reset();
  use_segments(mapping_.get());
  reason_ = "both ends are on one node";
}

void Channel::use_window(const Handshake& other) {
  use_segments(piece_.get());
  window_.emplace(pairs_->window(), options_.peer, other.window);
}

void Channel::use_segments(std::byte* memory) {
  memory_.emplace(memory, options_.bytes, options_.segments);
  if (!options_.is_sender) pairs_->short_messages().forget(key());
  if (options_.buffer != nullptr) copied_.resize(static_cast<std::size_t>(options_.segments));
}

void Channel::check_message_size() const {
  require(options_.bytes <= INT_MAX, ErrorKind::unsupported, [&] {
    return "bytes is " + std::to_string(options_.bytes) +
           ": between nodes, segments of channels have at most 2147483647 bytes";
  });
}

void Channel::use_messages(const Answer& tags) {
  if (options_.may_put)
    reason_ += "; " + (pairs_->window() ? "an end has no room in lnw_channel_memory" : pairs_->no_window());
  piece_.reset();
  messages_ = std::make_shared<ChannelMessages>(
      pairs_->short_messages(),
      ChannelMessages::Way{pairs_->get(), options_.peer, mine_.number, tags.first_tag, may_owe_}, options_.is_sender,
      options_.bytes, options_.segments, options_.buffer);
}

bool Channel::has_opened() {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::failed) std::rethrow_exception(failure_);
  return state == State::open;
}

void Channel::wait_for_other_end() {
  progress_until([&] { return has_opened(); });
}

bool Channel::other_is_closed() {
  if (memory_ && !window_) return memory_->is_closed(!options_.is_sender);
  if (other_closed_.load(std::memory_order_acquire)) return true;
  const std::optional<Answer> answer = pairs_->take_answer(options_.peer, mine_);
  if (!answer || answer->what != Reply::closed) return false;
  other_closed_.store(true, std::memory_order_release);
  return true;
}

/// Whether to look, after so many tests that have found nothing. Words come without MPI, but the other end may wait for
/// a message of this rank before it writes them.
bool Channel::looks_for_other_end(unsigned turns) const {
  const bool is_in_memory = memory_ && !window_;
  if (is_in_memory && turns % turns_before_messages == 0) advance_mpi(pairs_->get());
  return is_in_memory || turns % turns_before_other_end == 0;
}

/// Whether nothing comes from the other end any more.
bool Channel::is_gone(unsigned turns) {
  if (other_is_closed()) return true;
  if (turns % turns_before_other_end != 0 || !other_process_.has_ended()) return false;
  other_ended_.store(true, std::memory_order_relaxed);
  return true;
}

void Channel::throw_gone() const {
  const bool has_ended = other_ended_.load(std::memory_order_relaxed);
  const std::string text = rank_text(options_.peer) + (has_ended ? " has ended without freeing its end of the channel"
                                                                 : " has freed its end of the channel");
  if (has_ended && class_of_ended_process() != 0) throw Error(ErrorKind::mpi, text, class_of_ended_process());
  throw Error(ErrorKind::request, text);
}

void Channel::check(std::int64_t segment, bool of_sender) const {
  require(options_.is_sender == of_sender, ErrorKind::request,
          [&] { return std::string("channel is one for ") + (of_sender ? "receiving" : "sending"); });
  require(segment >= 0 && segment < options_.segments, ErrorKind::argument, [&] {
    return "segment is " + std::to_string(segment) + "; the channel has " + std::to_string(options_.segments);
  });
}

void Channel::put(std::int64_t segment, const void* data, std::int64_t bytes) {
  check(segment, true);
  require(bytes >= 0 && bytes <= options_.bytes, ErrorKind::count,
          [&] { return "bytes is " + std::to_string(bytes) + "; a segment has " + std::to_string(options_.bytes); });
  require(data != nullptr || bytes == 0, ErrorKind::argument, "data is NULL");
  open();
  // Not afterwards: the other end may take what was put and be freed before this call returns.
  if (memory_ && memory_->is_closed(false)) [[unlikely]]
    throw_gone();
  if (!memory_  ? messages_->put(segment, data, bytes)
      : window_ ? window_->put(*memory_, segment, data, bytes)
                : memory_->put(segment, data, bytes))
    return;
  if (other_is_closed()) throw_gone();
  throw Error(ErrorKind::request, "segment " + std::to_string(segment) + " is not free: " + rank_text(options_.peer) +
                                      " has not released what was put before, or another thread puts into it");
}

bool Channel::is_free(std::int64_t segment) {
  check(segment, true);
  if (!has_opened()) return false;
  if (can_put(segment)) return true;
  const unsigned turns = ++fruitless_;
  if (!looks_for_other_end(turns) || !is_gone(turns)) return false;
  if (can_put(segment)) return true;  // between the two looks
  throw_gone();
}

void Channel::flush() {
  require(options_.is_sender, ErrorKind::request, "channel is one for receiving");
  if (state_.load(std::memory_order_acquire) != State::open || memory_ || messages_->copies()) return;
  for (std::int64_t s = 0; s < options_.segments; ++s) {
    unsigned turns = 0;
    progress_until([&] {
      if (messages_->is_flushed(s)) return true;
      ++turns;
      if (turns % turns_before_other_end == 0 && is_gone(turns)) throw_gone();
      return false;
    });
  }
}

Arrived Channel::arrived(std::int64_t segment) {
  if (memory_ && options_.buffer != nullptr) {
    std::byte* const own = options_.buffer + segment * options_.bytes;
    std::uint64_t& copied = copied_[static_cast<std::size_t>(segment)];
    if (std::exchange(copied, memory_->number(segment)) != memory_->number(segment) && memory_->bytes(segment) > 0)
      std::memcpy(own, memory_->data(segment), static_cast<std::size_t>(memory_->bytes(segment)));
    return {own, memory_->bytes(segment)};
  }
  if (memory_) return {memory_->data(segment), memory_->bytes(segment)};
  return {messages_->data(segment), messages_->bytes(segment)};
}

bool Channel::has_come(std::int64_t segment) {
  if (!memory_) return messages_->has_come(segment);
  if (memory_->has_come(segment) || !window_) return memory_->has_come(segment);
  window_->advance();
  return memory_->has_come(segment);
}

bool Channel::can_put(std::int64_t segment) {
  if (!memory_) return messages_->is_free(segment);
  if (memory_->is_free(segment) || !window_) return memory_->is_free(segment);
  window_->advance();
  return memory_->is_free(segment);
}

std::optional<Arrived> Channel::test(std::int64_t segment) {
  check(segment, false);
  if (!has_opened()) return std::nullopt;
  if (has_come(segment)) return arrived(segment);
  const unsigned turns = ++fruitless_;
  if (!looks_for_other_end(turns) || !is_gone(turns)) return std::nullopt;
  if (has_come(segment)) return arrived(segment);  // between the two looks
  throw_gone();
}

Arrived Channel::wait(std::int64_t segment) {
  check(segment, false);
  open();
  if (has_come(segment)) return arrived(segment);
  const WaitingThread waiting;
  unsigned turns = 0;
  progress_until([&] {
    if (has_come(segment)) return true;
    waiting.give_way(turns);
    if (++turns % turns_before_other_end != 0) return false;
    if (!looks_for_other_end(turns) || !is_gone(turns)) return false;
    if (has_come(segment)) return true;
    throw_gone();
  });
  return arrived(segment);
}

void Channel::release(std::int64_t segment) {
  check(segment, false);
  open();
  if (!memory_  ? messages_->release(segment)
      : window_ ? window_->release(*memory_, segment)
                : memory_->release(segment))
    return;
  throw Error(ErrorKind::request, "segment " + std::to_string(segment) + " holds nothing that could be released");
}

std::string Channel::carrier() {
  open();
  return window_ ? "window" : memory_ ? "memory" : "messages";
}

}  // namespace laneway
