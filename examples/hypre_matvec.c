/* A matrix-vector product of hypre with an exchange that is planned once: nothing is packed, and values that several
 * ranks of a node need cross the network once. */
#include <_hypre_parcsr_ls.h>
#include <laneway/hypre.h>
#include <stdio.h>
#include <string.h>

/* y = A x */
static void multiply(hypre_ParCSRMatrix* a, LNW_Hypre_exchange* halo, hypre_Vector* x, hypre_Vector* ghosts,
                     hypre_Vector* y) {
  LNW_Hypre_exchange_start(halo, hypre_VectorData(x));
  hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixDiag(a), x, 0, y);
  LNW_Hypre_exchange_wait(halo, hypre_VectorData(ghosts));
  if (hypre_VectorSize(ghosts) > 0) hypre_CSRMatrixMatvec(1, hypre_ParCSRMatrixOffd(a), ghosts, 1, y);
}

int main(int argc, char** argv) {
  int rank, ranks, blocks[3] = {0, 0, 0};
  double stencil[2] = {26, -1};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Dims_create(ranks, 3, blocks);
  HYPRE_Init();

  hypre_ParCSRMatrix* const a =
      GenerateLaplacian27pt(MPI_COMM_WORLD, 30, 30, 30, blocks[0], blocks[1], blocks[2], rank % blocks[0],
                            rank / blocks[0] % blocks[1], rank / (blocks[0] * blocks[1]), stencil);
  if (hypre_ParCSRMatrixCommPkg(a) == NULL) hypre_MatvecCommPkgCreate(a);
  LNW_Hypre_exchange halo;
  LNW_Hypre_exchange_init(1, 1, hypre_ParCSRMatrixCommPkg(a), LNW_HYPRE_VECTOR, MPI_INFO_NULL, &halo);

  hypre_ParVector* const x = hypre_ParVectorInDomainOf(a);
  hypre_ParVector* const y = hypre_ParVectorInRangeOf(a);
  hypre_ParVector* const expected = hypre_ParVectorInRangeOf(a);
  hypre_Vector* const ghosts = hypre_SeqVectorCreate(hypre_CSRMatrixNumCols(hypre_ParCSRMatrixOffd(a)));
  hypre_ParVectorInitialize(x);
  hypre_ParVectorInitialize(y);
  hypre_ParVectorInitialize(expected);
  hypre_SeqVectorInitialize(ghosts);
  hypre_ParVectorSetRandomValues(x, 1);
  hypre_ParCSRMatrixMatvec(1, a, x, 0, expected);

  hypre_Vector* const result = hypre_ParVectorLocalVector(y);
  for (int iteration = 0; iteration < 10; ++iteration)
    multiply(a, &halo, hypre_ParVectorLocalVector(x), ghosts, result);
  const int differs = memcmp(hypre_VectorData(result), hypre_VectorData(hypre_ParVectorLocalVector(expected)),
                             (size_t)hypre_VectorSize(result) * sizeof(HYPRE_Complex)) != 0;
  printf("rank %d: %s what hypre computes\n", rank, differs ? "not" : "exactly");

  LNW_Hypre_exchange_free(&halo);
  hypre_SeqVectorDestroy(ghosts);
  hypre_ParVectorDestroy(expected);
  hypre_ParVectorDestroy(y);
  hypre_ParVectorDestroy(x);
  hypre_ParCSRMatrixDestroy(a);
  HYPRE_Finalize();
  MPI_Finalize();
  return differs;
}
