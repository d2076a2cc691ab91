#include "runtime/device/device.hpp"

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
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/readable.hpp"
#include "commands.hpp"
#include "data/device_kernels.hpp"
#include "data/statistics.hpp"
#include "measure/library.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"
#include "runtime/carriers/device/ipc.hpp"
#include "runtime/device/topology.hpp"

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

/// What processes of one measurement share: a barrier, the names of the transfers, the seconds of each in each
/// iteration, and memory of one more process, which lends it until all have finished.
struct Board {
  static constexpr std::size_t most_samples = 1 << 16;
  static constexpr std::size_t most_transfers = 16;
  std::array<std::array<char, 24>, most_transfers> names{};
  std::size_t count = 0;
  std::atomic<int> arrived{0};
  std::atomic<int> failed{0};
  std::atomic<int> finished{0};
  std::atomic<bool> is_lent{false};
  SharedDeviceMemory lent;
  std::array<double, most_samples> seconds{};

  void meet(int processes, int round) {
    ++arrived;
    wait_for([&] { return arrived >= processes * (round + 1); });
  }
  template <class Condition>
  void wait_for(Condition&& condition) const {
    while (!condition() && failed == 0) std::this_thread::yield();
  }
};

std::shared_ptr<Board> make_board() {
  void* const memory = mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(memory != MAP_FAILED, ErrorKind::io, "no memory for processes to share");
  return {new (memory) Board, [](Board* board) { munmap(board, sizeof *board); }};
}

constexpr const char* copy_inside = "d2d";
constexpr const char* copy_from_peer = "ipc";
constexpr const char* gather = "gather 8 B";
constexpr const char* scatter = "scatter 8 B";
constexpr std::string_view kernel_rows = "rows ";  // by a kernel, in a direction between the device and the host
constexpr std::int64_t kernel_row_bytes = 4096;

/// What the device can reach where elements are moved and nothing is prepared.
std::string plain(const std::string& transfer) {
  return "plain " + transfer;
}

/// One way of moving some bytes.
struct Transfer {
  std::string name;
  std::function<void(const Stream&)> put;
};

bool is_wanted(const std::vector<std::string>& transfers, const std::string& name) {
  return transfers.empty() || std::ranges::find(transfers, name) != transfers.end();
}

/// Another one if there are several.
Device next_device(const Device& device) {
  const std::vector<Device> all = all_devices(device.plugin());
  return all.size() > 1 ? all[device.number() == 0 ? 1 : 0] : device;
}

/// Whether it can copy from memory of another process on the next device.
bool borrows(const Device& device) {
  return device.has(LNW_DEVICE_HAS_IPC_MEMORY) && next_device(device).has(LNW_DEVICE_HAS_IPC_MEMORY);
}

/// Buffers of one process, and what can be done with them.
class Bench {
 public:
  Bench(Device device, std::size_t bytes, const std::vector<std::string>& wanted, const Board& board)
      : wanted_(wanted),
        stream_(device),
        a_(device, 4 * bytes),
        b_(device, 4 * bytes),
        host_(device, bytes, MemoryKind::pinned) {
    add("h2d", [this, bytes](const Stream& s) { s.copy(a_.data(), host_.data(), bytes); });
    add("d2h", [this, bytes](const Stream& s) { s.copy(host_.data(), a_.data(), bytes); });
    add(copy_inside, [this, bytes](const Stream& s) { s.copy(b_.data(), a_.data(), bytes); });
    if (const Device other = next_device(device); other != device) {
      peer_ = DeviceMemory(other, bytes);
      add("peer", [this, bytes](const Stream& s) { s.copy(peer_.data(), a_.data(), bytes); });
    }
    if (is_wanted(wanted, copy_from_peer) && borrows(device)) add_copy_from_peer(bytes, board);
    const auto total = static_cast<std::int64_t>(bytes);
    for (const std::int64_t run : {std::int64_t{1} << 10, std::int64_t{64} << 10})
      if (total >= run) {
        add_moves("pack " + readable_bytes(run), {{0, 0, run, 2 * run, run, total / run, 0, 1}}, a_, b_);
        add_moves("unpack " + readable_bytes(run), {{0, 0, run, run, 2 * run, total / run, 0, 1}}, a_, b_);
      }
    if (constexpr std::int64_t row = kernel_row_bytes; total >= row) {
      add_moves(std::string(kernel_rows) + "d2h", {{0, 0, row, 2 * row, row, total / row, 0, 1}}, a_, host_);
      add_moves(std::string(kernel_rows) + "h2d", {{0, 0, row, row, 2 * row, total / row, 0, 1}}, host_, a_);
    }
    add_elements(bytes);
  }

