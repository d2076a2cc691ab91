# What the MPI library offers, found by compiling and linking, never by its version.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
set(LANEWAY_FEATURES "")

macro(laneway_feature name code)
  check_c_source_compiles("#include <mpi.h>\nint main(void) { ${code} return 0; }" LANEWAY_HAS_${name})
  if(LANEWAY_HAS_${name})
    list(APPEND LANEWAY_FEATURES LANEWAY_HAS_${name}=1)
  endif()
endmacro()

laneway_feature(LARGE_COUNT_TYPES
  "MPI_Count a, b, c, d; int e; MPI_Type_get_envelope_c(MPI_INT, &a, &b, &c, &d, &e); MPI_Type_get_contents_c(MPI_INT, 0, 0, 0, 0, 0, 0, 0, 0);")
laneway_feature(COMM_IDUP
  "MPI_Comm copy; MPI_Request request; MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);")
unset(CMAKE_REQUIRED_LIBRARIES)
