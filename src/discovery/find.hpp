#pragma once

#include <cstdint>

namespace laneway {

/// How partners are found that only one side knows.
enum class Find : std::uint8_t { automatic, personalized, nbx, rma, personalized_node, nbx_node };

}  // namespace laneway
