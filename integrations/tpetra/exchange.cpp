/// Times imports of the ghosts of a matrix, and their reverse with ADD, by Tpetra and by plans, in turns, and compares
/// what they give. Lines that start with "time" differ from run to run. With --json FILE, appends a record of each.
#include <Tpetra_Core.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "base/statistics.hpp"
#include "laneway/tpetra.hpp"
#include "matrix/load.hpp"

namespace {

using Map = Tpetra::Map<>;
using Vector = Tpetra::MultiVector<double>;
using Global = Map::global_ordinal_type;

/// Rows in equal blocks; the columns of the own rows that others own are ghosts.
Teuchos::RCP<const Tpetra::Import<>> importer_of(const laneway::matrix::Csr& matrix) {
  const auto comm = Tpetra::getDefaultComm();
  const auto source = Teuchos::rcp(new Map(static_cast<Tpetra::global_size_t>(matrix.rows), 0, comm));
  const auto own = source->getNodeElementList();
  std::vector<Global> ids(own.begin(), own.end());
  std::set<Global> ghosts;
  for (const Global row : own)
    for (auto e = matrix.row_begin[static_cast<std::size_t>(row)];
         e < matrix.row_begin[static_cast<std::size_t>(row) + 1]; ++e)
      if (const auto column = static_cast<Global>(matrix.column[static_cast<std::size_t>(e)]);
          !source->isNodeGlobalElement(column))
        ghosts.insert(column);
  ids.insert(ids.end(), ghosts.begin(), ghosts.end());
  const auto invalid = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
  const Teuchos::ArrayView<const Global> list(ids.data(), static_cast<Teuchos_Ordinal>(ids.size()));
  return Teuchos::rcp(new Tpetra::Import<>(source, Teuchos::rcp(new Map(invalid, list, 0, comm))));
}

/// Seconds of one call, on the slowest rank.
template <class F>
double seconds(int iterations, F&& f) {
  MPI_Barrier(MPI_COMM_WORLD);
  double taken = -MPI_Wtime();
  for (int i = 0; i < iterations; ++i) f();
  taken += MPI_Wtime();
  MPI_Allreduce(MPI_IN_PLACE, &taken, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return taken / iterations;
}

/// The largest difference on any rank.
double difference(const Vector& a, const Vector& b) {
  const auto x = a.getLocalViewHost(), y = b.getLocalViewHost();
  double largest = 0;
  for (std::size_t j = 0; j < x.extent(1); ++j)
    for (std::size_t i = 0; i < x.extent(0); ++i) largest = std::max(largest, std::abs(x(i, j) - y(i, j)));
  MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return largest;
}

void run(const std::string& spec, std::size_t columns, int iterations, int rounds, const char* json) {
  const auto importer = importer_of(laneway::matrix::load(spec));
  laneway::tpetra::Import<double> plan(*importer);
  Vector source(importer->getSourceMap(), columns), target(importer->getTargetMap(), columns);
  source.randomize();
  Vector own_source(source, Teuchos::Copy), own_target(target, Teuchos::Copy);
  std::vector<double> times[4];
  for (int round = 0; round <= rounds; ++round) {
    const double now[] = {seconds(iterations, [&] { target.doImport(source, *importer, Tpetra::INSERT); }),
                          seconds(iterations, [&] { plan.doImport(source, own_target); }),
                          seconds(iterations, [&] { source.doExport(target, *importer, Tpetra::ADD); }),
                          seconds(iterations, [&] { plan.doExport(own_target, own_source, Tpetra::ADD); })};
    if (round == 0) {
      std::printf("%s", difference(own_target, target) == 0 ? "" : "forward: wrong\n");
      std::printf("%s", difference(own_source, source) < 1e-9 ? "" : "reverse: wrong\n");
      continue;  // plans are made in the first round
    }
    for (int k = 0; k < 4; ++k) times[k].push_back(now[k]);
  }
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (rank != 0) return;
  std::printf("%s, %d ranks, %zu vectors\n", spec.c_str(), size, columns);
  std::FILE* const records = json != nullptr ? std::fopen(json, "a") : nullptr;
  if (json != nullptr && records == nullptr) {
    std::perror(json);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int k = 0; k < 4; k += 2) {
    const double theirs = laneway::median(times[k]), ours = laneway::median(times[k + 1]);
    std::printf("time %s: Tpetra %.1f us, plan %.1f us, ratio %.2f\n", k == 0 ? "forward" : "reverse", theirs * 1e6,
                ours * 1e6, theirs / ours);
    if (records != nullptr)
      std::fprintf(records,
                   "{\"benchmark\":\"tpetra\",\"matrix\":\"%s\",\"ranks\":%d,\"vectors\":%zu,\"direction\":\"%s\","
                   "\"tpetra_s\":%.9g,\"plan_s\":%.9g,\"speedup\":%.4g}\n",
                   spec.c_str(), size, columns, k == 0 ? "forward" : "reverse", theirs, ours, theirs / ours);
  }
  if (records != nullptr && std::fclose(records) != 0) std::perror(json);
}

}  // namespace

int main(int argc, char** argv) {
  Tpetra::ScopeGuard scope(&argc, &argv);
  std::string spec = "delaunay:n=131072,seed=1";
  const char* json = nullptr;
  int columns = 1, iterations = 50, rounds = 9;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--matrix") == 0)
      spec = argv[i + 1];
    else if (std::strcmp(argv[i], "--columns") == 0)
      columns = std::atoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--iterations") == 0)
      iterations = std::atoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--rounds") == 0)
      rounds = std::atoi(argv[i + 1]);
    else if (std::strcmp(argv[i], "--json") == 0)
      json = argv[i + 1];
    else
      argc = 0;
  }
  if (argc % 2 == 0 || columns < 1 || iterations < 1 || rounds < 1) {
    std::fprintf(stderr,
                 "usage: laneway-tpetra-exchange [--matrix SPEC] [--columns N] [--iterations N] [--rounds N] "
                 "[--json FILE]\n");
    return 2;
  }
  run(spec, static_cast<std::size_t>(columns), iterations, rounds, json);
}
