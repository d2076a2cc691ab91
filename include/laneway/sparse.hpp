/// Partners that only one side knows, in C++20: queries, distributors, collectors, halos from ghost numbers and of
/// arrays with n dimensions, bags. Comes with laneway.hpp.
#pragma once

#include "laneway/laneway.hpp"

#include <climits>
#include <exception>
#include <memory>
#include <numeric>

namespace laneway {

inline namespace cxx {

/// What has arrived in a sparse exchange; freed with its owner.
class Arrivals {
 public:
  /// Owns the handle from now on.
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
  /// The handle, valid as long as this object.
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
  std::string problem;
  if (targets.size() != requests.size())
    problem = std::to_string(requests.size()) + " requests for " + std::to_string(targets.size()) + " targets";
  else if (targets.size() > INT_MAX)
    problem = std::to_string(targets.size()) + " targets, more than an int counts";
  detail::agree(comm, "laneway::query", problem);
  std::vector<Request> all;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> displacements;
  for (const std::vector<Request>& request : requests) {
    counts.push_back(static_cast<MPI_Count>(request.size()));
    displacements.push_back(static_cast<MPI_Aint>(all.size()));
    all.insert(all.end(), request.begin(), request.end());
  }
  detail::Answering<Request, Answer, std::remove_reference_t<F>> answering{answer};
  const Datatype<Request> type;
  LNW_Arrivals handle = LNW_ARRIVALS_NULL;
  const int code = LNW_Sparse_query_c(static_cast<int>(targets.size()), targets.data(), all.data(), counts.data(),
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

/// A distributor of C, and operations on elements of T that are made when needed.
template <class T>
class Moves {
  static_assert(std::is_trivially_copyable_v<T>, "laneway::Distributor, Collector: T must be trivially copyable");

 public:
  Moves(LNW_Distributor made, const Hints& hints) : distributor_(made), hints_(hints) {}

  [[nodiscard]] LNW_Distributor get() const { return distributor_.get(); }

  /// The first time without a request: that would cost more than it saves where there is no second.
  void run(const T* source, T* destination) {
    if (is_used_) {
      start(source, destination);
      return wait();
    }
    is_used_ = true;
    const Datatype<T> type;
    check(LNW_Distributor_exchange(get(), source, destination, type.get()));
  }
  void start(const T* source, T* destination) {
    if (forward_.get() == LNW_REQUEST_NULL) {
      const Datatype<T> type;
      LNW_Request request = LNW_REQUEST_NULL;
      check(LNW_Distributor_init(get(), nullptr, nullptr, type.get(), hints_.get(), &request));
      forward_ = Persistent(request);
    }
    forward_.set_buffers(source, destination);
    forward_.start();
  }
  void wait() { forward_.wait(); }

  void run_back(const T* source, T* destination, MPI_Op op) {
    for (auto& [known, operation] : backward_)
      if (known == op) return run_with(operation, source, destination);
    const Datatype<T> type;
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Distributor_reverse_init(get(), nullptr, nullptr, type.get(), op, hints_.get(), &request));
    run_with(backward_.emplace_back(op, Persistent(request)).second, source, destination);
  }

 private:
  static void run_with(Persistent& operation, const T* source, T* destination) {
    operation.set_buffers(source, destination);
    operation.run();
  }

  struct Free {
    void operator()(LNW_Distributor distributor) const { LNW_Distributor_free(&distributor); }
  };

  std::unique_ptr<LNW_Distributor_s, Free> distributor_;
  KeptHints hints_;
  bool is_used_ = false;
  Persistent forward_;
  std::vector<std::pair<MPI_Op, Persistent>> backward_;
};

}  // namespace detail

/// Moves elements to the ranks that own them from now on, as particles that have moved. Arrays may be others each time.
///
///     laneway::Distributor<Particle> distributor(comm, export_ranks);
///     std::vector<Particle> arrived(distributor.imports());
///     distributor.distribute(particles, arrived);
template <class T>
class Distributor {
 public:
  /// Element i goes to `export_ranks[i]`, to none where that is -1. Collective. Bad ranks are an error of `comm` on all
  /// ranks.
  Distributor(MPI_Comm comm, std::span<const int> export_ranks, const Hints& hints = {})
      : exports_(export_ranks.size()), moves_(create(comm, export_ranks, hints), hints) {
    MPI_Count imports = 0;
    check(LNW_Distributor_get_count(moves_.get(), nullptr, &imports));
    imports_ = static_cast<std::size_t>(imports);
  }

  /// How many elements arrive, by source in ascending order; those of one source in the order that they have there.
  [[nodiscard]] std::size_t imports() const { return imports_; }
  /// The ranks that elements come from, ascending.
  [[nodiscard]] std::span<const int> sources() const {
    const int* sources = nullptr;
    int number = 0;
    check(LNW_Distributor_get_sources(moves_.get(), &number, &sources, nullptr));
    return {sources, static_cast<std::size_t>(number)};
  }
  /// How many elements come from each of them.
  [[nodiscard]] std::span<const MPI_Count> counts() const {
    const MPI_Count* counts = nullptr;
    int number = 0;
    check(LNW_Distributor_get_sources(moves_.get(), &number, nullptr, &counts));
    return {counts, static_cast<std::size_t>(number)};
  }

  /// `source` has an element for each export rank, `destination` room for imports(). Both may be on devices.
  /// Collective.
  void distribute(std::span<const T> source, std::span<T> destination) {
    require_sizes(source.size(), destination.size());
    moves_.run(source.data(), destination.data());
  }
  /// Begins what `distribute` does; `wait` ends it. Neither array may be touched meanwhile.
  void start(std::span<const T> source, std::span<T> destination) {
    require_sizes(source.size(), destination.size());
    moves_.start(source.data(), destination.data());
  }
  /// Returns when all has arrived.
  void wait() { moves_.wait(); }

  /// Backwards: `arrived` has a value for each import; each is combined into the element of `exports` that it came
  /// from.
  void reverse(std::span<const T> arrived, std::span<T> exports, MPI_Op op = MPI_SUM) {
    require_sizes(exports.size(), arrived.size());
    moves_.run_back(arrived.data(), exports.data(), op);
  }

 private:
  void require_sizes(std::size_t exports, std::size_t imports) const {
    if (exports < exports_ || imports < imports_)
      throw std::invalid_argument("laneway::Distributor: arrays of " + std::to_string(exports) + " and " +
                                  std::to_string(imports) + " elements for " + std::to_string(exports_) +
                                  " exports and " + std::to_string(imports_) + " imports");
  }

  static LNW_Distributor create(MPI_Comm comm, std::span<const int> export_ranks, const Hints& hints) {
    LNW_Distributor made = LNW_DISTRIBUTOR_NULL;
    check(LNW_Distributor_create(comm, static_cast<MPI_Count>(export_ranks.size()), export_ranks.data(), hints.get(),
                                 &made));
    return made;
  }

  std::size_t exports_ = 0;
  std::size_t imports_ = 0;
  detail::Moves<T> moves_;
};

namespace detail {

/// Elements that leave their rank, without gaps and by destination, and where the others are.
template <class T>
struct Leaving {
  std::vector<int> destinations;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Aint> displacements;
  std::vector<T> elements;

  /// A destination that is not in the communicator stays in the list, so that the call that gets it says so.
  Leaving(std::span<const int> export_ranks, std::span<const T> all, int rank, int ranks) {
    std::vector<std::size_t> begins(static_cast<std::size_t>(ranks));
    for (const int to : export_ranks) {
      if (to == rank || to == -1) continue;
      if (to < 0 || to >= ranks)
        add(to, 0, 0);
      else
        ++begins[static_cast<std::size_t>(to)];
    }
    std::size_t at = 0;
    for (int to = 0; to < ranks; ++to) {
      std::size_t& begin = begins[static_cast<std::size_t>(to)];
      if (begin > 0) add(to, begin, at);
      at += std::exchange(begin, at);
    }
    elements.resize(at);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (export_ranks[i] != rank && export_ranks[i] >= 0 && export_ranks[i] < ranks)
        elements[begins[static_cast<std::size_t>(export_ranks[i])]++] = all[i];
  }

 private:
  void add(int to, std::size_t count, std::size_t begin) {
    destinations.push_back(to);
    counts.push_back(static_cast<MPI_Count>(count));
    displacements.push_back(static_cast<MPI_Aint>(begin));
  }
};

}  // namespace detail

/// Moves elements to the ranks that own them from now on, once: element i to `export_ranks[i]`, to none where that is
/// -1. What comes back has the elements that stay first, in their order, then what arrives, by source in ascending
/// order. Elements travel with the messages that find their owners, and those that stay are copied meanwhile. Where the
/// same moves are made again, a Distributor saves the search. Collective; bad ranks are an error of `comm` on all
/// ranks.
///
/// `memory` is used for what comes back; two arrays that take turns need no new memory in each step:
///
///     next = laneway::distribute<Particle>(comm, export_ranks, particles, std::move(next));
///     std::swap(particles, next);
template <class T>
[[nodiscard]] std::vector<T> distribute(MPI_Comm comm, std::span<const int> export_ranks, std::span<const T> elements,
                                        std::vector<T> memory = {}, const Hints& hints = {}) {
  static_assert(std::is_trivially_copyable_v<T>, "laneway::distribute: T must be trivially copyable");
  int rank = 0, ranks = 0;
  check(MPI_Comm_rank(comm, &rank));
  check(MPI_Comm_size(comm, &ranks));
  const bool fits = export_ranks.size() == elements.size();
  const detail::Leaving<T> leaving(fits ? export_ranks : std::span<const int>{}, fits ? elements : std::span<const T>{},
                                   rank, ranks);
  const Datatype<T> type;
  LNW_Arrivals handle = LNW_ARRIVALS_NULL;
  LNW_Request request = LNW_REQUEST_NULL;
  // All ranks learn of an impossible number of destinations.
  const int code = LNW_Isparse_alltoallv_c(
      fits ? static_cast<int>(leaving.destinations.size()) : -1, leaving.destinations.data(), leaving.elements.data(),
      leaving.counts.data(), leaving.displacements.data(), type.get(), comm, hints.get(), &handle, &request);
  std::vector<T> moved = std::move(memory);
  moved.clear();
  if (code == MPI_SUCCESS) {
    moved.reserve(elements.size() + elements.size() / 8);
    for (std::size_t i = 0; i < elements.size();) {
      const std::size_t begin = i;
      while (i < elements.size() && export_ranks[i] == rank) ++i;
      moved.insert(moved.end(), elements.begin() + static_cast<std::ptrdiff_t>(begin),
                   elements.begin() + static_cast<std::ptrdiff_t>(i));
      while (i < elements.size() && export_ranks[i] != rank) ++i;
    }
  }
  const int end = code != MPI_SUCCESS ? code : LNW_Wait(&request, MPI_STATUS_IGNORE);
  // A failed one is still there.
  if (request != LNW_REQUEST_NULL) LNW_Request_free(&request);
  if (!fits)
    throw std::invalid_argument("laneway::distribute: " + std::to_string(export_ranks.size()) + " export ranks of " +
                                std::to_string(elements.size()) + " elements");
  check(end);
  const Arrivals arrivals(handle);
  const std::span<const T> arrived = arrivals.data<T>();
  moved.insert(moved.end(), arrived.begin(), arrived.end());
  return moved;
}

/// Fetches elements that other ranks own, again and again: for each import the rank and its index there. The same
/// element may be asked for many times.
template <class T>
class Collector {
 public:
  /// This rank owns `owned` elements and wants element `ids[i]` of rank `ranks[i]`, nothing where that is -1.
  /// Collective. Bad ranks and ids are an error of `comm` on all ranks.
  Collector(MPI_Comm comm, std::size_t owned, std::span<const int> ranks, std::span<const MPI_Count> ids,
            const Hints& hints = {})
      : owned_(owned), imports_(ranks.size()), moves_(create(comm, owned, ranks, ids, hints), hints) {}

  /// Sets `imports[i]` to the element that import i names. Both may be on devices. Collective.
  void collect(std::span<const T> owned, std::span<T> imports) {
    require_sizes(owned.size(), imports.size());
    moves_.run(owned.data(), imports.data());
  }
  /// Begins what `collect` does; `wait` ends it. Neither array may be touched meanwhile.
  void start(std::span<const T> owned, std::span<T> imports) {
    require_sizes(owned.size(), imports.size());
    moves_.start(owned.data(), imports.data());
  }
  /// Returns when all has arrived.
  void wait() { moves_.wait(); }

  /// Backwards: combines each import into the element that it is a copy of.
  void reverse(std::span<const T> imports, std::span<T> owned, MPI_Op op = MPI_SUM) {
    require_sizes(owned.size(), imports.size());
    moves_.run_back(imports.data(), owned.data(), op);
  }

 private:
  void require_sizes(std::size_t owned, std::size_t imports) const {
    if (owned < owned_ || imports < imports_)
      throw std::invalid_argument("laneway::Collector: arrays of " + std::to_string(owned) + " and " +
                                  std::to_string(imports) + " elements for " + std::to_string(owned_) + " owned and " +
                                  std::to_string(imports_) + " imports");
  }

  static LNW_Distributor create(MPI_Comm comm, std::size_t owned, std::span<const int> ranks,
                                std::span<const MPI_Count> ids, const Hints& hints) {
    detail::agree(comm, "laneway::Collector",
                  ids.size() == ranks.size()
                      ? std::string()
                      : std::to_string(ids.size()) + " ids for " + std::to_string(ranks.size()) + " ranks");
    LNW_Distributor made = LNW_DISTRIBUTOR_NULL;
    check(LNW_Distributor_create_from_imports(comm, static_cast<MPI_Count>(owned), static_cast<MPI_Count>(ranks.size()),
                                              ranks.data(), ids.data(), hints.get(), &made));
    return made;
  }

  std::size_t owned_;
  std::size_t imports_;
  detail::Moves<T> moves_;
};

namespace detail {

/// A halo of C, and what it moves.
class FoundHalo {
 public:
  explicit FoundHalo(LNW_Halo halo) : halo_(halo) {}

  [[nodiscard]] LNW_Halo get() const { return halo_.get(); }
  [[nodiscard]] std::size_t size() const {
    MPI_Count elements = 0;
    check(LNW_Halo_get_count(get(), nullptr, &elements));
    return static_cast<std::size_t>(elements);
  }
  [[nodiscard]] HaloSide send() const { return side(&LNW_Halo_get_sent); }
  [[nodiscard]] HaloSide receive() const { return side(&LNW_Halo_get_received); }

 private:
  using Get = int (*)(LNW_Halo, int*, const int**, const MPI_Count**, const MPI_Count**);

  [[nodiscard]] HaloSide side(Get get_side) const {
    int neighbors = 0;
    const int* ranks = nullptr;
    const MPI_Count *counts = nullptr, *elements = nullptr;
    check(get_side(get(), &neighbors, &ranks, &counts, &elements));
    HaloSide side{{ranks, ranks + neighbors}, {}, {}};
    MPI_Count all = 0;
    for (int i = 0; i < neighbors; ++i) {
      // A count of less than 0 is what Halo refuses, on all ranks.
      side.counts.push_back(counts[i] <= INT_MAX ? static_cast<int>(counts[i]) : -1);
      all += counts[i];
    }
    side.indices.assign(elements, elements + all);
    return side;
  }

  struct Free {
    void operator()(LNW_Halo halo) const { LNW_Halo_free(&halo); }
  };
  std::unique_ptr<LNW_Halo_s, Free> halo_;
};

}  // namespace detail

template <class T>
Halo<T> Halo<T>::from_ghosts(MPI_Comm comm, MPI_Count owned_begin, MPI_Count owned_count,
                             std::span<const MPI_Count> ghost_ids, const Hints& hints) {
  LNW_Halo made = LNW_HALO_NULL;
  check(LNW_Halo_create(comm, owned_begin, owned_count, static_cast<MPI_Count>(ghost_ids.size()), ghost_ids.data(),
                        hints.get(), &made));
  const detail::FoundHalo found(made);
  return Halo(comm, found.send(), found.receive(), found.size(), hints);
}

template <class T>
Halo<T> Halo<T>::from_ghosts(MPI_Comm comm, std::span<const MPI_Count> owned_ids, std::span<const MPI_Count> ghost_ids,
                             const Hints& hints) {
  LNW_Halo made = LNW_HALO_NULL;
  check(LNW_Halo_create_from_ids(comm, static_cast<MPI_Count>(owned_ids.size()), owned_ids.data(),
                                 static_cast<MPI_Count>(ghost_ids.size()), ghost_ids.data(), hints.get(), &made));
  const detail::FoundHalo found(made);
  return Halo(comm, found.send(), found.receive(), found.size(), hints);
}

/// The halo of an array with n dimensions that is spread over a grid of ranks, in row-major order: each rank has
/// `extents` elements of its own, and around them `widths` ghost elements at both ends of each dimension, corners
/// included. Arrays have array_size() elements, the own ones beginning at `widths`.
template <class T>
class CartHalo {
 public:
  /// The grid is as MPI_Dims_create makes it. `extents`: ranks that share their place in a dimension have the same
  /// there; `periods[d]`: whether the last rank of dimension d neighbours the first; `corners`: whether ghosts across
  /// edges and corners are exchanged. Collective. What does not fit is an error of `comm` on all ranks.
  CartHalo(MPI_Comm comm, std::span<const int> extents, std::span<const int> widths, std::span<const bool> periods,
           const Hints& hints = {}, bool corners = true)
      : CartHalo(comm, detail::FoundHalo(create(comm, extents, widths, periods, hints, corners)), extents.size(),
                 hints) {}

  /// Fills the ghosts of an array, or of several in one exchange.
  void exchange(std::span<T> x) { halo_.exchange(x); }
  template <class... More>
  void exchange(std::span<T> x, std::span<T> y, More... more) {
    halo_.exchange(x, y, more...);
  }
  /// Begins an exchange; `wait` ends it.
  void start(std::span<T> x) { halo_.start(x); }
  /// Returns when the exchange is complete.
  void wait() { halo_.wait(); }
  /// Combines ghosts into the elements that they are copies of.
  void accumulate(std::span<T> x, MPI_Op op = MPI_SUM) { halo_.accumulate(x, op); }
  template <class... More>
  void accumulate(std::span<T> x, std::span<T> y, More... more) {
    halo_.accumulate(x, y, more...);
  }
  template <class... More>
  void accumulate(MPI_Op op, std::span<T> x, std::span<T> y, More... more) {
    halo_.accumulate(op, x, y, more...);
  }

  /// Elements of an array with its ghosts.
  [[nodiscard]] std::size_t array_size() const { return size_; }
  /// Ranks in each dimension.
  [[nodiscard]] std::span<const int> dims() const { return dims_; }
  /// This rank's place in each dimension, from 0.
  [[nodiscard]] std::span<const int> coords() const { return coords_; }

 private:
  CartHalo(MPI_Comm comm, const detail::FoundHalo& found, std::size_t dimensions, const Hints& hints)
      : dims_(dimensions),
        coords_(dimensions),
        size_(found.size()),
        halo_(comm, found.send(), found.receive(), size_, hints) {
    check(LNW_Halo_get_cart(found.get(), static_cast<int>(dimensions), dims_.data(), coords_.data()));
  }

  static LNW_Halo create(MPI_Comm comm, std::span<const int> extents, std::span<const int> widths,
                         std::span<const bool> periods, const Hints& hints, bool corners) {
    detail::agree(comm, "laneway::CartHalo",
                  widths.size() == extents.size() && periods.size() == extents.size()
                      ? std::string()
                      : std::to_string(extents.size()) + " extents, " + std::to_string(widths.size()) + " widths, " +
                            std::to_string(periods.size()) + " periods");
    const std::vector<int> periodic(periods.begin(), periods.end());
    LNW_Halo made = LNW_HALO_NULL;
    check(LNW_Halo_create_cart(comm, static_cast<int>(extents.size()), nullptr, extents.data(), widths.data(),
                               periodic.data(), corners ? 1 : 0, hints.get(), &made));
    return made;
  }

  std::vector<int> dims_, coords_;
  std::size_t size_ = 0;
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
  /// Nonblocking: LNW_Wait or LNW_Test completes the request.
  [[nodiscard]] LNW_Request start_flush() {
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Bag_iflush(bag_, &request));
    return request;
  }
  /// The handle, valid as long as this object.
  [[nodiscard]] LNW_Bag get() const { return bag_; }

 private:
  LNW_Bag bag_ = LNW_BAG_NULL;
};

}  // namespace cxx

}  // namespace laneway
