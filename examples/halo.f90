! Heat on a torus of n by n*size cells. Each rank owns n by n of them and has one column of ghosts at each side.
program halo
  use, intrinsic :: iso_fortran_env, only: real64
  use mpi_f08
  use laneway, only: LNW_Request, lnw_dist_graph_create_adjacent, lnw_neighbor_alltoallv_init, lnw_request_free, &
                     lnw_start, lnw_wait
  implicit none
  integer, parameter :: n = 16, steps = 50
  real(real64), parameter :: rate = 0.2_real64, pi = acos(-1.0_real64)
  real(real64), asynchronous :: u(n, n), ghosts(n, 0:1)
  real(real64) :: next(n, n), wave, error
  type(MPI_Comm) :: ring
  type(LNW_Request) :: exchange
  integer :: rank, size, left, right, step, j

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = modulo(rank - 1, size)
  right = modulo(rank + 1, size)
  call lnw_dist_graph_create_adjacent(MPI_COMM_WORLD, 2, [left, right], MPI_UNWEIGHTED, 2, [right, left], &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., ring)

  ! The last column goes right and the first left; ghosts come from the left and from the right.
  call lnw_neighbor_alltoallv_init(u, [n, n], [(n - 1) * n, 0], MPI_DOUBLE_PRECISION, ghosts, [n, n], [0, n], &
                                   MPI_DOUBLE_PRECISION, ring, MPI_INFO_NULL, exchange)

  ! A cosine keeps its shape, and every step scales it by the same factor.
  wave = 2 * pi / (n * size)
  do j = 1, n
    u(:, j) = cos(wave * (rank * n + j))
  end do
  do step = 1, steps
    call lnw_start(exchange)
    do j = 2, n - 1
      next(:, j) = relaxed(u(:, j - 1), u(:, j), u(:, j + 1))
    end do
    call lnw_wait(exchange, MPI_STATUS_IGNORE)
    next(:, 1) = relaxed(ghosts(:, 0), u(:, 1), u(:, 2))
    next(:, n) = relaxed(u(:, n - 1), u(:, n), ghosts(:, 1))
    u = next
  end do

  error = 0
  do j = 1, n
    error = max(error, maxval(abs(u(:, j) - cos(wave * (rank * n + j)) * (1 - 2 * rate * (1 - cos(wave)))**steps)))
  end do
  call MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE_PRECISION, MPI_MAX, ring)
  if (rank == 0) print '(a, es8.1, a)', 'largest error ', error, merge(': passed', ': failed', error < 1e-12_real64)

  call lnw_request_free(exchange)
  call MPI_Comm_free(ring)
  call MPI_Finalize()
  if (error >= 1e-12_real64) error stop 1

contains

  ! One column after one step of the five-point stencil.
  pure function relaxed(before, column, after)
    real(real64), intent(in) :: before(n), column(n), after(n)
    real(real64) :: relaxed(n)
    relaxed = column + rate * (before + after + cshift(column, 1) + cshift(column, -1) - 4 * column)
  end function
end program
