/* The dense operations in one form. Written by api/generate.py from api/operations.toml.
 * shim.c includes this for each form, with FORM, COUNT and DISPLACEMENT as for operations.h, and INT_COUNTS in
 * that of int. */

void FORM(lnwf_alltoall)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                         const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                         const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Alltoall)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                                      of_receive.type, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_alltoallv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                          const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                          const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                          MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_of(MPI_Comm_f2c(*comm)));
  const COUNT* const sendcounts_of_types = in_units(&of_send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&of_send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&of_receive, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Alltoallv)(of_send.at, sendcounts_of_types, sdispls_of_types, of_send.type, of_receive.at,
                                       recvcounts_of_types, rdispls_of_types, of_receive.type, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_alltoallw)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                          const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                          const DISPLACEMENT rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* comm,
                          MPI_Fint* ierror) {
  const Types types =
      make_types(ranks_of(MPI_Comm_f2c(*comm)), buffer(sendbuf) == MPI_IN_PLACE ? NULL : sendtypes, recvtypes);
  const int code = FORM(LNW_Alltoallw)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts,
                                       rdispls, types.recv, MPI_Comm_f2c(*comm));
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_allgather)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                          const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                          const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Allgather)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at,
                                       *recvcount_of_types, of_receive.type, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_allgatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                           const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                           const MPI_Fint* recvtype, const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_of(MPI_Comm_f2c(*comm)));
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_receive, number.in, displs, sizeof *displs);
  const int code = FORM(LNW_Allgatherv)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at,
                                        recvcounts_of_types, displs_of_types, of_receive.type, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_gather)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                       const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                       const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Gather)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                                    of_receive.type, *root, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_gatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                        const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                        const MPI_Fint* recvtype, const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_at(MPI_Comm_f2c(*comm), *root));
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_receive, number.in, displs, sizeof *displs);
  const int code = FORM(LNW_Gatherv)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, recvcounts_of_types,
                                     displs_of_types, of_receive.type, *root, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_scatter)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                        const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                        const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Scatter)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                                     of_receive.type, *root, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_scatterv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT displs[],
                         const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT* recvcount,
                         const MPI_Fint* recvtype, const MPI_Fint* root, const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_at(MPI_Comm_f2c(*comm), *root));
  const COUNT* const sendcounts_of_types = in_units(&of_send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_send, number.out, displs, sizeof *displs);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Scatterv)(of_send.at, sendcounts_of_types, displs_of_types, of_send.type, of_receive.at,
                                      *recvcount_of_types, of_receive.type, *root, MPI_Comm_f2c(*comm));
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_bcast)(const CFI_cdesc_t* data, const COUNT* count, const MPI_Fint* datatype, const MPI_Fint* root,
                      const MPI_Fint* comm, MPI_Fint* ierror) {
  Section of_buffer = section(data, *datatype);
  const COUNT* const count_of_types = in_units(&of_buffer, 1, count, sizeof *count);
  const int code = FORM(LNW_Bcast)(of_buffer.at, *count_of_types, of_buffer.type, *root, MPI_Comm_f2c(*comm));
  end_section(&of_buffer);
  finish(code, ierror);
}

void FORM(lnwf_reduce)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                       const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* root, const MPI_Fint* comm,
                       MPI_Fint* ierror) {
  finish(FORM(LNW_Reduce)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op), *root,
                          MPI_Comm_f2c(*comm)),
         ierror);
}

void FORM(lnwf_allreduce)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                          const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(FORM(LNW_Allreduce)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                             MPI_Comm_f2c(*comm)),
         ierror);
}

void FORM(lnwf_reduce_scatter)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                               const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(FORM(LNW_Reduce_scatter)(buffer(sendbuf), buffer(recvbuf), recvcounts, MPI_Type_f2c(*datatype),
                                  MPI_Op_f2c(*op), MPI_Comm_f2c(*comm)),
         ierror);
}

