/// A communication space for Cabana: CommunicationPlan, Gather, Scatter and migrate on persistent plans.
///
///     Cabana::Halo<MemorySpace, Cabana::Export, laneway::CabanaCommSpace> halo(comm, owned, ids, ranks);
///     auto gather = Cabana::createGather(halo, particles);
///     gather.apply();
///
/// Needs a Cabana whose halos and distributors take a communication space (CommSpaceType). For grids:
/// laneway/cabana_grid.hpp.
#pragma once

#include <Cabana_Core.hpp>

#include "laneway/kokkos.hpp"

namespace laneway {

inline namespace cxx {

/// To be given as CommSpaceType.
struct CabanaCommSpace {};

namespace cabana {

/// One block of elements to, or from, a rank. Blocks lie one after another in a buffer.
struct Block {
  int rank = 0;
  std::size_t elements = 0;
};

/// The persistent exchange of packed buffers with elements of some bytes. Buffers may be others each time.
class PackedExchange {
 public:
  /// Collective over `comm`. What one rank lists as its k-th block for another, that one lists as its k-th block from
  /// it, with as many elements.
  PackedExchange(MPI_Comm comm, std::span<const Block> sent, std::span<const Block> received, std::size_t bytes)
      : sent_(sent),
        received_(received),
        topology_(comm, std::span<const int>(received_.ranks), std::span<const int>(sent_.ranks)) {
    if (bytes > INT_MAX) throw std::invalid_argument("laneway::cabana: an element has 2^31 bytes or more");
    const Bytes type(static_cast<int>(bytes));
    LNW_Request request = LNW_REQUEST_NULL;
    check(LNW_Neighbor_alltoallv_init_topology_c(nullptr, sent_.counts.data(), sent_.displacements.data(), type.get(),
                                                 nullptr, received_.counts.data(), received_.displacements.data(),
                                                 type.get(), topology_.get(), MPI_INFO_NULL, &request));
    operation_ = Persistent(request);
  }

  /// Binds Views of the blocks, if they are not those of the last time.
  template <class Buffer>
  void bind(const Buffer& sent, const Buffer& received) {
    const void* out = sent.data();
    void* in = received.data();
    // An empty View has no memory, and takes part all the same.
    if (in == nullptr) in = out != nullptr ? const_cast<void*>(out) : &nothing_;
    if (out == nullptr) out = in;
    if (out == bound_out_ && in == bound_in_) return;
    operation_.set_buffers(out, in);
    bound_out_ = out;
    bound_in_ = in;
  }
  /// Ordered by `space`, as kokkos::Halo::exchange.
  template <class ExecutionSpace, class Buffer>
  void run(const ExecutionSpace& space, const Buffer& sent, const Buffer& received) {
    bind(sent, received);
    kokkos::run<Buffer>(space, operation_);
  }
  [[nodiscard]] const Persistent& operation() const { return operation_; }

 private:
  class Bytes {
   public:
    explicit Bytes(int bytes) {
      check(MPI_Type_contiguous(bytes, MPI_BYTE, &type_));
      check(MPI_Type_commit(&type_));
    }
    ~Bytes() { MPI_Type_free(&type_); }
    Bytes(const Bytes&) = delete;
    Bytes& operator=(const Bytes&) = delete;
    [[nodiscard]] MPI_Datatype get() const { return type_; }

   private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
  };
  /// Blocks of no elements are no edges.
  struct Side {
    std::vector<int> ranks;
    std::vector<MPI_Count> counts;
    std::vector<MPI_Aint> displacements;

    explicit Side(std::span<const Block> blocks) {
      MPI_Aint next = 0;
      for (const Block& block : blocks) {
        if (block.elements == 0) continue;
        ranks.push_back(block.rank);
        counts.push_back(static_cast<MPI_Count>(block.elements));
        displacements.push_back(next);
        next += static_cast<MPI_Aint>(block.elements);
      }
    }
  };

  Side sent_, received_;
  Topology topology_;
  Persistent operation_;
  const void* bound_out_ = nullptr;
  void* bound_in_ = nullptr;
  char nothing_ = 0;
};

/// Positions that are combined into one element: members[starts(e)] to members[starts(e + 1) - 1], in ascending order,
/// so that sums have the same bits each time.
template <class MemorySpace>
struct Groups {
  Kokkos::View<std::size_t*, MemorySpace> starts, members;

  /// By keys, equal ones together.
  template <class Key>
  static Groups by(const std::vector<Key>& keys) {
    std::vector<std::size_t> order(keys.size()), first;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return keys[a] < keys[b]; });
    for (std::size_t i = 0; i < order.size(); ++i)
      if (i == 0 || keys[order[i - 1]] < keys[order[i]]) first.push_back(i);
    first.push_back(order.size());
    return {on_device(first), on_device(order)};
  }
  [[nodiscard]] std::size_t size() const { return starts.extent(0) - 1; }

 private:
  static Kokkos::View<std::size_t*, MemorySpace> on_device(const std::vector<std::size_t>& list) {
    Kokkos::View<std::size_t*, MemorySpace> copy(Kokkos::ViewAllocateWithoutInitializing("laneway_groups"),
                                                 list.size());
    const Kokkos::View<const std::size_t*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> from(
        list.data(), list.size());
    Kokkos::deep_copy(copy, from);
    return copy;
  }
};

/// What a plan has made; shared by its copies. One for each time that a plan is built.
template <class MemorySpace>
class Exchanges {
 public:
  /// Collective the first time with these bytes and direction.
  PackedExchange& of(MPI_Comm comm, std::span<const Block> exports, std::span<const Block> imports, std::size_t bytes,
                     bool is_reverse) {
    std::unique_ptr<PackedExchange>& found = exchanges_[{bytes, is_reverse}];
    if (!found)
      found = is_reverse ? std::make_unique<PackedExchange>(comm, imports, exports, bytes)
                         : std::make_unique<PackedExchange>(comm, exports, imports, bytes);
    return *found;
  }
  /// Exports by the element that they are copies of.
  template <class Steering>
  const Groups<MemorySpace>& exports_by_element(const Steering& steering) {
    if (!groups_) {
      const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), steering);
      groups_ = Groups<MemorySpace>::by(std::vector<std::size_t>(host.data(), host.data() + host.extent(0)));
    }
    return *groups_;
  }

 private:
  std::map<std::pair<std::size_t, bool>, std::unique_ptr<PackedExchange>> exchanges_;
  std::optional<Groups<MemorySpace>> groups_;
};

}  // namespace cabana

}  // namespace cxx

}  // namespace laneway

