#include "operations/choose/tuning.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <span>
#include <string_view>

#include "algorithms/cost/tuning_file.hpp"
#include "base/bytes/mix.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"
#include "mpi/check.hpp"
#include "operations/choose/trial.hpp"
#include "runtime/carriers/messages/p2p.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

/// Memory for the ranges of one side of a pattern, laid out as the user's buffer. Pages that no range touches cost
/// nothing.
class Scratch {
 public:
  explicit Scratch(const std::vector<Edge>& edges) {
    std::int64_t begin = std::numeric_limits<std::int64_t>::max();
    std::int64_t end = std::numeric_limits<std::int64_t>::min();
    for (const Edge& edge : edges)
      edge.ranges.for_each([&](Range range) {
        begin = std::min(begin, range.offset);
        end = std::max(end, range.end());
      });
    if (begin >= end) return;
    begin_ = begin;
    memory_.reset(std::calloc(static_cast<std::size_t>(end - begin), 1));
    failed_ = memory_ == nullptr;
  }

  [[nodiscard]] bool failed() const { return failed_; }
  /// Where offsets count from.
  [[nodiscard]] std::int64_t begin() const { return begin_; }
  [[nodiscard]] void* data() const {
    return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(memory_.get()) -
                                   static_cast<std::uintptr_t>(begin_));
  }

 private:
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };
  std::unique_ptr<void, Free> memory_;
  std::int64_t begin_ = 0;
  bool failed_ = false;
};

class Hash {
 public:
  void put(std::uint64_t value) { value_ = mix(value_ ^ value); }
  void put(std::string_view text) {
    for (char c : text) put(static_cast<unsigned char>(c));
  }
  /// Layouts are compared, not addresses.
  void put(const std::vector<Edge>& edges, std::int64_t origin) {
    put(edges.size());
    for (const Edge& edge : edges) {
      put(static_cast<std::uint64_t>(edge.peer));
      edge.ranges.for_each_repeat([&](const Repeat& repeat) {
        if (repeat.count > 1)
          for (std::int64_t number : {static_cast<std::int64_t>(repeat.runs.size()), repeat.stride, repeat.count})
            put(static_cast<std::uint64_t>(number));
        for (const Run& run : repeat.runs)
          for (std::int64_t number : {run.offset - origin, run.bytes, run.stride, run.count})
            put(static_cast<std::uint64_t>(number));
      });
    }
  }
  [[nodiscard]] std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0;
};

/// Stands for everything on which the times of an exchange depend; zero if some rank has no memory to try it.
std::uint64_t key_of(const PrivateComm& comm, const Agreed& agreed, const Scratch& send, const Scratch& receive) {
  Hash hash;
  hash.put(static_cast<std::uint64_t>(comm.rank()));
  hash.put(static_cast<std::uint64_t>(comm.size()));
  hash.put(agreed.pattern.out, send.begin());
  hash.put(agreed.pattern.in, receive.begin());
  for (const Region& region : agreed.regions)
    for (const Rank member : region.members) hash.put(static_cast<std::uint64_t>(member));
  hash.put(agreed.hints.fingerprint());
  hash.put(processor_model());
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
  hash.put(std::string_view(version.data(), static_cast<std::size_t>(length)));
  const std::vector<std::uint64_t> mine = {hash.value(), send.failed() || receive.failed() ? 1U : 0U};
  const std::vector<std::uint64_t> sums = reduce_progressing(mine, MPI_UINT64_T, MPI_SUM, comm);
  return sums[1] == 0 ? mix(sums[0]) : 0;
}

