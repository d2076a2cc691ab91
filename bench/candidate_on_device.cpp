#include <algorithm>
#include <utility>

#include "candidates.hpp"
#include "core/error.hpp"
#include "device/device.hpp"

namespace laneway::bench {

namespace {

MemoryKind kind_of(const std::string& memory) {
  if (memory == "device") return MemoryKind::device;
  if (memory == "managed") return MemoryKind::managed;
  throw Error(ErrorKind::argument, "--memory " + memory + ": valid are host, device and managed");
}

Device device_of_rank(Rank rank) {
  const std::vector<Device> all = all_devices();
  std::string absent;
  for (const std::string& why : absent_device_plugins()) absent += "; " + why;
  require(!all.empty(), ErrorKind::unsupported, "there is no device" + absent);
  return all[static_cast<std::size_t>(rank) % all.size()];
}

/// The task's buffers in memory of a device.
class DeviceBuffers {
 public:
  DeviceBuffers(const Task& task, const Device& device)
      : host_(task.buffers),
        send_(device, host_.send.size(), kind_of(task.memory)),
        receive_(device, host_.receive.size(), kind_of(task.memory)),
        stream_(device) {}

  [[nodiscard]] Buffers get() const {
    return {{send_.data(), host_.send.size()}, {receive_.data(), host_.receive.size()}};
  }
  void write() const {
    stream_.copy(send_.data(), host_.send.data(), host_.send.size());
    stream_.copy(receive_.data(), host_.receive.data(), host_.receive.size());
    stream_.synchronize();
  }
  void read() const {
    stream_.copy(host_.receive.data(), receive_.data(), host_.receive.size());
    stream_.synchronize();
  }
  void stage_out(std::size_t offset, std::size_t bytes) const {
    stream_.copy(host_.send.data() + offset, send_.data() + offset, bytes);
    stream_.synchronize();
  }
  void stage_in(std::size_t offset, std::size_t bytes) const {
    stream_.copy(receive_.data() + offset, host_.receive.data() + offset, bytes);
    stream_.synchronize();
  }

 private:
  Buffers host_;
  DeviceMemory send_;
  DeviceMemory receive_;
  Stream stream_;
};

/// What a candidate says of itself comes from the one inside.
class OnDevice : public Candidate {
 public:
  OnDevice(const Task& task, const Device& device) : buffers_(task, device) {}

  void start() override { inside_->start(); }
  bool test() override { return inside_->test(); }
  void wait() override { inside_->wait(); }
  void bring() override { buffers_.write(); }
  void fetch() override { buffers_.read(); }
  [[nodiscard]] std::optional<std::vector<Message>> messages() const override { return inside_->messages(); }
  [[nodiscard]] std::optional<RankTraffic> traffic() const override { return inside_->traffic(); }
  [[nodiscard]] std::optional<Choice> choice() const override { return inside_->choice(); }
  [[nodiscard]] std::optional<double> init_seconds() const override { return inside_->init_seconds(); }
  [[nodiscard]] std::optional<MemoryUse> memory() const override { return inside_->memory(); }

 protected:
  DeviceBuffers buffers_;
  std::unique_ptr<Candidate> inside_;
};

/// This library, which is given the buffers as they are.
class Given final : public OnDevice {
 public:
  Given(const std::string& strategy, const Task& task, const Device& device) : OnDevice(task, device), task_(task) {
    task_.buffers = buffers_.get();
    inside_ = make_strategy(strategy, task_);
  }

 private:
  Task task_;
};

/// A program that copies each edge's block by itself, before and after an exchange in the host's memory.
class EachByItself final : public OnDevice {
 public:
  EachByItself(std::unique_ptr<Candidate> exchange, const Task& task, const Device& device) : OnDevice(task, device) {
    require(!task.exchange.indexed, ErrorKind::unsupported,
            "baselines copy blocks from devices, and this exchange has single elements");
    inside_ = std::move(exchange);
    const auto blocks = [&](const Side& side) {
      std::vector<std::pair<std::size_t, std::size_t>> result;
      const auto bytes = static_cast<std::size_t>(task.exchange.element_bytes);
      for (std::span<const std::int64_t> edge : side.edges())
        if (!edge.empty()) result.emplace_back(static_cast<std::size_t>(edge.front()) * bytes, edge.size() * bytes);
      return result;
    };
    out_ = blocks(task.exchange.send);
    in_ = blocks(task.exchange.receive);
  }

  void start() override {
    for (const auto& [offset, bytes] : out_) buffers_.stage_out(offset, bytes);
    inside_->start();
  }
  void wait() override {
    inside_->wait();
    for (const auto& [offset, bytes] : in_) buffers_.stage_in(offset, bytes);
  }

 private:
  std::vector<std::pair<std::size_t, std::size_t>> out_;
  std::vector<std::pair<std::size_t, std::size_t>> in_;
};

}  // namespace

std::unique_ptr<Candidate> make_on_device(const std::string& name, bool is_strategy, const Task& task,
                                          const std::function<std::unique_ptr<Candidate>()>& make) {
  const Device device = device_of_rank(task.run.rank);
  if (is_strategy) return std::make_unique<Given>(name, task, device);
  return std::make_unique<EachByItself>(make(), task, device);
}

}  // namespace laneway::bench
