/* Channels and partitioned messages, for shim.c. */

void lnwf_comm_prepare(const MPI_Fint* comm, MPI_Fint* ierror) {
  finish(LNW_Comm_prepare(MPI_Comm_f2c(*comm)), ierror);
}

void lnwf_channel_create(const MPI_Fint* comm, const MPI_Fint* peer, const MPI_Fint* role, const MPI_Count* bytes,
                         const MPI_Fint* segments, const MPI_Fint* info, LNW_Channel* channel, MPI_Fint* ierror) {
  finish(LNW_Channel_create(MPI_Comm_f2c(*comm), *peer, *role, *bytes, *segments, MPI_Info_f2c(*info), channel),
         ierror);
}

void lnwf_channel_create_with_buffer(const MPI_Fint* comm, const MPI_Fint* peer, const MPI_Fint* role,
                                     const CFI_cdesc_t* own, const MPI_Count* bytes, const MPI_Fint* segments,
                                     const MPI_Fint* info, LNW_Channel* channel, MPI_Fint* ierror) {
  finish(LNW_Channel_create_with_buffer(MPI_Comm_f2c(*comm), *peer, *role, buffer(own), *bytes, *segments,
                                        MPI_Info_f2c(*info), channel),
         ierror);
}

void lnwf_channel_put(const LNW_Channel* channel, const MPI_Fint* segment, const CFI_cdesc_t* data,
                      const MPI_Count* bytes, MPI_Fint* ierror) {
  finish(LNW_Channel_put(*channel, *segment, buffer(data), *bytes), ierror);
}

void lnwf_channel_flush(const LNW_Channel* channel, MPI_Fint* ierror) {
  finish(LNW_Channel_flush(*channel), ierror);
}

void lnwf_channel_test_free(const LNW_Channel* channel, const MPI_Fint* segment, int* flag, MPI_Fint* ierror) {
  *flag = 0;
  finish(LNW_Channel_test_free(*channel, *segment, flag), ierror);
}

void lnwf_channel_test(const LNW_Channel* channel, const MPI_Fint* segment, int* flag, void** data, MPI_Count* bytes,
                       MPI_Fint* ierror) {
  *flag = 0;
  *data = NULL;
  *bytes = 0;
  finish(LNW_Channel_test(*channel, *segment, flag, data, bytes), ierror);
}

void lnwf_channel_wait(const LNW_Channel* channel, const MPI_Fint* segment, void** data, MPI_Count* bytes,
                       MPI_Fint* ierror) {
  *data = NULL;
  *bytes = 0;
  finish(LNW_Channel_wait(*channel, *segment, data, bytes), ierror);
}

void lnwf_channel_release(const LNW_Channel* channel, const MPI_Fint* segment, MPI_Fint* ierror) {
  finish(LNW_Channel_release(*channel, *segment), ierror);
}

void lnwf_channel_get_info(const LNW_Channel* channel, MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info reasons = MPI_INFO_NULL;
  const int code = LNW_Channel_get_info(*channel, &reasons);
  *info = MPI_Info_c2f(reasons);
  finish(code, ierror);
}

void lnwf_channel_free(LNW_Channel* channel, MPI_Fint* ierror) {
  finish(LNW_Channel_free(channel), ierror);
}

void lnwf_psend_init(const CFI_cdesc_t* buf, const MPI_Fint* partitions, const MPI_Count* count,
                     const MPI_Fint* datatype, const MPI_Fint* dest, const MPI_Fint* tag, const MPI_Fint* comm,
                     const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_buf = section(buf, *datatype);
  const MPI_Count* const each = in_units(&of_buf, 1, count, sizeof *count);
  const int code = LNW_Psend_init(of_buf.at, *partitions, *each, of_buf.type, *dest, *tag, MPI_Comm_f2c(*comm),
                                  MPI_Info_f2c(*info), request);
  end_section(&of_buf);
  finish(code, ierror);
}

void lnwf_precv_init(const CFI_cdesc_t* buf, const MPI_Fint* partitions, const MPI_Count* count,
                     const MPI_Fint* datatype, const MPI_Fint* source, const MPI_Fint* tag, const MPI_Fint* comm,
                     const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_buf = section(buf, *datatype);
  const MPI_Count* const each = in_units(&of_buf, 1, count, sizeof *count);
  const int code = LNW_Precv_init(of_buf.at, *partitions, *each, of_buf.type, *source, *tag, MPI_Comm_f2c(*comm),
                                  MPI_Info_f2c(*info), request);
  end_section(&of_buf);
  finish(code, ierror);
}

void lnwf_pready(const MPI_Fint* partition, const LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Pready(*partition, *request), ierror);
}

void lnwf_pready_range(const MPI_Fint* partition_low, const MPI_Fint* partition_high, const LNW_Request* request,
                       MPI_Fint* ierror) {
  finish(LNW_Pready_range(*partition_low, *partition_high, *request), ierror);
}

void lnwf_pready_list(const MPI_Fint* length, const MPI_Fint array_of_partitions[], const LNW_Request* request,
                      MPI_Fint* ierror) {
  finish(LNW_Pready_list(*length, array_of_partitions, *request), ierror);
}

void lnwf_parrived(const LNW_Request* request, const MPI_Fint* partition, int* flag, MPI_Fint* ierror) {
  *flag = 0;
  finish(LNW_Parrived(*request, *partition, flag), ierror);
}

