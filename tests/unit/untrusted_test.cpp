// Texts of others: an error that says what is wrong, never more memory than the text is worth. tests/fuzz looks for
// more.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "base/bytes/wire.hpp"
#include "base/error.hpp"
#include "cases.hpp"
#include "machine/machine_file.hpp"
#include "matrix/load.hpp"
#include "plan/plan.hpp"
#include "plan/verify/verify.hpp"

namespace laneway {
namespace {

using cases::error_of;

std::string plan_with(const std::string& staging_bytes, const std::string& run) {
  return R"({"rank": 0, "staging_bytes": )" + staging_bytes +
         R"(, "steps": [{"kind": "move", "stage": "gather", "from": "send", "to": "staging", "runs": [)" + run + "]}]}";
}

std::string first_problem(const std::string& plan) {
  const std::vector<Plan> plans = {plan_from_json(plan)};
  const Report report = verify(plans, std::vector<RankPattern>(1));
  return report.ok ? "none" : report.problems.front();
}

TEST(Untrusted, NumbersOfPlansAreWholeAndFit) {
  for (const char* number : {"1e300", "1.5", "true", "\"8\"", "9223372036854775808", "-9223372036854775809", "[]"}) {
    EXPECT_NE(error_of([&] { (void)plan_from_json(plan_with(number, "[0, 0, 8, 0, 0, 1]")); }).find("whole number"),
              std::string::npos)
        << number;
    EXPECT_NE(error_of([&] {
                (void)plan_from_json(plan_with("8", "[0, 0, 8, 0, 0, " + std::string(number) + "]"));
              }).find("whole number"),
              std::string::npos)
        << number;
  }
  const std::string large_rank = R"({"rank": 4294967296, "staging_bytes": 8, "steps": []})";
  EXPECT_NE(error_of([&] { (void)plan_from_json(large_rank); }).find("32 bits, found 4294967296"), std::string::npos);
}

TEST(Untrusted, PlacesThatAreNoNumbersAreProblems) {
  EXPECT_NE(first_problem(plan_with("256", "[0, 0, 64, 0, 9223372036854775807, 9223372036854775807]"))
                .find("ends too far away"),
            std::string::npos);
  EXPECT_NE(first_problem(plan_with("256", "[0, 9223372036854775807, 64, 0, 0, 1]")).find("too far away"),
            std::string::npos);
}

TEST(Untrusted, ProofsTakeNoMoreMemoryForManyBlocks) {
  EXPECT_NE(first_problem(plan_with("256", "[0, 0, 1, 0, 0, 4611686018427387904]")).find("blocks"), std::string::npos);
  EXPECT_NE(first_problem(plan_with("256", "[0, 0, 8, 0, 1, 249]")).find("overlaps itself"), std::string::npos);
  EXPECT_NE(first_problem(plan_with("256", "[0, 8, 8, 0, -1, 9]")).find("overlaps itself"), std::string::npos);
  // Nothing but that the pattern has no byte there.
  EXPECT_NE(first_problem(plan_with("256", "[0, 0, 1, 0, 2, 128]")).find("reads send bytes [0, 1)"), std::string::npos);
}

TEST(Untrusted, MatricesTakeMemoryInProportionToTheirFile) {
  const std::string banner = "%%MatrixMarket matrix coordinate real general\n";
  for (const char* size : {"2147483647 2147483647 1\n1 1 1\n", "2147483647 1 0\n", "1 2147483647 0\n"})
    EXPECT_NE(error_of([&] { (void)matrix::market_from_text(banner + size, "m"); }).find("m:2: announces 2147483647"),
              std::string::npos)
        << size;
  EXPECT_EQ(matrix::market_from_text(banner + "1000000 3 1\n1 1 1\n", "m").rows, 1000000);
}

TEST(Untrusted, MachineFilesHaveOnlyTextWhereTomlAllowsIt) {
  const auto error = [](const std::string& text) { return error_of([&] { (void)TomlTable::parse(text, "f"); }); };
  EXPECT_NE(error("a = 1\n\u00fc = 2\n").find("f: line 2: a character that is not ASCII"), std::string::npos);
  EXPECT_NE(error("a = 1 \u2028\n").find("not ASCII"), std::string::npos);
  EXPECT_NE(error("a = \"\"\"x\\\n \u00fc\"\"\"\n").find("not ASCII"), std::string::npos);
  EXPECT_NE(error("a = 1'\u00fc'\n").find("not ASCII"), std::string::npos);
  EXPECT_NE(error("a = 1 #\r\u00fc\n").find("not ASCII"), std::string::npos);
  EXPECT_NE(error("[, 1]\n").find("f: "), std::string::npos);
  for (const char* good : {"\xef\xbb\xbf"
                           "a = \"\u00fc\" # \u00fc\nb = '\u00fc\\'\n",
                           "a = '''\u00fc'x''''\nb = \"\\\"\u00fc\"\n", "a = \"\"\"x\"\"\"\"\n"})
    EXPECT_EQ(error(good), "none") << good;
}

TEST(Untrusted, MessagesThatAreCutOffAreErrors) {
  const auto read = [](const Bytes& bytes, auto&& get) { return error_of([&] { get(Reader(bytes)); }); };
  Writer lengths;
  lengths.put(std::int64_t{1} << 60);
  const Bytes much = lengths.take();
  EXPECT_NE(read(much, [](Reader r) { (void)r.get_bytes(); }), "none");
  EXPECT_NE(read(much, [](Reader r) { (void)r.get_ranges(); }), "none");
  EXPECT_NE(read(Bytes(20, std::byte{0xff}), [](Reader r) { (void)r.get_compact(); }), "none");
  EXPECT_NE(read(Bytes(7), [](Reader r) { (void)r.get<double>(); }), "none");
  Writer ranges;
  ranges.put(std::int64_t{1});
  ranges.put(laneway::Run{0, 8, std::int64_t{1} << 40, std::int64_t{1} << 40});
  const Bytes far = ranges.take();
  EXPECT_NE(read(far, [](Reader r) { (void)r.get_ranges(); }), "none");
}

TEST(Untrusted, ManyBlocksThatJoinAreReadAtOnce) {
  RangeList list{{0, 4}};
  list.append(laneway::Run{4, 4, 16, std::int64_t{1} << 50});
  EXPECT_EQ(list.bytes(), 4 + (std::int64_t{4} << 50));
  EXPECT_EQ(list.runs(), (std::vector<laneway::Run>{{0, 8, 0, 1}, {20, 4, 16, (std::int64_t{1} << 50) - 1}}));
}

}  // namespace
}  // namespace laneway
