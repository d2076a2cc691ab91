// Finders that know nodes. Each rank hands what it says to the first rank of its node, which speaks for the node. When
// the first ranks know that they have heard all, each tells the ranks of its node what is for them. Where the ranks of
// a node share memory, they write and read it there, and only first ranks send messages. Long notes go straight to
// their receivers.
#include <algorithm>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

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
  ByNode(Post& post, const RoundSetting& setting, Ending ending)
      : post_(post),
        nodes_(setting.nodes),
        board_(setting.board),
        round_(setting.round),
        way_(setting.way),
        ending_(ending),
        node_(nodes_.node_of(post.rank())),
        leader_(nodes_.leader_of(node_)),
        listens_(board_ == nullptr),
        consensus_(post, Places{node_, nodes_.nodes(), &nodes_}),
        counting_(post, Places{node_, nodes_.nodes(), &nodes_}) {
    if (!is_leader()) return;
    members_ = nodes_.members_of(node_);
    for_members_.resize(members_.size());
  }

  void start(std::vector<Note> notes, const RoundVotes& votes) override {
    Writer writer;
    writer.put(votes);
    const auto goes_straight = [&](const Note& note) {
      return note.data.size() > most_relayed_note || (way_ == NodeWay::straight && nodes_.node_of(note.peer) != node_);
    };
    for (const Note& note : notes) put_passage(writer, {post_.rank(), note.peer, goes_straight(note)}, note.data);
    // First what others wait for most.
    Bytes all = writer.take();
    if (is_leader())
      hear_member(all);
    else if (board_ == nullptr || !board_->say(round_, all))
      send(leader_, Topic::gather, std::move(all));
    for (Note& note : notes)
      if (goes_straight(note)) send(note.peer, Topic::data, std::move(note.data));
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
    if (board_ != nullptr && !told_) look_at_board();
    if (is_leader() && !told_ && has_heard_all()) tell_members();
    return told_ && straight_ == 0;
  }

  [[nodiscard]] bool listens() const override { return listens_ || has_spoken_ || told_; }

 private:
  [[nodiscard]] bool is_leader() const { return post_.rank() == leader_; }

  /// Until what has been sent is known to have left, this rank listens.
  void send(Rank to, Topic topic, Bytes data) {
    post_.send(to, topic, 0, std::move(data));
    listens_ = true;
  }

  /// The first rank hears the others in their order, so that it looks in vain at one word at most.
  void look_at_board() {
    if (!is_leader()) {
      const NodeBoard::Said told = board_->told(round_);
      if (told.form == NodeBoard::Form::memory) return be_told(told.data);
      listens_ = listens_ || told.form == NodeBoard::Form::message;
      return;
    }
    for (; looked_at_ < members_.size(); ++looked_at_) {
      const NodeBoard::Said said = board_->said(looked_at_, round_);
      if (said.form == NodeBoard::Form::none) return;
      if (said.form == NodeBoard::Form::memory)
        hear_member(said.data);
      else
        listens_ = true;
    }
  }

  void hear_member(std::span<const std::byte> data) {
    Reader reader(data);
    votes_.merge(reader.get<RoundVotes>());
    route(reader);
    if (++members_heard_ == members_.size()) speak();
  }

  void hear_lane(std::span<const std::byte> data) {
    if (way_ == NodeWay::all) {
      const std::size_t notes = data.size() - sizeof(RoundVotes);
      Reader votes(data.subspan(notes));
      lane_votes_.merge(votes.get<RoundVotes>());
      data = data.first(notes);
    }
    Reader reader(data);
    route(reader);
  }

  /// Puts notes where they go next.
  void route(Reader& reader) {
    Bytes data;
    while (!reader.done()) {
      const Passage passage = get_passage(reader, data);
      const Rank node = nodes_.node_of(passage.destination);
      if (node == node_)
        put_passage(for_member(passage.destination), passage, data);
      else if (way_ == NodeWay::straight)
        ++counts_[passage.destination];
      else
        put_passage(lanes_[node], passage, data);
    }
  }

  [[nodiscard]] Writer& for_member(Rank rank) {
    const auto found = std::ranges::lower_bound(members_, rank);
    LANEWAY_ASSERT(found != members_.end() && *found == rank);
    return for_members_[static_cast<std::size_t>(found - members_.begin())];
  }

  /// To other nodes, when all members have been heard. Each begins with the node after its own, so that not all send to
  /// the same one first.
  void speak() {
    if (way_ == NodeWay::all)
      for (Rank node = 0; node < nodes_.nodes(); ++node)
        if (node != node_) lanes_[node].put(votes_);
    if (ending_ == Ending::count && way_ != NodeWay::all) {
      for (const auto& [node, writer] : lanes_) counts_[nodes_.leader_of(node)] = 1;
      counting_.begin(counts_, votes_);
    }
    const auto send_lanes = [&](auto from, auto until) {
      for (auto lane = from; lane != until; ++lane)
        post_.send(nodes_.leader_of(lane->first), Topic::lane, 0, lane->second.take(), ending_ == Ending::consensus);
    };
    const auto after = lanes_.upper_bound(node_);
    send_lanes(after, lanes_.end());
    send_lanes(lanes_.begin(), after);
    lanes_.clear();
    has_spoken_ = true;
  }

  bool has_heard_all() {
    if (!has_spoken_) return false;
    if (way_ == NodeWay::all) return lanes_taken_ == nodes_.nodes() - 1;
    if (ending_ == Ending::count)
      return counting_.done() && (way_ == NodeWay::straight || lanes_taken_ == counting_.count(leader_));
    if (!consensus_.begun() && post_.all_taken()) consensus_.begin(votes_);
    return consensus_.done();
  }

  void tell_members() {
    all_ = way_ == NodeWay::all ? votes_ : ending_ == Ending::count ? counting_.votes() : consensus_.votes();
    all_.merge(lane_votes_);
    for (std::size_t i = 0; i < members_.size(); ++i) {
      const std::int32_t straight = way_ == NodeWay::straight ? counting_.count(members_[i]) : 0;
      const Bytes notes = for_members_[i].take();
      if (members_[i] == leader_) {
        Reader reader(notes);
        hear_own(reader, straight);
        continue;
      }
      Bytes told = announcement(straight);
      told.insert(told.end(), notes.begin(), notes.end());
      if (board_ == nullptr || !board_->tell(i, round_, told))
        post_.send(members_[i], Topic::scatter, 0, std::move(told));
    }
    told_ = true;
  }

  [[nodiscard]] Bytes announcement(std::int32_t straight) const {
    Writer writer;
    writer.put(all_);
    writer.put(straight);
    return writer.take();
  }

  void be_told(std::span<const std::byte> data) {
    Reader reader(data);
    all_ = reader.get<RoundVotes>();
    const auto straight = reader.get<std::int32_t>();
    hear_own(reader, straight);
    told_ = true;
  }

  /// `straight`: notes that come from other nodes, in addition to those that are named.
  void hear_own(Reader& reader, int straight) {
    straight_ += straight;
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
  NodeBoard* const board_;
  const std::int64_t round_;
  const NodeWay way_;
  const Ending ending_;
  const Rank node_;
  const Rank leader_;
  bool listens_;
  Consensus consensus_;
  Counting counting_;
  // Of the first rank of a node.
  RoundVotes votes_;
  RoundVotes lane_votes_;
  std::vector<Rank> members_;
  std::vector<Writer> for_members_;
  std::map<Rank, Writer> lanes_;  // by node
  Counting::Counts counts_;
  std::size_t members_heard_ = 0;
  std::size_t looked_at_ = 1;  // members on the board, this rank first
  bool has_spoken_ = false;
  int lanes_taken_ = 0;
  // Of each rank.
  bool told_ = false;
  int straight_ = 0;  // notes that are to come straight; less than 0 where some were faster
};

}  // namespace

std::unique_ptr<Finder> make_nbx_node(Post& post, const RoundSetting& setting) {
  RoundSetting lanes = setting;
  lanes.way = NodeWay::lanes;  // what a consensus is for
  return std::make_unique<ByNode>(post, lanes, Ending::consensus);
}
std::unique_ptr<Finder> make_personalized_node(Post& post, const RoundSetting& setting) {
  return std::make_unique<ByNode>(post, setting, Ending::count);
}

}  // namespace laneway
