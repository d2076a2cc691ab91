#include "operations/collective/bundled_calls.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "communicator/decisions.hpp"
#include "laneway/base.h"
#include "operations/choose/chooser.hpp"
#include "operations/collective/execution/bundled.hpp"
#include "operations/collective/plans.hpp"
#include "operations/collective/tuned.hpp"
#include "operations/plans/host_images.hpp"
#include "operations/request/nonblocking.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

constexpr int calls_before = 2;
constexpr int most_at_once = 2;  // nonblocking ones of a communicator; others begin when one of them is complete

constexpr const char* not_yet = "memory of the node is shared in a call that blocks, after a few that do not";

/// Nonblocking calls that come one after another, with memory of their own.
struct BundledTurns {
  BundledTurns(const std::shared_ptr<PrivateComm>& comm, std::unique_ptr<BundledAlltoall> made, int tag)
      : order(comm, tag), exchange(std::move(made)), blocks(comm->size()) {}

  StartOrder order;
  std::unique_ptr<BundledAlltoall> exchange;
  CallBlocks blocks;  // of the call whose turn it is, where it was so when it came
};

/// Null: no buffer is on a device.
std::unique_ptr<HostImages> images_of(const CollectiveCall& call, const PrivateComm& comm) {
  if (!has_plugins()) return nullptr;
  const TouchedBytes touched = touched_by(call, comm.rank(), comm.size());
  const BufferMemory where = look_at(buffers_of(call), touched.extents());
  if (!where.on_device().any()) return nullptr;
  return std::make_unique<HostImages>(buffers_of(call), where, touched, MemoryKind::host);
}

/// A nonblocking call. It begins when those before it that have the same memory are complete on this rank: all ranks
/// start them in one order, and whoever waits for any of them advances all.
class BundledExchange final : public Progressive, public Work {
 public:
  BundledExchange(std::shared_ptr<BundledTurns> turns, const CollectiveCall& call, Helper helper)
      : turns_(std::move(turns)), helper_(helper), images_(images_of(call, *turns_->order.comm())) {
    ticket_ = turns_->order.next_ticket();
    if (!is_turn()) own_blocks_ = std::make_unique<CallBlocks>(turns_->order.comm()->size());
    blocks_ = own_blocks_ ? own_blocks_.get() : &turns_->blocks;
    blocks_->keeps_types = !own_blocks_ && !images_;
    blocks_->describe(images_ ? on_images(call, *images_) : call);
    if (images_) images_->fetch();
    employ(helper_);
    activity_.list(*this, progress_by(helper_));
    turns_->order.take_ticket();
    if (may_start()) start_now();
    activity_.begin();
  }

  [[nodiscard]] bool active() const override { return activity_.active(); }
  [[nodiscard]] bool test() override { return activity_.test(nullptr); }
  [[nodiscard]] bool done() override { return activity_.done(nullptr); }
  void wait() override { activity_.wait_listed(); }
  [[nodiscard]] Progress advanced_by() const override { return progress_by(helper_); }

  bool progress() override {
    if (!has_started_) {
      if (!may_start()) return false;
      start_now();
    }
    if (!is_returning_) {
      if (!in_turn([&] { return turns_->exchange->progress(); })) return false;
      turns_->order.end_turn();
      if (images_) images_->put_back();
      is_returning_ = true;
    }
    return !images_ || images_->complete();
  }

 private:
  [[nodiscard]] bool is_turn() const { return turns_->order.is_turn_of(ticket_); }
  [[nodiscard]] bool may_start() const { return is_turn() && (!images_ || images_->complete()); }
  void start_now() {
    in_turn([&] { turns_->exchange->start(*blocks_); });
    has_started_ = true;
  }
  template <class Step>
  auto in_turn(Step&& step) -> decltype(step()) {
    try {
      return step();
    } catch (...) {
      turns_->order.end_turn();
      throw;
    }
  }

