#include "operations/choose/device_support.hpp"

#include <mpi.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "mpi/check.hpp"
#include "mpi/running.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace laneway {

namespace {

/// Memory kinds of MPI 4.1: "mpi,system,cuda:device".
bool has_memory_kind(std::string_view kind) {
  if (!has_world()) return false;
  MPI_Info info = MPI_INFO_NULL;
  check_mpi(MPI_Comm_get_info(MPI_COMM_WORLD, &info), "MPI_Comm_get_info");
  std::vector<char> value(MPI_MAX_INFO_VAL + 1);
  int found = 0;
  check_mpi(MPI_Info_get(info, "mpi_memory_alloc_kinds", MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
  MPI_Info_free(&info);
  std::string_view list(found != 0 ? value.data() : "");
  while (!list.empty()) {
    const std::string_view entry = list.substr(0, list.find(','));
    list.remove_prefix(std::min(entry.size() + 1, list.size()));
    const std::string_view restricted = entry.substr(std::min(entry.find(':'), entry.size()));
    if (entry.substr(0, entry.find(':')) == kind &&
        (restricted.empty() || restricted.find(":device") != std::string_view::npos))
      return true;
  }
  return false;
}

/// A function of the MPI library that says whether it takes memory of a vendor's devices.
struct MpiQuery {
  std::string_view vendor;
  const char* function;
  bool (*says_so)();
};

DeviceSupport ask_mpi(const DeviceVendor& vendor) {
  // Written by CMake: those that this library has of the ones that vendors name.
  static const std::vector<MpiQuery> queries = {
#include "mpi_queries.inc"
  };
  for (const MpiQuery& query : queries)
    if (query.vendor == vendor.name && query.says_so()) return {true, std::string(query.function) + " says so"};
  if (has_memory_kind(vendor.memory_kind))
    return {true, "mpi_memory_alloc_kinds has " + std::string(vendor.memory_kind)};
  return {false, "the MPI library does not say that it takes memory of " + std::string(vendor.people) + "'s devices"};
}

DeviceSupport ask(const Device& device) {
  if (const char* const given = std::getenv("LANEWAY_DEVICE_AWARE_MPI"); given != nullptr && *given != '\0') {
    const std::string_view text(given);
    require(text == "0" || text == "1", ErrorKind::info,
            "LANEWAY_DEVICE_AWARE_MPI=" + std::string(text) + ": valid are 0 and 1");
    return {text == "1", "LANEWAY_DEVICE_AWARE_MPI=" + std::string(text)};
  }
  if (device.has(LNW_DEVICE_HAS_DIRECT_HOST)) return {true, "the host may read and write memory of these devices"};
  const std::string_view name = device.plugin().vendor();
  for (const DeviceVendor& vendor : device_vendors())
    if (vendor.name == name && !vendor.memory_kind.empty()) return ask_mpi(vendor);
  return {false, "no MPI library takes memory of devices of '" + std::string(name) + "'"};
}

/// A communicator of this process alone, on which errors are returned.
class Self {
 public:
  Self() {
    require(has_world(), ErrorKind::unsupported,
            "lnw_memory_path: what MPI takes cannot be tried in programs that only open sessions");
    check_mpi(MPI_Comm_dup(MPI_COMM_SELF, &comm_), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  }
  ~Self() { MPI_Comm_free(&comm_); }
  Self(const Self&) = delete;
  Self& operator=(const Self&) = delete;

  [[nodiscard]] int exchange(const std::byte* from, std::byte* to, int bytes) const {
    return MPI_Sendrecv(from, bytes, MPI_BYTE, 0, 0, to, bytes, MPI_BYTE, 0, 0, comm_, MPI_STATUS_IGNORE);
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

/// What is wrong with messages from a device to itself; empty if nothing is.
std::string try_messages(const Device& device) {
  const Self self;
  const Stream stream(device);
  for (const std::size_t bytes : {std::size_t{64}, std::size_t{1} << 20}) {
    std::vector<std::byte> sent(bytes), received(bytes);
    for (std::size_t i = 0; i < bytes; ++i) sent[i] = static_cast<std::byte>(i * 7 + i / 251);
    const DeviceMemory from(device, bytes), to(device, bytes);
    stream.copy(from.data(), sent.data(), bytes);
    stream.fill(to.data(), 0, bytes);
    stream.synchronize();
    if (self.exchange(from.data(), to.data(), static_cast<int>(bytes)) != MPI_SUCCESS)
      return "but refused a message of " + std::to_string(bytes) + " bytes from a device to itself";
    stream.copy(received.data(), to.data(), bytes);
    stream.synchronize();
    if (received != sent)
      return "but a message of " + std::to_string(bytes) + " bytes from a device to itself arrived with other bytes";
  }
  return {};
}

DeviceSupport find_out(const Device& device) {
  DeviceSupport support = ask(device);
  if (!support.takes) return support;
  const std::string wrong = try_messages(device);
  support.takes = wrong.empty();
  support.why += support.takes ? ", and messages to itself arrived" : ", " + wrong;
  return support;
}

}  // namespace

const DeviceSupport& device_support(const Device& device) {
  static std::mutex mutex;
  static std::map<const DevicePlugin*, DeviceSupport> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(&device.plugin());
  return found != known.end() ? found->second : known.emplace(&device.plugin(), find_out(device)).first->second;
}

namespace {

/// Whether all numbers that a plan combines into the receive buffer are where kernels can read and write them.
bool are_aligned(const Buffers& buffers, const Plan& plan, std::int64_t bytes) {
  const auto base_of = [](const void* buffer) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(buffer) % std::uint64_t{64});
  };
  const auto are = [&](std::int64_t base, std::int64_t offset, std::int64_t stride) {
    return (base + offset) % bytes == 0 && stride % bytes == 0;
  };
  return std::ranges::all_of(plan.steps, [&](const Step& step) {
    if (!combines(step) || step.to != Buffer::receive) return true;
    const std::int64_t from = step.from == Buffer::send ? base_of(buffers.send) : 0;
    return std::ranges::all_of(step.runs, [&](const CopyRun& run) {
      return are(from, run.from, run.from_stride) && are(base_of(buffers.receive), run.to, run.to_stride);
    });
  });
}

BufferMemory with_use(BufferMemory where, const Buffers& buffers, const Plan& plan, const DeviceUse& use) {
  where.device_aware =
      where.on_device().any() && (use.is_connected || (use.gives_addresses && device_support(where).takes));
  where.rule = use.rule;
  where.device_combines = use.combining && where.on_device().receive && can_combine(Device(where.receive)) &&
                          are_aligned(buffers, plan, use.combining->number_bytes);
  return where;
}

}  // namespace

BufferMemory look_at(const Buffers& buffers, const Plan& plan, const DeviceUse& use) {
  return with_use(look_at(buffers, extents_of(plan)), buffers, plan, use);
}

DeviceSupport device_support(const BufferMemory& buffers) {
  DeviceSupport support{true, "no buffer is on a device"};
  for (const MemoryInfo* memory : {&buffers.send, &buffers.receive})
    if (!memory->host_may_touch() && support.takes) support = device_support(Device(*memory));
  return support;
}

}  // namespace laneway
