/** Moves that combine what they bring with what is there, for reductions over neighbors whose receive buffers are on
 *  devices. extension(LNW_DEVICE_COMBINE_EXTENSION) of a plugin's table is a lnw_device_combine. Without it, and for
 *  other operators and types, the host combines in its own memory.
 */
#ifndef LANEWAY_DEVICE_COMBINE_H
#define LANEWAY_DEVICE_COMBINE_H

#include <laneway/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LNW_DEVICE_COMBINE_EXTENSION "laneway.combine.1"

typedef enum lnw_device_operator {
  LNW_DEVICE_SUM = 0,
  LNW_DEVICE_MIN = 1,
  LNW_DEVICE_MAX = 2,
  LNW_DEVICE_PROD = 3
} lnw_device_operator;

typedef enum lnw_device_number {
  LNW_DEVICE_INT32 = 0,
  LNW_DEVICE_UINT32 = 1,
  LNW_DEVICE_INT64 = 2,
  LNW_DEVICE_UINT64 = 3,
  LNW_DEVICE_FLOAT32 = 4,
  LNW_DEVICE_FLOAT64 = 5
} lnw_device_number;

typedef struct lnw_device_combine {
  /** As moves_create, for rows of whole numbers: moves_launch then writes `to op from` where moves would write `from`.
   *  All that a launch addresses must be aligned to the size of a number. Sums wrap around where they overflow, and
   * each operation of real numbers is rounded: bit for bit what a plain loop gives. Destroyed by moves_destroy. */
  int (*create)(int device, int operation, int number, const lnw_device_run* runs, size_t count,
                lnw_device_moves* moves);
} lnw_device_combine;

#ifdef __cplusplus
}
#endif

#endif
