! The same program with mpif.h, the module mpi and the module mpi_f08 (one of USE_MPIF_H, USE_MPI, USE_MPI_F08 is defined).
! Everybody sends everybody one number, in all forms; numbers of the program's own are among the requests.
program fortran
#if defined(USE_MPI_F08)
  use mpi_f08
  implicit none
#define COMM_TYPE type(MPI_Comm)
#define REQUEST_TYPE type(MPI_Request)
#elif defined(USE_MPI)
  use mpi
  implicit none
#else
  implicit none
  include 'mpif.h'
#endif
#ifndef COMM_TYPE
#define COMM_TYPE integer
#define REQUEST_TYPE integer
#endif

  integer :: ierror, rank, size, i, step, total, failures, done, where
  logical :: flag
  COMM_TYPE :: graph
  REQUEST_TYPE :: requests(4), persistent
  integer, allocatable :: ranks(:), send(:), receive(:), counts(:), places(:)
  integer :: from_left, indices(4)

  failures = 0
  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierror)
  allocate (ranks(size), send(size), receive(size), counts(size), places(size))
  ranks = [(i, i=0, size - 1)]
  places = ranks
  counts = 1
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED, &
                                      MPI_INFO_NULL, .false., graph, ierror)
  do step = 1, 3
    call fill()
    call MPI_Neighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, ierror)
    call check('alltoall')
    call fill()
    call MPI_Neighbor_alltoallv(send, counts, places, MPI_INTEGER, receive, counts, places, MPI_INTEGER, graph, ierror)
    call check('alltoallv')

    call fill()
    requests(1) = MPI_REQUEST_NULL
    call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, requests(2), ierror)
    call MPI_Irecv(from_left, 1, MPI_INTEGER, modulo(rank - 1, size), 3, MPI_COMM_WORLD, requests(3), ierror)
    call MPI_Isend(rank, 1, MPI_INTEGER, modulo(rank + 1, size), 3, MPI_COMM_WORLD, requests(4), ierror)
    if (step == 1) then
      call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    else if (step == 2) then
      done = 0
      do while (done < 3)
        call MPI_Waitany(4, requests, where, MPI_STATUS_IGNORE, ierror)
        done = done + 1
      end do
    else
      done = 0
      do while (done < 3)
        call MPI_Testsome(4, requests, i, indices, MPI_STATUSES_IGNORE, ierror)
        done = done + i
      end do
    end if
    if (any([(requests(i) /= MPI_REQUEST_NULL, i=1, 4)])) call fail('requests are not null')
    if (from_left /= modulo(rank - 1, size)) call fail('a message')
    call check('Ineighbor_alltoall')

    call fill()
    call MPI_Ineighbor_alltoallv(send, counts, places, MPI_INTEGER, receive, counts, places, MPI_INTEGER, graph, &
                                 requests(1), ierror)
    flag = .false.
    do while (.not. flag)
      call MPI_Test(requests(1), flag, MPI_STATUS_IGNORE, ierror)
    end do
    call check('Ineighbor_alltoallv')
  end do

#ifdef INIT
  call INIT(send, counts, places, MPI_INTEGER, receive, counts, places, MPI_INTEGER, graph, MPI_INFO_NULL, &
                persistent, ierror)
  call MPI_Wait(persistent, MPI_STATUS_IGNORE, ierror)
  do step = 1, 4
    call fill()
    requests(1) = persistent
    if (step == 1) then
      call MPI_Start(requests(1), ierror)
    else
      call MPI_Startall(1, requests, ierror)
    end if
    call MPI_Wait(requests(1), MPI_STATUS_IGNORE, ierror)
    if (requests(1) /= persistent) call fail('a persistent request has changed')
    call check('Neighbor_alltoallv_init')
  end do
  call MPI_Request_free(persistent, ierror)
  if (persistent /= MPI_REQUEST_NULL) call fail('a freed request is not null')
#endif
  call MPI_Comm_free(graph, ierror)
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. total == 0) print '(a)', 'all checks hold'
  call MPI_Finalize(ierror)
  if (total /= 0) error stop 1

contains

  subroutine fill()
    send = [(1000*step + 10*rank + i, i=1, size)]
    receive = -1
  end subroutine

  subroutine check(what)
    character(*), intent(in) :: what
    if (ierror /= MPI_SUCCESS) call fail(what)
    if (any(receive /= [(1000*step + 10*i + rank + 1, i=0, size - 1)])) call fail(what)
  end subroutine

  subroutine fail(what)
    character(*), intent(in) :: what
    failures = failures + 1
    print '(2a)', 'wrong: ', what
  end subroutine

end program
