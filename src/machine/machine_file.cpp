#include "machine/machine_file.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/error.hpp"

namespace laneway {

namespace {

std::string element(const std::string& key, std::size_t index) {
  return key + "[" + std::to_string(index) + "]";
}

std::string found(const toml::node& node) {
  std::ostringstream text;
  text << "found " << (node.is_array() || node.is_integer() ? "an " : "a ") << node.type();
  return text.str();
}

/// Where a string of TOML ends that begins at `at`: one that may have several lines, and other ones.
std::size_t end_of_long_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  for (at += 3; at < text.size(); ++at) {
    if (text[at] == '\\' && quote == '"') {
      ++at;
    } else if (text.substr(at, 3) == three) {
      // Up to two quotes may be the last characters of the string.
      at += 3;
      while (at < text.size() && text[at] == quote) ++at;
      return at;
    }
  }
  return text.size();
}
std::size_t end_of_line(std::string_view text, std::size_t at) {
  return std::min(text.find_first_of("\n\v\f\r", at), text.size());
}
std::size_t end_of_string(std::string_view text, std::size_t at) {
  const char quote = text[at];
  const std::size_t end = end_of_line(text, at);
  for (++at; at < end; ++at) {
    if (text[at] == quote) return at + 1;
    if (text[at] == '\\' && quote == '"') ++at;
  }
  return end;
}
/// A quote inside a word is an error of the text and begins nothing.
bool may_begin_string(std::string_view text, std::size_t at) {
  return at == 0 || std::string_view(" \t\n\r=[{,.").find(text[at - 1]) != std::string_view::npos;
}

/// toml++ 3.3 is undefined for some characters that are not ASCII where it looks for white space: outside strings and
/// comments, where TOML has none of them, and in strings of several lines with escapes.
void check_characters(std::string_view text, const std::string& where) {
  constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
  std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0;
  const auto check = [&](std::size_t end) {
    for (; at < end; ++at)
      if (static_cast<unsigned char>(text[at]) >= 0x80) {
        const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
        throw Error(ErrorKind::info, where + ": line " + std::to_string(line) +
                                         ": a character that is not ASCII, outside comments and strings of one line");
      }
  };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '#')
      at = end_of_line(text, at);
    else if ((c == '"' || c == '\'') && !may_begin_string(text, at))
      check(text.size());
    else if (text.substr(at, 3) == "\"\"\"")
      check(end_of_long_string(text, at));
    else if (text.substr(at, 3) == "'''")
      at = end_of_long_string(text, at);
    else if (c == '"' || c == '\'')
      at = end_of_string(text, at);
    else
      check(at + 1);
  }
}

}  // namespace

void misread_toml() {
  throw TomlMisread();
}

std::string machine_file(const std::string& path) {
  return "machine file '" + path + "'";
}

std::string read_machine_file(const std::string& path) {
  std::ifstream file(path);
  require(file.good(), ErrorKind::info, [&] { return machine_file(path) + " cannot be read"; });
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

TomlTable TomlTable::parse(std::string_view text, const std::string& where) {
  check_characters(text, where);
  try {
    return {std::make_shared<const toml::table>(toml::parse(text)), where, ""};
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::info, where + ": line " + std::to_string(error.source().begin.line) + ": " +
                                     std::string(error.description()));
  } catch (const TomlMisread&) {
    throw Error(ErrorKind::info, where + ": this is not TOML");
  }
}

std::string TomlTable::text(const std::string& key) {
  const toml::node& value = node(key);
  if (!value.is_string()) mistyped(value, key, "a string");
  return value.as_string()->get();
}

double TomlTable::number(const std::string& key) {
  const toml::node& value = node(key);
  if (!value.is_number()) mistyped(value, key, "a number");
  const double number = *value.value<double>();
  if (!std::isfinite(number) || number < 0) fail(value, key, "must be finite and not negative");
  return number;
}

std::int64_t TomlTable::integer_in(const std::string& key, std::int64_t smallest, std::int64_t largest) {
  const toml::node& value = node(key);
  if (!value.is_integer()) mistyped(value, key, "an integer");
  const std::int64_t number = value.as_integer()->get();
  if (number < smallest || number > largest)
    fail(value, key, "must be from " + std::to_string(smallest) + " to " + std::to_string(largest));
  return number;
}

