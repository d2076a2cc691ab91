#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "algorithms/lowering/events.hpp"
#include "base/error.hpp"
#include "communicator/arguments/call.hpp"
#include "communicator/arguments/topology.hpp"
#include "plan/pattern.hpp"

namespace laneway {

/// One of an edge, both by their positions in the arguments.
struct EdgePartition {
  int edge = 0;
  int partition = 0;
  bool operator==(const EdgePartition&) const = default;
};

/// Which event stands for a partition of an edge: those of what is sent come in, those of what is received go out, both
/// numbered edge by edge, in the order of the arguments. Bytes that several partitions name have events of their own
/// behind those, one for all bytes that the same partitions name, which the first of them fires.
class EdgePartitions {
 public:
  /// `sent[i]`: into how many partitions the i-th destination's block is divided; `received` likewise. One of no
  /// partitions is there when the exchange starts.
  EdgePartitions(std::span<const int> sent, std::span<const int> received)
      : sent_(sum(sent)), received_(sum(received)) {}

  /// Throw Error(argument) if there is no such edge or partition. Sent: fired by `ready`.
  [[nodiscard]] int event_of_sent(int edge, int partition) const { return event(sent_, edge, partition); }
  [[nodiscard]] int event_of_received(int edge, int partition) const { return event(received_, edge, partition); }
  /// Of each edge, as they were given.
  [[nodiscard]] std::vector<int> sent_of_edges() const { return numbers(sent_); }
  [[nodiscard]] std::vector<int> received_of_edges() const { return numbers(received_); }
  /// How many arrive, and which one an event that goes out stands for.
  [[nodiscard]] int received() const { return received_.back(); }
  [[nodiscard]] EdgePartition received_by(int event) const { return partition_of(received_, event); }
  /// How many become ready, and which one an event below that number stands for.
  [[nodiscard]] int sent() const { return sent_.back(); }
  [[nodiscard]] EdgePartition sent_by(int event) const { return partition_of(sent_, event); }

  /// A partition that is sent is ready: fires its events by fire_once(event), false where one has come in already.
  /// Throws Error(argument) if there is no such partition, or it was ready before. By several threads at once.
  template <class FireOnce>
  void ready(int edge, int partition, FireOnce&& fire_once) const {
    const int event = event_of_sent(edge, partition);
    // What is shared first: the exchange cannot end, and another one start, before the partition's own event.
    if (!shared_.empty())
      for (const int each : shared_[static_cast<std::size_t>(event)]) static_cast<void>(fire_once(each));
    require(fire_once(event), ErrorKind::argument, [&] { return text(edge, partition) + " is ready already"; });
  }
  [[nodiscard]] static std::string text(int edge, int partition) {
    return "partition " + std::to_string(partition) + " of edge " + std::to_string(edge);
  }

  /// Partition p of P of an edge of n elements is its elements [n p / P, n (p + 1) / P). To be called once.
  [[nodiscard]] std::vector<PlanEvent> events(const RankPattern& pattern, const Topology& topology, const Call& call);

 private:
  using Firsts = std::vector<int>;  // by edge, and one more
  static Firsts sum(std::span<const int> partitions);
  static std::vector<int> numbers(const Firsts& first);
  static int event(const Firsts& first, int edge, int partition);
  static EdgePartition partition_of(const Firsts& first, int event);
  static void add(std::vector<PlanEvent>& events, const Firsts& first, const std::vector<Neighbor>& neighbors,
                  const std::vector<Edge>& edges, const Integers& counts, bool is_received);
  void share(std::vector<PlanEvent>& events);

  Firsts sent_;
  Firsts received_;
  std::vector<std::vector<int>> shared_;  // by event of what is sent: those of bytes that others name, too
};

/// What is wrong with the numbers of partitions of so many edges; empty if nothing is.
[[nodiscard]] std::string fault_in_partitions(const char* name, const int partitions[], int degree);

}  // namespace laneway
