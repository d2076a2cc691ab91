#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plan/plan.hpp"
#include "runtime/carriers/transport.hpp"

namespace laneway {

/// What a moment of a trace is about: an exchange as a whole, or one of its steps.
enum class Moment : std::uint8_t { started, completed, step_began, step_ended };

/// When the steps of one executor began and ended, for `LANEWAY_TRACE=FILE`: `laneway trace` reads what the ranks wrote
/// to FILE.RANK, an object a line for each executor. A message begins when it is handed to the MPI library and ends
/// when this rank sees that it is complete; a wait for a word or an event begins when nothing else keeps the step back.
///
/// Only the thread that advances the executor records. The last moments are kept, as many as `most_bytes` hold; older
/// ones are counted. Nothing is allocated after the constructor. The line is written by the destructor, or when the
/// process ends.
class Trace {
 public:
  static constexpr std::int64_t most_bytes = 1 << 20;

  /// Null unless LANEWAY_TRACE names a file.
  [[nodiscard]] static std::unique_ptr<Trace> of(std::shared_ptr<const Plan> plan, const Transport& transport,
                                                 bool uses_device);
  Trace(std::shared_ptr<const Plan> plan, MessageNames names, bool uses_device, std::int64_t bytes = most_bytes);
  ~Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void start() {
    ++exchange_;
    record(-1, Moment::started);
  }
  void complete() { record(-1, Moment::completed); }
  void begin(int step) { record(step, Moment::step_began); }
  void end(int step) { record(step, Moment::step_ended); }

  /// The line that is written: JSON.
  [[nodiscard]] std::string line() const;

 private:
  struct Record {
    std::int64_t nanoseconds;  // since 1970
    std::int32_t step;
    std::uint32_t exchange_and_what;  // the moment in the lowest two bits
  };
  static_assert(sizeof(Record) == 16);

  void record(int step, Moment what);

  std::shared_ptr<const Plan> plan_;
  MessageNames names_;
  bool uses_device_;
  std::vector<Record> records_;  // a ring of a power of two
  std::uint64_t recorded_ = 0;
  std::uint32_t exchange_ = 0;
};

}  // namespace laneway
