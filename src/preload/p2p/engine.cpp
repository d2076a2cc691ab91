#include "preload/p2p/engine.hpp"

namespace laneway::interpose::p2p {

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

void Engine::Leaving::leave(std::span<const std::byte> bundle, Rank to) {
  Outgoing& one = all.push();
  one.data.assign(bundle.begin(), bundle.end());
  one.to = to;
  ++unsent;
}

void send_leaving() {
  auto& [all, unsent] = engine.outgoing;
  for (; unsent > 0; --unsent) {
    auto& [data, to, request] = all[all.size() - unsent];
    ++engine.counts.bundles;
    laneway_next_MPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, to, bundle_tag, engine.comm, &request);
  }
}

void flush(int node) {
  engine.queues->flush(node, engine.outgoing);
  send_leaving();
}

void put(SendStream& stream, const Item& item, const std::byte* data, NodeQueues::Place& place) {
  place = engine.queues->put(stream.node, item, data, stream.last, engine.outgoing);
  stream.last = place.position;
  engine.counts.bytes_in_memory += item.bytes;
  send_leaving();
}

// Receives.

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
    auto entry = stream.come.extract(stream.come.begin());
    --engine.early;
    const Bytes& whole = entry.mapped();
    Item item;
    std::memcpy(&item, whole.data(), sizeof item);
    give(stream, item, whole.data() + sizeof item);
    engine.spare_entries.push_back(std::move(entry));
  }
}

/// Before its receive.
void keep_entry(ReceiveStream& stream, const Item& item, const std::byte* whole) {
  ++engine.early;
  if (engine.spare_entries.empty()) {
    stream.come.emplace(item.number, Bytes(whole, whole + item.size()));
    return;
  }
  auto entry = std::move(engine.spare_entries.back());
  engine.spare_entries.pop_back();
  entry.key() = item.number;
  entry.mapped().assign(whole, whole + item.size());
  stream.come.insert(std::move(entry));
}

std::string broken(const char* call, int tag) {
  return std::string(call) + " has a wildcard where messages with tag " + std::to_string(tag) +
         " repeat, which LANEWAY_P2P promises that no call does";
}

/// No message can match what MPI has been given for these receives: their sender has sent all that MPI carries before
/// the first entry.
void hand_over(ReceiveStream& stream, const Item& item) {
  for (const int tag : {item.tag, every_tag})
    if (const auto it = engine.wildcards.find({item.comm, tag}); it != engine.wildcards.end())
      end_job("rank " + std::to_string(engine.rank) + ": " + broken(it->second, item.tag), MPI_COMM_WORLD,
              MPI_ERR_OTHER);
  ++engine.counts.streams;
  stream.from = stream.next = item.from;
  for (Operation* next = stream.at_mpi.front(); next != nullptr;) {
    Operation& operation = *std::exchange(next, next->next);
    if (operation.number < stream.from) continue;
    stream.at_mpi.remove(&operation);
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
    keep_entry(stream, item, whole);
  }
}

void share_out(const Bytes& data, std::size_t bytes) {
  Item item;
  for (std::size_t at = 0; at < bytes; at += item.size()) {
    std::memcpy(&item, data.data() + at, sizeof item);
    const std::byte* const whole = data.data() + at;
    const int rank = engine.number_in_node[static_cast<std::size_t>(item.destination)];
    if (item.destination == engine.rank) {
      take(whole);
      continue;
    }
    engine.counts.bytes_in_memory += item.bytes;
    if (engine.queues->give(rank, whole, item.size())) continue;
    auto& [late, kept] = engine.overflow.push();
    late = rank;
    kept.assign(whole, whole + item.size());
  }
}

void receive_bundles() {
  for (;;) {
    auto& [data, request] = engine.incoming[engine.first_incoming];
    int flag = 0;
    MPI_Status status;
    if (laneway_next_MPI_Test(&request, &flag, &status) != MPI_SUCCESS || flag == 0) return;
    int bytes = 0;
    PMPI_Get_count(&status, MPI_BYTE, &bytes);
    share_out(data, static_cast<std::size_t>(bytes));
    laneway_next_MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, MPI_ANY_SOURCE, bundle_tag,
                           engine.comm, &request);
    engine.first_incoming = (engine.first_incoming + 1) % engine.incoming.size();
  }
}

// Sends.

