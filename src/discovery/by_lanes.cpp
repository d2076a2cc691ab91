// The first rank of a node speaks for it to each node that its ranks speak to, or only counts for them. The first ranks
// know by a consensus, or by counts, that they have heard all.
#include <map>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "discovery/by_node.hpp"
#include "discovery/by_steps.hpp"
#include "discovery/places.hpp"

namespace laneway {

namespace {

/// How the first ranks of nodes know that they have heard all.
enum class Ending { consensus, count };

class ByLanes final : public ByNode {
 public:
  ByLanes(Post& post, const RoundSetting& setting, Ending ending, bool straight)
      : ByNode(post, setting, 1),
        ending_(ending),
        all_straight_(straight),
        consensus_(post, Places{node_, nodes_.nodes(), &nodes_}),
        counting_(post, Places{node_, nodes_.nodes(), &nodes_}) {}

 private:
  [[nodiscard]] bool goes_straight(const Note& note) const override {
    return ByNode::goes_straight(note) || (all_straight_ && nodes_.node_of(note.peer) != node_);
  }

  void pass_on(const Passage& passage, const Bytes& data) override {
    if (all_straight_)
      ++counts_[passage.destination];
    else
      put_passage(lanes_[nodes_.node_of(passage.destination)], passage, data);
  }

  /// Each begins with the node after its own, so that not all send to the same one first.
  void speak() override {
    if (ending_ == Ending::count) {
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
  }

  void hear(const Mail& mail) override {
    if (mail.topic == Topic::consensus) return consensus_.on(mail);
    if (mail.topic == Topic::count) return counting_.on(mail);
    LANEWAY_ASSERT(mail.topic == Topic::lane);
    ++lanes_taken_;
    Reader reader(mail.data);
    route(reader);
  }

  [[nodiscard]] bool has_heard_all() override {
    if (ending_ == Ending::count)
      return counting_.done() && (all_straight_ || lanes_taken_ == counting_.count(leader_));
    if (!consensus_.begun() && post_.all_taken()) consensus_.begin(votes_);
    return consensus_.done();
  }

  [[nodiscard]] const RoundVotes& votes_heard() const override {
    return ending_ == Ending::count ? counting_.votes() : consensus_.votes();
  }

  [[nodiscard]] std::int32_t straight_to(Rank rank) const override { return all_straight_ ? counting_.count(rank) : 0; }

  const Ending ending_;
  const bool all_straight_;
  Consensus consensus_;
  Counting counting_;
  std::map<Rank, Writer> lanes_;  // by node
  Counting::Counts counts_;
  int lanes_taken_ = 0;
};

}  // namespace

std::unique_ptr<Finder> make_nbx_node(Post& post, const RoundSetting& setting) {
  return std::make_unique<ByLanes>(post, setting, Ending::consensus, false);
}
std::unique_ptr<Finder> make_personalized_node(Post& post, const RoundSetting& setting) {
  if (setting.route.way == NodeWay::steps) return make_by_steps(post, setting);
  return std::make_unique<ByLanes>(post, setting, Ending::count, setting.route.way == NodeWay::straight);
}

}  // namespace laneway
