#include "operations/request/persistent_exchange.hpp"

#include "base/error.hpp"
#include "communicator/arguments/call.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

namespace {

/// Whether bytes of a buffer would be where no memory can be.
bool is_missing(const void* buffer, const Range& used) {
  return buffer == nullptr && used.bytes > 0 && lies_nowhere(used.offset);
}

}  // namespace

bool needs_buffers(const Plan& plan) {
  // Those of MPI_BOTTOM, which is a null pointer, are far from it.
  const Extents used = extents_of(plan);
  return is_missing(nullptr, used.send) || is_missing(nullptr, used.receive);
}

PersistentExchange::PersistentExchange(ExchangeParts parts) : plans_(parts.ready.plan), parts_(std::move(parts)) {
  if (parts_.partitions) arrivals_ = std::make_unique<ArrivalOrder>(parts_.partitions->received());
}

/// Messages of the exchange may be under way.
void PersistentExchange::fail() noexcept {
  if (exchange_->active()) return;
  exchange_.reset();
  failed_ = true;
}

WorkState PersistentExchange::state() const {
  if (!exchange_) return failed_ ? WorkState::failed : WorkState::unbound;
  return Work::state();
}

int PersistentExchange::next_arrival() {
  if (!arrivals_) return none_left;
  if (!exchange_) return none_yet;
  return arrivals_->next(exchange_->exchanges(), [&](int event) { return exchange_->reached(event); });
}

const Plan& PersistentExchange::plan() const {
  return exchange_ ? exchange_->executor().plan() : *plans_.plan();
}

Statistics PersistentExchange::statistics() const {
  Statistics total = statistics_of(plan(), parts_.node, parts_.ready.memory.get());
  total.metadata_bytes += static_cast<std::int64_t>(sizeof *this);
  if (exchange_) total.metadata_bytes += exchange_->executor().metadata_bytes();
  if (shared_staging() != nullptr) total.arena_bytes = shared_staging()->bytes();
  return total;
}

Device PersistentExchange::device() const {
  return exchange_ ? device_of(exchange_->executor().where()) : Device{};
}

std::string_view PersistentExchange::set_buffers(Buffers buffers) {
  require(!failed_, ErrorKind::request, "request has failed before and can only be freed");
  check_buffers(buffers.send, buffers.receive);
  return bind(buffers);
}

std::string_view PersistentExchange::bind(Buffers buffers) {
  if (buffers.send == nullptr || buffers.receive == nullptr) {
    const Extents used = extents_of(*plans_.plan());
    require(!is_missing(buffers.send, used.send), ErrorKind::buffer, "sendbuf is NULL");
    require(!is_missing(buffers.receive, used.receive), ErrorKind::buffer, "recvbuf is NULL");
  }
  std::unique_ptr<Exchange> exchange = bound_to(buffers, parts_.stream);
  const bool needs_nobody = exchange->executor().starts_all_messages();
  if (!needs_nobody) employ(parts_.helper);
  buffers_ = buffers;
  exchange_ = std::move(exchange);
  return needs_nobody && parts_.helper != Helper::thread_for_all ? "mpi" : name(parts_.helper);
}

std::unique_ptr<Exchange> PersistentExchange::bound_to(Buffers buffers, std::optional<lnw_device_stream> stream) {
  P2PTransport transport(parts_.comm->get(), parts_.tag);
  const BufferMemory where = laneway::look_at(buffers, *plans_.plan(), parts_.ready.device_use);
  auto exchange = std::make_unique<Exchange>(plan_on(where, stream.has_value()), buffers, where, transport,
                                             progress_by(parts_.helper), parts_.ready.memory, parts_.ready.combiners);
  if (stream) exchange->set_stream(stream);
  if (arrivals_) arrivals_->restart();
  return exchange;
}

const std::shared_ptr<const Plan>& PersistentExchange::plan_on(const BufferMemory& where, bool in_stream) {
  if (!in_stream) return plans_.on(where.behind_host());
  const PlanMemory* const memory = parts_.ready.memory.get();
  const bool shares_memory = memory != nullptr && !memory->connects_devices;
  return plans_.on(InStream{where.on_device(), where.device_aware, shares_memory});
}

void PersistentExchange::set_stream(std::optional<lnw_device_stream> stream) {
  if (exchange_) {
    const Executor& executor = exchange_->executor();
    const bool is_for_it = plan_on(executor.where(), stream.has_value()).get() == &executor.plan();
    exchange_->set_stream(stream);
    if (!is_for_it) {
      exchange_->set_stream(parts_.stream);  // a bad stream has thrown: what is bound stays as it is
      exchange_ = bound_to(buffers_, stream);
    }
  }
  parts_.stream = stream;
}

/// Gives shared staging memory back as soon as the exchange is inactive, also if it fails.
struct SharedStagingExchange::Release {
  ~Release() {
    if (!exchange.active()) exchange.arena_.release(&exchange);
  }
  SharedStagingExchange& exchange;
};

bool SharedStagingExchange::claim() {
  return PersistentExchange::state() == WorkState::inactive && arena_.claim(this);
}

bool SharedStagingExchange::start() {
  if (!claim()) return false;
  const Release release{*this};
  return PersistentExchange::start();
}

bool SharedStagingExchange::test() {
  const Release release{*this};
  return PersistentExchange::test();
}

void SharedStagingExchange::wait() {
  const Release release{*this};
  PersistentExchange::wait();
}

WorkState SharedStagingExchange::state() const {
  const WorkState state = PersistentExchange::state();
  return state == WorkState::inactive && arena_.claimed() ? WorkState::blocked : state;
}

}  // namespace laneway
