#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/json.hpp"
#include "commands.hpp"
#include "data/statistics.hpp"
#include "laneway/laneway.h"
#include "measure/run.hpp"
#include "measure/timing.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

// Partitioned messages between two ranks: what partitions cost, and what is left to do when the last one is ready.

namespace laneway::bench {

namespace {

struct PartitionedOptions {
  std::vector<std::int64_t> bytes = {8, 512, 4096, 65536, 1048576};
  int partitions = 8;
  int iterations = 20;
  std::string json;
};

struct TimedPair {
  MPI_Comm comm = MPI_COMM_NULL;
  bool sends = false;
  int peer = 0;
};

/// Who carries partitions: this library, or the MPI library, where it has MPI_Psend_init. Open MPI 4 has none.
enum class PartsOf { laneway, mpi };
#if MPI_VERSION >= 4
constexpr bool mpi_has_partitions = true;
#else
constexpr bool mpi_has_partitions = false;
#endif

/// A message one way, and an empty one back when it has come.
class PartedMessage {
 public:
  PartedMessage(const TimedPair& pair, std::vector<std::byte>& data, int partitions, PartsOf parts = PartsOf::laneway)
      : pair_(pair), partitions_(partitions), by_mpi_(partitions == 0 || parts == PartsOf::mpi) {
    const auto bytes = static_cast<int>(data.size());
#if MPI_VERSION >= 4
    if (parts == PartsOf::mpi && partitions > 0) {
      const MPI_Count part = bytes / partitions;
      if (pair.sends)
        MPI_Psend_init(data.data(), partitions, part, MPI_BYTE, pair.peer, 2, pair.comm, MPI_INFO_NULL, &whole_);
      else
        MPI_Precv_init(data.data(), partitions, part, MPI_BYTE, pair.peer, 2, pair.comm, MPI_INFO_NULL, &whole_);
      return;
    }
#endif
    if (partitions == 0) {
      if (pair.sends)
        MPI_Send_init(data.data(), bytes, MPI_BYTE, pair.peer, 0, pair.comm, &whole_);
      else
        MPI_Recv_init(data.data(), bytes, MPI_BYTE, pair.peer, 0, pair.comm, &whole_);
      return;
    }
    const MPI_Count each = bytes / partitions;
    if (pair.sends)
      LNW_Psend_init(data.data(), partitions, each, MPI_BYTE, pair.peer, 0, pair.comm, MPI_INFO_NULL, &parts_);
    else
      LNW_Precv_init(data.data(), partitions, each, MPI_BYTE, pair.peer, 0, pair.comm, MPI_INFO_NULL, &parts_);
  }
  ~PartedMessage() {
    if (whole_ != MPI_REQUEST_NULL) MPI_Request_free(&whole_);
    if (parts_ != LNW_REQUEST_NULL) LNW_Request_free(&parts_);
  }
  PartedMessage(const PartedMessage&) = delete;
  PartedMessage& operator=(const PartedMessage&) = delete;

  /// Each partition is ready after another `pause`. Returns seconds from the last one to the answer.
  double run(std::chrono::duration<double> pause = {}) {
    if (by_mpi_)
      MPI_Start(&whole_);
    else
      LNW_Start(&parts_);
    double begin = MPI_Wtime();
    for (int p = 0; pair_.sends && p < partitions_; ++p) {
      if (pause.count() > 0) std::this_thread::sleep_for(pause);
      begin = MPI_Wtime();
      ready(p);
    }
    if (by_mpi_)
      MPI_Wait(&whole_, MPI_STATUS_IGNORE);
    else
      LNW_Wait(&parts_, MPI_STATUS_IGNORE);
    if (pair_.sends)
      MPI_Recv(nullptr, 0, MPI_BYTE, pair_.peer, 1, pair_.comm, MPI_STATUS_IGNORE);
    else
      MPI_Send(nullptr, 0, MPI_BYTE, pair_.peer, 1, pair_.comm);
    return MPI_Wtime() - begin;
  }

 private:
  void ready(int partition) {
#if MPI_VERSION >= 4
    if (by_mpi_) {
      MPI_Pready(partition, whole_);
      return;
    }
#endif
    LNW_Pready(partition, parts_);
  }

