#include <algorithm>
#include <vector>

#include "plan/verify/execution/before.hpp"

namespace laneway::verification {

namespace {

/// Consecutive messages of a channel must start in plan order. Steps without dependencies start before all others, and
/// those that a step has been the last to hold up start when it is complete, both in plan order. So it is enough that
/// the later one waits for the earlier one, or for all that this waits for.
void prove_start_order(const Program& program, const std::vector<Message>& messages, Report& report) {
  for (std::size_t i = 1; i < messages.size(); ++i) {
    const Message& a = messages[i - 1];
    const Message& b = messages[i];
    if (!a.same_channel(b)) continue;
    const std::vector<int>& before = program.step(a.step).after;
    if (before.empty()) continue;
    const std::vector<int>& after = program.step(b.step).after;
    const int earlier = program.local(a.step);
    const auto waits_for = [&](int step) { return std::find(after.begin(), after.end(), step) != after.end(); };
    if (waits_for(earlier) || std::all_of(before.begin(), before.end(), waits_for)) continue;
    Order order(program.plan(program.rank(a.step)));
    const int later = program.local(b.step);
    // In ascending order, as Order wants to be asked.
    if (std::all_of(before.begin(), before.end(), [&](int step) { return order.ordered(step, later); }) ||
        order.ordered(earlier, later))
      continue;
    complain(report, program.describe(b.step) + " may start before step " + std::to_string(earlier) +
                         ", the message before it on the same channel");
  }
}

void prove_paired(const Program& program, const std::vector<Message>& messages, const char* missing, Report& report) {
  for (const Message& message : messages)
    if (program.partner(message.step) < 0)
      complain(report, program.describe(message.step) + " has no matching " + missing);
}

/// Both sides of a flag must name each other, and move as many bytes.
void prove_words(const Program& program, Report& report) {
  for (const std::string& problem : program.words().problems) complain(report, problem);
  for (int s = 0; s < program.steps(); ++s) {
    const Step& step = program.step(s);
    if (is_gate(step) && !program.awaits(s).empty() && program.awaits(s).front().point < 0)
      complain(report, program.describe(s) + " waits for a word that nobody raises");
    const int other = program.awaiter(s);
    if (other < 0) continue;
    const Step& take = program.step(other);
    if (step.peer != program.rank(other) || take.peer != program.rank(s))
      complain(report, program.describe(s) + " and " + program.describe(other) + " do not name each other");
    if (step.span.bytes != take.span.bytes)
      complain(report, program.describe(s) + " hands over " + std::to_string(step.span.bytes) + " bytes, " +
                           program.describe(other) + " expects " + std::to_string(take.span.bytes));
  }
}

}  // namespace

Report prove_matching(const Program& program) {
  Report report;
  prove_paired(program, program.sends(), "receive", report);
  prove_paired(program, program.receives(), "send", report);
  for (const Message& send : program.sends()) {
    const int receive = program.partner(send.step);
    if (receive < 0) continue;
    const std::int64_t sent = program.step(send.step).span.bytes;
    const std::int64_t received = program.step(receive).span.bytes;
    if (sent != received)
      complain(report, program.describe(send.step) + " sends " + std::to_string(sent) + " bytes, " +
                           program.describe(receive) + " expects " + std::to_string(received));
  }
  prove_start_order(program, program.sends(), report);
  prove_start_order(program, program.receives(), report);
  if (program.shares_memory()) prove_words(program, report);
  return report;
}

}  // namespace laneway::verification
