/* Partitioned neighborhoods in one form; see operations.h, of which this uses the macros. */

void FORM(lnwf_neighbor_alltoallv_init_partitioned)(const CFI_cdesc_t* sendbuf, const COUNT sendcounts[],
                                                    const DISPLACEMENT sdispls[], const MPI_Fint* sendtype,
                                                    const CFI_cdesc_t* recvbuf, const COUNT recvcounts[],
                                                    const DISPLACEMENT rdispls[], const MPI_Fint* recvtype,
                                                    const MPI_Fint sendpartitions[], const MPI_Fint recvpartitions[],
                                                    const WHERE* where, const MPI_Fint* info, LNW_Request* request,
                                                    MPI_Fint* ierror) {
  Section of_sendbuf = section(sendbuf, *sendtype);
  Section of_recvbuf = section(recvbuf, *recvtype);
  const Degrees number = COUNTED(of_sendbuf, of_recvbuf, DEGREES(TO_C(*where)));
  const COUNT* const sent = in_units(&of_sendbuf, number.out, sendcounts, sizeof *sendcounts);
  const DISPLACEMENT* const from = in_units(&of_sendbuf, number.out, sdispls, sizeof *sdispls);
  const COUNT* const received = in_units(&of_recvbuf, number.in, recvcounts, sizeof *recvcounts);
  const DISPLACEMENT* const to = in_units(&of_recvbuf, number.in, rdispls, sizeof *rdispls);
  const int code = FORM(LNW_Neighbor_alltoallv_init_partitioned)(
      of_sendbuf.at, sent, from, of_sendbuf.type, of_recvbuf.at, received, to, of_recvbuf.type, sendpartitions,
      recvpartitions, TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&of_sendbuf);
  end_section(&of_recvbuf);
  finish(code, ierror);
}

void FORM(lnwf_neighbor_alltoallv_init_indexed_partitioned)(
    const CFI_cdesc_t* sendbuf, const MPI_Count* sendsize, const COUNT sendcounts[], const MPI_Count sendindices[],
    const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const MPI_Count* recvsize, const COUNT recvcounts[],
    const MPI_Count recvindices[], const MPI_Fint* recvtype, const MPI_Fint sendpartitions[],
    const MPI_Fint recvpartitions[], const WHERE* where, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_sendbuf = section_of_elements(sendbuf, *sendtype);
  Section of_recvbuf = section_of_elements(recvbuf, *recvtype);
  const int code = FORM(LNW_Neighbor_alltoallv_init_indexed_partitioned)(
      of_sendbuf.at, *sendsize, sendcounts, sendindices, of_sendbuf.type, of_recvbuf.at, *recvsize, recvcounts,
      recvindices, of_recvbuf.type, sendpartitions, recvpartitions, TO_C(*where), MPI_Info_f2c(*info), request);
  end_section(&of_sendbuf);
  end_section(&of_recvbuf);
  finish(code, ierror);
}
