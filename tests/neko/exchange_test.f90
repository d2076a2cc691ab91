! Neko's gather-scatter by gs_laneway_t, against its own ways to communicate: bit by bit against gs_neighbour_t, which combines in
! the same order, and against gs_mpi_t, which combines as values arrive, with values of which no order loses a bit. Ranks share random
! dofs, and of three or more ranks the last has no neighbour. With --time it times all three, in turns.
program exchange_test
  use, intrinsic :: iso_c_binding, only: c_null_ptr, c_ptr
  use, intrinsic :: iso_fortran_env, only: int64
  use comm, only: comm_free, comm_init, NEKO_COMM, pe_rank, pe_size
  use gs_comm, only: gs_comm_t
  use gs_laneway, only: gs_laneway_t
  use gs_mpi, only: gs_mpi_t
  use gs_neighbour, only: gs_neighbour_t
  use gs_ops, only: GS_OP_ADD, GS_OP_MAX, GS_OP_MIN, GS_OP_MUL
  use mpi_f08
  use num_types, only: dp, rp
  use stack, only: stack_i4_t
  implicit none
  integer, parameter :: timed_calls = 10
  character(len=6) :: argument
  integer(int64) :: state = 1
  integer :: differences = 0, total = 0, threads = 2, points

  call comm_init()
  call get_command_argument(1, argument)
  if (argument == '--time') then
    threads = 1
    do points = 8, 56, 16
      call time(points)
    end do
  else
    call check(0)
    call check(2)
    call check(1000)
    call MPI_Allreduce(differences, total, 1, MPI_INTEGER, MPI_SUM, NEKO_COMM)
    if (total == 0 .and. pe_rank == 0) print '(a)', 'passed'
  end if
  call comm_free()
  if (total /= 0) error stop 1

