#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "plan/verify/execution/rings.hpp"
#include "plan/verify/verify.hpp"

namespace laneway::verification {

/// Adds a problem to a report, which keeps the first few.
void complain(Report& report, std::string problem);
/// Further problems would not be kept, so that nobody need look for them.
inline constexpr std::size_t most_problems = 8;
[[nodiscard]] inline bool is_full(const Report& report) {
  return report.problems.size() >= most_problems;
}

/// "rank 3 step 5 (send to 7, channel 2)".
[[nodiscard]] std::string describe(const Plan& plan, int step);

/// Blocks of all copies, which the provers look at one by one: runs are short to write, and may stand for any number.
/// No more than one more than `most_blocks`.
inline constexpr std::int64_t most_blocks = std::int64_t{1} << 25;
[[nodiscard]] std::int64_t blocks(std::span<const Plan> plans);

struct Message {
  std::uint64_t pair = 0;  // source, destination
  int channel = 0;
  int step = 0;  // in Program

  [[nodiscard]] Rank from() const { return static_cast<Rank>(pair >> 32); }
  [[nodiscard]] Rank to() const { return static_cast<Rank>(pair & 0xffffffffU); }
  [[nodiscard]] bool same_channel(const Message& other) const { return pair == other.pair && channel == other.channel; }
  friend auto operator<=>(const Message&, const Message&) = default;
};

/// A step comes after a point of the exchange that is earlier by `lag`, if there is one. Points are steps, and the
/// start and the end of each rank's exchange; -1: a word that nobody raises.
struct Await {
  int point = -1;
  std::int64_t lag = 0;
};

/// The well-formed plans of all ranks as one program: steps numbered through, messages and words paired. After the
/// steps come the points at which a rank starts an exchange, and those at which it completes it.
class Program {
 public:
  explicit Program(std::span<const Plan> plans);

  [[nodiscard]] int steps() const { return first_.back(); }
  [[nodiscard]] int ranks() const { return static_cast<int>(plans_.size()); }
  [[nodiscard]] int points() const { return steps() + 2 * ranks(); }
  [[nodiscard]] int started(Rank rank) const { return steps() + rank; }
  [[nodiscard]] int completed(Rank rank) const { return steps() + ranks() + rank; }
  [[nodiscard]] const Plan& plan(Rank rank) const { return plans_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] int first(Rank rank) const { return first_[static_cast<std::size_t>(rank)]; }
  /// Of any point.
  [[nodiscard]] Rank rank(int point) const {
    return point < steps() ? rank_[static_cast<std::size_t>(point)] : (point - steps()) % ranks();
  }
  [[nodiscard]] int local(int step) const { return step - first(rank(step)); }
  [[nodiscard]] const Step& step(int step) const {
    return plan(rank(step)).steps[static_cast<std::size_t>(local(step))];
  }
  /// The other side of a message; -1 if it has none.
  [[nodiscard]] int partner(int step) const { return partner_[static_cast<std::size_t>(step)]; }
  /// Who raises the flag that a step awaits, and who awaits the one that it raises; -1: nobody, or there is none.
  [[nodiscard]] int raiser(int step) const { return raiser_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] int awaiter(int step) const { return awaiter_[static_cast<std::size_t>(step)]; }
  [[nodiscard]] std::string describe(int point) const;

  /// All sends and all receives, by channel and then in plan order.
  [[nodiscard]] const std::vector<Message>& sends() const { return sends_; }
  [[nodiscard]] const std::vector<Message>& receives() const { return receives_; }

  /// Whether ranks touch memory of others: then exchanges follow each other without a barrier between them.
  [[nodiscard]] bool shares_memory() const { return shares_memory_; }
  /// After so many exchanges all places are used again.
  [[nodiscard]] int period() const { return period_; }
  /// Whether staging memory is shared with other plans, and the step that says that a rank's may be written; -1: none.
  [[nodiscard]] bool shares_staging() const { return shares_staging_; }
  [[nodiscard]] int opening(Rank rank) const { return opening_[static_cast<std::size_t>(rank)]; }
  /// What a step waits for beside the steps in its `after`.
  [[nodiscard]] std::span<const Await> awaits(int step) const {
    const auto s = static_cast<std::size_t>(step);
    return std::span(awaits_).subspan(static_cast<std::size_t>(await_begin_[s]),
                                      static_cast<std::size_t>(await_begin_[s + 1] - await_begin_[s]));
  }
  /// What is wrong about the words.
  [[nodiscard]] const Report& words() const { return words_; }

 private:
  void pair_messages();
  void pair_words();
  void find_awaits();
  void await(const Step& gate, Rank rank, const std::vector<std::vector<Rank>>& takers);

  std::span<const Plan> plans_;
  std::vector<int> first_;
  std::vector<Rank> rank_;
  std::vector<int> partner_;
  std::vector<int> raiser_;
  std::vector<int> awaiter_;
  std::vector<Message> sends_;
  std::vector<Message> receives_;
  bool shares_memory_ = false;
  bool shares_staging_ = false;
  int period_ = 1;
  std::vector<int> opening_;
  std::vector<int> await_begin_;
  std::vector<Await> awaits_;
  Report words_;
};

class Before;
struct Clash;

/// What the provers of memory that ranks share need: both grow with the number of exchanges that are unrolled.
struct SharedMemory {
  const Before& before;
  const std::vector<Clash>& clashes;
};

/// well_formed; `reads_receive`: steps may read the receive buffer, too.
Report check_form(std::span<const Plan> plans, bool reads_receive);

// The provers, for plans that are known to be well formed. `shared` is null where ranks share no memory.
Report prove_matching(const Program& program);
Report prove_race_free(const Program& program, const SharedMemory* shared);
Report prove_deadlock_free(const Program& program);
Report prove_reuse(const Program& program, const SharedMemory& shared);
Report prove_delivery(const Program& program, std::span<const RankPattern> pattern, const Combination* how);
Report prove_outcomes(const Program& program, std::span<const std::vector<DenseOutcome>> outcomes,
                      const Combination* how);

}  // namespace laneway::verification
