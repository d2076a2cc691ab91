#pragma once

#include <laneway/hypre.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "algorithms/trials/autotuner.hpp"

namespace laneway::hypre {

/// What became of an exchange. All but the first: hypre's own code ran.
enum class Outcome : std::uint8_t {
  taken_over,
  one_rank,        ///< nothing to communicate
  other_caller,    ///< docs/reference/hypre.md says who is known to be called by all ranks
  not_yet,         ///< of the first few exchanges of its kind
  on_trial,        ///< run by hypre to compare
  slower,          ///< the solver has been no faster with plans
  unknown_origin,  ///< the package was not seen being made, so nobody would say that it is freed
  in_use,          ///< an exchange of the same kind is active
  not_on_host,
  unknown_job,
  no_plan,  ///< planning has failed, with an error on all ranks
  count_    // how many there are
};

/// Who starts an exchange.
enum class Caller : std::uint8_t {
  hypre,    ///< another of its own functions: perhaps not on all ranks
  program,  ///< all ranks, if it has promised that
  product,  ///< a matrix-vector product or smoother: all ranks of the communicator call it, and it packs by the send
            ///< map
  solver    ///< the same inside a solver, whose result depends on all ranks anyway
};

/// The exchanges of hypre's communication packages that run on plans.
///
/// Plans are kept by package and kind of exchange. Whether there is one follows only from how often exchanges of this
/// kind were started and from what happened to the package since it was made, which is the same on all ranks.
class Takeover {
 public:
  /// Never destroyed: freed by MPI_Finalize.
  static Takeover& instance();
  Takeover(const Takeover&) = delete;
  Takeover& operator=(const Takeover&) = delete;

  /// The package was made, or made anew in the same place: its plans are freed.
  void made(const hypre_ParCSRCommPkg* package);
  /// Its lists have changed: its plans are freed.
  void changed(const hypre_ParCSRCommPkg* package);
  void destroyed(const hypre_ParCSRCommPkg* package);

  struct Exchange {
    HYPRE_Int job;
    HYPRE_Int block_size;  ///< values in an element
    const hypre_ParCSRCommPkg* package;
    bool on_host;
    const void* send;
    void* receive;
    Caller caller;
  };
  /// Starts the exchange, where it is taken over; otherwise null. Collective and synchronising when a plan is made.
  hypre_ParCSRCommHandle* start(const Exchange& exchange);
  /// Completes and frees a handle of `start`; false for others.
  bool finish(hypre_ParCSRCommHandle* handle);

  class SolverTrial;
  /// What has been found out about a multigrid solver; null if nothing is to be.
  std::shared_ptr<SolverTrial> trial_of(const void* solver);
  /// The solver was set up anew, or destroyed.
  void forget(const void* solver);

  /// All exchanges are left to hypre from now on; `reason` is said at the end. Before the first exchange.
  void give_up(std::string reason);

  /// Called by MPI_Finalize: frees all plans and, under LANEWAY_VERBOSE=1, reports.
  void end();

 private:
  struct Plan;
  struct Active;
  struct Kind {
    bool transpose;
    bool deduplicates;
    std::size_t element_bytes;
    bool operator==(const Kind&) const = default;
  };
  /// What a plan was made from, to compare.
  struct Lists;
  struct Package {
    std::vector<std::pair<Kind, std::shared_ptr<Plan>>> plans;
  };

  Takeover();
  Package* find(const hypre_ParCSRCommPkg* package);
  Plan& plan_of(Package& package, Kind kind);
  Outcome prepare(const Exchange& exchange, std::shared_ptr<Plan>& plan);
  void make(const Exchange& exchange, Kind kind, Plan& plan);
  void read_count(const char* variable, std::int64_t& count);
  void end_with_mpi();

  std::mutex mutex_;  // of what follows up to the empty line; never held while communicating
  std::unordered_map<const hypre_ParCSRCommPkg*, Package> packages_;
  std::map<std::string, std::int64_t> strategies_;  // of all plans that were ever made
  std::string last_error_;
  std::unordered_map<const void*, std::shared_ptr<SolverTrial>> trials_;

  std::atomic<bool> on_ = true;
  std::string off_because_;
  Caller least_caller_ = Caller::solver;
  std::int64_t after_;
  TrialRules trial_ = trial_of_cycles;
  std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Outcome::count_)> outcomes_{};
  std::atomic<bool> ends_with_mpi_ = false;
};

/// Cycles of a multigrid solver, with plans and by hypre alone in turns, each timed as a whole: what an exchange costs
/// those who do not wait for it, such as processor time of ranks on the same core, is in no exchange's own time, and
/// unknown to any model.
class Takeover::SolverTrial {
 public:
  explicit SolverTrial(const TrialRules& rules) : trial_(rules) {}

  /// Around each cycle. Collective when the last one of the trial has ended.
  void begin();
  void end(MPI_Comm comm, HYPRE_Int iterations);

  /// Whether plans are to be used in the present cycle.
  [[nodiscard]] bool uses_plans() const { return uses_plans_; }
  /// The solver has been no faster with plans: all its exchanges are hypre's.
  [[nodiscard]] bool lost() const { return lost_; }
  /// Not all exchanges of this cycle have plans yet.
  void not_ready() { ready_ = false; }
  void add(const std::shared_ptr<Plan>& plan);

  /// The trial of the solver that this thread is in.
  static thread_local SolverTrial* current;

 private:
  enum class State : std::uint8_t { waits_for_plans, runs, over };

  State state_ = State::waits_for_plans;
  bool ready_ = true;
  bool uses_plans_ = true;
  bool lost_ = false;
  Autotuner trial_;  // by hypre, with plans
  double start_ = 0;
  std::vector<std::weak_ptr<Plan>> plans_;
};

}  // namespace laneway::hypre
