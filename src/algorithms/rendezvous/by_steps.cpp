// What is said goes between nodes in steps, as blocks of an all-to-all do by the algorithm of Bruck et al. (Efficient
// algorithms for all-to-all communications in multiport message-passing systems, 1997): the distance from node to node,
// modulo their number, has as many digits as there are steps; in a step each payload moves by one of them. So each node
// gets a message from as many others as a digit has values, in each step and whatever is said. Nobody counts, and
// nothing is acknowledged. The ranks that are delegates share these messages; between steps they hand each other what
// has come.
#include "algorithms/rendezvous/by_steps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/by_node.hpp"
#include "algorithms/rendezvous/finder_costs.hpp"
#include "base/error.hpp"

namespace laneway {

namespace {

class BySteps final : public ByNode {
 public:
  BySteps(Messenger& messenger, const RoundSetting& setting)
      : BySteps(messenger, setting, radix_of(setting.nodes.nodes(), setting.route.steps)) {}

 private:
  BySteps(Messenger& messenger, const RoundSetting& setting, Rank radix)
      : ByNode(messenger, setting, std::min(setting.route.delegates, radix - 1)),
        radix_(radix),
        shared_(std::min(setting.route.delegates, radix - 1)) {
    if (!is_delegate()) return;
    lanes_.resize(static_cast<std::size_t>(radix - 1));
    to_delegates_.resize(static_cast<std::size_t>(delegates_));
  }

  /// The first step from the present one on in which a payload to a node moves, and by which digit.
  struct Move {
    int step = 0;
    Rank digit = 0;
  };
  [[nodiscard]] Move next_move(Rank node) const {
    const Rank nodes = nodes_.nodes();
    Rank left = (node - node_ + nodes) % nodes;
    for (int step = 0;; ++step, left /= radix_) {
      LANEWAY_ASSERT(left > 0);
      if (step >= step_ && left % radix_ != 0) return {step, left % radix_};
    }
  }
  /// Which of a node's ranks that are delegates sends, or gets, the message of a digit.
  [[nodiscard]] static Rank delegate_of(Rank digit, Rank delegates) { return (digit - 1) % delegates; }
  [[nodiscard]] Rank delegates_of(Rank node) const { return std::min(shared_, nodes_.following(node)); }

  [[nodiscard]] Rank delegate_for(const RelayHeader& relay) const override {
    const Rank node = nodes_.node_of(relay.destination);
    if (node == node_) return relay.destination % delegates_;
    return delegate_of(next_move(node).digit, delegates_);
  }

  void pass_on(const RelayHeader& relay, const Bytes& data) override {
    const Move move = next_move(nodes_.node_of(relay.destination));
    const Rank delegate = delegate_of(move.digit, delegates_);
    if (delegate != place_)
      put_relay(to_delegates_[static_cast<std::size_t>(delegate)], relay, data);
    else if (move.step == step_)
      put_relay(lanes_[static_cast<std::size_t>(move.digit - 1)], relay, data);
    else
      put_relay(later_, relay, data);
  }

  void send_between_nodes() override { send_lanes(); }

  /// One step more, if there is one.
  void send_lanes() {
    const Rank nodes = nodes_.nodes();
    is_over_ = distance_ >= nodes;
    if (is_over_) return;
    awaited_ = 0;
    for (Rank digit = place_ + 1; digit < radix_ && digit * distance_ < nodes; digit += delegates_) {
      const auto to = static_cast<Rank>((node_ + digit * distance_) % nodes);
      Writer& lane = lanes_[static_cast<std::size_t>(digit - 1)];
      lane.put(votes_);
      messenger_.send(nodes_.leader_of(to) + delegate_of(digit, delegates_of(to)), Topic::lane, step_,
                      std::exchange(lane, Writer{}).take());
      ++awaited_;  // and as many come, by the same digits
    }
    ++step_;
    distance_ *= radix_;
    const Bytes later = std::exchange(later_, Writer{}).take();
    Reader reader(later);
    route(reader);
    awaits_ = Topic::lane;
    advance();
  }

  /// What has come to the one of a node's ranks may be for another one to send.
  void regroup() {
    for (Rank i = 1; i < delegates_; ++i) {
      const Rank to = (place_ + i) % delegates_;
      Writer& writer = to_delegates_[static_cast<std::size_t>(to)];
      writer.put(votes_);
      messenger_.send(leader_ + to, Topic::share, step_, std::exchange(writer, Writer{}).take());
    }
    awaits_ = Topic::share;
    awaited_ = delegates_ - 1;
    advance();
  }

