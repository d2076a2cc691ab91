# Run by ctest: installs, configures, builds and runs the consumer project, then the same sources with pkg-config.
set(prefix "${WORK_DIR}/prefix")
file(REMOVE_RECURSE "${WORK_DIR}")
file(MAKE_DIRECTORY "${WORK_DIR}")

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install "${BUILD_DIR}" --prefix "${prefix}")

# The package finds its MPI library without being told.
run(${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${WORK_DIR}/build" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${prefix}")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/build")
run(${LAUNCH} ${NUMPROC_FLAG} 2 "${WORK_DIR}/build/consumer_c")
run(${LAUNCH} ${NUMPROC_FLAG} 2 "${WORK_DIR}/build/consumer_cpp")

# The prefix may move: nothing in it names the place of the installation.
file(RENAME "${prefix}" "${WORK_DIR}/moved")
set(ENV{PKG_CONFIG_PATH} "${WORK_DIR}/moved/${LIBDIR}/pkgconfig")
find_program(PKG_CONFIG pkg-config REQUIRED)
execute_process(COMMAND ${PKG_CONFIG} --cflags --libs laneway OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags)
run(${MPI_C_COMPILER} "${SOURCE_DIR}/consumer.c" -o "${WORK_DIR}/by_pkg_config" ${flags} "-Wl,-rpath,${WORK_DIR}/moved/${LIBDIR}")
run(${LAUNCH} ${NUMPROC_FLAG} 2 "${WORK_DIR}/by_pkg_config")
run(${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${WORK_DIR}/again" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/moved")
run(${CMAKE_COMMAND} --build "${WORK_DIR}/again" --target consumer_c)
run(${LAUNCH} ${NUMPROC_FLAG} 1 "${WORK_DIR}/again/consumer_c")

if(FORTRAN)
  run(${CMAKE_COMMAND} -S "${SOURCE_DIR}" -B "${WORK_DIR}/fortran" -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${WORK_DIR}/moved"
      -DCONSUMER_FORTRAN=ON)
  run(${CMAKE_COMMAND} --build "${WORK_DIR}/fortran" --target consumer_fortran)
  run(${LAUNCH} ${NUMPROC_FLAG} 2 "${WORK_DIR}/fortran/consumer_fortran")
  execute_process(COMMAND ${PKG_CONFIG} --cflags --libs laneway_fortran OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags)
  run(${MPI_Fortran_COMPILER} "${SOURCE_DIR}/consumer.f90" -o "${WORK_DIR}/fortran_by_pkg_config" ${flags}
      "-Wl,-rpath,${WORK_DIR}/moved/${LIBDIR}")
  run(${LAUNCH} ${NUMPROC_FLAG} 2 "${WORK_DIR}/fortran_by_pkg_config")
endif()
