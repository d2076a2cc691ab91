// Functions that are called when requests and partitions are complete, and edges one after another as they come.
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "exchange.hpp"
#include "laneway/laneway.hpp"
#include "partitions.hpp"

namespace laneway::test {
namespace {

/// What a function has seen.
struct Calls {
  std::atomic<int> number{0};
  std::atomic<int> code{MPI_SUCCESS};
  std::atomic<int> inside_start{0};  // by the thread that starts
  static inline thread_local bool is_starting = false;

  static void count(int code, void* state) {
    auto& calls = *static_cast<Calls*>(state);
    calls.code = code;
    calls.inside_start += is_starting;
    ++calls.number;
  }
};

struct Starting {
  Starting() { Calls::is_starting = true; }
  ~Starting() { Calls::is_starting = false; }
};

void start(LNW_Request& request) {
  const Starting starting;
  EXPECT_MPI(LNW_Start(&request));
}

class Continuations : public MpiTest {
 protected:
  [[nodiscard]] static int next() { return (rank() + 1) % size(); }
  [[nodiscard]] static int previous() { return (rank() + size() - 1) % size(); }
};

/// A request of each rank's sum.
struct Sum {
  explicit Sum(MPI_Comm comm = MPI_COMM_WORLD) {
    EXPECT_MPI(LNW_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
  }
  ~Sum() {
    if (request != LNW_REQUEST_NULL) EXPECT_MPI(LNW_Request_free(&request));
  }
  Sum(const Sum&) = delete;
  Sum& operator=(const Sum&) = delete;

  int mine = rank();
  int sum = -1;
  LNW_Request request = LNW_REQUEST_NULL;
};

int sum_of_ranks() {
  return size() * (size() - 1) / 2;
}

TEST_F(Continuations, OnceForEachStartWhenAllHasCome) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(11, rank(), size()));
  struct Seen : Calls {
    Exchange* exchange = nullptr;
    int wrong = 0;
  };
  for (const Op op : all_ops) {
    std::uint64_t seed = 0;
    for (const Choice& choice : choices(uneven_machine())) {
      if (++seed % 3 != static_cast<std::uint64_t>(op) % 3) continue;
      for (const char* const progress : {"auto", "thread"}) {
        Exchange exchange(op, graph.get(), seed, true);
        Hints hints = choice.hints();
        hints.emplace_back("lnw_progress", progress);
        const Info info(hints);
        LNW_Request request = LNW_REQUEST_NULL;
        EXPECT_MPI(exchange.init(info.get(), &request));
        Seen seen;
        seen.exchange = &exchange;
        const auto function = [](int code, void* state) {
          auto& calls = *static_cast<Seen*>(state);
          calls.wrong += !calls.exchange->arrived();
          Calls::count(code, static_cast<Calls*>(&calls));
        };
        EXPECT_MPI(LNW_Request_on_complete(request, function, &seen));
        for (int turn = 1; turn <= 3; ++turn) {
          exchange.fill(turn);
          exchange.reference();
          start(request);
          if (turn == 2) {
            for (int flag = 0; !flag;) EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
          } else {
            EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
          }
          EXPECT_EQ(seen.number, turn) << choice.text() << ", " << progress;
        }
        EXPECT_EQ(seen.wrong, 0) << choice.text();
        EXPECT_EQ(seen.inside_start, 0) << choice.text();
        EXPECT_MPI(LNW_Request_on_complete(request, nullptr, nullptr));
        exchange.fill(9);
        exchange.reference();
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_TRUE(exchange.arrived());
        EXPECT_EQ(seen.number, 3) << "after it has been taken away";
        EXPECT_MPI(LNW_Request_on_complete(request, function, &seen));
        EXPECT_MPI(LNW_Request_free(&request));  // while it is set
      }
    }
  }
}

/// No rank calls the library between start and the end.
TEST_F(Continuations, OfExactSumsByTheThread) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE";
  if (size() == 1) GTEST_SKIP() << "SKIP: the sum of one rank is complete when it has started";
  const Info info(Hints{{"lnw_progress", "thread"}, {"lnw_order", "exact"}});
  const double mine = 0.1 * (rank() + 1);
  double sum = -1;
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Allreduce_init(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, info.get(), &request));
  Calls calls;
  EXPECT_MPI(LNW_Request_on_complete(request, Calls::count, &calls));
  EXPECT_MPI(LNW_Start(&request));
  for (const double end = MPI_Wtime() + 20; calls.number == 0 && MPI_Wtime() < end;) std::this_thread::yield();
  EXPECT_EQ(calls.number, 1);
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  double expected = 0;
  for (int other = 0; other < size(); ++other) expected += 0.1 * (other + 1);
  EXPECT_NEAR(sum, expected, 1e-12);
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(Continuations, OfNonblockingOperations) {
  const Comm graph = make_graph(MPI_COMM_WORLD, random_shape(12, rank(), size()));
  for (int turn = 0; turn < 4; ++turn) {
    Exchange exchange(Op::alltoallv, graph.get(), static_cast<std::uint64_t>(turn), false);
    exchange.fill(turn);
    exchange.reference();
    std::array<LNW_Request, 2> requests{};
    std::array<Calls, 2> calls;
    int mine = rank(), sum = -1;
    EXPECT_MPI(exchange.nonblocking(&requests[0]));
    EXPECT_MPI(LNW_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[1]));
    for (std::size_t i = 0; i < 2; ++i) {
      const Starting setting;
      EXPECT_MPI(LNW_Request_on_complete(requests[i], Calls::count, &calls[i]));
    }
    EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_TRUE(exchange.arrived());
    EXPECT_EQ(sum, sum_of_ranks());
    for (const Calls& each : calls) {
      EXPECT_EQ(each.number, 1);
      EXPECT_EQ(each.inside_start, 0);
    }
    EXPECT_EQ(requests[0], LNW_REQUEST_NULL);
  }
}

