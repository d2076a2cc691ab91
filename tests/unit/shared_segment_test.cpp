#include "runtime/carriers/node/shared_segment.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace laneway {
namespace {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "laneway-XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

SharedSegment::Address own(int descriptor, std::uint64_t token) {
  return {getpid(), descriptor, token};
}

TEST(SharedSegment, IsMappedByOthersAndZero) {
  const SharedSegment first;
  const SharedSegment second(first.address());
  constexpr std::size_t bytes = SharedSegment::header_bytes + 100000;
  const std::shared_ptr<std::byte> ours = first.map(bytes);
  const std::shared_ptr<std::byte> theirs = second.map(bytes);
  first.reserve(SharedSegment::header_bytes, 50000);
  for (std::size_t i = SharedSegment::header_bytes; i < bytes; ++i) ASSERT_EQ(theirs.get()[i], std::byte{0});
  ours.get()[bytes - 1] = std::byte{7};
  EXPECT_EQ(theirs.get()[bytes - 1], std::byte{7});
}

TEST(SharedSegment, IsReservedInParts) {
  const SharedSegment segment;
  constexpr std::size_t bytes = std::size_t{8} << 20;
  const std::shared_ptr<std::byte> memory = segment.map(bytes);
  const auto blocks = [&] {
    struct stat status {};
    EXPECT_EQ(fstat(static_cast<int>(segment.address().descriptor), &status), 0);
    return static_cast<std::size_t>(status.st_blocks) * 512;
  };
  EXPECT_LE(blocks(), SharedSegment::header_bytes);
  segment.reserve(bytes / 4, bytes / 2);
  EXPECT_GE(blocks(), bytes / 2);
  EXPECT_LT(blocks(), bytes);
}

/// A peer that cuts memory off makes others end with SIGBUS.
TEST(SharedSegment, KeepsItsSize) {
  const SharedSegment segment;
  const std::shared_ptr<std::byte> memory = segment.map(3 * SharedSegment::header_bytes);
  const SharedSegment peer(segment.address());
  const int descriptor = static_cast<int>(peer.address().descriptor);
  EXPECT_NE(ftruncate(descriptor, 0), 0);
  EXPECT_NE(ftruncate(descriptor, 1 << 20), 0);
  EXPECT_NO_THROW((void)peer.map(3 * SharedSegment::header_bytes));
}

TEST(SharedSegment, IsNoProgram) {
  const SharedSegment segment;
  const int descriptor = static_cast<int>(segment.address().descriptor);
  struct stat status {};
  ASSERT_EQ(fstat(descriptor, &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  constexpr unsigned no_program = 8;  // MFD_NOEXEC_SEAL
  const int sealed = memfd_create("test", MFD_CLOEXEC | no_program);
  if (sealed < 0) GTEST_SKIP() << "SKIP: this kernel cannot seal the mode of memory";
  close(sealed);
  EXPECT_NE(fchmod(descriptor, 0700), 0);
}

TEST(SharedSegment, OpensNoFifoInItsPlace) {
  const Folder folder;
  const std::string path = folder.file("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  EXPECT_THROW(SharedSegment{own(reader, 1)}, std::system_error);
  // The reader is told when a writer has been there.
  pollfd look{reader, POLLIN, 0};
  EXPECT_EQ(poll(&look, 1, 0), 0) << "somebody has opened it for writing";
  close(reader);
}

TEST(SharedSegment, OpensNoFileInItsPlace) {
  const Folder folder;
  const std::string path = folder.file("laneway");
  constexpr std::uint64_t token = 0x1234567890abcdefULL;
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(&token), sizeof token);
  const int file = open(path.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(file, 0);
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(inotify_add_watch(watch, path.c_str(), IN_OPEN), 0);
  EXPECT_THROW(SharedSegment{own(file, token)}, std::system_error);
  std::array<char, 4096> events{};
  EXPECT_LT(read(watch, events.data(), events.size()), 0) << "somebody has opened it";
  close(watch);
  close(file);
}

TEST(SharedSegment, IsNotAnotherOfTheSameName) {
  const int other = memfd_create("laneway", MFD_CLOEXEC);
  ASSERT_GE(other, 0);
  EXPECT_THROW(SharedSegment{own(other, 1)}, std::system_error);
  const SharedSegment segment;
  EXPECT_THROW(SharedSegment{own(static_cast<int>(segment.address().descriptor), segment.address().token + 1)},
               std::system_error);
  EXPECT_THROW(SharedSegment{own(1 << 20, 1)}, std::system_error);
  close(other);
}

TEST(SharedSegment, IsRefusedWhereFilesMayNotBeSoLong) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const SharedSegment segment;
  const auto under = [&](rlim_t bytes, auto&& call) {
    const rlimit low{bytes, before.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &low), 0);
    call();
    EXPECT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  };
  under(0, [] { EXPECT_THROW(SharedSegment{}, std::system_error); });
  under(1 << 20, [&] { EXPECT_THROW((void)segment.map((1 << 20) + 1), std::system_error); });
  under(1 << 20, [&] { EXPECT_NO_THROW((void)segment.map(1 << 20)); });
}

}  // namespace
}  // namespace laneway
