// Exchanges that a stream starts and waits for, on host tasks and on a device.
#include <laneway/device_ready.h>
#include <laneway/stream_triggering.h>
#include <laneway/laneway.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <thread>

#include "queue_line.hpp"

namespace laneway::test {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr int host = LNW_QUEUE_HOST;
constexpr int device = -1;  // whatever the first one is

bool has_threads() {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  return level == MPI_THREAD_MULTIPLE;
}

lnw_sim_counters counters() {
  lnw_sim_counters now{};
  sim_device()->counters(&now);
  return now;
}

/// Of the first device.
bool has_stream_values() {
  lnw_device_info info{};
  EXPECT_EQ(device_table()->device_info(0, &info), LNW_DEVICE_OK);
  return (info.features & LNW_DEVICE_HAS_STREAM_VALUES) != 0;
}

/// An all-to-all of both neighbours by messages, which match in order where there are two to one rank. MPI libraries
/// differ there.
void exchange_by_messages(const void* out, void* in, int bytes, MPI_Comm ring) {
  std::array<int, 2> sources{}, destinations{}, weights{};
  MPI_Dist_graph_neighbors(ring, 2, sources.data(), weights.data(), 2, destinations.data(), weights.data());
  std::array<MPI_Request, 4> requests{};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto offset = static_cast<std::ptrdiff_t>(i) * bytes;
    MPI_Irecv(static_cast<char*>(in) + offset, bytes, MPI_BYTE, sources[i], 5, ring, &requests[i]);
    MPI_Isend(static_cast<const char*>(out) + offset, bytes, MPI_BYTE, destinations[i], 5, ring, &requests[2 + i]);
  }
  MPI_Waitall(4, requests.data(), MPI_STATUSES_IGNORE);
}

/// A neighborhood all-to-all on a ring, of some strategy, whose data are known in closed form.
class RingExchange {
 public:
  RingExchange(int kind, MPI_Comm ring, int number, int bytes = 600, const Hints& hints = {})
      : kind_(kind),
        number_(number),
        bytes_(bytes),
        send_(kind, static_cast<std::size_t>(2 * bytes)),
        receive_(kind, static_cast<std::size_t>(2 * bytes)),
        garbage_(kind, Bytes(static_cast<std::size_t>(2 * bytes), 0xDB)) {
    const Info info(hints);
    EXPECT_MPI(LNW_Neighbor_alltoall_init(send_.data(), bytes, MPI_BYTE, receive_.data(), bytes, MPI_BYTE, ring,
                                          info.get(), &request_));
  }
  ~RingExchange() { EXPECT_MPI(LNW_Request_free(&request_)); }
  RingExchange(const RingExchange&) = delete;
  RingExchange& operator=(const RingExchange&) = delete;

  [[nodiscard]] LNW_Request& request() { return request_; }

  /// Everything by the stream alone: garbage is in the receive buffer before, and in the send buffer after.
  void begin(Line& line) {
    HostMemory& out = next(sent_, begun_);
    out.set(sent(rank(), first_ + begun_++));
    line.copy(receive_.data(), garbage_.data(), garbage_.size());
    line.copy(send_.data(), out.data(), out.size());
  }
  void end(Line& line) {
    line.copy(send_.data(), garbage_.data(), garbage_.size());
    line.copy(next(results_, ended_++).data(), receive_.data(), garbage_.size());
  }
  void put(Line& line) {
    begin(line);
    line.start(request_);
    line.wait(request_);
    end(line);
  }
  void expect_results() const {
    for (int i = 0; i < ended_; ++i)
      ASSERT_EQ(results_[static_cast<std::size_t>(i)].bytes(), received(first_ + i))
          << "request " << number_ << " exchange " << first_ + i;
  }
  /// Those so far are no longer looked at, and their memory is used again. The line must be finished.
  void forget_results() {
    first_ += begun_;
    begun_ = ended_ = 0;
  }

 private:
  /// The memory of exchange `number` since those that are forgotten.
  HostMemory& next(std::deque<HostMemory>& memory, int number) const {
    const auto at = static_cast<std::size_t>(number);
    if (at == memory.size()) memory.emplace_back(kind_, garbage_.bytes());
    return memory[at];
  }
  [[nodiscard]] Bytes sent(int from, int exchange) const {
    Bytes data(garbage_.size());
    for (std::size_t i = 0; i < data.size(); ++i)
      data[i] = static_cast<unsigned char>(static_cast<std::size_t>(from * 37 + exchange * 11 + number_ * 5) + i % 101);
    return data;
  }
  [[nodiscard]] Bytes received(int exchange) const {
    const Bytes left = sent((rank() + size() - 1) % size(), exchange);
    const Bytes right = sent((rank() + 1) % size(), exchange);
    Bytes data(left.begin(), left.begin() + bytes_);
    data.insert(data.end(), right.begin() + bytes_, right.end());
    return size() <= 2 ? sent((rank() + 1) % size(), exchange) : data;
  }

  int kind_;
  int number_;
  int bytes_;
  LineMemory send_;
  LineMemory receive_;
  HostMemory garbage_;
  LNW_Request request_ = LNW_REQUEST_NULL;
  std::deque<HostMemory> sent_;
  std::deque<HostMemory> results_;
  int first_ = 0;
  int begun_ = 0;
  int ended_ = 0;
};

class QueueTest : public MpiTest, public testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (!has_threads()) GTEST_SKIP() << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE";
    if (on_device() && device_table() == nullptr) GTEST_SKIP() << "SKIP: no device plugin is loaded";
    ring_ = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  }
  [[nodiscard]] static bool on_device() { return GetParam() == device; }
  [[nodiscard]] static int kind() { return on_device() ? device_kind() : host; }

  Comm ring_;
};

INSTANTIATE_TEST_SUITE_P(Kinds, QueueTest, testing::Values(host, device),
                         [](const auto& one) { return one.param == host ? "Host" : "Device"; });

/// While the stream is held, enqueueing returns: the host waits for nothing. One trigger and one completion each.
TEST_P(QueueTest, OneTriggerAndOneCompletionWhileTheHostWaitsForNothing) {
  constexpr int exchanges = 20;
  RingExchange exchange(kind(), ring_.get(), 0);
  {
    Line line(kind());
    std::atomic<bool> gate{false};
    const bool counts = on_device() && sim_device() != nullptr;
    const lnw_sim_counters before = counts ? counters() : lnw_sim_counters{};
    line.hold(gate);
    for (int i = 0; i < exchanges; ++i) exchange.put(line);
    EXPECT_GT(line.statistics().unfinished, 0);
    EXPECT_EQ(line.statistics().exchanges, 0);
    if (counts) {
      EXPECT_EQ(counters().stream_synchronizes, before.stream_synchronizes);
      EXPECT_EQ(counters().event_synchronizes, before.event_synchronizes);
      EXPECT_EQ(counters().dependencies, before.dependencies + exchanges);
    }
    gate.store(true, std::memory_order_release);
    line.finish();
    if (counts && !has_stream_values()) {
      EXPECT_GE(counters().kernels, before.kernels + 2 * exchanges) << "one for each word";
    }
    const LNW_Queue_statistics statistics = line.statistics();
    EXPECT_EQ(statistics.exchanges, exchanges);
    EXPECT_EQ(statistics.triggers, exchanges);
    EXPECT_EQ(statistics.completions, exchanges);
    EXPECT_EQ(statistics.unfinished, 0);
  }
  exchange.expect_results();
}

/// How often the thread that advances queues has gone to sleep, and how many threads there are.
struct Threads {
  long sleeps = -1;
  int queues = 0;
  int all = 0;
};

Threads threads_now() {
  Threads now;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    ++now.all;
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "laneway-queues") continue;
    ++now.queues;
    std::ifstream status(task.path() / "status");
    for (std::string word; status >> word;)
      if (word == "voluntary_ctxt_switches:") status >> now.sleeps;
  }
  return now;
}

