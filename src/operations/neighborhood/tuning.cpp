#include "operations/neighborhood/tuning.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string_view>

#include "algorithms/cost/tuning_file.hpp"
#include "base/bytes/mix.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"
#include "mpi/check.hpp"
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

/// Index of the candidate that the first rank's file remembers, as all ranks then know it; -1: none.
int recall(const PrivateComm& comm, const std::optional<TuningFile>& file, std::uint64_t key,
           const std::vector<Candidate>& candidates) {
  int index = -1;
  const std::optional<TuningFile::Entry> entry = file ? file->find(key) : std::nullopt;
  for (std::size_t c = 0; entry && c < candidates.size(); ++c)
    if (candidates[c].name == entry->strategy) index = static_cast<int>(c);
  return simulated ? index : reduce_progressing(std::vector<int>{index}, MPI_INT, MPI_MAX, comm).front();
}

}  // namespace

std::optional<TrialResult> measure(const PrivateComm& comm, const Agreed& agreed,
                                   const std::vector<Candidate>& candidates,
                                   const std::function<PlannedCandidates()>& plan) {
  const Scratch send(agreed.pattern.out);
  const Scratch receive(agreed.pattern.in);
  const std::uint64_t key = key_of(comm, agreed, send, receive);
  if (key == 0) return std::nullopt;
  const std::optional<TuningFile> file = comm.rank() == 0 && !simulated ? TuningFile::of_user() : std::nullopt;
  if (const int known = recall(comm, file, key, candidates); known >= 0)
    return TrialResult{.best = candidates[static_cast<std::size_t>(known)].name,
                       .remembered = file ? file->path().string() : "rank 0"};
  P2PTransport transport(comm.get(), agreed.tag);
  const Helper helper = find_helper(agreed.hints.progress);
  employ(helper);
  std::vector<TrialCandidate> tried;
  for (const auto& [candidate, planned] : plan())
    tried.push_back(
        {candidate.name, [exchange = std::make_shared<Exchange>(planned.plan, Buffers{send.data(), receive.data()},
                                                                transport, progress_by(helper), planned.memory)] {
           exchange->start();
           exchange->wait();
         }});
  TrialResult result = try_candidates(comm, tried, trial_of_plans);
  const auto best = std::ranges::find(result.measured, result.best, &Reasons::Measured::strategy);
  if (file) file->remember(key, {best->strategy, best->seconds});
  return result;
}

}  // namespace laneway
