#include "commands/link.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <utility>
#include <vector>

#include "base/json.hpp"
#include "commands.hpp"
#include "data/statistics.hpp"
#include "output/format.hpp"
#include "output/provenance.hpp"

namespace laneway::bench {

namespace {

struct Pair {
  Rank first = 0;
  Rank second = 0;
};

std::optional<Pair> across_nodes(const Nodes& nodes) {
  const auto other = std::find(nodes.of.begin(), nodes.of.end(), 1);
  if (other == nodes.of.end()) return std::nullopt;
  return Pair{0, static_cast<Rank>(other - nodes.of.begin())};
}

std::optional<Pair> inside_node(const Nodes& nodes) {
  std::vector<Rank> first(static_cast<std::size_t>(nodes.count), -1);
  for (Rank rank = 0; rank < static_cast<Rank>(nodes.of.size()); ++rank) {
    Rank& seen = first[static_cast<std::size_t>(nodes.of[static_cast<std::size_t>(rank)])];
    if (seen >= 0) return Pair{seen, rank};
    seen = rank;
  }
  return std::nullopt;
}

/// One end of a connection between two ranks.
class Wire {
 public:
  Wire(const Run& run, Pair pair)
      : comm_(run.comm), sends_(run.rank == pair.first), peer_(sends_ ? pair.second : pair.first) {}

  /// Seconds for `messages` messages one way and one short answer.
  double stream(int messages) {
    std::array<MPI_Request, window> requests;
    const double begin = MPI_Wtime();
    for (int left = messages; left > 0;) {
      const int now = std::min(left, window);
      for (int i = 0; i < now; ++i) {
        std::byte* data = buffer_.data() + static_cast<std::ptrdiff_t>(i) * message_bytes;
        MPI_Request* request = &requests[static_cast<std::size_t>(i)];
        if (sends_)
          MPI_Isend(data, message_bytes, MPI_BYTE, peer_, 0, comm_, request);
        else
          MPI_Irecv(data, message_bytes, MPI_BYTE, peer_, 0, comm_, request);
      }
      MPI_Waitall(now, requests.data(), MPI_STATUSES_IGNORE);
      left -= now;
    }
    char answer = 0;
    if (sends_)
      MPI_Recv(&answer, 1, MPI_CHAR, peer_, 1, comm_, MPI_STATUS_IGNORE);
    else
      MPI_Send(&answer, 1, MPI_CHAR, peer_, 1, comm_);
    return MPI_Wtime() - begin;
  }

  /// Seconds for a short message and its answer.
  double ping() {
    const double begin = MPI_Wtime();
    std::array<char, 8> word{};
    for (const bool turn : {sends_, !sends_}) {
      if (turn)
        MPI_Send(word.data(), word.size(), MPI_CHAR, peer_, 2, comm_);
      else
        MPI_Recv(word.data(), word.size(), MPI_CHAR, peer_, 2, comm_, MPI_STATUS_IGNORE);
    }
    return MPI_Wtime() - begin;
  }

  /// Both ends do as often as the first says.
  int agree(int count) {
    if (sends_)
      MPI_Send(&count, 1, MPI_INT, peer_, 3, comm_);
    else
      MPI_Recv(&count, 1, MPI_INT, peer_, 3, comm_, MPI_STATUS_IGNORE);
    return count;
  }

  static constexpr int message_bytes = 1 << 20;
  static constexpr int window = 4;