/// All queues have one thread. It sleeps while another one waits for a queue, which advances all of them meanwhile.
TEST_P(QueueTest, WhoWaitsAdvancesAndTheThreadSleeps) {
#ifdef LANEWAY_TEST_SANITIZED
  if (on_device()) GTEST_SKIP() << "SKIP: the sanitizer's threads are counted, too";
#endif
  RingExchange exchange(kind(), ring_.get(), 0);
  RingExchange other_exchange(kind(), ring_.get(), 1);
  {
    const Threads before = threads_now();
    Line line(kind()), other(kind()), third(kind());
    if (!on_device()) {
      EXPECT_EQ(threads_now().all, before.all + 1 - before.queues) << "none for each queue";
    }
    EXPECT_EQ(threads_now().queues, 1);
    std::atomic<bool> gate{false};
    line.hold(gate);
    exchange.put(line);
    other_exchange.put(other);
    bool has_slept = false;
    std::thread opens([&] {
      for (int i = 0; i < 200 && !has_slept; ++i) {
        const Threads first = threads_now();
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        has_slept = threads_now().sleeps == first.sleeps;
      }
      while (other.statistics().unfinished > 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      gate.store(true, std::memory_order_release);
    });
    line.finish();
    opens.join();
    EXPECT_TRUE(has_slept);
    other.finish();
  }
  exchange.expect_results();
  other_exchange.expect_results();
}

/// Several requests are one trigger and one completion, too, and those that nobody waits for in the stream are
/// complete.
TEST_P(QueueTest, SeveralRequestsAtOnce) {
  constexpr int requests = 5;
  std::deque<RingExchange> exchanges;
  for (int i = 0; i < requests; ++i) exchanges.emplace_back(kind(), ring_.get(), i, 100 + 300 * i);
  {
    Line line(kind());
    std::array<LNW_Request, requests> all{};
    for (int i = 0; i < requests; ++i)
      all[static_cast<std::size_t>(i)] = exchanges[static_cast<std::size_t>(i)].request();
    for (int round = 0; round < 4; ++round) {
      for (RingExchange& exchange : exchanges) exchange.begin(line);
      EXPECT_MPI(LNW_Enqueue_startall(line.queue(), requests, all.data()));
      EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), round % 2 ? LNW_QUEUE_ALL_STARTED : requests, all.data()));
      for (RingExchange& exchange : exchanges) exchange.end(line);
    }
    line.finish();
    EXPECT_EQ(line.statistics().triggers, 4);
    EXPECT_EQ(line.statistics().completions, 4);
    EXPECT_MPI(LNW_Enqueue_startall(line.queue(), requests, all.data()));
    line.finish();
    for (RingExchange& exchange : exchanges) EXPECT_MPI(LNW_Start(&exchange.request()));
    EXPECT_MPI(LNW_Waitall(requests, all.data(), MPI_STATUSES_IGNORE));
  }
  for (const RingExchange& exchange : exchanges) exchange.expect_results();
}

/// Programs of enqueues over several queues, any order, exchanges of one beside those of others.
void run_random_program(std::uint64_t seed, std::deque<Line>& lines, std::deque<RingExchange>& exchanges) {
  Random random(static_cast<unsigned>(mix({seed, 38})));
  // Requests change their queues from time to time: they have to wait for these then.
  constexpr std::uint64_t programs_without_wait = 4;
  Random placing(static_cast<unsigned>(mix({seed / programs_without_wait, 39})));
  std::array<std::size_t, 4> line_of{};
  std::array<bool, 4> open{};
  ASSERT_LE(exchanges.size(), open.size());
  for (std::size_t& line : line_of)
    line = static_cast<std::size_t>(pick(placing, 0, static_cast<int>(lines.size()) - 1));
  const int steps = pick(random, 1, 8);
  const auto close = [&](std::size_t i) {
    Line& line = lines[line_of[i]];
    line.wait(exchanges[i].request());
    exchanges[i].end(line);
    open[i] = false;
  };
  for (int step = 0; step < steps; ++step) {
    const auto i = static_cast<std::size_t>(pick(random, 0, static_cast<int>(exchanges.size()) - 1));
    if (open[i]) {
      close(i);
      continue;
    }
    exchanges[i].begin(lines[line_of[i]]);
    lines[line_of[i]].start(exchanges[i].request());
    open[i] = true;
  }
  for (std::size_t i = 0; i < exchanges.size(); ++i)
    if (open[i]) close(i);
  if ((seed + 1) % programs_without_wait == 0)
    for (Line& line : lines) line.finish();
}

