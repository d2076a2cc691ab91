#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/ranges.hpp"
#include "machine/machine.hpp"
#include "model/load.hpp"
#include "plan/plan.hpp"
#include "setup/planner.hpp"

namespace laneway {

/// Which messages inside a node go through its memory.
struct LocalOptions {
  /// Of those that need a mailbox, and so two copies, the largest; half of it where no such message goes back.
  std::int64_t mailbox_bytes = default_mailbox_bytes;
  /// All mailboxes of a rank together; the largest messages go without.
  std::int64_t all_mailboxes_bytes = std::int64_t{1} << 23;
  /// Staging memory of up to this size has two places, used in turn. Short exchanges then do not wait for ranks that
  /// have yet to complete the one before; long ones gain nothing, and would need much memory.
  std::int64_t doubled_staging_bytes = 65536;
  /// Staging memory is shared with other plans that are never active at the same time.
  bool shares_staging = false;
  /// What the plan copies from the send buffer crosses a bus. Larger messages than mailboxes hold are then taken from
  /// where it has been copied to.
  bool send_on_device = false;
  bool receive_on_device = false;
  /// Which kind of devices this rank's send buffer is on, if peers may take straight out of it, and the kind of devices
  /// that this rank can take from; 0: none.
  std::uint64_t lends = 0;
  std::uint64_t borrows = 0;
  /// Messages of up to this size are not lent.
  std::int64_t lend_bytes = 0;
  /// How many slots mailboxes for messages have that nothing answers, a power of two, if each takes no more than
  /// `slot_bytes`: senders may then be ahead of receivers, as with the eager messages of MPI libraries.
  std::int64_t slots = 8;
  std::int64_t slot_bytes = 512;
};

/// Turns messages of a plan between ranks that share memory into puts and takes, by agreement of both sides:
///
/// - **push**: what the receiver has in its staging memory, the sender copies there, straight from where it is;
/// - **pull**: what the sender has in its staging memory, the receiver copies from there, straight to where it goes;
/// - **borrow**: what the sender has in its send buffer on a device, the receiver copies from there, and then tells the
///   sender, which completes no exchange before;
/// - **mailbox**: anything else is copied into the receiver's window and out of it.
///
/// Packing and unpacking become part of that copy. With exchanges counted from 1, a word of a window holds the last
/// exchange for which it has been raised, and memory is reused by these rules:
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
  /// `node`: the ranks that share memory with this one. The reference must outlive the object.
  Localizer(Plan plan, const Region& node, const LocalOptions& options);

  Round begin();
  Round resume(const std::vector<Bytes>& inbox);

  /// Has no window if no message goes through shared memory.
  [[nodiscard]] Plan take_plan() { return std::move(plan_); }
  /// Who takes from this rank's staging memory.
  [[nodiscard]] const std::vector<Rank>& takers() const { return takers_; }

 private:
  enum class Mode : std::uint8_t { message, push, pull, mailbox, borrow };

  /// One side of a message inside the node.
  struct Side {
    int step = 0;
    Buffer buffer = Buffer::send;  ///< where the bytes are, or go, if packing is part of the copy
    RangeList stream;              ///< positions in the message; all but for a receiver that drops some
    RangeList place;               ///< and in the buffer
    std::vector<int> packing;      ///< copy steps that a put or take replaces
    Mode mode = Mode::message;
    std::int64_t flag = 0;
    std::int64_t slot = 0;
    std::int64_t alternate = 0;
    std::int64_t slots = 2;
    bool crosses = false;
    std::int64_t reply = 0;  ///< of what is lent: the word of the sender that says that it has been taken
    RangeList peer_stream;   ///< of a push, the receiver's side; of a pull or borrow, the sender's
    RangeList peer_place;
  };

  [[nodiscard]] Side sending(int step) const;
  [[nodiscard]] Side receiving(int step) const;
  [[nodiscard]] bool can_be_pulled(const Side& side) const;
  [[nodiscard]] bool is_lent(const Side& side) const;
  [[nodiscard]] Mode choose(const Side& side, bool offered, std::uint64_t lent, std::int64_t most_mailed) const;
  [[nodiscard]] bool is_local(Rank peer) const;
  [[nodiscard]] const Step& step(int s) const { return plan_.steps[static_cast<std::size_t>(s)]; }
  [[nodiscard]] std::int64_t answer_bytes(Rank peer, std::size_t message) const;
  [[nodiscard]] std::int64_t most_mailed(Rank peer, std::size_t message) const;
  [[nodiscard]] std::int64_t mailbox_bytes(Rank peer, std::size_t message) const;
  [[nodiscard]] std::int64_t slots(Rank peer, std::int64_t bytes) const;
  void drop_mailboxes();
  void cross_over();
  [[nodiscard]] static std::int64_t lag(std::int64_t alternate) { return alternate > 0 ? 2 : 1; }
  Round answer(const std::vector<Bytes>& inbox);
  Round rewrite(const std::vector<Bytes>& inbox);

  Plan plan_;
  const Region& node_;
  const LocalOptions options_;
  std::vector<std::vector<int>> readers_;  // by step: the steps that depend on it
  std::map<Rank, std::vector<Side>> out_;  // ascending (channel, place in the plan), as `in_` of the peer
  std::map<Rank, std::vector<Side>> in_;
  std::vector<Rank> takers_;
  std::int64_t alternate_ = 0;  // between the two places of the own staging memory
  bool answered_ = false;
};

}  // namespace laneway
