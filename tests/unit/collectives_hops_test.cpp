#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective/choice.hpp"
#include "algorithms/collective/groups.hpp"
#include "dense_calls.hpp"

// All-to-alls whose blocks hop by the digits of a radix (ParLogNa), flat and in lanes of nodes (ParLinNa): how many
// messages a rank sends, and how often a block is sent, both in the data and in the sizes that go before it.

namespace laneway::hops {
namespace {

int digits_that_are_not_0(std::int64_t number, std::int64_t radix) {
  int digits = 0;
  for (; number > 0; number /= radix) digits += number % radix != 0;
  return digits;
}

/// Messages of a rank by hops among so many.
int messages_by_hops(std::int64_t ranks, std::int64_t radix) {
  int messages = 0;
  for (std::int64_t unit = 1; unit < ranks; unit *= radix)
    for (std::int64_t digit = 1; digit < radix; ++digit) messages += digit * unit < ranks;
  return messages;
}

/// Of an all-to-all of unequal blocks.
cases::DenseCase make_case(const std::vector<Rank>& nodes, Rank radix, bool equal) {
  cases::DenseCase c;
  c.layout = cases::layout_of(nodes);
  c.settings.radix = radix;
  c.settings.leaders = 2;
  c.equal = equal;
  const Rank n = c.layout.ranks();
  cases::Random random(1);
  cases::BlockMaker maker(random, true, 4);
  std::vector counts(static_cast<std::size_t>(n), std::vector<std::int64_t>(static_cast<std::size_t>(n), 3));
  for (Rank from = 0; from < n && !equal; ++from)
    for (Rank to = 0; to < n; ++to)
      counts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] = 1 + (from * 7 + to * 3) % 5;
  for (Rank rank = 0; rank < n; ++rank) {
    DenseCall& call = c.calls.emplace_back();
    call.kind = Dense::alltoall;
    call.rank = rank;
    cases::make_moving_call(c, call, maker, counts);
    if (equal) call.sizes = Sizes::equal(3 * maker.bytes());
  }
  return c;
}

std::int64_t bytes(const cases::DenseCase& c, Rank from, Rank to) {
  return c.calls[static_cast<std::size_t>(from)].send.bytes(to);
}

struct Sent {
  int messages = 0;
  std::int64_t bytes = 0;
};
/// Between nodes, or all.
Sent sent_by(const Plan& plan, const Layout& layout, bool between) {
  Sent sent;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::send || (between && layout.region(step.peer) == layout.region(plan.rank))) continue;
    ++sent.messages;
    sent.bytes += step.span.bytes;
  }
  return sent;
}

TEST(Hops, ABlockIsSentOnceForEachDigit) {
  const DenseRule& rule = find_dense_rule(Dense::alltoall, "bruck");
  for (const bool equal : {true, false})
    for (const Rank ranks : {2, 7, 16, 21})
      for (const Rank radix : {2, 3, 4, 16, 64}) {
        SCOPED_TRACE(std::to_string(ranks) + " ranks, radix " + std::to_string(radix));
        const cases::DenseCase c = make_case({ranks}, radix, equal);
        std::int64_t wanted = 0;
        for (Rank from = 0; from < ranks; ++from)
          for (Rank to = 0; to < ranks; ++to)
            wanted += bytes(c, from, to) * digits_that_are_not_0((to - from + ranks) % ranks, radix);
        std::int64_t all = 0;
        for (const Plan& plan : cases::plans_of(c, rule)) {
          const Sent sent = sent_by(plan, c.layout, false);
          EXPECT_EQ(sent.messages, messages_by_hops(ranks, radix));
          all += sent.bytes;
        }
        EXPECT_EQ(all, wanted);
      }
}

/// Sizes are told as often as blocks are passed on, in no more messages than the data takes.
TEST(Hops, SizesGoBeforeTheDataOfHopsThatAreNotTheLast) {
  const DenseRule& rule = find_dense_rule(Dense::alltoall, "bruck");
  for (const Rank ranks : {2, 7, 16, 21})
    for (const Rank radix : {2, 3, 64}) {
      const cases::DenseCase c = make_case({ranks}, radix, false);
      int wanted = 0;
      for (Rank ways = 1; ways < ranks; ++ways) wanted += digits_that_are_not_0(ways, radix) - 1;
      int heard = 0;
      int messages = 0;
      for (const std::vector<SizeHop>& round : passed_sizes(rule, 0, c.layout, c.settings))
        for (const SizeHop& hop : round) {
          EXPECT_EQ(hop.heard.size(), hop.told.size());
          heard += static_cast<int>(hop.heard.size());
          ++messages;
        }
      EXPECT_EQ(heard, wanted);
      EXPECT_LE(messages, messages_by_hops(ranks, radix));
    }
}

/// In lanes, a rank sends to one rank of each node; by hops to fewer, with what it passes on. Of the blocks that leave
/// their nodes.
TEST(Hops, LanesCrossOnceOrByDigits) {
  for (const bool equal : {true, false})
    for (const char* name : {"lanes", "lanes_bruck", "hierarchical_bruck", "multi_leader_bruck"}) {
      const DenseRule& rule = find_dense_rule(Dense::alltoall, name);
      const Rank nodes = 9;
      const Rank members = 4;
      for (const Rank radix : {2, 3}) {
        SCOPED_TRACE(name);
        const cases::DenseCase c = make_case(std::vector<Rank>(nodes, members), radix, equal);
        const bool hops = rule.traits.hops;
        const Rank lanes = rule.name == "hierarchical_bruck" ? 1 : rule.name == "multi_leader_bruck" ? 2 : members;
        std::int64_t wanted = 0;
        for (Rank from = 0; from < c.layout.ranks(); ++from)
          for (Rank to = 0; to < c.layout.ranks(); ++to) {
            const Rank ways = (c.layout.region(to) - c.layout.region(from) + nodes) % nodes;
            wanted += bytes(c, from, to) * (ways == 0 ? 0 : hops ? digits_that_are_not_0(ways, radix) : 1);
          }
        std::int64_t all = 0;
        for (const Plan& plan : cases::plans_of(c, rule)) {
          const Sent sent = sent_by(plan, c.layout, true);
          const bool owns = c.layout.index(plan.rank) < lanes;
          EXPECT_EQ(sent.messages, !owns ? 0 : hops ? messages_by_hops(nodes, radix) : nodes - 1);
          all += sent.bytes;
        }
        EXPECT_EQ(all, wanted);
      }
    }
}

/// Few rounds for tiny blocks, few hops for longer ones.
TEST(Hops, CostsSayWhichRadix) {
  const Layout layout = cases::layout_of(std::vector<Rank>(64, 1));
  const Parameters parameters = Parameters::read("dane-like");
  const DenseRule& rule = find_dense_rule(Dense::alltoall, "bruck");
  DenseSettings settings;
  settings.radix = 0;
  Rank before = 0;
  for (const std::int64_t size : {1, 64, 1024, 16384}) {
    const Rank radix = settled(rule, {Dense::alltoall, 0, size, 1, false, true}, layout, parameters, settings).radix;
    EXPECT_GE(radix, std::max<Rank>(before, 2)) << size;
    before = radix;
  }
  EXPECT_GT(before, 2);
  settings.radix = 5;
  EXPECT_EQ(settled(rule, {Dense::alltoall, 0, 1, 1, false, true}, layout, parameters, settings).radix, 5);
}

}  // namespace
}  // namespace laneway::hops
