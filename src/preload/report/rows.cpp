#include "preload/report/rows.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <string_view>

#include "base/bytes/mix.hpp"
#include "base/error.hpp"
#include "base/log_line.hpp"
#include "communicator/hints/hints.hpp"
#include "preload/settings.hpp"

/// PMPI_Bcast is this library's own.
extern "C" int laneway_next_MPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm);

namespace laneway::interpose {

namespace {

constexpr std::array<int, 2> unnumbered = {-1, -1};
/// Set together by all ranks of MPI_COMM_WORLD, or by none.
std::atomic<bool> whole_world{false};
/// Further ones of communicators that are freed are added up.
constexpr std::size_t most_rows = 1024;

// Never destroyed: a program may end without MPI_Finalize, and MPI is gone before.
auto& rows_mutex = *new std::mutex;
auto& listed = *new std::vector<std::shared_ptr<Row>>;
/// Of communicators that nothing is known of, and of those that are gone: a list that only grows.
std::atomic<Row*> others{nullptr};

Row& other_row(const char* call) {
  Row* first = others.load(std::memory_order_acquire);
  for (Row* row = first; row != nullptr; row = row->next)
    if (row->call == call) return *row;
  auto* const made = new Row(unnumbered, call, 0);
  made->next = first;
  while (!others.compare_exchange_weak(made->next, made, std::memory_order_acq_rel)) {
  }
  return *made;
}

/// Adds the counts of a row to one of all communicators.
void fold(const Row& row) {
  Row& into = other_row(row.call);
  into.taken.fetch_add(row.taken.load());
  for (const Row::Left& left : row.left)
    if (left.reason.load() != nullptr) into.count_left(left.reason.load(), left.calls.load());
  into.count_bytes(row.bytes.load(), row.messages.load());
}

/// Those of a communicator.
struct RowsOfComm final : Attachment {
  RowsOfComm() = default;
  ~RowsOfComm() override {
    const std::lock_guard lock(rows_mutex);
    if (listed.size() <= most_rows) return;
    for (const std::shared_ptr<Row>& row : rows)
      if (std::erase(listed, row) > 0) fold(*row);
  }

  std::array<int, 2> number = unnumbered;
  std::vector<std::shared_ptr<Row>> rows;
};

std::int64_t class_of(const Call& call) {
  try {
    const std::int64_t bytes = sent_bytes(call);
    return has_equal_edges(call.kind) ? std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(bytes, 0)))
                                      : bytes;
  } catch (const Error&) {
    return 0;  // the call itself says what is wrong
  }
}

/// Empty where the MPI library has made it up.
std::string name_of(MPI_Comm comm) {
  std::array<char, MPI_MAX_OBJECT_NAME + 1> text{};
  int length = 0;
  if (PMPI_Comm_get_name(comm, text.data(), &length) != MPI_SUCCESS) return "";
  const std::string name = text.data();
  return name.starts_with("MPI COMM") || name.starts_with("MPI_COMM") ? "" : name;
}

std::shared_ptr<Row> find_row(const RowsOfComm& of_comm, const char* call, std::int64_t sizes) {
  for (const std::shared_ptr<Row>& row : of_comm.rows)
    if (row->call == call && row->sizes == sizes) return row;
  return nullptr;
}

std::shared_ptr<Row> add_row(RowsOfComm& of_comm, MPI_Comm comm, const char* call, std::int64_t sizes, int neighbors) {
  auto made = std::make_shared<Row>(of_comm.number, call, sizes);
  made->label = name_of(comm);
  made->neighbors = neighbors;
  of_comm.rows.push_back(made);
  const std::lock_guard lock(rows_mutex);
  listed.push_back(made);
  return made;
}

std::int64_t size_of(MPI_Datatype type) {
  MPI_Count size = 0;
  return PMPI_Type_size_x(type, &size) == MPI_SUCCESS ? std::int64_t{size} : 0;
}

}  // namespace

void Row::count_left(const char* reason, std::int64_t calls) {
  for (Left& one : left) {
    const char* known = one.reason.load(std::memory_order_relaxed);
    if (known == nullptr && one.reason.compare_exchange_strong(known, reason)) known = reason;
    if (known != reason && &one != &left.back()) continue;
    one.calls.fetch_add(calls, std::memory_order_relaxed);
    return;
  }
}

