#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "algorithms/rendezvous/node_map.hpp"
#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "base/process/spin_lock.hpp"

namespace laneway {

/// What a message between the ranks of a bag is about.
enum class BagTopic : std::uint8_t {
  lane,    ///< messages for ranks of the receiver's node
  local,   ///< messages for the receiver
  credit,  ///< a bundle has been taken
  up,      ///< what ranks have sent and got in a round, on its way to the root of the tree
  down     ///< whether that was all, on its way back
};

struct BagMessage {
  Rank source = 0;
  BagTopic topic = BagTopic::lane;
  std::uint32_t round = 0;
  std::uint32_t messages = 0;  ///< of the program, in a bundle
  Bytes data;
};

/// What carries the bundles of a bag, to which it may append up to `appended_bytes`. Messages from one rank to another
/// is taken in the order in which it was sent. Nothing here waits; one thread calls at a time.
class BagMessenger {
 public:
  static constexpr std::int64_t appended_bytes = 16;

  virtual ~BagMessenger() = default;

  [[nodiscard]] virtual Rank rank() const = 0;
  virtual void send(Rank to, BagMessage incoming) = 0;
  [[nodiscard]] virtual std::optional<BagMessage> take() = 0;
  /// Whether nothing that was sent is read any more.
  [[nodiscard]] virtual bool all_sent() = 0;
};

/// One rank's end of a bag: messages to any rank, bundled by node, and rounds that end when all has arrived.
///
/// What is for ranks of another node goes in one bundle to a rank there, which hands it on; each hop has credits. A
/// rank takes what arrives for it up to a limit and, while it waits itself, without one. So whoever waits for credits
/// waits for a rank that takes, and no circle of waiting ranks can close.
///
/// A round ends by counting (as Mattern: Algorithms for distributed termination detection, 1987, with one wave where
/// nobody sends any more): ranks that flush add up on a tree what they have sent and got in the round. What was sent is
/// final by then, so equal sums say that all has arrived. Any thread may call; a lock lets one in.
class Bag {
 public:
  struct Options {
    std::int64_t memory = std::int64_t{16} << 20;  ///< see `most_kept`; the same on all ranks
    bool relays = true;                            ///< whether bundles go by way of a rank of the other node
  };
  struct Message {
    Rank source = 0;
    std::span<const std::byte> data;  ///< aligned for any type
  };
  struct Counts {
    std::int64_t sent = 0;        ///< messages
    std::int64_t bundles = 0;     ///< that they, and those of others that were handed on, went in
    std::int64_t waves = 0;       ///< of counting
    std::int64_t most_bytes = 0;  ///< reserved at a time
  };

  Bag(BagMessenger& messenger, const NodeMap& nodes, const Options& options);

  /// False where there is no room for it yet: the caller tries again. `waits`: it does nothing else meanwhile.
  [[nodiscard]] bool try_send(Rank destination, std::span<const std::byte> data, bool waits);
  /// Valid until the next call; one thread at a time calls this.
  [[nodiscard]] std::optional<Message> next();
  /// Ends the round of this rank. False where the flush before is still active.
  [[nodiscard]] bool begin_flush();
  /// Whether all ranks have got all of the round.
  [[nodiscard]] bool flushed();
  /// As far as it comes without waiting; nothing if another thread, or this one, is inside already.
  void help();
  /// Whether nothing is on its way from this rank.
  [[nodiscard]] bool quiet();
  [[nodiscard]] Counts counts();
  /// Bytes that it reserves for messages at most, as long as none is longer than a bundle, and without what arrives for
  /// this rank while it waits or flushes. No more than Options::memory, but for what is least: bundles of 1 KiB, three
  /// for each way out, two for each way in, two for this rank.
  [[nodiscard]] std::int64_t most_kept() const { return limits_.kept; }

 private:
  static constexpr std::size_t rounds_at_once = 4;  ///< of which there may be messages somewhere

