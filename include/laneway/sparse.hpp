/// Partners that only one side knows, in C++20: queries, distributors, collectors, halos from ghost numbers and of
/// arrays with n dimensions, bags. Comes with laneway.hpp.
#pragma once

#include "laneway/laneway.hpp"

#include <exception>
#include <map>
#include <memory>
#include <numeric>

namespace laneway {

inline namespace cxx {

/// What has arrived in a sparse exchange; freed with its owner.
class Arrivals {
 public:
  explicit Arrivals(LNW_Arrivals arrivals = LNW_ARRIVALS_NULL) : arrivals_(arrivals) {}
  ~Arrivals() {
    if (arrivals_ != LNW_ARRIVALS_NULL) LNW_Arrivals_free(&arrivals_);
  }
  Arrivals(Arrivals&& other) noexcept : arrivals_(std::exchange(other.arrivals_, LNW_ARRIVALS_NULL)) {}
  Arrivals& operator=(Arrivals&& other) noexcept {
    std::swap(arrivals_, other.arrivals_);
    return *this;
  }

  /// Ascending.
  [[nodiscard]] std::span<const int> sources() const {
    const int* ranks = nullptr;
    check(LNW_Arrivals_get_sources(arrivals_, &ranks, nullptr, nullptr));
    return {ranks, size()};
  }
  /// Elements from each source.
  [[nodiscard]] std::span<const MPI_Count> counts() const {
    const MPI_Count* counts = nullptr;
    check(LNW_Arrivals_get_sources(arrivals_, nullptr, &counts, nullptr));
    return {counts, size()};
  }
  /// All elements, of the type that was sent, in the order of sources.
  template <class T>
  [[nodiscard]] std::span<T> data() const {
    void* data = nullptr;
    MPI_Count bytes = 0;
    check(LNW_Arrivals_get_data(arrivals_, &data, &bytes));
    return {static_cast<T*>(data), static_cast<std::size_t>(bytes) / sizeof(T)};
  }
  [[nodiscard]] LNW_Arrivals get() const { return arrivals_; }

 private:
  [[nodiscard]] std::size_t size() const {
    int entries = 0;
    check(LNW_Arrivals_get_count(arrivals_, &entries));
    return static_cast<std::size_t>(entries);
  }

  LNW_Arrivals arrivals_;
};

/// `counts[i]` elements to `destinations[i]`, one block after another in `data`. Collective.
template <class T>
[[nodiscard]] Arrivals sparse_alltoallv(MPI_Comm comm, std::span<const int> destinations,
                                        std::span<const MPI_Count> counts, std::span<const T> data,
                                        const Hints& hints = {}) {
  std::vector<MPI_Aint> displacements(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), displacements.begin(), MPI_Aint{0});
  const Datatype<T> type;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  check(LNW_Sparse_alltoallv_c(static_cast<int>(destinations.size()), destinations.data(), data.data(), counts.data(),
                               displacements.data(), type.get(), comm, hints.get(), &arrivals));
  return Arrivals(arrivals);
}

namespace detail {

/// What the C function calls on a target.
template <class Request, class Answer, class F>
struct Answering {
  F& answer;
  std::exception_ptr failure = nullptr;

