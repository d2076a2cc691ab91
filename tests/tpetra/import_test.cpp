/// Tpetra's own exchanges beside those on plans: the same bits.
#include "support.hpp"

#include <Tpetra_Core.hpp>

#include <cstdint>
#include <cstring>
#include <random>
#include <set>

#include "laneway/tpetra.hpp"

namespace laneway {
namespace {

using test::rank;
using test::size;
using Map = Tpetra::Map<>;
using Global = Map::global_ordinal_type;

class TpetraExchange : public test::MpiTest {
 protected:
  static void SetUpTestSuite() {
    int words = 0;
    char* none[] = {nullptr};
    char** arguments = none;
    Tpetra::initialize(&words, &arguments);
  }
  static void TearDownTestSuite() { Tpetra::finalize(); }
  std::mt19937 random{static_cast<unsigned>(17 + rank())};

  [[nodiscard]] int below(int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); }

  /// Contiguous owned elements, not of the same number on all ranks, and ghosts of any ranks after them.
  Teuchos::RCP<const Tpetra::Import<>> importer(bool with_permutation) {
    const auto comm = Tpetra::getDefaultComm();
    const int owned = rank() == 1 ? 0 : 10 + 3 * rank();
    const auto invalid = Teuchos::OrdinalTraits<Tpetra::global_size_t>::invalid();
    const auto source = Teuchos::rcp(new Map(invalid, static_cast<std::size_t>(owned), 0, comm));
    const auto total = static_cast<int>(source->getGlobalNumElements());
    std::vector<Global> ids;
    const auto own = source->getNodeElementList();
    ids.assign(own.begin(), own.end());
    if (with_permutation) std::reverse(ids.begin(), ids.end());
    std::set<Global> ghosts;
    for (int i = 0; i < 12; ++i) {
      const Global id = below(total);
      if (!source->isNodeGlobalElement(id)) ghosts.insert(id);
    }
    ids.insert(ids.end(), ghosts.begin(), ghosts.end());
    const auto target =
        Teuchos::rcp(new Map(invalid, Teuchos::ArrayView<const Global>(ids.data(), std::ssize(ids)), 0, comm));
    return Teuchos::rcp(new Tpetra::Import<>(source, target));
  }

  template <class Vector>
  void fill(Vector& vector) {
    const auto view = vector.getLocalViewHost();
    for (std::size_t j = 0; j < view.extent(1); ++j)
      for (std::size_t i = 0; i < view.extent(0); ++i)
        view(i, j) = static_cast<typename Vector::impl_scalar_type>(below(2000) - 1000) / 7;
  }

  template <class Vector>
  static void expect_same(const Vector& ours, const Vector& theirs) {
    const auto a = ours.getLocalViewHost(), b = theirs.getLocalViewHost();
    for (std::size_t j = 0; j < a.extent(1); ++j)
      for (std::size_t i = 0; i < a.extent(0); ++i)
        EXPECT_EQ(0, std::memcmp(&a(i, j), &b(i, j), sizeof(a(i, j)))) << "element " << i << " of vector " << j;
  }

