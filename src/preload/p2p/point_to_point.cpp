#include "preload/p2p/point_to_point.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/bytes/mix.hpp"
#include "base/log_line.hpp"
#include "base/process/relax.hpp"
#include "communicator/arguments/held.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "communicator/hints/hints.hpp"
#include "communicator/nodes/discovery.hpp"
#include "mpi/engine.hpp"
#include "preload/calls/requests.hpp"
#include "preload/p2p/node_queues.hpp"
#include "preload/report/rows.hpp"

// The MPI library's own, where this library stands in front of it.
extern "C" {
decltype(MPI_Isend) laneway_next_MPI_Isend;
decltype(MPI_Irecv) laneway_next_MPI_Irecv;
decltype(MPI_Issend) laneway_next_MPI_Issend;
decltype(MPI_Ibsend) laneway_next_MPI_Ibsend;
decltype(MPI_Recv_init) laneway_next_MPI_Recv_init;
decltype(MPI_Sendrecv) laneway_next_MPI_Sendrecv;
decltype(MPI_Start) laneway_next_MPI_Start;
decltype(MPI_Cancel) laneway_next_MPI_Cancel;
decltype(MPI_Test) laneway_next_MPI_Test;
decltype(MPI_Wait) laneway_next_MPI_Wait;
decltype(MPI_Testall) laneway_next_MPI_Testall;
decltype(MPI_Testany) laneway_next_MPI_Testany;
decltype(MPI_Testsome) laneway_next_MPI_Testsome;
decltype(MPI_Request_free) laneway_next_MPI_Request_free;
decltype(MPI_Request_get_status) laneway_next_MPI_Request_get_status;
decltype(MPI_Comm_split) laneway_next_MPI_Comm_split;
decltype(MPI_Comm_free) laneway_next_MPI_Comm_free;
}

