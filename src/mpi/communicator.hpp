#pragma once

#include <mpi.h>

#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine/fabric.hpp"
#include "machine/machine.hpp"
#include "mpi/hints.hpp"
#include "mpi/topology.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// A private duplicate of a user's communicator: no receive of the user can take a message of this library. It returns
/// errors. Freed with its last owner, which may be a request that outlives the user's communicator.
class PrivateComm {
 public:
  explicit PrivateComm(MPI_Comm original);
  ~PrivateComm();
  PrivateComm(const PrivateComm&) = delete;
  PrivateComm& operator=(const PrivateComm&) = delete;

  /// Local in all known MPI libraries, as the standard anticipates. Called by the destructor.
  void free();

  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] Rank size() const { return size_; }

  enum Tag { setup_tag = 0, gather_tag = 1, share_tag = 2, check_tag = 3, blocking_tag = plan_channels };

  /// Whether tags are left for one more plan. Ranks take them in collective order, so all run out together.
  [[nodiscard]] bool has_tags() const;
  /// The first of plan_channels tags that no other plan on this communicator uses.
  [[nodiscard]] int take_tags();

  /// No communicator made from now on uses a tag above this one.
  static inline int tag_limit_for_tests = INT_MAX;

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  Rank rank_ = 0;
  Rank size_ = 0;
  int next_tag_ = blocking_tag + plan_channels;
  int last_tag_ = 32767;
};

/// True if no two threads of this process can be inside the library at the same time.
[[nodiscard]] bool single_threaded();

/// What reordering ranks has brought; weights as given to LNW_Dist_graph_create_adjacent, 1 for edges without.
struct Reordering {
  std::int64_t weight = 0;      ///< of all edges
  std::int64_t cut_before = 0;  ///< of the edges between nodes, in the old order
  std::int64_t cut_after = 0;   ///< and in the new one
  Rank moved = 0;               ///< processes whose rank has changed
  bool has_partitioner = false;
};

/// What this library knows of a user's communicator; kept as an attribute and gone with it.
class Communicator {
 public:
  /// Collective on the first call for a communicator. Throws Error(communicator) on null and intercommunicators.
  static Communicator& of(MPI_Comm comm);

  /// Null where nothing is known. Local. Throws as `of`.
  static Communicator* find(MPI_Comm comm);

  /// For a communicator that was just made of the same ranks in the same order as `parent`: where no two threads can
  /// make plans at the same time, and so draw tags in different orders on different ranks, the two share the private
  /// duplicate, which saves creating one.
  static Communicator& derive(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent);

  /// The private duplicate, with tags for at least one more plan. Collective when they have run out.
  std::shared_ptr<PrivateComm> private_comm(MPI_Comm comm);

  /// Read from `comm` on the first call.
  const Topology& topology(MPI_Comm comm);

  /// Hints given when the communicator was created.
  HintTexts hints;

  /// If it was created with reordered ranks.
  std::optional<Reordering> reordering;

  /// This rank's regions at the levels that `settings` names, outermost first. Collective on the first call if no
  /// machine is described. `translate` as for find_node.
  const std::vector<Region>& regions(const Hints& settings, bool translate = false);
  /// This rank's outermost region on a described machine, or as discovered.
  const Region& node(const std::string& machine);

  /// The links between the devices of this rank's node, as `machine` describes them; null if it does not.
  std::shared_ptr<const Fabric> fabric(const std::string& machine);

  /// The outermost regions of neighbours, by machine description and level, once a planner has found them.
  std::map<std::pair<std::string, std::string>, std::map<Rank, Rank>> peer_regions;

 private:
  explicit Communicator(std::shared_ptr<PrivateComm> priv);
  static Communicator& attach(MPI_Comm comm, std::shared_ptr<PrivateComm> priv);

  std::shared_ptr<PrivateComm> private_;
  std::unique_ptr<Topology> topology_;
  std::map<std::string, std::shared_ptr<const Fabric>> fabrics_;
  std::map<std::vector<std::string>, std::vector<Region>> regions_;  // by machine and names of levels
};

}  // namespace laneway
