#include "mpi_ledger.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <list>
#include <mutex>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

namespace laneway::test {

namespace {

/// Of a communicator. It has one name on all ranks: they make those of the same ranks in one order.
struct Book {
  std::uint64_t ranks = 0;
  int number = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  int posted = 0;
  bool is_freed = false;
};

struct Pending {
  Book* book = nullptr;         // null: of a communicator of the user's
  std::string collective = {};  // else a receive, or a send that is started again and again
  bool is_send = false;
  bool is_persistent = false;
  bool is_active = false;
  MPI_Comm* duplicate = nullptr;
};

struct State {
  std::recursive_mutex mutex;
  std::list<Book> books;
  std::map<MPI_Comm, Book*> open;
  std::map<std::uint64_t, int> numbers;
  std::map<MPI_Request, Pending> pending;
  std::map<std::string, std::int64_t> made;
  std::vector<std::string> faults;
  std::int64_t freed = 0;
  bool synchronise = false;
  int until_refused = 0;
};
State& state() {
  static State* const one = new State;
  return *one;
}
using Lock = std::lock_guard<std::recursive_mutex>;

Book* book_of(MPI_Comm comm) {
  const auto found = state().open.find(comm);
  return found == state().open.end() ? nullptr : found->second;
}

std::uint64_t ranks_of(MPI_Comm comm) {
  MPI_Group group = MPI_GROUP_NULL, world = MPI_GROUP_NULL;
  int size = 0;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(MPI_COMM_WORLD, &world);
  PMPI_Group_size(group, &size);
  std::vector<int> own(static_cast<std::size_t>(size)), of_world(own.size());
  std::iota(own.begin(), own.end(), 0);
  PMPI_Group_translate_ranks(group, size, own.data(), world, of_world.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  std::uint64_t hash = 1469598103934665603U;
  for (const int rank : of_world) hash = (hash ^ static_cast<std::uint64_t>(rank + 1)) * 1099511628211U;
  return hash;
}

void open(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  const std::uint64_t ranks = is_inter != 0 ? 0 : ranks_of(comm);
  const Lock lock(state().mutex);
  Book& book = state().books.emplace_back();
  book.ranks = ranks;
  book.number = state().numbers[ranks]++;
  state().open[comm] = &book;
  ++state().made["communicators"];
}

void count(const char* what, int by) {
  const Lock lock(state().mutex);
  state().made[what] += by;
}

void sent(MPI_Comm comm, int peer, int by = 1) {
  const Lock lock(state().mutex);
  if (Book* const book = book_of(comm); book != nullptr && peer != MPI_PROC_NULL) book->sent += by;
}

void post(MPI_Request request, Pending pending) {
  const Lock lock(state().mutex);
  if (request == MPI_REQUEST_NULL) return;
  if (pending.is_active && pending.book != nullptr && !pending.is_send && pending.collective.empty()) {
    ++pending.book->received;
    ++pending.book->posted;
  }
  state().pending[request] = std::move(pending);
}

void start(MPI_Request request) {
  const Lock lock(state().mutex);
  const auto found = state().pending.find(request);
  if (found == state().pending.end()) return;
  Pending& pending = found->second;
  pending.is_active = true;
  if (pending.book == nullptr) return;
  if (pending.is_send) {
    ++pending.book->sent;
  } else {
    ++pending.book->received;
    ++pending.book->posted;
  }
}

void complete(MPI_Request request, const MPI_Status& status) {
  MPI_Comm duplicate = MPI_COMM_NULL;
  {
    const Lock lock(state().mutex);
    const auto found = state().pending.find(request);
    if (found == state().pending.end() || !found->second.is_active) return;
    Pending& pending = found->second;
    pending.is_active = false;
    if (pending.book != nullptr && !pending.is_send && pending.collective.empty()) {
      int is_cancelled = 0;
      PMPI_Test_cancelled(&status, &is_cancelled);
      pending.book->received -= is_cancelled != 0 ? 1 : 0;
      --pending.book->posted;
    }
    if (pending.duplicate != nullptr) duplicate = *pending.duplicate;
    if (!pending.is_persistent) state().pending.erase(found);
  }
  open(duplicate);
}

/// A receive of the library's, or a persistent message.
Pending message_on(MPI_Comm comm, int peer, bool is_send, bool is_persistent) {
  const Lock lock(state().mutex);
  Pending pending;
  pending.book = peer == MPI_PROC_NULL ? nullptr : book_of(comm);
  pending.is_send = is_send;
  pending.is_persistent = is_persistent;
  pending.is_active = !is_persistent;
  return pending;
}

void collective(MPI_Comm comm, const char* name, const MPI_Request* request, MPI_Comm* duplicate = nullptr) {
  const Lock lock(state().mutex);
  Pending pending;
  pending.book = book_of(comm);
  pending.collective = name;
  pending.is_active = true;
  pending.duplicate = duplicate;
  post(*request, std::move(pending));
}

std::int64_t descriptors() {
  std::int64_t found = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) ++found;
  return found;
}

std::int64_t mappings() {
  std::ifstream maps("/proc/self/maps");
  std::int64_t found = 0;
  for (std::string line; std::getline(maps, line);) found += line.find("memfd:laneway") != std::string::npos ? 1 : 0;
  return found;
}

}  // namespace

std::map<std::string, std::int64_t> Ledger::made() {
  const Lock lock(state().mutex);
  std::map<std::string, std::int64_t> made = state().made;
  made["descriptors"] = descriptors();
  made["mappings"] = mappings();
  return made;
}

std::vector<std::string> Ledger::faults() {
  const Lock lock(state().mutex);
  return std::exchange(state().faults, {});
}

std::vector<std::string> Ledger::under_way() {
  const Lock lock(state().mutex);
  std::vector<std::string> names;
  for (const auto& [request, pending] : state().pending)
    if (pending.is_active && pending.book == nullptr && !pending.collective.empty())
      names.push_back(pending.collective);
  return names;
}

std::vector<std::string> Ledger::unreceived() {
  std::vector<std::int64_t> own;
  {
    const Lock lock(state().mutex);
    for (const Book& book : state().books)
      if (book.is_freed)
        own.insert(own.end(), {static_cast<std::int64_t>(book.ranks), book.number, book.sent, book.received});
  }
  int size = 0;
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  const int mine = static_cast<int>(own.size());
  std::vector<int> counts(static_cast<std::size_t>(size)), places(counts.size());
  PMPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, MPI_COMM_WORLD);
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  std::vector<std::int64_t> all(static_cast<std::size_t>(places.back() + counts.back()));
  PMPI_Allgatherv(own.data(), mine, MPI_INT64_T, all.data(), counts.data(), places.data(), MPI_INT64_T, MPI_COMM_WORLD);
  std::map<std::pair<std::int64_t, std::int64_t>, std::pair<std::int64_t, std::int64_t>> sums;
  for (std::size_t i = 0; i < all.size(); i += 4) {
    auto& [sent, received] = sums[{all[i], all[i + 1]}];
    sent += all[i + 2];
    received += all[i + 3];
  }
  std::vector<std::string> found;
  for (const auto& [name, sum] : sums)
    if (sum.first != sum.second)
      found.push_back("communicator " + std::to_string(name.second) + ": " + std::to_string(sum.first) + " sent, " +
                      std::to_string(sum.second) + " received");
  return found;
}

