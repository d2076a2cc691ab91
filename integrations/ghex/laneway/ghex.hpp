/// GHEX's halo exchange on Laneway's plans: the halos of patterns and fields, as one persistent exchange that is
/// started again and again. Needs GHEX 0.7 or later; unstructured and regular structured grids in memory that the host
/// may access.
///
///     laneway::ghex::Exchange exchange(context.mpi_comm(), MPI_INFO_NULL, pattern(temperature), pattern(wind));
///     exchange();  // as make_communication_object<...>(context).exchange(pattern(temperature), pattern(wind)).wait()
#pragma once

#include <mpi.h>

#include <ghex/structured/regular/field_descriptor.hpp>
#include <ghex/unstructured/user_concepts.hpp>
#include <map>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "laneway/placed.hpp"

namespace laneway {

inline namespace cxx {

namespace ghex {

namespace detail {

using placed::check;
using placed::Type;

inline MPI_Aint address(const void* at) {
  MPI_Aint found = 0;
  check(MPI_Get_address(at, &found), "MPI_Get_address");
  return found;
}

inline Type element(std::size_t bytes) {
  Type made;
  check(MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, made.place()), "MPI_Type_contiguous");
  return made;
}

inline Type repeated(const Type& one, int count, MPI_Aint stride) {
  Type made;
  check(MPI_Type_create_hvector(count, 1, stride, one.get(), made.place()), "MPI_Type_create_hvector");
  return made;
}

/// Elements of a field, in the order in which GHEX counts them, whatever its layout in memory; `at` is where the
/// datatype begins.
struct Piece {
  Type type;
  MPI_Aint at = 0;
};

template <class Id, class Index, class T, class Space>
Piece piece(::ghex::unstructured::data_descriptor<::ghex::cpu, Id, Index, T>& field, const Space& space) {
  const int levels = field.num_components();
  const MPI_Aint stride = levels > 1 ? address(field.get_address_at(0, 1)) - address(field.get_address_at(0, 0)) : 0;
  const Type column = repeated(element(sizeof(T)), levels, stride);
  std::vector<MPI_Aint> places;
  for (const auto& index : space.local_indices())
    places.push_back(address(field.get_address_at(static_cast<std::size_t>(index), 0)));
  Piece made;
  check(MPI_Type_create_hindexed_block(static_cast<int>(places.size()), 1, places.data(), column.get(),
                                       made.type.place()),
        "MPI_Type_create_hindexed_block");
  return made;
}

template <class T, class Domain, class Layout, class Space>
Piece piece(::ghex::structured::regular::field_descriptor<T, ::ghex::cpu, Domain, Layout>& field, const Space& space) {
  const auto& first = space.local().first();
  const auto& last = space.local().last();
  auto begin = field.extents();
  Piece made{element(sizeof(T)), 0};
  for (int d = 0; d < static_cast<int>(begin.size()); ++d) {
    const bool is_component = d >= static_cast<int>(Domain::dimension::value);
    begin[d] = is_component ? 0 : first[d];
    const int count = is_component ? field.num_components() : static_cast<int>(last[d] - first[d] + 1);
    made.type = repeated(made.type, count, static_cast<MPI_Aint>(field.byte_strides()[d]));
  }
  made.at = address(field.ptr(begin));
  return made;
}

}  // namespace detail

/// What communication_object::exchange(infos...) does, by memory that never moves: fields stay where they are and are
/// sent from there, and received where they belong. Any number of domains a rank. start() is exchange(...), wait() that
/// of the handle that it returns.
class Exchange : public placed::Exchange {
 public:
  /// `infos`: patterns applied to fields, in the same order of patterns on all ranks, which may have any number of
  /// each pattern's. Collective over `comm`, which has the ranks of the context; `info` has hints of a persistent
  /// exchange. Throws std::runtime_error after MPI's error handler was called.
  template <class... Infos>
  Exchange(MPI_Comm comm, MPI_Info info, Infos... infos) {
    Edges sent, received;
    std::vector<const void*> containers;
    (add(sent, received, containers, infos), ...);
    make(comm, side(sent), side(received), info);
  }

 private:
  /// An edge on both ranks: the number of the pattern among the arguments, the other rank, GHEX's tag, which names a
  /// pair of domains.
  using Edge = std::tuple<int, int, int>;
  using Edges = std::map<Edge, std::vector<detail::Piece>>;

  template <class Info>
  static void add(Edges& sent, Edges& received, std::vector<const void*>& containers, Info& info) {
    static_assert(std::is_same_v<typename Info::arch_type, ::ghex::cpu>, "laneway::ghex: fields on the host alone");
    const void* const container = &info.get_pattern_container();
    int number = 0;
    while (number < static_cast<int>(containers.size()) && containers[static_cast<std::size_t>(number)] != container)
      ++number;
    if (number == static_cast<int>(containers.size())) containers.push_back(container);
    add(sent, number, info.get_pattern().send_halos(), info.get_field());
    add(received, number, info.get_pattern().recv_halos(), info.get_field());
  }
  template <class Halos, class Field>
  static void add(Edges& edges, int container, const Halos& halos, Field& field) {
    for (const auto& [other, spaces] : halos)
      for (const auto& space : spaces)
        if (space.size() > 0) edges[{container, other.mpi_rank, other.tag}].push_back(detail::piece(field, space));
  }

  static placed::Side side(Edges& edges) {
    placed::Side made;
    for (auto& [edge, pieces] : edges) {
      std::vector<detail::Type> types;
      std::vector<MPI_Aint> places;
      for (detail::Piece& piece : pieces) {
        types.push_back(std::move(piece.type));
        places.push_back(piece.at);
      }
      made.add(std::get<1>(edge), types, places);
    }
    return made;
  }
};

}  // namespace ghex

}  // namespace cxx

}  // namespace laneway
