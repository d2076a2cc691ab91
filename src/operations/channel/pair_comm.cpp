#include "operations/channel/pair_comm.hpp"

#include <algorithm>
#include <mutex>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "communicator/communicator.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "communicator/deferred_free.hpp"
#include "communicator/nodes/discovery.hpp"
#include "communicator/revoked.hpp"
#include "mpi/attribute_key.hpp"
#include "mpi/check.hpp"
#include "mpi/ended.hpp"
#include "mpi/running.hpp"
#include "runtime/carriers/messages/advance.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

static_assert(PrivateComm::last_tag < ShortMessages::tag && unused_tag < PrivateComm::blocking_tag);

namespace {

AttributeKey pair_key([](void* attribute) {
  const std::unique_ptr<std::shared_ptr<PairComm>> pairs(static_cast<std::shared_ptr<PairComm>*>(attribute));
  (*pairs)->forget_user();
});

std::mutex making;

bool is_sender(EndRole role) {
  return role == EndRole::partitioned_send || role == EndRole::channel_send;
}

template <class T>
Bytes bytes_of(const T& value) {
  Writer writer;
  writer.put(value);
  return writer.take();
}

/// The role at the other end.
EndRole opposite(EndRole role) {
  switch (role) {
    case EndRole::partitioned_send:
      return EndRole::partitioned_receive;
    case EndRole::partitioned_receive:
      return EndRole::partitioned_send;
    case EndRole::channel_send:
      return EndRole::channel_receive;
    case EndRole::channel_receive:
      return EndRole::channel_send;
  }
  return role;
}

}  // namespace

std::string why_no_memory(MPI_Comm comm, const Hints& hints, Rank peer) {
  if (hints.sharing == Sharing::none) return "lnw_transport=p2p";
  if (hints.sharing == Sharing::all || hints.machine.empty()) return {};
  const Region node = find_node(comm, hints.machine, false);
  if (std::ranges::binary_search(node.members, peer)) return {};
  return "lnw_machine has the two ranks on different nodes";
}

std::shared_ptr<PairComm> PairComm::of(MPI_Comm comm) {
  const std::shared_ptr<PairComm> pairs = attached_to(comm);
  // Threads may meet here; who waits for other ranks waits without the lock, which they need on other communicators.
  std::call_once(pairs->begun_, [&] { pairs->comm_->begin(comm); });
  return pairs;
}

std::shared_ptr<PairComm> PairComm::attached_to(MPI_Comm comm) {
  (void)Communicator::find(comm);  // checks it
  const std::lock_guard lock(making);
  if (void* const found = pair_key.find(comm)) return *static_cast<std::shared_ptr<PairComm>*>(found);
  auto made = std::make_unique<std::shared_ptr<PairComm>>(make(comm));
  pair_key.set(comm, made.get());
  revoke_with(comm, (*made)->comm_);
  return *made.release();
}

/// Without an owner it belongs to its communicator, which receives what is left.
std::shared_ptr<PairComm> PairComm::make(MPI_Comm comm) {
  return {new PairComm(comm), [](PairComm* last) {
            const std::shared_ptr<PrivateComm> priv = std::exchange(last->comm_, nullptr);
            priv->keep_resident(std::unique_ptr<Resident>(last));
          }};
}

PairComm::PairComm(MPI_Comm comm)
    : user_(std::make_shared<UserComm>(comm)),
      comm_(PrivateComm::make()),
      private_(*comm_),
      error_handler_(std::make_shared<const ErrorHandler>(comm, user_)) {
  private_.set_resident(this);
}

PairComm::~PairComm() = default;

void PairComm::prepare(const Hints& hints) {
  progress_until([&] { return ready(); });
  free_retired(private_);
  MpiBootstrap bootstrap(private_);
  const bool wants_window = hints.sharing == Sharing::puts && !window_;
  if (bootstrap.common_bits(wants_window ? 1 : 0) == 0) return;
  window_ = WindowArena::make(bootstrap, hints.channel_memory, no_window_);
}

void PairComm::check_rank(int peer, const char* name) const {
  require(peer >= 0 && peer < size(), ErrorKind::rank, [&] {
    return std::string(name) + " is " + std::to_string(peer) + "; comm has " + std::to_string(size()) + " ranks";
  });
}

