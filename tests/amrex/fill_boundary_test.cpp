// Ghost cells by Laneway's plans against AMReX's FillBoundary, bit for bit: boxes of several sizes, spread unevenly,
// periodic and not, faces only, some components, nodal data, integers. With --time it times both, in turns.
#include <AMReX.H>
#include <AMReX_MultiFab.H>
#include <AMReX_iMultiFab.H>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <vector>

#include "laneway/amrex.hpp"

namespace {

using amrex::Box;
using amrex::IntVect;

int differences = 0;

template <class FAB>
void fill(amrex::FabArray<FAB>& fabs) {
  for (amrex::MFIter it(fabs); it.isValid(); ++it) {
    auto& fab = fabs[it];
    auto* const values = fab.dataPtr();
    const auto cells = fab.box().numPts() * fab.nComp();
    for (long i = 0; i < cells; ++i)
      values[i] = static_cast<typename FAB::value_type>(-1000000L * (it.index() + 1) - i);
    // Own cells are numbered by their place, so that cells of several boxes at one place agree.
    const auto view = fab.array();
    const Box valid = it.validbox();
    const Box domain = amrex::enclosedCells(fabs.boxArray().minimalBox());
    for (int c = 0; c < fab.nComp(); ++c)
      for (int k = valid.smallEnd(2); k <= valid.bigEnd(2); ++k)
        for (int j = valid.smallEnd(1); j <= valid.bigEnd(1); ++j)
          for (int i = valid.smallEnd(0); i <= valid.bigEnd(0); ++i)
            view(i, j, k, c) = static_cast<typename FAB::value_type>(
                ((c * 100L + k % domain.length(2)) * 100L + j % domain.length(1)) * 100L + i % domain.length(0));
  }
}

template <class FAB>
void check(const char* what, const amrex::BoxArray& boxes, const amrex::DistributionMapping& map, int components,
           int ghosts, const amrex::Periodicity& period, int scomp, int ncomp, bool cross) {
  amrex::FabArray<FAB> wanted(boxes, map, components, ghosts), got(boxes, map, components, ghosts);
  fill(wanted);
  fill(got);
  laneway::amrex::FillBoundary<FAB> exchange(got, IntVect(ghosts), period, scomp, ncomp, cross);
  for (int turn = 0; turn < 3; ++turn) {
    fill(wanted);
    fill(got);
    wanted.FillBoundary(scomp, ncomp, IntVect(ghosts), period, cross);
    exchange();
    for (amrex::MFIter it(wanted); it.isValid(); ++it) {
      const auto& a = wanted[it];
      const auto& b = got[it];
      if (std::memcmp(a.dataPtr(), b.dataPtr(), a.nBytes()) == 0) continue;
      if (differences++ < 10) std::fprintf(stderr, "differs: %s, box %d\n", what, it.index());
    }
  }
}

/// Median milliseconds of AMReX's and of Laneway's.
void time(const amrex::BoxArray& boxes, const amrex::DistributionMapping& map, int components) {
  amrex::MultiFab fabs(boxes, map, components, 1);
  fabs.setVal(1);
  const amrex::Periodicity period(IntVect(AMREX_D_DECL(64, 64, 64)));
  laneway::amrex::FillBoundary<amrex::FArrayBox> exchange(fabs, IntVect(1), period);
  std::vector<double> seconds[2];
  for (int turn = 0; turn < 40; ++turn)
    for (int which = 0; which < 2; ++which) {
      amrex::ParallelDescriptor::Barrier();
      double taken = -amrex::ParallelDescriptor::second();
      for (int i = 0; i < 5; ++i) which == 0 ? fabs.FillBoundary(period) : exchange();
      taken += amrex::ParallelDescriptor::second();
      amrex::ParallelDescriptor::ReduceRealMax(taken);
      if (turn >= 5) seconds[which].push_back(taken / 5);
    }
  for (auto& list : seconds) std::sort(list.begin(), list.end());
  if (amrex::ParallelDescriptor::IOProcessor())
    std::printf("%ld boxes, %d components: AMReX %.3f ms, Laneway %.3f ms\n", static_cast<long>(boxes.size()),
                components, 1e3 * seconds[0][seconds[0].size() / 2], 1e3 * seconds[1][seconds[1].size() / 2]);
}

}  // namespace

int main(int argc, char** argv) {
  const bool times = argc > 1 && std::strcmp(argv[1], "--time") == 0;
  if (times) --argc;
  amrex::Initialize(argc, argv, false);
  {
    const Box domain(IntVect(0), IntVect(AMREX_D_DECL(63, 63, 63)));
    const amrex::Periodicity periodic(domain.length()), none = amrex::Periodicity::NonPeriodic(),
                                                        one(IntVect(AMREX_D_DECL(64, 0, 0)));
    amrex::BoxArray boxes(domain);
    boxes.maxSize(IntVect(AMREX_D_DECL(32, 16, 24)));
    const amrex::DistributionMapping map(boxes);
    if (times) {
      for (const int components : {1, 4}) time(boxes, map, components);
    } else {
      using amrex::FArrayBox;
      check<FArrayBox>("periodic", boxes, map, 1, 1, periodic, 0, 1, false);
      check<FArrayBox>("components", boxes, map, 5, 2, periodic, 1, 3, false);
      check<FArrayBox>("not periodic", boxes, map, 2, 3, none, 0, 2, false);
      check<FArrayBox>("periodic in one direction, faces only", boxes, map, 1, 1, one, 0, 1, true);
      amrex::BoxArray nodes = boxes;
      nodes.convert(IntVect(AMREX_D_DECL(1, 0, 1)));
      check<FArrayBox>("nodal", nodes, map, 1, 1, periodic, 0, 1, false);
      check<amrex::IArrayBox>("integers", boxes, map, 2, 1, periodic, 0, 2, false);
      // All boxes on the last rank, and one box.
      amrex::Vector<int> last(boxes.size(), amrex::ParallelDescriptor::NProcs() - 1);
      check<FArrayBox>("one rank has all", boxes, amrex::DistributionMapping(last), 1, 1, periodic, 0, 1, false);
      const amrex::BoxArray single(domain);
      check<FArrayBox>("one box", single, amrex::DistributionMapping(single), 1, 2, periodic, 0, 1, false);
    }
    amrex::ParallelDescriptor::ReduceIntSum(differences);
    if (amrex::ParallelDescriptor::IOProcessor() && !times)
      std::printf(differences == 0 ? "all checks hold\n" : "wrong: %d differences\n", differences);
  }
  amrex::Finalize();
  return differences == 0 ? 0 : 1;
}
