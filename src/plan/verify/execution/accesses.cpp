#include "plan/verify/execution/accesses.hpp"

#include <tuple>

#include "base/bytes/sort_unique.hpp"

namespace laneway::verification {

namespace {

enum class Role : std::uint8_t { source, target, sent, received, word };

/// A step that touches the memory of a rank, by one of its sides.
struct Touch {
  int step = 0;
  Role role = Role::source;
  Places places;
};

class Clashes {
 public:
  explicit Clashes(const Program& program)
      : program_(program),
        windows_(static_cast<std::size_t>(program.ranks())),
        staging_(static_cast<std::size_t>(program.ranks())) {}

  std::vector<Clash> find() {
    const std::vector<bool> shared = shared_staging(program_);
    for (int s = 0; s < program_.steps(); ++s) collect(s, shared);
    for (Rank r = 0; r < program_.ranks(); ++r) {
      search(r, Buffer::window, windows_[static_cast<std::size_t>(r)]);
      search(r, Buffer::staging, staging_[static_cast<std::size_t>(r)]);
    }
    return std::move(clashes_);
  }

 private:
  void collect(int s, const std::vector<bool>& shared) {
    const Step& step = program_.step(s);
    const Plan& plan = program_.plan(program_.rank(s));
    const auto add = [&](const Located& operand, Role role) {
      if (operand.buffer != Buffer::window && operand.buffer != Buffer::staging) return;
      const Touch touch{s, role, operand.places};
      auto& all = operand.buffer == Buffer::window ? windows_ : staging_;
      const auto home = static_cast<std::size_t>(operand.places.home);
      if (operand.buffer == Buffer::staging && !shared[home]) return;
      all[home].push_back(touch);
      if (operand.places.across != operand.places.home)
        all[static_cast<std::size_t>(operand.places.across)].push_back(touch);
    };
    if (step.kind == StepKind::send || step.kind == StepKind::receive) {
      std::vector<Buffer> buffers;
      step.span.for_each_part([&](Buffer buffer, const RangeList&) { buffers.push_back(buffer); });
      sort_unique(buffers);
      for (const Buffer buffer : buffers)
        add(message_place(plan, buffer), step.kind == StepKind::send ? Role::sent : Role::received);
      return;
    }
    if (step.kind == StepKind::move && !step.runs.empty()) {
      add(source(plan, step), Role::source);
      add(target(plan, step), Role::target);
    }
    if (step.raise) add({Buffer::window, places_of(plan, step, *step.raise)}, Role::word);
  }

  void search(Rank rank, Buffer buffer, const std::vector<Touch>& touches) {
    int period = 1;
    for (const Touch& touch : touches) period = std::max(period, touch.places.period());
    accesses_.clear();
    for (const Touch& touch : touches)
      for (int e = 0; e < period; ++e) {
        if (touch.places.rank(e) != rank) continue;
        const std::int64_t shift = touch.places.shift(e);
        const auto add = [&](std::int64_t begin, std::int64_t end, bool write) {
          if (begin < end)
            accesses_.push_back({begin + shift, end + shift, touch.step, write, touch.role == Role::word, e});
        };
        const Step& step = program_.step(touch.step);
        if (touch.role == Role::word)
          add(step.raise->offset, step.raise->offset + 8, true);
        else if (touch.role == Role::target)
          for_each_write(step, add);
        else if (touch.role == Role::source)
          for_each_read(step, add);
        else
          step.span.for_each([&](Buffer touched, Range place, std::int64_t) {
            if (touched == buffer) add(place.offset, place.end(), touch.role == Role::received);
          });
      }
    const std::size_t begin = clashes_.size();
    for_each_conflict(accesses_, [&](const Access& a, const Access& b) {
      const Access& first = a.step <= b.step ? a : b;
      const Access& second = a.step <= b.step ? b : a;
      const int later = (second.exchange - first.exchange + period) % period;
      const bool in_order_of_runs = a.write && b.write && combines(program_.step(first.step));
      if (first.step == second.step && (later > 0 || in_order_of_runs)) return;  // in that of its rank's exchanges
      const Clash clash{first.step,      second.step, later, period, rank, buffer, std::max(a.begin, b.begin),
                        a.word != b.word};
      if (clashes_.size() > begin && key(clashes_.back()) == key(clash)) return;
      clashes_.push_back(clash);
    });
    const auto own = clashes_.begin() + static_cast<std::ptrdiff_t>(begin);
    std::stable_sort(own, clashes_.end(), [](const Clash& a, const Clash& b) { return key(a) < key(b); });
    clashes_.erase(std::unique(own, clashes_.end(), [](const Clash& a, const Clash& b) { return key(a) == key(b); }),
                   clashes_.end());
  }

  static std::tuple<int, int, int, bool> key(const Clash& clash) {
    return {clash.second, clash.first, clash.later, clash.over_word};
  }

  const Program& program_;
  std::vector<std::vector<Touch>> windows_;
  std::vector<std::vector<Touch>> staging_;
  std::vector<Access> accesses_;
  std::vector<Clash> clashes_;
};

}  // namespace

std::vector<bool> shared_staging(const Program& program) {
  std::vector<bool> shared(static_cast<std::size_t>(program.ranks()), false);
  for (int s = 0; s < program.steps(); ++s) {
    const Step& step = program.step(s);
    if (step.kind == StepKind::move && (reaches_staging(step.from) || reaches_staging(step.to)))
      shared[static_cast<std::size_t>(step.peer)] = true;
  }
  return shared;
}

std::vector<Clash> find_clashes(const Program& program) {
  return Clashes(program).find();
}

}  // namespace laneway::verification
