# laneway_room(NAME SOURCES file... [DEPENDS room...] [LINKS target...])
#
# One room of src/, as the static library laneway_NAME. DEPENDS names the only rooms, earlier in LANEWAY_ROOM_ORDER, whose headers it may
# include. With LANEWAY_STRICT_ROOMS the compiler finds no others: a room sees a folder of links to those, and not src/ itself. This is on
# in the preset of the sanitizers, which shares nothing with others through ccache anyway.
option(LANEWAY_STRICT_ROOMS "A room that includes a header of one that it does not depend on does not compile" OFF)
mark_as_advanced(LANEWAY_STRICT_ROOMS)
set(LANEWAY_ROOM_ORDER core mpi pattern machine device reorder lanes plan passes model setup verify collectives carriers exec discovery arguments comm choose
                       operate channel queue c interpose offline matrix)
# Those that plan, prove, choose or print, but move no data: `-O1` compiles them a quarter faster.
set(LANEWAY_ROOMS_THAT_PLAN pattern machine reorder lanes plan passes model setup verify collectives choose offline)
# Those that are not part of the libraries: what tests and tools need beside them.
set(LANEWAY_ROOMS_OF_TOOLS interpose offline matrix)
set_property(GLOBAL PROPERTY LANEWAY_ROOMS "")

function(laneway_room name)
  cmake_parse_arguments(ROOM "" "" "SOURCES;DEPENDS;LINKS" ${ARGN})
  list(FIND LANEWAY_ROOM_ORDER ${name} position)
  if(position EQUAL -1)
    message(FATAL_ERROR "room ${name} is not in LANEWAY_ROOM_ORDER")
  endif()
  add_library(laneway_${name} STATIC ${ROOM_SOURCES})
  # One unit a room: what its files instantiate and optimise alike, they do once.
  set_target_properties(laneway_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  if(name IN_LIST LANEWAY_ROOMS_THAT_PLAN)
    target_compile_options(laneway_${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  set(seen ${name})
  foreach(other IN LISTS ROOM_DEPENDS)
    list(FIND LANEWAY_ROOM_ORDER ${other} other_position)
    if(other_position EQUAL -1 OR other_position GREATER_EQUAL position)
      message(FATAL_ERROR "room ${name} must not depend on ${other}")
    endif()
    target_link_libraries(laneway_${name} PUBLIC laneway_${other})
    get_target_property(others laneway_${other} LANEWAY_SEES)
    list(APPEND seen ${others})
  endforeach()
  list(REMOVE_DUPLICATES seen)
  set_target_properties(laneway_${name} PROPERTIES LANEWAY_SEES "${seen}")
  set(folder "${PROJECT_SOURCE_DIR}/src")
  if(LANEWAY_STRICT_ROOMS)
    set(folder "${PROJECT_BINARY_DIR}/rooms/${name}")
    file(REMOVE_RECURSE "${folder}")
    file(MAKE_DIRECTORY "${folder}")
    foreach(other IN LISTS seen)
      file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${other}" "${folder}/${other}" SYMBOLIC)
    endforeach()
  endif()
  # Who is no room, as tests are, sees all of them.
  target_include_directories(laneway_${name} PRIVATE "${folder}" INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:LANEWAY_SEES>>>:${PROJECT_SOURCE_DIR}/src>
                                             PUBLIC "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(laneway_${name} PRIVATE laneway_flags)
  target_link_libraries(laneway_${name} PUBLIC ${ROOM_LINKS})
  set_property(GLOBAL APPEND PROPERTY LANEWAY_ROOMS ${name})
endfunction()

# laneway_library_rooms(VARIABLE): the rooms that the libraries consist of.
function(laneway_library_rooms variable)
  set(rooms ${LANEWAY_ROOM_ORDER})
  list(REMOVE_ITEM rooms ${LANEWAY_ROOMS_OF_TOOLS})
  set(${variable} ${rooms} PARENT_SCOPE)
endfunction()

# laneway_table(ROOM VARIABLE HEADER SPACE ROW FUNCTION SOURCE...)
#
# Puts the name of a source into VARIABLE that has all rows of a table: FUNCTION(), declared by HEADER, returns what rules() of
# laneway::SPACE::NAME returns, for each NAME.cpp among the sources, which have a vector of ROWs each. It is an object of its own in its room,
# so that a program which has that function has a table of its own: laneway_longer_table(ROOM VARIABLE SOURCE...) writes one with more rows.
function(laneway_table room variable header space row function)
  set(text "// Written by laneway_table: the rows of all that are found.\n#include <utility>\n#include <vector>\n\n#include \"${header}\"\n\nnamespace laneway {\n")
  set(each "")
  foreach(source IN LISTS ARGN)
    get_filename_component(name "${source}" NAME_WE)
    string(APPEND text "namespace ${space}::${name} {\nstd::vector<${row}> rules();\n}\n")
    list(APPEND each "${space}::${name}::rules")
  endforeach()
  list(JOIN each ", " each)
  string(APPEND text "std::vector<${row}> ${function}() {\n  std::vector<${row}> rows;\n"
                     "  for (const auto some : {${each}})\n    for (${row}& row : some()) rows.push_back(std::move(row));\n"
                     "  return rows;\n}\n}  // namespace laneway\n")
  set(written "${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp")
  file(CONFIGURE OUTPUT "${written}" CONTENT "${text}" @ONLY)
  set_source_files_properties("${written}" PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  set(${variable} "${written}" PARENT_SCOPE)
  set_property(GLOBAL PROPERTY LANEWAY_TABLE_${room} "${header};${space};${row};${function};${ARGN}")
endfunction()

function(laneway_longer_table room variable)
  get_property(known GLOBAL PROPERTY LANEWAY_TABLE_${room})
  laneway_table(${room} written ${known} ${ARGN})
  set_property(GLOBAL PROPERTY LANEWAY_TABLE_${room} "${known}")
  set(${variable} "${written}" PARENT_SCOPE)
endfunction()
