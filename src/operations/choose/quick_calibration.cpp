#include "operations/choose/quick_calibration.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <list>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes/wire.hpp"
#include "base/process/processors.hpp"
#include "base/simulated.hpp"
#include "base/statistics.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

constexpr int small_bytes = 8;
constexpr int large_bytes = 1 << 18;
constexpr int small_repeats = 21;
constexpr int large_repeats = 5;

class Probe {
 public:
  explicit Probe(const PrivateComm& comm) : comm_(comm), messages_(2, {0, setup_tag, Bytes(large_bytes)}) {}

  /// Median seconds of a message between two ranks, on both of them.
  [[nodiscard]] double one_way(Rank first, Rank second, int bytes) {
    const Rank peer = comm_.rank() == first ? second : first;
    return median(bytes,
                  [&] {
                    if (comm_.rank() == first) message(peer, bytes, true, false);
                    message(peer, bytes, false, true);
                    if (comm_.rank() == second) message(peer, bytes, true, false);
                  }) /
           2;
  }
  /// Median seconds in which two messages cross each other.
  [[nodiscard]] double both_ways(Rank peer, int bytes) {
    return median(bytes, [&] { message(peer, bytes, true, true); });
  }

 private:
  void message(Rank peer, int bytes, bool sends, bool receives) {
    if constexpr (simulated) return block(peer, bytes, sends, receives);
    try {
      if (receives)
        check_mpi(MPI_Irecv(in().data.data(), bytes, MPI_BYTE, peer, setup_tag, comm_.get(), &in().request),
                  "MPI_Irecv");
      if (sends)
        check_mpi(MPI_Isend(out().data.data(), bytes, MPI_BYTE, peer, setup_tag, comm_.get(), &out().request),
                  "MPI_Isend");
      await(comm_, [&] { return in().is_complete() && out().is_complete(); });
    } catch (...) {
      comm_.keep(std::move(messages_));
      throw;
    }
  }
  /// The same by calls that block: fewer events of a simulation.
  void block(Rank peer, int bytes, bool sends, bool receives) {
    std::byte* const from = in().data.data();
    std::byte* const to = out().data.data();
    if (sends && receives)
      check_mpi(MPI_Sendrecv(to, bytes, MPI_BYTE, peer, setup_tag, from, bytes, MPI_BYTE, peer, setup_tag, comm_.get(),
                             MPI_STATUS_IGNORE),
                "MPI_Sendrecv");
    else if (sends)
      check_mpi(MPI_Send(to, bytes, MPI_BYTE, peer, setup_tag, comm_.get()), "MPI_Send");
    else
      check_mpi(MPI_Recv(from, bytes, MPI_BYTE, peer, setup_tag, comm_.get(), MPI_STATUS_IGNORE), "MPI_Recv");
  }
  template <class F>
  double median(int bytes, F&& round) {
    round();
    std::vector<double> seconds(bytes == small_bytes ? small_repeats : large_repeats);
    for (double& each : seconds) {
      const double begin = MPI_Wtime();
      round();
      each = MPI_Wtime() - begin;
    }
    return laneway::median(std::move(seconds));
  }

  [[nodiscard]] MessageUnderWay& in() { return messages_.front(); }
  [[nodiscard]] MessageUnderWay& out() { return messages_.back(); }

  static constexpr int setup_tag = ControlComm::setup_tag;

  const PrivateComm& comm_;
  std::list<MessageUnderWay> messages_;  // what comes, and what goes
};

std::vector<double> largest(const PrivateComm& comm, const std::vector<double>& numbers) {
  return reduce_progressing(numbers, MPI_DOUBLE, MPI_MAX, comm);
}

/// On the node of rank 0 and on that of `other`, the members of the other one of the two; elsewhere nobody.
std::vector<Rank> opposite_members(ControlRounds& rounds, Rank rank, const Region& node, Rank other) {
  const auto contains = [&](Rank r) { return std::binary_search(node.members.begin(), node.members.end(), r); };
  if (!contains(0) && !contains(other)) return {};
  const Rank leader = contains(0) ? 0 : other;
  Writer mine;
  for (Rank member : node.members) mine.put(member);
  Round swap{Round::Kind::exchange, {}, {}, {}, nullptr};
  if (rank == leader) {
    const Rank peer = leader == 0 ? other : 0;
    swap.control_messages.push_back({peer, mine.take()});
    swap.from.push_back(peer);
  }
  const std::vector<Bytes> theirs = rounds.carry(std::move(swap));
  Round broadcast{Round::Kind::exchange, {}, {}, {}, nullptr};
  broadcast.from.push_back(leader);
  if (rank == leader)
    for (Rank member : node.members) broadcast.control_messages.push_back({member, theirs.front()});
  const Bytes list = rounds.carry(std::move(broadcast)).front();
  std::vector<Rank> members;
  for (Reader reader(list); !reader.done();) members.push_back(reader.get<Rank>());
  return members;
}

/// Latencies and rates so that messages of both sizes take as long as measured.
struct Scale {
  double alpha = 1;
  double beta = 1;
};
Scale scale_to(const LinkCost& assumed, double small_seconds, double large_seconds) {
  if (small_seconds <= 0 || assumed.protocols.empty()) return {};
  Scale scale;
  scale.alpha = small_seconds / assumed.seconds(small_bytes);
  const Protocol& protocol = assumed.protocol(large_bytes);
  const double bytes_seconds = std::max(large_seconds - scale.alpha * protocol.alpha, large_seconds / 2);
  if (protocol.beta > 0) scale.beta = bytes_seconds / (protocol.beta * large_bytes);
  return scale;
}

