#include <memory>
#include <span>
#include <utility>

#include "algorithms/lowering/pack.hpp"
#include "algorithms/planner/planner.hpp"

namespace laneway {

Round Planner::plan_inside() {
  if (!strategy_->relays() && inner_.empty()) {
    return end_with(lower_direct(rank_, demand_, lowering()));
  }
  itinerary_.rank = rank_;
  const auto stays = [this](const Edge& edge) { return region_of(edge.peer) == region_.id && !crosses(edge); };
  for (const Edge& edge : pattern_.out) itinerary_.out_inside.push_back(stays(edge));
  for (const Edge& edge : pattern_.in) itinerary_.in_inside.push_back(stays(edge));
  const bool relays = strategy_->relays();
  itinerary_.out_direct = relays ? itinerary_.out_inside : std::vector<bool>(pattern_.out.size(), true);
  itinerary_.in_direct = relays ? itinerary_.in_inside : std::vector<bool>(pattern_.in.size(), true);
  lowering_ = std::make_unique<Lowering>(demand_, itinerary_, lowering());
  if (inner_.empty()) {
    return end_with(lowering_->finish());
  }
  // Inside a region messages are shared as on-node parts of lanes are.
  child_options_ = options_;
  child_options_.ranks = 0;
  child_options_.packs = false;
  child_options_.deduplicate = inner_.front().deduplicate;
  child_options_.network_distance = 0;  // nothing leaves the region
  child_options_.lowering.direct_message_bytes = options_.lowering.relay_message_bytes;
  ++child_options_.lowering.level;
  const Strategies& chosen = inner_.front().strategies;
  const Strategies inside = strategy_->inside() != nullptr ? Strategies{strategy_->inside()} : chosen;
  const Strategies scatter = strategy_->scatter() != nullptr ? Strategies{strategy_->scatter()} : chosen;
  children_.push_back({chosen, lowering_->gather()});
  if (inside == scatter) {
    children_.push_back({inside, lowering_->inside(true, true)});
  } else {
    children_.push_back({inside, lowering_->inside(true, false)});
    children_.push_back({scatter, lowering_->inside(false, true)});
  }
  return next_child();
}

Round Planner::end_with(Plan plan) {
  plan_ = options_.packs ? pack(std::move(plan)) : std::move(plan);
  return {};
}

Round Planner::next_child() {
  while (child_plans_.size() < children_.size()) {
    Child& child = children_[child_plans_.size()];
    child_ = std::make_unique<Planner>(rank_, std::move(child.demand), inner_.front().region,
                                       std::move(child.strategies), child_options_, inner_.subspan(1));
    child_->scope_ = &region_;
    Round round = child_->begin();
    if (round.kind != Round::Kind::done) {
      next_ = &Planner::resume_child;
      return round;
    }
    child_plans_.push_back(child_->take_plan());
  }
  return end_with(lowering_->finish(child_plans_.front(), std::span(child_plans_).subspan(1)));
}

Round Planner::resume_child(const std::vector<Bytes>& inbox) {
  Round round = child_->resume(inbox);
  if (round.kind != Round::Kind::done) return round;
  child_plans_.push_back(child_->take_plan());
  return next_child();
}

}  // namespace laneway
