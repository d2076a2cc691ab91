#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/process/spin_lock.hpp"
#include "communicator/control/control_comm.hpp"
#include "communicator/error_handler.hpp"
#include "communicator/hints/hints.hpp"
#include "communicator/private_comm.hpp"
#include "mpi/tag_space.hpp"
#include "operations/channel/channel_memory_pool.hpp"
#include "operations/channel/other_process.hpp"
#include "operations/channel/short_messages.hpp"
#include "runtime/carriers/rma/window_arena.hpp"

namespace laneway {

/// What an end of a pair is. The ends of one pair say opposite things.
enum class EndRole : std::uint8_t { partitioned_send, partitioned_receive, channel_send, channel_receive };

/// What one end of a pair tells the other first.
struct Handshake {
  EndRole role = EndRole::partitioned_send;
  std::int32_t tag = 0;            ///< the program's, of partitioned messages
  std::int64_t number = 0;         ///< among the ends of one role and tag that this rank has with the other
  std::int64_t bytes = 0;          ///< of all partitions, or of a segment
  std::int64_t parts = 0;          ///< partitions, or segments
  std::int64_t together = 0;       ///< of who sends partitions: so many share a message
  bool shares = false;             ///< of an end of a channel: it may use memory of the node
  ChannelMemoryPool::Place where;  ///< of who receives from a channel: its memory, if others may map it
  std::int64_t window = -1;        ///< of an end of a channel: where its part of the window is; -1: it has none
  OwnProcess process;              ///< of who says it
};

/// What an end says after its handshake.
enum class Reply : std::uint8_t {
  messages,  ///< of who sends: the data goes in messages, of these tags
  no_tags,   ///< or would, if there were tags for it
  memory,    ///< or through memory that both have
  window,    ///< or into the window that both have
  closed,    ///< it has been freed
  done       ///< of who receives messages: their tags may be used again
};
struct Answer {
  Reply what = Reply::closed;
  std::int32_t first_tag = 0;
  std::int32_t tags = 0;
};

/// Why the hints allow no memory of the node between this rank and `peer`, for people; empty if they do.
[[nodiscard]] std::string why_no_memory(MPI_Comm comm, const Hints& hints, Rank peer);

/// What ranks need that communicate in pairs: a private duplicate of the user's communicator, beside that for what all
/// ranks do together, so that pairs need nobody else. The first call on a communicator begins it and, where that can be
/// (duplicates_apart), does not wait.
///
/// An end that is freed waits for nobody. What the other may still send it is received here: a freed sender is known
/// until the receiver has said `done`, a freed receiver until the sender has said `closed`, which it does last. What
/// is left when the communicator has no owner any more is received before it is freed (Resident).
class PairComm final : public Resident {
 public:
  /// That of a user's communicator. Throws Error(communicator) on null and intercommunicators.
  [[nodiscard]] static std::shared_ptr<PairComm> of(MPI_Comm comm);

  explicit PairComm(MPI_Comm comm);
  ~PairComm() override;
  PairComm(const PairComm&) = delete;
  PairComm& operator=(const PairComm&) = delete;

  /// Whether it can be used.
  [[nodiscard]] bool ready() { return private_.ready(); }
  /// The user's communicator is being freed.
  void forget_user() { user_->store(MPI_COMM_NULL, std::memory_order_release); }
  /// Waits until it can; with lnw_transport=rma on all ranks they get a window, too. Collective.
  void prepare(const Hints& hints);
  /// Null: there is none, and `no_window` says why, for people.
  [[nodiscard]] const std::shared_ptr<WindowArena>& window() const { return window_; }
  [[nodiscard]] const std::string& no_window() const { return no_window_; }

  [[nodiscard]] MPI_Comm get() const { return private_.get(); }
  [[nodiscard]] const std::shared_ptr<PrivateComm>& comm() const { return comm_; }
  [[nodiscard]] Rank rank() const { return private_.rank(); }
  [[nodiscard]] Rank size() const { return private_.size(); }
  [[nodiscard]] const std::shared_ptr<const ErrorHandler>& error_handler() const { return error_handler_; }

  /// Throws Error(rank) unless it is a rank of the communicator.
  void check_rank(int peer, const char* name) const;

