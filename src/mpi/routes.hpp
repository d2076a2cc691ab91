#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "mpi/communicator.hpp"
#include "setup/planner.hpp"
#include "setup/route.hpp"

namespace laneway {

/// How blocking and nonblocking operations whose edges all have one size move data: planned when the topology is made,
/// since these calls can agree on nothing. All ranks know without talking which sizes are relayed.
class Routes {
 public:
  /// Collective. Null if nothing is relayed.
  static std::shared_ptr<Routes> make(Communicator& communicator, const Hints& hints);

  /// The plan for edges of `bytes` bytes, which all edges of `pattern` have; null: each edge is one message. Local.
  std::shared_ptr<const Plan> plan(Uniform operation, const RankPattern& pattern, std::int64_t bytes);

  [[nodiscard]] const std::string& strategy() const { return strategy_; }

 private:
  struct SizeClass {
    std::int64_t largest_bytes;
    std::shared_ptr<const Route> route;
  };
  struct Recent {
    RankPattern pattern;
    std::int64_t bytes = -1;
    std::shared_ptr<const Plan> plan;
  };

  LoweringOptions lowering_;
  std::string strategy_;
  std::map<Uniform, std::vector<SizeClass>> classes_;  // ascending
  std::map<Uniform, Recent> recent_;
};

/// What the hint lnw_fixed_counts promises for operations whose edges differ in size: the plans of first calls serve
/// all later ones with datatypes of the same sizes.
struct FixedPlan {
  RankPattern pattern;
  std::shared_ptr<const Plan> plan;
  std::string strategy;
};

/// Runs a planner's rounds over `comm`, and remembers what it finds out about the communicator.
void carry_out(Planner& planner, Communicator& communicator, const PrivateComm& comm, const Hints& hints);

}  // namespace laneway