/// The candidate that the user's file remembers, as all ranks then know it.
std::optional<std::size_t> recall(const PrivateComm& comm, const std::optional<TuningFile>& file, std::uint64_t key,
                                  const std::vector<const StrategyRow*>& rows) {
  int index = -1;
  if (file) {
    const std::optional<TuningFile::Entry> entry = file->find(key);
    for (std::size_t c = 0; entry && c < rows.size(); ++c)
      if (rows[c]->name == entry->strategy) index = static_cast<int>(c);
  }
  // Only the first rank's counts.
  const std::vector<int> mine = {comm.rank() == 0 ? index : -1};
  index = reduce_progressing(mine, MPI_INT, MPI_MAX, comm).front();
  return index < 0 ? std::nullopt : std::optional<std::size_t>(static_cast<std::size_t>(index));
}

/// The plan of one of the strategies alone.
Planned plan_of(const StrategyRow* row, Communicator& communicator, const PrivateComm& comm, const Agreed& agreed,
                const Candidate& candidate) {
  return make_plan(communicator, comm, agreed, {{row, candidate.strategy.deduplicate}, candidate.path});
}

}  // namespace

Planned measure(Communicator& communicator, const PrivateComm& comm, const Agreed& agreed, const Candidate& candidate,
                const NodeUse& use, std::optional<Planned> made) {
  const auto first = [&] { return made ? std::move(*made) : make_plan(communicator, comm, agreed, candidate); };
  const auto local = [&](Planned planned, const NodeUse& uses) {
    localize(communicator, comm, agreed, uses, planned);
    return planned;
  };
  const Scratch send(agreed.pattern.out);
  const Scratch receive(agreed.pattern.in);
  const std::uint64_t key = key_of(comm, agreed, send, receive);
  if (key == 0) return local(first(), use);
  const std::vector<const StrategyRow*> rows = candidate.strategy.rows();
  const std::optional<TuningFile> file = comm.rank() == 0 && !simulated ? TuningFile::of_user() : std::nullopt;
  if (const std::optional<std::size_t> known = recall(comm, file, key, rows)) {
    const bool is_made = made && made->reasons.selection.chosen == *known;
    Planned planned =
        local(is_made ? std::move(*made) : plan_of(rows[*known], communicator, comm, agreed, candidate), use);
    planned.reasons.remembered = file ? file->path().string() : "rank 0";
    return planned;
  }
  std::vector<Planned> plans = {first()};
  Reasons reasons = plans.front().reasons;
  std::vector<double> predicted;
  for (const Prediction& prediction : reasons.selection.predictions) predicted.push_back(prediction.seconds);
  const std::vector<std::size_t> order = most_promising(predicted, reasons.selection.chosen, trial_of_plans);
  for (const std::size_t c : std::span(order).subspan(1))
    plans.push_back(plan_of(rows[c], communicator, comm, agreed, candidate));
  // Memory that the result shares with other requests may be in use, and nobody fires events of trials.
  NodeUse alone = use;
  alone.shared_staging = 0;
  alone.events = {};
  std::vector<Planned> trials;
  for (const Planned& planned : plans) trials.push_back(local(planned, alone));
  P2PTransport transport(comm.get(), agreed.tag);
  const Helper helper = find_helper(agreed.hints.progress);
  employ(helper);
  std::vector<TrialCandidate> candidates;
  for (std::size_t t = 0; t < order.size(); ++t)
    candidates.push_back({std::string(rows[order[t]]->name), predicted[order[t]],
                          [exchange = std::make_shared<Exchange>(trials[t].plan, Buffers{send.data(), receive.data()},
                                                                 transport, progress_by(helper), trials[t].memory)] {
                            exchange->start();
                            exchange->wait();
                          }});
  auto [best, measured] = try_candidates(comm, candidates, trial_of_plans);
  candidates.clear();
  if (file) file->remember(key, {measured[best].strategy, measured[best].seconds});
  const bool is_as_tried = use.shared_staging == 0 && use.events.empty();
  Planned fastest = !is_as_tried ? local(std::move(plans[best]), use) : std::move(trials[best]);
  reasons.strategy = fastest.reasons.strategy;
  reasons.selection.chosen = order[best];
  reasons.measured = std::move(measured);
  fastest.reasons = std::move(reasons);
  return fastest;
}

}  // namespace laneway
