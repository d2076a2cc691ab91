// Requests with events, over MPI: another thread says when a block of the send buffer is there, and this one sees which
// blocks have come while others are under way.
#include "operations/neighborhood/neighborhood.hpp"

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <thread>
#include <vector>

#include "operations/request/persistent_exchange.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

constexpr int block = 300;  // elements
constexpr std::int64_t block_bytes = std::int64_t{block} * sizeof(int);
constexpr int untouched = -1;

int value(int from, int to, int exchange, int i) {
  return ((exchange * 10 + from) * 10 + to) * block + i;
}

/// Every rank with every rank, an event each for what goes there and what comes from there.
class EventsTest : public MpiTest {
 protected:
  void make(const Choice& choice, bool measures) {
    graph_ = make_graph(MPI_COMM_WORLD, complete_shape(size()));
    const auto n = static_cast<std::size_t>(size());
    send_.assign(n * block, untouched);
    receive_.assign(n * block, untouched);
    std::vector<PlanEvent> events;
    for (int r = 0; r < size(); ++r) {
      const RangeList bytes{{r * block_bytes, block_bytes}};
      events.push_back({r, false, {{Buffer::send, bytes}}});
      events.push_back({r, true, {{Buffer::receive, bytes}}});
    }
    Call call{.kind = Kind::alltoall, .sendbuf = send_.data(), .recvbuf = receive_.data(), .send = {}, .receive = {}};
    call.send.count = call.receive.count = block;
    call.send.type = call.receive.type = MPI_INT;
    Hints hints = choice.hints();
    if (measures) hints.emplace_back("lnw_tune", "measure");
    const Info info(hints);
    request_ = make_neighborhood(Communicator::of(graph_.get()), info.get(), call, {.events = events});
  }

  /// In any order, as the data is there.
  void fire_all(int exchange, Random random) {
    std::vector<int> order(static_cast<std::size_t>(size()));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::shuffle(order, random);
    for (const int to : order) {
      std::this_thread::yield();
      for (int i = 0; i < block; ++i) send_[static_cast<std::size_t>(to * block + i)] = value(rank(), to, exchange, i);
      dynamic_cast<PersistentExchange&>(request_->work()).fire(to);
    }
  }

  [[nodiscard]] bool has_come_from(int from, int exchange) const {
    const auto* const here = receive_.data() + static_cast<std::ptrdiff_t>(from) * block;
    for (int i = 0; i < block; ++i)
      if (here[i] != value(from, rank(), exchange, i)) return false;
    return true;
  }

  /// As LNW_Test.
  bool test() {
    progress_all();
    return request_->test();
  }

  /// Returns how many blocks were seen to have come before all were there.
  int complete(int exchange) {
    std::vector<bool> seen(static_cast<std::size_t>(size()), false);
    int early = 0;
    bool done = false;
    do {
      done = test();
      for (int from = 0; from < size(); ++from) {
        if (seen[static_cast<std::size_t>(from)] || !request_->work().reached(from)) continue;
        seen[static_cast<std::size_t>(from)] = true;
        early += done ? 0 : 1;
        EXPECT_TRUE(has_come_from(from, exchange)) << "from " << from << " in exchange " << exchange;
      }
    } while (!done);
    EXPECT_TRUE(std::ranges::all_of(seen, [](bool one) { return one; }));
    return early;
  }

  std::vector<int> send_;
  std::vector<int> receive_;
  std::unique_ptr<Request> request_;
  Comm graph_;
};

TEST_F(EventsTest, BlocksLeaveWhenAnotherThreadFiresThem) {
  Random random(static_cast<unsigned>(rank() + 5));
  int early = 0;
  for (const char* transport : {"auto", "p2p"})
    for (Choice choice : choices("node:* rank:2")) {
      choice.transport = transport;
      make(choice, false);
      for (int exchange = 1; exchange <= 8; ++exchange) {
        std::ranges::fill(send_, untouched);
        std::ranges::fill(receive_, untouched);
        std::jthread firing;
        const auto fire = [&] { firing = std::jthread([this, exchange, random] { fire_all(exchange, random); }); };
        const bool fires_before = exchange % 2 == 0;
        if (fires_before) fire();
        ASSERT_TRUE(request_->start());
        if (!fires_before) {
          for (int turn = 0; turn < 20; ++turn) ASSERT_FALSE(test()) << "what is not there has been sent";
          fire();
        }
        early += complete(exchange);
        firing.join();
        random.discard(7);
      }
      request_.reset();
      if (HasFailure()) {
        ADD_FAILURE() << choice.text();
        return;
      }
    }
  EXPECT_GT(early, 0) << "nothing was seen to come before the end";
}

/// Trials, in which nobody fires, have no events.
TEST_F(EventsTest, TunedRequestsHaveThem) {
  make({.strategy = "auto", .deduplicate = "true", .machine = "node:* rank:2"}, true);
  for (int exchange = 1; exchange <= 3; ++exchange) {
    std::jthread firing([this, exchange] { fire_all(exchange, Random(9)); });
    ASSERT_TRUE(request_->start());
    complete(exchange);
  }
}

}  // namespace
}  // namespace laneway::test
