#include "device/device.hpp"

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/readable.hpp"
#include "device/topology.hpp"
#include "format.hpp"
#include "statistics.hpp"

namespace laneway::bench {

namespace {

struct DeviceOptions {
  int device = 0;
  std::vector<std::size_t> bytes = {64 << 10, 1 << 20, 16 << 20};
  std::vector<int> processes = {1};
  std::vector<std::string> transfers;  ///< empty: all
  int iterations = 20;
  int batch = 4;
  bool links = false;
  bool if_any = false;
  std::string json;
};

/// What processes of one measurement share: a barrier, the names of the transfers, and the seconds of each in each
/// iteration.
struct Board {
  static constexpr std::size_t most_samples = 1 << 16;
  static constexpr std::size_t most_transfers = 16;
  std::array<std::array<char, 24>, most_transfers> names{};
  std::size_t count = 0;
  std::atomic<int> arrived{0};
  std::atomic<int> failed{0};
  std::array<double, most_samples> seconds{};

  void meet(int processes, int round) {
    ++arrived;
    while (arrived < processes * (round + 1) && failed == 0) std::this_thread::yield();
  }
};

std::shared_ptr<Board> make_board() {
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, ErrorKind::io, "no memory for processes to share");
  return {new (memory) Board, [](Board* board) { munmap(board, sizeof *board); }};
}

/// One way of moving some bytes.
struct Transfer {
  std::string name;
  std::function<void(const Stream&)> put;
};

/// Buffers of one process, and what can be done with them.
class Bench {
 public:
  Bench(Device device, std::size_t bytes, const std::vector<std::string>& wanted)
      : wanted_(wanted),
        stream_(device),
        a_(device, 4 * bytes),
        b_(device, 4 * bytes),
        host_(device, bytes, MemoryKind::pinned) {
    add("h2d", [this, bytes](const Stream& s) { s.copy(a_.data(), host_.data(), bytes); });
    add("d2h", [this, bytes](const Stream& s) { s.copy(host_.data(), a_.data(), bytes); });
    add("d2d", [this, bytes](const Stream& s) { s.copy(b_.data(), a_.data(), bytes); });
    const std::vector<Device> all = all_devices(device.plugin());
    if (all.size() > 1) {
      const Device other = all[device.number() == 0 ? 1 : 0];
      peer_ = DeviceMemory(other, bytes);
      add("peer", [this, bytes](const Stream& s) { s.copy(peer_.data(), a_.data(), bytes); });
    }
    const auto total = static_cast<std::int64_t>(bytes);
    for (const std::int64_t run : {std::int64_t{1} << 10, std::int64_t{64} << 10})
      if (total >= run) {
        add_moves("pack " + readable_bytes(run), {{0, 0, run, 2 * run, run, total / run, 0, 1}});
        add_moves("unpack " + readable_bytes(run), {{0, 0, run, run, 2 * run, total / run, 0, 1}});
      }
    if (!is_wanted("gather 8 B") && !is_wanted("scatter 8 B")) return;
    std::vector<std::int64_t> places(bytes / 2);
    std::iota(places.begin(), places.end(), 0);
    std::shuffle(places.begin(), places.end(), std::mt19937_64(1));
    std::vector<lnw_device_run> gather;
    for (std::int64_t i = 0; i < total / 8; ++i)
      gather.push_back({8 * places[static_cast<std::size_t>(i)], 8 * i, 8, 0, 0, 1, 0, 1});
    add_moves("gather 8 B", gather);
    for (lnw_device_run& run : gather) std::swap(run.from, run.to);
    add_moves("scatter 8 B", gather);
  }

  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }

