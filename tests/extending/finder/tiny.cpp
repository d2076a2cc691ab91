#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/finder_costs.hpp"

namespace laneway::discovery::tiny {

namespace {

/// Each rank sends each other one a message, with a payload or without.
class Tiny final : public Finder {
 public:
  explicit Tiny(Messenger& messenger) : messenger_(messenger) {}

  void start(std::vector<Payload> payloads, const RoundVotes& votes) override {
    all_.merge(votes);
    for (Rank to = 0; to < messenger_.size(); ++to) {
      if (to == messenger_.rank()) continue;
      const auto payload = std::ranges::find(payloads, to, &Payload::peer);
      Writer writer;
      writer.put(votes);
      writer.put(payload != payloads.end());
      if (payload != payloads.end()) writer.put(payload->data);
      messenger_.send(to, Topic::data, 0, writer.take());
    }
  }
  void on(RoundMessage incoming) override {
    Reader reader(incoming.data);
    all_.merge(reader.get<RoundVotes>());
    if (reader.get<bool>()) received_.push_back({incoming.source, reader.get_bytes()});
    ++taken_;
  }
  bool proceed() override { return taken_ == messenger_.size() - 1; }

 private:
  Messenger& messenger_;
  Rank taken_ = 0;
};

double cost(const RoundFacts& facts, const NodeRoute&, const MessageCosts& costs) {
  const double others = facts.ranks - 1.0;
  return costs.across(facts.bytes / std::max(1.0, facts.degree) + envelope, others, others);
}

}  // namespace

std::vector<FinderRow> rules() {
  const auto make = [](Messenger& messenger, const RoundSetting&) -> std::unique_ptr<Finder> {
    return std::make_unique<Tiny>(messenger);
  };
  return {{.name = "tiny", .chooses = true, .make = make, .cost = cost}};
}

}  // namespace laneway::discovery::tiny
