#include "transport/shared_segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <random>
#include <system_error>

namespace laneway {

namespace {

[[noreturn]] void fail(const char* call) {
  throw std::system_error(errno, std::generic_category(), call);
}

void check_allowed() {
  if (!SharedSegment::refuse_for_tests) return;
  errno = EPERM;
  fail("shared memory");
}

}  // namespace

SharedSegment::SharedSegment() {
  check_allowed();
  std::random_device random;
  token_ = (std::uint64_t{random()} << 32) | random();
  descriptor_ = memfd_create("laneway", MFD_CLOEXEC);
  if (descriptor_ < 0) fail("memfd_create");
  if (fchmod(descriptor_, S_IRUSR | S_IWUSR) != 0 ||
      pwrite(descriptor_, &token_, sizeof token_, 0) != static_cast<ssize_t>(sizeof token_)) {
    close(descriptor_);
    fail("memfd_create");
  }
}

SharedSegment::SharedSegment(const Address& address) : token_(address.token) {
  check_allowed();
  const std::string path = "/proc/" + std::to_string(address.process) + "/fd/" + std::to_string(address.descriptor);
  descriptor_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor_ < 0) fail(path.c_str());
  std::uint64_t found = 0;
  if (pread(descriptor_, &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) && found == token_) return;
  close(descriptor_);
  errno = ESRCH;
  fail((path + " is another process's").c_str());
}

SharedSegment::~SharedSegment() {
  close(descriptor_);
}

SharedSegment::Address SharedSegment::address() const {
  return {getpid(), descriptor_, token_};
}

std::shared_ptr<std::byte> SharedSegment::map(std::size_t bytes) const {
  struct stat status {};
  if (fstat(descriptor_, &status) != 0) fail("fstat");
  if (static_cast<std::size_t>(status.st_size) < bytes && ftruncate(descriptor_, static_cast<off_t>(bytes)) != 0)
    fail("ftruncate");
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_, 0);
  if (memory == MAP_FAILED) fail("mmap");
  return {static_cast<std::byte*>(memory), [bytes](std::byte* mapped) { munmap(mapped, bytes); }};
}

}  // namespace laneway
