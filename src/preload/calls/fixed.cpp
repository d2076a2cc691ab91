#include "preload/calls/fixed.hpp"

#include <map>
#include <utility>

#include "communicator/hints/hints.hpp"
#include "operations/neighborhood/neighborhood.hpp"
#include "preload/calls/neighborhood.hpp"
#include "preload/report/tried.hpp"

namespace laneway::interpose {

namespace {

constexpr const char* nothing_relayed = "direct messages are expected to be as fast as any relays";

/// What is known of the calls of one kind on one communicator.
class CallsOfKind {
 public:
  CallsOfKind(const Communicator& adopted, std::shared_ptr<Row> row) : calls_(make(adopted, std::move(row))) {}

  const char* decide(Communicator& adopted, const FixedKey& key, const Call& call) {
    return calls_.decide(
        [&] { return has_good_arguments(call, adopted.topology()); }, [&] { return adopted.private_comm(); },
        [&](bool is_tried) {
          const FixedOperation& made = fixed_operation(adopted, key, call, is_tried ? Use::trial : Use::calls);
          note_plan(calls_.row(), made.reasons);
          if (made.is_direct()) return PlanMade{nothing_relayed};
          return PlanMade{nullptr, static_cast<std::uint64_t>(made.order->tag())};
        });
  }

 private:
  static TriedCalls make(const Communicator& adopted, std::shared_ptr<Row> row) {
    // Whoever names a strategy has chosen.
    const bool open = resolve_hints({}, adopted.hints).strategy.is_automatic();
    return {open, TriedCalls::first_calls(open), std::move(row)};
  }

  TriedCalls calls_;
};

struct FixedCalls final : Attachment {
  std::map<FixedKey, CallsOfKind> known;
};

}  // namespace

const char* reason_against_plan(Communicator& adopted, const Call& call, const std::shared_ptr<Row>& row) noexcept {
  try {
    const FixedKey key = fixed_key(call);
    auto& known = adopted.attachment<FixedCalls>().known;
    return known.try_emplace(key, adopted, row).first->second.decide(adopted, key, call);
  } catch (...) {
    return nullptr;  // the call itself says what is wrong
  }
}

}  // namespace laneway::interpose
