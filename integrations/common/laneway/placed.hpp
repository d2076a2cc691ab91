/// What the headers for AMReX and GHEX share: a persistent exchange of memory that never moves, with one datatype by
/// addresses for each edge.
#pragma once

#include <mpi.h>

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace laneway {

inline namespace cxx {

namespace placed {

inline void check(int code, const char* call) {
  if (code != MPI_SUCCESS) throw std::runtime_error(std::string("laneway: ") + call + " has failed");
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

/// One side of the edges of a rank.
class Side {
 public:
  /// An edge to or from `rank`, of the datatypes `types` at the addresses `places`.
  void add(int rank, const std::vector<Type>& types, const std::vector<MPI_Aint>& places) {
    std::vector<MPI_Datatype> handles;
    for (const Type& type : types) handles.push_back(type.get());
    const std::vector<int> ones(types.size(), 1);
    Type& all = types_.emplace_back();
    check(
        MPI_Type_create_struct(static_cast<int>(types.size()), ones.data(), places.data(), handles.data(), all.place()),
        "MPI_Type_create_struct");
    check(MPI_Type_commit(all.place()), "MPI_Type_commit");
    ranks_.push_back(rank);
    counts_.push_back(1);
    places_.push_back(0);
    handles_.push_back(all.get());
  }

 private:
  friend class Exchange;
  std::vector<int> ranks_, counts_;
  std::vector<MPI_Aint> places_;
  std::vector<MPI_Datatype> handles_;
  std::vector<Type> types_;
};

/// What may be done with it; those who derive from it make it.
class Exchange {
 public:
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  void start() { check(LNW_Start(&request_), "LNW_Start"); }
  void wait() { check(LNW_Wait(&request_, MPI_STATUS_IGNORE), "LNW_Wait"); }
  void operator()() {
    start();
    wait();
  }
  /// For LNW_Request_get_info and others.
  [[nodiscard]] LNW_Request request() const { return request_; }

 protected:
  Exchange() = default;
  ~Exchange() {
    if (request_ != LNW_REQUEST_NULL) LNW_Request_free(&request_);
  }
  /// Collective over `comm`.
  void make(MPI_Comm comm, const Side& to, const Side& from, MPI_Info info) {
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    check(LNW_Topology_create(comm, static_cast<int>(from.ranks_.size()), from.ranks_.data(), MPI_UNWEIGHTED,
                              static_cast<int>(to.ranks_.size()), to.ranks_.data(), MPI_UNWEIGHTED, MPI_INFO_NULL,
                              &topology),
          "LNW_Topology_create");
    const int code = LNW_Neighbor_alltoallw_init_topology(
        MPI_BOTTOM, to.counts_.data(), to.places_.data(), to.handles_.data(), MPI_BOTTOM, from.counts_.data(),
        from.places_.data(), from.handles_.data(), topology, info, &request_);
    LNW_Topology_free(&topology);
    check(code, "LNW_Neighbor_alltoallw_init_topology");
  }

 private:
  LNW_Request request_ = LNW_REQUEST_NULL;
};

}  // namespace placed

}  // namespace cxx

}  // namespace laneway
