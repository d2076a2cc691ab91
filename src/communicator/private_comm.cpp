#include "communicator/private_comm.hpp"

#include <algorithm>
#include <climits>
#include <mutex>
#include <utility>

#include "base/failure.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/deferred_free.hpp"
#include "communicator/sessions.hpp"
#include "mpi/check.hpp"
#include "mpi/engine.hpp"
#include "mpi/quirks.hpp"
#include "mpi/running.hpp"
#include "runtime/carriers/rma/windows.hpp"
#include "runtime/executor/progress.hpp"
#include "runtime/executor/progress_thread.hpp"
#include "runtime/executor/remains.hpp"

namespace laneway {

namespace {

/// Duplicates live in this process, in the order of their creation, which is the same on all their ranks.
std::vector<PrivateComm*> live;
std::mutex live_mutex;
bool finalizing = false;

/// Runs at the beginning of MPI_Finalize (MPI 4.0, section 11.2.4). Functions that the program has attached to
/// MPI_COMM_SELF earlier run later, and may use and free what there is: no duplicate is freed from here on.
int on_finalize(MPI_Comm, int, void*, void*) {
  stop_progress_thread();
  if (function_in_engine() == progress_in_engine) call_in_engine(nullptr);
  set_ending();
  std::vector<std::shared_ptr<PrivateComm>> left;
  {
    const std::lock_guard lock(live_mutex);
    finalizing = true;
    for (PrivateComm* comm : live) left.push_back(comm->weak_from_this().lock());
  }
  // Without the lock: MPICH deletes the attributes of a communicator when the last creation from it is complete.
  for (const auto& comm : left)
    if (comm) comm->end_creation();
  finish_retired(left);
  look_through_remains();
  for (const auto& comm : left)
    if (comm) comm->close_attached();
  free_windows();
  return MPI_SUCCESS;
}

/// Errors of MPI on a user's communicator are returned as long as this lives: whoever calls decides what becomes of
/// them.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm comm) : comm_(comm) {
    if constexpr (simulated) return;
    check_mpi(MPI_Comm_get_errhandler(comm, &before_), "MPI_Comm_get_errhandler");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    if constexpr (simulated) return;
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

}  // namespace

void watch_finalize() {
  int key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &key, nullptr), "MPI_Comm_create_keyval");
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
}

int meet_on(MPI_Comm comm, Rank rank, const std::exception_ptr& failure) {
  if constexpr (simulated) {
    if (!any_active()) return MPI_Barrier(comm);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
    return complete_progressing(request);
  }
  const int mine = failure ? rank : INT_MAX;
  int first = INT_MAX;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm, &request);
  if (request == MPI_REQUEST_NULL) check_mpi(code, "MPI_Iallreduce");
  if (const int completed = complete_progressing(request); completed != MPI_SUCCESS) code = completed;
  if (failure) std::rethrow_exception(failure);
  if (first != INT_MAX)
    throw PeerFailure(ErrorKind::internal, "rank " + std::to_string(first) + " has failed in this call");
  return code;
}

std::shared_ptr<PrivateComm> PrivateComm::make() {
  // Without MPI_Init, MPI may be gone with the session that the communicator is of, and with it what is freed later.
  // Where the library does not hear of that it is freed now or, if messages may be on their way, never.
  if (simulated || (!has_world() && open_sessions() == 0)) {
    return {new PrivateComm, [](PrivateComm* comm) {
              if (!simulated && comm->resident() != nullptr) return;
              comm->free();
              delete comm;
            }};
  }
  advance_retired();
  const std::shared_ptr<RetiredPlace> place = place_for_retired();
  return {new PrivateComm, [place](PrivateComm* comm) noexcept { retire(std::unique_ptr<PrivateComm>(comm), *place); }};
}

PrivateComm::PrivateComm() {
  const std::lock_guard lock(live_mutex);
  live.push_back(this);
}

void PrivateComm::learn_tags(MPI_Comm original) {
  void* bound = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(has_world() ? MPI_COMM_WORLD : original, MPI_TAG_UB, &bound, &found),
            "MPI_Comm_get_attr");
  if (found) set_largest_tag(*static_cast<int*>(bound));
}

