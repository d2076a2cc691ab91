/// A table of calls of this library, in all families and forms, and of the program's own on the same communicators:
/// each begins in the same order on all ranks, as MPI demands, and ends in any, with values in closed form.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "support.hpp"

namespace laneway::test {

/// What the program's own messages bring. Receives name neither source nor tag, so that any message can be taken for
/// another: only sums are compared, when nothing is under way.
struct Tally {
  long expected = 0;
  long received = 0;
};

/// Where a call is made: a communicator whose topology is a ring, with `turn` in the data.
struct Spot {
  MPI_Comm comm = MPI_COMM_NULL;
  int turn = 0;
  /// All that MPI lets a program free before the call is complete is freed, filled with garbage, and its handles used
  /// for others.
  bool frees = false;
  Tally* tally = nullptr;
};

/// A call that has begun.
class Begun {
 public:
  virtual ~Begun() = default;
  /// Returns when it is complete: how many values are wrong.
  [[nodiscard]] virtual int finish() = 0;
};

struct CallRow {
  std::string name;
  bool is_own = false;         ///< of this library; else the program's
  bool ends_together = false;  ///< to finish is collective
  std::unique_ptr<Begun> (*begin)(const CallRow& row, const Spot& spot);
  int operation = 0;
  int form = 0;
};

[[nodiscard]] const std::vector<CallRow>& call_rows();
[[nodiscard]] std::vector<const CallRow*> own_rows();
[[nodiscard]] std::vector<const CallRow*> program_rows();

/// A distributed graph of the ranks of `comm`: sources are the ranks before and after, destinations those after and
/// before. By MPI or by this library.
[[nodiscard]] MPI_Comm make_ring(MPI_Comm comm, bool by_library = false);

/// One call of a sequence.
struct Planned {
  const CallRow* row;
  MPI_Comm comm;
};

/// Begins all calls in their order. Each rank ends them when it likes, and is sometimes late. Returns how many values
/// are wrong on this rank, and says which calls they are of.
struct Sequence {
  std::uint64_t seed = 0;
  bool frees = false;
  /// Called when all have begun and some have not ended.
  void (*between)(std::vector<Planned>& calls) = nullptr;

  [[nodiscard]] int run(std::vector<Planned> calls) const;
};

}  // namespace laneway::test
