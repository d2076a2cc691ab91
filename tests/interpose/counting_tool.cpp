// A profiling tool in a library of its own. It counts what the program calls, and must not see what is behind that.
#include <mpi.h>

namespace {
int calls = 0;
int waits = 0;
int started = 0;
}  // namespace

extern "C" __attribute__((visibility("default"))) int counted_waits() {
  return waits;
}
extern "C" __attribute__((visibility("default"))) int counted_starts() {
  return started;
}
extern "C" __attribute__((visibility("default"))) int MPI_Init(int* argc, char*** argv) {
  ++started;
  return PMPI_Init(argc, argv);
}

extern "C" __attribute__((visibility("default"))) int counted_calls() {
  return calls;
}

extern "C" __attribute__((visibility("default"))) int MPI_Wait(MPI_Request* request, MPI_Status* status) {
  ++calls;
  ++waits;
  return PMPI_Wait(request, status);
}
extern "C" __attribute__((visibility("default"))) int MPI_Ineighbor_alltoallv(
    const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void* recvbuf,
    const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request* request) {
  ++calls;
  return PMPI_Ineighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype, comm,
                                  request);
}
extern "C" __attribute__((visibility("default"))) int MPI_Isend(const void* buffer, int count, MPI_Datatype type,
                                                                int destination, int tag, MPI_Comm comm,
                                                                MPI_Request* request) {
  ++calls;
  return PMPI_Isend(buffer, count, type, destination, tag, comm, request);
}
