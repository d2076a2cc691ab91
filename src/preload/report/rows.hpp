// What is known of the calls of a program while it runs: a row for each (communicator, operation, class of sizes).
// Counting takes no lock and allocates nothing, but where a row is new.
#pragma once

#include <mpi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/trials/autotuner.hpp"
#include "api/preload_counts.hpp"
#include "base/bytes/mix.hpp"
#include "communicator/arguments/call.hpp"
#include "communicator/communicator.hpp"
#include "operations/choose/reasons.hpp"

namespace laneway::interpose {

/// Of trials and samples: which way a call went.
enum Way : std::size_t { mpi, plan };

/// Times of calls that went one way or the other, each from its beginning to that of the next call.
struct Samples {
  explicit Samples(const TrialRules& rules, std::uint64_t seed) : trial(rules, 2, seed) {}

  Autotuner trial;
  const void* timed = nullptr;  ///< who made the call whose time is being taken
  double began = 0;
};

/// Of calls that all ranks of a communicator make in the same order: decides by their number alone which of them go the
/// MPI library's way though there is a plan, and times these and as many others. Two in 128 calls at most are timed,
/// one of either way, and after 16 of them two in 512.
class Sampling {
 public:
  explicit Sampling(std::uint64_t seed) : seed_(seed), left_(distance_to_next(seed, 0)) {}

  /// In each call, with the samples of its row.
  Way next(Samples& samples) {
    if (samples.timed == this) end(samples);
    if (--left_ > 0) [[likely]]
      return Way::plan;
    return begin(samples);
  }
  /// Nobody calls any more.
  void forget(Samples& samples) const {
    if (samples.timed == this) samples.timed = nullptr;
  }

 private:
  static std::int64_t distance_to_next(std::uint64_t seed, std::int64_t slots) {
    const std::uint64_t least = slots < 16 ? 64 : 256;
    return static_cast<std::int64_t>(least + mix(seed + static_cast<std::uint64_t>(slots)) % (least / 2));
  }
  void end(Samples& samples);
  Way begin(Samples& samples);

  std::uint64_t seed_;
  std::int64_t left_;       // calls to the next one that is timed
  std::int64_t slots_ = 0;  // that have been
};

struct Row {
  Row(std::array<int, 2> of, const char* name, std::int64_t size) : comm(of), call(name), sizes(size) {}

  void count_taken() { taken.fetch_add(1, std::memory_order_relaxed); }
  /// `reason` is a constant.
  void count_left(const char* reason, std::int64_t calls = 1);
  void count_bytes(std::int64_t sent, std::int64_t sent_messages) {
    bytes.fetch_add(sent, std::memory_order_relaxed);
    messages.fetch_add(sent_messages, std::memory_order_relaxed);
  }
  [[nodiscard]] std::int64_t all_left() const;
  /// Of a graph whose ranks have given it a number.
  [[nodiscard]] bool has_communicator() const { return comm[0] >= 0; }

  struct Left {
    std::atomic<const char*> reason{nullptr};
    std::atomic<std::int64_t> calls{0};
  };
  const std::array<int, 2> comm;  ///< as the ranks of the communicator have agreed; none: {-1, -1}
  const char* const call;         ///< the MPI function
  const std::int64_t sizes;       ///< of a block: below 2^sizes bytes; where blocks differ: the bytes of an element
  std::string label;              ///< the communicator's name, if the program gave it one
  std::atomic<std::int64_t> taken{0};
  std::array<Left, 8> left;  ///< the last one is of all further reasons
  std::atomic<std::int64_t> bytes{0};
  std::atomic<std::int64_t> messages{0};
  int neighbors = -1;    ///< that this rank sends to; -1: not known
  std::string strategy;  ///< of the plan, if there is one
  std::string why;       ///< why that one
  std::optional<Samples> samples;
  std::optional<Sampling> sampling;  ///< of blocking and nonblocking calls that go by what the graph alone says
  bool is_prepared = false;          ///< whether these are all there will be
  Row* next = nullptr;
};

/// What LANEWAY_REPORT asks for.
enum class ReportForm : std::uint8_t { none, line, table, text, json };
struct ReportWanted {
  ReportForm form = ReportForm::line;
  std::string file;
  std::string page;       ///< what `laneway report` is to make of it; empty: nothing
  std::string complaint;  ///< what is wrong with the variable
};
/// `value` may be null: a line.
[[nodiscard]] ReportWanted report_wanted(const char* value);
[[nodiscard]] const ReportWanted& report_wanted();
/// Whether more than a line is: bytes and classes of sizes of all calls.
[[nodiscard]] bool wants_rows();

/// The ranks of a graph that was just taken over give it a number. Collective.
void number_communicator(Communicator& adopted, MPI_Comm comm);
/// Whether all ranks of MPI_COMM_WORLD have been in a communicator that this library has adopted: the same on all of
/// them. Who only counts has started all ranks so. Otherwise some may run without the library, and nothing may be asked
/// of them.
[[nodiscard]] bool whole_world_has_library();

/// That of a call on `comm`; `adopted` is null where nothing is known of it. `by_size`: of its class of sizes.
[[nodiscard]] std::shared_ptr<Row> shared_row(Communicator* adopted, MPI_Comm comm, const char* call,
                                              const Call& arguments, bool by_size);
[[nodiscard]] Row& row_of(Communicator* adopted, MPI_Comm comm, const char* call, const Call& arguments, bool by_size);

/// The same of a dense operation.
[[nodiscard]] std::shared_ptr<Row> row_of_dense(Communicator* communicator, MPI_Comm comm, const char* call,
                                                std::int64_t sizes);

/// Of all edges of this rank.
[[nodiscard]] std::int64_t bytes_sent(const Call& call, const Topology& topology);
/// Adds what a call sends, if that is wanted.
void count_bytes(Row& row, Communicator* adopted, const Call& call);

/// Says once for a row what its plan is and why.
void note_plan(Row& row, const Reasons& reasons);
void note_plan(Row& row, const std::string& strategy, const std::string& why);

/// All that there are.
[[nodiscard]] std::vector<const Row*> all_rows();
/// Their sums: of a communicator, as long as it lives, or of all (MPI_COMM_NULL).
[[nodiscard]] PreloadCounts counts_of(MPI_Comm comm);

/// Why a sampled call is left to the MPI library.
inline constexpr const char* kept_alive_by_samples =
    "at most one in 128, to time the MPI library's own beside the plan (LANEWAY_PRELOAD_TRIAL)";

/// For a communicator's calls: whether they are sampled. The same on all its ranks.
[[nodiscard]] bool may_sample(Communicator& adopted);
/// A number of calls, from the environment; the fallback where there is none.
[[nodiscard]] std::int64_t calls_of(const char* variable, std::int64_t fallback);
/// Another one for each row.
[[nodiscard]] std::uint64_t seed_of(const Row& row);

}  // namespace laneway::interpose
