#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "choice.hpp"
#include "data/exchange.hpp"
#include "data/traffic.hpp"
#include "measure/run.hpp"

namespace laneway::bench {

struct Buffers {
  std::span<std::byte> send;
  std::span<std::byte> receive;
};

class Candidate;
class DeviceBuffers;
struct Task;

/// A candidate that only the exchanges of one program have.
struct OwnCandidate {
  std::string name;
  std::function<std::unique_ptr<Candidate>(const Task&)> make;
};

/// What every candidate has to do. All of it outlives the candidates.
struct Task {
  const Run& run;
  const Exchange& exchange;
  Buffers buffers;
  std::string progress;  ///< the hint lnw_progress for strategies of this library; empty: not given
  std::vector<OwnCandidate> own = {};
  Devices devices = {};
  const DeviceBuffers* on_device = nullptr;  ///< what is given to the library in place of the buffers, if anything
  std::string path = {};                     ///< the hint lnw_memory_path; empty: not given
};

/// One way to carry out an exchange; made once, run many times.
class Candidate {
 public:
  virtual ~Candidate() = default;

  /// One exchange from the send to the receive buffer; collective. What cannot be split happens in `wait`.
  void run() {
    start();
    wait();
  }
  virtual void start() = 0;
  /// Advances the exchange where it can; true if it is known to be complete. `wait` follows in any case.
  virtual bool test() = 0;
  virtual void wait() = 0;

  /// Of candidates that do something else than the task's exchange: whether what one run leaves is what it must be, on
  /// all ranks. Collective.
  [[nodiscard]] virtual std::optional<bool> verify(const Task&, std::uint64_t /*salt*/) { return std::nullopt; }

  /// What this rank sends in one exchange, if that is known.
  [[nodiscard]] virtual std::optional<std::vector<Message>> messages() const { return std::nullopt; }
  /// Counted by the candidate itself where it can.
  [[nodiscard]] virtual std::optional<RankTraffic> traffic() const { return std::nullopt; }
  /// Where the candidate itself has chosen how to move data.
  [[nodiscard]] virtual std::optional<Choice> choice() const { return std::nullopt; }
  /// What of the setup was planning, if it is known apart from creating a communicator. Of this rank.
  [[nodiscard]] virtual std::optional<double> init_seconds() const { return std::nullopt; }
  /// Of this rank.
  [[nodiscard]] virtual std::optional<MemoryUse> memory() const { return std::nullopt; }
};

/// A candidate that is not this library's. One that is in the file NAME.cpp of baselines/ is a row of the function
/// `std::vector<Baseline> NAME_baselines()` there, which candidates.cpp finds by the name of the file.
struct Baseline {
  const char* name;
  std::unique_ptr<Candidate> (*make)(const Task&);  ///< null where this program was built without it
  const char* missing = "";                         ///< and why
};

/// A candidate by the name of one of the task's own, of a baseline, or of a strategy of this library. Collective.
[[nodiscard]] std::unique_ptr<Candidate> make_candidate(const std::string& name, const Task& task);

/// Runs `exchange` on data never sent before; whether on all ranks every byte that arrives is what the labels say.
/// Collective.
[[nodiscard]] bool arrives(const Task& task, Content content, std::uint64_t salt,
                           const std::function<void()>& exchange);

/// Throws Error(argument) if `name` is no baseline, or one that this program was built without.
void check_baseline(const std::string& name);
/// Throws Error(info) that lists the strategies.
void check_strategy(const std::string& name);

[[nodiscard]] std::unique_ptr<Candidate> make_p2p(const Task& task);
[[nodiscard]] std::unique_ptr<Candidate> make_strategy(const std::string& name, const Task& task);

/// The candidate with the copies between device and host before and after each exchange, which take the time that the
/// parameters of the machine give for them; nothing is copied, so only simulations have it. Throws Error(unsupported)
/// elsewhere, Error(info) if the parameters do not have them.
[[nodiscard]] std::unique_ptr<Candidate> make_staged(std::unique_ptr<Candidate> candidate, const Task& task);

/// An exchange in the host's memory, between copies from and to the task's buffers on a device.
[[nodiscard]] std::unique_ptr<Candidate> make_surrounded(std::unique_ptr<Candidate> exchange, const Task& task);
/// The same task for who takes buffers on devices as they are.
[[nodiscard]] Task with_device_buffers(const Task& task);

/// One message for each edge, as every MPI library sends them.
class EdgeCandidate : public Candidate {
 public:
  explicit EdgeCandidate(const Task& task) : task_(task) {}
  [[nodiscard]] std::optional<std::vector<Message>> messages() const override {
    return bench::messages(task_.exchange);
  }
  [[nodiscard]] std::optional<RankTraffic> traffic() const override {
    return bench::traffic(bench::messages(task_.exchange), task_.run.rank, task_.run.nodes);
  }

 protected:
  Task task_;
};

/// An exchange as calls with counts and displacements know it, in bytes. Single elements are packed by hand, as a
/// program that uses such a call would do it.
class Blocks {
 public:
  explicit Blocks(const Task& task);

  /// Before each exchange; does nothing if the edges are blocks of the send buffer already. Simulated, it takes the
  /// time that the library's own packing would.
  void pack();

  std::vector<int> send_counts;
  std::vector<int> send_displacements;
  std::vector<int> receive_counts;
  std::vector<int> receive_displacements;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;

 private:
  const Exchange& exchange_;
  const std::byte* from_;
  std::vector<std::byte> packed_;
  double pack_seconds_ = 0;
};

/// A communicator of the candidate's own with the exchange's neighbours as its topology.
class GraphComm {
 public:
  explicit GraphComm(const Task& task);
  ~GraphComm() { MPI_Comm_free(&comm_); }
  GraphComm(const GraphComm&) = delete;
  GraphComm& operator=(const GraphComm&) = delete;

  [[nodiscard]] MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// A committed datatype of one element.
class ElementType {
 public:
  explicit ElementType(std::int64_t bytes) {
    MPI_Type_contiguous(static_cast<int>(bytes), MPI_BYTE, &type_);
    MPI_Type_commit(&type_);
  }
  ~ElementType() { MPI_Type_free(&type_); }
  ElementType(const ElementType&) = delete;
  ElementType& operator=(const ElementType&) = delete;

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace laneway::bench
