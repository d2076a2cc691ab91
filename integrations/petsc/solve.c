/* A program to measure PETSc with, of its public functions only: a Krylov solve of Poisson's equation, by default CG
 * preconditioned by GAMG, and a loop of matrix-vector products. All of PETSc's options apply. Lines that start with
 * "time" differ from run to run. */
#include <petscdmda.h>
#include <petscksp.h>

typedef struct Options {
  PetscInt n;           /* points in each direction, of the whole grid */
  PetscInt dimensions;  /* 2: 9 points, 3: 27 points of the stencil */
  PetscInt repetitions; /* solves with the same matrix, from zero */
  PetscInt products;    /* of the loop after them */
  PetscBool history;    /* print the norm of every residual, in hexadecimal */
} Options;

static PetscErrorCode slowest(double begin, double* seconds) {
  const double mine = MPI_Wtime() - begin;
  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Allreduce(&mine, seconds, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

static PetscErrorCode parse(Options* options) {
  PetscFunctionBeginUser;
  PetscOptionsBegin(PETSC_COMM_WORLD, NULL, "laneway-petsc-solve", NULL);
  PetscCall(PetscOptionsInt("-n", "points in each direction", NULL, options->n, &options->n, NULL));
  PetscCall(PetscOptionsInt("-dimensions", "2 or 3", NULL, options->dimensions, &options->dimensions, NULL));
  PetscCall(PetscOptionsInt("-repeat", "solves", NULL, options->repetitions, &options->repetitions, NULL));
  PetscCall(PetscOptionsInt("-products", "matrix-vector products", NULL, options->products, &options->products, NULL));
  PetscCall(PetscOptionsBool("-history", "print all residuals", NULL, options->history, &options->history, NULL));
  PetscOptionsEnd();
  PetscCheck(options->dimensions == 2 || options->dimensions == 3, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-dimensions is 2 or 3");
  PetscFunctionReturn(0);
}

/* Each point is coupled with all points around it. */
static PetscErrorCode make_matrix(const Options* options, DM* grid, Mat* matrix) {
  const PetscInt n = options->n;
  const int flat = options->dimensions == 2;
  const PetscScalar center = flat ? 8 : 26;
  DMDALocalInfo local;
  PetscFunctionBeginUser;
  if (flat)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n, PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, grid));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n,
                           n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, grid));
  PetscCall(DMSetUp(*grid));
  PetscCall(DMCreateMatrix(*grid, matrix));
  PetscCall(DMDAGetLocalInfo(*grid, &local));
  for (PetscInt k = local.zs; k < local.zs + local.zm; ++k)
    for (PetscInt j = local.ys; j < local.ys + local.ym; ++j)
      for (PetscInt i = local.xs; i < local.xs + local.xm; ++i) {
        MatStencil row = {k, j, i, 0}, columns[27];
        PetscScalar values[27];
        PetscInt count = 0;
        for (PetscInt z = flat ? k : PetscMax(k - 1, 0); z <= (flat ? k : PetscMin(k + 1, n - 1)); ++z)
          for (PetscInt y = PetscMax(j - 1, 0); y <= PetscMin(j + 1, n - 1); ++y)
            for (PetscInt x = PetscMax(i - 1, 0); x <= PetscMin(i + 1, n - 1); ++x) {
              columns[count].k = z, columns[count].j = y, columns[count].i = x, columns[count].c = 0;
              values[count++] = x == i && y == j && z == k ? center : -1;
            }
        PetscCall(MatSetValuesStencil(*matrix, 1, &row, count, columns, values, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*matrix, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*matrix, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

static PetscErrorCode print_history(KSP solver) {
  const PetscReal* residuals;
  PetscInt count;
  PetscFunctionBeginUser;
  PetscCall(KSPGetResidualHistory(solver, &residuals, &count));
  for (PetscInt i = 0; i < count; ++i)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "residual %d: %a\n", (int)i, (double)residuals[i]));
  PetscFunctionReturn(0);
}

static PetscErrorCode solve(const Options* options, Mat matrix, Vec right_side, Vec solution) {
  double seconds;
  PetscInt iterations;
  PetscReal norm;
  KSP solver;
  PC preconditioner;
  PetscFunctionBeginUser;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &solver));
  PetscCall(KSPSetOperators(solver, matrix, matrix));
  PetscCall(KSPSetType(solver, KSPCG));
  PetscCall(KSPGetPC(solver, &preconditioner));
  PetscCall(PCSetType(preconditioner, PCGAMG));
  PetscCall(KSPSetTolerances(solver, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetResidualHistory(solver, NULL, PETSC_DECIDE, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(solver));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  double begin = MPI_Wtime();
  PetscCall(KSPSetUp(solver));
  PetscCall(slowest(begin, &seconds));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "time: setup %.6f s\n", seconds));
  for (PetscInt i = 0; i < options->repetitions; ++i) {
    PetscCall(VecSet(solution, 0));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    begin = MPI_Wtime();
    PetscCall(KSPSolve(solver, right_side, solution));
    PetscCall(slowest(begin, &seconds));
    if (options->history) PetscCall(print_history(solver));
    PetscCall(KSPGetIterationNumber(solver, &iterations));
    PetscCall(VecNorm(solution, NORM_2, &norm));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d iterations, solution %a\ntime: solve %.6f s\n", (int)iterations,
                          (double)norm, seconds));
  }
  PetscCall(KSPDestroy(&solver));
  PetscFunctionReturn(0);
}

/* Of a power iteration: each product depends on the one before. */
static PetscErrorCode multiply(const Options* options, Mat matrix, Vec from, Vec to) {
  double seconds;
  PetscReal norm = 0;
  PetscFunctionBeginUser;
  PetscCall(VecSet(from, 1));
  PetscCall(MatMult(matrix, from, to));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  const double begin = MPI_Wtime();
  for (PetscInt i = 0; i < options->products; ++i) {
    PetscCall(MatMult(matrix, from, to));
    PetscCall(VecScale(to, 1.0 / 64));
    const Vec product = to;
    to = from;
    from = product;
  }
  PetscCall(slowest(begin, &seconds));
  PetscCall(VecNorm(from, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d products: %a\ntime: product %.9f s\n", (int)options->products,
                        (double)norm, seconds / (double)options->products));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  Options options = {128, 2, 1, 0, PETSC_FALSE};
  DM grid;
  Mat matrix;
  Vec right_side, solution;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(parse(&options));
  PetscCall(make_matrix(&options, &grid, &matrix));
  PetscCall(MatCreateVecs(matrix, &solution, &right_side));
  PetscCall(VecSet(right_side, 1));
  if (options.repetitions > 0) PetscCall(solve(&options, matrix, right_side, solution));
  if (options.products > 0) PetscCall(multiply(&options, matrix, right_side, solution));
  PetscCall(VecDestroy(&solution));
  PetscCall(VecDestroy(&right_side));
  PetscCall(MatDestroy(&matrix));
  PetscCall(DMDestroy(&grid));
  PetscCall(PetscFinalize());
  return 0;
}
