#pragma once

#include <mpi.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "base/bytes/types.hpp"
#include "base/process/spin_lock.hpp"
#include "operations/channel/credits.hpp"
#include "runtime/carriers/messages/advance.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

class ChannelMessages;

/// What channels of a communicator send between nodes besides long data: short data, and credits. All of it has one
/// tag, for which one receive is posted while somebody looks, and a header that says which segment it is for. So a
/// credit can travel with data of any channel between the two ranks, and several share a message.
class ShortMessages final : private Progressive {
 public:
  static constexpr int tag = unused_tag - 1;
  struct Header {
    std::int64_t number = -1;  ///< of the channel whose data follows; -1: none does
    std::int64_t segment = 0;
    Credits credits;
  };
  static constexpr std::int64_t message_bytes = 2048;  ///< eager in all MPI libraries
  static constexpr std::int64_t most_bytes = message_bytes - std::int64_t{sizeof(Header)};

  /// An end of this rank: the peer, whether it receives, its number among those.
  using Key = std::tuple<Rank, bool, std::int64_t>;

  /// What goes to and comes from one rank.
  struct Peer {
    OwedCredits owed;   // credits that have not been sent
    OwedCredits guess;  // that have been sent, and could have been owed
    CreditPolicy policy;
    std::atomic<std::int64_t> since{0};  // the first of either; by `now`
    Rank rank = 0;
  };

  /// Sends to this rank itself that nobody has received yet, and what they read: MPICH 4.0 has them in its queue,
  /// copies what they send when they are received, and takes what has a freed one's memory next for it.
  struct SelfSends {
    std::vector<MPI_Request> requests;
    std::shared_ptr<void> read;

    [[nodiscard]] bool are_over();
  };

  ShortMessages() = default;
  ~ShortMessages() = default;
  ShortMessages(const ShortMessages&) = delete;
  ShortMessages& operator=(const ShortMessages&) = delete;

  /// @name By who has the turn
  /// MPI calls that are made meanwhile may come back in the same thread, by the progress engine, which must only try.
  /// @{
  using Turn = std::unique_lock<SpinLock>;
  [[nodiscard]] Turn turn() { return Turn(lock_); }
  [[nodiscard]] Turn try_turn() { return Turn(lock_, std::try_to_lock); }
  /// An end that may be opened: until then what comes for it is kept.
  void expect(const Key& end);
  /// From now on `messages` gets what comes. On the communicator `comm`.
  [[nodiscard]] Peer& open(const Key& end, ChannelMessages& messages, MPI_Comm comm);
  /// Sends what is owed to its peer. What comes from now on is dropped, but for its credits.
  void forget(const Key& end);
  /// @}
  /// The communicator is about to be freed, and no end is left. False: not yet.
  [[nodiscard]] bool stop();

  /// Until a later call finds them over, or this goes, which is when all that was sent has been received or dropped. By
  /// any thread. Sends of one tag are over in the order in which they began.
  void keep(SelfSends sends);

  /// Hands on what has come. By any thread; does nothing while another one does it.
  void poll();

  /// Of a message that is about to go to this peer: the credits that it takes along.
  [[nodiscard]] static Credits to_carry(Peer& peer);
  /// Of a segment that is free again, of so many. True if it is owed from now on; else the caller sends a credit now.
  [[nodiscard]] bool owe(Peer& peer, std::int64_t number, std::int64_t segment, std::int64_t segments);
  /// Nothing has come for this segment: where its own credit is owed, or one has been for long, all are sent.
  void miss(Peer& peer, std::int64_t number, std::int64_t segment);

 private:
  struct End {
    ChannelMessages* messages = nullptr;
    std::vector<std::vector<std::byte>> early;
  };

  bool progress() override;
  void watch();
  void take(Rank source, int bytes);
  void send_owed(Peer& peer);
  [[nodiscard]] static std::int64_t now();

  SpinLock lock_;  // what follows, up to the posted receive
  std::map<Key, End> ends_;
  std::map<Rank, Peer> peers_;
  std::vector<std::byte> place_;
  MPI_Comm comm_ = MPI_COMM_NULL;  // since an end has been opened
  MPI_Request posted_ = MPI_REQUEST_NULL;
  bool is_posted_ = false;
  SpinLock keeping_;  // what follows
  std::list<SelfSends> kept_;
  SpinLock watching_;
  bool is_watched_ = false;
  std::optional<Activity> activity_;  // while credits are owed; last: see Channel
};

}  // namespace laneway
