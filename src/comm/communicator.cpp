#include "comm/communicator.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carriers/messages/p2p.hpp"
#include "comm/discovery.hpp"
#include "comm/engine.hpp"
#include "comm/mailbox.hpp"
#include "comm/network_place.hpp"
#include "comm/running.hpp"
#include "core/error.hpp"
#include "core/simulated.hpp"
#include "core/tell.hpp"
#include "exec/progress.hpp"
#include "exec/progress_thread.hpp"
#include "exec/remains.hpp"

namespace laneway {

namespace {

/// Duplicates live in this process, in the order of their creation, which is the same on all their ranks.
std::vector<PrivateComm*> live;
std::mutex live_mutex;
bool finalizing = false;

int communicator_key = MPI_KEYVAL_INVALID;

int delete_communicator(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<Communicator*>(attribute);
  return MPI_SUCCESS;
}

/// Runs at the beginning of MPI_Finalize (MPI 4.0, section 11.2.4). Functions that the program has attached to
/// MPI_COMM_SELF earlier run later, and may use and free what there is: no duplicate is freed from here on.
int on_finalize(MPI_Comm, int, void*, void*) {
  stop_progress_thread();
  stop_in_engine();
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
  look_through_remains();
  return MPI_SUCCESS;
}

void create_keys() {
  static std::atomic<bool> created{false};
  if (created.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(live_mutex);
  if (communicator_key != MPI_KEYVAL_INVALID) return;
  if (has_world()) {
    int finalize_key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &finalize_key, nullptr),
              "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, nullptr), "MPI_Comm_set_attr");
  }
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_communicator, &communicator_key, nullptr),
            "MPI_Comm_create_keyval");
  set_running();
  created.store(true, std::memory_order_release);
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

void begin_duplicate(MPI_Comm original, MPI_Comm* copy, MPI_Request* request) {
#ifdef LANEWAY_HAS_COMM_IDUP
  check_mpi(MPI_Comm_idup(original, copy, request), "MPI_Comm_idup");
#else
  (void)original, (void)copy, (void)request;
  throw Error(
      ErrorKind::unsupported,
      "comm: this MPI library has no MPI_Comm_idup, so the first call on a communicator must be a blocking one");
#endif
}

/// Ends when all ranks have come. Throws on all of them if some rank comes with a failure. Returns MPI's code: where it
/// is an error of this rank alone, the others go on, and this one must go with them to where they can be told.
int meet_on(MPI_Comm comm, Rank rank, const std::exception_ptr& failure) {
  if constexpr (simulated) {
    if (!any_active()) return MPI_Barrier(comm);
    MPI_Request request = MPI_REQUEST_NULL;
    check_mpi(MPI_Ibarrier(comm, &request), "MPI_Ibarrier");
    progress_until([&] {
      int done = 0;
      check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      return done != 0;
    });
    return MPI_SUCCESS;
  }
  const int mine = failure ? rank : INT_MAX;
  int first = INT_MAX;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, comm, &request);
  if (request == MPI_REQUEST_NULL) check_mpi(code, "MPI_Iallreduce");
  progress_until([&] {
    int done = 0;
    const int tested = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (tested != MPI_SUCCESS) code = tested;
    return done != 0 || request == MPI_REQUEST_NULL;
  });
  if (failure) std::rethrow_exception(failure);
  if (first != INT_MAX)
    throw PeerFailure(ErrorKind::internal, "rank " + std::to_string(first) + " has failed in this call");
  return code;
}

}  // namespace

PrivateComm::PrivateComm() {
  const std::lock_guard lock(live_mutex);
  live.push_back(this);
}

void PrivateComm::learn_tags(MPI_Comm original) {
  void* bound = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(has_world() ? MPI_COMM_WORLD : original, MPI_TAG_UB, &bound, &found),
            "MPI_Comm_get_attr");
  if (found) last_tag_ = std::min(*static_cast<int*>(bound), tag_limit_for_tests);
}

