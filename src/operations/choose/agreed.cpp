#include "operations/choose/agreed.hpp"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/check_edges.hpp"
#include "communicator/nodes/discovery.hpp"
#include "operations/choose/device_support.hpp"
#include "operations/choose/paths.hpp"
#include "operations/choose/planning.hpp"
#include "operations/choose/way_back.hpp"

namespace laneway {

namespace {

void find_devices(Communicator& communicator, const PrivateComm& comm, const BufferMemory& where, bool translate) {
  const MemoryInfo* const device = device_memory(where);
  const std::optional<DeviceIdentity> own = device ? std::optional(identity(Device(*device))) : std::nullopt;
  communicator.node_devices = find_node_devices(comm, find_node(comm.get(), "", translate, &comm), own);
}

/// What this rank knows before it has heard from others.
struct Looked {
  Agreed agreed;
  PathVotes votes;
  std::optional<Rank> region;
  std::uint64_t edges = 0;
  std::exception_ptr failure;  ///< in which case the rest is not complete
};

bool may_relay_in(Phases phases, const Hints& hints, bool have_helpers) {
  return phases == Phases::one || may_relay(hints.progress, have_helpers);
}

/// Whether nobody has to be asked anything before a plan is begun.
bool knows_all(Communicator& communicator, const PrivateComm& comm, const Hints& hints) {
  return communicator.knows_nodes && communicator.known_region(hints) && communicator.peer_regions(hints) != nullptr &&
         hints.parameters != measured_parameters && !hints.check && comm.size() <= few_ranks;
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
  by_rank = own.reduction->what.how.in_order || hints.order == ReductionOrder::canonical ||
            row_of(kind).send.blocks == BlockForm::typed ||
            (!hints.strategy.is_automatic() && relays_inside(hints.strategy.row));
  for (const LevelChoice& inner : hints.inner)
    by_rank = by_rank || (!inner.choice.is_automatic() && relays_inside(inner.choice.row));
  if (by_rank) return void(own.pattern = arrivals_of(own.pattern));
  own.reduction->turned = turn_round(own.pattern, own.reduction->what.how.element_bytes);
  own.pattern = own.reduction->turned.forward;
}

/// Local.
Looked look(Communicator& communicator, const PrivateComm& comm, MPI_Info info, const Call& call, Phases phases) {
  Looked looked;
  Agreed& own = looked.agreed;
  own.hints.strategy.row = &strategies().front();
  try {
    if (reduces(call.kind)) {
      own.reduction.emplace(AgreedReduction{.what = reduction_of(call, communicator.topology()), .turned = {}});
      own.pattern = own.reduction->what.pattern;
    } else {
      own.pattern = describe(call, communicator.topology());
    }
    check_self_edges(comm.rank(), own.pattern);
    looked.edges = edge_sum(comm.rank(), own.pattern);
    if (call.has_buffers()) own.where = look_at(buffers_of(call), extents_of(own.pattern));
    own.hints = resolve_hints(hints_in(info), communicator.hints);
    own.fingerprint = own.hints.fingerprint();
    if (own.hints.stream) (void)user_stream(device_of(own.where), *own.hints.stream);
    if (own.reduction) prepare_reduction(own, call.kind);
    communicator.read_descriptions(own.hints);
    looked.region = communicator.known_region(own.hints);
    looked.votes = look_at_paths(own, call);
    if (own.reduction && !own.reduction->by_rank) own.reduction->back = find_way_back(communicator, own);
    looked.votes.knows_way_back = own.reduction && own.reduction->back;
    if (looked.votes.knows_way_back || !looked.votes.no_devices || !may_relay_in(phases, own.hints, has_helper()) ||
        !knows_all(communicator, comm, own.hints))
      return looked;
    own.regions = communicator.regions(own.hints, true);
    own.sharing = find_sharing(communicator, own.hints, true);
    own.begun = begin_planning(communicator, comm, own);
  } catch (...) {
    looked.failure = std::current_exception();
  }
  return looked;
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

/// What follows for this rank from what all ranks have said.
Agreed settle(Communicator& communicator, PrivateComm& comm, Looked looked, Agreement agreement, Phases phases) {
  Agreed agreed = std::move(looked.agreed);
  const RankPattern& edges = agreed.reduction ? agreed.reduction->what.pattern : agreed.pattern;
  if (agreed.hints.check && agreed.reduction) check_reduction(comm, agreed.reduction->what.how);
  if (!agreement.edges_match) {
    check_edges(comm, edges);
    throw Error(ErrorKind::topology, "the two sides of some edge differ in size");
  }
  const bool translate = agreement.knows_nodes;
  communicator.learn_regions(agreed.hints, agreement.regions);
  communicator.knows_nodes = translate;
  const bool may = may_relay_in(phases, agreed.hints, agreement.have_helpers);
  if (!may) {
    agreed.relays_nothing = relay_nothing(agreed.hints);
    agreed.hints.sharing = Sharing::none;
  }
  if (agreed.reduction && agreed.reduction->back &&
      (!PathVotes(agreement.flags).knows_way_back || agreed.reduction->back->relays_nothing != agreed.relays_nothing))
    agreed.reduction->back = nullptr;
  if (agreement.round && may)
    go_on(*agreed.begun, std::move(*agreement.round));
  else
    agreed.begun = nullptr;
  const PathVotes all(agreement.flags);
  settle_paths(agreed, looked.votes, all);
  if (!all.no_devices && agreed.hints.machine.empty() && !communicator.node_devices)
    find_devices(communicator, comm, agreed.where, translate);
  agreed.tag = comm.take_tags(channels_with(agreed.hints.inner.size()));
  if (agreed.hints.check) check_edges(comm, edges);
  agreed.regions = communicator.regions(agreed.hints, translate);
  agreed.sharing = find_sharing(communicator, agreed.hints, translate);
  if (!all.no_devices) agreed.rule = find_copy_rule(communicator, comm, agreed);
  return agreed;
}

}  // namespace

Region find_sharing(Communicator& communicator, const Hints& hints, bool translate) {
  if (hints.sharing == Sharing::none) return {};
  if constexpr (simulated)
    return simulated_costs().flag > 0 && !hints.machine.empty() ? communicator.node(hints.machine) : Region{};
  Region sharing = communicator.regions({}, translate).front();
  if (hints.sharing == Sharing::all || hints.machine.empty()) return sharing;
  const Region& described = communicator.node(hints.machine);
  std::erase_if(sharing.members, [&](Rank rank) {
    return !std::binary_search(described.members.begin(), described.members.end(), rank);
  });
  sharing.id = sharing.members.front();
  return sharing;
}

Agreed agree_on(Communicator& communicator, PrivateComm& comm, MPI_Info info, const Call& call, Phases phases) {
  Looked looked = look(communicator, comm, info, call, phases);
  const FirstRound first = looked.agreed.begun ? first_round(*looked.agreed.begun) : FirstRound{};
  Agreement agreement = agree(comm, looked.failure, looked.agreed.hints, looked.votes.flags(), looked.region,
                              looked.edges, first.planner, first.control_messages);
  return settle(communicator, comm, std::move(looked), std::move(agreement), phases);
}

}  // namespace laneway
