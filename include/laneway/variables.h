/** What tools read: control variables, which are the hints, and counters of what requests do. */
#ifndef LANEWAY_VARIABLES_H
#define LANEWAY_VARIABLES_H

#include <laneway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** @name Control variables and counters
 *  Named as in MPI's tool interface. Variables have numbers from 0, which may differ between versions, and names, which
 *  stay. Local; texts are the library's, and live as long as it.
 *  @{ */
typedef struct LNW_Variable {
  const char* name;        /**< lnw_strategy; requests_made */
  const char* environment; /**< of a control variable: that sets it for the process; "" if none does, and of counters */
  const char* description;
} LNW_Variable;

/** How many control variables there are: one for each hint (docs/reference/hints.md). */
LNW_PUBLIC int LNW_Cvar_get_num(int* num);
/** MPI_ERR_ARG if there is no such number. */
LNW_PUBLIC int LNW_Cvar_get_info(int index, LNW_Variable* variable);
/** MPI_ERR_ARG if there is no such name. */
LNW_PUBLIC int LNW_Cvar_get_index(const char* name, int* index);
/** The text that is in force for operations on a communicator that are given no other: of its hints, else of the
 *  environment, else the default. MPI_COMM_NULL: for all communicators without hints of their own. Copies at most
 *  `size` characters including the final zero, and sets `*length` to the number without it. */
LNW_PUBLIC int LNW_Cvar_read(int index, MPI_Comm comm, char* text, int size, int* length);

/** The same of counters. Those that begin with `held_`, and `requests`, are as large as what is there; the others only
 *  grow. Those that begin with `preload_` are of the report of the preload (docs/reference/preload-report.md), and 0
 * where that is not loaded. */
LNW_PUBLIC int LNW_Pvar_get_num(int* num);
LNW_PUBLIC int LNW_Pvar_get_info(int index, LNW_Variable* variable);
LNW_PUBLIC int LNW_Pvar_get_index(const char* name, int* index);
/** Of all requests of this process or, unless `comm` is MPI_COMM_NULL, of those that run on the library's duplicate of
 *  it: of the communicator, of topology objects that share the duplicate, and of communicators that are gone and had it
 *  before: differences tell what has been done. What an exchange sends is known of
 *  persistent requests. Counting costs a start one addition; reading walks through the plans of requests. By any
 * thread, unless another one finds at the same time that an exchange has failed. */
LNW_PUBLIC int LNW_Pvar_read(int index, MPI_Comm comm, MPI_Count* value);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
