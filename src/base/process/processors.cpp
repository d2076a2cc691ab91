#include "base/process/processors.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string_view>
#include <vector>

#include "base/bytes/mix.hpp"
#include "base/process/relax.hpp"
#include "base/simulated.hpp"

namespace laneway {

namespace {

bool has_item(const std::string& list, std::string_view item) {
  std::istringstream items(list);
  for (std::string one; std::getline(items, one, ',');)
    if (one == item) return true;
  return false;
}

/// Blanks and backslashes are octal numbers in mountinfo.
std::string unescaped(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_octal =
        text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(text.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                    text.begin() + static_cast<std::ptrdiff_t>(i) + 4, [](char c) { return c >= '0' && c <= '7'; });
    if (!is_octal) {
      result += text[i];
      continue;
    }
    result += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
    i += 3;
  }
  return result;
}

/// A mounted hierarchy of control groups: which of its directories is mounted where.
struct Hierarchy {
  std::string root;
  std::string place;
  bool unified = false;
};

std::vector<Hierarchy> mounted_hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream fields(line);
    std::string skipped, directory, place, type, source, options;
    fields >> skipped >> skipped >> skipped >> directory >> place;
    while (fields >> skipped && skipped != "-") {
    }
    fields >> type >> source >> options;
    if (type == "cgroup2" || (type == "cgroup" && has_item(options, "cpu")))
      found.push_back({unescaped(directory), root + unescaped(place), type == "cgroup2"});
  }
  return found;
}

/// The calling process's group in hierarchies of the kind, if it has one.
std::optional<std::string> own_group(const std::string& root, bool unified) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (unified ? line.starts_with("0::") : has_item(controllers, "cpu")) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// `group` as seen from `directory`; nothing if it is not inside, as with namespaces of control groups.
std::string inside(const std::string& group, const std::string& directory) {
  const std::string above = directory == "/" ? "" : directory;
  const bool is_inside = group.starts_with(above + "/") && group.find("/..") == std::string::npos;
  return is_inside && group.size() > above.size() + 1 ? group.substr(above.size()) : "";
}

double limit_of(const std::string& directory, bool unified) {
  double quota = 0;
  double period = 0;
  if (unified) {
    std::ifstream(directory + "/cpu.max") >> quota >> period;  // "max" is no number
  } else {
    std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;  // -1: none
    std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  }
  return quota > 0 && period > 0 ? quota / period : std::numeric_limits<double>::infinity();
}

std::uint64_t number_of(const std::string& directory) {
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) return 0;
  return mix(status.st_dev ^ mix(status.st_ino)) | 1;
}

}  // namespace

ProcessorQuota read_quota(const std::string& root) {
  ProcessorQuota least;
  for (const Hierarchy& hierarchy : mounted_hierarchies(root)) {
    const std::optional<std::string> group = own_group(root, hierarchy.unified);
    if (!group) continue;
    for (std::string path = inside(*group, hierarchy.root);; path.resize(path.rfind('/'))) {
      const std::string directory = hierarchy.place + path;
      if (const double limit = limit_of(directory, hierarchy.unified); limit < least.processors)
        least = {limit, number_of(directory)};
      if (path.empty()) break;
    }
  }
  return least;
}

Processors own_processors() {
  static const ProcessorQuota quota = read_quota();
  Processors own;
  own.quota = quota;
  CPU_ZERO(&own.cores);
  if (sched_getaffinity(0, sizeof own.cores, &own.cores) != 0) CPU_ZERO(&own.cores);
  return own;
}

bool have_one_each(std::size_t processes, std::span<const Processors> known) {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  std::map<std::uint64_t, std::pair<double, std::size_t>> groups;
  for (const Processors& one : known) {
    CPU_OR(&cores, &cores, &one.cores);
    if (one.quota.group == 0) continue;
    auto& [quota, members] = groups.try_emplace(one.quota.group, one.quota.processors, 0).first->second;
    quota = std::min(quota, one.quota.processors);
    ++members;
  }
  const std::size_t unknown = processes > known.size() ? processes - known.size() : 0;
  return processes > 0 && processes <= static_cast<std::size_t>(CPU_COUNT(&cores)) &&
         std::ranges::all_of(groups, [&](const auto& group) {
           return static_cast<double>(group.second.second + unknown) <= group.second.first;
         });
}

void learn_patience(std::size_t ranks, std::span<const Processors> known) {
  if (simulated || std::getenv("LANEWAY_OVERSUBSCRIBED") != nullptr) return;
  if (have_one_each(std::max(ranks, known.size()), known))
    turns_before_yield.store(patient_turns, std::memory_order_relaxed);
  else if (!have_one_each(known.size(), known))
    turns_before_yield.store(impatient_turns, std::memory_order_relaxed);
}

}  // namespace laneway
