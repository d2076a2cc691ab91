#pragma once

// What is known of streams, operations and bundles, and what moves them: of point_to_point.cpp alone.

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <cstring>
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
#include "mpi/end_job.hpp"
#include "mpi/engine.hpp"
#include "preload/calls/deadline.hpp"
#include "preload/calls/requests.hpp"
#include "preload/p2p/fifo.hpp"
#include "preload/p2p/node_queues.hpp"
#include "preload/p2p/point_to_point.hpp"
#include "preload/report/rows.hpp"
#include "preload/report/summary.hpp"

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
decltype(MPI_Iprobe) laneway_next_MPI_Iprobe;
decltype(MPI_Improbe) laneway_next_MPI_Improbe;
decltype(MPI_Mrecv) laneway_next_MPI_Mrecv;
decltype(MPI_Imrecv) laneway_next_MPI_Imrecv;
decltype(MPI_Comm_split) laneway_next_MPI_Comm_split;
decltype(MPI_Comm_free) laneway_next_MPI_Comm_free;
}

namespace laneway::interpose::p2p {

constexpr std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
constexpr int bundle_tag = 0;
constexpr int self_tag = 1;
constexpr int probed_tag = 2;
constexpr int first_own_way = 3;
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
  std::uint64_t next = 0;  ///< the entry for the first that waits
  List<Operation> at_mpi;  ///< in their order
  List<Operation> waiting;
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
  Operation* next = nullptr;
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
  double patience = 20e-6;   ///< seconds after which a bundle leaves when nothing is put any more
  double longest = 2e-3;     ///< and in any case
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
  /// An entry that a matched probe has found, by the message that the program holds for it.
  struct Probed {
    UserMessage message{};  ///< its source, tag and communicator
    Bytes data;             ///< of a short one, which this rank sends itself
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::map<MPI_Message, Probed> probed;
  std::int64_t early = 0;                        ///< entries that have come before their receives
  std::vector<std::pair<int, Operation*>> ours;  // of the call that is under way
  std::vector<MPI_Request> rest;
  struct Incoming {
    Bytes data = Bytes(NodeQueues::bundle_bytes);
    MPI_Request request = MPI_REQUEST_NULL;
  };
  std::array<Incoming, 4> incoming;
  std::size_t first_incoming = 0;
  struct Outgoing {
    Bytes data;
    Rank to = 0;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Leaving final : Bundles {
    void leave(std::span<const std::byte> bundle, Rank to) override;
    Fifo<Outgoing> all;
    std::size_t unsent = 0;  ///< the last ones
  } outgoing;
  struct Overflow {
    int rank = 0;
    Bytes whole;
  };
  Fifo<Overflow> overflow;  ///< for ranks of this node whose mailbox was full
  std::vector<std::map<std::uint64_t, Bytes>::node_type> spare_entries;
  struct Watched {
    std::uint64_t put = 0;
    int turns = 0;
  };
  std::vector<Watched> watched;  ///< by node: for how many turns nothing has been put
  int receiving = 0;             ///< receives of counted messages that are active
  std::uint32_t turns = 0;
  int next_own_way = 0;
  PointToPoint counts;
};
inline Engine& engine = *new Engine;

/// What MPI's engine calls does nothing meanwhile.
inline bool inside = false;
class Inside {
 public:
  Inside() : before_(std::exchange(inside, true)) {}
  ~Inside() { inside = before_; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  bool before_;
};

int fail(MPI_Comm comm, int code);
Known* find_known(MPI_Comm comm);
Operation* operation_of(MPI_Request request);
Layout layout_of(MPI_Datatype type);
Operation& new_operation(const UserMessage& message, Mode mode, bool sends, bool persistent);
void enter_table(Operation& operation, MPI_Request handle);
void leave_table(Operation& operation);
void drop(Operation& operation);
MPI_Request pooled();
void flush(int node);
void give_what_has_come(ReceiveStream& stream);
std::string broken(const char* call, int tag);
/// False: MPI's alone. An own way takes `own_way` as its request.
bool begin_sending(const UserMessage& message, Known& comm, Mode mode, NodeQueues::Place& place, MPI_Request* own_way);
/// Whether it is complete, which an idle one is.
bool is_complete(Operation& operation);
/// Of one that is complete. Returns its error, of which nobody has been told.
int finish(Operation& operation, MPI_Request* request, MPI_Status* status);

/// Whether more receives of counted messages are active, or fewer.
inline void count_receiving(int more) {
  const bool before = engine.receiving != 0;
  engine.receiving += more;
  if ((engine.receiving != 0) != before) engine.queues->set_receiving(!before);
}

/// Where the stream has not been handed over, by `at_mpi()`.
inline void begin_receiving(Operation& operation, const auto& at_mpi) {
  ReceiveStream& stream = engine.receives[{operation.comm->id, operation.message.peer, operation.message.tag}];
  operation.stream = &stream;
  operation.number = stream.begun++;
  operation.is_cancelled = false;
  operation.error = MPI_SUCCESS;
  if (operation.number < stream.from) {
    operation.error = at_mpi();
    operation.state = State::at_mpi;
    if (operation.error != MPI_SUCCESS) return;
    stream.at_mpi.push_back(&operation);
    count_receiving(1);
    return;
  }
  count_receiving(1);
  operation.state = State::waiting;
  stream.waiting.push_back(&operation);
  give_what_has_come(stream);
}

}  // namespace laneway::interpose::p2p
