/** Benchmarks of an MPI library, and of Laneway over it, in one program.
 *
 * It needs an MPI library's compiler and nothing else: `mpicc -std=gnu11 -O2 -I bench bench/evaluate/\*.c -lm -ldl`.
 * Laneway is loaded when the program runs (`--laneway FILE`), so that the same program measures with and without it.
 * Every result is a line of JSON on standard output (docs/reference/evaluation-records.md).
 */
#ifndef LANEWAY_EVALUATE_H
#define LANEWAY_EVALUATE_H

#include <mpi.h>
#include <stddef.h>

/** The calls that are measured. Laneway's have the arguments of MPI's, so one benchmark serves both. */
typedef struct Calls {
  const char* name;
  __typeof__(&MPI_Barrier) barrier;
  __typeof__(&MPI_Bcast) bcast;
  __typeof__(&MPI_Reduce) reduce;
  __typeof__(&MPI_Allreduce) allreduce;
  __typeof__(&MPI_Gather) gather;
  __typeof__(&MPI_Allgather) allgather;
  __typeof__(&MPI_Alltoall) alltoall;
  __typeof__(&MPI_Alltoallv) alltoallv;
} Calls;

/** A request of Laneway's, which is a pointer. */
typedef void* OurRequest;

/** Persistent collectives; null where there are none. */
#define COLLECTIVE_INITS(REQUEST)                                                                                  \
  int (*barrier)(MPI_Comm, MPI_Info, REQUEST*);                                                                    \
  int (*bcast)(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, REQUEST*);                                       \
  int (*reduce)(const void*, void*, int, MPI_Datatype, MPI_Op, int, MPI_Comm, MPI_Info, REQUEST*);                 \
  int (*allreduce)(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, REQUEST*);                   \
  int (*gather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, int, MPI_Comm, MPI_Info, REQUEST*);      \
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, REQUEST*);        \
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, MPI_Comm, MPI_Info, REQUEST*);         \
  int (*alltoallv)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, \
                   MPI_Comm, MPI_Info, REQUEST*)
typedef struct MpiInits {
  COLLECTIVE_INITS(MPI_Request);
} MpiInits;
typedef struct OurInits {
  COLLECTIVE_INITS(OurRequest);
} OurInits;

/** The neighborhood operations; `...` are the types of what comes after an operation's own arguments. */
#define NEIGHBOR_CALLS(...)                                                                                           \
  int (*allgather)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, __VA_ARGS__);                            \
  int (*allgatherv)(const void*, int, MPI_Datatype, void*, const int*, const int*, MPI_Datatype, __VA_ARGS__);        \
  int (*alltoall)(const void*, int, MPI_Datatype, void*, int, MPI_Datatype, __VA_ARGS__);                             \
  int (*alltoallv)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,    \
                   __VA_ARGS__);                                                                                      \
  int (*alltoallw)(const void*, const int*, const MPI_Aint*, const MPI_Datatype*, void*, const int*, const MPI_Aint*, \
                   const MPI_Datatype*, __VA_ARGS__);                                                                 \
  int (*reducev)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,      \
                 MPI_Op, __VA_ARGS__)

/** MPI's, which has no reduction, and Laneway's on a topology; the persistent ones are null where there are none. */
typedef struct MpiNeighborCalls {
  NEIGHBOR_CALLS(MPI_Comm);
} MpiNeighborCalls;
typedef struct MpiNeighborInits {
  NEIGHBOR_CALLS(MPI_Comm, MPI_Info, MPI_Request*);
} MpiNeighborInits;
typedef struct OurNeighborCalls {
  NEIGHBOR_CALLS(void*);
} OurNeighborCalls;
typedef struct OurNeighborInits {
  NEIGHBOR_CALLS(void*, MPI_Info, OurRequest*);
} OurNeighborInits;

/** Calls that only Laneway has; null where the library that is loaded has none. */
typedef struct OurCalls {
  int (*topology_create)(MPI_Comm, int, const int*, const int*, int, const int*, const int*, MPI_Info, void**);
  int (*topology_get_neighbors)(void*, int, int*, int, int*);
  int (*topology_free)(void**);
  int (*start)(OurRequest*);
  int (*wait)(OurRequest*, MPI_Status*);
  int (*request_free)(OurRequest*);
  int (*request_get_strategy)(OurRequest, const char**);
  int (*sparse_alltoallv)(int, const int*, const void*, const int*, const int*, MPI_Datatype, MPI_Comm, MPI_Info,
                          void**);
  int (*arrivals_get_sources)(void*, const int**, const MPI_Count**, const MPI_Count**);
  int (*arrivals_get_count)(void*, int*);
  int (*arrivals_get_data)(void*, void**, MPI_Count*);
  int (*arrivals_get_info)(void*, MPI_Info*);
  int (*arrivals_free)(void**);
  int (*get_version)(int*, int*, int*);
} OurCalls;

/** Whether MPI has neighborhood collectives: SimGrid's has no MPI_Dist_graph_create_adjacent. And whether its
 * MPI_Ibarrier is one: SimGrid's ends on a rank once rank 0 has begun it. */
#ifdef LANEWAY_EVALUATE_LINKED
enum { has_graphs = 0, has_nonblocking_barrier = 0 };
#else
enum { has_graphs = 1, has_nonblocking_barrier = 1 };
#endif

