#include "data/specs.hpp"

#include <algorithm>
#include <limits>

#include "matrix/generators.hpp"
#include "matrix/load.hpp"
#include "offline/random_graphs.hpp"

namespace laneway::bench {

namespace {

void append_words(std::vector<std::string>& words, const std::string& text, const char* separators) {
  std::size_t end = 0;
  for (std::size_t begin = text.find_first_not_of(separators); begin != std::string::npos;
       begin = text.find_first_not_of(separators, end)) {
    end = std::min(text.find_first_of(separators, begin), text.size());
    words.push_back(text.substr(begin, end - begin));
  }
}

}  // namespace

std::vector<std::string> split_specs(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) append_words(result, text, "; ");
  return result;
}

std::vector<std::string> split_strategies(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : split_specs(texts)) {
    const bool has_levels = text.find(':') != std::string::npos;
    if (has_levels)
      result.push_back(text);
    else
      append_words(result, text, ",");
  }
  return result;
}

Workload load_workload(const std::string& pattern, Op op, std::int64_t bytes, Rank ranks, const Heavy& heavy) {
  Workload workload{.pattern = pattern, .op = op, .bytes = bytes, .ranks = ranks, .heavy = heavy};
  if (const std::optional<std::string> spec = matrix_spec(pattern))
    workload.matrix = std::make_shared<matrix::Csr>(matrix::load(*spec));
  workload.check();
  return workload;
}

void add_heavy_options(CLI::App& command, Heavy& heavy) {
  CLI::Option* ranks =
      command.add_option("--heavy", heavy.ranks, "Ranks whose blocks are of --heavy-bytes instead")->delimiter(',');
  CLI::Option* bytes = command.add_option("--heavy-bytes", heavy.bytes, "Size of the blocks of --heavy ranks")
                           ->transform(CLI::AsSizeValue(false))
                           ->check(CLI::Range(1, std::numeric_limits<int>::max()));
  ranks->needs(bytes);
  bytes->needs(ranks);
}

std::string describe_patterns() {
  std::string text = "Graphs of ranks:\n";
  for (const GraphGenerator& row : graph_generators())
    text +=
        "  " + std::string(row.name) + ":" + std::string(row.parameters) + "  " + std::string(row.description) + "\n";
  return text + "Matrices: a file (.mtx, .graph), or\n" + matrix::describe_generators() +
         "Halos of a stencil on a grid of points, a cube of them on each rank: box:points=27,unknowns=16,dims=4x4x4, "
         "with --op "
         "alltoallv\n"
         "Halos that amg --write-halos has written: halo:FILE, with --op alltoallv\n";
}

}  // namespace laneway::bench
