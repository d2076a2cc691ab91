/// A stand-in for Cabana's headers, for tests where Cabana is not installed: the types of its seam for communication
/// spaces under their names, as far as laneway/cabana.hpp uses them. Written for these tests; it is not Cabana, and has
/// no communication of its own.
#pragma once

#include <mpi.h>

#include <Kokkos_Core.hpp>
#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace Cabana {

struct Mpi {};
struct Export {};
struct Import {};

/// Structs in a View.
template <class Tuple, class MemorySpace>
class AoSoA {
 public:
  using tuple_type = Tuple;
  using memory_space = MemorySpace;

  explicit AoSoA(std::string label, std::size_t size = 0) : data_(std::move(label), size) {}
  [[nodiscard]] std::size_t size() const { return data_.extent(0); }
  [[nodiscard]] std::string label() const { return data_.label(); }
  void resize(std::size_t size) { Kokkos::resize(data_, size); }
  KOKKOS_INLINE_FUNCTION Tuple getTuple(std::size_t i) const { return data_(i); }
  KOKKOS_INLINE_FUNCTION void setTuple(std::size_t i, const Tuple& tuple) const { data_(i) = tuple; }

 private:
  Kokkos::View<Tuple*, MemorySpace> data_;
};

/// Elements of `Components` values: vectors of four elements, one vector for each component.
template <class T, class MemorySpace, std::size_t Components>
class Slice {
 public:
  static constexpr std::size_t vector_length = 4;
  struct index_type {
    KOKKOS_INLINE_FUNCTION static std::size_t s(std::size_t i) { return i / vector_length; }
    KOKKOS_INLINE_FUNCTION static std::size_t a(std::size_t i) { return i % vector_length; }
  };
  using value_type = T;
  using memory_space = MemorySpace;

  Slice(std::string label, std::size_t size)
      : data_(std::move(label), (size + vector_length - 1) / vector_length * vector_length * Components), size_(size) {}
  [[nodiscard]] T* data() const { return data_.data(); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::size_t stride(std::size_t) const { return vector_length * Components; }
  [[nodiscard]] std::size_t viewRank() const { return 3; }
  [[nodiscard]] std::size_t extent(std::size_t d) const { return d == 2 ? Components : vector_length; }
  [[nodiscard]] std::string label() const { return data_.label(); }
  KOKKOS_INLINE_FUNCTION T& operator()(std::size_t i, std::size_t n) const {
    return data_(index_type::s(i) * vector_length * Components + n * vector_length + index_type::a(i));
  }

 private:
  Kokkos::View<T*, MemorySpace> data_;
  std::size_t size_;
};

template <class>
struct is_aosoa : std::false_type {};
template <class Tuple, class MemorySpace>
struct is_aosoa<AoSoA<Tuple, MemorySpace>> : std::true_type {};
template <class>
struct is_slice : std::false_type {};
template <class T, class MemorySpace, std::size_t Components>
struct is_slice<Slice<T, MemorySpace, Components>> : std::true_type {};

template <class MemorySpace>
class CommunicationPlanBase {
 public:
  using memory_space = MemorySpace;
  using execution_space = typename memory_space::execution_space;
  using size_type = typename memory_space::size_type;

  [[nodiscard]] MPI_Comm comm() const { return *_comm_ptr; }
  [[nodiscard]] int numNeighbor() const { return static_cast<int>(_neighbors.size()); }
  [[nodiscard]] int neighborRank(int n) const { return _neighbors[static_cast<std::size_t>(n)]; }
  [[nodiscard]] std::size_t numExport(int n) const { return _num_export[static_cast<std::size_t>(n)]; }
  [[nodiscard]] std::size_t numImport(int n) const { return _num_import[static_cast<std::size_t>(n)]; }
  [[nodiscard]] std::size_t totalNumExport() const { return _total_num_export; }
  [[nodiscard]] std::size_t totalNumImport() const { return _total_num_import; }
  [[nodiscard]] std::size_t exportSize() const { return _num_export_element; }
  [[nodiscard]] Kokkos::View<std::size_t*, memory_space> getExportSteering() const { return _export_steering; }

  template <class Places, class Ranks, class Ids>
  void createExportSteering(const Places& places, const Ranks& ranks, const Ids& ids) {
    _export_steering = Kokkos::View<std::size_t*, memory_space>("export_steering", _total_num_export);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      std::size_t first = 0;
      for (std::size_t n = 0; n < _neighbors.size() && _neighbors[n] != ranks(i); ++n) first += _num_export[n];
      if (ranks(i) >= 0) _export_steering(first + places(i)) = static_cast<std::size_t>(ids(i));
    }
  }
  template <class Places, class Ranks>
  void createExportSteering(const Places& places, const Ranks& ranks) {
    createExportSteering(places, ranks, [](std::size_t i) { return i; });
  }

 protected:
  explicit CommunicationPlanBase(MPI_Comm comm)
      : _comm_ptr(new MPI_Comm(MPI_COMM_NULL), [](MPI_Comm* owned) {
          MPI_Comm_free(owned);
          delete owned;
        }) {
    MPI_Comm_dup(comm, _comm_ptr.get());
  }

