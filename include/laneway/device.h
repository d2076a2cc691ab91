/** What Laneway asks of a device: a versioned table of functions that a plugin exports.
 *
 *  A plugin is a shared library with one symbol, laneway_device_table. The library loads plugins at run time
 * (docs/reference/devices.md) and depends on no GPU package itself. Whoever writes a plugin for another vendor needs
 * this header only.
 *
 *  Rules for all functions of the table:
 *  - They return LNW_DEVICE_OK or another lnw_device_status; outputs are written only on success. Failures of earlier
 *    asynchronous work may be returned by any call. message() has the text.
 *  - They may be called by several threads at once, leave the calling thread's current device as it was, and never wait
 *    for a whole device: only what says "waits" does, and only for the stream or event that it names.
 *  - Sizes are in bytes, times in seconds. Devices are numbered from 0, as the vendor's own calls number them in this
 *    process. `stream` and `event` are the vendor's own handles (cudaStream_t, hipStream_t, …), so a user's stream can
 *    be given; a null stream is the vendor's default stream of `device`.
 *  - What is put into a stream is done in its order. Addresses are those that the host sees, of any kind of memory.
 */
#ifndef LANEWAY_DEVICE_H
#define LANEWAY_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Changes with whatever an older plugin or library would misunderstand. Functions that are added at the end change
 * only lnw_device_table.bytes. */
#define LNW_DEVICE_TABLE_VERSION 1

/** The name of the one symbol that a plugin exports. */
#define LNW_DEVICE_TABLE_SYMBOL "laneway_device_table"

typedef enum lnw_device_status {
  LNW_DEVICE_OK = 0,
  LNW_DEVICE_NOT_READY = 1,     /**< no error: the work asked for is not complete */
  LNW_DEVICE_ABSENT = 2,        /**< no driver, or no device, or no device of that number */
  LNW_DEVICE_INVALID = 3,       /**< an argument is wrong; nothing was done */
  LNW_DEVICE_OUT_OF_MEMORY = 4, /**< of the device, or of memory that can be pinned */
  LNW_DEVICE_UNSUPPORTED = 5,   /**< this device, driver or kind of memory cannot do that; nothing was done */
  LNW_DEVICE_FAILED = 6         /**< the driver or the device reports an error */
} lnw_device_status;

typedef void* lnw_device_stream;
typedef void* lnw_device_event;

/** Bits of lnw_device_info.features. */
enum {
  LNW_DEVICE_HAS_MANAGED = 1 << 0,       /**< managed_malloc; host and device may touch it at the same time */
  LNW_DEVICE_HAS_IPC_MEMORY = 1 << 1,    /**< ipc_memory_* */
  LNW_DEVICE_HAS_IPC_EVENTS = 1 << 2,    /**< ipc_event_* */
  LNW_DEVICE_HAS_STREAM_VALUES = 1 << 3, /**< write_value and wait_value take no processor of the device */
  LNW_DEVICE_HAS_DIRECT_HOST = 1 << 4    /**< the host may read and write this device's memory itself */
};

typedef struct lnw_device_info {
  char name[64];          /**< ends with a zero */
  unsigned char uuid[16]; /**< of this device on any machine, the same in all processes */
  int32_t pci_domain, pci_bus, pci_device, pci_function; /**< -1: not on such a bus */
  int32_t numa_node;                                     /**< of the host's memory that is nearest; -1: unknown */
  uint32_t features;
  int32_t processors;   /**< multiprocessors, compute units */
  int32_t copy_engines; /**< copies that can run at the same time; at least 1 */
  uint64_t memory_bytes;
} lnw_device_info;

/** What joins two devices of a node. */
typedef struct lnw_device_link {
  int32_t links;           /**< direct links of the vendor's own kind (NVLink, xGMI); 0: none */
  int32_t hops;            /**< such links on the shortest way; 0: the same device; -1: there is no such way */
  double bytes_per_second; /**< in one direction, of the narrowest part of that way or of the bus; 0: unknown */
  int32_t peer_access;     /**< 1 if kernels and copies of one may address memory of the other directly, else 0 */
} lnw_device_link;

