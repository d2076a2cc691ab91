/* Star forests of type "laneway" against the same of type "basic", bit for bit: random graphs with roots of many
 * leaves, own edges and ranks without any; units of one and of several numbers; operations that overlap; scatters of
 * vectors. */
#include <laneway/petscsf.h>

static unsigned seed;
static unsigned draw(unsigned below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

static int differences = 0;
static void compare(const char* what, const void* a, const void* b, size_t bytes) {
  if (memcmp(a, b, bytes) == 0) return;
  if (differences++ < 10) fprintf(stderr, "differs: %s\n", what);
}

/* Values are small integers, so that sums do not depend on their order. */
static void fill(double* values, PetscInt n) {
  for (PetscInt i = 0; i < n; ++i) values[i] = (double)draw(1000);
}

static PetscErrorCode make(MPI_Comm comm, int number, PetscInt* roots, PetscInt* extent, PetscSF sf[2]) {
  PetscMPIInt rank, size;
  PetscInt leaves, *mine;
  PetscSFNode* remote;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  /* How many roots each rank has, all ranks can say. */
  PetscInt all[64];
  seed = 77u + (unsigned)number;
  for (int r = 0; r < size; ++r) all[r] = (PetscInt)draw(4) == 0 ? 0 : 1 + (PetscInt)draw(40);
  all[size - 1] = 3;
  *roots = all[rank];
  seed = 1000u * (unsigned)number + (unsigned)rank;
  leaves = draw(5) == 0 ? 0 : (PetscInt)draw(60);
  *extent = 2 * leaves + 1;
  PetscCall(PetscMalloc1(leaves, &mine));
  PetscCall(PetscMalloc1(leaves, &remote));
  for (PetscInt i = 0; i < leaves; ++i) {
    mine[i] = 2 * i + (PetscInt)draw(2); /* with gaps */
    do remote[i].rank = (PetscInt)draw((unsigned)size);
    while (all[remote[i].rank] == 0);
    remote[i].index = (PetscInt)draw((unsigned)all[remote[i].rank]);
  }
  for (int i = 0; i < 2; ++i) {
    PetscCall(PetscSFCreate(comm, &sf[i]));
    PetscCall(PetscSFSetType(sf[i], i == 0 ? PETSCSFBASIC : LNW_PETSCSF));
    PetscCall(PetscSFSetGraph(sf[i], *roots, leaves, mine, PETSC_COPY_VALUES, remote, PETSC_COPY_VALUES));
    PetscCall(PetscSFSetUp(sf[i]));
  }
  PetscCall(PetscFree(mine));
  PetscCall(PetscFree(remote));
  PetscFunctionReturn(0);
}

static PetscErrorCode check_forests(MPI_Comm comm) {
  MPI_Datatype three;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Type_contiguous(3, MPI_DOUBLE, &three));
  PetscCallMPI(MPI_Type_commit(&three));
  const MPI_Datatype units[] = {MPI_DOUBLE, three};
  const MPI_Op ops[] = {MPI_REPLACE, MPI_SUM, MPI_MAX, MPI_MIN};
  for (int number = 0; number < 12; ++number) {
    PetscSF sf[2];
    PetscInt roots = 0, extent = 0;
    PetscCall(make(comm, number, &roots, &extent, sf));
    for (int turn = 0; turn < 3; ++turn)
      for (int u = 0; u < 2; ++u)
        for (int o = 0; o < 4; ++o) {
          const PetscInt n = (roots + 1) * 3, m = extent * 3;
          double *root[4], *leaf[4];
          for (int i = 0; i < 4; ++i) {
            PetscCall(PetscMalloc1(n, &root[i]));
            PetscCall(PetscMalloc1(m, &leaf[i]));
          }
          for (int i = 0; i < 4; i += 2) {
            fill(root[i], n);
            fill(leaf[i], m);
            PetscCall(PetscArraycpy(root[i + 1], root[i], n));
            PetscCall(PetscArraycpy(leaf[i + 1], leaf[i], m));
          }
          /* Two at a time: 0 and 1 from roots to leaves, 2 and 3 back. */
          for (int i = 0; i < 2; ++i) {
            PetscCall(PetscSFBcastBegin(sf[i], units[u], root[i], leaf[i], ops[o]));
            if (ops[o] != MPI_REPLACE) PetscCall(PetscSFReduceBegin(sf[i], units[u], leaf[2 + i], root[2 + i], ops[o]));
            PetscCall(PetscSFBcastEnd(sf[i], units[u], root[i], leaf[i], ops[o]));
            if (ops[o] != MPI_REPLACE) PetscCall(PetscSFReduceEnd(sf[i], units[u], leaf[2 + i], root[2 + i], ops[o]));
          }
          compare("leaves", leaf[0], leaf[1], sizeof(double) * (size_t)m);
          compare("roots", root[2], root[3], sizeof(double) * (size_t)n);
          if (ops[o] == MPI_REPLACE) {
            /* Which of several leaves a root takes is not said: they hold the same, what they have got from it. */
            fill(root[2], n);
            PetscCall(PetscArraycpy(root[3], root[2], n));
            for (int i = 0; i < 2; ++i) {
              PetscCall(PetscSFReduceBegin(sf[i], units[u], leaf[i], root[2 + i], ops[o]));
              PetscCall(PetscSFReduceEnd(sf[i], units[u], leaf[i], root[2 + i], ops[o]));
            }
            compare("roots of leaves", root[2], root[3], sizeof(double) * (size_t)n);
          }
          for (int i = 0; i < 4; ++i) {
            PetscCall(PetscFree(root[i]));
            PetscCall(PetscFree(leaf[i]));
          }
        }
    /* What the type leaves to basic. */
    {
      PetscInt* counters[2];
      PetscInt *wanted, *got[2];
      PetscCall(PetscMalloc1(extent, &wanted));
      for (PetscInt i = 0; i < extent; ++i) wanted[i] = 1;
      for (int i = 0; i < 2; ++i) {
        PetscCall(PetscCalloc1(roots + 1, &counters[i]));
        PetscCall(PetscCalloc1(extent, &got[i]));
        PetscCall(PetscSFFetchAndOpBegin(sf[i], MPIU_INT, counters[i], wanted, got[i], MPI_SUM));
        PetscCall(PetscSFFetchAndOpEnd(sf[i], MPIU_INT, counters[i], wanted, got[i], MPI_SUM));
      }
      compare("counters", counters[0], counters[1], sizeof(PetscInt) * (size_t)roots);
      for (int i = 0; i < 2; ++i) {
        PetscCall(PetscFree(counters[i]));
        PetscCall(PetscFree(got[i]));
      }
      PetscCall(PetscFree(wanted));
    }
    for (int i = 0; i < 2; ++i) PetscCall(PetscSFDestroy(&sf[i]));
  }
  PetscCallMPI(MPI_Type_free(&three));
  PetscFunctionReturn(0);
}

