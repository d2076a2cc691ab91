// Runs the tests of one program on all ranks. Rank 0 prints; the others print only what fails on them.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstring>

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

class FailuresOnly : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    std::fprintf(stderr, "[rank %d] %s: %s:%d\n%s\n", laneway::test::rank(), running,
                 result.file_name() ? result.file_name() : "?", result.line_number(), result.message());
  }
};

}  // namespace

#ifdef __SANITIZE_ADDRESS__
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
  if (laneway::test::rank() != 0) {
    delete listeners.Release(listeners.default_result_printer());
    listeners.Append(new FailuresOnly);
  }
  listeners.Append(new Watch);
  std::signal(SIGALRM, on_alarm);
  const int mine = RUN_ALL_TESTS();
  alarm(seconds_for_a_test);
  std::strcpy(running, "MPI_Finalize");
  int worst = mine;
  MPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  MPI_Finalize();
  return worst;
}
