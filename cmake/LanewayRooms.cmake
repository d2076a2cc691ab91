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
