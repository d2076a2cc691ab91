# Run by ctest: the sources, built by others than this project's presets. WAY is one of
#   fetched  by FetchContent, in a project that asks for nothing: the library alone, and a program in C++23
#   static   by clang where it is new enough, in C++23, as liblaneway.a with a suffix: installed, used, uninstalled; nothing in it names the folder of the build
include("${CMAKE_CURRENT_LIST_DIR}/common.cmake")
set(work "${WORK_DIR}-${WAY}")
file(REMOVE_RECURSE "${work}")
file(MAKE_DIRECTORY "${work}")
unset(ENV{LD_LIBRARY_PATH})
set(mpi "-DMPI_C_COMPILER=${MPI_C_COMPILER}" "-DMPI_CXX_COMPILER=${MPI_CXX_COMPILER}")

# programs_run(FOLDER)
function(programs_run folder)
  run(${LAUNCH} ${NUMPROC_FLAG} 2 "${folder}/consumer_c")
  run(${LAUNCH} ${NUMPROC_FLAG} 2 "${folder}/consumer_cpp")
endfunction()

if(WAY STREQUAL fetched)
  # The preset's flags, and a folder beside its own, so that a compiler cache has the library already.
  run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/fetched" -B "${work}" -G "${GENERATOR}" "-DLANEWAY_SOURCE_DIR=${TOP}" ${mpi}
    -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=${CXX_FLAGS}" -DLANEWAY_WERROR=ON -DLANEWAY_MAP_PREFIX=OFF)
  run(${CMAKE_COMMAND} --build "${work}" --parallel 2)
  programs_run("${work}")
  file(GLOB_RECURSE built "${work}/*.so" "${work}/laneway-bench*" "${work}/example_*")
  list(FILTER built EXCLUDE REGEX "/CMakeFiles/")
  list(LENGTH built count)
  if(NOT count EQUAL 1)
    message(FATAL_ERROR "FetchContent builds more than the library: ${built}")
  endif()
  run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/fetched" -B "${work}/added" -G "${GENERATOR}" "-DLANEWAY_SOURCE_DIR=${TOP}" ${mpi}
    -DHOW=add_subdirectory -DBUILD_SHARED_LIBS=OFF -DLANEWAY_FORTRAN=OFF)
  return()
endif()

# It compiles the library anew, which takes minutes.
if("$ENV{LANEWAY_TEST_LONG}" STREQUAL "")
  message(STATUS "SKIP: a long test (./dev test --long)")
  return()
endif()
if(NO_CLANG)
  message(STATUS "${NO_CLANG}")
endif()
set(prefix "${work}/prefix")
run(${CMAKE_COMMAND} -S "${TOP}" -B "${work}/build" -G "${GENERATOR}" ${mpi} "-DCMAKE_C_COMPILER=${C}" "-DCMAKE_CXX_COMPILER=${CXX}"
  -DBUILD_SHARED_LIBS=OFF -DCMAKE_CXX_STANDARD=23 -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_UNITY_BUILD=ON
  -DLANEWAY_SUFFIX=_other -DLANEWAY_BENCH=OFF -DLANEWAY_EXAMPLES=OFF -DLANEWAY_PRELOAD=OFF -DLANEWAY_FORTRAN=OFF -DLANEWAY_CUDA=OFF -DLANEWAY_HIP=OFF
  "-DCMAKE_INSTALL_PREFIX=${prefix}")
run(${CMAKE_COMMAND} --build "${work}/build" --parallel 2)
run(${CMAKE_COMMAND} --install "${work}/build")
file(GLOB_RECURSE binaries "${prefix}/*.a" "${prefix}/*.so")
foreach(binary IN LISTS binaries)
  # Not of the prefix, which is below.
  file(STRINGS "${binary}" named REGEX "${work}/build|${TOP}/(src|include|plugins)")
  if(named)
    message(FATAL_ERROR "${binary} names the folder that it was built in: ${named}")
  endif()
endforeach()
run(${CMAKE_COMMAND} -S "${CMAKE_CURRENT_LIST_DIR}/project" -B "${work}/consumer" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}"
  "-DCMAKE_C_COMPILER=${C}" "-DCMAKE_CXX_COMPILER=${CXX}")
run(${CMAKE_COMMAND} --build "${work}/consumer")
programs_run("${work}/consumer")
# An install for another MPI library has other names, and a project that has chosen one gets that one.
if(INSTALLED)
  run(${CMAKE_COMMAND} --install "${INSTALLED}" --prefix "${prefix}")
  file(GLOB both "${prefix}/${LIBDIR}/cmake/*/lanewayConfig.cmake")
  list(LENGTH both count)
  if(NOT count EQUAL 2 OR NOT EXISTS "${prefix}/${LIBDIR}/liblaneway_other.a" OR NOT EXISTS "${prefix}/${LIBDIR}/liblaneway.so")
    message(FATAL_ERROR "two builds in one prefix are not both there: ${both}")
  endif()
endif()
file(GLOB_RECURSE before "${prefix}/*_other*")
run(${CMAKE_COMMAND} --build "${work}/build" --target uninstall)
file(GLOB_RECURSE after "${prefix}/*_other*")
if(NOT before OR after)
  message(FATAL_ERROR "uninstall leaves: ${after}")
endif()
