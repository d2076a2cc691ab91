/// Halos of strided arrays of any rank: a pointer, extents and strides, as std::mdspan describes them; needs no Kokkos.
#pragma once

#include "laneway/laneway.hpp"

namespace laneway {

inline namespace cxx {

/// Elements of an array of `Rank` dimensions: those with `begin[d] <= i[d] < end[d]` in every dimension d.
template <std::size_t Rank>
struct Box {
  std::array<std::size_t, Rank> begin{};
  std::array<std::size_t, Rank> end{};

  /// How many elements it has.
  [[nodiscard]] std::size_t size() const {
    std::size_t elements = 1;
    for (std::size_t d = 0; d < Rank; ++d) elements *= end[d] - begin[d];
    return elements;
  }
};

/// A box that goes to a rank, or comes from it.
template <std::size_t Rank>
struct Part {
  int rank = 0;
  Box<Rank> box;
};

/// An array by pointer, extents and strides; strides count in elements. It owns nothing.
template <class T, std::size_t Rank>
struct StridedView {
  static_assert(Rank >= 1, "laneway::StridedView: at least one dimension");

  T* data = nullptr;
  std::array<std::size_t, Rank> extents{};
  std::array<std::size_t, Rank> strides{};

  /// Elements from the first to the last, both included, with what lies between them.
  [[nodiscard]] std::size_t span() const {
    std::size_t last = 0;
    for (std::size_t d = 0; d < Rank; ++d) {
      if (extents[d] == 0) return 0;
      last += (extents[d] - 1) * strides[d];
    }
    return last + 1;
  }
  /// Where an element is, in elements from the first.
  [[nodiscard]] std::size_t offset(const std::array<std::size_t, Rank>& index) const {
    std::size_t at = 0;
    for (std::size_t d = 0; d < Rank; ++d) at += index[d] * strides[d];
    return at;
  }
  [[nodiscard]] T& operator()(const std::array<std::size_t, Rank>& index) const { return data[offset(index)]; }
};

/// Of anything with std::mdspan's members.
template <class Mdspan>
[[nodiscard]] auto strided_view(const Mdspan& array) {
  StridedView<typename Mdspan::element_type, Mdspan::rank()> view;
  view.data = array.data_handle();
  for (std::size_t d = 0; d < Mdspan::rank(); ++d) {
    view.extents[d] = static_cast<std::size_t>(array.extent(d));
    view.strides[d] = static_cast<std::size_t>(array.stride(d));
  }
  return view;
}

namespace detail {

/// Dimensions, that with the smallest stride first.
template <std::size_t Rank>
[[nodiscard]] std::array<std::size_t, Rank> order_of(const std::array<std::size_t, Rank>& extents,
                                                     const std::array<std::size_t, Rank>& strides) {
  std::array<std::size_t, Rank> order{};
  for (std::size_t d = 0; d < Rank; ++d) order[d] = Rank - 1 - d;
  // The stride of a dimension of one element says nothing.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return extents[a] > 1 && extents[b] > 1 && strides[a] < strides[b];
  });
  return order;
}

/// The order that all ranks have; the last dimension first where they differ. Collective.
template <std::size_t Rank>
[[nodiscard]] std::array<std::size_t, Rank> common_order(MPI_Comm comm, const std::array<std::size_t, Rank>& order) {
  if (comm == MPI_COMM_NULL || !is_running()) return order;  // the call that follows says so
  std::array<int, 2 * Rank> own{}, least{};
  for (std::size_t d = 0; d < Rank; ++d) {
    own[d] = static_cast<int>(order[d]);
    own[Rank + d] = -own[d];
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(own.data(), least.data(), static_cast<int>(own.size()), MPI_INT, MPI_MIN, comm, &request));
  // As in agree(): others may wait for what this rank relays.
  int done = 0;
  for (check(MPI_Test(&request, &done, MPI_STATUS_IGNORE)); !done;
       check(MPI_Test(&request, &done, MPI_STATUS_IGNORE))) {
    int major = 0, minor = 0, patch = 0;
    check(LNW_Get_version(&major, &minor, &patch));
  }
  std::array<std::size_t, Rank> common{};
  bool same = true;
  for (std::size_t d = 0; d < Rank; ++d) {
    common[d] = order[d];
    same = same && least[d] == -least[Rank + d];
  }
  if (!same)
    for (std::size_t d = 0; d < Rank; ++d) common[d] = Rank - 1 - d;
  return common;
}

template <std::size_t Rank>
[[nodiscard]] std::string problem_of(std::span<const Part<Rank>> parts, const std::string& name,
                                     const std::array<std::size_t, Rank>& extents) {
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const Box<Rank>& box = parts[p].box;
    for (std::size_t d = 0; d < Rank; ++d)
      if (box.begin[d] > box.end[d] || box.end[d] > extents[d])
        return name + "[" + std::to_string(p) + "].box is [" + std::to_string(box.begin[d]) + ", " +
               std::to_string(box.end[d]) + ") in dimension " + std::to_string(d) + " of extent " +
               std::to_string(extents[d]);
    if (box.size() > INT_MAX) return name + "[" + std::to_string(p) + "].box has 2^31 elements or more";
  }
  return {};
}