/// Made from the group: MPI_Comm_dup would call the user's attribute copy functions.
void PrivateComm::create(MPI_Comm original, std::exception_ptr failure, const PrivateComm* through) {
  std::optional<ReturnedErrors> returned;
  MPI_Group group = MPI_GROUP_NULL;
  try {
    returned.emplace(original);
    learn_tags(original);
    check_mpi(MPI_Comm_rank(original, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(original, &size_), "MPI_Comm_size");
    check_mpi(MPI_Comm_group(original, &group), "MPI_Comm_group");
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
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
  if (comm_ != MPI_COMM_NULL) ready_.store(true, std::memory_order_relaxed);
  MPI_Group_free(&group);
  check_mpi(met, "MPI_Iallreduce");
  check_mpi(code, "MPI_Comm_create");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void PrivateComm::create_among(const PrivateComm& parent, const std::vector<Rank>& members, int tag,
                               std::exception_ptr failure) {
  MPI_Group group = MPI_GROUP_NULL;
  try {
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
  } catch (...) {
    if (!failure) failure = std::current_exception();
  }
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
  if (comm_ != MPI_COMM_NULL) ready_.store(true, std::memory_order_relaxed);
  MPI_Group_free(&group);
  check_mpi(code, "MPI_Comm_create_group");
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
}

void PrivateComm::begin(MPI_Comm original) {
  learn_tags(original);
  check_mpi(MPI_Comm_rank(original, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(original, &size_), "MPI_Comm_size");
  begin_duplicate(original, &comm_, &creation_);
}

PrivateComm::~PrivateComm() {
  {
    const std::lock_guard lock(live_mutex);
    std::erase(live, this);
    if (finalizing) return;
  }
  free();  // without the lock: MPI has locks of its own, and calls delete_communicator while it holds them
}

void PrivateComm::free() {
  end_creation();
  if (graph_ != MPI_COMM_NULL) MPI_Comm_free(&graph_);
  if (comm_ == MPI_COMM_NULL) return;
  drain();
  // A message that comes later would be taken for one of the next communicator with the same context id.
  if (!spoilt_ && !never_freed_) MPI_Comm_free(&comm_);
}

namespace {

/// Ranks and those that they hear from in a tree with the first rank at its root: few ranks hear from it directly.
struct Tree {
  Rank rank;
  Rank size;
  Rank fan = size <= few_ranks ? size : 8;

  [[nodiscard]] Rank parent() const { return (rank - 1) / fan; }
  template <class F>
  void for_each_child(F&& f) const {
    const std::int64_t first = std::int64_t{rank} * fan + 1;
    for (std::int64_t child = first; child < std::min<std::int64_t>(first + fan, size); ++child)
      f(static_cast<Rank>(child));
  }
};

/// Of what all ranks have decided: it is tried again, and where it cannot be done the job ends.
template <class Call>
void surely(MPI_Comm comm, const char* name, Call&& call) {
  int code = MPI_SUCCESS;
  for (int tries = 0; tries < 10; ++tries)
    if ((code = call()) == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  tell(std::string("the ranks cannot tell each other that they have come so far: ") + name + ": " + text.data());
  MPI_Abort(comm, code);
}

/// Sets a pointer until the end of the scope.
template <class T>
class Within {
 public:
  Within(const T*& place, const T* value) : place_(place) { place_ = value; }
  ~Within() { place_ = nullptr; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  const T*& place_;
};

/// MPI completes it.
int send_away(MPI_Comm comm, const void* data, std::size_t bytes, Rank peer, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm, &request);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return code;
}

}  // namespace

/// A rank that fails when it has passed what this one is still in has left it well: to be looked at afterwards. So is
/// one that is not in a meeting of others.
bool PrivateComm::is_ahead(const FailureLetter& letter) const {
  if (letter.came.steps != came_.steps) return letter.came.steps > came_.steps;
  if (letter.came.meetings > came_.meetings) return true;
  if (meeting_ == nullptr) return false;
  return letter.came.among == meeting_->tag ||
         (!meeting_->members.empty() && std::ranges::find(meeting_->members, letter.source) == meeting_->members.end());
}

void PrivateComm::throw_failure(const FailureLetter& letter) {
  throw PeerFailure(static_cast<ErrorKind>(letter.kind),
                    "rank " + std::to_string(letter.source) + " has failed in this call: " + letter.text.data());
}

void PrivateComm::check_peers() const {
  if (later_ && !is_ahead(*later_)) throw_failure(*later_);
  int found = 0;
  MPI_Status status;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, failure_tag, comm_, &found, &status), "MPI_Iprobe");
  if (!found) return;
  FailureLetter letter;
  check_mpi(MPI_Recv(&letter, sizeof letter, MPI_BYTE, status.MPI_SOURCE, failure_tag, comm_, MPI_STATUS_IGNORE),
            "MPI_Recv");
  letter.text.back() = '\0';
  if (!is_ahead(letter)) throw_failure(letter);
  if (!later_) later_ = letter;
}

void PrivateComm::leave() const noexcept {
  if (std::exchange(all_throw_, false)) return;
  spoilt_ = true;
  keep_those_of_the_step();
  try {
    throw;
  } catch (const PeerFailure& failure) {
    if (in_part_) tell_failure(failure.kind(), failure.what());
  } catch (const Error& error) {
    tell_failure(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    tell_failure(ErrorKind::internal, "out of memory");
  } catch (const std::exception& error) {
    tell_failure(ErrorKind::internal, error.what());
  } catch (...) {
    tell_failure(ErrorKind::internal, "unknown");
  }
}

void PrivateComm::keep_those_of_the_step() const noexcept {
  const std::lock_guard lock(live_mutex);
  for (PrivateComm* const comm : live)
    if (comm->made_after_ >= began_) comm->never_freed_ = true;
}

/// Needs no memory: there may be none.
void PrivateComm::tell_failure(ErrorKind kind, const char* text) const noexcept {
  told_.came = came_;
  told_.kind = static_cast<std::int32_t>(kind);
  told_.source = rank_;
  std::strncpy(told_.text.data(), text, told_.text.size() - 1);
  for (Rank peer = 0; peer < size_; ++peer)
    for (int tries = 0; peer != rank_ && tries < 10; ++tries)
      if (send_away(comm_, &told_, sizeof told_, peer, failure_tag) == MPI_SUCCESS) break;
}

void PrivateComm::keep(std::unique_ptr<Posted> posted) const noexcept {
  posted->next = std::move(kept_);
  kept_ = std::move(posted);
}

void PrivateComm::meet(const std::vector<Rank>& members, int tag, bool failed) const {
  if constexpr (simulated) return barrier_progressing(*this);
  static constexpr std::array<std::byte, 2> words = {std::byte{0}, std::byte{1}};  // MPI may read them later
  const bool of_all = members.empty() && tag == success_tag;
  const Rank size = members.empty() ? size_ : static_cast<Rank>(members.size());
  const Rank self = members.empty() ? rank_ : static_cast<Rank>(std::ranges::find(members, rank_) - members.begin());
  const auto at = [&](Rank place) { return members.empty() ? place : members[static_cast<std::size_t>(place)]; };
  const Tree tree{self, size};
  const auto hear = [&](Rank place) {
    await(*this, [&] {
      int found = 0;
      return MPI_Iprobe(at(place), tag, comm_, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS && found != 0;
    });
    std::byte word{};
    surely(comm_, "MPI_Recv", [&] { return MPI_Recv(&word, 1, MPI_BYTE, at(place), tag, comm_, MPI_STATUS_IGNORE); });
    failed = failed || word != words[0];
  };
  const auto tell = [&](Rank place) {
    surely(comm_, "MPI_Isend", [&] { return send_away(comm_, &words[failed ? 1 : 0], 1, at(place), tag); });
  };
  const Meeting meeting{members, tag};
  const Within within(meeting_, of_all ? nullptr : &meeting);
  tree.for_each_child(hear);
  if (self > 0) {
    tell(tree.parent());
    hear(tree.parent());
  }
  tree.for_each_child(tell);
  if (failed) throw PeerFailure(ErrorKind::internal, "another rank has failed in this call");
  if (of_all)
    ++came_.meetings;
  else
    came_.among = tag;
}

void PrivateComm::drain() const noexcept {
  if (!spoilt_ || !created()) return;
  for (int tag = setup_tag; tag <= success_tag; ++tag)
    for (;;) {
      int found = 0;
      int bytes = 0;
      MPI_Status status;
      if (MPI_Iprobe(MPI_ANY_SOURCE, tag, comm_, &found, &status) != MPI_SUCCESS || !found) break;
      MPI_Get_count(&status, MPI_BYTE, &bytes);
      const std::unique_ptr<std::byte[]> place(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes) + 1]);
      if (!place ||
          MPI_Recv(place.get(), bytes, MPI_BYTE, status.MPI_SOURCE, tag, comm_, MPI_STATUS_IGNORE) != MPI_SUCCESS)
        break;
    }
  while (kept_) {
    int done = 0;
    const auto n = static_cast<int>(kept_->requests.size());
    MPI_Testall(n, kept_->requests.data(), &done, MPI_STATUSES_IGNORE);
    std::unique_ptr<Posted> posted = std::move(kept_);
    kept_ = std::move(posted->next);
    if (!done) (void)posted.release();  // MPI may read it to the end
  }
}

/// The last message of each rank comes after all others of it.
void PrivateComm::settle() const {
  if (!spoilt_ || !created() || size_ > few_ranks) return drain();
  static constexpr std::byte word{0};
  for (Rank peer = 0; peer < size_; ++peer)
    if (peer != rank_) surely(comm_, "MPI_Isend", [&] { return send_away(comm_, &word, 1, peer, last_tag); });
  for (Rank peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    progress_until([&] {
      int found = 0;
      return MPI_Iprobe(peer, last_tag, comm_, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS && found != 0;
    });
    std::byte last{};
    surely(comm_, "MPI_Recv", [&] { return MPI_Recv(&last, 1, MPI_BYTE, peer, last_tag, comm_, MPI_STATUS_IGNORE); });
  }
  drain();
  spoilt_ = false;
}

void PrivateComm::end_creation() {
  // All ranks have begun the creation before any of them can come here.
  if (creation_ != MPI_REQUEST_NULL) MPI_Wait(&creation_, MPI_STATUS_IGNORE);
}

bool PrivateComm::advance_creation() {
  if (advancing_.exchange(true, std::memory_order_acquire)) return false;
  int flag = ready_.load(std::memory_order_relaxed);
  try {
    if (!flag) {
      check_mpi(MPI_Test(&creation_, &flag, MPI_STATUS_IGNORE), "MPI_Comm_idup");
      if (flag) check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
  } catch (...) {
    advancing_.store(false, std::memory_order_release);
    throw;
  }
  if (flag) ready_.store(true, std::memory_order_release);
  advancing_.store(false, std::memory_order_release);
  return flag != 0;
}

void PrivateComm::call_error_handler(MPI_Errhandler handler, int code) const {
  MPI_Comm target = created() ? comm_ : MPI_COMM_SELF;
  // Other threads must not meet the handler in calls that expect errors to be returned.
  const bool is_shared = !single_threaded() && has_world();
  static std::mutex mutex;
  if (is_shared) {
    const std::lock_guard lock(mutex);
    MPI_Group self = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_create(MPI_COMM_SELF, self, &target);
    MPI_Group_free(&self);
  }
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(target, &before);
  MPI_Comm_set_errhandler(target, handler);
  laneway::call_error_handler(target, code);
  MPI_Comm_set_errhandler(target, before);
  MPI_Errhandler_free(&before);
  if (is_shared) MPI_Comm_free(&target);
}

bool PrivateComm::has_tags() const {
  return next_tag_ <= last_tag_ - plan_channels;
}

int PrivateComm::take_tags(int count) {
  LANEWAY_ASSERT(1, count <= plan_channels && has_tags());
  return std::exchange(next_tag_, next_tag_ + count);
}

bool single_threaded() {
  if constexpr (simulated) return true;
  static const bool single = [] {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    return level != MPI_THREAD_MULTIPLE;
  }();
  return single;
}

void call_error_handler(MPI_Comm comm, int code) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
    if (handler == MPI_ERRORS_ARE_FATAL) {
      std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
      int length = 0;
      if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS) tell(text.data());
    }
    MPI_Errhandler_free(&handler);
  }
  MPI_Comm_call_errhandler(comm, code);
}

ErrorHandler::ErrorHandler(MPI_Comm comm, std::shared_ptr<const UserComm> user) : user_(std::move(user)) {
  check_mpi(MPI_Comm_get_errhandler(comm, &handler_), "MPI_Comm_get_errhandler");
}

ErrorHandler::~ErrorHandler() {
  if (handler_ != MPI_ERRHANDLER_NULL && !mpi_is_finalized()) MPI_Errhandler_free(&handler_);
}

void ErrorHandler::call(const PrivateComm& stand_in, int code) const {
  const MPI_Comm user = user_->load(std::memory_order_acquire);
  if (user != MPI_COMM_NULL)
    call_error_handler(user, code);
  else if (handler_ != MPI_ERRORS_RETURN)
    stand_in.call_error_handler(handler_, code);
}

Communicator::Communicator(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag)
    : comm_(comm),
      user_(std::make_shared<UserComm>(comm)),
      private_(std::move(priv)),
      nonblocking_comm_(private_),
      nonblocking_tag_(nonblocking_tag) {}

Communicator* Communicator::find(MPI_Comm comm) {
  require(comm != MPI_COMM_NULL, ErrorKind::communicator, "comm: MPI_COMM_NULL");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  require(!inter, ErrorKind::communicator, "comm: an intercommunicator");
  create_keys();
  void* attribute = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm, communicator_key, &attribute, &found), "MPI_Comm_get_attr");
  return found ? static_cast<Communicator*>(attribute) : nullptr;
}

