#pragma once

namespace laneway {

/// Throws TomlMisread, which TomlTable::parse makes an Error of.
[[noreturn]] void misread_toml();
struct TomlMisread {};

}  // namespace laneway

// What toml++ asserts, it tells the compiler to rely on where NDEBUG is defined; but texts can violate it, such as by
// "[,". So it is checked always.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : ::laneway::misread_toml())
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "machine/fabric.hpp"

namespace laneway {

/// The text of a file that describes a machine. Throws Error(info).
[[nodiscard]] std::string read_machine_file(const std::string& path);
/// How errors call it.
[[nodiscard]] std::string machine_file(const std::string& path);

/// A table of a TOML file, read key by key; docs/reference/machine-files.md has the keys. What is wrong is an
/// Error(info) that names the file, the line and the full key. Keys must be there where it does not say otherwise.
class TomlTable {
 public:
  /// The whole of a file; `where` names it in errors.
  static TomlTable parse(std::string_view text, const std::string& where);

  [[nodiscard]] bool has(const std::string& key) const { return table_->contains(key); }
  std::string text(const std::string& key);
  /// Finite and not negative.
  double number(const std::string& key);
  template <std::integral Integer>
  Integer integer(const std::string& key, Integer smallest) {
    return static_cast<Integer>(integer_in(key, smallest, std::numeric_limits<Integer>::max()));
  }
  std::vector<int> integers(const std::string& key, int smallest);
  std::vector<std::vector<int>> matrix(const std::string& key);
  /// Nothing if the key is not there.
  std::optional<TomlTable> table(const std::string& key);
  /// An array of tables: empty if the key is not there.
  std::vector<TomlTable> tables(const std::string& key);
  /// Any value, or none, which is not looked at.
  void skip(const std::string& key) { asked_.insert(key); }

  /// Refuses keys that none of the functions above was asked for.
  void finish() const;
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  TomlTable(std::shared_ptr<const toml::table> table, std::string where, std::string path)
      : table_(std::move(table)), where_(std::move(where)), path_(std::move(path)) {}

  const toml::node& node(const std::string& key);
  std::int64_t integer_in(const std::string& key, std::int64_t smallest, std::int64_t largest);
  [[nodiscard]] TomlTable inner(const toml::node& node, const std::string& key) const;
  [[nodiscard]] std::vector<int> integers_in(const toml::node& node, const std::string& key, int smallest) const;
  [[nodiscard]] std::string full(const std::string& key) const { return path_.empty() ? key : path_ + "." + key; }
  [[noreturn]] void fail(const toml::node& node, const std::string& key, const std::string& what) const;
  [[noreturn]] void mistyped(const toml::node& node, const std::string& key, const std::string& expected) const;

  std::shared_ptr<const toml::table> table_;  // shares ownership of the whole file
  std::string where_;
  std::string path_;
  std::set<std::string> asked_;
};

/// `devices` of a file, with the hops that follow from the links; nothing if it is silent about devices.
[[nodiscard]] std::optional<DeviceLinks> read_devices(TomlTable& file);

}  // namespace laneway
