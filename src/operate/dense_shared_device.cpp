#include "operate/dense_shared_device.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "arguments/operators.hpp"
#include "carriers/device/ipc.hpp"
#include "carriers/messages/p2p.hpp"
#include "carriers/node/sharing.hpp"
#include "comm/agreement.hpp"
#include "comm/mailbox.hpp"
#include "comm/talking.hpp"
#include "core/error.hpp"
#include "core/simulated.hpp"
#include "exec/progress.hpp"
#include "operate/dense.hpp"
#include "operate/dense_looked.hpp"

namespace laneway {

namespace {

/// Why calls of a class run elsewhere: what any rank finds. Of several, all ranks give the last.
enum class Refusal : std::int32_t {
  none,
  in_host_memory,
  no_kernels,
  no_ipc,
  several_devices,
  other_device,
  no_node_memory,
  not_opened,
};

const char* text_of(Refusal refusal) {
  switch (refusal) {
    case Refusal::none:
      return "the ranks of each node share a device, in whose memory each combines its part";
    case Refusal::in_host_memory:
      return "some buffer is not in memory of a device";
    case Refusal::no_kernels:
      return "the plugin of some device has no kernels that combine";
    case Refusal::no_ipc:
      return "some device cannot share its memory with other processes";
    case Refusal::several_devices:
      return "ranks of a node have their buffers on different devices";
    case Refusal::other_device:
      return "buffers are on another device than those of earlier calls";
    case Refusal::no_node_memory:
      return "the ranks of some node share no memory";
    case Refusal::not_opened:
      return "memory of some device could not be allocated, or not be opened by other ranks of its node";
  }
  return "";
}

/// What all ranks know of a call. The size is that of vectors of half as many to as many bytes.
using CallClass = std::tuple<MPI_Op, MPI_Datatype, int, bool>;

std::int64_t element_bytes(const CollectiveCall& call) {
  int bytes = 0;
  check_mpi(MPI_Type_size(call.receive.type, &bytes), "MPI_Type_size");
  return bytes;
}

CallClass class_of_call(const CollectiveCall& call) {
  const std::int64_t bytes = call.receive.count * element_bytes(call);
  return {call.op, call.receive.type, std::bit_width(static_cast<std::uint64_t>(bytes - 1)), is_in_place(call)};
}

/// Of an allreduce, as far as all ranks can tell.
bool has_class(const CollectiveCall& call) {
  return call.kind == DenseKind::allreduce && call.fault == nullptr && call.receive.count > 0 &&
         call.op != MPI_OP_NULL && call.receive.type != MPI_DATATYPE_NULL && is_predefined_operator(call.op) &&
         is_predefined(call.receive.type);
}

/// Why no call of a class runs there, which all ranks know without asking; null: it may.
const char* refusal_of_class(const DenseKnowledge& known, const CollectiveCall& call, const Looked& looked) {
  const Hints& hints = known.hints;
  const CollectiveHint hint = read_collective(hints.collective, call.kind);
  if (hint.is_mpi || hint.rule != nullptr) return "lnw_collective names another way";
  if (hints.path == MemoryPath::staged || hints.path == MemoryPath::device_aware)
    return "lnw_memory_path names another way";
  if (hints.sharing == Sharing::none) return "lnw_transport has the MPI library carry everything";
  if (looked.reduction->combiner == nullptr) return looked.reduction->why;
  if (!looked.reduction->combiner->on_device()) return "no kernel combines this datatype by this operator";
  if (hints.order == ReductionOrder::canonical && known.layout.regions() > 1 &&
      depends_on_order(call.op, call.receive.type))
    return "there are several nodes, and lnw_order=canonical";
  // As of messages in a node, of which smaller ones are not worth the handling of others' memory.
  if (hints.path == MemoryPath::automatic && looked.checked.bytes <= hints.local.mailbox_bytes)
    return "the vector is not larger than lnw_local_message";
  return nullptr;
}

/// A word of each rank of a node, which it alone raises.
class NodeWords {
 public:
  /// Collective over the node. Empty on all of its ranks where they share no memory.
  NodeWords(const PrivateComm& comm, const Region& node, const Region& sharing)
      : own_(static_cast<std::size_t>(std::ranges::lower_bound(node.members, comm.rank()) - node.members.begin())) {
    if (node.members.size() == 1) {
      words_.push_back(reinterpret_cast<std::byte*>(&alone_));
      return;
    }
    if (!std::ranges::includes(sharing.members, node.members)) return;
    Talking talk(comm);
    memory_ = share_windows(talk, node, cache_line);
    if (!memory_) return;
    for (const Rank member : node.members) words_.push_back(memory_->peers.at(member).window);
  }
  NodeWords(const NodeWords&) = delete;
  NodeWords& operator=(const NodeWords&) = delete;

  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] std::size_t own() const { return own_; }
  [[nodiscard]] std::size_t size() const { return words_.size(); }

