// What one rank alone does wrong, or cannot read: all ranks get an error, none waits, and the communicator stays
// usable.
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "support.hpp"

namespace laneway::test {
namespace {

class OneSidedTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    std::vector<int> all(static_cast<std::size_t>(size()));
    std::iota(all.begin(), all.end(), 0);
    world_ = std::make_unique<Handler>(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    EXPECT_MPI(LNW_Topology_create(MPI_COMM_WORLD, size(), all.data(), MPI_UNWEIGHTED, size(), all.data(),
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, &complete_));
  }
  void TearDown() override {
    EXPECT_MPI(LNW_Topology_free(&complete_));
    world_.reset();
    MpiTest::TearDown();
  }

  /// An operation of `count` ints an edge, of which this rank gives `to_itself` along its own, with hints.
  [[nodiscard]] int init(const Hints& hints, int count, int to_itself, LNW_Request* request) {
    const auto n = static_cast<std::size_t>(size());
    send_.assign(n * static_cast<std::size_t>(count + 16), rank());
    receive_.assign(send_.size(), -1);
    std::vector<int> counts(n, count);
    std::vector<int> sends = counts;
    sends[static_cast<std::size_t>(rank())] = to_itself;
    std::vector<int> places(n);
    for (std::size_t i = 0; i < n; ++i) places[i] = static_cast<int>(i) * (count + 16);
    const Info info(hints);
    return LNW_Neighbor_alltoallv_init_topology(send_.data(), sends.data(), places.data(), MPI_INT, receive_.data(),
                                                counts.data(), places.data(), MPI_INT, complete_, info.get(), request);
  }

  void expect_right(LNW_Request request, int count) {
    for (int turn = 0; turn < 3; ++turn) {
      std::fill(send_.begin(), send_.end(), 100 * rank() + turn);
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      for (int peer = 0; peer < size(); ++peer)
        for (int i = 0; i < count; ++i)
          ASSERT_EQ(receive_[static_cast<std::size_t>(peer * (count + 16) + i)], 100 * peer + turn);
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }

  void expect_usable() {
    LNW_Request request = LNW_REQUEST_NULL;
    ASSERT_EQ(init({{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}}, 3, 3, &request), MPI_SUCCESS);
    expect_right(request, 3);
  }

  /// That `init` fails on all ranks, with one of the texts.
  void expect_refused(const Hints& hints, int to_itself, const std::string& here, const std::string& elsewhere) {
    LNW_Request request = LNW_REQUEST_NULL;
    const int code = init(hints, 3, to_itself, &request);
    const std::string text = code == MPI_SUCCESS ? "success" : error_text(code);
    EXPECT_TRUE(text.find(here) != std::string::npos || text.find(elsewhere) != std::string::npos) << text;
    expect_usable();
  }

  LNW_Topology complete_ = LNW_TOPOLOGY_NULL;

 private:
  std::unique_ptr<Handler> world_;
  std::vector<int> send_, receive_;
};

const std::vector<Hints> plans = {{{"lnw_strategy", "direct"}},
                                  {{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}},
                                  {{"lnw_strategy", "split"}, {"lnw_machine", "node:* rank:2"}}};

TEST_F(OneSidedTest, AnEdgeToItselfOfTwoSizes) {
  for (const Hints& hints : plans)
    for (int culprit = 0; culprit < size(); ++culprit)
      expect_refused(hints, rank() == culprit ? 4 : 3, "an edge to this rank itself sends 16 bytes and receives 12",
                     "rank " + std::to_string(culprit) + " has reported an error");
}

TEST_F(OneSidedTest, AnEdgeToItselfWithOneSide) {
  expect_refused({}, rank() == size() - 1 ? 0 : 3, "sends to itself along 0 edges and receives along 1",
                 "rank " + std::to_string(size() - 1) + " has reported an error");
}

TEST_F(OneSidedTest, AStreamOfNobody) {
  for (int culprit = 0; culprit < size(); ++culprit) {
    const Hints stream = {{"lnw_stream", "0x1234"}};
    expect_refused(rank() == culprit ? stream : Hints{}, 3, "stream",
                   "rank " + std::to_string(culprit) + " has reported an error");
  }
}

TEST_F(OneSidedTest, NumbersThatAreNone) {
  for (const auto& [key, value, why] :
       {std::array{"lnw_radix", "4k", "not a number"}, std::array{"lnw_radix", "4294967298", "at most 2147483647"},
        std::array{"lnw_leaders", "4294967298", "at most 2147483647"},
        std::array{"lnw_leaders", "0", "must be positive"}})
    expect_refused({{key, value}}, 3, std::string(key) + "=" + value + ": " + why, "nowhere else");
}

TEST_F(OneSidedTest, BytesNearTheEndOfTheirRange) {
  const Hints machine = {{"lnw_machine", "node:* rank:2"}};
  for (const char* const key : {"lnw_message_cap", "lnw_network_message", "lnw_relay_message", "lnw_local_message",
                                "lnw_local_memory", "lnw_staging_limit", "lnw_shared_staging"})
    for (const char* const strategy : {"split", "load_aware", "three_step"}) {
      for (const char* const too_many : {"1125899906842625", "4611686018427387904", "9223372036854775807"}) {
        Hints hints = machine;
        hints.insert(hints.end(), {{"lnw_strategy", strategy}, {key, too_many}});
        expect_refused(hints, 3, std::string(key) + "=" + too_many + ": at most 2^50", "nowhere else");
      }
#ifdef LANEWAY_TEST_SANITIZED
      if (key == std::string("lnw_shared_staging")) continue;  // the sanitizer ends what asks for so much memory
#endif
      Hints hints = machine;
      hints.insert(hints.end(), {{"lnw_strategy", strategy}, {key, "1125899906842624"}});
      LNW_Request request = LNW_REQUEST_NULL;
      const int code = init(hints, 3, 3, &request);
      int worst = code != MPI_SUCCESS;
      MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
      EXPECT_EQ(worst != 0, code != MPI_SUCCESS) << key << ' ' << strategy;
      if (code == MPI_SUCCESS) expect_right(request, 3);
      // So much memory there may not be.
      EXPECT_TRUE(code == MPI_SUCCESS || key == std::string("lnw_shared_staging")) << key << ' ' << error_text(code);
    }
  expect_usable();
}

/// A directory of this rank's own, in which it works until the end of the scope.
class OwnDirectory {
 public:
  OwnDirectory() : before_(std::filesystem::current_path()) {
    own_ = std::filesystem::temp_directory_path() / ("laneway_one_sided_" + std::to_string(getpid()));
    std::filesystem::create_directory(own_);
    std::filesystem::current_path(own_);
  }
  ~OwnDirectory() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(own_);
  }

