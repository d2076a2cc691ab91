/// A communication space for Kokkos Comm, and what Kokkos Comm lacks: persistent halos of Views, and alltoallv.
///
///     using Space = laneway::KokkosCommSpace;
///     auto comm = KokkosComm::Communicator<Space, Exec>::from_raw(MPI_COMM_WORLD, exec);
///     auto request = KokkosComm::Experimental::allreduce(comm, x, sum, KokkosComm::Sum());
///     request.wait();
///     auto halo = laneway::kokkos_comm::halo(comm, u, parts.send, parts.receive);
///     halo.exchange(comm.exec(), u);
///
/// Needs a Kokkos Comm with Communicator and Request. Views of any rank and layout; their elements travel in the order
/// of LayoutRight, so that ranks may have different layouts.
#pragma once

#include <KokkosComm/KokkosComm.hpp>
#include <functional>

#include "laneway/kokkos.hpp"

namespace laneway {

inline namespace cxx {

/// To be given as communication space.
struct KokkosCommSpace {
  using communication_space = KokkosCommSpace;
  using communicator_type = MPI_Comm;
  using handle_type = MPI_Comm;
  using request_type = MPI_Request;
  using datatype_type = MPI_Datatype;
  using reduction_op_type = MPI_Op;
  using size_type = int;
  using rank_type = int;
};

}  // namespace cxx

}  // namespace laneway

template <>
struct KokkosComm::Impl::is_communication_space<laneway::KokkosCommSpace> : std::true_type {};

namespace laneway {

inline namespace cxx {

namespace kokkos_comm {

/// The elements of a View one after another in the host's memory: the View's own where they lie there like that, or
/// a copy.
template <class View>
class OnHost {
 public:
  using value_type = typename View::non_const_value_type;
  static constexpr auto rank = static_cast<std::size_t>(View::rank);

  /// `is_read`: the View's elements are needed. Returns when they are there.
  template <class ExecutionSpace>
  OnHost(const ExecutionSpace& space, const View& view, bool is_read) : view_(view) {
    if (!is_own()) {
      Kokkos::LayoutRight layout;
      for (std::size_t d = 0; d < rank; ++d) layout.dimension[d] = view.extent(d);
      packed_ = Packed(Kokkos::view_alloc(Kokkos::WithoutInitializing, "laneway_packed"), layout);
      host_ = Kokkos::create_mirror_view(packed_);
      if (is_read) {
        Kokkos::deep_copy(space, packed_, view);
        if (host_.data() != packed_.data()) Kokkos::deep_copy(space, host_, packed_);
      }
    }
    space.fence();
  }
  [[nodiscard]] value_type* data() const {
    return is_own() ? const_cast<value_type*>(view_.data()) : const_cast<value_type*>(host_.data());
  }
  [[nodiscard]] std::size_t size() const { return view_.size(); }
  /// Puts what has arrived into the View.
  template <class ExecutionSpace>
  void give_back(const ExecutionSpace& space) const {
    if constexpr (!std::is_const_v<typename View::value_type>) {
      if (is_own()) return;
      if (host_.data() != packed_.data()) Kokkos::deep_copy(space, packed_, host_);
      Kokkos::deep_copy(space, view_, packed_);
      space.fence();
    }
  }

 private:
  using Packed = Kokkos::View<typename View::non_const_data_type, Kokkos::LayoutRight, typename View::memory_space>;

  [[nodiscard]] bool is_own() const {
    constexpr bool is_right = rank <= 1 || std::is_same_v<typename View::array_layout, Kokkos::LayoutRight>;
    return kokkos::is_on_host<View> && is_right && view_.span_is_contiguous();
  }

  View view_;
  Packed packed_;
  typename Packed::HostMirror host_;
};

/// A datatype of any number of elements, for calls with a count of int.
template <class T>
class Elements {
 public:
  explicit Elements(std::size_t count) {
    const auto most = static_cast<std::size_t>(INT_MAX);
    const Datatype<T> element;
    MPI_Datatype piece = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(static_cast<int>(count % most), element.get(), &type_));
    if (count >= most) {
      check(MPI_Type_vector(static_cast<int>(count / most), INT_MAX, INT_MAX, element.get(), &piece));
      const std::array<int, 2> ones{1, 1};
      const std::array<MPI_Aint, 2> at{0, static_cast<MPI_Aint>(count / most * most * sizeof(T))};
      const std::array<MPI_Datatype, 2> both{piece, type_};
      MPI_Datatype rest = type_;
      check(MPI_Type_create_struct(2, ones.data(), at.data(), both.data(), &type_));
      check(MPI_Type_free(&piece));
      check(MPI_Type_free(&rest));
    }
    check(MPI_Type_commit(&type_));
  }
  ~Elements() { MPI_Type_free(&type_); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// The type of elements that are reduced.
template <class T>
[[nodiscard]] MPI_Datatype reduced() {
  static_assert(std::is_arithmetic_v<T>, "laneway::KokkosCommSpace: only arithmetic types are reduced");
  return datatype<T>();
}

template <class Sent, class Received>
void check_same_type() {
  static_assert(std::is_same_v<typename Sent::non_const_value_type, typename Received::value_type>,
                "laneway::KokkosCommSpace: both Views are of one type, and the second one is not of constants");
}

/// Throws std::invalid_argument.
inline void check_size(const char* call, const char* view, std::size_t size, std::size_t needed) {
  if (size < needed)
    throw std::invalid_argument(std::string("laneway::KokkosCommSpace: ") + call + ": the View " + view + " has " +
                                std::to_string(size) + " elements, and needs " + std::to_string(needed));
}

}  // namespace kokkos_comm

}  // namespace cxx

}  // namespace laneway

namespace KokkosComm {

/// As the communicator of MPI's space. Splits and duplicates are freed with their owner.
template <KokkosExecutionSpace Exec>
class Communicator<laneway::KokkosCommSpace, Exec> {
 public:
  using execution_space = Exec;
  using communication_space = laneway::KokkosCommSpace;
  using communicator_type = MPI_Comm;
  using size_type = int;
  using rank_type = int;