void FORM(lnwf_reduce_scatter_block)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* recvcount,
                                     const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm,
                                     MPI_Fint* ierror) {
  finish(FORM(LNW_Reduce_scatter_block)(buffer(sendbuf), buffer(recvbuf), *recvcount, MPI_Type_f2c(*datatype),
                                        MPI_Op_f2c(*op), MPI_Comm_f2c(*comm)),
         ierror);
}

void FORM(lnwf_scan)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                     const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(FORM(LNW_Scan)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                        MPI_Comm_f2c(*comm)),
         ierror);
}

void FORM(lnwf_exscan)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                       const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(FORM(LNW_Exscan)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                          MPI_Comm_f2c(*comm)),
         ierror);
}

#ifdef INT_COUNTS
void FORM(lnwf_barrier)(const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(FORM(LNW_Barrier)(MPI_Comm_f2c(*comm)), ierror);
}
#endif

void FORM(lnwf_ialltoall)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                          const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                          const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Ialltoall)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at,
                                       *recvcount_of_types, of_receive.type, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_ialltoallv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                           const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                           const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                           LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_of(MPI_Comm_f2c(*comm)));
  const COUNT* const sendcounts_of_types = in_units(&of_send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&of_send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&of_receive, number.in, rdispls, sizeof *rdispls);
  const int code =
      FORM(LNW_Ialltoallv)(of_send.at, sendcounts_of_types, sdispls_of_types, of_send.type, of_receive.at,
                           recvcounts_of_types, rdispls_of_types, of_receive.type, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_ialltoallw)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                           const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                           const DISPLACEMENT rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* comm,
                           LNW_Request* request, MPI_Fint* ierror) {
  const Types types =
      make_types(ranks_of(MPI_Comm_f2c(*comm)), buffer(sendbuf) == MPI_IN_PLACE ? NULL : sendtypes, recvtypes);
  const int code = FORM(LNW_Ialltoallw)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts,
                                        rdispls, types.recv, MPI_Comm_f2c(*comm), request);
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_iallgather)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                           const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                           const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Iallgather)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at,
                                        *recvcount_of_types, of_receive.type, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_iallgatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                            const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                            const MPI_Fint* recvtype, const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_of(MPI_Comm_f2c(*comm)));
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_receive, number.in, displs, sizeof *displs);
  const int code =
      FORM(LNW_Iallgatherv)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, recvcounts_of_types,
                            displs_of_types, of_receive.type, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_igather)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                        const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                        const MPI_Fint* root, const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Igather)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                                     of_receive.type, *root, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_igatherv)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                         const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                         const MPI_Fint* recvtype, const MPI_Fint* root, const MPI_Fint* comm, LNW_Request* request,
                         MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_at(MPI_Comm_f2c(*comm), *root));
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_receive, number.in, displs, sizeof *displs);
  const int code = FORM(LNW_Igatherv)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, recvcounts_of_types,
                                      displs_of_types, of_receive.type, *root, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_iscatter)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                         const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                         const MPI_Fint* root, const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Iscatter)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                                      of_receive.type, *root, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_iscatterv)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT displs[],
                          const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT* recvcount,
                          const MPI_Fint* recvtype, const MPI_Fint* root, const MPI_Fint* comm, LNW_Request* request,
                          MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_at(MPI_Comm_f2c(*comm), *root));
  const COUNT* const sendcounts_of_types = in_units(&of_send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_send, number.out, displs, sizeof *displs);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Iscatterv)(of_send.at, sendcounts_of_types, displs_of_types, of_send.type, of_receive.at,
                                       *recvcount_of_types, of_receive.type, *root, MPI_Comm_f2c(*comm), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_ibcast)(const CFI_cdesc_t* data, const COUNT* count, const MPI_Fint* datatype, const MPI_Fint* root,
                       const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  Section of_buffer = section(data, *datatype);
  const COUNT* const count_of_types = in_units(&of_buffer, 1, count, sizeof *count);
  const int code = FORM(LNW_Ibcast)(of_buffer.at, *count_of_types, of_buffer.type, *root, MPI_Comm_f2c(*comm), request);
  end_section(&of_buffer);
  finish(code, ierror);
}

