#include "communicator/communicator.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/failure.hpp"
#include "base/simulated.hpp"
#include "mpi/attribute_key.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

AttributeKey communicator_key([](void* communicator) { delete static_cast<Communicator*>(communicator); });

/// Sessions may come before MPI_Init.
void watch_world() {
  static std::atomic<bool> watched{false};
  if (watched.load(std::memory_order_acquire) || !has_world()) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (watched.load(std::memory_order_relaxed)) return;
  watch_finalize();
  watched.store(true, std::memory_order_release);
}

}  // namespace

Communicator::Communicator(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag)
    : comm_(comm),
      user_(std::make_shared<UserComm>(comm)),
      private_(std::move(priv)),
      nonblocking_comm_(private_),
      nonblocking_tag_(nonblocking_tag) {}

Communicator* Communicator::find_any(MPI_Comm comm) {
  require(comm != MPI_COMM_NULL, ErrorKind::communicator, "comm: MPI_COMM_NULL");
  watch_world();
  auto* const found = static_cast<Communicator*>(communicator_key.find(comm));
  set_running();
  return found;
}

Communicator* Communicator::find(MPI_Comm comm) {
  if (Communicator* const found = find_any(comm)) return found;
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  require(!inter, ErrorKind::communicator, "comm: an intercommunicator");
  return nullptr;
}

/// Read once for a Communicator: what MPI_Comm_set_info says later would reach ranks at different calls.
HintTexts hints_of(MPI_Comm comm) {
  if constexpr (simulated) return {};
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Comm_get_info(comm, &info), "MPI_Comm_get_info");
  if (info == MPI_INFO_NULL) return {};
  try {
    HintTexts texts = hints_in(info);
    MPI_Info_free(&info);
    return texts;
  } catch (...) {
    MPI_Info_free(&info);
    throw;
  }
}

Communicator& Communicator::attach(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag) {
  auto fresh = std::unique_ptr<Communicator>(new Communicator(comm, std::move(priv), nonblocking_tag));
  fresh->hints = hints_of(comm);
  communicator_key.set(comm, fresh.get());
  return *fresh.release();
}

Communicator& Communicator::of(MPI_Comm comm, const PrivateComm* through) {
  if (Communicator* const known = find(comm)) return *known;
  // All that may fail on this rank alone comes before the ranks meet, as far as it can.
  std::shared_ptr<PrivateComm> priv;
  Communicator* made = nullptr;
  const std::exception_ptr failure = failure_of([&] {
    priv = PrivateComm::make();
    made = &attach(comm, priv, PrivateComm::nonblocking_tag);
  });
  const auto create = [&] {
    if (priv) return priv->create(comm, failure, through);
    if (through != nullptr) std::rethrow_exception(failure);
    int rank = 0;
    check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
    (void)meet_on(comm, rank, failure);
  };
  try {
    create();
  } catch (...) {
    if (priv && priv->created())
      priv->leave();
    else if (made != nullptr)
      communicator_key.erase(comm);
    throw;
  }
  return *made;
}

Communicator& Communicator::of_nonblocking(MPI_Comm comm) {
  Communicator* const known = find(comm);
  if (known != nullptr && !known->unmade_) return *known;
  if (!duplicates_apart()) {
    Communicator& made = of(comm);
    (void)made.private_comm();
    return made;
  }
  const auto begun = PrivateComm::make();
  begun->begin(comm);
  if (known == nullptr) return attach(comm, begun, PrivateComm::nonblocking_tag);
  known->use(begun);
  return *known;
}

/// Makes another of its ranks if `comm` can no longer be used for setup; then true.
bool Communicator::make_usable(std::shared_ptr<PrivateComm>& comm) {
  if (!comm->spoilt() && comm->has_tags()) return false;
  std::shared_ptr<PrivateComm> fresh;
  const std::exception_ptr failure = failure_of([&] { fresh = PrivateComm::make(); });
  if (!fresh) (void)meet_on(comm->get(), comm->rank(), failure);  // throws
  try {
    fresh->create(comm->get(), nullptr, nullptr);
  } catch (...) {
    if (!fresh->created()) throw;
    fresh->leave();
    comm->quiesce();  // as the others do
    comm = fresh;
    throw;
  }
  comm->quiesce();
  comm = fresh;
  return true;
}

Communicator& Communicator::derive(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent) {
  return attach(comm, parent, parent->take_tags());
}

void Communicator::part_from_parent() {
  unmade_ = {{}, nonblocking_tag_, 0};
}

void Communicator::restrict_to(std::vector<Rank> members, bool single) {
  partial = true;
  idle = !std::ranges::binary_search(members, private_->rank());
  if (single) of_all_ = private_;
  (void)topology();  // in ranks of the parent's, as long as it can be read
  if (!idle) unmade_ = {std::move(members), nonblocking_tag_, 0};
}