/// Queues and requests serve many programs, so that 20,000 of them take a minute: LANEWAY_TEST_PROGRAMS; 6,000 at
/// night, or fewer if the machine is too slow for all: then it says how many. LANEWAY_TEST_FIRST_PROGRAM: the number of
/// the first, where several runs share them.
TEST_P(QueueTest, RandomProgramsOverSeveralQueues) {
  const char* const wanted = std::getenv("LANEWAY_TEST_PROGRAMS");
  constexpr double long_seconds = 100;
  const double begin = MPI_Wtime();
  const char* const first_text = std::getenv("LANEWAY_TEST_FIRST_PROGRAM");
  const int first = first_text != nullptr ? std::atoi(first_text) : 0;
  const int programs = first + (wanted != nullptr ? std::atoi(wanted) : long_tests() ? 6000 : effort(40));
  constexpr int looked_at_together = 50, together = 2000;
  const std::array<const char*, 3> strategies{"direct", "three_step", "auto"};
  for (int done = first; done < programs;) {
    int is_late = wanted == nullptr && MPI_Wtime() - begin > long_seconds;
    MPI_Allreduce(MPI_IN_PLACE, &is_late, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (is_late != 0) {
      if (rank() == 0) std::printf("%d of %d programs in %.0f s\n", done - first, programs - first, long_seconds);
      return;
    }
    std::deque<RingExchange> exchanges;
    for (int i = 0; i < 4; ++i)
      exchanges.emplace_back(kind(), ring_.get(), i, 8 + 350 * i,
                             Hints{{"lnw_strategy", strategies[static_cast<std::size_t>(i) % 3]}});
    std::deque<Line> lines;
    for (int i = 0; i < 3; ++i) lines.emplace_back(kind());
    const int end = std::min(programs, done + together);
    while (done < end) {
      for (int i = 0; i < looked_at_together && done < end; ++i, ++done)
        run_random_program(static_cast<std::uint64_t>(done), lines, exchanges);
      for (Line& line : lines) line.finish();
      for (RingExchange& exchange : exchanges) {
        exchange.expect_results();
        exchange.forget_results();
      }
      if (HasFatalFailure()) return;
    }
  }
}

/// What a neighborhood reduction combines into each neighbour's block, by messages.
void reduce_by_messages(const std::vector<std::int32_t>& out, std::vector<std::int32_t>& into, int count, MPI_Op op,
                        MPI_Comm ring) {
  std::vector<std::int32_t> arrived(out.size());
  exchange_by_messages(out.data(), arrived.data(), count * static_cast<int>(sizeof(std::int32_t)), ring);
  MPI_Reduce_local(arrived.data(), into.data(), 2 * count, MPI_INT32_T, op);
}

template <class T>
Bytes bytes_of(const std::vector<T>& list) {
  const auto* const first = reinterpret_cast<const unsigned char*>(list.data());
  return Bytes(first, first + list.size() * sizeof(T));
}

/// Reductions by themselves: over neighbours in memory of the queue's kind, and over all ranks.
TEST_P(QueueTest, Reductions) {
  constexpr int count = 300;
  const LineMemory send(kind(), 2 * count * sizeof(std::int32_t)), receive(kind(), 2 * count * sizeof(std::int32_t));
  for (const auto& [op, name] : {std::pair{MPI_SUM, "sum"}, {MPI_MAX, "max"}, {MPI_BXOR, "bxor"}}) {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_reduce_init(send.data(), count, MPI_INT32_T, receive.data(), count, MPI_INT32_T, op,
                                        ring_.get(), MPI_INFO_NULL, &request));
    Line line(kind());
    for (int round = 0; round < 6; ++round) {
      std::vector<std::int32_t> out(2 * count), own(2 * count);
      for (int i = 0; i < 2 * count; ++i) {
        out[static_cast<std::size_t>(i)] = (rank() + 3) * (i + 7 * round) - 400;
        own[static_cast<std::size_t>(i)] = 5 * i - 100 * rank() - round;
      }
      std::vector<std::int32_t> expected = own;
      reduce_by_messages(out, expected, count, op, ring_.get());
      const HostMemory from(kind(), bytes_of(out)), before(kind(), bytes_of(own));
      const HostMemory after(kind(), Bytes(2 * count * sizeof(std::int32_t), 0xDB));
      line.copy(send.data(), from.data(), from.size());
      line.copy(receive.data(), before.data(), before.size());
      line.start(request);
      line.wait(request);
      line.copy(after.data(), receive.data(), after.size());
      line.finish();
      ASSERT_EQ(after.bytes(), bytes_of(expected)) << name << " " << round;
    }
    EXPECT_MPI(LNW_Request_free(&request));
  }
  if (on_device()) return;  // those of all ranks are in DenseOperationsInItsMemory
  std::vector<std::int64_t> mine(count), all(count), prefix(count), one(count), share(count);
  std::vector<std::int64_t> expected(count), long_mine(static_cast<std::size_t>(count * size()));
  std::array<LNW_Request, 4> requests{};
  EXPECT_MPI(LNW_Allreduce_init(mine.data(), all.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &requests[0]));
  EXPECT_MPI(LNW_Scan_init(mine.data(), prefix.data(), count, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD, MPI_INFO_NULL,
                           &requests[1]));
  EXPECT_MPI(LNW_Reduce_init(mine.data(), one.data(), count, MPI_INT64_T, MPI_BXOR, size() - 1, MPI_COMM_WORLD,
                             MPI_INFO_NULL, &requests[2]));
  EXPECT_MPI(LNW_Reduce_scatter_block_init(long_mine.data(), share.data(), count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD,
                                           MPI_INFO_NULL, &requests[3]));
  Line line(kind());
  for (int round = 0; round < 6; ++round) {
    for (std::size_t i = 0; i < mine.size(); ++i)
      mine[i] = static_cast<std::int64_t>(i * i) * (rank() + 1) - 900 * round;
    for (std::size_t i = 0; i < long_mine.size(); ++i)
      long_mine[i] = static_cast<std::int64_t>((i * 37 + static_cast<std::size_t>(rank()) * 11) % 101) - round;
    if (round % 2 == 0) {
      EXPECT_MPI(LNW_Enqueue_startall(line.queue(), 4, requests.data()));
      EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), LNW_QUEUE_ALL_STARTED, nullptr));
    } else {
      for (LNW_Request& request : requests) line.start(request);
      for (int i = 3; i >= 0; --i) line.wait(requests[static_cast<std::size_t>(i)]);
    }
    line.finish();
    MPI_Allreduce(mine.data(), expected.data(), count, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    ASSERT_EQ(all, expected) << round;
    MPI_Scan(mine.data(), expected.data(), count, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    ASSERT_EQ(prefix, expected) << round;
    MPI_Reduce(mine.data(), expected.data(), count, MPI_INT64_T, MPI_BXOR, size() - 1, MPI_COMM_WORLD);
    if (rank() == size() - 1) {
      ASSERT_EQ(one, expected) << round;
    }
    MPI_Reduce_scatter_block(long_mine.data(), expected.data(), count, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    ASSERT_EQ(share, expected) << round;
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// laneway::Queue, and a halo that is put into one.
TEST_P(QueueTest, InCxx) {
  if (on_device()) GTEST_SKIP() << "SKIP: the same calls as on host tasks";
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  std::vector<double> u{0, 0}, others{0, 0};
  ::laneway::Halo<double> halo(MPI_COMM_WORLD, {{next}, {1}, {1}}, {{previous}, {1}, {0}}, 2);
  std::int64_t mine = rank() + 1, sum = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Allreduce_init(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  const Persistent reduction(request);
  ::laneway::Queue made, queue = std::move(made);
  EXPECT_EQ(made.get(), LNW_QUEUE_NULL);
  auto add = [&] { u[1] += 1; };
  for (int round = 0; round < 10; ++round) {
    queue.call(add);
    halo.enqueue(queue, u);
  }
  const std::array<const Persistent*, 2> both{&reduction, &halo.operation()};
  queue.start(both);
  queue.wait(both);
  queue.start(reduction);
  queue.wait_for_all_started();
  queue.wait();
  EXPECT_TRUE(queue.progress());
  EXPECT_EQ(u, (std::vector<double>{10, 10}));
  EXPECT_EQ(sum, size() * (size() + 1) / 2);
  EXPECT_EQ(queue.statistics().exchanges, 13);
  EXPECT_EQ(queue.statistics().triggers, 12);
  others[1] = 100 + rank();
  halo.enqueue(queue, others);
  queue.wait();
  EXPECT_EQ(others[0], 100 + previous);
}

/// Dense operations, reductions and partitioned messages are requests as others.
TEST_P(QueueTest, RequestsOfEveryKind) {
  Line line(kind());
  std::int64_t mine = rank() + 1, sum = 0;
  LNW_Request allreduce = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Allreduce_init(&mine, &sum, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &allreduce));
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  std::array<int, 6> out{}, in{};
  std::iota(out.begin(), out.end(), 100 * rank());
  LNW_Request send = LNW_REQUEST_NULL, receive = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  EXPECT_MPI(LNW_Psend_init(out.data(), 3, 2, MPI_INT, next, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &send));
  EXPECT_MPI(LNW_Precv_init(in.data(), 2, 3, MPI_INT, previous, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &receive));
  std::array<LNW_Request, 3> all{allreduce, send, receive};
  EXPECT_MPI(LNW_Match(3, all.data()));
  for (int round = 0; round < 5; ++round) {
    sum = 0;
    in.fill(-1);
    EXPECT_MPI(LNW_Enqueue_startall(line.queue(), 3, all.data()));
    for (int partition = 2; partition >= 0; --partition) EXPECT_MPI(LNW_Enqueue_ready(line.queue(), send, partition));
    EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), 3, all.data()));
    line.finish();
    EXPECT_EQ(sum, size() * (size() + 1) / 2);
    for (int i = 0; i < 6; ++i) EXPECT_EQ(in[static_cast<std::size_t>(i)], 100 * previous + i);
  }
  for (LNW_Request& request : all) EXPECT_MPI(LNW_Request_free(&request));
}