std::int64_t Row::all_left() const {
  std::int64_t calls = 0;
  for (const Left& one : left) calls += one.calls.load(std::memory_order_relaxed);
  return calls;
}

ReportWanted report_wanted(const char* value) {
  ReportWanted wanted;
  const std::string_view text = value != nullptr ? value : "";
  if (text.empty()) return wanted;
  if (text == "0" || text == "1") {
    wanted.form = text == "0" ? ReportForm::none : ReportForm::table;
    return wanted;
  }
  wanted.file = text;
  if (text.ends_with(".txt"))
    wanted.form = ReportForm::text;
  else if (text.ends_with(".json"))
    wanted.form = ReportForm::json;
  else if (text.ends_with(".html")) {
    wanted.form = ReportForm::json;
    wanted.page = text;
    wanted.file.replace(text.rfind('.'), std::string::npos, ".json");
  } else
    wanted.complaint = "LANEWAY_REPORT is " + wanted.file + ", not 0, 1 or a file that ends in .txt, .json or .html";
  return wanted;
}

const ReportWanted& report_wanted() {
  static const ReportWanted wanted = report_wanted(std::getenv("LANEWAY_REPORT"));
  return wanted;
}

bool wants_rows() {
  static const bool wanted = report_wanted().form > ReportForm::line;
  return wanted;
}

void number_communicator(Communicator& adopted, MPI_Comm comm) {
  static std::atomic<int> numbered{0};
  auto& rows = adopted.attachment<RowsOfComm>();
  int rank = 0;
  PMPI_Comm_rank(comm, &rank);
  std::array<int, 2> number = unnumbered;
  if (rank == 0) {
    PMPI_Comm_rank(MPI_COMM_WORLD, number.data());
    number[1] = numbered.fetch_add(1);
  }
  if (laneway_next_MPI_Bcast(number.data(), 2, MPI_INT, 0, comm) == MPI_SUCCESS) rows.number = number;
  int same = MPI_UNEQUAL;
  if (PMPI_Comm_compare(comm, MPI_COMM_WORLD, &same) == MPI_SUCCESS && same != MPI_UNEQUAL) whole_world = true;
}

bool whole_world_has_library() {
  return whole_world || only_counts();
}

std::shared_ptr<Row> shared_row(Communicator* adopted, MPI_Comm comm, const char* call, const Call& arguments,
                                bool by_size) {
  if (adopted == nullptr) return {&other_row(call), [](Row*) {}};
  auto& of_comm = adopted->attachment<RowsOfComm>();
  const std::int64_t sizes = by_size || wants_rows() ? class_of(arguments) : 0;
  if (std::shared_ptr<Row> known = find_row(of_comm, call, sizes)) return known;
  const auto neighbors = static_cast<int>(adopted->topology().destinations.size());
  return add_row(of_comm, comm, call, sizes, neighbors);
}

std::shared_ptr<Row> row_of_dense(Communicator* communicator, MPI_Comm comm, const char* call, std::int64_t sizes) {
  if (communicator == nullptr) return {&other_row(call), [](Row*) {}};
  auto& of_comm = communicator->attachment<RowsOfComm>();
  if (std::shared_ptr<Row> known = find_row(of_comm, call, sizes)) return known;
  return add_row(of_comm, comm, call, sizes, -1);
}

Row& row_of(Communicator* adopted, MPI_Comm comm, const char* call, const Call& arguments, bool by_size) {
  return *shared_row(adopted, comm, call, arguments, by_size);
}

std::int64_t bytes_sent(const Call& call, const Topology& topology) {
  const SideArguments& send = call.send;
  if (laneway::row_of(call.kind).send.counts == nullptr)
    return send.count * size_of(send.type) * static_cast<std::int64_t>(topology.destinations.size());
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  for (const Neighbor& to : topology.destinations) {
    elements += send.counts[to.slot];
    if (send.types != nullptr) bytes += send.counts[to.slot] * size_of(send.types[to.slot]);
  }
  return send.types != nullptr ? bytes : elements * size_of(send.type);
}

