// The receiver's process is killed; the sender gets an error, not a hang, before the launcher ends it.
#include <csignal>
#include <cstdio>
#include <string>
#include <thread>

#include "laneway/laneway.h"

namespace {

/// Until a call fails; returns the text of the failure.
template <class Call>
std::string failure_of(Call&& call) {
  int code = MPI_SUCCESS;
  while ((code = call()) == MPI_SUCCESS) std::this_thread::yield();
  std::string text(MPI_MAX_ERROR_STRING, '\0');
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGTERM, SIG_IGN);  // the launcher's first attempt
  MPI_Init(&argc, &argv);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const auto create = [&](int role, LNW_Channel& channel) {
    LNW_Channel_create(MPI_COMM_WORLD, 1 - rank, role, 8, 1, MPI_INFO_NULL, &channel);
    MPI_Info info = MPI_INFO_NULL;
    LNW_Channel_get_info(channel, &info);  // they have met
    MPI_Info_free(&info);
  };
  LNW_Channel there = LNW_CHANNEL_NULL, back = LNW_CHANNEL_NULL;
  create(rank == 0 ? LNW_CHANNEL_SEND : LNW_CHANNEL_RECEIVE, there);
  create(rank == 0 ? LNW_CHANNEL_RECEIVE : LNW_CHANNEL_SEND, back);
  const double value = 1;
  if (rank == 1) {
    LNW_Channel_put(back, 0, &value, sizeof value);
    std::raise(SIGKILL);
  }
  void* data = nullptr;
  MPI_Count bytes = 0;
  LNW_Channel_wait(back, 0, &data, &bytes);  // comes, and then nothing does
  LNW_Channel_release(back, 0);
  LNW_Channel_put(there, 0, &value, sizeof value);
  int flag = 0;
  std::printf("waits: %s\n", failure_of([&] { return LNW_Channel_wait(back, 0, &data, &bytes); }).c_str());
  std::printf("puts: %s\n", failure_of([&] { return LNW_Channel_test_free(there, 0, &flag); }).c_str());
  std::fflush(stdout);
  std::_Exit(0);
}
