#include "runtime/carriers/carrier.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "runtime/carriers/node/mailboxes.hpp"
#include "runtime/executor/copy.hpp"

// Short messages inside a node go through two slots, and the receiver says when it has taken one. The carrier moves
// them by itself, and its words are of a sort that no other reads: they hold the complement of the exchange's number,
// and lie before the bytes.

namespace laneway {

std::int64_t moved_by_tiny() {
  static std::atomic<std::int64_t> moved = 0;
  return moved++;
}

namespace {

using local::Side;

bool offer(const CarrierView& view, Side& side, std::int64_t& window_bytes, local::Offer& offer) {
  if (view.options.send_on_device || view.options.lends != 0 || side.bytes > 4096) return false;
  side.reply = window_bytes;
  window_bytes += cache_line;
  offer.reply = side.reply;
  return true;
}

std::optional<local::Mode> answer(const CarrierView& view, const Side&, const local::Offer&, bool offered) {
  if (!offered || view.options.receive_on_device) return std::nullopt;
  return local::Mode::mailbox;
}

std::int64_t lay_out(const CarrierView&, std::span<Side* const> brought, std::int64_t window_bytes) {
  for (Side* const side : brought) {
    side->flag = window_bytes;
    side->slot = window_bytes + cache_line;
    side->ring = {cache_line + local::slot_bytes(side->bytes), 2, false};
    window_bytes += side->ring.places * side->ring.distance;
  }
  return window_bytes;
}

std::optional<Step> follow(const Step& step, const Side& side) {
  const bool waits = step.raise.has_value();
  Step credit;
  credit.kind = waits ? StepKind::await : StepKind::raise;
  credit.span = {Buffer::window, side.reply, 0};
  (waits ? credit.await : credit.raise) = Word{Sign::flag, !waits, waits ? 1 : 0, side.reply, {}};
  if (!waits) credit.from = Buffer::window;
  return credit;
}

/// Its words are before the bytes; nobody else's are.
bool is_tiny(const Step& step) {
  const Boxed<Word>& word = step.raise ? step.raise : step.await;
  return word && word->sign == Sign::flag && word->offset < step.span.offset;
}

class BoundTiny final : public BoundCarrier {
 public:
  explicit BoundTiny(const PlanBinding& binding) : memory_(*binding.memory), turn_(binding.turn) {}

  void bind(PlanBinding& binding) override {
    of_step_.resize(binding.plan.steps.size());
    for (int s = 0; s < static_cast<int>(of_step_.size()); ++s) {
      const Step& step = binding.step(s);
      if (!is_tiny(step)) continue;
      of_step_[static_cast<std::size_t>(s)] = moves_.size();
      Move& move = moves_.emplace_back(s, step.raise.has_value(), CopyProgram(step.runs));
      move.word = binding.find(move.puts ? *step.raise : *step.await, step.peer);
      if (step.kind == StepKind::move) {
        move.from = binding.find(step.from, step.peer);
        move.to = binding.find(step.to, step.peer);
      }
      binding.take(s, TakenPart::run_and_raise);
      if (!move.puts) binding.let_pass(s);
    }
  }
  [[nodiscard]] bool passes(int step) override { return word_of(move_of(step)).load() == ~memory_.exchange; }
  std::span<const int> start(int step) override {
    const Move& move = move_of(step);
    move.copy.run(move.from.in(turn_), move.to.in(turn_));
    if (move.puts) word_of(move).store(~memory_.exchange);
    (void)moved_by_tiny();
    return {&move.step, 1};
  }
  std::span<const int> poll() override { return {}; }
  [[nodiscard]] std::int64_t metadata_bytes() const override { return sizeof *this; }

 private:
  struct Move {
    int step;
    bool puts;
    CopyProgram copy;
    RingPlaces from = {};
    RingPlaces to = {};
    RingPlaces word = {};
  };
  [[nodiscard]] const Move& move_of(int step) const { return moves_[of_step_[static_cast<std::size_t>(step)]]; }
  [[nodiscard]] std::atomic_ref<std::uint64_t> word_of(const Move& move) const {
    return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(move.word.in(turn_)));
  }

  const PlanMemory& memory_;
  const std::uint64_t& turn_;
  std::vector<Move> moves_;
  std::vector<std::size_t> of_step_;
};

std::unique_ptr<BoundCarrier> run(PlanBinding& binding) {
  const bool has_any = std::ranges::any_of(binding.plan.steps, is_tiny);
  return has_any ? std::make_unique<BoundTiny>(binding) : nullptr;
}

}  // namespace

Carrier tiny_carrier() {
  return {.name = "tiny",
          .reaches = is_in_node,
          .offer = offer,
          .answer = answer,
          .lay_out = lay_out,
          .rewrite = local::rewrite_mailed,
          .follow = follow,
          .run = run};
}

}  // namespace laneway