namespace Cabana {

/// Who exchanges how many elements with this rank is found by Laneway's sparse exchanges: nothing here grows with the
/// number of ranks, and no rank waits for all others. Exports of one rank keep their order.
template <class MemorySpace>
class CommunicationPlan<MemorySpace, laneway::CabanaCommSpace> : public CommunicationPlanBase<MemorySpace> {
  using base = CommunicationPlanBase<MemorySpace>;

 public:
  using typename base::execution_space;
  using typename base::memory_space;
  using typename base::size_type;

 protected:
  explicit CommunicationPlan(MPI_Comm comm) : base(comm) {}

 public:  // kernels with lambdas have to be
  /// Element i goes to rank export_ranks(i), nowhere where that is negative. All ranks that exchange elements with this
  /// one are in `neighbor_ranks`. Returns the place of each element among those for its rank. Collective; throws
  /// std::invalid_argument on all ranks where one of them exports to a rank that is not in its list.
  template <class ExecutionSpace, class Ranks>
  Kokkos::View<size_type*, memory_space> createWithTopology(ExecutionSpace space, Export, const Ranks& export_ranks,
                                                            const std::vector<int>& neighbor_ranks) {
    const Elements elements = elements_of(space, export_ranks);
    const std::vector<int> neighbors = unique_neighbors(neighbor_ranks);
    check_neighbors(elements, neighbors, "export_ranks");
    const laneway::Topology topology(this->comm(), std::span<const int>(neighbors), std::span<const int>(neighbors));
    std::vector<MPI_Count> sent, received(neighbors.size());
    for (const int rank : neighbors) sent.push_back(elements.count_of(rank));
    const laneway::Datatype<MPI_Count> type;
    LNW_Request request = LNW_REQUEST_NULL;
    laneway::check(LNW_Neighbor_alltoall_init_topology(sent.data(), 1, type.get(), received.data(), 1, type.get(),
                                                       topology.get(), MPI_INFO_NULL, &request));
    laneway::Persistent(request).run();
    set_neighbors(neighbors, sent, received);
    this->_num_export_element = export_ranks.size();
    return on_device<size_type>(elements.places);
  }
  template <class Ranks>
  Kokkos::View<size_type*, memory_space> createWithTopology(Export, const Ranks& export_ranks,
                                                            const std::vector<int>& neighbor_ranks) {
    return createWithTopology(execution_space{}, Export(), export_ranks, neighbor_ranks);
  }

