#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "algorithms/rendezvous/passage.hpp"

namespace laneway {

/// What finders that know nodes have in common. Each rank hands what it says to ranks that speak for its node: the
/// first one, or several, each for some of the others. When these know that they have heard all, each tells the ranks
/// of its node what it has for them. Where the ranks of a node share memory and one speaks, they write and read it
/// there, and only the first ranks send messages. Long notes go straight to their receivers.
class ByNode : public Finder {
 public:
  ByNode(Post& post, const RoundSetting& setting, Rank speakers);

  void start(std::vector<Note> notes, const RoundVotes& votes) final;
  void on(Mail mail) final;
  bool proceed() final;
  [[nodiscard]] bool listens() const final { return listens_ || has_spoken_ || told_; }

 protected:
  /// @name What happens between nodes
  /// @{
  [[nodiscard]] virtual bool goes_straight(const Note& note) const;
  /// Which of the ranks that speak is handed this, by the rank that says it.
  [[nodiscard]] virtual Rank speaker_for(const Passage&) const { return 0; }
  /// What goes to another node; of ranks that speak.
  virtual void pass_on(const Passage& passage, const Bytes& data) = 0;
  /// All ranks of the node have been heard.
  virtual void speak() = 0;
  virtual void hear(const Mail& mail) = 0;
  /// Whether nothing is under way to this rank for its node; never before it has spoken.
  [[nodiscard]] virtual bool has_heard_all() = 0;
  /// Of all ranks, or as far as this one has heard: then the others tell the rest.
  [[nodiscard]] virtual const RoundVotes& votes_heard() const = 0;
  /// Notes that come straight to a rank of the node though no passage says so.
  [[nodiscard]] virtual std::int32_t straight_to(Rank) const { return 0; }
  /// @}

  /// Puts notes where they go next.
  void route(Reader& reader);
  [[nodiscard]] bool speaks() const { return place_ < speakers_; }

  Post& post_;
  const NodeMap& nodes_;
  const Rank node_;
  const Rank leader_;
  const Rank place_;     // among the ranks of the node, as far as it is among those that follow the first
  const Rank speakers_;  // the first so many ranks of the node
  RoundVotes votes_;     // of those that have been heard

 private:
  void send(Rank to, Topic topic, Bytes data);
  void look_at_board();
  void hear_member(std::span<const std::byte> data);
  [[nodiscard]] Writer& for_member(Rank rank);
  void tell_members();
  void be_told(std::span<const std::byte> data);
  void hear_own(Reader& reader, int straight);

  NodeBoard* const board_;
  const std::int64_t round_;
  const std::uint8_t way_;
  bool listens_;
  bool has_spoken_ = false;
  // Of ranks that speak.
  std::vector<Rank> members_;
  std::vector<Writer> for_members_;
  std::size_t members_heard_ = 0;
  std::size_t looked_at_ = 1;  // members on the board, this rank first
  bool has_told_ = false;
  // Of each rank.
  Rank tellers_;  // that it has not been told by
  bool told_ = false;
  int straight_ = 0;  // notes that are to come straight; less than 0 where some were faster
};

}  // namespace laneway