TEST_F(Continuations, InWaitallWaitanyAndWaitsome) {
  constexpr int number = 4;
  std::vector<std::unique_ptr<Sum>> sums;
  std::array<LNW_Request, number> requests{};
  std::array<Calls, number> calls;
  for (std::size_t i = 0; i < number; ++i) {
    sums.push_back(std::make_unique<Sum>());
    requests[i] = sums[i]->request;
    if (i != 2) EXPECT_MPI(LNW_Request_on_complete(requests[i], Calls::count, &calls[i]));
  }
  for (int turn = 1; turn <= 6; ++turn) {
    {
      const Starting starting;
      EXPECT_MPI(LNW_Startall(number, requests.data()));
    }
    if (turn % 3 == 0) {
      EXPECT_MPI(LNW_Waitall(number, requests.data(), MPI_STATUSES_IGNORE));
    } else if (turn % 3 == 1) {
      for (int index = 0; index != MPI_UNDEFINED;)
        EXPECT_MPI(LNW_Waitany(number, requests.data(), &index, MPI_STATUS_IGNORE));
    } else {
      std::array<int, number> indices{};
      for (int count = 0; count != MPI_UNDEFINED;)
        EXPECT_MPI(LNW_Waitsome(number, requests.data(), &count, indices.data(), MPI_STATUSES_IGNORE));
    }
    for (std::size_t i = 0; i < number; ++i) {
      EXPECT_EQ(sums[i]->sum, sum_of_ranks());
      EXPECT_EQ(calls[i].number, i == 2 ? 0 : turn);
      EXPECT_EQ(calls[i].inside_start, 0);
    }
  }
}

/// Edges of a random graph, in uneven numbers of partitions that arrive, some of none.
class UnevenEdges {
 public:
  static constexpr int count = 6;

  struct Place : Calls {
    UnevenEdges* edges = nullptr;
    int edge = 0, partition = 0, wrong = 0;
  };