  void raise_to(std::uint64_t value) const { raise(words_[own_], value); }
  void fail() const { raise_to(failed); }
  /// Until the words of all ranks are at least `value`.
  void wait_for(std::uint64_t value) const {
    std::size_t seen_words = 0;
    progress_until([&] {
      for (; seen_words < words_.size(); ++seen_words) {
        const std::uint64_t word = seen(words_[seen_words]);
        require(word != failed, ErrorKind::device,
                "another rank of this node has failed in an operation on the device that they share");
        if (word < value) return false;
      }
      return true;
    });
  }

 private:
  static constexpr std::uint64_t failed = std::numeric_limits<std::uint64_t>::max();

  std::shared_ptr<NodeMemory> memory_;
  std::vector<std::byte*> words_;
  std::size_t own_;
  alignas(8) std::uint64_t alone_ = 0;
};

/// What the first rank of a node tells the others.
struct SlotsRecord {
  SharedDeviceMemory memory;
  std::array<unsigned char, 16> uuid{};
  bool is_there = false;
};

std::array<unsigned char, 16> uuid_of(const Device& device) {
  std::array<unsigned char, 16> uuid{};
  const lnw_device_info info = device.info();
  std::copy_n(info.uuid, uuid.size(), uuid.begin());
  return uuid;
}

/// A slot for each rank of a node, in memory of a device that the first of them has allocated.
class Slots {
 public:
  /// Collective over the node. What is wrong on this rank is in refusal().
  Slots(const PrivateComm& comm, const Region& node, const Device& device, std::int64_t slot_bytes)
      : slot_bytes_(slot_bytes) {
    const bool leads = comm.rank() == node.members.front();
    SlotsRecord mine;
    mine.uuid = uuid_of(device);
    try {
      if (leads) {
        memory_ = DeviceMemory(device, node.members.size() * static_cast<std::size_t>(slot_bytes));
        if (node.members.size() > 1) mine.memory = share_device_memory(memory_.data());
        first_ = memory_.data();
        mine.is_there = true;
      }
    } catch (const Error&) {
      first_ = nullptr;
    }
    if (node.members.size() > 1) {
      Talking talk(comm);
      const SlotsRecord leaders = gather(talk, node, mine).front();
      if (leaders.uuid != mine.uuid) refusal_ = Refusal::several_devices;
      if (!leads && leaders.is_there && refusal_ == Refusal::none) open(device, leaders.memory);
    }
    if (first_ == nullptr && refusal_ == Refusal::none) refusal_ = Refusal::not_opened;
  }

  [[nodiscard]] Refusal refusal() const { return refusal_; }
  [[nodiscard]] std::int64_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::byte* slot(std::size_t member) const {
    return first_ + static_cast<std::int64_t>(member) * slot_bytes_;
  }

 private:
  void open(const Device& device, const SharedDeviceMemory& memory) {
    try {
      mapping_ = IpcMapping(device, memory);
      first_ = mapping_.data();
    } catch (const Error&) {  // the others are told by the refusal
    }
  }

  std::int64_t slot_bytes_;
  DeviceMemory memory_;  // of the first rank
  IpcMapping mapping_;   // of the others
  std::byte* first_ = nullptr;
  Refusal refusal_ = Refusal::none;
};

/// What the ranks of a communicator keep for it. All of them make one, or none.
class SharedDeviceReduction {
 public:
  /// Collective.
  SharedDeviceReduction(Communicator& communicator, const DenseKnowledge& known, PrivateComm& comm, Device device)
      : comm_(comm),
        node_(known.node),
        is_one_node_(known.layout.regions() == 1),
        limit_(std::max<std::int64_t>(known.hints.staging_limit / known.layout.largest(), smallest_slot)),
        device_(device),
        words_(comm, known.node, known.sharing) {
    const Layout& layout = known.layout;
    lanes_ = layout.size(0);
    for (Rank region = 1; region < layout.regions(); ++region) lanes_ = std::min(lanes_, layout.size(region));
    make_lane(communicator, layout);
    stream_ = Stream(device);
  }

