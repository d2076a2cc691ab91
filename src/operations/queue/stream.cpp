#include "operations/queue/stream.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "runtime/device/plugin.hpp"

namespace laneway {

namespace {

class DeviceStream final : public QueueStream {
 public:
  explicit DeviceStream(Stream stream) : stream_(std::move(stream)) {}

  Word* word() override {
    if (taken_ % words_together == 0) words_.emplace_back(stream_.device(), words_together);
    return words_.back().word(taken_++ % words_together);
  }
  void write(Word* word, std::uint64_t value) override { stream_.write(word, value); }
  void wait(Word* word, std::uint64_t value) override { stream_.wait(word, value); }
  void call(void (*function)(void*), void* argument) override { stream_.call(function, argument); }
  void post(Word* word, std::uint64_t value) override { __atomic_store_n(word, value, __ATOMIC_RELEASE); }
  bool idle() const override { return stream_.idle(); }
  bool is_recording() const override { return stream_.is_capturing(); }
  Device device() const override { return stream_.device(); }

 private:
  static constexpr std::size_t words_together = 8;

  Stream stream_;
  std::vector<DeviceFlags> words_;
  std::size_t taken_ = 0;
};

const DevicePlugin* plugin_of(const char* vendor) {
  for (const DevicePlugin& plugin : device_plugins())
    if (std::strcmp(plugin.vendor(), vendor) == 0) return &plugin;
  return nullptr;
}

}  // namespace

std::unique_ptr<QueueStream> device_stream(const char* vendor, lnw_device_stream handle) {
  const DevicePlugin* const plugin = plugin_of(vendor);
  require(plugin != nullptr, ErrorKind::unsupported, [&] {
    std::string text = std::string("no plugin for devices of ") + vendor + " is loaded";
    for (const std::string& reason : absent_device_plugins()) text += "; " + reason;
    return text;
  });
  int number = -1;
  const int status = plugin->table().stream_device(handle, &number);
  require(status == LNW_DEVICE_OK, ErrorKind::argument, [&] {
    return std::string("stream is none of a device of ") + vendor + ": " + plugin->table().message(status);
  });
  return std::make_unique<DeviceStream>(Stream::of_user(Device(plugin, number), handle));
}

}  // namespace laneway
