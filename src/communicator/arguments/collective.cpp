#include "communicator/arguments/collective.hpp"

#include <string>

#include "base/error.hpp"
#include "communicator/arguments/collective_rows.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "laneway/base.h"
#include "mpi/check.hpp"

namespace laneway {

const DenseRow& row_of(DenseKind kind) {
  for (const DenseRow& row : dense_rows)
    if (row.kind == kind) return row;
  internal_error("a dense operation without a row", __FILE__, __LINE__);
}

bool is_in_place(const CollectiveCall& call) {
  return call.sendbuf == MPI_IN_PLACE || call.recvbuf == MPI_IN_PLACE;
}

bool uses_send(const CollectiveCall& call, bool is_root) {
  if (call.kind == DenseKind::barrier || call.kind == DenseKind::bcast || call.sendbuf == MPI_IN_PLACE) return false;
  return is_root || (call.kind != DenseKind::scatter && call.kind != DenseKind::scatterv);
}

bool uses_receive(const CollectiveCall& call, bool is_root) {
  if (call.kind == DenseKind::barrier || call.recvbuf == MPI_IN_PLACE) return false;
  return is_root ||
         (call.kind != DenseKind::gather && call.kind != DenseKind::gatherv && call.kind != DenseKind::reduce);
}

int entries(const CollectiveCall& call, int peers, int ranks) {
  return call.kind == DenseKind::reduce_scatter ? ranks : peers;
}

namespace {

std::string element(const char* array, std::int64_t i) {
  return std::string(array) + "[" + std::to_string(i) + "]";
}

[[noreturn]] void too_many(const std::string& name, std::int64_t value) {
  throw Error(ErrorKind::count, name + " is " + std::to_string(value) + ": more than 2^63 bytes");
}

/// Bytes of data in `count` elements.
std::int64_t size_of(std::int64_t count, MPI_Datatype type, const char* count_name, const char* type_name) {
  require(count >= 0, ErrorKind::count, [&] { return std::string(count_name) + " is " + std::to_string(count); });
  require(type != MPI_DATATYPE_NULL, ErrorKind::type, [&] { return std::string(type_name) + " is MPI_DATATYPE_NULL"; });
  MPI_Count size = 0;
  check_mpi(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) too_many(count_name, count);
  return bytes;
}

/// One rank's view of a call, argument by argument.
class Checker {
 public:
  Checker(const CollectiveCall& call, Rank rank, Rank ranks)
      : call_(call), row_(row_of(call.kind)), rank_(rank), ranks_(ranks) {}

  std::int64_t check() {
    require(call_.fault == nullptr, ErrorKind::argument, call_.fault);
    if (has_root(call_.kind))
      require(call_.root >= 0 && call_.root < ranks_, ErrorKind::mpi, MPI_ERR_ROOT,
              [&] { return "root is " + std::to_string(call_.root) + " of " + std::to_string(ranks_) + " ranks"; });
    check_places();
    const bool is_root = !has_root(call_.kind) || call_.root == rank_;
    if (uses_send(call_, is_root)) sent_ = check_side(call_.send, row_.send, call_.sendbuf, "sendbuf");
    if (uses_receive(call_, is_root))
      received_ = check_side(call_.receive, row_.receive, call_.recvbuf, receive_name());
    if (reduces(call_.kind) && call_.sendbuf == nullptr) check_operands();
    compare_own();
    return bytes();
  }

 private:
  template <class Message>
  static void require(bool condition, ErrorKind kind, int mpi_class, Message&& message) {
    if (!condition) throw Error(kind, message(), mpi_class);
  }
  template <class Message>
  static void require(bool condition, ErrorKind kind, Message&& message) {
    laneway::require(condition, kind, std::forward<Message>(message));
  }
  [[nodiscard]] const char* receive_name() const { return call_.kind == DenseKind::bcast ? "buffer" : "recvbuf"; }

  void check_places() const {
    require(call_.sendbuf != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, "sendbuf is not contiguous");
    require(call_.recvbuf != LNW_NOT_CONTIGUOUS, ErrorKind::buffer,
            [&] { return std::string(receive_name()) + " is not contiguous"; });
    const auto check = [&](const char* name, bool is_given, bool may, bool at_root) {
      require(!is_given || may, ErrorKind::buffer, [&] {
        return std::string(name) + " is MPI_IN_PLACE, which " + laneway::name(call_.kind) + " does not take";
      });
      require(!is_given || !at_root || call_.root == rank_, ErrorKind::buffer,
              [&] { return std::string(name) + " is MPI_IN_PLACE, which only the root may give"; });
    };
    const char* const sent = call_.kind == DenseKind::bcast ? "buffer" : "sendbuf";
    check(sent, call_.sendbuf == MPI_IN_PLACE,
          row_.in_place == InPlace::send_everywhere || row_.in_place == InPlace::send_at_root,
          row_.in_place == InPlace::send_at_root);
    check(receive_name(), call_.recvbuf == MPI_IN_PLACE, row_.in_place == InPlace::receive_at_root, true);
  }

