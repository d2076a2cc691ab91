#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/error.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/nccl/connection.hpp"

// Ranks that have a device each send all messages of an exchange by one group of NCCL.

namespace laneway {

namespace {

/// What a plan has of it. The words are for an executor, which says in its plan's memory how far it has come; nobody
/// reads them.
class NcclOfPlan final : public CarrierMemory {
 public:
  explicit NcclOfPlan(std::shared_ptr<NcclConnection> connection) : connection_(std::move(connection)) {}
  [[nodiscard]] NcclConnection& connection() const { return *connection_; }
  [[nodiscard]] std::byte* words() { return words_.data(); }
  [[nodiscard]] std::int64_t metadata_bytes() const override { return sizeof *this; }

 private:
  std::shared_ptr<NcclConnection> connection_;
  alignas(cache_line) std::array<std::byte, window_header_bytes> words_{};
};

/// The messages of a plan. They begin together, when all that any of them comes after is complete.
class BoundGroup final : public BoundCarrier {
 public:
  BoundGroup(const PlanBinding& binding, NcclConnection& connection) : connection_(connection) {
    for (const Step& step : binding.plan.steps) {
      if (!is_message(step)) continue;
      const bool sends = step.kind == StepKind::send;
      const MemoryInfo& memory = sends ? binding.where.send : binding.where.receive;
      require(!memory.host_may_touch() && Device(memory) == connection.device(), ErrorKind::buffer,
              std::string(sends ? "sendbuf" : "recvbuf") +
                  " must be on the device that the ranks are connected by, as it was when the request was made "
                  "(lnw_transport=nccl)");
    }
  }

  void bind(PlanBinding& binding) override {
    std::vector<int> order;
    for (int s = 0; s < static_cast<int>(binding.plan.steps.size()); ++s)
      if (is_message(binding.step(s))) order.push_back(s);
    // NCCL has no channels: both sides have those between two ranks in the same order.
    std::ranges::stable_sort(order, {},
                             [&](int s) { return std::pair(binding.step(s).peer, binding.step(s).channel); });
    for (const int s : order) {
      const Step& step = binding.step(s);
      const bool at_once = step.after.empty();
      if (at_once) ++at_once_;
      binding.take(s, at_once ? TakenPart::run_at_once : TakenPart::run);
      steps_.push_back(s);
      transfers_.push_back({step.kind == StepKind::send, step.peer,
                            at(binding.bases[static_cast<std::size_t>(step.span.buffer)], step.span.offset),
                            step.span.bytes});
    }
    done_ = Event(connection_.device());
    binding.begins = true;
  }

  void begin() override {
    turn_ = connection_.take_turn();
    ready_ = at_once_;
    is_launched_ = false;
    launch();
  }
  std::span<const int> start(int) override {
    ++ready_;
    launch();
    return {};
  }
  std::span<const int> poll() override {
    if (ready_ == 0) return {};
    if (!is_launched_) launch();
    const bool is_complete = is_launched_ && done_.complete();
    connection_.check();
    if (!is_complete) return {};
    ready_ = 0;
    connection_.complete();
    return steps_;
  }

  [[nodiscard]] Left abandon() noexcept override {
    connection_.abort();
    try {
      connection_.stream().synchronize();
    } catch (...) {  // the device has failed, and moves nothing more
    }
    return Left::nothing;
  }
  [[nodiscard]] bool uses_device() const override { return true; }
  [[nodiscard]] std::int64_t metadata_bytes() const override {
    return static_cast<std::int64_t>(sizeof *this + steps_.capacity() * sizeof(int) +
                                     transfers_.capacity() * sizeof(Transfer));
  }

  [[nodiscard]] static bool is_message(const Step& step) {
    return step.kind == StepKind::send || step.kind == StepKind::receive;
  }

 private:
  void launch() {
    if (ready_ == steps_.size()) is_launched_ = connection_.launch(turn_, transfers_, done_);
  }

  NcclConnection& connection_;
  std::vector<int> steps_;  // by transfer
  std::vector<Transfer> transfers_;
  Event done_;
  std::size_t at_once_ = 0;  // of them, those that come after nothing
  std::size_t ready_ = 0;    // in this exchange; 0 again when it is complete
  std::uint64_t turn_ = 0;
  bool is_launched_ = false;
};

std::shared_ptr<PlanMemory> connect(Bootstrap& bootstrap, const DeviceEnds& ends, std::shared_ptr<CarrierMemory>& kept,
                                    std::string& why) {
  auto of_communicator = std::static_pointer_cast<NcclConnection>(kept);
  auto connection = connect_by_nccl(bootstrap, ends, of_communicator, why);
  kept = std::move(of_communicator);
  if (!connection) return nullptr;
  auto own = std::make_shared<NcclOfPlan>(std::move(connection));
  auto memory = std::make_shared<PlanMemory>();
  memory->words = own->words();
  memory->connects_devices = true;
  memory->parts.push_back(std::move(own));
  return memory;
}

std::unique_ptr<BoundCarrier> run_by_nccl(PlanBinding& binding) {
  const NcclOfPlan* const own = binding.memory != nullptr ? binding.memory->of<NcclOfPlan>() : nullptr;
  if (own == nullptr || std::ranges::none_of(binding.plan.steps, BoundGroup::is_message)) return nullptr;
  return std::make_unique<BoundGroup>(binding, own->connection());
}

}  // namespace

Carrier nccl_carrier() {
  return {.name = "nccl", .connect = connect, .run = run_by_nccl};
}

}  // namespace laneway
