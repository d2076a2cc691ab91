!> Laneway for Fortran; see docs/reference/fortran.md. The module laneway has the argument lists of mpi_f08; laneway_mpi.F90,
!> which includes this, those of programs with `use mpi` or mpif.h: handles and statuses are integers.
! Preprocessed as Fortran, what a macro expands to is joined with the letters that follow it.
#define SAME(name) name
#ifdef LANEWAY_INTEGERS
#define HANDLE(name) integer(c_int)
#define STATUS integer(c_int), dimension(MPI_STATUS_SIZE)
#define STATUSES integer(c_int), dimension(MPI_STATUS_SIZE, *)
#define IS_F08 0_c_int
module laneway_mpi
#else
#define HANDLE(name) type(name)
#define STATUS type(MPI_Status)
#define STATUSES type(MPI_Status), dimension(*)
#define IS_F08 1_c_int
module laneway
#endif
  use, intrinsic :: iso_c_binding, only: c_associated, c_char, c_f_pointer, c_funptr, c_int, c_loc, &
                                         c_null_char, c_null_ptr, c_ptr
  use laneway_types
#ifndef LANEWAY_INTEGERS
  use mpi_f08, only: MPI_ADDRESS_KIND, MPI_BOTTOM, MPI_Comm, MPI_COUNT_KIND, MPI_Datatype, MPI_IN_PLACE, MPI_Info, MPI_Op, &
                     MPI_Status, MPI_STATUS_IGNORE, MPI_STATUS_SIZE, MPI_STATUSES_IGNORE, MPI_SUCCESS, &
                     MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY
#endif
  implicit none
  private
#ifdef LANEWAY_INTEGERS
  ! Not `use mpi`, which is one compiler's; every compiler reads this.
  include 'mpif.h'
#endif

  public :: LNW_Request, LNW_Topology, LNW_Arrivals, LNW_Bag, LNW_Distributor, LNW_Halo, LNW_Channel, LNW_Queue, &
            LNW_Queue_statistics, LNW_Reorder, LNW_Request_statistics, LNW_REQUEST_NULL, LNW_TOPOLOGY_NULL, &
            LNW_ARRIVALS_NULL, LNW_BAG_NULL, LNW_DISTRIBUTOR_NULL, LNW_HALO_NULL, LNW_CHANNEL_NULL, LNW_CHANNEL_SEND, &
            LNW_CHANNEL_RECEIVE, LNW_QUEUE_NULL, LNW_QUEUE_HOST, LNW_QUEUE_CUDA, LNW_QUEUE_HIP, LNW_QUEUE_SIM, &
            LNW_QUEUE_PROGRESS_BY_HOST, LNW_QUEUE_ALL_STARTED, operator(==), operator(/=)

  !> The arguments of one sparse exchange among several; c_loc gives the addresses.
  type, public, bind(C) :: LNW_Sparse_set
    integer(c_int) :: ndestinations = 0
    type(c_ptr) :: destinations = c_null_ptr
    type(c_ptr) :: sendbuf = c_null_ptr
    type(c_ptr) :: sendcounts = c_null_ptr
    type(c_ptr) :: sdispls = c_null_ptr
    HANDLE(MPI_Datatype) :: sendtype
  end type

  public :: lnw_get_version, lnw_dist_graph_create_adjacent, lnw_comm_get_reorder
  public :: lnw_topology_create, lnw_topology_from_comm, lnw_topology_shrink, lnw_topology_shrink_comm, &
            lnw_topology_get_neighbors_count, lnw_topology_get_neighbors, &
            lnw_topology_free
  public :: lnw_sparse_alltoall, lnw_sparse_alltoallv, lnw_sparse_alltoallv_c, lnw_isparse_alltoall, lnw_isparse_alltoallv, &
            lnw_arrivals_get_count, lnw_arrivals_get_data, lnw_arrivals_copy, lnw_arrivals_get_info, lnw_arrivals_free, &
            lnw_topology_from_arrivals, lnw_topology_from_arrivals_reversed, lnw_topology_create_from_destinations, &
            lnw_topology_create_from_sources, lnw_dist_graph_create
  public :: lnw_comm_prepare, lnw_channel_create, lnw_channel_create_with_buffer, lnw_channel_put, lnw_channel_flush, &
            lnw_channel_test_free, &
            lnw_channel_test, lnw_channel_wait, lnw_channel_release, lnw_channel_get_info, lnw_channel_free
  public :: lnw_bag_create, lnw_bag_send, lnw_bag_next, lnw_bag_flush, lnw_bag_iflush, lnw_bag_get_info, &
            lnw_bag_free, lnw_distributor_create, lnw_distributor_create_from_imports, lnw_distributor_get_count, &
            lnw_distributor_get_sources, lnw_distributor_exchange, lnw_distributor_init, &
            lnw_distributor_reverse_init, lnw_distributor_free, lnw_halo_create, lnw_halo_create_from_ids, &
            lnw_halo_create_cart, lnw_halo_get_count, lnw_halo_get_sent, lnw_halo_get_received, lnw_halo_get_cart, &
            lnw_halo_init, lnw_halo_reverse_init, &
            lnw_halo_init_fields, lnw_halo_reverse_init_fields, lnw_halo_free, lnw_sparse_alltoallv_sets
  public :: lnw_psend_init, lnw_precv_init, lnw_pready, lnw_pready_range, lnw_pready_list, lnw_parrived, &
            lnw_neighbor_alltoallv_init_partitioned, lnw_neighbor_alltoallv_init_indexed_partitioned, &
            lnw_pready_word, lnw_pready_edge_word, lnw_alltoallv_counted_init, &
            lnw_pready_edge, lnw_parrived_edge, lnw_wait_any_edge, lnw_test_any_edge, lnw_request_on_complete, &
            lnw_request_on_arrival, lnw_cvar_get_num, lnw_cvar_get_info, lnw_cvar_get_index, lnw_cvar_read, &
            lnw_pvar_get_num, lnw_pvar_get_info, lnw_pvar_get_index, lnw_pvar_read
  public :: lnw_queue_init, lnw_queue_wait, lnw_queue_progress, lnw_queue_free, lnw_queue_get_statistics, &
            lnw_enqueue_start, lnw_enqueue_startall, lnw_enqueue_wait, lnw_enqueue_waitall, lnw_enqueue_ready, &
            lnw_enqueue_ready_edge, lnw_enqueue_call