/* Edges are positions in arrays, which start at 1 in Fortran. */
void lnwf_pready_edge(const LNW_Request* request, const MPI_Fint* edge, const MPI_Fint* partition, MPI_Fint* ierror) {
  finish(LNW_Pready_edge(*request, *edge - 1, *partition), ierror);
}

void lnwf_pready_word(const LNW_Request* request, const MPI_Fint* partition, void** word, MPI_Fint* ierror) {
  uint64_t* found = NULL;
  finish(LNW_Pready_word(*request, *partition, &found), ierror);
  *word = found;
}

void lnwf_pready_edge_word(const LNW_Request* request, const MPI_Fint* edge, const MPI_Fint* partition, void** word,
                           MPI_Fint* ierror) {
  uint64_t* found = NULL;
  finish(LNW_Pready_edge_word(*request, *edge - 1, *partition, &found), ierror);
  *word = found;
}

/* Elements and counts are contiguous: datatypes with gaps are refused. */
void lnwf_alltoallv_counted_init(const CFI_cdesc_t* sendbuf, const CFI_cdesc_t* sendcounts, const MPI_Fint sdispls[],
                                 const MPI_Fint* sendtype, const CFI_cdesc_t* recvbuf, const CFI_cdesc_t* recvcounts,
                                 const MPI_Fint recvcapacities[], const MPI_Fint rdispls[], const MPI_Fint* recvtype,
                                 const MPI_Fint* comm, const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Alltoallv_counted_init(buffer(sendbuf), buffer(sendcounts), sdispls, MPI_Type_f2c(*sendtype),
                                    buffer(recvbuf), buffer(recvcounts), recvcapacities, rdispls,
                                    MPI_Type_f2c(*recvtype), MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_parrived_edge(const LNW_Request* request, const MPI_Fint* edge, const MPI_Fint* partition, int* flag,
                        MPI_Fint* ierror) {
  *flag = 0;
  finish(LNW_Parrived_edge(*request, *edge - 1, *partition, flag), ierror);
}

void lnwf_wait_any_edge(const LNW_Request* request, MPI_Fint* edge, MPI_Fint* partition, MPI_Fint* ierror) {
  finish(LNW_Wait_any_edge(*request, edge, partition), ierror);
  if (*edge != MPI_UNDEFINED) ++*edge;
}

void lnwf_test_any_edge(const LNW_Request* request, MPI_Fint* edge, MPI_Fint* partition, int* flag, MPI_Fint* ierror) {
  *flag = 0;
  finish(LNW_Test_any_edge(*request, edge, partition, flag), ierror);
  if (*edge != MPI_UNDEFINED) ++*edge;
}

void lnwf_request_on_complete(const LNW_Request* request, LNW_Completion_function* function, void* const* state,
                              MPI_Fint* ierror) {
  finish(LNW_Request_on_complete(*request, function, *state), ierror);
}

void lnwf_request_on_arrival(const LNW_Request* request, const MPI_Fint* edge, const MPI_Fint* partition,
                             LNW_Completion_function* function, void* const* state, MPI_Fint* ierror) {
  finish(LNW_Request_on_arrival(*request, *edge - 1, *partition, function, *state), ierror);
}

typedef int VariableOf(int, LNW_Variable*);

static void copy_variable(VariableOf* get, const MPI_Fint* index, const char** name, const char** environment,
                          const char** description, MPI_Fint* ierror) {
  LNW_Variable found = {"", "", ""};
  finish(get(*index, &found), ierror);
  *name = found.name;
  *environment = found.environment;
  *description = found.description;
}

void lnwf_cvar_get_info(const MPI_Fint* index, const char** name, const char** environment, const char** description,
                        MPI_Fint* ierror) {
  copy_variable(LNW_Cvar_get_info, index, name, environment, description, ierror);
}

void lnwf_pvar_get_info(const MPI_Fint* index, const char** name, const char** environment, const char** description,
                        MPI_Fint* ierror) {
  copy_variable(LNW_Pvar_get_info, index, name, environment, description, ierror);
}

void lnwf_cvar_get_num(MPI_Fint* num, MPI_Fint* ierror) {
  finish(LNW_Cvar_get_num(num), ierror);
}

void lnwf_cvar_get_index(const char* name, MPI_Fint* index, MPI_Fint* ierror) {
  finish(LNW_Cvar_get_index(name, index), ierror);
}

void lnwf_cvar_read(const MPI_Fint* index, const MPI_Fint* comm, char* text, const MPI_Fint* size, MPI_Fint* length,
                    MPI_Fint* ierror) {
  *length = 0;
  finish(LNW_Cvar_read(*index, MPI_Comm_f2c(*comm), text, *size, length), ierror);
}

void lnwf_pvar_get_num(MPI_Fint* num, MPI_Fint* ierror) {
  finish(LNW_Pvar_get_num(num), ierror);
}

void lnwf_pvar_get_index(const char* name, MPI_Fint* index, MPI_Fint* ierror) {
  finish(LNW_Pvar_get_index(name, index), ierror);
}

void lnwf_pvar_read(const MPI_Fint* index, const MPI_Fint* comm, MPI_Count* value, MPI_Fint* ierror) {
  finish(LNW_Pvar_read(*index, MPI_Comm_f2c(*comm), value), ierror);
}
