#include "output/report.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/json.hpp"

namespace laneway::bench {
namespace {

/// Two nodes of one rank, the second heavy; one candidate whose ranks are told apart and one that is not known.
CaseReport small_case() {
  CaseReport report;
  report.benchmark = "neighbor";
  report.workload = {"rsg:density=1", Op::allgatherv, 8, 2, nullptr, {{1}, 2048}};
  report.ranks = 2;
  report.nodes = make_nodes(std::vector<Rank>{0, 1});
  report.results.resize(2);
  report.results[0].candidate = "split";
  report.results[0].by_rank = {{1, 8, 0, 0}, {1, 2048, 0, 0}};
  report.results[1].candidate = "mpi-advance";
  return report;
}

TEST(Report, JsonHasTheRanks) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "report_test.jsonl";
  std::filesystem::remove(path);
  append_json(small_case(), path);
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  const Json split = Json::parse(line);
  EXPECT_EQ(split["op"], "allgatherv");
  EXPECT_EQ(split["heavy_ranks"], Json({1}));
  EXPECT_EQ(split["heavy_bytes"], 2048);
  EXPECT_EQ(split["by_rank"]["net_messages"], Json({1, 1}));
  EXPECT_EQ(split["by_rank"]["net_bytes"], Json({8, 2048}));
  EXPECT_EQ(split["by_rank"]["node_messages"], Json({0, 0}));
  EXPECT_EQ(split["by_rank"]["node_bytes"], Json({0, 0}));
  std::getline(file, line);
  EXPECT_FALSE(Json::parse(line).contains("by_rank"));
}

TEST(Report, TablesHaveTheRanks) {
  testing::internal::CaptureStdout();
  print_tables(small_case());
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("8 B an edge, 2 KiB from ranks 1; 2 ranks, node:2 rank:1\n"), std::string::npos) << text;
  const std::size_t at = text.find("sent by each rank, split\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_EQ(text.substr(at),
            "sent by each rank, split\n"
            "rank  node  net msgs  net bytes  node msgs  node bytes\n"
            "0        0         1        8 B          0         0 B\n"
            "1        1         1      2 KiB          0         0 B\n");
}

}  // namespace
}  // namespace laneway::bench
