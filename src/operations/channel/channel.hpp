#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "communicator/background.hpp"
#include "operations/channel/channel_memory.hpp"
#include "operations/channel/channel_memory_pool.hpp"
#include "operations/channel/channel_messages.hpp"
#include "operations/channel/channel_window.hpp"
#include "operations/channel/other_process.hpp"
#include "operations/channel/pair_comm.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// What a segment holds.
struct Arrived {
  const void* data = nullptr;
  std::int64_t bytes = 0;
};

/// One end of a channel: one way, from a rank to another, with segments that are put and released in any order. The two
/// ends meet in the background; whoever needs the other end waits for it.
class Channel final : private Progressive {
 public:
  struct Options {
    Rank peer = 0;
    bool is_sender = false;
    std::int64_t bytes = 0;  ///< of a segment
    std::int64_t segments = 0;
    std::byte* buffer = nullptr;  ///< of a receiver: where data comes, one segment after another; null: to own memory
    ProgressHint progress = ProgressHint::automatic;
    bool may_share = true;       ///< memory of the node, as far as the hints say
    std::string no_memory = {};  ///< why not, for people
    bool may_put = false;        ///< into the window of the communicator
  };

  /// Local.
  Channel(std::shared_ptr<PairComm> pairs, const Options& options);
  /// What has been put stays with the receiver; what has not arrived may be lost.
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// @name Of the sender
  /// @{
  /// Throws Error(request) if the segment is not free, or the other end has been freed or has ended; so do all below.
  void put(std::int64_t segment, const void* data, std::int64_t bytes);
  [[nodiscard]] bool is_free(std::int64_t segment);
  /// Returns when nothing that was put is read any more.
  void flush();
  /// @}

  /// @name Of the receiver
  /// @{
  /// Throws Error(request) if nothing has come and the other end has been freed.
  [[nodiscard]] std::optional<Arrived> test(std::int64_t segment);
  [[nodiscard]] Arrived wait(std::int64_t segment);
  /// Throws Error(request) if nothing has come.
  void release(std::int64_t segment);
  /// @}

  /// "memory", "window" or "messages", and a text that says why; waits for the other end.
  [[nodiscard]] std::string carrier();
  [[nodiscard]] const std::string& reason() const { return reason_; }
  [[nodiscard]] std::int64_t bytes() const { return options_.bytes; }
  [[nodiscard]] std::int64_t segments() const { return options_.segments; }

  [[nodiscard]] int rank() const { return pairs_->rank(); }
  void call_error_handler(int code) const { pairs_->call_error_handler(code); }

 private:
  enum class State : std::uint8_t { meeting, open, failed };

  bool progress() override;
  bool meet();
  void meet_as_sender(const Handshake& other);
  void use_memory(std::shared_ptr<std::byte> memory);
  void use_window(const Handshake& other);
  void use_segments(std::byte* memory);
  void use_messages(const Answer& tags);
  void check_sizes(const Handshake& other) const;
  void check_message_size() const;
  void check(std::int64_t segment, bool of_sender) const;
  void open() {
    if (state_.load(std::memory_order_acquire) != State::open) [[unlikely]]
      wait_for_other_end();
  }
  void wait_for_other_end();
  [[nodiscard]] ShortMessages::Key key() const { return {options_.peer, !options_.is_sender, mine_.number}; }
  [[nodiscard]] bool has_opened();
  [[nodiscard]] bool has_come(std::int64_t segment);
  [[nodiscard]] bool can_put(std::int64_t segment);
  [[nodiscard]] bool other_is_closed();
  [[nodiscard]] bool looks_for_other_end(unsigned turns) const;
  [[nodiscard]] bool is_gone(unsigned turns);
  [[nodiscard]] bool are_all_flushed();
  [[nodiscard]] bool is_gone_for_long();
  [[noreturn]] void throw_gone() const;
  [[nodiscard]] Arrived arrived(std::int64_t segment);

  std::shared_ptr<PairComm> pairs_;
  Options options_;
  Handshake mine_;
  std::optional<Handshake> other_;
  std::optional<Answer> reply_;
  std::shared_ptr<std::byte> mapping_;  // of a receiver from the beginning
  std::shared_ptr<std::byte> piece_;    // of the window of the communicator
  std::optional<ChannelMemory> memory_;
  std::optional<ChannelWindow> window_;  // between that memory and the other end's
  std::vector<std::uint64_t> copied_;    // to the receiver's buffer, by segment: the number of the put
  std::shared_ptr<ChannelMessages> messages_;
  std::string reason_;
  std::exception_ptr failure_;
  std::atomic<State> state_{State::meeting};
  OtherProcess other_process_;  // once the two have met
  std::atomic<bool> other_closed_{false};
  std::atomic<bool> other_ended_{false};
  std::optional<std::chrono::steady_clock::time_point> gone_since_;  // while this end is being freed
  std::atomic<unsigned> fruitless_{0};                               // tests
  std::atomic<bool> closing_{false};
  bool helped_ = false;   // by the progress thread, also when open
  bool may_owe_ = false;  // see ChannelMessages
  Activity activity_;     // last: nobody advances this any more when the rest goes
};

}  // namespace laneway
