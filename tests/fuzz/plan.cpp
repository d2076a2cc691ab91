// Plans of all ranks as JSON, with lines `---` between: read, written again, and proven.
#include "plan/plan.hpp"

#include <string>
#include <vector>

#include "fuzz.hpp"
#include "plan/verify/execution/program.hpp"
#include "plan/verify/verify.hpp"

namespace {

using namespace laneway;

constexpr std::int64_t few_blocks = 1 << 12;  // more take long with sanitizers

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest = fuzz::text_of(data, size);
  std::vector<Plan> plans;
  const bool accepted = fuzz::accepts([&] {
    while (!rest.empty()) plans.push_back(plan_from_json(std::string(fuzz::take_part(rest))));
  });
  for (const Plan& plan : plans) {
    const std::string text = to_json(plan);
    const Plan again = plan_from_json(text);
    fuzz::expect(again == plan, "a plan changes when it is written and read");
    fuzz::expect(fingerprint(again) == fingerprint(plan), "equal plans have other fingerprints");
    fuzz::expect(metadata_bytes(plan) > 0, "a plan takes no memory");
  }
  if (!accepted) return 0;
  const std::vector<RankPattern> nothing(plans.size());
  if (verification::blocks(plans) > few_blocks && well_formed(plans).ok) return 0;
  (void)to_string(verify(plans, nothing));
  (void)race_free(plans);
  (void)deadlock_free(plans);
  return 0;
}
