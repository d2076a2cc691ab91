#define _GNU_SOURCE  // RTLD_DEFAULT

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate/evaluate.h"

/** What is used of a vendor's runtime and of its collective library. Both are loaded where they are found, so that this
 * compiles without them. NCCL's and RCCL's functions have the same names; so have CUDA's and HIP's, but for the prefix
 * (docs.nvidia.com/deeplearning/nccl, rocm.docs.amd.com/projects/rccl). */
typedef void* Stream;
typedef void* Clique;
typedef struct UniqueId {
  char bytes[128];
} UniqueId;
enum { copy_default = 4, type_int32 = 2, operator_sum = 0 };

typedef struct Vendor {
  const char *prefix, *collectives;
  const char *runtimes[4], *libraries[3], *aware[3];
} Vendor;
static const Vendor vendors[] = {{"cuda",
                                  "nccl",
                                  {"libcudart.so", "libcudart.so.13", "libcudart.so.12"},
                                  {"libnccl.so.2", "libnccl.so"},
                                  {"MPIX_Query_cuda_support"}},
                                 {"hip",
                                  "rccl",
                                  {"libamdhip64.so", "libamdhip64.so.6", "libamdhip64.so.5"},
                                  {"librccl.so.1", "librccl.so"},
                                  {"MPIX_Query_rocm_support", "MPIX_Query_hip_support"}}};

static struct {
  const Vendor* vendor;
  int (*get_device_count)(int*);
  int (*set_device)(int);
  int (*allocate)(void**, size_t);
  int (*release)(void*);
  int (*copy)(void*, const void*, size_t, int);
  int (*stream_create)(Stream*);
  int (*stream_synchronize)(Stream);
  int (*get_unique_id)(UniqueId*);
  int (*comm_init_rank)(Clique*, int, UniqueId, int);
  int (*comm_destroy)(Clique);
  int (*all_reduce)(const void*, void*, size_t, int, int, Clique, Stream);
  int (*all_gather)(const void*, void*, size_t, int, Clique, Stream);
  int (*broadcast)(const void*, void*, size_t, int, int, Clique, Stream);
  int (*reduce)(const void*, void*, size_t, int, int, int, Clique, Stream);
  int (*send)(const void*, size_t, int, int, Clique, Stream);
  int (*receive)(void*, size_t, int, int, Clique, Stream);
  int (*group_start)(void);
  int (*group_end)(void);
  Stream stream;
  Clique clique;
  int is_aware;
  char reason[128];   ///< why there is no device here; empty where there is one
  char without[128];  ///< why there is no clique
} gpu;

static void* open_one(const char* const* names) {
  void* found = NULL;
  for (; *names && !found; names++) {
    found = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
  }
  return found;
}

static int find(void* library, const char* prefix, const char* name, void* member) {
  char symbol[64];
  snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
  void* found = dlsym(library, symbol);
  memcpy(member, &found, sizeof found);
  return found != NULL;
}

static int find_runtime(void) {
  for (size_t i = 0; i < sizeof vendors / sizeof *vendors; i++) {
    const Vendor* vendor = &vendors[i];
    void* runtime = open_one(vendor->runtimes);
    int devices = 0;
    if (runtime && find(runtime, vendor->prefix, "GetDeviceCount", &gpu.get_device_count) &&
        find(runtime, vendor->prefix, "SetDevice", &gpu.set_device) &&
        find(runtime, vendor->prefix, "Malloc", &gpu.allocate) && find(runtime, vendor->prefix, "Free", &gpu.release) &&
        find(runtime, vendor->prefix, "Memcpy", &gpu.copy) &&
        find(runtime, vendor->prefix, "StreamCreate", &gpu.stream_create) &&
        find(runtime, vendor->prefix, "StreamSynchronize", &gpu.stream_synchronize) &&
        gpu.get_device_count(&devices) == 0 && devices > 0) {
      gpu.vendor = vendor;
      return devices;
    }
  }
  return 0;
}