std::vector<std::vector<int>> TomlTable::matrix(const std::string& key) {
  const toml::node& value = node(key);
  if (!value.is_array()) mistyped(value, key, "an array");
  std::vector<std::vector<int>> rows;
  for (const toml::node& row : *value.as_array()) rows.push_back(integers_in(row, element(key, rows.size()), 0));
  return rows;
}

std::vector<int> TomlTable::integers(const std::string& key, int smallest) {
  return integers_in(node(key), key, smallest);
}

std::vector<int> TomlTable::integers_in(const toml::node& node, const std::string& key, int smallest) const {
  if (!node.is_array()) mistyped(node, key, "an array");
  std::vector<int> numbers;
  for (const toml::node& number : *node.as_array()) {
    const std::optional<int> fitting = number.is_integer() ? number.value<int>() : std::nullopt;
    if (!fitting) mistyped(number, element(key, numbers.size()), "a small integer");
    if (*fitting < smallest)
      fail(number, element(key, numbers.size()),
           "must be from " + std::to_string(smallest) + " to " + std::to_string(std::numeric_limits<int>::max()));
    numbers.push_back(*fitting);
  }
  return numbers;
}

std::optional<TomlTable> TomlTable::table(const std::string& key) {
  skip(key);
  if (!has(key)) return std::nullopt;
  return inner(node(key), key);
}

std::vector<TomlTable> TomlTable::tables(const std::string& key) {
  skip(key);
  std::vector<TomlTable> result;
  if (!has(key)) return result;
  const toml::node& value = node(key);
  if (!value.is_array()) mistyped(value, key, "an array of tables");
  for (const toml::node& row : *value.as_array()) result.push_back(inner(row, element(key, result.size())));
  return result;
}

void TomlTable::finish() const {
  for (const auto& [key, value] : *table_) {
    const std::string name(key.str());
    if (asked_.contains(name)) continue;
    std::string known;
    for (const std::string& other : asked_) known += (known.empty() ? "" : ", ") + other;
    fail(value, name, "unknown key; known here: " + known);
  }
}

void TomlTable::fail(const std::string& key, const std::string& what) const {
  const toml::node* value = table_->get(key);
  fail(value != nullptr ? *value : *table_, key, what);
}

void TomlTable::fail(const toml::node& node, const std::string& key, const std::string& what) const {
  throw Error(ErrorKind::info,
              where_ + ": line " + std::to_string(node.source().begin.line) + ": " + full(key) + ": " + what);
}

void TomlTable::mistyped(const toml::node& node, const std::string& key, const std::string& expected) const {
  fail(node, key, "expected " + expected + ", " + found(node));
}

const toml::node& TomlTable::node(const std::string& key) {
  skip(key);
  const toml::node* value = table_->get(key);
  if (value == nullptr) fail(*table_, key, "missing");
  return *value;
}

TomlTable TomlTable::inner(const toml::node& node, const std::string& key) const {
  if (!node.is_table()) mistyped(node, key, "a table");
  return {std::shared_ptr<const toml::table>(table_, node.as_table()), where_, full(key)};
}

std::optional<DeviceLinks> read_devices(TomlTable& file) {
  std::optional<TomlTable> devices = file.table("devices");
  if (!devices) return std::nullopt;
  const bool has_distances = devices->has("network_distance");
  std::vector<int> distances;
  if (has_distances) distances = devices->integers("network_distance", 0);
  devices->skip("links");
  std::vector<std::vector<int>> links;
  if (devices->has("links") || !has_distances) links = devices->matrix("links");
  devices->finish();
  if (has_distances && !links.empty() && distances.size() != links.size())
    devices->fail("network_distance", "has " + std::to_string(distances.size()) + " entries, the links are of " +
                                          std::to_string(links.size()) + " devices");
  try {
    DeviceLinks found = with_hops(std::move(links));
    found.network_distance = std::move(distances);
    return found;
  } catch (const Error& error) {
    devices->fail("links", error.what());
  }
}

}  // namespace laneway
