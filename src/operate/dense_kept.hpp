#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "arguments/collective.hpp"
#include "arguments/datatype.hpp"
#include "exec/progress.hpp"
#include "operate/dense_plans.hpp"

namespace laneway {

/// The arguments of a call, to be compared with later ones without looking at these closely.
class KnownCollective {
 public:
  /// `call` has been found good. Of alltoallw nothing is known.
  KnownCollective(const CollectiveCall& call, Rank rank, Rank ranks);
  [[nodiscard]] bool known() const { return known_; }
  /// Of a derived datatype it is not enough that the handle is the same: it may be of another one since. Likewise of an
  /// operator, which may commute or not.
  [[nodiscard]] bool equal(const CollectiveCall& call) const;

 private:
  struct Side {
    bool used = false;
    MPI_Count count = 0;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> displacements;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::shared_ptr<const TypeMap> map;  // of a derived one

    void learn(const SideArguments& given, int entries);
    [[nodiscard]] bool equal(const SideArguments& given) const;
  };

  bool known_ = false;
  DenseKind kind_;
  int root_;
  MPI_Op op_;
  int commutes_ = 1;
  bool in_place_;
  Side send_;
  Side receive_;
};

/// What a blocking call comes to, and what it is bound to.
struct KeptDense {
  KnownCollective arguments;
  CheckedCollective checked;
  DenseDecision decision;
  std::shared_ptr<const PrivateComm> comm;
  std::shared_ptr<const Plan> plan;  ///< null: MPI's own operation
  Combiners combiners;

  struct Binding {
    Buffers buffers;
    std::unique_ptr<Exchange> exchange;
  };
  std::vector<Binding> bindings;  ///< the last used one first

  /// On the last buffers or others, whose memory is the host's.
  [[nodiscard]] Exchange& bind(Buffers buffers, const PrivateComm& priv);
  static constexpr std::size_t most_bindings = 4;
};

/// The last blocking calls of a communicator. What is kept is this rank's business: nothing else depends on it.
class KeptDensePlans final : public Attachment {
 public:
  [[nodiscard]] std::shared_ptr<KeptDense> find(const CollectiveCall& call);
  /// In place of the one that was used longest ago.
  void keep(std::shared_ptr<KeptDense> made);
  void on(Change) override { entries_.clear(); }

 private:
  static constexpr std::size_t most_plans = 16;
  std::vector<std::shared_ptr<KeptDense>> entries_;  // the last used one first
};

}  // namespace laneway
