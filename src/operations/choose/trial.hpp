#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/trials/autotuner.hpp"
#include "communicator/private_comm.hpp"
#include "operations/choose/reasons.hpp"

namespace laneway {

/// One of the ways to run an operation that a trial times.
struct TrialCandidate {
  std::string name;
  std::function<void()> exchange = {};  ///< runs one, in memory of the library's own
};

/// Those that are worth a trial: `first`, and then those that are expected to take the least time.
[[nodiscard]] std::vector<Candidate> most_promising(std::vector<Candidate> candidates, std::string_view first,
                                                    const TrialRules& rules);

/// What a trial has found, the same on all ranks.
struct TrialResult {
  std::string best = {};  ///< name of the candidate to take
  std::vector<Reasons::Measured> measured = {};
  std::string remembered = {};  ///< the file that says so, of an earlier trial
  std::string why = {};         ///< for people; or empty
};

/// Times the candidates in turns. What counts is when the last rank is through. All ranks have candidates of the same
/// names. Collective.
[[nodiscard]] TrialResult try_candidates(const PrivateComm& comm, std::span<const TrialCandidate> candidates,
                                         const TrialRules& rules);

}  // namespace laneway
