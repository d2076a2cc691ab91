#include "operations/choose/agreed.hpp"

#include <algorithm>
#include <vector>

#include "base/simulated.hpp"

namespace laneway {

Region find_sharing(Communicator& communicator, const Hints& hints, bool translate) {
  if (hints.sharing == Sharing::none) return {};
  if constexpr (simulated)
    return simulated_costs().flag > 0 && !hints.machine.empty() ? communicator.node(hints.machine) : Region{};
  Region sharing = communicator.regions({}, translate).front();
  if (hints.sharing == Sharing::all || hints.machine.empty()) return sharing;
  const Region& described = communicator.node(hints.machine);
  std::erase_if(sharing.members, [&](Rank rank) {
    return !std::binary_search(described.members.begin(), described.members.end(), rank);
  });
  sharing.id = sharing.members.front();
  return sharing;
}

}  // namespace laneway
