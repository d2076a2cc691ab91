// Runs the cases of one program on all ranks. Rank 0 prints; the others print only what fails on them.
//
//   --files=NAME,...  only the cases of NAME_test.cpp, ...
//   --report=FILE     rank 0 writes a line when a case begins and ends, for `laneway test`
//
// LANEWAY_TEST_CASES: a regular expression; only cases of which NAME.Suite.Case matches.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <regex>
#include <string>
#include <string_view>

#include "exchange.hpp"
#include "support.hpp"

#ifndef LANEWAY_TEST_THREAD_LEVEL
#define LANEWAY_TEST_THREAD_LEVEL MPI_THREAD_SINGLE
#endif

namespace {

constexpr unsigned seconds_for_a_test = 240;
char running[256] = "start";

/// A hang says where before the launcher's time is up.
void on_alarm(int) {
  char text[400];
  const int length = std::snprintf(text, sizeof text, "rank %d hangs in %s\n", laneway::test::rank(), running);
  if (write(STDERR_FILENO, text, static_cast<std::size_t>(length)) < 0) _exit(3);
  _exit(2);
}

class Watch : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& test) override {
    std::snprintf(running, sizeof running, "%s.%s", test.test_suite_name(), test.name());
    alarm(seconds_for_a_test);
  }
};

/// What a crash leaves unfinished has a line that it began, and none that it ended.
class Report : public testing::EmptyTestEventListener {
 public:
  explicit Report(const std::string& path) : file_(std::fopen(path.c_str(), "w")) {}
  ~Report() override {
    if (file_ != nullptr) std::fclose(file_);
  }

 private:
  void OnTestStart(const testing::TestInfo& test) override { line("begins", test, 0); }
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    line(result.Failed() ? "failed" : result.Skipped() ? "skipped" : "passed", test, result.elapsed_time());
  }
  void line(const char* what, const testing::TestInfo& test, testing::TimeInMillis elapsed) {
    if (file_ == nullptr) return;
    std::fprintf(file_, "%s %s.%s %lld\n", what, test.test_suite_name(), test.name(), static_cast<long long>(elapsed));
    std::fflush(file_);
  }

  std::FILE* file_;
};

class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d] %s: %s:%d\n%s\n", laneway::test::rank(), running,
                 result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
  }
};

/// "exchange" of .../exchange_test.cpp.
std::string_view file_of(const testing::TestInfo& test) {
  std::string_view name = test.file();
  name.remove_prefix(std::min(name.size(), name.rfind('/') + 1));
  return name.substr(0, name.rfind("_test."));
}

/// Leaves out what is not of these files, or does not match.
void choose(const std::string& files, const char* expression) {
  const std::regex wanted(expression != nullptr ? expression : "");
  std::string left_out;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int s = 0; s < all.total_test_suite_count(); ++s)
    for (int i = 0; i < all.GetTestSuite(s)->total_test_count(); ++i) {
      const testing::TestInfo& test = *all.GetTestSuite(s)->GetTestInfo(i);
      const std::string name = std::string(test.test_suite_name()) + "." + test.name();
      const std::string file(file_of(test));
      const bool is_in = files.empty() || ("," + files + ",").find("," + file + ",") != std::string::npos;
      if (!is_in || !std::regex_search(file + "." + name, wanted)) left_out += ":" + name;
    }
  if (left_out.empty()) return;
  std::string& filter = testing::GTEST_FLAG(filter);
  if (filter.find('-') == std::string::npos) left_out[0] = '-';
  filter += left_out;
}

}  // namespace

#ifdef LANEWAY_TEST_SANITIZED
/// What the MPI library opens stays open: what it leaks is told from what others leak by the library that the call came
/// from.
extern "C" __attribute__((visibility("default"))) int dlclose(void*) noexcept {
  return 0;
}
#endif

int main(int argc, char** argv) {
  int provided = 0;
  MPI_Init_thread(&argc, &argv, LANEWAY_TEST_THREAD_LEVEL, &provided);
  testing::InitGoogleTest(&argc, argv);
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  std::string files;
  std::string report;
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--files=", 8) == 0) files = argv[i] + 8;
    if (std::strncmp(argv[i], "--report=", 9) == 0) report = argv[i] + 9;
  }
  choose(files, std::getenv("LANEWAY_TEST_CASES"));
  if (laneway::test::rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  } else if (!report.empty()) {
    listeners.Append(new Report(report));
  }
  listeners.Append(new Watch);
  std::signal(SIGALRM, on_alarm);
  const int mine = RUN_ALL_TESTS();
  alarm(seconds_for_a_test);
  std::strcpy(running, "MPI_Finalize");
  laneway::test::free_pair_types();
  int worst = mine;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
