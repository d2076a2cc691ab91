// Finding partners that only one side knows: Laneway's finders beside what programs write with MPI.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "algorithms/rendezvous/finder.hpp"
#include "base/error.hpp"
#include "base/json.hpp"
#include "base/simulated.hpp"
#include "commands.hpp"
#include "commands/on_nodes.hpp"
#include "data/statistics.hpp"
#include "laneway/sparse.h"
#include "measure/run.hpp"
#include "measure/timing.hpp"
#include "mpi/check.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

struct DiscoverOptions {
  std::vector<int> degrees = {2, 8, 15};
  std::vector<int> sizes = {8, 64, 1024, 16384};
  std::vector<std::string> candidates;  // none: all
  int iterations = 20;
  std::string machine;
  std::string json;
};

/// One rank's part of a random sparse graph, with a message of equal size on each edge.
struct Part {
  std::vector<int> destinations;
  std::vector<char> data;
  int bytes = 0;
};

/// The numbers of S. Vigna's SplitMix64. Each rank draws what all others send, and the standard generators of this
/// quality fill hundreds of words first.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : state_(seed) {}

  /// Below `count`.
  Rank below(Rank count) {
    std::uint64_t bits = state_ += 0x9e3779b97f4a7c15;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111eb;
    return static_cast<Rank>((bits ^ (bits >> 31)) % static_cast<std::uint64_t>(count));
  }

 private:
  std::uint64_t state_;
};

/// Different ranks, none of them `rank`, in random order: as many as there are, at most `degree`. Takes time in
/// proportion to these, since each rank looks at what all others send.
std::vector<int> random_others(Rank rank, Rank ranks, int degree) {
  Draws random(static_cast<std::uint64_t>(rank) * 7919 + static_cast<std::uint64_t>(degree));
  // The first steps of a shuffle of all others, of which only what has moved is kept.
  std::unordered_map<Rank, Rank> moved;
  const auto at = [&](Rank place) {
    const auto found = moved.find(place);
    return found == moved.end() ? place : found->second;
  };
  std::vector<int> others;
  for (Rank i = 0; i < std::min(ranks - 1, degree); ++i) {
    const Rank from = i + random.below(ranks - 1 - i);
    const Rank drawn = at(from);
    moved[from] = at(i);
    others.push_back(drawn < rank ? drawn : drawn + 1);
  }
  return others;
}

Part random_part(Rank rank, Rank ranks, int degree, int bytes) {
  const std::vector<int> others = random_others(rank, ranks, degree);
  Part part{others, std::vector<char>(others.size() * static_cast<std::size_t>(bytes)), bytes};
  for (std::size_t i = 0; i < part.data.size(); ++i)
    part.data[i] = static_cast<char>(rank + static_cast<int>(i) % bytes);
  return part;
}

/// What came, by source in the order of arrival.
struct Heard {
  std::vector<int> sources;
  std::vector<char> data;

  char* add(int source, int bytes) {
    sources.push_back(source);
    data.resize(data.size() + static_cast<std::size_t>(bytes));
    return data.data() + data.size() - bytes;
  }
};

constexpr int first_tag = 1;

/// Between looks in vain. In simulations each would be an event of some nanoseconds: there as much time passes as
/// between the looks of the library.
void look_again() {
  pass(1e-6);
}

/// MPI_Probe, which in simulations looks, too.
MPI_Status probe(int tag, MPI_Comm comm) {
  MPI_Status status;
  if constexpr (!simulated) {
    check_mpi(MPI_Probe(MPI_ANY_SOURCE, tag, comm, &status), "MPI_Probe");
    return status;
  }
  for (;;) {
    int flag = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, &status), "MPI_Iprobe");
    if (flag) return status;
    look_again();
  }
}

/// MPI_Ibarrier. SMPI's ends on a rank as soon as rank 0 has begun it: there it is a dissemination (Hensgen, Finkel,
/// Manber 1988).
class NonblockingBarrier {
 public:
  explicit NonblockingBarrier(MPI_Comm comm) : comm_(comm) {
    check_mpi(MPI_Comm_rank(comm, &rank_), "MPI_Comm_rank");
    check_mpi(MPI_Comm_size(comm, &ranks_), "MPI_Comm_size");
  }