  /// The same where nobody knows from whom elements come. Collective.
  template <class ExecutionSpace, class Ranks>
  Kokkos::View<size_type*, memory_space> createWithoutTopology(ExecutionSpace space, Export,
                                                               const Ranks& export_ranks) {
    const Elements elements = elements_of(space, export_ranks);
    std::vector<int> destinations;
    std::vector<MPI_Count> counts;
    for (const auto& [rank, count] : elements.counts) {
      destinations.push_back(rank);
      counts.push_back(count);
    }
    const std::vector<MPI_Count> ones(counts.size(), 1);
    const laneway::Arrivals arrivals =
        laneway::sparse_alltoallv<MPI_Count>(this->comm(), destinations, ones, std::span<const MPI_Count>(counts));
    const auto sources = arrivals.sources();
    const auto arrived = arrivals.template data<MPI_Count>();
    std::map<int, MPI_Count> imports;
    for (std::size_t i = 0; i < sources.size(); ++i) imports[sources[i]] = arrived[i];
    set_neighbors(elements.counts, imports, elements.counts);
    this->_num_export_element = export_ranks.size();
    return on_device<size_type>(elements.places);
  }
  template <class Ranks>
  Kokkos::View<size_type*, memory_space> createWithoutTopology(Export, const Ranks& export_ranks) {
    return createWithoutTopology(execution_space{}, Export(), export_ranks);
  }

  /// Import i is element import_ids(i) of rank import_ranks(i). Returns for each export its place among those for its
  /// rank, its rank, and its element. Collective.
  template <class ExecutionSpace, class Ranks, class Ids>
  auto createWithoutTopology(ExecutionSpace space, Import, const Ranks& import_ranks, const Ids& import_ids) {
    laneway::detail::agree(this->comm(), "Cabana::CommunicationPlan",
                           import_ranks.size() == import_ids.size()
                               ? std::string()
                               : "there are " + std::to_string(import_ids.size()) + " import ids for " +
                                     std::to_string(import_ranks.size()) + " import ranks");
    return create_from_imports(elements_of(space, import_ranks), copied(space, import_ids));
  }
  template <class Ranks, class Ids>
  auto createWithoutTopology(Import, const Ranks& import_ranks, const Ids& import_ids) {
    return createWithoutTopology(execution_space{}, Import(), import_ranks, import_ids);
  }
  template <class ExecutionSpace, class Ranks, class Ids>
  auto createWithTopology(ExecutionSpace space, Import, const Ranks& import_ranks, const Ids& import_ids,
                          const std::vector<int>& neighbor_ranks) {
    check_neighbors(elements_of(space, import_ranks), unique_neighbors(neighbor_ranks), "import_ranks");
    return createWithoutTopology(space, Import(), import_ranks, import_ids);
  }
  template <class Ranks, class Ids>
  auto createWithTopology(Import, const Ranks& import_ranks, const Ids& import_ids,
                          const std::vector<int>& neighbor_ranks) {
    return createWithTopology(execution_space{}, Import(), import_ranks, import_ids, neighbor_ranks);
  }

  /// The exchange of packed elements of so many bytes; `is_reverse`: from imports to exports. Collective the first time
  /// with these arguments. It lives until the plan is built anew and nobody has a copy.
  laneway::cabana::PackedExchange& exchange(std::size_t bytes, bool is_reverse) const {
    if (!exchanges_) throw std::logic_error("Cabana::CommunicationPlan: the plan has not been built");
    std::vector<laneway::cabana::Block> exports, imports;
    for (std::size_t n = 0; n < this->_neighbors.size(); ++n) {
      exports.push_back({this->_neighbors[n], this->_num_export[n]});
      imports.push_back({this->_neighbors[n], this->_num_import[n]});
    }
    return exchanges_->of(this->comm(), exports, imports, bytes, is_reverse);
  }
  const laneway::cabana::Groups<memory_space>& exports_by_element() const {
    return exchanges_->exports_by_element(this->getExportSteering());
  }