 private:
  [[nodiscard]] bool is_wanted(const std::string& name) const {
    return wanted_.empty() || std::find(wanted_.begin(), wanted_.end(), name) != wanted_.end();
  }
  void add(std::string name, std::function<void(const Stream&)> put) {
    if (is_wanted(name)) transfers_.push_back({std::move(name), std::move(put)});
  }
  void add_moves(std::string name, const std::vector<lnw_device_run>& runs) {
    if (!is_wanted(name)) return;
    auto moves = std::make_shared<Moves>(stream_.device(), runs);
    add(std::move(name), [this, moves = std::move(moves)](const Stream& s) {
      moves->launch(s, std::vector<void*>{a_.data(), b_.data()});
    });
  }

  const std::vector<std::string>& wanted_;
  Stream stream_;
  DeviceMemory a_, b_, host_, peer_;
  std::vector<Transfer> transfers_;
};

/// In each iteration every transfer has one turn, in an order drawn anew, the same in all processes.
void measure(const DeviceOptions& options, std::size_t bytes, int processes, int process, Board& board) {
  const std::vector<Device> devices = all_devices();
  require(static_cast<std::size_t>(options.device) < devices.size(), ErrorKind::argument,
          "there are " + std::to_string(devices.size()) + " devices (LANEWAY_DEVICE_PLUGINS, docs/gpu.md)");
  const Bench bench(devices[static_cast<std::size_t>(options.device)], bytes, options.transfers);
  const std::size_t count = bench.transfers().size();
  require(
      count * static_cast<std::size_t>(options.iterations) * static_cast<std::size_t>(processes) <= Board::most_samples,
      ErrorKind::argument, "fewer iterations or processes are needed");
  board.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = bench.transfers()[i].name;
    std::copy_n(name.begin(), std::min(name.size(), board.names[i].size() - 1), board.names[i].begin());
  }
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937 random(1);
  int round = 0;
  for (int iteration = -1; iteration < options.iterations; ++iteration) {
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t turn : order) {
      board.meet(processes, round++);
      const auto begin = std::chrono::steady_clock::now();
      for (int i = 0; i < options.batch; ++i) bench.transfers()[turn].put(bench.stream());
      bench.stream().synchronize();
      const double seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() / options.batch;
      if (iteration < 0) continue;
      const std::size_t sample = static_cast<std::size_t>(iteration) * count + turn;
      board.seconds[sample * static_cast<std::size_t>(processes) + static_cast<std::size_t>(process)] = seconds;
    }
  }
}

/// Whether all of `processes` new processes have done `body(process)`. A driver must not be started before a fork.
bool in_processes(int processes, Board& board, const std::function<void(int)>& body) {
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = fork();
    if (child == 0) {
      int status = EXIT_SUCCESS;
      try {
        body(process);
      } catch (const std::exception& error) {
        ++board.failed;
        if (process == 0) std::cerr << "laneway-bench: " << error.what() << '\n';
        status = EXIT_FAILURE;
      }
      _exit(status);
    }
    if (child > 0) children.push_back(child);
  }
  if (children.size() < static_cast<std::size_t>(processes)) ++board.failed;
  bool succeeded = board.failed == 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    succeeded = succeeded && status == 0;
  }
  return succeeded;
}

/// A driver must not be started before a fork, so another process looks.
bool has_no_device() {
  const std::shared_ptr<Board> board = make_board();
  in_processes(1, *board, [&](int) { board->count = all_devices().size(); });
  return board->count == 0;
}

int show_links() {
  std::vector<DeviceIdentity> devices;
  for (const Device& device : all_devices()) {
    devices.push_back(identity(device));
    std::cout << "# " << devices.size() - 1 << ": " << devices.back().info.name << '\n';
  }
  std::cout << find_device_topology(devices).toml();
  return EXIT_SUCCESS;
}

/// Of each iteration, the time of the process that took longest.
std::vector<double> longest(const Board& board, std::size_t transfer, const DeviceOptions& options, int processes) {
  std::vector<double> seconds;
  for (std::size_t iteration = 0; iteration < static_cast<std::size_t>(options.iterations); ++iteration) {
    const auto first = board.seconds.begin() + static_cast<std::ptrdiff_t>((iteration * board.count + transfer) *
                                                                           static_cast<std::size_t>(processes));
    seconds.push_back(*std::max_element(first, first + processes));
  }
  return seconds;
}

