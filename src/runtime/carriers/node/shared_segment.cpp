#include "runtime/carriers/node/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <system_error>

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace laneway {

namespace {

constexpr const char* memory_name = "laneway";
constexpr std::string_view link_prefix = "/memfd:laneway";
constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

[[noreturn]] void fail(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

[[noreturn]] void fail(int error, const std::string& what) {
  throw std::system_error(error, std::generic_category(), what);
}

/// Files that would become longer than RLIMIT_FSIZE are answered by SIGXFSZ, which ends the process.
void check_file_size(std::size_t bytes) {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < bytes)
    fail(EFBIG,
         "RLIMIT_FSIZE is " + std::to_string(limit.rlim_cur) + " bytes, shared memory needs " + std::to_string(bytes));
}

int create_memory() {
  constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  const int sealed = memfd_create(memory_name, flags | MFD_NOEXEC_SEAL);
  if (sealed >= 0 || errno != EINVAL) return sealed;
  return memfd_create(memory_name, flags);  // before Linux 6.3
}

bool is_shared_segment(const std::string& link) {
  std::array<char, 64> target{};
  const ssize_t length = readlink(link.c_str(), target.data(), target.size());
  return length > 0 &&
         std::string_view(target.data(), static_cast<std::size_t>(length)).substr(0, link_prefix.size()) == link_prefix;
}

std::size_t size_of(int descriptor) {
  struct stat status {};
  if (fstat(descriptor, &status) != 0) fail("fstat");
  return static_cast<std::size_t>(status.st_size);
}

/// Whoever comes first sets the size, for good: memory that a peer cuts off would be answered by SIGBUS.
void set_size(int descriptor, std::size_t bytes) {
  if (size_of(descriptor) < bytes && ftruncate(descriptor, static_cast<off_t>(bytes)) != 0) {
    const int error = errno;
    if (error != EPERM || size_of(descriptor) < bytes) fail(error, "ftruncate");
  }
  if (fcntl(descriptor, F_ADD_SEALS, size_seals) == 0) return;
  const int seals = fcntl(descriptor, F_GET_SEALS);
  if (seals < 0 || (seals & size_seals) != size_seals) fail("fcntl(F_ADD_SEALS)");
}

}  // namespace

SharedSegment::SharedSegment() {
  check_file_size(header_bytes);
  std::random_device random;
  token_ = (std::uint64_t{random()} << 32) | random();
  descriptor_ = create_memory();
  if (descriptor_ < 0) fail("memfd_create");
  if (fchmod(descriptor_, S_IRUSR | S_IWUSR) != 0 ||
      pwrite(descriptor_, &token_, sizeof token_, 0) != static_cast<ssize_t>(sizeof token_)) {
    const int error = errno;
    close(descriptor_);
    fail(error, "memfd_create");
  }
}

SharedSegment::SharedSegment(const Address& address) : token_(address.token) {
  const std::string path = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  // In another PID namespace the numbers are those of a stranger. Merely opening what it has can have effects, such as
  // on a terminal or a watchdog.
  if (!is_shared_segment(path)) fail(ESRCH, path + " is another process's");
  descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor_ < 0) fail(path);
  struct stat status {};
  std::uint64_t found = 0;
  if (fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && fcntl(descriptor_, F_GET_SEALS) >= 0 &&
      pread(descriptor_, &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) && found == token_)
    return;
  close(descriptor_);
  fail(ESRCH, path + " is another process's");
}

SharedSegment::~SharedSegment() {
  close(descriptor_);
}

SharedSegment::Address SharedSegment::address() const {
  return {getpid(), descriptor_, token_};
}

std::shared_ptr<std::byte> SharedSegment::map(std::size_t bytes) const {
  check_file_size(bytes);
  set_size(descriptor_, bytes);
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return {static_cast<std::byte*>(memory), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

void SharedSegment::reserve(std::size_t begin, std::size_t bytes) const {
  // A signal makes the system give back what the interrupted call has got, so calls are short.
  constexpr std::size_t step = std::size_t{1} << 20;
  for (const std::size_t end = begin + bytes; begin < end;) {
    const std::size_t next = std::min(step, end - begin);
    if (fallocate(descriptor_, 0, static_cast<off_t>(begin), static_cast<off_t>(next)) == 0)
      begin += next;
    else if (errno == EOPNOTSUPP || errno == ENOSYS)
      return;
    else if (errno != EINTR)
      fail("reserving " + std::to_string(bytes) + " bytes of shared memory");
  }
}

void SharedSegment::clear(std::byte* memory, std::size_t begin, std::size_t bytes) const {
  constexpr int mode = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
  int failed = 0;
  do {
    failed = fallocate(descriptor_, mode, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  if (failed != 0) std::memset(memory + begin, 0, bytes);
}

}  // namespace laneway
