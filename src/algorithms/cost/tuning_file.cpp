#include "algorithms/cost/tuning_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string_view>

#include "base/bytes/mix.hpp"
#include "base/log_line.hpp"

namespace laneway {

namespace {

std::uint64_t check_of(std::string_view text) {
  std::uint64_t hash = 0;
  for (char c : text) hash = mix(hash ^ static_cast<unsigned char>(c));
  return hash & 0xffffffffU;
}

/// KEY STRATEGY SECONDS CHECK
std::string line_of(std::uint64_t key, const TuningFile::Entry& entry) {
  std::array<char, 128> text{};
  std::snprintf(text.data(), text.size(), "%016" PRIx64 " %s %.6g", key, entry.strategy.c_str(), entry.seconds);
  const std::string line = text.data();
  std::snprintf(text.data(), text.size(), " %08" PRIx64 "\n", check_of(line));
  return line + text.data();
}

struct Line {
  std::uint64_t key = 0;
  TuningFile::Entry entry;
};

std::optional<Line> parse(const std::string& line) {
  const std::size_t end = line.rfind(' ');
  if (end == std::string::npos) return std::nullopt;
  char* rest = nullptr;
  const std::uint64_t check = std::strtoull(line.c_str() + end, &rest, 16);
  if (*rest != '\0' || check != check_of(std::string_view(line).substr(0, end))) return std::nullopt;
  Line result;
  std::array<char, 64> strategy{};
  if (std::sscanf(line.c_str(), "%" SCNx64 " %63s %lf", &result.key, strategy.data(), &result.entry.seconds) != 3)
    return std::nullopt;
  result.entry.strategy = strategy.data();
  return result;
}

void warn_once(std::atomic<bool>& warned, const std::string& text) {
  if (!warned.exchange(true)) log_line(text);
}

/// Open and locked until the end of the scope.
class LockedFile {
 public:
  LockedFile(const std::filesystem::path& path, int flags, int lock)
      : descriptor_(open(path.c_str(), flags | O_CLOEXEC, 0600)) {
    if (descriptor_ >= 0) (void)flock(descriptor_, lock);
  }
  ~LockedFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] bool append(std::string text) const {
    // What was cut off must not spoil the next line.
    char last = '\n';
    const off_t size = lseek(descriptor_, 0, SEEK_END);
    if (size > 0 && pread(descriptor_, &last, 1, size - 1) == 1 && last != '\n') text.insert(0, "\n");
    // A file that became longer than allowed would be answered by SIGXFSZ, which ends the process.
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur < static_cast<rlim_t>(std::max<off_t>(size, 0)) + text.size()) {
      errno = EFBIG;
      return false;
    }
    return write(descriptor_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

 private:
  int descriptor_;
};

}  // namespace

std::optional<TuningFile> TuningFile::of_user() {
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  if (cache != nullptr && *cache == '/') return TuningFile(std::filesystem::path(cache) / "laneway" / "tuning");
  const char* const home = std::getenv("HOME");
  if (home != nullptr && *home == '/') return TuningFile(std::filesystem::path(home) / ".cache" / "laneway" / "tuning");
  return std::nullopt;
}

std::optional<TuningFile::Entry> TuningFile::find(std::uint64_t key) const {
  static std::atomic<bool> warned{false};
  const LockedFile lock(path_, O_RDONLY, LOCK_SH);
  if (!lock.is_open()) {
    if (errno != ENOENT) warn_once(warned, path_.string() + ": " + std::strerror(errno) + "; nothing is remembered");
    return std::nullopt;
  }
  std::optional<Entry> found;
  std::ifstream stream(path_);
  std::string text;
  for (int number = 1; std::getline(stream, text); ++number) {
    const std::optional<Line> line = parse(text);
    if (line && line->key == key) found = line->entry;
    if (!line && !text.empty())
      warn_once(warned,
                path_.string() + ":" + std::to_string(number) + ": damaged line ignored; the file can be deleted");
  }
  return found;
}

void TuningFile::remember(std::uint64_t key, const Entry& entry) const {
  static std::atomic<bool> warned{false};
  std::error_code ignored;
  std::filesystem::create_directories(path_.parent_path(), ignored);
  errno = 0;
  const LockedFile file(path_, O_RDWR | O_APPEND | O_CREAT, LOCK_EX);
  if (!file.is_open() || !file.append(line_of(key, entry)))
    warn_once(warned, path_.string() + ": " + std::strerror(errno) + "; what is measured is not remembered");
}

}  // namespace laneway
