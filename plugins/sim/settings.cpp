#include "settings.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>

#include "node.hpp"

namespace laneway::sim {

namespace {

[[noreturn]] void reject(std::string_view setting, const char* expected) {
  throw Failure(LNW_DEVICE_INVALID, "LANEWAY_SIM_DEVICE: '" + std::string(setting) + "': " + expected + " is expected");
}

double number(std::string_view setting, std::string_view text, double least, const char* expected) {
  const std::string copy(text);
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !(value >= least)) reject(setting, expected);
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// SECONDS:BYTES_PER_SECOND
Rate rate(std::string_view setting, std::string_view text) {
  constexpr const char* expected = "SECONDS:BYTES_PER_SECOND, such as 5e-6:12e9,";
  const auto parts = split(text, ':');
  if (parts.size() != 2) reject(setting, expected);
  return {number(setting, parts[0], 0, expected), number(setting, parts[1], 0, expected)};
}

std::vector<int> read_buses(std::string_view setting, std::string_view text, int devices) {
  constexpr const char* expected = "a bus of each device that there is, as 0x02+0x41 (give devices= first),";
  std::vector<int> buses;
  for (const std::string_view bus : split(text, '+'))
    buses.push_back(static_cast<int>(number(setting, bus, 0, expected)));
  if (buses.size() != static_cast<std::size_t>(devices)) reject(setting, expected);
  return buses;
}

/// A-BxN, or A-B, between `+`
std::vector<std::vector<int>> read_links(std::string_view setting, std::string_view text, int devices) {
  constexpr const char* expected = "links as 0-1x4+0-2, of devices that there are (give devices= first),";
  const auto size = static_cast<std::size_t>(devices);
  std::vector<std::vector<int>> links(size, std::vector<int>(size, 0));
  for (const std::string_view link : split(text, '+')) {
    const auto ends = split(link.substr(0, link.find('x')), '-');
    if (ends.size() != 2) reject(setting, expected);
    const auto a = static_cast<std::size_t>(number(setting, ends[0], 0, expected));
    const auto b = static_cast<std::size_t>(number(setting, ends[1], 0, expected));
    if (a >= size || b >= size || a == b) reject(setting, expected);
    const std::size_t times = link.find('x');
    links[a][b] = links[b][a] =
        times == std::string_view::npos ? 1 : static_cast<int>(number(setting, link.substr(times + 1), 1, expected));
  }
  return links;
}

}  // namespace

void Settings::read(std::string_view text, bool running) {
  struct Row {
    std::string_view name;
    bool while_running;
    std::function<void(std::string_view, std::string_view)> set;
  };
  const auto count = [](int& value, double least) {
    return [&value, least](std::string_view setting, std::string_view is) {
      value = static_cast<int>(number(setting, is, least, "a number"));
    };
  };
  const auto feature = [this](std::uint32_t bit) {
    return [this, bit](std::string_view setting, std::string_view is) {
      if (is != "0" && is != "1") reject(setting, "0 or 1");
      features = is == "1" ? features | bit : features & ~bit;
    };
  };
  const auto speed = [](Rate& value) {
    return [&value](std::string_view setting, std::string_view is) { value = rate(setting, is); };
  };
  const std::array<Row, 20> rows = {{
      {"devices", false, count(devices, 1)},
      {"device", false, count(device, 0)},
      {"buses", false, [this](auto setting, auto is) { buses = read_buses(setting, is, devices); }},
      {"links", false, [this](auto setting, auto is) { links = read_links(setting, is, devices); }},
      {"link_rate", false,
       [this](auto setting, auto is) { link_bytes_per_second = number(setting, is, 1, "bytes per second"); }},
      {"memory", false,
       [this](auto setting, auto is) { memory_bytes = static_cast<std::uint64_t>(number(setting, is, 1, "bytes")); }},
      {"managed", false, feature(LNW_DEVICE_HAS_MANAGED)},
      {"ipc", false, feature(LNW_DEVICE_HAS_IPC_MEMORY)},
      {"ipc_events", false, feature(LNW_DEVICE_HAS_IPC_EVENTS)},
      {"direct_host", false, feature(LNW_DEVICE_HAS_DIRECT_HOST)},
      {"stream_values", false, feature(LNW_DEVICE_HAS_STREAM_VALUES)},
      {"reorder", true,
       [this](auto setting, auto is) {
         reorders = is != "off";
         if (reorders) seed = static_cast<std::uint64_t>(number(setting, is, 0, "a seed, or off,"));
       }},
      {"delay", true, [this](auto setting, auto is) { delay_seconds = number(setting, is, 0, "seconds"); }},
      {"drop", true,
       [this](auto setting, auto is) { drop = static_cast<std::uint64_t>(number(setting, is, 0, "a number")); }},
      {"refuse", true,
       [this](auto setting, auto is) { refuse = static_cast<std::uint64_t>(number(setting, is, 0, "a number")); }},
      {"h2d", true, speed(host_to_device)},
      {"d2h", true, speed(device_to_host)},
      {"d2d", true, speed(device_to_device)},
      {"peer", true, speed(peer)},
      {"kernel", true, speed(kernel)},
  }};
  for (const std::string_view setting : split(text, ',')) {
    const std::string_view name = setting.substr(0, setting.find('='));
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const Row& one) { return one.name == name; });
    if (row == rows.end() || name.size() == setting.size()) reject(setting, "a setting, as NAME=VALUE,");
    if (running && !row->while_running) reject(setting, "a setting that may change while devices are in use");
    row->set(setting, setting.substr(name.size() + 1));
  }
  if (running) return;
  if (device >= devices) reject("device=" + std::to_string(device), "one of the devices");
  const auto size = static_cast<std::size_t>(devices);
  if (links.empty()) links.assign(size, std::vector<int>(size, 0));
  if (links.size() != size) reject("links", "devices= before them");
  hops = plugin::count_hops(links);
}

}  // namespace laneway::sim
