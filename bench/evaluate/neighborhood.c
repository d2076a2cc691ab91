#include "evaluate/evaluate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_neighbors = 64, tag = 7 };

/** An exchange with neighbors that each rank knows. Counts are of int. */
typedef struct Exchange {
  MPI_Comm comm;  ///< with the neighbors
  const Calls* calls;
  int sources, destinations, is_allgather, count;
  int from[most_neighbors], to[most_neighbors];
  int sendcounts[most_neighbors], sdispls[most_neighbors], recvcounts[most_neighbors], rdispls[most_neighbors];
  int *send, *recv;
  void* topology;  ///< of Laneway's calls, where MPI has no communicator with neighbors
  OurRequest request;
  char strategy[64];
} Exchange;

static double run_call(void* context, int repeats) {
  Exchange* e = context;
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    if (e->topology && e->is_allgather) {
      ours.neighbor_allgather_topology(e->send, e->count, MPI_INT, e->recv, e->count, MPI_INT, e->topology);
    } else if (e->topology) {
      ours.neighbor_alltoallv_topology(e->send, e->sendcounts, e->sdispls, MPI_INT, e->recv, e->recvcounts, e->rdispls,
                                       MPI_INT, e->topology);
    } else if (e->is_allgather) {
      e->calls->neighbor_allgather(e->send, e->count, MPI_INT, e->recv, e->count, MPI_INT, e->comm);
    } else {
      e->calls->neighbor_alltoallv(e->send, e->sendcounts, e->sdispls, MPI_INT, e->recv, e->recvcounts, e->rdispls,
                                   MPI_INT, e->comm);
    }
  }
  return (MPI_Wtime() - begin) / repeats;
}

