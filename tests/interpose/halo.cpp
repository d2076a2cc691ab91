// Exchanges as programs write them by hand, of which nothing is Laneway's: `halo KIND BYTES ROUNDS [allocations]`.
//   persistent, nonblocking   the 26 neighbours of a rank in a periodic grid of three dimensions
//   irregular                 partners and sizes that change now and then, as blocks of adaptive meshes do
//   mixed                     persistent, in a communicator where half of the neighbours get long messages, too
// Prints a hash of all that was received, in order, and in a line that starts with `time` the median of the rounds.
// With `allocations` calls of MPI allocate nothing in some fifty rounds one after another.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "check.hpp"

namespace {

/// Of whatever is linked into the program or preloaded.
long allocations = 0;

[[maybe_unused]] bool count_allocation() {  // not by sanitized programs, which have other operators
  ++allocations;
  return true;
}

}  // namespace

#define LANEWAY_TEST_ALLOCATES(bytes) count_allocation()
#include "../own_new.hpp"

namespace {

constexpr int window = 50;

std::uint64_t mixed(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

struct Message {
  int peer, tag, bytes;
  std::vector<unsigned char> data;

  void fill(int from, int round) {
    std::uint64_t x = mixed(static_cast<std::uint64_t>(from) << 40 | static_cast<std::uint64_t>(tag) << 24 |
                            static_cast<std::uint64_t>(round));
    for (unsigned char& byte : data) byte = static_cast<unsigned char>((x = x * 6364136223846793005U + 1) >> 56);
  }
};

Message message(int peer, int tag, int bytes) {
  return {peer, tag, bytes, std::vector<unsigned char>(static_cast<std::size_t>(bytes))};
}

struct Exchange {
  std::vector<Message> out, in;
  std::vector<MPI_Request> requests;

  void make_persistent(MPI_Comm comm) {
    for (Message& m : in)
      MPI_Recv_init(m.data.data(), m.bytes, MPI_BYTE, m.peer, m.tag, comm, &requests.emplace_back());
    for (Message& m : out)
      MPI_Send_init(m.data.data(), m.bytes, MPI_BYTE, m.peer, m.tag, comm, &requests.emplace_back());
  }
  void run_persistent() {
    MPI_Startall(static_cast<int>(requests.size()), requests.data());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
  void run_nonblocking(MPI_Comm comm) {
    requests.clear();
    for (Message& m : in) MPI_Irecv(m.data.data(), m.bytes, MPI_BYTE, m.peer, m.tag, comm, &requests.emplace_back());
    for (Message& m : out) MPI_Isend(m.data.data(), m.bytes, MPI_BYTE, m.peer, m.tag, comm, &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  }
};

/// Message k goes in direction k; what comes from there has gone the other way.
Exchange grid_exchange(MPI_Comm grid, int bytes, bool has_long) {
  Exchange exchange;
  int mine[3], size[3], periodic[3];
  MPI_Cart_get(grid, 3, size, periodic, mine);
  for (int k = 0; k < 27; ++k) {
    if (k == 13) continue;
    int to[3] = {mine[0] + k / 9 - 1, mine[1] + k / 3 % 3 - 1, mine[2] + k % 3 - 1};
    int peer = 0;
    MPI_Cart_rank(grid, to, &peer);
    const int sent = has_long && k % 2 == 0 ? bytes + 10000 : bytes;
    exchange.out.push_back(message(peer, k, sent));
    exchange.in.push_back(message(peer, 26 - k, sent));
  }
  return exchange;
}

/// In an epoch block b of `from` goes to `to` with so many bytes, or not at all: 0.
int block_bytes(int from, int to, int b, int epoch, int most) {
  const std::uint64_t x = mixed(static_cast<std::uint64_t>(((epoch * 4 + b) * 1024 + from) * 1024 + to));
  return from == to || x % 5 > 1 ? 0 : 8 * (1 + static_cast<int>(x / 8 % static_cast<std::uint64_t>(most / 8)));
}

Exchange irregular_exchange(int rank, int ranks, int epoch, int most) {
  Exchange exchange;
  for (int b = 0; b < 3; ++b)
    for (int other = 0; other < ranks; ++other) {
      if (const int n = block_bytes(rank, other, b, epoch, most)) exchange.out.push_back(message(other, b, n));
      if (const int n = block_bytes(other, rank, b, epoch, most)) exchange.in.push_back(message(other, b, n));
    }
  return exchange;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const std::string_view kind = argc > 1 ? argv[1] : "persistent";
  const int bytes = argc > 2 ? std::atoi(argv[2]) : 64;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 30;
  const int rank = rank_in(MPI_COMM_WORLD);
  const int ranks = size_of(MPI_COMM_WORLD);
  int size[3] = {0, 0, 0};
  const int periodic[3] = {1, 1, 1};
  MPI_Comm grid = MPI_COMM_NULL;
  MPI_Dims_create(ranks, 3, size);
  MPI_Cart_create(MPI_COMM_WORLD, 3, size, periodic, 0, &grid);
  const bool persists = kind == "persistent" || kind == "mixed";
  Exchange exchange;
  std::uint64_t hash = 0;
  std::vector<double> seconds;
  long in_window = 0;
  long fewest = argc > 4 ? window : 0;
  for (int round = 0; round < rounds; ++round) {
    if (round == 0 && kind != "irregular") {
      exchange = grid_exchange(grid, bytes, kind == "mixed");
      if (persists) exchange.make_persistent(grid);
    }
    if (kind == "irregular" && round % 20 == 0) exchange = irregular_exchange(rank, ranks, round / 20, bytes);
    for (Message& m : exchange.out) m.fill(rank, round);
    MPI_Barrier(grid);
    const double begin = MPI_Wtime();
    const long before = allocations;
    if (persists)
      exchange.run_persistent();
    else
      exchange.run_nonblocking(grid);
    in_window += allocations - before;
    seconds.push_back(MPI_Wtime() - begin);
    MPI_Barrier(grid);  // checks take processors from ranks that are not as far
    if ((round + 1) % window == 0) fewest = std::min(fewest, std::exchange(in_window, 0));
    for (Message& m : exchange.in) {
      for (const unsigned char byte : m.data) hash = hash * 1099511628211U + byte;
      Message expected = message(m.peer, m.tag, m.bytes);
      expected.fill(m.peer, round);
      CHECK(expected.data == m.data);
    }
  }
  for (MPI_Request& request : exchange.requests)
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  CHECK(fewest == 0);
  // A round takes as long as on the rank where it takes longest.
  std::vector<double> all(seconds.size());
  MPI_Reduce(seconds.data(), all.data(), rounds, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  std::uint64_t sum = 0;
  hash = mixed(hash + static_cast<std::uint64_t>(rank));
  MPI_Reduce(&hash, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) {
    std::sort(all.begin() + std::min(rounds / 4, 10), all.end());
    const std::size_t first = static_cast<std::size_t>(std::min(rounds / 4, 10));
    std::printf("%s %d bytes, %d rounds: %016llx\n", argv[1], bytes, rounds, static_cast<unsigned long long>(sum));
    std::printf("time %.1f us\n", 1e6 * all[first + (all.size() - first) / 2]);
  }
  MPI_Comm_free(&grid);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
