#include "base/process/ended.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

namespace laneway {

bool has_ended(std::int64_t process) {
  if (process <= 0 || process == getpid()) return false;
  const auto number = static_cast<pid_t>(process);
  if (kill(number, 0) != 0) return errno == ESRCH;
#ifdef SYS_pidfd_open
  // One that nobody has waited for is still there for kill.
  const int opened = static_cast<int>(syscall(SYS_pidfd_open, number, 0));
  if (opened < 0) return errno == ESRCH;
  pollfd ended{opened, POLLIN, 0};
  const bool has = poll(&ended, 1, 0) > 0;
  close(opened);
  return has;
#else
  return false;
#endif
}

}  // namespace laneway