  UnevenEdges(std::uint64_t seed, MPI_Info info)
      : shape_(random_shape(seed, rank(), size())), graph_(make_graph(MPI_COMM_WORLD, shape_)) {
    const std::size_t ins = shape_.sources.size(), outs = shape_.destinations.size();
    const std::vector<int> counts(std::max(ins, outs), count), sends(outs, 2);
    std::vector<int> places(counts.size());
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(i) * count;
    for (std::size_t i = 0; i < ins; ++i) receives_.push_back(static_cast<int>(i) % 4);
    for (const int partitions : receives_) arrivals_ += static_cast<std::size_t>(partitions);
    places_ = std::vector<Place>(arrivals_);
    data_.assign(outs * count + 1, rank());
    received_.assign(ins * count + 1, -1);
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(data_.data(), counts.data(), places.data(), MPI_INT,
                                                       received_.data(), counts.data(), places.data(), MPI_INT,
                                                       sends.data(), receives_.data(), graph_.get(), info, &request));
  }
  ~UnevenEdges() { EXPECT_MPI(LNW_Request_free(&request)); }
  UnevenEdges(const UnevenEdges&) = delete;
  UnevenEdges& operator=(const UnevenEdges&) = delete;

  /// Null: none.
  void set(LNW_Completion_function* function) {
    std::size_t next = 0;
    for (int e = 0; e < static_cast<int>(receives_.size()); ++e)
      for (int p = 0; p < receives_[static_cast<std::size_t>(e)]; ++p) {
        Place& place = places_[next++];
        place.edges = this;
        place.edge = e;
        place.partition = p;
        EXPECT_MPI(LNW_Request_on_arrival(request, e, p, function, &place));
      }
    EXPECT_MPI(LNW_Request_on_complete(request, function == nullptr ? nullptr : Calls::count, &end));
  }
  void start_and_ready() {
    std::ranges::fill(received_, -1);
    start(request);
    for (int e = 0; e < static_cast<int>(shape_.destinations.size()); ++e)
      for (const int p : {1, 0}) EXPECT_MPI(LNW_Pready_edge(request, e, p));
  }
  /// Every partition is given once, with its data there.
  void expect_each_edge(bool waits) {
    std::vector<int> given(receives_.size());
    int edge = 7, partition = 7;
    for (std::size_t n = 0; n < arrivals_; ++n) {
      int flag = waits;
      if (waits) EXPECT_MPI(LNW_Wait_any_edge(request, &edge, &partition));
      while (!flag) EXPECT_MPI(LNW_Test_any_edge(request, &edge, &partition, &flag));
      ASSERT_NE(edge, MPI_UNDEFINED) << n << " of " << arrivals_;
      EXPECT_EQ(given[static_cast<std::size_t>(edge)] & (1 << partition), 0) << "given twice";
      given[static_cast<std::size_t>(edge)] |= 1 << partition;
      EXPECT_TRUE(has_come(edge, partition));
    }
    expect_none();
  }
  void expect_none() {
    int edge = 7, partition = 7;
    EXPECT_MPI(LNW_Wait_any_edge(request, &edge, &partition));
    EXPECT_EQ(edge, MPI_UNDEFINED);
    EXPECT_EQ(partition, MPI_UNDEFINED);
  }
  void expect_calls(int number) const {
    EXPECT_EQ(end.number, number);
    for (const Place& place : places_) {
      EXPECT_EQ(place.number, number);
      EXPECT_EQ(place.wrong, 0);
      EXPECT_EQ(place.inside_start, 0);
    }
  }
  [[nodiscard]] bool has_come(int edge, int partition) const {
    const auto e = static_cast<std::size_t>(edge);
    const int first = count * partition / receives_[e], last = count * (partition + 1) / receives_[e];
    const int* const block = &received_[e * count];
    return std::all_of(block + first, block + last, [&](int value) { return value == shape_.sources[e]; });
  }
  void move_to_other_memory() {
    std::vector<int> other(received_.size(), -1);
    received_.swap(other);
    EXPECT_MPI(LNW_Request_set_buffers(request, data_.data(), received_.data()));
  }

  LNW_Request request = LNW_REQUEST_NULL;
  Calls end;

 private:
  Shape shape_;
  Comm graph_;
  std::vector<int> receives_, data_, received_;
  std::size_t arrivals_ = 0;
  std::vector<Place> places_;
};

/// Arrivals come before the end, each once; so do edges that are waited for.
TEST_F(Continuations, OfEdgesAndTheirPartitions) {
  const auto look = [](int code, void* state) {
    auto& place = *static_cast<UnevenEdges::Place*>(state);
    place.wrong += !place.edges->has_come(place.edge, place.partition) || place.edges->end.number != place.number;
    Calls::count(code, static_cast<Calls*>(&place));
  };
  for (const char* const transport : {"auto", "p2p"}) {
    const Info info(Hints{{"lnw_transport", transport}});
    UnevenEdges edges(13, info.get());
    edges.expect_none();  // inactive
    for (int turn = 1; turn <= 5; ++turn) {
      if (turn == 2) edges.set(look);
      if (turn == 4) edges.set(nullptr);
      if (turn == 5) edges.move_to_other_memory();
      edges.start_and_ready();
      edges.expect_each_edge(turn % 2 == 1);
      EXPECT_MPI(LNW_Wait(&edges.request, MPI_STATUS_IGNORE));
      edges.expect_calls(std::min(turn, 3) - 1);
      edges.expect_none();
    }
  }
}

