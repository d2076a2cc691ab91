#pragma once

#include <mpi.h>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carriers/node/localizer.hpp"
#include "core/expected_exchanges.hpp"
#include "lanes/strategy.hpp"
#include "passes/lower.hpp"
#include "plan/memory_path.hpp"

namespace laneway {

/// One setting that users can give: as info key, or in the environment.
struct HintRow {
  std::string_view key;
  std::string_view environment;  ///< empty: in an info argument only
  std::string_view fallback;
  std::string_view values;
  std::string_view description;
};

[[nodiscard]] std::span<const HintRow> hint_rows();

/// Hint texts by info key.
using HintTexts = std::map<std::string, std::string>;

/// The hints of this library in `info`. Throws Error(info) on an unknown key that starts with "lnw_".
[[nodiscard]] HintTexts hints_in(MPI_Info info);

/// Which ranks use memory that they share rather than messages.
enum class Sharing : std::uint8_t {
  none,
  described,  ///< those that are also on the same node of a described machine
  all
};

/// How a strategy is found where the hints name none.
enum class Tuning : std::uint8_t {
  model,   ///< by predicted costs
  measure  ///< by timing the few most promising
};

/// How exchanges progress while their ranks are in no call of this library.
enum class ProgressHint : std::uint8_t {
  automatic,  ///< by the MPI library's progress engine, or by a thread; where there is neither, nothing is relayed
  wait,       ///< they do not
  thread,     ///< by a thread, all of them
  strict,     ///< nothing is relayed
};

/// The value of lnw_parameters that asks for a calibration at first use.
inline constexpr std::string_view measured_parameters = "calibrate";

/// Settings in force for one operation.
struct Hints {
  StrategyChoice strategy;         ///< of the outermost level
  std::string level;               ///< that level's name; empty: the machine's outermost
  std::vector<LevelChoice> inner;  ///< the levels inside, outermost first
  std::string strategy_name;       ///< all levels that were named, as they are written in the hint
  StrategySettings settings;
  std::string machine;
  std::string grid;  ///< the grid of ranks, as a machine description; empty unless the strategy works on one
  bool check = false;
  ProgressHint progress = ProgressHint::automatic;
  bool fixed_counts = false;
  std::int64_t staging_limit = std::int64_t{1}
                               << 26;  ///< bytes; larger blocking and nonblocking operations do not relay
  LoweringOptions lowering;
  Sharing sharing = Sharing::all;
  LocalOptions local;
  Tuning tuning = Tuning::model;
  std::string parameters;  ///< empty: those for this kind of machine
  double exchanges =
      number_of_exchanges(exchanges_of_requests);  ///< in which a strategy that is chosen makes up for its setup
  MemoryPath path = MemoryPath::automatic;
  std::optional<void*> stream;      ///< of this rank alone
  std::uint64_t files = 0;          ///< a hash of the files that `machine` and `parameters` name; 0: they name none
  std::int64_t shared_staging = 0;  ///< bytes; persistent operations that need no more share their staging memory
  std::string adopter;              ///< what else must be the same on all ranks, as who adopts a communicator says

  /// Equal on two ranks exactly if all settings that must agree are equal.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

/// The info of the call comes before that of the communicator's creation, then the environment, then the default.
/// Throws Error(info) that names the key and the valid values.
[[nodiscard]] Hints resolve_hints(const HintTexts& call, const HintTexts& communicator);

/// Makes each edge a message of its own. Returns whether that is another strategy.
bool relay_nothing(Hints& hints);

/// lnw_progress, or lnw_memory_path, alone, for calls that plan nothing.
[[nodiscard]] ProgressHint resolve_progress(const HintTexts& communicator);
[[nodiscard]] MemoryPath resolve_memory_path(const HintTexts& communicator);

}  // namespace laneway
