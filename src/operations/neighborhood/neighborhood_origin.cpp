#include "operations/neighborhood/neighborhood_origin.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "mpi/owned_info.hpp"
#include "operations/neighborhood/graph.hpp"
#include "operations/neighborhood/neighborhood.hpp"

namespace laneway {

namespace {

std::vector<int> slots_of(const std::vector<Neighbor>& neighbors) {
  std::vector<int> slots(neighbors.size());
  std::ranges::transform(neighbors, slots.begin(), &Neighbor::slot);
  return slots;
}

void check_degree(const char* what, int has, int wanted) {
  require(has == wanted, ErrorKind::topology, [&] {
    return "topology has " + std::string(what) + " " + std::to_string(has) + ", and request was made with " +
           std::to_string(wanted);
  });
}

}  // namespace

NeighborhoodOrigin::NeighborhoodOrigin(Communicator& communicator, MPI_Info info, const Call& call)
    : kind_(call.kind),
      buffers_(buffers_of(call)),
      send_(call.send, communicator.topology().outdegree, slots_of(communicator.topology().destinations)),
      receive_(call.receive, communicator.topology().indegree, slots_of(communicator.topology().sources)),
      op_(reduces(call.kind) ? call.op : MPI_OP_NULL),
      sendbuf_name_(call.sendbuf_name),
      recvbuf_name_(call.recvbuf_name),
      topology_(communicator.topology()),
      hints_(hints_in(info)),
      hints_of_topology_(communicator.hints) {}

std::int64_t NeighborhoodOrigin::bytes() const {
  const std::size_t neighbors = topology_.sources.size() + topology_.destinations.size();
  return static_cast<std::int64_t>(sizeof *this + neighbors * sizeof(Neighbor)) + send_.bytes() + receive_.bytes();
}

Origin::Remake NeighborhoodOrigin::among(const RankTranslation& ranks, const EdgePartitions* partitions) const {
  return [this, partitions, fewer = shrink(topology_, ranks)](MPI_Comm comm) {
    const auto made = make_shrunken(comm, {fewer, hints_of_topology_}, nullptr);
    return on(*made, partitions);
  };
}

void NeighborhoodOrigin::check_fits(Communicator& communicator) const {
  const Topology& topology = communicator.topology();
  check_degree("indegree", topology.indegree, topology_.indegree);
  check_degree("outdegree", topology.outdegree, topology_.outdegree);
}

std::unique_ptr<Request> NeighborhoodOrigin::on(Communicator& communicator, const EdgePartitions* partitions) const {
  std::vector<MPI_Datatype> types[2];
  const Call call{.kind = kind_,
                  .sendbuf = buffers_.send,
                  .recvbuf = buffers_.receive,
                  .send = send_.get(types[0]),
                  .receive = receive_.get(types[1]),
                  .op = op_.get(),
                  .sendbuf_name = sendbuf_name_,
                  .recvbuf_name = recvbuf_name_,
                  .is_persistent = true};
  CallEvents events;
  if (partitions != nullptr)
    events = events_of(communicator.topology(), call, partitions->sent_of_edges(), partitions->received_of_edges());
  const OwnedInfo info(hints_);
  return make_neighborhood(communicator, info.get(), call, std::move(events));
}

}  // namespace laneway