  template <class ExecutionSpace, class List>
  std::vector<int> copied(const ExecutionSpace& space, const List& list) const {
    const std::size_t size = list.size();
    const Kokkos::View<int*, memory_space> copy(Kokkos::ViewAllocateWithoutInitializing("laneway_ranks"), size);
    Kokkos::parallel_for(
        "laneway::cabana::copy", Kokkos::RangePolicy<ExecutionSpace>(space, 0, size),
        KOKKOS_LAMBDA(const std::size_t i) { copy(i) = static_cast<int>(list(i)); });
    space.fence();
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy);
    return std::vector<int>(host.data(), host.data() + size);
  }

 private:
  /// Elements by their rank, in order.
  struct Elements {
    std::vector<int> ranks;
    std::vector<std::size_t> places;  // of each among those of its rank
    std::map<int, MPI_Count> counts;

    [[nodiscard]] MPI_Count count_of(int rank) const {
      const auto found = counts.find(rank);
      return found != counts.end() ? found->second : 0;
    }
  };

  template <class ExecutionSpace, class Ranks>
  Elements elements_of(const ExecutionSpace& space, const Ranks& ranks) const {
    Elements elements;
    elements.ranks = copied(space, ranks);
    int size = 0;
    laneway::check(MPI_Comm_size(this->comm(), &size));
    std::string problem;
    for (std::size_t i = 0; i < elements.ranks.size(); ++i) {
      const int rank = elements.ranks[i];
      if (rank >= size && problem.empty())
        problem = laneway::detail::entry("ranks", i, rank) + " in a communicator of " + std::to_string(size) + " ranks";
      elements.places.push_back(rank >= 0 ? static_cast<std::size_t>(elements.counts[rank]++) : 0);
    }
    laneway::detail::agree(this->comm(), "Cabana::CommunicationPlan", problem);
    return elements;
  }

  /// As Cabana orders them, which programs see in the order of what arrives: ascending, but this rank, if it is one,
  /// has changed places with the first.
  [[nodiscard]] std::vector<int> unique_neighbors(std::vector<int> ranks) const {
    int own = 0;
    laneway::check(MPI_Comm_rank(this->comm(), &own));
    std::erase_if(ranks, [](int rank) { return rank < 0; });
    std::sort(ranks.begin(), ranks.end());
    ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
    const auto found = std::find(ranks.begin(), ranks.end(), own);
    if (found != ranks.end()) std::swap(*found, ranks.front());
    return ranks;
  }

  void check_neighbors(const Elements& elements, const std::vector<int>& neighbors, const char* name) const {
    std::string problem;
    for (std::size_t i = 0; i < elements.ranks.size() && problem.empty(); ++i)
      if (elements.ranks[i] >= 0 && std::find(neighbors.begin(), neighbors.end(), elements.ranks[i]) == neighbors.end())
        problem = laneway::detail::entry(name, i, elements.ranks[i]) + ", which is not in neighbor_ranks";
    laneway::detail::agree(this->comm(), "Cabana::CommunicationPlan", problem);
  }

  template <class T, class From>
  static Kokkos::View<T*, memory_space> on_device(const std::vector<From>& list) {
    Kokkos::View<T*, memory_space> result(Kokkos::ViewAllocateWithoutInitializing("laneway_plan"), list.size());
    const auto host = Kokkos::create_mirror_view(result);
    for (std::size_t i = 0; i < list.size(); ++i) host(i) = static_cast<T>(list[i]);
    Kokkos::deep_copy(result, host);
    return result;
  }

