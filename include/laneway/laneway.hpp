/// C++20 over the C API: ownership, spans and exceptions; no state of its own.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace laneway {

namespace detail {

/// Destructors that run after MPI_Finalize leave MPI's objects alone.
[[nodiscard]] inline bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

/// Whether MPI_Error_string may be called: from MPI 4 on at any time.
[[nodiscard]] inline bool has_error_texts() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return MPI_VERSION >= 4 || (initialized != 0 && !is_finalized());
}

}  // namespace detail

/// An MPI error code with its text. Thrown where the communicator's error handler returns.
class MpiError : public std::runtime_error {
 public:
  explicit MpiError(int code) : std::runtime_error(text_of(code)), code_(code) {}
  [[nodiscard]] int code() const { return code_; }

 private:
  static std::string text_of(int code) {
    if (!detail::has_error_texts()) return "MPI error code " + std::to_string(code);
    char text[MPI_MAX_ERROR_STRING + 1] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    return text;
  }

  int code_;
};

inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError(code);
}

/// The MPI datatype of an arithmetic type; other trivially copyable types travel as bytes.
template <class T>
[[nodiscard]] MPI_Datatype datatype() {
  if constexpr (std::is_same_v<T, double>) return MPI_DOUBLE;
  if constexpr (std::is_same_v<T, float>) return MPI_FLOAT;
  if constexpr (std::is_same_v<T, std::int8_t>) return MPI_INT8_T;
  if constexpr (std::is_same_v<T, std::int16_t>) return MPI_INT16_T;
  if constexpr (std::is_same_v<T, std::int32_t>) return MPI_INT32_T;
  if constexpr (std::is_same_v<T, std::int64_t>) return MPI_INT64_T;
  if constexpr (std::is_same_v<T, std::uint8_t>) return MPI_UINT8_T;
  if constexpr (std::is_same_v<T, std::uint16_t>) return MPI_UINT16_T;
  if constexpr (std::is_same_v<T, std::uint32_t>) return MPI_UINT32_T;
  if constexpr (std::is_same_v<T, std::uint64_t>) return MPI_UINT64_T;
  return MPI_DATATYPE_NULL;
}

/// Hints by key (docs/hints.md), e.g. Hints{{"lnw_strategy", "three_step"}}.
class Hints {
 public:
  Hints() = default;
  Hints(std::initializer_list<std::pair<const char*, const char*>> hints) {
    check(MPI_Info_create(&info_));
    for (const auto& [key, value] : hints) check(MPI_Info_set(info_, key, value));
  }
  ~Hints() {
    if (info_ != MPI_INFO_NULL && !detail::is_finalized()) MPI_Info_free(&info_);
  }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;

  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Neighbours on one side of a rank, with a weight for the edge to or from each.
struct WeightedNeighbors {
  WeightedNeighbors(std::span<const int> neighbors, std::span<const int> edge_weights)
      : ranks(neighbors), weights(edge_weights) {
    if (ranks.size() != weights.size())
      throw std::invalid_argument("laneway::WeightedNeighbors: there must be one weight for each neighbour");
  }