#include "names.inc"
#include "collective_names.inc"
  public :: lnw_start, lnw_startall, lnw_test, lnw_testall, lnw_testany, lnw_testsome, lnw_wait, lnw_waitall, &
            lnw_waitany, lnw_waitsome, lnw_request_free
  public :: lnw_request_set_buffers, lnw_request_rebuild, lnw_request_set_stream, &
            lnw_stream_synchronize, lnw_request_get_statistics, &
            lnw_request_get_strategy, lnw_request_get_plan, lnw_request_get_info

#define FORM(name) name
#define SUFFIX ""
#define COUNT c_int
#define DISPLACEMENT c_int
#define WHERE comm
#define WHERE_TYPE HANDLE(MPI_Comm)
#include "edges.inc"
#include "operations.inc"

#define FORM(name) SAME(name)_c
#define SUFFIX "_c"
#define COUNT MPI_COUNT_KIND
#define DISPLACEMENT MPI_ADDRESS_KIND
#define WHERE comm
#define WHERE_TYPE HANDLE(MPI_Comm)
#include "edges.inc"
#include "operations.inc"

#define FORM(name) SAME(name)_topology
#define SUFFIX "_topology"
#define COUNT c_int
#define DISPLACEMENT c_int
#define WHERE topology
#define WHERE_TYPE type(LNW_Topology)
#include "edges.inc"
#include "operations.inc"

#define FORM(name) SAME(name)_topology_c
#define SUFFIX "_topology_c"
#define COUNT MPI_COUNT_KIND
#define DISPLACEMENT MPI_ADDRESS_KIND
#define WHERE topology
#define WHERE_TYPE type(LNW_Topology)
#include "edges.inc"
#include "operations.inc"

#define FORM(name) name
#define SUFFIX ""
#define COUNT c_int
#define DISPLACEMENT c_int
#define INT_COUNTS
#include "collectives.inc"
#undef INT_COUNTS

#define FORM(name) SAME(name)_c
#define SUFFIX "_c"
#define COUNT MPI_COUNT_KIND
#define DISPLACEMENT MPI_ADDRESS_KIND
#include "collectives.inc"
#include "pairs.inc"
#include "movers.inc"

  !> Among the ranks of a communicator, or on a topology object of them.
  interface lnw_request_rebuild
    subroutine lnw_request_rebuild(request, comm, rebuilt, ierror) bind(C, name="lnwf_request_rebuild")
      import
      type(LNW_Request), intent(in) :: request
      HANDLE(MPI_Comm), intent(in) :: comm
      type(LNW_Request), intent(out) :: rebuilt
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_request_rebuild_topology(request, topology, rebuilt, ierror) &
        bind(C, name="lnwf_request_rebuild_topology")
      import
      type(LNW_Request), intent(in) :: request
      type(LNW_Topology), intent(in) :: topology
      type(LNW_Request), intent(out) :: rebuilt
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
  end interface

  interface
    subroutine lnw_get_version(major, minor, patch, ierror) bind(C, name="lnwf_get_version")
      import
      integer(c_int), intent(out) :: major, minor, patch
      integer(c_int), optional, intent(out) :: ierror
    end subroutine

    subroutine lnw_comm_get_reorder(comm, report, ierror) bind(C, name="lnwf_comm_get_reorder")
      import
      HANDLE(MPI_Comm), intent(in) :: comm
      type(LNW_Reorder), intent(out) :: report
      integer(c_int), optional, intent(out) :: ierror
    end subroutine

    subroutine lnw_topology_create(comm, indegree, sources, sourceweights, outdegree, destinations, destweights, info, &
        topology, ierror) bind(C, name="lnwf_topology_create")
      import
      HANDLE(MPI_Comm), intent(in) :: comm
      integer(c_int), intent(in) :: indegree, sources(indegree), sourceweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sourceweights
