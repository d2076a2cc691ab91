#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

namespace laneway {

struct Hints;
struct HintRow;

/// What the text of a hint may be, which settings it becomes, and what all ranks must have alike of them.
struct HintValue {
  std::string_view values;  ///< as a person reads them; of a choice, the names between commas
  /// Throws Error(info) that names the key and the valid values. Null: read with lnw_strategy.
  void (*read)(Hints& hints, const HintRow& row, const std::string& text);
  /// Adds what must be equal on all ranks. Null: nothing must.
  void (*show)(const Hints& hints, std::string& words);
  /// In place of `values`, where a table has the names.
  std::string (*names)() = nullptr;
};

/// One hint: a setting that users can give as info key or in the environment.
struct HintRow {
  std::string_view key;
  std::string_view environment;  ///< empty: in an info argument only
  std::string_view fallback;
  HintValue value;
  std::string_view meaning;  ///< in Markdown, links as of docs/reference/hints.md

  [[nodiscard]] std::string values() const { return value.names ? value.names() : std::string(value.values); }
};

namespace hint {

[[nodiscard]] bool read_switch(std::string_view key, const std::string& text);
/// Not below `least`, which is 0 or 1, and at most 2^50: sums of a few of them, and of what operations move, fit into
/// 64 bits.
[[nodiscard]] std::int64_t read_bytes(std::string_view key, const std::string& text, std::int64_t least);
[[nodiscard]] std::int64_t read_count(std::string_view key, const std::string& text, std::int64_t least,
                                      std::int64_t most);
/// Which of the names in `values` it is.
[[nodiscard]] std::size_t read_choice(std::string_view key, std::string_view values, const std::string& text);

consteval std::size_t count_names(std::string_view values) {
  std::size_t names = 1;
  for (const char c : values) names += c == ',';
  return names;
}

/// What a chain of member pointers leads to.
template <auto... Path>
auto& at(auto& hints) {
  return (hints.*....*Path);
}

template <auto... Path>
void show(const Hints& hints, std::string& words) {
  const auto& setting = at<Path...>(hints);
  using Setting = std::remove_cvref_t<decltype(setting)>;
  if constexpr (std::is_convertible_v<Setting, std::string_view>)
    words += setting;
  else if constexpr (std::is_enum_v<Setting>)
    words += std::to_string(static_cast<int>(setting));
  else
    words += std::to_string(setting);
}

/// Hints by what they are; `Path` is the setting: pointers to members, the first of Hints.
template <auto... Path>
inline constexpr HintValue toggle = {"true, false",
                                     [](Hints& hints, const HintRow& row, const std::string& given) {
                                       at<Path...>(hints) = read_switch(row.key, given);
                                     },
                                     show<Path...>};

template <std::int64_t Least, auto... Path>
inline constexpr HintValue bytes_from = {"bytes",
                                         [](Hints& hints, const HintRow& row, const std::string& given) {
                                           at<Path...>(hints) = read_bytes(row.key, given, Least);
                                         },
                                         show<Path...>};

template <auto... Path>
inline constexpr HintValue bytes = bytes_from<0, Path...>;

template <std::int64_t Least, auto... Path>
inline constexpr HintValue count_from = {
    "a number",
    [](Hints& hints, const HintRow& row, const std::string& given) {
      auto& setting = at<Path...>(hints);
      using Setting = std::remove_reference_t<decltype(setting)>;
      using Whole = std::conditional_t<std::is_integral_v<Setting>, Setting, std::int64_t>;
      setting = static_cast<Setting>(read_count(row.key, given, Least, std::numeric_limits<Whole>::max()));
    },
    show<Path...>};

template <auto... Path>
inline constexpr HintValue count = count_from<1, Path...>;

template <auto... Path>
constexpr HintValue text(std::string_view values) {
  return {values, [](Hints& hints, const HintRow&, const std::string& given) { at<Path...>(hints) = given; },
          show<Path...>};
}

/// `values` names the enumerators, in their order here.
template <auto Setting, auto... Enumerators>
consteval HintValue choice(std::string_view values) {
  if (count_names(values) != sizeof...(Enumerators)) throw "a name for each enumerator";
  return {values,
          [](Hints& hints, const HintRow& row, const std::string& given) {
            constexpr auto all = std::to_array({Enumerators...});
            hints.*Setting = all[read_choice(row.key, row.value.values, given)];
          },
          show<Setting>};
}

}  // namespace hint

}  // namespace laneway
