#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "system_limits.hpp"

namespace {
bool refuses = false;
}

extern "C" int memfd_create(const char* name, unsigned flags) noexcept {
  if (!refuses) return static_cast<int>(syscall(SYS_memfd_create, name, flags));
  errno = EPERM;
  return -1;
}

/// Of a peer's memory the library first looks at what its descriptor is.
extern "C" ssize_t readlink(const char* path, char* target, size_t bytes) noexcept {
  if (!refuses || !std::string_view(path).starts_with("/proc/"))
    return syscall(SYS_readlinkat, AT_FDCWD, path, target, bytes);
  errno = EPERM;
  return -1;
}

namespace laneway::test {

void refuse_shared_memory(bool refuse) {
  refuses = refuse;
}

}  // namespace laneway::test
