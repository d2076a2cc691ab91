#include "operations/neighborhood/family.hpp"

#include <utility>

#include "algorithms/planner/planner.hpp"
#include "base/error.hpp"
#include "communicator/background.hpp"
#include "communicator/control/check_edges.hpp"
#include "communicator/nodes/discovery.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/choose/planning.hpp"
#include "operations/choose/way_back.hpp"
#include "operations/plans/proof.hpp"

namespace laneway {

namespace {

void find_devices(Communicator& communicator, const PrivateComm& comm, const BufferMemory& where, bool translate) {
  const MemoryInfo* const device = device_memory(where);
  const std::optional<DeviceIdentity> own = device ? std::optional(identity(Device(*device))) : std::nullopt;
  communicator.node_devices = find_node_devices(comm, find_node(comm.get(), "", translate, &comm), own);
}

/// What is on devices goes through the host's memory. Ranks that relay partial results must know what elements are,
/// which a rank without neighbours does not where datatypes are those of neighbours, and lanes must bring to nobody
/// what he does not need. Otherwise contributions are relayed one by one, as they are in order.
void prepare_reduction(Agreed& own, Kind kind) {
  Hints& hints = own.hints;
  hints.tuning = Tuning::model;
  hints.path = MemoryPath::staged;
  const auto relays_inside = [](const StrategyRow* row) { return row->traits.relays_inside; };
  bool& by_rank = own.reduction->by_rank;
  by_rank = own.reduction->what.how.in_order || is_by_rank(hints.order) ||
            row_of(kind).send.blocks == BlockForm::typed ||
            (!hints.strategy.is_automatic() && relays_inside(hints.strategy.row));
  for (const LevelChoice& inner : hints.inner)
    by_rank = by_rank || (!inner.choice.is_automatic() && relays_inside(inner.choice.row));
  if (by_rank) return void(own.pattern = arrivals_of(own.pattern));
  own.reduction->turned = turn_round(own.pattern, own.reduction->what.how.element_bytes);
  own.pattern = own.reduction->turned.forward;
}

/// That all ranks combine the same elements in the same way. A user's operators and their datatypes cannot be compared,
/// apart from whether operands may be exchanged and from sizes.
void check_reduction(const PrivateComm& comm, const Combination& how) {
  const bool is_users = how.operation == "user";
  check_same(comm, "op is",
             !is_users      ? how.operation
             : how.in_order ? "a user's operator that does not commute"
                            : "a user's operator that commutes",
             MPI_ERR_OP);
  if (is_users)
    check_same(comm, "what op combines are",
               how.datatype.empty() ? "" : std::to_string(how.element_bytes) + " bytes each", MPI_ERR_TYPE);
  else
    check_same(comm, "datatypes are made of", how.datatype, MPI_ERR_TYPE);
}

}  // namespace

bool NeighborhoodFamily::may_relay_with(bool have_helpers) const {
  return phases_ == Phases::one || may_relay(agreed_.hints.progress, have_helpers);
}

/// Whether nobody has to be asked anything before a plan is begun.
bool NeighborhoodFamily::knows_all() const {
  const Hints& hints = agreed_.hints;
  return communicator_.knows_nodes && communicator_.known_region(hints) &&
         communicator_.peer_regions(hints) != nullptr && hints.parameters != measured_parameters && !hints.check &&
         comm_.size() <= few_ranks;
}

void NeighborhoodFamily::propose(Proposal& proposal) {
  Agreed& own = agreed_;
  if (call_.kind == Kind::alltoallv_indexed) forget_exchange(communicator_);
  own.paths.open = {MemoryPath::staged};
  own.fingerprint = own.hints.fingerprint();
  if (reduces(call_.kind)) {
    require(events_.events.empty(), ErrorKind::unsupported, "operations that reduce have no events");
    own.reduction.emplace(AgreedReduction{.what = reduction_of(call_, communicator_.topology()), .turned = {}});
    own.pattern = own.reduction->what.pattern;
  } else {
    own.pattern = describe(call_, communicator_.topology());
  }
  own.events = std::move(events_.events);
  check_self_edges(comm_.rank(), own.pattern);
  proposal.edges = edge_sum(comm_.rank(), own.pattern);
  if (call_.has_buffers()) own.where = look_at(buffers(), extents_of(own.pattern));
  if (own.hints.stream) (void)user_stream(device_of(own.where), *own.hints.stream);
  if (own.reduction) prepare_reduction(own, call_.kind);
  support_ = find_path_support(own, call_);
  if (own.reduction && !own.reduction->by_rank) own.reduction->back = find_way_back(communicator_, own);
  support_.knows_way_back = own.reduction && own.reduction->back;
  proposal.flags = support_.flags();
  if (support_.knows_way_back || !support_.no_devices || !may_relay_with(has_helper()) || !knows_all()) return;
  own.regions = communicator_.regions(own.hints, true);
  own.sharing = find_sharing(communicator_, own.hints, true);
  own.begun = begin_planning(communicator_, comm_, own);
  if (!own.begun) return;
  FirstRound first = first_round(*own.begun);
  proposal.planner = first.planner;
  proposal.control_messages = std::move(first.control_messages);
}

int NeighborhoodFamily::agreed(Agreement agreement) {
  Agreed& agreed = agreed_;
  if (agreed.hints.check && agreed.reduction) check_reduction(comm_, agreed.reduction->what.how);
  if (!agreement.edges_match) {
    check_edges(comm_, edges());
    throw Error(ErrorKind::topology, "the two sides of some edge differ in size");
  }
  const bool may = may_relay_with(agreement.have_helpers);
  if (!may) {
    agreed.relays_nothing = relay_nothing(agreed.hints);
    if (agreed.hints.sharing == Sharing::nccl)
      refusal_ = "a rank has no progress engine or thread, without which it would begin its group too late";
    agreed.hints.sharing = Sharing::none;
  }
  const PathSupport all(agreement.flags);
  if (agreed.reduction && agreed.reduction->back &&
      (!all.knows_way_back || agreed.reduction->back->relays_nothing != agreed.relays_nothing))
    agreed.reduction->back = nullptr;
  if (agreement.round && may)
    go_on(*agreed.begun, std::move(*agreement.round));
  else
    agreed.begun = nullptr;
  set_paths(agreed, support_, all);
  if (!all.no_devices && agreed.hints.machine.empty() && !communicator_.node_devices)
    find_devices(communicator_, comm_, agreed.where, agreement.knows_nodes);
  agreed.tag = comm_.take_tags(channels_with(agreed.hints.inner.size()));
  if (agreed.hints.check) check_edges(comm_, edges());
  agreed.regions = communicator_.regions(agreed.hints, agreement.knows_nodes);
  agreed.sharing = find_sharing(communicator_, agreed.hints, agreement.knows_nodes);
  if (!all.no_devices) agreed.rule = find_copy_rule(communicator_, comm_, agreed);
  return agreed.tag;
}

void NeighborhoodFamily::prove(const Plan& plan, std::string_view what) const {
  prove_plans(comm_, plan, edges(), what, agreed_.reduction ? &agreed_.reduction->what.how : nullptr);
}

}  // namespace laneway
