/// Halos and distributors of arrays of structures of arrays, as Cabana has them: any members at once; needs no Kokkos.
#pragma once

#include "laneway/laneway.hpp"
#include "laneway/sparse.hpp"

namespace laneway {

inline namespace cxx {

/// Where a member is in a structure, in units. A component of it lies lane after lane.
struct AosoaMember {
  std::size_t begin = 0;       ///< of the first lane of the first component
  std::size_t units = 1;       ///< that a component has of one element
  std::size_t components = 1;  ///< of an element: 3 of a double[3]
  std::size_t stride = 0;      ///< from a component to the next one
};

/// An array of structures of arrays, in units of some type: element i is lane i % lanes of structure i / lanes.
struct AosoaLayout {
  std::size_t lanes = 1;      ///< elements in a structure
  std::size_t structure = 0;  ///< units from one structure to the next
  std::vector<AosoaMember> members;

  /// That an element has of all members.
  [[nodiscard]] std::size_t units() const {
    std::size_t sum = 0;
    for (const AosoaMember& member : members) sum += member.units * member.components;
    return sum;
  }
  /// Of so many elements: up to the end of the last structure.
  [[nodiscard]] std::size_t span(std::size_t elements) const { return (elements + lanes - 1) / lanes * structure; }
  /// Appends where an element's units are, member after member.
  void append(std::size_t element, std::vector<MPI_Count>& indices) const {
    const std::size_t begin = element / lanes * structure;
    for (const AosoaMember& member : members)
      for (std::size_t c = 0; c < member.components; ++c)
        for (std::size_t u = 0; u < member.units; ++u)
          indices.push_back(
              static_cast<MPI_Count>(begin + member.begin + c * member.stride + element % lanes * member.units + u));
  }
};

namespace detail {

/// Lists of units for lists of elements. Lists that contradict themselves stay so, for others to find.
[[nodiscard]] inline HaloSide units_of(const AosoaLayout& layout, const HaloSide& side) {
  HaloSide units{side.ranks, {}, {}};
  const std::size_t each = layout.units();
  for (const int count : side.counts) {
    if (count > 0 && static_cast<std::size_t>(count) > INT_MAX / (each > 0 ? each : 1))
      throw std::invalid_argument("laneway::AosoaHalo: a neighbor has 2^31 units or more");
    units.counts.push_back(count * static_cast<int>(each));
  }
  units.indices.reserve(side.indices.size() * each);
  for (const MPI_Count index : side.indices) layout.append(static_cast<std::size_t>(index), units.indices);
  return units;
}

}  // namespace detail

/// The halo of elements of an array of structures of arrays: all its members travel in one exchange, and members that
/// the layout does not name are left alone. T is the unit. The arrays may be on devices, where they are packed.
///
///     laneway::AosoaHalo<float> halo(comm, layout, size, send, receive);
///     halo.exchange(data);
template <class T>
class AosoaHalo {
 public:
  /// Collective over `comm`. As Halo; `send` and `receive` list elements, of which the array has `size`.
  AosoaHalo(MPI_Comm comm, const AosoaLayout& layout, std::size_t size, const HaloSide& send, const HaloSide& receive,
            const Hints& hints = {})
      : span_(layout.span(size)),
        halo_(comm, detail::units_of(layout, send), detail::units_of(layout, receive), span_, hints) {}

  /// Fills the elements that come from other ranks. `data`: the first structure.
  void exchange(T* data) { halo_.exchange({data, span_}); }
  /// Begins an exchange; `wait` ends it.
  void start(T* data) { halo_.start({data, span_}); }
  /// Whether the exchange is complete.
  [[nodiscard]] bool test() { return halo_.test(); }
  /// Returns when the exchange is complete.
  void wait() { halo_.wait(); }
  /// As Halo::enqueue.
  void enqueue(Queue& queue, T* data) { halo_.enqueue(queue, {data, span_}); }
  /// As Halo::accumulate, of members whose components are numbers of type T.
  void accumulate(T* data, MPI_Op op = MPI_SUM) { halo_.accumulate({data, span_}, op); }

  /// The operation that exchanges, for what it tells of itself.
  [[nodiscard]] const Persistent& operation() const { return halo_.operation(); }

 private:
  std::size_t span_;
  Halo<T> halo_;
};

/// Moves elements of an array of structures of arrays to other ranks, all members at once. They arrive as elements 0,
/// 1, ... of another array, by source in ascending order, those of one source in the order that they have there.
///
///     laneway::AosoaDistributor<float> distributor(comm, layout, ranks, layout);
///     distributor.migrate(particles, arrived);   // room for distributor.imports()
template <class T>
class AosoaDistributor {
 public:
  /// Element i of an array of layout `from` goes to `export_ranks[i]`, to none where that is -1. Both layouts have as
  /// many units an element. Collective.
  AosoaDistributor(MPI_Comm comm, const AosoaLayout& from, std::span<const int> export_ranks, const AosoaLayout& to,
                   const Hints& hints = {})
      : AosoaDistributor(from, export_ranks, to, Distributor<unsigned char>(comm, export_ranks, hints), comm, hints) {}

  /// How many elements arrive.
  [[nodiscard]] std::size_t imports() const { return imports_; }
  /// `from` has an element for each export rank, `to` room for imports(). Both may be on devices.
  void migrate(const T* from, T* to) {
    start(from, to);
    wait();
  }
  /// Begins what `migrate` does; `wait` ends it.
  void start(const T* from, T* to) {
    bind(from, to);
    operation_.start();
  }
  /// Returns when all has arrived.
  void wait() { operation_.wait(); }
  /// Puts it into a queue and returns; other arrays only when the queue has been waited for.
  void enqueue(Queue& queue, const T* from, T* to) {
    bind(from, to);
    queue.start(operation_);
    queue.wait(operation_);
  }

 private:
  AosoaDistributor(const AosoaLayout& from, std::span<const int> export_ranks, const AosoaLayout& to,
                   const Distributor<unsigned char>& moves, MPI_Comm comm, const Hints& hints)
      : imports_(moves.imports()) {
    if (from.units() != to.units())
      throw std::invalid_argument("laneway::AosoaDistributor: elements of " + std::to_string(from.units()) + " and " +
                                  std::to_string(to.units()) + " units");
    std::map<int, std::vector<MPI_Count>> exports;  // by rank, ascending
    for (std::size_t i = 0; i < export_ranks.size(); ++i)
      if (export_ranks[i] >= 0) exports[export_ranks[i]].push_back(static_cast<MPI_Count>(i));
    HaloSide sent, received;
    for (const auto& [rank, elements] : exports) {
      sent.ranks.push_back(rank);
      sent.counts.push_back(static_cast<int>(elements.size()));
      sent.indices.insert(sent.indices.end(), elements.begin(), elements.end());
    }
    const std::span<const int> sources = moves.sources();
    for (std::size_t s = 0; s < sources.size(); ++s) {
      received.ranks.push_back(sources[s]);
      received.counts.push_back(static_cast<int>(moves.counts()[s]));
    }
    for (std::size_t i = 0; i < imports_; ++i) received.indices.push_back(static_cast<MPI_Count>(i));
    const HaloSide out = detail::units_of(from, sent), in = detail::units_of(to, received);
    topology_.emplace(comm, std::span<const int>(in.ranks), std::span<const int>(out.ranks), hints);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_alltoallv_init_indexed_topology(
        nullptr, static_cast<MPI_Count>(from.span(export_ranks.size())), out.counts.data(), out.indices.data(),
        type.get(), nullptr, static_cast<MPI_Count>(to.span(imports_)), in.counts.data(), in.indices.data(), type.get(),
        topology_->get(), hints.get(), &request));
    operation_ = Persistent(request);
  }

  void bind(const T* from, T* to) {
    // Whoever has nothing to send, or gets nothing, may have no array.
    if (to == nullptr) to = from != nullptr ? const_cast<T*>(from) : &nothing_;
    if (from == nullptr) from = to;
    if (from == from_ && to == to_) return;
    operation_.set_buffers(from, to);
    from_ = from;
    to_ = to;
  }

  std::size_t imports_ = 0;
  std::optional<Topology> topology_;
  Persistent operation_;
  const T* from_ = nullptr;
  T* to_ = nullptr;
  T nothing_{};
};

}  // namespace cxx

}  // namespace laneway
