#include "preload/calls/requests.hpp"

#include <iterator>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "api/barrier.hpp"
#include "base/process/spin_lock.hpp"
#include "mpi/engine.hpp"
#include "preload/next.hpp"
#include "preload/p2p/point_to_point.hpp"
#include "preload/report/rows.hpp"
#include "preload/settings.hpp"
#include "runtime/executor/progress.hpp"

extern "C" int laneway_next_MPI_Start(MPI_Request*);
extern "C" int laneway_next_MPI_Test(MPI_Request*, int*, MPI_Status*);
extern "C" int laneway_next_MPI_Request_free(MPI_Request*);

namespace laneway::interpose {

namespace {

struct Taken {
  std::unique_ptr<Request> work;  // null if there is nothing to do
  MPI_Request handle;
  int tag;
  std::optional<Starts> starts = {};      // of a persistent one
  std::optional<Sampling> sampling = {};  // of one that is compared with `own`
  MPI_Request own = MPI_REQUEST_NULL;
  bool own_is_active = false;

  [[nodiscard]] bool persistent() const { return starts.has_value(); }
};

/// Held for short times only, and never while calling MPI, which may run its engine: any thread may wait for it.
SpinLock held;
/// One thread advances what is active; others go on without. It may call MPI meanwhile.
SpinLock advancing_taken;

// Never destroyed: a program may end without MPI_Finalize, and MPI is gone before.
auto& taken = *new std::unordered_map<MPI_Request, std::shared_ptr<Taken>>;
auto& started = *new std::vector<std::shared_ptr<Taken>>;  // since somebody was advancing
auto& free_tags = *new std::vector<int>;
// Of those who are advancing.
auto& active = *new std::vector<std::shared_ptr<Taken>>;
int next_tag = 0;
MPI_Comm self = MPI_COMM_NULL;
std::atomic<int> failure{MPI_SUCCESS};

/// Not a duplicate of MPI_COMM_SELF: that would copy the program's attributes.
int make_self() {
  static const int code = PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &self);
  return code;
}

int take_tag() {
  const std::lock_guard hold(held);
  if (free_tags.empty()) free_tags.push_back(next_tag++);
  const int tag = free_tags.back();
  free_tags.pop_back();
  return tag;
}

int make_handle(Taken& made) {
  if (const int code = make_self(); code != MPI_SUCCESS) return code;
  made.tag = take_tag();
  return made.persistent() ? PMPI_Recv_init(nullptr, 0, MPI_BYTE, 0, made.tag, self, &made.handle)
                           : PMPI_Irecv(nullptr, 0, MPI_BYTE, 0, made.tag, self, &made.handle);
}

/// Null if `handle` is not ours.
std::shared_ptr<Taken> find(MPI_Request handle) {
  if (known_operations.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::lock_guard hold(held);
  const auto it = taken.find(handle);
  return it == taken.end() ? nullptr : it->second;
}

/// Frees what only the handle of a persistent operation has needed.
void end_sampling(Taken& operation) {
  if (operation.sampling) operation.sampling->forget(*operation.starts->row->samples);
  if (operation.own != MPI_REQUEST_NULL) laneway_next_MPI_Request_free(&operation.own);
}

/// Must be held.
void forget(const Taken& operation) {
  free_tags.push_back(operation.tag);
  known_operations.fetch_sub(1, std::memory_order_relaxed);
  taken.erase(operation.handle);
}

/// Must be held.
void activate(const std::shared_ptr<Taken>& operation) {
  started.push_back(operation);
  active_operations.fetch_add(1, std::memory_order_relaxed);
}

/// Calls the error handler of the communicator that the operation is of.
int fail(const Taken& operation, int code) {
  if (operation.work)
    operation.work->call_error_handler(code);
  else
    call_error_handler(MPI_COMM_WORLD, code);
  return code;
}

int rank_of(const Taken& operation) {
  return operation.work ? operation.work->rank() : 0;
}

int misuse(const Taken& operation, const char* call, const char* what) {
  try {
    throw Error(ErrorKind::request, what);
  } catch (...) {
    return fail(operation, error_code(call, rank_of(operation)));
  }
}

/// Nothing if it is still active.
std::optional<int> test(Taken& operation) {
  if (operation.own_is_active) {
    int flag = 0;
    const int code = laneway_next_MPI_Test(&operation.own, &flag, MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS && !flag) return std::nullopt;
    operation.own_is_active = false;
    return code;
  }
  try {
    if (operation.work && !operation.work->test()) return std::nullopt;
    return MPI_SUCCESS;
  } catch (...) {
    return error_code(
        operation.persistent() ? "a persistent neighborhood operation" : "a nonblocking neighborhood operation",
        operation.work->rank());
  }
}

bool is_startable(const std::shared_ptr<Taken>& operation) {
  return !operation ||
         (operation->persistent() && !operation->own_is_active && (!operation->work || operation->work->startable()));
}

constexpr const char* not_startable =
    "the request is not persistent, or active, or shares its staging memory with one that is active";

/// By the MPI library's own where this start is sampled so.
int start_one(Taken& operation) {
  Row& row = *operation.starts->row;
  if (operation.sampling && operation.sampling->next(*row.samples) == Way::mpi) {
    row.count_left(kept_alive_by_samples);
    const int code = laneway_next_MPI_Start(&operation.own);
    operation.own_is_active = code == MPI_SUCCESS;
    return code;
  }
  if (operation.work) (void)operation.work->start();
  row.count_taken();
  return MPI_SUCCESS;
}

int start(const std::shared_ptr<Taken>& operation, const char* call) {
  try {
    if (const int code = start_one(*operation); code != MPI_SUCCESS) return code;
  } catch (...) {
    return fail(*operation, error_code(call, operation->work->rank()));
  }
  operation->starts->row->count_bytes(operation->starts->bytes, operation->starts->messages);
  const std::lock_guard hold(held);
  activate(operation);
  return MPI_SUCCESS;
}

}  // namespace

SplitPhase split_phase() {
  if (has_engine()) return SplitPhase::hooked;
  static const bool promised = [] {
    const char* const progress = std::getenv("LANEWAY_PROGRESS");
    if (progress == nullptr) return false;
    return std::string_view(progress) == "wait" || (std::string_view(progress) == "thread" && !single_threaded());
  }();
  return promised ? SplitPhase::promised : SplitPhase::unsafe;
}

int give_handle(LNW_Request operation, std::optional<Starts> starts, MPI_Request* handle) {
  const auto made = std::make_shared<Taken>(
      Taken{std::unique_ptr<Request>(reinterpret_cast<Request*>(operation)), MPI_REQUEST_NULL, 0, std::move(starts)});
  if (const int code = make_handle(*made); code != MPI_SUCCESS) return code;
  *handle = made->handle;
  {
    const std::lock_guard hold(held);
    taken.emplace(made->handle, made);
    known_operations.fetch_add(1, std::memory_order_relaxed);
    if (!made->persistent()) activate(made);
  }
  if (split_phase() == SplitPhase::hooked) call_in_engine(advance);
  return MPI_SUCCESS;
}

void compare_with(MPI_Request handle, MPI_Request own) {
  const std::shared_ptr<Taken> operation = find(handle);
  operation->own = own;
  operation->sampling.emplace(seed_of(*operation->starts->row));
}

int advance() {
  p2p::progress();
  if (active_operations.load(std::memory_order_relaxed) == 0) return p2p::on ? progress_in_engine() : 0;
  std::vector<std::pair<std::shared_ptr<Taken>, int>> failed;
  int completed = 0;
  {
    const std::unique_lock turn(advancing_taken, std::try_to_lock);
    if (!turn) return 0;
    {
      const std::lock_guard hold(held);
      active.insert(active.end(), std::make_move_iterator(started.begin()), std::make_move_iterator(started.end()));
      started.clear();
    }
    progress_all();
    for (std::size_t i = 0; i < active.size();) {
      const std::shared_ptr<Taken> operation = active[i];
      const std::optional<int> code = test(*operation);
      if (!code) {
        ++i;
        continue;
      }
      active[i] = std::move(active.back());
      active.pop_back();
      active_operations.fetch_sub(1, std::memory_order_relaxed);
      ++completed;
      // Before the handle is complete, and another may get its value. The message is for this one all the same: of
      // receives with one tag the first one takes it.
      if (!operation->persistent()) {
        const std::lock_guard hold(held);
        forget(*operation);
      }
      PMPI_Send(nullptr, 0, MPI_BYTE, 0, operation->tag, self);
      if (*code != MPI_SUCCESS) failed.emplace_back(operation, *code);
    }
  }
  for (const auto& [operation, code] : failed) failure.store(fail(*operation, code), std::memory_order_relaxed);
  return completed;
}

int take_failure() {
  if (failure.load(std::memory_order_relaxed) == MPI_SUCCESS) [[likely]]
    return MPI_SUCCESS;
  return failure.exchange(MPI_SUCCESS);
}

void free_all() {
  call_in_engine(nullptr);
  std::unordered_map<MPI_Request, std::shared_ptr<Taken>> left;
  {
    const std::lock_guard hold(held);
    started.clear();
    active.clear();
    active_operations.store(0);
    known_operations.store(0);
    left.swap(taken);
  }
  for (auto& [handle, operation] : left) {
    end_sampling(*operation);
    PMPI_Request_free(&operation->handle);
  }
  if (self != MPI_COMM_NULL) PMPI_Comm_free(&self);
}

}  // namespace laneway::interpose

