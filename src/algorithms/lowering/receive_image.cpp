#include "algorithms/lowering/receive_image.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes/ranges.hpp"
#include "base/bytes/sort_unique.hpp"
#include "plan/writer/append_run.hpp"
#include "plan/writer/copy_runs.hpp"
#include "plan/writer/reserve.hpp"

namespace laneway {

namespace {

/// What a step does to the receive buffer. What it combines it reads and writes.
struct Touched {
  RangeSet read;
  RangeSet written;

  [[nodiscard]] bool meets(const RangeSet& set) const {
    return !intersect(set, read).empty() || !intersect(set, written).empty();
  }
};

/// Copies between buffer and shadow are those of a pass before.
bool is_of_a_pass(const Step& step) {
  return step.from == Buffer::shadow || step.to == Buffer::shadow;
}

RangeSet set_of(const End& end) {
  std::vector<Range> ranges;
  end.for_each([&](Buffer buffer, Range range, std::int64_t) {
    if (buffer == Buffer::receive) ranges.push_back(range);
  });
  return RangeSet(std::move(ranges));
}

Touched touched_by(const Step& step) {
  if (step.kind == StepKind::send) return {set_of(step.span), {}};
  if (step.kind == StepKind::receive) return {{}, set_of(step.span)};
  if (step.kind != StepKind::move || is_of_a_pass(step)) return {};
  std::vector<Range> read;
  std::vector<Range> written;
  for_each_block(step.runs, [&](const CopyRun& block) {
    if (step.from == Buffer::receive) read.push_back({block.from, block.bytes});
    if (step.to != Buffer::receive) return;
    written.push_back({block.to, block.bytes});
    if (combines(step)) read.push_back({block.to, block.bytes});
  });
  return {RangeSet(std::move(read)), RangeSet(std::move(written))};
}

class ReceiveImage {
 public:
  ReceiveImage(Plan plan, const OnDevice& buffers) : plan_(std::move(plan)), buffers_(buffers) {}

  Plan take() {
    for (const Step& step : plan_.steps) touched_.push_back(touched_by(step));
    find_image();
    if (block_.bytes() == 0) return std::move(plan_);
    begin_ = reserve(plan_.shadow_bytes, block_.bytes());
    find_cuts();
    std::vector<Step> old = std::exchange(plan_.steps, {});
    const RangeSet fetched = find_fetched();
    for (Piece& piece : pieces_of(fetched)) {
      piece.step = add(copy_of(piece.bytes, true), {});
      fetched_.push_back(std::move(piece));
    }
    for (std::size_t s = 0; s < old.size(); ++s) rewrite(std::move(old[s]), s);
    for (const Piece& piece : pieces_of(written_)) add(copy_of(piece.bytes, false), writers_of(piece.bytes));
    return std::move(plan_);
  }

 private:
  /// Bytes of the buffer that one step copies.
  struct Piece {
    RangeSet bytes;
    int step = -1;
  };
  /// What a step has become: one step, or pieces.
  using Place = std::vector<Piece>;

  /// Bytes that are read, by others than those that combine, or written again; and whatever a step that touches such
  /// bytes touches.
  void find_image() {
    RangeSet image;
    RangeSet once;
    RangeSet combined;
    for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
      const auto& [read, written] = touched_[s];
      if (combines(plan_.steps[s]) && !written.empty()) {
        combined = unite(combined, written);
        image = unite(image, subtract(read, written));
        continue;
      }
      image = unite(image, unite(read, intersect(once, written)));
      once = unite(once, written);
    }
    image = unite(image, intersect(once, combined));
    in_image_.assign(plan_.steps.size(), false);
    for (bool grows = !image.empty(); grows;) {
      grows = false;
      for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
        if (in_image_[s] || !touched_[s].meets(image)) continue;
        in_image_[s] = grows = true;
        image = unite(image, unite(touched_[s].read, touched_[s].written));
      }
    }
    block_ = Block(std::move(image));
  }