Handshake PairComm::send_handshake(Rank peer, Handshake handshake) {
  advance_retired();
  const std::lock_guard turn(lock_);
  handshake.number = numbers_[Key(peer, handshake.role, handshake.tag, 0)]++;
  handshake.process = own_process();
  open_ends_.fetch_add(1, std::memory_order_relaxed);
  (void)peer_ends_[Key(peer, handshake.role, handshake.tag, handshake.number)];
  contacted_.insert(peer);
  outgoing_.queue(peer, ControlComm::handshake_tag, bytes_of(handshake));
  if (ready()) advance();
  return handshake;
}

void PairComm::send_answer(Rank peer, const Handshake& mine, const Answer& answer) {
  outgoing_.queue(peer, ControlComm::answer_tag, bytes_of(SentAnswer{mine.role, mine.tag, mine.number, answer}));
}

void PairComm::answer(Rank peer, const Handshake& mine, const Answer& answer) {
  const std::lock_guard turn(lock_);
  send_answer(peer, mine, answer);
  if (ready()) advance();
}

bool PairComm::has_sent_all() {
  const std::unique_lock turn(lock_, std::try_to_lock);
  if (!turn) return false;
  outgoing_.begin_all();
  return outgoing_.all_complete() && (!is_idle() || short_messages_.stop());
}

void PairComm::advance() {
  send_outgoing();
  try {
    take_said();
  } catch (const Error& error) {
    if (error.mpi_class() == 0 || error.mpi_class() != class_of_ended_process()) throw;
    // Whoever waits for that one finds it by its rank.
    acknowledge_ended(private_.get());
    some_have_ended_ = true;
    take_said();
  }
  for (const Key& key : left_) {
    const PeerEnd& left = peer_ends_.at(key);
    drain(std::get<0>(key), left.first_tag, left.tags);
  }
  send_outgoing();
}

/// What cannot be sent to who has ended concerns nobody else; the next turn drops it.
void PairComm::send_outgoing() {
  outgoing_.begin_all();
  try {
    (void)outgoing_.all_complete();
  } catch (const Error& error) {
    if (error.mpi_class() == 0 || error.mpi_class() != class_of_ended_process()) throw;
  }
}

