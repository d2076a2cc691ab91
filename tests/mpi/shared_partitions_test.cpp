// Bytes that several partitions of a neighborhood name: ready with the first of them, not before, and not later.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "support.hpp"

namespace laneway::test {
namespace {

constexpr int untouched = -1;
constexpr int elements = 24;  // of the send buffer

int value(int from, int exchange, int i) {
  return (from * 1000 + exchange) * elements + i;
}

struct Part {
  int edge = 0;
  int partition = 0;
};

/// Every rank with every rank; blocks are lists of elements that overlap, known to both sides.
class SharedPartitionsTest : public MpiTest {
 protected:
  using Blocks = std::vector<std::vector<int>>;  // by destination

  void make(const Choice& choice, int partitions, const std::vector<Blocks>& of_ranks) {
    const Shape shape = complete_shape(size());
    graph_ = make_graph(MPI_COMM_WORLD, shape);
    partitions_ = partitions;
    sources_ = shape.sources;
    sent_.clear();
    received_.clear();
    std::vector<int> counts, from_counts;
    std::vector<MPI_Count> indices, from_indices;
    for (const int to : shape.destinations) {
      const std::vector<int>& block = of_ranks[static_cast<std::size_t>(rank())][static_cast<std::size_t>(to)];
      sent_.push_back(block);
      counts.push_back(static_cast<int>(block.size()));
      indices.insert(indices.end(), block.begin(), block.end());
    }
    for (const int from : shape.sources) {
      const std::vector<int>& block = of_ranks[static_cast<std::size_t>(from)][static_cast<std::size_t>(rank())];
      received_.push_back(block);
      from_counts.push_back(static_cast<int>(block.size()));
      for (std::size_t i = 0; i < block.size(); ++i)
        from_indices.push_back(static_cast<MPI_Count>(from_indices.size()));
    }
    send_.assign(elements, untouched);
    receive_.assign(from_indices.size(), untouched);
    const std::vector<int> each(shape.destinations.size(), partitions);
    const Info info(choice.hints());
    EXPECT_MPI(LNW_Neighbor_alltoallv_init_indexed_partitioned(
        send_.data(), elements, counts.data(), indices.data(), MPI_INT, receive_.data(),
        static_cast<MPI_Count>(receive_.size()), from_counts.data(), from_indices.data(), MPI_INT, each.data(),
        each.data(), graph_.get(), info.get(), &request_));
  }
  void free() { EXPECT_MPI(LNW_Request_free(&request_)); }

  void start() {
    std::ranges::fill(send_, untouched);
    std::ranges::fill(receive_, untouched);
    EXPECT_MPI(LNW_Start(&request_));
  }
  [[nodiscard]] std::vector<int> named_by(const Part& part) const {
    const std::vector<int>& block = sent_[static_cast<std::size_t>(part.edge)];
    const int n = static_cast<int>(block.size());
    return {block.begin() + n * part.partition / partitions_, block.begin() + n * (part.partition + 1) / partitions_};
  }
  [[nodiscard]] std::vector<Part> parts() const {
    std::vector<Part> all;
    for (int e = 0; e < static_cast<int>(sent_.size()); ++e)
      for (int p = 0; p < partitions_; ++p) all.push_back({e, p});
    return all;
  }
  void write(int element, int exchange) { send_[static_cast<std::size_t>(element)] = value(rank(), exchange, element); }
  void ready(const Part& part) { EXPECT_MPI(LNW_Pready_edge(request_, part.edge, part.partition)); }
  [[nodiscard]] bool test() {
    int flag = 0;
    EXPECT_MPI(LNW_Test(&request_, &flag, MPI_STATUS_IGNORE));
    return flag != 0;
  }
  [[nodiscard]] bool all_have_arrived() const {
    for (int e = 0; e < static_cast<int>(received_.size()); ++e)
      for (int p = 0; p < partitions_; ++p) {
        int flag = 0;
        EXPECT_MPI(LNW_Parrived_edge(request_, e, p, &flag));
        if (!flag) return false;
      }
    return true;
  }
  void expect(int exchange) const {
    std::size_t place = 0;
    for (std::size_t e = 0; e < received_.size(); ++e)
      for (const int element : received_[e])
        ASSERT_EQ(receive_[place++], value(sources_[e], exchange, element)) << "from " << sources_[e];
  }