TEST_F(Continuations, OfMessagesInPartitions) {
  constexpr int parts = 4;
  std::array<int, parts> data{}, received{};
  std::array<LNW_Request, 2> requests{};
  const Info info(Hints{{"lnw_partition_message", "1"}});
  EXPECT_MPI(LNW_Psend_init(data.data(), parts, 1, MPI_INT, next(), 3, MPI_COMM_WORLD, info.get(), &requests[0]));
  EXPECT_MPI(LNW_Precv_init(received.data(), 2, 2, MPI_INT, previous(), 3, MPI_COMM_WORLD, info.get(), &requests[1]));
  std::array<Calls, 2> arrivals, ends;
  for (int p = 0; p < 2; ++p)
    EXPECT_MPI(LNW_Request_on_arrival(requests[1], 0, p, Calls::count, &arrivals[static_cast<std::size_t>(p)]));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_MPI(LNW_Request_on_complete(requests[i], Calls::count, &ends[i]));
  for (int turn = 1; turn <= 3; ++turn) {
    data.fill(10 * turn + rank());
    {
      const Starting starting;
      EXPECT_MPI(LNW_Startall(2, requests.data()));
    }
    EXPECT_MPI(LNW_Pready_range(2, 3, requests[0]));
    for (int flag = 0; arrivals[1].number < turn;) EXPECT_MPI(LNW_Test(&requests[0], &flag, MPI_STATUS_IGNORE));
    EXPECT_EQ(arrivals[0].number, turn - 1);
    EXPECT_EQ(ends[0].number, turn - 1);
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_MPI(LNW_Pready_range(0, 1, requests[0]));
    EXPECT_MPI(LNW_Waitall(2, requests.data(), MPI_STATUSES_IGNORE));
    EXPECT_EQ(arrivals[0].number, turn);
    for (const Calls& end : ends) EXPECT_EQ(end.number, turn);
    EXPECT_EQ(received[3], 10 * turn + previous());
  }
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const int sent = LNW_Request_on_arrival(requests[0], 0, 0, Calls::count, &ends[0]);
  EXPECT_NE(error_text(sent).find("request is one for sending"), std::string::npos) << error_text(sent);
  const int edge = LNW_Request_on_arrival(requests[1], 1, 0, Calls::count, &ends[0]);
  EXPECT_NE(error_text(edge).find("edge is 1"), std::string::npos) << error_text(edge);
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// Both ends hear that their sizes differ; so do the functions.
TEST_F(Continuations, ErrorsReachTheFunction) {
  std::array<int, 4> data{}, received{};
  std::array<LNW_Request, 2> requests{};
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  EXPECT_MPI(LNW_Psend_init(data.data(), 1, 4, MPI_INT, next(), 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]));
  EXPECT_MPI(
      LNW_Precv_init(received.data(), 1, 3, MPI_INT, previous(), 4, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]));
  Calls arrival;
  std::array<Calls, 2> ends;
  EXPECT_MPI(LNW_Request_on_arrival(requests[1], 0, 0, Calls::count, &arrival));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_MPI(LNW_Request_on_complete(requests[i], Calls::count, &ends[i]));
    // Where the ends have met already, the start fails, and no function is called for it.
    const int started = LNW_Start(&requests[i]);
    const int code = started != MPI_SUCCESS ? started : LNW_Wait(&requests[i], MPI_STATUS_IGNORE);
    expect_error_class(code, MPI_ERR_COUNT);
    EXPECT_EQ(ends[i].number, started == MPI_SUCCESS);
    if (started == MPI_SUCCESS) expect_error_class(ends[i].code, MPI_ERR_COUNT);
    if (i == 1) {
      EXPECT_EQ(arrival.number, ends[1].number);
    }
  }
  for (LNW_Request& request : requests) EXPECT_MPI(LNW_Request_free(&request));
}

