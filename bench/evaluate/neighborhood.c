#include "evaluate/neighbors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { tag = 7 };

static const char* const names[] = {"neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
                                    "neighbor_alltoallv", "neighbor_alltoallw",  "neighbor_reducev"};
static const char* const patterns[] = {"ring", "mesh"};

/** Calls one of four tables of functions; what comes after the arguments of the operation differs. */
#define CALL(calls, e, ...)                                                                                           \
  switch ((e)->operation) {                                                                                           \
    case neighbor_allgather:                                                                                          \
      return (calls)->allgather((e)->send, (e)->count, MPI_INT, (e)->recv, (e)->count, MPI_INT, __VA_ARGS__);         \
    case neighbor_allgatherv:                                                                                         \
      return (calls)->allgatherv((e)->send, own_count(e), MPI_INT, (e)->recv, (e)->recvcounts, (e)->rdispls, MPI_INT, \
                                 __VA_ARGS__);                                                                        \
    case neighbor_alltoall:                                                                                           \
      return (calls)->alltoall((e)->send, (e)->count, MPI_INT, (e)->recv, (e)->count, MPI_INT, __VA_ARGS__);          \
    case neighbor_alltoallv:                                                                                          \
      return (calls)->alltoallv((e)->send, (e)->sendcounts, (e)->sdispls, MPI_INT, (e)->recv, (e)->recvcounts,        \
                                (e)->rdispls, MPI_INT, __VA_ARGS__);                                                  \
    case neighbor_alltoallw:                                                                                          \
      return (calls)->alltoallw((e)->send, (e)->sendcounts, (e)->send_bytes, (e)->types, (e)->recv, (e)->recvcounts,  \
                                (e)->recv_bytes, (e)->types, __VA_ARGS__);                                            \
    case neighbor_reducev:                                                                                            \
      return (calls)->reducev((e)->send, (e)->sendcounts, (e)->sdispls, MPI_INT, (e)->recv, (e)->recvcounts,          \
                              (e)->rdispls, MPI_INT, MPI_MAX, __VA_ARGS__);                                           \
  }                                                                                                                   \
  return MPI_ERR_OTHER

#define HAS(calls, operation)                                       \
  (operation == neighbor_allgather    ? (calls)->allgather != NULL  \
   : operation == neighbor_allgatherv ? (calls)->allgatherv != NULL \
   : operation == neighbor_alltoall   ? (calls)->alltoall != NULL   \
   : operation == neighbor_alltoallv  ? (calls)->alltoallv != NULL  \
   : operation == neighbor_alltoallw  ? (calls)->alltoallw != NULL  \
                                      : (calls)->reducev != NULL)

static int sends_one_block(const Exchange* e) {
  return e->operation == neighbor_allgather || e->operation == neighbor_allgatherv;
}

static int counted(const Exchange* e, int from, int to) {
  if (e->operation == neighbor_allgather || e->operation == neighbor_alltoall) {
    return e->count;
  }
  return e->count * (1 + (sends_one_block(e) ? from : from + to) % 3) / 2;
}

static int own_count(const Exchange* e) {
  return counted(e, machine.rank, 0);
}

static int call_mpi(Exchange* e) {
  CALL(&mpi_neighbors, e, e->comm);
}
static int call_ours(Exchange* e) {
  CALL(&our_neighbors, e, e->topology);
}
static int make_mpi_request(Exchange* e) {
  CALL(&mpi_neighbor_inits, e, e->comm, MPI_INFO_NULL, &e->mpi_request);
}
static int make_our_request(Exchange* e) {
  CALL(&our_neighbor_inits, e, e->topology, MPI_INFO_NULL, &e->request);
}

