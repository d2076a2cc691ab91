#pragma once

#include <optional>
#include <string>
#include <vector>

namespace laneway::bench {

/// `1.23 ms`
[[nodiscard]] std::string format_seconds(double seconds);
/// A number with `digits` places, or `-`.
[[nodiscard]] std::string format_number(const std::optional<double>& value, int digits);

/// Rows of cells under a heading, without the columns in which every cell is `-`. The first column is aligned to the
/// left, the others to the right.
class Table {
 public:
  explicit Table(std::vector<std::string> heading) : rows_{std::move(heading)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;
  /// The same columns as a table of Markdown.
  [[nodiscard]] std::string markdown() const;

 private:
  [[nodiscard]] std::vector<bool> shown() const;

  std::vector<std::vector<std::string>> rows_;
};

/// Appends `text` and a line end to a file. Throws Error(io).
void append_line(const std::string& path, const std::string& text);
/// Replaces a file. Throws Error(io).
void write_file(const std::string& path, const std::string& text);

}  // namespace laneway::bench
