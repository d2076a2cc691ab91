! Queues of host tasks: a ring of exchanges, a reduction and partitions of edges, compared with what MPI moves.
module queued
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_funloc, c_int, c_loc, c_ptr
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  use laneway
  implicit none
  integer :: failures = 0, rank, size

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    failures = failures + 1
    write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': FAILED: ', what
  end subroutine

  ! In the queue, before each exchange.
  subroutine add_one(argument) bind(C)
    type(c_ptr), value :: argument
    real(real64), pointer :: number
    call c_f_pointer(argument, number)
    number = number + 1
  end subroutine

  subroutine ring_of(queue, topology, rounds)
    type(LNW_Queue), intent(in) :: queue
    type(LNW_Topology), intent(in) :: topology
    integer, intent(in) :: rounds
    real(real64), target, asynchronous :: here
    real(real64), asynchronous :: there
    real(real64) :: expected
    type(LNW_Request) :: request
    type(LNW_Queue_statistics) :: before, after
    integer :: round, code
    logical :: flag
    here = 1000 * rank
    there = -1
    call lnw_neighbor_alltoall_init(here, 1, MPI_DOUBLE_PRECISION, there, 1, MPI_DOUBLE_PRECISION, topology, &
                                    MPI_INFO_NULL, request)
    call lnw_queue_get_statistics(queue, before)
    do round = 1, rounds
      call lnw_enqueue_call(queue, c_funloc(add_one), c_loc(here))
      call lnw_enqueue_start(queue, request, code)
      call check(code == MPI_SUCCESS, 'lnw_enqueue_start')
      call lnw_enqueue_wait(queue, request)
    end do
    flag = .false.
    do while (.not. flag)
      call lnw_queue_progress(queue, flag)
    end do
    call lnw_queue_wait(queue, code)
    call check(code == MPI_SUCCESS, 'lnw_queue_wait')
    expected = 1000 * modulo(rank - 1, size) + rounds
    call check(transfer(there, 0_int64) == transfer(expected, 0_int64), 'what comes by a queue')
    call lnw_queue_get_statistics(queue, after)
    call check(after%exchanges - before%exchanges == rounds, 'exchanges are counted')
    call check(after%triggers - before%triggers == rounds, 'one trigger an exchange')
    call check(after%completions - before%completions == rounds, 'one completion an exchange')
    call check(after%unfinished == 0, 'nothing is left')
    call lnw_request_free(request)
  end subroutine

  subroutine all_at_once(queue)
    type(LNW_Queue), intent(in) :: queue
    integer, asynchronous :: mine(3), sums(3), most(3)
    type(LNW_Request) :: requests(2)
    integer :: round
    call lnw_allreduce_init(mine, sums, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1))
    call lnw_allreduce_init(mine, most, 3, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2))
    do round = 1, 3
      mine = [rank, -rank, round]
      call lnw_enqueue_startall(queue, 2, requests)
      if (round == 2) then
        call lnw_enqueue_waitall(queue, LNW_QUEUE_ALL_STARTED, requests)
      else
        call lnw_enqueue_waitall(queue, 2, requests)
      end if
      call lnw_queue_wait(queue)
      call check(all(sums == [size * (size - 1) / 2, -size * (size - 1) / 2, size * round]), 'sums by a queue')
      call check(all(most == [size - 1, 0, round]), 'maxima by a queue')
    end do
    call lnw_request_free(requests(1))
    call lnw_request_free(requests(2))
  end subroutine

  subroutine partitions(queue)
    type(LNW_Queue), intent(in) :: queue
    real(real64), asynchronous :: owned(4), ghosts(4)
    type(LNW_Request) :: requests(2)
    integer :: next, previous, code
    next = modulo(rank + 1, size)
    previous = modulo(rank - 1, size)
    owned = [10 * rank, 10 * rank + 1, 10 * rank + 2, 10 * rank + 3]
    ghosts = -1
    call lnw_comm_prepare(MPI_COMM_WORLD)
    call lnw_psend_init(owned, 2, 2_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(1))
    call lnw_precv_init(ghosts, 1, 4_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, previous, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(2))
    call lnw_enqueue_startall(queue, 2, requests)
    call lnw_enqueue_ready(queue, requests(1), 1)
    call lnw_enqueue_ready(queue, requests(1), 0, code)
    call check(code == MPI_SUCCESS, 'lnw_enqueue_ready')
    call lnw_enqueue_waitall(queue, 2, requests)
    call lnw_queue_wait(queue)
    call check(all(nint(ghosts) == [10 * previous, 10 * previous + 1, 10 * previous + 2, 10 * previous + 3]), &
               'partitions by a queue')
    call lnw_request_free(requests(1))
    call lnw_request_free(requests(2))
  end subroutine

  subroutine errors()
    type(LNW_Queue) :: queue
    type(LNW_Request) :: request
    integer :: code
    call lnw_queue_wait(queue, code)
    call check(code /= MPI_SUCCESS, 'waiting for no queue is an error')
    call lnw_queue_init(queue, 9, ierror=code)
    call check(code /= MPI_SUCCESS .and. queue == LNW_QUEUE_NULL, 'kind 9 is an error')
    call lnw_enqueue_start(queue, request, code)
    call check(code /= MPI_SUCCESS, 'no request is an error')
  end subroutine
end module

program queue_test
  use queued
  implicit none
  type(LNW_Queue) :: queue
  type(LNW_Topology) :: topology
  integer :: level
  call MPI_Init_thread(MPI_THREAD_MULTIPLE, level)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  call lnw_topology_create(MPI_COMM_WORLD, 1, [modulo(rank - 1, size)], MPI_UNWEIGHTED, 1, [modulo(rank + 1, size)], &
                           MPI_UNWEIGHTED, MPI_INFO_NULL, topology)
  if (level == MPI_THREAD_MULTIPLE) then
    call lnw_queue_init(queue, LNW_QUEUE_HOST)
    call ring_of(queue, topology, 20)
    call all_at_once(queue)
    call partitions(queue)
    call lnw_queue_free(queue)
    call check(queue == LNW_QUEUE_NULL, 'a freed queue is null')
  else
    print '(a)', 'SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE'
  end if
  call lnw_queue_init(queue, LNW_QUEUE_HOST + LNW_QUEUE_PROGRESS_BY_HOST)
  call ring_of(queue, topology, 5)
  call lnw_queue_free(queue)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  call errors()
  call lnw_topology_free(topology)
  call MPI_Allreduce(MPI_IN_PLACE, failures, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  call MPI_Finalize()
  if (failures > 0) error stop 1
end program