static double run_mpi(void* context, int repeats) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    call_mpi(context);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static double run_ours(void* context, int repeats) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    call_ours(context);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static double run_mpi_persistent(void* context, int repeats) {
  Exchange* e = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    MPI_Start(&e->mpi_request);
    MPI_Wait(&e->mpi_request, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static double run_persistent(void* context, int repeats) {
  Exchange* e = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    ours.start(&e->request);
    ours.wait(&e->request, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static void combine(const Exchange* e) {
  for (int k = 0; k < e->sources; k++) {
    int* const to = e->recv + e->rdispls[k];
    const int* const arrived = e->parts + e->places[k];
    for (int i = 0; i < e->recvcounts[k]; i++) {
      to[i] = arrived[i] > to[i] ? arrived[i] : to[i];
    }
  }
}

/** What programs do that do not use neighborhood collectives. */
static double run_loop(void* context, int repeats) {
  Exchange* e = context;
  MPI_Request requests[2 * most_neighbors];
  const int reduces = e->operation == neighbor_reducev;
  int* const into = reduces ? e->parts : e->recv;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    for (int k = 0; k < e->sources; k++) {
      MPI_Irecv(into + e->places[k], e->recvcounts[k], MPI_INT, e->from[k], tag, MPI_COMM_WORLD, &requests[k]);
    }
    for (int k = 0; k < e->destinations; k++) {
      MPI_Isend(e->send + e->sdispls[k], e->sendcounts[k], MPI_INT, e->to[k], tag, MPI_COMM_WORLD,
                &requests[e->sources + k]);
    }
    MPI_Waitall(e->sources + e->destinations, requests, MPI_STATUSES_IGNORE);
    if (reduces) {
      combine(e);
    }
  }
  return (MPI_Wtime() - begin) / repeats;
}

/** Not negative, as what the receive buffer of a reduction begins with is 0. */
static int own(const Exchange* e, int from, int to, int i) {
  return (int)(value_of(from, sends_one_block(e) ? 0 : to, i) & 0x7fffffff);
}

static int is_combined(const Exchange* e) {
  for (int i = 0; i < 2 * e->count; i++) {
    int most = 0;
    for (int k = 0; k < e->sources; k++) {
      const int value = i < e->recvcounts[k] ? own(e, e->from[k], machine.rank, i) : 0;
      most = value > most ? value : most;
    }
    if (e->recv[i] != most) {
      return 0;
    }
  }
  return 1;
}

static int verify_exchange(Exchange* e, double (*run)(void*, int)) {
  for (int k = 0; k < e->destinations; k++) {
    for (int i = 0; i < e->sendcounts[k]; i++) {
      e->send[e->sdispls[k] + i] = own(e, machine.rank, e->to[k], i);
    }
  }
  if (e->operation == neighbor_reducev) {
    memset(e->recv, 0, 2 * (size_t)e->count * sizeof(int));
    run(e, 1);
    return is_combined(e);
  }
  for (int k = 0; k < e->sources; k++) {
    memset(e->recv + e->rdispls[k], 0x5a, (size_t)e->recvcounts[k] * sizeof(int));
  }
  run(e, 1);
  for (int k = 0; k < e->sources; k++) {
    for (int i = 0; i < e->recvcounts[k]; i++) {
      if (e->recv[e->rdispls[k] + i] != own(e, e->from[k], machine.rank, i)) {
        return 0;
      }
    }
  }
  return 1;
}

static int verify_mpi(void* context) {
  return verify_exchange(context, run_mpi);
}
static int verify_ours(void* context) {
  return verify_exchange(context, run_ours);
}
static int verify_loop(void* context) {
  return verify_exchange(context, run_loop);
}
static int verify_mpi_persistent(void* context) {
  return verify_exchange(context, run_mpi_persistent);
}
static int verify_persistent(void* context) {
  return verify_exchange(context, run_persistent);
}

void set_neighbors(Exchange* e, const char* pattern) {
  int distances[most_neighbors], count = 0;
  const int ranks = machine.ranks;
  if (!strcmp(pattern, "ring")) {
    distances[count++] = 1;
  } else {
    // Of an irregular mesh: most neighbors are near, some far.
    for (int distance = 1; distance < ranks && count < most_neighbors / 2;
         distance = distance < 4 ? distance + 1 : distance * 2 - 1) {
      distances[count++] = distance;
    }
  }
  for (int k = 0; k < count; k++) {
    const int both[2] = {(machine.rank + distances[k]) % ranks, (machine.rank + ranks - distances[k] % ranks) % ranks};
    for (int side = 0; side < 2; side++) {
      int known = both[side] == machine.rank;
      for (int i = 0; i < e->destinations; i++) {
        known = known || e->to[i] == both[side];
      }
      if (!known) {
        e->to[e->destinations++] = both[side];
      }
    }
  }
  memcpy(e->from, e->to, sizeof e->to);
  e->sources = e->destinations;
}

static void set_counts(Exchange* e, int count) {
  int sent = 0, received = 0;
  e->count = count;
  for (int k = 0; k < e->destinations; k++) {
    e->sendcounts[k] = counted(e, machine.rank, e->to[k]);
    e->recvcounts[k] = counted(e, e->from[k], machine.rank);
    e->sdispls[k] = sends_one_block(e) ? 0 : sent;
    e->places[k] = received;
    e->rdispls[k] = e->operation == neighbor_reducev ? 0 : received;
    e->send_bytes[k] = e->sdispls[k] * (MPI_Aint)sizeof(int);
    e->recv_bytes[k] = e->rdispls[k] * (MPI_Aint)sizeof(int);
    e->types[k] = MPI_INT;
    sent += e->sendcounts[k];
    received += e->recvcounts[k];
  }
}

static int has_topologies(void) {
  return ours.topology_create && ours.topology_free && ours.start && ours.wait && ours.request_free;
}

/** A persistent request on the topology; whether there is one. */
static int begin_request(Exchange* e) {
  const char* strategy = "";
  e->strategy[0] = 0;
  if (is_counting() || !e->topology || !HAS(&our_neighbor_inits, e->operation) || make_our_request(e) != MPI_SUCCESS) {
    return 0;
  }
  if (ours.request_get_strategy && ours.request_get_strategy(e->request, &strategy) == MPI_SUCCESS) {
    snprintf(e->strategy, sizeof e->strategy, "%s", strategy);
  }
  return 1;
}

static int has_mpis(const Exchange* e) {
  return has_graphs && e->operation != neighbor_reducev;
}

static int has_mpis_persistent(const Exchange* e) {
  return has_mpis(e) && HAS(&mpi_neighbor_inits, e->operation);
}

static void measure_exchange(const Case* what, Exchange* e) {
  Candidate candidates[6];
  int count = 0;
  if (has_mpis(e)) {
    candidates[count++] = (Candidate){.name = "mpi", .run = run_mpi, .context = e, .verify = verify_mpi};
  }
  if (has_mpis(e) && options.control) {
    candidates[count] = candidates[0];
    candidates[count++].name = "control";
  }
  candidates[count++] = (Candidate){.name = "loop", .run = run_loop, .context = e, .verify = verify_loop};
  const int has_mpi_request = !is_counting() && has_mpis_persistent(e) && make_mpi_request(e) == MPI_SUCCESS;
  if (has_mpi_request) {
    candidates[count++] =
        (Candidate){.name = "mpi_persistent", .run = run_mpi_persistent, .context = e, .verify = verify_mpi_persistent};
  }
  if (e->topology && HAS(&our_neighbors, e->operation)) {
    candidates[count++] = (Candidate){.name = "laneway", .run = run_ours, .context = e, .verify = verify_ours};
  }
  const int has_request = begin_request(e);
  if (has_request) {
    Candidate* persistent = &candidates[count++];
    *persistent =
        (Candidate){.name = "laneway_persistent", .run = run_persistent, .context = e, .verify = verify_persistent};
    snprintf(persistent->note, sizeof persistent->note, "%s", e->strategy);
  }
  measure(what, candidates, count, MPI_COMM_WORLD);
  if (has_request) {
    ours.request_free(&e->request);
  }
  if (has_mpi_request) {
    MPI_Request_free(&e->mpi_request);
  }
}

static void create_graph(Exchange* e) {
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, e->sources, e->from, MPI_UNWEIGHTED, e->destinations, e->to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &e->comm);
}
static void create_topology(Exchange* e) {
  ours.topology_create(MPI_COMM_WORLD, e->sources, e->from, MPI_UNWEIGHTED, e->destinations, e->to, MPI_UNWEIGHTED,
                       MPI_INFO_NULL, &e->topology);
}

static void measure_pattern(Case* what, Exchange* e) {
  if (has_graphs) {
    create_graph(e);
  }
  if (has_topologies()) {
    create_topology(e);
  }
  const size_t most = (size_t)options.most_bytes * 2 * (size_t)e->sources + 64;
  e->send = allocate(most);
  e->recv = allocate(most);
  e->parts = e->operation == neighbor_reducev ? allocate(most) : NULL;
  for (long long bytes = options.least_bytes; bytes && bytes * 4 * e->sources <= options.most_buffer;
       bytes = next_size(bytes)) {
    set_counts(e, bytes < 4 ? 1 : (int)(bytes / 4));
    what->bytes = bytes;
    measure_exchange(what, e);
  }
  free(e->send);
  free(e->recv);
  free(e->parts);
  if (e->topology) {
    ours.topology_free(&e->topology);
  }
  if (has_graphs) {
    MPI_Comm_free(&e->comm);
  }
}

/** What a program makes once for a pattern, and frees. */
static double run_mpi_creation(void* context, int repeats) {
  Exchange* e = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    create_graph(e);
    MPI_Comm_free(&e->comm);
  }
  return (MPI_Wtime() - begin) / repeats;
}
static double run_our_creation(void* context, int repeats) {
  Exchange* e = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    create_topology(e);
    ours.topology_free(&e->topology);
  }
  return (MPI_Wtime() - begin) / repeats;
}

