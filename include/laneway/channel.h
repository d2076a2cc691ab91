/** Channels: one way, from one rank to another, without matching and without tags. */
#ifndef LANEWAY_CHANNEL_H
#define LANEWAY_CHANNEL_H

#include <laneway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** One end of a channel. */
typedef struct LNW_Channel_s* LNW_Channel;
#define LNW_CHANNEL_NULL ((LNW_Channel)0)

/** Which end it is. */
#define LNW_CHANNEL_SEND 1
#define LNW_CHANNEL_RECEIVE 2

/** @name Channels
 *  A channel has `segments` segments of up to `bytes` bytes at its receiver. The sender puts data into a segment, and
 * the receiver takes it from there and releases the segment. As many puts may be under way as there are segments.
 * Nothing is matched: two ranks may have any number of channels, each for what a tag would tell apart.
 *
 *  Inside a node, data goes through memory that both ends see; between nodes in messages, or with
 * `lnw_transport=rma` into windows (LNW_Comm_prepare). Threads may use different
 * segments of one channel at the same time, which takes no lock; between nodes that needs MPI_THREAD_MULTIPLE. Errors
 * go to the error handler of the communicator.
 *  @{ */
/** Makes what this library needs for channels and partitioned messages on `comm`, and waits until it is there.
 *  Collective. Without it the first LNW_Channel_create, LNW_Psend_init or LNW_Precv_init on `comm` begins the same, as
 * MPI_Comm_idup does: it returns at once, but every rank of `comm` has to make such a call, in the same order among its
 * collective calls on `comm`. With Open MPI, whose MPI_Comm_idup mixes with the program's operations, it waits for
 * these calls of the other ranks. Where the hint `lnw_transport` of `comm` is `rma` on all ranks, it makes a window, by
 * which channels between nodes go from then on; puts and releases then return when the MPI library of the other end has
 * them. */
LNW_PUBLIC int LNW_Comm_prepare(MPI_Comm comm);

/** Makes an end of a channel between this rank and `peer`. `role` is LNW_CHANNEL_SEND on one of the two ranks and
 *  LNW_CHANNEL_RECEIVE on the other; `bytes` and `segments` are the same on both, or calls on either end fail with
 *  MPI_ERR_COUNT. Local: no other rank than `peer` takes part, and `peer` is not waited for. The n-th end of one role
 *  between two ranks belongs to the n-th of the other. A rank may have both ends. `info` may have the hints
 * `lnw_transport`, `lnw_machine` and `lnw_progress`. */
LNW_PUBLIC int LNW_Channel_create(MPI_Comm comm, int peer, int role, MPI_Count bytes, int segments, MPI_Info info,
                                  LNW_Channel* channel);
/** As LNW_Channel_create, with memory of the receiver's own: what is put into segment s comes to `buffer` + s *
 * `bytes`, when the receiver's LNW_Channel_test or LNW_Channel_wait finds it; between nodes as soon as it arrives.
 * `buffer` has `bytes`
 * * `segments` bytes, which are the channel's until it is freed, but for segments that the receiver holds. A sender's
 *  `buffer` is ignored. */
LNW_PUBLIC int LNW_Channel_create_with_buffer(MPI_Comm comm, int peer, int role, void* buffer, MPI_Count bytes,
                                              int segments, MPI_Info info, LNW_Channel* channel);

/** Sends `bytes` bytes from `data` to a free segment. Returns without waiting for the receiver, except before it has
 *  made its end. `data` may be written again once the segment is free or has been flushed. MPI_ERR_REQUEST if the
 *  segment is not free. */
LNW_PUBLIC int LNW_Channel_put(LNW_Channel channel, int segment, const void* data, MPI_Count bytes);
/** Returns when all `data` of earlier puts may be written again, of all segments. Says nothing about the receiver. */
LNW_PUBLIC int LNW_Channel_flush(LNW_Channel channel);
/** Whether the receiver has released what was put into the segment last, if anything. False before `peer` has made its
 *  end. */
LNW_PUBLIC int LNW_Channel_test_free(LNW_Channel channel, int segment, int* flag);

/** Whether something has been put into the segment. Then `*data` and `*bytes` say where it is and how much; it is the
 *  receiver's, to read and to write, until it releases the segment. MPI_ERR_REQUEST if the sender has freed its end and
 *  nothing is left. */
LNW_PUBLIC int LNW_Channel_test(LNW_Channel channel, int segment, int* flag, void** data, MPI_Count* bytes);
/** As LNW_Channel_test, but waits until something has been put into the segment, and lets all other work of this
 * library go on meanwhile. */
LNW_PUBLIC int LNW_Channel_wait(LNW_Channel channel, int segment, void** data, MPI_Count* bytes);
/** Gives the segment back to the sender. MPI_ERR_REQUEST if nothing has been put into it. */
LNW_PUBLIC int LNW_Channel_release(LNW_Channel channel, int segment);

/** What carries the data, in a new info object that the caller frees: `lnw_carrier` is `memory`, `window` or
 * `messages`, and `lnw_carrier_reason` says why. Waits until `peer` has made its end. */
LNW_PUBLIC int LNW_Channel_get_info(LNW_Channel channel, MPI_Info* info);

/** Frees an end and sets it to LNW_CHANNEL_NULL. Local; a sender that uses messages waits until they have left. What
 * has been put before stays with the receiver. Calls on the other end that need this one fail from then on. */
LNW_PUBLIC int LNW_Channel_free(LNW_Channel* channel);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
