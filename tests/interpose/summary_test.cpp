// What the preload's report says of numbers that are known. Needs no MPI.
#include "preload/report/summary.hpp"
#include "base/json.hpp"

#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

#include "preload/report/report_forms.hpp"

namespace laneway::interpose {
namespace {

/// Of one rank: `taken` calls, and as many samples of each way as there are seconds.
SummaryRow row(std::int64_t taken, std::vector<double> mpi, std::vector<double> plan) {
  SummaryRow made;
  made.strategy = "three_step";
  made.why = "chosen by the parameters 'x'";
  made.ranks = made.sampled = made.ranks_with_neighbors = 1;
  made.taken = taken;
  made.neighbors = 2;
  made.messages = 2 * taken;
  made.bytes = 512 * taken;
  made.seconds = {std::move(mpi), std::move(plan)};
  return made;
}

Summary of_rank(SummaryRow one, std::int64_t world = 2) {
  Summary made;
  made.ranks = 1;
  made.world = world;
  made.elapsed = 10;
  made.rows.emplace(SummaryKey{0, 0, "MPI_Neighbor_allgather", 9}, std::move(one));
  return made;
}

std::vector<double> around(double seconds) {
  std::vector<double> samples;
  for (int i = -4; i <= 4; ++i) samples.push_back(seconds * (1 + 0.01 * i));
  return samples;
}

TEST(Summary, SavingIsTheMeanOfTheRanks) {
  Summary all = of_rank(row(1000, around(0.004), around(0.001)));
  all.add(Summary::unpacked(of_rank(row(1000, around(0.002), around(0.001))).packed()));
  const SummaryRow& merged = all.rows.begin()->second;
  EXPECT_EQ(all.ranks, 2);
  EXPECT_EQ(merged.taken, 1000);
  EXPECT_EQ(merged.bytes, 1024000);
  EXPECT_EQ(merged.messages, 4000);
  const auto times = medians(merged);
  EXPECT_NEAR(*times[0], 0.003, 1e-9);
  EXPECT_NEAR(*times[1], 0.001, 1e-9);
  const std::optional<Estimate> saved = saving(merged, all.world);
  ASSERT_TRUE(saved);
  EXPECT_NEAR(saved->value, 2, 1e-6);
  EXPECT_LT(saved->low, 2);
  EXPECT_GT(saved->low, 1.8);
  EXPECT_GT(saved->high, 2);
  EXPECT_LT(saved->high, 2.2);
}

/// Ranks that make no such calls save nothing in them.
TEST(Summary, RanksOfOtherCommunicatorsDilute) {
  const Summary half = of_rank(row(1000, around(0.003), around(0.001)), 2);
  EXPECT_NEAR(saving(half.rows.begin()->second, half.world)->value, 1, 1e-6);
}

TEST(Summary, SentencesSayNoMoreThanTheNumbers) {
  Summary all = of_rank(row(1000, around(0.003), around(0.001)), 1);
  all.rows.begin()->second.left["a reason"] = 203;
  EXPECT_TRUE(sentence(all).starts_with("Laneway saved 2.00 s (")) << sentence(all);
  EXPECT_NE(sentence(all).find(") of 12.0 s in 1000 calls; 203 calls were left to MPI."), std::string::npos);
  EXPECT_TRUE(sentence(of_rank(row(1000, around(0.001), around(0.003)), 1)).starts_with("Laneway cost 2.00 s ("));
  EXPECT_TRUE(sentence(of_rank(row(1000, around(0.001), around(0.001)), 1)).starts_with("Whether Laneway saved"));
  EXPECT_EQ(sentence(of_rank(row(7, {}, around(0.001)), 1)),
            "Laneway took over 7 calls; what that saved was not measured.");
  EXPECT_EQ(sentence(of_rank(row(1, {0.1, 0.1}, around(0.001)), 1)),
            "Laneway took over 1 call; what that saved was not measured.");
  EXPECT_EQ(sentence(of_rank(row(0, {}, {}), 1)), "Laneway took over no call.");
  EXPECT_TRUE(sentence(of_rank(row(7, {}, {}), 3)).ends_with("Only 1 of 3 ranks have told."));
  Summary alone = of_rank(row(0, {}, {}), 3);
  alone.asks_others = false;
  EXPECT_NE(sentence(alone).find("Other ranks were not asked"), std::string::npos);
}

/// Of two ways that take equally long a saving or a loss is told in at most one of 20 programs, however few calls were
/// timed.
TEST(Summary, IntervalsLeaveOutZeroSeldomByChance) {
  std::mt19937_64 random(81);
  std::exponential_distribution<double> seconds(1);
  for (const std::size_t samples : {3U, 4U, 5U, 6U, 8U, 12U, 48U}) {
    int told = 0;
    constexpr int programs = 600;
    for (int program = 0; program < programs; ++program) {
      std::vector<double> mpi(samples), plan(samples);
      for (std::vector<double>* one : {&mpi, &plan})
        for (double& value : *one) value = seconds(random);
      const std::optional<Estimate> saved = saving(row(100, std::move(mpi), std::move(plan)), 1);
      told += saved && (saved->low > 0 || saved->high < 0) ? 1 : 0;
    }
    EXPECT_LE(told, programs * 7 / 100) << samples << " samples";
  }
}

TEST(Summary, TablesFit79Columns) {
  Summary all = of_rank(row(1000, around(0.003), {}), 1);
  all.rows.begin()->second.label = "a communicator with a very long name of its own";
  all.rows.begin()->second.left["a reason that is so long that it does not fit in what is left of a line"] = 123456;
  std::istringstream lines(as_table(all, std::string(30, 'n') + " " + std::string(60, 'm'), 0));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 79U) << line;
  EXPECT_NE(as_table(all, "", 0).find("no call was timed with the plan"), std::string::npos);
}

TEST(Summary, JsonIsWellFormed) {
  Summary all = of_rank(row(1000, around(0.003), around(0.001)), 1);
  all.rows.begin()->second.label = "<b> & \"c\" \xff";
  const Json read = Json::parse(as_json(all, "note"));
  EXPECT_EQ(read["rows"][0]["calls"], 1000);
  EXPECT_EQ(read["sentence"], sentence(all));
}

}  // namespace
}  // namespace laneway::interpose
