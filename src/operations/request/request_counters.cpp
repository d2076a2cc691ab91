#include "operations/request/request_counters.hpp"

#include <utility>
#include <vector>

#include "base/process/attachments.hpp"
#include "communicator/private_comm.hpp"

namespace laneway {

namespace {

/// Of requests that are gone, and nonblocking ones.
struct Totals : Attachment {
  RequestCounts counts;
  std::atomic<std::int64_t> nonblocking{0};
  std::atomic<std::int64_t> blocking{0};
};

std::mutex changes;

/// Never destroyed: requests may outlive what the program destroys at its end.
std::vector<RequestCounter*>& all() {
  static auto* const counters = new std::vector<RequestCounter*>;
  return *counters;
}

Totals& totals_of(const PrivateComm* comm) {
  static auto* const process = new Totals;
  return comm == nullptr ? *process : comm->attachment<Totals>();
}

void count(std::atomic<std::int64_t> Totals::*total, const PrivateComm* comm) {
  (totals_of(nullptr).*total).fetch_add(1, std::memory_order_relaxed);
  if (comm != nullptr) (totals_of(comm).*total).fetch_add(1, std::memory_order_relaxed);
}

void add(Statistics& sum, const Statistics& each, std::int64_t exchanges) {
  sum.messages += exchanges * each.messages;
  sum.bytes += exchanges * each.bytes;
  sum.net_messages += exchanges * each.net_messages;
  sum.net_bytes += exchanges * each.net_bytes;
  sum.copied_bytes += exchanges * each.copied_bytes;
}

void add_held(Statistics& sum, const Statistics& each) {
  sum.staging_bytes += each.staging_bytes;
  sum.window_bytes += each.window_bytes;
  sum.metadata_bytes += each.metadata_bytes;
}

}  // namespace

RequestCounter::RequestCounter(const Work* work, const PrivateComm* comm) : work_(work), comm_(comm) {
  const auto lock = changing();
  place_ = all().size();
  all().push_back(this);
}

RequestCounter::~RequestCounter() {
  const auto lock = changing();
  all()[place_] = all().back();
  all()[place_]->place_ = place_;
  all().pop_back();
  add_to(totals_of(nullptr).counts);
  if (comm_ != nullptr) add_to(totals_of(comm_).counts);
}

std::unique_lock<std::mutex> RequestCounter::changing() {
  return std::unique_lock(changes);
}

void RequestCounter::add_to(RequestCounts& counts) const {
  const std::int64_t exchanges = exchanges_.load(std::memory_order_relaxed);
  ++counts.made;
  counts.exchanges += exchanges;
  if (exchanges > 0) add(counts.of_exchanges, work_->statistics(), exchanges);
}

void count_nonblocking(const PrivateComm* comm) {
  count(&Totals::nonblocking, comm);
}
void count_blocking(const PrivateComm* comm) {
  count(&Totals::blocking, comm);
}

RequestCounts count_requests(const PrivateComm* comm) {
  const auto lock = RequestCounter::changing();
  const Totals& gone = totals_of(comm);
  RequestCounts counts = gone.counts;
  const std::int64_t nonblocking = gone.nonblocking.load(std::memory_order_relaxed);
  counts.made += nonblocking;
  counts.exchanges += nonblocking;
  counts.blocking = gone.blocking.load(std::memory_order_relaxed);
  for (const RequestCounter* const each : all()) {
    if (comm != nullptr && each->comm_ != comm) continue;
    ++counts.live;
    each->add_to(counts);
    add_held(counts.of_exchanges, each->work_->statistics());
    counts.of_exchanges.metadata_bytes += each->held_bytes_;
  }
  return counts;
}

}  // namespace laneway
