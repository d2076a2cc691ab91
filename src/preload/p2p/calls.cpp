// Calls that send, receive and probe, and those that make communicators, by which both ends of a stream know it.
#include <mpi.h>

#include <climits>
#include <cstddef>

#include "base/bytes/types.hpp"
#include "base/bytes/wire.hpp"
#include "base/process/relax.hpp"
#include "mpi/end_job.hpp"
#include "preload/next.hpp"
#include "preload/p2p/point_to_point.hpp"

using namespace laneway::interpose;
using p2p::Mode;
using p2p::UserMessage;

namespace {

UserMessage message(const void* buffer, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  if (count > INT_MAX)
    laneway::end_job("LANEWAY_P2P: a message has more elements than an int can count, which only MPI's own calls send",
                     comm, MPI_ERR_COUNT);
  return {const_cast<void*>(buffer), count, type, peer, tag, comm};
}

bool counts(MPI_Comm comm, int peer) {
  return p2p::on && p2p::is_counted(comm, peer);
}

/// What is wrong is MPI's to say, and no message of a stream.
bool counts(const void*, MPI_Count count, MPI_Datatype type, int peer, int tag, MPI_Comm comm) {
  return p2p::on && count >= 0 && type != MPI_DATATYPE_NULL && tag >= 0 && p2p::is_counted(comm, peer);
}

/// The code of an error of a call with a wildcard.
int wildcard(int source, int tag, MPI_Comm comm, const char* call) {
  return p2p::on && (source == MPI_ANY_SOURCE || tag == MPI_ANY_TAG) ? p2p::look_at_wildcard(comm, source, tag, call)
                                                                     : MPI_SUCCESS;
}

/// A receive that blocks asks first whose message it is.
bool is_from_any(int source, int tag, MPI_Comm comm) {
  return p2p::on && source == MPI_ANY_SOURCE && tag != MPI_ANY_TAG && p2p::may_find(comm, source);
}

/// Messages of one source and tag keep their order, whoever carries them; those of several tags would not.
int probed_tags(int source, int tag, MPI_Comm comm, const char* call) {
  return tag == MPI_ANY_TAG ? wildcard(source, tag, comm, call) : MPI_SUCCESS;
}

/// Repeats a probe that does not block, as entries come in no call of MPI that does.
template <class Once>
int probe_until_found(const Once& once) {
  int flag = 0;
  for (int turns = 0;; laneway::relax(turns))
    if (const int code = once(&flag); code != MPI_SUCCESS || flag != 0) return code;
}

}  // namespace

INTERPOSE(MPI_Iprobe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
          (source, tag, comm, flag, status)) {
  if (const int code = probed_tags(source, tag, comm, "MPI_Iprobe"); code != MPI_SUCCESS) return code;
  if (p2p::on && p2p::probe(comm, source, tag, nullptr, status)) return *flag = 1, MPI_SUCCESS;
  return laneway_pass_MPI_Iprobe(source, tag, comm, flag, status);
}

INTERPOSE(MPI_Probe, (int source, int tag, MPI_Comm comm, MPI_Status* status), (source, tag, comm, status)) {
  if (const int code = probed_tags(source, tag, comm, "MPI_Probe"); code != MPI_SUCCESS) return code;
  if (!p2p::on || !p2p::may_find(comm, source)) return laneway_pass_MPI_Probe(source, tag, comm, status);
  return probe_until_found([&](int* flag) { return laneway_take_MPI_Iprobe(source, tag, comm, flag, status); });
}

INTERPOSE(MPI_Improbe, (int source, int tag, MPI_Comm comm, int* flag, MPI_Message* found, MPI_Status* status),
          (source, tag, comm, flag, found, status)) {
  if (const int code = probed_tags(source, tag, comm, "MPI_Improbe"); code != MPI_SUCCESS) return code;
  if (!p2p::on) return laneway_pass_MPI_Improbe(source, tag, comm, flag, found, status);
  if (p2p::probe(comm, source, tag, found, status)) return *flag = 1, MPI_SUCCESS;
  MPI_Status own;
  MPI_Status* const told = status == MPI_STATUS_IGNORE ? &own : status;
  const int code = laneway_pass_MPI_Improbe(source, tag, comm, flag, found, told);
  if (code == MPI_SUCCESS && *flag != 0) p2p::count_matched(comm, *told);
  return code;
}

