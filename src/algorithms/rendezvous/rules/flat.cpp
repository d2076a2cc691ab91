// Finders whose messages go from the rank that says something straight to the one that is to hear it.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/finder_costs.hpp"
#include "algorithms/rendezvous/places.hpp"
#include "base/error.hpp"

namespace laneway::discovery::flat {

namespace {

Places all_ranks(const Messenger& messenger) {
  return {messenger.rank(), messenger.size()};
}

/// Nonblocking consensus (Hoefler, Siebert, Lumsdaine: Scalable communication protocols for dynamic sparse data
/// exchange, 2010). Who knows that all it has said has been taken joins a consensus; at its end nothing is under way.
class Nbx final : public Finder {
 public:
  explicit Nbx(Messenger& messenger) : messenger_(messenger), consensus_(messenger, all_ranks(messenger)) {}

  void start(std::vector<Payload> payloads, const RoundVotes& votes) override {
    own_ = votes;
    for (Payload& payload : payloads) messenger_.send(payload.peer, Topic::data, 0, std::move(payload.data), true);
  }
  void on(RoundMessage incoming) override {
    if (incoming.topic == Topic::consensus) return consensus_.on(incoming);
    LANEWAY_ASSERT(incoming.topic == Topic::data);
    received_.push_back({incoming.source, std::move(incoming.data)});
  }
  bool proceed() override {
    if (!consensus_.begun() && messenger_.all_taken()) consensus_.begin(own_);
    if (!consensus_.done()) return false;
    all_ = consensus_.votes();
    return true;
  }

 private:
  Messenger& messenger_;
  Consensus consensus_;
  RoundVotes own_;
};

/// Each rank learns how many messages it gets, and takes so many.
class Personalized final : public Finder {
 public:
  explicit Personalized(Messenger& messenger) : messenger_(messenger), counting_(messenger, all_ranks(messenger)) {}

  void start(std::vector<Payload> payloads, const RoundVotes& votes) override {
    Counting::Counts counts;
    for (const Payload& payload : payloads) counts[payload.peer] = 1;
    counting_.begin(counts, votes);
    for (Payload& payload : payloads) messenger_.send(payload.peer, Topic::data, 0, std::move(payload.data));
  }
  void on(RoundMessage incoming) override {
    if (incoming.topic == Topic::count) return counting_.on(incoming);
    LANEWAY_ASSERT(incoming.topic == Topic::data);
    ++taken_;
    received_.push_back({incoming.source, std::move(incoming.data)});
  }
  bool proceed() override {
    if (!counting_.done() || taken_ < counting_.count(messenger_.rank())) return false;
    all_ = counting_.votes();
    return true;
  }

 private:
  Messenger& messenger_;
  Counting counting_;
  int taken_ = 0;
};

/// The same, where the sender counts in the receiver's memory. All ranks meet for that, when they know that all come.
class Rma final : public Finder {
 public:
  explicit Rma(Messenger& messenger) : messenger_(messenger), consensus_(messenger, all_ranks(messenger)) {}

  void start(std::vector<Payload> payloads, const RoundVotes& votes) override {
    payloads_ = std::move(payloads);
    consensus_.begin(votes);
  }
  void on(RoundMessage incoming) override {
    if (incoming.topic == Topic::consensus) return consensus_.on(incoming);
    LANEWAY_ASSERT(incoming.topic == Topic::data);
    ++taken_;
    received_.push_back({incoming.source, std::move(incoming.data)});
  }
  bool proceed() override {
    if (!has_met_ && consensus_.done()) meet();
    if (has_met_ && !counted_) counted_ = messenger_.counted();
    if (!counted_ || taken_ < *counted_) return false;
    all_ = consensus_.votes();
    return true;
  }

 private:
  void meet() {
    has_met_ = true;
    std::vector<Rank> ranks;
    for (const Payload& payload : payloads_) ranks.push_back(payload.peer);
    messenger_.count_at(ranks);
    for (Payload& payload : payloads_) messenger_.send(payload.peer, Topic::data, 0, std::move(payload.data));
  }

  Messenger& messenger_;
  Consensus consensus_;
  std::vector<Payload> payloads_;
  bool has_met_ = false;
  std::optional<int> counted_;
  int taken_ = 0;
};

template <typename Made>
std::unique_ptr<Finder> make(Messenger& messenger, const RoundSetting&) {
  return std::make_unique<Made>(messenger);
}

template <bool Counted>
double cost(const RoundFacts& facts, const NodeRoute&, const MessageCosts& costs) {
  const bool one_node = facts.nodes == 1;
  const auto messages = [&](double bytes, double count = 1) {
    return one_node ? costs.inside(bytes, count, count) : costs.across(bytes, count, count);
  };
  const double each = facts.bytes / std::max(1.0, facts.degree) + envelope;
  const double leaving = facts.degree * facts.largest_node * (1.0 - 1.0 / facts.nodes);  // of a node
  const double partners = one_node ? facts.degree : facts.degree * (1.0 - 1.0 / facts.nodes);
  const double wire = leaving * (each * costs.byte_on_wire + costs.short_on_wire);
  const double step_bytes = envelope + sizeof(RoundVotes);
  const double steps = steps_among(facts.ranks);
  const double step = messages(step_bytes) + (one_node ? 0 : facts.largest_node * costs.short_on_wire);
  double seconds = std::max(messages(each, partners), wire) + steps * step;
  if constexpr (Counted)
    seconds += steps * facts.degree * 4 * costs.byte_on_wire;
  else
    seconds += messages(0) + leaving * costs.short_on_wire;  // acknowledged
  const double inside = one_node ? facts.degree : facts.degree - partners;
  const double answers = Counted ? 0 : partners;
  if (one_node) return costs.round(seconds, facts, {.node = {inside, 0, inside + steps + 1}});
  return costs.round(seconds, facts, {.node = awaited(inside), .network = {partners + answers + steps, 0, steps + 1}});
}

}  // namespace

std::vector<FinderRow> rules() {
  return {
      {.name = "personalized",
       .description = "Ranks count who gets how many messages, by recursive halving; then each takes so many.",
       .citation = "Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH, 2005",
       .chooses = true,
       .make = make<Personalized>,
       .cost = cost<true>},
      {.name = "nbx",
       .description = "The sender learns that each message was taken, then joins a consensus; when that ends, nothing "
                      "is on its way.",
       .citation =
           "Hoefler, Siebert, Lumsdaine: Scalable Communication Protocols for Dynamic Sparse Data Exchange, 2010",
       .chooses = true,
       .make = make<Nbx>,
       .cost = cost<false>},
      {.name = "rma",
       .description =
           "Senders add to a counter in a window of the receiver, between two fences; then each takes so many.",
       .citation =
           "Hoefler, Siebert, Lumsdaine: Scalable Communication Protocols for Dynamic Sparse Data Exchange, 2010",
       .counts_in_memory = true,
       .make = make<Rma>,
       .cost = cost<false>},
  };
}

}  // namespace laneway::discovery::flat
