#include "evaluate/evaluate.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

Options options = {.seconds = 1,
                   .interval = 0.05,
                   .least_rounds = 9,
                   .most_rounds = 200,
                   .most_batch = 1024,
                   .warm_up = 24,
                   .least_bytes = 4,
                   .most_bytes = 1 << 20,
                   .factor = 4,
                   .most_buffer = 256LL << 20,
                   .seed = 1,
                   .control = 1,
                   .grid = 32};

static void run_no_discovery_argument(const char* benchmark) {
  (void)benchmark;
  run_discovery();
}

typedef struct Benchmark {
  const char *name, *group;
  void (*run)(const char*);
} Benchmark;

static const Benchmark benchmarks[] = {
    {"latency", "point-to-point", run_point_to_point},
    {"bandwidth", "point-to-point", run_point_to_point},
    {"bidirectional", "point-to-point", run_point_to_point},
    {"rate", "point-to-point", run_point_to_point},
    {"barrier", "collective", run_collective},
    {"bcast", "collective", run_collective},
    {"reduce", "collective", run_collective},
    {"allreduce", "collective", run_collective},
    {"gather", "collective", run_collective},
    {"allgather", "collective", run_collective},
    {"alltoall", "collective", run_collective},
    {"alltoallv", "collective", run_collective},
    {"neighbor_allgather", "neighborhood", run_neighborhood},
    {"neighbor_allgatherv", "neighborhood", run_neighborhood},
    {"neighbor_alltoall", "neighborhood", run_neighborhood},
    {"neighbor_alltoallv", "neighborhood", run_neighborhood},
    {"neighbor_alltoallw", "neighborhood", run_neighborhood},
    {"neighbor_reducev", "neighborhood", run_neighborhood},
    {"discovery", "discovery", run_no_discovery_argument},
    {"device_latency", "device", run_device},
    {"device_bandwidth", "device", run_device},
    {"device_bidirectional", "device", run_device},
    {"device_rate", "device", run_device},
    {"device_allreduce", "device", run_device},
    {"device_allgather", "device", run_device},
    {"device_bcast", "device", run_device},
    {"device_reduce", "device", run_device},
    {"device_alltoall", "device", run_device},
    {"fft_alltoall", "application", run_fft},
    {"fft_alltoallv", "application", run_fft},
    {"hpcg_spmv", "application", run_solver},
    {"hpcg_mg", "application", run_solver},
    {"hpcg_ddot", "application", run_solver},
    {"hpcg_waxpby", "application", run_solver},
    {"hpcg", "application", run_solver},
    {"sparse_product", "application", run_solver},
};
enum { benchmark_count = sizeof benchmarks / sizeof *benchmarks };

static const char usage[] =
    "usage: laneway-evaluate [OPTIONS] BENCHMARK…\n"
    "  --list              the benchmarks, and nothing else\n"
    "  --laneway FILE      measure this liblaneway.so, too; 'linked': the one in the program\n"
    "  --sizes A:B:FACTOR  bytes from A to B\n"
    "  --grid N            points along a side of the largest grid of the applications\n"
    "  --seconds S         for one case at most, of all candidates together\n"
    "  --within S          for all benchmarks together; cases without time are left out, and say so\n"
    "  --interval SHARE    enough once all 95% intervals are so narrow, of their medians\n"
    "  --rounds LEAST:MOST samples of a candidate\n"
    "  --batch MOST        repetitions of a sample\n"
    "  --warm-up LEAST     repetitions before the samples; more until times have settled; 1: no more\n"
    "  --ranks-of-node N   which ranks share a node, where MPI does not know\n"
    "  --most-buffer BYTES of a rank\n"
    "  --seed N            of the order of candidates\n"
    "  --no-control        do not measure the MPI library's own twice\n";

static const char* laneway_file;

