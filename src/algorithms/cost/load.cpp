#include "algorithms/cost/load.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"

namespace laneway {

namespace {

template <class Which>
std::size_t index(Which which) {
  return static_cast<std::size_t>(which);
}

/// Edges that nobody relays arrive while lanes are on their way, which pass one stage after another.
double beside_lanes(const std::array<double, stages>& seconds) {
  const double direct = seconds[index(Stage::direct)];
  return std::max(direct, std::accumulate(seconds.begin(), seconds.end(), -direct));
}

Medium medium(const Hop& hop) {
  if (hop.shared) return Medium::memory;
  return hop.link == LinkClass::network ? Medium::network : Medium::node;
}

}  // namespace

double Prediction::part(Stage stage) const {
  double sum = 0;
  for (double of_link : parts[index(stage)]) sum += of_link;
  return sum;
}

void Prediction::merge(const Prediction& other) {
  for_each_number([](double& mine, double theirs) { mine = std::max(mine, theirs); }, *this, other);
}

const char* name(ModelKind kind) {
  switch (kind) {
    case ModelKind::postal:
      return "postal";
    case ModelKind::max_rate:
      return "max-rate";
    case ModelKind::overlap:
      return "overlap";
  }
  internal_error("unknown model", __FILE__, __LINE__);
}

NodeLoad::NodeLoad(const Region& region, double combined)
    : members_(region.members), ranks_(region.members.size()), combined_(combined) {}

NodeLoad::RankLoad& NodeLoad::load_of(Rank rank) {
  const auto member = std::lower_bound(members_.begin(), members_.end(), rank);
  LANEWAY_ASSERT(member != members_.end() && *member == rank);
  return ranks_[static_cast<std::size_t>(member - members_.begin())];
}

void NodeLoad::combine(Rank rank, Stage stage, std::int64_t bytes, const Parameters& parameters) {
  const double seconds = static_cast<double>(bytes) * combining_seconds(parameters);
  load_of(rank).processor += seconds;
  work_[index(stage)] += seconds;
}

void NodeLoad::send(Rank rank, const Hop& hop, const Parameters& parameters) {
  add(rank, hop, parameters, out);
}

void NodeLoad::receive(Rank rank, const Hop& hop, const Parameters& parameters) {
  add(rank, hop, parameters, in);
}

void NodeLoad::hand_on_again(const Hop& hop, const Parameters& parameters) {
  const double alpha = message_cost(parameters, medium(hop), hop.bytes).value_or(LinearCost{}).alpha;
  again_ = std::max(again_, latency(alpha, overhead(parameters, medium(hop)), parameters));
}

void NodeLoad::add(Rank rank, const Hop& hop, const Parameters& parameters, Way way) {
  if (hop.messages == 0) return;
  RankLoad& load = load_of(rank);
  LinearCost& traffic = (way == out ? load.sent : load.received)[index(hop.stage)][index(hop.link)];
  const auto messages = static_cast<double>(hop.messages);
  const auto bytes = static_cast<double>(hop.bytes);
  const auto [alpha, beta] =
      message_cost(parameters, medium(hop), hop.bytes / hop.messages).value_or(LinearCost{parameters.flag, 0});
  used_[index(hop.stage)][index(hop.link)] = true;
  traffic.alpha += alpha * messages;
  traffic.beta += beta * bytes;
  // What a byte takes of large messages is less than of small ones, but no more than all of their time is work.
  const Overhead& work = overhead(parameters, medium(hop));
  const double byte = hop.shared ? shared_byte(hop, parameters) : beta == 0 ? work.byte : std::min(work.byte, beta);
  const double seconds = (work.message * messages + byte * bytes) / 2 + (way == out ? combined_ * bytes : 0);
  load.processor += seconds;
  work_[index(hop.stage)] += seconds;
  if (way == in) {
    if (!hop.shared) load.posted += messages;
    load.waits[index(hop.stage)] = std::max(load.waits[index(hop.stage)], work.wait);
  }
  latency_[index(hop.stage)] = std::max(latency_[index(hop.stage)], latency(alpha, work, parameters));
  one_[index(hop.stage)] = std::max(one_[index(hop.stage)], work.message + work.wait);
  if (hop.link == LinkClass::network) {
    load.crosses = true;
    crossings_[way] += messages;
    injection_[way] += injection_seconds({messages, bytes}, parameters);
  }
}

/// Overheads are those of messages that stay in caches between one end and the other. Relays hand over larger pieces,
/// and then both ends copy what is in none of theirs.
double NodeLoad::shared_byte(const Hop& hop, const Parameters& parameters) const {
  if (hop.bytes <= default_mailbox_bytes * hop.messages) return parameters.shared_overhead.byte;
  return std::max(parameters.shared_overhead.byte, 2 * parameters.copy_beta(static_cast<int>(members_.size())));
}

/// Where ranks share cores, stages are a pipeline: nothing is sent before the first message between nodes is gathered,
/// and what the last one has brought is still to be scattered. A message is taken to need as much work as any other.
double NodeLoad::fill(const Parameters& parameters) const {
  double work = 0;
  if (crossings_[out] > 0) work += work_[index(Stage::gather)] / crossings_[out];
  if (crossings_[in] > 0) work += work_[index(Stage::scatter)] / crossings_[in];
  // One end of a hop works beside the other, if they have a core each.
  const double cores = static_cast<double>(parameters.cores) / std::max(1, parameters.host_nodes);
  return work / std::min(cores, 2.0);
}

/// Where each rank has a core, nobody works while it waits: of all that the busiest does, as large a part overlaps with
/// nothing as one message is of those that a rank sends to other nodes, or receives from there.
double NodeLoad::fill_of_own_cores(double busiest) const {
  const auto ranks = static_cast<double>(std::ranges::count(ranks_, true, &RankLoad::crosses));
  return ranks > 0 ? busiest / std::max(1.0, (crossings_[out] + crossings_[in]) / 2 / ranks) : 0;
}

/// On average half of the posted receives are compared with each message.
double NodeLoad::processor(const RankLoad& rank, const Parameters& parameters) {
  return rank.processor + beside_lanes(rank.waits) + parameters.match * rank.posted * rank.posted / 2;
}

HostLoad NodeLoad::host_load(const Parameters& parameters) const {
  HostLoad host;
  for (const RankLoad& rank : ranks_) {
    host.work += processor(rank, parameters);
    host.waiting += std::any_of(rank.waits.begin(), rank.waits.end(), [](double wait) { return wait > 0; });
  }
  return host;
}

void NodeLoad::add_traffic(const RankLoad& rank, Prediction& result, StageCosts& costs) const {
  std::array<double, 2> link{};
  for (std::size_t s = 0; s < stages; ++s) {
    std::array<LinearCost, 2> stage{};
    for (std::size_t l = 0; l < link_classes; ++l) {
      if (!used_[s][l]) continue;
      for (const Way way : {out, in}) {
        const LinearCost& traffic = (way == out ? rank.sent : rank.received)[s][l];
        result.parts[s][l] = std::max(result.parts[s][l], traffic.alpha + traffic.beta);
        stage[way].alpha += traffic.alpha;
        stage[way].beta += traffic.beta;
        if (l == index(LinkClass::network)) link[way] += traffic.beta;
      }
    }
    costs[s].alpha = std::max({costs[s].alpha, stage[out].alpha, stage[in].alpha});
    costs[s].beta = std::max({costs[s].beta, stage[out].beta, stage[in].beta});
  }
  result.link = std::max({result.link, link[out], link[in]});
}

/// Of the stages in which some rank waits. Overheads are those of exchanges of one, so that its turn is in them
/// already.
int NodeLoad::turns() const {
  int waited = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    if (s == index(Stage::direct) && latency_[index(Stage::network)] > 0) continue;
    waited += std::any_of(ranks_.begin(), ranks_.end(), [s](const RankLoad& rank) { return rank.waits[s] > 0; });
  }
  return waited - 1;
}

