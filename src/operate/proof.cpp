#include "operate/proof.hpp"

#include <cstddef>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include "comm/mailbox.hpp"
#include "core/error.hpp"
#include "core/tell.hpp"
#include "core/wire.hpp"
#include "verify/verify.hpp"

namespace laneway {

namespace {

Bytes bytes_of(const std::string& text) {
  Bytes bytes(text.size());
  if (!text.empty()) std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

std::string text_of(const Bytes& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

/// The first fault; empty if all is proven, which rank 0 then says.
std::string prove(const std::vector<Bytes>& letters, std::string_view what, const Combination* how) {
  std::vector<Plan> plans;
  Pattern pattern;
  std::size_t steps = 0;
  for (const Bytes& letter : letters) {
    Reader reader(letter);
    plans.push_back(plan_from_json(text_of(reader.get_bytes())));
    RankPattern own{get_edges(reader), {}};
    own.in = get_edges(reader);
    pattern.push_back(std::move(own));
    steps += plans.back().steps.size();
  }
  const Report report = verify(plans, pattern, known_combination(plans, how));
  if (!report.ok) return report.problems.front();
  tell("proven: delivery, matching, races, deadlocks, reuse (" + std::string(what) + ", " +
       std::to_string(plans.size()) + " ranks, " + std::to_string(steps) + " steps)");
  return "";
}

}  // namespace

void prove_plans(const PrivateComm& comm, const Plan& plan, const RankPattern& pattern, std::string_view what,
                 const Combination* how) {
  if (comm.size() > most_ranks_proven) {
    if (comm.rank() == 0)
      tell("not proven: lnw_check=plan proves plans of up to " + std::to_string(most_ranks_proven) + " ranks, not of " +
           std::to_string(comm.size()));
    return;
  }
  Writer writer;
  writer.put(bytes_of(to_json(plan)));
  put_edges(writer, pattern.out);
  put_edges(writer, pattern.in);
  Mailbox mailbox(comm);
  std::string fault;
  if (comm.rank() == 0) {
    std::vector<Rank> others(static_cast<std::size_t>(comm.size()) - 1);
    std::iota(others.begin(), others.end(), Rank{1});
    std::vector<Bytes> letters = mailbox.exchange({}, others, PrivateComm::gather_tag);
    letters.insert(letters.begin(), writer.take());
    fault = prove(letters, what, how);
    std::vector<Letter> verdicts;
    for (Rank rank : others) verdicts.push_back({rank, bytes_of(fault)});
    (void)mailbox.exchange(std::move(verdicts), {}, PrivateComm::share_tag);
  } else {
    (void)mailbox.exchange({{0, writer.take()}}, {}, PrivateComm::gather_tag);
    fault = text_of(mailbox.exchange({}, {0}, PrivateComm::share_tag).front());
  }
  if (fault.empty()) return;
  comm.all_throw();
  throw Error(ErrorKind::internal,
              "the plans of this operation are not proven (lnw_check=plan; " + std::string(what) + "): " + fault);
}

}  // namespace laneway