/// What is called from within, on the request itself and on another one.
struct Within {
  LNW_Request* own = nullptr;
  Sum* other = nullptr;
  int calls = 0;
  std::vector<std::string> texts;
  int wrong = 0;

  static void function(int, void* state) {
    auto& self = *static_cast<Within*>(state);
    ++self.calls;
    LNW_Request copy = *self.own;
    int flag = 0, index = 0;
    std::array<LNW_Request, 2> both{copy, self.other->request};
    for (const int code :
         {LNW_Start(&copy), LNW_Test(&copy, &flag, MPI_STATUS_IGNORE), LNW_Wait(&copy, MPI_STATUS_IGNORE),
          LNW_Request_free(&copy), LNW_Request_set_buffers(copy, &self, &self),
          LNW_Request_on_complete(copy, nullptr, nullptr), LNW_Startall(2, both.data()),
          LNW_Waitall(1, both.data(), MPI_STATUSES_IGNORE), LNW_Testall(1, both.data(), &flag, MPI_STATUSES_IGNORE),
          LNW_Waitany(1, both.data(), &index, MPI_STATUS_IGNORE)})
      self.texts.push_back(code == MPI_SUCCESS ? "" : error_text(code));
    self.wrong += LNW_Start(&self.other->request) != MPI_SUCCESS;
    self.wrong += LNW_Wait(&self.other->request, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    self.wrong += self.other->sum != sum_of_ranks();
  }
};

TEST_F(Continuations, CallsFromWithin) {
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  Sum own(comm.get()), other(comm.get());
  Within within{&own.request, &other, 0, {}, 0};
  EXPECT_MPI(LNW_Request_on_complete(own.request, Within::function, &within));
  for (int turn = 1; turn <= 3; ++turn) {
    own.sum = other.sum = -1;
    within.texts.clear();
    EXPECT_MPI(LNW_Start(&own.request));
    EXPECT_MPI(LNW_Wait(&own.request, MPI_STATUS_IGNORE));
    EXPECT_EQ(own.sum, sum_of_ranks());
    EXPECT_EQ(within.calls, turn);
    EXPECT_EQ(within.wrong, 0);
    for (const std::string& text : within.texts)
      EXPECT_NE(text.find("is the one whose function this is"), std::string::npos) << text;
  }
}

TEST_F(Continuations, InQueues) {
  for (const int kind : {static_cast<int>(LNW_QUEUE_HOST), LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST}) {
    Sum sum;
    Calls calls;
    EXPECT_MPI(LNW_Request_on_complete(sum.request, Calls::count, &calls));
    LNW_Queue queue = LNW_QUEUE_NULL;
    EXPECT_MPI(LNW_Queue_init(&queue, kind, nullptr));
    for (int turn = 1; turn <= 3; ++turn) {
      EXPECT_MPI(LNW_Enqueue_start(queue, &sum.request));
      EXPECT_MPI(LNW_Enqueue_wait(queue, &sum.request));
      if (turn == 1) {
        const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        const int code = LNW_Request_on_complete(sum.request, nullptr, nullptr);
        EXPECT_NE(error_text(code).find("is in a queue"), std::string::npos);
      }
    }
    EXPECT_MPI(LNW_Queue_wait(queue));
    EXPECT_EQ(calls.number, 3);
    EXPECT_EQ(sum.sum, sum_of_ranks());
    // Out of the queue again, with another function than the queue knew.
    Calls others;
    EXPECT_MPI(LNW_Request_on_complete(sum.request, nullptr, nullptr));
    EXPECT_MPI(LNW_Request_on_complete(sum.request, Calls::count, &others));
    EXPECT_MPI(LNW_Enqueue_start(queue, &sum.request));
    EXPECT_MPI(LNW_Enqueue_wait(queue, &sum.request));
    EXPECT_MPI(LNW_Queue_wait(queue));
    EXPECT_MPI(LNW_Queue_free(&queue));
    EXPECT_EQ(calls.number, 3);
    EXPECT_EQ(others.number, 1);
  }
}

/// Threads test one request each, and whoever comes first calls the functions of all.
TEST_F(Continuations, ByManyThreads) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: this MPI library does not provide MPI_THREAD_MULTIPLE";
  constexpr std::size_t threads = 3;
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  std::array<int, threads> send{}, wrong{};
  std::array<std::array<int, 2>, threads> receive{};
  std::array<LNW_Request, threads> requests{};
  std::array<Calls, threads> calls;
  for (std::size_t t = 0; t < threads; ++t) {
    EXPECT_MPI(LNW_Neighbor_allgather_init(&send[t], 1, MPI_INT, receive[t].data(), 1, MPI_INT, graph.get(),
                                           MPI_INFO_NULL, &requests[t]));
    EXPECT_MPI(LNW_Request_on_complete(requests[t], Calls::count, &calls[t]));
  }
  std::vector<std::thread> running;
  for (std::size_t t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      for (int turn = 1; turn <= 30; ++turn) {
        send[t] = 100 * turn + rank();
        Calls::is_starting = true;
        wrong[t] += LNW_Start(&requests[t]) != MPI_SUCCESS;
        Calls::is_starting = false;
        wrong[t] += LNW_Wait(&requests[t], MPI_STATUS_IGNORE) != MPI_SUCCESS;
        wrong[t] += calls[t].number != turn || receive[t][0] % 100 != ring_shape(rank(), size()).sources[0];
      }
    });
  for (std::thread& thread : running) thread.join();
  for (std::size_t t = 0; t < threads; ++t) {
    EXPECT_EQ(wrong[t], 0);
    EXPECT_EQ(calls[t].code, MPI_SUCCESS);
    EXPECT_MPI(LNW_Request_free(&requests[t]));
  }
}