/// Dense operations of all ranks whose buffers are memory of the queue's kind.
TEST_P(QueueTest, DenseOperationsInItsMemory) {
  constexpr int count = 40;
  const auto n = static_cast<std::size_t>(size());
  const std::size_t one = count * sizeof(std::int32_t);
  const LineMemory blocks_out(kind(), n * one), blocks_in(kind(), n * one), gathered(kind(), n * one);
  const LineMemory mine(kind(), one), sums(kind(), one);
  std::array<LNW_Request, 3> requests{};
  EXPECT_MPI(LNW_Alltoall_init(blocks_out.data(), count, MPI_INT32_T, blocks_in.data(), count, MPI_INT32_T,
                               MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  EXPECT_MPI(LNW_Allgather_init(mine.data(), count, MPI_INT32_T, gathered.data(), count, MPI_INT32_T, MPI_COMM_WORLD,
                                MPI_INFO_NULL, &requests[1]));
  EXPECT_MPI(LNW_Allreduce_init(mine.data(), sums.data(), count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                                &requests[2]));
  Line line(kind());
  for (int round = 0; round < 5; ++round) {
    std::vector<std::int32_t> out(n * count), own(count);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int>(i) * 3 + 1000 * rank() + round;
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = static_cast<int>(i) - 7 * rank() + 100 * round;
    std::vector<std::int32_t> all(n * count), every(n * count), sum(count);
    MPI_Alltoall(out.data(), count, MPI_INT32_T, all.data(), count, MPI_INT32_T, MPI_COMM_WORLD);
    MPI_Allgather(own.data(), count, MPI_INT32_T, every.data(), count, MPI_INT32_T, MPI_COMM_WORLD);
    MPI_Allreduce(own.data(), sum.data(), count, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    const HostMemory from(kind(), bytes_of(out)), from_mine(kind(), bytes_of(own));
    const HostMemory to_all(kind(), Bytes(n * one, 0xDB)), to_every(kind(), Bytes(n * one, 0xDB));
    const HostMemory to_sum(kind(), Bytes(one, 0xDB)), garbage(kind(), Bytes(n * one, 0xDC));
    line.copy(blocks_in.data(), garbage.data(), n * one);
    line.copy(gathered.data(), garbage.data(), n * one);
    line.copy(sums.data(), garbage.data(), one);
    line.copy(blocks_out.data(), from.data(), from.size());
    line.copy(mine.data(), from_mine.data(), from_mine.size());
    if (round % 2 == 0) {
      EXPECT_MPI(LNW_Enqueue_startall(line.queue(), 3, requests.data()));
      EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), LNW_QUEUE_ALL_STARTED, nullptr));
    } else {
      for (LNW_Request& request : requests) line.start(request);
      for (std::size_t i = 3; i-- > 0;) line.wait(requests[i]);
    }
    line.copy(blocks_out.data(), garbage.data(), n * one);
    line.copy(mine.data(), garbage.data(), one);
    line.copy(to_all.data(), blocks_in.data(), n * one);
    line.copy(to_every.data(), gathered.data(), n * one);
    line.copy(to_sum.data(), sums.data(), one);
    line.finish();
    ASSERT_EQ(to_all.bytes(), bytes_of(all)) << round;
    ASSERT_EQ(to_every.bytes(), bytes_of(every)) << round;
    ASSERT_EQ(to_sum.bytes(), bytes_of(sum)) << round;
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// Partitions that the stream writes into memory of its kind, one after another, and says that they are ready: of a
/// message to the next rank, and of edges.
TEST_P(QueueTest, PartitionsInItsMemory) {
  constexpr int parts = 3, count = 10;
  constexpr std::size_t part = count * sizeof(std::int32_t), whole = parts * part;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  const LineMemory out(kind(), whole), in(kind(), whole), edges_out(kind(), 2 * whole), edges_in(kind(), 2 * whole);
  std::array<LNW_Request, 3> all{};
  EXPECT_MPI(LNW_Psend_init(out.data(), parts, count, MPI_INT32_T, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]));
  EXPECT_MPI(
      LNW_Precv_init(in.data(), 1, parts * count, MPI_INT32_T, previous, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]));
  const std::array<int, 2> counts{parts * count, parts * count}, places{0, parts * count}, partitions{parts, parts};
  EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(
      edges_out.data(), counts.data(), places.data(), MPI_INT32_T, edges_in.data(), counts.data(), places.data(),
      MPI_INT32_T, partitions.data(), partitions.data(), ring_.get(), MPI_INFO_NULL, &all[2]));
  const auto sent = [](int from, int round) {
    std::vector<std::int32_t> data(2 * parts * count);
    std::iota(data.begin(), data.end(), 10000 * from + 100 * round);
    return data;
  };
  Line line(kind());
  for (int round = 0; round < 5; ++round) {
    const std::vector<std::int32_t> data = sent(rank(), round);
    const HostMemory from(kind(), bytes_of(data)), garbage(kind(), Bytes(2 * whole, 0xDB));
    const HostMemory to(kind(), Bytes(whole, 0xDC)), edges_to(kind(), Bytes(2 * whole, 0xDC));
    std::vector<std::int32_t> expected(2 * parts * count);
    exchange_by_messages(data.data(), expected.data(), static_cast<int>(whole), ring_.get());
    for (const LineMemory* memory : {&out, &in}) line.copy(memory->data(), garbage.data(), whole);
    for (const LineMemory* memory : {&edges_out, &edges_in}) line.copy(memory->data(), garbage.data(), 2 * whole);
    EXPECT_MPI(LNW_Enqueue_startall(line.queue(), 3, all.data()));
    for (int p = parts - 1; p >= 0; --p) {
      const std::size_t at = static_cast<std::size_t>(p) * part;
      line.copy(static_cast<unsigned char*>(out.data()) + at, from.data() + at, part);
      EXPECT_MPI(LNW_Enqueue_ready(line.queue(), all[0], p));
      for (int e = 0; e < 2; ++e) {
        const std::size_t place = static_cast<std::size_t>(e) * whole + at;
        line.copy(static_cast<unsigned char*>(edges_out.data()) + place, from.data() + place, part);
        EXPECT_MPI(LNW_Enqueue_ready_edge(line.queue(), all[2], e, p));
      }
    }
    EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), 3, all.data()));
    line.copy(to.data(), in.data(), whole);
    line.copy(edges_to.data(), edges_in.data(), 2 * whole);
    line.finish();
    const Bytes first = bytes_of(sent(previous, round));
    ASSERT_EQ(to.bytes(), Bytes(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(whole))) << round;
    ASSERT_EQ(edges_to.bytes(), bytes_of(expected)) << round;
  }
  for (LNW_Request& request : all) EXPECT_MPI(LNW_Request_free(&request));
}

/// What a kernel writes when a partition is there. Stands for one: a task of the stream.
void write_word(void* word) {
  lnw_pready_word_on_host(static_cast<std::uint64_t*>(word));
}

/// Nobody but the words says what is ready: tasks of the stream write them, in any order, each after its partition.
/// Some before the exchange starts.
TEST_P(QueueTest, KernelsMakePartitionsReady) {
  constexpr int parts = 5, count = 30;
  constexpr std::size_t part = count * sizeof(std::int32_t), whole = parts * part;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  const LineMemory out(kind(), whole), in(kind(), whole), edges_out(kind(), 2 * whole), edges_in(kind(), 2 * whole);
  std::array<LNW_Request, 3> all{};
  EXPECT_MPI(LNW_Psend_init(out.data(), parts, count, MPI_INT32_T, next, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &all[0]));
  EXPECT_MPI(
      LNW_Precv_init(in.data(), 1, parts * count, MPI_INT32_T, previous, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &all[1]));
  const std::array<int, 2> counts{parts * count, parts * count}, places{0, parts * count}, partitions{parts, parts};
  EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(
      edges_out.data(), counts.data(), places.data(), MPI_INT32_T, edges_in.data(), counts.data(), places.data(),
      MPI_INT32_T, partitions.data(), partitions.data(), ring_.get(), MPI_INFO_NULL, &all[2]));
  std::uint64_t *word = nullptr, *edge_words = nullptr, *same = nullptr;
  EXPECT_MPI(LNW_Pready_word(all[0], 0, &word));
  EXPECT_MPI(LNW_Pready_edge_word(all[2], 0, 0, &edge_words));
  EXPECT_MPI(LNW_Pready_word(all[0], parts - 1, &same));
  EXPECT_EQ(same, word + (parts - 1) * LNW_PREADY_STRIDE);
  EXPECT_MPI(LNW_Pready_edge_word(all[2], 1, 2, &same));
  EXPECT_EQ(same, edge_words + (parts + 2) * LNW_PREADY_STRIDE);
  {
    const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), of_ring(ring_.get(), MPI_ERRORS_RETURN);
    EXPECT_NE(error_text(LNW_Pready_word(all[1], 0, &same)).find("its partitions arrive"), std::string::npos);
    EXPECT_NE(error_text(LNW_Pready_word(all[0], parts, &same)).find("partition is 5"), std::string::npos);
    EXPECT_NE(error_text(LNW_Pready_edge_word(all[2], 2, 0, &same)).find("edge is 2"), std::string::npos);
    EXPECT_NE(LNW_Pready_word(all[0], 0, nullptr), MPI_SUCCESS);
  }
  const auto sent = [](int from, int round) {
    std::vector<std::int32_t> data(2 * parts * count);
    std::iota(data.begin(), data.end(), 10000 * from + 100 * round);
    return data;
  };
  Random random(static_cast<Random::result_type>(7 + rank()));
  Line line(kind());
  for (int round = 0; round < 12; ++round) {
    const std::vector<std::int32_t> data = sent(rank(), round);
    const HostMemory from(kind(), bytes_of(data)), garbage(kind(), Bytes(2 * whole, 0xDB));
    const HostMemory to(kind(), Bytes(whole, 0xDC)), edges_to(kind(), Bytes(2 * whole, 0xDC));
    std::vector<std::int32_t> expected(2 * parts * count);
    exchange_by_messages(data.data(), expected.data(), static_cast<int>(whole), ring_.get());
    for (const LineMemory* memory : {&out, &in}) line.copy(memory->data(), garbage.data(), whole);
    for (const LineMemory* memory : {&edges_out, &edges_in}) line.copy(memory->data(), garbage.data(), 2 * whole);
    // Of the message and the edges alike: (edge or -1, partition).
    std::vector<std::pair<int, int>> order;
    for (int edge = -1; edge < 2; ++edge)
      for (int p = 0; p < parts; ++p) order.emplace_back(edge, p);
    std::ranges::shuffle(order, random);
    const auto early = static_cast<std::size_t>(round % 3) * 4;  // so many before the start
    const auto say = [&](const std::pair<int, int>& one) {
      const auto [edge, p] = one;
      const std::size_t at = static_cast<std::size_t>(p) * part + (edge < 1 ? 0 : whole);
      const LineMemory& memory = edge < 0 ? out : edges_out;
      line.copy(static_cast<unsigned char*>(memory.data()) + at, from.data() + at, part);
      std::uint64_t* const its =
          edge < 0 ? word + p * LNW_PREADY_STRIDE : edge_words + (edge * parts + p) * LNW_PREADY_STRIDE;
      EXPECT_MPI(LNW_Enqueue_call(line.queue(), write_word, its));
    };
    for (std::size_t i = 0; i < early; ++i) say(order[i]);
    EXPECT_MPI(LNW_Enqueue_startall(line.queue(), 3, all.data()));
    for (std::size_t i = early; i < order.size(); ++i) say(order[i]);
    EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), 3, all.data()));
    line.copy(to.data(), in.data(), whole);
    line.copy(edges_to.data(), edges_in.data(), 2 * whole);
    line.finish();
    const Bytes first = bytes_of(sent(previous, round));
    ASSERT_EQ(to.bytes(), Bytes(first.begin(), first.begin() + static_cast<std::ptrdiff_t>(whole))) << round;
    ASSERT_EQ(edges_to.bytes(), bytes_of(expected)) << round;
    for (int p = 0; p < parts; ++p) EXPECT_EQ(word[p * LNW_PREADY_STRIDE], 0U) << "set back";
  }
  for (LNW_Request& request : all) EXPECT_MPI(LNW_Request_free(&request));
}

