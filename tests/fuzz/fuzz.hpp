#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.hpp"

/// What a fuzzer, or the replay of its corpus, calls for each input.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace laneway::fuzz {

/// Ends the process, for the fuzzer to keep the input.
inline void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "wrong: %s\n", what);
  std::abort();
}

/// Calls f; true if it does not throw Error. Anything else that is thrown ends the process.
template <class F>
bool accepts(F&& f) {
  try {
    f();
    return true;
  } catch (const Error&) {
    return false;
  }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Takes the text up to the next line `---` from the beginning of `rest`.
inline std::string_view take_part(std::string_view& rest) {
  constexpr std::string_view separator = "\n---\n";
  const std::size_t end = rest.find(separator);
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + separator.size());
  return part;
}

}  // namespace laneway::fuzz