  int partitions_ = 0;
  Comm graph_;
  std::vector<int> sources_;
  Blocks sent_, received_;
  std::vector<int> send_, receive_;
  LNW_Request request_ = LNW_REQUEST_NULL;
};

/// One partition names what all others name. Everything arrives, though the others are not ready.
TEST_F(SharedPartitionsTest, LeaveWithTheFirstPartition) {
  std::vector<int> all(elements);
  for (int i = 0; i < elements; ++i) all[static_cast<std::size_t>(i)] = (7 * i) % elements;
  const auto n = static_cast<std::size_t>(size());
  const std::vector<Blocks> of_ranks(n, Blocks(n, all));
  for (const char* transport : {"auto", "p2p"})
    for (Choice choice : choices("node:* rank:2")) {
      choice.transport = transport;
      for (const int partitions : {1, 3}) {
        make(choice, partitions, of_ranks);
        for (int exchange = 0; exchange < 3; ++exchange) {
          start();
          const int first = exchange % size();
          for (int i = 0; i < elements; ++i) write(i, exchange);
          for (int p = 0; p < partitions; ++p) ready({first, p});
          // Relays need progress until everybody has everything.
          MPI_Request everybody = MPI_REQUEST_NULL;
          constexpr double most_seconds = 30;
          const double end = MPI_Wtime() + most_seconds;
          for (int done = 0; !done;) {
            EXPECT_TRUE(size() == 1 || !test()) << "others are not ready";
            const bool too_late = MPI_Wtime() > end;
            EXPECT_FALSE(too_late) << choice.text();
            if (everybody == MPI_REQUEST_NULL && (too_late || all_have_arrived()))
              MPI_Ibarrier(MPI_COMM_WORLD, &everybody);
            if (everybody != MPI_REQUEST_NULL) MPI_Test(&everybody, &done, MPI_STATUS_IGNORE);
          }
          expect(exchange);
          for (const Part& part : parts())
            if (part.edge != first) ready(part);
          EXPECT_MPI(LNW_Wait(&request_, MPI_STATUS_IGNORE));
          expect(exchange);
        }
        free();
        ASSERT_FALSE(HasFailure()) << choice.text();
      }
    }
}

/// Blocks of random elements. Each is written just before the first partition that names it is ready: what leaves
/// earlier is wrong.
TEST_F(SharedPartitionsTest, DoNotLeaveBefore) {
  Random of_all(41), random(static_cast<unsigned>(rank() + 7));
  for (const char* transport : {"auto", "p2p"})
    for (Choice choice : choices("node:* rank:2")) {
      choice.transport = transport;
      const auto n = static_cast<std::size_t>(size());
      std::vector<Blocks> of_ranks(n, Blocks(n));
      for (Blocks& blocks : of_ranks)
        for (std::vector<int>& block : blocks) {
          block.resize(of_all() % 12);
          for (int& element : block) element = static_cast<int>(of_all() % elements);
        }
      make(choice, 1 + static_cast<int>(of_all() % 4), of_ranks);
      for (int exchange = 0; exchange < 4; ++exchange) {
        start();
        std::vector<Part> order = parts();
        std::ranges::shuffle(order, random);
        for (const Part& part : order) {
          for (const int element : named_by(part)) write(element, exchange);
          ready(part);
          (void)test();
        }
        EXPECT_MPI(LNW_Wait(&request_, MPI_STATUS_IGNORE));
        expect(exchange);
      }
      free();
      ASSERT_FALSE(HasFailure()) << choice.text();
    }
}

/// Eight threads at once say that partitions of the same bytes are ready. The exchange ends after the last one, and
/// the next one may start while those who shared bytes return.
TEST_F(SharedPartitionsTest, BySeveralThreads) {
  constexpr int threads = 8, partitions = 8;
  std::vector<int> all(elements);
  for (int i = 0; i < elements; ++i) all[static_cast<std::size_t>(i)] = i;
  const auto n = static_cast<std::size_t>(size());
  make(choices("node:* rank:2").front(), partitions, std::vector<Blocks>(n, Blocks(n, all)));
  const int exchanges = long_tests() ? 5000 : effort(200);
  std::atomic<int> go{0};
  {
    std::vector<std::jthread> everyone;
    for (int t = 0; t < threads; ++t)
      everyone.emplace_back([&, t] {
        for (int exchange = 1; exchange <= exchanges; ++exchange) {
          for (int seen = go; seen < exchange; seen = go) go.wait(seen);
          for (int e = 0; e < size(); ++e) ready({e, t});
        }
      });
    for (int exchange = 1; exchange <= exchanges; ++exchange) {
      start();
      for (int i = 0; i < elements; ++i) write(i, exchange % 90);
      go = exchange;
      go.notify_all();
      EXPECT_MPI(LNW_Wait(&request_, MPI_STATUS_IGNORE));
      expect(exchange % 90);
      if (HasFatalFailure()) break;
    }
  }
  free();
}

}  // namespace
}  // namespace laneway::test