/// The host starts and waits; a thread stands for the kernel, and is late. LNW_Pready says the others.
TEST_P(QueueTest, WordsAreLookedAtByWaitAndTest) {
  constexpr int parts = 4, count = 1000;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  std::vector<std::int32_t> out(parts * count), in(parts * count);
  std::array<LNW_Request, 2> requests{};
  EXPECT_MPI(
      LNW_Psend_init(out.data(), parts, count, MPI_INT32_T, next, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  EXPECT_MPI(
      LNW_Precv_init(in.data(), parts, count, MPI_INT32_T, previous, 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  std::uint64_t* words = nullptr;
  EXPECT_MPI(LNW_Pready_word(requests[0], 0, &words));
  for (int round = 0; round < 8; ++round) {
    EXPECT_MPI(LNW_Startall(2, requests.data()));
    std::uint64_t* another = nullptr;
    {
      const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      EXPECT_NE(LNW_Pready_word(requests[0], 0, &another), MPI_SUCCESS) << "of one that is active";
    }
    std::ranges::fill(out, 100 * rank() + round);
    std::thread kernel([&] {
      for (int p = parts - 1; p >= 0; --p) {
        std::this_thread::sleep_for(std::chrono::milliseconds((rank() + p) % 3));
        if (p % 2 == round % 2) lnw_pready_word_on_host(words + p * LNW_PREADY_STRIDE);
      }
    });
    for (int p = 1 - round % 2; p < parts; p += 2) EXPECT_MPI(LNW_Pready(p, requests[0]));
    if (round % 3 == 0) {
      EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    } else if (round % 3 == 1) {
      for (int done = 0; done == 0;) EXPECT_MPI(LNW_Testall(2, requests.data(), &done, MPI_STATUSES_IGNORE));
    } else {
      for (LNW_Request& request : requests) EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    }
    kernel.join();
    ASSERT_EQ(in, std::vector<std::int32_t>(in.size(), 100 * previous + round));
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// How many elements go from a rank to another one in a round: none, all that there is room for, or some.
int counted(int from, int to, int round, int room) {
  const std::uint64_t number =
      mix({static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to), static_cast<std::uint64_t>(round), 11});
  return number % 4 == 0 ? 0 : number % 4 == 1 ? room : static_cast<int>(number / 4 % static_cast<unsigned>(room + 1));
}
/// The room that a rank has for another one's.
int room_for(int of, int from) {
  return (of * 3 + from * 5) % 7 * 50;
}

/// An all-to-all whose counts the stream has just written, in memory of its kind.
class CountedExchange {
 public:
  CountedExchange(int kind, MPI_Comm comm, bool is_packed)
      : kind_(kind), comm_(comm), is_packed_(is_packed), n_(static_cast<std::size_t>(size())) {
    int behind = 0, sent = 0;
    for (int peer = 0; peer < size(); ++peer) {
      rooms_.push_back(room_for(rank(), peer));
      receive_at_.push_back(behind + (is_packed ? 0 : 3 * peer));
      behind += rooms_.back();
      send_at_.push_back(sent + 2 * peer);
      sent += room_for(peer, rank());
    }
    received_ = static_cast<std::size_t>(behind + 3 * size() + 1);
    sent_ = static_cast<std::size_t>(sent + 2 * size() + 100);
    out_.emplace(kind, sent_ * 4);
    in_.emplace(kind, received_ * 4);
    counts_.emplace(kind, n_ * 4);
    come_.emplace(kind, n_ * 4);
    EXPECT_MPI(LNW_Alltoallv_counted_init(
        out_->data(), static_cast<int*>(counts_->data()), is_packed ? nullptr : send_at_.data(), MPI_INT32_T,
        in_->data(), static_cast<int*>(come_->data()), rooms_.data(), is_packed ? nullptr : receive_at_.data(),
        MPI_INT32_T, comm, MPI_INFO_NULL, &request_));
  }
  ~CountedExchange() { EXPECT_MPI(LNW_Request_free(&request_)); }
  CountedExchange(const CountedExchange&) = delete;
  CountedExchange& operator=(const CountedExchange&) = delete;

  [[nodiscard]] const std::vector<int>& rooms() const { return rooms_; }

  /// All by the stream. `more`: what this rank has for the next one besides.
  int run(Line& line, int round, int more = 0) {
    std::vector<std::int32_t> counts, data(sent_, -1), in_before(received_, -9);
    int behind = 0;
    for (int to = 0; to < size(); ++to) {
      counts.push_back(counted(rank(), to, round, room_for(to, rank())) + (to == (rank() + 1) % size() ? more : 0));
      const int at = is_packed_ ? behind : send_at_[static_cast<std::size_t>(to)];
      for (int i = 0; i < counts.back() && static_cast<std::size_t>(at + i) < data.size(); ++i)
        data[static_cast<std::size_t>(at + i)] = value(rank(), to, round, i);
      behind += std::max(counts.back(), 0);
    }
    const HostMemory from(kind_, bytes_of(data)), of_counts(kind_, bytes_of(counts));
    const HostMemory before(kind_, bytes_of(in_before)), garbage(kind_, Bytes(sent_ * 4, 0xDB));
    to_.emplace(kind_, Bytes(received_ * 4, 0xDC));
    to_come_.emplace(kind_, Bytes(n_ * 4, 0xDC));
    line.copy(in_->data(), before.data(), received_ * 4);
    line.copy(come_->data(), garbage.data(), n_ * 4);
    line.copy(out_->data(), from.data(), sent_ * 4);
    line.copy(counts_->data(), of_counts.data(), n_ * 4);
    line.start(request_);
    line.wait(request_);
    line.copy(out_->data(), garbage.data(), sent_ * 4);
    line.copy(counts_->data(), garbage.data(), n_ * 4);
    line.copy(to_->data(), in_->data(), received_ * 4);
    line.copy(to_come_->data(), come_->data(), n_ * 4);
    return LNW_Queue_wait(line.queue());
  }
  void expect(int round, const std::vector<int>& more, int refused = -1) const {
    std::vector<std::int32_t> expected(received_, -9), come;
    for (int from = 0; from < size(); ++from) {
      const auto at = static_cast<std::size_t>(from);
      const int sent = counted(from, rank(), round, rooms_[at]) + more[at];
      come.push_back(std::max(sent, 0));
      if (from == refused) continue;
      for (int i = 0; i < sent; ++i)
        expected[static_cast<std::size_t>(receive_at_[at] + i)] = value(from, rank(), round, i);
    }
    ASSERT_EQ(to_come_->bytes(), bytes_of(come)) << round;
    ASSERT_EQ(to_->bytes(), bytes_of(expected)) << round;
  }

 private:
  static std::int32_t value(int from, int to, int round, int i) { return ((from * 16 + to) * 50 + round) * 1000 + i; }

  int kind_;
  MPI_Comm comm_;
  bool is_packed_;
  std::size_t n_;
  std::vector<int> rooms_, send_at_, receive_at_;
  std::size_t received_ = 0, sent_ = 0;
  std::optional<LineMemory> out_, in_, counts_, come_;
  std::optional<HostMemory> to_, to_come_;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

TEST_P(QueueTest, CountsTravelWithTheData) {
  for (const bool is_packed : {false, true}) {
    CountedExchange exchange(kind(), MPI_COMM_WORLD, is_packed);
    Line line(kind());
    for (int round = 0; round < 12; ++round) {
      if (round % 4 == 3 && rank() == round % size()) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      EXPECT_MPI(exchange.run(line, round));
      ASSERT_NO_FATAL_FAILURE(exchange.expect(round, std::vector<int>(static_cast<std::size_t>(size()), 0)));
    }
  }
}

/// Whoever has too much for a rank, or a negative count, and that rank, get an error that says so. All other data
/// arrives, on these ranks, too, and the request goes on.
TEST_P(QueueTest, WhatThereIsNoRoomForIsAnErrorOnBothSides) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CountedExchange exchange(kind(), MPI_COMM_WORLD, false);
  Line line(kind());
  for (int round = 0; round < 6; ++round) {
    const int victim = round % size(), receiver = (victim + 1) % size();
    const int room = room_for(receiver, victim), has = counted(victim, receiver, round, room);
    const int more = round % 3 == 0 ? 0 : round % 3 == 1 ? room + 1 - has : -has - 1;
    const int code = exchange.run(line, round, rank() == victim ? more : 0);
    const bool is_told = more != 0 && (rank() == victim || rank() == receiver);
    EXPECT_EQ(code != MPI_SUCCESS, is_told) << error_text(code);
    if (is_told) {
      expect_error_class(code, MPI_ERR_COUNT);
      const std::string text = error_text(code);
      const std::string place =
          (rank() == victim ? "sendcounts[" + std::to_string(receiver) : "rank " + std::to_string(victim));
      EXPECT_NE(text.find(place), std::string::npos) << text;
      EXPECT_NE(text.find("rank " + std::to_string(rank())), std::string::npos) << text;
    }
    std::vector<int> others(static_cast<std::size_t>(size()), 0);
    if (rank() == receiver) others[static_cast<std::size_t>(victim)] = more;
    ASSERT_NO_FATAL_FAILURE(exchange.expect(round, others, rank() == receiver && more != 0 ? victim : -1));
  }
}

/// The device of one rank refuses its n-th work: it and those that were to get something from it may have an error, and
/// none hangs. The request goes on.
TEST_P(QueueTest, AFailingDeviceOfACountedExchangeIsTold) {
  if (!on_device() || sim_device() == nullptr) GTEST_SKIP() << "SKIP: only the sim device fails when it is told to";
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  constexpr int room = 100;
  const auto n = static_cast<std::size_t>(size());
  const LineMemory out(kind(), n * room * 4), in(kind(), n * room * 4), counts(kind(), n * 4), come(kind(), n * 4);
  const std::vector<int> rooms(n, room);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Alltoallv_counted_init(out.data(), static_cast<int*>(counts.data()), nullptr, MPI_INT, in.data(),
                                        static_cast<int*>(come.data()), rooms.data(), nullptr, MPI_INT, MPI_COMM_WORLD,
                                        MPI_INFO_NULL, &request));
  const std::vector<int> all(n, room);
  int told = 0;
  for (int nth = 0; nth <= 2 * size() + 3; ++nth) {
    const std::vector<int> data(n * room, 100 * rank() + nth);
    ASSERT_EQ(sim_device()->copy_now(counts.data(), all.data(), n * 4), LNW_DEVICE_OK);
    ASSERT_EQ(sim_device()->copy_now(out.data(), data.data(), data.size() * 4), LNW_DEVICE_OK);
    const int victim = nth % size();
    if (rank() == victim) sim_device()->configure(("refuse=" + std::to_string(nth)).c_str());
    EXPECT_MPI(LNW_Start(&request));
    const int code = LNW_Wait(&request, MPI_STATUS_IGNORE);
    if (rank() == victim) sim_device()->configure("refuse=0");
    if (nth == 0) {
      EXPECT_MPI(code);
    }
    told += code != MPI_SUCCESS ? 1 : 0;
    if (code == MPI_SUCCESS) {
      std::vector<int> received(n * room);
      ASSERT_EQ(sim_device()->copy_now(received.data(), in.data(), received.size() * 4), LNW_DEVICE_OK);
      for (std::size_t i = 0; i < received.size(); ++i)
        ASSERT_EQ(received[i], 100 * static_cast<int>(i / room) + nth) << "the device of rank " << victim;
    }
  }
  EXPECT_GT(told, 0);
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_P(QueueTest, ArgumentsOfCountedExchanges) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  std::vector<int> counts(static_cast<std::size_t>(size()), 0), come(counts), rooms(counts);
  int data = 0;
  LNW_Request request = LNW_REQUEST_NULL;
  const auto made = [&](const int* sendcounts, const int* capacities, MPI_Datatype type, void* recvbuf = nullptr) {
    return error_text(LNW_Alltoallv_counted_init(&data, sendcounts, nullptr, type, recvbuf, come.data(), capacities,
                                                 nullptr, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  };
  const bool is_last = rank() == size() - 1;
  const auto expect_told = [&](const std::string& text, const std::string& what) {
    const std::string others = "rank " + std::to_string(size() - 1) + " has reported an error";
    EXPECT_NE(text.find(is_last ? what : others), std::string::npos) << text;
  };
  expect_told(made(is_last ? nullptr : counts.data(), rooms.data(), MPI_INT), "sendcounts is NULL");
  expect_told(made(counts.data(), is_last ? nullptr : rooms.data(), MPI_INT), "recvcapacities is NULL");
  expect_told(made(counts.data(), rooms.data(), is_last ? MPI_DATATYPE_NULL : MPI_INT),
              "sendtype is MPI_DATATYPE_NULL");
  std::vector<int> negative(rooms);
  negative[0] = is_last ? -1 : 0;
  expect_told(made(counts.data(), negative.data(), MPI_INT), "recvcapacities[0] is -1");
  std::vector<int> some(rooms);
  some[0] = is_last ? 1 : 0;
  expect_told(made(counts.data(), some.data(), MPI_INT), "recvbuf is NULL");
  EXPECT_EQ(request, LNW_REQUEST_NULL);
  EXPECT_MPI(LNW_Alltoallv_counted_init(nullptr, counts.data(), nullptr, MPI_INT, nullptr, come.data(), rooms.data(),
                                        nullptr, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  for (int round = 0; round < 2; ++round) {
    EXPECT_MPI(LNW_Start(&request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_P(QueueTest, PartitionsOfEdgesBecomeReadyInTheStream) {
  Line line(kind());
  constexpr int count = 8;
  std::vector<int> out(2 * count), in(2 * count);
  const std::array<int, 2> counts{count, count}, displacements{0, count}, parts{2, 4}, whole{1, 1};
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(out.data(), counts.data(), displacements.data(), MPI_INT,
                                                     in.data(), counts.data(), displacements.data(), MPI_INT,
                                                     parts.data(), whole.data(), ring_.get(), MPI_INFO_NULL, &request));
  std::vector<int> expected(2 * count);
  for (int round = 0; round < 4; ++round) {
    std::iota(out.begin(), out.end(), 1000 * rank() + 100 * round);
    exchange_by_messages(out.data(), expected.data(), count * static_cast<int>(sizeof(int)), ring_.get());
    line.start(request);
    for (int edge = 1; edge >= 0; --edge)
      for (int part = parts[static_cast<std::size_t>(edge)] - 1; part >= 0; --part)
        EXPECT_MPI(LNW_Enqueue_ready_edge(line.queue(), request, edge, part));
    line.wait(request);
    line.finish();
    EXPECT_EQ(in, expected);
  }
  EXPECT_MPI(LNW_Request_free(&request));
}

/// An event that is recorded after the wait is complete only when the data are in place.
TEST_P(QueueTest, EventsAfterTheWaitComeAfterTheData) {
  if (!on_device()) GTEST_SKIP() << "SKIP: a queue of host tasks has no events";
  RingExchange exchange(kind(), ring_.get(), 0, 3000);
  const lnw_device_table& table = *device_table();
  void *other = nullptr, *event = nullptr;
  ASSERT_EQ(table.stream_create(0, 0, &other), LNW_DEVICE_OK);
  ASSERT_EQ(table.event_create(0, 0, &event), LNW_DEVICE_OK);
  {
    Line line(kind());
    for (int i = 0; i < 20; ++i) {
      exchange.begin(line);
      line.start(exchange.request());
      line.wait(exchange.request());
      ASSERT_EQ(table.event_record(0, event, line.stream()), LNW_DEVICE_OK);
      ASSERT_EQ(table.event_synchronize(0, event), LNW_DEVICE_OK);
      exchange.end(line);  // reads in the stream; the next check reads what is there now
      line.finish();
      exchange.expect_results();
    }
  }
  table.event_destroy(0, event);
  table.stream_destroy(0, other);
}

/// What the stream records is replayed any number of times, beside exchanges that are enqueued as usual.
TEST_P(QueueTest, GraphsAreReplayed) {
  if (!on_device() || sim_graphs() == nullptr) GTEST_SKIP() << "SKIP: only the sim device's graphs are recorded here";
  const lnw_sim_graphs* const graphs = sim_graphs();
  constexpr int bytes = 500;
  const LineMemory send(kind(), 2 * bytes), receive(kind(), 2 * bytes);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoall_init(send.data(), bytes, MPI_BYTE, receive.data(), bytes, MPI_BYTE, ring_.get(),
                                        MPI_INFO_NULL, &request));
  RingExchange usual(kind(), ring_.get(), 3);
  Bytes source(2 * bytes), result(2 * bytes), expected(2 * bytes), garbage(2 * bytes, 0xDB);
  {
    Line line(kind());
    std::array<void*, 2> graph{};
    for (void*& one : graph) {
      ASSERT_EQ(graphs->begin(line.stream()), LNW_DEVICE_OK);
      line.copy(send.data(), source.data(), source.size());
      line.start(request);
      line.wait(request);
      line.copy(send.data(), garbage.data(), garbage.size());
      line.copy(result.data(), receive.data(), result.size());
      ASSERT_EQ(graphs->end(line.stream(), &one), LNW_DEVICE_OK);
    }
    for (int round = 0; round < 12; ++round) {
      for (std::size_t i = 0; i < source.size(); ++i)
        source[i] = static_cast<unsigned char>(static_cast<std::size_t>(rank() * 31 + round * 7) + i);
      exchange_by_messages(source.data(), expected.data(), bytes, ring_.get());
      ASSERT_EQ(graphs->launch(graph[round % 3 == 0 ? 1 : 0], line.stream()), LNW_DEVICE_OK);
      if (round % 2 == 0) usual.put(line);
      line.finish();
      EXPECT_EQ(result, expected) << round;
    }
    EXPECT_EQ(line.statistics().exchanges, 12 + 6);
    const Handler handler(ring_.get(), MPI_ERRORS_RETURN);
    EXPECT_NE(LNW_Start(&request), MPI_SUCCESS) << "it belongs to the queue, whose graphs may be launched again";
    for (void* one : graph) graphs->destroy(one);
  }
  usual.expect_results();
  EXPECT_MPI(LNW_Request_free(&request));
}

/// Nobody but the caller advances such a queue.
TEST_P(QueueTest, TheHostMayAdvanceQueues) {
  RingExchange exchange(kind(), ring_.get(), 0);
  {
    Line line(kind(), LNW_QUEUE_PROGRESS_BY_HOST);
    for (int i = 0; i < 3; ++i) {
      exchange.put(line);
      for (int flag = 0; i != 2 && !flag;) EXPECT_MPI(LNW_Queue_progress(line.queue(), &flag));
    }
    line.finish();
  }
  exchange.expect_results();
}

class QueueErrors : public QueueTest {
 protected:
  void expect_error(int code, const char* part) {
    EXPECT_NE(code, MPI_SUCCESS) << part;
    if (!is_mpich()) {
      EXPECT_NE(error_text(code).find(part), std::string::npos) << error_text(code);
    }
  }
};

INSTANTIATE_TEST_SUITE_P(Kinds, QueueErrors, testing::Values(host, device),
                         [](const auto& one) { return one.param == host ? "Host" : "Device"; });

TEST_P(QueueErrors, OfQueues) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  LNW_Queue queue = LNW_QUEUE_NULL;
  int dummy = 0;
  expect_error(LNW_Queue_init(&queue, 9, nullptr), "kind is 9");
  expect_error(LNW_Queue_init(nullptr, kind(), nullptr), "queue is NULL");
  expect_error(LNW_Queue_init(&queue, LNW_QUEUE_HOST, &dummy), "stream is given to a queue of host tasks");
  expect_error(LNW_Queue_wait(LNW_QUEUE_NULL), "queue is LNW_QUEUE_NULL");
  expect_error(LNW_Queue_free(&queue), "queue is LNW_QUEUE_NULL");
  if (on_device()) {
    if (sim_device() != nullptr)
      expect_error(LNW_Queue_init(&queue, kind(), &dummy), "stream is none of a device of sim");
    expect_error(LNW_Queue_init(&queue, LNW_QUEUE_HIP, nullptr), "no plugin for devices of amd is loaded");
  }
  EXPECT_EQ(queue, LNW_QUEUE_NULL);
}

TEST_P(QueueErrors, OfRequests) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(ring_.get(), MPI_ERRORS_RETURN);
  RingExchange exchange(kind(), ring_.get(), 0);
  LNW_Request& request = exchange.request();
  LNW_Request null = LNW_REQUEST_NULL;
  LNW_Queue freed = LNW_QUEUE_NULL;
  std::atomic<bool> gate{false};
  {
    Line line(kind()), other(kind());
    expect_error(LNW_Enqueue_start(LNW_QUEUE_NULL, &request), "queue is LNW_QUEUE_NULL");
    expect_error(LNW_Enqueue_start(line.queue(), nullptr), "request is NULL");
    expect_error(LNW_Enqueue_start(line.queue(), &null), "request is LNW_REQUEST_NULL");
    expect_error(LNW_Enqueue_wait(line.queue(), &request), "has not been started in this queue");
    std::array<LNW_Request, 2> twice{request, request};
    expect_error(LNW_Enqueue_startall(line.queue(), 2, twice.data()), "appears twice");
    expect_error(LNW_Enqueue_ready(line.queue(), request, 0), "has not been started in this queue");
    line.hold(gate);
    exchange.begin(line);
    line.start(request);
    expect_error(LNW_Enqueue_start(line.queue(), &request), "has been started in this queue already");
    expect_error(LNW_Enqueue_start(other.queue(), &request), "is in another queue");
    expect_error(LNW_Enqueue_wait(other.queue(), &request), "is in another queue");
    expect_error(LNW_Enqueue_ready(line.queue(), request, 0), "neither LNW_Psend_init nor LNW_Precv_init");
    expect_error(LNW_Enqueue_ready_edge(line.queue(), request, 0, 0), "no edges with partitions");
    expect_error(LNW_Start(&request), "is in a queue");
    expect_error(LNW_Wait(&request, MPI_STATUS_IGNORE), "is in a queue");
    int flag = 0;
    expect_error(LNW_Test(&request, &flag, MPI_STATUS_IGNORE), "is in a queue");
    expect_error(LNW_Request_set_stream(request, LNW_STREAM_NONE), "is in a queue");
    expect_error(LNW_Request_free(&request), "is in a queue");
    LNW_Queue busy = line.queue();
    expect_error(LNW_Queue_free(&busy), "queue has work that is not done");
    gate.store(true, std::memory_order_release);
    line.wait(request);
    exchange.end(line);
    line.finish();
    freed = line.queue();
  }
  expect_error(LNW_Queue_free(&freed), "queue has been freed");
  const std::array<std::pair<LNW_Queue, const char*>, 2> none{
      {{LNW_QUEUE_NULL, "queue is LNW_QUEUE_NULL"}, {freed, "queue has been freed"}}};
  for (const auto& [queue, text] : none) {
    int flag = 0;
    LNW_Queue_statistics statistics{};
    expect_error(LNW_Enqueue_start(queue, &request), text);
    expect_error(LNW_Enqueue_startall(queue, 1, &request), text);
    expect_error(LNW_Enqueue_wait(queue, &request), text);
    expect_error(LNW_Enqueue_waitall(queue, LNW_QUEUE_ALL_STARTED, nullptr), text);
    expect_error(LNW_Enqueue_ready(queue, request, 0), text);
    expect_error(LNW_Enqueue_ready_edge(queue, request, 0, 0), text);
    expect_error(LNW_Enqueue_call(
                     queue, [](void*) {}, nullptr),
                 text);
    expect_error(LNW_Queue_wait(queue), text);
    expect_error(LNW_Queue_progress(queue, &flag), text);
    expect_error(LNW_Queue_get_statistics(queue, &statistics), text);
  }
  exchange.expect_results();
  EXPECT_MPI(LNW_Start(&request));
  Line line(kind());
  const int code = LNW_Enqueue_start(line.queue(), &request);
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  if (code != MPI_SUCCESS) expect_error(code, "request is active");
  if (code == MPI_SUCCESS) ADD_FAILURE() << "an active request was enqueued";
}

TEST_P(QueueErrors, OfDevices) {
  int devices = 0;
  if (on_device()) device_table()->device_count(&devices);
  if (devices < 2) GTEST_SKIP() << "SKIP: there are no two devices";
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(ring_.get(), MPI_ERRORS_RETURN);
  RingExchange exchange(kind(), ring_.get(), 0);
  void* stream = nullptr;
  ASSERT_EQ(device_table()->stream_create(1, 0, &stream), LNW_DEVICE_OK);
  LNW_Queue queue = LNW_QUEUE_NULL;
  EXPECT_MPI(LNW_Queue_init(&queue, kind(), stream));
  expect_error(LNW_Enqueue_start(queue, &exchange.request()), "stream is of device 1");
  EXPECT_MPI(LNW_Queue_free(&queue));
  device_table()->stream_destroy(1, stream);
}

/// A partition that is ready twice fails in the stream: the host hears of it when it waits, and nothing hangs.
TEST_P(QueueErrors, InTheStreamAreToldByTheWait) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  Line line(kind());
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  const std::array<int, 2> out{rank(), rank() + 100};
  std::array<int, 2> in{};
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  std::array<LNW_Request, 2> both{};
  EXPECT_MPI(LNW_Psend_init(out.data(), 2, 1, MPI_INT, next, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &both[0]));
  EXPECT_MPI(LNW_Precv_init(in.data(), 1, 2, MPI_INT, previous, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &both[1]));
  EXPECT_MPI(LNW_Enqueue_startall(line.queue(), 2, both.data()));
  for (const int partition : {0, 0, 1}) EXPECT_MPI(LNW_Enqueue_ready(line.queue(), both[0], partition));
  EXPECT_MPI(LNW_Enqueue_waitall(line.queue(), 2, both.data()));
  expect_error(LNW_Queue_wait(line.queue()), "is ready already");
  EXPECT_MPI(LNW_Queue_wait(line.queue()));
  EXPECT_EQ(in, (std::array<int, 2>{previous, previous + 100}));
  for (LNW_Request& request : both) EXPECT_MPI(LNW_Request_free(&request));
}

/// Sends and receives that are started together are one trigger, in the peer's names, too.
TEST_P(QueueTest, MessagesOfThePeerAreOneTrigger) {
  MPIS_Queue queue{};
  void* stream = nullptr;
  if (on_device()) device_table()->stream_create(0, 0, &stream);
  ASSERT_EQ(MPIS_Queue_init(&queue, on_device() ? GPU_MEM_OPS : THREAD, on_device() ? &stream : nullptr), MPIS_SUCCESS);
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  constexpr int messages = 6;
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  std::array<int, messages> out{}, in{};
  std::array<MPIS_Request, 2 * messages> requests{};
  for (std::size_t i = 0; i < messages; ++i) {
    const int tag = static_cast<int>(i);
    EXPECT_EQ(MPIS_Send_init(&out[i], 1, MPI_INT, next, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2 * i]),
              MPIS_SUCCESS);
    EXPECT_EQ(MPIS_Recv_init(&in[i], 1, MPI_INT, previous, tag, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2 * i + 1]),
              MPIS_SUCCESS);
  }
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    std::iota(out.begin(), out.end(), 100 * rank() + 10 * round);
    in.fill(-1);
    EXPECT_EQ(MPIS_Enqueue_startall(queue, 2 * messages, requests.data()), MPIS_SUCCESS);
    EXPECT_EQ(MPIS_Enqueue_waitall(queue), MPIS_SUCCESS);
    EXPECT_EQ(MPIS_Queue_wait(queue), MPIS_SUCCESS);
    for (std::size_t i = 0; i < messages; ++i) EXPECT_EQ(in[i], 100 * previous + 10 * round + static_cast<int>(i));
  }
  LNW_Queue_statistics statistics{};
  EXPECT_MPI(LNW_Queue_get_statistics(reinterpret_cast<LNW_Queue>(queue), &statistics));
  EXPECT_EQ(statistics.triggers, rounds);
  EXPECT_EQ(statistics.completions, rounds);
  EXPECT_EQ(statistics.exchanges, 2 * messages * rounds);
  EXPECT_EQ(MPIS_Request_freeall(2 * messages, requests.data()), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Queue_free(&queue), MPIS_SUCCESS);
  if (stream != nullptr) device_table()->stream_destroy(0, stream);
}

/// Every call of the peer.
TEST_P(QueueTest, NamesOfThePeer) {
  MPIS_Queue queue{}, second{};
  void* stream = nullptr;
  if (on_device()) device_table()->stream_create(0, 0, &stream);
  const MPIS_Queue_type type = on_device() ? GPU_MEM_OPS : THREAD;
  ASSERT_EQ(MPIS_Queue_init(&queue, type, on_device() ? &stream : nullptr), MPIS_SUCCESS);
  ASSERT_EQ(MPIS_Queue_init(&second, THREAD, nullptr), MPIS_SUCCESS);
  const int next = (rank() + 1) % size(), previous = (rank() + size() - 1) % size();
  void* memory = nullptr;
  ASSERT_EQ(MPIS_Alloc_mem(sizeof(int), MPI_INFO_NULL, &memory), MPIS_SUCCESS);
  int& out = *static_cast<int*>(memory);
  int in = -1, ready_in = -1, ready_out = 0, sum = 0;
  std::array<MPIS_Request, 6> requests{};
  EXPECT_MPI(LNW_Comm_prepare(MPI_COMM_WORLD));
  EXPECT_EQ(MPIS_Send_init(&out, 1, MPI_INT, next, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Recv_init(&in, 1, MPI_INT, previous, 1, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Rsend_init(&ready_out, 1, MPI_INT, previous, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]),
            MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Recv_init(&ready_in, 1, MPI_INT, next, 2, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[3]), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[4]), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Allreduce_init(&out, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[5]),
            MPIS_SUCCESS);
  int matched = 0;
  MPI_Status status;
  MPIS_Request match = nullptr;
  std::array<MPI_Status, 6> statuses{};
  EXPECT_EQ(MPIS_Match(&requests[0], &status), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Matchall(6, requests.data(), statuses.data()), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Imatch(&requests[1], &match), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Wait(&match, &status), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Is_matched(&requests[1], &matched), MPIS_SUCCESS);
  EXPECT_EQ(matched, 1);
  EXPECT_EQ(MPIS_Queue_match(queue, &requests[2], &status), MPIS_SUCCESS);
  for (int round = 0; round < 3; ++round) {
    out = 10 * rank() + round;
    ready_out = -out;
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(MPIS_Enqueue_start(queue, &requests[i]), MPIS_SUCCESS);
    EXPECT_EQ(MPIS_Enqueue_startall(second, 2, &requests[4]), MPIS_SUCCESS);
    EXPECT_EQ(MPIS_Enqueue_waitall(queue), MPIS_SUCCESS);
    EXPECT_EQ(MPIS_Queue_wait(queue), MPIS_SUCCESS);
    if (round == 0) {
      EXPECT_EQ(MPIS_Wait(&requests[4], &status), MPIS_SUCCESS);
      EXPECT_EQ(MPIS_Waitall(2, &requests[4], statuses.data()), MPIS_SUCCESS);
    }
    EXPECT_EQ(MPIS_Queue_wait(second), MPIS_SUCCESS);
    EXPECT_EQ(in, 10 * previous + round);
    EXPECT_EQ(ready_in, -(10 * next + round));
    EXPECT_EQ(sum, 10 * size() * (size() - 1) / 2 + size() * round);
  }
  EXPECT_EQ(MPIS_Request_free(&requests[0]), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Request_freeall(5, &requests[1]), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Free_mem(memory), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Queue_free(&second), MPIS_SUCCESS);
  EXPECT_EQ(MPIS_Queue_free(&queue), MPIS_SUCCESS);
  if (stream != nullptr) device_table()->stream_destroy(0, stream);
}

}  // namespace
}  // namespace laneway::test
