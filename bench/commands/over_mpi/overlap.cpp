#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>
#include <random>
#include <thread>

#include "base/json.hpp"
#include "base/readable.hpp"
#include "candidates/workloads.hpp"
#include "commands.hpp"
#include "commands/compare.hpp"
#include "data/statistics.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

using Clock = std::chrono::steady_clock;

struct OverlapOptions {
  WorkloadOptions workloads{.patterns = {"stencil"}, .bytes = {262144}};
  CandidateOptions candidates;
  std::int64_t poll_microseconds = 1000;

  OverlapOptions() { candidates.baselines = {"p2p"}; }

  [[nodiscard]] Clock::duration poll() const { return std::chrono::microseconds(poll_microseconds); }
};

/// What happens to an exchange while its ranks compute.
enum class Mode : std::uint8_t { wait, test, thread };
constexpr std::array<const char*, 3> mode_names = {"wait", "test", "thread"};

const char* name(Mode mode) {
  return mode_names[static_cast<std::size_t>(mode)];
}

double seconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

Clock::duration duration_of(double seconds) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

/// Stands for computation. It needs no core, so that ranks which share one do not slow each other down. Where `tested`
/// is given it is tested every `poll`; the processor time of that comes on top.
void compute(double seconds, Candidate* tested, Clock::duration poll) {
  Clock::time_point next = Clock::now();
  Clock::time_point end = next + duration_of(seconds);
  while (tested != nullptr && (next += poll) < end) {
    std::this_thread::sleep_until(next);
    const double begin = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    tested->test();
    const Clock::duration took = duration_of(seconds_of(CLOCK_THREAD_CPUTIME_ID) - begin);
    next += took;
    end += took;
  }
  std::this_thread::sleep_until(end);
}

/// Times are those of the slowest rank.
struct Sample {
  double alone = 0;     ///< seconds of the exchange
  double together = 0;  ///< with computation that takes as long
  double hidden = 0;    ///< by which fraction of the exchange that is shorter than one after the other
  double cores = 0;     ///< that a rank keeps busy meanwhile, on average
};

/// A candidate in one mode.
struct Entry {
  std::string candidate;
  Mode mode = Mode::wait;
  std::unique_ptr<Candidate> exchange;
  bool verified = false;
  std::vector<Sample> samples;

  void overlap(double seconds, Clock::duration poll) const {
    exchange->start();
    compute(seconds, mode == Mode::test ? exchange.get() : nullptr, poll);
    exchange->wait();
  }
  [[nodiscard]] std::vector<double> all(double Sample::*field) const {
    std::vector<double> values;
    for (const Sample& sample : samples) values.push_back(sample.*field);
    return values;
  }
};

Sample sample(const Entry& entry, const Run& run, Clock::duration poll) {
  Sample result;
  MPI_Barrier(run.comm);
  const double begin = MPI_Wtime();
  entry.exchange->run();
  result.alone = longest_of_ranks(MPI_Wtime() - begin, run.comm);

  MPI_Barrier(run.comm);
  const double processor_begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
  const double together_begin = MPI_Wtime();
  entry.overlap(result.alone, poll);
  const double own = MPI_Wtime() - together_begin;
  result.cores = (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - processor_begin) / own / run.ranks;
  MPI_Allreduce(MPI_IN_PLACE, &result.cores, 1, MPI_DOUBLE, MPI_SUM, run.comm);
  result.together = longest_of_ranks(own, run.comm);
  result.hidden = 1 - (result.together - result.alone) / result.alone;
  return result;
}

/// Baselines know nothing of the progress thread.
std::vector<Entry> make_entries(const CandidateOptions& options, const Task& task) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE && task.run.is_root())
    std::cout << "No progress thread: this MPI library does not provide MPI_THREAD_MULTIPLE\n";
  std::vector<Entry> entries;
  for (const std::string& candidate : options.candidates()) {
    const std::vector<std::string>& baselines = options.baselines;
    const bool is_baseline = std::find(baselines.begin(), baselines.end(), candidate) != baselines.end();
    for (const Mode mode : {Mode::wait, Mode::test, Mode::thread}) {
      if (mode == Mode::thread && (is_baseline || level != MPI_THREAD_MULTIPLE)) continue;
      Task own = task;
      own.progress = mode == Mode::thread ? "thread" : "wait";
      entries.push_back({candidate, mode, make_candidate(candidate, own), false, {}});
    }
  }
  return entries;
}

bool verify(const Entry& entry, const Task& task, std::uint64_t salt, Clock::duration poll) {
  constexpr double seconds = 5e-3;
  return arrives(task, Content::bits, salt, [&] { entry.exchange->run(); }) &&
         arrives(task, Content::bits, salt + 1, [&] { entry.overlap(seconds, poll); });
}

