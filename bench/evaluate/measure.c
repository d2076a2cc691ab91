#include "evaluate/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_candidates = 8 };
static const double batch_seconds = 1e-3;

typedef struct Samples {
  double* seconds;
  int count, batch;
  double median, low, high, share;
  double first, fastest; /**< of the first repetition; the mean over the samples of the fastest rank's */
  int warm_up, is_settled;
  int* slowest; /**< on rank 0: in how many samples each rank was the slowest */
} Samples;

/** Of the time of --within: until when the benchmark that runs may take, and how many of its cases are to come. */
static struct {
  int is_counting, cases_left;
  double end_of_all, end_of_benchmark;
} plan;

void* allocate(size_t bytes) {
  void* memory = calloc(bytes ? bytes : 1, 1);
  if (!memory) {
    fprintf(stderr, "laneway-evaluate: rank %d has no %zu bytes of memory\n", machine.rank, bytes);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return memory;
}

void quiet_barrier(MPI_Comm comm) {
#ifdef LANEWAY_EVALUATE_LINKED
  // Simulated ranks that wait use no processor, and nanosleep would pass no virtual time.
  MPI_Barrier(comm);
#else
  MPI_Request request;
  int done = 0;
  MPI_Ibarrier(comm, &request);
  for (long pause = 20000; !done; pause = pause < 1000000 ? 2 * pause : pause) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) {
      const struct timespec time = {0, pause};
      nanosleep(&time, NULL);
    }
  }
#endif
}

long long next_size(long long bytes) {
  const long long next = bytes * options.factor;
  return next <= options.most_bytes ? next : 0;
}

unsigned value_of(int from, int to, int index) {
  return (unsigned)from * 1000003u + (unsigned)to * 7919u + (unsigned)index;
}

/** Of xorshift64*: the same on all ranks, which draw the same orders. */
static unsigned long long draw(unsigned long long* state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * 2685821657736338717ull;
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/** The median and its 95% interval from the order of the samples, which assumes nothing of their distribution. */
static void summarise(Samples* samples) {
  const int n = samples->count;
  double* sorted = allocate((size_t)n * sizeof *sorted);
  memcpy(sorted, samples->seconds, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, ascending);
  samples->median = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  const double half = 0.98 * sqrt(n);
  const int low = (int)floor(n / 2.0 - half), high = (int)ceil(n / 2.0 + half) - 1;
  samples->low = sorted[low < 0 ? 0 : low];
  samples->high = sorted[high >= n ? n - 1 : high];
  free(sorted);
}

static void print_text(const char* name, const char* text) {
  printf(",\"%s\":\"", name);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') {
      putchar('\\');
    }
    putchar((unsigned char)*text < ' ' ? ' ' : *text);
  }
  putchar('"');
}

static void begin_record(const char* kind, const Case* what) {
  printf("{\"record\":\"%s\"", kind);
  print_text("group", what->group);
  print_text("benchmark", what->benchmark);
  print_text("where", what->where);
  if (what->pattern) {
    print_text("pattern", what->pattern);
  }
  if (what->bytes >= 0) {
    printf(",\"bytes\":%lld", what->bytes);
  }
  printf(",\"ranks\":%d,\"nodes\":%d", machine.ranks, machine.nodes);
}

static void end_record(void) {
  printf("}\n");
  fflush(stdout);
}

void skip(const Case* what, const char* reason) {
  leave_out(what, "", reason);
}

void leave_out(const Case* what, const char* candidate, const char* reason) {
  if (machine.rank == 0 && !plan.is_counting) {
    begin_record("skip", what);
    if (*candidate) {
      print_text("candidate", candidate);
    }
    print_text("message", reason);
    end_record();
  }
}

/** Which rank was the slowest in most samples, and in how many of them. */
static void print_ranks(const Samples* samples) {
  int most = 0;
  for (int rank = 1; rank < machine.ranks; rank++) {
    most = samples->slowest[rank] > samples->slowest[most] ? rank : most;
  }
  printf(",\"fastest_rank_s\":%.6g,\"slowest_rank\":%d,\"slowest_share\":%.3g", samples->fastest, most,
         (double)samples->slowest[most] / samples->count);
}

