#include "communicator/deferred_free.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <optional>
#include <utility>

#include "base/process/relax.hpp"
#include "base/simulated.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/sessions.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

/// Greater than that of any communicator which this process has retired before. With the rank it names one of them.
std::atomic<std::int64_t> next_stamp{0};

std::int64_t own_stamp(const PrivateComm& comm) {
  int rank = process_in_sessions() >= 0 ? process_in_sessions() : comm.rank();
  if (has_world()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return (next_stamp.fetch_add(1, std::memory_order_relaxed) << 32) | rank;
}

void see_stamp(std::int64_t stamp) {
  const std::int64_t after = (stamp >> 32) + 1;
  std::int64_t next = next_stamp.load(std::memory_order_relaxed);
  while (next < after && !next_stamp.compare_exchange_weak(next, after, std::memory_order_relaxed)) {
  }
}

}  // namespace

/// On its way from its last owner to MPI_Comm_free. One thread at a time.
class RetiredComm {
 public:
  RetiredComm() = default;
  void take(std::unique_ptr<PrivateComm> comm) noexcept {
    own_ = std::move(comm);
    comm_ = own_.get();
  }
  /// In MPI_Finalize: of one that still has owners, and is not freed.
  explicit RetiredComm(std::shared_ptr<PrivateComm> comm)
      : alive_(std::move(comm)),
        comm_(alive_.get()),
        drains_(comm_->resident() != nullptr && comm_->resident()->is_idle()) {}

  [[nodiscard]] const PrivateComm& comm() const { return *comm_; }
  /// The same on all ranks, in an order that all communicators have in common.
  [[nodiscard]] std::int64_t number() const { return all_[0]; }
  [[nodiscard]] bool has_ended() const { return stage_ >= Stage::over; }
  [[nodiscard]] bool has_failed() const { return stage_ == Stage::failed; }
  [[nodiscard]] bool may_be_freed() const { return stage_ == Stage::over && all_[1] == freed_by_all; }
  /// It still has owners on some rank, and messages on their way on none.
  [[nodiscard]] bool is_used() const { return stage_ == Stage::over && all_[1] == used_by_some; }
  void free() noexcept { comm_->free(); }

  void advance() noexcept;

 private:
  enum class Stage : std::uint8_t { sending, draining, agreeing, over, failed };
  enum Use : std::int64_t { freed_by_all, used_by_some, doubtful };

  void queue_last();
  void prepare_agreement();
  void reduce();

  std::unique_ptr<PrivateComm> own_;
  std::shared_ptr<PrivateComm> alive_;
  PrivateComm* comm_ = nullptr;
  bool drains_ = true;
  int tries_left_ = 10;
  Stage stage_ = Stage::sending;
  MPI_Request agreement_ = MPI_REQUEST_NULL;
  int turns_left_ = 0;
  std::optional<ControlMessages> last_;  // to its peers
  std::array<std::int64_t, 2> mine_{};   // stamp, and the use
  std::array<std::int64_t, 2> all_{};
};

/// To each peer, after all others: when it has been received, so have they.
void RetiredComm::queue_last() {
  const std::vector<Rank> peers = comm_->resident()->peers();
  while (last_->size() < peers.size()) last_->queue(peers[last_->size()], ControlComm::last_tag, {}, true);
}

void RetiredComm::prepare_agreement() {
  comm_->drain();
  mine_ = {own_stamp(*comm_), comm_->is_doubtful() ? doubtful : alive_ ? used_by_some : freed_by_all};
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(comm_->get(), &is_inter), "MPI_Comm_test_inter");
  turns_left_ = is_inter;
}

void RetiredComm::reduce() {
  check_mpi(MPI_Iallreduce(mine_.data(), all_.data(), static_cast<int>(all_.size()), MPI_INT64_T, MPI_MAX, comm_->get(),
                           &agreement_),
            "MPI_Iallreduce");
}