  auto create_from_imports(const Elements& elements, const std::vector<int>& ids) {
    std::vector<int> owners;
    std::vector<MPI_Count> counts;
    std::map<int, std::size_t> next;
    std::size_t total = 0;
    for (const auto& [rank, count] : elements.counts) {
      owners.push_back(rank);
      counts.push_back(count);
      next[rank] = total;
      total += static_cast<std::size_t>(count);
    }
    std::vector<int> asked(total);
    for (std::size_t i = 0; i < ids.size(); ++i)
      if (elements.ranks[i] >= 0) asked[next[elements.ranks[i]]++] = ids[i];
    const laneway::Arrivals arrivals =
        laneway::sparse_alltoallv<int>(this->comm(), owners, counts, std::span<const int>(asked));
    const auto sources = arrivals.sources();
    const auto lengths = arrivals.counts();
    const auto wanted = arrivals.template data<int>();
    std::map<int, MPI_Count> exports;
    std::vector<int> ranks;
    std::vector<std::size_t> places;
    for (std::size_t s = 0; s < sources.size(); ++s) {
      exports[sources[s]] = lengths[s];
      for (std::size_t i = 0; i < static_cast<std::size_t>(lengths[s]); ++i) {
        ranks.push_back(sources[s]);
        places.push_back(i);
      }
    }
    set_neighbors(exports, elements.counts, elements.counts);
    this->_num_export_element = ranks.size();
    return std::make_tuple(on_device<size_type>(places), on_device<int>(ranks),
                           on_device<int>(std::vector<int>(wanted.begin(), wanted.end())));
  }

  /// Those of `first` come before those that are of the other side alone.
  void set_neighbors(const std::map<int, MPI_Count>& exports, const std::map<int, MPI_Count>& imports,
                     const std::map<int, MPI_Count>& first) {
    std::vector<int> ranks;
    for (const auto& [rank, count] : first) ranks.push_back(rank);
    ranks = unique_neighbors(std::move(ranks));
    for (const auto& [rank, count] : &first == &exports ? imports : exports)
      if (!first.contains(rank)) ranks.push_back(rank);
    const auto counts_of = [&](const std::map<int, MPI_Count>& side) {
      std::vector<MPI_Count> counts;
      for (const int rank : ranks) {
        const auto found = side.find(rank);
        counts.push_back(found != side.end() ? found->second : 0);
      }
      return counts;
    };
    set_neighbors(ranks, counts_of(exports), counts_of(imports));
  }
  void set_neighbors(const std::vector<int>& ranks, const std::vector<MPI_Count>& exports,
                     const std::vector<MPI_Count>& imports) {
    this->_neighbors = ranks;
    this->_num_export.assign(exports.begin(), exports.end());
    this->_num_import.assign(imports.begin(), imports.end());
    this->_total_num_export = std::accumulate(exports.begin(), exports.end(), std::size_t{0});
    this->_total_num_import = std::accumulate(imports.begin(), imports.end(), std::size_t{0});
    exchanges_ = std::make_shared<laneway::cabana::Exchanges<memory_space>>();
  }

  std::shared_ptr<laneway::cabana::Exchanges<memory_space>> exchanges_;
};

template <class Plan, class Data>
class CommunicationData<Plan, Data, laneway::CabanaCommSpace> : public CommunicationDataBase<Plan, Data> {
 protected:
  using typename CommunicationDataBase<Plan, Data>::particle_data_type;

  CommunicationData(const Plan& plan, const particle_data_type& particles, double overallocation = 1.0)
      : CommunicationDataBase<Plan, Data>(plan, particles, overallocation) {}
};

}  // namespace Cabana