namespace laneway::interpose::p2p {

namespace {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr int bundle_tag = 0;
constexpr int self_tag = 1;
constexpr int first_own_way = 2;
constexpr int own_ways = 32000;  // tags that MPI has in any case
constexpr int every_tag = INT_MIN;

/// What is known of a communicator.
struct Known {
  std::uint64_t id = 0;
  std::shared_ptr<const std::vector<int>> world;  ///< its ranks in MPI_COMM_WORLD
  int rank = 0;
  bool is_promised = false;  ///< that no wildcard matches what repeats
  int pending = 0;           ///< operations that need it
};

struct StreamKey {
  std::uint64_t comm;
  int peer;
  int tag;
  bool operator==(const StreamKey&) const = default;
};
struct StreamHash {
  std::size_t operator()(const StreamKey& key) const {
    return mix(key.comm ^
               (static_cast<std::uint64_t>(static_cast<unsigned>(key.peer)) << 32 | static_cast<unsigned>(key.tag)));
  }
};

struct SendStream {
  std::uint64_t sent = 0;
  std::uint64_t from = never;
  std::uint64_t last = 0;  ///< position of the last entry
  int node = 0;            ///< of the receiver
};

struct Operation;
struct ReceiveStream {
  std::uint64_t begun = 0;
  std::uint64_t from = never;
  std::uint64_t next = 0;         ///< the entry for the first that waits
  std::deque<Operation*> at_mpi;  ///< in their order
  std::deque<Operation*> waiting;
  std::map<std::uint64_t, Bytes> come;  ///< entries before their receives
};

enum class State : std::uint8_t { idle, at_mpi, waiting, own_way, put, done };

struct Operation {
  UserMessage message{};
  std::shared_ptr<Known> comm;
  std::unique_ptr<HeldType> type;  ///< of a derived one
  MPI_Count capacity = 0;          ///< bytes
  bool is_dense = false;           ///< its bytes lie together in their order
  bool sends = false;
  bool persistent = false;
  bool from_pool = false;  ///< the handle
  bool is_cancelled_at_mpi = false;
  bool is_cancelled = false;  ///< by the program
  Mode mode = Mode::standard;
  State state = State::idle;
  MPI_Request handle = MPI_REQUEST_NULL;
  MPI_Request own_way = MPI_REQUEST_NULL;
  ReceiveStream* stream = nullptr;
  std::uint64_t number = 0;
  NodeQueues::Place place;
  MPI_Count bytes = 0;  ///< that have come
  int error = MPI_SUCCESS;
};

struct Layout {
  bool is_dense;
  MPI_Count size;
};

/// Must not be destroyed: a program may end without MPI_Finalize.
struct Engine {
  MPI_Comm comm = MPI_COMM_NULL;
  int rank = 0;
  bool is_promised = false;  ///< for all communicators
  std::uint64_t after = 3;   ///< messages of a stream that stay MPI's
  int limit = 8 << 10;       ///< bytes of an entry
  double patience = 20e-6;   ///< seconds after which a bundle leaves
  std::vector<int> node_of;  ///< by rank
  std::vector<int> number_in_node;
  std::optional<NodeQueues> queues;
  std::unordered_map<MPI_Comm, std::shared_ptr<Known>> comms;
  std::map<std::uint64_t, std::pair<std::shared_ptr<const std::vector<int>>, std::uint64_t>> groups;
  std::unordered_map<StreamKey, SendStream, StreamHash> sends;
  std::unordered_map<StreamKey, ReceiveStream, StreamHash> receives;
  std::map<std::pair<std::uint64_t, int>, const char*> wildcards;
  std::unordered_map<MPI_Request, Operation*> table;
  std::vector<std::unordered_map<MPI_Request, Operation*>::node_type> spare_nodes;
  std::vector<Operation*> spare;
  std::vector<MPI_Request> pool;
  std::vector<Operation*> detached;
  std::vector<std::pair<int, Operation*>> ours;  // of the call that is under way
  std::vector<MPI_Request> rest;
  struct Incoming {
    Bytes data = Bytes(NodeQueues::bundle_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::deque<Incoming> incoming;
  std::deque<std::pair<Bytes, MPI_Request>> outgoing;
  std::deque<std::pair<int, Bytes>> overflow;  // for ranks of this node whose mailbox was full
  int next_own_way = 0;
  std::int64_t taken = 0;
  std::int64_t bundles = 0;
  std::int64_t handed_over = 0;
};
auto& engine = *new Engine;

/// What MPI's engine calls does nothing meanwhile.
bool inside = false;
class Inside {
 public:
  Inside() : before_(std::exchange(inside, true)) {}
  ~Inside() { inside = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

int fail(MPI_Comm comm, int code) {
  PMPI_Comm_call_errhandler(comm, code);
  return code;
}

Known* find_known(MPI_Comm comm) {
  const auto it = engine.comms.find(comm);
  return it == engine.comms.end() ? nullptr : it->second.get();
}

Operation* operation_of(MPI_Request request) {
  const auto it = engine.table.find(request);
  return it == engine.table.end() ? nullptr : it->second;
}

Layout layout_of(MPI_Datatype type) {
  static auto& predefined = *new std::unordered_map<MPI_Datatype, Layout>;
  const auto it = predefined.find(type);
  if (it != predefined.end()) return it->second;
  MPI_Count size = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  PMPI_Type_size_x(type, &size);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  const bool is_fixed = is_predefined(type);
  const Layout layout{is_fixed && lower == 0 && size == extent, size};
  if (is_fixed) predefined.emplace(type, layout);
  return layout;
}

Operation& new_operation(const UserMessage& message, Mode mode, bool sends, bool persistent) {
  if (engine.spare.empty()) engine.spare.push_back(new Operation);
  Operation& operation = *engine.spare.back();
  engine.spare.pop_back();
  operation = {};
  operation.message = message;
  operation.comm = engine.comms.find(message.comm)->second;
  const Layout layout = layout_of(message.type);
  operation.capacity = layout.size * message.count;
  operation.is_dense = layout.is_dense;
  if (!is_predefined(message.type)) operation.type = std::make_unique<HeldType>(message.type);
  operation.mode = mode;
  operation.sends = sends;
  operation.persistent = persistent;
  ++operation.comm->pending;
  return operation;
}

void enter_table(Operation& operation, MPI_Request handle) {
  operation.handle = handle;
  if (engine.spare_nodes.empty()) {
    engine.table.emplace(handle, &operation);
    return;
  }
  auto node = std::move(engine.spare_nodes.back());
  engine.spare_nodes.pop_back();
  node.key() = handle;
  node.mapped() = &operation;
  engine.table.insert(std::move(node));
}

void leave_table(Operation& operation) {
  if (auto node = engine.table.extract(operation.handle)) engine.spare_nodes.push_back(std::move(node));
}

void drop(Operation& operation) {
  --operation.comm->pending;
  operation.comm.reset();
  operation.type.reset();
  engine.spare.push_back(&operation);
}

MPI_Request pooled() {
  if (engine.pool.empty()) {
    MPI_Request made = MPI_REQUEST_NULL;
    laneway_next_MPI_Recv_init(nullptr, 0, MPI_BYTE, engine.rank, self_tag, engine.comm, &made);
    return made;
  }
  const MPI_Request handle = engine.pool.back();
  engine.pool.pop_back();
  return handle;
}

// Bundles.

void send_bundle(const Bundle& bundle) {
  ++engine.bundles;
  auto& [data, request] = engine.outgoing.emplace_back(bundle.data, MPI_REQUEST_NULL);
  laneway_next_MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, bundle.to, bundle_tag, engine.comm,
                         &request);
}

void flush(int node) {
  if (const std::optional<Bundle> bundle = engine.queues->take(node)) send_bundle(*bundle);
}

void put(SendStream& stream, const Item& item, const std::byte* data, NodeQueues::Place& place) {
  place = engine.queues->put(stream.node, item, data, stream.last, send_bundle);
  stream.last = place.position;
}

// Receives.

void remove(std::deque<Operation*>& from, const Operation* operation) {
  const auto it = std::ranges::find(from, operation);
  if (it != from.end()) from.erase(it);
}

/// Gives the data to a receive: what does not fit is MPI_ERR_TRUNCATE, of which MPI says more for derived datatypes.
void unpack(Operation& operation, const std::byte* data, int bytes) {
  operation.bytes = std::min<MPI_Count>(bytes, operation.capacity);
  if (bytes > operation.capacity) operation.error = MPI_ERR_TRUNCATE;
  if (operation.is_dense) {
    if (operation.bytes > 0) std::memcpy(operation.message.buffer, data, static_cast<std::size_t>(operation.bytes));
    return;
  }
  laneway_next_MPI_Sendrecv(data, static_cast<int>(operation.bytes), MPI_PACKED, engine.rank, self_tag,
                            operation.message.buffer, static_cast<int>(operation.message.count),
                            operation.type ? operation.type->get() : operation.message.type, engine.rank, self_tag,
                            engine.comm, MPI_STATUS_IGNORE);
}

void receive_at_mpi(Operation& operation, int source, int tag, MPI_Comm comm) {
  const MPI_Datatype type = operation.type ? operation.type->get() : operation.message.type;
  operation.error = laneway_next_MPI_Irecv(operation.message.buffer, static_cast<int>(operation.message.count), type,
                                           source, tag, comm, &operation.own_way);
  operation.state = operation.error == MPI_SUCCESS ? State::own_way : State::done;
}

/// The entry whose turn it is to the first receive that waits.
void give(ReceiveStream& stream, const Item& item, const std::byte* data) {
  Operation& operation = *stream.waiting.front();
  stream.waiting.pop_front();
  ++stream.next;
  if (item.own_way != 0) {
    const int source = (*operation.comm->world)[static_cast<std::size_t>(operation.message.peer)];
    return receive_at_mpi(operation, source, item.own_way, engine.comm);
  }
  unpack(operation, data, item.bytes);
  operation.state = State::done;
}

void give_what_has_come(ReceiveStream& stream) {
  while (!stream.waiting.empty() && !stream.come.empty() && stream.come.begin()->first == stream.next) {
    const Bytes whole = std::move(stream.come.begin()->second);
    stream.come.erase(stream.come.begin());
    Item item;
    std::memcpy(&item, whole.data(), sizeof item);
    give(stream, item, whole.data() + sizeof item);
  }
}

std::string broken(const char* call, int tag) {
  return std::string(call) + " has a wildcard or probes where messages with tag " + std::to_string(tag) +
         " repeat, which LANEWAY_P2P promises that no call does";
}

/// No message can match what MPI has been given for these receives: their sender has sent all that MPI carries before
/// the first entry.
void hand_over(ReceiveStream& stream, const Item& item) {
  for (const int tag : {item.tag, every_tag})
    if (const auto it = engine.wildcards.find({item.comm, tag}); it != engine.wildcards.end()) {
      log_line("rank " + std::to_string(engine.rank) + ": " + broken(it->second, item.tag));
      PMPI_Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
    }
  ++engine.handed_over;
  stream.from = stream.next = item.from;
  for (auto it = stream.at_mpi.begin(); it != stream.at_mpi.end();) {
    Operation& operation = **it;
    if (operation.number < stream.from) {
      ++it;
      continue;
    }
    it = stream.at_mpi.erase(it);
    laneway_next_MPI_Cancel(&operation.handle);
    if (operation.persistent)
      laneway_next_MPI_Wait(&operation.handle, MPI_STATUS_IGNORE);
    else
      operation.is_cancelled_at_mpi = true;
    operation.state = State::waiting;
    stream.waiting.push_back(&operation);
  }
}

void take(const std::byte* whole) {
  Item item;
  std::memcpy(&item, whole, sizeof item);
  ReceiveStream& stream = engine.receives[{item.comm, item.source, item.tag}];
  if (stream.from == never) hand_over(stream, item);
  if (item.number == stream.next && !stream.waiting.empty()) {
    give(stream, item, whole + sizeof item);
    give_what_has_come(stream);
  } else {
    stream.come.emplace(item.number, Bytes(whole, whole + item.size()));
  }
}

void share_out(const Bytes& data, std::size_t bytes) {
  Item item;
  for (std::size_t at = 0; at < bytes; at += item.size()) {
    std::memcpy(&item, data.data() + at, sizeof item);
    const std::byte* const whole = data.data() + at;
    const int rank = engine.number_in_node[static_cast<std::size_t>(item.destination)];
    if (item.destination == engine.rank)
      take(whole);
    else if (!engine.queues->give(rank, whole, item.size()))
      engine.overflow.emplace_back(rank, Bytes(whole, whole + item.size()));
  }
}

void receive_bundles() {
  for (;;) {
    Engine::Incoming& first = engine.incoming.front();
    int flag = 0;
    MPI_Status status;
    if (laneway_next_MPI_Test(&first.request, &flag, &status) != MPI_SUCCESS || flag == 0) return;
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    share_out(first.data, static_cast<std::size_t>(bytes));
    Engine::Incoming again = std::move(first);
    engine.incoming.pop_front();
    laneway_next_MPI_Irecv(again.data.data(), static_cast<int>(again.data.size()), MPI_BYTE, MPI_ANY_SOURCE, bundle_tag,
                           engine.comm, &again.request);
    engine.incoming.push_back(std::move(again));
  }
}

void begin_receiving(Operation& operation, const auto& at_mpi) {
  ReceiveStream& stream = engine.receives[{operation.comm->id, operation.message.peer, operation.message.tag}];
  operation.stream = &stream;
  operation.number = stream.begun++;
  operation.is_cancelled = false;
  operation.error = MPI_SUCCESS;
  if (operation.number < stream.from) {
    operation.error = at_mpi();
    operation.state = State::at_mpi;
    if (operation.error == MPI_SUCCESS) stream.at_mpi.push_back(&operation);
    return;
  }
  operation.state = State::waiting;
  stream.waiting.push_back(&operation);
  give_what_has_come(stream);
}

// Sends.

/// False: MPI's alone. `operation` may be a persistent one. An own way takes `own_way` as its request.
bool begin_sending(const UserMessage& message, Known& comm, Mode mode, NodeQueues::Place& place, MPI_Request* own_way) {
  const auto [it, is_new] = engine.sends.try_emplace({comm.id, message.peer, message.tag});
  SendStream& stream = it->second;
  const int destination = (*comm.world)[static_cast<std::size_t>(message.peer)];
  if (is_new) stream.node = engine.node_of[static_cast<std::size_t>(destination)];
  const std::uint64_t number = stream.sent++;
  const Layout layout = layout_of(message.type);
  const MPI_Count bytes = layout.size * message.count;
  const bool fits = bytes <= engine.limit && mode != Mode::synchronous;
  if (stream.from == never) {
    if (!fits || number < engine.after || !comm.is_promised) return false;
    stream.from = number;
  }
  Item item{comm.id, number, stream.from, comm.rank, message.tag, destination, 0, 0, 0};
  ++engine.taken;
  if (!fits) {
    item.own_way = first_own_way + engine.next_own_way;
    engine.next_own_way = (engine.next_own_way + 1) % own_ways;
    put(stream, item, nullptr, place);
    flush(stream.node);
    const auto begin = mode == Mode::synchronous ? laneway_next_MPI_Issend
                       : mode == Mode::buffered  ? laneway_next_MPI_Ibsend
                                                 : laneway_next_MPI_Isend;
    begin(message.buffer, static_cast<int>(message.count), message.type, destination, item.own_way, engine.comm,
          own_way);
    return true;
  }
  item.bytes = static_cast<std::int32_t>(bytes);
  const auto* data = static_cast<const std::byte*>(message.buffer);
  if (!layout.is_dense) {
    static auto& packed = *new Bytes;
    packed.resize(static_cast<std::size_t>(bytes));
    int position = 0;
    PMPI_Pack(message.buffer, static_cast<int>(message.count), message.type, packed.data(), item.bytes, &position,
              engine.comm);
    data = packed.data();
  }
  put(stream, item, data, place);
  return true;
}

// Completion.

/// Whether it is complete, which an idle one is.
bool is_complete(Operation& operation) {
  int flag = 0;
  switch (operation.state) {
    case State::idle:
    case State::done:
      return true;
    case State::waiting:
      return false;
    case State::put:
      return engine.queues->has_left(operation.place);
    case State::at_mpi:
      // Its turn of the engine may hand it over.
      laneway_next_MPI_Request_get_status(operation.handle, &flag, MPI_STATUS_IGNORE);
      return flag != 0 && operation.state == State::at_mpi;
    case State::own_way: {
      MPI_Status status;
      const int code = laneway_next_MPI_Test(&operation.own_way, &flag, &status);
      if (code == MPI_SUCCESS && flag == 0) return false;
      operation.error = code;
      MPI_Count bytes = 0;
      PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
      operation.bytes = bytes;
      operation.state = State::done;
      return true;
    }
  }
  return false;
}

void tell(const Operation& operation, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = operation.sends ? MPI_ANY_SOURCE : operation.message.peer;
  status->MPI_TAG = operation.sends ? MPI_ANY_TAG : operation.message.tag;
  PMPI_Status_set_elements_x(status, MPI_BYTE, operation.sends ? 0 : operation.bytes);
  PMPI_Status_set_cancelled(status, operation.is_cancelled ? 1 : 0);
}

/// Of one that is complete. Returns its error, of which nobody has been told.
int finish(Operation& operation, MPI_Request* request, MPI_Status* status) {
  const Inside scope;
  if (operation.state == State::at_mpi) {
    if (!operation.sends && operation.stream != nullptr) remove(operation.stream->at_mpi, &operation);
    if (!operation.persistent) leave_table(operation);
    const int code = laneway_next_MPI_Wait(request, status);
    operation.state = State::idle;
    if (!operation.persistent) drop(operation);
    return code;
  }
  tell(operation, status);
  int code = operation.error;
  operation.state = State::idle;
  if (code != MPI_SUCCESS) code = fail(operation.message.comm, code);
  if (operation.persistent) return code;
  leave_table(operation);
  if (operation.is_cancelled_at_mpi) laneway_next_MPI_Wait(&operation.handle, MPI_STATUS_IGNORE);
  if (operation.from_pool) engine.pool.push_back(operation.handle);
  *request = MPI_REQUEST_NULL;
  drop(operation);
  return code;
}

/// Fills engine.ours with the active ones, and engine.rest with the others. False if there are none of ours.
bool part(int count, const MPI_Request* requests) {
  engine.ours.clear();
  engine.rest.assign(requests, requests + count);
  for (int i = 0; i < count; ++i) {
    Operation* const operation = requests[i] == MPI_REQUEST_NULL ? nullptr : operation_of(requests[i]);
    if (operation == nullptr || operation->state == State::idle) continue;
    engine.ours.emplace_back(i, operation);
    engine.rest[static_cast<std::size_t>(i)] = MPI_REQUEST_NULL;
  }
  return !engine.ours.empty();
}

void report_error(MPI_Status* statuses, int count, int i, int error, int* code) {
  if (*code == MPI_SUCCESS && error == MPI_SUCCESS) return;
  if (statuses != MPI_STATUSES_IGNORE) {
    if (*code == MPI_SUCCESS)
      for (int j = 0; j < count; ++j) statuses[j].MPI_ERROR = MPI_SUCCESS;
    statuses[i].MPI_ERROR = error;
  }
  *code = MPI_ERR_IN_STATUS;
}

}  // namespace

void begin() {
  const char* const wish = std::getenv("LANEWAY_P2P");
  const std::string_view asked = wish != nullptr ? wish : "";
  if (asked.empty() || asked == "0") return;
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  int can = level < MPI_THREAD_MULTIPLE && has_engine() ? 1 : 0;
  std::optional<SharedSegment> segment;
  std::vector<SharedSegment::Address> addresses;
  Region node;
  int ranks = 0;
  int nodes = 0;
  try {
    laneway_next_MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &engine.comm);
    PMPI_Comm_set_errhandler(engine.comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(engine.comm, &engine.rank);
    PMPI_Comm_size(engine.comm, &ranks);
    node = find_node(MPI_COMM_WORLD, resolve_hints({}, {}).machine, false);
    std::vector<int> region(static_cast<std::size_t>(ranks));
    PMPI_Allgather(&node.id, 1, MPI_INT, region.data(), 1, MPI_INT, engine.comm);
    std::map<int, std::pair<int, int>> found;
    for (const int id : region) {
      const auto [it, is_new] = found.try_emplace(id, nodes, 0);
      if (is_new) ++nodes;
      engine.node_of.push_back(it->second.first);
      engine.number_in_node.push_back(it->second.second++);
    }
    if (node.id == engine.rank) segment.emplace();
  } catch (const std::exception& error) {
    log_line(std::string("LANEWAY_P2P: ") + error.what());
    can = 0;
  }
  SharedSegment::Address address = segment ? segment->address() : SharedSegment::Address{};
  addresses.resize(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&address, sizeof address, MPI_BYTE, addresses.data(), sizeof address, MPI_BYTE, engine.comm);
  try {
    if (can != 0) {
      if (!segment) segment.emplace(addresses[static_cast<std::size_t>(node.id)]);
      engine.queues.emplace(*segment, static_cast<int>(node.members.size()), nodes);
    }
  } catch (const std::exception& error) {
    log_line(std::string("LANEWAY_P2P: ") + error.what());
    can = 0;
  }
  PMPI_Allreduce(MPI_IN_PLACE, &can, 1, MPI_INT, MPI_MIN, engine.comm);
  if (can == 0 || nodes == 1) {
    if (engine.rank == 0 && can == 0)
      log_line(
          "LANEWAY_P2P: nothing is taken over: MPI_THREAD_MULTIPLE, no way into MPI's progress engine, or no memory");
    laneway_next_MPI_Comm_free(&engine.comm);
    return;
  }
  engine.is_promised = asked != "asserted";
  engine.after = static_cast<std::uint64_t>(calls_of("LANEWAY_PRELOAD_AFTER", 3));
  for (int i = 0; i < 4; ++i) {
    auto& [data, request] = engine.incoming.emplace_back();
    laneway_next_MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, MPI_ANY_SOURCE, bundle_tag,
                           engine.comm, &request);
  }
  on = true;
  enter(MPI_COMM_WORLD);
  call_in_engine(advance);
}

void progress() {
  if (!on || inside) return;
  const Inside scope;
  engine.queues->take_own(engine.number_in_node[static_cast<std::size_t>(engine.rank)], take);
  receive_bundles();
  while (!engine.overflow.empty()) {
    const auto& [rank, whole] = engine.overflow.front();
    if (!engine.queues->give(rank, whole.data(), whole.size())) break;
    engine.overflow.pop_front();
  }
  while (!engine.outgoing.empty()) {
    int flag = 0;
    laneway_next_MPI_Test(&engine.outgoing.front().second, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) break;
    engine.outgoing.pop_front();
  }
  if (engine.queues->any_put()) engine.queues->for_each_older(NodeQueues::now() - engine.patience, flush);
  std::erase_if(engine.detached, [](Operation* operation) {
    if (!is_complete(*operation)) return false;
    MPI_Request handle = operation->handle;
    const bool persistent = operation->persistent;
    finish(*operation, &handle, MPI_STATUS_IGNORE);
    if (!persistent) return true;
    leave_table(*operation);
    laneway_next_MPI_Request_free(&handle);
    drop(*operation);
    return true;
  });
}

namespace {

/// What all ranks have done. Collective.
void tell_of_all() {
  std::int64_t sums[] = {engine.taken, engine.bundles, engine.handed_over};
  PMPI_Reduce(engine.rank == 0 ? MPI_IN_PLACE : sums, sums, 3, MPI_INT64_T, MPI_SUM, 0, engine.comm);
  if (engine.rank == 0 && sums[0] != 0 && report_wanted().form != ReportForm::none)
    log_line("preload: " + std::to_string(sums[0]) + " messages of " + std::to_string(sums[2]) +
             " streams between nodes went in " + std::to_string(sums[1]) + " bundles (LANEWAY_P2P)");
}

}  // namespace

void end() {
  if (!on) return;
  MPI_Request barrier = MPI_REQUEST_NULL;
  // All messages have been received when all ranks are here, but for those that a rank still holds for others.
  int flag = 0;
  for (int turns = 0; !engine.outgoing.empty() || !engine.overflow.empty() || engine.queues->any_put(); relax(turns))
    progress();
  PMPI_Ibarrier(engine.comm, &barrier);
  for (int turns = 0; flag == 0; relax(turns)) {
    progress();
    laneway_next_MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
  }
  on = false;
  tell_of_all();
  for (auto& [data, request] : engine.incoming) {
    laneway_next_MPI_Cancel(&request);
    laneway_next_MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (MPI_Request& handle : engine.pool) laneway_next_MPI_Request_free(&handle);
  engine.queues.reset();
  laneway_next_MPI_Comm_free(&engine.comm);
}

namespace {

bool asserts(MPI_Comm comm) {
  MPI_Info info = MPI_INFO_NULL;
  if (PMPI_Comm_get_info(comm, &info) != MPI_SUCCESS) return false;
  bool all = true;
  for (const char* const key : {"mpi_assert_no_any_source", "mpi_assert_no_any_tag"}) {
    char value[8] = {};
    int flag = 0;
    PMPI_Info_get(info, key, 7, value, &flag);
    all = all && flag != 0 && std::string_view(value) == "true";
  }
  PMPI_Info_free(&info);
  return all;
}

}  // namespace

void enter(MPI_Comm comm) {
  if (!on || comm == MPI_COMM_NULL) return;
  int inter = 0;
  int size = 0;
  PMPI_Comm_test_inter(comm, &inter);
  PMPI_Comm_size(comm, &size);
  if (inter != 0 || size == 1) return;
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  PMPI_Comm_group(comm, &group);
  PMPI_Comm_group(engine.comm, &world);
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) ranks[static_cast<std::size_t>(i)] = i;
  std::vector<int> in_world(ranks.size());
  PMPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
  PMPI_Group_free(&group);
  PMPI_Group_free(&world);
  if (std::ranges::find(in_world, MPI_UNDEFINED) != in_world.end()) return;
  std::uint64_t hash = 0;
  for (const int rank : in_world) hash = mix(hash + static_cast<std::uint64_t>(rank) + 1);
  auto& [members, made] = engine.groups[hash];
  if (!members) members = std::make_shared<const std::vector<int>>(std::move(in_world));
  const auto known = std::make_shared<Known>();
  known->id = mix(hash + ++made);
  known->world = members;
  PMPI_Comm_rank(comm, &known->rank);
  known->is_promised = engine.is_promised || asserts(comm);
  engine.comms[comm] = known;
}

bool leave(MPI_Comm comm) {
  const auto it = engine.comms.find(comm);
  if (it == engine.comms.end()) return false;
  const std::shared_ptr<Known> known = std::move(it->second);
  engine.comms.erase(it);
  if (known->pending > 0) return true;
  std::erase_if(engine.sends, [&](const auto& stream) { return stream.first.comm == known->id; });
  std::erase_if(engine.receives, [&](const auto& stream) { return stream.first.comm == known->id; });
  return false;
}

bool is_counted(MPI_Comm comm, int peer) {
  const Known* const known = find_known(comm);
  if (known == nullptr || peer < 0 || static_cast<std::size_t>(peer) >= known->world->size()) return false;
  const int rank = (*known->world)[static_cast<std::size_t>(peer)];
  return engine.node_of[static_cast<std::size_t>(rank)] != engine.node_of[static_cast<std::size_t>(engine.rank)];
}

int look_at_wildcard(MPI_Comm comm, int peer, int tag, bool is_probe, const char* call) {
  const Known* const known = find_known(comm);
  if (known == nullptr || peer == MPI_PROC_NULL) return MPI_SUCCESS;
  if (peer != MPI_ANY_SOURCE && ((!is_probe && tag != MPI_ANY_TAG) || !is_counted(comm, peer))) return MPI_SUCCESS;
  const auto [it, is_new] = engine.wildcards.emplace(std::pair(known->id, tag == MPI_ANY_TAG ? every_tag : tag), call);
  if (!is_new) return MPI_SUCCESS;
  for (const auto& [key, stream] : engine.receives)
    if (key.comm == known->id && stream.from != never && (tag == MPI_ANY_TAG || key.tag == tag)) {
      engine.wildcards.erase(it);  // the next one is an error, too
      return refuse(comm, broken(call, key.tag));
    }
  return MPI_SUCCESS;
}

int refuse(MPI_Comm comm, const std::string& what) {
  log_line("rank " + std::to_string(engine.rank) + ": " + what);
  return fail(comm, MPI_ERR_OTHER);
}

bool send(const UserMessage& message, Mode mode, MPI_Request* request, int* code) {
  const Inside scope;
  Known& comm = *engine.comms.find(message.comm)->second;
  NodeQueues::Place place;
  MPI_Request own_way = MPI_REQUEST_NULL;
  if (!begin_sending(message, comm, mode, place, &own_way)) return false;
  *code = MPI_SUCCESS;
  if (request != nullptr) {
    if (own_way != MPI_REQUEST_NULL) return *request = own_way, true;
    Operation& operation = new_operation(message, mode, true, false);
    operation.state = State::put;
    operation.place = place;
    operation.from_pool = true;
    enter_table(operation, *request = pooled());
    return true;
  }
  inside = false;  // what waits is advanced by MPI's engine, too
  if (own_way != MPI_REQUEST_NULL)
    *code = laneway_next_MPI_Wait(&own_way, MPI_STATUS_IGNORE);
  else
    for (int turns = 0; !engine.queues->has_left(place); relax(turns)) advance();
  return true;
}

int begin_receive(const UserMessage& message, MPI_Request* request) {
  const Inside scope;
  Operation& operation = new_operation(message, Mode::standard, false, false);
  begin_receiving(operation, [&] {
    return laneway_next_MPI_Irecv(message.buffer, static_cast<int>(message.count), message.type, message.peer,
                                  message.tag, message.comm, request);
  });
  if (operation.state == State::at_mpi) {
    if (const int code = operation.error; code != MPI_SUCCESS) return drop(operation), code;
    enter_table(operation, *request);
    return MPI_SUCCESS;
  }
  operation.from_pool = true;
  enter_table(operation, *request = pooled());
  return MPI_SUCCESS;
}

int receive(const UserMessage& message, MPI_Status* status) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int code = begin_receive(message, &request); code != MPI_SUCCESS) return code;
  Operation& operation = *operation_of(request);
  for (int turns = 0; !is_complete(operation); relax(turns)) advance();
  return finish(operation, &request, status);
}

void keep(const UserMessage& message, Mode mode, bool sends, MPI_Request request) {
  const Inside scope;
  enter_table(new_operation(message, mode, sends, true), request);
}

bool has_any(int count, const MPI_Request* requests) {
  if (engine.table.empty() || requests == nullptr) return false;
  return std::any_of(requests, requests + count, [](MPI_Request request) { return operation_of(request) != nullptr; });
}

int start(MPI_Request* request) {
  const Inside scope;
  Operation& operation = *operation_of(*request);
  if (!operation.persistent || operation.state != State::idle) return laneway_next_MPI_Start(request);
  if (!operation.sends) {
    begin_receiving(operation, [&] { return laneway_next_MPI_Start(request); });
    if (operation.error != MPI_SUCCESS) operation.state = State::idle;
    return operation.error;
  }
  UserMessage message = operation.message;
  if (operation.type) message.type = operation.type->get();
  operation.own_way = MPI_REQUEST_NULL;
  operation.error = MPI_SUCCESS;
  if (!begin_sending(message, *operation.comm, operation.mode, operation.place, &operation.own_way)) {
    operation.state = State::at_mpi;
    return laneway_next_MPI_Start(request);
  }
  operation.state = operation.own_way != MPI_REQUEST_NULL ? State::own_way : State::put;
  return MPI_SUCCESS;
}

int free_request(MPI_Request* request) {
  const Inside scope;
  Operation& operation = *operation_of(*request);
  if (operation.state != State::idle) {
    engine.detached.push_back(&operation);
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
  }
  leave_table(operation);
  drop(operation);
  return laneway_next_MPI_Request_free(request);
}

int cancel(MPI_Request* request) {
  const Inside scope;
  Operation& operation = *operation_of(*request);
  if (operation.sends || operation.stream == nullptr) return MPI_SUCCESS;
  ReceiveStream& stream = *operation.stream;
  if (operation.state == State::waiting) {
    remove(stream.waiting, &operation);
    --stream.begun;
    operation.is_cancelled = true;
    operation.bytes = 0;
    operation.state = State::done;
    return MPI_SUCCESS;
  }
  if (operation.state != State::at_mpi) return MPI_SUCCESS;
  if (const int code = laneway_next_MPI_Cancel(request); code != MPI_SUCCESS) return code;
  int flag = 0;
  int cancelled = 0;
  MPI_Status status;
  while (flag == 0)
    if (const int code = laneway_next_MPI_Request_get_status(*request, &flag, &status); code != MPI_SUCCESS)
      return code;
  PMPI_Test_cancelled(&status, &cancelled);
  if (cancelled == 0) return MPI_SUCCESS;
  // Later receives take the messages before theirs.
  remove(stream.at_mpi, &operation);
  --stream.begun;
  for (Operation* const later : stream.at_mpi)
    if (later->number > operation.number) --later->number;
  if (stream.from != never && !stream.waiting.empty()) {
    Operation& first = *stream.waiting.front();
    stream.waiting.pop_front();
    receive_at_mpi(first, first.message.peer, first.message.tag, first.message.comm);
  }
  return MPI_SUCCESS;
}

int get_status(MPI_Request request, int* flag, MPI_Status* status) {
  advance();
  Operation& operation = *operation_of(request);
  if (operation.state == State::idle) return laneway_next_MPI_Request_get_status(request, flag, status);
  *flag = is_complete(operation) ? 1 : 0;
  if (*flag == 0) return MPI_SUCCESS;
  if (operation.state == State::at_mpi) return laneway_next_MPI_Request_get_status(request, flag, status);
  tell(operation, status);
  return MPI_SUCCESS;
}

int all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses, bool waits) {
  part(count, requests);
  int code = MPI_SUCCESS;
  *flag = 0;
  std::size_t complete = 0;
  for (int turns = 0;; relax(turns)) {
    advance();
    while (complete < engine.ours.size() && is_complete(*engine.ours[complete].second)) ++complete;
    if (complete == engine.ours.size()) {
      code = laneway_next_MPI_Testall(count, engine.rest.data(), flag, statuses);
      if (code != MPI_SUCCESS || *flag != 0) break;
    }
    if (!waits) return MPI_SUCCESS;
  }
  if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
  *flag = 1;
  auto own = engine.ours.begin();
  for (int i = 0; i < count; ++i) {
    if (own == engine.ours.end() || own->first != i) {
      requests[i] = engine.rest[static_cast<std::size_t>(i)];
      continue;
    }
    MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + i;
    const int error = finish(*own->second, requests + i, status);
    report_error(statuses, count, i, error, &code);
    ++own;
  }
  return code;
}

