// The functions of hypre that stand before its own. Each calls hypre's, found behind this library, unless an exchange
// is taken over. docs/decisions/111-hypre-only-in-solvers.md has the reasons for this choice of functions.

#include <_hypre_parcsr_ls.h>
#include <dlfcn.h>
#include <krylov.h>

#include <cstdlib>
#include <string>

#include "base/log_line.hpp"
#include "takeover.hpp"

namespace laneway::hypre {

namespace {

void* find_next(const char* name) {
  void* const found = dlsym(RTLD_NEXT, name);
  if (found != nullptr) return found;
  log_line("hypre: this program has no " + std::string(name) + " of hypre " HYPRE_RELEASE_VERSION);
  std::abort();
}

/// hypre's own function.
#define LANEWAY_NEXT(function)                      \
  reinterpret_cast<decltype(&(function))>([] {      \
    static void* const next = find_next(#function); \
    return next;                                    \
  }())

/// Packages have another layout in other versions of hypre.
bool is_this_version() {
  HYPRE_Int number = 0;
  LANEWAY_NEXT(HYPRE_VersionNumber)(nullptr, nullptr, nullptr, &number);
  if (number == HYPRE_RELEASE_NUMBER) return true;
  Takeover::instance().give_up("built for hypre " HYPRE_RELEASE_VERSION ", but the program has release number " +
                               std::to_string(number));
  return false;
}

Takeover* takeover() {
  static const bool fits = is_this_version();
  return fits ? &Takeover::instance() : nullptr;
}

/// Where the matrix in whose product or smoother this thread is has its package.
thread_local hypre_ParCSRCommPkg* const* package_at_work = nullptr;

class AtWork {
 public:
  template <class Matrix>
  explicit AtWork(const Matrix* matrix) : before_(package_at_work) {
    package_at_work = &matrix->comm_pkg;
  }
  ~AtWork() { package_at_work = before_; }
  AtWork(const AtWork&) = delete;
  AtWork& operator=(const AtWork&) = delete;

 private:
  hypre_ParCSRCommPkg* const* before_;
};

/// Solvers that this thread is in, one calling the other.
thread_local int solvers = 0;

class InSolver {
 public:
  InSolver() { ++solvers; }
  ~InSolver() { --solvers; }
  InSolver(const InSolver&) = delete;
  InSolver& operator=(const InSolver&) = delete;
};

/// Where hypre's own code is.
const void* library_of(const void* address) {
  Dl_info found{};
  return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

/// `from`: where the exchange was called. hypre asks here and there whether there is anything to send before it starts
/// one, in functions of its setup for instance: nobody can promise anything of those.
Caller caller(const hypre_ParCSRCommPkg* package, const void* from) {
  static const void* const hypre = library_of(find_next("hypre_ParCSRCommHandleCreate"));
  if (package_at_work == nullptr || *package_at_work != package)
    return library_of(from) == hypre ? Caller::hypre : Caller::program;
  return solvers > 0 ? Caller::solver : Caller::product;
}

bool on_host(HYPRE_MemoryLocation location) {
#if defined(HYPRE_USING_GPU)
  return location == HYPRE_MEMORY_HOST;
#else
  return location == HYPRE_MEMORY_HOST || location == HYPRE_MEMORY_DEVICE;  // the same here
#endif
}

}  // namespace

}  // namespace laneway::hypre

using laneway::hypre::AtWork;
using laneway::hypre::caller;
using laneway::hypre::find_next;
using laneway::hypre::InSolver;
using laneway::hypre::on_host;
using laneway::hypre::takeover;

namespace {

/// Null if the exchange is left to hypre.
hypre_ParCSRCommHandle* start(const void* from, HYPRE_Int job, hypre_ParCSRCommPkg* comm_pkg,
                              HYPRE_MemoryLocation send_memory_location, void* send_data,
                              HYPRE_MemoryLocation recv_memory_location, void* recv_data) {
  auto* const ours = takeover();
  if (ours == nullptr) return nullptr;
  const bool host = on_host(send_memory_location) && on_host(recv_memory_location);
  return ours->start({job, 1, comm_pkg, host, send_data, recv_data, caller(comm_pkg, from)});
}

}  // namespace

extern "C" {

LNW_PUBLIC hypre_ParCSRCommHandle* hypre_ParCSRCommHandleCreate_v2(HYPRE_Int job, hypre_ParCSRCommPkg* comm_pkg,
                                                                   HYPRE_MemoryLocation send_memory_location,
                                                                   void* send_data_in,
                                                                   HYPRE_MemoryLocation recv_memory_location,
                                                                   void* recv_data_in) {
  auto* const handle = start(__builtin_return_address(0), job, comm_pkg, send_memory_location, send_data_in,
                             recv_memory_location, recv_data_in);
  if (handle != nullptr) return handle;
  return LANEWAY_NEXT(hypre_ParCSRCommHandleCreate_v2)(job, comm_pkg, send_memory_location, send_data_in,
                                                       recv_memory_location, recv_data_in);
}

LNW_PUBLIC hypre_ParCSRCommHandle* hypre_ParCSRCommHandleCreate(HYPRE_Int job, hypre_ParCSRCommPkg* comm_pkg,
                                                                void* send_data, void* recv_data) {
  auto* const handle =
      start(__builtin_return_address(0), job, comm_pkg, HYPRE_MEMORY_HOST, send_data, HYPRE_MEMORY_HOST, recv_data);
  if (handle != nullptr) return handle;
  return LANEWAY_NEXT(hypre_ParCSRCommHandleCreate_v2)(job, comm_pkg, HYPRE_MEMORY_HOST, send_data, HYPRE_MEMORY_HOST,
                                                       recv_data);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRCommHandleDestroy(hypre_ParCSRCommHandle* comm_handle) {
  if (auto* const ours = takeover(); ours != nullptr && ours->finish(comm_handle)) return hypre_error_flag;
  return LANEWAY_NEXT(hypre_ParCSRCommHandleDestroy)(comm_handle);
}

LNW_PUBLIC hypre_ParCSRCommHandle* hypre_ParCSRBlockCommHandleCreate(HYPRE_Int job, HYPRE_Int bnnz,
                                                                     hypre_ParCSRCommPkg* comm_pkg, void* send_data,
                                                                     void* recv_data) {
  if (auto* const ours = takeover(); ours != nullptr) {
    auto* const handle =
        ours->start({job, bnnz, comm_pkg, true, send_data, recv_data, caller(comm_pkg, __builtin_return_address(0))});
    if (handle != nullptr) return handle;
  }
  return LANEWAY_NEXT(hypre_ParCSRBlockCommHandleCreate)(job, bnnz, comm_pkg, send_data, recv_data);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRBlockCommHandleDestroy(hypre_ParCSRCommHandle* comm_handle) {
  if (auto* const ours = takeover(); ours != nullptr && ours->finish(comm_handle)) return hypre_error_flag;
  return LANEWAY_NEXT(hypre_ParCSRBlockCommHandleDestroy)(comm_handle);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRCommPkgCreateAndFill(MPI_Comm comm, HYPRE_Int num_recvs, HYPRE_Int* recv_procs,
                                                      HYPRE_Int* recv_vec_starts, HYPRE_Int num_sends,
                                                      HYPRE_Int* send_procs, HYPRE_Int* send_map_starts,
                                                      HYPRE_Int* send_map_elmts, hypre_ParCSRCommPkg** comm_pkg_ptr) {
  const HYPRE_Int error =
      LANEWAY_NEXT(hypre_ParCSRCommPkgCreateAndFill)(comm, num_recvs, recv_procs, recv_vec_starts, num_sends,
                                                     send_procs, send_map_starts, send_map_elmts, comm_pkg_ptr);
  if (auto* const ours = takeover(); ours != nullptr) ours->made(*comm_pkg_ptr);
  return error;
}

LNW_PUBLIC HYPRE_Int hypre_MatvecCommPkgDestroy(hypre_ParCSRCommPkg* comm_pkg) {
  if (auto* const ours = takeover(); ours != nullptr) ours->destroyed(comm_pkg);
  return LANEWAY_NEXT(hypre_MatvecCommPkgDestroy)(comm_pkg);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRCommPkgUpdateVecStarts(hypre_ParCSRCommPkg* comm_pkg, hypre_ParVector* x) {
  const HYPRE_Int before = hypre_ParCSRCommPkgNumComponents(comm_pkg);
  const HYPRE_Int error = LANEWAY_NEXT(hypre_ParCSRCommPkgUpdateVecStarts)(comm_pkg, x);
  if (hypre_ParCSRCommPkgNumComponents(comm_pkg) != before)
    if (auto* const ours = takeover(); ours != nullptr) ours->changed(comm_pkg);
  return error;
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGCreateNodalA(hypre_ParCSRMatrix* A, HYPRE_Int num_functions, HYPRE_Int* dof_func,
                                                 HYPRE_Int option, HYPRE_Int diag_option, hypre_ParCSRMatrix** AN_ptr) {
  const HYPRE_Int error =
      LANEWAY_NEXT(hypre_BoomerAMGCreateNodalA)(A, num_functions, dof_func, option, diag_option, AN_ptr);
  if (auto* const ours = takeover(); ours != nullptr) ours->changed(hypre_ParCSRMatrixCommPkg(A));
  return error;
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRMatrixMatvecOutOfPlaceHost(HYPRE_Complex alpha, hypre_ParCSRMatrix* A,
                                                            hypre_ParVector* x, HYPRE_Complex beta, hypre_ParVector* b,
                                                            hypre_ParVector* y) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_ParCSRMatrixMatvecOutOfPlaceHost)(alpha, A, x, beta, b, y);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRMatrixMatvecTHost(HYPRE_Complex alpha, hypre_ParCSRMatrix* A, hypre_ParVector* x,
                                                   HYPRE_Complex beta, hypre_ParVector* y) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_ParCSRMatrixMatvecTHost)(alpha, A, x, beta, y);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRMatrixMatvec_FF(HYPRE_Complex alpha, hypre_ParCSRMatrix* A, hypre_ParVector* x,
                                                 HYPRE_Complex beta, hypre_ParVector* y, HYPRE_Int* CF_marker,
                                                 HYPRE_Int fpt) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_ParCSRMatrixMatvec_FF)(alpha, A, x, beta, y, CF_marker, fpt);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGRelaxWeightedJacobi_core(hypre_ParCSRMatrix* A, hypre_ParVector* f,
                                                             HYPRE_Int* cf_marker, HYPRE_Int relax_points,
                                                             HYPRE_Real relax_weight, HYPRE_Real* l1_norms,
                                                             hypre_ParVector* u, hypre_ParVector* Vtemp,
                                                             HYPRE_Int Skip_diag) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_BoomerAMGRelaxWeightedJacobi_core)(A, f, cf_marker, relax_points, relax_weight, l1_norms, u,
                                                               Vtemp, Skip_diag);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGRelaxHybridGaussSeidel_core(
    hypre_ParCSRMatrix* A, hypre_ParVector* f, HYPRE_Int* cf_marker, HYPRE_Int relax_points, HYPRE_Real relax_weight,
    HYPRE_Real omega, HYPRE_Real* l1_norms, hypre_ParVector* u, hypre_ParVector* Vtemp, hypre_ParVector* Ztemp,
    HYPRE_Int GS_order, HYPRE_Int Symm, HYPRE_Int Skip_diag, HYPRE_Int forced_seq, HYPRE_Int Topo_order) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_BoomerAMGRelaxHybridGaussSeidel_core)(A, f, cf_marker, relax_points, relax_weight, omega,
                                                                  l1_norms, u, Vtemp, Ztemp, GS_order, Symm, Skip_diag,
                                                                  forced_seq, Topo_order);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGRelax5ChaoticHybridGaussSeidel(hypre_ParCSRMatrix* A, hypre_ParVector* f,
                                                                   HYPRE_Int* cf_marker, HYPRE_Int relax_points,
                                                                   hypre_ParVector* u) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_BoomerAMGRelax5ChaoticHybridGaussSeidel)(A, f, cf_marker, relax_points, u);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGRelaxKaczmarz(hypre_ParCSRMatrix* A, hypre_ParVector* f, HYPRE_Real omega,
                                                  HYPRE_Real* l1_norms, hypre_ParVector* u) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_BoomerAMGRelaxKaczmarz)(A, f, omega, l1_norms, u);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRBlockMatrixMatvec(HYPRE_Complex alpha, hypre_ParCSRBlockMatrix* A, hypre_ParVector* x,
                                                   HYPRE_Complex beta, hypre_ParVector* y) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_ParCSRBlockMatrixMatvec)(alpha, A, x, beta, y);
}

