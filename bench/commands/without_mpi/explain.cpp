#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "algorithms/cost/memory_paths.hpp"
#include "algorithms/lowering/through_host.hpp"
#include "algorithms/lowering/transpose.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/readable.hpp"
#include "commands.hpp"
#include "data/exchange.hpp"
#include "data/specs.hpp"
#include "data/traffic.hpp"
#include "data/way_back.hpp"
#include "machine/machine.hpp"
#include "offline/draw.hpp"
#include "offline/virtual_ranks.hpp"
#include "output/format.hpp"
#include "plan/verify/verify.hpp"

namespace laneway::bench {

namespace {

constexpr std::size_t table_rows = 48;

struct ExplainOptions {
  std::string pattern;
  std::string matrix;
  std::string machine = "node:*";
  Rank ranks = 0;
  std::string strategy = "three_step";
  std::string parameters = "default-ethernet";
  std::string grid;
  std::string op = "allgather";
  std::int64_t bytes = 0;
  Heavy heavy;
  std::int64_t message_cap = StrategySettings{}.message_cap;
  Rank rank = 0;
  std::string memory = "host";
  bool run = false;
  bool back = false;
  std::string svg;
  std::string messages_svg;
  std::string json;
  std::string edges;
};

Workload make_workload(const ExplainOptions& options) {
  require(options.pattern.empty() != options.matrix.empty(), ErrorKind::argument, "give one of --pattern and --matrix");
  const Op op = parse_op(options.op);
  Workload workload =
      options.matrix.empty()
          ? load_workload(options.pattern, op, options.bytes, options.ranks, options.heavy)
          : load_workload("matrix:" + options.matrix, Op::alltoallv, options.bytes, options.ranks, options.heavy);
  if (workload.bytes == 0) workload.bytes = workload.is_halo() ? static_cast<std::int64_t>(sizeof(double)) : 1024;
  return workload;
}

/// The first rows of a table; the rest is counted.
class ShortTable {
 public:
  ShortTable(std::vector<std::string> heading, std::string what) : table_(std::move(heading)), what_(std::move(what)) {}

  void add(std::vector<std::string> row) {
    if (++rows_ <= table_rows) table_.add(std::move(row));
  }

  void print() const {
    std::cout << table_.text();
    if (rows_ > table_rows) std::cout << "and " << rows_ - table_rows << " more " << what_ << "\n";
    std::cout << "\n";
  }

