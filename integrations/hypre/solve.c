/* A program that knows nothing of Laneway: conjugate gradients preconditioned by BoomerAMG, by hypre's public functions
 * only, as hypre's own driver `ij`. Lines that start with `time` differ from run to run, no others do.
 * docs/use/hypre.md
 */
#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_parcsr_ls.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { max_history = 10000, default_max_iterations = 500, hmis_coarsening = 10, extended_i_interpolation = 6 };

typedef struct Options {
  int three_dimensional; /* 27-point Laplacian; otherwise rotated anisotropic diffusion */
  long n;                /* points in each direction */
  double angle, epsilon; /* degrees; the weak direction's coefficient */
  double tolerance;
  int max_iterations;
  int repetitions; /* solves of each matrix */
  int matrices;    /* set up, solved and freed one after the other */
  int relaxation;  /* hypre's number; -1: its default */
  int history;     /* print the norms of all residuals */
} Options;

static int rank, ranks;
static double residuals[max_history];
static int residual_count;

static void fail(const char* what) {
  if (rank == 0) fprintf(stderr, "laneway-hypre-solve: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

static void check(const char* what) {
  char text[512], full[640];
  const HYPRE_Int code = HYPRE_GetError();
  /* Not to converge within the iterations that were asked for is no failure here. */
  if (code == 0 || HYPRE_CheckError(code, HYPRE_ERROR_CONV)) {
    HYPRE_ClearAllErrors();
    return;
  }
  HYPRE_DescribeError(code, text);
  snprintf(full, sizeof full, "%s: %s", what, text);
  fail(full);
}

static Options parse(int argc, char** argv) {
  Options options = {0, 256, 45, 0.001, 1e-8, default_max_iterations, 1, 1, -1, 0};
  for (int i = 1; i < argc; ++i) {
    const char* const name = argv[i];
    const char* value = "";
    if (strcmp(name, "--history") == 0) {
      options.history = 1;
      continue;
    }
    if (i + 1 == argc) fail("an option has no value");
    value = argv[++i];
    if (strcmp(name, "--problem") == 0) {
      options.three_dimensional = strcmp(value, "27pt") == 0;
      if (!options.three_dimensional && strcmp(value, "rotated") != 0) fail("--problem is rotated or 27pt");
    } else if (strcmp(name, "--n") == 0) {
      options.n = strtol(value, NULL, 10);
    } else if (strcmp(name, "--angle") == 0) {
      options.angle = strtod(value, NULL);
    } else if (strcmp(name, "--epsilon") == 0) {
      options.epsilon = strtod(value, NULL);
    } else if (strcmp(name, "--tolerance") == 0) {
      options.tolerance = strtod(value, NULL);
    } else if (strcmp(name, "--max-iterations") == 0) {
      options.max_iterations = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--repeat") == 0) {
      options.repetitions = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--matrices") == 0) {
      options.matrices = (int)strtol(value, NULL, 10);
    } else if (strcmp(name, "--relax") == 0) {
      options.relaxation = (int)strtol(value, NULL, 10);
    } else {
      fail(
          "options: --problem rotated|27pt --n POINTS --angle DEGREES --epsilon X --tolerance X --max-iterations N "
          "--repeat N --matrices N --relax TYPE --history");
    }
  }
  if (options.n < 1 || options.repetitions < 1 || options.matrices < 1 || options.max_iterations < 1)
    fail("--n, --repeat, --matrices and --max-iterations are at least 1");
  return options;
}

static HYPRE_ParCSRMatrix make_matrix(const Options* options, long n, double epsilon) {
  int blocks[3] = {0, 0, 0};
  MPI_Dims_create(ranks, options->three_dimensional ? 3 : 2, blocks);
  for (int d = 0; d < 3; ++d)
    if (blocks[d] > n) fail("--n is too small for so many ranks");
  const int p = rank % blocks[0], q = rank / blocks[0] % blocks[1];
  if (options->three_dimensional) {
    double value[2] = {26, -1};
    return GenerateLaplacian27pt(MPI_COMM_WORLD, (HYPRE_BigInt)n, (HYPRE_BigInt)n, (HYPRE_BigInt)n, blocks[0],
                                 blocks[1], blocks[2], p, q, rank / (blocks[0] * blocks[1]), value);
  }
  return GenerateRotate7pt(MPI_COMM_WORLD, (HYPRE_BigInt)n, (HYPRE_BigInt)n, blocks[0], blocks[1], p, q, options->angle,
                           epsilon);
}

static HYPRE_IJVector make_vector(HYPRE_BigInt first, HYPRE_BigInt last, HYPRE_ParVector* vector) {
  HYPRE_IJVector handle;
  void* object;
  HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, last, &handle);
  HYPRE_IJVectorSetObjectType(handle, HYPRE_PARCSR);
  HYPRE_IJVectorInitialize(handle);
  HYPRE_IJVectorAssemble(handle);
  HYPRE_IJVectorGetObject(handle, &object);
  *vector = (HYPRE_ParVector)object;
  return handle;
}

static HYPRE_Int precondition(HYPRE_Solver solver, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector residual,
                              HYPRE_ParVector correction) {
  if (residual_count < max_history) {
    HYPRE_Real square;
    HYPRE_ParVectorInnerProd(residual, residual, &square);
    residuals[residual_count++] = sqrt(square);
  }
  return HYPRE_BoomerAMGSolve(solver, matrix, residual, correction);
}

static double slowest(double seconds) {
  double most;
  MPI_Reduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return most;
}

static void solve(HYPRE_Solver solver, HYPRE_ParCSRMatrix matrix, HYPRE_ParVector b, HYPRE_ParVector x) {
  HYPRE_Int iterations;
  HYPRE_Real norm, square;
  HYPRE_ParVectorSetConstantValues(x, 0);
  residual_count = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  HYPRE_ParCSRPCGSolve(solver, matrix, b, x);
  const double seconds = slowest(MPI_Wtime() - start);
  check("solve");
  HYPRE_PCGGetNumIterations(solver, &iterations);
  HYPRE_PCGGetFinalRelativeResidualNorm(solver, &norm);
  HYPRE_ParVectorInnerProd(x, x, &square);
  if (rank != 0) return;
  for (int i = 0; i < residual_count; ++i) printf("residual %d: %a\n", i, residuals[i]);
  printf("%d iterations, relative residual %a, solution %a\n", (int)iterations, norm, sqrt(square));
  printf("time: solve %.6f s\n", seconds);
}

static void run(const Options* options, int number) {
  const long n = options->n + number;
  HYPRE_BigInt first, last, first_column, last_column;
  HYPRE_ParVector b, x;
  HYPRE_Solver preconditioner, solver;
  const HYPRE_ParCSRMatrix matrix = make_matrix(options, n, options->epsilon * (1 + number));
  HYPRE_ParCSRMatrixGetLocalRange(matrix, &first, &last, &first_column, &last_column);
  const HYPRE_IJVector right_side = make_vector(first, last, &b);
  const HYPRE_IJVector solution = make_vector(first, last, &x);
  HYPRE_ParVectorSetRandomValues(b, 1);
  check("problem");

  HYPRE_BoomerAMGCreate(&preconditioner);
  HYPRE_BoomerAMGSetCoarsenType(preconditioner, hmis_coarsening);
  HYPRE_BoomerAMGSetInterpType(preconditioner, extended_i_interpolation);
  HYPRE_BoomerAMGSetStrongThreshold(preconditioner, options->three_dimensional ? 0.5 : 0.25);
  HYPRE_BoomerAMGSetPMaxElmts(preconditioner, 4);
  HYPRE_BoomerAMGSetTol(preconditioner, 0);
  HYPRE_BoomerAMGSetMaxIter(preconditioner, 1);
  if (options->relaxation >= 0) HYPRE_BoomerAMGSetRelaxType(preconditioner, options->relaxation);
  HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
  HYPRE_PCGSetTol(solver, options->tolerance);
  HYPRE_PCGSetMaxIter(solver, options->max_iterations);
  HYPRE_PCGSetTwoNorm(solver, 1);
  HYPRE_ParCSRPCGSetPrecond(solver, options->history ? precondition : HYPRE_BoomerAMGSolve, HYPRE_BoomerAMGSetup,
                            preconditioner);
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  HYPRE_ParCSRPCGSetup(solver, matrix, b, x);
  const double seconds = slowest(MPI_Wtime() - start);
  check("setup");
  if (rank == 0) {
    printf("%s, %ld points in each direction, %d ranks\n", options->three_dimensional ? "27pt" : "rotated", n, ranks);
    printf("time: setup %.6f s\n", seconds);
  }
  for (int i = 0; i < options->repetitions; ++i) solve(solver, matrix, b, x);

  HYPRE_ParCSRPCGDestroy(solver);
  HYPRE_BoomerAMGDestroy(preconditioner);
  HYPRE_IJVectorDestroy(solution);
  HYPRE_IJVectorDestroy(right_side);
  HYPRE_ParCSRMatrixDestroy(matrix);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const Options options = parse(argc, argv);
  HYPRE_Init();
  for (int number = 0; number < options.matrices; ++number) run(&options, number);
  HYPRE_Finalize();
  MPI_Finalize();
  return 0;
}
