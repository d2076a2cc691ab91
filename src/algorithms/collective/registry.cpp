#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "base/error.hpp"

namespace laneway {

std::span<const DenseRule> dense_rules() {
  // Never freed, since what runs at the end of a program may still have a rule.
  static const auto* const all = [] {
    auto* const rows = new std::vector<DenseRule>(dense_rows());
    std::ranges::stable_sort(*rows, {}, &DenseRule::kind);
    return rows;
  }();
  return *all;
}

const DenseRule& find_dense_rule(Dense kind, std::string_view name) {
  std::string names;
  for (const DenseRule& rule : dense_rules()) {
    if (rule.kind != kind) continue;
    if (rule.name == name) return rule;
    names += (names.empty() ? "" : ", ") + std::string(rule.name);
  }
  throw Error(ErrorKind::info,
              "unknown rule '" + std::string(name) + "' for " + laneway::name(kind) + "; valid are auto, " + names);
}

bool applies(const DenseRule& rule, const DenseFacts& facts) {
  return rule.kind == facts.kind && (facts.equal || !rule.traits.equal_only) &&
         (!facts.in_order || rule.traits.in_order);
}

std::vector<Want> wanted_sizes(const DenseRule& rule, Rank rank, Rank root, const Layout& layout,
                               const DenseSettings& settings) {
  return rule.wants == nullptr ? std::vector<Want>{} : rule.wants(rank, root, layout, settings);
}

std::vector<std::vector<SizeHop>> passed_sizes(const DenseRule& rule, Rank rank, const Layout& layout,
                                               const DenseSettings& settings) {
  return rule.passes == nullptr ? std::vector<std::vector<SizeHop>>{} : rule.passes(rank, layout, settings);
}

Plan make_dense_plan(const DenseRule& rule, const DenseCall& call, const Layout& layout,
                     const DenseSettings& settings) {
  LANEWAY_ASSERT(rule.kind == call.kind && call.combination.element_bytes > 0);
  require(rule.traits.in_order || !reduces(call.kind) || !call.combination.in_order, ErrorKind::argument,
          "dense: a rule that exchanges operands was asked for an operator whose operands are in order");
  PlanWriter writer(call.rank);
  rule.write(writer, call, layout, settings);
  Plan plan = writer.take();
  plan.steps.shrink_to_fit();
  return plan;
}

}  // namespace laneway
