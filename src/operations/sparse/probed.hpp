#pragma once

#include <mpi.h>

#include <deque>
#include <memory>

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"

namespace laneway {

/// A message under way whose receiver did not expect it.
struct UnderWay {
  Bytes data;
  MPI_Request request = MPI_REQUEST_NULL;
  Rank other = 0;
};

/// Begins to receive what has come on a tag, in the order in which it is found. A message that is found is nobody
/// else's, so threads may look at the same time.
void receive_probed(MPI_Comm comm, int tag, std::deque<std::unique_ptr<UnderWay>>& receiving);

}  // namespace laneway