  /// Gives `handshake` its number, and says which process this is. What is said is sent as soon as the communicator is
  /// ready.
  [[nodiscard]] Handshake send_handshake(Rank peer, Handshake handshake);
  /// What the other end of `mine` has said; none yet. Only the first call that finds it gets it.
  [[nodiscard]] std::optional<Handshake> take_handshake(Rank peer, const Handshake& mine);
  /// More about the end that has told `mine`, and what the other end of it has said, one thing after
  /// another.
  void answer(Rank peer, const Handshake& mine, const Answer& answer);
  [[nodiscard]] std::optional<Answer> take_answer(Rank peer, const Handshake& mine);

  /// The first of so many tags for messages to `peer`, which are free again when both ends have been freed. Throws
  /// Error(unsupported) where there are not so many, and tells the other end.
  [[nodiscard]] int take_tags(Rank peer, const Handshake& mine, std::int64_t count);
  [[noreturn]] static void throw_no_tags(Rank from, Rank to);
  /// Of an end that is freed. Waits for nobody. `kept`: what its peer may still use. `is_mutual`: each end may until it
  /// has been freed itself, where a receiver's alone does otherwise.
  void close(Rank peer, const Handshake& mine, std::shared_ptr<void> kept, bool is_mutual);

  [[nodiscard]] ShortMessages& short_messages() { return short_messages_; }

  void call_error_handler(int code) const { error_handler_->call(private_, code); }

  /// For when it has no owner any more.
  [[nodiscard]] bool has_sent_all() override;
  [[nodiscard]] std::vector<Rank> peers() const override { return {contacted_.begin(), contacted_.end()}; }
  [[nodiscard]] bool is_idle() const override { return open_ends_ == 0; }

 private:
  [[nodiscard]] static std::shared_ptr<PairComm> attached_to(MPI_Comm comm);
  /// An end of this rank: the peer, its role, the program's tag, its number.
  using Key = std::tuple<Rank, EndRole, std::int32_t, std::int64_t>;
  struct SentAnswer {
    EndRole role;
    std::int32_t tag;
    std::int64_t number;
    Answer answer;
  };
  /// What has come for an end that this rank has not made yet, has, or has freed while the other may still send to it.
  struct PeerEnd {
    std::optional<Handshake> handshake;
    std::deque<Answer> answers;
    std::int32_t first_tag = -1;  ///< of its messages
    std::int32_t tags = 0;
    bool other_has_closed = false;
    bool is_left = false;    ///< it has been freed
    bool is_mutual = false;  ///< see close
    std::shared_ptr<void> kept = {};
  };
  static std::shared_ptr<PairComm> make(MPI_Comm comm);
  void send_answer(Rank peer, const Handshake& mine, const Answer& answer);
  void advance();
  void send_outgoing();
  void take_said();
  void require_running(Rank peer) const;
  [[nodiscard]] PeerEnd* peer_end_of(const Key& key);
  void on_answer(const Key& key, const Answer& answer);
  [[nodiscard]] bool finish_if_over(const Key& key, PeerEnd& left, Reply said);
  void drain(Rank peer, int first, int count);

  std::shared_ptr<UserComm> user_;
  std::shared_ptr<PrivateComm> comm_;  // null when there is no owner any more
  PrivateComm& private_;
  std::once_flag begun_;
  std::shared_ptr<const ErrorHandler> error_handler_;
  std::shared_ptr<WindowArena> window_;
  std::string no_window_ = "the communicator has no window: LNW_Comm_prepare makes one";
  /// Who has it may change what follows it. Calls of MPI that are made meanwhile may come back here, in the same
  /// thread, by the progress engine, which then does nothing.
  SpinLock lock_;
  std::atomic<int> open_ends_{0};
  bool some_have_ended_ = false;
  ShortMessages short_messages_;
  ControlMessages outgoing_{private_};
  std::set<Rank> contacted_;
  std::map<Key, PeerEnd> peer_ends_;
  std::set<Key> left_;  // freed receivers, from which no receive is posted any more
  std::map<Key, std::int64_t> numbers_;
  std::map<Rank, TagSpace> free_tags_;
};

}  // namespace laneway