 private:
  std::filesystem::path before_;
  std::filesystem::path own_;
};

TEST_F(OneSidedTest, FilesOfOneNameThatSayDifferentThings) {
  const OwnDirectory own;
  std::ofstream("m") << (rank() == 0 ? "node:1 rank:" : "rank:") << size() << '\n';
  for (const char* const transport : {"auto", "node"}) {
    LNW_Request request = LNW_REQUEST_NULL;
    const int code = init({{"lnw_machine", "file:m"}, {"lnw_transport", transport}}, 3, 3, &request);
    if (size() == 1) {
      EXPECT_EQ(code, MPI_SUCCESS);
      if (code == MPI_SUCCESS) expect_right(request, 3);
    } else {
      EXPECT_NE(error_text(code).find("hints differ between ranks"), std::string::npos) << error_text(code);
    }
  }
  std::ofstream("same") << "node:1 rank:" << size() << '\n';
  LNW_Request request = LNW_REQUEST_NULL;
  ASSERT_EQ(init({{"lnw_machine", "file:same"}}, 3, 3, &request), MPI_SUCCESS);
  expect_right(request, 3);
  expect_usable();
}

TEST_F(OneSidedTest, DistancesOfDevicesBelowZero) {
  const OwnDirectory own;
  std::ofstream("m.toml") << "description = \"node:1 gpu:" << size() << "\"\n[devices]\nnetwork_distance = [-1"
                          << std::string(static_cast<std::size_t>(2 * (size() - 1)), ' ') <<
      [] {
        std::string zeros;
        for (int i = 1; i < size(); ++i) zeros += ", 0";
        return zeros;
      }() << "]\n";
  expect_refused({{"lnw_machine", "file:m.toml"}, {"lnw_strategy", "three_step"}}, 3,
                 "devices.network_distance[0]: must be from 0 to 2147483647", "nowhere else");
}

}  // namespace
}  // namespace laneway::test
