#include "lanes/strategy.hpp"

namespace laneway {

namespace {

class Direct final : public Strategy {
 public:
  [[nodiscard]] std::vector<Lane> assign_receivers(const RegionView&) const override { return {}; }
  void assign_senders(const RegionView&, const std::vector<Lane>&, std::vector<Lane>&) const override {}
};

}  // namespace

std::unique_ptr<Strategy> make_direct(const StrategySettings&) {
  return std::make_unique<Direct>();
}

}  // namespace laneway
