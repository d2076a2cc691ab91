#include "algorithms/rendezvous/by_node.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace laneway {

ByNode::ByNode(Messenger& messenger, const RoundSetting& setting, Rank delegates)
    : messenger_(messenger),
      nodes_(setting.nodes),
      node_(nodes_.node_of(messenger.rank())),
      leader_(nodes_.leader_of(node_)),
      place_(messenger.rank() - leader_),
      delegates_(std::min(delegates, nodes_.following(node_))),
      board_(delegates_ > 1 ? nullptr : setting.board),
      round_(setting.round),
      way_(setting.way),
      listens_(board_ == nullptr),
      scatterers_(delegates_) {
  if (!is_delegate()) return;
  members_ = nodes_.members_of(node_);
  for_members_.resize(members_.size());
}

bool ByNode::goes_straight(const Payload& payload) const {
  return payload.data.size() > most_relayed_payload;
}

void ByNode::start(std::vector<Payload> payloads, const RoundVotes& votes) {
  std::vector<Writer> said(static_cast<std::size_t>(delegates_));
  for (Writer& writer : said) {
    writer.put(votes);
    writer.put(way_);
  }
  for (const Payload& payload : payloads) {
    const RelayHeader relay{messenger_.rank(), payload.peer, goes_straight(payload)};
    put_relay(said[static_cast<std::size_t>(delegate_for(relay))], relay, payload.data);
  }
  // First what others wait for most. Each begins with another one, so that not all are heard by the same first.
  for (Rank i = 1; i <= delegates_; ++i) {
    const Rank to = (place_ + i) % delegates_;
    Bytes data = said[static_cast<std::size_t>(to)].take();
    if (to == place_)
      on_member(data);
    else if (board_ == nullptr || !board_->say(round_, data))
      send(leader_ + to, Topic::gather, std::move(data));
  }
  for (Payload& payload : payloads)
    if (goes_straight(payload)) send(payload.peer, Topic::data, std::move(payload.data));
}

void ByNode::on(RoundMessage incoming) {
  switch (incoming.topic) {
    case Topic::data:
      --straight_;
      received_.push_back({incoming.source, std::move(incoming.data)});
      return;
    case Topic::gather:
      return on_member(incoming.data);
    case Topic::scatter:
      return on_scatter(incoming.data);
    default:
      return on_node_message(incoming);
  }
}

bool ByNode::proceed() {
  if (board_ != nullptr && !is_scattered_) look_at_board();
  if (has_sent_ && !has_scattered_ && has_received_all()) scatter_to_members();
  return is_scattered_ && straight_ == 0;
}

/// Until what has been sent is known to have left, this rank listens.
void ByNode::send(Rank to, Topic topic, Bytes data) {
  messenger_.send(to, topic, 0, std::move(data));
  listens_ = true;
}

/// The first rank hears the others in their order, so that it looks in vain at one word at most.
void ByNode::look_at_board() {
  if (!is_delegate()) {
    const NodeBoard::Posted scattered = board_->scattered(round_);
    if (scattered.form == NodeBoard::Form::memory) return on_scatter(scattered.data);
    listens_ = listens_ || scattered.form == NodeBoard::Form::message;
    return;
  }
  for (; looked_at_ < members_.size(); ++looked_at_) {
    const NodeBoard::Posted said = board_->said(looked_at_, round_);
    if (said.form == NodeBoard::Form::none) return;
    if (said.form == NodeBoard::Form::memory)
      on_member(said.data);
    else
      listens_ = true;
  }
}

void ByNode::on_member(std::span<const std::byte> data) {
  Reader reader(data);
  votes_.merge(reader.get<RoundVotes>());
  if (reader.get<std::uint8_t>() != way_) {
    differs_ = true;
    return;
  }
  route(reader);
  if (++members_received_ < members_.size()) return;
  has_sent_ = true;
  send_between_nodes();
}

void ByNode::route(Reader& reader) {
  Bytes data;
  while (!reader.done()) {
    const RelayHeader relay = get_relay(reader, data);
    if (nodes_.node_of(relay.destination) == node_)
      put_relay(for_member(relay.destination), relay, data);
    else
      pass_on(relay, data);
  }
}

Writer& ByNode::for_member(Rank rank) {
  const auto found = std::ranges::lower_bound(members_, rank);
  LANEWAY_ASSERT(found != members_.end() && *found == rank);
  return for_members_[static_cast<std::size_t>(found - members_.begin())];
}

/// Each begins after itself, so that not all tell the same one first.
void ByNode::scatter_to_members() {
  has_scattered_ = true;
  const auto own = static_cast<std::size_t>(place_);
  for (std::size_t i = 1; i <= members_.size(); ++i) {
    const std::size_t member = (own + i) % members_.size();
    Writer writer;
    writer.put(votes_received());
    writer.put(straight_to(members_[member]));
    Bytes scattered = writer.take();
    const Bytes payloads = for_members_[member].take();
    scattered.insert(scattered.end(), payloads.begin(), payloads.end());
    if (member == own)
      on_scatter(scattered);
    else if (board_ == nullptr || !board_->put(member, round_, scattered))
      messenger_.send(members_[member], Topic::scatter, 0, std::move(scattered));
  }
}

void ByNode::on_scatter(std::span<const std::byte> data) {
  Reader reader(data);
  all_.merge(reader.get<RoundVotes>());
  const auto straight = reader.get<std::int32_t>();
  on_own(reader, straight);
  is_scattered_ = --scatterers_ == 0;
}

/// `straight`: payloads that come from other nodes, in addition to those that are named.
void ByNode::on_own(Reader& reader, int straight) {
  straight_ += straight;
  Bytes data;
  while (!reader.done()) {
    const RelayHeader relay = get_relay(reader, data);
    if (relay.straight)
      ++straight_;
    else
      received_.push_back({relay.source, std::move(data)});
  }
}

}  // namespace laneway
