#pragma once

#include <mpi.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes/types.hpp"
#include "plan/memory_path.hpp"

namespace laneway {

/// A way to run a call, of those that are weighed against each other.
struct Candidate {
  std::string name;                    ///< of the strategy or the rule; `mpi`: MPI's own operation
  bool relays = false;                 ///< ranks pass on what is not theirs
  std::optional<double> seconds = {};  ///< that an exchange is predicted to take
  std::vector<double> bounds = {};     ///< of which that is made, as laneway::bounds has them; none: the model has none
};

/// How what runs a call was chosen.
struct Reasons {
  std::string strategy = {};               ///< the candidate that is used, with its level where levels were named
  std::string parameters = {};             ///< name of those that gave the costs; empty if nothing was predicted
  std::vector<Candidate> candidates = {};  ///< none where a hint names what is used
  bool one_region = false;                 ///< of all ranks, so that nothing can be relayed
  bool is_trial = false;  ///< the strategy is not the one with the least cost, but is tried against the others' calls

  struct Measured {
    std::string strategy;
    double seconds = 0;
  };
  std::vector<Measured> measured = {};  ///< in a trial, unless its outcome was remembered
  std::string remembered = {};          ///< the file that did

  std::string rule_reason = {};  ///< for people: why a dense operation has the rule that it has

  std::string progress_by = {};      ///< what goes on with exchanges while their ranks are in no call of this library
  std::string progress_reason = {};  ///< for people, if nothing is relayed for want of it

  std::string transport_reason = {};  ///< for people, if messages do not go as lnw_transport asks

  MemoryPath path = MemoryPath::staged;
  std::string path_reason = {};  ///< for people
  std::vector<std::pair<MemoryPath, double>> path_seconds =
      {};  ///< predicted, of those that there was a choice between

  [[nodiscard]] bool has_costs() const {
    return std::ranges::any_of(candidates, [](const Candidate& candidate) { return candidate.seconds.has_value(); });
  }
};

/// Of MPI's own operation.
[[nodiscard]] inline Reasons mpi_reasons(std::string why) {
  return {.strategy = "mpi", .rule_reason = std::move(why)};
}

/// For LNW_Request_get_info; the caller frees it.
[[nodiscard]] MPI_Info info_of(const Reasons& reasons);

/// Under LANEWAY_VERBOSE=1, rank 0 writes which strategy and memory path were chosen and why to standard error.
void log_reasons(const Reasons& reasons, Rank rank);

}  // namespace laneway
