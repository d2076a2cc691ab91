! The same program with mpif.h, the module mpi and the module mpi_f08 (one of USE_MPIF_H, USE_MPI, USE_MPI_F08 is defined).
! Everybody sends everybody one number, in all forms; numbers of the program's own are among the requests. Then what the
! MPI standard says about requests, communicators, attributes and errors. With the argument `taken` the operations are
! known to be taken over, and what MPI libraries forgive is an error.
program fortran
#if defined(USE_MPI_F08)
  use mpi_f08
  implicit none
#define COMM_TYPE type(MPI_Comm)
#define REQUEST_TYPE type(MPI_Request)
#define STATUS_TYPE type(MPI_Status)
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
#define STATUS_TYPE integer, dimension(MPI_STATUS_SIZE)
#endif

  integer :: ierror, rank, size, i, step, total, failures, done, where, provided
  character(16) :: argument
  logical :: flag
  COMM_TYPE :: graph
  REQUEST_TYPE :: requests(4), persistent
  integer, allocatable :: ranks(:), send(:), receive(:), counts(:), places(:)
  integer :: from_left, indices(4)

  failures = 0
  argument = ''
  if (command_argument_count() > 0) call get_command_argument(1, argument)
  if (argument == 'threads') then
    call MPI_Init_thread(MPI_THREAD_MULTIPLE, provided, ierror)
    call expect(provided == MPI_THREAD_MULTIPLE, 'MPI_THREAD_MULTIPLE')
  else
    call MPI_Init(ierror)
  end if
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
  call conformance()
  if (argument == 'threads') call in_threads()
  call MPI_Comm_free(graph, ierror)
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. total == 0) print '(a)', 'all checks hold'
  call MPI_Finalize(ierror)
  if (total /= 0) error stop 1

