/** PetscSF's exchanges on Laneway's plans: a type "laneway" beside PETSc's "basic" and "neighbor".
 *
 *  Header only: it is compiled against the PETSc headers of the program (3.15 or newer, with its private headers, which
 *  are installed with it). Link Laneway as for laneway.h. docs/use/petsc.md has an example.
 *
 *  Broadcasts and reductions run by persistent exchanges, which are made at their first use and kept with the star
 *  forest. PETSc's own type "basic" does the rest: memory of devices, operators that are none of MPI_REPLACE, MPI_SUM,
 *  MPI_PROD, MPI_MAX and MPI_MIN, and PetscSFFetchAndOp.
 */
#ifndef LANEWAY_PETSCSF_H
#define LANEWAY_PETSCSF_H

#include <laneway/laneway.h>
#include <petsc/private/sfimpl.h>

#if PETSC_VERSION_LT(3, 15, 0)
#error "laneway/petscsf.h needs PETSc 3.15 or newer: broadcasts of older ones have no operator"
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** For PetscSFSetType, and -sf_type. */
#define LNW_PETSCSF "laneway"

/** @name Parts of the type
 *  @{ */
typedef struct LNW_PetscSF_exchange {
  LNW_Request request;
  MPI_Datatype unit; /**< a duplicate */
  MPI_Op op;
  PetscBool reverse, active;
  const void* from; /**< while it is active */
  void* to;
  struct LNW_PetscSF_exchange* next;
} LNW_PetscSF_exchange;

typedef struct LNW_PetscSF_state {
  struct _PetscSFOps basic;
  LNW_Topology topologies[2]; /**< from roots to leaves, and back */
  LNW_PetscSF_exchange* first;
} LNW_PetscSF_state;

static inline PetscErrorCode LNW_PetscSF_state_of(PetscSF sf, LNW_PetscSF_state** state) {
  PetscContainer container = NULL;

  PetscFunctionBegin;
  PetscCall(PetscObjectQuery((PetscObject)sf, "LNW_PetscSF", (PetscObject*)&container));
  PetscCheck(container, PetscObjectComm((PetscObject)sf), PETSC_ERR_PLIB, "type laneway without its state");
  PetscCall(PetscContainerGetPointer(container, (void**)state));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode LNW_PetscSF_clear(LNW_PetscSF_state* state) {
  PetscFunctionBegin;
  while (state->first != NULL) {
    LNW_PetscSF_exchange* exchange = state->first;
    state->first = exchange->next;
    PetscCallMPI(LNW_Request_free(&exchange->request));
    PetscCallMPI(MPI_Type_free(&exchange->unit));
    PetscCall(PetscFree(exchange));
  }
  for (int i = 0; i < 2; ++i)
    if (state->topologies[i] != LNW_TOPOLOGY_NULL) PetscCallMPI(LNW_Topology_free(&state->topologies[i]));
  PetscFunctionReturn(0);
}

/** As elements of a datatype that `op` combines; `per_unit` 0: basic does it. The same on all ranks. */
static inline PetscErrorCode LNW_PetscSF_elements(MPI_Datatype unit, MPI_Op op, MPI_Datatype* element,
                                                  PetscInt* per_unit) {
  const MPI_Datatype known[] = {MPIU_SCALAR, MPIU_REAL, MPIU_INT};
  PetscMPIInt integers, addresses, types, combiner;

  PetscFunctionBegin;
  *element = unit;
  *per_unit = 1;
  if (op == MPI_REPLACE) PetscFunctionReturn(0);
  *per_unit = 0;
  if (op != MPI_SUM && op != MPI_PROD && op != MPI_MAX && op != MPI_MIN) PetscFunctionReturn(0);
  PetscCallMPI(MPI_Type_get_envelope(unit, &integers, &addresses, &types, &combiner));
  if (combiner == MPI_COMBINER_NAMED) *per_unit = 1;
  for (int i = 0; i < 3 && *per_unit == 0; ++i) {
    *element = known[i];
    PetscCallMPI(MPI_Type_get_envelope(*element, &integers, &addresses, &types, &combiner));
    if (combiner == MPI_COMBINER_NAMED) PetscCall(MPIPetsc_Type_compare_contig(unit, *element, per_unit));
  }
  PetscFunctionReturn(0);
}

/** The elements of the units at `places`, which are as many as `offsets` says of `ranks`. */
static inline PetscErrorCode LNW_PetscSF_side(PetscInt ranks, const PetscInt* offsets, const PetscInt* places,
                                              PetscInt per_unit, int** counts, MPI_Count** indices) {
  const PetscInt units = ranks > 0 ? offsets[ranks] : 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(ranks, counts, units * per_unit, indices));
  for (PetscInt i = 0; i < ranks; ++i) {
    PetscMPIInt count;
    PetscCall(PetscMPIIntCast((offsets[i + 1] - offsets[i]) * per_unit, &count));
    (*counts)[i] = count;
  }
  for (PetscInt i = 0; i < units; ++i)
    for (PetscInt j = 0; j < per_unit; ++j)
      (*indices)[i * per_unit + j] = (MPI_Count)(places != NULL ? places[i] : i) * per_unit + j;
  PetscFunctionReturn(0);
}

