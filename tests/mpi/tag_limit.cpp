#include <mpi.h>

#include <algorithm>
#include <climits>

#include "system_limits.hpp"

namespace {
int tag_limit = INT_MAX;
}

extern "C" int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* found) {
  const int code = PMPI_Comm_get_attr(comm, key, value, found);
  if (code != MPI_SUCCESS || key != MPI_TAG_UB || !*found) return code;
  static int limited = 0;
  limited = std::min(**static_cast<int**>(value), tag_limit);
  *static_cast<int**>(value) = &limited;
  return code;
}

namespace laneway::test {

TagLimit::TagLimit(int limit) {
  tag_limit = limit;
}

TagLimit::~TagLimit() {
  tag_limit = INT_MAX;
}

}  // namespace laneway::test
