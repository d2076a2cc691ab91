// Particles that change their owners: by one call, by a distributor that is made anew in each step or kept, beside what
// programs write with MPI.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "commands.hpp"
#include "commands/on_nodes.hpp"
#include "data/statistics.hpp"
#include "laneway/laneway.hpp"
#include "measure/run.hpp"
#include "measure/timing.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

struct DistributeOptions {
  std::int64_t particles = 1'000'000;
  double leave = 0.05;
  int neighbors = 8;
  int iterations = 10;
  std::string machine;
  std::string json;
};

struct Particle {
  std::int64_t id = 0;
  std::array<double, 7> state{};
};
static_assert(sizeof(Particle) == 64);

/// What a rank has before a step: particles, and the rank that each belongs to from now on.
struct Step {
  std::vector<Particle> particles;
  std::vector<int> owners;
  std::unique_ptr<Distributor<Particle>> kept = nullptr;  // of these owners, once it was made
};

/// A part of a rank's particles goes to some other ranks, which are others in each step.
Step step_of(int rank, int ranks, const DistributeOptions& options, int number) {
  std::mt19937 random(static_cast<std::uint32_t>(rank + 7919 * number));
  std::vector<int> others;
  for (int other = 0; other < ranks; ++other)
    if (other != rank) others.push_back(other);
  std::shuffle(others.begin(), others.end(), random);
  others.resize(std::min(others.size(), static_cast<std::size_t>(options.neighbors)));
  const auto count = static_cast<std::size_t>(options.particles / ranks);
  Step step{std::vector<Particle>(count), std::vector<int>(count, rank)};
  for (std::size_t i = 0; i < count; ++i) {
    step.particles[i].id = static_cast<std::int64_t>(i) * ranks + rank;
    step.particles[i].state.fill(static_cast<double>(step.particles[i].id) + number);
    if (!others.empty() && static_cast<double>(random()) < options.leave * 4294967296.0)
      step.owners[i] = others[random() % others.size()];
  }
  return step;
}

void check_code(int code, const char* call) {
  if (code == MPI_SUCCESS) return;
  std::fprintf(stderr, "laneway-bench distribute: %s has returned %d\n", call, code);
  MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
}

void by_one_call(Step& step, std::vector<Particle>& arrived) {
  arrived = distribute<Particle>(MPI_COMM_WORLD, step.owners, step.particles, std::move(arrived));
}

void by_distributor(Step& step, std::vector<Particle>& arrived) {
  Distributor<Particle> distributor(MPI_COMM_WORLD, step.owners);
  arrived.resize(distributor.imports());
  distributor.distribute(step.particles, arrived);
}

/// Owners are those of the last time: what has been found then is used again.
void by_kept_distributor(Step& step, std::vector<Particle>& arrived) {
  if (!step.kept) step.kept = std::make_unique<Distributor<Particle>>(MPI_COMM_WORLD, step.owners);
  arrived.resize(step.kept->imports());
  step.kept->distribute(step.particles, arrived);
}

/// An array as long as the communicator, summed and scattered, says how many will send. They send how much, and then
/// the particles. What stays is copied.
void by_reduce_scatter(Step& step, std::vector<Particle>& arrived) {
  constexpr int count_tag = 1, data_tag = 2;
  const MPI_Comm comm = MPI_COMM_WORLD;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &ranks);
  const auto size = static_cast<std::size_t>(ranks), self = static_cast<std::size_t>(rank);
  std::vector<int> counts(size), begins(size + 1), flags(size);
  for (const int owner : step.owners) ++counts[static_cast<std::size_t>(owner)];
  for (std::size_t i = 0; i < size; ++i) {
    flags[i] = counts[i] > 0 && i != self ? 1 : 0;
    begins[i + 1] = begins[i] + (i != self ? counts[i] : 0);
  }
  int sources = 0;
  check_code(MPI_Reduce_scatter_block(flags.data(), &sources, 1, MPI_INT, MPI_SUM, comm), "MPI_Reduce_scatter_block");
  std::vector<MPI_Request> requests;
  for (std::size_t i = 0; i < size; ++i)
    if (flags[i] != 0)
      check_code(MPI_Isend(&counts[i], 1, MPI_INT, static_cast<int>(i), count_tag, comm, &requests.emplace_back()),
                 "MPI_Isend");
  // Packed while the counts are on their way.
  std::vector<Particle> leaving(static_cast<std::size_t>(begins[size]));
  std::vector<int> next(begins.begin(), begins.end() - 1);
  for (std::size_t i = 0; i < step.particles.size(); ++i)
    if (step.owners[i] != rank)
      leaving[static_cast<std::size_t>(next[static_cast<std::size_t>(step.owners[i])]++)] = step.particles[i];
  std::vector<int> coming(size);
  for (int i = 0; i < sources; ++i) {
    int count = 0;
    MPI_Status status;
    check_code(MPI_Recv(&count, 1, MPI_INT, MPI_ANY_SOURCE, count_tag, comm, &status), "MPI_Recv");
    coming[static_cast<std::size_t>(status.MPI_SOURCE)] = count;
  }
  coming[self] = counts[self];
  arrived.resize(static_cast<std::size_t>(std::accumulate(coming.begin(), coming.end(), 0)));
  std::size_t at = 0, stays_at = 0;
  for (std::size_t i = 0; i < size; at += static_cast<std::size_t>(coming[i]), ++i) {
    if (i == self) stays_at = at;
    if (i == self || coming[i] == 0) continue;
    check_code(MPI_Irecv(arrived.data() + at, coming[i] * static_cast<int>(sizeof(Particle)), MPI_BYTE,
                         static_cast<int>(i), data_tag, comm, &requests.emplace_back()),
               "MPI_Irecv");
  }
  for (std::size_t i = 0; i < size; ++i)
    if (flags[i] != 0)
      check_code(MPI_Isend(leaving.data() + begins[i], counts[i] * static_cast<int>(sizeof(Particle)), MPI_BYTE,
                           static_cast<int>(i), data_tag, comm, &requests.emplace_back()),
                 "MPI_Isend");
  for (std::size_t i = 0; i < step.particles.size(); ++i)
    if (step.owners[i] == rank) arrived[stays_at++] = step.particles[i];
  check_code(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

struct Mover {
  std::string name;
  void (*move)(Step&, std::vector<Particle>& arrived);
};

/// Whatever the order.
bool are_equal(std::vector<Particle> a, std::vector<Particle> b) {
  std::ranges::sort(a, {}, &Particle::id);
  std::ranges::sort(b, {}, &Particle::id);
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Particle)) == 0);
}

