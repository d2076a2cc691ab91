# Which of the two families the MPI library is of: MPICH and its descendants share an ABI, Open MPI has another.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
check_c_source_compiles("#include <mpi.h>\n#ifndef OMPI_MAJOR_VERSION\n#error\n#endif\nint main(void) { return 0; }" LANEWAY_MPI_IS_OPEN_MPI)
unset(CMAKE_REQUIRED_LIBRARIES)
set(LANEWAY_MPI_NAME "MPICH")
if(LANEWAY_MPI_IS_OPEN_MPI)
  set(LANEWAY_MPI_NAME "Open MPI")
endif()