Communicator& Communicator::attach(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag) {
  auto fresh = std::unique_ptr<Communicator>(new Communicator(comm, std::move(priv), nonblocking_tag));
  check_mpi(MPI_Comm_set_attr(comm, communicator_key, fresh.get()), "MPI_Comm_set_attr");
  return *fresh.release();
}

Communicator& Communicator::of(MPI_Comm comm, const PrivateComm* through) {
  if (Communicator* const known = find(comm)) return *known;
  // All that may fail on this rank alone comes before the ranks meet, as far as it can.
  std::shared_ptr<PrivateComm> priv;
  Communicator* made = nullptr;
  std::exception_ptr failure;
  try {
    priv = std::make_shared<PrivateComm>();
    made = &attach(comm, priv, PrivateComm::nonblocking_tag);
  } catch (...) {
    failure = std::current_exception();
  }
  const auto create = [&] {
    if (priv) return priv->create(comm, failure, through);
    if (through != nullptr) std::rethrow_exception(failure);
    int rank = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    (void)meet_on(comm, rank, failure);
  };
  try {
    create();
  } catch (...) {
    if (priv && priv->created())
      priv->leave();
    else if (made != nullptr)
      MPI_Comm_delete_attr(comm, communicator_key);
    throw;
  }
  return *made;
}