INTERPOSE(MPI_Mprobe, (int source, int tag, MPI_Comm comm, MPI_Message* found, MPI_Status* status),
          (source, tag, comm, found, status)) {
  if (const int code = probed_tags(source, tag, comm, "MPI_Mprobe"); code != MPI_SUCCESS) return code;
  if (!p2p::on || !p2p::may_find(comm, source)) return laneway_pass_MPI_Mprobe(source, tag, comm, found, status);
  return probe_until_found([&](int* flag) { return laneway_take_MPI_Improbe(source, tag, comm, flag, found, status); });
}

#define BUFFER(COUNT, CONST) CONST void *buf, COUNT count, MPI_Datatype type, int peer, int tag, MPI_Comm comm
#define ARGUMENTS buf, count, type, peer, tag, comm

#define SENDS(SUFFIX, COUNT, NAME, MODE)                                                       \
  INTERPOSE(MPI_##NAME##SUFFIX, (BUFFER(COUNT, const)), (ARGUMENTS)) {                         \
    int code = MPI_SUCCESS;                                                                    \
    if (counts(ARGUMENTS) && p2p::send(message(ARGUMENTS), MODE, nullptr, &code)) return code; \
    return laneway_pass_MPI_##NAME##SUFFIX(ARGUMENTS);                                         \
  }

#define SENDS_LATER(SUFFIX, COUNT, NAME, MODE)                                                         \
  INTERPOSE(MPI_##NAME##SUFFIX, (BUFFER(COUNT, const), MPI_Request * request), (ARGUMENTS, request)) { \
    int code = MPI_SUCCESS;                                                                            \
    if (counts(ARGUMENTS) && p2p::send(message(ARGUMENTS), MODE, request, &code)) return code;         \
    return laneway_pass_MPI_##NAME##SUFFIX(ARGUMENTS, request);                                        \
  }

#define SENDS_OFTEN(SUFFIX, COUNT, NAME, MODE)                                                         \
  INTERPOSE(MPI_##NAME##SUFFIX, (BUFFER(COUNT, const), MPI_Request * request), (ARGUMENTS, request)) { \
    const int code = laneway_pass_MPI_##NAME##SUFFIX(ARGUMENTS, request);                              \
    if (code == MPI_SUCCESS && counts(ARGUMENTS)) p2p::keep(message(ARGUMENTS), MODE, true, *request); \
    return code;                                                                                       \
  }