void apply(const Scale& scale, LinkCost& link) {
  for (Protocol& protocol : link.protocols) {
    protocol.alpha *= scale.alpha;
    protocol.beta *= scale.beta;
  }
}

void apply(const Scale& scale, Overhead& overhead) {
  overhead.message *= scale.alpha;
  overhead.byte *= scale.beta;
}

/// Who is where, as far as probes need it.
struct Scene {
  const PrivateComm& comm;
  const Region& node;
  Rank other;                  ///< the first rank that is not on the node of rank 0; the size of comm if there is none
  std::vector<Rank> opposite;  ///< see opposite_members

  [[nodiscard]] bool has_network() const { return other < comm.size(); }
};

/// Of every figure the largest of all ranks counts; 0: not measured.
struct Figures {
  double node_small = 0;
  double node_large = 0;
  double network_small = 0;
  double network_large = 0;
  double together = 0;  ///< seconds for each byte that a node sends, and receives as many
  double cores = 0;
  double host_nodes = 0;

  void become_largest(const PrivateComm& comm) {
    auto& [a, b, c, d, e, f, g] = *this;
    const std::vector<double> all = largest(comm, {a, b, c, d, e, f, g});
    for (std::size_t i = 0; double* const figure : {&a, &b, &c, &d, &e, &f, &g}) *figure = all[i++];
  }
};

void probe_node(const Scene& scene, Probe& probe, Figures& figures) {
  if (scene.node.members.front() != 0 || scene.node.members.size() < 2) return;
  const Rank second = scene.node.members[1];
  if (scene.comm.rank() != 0 && scene.comm.rank() != second) return;
  figures.node_small = probe.one_way(0, second, small_bytes);
  figures.node_large = probe.one_way(0, second, large_bytes);
}

void probe_network(const Scene& scene, Probe& probe, Figures& figures) {
  if (!scene.has_network() || (scene.comm.rank() != 0 && scene.comm.rank() != scene.other)) return;
  figures.network_small = probe.one_way(0, scene.other, small_bytes);
  figures.network_large = probe.one_way(0, scene.other, large_bytes);
}

/// All ranks of two nodes in pairs.
void probe_together(const Scene& scene, Probe& probe, Figures& figures) {
  const std::vector<Rank>& members = scene.node.members;
  const auto place =
      static_cast<std::size_t>(std::lower_bound(members.begin(), members.end(), scene.comm.rank()) - members.begin());
  const std::size_t pairs = std::min(members.size(), scene.opposite.size());
  if (place >= pairs) return;
  const double seconds = probe.both_ways(scene.opposite[place], large_bytes);
  figures.together = seconds / (large_bytes * static_cast<double>(pairs));
}

void count_cores(const Scene& scene, Figures& figures) {
  const HostShare share = share_of_host(scene.node.members.size());
  figures.cores = share.cores;
  figures.host_nodes = share.nodes;
}

/// Each measured by some ranks, while the others wait.
constexpr std::array probes = {probe_node, probe_network, probe_together};

/// Parameters on which messages take as long as measured.
Parameters fitted(Parameters assumed, const Figures& figures) {
  const Scale inside = scale_to(assumed.link(LinkClass::node), figures.node_small, figures.node_large);
  const Scale across = scale_to(assumed.link(LinkClass::network), figures.network_small, figures.network_large);
  for (LinkClass link : {LinkClass::core, LinkClass::socket, LinkClass::node})
    apply(inside, assumed.links[static_cast<std::size_t>(link)]);
  apply(across, assumed.links[static_cast<std::size_t>(LinkClass::network)]);
  apply(inside, assumed.node_overhead);
  apply(across, assumed.network_overhead);
  if (figures.together > 0) assumed.injection_beta = figures.together;
  assumed.cores = static_cast<int>(figures.cores);
  assumed.host_nodes = std::max(1, static_cast<int>(figures.host_nodes));
  assumed.name = "calibrated";
  assumed.provenance = "a few messages, on top of " + assumed.provenance;
  return assumed;
}

}  // namespace

HostShare share_of_host(std::size_t members) {
  if constexpr (simulated) return {};
  const double processors = std::min<double>(std::thread::hardware_concurrency(),
                                             std::max(1.0, std::floor(own_processors().quota.processors)));
  const auto sharers = static_cast<double>(world_node_size());
  if (sharers <= processors) return {};
  return {static_cast<int>(processors),
          static_cast<int>(std::ceil(sharers / static_cast<double>(std::max<std::size_t>(members, 1))))};
}

Parameters calibrate_quickly(const PrivateComm& comm, const Region& node, Parameters assumed) {
  Rank outside = 0;
  while (comm.rank() == 0 && static_cast<std::size_t>(outside) < node.members.size() &&
         node.members[static_cast<std::size_t>(outside)] == outside)
    ++outside;
  Scene scene{comm, node, static_cast<Rank>(largest(comm, {static_cast<double>(outside)}).front()), {}};
  if (scene.has_network()) {
    ControlRounds rounds(comm);
    scene.opposite = opposite_members(rounds, comm.rank(), node, scene.other);
  }
  Probe probe(comm);
  Figures figures;
  for (const auto& measure : probes) {
    (void)largest(comm, {0});
    measure(scene, probe, figures);
  }
  count_cores(scene, figures);
  figures.become_largest(comm);
  return fitted(std::move(assumed), figures);
}

}  // namespace laneway
