#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "lanes/view.hpp"

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

  [[nodiscard]] std::int64_t bytes() const;
  friend bool operator==(const Lane&, const Lane&) = default;
};

/// The rule that chooses the lanes between regions. Both functions are pure and deterministic: all members of a region
/// evaluate them on equal views and must get equal results.
class Strategy {
 public:
  virtual ~Strategy() = default;

  /// False: no lanes at all, each edge is one message from its source to its destination.
  [[nodiscard]] virtual bool relays() const { return true; }

  /// The receiving region's choice: cuts the blocks of every incoming link into lanes and names their receivers.
  /// Every byte of every block is in exactly one lane.
  [[nodiscard]] virtual std::vector<Lane> assign_receivers(const RegionView& view) const = 0;

  /// The sending region's answer: sets `sender` of each lane that leaves it, to one of its members.
  virtual void assign_senders(const RegionView& view, std::vector<Lane>& lanes) const = 0;
};

/// A strategy as everything else knows it: tests, benchmarks, command line and documentation iterate over these rows.
struct StrategyRow {
  std::string_view name;
  std::string_view description;
  std::string_view citation;
  std::unique_ptr<Strategy> (*make)();
};

[[nodiscard]] std::span<const StrategyRow> strategies();

/// The row of `name`; throws Error(info) that lists the valid names.
[[nodiscard]] const StrategyRow& find_strategy(std::string_view name);

/// Names that stand for a strategy with a setting: `three_step_nodedup` is three_step without deduplication.
struct StrategyChoice {
  const StrategyRow* row = nullptr;
  bool deduplicate = true;
};
[[nodiscard]] StrategyChoice parse_strategy(std::string_view text);

[[nodiscard]] std::unique_ptr<Strategy> make_direct();
[[nodiscard]] std::unique_ptr<Strategy> make_three_step();

}  // namespace laneway
