#include "operations/collective/execution/shared_device_exchange.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "runtime/carriers/node/sharing.hpp"

namespace laneway {

NodeWords::NodeWords(const PrivateComm& comm, const Region& node, const Region& sharing)
    : own_(static_cast<std::size_t>(std::ranges::lower_bound(node.members, comm.rank()) - node.members.begin())) {
  if (node.members.size() == 1) {
    words_.push_back(reinterpret_cast<std::byte*>(alone_.data()));
    return;
  }
  if (!std::ranges::includes(sharing.members, node.members)) return;
  MpiBootstrap bootstrap(comm);
  static_assert(kinds * sizeof(std::uint64_t) <= cache_line);
  memory_ = share_windows(bootstrap, node, cache_line);
  if (!memory_) return;
  for (const Rank member : node.members) words_.push_back(memory_->peers.at(member).window);
}

void NodeWords::set_once(Word kind, std::uint64_t step) const {
  if (std::byte* const own = word(own_, kind); seen(own) == 0) raise(own, step);
}

bool NodeWords::all_reached(std::uint64_t step) {
  if (std::exchange(awaited_, step) != step) seen_ = 0;
  while (seen_ < words_.size() && seen(word(seen_, Word::reached)) >= step) ++seen_;
  return seen_ == words_.size();
}

bool NodeWords::some(Word kind, std::uint64_t step) const {
  for (std::size_t rank = 0; rank < words_.size(); ++rank)
    if (const std::uint64_t in = seen(word(rank, kind)); in != 0 && in <= step) return true;
  return false;
}

namespace {

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

}  // namespace

DeviceSlots::DeviceSlots(const PrivateComm& comm, const Region& node, const Device& device, std::int64_t slot_bytes)
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
    MpiBootstrap bootstrap(comm);
    const SlotsRecord leaders = gather(bootstrap, node, mine).front();
    if (leaders.uuid != mine.uuid) refusal_ = SharingRefusal::several_devices;
    if (!leads && leaders.is_there && refusal_ == SharingRefusal::none) open(device, leaders.memory);
  }
  if (first_ == nullptr && refusal_ == SharingRefusal::none) refusal_ = SharingRefusal::not_opened;
}

void DeviceSlots::open(const Device& device, const SharedDeviceMemory& memory) {
  try {
    mapping_ = IpcMapping(device, memory);
    first_ = mapping_.data();
  } catch (const Error&) {  // the others are told by the refusal
  }
}

namespace {

constexpr std::size_t most_number_bytes = 8;

/// The number behind the part that goes along a lane. Combined with its like it stays as it is, unless a rank has
/// failed, whose is another.
struct LaneStatus {
  std::array<std::byte, most_number_bytes> bytes{};

  LaneStatus(const DeviceOperation& operation, bool failed) {
    const bool counts = operation.operation == LNW_DEVICE_SUM || operation.operation == LNW_DEVICE_MAX;
    if (counts == failed) put_one(operation.number);
  }

 private:
  template <class Number>
  void put(Number number) {
    std::memcpy(bytes.data(), &number, sizeof number);
  }
  void put_one(int number) {
    switch (number) {
      case LNW_DEVICE_INT32:
      case LNW_DEVICE_UINT32:
        return put(std::int32_t{1});
      case LNW_DEVICE_INT64:
      case LNW_DEVICE_UINT64:
        return put(std::int64_t{1});
      case LNW_DEVICE_FLOAT32:
        return put(1.0F);
      default:
        return put(1.0);
    }
  }
};

}  // namespace

SharedDeviceExchange::SharedDeviceExchange(const PrivateComm& comm, const DenseKnowledge& known, const Device& device)
    : comm_(comm),
      node_(known.node),
      is_one_node_(known.layout.regions() == 1),
      limit_(std::max<std::int64_t>(known.hints.staging_limit / known.layout.largest(), smallest_slot)),
      device_(device),
      words_(comm, known.node, known.sharing),
      lanes_(known.layout.smallest()),
      stream_(device) {}

/// Work on the slots and buffers must not outlive them.
SharedDeviceExchange::~SharedDeviceExchange() {
  try {
    if (stream_) stream_.synchronize();
  } catch (...) {
    // Whoever waited has been told, and the device is of no use any more.
  }
}

/// Powers of two, so that slots are seldom made again, up to the limit.
std::int64_t SharedDeviceExchange::wanted(std::int64_t bytes) const {
  const auto rounded = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(bytes)));
  return std::clamp(rounded, smallest_slot, std::max(limit_ / smallest_slot, std::int64_t{1}) * smallest_slot);
}

