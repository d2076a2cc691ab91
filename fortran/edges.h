/* Partitioned neighborhoods in one form; see operations.h, of which this uses the macros. */

void FORM(lnwf_neighbor_alltoallv_init_partitioned)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[],
                                                    const DISPLACEMENT sdispls[], const MPI_Fint* sendtype,
                                                    const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                                    const DISPLACEMENT rdispls[], const MPI_Fint* recvtype,
                                                    const MPI_Fint sendpartitions[], const MPI_Fint recvpartitions[],
                                                    const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                                    MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_alltoallv_init_partitioned)(
             buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf), recvcounts, rdispls,
             MPI_Type_f2c(*recvtype), sendpartitions, recvpartitions, TO_C(*where), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_neighbor_alltoallv_init_indexed_partitioned)(
    const CFI_cdesc_t* sendbuf, const MPI_Count* sendsize, const COUNT sendcounts[], const MPI_Count sendindices[],
    const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const MPI_Count* recvsize, const COUNT recvcounts[],
    const MPI_Count recvindices[], const MPI_Fint* recvtype, const MPI_Fint sendpartitions[],
    const MPI_Fint recvpartitions[], const WHERE* where, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_alltoallv_init_indexed_partitioned)(
             buffer(sendbuf), *sendsize, sendcounts, sendindices, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvsize,
             recvcounts, recvindices, MPI_Type_f2c(*recvtype), sendpartitions, recvpartitions, TO_C(*where),
             MPI_Info_f2c(*info), request),
         ierror);
}