Communicator& Communicator::of_nonblocking(MPI_Comm comm) {
  Communicator* const known = find(comm);
  if (known != nullptr && !known->unmade_) return *known;
  const auto begun = std::make_shared<PrivateComm>();
  begun->begin(comm);
  if (known == nullptr) return attach(comm, begun, PrivateComm::nonblocking_tag);
  known->use(begun);
  return *known;
}

/// Makes another of its ranks if `comm` can no longer be used for setup; then true.
bool Communicator::make_usable(std::shared_ptr<PrivateComm>& comm) {
  if (!comm->spoilt() && comm->has_tags()) return false;
  std::shared_ptr<PrivateComm> fresh;
  std::exception_ptr failure;
  try {
    fresh = std::make_shared<PrivateComm>();
  } catch (...) {
    failure = std::current_exception();
  }
  if (!fresh) (void)meet_on(comm->get(), comm->rank(), failure);  // throws
  try {
    fresh->create(comm->get(), nullptr, nullptr);
  } catch (...) {
    if (!fresh->created()) throw;
    fresh->leave();
    comm->settle();  // as the others do
    comm = fresh;
    throw;
  }
  comm->settle();
  comm = fresh;
  return true;
}

Communicator& Communicator::derive(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent) {
  return attach(comm, parent, parent->take_tags());
}

