#pragma once

#include <string>
#include <string_view>

namespace laneway {

/// Handles of one family of MPI libraries mean nothing to the other. What is wrong with a program whose MPI library
/// says `version` of itself (MPI_Get_library_version) and which uses `file`, built with the headers of this family;
/// empty if nothing is.
[[nodiscard]] std::string complaint_about_library(std::string_view version, const std::string& file);

/// What the MPI library says of itself, in one line. Asks it on the first call only.
[[nodiscard]] const std::string& library_version();

/// Ends the process with a sentence where the program uses the other family; asks on the first call only. MPI need not
/// be initialised.
void require_own_library();

}  // namespace laneway
