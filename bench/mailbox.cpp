#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "commands.hpp"
#include "core/error.hpp"
#include "core/readable.hpp"
#include "core/relax.hpp"
#include "format.hpp"
#include "statistics.hpp"

namespace laneway::bench {

namespace {

constexpr std::size_t line = 64;
constexpr std::size_t most_pieces = 64;

struct alignas(line) Word {
  std::atomic<std::uint64_t> value{0};
};

/// Two slots for the messages of one thread, and a word for each piece of one.
struct Mailbox {
  explicit Mailbox(std::size_t bytes) : slots{std::vector<std::byte>(bytes), std::vector<std::byte>(bytes)} {}
  std::array<std::vector<std::byte>, 2> slots;
  std::array<Word, most_pieces> written;
};

/// How a message is copied into a mailbox and out of it: in pieces of so many bytes, each with a word of its own, and
/// whether the lines are asked for together before they are stored.
struct Way {
  const char* name;
  std::size_t piece;
  bool claims;
};
constexpr std::array ways = {Way{"whole", SIZE_MAX, false}, Way{"whole-claimed", SIZE_MAX, true},
                             Way{"pieces", 1024, false}, Way{"pieces-claimed", 1024, true}};

struct Options {
  std::vector<std::int64_t> bytes = {8, 64, 512, 1024, 4096, 16384, 65536};
  int iterations = 20000;
  std::string json;
};

/// One side of the exchanges; returns the seconds of each.
std::vector<double> exchange(const Way& way, std::size_t bytes, int iterations, Mailbox& own, Mailbox& other) {
  const std::vector<std::byte> source(bytes, std::byte{1});
  std::vector<std::byte> target(bytes);
  const std::size_t piece = std::max(std::min(way.piece, bytes), (bytes + most_pieces - 1) / most_pieces);
  std::vector<double> seconds;
  seconds.reserve(static_cast<std::size_t>(iterations));
  for (std::uint64_t turn = 1; turn <= static_cast<std::uint64_t>(iterations); ++turn) {
    const auto begin = std::chrono::steady_clock::now();
    std::byte* const to = own.slots[turn & 1].data();
    const std::byte* const from = other.slots[turn & 1].data();
    for (std::size_t at = 0, p = 0; at < bytes; at += piece, ++p) {
      const std::size_t n = std::min(piece, bytes - at);
      if (way.claims)
        for (std::size_t byte = 0; byte < n; byte += line) __builtin_prefetch(to + at + byte, 1);
      std::memcpy(to + at, source.data() + at, n);
      own.written[p].value.store(turn, std::memory_order_release);
    }
    for (std::size_t at = 0, p = 0; at < bytes; at += piece, ++p) {
      for (int turns = 0; other.written[p].value.load(std::memory_order_acquire) < turn;) relax(turns);
      std::memcpy(target.data() + at, from + at, std::min(piece, bytes - at));
    }
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    seconds.push_back(elapsed.count());
  }
  require(target == source, ErrorKind::internal, "mailbox: wrong bytes have arrived");
  return seconds;
}

std::vector<int> own_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (sched_getaffinity(0, sizeof set, &set) == 0)
    for (int core = 0; core < CPU_SETSIZE; ++core)
      if (CPU_ISSET(core, &set)) cores.push_back(core);
  return cores;
}

void bind_to(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

int mailbox(const Options& options) {
  const std::vector<int> cores = own_cores();
  turns_before_yield.store(patient_turns, std::memory_order_relaxed);
  require(cores.size() >= 2, ErrorKind::unsupported, "mailbox: needs two processor cores");
  Table table({"bytes", "way", "median", "p10", "p90"});
  for (const std::int64_t bytes : options.bytes)
    for (const Way& way : ways) {
      const auto size = static_cast<std::size_t>(bytes);
      Mailbox first(size);
      Mailbox second(size);
      std::thread partner([&] {
        bind_to(cores[1]);
        (void)exchange(way, size, options.iterations, second, first);
      });
      std::vector<double> seconds;
      std::thread([&] {
        bind_to(cores[0]);
        seconds = exchange(way, size, options.iterations, first, second);
      }).join();
      partner.join();
      const double middle = median(seconds);
      table.add({readable_bytes(bytes), way.name, format_seconds(middle), format_seconds(quantile(seconds, 0.1)),
                 format_seconds(quantile(seconds, 0.9))});
      if (!options.json.empty())
        append_line(options.json, nlohmann::ordered_json{{"bytes", bytes},
                                                         {"way", way.name},
                                                         {"median_s", middle},
                                                         {"p10_s", quantile(seconds, 0.1)},
                                                         {"p90_s", quantile(seconds, 0.9)}}
                                      .dump());
    }
  std::cout << "two threads send each other a message through two slots: words and two copies, nothing else\n"
            << table.text();
  return EXIT_SUCCESS;
}

}  // namespace

void add_mailbox(CLI::App& app, Action& action) {
  auto options = std::make_shared<Options>();
  CLI::App* command =
      app.add_subcommand("mailbox", "What an exchange between two cores takes at least, if both sides copy; no MPI");
  command->add_option("--bytes", options->bytes, "Sizes of the message")
      ->delimiter(',')
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::Range(1, 1 << 26))
      ->capture_default_str();
  command->add_option("--iterations", options->iterations, "Exchanges of each size and way")
      ->check(CLI::Range(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--json", options->json, "Append an object a line for each case to this file");
  command->callback([options, &action] { action = [options] { return mailbox(*options); }; });
}

}  // namespace laneway::bench
