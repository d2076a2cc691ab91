/* Bags, distributors, halos, and sparse exchanges of several sets, for shim.c. */

void lnwf_bag_create(const MPI_Fint* comm, const MPI_Fint* info, LNW_Bag* bag, MPI_Fint* ierror) {
  finish(LNW_Bag_create(MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), bag), ierror);
}

void lnwf_bag_send(const LNW_Bag* bag, const MPI_Fint* destination, const CFI_cdesc_t* data, const MPI_Count* bytes,
                   MPI_Fint* ierror) {
  finish(LNW_Bag_send(*bag, *destination, buffer(data), *bytes), ierror);
}

void lnwf_bag_flush(const LNW_Bag* bag, MPI_Fint* ierror) {
  finish(LNW_Bag_flush(*bag), ierror);
}

void lnwf_bag_iflush(const LNW_Bag* bag, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Bag_iflush(*bag, request), ierror);
}

void lnwf_bag_get_info(const LNW_Bag* bag, MPI_Fint* info, MPI_Fint* ierror) {
  MPI_Info found = MPI_INFO_NULL;
  const int code = LNW_Bag_get_info(*bag, &found);
  *info = MPI_Info_c2f(found);
  finish(code, ierror);
}

void lnwf_bag_free(LNW_Bag* bag, MPI_Fint* ierror) {
  finish(LNW_Bag_free(bag), ierror);
}

void lnwf_distributor_create(const MPI_Fint* comm, const MPI_Count* exports, const MPI_Fint exportranks[],
                             const MPI_Fint* info, LNW_Distributor* distributor, MPI_Fint* ierror) {
  finish(LNW_Distributor_create(MPI_Comm_f2c(*comm), *exports, exportranks, MPI_Info_f2c(*info), distributor), ierror);
}

void lnwf_distributor_create_from_imports(const MPI_Fint* comm, const MPI_Count* exports, const MPI_Count* imports,
                                          const MPI_Fint importranks[], const MPI_Count ids[], const MPI_Fint* info,
                                          LNW_Distributor* distributor, MPI_Fint* ierror) {
  finish(LNW_Distributor_create_from_imports(MPI_Comm_f2c(*comm), *exports, *imports, importranks, ids,
                                             MPI_Info_f2c(*info), distributor),
         ierror);
}

void lnwf_distributor_get_count(const LNW_Distributor* distributor, MPI_Count* exports, MPI_Count* imports,
                                MPI_Fint* ierror) {
  finish(LNW_Distributor_get_count(*distributor, exports, imports), ierror);
}

void lnwf_distributor_exchange(const LNW_Distributor* distributor, const CFI_cdesc_t* exportbuf,
                               const CFI_cdesc_t* importbuf, const MPI_Fint* type, MPI_Fint* ierror) {
  finish(LNW_Distributor_exchange(*distributor, buffer(exportbuf), buffer(importbuf), MPI_Type_f2c(*type)), ierror);
}

