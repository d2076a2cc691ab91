/// The communication space for Cabana's grids: Halo, and a halo that a stream starts and waits for.
///
///     auto halo = Cabana::Grid::createHalo<laneway::CabanaCommSpace>(pattern, width, u);
///     halo->gather(space, *u);
#pragma once

#include <Cabana_Grid.hpp>

#include "laneway/cabana.hpp"

namespace laneway {

inline namespace cxx {

namespace cabana {

/// Views for a kernel, by their number.
template <class... Views>
struct Fields;
template <>
struct Fields<> {};
template <class First, class... More>
struct Fields<First, More...> {
  First first;
  Fields<More...> more;
};

template <class First>
[[nodiscard]] Fields<First> fields_of(const First& first) {
  return {first, {}};
}
template <class First, class Second, class... More>
[[nodiscard]] Fields<First, Second, More...> fields_of(const First& first, const Second& second, const More&... more) {
  return {first, fields_of(second, more...)};
}

template <class View, class Steering>
KOKKOS_INLINE_FUNCTION typename View::value_type& element_of(const View& view, const Steering& steering,
                                                             std::size_t e) {
  if constexpr (static_cast<int>(View::rank) == 4)
    return view(steering(e, 1), steering(e, 2), steering(e, 3), steering(e, 4));
  else
    return view(steering(e, 1), steering(e, 2), steering(e, 3));
}

/// Calls f with a reference to the element that row `e` of the steering names: the number of its View, and its indices.
template <class Steering, class F, class First, class... More>
KOKKOS_INLINE_FUNCTION void with_element(const Fields<First, More...>& fields, const Steering& steering, std::size_t e,
                                         int field, const F& f) {
  if constexpr (sizeof...(More) > 0) {
    if (steering(e, 0) != field) return with_element(fields.more, steering, e, field + 1, f);
  }
  f(element_of(fields.first, steering, e));
}

/// Elements of all neighbours, one neighbour after another in one buffer.
template <class MemorySpace>
struct Side {
  Kokkos::View<char*, MemorySpace> buffer;
  Kokkos::View<std::size_t*, MemorySpace> offsets;  // in bytes, of each element
  Kokkos::View<int**, MemorySpace> steering;        // the number of the View, and indices
  Groups<MemorySpace> groups;                       // elements that are in several neighbours' parts
  std::vector<Block> blocks;                        // of bytes, by neighbour

  /// Of lists of all neighbours, in `order`.
  template <class Buffers, class Steerings>
  Side(const Buffers& buffers, const Steerings& steerings, const std::vector<int>& ranks,
       const std::vector<std::size_t>& order) {
    std::size_t bytes = 0, rows = 0;
    for (const std::size_t n : order) {
      blocks.push_back({ranks[n], buffers[n].extent(0)});
      bytes += buffers[n].extent(0);
      rows += steerings[n].extent(0);
    }
    const std::size_t columns = order.empty() ? 1 : steerings[order.front()].extent(1) - 1;
    buffer = Kokkos::View<char*, MemorySpace>("laneway_halo", bytes);
    offsets = Kokkos::View<std::size_t*, MemorySpace>("laneway_offsets", rows);
    steering = Kokkos::View<int**, MemorySpace>("laneway_steering", rows, columns);
    const auto offsets_on_host = Kokkos::create_mirror_view(offsets);
    const auto steering_on_host = Kokkos::create_mirror_view(steering);
    std::vector<std::vector<int>> keys;
    std::size_t first = 0;
    for (const std::size_t n : order) {
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), steerings[n]);
      for (std::size_t e = 0; e < host.extent(0); ++e) {
        offsets_on_host(keys.size()) = first + static_cast<std::size_t>(host(e, 0));
        std::vector<int> key;
        for (std::size_t c = 0; c < columns; ++c) key.push_back(host(e, c + 1));
        for (std::size_t c = 0; c < columns; ++c) steering_on_host(keys.size(), c) = key[c];
        keys.push_back(std::move(key));
      }
      first += buffers[n].extent(0);
    }
    Kokkos::deep_copy(offsets, offsets_on_host);
    Kokkos::deep_copy(steering, steering_on_host);
    groups = Groups<MemorySpace>::by(keys);
  }

  /// One kernel for all neighbours.
  template <class ExecutionSpace, class... Views>
  void pack(const ExecutionSpace& space, const Fields<Views...>& fields) const {
    const auto to = buffer;
    const auto at = offsets;
    const auto rows = steering;
    Kokkos::parallel_for(
        "laneway::cabana::pack", Kokkos::RangePolicy<ExecutionSpace>(space, 0, rows.extent(0)),
        KOKKOS_LAMBDA(const std::size_t e) {
          with_element(fields, rows, e, 0, [&](const auto& value) {
            const char* const from = reinterpret_cast<const char*>(&value);
            for (std::size_t b = 0; b < sizeof(value); ++b) to(at(e) + b) = from[b];
          });
        });
  }
  /// One kernel for all neighbours; what several of them have sent for one element is taken in their order.
  template <class ExecutionSpace, class Combine, class... Views>
  void unpack(const ExecutionSpace& space, const Combine& combine, const Fields<Views...>& fields) const {
    const auto from = buffer;
    const auto at = offsets;
    const auto rows = steering;
    const Groups<MemorySpace> together = groups;
    Kokkos::parallel_for(
        "laneway::cabana::unpack", Kokkos::RangePolicy<ExecutionSpace>(space, 0, together.size()),
        KOKKOS_LAMBDA(const std::size_t g) {
          for (std::size_t m = together.starts(g); m < together.starts(g + 1); ++m) {
            const std::size_t e = together.members(m);
            with_element(fields, rows, e, 0, [&](auto& value) {
              auto arrived = value;
              char* const to = reinterpret_cast<char*>(&arrived);
              for (std::size_t b = 0; b < sizeof(value); ++b) to[b] = from(at(e) + b);
              combine(arrived, value);
            });
          }
        });
  }
};

}  // namespace cabana

}  // namespace cxx

}  // namespace laneway

