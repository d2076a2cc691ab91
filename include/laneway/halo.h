/** Halos from what programs have: global numbers of ghosts, or a grid of ranks. */
#ifndef LANEWAY_HALO_H
#define LANEWAY_HALO_H

#include <laneway/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Which elements of an array are copies of which elements of other ranks. */
typedef struct LNW_Halo_s* LNW_Halo;
#define LNW_HALO_NULL ((LNW_Halo)0)

/** @name Halos
 *  Collective over the ranks of `comm`; who owns what is found (docs/use/discovery.md). Where the arguments of one rank
 *  are bad, all ranks get an error: that rank's names the argument, the others' the rank.
 *  @{ */
/** Of arrays with `owned` elements of this rank, whose global numbers begin at `first`, and then one element for each
 *  of `ghosts` numbers in `ghost_ids`: a copy of the element with this number, which some rank must own. Numbers may
 *  come several times, own ones too. */
LNW_PUBLIC int LNW_Halo_create(MPI_Comm comm, MPI_Count first, MPI_Count owned, MPI_Count ghosts,
                               const MPI_Count ghost_ids[], MPI_Info info, LNW_Halo* halo);
/** As LNW_Halo_create, with any numbers of the own elements, each of which one rank owns. */
LNW_PUBLIC int LNW_Halo_create_from_ids(MPI_Comm comm, MPI_Count owned, const MPI_Count owned_ids[], MPI_Count ghosts,
                                        const MPI_Count ghost_ids[], MPI_Info info, LNW_Halo* halo);
/** Of arrays with `ndims` dimensions in row-major order, spread over a grid of ranks, which are in row-major order,
 * too, as by MPI_Cart_create without reordering. `dims[d]` ranks in each dimension; those that are 0, or all if `dims`
 * is NULL, are chosen as by MPI_Dims_create. This rank has `extents[d]` elements of its own, and `widths[d]` ghosts at
 *  both ends. Ranks that share their place in dimension d have the same extent in it. `periods[d]`: the last rank of
 *  the dimension neighbours the first. `corners`: ghosts across edges and corners are exchanged, too. */
LNW_PUBLIC int LNW_Halo_create_cart(MPI_Comm comm, int ndims, const int dims[], const int extents[], const int widths[],
                                    const int periods[], int corners, MPI_Info info, LNW_Halo* halo);
/** How many elements of an array this rank owns, and how many it has with its ghosts. Local. */
LNW_PUBLIC int LNW_Halo_get_count(LNW_Halo halo, MPI_Count* owned, MPI_Count* elements);
/** To which ranks elements go, how many to each, and which: their places in an array, rank after rank. The arrays are
 *  valid until the handle is freed; each may be NULL. Local. */
LNW_PUBLIC int LNW_Halo_get_sent(LNW_Halo halo, int* neighbors, const int** ranks, const MPI_Count** counts,
                                 const MPI_Count** elements);
/** As LNW_Halo_get_sent, of the ghosts, by the ranks that they come from. Elements of one rank are in the order in
 * which it sends them. Local. */
LNW_PUBLIC int LNW_Halo_get_received(LNW_Halo halo, int* neighbors, const int** ranks, const MPI_Count** counts,
                                     const MPI_Count** elements);
/** Of a grid: ranks in each dimension, and the place of this rank. Up to `maxdims` of each. Local. */
LNW_PUBLIC int LNW_Halo_get_cart(LNW_Halo halo, int maxdims, int dims[], int coords[]);
/** A persistent request that fills the ghosts of `array`, of elements of `type`. The array may be NULL until
 *  LNW_Request_set_buffers, which gets it twice. Collective. */
LNW_PUBLIC int LNW_Halo_init(LNW_Halo halo, void* array, MPI_Datatype type, MPI_Info info, LNW_Request* request);
/** Backwards: combines each ghost of `array`, by `op`, into the element of which it is a copy. Ghosts stay as they are.
 *  Collective. */
LNW_PUBLIC int LNW_Halo_reverse_init(LNW_Halo halo, void* array, MPI_Datatype type, MPI_Op op, MPI_Info info,
                                     LNW_Request* request);
/** Several arrays in one exchange, array i of elements of `types[i]`: what a neighbour gets of all of them travels
 *  together. LNW_Request_set_buffers moves all arrays as far as the first one. Collective; of as many arrays, with
 *  elements of the same sizes, on all ranks. */
LNW_PUBLIC int LNW_Halo_init_fields(LNW_Halo halo, int fields, void* const arrays[], const MPI_Datatype types[],
                                    MPI_Info info, LNW_Request* request);
/** As LNW_Halo_reverse_init, of several arrays in one exchange. All `types` are made of one predefined datatype, to
 * which `op` applies. */
LNW_PUBLIC int LNW_Halo_reverse_init_fields(LNW_Halo halo, int fields, void* const arrays[], const MPI_Datatype types[],
                                            MPI_Op op, MPI_Info info, LNW_Request* request);
/** Sets the handle to LNW_HALO_NULL; requests go on. */
LNW_PUBLIC int LNW_Halo_free(LNW_Halo* halo);
/** @} */

#ifdef __cplusplus
}
#endif

#endif
