# `cpack` in the folder of a build packs what is installed, stripped, into an archive that may be unpacked anywhere; its name says for which MPI
# library and processor it is. `cpack --config CPackSourceConfig.cmake` packs the sources.
string(TOLOWER "${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" system)
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_NAME laneway)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "Laneway developers")
set(CPACK_PACKAGE_FILE_NAME "laneway-${PROJECT_VERSION}-${LANEWAY_MPI_ID}-${system}")
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_STRIP_FILES ON)
set(CPACK_SOURCE_GENERATOR TGZ)
set(CPACK_SOURCE_PACKAGE_FILE_NAME "laneway-${PROJECT_VERSION}")
# What git does not keep.
set(CPACK_SOURCE_IGNORE_FILES "^${PROJECT_SOURCE_DIR}/([.]git|build|[.]venv|[.]cuda|demo|reproduced)(/|$)" "/__pycache__/" "[.]egg-info/" "/[.]pytest_cache/")
include(CPack)
