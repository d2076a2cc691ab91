#include "evaluate/neighbors.h"

#include <stdlib.h>
#include <string.h>

enum { tag = 17 };

/** Ranks that know whom they send to find out who sends to them. `count` is of int for each message. */
typedef struct Search {
  Exchange* e;
  int received, is_right;
  char finder[64]; /**< that Laneway used last */
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
  if (ours.arrivals_get_info && !search->finder[0]) {
    MPI_Info info = MPI_INFO_NULL;
    int has = ours.arrivals_get_info(arrivals, &info) == MPI_SUCCESS;
    if (has) {
      MPI_Info_get(info, "lnw_find", (int)sizeof search->finder - 1, search->finder, &has);
      MPI_Info_free(&info);
    }
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

void run_discovery(const char* benchmark) {
  Case what = {.group = "discovery",
               .benchmark = benchmark,
               .where = machine.nodes > 1 ? "between" : "inside",
               .pattern = "mesh"};
  what.bytes = -1;
  if (machine.ranks < 2) {
    skip(&what, "one rank has no neighbor");
    return;
  }
  Exchange e = {0};
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
      Candidate* found = &candidates[count++];
      *found = (Candidate){.name = "laneway", .run = run_laneway, .context = &search, .verify = verify_laneway};
      search.finder[0] = 0;
      if (!is_counting()) {
        find_by_laneway(&search);
        memcpy(found->note, search.finder, sizeof search.finder);
      }
    }
    measure(&what, candidates, count, MPI_COMM_WORLD);
  }
  free(e.send);
}
