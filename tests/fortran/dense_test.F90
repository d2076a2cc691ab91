! Operations among all ranks, with default integers and with MPI_Count, compared with MPI's own bit by bit.
program dense_test
  use, intrinsic :: iso_fortran_env, only: error_unit, int32
  use mpi_f08
  use laneway
  implicit none
  integer, parameter :: n = 3
  integer :: failures = 0, rank, size, total, i
  integer, allocatable :: counts(:), places(:)
  type(MPI_Datatype), allocatable :: types(:)
  integer(int32), allocatable, asynchronous :: sent(:), received(:)
  integer(int32), allocatable :: expected(:)
  type(LNW_Request) :: request

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  counts = [(modulo(i, n), i = 0, size - 1)]
  places = [(n * i, i = 0, size - 1)]
  allocate (types(size), source=MPI_INTEGER)
  allocate (sent(n * size), received(n * size), expected(n * size))

  call exchanges()
  call rooted()
  call reductions()
  call later()
  call mistakes()

  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == 0) print '(a)', 'passed'
  deallocate (counts, places, types, sent, received, expected)
  call MPI_Finalize()
  if (total > 0) error stop 1

contains

  subroutine fill()
    sent = [(1000 * rank + i, i = 1, n * size)]
    received = -1
    expected = -1
  end subroutine

  subroutine compare(what)
    character(len=*), intent(in) :: what
    if (any(received /= expected)) then
      failures = failures + 1
      write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': FAILED: ', what
    end if
    call fill()
  end subroutine

  ! Of block r, counts(r) elements go to rank r; all ranks send this one counts(rank).
  subroutine exchanges()
    integer :: alike(size)
    alike = counts(rank + 1)
    call fill()
    call lnw_alltoall(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Alltoall(sent, n, MPI_INTEGER, expected, n, MPI_INTEGER, MPI_COMM_WORLD)
    call compare('lnw_alltoall')
    call lnw_alltoall(sent, 3_MPI_COUNT_KIND, MPI_INTEGER, received, 3_MPI_COUNT_KIND, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Alltoall(sent, n, MPI_INTEGER, expected, n, MPI_INTEGER, MPI_COMM_WORLD)
    call compare('lnw_alltoall of MPI_Count')
    call lnw_alltoallv(sent, counts, places, MPI_INTEGER, received, alike, places, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Alltoallv(sent, counts, places, MPI_INTEGER, expected, alike, places, MPI_INTEGER, MPI_COMM_WORLD)
    call compare('lnw_alltoallv')
    call lnw_alltoallw(sent, counts, 4 * places, types, received, alike, 4 * places, types, MPI_COMM_WORLD)
    call MPI_Alltoallw(sent, counts, 4 * places, types, expected, alike, 4 * places, types, MPI_COMM_WORLD)
    call compare('lnw_alltoallw')
    call lnw_allgather(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Allgather(sent, n, MPI_INTEGER, expected, n, MPI_INTEGER, MPI_COMM_WORLD)
    call compare('lnw_allgather')
    call lnw_allgatherv(sent, counts(rank + 1), MPI_INTEGER, received, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Allgatherv(sent, counts(rank + 1), MPI_INTEGER, expected, counts, places, MPI_INTEGER, MPI_COMM_WORLD)
    call compare('lnw_allgatherv')
    received = sent
    expected = sent
    call lnw_allgather(MPI_IN_PLACE, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD)
    call MPI_Allgather(MPI_IN_PLACE, n, MPI_INTEGER, expected, n, MPI_INTEGER, MPI_COMM_WORLD)
    call compare('lnw_allgather in place')
  end subroutine

  subroutine rooted()
    integer :: root
    root = size - 1
    call fill()
    call lnw_gather(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call MPI_Gather(sent, n, MPI_INTEGER, expected, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call compare('lnw_gather')
    call lnw_gatherv(sent, counts(rank + 1), MPI_INTEGER, received, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD)
    call MPI_Gatherv(sent, counts(rank + 1), MPI_INTEGER, expected, counts, places, MPI_INTEGER, root, MPI_COMM_WORLD)
    call compare('lnw_gatherv')
    call lnw_scatter(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call MPI_Scatter(sent, n, MPI_INTEGER, expected, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call compare('lnw_scatter')
    call lnw_scatterv(sent, counts, places, MPI_INTEGER, received, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD)
    call MPI_Scatterv(sent, counts, places, MPI_INTEGER, expected, counts(rank + 1), MPI_INTEGER, root, MPI_COMM_WORLD)
    call compare('lnw_scatterv')
    received = sent
    expected = sent
    call lnw_bcast(received, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call MPI_Bcast(expected, n, MPI_INTEGER, root, MPI_COMM_WORLD)
    call compare('lnw_bcast')
    call lnw_barrier(MPI_COMM_WORLD)
  end subroutine

  subroutine reductions()
    call fill()
    call lnw_reduce(sent, received, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    call MPI_Reduce(sent, expected, n, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
    call compare('lnw_reduce')
    call lnw_allreduce(sent, received, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call MPI_Allreduce(sent, expected, n, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD)
    call compare('lnw_allreduce')
    received = sent
    expected = sent
    call lnw_allreduce(MPI_IN_PLACE, received, n, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD)
    call MPI_Allreduce(MPI_IN_PLACE, expected, n, MPI_INTEGER, MPI_BXOR, MPI_COMM_WORLD)
    call compare('lnw_allreduce in place')
    call lnw_reduce_scatter(sent, received, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Reduce_scatter(sent, expected, counts, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call compare('lnw_reduce_scatter')
    call lnw_reduce_scatter_block(sent, received, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Reduce_scatter_block(sent, expected, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call compare('lnw_reduce_scatter_block')
    call lnw_scan(sent, received, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Scan(sent, expected, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call compare('lnw_scan')
    call lnw_exscan(sent, received, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call MPI_Exscan(sent, expected, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call compare('lnw_exscan')
  end subroutine

  ! Nonblocking and persistent.
  subroutine later()
    integer :: turn
    call fill()
    call lnw_iallreduce(sent, received, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request)
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call MPI_Allreduce(sent, expected, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    call compare('lnw_iallreduce')
    call lnw_ibarrier(MPI_COMM_WORLD, request)
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call lnw_alltoall_init(sent, n, MPI_INTEGER, received, n, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, request)
    do turn = 1, 2
      sent = turn * sent
      call lnw_start(request)
      call lnw_wait(request, MPI_STATUS_IGNORE)
      call MPI_Alltoall(sent, n, MPI_INTEGER, expected, n, MPI_INTEGER, MPI_COMM_WORLD)
      call compare('lnw_alltoall_init')
    end do
    call lnw_request_free(request)
  end subroutine

  subroutine mistakes()
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: code, length
    call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
    call lnw_bcast(received, n, MPI_INTEGER, size, MPI_COMM_WORLD, code)
    call MPI_Error_string(code, text, length)
    if (code == MPI_SUCCESS .or. index(text, 'LNW_Bcast') == 0 .or. index(text, 'root') == 0) then
      failures = failures + 1
      write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': FAILED: a root beyond the ranks says: ', text(:length)
    end if
  end subroutine
end program