static void print_result(const Case* what, const Candidate* candidate, const Samples* samples, const char* stopped) {
  begin_record("result", what);
  print_text("candidate", candidate->name);
  if (candidate->note[0]) {
    print_text("note", candidate->note);
  }
  printf(",\"median_s\":%.9g,\"low_s\":%.9g,\"high_s\":%.9g,\"batch\":%d", samples->median, samples->low, samples->high,
         samples->batch);
  if (what->work > 0) {
    printf(",\"flops\":%.9g", what->work);
  }
  if (what->messages > 0) {
    printf(",\"messages\":%.9g", what->messages);
  }
  if (what->moved > 0) {
    printf(",\"moved_bytes\":%.9g", what->moved);
  }
  if (candidate->shares) {
    printf(",\"communication_share\":%.4g", samples->share);
  }
  printf(",\"first_s\":%.6g,\"warm_up\":%d,\"settled\":%s", samples->first, samples->warm_up,
         samples->is_settled ? "true" : "false");
  print_ranks(samples);
  print_text("stopped", stopped);
  printf(",\"verified\":%s,\"samples_s\":[", candidate->verify ? "true" : "null");
  for (int i = 0; i < samples->count; i++) {
    printf("%s%.6g", i ? "," : "", samples->seconds[i]);
  }
  printf("]");
  end_record();
}

/** One repetition's seconds by rank: of the slowest and the fastest, and which was the slowest. */
typedef struct Spread {
  double slowest, fastest;
  int rank;
} Spread;

static Spread run_spread(Candidate* candidate, int batch, MPI_Comm comm) {
  struct {
    double seconds;
    int rank;
  } own = {0, machine.rank}, slowest;
  double fastest;
  MPI_Barrier(comm);
  own.seconds = candidate->run(candidate->context, batch);
  MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
  MPI_Allreduce(&own.seconds, &fastest, 1, MPI_DOUBLE, MPI_MIN, comm);
  return (Spread){slowest.seconds, fastest, slowest.rank};
}

static double run_once(Candidate* candidate, int batch, MPI_Comm comm) {
  return run_spread(candidate, batch, comm).slowest;
}

static int agree(int value, MPI_Comm comm) {
  MPI_Bcast(&value, 1, MPI_INT, 0, comm);
  return value;
}

/** Repeats until times no longer fall: libraries learn in their first calls. `seconds` are what this may take, as rank
 * 0 has them. */
static void settle(Candidate* candidate, Samples* samples, MPI_Comm comm, double seconds) {
  enum { window = 4 };
  double last = INFINITY;
  const double begin = MPI_Wtime();
  for (int go_on = options.warm_up > 1; go_on;) {
    double best = INFINITY;
    for (int i = 0; i < window; i++) {
      best = fmin(best, run_once(candidate, samples->batch, comm));
      samples->warm_up += samples->batch;
    }
    // The same on all ranks, as `best` is.
    samples->is_settled = samples->warm_up >= options.warm_up && best > 0.9 * last;
    last = best;
    go_on = !samples->is_settled && agree(MPI_Wtime() - begin < seconds, comm);
  }
}

/** Runs what verifies a candidate, warms it up for so many seconds at most, and finds how many repetitions a sample
 * has. */
static int prepare(const Case* what, Candidate* candidate, Samples* samples, MPI_Comm comm, double seconds) {
  int is_first;
  MPI_Comm_rank(comm, &is_first);
  is_first = !is_first;
  if (is_first) {
    begin_record("at", what);
    print_text("candidate", candidate->name);
    end_record();
  }
  samples->first = run_once(candidate, 1, comm);
  int right = candidate->verify ? candidate->verify(candidate->context) : 1, all;
  MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_LAND, comm);
  if (!all) {
    if (is_first) {
      begin_record("wrong", what);
      print_text("candidate", candidate->name);
      print_text("message", "the result is wrong");
      end_record();
    }
    return 0;
  }
  run_once(candidate, 1, comm);
  samples->batch = 1;
  samples->warm_up = 2;
  for (;;) {
    const double one = run_once(candidate, samples->batch, comm);
    samples->warm_up += samples->batch;
    if (!agree(one * samples->batch < batch_seconds && samples->batch < options.most_batch && one > 0, comm)) {
      break;
    }
    samples->batch *= 2;
  }
  settle(candidate, samples, comm, seconds);
  samples->seconds = allocate((size_t)options.most_rounds * sizeof(double));
  samples->slowest = allocate((size_t)machine.ranks * sizeof(int));
  return 1;
}

