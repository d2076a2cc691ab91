#include "operations/collective/execution/counted.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes/address.hpp"
#include "base/error.hpp"
#include "base/failure.hpp"
#include "communicator/background.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"
#include "operations/choose/reasons.hpp"
#include "operations/collective/execution/own.hpp"
#include "operations/pipeline/pipeline.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

namespace {

/// In front of the data of a message.
struct Header {
  enum class Says : std::int64_t { data, no_room, bad_count, failed };

  std::int64_t bytes = 0;  ///< that were to be sent
  Says says = Says::data;
};
static_assert(sizeof(Header) == 16);

constexpr std::int64_t slot_alignment = 64;

/// Memory of the host: pinned where devices copy from and to it.
class Room {
 public:
  Room() = default;
  Room(const Device& device, std::size_t bytes) {
    if (device)
      pinned_ = DeviceMemory(device, std::max<std::size_t>(bytes, 1), MemoryKind::pinned);
    else
      pageable_ = std::make_unique<std::byte[]>(bytes);
  }
  [[nodiscard]] std::byte* data() const { return pageable_ ? pageable_.get() : pinned_.data(); }

 private:
  std::unique_ptr<std::byte[]> pageable_;
  DeviceMemory pinned_;
};

/// A slot for a message of each rank: the header, and so many bytes.
class Slots {
 public:
  Slots() = default;
  Slots(const Device& device, const std::vector<std::int64_t>& capacities) : begin_{0} {
    for (const std::int64_t bytes : capacities) {
      const std::int64_t slot = bytes + static_cast<std::int64_t>(sizeof(Header));
      begin_.push_back(begin_.back() + (slot + slot_alignment - 1) / slot_alignment * slot_alignment);
    }
    room_ = Room(device, static_cast<std::size_t>(begin_.back()));
  }
  [[nodiscard]] std::byte* at(std::size_t rank) const { return room_.data() + begin_[rank]; }
  [[nodiscard]] std::byte* data_at(std::size_t rank) const { return at(rank) + sizeof(Header); }

 private:
  Room room_;
  std::vector<std::int64_t> begin_;
};

Device device_at(const void* pointer) {
  const MemoryInfo memory = memory_at(pointer);
  return memory.host_may_touch() ? Device() : Device(memory);
}

std::int64_t element_bytes(MPI_Datatype type, const char* name) {
  require(type != MPI_DATATYPE_NULL, ErrorKind::type, std::string(name) + " is MPI_DATATYPE_NULL");
  const std::shared_ptr<const TypeMap> map = type_map(type);
  const auto whole = map->ranges.contiguous();
  require(whole && *whole == Range{0, map->extent} && whole->bytes > 0, ErrorKind::type,
          std::string(name) + " is not contiguous");
  return whole->bytes;
}

std::string of(const char* name, std::size_t rank) {
  return std::string(name) + "[" + std::to_string(rank) + "]";
}

class CountedAlltoall final : public Work, private Progressive {
 public:
  /// Checks the call. Local.
  CountedAlltoall(std::shared_ptr<PrivateComm> comm, const CountedCall& call);
  ~CountedAlltoall() override;

  /// Learns what room others have, and makes memory. Collective.
  void prepare(int tag, Helper helper);

  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override { return activity_.test(nullptr); }
  [[nodiscard]] bool done() override { return activity_.done(nullptr); }
  [[nodiscard]] bool active() const override { return activity_.active(); }
  [[nodiscard]] WorkState state() const override {
    return messages_failed_ && !active() ? WorkState::failed : Work::state();
  }
  [[nodiscard]] Device device() const override { return sender_ ? sender_.device() : receiver_.device(); }
  [[nodiscard]] Progress advanced_by() const override { return progress_by(helper_); }

 private:
  enum class Phase : std::uint8_t { counts, data, results };

