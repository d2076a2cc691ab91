#include "operations/halo/halo.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "operations/choose/way_back.hpp"
#include "operations/halo/one_side.hpp"

namespace laneway {

namespace {

/// As the rank that is told of it keeps it.
struct OwnedRun {
  std::int64_t first;
  std::int64_t count;
  std::int64_t index;
  Rank owner;

  [[nodiscard]] std::int64_t end() const { return first + count; }
};

/// Where a ghost is: among the elements of its owner.
struct GhostPlace {
  std::int64_t owner = -1;
  std::int64_t index = -1;
};

/// Numbers in blocks of equal length, one for each rank.
class Directory {
 public:
  /// Collective. With `failure` all ranks throw.
  Directory(Communicator& communicator, const std::vector<NumberedRun>& runs, std::exception_ptr failure)
      : communicator_(communicator) {
    std::int64_t end = 0;
    if (!failure)
      for (const NumberedRun& run : runs) end = std::max(end, run.first + run.count);
    const std::shared_ptr<PrivateComm> comm = nodes_of_ranks(communicator).comm;
    end_ = reduce_progressing(std::vector<std::int64_t>{end}, MPI_INT64_T, MPI_MAX, *comm).front();
    each_ = std::max<std::int64_t>(1, (end_ + comm->size() - 1) / comm->size());
    RankNumbers numbers_of_ranks;
    if (!failure) numbers_of_ranks = numbers_to(runs);
    const std::unique_ptr<Arrivals> arrivals =
        exchange_numbers(communicator_, numbers_of_ranks, MPI_INFO_NULL, std::move(failure));
    const std::vector<std::int64_t> numbers = numbers_in(*arrivals);
    std::size_t at = 0;
    for (std::size_t i = 0; i < arrivals->sources.size(); ++i)
      for (MPI_Count k = 0; k < arrivals->counts[i]; k += 3, at += 3)
        known_.push_back({numbers[at], numbers[at + 1], numbers[at + 2], arrivals->sources[i]});
    std::ranges::stable_sort(known_, {}, &OwnedRun::first);
  }

  /// Collective. Of numbers that nobody owns the owner is -1.
  [[nodiscard]] std::vector<GhostPlace> find(std::span<const MPI_Count> numbers) const {
    std::exception_ptr failure = failure_of([&] { check_owners(); });
    std::vector<int> keepers;
    for (const MPI_Count number : numbers)
      keepers.push_back(number < 0 || number >= end_ ? -1 : static_cast<int>(number / each_));
    const ElementLists asked =
        lists_by_rank(static_cast<MPI_Count>(numbers.size()), keepers.data(), communicator_.ranks(), "ghost_ids");
    RankNumbers wanted{asked.ranks, asked.counts, {}};
    for (const MPI_Count i : asked.elements) wanted.numbers.push_back(numbers[static_cast<std::size_t>(i)]);
    const auto answerer = [this](Rank, std::span<const std::byte> request, Bytes& answer) {
      for (std::size_t at = 0; at < request.size(); at += sizeof(std::int64_t)) {
        std::int64_t number = 0;
        std::memcpy(&number, request.data() + at, sizeof number);
        const GhostPlace place = look_up(number);
        const auto* const bytes = reinterpret_cast<const std::byte*>(&place);
        answer.insert(answer.end(), bytes, bytes + sizeof place);
      }
    };
    const Bytes answers =
        std::move(exchange_numbers(communicator_, wanted, MPI_INFO_NULL, std::move(failure), answerer)->data);
    std::vector<GhostPlace> places(numbers.size());
    for (std::size_t k = 0; k < asked.elements.size(); ++k)
      std::memcpy(&places[static_cast<std::size_t>(asked.elements[k])], answers.data() + k * sizeof(GhostPlace),
                  sizeof(GhostPlace));
    return places;
  }

 private:
  [[nodiscard]] RankNumbers numbers_to(const std::vector<NumberedRun>& runs) const {
    std::map<int, std::vector<std::int64_t>> to;
    for (const NumberedRun& run : runs)
      for (std::int64_t first = run.first; first < run.first + run.count;) {
        const std::int64_t keeper = first / each_;
        const std::int64_t end = std::min(run.first + run.count, (keeper + 1) * each_);
        std::vector<std::int64_t>& asked = to[static_cast<int>(keeper)];
        asked.insert(asked.end(), {first, end - first, run.index + first - run.first});
        first = end;
      }
    RankNumbers numbers_of_ranks;
    for (const auto& [keeper, asked] : to) {
      numbers_of_ranks.ranks.push_back(keeper);
      numbers_of_ranks.counts.push_back(static_cast<MPI_Count>(asked.size()));
      numbers_of_ranks.numbers.insert(numbers_of_ranks.numbers.end(), asked.begin(), asked.end());
    }
    return numbers_of_ranks;
  }

