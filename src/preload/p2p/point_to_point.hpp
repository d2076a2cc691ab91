#pragma once

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>

#include "preload/report/summary.hpp"

namespace laneway::interpose::p2p {

/// Messages of the program that repeat between nodes, by Laneway: docs/concepts/point-to-point.md. One thread at a time
/// is in here: nothing is done with MPI_THREAD_MULTIPLE.

/// Under LANEWAY_P2P, where all ranks can.
inline bool on = false;

/// On rank 0, after the end.
inline std::optional<PointToPoint> of_all_ranks;

/// After MPI has been initialized, and before its end. Collective over MPI_COMM_WORLD.
void begin();
void end();

/// Advances what is under way; never blocks. In each turn of MPI's engine.
void progress();

/// A communicator was just made, in the same order on all its ranks for those of equal groups.
void enter(MPI_Comm comm);
/// It is freed. True: not yet, by anybody.
[[nodiscard]] bool leave(MPI_Comm comm);

enum class Mode : std::uint8_t { standard, ready, buffered, synchronous };

/// A message or the place for one; the peer is the destination or the source.
struct UserMessage {
  void* buffer;
  MPI_Count count;
  MPI_Datatype type;
  int peer;
  int tag;
  MPI_Comm comm;
};

/// Whether the messages of a peer are counted.
[[nodiscard]] bool is_counted(MPI_Comm comm, int peer);
/// A receive or probe that may match messages of more than one stream: MPI's code of a broken promise.
[[nodiscard]] int look_at_wildcard(MPI_Comm comm, int peer, int tag, const char* call);

/// @name Probes for one tag, of a source or any
/// @{
/// Whether messages that repeat may match.
[[nodiscard]] bool may_find(MPI_Comm comm, int source);
/// The next message is an entry that has come. With `found` it is matched.
[[nodiscard]] bool probe(MPI_Comm comm, int source, int tag, MPI_Message* found, MPI_Status* status);
/// A matched probe has found a message that is MPI's.
void count_matched(MPI_Comm comm, const MPI_Status& status);
/// False where the message is MPI's. Null `request`: blocks.
[[nodiscard]] bool receive_matched(const UserMessage& to, MPI_Message* found, MPI_Request* request, MPI_Status* status,
                                   int* code);
/// @}

/// Says `what` and returns the code of an error.
int refuse(MPI_Comm comm, const std::string& what);

/// @name Of counted peers
/// @{
/// Returns false where the message is MPI's. Null `request`: blocks.
[[nodiscard]] bool send(const UserMessage& message, Mode mode, MPI_Request* request, int* code);
int receive(const UserMessage& message, MPI_Status* status);
int begin_receive(const UserMessage& message, MPI_Request* request);
/// `request` was just made by MPI.
void keep(const UserMessage& message, Mode mode, bool sends, MPI_Request request);
/// @}

/// @name Requests
/// @{
[[nodiscard]] bool has_any(int count, const MPI_Request* requests);
inline bool has(const MPI_Request* request) {
  return on && has_any(1, request);
}
int start(MPI_Request* request);
int free_request(MPI_Request* request);
int cancel(MPI_Request* request);
int get_status(MPI_Request request, int* flag, MPI_Status* status);
/// `waits`: until the flag is set.
int all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses, bool waits);
int any(int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status, bool waits);
inline int wait_for_any(int count, MPI_Request* requests, int* index, MPI_Status* status) {
  int flag = 0;
  return any(count, requests, index, &flag, status, true);
}
int some(int count, MPI_Request* requests, int* outcount, int* indices, MPI_Status* statuses, bool waits);
/// @}

}  // namespace laneway::interpose::p2p
