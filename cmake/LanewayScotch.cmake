# The target laneway_scotch, where Scotch 7 is found. Scotch 7.0.3 installs no CMake package and no pkg-config file.
find_path(SCOTCH_INCLUDE_DIR scotch.h PATH_SUFFIXES scotch)
find_library(SCOTCH_LIBRARY scotch)
find_library(SCOTCHERR_LIBRARY scotcherr)
mark_as_advanced(SCOTCH_INCLUDE_DIR SCOTCH_LIBRARY SCOTCHERR_LIBRARY)

if(SCOTCH_INCLUDE_DIR AND SCOTCH_LIBRARY AND SCOTCHERR_LIBRARY)
  add_library(laneway_scotch INTERFACE)
  target_include_directories(laneway_scotch SYSTEM INTERFACE "${SCOTCH_INCLUDE_DIR}")
  target_link_libraries(laneway_scotch INTERFACE "${SCOTCH_LIBRARY}" "${SCOTCHERR_LIBRARY}")

  # Contexts, which keep random numbers and threads apart from those of the program.
  include(CheckCXXSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${SCOTCH_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_LIBRARIES "${SCOTCH_LIBRARY}" "${SCOTCHERR_LIBRARY}")
  check_cxx_source_compiles("#include <cstdint>\n#include <cstdio>\n#include <scotch.h>
    int main() { SCOTCH_Context c; SCOTCH_contextRandomSeed(&c, 1); return SCOTCH_contextBindGraph(&c, nullptr, nullptr); }"
    LANEWAY_HAS_SCOTCH_CONTEXTS)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()
