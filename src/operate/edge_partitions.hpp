#pragma once

#include <span>
#include <string>
#include <vector>

#include "arguments/call.hpp"
#include "arguments/topology.hpp"
#include "passes/events.hpp"
#include "pattern/pattern.hpp"

namespace laneway {

/// Which event stands for a partition of an edge: those of what is sent come in, those of what is received go out, both
/// numbered edge by edge, in the order of the arguments.
class EdgePartitions {
 public:
  /// `sent[i]`: into how many partitions the i-th destination's block is divided; `received` likewise. One of no
  /// partitions is there when the exchange starts.
  EdgePartitions(std::span<const int> sent, std::span<const int> received)
      : sent_(sum(sent)), received_(sum(received)) {}

  /// Throw Error(argument) if there is no such edge or partition.
  [[nodiscard]] int event_of_sent(int edge, int partition) const { return event(sent_, edge, partition); }
  [[nodiscard]] int event_of_received(int edge, int partition) const { return event(received_, edge, partition); }

  /// Partition p of P of an edge of n elements is its elements [n p / P, n (p + 1) / P).
  [[nodiscard]] std::vector<PlanEvent> events(const RankPattern& pattern, const Topology& topology,
                                              const Call& call) const;

 private:
  using Firsts = std::vector<int>;  // by edge, and one more
  static Firsts sum(std::span<const int> partitions);
  static int event(const Firsts& first, int edge, int partition);
  static void add(std::vector<PlanEvent>& events, const Firsts& first, const std::vector<Neighbor>& neighbors,
                  const std::vector<Edge>& edges, const Integers& counts, bool is_received);

  Firsts sent_;
  Firsts received_;
};

/// What is wrong with the numbers of partitions of so many edges; empty if nothing is.
[[nodiscard]] std::string fault_in_partitions(const char* name, const int partitions[], int degree);

}  // namespace laneway
