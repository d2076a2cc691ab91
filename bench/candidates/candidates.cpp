#include "candidates/candidates.hpp"

#include <algorithm>
#include <cstring>

#include "algorithms/neighborhood/strategy.hpp"
#include "base/error.hpp"
#include "base/simulated.hpp"
#include "candidates/devices/device_buffers.hpp"
#include "plan/writer/copy_runs.hpp"
#include "runtime/executor/copy.hpp"

namespace laneway::bench {

// Each file in baselines/ has a function of its name.
#define LANEWAY_BASELINES(file) std::vector<Baseline> file##_baselines();
#include "baseline_files.inc"
#undef LANEWAY_BASELINES

namespace {

const std::vector<Baseline>& baselines() {
  static const std::vector<Baseline> rows = [] {
    std::vector<Baseline> all;
#define LANEWAY_BASELINES(file) \
  for (const Baseline& baseline : file##_baselines()) all.push_back(baseline);
#include "baseline_files.inc"
#undef LANEWAY_BASELINES
    return all;
  }();
  return rows;
}

const Baseline* find_baseline(std::string_view name) {
  for (const Baseline& row : baselines())
    if (row.name == name) return &row;
  return nullptr;
}

std::unique_ptr<Candidate> make_by_name(const std::string& name, const Task& task) {
  for (const OwnCandidate& own : task.own)
    if (own.name == name) return own.make(task);
  const Baseline* row = find_baseline(name);
  return row != nullptr ? row->make(task) : make_strategy(name, task);
}

}  // namespace

std::unique_ptr<Candidate> make_candidate(const std::string& name, const Task& task) {
  if (task.on_device != nullptr)
    return find_baseline(name) == nullptr ? make_strategy(name, with_device_buffers(task))
                                          : make_surrounded(make_by_name(name, task), task);
  std::unique_ptr<Candidate> candidate = make_by_name(name, task);
  return task.devices.staged ? make_staged(std::move(candidate), task) : std::move(candidate);
}

bool arrives(const Task& task, Content content, std::uint64_t salt, const std::function<void()>& exchange) {
  std::vector<std::byte> expected(task.buffers.receive.size());
  fill(expected, task.exchange.receive.labels, content, salt);
  fill(task.buffers.send, task.exchange.send.labels, content, salt);
  std::fill(task.buffers.receive.begin(), task.buffers.receive.end(), std::byte{0xa5});
  if (task.on_device != nullptr) task.on_device->bring();
  exchange();
  if (task.on_device != nullptr) task.on_device->fetch();
  int right = std::equal(expected.begin(), expected.end(), task.buffers.receive.begin()) ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &right, 1, MPI_INT, MPI_LAND, task.run.comm);
  return right != 0;
}

void check_baseline(const std::string& name) {
  const Baseline* row = find_baseline(name);
  std::string names;
  for (const Baseline& other : baselines()) names += (names.empty() ? "" : ", ") + std::string(other.name);
  require(row != nullptr, ErrorKind::argument, "unknown baseline '" + name + "'; valid are " + names);
  require(row->make != nullptr, ErrorKind::unsupported, "baseline " + name + ": " + row->missing);
}

void check_strategy(const std::string& name) {
  static_cast<void>(parse_levels(name));
}

namespace {

/// By the same costs as what the library packs. Devices pack what is staged.
double pack_seconds(const Exchange& exchange) {
  double seconds = 0;
  for (const Edge& edge : to_pattern(exchange).out)
    seconds += simulated_seconds(copy_runs(edge.ranges, {{0, edge.ranges.bytes()}}), simulated_costs().copy);
  return seconds;
}

}  // namespace

Blocks::Blocks(const Task& task)
    : send(task.buffers.send.data()), receive(task.buffers.receive.data()), exchange_(task.exchange), from_(send) {
  const std::int64_t element_bytes = exchange_.element_bytes;
  const auto bytes = [&](std::int64_t elements) { return static_cast<int>(elements * element_bytes); };
  // Open MPI refuses null arrays, also where there are no neighbours.
  for (std::vector<int>* array : {&send_counts, &send_displacements, &receive_counts, &receive_displacements})
    array->reserve(1);
  std::int64_t packed = 0;
  for (std::span<const std::int64_t> edge : exchange_.send.edges()) {
    const std::int64_t begin = exchange_.indexed || edge.empty() ? packed : edge.front();
    send_counts.push_back(bytes(static_cast<std::int64_t>(edge.size())));
    send_displacements.push_back(bytes(begin));
    packed += static_cast<std::int64_t>(edge.size());
  }
  for (std::span<const std::int64_t> edge : exchange_.receive.edges()) {
    for (std::size_t i = 1; i < edge.size(); ++i)
      require(edge[i] == edge[0] + static_cast<std::int64_t>(i), ErrorKind::internal, "an edge is received in pieces");
    receive_counts.push_back(bytes(static_cast<std::int64_t>(edge.size())));
    receive_displacements.push_back(edge.empty() ? 0 : bytes(edge.front()));
  }
  if (exchange_.indexed) {
    packed_.resize(static_cast<std::size_t>(packed * element_bytes));
    send = packed_.data();
  }
  if constexpr (simulated)
    if (exchange_.indexed && !task.devices.staged) pack_seconds_ = pack_seconds(exchange_);
}

void Blocks::pack() {
  if (!exchange_.indexed) return;
  pass(pack_seconds_);
  std::byte* to = packed_.data();
  if (exchange_.element_bytes == sizeof(double)) {
    for (std::int64_t index : exchange_.send.indices) {
      std::memcpy(to, from_ + index * static_cast<std::int64_t>(sizeof(double)), sizeof(double));
      to += sizeof(double);
    }
    return;
  }
  for (std::int64_t index : exchange_.send.indices) {
    std::memcpy(to, from_ + index * exchange_.element_bytes, static_cast<std::size_t>(exchange_.element_bytes));
    to += exchange_.element_bytes;
  }
}

GraphComm::GraphComm(const Task& task) {
  const std::vector<Rank>& sources = task.exchange.receive.peers;
  const std::vector<Rank>& destinations = task.exchange.send.peers;
  MPI_Dist_graph_create_adjacent(task.run.comm, static_cast<int>(sources.size()), sources.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(destinations.size()), destinations.data(), MPI_UNWEIGHTED,
                                 MPI_INFO_NULL, 0, &comm_);
}

}  // namespace laneway::bench