  TimedPair pair_;
  int partitions_;
  bool by_mpi_;
  MPI_Request whole_ = MPI_REQUEST_NULL;  // whole, or in MPI's partitions
  LNW_Request parts_ = LNW_REQUEST_NULL;
};

Json time_partitions(const TimedPair& pair, std::int64_t bytes, const PartitionedOptions& options) {
  std::vector<std::byte> data(static_cast<std::size_t>(bytes));
  PartedMessage whole(pair, data, 0), one(pair, data, 1), several(pair, data, options.partitions);
  std::optional<PartedMessage> one_of_mpi, several_of_mpi;
  std::vector<std::function<void()>> actions = {[&] { whole.run(); }, [&] { one.run(); }, [&] { several.run(); }};
  if (mpi_has_partitions) {
    one_of_mpi.emplace(pair, data, 1, PartsOf::mpi);
    several_of_mpi.emplace(pair, data, options.partitions, PartsOf::mpi);
    actions.push_back([&] { one_of_mpi->run(); });
    actions.push_back([&] { several_of_mpi->run(); });
  }
  const Samples samples = bench::measure(pair.comm, actions, {.warmup = 5, .timed = options.iterations});
  const double whole_seconds = median(samples.seconds[0]), one_seconds = median(samples.seconds[1]);
  const std::chrono::duration<double> pause(whole_seconds / options.partitions);
  std::vector<double> left, left_of_mpi;
  for (int i = 0; i < options.iterations; ++i) {
    MPI_Barrier(pair.comm);
    left.push_back(several.run(pause));
    if (!several_of_mpi) continue;
    MPI_Barrier(pair.comm);
    left_of_mpi.push_back(several_of_mpi->run(pause));
  }
  Json row = {{"bytes", bytes},
              {"persistent_s", whole_seconds},
              {"one_partition_s", one_seconds},
              {"partitions_s", median(samples.seconds[2])},
              {"after_last_s", median(left)}};
  const auto of_mpi = [&](std::size_t action) {
    return several_of_mpi ? Json(median(samples.seconds[action])) : nullptr;
  };
  row["mpi_one_partition_s"] = of_mpi(3);
  row["mpi_partitions_s"] = of_mpi(4);
  row["mpi_after_last_s"] = several_of_mpi ? Json(median(left_of_mpi)) : nullptr;
  if (!pair.sends) return row;
  const auto beside = [](double seconds, double whole_message) {
    return format_seconds(seconds) + " (" + format_number(seconds / whole_message, 2) + ")";
  };
  std::cout << bytes << " B: persistent message " << format_seconds(whole_seconds) << ", one partition "
            << beside(one_seconds, whole_seconds) << ", " << options.partitions << " partitions "
            << beside(median(samples.seconds[2]), whole_seconds) << ", after the last of them "
            << beside(median(left), whole_seconds);
  if (several_of_mpi)
    std::cout << "; MPI's own: one " << beside(median(samples.seconds[3]), whole_seconds) << ", " << options.partitions
              << " partitions " << beside(median(samples.seconds[4]), whole_seconds) << ", after the last "
              << beside(median(left_of_mpi), whole_seconds);
  else
    std::cout << "; this MPI library has no MPI_Psend_init";
  std::cout << "\n";
  return row;
}

int report_partitioned(const Run& run, const PartitionedOptions& options) {
  if (run.ranks < 2) {
    std::cout << "laneway-bench partitioned needs 2 ranks\n";
    return EXIT_FAILURE;
  }
  MPI_Comm comm = MPI_COMM_NULL;
  const bool is_end = run.rank == 0 || run.rank == run.ranks - 1;
  MPI_Comm_split(run.comm, is_end ? 0 : MPI_UNDEFINED, run.rank, &comm);
  Json sizes = Json::array();
  if (is_end) {
    LNW_Comm_prepare(comm);
    const TimedPair pair{comm, run.rank == 0, run.rank == 0 ? 1 : 0};
    for (const std::int64_t bytes : options.bytes) sizes.push_back(time_partitions(pair, bytes, options));
    MPI_Comm_free(&comm);
  }
  quiet_barrier(run.comm);
  if (!run.is_root()) return EXIT_SUCCESS;
  const Json json = {{"benchmark", "partitioned"},
                     {"ranks", run.ranks},
                     {"nodes", run.nodes.count},
                     {"partitions", options.partitions},
                     {"sizes", sizes}};
  if (!options.json.empty()) append_record(options.json, json);
  return EXIT_SUCCESS;
}

void add_partitioned(CLI::App& command, Action& action) {
  auto options = std::make_shared<PartitionedOptions>();
  command.add_option("--bytes", options->bytes, "Sizes of messages")->delimiter(',')->capture_default_str();
  command.add_option("--partitions", options->partitions, "That become ready over the time of one transfer")
      ->capture_default_str();
  command.add_option("--iterations", options->iterations, "Samples of each")->capture_default_str();
  command.add_option("--json", options->json, "Append one object to this file");
  command.callback([options, &action] {
    action = [options] { return with_mpi("", [&](const Run& run) { return report_partitioned(run, *options); }); };
  });
}

}  // namespace

std::vector<Command> partitioned_commands() {
  return {{"partitioned", Topic::exchanges, "Partitioned messages beside persistent ones, between two ranks",
           add_partitioned}};
}

}  // namespace laneway::bench
