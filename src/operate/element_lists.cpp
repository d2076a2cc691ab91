#include "operate/element_lists.hpp"

#include <cstring>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "core/error.hpp"

namespace laneway {

namespace {

/// Calls f(rank, first, count) for elements that follow each other and have the same rank; not for -1.
template <class F>
void for_each_run(MPI_Count count, const int* ranks, F&& f) {
  for (MPI_Count i = 0, next = 0; i < count; i = next) {
    const int rank = ranks[i];
    for (next = i + 1; next < count && ranks[next] == rank;) ++next;
    if (rank >= 0) f(rank, i, next - i);
  }
}

}  // namespace

ElementLists lists_by_rank(MPI_Count count, const int* ranks, Rank size, const char* name) {
  for (MPI_Count i = 0; i < count; ++i)
    require(ranks[i] >= -1 && ranks[i] < size, ErrorKind::rank, [&] {
      return std::string(name) + "[" + std::to_string(i) + "] is " + std::to_string(ranks[i]) +
             " in a communicator of " + std::to_string(size) + " ranks";
    });
  ElementLists lists;
  std::map<int, MPI_Count> places;
  MPI_Count all = 0;
  for_each_run(count, ranks, [&](int rank, MPI_Count, MPI_Count number) {
    places[rank] += number;
    all += number;
  });
  MPI_Count begin = 0;
  for (auto& [rank, place] : places) {
    lists.ranks.push_back(rank);
    lists.counts.push_back(place);
    begin += std::exchange(place, begin);
  }
  lists.elements.resize(static_cast<std::size_t>(all));
  for_each_run(count, ranks, [&](int rank, MPI_Count first, MPI_Count number) {
    const auto at = lists.elements.begin() + std::exchange(places[rank], places[rank] + number);
    std::iota(at, at + number, first);
  });
  return lists;
}

std::unique_ptr<Arrivals> tell_numbers(Communicator& communicator, const Told& told, MPI_Info info,
                                       std::exception_ptr failure, Answerer answerer) {
  std::vector<MPI_Count> begins(told.counts.size());
  std::exclusive_scan(told.counts.begin(), told.counts.end(), begins.begin(), MPI_Count{0});
  SparseCall call;
  call.sets.push_back({.degree = static_cast<int>(told.ranks.size()),
                       .destinations = told.ranks.data(),
                       .counts = told.counts.data(),
                       .displacements = begins.data(),
                       .type = MPI_INT64_T,
                       .buffer = told.numbers.data()});
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

void learn_of_failures(Communicator& communicator, std::exception_ptr failure) {
  (void)tell_numbers(communicator, {}, MPI_INFO_NULL, std::move(failure));
}

}  // namespace laneway
