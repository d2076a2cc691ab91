#include "algorithms/neighborhood/balance.hpp"

namespace laneway::lanes::split {

namespace {

/// Split (Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular
/// point-to-point communication on heterogeneous architectures, section 2.3.3, Algorithm 1): what a region receives
/// from others is cut to messages of `message_cap` bytes, which are dealt over all ranks of both regions, whether these
/// have data of their own or not.
///
/// How it was read where it leaves things open:
///  - Line 15 keeps the cap if data comes from as many regions as there are ranks; the text to lines 14-17 does not say
///    so. The algorithm is followed.
///  - With more messages than ranks the assignment of line 18 starts over at the first rank.
///  - Members are taken in the order of their distance to a network interface, if that is known, then by rank; senders
///    from the last of those that are equally near.
///  - Blocks are cut at multiples of 8 bytes, for which the cap is rounded up.
class Split final : public Strategy {
 public:
  explicit Split(const StrategySettings& settings) : message_cap_(std::max<std::int64_t>(settings.message_cap, 1)) {}

  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    const std::int64_t cap = cap_for(view);
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) cut(traffic, view.region.id, cap, lanes);
    const std::vector<Rank> members = nearest_first(view);
    std::size_t next = 0;
    for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); }))
      lanes[i].receiver = members[next++ % members.size()];
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>&, std::vector<Lane>& lanes) const override {
    const std::vector<Rank> members = nearest_first(view, Order::descending);
    std::size_t next = 0;
    for (std::size_t i : largest_first(lanes, [](const Lane& lane) { return lane.bytes(); }))
      lanes[i].sender = members[next++ % members.size()];
  }

 private:
  /// Lines 11-17.
  [[nodiscard]] std::int64_t cap_for(const RegionView& view) const {
    std::int64_t total = 0;
    std::int64_t largest = 0;
    for (const Traffic& traffic : view.in) {
      total += traffic.bytes();
      largest = std::max(largest, traffic.bytes());
    }
    if (largest < message_cap_) return round_up_to_cut(message_cap_);  // what comes from a region is one message
    const auto ranks = static_cast<std::int64_t>(view.region.members.size());
    const auto regions = static_cast<std::int64_t>(view.in.size());
    const std::int64_t each = (total + ranks - 1) / ranks;
    const bool raise = each > message_cap_ && regions < ranks;
    return round_up_to_cut(raise ? each : message_cap_);
  }

  static void cut(const Traffic& traffic, Rank region, std::int64_t cap, std::vector<Lane>& lanes) {
    std::int64_t room = 0;
    for (const SourceBytes& source : traffic.sources)
      for (std::int64_t begin = 0; begin < source.bytes;) {
        const std::int64_t left = source.bytes - begin;
        const std::int64_t bytes = left <= room ? left : room / cut_bytes * cut_bytes;
        if (bytes == 0) {
          lanes.push_back({traffic.region, region, -1, -1, {}});
          room = cap;
          continue;
        }
        lanes.back().pieces.push_back({source.rank, begin, begin + bytes});
        begin += bytes;
        room = bytes == left ? room - bytes : 0;
      }
  }

  std::int64_t message_cap_;
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"split", "what a region receives is cut to messages of a capped size, dealt over all ranks of both regions",
           "Lockhart, Bienz, Gropp, Olson: Characterizing the performance of node-aware strategies for irregular "
           "point-to-point communication on heterogeneous architectures, section 2.3.3, Algorithm 1",
           "all", "any", Traits{.scales = false}, new_strategy<Split>, 4}};
}

}  // namespace laneway::lanes::split