extern const Calls mpi_calls;
extern Calls our_calls;
extern OurCalls ours;
extern MpiInits mpi_inits;
extern OurInits our_inits;
extern const MpiNeighborCalls mpi_neighbors;
extern MpiNeighborInits mpi_neighbor_inits;
extern OurNeighborCalls our_neighbors;
extern OurNeighborInits our_neighbor_inits;

/** Finds MPI's persistent operations, which libraries have from MPI 4 on. */
void find_persistent_calls(void);

/** Loads Laneway; an empty name: what the program is linked with. What went wrong, or null. */
const char* load_laneway(const char* file);

typedef struct Options {
  double seconds;  /**< for one case: all candidates together */
  double within;   /**< for the whole program, shared by its benchmarks and their cases; 0: as long as they take */
  double interval; /**< a candidate is known well enough once its 95% interval is so wide, as a share of its median */
  int least_rounds, most_rounds;
  int most_batch;    /**< repetitions of a sample at most */
  int warm_up;       /**< repetitions before a candidate is measured at least, where the time allows them; 1: no more */
  int ranks_of_node; /**< 0: as MPI says */
  long long least_bytes, most_bytes;
  int factor;            /**< from one size to the next */
  long long most_buffer; /**< bytes of a rank; cases that need more are left out, and say so */
  unsigned long long seed;
  int control; /**< measure the MPI library's own twice, as if it were two */
  int grid;    /**< points along one side of the applications' grids */
} Options;

extern Options options;

/** Where the ranks are. */
typedef struct Machine {
  int rank, ranks;
  int nodes, node; /**< of all, and this rank's, numbered by their first ranks */
  int* node_of;    /**< by rank */
  int* socket_of;  /**< by rank; -1 where the rank may run on several */
} Machine;

extern Machine machine;
void find_machine(void);
void print_machine(void);

/** One implementation of a case. `run` repeats it and returns this rank's seconds for one repetition. */
typedef struct Candidate {
  const char* name;
  double (*run)(void* context, int repeats);
  void* context;
  int (*verify)(void* context); /**< null, or runs it once: whether what came out is right on this rank */
  char note[96];                /**< the strategy, for instance */
  double* shares;               /**< null, or the part of `run`'s last seconds that was communication */
} Candidate;

/** What a case is, for its record. */
typedef struct Case {
  const char *group, *benchmark, *where, *pattern;
  long long bytes; /**< as the benchmark's description says; negative: none */
  double work;     /**< floating-point operations of a repetition on all ranks; 0: not counted */
  double messages; /**< of a repetition, where the rate of messages is the result; else 0 */
  double moved;    /**< bytes that a repetition moves, where the bandwidth is the result; else 0 */
} Case;

/** Measures candidates in turns, in an order that is drawn for each round, until their intervals are narrow or time is
 * up. Collective on `comm`; its rank 0 prints. */
void measure(const Case* what, Candidate* candidates, int count, MPI_Comm comm);

/** Gives the benchmark that comes next its part of the time that is left: `left` benchmarks are not done, it among
 * them. Runs it once without measuring, to count its cases. Without --within it does nothing. */
void share_time(void (*run)(const char*), const char* name, int left);

/** Whether this is that run: then nothing needs to be prepared. */
int is_counting(void);

/** All ranks wait, those that have nothing to do without using a processor. */
void quiet_barrier(MPI_Comm comm);
/** Sizes from the least to the most; 0 ends. */
long long next_size(long long bytes);
/** Zeroed memory; ends the job with a message where there is none. */
void* allocate(size_t bytes);
/** Records that nothing of the case runs, and why. */
void skip(const Case* what, const char* reason);
/** Records that one candidate does not run where others do, and why. */
void leave_out(const Case* what, const char* candidate, const char* reason);
unsigned value_of(int from, int to, int index);

/** Two ranks that send each other messages, or in `rate` all ranks in pairs. */
typedef struct Pair {
  int partner; /**< in MPI_COMM_WORLD */
  int is_first, width;
  long long bytes; /**< of a message */
  char *send, *recv;
  void (*fetch)(const struct Pair*),
      (*store)(const struct Pair*); /**< null, or before each send and after each receive */
  char *fetched_from, *stored_to;   /**< what these copy from and to */
} Pair;

/** A benchmark of pairs; `run` is of a Pair. */
typedef struct PairKind {
  const char* name;
  double (*run)(void*, int);
} PairKind;

/** Null if there is none of that name. */
const PairKind* find_pair_kind(const char* name);
/** Sets what depends on the size of the case; whether the benchmark has such messages. */
int set_pair_case(const PairKind* kind, Pair* pair, int pairs, Case* what);
typedef void (*PairVisitor)(const PairKind* kind, const char* where, Pair* pair, int pairs, MPI_Comm comm);
/** Lets the ranks of each pair, or of all at once in `rate`, measure on their communicator. Collective. */
void visit_pairs(const PairKind* kind, PairVisitor visit);

void run_point_to_point(const char* benchmark);
void run_collective(const char* benchmark);
void run_neighborhood(const char* benchmark);
void run_creation(const char* benchmark);
void run_discovery(const char* benchmark);
void run_device(const char* benchmark);
void run_fft(const char* benchmark);
void run_solver(const char* benchmark);

#endif
