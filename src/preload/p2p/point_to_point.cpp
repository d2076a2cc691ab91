#include "preload/p2p/point_to_point.hpp"

#include "preload/p2p/engine.hpp"

namespace laneway::interpose::p2p {

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
  if (!operation.sends && operation.stream != nullptr) count_receiving(-1);
  if (operation.state == State::at_mpi) {
    if (!operation.sends && operation.stream != nullptr) operation.stream->at_mpi.remove(&operation);
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

int look_at_wildcard(MPI_Comm comm, int peer, int tag, const char* call) {
  const Known* const known = find_known(comm);
  if (known == nullptr || (peer != MPI_ANY_SOURCE && !is_counted(comm, peer))) return MPI_SUCCESS;
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
    stream.waiting.remove(&operation);
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
  stream.at_mpi.remove(&operation);
  --stream.begun;
  for (Operation* later = stream.at_mpi.front(); later != nullptr; later = later->next)
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