  [[nodiscard]] std::size_t peer(std::size_t step) const { return (own_ + step) % ranks_; }
  /// What is sent to a rank.
  [[nodiscard]] const void* source(std::size_t to) const {
    return at(static_cast<std::byte*>(const_cast<void*>(call_.sendbuf)), offsets_[to]);
  }
  bool progress() override;
  [[nodiscard]] bool advance();
  void fetch_counts();
  void send_all();
  void prepare_message(std::size_t to, std::int64_t count);
  void send(std::size_t to);
  [[nodiscard]] bool advance_sends();
  [[nodiscard]] bool advance_receives();
  [[nodiscard]] bool accept(std::size_t from, const Header& header);
  [[nodiscard]] int* results() const { return reinterpret_cast<int*>(counts_.data()) + ranks_; }
  void take(std::size_t from);
  void take_own(const Header& header);
  void copy(const Stream& stream, void* to, const void* from, std::int64_t bytes) const;
  void put_counts();
  void refuse(const std::string& text);
  /// Does something with a device, unless that has failed. Messages go on: others wait for them.
  template <class Body>
  void attempt(Body&& body) {
    if (device_failed_) return;
    const std::exception_ptr failure = failure_of(body);
    device_failed_ = failure != nullptr;
    if (failure && !failure_) failure_ = failure;
  }

  std::shared_ptr<PrivateComm> comm_;
  CountedCall call_;
  Helper helper_ = Helper::none;
  std::size_t ranks_;
  std::size_t own_;
  std::int64_t sent_bytes_;                // of an element
  std::int64_t received_bytes_;            // of an element
  std::vector<std::int64_t> sent_at_;      // in elements, by rank; empty: one behind the other
  std::vector<std::int64_t> received_at_;  // in bytes
  std::vector<std::int64_t> capacities_;   // in bytes, of this rank
  std::vector<std::int64_t> rooms_;        // in bytes, of others for what this rank sends
  bool counts_on_device_ = false;
  bool results_on_device_ = false;
  int tag_ = 0;
  Slots out_;
  Slots in_;
  Room counts_;  // ints: those to be sent, behind them those received
  Stream sender_;
  Stream receiver_;
  std::vector<Event> copied_;  // by rank: its message is in its slot
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;  // persistent
  std::vector<int> arrived_;
  // Of the exchange under way.
  Phase phase_ = Phase::counts;
  std::size_t sent_ = 0;               // messages that have been started
  std::size_t received_ = 0;           // that have come
  std::vector<std::int64_t> offsets_;  // by rank: where what is sent to it begins, in bytes
  std::exception_ptr failure_;
  bool device_failed_ = false;
  bool messages_failed_ = false;
  Activity activity_;  // last, as in Channel
};

CountedAlltoall::CountedAlltoall(std::shared_ptr<PrivateComm> comm, const CountedCall& call)
    : comm_(std::move(comm)),
      call_(call),
      ranks_(static_cast<std::size_t>(comm_->size())),
      own_(static_cast<std::size_t>(comm_->rank())) {
  require(call.fault == nullptr, ErrorKind::argument, [&] { return call.fault; });
  for (const auto& [pointer, name] : {std::pair<const void*, const char*>{call.sendcounts, "sendcounts"},
                                      {call.recvcounts, "recvcounts"},
                                      {call.recvcapacities, "recvcapacities"}})
    require(pointer != nullptr, ErrorKind::argument, [&, text = name] { return std::string(text) + " is NULL"; });
  for (const auto& [buffer, name] : {std::pair<const void*, const char*>{call.sendbuf, "sendbuf"},
                                     {call.sendcounts, "sendcounts"},
                                     {call.recvbuf, "recvbuf"},
                                     {call.recvcounts, "recvcounts"}}) {
    require(buffer != MPI_IN_PLACE, ErrorKind::buffer,
            [&, text = name] { return std::string(text) + " is MPI_IN_PLACE"; });
    require(buffer != LNW_NOT_CONTIGUOUS, ErrorKind::buffer,
            [&, text = name] { return std::string(text) + " is not contiguous"; });
  }
  sent_bytes_ = element_bytes(call.sendtype, "sendtype");
  received_bytes_ = element_bytes(call.recvtype, "recvtype");
  std::int64_t behind = 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    const std::int64_t capacity = call.recvcapacities[rank];
    require(capacity >= 0, ErrorKind::count,
            [&] { return of("recvcapacities", rank) + " is " + std::to_string(capacity); });
    require(capacity * received_bytes_ <= INT_MAX - static_cast<std::int64_t>(sizeof(Header)), ErrorKind::count,
            [&] { return of("recvcapacities", rank) + " is " + std::to_string(capacity) + ": more than 2 GiB"; });
    capacities_.push_back(capacity * received_bytes_);
    received_at_.push_back((call.rdispls != nullptr ? call.rdispls[rank] : behind) * received_bytes_);
    behind += capacity;
    if (call.sdispls != nullptr) sent_at_.push_back(call.sdispls[rank]);
  }
  const bool receives_any = std::ranges::any_of(capacities_, [](std::int64_t bytes) { return bytes > 0; });
  require(call.recvbuf != nullptr || !receives_any, ErrorKind::buffer, "recvbuf is NULL");
}

