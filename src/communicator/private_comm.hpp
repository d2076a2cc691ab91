#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/process/attachments.hpp"
#include "base/process/spin_lock.hpp"
#include "base/simulated.hpp"
#include "communicator/control/control_comm.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// Whether the program may start nonblocking collectives on a communicator while it is duplicated by MPI_Comm_idup.
[[nodiscard]] bool duplicates_apart();

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
class PrivateComm : public ControlComm, public std::enable_shared_from_this<PrivateComm> {
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

  /// Whether it was created, or is being created.
  [[nodiscard]] bool exists() const { return comm_ != MPI_COMM_NULL || creation_ != MPI_REQUEST_NULL; }
  /// Whether it was made in a step that has failed: some of its ranks may have none. Those that have it all know that.
  [[nodiscard]] bool may_be_missing() const { return may_be_missing_.load(std::memory_order_acquire); }
  /// Whether a step has failed in which this communicator was used or made: messages may be on their way.
  [[nodiscard]] bool is_doubtful() const { return spoilt() || may_be_missing() || has_kept(); }
  /// Who may have sent something besides; null: nobody. `keep_resident`: when it has no other owner.
  void set_resident(Resident* resident) { resident_ = resident; }
  void keep_resident(std::unique_ptr<Resident> resident) { kept_resident_ = std::move(resident); }
  void drop_resident() {
    if (kept_resident_) resident_ = nullptr;
    kept_resident_.reset();
  }
  [[nodiscard]] Resident* resident() const { return resident_; }
  /// What other parts keep with it.
  template <class T>
  [[nodiscard]] T& attachment() const {
    return attachments_.get<T>();
  }
  /// @name What takes all ranks to be freed, such as a window
  /// @{
  /// Of the next one that is made. Collective.
  [[nodiscard]] std::int64_t number_part() const { return parts_made_++; }
  /// Frees it when all ranks have retired it, at a later `free_parts` or with the communicator.
  void retire_part(std::int64_t number, std::shared_ptr<void> part) const { parts_.emplace(number, std::move(part)); }
  /// Those that all ranks have retired. Collective.
  void free_parts() const;
  [[nodiscard]] bool has_parts() const { return !parts_.empty(); }
  /// What attachments have of other libraries; also in MPI_Finalize, where no duplicate is freed.
  void close_attached() const noexcept { attachments_.close(); }
  /// @}
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
  void take_made(int code);
  friend void mark_those_made_since(std::int64_t step) noexcept;

  const std::int64_t made_after_ = steps_begun();
  const std::thread::id made_by_ = std::this_thread::get_id();
  std::atomic<bool> may_be_missing_{false};
  MPI_Comm graph_ = MPI_COMM_NULL;
  MPI_Request creation_ = MPI_REQUEST_NULL;
  Resident* resident_ = nullptr;
  std::unique_ptr<Resident> kept_resident_;
  mutable Attachments attachments_;
  mutable std::int64_t parts_made_ = 0;
  mutable std::map<std::int64_t, std::shared_ptr<void>> parts_;
  std::atomic<bool> ready_{false};
  SpinLock advancing_;  // some thread is in advance_creation
};

/// Those that this thread has made since it began a step, which fails: others may have failed in them, or have been
/// told so.
void mark_those_made_since(std::int64_t step) noexcept;

/// Runs a collective step of setup, which all ranks complete or none: where one of them fails, all throw, with its
/// text. `comm` may then be spoilt.
template <class Step>
auto together(const ControlComm& comm, Step&& step) {
  if constexpr (simulated) return step();
  if (comm.is_together()) return step();
  const ControlComm::Together scope(comm);
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
