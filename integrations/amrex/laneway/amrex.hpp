/// AMReX's FillBoundary on Laneway's plans: the ghost cells of a FabArray (a MultiFab, an iMultiFab), as one persistent
/// exchange that is started again and again. Needs AMReX 23.04 or later; the data are in memory that the host may
/// access.
#pragma once

#include <AMReX_FabArray.H>
#include <AMReX_ParallelContext.H>
#include <mpi.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace laneway {

inline namespace cxx {

namespace amrex {

namespace detail {

inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string("laneway::amrex: ") + call + " has failed");
}

/// A datatype that is freed.
class Type {
 public:
  Type() = default;
  Type(Type&& other) noexcept : type_(std::exchange(other.type_, MPI_DATATYPE_NULL)) {}
  Type& operator=(Type&& other) noexcept {
    std::swap(type_, other.type_);
    return *this;
  }
  ~Type() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  [[nodiscard]] MPI_Datatype* place() { return &type_; }
  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace detail

/// What FabArray::FillBoundary(scomp, ncomp, nghost, period, cross) does, by memory that never moves: the array must
/// not be defined again as long as this lives. Boxes are sent from where they are and received where they belong.
template <class FAB>
class FillBoundary {
 public:
  /// Collective over the ranks of AMReX's current communicator. `ncomp` < 0: all components from `scomp` on. Hints in
  /// `info` are those of a persistent exchange. Throws std::runtime_error after MPI's error handler was called.
  FillBoundary(::amrex::FabArray<FAB>& fabs, const ::amrex::IntVect& nghost, const ::amrex::Periodicity& period,
               int scomp = 0, int ncomp = -1, bool cross = false, MPI_Info info = MPI_INFO_NULL)
      : fabs_(&fabs), scomp_(scomp), ncomp_(ncomp < 0 ? fabs.nComp() - scomp : ncomp) {
    const auto& pattern = fabs.getFB(nghost, period, cross);
    const MPI_Comm comm = ::amrex::ParallelContext::CommunicatorSub();
    int own = 0;
    detail::check(MPI_Comm_rank(comm, &own), "MPI_Comm_rank");
    Side sent, received;
    for (const auto& [rank, tags] : *pattern.m_SndTags) add(sent, local(rank), tags, true);
    for (const auto& [rank, tags] : *pattern.m_RcvTags) add(received, local(rank), tags, false);
    add(sent, own, *pattern.m_LocTags, true);
    add(received, own, *pattern.m_LocTags, false);
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    detail::check(LNW_Topology_create(comm, static_cast<int>(received.ranks.size()), received.ranks.data(),
                                      MPI_UNWEIGHTED, static_cast<int>(sent.ranks.size()), sent.ranks.data(),
                                      MPI_UNWEIGHTED, MPI_INFO_NULL, &topology),
                  "LNW_Topology_create");
    const int code = LNW_Neighbor_alltoallw_init_topology(
        MPI_BOTTOM, sent.counts.data(), sent.places.data(), sent.handles.data(), MPI_BOTTOM, received.counts.data(),
        received.places.data(), received.handles.data(), topology, info, &request_);
    LNW_Topology_free(&topology);
    detail::check(code, "LNW_Neighbor_alltoallw_init_topology");
  }
  FillBoundary(const FillBoundary&) = delete;
  FillBoundary& operator=(const FillBoundary&) = delete;
  ~FillBoundary() {
    if (request_ != LNW_REQUEST_NULL) LNW_Request_free(&request_);
  }

  /// As FillBoundary_nowait.
  void start() { detail::check(LNW_Start(&request_), "LNW_Start"); }
  /// As FillBoundary_finish.
  void wait() { detail::check(LNW_Wait(&request_, MPI_STATUS_IGNORE), "LNW_Wait"); }
  /// As FillBoundary.
  void operator()() {
    start();
    wait();
  }
  /// For LNW_Request_get_info and others.
  [[nodiscard]] LNW_Request request() const { return request_; }

 private:
  using Tags = ::amrex::FabArrayBase::CopyComTagsContainer;
  struct Side {
    std::vector<int> ranks, counts;
    std::vector<MPI_Aint> places;
    std::vector<MPI_Datatype> handles;
    std::vector<detail::Type> types;
  };

  static int local(int rank) { return ::amrex::ParallelContext::global_to_local_rank(rank); }

  /// The boxes of `tags`, in this order on both ends, by their addresses.
  void add(Side& side, int rank, const Tags& tags, bool sends) const {
    if (tags.empty()) return;
    std::vector<detail::Type> boxes(tags.size());
    std::vector<MPI_Datatype> handles;
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
      detail::check(MPI_Type_create_subarray(AMREX_SPACEDIM + 1, sizes, parts, starts, MPI_ORDER_FORTRAN,
                                             ::amrex::ParallelDescriptor::Mpi_typemap<typename FAB::value_type>::type(),
                                             boxes[i].place()),
                    "MPI_Type_create_subarray");
      handles.push_back(boxes[i].get());
      detail::check(MPI_Get_address(fab.dataPtr(), &places.emplace_back()), "MPI_Get_address");
    }
    const std::vector<int> ones(tags.size(), 1);
    detail::Type& all = side.types.emplace_back();
    detail::check(
        MPI_Type_create_struct(static_cast<int>(tags.size()), ones.data(), places.data(), handles.data(), all.place()),
        "MPI_Type_create_struct");
    detail::check(MPI_Type_commit(all.place()), "MPI_Type_commit");
    side.ranks.push_back(rank);
    side.counts.push_back(1);
    side.places.push_back(0);
    side.handles.push_back(all.get());
  }

  ::amrex::FabArray<FAB>* fabs_;
  int scomp_;
  int ncomp_;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

}  // namespace amrex

}  // namespace cxx

}  // namespace laneway
