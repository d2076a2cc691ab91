#include "operations/collective/bundled_calls.hpp"

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "communicator/decisions.hpp"
#include "laneway/base.h"
#include "operations/choose/chooser.hpp"
#include "operations/collective/execution/bundled.hpp"
#include "operations/collective/plans.hpp"
#include "operations/plans/host_images.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

constexpr int calls_before = 2;

/// Of a communicator. All ranks make such calls in the same order, so that all count the same.
class BundledCalls final : public Attachment {
 public:
  /// Null: such calls run in another way, or not yet. Collective where it is made.
  [[nodiscard]] BundledAlltoall* find(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                                      const CollectiveCall& call) {
    if (!decide(*known, call, communicator.rank())) return nullptr;
    if (exchange_ || ++calls_ != calls_before) return exchange_.get();
    const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
    exchange_ = together(*comm, [&] { return BundledAlltoall::make(comm, known); });
    const Hints& hints = known->hints;
    is_plain_ = !hints.check && !hints.fixed_dense_counts && device_plugins().empty();
    return exchange_.get();
  }
  /// Null: something else may concern such a call.
  [[nodiscard]] BundledAlltoall* find_plain(DenseKind kind) const {
    return is_plain_ && decided_[slot(kind)] == true ? exchange_.get() : nullptr;
  }
  [[nodiscard]] bool is_yet_to_be_made(DenseKind kind) const {
    return decided_[slot(kind)] == true && calls_ < calls_before;
  }
  void on(Change) override {
    exchange_ = nullptr;
    is_plain_ = false;
    calls_ = 0;
    decided_ = {};
  }

 private:
  static std::size_t slot(DenseKind kind) { return kind == DenseKind::alltoallw ? 1 : 0; }

  bool decide(const DenseKnowledge& known, const CollectiveCall& call, Rank rank) {
    std::optional<bool>& decided = decided_[slot(call.kind)];
    if (decided) return *decided;
    const CheckedCollective checked(call, rank, known.layout.ranks(), false);
    Candidates candidates = candidates_of(known, checked, may_once(checked));
    decided = candidates.only == bundled;
    if (*decided) log_reasons(pick(std::move(candidates), nullptr), rank);
    return *decided;
  }

  std::array<std::optional<bool>, 2> decided_;
  int calls_ = 0;
  std::unique_ptr<BundledAlltoall> exchange_;
  bool is_plain_ = false;
};

bool has_unequal_blocks(const CollectiveCall& call) {
  return call.kind == DenseKind::alltoallv || call.kind == DenseKind::alltoallw;
}

/// On copies in the host's memory of buffers that are on devices.
void run_on_images(BundledAlltoall& exchange, const CollectiveCall& call, const PrivateComm& comm) {
  const TouchedBytes touched = touched_by(call, comm.rank(), comm.size());
  const BufferMemory where = look_at(buffers_of(call), touched.extents());
  if (!where.on_device().any()) return exchange.run(call);
  HostImages images(buffers_of(call), where, touched, MemoryKind::host);
  images.fetch();
  images.synchronize();
  exchange.run(on_images(call, images));
  images.put_back();
  images.synchronize();
}

}  // namespace

bool run_bundled(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                 const CollectiveCall& call) {
  if (!has_unequal_blocks(call)) return false;
  BundledAlltoall* const exchange = communicator.attachment<BundledCalls>().find(communicator, known, call);
  if (exchange == nullptr) return false;
  const PrivateComm& comm = *communicator.private_comm();
  note_decision(communicator, [&] { return std::string("blocking ") + name(call.kind) + ": bundled"; });
  compare_decisions(communicator, comm);
  if (has_plugins())
    run_on_images(*exchange, call, comm);
  else
    exchange->run(call);
  return true;
}

bool may_yet_be_bundled(Communicator& communicator, const CollectiveCall& call) {
  return has_unequal_blocks(call) && communicator.attachment<BundledCalls>().is_yet_to_be_made(call.kind);
}

bool run_bundled_again(Communicator& communicator, const CollectiveCall& call) {
  if (!has_unequal_blocks(call)) return false;
  BundledAlltoall* const exchange = communicator.attachment<BundledCalls>().find_plain(call.kind);
  if (exchange == nullptr) return false;
  check_collective(call, communicator.rank(), communicator.ranks());
  exchange->run(call);
  return true;
}

}  // namespace laneway
