#include "output/format.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "base/error.hpp"
#include "base/readable.hpp"

namespace laneway::bench {

namespace {

std::string print(const char* format, int digits, double value, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, digits, value, unit);
  return text.data();
}

void write(const std::string& path, const std::string& text, std::ios::openmode mode) {
  std::ofstream file(path, mode);
  file << text;
  file.flush();
  require(file.good(), ErrorKind::io, "cannot write '" + path + "'");
}

}  // namespace

std::string format_seconds(double seconds) {
  return readable_seconds(seconds);
}

std::string format_number(const std::optional<double>& value, int digits) {
  return value ? print("%.*f%s", digits, *value, "") : "-";
}

std::vector<bool> Table::shown() const {
  std::vector<bool> shown(rows_.front().size(), rows_.size() == 1);
  for (std::size_t r = 1; r < rows_.size(); ++r)
    for (std::size_t i = 0; i < shown.size(); ++i)
      if (rows_[r][i] != "-") shown[i] = true;
  return shown;
}

std::string Table::text() const {
  const std::size_t columns = rows_.front().size();
  const std::vector<bool> shown = this->shown();
  std::vector<std::size_t> widths(columns);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      if (!shown[i]) continue;
      const std::string space(widths[i] - row[i].size(), ' ');
      line += i == 0 ? row[i] + space : "  " + space + row[i];
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

std::string Table::markdown() const {
  const std::vector<bool> shown = this->shown();
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string rule = "|";
    text += "|";
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (!shown[i]) continue;
      text += " " + rows_[r][i] + " |";
      rule += i == 0 ? " --- |" : " ---: |";
    }
    text += "\n";
    if (r == 0) text += rule + "\n";
  }
  return text;
}

void append_line(const std::string& path, const std::string& text) {
  write(path, text + "\n", std::ios::app);
}

void write_file(const std::string& path, const std::string& text) {
  write(path, text, std::ios::trunc);
}

}  // namespace laneway::bench