TEST_F(Continuations, InCxx) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  const std::array<int, 2> ones{1, 1}, places{0, 1}, none{};
  std::array<int, 2> data{rank(), rank()}, received{-1, -1};
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Neighbor_alltoallv_init_partitioned(data.data(), ones.data(), places.data(), MPI_INT, received.data(),
                                                     ones.data(), places.data(), MPI_INT, none.data(), ones.data(),
                                                     graph.get(), MPI_INFO_NULL, &request));
  int ends = 0, arrivals = 0, edges = 0;
  auto end = [&](int code) { ends += code == MPI_SUCCESS; };
  auto arrival = [&](int code) { arrivals += code == MPI_SUCCESS; };
  Persistent operation(request);
  operation.on_complete(end);
  operation.on_arrival(1, 0, arrival);
  operation.start();
  while (const auto found = operation.wait_any_edge()) edges += 1 + 10 * found->edge + 100 * found->partition;
  operation.wait();
  EXPECT_EQ(edges, 12);
  EXPECT_EQ(ends, 1);
  EXPECT_EQ(arrivals, 1);
}

TEST_F(Continuations, StatesInWhichNoneIsTaken) {
  // Also of requests whose operation MPI may have ended.
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  MPI_Comm_set_errhandler(comm.get(), MPI_ERRORS_RETURN);
  const auto expect = [](int code, const char* text) {
    ASSERT_NE(code, MPI_SUCCESS) << text;
    EXPECT_NE(error_text(code).find(text), std::string::npos) << error_text(code);
  };
  Calls calls;
  Sum sum(comm.get());
  EXPECT_MPI(LNW_Start(&sum.request));
  expect(LNW_Request_on_complete(sum.request, Calls::count, &calls), "request is active");
  EXPECT_MPI(LNW_Wait(&sum.request, MPI_STATUS_IGNORE));
  expect(LNW_Request_on_arrival(sum.request, 0, 0, Calls::count, &calls), "request has no partitions");
  int edge = 0, partition = 0;
  expect(LNW_Wait_any_edge(sum.request, &edge, &partition), "no edges with partitions");
  LNW_Request nonblocking = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Iallreduce(&sum.mine, &sum.sum, 1, MPI_INT, MPI_SUM, comm.get(), &nonblocking));
  EXPECT_MPI(LNW_Request_on_complete(nonblocking, nullptr, nullptr));
  EXPECT_MPI(LNW_Request_on_complete(nonblocking, Calls::count, &calls));
  expect(LNW_Request_on_complete(nonblocking, Calls::count, &calls), "has been given its functions before");
  EXPECT_MPI(LNW_Wait(&nonblocking, MPI_STATUS_IGNORE));
  EXPECT_EQ(calls.number, 1);
  expect(LNW_Request_on_complete(LNW_REQUEST_NULL, Calls::count, &calls), "request is LNW_REQUEST_NULL");
}

}  // namespace
}  // namespace laneway::test
