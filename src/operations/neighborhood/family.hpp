#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "communicator/arguments/call.hpp"
#include "communicator/communicator.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/paths.hpp"
#include "operations/choose/planning.hpp"
#include "operations/pipeline/family.hpp"

namespace laneway {

/// Of this rank alone, which its peers need not know.
struct CallEvents {
  std::vector<PlanEvent> events = {};
  std::unique_ptr<const EdgePartitions> partitions = {};  ///< for which they stand; or null
};

/// A neighborhood operation: both sides know the edges, and have the strategies on the lanes of regions, each on the
/// memory paths that there are, as candidates.
class NeighborhoodFamily final : public AlgorithmFamily {
 public:
  NeighborhoodFamily(Communicator& communicator, PrivateComm& comm, const Call& call, Phases phases = Phases::split,
                     CallEvents events = {})
      : communicator_(communicator), comm_(comm), call_(call), phases_(phases), events_(std::move(events)) {}

  [[nodiscard]] const char* name() const override { return laneway::name(call_.kind); }
  [[nodiscard]] Buffers buffers() const override { return buffers_of(call_); }
  [[nodiscard]] bool has_buffers() const override { return call_.has_buffers(); }
  [[nodiscard]] CallSignature signature() const override { return {call_, communicator_.topology()}; }

  [[nodiscard]] Hints& hints() override { return agreed_.hints; }

  void propose(Proposal& proposal) override;
  int agreed(Agreement agreement) override;
  [[nodiscard]] Candidates candidates(Use use) override;
  [[nodiscard]] std::optional<TrialResult> tuned(Candidates& candidates) override;
  void predict(Candidates& candidates) override;
  void plan(const std::string& candidate, Chosen& chosen) override;
  void prove(const Plan& plan, std::string_view what) const override;
  [[nodiscard]] const RankPattern* pattern() const override { return &edges(); }

 private:
  [[nodiscard]] const RankPattern& edges() const {
    return agreed_.reduction ? agreed_.reduction->what.pattern : agreed_.pattern;
  }
  [[nodiscard]] bool may_relay_with(bool have_helpers) const;
  [[nodiscard]] bool knows_all() const;
  [[nodiscard]] StrategyOnPath on(MemoryPath path) const;
  void connect(Use use);
  void choose_path();
  void limit_lending();
  /// Collective where it has not been planned yet.
  [[nodiscard]] const Planned& planned(const std::string& strategy);

  Communicator& communicator_;
  PrivateComm& comm_;
  const Call& call_;
  const Phases phases_;
  CallEvents events_;
  Agreed agreed_;
  PathSupport support_;
  NodeUse node_;         // on the memory path that has been chosen
  std::string refusal_;  // for people: why messages do not go as lnw_transport=nccl asks
  std::vector<std::pair<MemoryPath, double>> path_seconds_;
  std::optional<Planned> by_costs_;
  std::map<std::string, Planned> planned_;  // by messages, by strategy
};

}  // namespace laneway
