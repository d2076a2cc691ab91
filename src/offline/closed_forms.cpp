#include "offline/closed_forms.hpp"

#include <algorithm>
#include <cmath>

#include "base/error.hpp"

namespace laneway {

namespace {

constexpr int split_dd_processes = 4;  // section 4.4

constexpr ClosedForm lockhart_forms[] = {
    {"standard, staged", Rule::standard, MemoryPath::staged},
    {"standard, device-aware", Rule::standard, MemoryPath::device_aware},
    {"3-step, staged", Rule::three_step, MemoryPath::staged},
    {"3-step, device-aware", Rule::three_step, MemoryPath::device_aware},
    {"2-step all, staged", Rule::two_step_all, MemoryPath::staged},
    {"2-step all, device-aware", Rule::two_step_all, MemoryPath::device_aware},
    {"2-step 1, staged", Rule::two_step_one, MemoryPath::staged},
    {"2-step 1, device-aware", Rule::two_step_one, MemoryPath::device_aware},
    {"split + MD", Rule::split_md, MemoryPath::staged},
    {"split + DD", Rule::split_dd, MemoryPath::staged},
};

const Protocol& carrier(const LinkCost& link, double bytes) {
  return link.protocol(static_cast<std::int64_t>(std::ceil(bytes)));
}

/// Equation 2.1 for one message.
double postal(const LinkCost& link, double bytes) {
  const Protocol& protocol = carrier(link, bytes);
  return protocol.alpha + protocol.beta * bytes;
}

const DeviceCopy* find_copy(const Parameters& machine, int processes) {
  const auto found = std::find_if(machine.device_copies.begin(), machine.device_copies.end(),
                                  [processes](const DeviceCopy& copy) { return copy.processes == processes; });
  return found == machine.device_copies.end() ? nullptr : &*found;
}

int host_processes(Rule rule) {
  return rule == Rule::split_dd ? split_dd_processes : 1;
}

}  // namespace

std::span<const ClosedForm> closed_forms() {
  return lockhart_forms;
}

ClosedForms::ClosedForms(const Parameters& machine, const NodeShape& node) : machine_(machine), node_(node) {
  const auto need = [&](bool there, const std::string& what) {
    require(there, ErrorKind::info, [&] { return "the parameters of " + machine.name + " lack " + what; });
  };
  for (const LinkClass level : {LinkClass::socket, LinkClass::node, LinkClass::network}) {
    need(!link(MemoryPath::staged, level).protocols.empty(), std::string("links.") + name(level));
    need(!link(MemoryPath::device_aware, level).protocols.empty(), std::string("device_links.") + name(level));
  }
  for (const int processes : {1, split_dd_processes})
    need(find_copy(machine, processes) != nullptr,
         "device_copies by " + std::to_string(processes) + (processes == 1 ? " process" : " processes"));
  need(machine.injection_beta.has_value(), "injection.beta");
}

double ClosedForms::seconds(const ClosedForm& form, const Crossings& crossings) const {
  const Volumes sent = volumes(form.rule, crossings);
  const double off = off_node(form.path, sent, sent.messages * sent.message_bytes);
  const double copies =
      form.path == MemoryPath::staged ? copy(sent.proc_bytes, sent.node_pair_bytes, host_processes(form.rule)) : 0;
  switch (form.rule) {
    case Rule::standard:
      return off + copies;
    case Rule::three_step:
      return off + 2 * on_node(form.path, sent.node_pair_bytes) + copies;
    case Rule::two_step_all:
    case Rule::two_step_one:
      return off + on_node(form.path, sent.proc_bytes) + copies;
    case Rule::split_md:
    case Rule::split_dd:
      // A process of the node gets its part of the bytes (docs/results/closed-forms.md says why not all of them).
      return off + 2 * on_node_split(sent.node_bytes / node_.processes(), host_processes(form.rule)) + copies;
  }
  return 0;
}

Crossings ClosedForms::crossings(const Scenario& scenario) const {
  const auto most = [&](double node) { return MostBytes{node / node_.gpus(), node, node / scenario.nodes}; };
  const double nodes = scenario.nodes;
  const double bytes = scenario.messages * scenario.bytes;
  return {std::ceil(static_cast<double>(scenario.messages) / node_.gpus()), nodes, nodes, most(bytes),
          most(bytes * (1 - scenario.duplicates))};
}

Volumes ClosedForms::volumes(Rule rule, const Crossings& crossings) const {
  const MostBytes& most = rule == Rule::standard ? crossings.standard : crossings.unique;
  Volumes result;
  result.node_bytes = most.node;
  result.proc_bytes = most.proc;
  result.node_pair_bytes = most.node_pair;
  // The processes of GPUs share the nodes that data is sent to.
  const double nodes_of_process = std::ceil(crossings.nodes / node_.gpus());
  switch (rule) {
    case Rule::standard:
      result.messages = crossings.messages;
      result.message_bytes = result.proc_bytes / result.messages;
      break;
    case Rule::three_step:
      result.messages = nodes_of_process;
      result.message_bytes = result.node_pair_bytes;
      break;
    case Rule::two_step_all:
      result.messages = crossings.proc_nodes;
      result.message_bytes = result.proc_bytes / result.messages;
      break;
    case Rule::two_step_one:
      result.messages = nodes_of_process;
      result.message_bytes = result.proc_bytes / result.messages;
      break;
    case Rule::split_md:
    case Rule::split_dd:
      result.messages = std::ceil(split_messages(crossings, result) / node_.processes());
      result.message_bytes = result.node_bytes / node_.processes() / result.messages;
      break;
  }
  return result;
}

/// Algorithm 1, lines 12 to 17: messages that a node sends.
double ClosedForms::split_messages(const Crossings& crossings, const Volumes& volumes) const {
  double cap = static_cast<double>(message_cap());
  if (volumes.node_pair_bytes < cap) return crossings.nodes;
  if (volumes.node_bytes / cap > node_.processes() && crossings.nodes < node_.processes())
    cap = std::ceil(volumes.node_bytes / node_.processes());
  return crossings.nodes * std::ceil(volumes.node_pair_bytes / cap);
}

double ClosedForms::on_node(MemoryPath path, double bytes) const {
  const int gps = node_.gpus_per_socket;
  return (gps - 1) * postal(link(path, LinkClass::socket), bytes) +
         node_.other_sockets() * gps * postal(link(path, LinkClass::node), bytes);
}

double ClosedForms::on_node_split(double bytes, int processes_per_gpu) const {
  const double each = static_cast<double>(node_.processes_per_socket) / processes_per_gpu;
  return (each - 1) * postal(link(MemoryPath::staged, LinkClass::socket), bytes) +
         node_.other_sockets() * each * postal(link(MemoryPath::staged, LinkClass::node), bytes);
}

double ClosedForms::off_node(MemoryPath path, const Volumes& volumes, double bytes) const {
  const Protocol& protocol = carrier(link(path, LinkClass::network), volumes.message_bytes);
  const double sent = bytes * protocol.beta;
  const double injected = path == MemoryPath::staged ? volumes.node_bytes * *machine_.injection_beta : 0;
  return protocol.alpha * volumes.messages + std::max(sent, injected);
}

double ClosedForms::copy(double sent_bytes, double received_bytes, int processes) const {
  const DeviceCopy& cost = *find_copy(machine_, processes);
  return cost.to_host.seconds(sent_bytes) + cost.to_device.seconds(received_bytes);
}

std::int64_t ClosedForms::message_cap() const {
  const std::vector<Protocol>& protocols = machine_.link(LinkClass::network).protocols;
  return protocols.size() > 1 ? protocols[protocols.size() - 2].up_to : 0;
}

const LinkCost& ClosedForms::link(MemoryPath path, LinkClass link) const {
  const auto& links = path == MemoryPath::staged ? machine_.links : machine_.device_links;
  return links[static_cast<std::size_t>(link)];
}

}  // namespace laneway
