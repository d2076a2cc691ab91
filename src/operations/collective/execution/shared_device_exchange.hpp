#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "communicator/private_comm.hpp"
#include "operations/collective/knowledge.hpp"
#include "runtime/carriers/device/ipc.hpp"
#include "runtime/carriers/node/node_memory.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// How far each rank of a node has come, and in which step it has failed. Each writes its own words alone.
class NodeWords {
 public:
  /// Collective over the node. Empty on all of its ranks where they share no memory.
  NodeWords(const PrivateComm& comm, const Region& node, const Region& sharing);
  NodeWords(const NodeWords&) = delete;
  NodeWords& operator=(const NodeWords&) = delete;

  [[nodiscard]] bool empty() const { return words_.empty(); }
  [[nodiscard]] std::size_t own() const { return own_; }
  [[nodiscard]] std::size_t size() const { return words_.size(); }

  /// This rank is through with that step and all before it, whether it has failed or not.
  void reach(std::uint64_t step) const { raise(word(own_, Word::reached), step); }
  /// This rank has failed in a step that it has yet to reach. Only the first failure counts.
  void fail_in(std::uint64_t step) const { set_once(Word::failed, step); }
  /// The same, and it knows that ranks of all nodes know of a failure.
  void tell_in(std::uint64_t step) const { set_once(Word::told, step); }

  /// Whether all ranks of the node have reached it.
  [[nodiscard]] bool all_reached(std::uint64_t step);
  /// Whether a rank has failed in that step, which all have reached, or before it.
  [[nodiscard]] bool some_failed(std::uint64_t step) const { return some(Word::failed, step); }
  [[nodiscard]] bool some_told(std::uint64_t step) const { return some(Word::told, step); }

 private:
  enum class Word : std::uint8_t { reached, failed, told };
  static constexpr std::size_t kinds = 3;

  [[nodiscard]] std::byte* word(std::size_t rank, Word kind) const {
    return words_[rank] + static_cast<std::size_t>(kind) * sizeof(std::uint64_t);
  }
  void set_once(Word kind, std::uint64_t step) const;
  [[nodiscard]] bool some(Word kind, std::uint64_t step) const;

  std::shared_ptr<NodeMemory> memory_;
  std::vector<std::byte*> words_;  // of each rank
  std::size_t own_;
  std::uint64_t awaited_ = 0;  // the step for which `seen_` ranks have been seen
  std::size_t seen_ = 0;
  alignas(8) std::array<std::uint64_t, kinds> alone_{};
};

/// Why ranks do not combine on a device that they share: what any rank finds. Of several, all ranks give the last.
enum class SharingRefusal : std::int32_t {
  none,
  in_host_memory,
  no_kernels,
  no_ipc,
  several_devices,
  other_device,
  no_node_memory,
  not_opened,
  has_failed,
};

/// A slot for each rank of a node, in memory of a device that the first of them has allocated.
class DeviceSlots {
 public:
  /// Collective over the node. What is wrong on this rank is in refusal().
  DeviceSlots(const PrivateComm& comm, const Region& node, const Device& device, std::int64_t slot_bytes);

  [[nodiscard]] SharingRefusal refusal() const { return refusal_; }
  [[nodiscard]] std::int64_t slot_bytes() const { return slot_bytes_; }
  [[nodiscard]] std::byte* slot(std::size_t member) const {
    return first_ + static_cast<std::int64_t>(member) * slot_bytes_;
  }

 private:
  void open(const Device& device, const SharedDeviceMemory& memory);

  std::int64_t slot_bytes_;
  DeviceMemory memory_;  // of the first rank
  IpcMapping mapping_;   // of the others
  std::byte* first_ = nullptr;
  SharingRefusal refusal_ = SharingRefusal::none;
};

/// An allreduce of part of a vector, in place and in memory of the host, between the ranks of equal number on their
/// nodes.
class LaneAllreduce {
 public:
  LaneAllreduce() = default;
  LaneAllreduce(const LaneAllreduce&) = delete;
  LaneAllreduce& operator=(const LaneAllreduce&) = delete;
  virtual ~LaneAllreduce() = default;

  virtual void start(std::byte* part, std::int64_t numbers) = 0;
  [[nodiscard]] virtual bool test() = 0;
};

