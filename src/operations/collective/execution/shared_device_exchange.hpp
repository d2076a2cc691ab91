#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "base/process/recent.hpp"
#include "communicator/arguments/collective.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "communicator/private_comm.hpp"
#include "operations/collective/knowledge.hpp"
#include "operations/request/request.hpp"
#include "runtime/carriers/device/shared_slots.hpp"
#include "runtime/carriers/node/node_steps.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

/// Why ranks do not combine on a device that they share: what any rank finds. Of several, all ranks give the last.
enum class SharingRefusal : std::int32_t {
  none,
  in_host_memory,
  no_kernels,
  no_ipc,
  two_devices,
  other_device,
  none_share,
  between_devices,
  no_node_memory,
  not_opened,
  has_failed,
};
/// Collective.
[[nodiscard]] SharingRefusal last_of_all(SharingRefusal mine, const PrivateComm& comm);

/// The ranks of each node by the devices that their buffers are on.
struct DeviceGroups {
  Region own;
  Layout layout;  ///< its regions are the groups
};
/// Collective.
[[nodiscard]] DeviceGroups group_by_device(const PrivateComm& comm, const Region& node, const Device& device);

/// Allreduces of parts of vectors, in place and in memory of the host, between ranks of equal number in their
/// groups.
class LaneAllreduce {
 public:
  /// With the operator and the datatype of `call`. `comm`: of these ranks; null: this rank is in none.
  LaneAllreduce(std::shared_ptr<PrivateComm> comm, const CollectiveCall& call);

  /// What so many numbers need again and again. Collective over the lane.
  void prepare(MPI_Info info, std::byte* part, std::int64_t numbers);
  /// Blocks where it has not been prepared for so many.
  void start(std::byte* part, std::int64_t numbers);
  [[nodiscard]] bool test() { return active_ == nullptr || active_->test(); }

 private:
  struct Prepared {
    std::int64_t numbers;
    std::unique_ptr<Request> request;
  };
  [[nodiscard]] Request* find(std::int64_t numbers) const;
  [[nodiscard]] const CollectiveCall& call_of(std::byte* part, std::int64_t numbers);

  std::shared_ptr<PrivateComm> comm_;
  CollectiveCall call_;
  std::vector<Prepared> prepared_;
  Request* active_ = nullptr;
};

/// Allreduces of vectors on devices, each of which a group of ranks of a node shares, one after another. Each copies
/// its vector into its slot, combines its part of all slots there, and copies the whole result out; a vector that is
/// longer than a slot goes in pieces. Nothing is allocated between start and the end, but for sizes that `prepare` has
/// not been told of.
///
/// Where a rank fails, it takes its part in all that is left without touching the device, and the others throw, too:
/// those of its group see its words, and those of other groups a number behind the part that goes along each lane. So
/// no rank waits for ever. All hear of it in this allreduce, or, where the last piece had gone along the lanes before,
/// in the next one.
class SharedDeviceExchange {
 public:
  /// Collective, and `comm` outlives it.
  SharedDeviceExchange(const PrivateComm& comm, const DenseKnowledge& known, DeviceGroups groups, const Device& device);
  ~SharedDeviceExchange();
  SharedDeviceExchange(const SharedDeviceExchange&) = delete;
  SharedDeviceExchange& operator=(const SharedDeviceExchange&) = delete;

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const Layout& groups() const { return groups_.layout; }
  [[nodiscard]] bool shares_memory() const { return !steps_.empty(); }
  /// All ranks know of a failure, and it is of no more use.
  [[nodiscard]] bool has_failed() const { return has_failed_; }
  /// The lane that this rank is in; -1: none, since there is one group, or a smaller one than this.
  [[nodiscard]] int lane() const { return combines() && !is_one_group_ ? static_cast<int>(steps_.own()) : -1; }

  /// Whether slots for such vectors have to be made first, which all ranks know.
  [[nodiscard]] bool lacks_slots(std::int64_t bytes) const { return !slots_ || slots_->slot_bytes() < wanted(bytes); }
  /// Makes them. Collective. All ranks return the same, and where they have none they keep those that they had.
  [[nodiscard]] SharingRefusal make_slots(std::int64_t bytes);
  /// Makes what such a vector needs again and again, until slots are made again. Collective over the lane.
  void prepare(const DeviceOperation& operation, std::int64_t numbers, MPI_Info info, LaneAllreduce& lane);

  /// Must not be active. `call` and `lane` outlive it.
  void start(const CollectiveCall& call, const DeviceOperation& operation, LaneAllreduce& lane);
  /// True at the end, where it throws if a rank has failed.
  [[nodiscard]] bool progress();

 private:
  static constexpr std::int64_t smallest_slot = 4096;
  static constexpr std::size_t most_moves = 4;

  /// Of a piece, each of them a step for all ranks of the group.
  enum class Phase : std::uint8_t { fill, combine, take };
  enum class Awaited : std::uint8_t { device, lane, ranks, nothing };

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
  [[nodiscard]] bool combines() const { return steps_.own() < static_cast<std::size_t>(lanes_); }
  [[nodiscard]] std::int64_t numbers_of_piece(const DeviceOperation& operation) const {
    return slots_->slot_bytes() / operation.number_bytes;
  }
  [[nodiscard]] Part part_of(std::int64_t numbers) const;
  [[nodiscard]] std::int64_t bytes_of(std::int64_t numbers) const { return numbers * operation_.number_bytes; }
  [[nodiscard]] const Moves& moves_of(const DeviceOperation& operation, std::int64_t bytes);

  [[nodiscard]] bool advance();
  void go_on();
  void begin(Phase phase);
  void begin_piece();
  void combine();
  void start_lane();
  [[nodiscard]] bool end_lane();
  void end_piece();
  /// Does something with the device, unless a rank of the group has failed.
  template <class Body>
  void attempt(Body&& body);
  /// In the step under way, of this rank; null: it has not failed.
  void note(const std::exception_ptr& failure);
  [[nodiscard]] bool device_is_idle();
  void throw_failure();

  const PrivateComm& comm_;
  MpiBootstrap bootstrap_;
  const DeviceGroups groups_;
  const bool is_one_group_;
  const std::int64_t limit_;  // of a slot's bytes
  Device device_;
  NodeSteps steps_;
  Rank lanes_;
  std::unique_ptr<SharedSlots> slots_;
  DeviceMemory part_;  // pinned, of ranks in a lane
  Recent<KeptMoves> moves_{most_moves};
  Stream stream_;
  bool has_failed_ = false;
  std::uint64_t step_ = 0;  // the last one that has begun, of all vectors

  // Of the vector under way.
  Phase phase_ = Phase::fill;
  Awaited awaited_ = Awaited::nothing;
  const std::byte* from_ = nullptr;
  std::byte* to_ = nullptr;
  std::int64_t left_ = 0;   // numbers, the piece under way included
  std::int64_t piece_ = 0;  // numbers of it
  DeviceOperation operation_;
  LaneAllreduce* lane_ = nullptr;
  bool has_for_lane_ = false;      // the part of this piece is to go along the lane
  bool group_has_failed_ = false;  // some rank of it, this one or another
  std::exception_ptr failure_;     // of this rank
};

}  // namespace laneway
