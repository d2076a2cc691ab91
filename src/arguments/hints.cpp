#include "arguments/hints.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "carriers/messages/p2p.hpp"
#include "core/error.hpp"
#include "core/expected_exchanges.hpp"
#include "core/nearest.hpp"

namespace laneway {

namespace {

constexpr std::array<HintRow, 20> rows = {{
    {"lnw_strategy", "LANEWAY_STRATEGY", "auto",
     "auto: by the costs that the parameters of the machine give; a name that `laneway strategies` lists, or one for "
     "each level as in `node:three_step,socket:two_step`; the "
     "suffix "
     "_nodedup turns deduplication off",
     "how data moves between nodes, and inside them"},
    {"lnw_message_cap", "LANEWAY_MESSAGE_CAP", "65536", "bytes",
     "split: data between two nodes is cut to this size, unless that makes more pieces than ranks"},
    {"lnw_deduplicate", "LANEWAY_DEDUPLICATE", "true", "true, false",
     "send each byte between two nodes once, however many ranks need it"},
    {"lnw_machine", "LANEWAY_MACHINE", "", "`node:4 socket:2 rank:2`, `ranks:5,3,8`, `file:PATH`; empty: as discovered",
     "which ranks of MPI_COMM_WORLD share a node"},
    {"lnw_tune", "LANEWAY_TUNE", "model", "model, measure",
     "auto: model: by predicted costs; measure: persistent operations time the few most promising strategies, or use "
     "what the tuning file remembers"},
    {"lnw_parameters", "LANEWAY_PARAMETERS", "",
     "a name that `laneway machines` lists, or a file `PATH.toml` such as `laneway calibrate` writes; `calibrate`: "
     "measured quickly at first use; empty: for this kind of machine",
     "auto: what messages and copies cost"},
    {"lnw_exchanges", "LANEWAY_EXCHANGES", exchanges_of_requests, "a number",
     "auto: a strategy must make up for its longer setup within so many exchanges"},
    {"lnw_grid", "LANEWAY_GRID", "", "`4x4`, `8x4x2`, …: ranks of the communicator in row-major order",
     "cartesian_combining: the grid that the ranks form"},
    {"lnw_fixed_counts", "LANEWAY_FIXED_COUNTS", "false", "true, false",
     "promise: on this communicator no rank ever changes its counts and displacements; blocking and nonblocking v and "
     "w "
     "operations then use plans"},
    {"lnw_staging_limit", "LANEWAY_STAGING_LIMIT", "67108864", "bytes",
     "blocking and nonblocking operations that would need more staging memory do not relay"},
    {"lnw_progress", "LANEWAY_PROGRESS", "auto", "auto, wait, thread, strict",
     "auto: relays also progress while their ranks wait in calls of the MPI library, or in a thread; where neither can "
     "be, "
     "split-phase operations do not relay; wait: in calls of this library only; thread: everything also progresses in "
     "a "
     "thread of its own; strict: no strategy that relays is used"},
    {"lnw_relay_message", "LANEWAY_RELAY_MESSAGE", "16384", "bytes",
     "on-node parts of relayed data share messages up to this size"},
    {"lnw_network_message", "LANEWAY_NETWORK_MESSAGE", "57344", "bytes",
     "between nodes, relayed data is cut into messages of this size; 0: not cut"},
    {"lnw_transport", "LANEWAY_TRANSPORT", "auto", "auto, node, p2p",
     "auto: persistent operations move data through memory where ranks share some; node: only inside the nodes of a "
     "described machine; p2p: the MPI library carries everything"},
    {"lnw_local_message", "LANEWAY_LOCAL_MESSAGE", "16384", "bytes",
     "inside a node, messages that are not relayed go through its memory up to this size, and up to half of it where "
     "none comes back"},
    {"lnw_local_memory", "LANEWAY_LOCAL_MEMORY", "8388608", "bytes",
     "for such messages a request takes at most this much memory a rank; the largest go without"},
    {"lnw_memory_path", "LANEWAY_MEMORY_PATH", "auto", "auto, staged, md, dd, device",
     "how data in buffers on devices gets to other ranks: staged, or md: each rank copies its own through the host's "
     "memory; dd: ranks of a node copy straight from each other's devices; device: the MPI library gets addresses on "
     "devices, if it takes them; auto: one of these, by predicted costs"},
    {"lnw_stream", "", "", "the address of a stream, as a number: 0x7f10aa00",
     "persistent operations with buffers on a device: what is in the stream at the start comes before an exchange, "
     "what "
     "is put into it after the end comes after it"},
    {"lnw_shared_staging", "LANEWAY_SHARED_STAGING", "0", "bytes",
     "promise: persistent operations whose staging memory is no larger are never active together, and started in the "
     "same order on all ranks; they share it"},
    {"lnw_check", "LANEWAY_CHECK", "false", "true, false", "compare both sides of every edge before the exchange"},
}};

bool boolean(std::string_view key, const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw Error(ErrorKind::info, std::string(key) + "=" + text + ": valid are true and false");
}

std::int64_t number(std::string_view key, const std::string& text, const std::string& what = "number of bytes") {
  std::int64_t value = -1;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(code == std::errc() && end == text.data() + text.size() && value >= 0, ErrorKind::info,
          std::string(key) + "=" + text + ": not a " + what);
  return value;
}

/// Sums of a few of them, and of what operations move, fit into 64 bits.
constexpr std::int64_t most_bytes = std::int64_t{1} << 50;

std::int64_t bytes(std::string_view key, const std::string& text) {
  const std::int64_t value = number(key, text);
  require(value <= most_bytes, ErrorKind::info,
          std::string(key) + "=" + text + ": at most 2^50 (" + std::to_string(most_bytes) + ") bytes");
  return value;
}

std::string text_of(std::string_view key, const HintTexts& call, const HintTexts& communicator) {
  for (const HintTexts* texts : {&call, &communicator})
    if (const auto it = texts->find(std::string(key)); it != texts->end()) return it->second;
  for (const HintRow& row : rows) {
    if (row.key != key) continue;
    const char* value = row.environment.empty() ? nullptr : std::getenv(std::string(row.environment).c_str());
    return value ? value : std::string(row.fallback);
  }
  internal_error("hint without a row", __FILE__, __LINE__);
}

}  // namespace

std::span<const HintRow> hint_rows() {
  return rows;
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
    const bool known = std::any_of(rows.begin(), rows.end(), [&](const HintRow& row) { return row.key == key; });
    require(known, ErrorKind::info, [&] {
      std::vector<std::string_view> names;
      for (const HintRow& row : rows) names.push_back(row.key);
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
  std::string inner_text;
  for (const LevelChoice& choice : inner)
    inner_text +=
        '\n' + choice.level + ':' + std::string(choice.choice.name()) + std::to_string(choice.choice.deduplicate);
  std::string all =
      std::string(strategy.name()) + '\n' + machine + '\n' + std::to_string(strategy.deduplicate) +
      std::to_string(check) + std::to_string(static_cast<int>(progress)) + '\n' +
      std::to_string(lowering.relay_message_bytes) + '\n' + std::to_string(lowering.network_message_bytes) + '\n' +
      std::to_string(settings.message_cap) + '\n' + level + inner_text + '\n' + grid + '\n' +
      std::to_string(fixed_counts) + std::to_string(staging_limit) + '\n' + std::to_string(static_cast<int>(sharing)) +
      std::to_string(local.mailbox_bytes) + '\n' + std::to_string(local.all_mailboxes_bytes) + '\n' +
      std::to_string(shared_staging) + '\n' + std::to_string(static_cast<int>(path)) + '\n' +
      std::to_string(static_cast<int>(tuning)) + parameters + '\n' + std::to_string(exchanges) + '\n' + adopter;
  if (files != 0) all += '\n' + std::to_string(files);
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (char c : all) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

namespace {

std::optional<void*> stream_of(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const bool hexadecimal = text.starts_with("0x");
  std::uintptr_t address = 0;
  const char* const end = text.data() + text.size();
  const auto [at, code] = std::from_chars(text.data() + (hexadecimal ? 2 : 0), end, address, hexadecimal ? 16 : 10);
  require(code == std::errc() && at == end, ErrorKind::info, "lnw_stream=" + text + ": not an address");
  return reinterpret_cast<void*>(address);
}

MemoryPath path_of(const std::string& text) {
  std::string valid;
  for (const MemoryPathRow& row : memory_paths()) {
    if (row.name == text) return row.path;
    valid += (valid.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error(ErrorKind::info, "lnw_memory_path=" + text + ": valid are " + valid);
}

ProgressHint progress_of(const std::string& text) {
  if (text == "auto") return ProgressHint::automatic;
  if (text == "wait") return ProgressHint::wait;
  if (text == "thread") return ProgressHint::thread;
  if (text == "strict") return ProgressHint::strict;
  throw Error(ErrorKind::info, "lnw_progress=" + text + ": valid are auto, wait, thread and strict");
}

Levels read_levels(const std::string& strategy, const std::string& grid, bool deduplicate) {
  try {
    return choose_levels(strategy, grid, deduplicate);
  } catch (const Error& error) {
    throw Error(error.kind(),
                "lnw_strategy=" + strategy + (grid.empty() ? "" : ", lnw_grid=" + grid) + ": " + error.what());
  }
}

}  // namespace

Hints resolve_hints(const HintTexts& call, const HintTexts& communicator) {
  auto text = [&](std::string_view key) { return text_of(key, call, communicator); };
  Hints hints;
  Levels levels =
      read_levels(text("lnw_strategy"), text("lnw_grid"), boolean("lnw_deduplicate", text("lnw_deduplicate")));
  hints.strategy = levels.choices.front().choice;
  hints.level = levels.choices.front().level;
  hints.inner.assign(levels.choices.begin() + 1, levels.choices.end());
  hints.grid = levels.grid;
  hints.strategy_name = hints.strategy.name();
  if (!hints.level.empty()) {
    hints.strategy_name = hints.level + ":" + hints.strategy_name;
    for (const LevelChoice& inner : hints.inner)
      if (!inner.level.empty()) hints.strategy_name += "," + inner.level + ":" + std::string(inner.choice.name());
  }
  hints.settings.message_cap = bytes("lnw_message_cap", text("lnw_message_cap"));
  require(hints.settings.message_cap > 0, ErrorKind::info, "lnw_message_cap=0: must be positive");
  hints.machine = text("lnw_machine");
  const std::string tune = text("lnw_tune");
  require(tune == "model" || tune == "measure", ErrorKind::info, "lnw_tune=" + tune + ": valid are model and measure");
  hints.tuning = tune == "measure" ? Tuning::measure : Tuning::model;
  hints.parameters = text("lnw_parameters");
  hints.exchanges = static_cast<double>(number("lnw_exchanges", text("lnw_exchanges"), "number"));
  require(hints.exchanges > 0, ErrorKind::info, "lnw_exchanges=0: must be positive");
  hints.fixed_counts = boolean("lnw_fixed_counts", text("lnw_fixed_counts"));
  hints.staging_limit = bytes("lnw_staging_limit", text("lnw_staging_limit"));
  hints.check = boolean("lnw_check", text("lnw_check"));
  hints.progress = progress_of(text("lnw_progress"));
  hints.lowering.relay_message_bytes = bytes("lnw_relay_message", text("lnw_relay_message"));
  hints.lowering.network_message_bytes = bytes("lnw_network_message", text("lnw_network_message"));
  const std::string transport = text("lnw_transport");
  require(transport == "auto" || transport == "node" || transport == "p2p", ErrorKind::info,
          "lnw_transport=" + transport + ": valid are auto, node and p2p");
  hints.sharing = transport == "auto" ? Sharing::all : transport == "node" ? Sharing::described : Sharing::none;
  hints.local.mailbox_bytes = bytes("lnw_local_message", text("lnw_local_message"));
  hints.local.all_mailboxes_bytes = bytes("lnw_local_memory", text("lnw_local_memory"));
  hints.shared_staging = bytes("lnw_shared_staging", text("lnw_shared_staging"));
  hints.path = path_of(text("lnw_memory_path"));
  hints.stream = stream_of(text("lnw_stream"));
  if (hints.progress == ProgressHint::strict) relay_nothing(hints);
  return hints;
}

MemoryPath resolve_memory_path(const HintTexts& communicator) {
  return path_of(text_of("lnw_memory_path", {}, communicator));
}

ProgressHint resolve_progress(const HintTexts& communicator) {
  return progress_of(text_of("lnw_progress", {}, communicator));
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