  [[nodiscard]] Device device() const { return device_; }
  [[nodiscard]] bool shares_memory() const { return !words_.empty(); }
  /// Whether slots for such vectors have to be made first, which all ranks know.
  [[nodiscard]] bool lacks_slots(std::int64_t bytes) const { return !slots_ || slots_->slot_bytes() < wanted(bytes); }
  /// Makes them. Collective. All ranks return the same, and where they have none they keep those that they had.
  [[nodiscard]] Refusal make_slots(std::int64_t bytes) {
    auto made = std::make_unique<Slots>(comm_, node_, device_, wanted(bytes));
    DeviceMemory part;
    auto mine = static_cast<std::int32_t>(made->refusal());
    try {
      if (has_lane()) part = DeviceMemory(device_, static_cast<std::size_t>(part_bytes(*made)), MemoryKind::pinned);
    } catch (const Error&) {
      mine = std::max(mine, static_cast<std::int32_t>(Refusal::not_opened));
    }
    std::int32_t all = 0;
    reduce_progressing(&mine, &all, 1, MPI_INT32_T, MPI_MAX, comm_);
    if (all != 0) return static_cast<Refusal>(all);
    const bool had_slots = slots_ != nullptr;
    slots_ = std::move(made);
    part_ = std::move(part);
    if (had_slots) close_unused_ipc_mappings();
    return Refusal::none;
  }

  void run(const CollectiveCall& call, const DeviceOperation& operation) {
    auto* const to = static_cast<std::byte*>(call.recvbuf);
    const auto* const from = is_in_place(call) ? to : static_cast<const std::byte*>(call.sendbuf);
    const std::int64_t bytes = call.receive.count * operation.number_bytes;
    const std::int64_t piece = slots_->slot_bytes() / operation.number_bytes * operation.number_bytes;
    try {
      for (std::int64_t done = 0; done < bytes; done += piece)
        run_piece(call, operation, from + done, to + done, std::min(piece, bytes - done));
    } catch (...) {
      words_.fail();
      throw;
    }
  }

 private:
  static constexpr std::int64_t smallest_slot = 4096;
  static constexpr std::size_t most_moves = 4;

  struct KeptMoves {
    int operation;
    int number;
    std::int64_t bytes;
    Moves moves;
  };

  /// Powers of two, so that slots are seldom made again, up to the limit.
  [[nodiscard]] std::int64_t wanted(std::int64_t bytes) const {
    const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
    return std::clamp(rounded, smallest_slot, std::max(limit_ / smallest_slot, std::int64_t{1}) * smallest_slot);
  }
  [[nodiscard]] bool has_lane() const { return lane_ != nullptr; }
  [[nodiscard]] std::int64_t part_bytes(const Slots& slots) const { return slots.slot_bytes() / lanes_ + 16; }
  [[nodiscard]] bool combines() const { return words_.own() < static_cast<std::size_t>(lanes_); }

  /// The ranks that have this one's number on their nodes. Nodes with more ranks than the smallest have some without.
  void make_lane(Communicator& communicator, const Layout& layout) {
    const int tag = comm_.take_tags();
    if (is_one_node_ || !combines()) return;
    comm_.is_in_part();
    std::vector<Rank> members;
    for (Rank region = 0; region < layout.regions(); ++region) members.push_back(layout.members(region)[words_.own()]);
    std::ranges::sort(members);
    lane_ = std::make_shared<PrivateComm>();
    lane_->create_among(comm_, members, tag, nullptr);
    Communicator::of(lane_->get()).hints = communicator.hints;
  }
  /// Words count three steps of each piece: a vector is in its slot, a part is combined, the result is taken.
  void run_piece(const CollectiveCall& call, const DeviceOperation& operation, const std::byte* from, std::byte* to,
                 std::int64_t bytes) {
    const std::uint64_t before = 3 * pieces_;
    ++pieces_;
    // The result of the last piece is in the first slot. The others' slots are no longer read.
    if (words_.own() == 0) words_.wait_for(before);
    stream_.copy(slots_->slot(words_.own()), from, static_cast<std::size_t>(bytes));
    synchronize();
    words_.raise_to(before + 1);
    words_.wait_for(before + 1);
    if (combines()) combine_part(call, operation, bytes / operation.number_bytes);
    words_.raise_to(before + 2);
    words_.wait_for(before + 2);
    stream_.copy(to, slots_->slot(0), static_cast<std::size_t>(bytes));
    synchronize();
    words_.raise_to(before + 3);
  }

