#include "algorithms/rendezvous/by_node.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace laneway {

ByNode::ByNode(Post& post, const RoundSetting& setting, Rank speakers)
    : post_(post),
      nodes_(setting.nodes),
      node_(nodes_.node_of(post.rank())),
      leader_(nodes_.leader_of(node_)),
      place_(post.rank() - leader_),
      speakers_(std::min(speakers, nodes_.following(node_))),
      board_(speakers_ > 1 ? nullptr : setting.board),
      round_(setting.round),
      way_(setting.way),
      listens_(board_ == nullptr),
      tellers_(speakers_) {
  if (!speaks()) return;
  members_ = nodes_.members_of(node_);
  for_members_.resize(members_.size());
}

bool ByNode::goes_straight(const Note& note) const {
  return note.data.size() > most_relayed_note;
}

void ByNode::start(std::vector<Note> notes, const RoundVotes& votes) {
  std::vector<Writer> said(static_cast<std::size_t>(speakers_));
  for (Writer& writer : said) {
    writer.put(votes);
    writer.put(way_);
  }
  for (const Note& note : notes) {
    const Passage passage{post_.rank(), note.peer, goes_straight(note)};
    put_passage(said[static_cast<std::size_t>(speaker_for(passage))], passage, note.data);
  }
  // First what others wait for most. Each begins with another one, so that not all are heard by the same first.
  for (Rank i = 1; i <= speakers_; ++i) {
    const Rank to = (place_ + i) % speakers_;
    Bytes data = said[static_cast<std::size_t>(to)].take();
    if (to == place_)
      hear_member(data);
    else if (board_ == nullptr || !board_->say(round_, data))
      send(leader_ + to, Topic::gather, std::move(data));
  }
  for (Note& note : notes)
    if (goes_straight(note)) send(note.peer, Topic::data, std::move(note.data));
}

void ByNode::on(Mail mail) {
  switch (mail.topic) {
    case Topic::data:
      --straight_;
      heard_.push_back({mail.source, std::move(mail.data)});
      return;
    case Topic::gather:
      return hear_member(mail.data);
    case Topic::scatter:
      return be_told(mail.data);
    default:
      return hear(mail);
  }
}

bool ByNode::proceed() {
  if (board_ != nullptr && !told_) look_at_board();
  if (has_spoken_ && !has_told_ && has_heard_all()) tell_members();
  return told_ && straight_ == 0;
}

/// Until what has been sent is known to have left, this rank listens.
void ByNode::send(Rank to, Topic topic, Bytes data) {
  post_.send(to, topic, 0, std::move(data));
  listens_ = true;
}

/// The first rank hears the others in their order, so that it looks in vain at one word at most.
void ByNode::look_at_board() {
  if (!speaks()) {
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

void ByNode::hear_member(std::span<const std::byte> data) {
  Reader reader(data);
  votes_.merge(reader.get<RoundVotes>());
  if (reader.get<std::uint8_t>() != way_) {
    differs_ = true;
    return;
  }
  route(reader);
  if (++members_heard_ < members_.size()) return;
  has_spoken_ = true;
  speak();
}

void ByNode::route(Reader& reader) {
  Bytes data;
  while (!reader.done()) {
    const Passage passage = get_passage(reader, data);
    if (nodes_.node_of(passage.destination) == node_)
      put_passage(for_member(passage.destination), passage, data);
    else
      pass_on(passage, data);
  }
}

Writer& ByNode::for_member(Rank rank) {
  const auto found = std::ranges::lower_bound(members_, rank);
  LANEWAY_ASSERT(found != members_.end() && *found == rank);
  return for_members_[static_cast<std::size_t>(found - members_.begin())];
}

/// Each begins after itself, so that not all tell the same one first.
void ByNode::tell_members() {
  has_told_ = true;
  const auto own = static_cast<std::size_t>(place_);
  for (std::size_t i = 1; i <= members_.size(); ++i) {
    const std::size_t member = (own + i) % members_.size();
    Writer writer;
    writer.put(votes_heard());
    writer.put(straight_to(members_[member]));
    Bytes told = writer.take();
    const Bytes notes = for_members_[member].take();
    told.insert(told.end(), notes.begin(), notes.end());
    if (member == own)
      be_told(told);
    else if (board_ == nullptr || !board_->tell(member, round_, told))
      post_.send(members_[member], Topic::scatter, 0, std::move(told));
  }
}

void ByNode::be_told(std::span<const std::byte> data) {
  Reader reader(data);
  all_.merge(reader.get<RoundVotes>());
  const auto straight = reader.get<std::int32_t>();
  hear_own(reader, straight);
  told_ = --tellers_ == 0;
}

/// `straight`: notes that come from other nodes, in addition to those that are named.
void ByNode::hear_own(Reader& reader, int straight) {
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

}  // namespace laneway