void count_bytes(Row& row, Communicator* adopted, const Call& call) {
  if (!wants_rows() || adopted == nullptr) return;
  const Topology& topology = adopted->topology();
  row.count_bytes(bytes_sent(call, topology), static_cast<std::int64_t>(topology.destinations.size()));
}

void note_plan(Row& row, const std::string& strategy, const std::string& why) {
  if (!row.strategy.empty()) return;
  row.strategy = strategy;
  row.why = why;
}

void note_plan(Row& row, const Reasons& reasons) {
  if (!row.strategy.empty()) return;
  row.strategy = reasons.strategy;
  if (!reasons.remembered.empty())
    row.why = "measured earlier: " + reasons.remembered;
  else if (!reasons.measured.empty())
    row.why = "the fastest that was measured when it was planned";
  else if (reasons.has_costs())
    row.why = (reasons.is_trial ? "tried: the fastest of those that relay by the parameters '"
                                : "chosen by the parameters '") +
              reasons.parameters + "'";
  else
    row.why = reasons.one_region ? "all ranks are in one region" : "no other to choose from";
}

PreloadCounts counts_of(MPI_Comm comm) {
  PreloadCounts counts;
  const auto add = [&](const Row& row) {
    counts.taken += row.taken.load(std::memory_order_relaxed);
    counts.left += row.all_left();
    counts.messages += row.messages.load(std::memory_order_relaxed);
    counts.bytes += row.bytes.load(std::memory_order_relaxed);
  };
  if (comm == MPI_COMM_NULL) {
    for (const Row* const row : all_rows()) add(*row);
  } else if (Communicator* const known = Communicator::find_any(comm)) {
    for (const std::shared_ptr<Row>& row : known->attachment<RowsOfComm>().rows) add(*row);
  }
  return counts;
}

std::vector<const Row*> all_rows() {
  std::vector<const Row*> rows;
  const std::lock_guard lock(rows_mutex);
  for (const std::shared_ptr<Row>& row : listed) rows.push_back(row.get());
  for (const Row* row = others.load(std::memory_order_acquire); row != nullptr; row = row->next) rows.push_back(row);
  return rows;
}

void Sampling::end(Samples& samples) {
  samples.trial.add(PMPI_Wtime() - samples.began);
  samples.timed = nullptr;
}

Way Sampling::begin(Samples& samples) {
  // Where the next slot is is drawn, so that no rhythm of the program meets it.
  left_ = distance_to_next(seed_, ++slots_);
  if (samples.timed != nullptr) return Way::plan;  // another request of this row is timed
  samples.timed = this;
  samples.began = PMPI_Wtime();
  return static_cast<Way>(samples.trial.way());
}

std::int64_t calls_of(const char* variable, std::int64_t fallback) {
  const char* const found = std::getenv(variable);
  if (found == nullptr || *found == '\0') return fallback;
  const std::string_view text = found;
  std::int64_t calls = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), calls);
  if (error == std::errc() && end == text.data() + text.size() && calls >= 0) return calls;
  throw Error(ErrorKind::argument, std::string(variable) + " is " + found + ", not a number of calls");
}

bool may_sample(Communicator& adopted) {
  if (report_wanted().form == ReportForm::none) return false;
  // Whoever names a strategy has chosen.
  const bool is_open = resolve_hints({}, adopted.hints).strategy.is_automatic();
  return calls_of("LANEWAY_PRELOAD_TRIAL", is_open ? 1 : 0) > 0;
}

std::uint64_t seed_of(const Row& row) {
  const std::hash<std::string_view> hash;
  return mix(static_cast<std::uint64_t>(row.comm[0])) ^ mix(static_cast<std::uint64_t>(row.comm[1]) << 20U) ^
         mix(static_cast<std::uint64_t>(row.sizes) << 40U) ^ hash(row.call);
}

}  // namespace laneway::interpose

__attribute__((visibility("default"))) laneway::PreloadCounts laneway_preload_counts(MPI_Comm comm) {
  return laneway::interpose::counts_of(comm);
}
