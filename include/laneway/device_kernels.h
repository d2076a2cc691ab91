/** Kernels as programs have them that use Laneway on devices, so that benchmarks can show exchanges inside a program's
 *  loop, and what a device can do at most. extension(LNW_DEVICE_KERNELS_EXTENSION) of a plugin's table is a
 *  lnw_device_kernels. The library itself does not need them. The rules of lnw_device_table hold here, too: both
 *  functions put a kernel into the stream and return, and all arrays are in memory that kernels can address.
 */
#ifndef LANEWAY_DEVICE_KERNELS_H
#define LANEWAY_DEVICE_KERNELS_H

#include <laneway/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LNW_DEVICE_KERNELS_EXTENSION "laneway.kernels.1"

/** A sparse matrix by rows. */
typedef struct lnw_device_csr {
  int64_t rows, columns;
  const int64_t* row_begin; /**< rows + 1 */
  const int32_t* column;    /**< row_begin[rows] */
  const double* value;      /**< row_begin[rows] */
} lnw_device_csr;

typedef struct lnw_device_kernels {
  /** Y = A X, where X and Y have `width` numbers in each row, one row after the other. Each number of Y is the sum over
   *  the row of A in its order, from zero on, with every product and sum rounded: bit for bit what a plain loop gives.
   */
  int (*multiply)(int device, lnw_device_stream stream, const lnw_device_csr* matrix, const double* x, double* y,
                  int width);
  /** to[to_index[i]] = from[from_index[i]] for i < count; a null index stands for i itself. No two targets may be the
   *  same. Nothing is prepared and nothing combined: the rate of this is what a gather or scatter can reach. */
  int (*move_elements)(int device, lnw_device_stream stream, uint64_t* to, const uint32_t* to_index,
                       const uint64_t* from, const uint32_t* from_index, size_t count);
} lnw_device_kernels;

#ifdef __cplusplus
}
#endif

#endif
