/// Exchanges of Tpetra's on plans: from an existing Tpetra::Distributor or Tpetra::Import, in both directions.
/// Needs Trilinos 13.2 or later; the data are in memory that the host may access.
#pragma once

#include <Teuchos_DefaultMpiComm.hpp>
#include <Tpetra_Distributor.hpp>
#include <Tpetra_Import.hpp>
#include <Tpetra_MultiVector.hpp>

#include "laneway/kokkos.hpp"

namespace laneway {

inline namespace cxx {

namespace tpetra {

namespace detail {

[[nodiscard]] inline MPI_Comm raw(const Teuchos::Comm<int>& comm) {
  const auto* mpi = dynamic_cast<const Teuchos::MpiComm<int>*>(&comm);
  if (mpi == nullptr) throw std::invalid_argument("laneway::tpetra: the communicator is not one of MPI");
  return *mpi->getRawMpiComm();
}

/// Who exchanges how many elements with this rank. Tpetra's lists of them name the rank itself like any other.
struct Ends {
  std::vector<int> to, from;
  std::vector<std::size_t> lengths_to, lengths_from;

  explicit Ends(const Tpetra::Distributor& distributor) {
    const auto copy = [](const auto& view, auto& list) { list.assign(view.begin(), view.end()); };
    copy(distributor.getProcsTo(), to);
    copy(distributor.getProcsFrom(), from);
    copy(distributor.getLengthsTo(), lengths_to);
    copy(distributor.getLengthsFrom(), lengths_from);
  }
};

/// Each of `elements` as `packets` elements, each `stride` after the one before it.
[[nodiscard]] inline std::vector<MPI_Count> expanded(const std::vector<MPI_Count>& elements, std::size_t scale,
                                                     std::size_t packets, std::size_t stride) {
  std::vector<MPI_Count> indices;
  indices.reserve(elements.size() * packets);
  for (const MPI_Count element : elements)
    for (std::size_t p = 0; p < packets; ++p)
      indices.push_back(element * static_cast<MPI_Count>(scale) + static_cast<MPI_Count>(p * stride));
  return indices;
}

[[nodiscard]] inline std::vector<int> counts_of(const std::vector<std::size_t>& lengths, std::size_t packets) {
  std::vector<int> counts;
  for (const std::size_t length : lengths) {
    if (length * packets > INT_MAX) throw std::invalid_argument("laneway::tpetra: 2^31 elements or more to one rank");
    counts.push_back(static_cast<int>(length * packets));
  }
  return counts;
}

/// Elements of one array that are sent, or received, rank after rank.
struct Elements {
  std::vector<MPI_Count> indices;
  std::size_t size = 0;  // of the array, in elements
};

/// Persistent operations of one layout between two arrays, kept for each number of packets.
template <class T>
class Operations {
 public:
  Operations(MPI_Comm comm, Ends ends, const Hints& hints)
      : ends_(std::move(ends)),
        forward_(comm, ends_.from, ends_.to),
        backward_(comm, ends_.to, ends_.from),
        hints_(hints) {}

  struct Key {
    std::size_t packets = 1;
    std::size_t scale = 1;
    std::size_t source_stride = 1;
    std::size_t target_stride = 1;
    MPI_Op op = MPI_OP_NULL;  // backwards: how values are combined
    bool is_backwards = false;

    [[nodiscard]] bool operator==(const Key&) const = default;
  };

  void run(const Key& key, const Elements& source, const Elements& target, const T* send, T* receive) {
    start(key, source, target, send, receive);
    wait();
  }
  /// Collective the first time with each key. One at a time.
  void start(const Key& key, const Elements& source, const Elements& target, const T* send, T* receive) {
    if (posted_ != none) throw std::logic_error("laneway::tpetra: posted again before it was waited for");
    Known* known = nullptr;
    for (Known& one : known_)
      if (one.key == key) known = &one;
    if (known == nullptr) known = &make(key, source, target);
    if (known->send != send || known->receive != receive) {
      known->operation.set_buffers(send == nullptr ? &nothing_ : send, receive == nullptr ? &nothing_ : receive);
      known->send = send;
      known->receive = receive;
    }
    known->operation.start();
    posted_ = static_cast<std::size_t>(known - known_.data());
  }
  void wait() {
    if (posted_ == none) throw std::logic_error("laneway::tpetra: waited for what was not posted");
    known_[std::exchange(posted_, none)].operation.wait();
  }
  [[nodiscard]] bool is_posted_backwards() const { return posted_ != none && known_[posted_].key.is_backwards; }

 private:
  static constexpr std::size_t none = SIZE_MAX;
  struct Known {
    Key key;
    Persistent operation;
    const T* send = nullptr;
    T* receive = nullptr;
  };

  Known& make(const Key& key, const Elements& source, const Elements& target) {
    const auto at_source = expanded(source.indices, key.scale, key.packets, key.source_stride);
    const auto at_target = expanded(target.indices, key.scale, key.packets, key.target_stride);
    const auto counts_to = counts_of(ends_.lengths_to, key.packets);
    const auto counts_from = counts_of(ends_.lengths_from, key.packets);
    // An array ends where its last packet does.
    const auto size_of = [&](const Elements& elements, std::size_t stride) {
      return static_cast<MPI_Count>(elements.size * key.scale + (key.packets - 1) * stride);
    };
    const MPI_Count source_size = size_of(source, key.source_stride), target_size = size_of(target, key.target_stride);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    if (!key.is_backwards)
      check(LNW_Neighbor_alltoallv_init_indexed(nullptr, source_size, counts_to.data(), at_source.data(), type.get(),
                                                nullptr, target_size, counts_from.data(), at_target.data(), type.get(),
                                                forward_.get(), hints_.get(), &request));
    else if (key.op == MPI_OP_NULL)
      check(LNW_Neighbor_alltoallv_init_indexed(nullptr, target_size, counts_from.data(), at_target.data(), type.get(),
                                                nullptr, source_size, counts_to.data(), at_source.data(), type.get(),
                                                backward_.get(), hints_.get(), &request));
    else
      check(LNW_Neighbor_reducev_init_indexed(nullptr, target_size, counts_from.data(), at_target.data(), type.get(),
                                              nullptr, source_size, counts_to.data(), at_source.data(), type.get(),
                                              key.op, backward_.get(), hints_.get(), &request));
    return known_.emplace_back(Known{key, Persistent(request), nullptr, nullptr});
  }

  Ends ends_;
  Graph forward_;
  Graph backward_;
  laneway::detail::KeptHints hints_;
  std::vector<Known> known_;
  std::size_t posted_ = none;  // which of them
  T nothing_{};                // the address of an array without elements
};

}  // namespace detail

/// The exchange of a Tpetra::Distributor, for values of type T. The Distributor is read once, and may then go.
template <class T>
class Distributor {
 public:
  /// Collective over the Distributor's communicator.
  explicit Distributor(const Tpetra::Distributor& distributor, const Hints& hints = {})
      : operations_(detail::raw(*distributor.getPlan().getComm()), detail::Ends(distributor), hints) {
    const auto& plan = distributor.getPlan();
    const auto to = plan.getLengthsTo();
    const auto indices = plan.getIndicesTo();
    for (std::ptrdiff_t k = 0, at = 0; k < to.size(); ++k)
      for (std::size_t i = 0; i < to[k]; ++i)
        exports_.indices.push_back(indices.size() == 0 ? static_cast<MPI_Count>(plan.getStartsTo()[k] + i)
                                                       : static_cast<MPI_Count>(indices[at++]));
    exports_.size = exports_.indices.size();
    imports_.size = distributor.getTotalReceiveLength();
    for (std::size_t i = 0; i < imports_.size; ++i) imports_.indices.push_back(static_cast<MPI_Count>(i));
  }

  /// Sends `packets` elements of `exports` for each of the Distributor's, and receives them in `imports`. Collective
  /// the first time with so many.
  template <class Exports, class Imports>
  void doPostsAndWaits(const Exports& exports, std::size_t packets, const Imports& imports) {
    post(exports, packets, imports, "doPostsAndWaits");
    operations_.wait();
  }
  /// The same in two calls: both arrays belong to the exchange until doWaits has returned. One exchange at a time:
  /// std::logic_error else.
  template <class Exports, class Imports>
  void doPosts(const Exports& exports, std::size_t packets, const Imports& imports) {
    post(exports, packets, imports, "doPosts");
  }
  void doWaits() { wait(false); }
  /// The same backwards: `exports` are in the order of what was received, `imports` in that of what was sent. Unlike
  /// Tpetra's also where the elements for one rank lie scattered.
  template <class Exports, class Imports>
  void doReversePostsAndWaits(const Exports& exports, std::size_t packets, const Imports& imports) {
    post_reverse(exports, packets, imports, MPI_OP_NULL, "doReversePostsAndWaits");
    operations_.wait();
  }
  /// The same, but combines what arrives with what `imports` hold.
  template <class Exports, class Imports>
  void doReversePostsAndWaits(const Exports& exports, std::size_t packets, const Imports& imports, MPI_Op op) {
    post_reverse(exports, packets, imports, op, "doReversePostsAndWaits");
    operations_.wait();
  }
  /// As doPosts and doWaits.
  template <class Exports, class Imports>
  void doReversePosts(const Exports& exports, std::size_t packets, const Imports& imports, MPI_Op op = MPI_OP_NULL) {
    post_reverse(exports, packets, imports, op, "doReversePosts");
  }
  void doReverseWaits() { wait(true); }

 private:
  template <class Exports, class Imports>
  void post(const Exports& exports, std::size_t packets, const Imports& imports, const std::string& call) {
    looked_at(exports, exports_.size * packets, call + ": exports");
    looked_at(imports, imports_.size * packets, call + ": imports");
    operations_.start({packets, packets, 1, 1, MPI_OP_NULL, false}, exports_, imports_, exports.data(), imports.data());
  }
  template <class Exports, class Imports>
  void post_reverse(const Exports& exports, std::size_t packets, const Imports& imports, MPI_Op op,
                    const std::string& call) {
    looked_at(exports, imports_.size * packets, call + ": exports");
    looked_at(imports, exports_.size * packets, call + ": imports");
    operations_.start({packets, packets, 1, 1, op, true}, exports_, imports_, exports.data(), imports.data());
  }
  void wait(bool is_backwards) {
    if (operations_.is_posted_backwards() != is_backwards)
      throw std::logic_error("laneway::tpetra::Distributor: waited for the other direction than was posted");
    operations_.wait();
  }

  template <class View>
  static void looked_at(const View& view, std::size_t elements, const std::string& where) {
    static_assert(View::rank == 1 && kokkos::is_on_host<View>, "laneway::tpetra: Views of rank 1 in host memory");
    if (view.extent(0) < elements || !view.span_is_contiguous())
      throw std::invalid_argument("laneway::tpetra::Distributor::" + where + " hold " + std::to_string(view.extent(0)) +
                                  " elements, needed are " + std::to_string(elements) + " without gaps");
  }

  detail::Operations<T> operations_;
  detail::Elements exports_;
  detail::Elements imports_;
};

/// What a Tpetra::Import does with vectors, without packing: elements go from the source's array into the target's.
template <class Scalar, class LocalOrdinal = Tpetra::Map<>::local_ordinal_type,
          class GlobalOrdinal = Tpetra::Map<>::global_ordinal_type, class Node = Tpetra::Map<>::node_type>
class Import {
 public:
  using Vector = Tpetra::MultiVector<Scalar, LocalOrdinal, GlobalOrdinal, Node>;
  using Importer = Tpetra::Import<LocalOrdinal, GlobalOrdinal, Node>;
  using T = typename Vector::impl_scalar_type;

  /// Collective over the communicator of the maps. `importer` is read once, and may then go.
  explicit Import(const Importer& importer, const Hints& hints = {})
      : operations_(detail::raw(*importer.getSourceMap()->getComm()), detail::Ends(importer.getDistributor()), hints),
        same_(importer.getNumSameIDs()) {
    const auto copy = [](const auto& view, auto& list) { list.assign(view.begin(), view.end()); };
    copy(importer.getExportLIDs(), source_.indices);
    copy(importer.getRemoteLIDs(), target_.indices);
    copy(importer.getPermuteFromLIDs(), permute_from_);
    copy(importer.getPermuteToLIDs(), permute_to_);
    // Tpetra's exports are in the order of the Distributor, which may name their places.
    const auto order = importer.getDistributor().getPlan().getIndicesTo();
    if (order.size() != 0) {
      const std::vector<MPI_Count> exports = source_.indices;
      for (std::size_t i = 0; i < exports.size(); ++i)
        source_.indices[i] = exports[order[static_cast<std::ptrdiff_t>(i)]];
    }
    source_.size = importer.getSourceMap()->getNodeNumElements();
    target_.size = importer.getTargetMap()->getNodeNumElements();
  }

  /// target.doImport(source, importer, INSERT). Collective the first time with so many vectors of such strides.
  void doImport(const Vector& source, Vector& target) {
    const Arrays arrays(*this, source, target);
    for (std::size_t c = 0; c < arrays.columns; ++c) {
      const T* const from = arrays.source + c * arrays.source_stride;
      T* const to = arrays.target + c * arrays.target_stride;
      std::copy_n(from, same_, to);
      for (std::size_t i = 0; i < permute_to_.size(); ++i) to[permute_to_[i]] = from[permute_from_[i]];
    }
    operations_.run(arrays.key(MPI_OP_NULL, false), source_, target_, arrays.source, arrays.target);
  }

  /// source.doExport(target, importer, mode), backwards. ADD adds what `target` holds for other ranks into the elements
  /// of which they are copies, after the rank's own elements were copied; ADD_ASSIGN adds its own, too. INSERT and
  /// REPLACE put them there instead: of several copies of an element that of the rank which the importer names last.
  /// Collective the first time with so many vectors of such strides.
  void doExport(const Vector& target, Vector& source, Tpetra::CombineMode mode) {
    const bool inserts = mode == Tpetra::INSERT || mode == Tpetra::REPLACE;
    if (!inserts && mode != Tpetra::ADD && mode != Tpetra::ADD_ASSIGN)
      throw std::invalid_argument("laneway::tpetra::Import::doExport: mode must be INSERT, REPLACE, ADD or ADD_ASSIGN");
    const Arrays arrays(*this, source, target);
    for (std::size_t c = 0; c < arrays.columns; ++c) {
      T* const to = arrays.source + c * arrays.source_stride;
      const T* const from = arrays.target + c * arrays.target_stride;
      const auto put = [&](std::size_t into, std::size_t of) {
        to[into] = mode == Tpetra::ADD_ASSIGN ? to[into] + from[of] : from[of];
      };
      for (std::size_t i = 0; i < same_; ++i) put(i, i);
      for (std::size_t i = 0; i < permute_to_.size(); ++i) put(permute_from_[i], permute_to_[i]);
    }
    operations_.run(arrays.key(inserts ? MPI_OP_NULL : MPI_SUM, true), source_, target_, arrays.target, arrays.source);
  }

 private:
  struct Arrays {
    T* source;
    T* target;
    std::size_t columns, source_stride, target_stride;

    Arrays(const Import& import, const Vector& from, const Vector& to)
        : columns(from.getNumVectors()), source_stride(from.getStride()), target_stride(to.getStride()) {
      if (to.getNumVectors() != columns || from.getLocalLength() != import.source_.size ||
          to.getLocalLength() != import.target_.size || !from.isConstantStride() || !to.isConstantStride())
        throw std::invalid_argument("laneway::tpetra::Import: the vectors do not fit the importer's maps");
      const auto source_view = from.getLocalViewHost();
      const auto target_view = to.getLocalViewHost();
      source = const_cast<T*>(source_view.data());
      target = const_cast<T*>(target_view.data());
    }
    [[nodiscard]] typename detail::Operations<T>::Key key(MPI_Op op, bool is_backwards) const {
      return {columns, 1, source_stride, target_stride, op, is_backwards};
    }
  };

  detail::Operations<T> operations_;
  detail::Elements source_;
  detail::Elements target_;
  std::size_t same_;
  std::vector<std::size_t> permute_from_, permute_to_;
};

}  // namespace tpetra

}  // namespace cxx

}  // namespace laneway
