#pragma once

#include <cstdint>
#include <memory>

#include "base/process/attachments.hpp"
#include "operations/choose/agreed.hpp"
#include "operations/choose/reasons.hpp"
#include "plan/pattern.hpp"
#include "plan/plan.hpp"

namespace laneway {

/// The last exchange of index lists that was planned on a communicator, whose way back may be asked for. All ranks
/// replace it in the same calls, so that it is the same exchange wherever there is one.
struct LastExchange {
  std::shared_ptr<const Plan> plan = {};  ///< as messages carry it; null: there is none
  RankPattern pattern = {};
  std::uint64_t hints = 0;  ///< Agreed::fingerprint
  bool relays_nothing = false;
  Reasons reasons = {};
};

struct LastExchanges final : Attachment {
  std::shared_ptr<LastExchange> last =
      std::make_shared<LastExchange>();  ///< of several communicators, if they share it

  void on(Change) override { *last = {}; }
};

/// `back` is to have the ways back of what is planned on `there`.
inline void share_exchanges(Communicator& there, Communicator& back) {
  back.attachment<LastExchanges>().last = there.attachment<LastExchanges>().last;
}

/// The plan of a reduction, from that of the exchange whose way back it is.
struct WayBack {
  std::shared_ptr<const Plan> plan;
  bool relays_nothing = false;  ///< Agreed::relays_nothing of the exchange
  Reasons reasons = {};
};

/// Of what this rank has agreed to do, before it hears from others: all ranks have one, or none may use its own. Null
/// where the last exchange is not this reduction's way there, had other hints, or cannot be run backwards. Local.
[[nodiscard]] std::shared_ptr<const WayBack> find_way_back(Communicator& communicator, const Agreed& own);

/// Nothing is known of the last exchange. In every call that plans one of index lists, before it can fail.
void forget_exchange(Communicator& communicator);
/// `by_messages`: the plan before anything else carries it; null where there was none.
void keep_exchange(Communicator& communicator, const Agreed& agreed, std::shared_ptr<const Plan> by_messages,
                   const Reasons& reasons);

}  // namespace laneway
