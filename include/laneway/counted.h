/** All-to-all exchanges whose counts are known when they start: on devices, for particles and mixtures of experts. */
#ifndef LANEWAY_COUNTED_H
#define LANEWAY_COUNTED_H

#include <laneway/requests.h>

#ifdef __cplusplus
extern "C" {
#endif

/** As MPI_Alltoallv_init, but what is sent is counted by what `sendcounts` holds when an exchange starts, and receivers
 *  need not know: counts travel with the data. Each rank gives room for what may come. `sendcounts`, `recvcounts` and
 *  both buffers may be in memory of devices, of one vendor, or of the host. In a queue the counts are read when the
 *  stream comes to the start, and all is there for what comes after the wait.
 *
 *  `sendcounts[d]` elements go to rank d: from element `sdispls[d]` of `sendbuf` on or, where `sdispls` is NULL, behind
 *  those for the ranks before. From rank s up to `recvcapacities[s]` elements can come, to element `rdispls[s]` of
 *  `recvbuf` on or, where `rdispls` is NULL, behind the room for the ranks before. How many have come is written to
 *  `recvcounts[s]`. Elements are contiguous. `sdispls`, `recvcapacities` and `rdispls` are read here, by the host;
 *  `sendcounts` must not change between the start of an exchange and its end. MPI_IN_PLACE is no buffer.
 *
 *  A count that is negative, or larger than the receiver's room, is an error of the exchange on both its ranks,
 *  MPI_ERR_COUNT: nothing goes between these two, `recvcounts` has what was to come, all other data arrives, and the
 *  request can be started again. Sizes of elements that do not fit are one of the receiver. Collective. */
LNW_PUBLIC int LNW_Alltoallv_counted_init(const void* sendbuf, const int sendcounts[], const int sdispls[],
                                          MPI_Datatype sendtype, void* recvbuf, int recvcounts[],
                                          const int recvcapacities[], const int rdispls[], MPI_Datatype recvtype,
                                          MPI_Comm comm, MPI_Info info, LNW_Request* request);

#ifdef __cplusplus
}
#endif

#endif