void FORM(lnwf_ireduce)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                        const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* root, const MPI_Fint* comm,
                        LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ireduce)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op), *root,
                           MPI_Comm_f2c(*comm), request),
         ierror);
}

void FORM(lnwf_iallreduce)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                           const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, LNW_Request* request,
                           MPI_Fint* ierror) {
  finish(FORM(LNW_Iallreduce)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                              MPI_Comm_f2c(*comm), request),
         ierror);
}

void FORM(lnwf_ireduce_scatter)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm,
                                LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ireduce_scatter)(buffer(sendbuf), buffer(recvbuf), recvcounts, MPI_Type_f2c(*datatype),
                                   MPI_Op_f2c(*op), MPI_Comm_f2c(*comm), request),
         ierror);
}

void FORM(lnwf_ireduce_scatter_block)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* recvcount,
                                      const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm,
                                      LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ireduce_scatter_block)(buffer(sendbuf), buffer(recvbuf), *recvcount, MPI_Type_f2c(*datatype),
                                         MPI_Op_f2c(*op), MPI_Comm_f2c(*comm), request),
         ierror);
}

void FORM(lnwf_iscan)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                      const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, LNW_Request* request,
                      MPI_Fint* ierror) {
  finish(FORM(LNW_Iscan)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                         MPI_Comm_f2c(*comm), request),
         ierror);
}

void FORM(lnwf_iexscan)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                        const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, LNW_Request* request,
                        MPI_Fint* ierror) {
  finish(FORM(LNW_Iexscan)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                           MPI_Comm_f2c(*comm), request),
         ierror);
}

#ifdef INT_COUNTS
void FORM(lnwf_ibarrier)(const MPI_Fint* comm, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Ibarrier)(MPI_Comm_f2c(*comm), request), ierror);
}
#endif

void FORM(lnwf_alltoall_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                              const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                              const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Alltoall_init)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                              of_receive.type, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_alltoallv_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                               const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                               const DISPLACEMENT rdispls[], const MPI_Fint* recvtype, const MPI_Fint* comm,
                               const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_of(MPI_Comm_f2c(*comm)));
  const COUNT* const sendcounts_of_types = in_units(&of_send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const sdispls_of_types = in_units(&of_send, number.out, sdispls, sizeof *sdispls);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const rdispls_of_types = in_units(&of_receive, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Alltoallv_init)(of_send.at, sendcounts_of_types, sdispls_of_types, of_send.type,
                                            of_receive.at, recvcounts_of_types, rdispls_of_types, of_receive.type,
                                            MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_alltoallw_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT sdispls[],
                               const MPI_Fint sendtypes[], const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                               const DISPLACEMENT rdispls[], const MPI_Fint recvtypes[], const MPI_Fint* comm,
                               const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  const Types types =
      make_types(ranks_of(MPI_Comm_f2c(*comm)), buffer(sendbuf) == MPI_IN_PLACE ? NULL : sendtypes, recvtypes);
  const int code =
      FORM(LNW_Alltoallw_init)(buffer(sendbuf), sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts, rdispls,
                               types.recv, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  free_types(types);
  finish(code, ierror);
}

void FORM(lnwf_allgather_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                               const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                               const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Allgather_init)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                               of_receive.type, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_allgatherv_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                                const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                                const MPI_Fint* recvtype, const MPI_Fint* comm, const MPI_Fint* info,
                                LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_of(MPI_Comm_f2c(*comm)));
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_receive, number.in, displs, sizeof *displs);
  const int code =
      FORM(LNW_Allgatherv_init)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, recvcounts_of_types,
                                displs_of_types, of_receive.type, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_gather_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                            const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                            const MPI_Fint* root, const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request,
                            MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Gather_init)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                            of_receive.type, *root, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_gatherv_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                             const CFI_cdesc_t* recvbuf, const COUNT recvcounts[], const DISPLACEMENT displs[],
                             const MPI_Fint* recvtype, const MPI_Fint* root, const MPI_Fint* comm, const MPI_Fint* info,
                             LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_at(MPI_Comm_f2c(*comm), *root));
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcounts_of_types = in_units(&of_receive, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_receive, number.in, displs, sizeof *displs);
  const int code = FORM(LNW_Gatherv_init)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at,
                                          recvcounts_of_types, displs_of_types, of_receive.type, *root,
                                          MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_scatter_init)(const CFI_cdesc_t* sendbuf, const COUNT* sendcount, const MPI_Fint* sendtype,
                             const CFI_cdesc_t* recvbuf, const COUNT* recvcount, const MPI_Fint* recvtype,
                             const MPI_Fint* root, const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request,
                             MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const COUNT* const sendcount_of_types = in_units(&of_send, 1, sendcount, sizeof *sendcount);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code =
      FORM(LNW_Scatter_init)(of_send.at, *sendcount_of_types, of_send.type, of_receive.at, *recvcount_of_types,
                             of_receive.type, *root, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_scatterv_init)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[], const DISPLACEMENT displs[],
                              const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const COUNT* recvcount,
                              const MPI_Fint* recvtype, const MPI_Fint* root, const MPI_Fint* comm,
                              const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_send = section(sendbuf, *sendtype), of_receive = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_send, of_receive, ranks_at(MPI_Comm_f2c(*comm), *root));
  const COUNT* const sendcounts_of_types = in_units(&of_send, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const displs_of_types = in_units(&of_send, number.out, displs, sizeof *displs);
  const COUNT* const recvcount_of_types = in_units(&of_receive, 1, recvcount, sizeof *recvcount);
  const int code = FORM(LNW_Scatterv_init)(of_send.at, sendcounts_of_types, displs_of_types, of_send.type,
                                           of_receive.at, *recvcount_of_types, of_receive.type, *root,
                                           MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request);
  end_section(&of_send);
  end_section(&of_receive);
  finish(code, ierror);
}

