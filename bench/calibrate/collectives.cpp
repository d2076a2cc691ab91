#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include "calibrate/calibrate.hpp"

namespace laneway::bench {

namespace {

/// Buffers with a block for each rank.
struct EqualBlocks {
  MPI_Comm comm = MPI_COMM_NULL;
  int bytes = 0;
  std::vector<std::byte> send;
  std::vector<std::byte> receive;

  [[nodiscard]] int numbers() const { return bytes / static_cast<int>(sizeof(double)); }
};

/// Of a rooted operation ranks may be ahead of each other by many calls, which they seldom are in a program: a barrier
/// follows each. What it takes is measured as well.
struct OwnOperation {
  const char* name;
  bool is_rooted;
  void (*run)(EqualBlocks&);
};

constexpr std::array own_operations = {
    OwnOperation{"barrier", false, [](EqualBlocks& b) { MPI_Barrier(b.comm); }},
    OwnOperation{"alltoall", false,
                 [](EqualBlocks& b) {
                   MPI_Alltoall(b.send.data(), b.bytes, MPI_BYTE, b.receive.data(), b.bytes, MPI_BYTE, b.comm);
                 }},
    OwnOperation{"allgather", false,
                 [](EqualBlocks& b) {
                   MPI_Allgather(b.send.data(), b.bytes, MPI_BYTE, b.receive.data(), b.bytes, MPI_BYTE, b.comm);
                 }},
    OwnOperation{"gather", true,
                 [](EqualBlocks& b) {
                   MPI_Gather(b.send.data(), b.bytes, MPI_BYTE, b.receive.data(), b.bytes, MPI_BYTE, 0, b.comm);
                 }},
    OwnOperation{"scatter", true,
                 [](EqualBlocks& b) {
                   MPI_Scatter(b.send.data(), b.bytes, MPI_BYTE, b.receive.data(), b.bytes, MPI_BYTE, 0, b.comm);
                 }},
    OwnOperation{"bcast", true, [](EqualBlocks& b) { MPI_Bcast(b.receive.data(), b.bytes, MPI_BYTE, 0, b.comm); }},
    OwnOperation{"reduce", true,
                 [](EqualBlocks& b) {
                   MPI_Reduce(b.send.data(), b.receive.data(), b.numbers(), MPI_DOUBLE, MPI_SUM, 0, b.comm);
                 }},
    OwnOperation{"allreduce", false,
                 [](EqualBlocks& b) {
                   MPI_Allreduce(b.send.data(), b.receive.data(), b.numbers(), MPI_DOUBLE, MPI_SUM, b.comm);
                 }},
};

Measurement measurement_of(const Run& run, const OwnOperation& operation, int bytes) {
  Measurement result{.what = {{"measure", "collective"}, {"operation", operation.name}, {"bytes", bytes}},
                     .ranks = all_ranks(run),
                     .sweep = std::string("collective ") + operation.name,
                     .busy = true};
  result.what["rooted"] = operation.is_rooted;
  result.prepare = [&operation, bytes](MPI_Comm comm) -> std::function<void()> {
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    const auto all = static_cast<std::size_t>(ranks) * static_cast<std::size_t>(bytes);
    const auto blocks = std::make_shared<EqualBlocks>(
        EqualBlocks{comm, bytes, std::vector<std::byte>(all), std::vector<std::byte>(all)});
    return [&operation, blocks] {
      operation.run(*blocks);
      if (operation.is_rooted) MPI_Barrier(blocks->comm);
    };
  };
  return result;
}

}  // namespace

std::vector<Measurement> measure_collectives(const Run& run, bool quick) {
  std::vector<Measurement> list;
  const std::vector<int> sizes = quick ? std::vector{8, 1024} : std::vector{8, 64, 512, 4096, 32768};
  for (const OwnOperation& operation : own_operations)
    for (const int bytes : sizes) {
      const bool has_size = std::string_view(operation.name) != "barrier";
      list.push_back(measurement_of(run, operation, has_size ? bytes : 0));
      if (!has_size) break;
    }
  return list;
}

}  // namespace laneway::bench
