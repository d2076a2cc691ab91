/* The neighborhood operations in one form. Written by api/generate.py from api/operations.toml.
 * shim.c includes this for each form, and says by
 *   FORM(name)     what the functions are called, here and in the C API
 *   COUNT          the type of counts
 *   DISPLACEMENT   the type of displacements in elements
 *   WHERE          the handle that the operation runs on, in Fortran
 *   TO_C(where)    and in C
 *   DEGREES        the function that finds its degrees */

void FORM(lnwf_neighbor_allgather)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                   const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                   const WHERE* where, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_allgather)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                      MPI_Type_f2c(*recvtype), TO_C(*where)),
         ierror);
}

void FORM(lnwf_neighbor_allgatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                    const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                                    const MPI_Fint* recvtype, const WHERE* where, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_allgatherv)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                       recvcounts, displs, MPI_Type_f2c(*recvtype), TO_C(*where)),
         ierror);
}

void FORM(lnwf_neighbor_alltoall)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                  const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                  const WHERE* where, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_alltoall)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                     MPI_Type_f2c(*recvtype), TO_C(*where)),
         ierror);
}

void FORM(lnwf_neighbor_alltoallv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                   const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                   const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const WHERE* where,
                                   MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_alltoallv)(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                      recvcounts, rdispls, MPI_Type_f2c(*recvtype), TO_C(*where)),
         ierror);
}

void FORM(lnwf_neighbor_alltoallw)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
                                   const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                   const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const WHERE* where,
                                   MPI_Fint* ierror) {
  const Types types = make_types(DEGREES(TO_C(*where)), sendtypes, recvtypes);
  const int code = FORM(LNW_Neighbor_alltoallw)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf),
                                                recvcounts, rdispls, types.recv, TO_C(*where));
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_reduce)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                const MPI_Fint* op, const WHERE* where, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_reduce)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                   MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where)),
         ierror);
}

void FORM(lnwf_neighbor_reducev)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                 const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                 const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* op,
                                 const WHERE* where, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_reducev)(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                    recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where)),
         ierror);
}

void FORM(lnwf_neighbor_reducew)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
                                 const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                 const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* op,
                                 const WHERE* where, MPI_Fint* ierror) {
  const Types types = make_types(DEGREES(TO_C(*where)), sendtypes, recvtypes);
  const int code = FORM(LNW_Neighbor_reducew)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf),
                                              recvcounts, rdispls, types.recv, MPI_Op_f2c(*op), TO_C(*where));
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_ineighbor_allgather)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                    const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                    const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ineighbor_allgather)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                       *recvcount, MPI_Type_f2c(*recvtype), TO_C(*where), request),
         ierror);
}

void FORM(lnwf_ineighbor_allgatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                     const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                                     const MPI_Fint* recvtype, const WHERE* where, LNW_Request* request,
                                     MPI_Fint* ierror) {
  finish(FORM(LNW_Ineighbor_allgatherv)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                        recvcounts, displs, MPI_Type_f2c(*recvtype), TO_C(*where), request),
         ierror);
}

void FORM(lnwf_ineighbor_alltoall)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                   const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                   const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ineighbor_alltoall)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                      MPI_Type_f2c(*recvtype), TO_C(*where), request),
         ierror);
}

void FORM(lnwf_ineighbor_alltoallv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                    const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                    const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const WHERE* where,
                                    LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ineighbor_alltoallv)(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                       recvcounts, rdispls, MPI_Type_f2c(*recvtype), TO_C(*where), request),
         ierror);
}

void FORM(lnwf_ineighbor_alltoallw)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
                                    const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                    const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const WHERE* where,
                                    LNW_Request* request, MPI_Fint* ierror) {
  const Types types = make_types(DEGREES(TO_C(*where)), sendtypes, recvtypes);
  const int code = FORM(LNW_Ineighbor_alltoallw)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf),
                                                 recvcounts, rdispls, types.recv, TO_C(*where), request);
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_ineighbor_reduce)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                 const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                 const MPI_Fint* op, const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ineighbor_reduce)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvcount,
                                    MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where), request),
         ierror);
}

void FORM(lnwf_ineighbor_reducev)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                  const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                  const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* op,
                                  const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  finish(
      FORM(LNW_Ineighbor_reducev)(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                  recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where), request),
      ierror);
}

