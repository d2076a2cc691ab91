program consumer
  use mpi_f08
  use laneway
  implicit none
  type(MPI_Comm) :: graph
  integer :: rank, size, next, previous, received

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  next = modulo(rank + 1, size)
  previous = modulo(rank - 1, size)
  received = -1
  call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [previous], MPI_UNWEIGHTED, 1, [next], MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., graph)
  call lnw_neighbor_allgather(10 * rank, 1, MPI_INTEGER, received, 1, MPI_INTEGER, graph)
  call MPI_Comm_free(graph)
  if (rank == 0) print '(2a)', 'consumer: ', merge('passed', 'failed', received == 10 * previous)
  call MPI_Finalize()
  if (received /= 10 * previous) error stop 1
end program
