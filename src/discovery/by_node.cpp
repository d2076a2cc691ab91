// Finders that know nodes. Each rank hands what it says to the first rank of its node, which speaks for the node: a
// message for each node that is spoken to. When the first ranks know that they have heard all, each tells the ranks of
// its node what is for them. Long notes go straight to their receivers.
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "discovery/finder.hpp"
#include "discovery/places.hpp"

namespace laneway {

namespace {

/// A note on its way, or where it is long that it comes straight from its source: then without its data.
struct Passage {
  Rank source;
  Rank destination;
  bool straight;
};

void put_passage(Writer& writer, const Passage& passage, const Bytes& data) {
  writer.put_compact(passage.source);
  writer.put_compact(2 * std::int64_t{passage.destination} + (passage.straight ? 1 : 0));
  if (!passage.straight) writer.put(data);
}

Passage get_passage(Reader& reader, Bytes& data) {
  const auto source = static_cast<Rank>(reader.get_compact());
  const std::int64_t rest = reader.get_compact();
  const Passage passage{source, static_cast<Rank>(rest / 2), rest % 2 != 0};
  data = passage.straight ? Bytes{} : reader.get_bytes();
  return passage;
}

/// How the first ranks of nodes know that they have heard all.
enum class Ending { consensus, count };

class ByNode final : public Finder {
 public:
  ByNode(Post& post, const NodeMap& nodes, Ending ending)
      : post_(post),
        nodes_(nodes),
        node_(nodes.node_of(post.rank())),
        leader_(nodes.leader_of(node_)),
        ending_(ending),
        consensus_(post, Places{node_, nodes.nodes(), &nodes}),
        counting_(post, Places{node_, nodes.nodes(), &nodes}) {
    if (is_leader())
      for (const Rank member : nodes.members_of(node_)) members_[member];
  }

  void start(std::vector<Note> notes, const RoundVotes& votes) override {
    Writer writer;
    writer.put(votes);
    for (Note& note : notes) {
      const Passage passage{post_.rank(), note.peer, note.data.size() > most_relayed_note};
      put_passage(writer, passage, note.data);
      if (passage.straight) post_.send(note.peer, Topic::data, 0, std::move(note.data));
    }
    Bytes all = writer.take();
    if (is_leader()) return hear_member(all);
    post_.send(leader_, Topic::gather, 0, std::move(all));
  }

  void on(Mail mail) override {
    switch (mail.topic) {
      case Topic::data:
        --straight_;
        heard_.push_back({mail.source, std::move(mail.data)});
        return;
      case Topic::gather:
        return hear_member(mail.data);
      case Topic::lane:
        ++lanes_taken_;
        return hear_lane(mail.data);
      case Topic::consensus:
        return consensus_.on(mail);
      case Topic::count:
        return counting_.on(mail);
      default:
        LANEWAY_ASSERT(mail.topic == Topic::scatter);
        return be_told(mail.data);
    }
  }

  bool proceed() override {
    if (is_leader() && !told_ && has_heard_all()) tell_members();
    return told_ && straight_ == 0;
  }

 private:
  [[nodiscard]] bool is_leader() const { return post_.rank() == leader_; }

  void hear_member(const Bytes& data) {
    Reader reader(data);
    votes_.merge(reader.get<RoundVotes>());
    route(reader);
    if (++members_heard_ == members_.size()) speak();
  }

  void hear_lane(const Bytes& data) {
    Reader reader(data);
    route(reader);
  }

  /// Puts notes where they go next.
  void route(Reader& reader) {
    Bytes data;
    while (!reader.done()) {
      const Passage passage = get_passage(reader, data);
      const Rank node = nodes_.node_of(passage.destination);
      put_passage(node == node_ ? members_[passage.destination] : lanes_[node], passage, data);
    }
  }

  /// To other nodes, when all members have been heard.
  void speak() {
    const bool acknowledged = ending_ == Ending::consensus;
    if (!acknowledged) {
      Counting::Counts counts;
      for (const auto& [node, writer] : lanes_) counts[node] = 1;
      counting_.begin(std::move(counts), votes_);
    }
    // Each begins with the node after its own, so that not all send to the same one first.
    const auto send = [&](auto from, auto until) {
      for (auto lane = from; lane != until; ++lane)
        post_.send(nodes_.leader_of(lane->first), Topic::lane, 0, lane->second.take(), acknowledged);
    };
    const auto after = lanes_.upper_bound(node_);
    send(after, lanes_.end());
    send(lanes_.begin(), after);
    lanes_.clear();
    has_spoken_ = true;
  }

  bool has_heard_all() {
    if (!has_spoken_) return false;
    if (ending_ == Ending::count) return counting_.done() && lanes_taken_ == counting_.count();
    if (!consensus_.begun() && post_.all_taken()) consensus_.begin(votes_);
    return consensus_.done();
  }

  void tell_members() {
    all_ = ending_ == Ending::count ? counting_.votes() : consensus_.votes();
    for (auto& [member, writer] : members_) {
      const Bytes notes = writer.take();
      if (member == leader_) {
        Reader reader(notes);
        hear_own(reader);
        continue;
      }
      Writer told;
      told.put(all_);
      told.put(notes);
      post_.send(member, Topic::scatter, 0, told.take());
    }
    told_ = true;
  }

  void be_told(const Bytes& data) {
    Reader reader(data);
    all_ = reader.get<RoundVotes>();
    const Bytes notes = reader.get_bytes();
    Reader own(notes);
    hear_own(own);
    told_ = true;
  }

  void hear_own(Reader& reader) {
    Bytes data;
    while (!reader.done()) {
      const Passage passage = get_passage(reader, data);
      if (passage.straight)
        ++straight_;
      else
        heard_.push_back({passage.source, std::move(data)});
    }
  }

  Post& post_;
  const NodeMap& nodes_;
  Rank node_;
  Rank leader_;
  Ending ending_;
  Consensus consensus_;
  Counting counting_;
  // Of the first rank of a node.
  RoundVotes votes_;
  std::map<Rank, Writer> members_;  // what is for them
  std::map<Rank, Writer> lanes_;    // and for other nodes
  std::size_t members_heard_ = 0;
  bool has_spoken_ = false;
  int lanes_taken_ = 0;
  // Of each rank.
  bool told_ = false;
  int straight_ = 0;  // notes that are to come straight; less than 0 where some were faster
};

}  // namespace

std::unique_ptr<Finder> make_nbx_node(Post& post, const NodeMap& nodes) {
  return std::make_unique<ByNode>(post, nodes, Ending::consensus);
}
std::unique_ptr<Finder> make_personalized_node(Post& post, const NodeMap& nodes) {
  return std::make_unique<ByNode>(post, nodes, Ending::count);
}

}  // namespace laneway