void lnwf_distributor_init(const LNW_Distributor* distributor, const CFI_cdesc_t* exportbuf,
                           const CFI_cdesc_t* importbuf, const MPI_Fint* type, const MPI_Fint* info,
                           LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Distributor_init(*distributor, buffer(exportbuf), buffer(importbuf), MPI_Type_f2c(*type),
                              MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_distributor_reverse_init(const LNW_Distributor* distributor, const CFI_cdesc_t* importbuf,
                                   const CFI_cdesc_t* exportbuf, const MPI_Fint* type, const MPI_Fint* op,
                                   const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  finish(LNW_Distributor_reverse_init(*distributor, buffer(importbuf), buffer(exportbuf), MPI_Type_f2c(*type),
                                      MPI_Op_f2c(*op), MPI_Info_f2c(*info), request),
         ierror);
}

void lnwf_distributor_free(LNW_Distributor* distributor, MPI_Fint* ierror) {
  finish(LNW_Distributor_free(distributor), ierror);
}

void lnwf_halo_create(const MPI_Fint* comm, const MPI_Count* first, const MPI_Count* owned, const MPI_Count* ghosts,
                      const MPI_Count ghost_ids[], const MPI_Fint* info, LNW_Halo* halo, MPI_Fint* ierror) {
  finish(LNW_Halo_create(MPI_Comm_f2c(*comm), *first, *owned, *ghosts, ghost_ids, MPI_Info_f2c(*info), halo), ierror);
}

void lnwf_halo_create_from_ids(const MPI_Fint* comm, const MPI_Count* owned, const MPI_Count owned_ids[],
                               const MPI_Count* ghosts, const MPI_Count ghost_ids[], const MPI_Fint* info,
                               LNW_Halo* halo, MPI_Fint* ierror) {
  finish(
      LNW_Halo_create_from_ids(MPI_Comm_f2c(*comm), *owned, owned_ids, *ghosts, ghost_ids, MPI_Info_f2c(*info), halo),
      ierror);
}

void lnwf_halo_get_count(const LNW_Halo* halo, MPI_Count* owned, MPI_Count* elements, MPI_Fint* ierror) {
  finish(LNW_Halo_get_count(*halo, owned, elements), ierror);
}

void lnwf_halo_init(const LNW_Halo* halo, const CFI_cdesc_t* array, const MPI_Fint* type, const MPI_Fint* info,
                    LNW_Request* request, MPI_Fint* ierror) {
  Section of_array = section_of_elements(array, *type);
  const int code = LNW_Halo_init(*halo, of_array.at, of_array.type, MPI_Info_f2c(*info), request);
  end_section(&of_array);
  finish(code, ierror);
}

void lnwf_halo_reverse_init(const LNW_Halo* halo, const CFI_cdesc_t* array, const MPI_Fint* type, const MPI_Fint* op,
                            const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  Section of_array = section_of_elements(array, *type);
  const int code =
      LNW_Halo_reverse_init(*halo, of_array.at, of_array.type, MPI_Op_f2c(*op), MPI_Info_f2c(*info), request);
  end_section(&of_array);
  finish(code, ierror);
}

void lnwf_halo_init_fields(const LNW_Halo* halo, const MPI_Fint* fields, void* const arrays[], const MPI_Fint types[],
                           const MPI_Fint* info, LNW_Request* request, MPI_Fint* ierror) {
  MPI_Datatype* const converted = c_types(*fields, types);
  finish(LNW_Halo_init_fields(*halo, *fields, arrays, converted, MPI_Info_f2c(*info), request), ierror);
  free(converted);
}

void lnwf_halo_reverse_init_fields(const LNW_Halo* halo, const MPI_Fint* fields, void* const arrays[],
                                   const MPI_Fint types[], const MPI_Fint* op, const MPI_Fint* info,
                                   LNW_Request* request, MPI_Fint* ierror) {
  MPI_Datatype* const converted = c_types(*fields, types);
  finish(LNW_Halo_reverse_init_fields(*halo, *fields, arrays, converted, MPI_Op_f2c(*op), MPI_Info_f2c(*info), request),
         ierror);
  free(converted);
}

void lnwf_halo_free(LNW_Halo* halo, MPI_Fint* ierror) {
  finish(LNW_Halo_free(halo), ierror);
}

typedef struct {
  int ndestinations;
  const MPI_Fint* destinations;
  const void* sendbuf;
  const MPI_Fint *sendcounts, *sdispls;
  MPI_Fint sendtype;
} FortranSet;

void lnwf_sparse_alltoallv_sets(const MPI_Fint* nsets, const FortranSet sets[], const MPI_Fint* comm,
                                const MPI_Fint* info, LNW_Arrivals arrivals[], MPI_Fint* ierror) {
  LNW_Sparse_set* const converted = malloc(((size_t)(*nsets > 0 ? *nsets : 0) + 1) * sizeof *converted);
  for (int i = 0; converted != NULL && i < *nsets; ++i) {
    const LNW_Sparse_set set = {sets[i].ndestinations, sets[i].destinations, sets[i].sendbuf,
                                sets[i].sendcounts,    sets[i].sdispls,      MPI_Type_f2c(sets[i].sendtype)};
    converted[i] = set;
  }
  finish(LNW_Sparse_alltoallv_sets(*nsets, converted, MPI_Comm_f2c(*comm), MPI_Info_f2c(*info), arrivals), ierror);
  free(converted);
}

void lnwf_distributor_get_sources(const LNW_Distributor* distributor, const MPI_Fint* maxsources, MPI_Fint* nsources,
                                  MPI_Fint sources[], MPI_Count counts[], MPI_Fint* ierror) {
  const int* found = NULL;
  const MPI_Count* of_each = NULL;
  *nsources = 0;
  const int code = LNW_Distributor_get_sources(*distributor, nsources, &found, &of_each);
  for (int i = 0; code == MPI_SUCCESS && i < *nsources && i < *maxsources; ++i) {
    sources[i] = found[i];
    counts[i] = of_each[i];
  }
  finish(code, ierror);
}

typedef int HaloSide(LNW_Halo, int*, const int**, const MPI_Count**, const MPI_Count**);

static void copy_side(HaloSide* get, LNW_Halo halo, const MPI_Fint* maxneighbors, const MPI_Count* maxelements,
                      MPI_Fint* neighbors, MPI_Fint ranks[], MPI_Count counts[], MPI_Count elements[],
                      MPI_Fint* ierror) {
  const int* found = NULL;
  const MPI_Count *of_each = NULL, *places = NULL;
  MPI_Count number = 0;
  *neighbors = 0;
  const int code = get(halo, neighbors, &found, &of_each, &places);
  for (int i = 0; code == MPI_SUCCESS && i < *neighbors; ++i) {
    number += of_each[i];
    if (i >= *maxneighbors) continue;
    ranks[i] = found[i];
    counts[i] = of_each[i];
  }
  for (MPI_Count i = 0; i < number && i < *maxelements; ++i) elements[i] = places[i];
  finish(code, ierror);
}

void lnwf_halo_get_sent(const LNW_Halo* halo, const MPI_Fint* maxneighbors, const MPI_Count* maxelements,
                        MPI_Fint* neighbors, MPI_Fint ranks[], MPI_Count counts[], MPI_Count elements[],
                        MPI_Fint* ierror) {
  copy_side(LNW_Halo_get_sent, *halo, maxneighbors, maxelements, neighbors, ranks, counts, elements, ierror);
}

void lnwf_halo_get_received(const LNW_Halo* halo, const MPI_Fint* maxneighbors, const MPI_Count* maxelements,
                            MPI_Fint* neighbors, MPI_Fint ranks[], MPI_Count counts[], MPI_Count elements[],
                            MPI_Fint* ierror) {
  copy_side(LNW_Halo_get_received, *halo, maxneighbors, maxelements, neighbors, ranks, counts, elements, ierror);
}

void lnwf_halo_get_cart(const LNW_Halo* halo, const MPI_Fint* maxdims, MPI_Fint dims[], MPI_Fint coords[],
                        MPI_Fint* ierror) {
  finish(LNW_Halo_get_cart(*halo, *maxdims, dims, coords), ierror);
}

void lnwf_bag_next(const LNW_Bag* bag, MPI_Fint* source, void** data, MPI_Count* bytes, int* flag, MPI_Fint* ierror) {
  *flag = 0;
  *source = MPI_PROC_NULL;
  *data = NULL;
  *bytes = 0;
  finish(LNW_Bag_next(*bag, source, data, bytes, flag), ierror);
}

void lnwf_halo_create_cart(const MPI_Fint* comm, const MPI_Fint* ndims, const MPI_Fint dims[], const MPI_Fint extents[],
                           const MPI_Fint widths[], const MPI_Fint periods[], int corners, const MPI_Fint* info,
                           LNW_Halo* halo, MPI_Fint* ierror) {
  finish(LNW_Halo_create_cart(MPI_Comm_f2c(*comm), *ndims, dims, extents, widths, periods, corners, MPI_Info_f2c(*info),
                              halo),
         ierror);
}
