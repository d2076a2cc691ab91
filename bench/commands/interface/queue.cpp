#include <laneway/queue.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
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
#include "runtime/device/device.hpp"

// Exchanges that a stream starts and waits for, beside the same driven by the host.

namespace laneway::bench {

namespace {

struct QueueOptions {
  std::vector<std::int64_t> bytes = {8, 4096, 65536};
  std::vector<int> degrees = {2, 4, 8};
  int iterations = 1000;
  int repeats = 5;
  bool cost = false;
  bool jacobi = false;
  std::string json;
};

using Seconds = std::chrono::duration<double>;

/// The stream of a queue: of the first device that a plugin knows, or of host tasks.
class Place {
 public:
  Place() {
    const std::vector<Device> all = all_devices();
    if (!all.empty()) stream_ = Stream(all.front());
    const std::string vendor = all.empty() ? "host" : all.front().plugin().vendor();
    int kind = LNW_QUEUE_HOST;
    for (const DeviceVendor& known : device_vendors())
      if (known.name == vendor) kind = known.queue_kind;
    name_ = vendor;
    LNW_Queue_init(&queue_, kind, has_device() ? stream_.handle() : nullptr);
  }
  ~Place() { LNW_Queue_free(&queue_); }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  [[nodiscard]] LNW_Queue queue() const { return queue_; }
  [[nodiscard]] bool has_device() const { return static_cast<bool>(stream_); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const Stream& stream() const { return stream_; }
  /// Stands for a kernel: holds the stream, and needs no core.
  void kernel(double& seconds) const {
    LNW_Enqueue_call(
        queue_, [](void* argument) { std::this_thread::sleep_for(Seconds(*static_cast<double*>(argument))); },
        &seconds);
  }
  void finish() const { LNW_Queue_wait(queue_); }

 private:
  Stream stream_;
  std::string name_;
  LNW_Queue queue_ = LNW_QUEUE_NULL;
};

/// Memory that the place's device can address.
class PlaceMemory {
 public:
  PlaceMemory(const Place& place, std::size_t bytes) {
    if (place.has_device())
      device_ = DeviceMemory(place.stream().device(), bytes);
    else
      host_.resize(bytes);
  }
  [[nodiscard]] void* data() { return host_.empty() ? static_cast<void*>(device_.data()) : host_.data(); }

 private:
  DeviceMemory device_;
  std::vector<std::byte> host_;
};

/// An all-to-all with `degree` neighbours on a ring, or with one on the other node.
class NeighborExchange {
 public:
  NeighborExchange(const Run& run, const Place& place, std::vector<int> neighbors, std::int64_t bytes)
      : send_(place, neighbors.size() * static_cast<std::size_t>(bytes) + 1),
        receive_(place, neighbors.size() * static_cast<std::size_t>(bytes) + 1) {
    const int degree = static_cast<int>(neighbors.size());
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    LNW_Topology_create(run.comm, degree, neighbors.data(), MPI_UNWEIGHTED, degree, neighbors.data(), MPI_UNWEIGHTED,
                        MPI_INFO_NULL, &topology);
    LNW_Neighbor_alltoall_init_topology(send_.data(), static_cast<int>(bytes), MPI_BYTE, receive_.data(),
                                        static_cast<int>(bytes), MPI_BYTE, topology, MPI_INFO_NULL, &request_);
    LNW_Topology_free(&topology);
  }
  ~NeighborExchange() { LNW_Request_free(&request_); }
  NeighborExchange(const NeighborExchange&) = delete;
  NeighborExchange& operator=(const NeighborExchange&) = delete;

  [[nodiscard]] LNW_Request& request() { return request_; }
  void enqueue_start(const Place& place) { LNW_Enqueue_start(place.queue(), &request_); }
  void enqueue_wait(const Place& place) { LNW_Enqueue_wait(place.queue(), &request_); }

