#include "api/barrier.hpp"
#include "base/failure.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/check_edges.hpp"
#include "operations/neighborhood/graph.hpp"

using namespace laneway;

namespace {

/// A persistent request that is not active; it may have failed.
const Request& remakeable(LNW_Request handle) {
  require(handle != LNW_REQUEST_NULL, ErrorKind::request, "request is LNW_REQUEST_NULL");
  const Request& request = request_of(handle);
  require(!request.nonblocking(), ErrorKind::request, "request is nonblocking; only persistent ones are made again");
  const WorkState state = request.state();
  require(state != WorkState::active && state != WorkState::in_queue && state != WorkState::calling, ErrorKind::request,
          [&] { return std::string("request ") + text_of(state); });
  require(request.origin() != nullptr, ErrorKind::unsupported,
          "request is MPI's own, of an intercommunicator or of ranks without neighbors: it is not made again");
  return request;
}

RankTranslation ranks_of(const Request& request, MPI_Comm comm) {
  require(request.comm()->created(), ErrorKind::communicator,
          "request: the communicator that it was made on has not been duplicated yet");
  return {request.comm()->get(), comm};
}

/// What `find` throws, for the other ranks of `comm` to hear. Throws what it says of their being no ranks of it.
template <class Find>
std::exception_ptr failure_on(MPI_Comm comm, Find&& find) {
  (void)Communicator::of(comm);
  try {
    find();
  } catch (const UnknownProcess&) {
    throw;
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// That all ranks can go on, and make the same again. Collective.
void agree_on(const PrivateComm& comm, const std::exception_ptr& failure, const std::string& what) {
  together(comm, [&] {
    Hints none;
    none.strategy.row = &strategies().front();
    agree(comm, failure, none);
    check_same(comm, "request is of", what, MPI_ERR_REQUEST);
  });
}

/// Of two ranks, who tell nobody else.
bool is_of_pair(LNW_Request request) {
  return request != LNW_REQUEST_NULL && request_of(request).work().has_partitions();
}

}  // namespace

int LNW_Topology_shrink(LNW_Topology topology, MPI_Comm comm, LNW_Topology* shrunken) {
  return guarded(__func__, comm, [&] {
    Neighborhoods found;
    const std::exception_ptr failure = failure_on(comm, [&] {
      require_pointer(shrunken, "shrunken");
      Communicator& old = topology_of(topology);
      found = {shrink(old.topology(), {old.known_private_comm().get(), comm}), old.hints};
    });
    *shrunken = handle_of(make_shrunken(comm, std::move(found), failure));
  });
}

int LNW_Topology_shrink_comm(MPI_Comm comm_old, MPI_Comm comm, LNW_Topology* shrunken) {
  return guarded(__func__, comm, [&] {
    Neighborhoods found;
    const std::exception_ptr failure = failure_on(comm, [&] {
      require_pointer(shrunken, "shrunken");
      require(comm_old != MPI_COMM_NULL, ErrorKind::communicator, "comm_old: MPI_COMM_NULL");
      if (Communicator* const old = Communicator::find(comm_old)) {
        const MPI_Comm ranks = old->partial ? old->known_private_comm().get() : comm_old;
        found = {shrink(old->topology(), {ranks, comm}), old->hints};
      } else {
        found = {shrink(read_topology(comm_old), {comm_old, comm}), hints_of(comm_old)};
      }
    });
    *shrunken = handle_of(make_shrunken(comm, std::move(found), failure));
  });
}

int LNW_Request_rebuild(LNW_Request request, MPI_Comm comm, LNW_Request* rebuilt) {
  return guarded(__func__, comm, [&] {
    Origin::Remake remake;
    std::string what;
    const std::exception_ptr failure = failure_on(comm, [&] {
      require_pointer(rebuilt, "rebuilt");
      const Request& old = remakeable(request);
      const RankTranslation ranks = ranks_of(old, comm);
      remake = old.origin()->among(ranks, old.work().edge_partitions());
      what = old.origin()->text() + " among " + std::to_string(ranks.old_size()) + " ranks";
    });
    if (!is_of_pair(request))
      agree_on(*Communicator::of(comm).private_comm(), failure, what);
    else if (failure)
      std::rethrow_exception(failure);
    *rebuilt = handle_of(remake(comm));
  });
}

int LNW_Request_rebuild_topology(LNW_Request request, LNW_Topology topology, LNW_Request* rebuilt) {
  return guarded(__func__, topology, [&] {
    Communicator& communicator = topology_of(topology);
    const std::shared_ptr<PrivateComm> own = communicator.private_comm();
    std::string what;
    agree_on(*own, failure_of([&] {
      require_pointer(rebuilt, "rebuilt");
      const Request& old = remakeable(request);
      old.origin()->check_fits(communicator);
      what = old.origin()->text();
    }),
             what);
    const Request& old = request_of(request);
    *rebuilt = handle_of(old.origin()->on(communicator, old.work().edge_partitions()));
  });
}