  /// The communicator remains the caller's.
  [[nodiscard]] static Communicator from_raw(MPI_Comm comm, const Exec& exec = Exec{}) { return {comm, exec, false}; }
  /// Collective. None for ranks whose color is MPI_UNDEFINED.
  [[nodiscard]] static std::optional<Communicator> split_from_raw(MPI_Comm comm, int color, int key,
                                                                  const Exec& exec = Exec{}) {
    MPI_Comm made = MPI_COMM_NULL;
    laneway::check(MPI_Comm_split(comm, color, key, &made));
    if (made == MPI_COMM_NULL) return std::nullopt;
    return Communicator(made, exec, true);
  }
  [[nodiscard]] std::optional<Communicator> split(int color, int key) {
    return split_from_raw(comm_, color, key, exec_);
  }
  /// Collective.
  [[nodiscard]] static std::optional<Communicator> duplicate_from_raw(MPI_Comm comm, const Exec& exec = Exec{}) {
    MPI_Comm made = MPI_COMM_NULL;
    laneway::check(MPI_Comm_dup(comm, &made));
    return Communicator(made, exec, true);
  }
  [[nodiscard]] std::optional<Communicator> duplicate() { return duplicate_from_raw(comm_, exec_); }

  ~Communicator() { reset(); }
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  Communicator(Communicator&& other) noexcept
      : comm_(std::exchange(other.comm_, MPI_COMM_NULL)),
        exec_(other.exec_),
        size_(other.size_),
        rank_(other.rank_),
        is_own_(std::exchange(other.is_own_, false)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    if (this != &other) {
      reset();
      comm_ = std::exchange(other.comm_, MPI_COMM_NULL);
      exec_ = other.exec_;
      size_ = other.size_;
      rank_ = other.rank_;
      is_own_ = std::exchange(other.is_own_, false);
    }
    return *this;
  }

