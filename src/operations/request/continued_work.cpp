#include "operations/request/continued_work.hpp"

#include <string>
#include <utility>

#include "base/error.hpp"

namespace laneway {

namespace {

/// The work whose function this thread is in: of several, one in the other, the innermost.
constinit thread_local const ContinuedWork* calling = nullptr;
constinit thread_local int holds = 0;

}  // namespace

ContinuationsHeld::ContinuationsHeld() {
  ++holds;
}
ContinuationsHeld::~ContinuationsHeld() {
  --holds;
}

ContinuedWork::ContinuedWork(std::unique_ptr<Work> work, int rank, CodeOfFailure code_of_failure)
    : WrappedWork(std::move(work)), rank_(rank), code_of_failure_(code_of_failure) {
  activity_.list(*this, list_of(*work_));
}

void ContinuedWork::on_arrival(EdgePartition arrival, Continuation continuation) {
  Awaited awaited{.arrival = arrival, .continuation = continuation};
  if (const EdgePartitions* const partitions = work_->edge_partitions()) {
    awaited.event = partitions->event_of_received(arrival.edge, arrival.partition);
  } else {
    require(work_->has_partitions(), ErrorKind::request, "request has no partitions");
    require(arrival.edge == 0, ErrorKind::argument,
            [&] { return "edge is " + std::to_string(arrival.edge) + "; a message between two ranks has edge 0"; });
    (void)work_->arrived(arrival.partition);
  }
  std::erase_if(arrivals_, [&](const Awaited& known) { return known.arrival == arrival; });
  if (continuation.function != nullptr) arrivals_.push_back(awaited);
}

bool ContinuedWork::start() {
  if (state() != WorkState::inactive || !work_->start()) return false;
  begin();
  return true;
}

void ContinuedWork::begin() {
  left_ = arrivals_.size();
  activity_.begin();
}

bool ContinuedWork::is_calling_here() const {
  for (const ContinuedWork* each = calling; each != nullptr; each = each->outer_)
    if (each == this) return true;
  return false;
}

void ContinuedWork::refuse_from_within() const {
  require(!is_calling_here(), ErrorKind::request, [] { return std::string("request ") + text_of(WorkState::calling); });
}

bool ContinuedWork::test() {
  refuse_from_within();
  return activity_.test(nullptr);
}

bool ContinuedWork::done() {
  refuse_from_within();
  return activity_.done(nullptr);
}

WorkState ContinuedWork::state() const {
  if (is_calling_here()) return WorkState::calling;
  return activity_.active() ? WorkState::active : work_->state();
}

bool ContinuedWork::progress() {
  if (holds > 0) return false;
  try {
    const bool complete = work_->test();
    if (left_ > 0 && !complete) call_for_arrivals();
    if (complete) call_for_all(MPI_SUCCESS);
    return complete;
  } catch (...) {
    call_for_all(code_of_failure_(rank_));
    throw;
  }
}

bool ContinuedWork::has_come(const Awaited& awaited) const {
  return work_->edge_partitions() != nullptr ? work_->reached(awaited.event)
                                             : work_->arrived(awaited.arrival.partition);
}

/// Those that have been called for go behind the others, which keeps all for the next exchange.
void ContinuedWork::call_for_arrivals() {
  for (std::size_t i = 0; i < left_;) {
    if (!has_come(arrivals_[i])) {
      ++i;
      continue;
    }
    std::swap(arrivals_[i], arrivals_[--left_]);
    call(arrivals_[left_].continuation, MPI_SUCCESS);
  }
}

void ContinuedWork::call_for_all(int code) {
  while (left_ > 0) call(arrivals_[--left_].continuation, code);
  call(on_complete_, code);
}

void ContinuedWork::call(const Continuation& continuation, int code) {
  if (continuation.function == nullptr) return;
  outer_ = std::exchange(calling, this);
  continuation.function(code, continuation.state);
  calling = std::exchange(outer_, nullptr);
}

}  // namespace laneway
