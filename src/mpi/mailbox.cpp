#include "mpi/mailbox.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <string>

#include "core/error.hpp"
#include "core/simulated.hpp"
#include "exec/progress.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

constexpr int most_simulated = 1 << 26;

int count_of(const Bytes& data) {
  constexpr std::size_t most = simulated ? most_simulated : INT_MAX;
  require(data.size() <= most, ErrorKind::unsupported,
          "setup: a message of more than " + std::to_string(most) + " bytes");
  return static_cast<int>(data.size());
}

/// Looking for a message of unknown size is many events of a simulation: there all may be as long as this.
Bytes receive_simulated(MPI_Comm comm, Rank from, int tag) {
  const std::unique_ptr<std::byte[]> place(new std::byte[most_simulated]);
  MPI_Status status;
  check_mpi(MPI_Recv(place.get(), most_simulated, MPI_BYTE, from, tag, comm, &status), "MPI_Recv");
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  return {place.get(), place.get() + bytes};
}

Bytes receive(MPI_Comm comm, Rank from, int tag) {
  if (simulated && !any_active()) return receive_simulated(comm, from, tag);
  MPI_Status status;
  if (any_active()) {
    progress_until([&] {
      int flag = 0;
      check_mpi(MPI_Iprobe(from, tag, comm, &flag, &status), "MPI_Iprobe");
      return flag != 0;
    });
  } else {
    check_mpi(MPI_Probe(from, tag, comm, &status), "MPI_Probe");
  }
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  Bytes data(static_cast<std::size_t>(bytes));
  check_mpi(MPI_Recv(data.data(), bytes, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  return data;
}

}  // namespace

void wait_all_progressing(std::vector<MPI_Request>& requests) {
  if (any_active()) return progress_until([&] { return test_all(requests); });
  if (simulated) {
    check_mpi(MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    return;
  }
  // One by one, as where arrays_return_errors is false; Open MPI does not say what an error in an array is either.
  for (MPI_Request& request : requests) check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
}

bool test_all(std::vector<MPI_Request>& requests) {
  int flag = 0;
  if (simulated) {
    check_mpi(MPI_Testall(static_cast<int>(requests.size()), requests.data(), &flag, MPI_STATUSES_IGNORE),
              "MPI_Testall");
    return flag != 0;
  }
  for (MPI_Request& request : requests) {
    if (request == MPI_REQUEST_NULL) continue;
    check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    if (flag == 0) return false;
  }
  return true;
}

void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  if (simulated && !any_active()) {
    check_mpi(MPI_Allreduce(mine, all, count, type, operation, comm), "MPI_Allreduce");
    return;
  }
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Iallreduce(mine, all, count, type, operation, comm, request.data()), "MPI_Iallreduce");
  wait_all_progressing(request);
}

void barrier_progressing(MPI_Comm comm) {
  if (simulated && !any_active()) {
    check_mpi(MPI_Barrier(comm), "MPI_Barrier");
    return;
  }
  std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Ibarrier(comm, request.data()), "MPI_Ibarrier");
  wait_all_progressing(request);
}

void barrier_progressing(const PrivateComm& comm, const std::vector<Rank>& members, int tag) {
  const std::size_t ranks = members.size();
  const auto self = static_cast<std::size_t>(std::ranges::find(members, comm.rank()) - members.begin());
  for (std::size_t distance = 1; distance < ranks; distance *= 2) {
    std::vector<MPI_Request> requests(2, MPI_REQUEST_NULL);
    check_mpi(
        MPI_Irecv(nullptr, 0, MPI_BYTE, members[(self + ranks - distance) % ranks], tag, comm.get(), &requests[0]),
        "MPI_Irecv");
    check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, members[(self + distance) % ranks], tag, comm.get(), &requests[1]),
              "MPI_Isend");
    wait_all_progressing(requests);
  }
}

std::vector<Bytes> Mailbox::carry(const Round& round) {
  if (round.kind == Round::Kind::exchange) return exchange(round.letters, round.from, PrivateComm::setup_tag);
  if (round.kind == Round::Kind::largest) return largest(round.numbers);
  return region_gather(*round.region, round.contribution);
}

std::vector<Bytes> Mailbox::largest(const std::vector<double>& numbers) {
  return {to_bytes(reduce_progressing(numbers, MPI_DOUBLE, MPI_MAX, comm_.get()))};
}

std::vector<Bytes> Mailbox::exchange(const std::vector<Letter>& letters, const std::vector<Rank>& from, int tag) {
  // SimGrid has all messages that nobody waits for in one list, and looks through it whenever one of them arrives.
  const auto send = simulated ? &MPI_Issend : &MPI_Isend;
  std::vector<MPI_Request> sends;
  sends.reserve(letters.size());
  for (const Letter& letter : letters) {
    sends.push_back(MPI_REQUEST_NULL);
    check_mpi(send(letter.data.data(), count_of(letter.data), MPI_BYTE, letter.peer, tag, comm_.get(), &sends.back()),
              "MPI_Isend");
  }
  std::vector<Bytes> inbox;
  inbox.reserve(from.size());
  for (Rank rank : from) inbox.push_back(receive(comm_.get(), rank, tag));
  wait_all_progressing(sends);
  return inbox;
}

/// Few members send to each other: one hop, and messages too short for a rendezvous. Many gather at the first, which
/// sends all to the others. Neither needs a communicator of its own, which would have to be created.
std::vector<Bytes> Mailbox::region_gather(const Region& region, const Bytes& contribution) {
  constexpr std::size_t few = 16;
  if (region.members.size() <= few) return to_each_other(region, contribution);
  const Rank leader = region.members.front();
  if (comm_.rank() != leader) {
    (void)exchange({{leader, contribution}}, {}, PrivateComm::gather_tag);
    const Bytes all = exchange({}, {leader}, PrivateComm::share_tag).front();
    Reader reader(all);
    std::vector<Bytes> inbox(region.members.size());
    for (Bytes& part : inbox) part = reader.get_bytes();
    return inbox;
  }
  const std::vector<Rank> others(region.members.begin() + 1, region.members.end());
  std::vector<Bytes> inbox = exchange({}, others, PrivateComm::gather_tag);
  inbox.insert(inbox.begin(), contribution);
  Writer writer;
  for (const Bytes& part : inbox) writer.put(part);
  const Bytes all = writer.take();
  std::vector<Letter> letters;
  for (Rank other : others) letters.push_back({other, all});
  (void)exchange(letters, {}, PrivateComm::share_tag);
  return inbox;
}

std::vector<Bytes> Mailbox::to_each_other(const Region& region, const Bytes& contribution) {
  std::vector<Rank> others;
  std::vector<Letter> letters;
  for (Rank member : region.members) {
    if (member == comm_.rank()) continue;
    others.push_back(member);
    letters.push_back({member, contribution});
  }
  std::vector<Bytes> inbox = exchange(letters, others, PrivateComm::gather_tag);
  const auto own = std::find(region.members.begin(), region.members.end(), comm_.rank());
  inbox.insert(inbox.begin() + (own - region.members.begin()), contribution);
  return inbox;
}

}  // namespace laneway
