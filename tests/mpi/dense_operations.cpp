#include "dense_operations.hpp"

#include <algorithm>
#include <cstring>

#include "device_memory.hpp"
#include "predefined_types.hpp"

namespace laneway::test {

const char* name(Way way) {
  switch (way) {
    case Way::mpi:
      return "MPI";
    case Way::blocking:
      return "blocking";
    case Way::nonblocking:
      return "nonblocking";
    case Way::persistent:
      return "persistent";
    case Way::large_blocking:
      return "blocking _c";
    case Way::large_nonblocking:
      return "nonblocking _c";
    case Way::large_persistent:
      return "persistent _c";
  }
  return "?";
}

const std::vector<std::string>& movements() {
  static const std::vector<std::string> all = {"alltoall",   "alltoallv", "alltoallw", "allgather",
                                               "allgatherv", "gather",    "gatherv",   "scatter",
                                               "scatterv",   "bcast",     "barrier"};
  return all;
}

const std::vector<std::string>& reductions() {
  static const std::vector<std::string> all = {"reduce", "allreduce", "reduce_scatter", "reduce_scatter_block",
                                               "scan",   "exscan"};
  return all;
}

bool takes_in_place(const std::string& operation) {
  return operation != "bcast" && operation != "barrier";
}

namespace {

/// The arguments of a call in both widths. Blocks of v-operations differ in size, with gaps between them.
template <class Count, class Displacement>
struct Lists {
  std::vector<Count> sent, received;
  std::vector<Displacement> from, to;
};

class Calls {
 public:
  Calls(const Dense& dense, Way way) : d(dense), way_(way) {
    MPI_Comm_rank(d.comm, &rank_);
    MPI_Comm_size(d.comm, &size_);
    std::size_t from = 0;
    std::size_t to = 0;
    const bool one_sends = d.operation == "scatterv";
    for (int peer = 0; peer < size_; ++peer) {
      const int sent = d.operation == "reduce_scatter" ? block(0, peer) : block(one_sends ? d.root : rank_, peer);
      // In place there is one description of both directions.
      const int received = gathers() ? block(peer, 0) : d.operation == "reduce_scatter" ? sent : block(peer, rank_);
      add(small, sent, received, from, to);
      add(large, sent, received, from, to);
      from += static_cast<std::size_t>(sent) + gap();
      to += static_cast<std::size_t>(received) + gap();
    }
    sendtypes.assign(static_cast<std::size_t>(size_), d.sent.type);
    recvtypes.assign(static_cast<std::size_t>(size_), d.received.type);
    most_ = static_cast<std::size_t>((d.count + 2) * (size_ + 1) + 1);
    fill(send, most_ * d.sent.extent, 1);
    fill(receive, most_ * d.received.extent, 2);
    turn_round(send, d.sent);
    turn_round(receive, d.received);
    before = receive;
    if (!d.on_devices || way_ == Way::mpi) return;
    const auto kind = [&](std::uint64_t side) { return Mirror::kind_of(mix({d.seed, side})); };
    send_there_ = Mirror(kind(static_cast<std::uint64_t>(rank_)), send.size());
    receive_there_ = Mirror(kind(static_cast<std::uint64_t>(rank_) + 100), receive.size());
    write(send_there_, send);
    write(receive_there_, receive);
  }

  int run();

  void bring_back() {
    if (receive_there_) {
      std::vector<unsigned char> bytes(receive.size());
      receive_there_.read(bytes);
      std::memcpy(receive.data(), bytes.data(), bytes.size());
    }
    turn_round(receive, d.received);
  }

  /// Of what a rank gets of a reduction.
  [[nodiscard]] std::size_t own_bytes() const {
    const int own = d.operation == "reduce_scatter" ? block(0, rank_) : d.count;
    return static_cast<std::size_t>(own) * d.received.extent;
  }

