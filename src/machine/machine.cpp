#include "machine/machine.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <sstream>

#include "base/bytes/mix.hpp"
#include "base/error.hpp"
#include "machine/fabric.hpp"
#include "machine/machine_file.hpp"

namespace laneway {

namespace {

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  std::istringstream stream{std::string(text)};
  while (std::getline(stream, part, separator)) parts.push_back(part);
  return parts;
}

Rank positive(const std::string& text, std::string_view whole) {
  Rank value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(code == std::errc() && end == text.data() + text.size() && value > 0, ErrorKind::info,
          "machine '" + std::string(whole) + "': '" + text + "' is not a positive number");
  return value;
}

void check_total(std::int64_t total, Rank ranks, std::string_view text) {
  require(total == ranks, ErrorKind::info,
          "machine '" + std::string(text) + "' describes " + std::to_string(total) + " ranks, there are " +
              std::to_string(ranks));
}

std::string trim(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1));
}

}  // namespace

Machine Machine::from_paths(const std::vector<std::string>& paths, const std::string& what) {
  require(!paths.empty(), ErrorKind::info, what + " describes no ranks");
  Machine machine;
  machine.ranks_ = static_cast<Rank>(paths.size());
  const std::size_t depth = split(paths.front(), '/').size();
  require(depth > 0, ErrorKind::info, what + ": rank 0 has an empty path");
  static const char* const usual[] = {"node", "socket", "gpu"};
  for (std::size_t level = 0; level < depth; ++level)
    machine.names_.push_back(level < 3 ? usual[level] : "level" + std::to_string(level));
  machine.label_.resize(depth);
  std::map<std::string, Rank> first;
  for (std::size_t r = 0; r < paths.size(); ++r) {
    const std::vector<std::string> labels = split(paths[r], '/');
    require(labels.size() == depth, ErrorKind::info,
            what + ": rank " + std::to_string(r) + " has " + std::to_string(labels.size()) + " levels, rank 0 has " +
                std::to_string(depth));
    std::string prefix;
    for (std::size_t level = 0; level < depth; ++level) {
      prefix += "/" + labels[level];
      machine.label_[level].push_back(first.emplace(prefix, static_cast<Rank>(r)).first->second);
    }
  }
  return machine;
}

Machine Machine::parse(std::string_view text, Rank ranks) {
  const std::string whole = trim(text);
  if (whole.starts_with("file:")) return read_file(whole, ranks);
  if (whole.starts_with("ranks:")) return parse_sizes(whole, ranks);
  return parse_levels(whole, ranks);
}

Machine Machine::read_file(const std::string& whole, Rank ranks) {
  const std::string path = whole.substr(5);
  if (path.ends_with(".toml")) return read_toml(path, ranks);
  std::vector<std::string> lines;
  for (const std::string& line : split(read_machine_file(path), '\n'))
    if (const std::string kept = trim(line.substr(0, line.find('#'))); !kept.empty()) lines.push_back(kept);
  if (lines.size() == 1 && lines[0].find(':') != std::string::npos) {
    require(!lines[0].starts_with("file:"), ErrorKind::info, machine_file(path) + " names another file");
    return parse(lines[0], ranks);
  }
  check_total(static_cast<std::int64_t>(lines.size()), ranks, whole);
  return from_paths(lines, machine_file(path));
}

Machine Machine::parse_sizes(const std::string& whole, Rank ranks) {
  Machine machine;
  machine.ranks_ = ranks;
  machine.names_ = {"node"};
  std::int64_t total = 0;
  for (const std::string& size : split(whole.substr(6), ',')) {
    machine.node_begin_.push_back(static_cast<Rank>(total));
    total += positive(trim(size), whole);
  }
  check_total(total, ranks, whole);
  return machine;
}

Machine Machine::parse_levels(const std::string& whole, Rank ranks) {
  Machine machine;
  machine.ranks_ = ranks;
  std::vector<Rank> counts;
  std::istringstream words(whole);
  for (std::string word; words >> word;) {
    const std::size_t colon = word.find(':');
    require(colon != std::string::npos && colon > 0, ErrorKind::info,
            "machine '" + whole + "': expected name:number, found '" + word + "'");
    const std::string count = word.substr(colon + 1);
    require(count != "*" || counts.empty(), ErrorKind::info,
            "machine '" + whole + "': only the first level can be '*'");
    machine.names_.push_back(word.substr(0, colon));
    counts.push_back(count == "*" ? 0 : positive(count, whole));
  }
  require(!counts.empty(), ErrorKind::info, "the machine description is empty");
  machine.set_sizes(counts, whole);
  return machine;
}

