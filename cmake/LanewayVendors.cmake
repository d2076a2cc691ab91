# laneway_vendor(PLUGIN NAME name [PEOPLE name] DRIVER file QUEUE kind [MEMORY_KIND kind] [NCCL file] [MPI_QUERIES query...] [OPTION text])
#
# What the library knows of a vendor of devices whether its plugin is loaded or not; plugins/*/vendor.cmake call it.
#   PLUGIN       it is liblaneway_PLUGIN.so
#   NAME         of the vendor in the plugin's table; PEOPLE: as people write it
#   DRIVER       how the name of the file of the vendor's driver begins
#   QUEUE        its streams are of kind LNW_QUEUE_kind (include/laneway/queue.h)
#   MEMORY_KIND  of its devices in MPI's mpi_memory_alloc_kinds
#   NCCL         the library that has NCCL's functions for them
#   MPI_QUERIES  functions of MPI libraries that return 1 where they take addresses on its devices, or KIND of MPIX_GPU_query_support
#   OPTION       makes LANEWAY_<PLUGIN>, which says whether the plugin is built; it is loaded where nobody names plugins
function(laneway_vendor plugin)
  cmake_parse_arguments(VENDOR "" "NAME;PEOPLE;DRIVER;QUEUE;MEMORY_KIND;NCCL;OPTION" "MPI_QUERIES" ${ARGN})
  set(by_default false)
  if(VENDOR_OPTION)
    set(by_default true)
    string(TOUPPER "LANEWAY_${plugin}" option)
    set(${option} AUTO CACHE STRING "${VENDOR_OPTION}")
    set_property(CACHE ${option} PROPERTY STRINGS AUTO ON OFF)
  endif()
  file(STRINGS "${PROJECT_SOURCE_DIR}/include/laneway/queue.h" kind REGEX "#define LNW_QUEUE_${VENDOR_QUEUE} ")
  string(REGEX REPLACE "#define [A-Z_]+ ([0-9]+).*" "\\1" kind "${kind}")
  set_property(GLOBAL APPEND_STRING PROPERTY LANEWAY_VENDOR_ROWS "    {\"${plugin}\", ${by_default}, \"${VENDOR_NAME}\", \"${VENDOR_PEOPLE}\", \
\"${VENDOR_DRIVER}\", \"${VENDOR_QUEUE}\", ${kind}, \"${VENDOR_MEMORY_KIND}\", \"${VENDOR_NCCL}\"},\n")
  set_property(GLOBAL APPEND PROPERTY LANEWAY_VENDORS ${VENDOR_NAME})
  set_property(GLOBAL PROPERTY LANEWAY_MPI_QUERIES_${VENDOR_NAME} ${VENDOR_MPI_QUERIES})
endfunction()

file(GLOB vendors CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/plugins/*/vendor.cmake")
foreach(vendor IN LISTS vendors)
  include("${vendor}")
endforeach()
