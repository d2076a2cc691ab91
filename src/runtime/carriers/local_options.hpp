#pragma once

#include <cstdint>

#include "algorithms/cost/load.hpp"
#include "plan/plan.hpp"

namespace laneway {

struct Carrier;

/// Which messages go by which carrier.
struct LocalOptions {
  /// If set, the only carrier besides messages.
  const Carrier* only = nullptr;
  /// Of those that need a mailbox, and so two copies, the largest; half of it where nothing goes back and
  /// nothing is relayed.
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
  /// Carriers may leave the node: to ranks that share no memory with this one, messages need not stay messages.
  bool leaves_node = false;
  /// Which kind of devices this rank's send buffer is on, if peers may take straight out of it, and the kind of devices
  /// that this rank can take from; 0: none.
  std::uint64_t lends = 0;
  std::uint64_t borrows = 0;
  /// Messages of up to this size are not lent.
  std::int64_t lend_bytes = 0;
  /// Mailboxes for messages that nothing answers have as many slots, a power of two, as that takes no more than
  /// `slots_bytes`: senders may then be ahead of receivers, as with the eager messages of MPI libraries.
  std::int64_t slots = Ring::most_places;
  std::int64_t slots_bytes = 8192;
};

}  // namespace laneway