void Ledger::forget_freed() {
  const Lock lock(state().mutex);
  for (auto& [request, pending] : state().pending)
    if (pending.book != nullptr && pending.book->is_freed) return;
  state().books.remove_if([](const Book& book) { return book.is_freed; });
}

std::int64_t Ledger::freed() {
  const Lock lock(state().mutex);
  return state().freed;
}

void Ledger::give_to_user(MPI_Comm made) {
  const Lock lock(state().mutex);
  const auto found = state().open.find(made);
  if (found == state().open.end()) return;
  state().books.remove_if([&](const Book& book) { return &book == found->second; });
  state().open.erase(found);
  --state().made["communicators"];
}

void Ledger::refuse_datatype(int nth) {
  const Lock lock(state().mutex);
  state().until_refused = nth;
}

void Ledger::let_frees_synchronise(bool synchronise) {
  state().synchronise = synchronise;
}

namespace {

/// After a call that completes requests: which of `before` are complete now.
void look_at(const std::vector<MPI_Request>& before, const std::vector<MPI_Status>& statuses) {
  for (std::size_t i = 0; i < before.size(); ++i)
    if (before[i] != MPI_REQUEST_NULL) complete(before[i], statuses[i]);
}

void free_comm(MPI_Comm comm) {
  const Lock lock(state().mutex);
  Book* const book = book_of(comm);
  if (book == nullptr) return;
  if (book->posted > 0)
    state().faults.push_back("a communicator is freed with " + std::to_string(book->posted) + " receives posted");
  book->is_freed = true;
  state().open.erase(comm);
  --state().made["communicators"];
  ++state().freed;
}

bool is_refused(std::string_view what, int by) {
  const Lock lock(state().mutex);
  return what == "datatypes" && by > 0 && state().until_refused > 0 && --state().until_refused == 0;
}

void copy(const MPI_Status& from, MPI_Status* to) {
  if (to != MPI_STATUS_IGNORE) *to = from;
}

}  // namespace

}  // namespace laneway::test

