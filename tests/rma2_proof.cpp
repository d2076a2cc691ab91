#include <cstdio>
#include <cstdlib>
#include "virtual_node.hpp"
#include "verify/verify.hpp"
using namespace laneway;
int main(int, char** argv) {
  const Carrier* rma = nullptr;
  for (const Carrier& c : carriers()) if (c.name == "rma") rma = &c;
  int n = 0, carried = 0, bad = 0;
  constexpr cases::NodeUse uses[] = {cases::NodeUse::own_staging, cases::NodeUse::shared_staging, cases::NodeUse::own_staging, cases::NodeUse::devices};
  for (std::uint64_t seed = 0; seed < std::strtoull(argv[1], nullptr, 10) && bad < 5; ++seed) {
    const cases::Case c = cases::make_case(seed);
    for (const cases::Candidate& candidate : cases::candidates(seed)) {
      cases::Random random(seed);
      const cases::Localized l = cases::localize(random, c, candidate, uses[seed % 4], seed % 3 ? rma : nullptr);
      ++n;
      for (const Plan& p : l.plans) if (p.window_bytes > 0) { ++carried; break; }
      const Report report = verify(l.plans, c.pattern);
      if (!report.ok) { ++bad; std::printf("seed %d %s: %s\n", (int)seed, std::string(candidate.name).c_str(), to_string(report).c_str()); }
    }
  }
  std::printf("%d cases, %d carried, %d bad\n", n, carried, bad);
}