 private:
  [[nodiscard]] bool gathers() const { return d.operation == "allgatherv" || d.operation == "gatherv"; }
  [[nodiscard]] std::size_t gap() const { return d.operation == "reduce_scatter" ? 0 : 1; }
  /// Of the v-operations; equal in both directions, so that they may be in place. Some ranks are without any: Open MPI
  /// 4.1's Ialltoallv and Ialltoallw in place return there without taking a tag, and the next nonblocking collective of
  /// the communicator hangs. This library must not give them data in place.
  [[nodiscard]] int block(int from, int to) const {
    const auto a = static_cast<std::uint64_t>(std::min(from, to));
    const auto b = static_cast<std::uint64_t>(std::max(from, to));
    return static_cast<int>(mix({d.seed, a, b}) % static_cast<std::uint64_t>(d.count + 1));
  }
  template <class L>
  void add(L& lists, int sent, int received, std::size_t from, std::size_t to) const {
    const bool in_bytes = d.operation == "alltoallw";
    lists.sent.push_back(sent);
    lists.received.push_back(received);
    const auto place = [&](std::size_t at, const Elements& side) {
      const int bytes = static_cast<int>(at * side.extent);
      return !in_bytes ? static_cast<int>(at) : side.backward != 0 ? -bytes : bytes;
    };
    lists.from.push_back(place(from, d.sent));
    lists.to.push_back(place(to, d.received));
  }
  /// From ascending addresses to descending ones, or back.
  void turn_round(std::vector<std::byte>& buffer, const Elements& side) const {
    if (side.backward == 0) return;
    const std::vector<std::byte> copy = buffer;
    const std::size_t bytes = most_ * side.extent;
    for (std::size_t at = 0; at < bytes; at += side.backward)
      std::memcpy(buffer.data() + (bytes - side.backward - at), copy.data() + at, side.backward);
  }
  /// Where the first unit is.
  [[nodiscard]] std::size_t first(const Elements& side) const {
    return side.backward == 0 ? 0 : most_ * side.extent - side.backward;
  }
  /// Small numbers of the type, so that any order of combining gives the same bits.
  void fill(std::vector<std::byte>& buffer, std::size_t bytes, std::uint64_t side) const;

  [[nodiscard]] int equal();
  [[nodiscard]] int unequal();
  [[nodiscard]] int rooted();
  [[nodiscard]] int combining();

  [[nodiscard]] const void* from() const {
    const bool at_root = d.operation == "gather" || d.operation == "gatherv" || d.operation == "reduce";
    const bool here = d.in_place && !d.operation.starts_with("scatter") && (!at_root || rank_ == d.root);
    if (here && way_ == Way::mpi && d.operation == "reduce") return copied();
    return here ? MPI_IN_PLACE : sent();
  }
  /// MPICH 4.0's blocking MPI_Reduce crashes in place at another root than rank 0, with more than 2 KiB.
  [[nodiscard]] const void* copied() const {
    static std::vector<std::byte> copy;
    copy = receive;
    return copy.data();
  }
  [[nodiscard]] void* to() {
    if (d.first_has_no_buffer && rank_ == 0) return nullptr;
    return d.in_place && d.operation.starts_with("scatter") && rank_ == d.root ? MPI_IN_PLACE : received();
  }
  [[nodiscard]] const void* sent() const {
    return send_there_ ? static_cast<const void*>(send_there_.data()) : send.data() + first(d.sent);
  }
  [[nodiscard]] void* received() {
    return receive_there_ ? static_cast<void*>(receive_there_.data()) : receive.data() + first(d.received);
  }
  static void write(const Mirror& mirror, const std::vector<std::byte>& bytes) {
    if (!mirror) return;
    std::vector<unsigned char> copy(bytes.size());
    std::memcpy(copy.data(), bytes.data(), bytes.size());
    mirror.write(copy);
  }

