/// C++20 over the C API: ownership, spans and exceptions; no state of its own.
#pragma once

#if __cplusplus <= 201703L
#error "laneway.hpp needs C++20: compile with -std=c++20, or with what `pkg-config --cflags laneway_cxx` says"
#include "C++20"  // is not there, so the compiler stops before it trips over all that follows
#endif

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace laneway {

/// A namespace of its own, so that these are other types than those of the same names inside the library, with which a
/// program may be linked statically.
inline namespace cxx {

namespace detail {

/// Destructors that run after MPI_Finalize leave MPI's objects alone.
[[nodiscard]] inline bool is_finalized() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  return finalized != 0;
}

[[nodiscard]] inline bool is_running() {
  int initialized = 0;
  MPI_Initialized(&initialized);
  return initialized != 0 && !is_finalized();
}

/// Whether MPI_Error_string may be called: from MPI 4 on at any time.
[[nodiscard]] inline bool has_error_texts() {
  return MPI_VERSION >= 4 || is_running();
}

}  // namespace detail

/// An MPI error code with its text. Thrown where the communicator's error handler returns.
class MpiError : public std::runtime_error {
 public:
  /// Of an error code of MPI, with the text of MPI_Error_string.
  explicit MpiError(int code) : std::runtime_error(text_of(code)), code_(code) {}
  /// The error code.
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

/// Throws MpiError unless the code is MPI_SUCCESS.
inline void check(int code) {
  if (code != MPI_SUCCESS) throw MpiError(code);
}

namespace detail {

/// The predefined datatype of an integer of so many bytes, or null.
[[nodiscard]] inline MPI_Datatype integer_type(std::size_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? MPI_INT8_T : MPI_UINT8_T;
    case 2:
      return is_signed ? MPI_INT16_T : MPI_UINT16_T;
    case 4:
      return is_signed ? MPI_INT32_T : MPI_UINT32_T;
    case 8:
      return is_signed ? MPI_INT64_T : MPI_UINT64_T;
    default:
      return MPI_DATATYPE_NULL;
  }
}

}  // namespace detail

/// The predefined datatype of an arithmetic type, by its kind and size; null for other types.
template <class T>
[[nodiscard]] MPI_Datatype datatype() {
  if constexpr (std::is_same_v<T, double>)
    return MPI_DOUBLE;
  else if constexpr (std::is_same_v<T, float>)
    return MPI_FLOAT;
  else if constexpr (std::is_same_v<T, long double>)
    return MPI_LONG_DOUBLE;
  else if constexpr (std::is_integral_v<T>)
    return detail::integer_type(sizeof(T), std::is_signed_v<T>);
  else
    return MPI_DATATYPE_NULL;
}

/// The datatype of any trivially copyable type: `datatype<T>()` where there is one; all other types, such as
/// std::complex and structs, travel as bytes, in pieces of the type's alignment. Freed with its owner.
template <class T>
class Datatype {
  static_assert(std::is_trivially_copyable_v<T>, "laneway: only trivially copyable types can be sent");

 public:
  /// The predefined datatype, or a committed one.
  Datatype() : type_(datatype<T>()) {
    if (type_ != MPI_DATATYPE_NULL) return;
    constexpr std::size_t piece = std::min(alignof(T), sizeof(std::uint64_t));
    static_assert(sizeof(T) / piece <= INT_MAX, "laneway: the type is too large");
    check(MPI_Type_contiguous(static_cast<int>(sizeof(T) / piece), detail::integer_type(piece, false), &type_));
    is_own_ = true;
    check(MPI_Type_commit(&type_));
  }
  ~Datatype() {
    if (is_own_ && !detail::is_finalized()) MPI_Type_free(&type_);
  }
  Datatype(const Datatype&) = delete;
  Datatype& operator=(const Datatype&) = delete;

  /// The handle, valid as long as this object.
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_;
  bool is_own_ = false;
};

namespace detail {

/// Throws std::invalid_argument on all ranks if some rank has found a problem: that of the lowest one. Collective.
inline void agree(MPI_Comm comm, const char* where, const std::string& problem) {
  // The call that follows says so.
  if (comm == MPI_COMM_NULL || !is_running()) return;
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  const int own = problem.empty() ? INT_MAX : rank;
  int first = INT_MAX;
  MPI_Request request = MPI_REQUEST_NULL;
  check(MPI_Iallreduce(&own, &first, 1, MPI_INT, MPI_MIN, comm, &request));
  // Others may wait for exchanges that this rank relays before they come here: every call of the library advances them.
  int done = 0;
  for (check(MPI_Test(&request, &done, MPI_STATUS_IGNORE)); !done;
       check(MPI_Test(&request, &done, MPI_STATUS_IGNORE))) {
    int major = 0, minor = 0, patch = 0;
    check(LNW_Get_version(&major, &minor, &patch));
  }
  if (first == INT_MAX) return;
  std::array<char, 256> text{};
  std::copy_n(problem.data(), std::min(problem.size(), text.size() - 1), text.data());
  check(MPI_Bcast(text.data(), static_cast<int>(text.size()), MPI_CHAR, first, comm));
  throw std::invalid_argument(std::string(where) + " on rank " + std::to_string(first) + ": " + text.data());
}

/// The numbers of neighbours of a communicator's topology, or -1 without one.
struct Degrees {
  int in = -1;
  int out = -1;
};

[[nodiscard]] inline Degrees degrees_of(MPI_Comm comm) {
  Degrees degrees;
  if (comm == MPI_COMM_NULL || !is_running()) return degrees;
  int kind = MPI_UNDEFINED;
  check(MPI_Topo_test(comm, &kind));
  if (kind == MPI_DIST_GRAPH) {
    int weighted = 0;
    check(MPI_Dist_graph_neighbors_count(comm, &degrees.in, &degrees.out, &weighted));
  } else if (kind == MPI_CART) {
    int dimensions = 0;
    check(MPI_Cartdim_get(comm, &dimensions));
    degrees.in = degrees.out = 2 * dimensions;
  } else if (kind == MPI_GRAPH) {
    int rank = 0;
    check(MPI_Comm_rank(comm, &rank));
    check(MPI_Graph_neighbors_count(comm, rank, &degrees.in));
    degrees.out = degrees.in;
  }
  return degrees;
}

/// "LIST[INDEX] is VALUE".
[[nodiscard]] inline std::string entry(const std::string& list, std::size_t index, MPI_Count value) {
  return list + "[" + std::to_string(index) + "] is " + std::to_string(value);
}

}  // namespace detail

/// Hints by key (docs/reference/hints.md), such as `Hints{{"lnw_strategy", "three_step"}}`.
class Hints {
 public:
  Hints() = default;
  /// Pairs of a key and a value; without them no hints.
  Hints(std::initializer_list<std::pair<const char*, const char*>> hints) {
    check(MPI_Info_create(&info_));
    for (const auto& [key, value] : hints) check(MPI_Info_set(info_, key, value));
  }
  ~Hints() {
    if (info_ != MPI_INFO_NULL && !detail::is_finalized()) MPI_Info_free(&info_);
  }
  Hints(const Hints&) = delete;
  Hints& operator=(const Hints&) = delete;

  /// The handle, valid as long as this object.
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

namespace detail {

/// Hints for later: a copy.
class KeptHints {
 public:
  explicit KeptHints(const Hints& hints) {
    if (hints.get() != MPI_INFO_NULL) check(MPI_Info_dup(hints.get(), &info_));
  }
  ~KeptHints() {
    if (info_ != MPI_INFO_NULL && !is_finalized()) MPI_Info_free(&info_);
  }
  KeptHints(KeptHints&& other) noexcept : info_(std::exchange(other.info_, MPI_INFO_NULL)) {}
  KeptHints& operator=(KeptHints&& other) noexcept {
    std::swap(info_, other.info_);
    return *this;
  }

  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace detail

/// Neighbours on one side of a rank, with a weight for the edge to or from each.
struct WeightedNeighbors {
  /// Throws std::invalid_argument unless there is one weight for each neighbour.
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
  /// Collective over `comm`. With `reorder` on all ranks, processes may get new ranks (docs/reference/c.md).
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

  /// The communicator, valid as long as this object.
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
  /// That of `old` among the ranks of `comm`, which are some of its ranks (LNW_Topology_shrink). Collective over
  /// `comm`.
  Topology(const Topology& old, MPI_Comm comm) { check(LNW_Topology_shrink(old.topology_, comm, &topology_)); }
  ~Topology() {
    if (topology_ != LNW_TOPOLOGY_NULL) LNW_Topology_free(&topology_);
  }
  Topology(Topology&& other) noexcept : topology_(std::exchange(other.topology_, LNW_TOPOLOGY_NULL)) {}
  Topology& operator=(Topology&& other) noexcept {
    std::swap(topology_, other.topology_);
    return *this;
  }

  /// The handle, valid as long as this object.
  [[nodiscard]] LNW_Topology get() const { return topology_; }

 private:
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
};

/// LNW_Cvar_read of each control variable, and LNW_Pvar_read of each counter, by their names.
[[nodiscard]] inline std::map<std::string, std::string> control_variables(MPI_Comm comm = MPI_COMM_NULL) {
  std::map<std::string, std::string> found;
  int number = 0;
  check(LNW_Cvar_get_num(&number));
  for (int i = 0; i < number; ++i) {
    LNW_Variable variable{};
    int length = 0;
    check(LNW_Cvar_get_info(i, &variable));
    check(LNW_Cvar_read(i, comm, nullptr, 0, &length));
    std::string text(static_cast<std::size_t>(length) + 1, '\0');
    check(LNW_Cvar_read(i, comm, text.data(), length + 1, &length));
    text.resize(static_cast<std::size_t>(length));
    found.emplace(variable.name, std::move(text));
  }
  return found;
}
/// Counters of requests, by name (LNW_Pvar_read): of the process, or of a communicator.
[[nodiscard]] inline std::map<std::string, MPI_Count> counters(MPI_Comm comm = MPI_COMM_NULL) {
  std::map<std::string, MPI_Count> found;
  int number = 0;
  check(LNW_Pvar_get_num(&number));
  for (int i = 0; i < number; ++i) {
    LNW_Variable variable{};
    check(LNW_Pvar_get_info(i, &variable));
    check(LNW_Pvar_read(i, comm, &found[variable.name]));
  }
  return found;
}

/// A persistent operation. Waits for its exchange, if one is active, before it is destroyed.
class Persistent {
 public:
  /// Owns the request from now on.
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

  /// Begins an exchange.
  void start() { check(LNW_Start(&request_)); }
  /// Whether the exchange is complete.
  [[nodiscard]] bool test() {
    int flag = 0;
    check(LNW_Test(&request_, &flag, MPI_STATUS_IGNORE));
    return flag != 0;
  }
  /// Returns when the exchange is complete.
  void wait() { check(LNW_Wait(&request_, MPI_STATUS_IGNORE)); }
  /// Starts an exchange and waits for it.
  void run() {
    start();
    wait();
  }

  /// Other buffers of the same layout from the next start on.
  void set_buffers(const void* send, void* receive) { check(LNW_Request_set_buffers(request_, send, receive)); }
  /// A vendor's stream, or LNW_STREAM_NONE.
  void set_stream(void* stream) { check(LNW_Request_set_stream(request_, stream)); }
  /// The same with the same buffers among the ranks of `comm`, or on a topology of them (LNW_Request_rebuild).
  /// Collective.
  [[nodiscard]] Persistent rebuild(MPI_Comm comm) const {
    LNW_Request rebuilt = LNW_REQUEST_NULL;
    check(LNW_Request_rebuild(request_, comm, &rebuilt));
    return Persistent(rebuilt);
  }
  [[nodiscard]] Persistent rebuild(const Topology& topology) const {
    LNW_Request rebuilt = LNW_REQUEST_NULL;
    check(LNW_Request_rebuild_topology(request_, topology.get(), &rebuilt));
    return Persistent(rebuilt);
  }
  /// Name of the strategy; valid as long as the operation.
  [[nodiscard]] std::string_view strategy() const {
    const char* name = "";
    check(LNW_Request_get_strategy(request_, &name));
    return name;
  }
  /// What this rank does in one exchange.
  [[nodiscard]] LNW_Request_statistics statistics() const {
    LNW_Request_statistics statistics;
    check(LNW_Request_get_statistics(request_, &statistics));
    return statistics;
  }
  /// @name Functions that whoever advances exchanges calls
  /// See LNW_Request_on_complete. `function(code)` must live as long as the operation, and must not throw.
  /// @{
  template <class F>
  void on_complete(F& function) {
    check(LNW_Request_on_complete(request_, call<F>, &function));
  }
  /// The same for a partition that this rank receives: called when it has arrived.
  template <class F>
  void on_arrival(int edge, int partition, F& function) {
    check(LNW_Request_on_arrival(request_, edge, partition, call<F>, &function));
  }
  /// @}
  struct EdgePartition {
    int edge;
    int partition;
  };
  /// LNW_Wait_any_edge; none where all have been given.
  [[nodiscard]] std::optional<EdgePartition> wait_any_edge() {
    EdgePartition found{};
    check(LNW_Wait_any_edge(request_, &found.edge, &found.partition));
    return found.edge == MPI_UNDEFINED ? std::nullopt : std::optional(found);
  }
  /// The handle, valid as long as this object.
  [[nodiscard]] LNW_Request get() const { return request_; }

 private:
  template <class F>
  static void call(int code, void* function) {
    (*static_cast<F*>(function))(code);
  }
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
  const int indegree = detail::degrees_of(comm).in;
  std::string problem;
  if (indegree >= 0 && receive.size() != send.size() * static_cast<std::size_t>(indegree))
    problem = "receive has " + std::to_string(receive.size()) + " elements for " + std::to_string(indegree) +
              " blocks of the " + std::to_string(send.size()) + " of send";
  detail::agree(comm, "laneway::neighbor_allgather_init", problem);
  const Datatype<T> type;
  const auto count = static_cast<MPI_Count>(send.size());
  LNW_Request request = LNW_REQUEST_NULL;
  check(LNW_Neighbor_allgather_init_c(send.data(), count, type.get(), receive.data(), count, type.get(), comm,
                                      hints.get(), &request));
  return Persistent(request);
}

/// Counts and displacements (in elements) for each neighbour, as in MPI_Neighbor_alltoallv.
struct Blocks {
  std::span<const int> counts;
  std::span<const int> displacements;
};

namespace detail {

/// What is wrong with the blocks of one side, `name`, for so many neighbours, in an array of `elements`; empty if
/// nothing is. An array that is given later is not looked at.
[[nodiscard]] inline std::string problem_of(const Blocks& blocks, const std::string& name, int degree,
                                            const void* array, std::size_t elements) {
  if (degree < 0) return {};
  const auto neighbors = static_cast<std::size_t>(degree);
  if (blocks.counts.size() != neighbors || blocks.displacements.size() != neighbors)
    return name + " has " + std::to_string(blocks.counts.size()) + " counts and " +
           std::to_string(blocks.displacements.size()) + " displacements for " + std::to_string(degree) + " neighbors";
  for (std::size_t i = 0; i < neighbors; ++i) {
    const MPI_Count count = blocks.counts[i], displacement = blocks.displacements[i];
    if (count < 0) return entry(name + ".counts", i, count);
    if (count == 0 || array == nullptr) continue;
    if (displacement < 0) return entry(name + ".displacements", i, displacement);
    if (static_cast<std::size_t>(displacement + count) > elements)
      return entry(name + ".displacements", i, displacement) + " and its count " + std::to_string(count) +
             " in an array of " + std::to_string(elements) + " elements";
  }
  return {};
}

}  // namespace detail

/// A block of `send` to each destination, a block of `receive` from each source. Collective. Throws
/// std::invalid_argument on all ranks where blocks do not fit the arrays or the neighbours of some rank.
template <class T>
[[nodiscard]] Persistent neighbor_alltoallv_init(MPI_Comm comm, std::span<const T> send, const Blocks& send_blocks,
                                                 std::span<T> receive, const Blocks& receive_blocks,
                                                 const Hints& hints = {}) {
  const detail::Degrees degrees = detail::degrees_of(comm);
  std::string problem = detail::problem_of(send_blocks, "send_blocks", degrees.out, send.data(), send.size());
  if (problem.empty())
    problem = detail::problem_of(receive_blocks, "receive_blocks", degrees.in, receive.data(), receive.size());
  detail::agree(comm, "laneway::neighbor_alltoallv_init", problem);
  const Datatype<T> type;
  LNW_Request request = LNW_REQUEST_NULL;
  check(LNW_Neighbor_alltoallv_init(send.data(), send_blocks.counts.data(), send_blocks.displacements.data(),
                                    type.get(), receive.data(), receive_blocks.counts.data(),
                                    receive_blocks.displacements.data(), type.get(), comm, hints.get(), &request));
  return Persistent(request);
}

/// One side of a halo: for each neighbour a list of elements, all lists one after another in `indices`. There are as
/// many counts as ranks, and they add up to the number of indices.
struct HaloSide {
  std::vector<int> ranks;
  std::vector<int> counts;
  std::vector<MPI_Count> indices;
};

namespace detail {

/// What is wrong with one side, `name`, in a communicator of `size` ranks; empty if nothing is.
[[nodiscard]] inline std::string problem_of(const HaloSide& side, const std::string& name, int size) {
  if (side.counts.size() != side.ranks.size())
    return name + " has " + std::to_string(side.counts.size()) + " counts for " + std::to_string(side.ranks.size()) +
           " ranks";
  std::size_t total = 0;
  for (std::size_t i = 0; i < side.ranks.size(); ++i) {
    if (side.ranks[i] < 0 || side.ranks[i] >= size)
      return entry(name + ".ranks", i, side.ranks[i]) + " in a communicator of " + std::to_string(size) + " ranks";
    if (side.counts[i] < 0) return entry(name + ".counts", i, side.counts[i]);
    total += static_cast<std::size_t>(side.counts[i]);
  }
  if (total != side.indices.size())
    return name + ".counts add up to " + std::to_string(total) + ", but there are " +
           std::to_string(side.indices.size()) + " indices";
  for (std::size_t i = 0; i < side.indices.size(); ++i)
    if (side.indices[i] < 0) return entry(name + ".indices", i, side.indices[i]);
  return {};
}

template <class T>
class HaloFields;  // fields.hpp

/// The lists of `side` and, behind them, lists without elements for those that only `other` names, or names more
/// often. Then both name the same ranks as often as each other, and one graph is that of both ways.
[[nodiscard]] inline HaloSide with_neighbors_of(const HaloSide& side, const HaloSide& other) {
  std::map<int, int> missing;
  for (const int rank : other.ranks) ++missing[rank];
  for (const int rank : side.ranks) --missing[rank];
  HaloSide both = side;
  for (const auto& [rank, times] : missing)
    for (int i = 0; i < times; ++i) {
      both.ranks.push_back(rank);
      both.counts.push_back(0);
    }
  return both;
}

/// The same lists for neighbours in another order; those of one rank keep theirs.
[[nodiscard]] inline HaloSide in_order_of(const HaloSide& side, const std::vector<int>& ranks) {
  struct List {
    int count;
    std::size_t first;
  };
  std::map<int, std::deque<List>> lists;
  std::size_t first = 0;
  for (std::size_t i = 0; i < side.ranks.size(); ++i) {
    lists[side.ranks[i]].push_back({side.counts[i], first});
    first += static_cast<std::size_t>(side.counts[i]);
  }
  HaloSide ordered{ranks, {}, {}};
  for (const int rank : ranks) {
    const List list = lists[rank].front();
    lists[rank].pop_front();
    ordered.counts.push_back(list.count);
    const auto begin = side.indices.begin() + static_cast<std::ptrdiff_t>(list.first);
    ordered.indices.insert(ordered.indices.end(), begin, begin + list.count);
  }
  return ordered;
}

}  // namespace detail

/// The halo of a distributed vector: elements of `send` go to other ranks, elements of `receive` come from them. Both
/// index the same local array, owned and ghost elements together, and may name an element for many ranks. T is any
/// trivially copyable type.
///
///     laneway::Halo<double> halo(comm, send, receive);
///     halo.exchange(x);
template <class T>
class Halo {
  static_assert(std::is_trivially_copyable_v<T>, "laneway::Halo: T must be trivially copyable");

 public:
  /// Collective over `comm`. `size` is the number of elements in the local array; exchange() takes arrays of that size.
  /// Throws std::invalid_argument on all ranks if a side of some rank contradicts itself.
  Halo(MPI_Comm comm, const HaloSide& send, const HaloSide& receive, std::size_t size, const Hints& hints = {})
      : graph_(checked(comm, send, receive), detail::with_neighbors_of(receive, send).ranks,
               detail::with_neighbors_of(send, receive).ranks),
        owned_(detail::with_neighbors_of(send, receive)),
        ghosts_(detail::with_neighbors_of(receive, send)),
        hints_(hints),
        size_(size) {
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    const auto elements = static_cast<MPI_Count>(size);
    check(LNW_Neighbor_alltoallv_init_indexed(nullptr, elements, owned_.counts.data(), owned_.indices.data(),
                                              type.get(), nullptr, elements, ghosts_.counts.data(),
                                              ghosts_.indices.data(), type.get(), graph_.get(), hints.get(), &request));
    exchange_ = Persistent(request);
  }

  Halo(MPI_Comm comm, const HaloSide& send, const HaloSide& receive, const Hints& hints = {})
      : Halo(comm, send, receive, size_for(send, receive), hints) {}

  /// Of arrays with `owned_count` own elements, whose global numbers begin at `owned_begin`, followed by the ghosts,
  /// whose numbers are `ghost_ids`; who owns them is found out. Collective. A ghost that no rank owns is an error of
  /// `comm` on all ranks.
  static Halo from_ghosts(MPI_Comm comm, MPI_Count owned_begin, MPI_Count owned_count,
                          std::span<const MPI_Count> ghost_ids, const Hints& hints = {});
  /// The same with any numbers of the own elements.
  static Halo from_ghosts(MPI_Comm comm, std::span<const MPI_Count> owned_ids, std::span<const MPI_Count> ghost_ids,
                          const Hints& hints = {});

  /// Sends owned elements of `x` and fills its ghost elements. Binding another array than the last time costs a little.
  void exchange(std::span<T> x) {
    start(x);
    if (!parts_.empty()) ready(0, size_);
    wait();
  }
  /// Several arrays in one exchange: what a neighbour gets of all of them travels together, by way of the host's
  /// memory. Each array may be on a device or the host. Collective the first time with so many.
  template <class... More>
  void exchange(std::span<T> x, std::span<T> y, More... more) {
    const std::array<std::span<T>, 2 + sizeof...(More)> fields{x, y, std::span<T>(more)...};
    fields_of(fields).exchange(fields);
  }
  /// Puts the exchange into a queue (laneway::Queue) and returns. What is put into the queue afterwards comes
  /// after it. Another array than the last time only when the queue has been waited for.
  template <class InQueue>
  void enqueue(InQueue& queue, std::span<T> x) {
    if (!parts_.empty()) throw std::logic_error("laneway::Halo::enqueue: the halo is partitioned");
    bind(x);
    queue.start(exchange_);
    queue.wait(exchange_);
  }
  /// Begins an exchange of `x`, of which owned elements must not be written and ghosts not be read until it is
  /// complete.
  void start(std::span<T> x) {
    bind(x);
    for (std::size_t p = 0; p < parts_.size(); ++p) missing_[p].store(parts_[p].elements, std::memory_order_relaxed);
    exchange_.start();
  }
  /// Whether the exchange is complete.
  [[nodiscard]] bool test() { return exchange_.test(); }
  /// Returns when the exchange is complete.
  void wait() { exchange_.wait(); }

  /// From now on what is sent to each neighbour leaves in up to so many parts, each when `ready` has named all of its
  /// elements, instead of all at `start`. Collective; no exchange may be active.
  void partition(int partitions) {
    if (partitions < 1) throw std::invalid_argument("laneway::Halo::partition: partitions must be at least 1");
    const auto divide = [&](const HaloSide& side) {
      std::vector<int> parts;
      for (const int count : side.counts) parts.push_back(std::min(partitions, count));
      return parts;
    };
    const std::vector<int> sent = divide(owned_), received = divide(ghosts_);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    const auto elements = static_cast<MPI_Count>(size_);
    check(LNW_Neighbor_alltoallv_init_indexed_partitioned(
        nullptr, elements, owned_.counts.data(), owned_.indices.data(), type.get(), nullptr, elements,
        ghosts_.counts.data(), ghosts_.indices.data(), type.get(), sent.data(), received.data(), graph_.get(),
        hints_.get(), &request));
    exchange_ = Persistent(request);
    bound_ = nullptr;
    list_parts(sent);
  }
  /// Elements [first, last) of the array that was given to `start` may be sent. Each element once in an exchange; by
  /// any thread, as LNW_Pready_edge. Needs `partition`.
  void ready(std::size_t first, std::size_t last) {
    const auto before = [](const Sent& one, std::size_t index) { return one.index < index; };
    for (auto one = std::lower_bound(sent_.begin(), sent_.end(), first, before);
         one != sent_.end() && one->index < last; ++one) {
      const Part& part = parts_[one->part];
      if (missing_[one->part].fetch_sub(1) == 1) check(LNW_Pready_edge(exchange_.get(), part.edge, part.number));
    }
  }

  /// The exchange backwards: combines what the ghost elements of `x` hold into the elements of which they are copies,
  /// by default their sum. Ghost elements stay as they are. T must be a type to which `op` applies. Collective, the
  /// first time with each operator: on the graph of the exchange, by its plan run backwards where that cuts no element.
  void accumulate(std::span<T> x, MPI_Op op = MPI_SUM) {
    Persistent& backwards = bound_backwards(x, op);
    backwards.start();
    backwards.wait();
  }
  /// Puts `accumulate` into a queue and returns, as `enqueue`. Collective, the first time with each operator.
  template <class InQueue>
  void enqueue_accumulate(InQueue& queue, std::span<T> x, MPI_Op op = MPI_SUM) {
    Persistent& backwards = bound_backwards(x, op);
    queue.start(backwards);
    queue.wait(backwards);
  }

  /// The same of several arrays in one exchange, wherever each of them is. Collective the first time with so many, and
  /// with each operator.
  template <class... More>
  void accumulate(std::span<T> x, std::span<T> y, More... more) {
    accumulate(MPI_SUM, x, y, more...);
  }
  template <class... More>
  void accumulate(MPI_Op op, std::span<T> x, std::span<T> y, More... more) {
    const std::array<std::span<T>, 2 + sizeof...(More)> fields{x, y, std::span<T>(more)...};
    detail::HaloFields<T>& together = fields_of(fields);
    together.accumulate(fields, op, reverse_graph(), hints_.get());
  }

  /// The operation that exchanges, for what it tells of itself.
  [[nodiscard]] const Persistent& operation() const { return exchange_; }

 private:
  struct Backwards {
    MPI_Op op = MPI_OP_NULL;
    Persistent operation;
    T* bound = nullptr;
  };
  Persistent& bound_backwards(std::span<T> x, MPI_Op op) {
    if (x.size() < size_) throw std::invalid_argument("laneway::Halo: the array is smaller than the halo");
    Backwards& backwards = backwards_by(op);
    if (x.data() != backwards.bound) {
      backwards.operation.set_buffers(x.data(), x.data());
      backwards.bound = x.data();
    }
    return backwards.operation;
  }

  /// Part `number` of what is sent to a neighbour.
  struct Part {
    int edge = 0;
    int number = 0;
    int elements = 0;
  };
  struct Sent {
    std::size_t index = 0;
    std::size_t part = 0;
  };

  void bind(std::span<T> x) {
    if (x.size() < size_) throw std::invalid_argument("laneway::Halo: the array is smaller than the halo");
    if (x.data() == bound_) return;
    exchange_.set_buffers(x.data(), x.data());
    bound_ = x.data();
  }

  void list_parts(const std::vector<int>& partitions) {
    parts_.clear();
    sent_.clear();
    std::size_t at = 0;
    for (std::size_t edge = 0; edge < partitions.size(); ++edge) {
      const std::int64_t count = owned_.counts[edge], of = partitions[edge];
      for (std::int64_t p = 0; p < of; ++p) {
        const std::int64_t elements = count * (p + 1) / of - count * p / of;
        for (std::int64_t i = 0; i < elements; ++i)
          sent_.push_back({static_cast<std::size_t>(owned_.indices[at++]), parts_.size()});
        parts_.push_back({static_cast<int>(edge), static_cast<int>(p), static_cast<int>(elements)});
      }
    }
    std::stable_sort(sent_.begin(), sent_.end(), [](const Sent& a, const Sent& b) { return a.index < b.index; });
    missing_ = std::make_unique<std::atomic<int>[]>(parts_.size());
  }

  template <std::size_t N>
  detail::HaloFields<T>& fields_of(const std::array<std::span<T>, N>& fields) {
    for (const std::span<T>& field : fields)
      if (field.size() < size_) throw std::invalid_argument("laneway::Halo: the array is smaller than the halo");
    for (const auto& known : fields_)
      if (known->number() == N) return *known;
    return *fields_.emplace_back(
        std::make_unique<detail::HaloFields<T>>(graph_, owned_, ghosts_, size_, N, hints_.get()));
  }

  /// From the ranks that have ghosts to those that own what they are copies of.
  const Graph& reverse_graph() {
    if (!reverse_) reverse_.emplace(graph_.get(), owned_.ranks, ghosts_.ranks);
    return *reverse_;
  }

  Backwards& backwards_by(MPI_Op op) {
    for (Backwards& known : backwards_)
      if (known.op == op) return known;
    const HaloSide sent = detail::in_order_of(ghosts_, owned_.ranks);
    const HaloSide combined = detail::in_order_of(owned_, ghosts_.ranks);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    const auto elements = static_cast<MPI_Count>(size_);
    check(LNW_Neighbor_reducev_init_indexed(nullptr, elements, sent.counts.data(), sent.indices.data(), type.get(),
                                            nullptr, elements, combined.counts.data(), combined.indices.data(),
                                            type.get(), op, graph_.get(), hints_.get(), &request));
    return backwards_.emplace_back(Backwards{op, Persistent(request), nullptr});
  }

  /// The communicator, once all ranks have found nothing wrong.
  static MPI_Comm checked(MPI_Comm comm, const HaloSide& send, const HaloSide& receive) {
    if (comm == MPI_COMM_NULL || !detail::is_running()) return comm;  // the constructor's first call says so
    int size = 0;
    check(MPI_Comm_size(comm, &size));
    std::string problem = detail::problem_of(send, "send", size);
    if (problem.empty()) problem = detail::problem_of(receive, "receive", size);
    detail::agree(comm, "laneway::Halo", problem);
    return comm;
  }

  static std::size_t size_for(const HaloSide& send, const HaloSide& receive) {
    MPI_Count largest = -1;
    for (const HaloSide* side : {&send, &receive})
      for (MPI_Count index : side->indices) largest = std::max(largest, index);
    return static_cast<std::size_t>(largest + 1);
  }

  Graph graph_;                   // of both ways: whoever sends receives
  std::optional<Graph> reverse_;  // once several arrays are accumulated, in the order of the other side's lists
  HaloSide owned_;
  HaloSide ghosts_;
  detail::KeptHints hints_;
  std::size_t size_;
  Persistent exchange_;
  T* bound_ = nullptr;
  std::vector<Backwards> backwards_;
  std::vector<Part> parts_;                                     // none: all is sent at `start`
  std::vector<Sent> sent_;                                      // ascending by index
  std::unique_ptr<std::atomic<int>[]> missing_;                 // by part, elements that are not ready
  std::vector<std::unique_ptr<detail::HaloFields<T>>> fields_;  // by how many
};

}  // namespace cxx

}  // namespace laneway

#include "laneway/fields.hpp"  // need what is above
#include "laneway/queue.hpp"
#include "laneway/sparse.hpp"