  [[nodiscard]] const std::vector<Transfer>& transfers() const { return transfers_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }

 private:
  void add(std::string name, std::function<void(const Stream&)> put) {
    if (is_wanted(wanted_, name)) transfers_.push_back({std::move(name), std::move(put)});
  }
  /// Some devices of a node cannot reach each other's memory.
  void add_copy_from_peer(std::size_t bytes, const Board& board) {
    board.wait_for([&] { return board.is_lent.load(); });
    try {
      lent_ = IpcMapping(stream_.device(), board.lent);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::unsupported) throw;
      return;
    }
    add(copy_from_peer, [this, bytes](const Stream& s) { s.copy(a_.data(), lent_.data(), bytes); });
  }
  /// Every fourth element or so, in random order: by the library's moves, and by a kernel that does nothing else.
  void add_elements(std::size_t bytes) {
    const std::array<std::string, 4> names = {gather, scatter, plain(gather), plain(scatter)};
    if (std::none_of(names.begin(), names.end(), [this](const std::string& name) { return is_wanted(wanted_, name); }))
      return;
    std::vector<std::uint32_t> places(bytes / 2);
    std::iota(places.begin(), places.end(), 0U);
    std::shuffle(places.begin(), places.end(), std::mt19937_64(1));
    places.resize(bytes / 8);
    std::vector<lnw_device_run> runs;
    for (std::size_t i = 0; i < places.size(); ++i)
      runs.push_back({8 * std::int64_t{places[i]}, 8 * static_cast<std::int64_t>(i), 8, 0, 0, 1, 0, 1});
    add_moves(gather, runs, a_, b_);
    for (lnw_device_run& run : runs) std::swap(run.from, run.to);
    add_moves(scatter, runs, a_, b_);
    add_plain(places);
  }
  void add_plain(const std::vector<std::uint32_t>& places) {
    const lnw_device_kernels* const kernels = find_kernels(stream_.device());
    if (kernels == nullptr) return;
    const std::size_t bytes = places.size() * sizeof places[0];
    index_ = DeviceMemory(stream_.device(), bytes);
    stream_.copy(index_.data(), places.data(), bytes);
    stream_.synchronize();
    const auto move = [this, kernels, count = places.size()](const Stream& s, bool gathers) {
      const auto* const index = reinterpret_cast<const std::uint32_t*>(index_.data());
      const Device device = s.device();
      device.check(kernels->move_elements(device.number(), s.handle(), reinterpret_cast<std::uint64_t*>(b_.data()),
                                          gathers ? nullptr : index, reinterpret_cast<std::uint64_t*>(a_.data()),
                                          gathers ? index : nullptr, count),
                   "move elements");
    };
    add(plain(gather), [move](const Stream& s) { move(s, true); });
    add(plain(scatter), [move](const Stream& s) { move(s, false); });
  }
  void add_moves(std::string name, const std::vector<lnw_device_run>& runs, const DeviceMemory& from,
                 const DeviceMemory& to) {
    if (!is_wanted(wanted_, name)) return;
    auto moves = std::make_shared<Moves>(stream_.device(), runs);
    add(std::move(name), [&from, &to, moves = std::move(moves)](const Stream& s) {
      moves->launch(s, std::vector<void*>{from.data(), to.data()});
    });
  }

  const std::vector<std::string>& wanted_;
  Stream stream_;
  DeviceMemory a_, b_, host_, peer_, index_;
  IpcMapping lent_;
  std::vector<Transfer> transfers_;
};

