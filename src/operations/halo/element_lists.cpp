#include "operations/halo/element_lists.hpp"

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "communicator/hints/hints.hpp"

namespace laneway {

namespace {

/// Calls f(rank, first, count) for elements that follow each other and have the same rank.
template <class F>
void for_each_run(MPI_Count count, const int* ranks, F&& f) {
  for (MPI_Count i = 0, next = 0; i < count; i = next) {
    for (next = i + 1; next < count && ranks[next] == ranks[i];) ++next;
    f(ranks[i], i, next - i);
  }
}

}  // namespace

ElementLists lists_by_rank(MPI_Count count, const int* ranks, Rank size, const char* name) {
  ElementLists runs = runs_by_rank(count, ranks, size, name);
  ElementLists lists{std::move(runs.ranks), std::move(runs.counts), {}, {}};
  for (std::size_t run = 0; run < runs.elements.size(); ++run)
    for (MPI_Count i = 0; i < runs.lengths[run]; ++i) lists.elements.push_back(runs.elements[run] + i);
  return lists;
}

ElementLists runs_by_rank(MPI_Count count, const int* ranks, Rank size, const char* name) {
  struct OfRank {
    MPI_Count elements = 0;
    std::size_t runs = 0;
  };
  std::map<int, OfRank> found;
  std::size_t all = 0;
  for_each_run(count, ranks, [&](int rank, MPI_Count first, MPI_Count number) {
    require(rank >= -1 && rank < size, ErrorKind::rank, [&] {
      return std::string(name) + "[" + std::to_string(first) + "] is " + std::to_string(rank) +
             " in a communicator of " + std::to_string(size) + " ranks";
    });
    if (rank < 0) return;
    OfRank& own = found[rank];
    own.elements += number;
    ++own.runs;
    ++all;
  });
  ElementLists lists;
  std::size_t begin = 0;
  for (auto& [rank, own] : found) {
    lists.ranks.push_back(rank);
    lists.counts.push_back(own.elements);
    begin += std::exchange(own.runs, begin);
  }
  lists.elements.resize(all);
  lists.lengths.resize(all);
  for_each_run(count, ranks, [&](int rank, MPI_Count first, MPI_Count number) {
    if (rank < 0) return;
    const std::size_t at = found[rank].runs++;
    lists.elements[at] = first;
    lists.lengths[at] = number;
  });
  return lists;
}

std::unique_ptr<Arrivals> exchange_numbers(Communicator& communicator, const RankNumbers& numbers_of_ranks,
                                           MPI_Info info, std::exception_ptr failure, Answerer answerer) {
  std::vector<MPI_Count> begins(numbers_of_ranks.counts.size());
  std::exclusive_scan(numbers_of_ranks.counts.begin(), numbers_of_ranks.counts.end(), begins.begin(), MPI_Count{0});
  SparseCall call;
  call.sets.push_back({.degree = static_cast<int>(numbers_of_ranks.ranks.size()),
                       .destinations = numbers_of_ranks.ranks.data(),
                       .counts = numbers_of_ranks.counts.data(),
                       .displacements = begins.data(),
                       .type = MPI_INT64_T,
                       .buffer = numbers_of_ranks.numbers.data()});
  call.info = info;
  call.failure = std::move(failure);
  call.answerer = std::move(answerer);
  return std::move(exchange_sparsely(communicator, std::move(call)).front());
}

std::vector<std::int64_t> numbers_in(const Arrivals& arrivals) {
  std::vector<std::int64_t> numbers(arrivals.data.size() / sizeof(std::int64_t));
  if (!numbers.empty()) std::memcpy(numbers.data(), arrivals.data.data(), arrivals.data.size());
  return numbers;
}

std::exception_ptr problem_with_hints(MPI_Info info, std::exception_ptr failure) {
  if (failure) return failure;
  return failure_of([&] { (void)resolve_hints(hints_in(info), {}); });
}

void learn_of_failures(Communicator& communicator, std::exception_ptr failure) {
  (void)exchange_numbers(communicator, {}, MPI_INFO_NULL, std::move(failure));
}

}  // namespace laneway