 private:
  Table table_;
  std::string what_;
  std::size_t rows_ = 0;
};

void print_lanes(const VirtualSetup& setup, const Nodes& nodes) {
  ShortTable table({"lane from node", "to node", "sender", "receiver", "bytes", "sources"}, "lanes");
  std::size_t lanes = 0;
  for (std::size_t rank = 0; rank < setup.views.size(); ++rank) {
    const std::vector<Rank>& members = setup.views[rank].region.members;
    if (members.empty() || members.front() != static_cast<Rank>(rank)) continue;
    for (const Lane& lane : setup.itineraries[rank].out_lanes) {
      ++lanes;
      table.add({std::to_string(nodes.of[static_cast<std::size_t>(lane.from_region)]),
                 std::to_string(nodes.of[static_cast<std::size_t>(lane.to_region)]), std::to_string(lane.sender),
                 std::to_string(lane.receiver), readable_bytes(lane.bytes()), std::to_string(lane.pieces.size())});
    }
  }
  if (lanes > 0)
    table.print();
  else
    std::cout << "no lanes: every edge is one message\n\n";
}

void print_traffic(const VirtualSetup& setup, const Nodes& nodes) {
  ShortTable table({"rank", "node", "steps", "messages between nodes", "bytes", "messages on node", "bytes", "staging"},
                   "ranks");
  TotalTraffic total;
  std::int64_t node_messages = 0;
  for (const Plan& plan : setup.plans) {
    const RankTraffic own = traffic(messages(plan), plan.rank, nodes);
    total.add(own);
    node_messages += own.node_messages;
    table.add({std::to_string(plan.rank), std::to_string(nodes.of[static_cast<std::size_t>(plan.rank)]),
               std::to_string(plan.steps.size()), std::to_string(own.net_messages), readable_bytes(own.net_bytes),
               std::to_string(own.node_messages), readable_bytes(own.node_bytes), readable_bytes(plan.staging_bytes)});
  }
  table.print();
  std::cout << "between nodes: " << total.net_messages_total << " messages, " << readable_bytes(total.net_bytes_total)
            << " (at most " << total.net_messages_max << ", " << readable_bytes(total.net_bytes_max) << " a rank)\n"
            << "inside nodes:  " << node_messages << " messages, " << readable_bytes(total.node_bytes_total)
            << " (at most " << total.node_messages_max << " messages a rank)\n\n";
}

/// `between nodes`, `between sockets of a node`, `inside a socket`: the innermost level that two ranks share.
std::string link_class(const Machine& machine, int shared_levels) {
  if (shared_levels == machine.levels()) return "inside a " + machine.level_name(shared_levels - 1);
  const std::string between = "between " + machine.level_name(shared_levels) + "s";
  return shared_levels == 0 ? between : between + " of a " + machine.level_name(shared_levels - 1);
}

void print_link_classes(const std::vector<Plan>& plans, const Machine& machine) {
  struct Total {
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::int64_t largest = 0;
  };
  std::vector<Total> totals(static_cast<std::size_t>(machine.levels()) + 1);
  for (const Plan& plan : plans)
    for (const Message& message : messages(plan)) {
      int shared = 0;
      while (shared < machine.levels() &&
             machine.region_id(shared, plan.rank) == machine.region_id(shared, message.peer))
        ++shared;
      Total& total = totals[static_cast<std::size_t>(shared)];
      total.messages += 1;
      total.bytes += message.bytes;
      total.largest = std::max(total.largest, message.bytes);
    }
  Table table({"link class", "messages", "bytes", "largest"});
  for (int shared = 0; shared <= machine.levels(); ++shared) {
    const Total& total = totals[static_cast<std::size_t>(shared)];
    table.add({link_class(machine, shared), std::to_string(total.messages), readable_bytes(total.bytes),
               readable_bytes(total.largest)});
  }
  std::cout << table.text() << "\n";
}

void print_choice(const VirtualSetup& setup, const Parameters& parameters) {
  const Selection& selection = setup.selection;
  const std::vector<const StrategyRow*>& rows = setup.strategies;
  if (selection.predictions.empty()) return;
  std::cout << "chosen by the parameters '" << parameters.name << "', which predict for an exchange:\n";
  std::vector<std::string> heading = {"", "strategy", "time"};
  for (const Bound& bound : bounds) heading.emplace_back(bound.name);
  for (const char* stage : {"direct", "gather", "network", "scatter"}) heading.emplace_back(stage);
  Table table(heading);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Prediction& p = selection.predictions[i];
    std::vector<std::string> row = {i == selection.chosen ? "*" : "", std::string(rows[i]->name),
                                    format_seconds(p.seconds)};
    for (const Bound& bound : bounds) row.push_back(format_seconds(p.*bound.seconds));
    for (Stage stage : {Stage::direct, Stage::gather, Stage::network, Stage::scatter})
      row.push_back(format_seconds(p.part(stage)));
    table.add(std::move(row));
  }
  std::cout << table.text() << "\n";
}

/// Ranks that use the same device: those of a region called gpu or gcd, or each has one of its own.
int processes_per_device(const Machine& machine, Rank rank) {
  for (int level = 0; level < machine.levels(); ++level)
    if (machine.level_name(level) == "gpu" || machine.level_name(level) == "gcd")
      return static_cast<int>(machine.region(level, rank).members.size());
  return 1;
}

/// What the memory paths should take if all buffers are on devices; returns the fastest.
MemoryPath print_paths(const std::vector<Plan>& plans, const Machine& machine, const Parameters& parameters) {
  std::vector<std::pair<double, MemoryPath>> paths;
  const auto lend_bytes = [&](int processes) { return largest_not_lent(parameters, processes, default_mailbox_bytes); };
  for (const MemoryPath path : {MemoryPath::staged, MemoryPath::borrowed, MemoryPath::device_aware}) {
    if (!is_known(path, parameters)) continue;
    double seconds = 0;
    for (const Plan& plan : plans) {
      const Region node = machine.region(0, plan.rank);
      const int processes = processes_per_device(machine, plan.rank);
      const PathConditions conditions{
          {true, true}, node.members, processes, lend_bytes(processes).value_or(never_lent)};
      seconds = std::max(seconds, path_seconds(path, plan, conditions, parameters));
    }
    paths.emplace_back(seconds, path);
  }
  if (const std::optional<std::int64_t> limit = lend_bytes(processes_per_device(machine, 0)))
    std::cout << "memory path dd by the parameters '" << parameters.name << "': " << described_lending(*limit) << "\n";
  const CopyRule rule = copy_rule(parameters, processes_per_device(machine, 0));
  std::cout << "one kernel moves the rows of a copy to the host if they are shorter than "
            << readable_bytes(rule.to_host.shorter_than) << ", to the device "
            << readable_bytes(rule.to_device.shorter_than) << "; otherwise copy engines do\n";
  if (paths.size() < 2) {
    std::cout << "memory path staged: the parameters '" << parameters.name
              << "' do not tell what copies from devices and messages between them cost\n\n";
    return MemoryPath::staged;
  }
  const MemoryPath fastest = std::min_element(paths.begin(), paths.end())->second;
  std::cout << "memory paths by the parameters '" << parameters.name << "', messages and copies one after another:\n";
  Table table({"", "path", "time"});
  for (const auto& [seconds, path] : paths)
    table.add({path == fastest ? "*" : "", std::string(name(path)), format_seconds(seconds)});
  std::cout << table.text() << "(device: if the MPI library takes addresses on devices)\n\n";
  return fastest;
}

std::string described(const Step& step) {
  const std::string peer = std::to_string(step.peer);
  if (combines(step)) return std::string("combine ") + name(step.from.buffer) + " into " + name(step.to.buffer);
  switch (step.kind) {
    case StepKind::move:
      if (step.raise)
        return "move to " + peer + ", " + name(step.from.buffer) + " to its " + name(step.to.buffer) +
               ", then raise word " + std::to_string(step.raise->offset);
      if (step.await)
        return "await word " + std::to_string(step.await->offset) + ", then move from " + peer + ", its " +
               name(step.from.buffer) + " to " + name(step.to.buffer);
      return std::string("move ") + name(step.from.buffer) + " to " + name(step.to.buffer);
    case StepKind::send:
    case StepKind::receive:
      return std::string(name(step.kind)) + (step.kind == StepKind::send ? " to " : " from ") + peer + ", " +
             name(step.span.buffer);
    case StepKind::raise:
      return "raise word " + std::to_string(step.raise->offset) + " of " + peer;
    case StepKind::event:
      return "event " + std::to_string(step.event) + (step.goes_out ? " goes out" : " comes in");
    case StepKind::await:
      break;
  }
  const Word& word = *step.await;
  if (word.sign == Sign::flag) return "await word " + std::to_string(word.offset) + ", raised by " + peer;
  const char* const what = word.sign == Sign::started     ? "has started"
                           : word.sign == Sign::completed ? "has completed"
                                                          : "opens its memory for";
  return "await that " + peer + " " + what + " the exchange" +
         (word.lag > 0 ? " " + std::to_string(word.lag) + " before" : "");
}

void print_plan(const Plan& plan, const std::string& what = "") {
  ShortTable table({"step", "stage", "what", "bytes", "after"}, "steps");
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    std::int64_t bytes = step.span.bytes;
    if (is_copy(step))
      for (const CopyRun& run : step.runs) bytes += run.bytes * run.count;
    std::string after;
    for (int before : step.after) after += (after.empty() ? "" : " ") + std::to_string(before);
    table.add({std::to_string(i), name(step.stage), described(step), readable_bytes(bytes), after});
  }
  std::cout << "plan of rank " << plan.rank << what << "\n";
  table.print();
}

