#include "base/environment.hpp"

namespace laneway {

namespace {

constexpr VariableRow rows[] = {
    // For users.
    {"LANEWAY_DISABLE", "1: the preloaded libraries take nothing over; count: they also say what they would"},
    {"LANEWAY_VERBOSE", "1: say what was taken over, and why strategies and memory were chosen"},
    {"LANEWAY_LOG", "warn, info or debug, or of one part of the library alone, as in info:choose: what it says"},
    {"LANEWAY_TRACE", "a file, with the rank behind its name: when the steps of exchanges began and ended"},
    {"LANEWAY_REPORT", "0, 1 or a file .txt, .json or .html: what the preloaded library saved"},
    {"LANEWAY_REPORT_WAIT", "seconds in MPI_Finalize after which rank 0 reports alone where others have not come"},
    {"LANEWAY_PRELOAD_PETSC", "neighbor: set by laneway run with -sf_type neighbor in PETSC_OPTIONS"},
    {"LANEWAY_PRELOAD_AFTER", "calls that the preloaded library leaves to the MPI library before it makes a plan"},
    {"LANEWAY_PRELOAD_TRIAL", "calls with and without the plan that the preloaded library times"},
    {"LANEWAY_DENSE", "1: the preloaded library takes over blocking dense operations; all ranks must be preloaded"},
    {"LANEWAY_P2P_WAIT", "seconds in MPI_Init after which the program ends where LANEWAY_P2P is not set on all ranks"},
    {"LANEWAY_P2P", "1 or asserted: the preloaded library takes over messages between nodes that repeat"},
    {"LANEWAY_REDUCTIONS", "reorder: it may sum floating-point numbers in another order than MPI's own operation"},
    {"LANEWAY_HYPRE_AFTER", "exchanges that hypre runs itself before a package's plan is made"},
    {"LANEWAY_HYPRE_CALLERS", "which exchanges of hypre are taken over: solvers, products, all"},
    {"LANEWAY_HYPRE_TRIAL", "cycles of a multigrid solver with and without plans that are timed"},
    {"LANEWAY_ENGINE", "0: nothing is registered with the progress engine of the MPI library"},
    {"LANEWAY_DEVICE_PLUGINS", "plugins for devices, as names or paths between colons"},
    {"LANEWAY_DEVICE_AWARE_MPI", "1 or 0: whether the MPI library takes addresses on devices"},
    {"LANEWAY_NCCL_LIBRARY", "the library with NCCL's functions, in place of the vendor's"},
    {"LANEWAY_IPC_CACHE", "how many mappings of other processes' device memory are kept open"},
    {"LANEWAY_SIM_DEVICE", "settings of the sim device"},
    {"LANEWAY_OVERSUBSCRIBED", "set to anything: more ranks than cores, so waiting ranks yield soon"},
    {"LANEWAY_SIMULATION_DATA", "simulated runs: 0: only the time of moving data passes"},
    {"LANEWAY_SIMULATION_EAGER", "simulated runs: 1 or 0: whether short messages leave before their receive is there"},
    {"LANEWAY_SIMULATION_PRECISION", "simulated runs: events that are less seconds apart are one"},
    // From `laneway run --simulate`, which takes them from the machine file, to simulated ranks.
    {"LANEWAY_COPY_COST", "seconds that a copied byte takes in large pieces"},
    {"LANEWAY_PACK_COST", "seconds that a copied byte takes in small pieces"},
    {"LANEWAY_FLAG_COST", "seconds until a rank sees what another has raised; 0: they share no memory"},
    {"LANEWAY_SHARED_COST", "seconds that each end of what is handed over in shared memory takes"},
    {"LANEWAY_SHARED_BYTE_COST", "seconds that each end takes for each of its bytes"},
    {"LANEWAY_RANKS_ON_DEVICES", "1: ranks are devices, and messages take the links between them"},
    {"LANEWAY_TURN_COST", "seconds until a rank that has waited gets its core back"},
    {"LANEWAY_EAGER_BYTES", "shorter messages leave before their receive is there"},
    {"LANEWAY_PLATFORM", "the SimGrid platform file"},
    // For the Python package, the command and the tests.
    {"LANEWAY_LIBRARY", "the file of the library that the Python package loads, or which of its own"},
    {"LANEWAY_ROOT", "the working tree that the command `laneway` uses"},
    {"LANEWAY_SKIP_PACKAGES", "set to anything: `./dev setup` installs no Debian packages"},
    {"LANEWAY_MATRICES", "a folder of matrices that the unit tests read"},
    {"LANEWAY_TEST_LONG", "set to anything: tests run longer"},
    {"LANEWAY_TEST_CASES", "how many random calls a test of one kind makes"},
    {"LANEWAY_TEST_TURNS", "how many random calls of all families are mixed"},
    {"LANEWAY_TEST_PARTS", "how many times so many calls"},
    {"LANEWAY_TEST_CYCLES", "how often the account of MPI's objects makes and frees each"},
    {"LANEWAY_TEST_FORMS", "which forms the account of MPI's objects looks at"},
    {"LANEWAY_TEST_SEED", "the one seed of the property tests"},
    {"LANEWAY_TEST_PROGRAMS", "how many random programs the test of queues runs"},
    {"LANEWAY_TEST_FIRST_PROGRAM", "the number of the first of them"},
    {"LANEWAY_TEST_NCCL_FAILS", "a function of the tests' stand-in for NCCL that returns an error"},
    {"LANEWAY_TEST_MEMORY", "in which memory the tests' buffers are"},
    {"LANEWAY_TEST_MEMORY_PATH", "the one memory path that the tests of devices use"},
    {"LANEWAY_TEST_TRACE", "set to anything: the test of relays under the preload says what it does"},
};

}  // namespace

std::span<const VariableRow> variable_rows() {
  return rows;
}

}  // namespace laneway