typedef enum lnw_memory_kind {
  LNW_MEMORY_HOST = 0,   /**< nothing that the vendor's driver knows of */
  LNW_MEMORY_PINNED = 1, /**< the host's, and known to the driver: allocated by host_malloc, or registered */
  LNW_MEMORY_DEVICE = 2, /**< a device's; the host must not touch it */
  LNW_MEMORY_MANAGED = 3 /**< moves between host and device by itself; the host may touch it */
} lnw_memory_kind;

typedef struct lnw_device_memory {
  int32_t kind;       /**< an lnw_memory_kind */
  int32_t device;     /**< where it is, or whose driver context it was allocated in; -1 of LNW_MEMORY_HOST */
  void* base;         /**< where its allocation or registration begins; null of LNW_MEMORY_HOST */
  uint64_t bytes;     /**< of the whole allocation or registration; 0 of LNW_MEMORY_HOST */
  uint64_t buffer_id; /**< differs between all allocations that this process ever makes; 0: unknown */
  /** 1 if the memory came from another process by ipc_memory_open, else 0. */
  int32_t imported;
} lnw_device_memory;

/** `count` rows of `bytes` bytes each. Rows of the target must not overlap. */
typedef struct lnw_device_rows {
  void* to;
  const void* from;
  uint64_t bytes;
  int64_t to_stride, from_stride; /**< between the beginnings of rows; negative ones are allowed */
  uint64_t count;
} lnw_device_rows;

/** How many addresses the runs of one lnw_device_moves may be relative to. */
#define LNW_DEVICE_BASES 64

/** `count` rows of `bytes` bytes: the i-th goes from bases[from_base] + from + i * from_stride to bases[to_base] + to +
 *  i * to_stride. A row of 4, 8 or 16 bytes is one element of a gather or scatter. */
typedef struct lnw_device_run {
  int64_t from, to;
  int64_t bytes;
  int64_t from_stride, to_stride;
  int64_t count;
  uint32_t from_base, to_base; /**< less than LNW_DEVICE_BASES */
} lnw_device_run;

/** Runs that one kernel moves all at once, prepared for a device. */
typedef struct lnw_device_moves_s* lnw_device_moves;

/** Device memory as other processes of the node can open it. A plain value: may be sent anywhere. */
typedef struct lnw_ipc_memory {
  unsigned char handle[64];
  unsigned char device_uuid[16];
  uint64_t buffer_id;        /**< lnw_device_memory.buffer_id in the process that it is of */
  uint64_t base;             /**< the allocation's address in that process */
  uint64_t bytes;            /**< of the whole allocation, which is what is opened */
  uint64_t offset;           /**< from there to the pointer that was asked for */
  int64_t process;           /**< id of that process */
  uint64_t process_began_at; /**< tells it from others that had the same id; 0: unknown */
} lnw_ipc_memory;

/** An event as other processes of the node can open it. */
typedef struct lnw_ipc_event {
  unsigned char handle[64];
  int64_t process;
} lnw_ipc_event;

/** Bits of event_create's flags. */
enum {
  LNW_DEVICE_EVENT_TIMED = 1 << 0, /**< for event_elapsed */
  LNW_DEVICE_EVENT_SHARED = 1 << 1 /**< for ipc_event_get; excludes TIMED */
};