/// Allreduces of vectors on a device that the ranks of a node share, one after another. Each copies its vector into its
/// slot, combines its part of all slots there, and copies the whole result out; a vector that is longer than a slot
/// goes in pieces. Nothing is allocated between start and the end, but for sizes that `prepare` has not been told of.
///
/// Where a rank fails, it takes its part in all that is left without touching the device, and the others throw, too:
/// those of its node see its words, and those of other nodes a number behind the part that goes along each lane. So no
/// rank waits for ever. All hear of it in this allreduce, or, where the last piece had gone along the lanes before, in
/// the next one.
class SharedDeviceExchange {
 public:
  /// Collective, and `comm` outlives it.
  SharedDeviceExchange(const PrivateComm& comm, const DenseKnowledge& known, const Device& device);
  ~SharedDeviceExchange();

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] bool shares_memory() const { return !words_.empty(); }
  /// All ranks know of a failure, and it is of no more use.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// The lane that this rank is in; -1: none, since there is one node, or a smaller one than this.
  [[nodiscard]] int lane() const { return combines() && !is_one_node_ ? static_cast<int>(words_.own()) : -1; }

  /// Whether slots for such vectors have to be made first, which all ranks know.
  [[nodiscard]] bool lacks_slots(std::int64_t bytes) const { return !slots_ || slots_->slot_bytes() < wanted(bytes); }
  /// Makes them. Collective. All ranks return the same, and where they have none they keep those that they had.
  [[nodiscard]] SharingRefusal make_slots(std::int64_t bytes);
  /// How many numbers of a vector go along this rank's lane at a time, the one behind them included: those of most
  /// pieces, and those of the last one; 0: none.
  struct LaneCounts {
    std::int64_t most = 0;
    std::int64_t last = 0;
  };
  [[nodiscard]] LaneCounts lane_counts(const DeviceOperation& operation, std::int64_t numbers) const;
  /// Where parts lie that go along the lane; the same until slots are made again.
  [[nodiscard]] std::byte* part() const { return part_.data(); }
  /// Makes what such a vector needs. Local.
  void prepare(const DeviceOperation& operation, std::int64_t numbers);

  /// `lane`: of a rank in one. Must not be active.
  void start(const std::byte* from, std::byte* to, std::int64_t numbers, const DeviceOperation& operation,
             LaneAllreduce* lane);
  /// True at the end, where it throws if a rank has failed.
  [[nodiscard]] bool progress();

 private:
  static constexpr std::int64_t smallest_slot = 4096;
  static constexpr std::size_t most_moves = 4;
  static constexpr std::uint64_t steps_of_piece = 3;

  enum class State : std::uint8_t { filling, filled, combining, in_lane, returning, combined, taking, taken, ended };

  struct KeptMoves {
    int operation;
    int number;
    std::int64_t bytes;
    Moves moves;
  };
  /// Of the numbers of a piece, those that this rank combines.
  struct Part {
    std::int64_t begin = 0;
    std::int64_t count = 0;
  };

  [[nodiscard]] std::int64_t wanted(std::int64_t bytes) const;
  [[nodiscard]] bool combines() const { return words_.own() < static_cast<std::size_t>(lanes_); }
  [[nodiscard]] std::int64_t numbers_of_piece(const DeviceOperation& operation) const {
    return slots_->slot_bytes() / operation.number_bytes;
  }
  [[nodiscard]] Part part_of(std::int64_t numbers) const;
  [[nodiscard]] std::int64_t bytes_of(std::int64_t numbers) const { return numbers * operation_.number_bytes; }
  [[nodiscard]] const Moves& moves_of(const DeviceOperation& operation, std::int64_t bytes);

  /// The steps of the piece under way.
  [[nodiscard]] std::uint64_t in_slot() const { return steps_of_piece * pieces_ - 2; }
  [[nodiscard]] std::uint64_t is_combined() const { return steps_of_piece * pieces_ - 1; }
  [[nodiscard]] std::uint64_t is_taken() const { return steps_of_piece * pieces_; }

  [[nodiscard]] bool advance();
  void begin_piece();
  void combine();
  void start_lane();
  [[nodiscard]] bool end_lane();
  void take();
  void end_piece();
  /// Does something with the device in a step, unless a rank of the node has failed.
  template <class Body>
  void attempt(std::uint64_t step, Body&& body);
  void fail(std::uint64_t step);
  [[nodiscard]] bool device_is_idle(std::uint64_t step);
  [[noreturn]] void throw_failure();

  const PrivateComm& comm_;
  const Region node_;
  const bool is_one_node_;
  const std::int64_t limit_;  // of a slot's bytes
  Device device_;
  NodeWords words_;
  Rank lanes_;
  std::unique_ptr<DeviceSlots> slots_;
  DeviceMemory part_;  // pinned, of ranks in a lane
  std::vector<KeptMoves> moves_;
  Stream stream_;
  bool has_failed_ = false;

  // Of the vector under way.
  State state_ = State::ended;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::int64_t left_ = 0;   // numbers, the piece under way included
  std::int64_t piece_ = 0;  // numbers of it
  DeviceOperation operation_;
  LaneAllreduce* lane_ = nullptr;
  bool is_in_lane_ = false;       // the piece has something for it
  bool node_has_failed_ = false;  // some rank of it, this one or another
  std::exception_ptr failure_;    // of this rank
  std::uint64_t pieces_ = 0;      // so far, of all vectors
};

}  // namespace laneway
