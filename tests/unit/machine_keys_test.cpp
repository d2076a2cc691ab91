// Every number of a machine file at the ends of its range: refused with a text that names it, or planned with.
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/error.hpp"
#include "machine/machine.hpp"
#include "machine/parameters.hpp"
#include "offline/virtual_ranks.hpp"

namespace laneway {
namespace {

constexpr Rank node_members = 8;

constexpr const char* machine_text = R"(name = "test"
provenance = "none"
description = "node:2 gpu:4"
[devices]
network_distance = [1, 2, 1, 2]
links = [[3, 2, 1, 1], [2, 3, 1, 1], [1, 1, 3, 2], [1, 1, 2, 3]]
[links.node]
protocols = [{ name = "eager", up_to = 4096, alpha = 1e-6, beta = 1e-10 }, { name = "rendezvous", alpha = 3e-6, beta = 2e-10 }]
[links.network]
protocols = [{ name = "eager", up_to = 4096, alpha = 2e-6, beta = 1e-9 }, { name = "rendezvous", alpha = 3e-6, beta = 2e-9 }]
[device_links.node]
protocols = [{ name = "rendezvous", alpha = 4e-6, beta = 5e-10 }]
[staged_device_links.network]
protocols = [{ name = "rendezvous", alpha = 6e-6, beta = 7e-10 }]
[injection]
beta = 8e-10
short = { alpha = 2e-7, beta = 2e-10 }
[host]
cores = 2
nodes = 4
[overhead]
network = { message = 9e-7, byte = 1e-10, wait = 2e-7 }
node = { message = 1e-7, byte = 1e-10, wait = 2e-7 }
shared = { message = 1e-7, byte = 1e-10, wait = 1e-7 }
flag = 1e-7
match = 1e-8
pack = 1e-10
[[device_copies]]
processes = 3
to_device = { alpha = 1e-5, beta = 2e-10 }
to_host = { alpha = 2e-5, beta = 2e-10 }
from_peer = { alpha = 3e-5, beta = 3e-10 }
pack = { alpha = 3e-5, beta = 3e-10 }
gap = 1e-6
[[copies]]
active = 1
beta = 1e-10
)";

/// Where the numbers of a TOML text are that are not in strings, with how long they are.
std::vector<std::pair<std::size_t, std::size_t>> numbers_of(const std::string& toml) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  bool in_string = false;
  for (std::size_t i = 0; i < toml.size(); ++i) {
    if (toml[i] == '"') in_string = !in_string;
    if (in_string || !std::isdigit(static_cast<unsigned char>(toml[i])) ||
        std::isalpha(static_cast<unsigned char>(toml[i - 1])))
      continue;
    const std::size_t end = toml.find_first_not_of("0123456789.e-", i);
    found.emplace_back(i, end - i);
    i = end - 1;
  }
  return found;
}

Pattern complete(std::int64_t bytes) {
  Pattern pattern(node_members);
  for (Rank a = 0; a < node_members; ++a)
    for (Rank b = 0; b < node_members; ++b) {
      pattern[static_cast<std::size_t>(a)].out.push_back({b, {{b * bytes, bytes}}});
      pattern[static_cast<std::size_t>(a)].in.push_back({b, {{b * bytes, bytes}}});
    }
  return pattern;
}

TEST(MachineKeys, AtTheEndsOfTheirRanges) {
  const std::string path = testing::TempDir() + "laneway_machine_keys.toml";
  int refused = 0;
  int planned = 0;
  for (const auto& [at, length] : numbers_of(machine_text))
    for (const char* const value : {"-1", "0", "2147483647", "9223372036854775807", "1e308", "-9223372036854775808"}) {
      std::string changed = machine_text;
      changed.replace(at, length, value);
      std::ofstream(path) << changed;
      SCOPED_TRACE(std::string(machine_text).substr(at > 40 ? at - 40 : 0, 60) + " -> " + value);
      try {
        const Machine machine = Machine::parse("file:" + path, node_members);
        const Parameters parameters = Parameters::read(path);
        for (const char* const strategy : {"auto", "three_step", "multi_path", "load_aware"})
          for (const std::int64_t bytes : {8, 100000}) {
            const VirtualSetup setup =
                plan_virtual_ranks(complete(bytes), machine, choose_levels(strategy, "", false), {}, {}, &parameters);
            EXPECT_EQ(setup.plans.size(), static_cast<std::size_t>(node_members));
          }
        ++planned;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::info) << error.what();
        EXPECT_NE(std::string(error.what()).find("laneway_machine_keys.toml"), std::string::npos) << error.what();
        ++refused;
      }
    }
  std::filesystem::remove(path);
  EXPECT_GT(refused, 100);
  EXPECT_GT(planned, 100);
}

}  // namespace
}  // namespace laneway