  [[nodiscard]] const Exec& exec() const noexcept { return exec_; }
  [[nodiscard]] MPI_Comm comm() const noexcept { return comm_; }
  [[nodiscard]] int size() const noexcept { return size_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  Communicator(MPI_Comm comm, const Exec& exec, bool is_own) : comm_(comm), exec_(exec), is_own_(is_own) {
    laneway::check(MPI_Comm_size(comm, &size_));
    laneway::check(MPI_Comm_rank(comm, &rank_));
  }
  void reset() noexcept {
    if (is_own_ && !laneway::detail::is_finalized()) MPI_Comm_free(&comm_);
  }

  MPI_Comm comm_;
  Exec exec_;
  int size_ = 0;
  int rank_ = 0;
  bool is_own_;
};

/// What is under way. Keeps the Views alive, and waits before it is destroyed.
template <>
class Request<laneway::KokkosCommSpace> {
 public:
  using communication_space = laneway::KokkosCommSpace;
  using request_type = MPI_Request;
  using rank_type = int;

  Request() = default;
  ~Request() {
    if (is_complete() || laneway::detail::is_finalized()) return;
    try {
      wait();
    } catch (...) {  // of MPI's error handler that returns: the same as with wait(), of which nobody is told here
    }
  }
  Request(Request&& other) noexcept
      : messages_(std::exchange(other.messages_, {})),
        collective_(std::exchange(other.collective_, LNW_REQUEST_NULL)),
        callbacks_(std::exchange(other.callbacks_, {})) {}
  Request& operator=(Request&& other) noexcept {
    std::swap(messages_, other.messages_);
    std::swap(collective_, other.collective_);
    std::swap(callbacks_, other.callbacks_);
    return *this;
  }

  void add_callback(std::function<void()>&& callback) { callbacks_.push_back(std::move(callback)); }
  template <KokkosView View>
  void extend_view_lifetime(const View& view) {
    if (view.use_count() != 0) add_callback([view] {});
  }
  /// For a message, or for a collective operation.
  [[nodiscard]] MPI_Request& message() { return messages_.emplace_back(MPI_REQUEST_NULL); }
  [[nodiscard]] LNW_Request& collective() { return collective_; }

  /// Other ranks may wait for what this one relays, so that every turn advances the library.
  void wait() {
    if (collective_ != LNW_REQUEST_NULL) laneway::check(LNW_Wait(&collective_, MPI_STATUS_IGNORE));
    while (!test()) {
      int major = 0, minor = 0, patch = 0;
      laneway::check(LNW_Get_version(&major, &minor, &patch));
    }
  }
  [[nodiscard]] bool test() {
    int flag = 1;
    if (collective_ != LNW_REQUEST_NULL) laneway::check(LNW_Test(&collective_, &flag, MPI_STATUS_IGNORE));
    if (flag == 0) return false;
    if (!messages_.empty())
      laneway::check(MPI_Testall(static_cast<int>(messages_.size()), messages_.data(), &flag, MPI_STATUSES_IGNORE));
    if (flag == 0) return false;
    messages_.clear();
    for (const std::function<void()>& callback : std::exchange(callbacks_, {})) callback();
    return true;
  }

 private:
  [[nodiscard]] bool is_complete() const {
    return collective_ == LNW_REQUEST_NULL && messages_.empty() && callbacks_.empty();
  }