void Communicator::use(std::shared_ptr<PrivateComm> own) {
  private_ = std::move(own);
  nonblocking_comm_ = private_;
  nonblocking_tag_ = PrivateComm::nonblocking_tag;
  unmade_.reset();
}

void Communicator::make_own() {
  const std::vector<Rank> members = std::exchange(unmade_->members, {});
  // Where it fails, the next try has tags of its own.
  const int tag = unmade_->tag + 2 * (unmade_->tries++ % (own_channels / 2));
  std::shared_ptr<PrivateComm> own;
  std::unique_ptr<Topology> translated;
  const std::exception_ptr failure = failure_of([&] {
    own = PrivateComm::make();
    if (partial) translated = std::make_unique<Topology>(*topology_);
  });
  const auto become = [&] {
    use(own);
    if (!translated) return;
    // What is known is in ranks of the parent's.
    for (std::vector<Neighbor>* neighbors : {&translated->sources, &translated->destinations})
      for (Neighbor& neighbor : *neighbors)
        neighbor.rank = static_cast<Rank>(std::ranges::lower_bound(members, neighbor.rank) - members.begin());
    topology_ = std::move(translated);
    fabrics_.clear();
    regions_.clear();
    peer_regions_.clear();
  };
  try {
    if (own)
      own->create_among(*private_, members, tag, failure);
    else
      private_->meet(members, tag, true);  // throws
  } catch (...) {
    if (!own || !own->created()) {
      unmade_->members = members;
      throw;
    }
    own->leave();
    become();
    throw;
  }
  become();
}

void Communicator::forget(MPI_Comm comm) {
  if (find(comm) != nullptr) communicator_key.erase(comm);
}

std::unique_ptr<Communicator> Communicator::with_topology(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent,
                                                          Topology topology, bool single) {
  const auto priv = single ? parent : PrivateComm::make();
  if (!single) priv->create(parent->get(), nullptr, parent.get());
  const int tag = single ? parent->take_tags() : int{PrivateComm::nonblocking_tag};
  auto made = std::unique_ptr<Communicator>(new Communicator(MPI_COMM_NULL, priv, tag));
  made->topology_ = std::make_unique<Topology>(std::move(topology));
  made->error_handler_ = of(comm).error_handler();
  return made;
}

std::unique_ptr<Communicator> Communicator::with_known_topology(const std::shared_ptr<PrivateComm>& parent,
                                                                Topology topology,
                                                                std::shared_ptr<const ErrorHandler> handler,
                                                                bool single) {
  require(parent->has_tags(), ErrorKind::unsupported, "the MPI library has no tags left for another topology");
  auto made = std::unique_ptr<Communicator>(new Communicator(MPI_COMM_NULL, parent, parent->take_tags()));
  made->topology_ = std::make_unique<Topology>(std::move(topology));
  made->error_handler_ = std::move(handler);
  if (!single) made->part_from_parent();
  return made;
}

std::shared_ptr<PrivateComm> Communicator::private_comm_of_all() {
  if (!partial) return private_comm();
  if (of_all_) make_usable(of_all_);
  return of_all_;
}

Rank Communicator::ranks() const {
  return unmade_ && !unmade_->members.empty() ? static_cast<Rank>(unmade_->members.size()) : private_->size();
}

std::shared_ptr<PrivateComm> Communicator::private_comm() {
  if (unmade_) make_own();
  if (!private_->ready()) progress_until([&] { return private_->ready(); });
  if (private_->spoilt()) forget_what_ranks_share();
  if (make_usable(private_)) attachments_.notify(Attachment::Change::replaced);
  return private_;
}

/// Some ranks may have learnt it in a step in which others have failed.
void Communicator::forget_what_ranks_share() {
  attachments_.notify(Attachment::Change::unsure);
  regions_.clear();
  peer_regions_.clear();
  node_devices.reset();
  knows_nodes = false;
}

const Topology& Communicator::topology() {
  if (!topology_) topology_ = std::make_unique<Topology>(read_topology(comm_));
  return *topology_;
}

const Communicator::CallHints& Communicator::call_hints() {
  if (!call_hints_) call_hints_ = {resolve_progress(hints), resolve_memory_path(hints), checks_decisions(hints)};
  return *call_hints_;
}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL) user_->store(MPI_COMM_NULL, std::memory_order_release);
}

std::shared_ptr<const ErrorHandler> Communicator::error_handler() const {
  return error_handler_ ? error_handler_ : std::make_shared<const ErrorHandler>(comm_, user_);
}

}  // namespace laneway