  static int call(int source, const void* request, MPI_Count bytes, void* self, LNW_Answer to) {
    auto& answering = *static_cast<Answering*>(self);
    try {
      std::vector<Request> elements(static_cast<std::size_t>(bytes) / sizeof(Request));
      const auto* const from = static_cast<const std::byte*>(request);
      std::copy_n(from, bytes, reinterpret_cast<std::byte*>(elements.data()));
      const std::vector<Answer> said = answering.answer(source, std::span<const Request>(elements));
      return LNW_Answer_append(to, said.data(), static_cast<MPI_Count>(said.size() * sizeof(Answer)));
    } catch (...) {
      answering.failure = std::current_exception();
      return MPI_ERR_OTHER;
    }
  }
};

template <class Request, class F>
using AnswerOf = typename std::invoke_result_t<F&, int, std::span<const Request>>::value_type;

}  // namespace detail

/// Asks `targets[i]` `requests[i]`. On each target `answer(source, request)`, which gets a span and returns a vector,
/// is called for each request while others still look for their targets. Returns the answers in the order of the
/// requests. Collective; what `answer` throws is thrown on its rank, and MpiError on the rank that has asked.
template <class Request, class F>
[[nodiscard]] std::vector<std::vector<detail::AnswerOf<Request, F>>> query(
    MPI_Comm comm, std::span<const int> targets, const std::vector<std::vector<Request>>& requests, F&& answer,
    const Hints& hints = {}) {
  using Answer = detail::AnswerOf<Request, F>;
  static_assert(std::is_trivially_copyable_v<Request> && std::is_trivially_copyable_v<Answer>,
                "laneway::query: only trivially copyable types can be sent");
  detail::agree(comm, "laneway::query",
                targets.size() == requests.size()
                    ? std::string()
                    : std::to_string(requests.size()) + " requests for " + std::to_string(targets.size()) + " targets");
  std::vector<Request> all;
  std::vector<int> counts, displacements;
  for (const std::vector<Request>& request : requests) {
    counts.push_back(static_cast<int>(request.size()));
    displacements.push_back(static_cast<int>(all.size()));
    all.insert(all.end(), request.begin(), request.end());
  }
  detail::Answering<Request, Answer, std::remove_reference_t<F>> answering{answer};
  const Datatype<Request> type;
  LNW_Arrivals handle = LNW_ARRIVALS_NULL;
  const int code = LNW_Sparse_query(static_cast<int>(targets.size()), targets.data(), all.data(), counts.data(),
                                    displacements.data(), type.get(), &decltype(answering)::call, &answering, comm,
                                    hints.get(), &handle);
  if (answering.failure) std::rethrow_exception(answering.failure);
  check(code);
  const Arrivals arrivals(handle);
  const std::span<std::byte> bytes = arrivals.data<std::byte>();
  std::vector<std::vector<Answer>> answers;
  std::size_t at = 0;
  for (const MPI_Count length : arrivals.counts()) {
    std::vector<Answer>& one = answers.emplace_back(static_cast<std::size_t>(length) / sizeof(Answer));
    std::copy_n(bytes.data() + at, length, reinterpret_cast<std::byte*>(one.data()));
    at += static_cast<std::size_t>(length);
  }
  return answers;
}

namespace detail {

/// Elements by the rank at their other end, ranks ascending.
struct ByRank {
  std::vector<int> ranks;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Count> elements;  ///< their positions

  ByRank() = default;
  /// Ranks that are negative have none.
  explicit ByRank(std::span<const int> rank_of) {
    std::vector<MPI_Count> order;
    for (std::size_t i = 0; i < rank_of.size(); ++i)
      if (rank_of[i] >= 0) order.push_back(static_cast<MPI_Count>(i));
    std::stable_sort(order.begin(), order.end(), [&](MPI_Count a, MPI_Count b) {
      return rank_of[static_cast<std::size_t>(a)] < rank_of[static_cast<std::size_t>(b)];
    });
    for (const MPI_Count i : order) {
      const int rank = rank_of[static_cast<std::size_t>(i)];
      if (ranks.empty() || ranks.back() != rank) {
        ranks.push_back(rank);
        counts.push_back(0);
      }
      ++counts.back();
    }
    elements = std::move(order);
  }
};

/// Empty, or what is wrong.
[[nodiscard]] inline std::string problem_of_ranks(MPI_Comm comm, std::span<const int> ranks, const char* name) {
  if (comm == MPI_COMM_NULL || !is_running()) return {};
  int size = 0;
  check(MPI_Comm_size(comm, &size));
  for (std::size_t i = 0; i < ranks.size(); ++i)
    if (ranks[i] < -1 || ranks[i] >= size)
      return entry(name, i, ranks[i]) + " in a communicator of " + std::to_string(size) + " ranks";
  return {};
}

[[nodiscard]] inline std::vector<int> as_int(std::span<const MPI_Count> counts) {
  std::vector<int> narrow;
  for (const MPI_Count count : counts) narrow.push_back(static_cast<int>(count));
  return narrow;
}

/// One way between ranks that index their elements: a topology, lists of both sides, and operations made when needed.
template <class T>
class IndexedEdges {
 public:
  IndexedEdges(LNW_Topology there, LNW_Topology back, ByRank send, ByRank receive, std::size_t send_size,
               std::size_t receive_size, const Hints& hints)
      : there_(there),
        back_(back),
        send_(std::move(send)),
        receive_(std::move(receive)),
        send_size_(static_cast<MPI_Count>(send_size)),
        receive_size_(static_cast<MPI_Count>(receive_size)),
        hints_(hints) {}
  ~IndexedEdges() {
    if (there_ != LNW_TOPOLOGY_NULL) LNW_Topology_free(&there_);
    if (back_ != LNW_TOPOLOGY_NULL) LNW_Topology_free(&back_);
  }
  IndexedEdges(const IndexedEdges&) = delete;
  IndexedEdges& operator=(const IndexedEdges&) = delete;

