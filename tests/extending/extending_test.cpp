// What it takes to add something, counted: the tables of this program have a strategy, an algorithm, a finder and a
// carrier more than the library's, and the tests that read tables try them.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

#include "../unit/virtual_node.hpp"
#include "algorithms/collective/rules.hpp"
#include "algorithms/neighborhood/strategy.hpp"
#include "algorithms/rendezvous/finder.hpp"
#include "runtime/carriers/carrier.hpp"

namespace laneway {

/// How many messages that carrier has moved, and one more for asking.
std::int64_t moved_by_tiny();

namespace {

std::ptrdiff_t files_in(const char* folder) {
  const std::filesystem::recursive_directory_iterator all(std::filesystem::path(LANEWAY_SOURCES) / folder);
  return std::count_if(begin(all), end(all), [](const auto& entry) { return entry.is_regular_file(); });
}

std::multiset<std::string> lines_of(const char* path) {
  std::ifstream file(std::filesystem::path(LANEWAY_SOURCES) / path);
  std::multiset<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.insert(line);
  return lines;
}

TEST(Extending, TakesAFileOrTwo) {
  EXPECT_EQ(files_in("tests/extending/strategy"), 2) << "a rule and its golden test";
  EXPECT_EQ(files_in("tests/extending/collective"), 1);
  EXPECT_EQ(files_in("tests/extending/finder"), 1);
  EXPECT_EQ(files_in("tests/extending/carrier/tiny"), 1);
}

/// The table of carriers is the library's, but for the carrier's declaration and its place.
TEST(Extending, ACarrierIsARowBesideItsFolder) {
  const std::multiset<std::string> own = lines_of("tests/extending/carrier/carriers.cpp");
  const std::multiset<std::string> librarys = lines_of("src/runtime/carriers/carriers.cpp");
  std::multiset<std::string> more;
  std::ranges::set_difference(own, librarys, std::inserter(more, more.end()));
  EXPECT_EQ(more.size(), 2U);
  EXPECT_FALSE(librarys.empty());
}

/// It runs its steps itself, with words that nobody else could await.
TEST(Extending, ACarrierMovesByItself) {
  const std::int64_t before = moved_by_tiny();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const cases::Case c = cases::make_case(seed);
    cases::Random random(seed);
    const cases::Localized localized =
        cases::localize(random, c, cases::candidates(seed).front(), cases::NodeUse::own_staging, &carriers().front());
    const cases::Exchanges data(random, c.pattern, 5);
    ASSERT_EQ(cases::run_exchanges(random, localized, data), "") << "seed " << seed;
  }
  EXPECT_GT(moved_by_tiny(), before + 100);
}

TEST(Extending, TablesHaveWhatIsAdded) {
  EXPECT_EQ(strategies().front().name, "direct");
  EXPECT_EQ(strategies().back().name, "tiny");
  EXPECT_EQ(parse_strategy("tiny_nodedup").row, &find_strategy("tiny"));
  EXPECT_EQ(find_dense_rule(Dense::bcast, "tiny").kind, Dense::bcast);
  EXPECT_EQ(carriers().front().name, "tiny");
  const FinderChoice choice = choose_finder({16, 4, 4, 2, 64}, Parameters::read("default-ethernet"));
  const auto tiny =
      std::ranges::find(choice.seconds, &find_finder("tiny"), &std::pair<const FinderRow*, double>::first);
  ASSERT_NE(tiny, choice.seconds.end());
  EXPECT_GT(tiny->second, 0);
}

}  // namespace
}  // namespace laneway
