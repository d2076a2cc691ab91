#include "communicator/arguments/call.hpp"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/error.hpp"
#include "communicator/arguments/kind_rows.hpp"
#include "laneway/base.h"
#include "mpi/check.hpp"

namespace laneway {

const KindRow* find_row(int number) {
  const auto* const row = std::find_if(std::begin(kind_rows), std::end(kind_rows),
                                       [&](const KindRow& r) { return static_cast<int>(r.kind) == number; });
  return row != std::end(kind_rows) ? row : nullptr;
}

void check_buffers(const void* sendbuf, const void* recvbuf, const char* sendbuf_name, const char* recvbuf_name) {
  const auto check = [](const void* buffer, const char* name) {
    require(buffer != MPI_IN_PLACE, ErrorKind::buffer,
            [&] { return std::string(name) + " is MPI_IN_PLACE, which neighborhood operations do not take"; });
    require(buffer != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, [&] { return std::string(name) + " is not contiguous"; });
  };
  check(sendbuf, sendbuf_name);
  check(recvbuf, recvbuf_name);
}

std::int64_t sent_bytes(const Call& call) {
  const SideRow& names = row_of(call.kind).send;
  // That types of edges appear in the same call on all ranks is all that is promised of them.
  if (names.type == nullptr) return 0;
  require(call.send.type != MPI_DATATYPE_NULL, ErrorKind::type,
          [&] { return std::string(call.send.name_of_type(names)) + " is MPI_DATATYPE_NULL"; });
  MPI_Count size = 0;
  check_mpi(MPI_Type_size_x(call.send.type, &size), "MPI_Type_size_x");
  if (!has_equal_edges(call.kind) && call.kind != Kind::reduce) return size;
  std::int64_t bytes = 0;
  require(!__builtin_mul_overflow(call.send.count, size, &bytes), ErrorKind::count, [&] {
    return std::string(names.count) + " is " + std::to_string(call.send.count) + ": more than 2^63 bytes";
  });
  return bytes;
}

}  // namespace laneway
