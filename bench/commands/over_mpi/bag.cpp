// Short messages to random ranks: a bag beside a message of MPI each.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "commands.hpp"
#include "commands/on_nodes.hpp"
#include "data/statistics.hpp"
#include "laneway/bag.h"
#include "measure/run.hpp"
#include "measure/timing.hpp"
#include "mpi/check.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

struct BagOptions {
  std::int64_t messages = 10'000'000;
  std::int64_t plain = 0;  ///< messages of the plain way; 0: as many
  int bytes = 16;
  int iterations = 3;
  std::string machine;
  std::string json;
};

/// The same sequence on all machines.
class Destinations {
 public:
  Destinations(int rank, int ranks) : state_(static_cast<std::uint64_t>(rank) * 7919 + 1), ranks_(ranks) {}
  int next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<int>((state_ >> 33) % static_cast<std::uint64_t>(ranks_));
  }

 private:
  std::uint64_t state_;
  int ranks_;
};

/// What comes, so that nothing can be left out unnoticed.
struct Tally {
  std::int64_t messages = 0;
  std::int64_t sum = 0;

  void add(const void* data) {
    std::int64_t value = 0;
    std::memcpy(&value, data, sizeof value);
    sum += value;
    ++messages;
  }
};

struct World {
  int rank = 0;
  int ranks = 1;
};

Tally run_bag(const World& world, std::int64_t messages, int bytes) {
  LNW_Bag bag = LNW_BAG_NULL;
  check_mpi(LNW_Bag_create(MPI_COMM_WORLD, MPI_INFO_NULL, &bag), "LNW_Bag_create");
  Tally tally;
  const auto take = [&] {
    for (int flag = 1; flag != 0;) {
      int source = 0;
      void* data = nullptr;
      MPI_Count length = 0;
      check_mpi(LNW_Bag_next(bag, &source, &data, &length, &flag), "LNW_Bag_next");
      if (flag != 0) tally.add(data);
    }
  };
  std::vector<char> data(static_cast<std::size_t>(bytes));
  Destinations destinations(world.rank, world.ranks);
  for (std::int64_t i = 0; i < messages; ++i) {
    std::memcpy(data.data(), &i, sizeof i);
    check_mpi(LNW_Bag_send(bag, destinations.next(), data.data(), bytes), "LNW_Bag_send");
    if (i % 4096 == 4095) take();
  }
  check_mpi(LNW_Bag_flush(bag), "LNW_Bag_flush");
  take();
  check_mpi(LNW_Bag_free(&bag), "LNW_Bag_free");
  return tally;
}

/// A message each by MPI_Isend, and a look by MPI_Iprobe after each; a sum at the end says how many come.
Tally run_plain(const World& world, std::int64_t messages, int bytes) {
  constexpr std::size_t under_way = 256;
  constexpr int tag = 1;
  Tally tally;
  std::vector<char> got(static_cast<std::size_t>(bytes));
  const auto look = [&] {
    int flag = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &flag, &status), "MPI_Iprobe");
    if (flag == 0) return;
    check_mpi(MPI_Recv(got.data(), bytes, MPI_BYTE, status.MPI_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
              "MPI_Recv");
    tally.add(got.data());
  };
  std::vector<std::vector<char>> data(under_way, std::vector<char>(static_cast<std::size_t>(bytes)));
  std::vector<MPI_Request> requests(under_way, MPI_REQUEST_NULL);
  std::vector<int> counts(static_cast<std::size_t>(world.ranks));
  const auto finish = [&](MPI_Request& request) {
    for (int flag = 0;;) {
      check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
      if (flag != 0) return;
      look();
    }
  };
  Destinations destinations(world.rank, world.ranks);
  for (std::int64_t i = 0; i < messages; ++i) {
    const auto slot = static_cast<std::size_t>(i) % under_way;
    finish(requests[slot]);
    const int to = destinations.next();
    std::memcpy(data[slot].data(), &i, sizeof i);
    check_mpi(MPI_Isend(data[slot].data(), bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &requests[slot]), "MPI_Isend");
    ++counts[static_cast<std::size_t>(to)];
    look();
  }
  for (MPI_Request& request : requests) finish(request);
  int expected = 0;
  check_mpi(MPI_Reduce_scatter_block(counts.data(), &expected, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD),
            "MPI_Reduce_scatter_block");
  while (tally.messages < expected) look();
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  return tally;
}