LNW_PUBLIC HYPRE_Int hypre_ParCSRBlockMatrixMatvecT(HYPRE_Complex alpha, hypre_ParCSRBlockMatrix* A, hypre_ParVector* x,
                                                    HYPRE_Complex beta, hypre_ParVector* y) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_ParCSRBlockMatrixMatvecT)(alpha, A, x, beta, y);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGBlockRelax(hypre_ParCSRBlockMatrix* A, hypre_ParVector* f, HYPRE_Int* cf_marker,
                                               HYPRE_Int relax_type, HYPRE_Int relax_points, HYPRE_Real relax_weight,
                                               HYPRE_Real omega, hypre_ParVector* u, hypre_ParVector* Vtemp) {
  const AtWork at_work(A);
  return LANEWAY_NEXT(hypre_BoomerAMGBlockRelax)(A, f, cf_marker, relax_type, relax_points, relax_weight, omega, u,
                                                 Vtemp);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGSetup(void* solver, hypre_ParCSRMatrix* A, hypre_ParVector* f, hypre_ParVector* u) {
  if (auto* const ours = takeover(); ours != nullptr) ours->forget(solver);
  return LANEWAY_NEXT(hypre_BoomerAMGSetup)(solver, A, f, u);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGDestroy(void* solver) {
  if (auto* const ours = takeover(); ours != nullptr) ours->forget(solver);
  return LANEWAY_NEXT(hypre_BoomerAMGDestroy)(solver);
}

LNW_PUBLIC HYPRE_Int hypre_BoomerAMGSolve(void* solver, hypre_ParCSRMatrix* A, hypre_ParVector* f, hypre_ParVector* u) {
  const InSolver in_solver;
  auto* const ours = takeover();
  const auto trial = ours == nullptr ? nullptr : ours->trial_of(solver);
  if (trial) trial->begin();
  const HYPRE_Int error = LANEWAY_NEXT(hypre_BoomerAMGSolve)(solver, A, f, u);
  if (trial)
    trial->end(hypre_ParCSRMatrixComm(A), hypre_ParAMGDataNumIterations(static_cast<hypre_ParAMGData*>(solver)));
  return error;
}

#define LANEWAY_SOLVER(name, Matrix, Vector)                                 \
  LNW_PUBLIC HYPRE_Int name(void* solver, Matrix* A, Vector* b, Vector* x) { \
    const InSolver in_solver;                                                \
    return LANEWAY_NEXT(name)(solver, A, b, x);                              \
  }
LANEWAY_SOLVER(hypre_BoomerAMGSolveT, hypre_ParCSRMatrix, hypre_ParVector)
LANEWAY_SOLVER(hypre_PCGSolve, void, void)
LANEWAY_SOLVER(hypre_CGNRSolve, void, void)
LANEWAY_SOLVER(hypre_GMRESSolve, void, void)
LANEWAY_SOLVER(hypre_COGMRESSolve, void, void)
LANEWAY_SOLVER(hypre_FlexGMRESSolve, void, void)
LANEWAY_SOLVER(hypre_LGMRESSolve, void, void)
LANEWAY_SOLVER(hypre_BiCGSTABSolve, void, void)

}  // extern "C"
