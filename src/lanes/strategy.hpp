#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanes/view.hpp"
#include "machine/fabric.hpp"

namespace laneway {

/// Bytes [begin, end) of the block that `source` has for the lane's destination region.
struct Piece {
  Rank source = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;

  [[nodiscard]] std::int64_t bytes() const { return end - begin; }
  friend bool operator==(const Piece&, const Piece&) = default;
};

/// One message between two regions: gathered at `sender`, sent to `receiver`, scattered from there.
struct Lane {
  Rank from_region = 0;
  Rank to_region = 0;
  Rank sender = -1;
  Rank receiver = -1;
  std::vector<Piece> pieces;
  std::vector<Rank> destinations = {};  ///< for whom it carries them, ascending; empty: for all that need any of them

  [[nodiscard]] std::int64_t bytes() const;
  [[nodiscard]] bool carries_for(Rank destination) const;
  friend bool operator==(const Lane&, const Lane&) = default;
};

/// The rule that chooses the lanes between regions. Both functions are pure and deterministic: all members of a region
/// evaluate them on equal views and must get equal results.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// False: no lanes at all, each edge is one message from its source to its destination.
  [[nodiscard]] virtual bool relays() const { return true; }

  /// False: what one lane carries is for one destination only, so every edge has bytes of its own even where several
  /// name the same bytes of the send buffer.
  [[nodiscard]] virtual bool deduplicates() const { return true; }

  /// Whether messages that no lane carries are started in an order in which no receiver is hit by all at once, rather
  /// than in that of the arguments.
  [[nodiscard]] virtual bool spreads() const { return false; }

  /// True: multiplying all sizes by one factor multiplies the lanes' pieces by it and changes nothing else, so that
  /// lanes chosen for one size of messages serve any other. False where cuts fall on multiples of some size.
  [[nodiscard]] virtual bool scales() const { return true; }

  /// True: edges inside a region, but for those of a rank to itself, are carried by lanes too. The views then have a
  /// link from the region to itself, and no lane of it may have its sender for its receiver.
  [[nodiscard]] virtual bool relays_inside() const { return false; }

  /// True: it goes by the links between devices, so `auto` chooses it only where messages take these.
  [[nodiscard]] virtual bool goes_by_fabric() const { return false; }

  /// How many levels of the machine the strategy itself needs; more than one if the two functions below return any.
  [[nodiscard]] virtual int levels() const { return 1; }
  /// The strategy of the next level for edges inside a region, and the one for what lanes have brought to it; null:
  /// whatever is chosen for that level.
  [[nodiscard]] virtual const Strategy* inside() const { return nullptr; }
  [[nodiscard]] virtual const Strategy* scatter() const { return nullptr; }

  /// True: its regions are the lines of a grid of ranks, one level a dimension, rather than those of the machine.
  [[nodiscard]] virtual bool on_grid() const { return false; }

  /// The receiving region's choice: cuts the blocks of every incoming link into lanes and names their receivers.
  /// Every byte of every block is in exactly one lane for each of its destinations; between regions, where it must
  /// cross once, in one lane for all of them.
  [[nodiscard]] virtual std::vector<Lane> assign_receivers(const RegionView& view) const = 0;

  /// The sending region's answer: sets `sender` of each lane that leaves it, to one of its members. `incoming`: what
  /// assign_receivers has returned for the region.
  virtual void assign_senders(const RegionView& view, const std::vector<Lane>& incoming,
                              std::vector<Lane>& lanes) const = 0;
};

/// What strategies may be told besides the view. All ranks use equal ones.
struct StrategySettings {
  /// split: no lane is longer, unless few regions send so much that there would be many more lanes than ranks.
  /// multi_path: no chunk is shorter, but those of shorter blocks. Bytes.
  std::int64_t message_cap = 65536;
  /// leader_scatter, multi_path: the links between devices of a node; null if nothing is known of them.
  std::shared_ptr<const Fabric> fabric = nullptr;
};

/// A strategy as everything else knows it: tests, benchmarks, command line and documentation iterate over these rows.
struct StrategyRow {
  std::string_view name;
  std::string_view description;
  std::string_view citation;
  std::string_view operations;  ///< which operations it fits
  std::string_view levels;      ///< which levels of the machine it fits
  std::unique_ptr<Strategy> (*factory)(const StrategySettings&);

  [[nodiscard]] std::unique_ptr<Strategy> make(const StrategySettings& settings = {}) const {
    return factory(settings);
  }
};

[[nodiscard]] std::span<const StrategyRow> strategies();

/// The row of `name`; throws Error(info) that lists the valid names.
[[nodiscard]] const StrategyRow& find_strategy(std::string_view name);

/// Names that stand for a strategy with a setting: `three_step_nodedup` is three_step without deduplication, `auto`
/// whichever is expected to be the fastest.
struct StrategyChoice {
  const StrategyRow* row = nullptr;  ///< null: to be chosen
  bool deduplicate = true;
  bool by_fabric = false;  ///< to be chosen for one node, whose ranks' messages take the links between its devices

  [[nodiscard]] bool is_automatic() const { return row == nullptr; }
  [[nodiscard]] std::string_view name() const;
  /// That of the strategy, or those from which one is chosen, in the order of the registry: all that need nothing
  /// beside the view; in one node `direct`, and those that go by the links between devices.
  [[nodiscard]] std::vector<const StrategyRow*> rows() const;

  friend bool operator==(const StrategyChoice&, const StrategyChoice&) = default;
};
[[nodiscard]] StrategyChoice parse_strategy(std::string_view text);

/// Strategies can be chosen for so many levels at a time.
inline constexpr std::size_t most_levels = 3;

/// The strategy of one level of the machine; `level` is empty where the text names none, which means the outermost.
struct LevelChoice {
  std::string level;
  StrategyChoice choice;
};

/// Reads `three_step` or, outermost level first, `node:three_step,socket:two_step`. Throws Error(info).
[[nodiscard]] std::vector<LevelChoice> parse_levels(std::string_view text);

/// The strategies of all levels that a choice needs, outermost first: also those that the outermost one brings with it.
struct Levels {
  std::vector<LevelChoice> choices;
  std::string
      grid;  ///< the machine description of the grid whose dimensions the levels are; empty: they are the machine's

  [[nodiscard]] std::vector<std::string> names() const;
};

/// `text` as for parse_levels; `grid`, such as `4x4`, for strategies that work on one. Throws Error(info).
[[nodiscard]] Levels choose_levels(std::string_view text, const std::string& grid = "", bool deduplicate = true);

[[nodiscard]] std::unique_ptr<Strategy> make_direct(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_spread(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_three_step(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_leader_scatter(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_cartesian_combining(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_two_step(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_split(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_load_aware(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_common_neighborhood(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_grouped(const StrategySettings& settings = {});
[[nodiscard]] std::unique_ptr<Strategy> make_multi_path(const StrategySettings& settings = {});

}  // namespace laneway
