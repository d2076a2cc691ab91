/** What the sim device (liblaneway_simdevice.so, docs/reference/devices.md) offers beside its table:
 * extension(LNW_SIM_DEVICE_EXTENSION) is a lnw_sim_device. For tests, and for trying programs without a GPU. All
 * functions return an lnw_device_status.
 */
#ifndef LANEWAY_SIM_DEVICE_H
#define LANEWAY_SIM_DEVICE_H

#include <laneway/device.h>

#ifdef __cplusplus
extern "C" {
#endif

#define LNW_SIM_DEVICE_EXTENSION "laneway.sim.1"

/** Since the process began, of all devices and streams. */
typedef struct lnw_sim_counters {
  uint64_t host_to_device, device_to_host, device_to_device, peer, host_to_host; /**< copies; of copy_rows, entries */
  uint64_t host_to_device_bytes, device_to_host_bytes, device_to_device_bytes, peer_bytes, host_to_host_bytes;
  uint64_t kernels, kernel_bytes; /**< moves_launch; and, with stream_values=0, write_value and wait_value */
  uint64_t dependencies;          /**< stream_wait_event, wait_value */
  uint64_t stream_synchronizes, event_synchronizes;
  uint64_t memory_mappings_opened, memory_mappings_closed; /**< ipc_memory_open, ipc_memory_close */
  uint64_t allocations;                                    /**< that exist now, registrations included */
} lnw_sim_counters;

typedef struct lnw_sim_device {
  /** Chooses the device of the calling thread, for current_device and null streams. */
  int (*set_device)(int device);
  /** Copies between any kinds of memory, and waits. Ordered with nothing: streams must be idle, or not touch it. */
  int (*copy_now)(void* to, const void* from, size_t bytes);
  /** Settings as in LANEWAY_SIM_DEVICE, for those that may change: reorder, delay, drop and the rates. */
  int (*configure)(const char* settings);
  int (*counters)(lnw_sim_counters* counters);
  /** From here to end_capture, stream_is_capturing says so, and whatever is put into the stream is UNSUPPORTED. */
  int (*begin_capture)(lnw_device_stream stream);
  int (*end_capture)(lnw_device_stream stream);
} lnw_sim_device;

#define LNW_SIM_GRAPHS_EXTENSION "laneway.sim.graphs.1"

/** Graphs, as a GPU's driver records them: what is put into a stream between begin and end is not done, but recorded,
 *  and done in the same order at each launch. Graphs have no events. extension(LNW_SIM_GRAPHS_EXTENSION) is one. */
typedef struct lnw_sim_graphs {
  int (*begin)(lnw_device_stream stream);
  int (*end)(lnw_device_stream stream, void** graph);
  int (*launch)(void* graph, lnw_device_stream stream);
  int (*destroy)(void* graph);
} lnw_sim_graphs;

#ifdef __cplusplus
}
#endif

#endif
