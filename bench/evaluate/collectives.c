#include "evaluate/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Collective {
  const Calls* calls;
  int count;  ///< of int, for each rank or for each pair as the operation has it
  int *send, *recv;
  int *sendcounts, *recvcounts, *sdispls, *rdispls;
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

typedef struct Kind {
  const char* name;
  double (*run)(void*, int);
  enum Result result;
  size_t call;  ///< where it is in Calls
} Kind;

static const Kind kinds[] = {{"barrier", run_barrier, none, offsetof(Calls, barrier)},
                             {"bcast", run_bcast, of_root, offsetof(Calls, bcast)},
                             {"reduce", run_reduce, sum_at_root, offsetof(Calls, reduce)},
                             {"allreduce", run_allreduce, sum_everywhere, offsetof(Calls, allreduce)},
                             {"gather", run_gather, blocks_at_root, offsetof(Calls, gather)},
                             {"allgather", run_allgather, blocks, offsetof(Calls, allgather)},
                             {"alltoall", run_alltoall, pairs, offsetof(Calls, alltoall)},
                             {"alltoallv", run_alltoallv, uneven_pairs, offsetof(Calls, alltoallv)}};

static const Kind* current;

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

static int verify_collective(void* context) {
  Collective* c = context;
  const int has_blocks = current->result >= blocks_at_root;
  fill(c);
  memset(c->recv, 0x5a, (size_t)c->count * (has_blocks ? (size_t)machine.ranks : 1) * sizeof(int));
  if (current->result == of_root && machine.rank == 0) {
    memcpy(c->recv, c->send, (size_t)c->count * sizeof(int));
  }
  current->run(c, 1);
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

static int has_call(const Calls* calls, const Kind* kind) {
  void* call;
  memcpy(&call, (const char*)calls + kind->call, sizeof call);
  return call != NULL;
}

static void measure_size(const Kind* kind, long long bytes, Collective* mpi, Collective* laneway) {
  Case what = {.group = "collective", .benchmark = kind->name, .where = machine.nodes > 1 ? "between" : "inside"};
  what.bytes = kind->result == none ? -1 : bytes;
  Candidate candidates[3];
  int count = 0;
  candidates[count++] = (Candidate){.name = "mpi", .run = kind->run, .context = mpi, .verify = verify_collective};
  if (options.control) {
    candidates[count++] = (Candidate){.name = "control", .run = kind->run, .context = mpi, .verify = verify_collective};
  }
  if (has_call(&our_calls, kind)) {
    candidates[count++] =
        (Candidate){.name = "laneway", .run = kind->run, .context = laneway, .verify = verify_collective};
  }
  mpi->count = laneway->count = bytes < 4 ? 1 : (int)(bytes / 4);
  if (kind->result == uneven_pairs) {
    set_counts(mpi);
  }
  measure(&what, candidates, count, MPI_COMM_WORLD);
}

void run_collective(const char* benchmark) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    current = strcmp(kinds[i].name, benchmark) ? current : &kinds[i];
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