/// What an exchange on this machine runs: through the memory of its nodes, as `path` has it if buffers are on devices.
std::vector<Plan> plans_that_run(std::vector<Plan> plans, const Machine& machine, const Parameters& parameters,
                                 std::optional<MemoryPath> path) {
  if (path == MemoryPath::device_aware) return plans;
  const OnDevice everywhere{true, true};
  std::vector<Region> nodes;
  LocalOptions options;
  options.receive_on_device = path.has_value();
  options.send_on_device = path == MemoryPath::staged;
  if (path == MemoryPath::borrowed) {
    options.lends = options.borrows = 1;
    options.lend_bytes =
        largest_not_lent(parameters, processes_per_device(machine, 0), options.mailbox_bytes).value_or(0);
  }
  for (Plan& plan : plans) {
    nodes.push_back(machine.region(0, plan.rank));
    if (options.send_on_device) plan = fetch_sent(std::move(plan), everywhere, Buffer::staging);
  }
  plans = localize_virtual_ranks(std::move(plans), nodes, options);
  if (path)
    for (Plan& plan : plans) plan = through_host(std::move(plan), everywhere);
  return plans;
}

/// As the library plans it: in elements, and then turned round.
std::vector<Plan> plans_back(const Pattern& back, const Machine& machine, const Levels& levels,
                             StrategySettings settings) {
  const Combination how = sums();
  std::vector<TurnedRound> turned;
  Pattern forward;
  for (const RankPattern& rank : back) {
    turned.push_back(turn_round(rank, how.element_bytes));
    forward.push_back(turned.back().forward);
  }
  settings.message_cap = in_elements(settings.message_cap);
  std::vector<Plan> plans = plan_virtual_ranks(forward, machine, levels, settings, lowering_in_elements()).plans;
  for (std::size_t rank = 0; rank < plans.size(); ++rank) plans[rank] = transpose(plans[rank], turned[rank], how);
  return plans;
}