  void combine_part(const CollectiveCall& call, const DeviceOperation& operation, std::int64_t elements) {
    const auto number = static_cast<std::int64_t>(words_.own());
    const std::int64_t begin = elements * number / lanes_;
    const std::int64_t count = elements * (number + 1) / lanes_ - begin;
    if (count == 0) return;
    const std::int64_t offset = begin * operation.number_bytes;
    const std::int64_t bytes = count * operation.number_bytes;
    std::byte* const result = slots_->slot(0) + offset;
    const Moves& moves = moves_of(operation, bytes);
    for (std::size_t member = 1; member < words_.size(); ++member)
      moves.launch(stream_, std::array<void*, 2>{result, slots_->slot(member) + offset});
    if (has_lane()) {
      stream_.copy(part_.data(), result, static_cast<std::size_t>(bytes));
      synchronize();
      combine_along_lane(call, count);
      stream_.copy(result, part_.data(), static_cast<std::size_t>(bytes));
    }
    synchronize();
  }

  void combine_along_lane(const CollectiveCall& call, std::int64_t count) const {
    CollectiveCall on_lane;
    on_lane.kind = DenseKind::allreduce;
    on_lane.op = call.op;
    on_lane.sendbuf = MPI_IN_PLACE;
    on_lane.recvbuf = part_.data();
    on_lane.send.count = on_lane.receive.count = count;
    on_lane.send.type = on_lane.receive.type = call.receive.type;
    check_mpi(run_dense(lane_->get(), on_lane), "MPI_Allreduce");
  }

  /// to = to op from, of numbers that lie one after the other.
  const Moves& moves_of(const DeviceOperation& operation, std::int64_t bytes) {
    for (const KeptMoves& kept : moves_)
      if (kept.operation == operation.operation && kept.number == operation.number && kept.bytes == bytes)
        return kept.moves;
    if (moves_.size() == most_moves) moves_.erase(moves_.begin());
    const lnw_device_run run{0, 0, bytes, bytes, bytes, 1, 1, 0};
    moves_.push_back({operation.operation, operation.number, bytes, Moves(device_, operation, {&run, 1})});
    return moves_.back().moves;
  }

  void synchronize() const {
    progress_until([&] { return stream_.idle(); });
  }

  PrivateComm& comm_;
  const Region node_;
  const bool is_one_node_;
  const std::int64_t limit_;  // of a slot's bytes
  Device device_;
  NodeWords words_;
  Rank lanes_ = 1;
  std::shared_ptr<PrivateComm> lane_;  // null: one node, or no lane
  std::unique_ptr<Slots> slots_;
  DeviceMemory part_;  // pinned, of ranks with a lane
  std::vector<KeptMoves> moves_;
  std::uint64_t pieces_ = 0;
  Stream stream_;
};

/// Kept with a communicator. All ranks make calls in the same order, and so have the same entries.
struct SharedDeviceCalls final : Attachment {
  void on(Change) override {
    classes.clear();
    reduction = nullptr;
  }