void CountedAlltoall::prepare(int tag, Helper helper) {
  tag_ = tag;
  helper_ = helper;
  rooms_.resize(ranks_);
  std::vector<MPI_Request> requests(1);
  check_mpi(
      MPI_Ialltoall(capacities_.data(), 1, MPI_INT64_T, rooms_.data(), 1, MPI_INT64_T, comm_->get(), requests.data()),
      "MPI_Ialltoall");
  wait_all_progressing(*comm_, requests);
  const Device of_counts = device_at(call_.sendcounts);
  const Device of_results = device_at(call_.recvcounts);
  const Device of_sent = device_at(call_.sendbuf);
  const Device of_received = device_at(call_.recvbuf);
  counts_on_device_ = static_cast<bool>(of_counts);
  results_on_device_ = static_cast<bool>(of_results);
  const Device sends = of_sent ? of_sent : of_counts;
  const Device receives = of_received ? of_received : of_results;
  if (sends) sender_ = Stream(sends);
  if (receives) receiver_ = Stream(receives);
  const Device any = sends ? sends : receives;
  out_ = Slots(any, rooms_);
  in_ = Slots(any, capacities_);
  counts_ = Room(any, 2 * ranks_ * sizeof(int));
  if (sender_)
    for (std::size_t rank = 0; rank < ranks_; ++rank) copied_.emplace_back(sends);
  offsets_.resize(ranks_);
  sends_.assign(ranks_, MPI_REQUEST_NULL);
  receives_.assign(ranks_, MPI_REQUEST_NULL);
  arrived_.resize(ranks_);
  for (std::size_t step = 1; step < ranks_; ++step) {
    const std::size_t from = peer(ranks_ - step);
    const int bytes = static_cast<int>(capacities_[from] + static_cast<std::int64_t>(sizeof(Header)));
    check_mpi(
        MPI_Recv_init(in_.at(from), bytes, MPI_BYTE, static_cast<int>(from), tag_, comm_->get(), &receives_[from]),
        "MPI_Recv_init");
  }
  activity_.list(*this, progress_by(helper_));
}

/// Of an exchange whose messages have failed some may still be under way: their memory stays.
CountedAlltoall::~CountedAlltoall() {
  if (mpi_is_finalized()) return;
  (void)failure_of([this] {
    if (sender_) sender_.synchronize();
    if (receiver_) receiver_.synchronize();
  });
  for (MPI_Request& request : receives_)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  if (!messages_failed_) return;
  static_cast<void>(new Slots(std::move(in_)));
  static_cast<void>(new Slots(std::move(out_)));
}

bool CountedAlltoall::start() {
  if (state() != WorkState::inactive) return false;
  phase_ = Phase::counts;
  sent_ = received_ = 0;
  failure_ = nullptr;
  device_failed_ = false;
  employ(helper_);
  try {
    for (MPI_Request& request : receives_)
      if (request != MPI_REQUEST_NULL) check_mpi(MPI_Start(&request), "MPI_Start");
    attempt([this] { fetch_counts(); });
    if (!counts_on_device_) send_all();
  } catch (...) {
    messages_failed_ = true;
    throw;
  }
  activity_.begin();
  return true;
}