  void begin() {
    has_begun_ = true;
    if constexpr (simulated)
      send_on();
    else
      check_mpi(MPI_Ibarrier(comm_, requests_), "MPI_Ibarrier");
  }
  [[nodiscard]] bool has_begun() const { return has_begun_; }
  /// Whether all ranks have begun.
  bool test() {
    int done = 0;
    check_mpi(MPI_Testall(2, requests_, &done, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (!simulated || !done) return done != 0;
    distance_ *= 2;
    if (distance_ < ranks_) send_on();
    return distance_ >= ranks_;
  }

 private:
  void send_on() {
    if (distance_ >= ranks_) return;
    const int to = (rank_ + distance_) % ranks_, from = (rank_ + ranks_ - distance_) % ranks_;
    check_mpi(MPI_Irecv(nullptr, 0, MPI_BYTE, from, first_tag + 3, comm_, &requests_[0]), "MPI_Irecv");
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, to, first_tag + 3, comm_, &requests_[1]), "MPI_Isend");
  }

  MPI_Comm comm_;
  MPI_Request requests_[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
  int rank_ = 0, ranks_ = 0, distance_ = 1;
  bool has_begun_ = false;
};

/// As Hoefler, Siebert and Lumsdaine (2010) write it. Rounds take two tags in turn, or one could take the other's
/// messages.
void run_nbx(const Part& part, MPI_Comm comm, Heard& heard) {
  static int round = 0;
  const int tag = first_tag + round++ % 2;
  std::vector<MPI_Request> sends(part.destinations.size());
  for (std::size_t i = 0; i < sends.size(); ++i)
    check_mpi(MPI_Issend(part.data.data() + i * static_cast<std::size_t>(part.bytes), part.bytes, MPI_BYTE,
                         part.destinations[i], tag, comm, &sends[i]),
              "MPI_Issend");
  NonblockingBarrier barrier(comm);
  for (bool done = false; !done;) {
    int flag = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, comm, &flag, &status), "MPI_Iprobe");
    if (flag)
      check_mpi(MPI_Recv(heard.add(status.MPI_SOURCE, part.bytes), part.bytes, MPI_BYTE, status.MPI_SOURCE, tag, comm,
                         MPI_STATUS_IGNORE),
                "MPI_Recv");
    else
      look_again();
    if (barrier.has_begun()) {
      done = barrier.test();
      continue;
    }
    int sent = 0;
    check_mpi(MPI_Testall(static_cast<int>(sends.size()), sends.data(), &sent, MPI_STATUSES_IGNORE), "MPI_Testall");
    if (sent) barrier.begin();
  }
}

/// An array as long as the communicator, summed and scattered; then as many receives.
void run_reduce_scatter(const Part& part, MPI_Comm comm, Heard& heard) {
  constexpr int tag = first_tag + 2;
  int ranks = 0;
  check_mpi(MPI_Comm_size(comm, &ranks), "MPI_Comm_size");
  std::vector<int> counts(static_cast<std::size_t>(ranks));
  for (const int destination : part.destinations) ++counts[static_cast<std::size_t>(destination)];
  int messages = 0;
  check_mpi(MPI_Reduce_scatter_block(counts.data(), &messages, 1, MPI_INT, MPI_SUM, comm), "MPI_Reduce_scatter_block");
  std::vector<MPI_Request> sends(part.destinations.size());
  for (std::size_t i = 0; i < sends.size(); ++i)
    check_mpi(MPI_Isend(part.data.data() + i * static_cast<std::size_t>(part.bytes), part.bytes, MPI_BYTE,
                        part.destinations[i], tag, comm, &sends[i]),
              "MPI_Isend");
  for (int i = 0; i < messages; ++i) {
    const MPI_Status status = probe(tag, comm);
    check_mpi(MPI_Recv(heard.add(status.MPI_SOURCE, part.bytes), part.bytes, MPI_BYTE, status.MPI_SOURCE, tag, comm,
                       MPI_STATUS_IGNORE),
              "MPI_Recv");
  }
  check_mpi(MPI_Waitall(static_cast<int>(sends.size()), sends.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  // Or a fast rank's next messages are taken for this round's.
  check_mpi(MPI_Barrier(comm), "MPI_Barrier");
}

/// The MPI library finds the sources; then a neighborhood exchange.
void run_dist_graph(const Part& part, MPI_Comm comm, Heard& heard) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  const auto degree = static_cast<int>(part.destinations.size());
  MPI_Comm graph = MPI_COMM_NULL;
  check_mpi(MPI_Dist_graph_create(comm, 1, &rank, &degree, part.destinations.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                  &graph),
            "MPI_Dist_graph_create");
  int in = 0, out = 0, weighted = 0;
  check_mpi(MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted), "MPI_Dist_graph_neighbors_count");
  heard.sources.resize(static_cast<std::size_t>(in) + 1);
  std::vector<int> destinations(static_cast<std::size_t>(out) + 1);
  check_mpi(MPI_Dist_graph_neighbors(graph, in, heard.sources.data(), MPI_UNWEIGHTED, out, destinations.data(),
                                     MPI_UNWEIGHTED),
            "MPI_Dist_graph_neighbors");
  heard.sources.resize(static_cast<std::size_t>(in));
  heard.data.resize(static_cast<std::size_t>(in) * static_cast<std::size_t>(part.bytes));
  check_mpi(
      MPI_Neighbor_alltoall(part.data.data(), part.bytes, MPI_BYTE, heard.data.data(), part.bytes, MPI_BYTE, graph),
      "MPI_Neighbor_alltoall");
  check_mpi(MPI_Comm_free(&graph), "MPI_Comm_free");
}