  std::span<const int> ranks;
  std::span<const int> weights;
};

/// A distributed-graph communicator that is freed with its owner.
class Graph {
 public:
  /// Collective over `comm`. With `reorder` on all ranks, processes may get new ranks (docs/c-api.md).
  Graph(MPI_Comm comm, std::span<const int> sources, std::span<const int> destinations, const Hints& hints = {},
        bool reorder = false) {
    create(comm, sources, MPI_UNWEIGHTED, destinations, MPI_UNWEIGHTED, hints, reorder);
  }
  Graph(MPI_Comm comm, const WeightedNeighbors& sources, const WeightedNeighbors& destinations, const Hints& hints = {},
        bool reorder = false) {
    const auto weights = [](const WeightedNeighbors& side) {
      return side.weights.empty() ? MPI_WEIGHTS_EMPTY : side.weights.data();
    };
    create(comm, sources.ranks, weights(sources), destinations.ranks, weights(destinations), hints, reorder);
  }
  ~Graph() {
    if (comm_ != MPI_COMM_NULL && !detail::is_finalized()) MPI_Comm_free(&comm_);
  }
  Graph(Graph&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Graph& operator=(Graph&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }

  [[nodiscard]] MPI_Comm get() const { return comm_; }

  /// What reordering has brought; throws MpiError if the graph was made without. Local.
  [[nodiscard]] LNW_Reorder reorder() const {
    LNW_Reorder report;
    check(LNW_Comm_get_reorder(comm_, &report));
    return report;
  }

 private:
  void create(MPI_Comm comm, std::span<const int> sources, const int* source_weights, std::span<const int> destinations,
              const int* destination_weights, const Hints& hints, bool reorder) {
    check(LNW_Dist_graph_create_adjacent(comm, static_cast<int>(sources.size()), sources.data(), source_weights,
                                         static_cast<int>(destinations.size()), destinations.data(),
                                         destination_weights, hints.get(), reorder, &comm_));
  }

  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// A topology object that is freed with its owner; for the operations with the suffix `_topology`.
class Topology {
 public:
  /// Collective over `comm`.
  Topology(MPI_Comm comm, std::span<const int> sources, std::span<const int> destinations, const Hints& hints = {}) {
    check(LNW_Topology_create(comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                              static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED, hints.get(),
                              &topology_));
  }
  ~Topology() {
    if (topology_ != LNW_TOPOLOGY_NULL) LNW_Topology_free(&topology_);
  }
  Topology(Topology&& other) noexcept : topology_(std::exchange(other.topology_, LNW_TOPOLOGY_NULL)) {}
  Topology& operator=(Topology&& other) noexcept {
    std::swap(topology_, other.topology_);
    return *this;
  }

  [[nodiscard]] LNW_Topology get() const { return topology_; }

 private:
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
};

/// A persistent operation. Waits for its exchange, if one is active, before it is destroyed.
class Persistent {
 public:
  explicit Persistent(LNW_Request request = LNW_REQUEST_NULL) : request_(request) {}
  ~Persistent() { reset(); }
  Persistent(Persistent&& other) noexcept : request_(std::exchange(other.request_, LNW_REQUEST_NULL)) {}
  Persistent& operator=(Persistent&& other) noexcept {
    if (this != &other) {
      reset();
      request_ = std::exchange(other.request_, LNW_REQUEST_NULL);
    }
    return *this;
  }

  void start() { check(LNW_Start(&request_)); }
  [[nodiscard]] bool test() {
    int flag = 0;
    check(LNW_Test(&request_, &flag, MPI_STATUS_IGNORE));
    return flag != 0;
  }
  void wait() { check(LNW_Wait(&request_, MPI_STATUS_IGNORE)); }
  void run() {
    start();
    wait();
  }

  void set_buffers(const void* send, void* receive) { check(LNW_Request_set_buffers(request_, send, receive)); }
  /// A vendor's stream, or LNW_STREAM_NONE.
  void set_stream(void* stream) { check(LNW_Request_set_stream(request_, stream)); }
  [[nodiscard]] std::string_view strategy() const {
    const char* name = "";
    check(LNW_Request_get_strategy(request_, &name));
    return name;
  }
  [[nodiscard]] LNW_Request_statistics statistics() const {
    LNW_Request_statistics statistics;
    check(LNW_Request_get_statistics(request_, &statistics));
    return statistics;
  }
  [[nodiscard]] LNW_Request get() const { return request_; }

 private:
  void reset() noexcept {
    if (request_ == LNW_REQUEST_NULL) return;
    if (!detail::is_finalized()) LNW_Wait(&request_, MPI_STATUS_IGNORE);
    LNW_Request_free(&request_);
  }

  LNW_Request request_;
};

/// One block of `send` to every destination; `receive` holds one such block for each source.
template <class T>
[[nodiscard]] Persistent neighbor_allgather_init(MPI_Comm comm, std::span<const T> send, std::span<T> receive,
                                                 const Hints& hints = {}) {
  int indegree = 0, outdegree = 0, weighted = 0;
  check(MPI_Dist_graph_neighbors_count(comm, &indegree, &outdegree, &weighted));
  if (receive.size() != send.size() * static_cast<std::size_t>(indegree))
    throw std::invalid_argument(
        "laneway::neighbor_allgather_init: receive must hold indegree blocks of the size of send");
  const int count = static_cast<int>(send.size());
  LNW_Request request = LNW_REQUEST_NULL;
  check(LNW_Neighbor_allgather_init(send.data(), count, datatype<T>(), receive.data(), count, datatype<T>(), comm,
                                    hints.get(), &request));
  return Persistent(request);
}

/// Counts and displacements (in elements) for each neighbour, as in MPI_Neighbor_alltoallv.
struct Blocks {
  std::span<const int> counts;
  std::span<const int> displacements;
};

template <class T>
[[nodiscard]] Persistent neighbor_alltoallv_init(MPI_Comm comm, std::span<const T> send, const Blocks& send_blocks,
                                                 std::span<T> receive, const Blocks& receive_blocks,
                                                 const Hints& hints = {}) {
  LNW_Request request = LNW_REQUEST_NULL;
  check(LNW_Neighbor_alltoallv_init(send.data(), send_blocks.counts.data(), send_blocks.displacements.data(),
                                    datatype<T>(), receive.data(), receive_blocks.counts.data(),
                                    receive_blocks.displacements.data(), datatype<T>(), comm, hints.get(), &request));
  return Persistent(request);
}

/// One side of a halo: for each neighbour a list of elements, all lists one after another in `indices`.
struct HaloSide {
  std::vector<int> ranks;
  std::vector<int> counts;
  std::vector<MPI_Count> indices;
};

/// The halo of a distributed vector: elements of `send` go to other ranks, elements of `receive` come from them. Both
/// index the same local array, owned and ghost elements together, and may name an element for many ranks.
///
///     laneway::Halo<double> halo(comm, send, receive);
///     halo.exchange(x);
template <class T>
class Halo {
  static_assert(std::is_arithmetic_v<T>, "Halo: T must be an arithmetic type");

 public:
  /// Collective over `comm`. `size` is the number of elements in the local array; exchange() takes arrays of that size.
  Halo(MPI_Comm comm, const HaloSide& send, const HaloSide& receive, std::size_t size, const Hints& hints = {})
      : graph_(comm, receive.ranks, send.ranks), size_(size) {
    LNW_Request request = LNW_REQUEST_NULL;
    const auto elements = static_cast<MPI_Count>(size);
    check(LNW_Neighbor_alltoallv_init_indexed(nullptr, elements, send.counts.data(), send.indices.data(), datatype<T>(),
                                              nullptr, elements, receive.counts.data(), receive.indices.data(),
                                              datatype<T>(), graph_.get(), hints.get(), &request));
    exchange_ = Persistent(request);
  }

  Halo(MPI_Comm comm, const HaloSide& send, const HaloSide& receive, const Hints& hints = {})
      : Halo(comm, send, receive, size_for(send, receive), hints) {}

  /// Sends owned elements of `x` and fills its ghost elements. Binding another array than the last time costs a little.
  void exchange(std::span<T> x) {
    start(x);
    wait();
  }
  void start(std::span<T> x) {
    if (x.size() < size_) throw std::invalid_argument("laneway::Halo: the array is smaller than the halo");
    if (x.data() != bound_) {
      exchange_.set_buffers(x.data(), x.data());
      bound_ = x.data();
    }
    exchange_.start();
  }
  [[nodiscard]] bool test() { return exchange_.test(); }
  void wait() { exchange_.wait(); }

  [[nodiscard]] const Persistent& operation() const { return exchange_; }

 private:
  static std::size_t size_for(const HaloSide& send, const HaloSide& receive) {
    MPI_Count largest = -1;
    for (const HaloSide* side : {&send, &receive})
      for (MPI_Count index : side->indices) largest = std::max(largest, index);
    return static_cast<std::size_t>(largest + 1);
  }

  Graph graph_;
  std::size_t size_;
  Persistent exchange_;
  T* bound_ = nullptr;
};

}  // namespace laneway
