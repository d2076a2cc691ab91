# The target PETSC::PETSC, where a shared PETSc is found and was built with the MPI library of this build. Debian's is found
# with libpetsc-real-dev; others by PETSC_DIR and PETSC_ARCH in the environment, or by -DPETSC_INCLUDE_DIR and -DPETSC_LIBRARY.
if(TARGET PETSC::PETSC)
  return()
endif()
file(GLOB folders /usr/lib/petscdir/*/*-real)
set(hints "$ENV{PETSC_DIR}/$ENV{PETSC_ARCH}" "$ENV{PETSC_DIR}")
find_path(PETSC_INCLUDE_DIR petscksp.h HINTS ${hints} PATHS ${folders} PATH_SUFFIXES include)
find_path(PETSC_CONFIGURED_DIR petscconf.h HINTS ${hints} "${PETSC_INCLUDE_DIR}" PATHS ${folders} PATH_SUFFIXES include)
find_library(PETSC_LIBRARY NAMES petsc petsc_real HINTS ${hints} PATHS ${folders} PATH_SUFFIXES lib)
mark_as_advanced(PETSC_INCLUDE_DIR PETSC_CONFIGURED_DIR PETSC_LIBRARY)

if(NOT PETSC_INCLUDE_DIR OR NOT PETSC_LIBRARY)
  set(LANEWAY_NO_PETSC "PETSc was not found (Debian: libpetsc-real-dev)")
  return()
endif()
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_INCLUDES "${PETSC_INCLUDE_DIR}" "${PETSC_CONFIGURED_DIR}")
set(CMAKE_REQUIRED_LIBRARIES "${PETSC_LIBRARY}" MPI::MPI_C)
check_c_source_compiles("#include <petscksp.h>
  #if defined(OPEN_MPI) != (defined(PETSC_HAVE_OMPI_MAJOR_VERSION) || defined(PETSC_HAVE_OPENMPI))
  #error
  #endif
  int main(void) { KSP solver; return KSPCreate(PETSC_COMM_WORLD, &solver); }" LANEWAY_PETSC_FITS)
unset(CMAKE_REQUIRED_INCLUDES)
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT LANEWAY_PETSC_FITS)
  set(LANEWAY_NO_PETSC "PETSc was built with another MPI library, or a program with it cannot be compiled and linked")
  return()
endif()
add_library(PETSC::PETSC INTERFACE IMPORTED GLOBAL)
target_include_directories(PETSC::PETSC INTERFACE "${PETSC_INCLUDE_DIR}" "${PETSC_CONFIGURED_DIR}")
target_link_libraries(PETSC::PETSC INTERFACE "${PETSC_LIBRARY}")
