#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace laneway {

/// Text of the form `name` or `name:key=value,key=value`.
struct Spec {
  std::string name;
  std::map<std::string, std::string> parameters;

  /// Throws Error(argument) that lists the valid keys if a parameter is not one of them.
  void allow_only(std::span<const std::string_view> keys) const;

  [[nodiscard]] std::int64_t integer(const std::string& key, std::int64_t fallback) const;
  [[nodiscard]] double real(const std::string& key, double fallback) const;
  [[nodiscard]] std::string text(const std::string& key, const std::string& fallback) const;
  /// A list such as `4x3x2`; empty if the key is absent.
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& key) const;
};

/// Throws Error(argument) that quotes the text where it is malformed.
[[nodiscard]] Spec parse_spec(std::string_view text);

}  // namespace laneway
