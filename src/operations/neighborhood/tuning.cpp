#include "operations/neighborhood/tuning.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "base/bytes/mix.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/nodes/discovery.hpp"
#include "mpi/check.hpp"
#include "runtime/carriers/messages/p2p.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

Scratch::Scratch(const std::vector<Edge>& edges) {
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

namespace {

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

}  // namespace

StrategyTrial::StrategyTrial(const PrivateComm& comm, const Agreed& agreed)
    : comm_(comm), agreed_(agreed), send_(agreed.pattern.out), receive_(agreed.pattern.in), key_(find_key()) {
  if (comm.rank() == 0 && !simulated) file_ = TuningFile::of_user();
}

/// Stands for everything on which the times of an exchange depend; zero if some rank has no memory to try it.
std::uint64_t StrategyTrial::find_key() const {
  Hash hash;
  hash.put(static_cast<std::uint64_t>(comm_.rank()));
  hash.put(static_cast<std::uint64_t>(comm_.size()));
  hash.put(agreed_.pattern.out, send_.begin());
  hash.put(agreed_.pattern.in, receive_.begin());
  for (const Region& region : agreed_.regions)
    for (const Rank member : region.members) hash.put(static_cast<std::uint64_t>(member));
  hash.put(agreed_.hints.fingerprint());
  hash.put(processor_model());
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  check_mpi(MPI_Get_library_version(version.data(), &length), "MPI_Get_library_version");
  hash.put(std::string_view(version.data(), static_cast<std::size_t>(length)));
  const std::vector<std::uint64_t> mine = {hash.value(), send_.failed() || receive_.failed() ? 1U : 0U};
  const std::vector<std::uint64_t> sums = reduce_progressing(mine, MPI_UINT64_T, MPI_SUM, comm_);
  return sums[1] == 0 ? mix(sums[0]) : 0;
}

std::optional<TrialResult> StrategyTrial::recall(const std::vector<Candidate>& candidates) const {
  if constexpr (simulated) return std::nullopt;
  int index = -1;
  const std::optional<TuningFile::Entry> entry = file_ ? file_->find(key_) : std::nullopt;
  for (std::size_t c = 0; entry && c < candidates.size(); ++c)
    if (candidates[c].name == entry->strategy) index = static_cast<int>(c);
  index = reduce_progressing(std::vector<int>{index}, MPI_INT, MPI_MAX, comm_).front();
  if (index < 0) return std::nullopt;
  return TrialResult{.best = candidates[static_cast<std::size_t>(index)].name,
                     .remembered = file_ ? file_->path().string() : "rank 0"};
}

void StrategyTrial::add(const Candidate& candidate, const Planned& planned) {
  const Helper helper = find_helper(agreed_.hints.progress);
  employ(helper);
  P2PTransport transport(comm_.get(), agreed_.tag);
  const auto exchange = std::make_shared<Exchange>(planned.plan, Buffers{send_.data(), receive_.data()}, transport,
                                                   progress_by(helper), planned.memory);
  candidates_.push_back({candidate.name, candidate.seconds.value_or(0), [exchange] {
                           exchange->start();
                           exchange->wait();
                         }});
}

TrialResult StrategyTrial::run() const {
  TrialResult result = try_candidates(comm_, candidates_, trial_of_plans);
  const auto best = std::ranges::find(result.measured, result.best, &Reasons::Measured::strategy);
  if (file_) file_->remember(key_, {best->strategy, best->seconds});
  return result;
}

}  // namespace laneway
