#pragma once

#include <laneway/hypre.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace laneway::hypre {

/// What became of an exchange. All but the first: hypre's own code ran.
enum class Outcome : std::uint8_t {
  taken_over,
  one_rank,        ///< nothing to communicate
  other_caller,    ///< docs/hypre.md says who is known to be called by all ranks
  not_yet,         ///< of the first few exchanges of its kind
  on_trial,        ///< run by hypre to compare
  slower,          ///< the plan has been slower, or hardly faster, than hypre
  unknown_origin,  ///< the package was not seen being made, so nobody would say that it is freed
  in_use,          ///< an exchange of the same kind is active
  not_on_host,
  unknown_job,
  no_plan,  ///< planning has failed, with an error on all ranks
  count_    // how many there are
};

/// Who starts an exchange.
enum class Caller : std::uint8_t {
  other,
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
  /// Starts the exchange, or lets hypre do so. Collective and synchronising when a plan is made or its trial ends.
  hypre_ParCSRCommHandle* start(const Exchange& exchange, const std::function<hypre_ParCSRCommHandle*()>& by_hypre);
  /// Completes and frees a handle, or lets hypre do so.
  HYPRE_Int finish(hypre_ParCSRCommHandle* handle, const std::function<HYPRE_Int()>& by_hypre);

  /// All exchanges are left to hypre from now on; `reason` is said at the end. Before the first exchange.
  void give_up(std::string reason);

  /// Called by MPI_Finalize: frees all plans and, under LANEWAY_VERBOSE=1, reports.
  void end();

 private:
  struct Plan;
  struct Active;
  struct Watched;
  struct Kind {
    bool transpose;
    bool deduplicates;
    std::size_t element_bytes;
    bool operator==(const Kind&) const = default;
  };
  /// What a plan was made from, to compare.
  struct Lists;
  class Trial;
  struct Package {
    std::vector<std::pair<Kind, std::shared_ptr<Plan>>> plans;
  };

  Takeover();
  Package* find(const hypre_ParCSRCommPkg* package);
  Plan& plan_of(Package& package, Kind kind);
  Outcome prepare(const Exchange& exchange, std::shared_ptr<Plan>& plan);
  void make(const Exchange& exchange, Kind kind, Plan& plan);
  hypre_ParCSRCommHandle* start_plan(const Exchange& exchange, const std::shared_ptr<Plan>& plan);
  static bool finish_plan(hypre_ParCSRCommHandle* handle);
  void read_count(const char* variable, std::int64_t& count);
  void end_with_mpi();

  static thread_local Watched watched;

  std::mutex mutex_;  // of what follows up to the empty line; never held while communicating
  std::unordered_map<const hypre_ParCSRCommPkg*, Package> packages_;
  std::map<std::string, std::int64_t> strategies_;  // of all plans that were ever made
  std::string last_error_;

  std::atomic<bool> on_ = true;
  std::string off_because_;
  Caller least_caller_ = Caller::solver;
  std::int64_t after_;
  std::int64_t trial_;
  std::array<std::atomic<std::int64_t>, static_cast<std::size_t>(Outcome::count_)> outcomes_{};
  std::atomic<bool> ends_with_mpi_ = false;
};

}  // namespace laneway::hypre
