# What the MPI library offers, found by compiling and linking, never by its version. SMPI has functions that only say so when
# they are called: there by running.
include(CheckCSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_C)
set(LANEWAY_FEATURES "")

# laneway_runs(RESULT CODE): whether SMPI runs the code between MPI_Init and MPI_Finalize.
function(laneway_runs result code)
  if(DEFINED ${result})
    return()
  endif()
  set(source "${CMAKE_BINARY_DIR}/CMakeFiles/${result}.c")
  file(WRITE "${source}" "#include <mpi.h>\nint main(int argc, char** argv) { MPI_Init(&argc, &argv); ${code} MPI_Finalize(); return 0; }")
  try_compile(compiled "${CMAKE_BINARY_DIR}/CMakeFiles/${result}" "${source}" LINK_LIBRARIES MPI::MPI_C COPY_FILE "${source}.out")
  set(status 1)
  if(compiled)
    execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" -np 1 "${source}.out" WORKING_DIRECTORY "${CMAKE_BINARY_DIR}/CMakeFiles" TIMEOUT 60
                    RESULT_VARIABLE status OUTPUT_VARIABLE said ERROR_VARIABLE said)
  endif()
  if(status EQUAL 0 AND NOT said MATCHES "Not yet implemented")
    set(${result} TRUE CACHE INTERNAL "")
  else()
    set(${result} FALSE CACHE INTERNAL "")
  endif()
  message(STATUS "Running ${result}: ${${result}}")
endfunction()

macro(laneway_feature name code)
  if(LANEWAY_SIMULATED)
    laneway_runs(LANEWAY_HAS_${name} "${code}")
  else()
    check_c_source_compiles("#include <mpi.h>\n#if __has_include(<mpi-ext.h>)\n#include <mpi-ext.h>\n#endif\nint main(void) { ${code} return 0; }" LANEWAY_HAS_${name})
  endif()
  if(LANEWAY_HAS_${name})
    list(APPEND LANEWAY_FEATURES LANEWAY_HAS_${name}=1)
  endif()
endmacro()

laneway_feature(LARGE_COUNT_TYPES
  "MPI_Count a, b, c, d; int e; MPI_Type_get_envelope_c(MPI_INT, &a, &b, &c, &d, &e); MPI_Type_get_contents_c(MPI_INT, 0, 0, 0, 0, 0, 0, 0, 0);")
laneway_feature(COMM_IDUP
  "MPI_Comm copy; MPI_Request request; MPI_Comm_idup(MPI_COMM_WORLD, &copy, &request);")
laneway_feature(PROC_FAILED "return MPIX_ERR_PROC_FAILED;")
laneway_feature(ASYNC_START
  "MPIX_Async_thing thing = 0; MPIX_Async_poll_function* poll = 0; (void)thing; return MPIX_Async_start(poll, 0, MPIX_STREAM_NULL) + MPIX_ASYNC_NOPROGRESS;")
laneway_feature(OPAL "
#ifndef OPEN_MPI
#error
#endif
")
# Those of the functions that vendors name, as rows of src/operations/choose/device_support.cpp.
set(LANEWAY_MPI_QUERIES "")
get_property(vendors GLOBAL PROPERTY LANEWAY_VENDORS)
foreach(vendor IN LISTS vendors)
  get_property(queries GLOBAL PROPERTY LANEWAY_MPI_QUERIES_${vendor})
  foreach(query IN LISTS queries)
    string(TOUPPER "${query}" name)
    string(REGEX REPLACE "^MPIX_" "" name "${name}")
    if(query MATCHES "^MPIX_GPU_SUPPORT_")
      laneway_feature(${name} "int is; return MPIX_GPU_query_support(${query}, &is);")
      set(row "\"MPIX_GPU_query_support\", [] { int is = 0; return MPIX_GPU_query_support(${query}, &is) == MPI_SUCCESS && is != 0; }")
    else()
      laneway_feature(${name} "return ${query}();")
      set(row "\"${query}\", [] { return ${query}() == 1; }")
    endif()
    if(LANEWAY_HAS_${name})
      string(APPEND LANEWAY_MPI_QUERIES "{\"${vendor}\", ${row}},\n")
    endif()
  endforeach()
endforeach()
unset(CMAKE_REQUIRED_LIBRARIES)
