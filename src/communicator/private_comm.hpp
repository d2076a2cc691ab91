#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "base/process/spin_lock.hpp"
#include "base/simulated.hpp"
#include "machine/parameters.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Whether the program may start nonblocking collectives on a communicator while it is duplicated by MPI_Comm_idup.
[[nodiscard]] bool duplicates_apart();

/// Another rank has failed in a collective step of setup.
class PeerFailure : public Error {
 public:
  using Error::Error;
};

/// Control messages that are on their way. MPI reads them until their requests are complete, so they outlive a failure.
struct Posted {
  std::vector<ControlMessage> control_messages;
  std::vector<MPI_Request> requests;
  std::unique_ptr<Posted> next;
};

/// Who sends on a private communicator outside of what all its ranks do together. What it has sent may be on its way
/// when the communicator has no owner any more (deferred_free.hpp).
class Resident {
 public:
  Resident() = default;
  virtual ~Resident() = default;
  Resident(const Resident&) = delete;
  Resident& operator=(const Resident&) = delete;

  /// Whether nothing that it had to send is left here. The communicator is ready.
  [[nodiscard]] virtual bool has_sent_all() = 0;
  /// To whom it may have sent something.
  [[nodiscard]] virtual std::vector<Rank> peers() const = 0;
  /// Whether it waits for no message.
  [[nodiscard]] virtual bool is_idle() const = 0;
};

/// A private duplicate of a user's communicator: no receive of the user can take a message of this library. It returns
/// errors. Retired with its last owner, which may be a request that outlives the user's communicator.
class PrivateComm : public std::enable_shared_from_this<PrivateComm> {
 public:
  /// Of no ranks yet: `create`, `create_among` or `begin` follows. Its last owner retires it.
  [[nodiscard]] static std::shared_ptr<PrivateComm> make();
  ~PrivateComm();
  /// Collective over `original`. `failure`: why this rank cannot have one; then no rank gets one, and all throw. When
  /// it throws and yet created() is true, the others have got theirs and can be told. `through`: what the ranks meet on
  /// before; null: on `original`, where nobody can be told of a failure.
  void create(MPI_Comm original, std::exception_ptr failure, const PrivateComm* through);
  /// Of `members` of `parent`, or all if there are none, in their order. Collective over them alone, beside whatever
  /// others do on `parent`: `tag` and the next one are used for nothing else. `failure` as for create.
  void create_among(const PrivateComm& parent, const std::vector<Rank>& members, int tag, std::exception_ptr failure);
  /// By MPI_Comm_dup, also of an intercommunicator. Nothing but MPI's own operations may be run on it.
  void duplicate(MPI_Comm original);
  /// Only begins the creation, by MPI_Comm_idup, which copies the user's attributes too. Where that does not leave the
  /// program's own operations alone (duplicates_apart), `create`.
  void begin(MPI_Comm original);
  PrivateComm(const PrivateComm&) = delete;
  PrivateComm& operator=(const PrivateComm&) = delete;

  /// Nobody uses it any more, on any rank, and nothing is on its way. Local in most MPI libraries.
  void free() noexcept;
  /// Waits for the end of a creation that was begun.
  void end_creation();

  /// Advances a nonblocking creation; true when the communicator can be used. Any thread may call it.
  [[nodiscard]] bool ready() { return created() || advance_creation(); }

  /// What ready has found; local.
  [[nodiscard]] bool created() const { return ready_.load(std::memory_order_acquire); }