  struct Decision {
    const char* refusal = nullptr;  ///< null: calls run on the shared device
    DeviceOperation operation;
  };
  std::map<CallClass, Decision> classes;
  std::unique_ptr<SharedDeviceReduction> reduction;
};

/// What this rank finds of its own buffers; `reduction`: null if there is none yet.
Refusal look_at_buffers(const CollectiveCall& call, const SharedDeviceReduction* reduction, Device& device) {
  const Buffers buffers = buffers_of(call);
  const MemoryInfo sent = memory_at(buffers.send);
  const MemoryInfo received = memory_at(buffers.receive);
  if (sent.kind != MemoryKind::device || received.kind != MemoryKind::device) return Refusal::in_host_memory;
  device = Device(received);
  if (Device(sent) != device) return Refusal::several_devices;
  if (!can_combine(device)) return Refusal::no_kernels;
  if (!device.has(LNW_DEVICE_HAS_IPC_MEMORY)) return Refusal::no_ipc;
  return reduction != nullptr && reduction->device() != device ? Refusal::other_device : Refusal::none;
}

/// Collective, and the same on all ranks.
Refusal decide_together(Communicator& communicator, const DenseKnowledge& known, PrivateComm& comm,
                        const CollectiveCall& call, std::int64_t bytes) {
  std::unique_ptr<SharedDeviceReduction>& reduction = communicator.attachment<SharedDeviceCalls>().reduction;
  Device device;
  auto mine = static_cast<std::int32_t>(look_at_buffers(call, reduction.get(), device));
  std::int32_t all = 0;
  reduce_progressing(&mine, &all, 1, MPI_INT32_T, MPI_MAX, comm);
  if (all != 0) return static_cast<Refusal>(all);
  std::unique_ptr<SharedDeviceReduction> made;
  if (!reduction) {
    made = std::make_unique<SharedDeviceReduction>(communicator, known, comm, device);
    mine = made->shares_memory() ? 0 : static_cast<std::int32_t>(Refusal::no_node_memory);
    reduce_progressing(&mine, &all, 1, MPI_INT32_T, MPI_MAX, comm);
    if (all != 0) return static_cast<Refusal>(all);
  }
  SharedDeviceReduction& used = made ? *made : *reduction;
  const Refusal refusal = used.lacks_slots(bytes) ? used.make_slots(bytes) : Refusal::none;
  if (refusal == Refusal::none && made) reduction = std::move(made);
  return refusal;
}

Reasons reasons_of(const char* refusal) {
  Reasons reasons;
  reasons.strategy = "shared_device";
  reasons.rule_reason = refusal == nullptr ? text_of(Refusal::none) : std::string("not used: ") + refusal;
  return reasons;
}

/// The first call of a class.
SharedDeviceCalls::Decision decide_class(Communicator& communicator, const DenseKnowledge& known,
                                         const CollectiveCall& call) {
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  SharedDeviceCalls::Decision decision;
  together(*comm, [&] {
    const Looked looked = look_at(call, comm->rank(), comm->size(), known.hints.order == ReductionOrder::canonical);
    decision.refusal = refusal_of_class(known, call, looked);
    if (decision.refusal != nullptr) return;
    decision.operation = *looked.reduction->combiner->on_device();
    const Refusal found = decide_together(communicator, known, *comm, call, looked.checked.bytes);
    if (found != Refusal::none) decision.refusal = text_of(found);
  });
  // Programs without buffers on devices need not hear of them.
  if (decision.refusal == nullptr || !memory_at(buffers_of(call).receive).host_may_touch())
    tell_reasons(reasons_of(decision.refusal), comm->rank());
  return decision;
}

}  // namespace

bool run_on_shared_device(Communicator& communicator, const DenseKnowledge& known, const CollectiveCall& call) {
  if (simulated || !known.have_devices || known.layout.largest() == 1 || !has_class(call)) return false;
  SharedDeviceCalls& calls = communicator.attachment<SharedDeviceCalls>();
  const CallClass of_call = class_of_call(call);
  const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
  if (known.hints.check) compare_collective(*comm, call, check_collective(call, comm->rank(), comm->size()));
  auto found = calls.classes.find(of_call);
  if (found == calls.classes.end())
    found = calls.classes.emplace(of_call, decide_class(communicator, known, call)).first;
  SharedDeviceCalls::Decision& decision = found->second;
  if (decision.refusal != nullptr) return false;
  (void)check_collective(call, comm->rank(), comm->size());
  const std::int64_t bytes = call.receive.count * element_bytes(call);
  if (calls.reduction->lacks_slots(bytes)) {
    const Refusal refusal = together(*comm, [&] { return calls.reduction->make_slots(bytes); });
    if (refusal != Refusal::none) {
      decision.refusal = text_of(refusal);
      return false;
    }
  }
  calls.reduction->run(call, decision.operation);
  return true;
}

std::optional<Reasons> reasons_on_shared_device(Communicator& communicator, const CollectiveCall& call) {
  if (simulated || !has_class(call)) return std::nullopt;
  const SharedDeviceCalls& calls = communicator.attachment<SharedDeviceCalls>();
  const auto found = calls.classes.find(class_of_call(call));
  if (found == calls.classes.end() || found->second.refusal != nullptr) return std::nullopt;
  return reasons_of(nullptr);
}

}  // namespace laneway
