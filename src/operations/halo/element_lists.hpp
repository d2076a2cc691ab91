#pragma once

#include <mpi.h>

#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

#include "operations/sparse/sparse.hpp"

namespace laneway {

/// Elements of one side, by the rank at the other end.
struct ElementLists {
  std::vector<int> ranks;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Count> elements;  ///< list after list; or the first ones of runs of elements
  std::vector<MPI_Count> lengths;   ///< of these runs; empty: each element is named
};

/// As a side of an operation on an array of `size` elements; the lists must stay.
[[nodiscard]] inline SideArguments side_of(const ElementLists& lists, MPI_Count size, MPI_Datatype type) {
  return {.count = size,
          .counts = lists.counts.data(),
          .indices = lists.elements.data(),
          .type = type,
          .lengths = lists.lengths.empty() ? nullptr : lists.lengths.data(),
          .type_name = "type"};
}

/// Elements 0 to `count` - 1 by their ranks, ascending; -1: of none. Throws Error(rank) with the name of the array.
[[nodiscard]] ElementLists lists_by_rank(MPI_Count count, const int* ranks, Rank size, const char* name);
/// The same as runs: what is moved mostly has neighbours that go the same way.
[[nodiscard]] ElementLists runs_by_rank(MPI_Count count, const int* ranks, Rank size, const char* name);

/// `counts[i]` numbers to `ranks[i]`.
struct RankNumbers {
  std::vector<int> ranks;
  std::vector<MPI_Count> counts;
  std::vector<std::int64_t> numbers;
};

/// Collective. With `failure`, which is what is wrong on this rank, all ranks throw. `answerer`: of numbers that are
/// requests; then the arrivals are the answers, in the order of the numbers.
[[nodiscard]] std::unique_ptr<Arrivals> exchange_numbers(Communicator& communicator,
                                                         const RankNumbers& numbers_of_ranks, MPI_Info info,
                                                         std::exception_ptr failure, Answerer answerer = {});
[[nodiscard]] std::vector<std::int64_t> numbers_in(const Arrivals& arrivals);

/// Nothing is said: all ranks learn whether one cannot go on. Collective.
void learn_of_failures(Communicator& communicator, std::exception_ptr failure);

/// `failure`, or else what is wrong with the hints: whoever makes something by them after the ranks have heard from
/// each other makes it on all of them or on none.
[[nodiscard]] std::exception_ptr problem_with_hints(MPI_Info info, std::exception_ptr failure);

}  // namespace laneway