void FORM(lnwf_ineighbor_reducew)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
                                  const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                  const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* op,
                                  const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  const Types types = make_types(DEGREES(TO_C(*where)), sendtypes, recvtypes);
  const int code = FORM(LNW_Ineighbor_reducew)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf),
                                               recvcounts, rdispls, types.recv, MPI_Op_f2c(*op), TO_C(*where), request);
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_allgather_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                        const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                        const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                        MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_allgather_init)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                           *recvcount, MPI_Type_f2c(*recvtype), TO_C(*where), MPI_Info_f2c(*info),
                                           request),
         ierror);
}

void FORM(lnwf_neighbor_allgatherv_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                         const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                         const DISPLACEMENT displs[], const MPI_Fint* recvtype, const WHERE* where,
                                         const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_allgatherv_init)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                            recvcounts, displs, MPI_Type_f2c(*recvtype), TO_C(*where),
                                            MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_neighbor_alltoall_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                       const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                       const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                       MPI_Fint* ierror) {
  finish(
      FORM(LNW_Neighbor_alltoall_init)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                       *recvcount, MPI_Type_f2c(*recvtype), TO_C(*where), MPI_Info_f2c(*info), request),
      ierror);
}

void FORM(lnwf_neighbor_alltoallv_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[],
                                        const DISPLACEMENT sdispls[], const MPI_Fint* sendtype,
                                        const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                        const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const WHERE* where,
                                        const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_alltoallv_init)(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype),
                                           buffer(recvbuf), recvcounts, rdispls, MPI_Type_f2c(*recvtype), TO_C(*where),
                                           MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_neighbor_alltoallw_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
                                        const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf,
                                        const COUNT recvcounts[], const MPI_Aint rdispls[], const MPI_Fint recvtypes[],
                                        const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                        MPI_Fint* ierror) {
  const Types types = make_types(DEGREES(TO_C(*where)), sendtypes, recvtypes);
  const int code =
      FORM(LNW_Neighbor_alltoallw_init)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts,
                                        rdispls, types.recv, TO_C(*where), MPI_Info_f2c(*info), request);
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_alltoallv_init_indexed)(const CFI_cdesc_t* sendbuf, const MPI_Count* sendsize,
                                                const COUNT sendcounts[], const MPI_Count sendindices[],
                                                const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf,
                                                const MPI_Count* recvsize, const COUNT recvcounts[],
                                                const MPI_Count recvindices[], const MPI_Fint* recvtype,
                                                const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                                MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_alltoallv_init_indexed)(
             buffer(sendbuf), *sendsize, sendcounts, sendindices, MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvsize,
             recvcounts, recvindices, MPI_Type_f2c(*recvtype), TO_C(*where), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_neighbor_reduce_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                     const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                     const MPI_Fint* op, const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                     MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_reduce_init)(buffer(sendbuf), *sendcount, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                        *recvcount, MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where),
                                        MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_neighbor_reducev_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[],
                                      const DISPLACEMENT sdispls[], const MPI_Fint* sendtype,
                                      const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                      const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* op,
                                      const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                      MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_reducev_init)(buffer(sendbuf), sendcounts, sdispls, MPI_Type_f2c(*sendtype), buffer(recvbuf),
                                         recvcounts, rdispls, MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where),
                                         MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_neighbor_reducew_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const MPI_Aint sdispls[],
                                      const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                      const MPI_Aint rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* op,
                                      const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                      MPI_Fint* ierror) {
  const Types types = make_types(DEGREES(TO_C(*where)), sendtypes, recvtypes);
  const int code =
      FORM(LNW_Neighbor_reducew_init)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts,
                                      rdispls, types.recv, MPI_Op_f2c(*op), TO_C(*where), MPI_Info_f2c(*info), request);
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_reducev_init_indexed)(const CFI_cdesc_t* sendbuf, const MPI_Count* sendsize,
                                              const COUNT sendcounts[], const MPI_Count sendindices[],
                                              const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf,
                                              const MPI_Count* recvsize, const COUNT recvcounts[],
                                              const MPI_Count recvindices[], const MPI_Fint* recvtype,
                                              const MPI_Fint* op, const WHERE* where, const MPI_Fint* info,
                                              LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Neighbor_reducev_init_indexed)(buffer(sendbuf), *sendsize, sendcounts, sendindices,
                                                 MPI_Type_f2c(*sendtype), buffer(recvbuf), *recvsize, recvcounts,
                                                 recvindices, MPI_Type_f2c(*recvtype), MPI_Op_f2c(*op), TO_C(*where),
                                                 MPI_Info_f2c(*info), request),
         ierror);
}

#undef FORM
#undef COUNT
#undef DISPLACEMENT
#undef WHERE
#undef TO_C
#undef DEGREES
