#include "operations/choose/costs.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "base/simulated.hpp"
#include "communicator/nodes/discovery.hpp"
#include "operations/choose/quick_calibration.hpp"

namespace laneway {

namespace {

CostOptions cost_options(const Hints& hints, const Region& sharing) {
  CostOptions options;
  options.mailbox_bytes = hints.local.mailbox_bytes;
  options.network_message_bytes = hints.lowering.network_message_bytes;
  options.sharing = sharing.members;
  return options;
}

}  // namespace

std::shared_ptr<const Fabric> fabric_of(Communicator& communicator, const Hints& hints) {
  if (!hints.machine.empty()) return communicator.fabric(hints.machine);
  return communicator.node_devices ? communicator.node_devices->fabric : nullptr;
}

bool is_between_devices(MemoryPath path) {
  if (path == MemoryPath::device_aware) return true;
  if constexpr (!simulated) return false;
  // From the launcher, as all that simulated ranks know of their machine.
  static const char* const on_devices = std::getenv("LANEWAY_RANKS_ON_DEVICES");
  return on_devices != nullptr && std::string_view(on_devices) == "1";
}

StrategyChoice choose_from(const Hints& hints, const Region& outermost, Rank ranks, bool by_links) {
  StrategyChoice choice = hints.strategy;
  if (!choice.is_automatic()) return choice;
  if (outermost.members.size() < static_cast<std::size_t>(ranks)) {
    choice.by_gpus = by_links && hints.level.empty();
    return choice;
  }
  choice.by_fabric = by_links;
  if (!by_links) choice.row = &find_strategy("direct");
  return choice;
}

/// Where several links join two devices, only the widths that a machine describes are those of its parameters.
bool knows_device_links(Communicator& communicator, const PrivateComm& comm, const Hints& hints,
                        const Region& sharing) {
  if (hints.machine.empty() || !communicator.fabric(hints.machine) || hints.parameters == measured_parameters)
    return false;
  return known_link(parameters_of(communicator, comm, hints, sharing)->device_links, LinkClass::socket) != nullptr;
}

std::shared_ptr<const Parameters> parameters_of(Communicator& communicator, const PrivateComm& comm, const Hints& hints,
                                                const Region& sharing) {
  const bool one_node = sharing.members.size() == static_cast<std::size_t>(comm.size());
  if (hints.parameters != measured_parameters) return communicator.parameters(hints, one_node);
  std::shared_ptr<const Parameters>& known = comm.measured[hints.machine];
  if (!known)
    known = std::make_shared<const Parameters>(
        calibrate_quickly(comm, communicator.node(hints.machine), Parameters::read(kind_of_machine(one_node))));
  return known;
}

bool is_chosen_by_costs(const Hints& hints, const StrategyChoice& outermost) {
  return outermost.is_automatic() || std::any_of(hints.inner.begin(), hints.inner.end(),
                                                 [](const auto& level) { return level.choice.is_automatic(); });
}

Costs::Costs(Communicator& communicator, const PrivateComm& comm, const Hints& hints, const StrategyChoice& outermost,
             const Region& sharing, MemoryPath path, std::int64_t unit_bytes, bool combines)
    : hints_(hints), ranks_(comm.size()), outermost_(outermost) {
  if (!is_chosen_by_costs(hints, outermost)) return;
  parameters_ = parameters_of(communicator, comm, hints, sharing);
  const bool between_devices = is_between_devices(path);
  if (between_devices) parameters_ = std::make_shared<const Parameters>(parameters_->between_devices());
  if (unit_bytes > 1) parameters_ = std::make_shared<const Parameters>(parameters_->of_units(unit_bytes));
  CostOptions options = cost_options(hints, between_devices ? Region{} : sharing);
  options.network_message_bytes = in_units(options.network_message_bytes, unit_bytes);
  options.combines = combines;
  if (outermost.by_fabric) options.fabric = fabric_of(communicator, hints);
  model_.emplace(*parameters_, std::move(options));
}

PlanOptions Costs::options() const {
  PlanOptions options{.deduplicate = outermost_.deduplicate,
                      .lowering = hints_.lowering,
                      .exchanges = hints_.exchanges,
                      .ranks = ranks_};
  if (!model_) return options;
  options.costs = &*model_;
  options.counts_setup = true;
  return options;
}

Reasons Costs::reasons(const Selection& selection) const {
  Reasons reasons{.strategy = hints_.strategy_name};
  if (!hints_.strategy.is_automatic()) return reasons;
  if (parameters_) reasons.parameters = parameters_->name;
  reasons.candidates = candidates_of(outermost_);
  for (std::size_t c = 0; c < selection.predictions.size(); ++c) {
    reasons.candidates[c].seconds = selection.predictions[c].seconds;
    for (const Bound& bound : bounds) reasons.candidates[c].bounds.push_back(selection.predictions[c].*bound.seconds);
  }
  const std::size_t name = reasons.strategy.find(hints_.strategy.name(), hints_.level.size());
  reasons.strategy.replace(name, hints_.strategy.name().size(), reasons.candidates[selection.chosen].name);
  return reasons;
}

std::vector<Candidate> candidates_of(const StrategyChoice& choice) {
  std::vector<Candidate> candidates;
  for (const StrategyRow* row : choice.rows()) candidates.push_back({std::string(row->name), row->traits.relays});
  return candidates;
}

}  // namespace laneway
