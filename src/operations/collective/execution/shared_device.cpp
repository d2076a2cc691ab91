#include "operations/collective/execution/shared_device.hpp"

#include <array>
#include <bit>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/background.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "communicator/datatypes/operators.hpp"
#include "mpi/check.hpp"
#include "operations/collective/collective.hpp"
#include "operations/collective/execution/shared_device_exchange.hpp"
#include "operations/request/work.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

/// In the order of the refusals.
constexpr std::array texts{"ranks of a node share devices, in whose memory each combines its part",
                           "some buffer is not in memory of a device",
                           "the plugin of some device has no kernels that combine",
                           "some device cannot share its memory with other processes",
                           "the buffers of some rank are on two devices",
                           "buffers are on another device than those of earlier calls",
                           "no two ranks have their buffers on one device",
                           "there are several devices, between which this operator is the host's",
                           "ranks that share a device share no memory",
                           "memory of some device could not be allocated, or not be opened by other ranks",
                           "some device has failed in an earlier call"};
static_assert(texts.size() == static_cast<std::size_t>(SharingRefusal::has_failed) + 1);

const char* text_of(SharingRefusal refusal) {
  return texts[static_cast<std::size_t>(refusal)];
}

/// What all ranks know of a call. The size is that of vectors of half as many to as many bytes.
using AllreduceClass = std::tuple<MPI_Op, MPI_Datatype, int, bool>;

std::int64_t element_bytes(const CollectiveCall& call) {
  int bytes = 0;
  check_mpi(MPI_Type_size(call.receive.type, &bytes), "MPI_Type_size");
  return bytes;
}

AllreduceClass class_of_allreduce(const CollectiveCall& call) {
  const std::int64_t bytes = call.receive.count * element_bytes(call);
  return {call.op, call.receive.type, std::bit_width(static_cast<std::uint64_t>(bytes - 1)), is_in_place(call)};
}

/// Of an allreduce, as far as all ranks can tell.
bool has_class(const DenseKnowledge& known, const CollectiveCall& call) {
  return !simulated && known.have_devices && known.layout.largest() > 1 && call.kind == DenseKind::allreduce &&
         call.fault == nullptr && call.receive.count > 0 && call.op != MPI_OP_NULL &&
         call.receive.type != MPI_DATATYPE_NULL && is_predefined_operator(call.op) && is_predefined(call.receive.type);
}

/// Why no call of a class runs there, which all ranks know without asking; null: it may.
const char* refusal_of_class(const DenseKnowledge& known, const CheckedCollective& checked) {
  const CollectiveCall& call = checked.call;
  const Hints& hints = known.hints;
  const CollectiveHint hint = read_collective(hints.collective, call.kind);
  if (hint.is_mpi || hint.rule != nullptr) return "lnw_collective names another way";
  if (hints.path == MemoryPath::staged || hints.path == MemoryPath::device_aware)
    return "lnw_memory_path names another way";
  if (hints.sharing == Sharing::none) return "lnw_transport has the MPI library carry everything";
  if (checked.reduction->combiner == nullptr) return checked.reduction->why;
  if (!checked.reduction->combiner->on_device()) return "no kernel combines this datatype by this operator";
  // As of messages in a node, of which smaller ones are not worth the handling of others' memory.
  if (hints.path == MemoryPath::automatic && checked.block_bytes <= hints.local.mailbox_bytes)
    return "the vector is not larger than lnw_local_message";
  return nullptr;
}

/// Kept with a communicator. All ranks make calls in the same order, and so have the same entries.
struct SharedDeviceCalls final : Attachment {
  void on(Change) override {
    classes.clear();
    exchange = nullptr;
    lane = nullptr;
    lanes.clear();
  }

