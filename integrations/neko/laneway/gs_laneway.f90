!> Neko's gather-scatter on Laneway's plans: the values of shared dofs, as one persistent exchange that is started again and
!> again. Compiled beside Neko's own gs_mpi and gs_neighbour, with a compiler that reads Laneway's module; Neko of 2026, whose
!> nbsend has a tag. On the host. In Neko's gather_scatter.f90 one line puts it in the place of MPI's neighborhoods:
!>
!>     use gs_laneway, only : gs_neighbour_t => gs_laneway_t
module gs_laneway
  use, intrinsic :: iso_c_binding, only: c_ptr
  use comm, only: MPI_REAL_PRECISION, NEKO_COMM
  use gs_comm, only: gs_comm_t
  use gs_ops, only: GS_OP_ADD, GS_OP_MAX, GS_OP_MIN, GS_OP_MUL
  use laneway, only: LNW_Request, LNW_REQUEST_NULL, LNW_Topology, lnw_neighbor_alltoallv_init, lnw_request_free, lnw_start, &
                     lnw_topology_create, lnw_topology_free, lnw_wait, operator(/=)
  use mpi_f08, only: MPI_INFO_NULL, MPI_STATUS_IGNORE, MPI_UNWEIGHTED
  use num_types, only: rp
  use stack, only: stack_i4_t
  use utils, only: neko_error
  implicit none
  private

  !> As gs_neighbour_t; the bits are the same, as it combines in the same order. gs_mpi_t combines as values arrive.
  type, public, extends(gs_comm_t) :: gs_laneway_t
    private
    ! Pointers, as the library uses the memory between two calls.
    real(kind=rp), pointer, contiguous :: sent(:) => null(), received(:) => null()
    !> Where in the vector each of these values is, and where those of a rank begin.
    integer, allocatable :: sent_dofs(:), received_dofs(:), sent_begin(:), received_begin(:)
    type(LNW_Request) :: exchange = LNW_REQUEST_NULL
  contains
    procedure, pass(this) :: init => gs_laneway_init
    procedure, pass(this) :: free => gs_laneway_free
    procedure, pass(this) :: nbsend => gs_nbsend_laneway
    procedure, pass(this) :: nbrecv => gs_nbrecv_laneway
    procedure, pass(this) :: nbwait => gs_nbwait_laneway
  end type

contains

  !> Collective over NEKO_COMM, as that of gs_neighbour_t.
  subroutine gs_laneway_init(this, send_pe, recv_pe)
    class(gs_laneway_t), intent(inout) :: this
    type(stack_i4_t), intent(inout) :: send_pe, recv_pe
    type(LNW_Topology) :: topology

    call this%init_order(send_pe, recv_pe)
    call list(this%send_dof, this%send_pe, this%sent_begin, this%sent_dofs)
    call list(this%recv_dof, this%recv_pe, this%received_begin, this%received_dofs)
    allocate(this%sent(size(this%sent_dofs)), this%received(size(this%received_dofs)))
    call lnw_topology_create(NEKO_COMM, size(this%recv_pe), this%recv_pe, MPI_UNWEIGHTED, size(this%send_pe), this%send_pe, &
                             MPI_UNWEIGHTED, MPI_INFO_NULL, topology)
    associate(to => this%sent_begin, from => this%received_begin)
      call lnw_neighbor_alltoallv_init(this%sent, to(2:) - to(:size(to) - 1), to, MPI_REAL_PRECISION, this%received, &
                                       from(2:) - from(:size(from) - 1), from, MPI_REAL_PRECISION, topology, &
                                       MPI_INFO_NULL, this%exchange)
    end associate
    call lnw_topology_free(topology)
  end subroutine

  subroutine gs_laneway_free(this)
    class(gs_laneway_t), intent(inout) :: this

    if (this%exchange /= LNW_REQUEST_NULL) call lnw_request_free(this%exchange)
    if (associated(this%sent)) deallocate(this%sent, this%received)
    if (allocated(this%sent_dofs)) deallocate(this%sent_dofs, this%received_dofs, this%sent_begin, this%received_begin)
    call this%free_order()
    call this%free_dofs()
  end subroutine

  !> Neko calls this, and what follows, on all threads of a team.
  subroutine gs_nbsend_laneway(this, u, n, tag, deps, strm)
    class(gs_laneway_t), intent(inout) :: this
    integer, intent(in) :: n, tag
    real(kind=rp), dimension(n), intent(inout) :: u
    type(c_ptr), intent(inout) :: deps, strm
    integer :: i

    !$omp do simd
    do i = 1, size(this%sent_dofs)
      this%sent(i) = u(this%sent_dofs(i))
    end do
    !$omp end do simd
    !$omp master
    call lnw_start(this%exchange)
    !$omp end master
  end subroutine

  !> Nothing: nbsend starts both directions.
  subroutine gs_nbrecv_laneway(this, tag)
    class(gs_laneway_t), intent(inout) :: this
    integer, intent(in) :: tag
  end subroutine

  subroutine gs_nbwait_laneway(this, u, n, op, strm)
    class(gs_laneway_t), intent(inout) :: this
    integer, intent(in) :: n
    real(kind=rp), dimension(n), intent(inout) :: u
    type(c_ptr), intent(inout) :: strm
    integer :: op, source, i

    !$omp master
    call lnw_wait(this%exchange, MPI_STATUS_IGNORE)
    !$omp end master
    !$omp barrier
    ! One rank after another: a dof may be of several. No dof is twice in the list of one.
    do source = 1, size(this%recv_pe)
      associate(first => this%received_begin(source) + 1, last => this%received_begin(source + 1), dofs => this%received_dofs)
        select case (op)
        case (GS_OP_ADD)
          !GCC$ ivdep
          !$omp do
          do i = first, last
            u(dofs(i)) = u(dofs(i)) + this%received(i)
          end do
          !$omp end do
        case (GS_OP_MUL)
          !GCC$ ivdep
          !$omp do
          do i = first, last
            u(dofs(i)) = u(dofs(i)) * this%received(i)
          end do
          !$omp end do
        case (GS_OP_MIN)
          !GCC$ ivdep
          !$omp do
          do i = first, last
            u(dofs(i)) = min(u(dofs(i)), this%received(i))
          end do
          !$omp end do
        case (GS_OP_MAX)
          !GCC$ ivdep
          !$omp do
          do i = first, last
            u(dofs(i)) = max(u(dofs(i)), this%received(i))
          end do
          !$omp end do
        case default
          call neko_error('Unknown operation in gs_nbwait_laneway')
        end select
      end associate
    end do
  end subroutine

  !> The dofs that `of` has for the ranks `pe`, in their order; those of pe(i) are from begin(i) to before begin(i + 1).
  subroutine list(of, pe, begin, dofs)
    type(stack_i4_t), intent(inout) :: of(0:)
    integer, intent(in) :: pe(:)
    integer, allocatable, intent(out) :: begin(:), dofs(:)
    integer, pointer :: values(:)
    integer :: i

    allocate(begin(size(pe) + 1))
    begin(1) = 0
    do i = 1, size(pe)
      begin(i + 1) = begin(i) + of(pe(i))%size()
    end do
    allocate(dofs(begin(size(begin))))
    do i = 1, size(pe)
      values => of(pe(i))%array()
      dofs(begin(i) + 1:begin(i + 1)) = values(:begin(i + 1) - begin(i))
    end do
  end subroutine
end module