contains

  !> The same numbers on all ranks, below `bound`.
  integer function number(bound)
    integer, intent(in) :: bound
    state = modulo(state * 1103515245_int64 + 12345_int64, 2_int64**31)
    number = int(modulo(state / 64, int(bound, int64)))
  end function

  !> Which ranks have which of `dofs` dofs.
  function shares(dofs) result(has)
    integer, intent(in) :: dofs
    logical :: has(dofs, 0:pe_size - 1)
    integer :: i, rank
    do i = 1, dofs
      do rank = 0, pe_size - 1
        has(i, rank) = number(3) > 0
      end do
    end do
    if (pe_size > 2) then
      has(:, pe_size - 1) = .false.
      has(:min(dofs, 1), :pe_size - 2) = .false.
      has(:min(dofs, 1), pe_size - 1) = .true.
    end if
  end function

  !> What Neko's gs_schedule makes: the dofs that are shared with each rank, by their places in a vector. Sources come in another
  !> order than destinations.
  subroutine schedule(made, has, place)
    class(gs_comm_t), intent(inout) :: made
    logical, intent(in) :: has(:, 0:)
    integer, intent(in) :: place(:)
    type(stack_i4_t) :: send_pe, recv_pe
    integer :: step, to, from, i, at

    call made%init_dofs()
    call send_pe%init()
    call recv_pe%init()
    do step = 1, pe_size - 1
      to = modulo(pe_rank + step, pe_size)
      from = modulo(pe_rank - step, pe_size)
      do i = 1, size(place)
        if (.not. has(i, pe_rank)) cycle
        at = place(i)
        if (has(i, to)) call made%send_dof(to)%push(at)
        if (has(i, from)) call made%recv_dof(from)%push(at)
      end do
      if (made%send_dof(to)%size() > 0) call send_pe%push(to)
      if (made%recv_dof(from)%size() > 0) call recv_pe%push(from)
    end do
    call made%init(send_pe, recv_pe)
    call send_pe%free()
    call recv_pe%free()
  end subroutine

  !> As Neko's gs_op: by a team of threads, where this is compiled with OpenMP.
  subroutine exchange(way, u, op)
    class(gs_comm_t), intent(inout) :: way
    real(rp), intent(inout) :: u(:)
    integer, intent(in) :: op
    type(c_ptr) :: deps, strm
    integer :: n, which
    deps = c_null_ptr
    strm = c_null_ptr
    n = size(u)
    which = op
    !$omp parallel num_threads(threads)
    call way%nbrecv(7)
    call way%nbsend(u, n, 7, deps, strm)
    call way%nbwait(u, n, which, strm)
    !$omp barrier
    !$omp end parallel
  end subroutine

  subroutine check(dofs)
    integer, intent(in) :: dofs
    type(gs_mpi_t) :: by_messages
    type(gs_neighbour_t) :: by_neighbourhood, before
    class(gs_comm_t), allocatable :: by_laneway
    logical :: has(dofs, 0:pe_size - 1)
    integer :: place(dofs), operations(4), round, o, i, n
    real(rp), allocatable :: u(:), expected(:)

    has = shares(dofs)
    n = 0
    do i = dofs, 1, -1  ! not in the order of the lists
      place(i) = 0
      if (.not. has(i, pe_rank)) cycle
      n = n + 1
      place(i) = n
    end do
    allocate(u(n), expected(n))
    call schedule(by_messages, has, place)
    call schedule(by_neighbourhood, has, place)
    ! As Neko's tuner changes from one way to the next.
    call schedule(before, has, place)
    allocate(gs_laneway_t :: by_laneway)
    call by_laneway%take_schedule(before)
    call before%free()
    call by_laneway%init_schedule()
    operations = [GS_OP_ADD, GS_OP_MUL, GS_OP_MIN, GS_OP_MAX]
    do round = 1, 3
      do o = 1, 4
        call values(u, .false.)
        expected = u
        call exchange(by_neighbourhood, expected, operations(o))
        call exchange(by_laneway, u, operations(o))
        call same(u, expected, 'gs_neighbour_t')
        call values(u, .true.)
        expected = u
        call exchange(by_messages, expected, operations(o))
        call exchange(by_laneway, u, operations(o))
        call same(u, expected, 'gs_mpi_t')
      end do
    end do
    call by_laneway%free()
    call by_messages%free()
    call by_neighbourhood%free()
  end subroutine

  !> `exact`: six bits each, so that sums and products of those of eight ranks are exact.
  subroutine values(u, exact)
    real(rp), intent(out) :: u(:)
    logical, intent(in) :: exact
    call random_number(u)
    u = u - 0.5_rp
    if (exact) then
      u = aint(32 * sign(abs(u) + 1, u)) / 32
    else
      u = u**3  ! numbers of several exponents, whose sums are rounded
    end if
  end subroutine

  subroutine same(u, expected, of)
    real(rp), intent(in) :: u(:), expected(:)
    character(len=*), intent(in) :: of
    integer :: i, differ
    differ = 0
    do i = 1, size(u)
      if (transfer(u(i), 0_int64) /= transfer(expected(i), 0_int64)) differ = differ + 1
    end do
    if (differ > 0) print '(a, i0, 3a, i0, a, i0)', 'rank ', pe_rank, ': not the bits of ', of, ': ', differ, ' of ', size(u)
    differences = differences + differ
  end subroutine

  !> Cubes of points**3 on a grid of ranks, as even as their number allows: neighbours share faces, edges and corners. Milliseconds of
  !> a sum, the slowest rank's, medians.
  subroutine time(points)
    integer, intent(in) :: points
    integer, parameter :: rounds = 35
    type(gs_mpi_t) :: by_messages
    type(gs_neighbour_t) :: by_neighbourhood
    type(gs_laneway_t) :: by_laneway
    integer :: grid(3), extent(3), own(3), first(3), rank, i, j, k, n, round
    logical, allocatable :: has(:, :)
    integer, allocatable :: place(:)
    real(rp), allocatable :: u(:)
    real(dp) :: took(rounds, 3)

    grid = 0
    call MPI_Dims_create(pe_size, 3, grid)
    extent = grid * (points - 1) + 1
    allocate(has(product(extent), 0:pe_size - 1), place(product(extent)))
    has = .false.
    do rank = 0, pe_size - 1
      own = [modulo(rank, grid(1)), modulo(rank / grid(1), grid(2)), rank / (grid(1) * grid(2))]
      first = own * (points - 1)
      do k = first(3), first(3) + points - 1
        do j = first(2), first(2) + points - 1
          do i = first(1), first(1) + points - 1
            has(1 + i + extent(1) * (j + extent(2) * k), rank) = .true.
          end do
        end do
      end do
    end do
    n = 0
    place = 0
    do i = 1, size(place)
      if (.not. has(i, pe_rank) .or. count(has(i, :)) < 2) cycle
      n = n + 1
      place(i) = n
    end do
    allocate(u(n))
    call random_number(u)
    call schedule(by_messages, has, place)
    call schedule(by_neighbourhood, has, place)
    call schedule(by_laneway, has, place)
    do round = -2, rounds  ! the first are not counted
      call clock(by_messages, u, took(max(round, 1), 1))
      call clock(by_neighbourhood, u, took(max(round, 1), 2))
      call clock(by_laneway, u, took(max(round, 1), 3))
    end do
    if (pe_rank == 0) print '(i0, a, 3f9.3, a, 2f7.2)', points, ' points: gs_mpi_t, gs_neighbour_t, gs_laneway_t ms', &
      median(took(:, 1)), median(took(:, 2)), median(took(:, 3)), '; by gs_laneway_t''s', median(took(:, 1) / took(:, 3)), &
      median(took(:, 2) / took(:, 3))
    call by_laneway%free()
    call by_messages%free()
    call by_neighbourhood%free()
  end subroutine

  subroutine clock(way, u, milliseconds)
    class(gs_comm_t), intent(inout) :: way
    real(rp), intent(inout) :: u(:)
    real(dp), intent(out) :: milliseconds
    integer :: i
    call MPI_Barrier(NEKO_COMM)
    milliseconds = MPI_Wtime()
    do i = 1, timed_calls
      call exchange(way, u, GS_OP_MAX)
    end do
    milliseconds = (MPI_Wtime() - milliseconds) * 1000 / timed_calls
    call MPI_Allreduce(MPI_IN_PLACE, milliseconds, 1, MPI_DOUBLE_PRECISION, MPI_MAX, NEKO_COMM)
  end subroutine

  real(dp) function median(times)
    real(dp), intent(in) :: times(:)
    integer :: i
    median = 0
    do i = 1, size(times)
      median = times(i)
      if (count(times < median) <= size(times) / 2 .and. count(times <= median) > size(times) / 2) return
    end do
  end function
end program