Device find_device(const DeviceOptions& options) {
  const std::vector<Device> devices = all_devices();
  require(static_cast<std::size_t>(options.device) < devices.size(), ErrorKind::argument,
          "there are " + std::to_string(devices.size()) + " devices (LANEWAY_DEVICE_PLUGINS, docs/use/gpu.md)");
  return devices[static_cast<std::size_t>(options.device)];
}

void lend(const DeviceOptions& options, std::size_t bytes, int processes, Board& board) {
  const Device borrower = find_device(options);
  if (!borrows(borrower)) return;
  const DeviceMemory memory(next_device(borrower), bytes);
  board.lent = share_device_memory(memory.data());
  board.is_lent = true;
  board.wait_for([&] { return board.finished >= processes; });
}

/// In each iteration every transfer has one turn, in an order drawn anew, the same in all processes.
void measure(const DeviceOptions& options, std::size_t bytes, int processes, int process, Board& board) {
  const Bench bench(find_device(options), bytes, options.transfers, board);
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
        if (board.failed++ == 0) std::cerr << "laneway-bench: " << error.what() << '\n';
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
  std::vector<int> distances;
  bool any_known = false;
  for (const Device& device : all_devices()) {
    devices.push_back(identity(device));
    const lnw_device_info& info = devices.back().info;
    std::cout << "# " << devices.size() - 1 << ": " << info.name << '\n';
    const std::optional<int> distance = network_distance != nullptr ? network_distance(info) : std::nullopt;
    any_known = any_known || distance;
    distances.push_back(distance.value_or(0));
  }
  if (!any_known) distances.clear();
  std::cout << find_device_topology(devices).toml(distances);
  return EXIT_SUCCESS;
}

/// Of a transfer, in each iteration, the time of the process that took longest.
struct Series {
  std::string transfer;
  std::vector<double> seconds;
};

std::vector<Series> all_series(const Board& board, const DeviceOptions& options, int processes) {
  std::vector<Series> all;
  for (std::size_t transfer = 0; transfer < board.count; ++transfer) {
    Series& series = all.emplace_back(Series{board.names[transfer].data(), {}});
    for (std::size_t iteration = 0; iteration < static_cast<std::size_t>(options.iterations); ++iteration) {
      const auto first = board.seconds.begin() + static_cast<std::ptrdiff_t>((iteration * board.count + transfer) *
                                                                             static_cast<std::size_t>(processes));
      series.seconds.push_back(*std::max_element(first, first + processes));
    }
  }
  return all;
}

/// The one of that name, or else the first.
const Series& find(const std::vector<Series>& all, const std::string& transfer) {
  const auto found = std::ranges::find(all, transfer, &Series::transfer);
  return found != all.end() ? *found : all.front();
}

/// What a transfer cannot be faster than.
const Series& ceiling_of(const Series& series, const std::vector<Series>& all) {
  if (series.transfer.starts_with(kernel_rows)) return find(all, series.transfer.substr(kernel_rows.size()));
  const auto found = std::ranges::find(all, plain(series.transfer), &Series::transfer);
  return found != all.end() ? *found : find(all, copy_inside);
}

/// A rate as a fraction of another's, iteration by iteration.
struct Fraction {
  Fraction(const Series& series, const Series& of) {
    const std::vector<double> ratios = paired_ratios(of.seconds, series.seconds);
    median = laneway::median(ratios);
    interval = bootstrap_median(ratios);
  }
  [[nodiscard]] std::string text() const {
    return format_number(median, 2) + " (" + format_number(interval.low, 2) + "-" + format_number(interval.high, 2) +
           ")";
  }

  double median;
  Interval interval;
};

class DeviceReport {
 public:
  explicit DeviceReport(const DeviceOptions& options) : options_(options) {}

