#include "runtime/carriers/node/node_steps.hpp"

#include <algorithm>
#include <utility>

#include "runtime/carriers/node/sharing.hpp"

namespace laneway {

NodeSteps::NodeSteps(Bootstrap& bootstrap, const Region& node, bool may_share)
    : own_(static_cast<std::size_t>(std::ranges::lower_bound(node.members, bootstrap.rank()) - node.members.begin())) {
  static_assert(kinds * sizeof(std::uint64_t) <= cache_line);
  if (node.members.size() == 1)
    words_.push_back(reinterpret_cast<std::byte*>(alone_.data()));
  else if (may_share)
    memory_ = share_windows(bootstrap, node, cache_line);
  if (memory_) words_ = memory_->windows();
}

void NodeSteps::set_once(Word kind, std::uint64_t step) const {
  if (std::byte* const own = word(own_, kind); seen(own) == 0) raise(own, step);
}

bool NodeSteps::all_reached(std::uint64_t step) {
  if (std::exchange(awaited_, step) != step) seen_ = 0;
  while (seen_ < words_.size() && seen(word(seen_, Word::reached)) >= step) ++seen_;
  return seen_ == words_.size();
}

bool NodeSteps::some(Word kind, std::uint64_t step) const {
  for (std::size_t rank = 0; rank < words_.size(); ++rank)
    if (const std::uint64_t in = seen(word(rank, kind)); in != 0 && in <= step) return true;
  return false;
}

}  // namespace laneway
