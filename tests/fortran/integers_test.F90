! The module laneway_mpi in a program with `use mpi`, or with mpif.h where WITH_MPIF_H is defined; results are compared with MPI's.
module counted
  use, intrinsic :: iso_c_binding, only: c_int, c_ptr
  implicit none
  integer :: completions = 0
contains
  subroutine completed(code, state) bind(C)
    integer(c_int), value :: code
    type(c_ptr), value :: state
    if (code == 0) completions = completions + 1
  end subroutine
end module

program integers_test
  use, intrinsic :: iso_c_binding, only: c_funloc, c_null_ptr, c_ptr, c_f_pointer
  use, intrinsic :: iso_fortran_env, only: error_unit
#ifndef WITH_MPIF_H
  use mpi
#endif
  use counted
  use laneway_mpi
  implicit none
#ifdef WITH_MPIF_H
  include 'mpif.h'
#endif
  integer :: rank, ranks, code, total(1), failures(1) = 0
  integer :: ring, left(2), right(2), counts(2), displacements(2)

  call MPI_Init(code)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, code)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, code)
  left = [modulo(rank - 1, ranks), modulo(rank - 2, ranks)]
  right = [modulo(rank + 1, ranks), modulo(rank + 2, ranks)]
  counts = [1, 2]
  displacements = [2, 0]
  call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, 2, left, MPI_UNWEIGHTED, 2, right, MPI_UNWEIGHTED, MPI_INFO_NULL, &
                                      .false., ring, code)
  call check(code == MPI_SUCCESS, 'lnw_dist_graph_create_adjacent')
  call MPI_Comm_set_errhandler(ring, MPI_ERRORS_RETURN, code)
  call MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN, code)
  call neighborhoods()
  call topologies()
  call collectives()
  call sparse()
  call halos()
  call sections()
  call blocks()
  call errors()
  call MPI_Comm_free(ring, code)
  call MPI_Allreduce(failures, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
  if (rank == 0 .and. total(1) == 0) print '(a)', 'passed'
  call MPI_Finalize(code)
  if (total(1) > 0) error stop 1

contains

  subroutine check(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    failures = failures + 1
    write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': FAILED: ', what
  end subroutine

  subroutine neighborhoods()
    double precision, asynchronous :: sent(3), received(3)
    double precision :: expected(3), plain(3)
    type(LNW_Request) :: requests(2)
    integer :: statuses(MPI_STATUS_SIZE, 2), status(MPI_STATUS_SIZE), n, edge
    integer(MPI_COUNT_KIND), parameter :: indices(3) = [2, 0, 1], three = 3
    logical :: flag
    sent = [10d0 * rank + 1, 10d0 * rank + 2, 10d0 * rank + 3]
    plain = sent
    call MPI_Neighbor_alltoallv(plain, counts, displacements, MPI_DOUBLE_PRECISION, expected, counts, displacements, &
                                MPI_DOUBLE_PRECISION, ring, code)
    received = -1
    call lnw_neighbor_alltoallv(sent, counts, displacements, MPI_DOUBLE_PRECISION, received, counts, displacements, &
                                MPI_DOUBLE_PRECISION, ring, code)
    call check(code == MPI_SUCCESS .and. all(received == expected), 'lnw_neighbor_alltoallv')
    received = -1
    call lnw_neighbor_alltoallw(sent, counts, displacements * 8_MPI_ADDRESS_KIND, [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION], &
                                received, counts, displacements * 8_MPI_ADDRESS_KIND, &
                                [MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION], ring, code)
    call check(code == MPI_SUCCESS .and. all(received == expected), 'lnw_neighbor_alltoallw')
    call lnw_neighbor_alltoallv_init(sent, counts, displacements, MPI_DOUBLE_PRECISION, received, counts, displacements, &
                                     MPI_DOUBLE_PRECISION, ring, MPI_INFO_NULL, requests(1), code)
    call lnw_neighbor_alltoallv_init_indexed(MPI_BOTTOM, three, counts, indices, MPI_DOUBLE_PRECISION, MPI_BOTTOM, three, &
                                             counts, indices, MPI_DOUBLE_PRECISION, ring, MPI_INFO_NULL, requests(2), code)
    call check(code == MPI_SUCCESS, 'MPI_BOTTOM')
    call lnw_request_set_buffers(requests(2), sent, received, code)
    call lnw_request_on_complete(requests(1), c_funloc(completed), c_null_ptr, code)
    call check(code == MPI_SUCCESS, 'lnw_request_on_complete')
    do n = 1, 2
      received = -1
      call lnw_start(requests(n))
      call lnw_wait(requests(n), MPI_STATUS_IGNORE, code)
      call check(code == MPI_SUCCESS .and. all(received == expected), 'a persistent request')
    end do
    call check(completions == 1, 'a continuation')
    statuses = -77
    call lnw_start(requests(1))
    call lnw_waitall(2, requests, statuses, code)
    call check(all(statuses(MPI_SOURCE, :) == MPI_ANY_SOURCE), 'statuses')
    call lnw_start(requests(1))
    flag = .false.
    do while (.not. flag)
      call lnw_testany(2, requests, edge, flag, status)
    end do
    call check(edge == 1 .and. status(MPI_TAG) == MPI_ANY_TAG .and. completions == 3, 'lnw_testany')
    call lnw_start(requests(2))
    call lnw_waitall(2, requests, MPI_STATUSES_IGNORE, code)
    call check(code == MPI_SUCCESS, 'MPI_STATUSES_IGNORE')
    call lnw_request_free(requests(1))
    call lnw_request_free(requests(2))
    call check(requests(1) == LNW_REQUEST_NULL, 'lnw_request_free')
  end subroutine

  subroutine topologies()
    type(LNW_Topology) :: topology
    integer :: found(1), to(1)
    call lnw_topology_create(MPI_COMM_WORLD, 1, left, [7], 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, topology, code)
    call check(code /= MPI_SUCCESS .or. topology /= LNW_TOPOLOGY_NULL, 'weights on one side')
    if (code == MPI_SUCCESS) call lnw_topology_free(topology)
    call lnw_topology_create(MPI_COMM_WORLD, 1, left, MPI_UNWEIGHTED, 1, right, MPI_UNWEIGHTED, MPI_INFO_NULL, topology, code)
    call lnw_topology_get_neighbors(topology, 1, found, 1, to)
    call check(found(1) == left(1) .and. to(1) == right(1), 'lnw_topology_get_neighbors')
    call lnw_neighbor_allgather(rank, 1, MPI_INTEGER, found, 1, MPI_INTEGER, topology, code)
    call check(code == MPI_SUCCESS .and. found(1) == left(1), 'lnw_neighbor_allgather on a topology')
    call lnw_topology_free(topology)
    call lnw_topology_create(MPI_COMM_WORLD, 0, left, MPI_WEIGHTS_EMPTY, 0, right, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, topology, &
                             code)
    call check(code == MPI_SUCCESS, 'MPI_WEIGHTS_EMPTY')
    call lnw_topology_free(topology)
  end subroutine

  subroutine collectives()
    integer :: values(3), expected(3), gathered(0:ranks - 1), k
    integer(MPI_COUNT_KIND), parameter :: three = 3
    values = rank + [1, 2, 3]
    call MPI_Allreduce(values, expected, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call lnw_allreduce(MPI_IN_PLACE, values, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS .and. all(values == expected), 'lnw_allreduce in place')
    values = rank + [1, 2, 3]
    call lnw_allreduce(MPI_IN_PLACE, values, three, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS .and. all(values == expected), 'lnw_allreduce in place with large counts')
    gathered(rank) = rank
    call lnw_allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, gathered, 1, MPI_INTEGER, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS .and. all(gathered == [(k, k = 0, ranks - 1)]), 'lnw_allgather in place')
  end subroutine

  subroutine sparse()
    type(LNW_Arrivals) :: arrivals
    type(c_ptr) :: address
    integer(MPI_COUNT_KIND) :: bytes
    integer, pointer :: data(:)
    integer :: sources
    call lnw_sparse_alltoallv(1, right, [rank, -rank], [2], [0], MPI_INTEGER, MPI_COMM_WORLD, MPI_INFO_NULL, arrivals, code)
    call lnw_arrivals_get_count(arrivals, sources)
    call lnw_arrivals_get_data(arrivals, address, bytes)
    call check(code == MPI_SUCCESS .and. sources == 1 .and. bytes == 8, 'lnw_sparse_alltoallv')
    call c_f_pointer(address, data, [2])
    call check(all(data == [left(1), -left(1)]), 'what a sparse exchange brings')
    call lnw_arrivals_free(arrivals)
  end subroutine

  subroutine halos()
    type(LNW_Halo) :: halo
    type(LNW_Request) :: request
    integer(MPI_COUNT_KIND) :: first, own, ghosts, ids(1)
    double precision, asynchronous :: x(3)
    first = 2 * rank
    own = 2
    ghosts = 1
    ids = modulo(2 * rank + 2, 2 * ranks)
    call lnw_halo_create(MPI_COMM_WORLD, first, own, ghosts, ids, MPI_INFO_NULL, halo, code)
    call lnw_halo_init(halo, x, MPI_DOUBLE_PRECISION, MPI_INFO_NULL, request, code)
    x = [dble(first), first + 1d0, -1d0]
    call lnw_start(request)
    call lnw_wait(request, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS .and. x(3) == dble(ids(1)), 'lnw_halo_init')
    call lnw_request_free(request)
    call lnw_halo_free(halo)
  end subroutine

  ! Arrays with gaps are sent and received as they are; what lies in the gaps stays.
  subroutine sections()
    type point
      integer :: mark
      double precision :: value
    end type
    double precision, asynchronous :: grid(4, 6), other(4, 6)
    double precision :: row(6), ghosts(6), before(4, 6)
    type(point) :: points(3)
    type(LNW_Request) :: request
    integer :: k, numbers(9), all(9), total(9)
    grid = reshape([(100d0 * rank + k, k = 1, 24)], [4, 6])
    row = grid(2, :)
    call MPI_Neighbor_allgather(row, 3, MPI_DOUBLE_PRECISION, ghosts, 3, MPI_DOUBLE_PRECISION, ring, code)
    other = -1
    before = other
    before(3, :) = ghosts
    call lnw_neighbor_allgather(grid(2, :), 3, MPI_DOUBLE_PRECISION, other(3, :), 3, MPI_DOUBLE_PRECISION, ring, code)
    call check(code == MPI_SUCCESS .and. .not. any(other /= before), 'rows of an array')
    call MPI_Neighbor_alltoallv(row, counts, displacements, MPI_DOUBLE_PRECISION, ghosts, counts, displacements, &
                                MPI_DOUBLE_PRECISION, ring, code)
    call lnw_neighbor_alltoallv_init(grid(2, :), counts, displacements, MPI_DOUBLE_PRECISION, other(3, 6:1:-1), counts, &
                                     displacements, MPI_DOUBLE_PRECISION, ring, MPI_INFO_NULL, request, code)
    call check(code == MPI_SUCCESS, 'a request of rows')
    do k = 1, 2
      other = -1
      call lnw_start(request)
      call lnw_wait(request, MPI_STATUS_IGNORE, code)
      call check(.not. any(other(3, 6:4:-1) /= ghosts(1:3)) .and. .not. any(other(3, 1:3) /= -1) .and. &
                 .not. any(other([1, 2, 4], :) /= -1), 'rows backwards, persistent')
    end do
    call lnw_request_free(request)
    call lnw_ineighbor_allgather(grid(1::2, 1), 1, MPI_DOUBLE_PRECISION, points(1:2)%value, 1, MPI_DOUBLE_PRECISION, ring, &
                                 request, code)
    call lnw_wait(request, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS .and. points(1)%value == 100d0 * left(1) + 1 .and. points(2)%value == 100d0 * left(2) + 1, &
               'parts of structures, nonblocking')
    numbers = [(10 * rank + k, k = 1, 9)]
    all = numbers
    call MPI_Bcast(all, 9, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    total = numbers
    total(1::4) = all(1::4)
    call lnw_bcast(numbers(1::4), 3, MPI_INTEGER, 0, MPI_COMM_WORLD, code)
    call check(code == MPI_SUCCESS .and. .not. any(numbers /= total), 'lnw_bcast of every fourth')
    call lnw_neighbor_allgather(grid(1:2, 1:2), 3, MPI_DOUBLE_PRECISION, other, 3, MPI_DOUBLE_PRECISION, ring, code)
    call check(code /= MPI_SUCCESS, 'a part of a column is an error where gaps have several sizes')
    call lnw_allreduce(numbers(1::4), total, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, code)
    call check(code /= MPI_SUCCESS, 'a sum of gaps is an error')
  end subroutine

  ! Gaps of several sizes: what is counted is a number of whole runs of 6 elements, cube(2:4, 1:4:3, k).
  subroutine blocks()
    integer, parameter :: unit = 6
    double precision, asynchronous :: cube(5, 4, 3), other(5, 4, 3), wide(72)
    double precision :: before(5, 4, 3), flat(18), arrived(18), gathered(36)
    integer :: k, sizes(2), offsets(2), each(ranks), places(ranks)
    integer(MPI_COUNT_KIND), parameter :: long = unit
    integer(MPI_ADDRESS_KIND) :: far(2)
    type(LNW_Request) :: request, requests(2)
    type(LNW_Topology) :: topology
    cube = reshape([(100d0 * rank + k, k = 1, 60)], [5, 4, 3])
    flat = reshape(cube(2:4, 1:4:3, :), [18])
    other = -1
    before = other
    sizes = [unit, 2 * unit]
    offsets = [2 * unit, 0]
    arrived = -1
    call MPI_Neighbor_alltoallv(flat, sizes, offsets, MPI_DOUBLE_PRECISION, arrived, sizes, offsets, MPI_DOUBLE_PRECISION, &
                                ring, code)
    before(2:4, 1:4:3, :) = reshape(arrived, [3, 2, 3])
    call lnw_neighbor_alltoallv(cube(2:4, 1:4:3, :), sizes, offsets, MPI_DOUBLE_PRECISION, other(2:4, 1:4:3, :), sizes, &
                                offsets, MPI_DOUBLE_PRECISION, ring, code)
    call check(code == MPI_SUCCESS .and. .not. any(other /= before), 'blocks of an array')
    far = offsets
    other = -1
    call lnw_topology_from_comm(ring, topology)
    call lnw_ineighbor_alltoallv(cube(2:4, 1:4:3, :), int(sizes, MPI_COUNT_KIND), far, MPI_DOUBLE_PRECISION, &
                                 other(2:4, 1:4:3, :), int(sizes, MPI_COUNT_KIND), far, MPI_DOUBLE_PRECISION, topology, &
                                 request, code)
    call check(code == MPI_SUCCESS, 'blocks of an array, nonblocking with large counts')
    call lnw_wait(request, MPI_STATUS_IGNORE, code)
    call check(.not. any(other /= before), 'blocks of an array, nonblocking with large counts')
    call lnw_topology_free(topology)
    other = -1
    call lnw_neighbor_alltoallv_init(cube(2:4, 1:4:3, :), sizes, offsets, MPI_DOUBLE_PRECISION, other(2:4, 1:4:3, :), sizes, &
                                     offsets, MPI_DOUBLE_PRECISION, ring, MPI_INFO_NULL, request, code)
    do k = 1, 2
      cube = cube + 1
      call lnw_start(request)
      call lnw_wait(request, MPI_STATUS_IGNORE, code)
    end do
    call lnw_request_free(request)
    before(2:4, 1:4:3, :) = before(2:4, 1:4:3, :) + 2
    call check(.not. any(other /= before), 'blocks of an array, persistent')
    flat = flat + 2
    call MPI_Neighbor_allgather(flat, 18, MPI_DOUBLE_PRECISION, gathered, 18, MPI_DOUBLE_PRECISION, ring, code)
    wide = -1
    call lnw_neighbor_allgather(cube(2:4, 1:4:3, :), 18, MPI_DOUBLE_PRECISION, wide(1:72:2), 18, MPI_DOUBLE_PRECISION, ring, code)
    call check(code == MPI_SUCCESS .and. .not. any(wide(1:72:2) /= gathered) .and. .not. any(wide(2:72:2) /= -1), &
               'blocks arrive with gaps of one size')
    call lnw_neighbor_alltoallv(cube(2:4, 1:4:3, :), [0, 0], [1, 7], MPI_DOUBLE_PRECISION, other(2:4, 1:4:3, :), [0, 0], &
                                [5, 0], MPI_DOUBLE_PRECISION, ring, code)
    call check(code == MPI_SUCCESS .and. .not. any(other /= before), 'no blocks')

    ! Ranks that are not the root give lists of nothing; backwards, and the last rank gives and gets nothing.
    each = unit
    each(ranks) = 0
    places = [(unit * modulo(k, 3), k = 1, ranks)]
    arrived = -1
    call MPI_Scatterv(flat, each, places, MPI_DOUBLE_PRECISION, arrived, each(rank + 1), MPI_DOUBLE_PRECISION, 0, &
                      MPI_COMM_WORLD, code)
    other = -1
    before = -1
    if (each(rank + 1) > 0) before(4:2:-1, 1:4:3, 3) = reshape(arrived(:unit), [3, 2])
    if (rank == 0) then
      call lnw_scatterv(cube(2:4, 1:4:3, :), each, places, MPI_DOUBLE_PRECISION, other(4:2:-1, 1:4:3, 3:1:-1), &
                        each(rank + 1), MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, code)
    else
      call lnw_scatterv(cube(2:4, 1:4:3, :), [7], [1], MPI_DOUBLE_PRECISION, other(4:2:-1, 1:4:3, 3:1:-1), each(rank + 1), &
                        MPI_DOUBLE_PRECISION, 0, MPI_COMM_WORLD, code)
    end if
    call check(code == MPI_SUCCESS .and. .not. any(other /= before), 'lnw_scatterv of blocks')
    flat = flat + 100d0 * (ranks - 1 - rank)
    before = cube
    before(2:4, 1:4:3, :) = reshape(flat, [3, 2, 3])
    call lnw_ibcast(cube(2:4, 1:4:3, :), 18, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, request, code)
    call lnw_wait(request, MPI_STATUS_IGNORE, code)
    call check(code == MPI_SUCCESS .and. .not. any(cube /= before), 'lnw_ibcast of blocks')

    ! Sums with gaps, as those without.
    flat = reshape(cube(2:4, 1:4:3, :), [18])
    arrived = 1
    call lnw_neighbor_reduce(flat, unit, MPI_DOUBLE_PRECISION, arrived, unit, MPI_DOUBLE_PRECISION, MPI_SUM, ring, code)
    other = 1
    before = other
    before(2:4, 1:4:3, :) = reshape(arrived, [3, 2, 3])
    call lnw_neighbor_reduce(cube(2:4, 1:4:3, :), unit, MPI_DOUBLE_PRECISION, other(2:4, 1:4:3, :), unit, MPI_DOUBLE_PRECISION, &
                             MPI_SUM, ring, code)
    call check(code == MPI_SUCCESS .and. .not. any(other /= before) .and. any(other /= 1), 'sums of blocks')

    cube(2:4, 1:4:3, :) = rank
    other = -1
    call lnw_psend_init(cube(2:4, 1:4:3, :), 3, long, MPI_DOUBLE_PRECISION, right(1), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(1), code)
    call lnw_precv_init(other(2:4, 1:4:3, :), 3, long, MPI_DOUBLE_PRECISION, left(1), 7, MPI_COMM_WORLD, MPI_INFO_NULL, &
                        requests(2), code)
    call check(code == MPI_SUCCESS, 'partitions of blocks')
    call lnw_startall(2, requests)
    do k = 2, 0, -1
      call lnw_pready(k, requests(1))
    end do
    call lnw_waitall(2, requests, MPI_STATUSES_IGNORE, code)
    before = -1
    before(2:4, 1:4:3, :) = left(1)
    call check(code == MPI_SUCCESS .and. .not. any(other /= before), 'partitions of blocks')
    call lnw_request_free(requests(1))
    call lnw_request_free(requests(2))

    ! One rank alone has counts of another number: an error on all that wait for it, which names the argument.
    sizes = [merge(unit + 1, unit, rank == 0), unit]
    call lnw_neighbor_alltoallv_init(cube(2:4, 1:4:3, :), sizes, offsets, MPI_DOUBLE_PRECISION, other, [unit, unit], &
                                     offsets, MPI_DOUBLE_PRECISION, ring, MPI_INFO_NULL, request, code)
    call check(code /= MPI_SUCCESS, 'a part of a block')
    call lnw_psend_init(cube(2:4, 1:4:3, :), 2, 5_MPI_COUNT_KIND, MPI_DOUBLE_PRECISION, right(1), 8, MPI_COMM_WORLD, &
                        MPI_INFO_NULL, requests(1), code)
    call check(code /= MPI_SUCCESS, 'partitions that are parts of blocks')
  end subroutine

  subroutine errors()
    character(len=MPI_MAX_ERROR_STRING) :: text
    integer :: length, values(2), ignored
    call lnw_neighbor_alltoall(values, 1, MPI_DATATYPE_NULL, values, 1, MPI_INTEGER, ring, code)
    call check(code /= MPI_SUCCESS, 'a null datatype')
    call MPI_Error_string(code, text, length, ignored)
    call check(index(text, 'sendtype') > 0, 'an error names the argument: ' // text(:length))
  end subroutine
end program
