#include "communicator/nodes/node_devices.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "communicator/control/control_rounds.hpp"

namespace laneway {

namespace {

using Matrix = std::vector<std::vector<int>>;

std::vector<Bytes> gather(const PrivateComm& comm, const Region& node, Bytes mine) {
  return ControlRounds(comm).carry({Round::Kind::region_gather, {}, {}, std::move(mine), &node});
}

Bytes links_from(const DeviceIdentity& own, const std::vector<DeviceIdentity>& devices) {
  Writer writer;
  for (const DeviceIdentity& other : devices) {
    const std::array pair = {own, other};
    writer.put(own == other ? 0 : find_device_topology(pair).links[0][1]);
  }
  return writer.take();
}

/// Null where there is no way between some of them, so that nobody can tell how far they are apart.
std::shared_ptr<const DeviceLinks> joined(Matrix links) {
  try {
    return std::make_shared<const DeviceLinks>(with_hops(std::move(links)));
  } catch (const Error&) {
    return nullptr;
  }
}

}  // namespace

NodeDevices find_node_devices(const PrivateComm& comm, const Region& node, const std::optional<DeviceIdentity>& own) {
  Writer writer;
  writer.put(static_cast<std::int32_t>(own.has_value()));
  writer.put(own.value_or(DeviceIdentity{}));
  std::vector<DeviceIdentity> devices;
  std::vector<std::size_t> device_of;  // by member
  bool all_have = true;
  for (const Bytes& bytes : gather(comm, node, writer.take())) {
    Reader reader(bytes);
    all_have = reader.get<std::int32_t>() != 0 && all_have;
    const auto device = reader.get<DeviceIdentity>();
    const auto known = std::find(devices.begin(), devices.end(), device);
    device_of.push_back(static_cast<std::size_t>(known - devices.begin()));
    if (known == devices.end()) devices.push_back(device);
  }
  if (!all_have) return {node, nullptr};

  NodeDevices found;
  std::map<Rank, std::pair<Rank, int>> places;
  const std::size_t mine =
      device_of[static_cast<std::size_t>(std::ranges::lower_bound(node.members, comm.rank()) - node.members.begin())];
  for (std::size_t i = 0; i < device_of.size(); ++i) {
    places[node.members[i]] = {node.id, static_cast<int>(device_of[i])};
    if (device_of[i] == mine) found.sharing.members.push_back(node.members[i]);
  }
  found.sharing.id = found.sharing.members.front();
  Matrix links(devices.size(), std::vector<int>(devices.size(), 0));
  if (devices.size() > 1) {
    const std::vector<Bytes> rows = gather(comm, node, links_from(*own, devices));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Reader reader(rows[i]);
      for (std::size_t other = 0; other < devices.size(); ++other) {
        const int here = reader.get<int>();
        int& there = links[device_of[i]][other];
        there = links[other][device_of[i]] = std::max(there, here);
      }
    }
  }
  if (const std::shared_ptr<const DeviceLinks> all = joined(std::move(links)))
    found.fabric = std::make_shared<const Fabric>(all, std::move(places));
  return found;
}

}  // namespace laneway
