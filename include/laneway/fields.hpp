/// Several arrays in one exchange of a halo. Comes with laneway.hpp.
#pragma once

#include "laneway/laneway.hpp"

#include <numeric>

namespace laneway {

inline namespace cxx {

namespace detail {

/// Copies elements of one array to places in another one, both in memory of any kind: an exchange of this rank with
/// itself. Local.
template <class T>
class LocalCopy {
 public:
  /// `self`: of this rank alone, with so many edges to itself that an int counts the elements of each.
  LocalCopy(const Graph& self, std::size_t edges, std::size_t from_size, const std::vector<MPI_Count>& from,
            std::size_t to_size, const std::vector<MPI_Count>& to) {
    std::vector<int> counts;
    for (std::size_t i = 0; i < edges; ++i)
      counts.push_back(static_cast<int>(from.size() * (i + 1) / edges - from.size() * i / edges));
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_alltoallv_init_indexed(nullptr, static_cast<MPI_Count>(from_size), counts.data(), from.data(),
                                              type.get(), nullptr, static_cast<MPI_Count>(to_size), counts.data(),
                                              to.data(), type.get(), self.get(), MPI_INFO_NULL, &request));
    copy_ = Persistent(request);
  }

  void start(const T* from, T* to) {
    copy_.set_buffers(from, to);
    copy_.start();
  }
  void wait() { copy_.wait(); }

 private:
  Persistent copy_;
};

/// What a halo moves of several arrays at a time. A message has, for one neighbour, its elements of the first array,
/// then of the second, and so on. It is packed in the memory of the host; arrays may be anywhere.
template <class T>
class HaloFields {
 public:
  /// Collective over the ranks of `graph`; arrays have `size` elements.
  HaloFields(const Graph& graph, const HaloSide& owned, const HaloSide& ghosts, std::size_t size, std::size_t number,
             MPI_Info hints)
      : number_(number),
        size_(size),
        owned_(owned),
        ghosts_(ghosts),
        edges_(1 + std::max(owned.indices.size(), ghosts.indices.size()) / (INT_MAX / 2)),
        self_(MPI_COMM_SELF, std::vector<int>(edges_, 0), std::vector<int>(edges_, 0)),
        sent_(number * owned.indices.size()),
        arrived_(number * ghosts.indices.size()) {
    for (std::size_t field = 0; field < number; ++field) {
      out_.emplace_back(self_, edges_, size, owned.indices, sent_.size(), places_in(owned, field));
      in_.emplace_back(self_, edges_, arrived_.size(), places_in(ghosts, field), size, ghosts.indices);
    }
    const Blocks out = blocks_of(owned), in = blocks_of(ghosts);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_alltoallv_init_c(sent_.data(), out.counts.data(), out.places.data(), type.get(), arrived_.data(),
                                        in.counts.data(), in.places.data(), type.get(), graph.get(), hints, &request));
    operation_ = Persistent(request);
  }

  [[nodiscard]] std::size_t number() const { return number_; }

  void exchange(std::span<const std::span<T>> fields) {
    copy(out_, [&](std::size_t field, LocalCopy<T>& one) { one.start(fields[field].data(), sent_.data()); });
    operation_.run();
    copy(in_, [&](std::size_t field, LocalCopy<T>& one) { one.start(arrived_.data(), fields[field].data()); });
  }

  /// Backwards, by way of a copy of each element that others have ghosts of. `reverse`: the graph, turned around.
  void accumulate(std::span<const std::span<T>> fields, MPI_Op op, const Graph& reverse, MPI_Info hints) {
    if (gather_.empty()) prepare_backwards();
    Persistent& operation = backwards_by(op, reverse, hints);
    copy(gather_, [&](std::size_t field, LocalCopy<T>& one) { one.start(fields[field].data(), arrived_.data()); });
    copy(load_, [&](std::size_t field, LocalCopy<T>& one) { one.start(fields[field].data(), combined_.data()); });
    operation.run();
    copy(store_, [&](std::size_t field, LocalCopy<T>& one) { one.start(combined_.data(), fields[field].data()); });
  }

 private:
  struct Blocks {
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> places;
  };

  template <class Start>
  static void copy(std::vector<LocalCopy<T>>& copies, Start&& start) {
    for (std::size_t field = 0; field < copies.size(); ++field) start(field, copies[field]);
    for (LocalCopy<T>& one : copies) one.wait();
  }

  [[nodiscard]] Blocks blocks_of(const HaloSide& side) const {
    Blocks blocks;
    MPI_Aint next = 0;
    for (const int count : side.counts) {
      blocks.counts.push_back(static_cast<MPI_Count>(number_) * count);
      blocks.places.push_back(next);
      next += static_cast<MPI_Aint>(number_) * count;
    }
    return blocks;
  }

  /// Where a field's elements are among those of all fields.
  [[nodiscard]] std::vector<MPI_Count> places_in(const HaloSide& side, std::size_t field) const {
    std::vector<MPI_Count> places;
    places.reserve(side.indices.size());
    MPI_Count first = 0;
    for (const MPI_Count count : side.counts) {
      for (MPI_Count k = 0; k < count; ++k) places.push_back(first + static_cast<MPI_Count>(field) * count + k);
      first += static_cast<MPI_Count>(number_) * count;
    }
    return places;
  }

  void prepare_backwards() {
    wanted_ = owned_.indices;
    std::sort(wanted_.begin(), wanted_.end());
    wanted_.erase(std::unique(wanted_.begin(), wanted_.end()), wanted_.end());
    combined_.resize(number_ * wanted_.size());
    for (std::size_t field = 0; field < number_; ++field) {
      std::vector<MPI_Count> places(wanted_.size());
      std::iota(places.begin(), places.end(), static_cast<MPI_Count>(field * wanted_.size()));
      gather_.emplace_back(self_, edges_, size_, ghosts_.indices, arrived_.size(), places_in(ghosts_, field));
      load_.emplace_back(self_, edges_, size_, wanted_, combined_.size(), places);
      store_.emplace_back(self_, edges_, combined_.size(), places, size_, wanted_);
    }
  }

  Persistent& backwards_by(MPI_Op op, const Graph& reverse, MPI_Info hints) {
    for (auto& [known, operation] : backwards_)
      if (known == op) return operation;
    // A count of less than 0 is an error on all ranks.
    const auto counts_of = [&](const HaloSide& side) {
      std::vector<int> counts;
      for (const MPI_Count count : blocks_of(side).counts)
        counts.push_back(count <= INT_MAX ? static_cast<int>(count) : -1);
      return counts;
    };
    std::vector<MPI_Count> from(arrived_.size()), to;
    std::iota(from.begin(), from.end(), MPI_Count{0});
    std::size_t first = 0;
    for (const int count : owned_.counts) {
      for (std::size_t field = 0; field < number_; ++field)
        for (std::size_t k = 0; k < static_cast<std::size_t>(count); ++k) {
          const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), owned_.indices[first + k]);
          to.push_back(static_cast<MPI_Count>(field * wanted_.size()) + (at - wanted_.begin()));
        }
      first += static_cast<std::size_t>(count);
    }
    const std::vector<int> sent = counts_of(ghosts_), received = counts_of(owned_);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_reducev_init_indexed(arrived_.data(), static_cast<MPI_Count>(arrived_.size()), sent.data(),
                                            from.data(), type.get(), combined_.data(),
                                            static_cast<MPI_Count>(combined_.size()), received.data(), to.data(),
                                            type.get(), op, reverse.get(), hints, &request));
    return backwards_.emplace_back(op, Persistent(request)).second;
  }

  std::size_t number_;
  std::size_t size_;
  HaloSide owned_, ghosts_;
  std::size_t edges_;
  Graph self_;
  std::vector<T> sent_, arrived_;
  std::vector<LocalCopy<T>> out_, in_;
  Persistent operation_;
  // Backwards, once something is accumulated.
  std::vector<MPI_Count> wanted_;  // elements that others have ghosts of, ascending
  std::vector<T> combined_;        // field by field
  std::vector<LocalCopy<T>> gather_, load_, store_;
  std::vector<std::pair<MPI_Op, Persistent>> backwards_;
};

}  // namespace detail

}  // namespace cxx

}  // namespace laneway
