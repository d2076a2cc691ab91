# laneway_room(NAME SOURCES file... [DEPENDS room...] [LINKS target...])
#
# One room of src/, as the static library laneway_NAME. DEPENDS names the only rooms whose headers it may include;
# `./dev lint` compares this list with the #include lines and with the order of LANEWAY_ROOM_ORDER.
set(LANEWAY_ROOM_ORDER core pattern machine device reorder lanes plan passes model setup verify collectives carriers exec discovery arguments comm choose
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
  target_include_directories(laneway_${name} PUBLIC "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  target_link_libraries(laneway_${name} PRIVATE laneway_flags)
  # One unit a room: what its files instantiate and optimise alike, they do once.
  set_target_properties(laneway_${name} PROPERTIES UNITY_BUILD_BATCH_SIZE 0)
  if(name IN_LIST LANEWAY_ROOMS_THAT_PLAN)
    target_compile_options(laneway_${name} PRIVATE $<$<CONFIG:Release,RelWithDebInfo>:-O1>)
  endif()
  foreach(other IN LISTS ROOM_DEPENDS)
    list(FIND LANEWAY_ROOM_ORDER ${other} other_position)
    if(other_position EQUAL -1 OR other_position GREATER_EQUAL position)
      message(FATAL_ERROR "room ${name} must not depend on ${other}")
    endif()
    target_link_libraries(laneway_${name} PUBLIC laneway_${other})
  endforeach()
  target_link_libraries(laneway_${name} PUBLIC ${ROOM_LINKS})
  set_property(GLOBAL APPEND PROPERTY LANEWAY_ROOMS ${name})
endfunction()

# laneway_library_rooms(VARIABLE): the rooms that the libraries consist of.
function(laneway_library_rooms variable)
  set(rooms ${LANEWAY_ROOM_ORDER})
  list(REMOVE_ITEM rooms ${LANEWAY_ROOMS_OF_TOOLS})
  set(${variable} ${rooms} PARENT_SCOPE)
endfunction()
