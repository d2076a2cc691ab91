#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace laneway {

/// What `LANEWAY_LOG` asks for: `warn`, `info` or `debug`, of all parts, or of one as `info:choose`; several between
/// commas, of of which the last one that names a part counts there.
enum class LogLevel : std::uint8_t {
  warn,  ///< what users should put right: always said
  info,  ///< what was chosen and why
  debug  ///< what only helps to find faults
};

/// Those that say something. `hypre` is the library that is preloaded into programs of hypre.
inline constexpr std::array<std::string_view, 4> parts_that_log = {"choose", "device", "hypre", "interpose"};

/// What `text`, a value of the variable, asks of `part`. What it does not understand asks for nothing.
[[nodiscard]] LogLevel level_in(std::string_view text, std::string_view part);

/// What is wrong with a value of the variable, in one line; empty if nothing is.
[[nodiscard]] std::string complaint_about_log(std::string_view text);

}  // namespace laneway
