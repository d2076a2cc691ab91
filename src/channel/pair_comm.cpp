#include "channel/pair_comm.hpp"

#include <mutex>
#include <string>
#include <utility>

#include "carriers/messages/advance.hpp"
#include "carriers/messages/p2p.hpp"
#include "comm/communicator.hpp"
#include "comm/discovery.hpp"
#include "comm/running.hpp"
#include "core/error.hpp"
#include "exec/progress.hpp"

namespace laneway {

static_assert(PrivateComm::last_tag < unused_tag && unused_tag < PrivateComm::blocking_tag);

namespace {

int pair_key = MPI_KEYVAL_INVALID;

int delete_pair_comm(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<std::shared_ptr<PairComm>*>(attribute);
  return MPI_SUCCESS;
}

std::mutex making;

/// What its peers have yet to receive may be read until the end of the program.
template <class T>
void keep_for_ever(std::list<T>&& left) {
  (void)new std::list<T>(std::move(left));
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

std::shared_ptr<PairComm> PairComm::of(MPI_Comm comm) {
  (void)Communicator::find(comm);  // checks it
  const std::lock_guard lock(making);
  if (pair_key == MPI_KEYVAL_INVALID)
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_pair_comm, &pair_key, nullptr),
              "MPI_Comm_create_keyval");
  void* attribute = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm, pair_key, &attribute, &found), "MPI_Comm_get_attr");
  if (found) return *static_cast<std::shared_ptr<PairComm>*>(attribute);
  auto made = std::make_unique<std::shared_ptr<PairComm>>(std::make_shared<PairComm>(comm));
  check_mpi(MPI_Comm_set_attr(comm, pair_key, made.get()), "MPI_Comm_set_attr");
  return *made.release();
}

PairComm::PairComm(MPI_Comm comm)
    : user_(std::make_shared<UserComm>(comm)),
      comm_(std::make_shared<PrivateComm>()),
      error_handler_(std::make_shared<const ErrorHandler>(comm, user_)) {
  comm_->begin_or_create(comm);
}

PairComm::~PairComm() {
  user_->store(MPI_COMM_NULL, std::memory_order_release);
  std::erase_if(said_, [](Said& said) {
    int flag = 0;
    return said.request != MPI_REQUEST_NULL && !mpi_is_finalized() &&
           MPI_Test(&said.request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag != 0;
  });
  if (!said_.empty()) keep_for_ever(std::move(said_));
}

void PairComm::prepare() {
  progress_until([&] { return ready(); });
}

void PairComm::check_rank(int peer, const char* name) const {
  require(peer >= 0 && peer < size(), ErrorKind::rank, [&] {
    return std::string(name) + " is " + std::to_string(peer) + "; comm has " + std::to_string(size()) + " ranks";
  });
}

Hello PairComm::tell(Rank peer, Hello hello) {
  Turn turn(taken_);
  turn.take();
  hello.number = numbers_[Key(peer, hello.role, hello.tag, 0)]++;
  hello.process = own_process();
  Said& said = said_.emplace_back();
  said.peer = peer;
  said.hello = hello;
  if (ready()) advance();
  return hello;
}

void PairComm::answer(Rank peer, const Hello& mine, Reply what) {
  Turn turn(taken_);
  turn.take();
  Said& said = said_.emplace_back();
  said.peer = peer;
  said.answer = {mine.role, mine.tag, mine.number, what};
  said.is_answer = true;
  if (ready()) advance();
}

/// What has been said is kept until MPI no longer reads it.
void PairComm::send_all() {
  for (auto said = said_.begin(); said != said_.end();) {
    int flag = 0;
    if (said->request == MPI_REQUEST_NULL) {
      const void* const data = said->is_answer ? static_cast<const void*>(&said->answer) : &said->hello;
      check_mpi(MPI_Isend(data, static_cast<int>(said->is_answer ? sizeof(Answer) : sizeof(Hello)), MPI_BYTE,
                          said->peer, said->is_answer ? answer_tag : hello_tag, get(), &said->request),
                "MPI_Isend");
    }
    check_mpi(MPI_Test(&said->request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    said = flag != 0 ? said_.erase(said) : std::next(said);
  }
}

void PairComm::advance() {
  send_all();
  // The constants of MPI 5's ABI are of an enumeration.
  const auto receive = [&](int tag, auto& into) -> int {
    MPI_Status status;
    int flag = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, get(), &flag, &status), "MPI_Iprobe");
    if (flag == 0) return MPI_PROC_NULL;
    check_mpi(MPI_Recv(&into, sizeof into, MPI_BYTE, status.MPI_SOURCE, tag, get(), MPI_STATUS_IGNORE), "MPI_Recv");
    return status.MPI_SOURCE;
  };
  Hello hello;
  for (int from = receive(hello_tag, hello); from != MPI_PROC_NULL; from = receive(hello_tag, hello))
    heard_.emplace(Key(from, hello.role, hello.tag, hello.number), hello);
  Answer answer{};
  for (int from = receive(answer_tag, answer); from != MPI_PROC_NULL; from = receive(answer_tag, answer))
    answers_[Key(from, answer.role, answer.tag, answer.number)].push_back(answer.what);
}

std::optional<Hello> PairComm::hear(Rank peer, const Hello& mine) {
  Turn turn(taken_);
  if (!turn.try_take() || !ready()) return std::nullopt;
  const Key key(peer, opposite(mine.role), mine.tag, mine.number);
  auto found = heard_.find(key);
  if (found == heard_.end()) {
    advance();
    found = heard_.find(key);
  }
  if (found == heard_.end()) return std::nullopt;
  learn_patience_of(found->second.process, world_node_size());
  return heard_.extract(found).mapped();
}

std::optional<Reply> PairComm::hear_answer(Rank peer, const Hello& mine) {
  Turn turn(taken_);
  if (!turn.try_take() || !ready()) return std::nullopt;
  const Key key(peer, opposite(mine.role), mine.tag, mine.number);
  auto found = answers_.find(key);
  if (found == answers_.end()) {
    advance();
    found = answers_.find(key);
  }
  if (found == answers_.end()) return std::nullopt;
  const Reply first = found->second.front();
  found->second.pop_front();
  if (found->second.empty()) answers_.erase(found);
  return first;
}

int PairComm::take_tags(Rank peer, std::int64_t count) {
  Turn turn(taken_);
  turn.take();
  const auto [place, is_new] = next_tag_.try_emplace(peer, int{first_free_tag});
  require(count <= std::int64_t{last_tag()} - place->second, ErrorKind::unsupported, [&] {
    return "no more tags for messages to rank " + std::to_string(peer) + ": " + std::to_string(place->second) +
           " have been used on this communicator";
  });
  return std::exchange(place->second, place->second + static_cast<int>(count));
}

}  // namespace laneway
