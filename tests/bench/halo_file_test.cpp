#include "data/halo_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "matrix/generators.hpp"

namespace laneway::bench {
namespace {

class HaloFile : public testing::Test {
 protected:
  ~HaloFile() override { std::filesystem::remove(path_); }

  /// A matrix of 30 rows on 4 ranks, the second of which has none.
  static std::vector<Exchange> exchanges() {
    std::vector<Exchange> result;
    for (const matrix::Halo& halo : matrix::halos(matrix::generate("5pt:nx=6,ny=5"), {0, 7, 7, 20, 30}))
      result.push_back(halo_exchange(halo, 8));
    return result;
  }

  std::string path_ = testing::TempDir() + "laneway-" + std::to_string(::getpid()) + ".halo";
};

void expect_equal(const Side& a, const Side& b) {
  EXPECT_EQ(a.peers, b.peers);
  EXPECT_EQ(a.counts, b.counts);
  EXPECT_EQ(a.indices, b.indices);
  EXPECT_EQ(a.labels, b.labels);
}

TEST_F(HaloFile, GivesEveryRankItsPart) {
  const std::vector<Exchange> written = exchanges();
  write_halos(path_, written);
  for (Rank rank = 0; rank < 4; ++rank) {
    const Exchange read = read_halo(path_, rank, 4, 8);
    EXPECT_EQ(read.element_bytes, 8);
    EXPECT_TRUE(read.indexed);
    expect_equal(read.send, written[static_cast<std::size_t>(rank)].send);
    expect_equal(read.receive, written[static_cast<std::size_t>(rank)].receive);
  }
}

TEST_F(HaloFile, IsAPattern) {
  write_halos(path_, exchanges());
  Workload workload{.pattern = "halo:" + path_, .op = Op::alltoallv, .bytes = 8, .ranks = 4};
  workload.check();
  EXPECT_TRUE(workload.is_halo());
  EXPECT_EQ(workload.exchanges().size(), 4U);
  workload.op = Op::allgather;
  EXPECT_THROW(workload.check(), Error);
}

/// Whatever single word of the part of rank 0 is wrong, it is refused or read, and never indices of elements that the
/// rank does not have.
TEST_F(HaloFile, RefusesNumbersThatCannotBe) {
  const std::vector<Exchange> written = exchanges();
  constexpr std::int64_t head = 3 + 5;
  constexpr std::int64_t elements = 7;
  for (std::int64_t word = 3; word < head + 2 + 2 * (1 + 2 * 2); ++word)
    for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{1} << 50}) {
      write_halos(path_, written);
      {
        std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(word * 8);
        file.write(reinterpret_cast<const char*>(&wrong), 8);
      }
      try {
        const Exchange read = read_halo(path_, 0, 4, 8);
        for (const std::int64_t index : read.send.indices) EXPECT_TRUE(0 <= index && index < elements) << word;
      } catch (const Error&) {
        SUCCEED();
      }
    }
}

TEST_F(HaloFile, RefusesOthers) {
  EXPECT_THROW(static_cast<void>(read_halo(path_, 0, 4, 8)), Error);
  write_halos(path_, exchanges());
  EXPECT_THROW(static_cast<void>(read_halo(path_, 0, 5, 8)), Error);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 8);
  EXPECT_NO_THROW(static_cast<void>(read_halo(path_, 0, 4, 8)));
  EXPECT_THROW(static_cast<void>(read_halo(path_, 3, 4, 8)), Error);
  std::ofstream(path_) << "a text that is long enough to have a head";
  EXPECT_THROW(static_cast<void>(read_halo(path_, 0, 4, 8)), Error);
  EXPECT_THROW(write_halos("/nowhere/at/all", exchanges()), Error);
}

}  // namespace
}  // namespace laneway::bench
