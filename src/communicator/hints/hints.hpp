#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/lowering/lower.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/trials/expected_exchanges.hpp"
#include "communicator/hints/hint_values.hpp"
#include "mpi/quirks.hpp"
#include "plan/memory_path.hpp"
#include "runtime/carriers/local_options.hpp"

namespace laneway {

struct FinderRow;

/// Hint texts by info key.
using HintTexts = std::map<std::string, std::string>;

/// The hints of this library in `info`. Throws Error(info) on an unknown key that starts with "lnw_".
[[nodiscard]] HintTexts hints_in(MPI_Info info);

/// Which ranks use memory that they share rather than messages.
enum class Sharing : std::uint8_t {
  none,
  described,  ///< those that are also on the same node of a described machine
  all,
  puts,  ///< as described, and what goes to other ranks is put into theirs through the network
  nccl   ///< as described, and messages between devices go by NCCL, all ranks having one of their own
};

/// How a strategy is found where the hints name none.
enum class Tuning : std::uint8_t {
  model,   ///< by predicted costs
  measure  ///< by timing the few most promising
};

/// In which order operations that reduce combine.
enum class ReductionOrder : std::uint8_t {
  fixed,      ///< the plan says: the same in every run
  tried,      ///< the plan says that a trial has chosen before the first result: the same for the rest of a run
  canonical,  ///< by rank, whatever the strategy and the placement
  exact       ///< as canonical; sums of floating-point numbers in any order, with the bits of one that rounds once
};

[[nodiscard]] constexpr bool is_by_rank(ReductionOrder order) {
  return order == ReductionOrder::canonical || order == ReductionOrder::exact;
}

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
  bool check_plan = false;       ///< then `check` is true, too
  bool check_decisions = false;  ///< likewise
  ProgressHint progress = ProgressHint::automatic;
  bool fixed_counts = false;
  bool fixed_dense_counts = false;
  std::int64_t staging_limit = std::int64_t{1}
                               << 26;  ///< bytes; larger blocking and nonblocking operations do not relay
  LoweringOptions lowering;
  Sharing sharing = Sharing::all;
  LocalOptions local;
  Tuning tuning = Tuning::model;
  ReductionOrder order = ReductionOrder::fixed;
  const FinderRow* finder = nullptr;  ///< null: by costs
  std::int64_t bag_memory = std::int64_t{16} << 20;
  std::int64_t channel_memory = std::int64_t{16} << 20;
  std::string parameters;  ///< empty: those for this kind of machine
  double exchanges =
      number_of_exchanges(exchanges_of_requests);  ///< in which a strategy that is chosen makes up for its setup
  MemoryPath path = MemoryPath::automatic;
  std::optional<void*> stream;         ///< of this rank alone
  std::uint64_t files = 0;             ///< a hash of the files that `machine` and `parameters` name; 0: they name none
  std::int64_t shared_staging = 0;     ///< bytes; persistent operations that need no more share their staging memory
  std::string collective;              ///< `auto`, `mpi` or a rule; or one for each operation
  std::int32_t leaders = 4;            ///< a node, of dense rules that have several
  std::int32_t radix = 0;              ///< of dense rules whose blocks hop by digits; 0: as costs say
  std::int64_t partition_message = 0;  ///< bytes of messages of partitioned requests; 0: as costs say
  bool ready_at_start = false;         ///< of partitioned requests of this rank
  std::string adopter;                 ///< what else must be the same on all ranks, as who adopts a communicator says

  /// Equal on two ranks exactly if all settings that must agree are equal.
  [[nodiscard]] std::uint64_t fingerprint() const;
};

namespace hint {

void read_memory_path(Hints& hints, const HintRow& row, const std::string& text);
void read_stream(Hints& hints, const HintRow& row, const std::string& text);
void read_finder(Hints& hints, const HintRow& row, const std::string& text);
void show_finder(const Hints& hints, std::string& words);
std::string finder_names();
void read_check(Hints& hints, const HintRow& row, const std::string& text);
void show_check(const Hints& hints, std::string& words);
void show_levels(const Hints& hints, std::string& words);
void show_nothing(const Hints& hints, std::string& words);

}  // namespace hint

