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

#define LNW_DEVICE_COMBINE_EXTENSION "laneway.combine.2"

typedef enum lnw_device_operator {
  LNW_DEVICE_SUM = 0,
  LNW_DEVICE_MIN = 1,
  LNW_DEVICE_MAX = 2,
  LNW_DEVICE_PROD = 3,
  LNW_DEVICE_LAND = 4, /**< of whole numbers: 1 where both are not 0, else 0 */
  LNW_DEVICE_LOR = 5,  /**< 1 where one of them is not 0 */
  LNW_DEVICE_LXOR = 6, /**< 1 where exactly one of them is not 0 */
  LNW_DEVICE_BAND = 7, /**< of whole numbers, bit by bit */
  LNW_DEVICE_BOR = 8,
  LNW_DEVICE_BXOR = 9
} lnw_device_operator;

typedef enum lnw_device_number {
  LNW_DEVICE_INT32 = 0,
  LNW_DEVICE_UINT32 = 1,
  LNW_DEVICE_INT64 = 2,
  LNW_DEVICE_UINT64 = 3,
  LNW_DEVICE_FLOAT32 = 4,
  LNW_DEVICE_FLOAT64 = 5,
  LNW_DEVICE_INT8 = 6,
  LNW_DEVICE_UINT8 = 7,
  LNW_DEVICE_INT16 = 8,
  LNW_DEVICE_UINT16 = 9
} lnw_device_number;

typedef struct lnw_device_combine {
  /** As moves_create, for rows of whole elements: moves_launch then writes `to op from` where moves would write `from`.
   *  All that a launch addresses must be aligned to the size of a number. Sums wrap around where they overflow, and
   * each operation of real numbers is rounded: bit for bit what a plain loop gives. Real numbers have the first four
   * operators. UNSUPPORTED for others. Destroyed by moves_destroy. */
  int (*create)(int device, int operation, int number, const lnw_device_run* runs, size_t count,
                lnw_device_moves* moves);
} lnw_device_combine;

#ifdef __cplusplus
}
#endif

#endif
