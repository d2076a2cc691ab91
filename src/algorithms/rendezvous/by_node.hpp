#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "algorithms/rendezvous/relay_header.hpp"

namespace laneway {

/// What finders that know nodes have in common. Each rank hands what it says to ranks that are delegates for its node:
/// the first one, or several, each for some of the others. When these know that they have heard all, each tells the
/// ranks of its node what it has for them. Where the ranks of a node share memory and one is the delegate, they write
/// and read it there, and only the first ranks send messages. Long payloads go straight to their receivers.
class ByNode : public Finder {
 public:
  ByNode(Messenger& messenger, const RoundSetting& setting, Rank delegates);

  void start(std::vector<Payload> payloads, const RoundVotes& votes) final;
  void on(RoundMessage incoming) final;
  bool proceed() final;
  [[nodiscard]] bool listens() const final { return listens_ || has_sent_ || is_scattered_; }

 protected:
  /// @name What happens between nodes
  /// @{
  [[nodiscard]] virtual bool goes_straight(const Payload& payload) const;
  /// Which of the ranks that are delegates is handed this, by the rank that says it.
  [[nodiscard]] virtual Rank delegate_for(const RelayHeader&) const { return 0; }
  /// What goes to another node; of ranks that are delegates.
  virtual void pass_on(const RelayHeader& relay, const Bytes& data) = 0;
  /// All ranks of the node have been heard.
  virtual void send_between_nodes() = 0;
  virtual void on_node_message(const RoundMessage& incoming) = 0;
  /// Whether nothing is under way to this rank for its node; never before it has spoken.
  [[nodiscard]] virtual bool has_received_all() = 0;
  /// Of all ranks, or as far as this one has heard: then the others tell the rest.
  [[nodiscard]] virtual const RoundVotes& votes_received() const = 0;
  /// Payloads that come straight to a rank of the node though no header says so.
  [[nodiscard]] virtual std::int32_t straight_to(Rank) const { return 0; }
  /// @}

  /// Puts payloads where they go next.
  void route(Reader& reader);
  [[nodiscard]] bool is_delegate() const { return place_ < delegates_; }

  Messenger& messenger_;
  const NodeMap& nodes_;
  const Rank node_;
  const Rank leader_;
  const Rank place_;      // among the ranks of the node, as far as it is among those that follow the first
  const Rank delegates_;  // the first so many ranks of the node
  RoundVotes votes_;      // of those that have been heard

 private:
  void send(Rank to, Topic topic, Bytes data);
  void look_at_board();
  void on_member(std::span<const std::byte> data);
  [[nodiscard]] Writer& for_member(Rank rank);
  void scatter_to_members();
  void on_scatter(std::span<const std::byte> data);
  void on_own(Reader& reader, int straight);

  NodeBoard* const board_;
  const std::int64_t round_;
  const std::uint8_t way_;
  bool listens_;
  bool has_sent_ = false;
  // Of ranks that are delegates.
  std::vector<Rank> members_;
  std::vector<Writer> for_members_;
  std::size_t members_received_ = 0;
  std::size_t looked_at_ = 1;  // members on the board, this rank first
  bool has_scattered_ = false;
  // Of each rank.
  Rank scatterers_;  // that it has not been told by
  bool is_scattered_ = false;
  int straight_ = 0;  // payloads that are to come straight; less than 0 where some were faster
};

}  // namespace laneway