namespace Cabana::Grid {

/// All neighbours' parts are packed by one kernel and unpacked by one, and are one persistent exchange.
template <class MemorySpace>
class Halo<MemorySpace, laneway::CabanaCommSpace> : public HaloBase<MemorySpace> {
 public:
  using typename HaloBase<MemorySpace>::memory_space;

  /// Collective over the communicator of the grid.
  template <class Pattern, class... Arrays>
  Halo(const Pattern& pattern, int width, const Arrays&... arrays) : HaloBase<MemorySpace>(pattern, width, arrays...) {
    // What one rank sends another several times has to have the same order on both: that of the directions in which
    // it is sent, which are the opposite of those in which it is received.
    const auto by = [](const std::vector<int>& tags) {
      std::vector<std::size_t> order(tags.size());
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return tags[a] < tags[b]; });
      return order;
    };
    const std::vector<std::size_t> sent = by(this->_send_tags), received = by(this->_receive_tags);
    const auto both = [&](const auto& buffers, const auto& steerings) {
      return std::make_shared<Both>(Both{{buffers, steerings, this->_neighbor_ranks, sent},
                                         {buffers, steerings, this->_neighbor_ranks, received}});
    };
    owned_ = both(this->_owned_buffers, this->_owned_steering);
    ghosts_ = both(this->_ghosted_buffers, this->_ghosted_steering);
    // Each neighbour's own buffers are not used.
    for (auto* buffers : {&this->_owned_buffers, &this->_ghosted_buffers})
      for (auto& buffer : *buffers) buffer = {};
    const MPI_Comm comm = this->getComm(arrays...);
    gather_ = exchange(comm, owned_->sent, ghosts_->received);
    scatter_ = exchange(comm, ghosts_->sent, owned_->received);
  }

  /// Fills the ghosts of `arrays`, which are like those that the halo was made with. Ordered by `space`, which is
  /// fenced at the end.
  template <class ExecutionSpace, class... Arrays>
  void gather(const ExecutionSpace& space, const Arrays&... arrays) const {
    const auto fields = laneway::cabana::fields_of(arrays.view()...);
    owned_->sent.pack(space, fields);
    gather_->run(space, owned_->sent.buffer, ghosts_->received.buffer);
    unpack(space, ScatterReduce::Replace(), ghosts_->received, fields);
    space.fence();
  }
  /// Combines ghosts into the elements of which they are copies, by ScatterReduce::Sum, Min, Max or Replace.
  template <class ExecutionSpace, class ReduceOp, class... Arrays>
  void scatter(const ExecutionSpace& space, const ReduceOp& op, const Arrays&... arrays) const {
    const auto fields = laneway::cabana::fields_of(arrays.view()...);
    ghosts_->sent.pack(space, fields);
    scatter_->run(space, ghosts_->sent.buffer, owned_->received.buffer);
    unpack(space, op, owned_->received, fields);
    space.fence();
  }

 protected:
  using Side = laneway::cabana::Side<MemorySpace>;
  using Exchange = laneway::cabana::PackedExchange;
  /// The same elements as they are sent and as they are received.
  struct Both {
    Side sent, received;
  };

  static std::shared_ptr<Exchange> exchange(MPI_Comm comm, const Side& sent, const Side& received) {
    return std::make_shared<Exchange>(comm, sent.blocks, received.blocks, 1);
  }
  template <class ExecutionSpace, class ReduceOp, class Fields>
  static void unpack(const ExecutionSpace& space, const ReduceOp& op, const Side& side, const Fields& fields) {
    side.unpack(space, Combine<ReduceOp>{op}, fields);
  }
  template <class ReduceOp>
  struct Combine {
    ReduceOp op;
    template <class T>
    KOKKOS_INLINE_FUNCTION void operator()(const T& arrived, T& value) const {
      HaloBase<MemorySpace>::unpackOp(op, arrived, value);
    }
  };

  std::shared_ptr<Both> owned_, ghosts_;
  std::shared_ptr<Exchange> gather_, scatter_;
};

