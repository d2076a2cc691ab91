#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <memory>
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

// Messages between two ranks: channels beside what an MPI library offers for the same.

namespace laneway::bench {

namespace {

struct ChannelOptions {
  std::vector<std::int64_t> bytes = {8, 64, 512, 4096, 65536};
  std::vector<int> threads;  ///< none: one puts messages of all sizes
  int segments = 2;          ///< used in turn
  int iterations = 40;
  std::string transport = "auto";
  std::string json;
};

/// The first rank and the last one: on different nodes, if there are several.
struct Ends {
  MPI_Comm comm = MPI_COMM_NULL;
  bool is_first = false;
  int peer = 0;
};

/// Threads that have no core of their own wait for others that have none.
constexpr int tries_before_yield = 64;

/// One channel there and one back.
class Channels {
 public:
  Channels(const Ends& ends, std::int64_t bytes, int segments, const std::string& transport) {
    MPI_Info info = MPI_INFO_NULL;
    MPI_Info_create(&info);
    MPI_Info_set(info, "lnw_transport", transport.c_str());
    const auto create = [&](int role, LNW_Channel& channel) {
      LNW_Channel_create(ends.comm, ends.peer, role, bytes, segments, info, &channel);
    };
    create(LNW_CHANNEL_SEND, to_);
    create(LNW_CHANNEL_RECEIVE, from_);
    MPI_Info_free(&info);
  }
  ~Channels() {
    LNW_Channel_free(&to_);
    LNW_Channel_free(&from_);
  }
  Channels(const Channels&) = delete;
  Channels& operator=(const Channels&) = delete;

  void put(int segment, const void* data, std::int64_t bytes) const {
    int flag = 0;
    for (int tries = 1; LNW_Channel_test_free(to_, segment, &flag) == MPI_SUCCESS && !flag; ++tries)
      if (tries % tries_before_yield == 0) std::this_thread::yield();
    LNW_Channel_put(to_, segment, data, bytes);
  }
  void take(int segment) const {
    void* data = nullptr;
    MPI_Count bytes = 0;
    LNW_Channel_wait(from_, segment, &data, &bytes);
    LNW_Channel_release(from_, segment);
  }
  /// What came before is released while the next is on its way, so that no answer waits for that.
  void take_in_turn(int segment) {
    if (taken_ >= 0) LNW_Channel_release(from_, taken_);
    taken_ = segment;
    void* data = nullptr;
    MPI_Count bytes = 0;
    LNW_Channel_wait(from_, segment, &data, &bytes);
  }
  [[nodiscard]] std::string carrier() const {
    MPI_Info info = MPI_INFO_NULL;
    LNW_Channel_get_info(to_, &info);
    std::array<char, MPI_MAX_INFO_VAL + 1> text{};
    int found = 0;
    MPI_Info_get(info, "lnw_carrier", MPI_MAX_INFO_VAL, text.data(), &found);
    MPI_Info_free(&info);
    return text.data();
  }

 private:
  LNW_Channel to_ = LNW_CHANNEL_NULL;
  LNW_Channel from_ = LNW_CHANNEL_NULL;
  int taken_ = -1;  // a segment that has not been released
};

/// The library's persistent messages.
class PersistentMessages {
 public:
  PersistentMessages(const Ends& ends, std::vector<std::byte>& send, std::vector<std::byte>& receive) {
    const int bytes = static_cast<int>(send.size());
    MPI_Send_init(send.data(), bytes, MPI_BYTE, ends.peer, 0, ends.comm, &send_);
    MPI_Recv_init(receive.data(), bytes, MPI_BYTE, ends.peer, 0, ends.comm, &receive_);
  }
  ~PersistentMessages() {
    MPI_Request_free(&send_);
    MPI_Request_free(&receive_);
  }
  PersistentMessages(const PersistentMessages&) = delete;
  PersistentMessages& operator=(const PersistentMessages&) = delete;

  void send() {
    MPI_Start(&send_);
    MPI_Wait(&send_, MPI_STATUS_IGNORE);
  }
  void receive() {
    MPI_Start(&receive_);
    MPI_Wait(&receive_, MPI_STATUS_IGNORE);
  }