 private:
  MPI_Comm comm_;
  bool sends_;
  Rank peer_;
  std::vector<std::byte> buffer_ = std::vector<std::byte>(static_cast<std::size_t>(message_bytes) * window);
};

double measure_rate(Wire& wire) {
  constexpr int probe = 4;
  constexpr int repeats = 9;
  constexpr double repeat_seconds = 0.15;
  wire.stream(probe);
  const double one = wire.stream(probe) / probe;
  const int messages = wire.agree(std::clamp(static_cast<int>(repeat_seconds / one), probe, 4096));
  std::vector<double> rates;
  rates.reserve(repeats);
  for (int i = 0; i < repeats; ++i)
    rates.push_back(static_cast<double>(messages) * Wire::message_bytes / wire.stream(messages));
  return median(rates);
}

double measure_latency(Wire& wire) {
  constexpr int repeats = 300;
  for (int i = 0; i < 20; ++i) wire.ping();
  std::vector<double> seconds;
  seconds.reserve(repeats);
  for (int i = 0; i < repeats; ++i) seconds.push_back(wire.ping() / 2);
  return median(seconds);
}

/// Runs `body` on the two ranks of the pair while the others sleep; its result is the first one's, on all ranks.
template <class F>
LinkRates on_pair(const Run& run, Pair pair, F&& body) {
  LinkRates rates;
  MPI_Barrier(run.comm);
  if (run.rank == pair.first || run.rank == pair.second) {
    Wire wire(run, pair);
    rates = body(wire);
  }
  quiet_barrier(run.comm);
  MPI_Bcast(&rates, 2, MPI_DOUBLE, pair.first, run.comm);
  return rates;
}

std::optional<LinkRates> measure_pair(const Run& run, const std::optional<Pair>& pair) {
  if (!pair) return std::nullopt;
  return on_pair(run, *pair, [](Wire& wire) {
    const double rate = measure_rate(wire);
    return LinkRates{rate, measure_latency(wire)};
  });
}

struct LinkOptions {
  std::string json;
  std::string machine;
};

int report_link(const Run& run, const LinkOptions& options) {
  const std::optional<LinkRates> link = measure_link(run);
  const std::optional<LinkRates> node = measure_node(run);
  if (!run.is_root()) return EXIT_SUCCESS;
  const auto line = [](const char* where, const std::optional<LinkRates>& rates) {
    std::cout << where;
    if (rates)
      std::cout << format_number(rates->bytes_per_second * 1e-6, 1) << " MB/s, "
                << format_seconds(rates->latency_seconds) << "\n";
    else
      std::cout << "none\n";
  };
  std::cout << run.ranks << " ranks on " << run.nodes.description << "\n";
  line("between two nodes: ", link);
  line("inside a node:     ", node);
  const auto field = [](const std::optional<LinkRates>& rates, double LinkRates::*value) {
    return rates ? Json((*rates).*value) : Json(nullptr);
  };
  const Json json = {{"benchmark", "link"},
                     {"ranks", run.ranks},
                     {"nodes", run.nodes.count},
                     {"link_bytes_per_second", field(link, &LinkRates::bytes_per_second)},
                     {"link_latency_s", field(link, &LinkRates::latency_seconds)},
                     {"node_bytes_per_second", field(node, &LinkRates::bytes_per_second)},
                     {"node_latency_s", field(node, &LinkRates::latency_seconds)}};
  if (!options.json.empty()) append_record(options.json, json);
  return EXIT_SUCCESS;
}

void add_link(CLI::App& command, Action& action) {
  auto options = std::make_shared<LinkOptions>();
  command.add_option("--json", options->json, "Append one object to this file");
  command.add_option("--machine", options->machine, "Nodes to assume, e.g. \"node:4 rank:4\"");
  command.callback([options, &action] {
    action = [options] {
      return with_mpi(options->machine, [&](const Run& run) { return report_link(run, *options); });
    };
  });
}

}  // namespace

double measure_goodput(const Run& run) {
  return on_pair(run, across_nodes(run.nodes).value(),
                 [](Wire& wire) {
                   return LinkRates{measure_rate(wire), 0};
                 })
      .bytes_per_second;
}

std::optional<LinkRates> measure_link(const Run& run) {
  return measure_pair(run, across_nodes(run.nodes));
}

std::optional<LinkRates> measure_node(const Run& run) {
  return measure_pair(run, inside_node(run.nodes));
}

std::vector<Command> link_commands() {
  return {{"link", Topic::machine, "Rates and latencies between and inside nodes", add_link}};
}

}  // namespace laneway::bench
