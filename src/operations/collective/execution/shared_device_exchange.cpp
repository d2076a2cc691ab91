#include "operations/collective/execution/shared_device_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "operations/collective/collective.hpp"

namespace laneway {

SharingRefusal last_of_all(SharingRefusal mine, const PrivateComm& comm) {
  const auto own = static_cast<std::int32_t>(mine);
  std::int32_t all = 0;
  reduce_progressing(&own, &all, 1, MPI_INT32_T, MPI_MAX, comm);
  return static_cast<SharingRefusal>(all);
}

DeviceGroups group_by_device(const PrivateComm& comm, const Region& node, const Device& device) {
  std::array<unsigned char, 16> uuid{};
  std::copy_n(device.info().uuid, uuid.size(), uuid.begin());
  MpiBootstrap bootstrap(comm);
  const std::vector<std::array<unsigned char, 16>> all = gather(bootstrap, node, uuid);
  Region own;
  for (std::size_t member = 0; member < all.size(); ++member)
    if (all[member] == uuid) own.members.push_back(node.members[member]);
  own.id = own.members.front();
  return {own, Layout(gather_progressing(comm, own.id))};
}

LaneAllreduce::LaneAllreduce(std::shared_ptr<PrivateComm> comm, const CollectiveCall& call) : comm_(std::move(comm)) {
  call_.kind = DenseKind::allreduce;
  call_.sendbuf = MPI_IN_PLACE;
  call_.op = call.op;
  call_.send.type = call_.receive.type = call.receive.type;
}

Request* LaneAllreduce::find(std::int64_t numbers) const {
  const auto found = std::ranges::find(prepared_, numbers, &Prepared::numbers);
  return found != prepared_.end() ? found->request.get() : nullptr;
}

const CollectiveCall& LaneAllreduce::call_of(std::byte* part, std::int64_t numbers) {
  call_.recvbuf = part;
  call_.send.count = call_.receive.count = numbers;
  return call_;
}

void LaneAllreduce::prepare(MPI_Info info, std::byte* part, std::int64_t numbers) {
  if (find(numbers) == nullptr) prepared_.push_back({numbers, make_dense(comm_->get(), info, call_of(part, numbers))});
}

void LaneAllreduce::start(std::byte* part, std::int64_t numbers) {
  active_ = find(numbers);
  if (active_ == nullptr) return check_mpi(run_dense(comm_->get(), call_of(part, numbers)), "MPI_Allreduce");
  if (!active_->start()) throw Error(ErrorKind::request, std::string("request ") + text_of(active_->state()));
}

namespace {

constexpr std::size_t most_number_bytes = 16;

/// The number behind the part that goes along a lane, 0 or 1. Combined with its like it stays as it is, unless a rank
/// has failed, whose is the other.
std::array<std::byte, most_number_bytes> lane_status(const DeviceOperation& operation, bool failed) {
  static constexpr std::array counting{LNW_DEVICE_SUM, LNW_DEVICE_MAX, LNW_DEVICE_LOR, LNW_DEVICE_BOR};
  std::array<std::byte, most_number_bytes> bytes{};
  const bool counts = std::ranges::find(counting, operation.operation) != counting.end();
  if (counts != failed) return bytes;
  const auto put = [&](auto one) { std::memcpy(bytes.data(), &one, sizeof one); };
  if (operation.number == LNW_DEVICE_FLOAT32)
    put(1.F);
  else if (operation.number == LNW_DEVICE_FLOAT64)
    put(1.);
  else
    put(std::uint8_t{1});  // the lowest byte of a whole number comes first
  return bytes;
}

}  // namespace

SharedDeviceExchange::SharedDeviceExchange(const PrivateComm& comm, const DenseKnowledge& known, DeviceGroups groups,
                                           const Device& device)
    : comm_(comm),
      bootstrap_(comm),
      groups_(std::move(groups)),
      is_one_group_(groups_.layout.regions() == 1),
      limit_(std::max<std::int64_t>(known.hints.staging_limit / groups_.layout.largest(), smallest_slot)),
      device_(device),
      steps_(bootstrap_, groups_.own, std::ranges::includes(known.sharing.members, groups_.own.members)),
      lanes_(groups_.layout.smallest()),
      stream_(device) {}

/// Work on the slots and buffers must not outlive them.
SharedDeviceExchange::~SharedDeviceExchange() {
  // Whoever waited has been told of a failure, after which the device is of no use any more.
  (void)failure_of([this] {
    if (stream_) stream_.synchronize();
  });
}

/// Powers of two, so that slots are seldom made again, up to the limit.
std::int64_t SharedDeviceExchange::wanted(std::int64_t bytes) const {
  const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
  return std::clamp(rounded, smallest_slot, std::max(limit_ / smallest_slot, std::int64_t{1}) * smallest_slot);
}

SharingRefusal SharedDeviceExchange::make_slots(std::int64_t bytes) {
  auto made = std::make_unique<SharedSlots>(bootstrap_, groups_.own, device_, wanted(bytes));
  SharingRefusal refusal = SharingRefusal::none;
  if (!made->is_there()) refusal = SharingRefusal::not_opened;
  DeviceMemory part;
  try {
    // Parts differ by a number, and another one goes behind them.
    const std::int64_t part_bytes = made->slot_bytes() / lanes_ + 2 * static_cast<std::int64_t>(most_number_bytes);
    if (lane() >= 0) part = DeviceMemory(device_, static_cast<std::size_t>(part_bytes), MemoryKind::pinned);
  } catch (const Error&) {
    refusal = SharingRefusal::not_opened;
  }
  refusal = last_of_all(refusal, comm_);
  if (refusal != SharingRefusal::none) return refusal;
  const bool had_slots = slots_ != nullptr;
  slots_ = std::move(made);
  part_ = std::move(part);
  if (had_slots) close_unused_ipc_mappings();
  return SharingRefusal::none;
}

SharedDeviceExchange::Part SharedDeviceExchange::part_of(std::int64_t numbers) const {
  if (!combines()) return {};
  const auto number = static_cast<std::int64_t>(steps_.own());
  const std::int64_t begin = numbers * number / lanes_;
  return {begin, numbers * (number + 1) / lanes_ - begin};
}

/// Of most pieces, and of the last one. Requests first: others wait for those.
void SharedDeviceExchange::prepare(const DeviceOperation& operation, std::int64_t numbers, MPI_Info info,
                                   LaneAllreduce& lane) {
  const std::int64_t piece = numbers_of_piece(operation);
  const std::array<std::int64_t, 2> counts{part_of(std::min(piece, numbers)).count,
                                           part_of((numbers - 1) % piece + 1).count};
  for (const std::int64_t count : counts)
    if (count > 0 && this->lane() >= 0) lane.prepare(info, part_.data(), count + 1);
  for (const std::int64_t count : counts)
    if (count > 0) (void)moves_of(operation, count * operation.number_bytes);
}

/// to = to op from, of numbers that lie one after the other.
const Moves& SharedDeviceExchange::moves_of(const DeviceOperation& operation, std::int64_t bytes) {
  const KeptMoves* const kept = moves_.find([&](const KeptMoves& one) {
    return one.operation == operation.operation && one.number == operation.number && one.bytes == bytes;
  });
  if (kept != nullptr) return kept->moves;
  const lnw_device_run run{0, 0, bytes, bytes, bytes, 1, 1, 0};
  return moves_.add({operation.operation, operation.number, bytes, Moves(device_, operation, {&run, 1})}).moves;
}

template <class Body>
void SharedDeviceExchange::attempt(Body&& body) {
  if (!group_has_failed_) note(failure_of(body));
}

void SharedDeviceExchange::note(const std::exception_ptr& failure) {
  if (!failure) return;
  if (!failure_) failure_ = failure;
  group_has_failed_ = true;
  steps_.fail_in(step_);
}

/// Also after a failure: what had been put into the stream before it must not outlive the call.
bool SharedDeviceExchange::device_is_idle() {
  bool idle = true;
  note(failure_of([&] { idle = stream_.idle(); }));
  return idle;
}

void SharedDeviceExchange::start(const CollectiveCall& call, const DeviceOperation& operation, LaneAllreduce& lane) {
  to_ = static_cast<std::byte*>(call.recvbuf);
  from_ = is_in_place(call) ? to_ : static_cast<const std::byte*>(call.sendbuf);
  left_ = call.receive.count;
  operation_ = operation;
  lane_ = &lane;
  failure_ = nullptr;
  begin_piece();
}

bool SharedDeviceExchange::progress() {
  while (awaited_ != Awaited::nothing)
    if (!advance()) return false;
  if (failure_ || group_has_failed_) throw_failure();
  return true;
}

bool SharedDeviceExchange::advance() {
  if (awaited_ == Awaited::lane) return end_lane();
  if (awaited_ == Awaited::device) {
    if (!device_is_idle()) return false;
    if (has_for_lane_) {
      start_lane();
      return true;
    }
    steps_.reach(step_);
    awaited_ = Awaited::ranks;
  }
  // The first slot, in which the result is, is free for the next vector, or to be freed, when all have taken it.
  const bool waits = phase_ != Phase::take || steps_.own() == 0;
  if (waits && !steps_.all_reached(step_)) return false;
  go_on();
  return true;
}

void SharedDeviceExchange::go_on() {
  if (phase_ == Phase::take) return end_piece();
  group_has_failed_ = group_has_failed_ || steps_.some_failed(step_);
  if (phase_ == Phase::fill) return combine();
  has_failed_ = is_one_group_ ? group_has_failed_ : steps_.some_reported(step_);
  if (has_failed_) {
    awaited_ = Awaited::nothing;
    return;
  }
  begin(Phase::take);
  attempt([&] { stream_.copy(to_, slots_->slot(0), static_cast<std::size_t>(bytes_of(piece_))); });
}

void SharedDeviceExchange::begin(Phase phase) {
  phase_ = phase;
  ++step_;
  awaited_ = Awaited::device;
}

void SharedDeviceExchange::begin_piece() {
  begin(Phase::fill);
  piece_ = std::min(left_, numbers_of_piece(operation_));
  attempt([&] { stream_.copy(slots_->slot(steps_.own()), from_, static_cast<std::size_t>(bytes_of(piece_))); });
}

void SharedDeviceExchange::combine() {
  begin(Phase::combine);
  const Part part = part_of(piece_);
  has_for_lane_ = lane() >= 0 && part.count > 0;
  if (part.count == 0) return;
  attempt([&] {
    const std::int64_t offset = bytes_of(part.begin);
    std::byte* const result = slots_->slot(0) + offset;
    const Moves& moves = moves_of(operation_, bytes_of(part.count));
    for (std::size_t member = 1; member < steps_.size(); ++member)
      moves.launch(stream_, std::array<void*, 2>{result, slots_->slot(member) + offset});
    if (has_for_lane_) stream_.copy(part_.data(), result, static_cast<std::size_t>(bytes_of(part.count)));
  });
}

void SharedDeviceExchange::start_lane() {
  const std::int64_t count = part_of(piece_).count;
  std::memcpy(part_.data() + bytes_of(count), lane_status(operation_, group_has_failed_).data(),
              static_cast<std::size_t>(operation_.number_bytes));
  const std::exception_ptr failure = failure_of([&] { lane_->start(part_.data(), count + 1); });
  note(failure);
  has_for_lane_ = failure == nullptr;
  if (has_for_lane_) awaited_ = Awaited::lane;
}

bool SharedDeviceExchange::end_lane() {
  bool is_over = true;
  const std::exception_ptr failure = failure_of([&] { is_over = lane_->test(); });
  if (!is_over) return false;
  has_for_lane_ = false;
  awaited_ = Awaited::device;
  note(failure);
  if (failure) return true;
  const Part part = part_of(piece_);
  const std::int64_t bytes = bytes_of(part.count);
  if (std::memcmp(part_.data() + bytes, lane_status(operation_, false).data(),
                  static_cast<std::size_t>(operation_.number_bytes)) != 0) {
    group_has_failed_ = true;
    steps_.fail_in(step_);
    steps_.report_failure_in(step_);
  }
  attempt([&] { stream_.copy(slots_->slot(0) + bytes_of(part.begin), part_.data(), static_cast<std::size_t>(bytes)); });
  return true;
}

void SharedDeviceExchange::end_piece() {
  from_ += bytes_of(piece_);
  to_ += bytes_of(piece_);
  left_ -= piece_;
  if (left_ > 0)
    begin_piece();
  else
    awaited_ = Awaited::nothing;
}

void SharedDeviceExchange::throw_failure() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  throw Error(ErrorKind::device, "another rank has failed in an operation on a device that ranks of a node share");
}

}  // namespace laneway