 private:
  MPI_Request send_ = MPI_REQUEST_NULL;
  MPI_Request receive_ = MPI_REQUEST_NULL;
};

/// MPI_Put, a flush, and an empty message that says so.
class PutWindow {
 public:
  PutWindow(const Ends& ends, const std::vector<std::byte>& send) : ends_(ends), send_(send) {
    MPI_Comm_set_errhandler(ends.comm, MPI_ERRORS_RETURN);
    if (MPI_Win_allocate(static_cast<MPI_Aint>(send.size()), 1, MPI_INFO_NULL, ends.comm, &memory_, &window_) !=
        MPI_SUCCESS)
      window_ = MPI_WIN_NULL;
    MPI_Comm_set_errhandler(ends.comm, MPI_ERRORS_ARE_FATAL);
    if (window_ != MPI_WIN_NULL) MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  }
  ~PutWindow() {
    if (window_ == MPI_WIN_NULL) return;
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  PutWindow(const PutWindow&) = delete;
  PutWindow& operator=(const PutWindow&) = delete;

  /// Not on every network: Open MPI 4 has none over TCP.
  [[nodiscard]] bool exists() const { return window_ != MPI_WIN_NULL; }

  void send() {
    const int bytes = static_cast<int>(send_.size());
    MPI_Put(send_.data(), bytes, MPI_BYTE, ends_.peer, 0, bytes, MPI_BYTE, window_);
    MPI_Win_flush(ends_.peer, window_);
    MPI_Send(nullptr, 0, MPI_BYTE, ends_.peer, 1, ends_.comm);
  }
  void receive() {
    MPI_Recv(nullptr, 0, MPI_BYTE, ends_.peer, 1, ends_.comm, MPI_STATUS_IGNORE);
    MPI_Win_sync(window_);
  }

 private:
  Ends ends_;
  const std::vector<std::byte>& send_;
  void* memory_ = nullptr;
  MPI_Win window_ = MPI_WIN_NULL;
};

/// There and back, half of it.
std::function<void()> there_and_back(const Ends& ends, std::function<void()> send, std::function<void()> receive) {
  return [first = ends.is_first, send = std::move(send), receive = std::move(receive)] {
    if (first) {
      send();
      receive();
    } else {
      receive();
      send();
    }
  };
}

void time_channel(const Ends& ends, std::int64_t bytes, const ChannelOptions& options, Json& rows) {
  std::vector<std::byte> send(static_cast<std::size_t>(bytes)), receive(send.size());
  Channels channels(ends, bytes, options.segments, options.transport);
  PersistentMessages messages(ends, send, receive);
  PutWindow window(ends, send);
  int puts = 0, takes = 0;
  std::vector<std::function<void()>> actions = {
      there_and_back(
          ends, [&] { channels.put(puts++ % options.segments, send.data(), bytes); },
          [&] { channels.take_in_turn(takes++ % options.segments); }),
      there_and_back(
          ends, [&] { messages.send(); }, [&] { messages.receive(); })};
  if (window.exists())
    actions.push_back(there_and_back(
        ends, [&] { window.send(); }, [&] { window.receive(); }));
  const Samples samples = bench::measure(ends.comm, actions, {.warmup = 5, .timed = options.iterations});
  std::array<double, 3> seconds{};
  for (std::size_t a = 0; a < actions.size(); ++a) seconds[a] = median(samples.seconds[a]) / 2;
  rows.push_back({{"bytes", bytes},
                  {"carrier", channels.carrier()},
                  {"channel_s", seconds[0]},
                  {"persistent_s", seconds[1]},
                  {"put_flush_message_s", window.exists() ? Json(seconds[2]) : nullptr}});
  if (!ends.is_first) return;
  std::cout << bytes << " B: channel (" << channels.carrier() << ") " << format_seconds(seconds[0])
            << ", persistent message " << format_seconds(seconds[1]) << " ("
            << format_number(seconds[0] / seconds[1], 2) << "), MPI_Put + flush + message ";
  if (window.exists())
    std::cout << format_seconds(seconds[2]) << " (" << format_number(seconds[0] / seconds[2], 2) << ")\n";
  else
    std::cout << "not on this network\n";
}

/// Threads put 8 bytes each into segments of their own; as many threads take them.
void report_threads(const Ends& ends, int threads, const ChannelOptions& options, Json& rows) {
  constexpr int segments_each = 16, rounds = 2000;
  const Channels channels(ends, 8, threads * segments_each, options.transport);
  (void)channels.carrier();
  std::vector<double> rates;
  for (int repeat = 0; repeat < 7; ++repeat) {
    MPI_Barrier(ends.comm);
    const double begin = MPI_Wtime();
    {
      std::vector<std::jthread> all;
      for (int t = 0; t < threads; ++t)
        all.emplace_back([&, t] {
          const double value = t;
          for (int round = 0; round < rounds; ++round)
            for (int s = t * segments_each; s < (t + 1) * segments_each; ++s)
              ends.is_first ? channels.put(s, &value, sizeof value) : channels.take(s);
        });
    }
    rates.push_back(threads * segments_each * rounds / longest_of_ranks(MPI_Wtime() - begin, ends.comm));
  }
  rows.push_back({{"threads", threads}, {"puts_per_second", median(rates)}});
  if (ends.is_first)
    std::cout << threads << " threads: " << format_number(median(rates) * 1e-6, 2) << " million puts of 8 B a second\n";
}

int report_channel(const Run& run, const ChannelOptions& options) {
  if (run.ranks < 2) {
    std::cout << "laneway-bench channel needs 2 ranks\n";
    return EXIT_FAILURE;
  }
  // What prepares a communicator reads the hint there.
  setenv("LANEWAY_TRANSPORT", options.transport.c_str(), 1);
  LNW_Comm_prepare(run.comm);
  MPI_Comm pair = MPI_COMM_NULL;
  const bool is_end = run.rank == 0 || run.rank == run.ranks - 1;
  MPI_Comm_split(run.comm, is_end ? 0 : MPI_UNDEFINED, run.rank, &pair);
  Json sizes = Json::array(), threads = Json::array();
  if (is_end) {
    LNW_Comm_prepare(pair);
    const Ends ends{pair, run.rank == 0, run.rank == 0 ? 1 : 0};
    for (const int count : options.threads) report_threads(ends, count, options, threads);
    for (const std::int64_t bytes : options.bytes)
      if (options.threads.empty()) time_channel(ends, bytes, options, sizes);
    MPI_Comm_free(&pair);
  }
  quiet_barrier(run.comm);
  if (!run.is_root()) return EXIT_SUCCESS;
  const Json json = {{"benchmark", "channel"},         {"ranks", run.ranks}, {"nodes", run.nodes.count},
                     {"transport", options.transport}, {"sizes", sizes},     {"threads", threads}};
  if (!options.json.empty()) append_record(options.json, json);
  return EXIT_SUCCESS;
}

void add_channel(CLI::App& command, Action& action) {
  auto options = std::make_shared<ChannelOptions>();
  command.add_option("--bytes", options->bytes, "Sizes of messages")->delimiter(',')->capture_default_str();
  command.add_option("--threads", options->threads, "Only the rate of short puts, by so many threads")->delimiter(',');
  command.add_option("--segments", options->segments, "Of a channel, used in turn")
      ->check(CLI::Range(1, 1'000'000))
      ->capture_default_str();
  command.add_option("--iterations", options->iterations, "Samples of each")->capture_default_str();
  command.add_option("--transport", options->transport, "As lnw_transport")->capture_default_str();
  command.add_option("--json", options->json, "Append one object to this file");
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(
          "", [&](const Run& run) { return report_channel(run, *options); },
          options->threads.empty() ? MPI_THREAD_SINGLE : MPI_THREAD_MULTIPLE);
    };
  });
}

}  // namespace

std::vector<Command> channel_commands() {
  return {
      {"channel", Topic::exchanges, "Channels beside persistent messages and MPI_Put, between two ranks", add_channel}};
}

}  // namespace laneway::bench
