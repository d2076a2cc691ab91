! Arrays in a device's memory, which a Fortran pointer stands for: on a ring, what the left neighbour sent has to arrive.
program device_test
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: error_unit, real64
  use mpi_f08
  use laneway
  implicit none

  interface
    type(c_ptr) function device_malloc(bytes) bind(c)
      import :: c_ptr, c_size_t
      integer(c_size_t), value :: bytes
    end function
    subroutine device_free(pointer) bind(c)
      import :: c_ptr
      type(c_ptr), value :: pointer
    end subroutine
    subroutine device_copy(to, from, bytes) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: to, from
      integer(c_size_t), value :: bytes
    end subroutine
  end interface

  integer, parameter :: n = 1000
  integer(c_size_t), parameter :: bytes = 8 * n
  integer :: rank, size, left, i, exchange, code
  type(c_ptr) :: send_address, receive_address
  real(real64), pointer, contiguous, asynchronous :: send(:), receive(:)
  real(real64), target :: host(n)
  type(MPI_Comm) :: graph
  type(LNW_Request) :: request

  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  left = modulo(rank - 1, size)
  call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, [left], MPI_UNWEIGHTED, 1, [modulo(rank + 1, size)], &
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, .false., graph)
  send_address = device_malloc(bytes)
  receive_address = device_malloc(bytes)
  call c_f_pointer(send_address, send, [n])
  call c_f_pointer(receive_address, receive, [n])

  call lnw_neighbor_alltoall_init(send, n, MPI_DOUBLE_PRECISION, receive, n, MPI_DOUBLE_PRECISION, graph, MPI_INFO_NULL, &
                                  request)
  do exchange = 1, 3
    call fill(rank)
    call device_copy(send_address, c_loc(host), bytes)
    call lnw_start(request)
    call lnw_wait(request, MPI_STATUS_IGNORE)
    call expect_arrival('persistent')
  end do
  call lnw_request_free(request)

  exchange = 4
  call fill(rank)
  call device_copy(send_address, c_loc(host), bytes)
  call lnw_stream_synchronize(send, c_null_ptr, code)
  if (code /= MPI_SUCCESS) error stop 'lnw_stream_synchronize'
  call lnw_neighbor_allgather(send, n, MPI_DOUBLE_PRECISION, receive, n, MPI_DOUBLE_PRECISION, graph)
  call expect_arrival('blocking')

  call device_free(send_address)
  call device_free(receive_address)
  call MPI_Comm_free(graph)
  call MPI_Finalize()

contains

  subroutine fill(from)
    integer, intent(in) :: from
    host = [(sqrt(real(10000 * from + 100 * exchange + i, real64)), i = 1, n)]
  end subroutine

  subroutine expect_arrival(what)
    character(len=*), intent(in) :: what
    real(real64) :: expected(n)
    call fill(left)
    expected = host
    call device_copy(c_loc(host), receive_address, bytes)
    if (all(host == expected)) return
    write (error_unit, '(a, i0, 2a)') 'rank ', rank, ': FAILED: ', what
    call MPI_Abort(MPI_COMM_WORLD, 1)
  end subroutine
end program
