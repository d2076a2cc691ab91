// lnw_tune=measure: strategies that are timed, remembered, and used again.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "exchange.hpp"

namespace laneway::test {
namespace {

class TuningTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (rank() != 0) return;
    std::string name = testing::TempDir() + "laneway-tuning-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    cache_ = name;
    setenv("XDG_CACHE_HOME", name.c_str(), 1);
  }
  void TearDown() override {
    if (rank() == 0) std::filesystem::remove_all(cache_);
    MpiTest::TearDown();
  }

  [[nodiscard]] std::filesystem::path file() const { return cache_ / "laneway" / "tuning"; }
  [[nodiscard]] std::vector<std::string> lines() const {
    std::ifstream stream(file());
    std::vector<std::string> result;
    for (std::string line; std::getline(stream, line);) result.push_back(line);
    return result;
  }

  std::filesystem::path cache_;  // on rank 0
};

Hints measuring(const std::string& machine = "node:* rank:2") {
  Hints hints = {{"lnw_tune", "measure"}};
  if (!machine.empty()) hints.emplace_back("lnw_machine", machine);
  return hints;
}

std::map<std::string, std::string> reasons_of(LNW_Request request) {
  MPI_Info info = MPI_INFO_NULL;
  EXPECT_MPI(LNW_Request_get_info(request, &info));
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  std::map<std::string, std::string> reasons;
  for (int i = 0; i < keys; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    std::vector<char> value(MPI_MAX_INFO_VAL + 1);
    int found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found);
    reasons[key] = value.data();
  }
  MPI_Info_free(&info);
  return reasons;
}

std::size_t measured(const std::map<std::string, std::string>& reasons) {
  std::size_t count = 0;
  for (const auto& [key, value] : reasons)
    if (key.starts_with("lnw_measured_")) {
      EXPECT_GT(std::stod(value), 0) << key;
      ++count;
    }
  return count;
}

/// Runs an operation under the hints, compares what arrives, and gives its reasons.
std::map<std::string, std::string> run(Op op, MPI_Comm graph, const Hints& hints, bool typed, std::uint64_t seed) {
  const Info info(hints);
  Exchange exchange(op, graph, seed, typed);
  LNW_Request request = LNW_REQUEST_NULL;
  exchange.fill(0);
  EXPECT_MPI(exchange.init(info.get(), &request));
  for (int iteration = 0; iteration < 3; ++iteration) {
    exchange.fill(iteration);
    exchange.reference();
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_TRUE(exchange.arrived()) << name(op);
  }
  std::map<std::string, std::string> reasons = reasons_of(request);
  EXPECT_MPI(LNW_Request_free(&request));
  return reasons;
}

TEST_F(TuningTest, MeasuresOnceAndRemembers) {
  const bool relays = size() > 2;
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const auto first = run(Op::allgather, graph.get(), measuring(), false, 5);
  EXPECT_EQ(measured(first), relays ? 3U : 0U);
  EXPECT_EQ(first.count("lnw_remembered"), 0U);
  if (rank() == 0) {
    ASSERT_EQ(lines().size(), relays ? 1U : 0U);
    if (relays) {
      EXPECT_NE(lines()[0].find(first.at("lnw_strategy")), std::string::npos);
    }
  }
  const auto second = run(Op::allgather, graph.get(), measuring(), false, 5);
  EXPECT_EQ(measured(second), 0U);
  EXPECT_EQ(second.count("lnw_remembered"), relays ? 1U : 0U);
  EXPECT_EQ(second.at("lnw_strategy"), first.at("lnw_strategy"));

  const auto other = run(Op::alltoall, graph.get(), measuring(), false, 5);
  EXPECT_EQ(measured(other), relays ? 3U : 0U);
  if (rank() == 0) {
    EXPECT_EQ(lines().size(), relays ? 2U : 0U);
  }
}