  /// What is read before it is written.
  RangeSet find_fetched() {
    RangeSet fetched;
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      if (!in_image_[s]) continue;
      fetched = unite(fetched, subtract(touched_[s].read, written_));
      written_ = unite(written_, touched_[s].written);
    }
    return fetched;
  }

  /// Where what steps touch begins and ends.
  void find_cuts() {
    for (std::size_t s = 0; s < touched_.size(); ++s) {
      if (!in_image_[s]) continue;
      for (const RangeSet* set : {&touched_[s].read, &touched_[s].written}) {
        if (set->empty()) continue;
        cuts_.insert(set->ranges().front().offset);
        cuts_.insert(set->ranges().back().end());
      }
    }
  }

  /// Cuts a set, and joins what is small.
  [[nodiscard]] std::vector<Piece> pieces_of(const RangeSet& set) const {
    std::vector<Piece> pieces;
    std::vector<Range> open;
    std::int64_t bytes = 0;
    const auto close = [&] {
      if (!open.empty()) pieces.push_back({RangeSet(std::exchange(open, {})), -1});
      bytes = 0;
    };
    for (Range range : set.ranges()) {
      while (range.bytes > 0) {
        const auto cut = cuts_.upper_bound(range.offset);
        const std::int64_t end = cut == cuts_.end() ? range.end() : std::min(*cut, range.end());
        const Range part{range.offset, end - range.offset};
        if (bytes + part.bytes > device_copy_bytes) close();
        open.push_back(part);
        bytes += part.bytes;
        range = {end, range.end() - end};
      }
    }
    close();
    return pieces;
  }

  [[nodiscard]] RangeList located(const RangeList& list) const {
    RangeList there;
    there.append(block_.locate(list), begin_);
    return there;
  }

  [[nodiscard]] Step copy_of(const RangeSet& bytes, bool fetches) const {
    Step copy;
    copy.stage = fetches ? Stage::gather : Stage::scatter;
    copy.from = fetches ? Buffer::receive : Buffer::shadow;
    copy.to = fetches ? Buffer::shadow : Buffer::receive;
    const RangeList there = bytes.list();
    copy.runs = fetches ? copy_runs(there, located(there)) : copy_runs(located(there), there);
    return copy;
  }

  [[nodiscard]] End in_image(const End& end) const {
    std::vector<Segment> parts;
    end.for_each_part([&](Buffer buffer, const RangeList& ranges) {
      if (buffer == Buffer::receive)
        parts.push_back({Buffer::shadow, located(ranges)});
      else
        parts.push_back({buffer, ranges});
    });
    return {std::move(parts), end.is_scattered() ? end.stream() : RangeList{{0, end.bytes}}, end.bytes};
  }

  /// By blocks: a combining move may name a place several times, in an order that stays.
  [[nodiscard]] std::vector<CopyRun> in_image(const Step& step) const {
    std::vector<CopyRun> runs;
    const auto place = [&](std::int64_t offset, std::int64_t bytes) {
      return begin_ + block_.locate({{offset, bytes}}).contiguous()->offset;
    };
    for_each_block(step.runs, [&](CopyRun block) {
      if (step.from == Buffer::receive) block.from = place(block.from, block.bytes);
      if (step.to == Buffer::receive) block.to = place(block.to, block.bytes);
      append_run(runs, block);
    });
    return runs;
  }

  void rewrite(Step step, std::size_t s) {
    std::vector<int> after = steps_before(step.after, touched_[s]);
    step.after.clear();
    if (!in_image_[s]) {
      here_.push_back({{{}, add(std::move(step), std::move(after))}});
      return;
    }
    for (const Piece& piece : fetched_)
      if (touched_[s].meets(piece.bytes)) after.push_back(piece.step);
    const bool is_brought = is_copy(step) && !combines(step) && step.from == Buffer::send && buffers_.send;
    if (step.kind == StepKind::move) {
      here_.push_back(is_brought ? in_pieces(step, touched_[s].written, after) : Place{});
      if (is_brought) return;
      step.runs = in_image(step);
      if (step.from == Buffer::receive) step.from = Buffer::shadow;
      if (step.to == Buffer::receive) step.to = Buffer::shadow;
    } else {
      here_.emplace_back();
      step.span = in_image(step.span);
    }
    here_.back().push_back({touched_[s].written, add(std::move(step), std::move(after))});
  }

  /// Of a copy from the device: what needs the first bytes need not wait for the last.
  Place in_pieces(const Step& step, const RangeSet& written, const std::vector<int>& after) {
    Place pieces = pieces_of(written);
    std::vector<std::vector<CopyRun>> runs(pieces.size());
    for_each_block(step.runs, [&](const CopyRun& block) {
      const RangeSet whole{{block.to, block.bytes}};
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        const RangeSet in_piece = intersect(whole, pieces[p].bytes);
        for (const Range& part : in_piece.ranges()) {
          const std::int64_t to = begin_ + block_.locate({part}).contiguous()->offset;
          append_run(runs[p], {block.from + part.offset - block.to, to, part.bytes, 0, 0, 1});
        }
      }
    });
    for (std::size_t p = 0; p < pieces.size(); ++p) {
      Step part = step;
      part.to = Buffer::shadow;
      part.runs = std::move(runs[p]);
      pieces[p].step = add(std::move(part), after);
    }
    return pieces;
  }

  /// Where a step has become pieces, those of the bytes in question; all if none of them is.
  [[nodiscard]] std::vector<int> steps_before(const std::vector<int>& before, const Touched& touched) const {
    std::vector<int> steps;
    for (const int earlier : before) {
      const Place& place = here_[static_cast<std::size_t>(earlier)];
      const std::size_t first = steps.size();
      for (const Piece& piece : place)
        if (place.size() == 1 || touched.meets(piece.bytes)) steps.push_back(piece.step);
      if (steps.size() > first) continue;
      for (const Piece& piece : place) steps.push_back(piece.step);
    }
    return steps;
  }

  [[nodiscard]] std::vector<int> writers_of(const RangeSet& bytes) const {
    std::vector<int> steps;
    for (const Place& place : here_)
      for (const Piece& piece : place)
        if (!intersect(bytes, piece.bytes).empty()) steps.push_back(piece.step);
    return steps;
  }

  int add(Step step, std::vector<int> after) {
    step.after = std::move(after);
    sort_unique(step.after);
    plan_.steps.push_back(std::move(step));
    return static_cast<int>(plan_.steps.size()) - 1;
  }

  Plan plan_;
  const OnDevice buffers_;
  std::vector<Touched> touched_;  // by step of the plan before
  std::vector<bool> in_image_;
  Block block_{RangeSet{}};
  std::int64_t begin_ = 0;  // in the shadow
  std::set<std::int64_t> cuts_;
  std::vector<Piece> fetched_;
  RangeSet written_;         // in the image
  std::vector<Place> here_;  // by step of the plan before
};

}  // namespace

Plan with_receive_image(Plan plan, const OnDevice& buffers) {
  return buffers.receive ? ReceiveImage(std::move(plan), buffers).take() : std::move(plan);
}

}  // namespace laneway