void run_laneway(const Part& part, MPI_Comm comm, MPI_Info info, Heard& heard) {
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  check_mpi(LNW_Sparse_alltoall(static_cast<int>(part.destinations.size()), part.destinations.data(), part.data.data(),
                                part.bytes, MPI_BYTE, comm, info, &arrivals),
            "LNW_Sparse_alltoall");
  int entries = 0;
  const int* sources = nullptr;
  void* data = nullptr;
  MPI_Count bytes = 0;
  check_mpi(LNW_Arrivals_get_count(arrivals, &entries), "LNW_Arrivals_get_count");
  check_mpi(LNW_Arrivals_get_sources(arrivals, &sources, nullptr, nullptr), "LNW_Arrivals_get_sources");
  check_mpi(LNW_Arrivals_get_data(arrivals, &data, &bytes), "LNW_Arrivals_get_data");
  heard.sources.assign(sources, sources + entries);
  heard.data.assign(static_cast<char*>(data), static_cast<char*>(data) + bytes);
  check_mpi(LNW_Arrivals_free(&arrivals), "LNW_Arrivals_free");
}

struct DiscoverCandidate {
  std::string name;
  std::function<void(const Part&, Heard&)> run;
};

/// The same whatever the order in which messages came.
std::vector<std::pair<int, std::string>> sorted(const Heard& heard, int bytes) {
  std::vector<std::pair<int, std::string>> all;
  for (std::size_t i = 0; i < heard.sources.size(); ++i)
    all.emplace_back(heard.sources[i], std::string(heard.data.data() + i * static_cast<std::size_t>(bytes),
                                                   static_cast<std::size_t>(bytes)));
  std::sort(all.begin(), all.end());
  return all;
}

/// Who sends to a rank, by looking at what every rank draws.
std::vector<Rank> sources_of(Rank rank, Rank ranks, int degree) {
  std::vector<Rank> sources;
  for (Rank source = 0; source < ranks; ++source)
    if (source != rank && std::ranges::count(random_others(source, ranks, degree), rank) > 0) sources.push_back(source);
  return sources;
}

/// What should come from these.
std::vector<std::pair<int, std::string>> expected_from(const std::vector<Rank>& sources, Rank rank, Rank ranks,
                                                       int degree, int bytes) {
  std::vector<std::pair<int, std::string>> all;
  for (const Rank source : sources) {
    const Part part = random_part(source, ranks, degree, bytes);
    for (std::size_t i = 0; i < part.destinations.size(); ++i)
      if (part.destinations[i] == rank)
        all.emplace_back(source, std::string(part.data.data() + i * static_cast<std::size_t>(bytes),
                                             static_cast<std::size_t>(bytes)));
  }
  return all;
}

