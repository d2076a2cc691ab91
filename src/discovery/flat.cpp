// Finders whose messages go from the rank that says something straight to the one that is to hear it.
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "discovery/finder.hpp"
#include "discovery/places.hpp"

namespace laneway {

namespace {

Places all_ranks(const Post& post) {
  return {post.rank(), post.size()};
}

/// Nonblocking consensus (Hoefer, Siebert, Lumsdaine: Scalable communication protocols for dynamic sparse data
/// exchange, 2010). Who knows that all it has said has been taken joins a consensus; at its end nothing is under way.
class Nbx final : public Finder {
 public:
  explicit Nbx(Post& post) : post_(post), consensus_(post, all_ranks(post)) {}

  void start(std::vector<Note> notes, const RoundVotes& votes) override {
    own_ = votes;
    for (Note& note : notes) post_.send(note.peer, Topic::data, 0, std::move(note.data), true);
  }
  void on(Mail mail) override {
    if (mail.topic == Topic::consensus) return consensus_.on(mail);
    LANEWAY_ASSERT(mail.topic == Topic::data);
    heard_.push_back({mail.source, std::move(mail.data)});
  }
  bool proceed() override {
    if (!consensus_.begun() && post_.all_taken()) consensus_.begin(own_);
    if (!consensus_.done()) return false;
    all_ = consensus_.votes();
    return true;
  }

 private:
  Post& post_;
  Consensus consensus_;
  RoundVotes own_;
};

/// Each rank learns how many messages it gets, and takes so many.
class Personalized final : public Finder {
 public:
  explicit Personalized(Post& post) : post_(post), counting_(post, all_ranks(post)) {}

  void start(std::vector<Note> notes, const RoundVotes& votes) override {
    Counting::Counts counts;
    for (const Note& note : notes) counts[note.peer] = 1;
    counting_.begin(counts, votes);
    for (Note& note : notes) post_.send(note.peer, Topic::data, 0, std::move(note.data));
  }
  void on(Mail mail) override {
    if (mail.topic == Topic::count) return counting_.on(mail);
    LANEWAY_ASSERT(mail.topic == Topic::data);
    ++taken_;
    heard_.push_back({mail.source, std::move(mail.data)});
  }
  bool proceed() override {
    if (!counting_.done() || taken_ < counting_.count(post_.rank())) return false;
    all_ = counting_.votes();
    return true;
  }

 private:
  Post& post_;
  Counting counting_;
  int taken_ = 0;
};

/// The same, where the sender counts in the receiver's memory. All ranks meet for that, when they know that all come.
class Rma final : public Finder {
 public:
  explicit Rma(Post& post) : post_(post), consensus_(post, all_ranks(post)) {}

  void start(std::vector<Note> notes, const RoundVotes& votes) override {
    notes_ = std::move(notes);
    consensus_.begin(votes);
  }
  void on(Mail mail) override {
    if (mail.topic == Topic::consensus) return consensus_.on(mail);
    LANEWAY_ASSERT(mail.topic == Topic::data);
    ++taken_;
    heard_.push_back({mail.source, std::move(mail.data)});
  }
  bool proceed() override {
    if (!has_met_ && consensus_.done()) meet();
    if (has_met_ && !counted_) counted_ = post_.counted();
    if (!counted_ || taken_ < *counted_) return false;
    all_ = consensus_.votes();
    return true;
  }

 private:
  void meet() {
    has_met_ = true;
    std::vector<Rank> ranks;
    for (const Note& note : notes_) ranks.push_back(note.peer);
    post_.count_at(ranks);
    for (Note& note : notes_) post_.send(note.peer, Topic::data, 0, std::move(note.data));
  }

  Post& post_;
  Consensus consensus_;
  std::vector<Note> notes_;
  bool has_met_ = false;
  std::optional<int> counted_;
  int taken_ = 0;
};

}  // namespace

std::unique_ptr<Finder> make_nbx(Post& post, const RoundSetting&) {
  return std::make_unique<Nbx>(post);
}
std::unique_ptr<Finder> make_personalized(Post& post, const RoundSetting&) {
  return std::make_unique<Personalized>(post);
}
std::unique_ptr<Finder> make_rma(Post& post, const RoundSetting&) {
  return std::make_unique<Rma>(post);
}

}  // namespace laneway
