// Many persistent requests at random pace: every byte that arrives says of which exchange it is.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstring>
#include <iostream>
#include <memory>

#include "support.hpp"

namespace laneway::test {
namespace {

std::uint64_t as_word(std::integral auto n) {
  return static_cast<std::uint64_t>(n);
}

/// What one side of an edge is in all exchanges: so many bytes, whose values follow from a key and the exchange.
struct Edge {
  std::uint64_t key = 0;
  int bytes = 0;
};

/// Mostly small, often nothing, rarely up to 100 KiB.
int random_bytes(std::uint64_t key) {
  const std::uint64_t kind = mix({key, 1}) % 64;
  const std::uint64_t most = kind < 8 ? 1 : kind < 48 ? 200 : kind < 63 ? 4000 : 100 * 1024;
  return static_cast<int>(mix({key, 2}) % most);
}

void write(const Edge& edge, std::uint64_t exchange, unsigned char* to) {
  std::uint64_t word = mix({edge.key, exchange});
  for (int at = 0; at < edge.bytes; at += 8, word += 0x9e3779b97f4a7c15ULL)
    std::memcpy(to + at, &word, static_cast<std::size_t>(std::min(8, edge.bytes - at)));
}

/// One side of all edges of a rank.
struct Side {
  std::vector<Edge> edges;
  std::vector<int> counts;
  std::vector<int> displacements;
  std::vector<unsigned char> memory;

  void add(const Edge& edge) {
    constexpr std::size_t gap = 3;
    edges.push_back(edge);
    counts.push_back(edge.bytes);
    displacements.push_back(static_cast<int>(memory.size()));
    memory.resize(memory.size() + static_cast<std::size_t>(edge.bytes) + gap);
  }
  void write_all(std::uint64_t exchange, std::vector<unsigned char>& to) const {
    for (std::size_t i = 0; i < edges.size(); ++i)
      write(edges[i], exchange, &to[static_cast<std::size_t>(displacements[i])]);
  }
};

/// An allgatherv or alltoallv on a random graph, with a random strategy, that is run again and again.
class Operation {
 public:
  explicit Operation(std::uint64_t seed) : graph_(make_graph(MPI_COMM_WORLD, random_shape(seed, rank(), size()))) {
    const bool gathers = mix({seed, 10}) % 3 == 0;
    const Shape shape = random_shape(seed, rank(), size());
    const auto key = [&](int source, int destination, std::size_t nth) {
      return gathers ? mix({seed, 11, as_word(source)})
                     : mix({seed, 12, as_word(source), as_word(destination), as_word(nth)});
    };
    std::vector<std::size_t> met(static_cast<std::size_t>(size()));
    for (const int source : shape.sources) {
      const std::uint64_t k = key(source, rank(), met[static_cast<std::size_t>(source)]++);
      receive_.add({k, random_bytes(k)});
    }
    std::ranges::fill(met, 0);
    for (const int destination : shape.destinations) {
      const std::uint64_t k = key(rank(), destination, met[static_cast<std::size_t>(destination)]++);
      send_.add({k, random_bytes(k)});
    }
    if (gathers) {
      const std::uint64_t k = key(rank(), 0, 0);
      send_ = {};
      send_.add({k, random_bytes(k)});
    }
    receive_.memory.resize(receive_.memory.size() + 1);
    send_.memory.resize(send_.memory.size() + 1);
    expected_ = receive_.memory;

    const std::vector<std::string> on{"", "", uneven_machine(), "node:* rank:2"};
    const std::vector<Choice> all = choices(on[mix({seed, 13}) % on.size()]);
    const Choice& choice = all[mix({seed, 14}) % all.size()];
    words_ = choice.text() + (gathers ? " allgatherv" : " alltoallv") + " seed=" + std::to_string(seed);
    const Info info(choice.hints());
    if (gathers)
      EXPECT_MPI(LNW_Neighbor_allgatherv_init(send_.memory.data(), send_.counts[0], MPI_BYTE, receive_.memory.data(),
                                              receive_.counts.data(), receive_.displacements.data(), MPI_BYTE,
                                              graph_.get(), info.get(), &request_));
    else
      EXPECT_MPI(LNW_Neighbor_alltoallv_init(
          send_.memory.data(), send_.counts.data(), send_.displacements.data(), MPI_BYTE, receive_.memory.data(),
          receive_.counts.data(), receive_.displacements.data(), MPI_BYTE, graph_.get(), info.get(), &request_));
  }
  ~Operation() { EXPECT_MPI(LNW_Request_free(&request_)); }
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  [[nodiscard]] std::uint64_t started() const { return started_; }
  [[nodiscard]] bool active() const { return active_; }
  [[nodiscard]] const std::string& words() const { return words_; }