/// Returns whether all is proven.
bool print_proof(const std::vector<Plan>& plans, const Pattern& pattern, const Combination* how) {
  const Report report = verify(plans, pattern, how);
  std::cout << (report.ok ? "proven: delivery, matching, races, deadlocks, reuse" : "not proven:\n" + to_string(report))
            << "\n\n";
  return report.ok;
}

/// `[[source, destination, bytes], …]`, in the order of the ranks and of their arguments.
std::string edges_json(const Pattern& pattern) {
  Json edges = Json::array();
  for (std::size_t rank = 0; rank < pattern.size(); ++rank)
    for (const Edge& edge : pattern[rank].out) edges.push_back({rank, edge.peer, edge.ranges.bytes()});
  return edges.dump();
}

int explain(const ExplainOptions& options) {
  const Workload workload = make_workload(options);
  require(options.rank >= 0 && options.rank < options.ranks, ErrorKind::argument,
          "--rank " + std::to_string(options.rank) + ": there are " + std::to_string(options.ranks) + " ranks");
  const Machine machine = Machine::parse(options.machine, options.ranks);
  const Nodes nodes = make_nodes(machine, options.machine);
  const Levels levels = choose_levels(options.strategy, options.grid);
  const std::vector<Exchange> exchanges = workload.exchanges();
  Pattern pattern = to_pattern(exchanges);
  StrategySettings settings;
  settings.message_cap = options.message_cap;
  const Machine& planned_for = levels.grid.empty() ? machine : Machine::parse(levels.grid, options.ranks);
  const Parameters parameters = Parameters::read(options.parameters);
  VirtualSetup setup =
      plan_virtual_ranks(pattern, planned_for, levels, settings, {}, &parameters, 0, options.memory == "device");
  if (options.back) {
    check_back(workload.bytes);
    pattern = backwards(pattern);
    const bool chosen = !setup.selection.predictions.empty();
    setup.plans = plans_back(
        pattern, planned_for,
        chosen ? choose_levels(std::string(setup.strategies[setup.selection.chosen]->name), options.grid) : levels,
        settings);
  }
  const Combination how = sums();
  Plan plan = setup.plans[static_cast<std::size_t>(options.rank)];

  const std::string what = options.strategy + (options.back ? " backwards, " : ", ") + workload.description() + ", " +
                           std::to_string(options.ranks) + " ranks, " + nodes.description;
  std::cout << what << "\nbyte ceiling " << format_number(demand(exchanges, nodes).byte_ceiling(), 2) << "\n\n";
  print_choice(setup, parameters);
  print_lanes(setup, nodes);
  print_link_classes(setup.plans, machine);
  print_traffic(setup, nodes);
  std::optional<MemoryPath> path;
  if (options.memory == "device") path = print_paths(setup.plans, machine, parameters);
  if (path && path != MemoryPath::device_aware && !options.run) plan = through_host(std::move(plan), {true, true});
  print_plan(plan);
  const std::string title = "Plan of rank " + std::to_string(plan.rank);
  std::string drawn = options.svg.empty() ? "" : to_svg(plan, title + ": " + what);
  bool proven = true;
  if (options.run) {
    const std::vector<Plan> plans = plans_that_run(setup.plans, machine, parameters, path);
    plan = plans[static_cast<std::size_t>(options.rank)];
    print_plan(plan, " as it runs");
    proven = print_proof(plans, pattern, options.back ? &how : nullptr);
    if (!options.svg.empty()) drawn = stacked(drawn, to_svg(plan, title + " as it runs"));
  }
  if (!options.svg.empty()) write_file(options.svg, drawn);
  if (!options.messages_svg.empty()) write_file(options.messages_svg, to_svg(setup.plans, nodes.of, what));
  if (!options.json.empty()) write_file(options.json, laneway::to_json(plan));
  if (!options.edges.empty()) write_file(options.edges, edges_json(pattern));
  return proven ? EXIT_SUCCESS : EXIT_FAILURE;
}

