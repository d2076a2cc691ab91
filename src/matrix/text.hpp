#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace laneway::matrix {

/// The whole of a file. Throws Error(ErrorKind::io) naming the file.
[[nodiscard]] std::string read_file(const std::string& path);

/// Throws Error(ErrorKind::io): "path:line: message", or "path: message" where `line` is 0.
[[noreturn]] void fail(const std::string& path, std::int64_t line, const std::string& message);

/// Throws where a matrix of so many rows or columns, each of which takes memory, is announced by a file of so few bytes
/// that most must be empty.
void check_size(const std::string& path, std::int64_t line, std::int64_t rows, std::size_t bytes);

/// Lines of a text, and the words of a line; a carriage return is white space.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  /// Moves to the next line; false after the last.
  bool next();

  /// Moves to the next line that is neither blank nor a comment (%).
  bool next_content();

  /// The next word of the current line, empty at its end.
  std::string_view word();

  [[nodiscard]] std::int64_t number() const { return number_; }

 private:
  std::string_view rest_;
  std::string_view line_;
  std::int64_t number_ = 0;
};

/// True if all of `word` is a number that T can hold.
template <class T>
[[nodiscard]] bool parse_number(std::string_view word, T& number) {
  if (word.size() > 1 && word.front() == '+' && word[1] != '-') word.remove_prefix(1);
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, number);
  return error == std::errc() && stop == end;
}

}  // namespace laneway::matrix