using namespace laneway::test;

extern "C" {

int MPI_Send(const void* buf, int count_, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  sent(comm, dest);
  return PMPI_Send(buf, count_, type, dest, tag, comm);
}
int MPI_Isend(const void* buf, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  sent(comm, dest);
  return PMPI_Isend(buf, n, type, dest, tag, comm, request);
}
int MPI_Issend(const void* buf, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  sent(comm, dest);
  return PMPI_Issend(buf, n, type, dest, tag, comm, request);
}
int MPI_Send_init(const void* buf, int n, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request* request) {
  const int code = PMPI_Send_init(buf, n, type, dest, tag, comm, request);
  if (code == MPI_SUCCESS) post(*request, message_on(comm, dest, true, true));
  return code;
}
int MPI_Recv(void* buf, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Status* status) {
  const int code = PMPI_Recv(buf, n, type, source, tag, comm, status);
  const Lock lock(state().mutex);
  if (Book* const book = book_of(comm); book != nullptr && source != MPI_PROC_NULL) ++book->received;
  return code;
}
int MPI_Irecv(void* buf, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  const int code = PMPI_Irecv(buf, n, type, source, tag, comm, request);
  if (code == MPI_SUCCESS) post(*request, message_on(comm, source, false, false));
  return code;
}
int MPI_Recv_init(void* buf, int n, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request* request) {
  const int code = PMPI_Recv_init(buf, n, type, source, tag, comm, request);
  if (code == MPI_SUCCESS) post(*request, message_on(comm, source, false, true));
  return code;
}
int MPI_Improbe(int source, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status) {
  const int code = PMPI_Improbe(source, tag, comm, flag, message, status);
  const Lock lock(state().mutex);
  if (Book* const book = book_of(comm); book != nullptr && *flag != 0) ++book->received;
  return code;
}
int MPI_Start(MPI_Request* request) {
  start(*request);
  return PMPI_Start(request);
}
int MPI_Startall(int n, MPI_Request requests[]) {
  for (int i = 0; i < n; ++i) start(requests[i]);
  return PMPI_Startall(n, requests);
}
int MPI_Request_free(MPI_Request* request) {
  {
    const Lock lock(state().mutex);
    const auto found = state().pending.find(*request);
    if (found != state().pending.end()) {
      const Pending& pending = found->second;
      if (pending.is_active && pending.book != nullptr && !pending.is_send)
        state().faults.emplace_back("a receive that is active is freed");
      state().pending.erase(found);
    }
  }
  return PMPI_Request_free(request);
}
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status) {
  const MPI_Request before = *request;
  MPI_Status own;
  const int code = PMPI_Test(request, flag, &own);
  if (code == MPI_SUCCESS && *flag != 0) {
    if (before != MPI_REQUEST_NULL) complete(before, own);
    copy(own, status);
  }
  return code;
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  const MPI_Request before = *request;
  MPI_Status own;
  const int code = PMPI_Wait(request, &own);
  if (before != MPI_REQUEST_NULL) complete(before, own);
  copy(own, status);
  return code;
}
int MPI_Testall(int n, MPI_Request requests[], int* flag, MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + n);
  std::vector<MPI_Status> own(before.size() + 1);
  const int code = PMPI_Testall(n, requests, flag, own.data());
  if (*flag == 0) return code;
  look_at(before, own);
  if (statuses != MPI_STATUSES_IGNORE) std::copy_n(own.begin(), n, statuses);
  return code;
}
int MPI_Waitall(int n, MPI_Request requests[], MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + n);
  std::vector<MPI_Status> own(before.size() + 1);
  const int code = PMPI_Waitall(n, requests, own.data());
  look_at(before, own);
  if (statuses != MPI_STATUSES_IGNORE) std::copy_n(own.begin(), n, statuses);
  return code;
}
int MPI_Testsome(int n, MPI_Request requests[], int* done, int indices[], MPI_Status statuses[]) {
  const std::vector<MPI_Request> before(requests, requests + n);
  std::vector<MPI_Status> own(before.size() + 1);
  const int code = PMPI_Testsome(n, requests, done, indices, own.data());
  for (int i = 0; *done != MPI_UNDEFINED && i < *done; ++i) {
    complete(before[static_cast<std::size_t>(indices[i])], own[static_cast<std::size_t>(i)]);
    if (statuses != MPI_STATUSES_IGNORE) statuses[i] = own[static_cast<std::size_t>(i)];
  }
  return code;
}
int MPI_Waitany(int n, MPI_Request requests[], int* index, MPI_Status* status) {
  const std::vector<MPI_Request> before(requests, requests + n);
  MPI_Status own;
  const int code = PMPI_Waitany(n, requests, index, &own);
  if (*index != MPI_UNDEFINED) complete(before[static_cast<std::size_t>(*index)], own);
  copy(own, status);
  return code;
}