void Communicator::part_from_parent() {
  unmade_ = {{}, nonblocking_tag_, 0};
}

void Communicator::restrict_to(std::vector<Rank> members, bool single) {
  partial = true;
  idle = !std::ranges::binary_search(members, private_->rank());
  if (single) of_all_ = private_;
  (void)topology();  // in ranks of the parent's, as long as it can be read
  if (!idle) unmade_ = {std::move(members), nonblocking_tag_, 0};
}

void Communicator::use(std::shared_ptr<PrivateComm> own) {
  private_ = std::move(own);
  nonblocking_comm_ = private_;
  nonblocking_tag_ = PrivateComm::nonblocking_tag;
  unmade_.reset();
}

void Communicator::make_own() {
  const std::vector<Rank> members = std::exchange(unmade_->members, {});
  // Where it fails, the next try has tags of its own.
  const int tag = unmade_->tag + 2 * (unmade_->tries++ % (own_channels / 2));
  std::shared_ptr<PrivateComm> own;
  std::unique_ptr<Topology> translated;
  std::exception_ptr failure;
  try {
    own = std::make_shared<PrivateComm>();
    if (partial) translated = std::make_unique<Topology>(*topology_);
  } catch (...) {
    failure = std::current_exception();
  }
  const auto become = [&] {
    use(own);
    if (!translated) return;
    // What is known is in ranks of the parent's.
    for (std::vector<Neighbor>* neighbors : {&translated->sources, &translated->destinations})
      for (Neighbor& neighbor : *neighbors)
        neighbor.rank = static_cast<Rank>(std::ranges::lower_bound(members, neighbor.rank) - members.begin());
    topology_ = std::move(translated);
    fabrics_.clear();
    regions_.clear();
    peer_regions_.clear();
  };
  try {
    if (own)
      own->create_among(*private_, members, tag, failure);
    else
      private_->meet(members, tag, true);  // throws
  } catch (...) {
    if (!own || !own->created()) {
      unmade_->members = members;
      throw;
    }
    own->leave();
    become();
    throw;
  }
  become();
}

