#include "operations/channel/partitioned.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "algorithms/cost/seconds.hpp"
#include "algorithms/lowering/pack.hpp"
#include "algorithms/lowering/through_host.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/nodes/discovery.hpp"
#include "machine/parameters.hpp"
#include "mpi/check.hpp"
#include "operations/channel/memory_message.hpp"
#include "runtime/carriers/messages/p2p.hpp"

namespace laneway {

namespace {

/// Of a message to MPI_PROC_NULL, and of two ranks that have not met.
const Plan no_plan;

/// By what messages to other ranks cost, as far as is known before the two have met.
std::int64_t together_by_cost_of(const Hints& hints, std::int64_t bytes, std::int64_t partitions) {
  const bool named = !hints.parameters.empty() && hints.parameters != measured_parameters;
  const Parameters parameters = Parameters::read(named ? hints.parameters : kind_of_machine(false));
  const LinkCost* const link = known_link(parameters.links, LinkClass::network);
  if (link == nullptr || link->protocols.empty()) return together_by_cost({}, 0, bytes, partitions);
  return together_by_cost(*link, work_seconds(parameters.network_overhead, 2, link->seconds(0)), bytes, partitions);
}

/// Throws Error(count) if there are more than 2^63 bytes.
std::int64_t checked_bytes(const PartitionedArguments& arguments, std::int64_t element_bytes) {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
  require(!__builtin_mul_overflow(std::int64_t{arguments.count}, std::int64_t{arguments.partitions}, &elements) &&
              !__builtin_mul_overflow(elements, element_bytes, &bytes),
          ErrorKind::count, [&] {
            return "count is " + std::to_string(arguments.count) + " with " + std::to_string(arguments.partitions) +
                   " partitions: more than 2^63 bytes";
          });
  return bytes;
}

}  // namespace

Partitioned::Partitioned(std::shared_ptr<PairComm> pairs, const PartitionedArguments& arguments, const Hints& hints)
    : pairs_(std::move(pairs)),
      arguments_(arguments),
      map_(type_map(arguments.datatype)),
      ready_at_start_(hints.ready_at_start && arguments.is_send) {
  const std::int64_t element_bytes = map_->ranges.bytes();
  bytes_ = checked_bytes(arguments_, element_bytes);
  (void)checked_bytes(arguments_, map_->extent);
  if (arguments_.is_send) {
    cut_ = {bytes_, arguments_.partitions, 1};
    cut_.together = hints.partition_message > 0 ? together_up_to(hints.partition_message, bytes_, cut_.partitions)
                                                : together_by_cost_of(hints, bytes_, cut_.partitions);
    readiness_.emplace(cut_);
  } else {
    cut_ = {bytes_, arguments_.partitions, std::max(1, arguments_.partitions)};  // until the sender has said its own
  }
  if (goes_nowhere()) {
    state_.store(State::met, std::memory_order_relaxed);
    return;
  }
  Handshake handshake;
  handshake.role = arguments_.is_send ? EndRole::partitioned_send : EndRole::partitioned_receive;
  handshake.tag = arguments_.tag;
  handshake.bytes = bytes_;
  handshake.parts = arguments_.partitions;
  handshake.together = cut_.together;
  helper_ = find_helper(hints.progress);
  if (may_share()) offer_memory(handshake);
  mine_ = pairs_->send_handshake(arguments_.peer, handshake);
  activity_.list(*this, progress_by(helper_));
  activity_.begin();
  employ(helper_);
}

Partitioned::~Partitioned() {
  closing_.store(true, std::memory_order_release);
  if (goes_nowhere() || mpi_is_finalized()) return;
  // `closing_` makes the next look the last one.
  progress_until([&] { return activity_.done(nullptr); });
  (void)activity_.test(nullptr);
  // What is under way is given up before the other end hears that nothing more will come.
  plan_.reset();
  exchange_.reset();
  whole_.reset();
  const bool offers_memory = mapping_ && !arguments_.is_send;
  try {
    // The sender may have mapped it already.
    if (offers_memory) MemoryMessage::close(mapping_.get(), bytes_);
    pairs_->close(arguments_.peer, mine_, offers_memory ? std::move(mapping_) : nullptr, false);
  } catch (...) {
    // Nobody can be told.
  }
}

bool Partitioned::progress() {
  if (closing_.load(std::memory_order_acquire)) return true;
  try {
    if (!find_other()) return false;
    meet();
    state_.store(State::met);
    start_if_met();
  } catch (...) {
    failure_ = std::current_exception();
    state_.store(State::failed);
  }
  return true;
}

Buffers Partitioned::buffers() const {
  return arguments_.is_send ? Buffers{arguments_.buf, nullptr} : Buffers{nullptr, arguments_.buf};
}

/// The message of this end, if it is one from or to the buffer as it is, which an executor would cost more than itself.
std::optional<Message> Partitioned::only_message(const Plan& plan, const BufferMemory& where) const {
  const bool is_advanced_here = progress_by(helper_) != Progress::by_thread;
  if (simulated || cut_.partitions == 0 || where.on_device().any() || !is_advanced_here) return std::nullopt;
  return WholeMessage::only_message(plan, arguments_.buf);
}

bool Partitioned::may_share() const {
  if (!arguments_.may_share || bytes_ > MemoryMessage::most_bytes) return false;
  const Plan plan = make_plan();
  return only_message(plan, glance_at(buffers(), plan)).has_value();
}

void Partitioned::offer_memory(Handshake& handshake) {
  if (!arguments_.is_send) {
    try {
      ChannelMemoryPool::Block block = ChannelMemoryPool::take(MemoryMessage::size(bytes_));
      mapping_ = std::move(block.memory);
      handshake.where = block.place;
    } catch (const std::exception&) {
      return;  // messages need none
    }
  }
  handshake.shares = true;
}

/// Memory where both ends can, else the tags of messages.
Answer Partitioned::answer_for(const Handshake& other) {
  if (mine_.shares && other.shares && other.process.machine != 0 && other.process.machine == mine_.process.machine) {
    try {
      mapping_ = ChannelMemoryPool::find(other.where);
      return {.what = Reply::memory};
    } catch (const std::exception&) {
      // The system does not let this process see the other's.
    }
  }
  const std::int64_t messages = cut_.messages();
  return {Reply::messages, pairs_->take_tags(arguments_.peer, mine_, messages), static_cast<std::int32_t>(messages)};
}

/// The sender says how the data travels once it has heard of the receiver.
bool Partitioned::find_other() {
  if (!other_) {
    other_ = pairs_->take_handshake(arguments_.peer, mine_);
    if (!other_) return false;
    check_sizes(*other_);
    if (!arguments_.is_send) cut_ = {bytes_, other_->parts, other_->together};
  }
  if (arguments_.is_send) {
    tags_ = answer_for(*other_);
    pairs_->answer(arguments_.peer, mine_, tags_);
    return true;
  }
  const std::optional<Answer> answer = pairs_->take_answer(arguments_.peer, mine_);
  if (!answer) return false;
  if (answer->what == Reply::no_tags) PairComm::throw_no_tags(arguments_.peer, pairs_->rank());
  require(answer->what == Reply::messages || answer->what == Reply::memory, ErrorKind::request,
          [&] { return "rank " + std::to_string(arguments_.peer) + " has freed its end of the message"; });
  tags_ = *answer;
  if (tags_.what == Reply::messages) mapping_.reset();
  return true;
}

void Partitioned::check_sizes(const Handshake& other) const {
  const auto side = [](const char* whose, std::int64_t bytes, std::int64_t partitions) {
    return std::string(whose) + " has " + std::to_string(bytes) + " bytes in " + std::to_string(partitions) +
           " partitions";
  };
  const bool sends = arguments_.is_send;
  require(other.bytes == bytes_, ErrorKind::count, [&] {
    return "partitions, count and datatype: " + side(sends ? "the sender" : "the receiver", bytes_, mine_.parts) +
           ", rank " + std::to_string(arguments_.peer) + ", " +
           side(sends ? "the receiver," : "the sender,", other.bytes, other.parts);
  });
}

void Partitioned::meet() {
  const auto plan = std::make_shared<const Plan>(make_plan());
  const BufferMemory where = glance_at(buffers(), *plan);
  P2PTransport transport(pairs_->get(), tags_.first_tag);
  if (const std::optional<Message> only = only_message(*plan, where)) {
    plan_ = plan;
    whole_.emplace(*only, tags_.what == Reply::memory
                              ? std::make_unique<MemoryMessage>(pairs_, mapping_, *only, other_->process)
                              : transport.bind({&*only, 1}));
    return;
  }
  exchange_.emplace(PlansByBuffers(plan).on(where.behind_host()), buffers(), where, transport, progress_by(helper_),
                    nullptr);
  plan_ = std::shared_ptr<const Plan>(plan, &exchange_->executor().plan());
}

End Partitioned::end_of(std::int64_t message) const {
  const std::int64_t begin = cut_.begin(message);
  const std::int64_t bytes = cut_.end(message) - begin;
  const std::int64_t elements = arguments_.count * arguments_.partitions;
  const Buffer buffer = arguments_.is_send ? Buffer::send : Buffer::receive;
  if (bytes == 0) return {buffer, 0, 0};
  // Of a receiver a message may begin and end inside an element, if its partitions are others than the sender's.
  const RangeList ranges = map_->elements(elements, 0).slice(begin, bytes);
  return End({{buffer, ranges}}, {{0, bytes}}, bytes);
}

/// The sender has an event before each message, the receiver one after each.
Plan Partitioned::make_plan() const {
  Plan plan;
  plan.rank = pairs_->rank();
  for (std::int64_t m = 0; m < cut_.messages(); ++m) {
    Step event;
    event.kind = StepKind::event;
    event.event = static_cast<int>(m);
    event.span = end_of(m);
    Step message;
    message.peer = arguments_.peer;
    message.channel = static_cast<int>(m);
    message.span = event.span;
    const auto before = static_cast<int>(plan.steps.size());
    if (arguments_.is_send) {
      message.kind = StepKind::send;
      if (cut_.partitions > 0) {
        message.after = {before};
        plan.steps.push_back(std::move(event));
      }
      plan.steps.push_back(std::move(message));
    } else {
      message.kind = StepKind::receive;
      event.goes_out = true;
      event.after = {before};
      plan.steps.push_back(std::move(message));
      plan.steps.push_back(std::move(event));
    }
  }
  return pack(std::move(plan));
}

bool Partitioned::start() {
  if (active()) return false;
  begin();
  if (ready_at_start_)
    for (int partition = 0; partition < arguments_.partitions; ++partition) ready(partition);
  return true;
}

void Partitioned::begin() {
  if (state_.load(std::memory_order_acquire) == State::failed) std::rethrow_exception(failure_);
  // Once the two have met, nobody but the owner starts anything.
  const bool has_met = state_.load(std::memory_order_relaxed) == State::met && !goes_nowhere();
  if (readiness_) readiness_->reset(has_met || goes_nowhere());
  if (has_met) {
    run();
    active_.store(true, std::memory_order_release);
    return;
  }
  active_.store(true, std::memory_order_release);
  if (goes_nowhere()) return;
  run_.store(Run::wanted);
  if (state_.load() == State::met) start_if_met();
}

void Partitioned::run() {
  try {
    whole_ ? whole_->start() : exchange_->start();
  } catch (...) {
    fail();
  }
  run_.store(Run::running, std::memory_order_release);
}

/// The owner, or who finds that the two have met.
void Partitioned::start_if_met() {
  Run wanted = Run::wanted;
  if (!run_.compare_exchange_strong(wanted, Run::starting)) return;
  run();
  if (readiness_) readiness_->run([this](std::int64_t message) { fire(message); });
}

void Partitioned::fire(std::int64_t message) {
  if (goes_nowhere()) return;
  if (whole_) return whole_->go();
  exchange_->fire(static_cast<int>(message));
}

bool Partitioned::message_reached(std::int64_t message) {
  return whole_ ? whole_->test() : exchange_->reached(static_cast<int>(message));
}

void Partitioned::fail() {
  failure_ = std::current_exception();
  state_.store(State::failed);
  active_.store(false, std::memory_order_release);
  throw;
}

void Partitioned::check_partition(int partition) const {
  require(partition >= 0 && partition < arguments_.partitions, ErrorKind::argument, [&] {
    return "partition is " + std::to_string(partition) + "; the request has " + std::to_string(arguments_.partitions);
  });
}

void Partitioned::ready(int partition) {
  require(arguments_.is_send, ErrorKind::request, "request is one for receiving: its partitions arrive");
  check_partition(partition);
  require(active(), ErrorKind::request, [&] {
    return "partition " + std::to_string(partition) + " of a request that is not active: call LNW_Start before";
  });
  const auto go = [this](std::int64_t message) { fire(message); };
  require(readiness_->ready(partition, go), ErrorKind::argument,
          [&] { return "partition " + std::to_string(partition) + " is ready already"; });
}

bool Partitioned::arrived(int partition) {
  require(!arguments_.is_send, ErrorKind::request, "request is one for sending: its partitions become ready");
  check_partition(partition);
  if (!active() || goes_nowhere()) return true;
  if (run_.load(std::memory_order_acquire) != Run::running) {
    if (state_.load(std::memory_order_acquire) == State::failed) std::rethrow_exception(failure_);
    return false;
  }
  const std::int64_t each = bytes_ / arguments_.partitions;
  const auto [first, last] = cut_.messages_with(partition * each, (partition + 1) * each);
  for (std::int64_t m = first; m < last; ++m)
    if (!message_reached(m)) return false;
  return true;
}

bool Partitioned::complete(bool ends) {
  if (!active()) return true;
  bool is_complete = false;
  if (goes_nowhere()) {
    is_complete = !readiness_ || readiness_->is_all_ready();
  } else if (run_.load(std::memory_order_acquire) == Run::running) {
    try {
      is_complete = whole_ ? whole_->test() : ends ? exchange_->test() : exchange_->done();
    } catch (...) {
      fail();
    }
  } else if (state_.load(std::memory_order_acquire) == State::failed) {
    active_.store(false, std::memory_order_release);
    std::rethrow_exception(failure_);
  }
  if (is_complete && ends) active_.store(false, std::memory_order_release);
  return is_complete;
}

void Partitioned::wait() {
  if (!active()) return;
  if (run_.load(std::memory_order_acquire) != Run::running) {
    progress_until([&] {
      return goes_nowhere() ? !readiness_ || readiness_->is_all_ready()
                            : run_.load(std::memory_order_acquire) == Run::running ||
                                  state_.load(std::memory_order_acquire) == State::failed;
    });
    if (goes_nowhere() || state_.load(std::memory_order_acquire) == State::failed) {
      (void)complete(true);
      return;
    }
  }
  try {
    // Does not block in MPI, in which MPICH 4.0 overlooks what another thread of the same rank sends it meanwhile.
    whole_ ? progress_until([this] { return whole_->test(); }) : exchange_->wait();
  } catch (...) {
    fail();
  }
  active_.store(false, std::memory_order_release);
}

void Partitioned::fill(MPI_Status& status) const {
  if (arguments_.is_send) return;
  status.MPI_SOURCE = arguments_.peer;
  status.MPI_TAG = goes_nowhere() ? MPI_ANY_TAG : arguments_.tag;
  MPI_Status_set_elements_x(&status, MPI_BYTE, goes_nowhere() ? 0 : bytes_);
}

const Plan& Partitioned::plan() const {
  const bool has_met = !goes_nowhere() && state_.load(std::memory_order_acquire) == State::met;
  return has_met ? *plan_ : no_plan;
}

}  // namespace laneway
