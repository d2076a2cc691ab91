#include <optional>
#include <string>

#include "api/barrier.hpp"
#include "operations/request/continued_work.hpp"
#include "operations/request/edge_partitions.hpp"

using namespace laneway;

namespace {

/// A request to which a function can be given.
Request& without_run(LNW_Request request) {
  require(request != LNW_REQUEST_NULL, ErrorKind::request, "request is LNW_REQUEST_NULL");
  Request& found = request_of(request);
  const WorkState state = found.state();
  if (found.nonblocking() && state == WorkState::active) {
    require(found.work().continued() == nullptr, ErrorKind::request,
            "request is nonblocking and has been given its functions before");
    return found;
  }
  require(state == WorkState::inactive || state == WorkState::unbound || state == WorkState::blocked,
          ErrorKind::request, [&] { return std::string("request ") + text_of(state); });
  return found;
}

void continue_with(LNW_Request request, const std::optional<EdgePartition>& arrival, Continuation continuation) {
  without_run(request).continue_with(arrival, continuation,
                                     [](int rank) { return error_code("LNW_Request_on_complete", rank); });
}

/// Whether there is a place, or none is left to be given.
bool find_edge(LNW_Request request, int& edge, int& partition) {
  edge = partition = MPI_UNDEFINED;
  if (request == LNW_REQUEST_NULL) return true;
  Request& found = request_of(request);
  const EdgePartitions* const partitions = found.work().edge_partitions();
  require(partitions != nullptr, ErrorKind::request, "request has no edges with partitions");
  require(found.state() != WorkState::calling, ErrorKind::request,
          [] { return std::string("request ") + text_of(WorkState::calling); });
  if (!found.active()) return true;
  Work& work = found.work();
  int event = work.next_arrival();
  if (event == Work::none_yet && found.done()) {
    event = work.next_arrival();
    // It has failed: that is thrown here.
    if (event == Work::none_yet) (void)found.test();
  }
  if (event == Work::none_yet) return false;
  if (event == Work::none_left) return true;
  const EdgePartition place = partitions->received_by(event);
  edge = place.edge;
  partition = place.partition;
  return true;
}

void check_places(const int* edge, const int* partition) {
  require_pointer(edge, "edge");
  require_pointer(partition, "partition");
}

}  // namespace

int LNW_Request_on_complete(LNW_Request request, LNW_Completion_function* function, void* state) {
  return guarded_alone(__func__, request, [&] { continue_with(request, {}, {function, state}); });
}

int LNW_Request_on_arrival(LNW_Request request, int edge, int partition, LNW_Completion_function* function,
                           void* state) {
  return guarded_alone(__func__, request, [&] {
    continue_with(request, EdgePartition{edge, partition}, {function, state});
  });
}

int LNW_Wait_any_edge(LNW_Request request, int* edge, int* partition) {
  return guarded(__func__, request, [&] {
    check_places(edge, partition);
    progress_until([&] { return find_edge(request, *edge, *partition); });
  });
}

int LNW_Test_any_edge(LNW_Request request, int* edge, int* partition, int* flag) {
  return guarded(__func__, request, [&] {
    check_places(edge, partition);
    require_pointer(flag, "flag");
    *flag = find_edge(request, *edge, *partition);
  });
}
