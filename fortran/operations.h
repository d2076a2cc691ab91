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
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Neighbor_allgather)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                                recv.type, TO_C(*where));
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_allgatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                    const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                                    const MPI_Fint* recvtype, const WHERE* where, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&recv, number.in, displs, sizeof *displs);
  const int code = FORM(LNW_Neighbor_allgatherv)(send.at, *sendcount_of_types, send.type, recv.at, recvcounts_of_types,
                                                 displs_of_types, recv.type, TO_C(*where));
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_alltoall)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                  const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                  const WHERE* where, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Neighbor_alltoall)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                               recv.type, TO_C(*where));
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_alltoallv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                   const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                   const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const WHERE* where,
                                   MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcounts_of_types = in_units(&send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&recv, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Neighbor_alltoallv)(send.at, sendcounts_of_types, sdispls_of_types, send.type, recv.at,
                                                recvcounts_of_types, rdispls_of_types, recv.type, TO_C(*where));
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
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
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Neighbor_reduce)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                             recv.type, MPI_Op_f2c(*op), TO_C(*where));
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_reducev)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                 const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                 const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* op,
                                 const WHERE* where, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcounts_of_types = in_units(&send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&recv, number.in, rdispls, sizeof *rdispls);
  const int code =
      FORM(LNW_Neighbor_reducev)(send.at, sendcounts_of_types, sdispls_of_types, send.type, recv.at,
                                 recvcounts_of_types, rdispls_of_types, recv.type, MPI_Op_f2c(*op), TO_C(*where));
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
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
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Ineighbor_allgather)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                                 recv.type, TO_C(*where), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_ineighbor_allgatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                     const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                                     const MPI_Fint* recvtype, const WHERE* where, LNW_Request* request,
                                     MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&recv, number.in, displs, sizeof *displs);
  const int code = FORM(LNW_Ineighbor_allgatherv)(send.at, *sendcount_of_types, send.type, recv.at, recvcounts_of_types,
                                                  displs_of_types, recv.type, TO_C(*where), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_ineighbor_alltoall)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                   const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                   const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Ineighbor_alltoall)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                                recv.type, TO_C(*where), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_ineighbor_alltoallv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                    const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                    const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const WHERE* where,
                                    LNW_Request* request, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcounts_of_types = in_units(&send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&recv, number.in, rdispls, sizeof *rdispls);
  const int code =
      FORM(LNW_Ineighbor_alltoallv)(send.at, sendcounts_of_types, sdispls_of_types, send.type, recv.at,
                                    recvcounts_of_types, rdispls_of_types, recv.type, TO_C(*where), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
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
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Ineighbor_reduce)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                              recv.type, MPI_Op_f2c(*op), TO_C(*where), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_ineighbor_reducev)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                                  const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                  const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* op,
                                  const WHERE* where, LNW_Request* request, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcounts_of_types = in_units(&send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&recv, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Ineighbor_reducev)(send.at, sendcounts_of_types, sdispls_of_types, send.type, recv.at,
                                               recvcounts_of_types, rdispls_of_types, recv.type, MPI_Op_f2c(*op),
                                               TO_C(*where), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
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
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Neighbor_allgather_init)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types,
                                        recv.type, TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_allgatherv_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                         const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                         const DISPLACEMENT displs[], const MPI_Fint* recvtype, const WHERE* where,
                                         const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&recv, number.in, displs, sizeof *displs);
  const int code =
      FORM(LNW_Neighbor_allgatherv_init)(send.at, *sendcount_of_types, send.type, recv.at, recvcounts_of_types,
                                         displs_of_types, recv.type, TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_alltoall_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                       const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                       const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                       MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Neighbor_alltoall_init)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types, recv.type,
                                       TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_alltoallv_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[],
                                        const DISPLACEMENT sdispls[], const MPI_Fint* sendtype,
                                        const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                        const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const WHERE* where,
                                        const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcounts_of_types = in_units(&send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&recv, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Neighbor_alltoallv_init)(send.at, sendcounts_of_types, sdispls_of_types, send.type, recv.at,
                                                     recvcounts_of_types, rdispls_of_types, recv.type, TO_C(*where),
                                                     MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
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
  Section send = section_of_elements(sendbuf, *sendtype), recv = section_of_elements(recvbuf, *recvtype);
  const int code = FORM(LNW_Neighbor_alltoallv_init_indexed)(send.at, *sendsize, sendcounts, sendindices, send.type,
                                                             recv.at, *recvsize, recvcounts, recvindices, recv.type,
                                                             TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_reduce_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                     const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                                     const MPI_Fint* op, const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                     MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&recv, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Neighbor_reduce_init)(send.at, *sendcount_of_types, send.type, recv.at, *recvcount_of_types, recv.type,
                                     MPI_Op_f2c(*op), TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_reducev_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[],
                                      const DISPLACEMENT sdispls[], const MPI_Fint* sendtype,
                                      const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                      const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* op,
                                      const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                      MPI_Fint* ierror) {
  Section send = section(sendbuf, *sendtype), recv = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(send, recv, DEGREES(TO_C(*where)));
  const COUNT* const sendcounts_of_types = in_units(&send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&recv, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&recv, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Neighbor_reducev_init)(send.at, sendcounts_of_types, sdispls_of_types, send.type, recv.at,
                                                   recvcounts_of_types, rdispls_of_types, recv.type, MPI_Op_f2c(*op),
                                                   TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
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
  Section send = section_of_elements(sendbuf, *sendtype), recv = section_of_elements(recvbuf, *recvtype);
  const int code = FORM(LNW_Neighbor_reducev_init_indexed)(send.at, *sendsize, sendcounts, sendindices, send.type,
                                                           recv.at, *recvsize, recvcounts, recvindices, recv.type,
                                                           MPI_Op_f2c(*op), TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&send);
  end_section(&recv);
  finish(code, ierror);
}

#undef FORM
#undef COUNT
#undef DISPLACEMENT
#undef WHERE
#undef TO_C
#undef DEGREES