  [[nodiscard]] const ByRank& send() const { return send_; }
  [[nodiscard]] const ByRank& receive() const { return receive_; }

  void run(const T* source, T* destination) {
    if (!planned_) return run_once(source, destination);
    start(source, destination);
    forward_.wait();
  }
  void start(const T* source, T* destination) {
    if (forward_.get() == LNW_REQUEST_NULL) forward_ = plan();
    forward_.set_buffers(source, destination);
    forward_.start();
  }
  void wait() { forward_.wait(); }

  void run_back(const T* source, T* destination, MPI_Op op) {
    for (auto& [known, operation] : backward_)
      if (known == op) return run_with(operation, source, destination);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_reducev_init_indexed_topology_c(
        nullptr, receive_size_, receive_.counts.data(), receive_.elements.data(), type.get(), nullptr, send_size_,
        send_.counts.data(), send_.elements.data(), type.get(), op, back_, hints_.get(), &request));
    run_with(backward_.emplace_back(op, Persistent(request)).second, source, destination);
  }

 private:
  static void run_with(Persistent& operation, const T* source, T* destination) {
    operation.set_buffers(source, destination);
    operation.run();
  }

  [[nodiscard]] Persistent plan() const {
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_alltoallv_init_indexed_topology_c(
        nullptr, send_size_, send_.counts.data(), send_.elements.data(), type.get(), nullptr, receive_size_,
        receive_.counts.data(), receive_.elements.data(), type.get(), there_, hints_.get(), &request));
    return Persistent(request);
  }

  /// The first time: a plan would cost more than it saves where there is no second.
  void run_once(const T* source, T* destination) {
    planned_ = true;
    std::vector<T> packed(send_.elements.size()), arrived(receive_.elements.size());
    for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = source[send_.elements[i]];
    const auto begins_of = [](const std::vector<MPI_Count>& counts) {
      std::vector<MPI_Aint> begins(counts.size());
      std::exclusive_scan(counts.begin(), counts.end(), begins.begin(), MPI_Aint{0});
      return begins;
    };
    const Datatype<T> type;
    check(LNW_Neighbor_alltoallv_topology_c(packed.data(), send_.counts.data(), begins_of(send_.counts).data(),
                                            type.get(), arrived.data(), receive_.counts.data(),
                                            begins_of(receive_.counts).data(), type.get(), there_));
    for (std::size_t i = 0; i < arrived.size(); ++i) destination[receive_.elements[i]] = arrived[i];
  }

  LNW_Topology there_ = LNW_TOPOLOGY_NULL;
  LNW_Topology back_ = LNW_TOPOLOGY_NULL;
  ByRank send_;
  ByRank receive_;
  MPI_Count send_size_ = 0;
  MPI_Count receive_size_ = 0;
  KeptHints hints_;
  bool planned_ = false;
  Persistent forward_;
  std::vector<std::pair<MPI_Op, Persistent>> backward_;
};

[[nodiscard]] inline std::pair<LNW_Topology, LNW_Topology> both_ways(const Arrivals& arrivals, const Hints& hints) {
  std::pair<LNW_Topology, LNW_Topology> topologies{LNW_TOPOLOGY_NULL, LNW_TOPOLOGY_NULL};
  check(LNW_Topology_from_arrivals(arrivals.get(), hints.get(), &topologies.first));
  check(LNW_Topology_from_arrivals_reversed(arrivals.get(), hints.get(), &topologies.second));
  return topologies;
}

}  // namespace detail