static int find_library(void) {
  void* library = open_one(gpu.vendor->libraries);
  return library && find(library, "nccl", "GetUniqueId", &gpu.get_unique_id) &&
         find(library, "nccl", "CommInitRank", &gpu.comm_init_rank) &&
         find(library, "nccl", "CommDestroy", &gpu.comm_destroy) &&
         find(library, "nccl", "AllReduce", &gpu.all_reduce) && find(library, "nccl", "AllGather", &gpu.all_gather) &&
         find(library, "nccl", "Broadcast", &gpu.broadcast) && find(library, "nccl", "Reduce", &gpu.reduce) &&
         find(library, "nccl", "Send", &gpu.send) && find(library, "nccl", "Recv", &gpu.receive) &&
         find(library, "nccl", "GroupStart", &gpu.group_start) && find(library, "nccl", "GroupEnd", &gpu.group_end);
}

static int everywhere(int here) {
  int all;
  MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
  return all;
}

static int rank_in_node(void) {
  int number = 0;
  for (int rank = 0; rank < machine.rank; rank++) {
    number += machine.node_of[rank] == machine.node;
  }
  return number;
}

static void begin_clique(void) {
  UniqueId id = {{0}};
  if (!everywhere(find_library())) {
    snprintf(gpu.without, sizeof gpu.without, "%s was not found", gpu.vendor->libraries[0]);
    return;
  }
  int is_good = machine.rank != 0 || gpu.get_unique_id(&id) == 0;
  MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
  if (!everywhere(is_good) || !everywhere(gpu.comm_init_rank(&gpu.clique, machine.ranks, id, machine.rank) == 0)) {
    snprintf(gpu.without, sizeof gpu.without, "%s makes no communicator: it needs a device for each rank",
             gpu.vendor->collectives);
  }
}

/** Once: a device for each rank, a stream, and the collective library where it is. */
static void begin_devices(void) {
  static int is_begun;
  if (is_begun++) {
    return;
  }
  const int devices = find_runtime();
  if (!everywhere(devices > 0)) {
    snprintf(gpu.reason, sizeof gpu.reason, "no device: neither CUDA's nor HIP's runtime finds one on every rank");
    return;
  }
  if (!everywhere(gpu.set_device(rank_in_node() % devices) == 0 && gpu.stream_create(&gpu.stream) == 0)) {
    snprintf(gpu.reason, sizeof gpu.reason, "a device of %s cannot be used", gpu.vendor->prefix);
    return;
  }
  for (const char* const* name = gpu.vendor->aware; *name; name++) {
    int (*query)(void);
    gpu.is_aware = gpu.is_aware || (find(RTLD_DEFAULT, "", *name, &query) && query());
  }
  gpu.is_aware = everywhere(gpu.is_aware);
  begin_clique();
}

enum Operation { all_reduce, all_gather, broadcast, reduce, all_to_all };
typedef struct Kind {
  const char* name;
  enum Operation operation;
} Kind;
static const Kind kinds[] = {{"device_allreduce", all_reduce},
                             {"device_allgather", all_gather},
                             {"device_bcast", broadcast},
                             {"device_reduce", reduce},
                             {"device_alltoall", all_to_all}};

/** An operation on `count` ints: of a vector, of each rank, or of each pair. */
typedef struct Device {
  enum Operation operation;
  const Calls* calls;
  int count, is_staged;
  int *send, *recv;  ///< on the device
  int *host_send, *host_recv;
} Device;

static size_t bytes_sent(const Device* d) {
  return (size_t)d->count * sizeof(int) * (d->operation == all_to_all ? (size_t)machine.ranks : 1);
}
static size_t bytes_received(const Device* d) {
  return (size_t)d->count * sizeof(int) *
         (d->operation == all_to_all || d->operation == all_gather ? (size_t)machine.ranks : 1);
}