  void check_owners() const {
    for (std::size_t i = 1; i < known_.size(); ++i)
      require(known_[i].first >= known_[i - 1].end(), ErrorKind::argument, [&] {
        return "element " + std::to_string(known_[i].first) + " is owned twice, by ranks " +
               std::to_string(known_[i - 1].owner) + " and " + std::to_string(known_[i].owner);
      });
  }

  [[nodiscard]] GhostPlace look_up(std::int64_t number) const {
    auto after = std::ranges::upper_bound(known_, number, {}, &OwnedRun::first);
    if (after == known_.begin()) return {};
    --after;
    if (number >= after->end()) return {};
    return {after->owner, after->index + number - after->first};
  }

  Communicator& communicator_;
  std::int64_t each_ = 1;
  std::int64_t end_ = 0;
  std::vector<OwnedRun> known_;  // ascending
};

/// Elements of the blocks on one side of a grid, in the order of the directions, which both ends share.
struct GridSide {
  ElementLists lists;

  void add(int rank, const std::vector<int>& first, const std::vector<int>& counts, const GridHalo& grid) {
    if (rank < 0) return;
    MPI_Count elements = 0;
    const std::size_t n = first.size();
    for (std::vector<int> at(n, 0);;) {
      MPI_Count index = 0;
      for (std::size_t d = 0; d < n; ++d)
        index = index * (grid.extents[d] + 2 * MPI_Count{grid.widths[d]}) + first[d] + at[d];
      lists.elements.push_back(index);
      ++elements;
      std::size_t d = n;
      while (d > 0 && at[d - 1] + 1 == counts[d - 1]) at[--d] = 0;
      if (d == 0) break;
      ++at[d - 1];
    }
    lists.ranks.push_back(rank);
    lists.counts.push_back(elements);
  }
};

/// By rank, ascending; lists of one rank in the order in which they were.
ElementLists sorted_by_rank(const ElementLists& lists) {
  std::vector<std::size_t> order(lists.ranks.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return lists.ranks[i]; });
  std::vector<MPI_Count> begins(lists.counts.size());
  std::exclusive_scan(lists.counts.begin(), lists.counts.end(), begins.begin(), MPI_Count{0});
  ElementLists sorted;
  for (const std::size_t i : order) {
    sorted.ranks.push_back(lists.ranks[i]);
    sorted.counts.push_back(lists.counts[i]);
    const auto begin = lists.elements.begin() + begins[i];
    sorted.elements.insert(sorted.elements.end(), begin, begin + lists.counts[i]);
  }
  return sorted;
}

/// The rank `sign` steps from this one; -1: there is none.
int grid_neighbor(const GridHalo& grid, const std::vector<int>& coords, const std::vector<int>& step, int sign) {
  int rank = 0;
  for (std::size_t d = 0; d < step.size(); ++d) {
    int at = coords[d] + sign * step[d];
    if (at < 0 || at >= grid.dims[d]) {
      if (!grid.periods[d]) return -1;
      at = (at + grid.dims[d]) % grid.dims[d];
    }
    rank = rank * grid.dims[d] + at;
  }
  return rank;
}

/// The neighbour in this direction gets elements; the one on the other side sends some in the same direction.
void add_direction(const GridHalo& grid, const std::vector<int>& coords, const std::vector<int>& step, GridSide& sent,
                   GridSide& received) {
  const auto axes = std::ranges::count_if(step, [](int s) { return s != 0; });
  if (axes == 0 || (axes > 1 && !grid.corners)) return;
  std::vector<int> to_first, from_first, counts;
  for (std::size_t d = 0; d < step.size(); ++d) {
    const int width = grid.widths[d], extent = grid.extents[d];
    counts.push_back(step[d] == 0 ? extent : width);
    to_first.push_back(step[d] > 0 ? extent : width);
    from_first.push_back(step[d] > 0 ? 0 : step[d] < 0 ? width + extent : width);
  }
  if (std::ranges::find(counts, 0) != counts.end()) return;
  sent.add(grid_neighbor(grid, coords, step, 1), to_first, counts, grid);
  received.add(grid_neighbor(grid, coords, step, -1), from_first, counts, grid);
}

/// Each rank has told its neighbours how much it sends them.
void check_grid_neighbors(const Arrivals& arrivals, const ElementLists& received) {
  const std::vector<std::int64_t> numbers_of_ranks = numbers_in(arrivals);
  for (std::size_t i = 0; i < std::max(numbers_of_ranks.size(), received.ranks.size()); ++i) {
    const bool sends = i < numbers_of_ranks.size(), awaited = i < received.ranks.size();
    if (sends && awaited && arrivals.sources[i] == received.ranks[i] && numbers_of_ranks[i] == received.counts[i])
      continue;
    const int rank = sends ? arrivals.sources[i] : received.ranks[i];
    throw Error(ErrorKind::argument, "extents or widths do not fit those of rank " + std::to_string(rank));
  }
}

}  // namespace