using namespace laneway::interpose;

INTERPOSE(MPI_Start, (MPI_Request * request), (request)) {
  const auto operation = request != nullptr ? find(*request) : nullptr;
  if (!operation) return p2p::has(request) ? p2p::start(request) : laneway_pass_MPI_Start(request);
  if (!is_startable(operation)) return misuse(*operation, "MPI_Start", not_startable);
  const int code = laneway_next_MPI_Start(request);
  return code != MPI_SUCCESS ? code : start(operation, "MPI_Start");
}

INTERPOSE(MPI_Startall, (int count, MPI_Request requests[]), (count, requests)) {
  if (p2p::on && p2p::has_any(count, requests)) {
    for (int i = 0; i < count; ++i)
      if (const int code = laneway_take_MPI_Start(requests + i); code != MPI_SUCCESS) return code;
    return MPI_SUCCESS;
  }
  if (known_operations.load(std::memory_order_relaxed) == 0) return laneway_pass_MPI_Startall(count, requests);
  std::vector<std::shared_ptr<Taken>> ours;
  for (int i = 0; i < count; ++i)
    if (auto operation = find(requests[i])) ours.push_back(std::move(operation));
  for (const auto& operation : ours)
    if (!is_startable(operation)) return misuse(*operation, "MPI_Startall", not_startable);
  if (const int code = laneway_pass_MPI_Startall(count, requests); code != MPI_SUCCESS) return code;
  for (const auto& operation : ours)
    if (const int code = start(operation, "MPI_Startall"); code != MPI_SUCCESS) return code;
  return MPI_SUCCESS;
}

INTERPOSE(MPI_Request_free, (MPI_Request * request), (request)) {
  const auto operation = request != nullptr ? find(*request) : nullptr;
  if (!operation) return p2p::has(request) ? p2p::free_request(request) : laneway_pass_MPI_Request_free(request);
  if (operation->own_is_active || (operation->work && operation->work->active()))
    return misuse(*operation, "MPI_Request_free", "the request is active");
  end_sampling(*operation);
  {
    const std::lock_guard hold(held);
    forget(*operation);
  }
  return laneway_next_MPI_Request_free(request);
}

INTERPOSE(MPI_Cancel, (MPI_Request * request), (request)) {
  const auto operation = request != nullptr ? find(*request) : nullptr;
  if (!operation) return p2p::has(request) ? p2p::cancel(request) : laneway_pass_MPI_Cancel(request);
  return misuse(*operation, "MPI_Cancel", "the request is of a neighborhood operation, which cannot be cancelled");
}