/// Offsets of the boxes' elements, one box after another, in each box the dimensions in the given order.
template <std::size_t Rank>
[[nodiscard]] HaloSide side_of(std::span<const Part<Rank>> parts, const std::array<std::size_t, Rank>& strides,
                               const std::array<std::size_t, Rank>& order) {
  HaloSide side;
  for (const Part<Rank>& part : parts) {
    const std::size_t elements = part.box.size();
    side.ranks.push_back(part.rank);
    side.counts.push_back(static_cast<int>(elements));
    std::array<std::size_t, Rank> index = part.box.begin;
    for (std::size_t i = 0; i < elements; ++i) {
      std::size_t at = 0;
      for (std::size_t d = 0; d < Rank; ++d) at += index[d] * strides[d];
      side.indices.push_back(static_cast<MPI_Count>(at));
      for (const std::size_t d : order) {
        if (++index[d] < part.box.end[d]) break;
        index[d] = part.box.begin[d];
      }
    }
  }
  return side;
}

}  // namespace detail

/// What is sent and what is received.
template <std::size_t Rank>
struct Parts {
  std::vector<Part<Rank>> send;
  std::vector<Part<Rank>> receive;
};

/// Parts of a block of a regular grid, with `width` layers of ghosts on all its sides, ghosts included in `extents`.
/// `comm` is of MPI_Cart_create with `Rank` dimensions. With `corners` also neighbours across edges and corners count.
template <std::size_t Rank>
[[nodiscard]] Parts<Rank> cart_parts(MPI_Comm comm, const std::array<std::size_t, Rank>& extents, std::size_t width,
                                     bool corners = true) {
  std::array<int, Rank> sizes{}, periodic{}, own{};
  check(MPI_Cart_get(comm, static_cast<int>(Rank), sizes.data(), periodic.data(), own.data()));
  for (std::size_t d = 0; d < Rank; ++d)
    if (extents[d] < 3 * width)
      throw std::invalid_argument("laneway::cart_parts: extents[" + std::to_string(d) + "] is " +
                                  std::to_string(extents[d]) + ", less than three times the width");
  Parts<Rank> parts;
  // What goes in one direction arrives from the opposite one, so both lists have it at the same place.
  std::array<int, Rank> direction{};
  const auto neighbor = [&](int sign) -> std::optional<int> {
    std::array<int, Rank> at = own;
    for (std::size_t d = 0; d < Rank; ++d) {
      at[d] += sign * direction[d];
      if (!periodic[d] && (at[d] < 0 || at[d] >= sizes[d])) return std::nullopt;
      at[d] = (at[d] + sizes[d]) % sizes[d];
    }
    int rank = 0;
    check(MPI_Cart_rank(comm, at.data(), &rank));
    return rank;
  };
  const auto box = [&](bool ghosts) {
    Box<Rank> result;
    for (std::size_t d = 0; d < Rank; ++d) {
      const std::size_t n = extents[d], first = ghosts ? 0 : width;
      const int side = ghosts ? -direction[d] : direction[d];
      result.begin[d] = side == 0 ? width : side < 0 ? first : n - first - width;
      result.end[d] = side == 0 ? n - width : result.begin[d] + width;
    }
    return result;
  };
  int directions = 1;
  for (std::size_t d = 0; d < Rank; ++d) directions *= 3;
  for (int number = 0; number < directions; ++number) {
    int rest = number, axes = 0;
    for (std::size_t d = 0; d < Rank; ++d, rest /= 3) axes += (direction[d] = rest % 3 - 1) != 0;
    if (axes == 0 || (axes > 1 && !corners)) continue;
    if (const std::optional<int> to = neighbor(1)) parts.send.push_back({*to, box(false)});
    if (const std::optional<int> from = neighbor(-1)) parts.receive.push_back({*from, box(true)});
  }
  return parts;
}