namespace laneway {

inline namespace cxx {

namespace cabana {

/// How the elements of an AoSoA and of a slice get into a buffer and out of it.
template <class AoSoA>
struct TupleAccess {
  AoSoA particles;

  explicit TupleAccess(const AoSoA& from) : particles(from) {}
  template <class Buffer>
  KOKKOS_INLINE_FUNCTION void pack(const Buffer& buffer, std::size_t at, std::size_t element) const {
    buffer(at) = particles.getTuple(element);
  }
  template <class Buffer>
  KOKKOS_INLINE_FUNCTION void unpack(const Buffer& buffer, std::size_t at, std::size_t element) const {
    particles.setTuple(element, buffer(at));
  }
};

template <class Slice>
struct SliceAccess {
  using index_type = typename Slice::index_type;

  typename Slice::value_type* data;
  std::size_t stride;
  std::size_t components = 1;

  explicit SliceAccess(const Slice& slice) : data(slice.data()), stride(slice.stride(0)) {
    for (std::size_t d = 2; d < slice.viewRank(); ++d) components *= slice.extent(d);
  }
  KOKKOS_INLINE_FUNCTION typename Slice::value_type& at(std::size_t element, std::size_t component) const {
    return data[index_type::s(element) * stride + index_type::a(element) + component * Slice::vector_length];
  }
  template <class Buffer>
  KOKKOS_INLINE_FUNCTION void pack(const Buffer& buffer, std::size_t place, std::size_t element) const {
    for (std::size_t n = 0; n < components; ++n) buffer(place, n) = at(element, n);
  }
  template <class Buffer>
  KOKKOS_INLINE_FUNCTION void unpack(const Buffer& buffer, std::size_t place, std::size_t element) const {
    for (std::size_t n = 0; n < components; ++n) at(element, n) = buffer(place, n);
  }
};

/// One kernel packs the elements of `steering`, one exchange moves them, and one kernel puts what has arrived from
/// element `first` on.
template <class ExecutionSpace, class Plan, class From, class To, class Buffer>
void move_elements(const ExecutionSpace& space, const Plan& plan, const From& from, const To& to, std::size_t first,
                   const Buffer& sent, const Buffer& received, std::size_t bytes) {
  const auto steering = plan.getExportSteering();
  Kokkos::parallel_for(
      "laneway::cabana::pack", Kokkos::RangePolicy<ExecutionSpace>(space, 0, plan.totalNumExport()),
      KOKKOS_LAMBDA(const std::size_t i) { from.pack(sent, i, steering(i)); });
  plan.exchange(bytes, false).run(space, sent, received);
  Kokkos::parallel_for(
      "laneway::cabana::unpack", Kokkos::RangePolicy<ExecutionSpace>(space, 0, plan.totalNumImport()),
      KOKKOS_LAMBDA(const std::size_t i) { to.unpack(received, i, first + i); });
}

/// What both kinds of Gather have in common.
template <class HaloType, class Particles, class Data, class Access>
class Gatherer : public Cabana::CommunicationData<HaloType, Data, CabanaCommSpace> {
  static_assert(Cabana::is_halo<HaloType>::value, "laneway::cabana: the first type is no Cabana::Halo");

 public:
  using commspace_type = CabanaCommSpace;
  using base_type = Cabana::CommunicationData<HaloType, Data, CabanaCommSpace>;
  using typename base_type::buffer_type;
  using typename base_type::data_type;
  using typename base_type::execution_space;
  using typename base_type::memory_space;
  using typename base_type::plan_type;

  Gatherer(HaloType halo, Particles particles, double overallocation = 1.0)
      : base_type(halo, particles, overallocation) {
    reserve(this->_comm_plan, particles);
  }

  auto totalSend() { return this->_comm_plan.totalNumExport(); }
  auto totalReceive() { return this->_comm_plan.totalNumImport(); }
  auto totalSend(const HaloType& halo) { return halo.totalNumExport(); }
  auto totalReceive(const HaloType& halo) { return halo.totalNumImport(); }

  /// Collective the first time with a halo. Returns when the ghosts are in place.
  void apply() override { apply(execution_space{}); }
  /// Ordered by `space`: what is put into it afterwards sees the ghosts.
  template <class ExecutionSpace>
  void apply(const ExecutionSpace& space) {
    const Access access(this->getData());
    move_elements(space, this->_comm_plan, access, access, this->_comm_plan.numLocal(), this->getSendBuffer(),
                  this->getReceiveBuffer(), sizeof(data_type) * components(access));
    space.fence();
  }

  void reserve(const HaloType& halo, const Particles& particles) {
    check_size(halo, particles);
    this->reserveImpl(halo, particles, totalSend(halo), totalReceive(halo));
  }
  void reserve(const HaloType& halo, const Particles& particles, double overallocation) {
    check_size(halo, particles);
    this->reserveImpl(halo, particles, totalSend(halo), totalReceive(halo), overallocation);
  }

 private:
  static std::size_t components(const Access& access) {
    if constexpr (requires { access.components; })
      return access.components;
    else
      return 1;
  }
  static void check_size(const HaloType& halo, const Particles& particles) {
    if (particles.size() != halo.numLocal() + halo.numGhost())
      throw std::runtime_error("Cabana::Gather: \"" + particles.label() + "\" has " + std::to_string(particles.size()) +
                               " elements for " + std::to_string(halo.numLocal()) + " of the halo and " +
                               std::to_string(halo.numGhost()) + " ghosts");
  }
};

}  // namespace cabana

}  // namespace cxx

}  // namespace laneway