void measure(std::vector<Entry>& entries, const Task& task, const OverlapOptions& options) {
  connect_all(task.run);
  std::vector<Entry*> timed;
  for (Entry& entry : entries) {
    entry.verified = verify(entry, task, 1, options.poll());
    if (entry.verified) timed.push_back(&entry);
  }
  std::mt19937 random(1);
  const Iterations& iterations = options.candidates.iterations;
  for (int i = -iterations.warmup; i < iterations.timed; ++i) {
    std::shuffle(timed.begin(), timed.end(), random);
    for (Entry* entry : timed) {
      const Sample taken = sample(*entry, task.run, options.poll());
      if (i >= 0) entry->samples.push_back(taken);
    }
  }
  for (Entry* entry : timed) entry->verified = verify(*entry, task, 3, options.poll());
}

Json to_json(const Entry& entry, const Task& task, const Workload& workload, const OverlapOptions& options) {
  const auto value = [&](double Sample::*field, double q) {
    return entry.samples.empty() ? Json(nullptr) : Json(quantile(entry.all(field), q));
  };
  return {{"benchmark", "overlap"},
          {"op", name(workload.op)},
          {"pattern", workload.pattern},
          {"bytes", workload.bytes},
          {"ranks", task.run.ranks},
          {"machine", task.run.nodes.description},
          {"candidate", entry.candidate},
          {"progress", name(entry.mode)},
          {"alone_s", value(&Sample::alone, 0.5)},
          {"together_s", value(&Sample::together, 0.5)},
          {"hidden_fraction", value(&Sample::hidden, 0.5)},
          {"hidden_p10", value(&Sample::hidden, 0.1)},
          {"hidden_p90", value(&Sample::hidden, 0.9)},
          {"cores", value(&Sample::cores, 0.5)},
          {"poll_s", static_cast<double>(options.poll_microseconds) * 1e-6},
          {"iterations", options.candidates.iterations.timed},
          {"verified", entry.verified}};
}

void print_table(const std::vector<Entry>& entries, const Task& task, const Workload& workload,
                 const OverlapOptions& options) {
  Table table({"candidate", "progress", "alone", "together", "hidden", "p10", "p90", "cores", "verified"});
  for (const Entry& entry : entries) {
    std::vector<std::string> row = {entry.candidate, name(entry.mode)};
    const auto cell = [&](double Sample::*field, double q, const auto& format) {
      row.push_back(entry.samples.empty() ? "-" : format(quantile(entry.all(field), q)));
    };
    const auto percent = [](double fraction) { return format_number(100 * std::clamp(fraction, 0.0, 1.0), 0) + "%"; };
    cell(&Sample::alone, 0.5, format_seconds);
    cell(&Sample::together, 0.5, format_seconds);
    for (const double q : {0.5, 0.1, 0.9}) cell(&Sample::hidden, q, percent);
    cell(&Sample::cores, 0.5, [](double cores) { return format_number(cores, 2); });
    row.emplace_back(entry.verified ? "verified" : "WRONG");
    table.add(std::move(row));
  }
  std::cout << "\noverlap: " << name(workload.op) << ", " << workload.pattern << ", " << readable_bytes(workload.bytes)
            << (workload.is_halo() ? " an element" : " an edge") << "; " << task.run.ranks << " ranks, "
            << task.run.nodes.description << "\n"
            << options.candidates.iterations.timed << " samples; test: every " << options.poll_microseconds << " us\n"
            << table.text() << std::flush;
}

bool overlap(const Workload& workload, const Task& task, const OverlapOptions& options) {
  std::vector<Entry> entries = make_entries(options.candidates, task);
  measure(entries, task, options);
  const bool good = std::all_of(entries.begin(), entries.end(), [](const Entry& entry) { return entry.verified; });
  if (!task.run.is_root()) return good;
  print_table(entries, task, workload, options);
  std::cout << (good ? "verified\n" : "WRONG RESULT\n") << std::flush;
  if (!options.candidates.json.empty())
    for (const Entry& entry : entries) append_record(options.candidates.json, to_json(entry, task, workload, options));
  return good;
}

void add_overlap(CLI::App& command, Action& action) {
  auto options = std::make_shared<OverlapOptions>();
  add_options(command, options->workloads);
  command.add_option("--poll", options->poll_microseconds, "Microseconds between two tests")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  add_options(command, options->candidates);
  command.callback([options, &action] {
    action = [options] {
      const auto body = [&](const Run& run) {
        const auto each = [&](const Workload& workload, const Task& task) { return overlap(workload, task, *options); };
        return for_each_workload(run, options->workloads, each) ? EXIT_SUCCESS : EXIT_FAILURE;
      };
      return with_mpi(options->candidates.machine, body, MPI_THREAD_MULTIPLE);
    };
  });
}

}  // namespace

std::vector<Command> overlap_commands() {
  return {{"overlap", Topic::exchanges, "How much of an exchange is hidden behind computation", add_overlap}};
}

}  // namespace laneway::bench
