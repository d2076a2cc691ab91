#include "candidates/dense.hpp"

#include <algorithm>
#include <array>

#include "core/error.hpp"

namespace laneway::bench {

namespace {

/// By what stands before `:*`.
struct Group {
  std::string name;
  DenseMaker maker;
};

std::vector<Group> groups() {
  return {{"mpi", dense_of_mpi()},
          {"mpi", dense_forced()},
          {"messages", dense_messages()},
          {"rma", dense_rma()},
          {"laneway", dense_laneway()}};
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string all_names(DenseKind kind) {
  std::string text;
  for (const Group& group : groups())
    for (const std::string& name : group.maker.names(kind)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

bool is_of_mpi(const std::string& name) {
  return name == "mpi" || name.starts_with("mpi:");
}

std::vector<std::string> dense_names(const std::vector<std::string>& wanted, DenseKind kind) {
  std::vector<std::string> names;
  for (const std::string& one : wanted) {
    if (!one.ends_with(":*")) {
      add_new(names, one);
      continue;
    }
    bool known = false;
    for (const Group& group : groups()) {
      if (one != group.name + ":*") continue;
      known = true;
      for (const std::string& name : group.maker.names(kind)) add_new(names, name);
    }
    require(known, ErrorKind::argument, one + ": none of mpi:*, messages:*, rma:*, laneway:*");
  }
  return names;
}

std::unique_ptr<DenseCandidate> make_dense_candidate(const std::string& name, const DenseTask& task) {
  for (const Group& group : groups())
    if (std::unique_ptr<DenseCandidate> made = group.maker.make(name, task)) return made;
  throw Error(ErrorKind::argument, name + " is no candidate of " + laneway::name(task.dense.kind) + ": " +
                                       all_names(task.dense.kind) + ", mpi:*, messages:*, rma:*, laneway:*");
}

}  // namespace laneway::bench
