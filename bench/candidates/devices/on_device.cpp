#include <algorithm>
#include <utility>
#include <vector>

#include "candidates/candidates.hpp"
#include "candidates/devices/device_buffers.hpp"

namespace laneway::bench {

namespace {

/// Bytes of a buffer.
struct Block {
  std::size_t offset;
  std::size_t bytes;
};

/// Of each edge; of single elements, one from the first to the last.
std::vector<Block> blocks_of(const Side& side, const Exchange& exchange) {
  std::vector<std::span<const std::int64_t>> parts = side.edges();
  if (exchange.indexed) parts = {side.indices};
  const auto bytes = static_cast<std::size_t>(exchange.element_bytes);
  std::vector<Block> blocks;
  for (std::span<const std::int64_t> part : parts) {
    if (part.empty()) continue;
    const auto [first, last] = std::ranges::minmax_element(part);
    blocks.push_back({static_cast<std::size_t>(*first) * bytes, static_cast<std::size_t>(*last - *first + 1) * bytes});
  }
  return blocks;
}

/// A program that copies from and to its device before and after an exchange in the host's memory. What the exchange
/// says of itself stays true.
class Surrounded final : public Candidate {
 public:
  Surrounded(std::unique_ptr<Candidate> exchange, const Task& task)
      : exchange_(std::move(exchange)),
        buffers_(*task.on_device),
        out_(blocks_of(task.exchange.send, task.exchange)),
        in_(blocks_of(task.exchange.receive, task.exchange)) {}

  void start() override {
    for (const Block& block : out_) buffers_.stage_out(block.offset, block.bytes);
    exchange_->start();
  }
  bool test() override { return exchange_->test(); }
  void wait() override {
    exchange_->wait();
    for (const Block& block : in_) buffers_.stage_in(block.offset, block.bytes);
  }

  [[nodiscard]] std::optional<std::vector<Message>> messages() const override { return exchange_->messages(); }
  [[nodiscard]] std::optional<RankTraffic> traffic() const override { return exchange_->traffic(); }
  [[nodiscard]] std::optional<Choice> choice() const override { return exchange_->choice(); }
  [[nodiscard]] std::optional<double> init_seconds() const override { return exchange_->init_seconds(); }
  [[nodiscard]] std::optional<MemoryUse> memory() const override { return exchange_->memory(); }

 private:
  std::unique_ptr<Candidate> exchange_;
  const DeviceBuffers& buffers_;
  std::vector<Block> out_;
  std::vector<Block> in_;
};

}  // namespace

std::unique_ptr<Candidate> make_surrounded(std::unique_ptr<Candidate> exchange, const Task& task) {
  return std::make_unique<Surrounded>(std::move(exchange), task);
}

Task with_device_buffers(const Task& task) {
  Task given = task;
  given.buffers = task.on_device->get();
  return given;
}

}  // namespace laneway::bench
