// Probes for messages of streams. What they find that is an entry has a message of MPI in its place, by which the
// program receives it.
#include "preload/p2p/engine.hpp"
#include "preload/p2p/point_to_point.hpp"

namespace laneway::interpose::p2p {

namespace {

/// Whether the next message that no receive is for is an entry that has come. Before the first entry it is MPI's.
bool has_next(const ReceiveStream& stream) {
  return stream.waiting.empty() && stream.begun >= stream.from && !stream.come.empty() &&
         stream.come.begin()->first == stream.next;
}

using Found = std::pair<const StreamKey, ReceiveStream>;
Found* find(std::uint64_t comm, int source, int tag) {
  if (engine.early == 0) return nullptr;
  if (source != MPI_ANY_SOURCE) {
    const auto it = engine.receives.find({comm, source, tag});
    return it != engine.receives.end() && has_next(it->second) ? &*it : nullptr;
  }
  const auto it = std::ranges::find_if(engine.receives, [&](const Found& one) {
    return one.first.comm == comm && one.first.tag == tag && has_next(one.second);
  });
  return it == engine.receives.end() ? nullptr : &*it;
}

void tell(const Found& found, MPI_Count bytes, MPI_Status* status) {
  if (status == MPI_STATUS_IGNORE) return;
  status->MPI_SOURCE = found.first.peer;
  status->MPI_TAG = found.first.tag;
  PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
  PMPI_Status_set_cancelled(status, 0);
}

/// A message of MPI for a short entry: this rank sends it to itself.
void match(Engine::Probed& probed, const std::byte* data, int bytes, MPI_Message* found) {
  probed.data.assign(data, data + bytes);
  laneway_next_MPI_Isend(probed.data.data(), bytes, MPI_BYTE, engine.rank, probed_tag, engine.comm, &probed.request);
  for (int flag = 0; flag == 0;)
    laneway_next_MPI_Improbe(engine.rank, probed_tag, engine.comm, &flag, found, MPI_STATUS_IGNORE);
}

}  // namespace

bool may_find(MPI_Comm comm, int source) {
  return source == MPI_ANY_SOURCE ? find_known(comm) != nullptr : is_counted(comm, source);
}

bool probe(MPI_Comm comm, int source, int tag, MPI_Message* found, MPI_Status* status) {
  if (!may_find(comm, source)) return false;
  count_receiving(1);
  advance();
  count_receiving(-1);
  const Inside scope;
  const Known& known = *find_known(comm);
  Found* const entry = find(known.id, source, tag);
  if (entry == nullptr) return false;
  auto& [key, stream] = *entry;
  const Bytes& whole = stream.come.begin()->second;
  Item item;
  std::memcpy(&item, whole.data(), sizeof item);
  MPI_Count bytes = item.bytes;
  if (item.own_way != 0) {
    const int from = (*known.world)[static_cast<std::size_t>(key.peer)];
    int flag = 0;
    MPI_Status of_own_way;
    if (found != nullptr)
      laneway_next_MPI_Improbe(from, item.own_way, engine.comm, &flag, found, &of_own_way);
    else
      laneway_next_MPI_Iprobe(from, item.own_way, engine.comm, &flag, &of_own_way);
    if (flag == 0) return false;
    PMPI_Get_elements_x(&of_own_way, MPI_BYTE, &bytes);
  }
  tell(*entry, bytes, status);
  if (found == nullptr) return true;
  Engine::Probed probed{{nullptr, 0, MPI_BYTE, key.peer, key.tag, comm}, {}, MPI_REQUEST_NULL};
  if (item.own_way == 0) match(probed, whole.data() + sizeof item, item.bytes, found);
  engine.probed.emplace(*found, std::move(probed));
  engine.spare_entries.push_back(stream.come.extract(stream.come.begin()));
  --engine.early;
  ++stream.next;
  ++stream.begun;
  return true;
}

void count_matched(MPI_Comm comm, const MPI_Status& status) {
  if (is_counted(comm, status.MPI_SOURCE))
    ++engine.receives[{find_known(comm)->id, status.MPI_SOURCE, status.MPI_TAG}].begun;
}

bool receive_matched(const UserMessage& to, MPI_Message* found, MPI_Request* request, MPI_Status* status, int* code) {
  const auto it = engine.probed.find(*found);
  if (it == engine.probed.end()) return false;
  const Inside scope;
  Engine::Probed probed = std::move(it->second);
  engine.probed.erase(it);
  const UserMessage message{to.buffer, to.count, to.type, probed.message.peer, probed.message.tag, probed.message.comm};
  MPI_Request own_way = MPI_REQUEST_NULL;
  *code = laneway_next_MPI_Imrecv(to.buffer, static_cast<int>(to.count), to.type, found, &own_way);
  if (probed.request != MPI_REQUEST_NULL) {
    Engine::Outgoing& sent = engine.outgoing.all.push();
    sent.data = std::move(probed.data);
    sent.request = probed.request;
  }
  if (*code != MPI_SUCCESS) return true;
  Operation& operation = new_operation(message, Mode::standard, false, false);
  operation.state = State::own_way;
  operation.own_way = own_way;
  operation.from_pool = true;
  MPI_Request handle = pooled();
  enter_table(operation, handle);
  if (request != nullptr) return *request = handle, true;
  for (int turns = 0; !is_complete(operation); relax(turns)) advance();
  *code = finish(operation, &handle, status);
  return true;
}

}  // namespace laneway::interpose::p2p