  void on_node_message(const RoundMessage& incoming) override {
    LANEWAY_ASSERT(incoming.topic == Topic::lane || incoming.topic == Topic::share);
    early_[{incoming.topic, incoming.step}].push_back(incoming.data);
    if (awaits_ != Topic::data) advance();
  }

  void advance() {
    const auto here = early_.find({awaits_, awaits_ == Topic::lane ? step_ - 1 : step_});
    if (here != early_.end()) {
      for (const Bytes& data : here->second) take(data);
      awaited_ -= static_cast<Rank>(here->second.size());
      early_.erase(here);
    }
    if (awaited_ > 0 || is_over_) return;
    const bool was_last = distance_ >= nodes_.nodes();
    if (awaits_ == Topic::lane && delegates_ > 1 && !was_last) return regroup();
    send_lanes();
  }

  void take(std::span<const std::byte> data) {
    const std::size_t payloads = data.size() - sizeof(RoundVotes);
    votes_.merge(Reader(data.subspan(payloads)).get<RoundVotes>());
    Reader reader(data.first(payloads));
    route(reader);
  }

  [[nodiscard]] bool has_received_all() override { return is_over_; }
  [[nodiscard]] const RoundVotes& votes_received() const override { return votes_; }

  const Rank radix_;
  const Rank shared_;  // so many ranks of a node speak at most
  int step_ = 0;       // the next one that this rank sends in
  std::int64_t distance_ = 1;
  Topic awaits_ = Topic::data;  // lane or share; data: not yet
  Rank awaited_ = 0;
  bool is_over_ = false;
  std::vector<Writer> lanes_;         // of the next step, by digit from 1
  std::vector<Writer> to_delegates_;  // by place
  Writer later_;
  std::map<std::pair<Topic, int>, std::vector<Bytes>> early_;  // by step
};

}  // namespace

Rank radix_of(Rank nodes, int steps) {
  const auto reaches = [&](std::int64_t radix) {
    std::int64_t reached = 1;
    for (int step = 0; step < steps && reached < nodes; ++step) reached *= radix;
    return reached >= nodes;
  };
  Rank radix = 2;
  while (steps > 0 && !reaches(radix)) ++radix;
  return radix;
}

double cost_of_steps(const NodeRoute& route, const RoundFacts& facts, const MessageCosts& costs) {
  const NodeFacts node(facts);
  const int steps = facts.nodes == 1 ? 0 : route.steps;
  const double lanes = radix_of(facts.nodes, steps) - 1.0;
  const double delegates = std::min<double>(route.delegates, lanes);
  const double each = std::ceil(lanes / delegates);
  // Of what a node says each digit has its part, of which one value stays.
  const double moved = node.members * node.partners * node.relayed * (steps > 1 ? lanes / (lanes + 1) : 1);
  const bool by_memory = facts.boards && delegates == 1;
  double seconds = 2 * predict_inside(facts.degree * node.relayed, static_cast<Rank>(delegates), facts, costs);
  if (steps > 0) {
    const double lane = moved / lanes + sizeof(RoundVotes);
    seconds += predict_long(node, costs);
    seconds +=
        steps * std::max(costs.across(lane, each, each), moved * costs.byte_on_wire + lanes * costs.short_on_wire);
    if (delegates > 1)
      seconds += (steps - 1) * costs.inside(moved / (delegates * delegates), delegates - 1, delegates - 1);
  }
  const double straight = node.payload > node.relayed ? node.partners : 0;
  const double regrouped = delegates > 1 && steps > 1 ? (steps - 1) * delegates * (delegates - 1) / node.members : 0;
  return costs.round(seconds, facts,
                     {.node = awaited(by_memory ? 0 : 2 * delegates + regrouped),
                      .network = {steps * lanes / node.members + straight, 0, steps * delegates / node.members},
                      .memory = awaited(by_memory ? 2 : 0)});
}

std::unique_ptr<Finder> make_by_steps(Messenger& messenger, const RoundSetting& setting) {
  return std::make_unique<BySteps>(messenger, setting);
}

}  // namespace laneway
