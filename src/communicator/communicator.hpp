#pragma once

#include <mpi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/process/attachments.hpp"
#include "communicator/arguments/topology.hpp"
#include "communicator/error_handler.hpp"
#include "communicator/hints/hints.hpp"
#include "communicator/nodes/node_devices.hpp"
#include "communicator/private_comm.hpp"
#include "machine/fabric.hpp"
#include "machine/machine.hpp"
#include "machine/parameters.hpp"

namespace laneway {

/// What reordering ranks has brought; weights as given to LNW_Dist_graph_create_adjacent, 1 for edges without.
struct Reordering {
  std::int64_t weight = 0;      ///< of all edges
  std::int64_t cut_before = 0;  ///< of the edges between nodes, in the old order
  std::int64_t cut_after = 0;   ///< and in the new one
  Rank moved = 0;               ///< processes whose rank has changed
  bool has_partitioner = false;
};

/// What operations run on: a topology, the private duplicate of the communicator that its ranks are of, and what is
/// known of both. A user's communicator has one as an attribute, gone with it, for its own topology; topology objects
/// are others.
class Communicator {
 public:
  /// That of a user's communicator. Collective on the first call for it. Throws Error(communicator) on null and
  /// intercommunicators.
  static Communicator& of(MPI_Comm comm) { return of(comm, nullptr); }
  /// The same for a communicator that was just made of the ranks of `through`, on which they meet before.
  static Communicator& of(MPI_Comm comm, const PrivateComm* through);

  /// The same without blocking: on the first call the private duplicate is only begun, if it can be (duplicates_apart).
  static Communicator& of_nonblocking(MPI_Comm comm);

  /// Null where nothing is known. Local. Throws as `of`.
  static Communicator* find(MPI_Comm comm);
  /// The same; null also of an intercommunicator.
  static Communicator* find_any(MPI_Comm comm);

  /// For a communicator that was just made of the same ranks in the same order as `parent`: the two share the private
  /// duplicate, which saves creating one. Local.
  static Communicator& derive(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent);

  /// Of one that was just derived, where threads can be inside the library at the same time on some rank, and so draw
  /// tags in different orders on different ranks: a private duplicate of its own is made where it is needed first.
  /// Local.
  void part_from_parent();

  /// Of one that was just made, whose topology has neighbours at `members` only: these alone take part in operations,
  /// and make a private duplicate of their own where it is needed first. For the others there is nothing to do, and
  /// they need not call. `single` as for with_topology. Local.
  void restrict_to(std::vector<Rank> members, bool single);

  /// For a communicator that MPI knows no topology of.
  void set_topology(Topology topology) { topology_ = std::make_unique<Topology>(std::move(topology)); }

  /// For another topology of the ranks of `comm`. Shares `parent`, the private duplicate of `comm`, if all ranks are
  /// single-threaded. Collective.
  static std::unique_ptr<Communicator> with_topology(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent,
                                                     Topology topology, bool single);
  /// The same where all ranks know already what they must, and that `parent` is ready. Local.
  static std::unique_ptr<Communicator> with_known_topology(const std::shared_ptr<PrivateComm>& parent,
                                                           Topology topology,
                                                           std::shared_ptr<const ErrorHandler> handler, bool single);
  /// As if nothing had been known of `comm`. Local.
  static void forget(MPI_Comm comm);

  /// The private duplicate, ready, with tags for at least one more plan. Collective where it has yet to be made, and
  /// when tags have run out; waits for the end of a creation that was begun.
  std::shared_ptr<PrivateComm> private_comm();
  /// Whether that is there, so that to ask for it is local.
  [[nodiscard]] bool has_private_comm() const {
    return !unmade_ && private_->created() && !private_->spoilt() && private_->has_tags();
  }
  /// The one there is, ready or not.
  [[nodiscard]] const PrivateComm& known_private_comm() const { return *private_; }
  /// That of all ranks of the user's communicator, for graphs that are made from it; null if there is none to share.
  std::shared_ptr<PrivateComm> private_comm_of_all();
  /// PrivateComm::graph of the private duplicate there is.
  [[nodiscard]] MPI_Comm graph() const { return private_->graph(); }
  /// How many ranks take part in operations.
  [[nodiscard]] Rank ranks() const;

  /// Without MPI_PROC_NULL; a communicator's is read on the first call.
  const Topology& topology();

  /// What nonblocking exchanges run on, which need not be ready, and the first of their tags there.
  [[nodiscard]] const std::shared_ptr<PrivateComm>& nonblocking_comm() const { return nonblocking_comm_; }
  [[nodiscard]] int nonblocking_tag() const { return nonblocking_tag_; }

