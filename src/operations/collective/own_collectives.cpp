#include "operations/collective/own_collectives.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/simulated.hpp"
#include "base/statistics.hpp"
#include "communicator/control/control_rounds.hpp"
#include "mpi/check.hpp"
#include "mpi/library.hpp"

namespace laneway {

namespace {

constexpr std::array<int, 3> sizes = {8, 512, 16384};
constexpr int repeats = simulated ? 1 : 9;
constexpr std::int64_t most_timed_bytes = std::int64_t{1} << 22;  // of the blocks of all ranks

struct Arguments {
  const void* send;
  void* receive;
  int bytes;
  MPI_Comm comm;

  [[nodiscard]] int doubles() const { return bytes / static_cast<int>(sizeof(double)); }
};

struct Timed {
  const char* name;
  bool has_blocks;  ///< one for each rank
  bool is_rooted;   ///< a barrier follows, so that no rank is many calls ahead; what it takes does not count
  int (*call)(const Arguments& a);
};

/// As the machine files have them.
constexpr std::array<Timed, 7> operations = {{
    {"alltoall", true, false,
     [](const Arguments& a) { return MPI_Alltoall(a.send, a.bytes, MPI_BYTE, a.receive, a.bytes, MPI_BYTE, a.comm); }},
    {"allgather", true, false,
     [](const Arguments& a) { return MPI_Allgather(a.send, a.bytes, MPI_BYTE, a.receive, a.bytes, MPI_BYTE, a.comm); }},
    {"gather", true, true,
     [](const Arguments& a) { return MPI_Gather(a.send, a.bytes, MPI_BYTE, a.receive, a.bytes, MPI_BYTE, 0, a.comm); }},
    {"scatter", true, true,
     [](const Arguments& a) {
       return MPI_Scatter(a.send, a.bytes, MPI_BYTE, a.receive, a.bytes, MPI_BYTE, 0, a.comm);
     }},
    {"bcast", false, true, [](const Arguments& a) { return MPI_Bcast(a.receive, a.bytes, MPI_BYTE, 0, a.comm); }},
    {"reduce", false, true,
     [](const Arguments& a) { return MPI_Reduce(a.send, a.receive, a.doubles(), MPI_DOUBLE, MPI_SUM, 0, a.comm); }},
    {"allreduce", false, false,
     [](const Arguments& a) { return MPI_Allreduce(a.send, a.receive, a.doubles(), MPI_DOUBLE, MPI_SUM, a.comm); }},
}};

template <class Call>
double median_seconds(Call&& call) {
  if (!simulated) call();
  std::vector<double> seconds(repeats);
  for (double& each : seconds) {
    const double begin = MPI_Wtime();
    call();
    each = MPI_Wtime() - begin;
  }
  return median(std::move(seconds));
}

}  // namespace

OwnCollectives time_own_collectives(const PrivateComm& comm, Rank nodes) {
  const std::int64_t ranks = comm.size();
  std::vector<double> buffers[2];
  for (std::vector<double>& buffer : buffers)
    buffer.resize(static_cast<std::size_t>(most_timed_bytes) / sizeof(double));
  const auto barrier = [&] { check_mpi(MPI_Barrier(comm.get()), "MPI_Barrier"); };
  // Nobody waits for others of this communicator in a call that blocks before all are here.
  barrier_progressing(comm);
  std::vector<double> seconds = {median_seconds(barrier)};
  OwnCollectives own{.mpi = library_version(), .ranks = comm.size(), .nodes = nodes, .operations = {{"barrier", {{}}}}};
  for (const Timed& timed : operations) {
    OwnCollectives::Operation& added = own.operations.emplace_back(timed.name);
    for (const int bytes : sizes) {
      if (timed.has_blocks && bytes * ranks > most_timed_bytes) break;
      const Arguments arguments{buffers[0].data(), buffers[1].data(), bytes, comm.get()};
      seconds.push_back(median_seconds([&] {
        check_mpi(timed.call(arguments), timed.name);
        if (timed.is_rooted) barrier();
      }));
      added.times.push_back({bytes, 0});
    }
  }
  seconds = reduce_progressing(seconds, MPI_DOUBLE, MPI_MAX, comm);
  std::size_t next = 0;
  for (OwnCollectives::Operation& operation : own.operations) {
    const auto timed = std::ranges::find_if(operations, [&](const Timed& one) { return one.name == operation.name; });
    const bool is_rooted = timed != operations.end() && timed->is_rooted;
    for (OwnCollectives::Time& time : operation.times) {
      const double all = seconds[next++];
      time.seconds = is_rooted ? std::max(all - seconds.front(), 0.05 * all) : all;
    }
  }
  return own;
}

}  // namespace laneway