#define CALLS(SUFFIX, COUNT)                                                                                           \
  SENDS(SUFFIX, COUNT, Send, Mode::standard)                                                                           \
  SENDS(SUFFIX, COUNT, Rsend, Mode::ready)                                                                             \
  SENDS(SUFFIX, COUNT, Ssend, Mode::synchronous)                                                                       \
  SENDS(SUFFIX, COUNT, Bsend, Mode::buffered)                                                                          \
  SENDS_LATER(SUFFIX, COUNT, Isend, Mode::standard)                                                                    \
  SENDS_LATER(SUFFIX, COUNT, Irsend, Mode::ready)                                                                      \
  SENDS_LATER(SUFFIX, COUNT, Issend, Mode::synchronous)                                                                \
  SENDS_LATER(SUFFIX, COUNT, Ibsend, Mode::buffered)                                                                   \
  SENDS_OFTEN(SUFFIX, COUNT, Send_init, Mode::standard)                                                                \
  SENDS_OFTEN(SUFFIX, COUNT, Rsend_init, Mode::ready)                                                                  \
  SENDS_OFTEN(SUFFIX, COUNT, Ssend_init, Mode::synchronous)                                                            \
  SENDS_OFTEN(SUFFIX, COUNT, Bsend_init, Mode::buffered)                                                               \
  INTERPOSE(MPI_Recv##SUFFIX, (BUFFER(COUNT, ), MPI_Status * status), (ARGUMENTS, status)) {                           \
    if (is_from_any(peer, tag, comm)) {                                                                                \
      MPI_Status found;                                                                                                \
      const int code = laneway_take_MPI_Probe(peer, tag, comm, &found);                                                \
      return code != MPI_SUCCESS                                                                                       \
                 ? code                                                                                                \
                 : laneway_take_MPI_Recv##SUFFIX(buf, count, type, found.MPI_SOURCE, tag, comm, status);               \
    }                                                                                                                  \
    if (const int code = wildcard(peer, tag, comm, "MPI_Recv"); code != MPI_SUCCESS) return code;                      \
    if (counts(ARGUMENTS)) return p2p::receive(message(ARGUMENTS), status);                                            \
    return laneway_pass_MPI_Recv##SUFFIX(ARGUMENTS, status);                                                           \
  }                                                                                                                    \
  INTERPOSE(MPI_Irecv##SUFFIX, (BUFFER(COUNT, ), MPI_Request * request), (ARGUMENTS, request)) {                       \
    if (const int code = wildcard(peer, tag, comm, "MPI_Irecv"); code != MPI_SUCCESS) return code;                     \
    if (counts(ARGUMENTS)) return p2p::begin_receive(message(ARGUMENTS), request);                                     \
    return laneway_pass_MPI_Irecv##SUFFIX(ARGUMENTS, request);                                                         \
  }                                                                                                                    \
  INTERPOSE(MPI_Recv_init##SUFFIX, (BUFFER(COUNT, ), MPI_Request * request), (ARGUMENTS, request)) {                   \
    if (const int wrong = wildcard(peer, tag, comm, "MPI_Recv_init"); wrong != MPI_SUCCESS) return wrong;              \
    const int code = laneway_pass_MPI_Recv_init##SUFFIX(ARGUMENTS, request);                                           \
    if (code == MPI_SUCCESS && counts(ARGUMENTS)) p2p::keep(message(ARGUMENTS), Mode::standard, false, *request);      \
    return code;                                                                                                       \
  }                                                                                                                    \
  INTERPOSE(                                                                                                           \
      MPI_Sendrecv##SUFFIX,                                                                                            \
      (const void* sendbuf, COUNT sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,              \
       COUNT recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status* status),            \
      (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, status)) {    \
    if (is_from_any(source, recvtag, comm)) {                                                                          \
      MPI_Request request = MPI_REQUEST_NULL;                                                                          \
      int code = laneway_take_MPI_Isend##SUFFIX(sendbuf, sendcount, sendtype, dest, sendtag, comm, &request);          \
      if (code != MPI_SUCCESS) return code;                                                                            \
      code = laneway_take_MPI_Recv##SUFFIX(recvbuf, recvcount, recvtype, source, recvtag, comm, status);               \
      const int sent = MPI_Wait(&request, MPI_STATUS_IGNORE);                                                          \
      return code != MPI_SUCCESS ? code : sent;                                                                        \
    }                                                                                                                  \
    if (const int wrong = wildcard(source, recvtag, comm, "MPI_Sendrecv"); wrong != MPI_SUCCESS) return wrong;         \
    if (!counts(comm, dest) && !counts(comm, source))                                                                  \
      return laneway_pass_MPI_Sendrecv##SUFFIX(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,        \
                                               recvtype, source, recvtag, comm, status);                               \
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};                                                    \
    int code = laneway_take_MPI_Irecv##SUFFIX(recvbuf, recvcount, recvtype, source, recvtag, comm, requests);          \
    if (code == MPI_SUCCESS)                                                                                           \
      code = laneway_take_MPI_Isend##SUFFIX(sendbuf, sendcount, sendtype, dest, sendtag, comm, requests + 1);          \
    if (code != MPI_SUCCESS) return code;                                                                              \
    code = MPI_Wait(requests + 1, MPI_STATUS_IGNORE);                                                                  \
    const int received = MPI_Wait(requests, status);                                                                   \
    return code != MPI_SUCCESS ? code : received;                                                                      \
  }                                                                                                                    \
  INTERPOSE(MPI_Sendrecv_replace##SUFFIX,                                                                              \
            (void* buf, COUNT count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm, \
             MPI_Status* status),                                                                                      \
            (buf, count, type, dest, sendtag, source, recvtag, comm, status)) {                                        \
    if (const int wrong = wildcard(source, recvtag, comm, "MPI_Sendrecv_replace"); wrong != MPI_SUCCESS) return wrong; \
    if (!counts(comm, dest) && !counts(comm, source))                                                                  \
      return laneway_pass_MPI_Sendrecv_replace##SUFFIX(buf, count, type, dest, sendtag, source, recvtag, comm,         \
                                                       status);                                                        \
    int bytes = 0;                                                                                                     \
    int position = 0;                                                                                                  \
    PMPI_Pack_size(static_cast<int>(count), type, comm, &bytes);                                                       \
    laneway::Bytes packed(static_cast<std::size_t>(bytes));                                                            \
    PMPI_Pack(buf, static_cast<int>(count), type, packed.data(), bytes, &position, comm);                              \
    return laneway_take_MPI_Sendrecv##SUFFIX(packed.data(), position, MPI_PACKED, dest, sendtag, buf, count, type,     \
                                             source, recvtag, comm, status);                                           \
  }