namespace Cabana {

template <class MemorySpace, class BuildType, class AoSoAType>
class Gather<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, AoSoAType,
             typename std::enable_if<is_aosoa<AoSoAType>::value>::type>
    : public laneway::cabana::Gatherer<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, AoSoAType,
                                       CommunicationDataAoSoA<AoSoAType>, laneway::cabana::TupleAccess<AoSoAType>> {
  using base = laneway::cabana::Gatherer<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, AoSoAType,
                                         CommunicationDataAoSoA<AoSoAType>, laneway::cabana::TupleAccess<AoSoAType>>;

 public:
  using base::base;
};

template <class MemorySpace, class BuildType, class SliceType>
class Gather<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, SliceType,
             typename std::enable_if<is_slice<SliceType>::value>::type>
    : public laneway::cabana::Gatherer<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, SliceType,
                                       CommunicationDataSlice<SliceType>, laneway::cabana::SliceAccess<SliceType>> {
  using base = laneway::cabana::Gatherer<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, SliceType,
                                         CommunicationDataSlice<SliceType>, laneway::cabana::SliceAccess<SliceType>>;

 public:
  using base::base;
};

/// Adds ghosts into the elements of which they are copies. Each element adds what comes for it in the same order every
/// time, so that sums have the same bits.
template <class MemorySpace, class BuildType, class SliceType>
class Scatter<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>, SliceType>
    : public CommunicationData<Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>,
                               CommunicationDataSlice<SliceType>, laneway::CabanaCommSpace> {
 public:
  using commspace_type = laneway::CabanaCommSpace;
  using halo_type = Halo<MemorySpace, BuildType, laneway::CabanaCommSpace>;
  using base_type = CommunicationData<halo_type, CommunicationDataSlice<SliceType>, laneway::CabanaCommSpace>;
  using typename base_type::buffer_type;
  using typename base_type::data_type;
  using typename base_type::execution_space;
  using typename base_type::memory_space;
  using typename base_type::plan_type;

  Scatter(halo_type halo, SliceType slice, double overallocation = 1.0) : base_type(halo, slice, overallocation) {
    reserve(this->_comm_plan, slice);
  }

  auto totalSend() { return this->_comm_plan.totalNumImport(); }
  auto totalReceive() { return this->_comm_plan.totalNumExport(); }
  auto totalSend(const halo_type& halo) { return halo.totalNumImport(); }
  auto totalReceive(const halo_type& halo) { return halo.totalNumExport(); }

  void apply() override { apply(execution_space{}); }
  template <class ExecutionSpace>
  void apply(const ExecutionSpace& space) {
    const laneway::cabana::SliceAccess<SliceType> access(this->getData());
    const auto sent = this->getSendBuffer(), received = this->getReceiveBuffer();
    const auto& plan = this->_comm_plan;
    const std::size_t first = plan.numLocal();
    Kokkos::parallel_for(
        "laneway::cabana::pack", Kokkos::RangePolicy<ExecutionSpace>(space, 0, plan.totalNumImport()),
        KOKKOS_LAMBDA(const std::size_t i) { access.pack(sent, i, first + i); });
    plan.exchange(sizeof(data_type) * access.components, true).run(space, sent, received);
    const auto steering = plan.getExportSteering();
    const laneway::cabana::Groups<memory_space> groups = plan.exports_by_element();
    Kokkos::parallel_for(
        "laneway::cabana::add", Kokkos::RangePolicy<ExecutionSpace>(space, 0, groups.size()),
        KOKKOS_LAMBDA(const std::size_t g) {
          for (std::size_t m = groups.starts(g); m < groups.starts(g + 1); ++m) {
            const std::size_t at = groups.members(m);
            for (std::size_t n = 0; n < access.components; ++n) access.at(steering(at), n) += received(at, n);
          }
        });
    space.fence();
  }

  void reserve(const halo_type& halo, const SliceType& slice) {
    check_size(halo, slice);
    this->reserveImpl(halo, slice, totalSend(halo), totalReceive(halo));
  }
  void reserve(const halo_type& halo, const SliceType& slice, double overallocation) {
    check_size(halo, slice);
    this->reserveImpl(halo, slice, totalSend(halo), totalReceive(halo), overallocation);
  }

 private:
  static void check_size(const halo_type& halo, const SliceType& slice) {
    if (slice.size() != halo.numLocal() + halo.numGhost())
      throw std::runtime_error("Cabana::Scatter: \"" + slice.label() + "\" has " + std::to_string(slice.size()) +
                               " elements for " + std::to_string(halo.numLocal()) + " of the halo and " +
                               std::to_string(halo.numGhost()) + " ghosts");
  }
};

/// Element i of `source` goes to the rank that the distributor was given for it. Collective the first time with a
/// distributor and elements of this size.
template <class ExecutionSpace, class MemorySpace, class Particles>
void migrate(ExecutionSpace space, const Distributor<MemorySpace, laneway::CabanaCommSpace>& distributor,
             const Particles& source, Particles& target) {
  if (source.size() != distributor.exportSize())
    throw std::runtime_error("Cabana::migrate: \"" + source.label() + "\" has " + std::to_string(source.size()) +
                             " elements, and the distributor sends " + std::to_string(distributor.exportSize()));
  if (target.size() != distributor.totalNumImport())
    throw std::runtime_error("Cabana::migrate: \"" + target.label() + "\" has " + std::to_string(target.size()) +
                             " elements, and " + std::to_string(distributor.totalNumImport()) + " arrive");
  const auto allocate = [](const char* label) { return Kokkos::ViewAllocateWithoutInitializing(label); };
  if constexpr (is_aosoa<Particles>::value) {
    using Access = laneway::cabana::TupleAccess<Particles>;
    using Tuple = typename Particles::tuple_type;
    const Kokkos::View<Tuple*, MemorySpace> sent(allocate("laneway_sent"), distributor.totalNumExport());
    const Kokkos::View<Tuple*, MemorySpace> received(allocate("laneway_received"), distributor.totalNumImport());
    laneway::cabana::move_elements(space, distributor, Access(source), Access(target), 0, sent, received,
                                   sizeof(Tuple));
  } else {
    using Access = laneway::cabana::SliceAccess<Particles>;
    using T = typename Particles::value_type;
    using Buffer = Kokkos::View<T**, Kokkos::LayoutRight, MemorySpace>;
    const Access from(source), to(target);
    const Buffer sent(allocate("laneway_sent"), distributor.totalNumExport(), from.components);
    const Buffer received(allocate("laneway_received"), distributor.totalNumImport(), to.components);
    laneway::cabana::move_elements(space, distributor, from, to, 0, sent, received, sizeof(T) * from.components);
  }
  space.fence();
}
template <class MemorySpace, class Particles>
void migrate(const Distributor<MemorySpace, laneway::CabanaCommSpace>& distributor, const Particles& source,
             Particles& target) {
  migrate(typename MemorySpace::execution_space{}, distributor, source, target);
}
/// In place: `particles` is resized to what arrives.
template <class ExecutionSpace, class MemorySpace, class Particles,
          typename std::enable_if<is_aosoa<Particles>::value, int>::type = 0>
void migrate(ExecutionSpace space, const Distributor<MemorySpace, laneway::CabanaCommSpace>& distributor,
             Particles& particles) {
  if (particles.size() != distributor.exportSize())
    throw std::runtime_error("Cabana::migrate: \"" + particles.label() + "\" has " + std::to_string(particles.size()) +
                             " elements, and the distributor sends " + std::to_string(distributor.exportSize()));
  using Access = laneway::cabana::TupleAccess<Particles>;
  using Tuple = typename Particles::tuple_type;
  const std::size_t arriving = distributor.totalNumImport();
  if (arriving > particles.size()) particles.resize(arriving);
  const Kokkos::View<Tuple*, MemorySpace> sent(Kokkos::ViewAllocateWithoutInitializing("laneway_sent"),
                                               distributor.totalNumExport());
  const Kokkos::View<Tuple*, MemorySpace> received(Kokkos::ViewAllocateWithoutInitializing("laneway_received"),
                                                   arriving);
  const Access access(particles);
  laneway::cabana::move_elements(space, distributor, access, access, 0, sent, received, sizeof(Tuple));
  space.fence();
  if (arriving < particles.size()) particles.resize(arriving);
}
template <class MemorySpace, class Particles, typename std::enable_if<is_aosoa<Particles>::value, int>::type = 0>
void migrate(const Distributor<MemorySpace, laneway::CabanaCommSpace>& distributor, Particles& particles) {
  migrate(typename MemorySpace::execution_space{}, distributor, particles);
}

}  // namespace Cabana
