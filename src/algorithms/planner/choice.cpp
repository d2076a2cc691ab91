#include "algorithms/planner/choice.hpp"

#include <algorithm>
#include <utility>

#include "base/simulated.hpp"

namespace laneway {

namespace {

/// What one strategy's lanes and costs take to be found for each edge between regions and for each rank: estimates,
/// which no measurement stands behind.
constexpr double seconds_of_edge = 0.15e-6;
constexpr double seconds_of_rank = 0.5e-6;

/// What a rank's messages of one round take if each of `ranks` has as many: their work at one end, in turns with the
/// other ranks of the core, and the latency of one.
double seconds_of_messages(const Parameters& parameters, Medium medium, std::size_t ranks, std::size_t messages,
                           std::size_t bytes) {
  const Overhead& work = overhead(parameters, medium);
  const auto host = static_cast<double>(ranks) * std::max(1, parameters.host_nodes);
  const auto each = static_cast<std::int64_t>(bytes / messages);
  const LinearCost one = message_cost(parameters, medium, each).value_or(LinearCost{});
  const double end = work_seconds({static_cast<double>(messages), static_cast<double>(bytes)}, work) / 2;
  const Load load{.latency = latency(one.seconds(static_cast<double>(each)), work, parameters), .processor = end};
  return seconds(load, {.work = host * end}, parameters, {.sharpness = 0});
}

std::size_t edges_of(const RegionView& view) {
  std::size_t edges = 0;
  for (const std::vector<Traffic>* all : {&view.in, &view.out})
    for (const Traffic& traffic : *all) edges += traffic.edges.size();
  return edges;
}

/// Stages in which ranks of a region hand on what others sent or are to get.
int handovers(const Prediction& of) {
  return (of.part(Stage::gather) > 0 ? 1 : 0) + (of.part(Stage::scatter) > 0 ? 1 : 0);
}

}  // namespace

double seconds_of_choice(std::size_t strategies, std::size_t edges, std::size_t ranks) {
  if constexpr (simulated) return 0;
  return static_cast<double>(strategies) *
         (seconds_of_edge * static_cast<double>(edges) + seconds_of_rank * static_cast<double>(ranks));
}

std::size_t best_of(const Selection& selection, const Strategies& strategies, const PlanOptions& options) {
  const double setup_share = selection.setup_seconds / options.exchanges;
  const auto cost = [&](std::size_t c) {
    const Prediction& one = selection.predictions[c];
    if (!strategies[c]->relays()) return one.seconds;
    return (1 + least_gain(options.costs->parameters(), handovers(one))) * one.seconds + setup_share;
  };
  std::size_t best = 0;
  for (std::size_t c = 1; c < strategies.size(); ++c)
    if (cost(c) < cost(best)) best = c;
  return best;
}

Bytes to_bytes(const std::vector<double>& numbers) {
  Writer writer;
  for (double number : numbers) writer.put(number);
  return writer.take();
}

/// Of a gather the first member has most to do: it hears from all and answers.
Round Planner::counted(Round round) {
  if (!options_.counts_setup || options_.costs == nullptr) return round;
  const Parameters& parameters = options_.costs->parameters();
  std::size_t bytes = 0;
  for (const ControlMessage& control_message : round.control_messages) bytes += control_message.data.size();
  const std::size_t messages = round.control_messages.size() + round.from.size();
  if (messages > 0)
    setup_seconds_ += seconds_of_messages(parameters, Medium::network, region_.members.size(), messages, bytes);
  if (round.kind == Round::Kind::region_gather && round.region->members.size() > 1) {
    const std::size_t others = round.region->members.size() - 1;
    const double there = seconds_of_messages(parameters, Medium::node, round.region->members.size(), others,
                                             others * round.contribution.size());
    setup_seconds_ += 2 * there;
  }
  return round;
}

/// The costs of an exchange are those of the region in which it takes longest. Among the ranks of a communicator the
/// largest numbers are found by one reduction; the ranks of a region choose for the levels inside it.
Round Planner::agree_on_costs() {
  std::vector<Prediction>& predictions = selection_.predictions;
  for (std::size_t c = 0; c < strategies_.size(); ++c) {
    const Strategy& strategy = *strategies_[c];
    const NodeLoad load = options_.costs->load(strategy, seen_by(strategy), in_lanes_[c], out_lanes_[c]);
    predictions.push_back(options_.costs->predict({&load, 1}));
  }
  const double choice = seconds_of_choice(strategies_.size(), edges_of(view_), region_.members.size());
  std::vector<double> numbers{options_.counts_setup ? setup_seconds_ + choice : 0};
  for (const Prediction& prediction : predictions)
    for_each_number([&](double number) { numbers.push_back(number); }, prediction);
  next_ = &Planner::choose;
  if (scope_ == nullptr) return {Round::Kind::largest, {}, {}, {}, nullptr, std::move(numbers)};
  return {Round::Kind::region_gather, {}, {}, to_bytes(numbers), scope_};
}

/// The numbers of others have its own among them.
Round Planner::choose(const std::vector<Bytes>& inbox) {
  for (Prediction& prediction : selection_.predictions) prediction = {};
  for (const Bytes& bytes : inbox) {
    Reader reader(bytes);
    selection_.setup_seconds = std::max(selection_.setup_seconds, reader.get<double>());
    for (Prediction& prediction : selection_.predictions) {
      Prediction other;
      for_each_number([&](double& number) { number = reader.get<double>(); }, other);
      prediction.merge(other);
    }
  }
  selection_.chosen = best_of(selection_, strategies_, options_);
  itinerary_.in_lanes = std::move(in_lanes_[selection_.chosen]);
  itinerary_.out_lanes = std::move(out_lanes_[selection_.chosen]);
  if (!strategies_[selection_.chosen]->deduplicates()) view_ = std::move(unmerged_);
  return go_on();
}

}  // namespace laneway