/// Moves elements to the ranks that own them from now on, as particles that have moved. Arrays may be others each time.
///
///     laneway::Distributor<Particle> distributor(comm, export_ranks);
///     std::vector<Particle> arrived(distributor.imports());
///     distributor.distribute(particles, arrived);
template <class T>
class Distributor {
 public:
  /// Element i goes to `export_ranks[i]`, to none where that is -1. Collective.
  Distributor(MPI_Comm comm, std::span<const int> export_ranks, const Hints& hints = {}) {
    detail::agree(comm, "laneway::Distributor", detail::problem_of_ranks(comm, export_ranks, "export_ranks"));
    detail::ByRank send(export_ranks);
    const std::vector<MPI_Count> ones(send.ranks.size(), 1);
    const Arrivals arrivals = sparse_alltoallv<std::int64_t>(
        comm, send.ranks, ones, std::vector<std::int64_t>(send.counts.begin(), send.counts.end()), hints);
    detail::ByRank receive;
    receive.ranks.assign(arrivals.sources().begin(), arrivals.sources().end());
    for (const std::int64_t count : arrivals.data<std::int64_t>()) receive.counts.push_back(count);
    imports_ = static_cast<std::size_t>(std::accumulate(receive.counts.begin(), receive.counts.end(), MPI_Count{0}));
    receive.elements.resize(imports_);
    std::iota(receive.elements.begin(), receive.elements.end(), MPI_Count{0});
    const auto [there, back] = detail::both_ways(arrivals, hints);
    exports_ = export_ranks.size();
    edges_ = std::make_unique<detail::IndexedEdges<T>>(there, back, std::move(send), std::move(receive), exports_,
                                                       imports_, hints);
  }

  /// How many elements arrive, by source in ascending order; those of one source in the order that they have there.
  [[nodiscard]] std::size_t imports() const { return imports_; }
  [[nodiscard]] std::span<const int> sources() const { return edges_->receive().ranks; }
  [[nodiscard]] std::span<const MPI_Count> counts() const { return edges_->receive().counts; }

  /// `source` has an element for each export rank, `destination` room for imports(). Collective.
  void distribute(std::span<const T> source, std::span<T> destination) {
    require_sizes(source.size(), destination.size());
    edges_->run(source.data(), destination.data());
  }
  void start(std::span<const T> source, std::span<T> destination) {
    require_sizes(source.size(), destination.size());
    edges_->start(source.data(), destination.data());
  }
  void wait() { edges_->wait(); }

  /// Backwards: `arrived` has a value for each import; each is combined into the element of `exports` that it came
  /// from.
  void reverse(std::span<const T> arrived, std::span<T> exports, MPI_Op op = MPI_SUM) {
    require_sizes(exports.size(), arrived.size());
    edges_->run_back(arrived.data(), exports.data(), op);
  }

 private:
  void require_sizes(std::size_t exports, std::size_t imports) const {
    if (exports < exports_ || imports < imports_)
      throw std::invalid_argument("laneway::Distributor: arrays of " + std::to_string(exports) + " and " +
                                  std::to_string(imports) + " elements for " + std::to_string(exports_) +
                                  " exports and " + std::to_string(imports_) + " imports");
  }

  std::size_t exports_ = 0;
  std::size_t imports_ = 0;
  std::unique_ptr<detail::IndexedEdges<T>> edges_;
};

/// Fetches elements that other ranks own, again and again: for each import the rank and its index there. The same
/// element may be asked for many times.
template <class T>
class Collector {
 public:
  /// This rank owns `owned` elements and wants element `ids[i]` of rank `ranks[i]`, nothing where that is -1.
  /// Collective.
  Collector(MPI_Comm comm, std::size_t owned, std::span<const int> ranks, std::span<const MPI_Count> ids,
            const Hints& hints = {})
      : owned_(owned), imports_(ranks.size()) {
    std::string problem = detail::problem_of_ranks(comm, ranks, "ranks");
    if (ids.size() != ranks.size())
      problem = std::to_string(ids.size()) + " ids for " + std::to_string(ranks.size()) + " ranks";
    detail::agree(comm, "laneway::Collector", problem);
    detail::ByRank receive(ranks);
    std::vector<std::int64_t> wanted;
    for (const MPI_Count i : receive.elements) wanted.push_back(ids[static_cast<std::size_t>(i)]);
    const Arrivals arrivals = sparse_alltoallv<std::int64_t>(comm, receive.ranks, receive.counts, wanted, hints);
    detail::ByRank send;
    send.ranks.assign(arrivals.sources().begin(), arrivals.sources().end());
    send.counts.assign(arrivals.counts().begin(), arrivals.counts().end());
    problem.clear();
    for (const std::int64_t id : arrivals.data<std::int64_t>()) {
      if (id < 0 || id >= static_cast<std::int64_t>(owned))
        problem = "element " + std::to_string(id) + " is wanted of " + std::to_string(owned);
      send.elements.push_back(id);
    }
    detail::agree(comm, "laneway::Collector", problem);
    // The exchange went from those who want to those who have.
    const auto [back, there] = detail::both_ways(arrivals, hints);
    edges_ = std::make_unique<detail::IndexedEdges<T>>(there, back, std::move(send), std::move(receive), owned_,
                                                       imports_, hints);
  }

