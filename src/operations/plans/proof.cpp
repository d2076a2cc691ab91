#include "operations/plans/proof.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "algorithms/collective/expectation.hpp"
#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "base/log_line.hpp"
#include "communicator/control/control_rounds.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {

namespace {

/// Edges of no bytes may be known to one side only.
void put_edges(Writer& writer, const std::vector<Edge>& edges) {
  std::size_t count = 0;
  for (const Edge& edge : edges) count += edge.ranges.empty() ? 0 : 1;
  writer.put(count);
  for (const Edge& edge : edges) {
    if (edge.ranges.empty()) continue;
    writer.put(edge.peer);
    writer.put(edge.ranges);
  }
}

std::vector<Edge> get_edges(Reader& reader) {
  std::vector<Edge> edges;
  for (auto n = reader.get<std::size_t>(); n > 0; --n) {
    const auto peer = reader.get<Rank>();
    edges.push_back({peer, reader.get_ranges()});
  }
  return edges;
}

/// Of operations whose datatypes are those of neighbours, a rank without any does not know what is combined.
const Combination* known_combination(const std::vector<Plan>& plans, const Combination* how) {
  if (how == nullptr || !how->datatype.empty()) return how;
  for (const Plan& plan : plans)
    for (const Combination& each : plan.combinations)
      if (!each.datatype.empty()) return &each;
  return how;
}

void say_proven(std::string_view also, std::string_view what, const std::vector<Plan>& plans) {
  std::size_t steps = 0;
  for (const Plan& plan : plans) steps += plan.steps.size();
  log_line("proven: delivery, matching, races, deadlocks, reuse" + std::string(also) + " (" + std::string(what) + ", " +
           std::to_string(plans.size()) + " ranks, " + std::to_string(steps) + " steps)");
}

/// How many blocks a call describes on one side: by peer, or one.
struct BlockCounts {
  Rank send = 1;
  Rank receive = 1;
};

BlockCounts block_counts(const DenseCall& call, Rank ranks) {
  const bool is_root = !has_root(call.kind) || call.rank == call.root;
  BlockCounts counts;
  if (call.kind == Dense::alltoall || call.kind == Dense::reduce_scatter || (call.kind == Dense::scatter && is_root))
    counts.send = ranks;
  if (call.kind == Dense::alltoall || call.kind == Dense::allgather || (call.kind == Dense::gather && is_root))
    counts.receive = ranks;
  return counts;
}

void put_blocks(Writer& writer, const Blocks& blocks, Rank count) {
  for (Rank i = 0; i < count; ++i) writer.put(blocks.of(i));
}

Blocks get_blocks(Reader& reader, Rank count) {
  std::vector<RangeList> lists;
  for (Rank i = 0; i < count; ++i) lists.push_back(reader.get_ranges());
  return Blocks::lists(std::move(lists));
}

/// Whether there are few enough ranks; otherwise rank 0 says that there are not.
bool may_prove(const PrivateComm& comm) {
  if (comm.size() <= most_ranks_proven) return true;
  if (comm.rank() == 0)
    log_line("not proven: lnw_check=plan proves plans of up to " + std::to_string(most_ranks_proven) +
             " ranks, not of " + std::to_string(comm.size()));
  return false;
}

/// Gathers the plans that will run, and what each rank puts beside its own. Rank 0 has them proven, and writes that
/// they are; where there is a fault all ranks throw.
template <class Put, class Prove>
void prove_on_first_rank(const PrivateComm& comm, const Plan& plan, std::string_view also, std::string_view what,
                         Put&& put, Prove&& prove) {
  if (!may_prove(comm)) return;
  Writer writer;
  writer.put(bytes_of(to_json(plan)));
  put(writer);
  const auto verdict = [&](const std::vector<Bytes>& all) {
    std::vector<Reader> readers(all.begin(), all.end());
    std::vector<Plan> plans;
    for (Reader& reader : readers) plans.push_back(plan_from_json(text_of(reader.get_bytes())));
    const Report report = prove(plans, readers);
    if (!report.ok) return bytes_of(report.problems.front());
    say_proven(also, what, plans);
    return Bytes();
  };
  const std::string fault = text_of(ControlRounds(comm).ask_first_rank(writer.take(), verdict));
  if (fault.empty()) return;
  comm.all_throw();
  throw Error(ErrorKind::internal,
              "the plans of this operation are not proven (lnw_check=plan; " + std::string(what) + "): " + fault);
}

}  // namespace

void prove_plans(const PrivateComm& comm, const Plan& plan, const RankPattern& pattern, std::string_view what,
                 const Combination* how) {
  const auto put = [&](Writer& writer) {
    put_edges(writer, pattern.out);
    put_edges(writer, pattern.in);
  };
  prove_on_first_rank(comm, plan, "", what, put, [&](const std::vector<Plan>& plans, std::vector<Reader>& readers) {
    Pattern all;
    for (Reader& reader : readers) {
      RankPattern own{get_edges(reader), {}};
      own.in = get_edges(reader);
      all.push_back(std::move(own));
    }
    return verify(plans, all, known_combination(plans, how));
  });
}

void prove_dense_plans(const PrivateComm& comm, const Plan& plan, const DenseCall& call, std::string_view what) {
  const bool is_barrier = call.kind == Dense::barrier;
  const auto put = [&](Writer& writer) {
    const BlockCounts counts = block_counts(call, comm.size());
    writer.put(call.in_place);
    put_blocks(writer, call.send, counts.send);
    put_blocks(writer, call.receive, counts.receive);
  };
  const auto prove = [&](const std::vector<Plan>& plans, std::vector<Reader>& readers) {
    std::vector<DenseCall> calls;
    for (Reader& reader : readers) {
      DenseCall other;
      other.kind = call.kind;
      other.rank = static_cast<Rank>(calls.size());
      other.root = call.root;
      other.combination = call.combination;
      other.in_place = reader.get<bool>();
      const BlockCounts counts = block_counts(other, comm.size());
      other.send = get_blocks(reader, counts.send);
      other.receive = get_blocks(reader, counts.receive);
      calls.push_back(std::move(other));
    }
    Report report = verify_outcomes(plans, expected_outcomes(calls), reduces(call.kind) ? &call.combination : nullptr);
    return report.ok && is_barrier ? synchronizes(plans) : report;
  };
  prove_on_first_rank(comm, plan, is_barrier ? ", that all have come" : "", what, put, prove);
}

}  // namespace laneway