/// What fails is tried again: the other ranks wait for this one.
void RetiredComm::advance() noexcept {
  if (comm_->may_be_missing()) stage_ = Stage::failed;
  if (has_ended()) return;
  try {
    if (!comm_->ready()) return;
    if (stage_ == Stage::sending) {
      if (!last_) last_.emplace(*comm_);
      if (comm_->resident() != nullptr) {
        if (!comm_->resident()->has_sent_all()) return;
        queue_last();
      }
      stage_ = Stage::draining;
    }
    // Also while others, which have not come so far, may have sent something.
    if (comm_->resident() != nullptr)
      while (comm_->drop_message(MPI_ANY_SOURCE, drains_ ? MPI_ANY_TAG : int{PrivateComm::last_tag})) {
      }
    if (stage_ == Stage::draining) {
      last_->begin_all();
      if (!last_->all_complete()) return;
      prepare_agreement();
      stage_ = Stage::agreeing;
    }
    if (agreement_ == MPI_REQUEST_NULL) reduce();
    int flag = 0;
    const int code = MPI_Test(&agreement_, &flag, MPI_STATUS_IGNORE);
    if (code != MPI_SUCCESS && agreement_ == MPI_REQUEST_NULL) tries_left_ = 1;  // the others go on
    check_mpi(code, "MPI_Test");
    if (flag == 0) return;
    if (turns_left_-- > 0) {  // what one group of an intercommunicator has got is the other's
      for (std::size_t i = 0; i < all_.size(); ++i) mine_[i] = std::max(mine_[i], all_[i]);
      return;
    }
    see_stamp(all_[0]);
    comm_->drop_resident();
    stage_ = Stage::over;
  } catch (...) {
    if (--tries_left_ == 0) stage_ = Stage::failed;
  }
}

class RetiredPlace {
 public:
  std::list<std::unique_ptr<RetiredComm>> one;
};

