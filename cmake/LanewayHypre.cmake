# The target HYPRE::HYPRE, where hypre is found and was built with the MPI library of this build.
if(TARGET HYPRE::HYPRE)
  return()
endif()
find_path(HYPRE_INCLUDE_DIR _hypre_parcsr_ls.h PATH_SUFFIXES hypre)
find_library(HYPRE_LIBRARY HYPRE)
mark_as_advanced(HYPRE_INCLUDE_DIR HYPRE_LIBRARY)

if(HYPRE_INCLUDE_DIR AND HYPRE_LIBRARY)
  include(CheckCSourceCompiles)
  set(CMAKE_REQUIRED_INCLUDES "${HYPRE_INCLUDE_DIR}")
  set(CMAKE_REQUIRED_LIBRARIES "${HYPRE_LIBRARY}" MPI::MPI_C)
  check_c_source_compiles("#include <_hypre_parcsr_ls.h>
    int main(void) { return HYPRE_Init() + hypre_ParCSRCommHandleDestroy(hypre_ParCSRCommHandleCreate(1, 0, 0, 0)); }"
    LANEWAY_HYPRE_LINKS)

  # With the library of another MPI that links, too, but does not run: constants are addresses in Open MPI and numbers in MPICH.
  file(STRINGS "${HYPRE_LIBRARY}" open_mpi_constants REGEX "^ompi_mpi_comm_world$" LIMIT_COUNT 1)
  if(open_mpi_constants)
    set(condition "!defined(OPEN_MPI)")
  else()
    set(condition "defined(OPEN_MPI)")
  endif()
  check_c_source_compiles("#include <mpi.h>
    #if ${condition}
    #error
    #endif
    int main(void) { return 0; }" LANEWAY_HYPRE_HAS_THIS_MPI)
  unset(CMAKE_REQUIRED_INCLUDES)
  unset(CMAKE_REQUIRED_LIBRARIES)
endif()

if(LANEWAY_HYPRE_LINKS AND LANEWAY_HYPRE_HAS_THIS_MPI)
  add_library(HYPRE::HYPRE INTERFACE IMPORTED GLOBAL)
  target_include_directories(HYPRE::HYPRE INTERFACE "${HYPRE_INCLUDE_DIR}")
  target_link_libraries(HYPRE::HYPRE INTERFACE "${HYPRE_LIBRARY}")
elseif(LANEWAY_HYPRE_LINKS)
  set(LANEWAY_NO_HYPRE "hypre was built with another MPI library")
elseif(HYPRE_INCLUDE_DIR AND HYPRE_LIBRARY)
  set(LANEWAY_NO_HYPRE "a program with hypre cannot be compiled and linked")
else()
  set(LANEWAY_NO_HYPRE "hypre was not found (Debian: libhypre-dev)")
endif()