CALLS(, int)
#ifdef LANEWAY_HAS_LARGE_COUNT
CALLS(_c, MPI_Count)
#endif

#ifdef LANEWAY_HAS_ISENDRECV
/// One request for two messages, which no stream has.
#define ISENDRECV(NAME, PARAMETERS, PASSED)                                       \
  INTERPOSE(MPI_##NAME, PARAMETERS, PASSED) {                                     \
    if (counts(comm, dest) || counts(comm, source))                               \
      return p2p::refuse(comm, "MPI_" #NAME " is not taken over by LANEWAY_P2P"); \
    return laneway_pass_MPI_##NAME PASSED;                                        \
  }
ISENDRECV(Isendrecv,
          (const void* sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void* recvbuf,
           int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request* request),
          (sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount, recvtype, source, recvtag, comm, request))
ISENDRECV(Isendrecv_replace,
          (void* buf, int count, MPI_Datatype type, int dest, int sendtag, int source, int recvtag, MPI_Comm comm,
           MPI_Request* request),
          (buf, count, type, dest, sendtag, source, recvtag, comm, request))
#endif

#define MATCHED(SUFFIX, COUNT)                                                                                         \
  INTERPOSE(MPI_Mrecv##SUFFIX, (void* buf, COUNT count, MPI_Datatype type, MPI_Message* found, MPI_Status* status),    \
            (buf, count, type, found, status)) {                                                                       \
    int code = MPI_SUCCESS;                                                                                            \
    const UserMessage to{buf, count, type, 0, 0, MPI_COMM_NULL};                                                       \
    return p2p::on && p2p::receive_matched(to, found, nullptr, status, &code)                                          \
               ? code                                                                                                  \
               : laneway_pass_MPI_Mrecv##SUFFIX(buf, count, type, found, status);                                      \
  }                                                                                                                    \
  INTERPOSE(MPI_Imrecv##SUFFIX, (void* buf, COUNT count, MPI_Datatype type, MPI_Message* found, MPI_Request* request), \
            (buf, count, type, found, request)) {                                                                      \
    int code = MPI_SUCCESS;                                                                                            \
    const UserMessage to{buf, count, type, 0, 0, MPI_COMM_NULL};                                                       \
    return p2p::on && p2p::receive_matched(to, found, request, nullptr, &code)                                         \
               ? code                                                                                                  \
               : laneway_pass_MPI_Imrecv##SUFFIX(buf, count, type, found, request);                                    \
  }

MATCHED(, int)
#ifdef LANEWAY_HAS_LARGE_COUNT
MATCHED(_c, MPI_Count)
#endif

/// What makes a communicator of one that all its ranks have.
#define MAKER(NAME, PARAMETERS, PASSED)                    \
  INTERPOSE(MPI_##NAME, PARAMETERS, PASSED) {              \
    const int code = laneway_pass_MPI_##NAME PASSED;       \
    if (code == MPI_SUCCESS && p2p::on) p2p::enter(*made); \
    return code;                                           \
  }

MAKER(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
MAKER(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made))
MAKER(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
MAKER(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made), (comm, group, tag, made))
MAKER(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
MAKER(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made), (comm, type, key, info, made))
MAKER(Cart_create, (MPI_Comm comm, int n, const int dims[], const int periods[], int reorder, MPI_Comm* made),
      (comm, n, dims, periods, reorder, made))
MAKER(Cart_sub, (MPI_Comm comm, const int remain[], MPI_Comm* made), (comm, remain, made))
MAKER(Graph_create, (MPI_Comm comm, int nodes, const int index[], const int edges[], int reorder, MPI_Comm* made),
      (comm, nodes, index, edges, reorder, made))

#define FREES(NAME)                                        \
  INTERPOSE(MPI_##NAME, (MPI_Comm * comm), (comm)) {       \
    if (p2p::on && comm != nullptr && p2p::leave(*comm)) { \
      *comm = MPI_COMM_NULL;                               \
      return MPI_SUCCESS;                                  \
    }                                                      \
    return laneway_pass_MPI_##NAME(comm);                  \
  }

FREES(Comm_free)
FREES(Comm_disconnect)
