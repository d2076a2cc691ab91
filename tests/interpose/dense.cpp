// Blocking dense operations of a program that knows nothing of Laneway: on all kinds of communicators, in place, with
// all roots, of no and of many bytes, often enough that plans are tried. What must come out is computed here.
#include <mpi.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "check.hpp"

namespace {

/// What a rank has for another one.
int value(int from, int to, int i) {
  return from * 1000003 + to * 1009 + i * 7;
}

void check_blocks(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const auto all = static_cast<std::size_t>(size * count);
  std::vector<int> send(all), receive(all, -1);
  const auto at = [count](int block, int i) { return static_cast<std::size_t>(block * count + i); };
  for (int to = 0; to < size; ++to)
    for (int i = 0; i < count; ++i) send[at(to, i)] = value(rank, to, i);
  MPI_Alltoall(send.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < count; ++i) CHECK(receive[at(from, i)] == value(from, rank, i));
  MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, send.data(), count, MPI_INT, comm);
  CHECK(send == receive);

  std::vector<int> own(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = value(rank, 0, i);
  MPI_Allgather(own.data(), count, MPI_INT, receive.data(), count, MPI_INT, comm);
  for (int from = 0; from < size; ++from)
    for (int i = 0; i < count; ++i) CHECK(receive[at(from, i)] == value(from, 0, i));
}

/// Blocks of other sizes in each call, which only their two ends know.
void check_unequal_blocks(MPI_Comm comm, int count) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  static int turn = 0;
  ++turn;
  const auto elements = [&](int from, int to) { return (from * 5 + to * 3 + turn) % (count / 8 + 4) * (count > 0); };
  std::vector<int> send, expected, sendcounts, recvcounts, senddispls, recvdispls, sendbytes, recvbytes;
  for (int peer = 0; peer < size; ++peer) {
    senddispls.push_back(static_cast<int>(send.size()));
    recvdispls.push_back(static_cast<int>(expected.size()));
    sendbytes.push_back(4 * senddispls.back());
    recvbytes.push_back(4 * recvdispls.back());
    sendcounts.push_back(elements(rank, peer));
    recvcounts.push_back(elements(peer, rank));
    for (int i = 0; i < sendcounts.back(); ++i) send.push_back(value(rank, peer, i + turn));
    for (int i = 0; i < recvcounts.back(); ++i) expected.push_back(value(peer, rank, i + turn));
  }
  std::vector<int> receive(expected.size(), -1);
  MPI_Alltoallv(send.data(), sendcounts.data(), senddispls.data(), MPI_INT, receive.data(), recvcounts.data(),
                recvdispls.data(), MPI_INT, comm);
  CHECK(receive == expected);
  std::fill(receive.begin(), receive.end(), -1);
  const std::vector<MPI_Datatype> types(static_cast<std::size_t>(size), MPI_INT);
  MPI_Alltoallw(send.data(), sendcounts.data(), sendbytes.data(), types.data(), receive.data(), recvcounts.data(),
                recvbytes.data(), types.data(), comm);
  CHECK(receive == expected);
}

void check_rooted(MPI_Comm comm, int count, int root) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const auto at = [count](int block, int i) { return static_cast<std::size_t>(block * count + i); };
  std::vector<int> own(static_cast<std::size_t>(count)), all(static_cast<std::size_t>(size * count), -1);
  for (int i = 0; i < count; ++i) own[at(0, i)] = rank == root ? value(root, 1, i) : -1;
  MPI_Bcast(own.data(), count, MPI_INT, root, comm);
  for (int i = 0; i < count; ++i) CHECK(own[at(0, i)] == value(root, 1, i));

  for (int i = 0; i < count; ++i) own[at(0, i)] = value(rank, 2, i);
  MPI_Gather(own.data(), count, MPI_INT, rank == root ? all.data() : nullptr, count, MPI_INT, root, comm);
  if (rank == root)
    for (int from = 0; from < size; ++from)
      for (int i = 0; i < count; ++i) CHECK(all[at(from, i)] == value(from, 2, i));

  if (rank == root)
    for (int to = 0; to < size; ++to)
      for (int i = 0; i < count; ++i) all[at(to, i)] = value(root, to, i);
  MPI_Scatter(rank == root ? all.data() : nullptr, count, MPI_INT, own.data(), count, MPI_INT, root, comm);
  for (int i = 0; i < count; ++i) CHECK(own[at(0, i)] == value(root, rank, i));
}

