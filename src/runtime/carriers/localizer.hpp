#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/planner/planner.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/carrier.hpp"
#include "runtime/carriers/local_options.hpp"
#include "runtime/carriers/side.hpp"

namespace laneway {

/// Shares the messages of a plan out among the carriers, by agreement of both sides. Those that memory carries become
/// puts, which are moves that raise a word when they are done, and takes, which await it first. Where there is nothing
/// to move, only the words are left.
///
/// - **push**: what the receiver has in its staging memory, the sender copies there, straight from where it is;
/// - **pull**: what the sender has in its staging memory, the receiver copies from there, straight to where it goes;
/// - **borrow**: what the sender has in its send buffer on a device, the receiver copies from there, and then tells the
///   sender, which completes no exchange before;
/// - **mailbox**: anything else is copied into the receiver's window and out of it.
///
/// What such a message takes from several places, or leaves in several, that copy gathers or scatters: only messages
/// that stay with the MPI library are packed. With exchanges counted from 1, a word of a window holds the last exchange
/// for which it has been raised, and memory is reused by these rules:
///
/// - A mailbox has two slots, used in turn, and a put into one waits for nothing: an exchange is complete only when the
///   receivers have started it, and so have completed the one before. A take from a rank shows that, too; where there
///   is none, a gate does.
/// - Small mailboxes for ranks that send nothing back have n slots. Then the gate is for the exchange n - 2 before, and
///   senders may be so far ahead of receivers.
/// - Two ranks that have mailboxes for each other use one slot of each, and cross over: a rank puts where it has taken
///   from in the exchange before. What it writes is in its cache then, which halves the time of a message.
/// - A put into staging memory waits until its rank has completed the exchange before.
/// - A step that writes staging memory from which others take waits until these have completed the exchange before.
/// - Where that memory has two places, both wait for the exchange before the one before only.
///
/// With shared staging memory exchanges are counted over all plans that share it, and who took from a rank's memory in
/// the exchange before may be unknown to this plan. So what writes a rank's staging memory, by itself or from a peer,
/// waits for its `ready` word, which the rank raises when all who ever take from its memory have completed the exchange
/// before; where a peer writes, a gate of the rank's own sees to that.
///
/// A state machine of two rounds, as Planner. Tests prove it for all ranks in one process, a model checker the rules.
class Localizer {
 public:
  /// `plan`: not packed yet. `node`: the ranks that share memory with this one. The reference must outlive the object.
  Localizer(Plan plan, const Region& node, const LocalOptions& options);

  Round begin();
  Round resume(const std::vector<Bytes>& inbox);

  /// Packed. Has no window if no message goes through shared memory.
  [[nodiscard]] Plan take_plan() { return std::move(plan_); }
  /// Who takes from this rank's staging memory.
  [[nodiscard]] const std::vector<Rank>& takers() const { return takers_; }

 private:
  using Mode = local::Mode;
  using Side = local::Side;

  /// Of the own staging memory, as peers see it.
  [[nodiscard]] Ring own_ring() const { return alternate_ > 0 ? Ring{alternate_, 2, false} : Ring{}; }
  [[nodiscard]] bool is_packed_first(const Step& step) const;
  [[nodiscard]] CarrierView view() const { return {plan_, node_, options_, out_, in_, own_ring()}; }
  [[nodiscard]] bool may_carry(const Carrier& carrier) const {
    return options_.only == nullptr || options_.only == &carrier;
  }
  [[nodiscard]] bool is_reached(Rank peer) const;
  [[nodiscard]] local::Offer offer(Side& side);
  void choose(Side& side, const local::Offer& offer) const;
  void read_offers(std::vector<Side>& sides, const Bytes& data);
  void lay_out();
  Round answer(const std::vector<Bytes>& inbox);
  Round rewrite(const std::vector<Bytes>& inbox);
  void pack_rest(bool uses_places);

  Plan plan_;
  const Region& node_;
  const LocalOptions options_;
  local::Sides out_;
  local::Sides in_;
  std::vector<Rank> takers_;
  std::int64_t alternate_ = 0;  // between the two places of the own staging memory
  bool answered_ = false;
};

}  // namespace laneway
