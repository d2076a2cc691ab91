#include "candidates/reductions.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "base/bytes/block_memory.hpp"
#include "base/bytes/mix.hpp"

namespace laneway::bench {

namespace {

std::size_t doubles_of(const Exchange& exchange) {
  return static_cast<std::size_t>(exchange.element_bytes) / sizeof(double);
}

/// A whole number: sums of them are exact in any order.
double contribution(std::uint64_t label, Rank from, std::uint64_t salt, std::size_t k) {
  return static_cast<double>(mix(mix(mix(salt) ^ label) + static_cast<std::uint64_t>(from) * 64 + k) % 1000);
}

/// What is in the own elements before counts as a contribution of nobody.
constexpr Rank nobody = -1;

void fill_contributions(std::span<std::byte> buffer, const Side& side, std::size_t doubles, Rank from,
                        std::uint64_t salt) {
  std::byte* at = buffer.data();
  for (const std::uint64_t label : side.labels)
    for (std::size_t k = 0; k < doubles; ++k, at += sizeof(double)) {
      const double value = contribution(label, from, salt, k);
      std::memcpy(at, &value, sizeof value);
    }
}

class ByHand final : public EdgeCandidate {
 public:
  explicit ByHand(const Task& task)
      : EdgeCandidate(task),
        doubles_(doubles_of(task.exchange)),
        requests_(task.exchange.send.peers.size() + task.exchange.receive.peers.size(), MPI_REQUEST_NULL),
        sent_(task.exchange.receive.indices.size() * doubles_),
        arrived_(task.exchange.send.indices.size() * doubles_) {
    MPI_Comm_dup(task.run.comm, &comm_);
  }
  ~ByHand() override { MPI_Comm_free(&comm_); }
  ByHand(const ByHand&) = delete;
  ByHand& operator=(const ByHand&) = delete;

  void start() override {
    pack();
    MPI_Request* request = requests_.data();
    post(task_.exchange.send, arrived_,
         [&](double* begin, int count, Rank peer) { MPI_Irecv(begin, count, MPI_DOUBLE, peer, 0, comm_, request++); });
    post(task_.exchange.receive, sent_,
         [&](double* begin, int count, Rank peer) { MPI_Isend(begin, count, MPI_DOUBLE, peer, 0, comm_, request++); });
  }
  bool test() override {
    int flag = 0;
    MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &flag, MPI_STATUSES_IGNORE);
    return flag != 0;
  }
  void wait() override {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    add();
  }

  [[nodiscard]] std::optional<std::vector<Message>> messages() const override { return std::nullopt; }
  [[nodiscard]] std::optional<RankTraffic> traffic() const override {
    return bench::traffic(bench::messages(backwards()), task_.run.rank, task_.run.nodes);
  }
  [[nodiscard]] std::optional<bool> verify(const Task& task, std::uint64_t salt) override {
    return adds_up(task, salt, *this);
  }

 private:
  template <class Post>
  void post(const Side& side, std::vector<double>& memory, Post&& each) {
    double* at = memory.data();
    for (std::size_t i = 0; i < side.peers.size(); ++i) {
      const std::size_t count = static_cast<std::size_t>(side.counts[i]) * doubles_;
      each(at, static_cast<int>(count), side.peers[i]);
      at += count;
    }
  }

  void pack() {
    if (!moves_data()) return;
    const auto* const from = reinterpret_cast<const double*>(task_.buffers.receive.data());
    double* to = sent_.data();
    for (const std::int64_t index : task_.exchange.receive.indices)
      for (std::size_t k = 0; k < doubles_; ++k) *to++ = from[static_cast<std::size_t>(index) * doubles_ + k];
  }

  void add() {
    if (!moves_data()) return;
    auto* const to = reinterpret_cast<double*>(task_.buffers.send.data());
    const double* from = arrived_.data();
    for (const std::int64_t index : task_.exchange.send.indices)
      for (std::size_t k = 0; k < doubles_; ++k) to[static_cast<std::size_t>(index) * doubles_ + k] += *from++;
  }

  [[nodiscard]] Exchange backwards() const {
    Exchange back = task_.exchange;
    std::swap(back.send, back.receive);
    return back;
  }

  std::size_t doubles_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::vector<MPI_Request> requests_;
  std::vector<double> sent_;
  std::vector<double> arrived_;
};

}  // namespace

std::unique_ptr<Candidate> make_reduction_by_hand(const Task& task) {
  return std::make_unique<ByHand>(task);
}

bool adds_up(const Task& task, std::uint64_t salt, Candidate& candidate) {
  const Exchange& exchange = task.exchange;
  const std::size_t doubles = doubles_of(exchange);
  fill_contributions(task.buffers.receive, exchange.receive, doubles, task.run.rank, salt);
  fill_contributions(task.buffers.send, exchange.send, doubles, nobody, salt);
  std::vector<double> expected(exchange.send.labels.size() * doubles);
  std::memcpy(expected.data(), task.buffers.send.data(), expected.size() * sizeof(double));
  std::size_t peer = 0;
  for (const std::span<const std::int64_t> edge : exchange.send.edges()) {
    for (const std::int64_t index : edge)
      for (std::size_t k = 0; k < doubles; ++k) {
        const auto i = static_cast<std::size_t>(index);
        expected[i * doubles + k] += contribution(exchange.send.labels[i], exchange.send.peers[peer], salt, k);
      }
    ++peer;
  }
  candidate.run();
  int right = std::memcmp(expected.data(), task.buffers.send.data(), expected.size() * sizeof(double)) == 0 ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, task.run.comm);
  return right != 0;
}

}  // namespace laneway::bench
