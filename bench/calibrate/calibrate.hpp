#pragma once

#include <mpi.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "measure/run.hpp"
#include "measure/timing.hpp"

namespace laneway::bench {

using Record = Json;

/// One thing to measure. The same list is made on all ranks.
struct Measurement {
  Record what;                   ///< the record that is written, but for its samples
  std::vector<Rank> ranks = {};  ///< that take part; the others sleep
  std::function<std::function<void()>(MPI_Comm)> prepare =
      {};                  ///< collective over these, in their order: what is timed
  int parts = 1;           ///< the time of a call is that of so many
  std::string sweep = {};  ///< ascending sizes; ends when one takes too long
  bool busy = false;       ///< all ranks compete for the cores: needs longer batches
  double (*clock)() = wall_seconds;
};

/// Two ranks, and what joins them: `core` (of one NUMA domain), `socket`, `node` or `network`.
struct Link {
  std::string name;
  std::vector<Rank> ends;
};

/// One link of each class that exists, the shortest first. Collective.
[[nodiscard]] std::vector<Link> find_links(const Run& run);
/// The ranks of each node, by its number.
[[nodiscard]] std::vector<std::vector<Rank>> members_of(const Nodes& nodes);
/// Which nodes share a host, and how many cores its ranks share: of the host where they are scarcest. Collective.
[[nodiscard]] Record describe_hosts(const Run& run);

/// Whom a rank sends a message to and receives one from at the same time; MPI_PROC_NULL for nobody.
struct Shift {
  Rank destination = MPI_PROC_NULL;
  Rank source = MPI_PROC_NULL;
};
/// To how many different ranks shifts_between_nodes leads, at most.
[[nodiscard]] int partners_between_nodes(const Run& run);
/// Of the calling rank, `count` in all, to ranks of other nodes in turn. None if there is one node. Some ranks have
/// nobody for some of them.
[[nodiscard]] std::vector<Shift> shifts_between_nodes(const Run& run, std::size_t count);
/// To the other ranks of its node in turn; none if every rank is alone on its node.
[[nodiscard]] std::vector<Shift> shifts_inside_nodes(const Run& run, std::size_t count);
/// How many messages a rank sends on average. Collective.
[[nodiscard]] double messages_of_rank(const Run& run, const std::vector<Shift>& shifts);

/// What the MPI library's messages cost, one at a time and many. Collective.
[[nodiscard]] std::vector<Measurement> measure_messages(const Run& run, bool quick);
/// What goes through the memory of a node, and copies. Collective.
[[nodiscard]] std::vector<Measurement> measure_memory(const Run& run, bool quick);

/// The MPI library's own collective operations, by all ranks. Collective.
[[nodiscard]] std::vector<Measurement> measure_collectives(const Run& run, bool quick);

/// 1, 2, 4, … below `last`, and `last`; none for 0.
[[nodiscard]] std::vector<int> doubling(int last);
[[nodiscard]] std::vector<Rank> all_ranks(const Run& run);

}  // namespace laneway::bench