using Messenger = Tally (*)(const World&, std::int64_t, int);

/// Messages a second of all ranks together, in each iteration.
struct Rates {
  std::string name;
  Messenger way;
  std::int64_t messages;  ///< of a rank
  std::vector<double> rates = {};
};

void time_once(const World& world, Rates& candidate, int bytes) {
  check_mpi(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
  const double begin = wall_seconds();
  const Tally tally = candidate.way(world, candidate.messages, bytes);
  const double seconds = longest_of_ranks(wall_seconds() - begin, MPI_COMM_WORLD);
  std::array<std::int64_t, 2> sums = {tally.messages, tally.sum};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, sums.data(), 2, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD), "MPI_Allreduce");
  const std::int64_t all = candidate.messages * world.ranks;
  require(sums[0] == all && sums[1] == all * (candidate.messages - 1) / 2, ErrorKind::internal,
          candidate.name + " has lost messages or changed them");
  candidate.rates.push_back(static_cast<double>(all) / seconds);
}

int report_bag(const Run& run, const BagOptions& options) {
  if (!run.machine.empty()) setenv("LANEWAY_MACHINE", run.machine.c_str(), 1);
  World world;
  world.ranks = run.ranks;
  check_mpi(MPI_Comm_rank(MPI_COMM_WORLD, &world.rank), "MPI_Comm_rank");
  const auto share = [&](std::int64_t all) { return std::max<std::int64_t>(1, all / world.ranks); };
  const std::int64_t plain = options.plain > 0 ? options.plain : options.messages;
  std::array<Rates, 2> candidates = {Rates{"laneway bag", run_bag, share(options.messages)},
                                     Rates{"MPI_Isend, MPI_Iprobe", run_plain, share(plain)}};
  for (int i = 0; i < options.iterations; ++i)
    for (Rates& candidate : candidates) time_once(world, candidate, options.bytes);
  if (!run.is_root()) return EXIT_SUCCESS;
  std::cout << run.ranks << " ranks on " << run.nodes.description << ", messages of " << options.bytes << " bytes\n";
  std::printf("%-24s %14s %18s %12s\n", "candidate", "messages", "messages a second", "to plain");
  const double of_plain = median(candidates.back().rates);
  for (const Rates& candidate : candidates) {
    const double rate = median(candidate.rates);
    const std::int64_t all = candidate.messages * world.ranks;
    std::printf("%-24s %14lld %18.0f %12.2f\n", candidate.name.c_str(), static_cast<long long>(all), rate,
                rate / of_plain);
    if (options.json.empty()) continue;
    append_record(options.json, {{"benchmark", "bag"},
                                 {"ranks", run.ranks},
                                 {"nodes", run.nodes.count},
                                 {"bytes", options.bytes},
                                 {"messages", all},
                                 {"candidate", candidate.name},
                                 {"messages_per_s", rate},
                                 {"ratio_to_plain", rate / of_plain}});
  }
  return EXIT_SUCCESS;
}

void add_bag(CLI::App& command, Action& action) {
  auto options = std::make_shared<BagOptions>();
  command.add_option("--messages", options->messages, "Messages of all ranks together")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->capture_default_str();
  command.add_option("--plain-messages", options->plain, "The same of the plain way, which is slower; 0: as many")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 40))
      ->capture_default_str();
  command.add_option("--bytes", options->bytes, "Bytes of each message")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  command.add_option("--iterations", options->iterations, "How often each is timed")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  report_on_nodes(command, options, action, report_bag);
}

}  // namespace

std::vector<Command> bag_commands() {
  return {{"bag", Topic::exchanges, "Short messages to random ranks", add_bag}};
}

}  // namespace laneway::bench