void CountedAlltoall::fetch_counts() {
  const std::size_t bytes = ranks_ * sizeof(int);
  if (counts_on_device_)
    sender_.copy(counts_.data(), call_.sendcounts, bytes);
  else
    std::memcpy(counts_.data(), call_.sendcounts, bytes);
}

bool CountedAlltoall::progress() {
  try {
    if (!advance()) return false;
  } catch (...) {
    messages_failed_ = true;
    throw;
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  return true;
}

bool CountedAlltoall::advance() {
  const auto is_idle = [&](const Stream& stream) {
    bool idle = true;
    attempt([&] { idle = !stream || stream.idle(); });
    return idle;
  };
  if (phase_ == Phase::counts) {
    if (!is_idle(sender_)) return false;
    send_all();
  }
  if (phase_ == Phase::data) {
    const bool are_sent = advance_sends();
    if (!advance_receives() || !are_sent) return false;
    phase_ = Phase::results;
    attempt([this] { put_counts(); });
  }
  return is_idle(sender_) && is_idle(receiver_);
}

void CountedAlltoall::copy(const Stream& stream, void* to, const void* from, std::int64_t bytes) const {
  if (bytes == 0) return;
  if (stream)
    stream.copy(to, from, static_cast<std::size_t>(bytes));
  else
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

/// Brings all messages into their slots, the first ones first.
void CountedAlltoall::send_all() {
  const int* const counts = reinterpret_cast<const int*>(counts_.data());
  std::int64_t behind = 0;
  for (std::size_t rank = 0; rank < ranks_; ++rank) {
    offsets_[rank] = (sent_at_.empty() ? behind : sent_at_[rank]) * sent_bytes_;
    behind += std::max(counts[rank], 0);
  }
  for (std::size_t step = 0; step < ranks_; ++step) prepare_message(peer(step), counts[peer(step)]);
  phase_ = Phase::data;
  (void)advance_sends();
}

void CountedAlltoall::prepare_message(std::size_t to, std::int64_t count) {
  Header header{count * sent_bytes_, Header::Says::data};
  const auto place = [&] { return of("sendcounts", to) + " is " + std::to_string(count); };
  if (device_failed_) {
    header = {0, Header::Says::failed};
  } else if (count < 0) {
    header.says = Header::Says::bad_count;
    refuse(place());
  } else if (header.bytes > rooms_[to]) {
    header.says = Header::Says::no_room;
    refuse(place() + ", " + std::to_string(header.bytes) + " bytes, but rank " + std::to_string(to) + " has room for " +
           std::to_string(rooms_[to]) + " from this rank (" + of("recvcapacities", own_) + ")");
  }
  if (to == own_) return take_own(header);
  if (header.says == Header::Says::data)
    attempt([&] {
      copy(sender_, out_.data_at(to), source(to), header.bytes);
      if (sender_) copied_[to].record(sender_);
    });
  std::memcpy(out_.at(to), &header, sizeof header);
}

void CountedAlltoall::send(std::size_t to) {
  Header header;
  std::memcpy(&header, out_.at(to), sizeof header);
  if (device_failed_ && header.says == Header::Says::data) {
    header = {0, Header::Says::failed};
    std::memcpy(out_.at(to), &header, sizeof header);
  }
  const std::int64_t data = header.says == Header::Says::data ? header.bytes : 0;
  check_mpi(MPI_Isend(out_.at(to), static_cast<int>(data + static_cast<std::int64_t>(sizeof header)), MPI_BYTE,
                      static_cast<int>(to), tag_, comm_->get(), &sends_[to]),
            "MPI_Isend");
}

/// Each message leaves when it is in its slot. True when all have left.
bool CountedAlltoall::advance_sends() {
  for (; sent_ + 1 < ranks_; ++sent_) {
    const std::size_t to = peer(sent_ + 1);
    bool is_there = true;
    attempt([&] { is_there = !sender_ || copied_[to].complete(); });
    if (!is_there) return false;
    send(to);
  }
  int all = 0;
  check_mpi(MPI_Testall(static_cast<int>(ranks_), sends_.data(), &all, MPI_STATUSES_IGNORE), "MPI_Testall");
  return all != 0;
}

bool CountedAlltoall::advance_receives() {
  if (received_ + 1 == ranks_) return true;
  int come = 0;
  check_mpi(MPI_Testsome(static_cast<int>(ranks_), receives_.data(), &come, arrived_.data(), MPI_STATUSES_IGNORE),
            "MPI_Testsome");
  for (int i = 0; i < come; ++i) take(static_cast<std::size_t>(arrived_[static_cast<std::size_t>(i)]));
  if (come > 0) received_ += static_cast<std::size_t>(come);
  return received_ + 1 == ranks_;
}

/// Whether its data may be taken; sets how many elements were to come.
bool CountedAlltoall::accept(std::size_t from, const Header& header) {
  const std::int64_t elements = std::max<std::int64_t>(header.bytes, 0) / received_bytes_;
  results()[from] = static_cast<int>(std::min<std::int64_t>(elements, INT_MAX));
  const std::string rank = "rank " + std::to_string(from);
  switch (header.says) {
    case Header::Says::data:
      if (header.bytes % received_bytes_ == 0) return true;
      refuse(rank + " has sent " + std::to_string(header.bytes) + " bytes, but an element of recvtype has " +
             std::to_string(received_bytes_));
      return false;
    case Header::Says::no_room:
      if (from != own_)
        refuse(of("recvcapacities", from) + " is " + std::to_string(capacities_[from] / received_bytes_) + ", but " +
               rank + " has " + std::to_string(header.bytes) + " bytes for this rank (its " + of("sendcounts", own_) +
               "), " + std::to_string(elements) + " elements");
      return false;
    case Header::Says::bad_count:
      if (from != own_) refuse(rank + " has a negative count for this rank (its " + of("sendcounts", own_) + ")");
      return false;
    case Header::Says::failed:
      if (!failure_)
        failure_ = std::make_exception_ptr(Error(ErrorKind::device, "a device of " + rank + " has failed"));
      return false;
  }
  return false;
}

void CountedAlltoall::take(std::size_t from) {
  Header header;
  std::memcpy(&header, in_.at(from), sizeof header);
  if (!accept(from, header)) return;
  attempt([&] {
    copy(receiver_, at(static_cast<std::byte*>(call_.recvbuf), received_at_[from]), in_.data_at(from), header.bytes);
  });
}

void CountedAlltoall::take_own(const Header& header) {
  if (!accept(own_, header)) return;
  attempt([&] {
    copy(receiver_ ? receiver_ : sender_, at(static_cast<std::byte*>(call_.recvbuf), received_at_[own_]), source(own_),
         header.bytes);
  });
}

void CountedAlltoall::put_counts() {
  const std::size_t bytes = ranks_ * sizeof(int);
  if (results_on_device_)
    receiver_.copy(call_.recvcounts, results(), bytes);
  else
    std::memcpy(call_.recvcounts, results(), bytes);
}

/// The first of what is wrong is told.
void CountedAlltoall::refuse(const std::string& text) {
  if (!failure_) failure_ = std::make_exception_ptr(Error(ErrorKind::count, text));
}

}  // namespace

std::unique_ptr<Request> make_counted(MPI_Comm comm, MPI_Info info, const CountedCall& call) {
  require(!Place(comm).is_inter, ErrorKind::communicator, "comm joins two groups");
  Communicator& communicator = Communicator::of(comm);
  require(!communicator.partial, ErrorKind::communicator, "some ranks of comm have no neighbors");
  const std::shared_ptr<PrivateComm> priv = communicator.private_comm();
  return together(*priv, [&] {
    Hints hints;
    std::unique_ptr<CountedAlltoall> work;
    agree_on_hints(communicator, *priv, info, hints,
                   [&](Proposal&) { work = std::make_unique<CountedAlltoall>(priv, call); });
    const Helper helper = find_helper(hints.progress);
    work->prepare(priv->take_tags(), helper);
    Reasons reasons{.strategy = "counted"};
    reasons.progress_by = name(helper);
    return std::make_unique<Request>(priv, communicator.error_handler(), std::move(work), std::move(reasons));
  });
}

}  // namespace laneway