static void call(const Device* d, int* send, int* recv) {
  switch (d->operation) {
    case all_reduce:
      d->calls->allreduce(send, recv, d->count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      return;
    case all_gather:
      d->calls->allgather(send, d->count, MPI_INT, recv, d->count, MPI_INT, MPI_COMM_WORLD);
      return;
    case broadcast:
      d->calls->bcast(machine.rank == 0 ? send : recv, d->count, MPI_INT, 0, MPI_COMM_WORLD);
      return;
    case reduce:
      d->calls->reduce(send, recv, d->count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
      return;
    case all_to_all:
      d->calls->alltoall(send, d->count, MPI_INT, recv, d->count, MPI_INT, MPI_COMM_WORLD);
      return;
  }
}

static double run_calls(void* context, int repeats) {
  Device* d = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    if (d->is_staged) {
      gpu.copy(d->host_send, d->send, bytes_sent(d), copy_default);
      call(d, d->host_send, d->host_recv);
      gpu.copy(d->recv, d->host_recv, bytes_received(d), copy_default);
    } else {
      call(d, d->send, d->recv);
    }
  }
  return (MPI_Wtime() - begin) / repeats;
}

static double run_clique(void* context, int repeats) {
  Device* d = context;
  const size_t count = (size_t)d->count;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    switch (d->operation) {
      case all_reduce:
        gpu.all_reduce(d->send, d->recv, count, type_int32, operator_sum, gpu.clique, gpu.stream);
        break;
      case all_gather:
        gpu.all_gather(d->send, d->recv, count, type_int32, gpu.clique, gpu.stream);
        break;
      case broadcast:
        gpu.broadcast(d->send, d->recv, count, type_int32, 0, gpu.clique, gpu.stream);
        break;
      case reduce:
        gpu.reduce(d->send, d->recv, count, type_int32, operator_sum, 0, gpu.clique, gpu.stream);
        break;
      case all_to_all:
        gpu.group_start();
        for (int rank = 0; rank < machine.ranks; rank++) {
          gpu.send(d->send + (size_t)rank * count, count, type_int32, rank, gpu.clique, gpu.stream);
          gpu.receive(d->recv + (size_t)rank * count, count, type_int32, rank, gpu.clique, gpu.stream);
        }
        gpu.group_end();
        break;
    }
    gpu.stream_synchronize(gpu.stream);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static int own(int from, int to, int i) {
  return (int)(value_of(from, to, i) & 0xffff);
}

static int expected(const Device* d, int from, int i) {
  int sum = 0;
  switch (d->operation) {
    case all_gather:
      return own(from, 0, i);
    case broadcast:
      return own(0, 0, i);
    case all_to_all:
      return own(from, machine.rank, i);
    default:
      break;
  }
  for (int rank = 0; rank < machine.ranks; rank++) {
    sum += own(rank, 0, i);
  }
  return sum;
}

static int verify(Device* d, double (*run)(void*, int)) {
  const int parts = (int)(bytes_sent(d) / sizeof(int)) / d->count;
  for (int k = 0; k < parts * d->count; k++) {
    d->host_send[k] = own(machine.rank, k / d->count, k % d->count);
  }
  memset(d->host_recv, 0x5a, bytes_received(d));
  gpu.copy(d->send, d->host_send, bytes_sent(d), copy_default);
  gpu.copy(d->recv, d->host_recv, bytes_received(d), copy_default);
  run(d, 1);
  if ((d->operation == reduce || d->operation == broadcast) && (machine.rank == 0) == (d->operation == broadcast)) {
    return 1;  // Of a reduction the root alone has something to look at, of a broadcast all others.
  }
  gpu.copy(d->host_recv, d->recv, bytes_received(d), copy_default);
  const int blocks = (int)(bytes_received(d) / sizeof(int)) / d->count;
  int right = 1;
  for (int k = 0; k < blocks * d->count; k++) {
    right = right && d->host_recv[k] == expected(d, k / d->count, k % d->count);
  }
  return right;
}
static int verify_calls(void* context) {
  return verify(context, run_calls);
}
static int verify_clique(void* context) {
  return verify(context, run_clique);
}

static int has_call(const Calls* calls, enum Operation operation) {
  const int has[] = {calls->allreduce != NULL, calls->allgather != NULL, calls->bcast != NULL, calls->reduce != NULL,
                     calls->alltoall != NULL};
  return has[operation];
}

static void measure_device(const Kind* kind, Device* staged, long long bytes) {
  staged->count = bytes < 4 ? 1 : (int)(bytes / 4);
  Device mpi = *staged, laneway = *staged;
  mpi.is_staged = laneway.is_staged = 0;
  laneway.calls = &our_calls;
  Case what = {.group = "device",
               .benchmark = kind->name,
               .where = machine.nodes > 1 ? "between" : "inside",
               .pattern = gpu.vendor->prefix,
               .bytes = bytes};
  Candidate candidates[5];
  int count = 0;
  candidates[count++] = (Candidate){.name = "staged", .run = run_calls, .context = staged, .verify = verify_calls};
  if (gpu.is_aware) {
    candidates[count++] = (Candidate){.name = "mpi", .run = run_calls, .context = &mpi, .verify = verify_calls};
    if (options.control) {
      candidates[count] = candidates[count - 1];
      candidates[count++].name = "control";
    }
  }
  if (has_call(&our_calls, kind->operation)) {
    candidates[count++] = (Candidate){.name = "laneway", .run = run_calls, .context = &laneway, .verify = verify_calls};
  }
  if (!gpu.without[0]) {
    candidates[count++] =
        (Candidate){.name = gpu.vendor->collectives, .run = run_clique, .context = staged, .verify = verify_clique};
  }
  measure(&what, candidates, count, MPI_COMM_WORLD);
}

static const char* device_name(const PairKind* kind) {
  static char name[32];
  snprintf(name, sizeof name, "device_%s", kind->name);
  return name;
}

static void fetch(const Pair* pair) {
  gpu.copy(pair->send, pair->fetched_from, (size_t)pair->bytes, copy_default);
}
static void store(const Pair* pair) {
  gpu.copy(pair->stored_to, pair->recv, (size_t)pair->bytes, copy_default);
}

/** What the vendor's library does in the place of MPI's messages. A window is a group; nobody answers it, since whoever
 * receives waits for all of it. */
static double run_clique_pair(Pair* pair, int repeats, int sends, int receives) {
  const size_t count = (size_t)pair->bytes / sizeof(int);
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    gpu.group_start();
    for (int k = 0; k < pair->width; k++) {
      if (sends) {
        gpu.send(pair->send, count, type_int32, pair->partner, gpu.clique, gpu.stream);
      }
      if (receives) {
        gpu.receive(pair->recv, count, type_int32, pair->partner, gpu.clique, gpu.stream);
      }
    }
    gpu.group_end();
    gpu.stream_synchronize(gpu.stream);
  }
  return (MPI_Wtime() - begin) / repeats;
}
static double run_clique_window(void* context, int repeats) {
  Pair* pair = context;
  return run_clique_pair(pair, repeats, pair->is_first, !pair->is_first);
}
static double run_clique_both_ways(void* context, int repeats) {
  return run_clique_pair(context, repeats, 1, 1);
}
static double run_clique_latency(void* context, int repeats) {
  Pair one = *(Pair*)context;
  one.width = 1;
  double seconds = 0;
  for (int i = 0; i < 2 * repeats; i++) {
    const int sends = one.is_first == (i % 2 == 0);
    seconds += run_clique_pair(&one, 1, sends, !sends);
  }
  return seconds / repeats / 2;
}

/** By MPI's ping-pong or the vendor's, once; what is sent lies on the device, and so does what has arrived. */
static int verify_device_pair(Pair* pair, double (*latency)(void*, int)) {
  char* const host = allocate((size_t)pair->bytes);
  char* const from = pair->fetch ? pair->fetched_from : pair->send;
  char* const to = pair->store ? pair->stored_to : pair->recv;
  memset(host, 0x5a, (size_t)pair->bytes);
  gpu.copy(to, host, (size_t)pair->bytes, copy_default);
  for (long long i = 0; i < pair->bytes; i++) {
    host[i] = (char)value_of(machine.rank, pair->partner, (int)i);
  }
  gpu.copy(from, host, (size_t)pair->bytes, copy_default);
  latency(pair, 1);
  gpu.copy(host, to, (size_t)pair->bytes, copy_default);
  int right = 1;
  for (long long i = 0; i < pair->bytes; i++) {
    right = right && host[i] == (char)value_of(pair->partner, machine.rank, (int)i);
  }
  free(host);
  return right;
}
static int verify_message(void* context) {
  return verify_device_pair(context, find_pair_kind("latency")->run);
}
static int verify_clique_message(void* context) {
  return verify_device_pair(context, run_clique_latency);
}

static double (*clique_run(const PairKind* kind))(void*, int) {
  return !strcmp(kind->name, "latency")         ? run_clique_latency
         : !strcmp(kind->name, "bidirectional") ? run_clique_both_ways
                                                : run_clique_window;
}

static void measure_sizes_of_pair(const PairKind* kind, const char* where, Pair* staged, Pair* straight, int pairs,
                                  MPI_Comm comm) {
  // The vendor's messages are of whole numbers.
  for (long long bytes = options.least_bytes < 4 ? 4 : options.least_bytes; bytes; bytes = next_size(bytes)) {
    Case what = {.group = "device",
                 .benchmark = device_name(kind),
                 .where = where,
                 .pattern = gpu.vendor->prefix,
                 .bytes = bytes / 4 * 4};
    if (!set_pair_case(kind, staged, pairs, &what)) {
      break;
    }
    straight->bytes = staged->bytes;
    straight->width = staged->width;
    Candidate candidates[4];
    int count = 0;
    candidates[count++] = (Candidate){.name = "staged", .run = kind->run, .context = staged, .verify = verify_message};
    if (gpu.is_aware) {
      candidates[count++] = (Candidate){.name = "mpi", .run = kind->run, .context = straight, .verify = verify_message};
      if (options.control) {
        candidates[count] = candidates[count - 1];
        candidates[count++].name = "control";
      }
    }
    if (!gpu.without[0]) {
      candidates[count++] = (Candidate){.name = gpu.vendor->collectives,
                                        .run = clique_run(kind),
                                        .context = straight,
                                        .verify = verify_clique_message};
    }
    measure(&what, candidates, count, comm);
  }
}

static void measure_device_pair(const PairKind* kind, const char* where, Pair* pair, int pairs, MPI_Comm comm) {
  const size_t room = (size_t)options.most_bytes;
  Pair staged = *pair, straight = *pair;
  int has = gpu.allocate((void**)&straight.send, room) == 0 && gpu.allocate((void**)&straight.recv, room) == 0, all;
  MPI_Allreduce(&has, &all, 1, MPI_INT, MPI_LAND, comm);
  if (!all) {
    const Case what = {.group = "device", .benchmark = device_name(kind), .where = where, .bytes = -1};
    skip(&what, "a device has too little memory");
    return;
  }
  staged.send = allocate(room);
  staged.recv = allocate(room);
  staged.fetch = fetch;
  staged.store = store;
  staged.fetched_from = straight.send;
  staged.stored_to = straight.recv;
  measure_sizes_of_pair(kind, where, &staged, &straight, pairs, comm);
  free(staged.send);
  free(staged.recv);
  gpu.release(straight.send);
  gpu.release(straight.recv);
}

void run_device(const char* benchmark) {
  Case what = {.group = "device", .benchmark = benchmark, .where = "", .bytes = -1};
  begin_devices();
  if (gpu.reason[0]) {
    skip(&what, gpu.reason);
    return;
  }
  if (gpu.without[0]) {
    leave_out(&what, gpu.vendor->collectives, gpu.without);
  }
  const PairKind* pairs = find_pair_kind(benchmark + strlen("device_"));
  if (pairs && machine.ranks < 2) {
    skip(&what, "one rank has nobody to talk to");
    return;
  }
  if (pairs) {
    visit_pairs(pairs, measure_device_pair);
    return;
  }
  const Kind* kind = kinds;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    kind = strcmp(kinds[i].name, benchmark) ? kind : &kinds[i];
  }
  long long most = options.most_bytes;
  while (most > 4 && 4 * most * machine.ranks > options.most_buffer) {
    most /= options.factor;
  }
  const size_t room = (size_t)most * (size_t)machine.ranks + 64;
  Device d = {.operation = kind->operation, .calls = &mpi_calls, .is_staged = 1};
  d.host_send = allocate(room);
  d.host_recv = allocate(room);
  if (everywhere(gpu.allocate((void**)&d.send, room) == 0 && gpu.allocate((void**)&d.recv, room) == 0)) {
    for (long long bytes = options.least_bytes; bytes && bytes <= most; bytes = next_size(bytes)) {
      measure_device(kind, &d, bytes);
    }
    gpu.release(d.send);
    gpu.release(d.recv);
  } else {
    skip(&what, "a device has too little memory");
  }
  free(d.host_send);
  free(d.host_recv);
}
