// Names that a user may get wrong: of MPI libraries, of variables, of keys.
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.hpp"
#include "base/error.hpp"
#include "base/nearest.hpp"
#include "communicator/hints/hints.hpp"
#include "communicator/hints/unknown_variables.hpp"
#include "laneway/laneway.h"
#include "mpi/library.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class NamesTest : public MpiTest {};

TEST_F(NamesTest, TheLibraryThatIsUsedIsOurs) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING + 1> version{};
  int length = 0;
  MPI_Get_library_version(version.data(), &length);
  EXPECT_EQ(complaint_about_library(version.data(), "file"), "");
}

TEST_F(NamesTest, TheOtherFamilyIsNot) {
  const std::vector<std::string> mpich = {
      "MPICH Version:\t4.0.2\nMPICH Release date: x", "MPI VERSION    : CRAY MPICH version 8.1.28.15 (ANL base 3.4a2)",
      "Intel(R) MPI Library 2021.11 for Linux* OS", "MVAPICH2 Version      : 2.3.7"};
  const std::vector<std::string> open_mpi = {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4",
                                             "Open MPI v5.0.6, package: x"};
#ifdef OPEN_MPI
  const auto& ours = open_mpi;
  const auto& theirs = mpich;
  const std::string name = "Open MPI";
#else
  const auto& ours = mpich;
  const auto& theirs = open_mpi;
  const std::string name = "MPICH";
#endif
  for (const std::string& version : ours) EXPECT_EQ(complaint_about_library(version, "x.so"), "") << version;
  for (const std::string& version : theirs)
    EXPECT_EQ(complaint_about_library(version, "x.so"),
              "this x.so was built for " + name +
                  ", but the program uses another MPI library: " + version.substr(0, version.find('\n')));
  EXPECT_EQ(complaint_about_library("Somebody's MPI 1.0", "x.so"), "");
}

TEST_F(NamesTest, UnknownVariablesAreNamedWithTheNearest) {
  const auto complaint = [](std::vector<const char*> variables) {
    variables.push_back(nullptr);
    return complaint_about_variables(variables.data());
  };
  EXPECT_EQ(complaint({"PATH=/bin", "LANEWAY_STRATEGY=direct", "LANEWAY_VERBOSE=", "LANEWAY_TEST_MARK=1", "LANE=1"}),
            "");
  EXPECT_EQ(complaint({"LANEWAY_STRATGY=direct"}),
            "LANEWAY_STRATGY is not a variable of Laneway's and is ignored: is LANEWAY_STRATEGY meant?");
  EXPECT_EQ(complaint({"LANEWAY_STRATGEY=direct", "LANEWAY_SOMETHING_ELSE=1"}),
            "LANEWAY_STRATGEY is not a variable of Laneway's and is ignored: is LANEWAY_STRATEGY meant?; "
            "LANEWAY_SOMETHING_ELSE is not a variable of Laneway's and is ignored");
  for (const HintRow& row : hint_rows) EXPECT_EQ(complaint({(std::string(row.environment) + "=1").c_str()}), "");
  for (const VariableRow& row : variable_rows()) EXPECT_EQ(complaint({(std::string(row.name) + "=1").c_str()}), "");
}

TEST_F(NamesTest, Distances) {
  EXPECT_EQ(edit_distance("", "abc"), 3);
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("abcd", "abdc"), 1);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
  EXPECT_EQ(nearest_first("lnw_stragety", {"lnw_machine", "lnw_strategy", "lnw_grid"}).front(), "lnw_strategy");
}

TEST_F(NamesTest, UnknownKeysAreNamedWithTheNearestFirst) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Info info = MPI_INFO_NULL;
  MPI_Info_create(&info);
  MPI_Info_set(info, "lnw_stragety", "direct");
  MPI_Comm graph = MPI_COMM_NULL;
  const int self = rank();
  const int code = LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED,
                                                  info, 0, &graph);
  EXPECT_NE(error_text(code).find("unknown key lnw_stragety; valid are, the most similar first, lnw_strategy, "),
            std::string::npos)
      << error_text(code);
  MPI_Info_free(&info);
}

/// Another valid text of a hint.
std::string another(const HintRow& row) {
  const std::map<std::string_view, std::string> own = {
      {"lnw_strategy", "direct"}, {"lnw_machine", "node:2"},    {"lnw_parameters", "lassen"}, {"lnw_grid", "4x4"},
      {"lnw_stream", "0x10"},     {"lnw_deduplicate", "false"}, {"lnw_check", "true"}};
  if (const auto found = own.find(row.key); found != own.end()) return found->second;
  if (!row.fallback.empty() && row.fallback.find_first_not_of("0123456789") == std::string_view::npos)
    return std::string(row.fallback) + "1";
  const std::string names = row.values();
  const std::string first = names.substr(0, names.find(", "));
  return first == row.fallback ? names.substr(names.rfind(", ") + 2) : first;
}

TEST_F(NamesTest, EachHintIsReadAndComparedBetweenRanks) {
  const HintTexts strategy = {{"lnw_strategy", "cartesian_combining"}, {"lnw_grid", "2x2"}};
  for (const HintRow& row : hint_rows) {
    const HintTexts& others = row.key == "lnw_grid" ? strategy : HintTexts{};
    HintTexts texts = others;
    texts[std::string(row.key)] = another(row);
    const bool differs = resolve_hints(texts, {}).fingerprint() != resolve_hints(others, {}).fingerprint();
    EXPECT_EQ(differs, row.key != "lnw_stream") << row.key << "=" << another(row);
  }
}

TEST_F(NamesTest, WrongTextsOfHintsNameTheValidOnes) {
  for (const HintRow& row : hint_rows) {
    if (row.values().find_first_of('`') != std::string::npos || row.key == "lnw_machine") continue;
    try {
      (void)resolve_hints({{std::string(row.key), "no such thing"}}, {});
      ADD_FAILURE() << row.key << " takes anything";
    } catch (const Error& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with(std::string(row.key) + "=no such thing: ")) << error.what();
    }
  }
}

TEST_F(NamesTest, NoTopologySaysHowToMakeOne) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int value = 0;
  const int code = LNW_Neighbor_allgather(&value, 1, MPI_INT, &value, 1, MPI_INT, MPI_COMM_WORLD);
  EXPECT_NE(error_text(code).find("has no topology; LNW_Dist_graph_create_adjacent makes one that has"),
            std::string::npos)
      << error_text(code);
}

}  // namespace
}  // namespace laneway::test
