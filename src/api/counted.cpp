#include "operations/collective/execution/counted.hpp"
#include "api/barrier.hpp"

using namespace laneway;

int LNW_Alltoallv_counted_init(const void* sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                               void* recvbuf, int recvcounts[], const int recvcapacities[], const int rdispls[],
                               MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, LNW_Request* request) {
  return guarded(__func__, comm, [&] {
    *request = handle_of(make_counted(comm, info,
                                      {.sendbuf = sendbuf,
                                       .sendcounts = sendcounts,
                                       .sdispls = sdispls,
                                       .sendtype = sendtype,
                                       .recvbuf = recvbuf,
                                       .recvcounts = recvcounts,
                                       .recvcapacities = recvcapacities,
                                       .rdispls = rdispls,
                                       .recvtype = recvtype,
                                       .fault = request == nullptr ? "request is NULL" : nullptr}));
  });
}