!DIR$ IGNORE_TKR sourceweights
#endif
      integer(c_int), intent(in) :: outdegree, destinations(outdegree), destweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: destweights
!DIR$ IGNORE_TKR destweights
#endif
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Topology), intent(out) :: topology
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_from_comm(comm, topology, ierror) bind(C, name="lnwf_topology_from_comm")
      import
      HANDLE(MPI_Comm), intent(in) :: comm
      type(LNW_Topology), intent(out) :: topology
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_get_neighbors_count(topology, indegree, outdegree, ierror) &
        bind(C, name="lnwf_topology_get_neighbors_count")
      import
      type(LNW_Topology), intent(in) :: topology
      integer(c_int), intent(out) :: indegree, outdegree
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_get_neighbors(topology, maxindegree, sources, maxoutdegree, destinations, ierror) &
        bind(C, name="lnwf_topology_get_neighbors")
      import
      type(LNW_Topology), intent(in) :: topology
      integer(c_int), intent(in) :: maxindegree, maxoutdegree
      integer(c_int), intent(out) :: sources(maxindegree), destinations(maxoutdegree)
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_shrink(topology, comm, shrunken, ierror) bind(C, name="lnwf_topology_shrink")
      import
      type(LNW_Topology), intent(in) :: topology
      HANDLE(MPI_Comm), intent(in) :: comm
      type(LNW_Topology), intent(out) :: shrunken
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_shrink_comm(comm_old, comm, shrunken, ierror) &
        bind(C, name="lnwf_topology_shrink_comm")
      import
      HANDLE(MPI_Comm), intent(in) :: comm_old, comm
      type(LNW_Topology), intent(out) :: shrunken
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_free(topology, ierror) bind(C, name="lnwf_topology_free")
      import
      type(LNW_Topology), intent(inout) :: topology
      integer(c_int), optional, intent(out) :: ierror
    end subroutine

    subroutine lnw_sparse_alltoall(ndestinations, destinations, sendbuf, sendcount, sendtype, comm, info, &
        arrivals, ierror) &
        bind(C, name="lnwf_sparse_alltoall")
      import
      integer(c_int), intent(in) :: ndestinations, destinations(*)
      type(*), dimension(..), intent(in) :: sendbuf
      integer(c_int), intent(in) :: sendcount
      HANDLE(MPI_Datatype), intent(in) :: sendtype
      HANDLE(MPI_Comm), intent(in) :: comm
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Arrivals), intent(out) :: arrivals
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_sparse_alltoallv(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype, comm, &
        info, arrivals, ierror) &
        bind(C, name="lnwf_sparse_alltoallv")
      import
      integer(c_int), intent(in) :: ndestinations, destinations(*)
      type(*), dimension(..), intent(in) :: sendbuf
      integer(c_int), intent(in) :: sendcounts(*), sdispls(*)
      HANDLE(MPI_Datatype), intent(in) :: sendtype
      HANDLE(MPI_Comm), intent(in) :: comm
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Arrivals), intent(out) :: arrivals
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_sparse_alltoallv_c(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype, &
        comm, info, arrivals, ierror) &
        bind(C, name="lnwf_sparse_alltoallv_c")
      import
      integer(c_int), intent(in) :: ndestinations, destinations(*)
      type(*), dimension(..), intent(in) :: sendbuf
      integer(MPI_COUNT_KIND), intent(in) :: sendcounts(*)
      integer(MPI_ADDRESS_KIND), intent(in) :: sdispls(*)
      HANDLE(MPI_Datatype), intent(in) :: sendtype
      HANDLE(MPI_Comm), intent(in) :: comm
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Arrivals), intent(out) :: arrivals
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    !> `arrivals` is set by the call that completes the request.
    subroutine lnw_isparse_alltoall(ndestinations, destinations, sendbuf, sendcount, sendtype, comm, info, &
        arrivals, request, ierror) &
        bind(C, name="lnwf_isparse_alltoall")
      import
      integer(c_int), intent(in) :: ndestinations, destinations(*)
      type(*), dimension(..), intent(in) :: sendbuf
      integer(c_int), intent(in) :: sendcount
      HANDLE(MPI_Datatype), intent(in) :: sendtype
      HANDLE(MPI_Comm), intent(in) :: comm
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Arrivals), asynchronous :: arrivals
      type(LNW_Request), intent(out) :: request
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_isparse_alltoallv(ndestinations, destinations, sendbuf, sendcounts, sdispls, sendtype, comm, &
        info, arrivals, request, ierror) &
        bind(C, name="lnwf_isparse_alltoallv")
      import
      integer(c_int), intent(in) :: ndestinations, destinations(*)
      type(*), dimension(..), intent(in) :: sendbuf
      integer(c_int), intent(in) :: sendcounts(*), sdispls(*)
      HANDLE(MPI_Datatype), intent(in) :: sendtype
      HANDLE(MPI_Comm), intent(in) :: comm
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Arrivals), asynchronous :: arrivals
      type(LNW_Request), intent(out) :: request
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_arrivals_get_count(arrivals, nsources, ierror) bind(C, name="lnwf_arrivals_get_count")
      import
      type(LNW_Arrivals), intent(in) :: arrivals
      integer(c_int), intent(out) :: nsources
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    !> `data` is valid until the handle is freed; c_f_pointer makes an array of it.
    subroutine lnw_arrivals_get_data(arrivals, data, bytes, ierror) bind(C, name="lnwf_arrivals_get_data")
      import
      type(LNW_Arrivals), intent(in) :: arrivals
      type(c_ptr), intent(out) :: data
      integer(MPI_COUNT_KIND), intent(out) :: bytes
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_arrivals_copy(arrivals, maxsources, sources, recvcounts, rdispls, recvbuf, recvcount, &
        recvtype, ierror) &
        bind(C, name="lnwf_arrivals_copy")
      import
      type(LNW_Arrivals), intent(in) :: arrivals
      integer(c_int), intent(in) :: maxsources
      integer(c_int), intent(out) :: sources(maxsources)
      integer(MPI_COUNT_KIND), intent(out) :: recvcounts(maxsources), rdispls(maxsources)
      type(*), dimension(..) :: recvbuf
      integer(MPI_COUNT_KIND), intent(in) :: recvcount
      HANDLE(MPI_Datatype), intent(in) :: recvtype
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_arrivals_get_info(arrivals, info, ierror) bind(C, name="lnwf_arrivals_get_info")
      import
      type(LNW_Arrivals), intent(in) :: arrivals
      HANDLE(MPI_Info), intent(out) :: info
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_arrivals_free(arrivals, ierror) bind(C, name="lnwf_arrivals_free")
      import
      type(LNW_Arrivals), intent(inout) :: arrivals
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_from_arrivals(arrivals, info, topology, ierror) bind(C, name="lnwf_topology_from_arrivals")
      import
      type(LNW_Arrivals), intent(in) :: arrivals
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Topology), intent(out) :: topology
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_topology_from_arrivals_reversed(arrivals, info, topology, ierror) &
        bind(C, name="lnwf_topology_from_arrivals_reversed")
      import
      type(LNW_Arrivals), intent(in) :: arrivals
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Topology), intent(out) :: topology
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    !> `arrivals` has the weights of the other side; without it they are not kept.
    subroutine lnw_topology_create_from_destinations(comm, outdegree, destinations, destweights, info, &
        topology, arrivals, ierror) &
        bind(C, name="lnwf_topology_create_from_destinations")
      import
      HANDLE(MPI_Comm), intent(in) :: comm
      integer(c_int), intent(in) :: outdegree, destinations(outdegree), destweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: destweights
