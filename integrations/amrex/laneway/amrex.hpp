/// AMReX's FillBoundary on Laneway's plans: the ghost cells of a FabArray (a MultiFab, an iMultiFab), as one persistent
/// exchange that is started again and again. Needs AMReX 23.04 or later; the data are in memory that the host may
/// access.
#pragma once

#include <AMReX_FabArray.H>
#include <AMReX_ParallelContext.H>
#include <mpi.h>

#include <vector>

#include "laneway/placed.hpp"

namespace laneway {

inline namespace cxx {

namespace amrex {

/// What FabArray::FillBoundary(scomp, ncomp, nghost, period, cross) does, by memory that never moves: the array must
/// not be defined again as long as this lives. Boxes are sent from where they are and received where they belong.
/// start() is FillBoundary_nowait, wait() is FillBoundary_finish.
template <class FAB>
class FillBoundary : public placed::Exchange {
 public:
  /// Collective over the ranks of AMReX's current communicator. `ncomp` < 0: all components from `scomp` on. Hints in
  /// `info` are those of a persistent exchange. Throws std::runtime_error after MPI's error handler was called.
  FillBoundary(::amrex::FabArray<FAB>& fabs, const ::amrex::IntVect& nghost, const ::amrex::Periodicity& period,
               int scomp = 0, int ncomp = -1, bool cross = false, MPI_Info info = MPI_INFO_NULL)
      : fabs_(&fabs), scomp_(scomp), ncomp_(ncomp < 0 ? fabs.nComp() - scomp : ncomp) {
    const auto& pattern = fabs.getFB(nghost, period, cross);
    const MPI_Comm comm = ::amrex::ParallelContext::CommunicatorSub();
    int own = 0;
    placed::check(MPI_Comm_rank(comm, &own), "MPI_Comm_rank");
    placed::Side sent, received;
    for (const auto& [rank, tags] : *pattern.m_SndTags) add(sent, local(rank), tags, true);
    for (const auto& [rank, tags] : *pattern.m_RcvTags) add(received, local(rank), tags, false);
    add(sent, own, *pattern.m_LocTags, true);
    add(received, own, *pattern.m_LocTags, false);
    make(comm, sent, received, info);
  }

 private:
  using Tags = ::amrex::FabArrayBase::CopyComTagsContainer;

  static int local(int rank) { return ::amrex::ParallelContext::global_to_local_rank(rank); }

  /// The boxes of `tags`, in this order on both ends, by their addresses.
  void add(placed::Side& side, int rank, const Tags& tags, bool sends) const {
    if (tags.empty()) return;
    std::vector<placed::Type> boxes(tags.size());
    std::vector<MPI_Aint> places;
    for (std::size_t i = 0; i < tags.size(); ++i) {
      const auto& tag = tags[i];
      const ::amrex::Box& box = sends ? tag.sbox : tag.dbox;
      auto& fab = (*fabs_)[sends ? tag.srcIndex : tag.dstIndex];
      int sizes[AMREX_SPACEDIM + 1], parts[AMREX_SPACEDIM + 1], starts[AMREX_SPACEDIM + 1];
      for (int d = 0; d < AMREX_SPACEDIM; ++d) {
        sizes[d] = fab.box().length(d);
        parts[d] = box.length(d);
        starts[d] = box.smallEnd(d) - fab.box().smallEnd(d);
      }
      sizes[AMREX_SPACEDIM] = fab.nComp();
      parts[AMREX_SPACEDIM] = ncomp_;
      starts[AMREX_SPACEDIM] = scomp_;
      placed::check(MPI_Type_create_subarray(AMREX_SPACEDIM + 1, sizes, parts, starts, MPI_ORDER_FORTRAN,
                                             ::amrex::ParallelDescriptor::Mpi_typemap<typename FAB::value_type>::type(),
                                             boxes[i].place()),
                    "MPI_Type_create_subarray");
      placed::check(MPI_Get_address(fab.dataPtr(), &places.emplace_back()), "MPI_Get_address");
    }
    side.add(rank, boxes, places);
  }

  ::amrex::FabArray<FAB>* fabs_;
  int scomp_;
  int ncomp_;
};

}  // namespace amrex

}  // namespace cxx

}  // namespace laneway
