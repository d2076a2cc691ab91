#pragma once

#include <mpi.h>

#include <string>
#include <utility>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "base/bytes/types.hpp"
#include "plan/memory_path.hpp"

namespace laneway {

/// How the strategy of a request was chosen.
struct Reasons {
  std::string strategy = {};                 ///< that is used, with its level where levels were named
  std::string parameters = {};               ///< name of those that gave the costs; empty if nothing was predicted
  std::vector<std::string> strategies = {};  ///< of the outermost level
  Selection selection = {};                  ///< predictions by strategy
  bool one_region = false;                   ///< of all ranks, so that nothing can be relayed
  bool is_trial = false;  ///< the strategy is not the one with the least cost, but is tried against the others' calls

  struct Measured {
    std::string strategy;
    double seconds = 0;
  };
  std::vector<Measured> measured = {};  ///< exchanges under lnw_tune=measure, if the file remembered none
  std::string remembered = {};          ///< the file that did

  std::string rule_reason = {};  ///< for people: why a dense operation has the rule that it has
  std::vector<std::pair<std::string, double>> rule_seconds = {};  ///< predicted, of those that there were

  std::string progress_by = {};      ///< what goes on with exchanges while their ranks are in no call of this library
  std::string progress_reason = {};  ///< for people, if nothing is relayed for want of it

  std::string no_puts = {};  ///< for people, if messages between nodes should be put into windows, and some are not

  MemoryPath path = MemoryPath::staged;
  std::string path_reason = {};  ///< for people
  std::vector<std::pair<MemoryPath, double>> path_seconds =
      {};  ///< predicted, of those that there was a choice between
};

/// Of MPI's own operation.
[[nodiscard]] inline Reasons mpi_reasons(std::string why) {
  return {.strategy = "mpi", .rule_reason = std::move(why)};
}

/// For LNW_Request_get_info; the caller frees it.
[[nodiscard]] MPI_Info info_of(const Reasons& reasons);

/// Under LANEWAY_VERBOSE=1, rank 0 writes which strategy and memory path were chosen and why to standard error.
void tell_reasons(const Reasons& reasons, Rank rank);

}  // namespace laneway