/** Collective: all ranks begin the same operations in the same order. */
static inline PetscErrorCode LNW_PetscSF_make(PetscSF sf, LNW_PetscSF_state* state, PetscBool reverse,
                                              MPI_Datatype unit, MPI_Op op, MPI_Datatype element, PetscInt per_unit,
                                              LNW_PetscSF_exchange* exchange) {
  PetscInt roots, leaves;
  const PetscMPIInt *root_ranks, *leaf_ranks;
  const PetscInt *root_offsets, *root_places, *leaf_offsets, *leaf_places, *remote;
  int *root_counts, *leaf_counts;
  MPI_Count *root_indices, *leaf_indices;

  PetscFunctionBegin;
  // What my leaves come from, and what my roots go to.
  PetscCall(PetscSFGetRootRanks(sf, &leaves, &leaf_ranks, &leaf_offsets, &leaf_places, &remote));
  PetscCall(PetscSFGetLeafRanks(sf, &roots, &root_ranks, &root_offsets, &root_places));
  if (state->topologies[reverse] == LNW_TOPOLOGY_NULL) {
    const MPI_Comm comm = PetscObjectComm((PetscObject)sf);
    if (reverse)
      PetscCallMPI(LNW_Topology_create(comm, (int)roots, root_ranks, MPI_UNWEIGHTED, (int)leaves, leaf_ranks,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, &state->topologies[1]));
    else
      PetscCallMPI(LNW_Topology_create(comm, (int)leaves, leaf_ranks, MPI_UNWEIGHTED, (int)roots, root_ranks,
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, &state->topologies[0]));
  }
  PetscCall(LNW_PetscSF_side(roots, root_offsets, root_places, per_unit, &root_counts, &root_indices));
  PetscCall(LNW_PetscSF_side(leaves, leaf_offsets, leaf_places, per_unit, &leaf_counts, &leaf_indices));
  const MPI_Count root_size = (MPI_Count)sf->nroots * per_unit,
                  leaf_size = sf->nleaves > 0 ? ((MPI_Count)sf->maxleaf + 1) * per_unit : 0;
  const MPI_Count from_size = reverse ? leaf_size : root_size, to_size = reverse ? root_size : leaf_size;
  const int *from_counts = reverse ? leaf_counts : root_counts, *to_counts = reverse ? root_counts : leaf_counts;
  const MPI_Count *from_indices = reverse ? leaf_indices : root_indices,
                  *to_indices = reverse ? root_indices : leaf_indices;
  if (op == MPI_REPLACE)
    PetscCallMPI(LNW_Neighbor_alltoallv_init_indexed_topology(
        NULL, from_size, from_counts, from_indices, element, NULL, to_size, to_counts, to_indices, element,
        state->topologies[reverse], MPI_INFO_NULL, &exchange->request));
  else
    PetscCallMPI(LNW_Neighbor_reducev_init_indexed_topology(
        NULL, from_size, from_counts, from_indices, element, NULL, to_size, to_counts, to_indices, element, op,
        state->topologies[reverse], MPI_INFO_NULL, &exchange->request));
  PetscCall(PetscFree2(root_counts, root_indices));
  PetscCall(PetscFree2(leaf_counts, leaf_indices));
  PetscCallMPI(MPI_Type_dup(unit, &exchange->unit));
  exchange->op = op;
  exchange->reverse = reverse;
  PetscFunctionReturn(0);
}

