! A profiling tool written in Fortran, in a Fortran program: it hides functions of MPI and calls them by their other name.
! What it hides is named otherwise in mpi_f08.
module tool_counts
  implicit none
  integer :: waits = 0, barriers = 0
end module

#ifdef USE_MPI_F08
subroutine MPI_Wait_f08(request, status, ierror)
  use mpi_f08, only: MPI_Request, MPI_Status, PMPI_Wait
  use tool_counts
  implicit none
  type(MPI_Request), intent(inout) :: request
  type(MPI_Status) :: status
  integer, optional, intent(out) :: ierror
  waits = waits + 1
  call PMPI_Wait(request, status, ierror)
end subroutine

subroutine MPI_Barrier_f08(comm, ierror)
  use mpi_f08, only: MPI_Comm, PMPI_Barrier
  use tool_counts
  implicit none
  type(MPI_Comm), intent(in) :: comm
  integer, optional, intent(out) :: ierror
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine
#else
subroutine MPI_Wait(request, status, ierror)
  use tool_counts
  implicit none
  integer :: request, status(*), ierror
  waits = waits + 1
  call PMPI_Wait(request, status, ierror)
end subroutine

subroutine MPI_Barrier(comm, ierror)
  use tool_counts
  implicit none
  integer :: comm, ierror
  barriers = barriers + 1
  call PMPI_Barrier(comm, ierror)
end subroutine
#endif
