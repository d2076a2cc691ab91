// What SimGrid's platform files cannot say: protocols and overheads by class of link. SMPI reads one set of them for
// all messages; this library is given to it as the platform, loads the file that LANEWAY_PLATFORM names, and takes both
// from the properties of its root zone (docs/reference/simulation.md).
#include <smpi/smpi.h>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes/block_memory.hpp"

namespace {

namespace s4u = simgrid::s4u;

constexpr double header_bytes = 16;  // of SMPI, in each message

struct Protocol {
  double up_to;  // bytes; of the last one -1
  double alpha, beta;

  [[nodiscard]] double seconds(double bytes) const { return alpha + beta * bytes; }
};

struct LinkClass {
  std::vector<Protocol> protocols;
  double overhead = 0;  // of each end of a message, where nothing else runs
  double busy = 1;      // times as long where all ranks communicate: they share cores
  double least_seconds_per_byte = 0;

  [[nodiscard]] const Protocol& protocol(double bytes) const {
    return *std::find_if(protocols.begin(), protocols.end() - 1,
                         [bytes](const Protocol& protocol) { return bytes <= protocol.up_to; });
  }
  /// Of each end, and no more than what the links leave of the message's time.
  [[nodiscard]] double overhead_of(const Protocol& by, double bytes) const {
    return std::min(overhead, room(by, bytes));
  }

  /// Protocols for smaller messages may take longer for a byte: their ends copy it. That is no time of the links, which
  /// other messages can use meanwhile. Half of it is of each end.
  [[nodiscard]] double copying(const Protocol& by, double bytes) const {
    const double slower = std::max(0.0, by.beta - protocols.back().beta);
    return std::min(slower * bytes / 2, room(by, bytes) - overhead_of(by, bytes));
  }

 private:
  [[nodiscard]] double room(const Protocol& by, double bytes) const {
    return std::max(0.0, (by.seconds(bytes) - least_seconds_per_byte * bytes) / 2);
  }
};

struct Place {
  int node = 0;
  std::size_t rank = 0;
};

/// How one message moves: what is left for its latency, and its rate.
struct Flow {
  double latency, seconds_per_byte;
};

class Machine {
 public:
  explicit Machine(const s4u::Engine& engine) {
    const s4u::NetZone& root = *engine.get_netzone_root();
    eager_bytes_ = number(root, "eager");
    std::istringstream names(text(root, "classes"));
    for (std::string name; names >> name;) classes_.push_back(read_class(root, name));
    std::istringstream pairs(text(root, "pairs"));
    for (std::size_t index = 0; pairs >> index;) pairs_.push_back(index);
    ranks_ = static_cast<std::size_t>(number(root, "ranks"));
    for (const s4u::Host* host : engine.get_all_hosts())
      places_[host] = {std::stoi(host->get_property("node")), std::stoul(host->get_property("rank"))};
  }

  [[nodiscard]] const LinkClass& between(const s4u::Host* a, const s4u::Host* b) const {
    const auto from = places_.find(a);
    const auto to = places_.find(b);
    const bool known = from != places_.end() && to != places_.end();  // a rank that has ended has no host any more
    if (!known || from->second.node != to->second.node) return classes_.back();
    return classes_[pairs_[from->second.rank * ranks_ + to->second.rank]];
  }

  [[nodiscard]] double overhead(double bytes, const s4u::Host* a, const s4u::Host* b) const {
    const LinkClass& link = between(a, b);
    const Protocol& protocol = link.protocol(bytes);
    return link.busy * link.overhead_of(protocol, bytes) + link.copying(protocol, bytes);
  }

  /// A message alone takes alpha + beta * bytes, of which its ends have taken the overheads. `bytes` are with SMPI's
  /// header, by which no program chooses a protocol.
  [[nodiscard]] Flow flow(double bytes, const s4u::Host* a, const s4u::Host* b) const {
    const LinkClass& link = between(a, b);
    const double sent = bytes - header_bytes;
    const Protocol& protocol = link.protocol(sent);
    const int ends = sent < eager_bytes_ ? 2 : 1;
    const double left =
        protocol.seconds(bytes) - ends * (link.overhead_of(protocol, bytes) + link.copying(protocol, bytes));
    const double seconds_per_byte = std::min(protocol.beta, link.protocols.back().beta);
    if (left >= seconds_per_byte * bytes) return {left - seconds_per_byte * bytes, seconds_per_byte};
    return {0, std::max(left / bytes, link.least_seconds_per_byte)};
  }