void add_all(void* in, void* inout, int* length, MPI_Datatype*) {
  for (int i = 0; i < *length; ++i) static_cast<int*>(inout)[i] += static_cast<int*>(in)[i];
}

void check_reductions(MPI_Comm comm, int count, int root) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  const auto length = static_cast<std::size_t>(count);
  std::vector<int> own(length), sum(length, -1), largest(length, -1);
  std::vector<double> reals(length), real_sum(length, -1), least(length, -1);
  for (int i = 0; i < count; ++i) own[static_cast<std::size_t>(i)] = value(rank, 3, i) % 1000;
  for (int i = 0; i < count; ++i) reals[static_cast<std::size_t>(i)] = -0.5 * own[static_cast<std::size_t>(i)];
  const auto sum_of = [size](int i) {
    int total = 0;
    for (int from = 0; from < size; ++from) total += value(from, 3, i) % 1000;
    return total;
  };
  MPI_Allreduce(own.data(), sum.data(), count, MPI_INT, MPI_SUM, comm);
  MPI_Allreduce(reals.data(), real_sum.data(), count, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(reals.data(), least.data(), count, MPI_DOUBLE, MPI_MIN, comm);
  MPI_Reduce(own.data(), rank == root ? largest.data() : nullptr, count, MPI_INT, MPI_MAX, root, comm);
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    int top = 0;
    for (int from = 0; from < size; ++from) top = std::max(top, value(from, 3, i) % 1000);
    CHECK(sum[at] == sum_of(i));
    CHECK(real_sum[at] == -0.5 * sum_of(i));
    CHECK(least[at] == -0.5 * top);
    CHECK(rank != root || largest[at] == top);
  }
  MPI_Op own_sum = MPI_OP_NULL;
  MPI_Op_create(add_all, 1, &own_sum);
  std::vector<int> again = own;
  MPI_Allreduce(MPI_IN_PLACE, again.data(), count, MPI_INT, own_sum, comm);
  CHECK(again == sum);
  MPI_Op_free(&own_sum);

  std::vector<int> wide(length * static_cast<std::size_t>(size)), part(length, -1);
  for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = rank + static_cast<int>(i);
  MPI_Reduce_scatter_block(wide.data(), part.data(), count, MPI_INT, MPI_SUM, comm);
  for (int i = 0; i < count; ++i)
    CHECK(part[static_cast<std::size_t>(i)] == size * (size - 1) / 2 + size * (rank * count + i));
}

/// Two values, the least with where it is; equal ones are the lower rank's.
void check_places(MPI_Comm comm) {
  struct Place {
    double value;
    int rank;
  };
  const int rank = rank_in(comm);
  const Place mine{rank % 2 == 0 ? 4.0 : 3.0, rank};
  Place found{};
  MPI_Allreduce(&mine, &found, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
  CHECK(found.rank == (size_of(comm) > 1 ? 1 : 0));
}

/// Data sent before a barrier has been received after it, by way of other messages.
void check_barrier(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int token = rank, from_left = -1;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Irecv(&from_left, 1, MPI_INT, (rank + size - 1) % size, 5, comm, &request);
  MPI_Barrier(comm);
  MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 5, comm);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(from_left == (rank + size - 1) % size);
}

void check_all(MPI_Comm comm, int rounds) {
  for (int round = 0; round < rounds; ++round)
    for (const int count : {1, 0, 300, 9000}) {
      check_blocks(comm, count);
      check_unequal_blocks(comm, count);
      check_rooted(comm, count, round % size_of(comm));
      check_reductions(comm, count, (round + 1) % size_of(comm));
      check_places(comm);
      check_barrier(comm);
    }
}

/// Wrong calls of one rank, which return an error there, before good ones of all: the others cannot know of them.
void check_wrong_calls(MPI_Comm world) {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(world, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  std::vector<int> send(static_cast<std::size_t>(size), rank), receive(static_cast<std::size_t>(size), -1);
  for (int call = 0; call < 120; ++call) {
    if (call % 5 == 3 && rank == call % size) {
      CHECK(MPI_Alltoall(send.data(), -1, MPI_INT, receive.data(), -1, MPI_INT, comm) != MPI_SUCCESS);
      CHECK(MPI_Bcast(send.data(), 1, MPI_DATATYPE_NULL, 0, comm) != MPI_SUCCESS);
      CHECK(MPI_Allreduce(send.data(), receive.data(), 1, MPI_INT, MPI_OP_NULL, comm) != MPI_SUCCESS);
    }
    MPI_Alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, comm);
    for (int from = 0; from < size; ++from) CHECK(receive[static_cast<std::size_t>(from)] == from);
    int root = call % size, most = -1;
    MPI_Bcast(&root, 1, MPI_INT, 0, comm);
    CHECK(root == call % size);
    MPI_Allreduce(&rank, &most, 1, MPI_INT, MPI_MAX, comm);
    CHECK(most == size - 1);
  }
  MPI_Comm_free(&comm);
}