static int refuse(const char* what) {
  int is_begun, rank = 0;
  MPI_Initialized(&is_begun);
  if (is_begun) {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  if (rank == 0) {
    fprintf(stderr, "laneway-evaluate: %s: not understood\n%s", what, usage);
  }
  return 0;
}

/** Reads one option with its value; whether it is one. */
static int read_option(const char* name, const char* value) {
  if (!strcmp(name, "--laneway")) {
    laneway_file = value;
    return 1;
  }
  if (!strcmp(name, "--sizes")) {
    return sscanf(value, "%lld:%lld:%d", &options.least_bytes, &options.most_bytes, &options.factor) == 3 &&
           options.least_bytes > 0 && options.most_bytes >= options.least_bytes && options.most_bytes <= 1 << 30 &&
           options.factor > 1;
  }
  if (!strcmp(name, "--rounds")) {
    return sscanf(value, "%d:%d", &options.least_rounds, &options.most_rounds) == 2 && options.least_rounds > 0 &&
           options.most_rounds >= options.least_rounds;
  }
  if (!strcmp(name, "--grid")) {
    return sscanf(value, "%d", &options.grid) == 1 && options.grid >= 8 && options.grid <= 1024;
  }
  if (!strcmp(name, "--batch")) {
    return sscanf(value, "%d", &options.most_batch) == 1 && options.most_batch > 0;
  }
  if (!strcmp(name, "--warm-up")) {
    return sscanf(value, "%d", &options.warm_up) == 1 && options.warm_up > 0;
  }
  if (!strcmp(name, "--ranks-of-node")) {
    return sscanf(value, "%d", &options.ranks_of_node) == 1 && options.ranks_of_node > 0;
  }
  if (!strcmp(name, "--seconds")) {
    return sscanf(value, "%lf", &options.seconds) == 1 && options.seconds > 0;
  }
  if (!strcmp(name, "--within")) {
    return sscanf(value, "%lf", &options.within) == 1 && options.within > 0;
  }
  if (!strcmp(name, "--interval")) {
    return sscanf(value, "%lf", &options.interval) == 1 && options.interval > 0;
  }
  if (!strcmp(name, "--most-buffer")) {
    return sscanf(value, "%lld", &options.most_buffer) == 1 && options.most_buffer > 0;
  }
  return !strcmp(name, "--seed") && sscanf(value, "%llu", &options.seed) == 1;
}

static const Benchmark* find(const char* name) {
  for (int i = 0; i < benchmark_count; i++) {
    if (!strcmp(benchmarks[i].name, name)) {
      return &benchmarks[i];
    }
  }
  return NULL;
}

/** Reads the command line and moves the benchmarks' names to its front; how many, or 0. */
static int read_command_line(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; i++) {
    if (!strcmp(argv[i], "--no-control")) {
      options.control = 0;
    } else if (argv[i][0] == '-') {
      if (i + 1 >= argc || !read_option(argv[i], argv[i + 1])) {
        return refuse(argv[i]);
      }
      i++;
    } else if (!find(argv[i])) {
      return refuse(argv[i]);
    } else {
      argv[count++] = argv[i];
    }
  }
  return count ? count : refuse("no benchmark");
}

/** Some MPI libraries wait in MPI_Finalize for ever. All results are out by then. */
static void end_without_finalize(int number) {
  static const char text[] = "{\"record\":\"note\",\"message\":\"MPI_Finalize did not return in 10 s\"}\n";
  (void)number;
  if (machine.rank == 0 && write(STDOUT_FILENO, text, sizeof text - 1) < 0) {
    _exit(1);
  }
  _exit(0);
}

static void list(void) {
  for (int i = 0; i < benchmark_count; i++) {
    printf("%s %s\n", benchmarks[i].group, benchmarks[i].name);
  }
}

int main(int argc, char** argv) {
  if (argc == 2 && !strcmp(argv[1], "--list")) {
    list();
    return 0;
  }
  MPI_Init(&argc, &argv);
  const int count = read_command_line(argc, argv);
  if (!count) {
    MPI_Finalize();
    return 2;
  }
  find_machine();
  find_persistent_calls();
  const char* problem = laneway_file ? load_laneway(laneway_file) : NULL;
  int is_bad = problem != NULL, any_bad;
  MPI_Allreduce(&is_bad, &any_bad, 1, MPI_INT, MPI_LOR, MPI_COMM_WORLD);
  if (any_bad) {
    if (problem) {
      fprintf(stderr, "laneway-evaluate: rank %d cannot load %s: %s\n", machine.rank, laneway_file, problem);
    }
    MPI_Finalize();
    return 2;
  }
  print_machine();
  for (int i = 0; i < count; i++) {
    const Benchmark* benchmark = find(argv[i]);
    share_time(benchmark->run, benchmark->name, count - i);
    benchmark->run(benchmark->name);
    quiet_barrier(MPI_COMM_WORLD);
    if (machine.rank == 0) {
      printf("{\"record\":\"done\",\"benchmark\":\"%s\"}\n", benchmark->name);
      fflush(stdout);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (machine.rank == 0) {
    printf("{\"record\":\"end\"}\n");
    fflush(stdout);
  }
  signal(SIGALRM, end_without_finalize);
  alarm(10);
  MPI_Finalize();
  alarm(0);
  return 0;
}
