#pragma once

namespace laneway {

/// The function of this name in the libraries behind this one, which stands in front of it. Ends the process with a
/// text if there is none.
[[nodiscard]] void* symbol_behind(const char* name);

template <class Function>
[[nodiscard]] Function behind(const char* name) {
  return reinterpret_cast<Function>(symbol_behind(name));
}

}  // namespace laneway
