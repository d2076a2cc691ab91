/** Elements that move between ranks of which one side knows the other: distributors and collectors. */
#ifndef LANEWAY_DISTRIBUTOR_H
#define LANEWAY_DISTRIBUTOR_H

#include <laneway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which elements of which ranks go where. */
typedef struct LNW_Distributor_s* LNW_Distributor;
#define LNW_DISTRIBUTOR_NULL ((LNW_Distributor)0)

/** @name Distributors
 *  Made from what one side knows; the other side is found (docs/use/discovery.md). Requests of any datatypes run on it.
 *  Where the arguments of one rank are bad, all ranks get an error.
 *  @{ */
/** Element i of `exports` goes to rank `exportranks[i]`, nowhere where that is -1. Imports are in ascending order of
 * the ranks that they come from; those of one rank in the order that they have there. Collective. */
LNW_PUBLIC int LNW_Distributor_create(MPI_Comm comm, MPI_Count exports, const int exportranks[], MPI_Info info,
                                      LNW_Distributor* distributor);
/** This rank owns `exports` elements, and import i of `imports` is element `ids[i]` of rank `importranks[i]`, nothing
 *  where that is -1. An element may be imported many times. Collective. */
LNW_PUBLIC int LNW_Distributor_create_from_imports(MPI_Comm comm, MPI_Count exports, MPI_Count imports,
                                                   const int importranks[], const MPI_Count ids[], MPI_Info info,
                                                   LNW_Distributor* distributor);
/** How many elements the two buffers have. Local. */
LNW_PUBLIC int LNW_Distributor_get_count(LNW_Distributor distributor, MPI_Count* exports, MPI_Count* imports);
/** The ranks that elements come from, in ascending order, and how many come from each. The arrays are valid until the
 *  handle is freed; each may be NULL. Local. */
LNW_PUBLIC int LNW_Distributor_get_sources(LNW_Distributor distributor, int* nsources, const int** sources,
                                           const MPI_Count** counts);
/** Moves elements of `type` from `exportbuf` to `importbuf` once, without a request: where lists are used once, that
 *  costs less. Buffers may be on devices. Collective. */
LNW_PUBLIC int LNW_Distributor_exchange(LNW_Distributor distributor, const void* exportbuf, void* importbuf,
                                        MPI_Datatype type);
/** A persistent request that moves elements of `type` from `exportbuf` to `importbuf`. Both may be NULL until
 *  LNW_Request_set_buffers. Collective. */
LNW_PUBLIC int LNW_Distributor_init(LNW_Distributor distributor, const void* exportbuf, void* importbuf,
                                    MPI_Datatype type, MPI_Info info, LNW_Request* request);
/** Backwards: combines each import into the element that it came from, by `op`. Collective. */
LNW_PUBLIC int LNW_Distributor_reverse_init(LNW_Distributor distributor, const void* importbuf, void* exportbuf,
                                            MPI_Datatype type, MPI_Op op, MPI_Info info, LNW_Request* request);
/** Sets the handle to LNW_DISTRIBUTOR_NULL; requests go on. */
LNW_PUBLIC int LNW_Distributor_free(LNW_Distributor* distributor);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
