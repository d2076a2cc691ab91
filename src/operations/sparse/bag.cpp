#include "operations/sparse/bag.hpp"

#include <climits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "communicator/control/agreement.hpp"
#include "communicator/hints/hints.hpp"
#include "mpi/check.hpp"
#include "operations/sparse/sparse.hpp"

namespace laneway {

namespace {

/// Comes after the data.
struct BagTrailer {
  std::uint32_t round;
  std::uint32_t messages;
  std::uint32_t topic;
};

static_assert(sizeof(BagTrailer) <= BagMessenger::appended_bytes);

/// With what is sent along, a message.
constexpr MPI_Count most_bag_message = INT_MAX - 64;

}  // namespace

void MpiBagMessenger::send(Rank to, BagMessage incoming) {
  append(incoming.data, BagTrailer{incoming.round, incoming.messages, static_cast<std::uint32_t>(incoming.topic)});
  sending_.send(to, ControlComm::bag_tag, std::move(incoming.data));
}

/// In the order in which messages were found: what one rank has sent later must not come first.
std::optional<BagMessage> MpiBagMessenger::take() {
  receiving_.receive(ControlComm::bag_tag);
  (void)all_sent();
  std::optional<MessageUnderWay> message = receiving_.take(true);
  if (!message) return std::nullopt;
  const auto trailer = take_trailer<BagTrailer>(message->data);
  return BagMessage{message->other, static_cast<BagTopic>(trailer.topic), trailer.round, trailer.messages,
                    std::move(message->data)};
}

MpiBag::MpiBag(Communicator& communicator, MPI_Info info, std::exception_ptr failure)
    : error_handler_(communicator.error_handler()), comm_(PrivateComm::make()) {
  NodesOfRanks known = nodes_of_ranks(communicator);
  Hints hints;
  hints.strategy.row = &strategies().front();
  if (!failure) failure = failure_of([&] { hints = resolve_hints(hints_in(info), communicator.hints); });
  together(*known.comm, [&] {
    (void)agree(*known.comm, failure, hints);
    comm_->create(known.comm->get(), nullptr, known.comm.get());
  });
  relays_ = may_relay(hints.progress, known.have_helpers);
  nodes_ = std::make_unique<NodeMap>(std::move(known.nodes));
  messenger_ = std::make_unique<MpiBagMessenger>(comm_);
  bag_ = std::make_shared<Bag>(*messenger_, *nodes_, Bag::Options{hints.bag_memory, relays_});
  const Helper helper = find_helper(hints.progress);
  activity_.list(*this, progress_by(helper));
  activity_.begin();
  employ(helper);
}

MpiBag::~MpiBag() {
  closing_.store(true, std::memory_order_release);
  try {
    // `closing_` makes the next look the last one.
    if (!mpi_is_finalized()) progress_until([&] { return activity_.done(nullptr); });
    (void)activity_.test(nullptr);
  } catch (...) {
    // Nobody can be told.
  }
}

bool MpiBag::progress() {
  if (closing_.load(std::memory_order_acquire)) return true;
  bag_->help();
  return false;
}

void MpiBag::send(Rank destination, const void* data, MPI_Count bytes) {
  if (destination == MPI_PROC_NULL) return;
  require(destination >= 0 && destination < comm_->size(), ErrorKind::rank, [&] {
    return "destination is " + std::to_string(destination) + " in a communicator of " + std::to_string(comm_->size()) +
           " ranks";
  });
  require(bytes >= 0, ErrorKind::count, [&] { return "bytes is " + std::to_string(bytes); });
  require(data != nullptr || bytes == 0, ErrorKind::argument, "data is NULL");
  require(bytes <= most_bag_message, ErrorKind::unsupported,
          [&] { return "bytes is " + std::to_string(bytes) + ": a message of a bag has less than 2 GiB"; });
  const std::span message(static_cast<const std::byte*>(data), static_cast<std::size_t>(bytes));
  if (bag_->try_send(destination, message, false)) return;
  progress_until([&] { return bag_->try_send(destination, message, true); });
}

void MpiBag::begin_flush() {
  require(bag_->begin_flush(), ErrorKind::request, "a flush of the bag is active already");
}

void MpiBag::flush() {
  begin_flush();
  progress_until([&] { return bag_->flushed(); });
}

namespace {

class FlushWork final : public Work {
 public:
  explicit FlushWork(std::shared_ptr<Bag> bag) : bag_(std::move(bag)) {}

  [[nodiscard]] bool active() const override { return !finished_; }
  [[nodiscard]] bool test() override {
    finished_ = finished_ || bag_->flushed();
    return finished_;
  }
  [[nodiscard]] bool done() override { return finished_ || bag_->flushed(); }

 private:
  std::shared_ptr<Bag> bag_;
  bool finished_ = false;
};

}  // namespace

std::unique_ptr<Request> MpiBag::start_flush() {
  begin_flush();
  return std::make_unique<Request>(comm_, error_handler_, std::make_unique<FlushWork>(bag_), Reasons{.strategy = "bag"},
                                   Request::Life::nonblocking);
}

void MpiBag::quiesce() {
  progress_until([&] { return bag_->flushed(); });
  flush();
  progress_until([&] { return bag_->quiet(); });
}

}  // namespace laneway
