/** What a kernel calls to make a partition ready. For nvcc and hipcc, and for host tasks. */
#ifndef LANEWAY_DEVICE_READY_H
#define LANEWAY_DEVICE_READY_H

#include <stdint.h>

/** How far the words of neighbouring partitions are apart, in words of 64 bits. */
#define LNW_PREADY_STRIDE 8

#if defined(__CUDACC__) || defined(__HIPCC__)
/** By one thread, after all threads that have written the partition: __syncthreads() in a block, or a counter of
 * blocks. `word`: of LNW_Pready_word or LNW_Pready_edge_word. */
static __device__ __forceinline__ void lnw_pready_word(uint64_t* word) {
  __threadfence_system();
  *(volatile uint64_t*)word = 1;
}
#endif

/** The same by a thread of the host. */
static inline void lnw_pready_word_on_host(uint64_t* word) {
  __atomic_store_n(word, (uint64_t)1, __ATOMIC_RELEASE);
}

#endif