HaloLists halo_from_ghosts(Communicator& communicator, const std::vector<NumberedRun>& runs, MPI_Count owned,
                           std::span<const MPI_Count> ghosts, MPI_Info info, std::exception_ptr failure) {
  const Directory directory(communicator, runs, problem_with_hints(info, std::move(failure)));
  const std::vector<GhostPlace> places = directory.find(ghosts);
  HaloLists halo;
  RankNumbers wanted;
  failure = failure_of([&] {
    std::vector<int> owners;
    for (std::size_t i = 0; i < places.size(); ++i) {
      require(places[i].owner >= 0, ErrorKind::argument, [&] {
        return "ghost_ids[" + std::to_string(i) + "] is " + std::to_string(ghosts[i]) + ", which no rank owns";
      });
      owners.push_back(static_cast<int>(places[i].owner));
    }
    halo.received =
        lists_by_rank(static_cast<MPI_Count>(owners.size()), owners.data(), communicator.ranks(), "ghost_ids");
    wanted.ranks = halo.received.ranks;
    wanted.counts = halo.received.counts;
    for (MPI_Count& i : halo.received.elements) {
      wanted.numbers.push_back(places[static_cast<std::size_t>(i)].index);
      i += owned;
    }
  });
  // From those who want to those who own.
  const std::unique_ptr<Arrivals> arrivals = exchange_numbers(communicator, wanted, info, std::move(failure));
  halo.owned = owned;
  halo.size = owned + static_cast<MPI_Count>(ghosts.size());
  halo.sent = {arrivals->sources, arrivals->counts, {}, {}};
  for (const std::int64_t index : numbers_in(*arrivals)) halo.sent.elements.push_back(static_cast<MPI_Count>(index));
  halo.back = topology_of(*arrivals, info, false);
  halo.there = topology_of(*arrivals, info, true);
  share_exchanges(*halo.there, *halo.back);
  return halo;
}

std::vector<int> grid_of(Rank ranks, std::vector<int> dims) {
  const auto n = static_cast<int>(dims.size());
  std::int64_t given = 1;
  for (std::size_t d = 0; d < dims.size(); ++d) {
    require(dims[d] >= 0, ErrorKind::argument,
            [&] { return "dims[" + std::to_string(d) + "] is " + std::to_string(dims[d]); });
    if (dims[d] > 0) given = given > ranks || dims[d] > ranks ? 0 : given * dims[d];
  }
  const bool is_chosen = std::ranges::find(dims, 0) != dims.end();
  require(given > 0 && given <= ranks && (is_chosen ? ranks % given == 0 : given == ranks), ErrorKind::argument,
          "dims make no grid of " + std::to_string(ranks) + " ranks");
  if (is_chosen) check_mpi(MPI_Dims_create(ranks, n, dims.data()), "MPI_Dims_create");
  return dims;
}

HaloLists halo_of_grid(Communicator& communicator, const GridHalo& grid, MPI_Info info, std::exception_ptr failure) {
  HaloLists halo;
  GridSide sent, received;
  RankNumbers numbers_of_ranks;
  failure = problem_with_hints(info, std::move(failure));
  if (!failure) {
    const std::size_t n = grid.dims.size();
    halo.dims = grid.dims;
    halo.coords.assign(n, 0);
    int rest = communicator.rank();
    for (std::size_t d = n; d-- > 0; rest /= grid.dims[d]) halo.coords[d] = rest % grid.dims[d];
    for (std::vector<int> step(n, -1);;) {
      add_direction(grid, halo.coords, step, sent, received);
      std::size_t d = n;
      while (d > 0 && step[d - 1] == 1) step[--d] = -1;
      if (d == 0) break;
      ++step[d - 1];
    }
    halo.sent = std::move(sent.lists);
    halo.received = sorted_by_rank(received.lists);
    numbers_of_ranks.ranks = halo.sent.ranks;
    numbers_of_ranks.counts.assign(numbers_of_ranks.ranks.size(), 1);
    numbers_of_ranks.numbers.assign(halo.sent.counts.begin(), halo.sent.counts.end());
    halo.owned = halo.size = 1;
    for (std::size_t d = 0; d < n; ++d) {
      halo.owned *= grid.extents[d];
      halo.size *= grid.extents[d] + 2 * MPI_Count{grid.widths[d]};
    }
  }
  const std::unique_ptr<Arrivals> arrivals = exchange_numbers(communicator, numbers_of_ranks, info, std::move(failure));
  learn_of_failures(communicator, failure_of([&] { check_grid_neighbors(*arrivals, halo.received); }));
  halo.there = topology_of(*arrivals, info, false);
  halo.back = topology_of(*arrivals, info, true);
  share_exchanges(*halo.there, *halo.back);
  return halo;
}

}  // namespace laneway