  /// Sets `imports[i]` to the element that import i names. Collective.
  void collect(std::span<const T> owned, std::span<T> imports) {
    require_sizes(owned.size(), imports.size());
    edges_->run(owned.data(), imports.data());
  }
  void start(std::span<const T> owned, std::span<T> imports) {
    require_sizes(owned.size(), imports.size());
    edges_->start(owned.data(), imports.data());
  }
  void wait() { edges_->wait(); }

  /// Backwards: combines each import into the element that it is a copy of.
  void reverse(std::span<const T> imports, std::span<T> owned, MPI_Op op = MPI_SUM) {
    require_sizes(owned.size(), imports.size());
    edges_->run_back(imports.data(), owned.data(), op);
  }

 private:
  void require_sizes(std::size_t owned, std::size_t imports) const {
    if (owned < owned_ || imports < imports_)
      throw std::invalid_argument("laneway::Collector: arrays of " + std::to_string(owned) + " and " +
                                  std::to_string(imports) + " elements for " + std::to_string(owned_) + " owned and " +
                                  std::to_string(imports_) + " imports");
  }

  std::size_t owned_;
  std::size_t imports_;
  std::unique_ptr<detail::IndexedEdges<T>> edges_;
};

namespace detail {

/// Where an element with a global number is: -1 where nobody has said so.
struct Place {
  std::int64_t owner = -1;
  std::int64_t index = -1;  ///< among the elements that its owner owns
};

/// A distributed directory: of each number some rank, which follows from the number alone, knows where it is. Numbers
/// are known in pieces that follow each other.
class Directory {
 public:
  struct Piece {
    std::int64_t begin;  ///< the first number
    std::int64_t count;
    std::int64_t index;  ///< of the first one
    std::int64_t owner;
  };