/// All move the same particles.
bool move_alike(const Run& run, std::span<const Mover> movers, Step& step) {
  std::vector<Particle> first, other;
  movers.front().move(step, first);
  int wrong = 0;
  for (const Mover& mover : movers.subspan(1)) {
    mover.move(step, other);
    wrong += are_equal(other, first) ? 0 : 1;
  }
  std::array<std::int64_t, 3> sums = {wrong, static_cast<std::int64_t>(first.size()), 0};
  for (const Particle& particle : first) sums[2] += particle.id;
  check_code(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 3, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  const std::int64_t all = static_cast<std::int64_t>(step.particles.size()) * run.ranks;
  return sums[0] == 0 && sums[1] == all && sums[2] == all * (all - 1) / 2;
}

int report_distribute(const Run& run, const DistributeOptions& options) {
  if (!run.machine.empty()) setenv("LANEWAY_MACHINE", run.machine.c_str(), 1);
  int rank = 0;
  check_code(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  const std::array<Mover, 4> movers = {Mover{"laneway::distribute", by_one_call},
                                       Mover{"laneway::Distributor", by_distributor},
                                       Mover{"laneway::Distributor, kept", by_kept_distributor},
                                       Mover{"reduce_scatter, Isend, Irecv", by_reduce_scatter}};
  // Partners of a step are new, so that finding them is part of it.
  constexpr int different_steps = 4;
  std::vector<Step> steps;
  for (int i = 0; i < different_steps; ++i) steps.push_back(step_of(rank, run.ranks, options, i));
  for (Step& step : steps)
    if (!move_alike(run, movers, step)) {
      if (run.is_root()) std::cerr << "laneway-bench distribute: particles are lost, or differ between the ways\n";
      return EXIT_FAILURE;
    }
  std::array<std::size_t, movers.size()> next{};
  // Of each way, used again in each step as programs do.
  std::array<std::vector<Particle>, movers.size()> arrived;
  std::vector<std::function<void()>> actions;
  for (std::size_t i = 0; i < movers.size(); ++i)
    actions.emplace_back([&, i] { movers[i].move(steps[next[i]++ % steps.size()], arrived[i]); });
  const Samples samples = measure(MPI_COMM_WORLD, actions, {.timed = options.iterations});
  const auto leaving =
      std::count_if(steps[0].owners.begin(), steps[0].owners.end(), [&](int to) { return to != rank; });
  std::array<std::int64_t, 2> sums = {leaving, static_cast<std::int64_t>(steps[0].owners.size())};
  check_code(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  if (!run.is_root()) return EXIT_SUCCESS;
  std::cout << run.ranks << " ranks on " << run.nodes.description << ", " << sums[1] << " particles of "
            << sizeof(Particle) << " bytes, " << sums[0] << " leave their rank\n";
  std::printf("%-30s %12s %10s\n", "way", "median", "gain");
  for (std::size_t i = 0; i < movers.size(); ++i) {
    const std::vector<double> gains = paired_ratios(samples.seconds.back(), samples.seconds[i]);
    const Interval interval = bootstrap_median(gains);
    const double seconds = median(samples.seconds[i]);
    std::printf("%-30s %12s %10.2f [%.2f, %.2f]\n", movers[i].name.c_str(), format_seconds(seconds).c_str(),
                median(gains), interval.low, interval.high);
    if (options.json.empty()) continue;
    append_record(options.json, {{"benchmark", "distribute"},
                                 {"ranks", run.ranks},
                                 {"nodes", run.nodes.count},
                                 {"particles", sums[1]},
                                 {"leave", options.leave},
                                 {"neighbors", options.neighbors},
                                 {"candidate", movers[i].name},
                                 {"median_s", seconds},
                                 {"gain", median(gains)},
                                 {"gain_low", interval.low},
                                 {"gain_high", interval.high}});
  }
  return EXIT_SUCCESS;
}

void add_distribute(CLI::App& command, Action& action) {
  auto options = std::make_shared<DistributeOptions>();
  command.add_option("--particles", options->particles, "Particles of all ranks together, of 64 bytes")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 31))
      ->capture_default_str();
  command.add_option("--leave", options->leave, "The part of them that leaves its rank in a step")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--neighbors", options->neighbors, "Other ranks to which those of one rank go")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  command.add_option("--iterations", options->iterations, "Samples of each way")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  report_on_nodes(command, options, action, report_distribute);
}

}  // namespace

std::vector<Command> distribute_commands() {
  return {{"distribute", Topic::exchanges, "Particles that change their owners in each step", add_distribute}};
}

}  // namespace laneway::bench