int any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status, bool waits) {
  const bool has_ours = part(count, requests);
  for (int turns = 0;; relax(turns)) {
    advance();
    for (const auto& [i, operation] : engine.ours)
      if (is_complete(*operation)) {
        *index = i;
        *flag = 1;
        return finish(*operation, requests + i, status);
      }
    const int code = laneway_next_MPI_Testany(count, engine.rest.data(), index, flag, status);
    if (code != MPI_SUCCESS && !(*index >= 0 && *index < count)) return code;
    if (*flag != 0 && *index != MPI_UNDEFINED) {
      requests[*index] = engine.rest[static_cast<std::size_t>(*index)];
      return code;
    }
    if (!has_ours && *flag != 0) return code;
    *flag = 0;
    *index = MPI_UNDEFINED;
    if (!waits) return MPI_SUCCESS;
  }
}

int some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses, bool waits) {
  const bool has_ours = part(count, requests);
  for (int turns = 0;; relax(turns)) {
    advance();
    int code = laneway_next_MPI_Testsome(count, engine.rest.data(), outcount, indices, statuses);
    if (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS) return code;
    if (!has_ours && (*outcount != 0 || !waits)) {
      std::copy(engine.rest.begin(), engine.rest.end(), requests);
      return code;
    }
    if (*outcount == MPI_UNDEFINED) *outcount = 0;
    for (int k = 0; k < *outcount; ++k) requests[indices[k]] = engine.rest[static_cast<std::size_t>(indices[k])];
    for (const auto& [i, operation] : engine.ours) {
      if (!is_complete(*operation)) continue;
      MPI_Status* const status = statuses == MPI_STATUSES_IGNORE ? MPI_STATUS_IGNORE : statuses + *outcount;
      indices[*outcount] = i;
      const int error = finish(*operation, requests + i, status);
      report_error(statuses, *outcount + 1, *outcount, error, &code);
      ++*outcount;
    }
    if (*outcount > 0 || !waits) return code;
  }
}

}  // namespace laneway::interpose::p2p
