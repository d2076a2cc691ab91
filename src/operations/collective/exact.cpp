#include "operations/collective/exact.hpp"

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "communicator/communicator.hpp"
#include "mpi/check.hpp"
#include "operations/collective/checked.hpp"

namespace laneway {

namespace {

void add_sums(void* from, void* to, int* count, MPI_Datatype* type) {
  int bytes = 0;
  MPI_Type_size(*type, &bytes);
  const std::size_t sums = static_cast<std::size_t>(*count) * static_cast<std::size_t>(bytes) / sizeof(BinnedSum);
  const std::span all(static_cast<BinnedSum*>(to), sums);
  const std::span others(static_cast<const BinnedSum*>(from), sums);
  for (std::size_t i = 0; i < sums; ++i) all[i].add(others[i]);
}

MadeType type_of_sums(int numbers) {
  MadeType type;
  check_mpi(MPI_Type_contiguous(numbers * static_cast<int>(sizeof(BinnedSum)), MPI_BYTE, type.place()),
            "MPI_Type_contiguous");
  check_mpi(MPI_Type_commit(type.place()), "MPI_Type_commit");
  return type;
}

template <class Float>
void accumulate(const void* from, std::vector<BinnedSum>& to) {
  const std::span numbers(static_cast<const Float*>(from), to.size());
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = BinnedSum(static_cast<double>(numbers[i]));
}

struct ElementCounts {
  std::int64_t send = 0;
  std::int64_t receive = 0;
  std::int64_t results = receive;  ///< of those received, in a result that is defined
};

ElementCounts elements_of(const CollectiveCall& call, Rank rank, Rank ranks) {
  const std::int64_t count = call.receive.count;
  if (call.kind == DenseKind::reduce_scatter_block) return {count * ranks, count};
  if (call.kind == DenseKind::exscan) return {count, count, rank == 0 ? 0 : count};
  if (call.kind == DenseKind::reduce) return {count, call.root == rank ? count : 0};
  if (call.kind != DenseKind::reduce_scatter) return {count, count};
  ElementCounts elements{0, call.receive.counts[rank]};
  for (Rank peer = 0; peer < ranks; ++peer) elements.send += call.receive.counts[peer];
  return elements;
}

}  // namespace

ExactSum::ExactSum() : real_(type_of_sums(1)), complex_(type_of_sums(2)) {
  check_mpi(MPI_Op_create(add_sums, 1, &op_), "MPI_Op_create");
}

ExactSum::~ExactSum() {
  if (op_ != MPI_OP_NULL && !mpi_is_finalized()) MPI_Op_free(&op_);
}

bool adds_floats(const CollectiveCall& call) {
  return reduces(call.kind) && call.op == MPI_SUM && floats_of(call.receive.type).has_value();
}

ExactCall::ExactCall(Communicator& communicator, const CollectiveCall& given, Rank rank, Rank ranks)
    : given_(given), floats_(*floats_of(given.receive.type)), call_(given) {
  require(is_on_host(given), ErrorKind::unsupported,
          "lnw_order=exact adds numbers in the host's memory, and a buffer is on a device");
  std::shared_ptr<const ExactSum>& known = communicator.attachment<ExactSums>().sum;
  if (!known) known = std::make_shared<const ExactSum>();
  sum_ = known;
  const ElementCounts elements = elements_of(given, rank, ranks);
  sent_.resize(static_cast<std::size_t>(elements.send * floats_.numbers));
  received_.resize(static_cast<std::size_t>(elements.receive * floats_.numbers));
  results_ = static_cast<std::size_t>(elements.results * floats_.numbers);
  call_.sendbuf = sent_.data();
  call_.recvbuf = received_.data();
  call_.op = sum_->op();
  call_.send.type = call_.receive.type = sum_->type(floats_.numbers);
  call_.any_order = true;
}

void ExactCall::fetch() {
  const void* const from = is_in_place(given_) ? given_.recvbuf : given_.sendbuf;
  if (floats_.bytes == sizeof(float))
    accumulate<float>(from, sent_);
  else
    accumulate<double>(from, sent_);
}

void ExactCall::put_back() const {
  if (floats_.bytes == sizeof(float)) {
    auto* const to = static_cast<float*>(given_.recvbuf);
    for (std::size_t i = 0; i < results_; ++i) to[i] = received_[i].to_float();
  } else {
    auto* const to = static_cast<double*>(given_.recvbuf);
    for (std::size_t i = 0; i < results_; ++i) to[i] = received_[i].to_double();
  }
}

void ExactWork::finish() {
  if (!std::exchange(is_finished_, true)) call_->put_back();
}

bool ExactWork::start() {
  if (work_->state() != WorkState::inactive) return false;
  call_->fetch();
  is_finished_ = false;
  return work_->start();
}

bool ExactWork::test() {
  if (!work_->active()) return true;
  if (!work_->test()) return false;
  finish();
  return true;
}

bool ExactWork::done() {
  if (!work_->active()) return true;
  if (!work_->done()) return false;
  finish();
  return true;
}

void ExactWork::wait() {
  if (!work_->active()) return;
  work_->wait();
  finish();
}

}  // namespace laneway
