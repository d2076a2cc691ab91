#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/simulated.hpp"
#include "runtime/carriers/carrier.hpp"

// What no other carrier takes stays a message, which the MPI library carries.

namespace laneway {

namespace {

/// Sends of up to this size are on their way before the receives are posted, which costs the receives nothing when
/// both take less time than a message; larger ones find their receives posted, and need no copy. Simulated messages
/// only begin to move when both are there.
constexpr std::int64_t eager_send_bytes = 4096;

/// Says which message it is of.
Error explained(const MessageError& error, const Plan& plan, int index) {
  const Step& step = plan.steps[static_cast<std::size_t>(index)];
  const bool is_send = step.kind == StepKind::send;
  const std::string bytes = std::to_string(step.span.bytes) + " bytes";
  const std::string peer = std::to_string(step.peer);
  if (step.stage != Stage::direct)
    return Error(ErrorKind::mpi,
                 std::string("message of the stage ") + name(step.stage) + (is_send ? " to" : " from") + " rank " +
                     peer + ", " + bytes + ": " + error.what(),
                 error.mpi_class());
  const auto number = 1 + std::count_if(plan.steps.begin(), plan.steps.begin() + index, [&](const Step& other) {
                        return other.kind == step.kind && other.stage == step.stage && other.peer == step.peer;
                      });
  const std::string own = std::to_string(plan.rank);
  return Error(ErrorKind::mpi,
               "edge " + (is_send ? own + " -> " + peer : peer + " -> " + own) + " (message " + std::to_string(number) +
                   " between these two), " + (is_send ? "sendcounts and sendtype" : "recvcounts and recvtype") +
                   " say " + bytes + ": " + error.what() +
                   "; the _init form of this operation compares both sides of all edges",
               error.mpi_class());
}

/// The messages of a plan, numbered as endpoints know them: those that can start at once come first.
class BoundMessages final : public BoundCarrier {
 public:
  explicit BoundMessages(const PlanBinding& binding) : plan_(binding.plan), turn_(binding.turn) {}

  void bind(PlanBinding& binding) override {
    const std::vector<Message> messages = number(binding);
    endpoints_[0] = binding.transport->bind(messages);
    now_ = endpoints_[0].get();
    if (binding.may_be_together) {
      binding.together = now_;
      initial_ = 0;
      return;
    }
    if (plan_.staging_alternate > 0) bind_second(binding, messages);
    completed_.resize(steps_.size());
    for (const std::unique_ptr<Endpoint>& endpoint : endpoints_)
      if (endpoint) endpoint->expect_poll();
    binding.begins = binding.begins || initial_ > 0 || endpoints_[1];
  }

  void begin() override {
    if (endpoints_[1]) now_ = endpoints_[turn_ & 1].get();
    if (initial_ > 0) now_->start(0, initial_);
  }
  std::span<const int> start(int step) override {
    now_->start(of_step_[static_cast<std::size_t>(step)], 1);
    return {};
  }
  std::span<const int> poll() override { return steps_of(now_->poll(completed_)); }
  std::span<const int> wait_some() override { return steps_of(now_->wait_some(completed_)); }
  void advance() override {
    if (is_idle_) now_->advance();
  }

  [[nodiscard]] Left abandon() noexcept override {
    Left left = Left::nothing;
    for (const std::unique_ptr<Endpoint>& endpoint : endpoints_)
      if (endpoint) left = std::max(left, endpoint->abandon());
    return left;
  }
  [[nodiscard]] std::exception_ptr explain(std::exception_ptr error) const override {
    try {
      std::rethrow_exception(error);
    } catch (const MessageError& of_message) {
      return std::make_exception_ptr(
          explained(of_message, plan_, steps_.at(static_cast<std::size_t>(of_message.index()))));
    } catch (...) {
      return error;
    }
  }
  [[nodiscard]] std::int64_t metadata_bytes() const override {
    return static_cast<std::int64_t>(sizeof *this +
                                     (steps_.capacity() + of_step_.capacity() + completed_.capacity()) * sizeof(int));
  }

 private:
  [[nodiscard]] std::vector<Message> number(PlanBinding& binding) {
    std::vector<Message> messages;
    of_step_.assign(plan_.steps.size(), -1);
    const auto add = [&](StepKind kind, bool initial) {
      for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
        const Step& step = plan_.steps[s];
        if (step.kind != kind || step.after.empty() != initial || binding.runs[s].carrier != StepRun::executor)
          continue;
        of_step_[s] = static_cast<int>(messages.size());
        steps_.push_back(static_cast<int>(s));
        binding.take(steps_.back(), initial ? TakenPart::run_at_once : TakenPart::run);
        const bool in_user_buffer = step.span.buffer == Buffer::send || step.span.buffer == Buffer::receive;
        messages.push_back({kind == StepKind::send, step.peer, step.channel,
                            at(binding.bases[static_cast<std::size_t>(step.span.buffer)], step.span.offset),
                            step.span.bytes, in_user_buffer});
      }
    };
    const bool eager = !simulated && std::ranges::none_of(plan_.steps, [](const Step& step) {
      return step.kind == StepKind::send && step.after.empty() && step.span.bytes > eager_send_bytes;
    });
    add(eager ? StepKind::send : StepKind::receive, true);
    add(eager ? StepKind::receive : StepKind::send, true);
    initial_ = static_cast<int>(messages.size());
    add(StepKind::receive, false);
    add(StepKind::send, false);
    return messages;
  }

  /// Those of every second exchange, if some of them are in staging memory.
  void bind_second(PlanBinding& binding, std::vector<Message> messages) {
    bool uses_staging = false;
    for (std::size_t m = 0; m < messages.size(); ++m) {
      if (binding.step(steps_[m]).span.buffer != Buffer::staging) continue;
      messages[m].data += plan_.staging_alternate;
      uses_staging = true;
    }
    if (uses_staging) endpoints_[1] = binding.transport->bind(messages);
  }

  [[nodiscard]] std::span<const int> steps_of(int n) {
    is_idle_ = n < 0;
    if (n <= 0) return {};
    const auto completed = std::span(completed_).first(static_cast<std::size_t>(n));
    for (int& message : completed) message = steps_[static_cast<std::size_t>(message)];
    return completed;
  }

  Endpoint* now_ = nullptr;
  int initial_ = 0;
  bool is_idle_ = true;  // none is under way
  const Plan& plan_;
  const std::uint64_t& turn_;
  std::array<std::unique_ptr<Endpoint>, 2> endpoints_;
  std::vector<int> steps_;      // by message
  std::vector<int> of_step_;    // messages, or -1
  std::vector<int> completed_;  // in the last look
};

}  // namespace

Carrier messages_carrier() {
  const auto answer = [](const CarrierView&, const local::Side&, const local::Offer&, bool) {
    return std::optional(local::Mode::message);
  };
  const auto run = [](PlanBinding& binding) -> std::unique_ptr<BoundCarrier> {
    return std::make_unique<BoundMessages>(binding);
  };
  return {.name = "messages", .answer = answer, .run = run};
}

}  // namespace laneway
