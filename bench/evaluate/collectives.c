#include "evaluate/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Collective {
  const Calls* calls;
  int count;  ///< of int, for each rank or for each pair as the operation has it
  int *send, *recv;
  int *sendcounts, *recvcounts, *sdispls, *rdispls;
  MPI_Request mpi_request;
  OurRequest request;
} Collective;

static int counted(int from, int to, int count) {
  return count * ((from + 2 * to) % 3);
}

/** Rooted operations: ranks that run ahead of the root would measure the rate of calls, so each call is timed by
 * itself. */
#define TIMED_APART(name, call)                    \
  static double name(void* context, int repeats) { \
    Collective* c = context;                       \
    double seconds = 0;                            \
    for (int i = 0; i < repeats; i++) {            \
      MPI_Barrier(MPI_COMM_WORLD);                 \
      const double begin = MPI_Wtime();            \
      c->calls->call;                              \
      seconds += MPI_Wtime() - begin;              \
    }                                              \
    return seconds / repeats;                      \
  }
#define TIMED(name, call)                          \
  static double name(void* context, int repeats) { \
    Collective* c = context;                       \
    const double begin = MPI_Wtime();              \
    for (int i = 0; i < repeats; i++) {            \
      c->calls->call;                              \
    }                                              \
    return (MPI_Wtime() - begin) / repeats;        \
  }

TIMED(run_barrier, barrier(MPI_COMM_WORLD))
TIMED_APART(run_bcast, bcast(c->recv, c->count, MPI_INT, 0, MPI_COMM_WORLD))
TIMED_APART(run_reduce, reduce(c->send, c->recv, c->count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD))
TIMED(run_allreduce, allreduce(c->send, c->recv, c->count, MPI_INT, MPI_SUM, MPI_COMM_WORLD))
TIMED_APART(run_gather, gather(c->send, c->count, MPI_INT, c->recv, c->count, MPI_INT, 0, MPI_COMM_WORLD))
TIMED(run_allgather, allgather(c->send, c->count, MPI_INT, c->recv, c->count, MPI_INT, MPI_COMM_WORLD))
TIMED(run_alltoall, alltoall(c->send, c->count, MPI_INT, c->recv, c->count, MPI_INT, MPI_COMM_WORLD))
TIMED(run_alltoallv, alltoallv(c->send, c->sendcounts, c->sdispls, MPI_INT, c->recv, c->recvcounts, c->rdispls, MPI_INT,
                               MPI_COMM_WORLD))

enum Result { none, of_root, sum_at_root, sum_everywhere, blocks_at_root, blocks, pairs, uneven_pairs };

/** Persistent requests of an operation, of MPI and of ours. */
#define INITS(operation, ...)                                                                \
  static int make_mpi_##operation(Collective* c) {                                           \
    return mpi_inits.operation(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &c->mpi_request); \
  }                                                                                          \
  static int make_our_##operation(Collective* c) {                                           \
    return our_inits.operation(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);     \
  }

static int make_mpi_barrier(Collective* c) {
  return mpi_inits.barrier(MPI_COMM_WORLD, MPI_INFO_NULL, &c->mpi_request);
}
static int make_our_barrier(Collective* c) {
  return our_inits.barrier(MPI_COMM_WORLD, MPI_INFO_NULL, &c->request);
}
INITS(bcast, c->recv, c->count, MPI_INT, 0)
INITS(reduce, c->send, c->recv, c->count, MPI_INT, MPI_SUM, 0)
INITS(allreduce, c->send, c->recv, c->count, MPI_INT, MPI_SUM)
INITS(gather, c->send, c->count, MPI_INT, c->recv, c->count, MPI_INT, 0)
INITS(allgather, c->send, c->count, MPI_INT, c->recv, c->count, MPI_INT)
INITS(alltoall, c->send, c->count, MPI_INT, c->recv, c->count, MPI_INT)
INITS(alltoallv, c->send, c->sendcounts, c->sdispls, MPI_INT, c->recv, c->recvcounts, c->rdispls, MPI_INT)

typedef struct Kind {
  const char* name;
  double (*run)(void*, int);
  enum Result result;
  int is_rooted;
  size_t call;  ///< where it is in Calls
  size_t init;  ///< and in MpiInits and OurInits
  int (*make_mpi)(Collective*);
  int (*make_ours)(Collective*);
} Kind;