  /// Bytes of its block for this rank, or of the only one.
  std::int64_t check_side(const SideArguments& side, const SideRow& names, const void* buffer, const char* name) const {
    if (names.count == nullptr && names.counts == nullptr) return -1;  // of a reduction, said by the other side
    std::int64_t own = 0;
    std::int64_t all = 0;
    if (names.counts != nullptr) {
      for (const auto& [array, what] :
           {std::pair{side.counts, names.counts}, std::pair{side.displacements, names.displacements}})
        require(what == nullptr || !array.null(), ErrorKind::argument,
                [&, what = what] { return std::string(what) + " is NULL"; });
      require(names.types == nullptr || side.types != nullptr, ErrorKind::argument,
              [&] { return std::string(names.types) + " is NULL"; });
      for (Rank peer = 0; peer < ranks_; ++peer) {
        const std::int64_t bytes = check_entry(side, names, peer);
        if (peer == rank_) own = bytes;
        if (__builtin_add_overflow(all, bytes, &all)) too_many(element(names.counts, peer), side.counts[peer]);
      }
    } else {
      own = all = size_of(side.count, side.type, names.count, names.type);
      if (__builtin_mul_overflow(all, std::int64_t{ranks_}, &all)) too_many(names.count, side.count);
    }
    // Of a reduce_scatter a rank gets its own part; in place it gives all.
    if (call_.kind == DenseKind::reduce_scatter && call_.sendbuf != MPI_IN_PLACE) all = own;
    if (buffer == nullptr && all > 0 && !is_first_of_exscan()) check_null(side, names, name);
    return own;
  }

  /// Rank 0 gets nothing from an exscan, and in place alone gives what its receive buffer has.
  [[nodiscard]] bool is_first_of_exscan() const {
    return call_.kind == DenseKind::exscan && rank_ == 0 && call_.sendbuf != MPI_IN_PLACE;
  }

  /// Blocks from MPI_BOTTOM on, which is a null pointer, are bad where no memory can be.
  void check_null(const SideArguments& side, const SideRow& names, const char* name) const {
    const bool is_reduced = call_.kind == DenseKind::reduce_scatter;
    for (Rank peer = 0; peer < (names.counts != nullptr ? ranks_ : 1); ++peer) {
      if (is_reduced && peer != rank_ && call_.sendbuf != MPI_IN_PLACE) continue;
      const std::int64_t count = names.counts != nullptr ? side.counts[peer] : side.count;
      const MPI_Datatype type = names.types != nullptr ? side.types[peer] : side.type;
      const std::int64_t displacement = names.displacements != nullptr ? side.displacements[peer] : 0;
      require(!lie_nowhere(count, type, displacement, names.types != nullptr), ErrorKind::buffer,
              [&] { return std::string(name) + " is NULL"; });
    }
  }

  /// What a rank gives to a reduction is described by the other side.
  void check_operands() const {
    const SideArguments& side = call_.receive;
    std::int64_t count = side.count;
    for (Rank peer = 0; row_.receive.counts != nullptr && peer < ranks_; ++peer) count += side.counts[peer];
    require(!lie_nowhere(count, side.type, 0, false), ErrorKind::buffer, "sendbuf is NULL");
  }

  std::int64_t check_entry(const SideArguments& side, const SideRow& names, Rank peer) const {
    const std::int64_t count = side.counts[peer];
    require(count >= 0, ErrorKind::count, [&] { return element(names.counts, peer) + " is " + std::to_string(count); });
    const MPI_Datatype type = names.types != nullptr ? side.types[peer] : side.type;
    require(type != MPI_DATATYPE_NULL, ErrorKind::type, [&] {
      return (names.types != nullptr ? element(names.types, peer) : std::string(names.type)) + " is MPI_DATATYPE_NULL";
    });
    MPI_Count size = 0;
    check_mpi(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
    std::int64_t bytes = 0;
    if (__builtin_mul_overflow(count, size, &bytes)) too_many(element(names.counts, peer), count);
    return bytes;
  }

  /// What a rank sends to itself has two descriptions.
  void compare_own() const {
    if (sent_ < 0 || received_ < 0 || reduces(call_.kind)) return;
    if (has_root(call_.kind) && call_.root != rank_) return;
    require(sent_ == received_, ErrorKind::mpi, MPI_ERR_TRUNCATE, [&] {
      return "this rank sends " + std::to_string(sent_) + " bytes to itself, but receives " + std::to_string(received_);
    });
  }

  [[nodiscard]] std::int64_t bytes() const {
    switch (call_.kind) {
      case DenseKind::alltoallv:
      case DenseKind::alltoallw:
      case DenseKind::gatherv:
      case DenseKind::scatterv:
      case DenseKind::allgatherv:
      case DenseKind::reduce_scatter:
        return -1;
      case DenseKind::barrier:
        return 0;
      case DenseKind::reduce:
        return size_of(call_.receive.count, call_.receive.type, row_.receive.count, row_.receive.type);
      default:
        return received_ >= 0 ? received_ : sent_;
    }
  }

  const CollectiveCall& call_;
  const DenseRow& row_;
  Rank rank_;
  Rank ranks_;
  std::int64_t sent_ = -1;
  std::int64_t received_ = -1;
};

}  // namespace

std::int64_t check_collective(const CollectiveCall& call, Rank rank, Rank ranks) {
  return Checker(call, rank, ranks).check();
}

}  // namespace laneway