void FORM(lnwf_bcast_init)(const CFI_cdesc_t* data, const COUNT* count, const MPI_Fint* datatype, const MPI_Fint* root,
                           const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_buffer = section(data, *datatype);
  const COUNT* const count_of_types = in_units(&of_buffer, 1, count, sizeof *count);
  const int code = FORM(LNW_Bcast_init)(of_buffer.at, *count_of_types, of_buffer.type, *root, MPI_Comm_f2c(*comm),
                                        MPI_Info_f2c(*info), request);
  end_section(&of_buffer);
  finish(code, ierror);
}

void FORM(lnwf_reduce_init)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                            const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* root, const MPI_Fint* comm,
                            const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Reduce_init)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                               *root, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_allreduce_init)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                               const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, const MPI_Fint* info,
                               LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Allreduce_init)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                                  MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_reduce_scatter_init)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                    const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm,
                                    const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Reduce_scatter_init)(buffer(sendbuf), buffer(recvbuf), recvcounts, MPI_Type_f2c(*datatype),
                                       MPI_Op_f2c(*op), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_reduce_scatter_block_init)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf,
                                          const COUNT* recvcount, const MPI_Fint* datatype, const MPI_Fint* op,
                                          const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request,
                                          MPI_Fint* ierror) {
  finish(FORM(LNW_Reduce_scatter_block_init)(buffer(sendbuf), buffer(recvbuf), *recvcount, MPI_Type_f2c(*datatype),
                                             MPI_Op_f2c(*op), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_scan_init)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                          const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, const MPI_Fint* info,
                          LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Scan_init)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                             MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void FORM(lnwf_exscan_init)(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* recvbuf, const COUNT* count,
                            const MPI_Fint* datatype, const MPI_Fint* op, const MPI_Fint* comm, const MPI_Fint* info,
                            LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Exscan_init)(buffer(sendbuf), buffer(recvbuf), *count, MPI_Type_f2c(*datatype), MPI_Op_f2c(*op),
                               MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

#ifdef INT_COUNTS
void FORM(lnwf_barrier_init)(const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(FORM(LNW_Barrier_init)(MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request), ierror);
}
#endif

#undef FORM
#undef COUNT
#undef DISPLACEMENT