/// The halo of a strided array: boxes of it go to other ranks, boxes of it come from them. What one rank sends to
/// another as its k-th part for it, that one receives as its k-th part from it; their boxes have the same extents.
/// Ranks may have other strides, and other layouts. Elements between the strides are left alone.
///
///     laneway::StridedHalo<double, 2> halo(comm, view, send, receive);
///     halo.exchange(view);
template <class T, std::size_t Rank>
class StridedHalo {
 public:
  /// Collective over `comm`. Of `view` only extents and strides matter; arrays that are exchanged have the same.
  /// Throws std::invalid_argument on all ranks if a box of some rank is outside its array.
  StridedHalo(MPI_Comm comm, const StridedView<T, Rank>& view, std::span<const Part<Rank>> send,
              std::span<const Part<Rank>> receive, const Hints& hints = {})
      : extents_(view.extents),
        strides_(view.strides),
        span_(view.span()),
        order_(checked(comm, view, send, receive)),
        halo_(comm, detail::side_of(send, strides_, order_), detail::side_of(receive, strides_, order_), span_, hints) {
  }

  /// Fills the boxes that come from other ranks.
  void exchange(const StridedView<T, Rank>& view) { halo_.exchange(elements_of(view)); }
  /// Begins an exchange; `wait` ends it.
  void start(const StridedView<T, Rank>& view) { halo_.start(elements_of(view)); }
  /// As Halo::enqueue.
  void enqueue(Queue& queue, const StridedView<T, Rank>& view) { halo_.enqueue(queue, elements_of(view)); }
  /// Whether the exchange is complete.
  [[nodiscard]] bool test() { return halo_.test(); }
  /// Returns when the exchange is complete.
  void wait() { halo_.wait(); }
  /// As Halo::accumulate.
  void accumulate(const StridedView<T, Rank>& view, MPI_Op op = MPI_SUM) { halo_.accumulate(elements_of(view), op); }
  /// As Halo::enqueue_accumulate.
  void enqueue_accumulate(Queue& queue, const StridedView<T, Rank>& view, MPI_Op op = MPI_SUM) {
    halo_.enqueue_accumulate(queue, elements_of(view), op);
  }

  /// The operation that exchanges, for what it tells of itself.
  [[nodiscard]] const Persistent& operation() const { return halo_.operation(); }

 private:
  [[nodiscard]] std::span<T> elements_of(const StridedView<T, Rank>& view) const {
    for (std::size_t d = 0; d < Rank; ++d)
      if (view.extents[d] != extents_[d] || (extents_[d] > 1 && view.strides[d] != strides_[d]))
        throw std::invalid_argument("laneway::StridedHalo: in dimension " + std::to_string(d) +
                                    " the array has extent " + std::to_string(view.extents[d]) + " and stride " +
                                    std::to_string(view.strides[d]) + ", the halo " + std::to_string(extents_[d]) +
                                    " and " + std::to_string(strides_[d]));
    return {view.data, span_};
  }

  /// The order of elements in a box, once all ranks have found nothing wrong.
  static std::array<std::size_t, Rank> checked(MPI_Comm comm, const StridedView<T, Rank>& view,
                                               std::span<const Part<Rank>> send, std::span<const Part<Rank>> receive) {
    std::string problem = detail::problem_of(send, "send", view.extents);
    if (problem.empty()) problem = detail::problem_of(receive, "receive", view.extents);
    detail::agree(comm, "laneway::StridedHalo", problem);
    return detail::common_order(comm, detail::order_of(view.extents, view.strides));
  }

  std::array<std::size_t, Rank> extents_;
  std::array<std::size_t, Rank> strides_;
  std::size_t span_;
  std::array<std::size_t, Rank> order_;
  Halo<T> halo_;
};

}  // namespace cxx

}  // namespace laneway
