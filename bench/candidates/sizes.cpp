#include "candidates/sizes.hpp"

#include <CLI/CLI.hpp>
#include <charconv>
#include <limits>

namespace laneway::bench {

namespace {

std::int64_t parse_size(const std::string& text) {
  std::string number = text;
  const std::string complaint = CLI::AsSizeValue(false)(number);
  std::int64_t bytes = 0;
  const char* end = number.data() + number.size();
  const auto [stop, error] = std::from_chars(number.data(), end, bytes);
  if (!complaint.empty() || error != std::errc() || stop != end || bytes < 1 || bytes > std::numeric_limits<int>::max())
    throw CLI::ValidationError("--bytes", text + ": expected 1 to 2147483647, as 4096 or 4KiB");
  return bytes;
}

/// Sizes, and scans as 8..1MiB.
std::vector<std::int64_t> parse_sizes(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> sizes;
  for (const std::string& text : texts) {
    const std::size_t dots = text.find("..");
    const std::int64_t first = parse_size(text.substr(0, dots));
    const std::int64_t last = dots == std::string::npos ? first : parse_size(text.substr(dots + 2));
    if (last < first) throw CLI::ValidationError("--bytes", text + ": ends before it begins");
    for (std::int64_t bytes = first; bytes <= last; bytes *= 2) sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace

void add_sizes(CLI::App& command, const std::string& option, std::vector<std::int64_t>& sizes,
               const std::string& text) {
  std::string known;
  for (const std::int64_t bytes : sizes) known += (known.empty() ? "" : ",") + std::to_string(bytes);
  command
      .add_option_function<std::vector<std::string>>(
          option, [&sizes](const std::vector<std::string>& texts) { sizes = parse_sizes(texts); }, text)
      ->delimiter(',')
      ->default_str(known);
}

}  // namespace laneway::bench
