#include "calibrate/calibrate.hpp"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>

#include "commands.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

struct Options {
  std::string json;
  std::string machine;
  std::string only;
  bool quick = false;
};

/// How long is measured.
struct Effort {
  int passes = 3;   ///< over all measurements, so that what disturbs one for a while spoils no more of it
  int batches = 6;  ///< of a measurement in a pass
  double batch_seconds = 5e-3;
  double seconds = 0.2;          ///< of a measurement in a pass, unless two batches take longer
  double longest_seconds = 0.1;  ///< a sweep ends with the first size that takes so long
};
constexpr Effort quick_effort = {
    .passes = 2, .batches = 4, .batch_seconds = 2e-3, .seconds = 0.05, .longest_seconds = 0.02};

constexpr int fewest_batches = 2;
constexpr double busy_factor = 4;
constexpr int most_warmup = 10;  // calls, so that a disturbed one does not pass for a long one

double time_once(MPI_Comm comm, const std::function<void()>& action) {
  MPI_Barrier(comm);
  const double begin = MPI_Wtime();
  action();
  return longest_of_ranks(MPI_Wtime() - begin, comm);
}

/// Seconds by batch, the same on all ranks of `comm`.
std::vector<double> sample(MPI_Comm comm, const Measurement& measurement, const Effort& effort) {
  const std::function<void()> action = measurement.prepare(comm);
  double once = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 3; ++i) once = std::min(once, time_once(comm, action));
  const double batch_seconds = effort.batch_seconds * (measurement.busy ? busy_factor : 1);
  const double affordable = effort.seconds / std::max(once, batch_seconds);
  const Iterations iterations{
      .warmup = std::clamp(static_cast<int>(batch_seconds / once), 1, most_warmup),
      .timed = std::max(fewest_batches, static_cast<int>(std::min<double>(affordable, effort.batches))),
      .batch_seconds = batch_seconds,
      .clock = measurement.clock};
  std::vector<double> seconds = measure(comm, {&action, 1}, iterations).seconds.front();
  for (double& value : seconds) value /= measurement.parts;
  return seconds;
}

/// The same on all ranks.
std::vector<double> carry_out(const Run& run, const Measurement& measurement, const Effort& effort) {
  const auto place = std::find(measurement.ranks.begin(), measurement.ranks.end(), run.rank);
  const bool takes_part = place != measurement.ranks.end();
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_split(run.comm, takes_part ? 0 : MPI_UNDEFINED, static_cast<int>(place - measurement.ranks.begin()), &comm);
  std::vector<double> seconds;
  if (takes_part) {
    seconds = sample(comm, measurement, effort);
    MPI_Comm_free(&comm);
  }
  quiet_barrier(run.comm);
  auto count = static_cast<int>(seconds.size());
  MPI_Bcast(&count, 1, MPI_INT, measurement.ranks.front(), run.comm);
  seconds.resize(static_cast<std::size_t>(count));
  MPI_Bcast(seconds.data(), count, MPI_DOUBLE, measurement.ranks.front(), run.comm);
  return seconds;
}

Record describe_run(const Run& run) {
  Record record = {{"measure", "run"}, {"ranks", run.ranks}, {"nodes", run.nodes.count}};
  record.update(provenance());
  record["machine"] = run.machine.empty() ? Record(nullptr) : Record(run.machine);
  record.update(describe_hosts(run));
  return record;
}

std::string label(const Record& what) {
  std::string text;
  for (const auto& [key, value] : what.members())
    text += value.is_string() ? value.get<std::string>() + " " : key + " " + value.dump() + " ";
  text.pop_back();
  return text;
}

/// Prints one line for each measurement of each pass, of which `laneway calibrate` makes its progress bar. The same on
/// all ranks: samples by measurement; none for sizes after the end of their sweep.
std::vector<std::vector<double>> carry_out(const Run& run, const std::vector<Measurement>& measurements,
                                           const Effort& effort) {
  std::vector<std::vector<double>> samples(measurements.size());
  std::map<std::string, std::size_t> ends;
  const std::size_t steps = measurements.size() * static_cast<std::size_t>(effort.passes);
  for (std::size_t step = 0; step < steps; ++step) {
    const std::size_t i = step % measurements.size();
    const Measurement& measurement = measurements[i];
    if (run.is_root())
      std::cout << "calibrate " << step + 1 << "/" << steps << " " << label(measurement.what) << std::endl;
    const auto end = ends.find(measurement.sweep);
    if (end != ends.end() && i > end->second) continue;
    const std::vector<double> seconds = carry_out(run, measurement, effort);
    samples[i].insert(samples[i].end(), seconds.begin(), seconds.end());
    if (!measurement.sweep.empty() && *std::ranges::min_element(seconds) > effort.longest_seconds)
      ends.insert_or_assign(measurement.sweep, i);
  }
  return samples;
}

int calibrate(const Run& run, const Options& options) {
  connect_all(run);
  const Record run_record = describe_run(run);
  std::vector<Measurement> measurements = measure_messages(run, options.quick);
  std::ranges::move(measure_memory(run, options.quick), std::back_inserter(measurements));
  std::ranges::move(measure_collectives(run, options.quick), std::back_inserter(measurements));
  if (!options.only.empty())
    std::erase_if(measurements,
                  [&](const Measurement& each) { return each.what.at("measure").get<std::string>() != options.only; });
  const std::vector<std::vector<double>> samples =
      carry_out(run, measurements, options.quick ? quick_effort : Effort{});
  if (!run.is_root()) return EXIT_SUCCESS;
  append_line(options.json, run_record.dump());
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    if (samples[i].empty()) continue;
    Record& record = measurements[i].what;
    record["seconds"] = samples[i];
    append_line(options.json, record.dump());
  }
  return EXIT_SUCCESS;
}

void add_calibrate(CLI::App& command, Action& action) {
  auto options = std::make_shared<Options>();
  command.add_option("--json", options->json, "Append an object a line for each measurement to this file")->required();
  command.add_option("--machine", options->machine, "Nodes to assume, e.g. \"node:4 rank:4\"");
  command.add_option("--only", options->only, "Measurements of one kind alone: collective, pingpong, …");
  command.add_flag("--quick", options->quick, "Fewer sizes and samples: seconds");
  command.callback([options, &action] {
    action = [options] { return with_mpi(options->machine, [&](const Run& run) { return calibrate(run, *options); }); };
  });
}

}  // namespace

std::vector<Command> calibrate_commands() {
  return {{"calibrate", Topic::machine, "Samples of what the machine's parameters are fitted to", add_calibrate}};
}

}  // namespace laneway::bench
