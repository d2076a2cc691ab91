#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "mpi/control_message.hpp"
#include "mpi/tag_space.hpp"
#include "plan/plan.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// Another rank has failed in a collective step of setup.
class PeerFailure : public Error {
 public:
  using Error::Error;
};

/// Control messages on one communicator: their tags, how ranks look for them, what becomes of those that nobody
/// receives, and how ranks tell each other that they have failed, or have come so far.
class ControlComm {
 public:
  ControlComm() = default;
  ControlComm(const ControlComm&) = delete;
  ControlComm& operator=(const ControlComm&) = delete;

  /// Must be there.
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank size() const { return size_; }

  /// @name Tags: one for each kind of control message, and behind them those of plans
  /// @{
  enum Tag {
    setup_tag = 0,
    gather_tag = 1,
    share_tag = 2,
    check_tag = 3,
    refusal_tag = 4,
    failure_tag = 5,
    reduce_tag = 6,
    barrier_tag = 7,
    success_tag = 8,
    handshake_tag = 10,
    answer_tag = 11,
    bag_tag = 12,
    last_tag = 13,
    blocking_tag = own_channels,
    nonblocking_tag = 2 * own_channels
  };
  /// The largest tag that MPI allows.
  [[nodiscard]] int largest_tag() const { return largest_tag_; }
  /// Whether tags are left for one more plan. Ranks take them in collective order, so all run out together.
  [[nodiscard]] bool has_tags() const { return tags_.has(plan_channels); }
  /// The first of so many tags, at most plan_channels, that no other plan on this communicator uses. All ranks take
  /// equally many: as many as plans with the levels that they have agreed on can need. No rank knows when the others
  /// have freed a plan, so they are given back with the communicator.
  [[nodiscard]] int take_tags(int count = own_channels);
  /// @}

  /// @name Messages
  /// @{
  [[nodiscard]] std::optional<FoundMessage> find(int source, Tag kind) const {
    return find_message(comm_, source, kind);
  }
  /// Receives all of a kind that have come, each a T, and hands them on with their sources.
  template <class T, class Handle>
  void take_all(Tag kind, Handle&& handle) const {
    while (const std::optional<FoundMessage> found = find(MPI_ANY_SOURCE, kind)) handle(found->source, found->as<T>());
  }
  /// Receives a message of this tag, for nobody; false if there is none. Both may be wildcards, that of tags but for
  /// reductions: by one, ranks that have agreed to drop no more go on while others find that out.
  bool drop_message(int source, int tag) const;
  /// Keeps what is on its way until it has arrived, or to the end.
  void keep(std::list<MessageUnderWay>&& messages) const noexcept { kept_.splice(kept_.end(), messages); }
  /// @}

  /// @name Steps that all ranks complete or none
  /// A rank that fails in one, behind the agreement, tells all others, who look for that wherever they wait (await).
  /// What is left of the step on this communicator would be taken for control messages of the next, so that it is
  /// used for no other.
  /// @{
  [[nodiscard]] bool spoilt() const { return spoilt_; }
  /// Whether this rank is in such a step.
  [[nodiscard]] bool is_together() const { return step_.is_open; }
  class Together {
   public:
    explicit Together(const ControlComm& comm) : comm_(comm) {
      comm_.step_ = {.is_open = true, .in_part = comm_.step_.in_part, .number = ++steps_begun_};
      ++comm_.came_.steps;
    }
    ~Together() { comm_.step_.is_open = comm_.step_.in_part = false; }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    const ControlComm& comm_;
  };
  /// Throws PeerFailure if some rank has failed.
  void check_peers() const;
  /// Of this rank, which leaves a step with an exception.
  void leave() const noexcept;
  /// All ranks are about to throw, and know it: nobody needs to be told.
  void all_throw() const { step_.all_throw = true; }
  /// Until the end of the step, this rank may be of a part of all, which meets alone. If it leaves because another rank
  /// has failed it says so itself: those of its part do not heed the others while they meet.
  void is_in_part() const { step_.in_part = true; }
  /// Ends on all ranks, when all have come, or on none: what follows may be a call of MPI that all must enter. Where it
  /// cannot tell all of them that it ends, it ends the job, or throws if one of them has ended.
  void meet() const { meet({}, success_tag, false); }
  /// The same among `members` alone, this rank one of them, or all if there are none, with messages of a tag that
  /// nothing else uses. Throws PeerFailure on all of them where `failed` is set on some.
  void meet(const std::vector<Rank>& members, int tag, bool failed) const;
  /// Of a spoilt communicator that all its ranks give up together: waits until nothing is on its way, so that it can be
  /// freed; one of many ranks is kept until MPI_Finalize. Collective.
  void quiesce() const;
  /// Takes what a spoilt communicator has left, so that those who have sent it can free its memory.
  void drain() const noexcept;
  /// @}