TEST_F(TuningTest, RandomOperationsArrive) {
  for (int i = 0; i < effort(6); ++i) {
    const auto seed = static_cast<std::uint64_t>(100 + i);
    const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()));
    for (Op op : all_ops) {
      Hints hints = measuring(machines()[seed % machines().size()]);
      if (i % 3 == 1) hints.emplace_back("lnw_shared_staging", "1048576");
      if (i % 3 == 2) hints.emplace_back("lnw_deduplicate", "false");
      (void)run(op, graph.get(), hints, i % 2 == 1, seed);
    }
  }
}

TEST_F(TuningTest, OtherLayoutsAreMeasuredAgain) {
  if (size() <= 2) return;
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (std::uint64_t seed : {1, 2, 3}) (void)run(Op::alltoallv, graph.get(), measuring(), false, seed);
  if (rank() == 0) {
    EXPECT_EQ(lines().size(), 3U);
  }
}

TEST_F(TuningTest, DamagedFilesAreNoHindrance) {
  if (rank() == 0) {
    std::filesystem::create_directories(file().parent_path());
    std::ofstream(file()) << "no line of ours";
  }
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (int turn = 0; turn < 2; ++turn) {
    const auto reasons = run(Op::allgather, graph.get(), measuring(), false, 9);
    EXPECT_EQ(reasons.count("lnw_remembered"), size() > 2 && turn == 1 ? 1U : 0U);
  }
}

TEST_F(TuningTest, PartsOfTheWorldSideBySide) {
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() % 2, rank(), &half);
  const Comm part(half);
  int ranks = 0;
  MPI_Comm_size(half, &ranks);
  const Comm graph = make_graph(half, complete_shape(ranks));
  for (std::uint64_t seed : {1, 2}) (void)run(Op::allgatherv, graph.get(), measuring(), false, seed);
}

TEST_F(TuningTest, NamedStrategiesAreNotMeasured) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  Hints hints = measuring();
  hints.emplace_back("lnw_strategy", "two_step");
  const auto reasons = run(Op::allgather, graph.get(), hints, false, 5);
  EXPECT_EQ(measured(reasons), 0U);
  EXPECT_EQ(reasons.at("lnw_strategy"), "two_step");
  if (rank() == 0) {
    EXPECT_FALSE(std::filesystem::exists(file()));
  }
}

/// Two runs with different machines on one communicator, and one on a communicator without rank 0.
TEST_F(TuningTest, CalibrationAtFirstUse) {
  const auto calibrating = [](const std::string& machine) {
    return Hints{{"lnw_parameters", "calibrate"}, {"lnw_machine", machine}};
  };
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  for (const std::string& machine : {std::string("node:* rank:2"), uneven_machine(), std::string("node:* rank:2")}) {
    const auto reasons = run(Op::allgather, graph.get(), calibrating(machine), false, 3);
    const bool chooses = reasons.count("lnw_parameters") != 0;
    if (machine != uneven_machine()) {
      EXPECT_EQ(chooses, size() > 2);
    }
    if (!chooses) continue;
    EXPECT_EQ(reasons.at("lnw_parameters"), "calibrated");
    EXPECT_GT(std::stod(reasons.at("lnw_cost_three_step")), 0);
  }
  MPI_Comm upper = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank() >= size() / 3, -rank(), &upper);
  const Comm part(upper);
  int ranks = 0;
  MPI_Comm_size(upper, &ranks);
  (void)run(Op::alltoall, make_graph(upper, complete_shape(ranks)).get(), calibrating("node:* rank:2"), false, 3);
}

TEST_F(TuningTest, OtherValuesAreRefused) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const Handler handler(graph.get(), MPI_ERRORS_RETURN);
  const Info info(Hints{{"lnw_tune", "guess"}});
  int value = 0;
  std::vector<int> values(static_cast<std::size_t>(size()));
  LNW_Request request = LNW_REQUEST_NULL;
  const int code =
      LNW_Neighbor_allgather_init(&value, 1, MPI_INT, values.data(), 1, MPI_INT, graph.get(), info.get(), &request);
  EXPECT_NE(error_text(code).find("lnw_tune=guess: valid are model and measure"), std::string::npos);
}

}  // namespace
}  // namespace laneway::test