static inline PetscErrorCode LNW_PetscSF_begin(PetscSF sf, PetscBool reverse, MPI_Datatype unit,
                                               PetscMemType from_memory, const void* from, PetscMemType to_memory,
                                               void* to, MPI_Op op) {
  LNW_PetscSF_state* state;
  MPI_Datatype element = unit;
  PetscInt per_unit = 0;
  LNW_PetscSF_exchange* exchange;

  PetscFunctionBegin;
  PetscCall(LNW_PetscSF_state_of(sf, &state));
  if (PetscMemTypeHost(from_memory) && PetscMemTypeHost(to_memory))
    PetscCall(LNW_PetscSF_elements(unit, op, &element, &per_unit));
  if (per_unit == 0) {
    PetscCall((*(reverse ? state->basic.ReduceBegin : state->basic.BcastBegin))(sf, unit, from_memory, from, to_memory,
                                                                                to, op));
    PetscFunctionReturn(0);
  }
  for (exchange = state->first; exchange != NULL; exchange = exchange->next) {
    PetscBool is_same = PETSC_FALSE;
    if (exchange->active || exchange->op != op || exchange->reverse != reverse) continue;
    PetscCall(MPIPetsc_Type_compare(unit, exchange->unit, &is_same));
    if (is_same) break;
  }
  if (exchange == NULL) {
    PetscCall(PetscNew(&exchange));
    PetscCall(LNW_PetscSF_make(sf, state, reverse, unit, op, element, per_unit, exchange));
    exchange->next = state->first;
    state->first = exchange;
  }
  PetscCallMPI(LNW_Request_set_buffers(exchange->request, from, to));
  PetscCallMPI(LNW_Start(&exchange->request));
  exchange->from = from;
  exchange->to = to;
  exchange->active = PETSC_TRUE;
  PetscFunctionReturn(0);
}

