# Sets LANEWAY_HAS_FORTRAN if there is a Fortran compiler that passes descriptors of buffers to C and can use the MPI
# library, and LANEWAY_HAS_MPI_F08 if that has the module mpi_f08 for it, too; found by compiling.
set(LANEWAY_HAS_FORTRAN FALSE)
if(NOT LANEWAY_FORTRAN)
  return()
endif()

function(laneway_without_fortran reason)
  if(LANEWAY_FORTRAN STREQUAL AUTO)
    message(STATUS "The Fortran module is not built: ${reason}")
  else()
    message(FATAL_ERROR "LANEWAY_FORTRAN is ${LANEWAY_FORTRAN}, but ${reason}")
  endif()
endfunction()

include(CheckLanguage)
check_language(Fortran)
if(NOT CMAKE_Fortran_COMPILER)
  laneway_without_fortran("there is no Fortran compiler")
  return()
endif()
enable_language(Fortran)
find_package(MPI QUIET COMPONENTS Fortran)
if(NOT MPI_Fortran_FOUND AND NOT CMAKE_Fortran_COMPILER_ID STREQUAL GNU)
  # The wrapper names options of the compiler that the MPI library was built with, mostly gfortran's, which others refuse; what it says
  # of folders and libraries is enough.
  set(MPI_Fortran_COMPILE_OPTIONS -O1 CACHE STRING "Options for programs in Fortran that use MPI" FORCE)
  find_package(MPI QUIET COMPONENTS Fortran)
endif()
if(NOT MPI_Fortran_FOUND)
  laneway_without_fortran("the MPI library is not usable from Fortran")
  return()
endif()

include(CheckSourceCompiles)
set(CMAKE_REQUIRED_LIBRARIES MPI::MPI_Fortran)
foreach(way MPIF_H MPI_F08)
  if(way STREQUAL MPIF_H)
    set(uses "implicit none\n  include 'mpif.h'")
  else()
    set(uses "use mpi_f08\n  implicit none")
  endif()
  check_source_compiles(Fortran "program probe
  ${uses}
  integer :: code
  interface
    subroutine takes(buffer, status) bind(C)
      import
      type(*), dimension(..), asynchronous :: buffer
      integer, intent(in) :: status(MPI_STATUS_SIZE)
    end subroutine
  end interface
  call MPI_Init(code)
  call MPI_Finalize(code)
end program
" LANEWAY_HAS_${way} SRC_EXT f90)
endforeach()
unset(CMAKE_REQUIRED_LIBRARIES)
if(NOT LANEWAY_HAS_MPIF_H)
  laneway_without_fortran("${CMAKE_Fortran_COMPILER} cannot pass descriptors of arrays to C, or compile programs with this MPI library's mpif.h")
  return()
endif()
if(NOT LANEWAY_HAS_MPI_F08)
  message(STATUS "The module laneway is not built, only laneway_mpi: the MPI library has no module mpi_f08 for ${CMAKE_Fortran_COMPILER}")
endif()

set(LANEWAY_HAS_FORTRAN TRUE)
string(REGEX MATCH "^[0-9]+" major "${CMAKE_Fortran_COMPILER_VERSION}")
string(TOLOWER "${CMAKE_Fortran_COMPILER_ID}-${major}" compiler)
# Module files are read only by the compiler that wrote them, and name types of one MPI library's module.
if(NOT LANEWAY_FORTRAN_MODULE_DIR)
  set(LANEWAY_FORTRAN_MODULE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/laneway/${compiler}${LANEWAY_SUFFIX})
endif()