int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  const int code = PMPI_Comm_create(comm, group, made);
  if (code == MPI_SUCCESS) open(*made);
  return code;
}
int MPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made) {
  const int code = PMPI_Comm_create_group(comm, group, tag, made);
  if (code == MPI_SUCCESS) open(*made);
  return code;
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const int code = PMPI_Comm_split(comm, color, key, made);
  if (code == MPI_SUCCESS) open(*made);
  return code;
}
int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
  const int code = PMPI_Comm_split_type(comm, type, key, info, made);
  if (code == MPI_SUCCESS) open(*made);
  return code;
}
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  const int code = PMPI_Comm_dup(comm, made);
  if (code == MPI_SUCCESS) open(*made);
  return code;
}
int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int indegree, const int sources[], const int weights[], int outdegree,
                                   const int destinations[], const int outweights[], MPI_Info info, int reorder,
                                   MPI_Comm* made) {
  const int code = PMPI_Dist_graph_create_adjacent(comm, indegree, sources, weights, outdegree, destinations,
                                                   outweights, info, reorder, made);
  if (code == MPI_SUCCESS) open(*made);
  return code;
}
int MPI_Comm_idup(MPI_Comm comm, MPI_Comm* made, MPI_Request* request) {
  const int code = PMPI_Comm_idup(comm, made, request);
  if (code == MPI_SUCCESS) collective(comm, "MPI_Comm_idup", request, made);
  return code;
}
int MPI_Comm_free(MPI_Comm* comm) {
  if (state().synchronise) PMPI_Barrier(*comm);
  free_comm(*comm);
  return PMPI_Comm_free(comm);
}

#define LEDGER_COLLECTIVE(name, parameters, arguments)                \
  int MPI_##name parameters {                                         \
    const int code = PMPI_##name arguments;                           \
    if (code == MPI_SUCCESS) collective(comm, "MPI_" #name, request); \
    return code;                                                      \
  }
LEDGER_COLLECTIVE(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))
LEDGER_COLLECTIVE(Ibcast, (void* buf, int n, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request),
                  (buf, n, type, root, comm, request))
LEDGER_COLLECTIVE(Iallreduce,
                  (const void* from, void* to, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                   MPI_Request* request),
                  (from, to, n, type, op, comm, request))
