#include "preload/calls/collective.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "api/dense.hpp"
#include "base/error.hpp"
#include "base/log_line.hpp"
#include "communicator/arguments/dense_blocks.hpp"
#include "communicator/datatypes/operators.hpp"
#include "communicator/decisions.hpp"
#include "communicator/hints/hints.hpp"
#include "mpi/attribute_key.hpp"
#include "mpi/end_job.hpp"
#include "operations/collective/collective.hpp"
#include "preload/adopted.hpp"
#include "preload/report/rows.hpp"
#include "preload/report/tried.hpp"
#include "preload/settings.hpp"

namespace laneway::interpose {

namespace {

constexpr const char* no_such_communicator = "there is no such communicator";
constexpr const char* between_groups = "the communicator joins two groups";
constexpr const char* alone = "the communicator has one rank";
constexpr const char* some_idle = "some ranks of the communicator have no neighbors";
constexpr const char* bad_argument = "an argument is bad, of which MPI says more";
constexpr const char* own_operator = "the operator is the program's own";
constexpr const char* ordered_sums =
    "sums of floating-point numbers depend on their order; LANEWAY_REDUCTIONS=reorder allows another one";
constexpr const char* own_is_best = "MPI's own is expected to be as fast as any rule, or no rule is right";
constexpr const char* would_be_measured = "would be tried under LANEWAY_DENSE=1 where ranks are on several nodes";
constexpr const char* reordered = "; sums of floating-point numbers in another order (LANEWAY_REDUCTIONS=reorder)";

/// Says once what is wrong with a variable that has another value than these.
bool is_chosen(const char* variable, std::string_view value, std::string_view other) {
  const char* const found = std::getenv(variable);
  const std::string_view text = found != nullptr ? found : "";
  if (text == value) return true;
  if (!text.empty() && text != other && is_first_process())
    log_line("preload: " + std::string(variable) + " is " + std::string(text) + ", neither " + std::string(value) +
             " nor " + std::string(other) + ": taken as " + std::string(other));
  return false;
}

bool may_reorder() {
  static const bool may = is_chosen("LANEWAY_REDUCTIONS", "reorder", "keep");
  return may;
}

bool is_one_of(MPI_Op op, std::initializer_list<MPI_Op> ops) {
  return std::ranges::find(ops, op) != ops.end();
}

/// Whether the bits of the result depend on which rule runs.
bool is_sum(const CollectiveCall& call) {
  return reduces(call.kind) && depends_on_order(call.op, call.receive.type);
}

const char* reason_against_operator(const CollectiveCall& call) {
  if (!reduces(call.kind)) return nullptr;
  if (!is_one_of(call.op, {MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN, MPI_LAND, MPI_BAND, MPI_LOR, MPI_BOR, MPI_LXOR,
                           MPI_BXOR, MPI_MAXLOC, MPI_MINLOC}))
    return own_operator;
  return is_sum(call) && !may_reorder() ? ordered_sums : nullptr;
}

/// By which it may be told without the others that nothing is taken over on a communicator; equal on all ranks.
const char* reason_against_comm(MPI_Comm comm) {
  int inter = 0;
  int ranks = 0;
  if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return no_such_communicator;
  if (inter != 0) return between_groups;
  if (PMPI_Comm_size(comm, &ranks) != MPI_SUCCESS) return no_such_communicator;
  return ranks == 1 ? alone : nullptr;
}

/// A call whose arguments are bad on this rank alone counts nothing, and meets nobody: others know nothing of it.
bool is_good(MPI_Comm comm, const CollectiveCall& call) {
  int rank = 0;
  int ranks = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  try {
    check_dense(call, rank, ranks);
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::int64_t bytes_of(const SideArguments& side, int entries) {
  MPI_Count size = 0;
  if (PMPI_Type_size_x(side.type, &size) != MPI_SUCCESS) return 0;
  if (side.counts.null()) return side.count * static_cast<std::int64_t>(size);
  std::int64_t elements = 0;
  for (int i = 0; i < entries; ++i) elements += side.counts[i];
  return elements * static_cast<std::int64_t>(size);
}

/// Of a block, or of all where they differ: the same on all ranks, as MPI wants what is sent to fit what is received. 0
/// where no rank knows the sizes of all.
std::int64_t bytes_of(MPI_Comm comm, const CollectiveCall& call) {
  int rank = 0;
  int ranks = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &ranks);
  switch (call.kind) {
    case DenseKind::barrier:
    case DenseKind::alltoallv:
    case DenseKind::alltoallw:
      return 0;
    case DenseKind::gather:
      return bytes_of(rank == call.root ? call.receive : call.send, ranks);
    case DenseKind::scatter:
      return bytes_of(rank == call.root ? call.send : call.receive, ranks);
    default:
      return bytes_of(call.receive, ranks);
  }
}

/// Whether nobody has chosen a rule.
bool is_open() {
  static const bool open = resolve_hints({}, {}).collective == "auto";
  return open;
}

/// Of a communicator, after which it is looked at: many have few calls.
std::int64_t first_calls() {
  static const std::int64_t calls = TriedCalls::first_calls(is_open());
  return calls;
}

AttributeKey calls_key([](void* calls) { delete static_cast<int*>(calls); });

/// How many calls a communicator has had, which is not looked at before. MPI keeps it with the communicator.
int next_call(MPI_Comm comm) {
  if (void* const calls = calls_key.find(comm)) return (*static_cast<int*>(calls))++;
  auto calls = std::make_unique<int>(1);
  calls_key.set(comm, calls.get());
  (void)calls.release();
  return 0;
}

/// What is known of the calls of one function and class of sizes.
struct CallsOfSize {
  std::shared_ptr<Row> row;
  TriedCalls tried;
  bool is_reordered = false;  ///< whether the row says that the order of sums may be another
};

struct DenseCalls final : Attachment {
  bool numbered = false;
  std::map<std::tuple<std::string_view, int, bool>, CallsOfSize> known;  // by function, size, whether they are sums
};

DenseCalls& calls_on(Communicator& communicator, MPI_Comm comm) {
  auto& calls = communicator.attachment<DenseCalls>();
  if (calls.numbered) return calls;
  calls.numbered = true;
  if (may_reorder() && resolve_order(communicator.hints) == ReductionOrder::fixed)
    communicator.hints.insert_or_assign("lnw_order", "tried");
  if (find_adopted(comm) == nullptr) number_communicator(communicator, comm);
  return calls;
}

/// For sums a trial chooses in the first call, before it has a result, and equal ones have equal bits.
CallsOfSize& calls_of_size(Communicator& communicator, MPI_Comm comm, const char* name, std::int64_t bytes,
                           bool are_sums) {
  auto& known = calls_on(communicator, comm).known;
  const int size = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0))));
  const auto found = known.find({name, size, are_sums});
  if (found != known.end()) return found->second;
  const std::shared_ptr<Row> row = row_of_dense(&communicator, comm, name, size);
  CallsOfSize& made =
      known.emplace(std::tuple(name, size, are_sums), CallsOfSize{row, TriedCalls(is_open(), 0, row)}).first->second;
  if (are_sums) made.tried.stays_as_planned();
  return made;
}

