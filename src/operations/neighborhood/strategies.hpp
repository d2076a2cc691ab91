#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operations/choose/planning.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// The strategies that an operation can be run by, on the memory path that is left or, of several, the one of the least
/// predicted cost; messages inside the node are lent only where the parameters do not predict that this is slower. All
/// functions are collective.
class StrategyCandidates {
 public:
  /// `agreed` must outlive it.
  StrategyCandidates(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, Use use);

  /// Without costs, unless these have chosen the path.
  [[nodiscard]] Candidates all();
  void predict(Candidates& candidates);
  /// The fastest of the few most promising in exchanges made here, unless that is remembered; none where some rank has
  /// no memory to try it.
  [[nodiscard]] std::optional<TrialResult> measure(Candidates& candidates);
  /// For the last time. Returns what messages alone would carry.
  std::shared_ptr<const Plan> plan(const std::string& strategy, Chosen& chosen);

 private:
  [[nodiscard]] StrategyOnPath on(MemoryPath path) const { return strategies_on(path, communicator_, comm_, agreed_); }
  [[nodiscard]] Planned make(const StrategyOnPath& strategies) const {
    return make_plan(communicator_, comm_, agreed_, strategies);
  }
  const Parameters& parameters();
  void choose_path();
  void limit_lending();
  [[nodiscard]] const Planned& planned(const std::string& strategy);

  Communicator& communicator_;
  const PrivateComm& comm_;
  const Agreed& agreed_;
  Paths paths_;
  NodeUse node_;
  const bool tries_;  // strategies, so that the path is not left to costs
  std::shared_ptr<const Parameters> parameters_;
  std::vector<std::pair<MemoryPath, double>> path_seconds_;
  std::optional<Planned> by_costs_;
  std::map<std::string, Planned> planned_;  // by messages
  std::map<std::string, Planned> tried_;    // as they were in a trial
};

}  // namespace laneway
