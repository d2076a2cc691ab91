#include <algorithm>
#include <cstring>
#include <laneway/laneway.hpp>
#include <memory>
#include <random>

#include "calibrate/calibrate.hpp"
#include "runtime/executor/copy.hpp"

namespace laneway::bench {

namespace {

Hints graph_hints(const std::string& machine) {
  if (machine.empty()) return {{"lnw_strategy", "direct"}};
  return {{"lnw_strategy", "direct"}, {"lnw_machine", machine.c_str()}};
}

/// A persistent exchange of blocks of one size, each edge by itself.
class DirectExchange {
 public:
  DirectExchange(MPI_Comm comm, const std::string& machine, const std::vector<Rank>& sources,
                 const std::vector<Rank>& destinations, int bytes)
      : graph_(comm, sources, destinations, graph_hints(machine)),
        send_(destinations.size() * static_cast<std::size_t>(bytes)),
        receive_(sources.size() * static_cast<std::size_t>(bytes)) {
    const Layout out(destinations.size(), bytes);
    const Layout in(sources.size(), bytes);
    exchange_ = neighbor_alltoallv_init<std::int8_t>(graph_.get(), send_, {out.counts, out.displacements}, receive_,
                                                     {in.counts, in.displacements});
  }
  void run() { exchange_.run(); }

 private:
  struct Layout {
    Layout(std::size_t blocks, int bytes) : counts(blocks, bytes) {
      for (std::size_t i = 0; i < blocks; ++i) displacements.push_back(static_cast<int>(i) * bytes);
    }
    std::vector<int> counts;
    std::vector<int> displacements;
  };

  Graph graph_;
  std::vector<std::int8_t> send_;
  std::vector<std::int8_t> receive_;
  Persistent exchange_;
};

/// All ranks at once exchange with 1, 2, 4 and 8 others of their node, or with fewer several times.
void add_shared_overheads(const Run& run, std::vector<Measurement>& list) {
  for (const int bytes : {8, 256, 2048, 16384})
    for (const int neighbors : doubling(8)) {
      const std::vector<Shift> shifts = shifts_inside_nodes(run, static_cast<std::size_t>(neighbors));
      if (shifts.empty()) return;
      list.push_back({.what = {{"measure", "overhead"},
                               {"path", "shared"},
                               {"messages", messages_of_rank(run, shifts)},
                               {"bytes", bytes}},
                      .ranks = all_ranks(run),
                      .prepare = [shifts, bytes, machine = run.machine](MPI_Comm comm) -> std::function<void()> {
                        std::vector<Rank> sources;
                        std::vector<Rank> destinations;
                        for (const Shift& shift : shifts) {
                          if (shift.source != MPI_PROC_NULL) sources.push_back(shift.source);
                          if (shift.destination != MPI_PROC_NULL) destinations.push_back(shift.destination);
                        }
                        const auto exchange =
                            std::make_shared<DirectExchange>(comm, machine, sources, destinations, bytes);
                        return [exchange] { exchange->run(); };
                      },
                      .busy = true});
    }
}

/// A few words from one rank of a node to another and back, each way by an exchange of its own.
void add_flag(const Run& run, std::vector<Measurement>& list) {
  const std::vector<std::vector<Rank>> nodes = members_of(run.nodes);
  const auto node = std::ranges::find_if(nodes, [](const auto& members) { return members.size() > 1; });
  if (node == nodes.end()) return;
  for (const int bytes : {8, 16, 32, 64})
    list.push_back({.what = {{"measure", "flag"}, {"bytes", bytes}},
                    .ranks = {node->at(0), node->at(1)},
                    .prepare = [bytes, machine = run.machine](MPI_Comm comm) -> std::function<void()> {
                      int rank = 0;
                      MPI_Comm_rank(comm, &rank);
                      const std::vector<Rank> other = {1 - rank};
                      const std::vector<Rank> nobody;
                      std::vector<std::shared_ptr<DirectExchange>> ways;
                      for (const int sender : {0, 1})
                        ways.push_back(std::make_shared<DirectExchange>(comm, machine, rank == sender ? nobody : other,
                                                                        rank == sender ? other : nobody, bytes));
                      return [ways] {
                        for (const auto& way : ways) way->run();
                      };
                    },
                    .parts = 2});
}

/// The first `active` ranks of a node copy what no cache holds, in pieces that are copied at a time. Processor time:
/// ranks that share a core share its time, but not what they wait for memory.
void add_copies(const Run& run, bool quick, std::vector<Measurement>& list) {
  const std::size_t buffer_bytes = static_cast<std::size_t>(quick ? 8 : 32) << 20;
  constexpr std::size_t piece_bytes = 1 << 20;
  const std::vector<std::vector<Rank>> nodes = members_of(run.nodes);
  const std::vector<Rank>& node = *std::ranges::max_element(nodes, {}, &std::vector<Rank>::size);
  for (const int active : doubling(static_cast<int>(node.size())))
    list.push_back({.what = {{"measure", "copy"}, {"active", active}, {"bytes", buffer_bytes}},
                    .ranks = {node.begin(), node.begin() + active},
                    .prepare = [buffer_bytes](MPI_Comm) -> std::function<void()> {
                      return [buffer_bytes, from = std::vector<std::byte>(buffer_bytes, std::byte{1}),
                              to = std::vector<std::byte>(buffer_bytes)]() mutable {
                        for (std::size_t at = 0; at < buffer_bytes; at += piece_bytes)
                          std::memcpy(to.data() + at, from.data() + at, piece_bytes);
                      };
                    },
                    .busy = true,
                    .clock = processor_seconds});
}

/// Elements of 8 bytes that are gathered: every fourth, or one in four on average.
std::vector<CopyRun> gather_runs(bool indexed, std::int64_t elements) {
  constexpr std::int64_t bytes = 8;
  constexpr std::int64_t spacing = 4;
  if (!indexed) return {{.bytes = bytes, .from_stride = spacing * bytes, .to_stride = bytes, .count = elements}};
  std::mt19937 random(1);
  std::vector<CopyRun> runs;
  for (std::int64_t i = 0; i < elements; ++i)
    runs.push_back({.from = bytes * (spacing * i + static_cast<std::int64_t>(random() % spacing)),
                    .to = bytes * i,
                    .bytes = bytes});
  return runs;
}

void add_packs(std::vector<Measurement>& list) {
  for (const bool indexed : {false, true})
    for (const std::int64_t bytes : {16 << 10, 32 << 10, 64 << 10, 128 << 10})
      list.push_back({.what = {{"measure", "pack"}, {"kind", indexed ? "indexed" : "strided"}, {"bytes", bytes}},
                      .ranks = {0},
                      .prepare = [indexed, bytes](MPI_Comm) -> std::function<void()> {
                        return [program = CopyProgram(gather_runs(indexed, bytes / 8)),
                                from = std::vector<std::byte>(static_cast<std::size_t>(4 * bytes)),
                                to = std::vector<std::byte>(static_cast<std::size_t>(bytes))]() mutable {
                          program.run(from.data(), to.data());
                        };
                      },
                      .clock = processor_seconds});
}

}  // namespace

std::vector<Measurement> measure_memory(const Run& run, bool quick) {
  std::vector<Measurement> list;
  add_shared_overheads(run, list);
  add_flag(run, list);
  add_copies(run, quick, list);
  add_packs(list);
  return list;
}

}  // namespace laneway::bench