#define KIND(operation, result, is_rooted)                                                                     \
  {                                                                                                            \
#operation, run_##operation, result, is_rooted, offsetof(Calls, operation), offsetof(OurInits, operation), \
        make_mpi_##operation, make_our_##operation                                                             \
  }

static const Kind kinds[] = {KIND(barrier, none, 0),          KIND(bcast, of_root, 1),
                             KIND(reduce, sum_at_root, 1),    KIND(allreduce, sum_everywhere, 0),
                             KIND(gather, blocks_at_root, 1), KIND(allgather, blocks, 0),
                             KIND(alltoall, pairs, 0),        KIND(alltoallv, uneven_pairs, 0)};

static const Kind* current;

static void start_and_wait(Collective* c) {
  if (c->request) {
    ours.start(&c->request);
    ours.wait(&c->request, MPI_STATUS_IGNORE);
  } else {
    MPI_Start(&c->mpi_request);
    MPI_Wait(&c->mpi_request, MPI_STATUS_IGNORE);
  }
}

/** Timed as the blocking calls are. */
static double run_persistent(void* context, int repeats) {
  double seconds = 0, begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    if (current->is_rooted) {
      MPI_Barrier(MPI_COMM_WORLD);
      begin = MPI_Wtime();
    }
    start_and_wait(context);
    if (current->is_rooted) {
      seconds += MPI_Wtime() - begin;
    }
  }
  return (current->is_rooted ? seconds : MPI_Wtime() - begin) / repeats;
}

static int own(int rank, int to, int i) {
  return (int)(value_of(rank, to, i) & 0xffffff);
}

static int is_block(const Collective* c, const int* at, int from, int to, int count) {
  (void)c;
  for (int i = 0; i < count; i++) {
    if (at[i] != own(from, to, i)) {
      return 0;
    }
  }
  return 1;
}

static int is_sum(const Collective* c) {
  for (int i = 0; i < c->count; i++) {
    unsigned sum = 0;
    for (int rank = 0; rank < machine.ranks; rank++) {
      sum += (unsigned)own(rank, 0, i);
    }
    if ((unsigned)c->recv[i] != sum) {
      return 0;
    }
  }
  return 1;
}

static void fill(Collective* c) {
  const int is_paired = current->result == pairs || current->result == uneven_pairs;
  for (int to = 0; to < (is_paired ? machine.ranks : 1); to++) {
    int* at = c->send + (current->result == uneven_pairs ? c->sdispls[to] : to * c->count);
    const int count = current->result == uneven_pairs ? c->sendcounts[to] : c->count;
    for (int i = 0; i < count; i++) {
      at[i] = own(machine.rank, to, i);
    }
  }
}

static int verify_run(Collective* c, double (*run)(void*, int)) {
  const int has_blocks = current->result >= blocks_at_root;
  fill(c);
  memset(c->recv, 0x5a, (size_t)c->count * (has_blocks ? (size_t)machine.ranks : 1) * sizeof(int));
  if (current->result == of_root && machine.rank == 0) {
    memcpy(c->recv, c->send, (size_t)c->count * sizeof(int));
  }
  run(c, 1);
  switch (current->result) {
    case none:
      return 1;
    case of_root:
      return is_block(c, c->recv, 0, 0, c->count);
    case sum_at_root:
      return machine.rank != 0 || is_sum(c);
    case sum_everywhere:
      return is_sum(c);
    default:
      break;
  }
  int right = 1;
  for (int from = 0; from < machine.ranks && (current->result != blocks_at_root || machine.rank == 0); from++) {
    const int is_uneven = current->result == uneven_pairs, is_paired = is_uneven || current->result == pairs;
    right = right && is_block(c, c->recv + (is_uneven ? c->rdispls[from] : from * c->count), from,
                              is_paired ? machine.rank : 0, is_uneven ? c->recvcounts[from] : c->count);
  }
  return right;
}

static int verify_collective(void* context) {
  return verify_run(context, current->run);
}
static int verify_persistent(void* context) {
  return verify_run(context, run_persistent);
}

static void set_counts(Collective* c) {
  int sent = 0, received = 0;
  for (int other = 0; other < machine.ranks; other++) {
    c->sendcounts[other] = counted(machine.rank, other, c->count);
    c->recvcounts[other] = counted(other, machine.rank, c->count);
    c->sdispls[other] = sent;
    c->rdispls[other] = received;
    sent += c->sendcounts[other];
    received += c->recvcounts[other];
  }
}

