#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "carriers/local_options.hpp"
#include "carriers/node/node_memory.hpp"
#include "carriers/side.hpp"
#include "machine/machine.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// What carriers see of the rank that has a plan whose messages they share out among them.
struct CarrierView {
  const Plan& plan;
  const Region& node;
  const LocalOptions& options;
  Ring staging_ring = {};  ///< of the own staging memory, as peers see it

  [[nodiscard]] const Step& step(int index) const { return plan.steps[static_cast<std::size_t>(index)]; }
  [[nodiscard]] bool is_local(Rank peer) const;
};

/// Where an operand is in memory: in that of the rank that has it, and in the other rank's of the same kind.
struct Reached {
  std::byte* here = nullptr;
  std::byte* across = nullptr;
};

/// A way to bring messages from a rank to another. The sender offers a message in all ways that it can, the receiver
/// answers with one of them, both sides rewrite their steps, and what these reach is bound to memory. Functions of
/// values: no carrier keeps anything.
struct Carrier {
  std::string_view name;
  /// Sender: adds to the offer what it can do for its side of a message, and words to the window, of which
  /// `window_bytes` are taken. Null: nothing.
  void (*offer)(const CarrierView& view, local::Side& side, std::int64_t& window_bytes, local::Offer& offer);
  /// Receiver: how the message comes; none if this carrier cannot bring it. `most_mailed`: the largest message that
  /// may have a mailbox.
  std::optional<local::Mode> (*answer)(const CarrierView& view, const local::Side& side, const local::Offer& offer,
                                       std::int64_t most_mailed);
  /// Both: sets what the step, whose word is set, moves from where to where. Null: it stays a message.
  void (*rewrite)(Step& step, const local::Side& side);
  /// Where an operand of such a step is that is not in the rank's own buffers; none: it is not this carrier's. Null:
  /// steps reach nothing, Transport::bind binds messages.
  std::optional<Reached> (*bind)(const NodeMemory& memory, const Operand& operand, Rank peer);
};

/// All of them, the one that receivers like best first. The last takes every message.
[[nodiscard]] std::span<const Carrier> carriers();

}  // namespace laneway