  const std::shared_ptr<BundledTurns> turns_;
  const Helper helper_;
  const std::unique_ptr<HostImages> images_;  // or null
  std::int64_t ticket_ = 0;
  CallBlocks* blocks_ = nullptr;
  std::unique_ptr<CallBlocks> own_blocks_;  // where it has to wait for its turn
  bool has_started_ = false;
  bool is_returning_ = false;  // to devices, from the images
  Activity activity_;
};

/// Of a communicator. All ranks make such calls in the same order, so that all count the same.
class BundledCalls final : public Attachment {
 public:
  /// Null: such calls run in another way, or not yet. Collective where it is made.
  [[nodiscard]] BundledAlltoall* find(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                                      const CollectiveCall& call) {
    if (!blocking_.decide(*known, call, communicator.rank(), Phases::one)) return nullptr;
    if (exchange_ || ++blocking_.calls != calls_before) return exchange_.get();
    const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
    exchange_ = together(*comm, [&] {
      const CheckedCollective checked(call, comm->rank(), comm->size(), false);
      return BundledAlltoall::make(comm, known, PrivateComm::blocking_tag, 1, checked.bytes_of_blocks() / comm->size());
    });
    blocks_ = std::make_unique<CallBlocks>(comm->size());
    const Hints& hints = known->hints;
    is_plain_ = !hints.check && !hints.fixed_dense_counts && device_plugins().empty();
    return exchange_.get();
  }
  /// Null: something else may concern such a call.
  [[nodiscard]] BundledAlltoall* find_plain(DenseKind kind) const {
    return is_plain_ && !is_due_ && blocking_.is_decided(kind) ? exchange_.get() : nullptr;
  }
  [[nodiscard]] CallBlocks& blocks() { return *blocks_; }
  [[nodiscard]] bool is_yet_to_be_made(DenseKind kind) const {
    return blocking_.is_decided(kind) && blocking_.calls < calls_before;
  }

  /// Whether nonblocking calls are to be bundled. Counts such a one. Local.
  [[nodiscard]] bool count(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                           const CollectiveCall& call) {
    if (!split_.decide(*known, call, communicator.rank(), Phases::split)) return false;
    if (split_.calls++ + 1 != calls_before) return true;
    is_due_ = true;
    communicator.attachment<DenseAutotuner>().do_when_due([this, known](Communicator& of) { share(of, known); });
    return true;
  }
  /// For the call that has been counted; null: there are none, or none yet.
  [[nodiscard]] std::shared_ptr<BundledTurns> turns() const {
    return turns_.empty() ? nullptr : turns_[static_cast<std::size_t>(split_.calls) % turns_.size()];
  }
  void on(Change) override {
    exchange_ = nullptr;
    turns_.clear();
    is_plain_ = is_due_ = false;
    blocking_ = split_ = {};
  }

 private:
  /// Calls of one form.
  struct Counted {
    std::array<std::optional<bool>, 2> decided;
    std::int64_t calls = 0;

    [[nodiscard]] bool is_decided(DenseKind kind) const { return decided[slot(kind)] == true; }
    bool decide(const DenseKnowledge& known, const CollectiveCall& call, Rank rank, Phases phases) {
      std::optional<bool>& is_bundled = decided[slot(call.kind)];
      if (is_bundled) return *is_bundled;
      const CheckedCollective checked(call, rank, known.layout.ranks(), false);
      Candidates candidates = candidates_of(
          known, checked, phases == Phases::one ? may_once(checked) : DenseMay{.phases = phases, .ask_others = false});
      is_bundled = candidates.only == bundled;
      if (*is_bundled) log_reasons(pick(std::move(candidates), nullptr), rank);
      return *is_bundled;
    }
    static std::size_t slot(DenseKind kind) { return kind == DenseKind::alltoallw ? 1 : 0; }
  };

