#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine/machine.hpp"
#include "plan/plan.hpp"
#include "runtime/carriers/bound_carrier.hpp"
#include "runtime/carriers/local_options.hpp"
#include "runtime/carriers/side.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

class Bootstrap;

/// What carriers see of the rank that has a plan whose messages they share out among them.
struct CarrierView {
  const Plan& plan;
  const Region& node;
  const LocalOptions& options;
  const local::Sides& out;
  const local::Sides& in;
  Ring staging_ring = {};  ///< of the own staging memory, as peers see it

  [[nodiscard]] const Step& step(int index) const { return plan.steps[static_cast<std::size_t>(index)]; }
  [[nodiscard]] bool is_local(Rank peer) const;
};
/// For carriers that go no further than the node.
[[nodiscard]] bool is_in_node(const CarrierView& view, Rank peer);

/// What a carrier that connects devices must know of a rank.
struct DeviceEnds {
  Rank ranks = 0;            ///< of the communicator
  Device device = {};        ///< that the rank's buffers are on
  std::string problem = {};  ///< why there is none, for people; empty: there is one
  std::vector<Rank> sends_to = {};
  std::vector<Rank> receives_from = {};
};

/// A way to bring messages from a rank to another. The sender offers a message in all ways that it can, the receiver
/// answers with one of them, both sides rewrite their steps, the ranks make the memory that these reach, and each
/// executor has the carriers run the steps that it cannot run itself: moves between memory that this rank reaches, and
/// words there, it can. Rows of functions: no carrier keeps anything but what it puts into PlanMemory, and what it
/// binds. Null: the carrier has nothing to do there.
struct Carrier {
  std::string_view name;
  /// Whether it may carry messages between this rank and the peer; both of them say the same. Null: what no other
  /// carrier takes, it carries.
  bool (*reaches)(const CarrierView& view, Rank peer) = nullptr;
  /// Before anything is offered: the plan of which it can carry more; none: this one.
  std::optional<Plan> (*prepare)(const Plan& plan, const LocalOptions& options) = nullptr;
  /// Sender: adds to the offer what it can do for its side of a message, and words to the window, of which
  /// `window_bytes` are taken. True: it can.
  bool (*offer)(const CarrierView& view, local::Side& side, std::int64_t& window_bytes, local::Offer& offer) = nullptr;
  /// Receiver: how the message comes; none if this carrier cannot bring it. `offered`: what `offer` has returned.
  /// Null: it brings all messages of a plan or none, see `connect`.
  std::optional<local::Mode> (*answer)(const CarrierView& view, const local::Side& side, const local::Offer& offer,
                                       bool offered) = nullptr;
  /// Receiver: gives the messages that it brings their words and slots in the window, behind the first `window_bytes`
  /// bytes, and returns the size of the window. It may leave some of them to messages.
  std::int64_t (*lay_out)(const CarrierView& view, std::span<local::Side* const> brought,
                          std::int64_t window_bytes) = nullptr;
  /// Both, when all is answered.
  void (*settle)(Plan& plan, local::Sides& out, local::Sides& in) = nullptr;
  /// Both: sets what the step, whose word is set, moves from where to where.
  void (*rewrite)(Step& step, const local::Side& side) = nullptr;
  /// Both: what comes right after the rewritten step; none: nothing does. Events of the message come after it.
  std::optional<Step> (*follow)(const Step& step, const local::Side& side) = nullptr;
  /// Whether the gates of Localizer say when memory may be written again. They are words that ranks of a node read in
  /// each other's memory; other carriers say it in `rewrite` and `follow`.
  bool gated = false;
  /// Makes the memory that steps of the plan reach. Collective over the ranks that it may reach. Sets `memory` to null,
  /// on all of them, if one of them cannot, or came with null because a carrier before could not. `with_staging`: the
  /// plan's staging memory is its own.
  void (*share)(Bootstrap& bootstrap, const Plan& plan, const Region& node, bool with_staging,
                std::shared_ptr<PlanMemory>& memory) = nullptr;
  /// The same of a carrier that leaves the node, for all ranks of the communicator, after the others. Returns why it
  /// could not, for people; it is empty on all ranks or on none.
  std::string (*share_with_all)(Bootstrap& bootstrap, const Plan& plan, std::shared_ptr<PlanMemory>& memory) = nullptr;
  /// Why it will not on this communicator, for people; empty on all ranks or on none. Local.
  std::string (*refuses)(const Bootstrap& bootstrap) = nullptr;
  /// Connects the devices of all ranks, so that it brings all messages of a plan that passes nothing on, from and to
  /// where they are there. `kept`: what it keeps with the communicator; null at first. Null on all ranks where one
  /// cannot; `why` then says so, for people. Collective over the communicator.
  std::shared_ptr<PlanMemory> (*connect)(Bootstrap& bootstrap, const DeviceEnds& ends,
                                         std::shared_ptr<CarrierMemory>& kept, std::string& why) = nullptr;
  /// Its part of a plan that is being bound; null: it has none. It may give buffers that the plan lacks.
  std::unique_ptr<BoundCarrier> (*run)(PlanBinding& binding) = nullptr;
  /// What lets a plan that it has no part of follow a user's stream.
  std::unique_ptr<BoundCarrier> (*follow_stream)(PlanBinding& binding) = nullptr;
};

/// All of them, the one that receivers like best first. The last takes every message.
[[nodiscard]] std::span<const Carrier> carriers();
/// The one that brings a message.
[[nodiscard]] const Carrier& carrier_of(const local::Side& side);

}  // namespace laneway