 private:
  PlaceMemory send_;
  PlaceMemory receive_;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

std::vector<int> on_ring(const Run& run, int degree) {
  std::vector<int> neighbors;
  for (int distance = 1; static_cast<int>(neighbors.size()) < degree; ++distance)
    for (const int sign : {1, -1})
      neighbors.push_back((run.rank + sign * (distance % run.ranks) + run.ranks) % run.ranks);
  return neighbors;
}

/// Seconds that a call takes the host for each of `iterations`, and until all is done.
struct Cost {
  double host = 0;
  double total = 0;
};

Cost time_enqueued(const Run& run, const Place& place, NeighborExchange& exchange, int iterations) {
  MPI_Barrier(run.comm);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) {
    exchange.enqueue_start(place);
    exchange.enqueue_wait(place);
  }
  const double enqueued = MPI_Wtime();
  place.finish();
  return {(enqueued - begin) / iterations, (MPI_Wtime() - begin) / iterations};
}

/// The host waits for the stream before each exchange, or gives it to the exchange.
Cost time_host_driven(const Run& run, const Place& place, NeighborExchange& exchange, int iterations) {
  if (place.has_device()) LNW_Request_set_stream(exchange.request(), place.stream().handle());
  MPI_Barrier(run.comm);
  const double begin = MPI_Wtime();
  for (int i = 0; i < iterations; ++i) {
    LNW_Start(&exchange.request());
    LNW_Wait(&exchange.request(), MPI_STATUS_IGNORE);
  }
  place.finish();
  const double seconds = (MPI_Wtime() - begin) / iterations;
  if (place.has_device()) LNW_Request_set_stream(exchange.request(), LNW_STREAM_NONE);
  return {seconds, seconds};
}

void report_costs(const Run& run, const Place& place, const QueueOptions& options, Json& rows) {
  for (const int degree : options.degrees)
    for (const std::int64_t bytes : options.bytes) {
      NeighborExchange exchange(run, place, on_ring(run, degree), bytes);
      std::vector<double> host, total, driven;
      for (int repeat = 0; repeat < options.repeats; ++repeat) {
        const Cost cost = time_enqueued(run, place, exchange, options.iterations);
        host.push_back(longest_of_ranks(cost.host, run.comm));
        total.push_back(longest_of_ranks(cost.total, run.comm));
        driven.push_back(longest_of_ranks(time_host_driven(run, place, exchange, options.iterations).total, run.comm));
      }
      LNW_Queue_statistics statistics{};
      LNW_Queue_get_statistics(place.queue(), &statistics);
      rows.push_back({{"degree", degree},
                      {"bytes", bytes},
                      {"enqueue_s", median(host)},
                      {"enqueued_exchange_s", median(total)},
                      {"host_driven_exchange_s", median(driven)},
                      {"exchanges", statistics.exchanges},
                      {"triggers", statistics.triggers},
                      {"completions", statistics.completions}});
      if (run.is_root())
        std::cout << "degree " << degree << ", " << bytes << " B: enqueued by the host in "
                  << format_seconds(median(host)) << ", done in " << format_seconds(median(total)) << "; host-driven "
                  << format_seconds(median(driven)) << "; " << statistics.triggers << " triggers and "
                  << statistics.completions << " completions of " << statistics.exchanges << " exchanges so far\n";
    }
}

/// Kernels of the length of an exchange, one after the other, each beside the exchange of the one before.
void report_jacobi(const Run& run, const Place& place, const QueueOptions& options, Json& rows) {
  for (const std::int64_t bytes : options.bytes) {
    NeighborExchange exchange(run, place, on_ring(run, 2), bytes);
    const int few = std::max(1, options.iterations / 10);
    (void)time_enqueued(run, place, exchange, few);
    double alone = longest_of_ranks(time_host_driven(run, place, exchange, few).total, run.comm);
    double boundary = alone / 20;
    const auto timed = [&](const std::function<void()>& iteration) {
      MPI_Barrier(run.comm);
      const double begin = MPI_Wtime();
      for (int i = 0; i < options.iterations; ++i) iteration();
      const double enqueued = MPI_Wtime() - begin;
      place.finish();
      return std::pair{longest_of_ranks(enqueued, run.comm), longest_of_ranks(MPI_Wtime() - begin, run.comm)};
    };
    std::vector<double> kernels, enqueued, host, driven;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      kernels.push_back(timed([&] {
                          place.kernel(alone);
                          place.kernel(boundary);
                        }).second);
      const auto by_stream = timed([&] {
        exchange.enqueue_start(place);
        place.kernel(alone);
        exchange.enqueue_wait(place);
        place.kernel(boundary);
      });
      host.push_back(by_stream.first);
      enqueued.push_back(by_stream.second);
      if (place.has_device()) LNW_Request_set_stream(exchange.request(), place.stream().handle());
      driven.push_back(timed([&] {
                         LNW_Start(&exchange.request());
                         place.kernel(alone);
                         LNW_Wait(&exchange.request(), MPI_STATUS_IGNORE);
                         if (!place.has_device()) place.finish();
                         place.kernel(boundary);
                       }).second);
      if (place.has_device()) LNW_Request_set_stream(exchange.request(), LNW_STREAM_NONE);
    }
    const double network = alone * options.iterations;
    const auto idle = [&](const std::vector<double>& seconds) { return median(seconds) - median(kernels); };
    const auto hidden = [&](const std::vector<double>& seconds) { return 1 - idle(seconds) / network; };
    rows.push_back({{"bytes", bytes},
                    {"iterations", options.iterations},
                    {"exchange_alone_s", alone},
                    {"kernels_s", median(kernels)},
                    {"enqueued_s", median(enqueued)},
                    {"host_of_enqueued_s", median(host)},
                    {"set_stream_s", median(driven)},
                    {"hidden_enqueued", hidden(enqueued)},
                    {"hidden_set_stream", hidden(driven)},
                    {"device_idle_enqueued_s", idle(enqueued)},
                    {"device_idle_set_stream_s", idle(driven)}});
    if (run.is_root())
      std::cout << bytes << " B, exchange alone " << format_seconds(alone) << ": kernels "
                << format_seconds(median(kernels)) << ", enqueued " << format_seconds(median(enqueued)) << " (hidden "
                << format_number(100 * hidden(enqueued), 1) << "%, device idle " << format_seconds(idle(enqueued))
                << ", host busy " << format_seconds(median(host)) << "), host-driven set_stream "
                << format_seconds(median(driven)) << " (hidden " << format_number(100 * hidden(driven), 1)
                << "%, device idle " << format_seconds(idle(driven)) << ")\n";
  }
}

/// A column of a matrix in rows, on the device of the first rank and of the last one: it goes there, and then back. The
/// plans pack and unpack it. Between ranks that are ends of nothing nothing moves.
class PackedPingPong {
 public:
  PackedPingPong(const Run& run, const Place& place, std::int64_t bytes)
      : rows_(std::max<std::int64_t>(1, bytes / std::int64_t{sizeof(double)})),
        last_(run.ranks - 1),
        rank_(run.rank),
        matrix_(place, static_cast<std::size_t>(rows_ * columns) * sizeof(double)) {
    if (place.has_device())
      fill(place);
    else
      std::memcpy(matrix_.data(), initial(rank_ == 0).data(),
                  static_cast<std::size_t>(rows_ * columns) * sizeof(double));
    MPI_Datatype column = MPI_DATATYPE_NULL;
    MPI_Type_vector(static_cast<int>(rows_), 1, columns, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    init(run, 0, last_, column, ping_);
    init(run, last_, 0, column, pong_);
    MPI_Type_free(&column);
  }
  ~PackedPingPong() {
    LNW_Request_free(&ping_);
    LNW_Request_free(&pong_);
  }
  PackedPingPong(const PackedPingPong&) = delete;
  PackedPingPong& operator=(const PackedPingPong&) = delete;

  [[nodiscard]] bool is_end() const { return rank_ == 0 || rank_ == last_; }
  /// There and back. What has come is worked on by a kernel before it goes on.
  void enqueue(const Place& place, double& kernel) {
    LNW_Enqueue_start(place.queue(), &ping_);
    LNW_Enqueue_wait(place.queue(), &ping_);
    if (rank_ == last_) place.kernel(kernel);
    LNW_Enqueue_start(place.queue(), &pong_);
    LNW_Enqueue_wait(place.queue(), &pong_);
    if (rank_ == 0) place.kernel(kernel);
  }
  /// The host waits for each message. The stream orders kernels and messages; that of host tasks is waited for.
  void drive(const Place& place, double& kernel) {
    for (LNW_Request* request : {&ping_, &pong_}) {
      LNW_Start(request);
      LNW_Wait(request, MPI_STATUS_IGNORE);
      if (rank_ != (request == &ping_ ? last_ : 0)) continue;
      place.kernel(kernel);
      if (!place.has_device()) place.finish();
    }
  }
  void set_stream(lnw_device_stream stream) {
    for (LNW_Request* request : {&ping_, &pong_}) LNW_Request_set_stream(*request, stream);
  }
  /// Whether both ends have the first one's column, and nothing beside it was written.
  [[nodiscard]] bool is_right(const Place& place) {
    std::vector<double> now(static_cast<std::size_t>(rows_ * columns));
    if (place.has_device()) {
      place.stream().copy(now.data(), matrix_.data(), now.size() * sizeof(double));
      place.stream().synchronize();
    } else {
      std::memcpy(now.data(), matrix_.data(), now.size() * sizeof(double));
    }
    std::vector<double> expected = initial(rank_ == 0);
    for (std::int64_t row = 0; row < rows_; ++row) expected[static_cast<std::size_t>(row * columns)] = element(row);
    return !is_end() || now == expected;
  }

 private:
  static constexpr int columns = 4;
  static double element(std::int64_t row) { return 1.0 + static_cast<double>(row) / 3; }

  [[nodiscard]] std::vector<double> initial(bool has_column) const {
    std::vector<double> all(static_cast<std::size_t>(rows_ * columns), -1.0 - rank_);
    for (std::int64_t row = 0; has_column && row < rows_; ++row)
      all[static_cast<std::size_t>(row * columns)] = element(row);
    return all;
  }
  void fill(const Place& place) {
    const std::vector<double> all = initial(rank_ == 0);
    place.stream().copy(matrix_.data(), all.data(), all.size() * sizeof(double));
    place.stream().synchronize();
  }
  void init(const Run& run, int from, int to, MPI_Datatype column, LNW_Request& request) {
    const int in = rank_ == to ? 1 : 0, out = rank_ == from ? 1 : 0;
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    LNW_Topology_create(run.comm, in, &from, MPI_UNWEIGHTED, out, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, &topology);
    // A rank alone sends to itself, and must not write what it reads.
    void* const received = from == to ? static_cast<double*>(matrix_.data()) + 1 : matrix_.data();
    LNW_Neighbor_alltoall_init_topology(matrix_.data(), 1, column, received, 1, column, topology, MPI_INFO_NULL,
                                        &request);
    LNW_Topology_free(&topology);
  }

  std::int64_t rows_;
  int last_;
  int rank_;
  PlaceMemory matrix_;
  LNW_Request ping_ = LNW_REQUEST_NULL;
  LNW_Request pong_ = LNW_REQUEST_NULL;
};

/// Seconds of a round trip, and in them those in which an end's device has no kernel of the user's to run.
struct RoundTrip {
  double seconds = 0;
  double idle = 0;
};

/// Messages of packed data there and back, each beside the other: by the queue, and by the host.
bool report_ping_pong(const Run& run, const Place& place, const QueueOptions& options, Json& rows) {
  if (run.ranks < 2) {
    if (run.is_root()) std::cout << "ping-pong: left out with one rank\n";
    return true;
  }
  bool all_right = true;
  for (const std::int64_t bytes : options.bytes) {
    PackedPingPong exchange(run, place, bytes);
    double kernel = 0;
    const auto timed = [&](int iterations, const std::function<void()>& round) {
      MPI_Barrier(run.comm);
      const double begin = MPI_Wtime();
      for (int i = 0; i < iterations && exchange.is_end(); ++i) round();
      place.finish();
      if (place.has_device()) place.stream().synchronize();
      return longest_of_ranks((MPI_Wtime() - begin) / iterations, run.comm);
    };
    const auto enqueued_round = [&] { exchange.enqueue(place, kernel); };
    const auto driven_round = [&] { exchange.drive(place, kernel); };
    const int few = std::max(1, options.iterations / 10);
    if (place.has_device()) exchange.set_stream(place.stream().handle());
    (void)timed(few, driven_round);
    kernel = timed(few, driven_round) / 2;  // as long as a message
    std::vector<double> kernels, enqueued, driven;
    for (int repeat = 0; repeat < options.repeats; ++repeat) {
      kernels.push_back(timed(options.iterations, [&] { place.kernel(kernel); }));
      driven.push_back(timed(options.iterations, driven_round));
      if (place.has_device()) exchange.set_stream(LNW_STREAM_NONE);
      enqueued.push_back(timed(options.iterations, enqueued_round));
      if (place.has_device()) exchange.set_stream(place.stream().handle());
    }
    int right = exchange.is_right(place) ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_MIN, run.comm);
    all_right = all_right && right != 0;
    const auto trip = [&](const std::vector<double>& seconds) {
      return RoundTrip{median(seconds), std::max(0.0, median(seconds) - median(kernels))};
    };
    const RoundTrip by_queue = trip(enqueued), by_host = trip(driven);
    rows.push_back({{"bytes", bytes},
                    {"packed", true},
                    {"kernel_s", median(kernels)},
                    {"enqueued_s", by_queue.seconds},
                    {"host_driven_s", by_host.seconds},
                    {"device_idle_enqueued_s", by_queue.idle},
                    {"device_idle_host_driven_s", by_host.idle},
                    {"verified", right != 0}});
    if (run.is_root())
      std::cout << bytes << " B of a column there and back, a kernel of " << format_seconds(median(kernels))
                << " at each end: enqueued " << format_seconds(by_queue.seconds) << " (device idle "
                << format_seconds(by_queue.idle) << "), host-driven " << format_seconds(by_host.seconds)
                << " (device idle " << format_seconds(by_host.idle) << ")"
                << (right != 0 ? "\n" : "; WRONG: an end has other bytes\n");
  }
  return all_right;
}

int report_queue(const Run& run, const QueueOptions& options) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) {
    if (run.is_root()) std::cout << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE\n";
    return EXIT_SUCCESS;
  }
  connect_all(run);
  const bool all = !options.cost && !options.jacobi;
  Json costs = Json::array(), jacobi = costs, there_and_back = costs;
  std::string kind;
  bool is_right = true;
  {
    const Place place;
    kind = place.name();
    if (run.is_root()) std::cout << "streams of: " << kind << "\n";
    if (all || options.cost) report_costs(run, place, options, costs);
    if (all) is_right = report_ping_pong(run, place, options, there_and_back);
    if (all || options.jacobi) report_jacobi(run, place, options, jacobi);
  }
  quiet_barrier(run.comm);
  const int status = is_right ? EXIT_SUCCESS : EXIT_FAILURE;
  if (!run.is_root() || options.json.empty()) return status;
  append_record(options.json, {{"benchmark", "queue"},
                               {"ranks", run.ranks},
                               {"nodes", run.nodes.count},
                               {"streams", kind},
                               {"halo", costs},
                               {"ping_pong", there_and_back},
                               {"jacobi", jacobi}});
  return status;
}

void add_queue(CLI::App& command, Action& action) {
  auto options = std::make_shared<QueueOptions>();
  command.add_option("--bytes", options->bytes, "Bytes for each neighbour")->delimiter(',')->capture_default_str();
  command.add_option("--degree", options->degrees, "Numbers of neighbours on the ring of ranks")
      ->delimiter(',')
      ->capture_default_str();
  command.add_option("--iterations", options->iterations, "Exchanges of a sample, and iterations of the Jacobi loop")
      ->capture_default_str();
  command.add_option("--repeats", options->repeats, "Samples of each")->capture_default_str();
  command.add_flag("--cost", options->cost, "Only what an exchange costs the host, and how long it takes");
  command.add_flag("--jacobi", options->jacobi, "Only the loop of kernels that hide exchanges");
  command.add_option("--json", options->json, "Append one object to this file");
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(
          "", [&](const Run& run) { return report_queue(run, *options); }, MPI_THREAD_MULTIPLE);
    };
  });
}

}  // namespace

std::vector<Command> queue_commands() {
  return {{"queue", Topic::exchanges, "Exchanges that a stream starts and waits for, beside those that the host drives",
           add_queue}};
}

}  // namespace laneway::bench
