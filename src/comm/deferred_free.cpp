#include "comm/deferred_free.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <list>
#include <mutex>
#include <new>
#include <utility>

#include "comm/mailbox.hpp"
#include "core/relax.hpp"
#include "core/simulated.hpp"
#include "exec/progress.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"

namespace laneway {

namespace {

/// Greater than that of any communicator which this process has retired before. With the rank it names one of them.
std::atomic<std::int64_t> next_stamp{0};

std::int64_t own_stamp(const PrivateComm& comm) {
  int rank = comm.rank();
  if (has_world()) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return (next_stamp.fetch_add(1, std::memory_order_relaxed) << 32) | rank;
}

void see_stamp(std::int64_t stamp) {
  const std::int64_t after = (stamp >> 32) + 1;
  std::int64_t next = next_stamp.load(std::memory_order_relaxed);
  while (next < after && !next_stamp.compare_exchange_weak(next, after, std::memory_order_relaxed)) {
  }
}

/// On its way from its last owner to MPI_Comm_free. One thread at a time.
class RetiredComm {
 public:
  explicit RetiredComm(std::unique_ptr<PrivateComm> comm) : own_(std::move(comm)), comm_(own_.get()) {}
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
  [[nodiscard]] bool may_be_freed() const { return stage_ == Stage::over && all_[1] == 0; }
  void free() noexcept { comm_->free(); }

  void advance() noexcept;

 private:
  enum class Stage : std::uint8_t { sending, draining, agreeing, over, failed };

  void say_last();
  [[nodiscard]] bool has_said_last();
  void agree();
  void reduce();

  std::unique_ptr<PrivateComm> own_;
  std::shared_ptr<PrivateComm> alive_;
  PrivateComm* comm_;
  bool drains_ = true;
  Stage stage_ = Stage::sending;
  std::vector<MPI_Request> last_;  // messages of this rank
  MPI_Request agreement_ = MPI_REQUEST_NULL;
  int turns_left_ = 0;
  std::array<std::int64_t, 2> mine_{};  // stamp, and whether it must not be freed
  std::array<std::int64_t, 2> all_{};
};

/// To each peer, after all others: when it has been received, so have they.
void RetiredComm::say_last() {
  for (const Rank peer : comm_->resident()->peers())
    check_mpi(MPI_Issend(nullptr, 0, MPI_BYTE, peer, PrivateComm::last_tag, comm_->get(),
                         &last_.emplace_back(MPI_REQUEST_NULL)),
              "MPI_Issend");
}

bool RetiredComm::has_said_last() {
  for (MPI_Request& request : last_) {
    int flag = 0;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return false;
  }
  return true;
}

void RetiredComm::agree() {
  comm_->drain();
  mine_ = {own_stamp(*comm_), alive_ || comm_->is_doubtful() ? 1 : 0};
  int is_inter = 0;
  check_mpi(MPI_Comm_test_inter(comm_->get(), &is_inter), "MPI_Comm_test_inter");
  turns_left_ = is_inter;
  reduce();
}

void RetiredComm::reduce() {
  check_mpi(MPI_Iallreduce(mine_.data(), all_.data(), static_cast<int>(all_.size()), MPI_INT64_T, MPI_MAX, comm_->get(),
                           &agreement_),
            "MPI_Iallreduce");
}

void RetiredComm::advance() noexcept {
  if (has_ended()) return;
  try {
    if (!comm_->ready()) return;
    if (stage_ == Stage::sending) {
      if (comm_->resident() != nullptr) {
        if (!comm_->resident()->has_sent_all()) return;
        say_last();
      }
      stage_ = Stage::draining;
    }
    // Also while others, which have not come so far, may have sent something.
    if (comm_->resident() != nullptr)
      while (comm_->drop_message(MPI_ANY_SOURCE, drains_ ? MPI_ANY_TAG : int{PrivateComm::last_tag})) {
      }
    if (stage_ == Stage::draining) {
      if (!has_said_last()) return;
      agree();
      stage_ = Stage::agreeing;
    }
    int flag = 0;
    check_mpi(MPI_Test(&agreement_, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return;
    if (turns_left_-- > 0) {  // what one group of an intercommunicator has got is the other's
      for (std::size_t i = 0; i < all_.size(); ++i) mine_[i] = std::max(mine_[i], all_[i]);
      return reduce();
    }
    see_stamp(all_[0]);
    comm_->drop_resident();
    stage_ = Stage::over;
  } catch (...) {
    stage_ = Stage::failed;
  }
}

struct RetiredComms {
  std::mutex mutex;
  std::list<std::unique_ptr<RetiredComm>> all;
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
    for (auto& each : all)
      if (each->has_failed()) (void)each.release();
    std::erase_if(all, [](const auto& each) { return !each; });
    const auto place = [](const auto& each) {
      return each->may_be_freed() ? each->number() : std::numeric_limits<std::int64_t>::max();
    };
    all.sort([&](const auto& a, const auto& b) { return place(a) < place(b); });
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

void retire(std::unique_ptr<PrivateComm> comm) noexcept {
  if (!comm->exists()) return;
  // Functions of the program that run in MPI_Finalize may drop what has been looked after, and MPI drops what is
  // attached to MPI_COMM_WORLD. MPI frees the communicator; a window that is left would be freed by this rank alone.
  if (is_ending.load(std::memory_order_acquire)) {
    if (comm->has_parts()) (void)comm.release();
    return;
  }
  RetiredComms& known = retired_comms();
  std::list<std::unique_ptr<RetiredComm>> one;
  try {
    one.emplace_back();
    one.back() = std::make_unique<RetiredComm>(std::move(comm));
  } catch (const std::bad_alloc&) {
    return (void)comm.release();  // MPI frees it when it ends
  }
  const std::lock_guard lock(known.mutex);
  known.all.splice(known.all.end(), one);
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
    if (comm && comm->exists()) taken.all.push_back(std::make_unique<RetiredComm>(comm));
  // All ranks come, however late, or else none waits: where a step has failed, some may have nothing to wait for.
  for (int turns = 0; !PrivateComm::a_step_has_failed(); relax(turns)) {
    for (const auto& each : taken.all) each->advance();
    if (std::ranges::all_of(taken.all, [](const auto& each) { return each->has_ended(); })) break;
  }
  // What may not be freed is here on all ranks, whether they have found that in this call or before. Of the others,
  // some ranks may have freed theirs.
  const auto stays = [](const auto& each) { return each->has_ended() && !each->may_be_freed(); };
  for (const auto& each : taken.all)
    if (!PrivateComm::a_step_has_failed() && stays(each) && !each->has_failed())
      left.emplace_back(each->number(), &each->comm());
  std::ranges::sort(left);
  try {
    for (const auto& [number, comm] : left) comm->free_parts();
  } catch (...) {
    // MPI frees them.
  }
  taken.advance();
  std::erase_if(taken.all, stays);
  while (!taken.all.empty() && taken.all.front()->may_be_freed()) {
    taken.all.front()->free();
    taken.all.erase(taken.all.begin());
  }
}

}  // namespace laneway
