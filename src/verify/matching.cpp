#include <algorithm>
#include <vector>

#include "verify/program.hpp"

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
  return report;
}

}  // namespace laneway::verification
