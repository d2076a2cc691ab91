#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "algorithms/planner/route.hpp"
#include "communicator/communicator.hpp"
#include "communicator/control/agreement.hpp"

namespace laneway {

/// How blocking and nonblocking operations whose edges all have one size move data. Nonblocking calls can agree on
/// nothing: with a strategy that relays, all is planned when the topology is made. Where the strategy is to be chosen,
/// the first blocking call of an operation and a class of sizes plans, and nonblocking ones use what is there. All
/// ranks know without talking which sizes are relayed.
class Routes {
 public:
  /// Whether there is anything to choose or relay, for ranks in number `ranks` of which `region` holds those in this
  /// one's. Local.
  static bool wanted(const Hints& hints, const Region& region, Rank ranks);

  /// Collective. Null if nothing is relayed. `nodes` as from agree_on_nodes.
  static std::shared_ptr<Routes> make(Communicator& communicator, const Hints& hints, const Agreement& nodes);

  /// In a blocking call that moves `pattern`, whose outgoing edges all have one size, and whose incoming edges have:
  /// plans for edges of `bytes` bytes if that has not been done. Collective. If the ranks find that these sizes differ,
  /// nothing is relayed from then on.
  void prepare(Communicator& communicator, Kind operation, const RankPattern& pattern, std::int64_t bytes);

  /// Each edge is one message from now on.
  void relay_nothing() {
    relays_nothing_ = true;
    ++version_;
  }

  /// Another number each time that something has been planned, on all ranks in the same calls.
  [[nodiscard]] std::uint64_t version() const { return version_; }

  struct Routed {
    std::shared_ptr<const Plan> plan;  ///< null: each edge is one message
    std::string_view strategy;
  };
  /// The plan for edges of `bytes` bytes, which all edges of `pattern` have. Local.
  Routed plan(Kind operation, const RankPattern& pattern, std::int64_t bytes);

 private:
  struct SizeClass {
    bool planned = false;
    std::int64_t largest_bytes = 0;
    std::shared_ptr<const Route> route;  ///< null: each edge is one message
    std::string_view strategy;
  };
  /// Of what is planned, the bounds are still this rank's own.
  void plan_class(Communicator& communicator, Kind operation, std::size_t index);
  static void agree_on_bounds(const PrivateComm& comm, const std::vector<SizeClass*>& classes);
  struct Recent {
    RankPattern pattern;
    std::int64_t bytes = -1;
    std::shared_ptr<const Plan> plan;
  };

  Hints hints_;
  std::uint64_t version_ = 0;
  bool relays_nothing_ = false;
  std::map<Kind, std::vector<SizeClass>> classes_;  // ascending
  std::map<Kind, Recent> recent_;
};

/// What a communicator has for operations that cannot plan in their calls.
struct PlansOfCalls final : Attachment {
  std::shared_ptr<Routes> routes;  ///< for those whose edges have one size; null: each edge is one message
  bool fixed_counts = false;       ///< the hint lnw_fixed_counts
  bool split_phases_relay = true;  ///< whether nonblocking calls may relay, too; see may_relay
};

inline PlansOfCalls& plans_of_calls(Communicator& communicator) {
  return communicator.attachment<PlansOfCalls>();
}

}  // namespace laneway