int measure_device(const DeviceOptions& options) {
  if (options.links) return show_links();
  if (options.if_any && has_no_device()) {
    std::cout << "there is no device\n";
    return EXIT_SUCCESS;
  }
  Table table({"transfer", "bytes", "processes", "GB/s", "of d2d", "ci95"});
  for (const std::size_t bytes : options.bytes)
    for (const int processes : options.processes) {
      const std::shared_ptr<Board> board = make_board();
      if (!in_processes(processes, *board, [&](int process) { measure(options, bytes, processes, process, *board); }))
        return EXIT_FAILURE;
      const auto names = std::span(board->names).first(board->count);
      const auto device_to_device =
          std::find_if(names.begin(), names.end(), [](const auto& name) { return name.data() == std::string("d2d"); });
      // Without it the first takes its place.
      const auto reference = device_to_device == names.end() ? 0 : device_to_device - names.begin();
      const std::vector<double> copies = longest(*board, static_cast<std::size_t>(reference), options, processes);
      for (std::size_t transfer = 0; transfer < board->count; ++transfer) {
        const std::vector<double> seconds = longest(*board, transfer, options, processes);
        const std::vector<double> ratios = paired_ratios(copies, seconds);
        const Interval interval = bootstrap_median(ratios);
        const double rate = static_cast<double>(bytes) * processes / median(seconds);
        const std::string name = board->names[transfer].data();
        table.add({name, readable_bytes(static_cast<std::int64_t>(bytes)), std::to_string(processes),
                   format_number(rate * 1e-9, 2), format_number(median(ratios), 2),
                   format_number(interval.low, 2) + "-" + format_number(interval.high, 2)});
        if (options.json.empty()) continue;
        const nlohmann::ordered_json record = {{"benchmark", "device"},
                                               {"transfer", name},
                                               {"bytes", bytes},
                                               {"processes", processes},
                                               {"median_s", median(seconds)},
                                               {"min_s", quantile(seconds, 0)},
                                               {"p90_s", quantile(seconds, 0.9)},
                                               {"bytes_per_second", rate},
                                               {"d2d_fraction_median", median(ratios)},
                                               {"d2d_fraction_ci95", {interval.low, interval.high}},
                                               {"iterations", options.iterations},
                                               {"batch", options.batch}};
        append_line(options.json, record.dump());
      }
    }
  std::cout << "GB/s of all processes together, each byte counted once\n" << table.text();
  return EXIT_SUCCESS;
}

}  // namespace

void add_device(CLI::App& app, Action& action) {
  auto options = std::make_shared<DeviceOptions>();
  CLI::App* command =
      app.add_subcommand("device", "Copies of a device by direction, pack and unpack kernels, and links; no MPI");
  command->add_option("--device", options->device, "Its number")->check(CLI::NonNegativeNumber)->capture_default_str();
  command->add_option("--bytes", options->bytes, "Bytes of a transfer; default: 64KiB, 1MiB, 16MiB")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1} << 10, std::size_t{1} << 32));
  command->add_option("--processes", options->processes, "Processes that do it at the same time")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--transfer", options->transfers, "Only these, as the table names them: h2d, d2h, d2d, …")
      ->delimiter(',');
  command->add_option("--batch", options->batch, "Transfers that are put into the stream before it is waited for")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command->add_flag("--if-any", options->if_any, "Where there is no device, that is no error");
  command->add_option("--iterations", options->iterations, "Turns of each transfer")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command->add_flag("--links", options->links, "Only write the devices' links, as a section of a machine file");
  command->add_option("--json", options->json, "Append one record a line");
  command->callback([&action, options] { action = [options] { return measure_device(*options); }; });
}

}  // namespace laneway::bench