  template <class T>
  void compare(std::size_t columns, bool with_permutation, bool adds) {
    const auto import = importer(with_permutation);
    tpetra::Import<T> ours(*import);
    Tpetra::MultiVector<T> source(import->getSourceMap(), columns), theirs(import->getTargetMap(), columns);
    for (int turn = 0; turn < 2; ++turn) {
      fill(source);
      fill(theirs);
      Tpetra::MultiVector<T> own(theirs, Teuchos::Copy), source_too(source, Teuchos::Copy);
      theirs.doImport(source, *import, Tpetra::INSERT);
      ours.doImport(source, own);
      expect_same(own, theirs);
      for (const Tpetra::CombineMode mode : {Tpetra::INSERT, Tpetra::REPLACE}) {
        fill(theirs);  // copies of an element differ: the last one is what counts
        Tpetra::MultiVector<T> copies(theirs, Teuchos::Copy);
        source.doExport(theirs, *import, mode);
        ours.doExport(copies, source_too, mode);
        expect_same(source_too, source);
        theirs.doImport(source, *import, Tpetra::INSERT);
        ours.doImport(source_too, own);
      }
      if (!adds) continue;
      for (const Tpetra::CombineMode mode : {Tpetra::ADD, Tpetra::ADD_ASSIGN}) {
        source.doExport(theirs, *import, mode);
        ours.doExport(own, source_too, mode);
        expect_same(source_too, source);
      }
    }
  }
};

TEST_F(TpetraExchange, ImportAndReverseInsertTheSameBits) {
  compare<double>(1, false, false);
  compare<double>(3, true, false);
}

TEST_F(TpetraExchange, ReverseAddsIntegersExactly) {
  compare<int>(1, false, true);
  compare<int>(2, true, true);
  compare<long long>(1, true, true);
}

TEST_F(TpetraExchange, ReverseAddIsWithinRounding) {
  const auto import = importer(false);
  tpetra::Import<double> ours(*import);
  Tpetra::MultiVector<double> source(import->getSourceMap(), 1), target(import->getTargetMap(), 1);
  fill(source);
  fill(target);
  Tpetra::MultiVector<double> own(source, Teuchos::Copy);
  source.doExport(target, *import, Tpetra::ADD);
  ours.doExport(target, own, Tpetra::ADD);
  EXPECT_THROW(ours.doExport(target, own, Tpetra::ABSMAX), std::invalid_argument);
  const auto a = own.getLocalViewHost(), b = source.getLocalViewHost();
  for (std::size_t i = 0; i < a.extent(0); ++i) EXPECT_NEAR(a(i, 0), b(i, 0), 1e-11);
}

/// Elements for one rank together, as Tpetra wants them, or scattered.
TEST_F(TpetraExchange, DistributorInBothDirections) {
  for (const bool together : {true, false}) {
    std::vector<int> destinations;
    for (int i = 0; i < 15; ++i) destinations.push_back(below(size()));
    if (rank() == 2) destinations.clear();
    if (together) std::sort(destinations.begin(), destinations.end());
    Tpetra::Distributor theirs(Tpetra::getDefaultComm());
    const auto arriving = theirs.createFromSends(
        Teuchos::ArrayView<const int>(destinations.data(), static_cast<Teuchos_Ordinal>(destinations.size())));
    tpetra::Distributor<double> ours(theirs);
    for (const std::size_t packets : {1, 3}) {
      const std::size_t sent = destinations.size() * packets, arrived = arriving * packets;
      Kokkos::View<double*, Kokkos::HostSpace> exports("exports", sent), imports("imports", arrived),
          own("own", arrived), back("back", sent), own_back("own_back", sent);
      for (std::size_t i = 0; i < sent; ++i) exports(i) = 1.0 / (1 + below(1000));
      theirs.doPostsAndWaits(Kokkos::View<const double*, Kokkos::HostSpace>(exports), packets, imports);
      ours.doPostsAndWaits(exports, packets, own);
      for (std::size_t i = 0; i < arrived; ++i) EXPECT_EQ(own(i), imports(i)) << i;
      ours.doReversePostsAndWaits(own, packets, own_back);
      for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(own_back(i), exports(i)) << i;
      Kokkos::deep_copy(own, -1.0);
      Kokkos::deep_copy(own_back, -1.0);
      ours.doPosts(exports, packets, own);
      EXPECT_THROW(ours.doPosts(exports, packets, own), std::logic_error);
      EXPECT_THROW(ours.doReverseWaits(), std::logic_error);
      ours.doWaits();
      EXPECT_THROW(ours.doWaits(), std::logic_error);
      for (std::size_t i = 0; i < arrived; ++i) EXPECT_EQ(own(i), imports(i)) << i;
      ours.doReversePosts(own, packets, own_back);
      EXPECT_THROW(ours.doWaits(), std::logic_error);
      ours.doReverseWaits();
      for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(own_back(i), exports(i)) << i;
      if (!together) continue;  // Tpetra refuses
      theirs.doReversePostsAndWaits(Kokkos::View<const double*, Kokkos::HostSpace>(imports), packets, back);
      for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(own_back(i), back(i)) << i;
      ours.doReversePostsAndWaits(own, packets, own_back, MPI_SUM);
      for (std::size_t i = 0; i < sent; ++i) EXPECT_EQ(own_back(i), 2 * exports(i)) << i;
    }
  }
}

TEST_F(TpetraExchange, ArraysThatAreTooSmallAreRefused) {
  Tpetra::Distributor theirs(Tpetra::getDefaultComm());
  const std::array destinations{rank(), rank()};
  theirs.createFromSends(Teuchos::ArrayView<const int>(destinations.data(), 2));
  tpetra::Distributor<double> ours(theirs);
  const Kokkos::View<double*, Kokkos::HostSpace> one("one", 1), two("two", 2);
  EXPECT_THROW(ours.doPostsAndWaits(one, 1, two), std::invalid_argument);
  EXPECT_THROW(ours.doReversePostsAndWaits(two, 1, one), std::invalid_argument);
}

}  // namespace
}  // namespace laneway
