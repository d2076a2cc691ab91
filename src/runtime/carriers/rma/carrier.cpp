#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/node/mailboxes.hpp"
#include "runtime/carriers/rma/puts.hpp"
#include "runtime/carriers/rma/windows.hpp"
#include "runtime/executor/copy.hpp"

// Ranks that share no memory put messages into each other's windows, through the network.

namespace laneway {

namespace {

using local::Mode;
using local::Offer;
using local::Side;

bool is_outside(const CarrierView& view, Rank peer) {
  return view.options.leaves_node && !view.is_local(peer);
}

/// What is sent from a device goes through the host's memory, where messages are packed. The window has a word that
/// says how far the receiver has come.
bool offer_to_put(const CarrierView& view, Side& side, std::int64_t& window_bytes, Offer& offer) {
  if (view.options.send_on_device || view.options.lends != 0) return false;
  side.reply = window_bytes;
  window_bytes += cache_line;
  offer.reply = side.reply;
  return true;
}

std::optional<Mode> answer_with_slots(const CarrierView& view, const Side&, const Offer&, bool offered) {
  if (!offered || view.options.receive_on_device) return std::nullopt;
  return Mode::mailbox;
}

/// Two slots each, used in turn, with the word behind the bytes.
std::int64_t lay_out_slots(const CarrierView&, std::span<Side* const> brought, std::int64_t window_bytes) {
  for (Side* const side : brought) {
    side->slot = window_bytes;
    side->flag = window_bytes + local::word_offset(side->bytes);
    side->ring = {local::slot_bytes(side->bytes), 2, false};
    window_bytes += side->ring.places * side->ring.distance;
  }
  return window_bytes;
}

/// The receiver says when it has taken a message. A sender completes an exchange when it knows that of the one before,
/// so that the slot that it writes next is free.
std::optional<Step> give_credit(const Step& step, const Side& side) {
  const bool waits = step.raise.has_value();
  Step credit;
  credit.kind = waits ? StepKind::await : StepKind::raise;
  credit.span = {Buffer::window, side.reply, 0};
  (waits ? credit.await : credit.raise) = Word{Sign::flag, !waits, waits ? 1 : 0, side.reply, {}};
  if (!waits) credit.from = Buffer::window;
  return credit;
}

/// Steps whose words far ranks await. They only begin a put, so that puts to several ranks are under way together, and
/// no start waits for a rank. A word goes when what it is about has arrived, and its step is complete when the word has
/// arrived, too.
class BoundPuts final : public BoundCarrier {
 public:
  BoundPuts(const PlanBinding& binding, Puts& puts) : memory_(*binding.memory), turn_(binding.turn), puts_(puts) {}

  void bind(PlanBinding& binding) override {
    of_step_.assign(binding.plan.steps.size(), -1);
    for (int s = 0; s < static_cast<int>(of_step_.size()); ++s) {
      const Step& step = binding.step(s);
      if (!step.raise || !puts_.reaches(step.peer)) continue;
      of_step_[static_cast<std::size_t>(s)] = static_cast<int>(all_.size());
      Put& put = all_.emplace_back(step, CopyProgram(step.runs));
      put.word = binding.find(*step.raise, step.peer);
      if (step.kind == StepKind::move) {
        put.from = binding.find(step.from, step.peer);
        put.to = binding.find(step.to, step.peer);
      }
      binding.take(s, TakenPart::run_and_raise);
    }
    under_way_.reserve(all_.size());
    completed_.reserve(all_.size());
  }

  std::span<const int> start(int step) override {
    const Put& put = put_of(step);
    if (put.step.kind == StepKind::move) {
      put.copy.run(put.from.in(turn_), put.to.in(turn_));
      const std::int64_t offset = put.step.span.offset + put.offset_of(put.to, turn_);
      puts_.put(put.step.peer, at(put.to.first, offset), offset, put.step.span.bytes);
    }
    raise(put.word.in(turn_), memory_.exchange);
    under_way_.push_back(step);
    return {};
  }

  std::span<const int> poll() override {
    puts_.advance();
    completed_.clear();
    if (under_way_.empty()) return {};
    const auto flush = [this] {
      for (const int step : under_way_) puts_.flush(put_of(step).step.peer);
    };
    flush();
    for (const int step : under_way_) {
      const Put& put = put_of(step);
      puts_.raise(put.step.peer, put.word.in(turn_), put.step.raise->offset + put.offset_of(put.word, turn_));
    }
    flush();
    std::swap(completed_, under_way_);
    return completed_;
  }

  [[nodiscard]] std::int64_t metadata_bytes() const override {
    std::int64_t bytes = sizeof *this;
    for (const Put& put : all_) bytes += static_cast<std::int64_t>(sizeof put) + put.copy.metadata_bytes();
    return bytes + static_cast<std::int64_t>((of_step_.capacity() + 2 * all_.size()) * sizeof(int));
  }

 private:
  struct Put {
    const Step& step;
    CopyProgram copy;
    RingPlaces from = {};
    RingPlaces to = {};
    RingPlaces word = {};

    [[nodiscard]] static std::int64_t offset_of(const RingPlaces& places, std::uint64_t turn) {
      return places.distance * static_cast<std::int64_t>(turn & places.last);
    }
  };
  [[nodiscard]] const Put& put_of(int step) const {
    return all_[static_cast<std::size_t>(of_step_[static_cast<std::size_t>(step)])];
  }

  const PlanMemory& memory_;
  const std::uint64_t& turn_;
  Puts& puts_;
  std::vector<Put> all_;
  std::vector<int> of_step_;
  std::vector<int> under_way_;  // steps
  std::vector<int> completed_;
};

std::unique_ptr<BoundCarrier> run_puts(PlanBinding& binding) {
  Puts* const puts = binding.memory != nullptr ? binding.memory->of<Puts>() : nullptr;
  return puts != nullptr ? std::make_unique<BoundPuts>(binding, *puts) : nullptr;
}

}  // namespace

Carrier rma_carrier() {
  return {.name = "rma",
          .reaches = is_outside,
          .offer = offer_to_put,
          .answer = answer_with_slots,
          .lay_out = lay_out_slots,
          .rewrite = local::rewrite_mailed,
          .follow = give_credit,
          .share_with_all = share_window_with_all,
          .refuses = why_no_window,
          .run = run_puts};
}

}  // namespace laneway