contains

  subroutine conformance()
    integer, parameter :: address = MPI_ADDRESS_KIND
    integer :: key, kept, kind, count, from(1), to(1), weights(1), degrees(1), weight(1)
    integer(address) :: value
    COMM_TYPE :: copy, part, other
    REQUEST_TYPE :: request, before
    STATUS_TYPE :: status  ! without one, MPI_Request_get_status of Open MPI 4.1 always says false

    call MPI_Waitall(0, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS, 'no requests')
    call MPI_Testall(0, requests, flag, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. flag, 'no requests to test')
    call MPI_Startall(0, requests, ierror)
    call expect(ierror == MPI_SUCCESS, 'no requests to start')
    call MPI_Waitany(0, requests, where, MPI_STATUS_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. is_undefined(where), 'Waitany of no requests')
    call MPI_Testsome(0, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. count == MPI_UNDEFINED, 'Testsome of no requests')
    requests = MPI_REQUEST_NULL
    call MPI_Waitany(4, requests, where, MPI_STATUS_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. is_undefined(where), 'Waitany of null requests')
    call MPI_Waitsome(4, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. count == MPI_UNDEFINED, 'Waitsome of null requests')
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS, 'Waitall of null requests')

    ! Attributes are copied with duplicates, and neither to parts nor to graphs made of the communicator.
    call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, key, 0_address, ierror)
    call MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, kept, 0_address, ierror)
    call MPI_Comm_set_attr(graph, key, 42_address, ierror)
    call MPI_Comm_set_attr(graph, kept, 43_address, ierror)
    call MPI_Comm_dup(graph, copy, ierror)
    call MPI_Comm_get_attr(copy, kept, value, flag, ierror)
    call expect(.not. flag, 'an attribute that is not copied')
    call MPI_Comm_get_attr(copy, key, value, flag, ierror)
    call expect(flag .and. value == 42_address, 'the attribute of a duplicate')
    call MPI_Topo_test(copy, kind, ierror)
    call expect(kind == MPI_DIST_GRAPH, 'the topology of a duplicate')
    call MPI_Comm_split(graph, modulo(rank, 2), rank, part, ierror)
    call MPI_Comm_get_attr(part, key, value, flag, ierror)
    call expect(.not. flag, 'the attribute of a part')
    call MPI_Topo_test(part, kind, ierror)
    call expect(kind == MPI_UNDEFINED, 'the topology of a part')
    call MPI_Comm_free(part, ierror)
    call MPI_Dist_graph_create_adjacent(graph, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED, &
                                        MPI_INFO_NULL, .false., other, ierror)
    call MPI_Comm_get_attr(other, key, value, flag, ierror)
    call expect(.not. flag, 'the attribute of a graph of a graph')
    step = 5
    call fill()
    call MPI_Neighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, copy, ierror)
    call check('alltoall on a duplicate')
    call MPI_Comm_free(copy, ierror)
    call MPI_Comm_delete_attr(graph, key, ierror)
    call MPI_Comm_free_keyval(key, ierror)
    call MPI_Comm_delete_attr(graph, kept, ierror)
    call MPI_Comm_free_keyval(kept, ierror)

    ! Each rank gives the edge of the next one.
    from = modulo(rank + 1, size)
    to = modulo(rank + 2, size)
    degrees = 1
    weights = 7 + from
    call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, from, degrees, to, weights, MPI_INFO_NULL, .false., part, ierror)
    call MPI_Dist_graph_neighbors(part, 1, from, weight, 1, to, weights, ierror)
    call expect(from(1) == modulo(rank - 1, size) .and. weight(1) == 7 + from(1) .and. &
                to(1) == modulo(rank + 1, size) .and. weights(1) == 7 + rank, 'the neighbours of a graph')
    call MPI_Neighbor_alltoall(rank, 1, MPI_INTEGER, from_left, 1, MPI_INTEGER, part, ierror)
    call expect(ierror == MPI_SUCCESS .and. from_left == modulo(rank - 1, size), 'alltoall on a ring')
    call MPI_Comm_free(part, ierror)

    ! A communicator is freed while an operation is active.
    call fill()
    call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, other, request, ierror)
    call MPI_Comm_free(other, ierror)
    call expect(other == MPI_COMM_NULL, 'a freed communicator')
    flag = .false.
    do while (.not. flag)
      call MPI_Request_get_status(request, flag, status, ierror)
    end do
    call expect(request /= MPI_REQUEST_NULL, 'a complete request stays')
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check('Ineighbor_alltoall on a freed communicator')
    if (argument == 'taken') then
      call MPI_Dist_graph_create_adjacent(graph, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED, &
                                          MPI_INFO_NULL, .false., other, ierror)
      call fill()
      call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, other, request, ierror)
      call MPI_Comm_disconnect(other, ierror)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      call check('Ineighbor_alltoall on a communicator that was disconnected')
    end if

    call MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN, ierror)
    call MPI_Neighbor_alltoall(send, 1, MPI_DATATYPE_NULL, receive, 1, MPI_INTEGER, graph, ierror)
    call expect(ierror /= MPI_SUCCESS, 'an error is returned')
    call fill()
    call MPI_Neighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, ierror)
    call check('alltoall after an error')

    ! Rank 0 is alone with the operation until the barrier.
    call fill()
    if (rank == 0 .and. size > 1) then
      call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, request, ierror)
      before = request
      call MPI_Test(request, flag, MPI_STATUS_IGNORE, ierror)
      call expect(.not. flag .and. request == before, 'an active request')
      call MPI_Request_get_status(request, flag, status, ierror)
      call expect(.not. flag, 'the status of an active request')
      if (argument == 'taken') then
        call MPI_Request_free(request, ierror)
        call expect(ierror /= MPI_SUCCESS .and. request == before, 'freeing an active request')
        call MPI_Cancel(request, ierror)
        call expect(ierror /= MPI_SUCCESS, 'cancelling an active request')
        call MPI_Start(request, ierror)
        call expect(ierror /= MPI_SUCCESS, 'starting an active request')
      end if
    end if
    call MPI_Barrier(MPI_COMM_WORLD, ierror)
    if (rank > 0 .or. size == 1) &
      call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, request, ierror)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
    call check('Ineighbor_alltoall after misuse')
    call MPI_Comm_set_errhandler(graph, MPI_ERRORS_ARE_FATAL, ierror)

    ! Rank 0 relays for others, and sits in another call until another rank has completed its part.
    do step = 6, 9
      call fill()
      call MPI_Ineighbor_alltoall(send, 1, MPI_INTEGER, receive, 1, MPI_INTEGER, graph, request, ierror)
      if (rank == 0) call block_until_others_are_done(step)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierror)
      if (rank > 0) call block_until_others_are_done(step)
      call check('Ineighbor_alltoall while rank 0 is in another call')
    end do