  struct Decision {
    const char* refusal = nullptr;  ///< null: calls run on the shared device
    DeviceOperation operation;
  };
  std::map<AllreduceClass, Decision> classes;
  std::unique_ptr<SharedDeviceExchange> exchange;  // of blocking calls
  std::shared_ptr<PrivateComm> lane;               // of it
  /// By the groups of ranks: of each rank, the first of its group. Null of ranks that are in none.
  std::map<std::vector<Rank>, std::shared_ptr<PrivateComm>> lanes;
};

/// That of this rank, or null. Collective.
std::shared_ptr<PrivateComm> find_lane(Communicator& communicator, const Layout& layout, PrivateComm& comm,
                                       int number) {
  auto& lanes = communicator.attachment<SharedDeviceCalls>().lanes;
  std::vector<Rank> leaders;
  for (Rank rank = 0; rank < layout.ranks(); ++rank) leaders.push_back(layout.leader(layout.region(rank)));
  if (const auto found = lanes.find(leaders); found != lanes.end()) return found->second;
  const int tag = comm.take_tags();
  std::shared_ptr<PrivateComm>& lane = lanes[leaders];
  if (number < 0) return lane;
  comm.is_in_part();
  std::vector<Rank> members;
  for (Rank region = 0; region < layout.regions(); ++region) members.push_back(layout.member(region, number));
  std::ranges::sort(members);
  lane = PrivateComm::make();
  lane->create_among(comm, members, tag, nullptr);
  Communicator::of(lane->get()).hints = communicator.hints;
  return lane;
}

/// What this rank finds of its own buffers; `exchange`: null if there is none yet.
SharingRefusal look_at_buffers(const CollectiveCall& call, const SharedDeviceExchange* exchange, Device& device) {
  const Buffers buffers = buffers_of(call);
  const MemoryInfo sent = memory_at(buffers.send);
  const MemoryInfo received = memory_at(buffers.receive);
  if (sent.kind != MemoryKind::device || received.kind != MemoryKind::device) return SharingRefusal::in_host_memory;
  device = Device(received);
  if (Device(sent) != device) return SharingRefusal::two_devices;
  if (!can_combine(device)) return SharingRefusal::no_kernels;
  if (!device.has(LNW_DEVICE_HAS_IPC_MEMORY)) return SharingRefusal::no_ipc;
  return exchange != nullptr && exchange->device() != device ? SharingRefusal::other_device : SharingRefusal::none;
}

/// Why no call runs on devices that such groups share, which all ranks know. Between devices, a number tells of
/// failures: an even number of them would cancel in an exclusive or, as 256 would in a sum of bytes.
SharingRefusal refusal_of(const Layout& groups, const DenseKnowledge& known, const CollectiveCall& call,
                          const DeviceOperation& operation) {
  if (groups.largest() == 1) return SharingRefusal::none_share;
  if (groups.regions() == 1) return SharingRefusal::none;
  const bool cancels = operation.operation == LNW_DEVICE_LXOR || operation.operation == LNW_DEVICE_BXOR ||
                       (operation.operation == LNW_DEVICE_SUM && operation.number_bytes < 4 && groups.regions() > 255);
  const bool is_ordered = is_by_rank(known.hints.order) && depends_on_order(call.op, call.receive.type);
  return cancels || is_ordered ? SharingRefusal::between_devices : SharingRefusal::none;
}

/// An exchange for vectors of so many bytes, and this rank's lane; or why there is none, the same on all ranks.
struct Shared {
  SharingRefusal refusal = SharingRefusal::none;
  std::unique_ptr<SharedDeviceExchange> exchange;
  std::shared_ptr<PrivateComm> lane;
};
/// Collective.
Shared make_shared_exchange(Communicator& communicator, const DenseKnowledge& known, PrivateComm& comm,
                            const Device& device, const CollectiveCall& call, const DeviceOperation& operation,
                            std::int64_t bytes) {
  Shared made;
  DeviceGroups groups = group_by_device(comm, known.node, device);
  made.refusal = refusal_of(groups.layout, known, call, operation);
  if (made.refusal != SharingRefusal::none) return made;
  made.exchange = std::make_unique<SharedDeviceExchange>(comm, known, std::move(groups), device);
  made.refusal =
      last_of_all(made.exchange->shares_memory() ? SharingRefusal::none : SharingRefusal::no_node_memory, comm);
  if (made.refusal != SharingRefusal::none) return made;
  made.lane = find_lane(communicator, made.exchange->groups(), comm, made.exchange->lane());
  made.refusal = made.exchange->make_slots(bytes);
  return made;
}

