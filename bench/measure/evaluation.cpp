#include "measure/evaluation.hpp"

#include <algorithm>
#include <functional>

#include "base/error.hpp"

namespace laneway::bench {

namespace {

const Result* find_timed(std::span<const Result> results, std::string_view candidate) {
  for (const Result& result : results)
    if (result.candidate == candidate && !result.samples.empty()) return &result;
  return nullptr;
}

/// a += b, or nothing if one of them is not known.
template <class T>
void add_known(std::optional<T>& a, const std::optional<T>& b) {
  if (a && b)
    *a += *b;
  else
    a.reset();
}

void add(Result& sum, const Result& result) {
  require(sum.candidate == result.candidate, ErrorKind::internal, "cases with different candidates have no sum");
  sum.verified = sum.verified && result.verified;
  sum.setup_seconds += result.setup_seconds;
  sum.first_setup_seconds += result.first_setup_seconds;
  add_known(sum.init_seconds, result.init_seconds);
  sum.choice.reset();
  add_known(sum.traffic, result.traffic);
  add_known(sum.memory, result.memory);
  if (result.samples.size() == sum.samples.size())
    std::ranges::transform(sum.samples, result.samples, sum.samples.begin(), std::plus());
  else
    sum.samples.clear();
  for (std::size_t rank = 0; rank < std::min(sum.by_rank.size(), result.by_rank.size()); ++rank)
    sum.by_rank[rank] += result.by_rank[rank];
}

}  // namespace

void evaluate(std::span<Result> results) {
  const Result* mpi = find_timed(results, "mpi");
  const Result* p2p = find_timed(results, "p2p");
  for (Result& result : results) {
    if (result.samples.empty()) continue;
    result.times = {median(result.samples), quantile(result.samples, 0), quantile(result.samples, 0.9)};
    if (p2p != nullptr) {
      const std::vector<double> ratios = paired_ratios(result.samples, p2p->samples);
      result.ratio = {median(ratios), bootstrap_median(ratios)};
    }
    if (mpi != nullptr) {
      const double reference = median(mpi->samples);
      const double gain = reference - result.times->median;
      result.speedup = reference / result.times->median;
      if (gain > 0) result.payback = std::max(0.0, (result.setup_seconds - mpi->setup_seconds) / gain);
    }
  }
}

CaseReport total(std::span<const CaseReport> cases) {
  CaseReport sum = cases.front();
  sum.batch = 1;
  for (Result& result : sum.results) {
    result.times.reset();
    result.speedup.reset();
    result.ratio.reset();
    result.payback.reset();
    result.product_seconds.reset();
    result.node_matrix.clear();
  }
  for (const CaseReport& report : cases.subspan(1)) {
    require(report.results.size() == sum.results.size(), ErrorKind::internal,
            "cases with different candidates have no sum");
    sum.demand += report.demand;
    if (sum.theory_net_bytes) *sum.theory_net_bytes += report.theory_net_bytes.value_or(0);
    for (std::size_t i = 0; i < sum.results.size(); ++i) add(sum.results[i], report.results[i]);
  }
  evaluate(sum.results);
  return sum;
}

}  // namespace laneway::bench
