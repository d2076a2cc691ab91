#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/dense_case.hpp"
#include "measure/run.hpp"

namespace laneway::bench {

/// Communicators of candidates' own, for all sizes: making one takes Open MPI longer than most operations.
class DenseCommunicators {
 public:
  DenseCommunicators() = default;
  ~DenseCommunicators() {
    for (auto& [name, comm] : made_) MPI_Comm_free(&comm);
  }
  DenseCommunicators(const DenseCommunicators&) = delete;
  DenseCommunicators& operator=(const DenseCommunicators&) = delete;

  /// That of a candidate; `make` is called once, by all ranks.
  template <class Make>
  MPI_Comm get(const std::string& candidate, const Make& make) {
    const auto [found, is_new] = made_.try_emplace(candidate, MPI_COMM_NULL);
    if (is_new) found->second = make();
    return found->second;
  }

 private:
  std::map<std::string, MPI_Comm> made_;
};

/// What every candidate has to do. All of it outlives the candidates.
struct DenseTask {
  const Run& run;
  DenseCommunicators& communicators;
  const DenseCase& dense;
  std::span<std::byte> send;
  std::span<std::byte> receive;
  DenseBlocks blocks;
};

/// One way to carry out a dense operation; made once, run many times.
class DenseCandidate {
 public:
  virtual ~DenseCandidate() = default;

  /// Collective.
  virtual void run() = 0;
  /// What a candidate that chooses by itself has chosen; empty where it does not say.
  [[nodiscard]] virtual std::string choice() const { return {}; }
  /// Why it cannot be run here, the same on all ranks; empty: it can.
  [[nodiscard]] virtual std::string obstacle() const { return {}; }
};

/// Which candidates a name stands for, and how one is made. That of the file NAME.cpp of dense/ is the function
/// `DenseMaker dense_NAME()` there, which dense.cpp finds by the name of the file.
struct DenseMaker {
  std::string group;  ///< what stands before `:*`
  /// What `GROUP:*` means: the names that this MPI library has of these candidates for an operation.
  std::vector<std::string> (*names)(DenseKind kind);
  /// Null if `name` is none of them.
  std::unique_ptr<DenseCandidate> (*make)(const std::string& name, const DenseTask& task);
};

/// Whether a candidate is the MPI library's own: the best of these is what others are compared with.
[[nodiscard]] bool is_of_mpi(const std::string& name);

/// Names, with `mpi:*`, `rma:*` and `laneway:*` written out for an operation.
[[nodiscard]] std::vector<std::string> dense_names(const std::vector<std::string>& wanted, DenseKind kind);

/// Collective. Throws Error(argument) if no candidate of the operation has the name.
[[nodiscard]] std::unique_ptr<DenseCandidate> make_dense_candidate(const std::string& name, const DenseTask& task);

/// Before MPI_Init: what lets a communicator have an algorithm of its own where that is Open MPI's to decide.
void allow_forced_algorithms();

/// Between MPI_Init and MPI_Finalize: as long as this lives, there are candidates of that kind.
class ForcedAlgorithms {
 public:
  ForcedAlgorithms();
  ~ForcedAlgorithms();
  ForcedAlgorithms(const ForcedAlgorithms&) = delete;
  ForcedAlgorithms& operator=(const ForcedAlgorithms&) = delete;
};

/// MPI's own blocking call on `comm`.
void call_mpi(const DenseTask& task, MPI_Comm comm);

}  // namespace laneway::bench
