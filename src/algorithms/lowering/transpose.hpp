#pragma once

#include <cstdint>
#include <optional>

#include "base/bytes/ranges.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// Where the elements of a buffer are that has another order, or gaps, in the operation's own buffer.
struct ElementPlaces {
  /// The bytes of the elements, one after the other; empty: they lie at `shift` plus their number times their size.
  RangeList bytes;
  std::int64_t shift = 0;
};

/// A reduction turned round: the exchange that brings each value from where it is to be received to all that contribute
/// to it. A byte of this exchange stands for an element, so that nothing cuts one.
struct TurnedRound {
  RankPattern forward;
  ElementPlaces send;     ///< of the reduction, by what the exchange receives: each edge has places of its own
  ElementPlaces receive;  ///< of the reduction, by what the exchange sends
};

/// Of the edges of one rank, whose ranges have whole elements, and places any number of times. Throws Error(buffer)
/// where two places share a part of an element.
[[nodiscard]] TurnedRound turn_round(const RankPattern& reduction, std::int64_t element_bytes);

/// Runs one rank's plan for `turned.forward` backwards: sends become receives, and copies to several places become sums
/// of several. What arrives is combined into the receive buffer, what relays have for one place is combined before it
/// goes on. In which order is said by the plan. A pass over plans that messages carry; the plans of all ranks must be
/// transposed.
///
/// Throws Error(unsupported) if the plan is not of that kind, or takes bytes along that nobody needs who gets them:
/// then there is nothing to put into them on the way back.
[[nodiscard]] Plan transpose(const Plan& forward, const TurnedRound& turned, const Combination& how);

/// The plan for an exchange of bytes run backwards, without another plan for one whose bytes stand for elements.
/// `exchange` is this rank's part of it: the reduction's edges the other way. None where the plan cuts an element,
/// keeps elements at odd places, or cannot be transposed, and where a place of `exchange` receives several times.
[[nodiscard]] std::optional<Plan> transpose_whole(const Plan& forward, const RankPattern& exchange,
                                                  const Combination& how);

/// The plan of a reduction in which each edge is one message, and what arrives is combined by rank, by edge and by
/// position in the edge, whatever the order of the edges of different ranks. For operands that may not be exchanged,
/// and for results that do not depend on the way.
[[nodiscard]] Plan reduce_in_order(Rank rank, const RankPattern& reduction, const Combination& how);

/// The exchange that brings what each edge of a reduction carries to a place of its own, one after another by edge.
[[nodiscard]] RankPattern arrivals_of(const RankPattern& reduction);

/// Makes the plan of a reduction out of one for `arrivals_of(reduction)`: what that writes into the receive buffer
/// arrives in staging memory instead, and is combined from there as `reduce_in_order` does. So whatever relays the
/// exchange, the result is that of each edge by itself. Relays carry every contribution, since those of a node may not
/// be taken together.
[[nodiscard]] Plan combine_arrivals(const Plan& exchange, const RankPattern& reduction, const Combination& how);

}  // namespace laneway