void add_explain(CLI::App& command, Action& action) {
  auto options = std::make_shared<ExplainOptions>();
  command.add_option("--pattern", options->pattern, "A graph, or matrix:SPEC");
  command.add_option("--matrix", options->matrix, "A matrix, for the halo of its vector");
  command.add_option("--machine", options->machine, "e.g. \"node:4 rank:4\"")->required();
  command.add_option("--ranks", options->ranks, "Number of ranks")
      ->required()
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  command
      .add_option("--strategy", options->strategy,
                  "A strategy, auto, or one for each level as in node:three_step,socket:two_step")
      ->capture_default_str();
  command.add_option("--parameters", options->parameters, "For auto: what messages cost, a name or PATH.toml")
      ->capture_default_str();
  command.add_option("--grid", options->grid, "For cartesian_combining: the grid of ranks, e.g. 4x4");
  command.add_option("--op", options->op, "allgather, allgatherv or alltoallv, for a graph")->capture_default_str();
  command.add_option("--bytes", options->bytes, "Of an edge (1024), or of a matrix's element (8)")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  add_heavy_options(command, options->heavy);
  command.add_option("--message-cap", options->message_cap, "For split: bytes of a message")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command.add_option("--rank", options->rank, "Whose plan to show")->capture_default_str();
  command.add_option("--memory", options->memory, "Of all buffers: host or device")
      ->check(CLI::IsMember({"host", "device"}))
      ->capture_default_str();
  command.add_flag("--run", options->run,
                   "Show the plan as it runs, too, through the memory of the nodes, and prove those of all ranks");
  command.add_flag("--back", options->back,
                   "The way back, a reduction: what receivers hold is added to what they have copies of");
  command.add_option("--svg", options->svg, "Draw that plan to this file");
  command.add_option("--messages-svg", options->messages_svg, "Draw the messages of all ranks to this file");
  command.add_option("--json", options->json, "Write that plan to this file");
  command.add_option("--edges", options->edges,
                     "Write what all ranks send, [source, destination, bytes], to this file");
  command.callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace

std::vector<Command> explain_commands() {
  return {{"explain", Topic::explain, "Lanes, traffic and plans of a strategy, without running anything", add_explain}};
}

}  // namespace laneway::bench
