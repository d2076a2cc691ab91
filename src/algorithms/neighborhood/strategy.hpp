#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "algorithms/neighborhood/view.hpp"
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

/// What a strategy does and needs, as data: nobody makes one to ask it.
struct Traits {
  /// Beside the views.
  enum class Needs : std::uint8_t {
    nothing,
    fabric,  ///< the links between devices: `auto` chooses it only where messages take these
    grid     ///< its regions are the lines of a grid of ranks, one level a dimension, not those of the machine
  };

  /// False: no lanes at all, each edge is one message from its source to its destination.
  bool relays = true;
  /// False: what one lane carries is for one destination only, so every edge has bytes of its own even where several
  /// name the same bytes of the send buffer.
  bool deduplicates = true;
  /// True: multiplying all sizes by one factor multiplies the lanes' pieces by it and changes nothing else, so that
  /// lanes chosen for one size of messages serve any other. False where cuts may fall on multiples of some size.
  bool scales = true;
  /// Messages that no lane carries are started in an order in which no receiver is hit by all at once, rather than in
  /// that of the arguments.
  bool spreads = false;
  /// Edges inside a region, but for those of a rank to itself, are carried by lanes too, if the links between devices
  /// are known. The views then have traffic from the region to itself, and no lane of it may have its sender for its
  /// receiver.
  bool relays_inside = false;
  Needs needs = Needs::nothing;
  /// How many levels of the machine the strategy itself needs; more than one if it has an `inside` or a `scatter`.
  int levels = 1;
};

/// The rule that chooses the lanes between regions. Its functions are pure and deterministic: all members of a region
/// evaluate them on equal views and must get equal results.
class Strategy {
 public:
  explicit Strategy(const Traits& traits = {}) : traits_(traits) {}
  virtual ~Strategy() = default;

  /// Those of its row.
  [[nodiscard]] const Traits& traits() const { return traits_; }
  [[nodiscard]] bool relays() const { return traits_.relays; }
  [[nodiscard]] bool deduplicates() const { return traits_.deduplicates; }

  /// The strategy of the next level for edges inside a region, and the one for what lanes have brought to it; null:
  /// whatever is chosen for that level.
  [[nodiscard]] virtual const Strategy* inside() const { return nullptr; }
  [[nodiscard]] virtual const Strategy* scatter() const { return nullptr; }

  /// The receiving region's choice: cuts the blocks of all incoming traffic into lanes and names their receivers.
  /// Every byte of every block is in exactly one lane for each of its destinations; between regions, where it must
  /// cross once, in one lane for all of them.
  [[nodiscard]] virtual std::vector<Lane> assign_receivers(const RegionView& view) const = 0;

  /// The sending region's answer: sets `sender` of each lane that leaves it, to one of its members. `incoming`: what
  /// assign_receivers has returned for the region.
  virtual void assign_senders(const RegionView& view, const std::vector<Lane>& incoming,
                              std::vector<Lane>& lanes) const = 0;

 private:
  friend struct StrategyRow;
  Traits traits_;
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
  Traits traits;
  std::unique_ptr<Strategy> (*factory)(const StrategySettings&);
  int place = 1000;  ///< among all; of those that are expected to be as fast, the first is taken

  [[nodiscard]] std::unique_ptr<Strategy> make(const StrategySettings& settings = {}) const;
};

/// A factory for a row: of a class that is made of the settings, or of nothing.
template <typename Made>
std::unique_ptr<Strategy> new_strategy(const StrategySettings& settings) {
  if constexpr (std::is_constructible_v<Made, const StrategySettings&>)
    return std::make_unique<Made>(settings);
  else
    return std::make_unique<Made>();
}

/// The first is `direct`.
[[nodiscard]] std::span<const StrategyRow> strategies();
/// Those of each file in rules/, whose namespace `lanes::FILE` has them in `rules()`: laneway_table writes this.
[[nodiscard]] std::vector<StrategyRow> strategy_rows();

/// The row of `name`; throws Error(info) that lists the valid names.
[[nodiscard]] const StrategyRow& find_strategy(std::string_view name);

/// That of the row of `name`.
[[nodiscard]] inline std::unique_ptr<Strategy> make_strategy(std::string_view name,
                                                             const StrategySettings& settings = {}) {
  return find_strategy(name).make(settings);
}

/// Names that stand for a strategy with a setting: `three_step_nodedup` is three_step without deduplication, `auto`
/// whichever is expected to be the fastest.
struct StrategyChoice {
  const StrategyRow* row = nullptr;  ///< null: to be chosen
  bool deduplicate = true;
  bool by_fabric = false;  ///< to be chosen for one node, whose ranks' messages take the links between its devices
  bool by_gpus = false;    ///< to be chosen between nodes, whose GPUs of several devices are the next level

  [[nodiscard]] bool is_automatic() const { return row == nullptr; }
  [[nodiscard]] std::string_view name() const;
  /// That of the strategy, or those from which one is chosen, in the order of the registry: all that need nothing
  /// beside the view, and between nodes with GPUs also those of two levels; in one node `direct`, and those that go by
  /// the links between devices.
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

}  // namespace laneway
