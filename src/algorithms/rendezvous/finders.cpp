#include <algorithm>
#include <string_view>
#include <vector>

#include "algorithms/rendezvous/finder_costs.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

/// The first of those that take the least time.
NodeRoute choose_route(const FinderRow& row, const RoundFacts& facts, const MessageCosts& costs) {
  if (row.routes == nullptr) return {};
  const std::vector<NodeRoute> routes = row.routes(facts);
  return *std::ranges::min_element(routes, {}, [&](const NodeRoute& route) { return row.cost(facts, route, costs); });
}

}  // namespace

double predict_inside(double bytes, Rank delegates, const RoundFacts& facts, const MessageCosts& costs) {
  const double others = facts.largest_node - 1.0;
  if (others == 0) return 0;
  if (facts.boards && delegates == 1)
    return costs.parameters.flag + others * work_seconds({1, bytes}, costs.parameters.shared_overhead);
  const double each = bytes / delegates + sizeof(RoundVotes);
  return costs.inside(each, delegates, others) + (others - 1) * (costs.inside(each) - costs.inside(0));
}

double predict_long(const NodeFacts& node, const MessageCosts& costs) {
  if (node.payload <= node.relayed) return 0;
  return costs.across(node.payload) + node.members * node.partners * node.payload * costs.byte_on_wire;
}

std::span<const FinderRow> finders() {
  static const auto* const all = [] {
    auto* const rows = new std::vector<FinderRow>(finder_rows());
    std::ranges::stable_sort(*rows, {}, &FinderRow::by_nodes);
    LANEWAY_ASSERT(rows->size() <= Way::most_finders);
    return rows;
  }();
  return *all;
}

const FinderRow& find_finder(std::string_view name) {
  const auto found = std::ranges::find_if(finders(), [&](const FinderRow& row) { return row.name == name; });
  LANEWAY_ASSERT(found != finders().end());
  return *found;
}

std::uint8_t Way::code() const {
  return static_cast<std::uint8_t>((asks ? 0x80 : 0) | (chosen ? 0x40 : 0) | (finder - finders().data()));
}

Way Way::of(std::uint8_t code) {
  return {&finders()[code % most_finders], (code & 0x40) != 0, (code & 0x80) != 0};
}

double predict_finder(const FinderRow& row, const RoundFacts& facts, const Parameters& parameters) {
  const MessageCosts costs{parameters};
  return row.cost(facts, choose_route(row, facts, costs), costs);
}

NodeRoute choose_route(const FinderRow& row, const RoundFacts& facts, const Parameters& parameters) {
  return choose_route(row, facts, MessageCosts{parameters});
}

FinderChoice choose_finder(const RoundFacts& facts, const Parameters& parameters) {
  FinderChoice choice;
  double least = 0;
  for (const FinderRow& row : finders()) {
    if (!row.chooses) continue;
    const double seconds = predict_finder(row, facts, parameters);
    if (choice.seconds.empty() || seconds < least) {
      least = seconds;
      choice.finder = &row;
    }
    choice.seconds.emplace_back(&row, seconds);
  }
  return choice;
}

}  // namespace laneway