void Communicator::forget(MPI_Comm comm) {
  if (find(comm) != nullptr) MPI_Comm_delete_attr(comm, communicator_key);
}

std::unique_ptr<Communicator> Communicator::with_topology(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent,
                                                          Topology topology, bool single) {
  const auto priv = single ? parent : std::make_shared<PrivateComm>();
  if (!single) priv->create(parent->get(), nullptr, parent.get());
  const int tag = single ? parent->take_tags() : int{PrivateComm::nonblocking_tag};
  auto made = std::unique_ptr<Communicator>(new Communicator(MPI_COMM_NULL, priv, tag));
  made->topology_ = std::make_unique<Topology>(std::move(topology));
  made->error_handler_ = of(comm).error_handler();
  return made;
}

std::shared_ptr<PrivateComm> Communicator::private_comm_of_all() {
  if (!partial) return private_comm();
  if (of_all_) make_usable(of_all_);
  return of_all_;
}

Rank Communicator::ranks() const {
  return unmade_ && !unmade_->members.empty() ? static_cast<Rank>(unmade_->members.size()) : private_->size();
}

std::shared_ptr<PrivateComm> Communicator::private_comm() {
  if (unmade_) make_own();
  if (!private_->ready()) progress_until([&] { return private_->ready(); });
  if (private_->spoilt()) forget_what_ranks_share();
  if (make_usable(private_)) attachments_.tell(Attachment::Change::replaced);
  return private_;
}

/// Some ranks may have learnt it in a step in which others have failed.
void Communicator::forget_what_ranks_share() {
  attachments_.tell(Attachment::Change::unsure);
  regions_.clear();
  peer_regions_.clear();
  node_devices.reset();
  knows_nodes = false;
}

const Topology& Communicator::topology() {
  if (!topology_) topology_ = std::make_unique<Topology>(read_topology(comm_));
  return *topology_;
}

const Communicator::CallHints& Communicator::call_hints() {
  if (!call_hints_) call_hints_ = {resolve_progress(hints), resolve_memory_path(hints)};
  return *call_hints_;
}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL) user_->store(MPI_COMM_NULL, std::memory_order_release);
}

