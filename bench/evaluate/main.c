#include "evaluate/evaluate.h"

#include <getopt.h>
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

typedef struct Benchmark {
  const char *name, *group;
  void (*run)(const char*);
} Benchmark;

/** All there are: `laneway evaluate` reads names and groups from these lines. */
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
    {"graph_creation", "neighborhood", run_creation},
    {"discovery", "discovery", run_discovery},
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

static const struct option known[] = {
    {"laneway", required_argument, NULL, 'l'},        {"sizes", required_argument, NULL, 's'},
    {"grid", required_argument, NULL, 'g'},           {"seconds", required_argument, NULL, 't'},
    {"within", required_argument, NULL, 'w'},         {"interval", required_argument, NULL, 'i'},
    {"rounds", required_argument, NULL, 'r'},         {"batch", required_argument, NULL, 'b'},
    {"warm-up", required_argument, NULL, 'u'},        {"ranks-of-node", required_argument, NULL, 'n'},
    {"most-buffer", required_argument, NULL, 'm'},    {"seed", required_argument, NULL, 'd'},
    {"no-control", no_argument, &options.control, 0}, {NULL, 0, NULL, 0}};

/** Whether the value is one of the option. */
static int read_value(int option, const char* value) {
  Options* const o = &options;
  switch (option) {
    case 'l':
      laneway_file = value;
      return 1;
    case 's':
      return sscanf(value, "%lld:%lld:%d", &o->least_bytes, &o->most_bytes, &o->factor) == 3 && o->least_bytes > 0 &&
             o->most_bytes >= o->least_bytes && o->most_bytes <= 1 << 30 && o->factor > 1;
    case 'g':
      return sscanf(value, "%d", &o->grid) == 1 && o->grid >= 8 && o->grid <= 1024;
    case 't':
      return sscanf(value, "%lf", &o->seconds) == 1 && o->seconds > 0;
    case 'w':
      return sscanf(value, "%lf", &o->within) == 1 && o->within > 0;
    case 'i':
      return sscanf(value, "%lf", &o->interval) == 1 && o->interval > 0;
    case 'r':
      return sscanf(value, "%d:%d", &o->least_rounds, &o->most_rounds) == 2 && o->least_rounds > 0 &&
             o->most_rounds >= o->least_rounds;
    case 'b':
      return sscanf(value, "%d", &o->most_batch) == 1 && o->most_batch > 0;
    case 'u':
      return sscanf(value, "%d", &o->warm_up) == 1 && o->warm_up > 0;
    case 'n':
      return sscanf(value, "%d", &o->ranks_of_node) == 1 && o->ranks_of_node > 0;
    case 'm':
      return sscanf(value, "%lld", &o->most_buffer) == 1 && o->most_buffer > 0;
    case 'd':
      return sscanf(value, "%llu", &o->seed) == 1;
    default: /* one that is not known, or that has no value */
      return option == 0;
  }
}

static const Benchmark* find(const char* name) {
  for (int i = 0; i < benchmark_count; i++) {
    if (!strcmp(benchmarks[i].name, name)) {
      return &benchmarks[i];
    }
  }
  return NULL;
}

/** Reads the command line, from `optind` on the benchmarks' names; how many, or 0. */
static int read_command_line(int argc, char** argv) {
  opterr = 0;
  for (int option; (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
    if (!read_value(option, optarg)) {
      return refuse(argv[optind - (argv[optind - 1] == optarg ? 2 : 1)]);
    }
  }
  for (int i = optind; i < argc; i++) {
    if (!find(argv[i])) {
      return refuse(argv[i]);
    }
  }
  return optind < argc ? argc - optind : refuse("no benchmark");
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
    const Benchmark* benchmark = find(argv[optind + i]);
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
