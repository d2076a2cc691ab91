#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace laneway {

/// Strategies that have been measured to be the fastest, by a key that stands for pattern and machine. A text file of
/// one line each, to which any number of jobs may append at a time; of two lines with a key the later one counts.
/// Damaged lines are ignored, with a warning once a process.
class TuningFile {
 public:
  explicit TuningFile(std::filesystem::path path) : path_(std::move(path)) {}

  /// laneway/tuning in $XDG_CACHE_HOME, if that is an absolute path, or else in $HOME/.cache; nothing without either.
  static std::optional<TuningFile> of_user();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  struct Entry {
    std::string strategy;
    double seconds = 0;
  };
  [[nodiscard]] std::optional<Entry> find(std::uint64_t key) const;

  /// Makes the directories that are missing. Warns once a process where the file cannot be written.
  void remember(std::uint64_t key, const Entry& entry) const;

 private:
  std::filesystem::path path_;
};

}  // namespace laneway