const Region& Communicator::node(const std::string& machine) {
  Hints settings;
  settings.machine = machine;
  return regions(settings).front();
}

std::shared_ptr<const ErrorHandler> Communicator::error_handler() const {
  return error_handler_ ? error_handler_ : std::make_shared<const ErrorHandler>(comm_, user_);
}

void Communicator::read_descriptions(Hints& settings) {
  // Read once for a communicator, as what they describe is.
  const std::pair files(settings.machine, settings.parameters);
  auto known = file_hashes_.find(files);
  if (known == file_hashes_.end())
    known = file_hashes_.emplace(files, hash_of_files(settings.machine, settings.parameters)).first;
  settings.files = known->second;
  if (!settings.machine.empty() || !settings.grid.empty()) (void)regions(settings);
  (void)fabric(settings.machine);
  if (!settings.machine.empty()) (void)network_distance(settings);
  if (!settings.parameters.empty() && settings.parameters != measured_parameters) (void)parameters(settings, false);
}

std::shared_ptr<const Parameters> Communicator::parameters(const Hints& settings, bool one_node) {
  const std::string name = settings.parameters.empty() ? kind_of_machine(one_node) : settings.parameters;
  std::shared_ptr<const Parameters>& known = private_->parameters[name];
  if (!known) known = std::make_shared<const Parameters>(Parameters::read(name));
  return known;
}

std::shared_ptr<const Fabric> Communicator::fabric(const std::string& machine) {
  if (machine.empty()) return nullptr;
  auto it = fabrics_.find(machine);
  if (it == fabrics_.end()) it = fabrics_.emplace(machine, find_fabric(private_->get(), machine)).first;
  return it->second;
}

int Communicator::network_distance(const Hints& settings, const MemoryInfo& buffer) {
  if (!settings.level.empty() || !settings.grid.empty()) return 0;
  const std::string& machine = settings.machine;
  if (machine.empty()) return own_network_distance(buffer);
  auto it = network_distances_.find(machine);
  if (it == network_distances_.end())
    it = network_distances_.emplace(machine, described_network_distance(machine)).first;
  return it->second;
}

namespace {

const std::string& described(const Hints& settings) {
  return settings.grid.empty() ? settings.machine : settings.grid;
}

}  // namespace

std::optional<Rank> Communicator::known_region(const Hints& settings) {
  if (!described(settings).empty()) return regions(settings).front().id;
  const bool is_node = settings.inner.empty() && (settings.level.empty() || settings.level == "node");
  if (!is_node || known_world() == 0) return std::nullopt;
  return find_node(private_->get(), "", true).id;
}

const std::map<Rank, Rank>* Communicator::peer_regions(const Hints& settings) const {
  const auto known = peer_regions_.find({described(settings), settings.level});
  return known == peer_regions_.end() ? nullptr : &known->second;
}

void Communicator::learn_regions(const Hints& settings, const std::map<Rank, Rank>& regions) {
  if (!regions.empty()) peer_regions_.try_emplace({described(settings), settings.level}, regions);
}

const std::vector<Region>& Communicator::regions(const Hints& settings, bool translate) {
  std::vector<std::string> names = {settings.level};
  for (const LevelChoice& level : settings.inner) names.push_back(level.level);
  std::vector<std::string> key = names;
  key.push_back(described(settings));
  const Region* const on_one_device = settings.machine.empty() && node_devices ? &node_devices->sharing : nullptr;
  if (on_one_device != nullptr) key.emplace_back("gpu");
  const auto it = regions_.find(key);
  if (it != regions_.end()) return it->second;
  std::vector<Region> found;
  if (settings.grid.empty()) {
    found = find_levels(private_->get(), settings.machine, names, translate, on_one_device, private_.get());
  } else {
    const Machine grid = Machine::parse(settings.grid, private_->size());
    for (std::size_t level = 0; level < names.size(); ++level)
      found.push_back(grid.region(static_cast<int>(level), private_->rank()));
  }
  return regions_.emplace(std::move(key), std::move(found)).first->second;
}

}  // namespace laneway