  /// `owned`: the numbers of this rank's elements, which nobody else owns. Collective.
  Directory(MPI_Comm comm, const std::vector<Piece>& owned) : comm_(comm) {
    int ranks = 0;
    check(MPI_Comm_size(comm, &ranks));
    std::int64_t end = 0, all = 0;
    for (const Piece& piece : owned) end = std::max(end, piece.begin + piece.count);
    check(MPI_Allreduce(&end, &all, 1, MPI_INT64_T, MPI_MAX, comm));
    each_ = std::max<std::int64_t>(1, (all + ranks - 1) / ranks);
    end_ = all;
    std::map<int, std::vector<Piece>> to;
    for (const Piece& piece : owned)
      for (std::int64_t begin = piece.begin; begin < piece.begin + piece.count;) {
        const std::int64_t rank = begin / each_;
        const std::int64_t until = std::min(piece.begin + piece.count, (rank + 1) * each_);
        to[static_cast<int>(rank)].push_back({begin, until - begin, piece.index + begin - piece.begin, piece.owner});
        begin = until;
      }
    std::vector<int> destinations;
    std::vector<MPI_Count> counts;
    std::vector<Piece> pieces;
    for (const auto& [rank, some] : to) {
      destinations.push_back(rank);
      counts.push_back(static_cast<MPI_Count>(some.size()));
      pieces.insert(pieces.end(), some.begin(), some.end());
    }
    const Arrivals arrivals = sparse_alltoallv<Piece>(comm, destinations, counts, pieces);
    const std::span<Piece> known = arrivals.data<Piece>();
    known_.assign(known.begin(), known.end());
    std::sort(known_.begin(), known_.end(), [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  }

  /// Collective.
  [[nodiscard]] std::vector<Place> find(std::span<const MPI_Count> numbers) const {
    std::vector<int> rank_of;
    for (const MPI_Count number : numbers)
      rank_of.push_back(number < 0 || number >= end_ ? -1 : static_cast<int>(number / each_));
    const ByRank by_rank(rank_of);
    std::vector<std::vector<std::int64_t>> requests(by_rank.ranks.size());
    std::size_t next = 0;
    for (std::size_t i = 0; i < requests.size(); ++i)
      for (MPI_Count k = 0; k < by_rank.counts[i]; ++k)
        requests[i].push_back(numbers[static_cast<std::size_t>(by_rank.elements[next++])]);
    const auto answers =
        query<std::int64_t>(comm_, by_rank.ranks, requests, [&](int, std::span<const std::int64_t> of) {
          std::vector<Place> places;
          for (const std::int64_t number : of) places.push_back(look_up(number));
          return places;
        });
    std::vector<Place> places(numbers.size());
    next = 0;
    for (const std::vector<Place>& some : answers)
      for (const Place& place : some) places[static_cast<std::size_t>(by_rank.elements[next++])] = place;
    return places;
  }

 private:
  [[nodiscard]] Place look_up(std::int64_t number) const {
    auto after = std::upper_bound(known_.begin(), known_.end(), number,
                                  [](std::int64_t wanted, const Piece& piece) { return wanted < piece.begin; });
    if (after == known_.begin()) return {};
    --after;
    if (number >= after->begin + after->count) return {};
    return {after->owner, after->index + number - after->begin};
  }

  MPI_Comm comm_;
  std::int64_t each_ = 1;
  std::int64_t end_ = 0;
  std::vector<Piece> known_;
};

/// Both sides of the halo of an array that has `owned` elements and then the ghosts, in the order of their numbers in
/// `ghosts`. Collective.
struct GhostSides {
  HaloSide send;
  HaloSide receive;

  GhostSides(MPI_Comm comm, const std::vector<Directory::Piece>& pieces, std::size_t owned,
             std::span<const MPI_Count> ghosts) {
    const Directory directory(comm, pieces);
    const std::vector<Place> places = directory.find(ghosts);
    std::string problem;
    std::vector<int> owners;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].owner < 0 && problem.empty()) problem = entry("ghost_ids", i, ghosts[i]) + ", which no rank owns";
      owners.push_back(static_cast<int>(places[i].owner));
    }
    agree(comm, "laneway::Halo::from_ghosts", problem);
    const ByRank by_owner(owners);
    std::vector<std::int64_t> wanted;
    for (const MPI_Count i : by_owner.elements) {
      wanted.push_back(places[static_cast<std::size_t>(i)].index);
      receive.indices.push_back(static_cast<MPI_Count>(owned) + i);
    }
    receive.ranks = by_owner.ranks;
    receive.counts = as_int(by_owner.counts);
    const Arrivals arrivals = sparse_alltoallv<std::int64_t>(comm, by_owner.ranks, by_owner.counts, wanted);
    send.ranks.assign(arrivals.sources().begin(), arrivals.sources().end());
    send.counts = as_int(arrivals.counts());
    for (const std::int64_t index : arrivals.data<std::int64_t>()) send.indices.push_back(index);
  }
};

[[nodiscard]] inline int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank));
  return rank;
}

}  // namespace detail

template <class T>
Halo<T> Halo<T>::from_ghosts(MPI_Comm comm, MPI_Count owned_begin, MPI_Count owned_count,
                             std::span<const MPI_Count> ghost_ids, const Hints& hints) {
  detail::agree(comm, "laneway::Halo::from_ghosts",
                owned_begin < 0 || owned_count < 0 ? "the owned numbers begin at " + std::to_string(owned_begin) +
                                                         " and are " + std::to_string(owned_count)
                                                   : std::string());
  const auto owned = static_cast<std::size_t>(owned_count);
  const detail::GhostSides sides(comm, {{owned_begin, owned_count, 0, detail::rank_in(comm)}}, owned, ghost_ids);
  return Halo(comm, sides.send, sides.receive, owned + ghost_ids.size(), hints);
}

