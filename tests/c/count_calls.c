/* A tool that stands in front of the library, as Score-P and mpiP stand in front of MPI. */
#include <laneway/profiling.h>

int counted_inits = 0, counted_waits = 0;

int LNW_Neighbor_alltoall_init(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  counted_inits++;
  return PLNW_Neighbor_alltoall_init(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, info, request);
}

int LNW_Wait(LNW_Request* request, MPI_Status* status) {
  counted_waits++;
  return PLNW_Wait(request, status);
}
