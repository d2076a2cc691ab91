# The layers of src/, from the bottom. A layer is a folder and a static library laneway.NAME; it consists of parts, which are folders, too.
#
# laneway_layer(NAME [DEPENDS layer...] [LINKS target...] [DEFINES definition...])
# DEPENDS names the only layers, earlier in LANEWAY_LAYERS, whose headers it may include. With LANEWAY_STRICT_LAYERS the compiler finds no
# others: a layer sees a folder of links to those, and not src/ itself. This is on in the preset of the sanitizers, which shares nothing
# with others through ccache anyway.
#
# laneway_part(NAME folder... [PLANS] [EXCEPT file...] [SOURCES file...] [LINKS target...] [DEFINES definition...])
# All sources in these folders of the layer are compiled as one unit: what they instantiate and optimise alike, they do once. Those that
# plan, prove, choose or print (PLANS), but move no data, are compiled a quarter faster by -O1.
option(LANEWAY_STRICT_LAYERS "A layer that includes a header of one that it does not depend on does not compile" OFF)
mark_as_advanced(LANEWAY_STRICT_LAYERS)
set(LANEWAY_LAYERS base mpi machine plan algorithms runtime communicator operations api preload offline matrix)
# Those that are no part of the libraries: what tests and tools need beside them.
set(LANEWAY_LAYERS_OF_TOOLS preload offline matrix)
set(LANEWAY_LAYERS_WITH_MPI mpi communicator operations api preload)

function(laneway_layer name)
  cmake_parse_arguments(LAYER "" "" "DEPENDS;LINKS;DEFINES" ${ARGN})
  list(FIND LANEWAY_LAYERS ${name} position)
  if(position EQUAL -1)
    message(FATAL_ERROR "layer ${name} is not in LANEWAY_LAYERS")
  endif()
  add_library(laneway.${name} STATIC)
  set(seen ${name})
  foreach(other IN LISTS LAYER_DEPENDS)
    list(FIND LANEWAY_LAYERS ${other} other_position)
    if(other_position EQUAL -1 OR other_position GREATER_EQUAL position)
      message(FATAL_ERROR "layer ${name} must not depend on ${other}")
    endif()
    target_link_libraries(laneway.${name} PUBLIC laneway.${other})
    get_target_property(others laneway.${other} LANEWAY_SEES)
    list(APPEND seen ${others})
  endforeach()
  list(REMOVE_DUPLICATES seen)
  set(folder "${PROJECT_SOURCE_DIR}/src")
  if(LANEWAY_STRICT_LAYERS)
    set(folder "${PROJECT_BINARY_DIR}/layers/${name}")
    file(REMOVE_RECURSE "${folder}")
    file(MAKE_DIRECTORY "${folder}")
    foreach(other IN LISTS seen)
      file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${other}" "${folder}/${other}" SYMBOLIC)
    endforeach()
  endif()
  list(TRANSFORM LAYER_DEPENDS PREPEND laneway.)
  set_target_properties(laneway.${name} PROPERTIES LINKER_LANGUAGE CXX LANEWAY_SEES "${seen}" LANEWAY_FOLDER "${folder}"
                        LANEWAY_LINKS "${LAYER_DEPENDS};${LAYER_LINKS}" LANEWAY_DEFINES "${LAYER_DEFINES}")
  target_link_libraries(laneway.${name} PUBLIC ${LAYER_LINKS})
  # Who is no layer, as tests are, sees all of them.
  target_include_directories(laneway.${name} INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LANEWAY_SEES>>>:${PROJECT_SOURCE_DIR}/src>
                                                       "${PROJECT_SOURCE_DIR}/include")
  set(LANEWAY_LAYER ${name} PARENT_SCOPE)
endfunction()

function(laneway_part name)
  cmake_parse_arguments(PART "PLANS" "" "EXCEPT;SOURCES;LINKS;DEFINES" ${ARGN})
  set(layer laneway.${LANEWAY_LAYER})
  set(part ${layer}.${name})
  list(TRANSFORM PART_UNPARSED_ARGUMENTS REPLACE "(.+)" "${CMAKE_CURRENT_SOURCE_DIR}/\\1/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS ${PART_UNPARSED_ARGUMENTS})
  list(TRANSFORM PART_EXCEPT PREPEND "${CMAKE_CURRENT_SOURCE_DIR}/")
  if(PART_EXCEPT)
    list(REMOVE_ITEM sources ${PART_EXCEPT})
  endif()
  add_library(${part} OBJECT ${sources} ${PART_SOURCES})
  foreach(property SEES FOLDER LINKS DEFINES)
    get_target_property(${property} ${layer} LANEWAY_${property})
  endforeach()
  set_target_properties(${part} PROPERTIES UNITY_BUILD_BATCH_SIZE 0 LANEWAY_SEES "${SEES}")
  target_include_directories(${part} PRIVATE "${FOLDER}" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(${part} PRIVATE laneway_flags ${LINKS} ${PART_LINKS})
  target_compile_definitions(${part} PRIVATE ${DEFINES} ${PART_DEFINES})
  if(PART_PLANS)
    target_compile_options(${part} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  target_sources(${layer} PRIVATE $<TARGET_OBJECTS:${part}>)
  target_link_libraries(${layer} PUBLIC ${PART_LINKS})
  if(NOT LANEWAY_LAYER IN_LIST LANEWAY_LAYERS_OF_TOOLS)
    set_property(GLOBAL APPEND PROPERTY LANEWAY_LIBRARY_OBJECTS $<TARGET_OBJECTS:${part}>)
  endif()
endfunction()

# laneway_table(TABLE VARIABLE HEADER SPACE ROW FUNCTION SOURCE...)
#
# Puts the name of a source into VARIABLE that has all rows of a table: FUNCTION(), declared by HEADER, returns what rules() of
# laneway::SPACE::NAME returns, for each NAME.cpp among the sources, which have a vector of ROWs each. It is an object of its own,
# so that a program which has that function has a table of its own: laneway_longer_table(TABLE VARIABLE SOURCE...) writes one with more rows.
function(laneway_table table variable header space row function)
  set(text "// Written by laneway_table: the rows of all that are found.\n#include <vector>\n\n#include \"${header}\"\n\nnamespace laneway {\n")
  set(each "")
  foreach(source IN LISTS ARGN)
    get_filename_component(name "${source}" NAME_WE)
    string(APPEND text "namespace ${space}::${name} {\nstd::vector<${row}> rules();\n}\n")
    list(APPEND each "${space}::${name}::rules")
  endforeach()
  list(JOIN each ", " each)
  string(APPEND text "std::vector<${row}> ${function}() {\n  std::vector<${row}> rows;\n"
                     "  for (const auto some : {${each}})\n    for (const ${row}& row : some()) rows.push_back(row);\n"
                     "  return rows;\n}\n}  // namespace laneway\n")
  set(written "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  file(CONFIGURE OUTPUT "${written}" CONTENT "${text}" @ONLY)
  set_source_files_properties("${written}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} "${written}" PARENT_SCOPE)
  set_property(GLOBAL PROPERTY LANEWAY_TABLE_${table} "${header};${space};${row};${function};${ARGN}")
endfunction()

function(laneway_longer_table table variable)
  get_property(known GLOBAL PROPERTY LANEWAY_TABLE_${table})
  laneway_table(${table} written ${known} ${ARGN})
  set_property(GLOBAL PROPERTY LANEWAY_TABLE_${table} "${known}")
  set(${variable} "${written}" PARENT_SCOPE)
endfunction()