  std::vector<MPI_Request> messages_;
  LNW_Request collective_ = LNW_REQUEST_NULL;
  std::vector<std::function<void()>> callbacks_;
};

inline void wait(Request<laneway::KokkosCommSpace>& request) {
  request.wait();
}
inline void wait(Request<laneway::KokkosCommSpace>&& request) {
  request.wait();
}
inline bool test(Request<laneway::KokkosCommSpace>& request) {
  return request.test();
}
inline void wait_all(std::span<Request<laneway::KokkosCommSpace>> requests) {
  for (auto& request : requests) request.wait();
}
/// The index of one that is complete; none if there are no requests.
inline std::optional<int> wait_any(std::span<Request<laneway::KokkosCommSpace>> requests) {
  while (!requests.empty())
    for (std::size_t i = 0; i < requests.size(); ++i)
      if (requests[i].test()) return static_cast<int>(i);
  return std::nullopt;
}

}  // namespace KokkosComm

namespace laneway {

inline namespace cxx {

namespace kokkos_comm {

inline constexpr int message_tag = 38;

using Request = KokkosComm::Request<KokkosCommSpace>;
template <class Exec>
using Communicator = KokkosComm::Communicator<KokkosCommSpace, Exec>;

template <class Exec, class View>
void send_into(Request& request, const Communicator<Exec>& comm, const View& view, int peer) {
  const OnHost<View> host(comm.exec(), view, true);
  const Elements<typename OnHost<View>::value_type> type(host.size());
  check(MPI_Isend(host.data(), 1, type.get(), peer, message_tag, comm.comm(), &request.message()));
  request.add_callback([host] {});
}
template <class Exec, class View>
void receive_into(Request& request, const Communicator<Exec>& comm, const View& view, int peer) {
  const OnHost<View> host(comm.exec(), view, false);
  const Elements<typename OnHost<View>::value_type> type(host.size());
  check(MPI_Irecv(host.data(), 1, type.get(), peer, message_tag, comm.comm(), &request.message()));
  request.add_callback([host, exec = comm.exec()] { host.give_back(exec); });
}

/// Calls `f(sent, received, &request)` with the elements of both Views in the host's memory.
template <class Exec, class Sent, class Received, class F>
[[nodiscard]] Request collective(const Communicator<Exec>& comm, const Sent& sent, const Received& received, F&& f) {
  check_same_type<Sent, Received>();
  const OnHost<Sent> out(comm.exec(), sent, true);
  const OnHost<Received> in(comm.exec(), received, true);  // what is not written stays
  Request request;
  check(f(out.data() == in.data() ? MPI_IN_PLACE : static_cast<const void*>(out.data()), in.data(),
          &request.collective()));
  request.add_callback([out, in, exec = comm.exec()] { in.give_back(exec); });
  return request;
}

/// A persistent halo of Views on the communicator: kokkos::Halo. Collective.
template <class Exec, class View>
[[nodiscard]] kokkos::Halo<View> halo(const Communicator<Exec>& comm, const View& view,
                                      std::span<const Part<static_cast<std::size_t>(View::rank)>> send,
                                      std::span<const Part<static_cast<std::size_t>(View::rank)>> receive,
                                      const Hints& hints = {}) {
  return kokkos::Halo<View>(comm.comm(), view, send, receive, hints);
}

/// Counts and displacements, in elements, for each rank.
struct Shares {
  std::span<const MPI_Count> counts;
  std::span<const MPI_Aint> displacements;
};

namespace detail {

template <class Exec, class View>
void check_shares(const char* call, const char* name, const Communicator<Exec>& comm, const View& view,
                  const Shares& shares) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  if (shares.counts.size() != ranks || shares.displacements.size() != ranks)
    throw std::invalid_argument(std::string("laneway::kokkos_comm::") + call + ": " + name + " has " +
                                std::to_string(shares.counts.size()) + " counts and " +
                                std::to_string(shares.displacements.size()) + " displacements for " +
                                std::to_string(ranks) + " ranks");
  for (std::size_t r = 0; r < ranks; ++r)
    if (shares.counts[r] < 0 || shares.displacements[r] < 0 ||
        static_cast<std::size_t>(shares.displacements[r] + shares.counts[r]) > view.size())
      throw std::invalid_argument(std::string("laneway::kokkos_comm::") + call + ": " + name + " has " +
                                  std::to_string(shares.counts[r]) + " elements from " +
                                  std::to_string(shares.displacements[r]) + " on for rank " + std::to_string(r) +
                                  ", and the View has " + std::to_string(view.size()));
}

}  // namespace detail

/// To and from each rank of the communicator. Collective. Throws std::invalid_argument on the rank whose shares do not
/// fit its View.
template <class Exec, class Sent, class Received>
[[nodiscard]] Request alltoallv(Communicator<Exec>& comm, const Sent& sent, const Shares& send_shares,
                                const Received& received, const Shares& receive_shares) {
  detail::check_shares("alltoallv", "send_shares", comm, sent, send_shares);
  detail::check_shares("alltoallv", "receive_shares", comm, received, receive_shares);
  const Datatype<typename Received::value_type> type;
  return collective(comm, sent, received, [&](const void* out, void* in, LNW_Request* request) {
    return LNW_Ialltoallv_c(out, send_shares.counts.data(), send_shares.displacements.data(), type.get(), in,
                            receive_shares.counts.data(), receive_shares.displacements.data(), type.get(), comm.comm(),
                            request);
  });
}

/// The same, persistent, of contiguous Views of rank 1 in the host's memory, which the operation does not keep alive.
template <class Exec, class Sent, class Received>
[[nodiscard]] Persistent alltoallv_init(Communicator<Exec>& comm, const Sent& sent, const Shares& send_shares,
                                        const Received& received, const Shares& receive_shares,
                                        const Hints& hints = {}) {
  check_same_type<Sent, Received>();
  static_assert(kokkos::is_on_host<Sent> && kokkos::is_on_host<Received>,
                "laneway::kokkos_comm::alltoallv_init: Views in the host's memory; for others make a graph and use "
                "laneway::kokkos::neighbor_alltoallv_init");
  if (!sent.span_is_contiguous() || !received.span_is_contiguous())
    throw std::invalid_argument("laneway::kokkos_comm::alltoallv_init: a View is not contiguous");
  detail::check_shares("alltoallv_init", "send_shares", comm, sent, send_shares);
  detail::check_shares("alltoallv_init", "receive_shares", comm, received, receive_shares);
  const Datatype<typename Received::value_type> type;
  LNW_Request request = LNW_REQUEST_NULL;
  check(LNW_Alltoallv_init_c(sent.data(), send_shares.counts.data(), send_shares.displacements.data(), type.get(),
                             received.data(), receive_shares.counts.data(), receive_shares.displacements.data(),
                             type.get(), comm.comm(), hints.get(), &request));
  return Persistent(request);
}

}  // namespace kokkos_comm

}  // namespace cxx

}  // namespace laneway

namespace KokkosComm {

namespace Impl {

template <KokkosView SendView, KokkosExecutionSpace Exec>
struct Send<SendView, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const SendView& view, int peer) {
    laneway::kokkos_comm::Request request;
    laneway::kokkos_comm::send_into(request, comm, view, peer);
    return request;
  }
};

template <KokkosView RecvView, KokkosExecutionSpace Exec>
struct Recv<RecvView, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const RecvView& view, int peer) {
    laneway::kokkos_comm::Request request;
    laneway::kokkos_comm::receive_into(request, comm, view, peer);
    return request;
  }
};