static void shuffle(int* order, int count, unsigned long long* state) {
  for (int i = count - 1; i > 0; i--) {
    const int other = (int)(draw(state) % (unsigned long long)(i + 1)), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
}

void share_time(void (*run)(const char*), const char* name, int left) {
  if (!(options.within > 0)) {
    return;
  }
  if (plan.end_of_all == 0) {
    plan.end_of_all = MPI_Wtime() + options.within;
  }
  plan.is_counting = 1;
  plan.cases_left = 0;
  run(name);
  plan.is_counting = 0;
  const double now = MPI_Wtime();
  plan.end_of_benchmark = now + (plan.end_of_all - now) / left;
}

int is_counting(void) {
  return plan.is_counting;
}

/** Seconds that the case which comes next may take, with its preparation; as rank 0 has them. Negative: none. */
static double seconds_of_case(MPI_Comm comm) {
  double seconds = options.seconds;
  if (options.within > 0) {
    const double left = (plan.end_of_benchmark - MPI_Wtime()) / (plan.cases_left > 1 ? plan.cases_left : 1);
    seconds = left < seconds ? left : seconds;
    plan.cases_left--;
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, comm);
  }
  return seconds;
}

/** 0: go on; 1: all intervals are narrow; 2: the time or the rounds are used up. */
static int is_enough(Samples* samples, const int* order, int count, int round, double begin, double seconds) {
  const int is_late = MPI_Wtime() - begin > seconds;
  // Where all have to share the time, it is kept to with fewer samples.
  const int least = is_late && options.within > 0 ? 3 : options.least_rounds;
  if (round < least && round < options.most_rounds) {
    return 0;
  }
  int narrow = 1;
  for (int i = 0; i < count; i++) {
    Samples* one = &samples[order[i]];
    summarise(one);
    narrow = narrow && one->high - one->low <= options.interval * one->median;
  }
  return narrow ? 1 : is_late || round >= options.most_rounds ? 2 : 0;
}

void measure(const Case* what, Candidate* candidates, int count, MPI_Comm comm) {
  Samples samples[most_candidates] = {{0}};
  int order[most_candidates], used = 0, rank;
  unsigned long long state = options.seed * 0x9E3779B97F4A7C15ull + 1;
  if (plan.is_counting) {
    plan.cases_left++;
    return;
  }
  const double seconds = seconds_of_case(comm);
  if (seconds <= 0) {
    skip(what, "the time of --within is used up");
    return;
  }
  const double begin_of_case = MPI_Wtime();
  MPI_Comm_rank(comm, &rank);
  for (int i = 0; i < count && i < most_candidates; i++) {
    // Half of the time is for warming up, an equal part for each.
    if (prepare(what, &candidates[i], &samples[i], comm, seconds / 2 / count)) {
      order[used++] = i;
    }
  }
  if (rank == 0) {
    // From here on no single candidate is to blame for what happens.
    begin_record("at", what);
    end_record();
  }
  // What a case has of a common time holds its preparation, too.
  const double begin = options.within > 0 ? begin_of_case : MPI_Wtime();
  int enough = used == 0;
  for (int round = 1; !enough; round++) {
    shuffle(order, used, &state);
    for (int i = 0; i < used; i++) {
      Samples* one = &samples[order[i]];
      const Spread spread = run_spread(&candidates[order[i]], one->batch, comm);
      one->seconds[one->count++] = spread.slowest;
      one->fastest += (spread.fastest - one->fastest) / one->count;
      one->slowest[spread.rank]++;
      if (candidates[order[i]].shares) {
        one->share += (*candidates[order[i]].shares - one->share) / one->count;
      }
    }
    enough = agree(rank == 0 ? is_enough(samples, order, used, round, begin, seconds) : 0, comm);
  }
  for (int i = 0; i < count && i < most_candidates; i++) {
    if (rank == 0 && samples[i].count) {
      print_result(what, &candidates[i], &samples[i], enough == 1 ? "narrow" : "time");
    }
    free(samples[i].seconds);
    free(samples[i].slowest);
  }
}