static int are_neighbors(const Exchange* e, const int* from, const int* to) {
  return !memcmp(from, e->from, (size_t)e->sources * sizeof *from) &&
         !memcmp(to, e->to, (size_t)e->destinations * sizeof *to);
}
static int verify_mpi_creation(void* context) {
  Exchange* e = context;
  int from[most_neighbors], to[most_neighbors], weights[most_neighbors];
  create_graph(e);
  MPI_Dist_graph_neighbors(e->comm, e->sources, from, weights, e->destinations, to, weights);
  MPI_Comm_free(&e->comm);
  return are_neighbors(e, from, to);
}
static int verify_our_creation(void* context) {
  Exchange* e = context;
  int from[most_neighbors], to[most_neighbors];
  create_topology(e);
  ours.topology_get_neighbors(e->topology, e->sources, from, e->destinations, to);
  ours.topology_free(&e->topology);
  return are_neighbors(e, from, to);
}

static void measure_creation(const Case* what, Exchange* e) {
  Candidate candidates[3];
  int count = 0;
  candidates[count++] =
      (Candidate){.name = "mpi", .run = run_mpi_creation, .context = e, .verify = verify_mpi_creation};
  if (options.control) {
    candidates[count] = candidates[0];
    candidates[count++].name = "control";
  }
  if (ours.topology_create && ours.topology_get_neighbors && ours.topology_free) {
    candidates[count++] =
        (Candidate){.name = "laneway", .run = run_our_creation, .context = e, .verify = verify_our_creation};
  }
  measure(what, candidates, count, MPI_COMM_WORLD);
}

