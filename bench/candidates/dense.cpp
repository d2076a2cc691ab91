#include "candidates/dense.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace laneway::bench {

// Each file in dense/ has a function of its name.
#define LANEWAY_DENSE(file) DenseMaker dense_##file();
#include "dense_files.inc"
#undef LANEWAY_DENSE

namespace {

/// The MPI library's own first, with which others are compared.
std::vector<DenseMaker> makers() {
  std::vector<DenseMaker> all = {
#define LANEWAY_DENSE(file) dense_##file(),
#include "dense_files.inc"
#undef LANEWAY_DENSE
  };
  std::ranges::stable_partition(all, [](const DenseMaker& maker) { return maker.group == "mpi"; });
  return all;
}

void add_new(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

std::string all_names(DenseKind kind) {
  std::string text;
  for (const DenseMaker& maker : makers())
    for (const std::string& name : maker.names(kind)) text += (text.empty() ? "" : ", ") + name;
  return text;
}

std::string all_groups() {
  std::vector<std::string> groups;
  for (const DenseMaker& maker : makers()) add_new(groups, maker.group + ":*");
  std::string text;
  for (const std::string& group : groups) text += (text.empty() ? "" : ", ") + group;
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
    for (const DenseMaker& maker : makers()) {
      if (one != maker.group + ":*") continue;
      known = true;
      for (const std::string& name : maker.names(kind)) add_new(names, name);
    }
    require(known, ErrorKind::argument, one + ": none of " + all_groups());
  }
  return names;
}

std::unique_ptr<DenseCandidate> make_dense_candidate(const std::string& name, const DenseTask& task) {
  for (const DenseMaker& maker : makers())
    if (std::unique_ptr<DenseCandidate> made = maker.make(name, task)) return made;
  throw Error(ErrorKind::argument, name + " is no candidate of " + laneway::name(task.dense.kind) + ": " +
                                       all_names(task.dense.kind) + ", " + all_groups());
}

}  // namespace laneway::bench
