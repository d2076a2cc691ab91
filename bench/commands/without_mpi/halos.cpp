#include <CLI/App.hpp>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <limits>
#include <memory>

#include "base/error.hpp"
#include "commands.hpp"
#include "data/halo_file.hpp"
#include "data/specs.hpp"

namespace laneway::bench {

namespace {

struct HalosOptions {
  std::string matrix;
  std::vector<Rank> ranks;
  std::string folder;
};

int write(const HalosOptions& options) {
  const std::filesystem::path folder(options.folder);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  require(!error, ErrorKind::io, options.folder + ": " + error.message());
  Workload workload = load_workload("matrix:" + options.matrix, Op::alltoallv, sizeof(double), 1, {});
  for (const Rank ranks : options.ranks) {
    workload.ranks = ranks;
    const std::string path = folder / (std::to_string(ranks) + ".halo");
    write_halos(path, workload.exchanges());
    std::cout << path << "\n" << std::flush;
  }
  return EXIT_SUCCESS;
}

void add_halos(CLI::App& command, Action& action) {
  auto options = std::make_shared<HalosOptions>();
  command.add_option("--matrix", options->matrix, "A file (.mtx, .graph) or generator")->required();
  command.add_option("--for-ranks", options->ranks, "Numbers of ranks: RANKS.halo is written for each")
      ->delimiter(',')
      ->required()
      ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  command.add_option("--output", options->folder, "The folder for these files")->required();
  command.callback([options, &action] { action = [options] { return write(*options); }; });
}

}  // namespace

std::vector<Command> halos_commands() {
  return {{"halos", Topic::explain,
           "Write what the ranks of a row-distributed matrix exchange, for patterns of the form halo:FILE", add_halos}};
}

}  // namespace laneway::bench