SharingRefusal SharedDeviceExchange::make_slots(std::int64_t bytes) {
  auto made = std::make_unique<DeviceSlots>(comm_, node_, device_, wanted(bytes));
  DeviceMemory part;
  auto mine = static_cast<std::int32_t>(made->refusal());
  try {
    // Parts differ by a number, and another one goes behind them.
    const std::int64_t part_bytes = made->slot_bytes() / lanes_ + 2 * static_cast<std::int64_t>(most_number_bytes);
    if (lane() >= 0) part = DeviceMemory(device_, static_cast<std::size_t>(part_bytes), MemoryKind::pinned);
  } catch (const Error&) {
    mine = std::max(mine, static_cast<std::int32_t>(SharingRefusal::not_opened));
  }
  std::int32_t all = 0;
  reduce_progressing(&mine, &all, 1, MPI_INT32_T, MPI_MAX, comm_);
  if (all != 0) return static_cast<SharingRefusal>(all);
  const bool had_slots = slots_ != nullptr;
  slots_ = std::move(made);
  part_ = std::move(part);
  if (had_slots) close_unused_ipc_mappings();
  return SharingRefusal::none;
}

SharedDeviceExchange::Part SharedDeviceExchange::part_of(std::int64_t numbers) const {
  if (!combines()) return {};
  const auto number = static_cast<std::int64_t>(words_.own());
  const std::int64_t begin = numbers * number / lanes_;
  return {begin, numbers * (number + 1) / lanes_ - begin};
}

SharedDeviceExchange::LaneCounts SharedDeviceExchange::lane_counts(const DeviceOperation& operation,
                                                                   std::int64_t numbers) const {
  const std::int64_t piece = numbers_of_piece(operation);
  const std::int64_t last = (numbers - 1) % piece + 1;
  const auto of = [&](std::int64_t piece_numbers) {
    const std::int64_t count = part_of(piece_numbers).count;
    return count == 0 ? 0 : count + 1;
  };
  return {of(std::min(piece, numbers)), of(last)};
}

void SharedDeviceExchange::prepare(const DeviceOperation& operation, std::int64_t numbers) {
  const std::int64_t piece = numbers_of_piece(operation);
  for (const std::int64_t piece_numbers : {std::min(piece, numbers), (numbers - 1) % piece + 1})
    if (const std::int64_t count = part_of(piece_numbers).count; count > 0)
      (void)moves_of(operation, count * operation.number_bytes);
}

/// to = to op from, of numbers that lie one after the other.
const Moves& SharedDeviceExchange::moves_of(const DeviceOperation& operation, std::int64_t bytes) {
  for (const KeptMoves& kept : moves_)
    if (kept.operation == operation.operation && kept.number == operation.number && kept.bytes == bytes)
      return kept.moves;
  if (moves_.size() == most_moves) moves_.erase(moves_.begin());
  const lnw_device_run run{0, 0, bytes, bytes, bytes, 1, 1, 0};
  moves_.push_back({operation.operation, operation.number, bytes, Moves(device_, operation, {&run, 1})});
  return moves_.back().moves;
}

template <class Body>
void SharedDeviceExchange::attempt(std::uint64_t step, Body&& body) {
  if (node_has_failed_) return;
  try {
    body();
  } catch (...) {
    fail(step);
  }
}

/// In a catch block.
void SharedDeviceExchange::fail(std::uint64_t step) {
  if (!failure_) failure_ = std::current_exception();
  node_has_failed_ = true;
  words_.fail_in(step);
}

/// Also after a failure: what had been put into the stream before it must not outlive the call.
bool SharedDeviceExchange::device_is_idle(std::uint64_t step) {
  try {
    return stream_.idle();
  } catch (...) {
    fail(step);
    return true;
  }
}

void SharedDeviceExchange::start(const std::byte* from, std::byte* to, std::int64_t numbers,
                                 const DeviceOperation& operation, LaneAllreduce* lane) {
  from_ = from;
  to_ = to;
  left_ = numbers;
  operation_ = operation;
  lane_ = lane;
  failure_ = nullptr;
  begin_piece();
}

bool SharedDeviceExchange::progress() {
  while (state_ != State::ended)
    if (!advance()) return false;
  if (failure_ || node_has_failed_) throw_failure();
  return true;
}

