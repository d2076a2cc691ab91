# How the tests start MPI programs, and at which rank counts.

# A launcher that is killed leaves shared memory of its MPI library behind, so it is told to end before ctest kills it.
find_program(LANEWAY_TIMEOUT timeout REQUIRED)
set(LANEWAY_MPI_ON_UCX FALSE)
set(LANEWAY_LAUNCH ${LANEWAY_TIMEOUT} --kill-after=15 880 "${MPIEXEC_EXECUTABLE}")
if(LANEWAY_MPI_IS_OPEN_MPI)
  list(APPEND LANEWAY_LAUNCH --allow-run-as-root --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
  # To look for the networks of all layers takes as long as half the tests.
  set(LANEWAY_TEST_PML ob1 CACHE STRING "The point-to-point layer of Open MPI in tests; empty: what it finds itself")
  if(LANEWAY_TEST_PML)
    list(APPEND LANEWAY_LAUNCH --mca pml ${LANEWAY_TEST_PML})
  endif()
  set(LANEWAY_TEST_RANKS 1 2 3 5 8 13 16)
else()
  set(LANEWAY_TEST_RANKS 1 2 3)
  # MPICH never yields to another process: more ranks than cores take milliseconds a message. On UCX its ranks can be made to.
  foreach(library IN LISTS MPI_C_LIBRARIES)
    file(STRINGS "${library}" calls REGEX "^ucp_worker_progress$" LIMIT_COUNT 1)
    if(calls)
      set(LANEWAY_MPI_ON_UCX TRUE)
    endif()
  endforeach()
  if(LANEWAY_MPI_ON_UCX)
    list(APPEND LANEWAY_LAUNCH -genv LD_PRELOAD $<TARGET_FILE:laneway_test_yield>)
  endif()
endif()
if(LANEWAY_SANITIZE)
  set(LANEWAY_TEST_RANKS 3 8)
endif()
# What a launch of a program of many cases writes of each, for `laneway test`.
set(LANEWAY_CASES "${PROJECT_BINARY_DIR}/cases")
file(MAKE_DIRECTORY "${LANEWAY_CASES}")
# Nodes that are left over, odd and prime numbers of ranks: 3 and 5 have them; three uneven nodes: 16. So 13 adds little, and runs with
# `./dev test --nightly`, `./dev test -k` and plain ctest.
set(LANEWAY_NIGHTLY_RANKS 13)
if(LANEWAY_SANITIZE)
  list(APPEND LANEWAY_NIGHTLY_RANKS 8)  # memory errors that 3 ranks do not have, 8 rarely have
endif()
# Launches that run nightly: of programs that run with the same ways of the library at other rank counts, or, under sanitizers, with
# the same code in another environment.
set(LANEWAY_NIGHTLY_LAUNCHES "^mpi[.](preload_operations_default|preload_operations_taken|c|fortran|hypre|hypre_relayed)[.][245]$")
if(NOT LANEWAY_MPI_IS_OPEN_MPI)
  # What is on devices does not reach the MPI library, but for `device` and `dense_device`.
  string(APPEND LANEWAY_NIGHTLY_LAUNCHES "|^mpi[.](dense_shared_device.*|.*_aware|exchange_on_devices|reduce_on_devices|told_.*)[.]")
endif()
if(LANEWAY_SANITIZE)
  set(LANEWAY_NIGHTLY_LAUNCHES "^mpi[.](.*_aware|told_.*|dense_shared_device_.*|plugins_verbose_.*|no_node_memory_._verbose_1|outside_.*|blocked_.*_engine_0)[.]|\
^mpi[.]preload_([a-z]+_default|[a-z]+_trial|[a-z]+_plain|components_.*|fortran_.*|counted_.*|operations_split|relays_p2p|dense_counted|tool_.*)[.]")
endif()
set(LANEWAY_LSAN_SUPPRESSIONS "${CMAKE_CURRENT_LIST_DIR}/mpi/lsan.supp")

# Ranks that yield let two jobs share the processors. What compares times, counts what others could change, or looks at what is
# left on the machine runs alone.
if(LANEWAY_MPI_IS_OPEN_MPI OR LANEWAY_MPI_ON_UCX)
  set(LANEWAY_RUNS_ALONE "^(cost|tuning|system_calls|allocation|no_thread|blocked|node_memory|one_sided|spawn_.*|preload_.*trial|preload_report)$")
else()
  set(LANEWAY_RUNS_ALONE ".")
endif()

# laneway_mpi_ctest(NAME RANKS COMMAND...)
function(laneway_mpi_ctest name ranks)
  add_test(NAME mpi.${name}.${ranks} COMMAND ${LANEWAY_LAUNCH} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${ARGN})
  if("${name}" MATCHES "${LANEWAY_RUNS_ALONE}")
    set(alone TRUE)
  else()
    set(alone FALSE)
  endif()
  set_tests_properties(mpi.${name}.${ranks} PROPERTIES TIMEOUT 300 RUN_SERIAL ${alone} LABELS mpi)
  if(ranks IN_LIST LANEWAY_NIGHTLY_RANKS OR "mpi.${name}.${ranks}" MATCHES "${LANEWAY_NIGHTLY_LAUNCHES}")
    set_property(TEST mpi.${name}.${ranks} APPEND PROPERTY LABELS nightly)
  endif()
  if(LANEWAY_SANITIZE)
    # MPI libraries leak. lsan.supp leaves what this project allocates; it needs whole stacks, which take most of the time of a test
    # to record, or the caller's frame of libraries that stay open, as tests/mpi/main.cpp keeps them. At more ranks nothing else leaks.
    # The leak detector crashes now and then where it follows thread-local memory of libraries that were loaded later.
    if(ranks LESS 4)
      set(only_frame 0)
      if("${ARGN}" MATCHES "laneway_mpi_[a-z_]+_tests>" AND LANEWAY_MPI_IS_OPEN_MPI)
        set(only_frame 1)
      endif()
      set(environment "ASAN_OPTIONS=detect_leaks=1:intercept_tls_get_addr=0:fast_unwind_on_malloc=${only_frame}"
                      "LSAN_OPTIONS=suppressions=${LANEWAY_LSAN_SUPPRESSIONS}:print_suppressions=0")
    else()
      set(environment "ASAN_OPTIONS=detect_leaks=0")
    endif()
    list(APPEND environment "LANEWAY_DEVICE_PLUGINS=")  # the drivers of vendors disturb the leak detector
    set_tests_properties(mpi.${name}.${ranks} PROPERTIES ENVIRONMENT "${environment}")
  endif()
endfunction()
