#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments/collective.hpp"
#include "arguments/datatype.hpp"
#include "exec/progress.hpp"
#include "operate/dense_plans.hpp"

namespace laneway {

/// The arguments of a call, to be compared with later ones without looking at these closely.
class KnownCollective {
 public:
  /// `call` has been found good. Of alltoallw nothing is known, unless `types`: a list of them is long to compare.
  KnownCollective(const CollectiveCall& call, Rank rank, Rank ranks, bool types = false);
  [[nodiscard]] bool known() const { return known_; }
  /// Of a derived datatype it is not enough that the handle is the same: it may be of another one since. Likewise of an
  /// operator, which may commute or not.
  [[nodiscard]] bool equal(const CollectiveCall& call) const;
  /// What has changed, for people: "recvcounts[3] is 7 instead of 5"; empty if nothing has.
  [[nodiscard]] std::string difference(const CollectiveCall& call) const;

 private:
  struct Side {
    bool used = false;
    MPI_Count count = 0;
    std::vector<std::int64_t> counts;
    std::vector<std::int64_t> displacements;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    std::shared_ptr<const TypeMap> map;  // of a derived one
    std::vector<MPI_Datatype> types;     // of each block
    std::vector<std::shared_ptr<const TypeMap>> maps;

    void learn(const SideArguments& given, int entries);
    [[nodiscard]] bool equal(const SideArguments& given) const;
    [[nodiscard]] std::string difference(const SideArguments& given, const SideRow& names) const;
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

/// A plan of blocking calls, and its bindings to the last buffers.
class BoundDense {
 public:
  /// `memory`: null if the plan uses none.
  BoundDense(std::shared_ptr<const Plan> plan, std::shared_ptr<NodeMemory> memory, Combiners combiners)
      : plan_(std::move(plan)), memory_(std::move(memory)), combiners_(std::move(combiners)) {}

  /// Runs it once. What is on a device goes through HostImages, which each call makes.
  void run(Buffers buffers, const PrivateComm& comm);
  [[nodiscard]] const Plan& plan() const { return *plan_; }
  [[nodiscard]] const std::shared_ptr<const Plan>& shared_plan() const { return plan_; }
  /// What it is bound to.
  void forget() { bindings_.clear(); }

 private:
  struct Binding {
    Buffers buffers;
    std::unique_ptr<Exchange> exchange;
  };
  static constexpr std::size_t most_bindings = 4;

  [[nodiscard]] Exchange* find(Buffers buffers);
  [[nodiscard]] std::unique_ptr<Exchange> bind(Buffers buffers, const BufferMemory& where, const PrivateComm& comm);
  void run_through_host(Buffers buffers, const BufferMemory& where, const PrivateComm& comm);

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<NodeMemory> memory_;
  Combiners combiners_;
  std::vector<Binding> bindings_;  // the last used one first
};

class SettledDense;

/// What a blocking call comes to.
struct KeptDense {
  KnownCollective arguments;
  DenseDecision decision;
  std::shared_ptr<const PrivateComm> comm;
  std::unique_ptr<BoundDense> bound;      ///< null: MPI's own operation
  std::shared_ptr<SettledDense> settled;  ///< null: it stays with the decision
  bool is_plain = false;                  ///< nothing but the decision concerns such calls
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