/** What programs do that do not use neighborhood collectives. */
static double run_loop(void* context, int repeats) {
  Exchange* e = context;
  MPI_Request requests[2 * most_neighbors];
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    for (int k = 0; k < e->sources; k++) {
      MPI_Irecv(e->recv + e->rdispls[k], e->recvcounts[k], MPI_INT, e->from[k], tag, MPI_COMM_WORLD, &requests[k]);
    }
    for (int k = 0; k < e->destinations; k++) {
      MPI_Isend(e->send + e->sdispls[k], e->sendcounts[k], MPI_INT, e->to[k], tag, MPI_COMM_WORLD,
                &requests[e->sources + k]);
    }
    MPI_Waitall(e->sources + e->destinations, requests, MPI_STATUSES_IGNORE);
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

static double (*to_verify)(void*, int);

static int verify_exchange(void* context) {
  Exchange* e = context;
  for (int k = 0; k < e->destinations; k++) {
    for (int i = 0; i < e->sendcounts[k]; i++) {
      e->send[e->sdispls[k] + i] = (int)value_of(machine.rank, e->is_allgather ? 0 : e->to[k], i);
    }
  }
  for (int k = 0; k < e->sources; k++) {
    memset(e->recv + e->rdispls[k], 0x5a, (size_t)e->recvcounts[k] * sizeof(int));
  }
  to_verify(e, 1);
  for (int k = 0; k < e->sources; k++) {
    for (int i = 0; i < e->recvcounts[k]; i++) {
      if (e->recv[e->rdispls[k] + i] != (int)value_of(e->from[k], e->is_allgather ? 0 : machine.rank, i)) {
        return 0;
      }
    }
  }
  return 1;
}

static int verify_call(void* context) {
  to_verify = run_call;
  return verify_exchange(context);
}
static int verify_loop(void* context) {
  to_verify = run_loop;
  return verify_exchange(context);
}
static int verify_persistent(void* context) {
  to_verify = run_persistent;
  return verify_exchange(context);
}

/** A bidirectional pattern: every rank with those at these distances on a ring, each once and without itself. */
static void set_neighbors(Exchange* e, const char* pattern) {
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

static int counted(const Exchange* e, int from, int to) {
  return e->is_allgather ? e->count : e->count * (1 + (from + to) % 3) / 2;
}

static void set_counts(Exchange* e, int count) {
  int sent = 0, received = 0;
  e->count = count;
  for (int k = 0; k < e->destinations; k++) {
    e->sendcounts[k] = counted(e, machine.rank, e->to[k]);
    e->recvcounts[k] = counted(e, e->from[k], machine.rank);
    e->sdispls[k] = e->is_allgather ? 0 : sent;
    e->rdispls[k] = received;
    sent += e->sendcounts[k];
    received += e->recvcounts[k];
  }
}

static int has_topologies(void) {
  return ours.topology_create && ours.topology_free && ours.neighbor_allgather_topology &&
         ours.neighbor_alltoallv_topology && ours.neighbor_alltoallv_init_topology && ours.start && ours.wait &&
         ours.request_free;
}

/** A persistent request on a topology; whether there is one. */
static int begin_request(Exchange* e, void* topology) {
  const char* strategy = "";
  if (e->is_allgather ||
      ours.neighbor_alltoallv_init_topology(e->send, e->sendcounts, e->sdispls, MPI_INT, e->recv, e->recvcounts,
                                            e->rdispls, MPI_INT, topology, MPI_INFO_NULL, &e->request) != MPI_SUCCESS) {
    return 0;
  }
  if (ours.request_get_strategy && ours.request_get_strategy(e->request, &strategy) == MPI_SUCCESS) {
    snprintf(e->strategy, sizeof e->strategy, "%s", strategy);
  }
  return 1;
}

static void measure_exchange(const Case* what, Exchange* mpi, void* topology) {
  Exchange laneway = *mpi;
  laneway.calls = &our_calls;
  laneway.topology = has_graphs ? NULL : topology;
  Candidate candidates[5];
  int count = 0, has_request = 0;
  if (has_graphs) {
    candidates[count++] = (Candidate){.name = "mpi", .run = run_call, .context = mpi, .verify = verify_call};
  }
  if (has_graphs && options.control) {
    candidates[count] = candidates[0];
    candidates[count++].name = "control";
  }
  candidates[count++] = (Candidate){.name = "loop", .run = run_loop, .context = mpi, .verify = verify_loop};
  if (topology) {
    candidates[count++] = (Candidate){.name = "laneway", .run = run_call, .context = &laneway, .verify = verify_call};
    has_request = begin_request(&laneway, topology);
  }
  if (has_request) {
    Candidate* persistent = &candidates[count++];
    *persistent = (Candidate){
        .name = "laneway_persistent", .run = run_persistent, .context = &laneway, .verify = verify_persistent};
    snprintf(persistent->note, sizeof persistent->note, "%s", laneway.strategy);
  }
  measure(what, candidates, count, MPI_COMM_WORLD);
  if (has_request) {
    ours.request_free(&laneway.request);
  }
}

void run_neighborhood(const char* benchmark) {
  static const char* const patterns[] = {"ring", "mesh"};
  for (int i = 0; i < 2; i++) {
    Exchange e = {.calls = &mpi_calls, .is_allgather = !strcmp(benchmark, "neighbor_allgather")};
    Case what = {.group = "neighborhood",
                 .benchmark = benchmark,
                 .where = machine.nodes > 1 ? "between" : "inside",
                 .pattern = patterns[i]};
    what.bytes = -1;
    set_neighbors(&e, patterns[i]);
    if (machine.ranks < 2) {
      skip(&what, "one rank has no neighbor");
      return;
    }
    void* topology = NULL;
    if (has_graphs) {
      MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, e.sources, e.from, MPI_UNWEIGHTED, e.destinations, e.to,
                                     MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &e.comm);
    }
    if (has_topologies()) {
      ours.topology_create(MPI_COMM_WORLD, e.sources, e.from, MPI_UNWEIGHTED, e.destinations, e.to, MPI_UNWEIGHTED,
                           MPI_INFO_NULL, &topology);
    }
    const size_t most = (size_t)options.most_bytes * 2 * (size_t)e.sources + 64;
    e.send = allocate(most);
    e.recv = allocate(most);
    for (long long bytes = options.least_bytes; bytes && bytes * 4 * e.sources <= options.most_buffer;
         bytes = next_size(bytes)) {
      set_counts(&e, bytes < 4 ? 1 : (int)(bytes / 4));
      what.bytes = bytes;
      measure_exchange(&what, &e, topology);
    }
    free(e.send);
    free(e.recv);
    if (topology) {
      ours.topology_free(&topology);
    }
    if (has_graphs) {
      MPI_Comm_free(&e.comm);
    }
  }
}

/** Ranks that know whom they send to find out who sends to them. `count` is of int for each message. */
typedef struct Search {
  Exchange* e;
  int received, is_right;
} Search;

static void take(Search* search, const MPI_Status* status) {
  int count;
  MPI_Get_count(status, MPI_INT, &count);
  int* data = allocate((size_t)(count ? count : 1) * sizeof(int));
  MPI_Recv(data, count, MPI_INT, status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  search->is_right = search->is_right && count == search->e->count && data[0] == status->MPI_SOURCE;
  search->received++;
  free(data);
}

/** Counts by MPI_Alltoall, then the messages (the personalized census). */
static void find_by_counts(Search* search) {
  Exchange* e = search->e;
  const int ranks = machine.ranks;
  int* table = allocate(2 * (size_t)ranks * sizeof(int));
  MPI_Request requests[most_neighbors];
  for (int k = 0; k < e->destinations; k++) {
    table[e->to[k]] = 1;
  }
  MPI_Alltoall(table, 1, MPI_INT, table + ranks, 1, MPI_INT, MPI_COMM_WORLD);
  for (int k = 0; k < e->destinations; k++) {
    MPI_Isend(e->send, e->count, MPI_INT, e->to[k], tag + 1, MPI_COMM_WORLD, &requests[k]);
  }
  for (int from = 0; from < ranks; from++) {
    if (table[ranks + from]) {
      MPI_Status status;
      MPI_Probe(from, tag + 1, MPI_COMM_WORLD, &status);
      take(search, &status);
    }
  }
  MPI_Waitall(e->destinations, requests, MPI_STATUSES_IGNORE);
  free(table);
}

/** Synchronous messages until a nonblocking barrier ends (Hoefler, Siebert, Lumsdaine: Scalable communication protocols
 * for dynamic sparse data exchange, PPoPP 2010, doi:10.1145/1693453.1693476). Tags differ from one to the next, because
 * the next one's messages may arrive before all ranks have left this one. */
static void find_by_consensus(Search* search) {
  static int turn;
  Exchange* e = search->e;
  MPI_Request requests[most_neighbors], barrier = MPI_REQUEST_NULL;
  const int own_tag = tag + 2 + turn++ % 2;
  int sent = 0, done = 0;
  for (int k = 0; k < e->destinations; k++) {
    MPI_Issend(e->send, e->count, MPI_INT, e->to[k], own_tag, MPI_COMM_WORLD, &requests[k]);
  }
  while (!done) {
    MPI_Status status;
    int here;
    MPI_Iprobe(MPI_ANY_SOURCE, own_tag, MPI_COMM_WORLD, &here, &status);
    if (here) {
      take(search, &status);
    }
    if (sent) {
      MPI_Test(&barrier, &done, MPI_STATUS_IGNORE);
    } else {
      MPI_Testall(e->destinations, requests, &sent, MPI_STATUSES_IGNORE);
      if (sent) {
        MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
      }
    }
  }
}

static int has_sparse(void) {
  return ours.sparse_alltoallv && ours.arrivals_get_count && ours.arrivals_get_sources && ours.arrivals_get_data &&
         ours.arrivals_free;
}

static void find_by_laneway(Search* search) {
  Exchange* e = search->e;
  int counts[most_neighbors], displs[most_neighbors] = {0};
  void *arrivals = NULL, *data;
  const int* sources;
  const MPI_Count *received, *offsets;
  MPI_Count bytes;
  for (int k = 0; k < e->destinations; k++) {
    counts[k] = e->count;
  }
  if (ours.sparse_alltoallv(e->destinations, e->to, e->send, counts, displs, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL,
                            &arrivals) != MPI_SUCCESS) {
    return;
  }
  ours.arrivals_get_count(arrivals, &search->received);
  ours.arrivals_get_sources(arrivals, &sources, &received, &offsets);
  ours.arrivals_get_data(arrivals, &data, &bytes);
  for (int k = 0; k < search->received; k++) {
    search->is_right = search->is_right && received[k] == e->count && ((const int*)data)[offsets[k]] == sources[k];
  }
  ours.arrivals_free(&arrivals);
}

static double repeat_search(Search* search, int repeats, void (*find)(Search*)) {
  const double begin = MPI_Wtime();
  for (int i = 0; i < repeats; i++) {
    search->received = 0;
    find(search);
  }
  return (MPI_Wtime() - begin) / repeats;
}
static double run_counts(void* context, int repeats) {
  return repeat_search(context, repeats, find_by_counts);
}
static double run_consensus(void* context, int repeats) {
  return repeat_search(context, repeats, find_by_consensus);
}

static double run_laneway(void* context, int repeats) {
  return repeat_search(context, repeats, find_by_laneway);
}

static int verify_search(Search* search, void (*find)(Search*)) {
  search->received = 0;
  search->is_right = 1;
  for (int i = 0; i < search->e->count; i++) {
    search->e->send[i] = machine.rank;
  }
  find(search);
  return search->is_right && search->received == search->e->sources;
}
static int verify_counts(void* context) {
  return verify_search(context, find_by_counts);
}
static int verify_consensus(void* context) {
  return verify_search(context, find_by_consensus);
}

static int verify_laneway(void* context) {
  return verify_search(context, find_by_laneway);
}

void run_discovery(void) {
  Case what = {.group = "discovery",
               .benchmark = "discovery",
               .where = machine.nodes > 1 ? "between" : "inside",
               .pattern = "mesh"};
  what.bytes = -1;
  if (machine.ranks < 2) {
    skip(&what, "one rank has no neighbor");
    return;
  }
  Exchange e = {.calls = &mpi_calls};
  set_neighbors(&e, "mesh");
  e.send = allocate((size_t)options.most_bytes + 64);
  Search search = {.e = &e};
  // What is looked for is who sends; large messages would measure the messages.
  for (long long bytes = options.least_bytes; bytes && (bytes <= 4096 || bytes == options.least_bytes);
       bytes = next_size(bytes)) {
    e.count = bytes < 4 ? 1 : (int)(bytes / 4);
    what.bytes = bytes;
    Candidate candidates[4];
    int count = 0;
    candidates[count++] = (Candidate){.name = "mpi", .run = run_counts, .context = &search, .verify = verify_counts};
    if (options.control) {
      candidates[count] = candidates[0];
      candidates[count++].name = "control";
    }
    if (has_nonblocking_barrier) {
      candidates[count++] =
          (Candidate){.name = "consensus", .run = run_consensus, .context = &search, .verify = verify_consensus};
    }
    if (has_sparse()) {
      candidates[count++] =
          (Candidate){.name = "laneway", .run = run_laneway, .context = &search, .verify = verify_laneway};
    }
    measure(&what, candidates, count, MPI_COMM_WORLD);
  }
  free(e.send);
}