  /// In bytes.
  struct Limits {
    std::int64_t bundle = 0;
    std::int64_t inbox = 0;
    std::int64_t kept = 0;  ///< see `most_kept`
  };
  /// Ranks that add up what they have sent and got: the leader of a node under its ranks, and two leaders under each.
  struct Tree {
    std::vector<Rank> children;
    std::optional<Rank> parent;
  };
  /// Bundles on their way to one rank.
  struct Out {
    Rank hop = 0;
    BagTopic topic = BagTopic::local;
    Bytes filling;
    std::uint32_t round = 0;  ///< of what is in it
    std::uint32_t messages = 0;
    std::int64_t in_flight = 0;      ///< bytes, reserved when it left, of what has not been taken
    std::vector<std::int64_t> left;  ///< of each bundle, in the order in which credit comes
    std::int64_t last = 0;           ///< bytes of the last bundle
    bool forwards = false;           ///< messages of others are in it
  };
  /// The ways out of this rank, which are made when they are needed.
  class Ways {
   public:
    Ways(const NodeMap& nodes, Rank rank, bool relays);
    [[nodiscard]] Out& to(Rank destination);
    [[nodiscard]] const std::vector<Out*>& all() const { return all_; }

   private:
    const NodeMap& nodes_;
    const bool relays_;
    const Rank node_;
    const std::size_t index_;  ///< among the ranks of the node
    std::unordered_map<Rank, std::unique_ptr<Out>> outs_;
    std::vector<Out*> all_;
  };
  struct Held {
    BagMessage incoming;
    std::size_t at = 0;  ///< handed on up to here
  };
  struct Item {
    Bytes data;
    std::size_t at = 0;
    bool open = false;  ///< single messages are appended
  };
  struct Sums {
    std::int64_t sent = 0;
    std::int64_t arrived = 0;
  };
  struct Round {
    Sums own;
    Sums children;
    Rank children_reported = 0;
    std::int64_t in_flight = 0;  ///< as Out's
    std::int64_t held = 0;
    std::deque<Item> inbox;
  };
  /// How far rounds have come.
  struct Flush {
    std::uint32_t round = 0;  ///< of what is sent
    std::uint32_t ended = 0;  ///< rounds
    bool is_active = false;
    bool has_reported = false;  ///< the parent, in this wave
  };
  /// What the program reads.
  struct Inbox {
    std::deque<Item> ready;  ///< of rounds that have ended
    std::optional<Item> reading;
    std::vector<std::max_align_t> aligned;
    std::int64_t bytes = 0;   ///< reserved, also for what is not ready
    bool separates = false;   ///< a round has ended, and next has not said so
    bool knows_end = true;    ///< the program, of the last flush
    std::uint32_t looks = 0;  ///< of next
  };

  [[nodiscard]] static Limits limits_of(const NodeMap& nodes, const Options& options);
  [[nodiscard]] static Tree tree_of(const NodeMap& nodes, Rank rank);
  [[nodiscard]] Round& at(std::uint32_t round) { return rounds_[round % rounds_at_once]; }
  [[nodiscard]] bool takes() const { return waits_ || flush_.is_active || inbox_.bytes < limits_.inbox; }
  [[nodiscard]] bool has_credit(const Out& out) const;
  void send_bundle(Out& out);
  [[nodiscard]] bool append(Out& out, std::uint32_t round, Rank peer, std::span<const std::byte> data);
  void keep(std::uint32_t round, Rank source, std::span<const std::byte> data);
  void count_memory(std::int64_t bytes);
  void make_room(Bytes& bytes, std::int64_t more);

  void progress();
  void on_message(BagMessage incoming);
  [[nodiscard]] bool deal_with(Held& held);
  [[nodiscard]] bool hand_on(Held& held);
  void give_credit(const BagMessage& incoming);
  void push(bool all);
  void advance_flush();
  void send_down(std::uint32_t round, bool done);
  void end_flush();
  [[nodiscard]] bool is_idle(std::uint32_t round);
  [[nodiscard]] bool find_item();
  [[nodiscard]] Message read();

  BagMessenger& messenger_;
  const Limits limits_;
  const Tree tree_;

  SpinLock lock_;  // what follows
  Ways ways_;
  std::deque<Held> held_;
  std::array<Round, rounds_at_once> rounds_;
  Flush flush_;
  Inbox inbox_;
  bool waits_ = false;
  std::int64_t kept_bytes_ = 0;  ///< reserved, of all bundles here
  Counts counts_;
};

}  // namespace laneway