/// Of the first call of a class. Collective, and the same on all ranks.
SharingRefusal decide_together(Communicator& communicator, const DenseKnowledge& known, PrivateComm& comm,
                               const CollectiveCall& call, const DeviceOperation& operation, std::int64_t bytes) {
  SharedDeviceCalls& calls = communicator.attachment<SharedDeviceCalls>();
  std::unique_ptr<SharedDeviceExchange>& exchange = calls.exchange;
  if (exchange && exchange->has_failed()) return SharingRefusal::has_failed;
  Device device;
  const SharingRefusal found = last_of_all(look_at_buffers(call, exchange.get(), device), comm);
  if (found != SharingRefusal::none) return found;
  if (!exchange) {
    Shared made = make_shared_exchange(communicator, known, comm, device, call, operation, bytes);
    if (made.refusal != SharingRefusal::none) return made.refusal;
    exchange = std::move(made.exchange);
    calls.lane = std::move(made.lane);
    return SharingRefusal::none;
  }
  const SharingRefusal refusal = refusal_of(exchange->groups(), known, call, operation);
  return refusal == SharingRefusal::none && exchange->lacks_slots(bytes) ? exchange->make_slots(bytes) : refusal;
}

Reasons reasons_of(const char* refusal) {
  Reasons reasons;
  reasons.strategy = "shared_device";
  reasons.rule_reason = refusal == nullptr ? text_of(SharingRefusal::none) : std::string("not used: ") + refusal;
  return reasons;
}

/// The first call of a class.
SharedDeviceCalls::Decision decide_class(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                                         const CollectiveCall& call) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  SharedDeviceCalls::Decision decision;
  together(*comm, [&] {
    const CheckedCollective checked(call, comm->rank(), comm->size(), is_by_rank(known->hints.order));
    decision.refusal = refusal_of_class(*known, checked);
    if (decision.refusal != nullptr) return;
    decision.operation = *checked.reduction->combiner->on_device();
    const SharingRefusal found =
        decide_together(communicator, *known, *comm, call, decision.operation, checked.block_bytes);
    if (found != SharingRefusal::none) decision.refusal = text_of(found);
  });
  // Programs without buffers on devices need not hear of them.
  if (decision.refusal == nullptr || !memory_at(buffers_of(call).receive).host_may_touch())
    log_reasons(reasons_of(decision.refusal), comm->rank());
  return decision;
}

/// A persistent one. Local after it has been made.
class SharedDeviceWork final : public Work, public Progressive {
 public:
  SharedDeviceWork(std::shared_ptr<PrivateComm> comm, std::unique_ptr<SharedDeviceExchange> exchange,
                   LaneAllreduce lane, const CollectiveCall& call, const DeviceOperation& operation, Progress progress)
      : comm_(std::move(comm)),
        lane_(std::move(lane)),
        exchange_(std::move(exchange)),
        call_(call),
        operation_(operation) {
    plan_.rank = comm_->rank();
    activity_.list(*this, progress);
  }

  [[nodiscard]] bool active() const override { return activity_.active(); }
  [[nodiscard]] bool start() override {
    if (state() != WorkState::inactive) return false;
    exchange_->start(call_, operation_, lane_);
    activity_.begin();
    return true;
  }
  [[nodiscard]] WorkState state() const override {
    return exchange_->has_failed() && !active() ? WorkState::failed : Work::state();
  }
  [[nodiscard]] bool test() override { return activity_.test(nullptr); }
  [[nodiscard]] bool done() override { return activity_.done(nullptr); }
  [[nodiscard]] const Plan& plan() const override { return plan_; }

