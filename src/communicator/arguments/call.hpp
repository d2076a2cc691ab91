#pragma once

#include <mpi.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "base/kind.hpp"

namespace laneway {

/// An argument array of int, MPI_Count or MPI_Aint; may be null.
class Integers {
 public:
  Integers() = default;
  template <std::signed_integral T>
  Integers(const T* values) : values_(values), wide_(sizeof(T) == sizeof(std::int64_t)) {
    static_assert(sizeof(T) == sizeof(std::int64_t) || std::is_same_v<T, int>);
  }

  [[nodiscard]] bool null() const { return values_ == nullptr; }
  /// As they were given, and whether they are MPI_Count or MPI_Aint rather than int.
  [[nodiscard]] const void* data() const { return values_; }
  [[nodiscard]] bool wide() const { return wide_; }
  [[nodiscard]] std::int64_t operator[](std::int64_t i) const {
    if (!wide_) return static_cast<const int*>(values_)[i];
    std::int64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(values_) + i * std::int64_t{sizeof value}, sizeof value);
    return value;
  }

 private:
  const void* values_ = nullptr;
  bool wide_ = false;
};

/// What the arguments of one side say of its blocks.
enum class BlockForm : std::uint8_t {
  same,     ///< one block goes to everybody
  equal,    ///< blocks of one size, one after another
  counted,  ///< a count and a displacement each, of one datatype
  typed,    ///< a count, a displacement in bytes and a datatype each
  indexed   ///< a count each, and the index of every element
};

/// What the arguments of one side are called, for errors; null: there is none.
struct SideRow {
  BlockForm blocks = BlockForm::same;
  const char* count = nullptr;
  const char* size = nullptr;
  const char* counts = nullptr;
  const char* displacements = nullptr;
  const char* indices = nullptr;
  const char* type = nullptr;
  const char* types = nullptr;
};

struct KindRow {
  Kind kind;
  SideRow send;
  SideRow receive;
  bool reduces = false;
};
/// That of LNW_Kind's `number`; null: there is none.
[[nodiscard]] const KindRow* find_row(int number);
[[nodiscard]] inline const KindRow& row_of(Kind kind) {
  return *find_row(static_cast<int>(kind));
}

/// The arguments of one side, apart from its buffer; those that its kind has.
struct SideArguments {
  MPI_Count count = 0;  ///< of every block; of the elements in the buffer, where there are indices
  Integers counts = {};
  Integers displacements = {};
  const MPI_Count* indices = nullptr;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const MPI_Datatype* types = nullptr;
  /// If given, an operation with indices takes so many elements from each of them on; `counts` are their sums.
  const MPI_Count* lengths = nullptr;
  const char* type_name = nullptr;  ///< what the caller's function calls `type`, if not as the kind's own do

  [[nodiscard]] const char* name_of_type(const SideRow& names) const {
    return type_name != nullptr ? type_name : names.type;
  }
};

/// An operation and its arguments, as the caller has given them: nothing is checked.
struct Call {
  Kind kind;
  const void* sendbuf = nullptr;
  void* recvbuf = nullptr;
  SideArguments send;
  SideArguments receive;
  MPI_Op op = MPI_OP_NULL;      ///< of a kind that reduces
  const char* fault = nullptr;  ///< what is wrong with the call beside these; told where arguments are looked at
  const char* sendbuf_name = "sendbuf";
  const char* recvbuf_name = "recvbuf";

  bool is_persistent = false;

  /// False: the buffers of a persistent operation are given later.
  [[nodiscard]] bool has_buffers() const { return !may_bind_later(kind) || has_any_buffer(); }
  /// False: they are MPI_BOTTOM or, of a persistent operation of any kind, may be given later.
  [[nodiscard]] bool has_any_buffer() const { return sendbuf != nullptr || recvbuf != nullptr; }
};

/// Throws Error(buffer) for MPI_IN_PLACE and LNW_NOT_CONTIGUOUS, which no neighborhood operation takes.
void check_buffers(const void* sendbuf, const void* recvbuf, const char* sendbuf_name = "sendbuf",
                   const char* recvbuf_name = "recvbuf");

/// Bytes of the block of an edge or, where these differ, of an element; 0 if there is no datatype of all edges. The
/// same on all ranks of a call. Throws Error with the name of the bad argument.
[[nodiscard]] std::int64_t sent_bytes(const Call& call);

}  // namespace laneway
