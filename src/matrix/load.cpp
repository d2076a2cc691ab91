#include "matrix/load.hpp"

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "matrix/generators.hpp"
#include "matrix/text.hpp"

namespace laneway::matrix {

std::string read_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) fail(path, 0, "no such file");
  if (!std::filesystem::is_regular_file(path, error)) fail(path, 0, "not a regular file");
  std::ifstream in(path, std::ios::binary | std::ios::ate);
  if (!in) fail(path, 0, "cannot be opened");
  std::string text(static_cast<std::size_t>(in.tellg()), '\0');
  in.seekg(0);
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in) fail(path, 0, "cannot be read");
  return text;
}

void fail(const std::string& path, std::int64_t line, const std::string& message) {
  throw Error(ErrorKind::io, path + (line > 0 ? ":" + std::to_string(line) : "") + ": " + message);
}

void check_size(const std::string& path, std::int64_t line, std::int64_t rows, std::size_t bytes) {
  constexpr std::int64_t always = std::int64_t{1} << 20;
  if (rows > always + static_cast<std::int64_t>(bytes))
    fail(path, line,
         "announces " + std::to_string(rows) + " rows or columns, almost all of which are empty in a file of " +
             std::to_string(bytes) + " bytes");
}

bool Lines::next() {
  if (rest_.empty()) return false;
  const std::size_t end = rest_.find('\n');
  line_ = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  ++number_;
  return true;
}

bool Lines::next_content() {
  constexpr std::string_view blank = " \t\r\f\v";
  while (next()) {
    const std::size_t begin = line_.find_first_not_of(blank);
    if (begin != std::string_view::npos && line_[begin] != '%') return true;
  }
  return false;
}

std::string_view Lines::word() {
  constexpr std::string_view blank = " \t\r\f\v";
  const std::size_t begin = line_.find_first_not_of(blank);
  if (begin == std::string_view::npos) {
    line_ = {};
    return {};
  }
  const std::size_t end = line_.find_first_of(blank, begin);
  const std::string_view result = line_.substr(begin, end - begin);
  line_.remove_prefix(end == std::string_view::npos ? line_.size() : end);
  return result;
}

Csr load(std::string_view spec) {
  if (spec.ends_with(".mtx")) return read_market(std::string(spec));
  if (spec.ends_with(".graph")) return read_graph(std::string(spec));
  return generate(spec);
}

}  // namespace laneway::matrix
