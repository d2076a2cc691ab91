/** hypre's halo exchange on Laneway's plans, for code that knows hypre_ParCSRCommPkg.
 *
 *  Header only: it is compiled against the hypre headers of the program, so it fits any version and configuration whose
 *  packages have hypre's accessor macros. Link Laneway as for laneway.h. docs/use/hypre.md has an example, and the
 * library that does all this to a program that nobody changed.
 *
 *  All functions return an MPI error code, after calling the error handler of the package's communicator.
 */
#ifndef LANEWAY_HYPRE_H
#define LANEWAY_HYPRE_H

#include <_hypre_parcsr_mv.h>
#include <laneway/laneway.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What the send data of jobs 1, 11 and 21 is. An element is one HYPRE_Complex, HYPRE_Int or HYPRE_BigInt, or a block
 * of them. */
typedef enum LNW_Hypre_layout {
  /** The local vector: entry i of the send map takes element send_map_elmts[i]. Nothing has to be packed before. */
  LNW_HYPRE_VECTOR,
  /** One element for each entry of the send map, as hypre_ParCSRCommHandleCreate takes it. Entries for the same element
   *  of the vector hold the same bytes, so only the first of them is read. */
  LNW_HYPRE_PACKED,
  /** The same, but every entry may hold something else, so nothing is deduplicated. */
  LNW_HYPRE_ENTRIES
} LNW_Hypre_layout;

/** An exchange of one job of a package. It has copies of all that it needs of the package. */
typedef struct LNW_Hypre_exchange {
  LNW_Request request;
  char* send;       /**< what the request sends: `send_elements` elements */
  char* receive;    /**< `receive_bytes` bytes */
  HYPRE_Int* picks; /**< element i of `send` is this element of the send data; NULL: element i */
  size_t element_bytes;
  size_t send_elements; /**< without duplicates */
  size_t receive_bytes; /**< of all received elements */
} LNW_Hypre_exchange;

/** An exchange that is none: start, wait and free do nothing. */
#define LNW_HYPRE_EXCHANGE_NULL \
  { LNW_REQUEST_NULL, NULL, NULL, NULL, 0, 0, 0 }

/** Size of HYPRE_Complex (jobs 1 and 2), HYPRE_Int (11 and 12) or HYPRE_BigInt (21 and 22), or 0 if there is no such
 *  job. */
static inline size_t LNW_Hypre_value_bytes(HYPRE_Int job) {
  switch (job) {
    case 1:
    case 2:
      return sizeof(HYPRE_Complex);
    case 11:
    case 12:
      return sizeof(HYPRE_Int);
    case 21:
    case 22:
      return sizeof(HYPRE_BigInt);
    default:
      return 0;
  }
}

/** True for the jobs that send what the others receive, and the other way round: 2, 12, 22. */
static inline int LNW_Hypre_is_transpose(HYPRE_Int job) {
  return job % 10 == 2;
}

/** @name Parts of LNW_Hypre_exchange_init
 *  @{ */
typedef struct LNW_Hypre_entry {
  HYPRE_Int element, position;
} LNW_Hypre_entry;

static inline int LNW_Hypre_compare_entries(const void* left, const void* right) {
  const LNW_Hypre_entry* const a = (const LNW_Hypre_entry*)left;
  const LNW_Hypre_entry* const b = (const LNW_Hypre_entry*)right;
  if (a->element != b->element) return a->element < b->element ? -1 : 1;
  return a->position < b->position ? -1 : a->position > b->position;
}

/** Fills `indices` (one for each of `count` entries of the send map) with places among the different elements, which
 * are numbered by first occurrence, and `picks` with where these are in the send data. Returns how many there are. */