/** Whether the pointer there in a table is not null. */
static int has(const void* table, size_t offset) {
  void* call;
  memcpy(&call, (const char*)table + offset, sizeof call);
  return call != NULL;
}

static void measure_size(const Kind* kind, long long bytes, Collective* mpi, Collective* laneway) {
  Case what = {.group = "collective", .benchmark = kind->name, .where = machine.nodes > 1 ? "between" : "inside"};
  what.bytes = kind->result == none ? -1 : bytes;
  Candidate candidates[5];
  int count = 0;
  mpi->count = laneway->count = bytes < 4 ? 1 : (int)(bytes / 4);
  if (kind->result == uneven_pairs) {
    set_counts(mpi);
  }
  candidates[count++] = (Candidate){.name = "mpi", .run = kind->run, .context = mpi, .verify = verify_collective};
  if (options.control) {
    candidates[count++] = (Candidate){.name = "control", .run = kind->run, .context = mpi, .verify = verify_collective};
  }
  if (has(&our_calls, kind->call)) {
    candidates[count++] =
        (Candidate){.name = "laneway", .run = kind->run, .context = laneway, .verify = verify_collective};
  }
  Collective mpi_again = *mpi, our_again = *laneway;
  const int has_mpis = !is_counting() && has(&mpi_inits, kind->init) && kind->make_mpi(&mpi_again) == MPI_SUCCESS;
  const int has_ours = !is_counting() && ours.start && ours.wait && ours.request_free && has(&our_inits, kind->init) &&
                       kind->make_ours(&our_again) == MPI_SUCCESS;
  if (has_mpis) {
    candidates[count++] = (Candidate){
        .name = "mpi_persistent", .run = run_persistent, .context = &mpi_again, .verify = verify_persistent};
  }
  if (has_ours) {
    Candidate* persistent = &candidates[count++];
    *persistent = (Candidate){
        .name = "laneway_persistent", .run = run_persistent, .context = &our_again, .verify = verify_persistent};
    const char* rule = "";
    if (ours.request_get_strategy && ours.request_get_strategy(our_again.request, &rule) == MPI_SUCCESS) {
      snprintf(persistent->note, sizeof persistent->note, "%s", rule);
    }
  }
  measure(&what, candidates, count, MPI_COMM_WORLD);
  if (has_mpis) {
    MPI_Request_free(&mpi_again.mpi_request);
  }
  if (has_ours) {
    ours.request_free(&our_again.request);
  }
}

void run_collective(const char* benchmark) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    current = strcmp(kinds[i].name, benchmark) ? current : &kinds[i];
  }
  if (!has(&mpi_inits, current->init)) {
    const Case what = {.group = "collective", .benchmark = benchmark, .where = "", .bytes = -1};
    leave_out(&what, "mpi_persistent", "the MPI library has no persistent form of it");
  }
  const int is_paired = current->result == pairs || current->result == uneven_pairs;
  // Uneven blocks are at most twice the size.
  const long long send_blocks = is_paired ? 2LL * machine.ranks : 1;
  const long long recv_blocks = current->result >= blocks_at_root ? 2LL * machine.ranks : 1;
  long long most = options.most_bytes;
  while (most > 4 && most * (send_blocks + recv_blocks) > options.most_buffer) {
    most /= options.factor;
  }
  Collective mpi = {.calls = &mpi_calls};
  mpi.send = allocate((size_t)(most * send_blocks) + 64);
  mpi.recv = allocate((size_t)(most * recv_blocks) + 64);
  int* tables = allocate(4 * (size_t)machine.ranks * sizeof(int));
  mpi.sendcounts = tables;
  mpi.recvcounts = tables + machine.ranks;
  mpi.sdispls = tables + 2 * machine.ranks;
  mpi.rdispls = tables + 3 * machine.ranks;
  Collective laneway = mpi;
  laneway.calls = &our_calls;
  for (long long bytes = options.least_bytes; bytes; bytes = next_size(bytes)) {
    if (bytes > most) {
      const Case what = {.group = "collective", .benchmark = benchmark, .where = "", .bytes = bytes};
      skip(&what, "more memory than --most-buffer allows");
      break;
    }
    measure_size(current, bytes, &mpi, &laneway);
    if (current->result == none) {
      break;
    }
  }
  free(mpi.send);
  free(mpi.recv);
  free(tables);
}
