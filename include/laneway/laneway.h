/** Laneway: irregular data movement along the machine's hierarchy, on any MPI.
 *
 *  LNW_X takes exactly the arguments of MPI_X, on ordinary communicators; see docs/reference/c.md. All functions return
 * an MPI error code, after calling the communicator's error handler; MPI_Error_string gives a text that names the rank,
 * the call and the argument.
 */
#ifndef LANEWAY_H
#define LANEWAY_H

#include <laneway/bag.h>
#include <laneway/base.h>
#include <laneway/channel.h>
#include <laneway/collectives.h>
#include <laneway/counted.h>
#include <laneway/distributor.h>
#include <laneway/halo.h>
#include <laneway/neighborhood.h>
#include <laneway/operation.h>
#include <laneway/partitioned.h>
#include <laneway/queue.h>
#include <laneway/requests.h>
#include <laneway/sparse.h>
#include <laneway/topology.h>
#include <laneway/variables.h>

#endif
