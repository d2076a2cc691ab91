#include "operations/channel/short_messages.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/process/relax.hpp"
#include "base/simulated.hpp"
#include "mpi/check.hpp"
#include "mpi/ended.hpp"
#include "operations/channel/channel_messages.hpp"

namespace laneway {

std::int64_t ShortMessages::now() {
  if (simulated) return static_cast<std::int64_t>(1e9 * MPI_Wtime());
  return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void ShortMessages::expect(const Key& end) {
  (void)ends_[end];
}

ShortMessages::Peer& ShortMessages::open(const Key& end, ChannelMessages& messages, MPI_Comm comm) {
  if (posted_ == MPI_REQUEST_NULL) {
    comm_ = comm;
    place_.resize(message_bytes);
    check_mpi(MPI_Recv_init(place_.data(), message_bytes, MPI_BYTE, MPI_ANY_SOURCE, tag, comm, &posted_),
              "MPI_Recv_init");
    check_mpi(MPI_Start(&posted_), "MPI_Start");
    is_posted_ = true;
  }
  if (!activity_) activity_.emplace().list(*this, Progress::in_calls);
  End& known = ends_[end];
  known.messages = &messages;
  for (const std::vector<std::byte>& each : std::exchange(known.early, {})) {
    Header header;
    std::memcpy(&header, each.data(), sizeof header);
    messages.take(header.segment, each.data() + sizeof header, static_cast<std::int64_t>(each.size() - sizeof header));
  }
  Peer& peer = peers_[std::get<Rank>(end)];
  peer.rank = std::get<Rank>(end);
  return peer;
}

void ShortMessages::forget(const Key& end) {
  if (const auto peer = peers_.find(std::get<Rank>(end)); peer != peers_.end()) send_owed(peer->second);
  ends_.erase(end);
}

bool ShortMessages::SelfSends::are_over() {
  int flag = 0;
  return MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
         flag != 0;
}

void ShortMessages::keep(SelfSends sends) {
  // Not while MPI is called: its progress engine may come back here, in the same thread.
  std::list<SelfSends> all;
  {
    const std::lock_guard lock(keeping_);
    all.swap(kept_);
  }
  while (!all.empty() && all.front().are_over()) all.pop_front();
  if (!sends.are_over()) all.push_back(std::move(sends));
  const std::lock_guard lock(keeping_);
  kept_.splice(kept_.begin(), all);
}

bool ShortMessages::stop() {
  progress_all();
  const Turn turn(lock_, std::try_to_lock);
  if (!turn || (activity_ && !activity_->test(nullptr))) return false;
  if (posted_ == MPI_REQUEST_NULL) return true;
  if (std::exchange(is_posted_, false)) {
    MPI_Cancel(&posted_);
    MPI_Wait(&posted_, MPI_STATUS_IGNORE);
  }
  if (posted_ != MPI_REQUEST_NULL) MPI_Request_free(&posted_);
  return true;
}

void ShortMessages::poll() {
  const Turn turn(lock_, std::try_to_lock);
  if (!turn || posted_ == MPI_REQUEST_NULL) return;
  // Not when the last one came: the program may have waited for that.
  if (!std::exchange(is_posted_, true)) check_mpi(MPI_Start(&posted_), "MPI_Start");
  int flag = 0, bytes = 0;
  MPI_Status status;
  int code = MPI_Test(&posted_, &flag, &status);
  if (says_that_some_have_ended(code)) [[unlikely]] {
    // The channels of that one find it by its rank.
    acknowledge_ended(comm_);
    code = MPI_Test(&posted_, &flag, &status);
  }
  check_mpi(code, "MPI_Test");
  if (flag == 0) return;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  is_posted_ = false;
  take(status.MPI_SOURCE, bytes);
}

void ShortMessages::take(Rank source, int bytes) {
  Header header;
  std::memcpy(&header, place_.data(), sizeof header);
  if (header.credits.mask != 0)
    if (const auto sender = ends_.find(Key(source, false, header.credits.number)); sender != ends_.end())
      sender->second.messages->credit(header.credits);
  if (header.number < 0) return;
  const auto receiver = ends_.find(Key(source, true, header.number));
  if (receiver == ends_.end()) return;
  if (receiver->second.messages != nullptr)
    receiver->second.messages->take(header.segment, place_.data() + sizeof header,
                                    bytes - static_cast<std::int64_t>(sizeof header));
  else
    receiver->second.early.emplace_back(place_.begin(), place_.begin() + bytes);
}

Credits ShortMessages::to_carry(Peer& peer) {
  if (peer.owed.any())
    if (const std::optional<Credits> owed = peer.owed.take()) {
      peer.policy.carried(now() - peer.since.load(std::memory_order_relaxed));
      return *owed;
    }
  if (peer.guess.take()) peer.policy.carried(now() - peer.since.load(std::memory_order_relaxed));
  return {};
}

bool ShortMessages::owe(Peer& peer, std::int64_t number, std::int64_t segment, std::int64_t segments) {
  const std::int64_t time = now();
  const auto is_half = [&](int together) {
    return segments >= 4 && together >= std::min<std::int64_t>(segments, 32) / 2;
  };
  const auto begin = [&](const OwedCredits& credits) {
    if (!credits.any()) peer.since.store(time, std::memory_order_relaxed);
  };
  if (peer.policy.owes()) {
    begin(peer.owed);
    const int together = peer.owed.add(number, segment);
    if (together == 0) return false;
    watch();
    if (!is_half(together)) return true;
    peer.policy.carried(time - peer.since.load(std::memory_order_relaxed));
    const Turn turn(lock_, std::try_to_lock);
    if (turn) send_owed(peer);
    return true;
  }
  begin(peer.guess);
  if (time - peer.since.load(std::memory_order_relaxed) > CreditPolicy::longest) {
    peer.policy.fail();
    while (peer.guess.take()) {
    }
    peer.since.store(time, std::memory_order_relaxed);
  }
  if (is_half(peer.guess.add(number, segment))) {
    peer.policy.carried(time - peer.since.load(std::memory_order_relaxed));
    (void)peer.guess.take();
  }
  return false;
}

void ShortMessages::miss(Peer& peer, std::int64_t number, std::int64_t segment) {
  if (peer.owed.any()) {
    if (!peer.owed.has(number, segment) && now() - peer.since.load(std::memory_order_relaxed) <= CreditPolicy::longest)
      return;
    const Turn turn(lock_, std::try_to_lock);
    if (!turn) return;
    peer.policy.fail();
    send_owed(peer);
  } else if (peer.guess.has(number, segment)) {
    peer.policy.fail();
    while (peer.guess.take()) {
    }
  }
}

/// By who has the lock.
void ShortMessages::send_owed(Peer& peer) {
  while (const std::optional<Credits> owed = peer.owed.take())
    if (const auto receiver = ends_.find(Key(peer.rank, true, owed->number));
        receiver != ends_.end() && receiver->second.messages != nullptr)
      receiver->second.messages->send_credits(*owed);
}

bool ShortMessages::progress() {
  const Turn turn(lock_, std::try_to_lock);
  if (!turn) return false;
  for (auto& [rank, peer] : peers_)
    if (peer.owed.any() && now() - peer.since.load(std::memory_order_relaxed) > CreditPolicy::longest) {
      peer.policy.fail();
      send_owed(peer);
    }
  const std::lock_guard watch(watching_);
  is_watched_ = std::ranges::any_of(peers_, [](const auto& each) { return each.second.owed.any(); });
  return !is_watched_;
}

/// Calls of MPI that wait let `progress` be called until nothing is owed any more.
void ShortMessages::watch() {
  const std::lock_guard turn(watching_);
  if (is_watched_) return;
  while (!activity_->test(nullptr)) pause_core();  // the thread that has just found nothing owed
  is_watched_ = true;
  activity_->begin();
}

}  // namespace laneway