 protected:
  ~ControlComm() = default;
  void set_largest_tag(int tag);
  [[nodiscard]] bool has_kept() const { return !kept_.empty(); }
  /// Of those that this thread has begun.
  [[nodiscard]] static std::int64_t steps_begun() { return steps_begun_; }

  MPI_Comm comm_ = MPI_COMM_NULL;
  Rank rank_ = 0;
  Rank size_ = 0;

 private:
  struct Step {
    bool is_open = false;
    bool in_part = false;
    bool all_throw = false;
    std::int64_t number = 0;  // by steps_begun_
  };
  /// How far a rank has come on this communicator.
  struct Progress {
    std::int64_t steps = 0;     // that all complete or none
    std::int64_t meetings = 0;  // of all
    std::int64_t among = -1;    // the tag of the last meeting of some
  };
  /// A failure as it is told.
  struct FailureMessage {
    Progress came;
    std::int32_t kind = 0;
    std::int32_t mpi_class = 0;
    Rank source = 0;
    std::array<char, 480> text{};
  };
  /// A meeting of some, while this rank is in it.
  struct Meeting {
    const std::vector<Rank>& members;
    int tag;
  };
  [[nodiscard]] bool is_ahead(const FailureMessage& failure) const;
  [[noreturn]] static void throw_failure(const FailureMessage& failure);
  void report_failure(ErrorKind kind, const char* text, int mpi_class = 0) const noexcept;
  [[nodiscard]] std::byte take_word(Rank from, int tag) const;
  void send_word(std::byte word, Rank to, int tag) const;

  static inline thread_local std::int64_t steps_begun_ = 0;

  int largest_tag_ = 32767;
  TagSpace tags_{nonblocking_tag + own_channels, largest_tag_};
  mutable std::list<MessageUnderWay> kept_;
  mutable bool spoilt_ = false;
  mutable Step step_;
  mutable Progress came_;
  mutable const Meeting* meeting_ = nullptr;
  mutable std::optional<FailureMessage> later_;  // of a rank that has come further than this one
  mutable FailureMessage own_failure_;           // MPI may read it after the step
};

/// Waits until `done` returns true, advancing active exchanges. Throws PeerFailure where another rank has failed.
template <class Done>
void await(const ControlComm& comm, Done&& done) {
  constexpr int look = 8;  // once in so many turns: messages mostly come before
  int turns = 0;
  progress_until([&] {
    if (done()) return true;
    if (!simulated && ++turns % look == 0) comm.check_peers();
    return false;
  });
}

/// Control messages from this rank, or to it, that are under way. What MPI still uses when this goes is kept with the
/// communicator.
class ControlMessages {
 public:
  explicit ControlMessages(const ControlComm& comm) : comm_(comm) {}
  ~ControlMessages() { give_up(); }
  ControlMessages(const ControlMessages&) = delete;
  ControlMessages& operator=(const ControlMessages&) = delete;

  [[nodiscard]] bool empty() const { return messages_.empty(); }
  [[nodiscard]] std::size_t size() const { return messages_.size(); }
  /// `is_acknowledged`: complete when it has been taken.
  void send(Rank to, int tag, Bytes data, bool is_acknowledged = false);
  /// For a communicator that need not be ready yet: `begin_all` sends it.
  void queue(Rank to, int tag, Bytes data, bool is_acknowledged = false) {
    messages_.push_back({to, tag, std::move(data), is_acknowledged});
  }
  void begin_all();
  /// Begins to receive what has come with this tag.
  void receive(int tag);
  /// Whether all are complete.
  [[nodiscard]] bool all_complete();
  /// Waits for that, advancing active exchanges. Throws PeerFailure where another rank has failed.
  void wait();
  /// The first that has been received, in the order in which they were found; `in_order`: none before all before it.
  [[nodiscard]] std::optional<MessageUnderWay> take(bool in_order);

 private:
  void give_up() noexcept;

  const ControlComm& comm_;
  std::list<MessageUnderWay> messages_;
};

}  // namespace laneway
