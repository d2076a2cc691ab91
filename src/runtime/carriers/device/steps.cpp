#include "runtime/carriers/device/steps.hpp"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "plan/stream_event.hpp"
#include "runtime/carriers/device/copies.hpp"
#include "runtime/carriers/device/lending.hpp"

namespace laneway {

namespace {

bool lends_or_borrows(const Plan& plan) {
  return std::ranges::any_of(plan.steps, [](const Step& step) { return lends(step) || borrows(step); });
}

/// By step: whether a user's stream alone waits for it.
std::vector<bool> find_trailing(const Plan& plan) {
  std::vector<int> waiting(plan.steps.size());
  std::vector<bool> trailing(plan.steps.size());
  for (const Step& step : plan.steps)
    for (const int before : step.after) {
      const auto b = static_cast<std::size_t>(before);
      trailing[b] = ++waiting[b] == 1 && is_of_stream(step);
    }
  return trailing;
}

class DeviceSteps final : public BoundCarrier {
 public:
  explicit DeviceSteps(PlanBinding& binding)
      : plan_(binding.plan), memory_(binding.memory), turn_(binding.turn), on_device_(binding.where.on_device()) {
    device_aware_ = binding.where.device_aware && on_device_.any();
    const bool lends = lends_or_borrows(plan_);
    if (on_device_.any() || lends) allocate(binding);
    copies_ = std::make_unique<DeviceCopies>(binding.where, binding.bases, plan_.steps.size());
    if (device_aware_ || lends) copies_->use(worker_);
  }

  void bind(PlanBinding& binding) override {
    staging_ = binding.bases[static_cast<std::size_t>(Buffer::staging)];
    if (on_device_.combines) copies_->set_combining(binding.combiners.front()->on_device().value());
    borrowed_ = BorrowedBuffers(plan_);
    done_.reserve(plan_.steps.size());
    lend(binding);
    take_stream(binding);
    take_copies(binding);
    copies_->prepare();
    binding.begins = true;
  }

  void begin() override { copies_->begin_exchange(at(staging_, (turn_ & 1) != 0 ? plan_.staging_alternate : 0)); }
  [[nodiscard]] bool passes(int) override { return copies_->user_is_done(); }
  std::span<const int> start(int step) override {
    if (step == stream_begins_) return {&stream_begins_, 1};
    if (step == stream_goes_on_) {
      copies_->hand_over();
      return {&stream_goes_on_, 1};
    }
    const Step& what = plan_.steps[static_cast<std::size_t>(step)];
    const Ends& ends = ends_[static_cast<std::size_t>(step)];
    if (!borrows(what)) return copies_->begin(step, ends.from.in(turn_), ends.to.in(turn_), nullptr);
    Borrowed& borrowed = borrowed_.of(what.peer, *memory_, worker_);
    return copies_->begin(step, borrowed.base, ends.to.in(turn_),
                          borrowed.ready_in(copies_->stream_of(step), memory_->exchange));
  }
  std::span<const int> poll() override {
    done_.clear();
    copies_->poll(done_);
    return done_;
  }

  /// Peers do not say when they have stopped to read what is lent.
  [[nodiscard]] Left abandon() noexcept override {
    copies_.reset();  // waits for those that are in streams
    return lent_.mirror.data() != nullptr ? Left::in_own_memory : Left::nothing;
  }

  [[nodiscard]] bool uses_device() const override { return true; }
  bool set_stream(std::optional<lnw_device_stream> stream) override {
    copies_->set_stream(stream);
    return true;
  }
  void prepare() override {
    if (memory_ != nullptr) borrowed_.open_all(*memory_, worker_);
  }
  [[nodiscard]] std::int64_t metadata_bytes() const override {
    return copies_->metadata_bytes() +
           static_cast<std::int64_t>(sizeof *this + ends_.capacity() * sizeof(Ends) + done_.capacity() * sizeof(int));
  }

 private:
  struct Ends {
    RingPlaces from;
    RingPlaces to;
  };

  void allocate(PlanBinding& binding) {
    worker_ = on_device_.send      ? Device(binding.where.send)
              : on_device_.receive ? Device(binding.where.receive)
                                   : all_devices().at(0);
    if (memory_ != nullptr) memory_->pin(worker_);
    const auto give = [&](Buffer buffer, std::int64_t bytes, MemoryKind kind, DeviceMemory& given) {
      std::byte*& base = binding.bases[static_cast<std::size_t>(buffer)];
      if (base != nullptr) return;
      given = DeviceMemory(worker_, static_cast<std::size_t>(bytes), kind);
      base = given.data();
    };
    if (memory_ == nullptr || memory_->connects_devices)
      give(Buffer::staging, plan_.staging_bytes, device_aware_ ? MemoryKind::device : MemoryKind::pinned, own_staging_);
    give(Buffer::shadow, plan_.shadow_bytes, MemoryKind::pinned, shadow_);
  }

