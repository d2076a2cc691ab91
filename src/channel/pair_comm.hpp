#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <vector>

#include "arguments/hints.hpp"
#include "carriers/node/shared_segment.hpp"
#include "channel/other_process.hpp"
#include "comm/error_handler.hpp"
#include "comm/private_comm.hpp"
#include "core/relax.hpp"

namespace laneway {

/// What an end of a pair is. The ends of one pair say opposite things.
enum class EndRole : std::uint8_t { partitioned_send, partitioned_receive, channel_send, channel_receive };

/// What one end of a pair tells the other.
struct Hello {
  EndRole role = EndRole::partitioned_send;
  std::int32_t tag = 0;          ///< the program's, of partitioned messages
  std::int64_t number = 0;       ///< among the ends of one role and tag that this rank has with the other
  std::int64_t bytes = 0;        ///< of all partitions, or of a segment
  std::int64_t parts = 0;        ///< partitions, or segments
  std::int64_t together = 0;     ///< of who sends partitions: so many share a message
  std::int32_t first_tag = 0;    ///< of who sends: the first of the tags that the pair uses
  bool shares = false;           ///< of an end of a channel: it may use memory of the node
  SharedSegment::Address where;  ///< of who receives from a channel: its memory, if others may map it
  OwnProcess process;            ///< of who says it
};

/// What an end says after its hello.
enum class Reply : std::uint8_t {
  messages,  ///< of who sends: the channel's data goes in messages
  memory,    ///< or through memory that both have
  closed     ///< it has been freed
};

/// What ranks need that communicate in pairs: a private duplicate of the user's communicator, beside that for what all
/// ranks do together, so that pairs need nobody else. The first call on a communicator begins it and does not wait.
class PairComm : public std::enable_shared_from_this<PairComm> {
 public:
  /// That of a user's communicator. Throws Error(communicator) on null and intercommunicators.
  [[nodiscard]] static std::shared_ptr<PairComm> of(MPI_Comm comm);

  explicit PairComm(MPI_Comm comm);
  ~PairComm();
  PairComm(const PairComm&) = delete;
  PairComm& operator=(const PairComm&) = delete;

  /// Whether it can be used.
  [[nodiscard]] bool ready() { return comm_->ready(); }
  /// Waits until it can.
  void prepare();

  [[nodiscard]] MPI_Comm get() const { return comm_->get(); }
  [[nodiscard]] const std::shared_ptr<PrivateComm>& comm() const { return comm_; }
  [[nodiscard]] Rank rank() const { return comm_->rank(); }
  [[nodiscard]] Rank size() const { return comm_->size(); }
  [[nodiscard]] const std::shared_ptr<const ErrorHandler>& error_handler() const { return error_handler_; }

  /// Throws Error(rank) unless it is a rank of the communicator.
  void check_rank(int peer, const char* name) const;

  /// Gives `hello` its number, and says which process this is. What is said is sent as soon as the communicator is
  /// ready.
  [[nodiscard]] Hello tell(Rank peer, Hello hello);
  /// What the other end of `mine` has said; none yet. Only the first call that finds it gets it.
  [[nodiscard]] std::optional<Hello> hear(Rank peer, const Hello& mine);
  /// More about the end that has told `mine`, and what the other end of it has said, one thing after
  /// another.
  void answer(Rank peer, const Hello& mine, Reply what);
  [[nodiscard]] std::optional<Reply> hear_answer(Rank peer, const Hello& mine);

  /// The first of so many tags for messages to `peer`. Throws Error(unsupported) once all have been taken.
  [[nodiscard]] int take_tags(Rank peer, std::int64_t count);
  /// The tag of what `peer` says about a message of this tag. The other rank has tags of its own for its messages.
  [[nodiscard]] int tag_back(int tag) const { return tag + last_tag(); }

  void call_error_handler(int code) const { error_handler_->call(*comm_, code); }

 private:
  enum Tag { hello_tag = 0, answer_tag = 1, first_free_tag = own_channels };
  using Key = std::tuple<Rank, EndRole, std::int32_t, std::int64_t>;
  struct Answer {
    EndRole role;
    std::int32_t tag;
    std::int64_t number;
    Reply what;
  };
  /// On its way to the other.
  struct Said {
    Rank peer = 0;
    Hello hello;
    Answer answer{};
    bool is_answer = false;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  /// Who has it may change what follows it. Calls of MPI that are made meanwhile may come back here, in the same
  /// thread, by the progress engine: whoever comes so late that somebody has it does nothing, or waits for another
  /// thread.
  class Turn {
   public:
    explicit Turn(std::atomic<bool>& taken) : taken_(taken) {}
    ~Turn() {
      if (has_) taken_.store(false, std::memory_order_release);
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    [[nodiscard]] bool try_take() { return has_ = !taken_.exchange(true, std::memory_order_acquire); }
    void take() {
      for (int turns = 0; !try_take(); relax(turns)) {
      }
    }

   private:
    std::atomic<bool>& taken_;
    bool has_ = false;
  };
  void advance();
  void send_all();
  [[nodiscard]] int last_tag() const { return comm_->largest_tag() / 2; }

  std::shared_ptr<UserComm> user_;
  std::shared_ptr<PrivateComm> comm_;
  std::shared_ptr<const ErrorHandler> error_handler_;
  std::atomic<bool> taken_{false};  // what follows
  std::list<Said> said_;
  std::map<Key, Hello> heard_;
  std::map<Key, std::deque<Reply>> answers_;
  std::map<Key, std::int64_t> numbers_;
  std::map<Rank, int> next_tag_;
};

}  // namespace laneway
