#include "communicator/hints/hints.hpp"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "algorithms/trials/expected_exchanges.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

std::int64_t number(std::string_view key, const std::string& text, const std::string& what) {
  std::int64_t value = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(code == std::errc() && end == text.data() + text.size() && value >= 0, ErrorKind::info,
          std::string(key) + "=" + text + ": not a " + what);
  return value;
}

constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

/// The names between commas.
std::vector<std::string_view> names_in(std::string_view values) {
  std::vector<std::string_view> names;
  for (std::size_t at = 0; at != std::string_view::npos;) {
    const std::size_t comma = values.find(", ", at);
    names.push_back(values.substr(at, comma - at));
    at = comma == std::string_view::npos ? comma : comma + 2;
  }
  return names;
}

const HintRow& row_of(std::string_view key) {
  for (const HintRow& row : hint_rows)
    if (row.key == key) return row;
  internal_error("hint without a row", __FILE__, __LINE__);
}

std::string text_of(const HintRow& row, const HintTexts& call, const HintTexts& communicator) {
  for (const HintTexts* texts : {&call, &communicator})
    if (const auto it = texts->find(std::string(row.key)); it != texts->end()) return it->second;
  const char* value = row.environment.empty() ? nullptr : std::getenv(std::string(row.environment).c_str());
  return value ? value : std::string(row.fallback);
}

}  // namespace

std::string hint_text(const HintRow& row, const HintTexts& communicator) {
  return text_of(row, {}, communicator);
}

HintTexts hints_in(MPI_Info info) {
  HintTexts texts;
  if (info == MPI_INFO_NULL) return texts;
  int keys = 0;
  check_mpi(MPI_Info_get_nkeys(info, &keys), "MPI_Info_get_nkeys");
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    check_mpi(MPI_Info_get_nthkey(info, i, key), "MPI_Info_get_nthkey");
    if (!std::string_view(key).starts_with("lnw_")) continue;
    const bool known = std::ranges::any_of(hint_rows, [&](const HintRow& row) { return row.key == key; });
    require(known, ErrorKind::info, [&] {
      std::vector<std::string_view> names;
      for (const HintRow& row : hint_rows) names.push_back(row.key);
      std::string valid;
      for (const std::string_view name : nearest_first(key, names))
        valid += (valid.empty() ? "" : ", ") + std::string(name);
      return "info: unknown key " + std::string(key) + "; valid are, the most similar first, " + valid;
    });
    std::vector<char> value(MPI_MAX_INFO_VAL + 1);
    int found = 0;
    check_mpi(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
    if (found) texts[key] = value.data();
  }
  return texts;
}

std::uint64_t Hints::fingerprint() const {
  std::string all;
  for (const HintRow& row : hint_rows) {
    if (row.value.show == nullptr) continue;
    row.value.show(*this, all);
    all += '\n';
  }
  all += adopter;
  if (files != 0) all += '\n' + std::to_string(files);
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

namespace hint {

bool read_switch(std::string_view key, const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw Error(ErrorKind::info, std::string(key) + "=" + text + ": valid are true and false");
}

std::int64_t read_bytes(std::string_view key, const std::string& text, std::int64_t least) {
  const std::int64_t value = number(key, text, "number of bytes");
  require(value <= most_bytes, ErrorKind::info,
          std::string(key) + "=" + text + ": at most 2^50 (" + std::to_string(most_bytes) + ") bytes");
  require(value >= least, ErrorKind::info, std::string(key) + "=0: must be positive");
  return value;
}

std::int64_t read_count(std::string_view key, const std::string& text, std::int64_t least, std::int64_t most) {
  const std::int64_t value = number(key, text, "number");
  require(value >= least, ErrorKind::info, std::string(key) + "=0: must be positive");
  require(value <= most, ErrorKind::info, std::string(key) + "=" + text + ": at most " + std::to_string(most));
  return value;
}

std::size_t read_choice(std::string_view key, std::string_view values, const std::string& text) {
  const std::vector<std::string_view> names = names_in(values);
  const auto found = std::ranges::find(names, text);
  require(found != names.end(), ErrorKind::info, [&] {
    std::string valid;
    for (const std::string_view name : names)
      valid += (valid.empty() ? "" : name == names.back() ? " and " : ", ") + std::string(name);
    return std::string(key) + "=" + text + ": valid are " + valid;
  });
  return static_cast<std::size_t>(found - names.begin());
}

void read_memory_path(Hints& hints, const HintRow& row, const std::string& text) {
  std::string valid;
  for (const MemoryPathRow& known : memory_paths()) {
    if (known.name == text) {
      hints.path = known.path;
      return;
    }
    valid += (valid.empty() ? "" : ", ") + std::string(known.name);
  }
  throw Error(ErrorKind::info, std::string(row.key) + "=" + text + ": valid are " + valid);
}

void read_stream(Hints& hints, const HintRow& row, const std::string& text) {
  if (text.empty()) return;
  const bool hexadecimal = text.starts_with("0x");
  std::uintptr_t address = 0;
  const char* const end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, address, hexadecimal ? 16 : 10);
  require(code == std::errc() && at == end, ErrorKind::info, std::string(row.key) + "=" + text + ": not an address");
  hints.stream = reinterpret_cast<void*>(address);
}

std::string finder_names() {
  std::string names = "auto";
  for (const FinderRow& row : finders()) names += std::string(", ") + row.name;
  return names;
}

void read_finder(Hints& hints, const HintRow& row, const std::string& text) {
  const std::size_t name = read_choice(row.key, row.values(), text);
  hints.finder = name == 0 ? nullptr : &finders()[name - 1];
}

void show_finder(const Hints& hints, std::string& words) {
  words += hints.finder == nullptr ? "0" : hints.finder->name;
}

void read_check(Hints& hints, const HintRow& row, const std::string& text) {
  hints.check_plan = text == "plan";
  hints.check_decisions = text == "decisions";
  hints.check = hints.check_plan || hints.check_decisions || read_switch(row.key, text);
}

void show_check(const Hints& hints, std::string& words) {
  words += std::to_string(
      hints.check ? 1 + static_cast<int>(hints.check_plan) + 2 * static_cast<int>(hints.check_decisions) : 0);
}

void show_levels(const Hints& hints, std::string& words) {
  const auto show = [&](const std::string& level, const StrategyChoice& choice) {
    words += level + ':' + std::string(choice.name()) + std::to_string(choice.deduplicate) + '\n';
  };
  show(hints.level, hints.strategy);
  for (const LevelChoice& inner : hints.inner) show(inner.level, inner.choice);
}

void show_nothing(const Hints&, std::string&) {}

}  // namespace hint

