# What the programs of a folder include from elsewhere, compiled once: to read it takes longer than to compile the tests.
#
# laneway_test_headers(NAME HEADERS header... [LINKS target...]): an object library for the flags that LINKS and the folder give.
# laneway_use_test_headers(TARGET NAME): an executable with the same flags has those headers.
#
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON shows where an #include is missing. Only with GCC, whose precompiled headers ccache knows by
# LANEWAY_CCACHE's settings.
function(laneway_test_headers name)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    return()
  endif()
  cmake_parse_arguments(TEST "" "" "HEADERS;LINKS" ${ARGN})
  set(source "${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp")
  file(CONFIGURE OUTPUT "${source}" CONTENT "")
  add_library(${name} OBJECT "${source}")
  target_link_libraries(${name} PRIVATE ${TEST_LINKS})
  # As executables are compiled.
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${name} PRIVATE -fPIE -fpch-preprocess)
  target_precompile_headers(${name} PRIVATE ${TEST_HEADERS})
endfunction()

function(laneway_use_test_headers target name)
  if(TARGET ${name})
    target_precompile_headers(${target} REUSE_FROM ${name})
    target_compile_options(${target} PRIVATE -fpch-preprocess)
  endif()
endfunction()
