#include "evaluate/evaluate.h"

#include <stdlib.h>
#include <string.h>

/** Messages that are under way at a time, as in the OSU micro-benchmarks. */
enum { window = 64 };

/** Two ranks, or in `rate` all ranks in pairs; `partner` is in MPI_COMM_WORLD. */
typedef struct Pair {
  int partner, is_first, width;
  long long bytes;
  char *send, *recv;
} Pair;

static double run_latency(void* context, int repeats) {
  Pair* pair = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    if (pair->is_first) {
      MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 1, MPI_COMM_WORLD);
      MPI_Recv(pair->recv, (int)pair->bytes, MPI_BYTE, pair->partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(pair->recv, (int)pair->bytes, MPI_BYTE, pair->partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 1, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) / repeats / 2;
}

/** The first rank sends a window of messages, and the other one answers once it has them. */
static double run_window(void* context, int repeats) {
  Pair* pair = context;
  MPI_Request requests[window];
  char answer = 0;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    for (int k = 0; k < pair->width; k++) {
      if (pair->is_first) {
        MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 2, MPI_COMM_WORLD, &requests[k]);
      } else {
        MPI_Irecv(pair->recv, (int)pair->bytes, MPI_BYTE, pair->partner, 2, MPI_COMM_WORLD, &requests[k]);
      }
    }
    MPI_Waitall(pair->width, requests, MPI_STATUSES_IGNORE);
    if (pair->is_first) {
      MPI_Recv(&answer, 1, MPI_CHAR, pair->partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Send(&answer, 1, MPI_CHAR, pair->partner, 3, MPI_COMM_WORLD);
    }
  }
  return (MPI_Wtime() - begin) / repeats;
}

/** Both ranks send a window of messages at once. */
static double run_both_ways(void* context, int repeats) {
  Pair* pair = context;
  MPI_Request requests[2 * window];
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    for (int k = 0; k < pair->width; k++) {
      MPI_Irecv(pair->recv, (int)pair->bytes, MPI_BYTE, pair->partner, 4, MPI_COMM_WORLD, &requests[k]);
      MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 4, MPI_COMM_WORLD, &requests[pair->width + k]);
    }
    MPI_Waitall(2 * pair->width, requests, MPI_STATUSES_IGNORE);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static int verify_pair(void* context) {
  Pair* pair = context;
  for (long long i = 0; i < pair->bytes; i++) {
    pair->send[i] = (char)value_of(machine.rank, pair->partner, (int)i);
  }
  memset(pair->recv, 0x5a, (size_t)pair->bytes);
  run_latency(pair, 1);
  for (long long i = 0; i < pair->bytes; i++) {
    if (pair->recv[i] != (char)value_of(pair->partner, machine.rank, (int)i)) {
      return 0;
    }
  }
  return 1;
}

typedef struct Kind {
  const char* name;
  double (*run)(void*, int);
} Kind;
static const Kind kinds[] = {
    {"latency", run_latency}, {"bandwidth", run_window}, {"bidirectional", run_both_ways}, {"rate", run_window}};

static void measure_pair(const Kind* kind, const char* where, Pair* pair, int pairs, MPI_Comm comm) {
  const int is_rate = !strcmp(kind->name, "rate"), is_latency = !strcmp(kind->name, "latency");
  pair->send = allocate((size_t)options.most_bytes);
  pair->recv = allocate((size_t)options.most_bytes);
  for (long long bytes = options.least_bytes; bytes; bytes = next_size(bytes)) {
    if (is_rate && bytes > 4096 && bytes != options.least_bytes) {
      break;
    }
    pair->bytes = bytes;
    // A window of large messages would be seconds of a slow link: it has as much in it as keeps the link busy.
    const long long fitting = (4LL << 20) / bytes;
    pair->width = fitting < 2 ? 2 : fitting > window ? window : (int)fitting;
    Case what = {.group = "point-to-point", .benchmark = kind->name, .where = where, .bytes = bytes};
    const double messages = (double)pair->width * pairs;
    what.messages = is_rate ? messages : 0;
    what.moved = is_latency || is_rate ? 0 : (double)bytes * messages * (kind->run == run_both_ways ? 2 : 1);
    Candidate candidates[2] = {{.name = "mpi", .run = kind->run, .context = pair, .verify = verify_pair},
                               {.name = "control", .run = kind->run, .context = pair, .verify = verify_pair}};
    measure(&what, candidates, options.control ? 2 : 1, comm);
  }
  free(pair->send);
  free(pair->recv);
}

/** Rank 0 and this one; the others wait. */
static void measure_two(const Kind* kind, const char* where, int other) {
  const int takes_part = machine.rank == 0 || machine.rank == other;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, machine.rank, &comm);
  if (takes_part) {
    Pair pair = {.partner = machine.rank == 0 ? other : 0, .is_first = machine.rank == 0};
    measure_pair(kind, where, &pair, 1, comm);
    MPI_Comm_free(&comm);
  }
  quiet_barrier(MPI_COMM_WORLD);
}

/** Every rank of the first half with one of the second: between nodes where there are several. */
static void measure_rate(const Kind* kind) {
  const int pairs = machine.ranks / 2, takes_part = machine.rank < 2 * pairs;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, machine.rank, &comm);
  if (takes_part) {
    const int is_first = machine.rank < pairs;
    Pair pair = {.partner = is_first ? machine.rank + pairs : machine.rank - pairs, .is_first = is_first};
    measure_pair(kind, machine.nodes > 1 ? "between" : "inside", &pair, pairs, comm);
    MPI_Comm_free(&comm);
  }
  quiet_barrier(MPI_COMM_WORLD);
}

void run_point_to_point(const char* benchmark) {
  const Kind* kind = NULL;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    kind = strcmp(kinds[i].name, benchmark) ? kind : &kinds[i];
  }
  if (machine.ranks < 2) {
    const Case what = {.group = "point-to-point", .benchmark = benchmark, .where = "inside", .bytes = -1};
    skip(&what, "one rank has nobody to talk to");
    return;
  }
  if (!strcmp(benchmark, "rate")) {
    measure_rate(kind);
    return;
  }
  int same = 0, across = 0, between = 0;
  for (int rank = machine.ranks - 1; rank > 0; rank--) {
    if (machine.node_of[rank] != machine.node_of[0]) {
      between = rank;
    } else if (machine.socket_of[rank] != machine.socket_of[0] && machine.socket_of[rank] >= 0 &&
               machine.socket_of[0] >= 0) {
      across = rank;
    } else {
      same = rank;
    }
  }
  if (same) {
    measure_two(kind, "inside", same);
  }
  if (across) {
    measure_two(kind, "inside, other socket", across);
  }
  if (between) {
    measure_two(kind, "between", between);
  }
}