template <KokkosExecutionSpace Exec, KokkosView SendView, KokkosView RecvView>
struct Exchange<laneway::KokkosCommSpace, Exec, SendView, RecvView> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const SendView& sent, int to,
                      const RecvView& received, int from) {
    laneway::kokkos_comm::Request request;
    laneway::kokkos_comm::receive_into(request, comm, received, from);
    laneway::kokkos_comm::send_into(request, comm, sent, to);
    return request;
  }
};

template <KokkosExecutionSpace Exec>
struct Barrier<Exec, laneway::KokkosCommSpace> {
  explicit Barrier(const Communicator<laneway::KokkosCommSpace, Exec>& comm) {
    comm.exec().fence();
    LNW_Request request = LNW_REQUEST_NULL;
    laneway::check(LNW_Ibarrier(comm.comm(), &request));
    laneway::check(LNW_Wait(&request, MPI_STATUS_IGNORE));
  }
};

}  // namespace Impl

namespace Experimental::Impl {

template <KokkosView View, KokkosExecutionSpace Exec>
struct Broadcast<View, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const View& view, int root) {
    const laneway::Datatype<typename View::value_type> type;
    return laneway::kokkos_comm::collective(comm, view, view, [&](const void*, void* data, LNW_Request* request) {
      return LNW_Ibcast_c(data, static_cast<MPI_Count>(view.size()), type.get(), root, comm.comm(), request);
    });
  }
};