!DIR$ IGNORE_TKR destweights
#endif
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Topology), intent(out) :: topology
      type(LNW_Arrivals), optional, intent(out) :: arrivals
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    !> `arrivals` has the weights of the other side; without it they are not kept.
    subroutine lnw_topology_create_from_sources(comm, indegree, sources, sourceweights, info, topology, &
        arrivals, ierror) &
        bind(C, name="lnwf_topology_create_from_sources")
      import
      HANDLE(MPI_Comm), intent(in) :: comm
      integer(c_int), intent(in) :: indegree, sources(indegree), sourceweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sourceweights
!DIR$ IGNORE_TKR sourceweights
#endif
      HANDLE(MPI_Info), intent(in) :: info
      type(LNW_Topology), intent(out) :: topology
      type(LNW_Arrivals), optional, intent(out) :: arrivals
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info, reorder, &
        comm_dist_graph, ierror) &
        bind(C, name="lnwf_dist_graph_create")
      import
      HANDLE(MPI_Comm), intent(in) :: comm_old
      integer(c_int), intent(in) :: n, sources(n), degrees(n), destinations(*), weights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: weights
!DIR$ IGNORE_TKR weights
#endif
      HANDLE(MPI_Info), intent(in) :: info
      integer(c_int), value :: reorder
      HANDLE(MPI_Comm), intent(out) :: comm_dist_graph
      integer(c_int), optional, intent(out) :: ierror
    end subroutine

    subroutine lnw_start(request, ierror) bind(C, name="lnwf_start")
      import
      type(LNW_Request), intent(inout) :: request
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_startall(count, array_of_requests, ierror) bind(C, name="lnwf_startall")
      import
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(count)
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    !> Without `stream`, or with a null one: the default stream, and for LNW_QUEUE_HOST the only choice.
    subroutine lnw_queue_init(queue, kind, stream, ierror) bind(C, name="lnwf_queue_init")
      import
      type(LNW_Queue), intent(inout) :: queue
      integer(c_int), intent(in) :: kind
      type(c_ptr), optional, intent(in) :: stream
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_queue_wait(queue, ierror) bind(C, name="lnwf_queue_wait")
      import
      type(LNW_Queue), intent(in) :: queue
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine queue_progress(queue, flag, ierror) bind(C, name="lnwf_queue_progress")
      import
      type(LNW_Queue), intent(in) :: queue
      integer(c_int), intent(out) :: flag
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_queue_free(queue, ierror) bind(C, name="lnwf_queue_free")
      import
      type(LNW_Queue), intent(inout) :: queue
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_queue_get_statistics(queue, statistics, ierror) bind(C, name="lnwf_queue_get_statistics")
      import
      type(LNW_Queue), intent(in) :: queue
      type(LNW_Queue_statistics), intent(out) :: statistics
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_start(queue, request, ierror) bind(C, name="lnwf_enqueue_start")
      import
      type(LNW_Queue), intent(in) :: queue
      type(LNW_Request), intent(inout) :: request
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_startall(queue, count, array_of_requests, ierror) bind(C, name="lnwf_enqueue_startall")
      import
      type(LNW_Queue), intent(in) :: queue
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(*)
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_wait(queue, request, ierror) bind(C, name="lnwf_enqueue_wait")
      import
      type(LNW_Queue), intent(in) :: queue
      type(LNW_Request), intent(inout) :: request
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_waitall(queue, count, array_of_requests, ierror) bind(C, name="lnwf_enqueue_waitall")
      import
      type(LNW_Queue), intent(in) :: queue
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(*)
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_ready(queue, request, partition, ierror) bind(C, name="lnwf_enqueue_ready")
      import
      type(LNW_Queue), intent(in) :: queue
      type(LNW_Request), intent(in) :: request
      integer(c_int), intent(in) :: partition
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_ready_edge(queue, request, edge, partition, ierror) bind(C, name="lnwf_enqueue_ready_edge")
      import
      type(LNW_Queue), intent(in) :: queue
      type(LNW_Request), intent(in) :: request
      integer(c_int), intent(in) :: edge, partition
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_enqueue_call(queue, function, argument, ierror) bind(C, name="lnwf_enqueue_call")
      import
      type(LNW_Queue), intent(in) :: queue
      type(c_funptr), value, intent(in) :: function
      type(c_ptr), intent(in) :: argument
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_wait(request, status, ierror) bind(C, name="lnwf_wait")
      import
      type(LNW_Request), intent(inout) :: request
      STATUS :: status
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_waitall(count, array_of_requests, array_of_statuses, ierror) bind(C, name="lnwf_waitall")
      import
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(count)
      STATUSES :: array_of_statuses
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    !> Indices of requests start at 1, as in MPI's Fortran interface; likewise below.
    subroutine lnw_waitany(count, array_of_requests, index, status, ierror) bind(C, name="lnwf_waitany")
      import
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(count)
      integer(c_int), intent(out) :: index
      STATUS :: status
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_waitsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror) &
        bind(C, name="lnwf_waitsome")
      import
      integer(c_int), intent(in) :: incount
      type(LNW_Request), intent(inout) :: array_of_requests(incount)
      integer(c_int), intent(out) :: outcount, array_of_indices(*)
      STATUSES :: array_of_statuses
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_testsome(incount, array_of_requests, outcount, array_of_indices, array_of_statuses, ierror) &
        bind(C, name="lnwf_testsome")
      import
      integer(c_int), intent(in) :: incount
      type(LNW_Request), intent(inout) :: array_of_requests(incount)
      integer(c_int), intent(out) :: outcount, array_of_indices(*)
      STATUSES :: array_of_statuses
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_request_free(request, ierror) bind(C, name="lnwf_request_free")
      import
      type(LNW_Request), intent(inout) :: request
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_request_set_buffers(request, sendbuf, recvbuf, ierror) bind(C, name="lnwf_request_set_buffers")
      import
      type(LNW_Request), intent(in) :: request
      type(*), dimension(..), intent(in), asynchronous :: sendbuf
      type(*), dimension(..), asynchronous :: recvbuf
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_request_set_stream(request, stream, ierror) bind(C, name="lnwf_request_set_stream")
      import
      type(LNW_Request), intent(in) :: request
      type(c_ptr), value :: stream
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_stream_synchronize(buffer, stream, ierror) bind(C, name="lnwf_stream_synchronize")
      import
      type(*), dimension(..), intent(in) :: buffer
      type(c_ptr), value :: stream
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_request_get_statistics(request, statistics, ierror) &
        bind(C, name="lnwf_request_get_statistics")
      import
      type(LNW_Request), intent(in) :: request
      type(LNW_Request_statistics), intent(out) :: statistics
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine lnw_request_get_info(request, info, ierror) bind(C, name="lnwf_request_get_info")
      import
      type(LNW_Request), intent(in) :: request
      HANDLE(MPI_Info), intent(out) :: info
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
  end interface

  ! Of shim.c, behind the procedures below: LOGICAL arguments and character results are no C types.
  interface
    subroutine dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree, destinations, &
        destweights, info, reorder, comm_dist_graph, ierror) bind(C, name="lnwf_dist_graph_create_adjacent")
      import
      HANDLE(MPI_Comm), intent(in) :: comm_old
      integer(c_int), intent(in) :: indegree, sources(*), sourceweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sourceweights
