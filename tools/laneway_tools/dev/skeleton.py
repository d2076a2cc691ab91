"""What ``laneway new strategy NAME`` writes: a rule that works, with its row, and a test to be made one's own."""

from __future__ import annotations

import re
from pathlib import Path

from laneway_tools.places.errors import UserError

_RULE = """\
#include "algorithms/neighborhood/balance.hpp"

namespace laneway::lanes::NAME {

namespace {

/// SOURCE: authors, title, year, section or algorithm; and how it was read where it leaves things open.
class CLASS final : public Strategy {
 public:
  /// One lane for each region that sends to this one, all received by the first member.
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView& view) const override {
    std::vector<Lane> lanes;
    for (const Traffic& traffic : view.in) {
      Lane lane{traffic.region, view.region.id, -1, view.region.members.front(), {}};
      for (const SourceBytes& source : traffic.sources) lane.pieces.push_back({source.rank, 0, source.bytes});
      lanes.push_back(std::move(lane));
    }
    return lanes;
  }

  void assign_senders(const RegionView& view, const std::vector<Lane>& incoming,
                      std::vector<Lane>& lanes) const override {
    balance_senders(view, incoming, lanes);
  }
};

}  // namespace

std::vector<StrategyRow> rules() {
  return {{"NAME", "one lane for each pair of regions, all received by the first member", "a design of our own",
           "all", "any", Traits{}, new_strategy<CLASS>}};
}

}  // namespace laneway::lanes::NAME
"""

_TEST = """\
#include <gtest/gtest.h>

#include <vector>

#include "algorithms/neighborhood/strategy.hpp"

namespace laneway {
namespace {

/// Region 0 = {0, 1} gets 150 bytes from rank 2 of region 2, and 120 from rank 4 of region 4; it sends 50 bytes of
/// each rank to rank 2. Rank 0 receives both lanes, so rank 1 sends.
TEST(Strategy_CLASS, ChoosesTheseLanes) {
  RegionView view;
  view.region = {0, {0, 1}};
  view.out = {{2, {{0, 50}, {1, 50}}, {{0, 2, 50}, {1, 2, 50}}}};
  view.in = {{2, {{2, 150}}, {{2, 0, 10}, {2, 1, 150}}}, {4, {{4, 120}}, {{4, 1, 120}}}};
  const auto strategy = make_strategy("NAME");
  const std::vector<Lane> in = strategy->assign_receivers(view);
  ASSERT_EQ(in.size(), 2U);
  EXPECT_EQ(in[0], (Lane{2, 0, -1, 0, {{2, 0, 150}}}));
  EXPECT_EQ(in[1], (Lane{4, 0, -1, 0, {{4, 0, 120}}}));
  std::vector<Lane> out = {{0, 2, -1, 2, {{0, 0, 50}, {1, 0, 50}}}};
  strategy->assign_senders(view, in, out);
  EXPECT_EQ(out[0].sender, 1);
}

}  // namespace
}  // namespace laneway
"""

_NEXT = """\
next
  1. {rule}: the rule, where it is from, and what its row says of it
  2. {test}: a case small enough to check by hand
  3. ./dev build --preset nompi && ./dev test --only nompi -k 'Strateg'
  4. ./dev explain --pattern stencil:points=9,dims=4x4 --machine 'node:4 rank:4' --ranks 16 --strategy {name} --messages-svg {name}.svg
  5. where it is to stay: tools/laneway_tools/draw/style.py, its colour and marker; the page of strategies, a section and that picture
docs/contributing/first-strategy.md goes through it"""


def new_strategy(top: Path, name: str) -> str:
    """Write the files of a strategy into the tree; what to do next. Throws UserError and writes nothing if NAME cannot be one."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", name) or name == "auto" or name.endswith("_nodedup"):
        raise UserError(f"{name}: expected a name such as three_step: lower case, words joined by _")
    rule, test = top / f"src/algorithms/neighborhood/rules/{name}.cpp", top / f"tests/unit/strategy_{name}_test.cpp"
    for path in (rule, test):
        if path.exists():
            raise UserError(f"{path.relative_to(top)} is there already")
    class_name = "".join(word.capitalize() for word in name.split("_"))
    for path, skeleton in ((rule, _RULE), (test, _TEST)):
        path.write_text(skeleton.replace("CLASS", class_name).replace("NAME", name), encoding="utf-8")
    return _NEXT.format(rule=rule.relative_to(top), test=test.relative_to(top), name=name)
