#pragma once

namespace laneway {

// In how many exchanges a strategy that relays must make up for its longer setup, as values of the hint lnw_exchanges,
// where nobody gives it.

/// Nothing is known of the program: so many a solver needs at least, and a loss of setup is not noticed in them.
inline constexpr const char* exchanges_of_requests = "20";

/// Solvers go through their packages several times a cycle, cycle after cycle; whether plans save anything at all is
/// tried.
inline constexpr const char* exchanges_of_solvers = "200";

/// Calls of unmodified programs are planned only when they have come back twenty times, and only where a trial shows
/// that it saves time.
inline constexpr const char* exchanges_of_programs = "1000";

/// Of such a value.
constexpr double number_of_exchanges(const char* digits) {
  double number = 0;
  for (; *digits != '\0'; ++digits) number = 10 * number + (*digits - '0');
  return number;
}

}  // namespace laneway