template <class T>
Halo<T> Halo<T>::from_ghosts(MPI_Comm comm, std::span<const MPI_Count> owned_ids, std::span<const MPI_Count> ghost_ids,
                             const Hints& hints) {
  std::string problem;
  std::vector<detail::Directory::Piece> pieces;
  for (std::size_t i = 0; i < owned_ids.size(); ++i) {
    if (owned_ids[i] < 0 && problem.empty()) problem = detail::entry("owned_ids", i, owned_ids[i]);
    pieces.push_back({owned_ids[i], 1, static_cast<std::int64_t>(i), 0});
  }
  detail::agree(comm, "laneway::Halo::from_ghosts", problem);
  const int rank = detail::rank_in(comm);
  for (detail::Directory::Piece& piece : pieces) piece.owner = rank;
  const detail::GhostSides sides(comm, pieces, owned_ids.size(), ghost_ids);
  return Halo(comm, sides.send, sides.receive, owned_ids.size() + ghost_ids.size(), hints);
}

/// The halo of an array with n dimensions that is spread over a grid of ranks, in row-major order: each rank has
/// `extents` elements of its own, and around them `widths` ghost elements at both ends of each dimension, corners
/// included. Arrays have array_size() elements, the own ones beginning at `widths`.
template <class T>
class CartHalo {
 public:
  /// The grid is as MPI_Dims_create makes it. `extents` must be the same on all ranks; `periods[d]`: whether the last
  /// rank of dimension d neighbours the first. Collective.
  CartHalo(MPI_Comm comm, std::span<const int> extents, std::span<const int> widths, std::span<const bool> periods,
           const Hints& hints = {})
      : layout_(comm, {extents.begin(), extents.end()}, {widths.begin(), widths.end()}, periods),
        halo_(comm, layout_.send, layout_.receive, layout_.size, hints) {}

  void exchange(std::span<T> x) { halo_.exchange(x); }
  template <class... More>
  void exchange(std::span<T> x, std::span<T> y, More... more) {
    halo_.exchange(x, y, more...);
  }
  void start(std::span<T> x) { halo_.start(x); }
  void wait() { halo_.wait(); }
  /// Combines ghosts into the elements that they are copies of.
  void accumulate(std::span<T> x, MPI_Op op = MPI_SUM) { halo_.accumulate(x, op); }

  [[nodiscard]] std::size_t array_size() const { return layout_.size; }
  /// Ranks in each dimension, and this rank's place among them.
  [[nodiscard]] std::span<const int> dims() const { return layout_.dims; }
  [[nodiscard]] std::span<const int> coords() const { return layout_.coords; }

 private:
  struct Layout {
    std::vector<int> dims, coords;
    HaloSide send, receive;
    std::size_t size = 1;

    Layout(MPI_Comm comm, const std::vector<int>& extents, const std::vector<int>& widths,
           std::span<const bool> periods) {
      std::string problem;
      const std::size_t n = extents.size();
      if (widths.size() != n || periods.size() != n || n == 0)
        problem = std::to_string(n) + " extents, " + std::to_string(widths.size()) + " widths, " +
                  std::to_string(periods.size()) + " periods";
      for (std::size_t d = 0; problem.empty() && d < n; ++d)
        if (extents[d] < 1 || widths[d] < 0 || widths[d] > extents[d])
          problem = "dimension " + std::to_string(d) + " has " + std::to_string(extents[d]) +
                    " elements and a halo of width " + std::to_string(widths[d]);
      detail::agree(comm, "laneway::CartHalo", problem);
      int ranks = 0;
      check(MPI_Comm_size(comm, &ranks));
      dims.assign(n, 0);
      coords.assign(n, 0);
      check(MPI_Dims_create(ranks, static_cast<int>(n), dims.data()));
      int rest = detail::rank_in(comm);
      for (std::size_t d = n; d-- > 0; rest /= dims[d]) coords[d] = rest % dims[d];
      for (std::size_t d = 0; d < n; ++d) size *= static_cast<std::size_t>(extents[d] + 2 * widths[d]);
      // Both ends of an edge come to it in the same order, also where two ranks have several.
      for (std::vector<int> step(n, -1);;) {
        add(step, extents, widths, periods);
        std::size_t d = n;
        while (d > 0 && step[d - 1] == 1) step[--d] = -1;
        if (d == 0) break;
        ++step[d - 1];
      }
    }