static inline HYPRE_Int LNW_Hypre_deduplicate(HYPRE_Int count, const HYPRE_Int* elements, LNW_Hypre_layout layout,
                                              MPI_Count* indices, HYPRE_Int* picks) {
  LNW_Hypre_entry* const entries = (LNW_Hypre_entry*)malloc((size_t)count * sizeof *entries + 1);
  HYPRE_Int different = 0;
  for (HYPRE_Int i = 0; i < count; ++i) {
    entries[i].element = elements[i];
    entries[i].position = i;
  }
  qsort(entries, (size_t)count, sizeof *entries, LNW_Hypre_compare_entries);
  for (HYPRE_Int i = 0; i < count; ++i) {
    const int repeated = i > 0 && entries[i].element == entries[i - 1].element;
    indices[entries[i].position] = repeated ? indices[entries[i - 1].position] : (MPI_Count)entries[i].position;
  }
  free(entries);
  for (HYPRE_Int i = 0; i < count; ++i) {
    if (indices[i] == (MPI_Count)i) {
      picks[different] = layout == LNW_HYPRE_VECTOR ? elements[i] : i;
      indices[i] = different++;
    } else {
      indices[i] = indices[indices[i]];
    }
  }
  return different;
}
/** @} */

/** Collective over the package's communicator, and synchronising: this is where the plan is made. The package may be
 *  destroyed afterwards. `layout` is not looked at for jobs 2, 12 and 22: they send one element for each entry of
 *  recv_vec_starts, and receive one for each entry of the send map. `block_size` values are an element: 1, or as for
 *  hypre_ParCSRBlockCommHandleCreate. Memory is the host's. Hints are in docs/reference/hints.md.
 */
static inline int LNW_Hypre_exchange_init(HYPRE_Int job, HYPRE_Int block_size, const hypre_ParCSRCommPkg* package,
                                          LNW_Hypre_layout layout, MPI_Info info, LNW_Hypre_exchange* exchange) {
  const LNW_Hypre_exchange none = LNW_HYPRE_EXCHANGE_NULL;
  const int transpose = LNW_Hypre_is_transpose(job);
  const HYPRE_Int sends = hypre_ParCSRCommPkgNumSends(package), receives = hypre_ParCSRCommPkgNumRecvs(package);
  const HYPRE_Int outdegree = transpose ? receives : sends, indegree = transpose ? sends : receives;
  const HYPRE_Int* const send_map = hypre_ParCSRCommPkgSendMapStarts(package);
  const HYPRE_Int* const receive_vector = hypre_ParCSRCommPkgRecvVecStarts(package);
  const HYPRE_Int* const send_starts = transpose ? receive_vector : send_map;
  const HYPRE_Int* const receive_starts = transpose ? send_map : receive_vector;
  const HYPRE_Int* const destinations =
      transpose ? hypre_ParCSRCommPkgRecvProcs(package) : hypre_ParCSRCommPkgSendProcs(package);
  const HYPRE_Int* const sources =
      transpose ? hypre_ParCSRCommPkgSendProcs(package) : hypre_ParCSRCommPkgRecvProcs(package);
  const HYPRE_Int sent = outdegree > 0 ? send_starts[outdegree] : 0;
  const HYPRE_Int received = indegree > 0 ? receive_starts[indegree] : 0;
  const size_t bytes = LNW_Hypre_value_bytes(job) * (size_t)block_size;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  const size_t degrees = (size_t)outdegree + (size_t)indegree;
  int* const ranks = (int*)malloc(degrees * sizeof *ranks + 1);
  MPI_Count* const counts = (MPI_Count*)malloc(degrees * sizeof *counts + 1);
  MPI_Count* const indices = (MPI_Count*)malloc(((size_t)sent + (size_t)received) * sizeof *indices + 1);
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  int code;

  *exchange = none;
  exchange->element_bytes = bytes;
  exchange->send_elements = (size_t)sent;
  exchange->receive_bytes = (size_t)received * bytes;
  for (HYPRE_Int i = 0; i < outdegree; ++i) {
    ranks[i] = (int)destinations[i];
    counts[i] = send_starts[i + 1] - send_starts[i];
  }
  for (HYPRE_Int i = 0; i < indegree; ++i) {
    ranks[outdegree + i] = (int)sources[i];
    counts[outdegree + i] = receive_starts[i + 1] - receive_starts[i];
  }
  if (transpose || layout == LNW_HYPRE_ENTRIES) {
    for (HYPRE_Int i = 0; i < sent; ++i) indices[i] = i;
  } else {
    exchange->picks = (HYPRE_Int*)malloc((size_t)sent * sizeof *exchange->picks + 1);
    exchange->send_elements =
        (size_t)LNW_Hypre_deduplicate(sent, hypre_ParCSRCommPkgSendMapElmts(package), layout, indices, exchange->picks);
  }
  for (HYPRE_Int i = 0; i < received; ++i) indices[sent + i] = i;
  exchange->send = (char*)malloc(exchange->send_elements * bytes + 1);
  exchange->receive = (char*)malloc(exchange->receive_bytes + 1);

  if (bytes > 0) {
    MPI_Type_contiguous((int)block_size,
                        job < 10   ? HYPRE_MPI_COMPLEX
                        : job < 20 ? HYPRE_MPI_INT
                                   : HYPRE_MPI_BIG_INT,
                        &type);
    MPI_Type_commit(&type);
  }
  code = LNW_Topology_create(hypre_ParCSRCommPkgComm(package), (int)indegree, ranks + outdegree, MPI_UNWEIGHTED,
                             (int)outdegree, ranks, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology);
  if (code == MPI_SUCCESS)
    code = LNW_Neighbor_alltoallv_init_indexed_topology_c(
        exchange->send, (MPI_Count)exchange->send_elements, counts, indices, type, exchange->receive, received,
        counts + outdegree, indices + sent, type, topology, info, &exchange->request);
  if (topology != LNW_TOPOLOGY_NULL) LNW_Topology_free(&topology);
  if (type != MPI_DATATYPE_NULL) MPI_Type_free(&type);
  free(ranks);
  free(counts);
  free(indices);
  if (code != MPI_SUCCESS) {
    free(exchange->send);
    free(exchange->receive);
    free(exchange->picks);
    *exchange = none;
  }
  return code;
}

