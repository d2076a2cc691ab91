!> What the modules laneway and laneway_mpi share: handles of the library, structures and constants.
module laneway_types
  use, intrinsic :: iso_c_binding, only: c_int, c_int64_t, c_null_ptr, c_ptr, c_size_t
  implicit none
  private

  !> A persistent or nonblocking neighborhood operation.
  type, public, bind(C) :: LNW_Request
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Request), parameter, public :: LNW_REQUEST_NULL = LNW_Request(c_null_ptr)

  !> Neighbours of the ranks of a communicator, without a communicator of their own.
  type, public, bind(C) :: LNW_Topology
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Topology), parameter, public :: LNW_TOPOLOGY_NULL = LNW_Topology(c_null_ptr)

  !> What has arrived in a sparse exchange.
  type, public, bind(C) :: LNW_Arrivals
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Arrivals), parameter, public :: LNW_ARRIVALS_NULL = LNW_Arrivals(c_null_ptr)

  !> A bag of messages between the ranks of a communicator.
  type, public, bind(C) :: LNW_Bag
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Bag), parameter, public :: LNW_BAG_NULL = LNW_Bag(c_null_ptr)

  !> Which elements of which ranks go where.
  type, public, bind(C) :: LNW_Distributor
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Distributor), parameter, public :: LNW_DISTRIBUTOR_NULL = LNW_Distributor(c_null_ptr)

  !> Which elements of an array are copies of which elements of other ranks.
  type, public, bind(C) :: LNW_Halo
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Halo), parameter, public :: LNW_HALO_NULL = LNW_Halo(c_null_ptr)

  !> One end of a channel.
  type, public, bind(C) :: LNW_Channel
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Channel), parameter, public :: LNW_CHANNEL_NULL = LNW_Channel(c_null_ptr)
  !> Which end it is.
  integer, parameter, public :: LNW_CHANNEL_SEND = 1, LNW_CHANNEL_RECEIVE = 2

  !> A stream that starts exchanges and waits for them.
  type, public, bind(C) :: LNW_Queue
    private
    type(c_ptr) :: handle = c_null_ptr
  end type
  type(LNW_Queue), parameter, public :: LNW_QUEUE_NULL = LNW_Queue(c_null_ptr)
  !> What the stream is.
  integer, parameter, public :: LNW_QUEUE_HOST = 1, LNW_QUEUE_CUDA = 2, LNW_QUEUE_HIP = 3, LNW_QUEUE_SIM = 4
  !> Added to that: the program advances the queue.
  integer, parameter, public :: LNW_QUEUE_PROGRESS_BY_HOST = 16
  !> In place of a number of requests.
  integer, parameter, public :: LNW_QUEUE_ALL_STARTED = -1

  !> Since a queue was made.
  type, public, bind(C) :: LNW_Queue_statistics
    integer(c_int64_t) :: exchanges    !< started
    integer(c_int64_t) :: triggers     !< words that the stream was told to write
    integer(c_int64_t) :: completions  !< words that the stream was told to wait for
    integer(c_int64_t) :: unfinished   !< of what was enqueued
  end type

  !> What reordering has brought. Weights are sums over edges, as the destinations' arguments give them.
  type, public, bind(C) :: LNW_Reorder
    integer(c_int64_t) :: weight        !< of all edges
    integer(c_int64_t) :: cut_before    !< of the edges between nodes, had every process kept its rank
    integer(c_int64_t) :: cut_after     !< of the edges between nodes, with the new ranks
    integer(c_int) :: moved                  !< processes whose rank has changed
    integer(c_int) :: has_partitioner        !< 0: the library was built without Scotch, and keeps the order
  end type

  !> What one rank does in one exchange of a request.
  type, public, bind(C) :: LNW_Request_statistics
    integer(c_int64_t) :: messages      !< messages sent
    integer(c_int64_t) :: bytes         !< bytes in them
    integer(c_int64_t) :: net_messages  !< of these, to other nodes
    integer(c_int64_t) :: net_bytes
    integer(c_int64_t) :: copied_bytes   !< bytes copied within the rank
    integer(c_int64_t) :: staging_bytes  !< memory that the request holds for data in transit
    integer(c_int64_t) :: arena_bytes    !< not 0: that is in this much memory, shared with other requests
    integer(c_int64_t) :: window_bytes   !< and for flags and mailboxes that the ranks of the node share
    integer(c_int64_t) :: metadata_bytes !< and for its plan, copy programs and tables
  end type

  interface operator(==)
    module procedure same_request, same_topology, same_arrivals, same_channel, same_bag, same_distributor, same_halo, &
      same_queue
  end interface
  interface operator(/=)
    module procedure other_request, other_topology, other_arrivals, other_channel, other_bag, other_distributor, other_halo, &
      other_queue
  end interface
  public :: operator(==), operator(/=)


contains

  elemental logical function same_request(a, b)
    type(LNW_Request), intent(in) :: a, b
    same_request = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_request(a, b)
    type(LNW_Request), intent(in) :: a, b
    other_request = .not. same_request(a, b)
  end function

  elemental logical function same_topology(a, b)
    type(LNW_Topology), intent(in) :: a, b
    same_topology = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function same_arrivals(a, b)
    type(LNW_Arrivals), intent(in) :: a, b
    same_arrivals = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_arrivals(a, b)
    type(LNW_Arrivals), intent(in) :: a, b
    other_arrivals = .not. same_arrivals(a, b)
  end function

  elemental logical function same_channel(a, b)
    type(LNW_Channel), intent(in) :: a, b
    same_channel = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_channel(a, b)
    type(LNW_Channel), intent(in) :: a, b
    other_channel = .not. same_channel(a, b)
  end function

  elemental logical function same_queue(a, b)
    type(LNW_Queue), intent(in) :: a, b
    same_queue = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_queue(a, b)
    type(LNW_Queue), intent(in) :: a, b
    other_queue = .not. same_queue(a, b)
  end function

  elemental logical function other_topology(a, b)
    type(LNW_Topology), intent(in) :: a, b
    other_topology = .not. same_topology(a, b)
  end function

  elemental logical function same_bag(a, b)
    type(LNW_Bag), intent(in) :: a, b
    same_bag = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_bag(a, b)
    type(LNW_Bag), intent(in) :: a, b
    other_bag = .not. same_bag(a, b)
  end function

  elemental logical function same_distributor(a, b)
    type(LNW_Distributor), intent(in) :: a, b
    same_distributor = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_distributor(a, b)
    type(LNW_Distributor), intent(in) :: a, b
    other_distributor = .not. same_distributor(a, b)
  end function

  elemental logical function same_halo(a, b)
    type(LNW_Halo), intent(in) :: a, b
    same_halo = transfer(a%handle, 0_c_size_t) == transfer(b%handle, 0_c_size_t)
  end function

  elemental logical function other_halo(a, b)
    type(LNW_Halo), intent(in) :: a, b
    other_halo = .not. same_halo(a, b)
  end function
end module
