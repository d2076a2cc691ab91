#include "algorithms/collective/expectation.hpp"

#include <algorithm>
#include <map>

#include "base/error.hpp"

namespace laneway {

namespace {

/// What one rank gets, written down from the operations' definitions. Places are cut wherever the block of a
/// contributor does.
class Outcomes {
 public:
  Outcomes(std::span<const DenseCall> calls, Rank rank)
      : calls_(calls), call_(calls[static_cast<std::size_t>(rank)]), ranks_(static_cast<Rank>(calls.size())) {}

  std::vector<DenseOutcome> get() {
    switch (call_.kind) {
      case Dense::alltoall:
        for (Rank from = 0; from < ranks_; ++from)
          if (from != call_.rank || !call_.in_place) add(from, contributed(from, call_.rank), call_.receive.of(from));
        break;
      case Dense::allgather:
        for (Rank from = 0; from < ranks_; ++from)
          if (from != call_.rank || !call_.in_place) add(from, contributed(from, from), call_.receive.of(from));
        break;
      case Dense::gather:
        if (call_.rank != call_.root) break;
        for (Rank from = 0; from < ranks_; ++from)
          if (from != call_.rank || !call_.in_place) add(from, contributed(from, from), call_.receive.of(from));
        break;
      case Dense::scatter:
        if (call_.rank != call_.root || !call_.in_place)
          add(call_.root, contributed(call_.root, call_.rank), call_.receive.of(0));
        break;
      case Dense::bcast:
        if (call_.rank != call_.root) add(call_.root, contributed(call_.root, 0), call_.receive.of(0));
        break;
      case Dense::reduce:
        if (call_.rank == call_.root) add_sum(0, ranks_, 0);
        break;
      case Dense::allreduce:
        add_sum(0, ranks_, 0);
        break;
      case Dense::reduce_scatter:
        add_sum(0, ranks_, call_.rank);
        break;
      case Dense::scan:
        add_sum(0, call_.rank + 1, 0);
        break;
      case Dense::exscan:
        if (call_.rank > 0) add_sum(0, call_.rank, 0);
        break;
      case Dense::barrier:
        break;
    }
    std::ranges::sort(all_, {}, [](const DenseOutcome& outcome) { return outcome.place.offset; });
    return std::move(all_);
  }

 private:
  struct Contributed {
    RangeList ranges;
    bool received = false;
  };

  [[nodiscard]] Contributed contributed(Rank from, Rank block) const {
    const DenseCall& other = calls_[static_cast<std::size_t>(from)];
    if (other.kind == Dense::bcast) return {other.receive.of(0), true};
    const bool one = other.kind == Dense::allgather || other.kind == Dense::gather;
    if (!other.in_place || other.kind == Dense::scatter) return {other.send.of(one ? 0 : block), false};
    if (other.kind == Dense::reduce_scatter) return {other.send.of(block), true};
    return {other.receive.of(reduces(other.kind) ? 0 : block), true};
  }

  void add(Rank from, const Contributed& what, const RangeList& place) {
    for_each_pair(what.ranges, place, [&](std::int64_t there, std::int64_t here, std::int64_t bytes) {
      all_.push_back({{here, bytes}, {{from, there, what.received}}});
    });
  }

  /// Vectors are contiguous.
  void add_sum(Rank first, Rank last, Rank block) {
    const Range place = call_.receive.of(0).contiguous().value_or(Range{});
    if (place.bytes == 0) return;
    DenseOutcome outcome{place, {}};
    for (Rank from = first; from < last; ++from) {
      const Contributed what = contributed(from, block);
      outcome.contributions.push_back({from, what.ranges.contiguous().value_or(Range{}).offset, what.received});
    }
    all_.push_back(std::move(outcome));
  }

  std::span<const DenseCall> calls_;
  const DenseCall& call_;
  Rank ranks_;
  std::vector<DenseOutcome> all_;
};

}  // namespace

std::vector<std::vector<DenseOutcome>> expected_outcomes(std::span<const DenseCall> calls) {
  std::vector<std::vector<DenseOutcome>> all;
  all.reserve(calls.size());
  for (Rank rank = 0; rank < static_cast<Rank>(calls.size()); ++rank) all.push_back(Outcomes(calls, rank).get());
  return all;
}

}  // namespace laneway