  bool progress() override { return exchange_->progress(); }

 private:
  std::shared_ptr<PrivateComm> comm_;
  LaneAllreduce lane_;
  std::unique_ptr<SharedDeviceExchange> exchange_;
  CollectiveCall call_;
  DeviceOperation operation_;
  Plan plan_;  // none of its steps is a plan's
  Activity activity_;
};

}  // namespace

bool run_on_shared_device(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                          const CollectiveCall& call) {
  if (!has_class(*known, call)) return false;
  SharedDeviceCalls& calls = communicator.attachment<SharedDeviceCalls>();
  const AllreduceClass of_call = class_of_allreduce(call);
  auto found = calls.classes.find(of_call);
  if (found == calls.classes.end())
    found = calls.classes.emplace(of_call, decide_class(communicator, known, call)).first;
  SharedDeviceCalls::Decision& decision = found->second;
  if (decision.refusal != nullptr) return false;
  SharedDeviceExchange& exchange = *calls.exchange;
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  check_collective(call, comm->rank(), comm->size());
  const std::int64_t bytes = call.receive.count * element_bytes(call);
  SharingRefusal refusal = exchange.has_failed() ? SharingRefusal::has_failed : SharingRefusal::none;
  if (refusal == SharingRefusal::none && exchange.lacks_slots(bytes))
    refusal = together(*comm, [&] { return exchange.make_slots(bytes); });
  if (refusal != SharingRefusal::none) {
    decision.refusal = text_of(refusal);
    return false;
  }
  LaneAllreduce lane(calls.lane, call);
  exchange.start(call, decision.operation, lane);
  progress_until([&] { return exchange.progress(); });
  return true;
}

std::optional<Reasons> reasons_on_shared_device(Communicator& communicator, const DenseKnowledge& known,
                                                const CollectiveCall& call) {
  if (!has_class(known, call)) return std::nullopt;
  const SharedDeviceCalls& calls = communicator.attachment<SharedDeviceCalls>();
  const auto found = calls.classes.find(class_of_allreduce(call));
  if (found == calls.classes.end() || found->second.refusal != nullptr) return std::nullopt;
  return reasons_of(nullptr);
}

std::unique_ptr<Work> make_on_shared_device(Communicator& communicator,
                                            const std::shared_ptr<const DenseKnowledge>& known, PrivateComm& comm,
                                            const CheckedCollective& checked, MPI_Info info, Reasons& reasons) {
  const CollectiveCall& call = checked.call;
  if (!has_class(*known, call) || refusal_of_class(*known, checked) != nullptr) return nullptr;
  const ProgressHint progress = known->hints.progress;
  // Ranks combine what others need, and wait for each other.
  if (progress == ProgressHint::strict || !may_relay(progress, known->have_helpers)) return nullptr;
  Device device;
  if (last_of_all(look_at_buffers(call, nullptr, device), comm) != SharingRefusal::none) return nullptr;
  const DeviceOperation operation = *checked.reduction->combiner->on_device();
  Shared made = make_shared_exchange(communicator, *known, comm, device, call, operation, checked.block_bytes);
  if (made.refusal != SharingRefusal::none) return nullptr;
  if (made.lane) comm.is_in_part();
  LaneAllreduce lane(made.lane, call);
  made.exchange->prepare(operation, call.receive.count, info, lane);
  const Helper helper = find_helper(progress);
  employ(helper);
  reasons = reasons_of(nullptr);
  reasons.progress_by = name(helper);
  return std::make_unique<SharedDeviceWork>(comm.shared_from_this(), std::move(made.exchange), std::move(lane), call,
                                            operation, progress_by(helper));
}

}  // namespace laneway