void run_creation(const char* benchmark) {
  Case what = {.group = "neighborhood", .benchmark = benchmark, .where = machine.nodes > 1 ? "between" : "inside"};
  what.bytes = -1;
  if (machine.ranks < 2 || !has_graphs) {
    skip(&what, has_graphs ? "one rank has no neighbor" : "the MPI library has no graphs of ranks");
    return;
  }
  for (int i = 0; i < 2; i++) {
    Exchange e = {0};
    what.pattern = patterns[i];
    set_neighbors(&e, patterns[i]);
    measure_creation(&what, &e);
  }
}

void run_neighborhood(const char* benchmark) {
  NeighborOperation operation = neighbor_allgather;
  while (strcmp(names[operation], benchmark)) {
    operation++;
  }
  Case what = {.group = "neighborhood", .benchmark = benchmark, .where = machine.nodes > 1 ? "between" : "inside"};
  what.bytes = -1;
  if (machine.ranks < 2) {
    skip(&what, "one rank has no neighbor");
    return;
  }
  const Exchange one = {.operation = operation};
  if (has_mpis(&one) && !has_mpis_persistent(&one)) {
    leave_out(&what, "mpi_persistent", "the MPI library has no persistent form of it");
  }
  for (int i = 0; i < 2; i++) {
    Exchange e = one;
    what.pattern = patterns[i];
    set_neighbors(&e, patterns[i]);
    measure_pattern(&what, &e);
  }
}