namespace Experimental {

/// Found in branches of Cabana so far.
template <class ExecutionSpace, class MemorySpace, class CommSpace>
class StreamHalo;

/// A halo that the stream of an execution space instance starts and waits for: kernels and the exchange are put into
/// the stream, and the calls return. An instance without a stream has done everything when the calls return.
template <class ExecutionSpace, class MemorySpace>
class StreamHalo<ExecutionSpace, MemorySpace, laneway::CabanaCommSpace>
    : public Halo<MemorySpace, laneway::CabanaCommSpace> {
  using base = Halo<MemorySpace, laneway::CabanaCommSpace>;

 public:
  using execution_space = ExecutionSpace;

  template <class Pattern, class... Arrays>
  StreamHalo(const ExecutionSpace& space, const Pattern& pattern, int width, const Arrays&... arrays)
      : base(pattern, width, arrays...), space_(space), queue_(laneway::kokkos::queue_of_stream(space)) {}

  template <class... Arrays>
  void enqueueGather(const Arrays&... arrays) {
    if (!queue_) return this->gather(space_, arrays...);
    const auto fields = laneway::cabana::fields_of(arrays.view()...);
    this->owned_->sent.pack(space_, fields);
    enqueue(*this->gather_, this->owned_->sent, this->ghosts_->received);
    this->unpack(space_, ScatterReduce::Replace(), this->ghosts_->received, fields);
  }
  template <class ReduceOp, class... Arrays>
  void enqueueScatter(const ReduceOp& op, const Arrays&... arrays) {
    if (!queue_) return this->scatter(space_, op, arrays...);
    const auto fields = laneway::cabana::fields_of(arrays.view()...);
    this->ghosts_->sent.pack(space_, fields);
    enqueue(*this->scatter_, this->ghosts_->sent, this->owned_->received);
    this->unpack(space_, op, this->owned_->received, fields);
  }
  /// Returns when all that was enqueued is done; throws what an exchange has failed with. Before the halo is destroyed.
  void wait() {
    if (queue_) queue_->wait();
    space_.fence();
  }

 private:
  void enqueue(laneway::cabana::PackedExchange& exchange, const typename base::Side& sent,
               const typename base::Side& received) {
    exchange.bind(sent.buffer, received.buffer);
    queue_->start(exchange.operation());
    queue_->wait(exchange.operation());
  }

  const ExecutionSpace space_;
  std::optional<laneway::Queue> queue_;
};

}  // namespace Experimental

}  // namespace Cabana::Grid

namespace laneway {

inline namespace cxx {

namespace cabana {

/// Collective over the communicator of the grid. Exchanges are in the order of `space`.
template <class ExecutionSpace, class Pattern, class First, class... More>
[[nodiscard]] auto create_stream_halo(const ExecutionSpace& space, const Pattern& pattern, int width,
                                      const First& first, const More&... more) {
  using Made = Cabana::Grid::Experimental::StreamHalo<ExecutionSpace, typename First::memory_space, CabanaCommSpace>;
  return std::make_shared<Made>(space, pattern, width, first, more...);
}

}  // namespace cabana

}  // namespace cxx

}  // namespace laneway