  /// Those that can lend at once do so together.
  void lend(PlanBinding& binding) {
    std::vector<int> together;
    std::vector<int> later;
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      if (!lends(binding.step(s))) continue;
      (binding.step(s).after.empty() ? together : later).push_back(s);
      binding.take(s, TakenPart::run);
    }
    if (together.empty() && later.empty()) return;
    std::byte* const begin = at(binding.bases[static_cast<std::size_t>(Buffer::send)], plan_.lent_offset);
    lent_ = laneway::lend(plan_, *memory_, worker_, begin, !on_device_.send);
    if (lent_.mirror.data() != nullptr) copies_->set_mirror(begin, lent_.mirror.data(), plan_.lent_bytes);
    const Event* const ready = lent_.ready ? &lent_.ready : nullptr;
    if (!together.empty()) copies_->add_lending(std::move(together), ready);
    for (int s : later) copies_->add_lending({s}, ready);
  }

  void take_stream(PlanBinding& binding) {
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      if (!is_of_stream(binding.step(s))) continue;
      binding.take(s, TakenPart::run_and_raise);
      if (binding.step(s).goes_out) {
        stream_goes_on_ = s;
        continue;
      }
      stream_begins_ = s;
      binding.let_pass(s);
      copies_->has_event_of_stream();
    }
  }

  [[nodiscard]] bool touches_device(const Step& step) const {
    if (step.kind != StepKind::move) return false;
    const bool staged_there = device_aware_ && (step.from == Buffer::staging || step.to == Buffer::staging);
    return (on_device_.send && step.from == Buffer::send) ||
           (on_device_.receive && (step.to == Buffer::receive || step.from == Buffer::receive)) || staged_there ||
           borrows(step);
  }

  /// Those of a few bytes that can all begin at once share a kernel.
  void take_copies(PlanBinding& binding) {
    const std::vector<bool> trailing = find_trailing(plan_);
    ends_.resize(plan_.steps.size());
    std::array<std::vector<int>, 2> together;  // by whether they write to a device
    std::array<std::int64_t, 2> bytes{};
    const auto flush = [&](std::size_t writes) {
      if (!together[writes].empty()) copies_->add(plan_, std::exchange(together[writes], {}), false);
      bytes[writes] = 0;
    };
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      const Step& step = binding.step(s);
      if (!touches_device(step)) continue;
      const auto at = static_cast<std::size_t>(s);
      binding.take(s, TakenPart::run);
      if (!borrows(step)) ends_[at].from = binding.find(step.from, step.peer);
      ends_[at].to = binding.find(step.to, step.peer);
      const bool begins_at_once = std::ranges::all_of(step.after, [&](int before) { return before == stream_begins_; });
      if (!is_copy(step) || combines(step) || !begins_at_once || trailing[at]) {
        copies_->add(plan_, {s}, trailing[at]);
        continue;
      }
      const std::size_t writes = uses_receive_buffer(step) ? 1 : 0;
      std::int64_t moved = 0;
      for (const CopyRun& run : step.runs) moved += run.bytes * run.count;
      if (bytes[writes] + moved > device_copy_bytes) flush(writes);
      together[writes].push_back(s);
      bytes[writes] += moved;
    }
    flush(0);
    flush(1);
  }

  const Plan& plan_;
  PlanMemory* memory_;
  const std::uint64_t& turn_;
  OnDevice on_device_;
  bool device_aware_ = false;  // messages begin and end on devices
  Device worker_;              // copies what is borrowed, and pins
  DeviceMemory own_staging_;   // pinned, or on the device
  DeviceMemory shadow_;
  std::byte* staging_ = nullptr;
  Lent lent_;
  BorrowedBuffers borrowed_;
  int stream_begins_ = -1;  // the steps that a user's stream has come so far, and that it may go on
  int stream_goes_on_ = -1;
  std::vector<Ends> ends_;  // by step
  std::vector<int> done_;
  std::unique_ptr<DeviceCopies> copies_;
};

}  // namespace

std::unique_ptr<BoundCarrier> run_on_device(PlanBinding& binding) {
  if (!binding.where.on_device().any() && !lends_or_borrows(binding.plan)) return nullptr;
  return std::make_unique<DeviceSteps>(binding);
}

std::unique_ptr<BoundCarrier> follow_stream(PlanBinding& binding) {
  return std::make_unique<DeviceSteps>(binding);
}

}  // namespace laneway
