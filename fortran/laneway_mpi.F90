! The module laneway_mpi, for programs with `use mpi` or mpif.h: the interfaces of laneway, with integers for handles of MPI.
#define LANEWAY_INTEGERS
#include "laneway.F90"