  void share(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known) {
    is_due_ = false;
    const std::shared_ptr<PrivateComm> comm = communicator.private_comm();
    std::vector<std::shared_ptr<BundledTurns>> turns;
    const int tags = comm->take_tags(2 * most_at_once);
    for (int i = 0; i < most_at_once; ++i) {
      const int tag = tags + 2 * i;
      std::unique_ptr<BundledAlltoall> made = BundledAlltoall::make(comm, known, tag, most_at_once);
      if (made == nullptr) return;
      turns.push_back(std::make_shared<BundledTurns>(comm, std::move(made), tag));
    }
    turns_ = std::move(turns);
  }

  Counted blocking_;
  std::unique_ptr<BundledAlltoall> exchange_;
  std::unique_ptr<CallBlocks> blocks_;
  bool is_plain_ = false;
  Counted split_;  // nonblocking ones
  bool is_due_ = false;
  std::vector<std::shared_ptr<BundledTurns>> turns_;  // which such calls use in turn
};

bool has_unequal_blocks(const CollectiveCall& call) {
  return call.kind == DenseKind::alltoallv || call.kind == DenseKind::alltoallw;
}

void run_in(BundledAlltoall& exchange, CallBlocks& blocks, const CollectiveCall& call) {
  blocks.describe(call);
  exchange.run(blocks);
}

}  // namespace

bool run_bundled(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known, MPI_Comm users,
                 const CollectiveCall& call) {
  if (!has_unequal_blocks(call)) return false;
  BundledCalls& calls = communicator.attachment<BundledCalls>();
  BundledAlltoall* const exchange = calls.find(communicator, known, call);
  if (exchange == nullptr) return false;
  const PrivateComm& comm = *communicator.private_comm();
  note_decision(communicator, [&] { return std::string("blocking ") + name(call.kind) + ": bundled"; });
  compare_decisions(communicator, comm);
  DenseAutotuner& due = communicator.attachment<DenseAutotuner>();
  if (due.are_due()) due.tune(communicator, comm, users);
  if (const std::unique_ptr<HostImages> images = images_of(call, comm))
    images->run([&] { run_in(*exchange, calls.blocks(), on_images(call, *images)); });
  else
    run_in(*exchange, calls.blocks(), call);
  return true;
}

bool may_yet_be_bundled(Communicator& communicator, const CollectiveCall& call) {
  return has_unequal_blocks(call) && communicator.attachment<BundledCalls>().is_yet_to_be_made(call.kind);
}

bool run_bundled_again(Communicator& communicator, const CollectiveCall& call) {
  if (!has_unequal_blocks(call)) return false;
  BundledCalls& calls = communicator.attachment<BundledCalls>();
  BundledAlltoall* const exchange = calls.find_plain(call.kind);
  if (exchange == nullptr) return false;
  check_collective(call, communicator.rank(), communicator.ranks());
  run_in(*exchange, calls.blocks(), call);
  return true;
}

std::unique_ptr<Request> start_bundled(Communicator& communicator, const std::shared_ptr<const DenseKnowledge>& known,
                                       const Place& place, const CollectiveCall& call) {
  if (!has_unequal_blocks(call)) return nullptr;
  BundledCalls& calls = communicator.attachment<BundledCalls>();
  if (!calls.count(communicator, known, call)) return nullptr;
  std::shared_ptr<BundledTurns> turns = calls.turns();
  note_decision(communicator, [&] {
    return std::string("nonblocking ") + name(call.kind) + (turns != nullptr ? ": bundled" : ": mpi");
  });
  if (turns == nullptr)
    return std::make_unique<Request>(nullptr, nullptr, place.start(call), mpi_reasons(not_yet),
                                     Request::Life::nonblocking);
  const std::shared_ptr<PrivateComm> comm = turns->order.comm();
  return std::make_unique<Request>(
      comm, communicator.error_handler(),
      std::make_unique<BundledExchange>(std::move(turns), call, find_helper(known->hints.progress)),
      Reasons{.strategy = std::string(bundled)}, Request::Life::nonblocking);
}

}  // namespace laneway
