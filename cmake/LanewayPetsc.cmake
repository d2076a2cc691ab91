# The target PETSC::PETSC, where a shared PETSc with real numbers is found and was built with the MPI library of this build
# (Debian: libpetsc-real-dev; elsewhere PETSC_DIR and PETSC_ARCH, or PKG_CONFIG_PATH).
if(TARGET PETSC::PETSC)
  return()
endif()
file(GLOB folders /usr/lib/petscdir/*/*-real)
find_path(PETSC_INCLUDE_DIR petscksp.h HINTS "$ENV{PETSC_DIR}/$ENV{PETSC_ARCH}/include" "$ENV{PETSC_DIR}/include" PATHS ${folders} PATH_SUFFIXES include)
find_path(PETSC_COMMON_DIR petsc/finclude/petsc.h HINTS "${PETSC_INCLUDE_DIR}" "$ENV{PETSC_DIR}/include")
find_library(PETSC_LIBRARY NAMES petsc petsc_real HINTS "$ENV{PETSC_DIR}/$ENV{PETSC_ARCH}/lib" "$ENV{PETSC_DIR}/lib" PATHS ${folders} PATH_SUFFIXES lib)
mark_as_advanced(PETSC_INCLUDE_DIR PETSC_COMMON_DIR PETSC_LIBRARY)