void PairComm::require_running(Rank peer) const {
  int flag = 0;
  if (some_have_ended_) check_mpi(MPI_Iprobe(peer, unused_tag, get(), &flag, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

void PairComm::take_said() {
  private_.take_all<Handshake>(ControlComm::handshake_tag, [&](Rank peer, const Handshake& handshake) {
    PeerEnd* const peer_end = peer_end_of(Key(peer, opposite(handshake.role), handshake.tag, handshake.number));
    if (peer_end != nullptr && !peer_end->is_left) peer_end->handshake = handshake;
  });
  private_.take_all<SentAnswer>(ControlComm::answer_tag, [&](Rank peer, const SentAnswer& sent) {
    on_answer(Key(peer, opposite(sent.role), sent.tag, sent.number), sent.answer);
  });
}

/// Null for an end that has been freed, and owes nothing.
PairComm::PeerEnd* PairComm::peer_end_of(const Key& key) {
  const auto found = peer_ends_.find(key);
  if (found != peer_ends_.end()) return &found->second;
  const auto& [peer, role, tag, number] = key;
  const auto made = numbers_.find(Key(peer, role, tag, 0));
  if (made != numbers_.end() && number < made->second) return nullptr;
  return &peer_ends_[key];
}

/// An end that has taken what is said need not remember it for when it is freed.
void PairComm::on_answer(const Key& key, const Answer& answer) {
  PeerEnd* const peer_end = peer_end_of(key);
  if (peer_end == nullptr) return;
  if (answer.what == Reply::messages) {
    peer_end->first_tag = answer.first_tag;
    peer_end->tags = answer.tags;
  }
  if (answer.what == Reply::closed) peer_end->other_has_closed = true;
  if (!peer_end->is_left) return peer_end->answers.push_back(answer);
  if (answer.what == Reply::messages) left_.insert(key);
  if (!finish_if_over(key, *peer_end, answer.what)) return;
  left_.erase(key);
  peer_ends_.erase(key);
}

/// Of a freed end: whether the other will send it nothing more, and has sent it nothing that it would not get.
bool PairComm::finish_if_over(const Key& key, PeerEnd& left, Reply said) {
  if (left.is_mutual) {
    if (left.other_has_closed) left.kept.reset();
    return left.other_has_closed;
  }
  const auto& [peer, role, tag, number] = key;
  const bool sends = is_sender(role);
  if (sends ? said != Reply::done : !left.other_has_closed) return false;
  left.kept.reset();
  if (left.first_tag < 0) return true;
  if (!sends) drain(peer, left.first_tag, left.tags);
  if (sends) {
    free_tags_.at(peer).give_back(left.first_tag, left.tags);
  } else {
    Handshake mine;
    mine.role = role;
    mine.tag = tag;
    mine.number = number;
    send_answer(peer, mine, {.what = Reply::done});
  }
  return true;
}

/// Receives what has come with these tags, for nobody.
void PairComm::drain(Rank peer, int first, int count) {
  for (int tag = first; tag < first + count; ++tag)
    while (private_.drop_message(peer, tag)) {
    }
}

void PairComm::close(Rank peer, const Handshake& mine, std::shared_ptr<void> kept, bool is_mutual) {
  const std::lock_guard turn(lock_);
  if (ready()) advance();
  const Key key(peer, mine.role, mine.tag, mine.number);
  open_ends_.fetch_sub(1, std::memory_order_relaxed);
  PeerEnd& left = peer_ends_[key];
  left.kept = std::move(kept);
  left.is_mutual = is_mutual;
  const bool sends = is_sender(mine.role);
  const bool is_over = sends && !is_mutual ? left.first_tag < 0 : finish_if_over(key, left, Reply::closed);
  if (sends || is_mutual || !is_over) send_answer(peer, mine, {.what = Reply::closed});
  if (is_over) {
    peer_ends_.erase(key);
  } else {
    if (!sends && left.first_tag >= 0 && !left.kept) left_.insert(key);
    left.handshake.reset();
    left.answers.clear();
    left.is_left = true;
  }
  if (ready()) advance();
}

std::optional<Handshake> PairComm::take_handshake(Rank peer, const Handshake& mine) {
  const std::unique_lock turn(lock_, std::try_to_lock);
  if (!turn || !ready()) return std::nullopt;
  PeerEnd& peer_end = peer_ends_[Key(peer, mine.role, mine.tag, mine.number)];
  if (!peer_end.handshake) advance();
  if (!peer_end.handshake) {
    require_running(peer);
    return std::nullopt;
  }
  learn_patience_of(peer_end.handshake->process, world_node_size());
  return std::exchange(peer_end.handshake, std::nullopt);
}

std::optional<Answer> PairComm::take_answer(Rank peer, const Handshake& mine) {
  const std::unique_lock turn(lock_, std::try_to_lock);
  if (!turn || !ready()) return std::nullopt;
  PeerEnd& peer_end = peer_ends_[Key(peer, mine.role, mine.tag, mine.number)];
  if (peer_end.answers.empty()) advance();
  if (peer_end.answers.empty()) {
    require_running(peer);
    return std::nullopt;
  }
  const Answer first = peer_end.answers.front();
  peer_end.answers.pop_front();
  return first;
}

int PairComm::take_tags(Rank peer, const Handshake& mine, std::int64_t count) {
  {
    const std::lock_guard turn(lock_);
    TagSpace& free = free_tags_.try_emplace(peer, int{own_channels}, private_.largest_tag()).first->second;
    if (const std::optional<int> first =
            count <= private_.largest_tag() ? free.take(static_cast<int>(count)) : std::nullopt) {
      PeerEnd& peer_end = peer_ends_[Key(peer, mine.role, mine.tag, mine.number)];
      peer_end.first_tag = *first;
      peer_end.tags = static_cast<std::int32_t>(count);
      return *first;
    }
  }
  answer(peer, mine, {.what = Reply::no_tags});
  throw_no_tags(rank(), peer);
}

void PairComm::throw_no_tags(Rank from, Rank to) {
  throw Error(ErrorKind::unsupported, "no more tags for messages from rank " + std::to_string(from) + " to rank " +
                                          std::to_string(to) +
                                          ": those of this communicator are in use by other channels and partitioned "
                                          "messages between the two");
}

}  // namespace laneway
