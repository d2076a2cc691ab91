/** Bags: short messages to any rank, whenever there is one to send. */
#ifndef LANEWAY_BAG_H
#define LANEWAY_BAG_H

#include <laneway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A bag of messages between the ranks of a communicator. */
typedef struct LNW_Bag_s* LNW_Bag;
#define LNW_BAG_NULL ((LNW_Bag)0)

/** @name Bags
 *  Each rank sends messages to any ranks and takes what has arrived. Nothing is matched, and no rank says before what
 * will come. Messages to one node travel together. Messages from one rank to another arrive in the order in which they
 * were sent; otherwise the order differs from run to run.
 *
 *  A rank reserves no more bytes for messages than the hint `lnw_bag_memory` says, the same on all ranks, but for what
 * is least: 5 KiB for each other rank of its node and for each other node, or, where bundles are not relayed, for each
 * other rank; of nodes of unequal sizes more, and a message that is longer than a bundle besides. Where that is not
 * enough LNW_Bag_send waits until others have taken something. A rank that waits in LNW_Bag_send or in a flush takes
 * all that comes for it meanwhile, which may be more. So ranks that send, take and flush never wait for each other in a
 * circle. A rank that neither takes nor sends nor flushes lets those wait that send more to it, or past it to its node,
 * than fits.
 *
 *  With MPI_THREAD_MULTIPLE any thread may send at any time, and one at a time may take. With MPI_THREAD_SERIALIZED or
 *  less, one thread at a time is in any of these functions or of MPI's. Errors go to the error handler of the
 *  communicator.
 *  @{ */
/** Collective. `info` may have the hints `lnw_bag_memory` and `lnw_progress`. */
LNW_PUBLIC int LNW_Bag_create(MPI_Comm comm, MPI_Info info, LNW_Bag* bag);
/** Sends `bytes` bytes of `data` to `destination`, which may be this rank; to MPI_PROC_NULL nothing. `data` may be
 *  written again when the function returns. The message leaves when enough others go the same way, and at the latest
 *  when this rank flushes or takes and finds nothing. */
LNW_PUBLIC int LNW_Bag_send(LNW_Bag bag, int destination, const void* data, MPI_Count bytes);
/** Takes a message that has arrived, if there is one: then `*flag` is true, and `*data` is valid until the next call,
 *  aligned for any type, to read and to write. After a flush, messages of the rounds that have ended come first; then
 *  `*flag` is false once before messages of the next round come. */
LNW_PUBLIC int LNW_Bag_next(LNW_Bag bag, int* source, void** data, MPI_Count* bytes, int* flag);
/** Ends a round: all that any rank has sent in it has arrived, and waits to be taken, when the function returns.
 *  Collective. MPI_ERR_REQUEST if a flush is active already. */
LNW_PUBLIC int LNW_Bag_flush(LNW_Bag bag);
/** Nonblocking. What is sent after the call belongs to the next round; messages may be taken meanwhile. */
LNW_PUBLIC int LNW_Bag_iflush(LNW_Bag bag, LNW_Request* request);
/** What this rank has done, in a new info object that the caller frees: `lnw_messages` sent, `lnw_bundles` that these
 *  and those of other ranks left in, `lnw_waves` of counting in flushes, `lnw_most_bytes` reserved at a time,
 *  `lnw_bag_memory`, how many these are at most without what comes while it waits, and `lnw_relays`, whether bundles go
 * by way of a rank of the other node. */
LNW_PUBLIC int LNW_Bag_get_info(LNW_Bag bag, MPI_Info* info);
/** Flushes, forgets what has not been taken, and sets the bag to LNW_BAG_NULL. Collective. */
LNW_PUBLIC int LNW_Bag_free(LNW_Bag* bag);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