    /// The neighbour in this direction gets elements; those on the other side send them in the same direction.
    void add(const std::vector<int>& step, const std::vector<int>& extents, const std::vector<int>& widths,
             std::span<const bool> periods) {
      if (std::all_of(step.begin(), step.end(), [](int s) { return s == 0; })) return;
      std::vector<int> to_first, from_first, counts;
      for (std::size_t d = 0; d < step.size(); ++d) {
        counts.push_back(step[d] == 0 ? extents[d] : widths[d]);
        to_first.push_back(step[d] > 0 ? extents[d] : widths[d]);
        from_first.push_back(step[d] > 0 ? 0 : step[d] < 0 ? widths[d] + extents[d] : widths[d]);
      }
      if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return;
      add_block(send, neighbor(step, 1, periods), to_first, counts, extents, widths);
      add_block(receive, neighbor(step, -1, periods), from_first, counts, extents, widths);
    }

    [[nodiscard]] int neighbor(const std::vector<int>& step, int sign, std::span<const bool> periods) const {
      int rank = 0;
      for (std::size_t d = 0; d < step.size(); ++d) {
        int at = coords[d] + sign * step[d];
        if (at < 0 || at >= dims[d]) {
          if (!periods[d]) return -1;
          at = (at + dims[d]) % dims[d];
        }
        rank = rank * dims[d] + at;
      }
      return rank;
    }

    static void add_block(HaloSide& side, int rank, const std::vector<int>& first, const std::vector<int>& counts,
                          const std::vector<int>& extents, const std::vector<int>& widths) {
      if (rank < 0) return;
      int elements = 0;
      for (std::vector<int> at(first.size(), 0);;) {
        MPI_Count index = 0;
        for (std::size_t d = 0; d < at.size(); ++d) index = index * (extents[d] + 2 * widths[d]) + first[d] + at[d];
        side.indices.push_back(index);
        ++elements;
        std::size_t d = at.size();
        while (d > 0 && at[d - 1] + 1 == counts[d - 1]) at[--d] = 0;
        if (d == 0) break;
        ++at[d - 1];
      }
      side.ranks.push_back(rank);
      side.counts.push_back(elements);
    }
  };

  Layout layout_;
  Halo<T> halo_;
};

/// Messages to any rank, whenever there is one to send: see laneway/bag.h.
///
///     laneway::Bag bag(comm);
///     bag.send<Update>(owner, updates);
///     bag.flush();
///     bag.take<Update>([&](int source, std::span<const Update> updates) { … });
class Bag {
 public:
  /// Collective, as the destructor, flush and iflush.
  explicit Bag(MPI_Comm comm, const Hints& hints = {}) { check(LNW_Bag_create(comm, hints.get(), &bag_)); }
  ~Bag() {
    if (bag_ != LNW_BAG_NULL) LNW_Bag_free(&bag_);
  }
  Bag(Bag&& other) noexcept : bag_(std::exchange(other.bag_, LNW_BAG_NULL)) {}
  Bag& operator=(Bag&& other) noexcept {
    std::swap(bag_, other.bag_);
    return *this;
  }

  /// Waits until there is room for the message. By any thread, with MPI_THREAD_MULTIPLE.
  template <class T>
  void send(int destination, std::span<const T> data) {
    static_assert(std::is_trivially_copyable_v<T>);
    check(LNW_Bag_send(bag_, destination, data.data(), static_cast<MPI_Count>(data.size_bytes())));
  }
  template <class T>
  void send(int destination, const T& value) {
    send<T>(destination, std::span<const T>(&value, 1));
  }
  /// Calls `f(source, data)` for each message that has arrived; data is valid in that call. After a flush these are all
  /// of the rounds that have ended. Returns how many there were.
  template <class T, class F>
  std::size_t take(F&& f) {
    std::size_t messages = 0;
    for (;; ++messages) {
      int source = 0, flag = 0;
      void* data = nullptr;
      MPI_Count bytes = 0;
      check(LNW_Bag_next(bag_, &source, &data, &bytes, &flag));
      if (flag == 0) return messages;
      f(source, std::span<const T>(static_cast<const T*>(data), static_cast<std::size_t>(bytes) / sizeof(T)));
    }
  }
  /// Ends a round: all messages have arrived.
  void flush() { check(LNW_Bag_flush(bag_)); }
  [[nodiscard]] LNW_Request start_flush() {
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Bag_iflush(bag_, &request));
    return request;
  }
  [[nodiscard]] LNW_Bag get() const { return bag_; }

 private:
  LNW_Bag bag_ = LNW_BAG_NULL;
};

}  // namespace cxx

}  // namespace laneway