  /// Must be ready.
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank size() const { return size_; }

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
    decisions_tag = 9,
    last_tag = 10,
    blocking_tag = own_channels,
    nonblocking_tag = 2 * own_channels
  };

  /// The largest tag that MPI allows.
  [[nodiscard]] int largest_tag() const { return last_tag_; }
  /// Whether tags are left for one more plan. Ranks take them in collective order, so all run out together.
  [[nodiscard]] bool has_tags() const;
  /// The first of so many tags, at most plan_channels, that no other plan on this communicator uses. All ranks take
  /// equally many: as many as plans with the levels that they have agreed on can need.
  [[nodiscard]] int take_tags(int count = own_channels);

  /// A rank that fails in a collective step of setup, behind the agreement, tells all others, who look for that
  /// wherever they wait (see together). What is left of the step on this communicator would be taken for control
  /// messages of the next, so that it is used for no other.
  [[nodiscard]] bool spoilt() const { return spoilt_; }
  /// Whether this rank is in a step that all complete or none.
  [[nodiscard]] bool is_together() const { return together_; }
  class Together {
   public:
    explicit Together(const PrivateComm& comm) : comm_(comm) {
      comm_.together_ = true;
      comm_.all_throw_ = false;
      comm_.began_ = ++steps_begun_;
      ++comm_.came_.steps;
    }
    ~Together() { comm_.together_ = comm_.in_part_ = false; }
    Together(const Together&) = delete;
    Together& operator=(const Together&) = delete;

   private:
    const PrivateComm& comm_;
  };
  /// Throws PeerFailure if some rank has failed.
  void check_peers() const;
  /// Of this rank, which leaves a step with an exception.
  void leave() const noexcept;
  /// All ranks are about to throw, and know it: nobody needs to be told.
  void all_throw() const { all_throw_ = true; }
  /// Until the end of the step, this rank may be of a part of all, which meets alone. If it leaves because another rank
  /// has failed it says so itself: those of its part do not heed the others while they meet.
  void is_in_part() const { in_part_ = true; }
  /// Receives a message of this tag, for nobody; false if there is none. Both may be wildcards, that of tags but for
  /// reductions: by one, ranks that have agreed to drop no more go on while others find that out.
  bool drop_message(int source, int tag) const;
  /// Whether it was created, or is being created.
  [[nodiscard]] bool exists() const { return comm_ != MPI_COMM_NULL || creation_ != MPI_REQUEST_NULL; }
  /// Whether it was made in a step that has failed: some of its ranks may have none. Those that have it all know that.
  [[nodiscard]] bool may_be_missing() const { return may_be_missing_.load(std::memory_order_acquire); }
  /// Whether a step has failed in which this communicator was used or made: messages may be on their way.
  [[nodiscard]] bool is_doubtful() const { return spoilt_ || may_be_missing() || kept_ != nullptr; }
  /// Who may have sent something besides; null: nobody. `keep_resident`: when it has no other owner.
  void set_resident(Resident* resident) { resident_ = resident; }
  void keep_resident(std::unique_ptr<Resident> resident) { kept_resident_ = std::move(resident); }
  void drop_resident() {
    if (kept_resident_) resident_ = nullptr;
    kept_resident_.reset();
  }
  [[nodiscard]] Resident* resident() const { return resident_; }
  /// @name What takes all ranks to be freed, such as a window
  /// @{
  /// Of the next one that is made. Collective.
  [[nodiscard]] std::int64_t number_part() const { return parts_made_++; }
  /// Frees it when all ranks have retired it, at a later `free_parts` or with the communicator.
  void retire_part(std::int64_t number, std::shared_ptr<void> part) const { parts_.emplace(number, std::move(part)); }
  /// Those that all ranks have retired. Collective.
  void free_parts() const;
  [[nodiscard]] bool has_parts() const { return !parts_.empty(); }
  /// @}
  /// Keeps what is on its way until it has arrived, or to the end.
  void keep(std::unique_ptr<Posted> posted) const noexcept;
  /// Of a spoilt communicator that all its ranks give up together: waits until nothing is on its way, so that it can be
  /// freed; one of many ranks is kept until MPI_Finalize. Collective.
  void settle() const;
  /// Takes what a spoilt communicator has left, so that those who have sent it can free its memory.
  void drain() const noexcept;
  /// Ends on all ranks, when all have come, or on none: what follows may be a call of MPI that all must enter. Where it
  /// cannot tell all of them that it ends, it ends the job.
  void meet() const { meet({}, success_tag, false); }
  /// The same among `members` alone, this rank one of them, or all if there are none, with messages of a tag that
  /// nothing else uses. Throws PeerFailure on all of them where `failed` is set on some.
  void meet(const std::vector<Rank>& members, int tag, bool failed) const;

  /// Calls `handler`, a user's, with the duplicate or, where it is not ready or other threads may use it, with a
  /// communicator of this rank alone.
  void call_error_handler(MPI_Errhandler handler, int code) const;

  /// Takes a communicator of the same ranks, which is freed with this one.
  void keep_graph(MPI_Comm graph) { graph_ = graph; }
  [[nodiscard]] MPI_Comm graph() const { return graph_; }

  /// What messages between these ranks cost where it has been measured, by machine description.
  mutable std::map<std::string, std::shared_ptr<const Parameters>> measured;
  /// What has been read, by name.
  std::map<std::string, std::shared_ptr<const Parameters>> parameters;

 private:
  PrivateComm();
  void learn_tags(MPI_Comm original);
  [[nodiscard]] bool advance_creation();
  void tell_failure(ErrorKind kind, const char* text) const noexcept;

  /// Those that this thread has made in the step, which fails: others may have failed in them, or have been told so.
  void mark_those_of_the_step() const noexcept;

  static inline thread_local std::int64_t steps_begun_ = 0;
  mutable std::int64_t began_ = 0;  // the last step, by steps_begun_
  const std::int64_t made_after_ = steps_begun_;
  const std::thread::id made_by_ = std::this_thread::get_id();
  std::atomic<bool> may_be_missing_{false};
  mutable bool spoilt_ = false;
  mutable bool together_ = false;
  mutable bool in_part_ = false;
  mutable bool all_throw_ = false;
  mutable std::unique_ptr<Posted> kept_;
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
    Rank source = 0;
    std::array<char, 480> text{};
  };
  /// A meeting of some, while this rank is in it.
  struct Meeting {
    const std::vector<Rank>& members;
    int tag;
  };
  [[nodiscard]] bool is_ahead(const FailureMessage& control_message) const;
  [[noreturn]] static void throw_failure(const FailureMessage& control_message);

  mutable Progress came_;
  mutable const Meeting* meeting_ = nullptr;
  mutable std::optional<FailureMessage> later_;  // of a rank that has come further than this one
  mutable FailureMessage told_;                  // MPI may read it after the step
  MPI_Comm comm_ = MPI_COMM_NULL;
  MPI_Comm graph_ = MPI_COMM_NULL;
  MPI_Request creation_ = MPI_REQUEST_NULL;
  Resident* resident_ = nullptr;
  std::unique_ptr<Resident> kept_resident_;
  mutable std::int64_t parts_made_ = 0;
  mutable std::map<std::int64_t, std::shared_ptr<void>> parts_;
  std::atomic<bool> ready_{false};
  SpinLock advancing_;  // some thread is in advance_creation
  Rank rank_ = 0;
  Rank size_ = 0;
  int next_tag_ = nonblocking_tag + own_channels;
  int last_tag_ = 32767;
};

/// Runs a collective step of setup, which all ranks complete or none: where one of them fails, all throw, with its
/// text. `comm` may then be spoilt.
template <class Step>
auto together(const PrivateComm& comm, Step&& step) {
  if constexpr (simulated) return step();
  if (comm.is_together()) return step();
  const PrivateComm::Together scope(comm);
  try {
    if constexpr (std::is_void_v<decltype(step())>) {
      step();
      comm.meet();
    } else {
      auto result = step();
      comm.meet();
      return result;
    }
  } catch (...) {
    comm.leave();
    throw;
  }
}

/// True if no two threads of this process can be inside the library at the same time. Ranks may differ: what they do
/// together follows from whether it is true on all of them.
[[nodiscard]] bool single_threaded();

/// Has the progress of exchanges end, and duplicates be kept, when MPI_Finalize begins. Once in a program.
void watch_finalize();

/// Ends when all ranks have come. Throws on all of them if some rank comes with a failure. Returns MPI's code: where it
/// is an error of this rank alone, the others go on, and this one must go with them to where they can be told.
int meet_on(MPI_Comm comm, Rank rank, const std::exception_ptr& failure);

}  // namespace laneway
