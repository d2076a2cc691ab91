// A program that changes a communication package behind everybody's back, after its exchange was planned.
#include <_hypre_parcsr_mv.h>

#include <cstdio>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  HYPRE_Init();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const auto list = [](HYPRE_Int first, HYPRE_Int second) {
    HYPRE_Int* const values = hypre_TAlloc(HYPRE_Int, 2, HYPRE_MEMORY_HOST);
    values[0] = first;
    values[1] = second;
    return values;
  };
  hypre_ParCSRCommPkg* package = nullptr;
  hypre_ParCSRCommPkgCreateAndFill(MPI_COMM_WORLD, 1, list(1 - rank, 0), list(0, 1), 1, list(1 - rank, 0), list(0, 1),
                                   list(3, 0), &package);
  double send = 1, receive = 0;
  for (int i = 0; i < 10; ++i) {
    if (i == 8) hypre_ParCSRCommPkgSendMapElmt(package, 0) = 2;
    hypre_ParCSRCommHandleDestroy(hypre_ParCSRCommHandleCreate(1, package, &send, &receive));
  }
  std::puts("still alive");
  hypre_MatvecCommPkgDestroy(package);
  HYPRE_Finalize();
  MPI_Finalize();
}
