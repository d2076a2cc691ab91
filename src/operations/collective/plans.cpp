#include "operations/collective/plans.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/lowering/pack.hpp"
#include "base/bytes/wire.hpp"
#include "communicator/background.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/library.hpp"

namespace laneway {

namespace {

/// There is no other than this one.
Candidates only(std::string_view name, std::string why) {
  return {.reasons = {.rule_reason = std::move(why)}, .only = std::string(name)};
}
Candidates only_mpi(std::string why) {
  return only("mpi", std::move(why));
}

/// Whether all messages of a node are short enough for memory that its ranks share. Equal on all ranks.
bool is_in_memory(const DenseKnowledge& known, const DenseFacts& facts, const DenseMay& may) {
  const Hints& hints = known.hints;
  const bool all_share =
      hints.sharing == Sharing::all || (hints.sharing != Sharing::none && known.layout.regions() == 1);
  // What is reduced on a node is cut into as many parts as it has ranks.
  const bool is_cut = facts.kind == Dense::allreduce || facts.kind == Dense::reduce;
  const std::int64_t parts = is_cut ? known.layout.largest() : 1;
  return may.use_memory && all_share && facts.bytes / parts <= hints.local.mailbox_bytes;
}

/// Whether rules that use memory of the node are known to be faster there than MPI's own, by measurement.
bool is_fast_on_one_node(Dense kind) {
  return kind == Dense::allgather || kind == Dense::allreduce || kind == Dense::barrier || kind == Dense::bcast ||
         kind == Dense::reduce;
}

/// Why costs are not asked; empty: they are.
std::string obstacle(const DenseKnowledge& known, const CheckedCollective& checked, const DenseMay& may) {
  const DenseFacts& facts = checked.facts;
  if (known.layout.regions() == 1 && !(is_in_memory(known, facts, may) && is_fast_on_one_node(facts.kind)))
    return "all ranks are on one node, where MPI's own is not known to be slower";
  // Rules would send what MPI's own algorithms do, among which it chooses by measurements that costs know nothing of.
  if (known.layout.largest() == 1) return "each rank has a node of its own, so that there is nothing to join";
  // A rule has all ranks wait for sums of nodes, and so has MPI's own nonblocking one. Where operands go by rank, a
  // rule says in which order.
  const bool may_skip = may.phases == Phases::one && !facts.in_order && !checked.call.any_order;
  if (facts.kind == Dense::reduce_scatter && may_skip && facts.bytes < known.layout.ranks() * facts.element_bytes)
    return "there are fewer elements than ranks, and MPI's own leaves out those that have none";
  if (!knows_all_sizes(checked.call.kind) && !may.know_mean) return "no rank knows the sizes of all blocks";
  return "";
}

/// Whether short blocks travel together, of which only their two ends know how long they are.
bool is_bundled(const DenseKnowledge& known, const CheckedCollective& checked, const DenseMay& may) {
  // On one node MPI's own nonblocking one goes on without anybody who would have to advance it.
  const bool is_worth_it = known.layout.regions() > 1 || may.phases == Phases::one;
  return checked.facts.kind == Dense::alltoall && !knows_all_sizes(checked.call.kind) && !may.know_mean &&
         is_worth_it && known.layout.largest() > 1 && known.hints.sharing != Sharing::none;
}

/// What a rank that passes on data has of it at a time, at most.
std::int64_t staging_of(const DenseRule& rule, const DenseFacts& facts, const Layout& layout) {
  if (!rule.traits.relays) return 0;
  const std::int64_t ranks = layout.ranks();
  switch (facts.kind) {
    case Dense::alltoall:
      // Where blocks hop, about a half of them waits after each hop.
      return facts.bytes * ranks * std::max(layout.largest(), static_cast<Rank>(std::bit_width(std::uint64_t(ranks))));
    case Dense::allgather:
    case Dense::gather:
    case Dense::scatter:
      return facts.bytes * ranks;
    default:
      return facts.bytes;
  }
}

/// Whether a request would be through only when all ranks wait for theirs.
bool waits_for_all(const DenseRule& rule, const Hints& hints, Phases phases) {
  return rule.traits.windows != Windows::none && phases == Phases::split && hints.progress != ProgressHint::wait;
}

/// What a blocking call by a plan takes besides what the model knows: some 600 instructions that look it up, and start
/// and end its steps. MPI's own times have those of MPI's calls in them.
constexpr double seconds_of_call = 2e-7;

/// What MPI's own blocking operation was measured to take on this machine; none: it was not.
std::optional<double> own_seconds(const DenseKnowledge& known, const DenseFacts& facts, const DenseMay& may) {
  const OwnCollectives& own = known.parameters->own_collectives;
  if (own.mpi.empty() || may.phases == Phases::split || own.ranks != known.layout.ranks() ||
      own.nodes != known.layout.regions() || !library_version().starts_with(own.mpi))
    return std::nullopt;
  return own.seconds(name(facts.kind), facts.bytes);
}

/// `own`: none: MPI's own operation was not measured.
void compare_own(Candidates& candidates, std::optional<double> own) {
  std::vector<Candidate>& all = candidates.reasons.candidates;
  all.front().seconds = own;
  const double rule = *all[1].seconds + seconds_of_call;
  if (!own || *own > rule) return;
  char text[200];
  std::snprintf(text, sizeof text, "MPI's own was measured here to take %.3g us, and %s is expected to take %.3g us",
                *own * 1e6, candidates.cheapest.c_str(), rule * 1e6);
  candidates.reasons.rule_reason = text;
  candidates.cheapest = "mpi";
}

}  // namespace

Candidates candidates_of(const DenseKnowledge& known, const CheckedCollective& checked, const DenseMay& may) {
  if (const char* const why = checked.uncombinable()) return only_mpi(why);
  const Hints& hints = known.hints;
  const DenseFacts& facts = checked.facts;
  const DenseKind kind = checked.call.kind;
  const CollectiveHint hint = read_collective(hints.collective, kind);
  if (hint.is_mpi) return only_mpi("lnw_collective asks for it");
  if (hints.progress == ProgressHint::strict && (hint.rule == nullptr || hint.rule->traits.relays))
    return only_mpi("with lnw_progress=strict nothing is passed on");
  if (may.phases == Phases::split && !may_relay(hints.progress, known.have_helpers)) {
    Candidates candidates = only_mpi("nothing is passed on, since some rank has nobody to do so while it computes");
    candidates.reasons.progress_reason = candidates.reasons.rule_reason;
    return candidates;
  }
  const auto may_run = [&](const DenseRule& rule) {
    const bool asks = asks_for_sizes(rule, kind) || rule.traits.windows != Windows::none;
    return applies(rule, facts) && (may.ask_others || !asks) &&
           (may.exceed_limit || staging_of(rule, facts, known.layout) <= hints.staging_limit);
  };
  if (hint.rule != nullptr && waits_for_all(*hint.rule, hints, may.phases))
    return only_mpi("with windows each rank waits for all others, which lnw_progress=wait allows");
  if (hint.rule != nullptr && may_run(*hint.rule)) return only(hint.rule->name, "lnw_collective asks for it");
  if (is_bundled(known, checked, may))
    return only(bundled,
                "no rank knows the sizes of all blocks: short ones, left in the memory of the node, travel together");
  if (std::string why = obstacle(known, checked, may); !why.empty())
    return {.reasons = {.candidates = {{"mpi"}}, .rule_reason = std::move(why)}, .cheapest = "mpi"};
  Candidates candidates = weighed(known, facts, is_in_memory(known, facts, may) ? OnNode::memory : OnNode::messages);
  if (!may_run(*find_rule(facts.kind, candidates.cheapest))) return only_mpi("no rule is right for such a call");
  compare_own(candidates, own_seconds(known, facts, may));
  return candidates;
}

Candidates weighed(const DenseKnowledge& known, const DenseFacts& facts, OnNode on_node) {
  DenseChoice choice = choose_dense_rule(facts, known.layout, *known.parameters, settings_of(known.hints), on_node);
  Candidates candidates{.cheapest = std::string(choice.rule->name)};
  Reasons& reasons = candidates.reasons;
  reasons.parameters = known.parameters->name;
  reasons.candidates.push_back({"mpi"});
  for (const DenseCandidate& one : choice.candidates)
    reasons.candidates.push_back({std::string(one.rule->name), one.rule->traits.relays, one.seconds});
  reasons.rule_reason = std::move(choice.reason);
  return candidates;
}

DenseSettings settings_of(const Hints& hints) {
  DenseSettings settings;
  settings.leaders = hints.leaders;
  settings.radix = hints.radix;
  return settings;
}

bool asks_for_sizes(const DenseRule& rule, DenseKind kind) {
  return (rule.wants != nullptr || rule.passes != nullptr) && !has_equal_blocks(kind) && !knows_all_sizes(kind);
}

namespace {

/// What `asked` answers to all that `asker` wants of it.
std::vector<std::int64_t> answers_of(const std::vector<Want>& wants, Rank asked, const DenseCall& blocks) {
  std::vector<std::int64_t> answers;
  for (const Want& want : wants) {
    if (want.member != asked) continue;
    for (const Rank other : want.others)
      answers.push_back(want.sent ? blocks.bytes(asked, other) : blocks.bytes(other, asked));
  }
  return answers;
}

/// Nothing is announced: whoever is asked finds out by evaluating what others want.
Sizes ask_members(const DenseKnowledge& known, const DenseRule& rule, const PrivateComm& comm, const DenseCall& blocks,
                  const DenseSettings& settings) {
  const auto wants_of = [&](Rank rank) { return wanted_sizes(rule, rank, blocks.root, known.layout, settings); };
  const std::vector<Want> mine = wants_of(blocks.rank);
  std::vector<ControlMessage> control_messages;
  for (const Rank member : known.layout.members(known.layout.region(blocks.rank))) {
    if (member == blocks.rank) continue;
    const std::vector<Want> wants = wants_of(member);
    if (std::ranges::none_of(wants, [&](const Want& want) { return want.member == blocks.rank; })) continue;
    Writer writer;
    for (const std::int64_t bytes : answers_of(wants, blocks.rank, blocks)) writer.put(bytes);
    control_messages.push_back({member, writer.take()});
  }
  std::vector<Rank> from;
  for (const Want& want : mine)
    if (want.member != blocks.rank && std::ranges::count(from, want.member) == 0) from.push_back(want.member);
  const std::vector<Bytes> inbox =
      ControlRounds(comm).exchange(std::move(control_messages), from, PrivateComm::share_tag);
  std::vector<Reader> readers(inbox.begin(), inbox.end());
  std::vector<std::int64_t> answers;
  for (const Want& want : mine) {
    const auto at = static_cast<std::size_t>(std::ranges::find(from, want.member) - from.begin());
    for (const Rank other : want.others) {
      if (want.member == blocks.rank)
        answers.push_back(want.sent ? blocks.bytes(want.member, other) : blocks.bytes(other, want.member));
      else
        answers.push_back(readers[at].get<std::int64_t>());
    }
  }
  return Sizes::answered(mine, answers);
}

/// The sizes of what ranks pass on go the way of the data before it.
void pass_sizes(const DenseKnowledge& known, const DenseRule& rule, const PrivateComm& comm, DenseCall& blocks,
                const DenseSettings& settings) {
  ControlRounds rounds(comm);
  for (const std::vector<SizeHop>& hops : passed_sizes(rule, blocks.rank, known.layout, settings)) {
    std::vector<ControlMessage> told;
    std::vector<Rank> from;
    for (const SizeHop& hop : hops) {
      Writer writer;
      for (const std::int64_t bytes : blocks.bytes_of(hop.told)) writer.put(bytes);
      told.push_back({hop.to, writer.take()});
      from.push_back(hop.from);
    }
    if (hops.empty()) continue;
    const std::vector<Bytes> inbox = rounds.exchange(std::move(told), from, PrivateComm::share_tag);
    for (std::size_t i = 0; i < hops.size(); ++i) {
      std::vector<std::int64_t> bytes;
      for (Reader reader(inbox[i]); !reader.done();) bytes.push_back(reader.get<std::int64_t>());
      blocks.sizes.hear(hops[i].heard, bytes);
    }
  }
}

}  // namespace

Plan plan_dense(const DenseKnowledge& known, const DenseRule& rule, const PrivateComm& comm,
                const CheckedCollective& checked) {
  const DenseSettings settings =
      settled(rule, checked.facts, known.layout, *known.parameters, settings_of(known.hints));
  DenseCall blocks = checked.blocks();
  if (asks_for_sizes(rule, checked.call.kind)) {
    blocks.sizes = ask_members(known, rule, comm, blocks, settings);
    pass_sizes(known, rule, comm, blocks, settings);
  }
  return make_dense_plan(rule, blocks, known.layout, settings);
}

Planned plan_on_node(Communicator& communicator, const PrivateComm& comm, const DenseKnowledge& known, Plan plan) {
  Planned planned;
  planned.plan = std::make_shared<const Plan>(std::move(plan));
  Agreed agreed;
  agreed.hints = known.hints;
  agreed.regions = {known.node};
  agreed.sharing = known.sharing;
  NodeUse use;
  use.local = known.hints.local;
  localize(communicator, comm, agreed, use, planned);
  return planned;
}

ReadyPlan ready_plan(const CheckedCollective& checked, std::shared_ptr<const Plan> plan,
                     std::shared_ptr<PlanMemory> memory) {
  ReadyPlan ready{.plan = std::move(plan), .memory = std::move(memory), .is_constant = true};
  ready.combiners = checked.combiners(*ready.plan);
  return ready;
}

std::shared_ptr<const Plan> packed(Plan plan) {
  return std::make_shared<const Plan>(needs_packing(plan) ? pack(std::move(plan)) : std::move(plan));
}

}  // namespace laneway
