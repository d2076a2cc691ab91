#include "communicator/reorder.hpp"

#include <exception>
#include <numeric>
#include <utility>

#include "base/failure.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "machine/reorder/partition.hpp"
#include "machine/reorder/reorder.hpp"

namespace laneway {

namespace {

constexpr Rank root = 0;

std::vector<Bytes> exchange(const PrivateComm& comm, std::vector<ControlMessage> control_messages,
                            std::vector<Rank> from) {
  return ControlRounds(comm).carry({Round::Kind::exchange, std::move(control_messages), std::move(from), {}, nullptr});
}

void put(Writer& writer, const std::vector<int>& values) {
  writer.put(values.size());
  for (int value : values) writer.put(value);
}

std::vector<int> get_values(Reader& reader) {
  std::vector<int> values(reader.get<std::size_t>());
  for (int& value : values) value = reader.get<int>();
  return values;
}

/// Each edge is named by both of its ends; the destinations' lists are enough.
Bytes describe(const Region& node, const GraphLists& lists) {
  Writer writer;
  writer.put(node.id);
  put(writer, lists.destinations);
  put(writer, lists.destination_weights);
  return writer.take();
}

RankPlacement place_described(const std::vector<Bytes>& inbox) {
  std::vector<Rank> nodes;
  std::vector<WeightedEdge> edges;
  for (std::size_t v = 0; v < inbox.size(); ++v) {
    Reader reader(inbox[v]);
    nodes.push_back(reader.get<Rank>());
    const std::vector<int> destinations = get_values(reader);
    const std::vector<int> weights = get_values(reader);
    for (std::size_t i = 0; i < destinations.size(); ++i)
      edges.push_back({static_cast<Rank>(v), destinations[i], weights.empty() ? 1 : weights[i]});
  }
  return place_ranks(nodes, edges);
}

std::vector<ControlMessage> roles_of(const RankPlacement& placement) {
  const Reordering reordering{placement.weight, placement.cut_before, placement.cut_after, placement.moved,
                              has_partitioner()};
  std::vector<Role> roles(placement.process.size());
  for (std::size_t v = 0; v < roles.size(); ++v) {
    const Rank player = placement.process[v];
    roles[v].player = player;
    roles[static_cast<std::size_t>(player)].vertex = static_cast<Rank>(v);
  }
  std::vector<ControlMessage> control_messages;
  for (std::size_t r = 0; r < roles.size(); ++r) {
    Writer writer;
    writer.put(roles[r].vertex);
    writer.put(roles[r].player);
    writer.put(reordering);
    control_messages.push_back({static_cast<Rank>(r), writer.take()});
  }
  return control_messages;
}

}  // namespace

Role find_role(const PrivateComm& comm, const Region& node, const GraphLists& lists, const Hints& hints) {
  const bool is_root = comm.rank() == root;
  std::vector<Rank> everybody(is_root ? static_cast<std::size_t>(comm.size()) : 0);
  std::iota(everybody.begin(), everybody.end(), 0);
  std::vector<ControlMessage> control_messages;
  std::exception_ptr failure;
  {
    const std::vector<Bytes> inbox = exchange(comm, {{root, describe(node, lists)}}, std::move(everybody));
    failure = failure_of([&] {
      if (is_root) control_messages = roles_of(place_described(inbox));
    });
  }
  agree(comm, failure, hints);
  const std::vector<Bytes> answer = exchange(comm, std::move(control_messages), {root});
  Reader reader(answer.front());
  Role role;
  role.vertex = reader.get<Rank>();
  role.player = reader.get<Rank>();
  role.reordering = reader.get<Reordering>();
  return role;
}

GraphLists take_over(const PrivateComm& comm, const Role& role, const GraphLists& lists) {
  Writer writer;
  writer.put(lists.weighted);
  put(writer, lists.sources);
  put(writer, lists.source_weights);
  put(writer, lists.destinations);
  put(writer, lists.destination_weights);
  const std::vector<Bytes> inbox = exchange(comm, {{role.player, writer.take()}}, {role.vertex});
  Reader reader(inbox.front());
  GraphLists taken;
  taken.weighted = reader.get<bool>();
  taken.sources = get_values(reader);
  taken.source_weights = get_values(reader);
  taken.destinations = get_values(reader);
  taken.destination_weights = get_values(reader);
  return taken;
}

}  // namespace laneway
