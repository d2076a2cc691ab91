#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log_line.hpp"
#include "base/nearest.hpp"
#include "commands.hpp"
#include "data/specs.hpp"
#include "measure/library.hpp"
#include "output/provenance.hpp"

// Each file of commands has a function of its name.
#define LANEWAY_COMMANDS(file)            \
  namespace laneway::bench {              \
  std::vector<Command> file##_commands(); \
  }
#include "command_files.inc"
#undef LANEWAY_COMMANDS

namespace {

using laneway::bench::Command;
using laneway::bench::Topic;

constexpr std::array headings = {std::pair(Topic::exchanges, "Measure exchanges"),
                                 std::pair(Topic::programs, "Measure programs"),
                                 std::pair(Topic::machine, "Measure a machine"), std::pair(Topic::explain, "Explain")};

std::vector<Command> commands() {
  std::vector<Command> all;
#define LANEWAY_COMMANDS(file) \
  for (const Command& command : laneway::bench::file##_commands()) all.push_back(command);
#include "command_files.inc"
#undef LANEWAY_COMMANDS
  return all;
}

std::string version() {
  const std::string mpi = laneway::bench::mpi_library != nullptr ? laneway::bench::mpi_library() : "without MPI";
  return std::string("laneway-bench ") + laneway::bench::build_version() + ", " + mpi;
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
  const std::vector<Command> all = commands();
  for (const auto& [topic, heading] : headings)
    for (const Command& command : all)
      if (command.topic == topic) command.add(*app.add_subcommand(command.name, command.help)->group(heading), action);
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