  /// That of the communicator; a topology object has that of the communicator it was made from.
  [[nodiscard]] std::shared_ptr<const ErrorHandler> error_handler() const;

  ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  [[nodiscard]] Rank rank() const { return private_->rank(); }
  void call_error_handler(int code) const { error_handler()->call(*private_, code); }

  /// Hints given when the communicator was created, by this library's functions or in its info.
  HintTexts hints;

  /// What other parts keep with the communicator.
  template <class T>
  [[nodiscard]] T& attachment() {
    return attachments_.get<T>();
  }

  /// What calls that agree on nothing need of the hints. Read in the first of them, since texts are searched, the
  /// environment among them. Throws Error(info).
  struct CallHints {
    ProgressHint progress;
    MemoryPath path;
    bool check_decisions;
  };
  const CallHints& call_hints();

  /// After `restrict_to`: the private duplicate is not of all ranks.
  bool partial = false;
  /// And this one is not among them.
  bool idle = false;

  /// If it was created with reordered ranks.
  std::optional<Reordering> reordering;

  /// This rank's regions at the levels that `settings` names, outermost first. Collective on the first call if no
  /// machine is described. `translate` as for find_node.
  const std::vector<Region>& regions(const Hints& settings, bool translate = false);
  /// This rank's outermost region on a described machine, or as discovered.
  const Region& node(const std::string& machine);

  /// Reads the machine and grid that are described, so that what is wrong with them shows before ranks agree, and sets
  /// `settings.files`, so that files that differ between ranks do. Local.
  void read_descriptions(Hints& settings);

  /// The links between the devices of this rank's node, as `machine` describes them; null if it does not.
  std::shared_ptr<const Fabric> fabric(const std::string& machine);

  /// What `settings` name, if not `measured_parameters`, or those for the kind of machine that the ranks of the
  /// communicator are on. Local.
  std::shared_ptr<const Parameters> parameters(const Hints& settings, bool one_node);

  /// What the ranks of this node know of each other's devices, since the first operation with buffers on some.
  std::optional<NodeDevices> node_devices;
  /// How far the nearest network interface is from this rank: as the machine of `settings` says or, if none is
  /// described, from a buffer. 0 if that is not known, and where the outermost regions are not nodes.
  int network_distance(const Hints& settings, const MemoryInfo& buffer = {});

  /// The id of this rank's outermost region, if it can be known without the others. Local.
  [[nodiscard]] std::optional<Rank> known_region(const Hints& settings);
  /// The outermost regions of all neighbours, or of more ranks; null until they have been learnt.
  [[nodiscard]] const std::map<Rank, Rank>* peer_regions(const Hints& settings) const;
  void learn_regions(const Hints& settings, const std::map<Rank, Rank>& regions);

  /// Set when the ranks have found that each can tell who is on its node without the others.
  bool knows_nodes = false;

 private:
  Communicator(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag);
  static bool make_usable(std::shared_ptr<PrivateComm>& comm);
  void forget_what_ranks_share();
  static Communicator& attach(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag);
  void make_own();
  void use(std::shared_ptr<PrivateComm> own);

  MPI_Comm comm_;  // MPI_COMM_NULL for a topology object
  std::shared_ptr<UserComm> user_;
  std::shared_ptr<PrivateComm> private_;
  /// How one of its own is to be made. As long as there is none, private_ is the parent's, on which nothing may be sent
  /// once the communicator's creation is over: other threads use it.
  struct Unmade {
    std::vector<Rank> members;  ///< ranks of the parent's; empty: all
    int tag;
    int tries = 0;
  };
  std::optional<Unmade> unmade_;
  std::shared_ptr<PrivateComm> of_all_;  // of a partial one: the parent's, if it may be used
  std::shared_ptr<PrivateComm> nonblocking_comm_;
  int nonblocking_tag_;
  Attachments attachments_;
  std::shared_ptr<const ErrorHandler> error_handler_;
  std::unique_ptr<Topology> topology_;
  std::optional<CallHints> call_hints_;
  std::map<std::string, std::shared_ptr<const Fabric>> fabrics_;
  std::map<std::string, int> network_distances_;
  std::map<std::pair<std::string, std::string>, std::uint64_t> file_hashes_;          // by machine and parameters
  std::map<std::vector<std::string>, std::vector<Region>> regions_;                   // by machine and names of levels
  std::map<std::pair<std::string, std::string>, std::map<Rank, Rank>> peer_regions_;  // by machine and level
};

/// Those in the info of a communicator, as far as the MPI library has kept them. Local.
[[nodiscard]] HintTexts hints_of(MPI_Comm comm);

}  // namespace laneway
