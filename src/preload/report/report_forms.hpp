// A summary as people and programs read it. Knows nothing of MPI.
#pragma once

#include <string>

#include "preload/report/summary.hpp"

namespace laneway::interpose {

/// At most 79 columns, the costliest rows first; `most_rows` of them, 0: all.
[[nodiscard]] std::string as_table(const Summary& summary, const std::string& note, std::size_t most_rows);
[[nodiscard]] std::string as_json(const Summary& summary, const std::string& note);

}  // namespace laneway::interpose
