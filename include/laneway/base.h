/** What all headers of the library need: handles, version, visibility. */
#ifndef LANEWAY_BASE_H
#define LANEWAY_BASE_H

#include <mpi.h>

#if defined(__GNUC__)
#define LNW_PUBLIC __attribute__((visibility("default")))
#else
#define LNW_PUBLIC
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define LNW_VERSION_MAJOR 0
#define LNW_VERSION_MINOR 2
#define LNW_VERSION_PATCH 0

/** A persistent or nonblocking neighborhood operation. */
typedef struct LNW_Request_s* LNW_Request;
#define LNW_REQUEST_NULL ((LNW_Request)0)

/** For bindings: in place of a buffer that is an array section with gaps. All ranks of a collective call then get the
 *  error that the buffer is not contiguous. */
#define LNW_NOT_CONTIGUOUS ((void*)-2)
/** Neighbours of the ranks of a communicator, without a communicator of their own. */
typedef struct LNW_Topology_s* LNW_Topology;
#define LNW_TOPOLOGY_NULL ((LNW_Topology)0)

/** Version of the library that is linked, to compare with LNW_VERSION_*. */
LNW_PUBLIC int LNW_Get_version(int* major, int* minor, int* patch);

#ifdef __cplusplus
}
#endif

#endif