#ifdef INIT
    ! Inactive requests among others; the last one is alive at the end.
    call INIT(send, counts, places, MPI_INTEGER, receive, counts, places, MPI_INTEGER, graph, &
              MPI_INFO_NULL, persistent, ierror)
    requests = [persistent, MPI_REQUEST_NULL, MPI_REQUEST_NULL, persistent]
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. requests(1) == persistent .and. requests(4) == persistent, &
                'Waitall of inactive requests')
    call MPI_Waitany(4, requests, where, MPI_STATUS_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. is_undefined(where), 'Waitany of inactive requests')
    call MPI_Testsome(4, requests, count, indices, MPI_STATUSES_IGNORE, ierror)
    call expect(ierror == MPI_SUCCESS .and. count == MPI_UNDEFINED, 'Testsome of inactive requests')
    call MPI_Request_get_status(persistent, flag, status, ierror)
    call expect(ierror == MPI_SUCCESS .and. flag, 'the status of an inactive request')
    ! One of them is started, the other is not.
    call INIT(send, counts, places, MPI_INTEGER, receive, counts, places, MPI_INTEGER, graph, &
              MPI_INFO_NULL, request, ierror)
    requests = [request, MPI_REQUEST_NULL, persistent, MPI_REQUEST_NULL]
    call fill()
    call MPI_Start(requests(3), ierror)
    call MPI_Waitall(4, requests, MPI_STATUSES_IGNORE, ierror)
    call check('Waitall of an active and an inactive request')
    call fill()
    call MPI_Start(requests(3), ierror)
    call MPI_Waitany(4, requests, where, MPI_STATUS_IGNORE, ierror)
    ! In mpi_f08, MPICH 4.0 counts from 0.
    call expect(where == 3 .or. where == 2, 'Waitany of an active and an inactive request')
    call check('Waitany of an active and an inactive request')
    call MPI_Request_free(request, ierror)
    call fill()
    call MPI_Start(persistent, ierror)
    call MPI_Wait(persistent, MPI_STATUS_IGNORE, ierror)
    call check('a persistent operation at the end')
#endif
  end subroutine

  ! Each thread has a communicator and requests of its own.
  subroutine in_threads()
    integer, parameter :: threads = 3
    integer :: thread, error, wrong(threads)
    COMM_TYPE :: comms(threads)
    do thread = 1, threads
      call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, ranks, MPI_UNWEIGHTED, size, ranks, MPI_UNWEIGHTED, &
                                          MPI_INFO_NULL, .false., comms(thread), error)
    end do
    wrong = 0
    !$omp parallel do num_threads(threads) schedule(static, 1)
    do thread = 1, threads
      call exchange_often(comms(thread), thread, wrong(thread))
    end do
    call expect(all(wrong == 0), 'exchanges of threads')
    do thread = 1, threads
      call MPI_Comm_free(comms(thread), error)
    end do
  end subroutine

  recursive subroutine exchange_often(comm, thread, wrong)
    COMM_TYPE, intent(in) :: comm
    integer, intent(in) :: thread
    integer, intent(inout) :: wrong
    integer :: round, error, j, mine(size)
    integer, asynchronous :: theirs(size)
    REQUEST_TYPE :: request
    do round = 1, 20
      mine = [(1000*round + 100*thread + 10*rank + j, j=0, size - 1)]
      theirs = -1
      if (modulo(round, 2) == 0) then
        call MPI_Neighbor_alltoall(mine, 1, MPI_INTEGER, theirs, 1, MPI_INTEGER, comm, error)
      else
        call MPI_Ineighbor_alltoall(mine, 1, MPI_INTEGER, theirs, 1, MPI_INTEGER, comm, request, error)
        call MPI_Wait(request, MPI_STATUS_IGNORE, error)
      end if
      wrong = wrong + count(theirs /= [(1000*round + 100*thread + 10*j + rank, j=0, size - 1)])
    end do
  end subroutine

  subroutine block_until_others_are_done(which)
    integer, intent(in) :: which
    integer :: word, sum
    REQUEST_TYPE :: message
    if (which == 6) then
      call MPI_Barrier(MPI_COMM_WORLD, ierror)
    else if (which == 7) then
      word = 1
      call MPI_Allreduce(word, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
      call expect(sum == size, 'a sum')
    else if (rank == 1) then
      word = which
      call MPI_Send(word, 1, MPI_INTEGER, 0, 4, MPI_COMM_WORLD, ierror)
    else if (rank == 0 .and. size > 1) then
      if (which == 8) then
        call MPI_Recv(word, 1, MPI_INTEGER, 1, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      else
        call MPI_Irecv(word, 1, MPI_INTEGER, 1, 4, MPI_COMM_WORLD, message, ierror)
        call MPI_Wait(message, MPI_STATUS_IGNORE, ierror)
      end if
      call expect(word == which, 'a message from rank 1')
    end if
  end subroutine

  ! MPICH 4.0 adds one to it, as it does to the indices of C.
  logical function is_undefined(index)
    integer, intent(in) :: index
    is_undefined = index == MPI_UNDEFINED .or. index == MPI_UNDEFINED + 1
  end function

  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(*), intent(in) :: what
    if (.not. condition) call fail(what)
  end subroutine

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