/** Local. The send data may be changed or freed right after the call. */
static inline int LNW_Hypre_exchange_start(LNW_Hypre_exchange* exchange, const void* send_data) {
  const char* const data = (const char*)send_data;
  const size_t bytes = exchange->element_bytes, count = exchange->send_elements;
  char* const send = exchange->send;
  if (exchange->request == LNW_REQUEST_NULL) return MPI_SUCCESS;
  if (exchange->picks == NULL) {
    if (count > 0) memcpy(send, data, count * bytes);
  } else if (bytes == 8) { /* sizes that the compiler knows make these single loads and stores */
    for (size_t i = 0; i < count; ++i) memcpy(send + i * 8, data + (size_t)exchange->picks[i] * 8, 8);
  } else if (bytes == 4) {
    for (size_t i = 0; i < count; ++i) memcpy(send + i * 4, data + (size_t)exchange->picks[i] * 4, 4);
  } else {
    for (size_t i = 0; i < count; ++i) memcpy(send + i * bytes, data + (size_t)exchange->picks[i] * bytes, bytes);
  }
  return LNW_Start(&exchange->request);
}

/** Returns when `receive_data` has all received elements, in the order of the package. As LNW_Wait, it also completes
 *  what this rank relays for others in this exchange. */
static inline int LNW_Hypre_exchange_wait(LNW_Hypre_exchange* exchange, void* receive_data) {
  const int code = LNW_Wait(&exchange->request, MPI_STATUS_IGNORE);
  if (code == MPI_SUCCESS && exchange->receive_bytes > 0)
    memcpy(receive_data, exchange->receive, exchange->receive_bytes);
  return code;
}

/** Local. The exchange must not be active; it becomes LNW_HYPRE_EXCHANGE_NULL. */
static inline int LNW_Hypre_exchange_free(LNW_Hypre_exchange* exchange) {
  const LNW_Hypre_exchange none = LNW_HYPRE_EXCHANGE_NULL;
  const int code = exchange->request == LNW_REQUEST_NULL ? MPI_SUCCESS : LNW_Request_free(&exchange->request);
  if (code != MPI_SUCCESS) return code;
  free(exchange->send);
  free(exchange->receive);
  free(exchange->picks);
  *exchange = none;
  return code;
}

#ifdef __cplusplus
}
#endif

#endif