/* Each rank gets entries of all, and adds them back. */
static PetscErrorCode check_scatters(MPI_Comm comm) {
  PetscMPIInt rank, size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  const PetscInt local = 20, wanted = 15, total = local * size;
  for (int block = 1; block <= 3; block += 2) {
    Vec all, back[2], some[2];
    PetscInt places[15];
    PetscScalar* values;
    PetscCall(VecCreateMPI(comm, local * block, PETSC_DETERMINE, &all));
    PetscCall(VecGetArray(all, &values));
    for (PetscInt i = 0; i < local * block; ++i) values[i] = (double)(1000 * rank + i);
    PetscCall(VecRestoreArray(all, &values));
    for (PetscInt i = 0; i < wanted; ++i) places[i] = (7 * i + 3 * rank) % total;
    for (int t = 0; t < 2; ++t) {
      VecScatter scatter;
      IS from, to;
      PetscCall(PetscOptionsSetValue(NULL, "-sf_type", t == 0 ? PETSCSFBASIC : LNW_PETSCSF));
      PetscCall(VecCreateSeq(PETSC_COMM_SELF, wanted * block, &some[t]));
      PetscCall(ISCreateBlock(comm, block, wanted, places, PETSC_COPY_VALUES, &from));
      PetscCall(ISCreateStride(PETSC_COMM_SELF, wanted * block, 0, 1, &to));
      PetscCall(VecScatterCreate(all, from, some[t], to, &scatter));
      PetscCall(VecDuplicate(all, &back[t]));
      PetscCall(VecCopy(all, back[t]));
      for (int turn = 0; turn < 3; ++turn) {
        PetscCall(VecScatterBegin(scatter, back[t], some[t], turn == 1 ? ADD_VALUES : INSERT_VALUES, SCATTER_FORWARD));
        PetscCall(VecScatterEnd(scatter, back[t], some[t], turn == 1 ? ADD_VALUES : INSERT_VALUES, SCATTER_FORWARD));
        PetscCall(VecScatterBegin(scatter, some[t], back[t], ADD_VALUES, SCATTER_REVERSE));
        PetscCall(VecScatterEnd(scatter, some[t], back[t], ADD_VALUES, SCATTER_REVERSE));
      }
      if (t == 1) {
        VecScatterType type;
        PetscBool is_ours;
        PetscCall(VecScatterGetType(scatter, &type));
        PetscCall(PetscStrcmp(type, LNW_PETSCSF, &is_ours));
        if (!is_ours && size > 1) {
          ++differences;
          fprintf(stderr, "a scatter is of type %s\n", type);
        }
      }
      PetscCall(VecScatterDestroy(&scatter));
      PetscCall(ISDestroy(&from));
      PetscCall(ISDestroy(&to));
    }
    PetscBool same;
    PetscCall(VecEqual(some[0], some[1], &same));
    if (!same) compare("scattered", "a", "b", 1);
    PetscCall(VecEqual(back[0], back[1], &same));
    if (!same) compare("added back", "a", "b", 1);
    for (int t = 0; t < 2; ++t) {
      PetscCall(VecDestroy(&some[t]));
      PetscCall(VecDestroy(&back[t]));
    }
    PetscCall(VecDestroy(&all));
  }
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  int all = 0, rank = 0;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(LNW_PetscSFRegister());
  PetscCall(check_forests(PETSC_COMM_WORLD));
  PetscCall(check_scatters(PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(&differences, &all, 1, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (rank == 0) printf(all == 0 ? "all checks hold\n" : "wrong: %d differences\n", all);
  PetscCall(PetscFinalize());
  return all != 0;
}
