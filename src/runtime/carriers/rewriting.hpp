#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/side.hpp"

namespace laneway::local {

/// What the ranks of the node do with each other's memory, as one of them knows it: what has gates.
struct PeerUse {
  PeerUse(const Sides& out, const Sides& in);

  [[nodiscard]] bool is_none() const {
    return !brings && mailed_to.empty() && pushed_to.empty() && pulled.empty() && taken_from.empty();
  }

  std::map<Rank, RangeSet> pulled;         ///< from this rank's staging memory, by reader
  std::map<Rank, std::int64_t> pushed_to;  ///< and the distance of the two places there
  bool pushed_here = false;
  std::map<Rank, int> mailed_to;  ///< and the least number of slots there
  std::set<Rank> taken_from;
  bool brings = false;  ///< some message goes by a carrier without gates
};

/// Turns messages of one plan into the moves and words that both sides have agreed on, with the gates that let memory
/// be reused; see Localizer. The references must outlive the object.
class Rewriting {
 public:
  Rewriting(Plan& plan, const Sides& out, const Sides& in, const PeerUse& use, bool shares_staging,
            std::int64_t alternate);

  void run(const Region& node);

 private:
  int add(Step step);
  int add_gate(Rank peer, Sign sign, std::int32_t lag);
  void add_first_gates(const Region& node);
  [[nodiscard]] bool fills_staging() const;
  [[nodiscard]] std::vector<int> gates_before(const Step& step);
  void put(Step& step, const Side& side) const;
  void take(Step& step, const Side& side);
  int follow(const Side& side);

  Plan& plan_;
  const PeerUse& use_;
  const bool shares_;
  const std::int64_t alternate_;
  std::vector<const Side*> side_of_;                        // by step; null: it stays as it is
  std::vector<Step> steps_;                                 // so far
  std::map<Rank, int> may_push_;                            // gates: into the staging memory of a peer
  std::map<Rank, int> has_pulled_;                          // gates
  int own_ready_ = -1;                                      // the gate of shared staging memory; -1: nothing writes it
  std::map<std::pair<Rank, int>, std::set<int>> gates_of_;  // of receives so far, by peer and channel
};

}  // namespace laneway::local
