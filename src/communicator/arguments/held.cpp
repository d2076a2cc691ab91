#include "communicator/arguments/held.hpp"

#include <map>
#include <mutex>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "communicator/datatypes/operators.hpp"
#include "mpi/behind.hpp"
#include "mpi/check.hpp"

namespace laneway {

namespace {

using FreeOperator = int (*)(MPI_Op*);

/// The operators of programs that are held.
class HeldOperators {
 public:
  void hold(MPI_Op op) {
    const std::lock_guard lock(mutex_);
    ++held_[op].times;
  }
  void release(MPI_Op op) {
    {
      const std::lock_guard lock(mutex_);
      const auto found = held_.find(op);
      if (--found->second.times > 0) return;
      const bool is_freed = found->second.is_freed;
      held_.erase(found);
      if (!is_freed) return;
    }
    if (!mpi_is_finalized()) behind<FreeOperator>("PMPI_Op_free")(&op);
  }
  /// False: it is not held, and MPI may free it.
  bool free(MPI_Op op) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(op);
    if (found == held_.end()) return false;
    found->second.is_freed = true;
    return true;
  }

 private:
  struct Held {
    int times = 0;
    bool is_freed = false;
  };
  std::mutex mutex_;
  std::map<MPI_Op, Held> held_;
};

/// Never destroyed: operators may be freed later than any object of static lifetime.
HeldOperators& held_operators() {
  static auto* const held = new HeldOperators;
  return *held;
}

}  // namespace

HeldOperator::HeldOperator(MPI_Op op)
    : op_(op), is_users_(!simulated && op != MPI_OP_NULL && !is_predefined_operator(op)) {
  if (is_users_) held_operators().hold(op_);
}

HeldOperator::~HeldOperator() {
  if (is_users_) held_operators().release(op_);
}

HeldType::HeldType(MPI_Datatype type) : type_(type) {
  if (type == MPI_DATATYPE_NULL || is_predefined(type)) return;
  check_mpi(MPI_Type_dup(type, copy_.place()), "MPI_Type_dup");
  if (simulated)
    type_ = copy_.get();  // which has no attributes of datatypes
  else
    life_ = life_of(type);
}

HeldType::~HeldType() = default;

#ifndef LANEWAY_SIMULATED
namespace {

int free_operator(MPI_Op* op, FreeOperator behind) {
  if (op == nullptr || !held_operators().free(*op)) return behind(op);
  *op = MPI_OP_NULL;
  return MPI_SUCCESS;
}

}  // namespace
#endif

}  // namespace laneway

#ifndef LANEWAY_SIMULATED
extern "C" __attribute__((visibility("default"))) int MPI_Op_free(MPI_Op* op) {
  static const auto behind = laneway::behind<laneway::FreeOperator>("MPI_Op_free");
  return laneway::free_operator(op, behind);
}

/// What Fortran bindings and tools call.
extern "C" __attribute__((visibility("default"))) int PMPI_Op_free(MPI_Op* op) {
  static const auto behind = laneway::behind<laneway::FreeOperator>("PMPI_Op_free");
  return laneway::free_operator(op, behind);
}
#endif