static inline PetscErrorCode LNW_PetscSF_end(PetscSF sf, PetscBool reverse, MPI_Datatype unit, const void* from,
                                             void* to, MPI_Op op) {
  LNW_PetscSF_state* state;

  PetscFunctionBegin;
  PetscCall(LNW_PetscSF_state_of(sf, &state));
  for (LNW_PetscSF_exchange* exchange = state->first; exchange != NULL; exchange = exchange->next) {
    PetscBool is_same = PETSC_FALSE;
    if (!exchange->active || exchange->op != op || exchange->reverse != reverse || exchange->from != from ||
        exchange->to != to)
      continue;
    PetscCall(MPIPetsc_Type_compare(unit, exchange->unit, &is_same));
    if (!is_same) continue;
    PetscCallMPI(LNW_Wait(&exchange->request, MPI_STATUS_IGNORE));
    exchange->active = PETSC_FALSE;
    PetscFunctionReturn(0);
  }
  PetscCall((*(reverse ? state->basic.ReduceEnd : state->basic.BcastEnd))(sf, unit, from, to, op));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode LNW_PetscSF_bcast_begin(PetscSF sf, MPI_Datatype unit, PetscMemType from_memory,
                                                     const void* from, PetscMemType to_memory, void* to, MPI_Op op) {
  return LNW_PetscSF_begin(sf, PETSC_FALSE, unit, from_memory, from, to_memory, to, op);
}

static inline PetscErrorCode LNW_PetscSF_bcast_end(PetscSF sf, MPI_Datatype unit, const void* from, void* to,
                                                   MPI_Op op) {
  return LNW_PetscSF_end(sf, PETSC_FALSE, unit, from, to, op);
}

static inline PetscErrorCode LNW_PetscSF_reduce_begin(PetscSF sf, MPI_Datatype unit, PetscMemType from_memory,
                                                      const void* from, PetscMemType to_memory, void* to, MPI_Op op) {
  return LNW_PetscSF_begin(sf, PETSC_TRUE, unit, from_memory, from, to_memory, to, op);
}

static inline PetscErrorCode LNW_PetscSF_reduce_end(PetscSF sf, MPI_Datatype unit, const void* from, void* to,
                                                    MPI_Op op) {
  return LNW_PetscSF_end(sf, PETSC_TRUE, unit, from, to, op);
}

static inline PetscErrorCode LNW_PetscSF_reset(PetscSF sf) {
  LNW_PetscSF_state* state;

  PetscFunctionBegin;
  PetscCall(LNW_PetscSF_state_of(sf, &state));
  PetscCall(LNW_PetscSF_clear(state));
  if (state->basic.Reset != NULL) PetscCall((*state->basic.Reset)(sf));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode LNW_PetscSF_destroy(PetscSF sf) {
  LNW_PetscSF_state* state;

  PetscFunctionBegin;
  PetscCall(LNW_PetscSF_state_of(sf, &state));
  PetscCall(LNW_PetscSF_clear(state));
  if (state->basic.Destroy != NULL) PetscCall((*state->basic.Destroy)(sf));
  PetscCall(PetscFree(state));
  PetscCall(PetscObjectCompose((PetscObject)sf, "LNW_PetscSF", NULL));
  PetscFunctionReturn(0);
}

static inline PetscErrorCode LNW_PetscSF_create(PetscSF sf) {
  LNW_PetscSF_state* state;
  PetscContainer container;

  PetscFunctionBegin;
  PetscCall(PetscSFSetType(sf, PETSCSFBASIC));
  PetscCall(PetscObjectChangeTypeName((PetscObject)sf, LNW_PETSCSF));
  PetscCall(PetscNew(&state));
  state->basic = *sf->ops;
  state->topologies[0] = state->topologies[1] = LNW_TOPOLOGY_NULL;
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(PetscContainerSetPointer(container, state));
  PetscCall(PetscObjectCompose((PetscObject)sf, "LNW_PetscSF", (PetscObject)container));
  PetscCall(PetscContainerDestroy(&container));
  sf->ops->BcastBegin = LNW_PetscSF_bcast_begin;
  sf->ops->BcastEnd = LNW_PetscSF_bcast_end;
  sf->ops->ReduceBegin = LNW_PetscSF_reduce_begin;
  sf->ops->ReduceEnd = LNW_PetscSF_reduce_end;
  sf->ops->Reset = LNW_PetscSF_reset;
  sf->ops->Destroy = LNW_PetscSF_destroy;
  PetscFunctionReturn(0);
}
/** @} */

/** Makes the type known, after PetscInitialize: to PetscSFSetType, and to `-sf_type laneway` of star forests and
 *  scatters of vectors that are made later. Errors: PETSc's. Local. */
static inline PetscErrorCode LNW_PetscSFRegister(void) {
  PetscFunctionBegin;
  PetscCall(PetscSFRegister(LNW_PETSCSF, LNW_PetscSF_create));
  PetscFunctionReturn(0);
}

#ifdef __cplusplus
}
#endif

#endif