bool begin_sending(const UserMessage& message, Known& comm, Mode mode, NodeQueues::Place& place, MPI_Request* own_way) {
  const auto [it, is_new] = engine.sends.try_emplace({comm.id, message.peer, message.tag});
  SendStream& stream = it->second;
  const int destination = (*comm.world)[static_cast<std::size_t>(message.peer)];
  if (is_new) stream.node = engine.node_of[static_cast<std::size_t>(destination)];
  const std::uint64_t number = stream.sent++;
  const Layout layout = layout_of(message.type);
  const MPI_Count bytes = layout.size * message.count;
  const bool fits = bytes <= static_cast<MPI_Count>(NodeQueues::most_of_entry) && mode != Mode::synchronous;
  ++engine.counts.between;
  if (stream.from == never) {
    if (!fits || number < engine.after || !comm.is_promised) return false;
    stream.from = number;
  }
  Item item{comm.id, number, stream.from, comm.rank, message.tag, destination, 0, 0, 0};
  ++engine.counts.taken;
  if (!fits) {
    ++engine.counts.by_mpi;
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

namespace {

/// The number of nodes. Collective.
int learn_nodes(int own, int ranks) {
  std::vector<int> region(static_cast<std::size_t>(ranks));
  PMPI_Allgather(&own, 1, MPI_INT, region.data(), 1, MPI_INT, engine.comm);
  std::map<int, std::pair<int, int>> found;
  int nodes = 0;
  for (const int id : region) {
    const auto [it, is_new] = found.try_emplace(id, nodes, 0);
    if (is_new) ++nodes;
    engine.node_of.push_back(it->second.first);
    engine.number_in_node.push_back(it->second.second++);
  }
  return nodes;
}

constexpr double default_wait = 60;
constexpr int agreement_tag = 32749;

[[noreturn]] void end_without_others(double seconds) {
  end_job("LANEWAY_P2P is set on rank " + std::to_string(engine.rank) +
              ", but is not on all ranks, or some do not preload this library: they have not come in " +
              std::to_string(static_cast<int>(std::ceil(seconds))) + " s (LANEWAY_P2P_WAIT)",
          MPI_COMM_WORLD, MPI_ERR_OTHER);
}

/// Whether all ranks have set the same. Those where the variable is not set never come here, as those without this
/// library do not: the program ends then. Up a binomial tree and down again, by messages with a tag that programs
/// seldom have: a collective operation would match those of ranks that go on.
bool is_set_alike(int asked, int ranks) {
  const char* const text = std::getenv("LANEWAY_P2P_WAIT");
  const double given = text != nullptr ? std::atof(text) : 0;
  const double seconds = given > 0 ? given : default_wait;
  const Deadline deadline(seconds);
  std::array<int, 2> largest{asked, -asked};
  const auto pass = [&](auto begin, std::array<int, 2>& value, int peer) {
    MPI_Request request = MPI_REQUEST_NULL;
    begin(value.data(), 2, MPI_INT, peer, agreement_tag, MPI_COMM_WORLD, &request);
    if (!deadline.wait(request)) end_without_others(seconds);
  };
  int bit = 1;
  for (; bit < ranks && (engine.rank & bit) == 0; bit <<= 1) {
    if (engine.rank + bit >= ranks) continue;
    std::array<int, 2> other{};
    pass(laneway_next_MPI_Irecv, other, engine.rank + bit);
    for (std::size_t i = 0; i < 2; ++i) largest[i] = std::max(largest[i], other[i]);
  }
  if (engine.rank != 0) {
    pass(laneway_next_MPI_Isend, largest, engine.rank - bit);
    pass(laneway_next_MPI_Irecv, largest, engine.rank - bit);
  }
  for (bit >>= 1; bit > 0; bit >>= 1)
    if (engine.rank + bit < ranks) pass(laneway_next_MPI_Isend, largest, engine.rank + bit);
  return largest[0] == -largest[1];
}

/// The queues of this node; false where something is missing on any rank. Collective.
bool make_queues(int ranks, int& nodes) {
  int can = has_engine() ? 1 : 0;
  std::optional<SharedSegment> segment;
  Region node;
  try {
    node = find_node(MPI_COMM_WORLD, resolve_hints({}, {}).machine, false);
    nodes = learn_nodes(node.id, ranks);
    if (node.id == engine.rank) segment.emplace();
  } catch (const std::exception& error) {
    log_line(std::string("LANEWAY_P2P: ") + error.what());
    can = 0;
  }
  SharedSegment::Address address = segment ? segment->address() : SharedSegment::Address{};
  std::vector<SharedSegment::Address> addresses(static_cast<std::size_t>(ranks));
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
  return can != 0;
}

/// Why nothing is taken over, or null. Collective.
const char* begin_queues(std::string_view asked, int& nodes) {
  int ranks = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &engine.rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!is_set_alike(asked == "asserted" ? 2 : 1, ranks)) return "it is not the same on all ranks";
  int level = MPI_THREAD_SINGLE;
  PMPI_Query_thread(&level);
  PMPI_Allreduce(MPI_IN_PLACE, &level, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  if (level == MPI_THREAD_MULTIPLE) return "MPI_THREAD_MULTIPLE";
  laneway_next_MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &engine.comm);
  PMPI_Comm_set_errhandler(engine.comm, MPI_ERRORS_RETURN);
  return make_queues(ranks, nodes) ? nullptr : "no way into MPI's progress engine, or no memory";
}

}  // namespace

void begin() {
  const char* const wish = std::getenv("LANEWAY_P2P");
  const std::string_view asked = wish != nullptr ? wish : "";
  if (asked.empty() || asked == "0") return;
  int nodes = 1;
  const char* const missing = begin_queues(asked, nodes);
  if (missing != nullptr || nodes == 1) {
    if (engine.rank == 0 && missing != nullptr) log_line(std::string("LANEWAY_P2P: nothing is taken over: ") + missing);
    engine.queues.reset();
    if (engine.comm != MPI_COMM_NULL) laneway_next_MPI_Comm_free(&engine.comm);
    return;
  }
  engine.is_promised = asked != "asserted";
  engine.after = static_cast<std::uint64_t>(calls_of("LANEWAY_PRELOAD_AFTER", 3));
  engine.watched.resize(static_cast<std::size_t>(nodes));
  for (auto& [data, request] : engine.incoming) {
    laneway_next_MPI_Irecv(data.data(), static_cast<int>(data.size()), MPI_BYTE, MPI_ANY_SOURCE, bundle_tag,
                           engine.comm, &request);
  }
  on = true;
  enter(MPI_COMM_WORLD);
  call_in_engine(advance);
}

namespace {

constexpr int quiet_turns = 3;
/// Asking MPI for a bundle is a turn of its engine, which waits of all calls would pay for.
constexpr std::uint32_t idle_turns = 64;

/// Ranks that share a core with this one put nothing while it looks at the clock: they are given their turns first.
void flush_if_quiet(int node) {
  auto& [put, turns] = engine.watched[static_cast<std::size_t>(node)];
  if (const std::uint64_t now = engine.queues->put_for(node); now != put) {
    put = now;
    turns = 0;
  }
  if (++turns > quiet_turns) return flush(node);
  sched_yield();
}

}  // namespace

void progress() {
  if (!on || inside) return;
  const Inside scope;
  engine.queues->take_own(engine.number_in_node[static_cast<std::size_t>(engine.rank)], take);
  if (engine.queues->any_receiving() || ++engine.turns % idle_turns == 0) receive_bundles();
  while (!engine.overflow.empty()) {
    const auto& [rank, whole] = engine.overflow.front();
    if (!engine.queues->give(rank, whole.data(), whole.size())) break;
    engine.overflow.pop();
  }
  while (!engine.outgoing.all.empty()) {
    int flag = 0;
    laneway_next_MPI_Test(&engine.outgoing.all.front().request, &flag, MPI_STATUS_IGNORE);
    if (flag == 0) break;
    engine.outgoing.all.pop();
  }
  if (engine.queues->any_put()) {
    const double now = NodeQueues::now();
    engine.queues->for_each_older(now - engine.longest, flush);
    engine.queues->for_each_older(now - engine.patience, flush_if_quiet);
  }
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

void end() {
  if (!on) return;
  MPI_Request barrier = MPI_REQUEST_NULL;
  // All messages have been received when all ranks are here, but for those that a rank still holds for others.
  int flag = 0;
  for (int turns = 0; !engine.outgoing.all.empty() || !engine.overflow.empty() || engine.queues->any_put();
       relax(turns))
    progress();
  PMPI_Ibarrier(engine.comm, &barrier);
  for (int turns = 0; flag == 0; relax(turns)) {
    progress();
    laneway_next_MPI_Test(&barrier, &flag, MPI_STATUS_IGNORE);
  }
  on = false;
  auto sums = engine.counts.values();
  PMPI_Reduce(engine.rank == 0 ? MPI_IN_PLACE : sums.data(), sums.data(), static_cast<int>(sums.size()), MPI_INT64_T,
              MPI_SUM, 0, engine.comm);
  if (engine.rank == 0) of_all_ranks = PointToPoint(sums);
  for (auto& [data, request] : engine.incoming) {
    laneway_next_MPI_Cancel(&request);
    laneway_next_MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  for (MPI_Request& handle : engine.pool) laneway_next_MPI_Request_free(&handle);
  engine.queues.reset();
  laneway_next_MPI_Comm_free(&engine.comm);
}

}  // namespace laneway::interpose::p2p
