#include "evaluate/evaluate.h"

#include <stdlib.h>
#include <string.h>

/** Messages that are under way at a time, as in the OSU micro-benchmarks. */
enum { window = 64 };

static void before_send(const Pair* pair) {
  if (pair->fetch) {
    pair->fetch(pair);
  }
}
static void after_receive(const Pair* pair) {
  if (pair->store) {
    pair->store(pair);
  }
}

static double run_latency(void* context, int repeats) {
  Pair* pair = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    for (int turn = 0; turn < 2; turn++) {
      if (pair->is_first == (turn == 0)) {
        before_send(pair);
        MPI_Send(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 1, MPI_COMM_WORLD);
      } else {
        MPI_Recv(pair->recv, (int)pair->bytes, MPI_BYTE, pair->partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        after_receive(pair);
      }
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
        before_send(pair);
        MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 2, MPI_COMM_WORLD, &requests[k]);
      } else {
        MPI_Irecv(pair->recv, (int)pair->bytes, MPI_BYTE, pair->partner, 2, MPI_COMM_WORLD, &requests[k]);
      }
    }
    MPI_Waitall(pair->width, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < pair->width && !pair->is_first; k++) {
      after_receive(pair);
    }
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
      before_send(pair);
      MPI_Isend(pair->send, (int)pair->bytes, MPI_BYTE, pair->partner, 4, MPI_COMM_WORLD, &requests[pair->width + k]);
    }
    MPI_Waitall(2 * pair->width, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < pair->width; k++) {
      after_receive(pair);
    }
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

static const PairKind kinds[] = {
    {"latency", run_latency}, {"bandwidth", run_window}, {"bidirectional", run_both_ways}, {"rate", run_window}};

const PairKind* find_pair_kind(const char* name) {
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!strcmp(kinds[i].name, name)) {
      return &kinds[i];
    }
  }
  return NULL;
}

int set_pair_case(const PairKind* kind, Pair* pair, int pairs, Case* what) {
  const int is_rate = !strcmp(kind->name, "rate"), is_latency = !strcmp(kind->name, "latency");
  if (is_rate && what->bytes > 4096 && what->bytes != options.least_bytes) {
    return 0;
  }
  pair->bytes = what->bytes;
  // A window of large messages would be seconds of a slow link: it has as much in it as keeps the link busy.
  const long long fitting = (4LL << 20) / what->bytes;
  pair->width = fitting < 2 ? 2 : fitting > window ? window : (int)fitting;
  const double messages = (double)pair->width * pairs;
  what->messages = is_rate ? messages : 0;
  what->moved = is_latency || is_rate ? 0 : (double)what->bytes * messages * (kind->run == run_both_ways ? 2 : 1);
  return 1;
}

static void measure_pair(const PairKind* kind, const char* where, Pair* pair, int pairs, MPI_Comm comm) {
  pair->send = allocate((size_t)options.most_bytes);
  pair->recv = allocate((size_t)options.most_bytes);
  for (long long bytes = options.least_bytes; bytes; bytes = next_size(bytes)) {
    Case what = {.group = "point-to-point", .benchmark = kind->name, .where = where, .bytes = bytes};
    if (!set_pair_case(kind, pair, pairs, &what)) {
      break;
    }
    Candidate candidates[2] = {{.name = "mpi", .run = kind->run, .context = pair, .verify = verify_pair},
                               {.name = "control", .run = kind->run, .context = pair, .verify = verify_pair}};
    measure(&what, candidates, options.control ? 2 : 1, comm);
  }
  free(pair->send);
  free(pair->recv);
}

/** Rank 0 and this one; the others wait. */
static void visit_two(const PairKind* kind, const char* where, int other, PairVisitor visit) {
  const int takes_part = machine.rank == 0 || machine.rank == other;
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, takes_part ? 0 : MPI_UNDEFINED, machine.rank, &comm);
  if (takes_part) {
    Pair pair = {.partner = machine.rank == 0 ? other : 0, .is_first = machine.rank == 0};
    visit(kind, where, &pair, 1, comm);
    MPI_Comm_free(&comm);
  }
  quiet_barrier(MPI_COMM_WORLD);
}

/** Each of the first half of these ranks with one of the second, all at once; the others wait. */
static void visit_halves(const PairKind* kind, const char* where, const int* ranks, int count, PairVisitor visit) {
  const int pairs = count / 2;
  int own = 2 * pairs;
  for (int i = 0; i < 2 * pairs; i++) {
    own = ranks[i] == machine.rank ? i : own;
  }
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, own < 2 * pairs ? 0 : MPI_UNDEFINED, machine.rank, &comm);
  if (own < 2 * pairs) {
    const int is_first = own < pairs;
    Pair pair = {.partner = ranks[is_first ? own + pairs : own - pairs], .is_first = is_first};
    visit(kind, where, &pair, pairs, comm);
    MPI_Comm_free(&comm);
  }
  quiet_barrier(MPI_COMM_WORLD);
}

/** All ranks in pairs: those of the first node, where it has several, and all, between nodes where there are several.
 */
static void visit_all(const PairKind* kind, PairVisitor visit) {
  int* ranks = allocate((size_t)machine.ranks * sizeof(int));
  int count = 0;
  for (int rank = 0; rank < machine.ranks; rank++) {
    if (machine.node_of[rank] == machine.node_of[0]) {
      ranks[count++] = rank;
    }
  }
  if (count > 1) {
    visit_halves(kind, "inside", ranks, count, visit);
  }
  if (machine.nodes > 1) {
    for (int rank = 0; rank < machine.ranks; rank++) {
      ranks[rank] = rank;
    }
    visit_halves(kind, "between", ranks, machine.ranks, visit);
  }
  free(ranks);
}

void visit_pairs(const PairKind* kind, PairVisitor visit) {
  if (!strcmp(kind->name, "rate")) {
    visit_all(kind, visit);
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
    visit_two(kind, "inside", same, visit);
  }
  if (across) {
    visit_two(kind, "inside, other socket", across, visit);
  }
  if (between) {
    visit_two(kind, "between", between, visit);
  }
}

void run_point_to_point(const char* benchmark) {
  if (machine.ranks < 2) {
    const Case what = {.group = "point-to-point", .benchmark = benchmark, .where = "inside", .bytes = -1};
    skip(&what, "one rank has nobody to talk to");
    return;
  }
  visit_pairs(find_pair_kind(benchmark), measure_pair);
}