template <KokkosView SendView, KokkosView RecvView, KokkosExecutionSpace Exec>
struct AllGather<SendView, RecvView, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const SendView& sent,
                      const RecvView& received) {
    laneway::kokkos_comm::check_size("allgather", "that receives", received.size(),
                                     sent.size() * static_cast<std::size_t>(comm.size()));
    const laneway::Datatype<typename RecvView::value_type> type;
    const auto count = static_cast<MPI_Count>(sent.size());
    return laneway::kokkos_comm::collective(comm, sent, received, [&](const void* out, void* in, LNW_Request* request) {
      return LNW_Iallgather_c(out, count, type.get(), in, count, type.get(), comm.comm(), request);
    });
  }
};

template <KokkosView SendView, KokkosView RecvView, KokkosExecutionSpace Exec>
struct AllToAll<SendView, RecvView, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const SendView& sent,
                      const RecvView& received, int count) {
    const std::size_t needed = static_cast<std::size_t>(count) * static_cast<std::size_t>(comm.size());
    laneway::kokkos_comm::check_size("alltoall", "that is sent", sent.size(), needed);
    laneway::kokkos_comm::check_size("alltoall", "that receives", received.size(), needed);
    const laneway::Datatype<typename RecvView::value_type> type;
    return laneway::kokkos_comm::collective(comm, sent, received, [&](const void* out, void* in, LNW_Request* request) {
      return LNW_Ialltoall_c(out, count, type.get(), in, count, type.get(), comm.comm(), request);
    });
  }
};

template <KokkosView SendView, KokkosView RecvView, ReductionOperator Op, KokkosExecutionSpace Exec>
struct AllReduce<SendView, RecvView, Op, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const SendView& sent,
                      const RecvView& received) {
    laneway::kokkos_comm::check_size("allreduce", "that receives", received.size(), sent.size());
    return laneway::kokkos_comm::collective(comm, sent, received, [&](const void* out, void* in, LNW_Request* request) {
      return LNW_Iallreduce_c(out, in, static_cast<MPI_Count>(sent.size()),
                              laneway::kokkos_comm::reduced<typename RecvView::value_type>(),
                              reduction_op<MpiSpace, Op>(), comm.comm(), request);
    });
  }
};

template <KokkosView SendView, KokkosView RecvView, ReductionOperator Op, KokkosExecutionSpace Exec>
struct Reduce<SendView, RecvView, Op, Exec, laneway::KokkosCommSpace> {
  static auto execute(Communicator<laneway::KokkosCommSpace, Exec>& comm, const SendView& sent,
                      const RecvView& received, int root) {
    if (comm.rank() == root) laneway::kokkos_comm::check_size("reduce", "that receives", received.size(), sent.size());
    return laneway::kokkos_comm::collective(comm, sent, received, [&](const void* out, void* in, LNW_Request* request) {
      // In place only where the result is.
      const void* const from = out == MPI_IN_PLACE && comm.rank() != root ? in : out;
      return LNW_Ireduce_c(from, in, static_cast<MPI_Count>(sent.size()),
                           laneway::kokkos_comm::reduced<typename RecvView::value_type>(), reduction_op<MpiSpace, Op>(),
                           root, comm.comm(), request);
    });
  }
};

}  // namespace Experimental::Impl

}  // namespace KokkosComm
