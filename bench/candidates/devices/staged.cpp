#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/bytes/sort_unique.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "candidates/candidates.hpp"
#include "machine/parameters.hpp"

namespace laneway::bench {

namespace {

struct CopySeconds {
  double to_host = 0;
  double to_device = 0;
};

/// Of a host process: the different elements that it sends, and all that it receives, each in one copy.
CopySeconds copy_seconds(const Exchange& exchange, const DeviceCopy& cost) {
  std::vector<std::int64_t> sent = exchange.send.indices;
  sort_unique(sent);
  const auto bytes = [&](std::int64_t elements) { return static_cast<double>(elements * exchange.element_bytes); };
  const double out = bytes(std::ssize(sent));
  const double in = bytes(std::ssize(exchange.receive.indices));
  return {out > 0 ? cost.to_host.seconds(out) : 0, in > 0 ? cost.to_device.seconds(in) : 0};
}

DeviceCopy find_copy(int processes) {
  const char* const name = std::getenv("LANEWAY_PARAMETERS");
  require(name != nullptr, ErrorKind::info,
          "LANEWAY_PARAMETERS names no machine, so nothing is known of device copies");
  const Parameters parameters = Parameters::read(name);
  const auto found = std::ranges::find(parameters.device_copies, processes, &DeviceCopy::processes);
  require(found != parameters.device_copies.end(), ErrorKind::info,
          "the parameters of " + parameters.name + " lack device_copies by " + std::to_string(processes) +
              (processes == 1 ? " process" : " processes"));
  return *found;
}

class Staged final : public Candidate {
 public:
  Staged(std::unique_ptr<Candidate> exchange, CopySeconds seconds)
      : exchange_(std::move(exchange)), seconds_(seconds) {}

  void start() override {
    pass(seconds_.to_host);
    exchange_->start();
  }
  bool test() override { return exchange_->test(); }
  void wait() override {
    exchange_->wait();
    pass(seconds_.to_device);
  }

  [[nodiscard]] std::optional<std::vector<Message>> messages() const override { return exchange_->messages(); }
  [[nodiscard]] std::optional<RankTraffic> traffic() const override { return exchange_->traffic(); }
  [[nodiscard]] std::optional<Choice> choice() const override { return exchange_->choice(); }
  [[nodiscard]] std::optional<double> init_seconds() const override { return exchange_->init_seconds(); }
  [[nodiscard]] std::optional<MemoryUse> memory() const override { return exchange_->memory(); }

 private:
  std::unique_ptr<Candidate> exchange_;
  CopySeconds seconds_;
};

}  // namespace

std::unique_ptr<Candidate> make_staged(std::unique_ptr<Candidate> candidate, const Task& task) {
  require(simulated, ErrorKind::unsupported, "copies between devices and their hosts are only charged in simulations");
  return std::make_unique<Staged>(std::move(candidate), copy_seconds(task.exchange, find_copy(task.devices.processes)));
}

}  // namespace laneway::bench
