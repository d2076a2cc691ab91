#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "algorithms/collective/choice.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "commands.hpp"
#include "machine/parameters.hpp"

namespace laneway::bench {

namespace {

struct RulesOptions {
  std::string op = "alltoall";
  std::vector<std::int64_t> bytes{8, 1024};
  Rank nodes = 2;
  Rank ranks_of_node = 4;
  std::string parameters = "default-hpc";
  bool json = false;
};

Dense kind_of(const std::string& op) {
  for (const DenseRule& rule : dense_rules())
    if (op == name(rule.kind)) return rule.kind;
  throw Error(ErrorKind::info, "rules --op " + op + ": no collective has this name");
}

/// What `auto` compares for such a call, from the fastest on.
int print_rules(const RulesOptions& options) {
  require(options.nodes > 0 && options.ranks_of_node > 0, ErrorKind::argument,
          "rules: --nodes and --ranks are from 1 on");
  std::vector<Rank> regions;
  for (Rank rank = 0; rank < options.nodes * options.ranks_of_node; ++rank)
    regions.push_back(rank / options.ranks_of_node);
  const laneway::Layout layout(regions);
  const Parameters parameters = Parameters::read(options.parameters);
  const Dense kind = kind_of(options.op);
  Json rows = Json::array();
  for (const std::int64_t bytes : options.bytes) {
    const DenseFacts facts{.kind = kind, .bytes = bytes, .element_bytes = reduces(kind) ? 8 : 1};
    for (const laneway::DenseCandidate& one :
         choose_dense_rule(facts, layout, parameters, {}, OnNode::memory).candidates) {
      if (options.json) {
        rows.push_back({{"op", options.op}, {"bytes", bytes}, {"rule", one.rule->name}, {"predicted_s", one.seconds}});
        continue;
      }
      std::printf("%10lld B  %-30s %12.3f us\n", static_cast<long long>(bytes), std::string(one.rule->name).c_str(),
                  one.seconds * 1e6);
    }
  }
  if (options.json) std::cout << rows.dump(2) << "\n";
  return EXIT_SUCCESS;
}

void add_rules(CLI::App& command, Action& action) {
  auto options = std::make_shared<RulesOptions>();
  command.add_option("--op", options->op, "The collective, as alltoall")->capture_default_str();
  command.add_option("--bytes", options->bytes, "Of a block, or of a vector that is combined")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--nodes", options->nodes, "How many there are")->capture_default_str();
  command.add_option("--ranks", options->ranks_of_node, "Of a node")->capture_default_str();
  command.add_option("--parameters", options->parameters, "Name or path of a machine file")->capture_default_str();
  command.add_flag("--json", options->json, "As JSON");
  command.callback([options, &action] { action = [options] { return print_rules(*options); }; });
}

}  // namespace

std::vector<Command> rules_commands() {
  return {{"rules", Topic::explain,
           "What each rule of a collective is expected to take on a machine, without running it", add_rules}};
}

}  // namespace laneway::bench
