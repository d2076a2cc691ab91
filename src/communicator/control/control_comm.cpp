#include "communicator/control/control_comm.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>
#include <string>

#include "base/process/spin_lock.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/private_comm.hpp"
#include "mpi/check.hpp"
#include "mpi/end_job.hpp"

namespace laneway {

namespace {

/// Ranks and those that they hear from in a tree with the first rank at its root: few ranks hear from it directly.
struct Tree {
  Rank rank;
  Rank size;
  Rank fan = size <= few_ranks ? size : 8;

  [[nodiscard]] Rank parent() const { return (rank - 1) / fan; }
  template <class F>
  void for_each_child(F&& f) const {
    const std::int64_t first = std::int64_t{rank} * fan + 1;
    for (std::int64_t child = first; child < std::min<std::int64_t>(first + fan, size); ++child)
      f(static_cast<Rank>(child));
  }
};

/// Of what all ranks have decided: it is tried again, and where it cannot be done the job ends. Throws where a process
/// has ended.
template <class Call>
void surely(MPI_Comm comm, const char* name, Call&& call) {
  int code = MPI_SUCCESS;
  for (int tries = 0; tries < 10; ++tries) {
    code = call();
    if (code == MPI_SUCCESS) return;
    if (is_of_ended_process(code)) throw_mpi_error(code, name);
  }
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  end_job(std::string("the ranks cannot tell each other that they have come so far: ") + name + ": " + text.data(),
          comm, code);
}

/// Whether a message of a rank that all count on has come: other failures of MPI pass.
bool has_come(MPI_Comm comm, Rank source, int tag) {
  int code = MPI_SUCCESS;
  const bool found = look_for_message(comm, source, tag, &code).has_value();
  if (is_of_ended_process(code)) throw_mpi_error(code, "MPI_Iprobe");
  return found;
}

/// Sets a pointer until the end of the scope.
template <class T>
class Within {
 public:
  Within(const T*& place, const T* value) : place_(place) { place_ = value; }
  ~Within() { place_ = nullptr; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  const T*& place_;
};

/// What MPI may use to the end of the program.
struct LeftToMpi {
  SpinLock lock;
  std::list<MessageUnderWay> messages;
};
LeftToMpi* const left_to_mpi = new LeftToMpi;  // never destroyed

}  // namespace

int ControlComm::take_tags(int count) {
  LANEWAY_ASSERT(count <= plan_channels && has_tags());
  return *tags_.take(count);
}

void ControlComm::set_largest_tag(int tag) {
  largest_tag_ = tag;
  tags_ = TagSpace(nonblocking_tag + own_channels, largest_tag_);
}

bool ControlComm::drop_message(int source, int tag) const {
  const std::optional<FoundMessage> found = look_for_message(comm_, source, tag);
  return found && (tag != MPI_ANY_TAG || found->tag != reduce_tag) && found->drop();
}

/// A rank that fails when it has passed what this one is still in has left it well: to be looked at afterwards. So is
/// one that is not in a meeting of others.
bool ControlComm::is_ahead(const FailureMessage& failure) const {
  if (failure.came.steps != came_.steps) return failure.came.steps > came_.steps;
  if (failure.came.meetings > came_.meetings) return true;
  if (meeting_ == nullptr) return false;
  return failure.came.among == meeting_->tag ||
         (!meeting_->members.empty() &&
          std::ranges::find(meeting_->members, failure.source) == meeting_->members.end());
}

void ControlComm::throw_failure(const FailureMessage& failure) {
  throw PeerFailure(static_cast<ErrorKind>(failure.kind),
                    "rank " + std::to_string(failure.source) + " has failed in this call: " + failure.text.data(),
                    failure.mpi_class);
}

void ControlComm::check_peers() const {
  if (later_ && !is_ahead(*later_)) throw_failure(*later_);
  take_all<FailureMessage>(failure_tag, [&](Rank, FailureMessage failure) {
    failure.text.back() = '\0';
    if (!is_ahead(failure)) throw_failure(failure);
    if (!later_) later_ = failure;
  });
}

void ControlComm::leave() const noexcept {
  if (std::exchange(step_.all_throw, false)) return;
  spoilt_ = true;
  if (step_.is_open) mark_those_made_since(step_.number);
  try {
    throw;
  } catch (const PeerFailure& failure) {
    if (step_.in_part) report_failure(failure.kind(), failure.what(), failure.mpi_class());
  } catch (const Error& error) {
    report_failure(error.kind(), error.what(), error.mpi_class());
  } catch (const std::bad_alloc&) {
    report_failure(ErrorKind::internal, "out of memory");
  } catch (const std::exception& error) {
    report_failure(ErrorKind::internal, error.what());
  } catch (...) {
    report_failure(ErrorKind::internal, "unknown");
  }
}

/// Needs no memory: there may be none.
void ControlComm::report_failure(ErrorKind kind, const char* text, int mpi_class) const noexcept {
  own_failure_.came = came_;
  own_failure_.kind = static_cast<std::int32_t>(kind);
  own_failure_.mpi_class = mpi_class;
  own_failure_.source = rank_;
  std::strncpy(own_failure_.text.data(), text, own_failure_.text.size() - 1);
  for (Rank peer = 0; peer < size_; ++peer)
    for (int tries = 0; peer != rank_ && tries < 10; ++tries)
      if (send_away(&own_failure_, sizeof own_failure_, peer, failure_tag, comm_) == MPI_SUCCESS) break;
}

std::byte ControlComm::take_word(Rank from, int tag) const {
  std::byte word{};
  surely(comm_, "MPI_Recv", [&] { return MPI_Recv(&word, 1, MPI_BYTE, from, tag, comm_, MPI_STATUS_IGNORE); });
  return word;
}

void ControlComm::send_word(std::byte word, Rank to, int tag) const {
  static constexpr std::array<std::byte, 2> words = {std::byte{0}, std::byte{1}};  // MPI may read them later
  surely(comm_, "MPI_Isend", [&] { return send_away(&words[std::to_integer<std::size_t>(word)], 1, to, tag, comm_); });
}

void ControlComm::meet(const std::vector<Rank>& members, int tag, bool failed) const {
  if constexpr (simulated) return barrier_progressing(*this);
  const bool of_all = members.empty() && tag == success_tag;
  const Rank size = members.empty() ? size_ : static_cast<Rank>(members.size());
  const Rank self = members.empty() ? rank_ : static_cast<Rank>(std::ranges::find(members, rank_) - members.begin());
  const auto at = [&](Rank place) { return members.empty() ? place : members[static_cast<std::size_t>(place)]; };
  const Tree tree{self, size};
  const auto receive_from = [&](Rank place) {
    await(*this, [&] { return has_come(comm_, at(place), tag); });
    failed = take_word(at(place), tag) != std::byte{0} || failed;
  };
  const auto send_to = [&](Rank place) { send_word(std::byte{failed}, at(place), tag); };
  const Meeting meeting{members, tag};
  const Within within(meeting_, of_all ? nullptr : &meeting);
  tree.for_each_child(receive_from);
  if (self > 0) {
    send_to(tree.parent());
    receive_from(tree.parent());
  }
  tree.for_each_child(send_to);
  if (failed) throw PeerFailure(ErrorKind::internal, "another rank has failed in this call");
  if (of_all)
    ++came_.meetings;
  else
    came_.among = tag;
}

void ControlComm::drain() const noexcept {
  if (!spoilt_ || comm_ == MPI_COMM_NULL) return;
  for (int tag = setup_tag; tag < last_tag; ++tag)
    while (drop_message(MPI_ANY_SOURCE, tag)) {
    }
  kept_.remove_if([](MessageUnderWay& message) {
    int done = 0;
    return message.request == MPI_REQUEST_NULL ||
           (MPI_Test(&message.request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done != 0);
  });
  const std::lock_guard lock(left_to_mpi->lock);
  left_to_mpi->messages.splice(left_to_mpi->messages.end(), kept_);
}

/// The last message of each rank comes after all others of it.
void ControlComm::quiesce() const {
  if (!spoilt_ || comm_ == MPI_COMM_NULL || size_ > few_ranks) return drain();
  for (Rank peer = 0; peer < size_; ++peer)
    if (peer != rank_) send_word(std::byte{0}, peer, last_tag);
  for (Rank peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    progress_until([&] { return has_come(comm_, peer, last_tag); });
    (void)take_word(peer, last_tag);
  }
  drain();
  spoilt_ = false;
  later_.reset();  // it may have come in an earlier call than its step
}

void ControlMessages::send(Rank to, int tag, Bytes data, bool is_acknowledged) {
  std::list<MessageUnderWay> message;
  message.push_back({to, tag, std::move(data), is_acknowledged});
  message.front().send(comm_.get());
  messages_.splice(messages_.end(), message);
}

/// What is for a process that has ended is dropped.
void ControlMessages::begin_all() {
  messages_.remove_if([this](MessageUnderWay& message) {
    if (message.request != MPI_REQUEST_NULL) return false;
    try {
      message.send(comm_.get());
      return false;
    } catch (const Error& error) {
      if (error.mpi_class() == 0 || error.mpi_class() != class_of_ended_process()) throw;
      return true;
    }
  });
}

void ControlMessages::receive(int tag) {
  while (const std::optional<FoundMessage> found = find_message(comm_.get(), MPI_ANY_SOURCE, tag)) {
    std::list<MessageUnderWay> message(1);
    message.front().receive(*found);
    messages_.splice(messages_.end(), message);
  }
}

bool ControlMessages::all_complete() {
  while (!messages_.empty()) {
    MessageUnderWay& first = messages_.front();
    if (first.request == MPI_REQUEST_NULL || !first.is_complete()) return false;
    messages_.pop_front();
  }
  return true;
}

void ControlMessages::wait() {
  for (; simulated && !any_active() && !messages_.empty(); messages_.pop_front())
    check_mpi(MPI_Wait(&messages_.front().request, MPI_STATUS_IGNORE), "MPI_Wait");
  await(comm_, [&] { return all_complete(); });
}

std::optional<MessageUnderWay> ControlMessages::take(bool in_order) {
  for (auto message = messages_.begin(); message != messages_.end(); ++message) {
    if (message->is_complete()) {
      std::optional<MessageUnderWay> first(std::move(*message));
      messages_.erase(message);
      return first;
    }
    if (in_order) break;
  }
  return std::nullopt;
}

void ControlMessages::give_up() noexcept {
  messages_.remove_if([](const MessageUnderWay& message) { return message.request == MPI_REQUEST_NULL; });
  comm_.keep(std::move(messages_));
}

}  // namespace laneway
