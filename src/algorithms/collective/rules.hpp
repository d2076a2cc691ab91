#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/collective/call.hpp"
#include "algorithms/collective/layout.hpp"
#include "algorithms/cost/seconds.hpp"
#include "plan/writer/writer.hpp"

namespace laneway {

/// What all ranks agree on beside the call.
struct DenseSettings {
  Rank leaders = 4;                    ///< a node, of multi_leader, locality_aware, multi_leader_locality (lnw_leaders)
  Rank radix = 2;                      ///< of rules with DenseTraits::hops (lnw_radix); 0: what costs say
  std::int64_t segment_bytes = 65536;  ///< what is pipelined is cut into pieces of this size
  std::int64_t short_bytes = 4096;     ///< up to which trees are flat, since data is not worth the latency of levels

  [[nodiscard]] bool is_short(std::int64_t bytes) const { return bytes <= short_bytes; }
};

/// What carries the messages of a rule: messages, or puts into windows between fences, or under a lock of all windows.
enum class Windows : std::uint8_t { none, fence, lock };

/// What a rule does and needs.
struct DenseTraits {
  bool in_order = false;    ///< operands are combined in the order of ranks: results are canonical
  bool equal_only = false;  ///< all blocks must be as large
  bool relays = false;      ///< ranks pass on what is not theirs
  bool balances = false;    ///< what a node sends is spread over its ranks, whoever has it
  bool hops = false;        ///< by the digits of a number whose base is the radix
  Windows windows = Windows::none;
};

/// What a rule costs, from facts that all ranks share: of the rank, or node, that has most to do. It waits once a
/// round, for messages that wait for those of the one before.
/// What memory carries counts as `node`.
struct DenseCost : Flows {
  Flow injected;         ///< what leaves the busiest node, of all its ranks
  int ways = 2;          ///< 1: who has most to do sends or receives, not both
  bool at_once = false;  ///< each rank's messages to other nodes are under way together
  Flows all;             ///< what all ranks do together, which matters where they share processors
};

/// What all ranks know of a call. `bytes`: of a block (alltoall, allgather, gather, scatter: the mean, agreed, if they
/// differ), or of the vector.
struct DenseFacts {
  Dense kind = Dense::barrier;
  Rank root = 0;
  std::int64_t bytes = 0;
  std::int64_t element_bytes = 1;
  bool in_order = false;  ///< the operator's operands may not be exchanged, or results are to be canonical
  bool equal = true;      ///< all blocks are as large, which all ranks know
  /// Bytes that the busiest rank, or node, sends to other nodes or receives; 0: those of blocks that are as large.
  std::int64_t of_busiest_rank = 0;
  std::int64_t of_busiest_node = 0;
};

namespace dense {
struct Shape;
}

/// A rule as everything else knows it: tests, benchmarks, command line and documentation iterate over these rows.
struct DenseRule {
  Dense kind;
  std::string_view name;
  std::string_view description;
  std::string_view citation;
  DenseTraits traits;
  /// Appends what the call's rank does. A pure function: equal facts give plans that fit each other.
  void (*write)(PlanWriter& writer, const DenseCall& call, const Layout& layout, const DenseSettings& settings);
  DenseCost (*cost)(const dense::Shape& shape);
  /// Sizes that `rank` needs of others; null: none. Not asked for where all sizes are equal.
  std::vector<Want> (*wants)(Rank rank, Rank root, const Layout& layout, const DenseSettings& settings) = nullptr;
  /// Sizes that travel as the blocks do, after those that are wanted are known, round after round; null: none.
  std::vector<std::vector<SizeHop>> (*passes)(Rank rank, const Layout& layout, const DenseSettings& settings) = nullptr;
};

/// By operation.
[[nodiscard]] std::span<const DenseRule> dense_rules();
/// Those of each file in rules/, whose namespace `dense::FILE` has them in `rules()`: laneway_table writes this.
[[nodiscard]] std::vector<DenseRule> dense_rows();

/// Throws Error(info) that lists the valid names of the kind.
[[nodiscard]] const DenseRule& find_dense_rule(Dense kind, std::string_view name);

/// Whether a rule is right for such a call.
[[nodiscard]] bool applies(const DenseRule& rule, const DenseFacts& facts);

/// What `rank` must ask other members of its region for before its plan is made. Each member finds out who asks it by
/// evaluating this for the others: nothing is announced.
[[nodiscard]] std::vector<Want> wanted_sizes(const DenseRule& rule, Rank rank, Rank root, const Layout& layout,
                                             const DenseSettings& settings);

/// Sizes that `rank` tells and hears of, in as many rounds on all ranks.
[[nodiscard]] std::vector<std::vector<SizeHop>> passed_sizes(const DenseRule& rule, Rank rank, const Layout& layout,
                                                             const DenseSettings& settings);

/// One rank's plan: messages name their places, nothing is packed yet. Combinations: the call's, or none.
[[nodiscard]] Plan make_dense_plan(const DenseRule& rule, const DenseCall& call, const Layout& layout,
                                   const DenseSettings& settings = {});

}  // namespace laneway