  /// Two exchanges, from the same data.
  int start_twice(LNW_Request& request) {
    for (int n = 0; n < 2; ++n) {
      std::copy(before.begin(), before.end(), receive.begin());
      write(receive_there_, receive);
      if (const int code = LNW_Start(&request); code != MPI_SUCCESS) return code;
      if (const int code = LNW_Wait(&request, MPI_STATUS_IGNORE); code != MPI_SUCCESS) return code;
    }
    return LNW_Request_free(&request);
  }
  static int finish(int code, LNW_Request& request) {
    if (code != MPI_SUCCESS) return code;
    int flag = 0;
    while (flag == 0)
      if (const int tested = LNW_Test(&request, &flag, MPI_STATUS_IGNORE); tested != MPI_SUCCESS) return tested;
    return request == LNW_REQUEST_NULL ? MPI_SUCCESS : MPI_ERR_OTHER;
  }

  const Dense& d;
  Way way_;
  int rank_ = 0;
  int size_ = 0;
  std::size_t most_ = 0;  // elements of a buffer
  Lists<int, int> small;
  Lists<MPI_Count, MPI_Aint> large;
  std::vector<MPI_Datatype> sendtypes, recvtypes;
  std::vector<std::byte> send, before;
  Mirror send_there_, receive_there_;  // on devices

