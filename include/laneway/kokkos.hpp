/// Halos of Kokkos Views of any rank and layout, ordered by an execution space instance. Needs Kokkos 3.4 or later.
#pragma once

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>

#include "laneway/aosoa.hpp"
#include "laneway/strided.hpp"

namespace laneway {

inline namespace cxx {

namespace kokkos {

/// A View's pointer, extents and strides.
template <class View>
[[nodiscard]] auto strided(const View& view) {
  static_assert(Kokkos::is_view<View>::value, "laneway::kokkos: this is no Kokkos::View");
  constexpr auto rank = static_cast<std::size_t>(View::rank);
  static_assert(rank >= 1, "laneway::kokkos: a View of rank 0 has no halo");
  StridedView<typename View::value_type, rank> result;
  result.data = view.data();
  std::array<std::size_t, rank + 1> strides{};  // Kokkos appends the size
  view.stride(strides.data());
  for (std::size_t d = 0; d < rank; ++d) {
    result.extents[d] = view.extent(d);
    result.strides[d] = strides[d];
  }
  return result;
}

/// Whether the host may read the View's elements.
template <class View>
inline constexpr bool is_on_host =
    Kokkos::SpaceAccessibility<Kokkos::HostSpace, typename View::memory_space>::accessible;

namespace detail {

/// The vendor's stream of an execution space instance, or LNW_STREAM_NONE if it has none.
template <class ExecutionSpace>
[[nodiscard]] void* stream_of(const ExecutionSpace& space) {
  if constexpr (requires { space.cuda_stream(); })
    return static_cast<void*>(space.cuda_stream());
  else if constexpr (requires { space.hip_stream(); })
    return static_cast<void*>(space.hip_stream());
  else
    return LNW_STREAM_NONE;
}

}  // namespace detail

/// A queue on the stream of an execution space instance, or none where the instance has no stream: what is enqueued is
/// then in the order of the instance, and the host waits for nothing.
template <class ExecutionSpace>
[[nodiscard]] std::optional<Queue> queue_of_stream([[maybe_unused]] const ExecutionSpace& space) {
  static_assert(Kokkos::is_execution_space<ExecutionSpace>::value,
                "laneway::kokkos: this is no Kokkos execution space instance");
  if constexpr (requires { space.cuda_stream(); })
    return Queue(LNW_QUEUE_CUDA, detail::stream_of(space));
  else if constexpr (requires { space.hip_stream(); })
    return Queue(LNW_QUEUE_HIP, detail::stream_of(space));
  else
    return std::nullopt;
}

/// Orders what `operation` does with Views of type View by `space`: on devices by its stream, so that the host waits
/// for nothing; where the stream is not enough, waits for this instance. Call before each start.
template <class View, class ExecutionSpace>
void order(const ExecutionSpace& space, const Persistent& operation) {
  static_assert(Kokkos::is_execution_space<ExecutionSpace>::value,
                "laneway::kokkos: this is no Kokkos execution space instance");
  if constexpr (!is_on_host<View>) {
    void* stream = detail::stream_of(space);
    if (stream != LNW_STREAM_NONE) {
      check(LNW_Request_set_stream(operation.get(), stream));
      return;
    }
  }
  space.fence();
}

/// The halo of a View: StridedHalo with ordering by an execution space instance. What was put into the instance before
/// `exchange` comes before it, what is put into it afterwards comes after it; other instances are not waited for.
///
///     laneway::kokkos::Halo<decltype(u)> halo(comm, u, send, receive);
///     halo.exchange(space, u);
template <class View>
class Halo {
  static_assert(Kokkos::is_view<View>::value, "laneway::kokkos::Halo: this is no Kokkos::View");
  static_assert(!std::is_const_v<typename View::value_type>, "laneway::kokkos::Halo: the View is of constants");

 public:
  static constexpr std::size_t rank = static_cast<std::size_t>(View::rank);
  using value_type = typename View::non_const_value_type;

  /// Collective over `comm`. Views that are exchanged have the extents and strides of `view`.
  Halo(MPI_Comm comm, const View& view, std::span<const Part<rank>> send, std::span<const Part<rank>> receive,
       const Hints& hints = {})
      : halo_(comm, strided(view), send, receive, hints) {}

  /// Fills the boxes that come from other ranks, in the order of the instance.
  template <class ExecutionSpace>
  void exchange(const ExecutionSpace& space, const View& view) {
    start(space, view);
    wait();
  }
  /// Begins an exchange when the instance comes to it; `wait` ends it.
  template <class ExecutionSpace>
  void start(const ExecutionSpace& space, const View& view) {
    order<View>(space, halo_.operation());
    halo_.start(strided(view));
  }
  /// Whether the exchange is complete.
  [[nodiscard]] bool test() { return halo_.test(); }
  /// Returns when the exchange is complete.
  void wait() { halo_.wait(); }

  /// Puts the exchange into a queue and returns. Another View than the last time only when the queue has been waited
  /// for.
  void enqueue(Queue& queue, const View& view) { halo_.enqueue(queue, strided(view)); }
  /// The same of `accumulate`. Collective, the first time with each operator.
  void enqueue_accumulate(Queue& queue, const View& view, MPI_Op op = MPI_SUM) {
    halo_.enqueue_accumulate(queue, strided(view), op);
  }

  /// Combines ghost elements into those of which they are copies. Returns when they are in place.
  template <class ExecutionSpace>
  void accumulate(const ExecutionSpace& space, const View& view, MPI_Op op = MPI_SUM) {
    space.fence();
    halo_.accumulate(strided(view), op);
  }

  /// The operation that exchanges, for what it tells of itself.
  [[nodiscard]] const Persistent& operation() const { return halo_.operation(); }

 private:
  StridedHalo<value_type, rank> halo_;
};

/// Halo::exchange as a function.
template <class ExecutionSpace, class View>
void exchange(const ExecutionSpace& space, Halo<View>& halo, const View& view) {
  halo.exchange(space, view);
}
/// Halo::accumulate as a function.
template <class ExecutionSpace, class View>
void accumulate(const ExecutionSpace& space, Halo<View>& halo, const View& view, MPI_Op op = MPI_SUM) {
  halo.accumulate(space, view, op);
}

/// laneway::neighbor_alltoallv_init of contiguous Views of rank 1. The operation does not keep the Views alive.
template <class SendView, class ReceiveView>
[[nodiscard]] Persistent neighbor_alltoallv_init(MPI_Comm comm, const SendView& send, const Blocks& send_blocks,
                                                 const ReceiveView& receive, const Blocks& receive_blocks,
                                                 const Hints& hints = {}) {
  using T = typename ReceiveView::value_type;
  static_assert(SendView::rank == 1 && ReceiveView::rank == 1, "laneway::kokkos: Views of rank 1");
  static_assert(std::is_same_v<typename SendView::non_const_value_type, T>,
                "laneway::kokkos: both Views are of one type, and the receive View is not of constants");
  if (!send.span_is_contiguous() || !receive.span_is_contiguous())
    throw std::invalid_argument("laneway::kokkos::neighbor_alltoallv_init: a View is not contiguous");
  return laneway::neighbor_alltoallv_init<T>(comm, std::span<const T>(send.data(), send.extent(0)), send_blocks,
                                             std::span<T>(receive.data(), receive.extent(0)), receive_blocks, hints);
}

namespace detail {

/// The widest unsigned integer of which all values are made.
template <class... Slices>
[[nodiscard]] constexpr auto unit_of() {
  constexpr std::size_t bytes = (std::size_t{8} | ... | sizeof(typename Slices::value_type));
  if constexpr (bytes % 8 == 0)
    return std::uint64_t{};
  else if constexpr (bytes % 4 == 0)
    return std::uint32_t{};
  else if constexpr (bytes % 2 == 0)
    return std::uint16_t{};
  else
    return std::uint8_t{};
}

}  // namespace detail

/// Slices of one array of structures of arrays, such as Cabana::slice gives them, in units of T.
template <class T>
struct Aosoa {
  T* data = nullptr;
  std::size_t size = 0;
  AosoaLayout layout;
};

/// Throws std::invalid_argument if they are not of one array.
template <class... Slices>
[[nodiscard]] auto aosoa(const Slices&... slices) {
  using T = decltype(detail::unit_of<Slices...>());
  const std::uintptr_t begin = std::min({reinterpret_cast<std::uintptr_t>(slices.data())...});
  Aosoa<T> result;
  result.data = reinterpret_cast<T*>(begin);
  const auto add = [&](const auto& slice) {
    using Slice = std::decay_t<decltype(slice)>;
    AosoaMember member;
    member.units = sizeof(typename Slice::value_type) / sizeof(T);
    member.begin = (reinterpret_cast<std::uintptr_t>(slice.data()) - begin) / sizeof(T);
    for (std::size_t d = 2; d < slice.viewRank(); ++d) member.components *= slice.extent(d);
    member.stride = Slice::vector_length * member.units;
    const std::size_t structure = slice.stride(0) * member.units;
    const bool is_first = result.layout.members.empty();
    if (!is_first && (structure != result.layout.structure || Slice::vector_length != result.layout.lanes ||
                      slice.size() != result.size || member.begin >= structure))
      throw std::invalid_argument("laneway::kokkos::aosoa: slices of several arrays");
    result.size = slice.size();
    result.layout.lanes = Slice::vector_length;
    result.layout.structure = structure;
    result.layout.members.push_back(member);
  };
  (add(slices), ...);
  return result;
}

/// The halo of slices of an array of structures of arrays, all in one exchange, with ordering by an execution space
/// instance as Halo has it.
///
///     laneway::kokkos::AosoaHalo halo(comm, send, receive, positions, charges);
///     halo.exchange(space, positions, charges);
template <class First, class... More>
class AosoaHalo {
 public:
  /// Collective over `comm`. `send` and `receive` list elements.
  AosoaHalo(MPI_Comm comm, const HaloSide& send, const HaloSide& receive, const First& first, const More&... more)
      : AosoaHalo(comm, send, receive, aosoa(first, more...)) {}

  /// Fills the elements that come from other ranks, in the order of the instance. The slices are those of the
  /// constructor, or slices of an array like that.
  template <class ExecutionSpace>
  void exchange(const ExecutionSpace& space, const First& first, const More&... more) {
    order<First>(space, halo_.operation());
    halo_.exchange(aosoa(first, more...).data);
  }
  /// Puts the exchange into a queue and returns.
  void enqueue(Queue& queue, const First& first, const More&... more) {
    halo_.enqueue(queue, aosoa(first, more...).data);
  }
  /// The operation that exchanges, for what it tells of itself.
  [[nodiscard]] const Persistent& operation() const { return halo_.operation(); }

 private:
  using Unit = decltype(detail::unit_of<First, More...>());
  AosoaHalo(MPI_Comm comm, const HaloSide& send, const HaloSide& receive, const Aosoa<Unit>& array)
      : halo_(comm, array.layout, array.size, send, receive) {}

  laneway::AosoaHalo<Unit> halo_;
};

/// Moves elements of slices of an array of structures of arrays to other ranks, where they become elements 0, 1, ... of
/// slices of another one.
template <class First, class... More>
class AosoaDistributor {
 public:
  /// Element i goes to `export_ranks[i]`, to none where that is -1. Collective.
  AosoaDistributor(MPI_Comm comm, std::span<const int> export_ranks, const First& first, const More&... more)
      : AosoaDistributor(comm, export_ranks, aosoa(first, more...)) {}

  /// How many elements arrive.
  [[nodiscard]] std::size_t imports() const { return moves_.imports(); }
  /// `from` and `to`: std::tie of slices, those of `to` with room for imports(). Waits for the instance first, and
  /// returns when all has arrived.
  template <class ExecutionSpace>
  void migrate(const ExecutionSpace& space, const std::tuple<const First&, const More&...>& from,
               const std::tuple<const First&, const More&...>& to) {
    space.fence();
    const auto array = [](const auto&... slices) { return aosoa(slices...); };
    moves_.migrate(std::apply(array, from).data, std::apply(array, to).data);
  }

 private:
  using Unit = decltype(detail::unit_of<First, More...>());
  AosoaDistributor(MPI_Comm comm, std::span<const int> export_ranks, const Aosoa<Unit>& array)
      : moves_(comm, array.layout, export_ranks, array.layout) {}

  laneway::AosoaDistributor<Unit> moves_;
};

/// Orders what `operation` does by a queue: puts it there and returns. It comes after what was put into the queue
/// before, and before what is put there afterwards.
inline void order(Queue& queue, const Persistent& operation) {
  queue.start(operation);
  queue.wait(operation);
}

/// Runs an operation on Views of type View, ordered by `space`.
template <class View, class ExecutionSpace>
void run(const ExecutionSpace& space, Persistent& operation) {
  order<View>(space, operation);
  operation.run();
}

}  // namespace kokkos

}  // namespace cxx

}  // namespace laneway