/// Without a bound on what a node injects, the postal model.
double NodeLoad::max_rate(const StageCosts& costs, const Prediction& result, double injection) {
  double seconds = 0;
  for (std::size_t s = 0; s < stages; ++s) {
    const bool injects = result.parts[s][index(LinkClass::network)] > 0;
    seconds += costs[s].alpha + std::max(costs[s].beta, injects ? injection : 0);
  }
  return seconds;
}

Prediction NodeLoad::predict(const Parameters& parameters, ModelKind kind, HostLoad host) const {
  Prediction result;
  StageCosts costs{};
  for (const RankLoad& rank : ranks_) {
    result.processor = std::max(result.processor, processor(rank, parameters));
    add_traffic(rank, result, costs);
  }
  result.link = std::max(result.link, device_links_);
  // What is taken out of latencies is on the way of each message, also where each rank works at one of its ends alone.
  if (parameters.cores <= 0) result.processor = std::max(result.processor, beside_lanes(one_));
  result.injection = std::max(injection_[out], injection_[in]);
  result.latency = beside_lanes(latency_) + again_;
  host.turns = turns();
  host.turn = parameters.shared_overhead.wait;
  static_cast<Load&>(result) = on_shared_cores(result, host, parameters);
  if (kind == ModelKind::overlap) {
    result.fill = parameters.cores > 0 ? fill(parameters) : fill_of_own_cores(result.processor);
    result.seconds = overlapped(result);
  } else {
    result.seconds = max_rate(costs, result, kind == ModelKind::max_rate ? result.injection : 0);
  }
  return result;
}

Prediction predict(std::span<const NodeLoad> nodes, const Parameters& parameters, ModelKind kind) {
  const bool is_shared = parameters.host_nodes > 1;
  const double share = static_cast<double>(parameters.host_nodes) / static_cast<double>(nodes.size());
  HostLoad host;
  if (is_shared)
    for (const NodeLoad& node : nodes) {
      const HostLoad own = node.host_load(parameters);
      host.work += own.work * share;
      host.waiting += own.waiting * share;
    }
  Prediction result;
  for (const NodeLoad& node : nodes)
    result.merge(node.predict(parameters, kind, is_shared ? host : node.host_load(parameters)));
  return result;
}

Prediction predict(std::span<const Plan> plans, const Machine& machine, const Parameters& parameters, ModelKind kind,
                   bool shares_memory, std::int64_t mailbox_bytes) {
  std::map<Rank, NodeLoad> nodes;
  for (const Plan& plan : plans) {
    const Rank node = machine.region_id(0, plan.rank);
    NodeLoad& load = nodes.try_emplace(node, machine.region(0, plan.rank)).first->second;
    for (const Step& step : plan.steps) {
      if (combines(step))
        for (const CopyRun& run : step.runs) load.combine(plan.rank, step.stage, run.bytes * run.count, parameters);
      if (!sends(step) && !receives(step)) continue;
      const bool inside = machine.region_id(0, step.peer) == node;
      const bool shared = inside && shares_memory && (step.stage != Stage::direct || step.span.bytes <= mailbox_bytes);
      const Hop hop{step.stage, inside ? LinkClass::node : LinkClass::network, shared, 1, step.span.bytes};
      if (sends(step))
        load.send(plan.rank, hop, parameters);
      else
        load.receive(plan.rank, hop, parameters);
    }
  }
  std::vector<NodeLoad> loads;
  for (auto& [node, load] : nodes) loads.push_back(std::move(load));
  return predict(loads, parameters, kind);
}

}  // namespace laneway