namespace {

/// The strategies and what is needed to know them: three hints.
void read_levels(Hints& hints, const HintTexts& call, const HintTexts& communicator) {
  const auto text = [&](std::string_view key) { return text_of(row_of(key), call, communicator); };
  const std::string strategy = text("lnw_strategy");
  const std::string grid = text("lnw_grid");
  const bool deduplicate = hint::read_switch("lnw_deduplicate", text("lnw_deduplicate"));
  Levels levels;
  try {
    levels = choose_levels(strategy, grid, deduplicate);
  } catch (const Error& error) {
    throw Error(error.kind(),
                "lnw_strategy=" + strategy + (grid.empty() ? "" : ", lnw_grid=" + grid) + ": " + error.what());
  }
  hints.strategy = levels.choices.front().choice;
  hints.level = levels.choices.front().level;
  hints.inner.assign(levels.choices.begin() + 1, levels.choices.end());
  hints.grid = levels.grid;
  hints.strategy_name = hints.strategy.name();
  if (hints.level.empty()) return;
  hints.strategy_name = hints.level + ":" + hints.strategy_name;
  for (const LevelChoice& inner : hints.inner)
    if (!inner.level.empty()) hints.strategy_name += "," + inner.level + ":" + std::string(inner.choice.name());
}

}  // namespace

Hints resolve_hints(const HintTexts& call, const HintTexts& communicator) {
  Hints hints;
  read_levels(hints, call, communicator);
  for (const HintRow& row : hint_rows)
    if (row.value.read != nullptr) row.value.read(hints, row, text_of(row, call, communicator));
  if (hints.progress == ProgressHint::strict) relay_nothing(hints);
  return hints;
}

namespace {

/// Hints with the value of this one alone.
Hints resolve_one(std::string_view key, const HintTexts& communicator) {
  Hints hints;
  const HintRow& row = row_of(key);
  row.value.read(hints, row, text_of(row, {}, communicator));
  return hints;
}

}  // namespace

MemoryPath resolve_memory_path(const HintTexts& communicator) {
  return resolve_one("lnw_memory_path", communicator).path;
}

ProgressHint resolve_progress(const HintTexts& communicator) {
  return resolve_one("lnw_progress", communicator).progress;
}

ReductionOrder resolve_order(const HintTexts& communicator) {
  return resolve_one("lnw_order", communicator).order;
}

bool checks_decisions(const HintTexts& communicator) {
  return text_of(row_of("lnw_check"), {}, communicator) == "decisions";
}

bool relay_nothing(Hints& hints) {
  const std::vector<const StrategyRow*> rows = hints.strategy.rows();
  const bool relays = rows.size() > 1 || rows.front()->traits.relays;
  if (relays) hints.strategy.row = &find_strategy("direct");
  hints.inner.clear();
  hints.strategy_name = hints.strategy.name();
  hints.grid.clear();
  return relays;
}

}  // namespace laneway