typedef struct lnw_device_table {
  /** @name The head: never changes its place, whatever the version.
   *  @{ */
  int32_t version;    /**< LNW_DEVICE_TABLE_VERSION of the header that the plugin was built with */
  uint32_t bytes;     /**< sizeof(lnw_device_table) of it */
  const char* vendor; /**< "nvidia", "amd", "sim", …: plugins of one vendor understand each other's memory */
  /** @} */

  /** @name The vendor and its devices
   *  @{ */

  /** OK if the vendor's driver is there, else ABSENT. Prints nothing, starts nothing on a device, and is cheap: whether
   *  there are devices is device_count's to say. */
  int (*probe)(void);
  /** Text for a status, and where the last failure of the calling thread had that status, what it was. Valid until the
   *  thread's next call; never null. */
  const char* (*message)(int status);
  /** OK with 0 devices where the driver finds none. */
  int (*device_count)(int* count);
  int (*device_info)(int device, lnw_device_info* info);
  /** The device that the calling thread has chosen by the vendor's own calls; 0 if it has chosen none. */
  int (*current_device)(int* device);
  /** What joins two devices of this node, which need not be visible in this process: they are known by uuid and bus
   *  address. UNSUPPORTED where the vendor's management library is missing. */
  int (*link)(const lnw_device_info* a, const lnw_device_info* b, lnw_device_link* link);
  /** Lets `device` address `peer`'s memory directly. OK if it could already; UNSUPPORTED if it cannot. */
  int (*peer_enable)(int device, int peer);
  /** @} */

  /** @name Memory
   *  @{ */

  /** What is at any address, a null pointer and freed memory included: what the driver does not know is
   * LNW_MEMORY_HOST. Never starts the driver. */
  int (*memory_at)(const void* pointer, lnw_device_memory* memory);
  /** Aligned to 256 bytes or more. 0 bytes give a null pointer. */
  int (*device_malloc)(int device, size_t bytes, void** pointer);
  /** Of device_malloc and managed_malloc. Work on it must be complete. Null is allowed. */
  int (*device_free)(int device, void* pointer);
  int (*managed_malloc)(int device, size_t bytes, void** pointer);
  /** Pinned, and addressable by all devices of the vendor. Aligned to a page. */
  int (*host_malloc)(int device, size_t bytes, void** pointer);
  int (*host_free)(int device, void* pointer);
  /** Makes memory of the host pinned, and addressable by all devices of the vendor at the same address, until it is
   *  unregistered. Memory that processes share may be registered by each. INVALID if part of it is registered already.
   */
  int (*host_register)(int device, void* pointer, size_t bytes);
  int (*host_unregister)(int device, void* pointer);
  /** @} */

  /** @name Streams and events
   *  @{ */

  /** Independent of the default stream. `urgent` streams go first where the device can choose. */
  int (*stream_create)(int device, int urgent, lnw_device_stream* stream);
  /** Work in the stream still runs to its end; does not wait for it. */
  int (*stream_destroy)(int device, lnw_device_stream stream);
  /** Waits until all work in the stream is complete. */
  int (*stream_synchronize)(int device, lnw_device_stream stream);
  /** OK if all work in the stream is complete, else NOT_READY. */
  int (*stream_query)(int device, lnw_device_stream stream);
  /** Whether what is put into the stream is being recorded into a graph instead of being done. */
  int (*stream_is_capturing)(int device, lnw_device_stream stream, int* capturing);
  /** Which device the stream is of. For a null stream, the current one. INVALID if it can be seen not to be a stream.
   */
  int (*stream_device)(lnw_device_stream stream, int* device);

  int (*event_create)(int device, int flags, lnw_device_event* event);
  int (*event_destroy)(int device, lnw_device_event event);
  /** The event is complete when all that is in the stream now is. */
  int (*event_record)(int device, lnw_device_event event, lnw_device_stream stream);
  /** What is put into the stream from now on waits for what the event was recorded for last before this call, in this
   * or another process; for nothing if it was never recorded. Streams and events of different devices may be mixed. */
  int (*stream_wait_event)(int device, lnw_device_stream stream, lnw_device_event event);
  /** OK if complete or never recorded, else NOT_READY. */
  int (*event_query)(int device, lnw_device_event event);
  /** Waits until the event is complete. */
  int (*event_synchronize)(int device, lnw_device_event event);
  /** Between two complete TIMED events of one device. */
  int (*event_elapsed)(lnw_device_event begin, lnw_device_event end, double* seconds);
  /** Calls function(argument) in a thread of the driver when the stream gets there, and holds the stream until it
   *  returns. The function must not call the device. */
  int (*host_call)(int device, lnw_device_stream stream, void (*function)(void*), void* argument);
  /** @} */

  /** @name Copies and kernels
   *  All are put into the stream and return. Host memory that is not pinned is allowed in copies, which may then be
   *  complete before the call returns; kernels address device, managed and pinned memory only.
   *  @{ */

  /** By a copy engine, between memory of any kinds. */
  int (*copy)(int device, lnw_device_stream stream, void* to, const void* from, size_t bytes);
  /** All rows of all entries, by copy engines, in any order. */
  int (*copy_rows)(int device, lnw_device_stream stream, const lnw_device_rows* rows, size_t count);
  int (*fill)(int device, lnw_device_stream stream, void* to, unsigned char value, size_t bytes);

  /** Prepares runs for `device`; waits until they are there. Targets of the runs must not overlap, runs of no bytes or
   * no rows are allowed. The list is not needed afterwards. */
  int (*moves_create)(int device, const lnw_device_run* runs, size_t count, lnw_device_moves* moves);
  /** Launches have to be complete. */
  int (*moves_destroy)(lnw_device_moves moves);
  /** One kernel for all runs; none if there are none. `bases` has `base_count` addresses and is not needed afterwards;
   *  whatever their alignment, the widest accesses that addresses and sizes allow are used. Moves may be launched on
   *  several streams at once, with different bases. */
  int (*moves_launch)(lnw_device_moves moves, lnw_device_stream stream, void* const* bases, size_t base_count);
  /** @} */

  /** @name Between processes of a node
   *  @{ */

  /** For any pointer into memory of device_malloc, or of the vendor's own call for the same. UNSUPPORTED for other
   * memory, and for what was itself opened. */
  int (*ipc_memory_get)(int device, const void* pointer, lnw_ipc_memory* memory);
  /** Maps the whole allocation, so that `device` can address it. `base` is where it begins here. INVALID if it was
   * freed or its process has ended, and in the process that it is of. What is mapped remains until it is closed, even
   * where the other process frees it. Opening the same twice in a process is UNSUPPORTED or gives the same address. */
  int (*ipc_memory_open)(int device, const lnw_ipc_memory* memory, void** base);
  /** Work on it must be complete. */
  int (*ipc_memory_close)(int device, void* base);
  int (*ipc_event_get)(int device, lnw_device_event event, lnw_ipc_event* shared);
  /** For stream_wait_event, event_query, event_synchronize and event_destroy. */
  int (*ipc_event_open)(int device, const lnw_ipc_event* shared, lnw_device_event* event);

  /** `count` words of zero, each on a cache line of its own (64 bytes apart), in memory that host and device may both
   * read and write at any time, and that write_value and wait_value accept. */
  int (*flag_malloc)(int device, size_t count, uint64_t** words);
  int (*flag_free)(int device, uint64_t* words);
  /** Writes the word when all work before is complete and visible to whoever sees the value. The word is one of
   * flag_malloc, or in pinned (also registered, shared by processes) or device memory (also opened), aligned to 8
   * bytes. */
  int (*write_value)(int device, lnw_device_stream stream, uint64_t* word, uint64_t value);
  /** What is put into the stream from now on waits until *word >= value, as unsigned numbers that only grow. Words as
   * for write_value. Without LNW_DEVICE_HAS_STREAM_VALUES by a kernel that looks again and again: no more of those may
   * wait at a time than a device runs kernels. */
  int (*wait_value)(int device, lnw_device_stream stream, uint64_t* word, uint64_t value);
  /** @} */

  /** Whatever else a plugin offers, by name (docs/reference/devices.md); null if it does not. */
  const void* (*extension)(const char* name);
} lnw_device_table;

/** The symbol that a plugin exports. `wanted_version` is the caller's LNW_DEVICE_TABLE_VERSION. A plugin that has
 * several versions returns that one; any other returns the one that it has, and the caller looks at `version`. Null if
 * the plugin refuses. Must be cheap and silent, driver or not. The table lives as long as the plugin is loaded. */
typedef const lnw_device_table* (*lnw_device_table_function)(int wanted_version);

#ifdef __cplusplus
}
#endif

#endif
