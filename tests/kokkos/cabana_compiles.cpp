/// The backend with Cabana's own types. Compiled where Cabana is found.
#include "laneway/cabana_grid.hpp"

namespace {

using Memory = Kokkos::HostSpace;
using Lane = laneway::CabanaCommSpace;
using Particles = Cabana::AoSoA<Cabana::MemberTypes<double[3], int, char>, Memory>;
using Mesh = Cabana::Grid::UniformMesh<double, 2>;
template <class T>
using Cells = Cabana::Grid::Array<T, Cabana::Grid::Cell, Mesh, Memory>;

}  // namespace

void laneway_use_of_particles(MPI_Comm comm, Kokkos::View<int*, Memory> ids, Kokkos::View<int*, Memory> ranks,
                              Particles source, Particles target, const std::vector<int>& neighbors) {
  Cabana::Halo<Memory, Cabana::Export, Lane> exports(comm, 3, ids, ranks), known(comm, 3, ids, ranks, neighbors);
  Cabana::Halo<Memory, Cabana::Import, Lane> imports(comm, 3, ids, ranks), also(comm, 3, ids, ranks, neighbors);
  auto positions = Cabana::slice<0>(source), others = Cabana::slice<0>(target);
  Cabana::createGather(exports, source).apply();
  Cabana::createGather(imports, positions).apply();
  Cabana::gather(known, source);
  Cabana::createScatter(also, positions).apply();
  Cabana::scatter(exports, positions);
  const Cabana::Distributor<Memory, Lane> distributor(comm, ranks), near(comm, ranks, neighbors);
  Cabana::migrate(distributor, source, target);
  Cabana::migrate(near, source);
  Cabana::migrate(distributor, positions, others);
}

void laneway_use_of_grids(const Cells<double>& u, const Cells<float>& v) {
  const Kokkos::DefaultHostExecutionSpace space;
  const auto halo = Cabana::Grid::createHalo<Lane>(Cabana::Grid::NodeHaloPattern<2>(), 1, u, v);
  halo->gather(space, u, v);
  halo->scatter(space, Cabana::Grid::ScatterReduce::Sum(), u, v);
  const auto stream = laneway::cabana::create_stream_halo(space, Cabana::Grid::NodeHaloPattern<2>(), 1, u, v);
  stream->enqueueGather(u, v);
  stream->enqueueScatter(Cabana::Grid::ScatterReduce::Min(), u, v);
  stream->wait();
}