 private:
  static std::string text(const s4u::NetZone& zone, const std::string& key) {
    const char* const value = zone.get_property(key);
    if (value == nullptr) throw std::runtime_error("the root zone of the platform has no property " + key);
    return value;
  }
  static double number(const s4u::NetZone& zone, const std::string& key) { return std::stod(text(zone, key)); }

  static LinkClass read_class(const s4u::NetZone& root, const std::string& name) {
    LinkClass link;
    link.overhead = number(root, "overhead." + name);
    link.busy = number(root, "busy");
    std::istringstream numbers(text(root, "protocols." + name));
    for (Protocol protocol{}; numbers >> protocol.up_to >> protocol.alpha >> protocol.beta;)
      link.protocols.push_back(protocol);
    if (link.protocols.empty() || link.protocols.back().up_to >= 0)
      throw std::runtime_error("protocols." + name + " has no protocol for large messages");
    link.least_seconds_per_byte = link.protocols.back().beta;
    for (const Protocol& protocol : link.protocols)
      if (protocol.beta > 0) link.least_seconds_per_byte = std::min(link.least_seconds_per_byte, protocol.beta);
    return link;
  }

  double eager_bytes_ = 0;
  std::vector<LinkClass> classes_;  // the network is last
  std::size_t ranks_ = 0;           // of a node
  std::vector<std::size_t> pairs_;  // class of any two ranks of a node
  std::unordered_map<const s4u::Host*, Place> places_;
};

double latency_factor(const Flow& flow, const std::vector<s4u::Link*>& links) {
  double latency = 0;
  for (const s4u::Link* link : links) latency += link->get_latency();
  return latency > 0 ? flow.latency / latency : 1;
}

double bandwidth_factor(const Flow& flow, const std::vector<s4u::Link*>& links) {
  double bytes_per_second = std::numeric_limits<double>::max();
  for (const s4u::Link* link : links) bytes_per_second = std::min(bytes_per_second, link->get_bandwidth());
  return flow.seconds_per_byte > 0 ? std::min(1.0, 1 / flow.seconds_per_byte / bytes_per_second) : 1;
}

/// Of blocks that are not moved only the time counts. They are not among the short messages that SMPI keeps copies of.
/// What a message is, SimGrid's headers do not say: its one base comes first.
void copy(smx_activity_t message, void* from, std::size_t bytes) {
  if (!laneway::is_unmoved(from))
    smpi_comm_copy_buffer_callback(reinterpret_cast<simgrid::kernel::activity::CommImpl*>(message), from, bytes);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void load_platform(const s4u::Engine& engine) {
  const char* const path = std::getenv("LANEWAY_PLATFORM");
  if (path == nullptr) throw std::runtime_error("LANEWAY_PLATFORM names no platform file");
  engine.load_platform(path);
  static const Machine machine(engine);
  auto* const model = engine.get_netzone_root()->get_network_model();
  using Hosts = const s4u::Host*;
  model->set_lat_factor_cb([](double bytes, Hosts a, Hosts b, const auto& links, const auto&) {
    return latency_factor(machine.flow(bytes, a, b), links);
  });
  model->set_bw_factor_cb([](double bytes, Hosts a, Hosts b, const auto& links, const auto&) {
    return bandwidth_factor(machine.flow(bytes, a, b), links);
  });
  for (const SmpiOperation operation : {SmpiOperation::SEND, SmpiOperation::ISEND, SmpiOperation::RECV})
    smpi_register_op_cost_callback(operation, [](std::size_t bytes, s4u::Host* a, s4u::Host* b) {
      return machine.overhead(static_cast<double>(bytes), a, b);
    });
  smpi_comm_set_copy_data_callback(copy);
}
