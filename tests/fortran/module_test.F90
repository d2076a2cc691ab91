! Every rank sends to the two ranks after it; what Laneway delivers is compared bit by bit with MPI's collectives.
module checks
  use, intrinsic :: iso_fortran_env, only: error_unit, int64, real64
  use mpi_f08
  implicit none
  integer :: failures = 0, rank, size
  integer, parameter :: degree = 2, most = 3
  type(MPI_Comm) :: graph
  integer :: sources(degree), destinations(degree)
  integer :: counts(degree), displacements(degree)
  integer(MPI_ADDRESS_KIND) :: offsets(degree)
  type(MPI_Datatype) :: types(degree)
  ! The elements that alltoallv moves from and to.
  integer(MPI_COUNT_KIND), parameter :: indices(3) = [2, 0, 1]
  real(real64), asynchronous :: owned(degree * most), ghosts(degree * most)
  real(real64) :: expected(degree * most)

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    failures = failures + 1
    write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': FAILED: ', what
  end subroutine

  subroutine check_equal(received, expected, what)
    real(real64), intent(in) :: received(:), expected(:)
    character(len=*), intent(in) :: what
    call check(all(transfer(received, [0_int64]) == transfer(expected, [0_int64])), what)
  end subroutine

  subroutine check_error(code, part, what)
    integer, intent(in) :: code
    character(len=*), intent(in) :: part, what
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length
    call check(code /= MPI_SUCCESS, what // ' succeeds')
    if (code == MPI_SUCCESS) return
    call MPI_Error_string(code, text, length)
    call check(index(text, part) > 0, what // ' says: ' // text(:length))
  end subroutine

  subroutine fill(seed)
    integer, intent(in) :: seed
    integer :: i
    owned = [(sqrt(real(1000 * seed + 10 * rank + i, real64)), i = 1, degree * most)]
    ghosts = -1
    expected = -1
  end subroutine

  subroutine expect_alltoallv()
    call MPI_Neighbor_alltoallv(owned, counts, displacements, MPI_DOUBLE_PRECISION, expected, counts, displacements, &
                                MPI_DOUBLE_PRECISION, graph)
  end subroutine

  subroutine expect_allgather()
    call MPI_Neighbor_allgather(owned, most, MPI_DOUBLE_PRECISION, expected, most, MPI_DOUBLE_PRECISION, graph)
  end subroutine

  subroutine expect_allgatherv()
    call MPI_Neighbor_allgatherv(owned, 2, MPI_DOUBLE_PRECISION, expected, [2, 2], [4, 1], MPI_DOUBLE_PRECISION, graph)
  end subroutine

  ! On one rank both edges join the same two ranks, which neither MPICH 4's alltoall nor Open MPI 4's alltoallw matches.
  subroutine expect_alltoall()
    if (size == 1) then
      expected = owned
    else
      call MPI_Neighbor_alltoall(owned, most, MPI_DOUBLE_PRECISION, expected, most, MPI_DOUBLE_PRECISION, graph)
    end if
  end subroutine

  ! What a sum with what is there before makes of it.
  subroutine expect_sum()
    where (expected > -0.5_real64) expected = expected - 1
  end subroutine

  ! On one rank, alltoallv moves the same.
  subroutine expect_alltoallw()
    if (size == 1) then
      call expect_alltoallv()
    else
      call MPI_Neighbor_alltoallw(owned, counts, offsets, types, expected, counts, offsets, types, graph)
    end if
  end subroutine
end module

program module_test
  use, intrinsic :: iso_c_binding, only: c_f_pointer, c_funloc, c_int, c_loc, c_ptr
  use checks
  use laneway
  implicit none
  integer :: i, total

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  destinations = [(modulo(rank + i, size), i = 1, degree)]
  sources = [(modulo(rank - i, size), i = 1, degree)]
  call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, MPI_UNWEIGHTED, degree, destinations, &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
  call MPI_Comm_set_errhandler(graph, MPI_ERRORS_RETURN)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN)
  ! Block k, of k values, for the k-th edge, behind the blocks of later ones.
  counts = [(i, i = 1, degree)]
  displacements = [degree, 0]
  offsets = displacements * 8_MPI_ADDRESS_KIND
  types = MPI_DOUBLE_PRECISION

  call versions()
  call graphs()
  call small_counts()
  call large_counts()
  call small_counts_on_topology()
  call large_counts_on_topology()
  call bottom()
  call again()
  call several()
  call addresses()
  call reports()
  call mistakes()
  call topologies()
  call sparse()
  call movers()
  call pairs()
  call edges_in_partitions()
  call counted_alltoall()

  call MPI_Comm_free(graph)
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
  if (rank == 0 .and. total == 0) print '(a)', 'passed'
  call MPI_Finalize()
  if (total > 0) error stop 1

contains

  subroutine versions()
    integer :: major, minor, patch, code
    major = -1
    call lnw_get_version(major, minor, patch, code)
    call check(code == MPI_SUCCESS .and. major >= 0 .and. minor >= 0 .and. patch >= 0, 'version')
  end subroutine

  subroutine graphs()
    type(MPI_Comm) :: weighted, none
    integer :: indegree, outdegree, code, found(degree), found_weights(degree), to(degree), to_weights(degree)
    logical :: has_weights
    type(LNW_Reorder) :: report
    call MPI_Dist_graph_neighbors_count(graph, indegree, outdegree, has_weights)
    call check(indegree == degree .and. outdegree == degree .and. .not. has_weights, 'MPI_UNWEIGHTED')
    call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, [3, 4], degree, destinations, [5, 6], &
                                        MPI_INFO_NULL, .false., weighted, code)
    call check(code == MPI_SUCCESS, 'weights')
    call MPI_Dist_graph_neighbors(weighted, degree, found, found_weights, degree, to, to_weights)
    call check(all(found == sources) .and. all(found_weights == [3, 4]), 'source weights')
    call check(all(to == destinations) .and. all(to_weights == [5, 6]), 'destination weights')
    call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, 0, [integer ::], MPI_WEIGHTS_EMPTY, 0, [integer ::], &
                                        MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, .false., none, code)
    call check(code == MPI_SUCCESS, 'MPI_WEIGHTS_EMPTY')
    call lnw_neighbor_alltoall(owned, 1, MPI_DOUBLE_PRECISION, ghosts, 1, MPI_DOUBLE_PRECISION, none, code)
    call check(code == MPI_SUCCESS, 'no neighbors')
    call MPI_Comm_free(none)
    call lnw_comm_get_reorder(weighted, report, code)
    call check_error(code, 'LNW_Comm_get_reorder on rank', 'report without reorder')
    call MPI_Comm_free(weighted)
    call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, degree, sources, [3, 4], degree, destinations, [5, 6], &
                                        MPI_INFO_NULL, .true., weighted, code)
    call check(code == MPI_SUCCESS, 'reorder')
    call lnw_comm_get_reorder(weighted, report, code)
    call check(code == MPI_SUCCESS .and. report%weight == 11 * size .and. report%cut_before >= report%cut_after, &
               'report of reordering')
    call MPI_Comm_free(weighted)
  end subroutine

  ! Twice, with other values in the same buffers, then frees the request.
  subroutine run(request, operation, what)
    type(LNW_Request), intent(inout) :: request
    interface
      subroutine operation()
      end subroutine
    end interface
    character(len=*), intent(in) :: what
    type(MPI_Status) :: status
    logical :: flag
    integer :: seed, code
    call check(request /= LNW_REQUEST_NULL, what // ' makes a request')
    do seed = 11, 12
      call fill(seed)
      call operation()
      call lnw_start(request, code)
      call check(code == MPI_SUCCESS, what // ' starts')
      if (seed == 11) then
        call lnw_wait(request, MPI_STATUS_IGNORE)
      else
        status%MPI_SOURCE = -77
        flag = .false.
        do while (.not. flag)
          call lnw_test(request, flag, status)
        end do
        call check(status%MPI_SOURCE == MPI_ANY_SOURCE .and. status%MPI_TAG == MPI_ANY_TAG, what // ' has a status')
      end if
      call check_equal(ghosts, expected, what)
    end do
    call lnw_request_free(request)
    call check(request == LNW_REQUEST_NULL, what // ' is freed')
  end subroutine

  ! Completes a nonblocking operation.
  subroutine finish(request, what)
    type(LNW_Request), intent(inout) :: request
    character(len=*), intent(in) :: what
    call check(request /= LNW_REQUEST_NULL, what // ' makes a request')
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call check(request == LNW_REQUEST_NULL, what // ' ends its request')
    call check_equal(ghosts, expected, what)
  end subroutine

  subroutine small_counts()
    character(len=*), parameter :: form = ''
    integer :: whole, part, sizes(degree), parts(degree), places(degree), shifted(degree)
    type(MPI_Comm) :: where
    where = graph
    include 'operations.inc'
  end subroutine

  subroutine large_counts()
    character(len=*), parameter :: form = ' with large counts'
    integer(MPI_COUNT_KIND) :: whole, part, sizes(degree), parts(degree)
    integer(MPI_ADDRESS_KIND) :: places(degree), shifted(degree)
    type(MPI_Comm) :: where
    where = graph
    include 'operations.inc'
  end subroutine

  subroutine small_counts_on_topology()
    character(len=*), parameter :: form = ' on a topology'
    integer :: whole, part, sizes(degree), parts(degree), places(degree), shifted(degree)
    type(LNW_Topology) :: where
    call lnw_topology_from_comm(graph, where)
    include 'operations.inc'
    call lnw_topology_free(where)
  end subroutine

  subroutine large_counts_on_topology()
    character(len=*), parameter :: form = ' with large counts on a topology'
    integer(MPI_COUNT_KIND) :: whole, part, sizes(degree), parts(degree)
    integer(MPI_ADDRESS_KIND) :: places(degree), shifted(degree)
    type(LNW_Topology) :: where
    call lnw_topology_from_comm(graph, where)
    include 'operations.inc'
    call lnw_topology_free(where)
  end subroutine

  subroutine bottom()
    type(LNW_Request) :: request
    integer(MPI_COUNT_KIND), parameter :: elements = degree * most
    call lnw_neighbor_alltoallv_init_indexed(MPI_BOTTOM, elements, counts, indices, MPI_DOUBLE_PRECISION, MPI_BOTTOM, &
                                             elements, counts, indices, MPI_DOUBLE_PRECISION, graph, MPI_INFO_NULL, &
                                             request)
    call lnw_request_set_buffers(request, owned, ghosts)
    call run(request, expect_alltoallv, 'lnw_request_set_buffers')
  end subroutine

  !> On a communicator and a topology of all ranks, then of this one alone, whose neighbours are gone but itself.
  subroutine again()
    type(LNW_Request) :: request, rebuilt
    type(LNW_Topology) :: topology, shrunken
    type(MPI_Comm) :: all
    integer :: code, indegree, outdegree, from(degree), to(degree), k
    call lnw_neighbor_alltoallv_init(owned, counts, displacements, MPI_DOUBLE_PRECISION, ghosts, counts, displacements, &
                                     MPI_DOUBLE_PRECISION, graph, MPI_INFO_NULL, request)
    call MPI_Comm_dup(MPI_COMM_WORLD, all)
    call lnw_request_rebuild(request, all, rebuilt, code)
    call check(code == MPI_SUCCESS, 'lnw_request_rebuild')
    call run(rebuilt, expect_alltoallv, 'lnw_request_rebuild')
    call lnw_topology_shrink_comm(graph, all, shrunken, code)
    call check(code == MPI_SUCCESS, 'lnw_topology_shrink_comm')
    call lnw_request_rebuild(request, shrunken, rebuilt, code)
    call check(code == MPI_SUCCESS, 'lnw_request_rebuild on a topology')
    call run(rebuilt, expect_alltoallv, 'lnw_request_rebuild on a topology')
    call lnw_topology_free(shrunken)
    call lnw_request_free(request)
    call lnw_topology_from_comm(graph, topology)
    call lnw_topology_shrink(topology, MPI_COMM_SELF, shrunken, code)
    call check(code == MPI_SUCCESS, 'lnw_topology_shrink')
    call lnw_topology_get_neighbors_count(shrunken, indegree, outdegree)
    call check(indegree == degree .and. outdegree == degree, 'degrees of lnw_topology_shrink')
    call lnw_topology_get_neighbors(shrunken, degree, from, degree, to)
    do k = 1, degree
      call check(from(k) == merge(0, MPI_PROC_NULL, sources(k) == rank), 'sources of lnw_topology_shrink')
      call check(to(k) == merge(0, MPI_PROC_NULL, destinations(k) == rank), 'destinations of lnw_topology_shrink')
    end do
    call lnw_topology_free(shrunken)
    call lnw_topology_free(topology)
    call MPI_Comm_free(all)
  end subroutine

  subroutine start_second(requests, statuses)
    type(LNW_Request), intent(inout) :: requests(3)
    type(MPI_Status), intent(out) :: statuses(3)
    call lnw_start(requests(2))
    statuses%MPI_SOURCE = -77
  end subroutine

  subroutine several()
    type(LNW_Request) :: requests(3)
    type(MPI_Status) :: statuses(3)
    real(real64), asynchronous :: received(degree * most, 2)
    integer :: i, n, code, places(3)
    logical :: flag
    received = -1
    do i = 1, 2
      call lnw_neighbor_alltoallv_init(owned, counts, displacements, MPI_DOUBLE_PRECISION, received(:, i), counts, &
                                       displacements, MPI_DOUBLE_PRECISION, graph, MPI_INFO_NULL, requests(i))
    end do
    call fill(21)
    call expect_alltoallv()
    call lnw_startall(2, requests)
    call lnw_waitall(3, requests, MPI_STATUSES_IGNORE, code)
    call check(code == MPI_SUCCESS, 'waitall')
    do i = 1, 2
      call check_equal(received(:, i), expected, 'startall')
    end do
    statuses%MPI_SOURCE = -77
    call lnw_startall(2, requests)
    call lnw_waitall(3, requests, statuses)
    call check(all(statuses%MPI_SOURCE == MPI_ANY_SOURCE) .and. all(statuses%MPI_TAG == MPI_ANY_TAG), 'statuses')
    call start_second(requests, statuses)
    call lnw_waitany(3, requests, n, statuses(1))
    call check(n == 2 .and. statuses(1)%MPI_SOURCE == MPI_ANY_SOURCE, 'waitany')
    call start_second(requests, statuses)
    flag = .false.
    do while (.not. flag)
      call lnw_testany(3, requests, n, flag, statuses(1))
    end do
    call check(n == 2 .and. statuses(1)%MPI_SOURCE == MPI_ANY_SOURCE, 'testany')
    call start_second(requests, statuses)
    flag = .false.
    do while (.not. flag)
      call lnw_testall(3, requests, flag, statuses)
    end do
    call check(all(statuses%MPI_SOURCE == MPI_ANY_SOURCE), 'testall')
    call start_second(requests, statuses)
    call lnw_waitsome(3, requests, n, places, statuses)
    call check(n == 1 .and. places(1) == 2 .and. statuses(1)%MPI_SOURCE == MPI_ANY_SOURCE, 'waitsome')
    call start_second(requests, statuses)
    n = 0
    do while (n == 0)
      call lnw_testsome(3, requests, n, places, MPI_STATUSES_IGNORE)
    end do
    call check(n == 1 .and. places(1) == 2, 'testsome')
    call lnw_waitany(3, requests, n, MPI_STATUS_IGNORE)
    call check(n == MPI_UNDEFINED, 'waitany with none active')
    call lnw_waitsome(3, requests, n, places, MPI_STATUSES_IGNORE)
    call check(n == MPI_UNDEFINED, 'waitsome with none active')
    do i = 1, 2
      call lnw_request_free(requests(i))
    end do
  end subroutine

  subroutine addresses()
    integer(MPI_ADDRESS_KIND) :: from(degree), to(degree)
    integer :: k
    do k = 1, degree
      call MPI_Get_address(owned(displacements(k) + 1), from(k))
      call MPI_Get_address(ghosts(displacements(k) + 1), to(k))
    end do
    call fill(31)
    call expect_alltoallw()
    call lnw_neighbor_alltoallw(MPI_BOTTOM, counts, from, types, MPI_BOTTOM, counts, to, types, graph)
    call MPI_F_sync_reg(ghosts)
    call check_equal(ghosts, expected, 'MPI_BOTTOM')
  end subroutine

  subroutine reports()
    type(LNW_Request) :: request
    type(LNW_Request_statistics) :: statistics
    type(MPI_Info) :: info
    character(len=:), allocatable :: name, plan
    character(len=32) :: value
    logical :: found
    integer :: code
    call MPI_Info_create(info)
    call MPI_Info_set(info, 'lnw_strategy', 'three_step')
    call lnw_neighbor_alltoallv_init(owned, counts, displacements, MPI_DOUBLE_PRECISION, ghosts, counts, &
                                     displacements, MPI_DOUBLE_PRECISION, graph, info, request)
    call MPI_Info_free(info)
    call lnw_request_get_strategy(request, name)
    call check(name == 'three_step', 'the strategy is ' // name)
    call lnw_request_get_statistics(request, statistics, code)
    call check(code == MPI_SUCCESS .and. statistics%bytes + statistics%copied_bytes >= 8 * sum(counts), 'statistics')
    call lnw_request_get_info(request, info, code)
    call MPI_Info_get(info, 'lnw_strategy', len(value), value, found)
    call check(code == MPI_SUCCESS .and. found .and. value == 'three_step', 'info')
    call MPI_Info_free(info)
    call lnw_request_get_plan(request, plan, code)
    call check(code == MPI_SUCCESS .and. plan(1:1) == '{' .and. index(plan, '}', back=.true.) > 1, 'plan')
    call run(request, expect_alltoallv, 'three_step')
    call lnw_request_get_strategy(request, name, code)
    call check_error(code, 'LNW_REQUEST_NULL', 'strategy of no request')
    call check(len(name) == 0, 'no strategy')
  end subroutine

  subroutine mistakes()
    real(real64) :: matrix(3, degree * most)
    type(LNW_Request) :: request
    integer :: code
    call lnw_start(request, code)
    call check_error(code, 'LNW_REQUEST_NULL', 'start of no request')
    call lnw_neighbor_alltoall(MPI_IN_PLACE, 1, MPI_DOUBLE_PRECISION, ghosts, 1, MPI_DOUBLE_PRECISION, graph, code)
    call check_error(code, 'sendbuf is MPI_IN_PLACE', 'MPI_IN_PLACE')
    call lnw_neighbor_alltoallw(owned, counts, offsets, types, ghosts, counts, offsets, types, MPI_COMM_WORLD, code)
    call check_error(code, 'no topology', 'alltoallw without a topology')

    matrix = 0
    call fill(41)
    call lnw_neighbor_alltoall(matrix(:2, :2), 1, MPI_DOUBLE_PRECISION, ghosts, 1, MPI_DOUBLE_PRECISION, graph, code)
    call check_error(code, 'sendbuf is not contiguous', 'a section with gaps')
    call lnw_neighbor_alltoall_init(owned, 1, MPI_DOUBLE_PRECISION, matrix(:2, :), 1, MPI_DOUBLE_PRECISION, graph, &
                                    MPI_INFO_NULL, request, code)
    call check_error(code, 'recvbuf is not contiguous', 'a section with gaps')
    call lnw_ineighbor_alltoall(matrix(:2, :2), 1, MPI_DOUBLE_PRECISION, ghosts, 1, MPI_DOUBLE_PRECISION, graph, request, &
                                code)
    call check_error(code, 'sendbuf is not contiguous', 'a section with gaps')
    call lnw_neighbor_alltoall_init(matrix(:, 2:), 1, MPI_DOUBLE_PRECISION, ghosts, 1, MPI_DOUBLE_PRECISION, graph, &
                                    MPI_INFO_NULL, request, code)
    call check(code == MPI_SUCCESS, 'a section without gaps')
    call lnw_request_set_buffers(request, owned(::2), ghosts, code)
    call check_error(code, 'sendbuf is not contiguous', 'new buffers with gaps')
    call lnw_request_free(request)
    call lnw_neighbor_alltoall(matrix(2:2, 1), 0, MPI_DOUBLE_PRECISION, matrix(2:1, :), 0, MPI_DOUBLE_PRECISION, graph, &
                               code)
    call check(code == MPI_SUCCESS, 'one element and none are contiguous')

    if (size < 2) then
      print '(a)', 'SKIP mistake of one rank: 1 rank, needs 2'
      return
    end if
    call lnw_neighbor_alltoall_init(matrix(:merge(2, 3, rank == 1), :), 1, MPI_DOUBLE_PRECISION, ghosts, 1, &
                                    MPI_DOUBLE_PRECISION, graph, MPI_INFO_NULL, request, code)
    if (rank == 1) then
      call check_error(code, 'sendbuf is not contiguous', 'mistake of this rank')
    else
      call check_error(code, 'rank 1', 'mistake of rank 1')
    end if
  end subroutine

  subroutine topologies()
    type(LNW_Topology) :: topology
    real(real64) :: square(3, 3)
    integer :: code, indegree, outdegree, first(1), all_of_them(degree)
    call lnw_topology_create(MPI_COMM_WORLD, degree, sources, [3, 4], degree, destinations, MPI_UNWEIGHTED, &
                             MPI_INFO_NULL, topology, code)
    call check(code == MPI_SUCCESS .and. topology /= LNW_TOPOLOGY_NULL, 'lnw_topology_create')
    call lnw_topology_get_neighbors_count(topology, indegree, outdegree, code)
    call check(code == MPI_SUCCESS .and. indegree == degree .and. outdegree == degree, 'degrees of a topology')
    call lnw_topology_get_neighbors(topology, 1, first, degree, all_of_them, code)
    call check(code == MPI_SUCCESS .and. first(1) == sources(1) .and. all(all_of_them == destinations), &
               'neighbors of a topology')
    square = 0
    call lnw_neighbor_alltoall(square(:2, :), 1, MPI_DOUBLE_PRECISION, ghosts, 1, MPI_DOUBLE_PRECISION, topology, code)
    call check_error(code, 'LNW_Neighbor_alltoall_topology on rank', 'a section with gaps')
    call check_error(code, 'sendbuf is not contiguous', 'a section with gaps')
    call lnw_topology_free(topology)
    call check(topology == LNW_TOPOLOGY_NULL, 'lnw_topology_free')
    call lnw_neighbor_alltoallw(owned, counts, offsets, types, ghosts, counts, offsets, types, topology, code)
    call check_error(code, 'topology is LNW_TOPOLOGY_NULL', 'alltoallw on no topology')
  end subroutine

  !> Each rank sends its number, twice, to the right: the left one does not say so.
  subroutine sparse()
    type(LNW_Arrivals) :: arrivals
    type(LNW_Topology) :: topology
    type(LNW_Request) :: request
    type(MPI_Comm) :: graph
    integer :: code, right(1), left, entries, from(1), values(2), indegree, outdegree
    integer(MPI_COUNT_KIND) :: arrived(1), places(1)
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    call lnw_sparse_alltoall(1, right, [rank, rank + 10], 2, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, arrivals, code)
    call check(code == MPI_SUCCESS .and. arrivals /= LNW_ARRIVALS_NULL, 'lnw_sparse_alltoall')
    call lnw_arrivals_get_count(arrivals, entries)
    call check(entries == 1, 'entries of a sparse exchange')
    call lnw_arrivals_copy(arrivals, 1, from, arrived, places, values, 2_MPI_COUNT_KIND, MPI_INTEGER, code)
    call check(code == MPI_SUCCESS .and. from(1) == left .and. arrived(1) == 2 .and. places(1) == 0 .and. &
               all(values == [left, left + 10]), 'lnw_arrivals_copy')
    call lnw_topology_from_arrivals(arrivals, MPI_INFO_NULL, topology, code)
    call lnw_topology_get_neighbors(topology, 1, from, 1, right, code)
    call check(from(1) == left .and. right(1) == mod(rank + 1, size), 'lnw_topology_from_arrivals')
    call lnw_topology_free(topology)
    call lnw_arrivals_free(arrivals)
    call check(arrivals == LNW_ARRIVALS_NULL, 'lnw_arrivals_free')
    call lnw_isparse_alltoallv(1, right, [rank, rank + 10], [1], [1], MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, arrivals, &
                               request, code)
    call lnw_wait(request, MPI_STATUS_IGNORE, code)
    call lnw_arrivals_copy(arrivals, 1, from, arrived, places, values(:1), 1_MPI_COUNT_KIND, MPI_INTEGER, code)
    call check(code == MPI_SUCCESS .and. values(1) == left + 10, 'lnw_isparse_alltoallv')
    call lnw_arrivals_free(arrivals)
    call lnw_topology_create_from_destinations(MPI_COMM_WORLD, 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, topology)
    call lnw_topology_get_neighbors_count(topology, indegree, outdegree, code)
    call check(indegree == 1 .and. outdegree == 1, 'lnw_topology_create_from_destinations')
    call lnw_topology_free(topology)
    call lnw_dist_graph_create(MPI_COMM_WORLD, 1, [left], [1], [rank], MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph, code)
    call check(code == MPI_SUCCESS, 'lnw_dist_graph_create')
    call MPI_Comm_free(graph)
    call lnw_sparse_alltoall(1, [-7], values, 1, MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, arrivals, code)
    call check_error(code, 'destinations[0] is -7', 'a bad destination')
  end subroutine

  !> A ring of channels, and one of messages in partitions.
  subroutine pairs()
    type(LNW_Channel) :: to, from
    type(LNW_Request) :: requests(2)
    type(MPI_Status) :: statuses(2)
    type(MPI_Info) :: info
    type(c_ptr) :: place
    real(real64), pointer :: come(:)
    integer(int64), pointer, volatile :: word
    character(len=32) :: carrier
    integer(MPI_COUNT_KIND) :: bytes
    integer :: code, right, left, count, i
    logical :: flag
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)
    call lnw_comm_prepare(MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS, 'lnw_comm_prepare')
    call lnw_channel_create(MPI_COMM_WORLD, right, LNW_CHANNEL_SEND, 32_MPI_COUNT_KIND, 2, MPI_INFO_NULL, to, code)
    call check(code == MPI_SUCCESS .and. to /= LNW_CHANNEL_NULL, 'lnw_channel_create')
    call lnw_channel_create(MPI_COMM_WORLD, left, LNW_CHANNEL_RECEIVE, 32_MPI_COUNT_KIND, 2, MPI_INFO_NULL, from, code)
    call fill(61)
    call lnw_channel_put(to, 1, owned(2:4), 24_MPI_COUNT_KIND, code)
    call check(code == MPI_SUCCESS, 'lnw_channel_put')
    call lnw_channel_put(to, 0, owned(::2), 24_MPI_COUNT_KIND, code)
    call check_error(code, 'LNW_Channel_put on rank', 'a section with gaps')
    call lnw_channel_wait(from, 1, place, bytes, code)
    call check(code == MPI_SUCCESS .and. bytes == 24, 'lnw_channel_wait')
    call c_f_pointer(place, come, [3])
    call check_equal(come, [(sqrt(real(1000 * 61 + 10 * left + i, real64)), i = 2, 4)], 'what a channel brings')
    call lnw_channel_test(from, 0, flag, place, bytes, code)
    call check(code == MPI_SUCCESS .and. .not. flag, 'lnw_channel_test')
    call lnw_channel_release(from, 1, code)
    flag = .false.
    do while (.not. flag)
      call lnw_channel_test_free(to, 1, flag, code)
    end do
    call lnw_channel_flush(to, code)
    call lnw_channel_get_info(to, info, code)
    call MPI_Info_get(info, 'lnw_carrier', len(carrier), carrier, flag)
    call check(flag .and. (carrier == 'memory' .or. carrier == 'messages'), 'lnw_channel_get_info')
    call MPI_Info_free(info)
    call lnw_channel_free(to)
    call lnw_channel_free(from)
    call check(to == LNW_CHANNEL_NULL, 'lnw_channel_free')

    ghosts = -1
    call lnw_psend_init(owned, 3, 2_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, right, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(1), code)
    call lnw_precv_init(ghosts, 2, 3_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, left, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(2), code)
    call check(code == MPI_SUCCESS, 'lnw_precv_init')
    call lnw_startall(2, requests, code)
    call lnw_pready(1, requests(1), code)
    call lnw_pready_range(2, 2, requests(1), code)
    call lnw_pready_list(1, [0], requests(1), code)
    call check(code == MPI_SUCCESS, 'lnw_pready_list')
    call lnw_waitall(2, requests, statuses, code)
    call MPI_F_sync_reg(ghosts)
    call lnw_parrived(requests(2), 1, flag, code)
    call MPI_Get_count(statuses(2), MPI_DOUBLE_PRECISION, count)
    call check(flag .and. count == 6 .and. statuses(2)%MPI_SOURCE == left .and. statuses(2)%MPI_TAG == 5, &
               'the status of a message in partitions')
    expected = -1
    expected(:6) = [(sqrt(real(1000 * 61 + 10 * left + i, real64)), i = 1, 6)]
    call check_equal(ghosts, expected, 'what comes in partitions')
    call lnw_pready(0, requests(1), code)
    call check_error(code, 'not active', 'a partition of an inactive request')

    ghosts = -1
    do i = 0, 2
      call lnw_pready_word(requests(1), i, place, code)
      call check(code == MPI_SUCCESS, 'lnw_pready_word')
      call c_f_pointer(place, word)
      word = 1
    end do
    call lnw_pready_word(requests(1), 3, place, code)
    call check_error(code, 'partition', 'the word of a partition too many')
    call lnw_startall(2, requests, code)
    call lnw_waitall(2, requests, statuses, code)
    call MPI_F_sync_reg(ghosts)
    call check_equal(ghosts, expected, 'what comes in partitions whose words are written')
    call lnw_request_free(requests(1))
    call lnw_request_free(requests(2))
  end subroutine

  !> As alltoallv, with blocks that become ready one after another.
  subroutine edges_in_partitions()
    type(LNW_Request) :: request
    type(LNW_Topology) :: topology
    integer :: code, form, edge
    integer(MPI_COUNT_KIND) :: whole
    logical :: flag
    type(c_ptr) :: words(degree)
    integer(int64), pointer, volatile :: word
    whole = degree * most
    call lnw_topology_from_comm(graph, topology, code)
    do form = 1, 4
      call fill(70 + form)
      call expect_alltoallv()
      select case (form)
      case (1, 4)
        call lnw_neighbor_alltoallv_init_partitioned(owned, counts, displacements, MPI_DOUBLE_PRECISION, ghosts, counts, &
            displacements, MPI_DOUBLE_PRECISION, [1, 1], [2, 1], graph, MPI_INFO_NULL, request, code)
      case (2)
        call lnw_neighbor_alltoallv_init_partitioned(owned, int(counts, MPI_COUNT_KIND), &
            int(displacements, MPI_ADDRESS_KIND), MPI_DOUBLE_PRECISION, ghosts, int(counts, MPI_COUNT_KIND), &
            int(displacements, MPI_ADDRESS_KIND), MPI_DOUBLE_PRECISION, [1, 1], [2, 1], topology, MPI_INFO_NULL, request, &
            code)
      case (3)
        call lnw_neighbor_alltoallv_init_indexed_partitioned(owned, whole, counts, indices, MPI_DOUBLE_PRECISION, ghosts, &
            whole, counts, indices, MPI_DOUBLE_PRECISION, [1, 1], [2, 1], topology, MPI_INFO_NULL, request, code)
      end select
      call check(code == MPI_SUCCESS, 'lnw_neighbor_alltoallv_init_partitioned')
      do edge = 1, merge(degree, 0, form == 4)
        call lnw_pready_edge_word(request, edge, 0, words(edge), code)
        call check(code == MPI_SUCCESS, 'lnw_pready_edge_word')
      end do
      call lnw_start(request, code)
      do edge = degree, 1, -1
        if (form == 4) then
          call c_f_pointer(words(edge), word)
          word = 1
          cycle
        end if
        call lnw_pready_edge(request, edge, 0, code)
        call check(code == MPI_SUCCESS, 'lnw_pready_edge')
      end do
      call lnw_wait(request, MPI_STATUS_IGNORE, code)
      call MPI_F_sync_reg(ghosts)
      call lnw_parrived_edge(request, 1, 1, flag, code)
      call check(code == MPI_SUCCESS .and. flag, 'lnw_parrived_edge')
      call check_equal(ghosts, expected, 'partitioned neighborhoods')
      if (form < 4) call functions_of_edges(request, form == 3)
      call lnw_pready_edge(request, degree + 1, 0, code)
      call check_error(code, 'edge is', 'an edge too many')
      call lnw_request_free(request)
    end do
    call lnw_topology_free(topology)
  end subroutine

  !> Counts that change from exchange to exchange; what comes is compared with alltoallv.
  subroutine counted_alltoall()
    integer, parameter :: room = 4
    type(LNW_Request) :: request
    integer, asynchronous :: sendcounts(size), recvcounts(size), wide(2, size)
    integer :: come(size), rooms(size), ends(size), begins(size), code, form, step, i
    real(real64), asynchronous :: sent(room * size), received(room * size)
    real(real64) :: right(room * size)
    rooms = room
    begins = [(room * (size - i), i = 1, size)]
    do form = 1, 2
      if (form == 1) then
        call lnw_alltoallv_counted_init(sent, sendcounts, begins, MPI_DOUBLE_PRECISION, received, recvcounts, rooms, begins, &
                                        MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, MPI_INFO_NULL, request, code)
      else
        call lnw_alltoallv_counted_init(sent, sendcounts, sendtype=MPI_DOUBLE_PRECISION, recvbuf=received, &
                                        recvcounts=recvcounts, recvcapacities=rooms, recvtype=MPI_DOUBLE_PRECISION, &
                                        comm=MPI_COMM_WORLD, info=MPI_INFO_NULL, request=request, ierror=code)
      end if
      call check(code == MPI_SUCCESS, 'lnw_alltoallv_counted_init')
      do step = 1, 3
        sendcounts = [(mod(rank + 2 * i + step, room + 1), i = 1, size)]
        sent = [(sqrt(real(1000 * step + 100 * rank + i, real64)), i = 1, room * size)]
        received = -1
        right = -1
        call MPI_Alltoall(sendcounts, 1, MPI_INTEGER, come, 1, MPI_INTEGER, MPI_COMM_WORLD)
        if (form == 2) ends = [(sum(sendcounts(:i - 1)), i = 1, size)]
        if (form == 1) ends = begins
        call MPI_Alltoallv(sent, sendcounts, ends, MPI_DOUBLE_PRECISION, right, come, &
                           merge(begins, [(room * (i - 1), i = 1, size)], form == 1), MPI_DOUBLE_PRECISION, MPI_COMM_WORLD)
        call lnw_start(request)
        call lnw_wait(request, MPI_STATUS_IGNORE, code)
        call MPI_F_sync_reg(received)
        call MPI_F_sync_reg(recvcounts)
        call check(code == MPI_SUCCESS .and. all(recvcounts == come), 'the counts that come')
        call check_equal(received, right, 'what comes with its counts')
      end do
      call lnw_request_free(request)
    end do
    if (size == 1) return
    call lnw_alltoallv_counted_init(sent, wide(1, :), begins, MPI_DOUBLE_PRECISION, received, recvcounts, rooms, begins, &
                                    MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, MPI_INFO_NULL, request, code)
    call check_error(code, 'sendcounts is not contiguous', 'counts with gaps')
  end subroutine

  !> Of a request of edges in 2 and 1 partitions: the functions that are called for them, and each as it comes.
  subroutine functions_of_edges(request, tests)
    type(LNW_Request), intent(inout) :: request
    logical, intent(in) :: tests
    integer, target :: arrivals, ends
    integer :: edge, partition, code, given
    logical :: flag, came(2, 0:1)
    arrivals = 0
    ends = 0
    came = .false.
    do partition = 0, 1
      call lnw_request_on_arrival(request, 1, partition, c_funloc(count_call), c_loc(arrivals), code)
      call check(code == MPI_SUCCESS, 'lnw_request_on_arrival')
    end do
    call lnw_request_on_arrival(request, degree + 1, 0, c_funloc(count_call), c_loc(arrivals), code)
    call check_error(code, 'edge is', 'a function for an edge too many')
    call lnw_request_on_complete(request, c_funloc(count_call), c_loc(ends), code)
    call check(code == MPI_SUCCESS, 'lnw_request_on_complete')
    call lnw_start(request)
    do edge = 1, degree
      call lnw_pready_edge(request, edge, 0)
    end do
    given = 0
    do
      flag = .not. tests
      if (tests) then
        call lnw_test_any_edge(request, edge, partition, flag, code)
      else
        call lnw_wait_any_edge(request, edge, partition, code)
      end if
      call check(code == MPI_SUCCESS, 'lnw_wait_any_edge')
      if (.not. flag) cycle
      if (edge == MPI_UNDEFINED) exit
      given = given + 1
      call check(.not. came(edge, partition), 'an edge is given once')
      came(edge, partition) = .true.
    end do
    call check(given == 3, 'all partitions are given')
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call check(arrivals == 2 .and. ends == 1, 'functions are called')
    call counters_and_hints()
  end subroutine

  !> Who gets an element of mine, and who owns a ghost, which its number says; own elements begin at a place.
  subroutine sides_of_halo(halo, first, x)
    type(LNW_Halo), intent(in) :: halo
    integer, intent(in) :: first, x(4)
    integer(MPI_COUNT_KIND) :: counts(2), places(2)
    integer :: neighbors, ranks(2), code, i, j, at, to
    call lnw_halo_get_sent(halo, 2, 2_MPI_COUNT_KIND, neighbors, ranks, counts, places, code)
    call check(code == MPI_SUCCESS .and. sum(counts(:neighbors)) == 2 .and. sum(places) == 2 * first + 1, 'lnw_halo_get_sent')
    at = 0
    do i = 1, neighbors
      do j = 1, int(counts(i))
        at = at + 1
        to = merge(mod(rank + size - 1, size), mod(rank + 1, size), places(at) == first)
        call check(ranks(i) == to, 'a rank of lnw_halo_get_sent')
      end do
    end do
    call lnw_halo_get_received(halo, 2, 2_MPI_COUNT_KIND, neighbors, ranks, counts, places, code)
    call check(code == MPI_SUCCESS .and. sum(counts(:neighbors)) == 2, 'lnw_halo_get_received')
    at = 0
    do i = 1, neighbors
      do j = 1, int(counts(i))
        at = at + 1
        call check(ranks(i) == x(places(at) + 1) / 2, 'a rank of lnw_halo_get_received')
        call check(places(at) < first .or. places(at) > first + 1, 'a place of lnw_halo_get_received')
      end do
    end do
    places = -1
    call lnw_halo_get_received(halo, 0, 1_MPI_COUNT_KIND, neighbors, ranks, counts, places, code)
    call check(code == MPI_SUCCESS .and. neighbors > 0 .and. places(1) >= 0 .and. places(2) == -1, 'what there is room for')
  end subroutine

  subroutine counters_and_hints()
    integer :: number, index, length, code
    integer(MPI_COUNT_KIND) :: exchanges
    character(len=4) :: text
    character(len=20) :: name, environment
    character(len=3) :: description
    call lnw_pvar_get_num(number)
    call lnw_pvar_get_index('exchanges', index, code)
    call check(code == MPI_SUCCESS .and. index < number, 'lnw_pvar_get_index')
    call lnw_pvar_read(index, MPI_COMM_NULL, exchanges, code)
    call check(code == MPI_SUCCESS .and. exchanges > 0, 'lnw_pvar_read')
    call lnw_cvar_get_num(number)
    call lnw_cvar_get_index('lnw_tune', index, code)
    call check(code == MPI_SUCCESS .and. index < number, 'lnw_cvar_get_index')
    call lnw_cvar_get_info(index, name, environment, description, code)
    call check(code == MPI_SUCCESS .and. name == 'lnw_tune' .and. environment == 'LANEWAY_TUNE' .and. &
               len_trim(description) == len(description), 'lnw_cvar_get_info')
    call lnw_cvar_get_info(number, name, environment, description, code)
    call check_error(code, 'index', 'a control variable that is none')
    call lnw_pvar_get_index('exchanges', index, code)
    call lnw_pvar_get_info(index, name, description, code)
    call check(code == MPI_SUCCESS .and. name == 'exchanges' .and. description /= '', 'lnw_pvar_get_info')
    call lnw_cvar_get_index('lnw_tune', index, code)
    call lnw_cvar_read(index, MPI_COMM_NULL, text, length, code)
    call check(code == MPI_SUCCESS .and. text == 'mode' .and. length == 5, 'lnw_cvar_read')
  end subroutine

  subroutine count_call(code, state) bind(C)
    integer(c_int), value :: code
    type(c_ptr), value :: state
    integer, pointer :: calls
    call c_f_pointer(state, calls)
    if (code == MPI_SUCCESS) calls = calls + 1
  end subroutine

  !> Two exchanges in one round; a bag; elements that move; ghosts by their numbers and on a grid.
  subroutine movers()
    type(LNW_Sparse_set) :: sets(2)
    type(LNW_Arrivals) :: arrivals(2)
    type(LNW_Bag) :: bag
    type(LNW_Distributor) :: distributor
    type(LNW_Halo) :: halo
    type(LNW_Request) :: request
    type(c_ptr) :: data
    type(MPI_Info) :: info
    integer(MPI_COUNT_KIND) :: bytes, from_each(size), elements, owned, places(1), arrived(1), exports
    integer :: code, source, right, left, i, messages, nsources, from(size), dims(1), coords(1), values(1)
    integer, target :: to(1), counts(1), begins(1), sent(2), out(2)
    integer, pointer :: message
    integer, asynchronous, target :: x(4), y(4)
    logical :: flag
    right = mod(rank + 1, size)
    left = mod(rank + size - 1, size)

    to = right
    counts = 1
    begins = 0
    sent = [rank, rank + 10]
    do i = 1, 2
      sets(i) = LNW_Sparse_set(1, c_loc(to), c_loc(sent(i)), c_loc(counts), c_loc(begins), MPI_INTEGER)
    end do
    call lnw_sparse_alltoallv_sets(2, sets, MPI_COMM_WORLD, MPI_INFO_NULL, arrivals, code)
    call check(code == MPI_SUCCESS, 'lnw_sparse_alltoallv_sets')
    do i = 1, 2
      call lnw_arrivals_copy(arrivals(i), 1, from(:1), arrived, places, values, 1_MPI_COUNT_KIND, MPI_INTEGER, code)
      call check(code == MPI_SUCCESS .and. from(1) == left .and. values(1) == left + 10 * (i - 1), 'a set of several')
      call lnw_arrivals_free(arrivals(i))
    end do

    call lnw_bag_create(MPI_COMM_WORLD, MPI_INFO_NULL, bag, code)
    call check(code == MPI_SUCCESS .and. bag /= LNW_BAG_NULL, 'lnw_bag_create')
    do i = 1, 3
      call lnw_bag_send(bag, right, 100 * rank + i, 4_MPI_COUNT_KIND, code)
      call check(code == MPI_SUCCESS, 'lnw_bag_send')
    end do
    call lnw_bag_iflush(bag, request, code)
    call lnw_wait(request, MPI_STATUS_IGNORE, code)
    call lnw_bag_flush(bag, code)
    call check(code == MPI_SUCCESS, 'flushes of a bag')
    messages = 0
    do
      call lnw_bag_next(bag, source, data, bytes, flag, code)
      if (.not. flag) exit
      messages = messages + 1
      call c_f_pointer(data, message)
      call check(source == left .and. bytes == 4 .and. message == 100 * left + messages, 'lnw_bag_next')
    end do
    call check(messages == 3, 'messages of a bag')
    call lnw_bag_send(bag, size, 0, 4_MPI_COUNT_KIND, code)
    call check_error(code, 'destination is', 'a bag without such a rank')
    call lnw_bag_get_info(bag, info, code)
    call check(code == MPI_SUCCESS, 'lnw_bag_get_info')
    call MPI_Info_free(info)
    call lnw_bag_free(bag, code)
    call check(bag == LNW_BAG_NULL, 'lnw_bag_free')

    ! One element to the right, one stays nowhere.
    out = [rank, -5]
    call lnw_distributor_create(MPI_COMM_WORLD, 2_MPI_COUNT_KIND, [right, -1], MPI_INFO_NULL, distributor, code)
    call check(code == MPI_SUCCESS .and. distributor /= LNW_DISTRIBUTOR_NULL, 'lnw_distributor_create')
    call lnw_distributor_get_count(distributor, exports, elements, code)
    call check(exports == 2 .and. elements == 1, 'lnw_distributor_get_count')
    call lnw_distributor_get_sources(distributor, size, nsources, from, from_each, code)
    call check(nsources == 1 .and. from(1) == left .and. from_each(1) == 1, 'lnw_distributor_get_sources')
    x = -1
    call lnw_distributor_exchange(distributor, out, x, MPI_INTEGER, code)
    call check(code == MPI_SUCCESS .and. x(1) == left .and. x(2) == -1, 'lnw_distributor_exchange')
    call lnw_distributor_init(distributor, out, y, MPI_INTEGER, MPI_INFO_NULL, request, code)
    call lnw_start(request)
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call MPI_F_sync_reg(y)
    call check(y(1) == left, 'lnw_distributor_init')
    call lnw_request_free(request)
    call lnw_distributor_reverse_init(distributor, y, out, MPI_INTEGER, MPI_SUM, MPI_INFO_NULL, request, code)
    call lnw_start(request)
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call check(out(1) == 2 * rank .and. out(2) == -5, 'lnw_distributor_reverse_init')
    call lnw_request_free(request)
    call lnw_distributor_free(distributor)
    call check(distributor == LNW_DISTRIBUTOR_NULL, 'lnw_distributor_free')
    call lnw_distributor_create_from_imports(MPI_COMM_WORLD, 2_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, [right], &
                                             [1_MPI_COUNT_KIND], MPI_INFO_NULL, distributor, code)
    out = [0, 7 * rank]
    call lnw_distributor_exchange(distributor, out, x, MPI_INTEGER, code)
    call check(code == MPI_SUCCESS .and. x(1) == 7 * right, 'lnw_distributor_create_from_imports')
    call lnw_distributor_free(distributor)

    ! Elements 2 rank and 2 rank + 1 are here; ghosts are the last of the left, the first of the right.
    do i = 1, 3
      select case (i)
      case (1)
        call lnw_halo_create(MPI_COMM_WORLD, int(2 * rank, MPI_COUNT_KIND), 2_MPI_COUNT_KIND, 2_MPI_COUNT_KIND, &
                             int([2 * left + 1, 2 * right], MPI_COUNT_KIND), MPI_INFO_NULL, halo, code)
        x = [2 * rank, 2 * rank + 1, -1, -1]
      case (2)
        call lnw_halo_create_from_ids(MPI_COMM_WORLD, 2_MPI_COUNT_KIND, int([2 * rank, 2 * rank + 1], MPI_COUNT_KIND), &
                                      2_MPI_COUNT_KIND, int([2 * left + 1, 2 * right], MPI_COUNT_KIND), MPI_INFO_NULL, &
                                      halo, code)
        x = [2 * rank, 2 * rank + 1, -1, -1]
      case (3)
        call lnw_halo_create_cart(MPI_COMM_WORLD, 1, [0], [2], [1], [.true.], .true., MPI_INFO_NULL, halo, code)
        x = [-1, 2 * rank, 2 * rank + 1, -1]
      end select
      call check(code == MPI_SUCCESS .and. halo /= LNW_HALO_NULL, 'lnw_halo_create')
      y = 3 * x
      call lnw_halo_get_count(halo, owned, elements, code)
      call check(owned == 2 .and. elements == 4, 'lnw_halo_get_count')
      if (i < 3) then
        call lnw_halo_get_cart(halo, 1, dims, coords, code)
        call check_error(code, 'halo is not of a grid', 'a halo without a grid')
        call lnw_halo_init(halo, x, MPI_INTEGER, MPI_INFO_NULL, request, code)
      else
        call lnw_halo_get_cart(halo, 1, dims, coords, code)
        call check(code == MPI_SUCCESS .and. dims(1) == size .and. coords(1) == rank, 'lnw_halo_get_cart')
        call lnw_halo_init_fields(halo, 2, [c_loc(x), c_loc(y)], [MPI_INTEGER, MPI_INTEGER], MPI_INFO_NULL, request, code)
      end if
      call lnw_start(request)
      call lnw_wait(request, MPI_STATUS_IGNORE)
      call MPI_F_sync_reg(x)
      call MPI_F_sync_reg(y)
      call lnw_request_free(request)
      call sides_of_halo(halo, merge(0, 1, i < 3), x)
      if (i < 3) then
        call check(all(x == [2 * rank, 2 * rank + 1, 2 * left + 1, 2 * right]), 'lnw_halo_init')
        call lnw_halo_reverse_init(halo, x, MPI_INTEGER, MPI_SUM, MPI_INFO_NULL, request, code)
      else
        call check(all(x == [2 * left + 1, 2 * rank, 2 * rank + 1, 2 * right]) .and. all(y == 3 * x), 'lnw_halo_init_fields')
        call lnw_halo_reverse_init_fields(halo, 2, [c_loc(x), c_loc(y)], [MPI_INTEGER, MPI_INTEGER], MPI_SUM, &
                                          MPI_INFO_NULL, request, code)
      end if
      call lnw_start(request)
      call lnw_wait(request, MPI_STATUS_IGNORE)
      call MPI_F_sync_reg(x)
      call MPI_F_sync_reg(y)
      call lnw_request_free(request)
      ! Each element has one copy.
      if (i < 3) then
        call check(all(x(:2) == [4 * rank, 4 * rank + 2]), 'lnw_halo_reverse_init')
      else
        call check(all(x(2:3) == [4 * rank, 4 * rank + 2]) .and. all(y == 3 * x), 'lnw_halo_reverse_init_fields')
      end if
      call lnw_halo_free(halo)
      call check(halo == LNW_HALO_NULL, 'lnw_halo_free')
    end do
    call lnw_halo_create(MPI_COMM_WORLD, -1_MPI_COUNT_KIND, 1_MPI_COUNT_KIND, 0_MPI_COUNT_KIND, [0_MPI_COUNT_KIND], &
                         MPI_INFO_NULL, halo, code)
    call check_error(code, 'first is -1', 'a bad number')
  end subroutine
end program