/// From so many regions of each level in one of the level before; 0 at the first: as many as it takes.
void Machine::set_sizes(const std::vector<Rank>& counts, const std::string& whole) {
  const bool open = counts.front() == 0;
  std::int64_t below = 1;
  sizes_.resize(counts.size());
  for (std::size_t level = counts.size(); level-- > 0;) {
    if (open) below = std::min<std::int64_t>(below, ranks_);  // a single node, partly filled
    require(below <= ranks_, ErrorKind::info,
            "machine '" + whole + "' describes more ranks than the " + std::to_string(ranks_) + " there are");
    sizes_[level] = static_cast<Rank>(below);
    below *= counts[level];
  }
  if (!open) check_total(below, ranks_, whole);
  if (names_.back() == "rank") {
    names_.pop_back();
    sizes_.pop_back();
  }
  if (names_.empty()) {
    names_ = {"node"};
    sizes_ = {ranks_};
  }
}

std::uint64_t hash_of_files(std::string_view machine, const std::string& parameters) {
  std::uint64_t hash = 0;
  const auto add = [&hash](const std::string& path) {
    const std::string text = read_machine_file(path);
    hash = mix(hash ^ (text.size() + 1));
    for (const char c : text) hash = mix(hash ^ static_cast<unsigned char>(c));
  };
  if (const std::string description = trim(machine); description.starts_with("file:")) add(description.substr(5));
  if (parameters.ends_with(".toml")) add(parameters);
  return hash;
}

std::string text_of_file(std::string_view machine) {
  const std::string description = trim(machine);
  return description.starts_with("file:") ? read_machine_file(description.substr(5)) : std::string();
}

std::vector<int> find_levels(const std::vector<std::string>& names, const std::vector<std::string>& known) {
  std::vector<int> result;
  int next = 0;
  std::string all;
  for (const std::string& level : known) all += (all.empty() ? "" : ", ") + level;
  for (const std::string& name : names) {
    int at = next;
    if (!name.empty()) at = static_cast<int>(std::find(known.begin(), known.end(), name) - known.begin());
    const bool ranks = at == static_cast<int>(known.size()) && (name.empty() || name == "rank");
    require(ranks || at < static_cast<int>(known.size()), ErrorKind::info, [&] {
      return name.empty() ? "the strategy works on " + std::to_string(names.size()) + " levels, the machine has " + all
                          : "there is no level '" + name + "'; the machine has " + all;
    });
    require(at >= next, ErrorKind::info,
            [&] { return "level '" + name + "' is not inside the one before it; the machine has " + all; });
    result.push_back(at);
    next = at + 1;
  }
  return result;
}

std::vector<int> Machine::find_levels(const std::vector<std::string>& names) const {
  return laneway::find_levels(names, names_);
}

Machine Machine::read_toml(const std::string& path, Rank ranks) {
  TomlTable file = TomlTable::parse(read_machine_file(path), machine_file(path));
  const std::string description = file.text("description");
  if (description.starts_with("file:")) file.fail("description", "names another file");
  Machine machine = parse(description, ranks);
  if (std::optional<DeviceLinks> links = read_devices(file))
    machine.devices_ = std::make_shared<const DeviceLinks>(std::move(*links));
  return machine;
}

Rank Machine::region_id(int level, Rank rank) const {
  if (level == levels()) return rank;
  if (!label_.empty()) return label_[static_cast<std::size_t>(level)][static_cast<std::size_t>(rank)];
  if (!node_begin_.empty()) return *std::prev(std::upper_bound(node_begin_.begin(), node_begin_.end(), rank));
  const Rank size = sizes_[static_cast<std::size_t>(level)];
  return rank / size * size;
}

Region Machine::region(int level, Rank rank) const {
  if (level == levels()) return {rank, {rank}};
  Region region{region_id(level, rank), {}};
  if (!label_.empty()) {
    const std::vector<Rank>& labels = label_[static_cast<std::size_t>(level)];
    for (Rank r = region.id; r < ranks_; ++r)
      if (labels[static_cast<std::size_t>(r)] == region.id) region.members.push_back(r);
    return region;
  }
  for (Rank r = region.id; r < ranks_ && region_id(level, r) == region.id; ++r) region.members.push_back(r);
  return region;
}

}  // namespace laneway
