#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/finder_costs.hpp"

namespace laneway::discovery::tiny {

namespace {

/// Each rank sends each other one a message, with a note or without.
class Tiny final : public Finder {
 public:
  explicit Tiny(Post& post) : post_(post) {}

  void start(std::vector<Note> notes, const RoundVotes& votes) override {
    all_.merge(votes);
    for (Rank to = 0; to < post_.size(); ++to) {
      if (to == post_.rank()) continue;
      const auto note = std::ranges::find(notes, to, &Note::peer);
      Writer writer;
      writer.put(votes);
      writer.put(note != notes.end());
      if (note != notes.end()) writer.put(note->data);
      post_.send(to, Topic::data, 0, writer.take());
    }
  }
  void on(Mail mail) override {
    Reader reader(mail.data);
    all_.merge(reader.get<RoundVotes>());
    if (reader.get<bool>()) heard_.push_back({mail.source, reader.get_bytes()});
    ++taken_;
  }
  bool proceed() override { return taken_ == post_.size() - 1; }

 private:
  Post& post_;
  Rank taken_ = 0;
};

double cost(const RoundFacts& facts, const NodeRoute&, const MessageCosts& costs) {
  const double others = facts.ranks - 1.0;
  return costs.across(facts.bytes / std::max(1.0, facts.degree) + envelope, others, others);
}

}  // namespace

std::vector<FinderRow> rules() {
  const auto make = [](Post& post, const RoundSetting&) -> std::unique_ptr<Finder> {
    return std::make_unique<Tiny>(post);
  };
  return {{.name = "tiny", .chooses = true, .make = make, .cost = cost}};
}

}  // namespace laneway::discovery::tiny
