#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "commands.hpp"
#include "core/nearest.hpp"
#include "core/tell.hpp"
#include "data/specs.hpp"
#include "output/provenance.hpp"
#ifdef LANEWAY_BENCH_MPI
#include "comm/network_distance.hpp"
#include "measure/library.hpp"
#endif

namespace {

#ifdef LANEWAY_BENCH_MPI
std::optional<int> network_distance(const lnw_device_info& device) {
  const std::optional<laneway::NetworkDistance> distance = laneway::distance_to_network(device);
  return distance ? std::optional(static_cast<int>(*distance)) : std::nullopt;
}
#endif

std::string version() {
  std::string text = std::string("laneway-bench ") + laneway::bench::build_version();
#ifdef LANEWAY_BENCH_MPI
  text += ", " + laneway::bench::mpi_library();
#else
  text += ", without MPI";
#endif
  return text;
}

/// Of a subcommand that does not exist, the nearest that does; else nothing.
std::string meant(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return {};
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  const std::vector<std::string_view> near = laneway::nearest_first(argv[1], {names.begin(), names.end()});
  if (near.front() == argv[1] || !laneway::is_near(argv[1], near.front())) return {};
  return "Did you mean '" + std::string(near.front()) + "'?\n";
}

int run(int argc, char** argv) {
  using namespace laneway::bench;
  CLI::App app{"Measures and explains the exchanges of Laneway; see docs/use/benchmarking.md", "laneway-bench"};
  app.require_subcommand(1);
  app.footer(describe_patterns());
  app.set_version_flag("--version", version);
  Action action;
  if (add_amg != nullptr) add_amg(app, action);
  add_copy(app, action);
  add_explain(app, action);
  add_halos(app, action);
  add_model(app, action);
  add_predict(app, action);
  add_strategies(app, action);
#ifdef LANEWAY_BENCH_MPI
  add_device(app, action, network_distance);
  add_bag(app, action);
  add_distribute(app, action);
  add_calibrate(app, action);
  add_channel(app, action);
  add_dense(app, action);
  add_discover(app, action);
  add_hints(app, action);
  add_info(app, action);
  add_link(app, action);
  add_neighbor(app, action);
  add_overlap(app, action);
  add_partitioned(app, action);
  add_queue(app, action);
  add_reduce(app, action);
  add_spmbv(app, action);
  add_spmm(app, action);
  add_spmv(app, action);
#else
  add_device(app, action);
#endif
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (!laneway::is_first_process()) return error.get_exit_code();
    const int status = app.exit(error);
    if (status != 0) std::fputs(meant(app, argc, argv).c_str(), stderr);
    return status;
  }
  return action();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "laneway-bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