/// A line for each candidate at one degree and size.
void measure_case(const Run& run, const std::vector<DiscoverCandidate>& candidates, const std::vector<Rank>& sources,
                  int degree, int bytes, const DiscoverOptions& options) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  const Part part = random_part(rank, run.ranks, degree, bytes);
  const auto expected = expected_from(sources, rank, run.ranks, degree, bytes);
  std::vector<std::function<void()>> actions;
  for (const DiscoverCandidate& candidate : candidates) {
    Heard heard;
    candidate.run(part, heard);
    int wrong = sorted(heard, bytes) != expected ? 1 : 0;
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD), "MPI_Allreduce");
    require(wrong == 0, ErrorKind::internal, candidate.name + " delivers something else");
    actions.emplace_back([&part, &candidate] {
      Heard again;
      candidate.run(part, again);
    });
  }
  const Samples samples = measure(MPI_COMM_WORLD, actions, {.timed = options.iterations});
  if (!run.is_root()) return;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const std::vector<double> ratios = paired_ratios(samples.seconds[i], samples.seconds.front());
    const Interval interval = bootstrap_median(ratios);
    const double seconds = median(samples.seconds[i]);
    std::printf("%-8d %-8d %-28s %12s %8.2f [%.2f, %.2f]\n", degree, bytes, candidates[i].name.c_str(),
                format_seconds(seconds).c_str(), median(ratios), interval.low, interval.high);
    if (options.json.empty()) continue;
    append_record(options.json, {{"benchmark", "discover"},
                                 {"ranks", run.ranks},
                                 {"nodes", run.nodes.count},
                                 {"degree", degree},
                                 {"bytes", bytes},
                                 {"candidate", candidates[i].name},
                                 {"median_s", seconds},
                                 {"ratio_to_auto", median(ratios)},
                                 {"ratio_low", interval.low},
                                 {"ratio_high", interval.high}});
  }
}

/// Ratios are to the first of those that are left.
void keep_named(const std::vector<std::string>& names, std::vector<DiscoverCandidate>& candidates) {
  if (names.empty()) return;
  for (const std::string& name : names)
    require(std::ranges::count(candidates, name, &DiscoverCandidate::name) > 0, ErrorKind::argument,
            "--candidates: there is no " + name + " here");
  std::erase_if(candidates, [&](const DiscoverCandidate& one) { return std::ranges::count(names, one.name) == 0; });
}

int report_discover(const Run& run, const DiscoverOptions& options) {
  if (!run.machine.empty()) setenv("LANEWAY_MACHINE", run.machine.c_str(), 1);
  const MPI_Comm comm = MPI_COMM_WORLD;
  std::vector<MPI_Info> infos;
  std::vector<DiscoverCandidate> candidates;
  const auto add = [&](const std::string& finder) {
    MPI_Info info = MPI_INFO_NULL;
    check_mpi(MPI_Info_create(&info), "MPI_Info_create");
    check_mpi(MPI_Info_set(info, "lnw_find", finder.c_str()), "MPI_Info_set");
    infos.push_back(info);
    candidates.push_back(
        {"laneway " + finder, [comm, info](const Part& part, Heard& heard) { run_laneway(part, comm, info, heard); }});
  };
  add("auto");
  for (const FinderRow& row : finders())
    if (row.chooses) add(row.name);
  candidates.push_back({"nbx", [comm](const Part& part, Heard& heard) { run_nbx(part, comm, heard); }});
  candidates.push_back(
      {"reduce_scatter", [comm](const Part& part, Heard& heard) { run_reduce_scatter(part, comm, heard); }});
  if constexpr (!simulated)  // SMPI has no graphs
    candidates.push_back(
        {"MPI_Dist_graph_create", [comm](const Part& part, Heard& heard) { run_dist_graph(part, comm, heard); }});
  keep_named(options.candidates, candidates);
  if (run.is_root()) {
    std::cout << run.ranks << " ranks on " << run.nodes.description << "\n";
    std::printf("%-8s %-8s %-28s %12s %8s\n", "degree", "bytes", "candidate", "median", "to auto");
  }
  int rank = 0;
  check_mpi(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  for (const int degree : options.degrees) {
    const std::vector<Rank> sources = sources_of(rank, run.ranks, degree);
    for (const int bytes : options.sizes) measure_case(run, candidates, sources, degree, bytes, options);
  }
  for (MPI_Info& info : infos) MPI_Info_free(&info);
  return EXIT_SUCCESS;
}

void add_discover(CLI::App& command, Action& action) {
  auto options = std::make_shared<DiscoverOptions>();
  command.add_option("--degree", options->degrees, "Destinations of each rank")
      ->delimiter(',')
      ->check(CLI::Range(0, 1'000'000))
      ->default_str("2,8,15");
  command.add_option("--bytes", options->sizes, "Bytes of each message")
      ->delimiter(',')
      ->check(CLI::Range(1, 1 << 30))
      ->default_str("8,64,1024,16384");
  command.add_option("--candidates", options->candidates, "Only these, by the names that are printed")->delimiter(',');
  command.add_option("--iterations", options->iterations, "Samples of each candidate")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  report_on_nodes(command, options, action, report_discover);
}

}  // namespace

std::vector<Command> discover_commands() {
  return {{"discover", Topic::exchanges, "Finding partners that only one side knows", add_discover}};
}

}  // namespace laneway::bench