bool SharedDeviceExchange::advance() {
  switch (state_) {
    case State::filling:
      if (!device_is_idle(in_slot())) return false;
      words_.reach(in_slot());
      state_ = State::filled;
      return true;
    case State::filled:
      if (!words_.all_reached(in_slot())) return false;
      node_has_failed_ = node_has_failed_ || words_.some_failed(in_slot());
      combine();
      state_ = State::combining;
      return true;
    case State::combining:
      if (!device_is_idle(is_combined())) return false;
      start_lane();
      state_ = State::in_lane;
      return true;
    case State::in_lane:
      if (!end_lane()) return false;
      state_ = State::returning;
      return true;
    case State::returning:
      if (!device_is_idle(is_combined())) return false;
      words_.reach(is_combined());
      state_ = State::combined;
      return true;
    case State::combined:
      if (!words_.all_reached(is_combined())) return false;
      take();
      return true;
    case State::taking:
      if (!device_is_idle(is_taken())) return false;
      words_.reach(is_taken());
      state_ = State::taken;
      return true;
    case State::taken:
      // The first slot, in which the result is, is free for the next vector, or to be freed.
      if (words_.own() == 0 && !words_.all_reached(is_taken())) return false;
      end_piece();
      return true;
    case State::ended:
      return true;
  }
  return true;
}

void SharedDeviceExchange::begin_piece() {
  ++pieces_;
  piece_ = std::min(left_, numbers_of_piece(operation_));
  attempt(in_slot(),
          [&] { stream_.copy(slots_->slot(words_.own()), from_, static_cast<std::size_t>(bytes_of(piece_))); });
  state_ = State::filling;
}

void SharedDeviceExchange::combine() {
  const Part part = part_of(piece_);
  is_in_lane_ = lane() >= 0 && part.count > 0;
  if (part.count == 0) return;
  attempt(is_combined(), [&] {
    const std::int64_t offset = bytes_of(part.begin);
    std::byte* const result = slots_->slot(0) + offset;
    const Moves& moves = moves_of(operation_, bytes_of(part.count));
    for (std::size_t member = 1; member < words_.size(); ++member)
      moves.launch(stream_, std::array<void*, 2>{result, slots_->slot(member) + offset});
    if (is_in_lane_) stream_.copy(part_.data(), result, static_cast<std::size_t>(bytes_of(part.count)));
  });
}

void SharedDeviceExchange::start_lane() {
  if (!is_in_lane_) return;
  const Part part = part_of(piece_);
  const LaneStatus status(operation_, node_has_failed_);
  std::memcpy(part_.data() + bytes_of(part.count), status.bytes.data(),
              static_cast<std::size_t>(operation_.number_bytes));
  try {
    lane_->start(part_.data(), part.count + 1);
  } catch (...) {
    fail(is_combined());
    is_in_lane_ = false;
  }
}

bool SharedDeviceExchange::end_lane() {
  if (!is_in_lane_) return true;
  try {
    if (!lane_->test()) return false;
  } catch (...) {
    fail(is_combined());
    return true;
  }
  const Part part = part_of(piece_);
  const std::int64_t bytes = bytes_of(part.count);
  const LaneStatus good(operation_, false);
  if (std::memcmp(part_.data() + bytes, good.bytes.data(), static_cast<std::size_t>(operation_.number_bytes)) != 0) {
    node_has_failed_ = true;
    words_.fail_in(is_combined());
    words_.tell_in(is_combined());
  }
  attempt(is_combined(),
          [&] { stream_.copy(slots_->slot(0) + bytes_of(part.begin), part_.data(), static_cast<std::size_t>(bytes)); });
  return true;
}

void SharedDeviceExchange::take() {
  node_has_failed_ = node_has_failed_ || words_.some_failed(is_combined());
  has_failed_ = is_one_node_ ? node_has_failed_ : words_.some_told(is_combined());
  if (has_failed_) {
    state_ = State::ended;
    return;
  }
  attempt(is_taken(), [&] { stream_.copy(to_, slots_->slot(0), static_cast<std::size_t>(bytes_of(piece_))); });
  state_ = State::taking;
}

void SharedDeviceExchange::end_piece() {
  from_ += bytes_of(piece_);
  to_ += bytes_of(piece_);
  left_ -= piece_;
  if (left_ > 0)
    begin_piece();
  else
    state_ = State::ended;
}

void SharedDeviceExchange::throw_failure() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  throw Error(ErrorKind::device, "another rank has failed in an operation on the device that ranks of a node share");
}

}  // namespace laneway
