#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "communicator/arguments/signature.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/hints/hints.hpp"
#include "operations/choose/trial.hpp"
#include "operations/pipeline/bound_plan.hpp"
#include "operations/request/edge_partitions.hpp"
#include "operations/request/work.hpp"

namespace laneway {

/// Whether exchanges of an operation may be active while their ranks are in no call of this library.
enum class Phases : std::uint8_t { one, split };

/// What a plan is for.
enum class Use : std::uint8_t {
  request,  ///< one pair of buffers, as persistent operations have
  calls,    ///< any buffers; exchanges of several such plans may be active, so that they share no memory
  trial  ///< as calls; where hints name no strategy, one that relays rather than `direct`, unless that is expected to
         ///< be far slower
};

/// What a rank says of a call before it hears from others, beside its hints.
struct Proposal {
  Flags flags{};                                      ///< all ranks learn which are true on all of them
  std::optional<std::uint64_t> edges = {};            ///< see edge_sum
  Planner* planner = nullptr;                         ///< see agree
  std::vector<ControlMessage> control_messages = {};  ///< its first round
};

/// What a call can be run by. Equal on all ranks.
struct Candidates {
  Reasons reasons = {};       ///< all of them, and what is known of them before one is picked
  std::string only = {};      ///< the one that a hint names, or that alone is left; empty: there is a choice
  std::string cheapest = {};  ///< of the least predicted cost; empty until costs are asked for
};

/// The candidate to run by, as a plan that is ready to be bound.
struct Chosen {
  ReadyPlan ready = {};  ///< without a plan: see AlgorithmFamily::work_without_plan
  Reasons reasons = {};
  Region node = {};     ///< the ranks between which nothing crosses the network
  Region lending = {};  ///< ranks that open each other's buffers, once all of them are bound; no members: none do
  std::size_t bindings = BoundPlan::most_bindings;        ///< of a plan for calls
  std::unique_ptr<const EdgePartitions> partitions = {};  ///< for which the plan's events stand; or null
};

/// A call of a planned operation, and what its family knows of it: all that the pipeline cannot know itself. A stage
/// of the pipeline calls functions of it: agree `propose` and `agreed`; choose `candidates`, `tuned` and `predict`;
/// then `plan` and `prove`.
class AlgorithmFamily {
 public:
  AlgorithmFamily() = default;
  AlgorithmFamily(const AlgorithmFamily&) = delete;
  AlgorithmFamily& operator=(const AlgorithmFamily&) = delete;
  virtual ~AlgorithmFamily() = default;

  /// Of the operation, for people and errors.
  [[nodiscard]] virtual const char* name() const = 0;
  [[nodiscard]] virtual Buffers buffers() const = 0;
  /// False: a request gets its buffers later.
  [[nodiscard]] virtual bool has_buffers() const { return true; }
  /// Of a call that has been found good.
  [[nodiscard]] virtual CallSignature signature() const = 0;

  /// Those that are asked for; what ranks have agreed on, once they have.
  [[nodiscard]] virtual Hints& hints() = 0;

  /// Looks at the arguments, and says what all ranks must know of them. Local. Throws Error that names the bad one.
  virtual void propose(Proposal& proposal) = 0;
  /// With what all ranks have said. Collective. Returns the first of the tags that it has taken for its messages.
  virtual int agreed(Agreement agreement) = 0;
  /// All that the call can be run by, MPI's own operation among them. Costs may be left out. Collective.
  [[nodiscard]] virtual Candidates candidates(Use use) = 0;
  /// What a trial has found, now or earlier, if there is one. Costs are added if it needs them. Collective.
  [[nodiscard]] virtual std::optional<TrialResult> tuned(Candidates&) { return std::nullopt; }
  /// Adds costs that are left out. Collective.
  virtual void predict(Candidates&) {}
  /// The plan of a candidate, into what has the reasons. Collective.
  virtual void plan(const std::string& candidate, Chosen& chosen) = 0;
  /// Under lnw_check=plan. `what`: the candidate. Collective.
  virtual void prove(const Plan& plan, std::string_view what) const = 0;

  /// What the rank sends and receives, where calls with other arguments may move the same; null: its arguments say all.
  [[nodiscard]] virtual const RankPattern* pattern() const { return nullptr; }

  /// What runs where `chosen` has no plan: MPI's own operation, or a way that is no plan's. Collective.
  [[nodiscard]] virtual std::unique_ptr<Work> work_without_plan(Chosen& chosen);
};

}  // namespace laneway
