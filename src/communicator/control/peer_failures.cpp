// How ranks of a private communicator tell each other that they have failed, or have come so far.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "base/log_line.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/private_comm.hpp"
#include "mpi/probe.hpp"
#include "runtime/executor/progress.hpp"

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

/// Of what all ranks have decided: it is tried again, and where it cannot be done the job ends.
template <class Call>
void surely(MPI_Comm comm, const char* name, Call&& call) {
  int code = MPI_SUCCESS;
  for (int tries = 0; tries < 10; ++tries) {
    code = call();
    if (code == MPI_SUCCESS) return;
  }
  std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  log_line(std::string("the ranks cannot tell each other that they have come so far: ") + name + ": " + text.data());
  MPI_Abort(comm, code);
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

/// MPI completes it.
int send_away(MPI_Comm comm, const void* data, std::size_t bytes, Rank peer, int tag) {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, peer, tag, comm, &request);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return code;
}

}  // namespace

/// A rank that fails when it has passed what this one is still in has left it well: to be looked at afterwards. So is
/// one that is not in a meeting of others.
bool PrivateComm::is_ahead(const FailureMessage& control_message) const {
  if (control_message.came.steps != came_.steps) return control_message.came.steps > came_.steps;
  if (control_message.came.meetings > came_.meetings) return true;
  if (meeting_ == nullptr) return false;
  return control_message.came.among == meeting_->tag ||
         (!meeting_->members.empty() &&
          std::ranges::find(meeting_->members, control_message.source) == meeting_->members.end());
}

void PrivateComm::throw_failure(const FailureMessage& control_message) {
  throw PeerFailure(
      static_cast<ErrorKind>(control_message.kind),
      "rank " + std::to_string(control_message.source) + " has failed in this call: " + control_message.text.data());
}

void PrivateComm::check_peers() const {
  if (later_ && !is_ahead(*later_)) throw_failure(*later_);
  const std::optional<Probed> probed = probe(comm_, MPI_ANY_SOURCE, failure_tag);
  if (!probed) return;
  FailureMessage control_message;
  receive(comm_, *probed, &control_message, sizeof control_message);
  control_message.text.back() = '\0';
  if (!is_ahead(control_message)) throw_failure(control_message);
  if (!later_) later_ = control_message;
}

void PrivateComm::leave() const noexcept {
  if (std::exchange(all_throw_, false)) return;
  spoilt_ = true;
  if (together_) mark_those_of_the_step();
  try {
    throw;
  } catch (const PeerFailure& failure) {
    if (in_part_) tell_failure(failure.kind(), failure.what());
  } catch (const Error& error) {
    tell_failure(error.kind(), error.what());
  } catch (const std::bad_alloc&) {
    tell_failure(ErrorKind::internal, "out of memory");
  } catch (const std::exception& error) {
    tell_failure(ErrorKind::internal, error.what());
  } catch (...) {
    tell_failure(ErrorKind::internal, "unknown");
  }
}

/// Needs no memory: there may be none.
void PrivateComm::tell_failure(ErrorKind kind, const char* text) const noexcept {
  told_.came = came_;
  told_.kind = static_cast<std::int32_t>(kind);
  told_.source = rank_;
  std::strncpy(told_.text.data(), text, told_.text.size() - 1);
  for (Rank peer = 0; peer < size_; ++peer)
    for (int tries = 0; peer != rank_ && tries < 10; ++tries)
      if (send_away(comm_, &told_, sizeof told_, peer, failure_tag) == MPI_SUCCESS) break;
}

void PrivateComm::keep(std::unique_ptr<Posted> posted) const noexcept {
  posted->next = std::move(kept_);
  kept_ = std::move(posted);
}

void PrivateComm::meet(const std::vector<Rank>& members, int tag, bool failed) const {
  if constexpr (simulated) return barrier_progressing(*this);
  static constexpr std::array<std::byte, 2> words = {std::byte{0}, std::byte{1}};  // MPI may read them later
  const bool of_all = members.empty() && tag == success_tag;
  const Rank size = members.empty() ? size_ : static_cast<Rank>(members.size());
  const Rank self = members.empty() ? rank_ : static_cast<Rank>(std::ranges::find(members, rank_) - members.begin());
  const auto at = [&](Rank place) { return members.empty() ? place : members[static_cast<std::size_t>(place)]; };
  const Tree tree{self, size};
  const auto hear = [&](Rank place) {
    await(*this, [&] {
      int found = 0;
      return MPI_Iprobe(at(place), tag, comm_, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS && found != 0;
    });
    std::byte word{};
    surely(comm_, "MPI_Recv", [&] { return MPI_Recv(&word, 1, MPI_BYTE, at(place), tag, comm_, MPI_STATUS_IGNORE); });
    failed = failed || word != words[0];
  };
  const auto tell = [&](Rank place) {
    surely(comm_, "MPI_Isend", [&] { return send_away(comm_, &words[failed ? 1 : 0], 1, at(place), tag); });
  };
  const Meeting meeting{members, tag};
  const Within within(meeting_, of_all ? nullptr : &meeting);
  tree.for_each_child(hear);
  if (self > 0) {
    tell(tree.parent());
    hear(tree.parent());
  }
  tree.for_each_child(tell);
  if (failed) throw PeerFailure(ErrorKind::internal, "another rank has failed in this call");
  if (of_all)
    ++came_.meetings;
  else
    came_.among = tag;
}

bool PrivateComm::drop_message(int source, int tag) const {
  int found = 0;
  int bytes = 0;
  MPI_Status status;
  if (MPI_Iprobe(source, tag, comm_, &found, &status) != MPI_SUCCESS || found == 0) return false;
  if (tag == MPI_ANY_TAG && status.MPI_TAG == reduce_tag) return false;
  MPI_Get_count(&status, MPI_BYTE, &bytes);
  const std::unique_ptr<std::byte[]> place(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes) + 1]);
  return place && MPI_Recv(place.get(), bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, comm_, MPI_STATUS_IGNORE) ==
                      MPI_SUCCESS;
}

void PrivateComm::drain() const noexcept {
  if (!spoilt_ || !created()) return;
  for (int tag = setup_tag; tag < last_tag; ++tag)
    while (drop_message(MPI_ANY_SOURCE, tag)) {
    }
  while (kept_) {
    int done = 0;
    const auto n = static_cast<int>(kept_->requests.size());
    MPI_Testall(n, kept_->requests.data(), &done, MPI_STATUSES_IGNORE);
    std::unique_ptr<Posted> posted = std::move(kept_);
    kept_ = std::move(posted->next);
    if (!done) (void)posted.release();  // MPI may read it to the end
  }
}

/// The last message of each rank comes after all others of it.
void PrivateComm::settle() const {
  if (!spoilt_ || !created() || size_ > few_ranks) return drain();
  static constexpr std::byte word{0};
  for (Rank peer = 0; peer < size_; ++peer)
    if (peer != rank_) surely(comm_, "MPI_Isend", [&] { return send_away(comm_, &word, 1, peer, last_tag); });
  for (Rank peer = 0; peer < size_; ++peer) {
    if (peer == rank_) continue;
    progress_until([&] {
      int found = 0;
      return MPI_Iprobe(peer, last_tag, comm_, &found, MPI_STATUS_IGNORE) == MPI_SUCCESS && found != 0;
    });
    std::byte last{};
    surely(comm_, "MPI_Recv", [&] { return MPI_Recv(&last, 1, MPI_BYTE, peer, last_tag, comm_, MPI_STATUS_IGNORE); });
  }
  drain();
  spoilt_ = false;
}

}  // namespace laneway
