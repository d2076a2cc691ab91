#include "offline/spec.hpp"

#include <algorithm>
#include <charconv>

#include "base/error.hpp"

namespace laneway {

namespace {

template <class T>
T number(const Spec& spec, const std::string& key, std::string_view text) {
  T value{};
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  require(code == std::errc() && end == text.data() + text.size(), ErrorKind::argument,
          spec.name + ": parameter " + key + "=" + std::string(text) + " is not a number");
  return value;
}

}  // namespace

void Spec::allow_only(std::span<const std::string_view> keys) const {
  for (const auto& [key, value] : parameters) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    std::string valid;
    for (std::string_view k : keys) valid += (valid.empty() ? "" : ", ") + std::string(k);
    throw Error(ErrorKind::argument, name + ": unknown parameter '" + key + "'" +
                                         (valid.empty() ? " (it takes none)" : "; valid are " + valid));
  }
}

std::int64_t Spec::integer(const std::string& key, std::int64_t fallback) const {
  const auto it = parameters.find(key);
  return it == parameters.end() ? fallback : number<std::int64_t>(*this, key, it->second);
}

double Spec::real(const std::string& key, double fallback) const {
  const auto it = parameters.find(key);
  return it == parameters.end() ? fallback : number<double>(*this, key, it->second);
}

std::string Spec::text(const std::string& key, const std::string& fallback) const {
  const auto it = parameters.find(key);
  return it == parameters.end() ? fallback : it->second;
}

std::vector<std::int64_t> Spec::integers(const std::string& key) const {
  std::vector<std::int64_t> values;
  const auto it = parameters.find(key);
  if (it == parameters.end()) return values;
  std::string_view rest = it->second;
  while (true) {
    const std::size_t cut = rest.find('x');
    values.push_back(number<std::int64_t>(*this, key, rest.substr(0, cut)));
    if (cut == std::string_view::npos) return values;
    rest.remove_prefix(cut + 1);
  }
}

Spec parse_spec(std::string_view text) {
  Spec spec;
  const std::size_t colon = text.find(':');
  spec.name = text.substr(0, colon);
  require(!spec.name.empty(), ErrorKind::argument, "'" + std::string(text) + "': no name before the parameters");
  if (colon == std::string_view::npos) return spec;
  std::string_view rest = text.substr(colon + 1);
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = item.find('=');
    require(equals != std::string_view::npos && equals > 0, ErrorKind::argument,
            "'" + std::string(text) + "': expected key=value, found '" + std::string(item) + "'");
    const auto [it, fresh] = spec.parameters.emplace(item.substr(0, equals), item.substr(equals + 1));
    require(fresh, ErrorKind::argument, "'" + std::string(text) + "': parameter '" + it->first + "' given twice");
    rest.remove_prefix(comma == std::string_view::npos ? rest.size() : comma + 1);
  }
  return spec;
}

}  // namespace laneway
