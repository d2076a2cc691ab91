# Writes the man pages of functions: cmake -DDOXYGEN=… -DSOURCE=… -DOUTPUT=… -P LanewayManual.cmake
#
# Doxygen writes one page for each header of the C interface, and for each name in it one that refers there.
cmake_minimum_required(VERSION 3.20)
file(READ "${SOURCE}/Doxyfile" settings)
file(STRINGS "${SOURCE}/CMakeLists.txt" version REGEX "^project\\(laneway VERSION")
string(REGEX REPLACE ".*VERSION ([0-9.]+).*" "\\1" version "${version}")
set(raw "${OUTPUT}/doxygen")
file(REMOVE_RECURSE "${OUTPUT}")
file(MAKE_DIRECTORY "${raw}" "${OUTPUT}/man3")
file(WRITE "${raw}/Doxyfile" "${settings}
FILE_PATTERNS = *.h
EXCLUDE += include/laneway/device.h include/laneway/hypre.h include/laneway/profiling.h include/laneway/stream_triggering.h
EXCLUDE_PATTERNS = */mpi_advance*
OPTIMIZE_OUTPUT_FOR_C = YES
GENERATE_HTML = NO
GENERATE_MAN = YES
MAN_LINKS = YES
OUTPUT_DIRECTORY = \"${raw}\"
")
execute_process(COMMAND "${DOXYGEN}" "${raw}/Doxyfile" WORKING_DIRECTORY "${SOURCE}" RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "doxygen cannot write the man pages: ${failed}")
endif()
file(GLOB pages RELATIVE "${raw}/man/man3" "${raw}/man/man3/LNW_*.3")
set(headers "")
foreach(page IN LISTS pages)
  file(READ "${raw}/man/man3/${page}" text)
  if(text MATCHES "^\\.so man3/([a-z_]+)\\.h\\.3")
    # Only Laneway's headers have such names in the folder that all libraries share.
    file(WRITE "${OUTPUT}/man3/${page}" ".so man3/laneway_${CMAKE_MATCH_1}.h.3\n")
    list(APPEND headers ${CMAKE_MATCH_1})
  endif()
endforeach()
list(REMOVE_DUPLICATES headers)
foreach(header IN LISTS headers)
  file(READ "${raw}/man/man3/${header}.h.3" text)
  # The same on every day, and with a line that apropos understands.
  string(REGEX REPLACE "^\\.TH [^\n]*" ".TH laneway_${header}.h 3 \"\" \"Laneway ${version}\" \"Laneway\"" text "${text}")
  string(REGEX REPLACE "\\.SH NAME\n[^\n]*" ".SH NAME\nlaneway_${header}.h \\\\- laneway/${header}.h, a part of the interface of Laneway in C" text "${text}")
  file(WRITE "${OUTPUT}/man3/laneway_${header}.h.3" "${text}")
endforeach()
file(REMOVE_RECURSE "${raw}")