  std::shared_ptr<MPI_Comm> _comm_ptr;
  std::vector<int> _neighbors;
  std::size_t _total_num_export = 0;
  std::size_t _total_num_import = 0;
  std::vector<std::size_t> _num_export;
  std::vector<std::size_t> _num_import;
  std::size_t _num_export_element = 0;
  Kokkos::View<std::size_t*, memory_space> _export_steering;
};

template <class MemorySpace, class CommSpaceType = Mpi>
class CommunicationPlan;

template <class AoSoAType>
struct CommunicationDataAoSoA {
  using particle_data_type = AoSoAType;
  using memory_space = typename AoSoAType::memory_space;
  using data_type = typename AoSoAType::tuple_type;
  using buffer_type = Kokkos::View<data_type*, memory_space>;

  explicit CommunicationDataAoSoA(AoSoAType particles) : _particles(particles) {}
  void reallocateSend(std::size_t elements) { _send_buffer = buffer_type("send", elements); }
  void reallocateReceive(std::size_t elements) { _recv_buffer = buffer_type("receive", elements); }

  buffer_type _send_buffer, _recv_buffer;
  AoSoAType _particles;
};

template <class SliceType>
struct CommunicationDataSlice {
  using particle_data_type = SliceType;
  using memory_space = typename SliceType::memory_space;
  using data_type = typename SliceType::value_type;
  using buffer_type = Kokkos::View<data_type**, Kokkos::LayoutRight, memory_space>;

  explicit CommunicationDataSlice(SliceType particles) : _particles(particles), _num_comp(particles.extent(2)) {}
  void reallocateSend(std::size_t elements) { _send_buffer = buffer_type("send", elements, _num_comp); }
  void reallocateReceive(std::size_t elements) { _recv_buffer = buffer_type("receive", elements, _num_comp); }

  buffer_type _send_buffer, _recv_buffer;
  SliceType _particles;
  std::size_t _num_comp;
};

template <class Plan, class Data>
class CommunicationDataBase {
 public:
  using plan_type = Plan;
  using execution_space = typename Plan::execution_space;
  using particle_data_type = typename Data::particle_data_type;
  using memory_space = typename Data::memory_space;
  using data_type = typename Data::data_type;
  using buffer_type = typename Data::buffer_type;

  virtual ~CommunicationDataBase() = default;
  [[nodiscard]] buffer_type getSendBuffer() const { return _comm_data._send_buffer; }
  [[nodiscard]] buffer_type getReceiveBuffer() const { return _comm_data._recv_buffer; }
  [[nodiscard]] particle_data_type getData() const { return _comm_data._particles; }
  virtual void apply() = 0;

  void reserveImpl(const Plan& plan, const particle_data_type& particles, std::size_t sent, std::size_t received,
                   double overallocation) {
    _overallocation = overallocation;
    reserveImpl(plan, particles, sent, received);
  }
  void reserveImpl(const Plan& plan, const particle_data_type& particles, std::size_t sent, std::size_t received) {
    _comm_plan = plan;
    _comm_data._particles = particles;
    const auto more = [this](std::size_t size) {
      return static_cast<std::size_t>(static_cast<double>(size) * _overallocation);
    };
    if (more(sent) > _comm_data._send_buffer.extent(0)) _comm_data.reallocateSend(more(sent));
    if (more(received) > _comm_data._recv_buffer.extent(0)) _comm_data.reallocateReceive(more(received));
    _send_size = sent;
    _recv_size = received;
  }

 protected:
  CommunicationDataBase(const Plan& plan, const particle_data_type& particles, double overallocation = 1.0)
      : _comm_plan(plan), _comm_data(particles), _overallocation(overallocation) {}

  Plan _comm_plan;
  Data _comm_data;
  double _overallocation;
  std::size_t _send_size = 0;
  std::size_t _recv_size = 0;
};

template <class Plan, class Data, class CommSpaceType = Mpi>
class CommunicationData;

template <class MemorySpace, class BuildType = Export, class CommSpaceType = Mpi>
class Halo : public CommunicationPlan<MemorySpace, CommSpaceType> {
 public:
  using commspace_type = CommSpaceType;

  template <class Ids, class Ranks, class... Neighbors>
  Halo(MPI_Comm comm, std::size_t num_local, const Ids& ids, const Ranks& ranks, const Neighbors&... neighbors)
      : CommunicationPlan<MemorySpace, CommSpaceType>(comm) {
    build(num_local, ids, ranks, neighbors...);
  }
  template <class Ids, class Ranks, class... Neighbors>
  void build(std::size_t num_local, const Ids& ids, const Ranks& ranks, const Neighbors&... neighbors) {
    num_local_ = num_local;
    if constexpr (std::is_same_v<BuildType, Export>) {
      this->createExportSteering(create(ranks, neighbors...), ranks, ids);
    } else {
      const auto made = create_import(ranks, ids, neighbors...);
      this->createExportSteering(std::get<0>(made), std::get<1>(made), std::get<2>(made));
    }
  }
  [[nodiscard]] std::size_t numLocal() const { return num_local_; }
  [[nodiscard]] std::size_t numGhost() const { return this->totalNumImport(); }

