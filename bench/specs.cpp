#include "specs.hpp"

#include "matrix/generators.hpp"
#include "pattern/graph.hpp"

namespace laneway::bench {

std::vector<std::string> split_specs(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) {
    std::size_t end = 0;
    for (std::size_t begin = text.find_first_not_of("; "); begin != std::string::npos;
         begin = text.find_first_not_of("; ", end)) {
      end = std::min(text.find_first_of("; ", begin), text.size());
      result.push_back(text.substr(begin, end - begin));
    }
  }
  return result;
}

std::string describe_patterns() {
  std::string text = "Graphs of ranks:\n";
  for (const GraphGenerator& row : graph_generators())
    text +=
        "  " + std::string(row.name) + ":" + std::string(row.parameters) + "  " + std::string(row.description) + "\n";
  return text + "Matrices: a file (.mtx, .graph), or\n" + matrix::describe_generators();
}

}  // namespace laneway::bench
