#include <cstdlib>
#include <iostream>
#include <memory>

#include "base/environment.hpp"
#include "base/json.hpp"
#include "commands.hpp"
#include "communicator/nodes/discovery.hpp"
#include "measure/run.hpp"
#include "output/provenance.hpp"
#include "runtime/device/device.hpp"

namespace laneway::bench {

namespace {

struct InfoOptions {
  std::string machine;
  bool json = false;
};

Json describe_devices() {
  Json found = Json::array();
  for (const Device& device : all_devices())
    found.push_back({{"vendor", device.plugin().vendor()}, {"number", device.number()}, {"name", device.info().name}});
  return found;
}

/// What predicts, and why that: the variable first, then what kind of machine this looks like.
Json describe_parameters(bool one_node) {
  const char* given = std::getenv("LANEWAY_PARAMETERS");
  if (given != nullptr && *given != '\0') return {{"name", given}, {"why", "LANEWAY_PARAMETERS says so"}};
  const std::string name = kind_of_machine(one_node);
  const std::string why = one_node                ? "all ranks share one node"
                          : name == "default-hpc" ? "there are network devices of a fast kind"
                                                  : "there are several nodes, and no network devices of a fast kind";
  return {{"name", name}, {"why", why + "; assumed, not measured: laneway calibrate measures"}};
}

Json describe_variables() {
  Json set = Json::object();
  for (const VariableRow& row : variable_rows())
    if (const char* value = std::getenv(std::string(row.name).c_str())) set[std::string(row.name)] = value;
  return set;
}

Json describe_all(const Run& run) {
  Json all = provenance();
  Json nodes = Json::array();
  for (int node = 0; node < run.nodes.count; ++node) nodes.push_back(Json::array());
  for (std::size_t rank = 0; rank < run.nodes.of.size(); ++rank)
    nodes[static_cast<std::size_t>(run.nodes.of[rank])].push_back(rank);
  all["ranks"] = run.ranks;
  all["share_memory"] = nodes;
  all["devices"] = describe_devices();
  all["no_device_plugin"] = absent_device_plugins();
  all["parameters"] = describe_parameters(run.nodes.count == 1);
  all["variables"] = describe_variables();
  return all;
}

/// `0-3, 8`
std::string rank_ranges(const Json& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i;
    while (end + 1 < ranks.size() && ranks[end + 1].get<int>() == ranks[end].get<int>() + 1) ++end;
    text += (text.empty() ? "" : ", ") + ranks[i].dump() + (end > i ? "-" + ranks[end].dump() : "");
    i = end + 1;
  }
  return text;
}

void print_info(const Json& all) {
  const auto text = [&](const char* key) { return all[key].get<std::string>(); };
  std::cout << "laneway      " << text("version") << (text("commit").empty() ? "" : ", commit " + text("commit"))
            << "\nMPI          " << text("mpi") << ", MPI " << text("mpi_standard") << "\n";
  for (const auto& [name, value] : all["transport"].members())
    std::cout << "transport    " << name << "=" << value.get<std::string>() << "\n";
  std::cout << "host         " << text("host") << ", " << all["processors"] << " processors\n"
            << "ranks        " << all["ranks"] << " on " << all["share_memory"].size() << " nodes\n";
  for (const Json& node : all["share_memory"]) std::cout << "share memory ranks " << rank_ranges(node) << "\n";
  for (const Json& device : all["devices"])
    std::cout << "device       " << device["vendor"].get<std::string>() << " " << device["number"] << ": "
              << device["name"].get<std::string>() << "\n";
  for (const Json& why : all["no_device_plugin"]) std::cout << "no plugin    " << why.get<std::string>() << "\n";
  std::cout << "parameters   " << all["parameters"]["name"].get<std::string>() << ": "
            << all["parameters"]["why"].get<std::string>() << "\n";
  for (const auto& [name, value] : all["variables"].members())
    std::cout << "set          " << name << "=" << value.get<std::string>() << "\n";
  std::cout << std::flush;
}

int show_info(const Run& run, const InfoOptions& options) {
  if (!run.is_root()) return EXIT_SUCCESS;
  const Json all = describe_all(run);
  if (options.json)
    std::cout << all.dump(2) << "\n" << std::flush;
  else
    print_info(all);
  return EXIT_SUCCESS;
}

void add_info(CLI::App& command, Action& action) {
  auto options = std::make_shared<InfoOptions>();
  command.add_option("--machine", options->machine, "Nodes to assume, e.g. \"node:4 rank:4\"");
  command.add_flag("--json", options->json, "As one object");
  command.callback([options, &action] {
    action = [options] { return with_mpi(options->machine, [&](const Run& run) { return show_info(run, *options); }); };
  });
}

}  // namespace

std::vector<Command> info_commands() {
  return {{"info", Topic::explain, "Versions, ranks that share memory, devices, parameters in use", add_info}};
}

}  // namespace laneway::bench
