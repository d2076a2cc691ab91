#include "operations/plans/typed_plan.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <utility>
#include <vector>

#include "base/bytes/disjoint.hpp"
#include "base/simulated.hpp"
#include "mpi/quirks.hpp"
#include "plan/writer/writer.hpp"
#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

namespace {

bool moves(const TypedEdge& edge) {
  return edge.bytes() > 0;
}

Range hull_of(const std::vector<TypedEdge>& edges) {
  Range all;
  for (const TypedEdge& edge : edges) {
    if (!moves(edge)) continue;
    const Range own = edge.map->hull_of(edge.count, edge.offset);
    const std::int64_t begin = all.bytes == 0 ? own.offset : std::min(all.offset, own.offset);
    const std::int64_t end = all.bytes == 0 ? own.end() : std::max(all.end(), own.end());
    all = {begin, end - begin};
  }
  return all;
}

bool on_device(const TypedPattern& pattern, const Buffers& buffers) {
  return may_have_devices() && look_at(buffers, Extents{hull_of(pattern.out), hull_of(pattern.in)}).on_device().any();
}

bool are_misplaced_by_mpi(const std::vector<TypedEdge>& edges) {
  return std::ranges::any_of(edges, [](const TypedEdge& edge) {
    return quirks.misplaces_backward_types && moves(edge) && edge.map->goes_backward;
  });
}

/// Whether a place may be named twice, of which the last value counts.
bool may_overlap(const std::vector<TypedEdge>& in) {
  std::vector<Range> hulls;
  hulls.reserve(in.size());
  for (const TypedEdge& edge : in) {
    if (!moves(edge)) continue;
    const TypeMap& map = *edge.map;
    if (!map.names_no_byte_twice || (edge.count > 1 && map.hull.bytes > std::abs(map.extent))) return true;
    hulls.push_back(map.hull_of(edge.count, edge.offset));
  }
  const auto by_offset = [](const Range& a, const Range& b) { return a.offset < b.offset; };
  if (!std::is_sorted(hulls.begin(), hulls.end(), by_offset)) std::sort(hulls.begin(), hulls.end(), by_offset);
  const auto meet = [](const Range& a, const Range& b) { return a.end() > b.offset; };
  if (std::adjacent_find(hulls.begin(), hulls.end(), meet) == hulls.end()) return false;
  // Blocks of one edge may lie in the gaps of another.
  std::vector<RangeList> lists;
  lists.reserve(in.size());
  for (const TypedEdge& edge : in) lists.push_back(edge.map->elements(edge.count, edge.offset));
  std::vector<const RangeList*> pointers;
  for (const RangeList& list : lists) pointers.push_back(&list);
  return !surely_disjoint(pointers);
}

class TypedPlanner {
 public:
  TypedPlanner(Rank rank, const TypedPattern& pattern) : rank_(rank), pattern_(pattern) { plan_.rank = rank; }

  /// False if edges of this rank to itself do not fit together.
  bool copy_own() {
    std::vector<const TypedEdge*> received;
    for (const TypedEdge& edge : pattern_.in)
      if (edge.peer == rank_ && moves(edge)) received.push_back(&edge);
    std::size_t n = 0;
    for (const TypedEdge& edge : pattern_.out) {
      if (edge.peer != rank_ || !moves(edge)) continue;
      if (n == received.size() || received[n]->bytes() != edge.bytes()) return false;
      const TypedEdge& in = *received[n++];
      const std::optional<Range> from = edge.map->contiguous(edge.count, edge.offset);
      const std::optional<Range> to = in.map->contiguous(in.count, in.offset);
      if (!from || !to) {
        own_messages_ = true;
        continue;
      }
      Step step;
      step.kind = StepKind::move;
      step.runs = {{from->offset, to->offset, from->bytes, 0, 0, 1}};
      plan_.steps.push_back(std::move(step));
    }
    // They find each other in order, so all are messages if one is.
    if (own_messages_) plan_.steps.clear();
    return n == received.size();
  }

  TypedPlan finish() {
    for (const TypedEdge& edge : pattern_.in) add(StepKind::receive, edge);
    channels_.clear();
    for (const TypedEdge& edge : pattern_.out) add(StepKind::send, edge);
    return {std::make_shared<const Plan>(std::move(plan_)), has_types_ ? std::move(elements_) : nullptr};
  }

 private:
  void add(StepKind kind, const TypedEdge& edge) {
    if (!moves(edge) || (edge.peer == rank_ && !own_messages_)) return;
    const std::optional<Range> whole = edge.map->contiguous(edge.count, edge.offset);
    const int channel = channel_of(Stage::direct, channels_[edge.peer]++);
    const std::int64_t first = edge.map->hull_of(edge.count, edge.offset).offset;
    const Span span{kind == StepKind::send ? Buffer::send : Buffer::receive, first, edge.bytes()};
    plan_.steps.push_back(message_of(kind, Stage::direct, edge.peer, channel, span));
    has_types_ = has_types_ || !whole;
    const Elements elements = whole ? Elements{} : Elements{edge.type, edge.count, edge.offset - first};
    if (kind == StepKind::send)
      elements_->add_send(elements);
    else
      elements_->add_receive(elements);
  }

  const Rank rank_;
  const TypedPattern& pattern_;
  Plan plan_;
  std::shared_ptr<MessageElements> elements_ = std::make_shared<MessageElements>();
  std::map<Rank, int> channels_;
  bool own_messages_ = false;
  bool has_types_ = false;
};

}  // namespace

std::optional<TypedPlan> plan_typed(Rank rank, const TypedPattern& pattern, const Buffers& buffers) {
  if (simulated || are_misplaced_by_mpi(pattern.in) || are_misplaced_by_mpi(pattern.out)) return std::nullopt;
  if (may_overlap(pattern.in) || on_device(pattern, buffers)) return std::nullopt;
  TypedPlanner planner(rank, pattern);
  if (!planner.copy_own()) return std::nullopt;
  return planner.finish();
}

}  // namespace laneway