namespace {

struct RetiredComms {
  std::mutex mutex;
  std::list<std::unique_ptr<RetiredComm>> all;
  std::list<std::unique_ptr<RetiredComm>> left_to_mpi;  // which frees them when it ends
};
RetiredComms& retired_comms() {
  static RetiredComms* const one = new RetiredComms;  // never destroyed: MPI may be gone when the program ends
  return *one;
}
std::atomic<bool> any_retired{false};
std::atomic<bool> is_ending{false};

/// Has the list while it lives, without the lock: MPI has locks of its own, and calls `retire` while it holds them.
class Taken {
 public:
  Taken() {
    RetiredComms& known = retired_comms();
    const std::lock_guard lock(known.mutex);
    all.splice(all.end(), known.all);
  }
  ~Taken() {
    RetiredComms& known = retired_comms();
    const std::lock_guard lock(known.mutex);
    known.all.splice(known.all.begin(), all);
    any_retired.store(!known.all.empty(), std::memory_order_relaxed);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

  void advance() {
    for (const auto& each : all) each->advance();
    // What MPI may still use stays to the end.
    RetiredComms& known = retired_comms();
    const std::lock_guard lock(known.mutex);
    for (auto each = all.begin(); each != all.end();) {
      const auto failed = each++;
      if ((*failed)->has_failed()) known.left_to_mpi.splice(known.left_to_mpi.end(), all, failed);
    }
    const auto place = [](const auto& each) {
      return each->may_be_freed() ? each->number() : std::numeric_limits<std::int64_t>::max();
    };
    all.sort([&](const auto& a, const auto& b) { return place(a) < place(b); });
  }

  /// Until all have ended. All ranks of each come, however late.
  void finish() noexcept {
    for (int turns = 0;; relax(turns)) {
      for (const auto& each : all) each->advance();
      if (std::ranges::all_of(all, [](const auto& each) { return each->has_ended(); })) return;
    }
  }
  /// Those that may be, which come first.
  void free_all() noexcept {
    while (!all.empty() && all.front()->may_be_freed()) {
      all.front()->free();
      all.pop_front();
    }
  }

  /// In the order of their numbers. A list: it goes back without memory, of which there may be no more.
  std::list<std::unique_ptr<RetiredComm>> all;
};

/// Of those that may be freed and are of the same ranks as `fresh`.
std::vector<std::int64_t> numbers_of(const Taken& taken, const PrivateComm& fresh) {
  std::vector<std::int64_t> numbers;
  for (const auto& each : taken.all) {
    if (!each->may_be_freed()) break;
    int result = MPI_UNEQUAL;
    if (each->comm().size() == fresh.size())
      check_mpi(MPI_Comm_compare(each->comm().get(), fresh.get(), &result), "MPI_Comm_compare");
    if (result == MPI_CONGRUENT) numbers.push_back(each->number());
  }
  return numbers;
}

}  // namespace

std::shared_ptr<RetiredPlace> place_for_retired() {
  auto place = std::make_shared<RetiredPlace>();
  place->one.push_back(std::make_unique<RetiredComm>());
  return place;
}

void retire(std::unique_ptr<PrivateComm> comm, RetiredPlace& place) noexcept {
  if (!comm->exists()) return;
  // Functions of the program that run in MPI_Finalize may drop what has been looked after, and MPI drops what is
  // attached to MPI_COMM_WORLD. A window that is left would be freed by this rank alone.
  const bool has_been_seen = is_ending.load(std::memory_order_acquire);
  if (has_been_seen && !comm->has_parts()) return;
  const bool is_left_to_mpi = comm->may_be_missing() || has_been_seen || (!has_world() && open_sessions() == 0);
  RetiredComms& known = retired_comms();
  place.one.front()->take(std::move(comm));
  const std::lock_guard lock(known.mutex);
  if (is_left_to_mpi) return known.left_to_mpi.splice(known.left_to_mpi.end(), place.one);
  known.all.splice(known.all.end(), place.one);
  any_retired.store(true, std::memory_order_relaxed);
}

void advance_retired() noexcept {
  if (!any_retired.load(std::memory_order_relaxed)) return;
  Taken taken;
  taken.advance();
  const auto waiting = std::ranges::count_if(taken.all, [](const auto& each) { return each->may_be_freed(); });
  for (auto left = waiting; left > most_deferred; --left) {
    taken.all.front()->free();
    taken.all.erase(taken.all.begin());
  }
}

std::vector<std::int64_t> common_numbers(const std::vector<std::int64_t>& numbers, const PrivateComm& comm) {
  constexpr std::size_t most = 8;
  constexpr std::int64_t none = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> mine(2 * most);
  for (std::size_t i = 0; i < most; ++i) {
    mine[i] = i < numbers.size() ? numbers[i] : none;
    mine[most + i] = -mine[i];
  }
  const std::vector<std::int64_t> least = reduce_progressing(mine, MPI_INT64_T, MPI_MIN, comm);
  std::vector<std::int64_t> common;
  for (std::size_t i = 0; i < most; ++i)
    if (least[i] != none && least[i] == -least[most + i]) common.push_back(least[i]);
  return common;
}

void free_retired(const PrivateComm& fresh) {
  if constexpr (simulated) return;
  Taken taken;
  taken.advance();
  for (const std::int64_t number : common_numbers(numbers_of(taken, fresh), fresh)) {
    const auto found = std::ranges::find_if(
        taken.all, [&](const auto& each) { return each->may_be_freed() && each->number() == number; });
    (*found)->free();
    taken.all.erase(found);
  }
}

void finish_retired(const std::vector<std::shared_ptr<PrivateComm>>& alive) noexcept {
  if constexpr (simulated) return;  // SimGrid ends a program that calls MPI from here
  is_ending.store(true, std::memory_order_release);
  Taken taken;
  std::vector<std::pair<std::int64_t, const PrivateComm*>> left;
  for (const auto& comm : alive)
    if (comm && comm->exists() && !comm->may_be_missing()) taken.all.push_back(std::make_unique<RetiredComm>(comm));
  taken.finish();
  // What may not be freed is here on all ranks, whether they have found that in this call or before. Of the others,
  // some ranks may have freed theirs.
  const auto stays = [](const auto& each) { return each->has_ended() && !each->may_be_freed(); };
  for (const auto& each : taken.all)
    if (each->is_used()) left.emplace_back(each->number(), &each->comm());
  std::ranges::sort(left);
  try {
    for (const auto& [number, comm] : left) comm->free_parts();
  } catch (...) {
    // MPI frees them.
  }
  taken.advance();
  std::erase_if(taken.all, stays);
  taken.free_all();
}

void finish_retired_of_sessions() noexcept {
  Taken taken;
  taken.finish();
  taken.advance();
  taken.free_all();
  RetiredComms& known = retired_comms();
  const std::lock_guard lock(known.mutex);
  known.left_to_mpi.splice(known.left_to_mpi.end(), taken.all);
}

}  // namespace laneway