  void start() {
    ++started_;
    active_ = true;
    send_.write_all(started_, send_.memory);
    std::ranges::fill(receive_.memory, 0);
    EXPECT_MPI(LNW_Start(&request_));
  }
  /// False if the wrong bytes have arrived.
  [[nodiscard]] bool advance(bool waits) {
    int done = 1;
    if (waits)
      EXPECT_MPI(LNW_Wait(&request_, MPI_STATUS_IGNORE));
    else
      EXPECT_MPI(LNW_Test(&request_, &done, MPI_STATUS_IGNORE));
    if (!done) return true;
    active_ = false;
    receive_.write_all(started_, expected_);
    const bool right = receive_.memory == expected_;
    std::ranges::fill(send_.memory, 0);
    return right;
  }

 private:
  Comm graph_;
  Side send_;
  Side receive_;
  std::vector<unsigned char> expected_;
  std::string words_;
  LNW_Request request_ = LNW_REQUEST_NULL;
  std::uint64_t started_ = 0;
  bool active_ = false;
};

/// Lets the others run ahead.
void delay(Random& random) {
  const auto time = std::chrono::microseconds(pick(random, 0, 2000));
  if (pick(random, 0, 1) == 0) {
    usleep(static_cast<unsigned>(time.count()));
    return;
  }
  for (const auto end = std::chrono::steady_clock::now() + time; std::chrono::steady_clock::now() < end;) {
  }
}

class Stress : public MpiTest {};

TEST_F(Stress, EveryByteIsOfItsExchange) {
  constexpr int operations_at_once = 6;
  constexpr int exchanges_of_each = 50;
  const int rounds = long_tests() ? 300 : effort(40);
  Random random(static_cast<unsigned>(rank() + 1));
  int exchanges = 0;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(200);  // before the launcher's
  for (int round = 0; round < rounds; ++round) {
    int goes_on = std::chrono::steady_clock::now() < end;
    MPI_Bcast(&goes_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!goes_on) break;
    std::vector<std::unique_ptr<Operation>> operations;
    for (int n = 0; n < operations_at_once; ++n)
      operations.push_back(std::make_unique<Operation>(mix({as_word(round), as_word(n)}) % 1000000));
    std::vector<Operation*> open;
    for (const auto& operation : operations) open.push_back(operation.get());
    while (!open.empty()) {
      Operation& operation = *open[static_cast<std::size_t>(pick(random, 0, static_cast<int>(open.size()) - 1))];
      if (pick(random, 1, 500) == 1) delay(random);
      if (!operation.active()) {
        operation.start();
        continue;
      }
      // Ranks that wait for different operations do not block each other if these have all been started.
      const bool waits = pick(random, 0, 3) == 0 && std::ranges::all_of(operations, [&](const auto& other) {
                           return other->started() >= operation.started();
                         });
      if (!operation.advance(waits) && !HasFailure())
        ADD_FAILURE() << operation.words() << ": wrong bytes in exchange " << operation.started();
      if (operation.active() || operation.started() < exchanges_of_each) continue;
      std::erase(open, &operation);
      exchanges += exchanges_of_each;
    }
  }
  RecordProperty("exchanges", exchanges);
  if (rank() == 0) std::cout << exchanges << " exchanges\n";
}

}  // namespace
}  // namespace laneway::test
