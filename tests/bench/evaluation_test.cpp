#include "measure/evaluation.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"

namespace laneway::bench {
namespace {

Result timed(const std::string& candidate, std::vector<double> samples, double setup_seconds) {
  Result result;
  result.candidate = candidate;
  result.verified = true;
  result.setup_seconds = setup_seconds;
  result.samples = std::move(samples);
  return result;
}

CaseReport small_case(double scale) {
  CaseReport report;
  report.demand.in_max.unique_bytes = 100;
  report.goodput = 1000;
  report.theory_net_bytes = 200;
  report.batch = 7;
  report.results = {timed("mpi", {4 * scale, 3 * scale, 8 * scale}, 1),
                    timed("direct", {2 * scale, 1 * scale, 6 * scale}, 3)};
  report.results[1].traffic = TotalTraffic{1, 2, 3, 4, 5, 6};
  report.results[1].by_rank = {{1, 2, 3, 4}, {5, 6, 7, 8}};
  evaluate(report.results);
  return report;
}

TEST(Evaluation, ComparesWithTheBaselines) {
  std::vector<Result> results = {timed("mpi", {4, 3, 8}, 1), timed("p2p", {2, 2, 4}, 1), timed("direct", {2, 1, 6}, 3),
                                 timed("wrong", {}, 1)};
  evaluate(results);
  EXPECT_DOUBLE_EQ(results[2].times->median, 2);
  EXPECT_DOUBLE_EQ(results[2].times->min, 1);
  EXPECT_DOUBLE_EQ(*results[2].speedup, 2);
  EXPECT_DOUBLE_EQ(*results[2].payback, 1);
  EXPECT_DOUBLE_EQ(results[2].ratio->median, 1);
  EXPECT_FALSE(results[0].payback);
  EXPECT_FALSE(results[3].times || results[3].speedup || results[3].ratio);
}

TEST(Evaluation, TotalAddsSampleBySample) {
  CaseReport second = small_case(10);
  second.results[1].samples = {1, 20, 3};
  const CaseReport sum = total(std::vector<CaseReport>{small_case(1), second});
  EXPECT_EQ(sum.results[1].samples, (std::vector<double>{3, 21, 9}));
  EXPECT_DOUBLE_EQ(sum.results[0].times->median, 44);
  EXPECT_DOUBLE_EQ(sum.results[1].times->median, 9);
  EXPECT_DOUBLE_EQ(*sum.results[1].speedup, 44.0 / 9);
  EXPECT_DOUBLE_EQ(sum.results[1].setup_seconds, 6);
  EXPECT_DOUBLE_EQ(*sum.limit(), 0.2);
  EXPECT_EQ(sum.theory_net_bytes, 400);
  EXPECT_EQ(sum.batch, 1);
  EXPECT_EQ(sum.results[1].traffic->net_messages_max, 2);
  EXPECT_EQ(sum.results[1].traffic->node_bytes_total, 12);
  EXPECT_EQ(sum.results[1].by_rank[1].net_bytes, 12);
  EXPECT_FALSE(sum.results[0].traffic);
}

TEST(Evaluation, TotalOfAWrongResultIsWrong) {
  CaseReport wrong = small_case(1);
  wrong.results[1].verified = false;
  wrong.results[1].samples.clear();
  wrong.results[1].times.reset();
  for (const CaseReport& sum :
       {total(std::vector<CaseReport>{wrong, small_case(1)}), total(std::vector<CaseReport>{small_case(1), wrong})}) {
    EXPECT_FALSE(sum.results[1].verified);
    EXPECT_FALSE(sum.results[1].times);
    EXPECT_TRUE(sum.results[0].times);
  }
}

TEST(Evaluation, CasesOfDifferentCandidatesHaveNoTotal) {
  CaseReport other = small_case(1);
  other.results[0].candidate = "p2p";
  EXPECT_THROW(static_cast<void>(total(std::vector<CaseReport>{small_case(1), other})), Error);
}

}  // namespace
}  // namespace laneway::bench