  void add(std::size_t bytes, int processes, const std::vector<Series>& all) {
    for (const Series& series : all) {
      const Series& ceiling = ceiling_of(series, all);
      const Fraction of_copy(series, find(all, copy_inside));
      const Fraction of_ceiling(series, ceiling);
      const double rate = static_cast<double>(bytes) * processes / median(series.seconds);
      table_.add({series.transfer, readable_bytes(static_cast<std::int64_t>(bytes)), std::to_string(processes),
                  format_number(rate * 1e-9, 2), of_copy.text(), ceiling.transfer, of_ceiling.text()});
      if (options_.json.empty()) continue;
      const Json record = {{"benchmark", "device"},
                           {"transfer", series.transfer},
                           {"bytes", bytes},
                           {"processes", processes},
                           {"median_s", median(series.seconds)},
                           {"min_s", quantile(series.seconds, 0)},
                           {"p90_s", quantile(series.seconds, 0.9)},
                           {"bytes_per_second", rate},
                           {"d2d_fraction_median", of_copy.median},
                           {"d2d_fraction_ci95", {of_copy.interval.low, of_copy.interval.high}},
                           {"ceiling", ceiling.transfer},
                           {"ceiling_fraction_median", of_ceiling.median},
                           {"ceiling_fraction_ci95", {of_ceiling.interval.low, of_ceiling.interval.high}},
                           {"iterations", options_.iterations},
                           {"batch", options_.batch}};
      append_record(options_.json, record);
    }
  }
  [[nodiscard]] std::string text() const {
    return "GB/s of all processes together, each byte counted once\n" + table_.text();
  }

 private:
  const DeviceOptions& options_;
  Table table_{{"transfer", "bytes", "processes", "GB/s", "of d2d", "ceiling", "of ceiling"}};
};

int measure_device(const DeviceOptions& options) {
  if (options.if_any && has_no_device()) {
    std::cout << "there is no device\n";
    return EXIT_SUCCESS;
  }
  DeviceReport report(options);
  for (const std::size_t bytes : options.bytes)
    for (const int processes : options.processes) {
      const std::shared_ptr<Board> board = make_board();
      const int lenders = is_wanted(options.transfers, copy_from_peer) ? 1 : 0;
      const bool done = in_processes(processes + lenders, *board, [&](int process) {
        if (process == processes) return lend(options, bytes, processes, *board);
        measure(options, bytes, processes, process, *board);
        ++board->finished;
      });
      if (!done) return EXIT_FAILURE;
      report.add(bytes, processes, all_series(*board, options, processes));
    }
  std::cout << report.text();
  return EXIT_SUCCESS;
}

void add_device(CLI::App& command, Action& action) {
  auto options = std::make_shared<DeviceOptions>();
  command.add_option("--device", options->device, "Its number")->check(CLI::NonNegativeNumber)->capture_default_str();
  command.add_option("--bytes", options->bytes, "Bytes of a transfer; default: 64KiB, 1MiB, 16MiB")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(std::size_t{1} << 10, std::size_t{1} << 32));
  command.add_option("--processes", options->processes, "Processes that do it at the same time")
      ->delimiter(',')
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command.add_option("--transfer", options->transfers, "Only these, as the table names them: h2d, d2h, d2d, …")
      ->delimiter(',');
  command.add_option("--batch", options->batch, "Transfers that are put into the stream before it is waited for")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  command.add_flag("--if-any", options->if_any, "Where there is no device, that is no error");
  command.add_option("--iterations", options->iterations, "Turns of each transfer")
      ->check(CLI::Range(2, 10000))
      ->capture_default_str();
  command.add_flag(
      "--links", options->links,
      "Only write the devices' links, and how far they are from the network, as a section of a machine file");
  command.add_option("--json", options->json, "Append one record a line");
  command.callback(
      [options, &action] { action = [options] { return options->links ? show_links() : measure_device(*options); }; });
}

}  // namespace

std::vector<Command> device_commands() {
  return {{"device", Topic::machine, "Copies of a device by direction, pack and unpack kernels, and links; no MPI",
           add_device}};
}

}  // namespace laneway::bench