LEDGER_COLLECTIVE(Iallgather,
                  (const void* from, int n, MPI_Datatype type, void* to, int m, MPI_Datatype other, MPI_Comm comm,
                   MPI_Request* request),
                  (from, n, type, to, m, other, comm, request))
LEDGER_COLLECTIVE(Ialltoall,
                  (const void* from, int n, MPI_Datatype type, void* to, int m, MPI_Datatype other, MPI_Comm comm,
                   MPI_Request* request),
                  (from, n, type, to, m, other, comm, request))

#define LEDGER_COUNT(what, by, name, parameters, arguments) \
  int MPI_##name parameters {                               \
    if (is_refused(what, by)) return MPI_ERR_NO_MEM;        \
    const int code = PMPI_##name arguments;                 \
    if (code == MPI_SUCCESS) count(what, by);               \
    return code;                                            \
  }
LEDGER_COUNT("groups", 1, Comm_group, (MPI_Comm comm, MPI_Group* group), (comm, group))
LEDGER_COUNT("groups", 1, Group_incl, (MPI_Group group, int n, const int ranks[], MPI_Group* made),
             (group, n, ranks, made))
LEDGER_COUNT("groups", -1, Group_free, (MPI_Group * group), (group))
LEDGER_COUNT("infos", 1, Info_create, (MPI_Info * info), (info))
LEDGER_COUNT("infos", 1, Comm_get_info, (MPI_Comm comm, MPI_Info* info), (comm, info))
LEDGER_COUNT("infos", -1, Info_free, (MPI_Info * info), (info))
LEDGER_COUNT("error handlers", 1, Comm_get_errhandler, (MPI_Comm comm, MPI_Errhandler* handler), (comm, handler))
LEDGER_COUNT("error handlers", -1, Errhandler_free, (MPI_Errhandler * handler), (handler))
LEDGER_COUNT("datatypes", 1, Type_contiguous, (int n, MPI_Datatype type, MPI_Datatype* made), (n, type, made))
LEDGER_COUNT("datatypes", 1, Type_dup, (MPI_Datatype type, MPI_Datatype* made), (type, made))
LEDGER_COUNT("datatypes", 1, Type_create_struct,
             (int n, const int lengths[], const MPI_Aint places[], const MPI_Datatype types[], MPI_Datatype* made),
             (n, lengths, places, types, made))
LEDGER_COUNT("datatypes", 1, Type_create_hindexed,
             (int n, const int lengths[], const MPI_Aint places[], MPI_Datatype type, MPI_Datatype* made),
             (n, lengths, places, type, made))
LEDGER_COUNT("datatypes", 1, Type_create_resized,
             (MPI_Datatype type, MPI_Aint lower, MPI_Aint extent, MPI_Datatype* made), (type, lower, extent, made))
LEDGER_COUNT("datatypes", -1, Type_free, (MPI_Datatype * type), (type))
LEDGER_COUNT("keyvals", 1, Comm_create_keyval,
             (MPI_Comm_copy_attr_function * copy_fn, MPI_Comm_delete_attr_function* delete_fn, int* key, void* extra),
             (copy_fn, delete_fn, key, extra))
LEDGER_COUNT("keyvals", -1, Comm_free_keyval, (int* key), (key))
LEDGER_COUNT("keyvals", 1, Type_create_keyval,
             (MPI_Type_copy_attr_function * copy_fn, MPI_Type_delete_attr_function* delete_fn, int* key, void* extra),
             (copy_fn, delete_fn, key, extra))
LEDGER_COUNT("keyvals", -1, Type_free_keyval, (int* key), (key))
LEDGER_COUNT("operators", 1, Op_create, (MPI_User_function * function, int commutes, MPI_Op* op),
             (function, commutes, op))
LEDGER_COUNT("windows", 1, Win_create,
             (void* base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* window),
             (base, size, unit, info, comm, window))
LEDGER_COUNT("windows", 1, Win_allocate,
             (MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* window),
             (size, unit, info, comm, base, window))
LEDGER_COUNT("windows", -1, Win_free, (MPI_Win * window), (window))

}  // extern "C"
