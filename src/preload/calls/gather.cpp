#include "preload/calls/gather.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <exception>
#include <utility>
#include <vector>

#include "base/process/relax.hpp"
#include "preload/calls/collective.hpp"
#include "preload/calls/deadline.hpp"
#include "preload/report/rows.hpp"

namespace laneway::interpose {

namespace {

constexpr int summary_tag = 0;

/// A failure of another rank ends nothing but the report.
class ReturnedErrors {
 public:
  ReturnedErrors() {
    if (PMPI_Comm_get_errhandler(MPI_COMM_WORLD, &before_) == MPI_SUCCESS)
      PMPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    if (before_ == MPI_ERRHANDLER_NULL) return;
    PMPI_Comm_set_errhandler(MPI_COMM_WORLD, before_);
    PMPI_Errhandler_free(&before_);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// The larger of two numbers of every rank. Calls `late` where not all have come in time, and goes on waiting:
/// MPI_Finalize would wait no less, and for ever with a request that nobody completes. Nothing where MPI says that a
/// rank has failed.
template <class Late>
std::optional<std::array<int, 2>> largest(const std::array<int, 2>& mine, const Deadline& deadline, const Late& late) {
  std::array<int, 2> all = mine;
  MPI_Request request = MPI_REQUEST_NULL;
  int code = PMPI_Iallreduce(mine.data(), all.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD, &request);
  const auto is_over = [&] {
    int flag = 0;
    if (code == MPI_SUCCESS) code = PMPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    return code != MPI_SUCCESS || flag;
  };
  if (!deadline.wait(is_over)) {
    late();
    for (int turns = 0; !is_over(); relax(turns)) {
    }
  }
  return code == MPI_SUCCESS ? std::optional(all) : std::nullopt;
}

/// That of another rank; nothing if it does not come, or what comes is none.
std::optional<Summary> receive(int source, MPI_Comm comm, const Deadline& deadline) {
  MPI_Status status;
  const bool came = deadline.wait([&] {
    int flag = 0;
    return PMPI_Iprobe(source, summary_tag, comm, &flag, &status) != MPI_SUCCESS || flag;
  });
  int bytes = 0;
  if (!came || PMPI_Get_count(&status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) return std::nullopt;
  Bytes data(static_cast<std::size_t>(bytes));
  if (PMPI_Recv(data.data(), bytes, MPI_BYTE, source, summary_tag, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS)
    return std::nullopt;
  try {
    return Summary::unpacked(data);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

/// Up a binomial tree: no rank holds more than what the rows of all ranks differ in.
void add_up(Summary& mine, int rank, int size, MPI_Comm comm, const Deadline& deadline) {
  for (int bit = 1; bit < size; bit <<= 1) {
    if ((rank & bit) != 0) {
      auto& data = *new Bytes(mine.packed());  // MPI may read it for longer than this rank waits
      MPI_Request request = MPI_REQUEST_NULL;
      if (PMPI_Isend(data.data(), static_cast<int>(data.size()), MPI_BYTE, rank - bit, summary_tag, comm, &request) ==
              MPI_SUCCESS &&
          deadline.wait(request))
        delete &data;
      return;
    }
    if (rank + bit >= size) continue;
    if (const std::optional<Summary> other = receive(rank + bit, comm, deadline)) mine.add(*other);
  }
}

SummaryRow summary_of(const Row& row) {
  SummaryRow result;
  result.label = row.label;
  result.strategy = row.strategy;
  result.why = row.why;
  result.ranks = 1;
  result.taken = row.taken.load();
  result.bytes = row.bytes.load();
  result.messages = row.messages.load();
  result.neighbors = std::max(row.neighbors, 0);
  result.ranks_with_neighbors = row.neighbors >= 0 ? 1 : 0;
  for (const Row::Left& left : row.left)
    if (left.reason.load() != nullptr) result.left[left.reason.load()] += left.calls.load();
  if (!row.samples) return result;
  result.sampled = 1;
  for (const Way way : {Way::mpi, Way::plan}) {
    const std::span<const double> samples = row.samples->trial.samples(way);
    result.seconds[way].assign(samples.begin(), samples.end());
  }
  return result;
}

}  // namespace

Summary own_summary() {
  Summary own;
  own.ranks = 1;
  for (const Row* const row : all_rows()) {
    SummaryRow one = summary_of(*row);
    if (one.taken == 0 && one.all_left() == 0) continue;
    Summary alone;
    alone.rows.emplace(SummaryKey{row->comm[0], row->comm[1], row->call, row->sizes}, std::move(one));
    own.add(alone);
  }
  return own;
}

std::optional<Summary> gather(Summary own, Wish wish, double seconds,
                              const std::function<void(const Summary&)>& meanwhile) {
  const ReturnedErrors errors;
  int rank = 0;
  int size = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &size);
  own.world = size;
  if (!whole_world_has_library() && !looks_at_dense()) {
    own.asks_others = false;
    const bool is_wanted = wish == Wish::always || (wish == Wish::if_any && !own.rows.empty());
    return rank == 0 && is_wanted ? std::optional(std::move(own)) : std::nullopt;
  }
  const std::optional<std::array<int, 2>> all =
      largest({static_cast<int>(wish), own.rows.empty() ? 0 : 1}, Deadline(seconds), [&] {
        if (rank == 0 && wish != Wish::never) meanwhile(own);
      });
  if (!all) return std::nullopt;
  const auto most = static_cast<Wish>((*all)[0]);
  if (most == Wish::never || (most == Wish::if_any && (*all)[1] == 0)) return std::nullopt;
  MPI_Comm comm = MPI_COMM_NULL;
  if (PMPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm) == MPI_SUCCESS) {
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    add_up(own, rank, size, comm, Deadline(seconds));
    PMPI_Comm_free(&comm);
  }
  return rank == 0 ? std::optional(std::move(own)) : std::nullopt;
}

}  // namespace laneway::interpose
