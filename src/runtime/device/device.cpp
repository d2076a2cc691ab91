#include "runtime/device/device.hpp"

namespace laneway {

lnw_device_info Device::info() const {
  lnw_device_info info{};
  check(table().device_info(number_, &info), "describe a device");
  return info;
}

std::unique_ptr<lnw_device_link> Device::link(const Device& other) const {
  const lnw_device_info a = info();
  const lnw_device_info b = other.info();
  auto found = std::make_unique<lnw_device_link>();
  const int status = table().link(&a, &b, found.get());
  if (status == LNW_DEVICE_UNSUPPORTED) return nullptr;
  check(status, "find the links between two devices");
  return found;
}

std::vector<Device> all_devices(const DevicePlugin& plugin) {
  int count = 0;
  plugin.check(plugin->device_count(&count), "count devices");
  std::vector<Device> devices;
  for (int number = 0; number < count; ++number) devices.emplace_back(&plugin, number);
  return devices;
}

std::vector<Device> all_devices() {
  std::vector<Device> devices;
  for (const DevicePlugin& plugin : device_plugins())
    for (const Device& device : all_devices(plugin)) devices.push_back(device);
  return devices;
}

DeviceMemory::DeviceMemory(Device device, std::size_t bytes, MemoryKind kind)
    : device_(device), bytes_(bytes), kind_(kind) {
  require(kind != MemoryKind::host, ErrorKind::argument, "host memory is not a device's to allocate");
  const lnw_device_table& table = device.table();
  const auto allocate = kind == MemoryKind::device    ? table.device_malloc
                        : kind == MemoryKind::managed ? table.managed_malloc
                                                      : table.host_malloc;
  void* pointer = nullptr;
  const int status = allocate(device.number(), bytes, &pointer);
  if (status != LNW_DEVICE_OK)
    device.check(status, ("allocate " + std::to_string(bytes) + " bytes of " + name(kind) + " memory").c_str());
  data_ = static_cast<std::byte*>(pointer);
}

DeviceMemory::~DeviceMemory() {
  if (data_ == nullptr) return;
  (kind_ == MemoryKind::pinned ? device_.table().host_free : device_.table().device_free)(device_.number(), data_);
}

void DeviceMemory::swap(DeviceMemory& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(kind_, other.kind_);
}

HostRegistration::HostRegistration(Device device, void* pointer, std::size_t bytes) : device_(device) {
  const int status = device.table().host_register(device.number(), pointer, bytes);
  if (status != LNW_DEVICE_OK) device.check(status, ("pin " + std::to_string(bytes) + " bytes").c_str());
  pointer_ = pointer;
}

HostRegistration::~HostRegistration() {
  if (pointer_ != nullptr) device_.table().host_unregister(device_.number(), pointer_);
}

Moves::Moves(Device device, std::span<const lnw_device_run> runs) : device_(device) {
  device.check(device.table().moves_create(device.number(), runs.data(), runs.size(), &moves_), "prepare moves");
}

namespace {

const lnw_device_combine* combining(const Device& device) {
  return static_cast<const lnw_device_combine*>(device.table().extension(LNW_DEVICE_COMBINE_EXTENSION));
}

}  // namespace

bool can_combine(const Device& device) {
  return combining(device) != nullptr;
}

Moves::Moves(Device device, const DeviceOperation& operation, std::span<const lnw_device_run> runs) : device_(device) {
  device.check(combining(device)->create(device.number(), operation.operation, operation.number, runs.data(),
                                         runs.size(), &moves_),
               "prepare moves that combine");
}

Moves::~Moves() {
  if (moves_ != nullptr) device_.table().moves_destroy(moves_);
}

void Moves::launch(const Stream& stream, std::span<void* const> bases) const {
  device_.check(device_.table().moves_launch(moves_, stream.handle(), bases.data(), bases.size()), "launch moves");
}

Stream::Stream(Device device, bool urgent) : device_(device), owned_(true) {
  device.check(device.table().stream_create(device.number(), urgent ? 1 : 0, &handle_), "create a stream");
}

Stream Stream::of_user(Device device, lnw_device_stream handle) {
  if (handle != nullptr) {
    int found = -1;
    device.check(device.table().stream_device(handle, &found), "find the device of a stream");
    require(found == device.number(), ErrorKind::argument, [&] {
      return "the stream is of device " + std::to_string(found) + ", and the buffers are on device " +
             std::to_string(device.number());
    });
  }
  Stream stream;
  stream.device_ = device;
  stream.handle_ = handle;
  return stream;
}

Stream::~Stream() {
  if (owned_ && handle_ != nullptr) device_.table().stream_destroy(device_.number(), handle_);
}

void Stream::synchronize() const {
  device_.check(device_.table().stream_synchronize(device_.number(), handle_), "wait for a stream");
}

bool Stream::idle() const {
  const int status = device_.table().stream_query(device_.number(), handle_);
  if (status == LNW_DEVICE_NOT_READY) return false;
  device_.check(status, "ask a stream");
  return true;
}

bool Stream::is_capturing() const {
  int capturing = 0;
  device_.check(device_.table().stream_is_capturing(device_.number(), handle_, &capturing), "ask a stream");
  return capturing != 0;
}

void Stream::wait(const Event& event) const {
  wait(event.handle());
}

void Stream::wait(lnw_device_event event) const {
  device_.check(device_.table().stream_wait_event(device_.number(), handle_, event), "wait for an event");
}

Event::Event(Device device, Use use) : device_(device) {
  const int flags = use == Use::timing              ? LNW_DEVICE_EVENT_TIMED
                    : use == Use::between_processes ? LNW_DEVICE_EVENT_SHARED
                                                    : 0;
  device.check(device.table().event_create(device.number(), flags, &handle_), "create an event");
}

Event::Event(Device device, const lnw_ipc_event& shared) : device_(device) {
  device.check(device.table().ipc_event_open(device.number(), &shared, &handle_), "open another process's event");
}

Event::~Event() {
  if (handle_ != nullptr) device_.table().event_destroy(device_.number(), handle_);
}

void Event::record(const Stream& stream) const {
  device_.check(device_.table().event_record(device_.number(), handle_, stream.handle()), "record an event");
}

bool Event::complete() const {
  const int status = device_.table().event_query(device_.number(), handle_);
  if (status == LNW_DEVICE_NOT_READY) return false;
  device_.check(status, "ask an event");
  return true;
}

void Event::synchronize() const {
  device_.check(device_.table().event_synchronize(device_.number(), handle_), "wait for an event");
}

lnw_ipc_event Event::share() const {
  lnw_ipc_event shared{};
  device_.check(device_.table().ipc_event_get(device_.number(), handle_, &shared), "share an event");
  return shared;
}

double Event::seconds_between(const Event& begin, const Event& end) {
  double seconds = 0;
  begin.device_.check(begin.device_.table().event_elapsed(begin.handle_, end.handle_, &seconds), "read events");
  return seconds;
}

DeviceFlags::DeviceFlags(Device device, std::size_t count) : device_(device) {
  device.check(device.table().flag_malloc(device.number(), count, &words_), "allocate flags");
}

DeviceFlags::~DeviceFlags() {
  if (words_ != nullptr) device_.table().flag_free(device_.number(), words_);
}

}  // namespace laneway
