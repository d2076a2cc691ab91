! A program whose calls a tool of its own counts (fortran_tool.F90). The tool sees them all, and nothing else.
program fortran_counted
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  use tool_counts
  implicit none
#ifdef USE_MPIF_H
  include 'mpif.h'
#endif
#ifdef USE_MPI_F08
  type(MPI_Comm) :: graph
  type(MPI_Request) :: request
#else
  integer :: graph, request
#endif
  integer, parameter :: rounds = 10
  integer :: ierror, rank, size, i, round, wrong, total
  integer, allocatable :: ranks(:), send(:)
  integer, allocatable, asynchronous :: receive(:)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  allocate (ranks(size), send(size), receive(size))
  ranks = [(i, i=0, size - 1)]
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., graph, ierror)
  wrong = 0
  do round = 1, rounds
    send = 100*round + rank
    receive = -1
    call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call MPI_Barrier(graph, ierror)
    if (any(receive /= 100*round + ranks)) wrong = wrong + 1
  end do
  if (waits /= rounds .or. barriers /= rounds) wrong = wrong + 1
  call MPI_Comm_free(graph, ierror)
  call MPI_Allreduce(wrong, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. total == 0) print '(a)', 'all checks hold'
  if (wrong > 0) print '(a,3i6)', 'wrong: rounds, waits and barriers that the tool has seen: ', rounds, waits, barriers
  call MPI_Finalize(ierror)
  if (total /= 0) error stop 1
end program