 private:
  template <class Ranks>
  auto create(const Ranks& ranks) {
    return this->createWithoutTopology(Export(), ranks);
  }
  template <class Ranks>
  auto create(const Ranks& ranks, const std::vector<int>& neighbors) {
    return this->createWithTopology(Export(), ranks, neighbors);
  }
  template <class Ranks, class Ids>
  auto create_import(const Ranks& ranks, const Ids& ids) {
    return this->createWithoutTopology(Import(), ranks, ids);
  }
  template <class Ranks, class Ids>
  auto create_import(const Ranks& ranks, const Ids& ids, const std::vector<int>& neighbors) {
    return this->createWithTopology(Import(), ranks, ids, neighbors);
  }

  std::size_t num_local_ = 0;
};

template <class>
struct is_halo : std::false_type {};
template <class MemorySpace, class BuildType, class CommSpaceType>
struct is_halo<Halo<MemorySpace, BuildType, CommSpaceType>> : std::true_type {};

/// As in Cabana there is one partial specialisation for each kind of particles, whatever the communication space; a
/// space that uses it finds no communication.
template <class HaloType, class Particles, class SFINAE = void>
class Gather;
template <class HaloType, class AoSoAType>
class Gather<HaloType, AoSoAType, typename std::enable_if<is_aosoa<AoSoAType>::value>::type> {
  static_assert(std::is_void_v<HaloType>, "no communication space of its own has been chosen");
};
template <class HaloType, class SliceType>
class Gather<HaloType, SliceType, typename std::enable_if<is_slice<SliceType>::value>::type> {
  static_assert(std::is_void_v<HaloType>, "no communication space of its own has been chosen");
};
template <class HaloType, class Particles>
auto createGather(const HaloType& halo, const Particles& particles, double overallocation = 1.0) {
  return Gather<HaloType, Particles>(halo, particles, overallocation);
}

template <class HaloType, class SliceType>
class Scatter {
  static_assert(std::is_void_v<HaloType>, "no communication space of its own has been chosen");
};
template <class HaloType, class SliceType>
auto createScatter(const HaloType& halo, const SliceType& slice, double overallocation = 1.0) {
  return Scatter<HaloType, SliceType>(halo, slice, overallocation);
}

template <class MemorySpace, class CommSpaceType = Mpi>
class Distributor : public CommunicationPlan<MemorySpace, CommSpaceType> {
 public:
  using commspace_type = CommSpaceType;

  template <class Ranks>
  Distributor(MPI_Comm comm, const Ranks& ranks) : CommunicationPlan<MemorySpace, CommSpaceType>(comm) {
    this->createExportSteering(this->createWithoutTopology(Export(), ranks), ranks);
  }
  template <class Ranks>
  Distributor(MPI_Comm comm, const Ranks& ranks, const std::vector<int>& neighbors)
      : CommunicationPlan<MemorySpace, CommSpaceType>(comm) {
    this->createExportSteering(this->createWithTopology(Export(), ranks, neighbors), ranks);
  }
};

template <class>
struct is_distributor : std::false_type {};
template <class MemorySpace, class CommSpaceType>
struct is_distributor<Distributor<MemorySpace, CommSpaceType>> : std::true_type {};

/// Those of Cabana, to which overloads for a communication space must be preferred.
template <class ExecutionSpace, class Distributor_t, class AoSoA_t>
void migrate(
    ExecutionSpace, const Distributor_t&, const AoSoA_t&, AoSoA_t&,
    typename std::enable_if<is_distributor<Distributor_t>::value && is_aosoa<AoSoA_t>::value, int>::type* = 0) {
  static_assert(std::is_void_v<Distributor_t>, "no communication space of its own has been chosen");
}
template <class Distributor_t, class AoSoA_t>
void migrate(
    const Distributor_t& distributor, const AoSoA_t& source, AoSoA_t& target,
    typename std::enable_if<is_distributor<Distributor_t>::value && is_aosoa<AoSoA_t>::value, int>::type* = 0) {
  migrate(typename Distributor_t::execution_space{}, distributor, source, target);
}
template <class ExecutionSpace, class Distributor_t, class AoSoA_t>
void migrate(
    ExecutionSpace, const Distributor_t&, AoSoA_t&,
    typename std::enable_if<is_distributor<Distributor_t>::value && is_aosoa<AoSoA_t>::value, int>::type* = 0) {
  static_assert(std::is_void_v<Distributor_t>, "no communication space of its own has been chosen");
}
template <class Distributor_t, class AoSoA_t>
void migrate(
    const Distributor_t& distributor, AoSoA_t& particles,
    typename std::enable_if<is_distributor<Distributor_t>::value && is_aosoa<AoSoA_t>::value, int>::type* = 0) {
  migrate(typename Distributor_t::execution_space{}, distributor, particles);
}

}  // namespace Cabana
