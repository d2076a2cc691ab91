#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>

#include "algorithms/cost/partition_cut.hpp"
#include "communicator/background.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "communicator/hints/hints.hpp"
#include "operations/channel/pair_comm.hpp"
#include "operations/channel/readiness.hpp"
#include "operations/channel/whole_message.hpp"
#include "operations/request/work.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

/// What MPI_Psend_init and MPI_Precv_init say.
struct PartitionedArguments {
  void* buf = nullptr;
  int partitions = 0;
  MPI_Count count = 0;  ///< elements of a partition
  MPI_Datatype datatype = MPI_DATATYPE_NULL;
  int peer = MPI_PROC_NULL;
  int tag = 0;
  bool is_send = false;
  bool may_share = true;  ///< memory of the node, as far as the hints say
};

/// One side of a partitioned message between two ranks: a plan with an event for each internal message. Both sides say
/// what they have; who has heard of the other makes the same cut (PartitionCut), so that nothing is said later. Until
/// then an exchange that was started waits, and partitions that are ready are remembered.
class Partitioned final : public Work, private Progressive {
 public:
  /// Local. Throws Error with the name of the bad argument.
  Partitioned(std::shared_ptr<PairComm> pairs, const PartitionedArguments& arguments, const Hints& hints);
  ~Partitioned() override;

  [[nodiscard]] bool active() const override { return active_.load(std::memory_order_acquire); }
  [[nodiscard]] bool start() override;
  [[nodiscard]] bool test() override { return complete(true); }
  [[nodiscard]] bool done() override { return complete(false); }
  void wait() override;
  void fill(MPI_Status& status) const override;
  [[nodiscard]] const Plan& plan() const override;
  [[nodiscard]] bool has_partitions() const override { return true; }
  [[nodiscard]] int sent_partitions() const override { return arguments_.is_send ? arguments_.partitions : -1; }
  [[nodiscard]] Progress advanced_by() const override { return progress_by(helper_); }
  void ready(int partition) override;
  [[nodiscard]] bool arrived(int partition) override;

 private:
  enum class State : std::uint8_t { meeting, met, failed };
  /// Of the exchange. `wanted` before the two have met: whoever finds that they have makes it `starting`.
  enum class Run : std::uint8_t { idle, wanted, starting, running };

  bool progress() override;
  void begin();
  [[nodiscard]] bool find_other();
  void check_sizes(const Handshake& other) const;
  void meet();
  [[nodiscard]] Plan make_plan() const;
  [[nodiscard]] bool may_share() const;
  void offer_memory(Handshake& handshake);
  [[nodiscard]] Answer answer_for(const Handshake& other);
  [[nodiscard]] Buffers buffers() const;
  [[nodiscard]] std::optional<Message> only_message(const Plan& plan, const BufferMemory& where) const;
  [[nodiscard]] End end_of(std::int64_t message) const;
  [[nodiscard]] bool goes_nowhere() const { return arguments_.peer == MPI_PROC_NULL; }
  void start_if_met();
  void run();
  void fire(std::int64_t message);
  [[nodiscard]] bool message_reached(std::int64_t message);
  [[nodiscard]] bool complete(bool ends);
  void check_partition(int partition) const;
  [[noreturn]] void fail();

  std::shared_ptr<PairComm> pairs_;
  PartitionedArguments arguments_;
  std::shared_ptr<const TypeMap> map_;
  bool ready_at_start_ = false;
  std::int64_t bytes_ = 0;  // of all partitions
  PartitionCut cut_;
  Handshake mine_;
  std::optional<Handshake> other_;
  Answer tags_{.first_tag = -1};  // once the two have met
  Helper helper_ = Helper::none;
  std::exception_ptr failure_;
  std::atomic<State> state_{State::meeting};
  std::atomic<Run> run_{Run::idle};
  std::atomic<bool> active_{false};
  std::atomic<bool> closing_{false};
  std::optional<Readiness> readiness_;  // of a sender
  // Once the two have met: the plan, and what runs it, which is one of the two.
  std::shared_ptr<const Plan> plan_;
  std::optional<Exchange> exchange_;
  std::optional<WholeMessage> whole_;
  std::shared_ptr<std::byte> mapping_;  // of both ends: memory of the node; of a receiver before they have met
  Activity activity_;                   // of their meeting; last, as in Channel
};

}  // namespace laneway