!DIR$ IGNORE_TKR sourceweights
#endif
      integer(c_int), intent(in) :: outdegree, destinations(*), destweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: destweights
!DIR$ IGNORE_TKR destweights
#endif
      HANDLE(MPI_Info), intent(in) :: info
      integer(c_int), value :: reorder
      HANDLE(MPI_Comm), intent(out) :: comm_dist_graph
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine test(request, flag, status, ierror) bind(C, name="lnwf_test")
      import
      type(LNW_Request), intent(inout) :: request
      integer(c_int), intent(out) :: flag
      STATUS :: status
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine testall(count, array_of_requests, flag, array_of_statuses, ierror) bind(C, name="lnwf_testall")
      import
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(count)
      integer(c_int), intent(out) :: flag
      STATUSES :: array_of_statuses
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine testany(count, array_of_requests, index, flag, status, ierror) bind(C, name="lnwf_testany")
      import
      integer(c_int), intent(in) :: count
      type(LNW_Request), intent(inout) :: array_of_requests(count)
      integer(c_int), intent(out) :: index, flag
      STATUS :: status
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine get_strategy(request, name, length, ierror) bind(C, name="lnwf_request_get_strategy")
      import
      type(LNW_Request), intent(in) :: request
      type(c_ptr), intent(out) :: name
      integer(MPI_COUNT_KIND), intent(out) :: length
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine get_plan(request, text, size, length, ierror) bind(C, name="lnwf_request_get_plan")
      import
      type(LNW_Request), intent(in) :: request
      type(c_ptr), value :: text
      integer(MPI_COUNT_KIND), value :: size
      integer(MPI_COUNT_KIND), intent(inout) :: length
      integer(c_int), optional, intent(out) :: ierror
    end subroutine
    subroutine set_sentinels(bottom, in_place, unweighted, weights_empty, status_ignore, statuses_ignore, &
        status_size, is_f08) bind(C, name="lnwf_set_sentinels")
      import
      type(*), dimension(..), intent(in) :: bottom, in_place, unweighted, weights_empty, status_ignore, statuses_ignore
      integer(c_int), value :: status_size, is_f08
    end subroutine
  end interface

