// A program that has loaded another MPI library for itself by the time that it calls MPI_Init, as Python does.
#include <dlfcn.h>
#include <mpi.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc < 2 || dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) == nullptr) {
    std::printf("wrong: no library: %s\n", dlerror());
    return 1;
  }
  MPI_Init(&argc, &argv);
  std::puts("still alive");
  MPI_Finalize();
  return 0;
}
