// What all ranks have counted, and what follows from it. Knows nothing of MPI.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "base/bytes/wire.hpp"

namespace laneway::interpose {

/// A row as some ranks have counted it together.
struct SummaryRow {
  std::string label;     ///< the communicator's name; empty: it has none
  std::string strategy;  ///< empty: nothing was planned
  std::string why;
  std::int64_t ranks = 0;                    ///< that have made such calls
  std::int64_t taken = 0;                    ///< calls, of the rank with the most
  std::int64_t bytes = 0;                    ///< that all ranks together have sent
  std::int64_t messages = 0;                 ///< likewise
  std::int64_t neighbors = 0;                ///< sum over the ranks
  std::int64_t ranks_with_neighbors = 0;     ///< of those that know it
  std::map<std::string, std::int64_t> left;  ///< calls left to the MPI library, of the rank with the most, by reason
  /// Seconds of those calls that were timed: by way (the MPI library's own, the plan), sums over `sampled` ranks.
  std::array<std::vector<double>, 2> seconds;
  std::int64_t sampled = 0;

  [[nodiscard]] std::int64_t all_left() const;
};

/// By the communicator's number, the MPI function, the class of sizes.
using SummaryKey = std::tuple<int, int, std::string, std::int64_t>;

/// Messages between nodes that repeat, of all ranks together: docs/concepts/point-to-point.md.
struct PointToPoint {
  std::int64_t streams = 0;          ///< that were taken over
  std::int64_t between = 0;          ///< messages between nodes that the program has sent
  std::int64_t taken = 0;            ///< of these
  std::int64_t by_mpi = 0;           ///< of those taken: long ones, which MPI has carried besides
  std::int64_t bundles = 0;          ///< in which the others went
  std::int64_t bytes_in_memory = 0;  ///< that ranks have left for each other in the memory of their node

  PointToPoint() = default;
  explicit PointToPoint(const std::array<std::int64_t, 6>& of) {
    std::tie(streams, between, taken, by_mpi, bundles, bytes_in_memory) = std::tuple_cat(of);
  }
  [[nodiscard]] std::array<std::int64_t, 6> values() const {
    return {streams, between, taken, by_mpi, bundles, bytes_in_memory};
  }
  /// Messages between nodes that there were instead.
  [[nodiscard]] std::int64_t sent() const { return between - taken + by_mpi + bundles; }
};
[[nodiscard]] std::string sentence(const PointToPoint& found);

struct Summary {
  std::int64_t ranks = 0;  ///< that have told what they counted
  std::int64_t world = 0;  ///< that there are
  double elapsed = 0;      ///< seconds from MPI_Init to MPI_Finalize on rank 0
  std::map<SummaryKey, SummaryRow> rows;
  std::optional<PointToPoint> point_to_point;  ///< not packed: rank 0 has it of all ranks
  bool asks_others = true;                     ///< not packed: some may run without this library

  void add(const Summary& other);
  [[nodiscard]] Bytes packed() const;
  /// Throws Error(internal) where `data` is not of `packed`.
  [[nodiscard]] static Summary unpacked(const Bytes& data);
};

/// Seconds, and where they are in 95 of 100 cases.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// Of a call, as the mean of the ranks; a value is there where a way has been timed at all.
[[nodiscard]] std::array<std::optional<double>, 2> medians(const SummaryRow& row);

/// What the calls of a row have saved that were taken over, as the mean of all ranks of the program. Nothing where
/// fewer than six calls of either way have been timed.
[[nodiscard]] std::optional<Estimate> saving(const SummaryRow& row, std::int64_t world);

struct Verdict {
  std::int64_t measured = 0;    ///< calls taken over, of rows that have a saving
  std::int64_t unmeasured = 0;  ///< and of the others
  std::int64_t left = 0;        ///< calls
  std::optional<Estimate> saved;
};
[[nodiscard]] Verdict verdict(const Summary& summary);

/// In one sentence; no more than the numbers carry.
[[nodiscard]] std::string sentence(const Summary& summary);

}  // namespace laneway::interpose