contains

  subroutine lnw_dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree, destinations, &
      destweights, info, reorder, comm_dist_graph, ierror)
    HANDLE(MPI_Comm), intent(in) :: comm_old
    integer, intent(in) :: indegree, sources(indegree), sourceweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: sourceweights
!DIR$ IGNORE_TKR sourceweights
#endif
    integer, intent(in) :: outdegree, destinations(outdegree), destweights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: destweights
!DIR$ IGNORE_TKR destweights
#endif
    HANDLE(MPI_Info), intent(in) :: info
    logical, intent(in) :: reorder
    HANDLE(MPI_Comm), intent(out) :: comm_dist_graph
    integer, optional, intent(out) :: ierror
    call dist_graph_create_adjacent(comm_old, indegree, sources, sourceweights, outdegree, destinations, destweights, &
                                    info, merge(1_c_int, 0_c_int, reorder), comm_dist_graph, ierror)
  end subroutine

  subroutine lnw_dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info, reorder, comm_dist_graph, &
      ierror)
    HANDLE(MPI_Comm), intent(in) :: comm_old
    integer, intent(in) :: n, sources(n), degrees(n), destinations(*), weights(*)
#ifdef LANEWAY_INTEGERS
!GCC$ ATTRIBUTES NO_ARG_CHECK :: weights
!DIR$ IGNORE_TKR weights
#endif
    HANDLE(MPI_Info), intent(in) :: info
    logical, intent(in) :: reorder
    HANDLE(MPI_Comm), intent(out) :: comm_dist_graph
    integer, optional, intent(out) :: ierror
    call dist_graph_create(comm_old, n, sources, degrees, destinations, weights, info, merge(1_c_int, 0_c_int, reorder), &
                           comm_dist_graph, ierror)
  end subroutine

  subroutine lnw_test(request, flag, status, ierror)
    type(LNW_Request), intent(inout) :: request
    logical, intent(out) :: flag
    STATUS :: status
    integer, optional, intent(out) :: ierror
    integer(c_int) :: done
    call test(request, done, status, ierror)
    flag = done /= 0
  end subroutine

  !> Advances the queue once; `flag` is true if nothing of it is left to be done.
  subroutine lnw_queue_progress(queue, flag, ierror)
    type(LNW_Queue), intent(in) :: queue
    logical, intent(out) :: flag
    integer, optional, intent(out) :: ierror
    integer(c_int) :: done
    call queue_progress(queue, done, ierror)
    flag = done /= 0
  end subroutine

  subroutine lnw_testall(count, array_of_requests, flag, array_of_statuses, ierror)
    integer, intent(in) :: count
    type(LNW_Request), intent(inout) :: array_of_requests(count)
    logical, intent(out) :: flag
    STATUSES :: array_of_statuses
    integer, optional, intent(out) :: ierror
    integer(c_int) :: done
    call testall(count, array_of_requests, done, array_of_statuses, ierror)
    flag = done /= 0
  end subroutine

  subroutine lnw_testany(count, array_of_requests, index, flag, status, ierror)
    integer, intent(in) :: count
    type(LNW_Request), intent(inout) :: array_of_requests(count)
    integer, intent(out) :: index
    logical, intent(out) :: flag
    STATUS :: status
    integer, optional, intent(out) :: ierror
    integer(c_int) :: done
    call testany(count, array_of_requests, index, done, status, ierror)
    flag = done /= 0
  end subroutine

  !> `flag`: whether there was a message; then `data` is its address.
  subroutine lnw_bag_next(bag, source, data, bytes, flag, ierror)
    type(LNW_Bag), intent(in) :: bag
    integer, intent(out) :: source
    type(c_ptr), intent(out) :: data
    integer(MPI_COUNT_KIND), intent(out) :: bytes
    logical, intent(out) :: flag
    integer, optional, intent(out) :: ierror
    integer(c_int) :: is_there
    call bag_next(bag, source, data, bytes, is_there, ierror)
    flag = is_there /= 0
  end subroutine

  !> `dims` that are 0 are chosen. Arrays are as in C: the last dimension of a grid is the first one of a Fortran array.
  subroutine lnw_halo_create_cart(comm, ndims, dims, extents, widths, periods, corners, info, halo, ierror)
    HANDLE(MPI_Comm), intent(in) :: comm
    integer, intent(in) :: ndims, dims(ndims), extents(ndims), widths(ndims)
    logical, intent(in) :: periods(ndims), corners
    HANDLE(MPI_Info), intent(in) :: info
    type(LNW_Halo), intent(out) :: halo
    integer, optional, intent(out) :: ierror
    call halo_create_cart(comm, ndims, dims, extents, widths, merge(1_c_int, 0_c_int, periods), &
                          merge(1_c_int, 0_c_int, corners), info, halo, ierror)
  end subroutine

  !> Whether the segment may be put into again.
  subroutine lnw_channel_test_free(channel, segment, flag, ierror)
    type(LNW_Channel), intent(in) :: channel
    integer, intent(in) :: segment
    logical, intent(out) :: flag
    integer, optional, intent(out) :: ierror
    integer(c_int) :: is_free
    call channel_test_free(channel, segment, is_free, ierror)
    flag = is_free /= 0
  end subroutine

  !> Whether something is in the segment; then `data` is its address.
  subroutine lnw_channel_test(channel, segment, flag, data, bytes, ierror)
    type(LNW_Channel), intent(in) :: channel
    integer, intent(in) :: segment
    logical, intent(out) :: flag
    type(c_ptr), intent(out) :: data
    integer(MPI_COUNT_KIND), intent(out) :: bytes
    integer, optional, intent(out) :: ierror
    integer(c_int) :: has_come
    call channel_test(channel, segment, has_come, data, bytes, ierror)
    flag = has_come /= 0
  end subroutine

  subroutine lnw_parrived(request, partition, flag, ierror)
    type(LNW_Request), intent(in) :: request
    integer, intent(in) :: partition
    logical, intent(out) :: flag
    integer, optional, intent(out) :: ierror
    integer(c_int) :: arrived
    call parrived(request, partition, arrived, ierror)
    flag = arrived /= 0
  end subroutine

  subroutine lnw_parrived_edge(request, edge, partition, flag, ierror)
    type(LNW_Request), intent(in) :: request
    integer, intent(in) :: edge, partition
    logical, intent(out) :: flag
    integer, optional, intent(out) :: ierror
    integer(c_int) :: arrived
    call parrived_edge(request, edge, partition, arrived, ierror)
    flag = arrived /= 0
  end subroutine

  subroutine lnw_test_any_edge(request, edge, partition, flag, ierror)
    type(LNW_Request), intent(in) :: request
    integer, intent(out) :: edge, partition
    logical, intent(out) :: flag
    integer, optional, intent(out) :: ierror
    integer(c_int) :: arrived
    call test_any_edge(request, edge, partition, arrived, ierror)
    flag = arrived /= 0
  end subroutine

  !> Of a control variable: its name, the variable of the environment that sets it, and what it is. `index` is from 0; texts are cut to what they are put into.
  subroutine lnw_cvar_get_info(index, name, environment, description, ierror)
    integer, intent(in) :: index
    character(len=*), intent(out) :: name, environment, description
    integer, optional, intent(out) :: ierror
    type(c_ptr) :: texts(3)
    call cvar_get_info(index, texts(1), texts(2), texts(3), ierror)
    call put_text(texts(1), name)
    call put_text(texts(2), environment)
    call put_text(texts(3), description)
  end subroutine

  !> Of a counter: its name, and what it counts. `index` is from 0; texts are cut to what they are put into.
  subroutine lnw_pvar_get_info(index, name, description, ierror)
    integer, intent(in) :: index
    character(len=*), intent(out) :: name, description
    integer, optional, intent(out) :: ierror
    type(c_ptr) :: texts(3)
    call pvar_get_info(index, texts(1), texts(2), texts(3), ierror)
    call put_text(texts(1), name)
    call put_text(texts(3), description)
  end subroutine

  !> A text of C, up to its end or that of `text`.
  subroutine put_text(from, text)
    type(c_ptr), intent(in) :: from
    character(len=*), intent(out) :: text
    character(kind=c_char), pointer :: characters(:)
    integer :: i
    text = ''
    call c_f_pointer(from, characters, [len(text)])
    do i = 1, len(text)
      if (characters(i) == c_null_char) exit
      text(i:i) = characters(i)
    end do
  end subroutine

  !> Numbers of control variables and counters by their names, from 0; texts are cut to what they are put into.
  subroutine lnw_cvar_get_index(name, index, ierror)
    character(len=*), intent(in) :: name
    integer, intent(out) :: index
    integer, optional, intent(out) :: ierror
    call cvar_get_index(trim(name)//c_null_char, index, ierror)
  end subroutine

  subroutine lnw_pvar_get_index(name, index, ierror)
    character(len=*), intent(in) :: name
    integer, intent(out) :: index
    integer, optional, intent(out) :: ierror
    call pvar_get_index(trim(name)//c_null_char, index, ierror)
  end subroutine

  subroutine lnw_cvar_read(index, comm, text, length, ierror)
    integer, intent(in) :: index
    HANDLE(MPI_Comm), intent(in) :: comm
    character(len=*), intent(out) :: text
    integer, intent(out) :: length
    integer, optional, intent(out) :: ierror
    character(kind=c_char) :: found(len(text) + 1)
    integer :: i
    text = ''
    call cvar_read(index, comm, found, len(text) + 1, length, ierror)
    do i = 1, min(length, len(text))
      text(i:i) = found(i)
    end do
  end subroutine

  !> Name of the strategy that the request uses, e.g. three_step; empty after an error.
  subroutine lnw_request_get_strategy(request, name, ierror)
    type(LNW_Request), intent(in) :: request
    character(len=:), allocatable, intent(out) :: name
    integer, optional, intent(out) :: ierror
    character(kind=c_char), pointer :: characters(:)
    type(c_ptr) :: text
    integer(MPI_COUNT_KIND) :: length, i
    integer :: failed
    call get_strategy(request, text, length, ierror)
    allocate (character(len=length) :: name, stat=failed)
    call require_memory(failed)
    if (length == 0) return
    call c_f_pointer(text, characters, [length])
    do i = 1, length
      name(i:i) = characters(i)
    end do
  end subroutine

  !> The request's plan on this rank as JSON text (docs/reference/plans.md); empty after an error.
  subroutine lnw_request_get_plan(request, text, ierror)
    type(LNW_Request), intent(in) :: request
    character(len=:), allocatable, intent(out) :: text
    integer, optional, intent(out) :: ierror
    character(kind=c_char), allocatable, target :: characters(:)
    integer(MPI_COUNT_KIND) :: length, i
    integer :: code, failed
    length = 0
    call get_plan(request, c_null_ptr, 0_MPI_COUNT_KIND, length, code)
    allocate (characters(length + 1), stat=failed)
    call require_memory(failed)
    if (code == MPI_SUCCESS) call get_plan(request, c_loc(characters), length + 1, length, code)
    allocate (character(len=length) :: text, stat=failed)
    call require_memory(failed)
    do i = 1, length
      text(i:i) = characters(i)
    end do
    if (present(ierror)) ierror = code
  end subroutine

  !> Instead of the compiler's own message, which would put the folder of this file into the library.
  subroutine require_memory(failed)
    integer, intent(in) :: failed
    if (failed /= 0) error stop 'laneway: there is no memory for a text'
  end subroutine

  !> Tells shim.c, which calls this once, where this MPI library keeps its constants that are known by address.
  subroutine find_sentinels() &
#ifdef LANEWAY_INTEGERS
      bind(C, name="lnwf_find_integers")
#else
      bind(C, name="lnwf_find_f08")
#endif
    call set_sentinels(MPI_BOTTOM, MPI_IN_PLACE, MPI_UNWEIGHTED, MPI_WEIGHTS_EMPTY, MPI_STATUS_IGNORE, &
                       MPI_STATUSES_IGNORE, MPI_STATUS_SIZE, IS_F08)
  end subroutine
end module