/// All hints. A row is all that a hint is: from here it is read, compared between ranks, listed by `laneway-bench
/// hints` and in docs/reference/hints.md, which `./dev hints --page docs/reference/hints.md` brings up to date.
inline constexpr HintRow hint_rows[] = {
    {"lnw_strategy",
     "LANEWAY_STRATEGY",
     "auto",
     {"`auto`, a name from [strategies](../concepts/strategies.md), or one for each level as in "
      "`node:three_step,socket:two_step`",
      nullptr, hint::show_levels},
     "how data moves between nodes, and inside them; `auto`: by [predicted costs](../concepts/costs.md); the suffix "
     "`_nodedup` "
     "turns "
     "deduplication off"},
    {"lnw_message_cap", "LANEWAY_MESSAGE_CAP", "65536",
     hint::bytes_from<1, &Hints::settings, &StrategySettings::message_cap>,
     "`split`: data between two nodes is cut to this size, unless that makes more pieces than ranks; `multi_path`: "
     "chunks "
     "are no shorter"},
    {"lnw_deduplicate",
     "LANEWAY_DEDUPLICATE",
     "true",
     {"true, false", nullptr, hint::show_nothing},
     "send each byte between two nodes once, however many ranks need it"},
    {"lnw_machine", "LANEWAY_MACHINE", "",
     hint::text<&Hints::machine>("`node:4 socket:2 rank:2`, `ranks:5,3,8`, `file:PATH`; empty: as discovered"),
     "which ranks of `MPI_COMM_WORLD` share a node; it counts all of them, also for a communicator of fewer"},
    {"lnw_parameters", "LANEWAY_PARAMETERS", "",
     hint::text<&Hints::parameters>(
         "a name that `laneway machines` lists, or a file `PATH.toml` such as `laneway calibrate` "
         "writes; `calibrate`; empty"),
     "`auto`: what messages and copies cost ([machine-files.md](machine-files.md)); read once for a communicator and "
     "those made "
     "from "
     "it; `calibrate`: measured quickly at first use; empty: assumed for this kind of machine"},
    {"lnw_tune", "LANEWAY_TUNE", "model",
     hint::choice<&Hints::tuning, Tuning::model, Tuning::measure>("model, measure"),
     "`auto`: `model`: by predicted costs; `measure`: persistent operations [time the few most promising "
     "strategies](../concepts/costs.md), once for each pattern and machine"},
    {"lnw_exchanges", "LANEWAY_EXCHANGES", exchanges_of_requests, hint::count<&Hints::exchanges>,
     "`auto`: within so many exchanges a strategy must make up for its longer setup; a persistent dense operation "
     "counts "
     "as so many calls before a [trial](../use/trials.md). The preloaded libraries, whose "
     "programs exchange more often, have other defaults: `1000` for [MPI programs](../use/preloading.md), `200` for "
     "[hypre](../use/hypre.md)"},
    {"lnw_grid",
     "LANEWAY_GRID",
     "",
     {"such as `4x4` or `8x4x2`", nullptr, hint::show<&Hints::grid>},
     "`cartesian_combining`: the grid that the ranks of the communicator form in row-major order"},
    {"lnw_fixed_counts", "LANEWAY_FIXED_COUNTS", "false", hint::toggle<&Hints::fixed_counts>,
     "a promise: in neighborhood operations on this communicator no rank ever changes its counts and displacements; "
     "blocking and nonblocking v and w operations then use plans (see below). Of dense operations it says nothing"},
    {"lnw_fixed_dense_counts", "LANEWAY_FIXED_DENSE_COUNTS", "false", hint::toggle<&Hints::fixed_dense_counts>,
     "the same promise for dense v and w operations on this communicator: [fixed "
     "counts](../use/collectives-arguments.md#fixed-counts)"},
    {"lnw_staging_limit", "LANEWAY_STAGING_LIMIT", "67108864", hint::bytes<&Hints::staging_limit>,
     "blocking and nonblocking operations that would need more staging memory do not relay"},
    {"lnw_progress", "LANEWAY_PROGRESS", "auto",
     hint::choice<&Hints::progress, ProgressHint::automatic, ProgressHint::wait, ProgressHint::thread,
                  ProgressHint::strict>("auto, wait, thread, strict"),
     "`auto`: relays also progress while their ranks wait in calls of the MPI library, or in a thread; where neither "
     "can "
     "be, persistent and nonblocking operations do not relay, whatever `lnw_strategy` says ([C "
     "API](c.md#progress)); "
     "`wait`: relays progress in calls of this library only; `thread`: all exchanges also progress in a thread of "
     "their "
     "own, which needs `MPI_THREAD_MULTIPLE`; `strict`: no strategy that relays is used"},
    {"lnw_relay_message", "LANEWAY_RELAY_MESSAGE", "16384",
     hint::bytes<&Hints::lowering, &LoweringOptions::relay_message_bytes>,
     "on-node parts of relayed data share messages up to this size"},
    {"lnw_network_message", "LANEWAY_NETWORK_MESSAGE", quirks.network_message,
     hint::bytes<&Hints::lowering, &LoweringOptions::network_message_bytes>,
     "between nodes, relayed data is cut into messages of this size; `0`: not cut. Over MPICH and its descendants the "
     "default is 16384, "
     "since it agrees on each longer message"},
    {"lnw_transport", "LANEWAY_TRANSPORT", "auto",
     hint::choice<&Hints::sharing, Sharing::all, Sharing::described, Sharing::none, Sharing::puts, Sharing::nccl>(
         "auto, node, p2p, rma, nccl"),
     "`auto`: persistent operations move data through memory wherever ranks really share some; `node`: only inside the "
     "nodes of a described machine; `p2p`: the MPI library carries everything; `rma`: as `node`, and messages between "
     "nodes are [put into windows](../concepts/memory.md#puts-between-nodes) of their receivers, also those of "
     "channels "
     "on a communicator that `LNW_Comm_prepare` was called for: only this hint "
     "chooses that, as no parameters say what a put takes; `nccl`: as `node`, and persistent neighborhood operations "
     "send from device to device by [NCCL](../use/gpu.md#by-nccl), where each rank has one of its own. Promises that "
     "all ranks start such exchanges of a communicator in the same order"},
    {"lnw_local_message", "LANEWAY_LOCAL_MESSAGE", "16384", hint::bytes<&Hints::local, &LocalOptions::mailbox_bytes>,
     "inside a node, messages go through its memory up to this size, those that are not relayed and in one direction "
     "only up to half of it: two copies each. The MPI library copies larger ones once"},
    {"lnw_local_memory", "LANEWAY_LOCAL_MEMORY", "8388608",
     hint::bytes<&Hints::local, &LocalOptions::all_mailboxes_bytes>,
     "for such messages a request takes at most this much memory a rank; the largest go without"},
    {"lnw_memory_path",
     "LANEWAY_MEMORY_PATH",
     "auto",
     {"auto, staged, md, dd, device", hint::read_memory_path, hint::show<&Hints::path>},
     "buffers on devices: `staged` or `md`: each rank copies its own through the host's memory; `dd`: ranks of a node "
     "also "
     "copy straight from each other's devices; `device`: the MPI library gets addresses on devices, if it takes them; "
     "`auto`: one of these, by predicted costs ([devices](../concepts/devices.md))"},
    {"lnw_stream",
     "",
     "",
     {"the address of a stream, as a number: `0x7f10aa00`", hint::read_stream, nullptr},
     "what is in the stream at the start of a persistent operation with buffers on a device comes before the exchange, "
     "what "
     "is put into it after the end comes after it ([devices](../concepts/devices.md)); the only hint that need not "
     "be "
     "the "
     "same on all ranks"},
    {"lnw_shared_staging", "LANEWAY_SHARED_STAGING", "0", hint::bytes<&Hints::shared_staging>,
     "a promise: persistent operations whose staging memory is no larger are never active together, and started in the "
     "same "
     "order on all ranks; they share it, see below; `0`: each has its own"},
    {"lnw_order", "LANEWAY_ORDER", "fixed",
     hint::choice<&Hints::order, ReductionOrder::fixed, ReductionOrder::tried, ReductionOrder::canonical,
                  ReductionOrder::exact>("fixed, tried, canonical, exact"),
     "reductions: `fixed`: persistent ones combine in an order that the strategy says, the same in every run; "
     "`tried`: collectives that add floating-point numbers may be MPI's own or by any strategy, as a trial finds "
     "before "
     "their first result, for all vectors below the next power of two: the same from then on, and another in another "
     "run; "
     "`canonical`: by rank, so that results depend on neither strategy nor placement; then relays take every "
     "contribution along by itself; `exact`: as `canonical`, but collectives that add `float`, `double` or complex "
     "numbers of them have results that depend on the numbers alone ([how](../concepts/reductions.md)). `reducew`, "
     "blocking and nonblocking ones without `lnw_fixed_counts`, and operators "
     "that do not commute, are canonical anyway"},
    {"lnw_collective", "LANEWAY_COLLECTIVE", "auto",
     hint::text<&Hints::collective>("`auto`, `mpi`, a rule of [collectives](../use/collectives.md), or one for each "
                                    "operation as in `alltoall:bruck,allreduce:ring`"),
     "how dense operations move data; `auto`: by predicted costs, MPI's own operation among what there is to choose "
     "from; `mpi`: MPI's own. A rule is for the operations that have it, the others are left to `auto`"},
    {"lnw_leaders", "LANEWAY_LEADERS", "4", hint::count<&Hints::leaders>,
     "dense operations: the rules `multi_leader`, `locality_aware` and `multi_leader_locality` have so many leaders on "
     "each node"},
    {"lnw_radix", "LANEWAY_RADIX", "0", hint::count_from<0, &Hints::radix>,
     "all-to-alls: in rules that have `bruck` in their names, blocks hop by the digits of their ways, which are "
     "numbers of this base, 2 or more: the larger, the more messages and the fewer hops; `0`: as predicted costs say"},
    {"lnw_partition_message", "LANEWAY_PARTITION_MESSAGE", "0", hint::bytes<&Hints::partition_message>,
     "partitioned messages between two ranks: the sender lets neighbouring partitions share messages up to this size "
     "([partitioned](../use/partitioned.md)); `0`: as predicted costs say"},
    {"lnw_ready_at_start", "", "false", hint::toggle<&Hints::ready_at_start>,
     "partitioned messages between two ranks: all partitions of the sender are ready when the exchange starts, so that "
     "a [queue](../use/queues.md) starts and sends by one trigger"},
    {"lnw_find",
     "LANEWAY_FIND",
     "auto",
     {"", hint::read_finder, hint::show_finder, hint::finder_names},
     "how [partners are found](../use/discovery.md) that only one side knows; `auto`: by predicted costs"},
    {"lnw_channel_memory", "LANEWAY_CHANNEL_MEMORY", "16777216", hint::bytes<&Hints::channel_memory>,
     "bytes of the window that `LNW_Comm_prepare` makes on each rank under `lnw_transport=rma`; channels that find no "
     "room there go by messages"},
    {"lnw_bag_memory", "LANEWAY_BAG_MEMORY", "16777216", hint::bytes<&Hints::bag_memory>,
     "a [bag](../use/discovery.md#bags) keeps about so many bytes on a rank; senders wait for more"},
    {"lnw_check",
     "LANEWAY_CHECK",
     "false",
     {"true, false, plan, decisions", hint::read_check, hint::show_check},
     "compare both sides of every edge before the exchange, and name the first that disagrees; `plan`: also gather and "
     "prove the plans that will run, of up to 512 ranks; `decisions`: also compare what all ranks must decide alike, "
     "in "
     "every call that may wait for them ([verifying](../use/verifying.md))"},
};

/// The info of the call comes before that of the communicator's creation, then the environment, then the default.
/// Throws Error(info) that names the key and the valid values.
/// What is written for one hint: for the communicator, else in the environment, else its fallback.
[[nodiscard]] std::string hint_text(const HintRow& row, const HintTexts& communicator);
[[nodiscard]] Hints resolve_hints(const HintTexts& call, const HintTexts& communicator);

/// Makes each edge a message of its own. Returns whether that is another strategy.
bool relay_nothing(Hints& hints);

/// lnw_progress, or lnw_memory_path, alone, for calls that plan nothing.
[[nodiscard]] ProgressHint resolve_progress(const HintTexts& communicator);
/// lnw_check=decisions, likewise; of other values nothing is said here.
[[nodiscard]] ReductionOrder resolve_order(const HintTexts& communicator);
[[nodiscard]] bool checks_decisions(const HintTexts& communicator);
[[nodiscard]] MemoryPath resolve_memory_path(const HintTexts& communicator);

}  // namespace laneway