/// Counts that are others in each call, which no promise about neighborhoods forbids.
void check_changing_counts(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  for (int turn = 0; turn < 60; ++turn) {
    std::vector<int> counts, places;
    int all = 0;
    for (int peer = 0; peer < size; ++peer) {
      counts.push_back(1 + (turn + peer) % 4);
      places.push_back(all);
      all += counts.back();
    }
    const auto own = static_cast<std::size_t>(rank);
    std::vector<int> send(static_cast<std::size_t>(all)), receive(static_cast<std::size_t>(all), -1);
    for (int i = 0; i < counts[own]; ++i) send[static_cast<std::size_t>(i)] = value(rank, turn, i);
    MPI_Allgatherv(send.data(), counts[own], MPI_INT, receive.data(), counts.data(), places.data(), MPI_INT, comm);
    for (int from = 0; from < size; ++from)
      for (int i = 0; i < counts[static_cast<std::size_t>(from)]; ++i)
        CHECK(receive[static_cast<std::size_t>(places[static_cast<std::size_t>(from)] + i)] == value(from, turn, i));
    for (int i = 0; i < all; ++i) send[static_cast<std::size_t>(i)] = rank + i;
    MPI_Reduce_scatter(send.data(), receive.data(), counts.data(), MPI_INT, MPI_SUM, comm);
    for (int i = 0; i < counts[own]; ++i)
      CHECK(receive[static_cast<std::size_t>(i)] == size * (size - 1) / 2 + size * (places[own] + i));
  }
}

/// Of two groups, where nothing can be joined.
void check_between_groups(MPI_Comm world) {
  const int rank = rank_in(world);
  const int half = size_of(world) / 2;
  if (half == 0) return;
  MPI_Comm part = MPI_COMM_NULL, inter = MPI_COMM_NULL;
  MPI_Comm_split(world, rank < half ? 0 : 1, rank, &part);
  MPI_Intercomm_create(part, 0, world, rank < half ? half : 0, 9, &inter);
  const int one = 1;
  int others = 0;
  MPI_Allreduce(&one, &others, 1, MPI_INT, MPI_SUM, inter);
  CHECK(others == (rank < half ? size_of(world) - half : half));
  MPI_Comm_free(&inter);
  MPI_Comm_free(&part);
}

/// Sums of equal calls have equal bits, whatever runs them, also in the first ones and during what would be a trial.
void check_sums(MPI_Comm comm) {
  std::vector<double> mine(2000), first;
  for (std::size_t i = 0; i < mine.size(); ++i) mine[i] = 1.0 / (1.0 + 7.0 * rank_in(comm) + static_cast<double>(i));
  for (int n = 0; n < 60; ++n) {
    std::vector<double> sum(mine.size());
    MPI_Allreduce(mine.data(), sum.data(), 2000, MPI_DOUBLE, MPI_SUM, comm);
    if (n == 0) first = sum;
    CHECK(sum == first);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int rounds = argc > 1 ? std::stoi(argv[1]) : 3;
  check_all(MPI_COMM_WORLD, rounds);
  MPI_Comm sums = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &sums);
  check_sums(sums);
  MPI_Comm_free(&sums);
  check_all(MPI_COMM_SELF, 1);
  check_between_groups(MPI_COMM_WORLD);
  check_wrong_calls(MPI_COMM_WORLD);
  check_changing_counts(MPI_COMM_WORLD);
  // Every other rank, backwards; and communicators that come and go.
  for (int i = 0; i < 2; ++i) {
    MPI_Comm some = MPI_COMM_NULL;
    const int rank = rank_in(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &some);
    check_all(some, 1);
    MPI_Comm_free(&some);
  }
  const int status = verdict();
  MPI_Finalize();
  return status;
}