 public:
  std::vector<std::byte> receive;
};

void Calls::fill(std::vector<std::byte>& buffer, std::size_t bytes, std::uint64_t side) const {
  buffer.assign(bytes + 64, std::byte{0});
  MPI_Datatype type = side == 1 ? d.sent.type : d.received.type;
  Random random(static_cast<Random::result_type>(mix({d.seed, side, static_cast<std::uint64_t>(rank_), d.turn})));
  if (const PredefinedType* const found = find_predefined_type(type); found != nullptr && type != MPI_INT) {
    for (std::size_t at = 0; at + found->bytes <= bytes; at += found->bytes) found->fill(random, buffer.data() + at);
    return;
  }
  for (std::size_t at = 0; at + sizeof(int) <= bytes; at += sizeof(int)) {
    const int value = pick(random, 0, 2);
    std::memcpy(buffer.data() + at, &value, sizeof value);
  }
  if (d.sent.extent < sizeof(int))
    for (std::byte& byte : buffer) byte = std::byte(pick(random, 0, 3));
}

/// Calls a function of each way with its arguments, in both widths.
#define CALL(NAME, INAME, ...)                                                                                  \
  {                                                                                                             \
    LNW_Request request = LNW_REQUEST_NULL;                                                                     \
    if (way_ == Way::mpi) {                                                                                     \
      const auto& L = small;                                                                                    \
      (void)L;                                                                                                  \
      return MPI_##NAME(__VA_ARGS__, d.comm);                                                                   \
    }                                                                                                           \
    if (way_ == Way::blocking || way_ == Way::nonblocking || way_ == Way::persistent) {                         \
      const auto& L = small;                                                                                    \
      (void)L;                                                                                                  \
      if (way_ == Way::blocking) return LNW_##NAME(__VA_ARGS__, d.comm);                                        \
      if (way_ == Way::nonblocking) return finish(LNW_##INAME(__VA_ARGS__, d.comm, &request), request);         \
      const int code = LNW_##NAME##_init(__VA_ARGS__, d.comm, d.info, &request);                                \
      return code != MPI_SUCCESS ? code : start_twice(request);                                                 \
    }                                                                                                           \
    const auto& L = large;                                                                                      \
    (void)L;                                                                                                    \
    if (way_ == Way::large_blocking) return LNW_##NAME##_c(__VA_ARGS__, d.comm);                                \
    if (way_ == Way::large_nonblocking) return finish(LNW_##INAME##_c(__VA_ARGS__, d.comm, &request), request); \
    const int code = LNW_##NAME##_init_c(__VA_ARGS__, d.comm, d.info, &request);                                \
    return code != MPI_SUCCESS ? code : start_twice(request);                                                   \
  }

int Calls::equal() {
  if (d.operation == "alltoall") CALL(Alltoall, Ialltoall, from(), d.count, d.sent.type, to(), d.count, d.received.type)
  CALL(Allgather, Iallgather, from(), d.count, d.sent.type, to(), d.count, d.received.type)
}

int Calls::unequal() {
  if (d.operation == "alltoallv")
    CALL(Alltoallv, Ialltoallv, from(), L.sent.data(), L.from.data(), d.sent.type, to(), L.received.data(), L.to.data(),
         d.received.type)
  if (d.operation == "alltoallw")
    CALL(Alltoallw, Ialltoallw, from(), L.sent.data(), L.from.data(), sendtypes.data(), to(), L.received.data(),
         L.to.data(), recvtypes.data())
  CALL(Allgatherv, Iallgatherv, from(), block(rank_, 0), d.sent.type, to(), L.received.data(), L.to.data(),
       d.received.type)
}

int Calls::rooted() {
  if (d.operation == "gather")
    CALL(Gather, Igather, from(), d.count, d.sent.type, to(), d.count, d.received.type, d.root)
  if (d.operation == "gatherv")
    CALL(Gatherv, Igatherv, from(), block(rank_, 0), d.sent.type, to(), L.received.data(), L.to.data(), d.received.type,
         d.root)
  if (d.operation == "scatter")
    CALL(Scatter, Iscatter, sent(), d.count, d.sent.type, to(), d.count, d.received.type, d.root)
  if (d.operation == "scatterv")
    CALL(Scatterv, Iscatterv, sent(), L.sent.data(), L.from.data(), d.sent.type, to(), block(d.root, rank_),
         d.received.type, d.root)
  CALL(Bcast, Ibcast, to(), d.count, d.received.type, d.root)
}

int Calls::combining() {
  if (d.operation == "reduce") CALL(Reduce, Ireduce, from(), to(), d.count, d.received.type, d.received.op, d.root)
  if (d.operation == "allreduce") CALL(Allreduce, Iallreduce, from(), to(), d.count, d.received.type, d.received.op)
  if (d.operation == "reduce_scatter")
    CALL(Reduce_scatter, Ireduce_scatter, from(), to(), L.sent.data(), d.received.type, d.received.op)
  if (d.operation == "reduce_scatter_block")
    CALL(Reduce_scatter_block, Ireduce_scatter_block, from(), to(), d.count, d.received.type, d.received.op)
  if (d.operation == "scan") CALL(Scan, Iscan, from(), to(), d.count, d.received.type, d.received.op)
  CALL(Exscan, Iexscan, from(), to(), d.count, d.received.type, d.received.op)
}

#undef CALL

int Calls::run() {
  const std::string& name = d.operation;
  if (name == "barrier") {
    LNW_Request request = LNW_REQUEST_NULL;
    if (way_ == Way::mpi) return MPI_Barrier(d.comm);
    if (way_ == Way::blocking || way_ == Way::large_blocking) return LNW_Barrier(d.comm);
    if (way_ == Way::nonblocking || way_ == Way::large_nonblocking)
      return finish(LNW_Ibarrier(d.comm, &request), request);
    const int code = LNW_Barrier_init(d.comm, d.info, &request);
    return code != MPI_SUCCESS ? code : start_twice(request);
  }
  if (name == "alltoall" || name == "allgather") return equal();
  if (name == "alltoallv" || name == "alltoallw" || name == "allgatherv") return unequal();
  if (std::ranges::count(reductions(), name) > 0) return combining();
  return rooted();
}

}  // namespace

std::vector<std::byte> Dense::run(Way way) {
  Calls calls(*this, way);
  if (const int returned = calls.run(); returned != MPI_SUCCESS) code = returned;
  calls.bring_back();
  // Nobody says what becomes of the rest of a vector of which a rank gets its part, in place.
  if (in_place && operation.starts_with("reduce_scatter")) calls.receive.resize(calls.own_bytes());
  // Nobody says what is in the bytes that such numbers do not use.
  if (const PredefinedType* const type = find_predefined_type(received.type)) clear_unused(*type, calls.receive);
  return std::move(calls.receive);
}

}  // namespace laneway::test