const char* decide_dense(Communicator& communicator, MPI_Comm comm, const CollectiveCall& call, TriedCalls& calls) {
  return calls.decide([] { return true; }, [&] { return communicator.private_comm(); },
                      [&](bool) {
                        if (is_sum(call)) try_sums(comm, call);
                        const Reasons reasons = reasons_of_dense(comm, call);
                        if (reasons.strategy == "mpi") return PlanMade{own_is_best};
                        note_plan(calls.row(), reasons.strategy, reasons.rule_reason);
                        return PlanMade{nullptr, seed_of(calls.row())};
                      });
}

bool checks_all_decisions() {
  static const bool checks = checks_decisions({});
  return checks;
}

/// Collective.
void check_decisions(MPI_Comm comm, const char* name, int number) {
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) return;
  compare_decisions(communicator, *communicator.private_comm());
  note_decision(communicator, [&] { return std::string(name) + " is call " + std::to_string(number); });
}

bool count_left(const char* name, const char* reason) {
  row_of_dense(nullptr, MPI_COMM_NULL, name, 0)->count_left(reason);
  return false;
}

bool decide_and_count(const char* name, MPI_Comm comm, const CollectiveCall& call) {
  const char* against = reason_against_comm(comm);
  if (against == nullptr) against = reason_against_operator(call);
  if (against != nullptr || only_counts()) return count_left(name, against != nullptr ? against : would_be_measured);
  if (!is_good(comm, call)) return count_left(name, bad_argument);
  const bool are_sums = is_sum(call);
  const int number = next_call(comm);
  if (checks_all_decisions()) check_decisions(comm, name, number);
  if (!are_sums && number < first_calls()) return count_left(name, TriedCalls::too_early);
  Communicator& communicator = Communicator::of(comm);
  if (communicator.partial) return count_left(name, some_idle);
  const std::int64_t bytes = bytes_of(comm, call);
  CallsOfSize& calls = calls_of_size(communicator, comm, name, bytes, are_sums);
  if (wants_rows()) calls.row->count_bytes(bytes, 1);
  against = decide_dense(communicator, comm, call, calls.tried);
  note_decision(communicator, [&] {
    return std::string(name) + " of " + std::to_string(bytes) +
           " bytes: " + (against != nullptr ? against : "taken over, " + calls.row->strategy);
  });
  if (against != nullptr) return calls.row->count_left(against), false;
  calls.row->count_taken();
  if (are_sums && !std::exchange(calls.is_reordered, true)) calls.row->why += reordered;
  return true;
}

}  // namespace

bool looks_at_dense() {
  return only_counts() || (enabled() && is_chosen("LANEWAY_DENSE", "1", "0"));
}

bool takes_over(const char* name, MPI_Comm comm, const CollectiveCall& call) noexcept {
  try {
    return decide_and_count(name, comm, call);
  } catch (const DecisionsDiffer& error) {
    // The ranks would go different ways from here on.
    end_job(std::string(name) + ": " + error.what(), comm, MPI_ERR_OTHER);
  } catch (...) {
    return true;  // the call itself says what is wrong
  }
}

int run_taken(const char* name, MPI_Comm comm, const CollectiveCall& call) {
  return dense_blocking(name, comm, call);
}

}  // namespace laneway::interpose