/// Made from the group: MPI_Comm_dup would call the user's attribute copy functions.
void PrivateComm::create(MPI_Comm original, std::exception_ptr failure, const PrivateComm* through) {
  std::optional<ReturnedErrors> returned;
  MPI_Group group = MPI_GROUP_NULL;
  const std::exception_ptr own = failure_of([&] {
    returned.emplace(original);
    learn_tags(original);
    check_mpi(MPI_Comm_rank(original, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(original, &size_), "MPI_Comm_size");
    check_mpi(MPI_Comm_group(original, &group), "MPI_Comm_group");
  });
  if (!failure) failure = own;
  // The creation blocks without advancing active exchanges, which others may wait for before they come here.
  int met = MPI_SUCCESS;
  try {
    if (through != nullptr) {
      if (failure) std::rethrow_exception(failure);
      through->meet();
    } else {
      met = meet_on(original, rank_, failure);
    }
  } catch (...) {
    if (group != MPI_GROUP_NULL) MPI_Group_free(&group);
    throw;
  }
  // MPICH 4.0 makes no communicator from a group without MPI_COMM_WORLD.
  const int code = has_world() ? MPI_Comm_create(original, group, &comm_) : MPI_Comm_split(original, 0, rank_, &comm_);
  MPI_Group_free(&group);
  take_made(code);
  check_mpi(met, "MPI_Iallreduce");
  check_mpi(code, "MPI_Comm_create");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  free_retired(*this);
}

/// Open MPI 5 leaves a part of a communicator where a process has ended meanwhile, which it can neither use nor free.
void PrivateComm::take_made(int code) {
  if (is_of_ended_process(code)) comm_ = MPI_COMM_NULL;
  if (comm_ != MPI_COMM_NULL) ready_.store(true, std::memory_order_relaxed);
}

void PrivateComm::create_among(const PrivateComm& parent, const std::vector<Rank>& members, int tag,
                               std::exception_ptr failure) {
  MPI_Group group = MPI_GROUP_NULL;
  const std::exception_ptr own = failure_of([&] {
    require(has_world() || members.empty(), ErrorKind::unsupported,
            "comm: no communicator of a part of its ranks can be made in a program that only opens sessions");
    learn_tags(parent.get());
    check_mpi(MPI_Comm_group(parent.get(), &group), "MPI_Comm_group");
    if (!members.empty()) {
      const MPI_Group all = std::exchange(group, MPI_GROUP_NULL);
      const int code = MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group);
      MPI_Group freed = all;
      MPI_Group_free(&freed);
      check_mpi(code, "MPI_Group_incl");
    }
    check_mpi(MPI_Group_rank(group, &rank_), "MPI_Group_rank");
    check_mpi(MPI_Group_size(group, &size_), "MPI_Group_size");
  });
  if (!failure) failure = own;
  // The creation blocks without advancing active exchanges, which others may wait for before they come here.
  try {
    parent.meet(members, tag, failure != nullptr);
  } catch (...) {
    if (group != MPI_GROUP_NULL) MPI_Group_free(&group);
    if (failure) std::rethrow_exception(failure);
    throw;
  }
  const int code = has_world() ? MPI_Comm_create_group(parent.get(), group, tag + 1, &comm_)
                               : MPI_Comm_split(parent.get(), 0, rank_, &comm_);
  MPI_Group_free(&group);
  take_made(code);
  check_mpi(code, "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  free_retired(*this);
}

void PrivateComm::duplicate(MPI_Comm original) {
  check_mpi(MPI_Comm_rank(original, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(original, &size_), "MPI_Comm_size");
  check_mpi(MPI_Comm_dup(original, &comm_), "MPI_Comm_dup");
  ready_.store(true, std::memory_order_relaxed);
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(comm_, &is_inter), "MPI_Comm_test_inter");
  if (is_inter == 0) free_retired(*this);
}

void PrivateComm::free_parts() const {
  std::vector<std::int64_t> retired;
  for (const auto& [number, part] : parts_) retired.push_back(number);
  for (const std::int64_t number : common_numbers(retired, *this)) parts_.erase(number);
}

bool duplicates_apart() {
#ifdef LANEWAY_HAS_COMM_IDUP
  return !quirks.duplicates_on_the_original;
#else
  return false;
#endif
}

void PrivateComm::begin(MPI_Comm original) {
  if (!duplicates_apart()) return create(original, nullptr, nullptr);
#ifdef LANEWAY_HAS_COMM_IDUP
  learn_tags(original);
  check_mpi(MPI_Comm_rank(original, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(original, &size_), "MPI_Comm_size");
  check_mpi(MPI_Comm_idup(original, &comm_, &creation_), "MPI_Comm_idup");
#endif
}

PrivateComm::~PrivateComm() {
  const std::lock_guard lock(live_mutex);
  std::erase(live, this);
}

void PrivateComm::free() noexcept {
  end_creation();
  close_attached();
  while (!parts_.empty()) parts_.erase(parts_.begin());  // in the order of their numbers
  if (graph_ != MPI_COMM_NULL) MPI_Comm_free(&graph_);
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void mark_those_made_since(std::int64_t step) noexcept {
  const std::lock_guard lock(live_mutex);
  for (PrivateComm* const comm : live)
    if (comm->made_by_ == std::this_thread::get_id() && comm->made_after_ >= step)
      comm->may_be_missing_.store(true, std::memory_order_release);
}

void PrivateComm::end_creation() {
  // All ranks have begun the creation before any of them can come here.
  if (creation_ != MPI_REQUEST_NULL) MPI_Wait(&creation_, MPI_STATUS_IGNORE);
}

bool PrivateComm::advance_creation() {
  const std::unique_lock lock(advancing_, std::try_to_lock);
  if (!lock) return false;
  if (ready_.load(std::memory_order_relaxed)) return true;
  if (comm_ == MPI_COMM_NULL && creation_ == MPI_REQUEST_NULL)
    throw Error(ErrorKind::mpi, "the communicator could not be duplicated", class_of_ended_process());
  int flag = 0;
  const int code = MPI_Test(&creation_, &flag, MPI_STATUS_IGNORE);
  if (code != MPI_SUCCESS) {
    take_made(code);
    creation_ = MPI_REQUEST_NULL;
    throw_mpi_error(code, "MPI_Comm_idup");
  }
  if (flag == 0) return false;
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  ready_.store(true, std::memory_order_release);
  return true;
}

bool single_threaded() {
  if constexpr (simulated) return true;
  if (!has_world()) return false;  // sessions have levels of their own
  static const bool single = [] {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    return level != MPI_THREAD_MULTIPLE;
  }();
  return single;
}

}  // namespace laneway
