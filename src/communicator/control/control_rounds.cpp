#include "communicator/control/control_rounds.hpp"

#include <algorithm>
#include <climits>
#include <memory>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "mpi/check.hpp"
#include "mpi/reduce_local.hpp"

namespace laneway {

namespace {

constexpr int most_simulated = 1 << 26;

void check_size(const Bytes& data) {
  constexpr std::size_t most = simulated ? most_simulated : INT_MAX;
  require(data.size() <= most, ErrorKind::unsupported,
          [] { return "setup: a message of more than " + std::to_string(most) + " bytes"; });
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

}  // namespace

Bytes receive_control_message(const ControlComm& comm, Rank from, int tag) {
  if (simulated && !any_active()) return receive_simulated(comm.get(), from, tag);
  std::optional<FoundMessage> found;
  await(comm, [&] { return (found = find_message(comm.get(), from, tag)).has_value(); });
  return found->take();
}

/// One by one, as where arrays of requests return no errors; Open MPI does not say what an error in an array is either.
void wait_all_progressing(const ControlComm& comm, std::vector<MPI_Request>& requests) {
  const auto n = static_cast<int>(requests.size());
  if (simulated && !any_active()) return check_mpi(MPI_Waitall(n, requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  await(comm, [&] {
    int flag = 1;
    if (simulated) check_mpi(MPI_Testall(n, requests.data(), &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
    for (auto request = requests.begin(); !simulated && flag != 0 && request != requests.end(); ++request)
      if (*request != MPI_REQUEST_NULL) check_mpi(MPI_Test(&*request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
    return flag != 0;
  });
}

int complete_progressing(MPI_Request request) {
  int code = MPI_SUCCESS;
  progress_until([&] {
    int flag = 0;
    const int tested = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    if (tested != MPI_SUCCESS) code = tested;
    return flag != 0 || request == MPI_REQUEST_NULL;
  });
  return code;
}

void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation, MPI_Comm comm) {
  if (simulated && !any_active()) {
    check_mpi(MPI_Allreduce(mine, all, count, type, operation, comm), "MPI_Allreduce");
    return;
  }
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Iallreduce(mine, all, count, type, operation, comm, &request), "MPI_Iallreduce");
  check_mpi(complete_progressing(request), "MPI_Iallreduce");
}

void gather_progressing(const void* mine, void* all, int bytes, const ControlComm& comm) {
  if constexpr (simulated) {  // SMPI's allgather is a message from each rank to each other, which take long to simulate
    check_mpi(MPI_Gather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, comm.get()), "MPI_Gather");
    check_mpi(MPI_Bcast(all, comm.size() * bytes, MPI_BYTE, 0, comm.get()), "MPI_Bcast");
    return;
  }
  std::vector<MPI_Request> requests(1);
  check_mpi(MPI_Iallgather(mine, bytes, MPI_BYTE, all, bytes, MPI_BYTE, comm.get(), requests.data()), "MPI_Iallgather");
  wait_all_progressing(comm, requests);
}

/// Recursive doubling by control messages (Thakur, Rabenseifner, Gropp: Optimization of collective communication
/// operations in MPICH, 2005), so that a rank that waits can be told of a failure. Where there is no power of two
/// ranks, some of the first hand over to their neighbours.
void reduce_progressing(const void* mine, void* all, int count, MPI_Datatype type, MPI_Op operation,
                        const ControlComm& comm) {
  if constexpr (simulated) return reduce_progressing(mine, all, count, type, operation, comm.get());
  int each = 0;
  check_mpi(MPI_Type_size(type, &each), "MPI_Type_size");
  const std::size_t bytes = static_cast<std::size_t>(each) * static_cast<std::size_t>(count);
  const auto* const own = static_cast<const std::byte*>(mine);
  Bytes sum(own, own + bytes);
  ControlRounds rounds(comm);
  const auto swap = [&](std::vector<Rank> to, std::vector<Rank> from) {
    std::vector<ControlMessage> control_messages;
    for (const Rank rank : to) control_messages.push_back({rank, sum});
    return rounds.exchange(std::move(control_messages), from, PrivateComm::reduce_tag);
  };
  const auto add = [&](const std::vector<Bytes>& inbox) {
    check_mpi(reduce_local(inbox.front().data(), sum.data(), count, type, operation), "MPI_Reduce_local");
  };
  Rank doubling = 1;
  while (2 * doubling <= comm.size()) doubling *= 2;
  const Rank rank = comm.rank();
  const Rank pairs = comm.size() - doubling;
  const bool in_pair = rank < 2 * pairs;
  if (in_pair && rank % 2 == 0) {
    (void)swap({rank + 1}, {});
    sum = swap({}, {rank + 1}).front();
  } else {
    if (in_pair) add(swap({}, {rank - 1}));
    const Rank place = in_pair ? rank / 2 : rank - pairs;
    for (Rank distance = 1; distance < doubling; distance *= 2) {
      const Rank other = place ^ distance;
      const Rank peer = other < pairs ? 2 * other + 1 : other + pairs;
      add(swap({peer}, {peer}));
    }
    if (in_pair) (void)swap({rank - 1}, {});
  }
  std::copy(sum.begin(), sum.end(), static_cast<std::byte*>(all));
}

/// Dissemination (Hensgen, Finkel, Manber: Two algorithms for barrier synchronization, 1988).
void barrier_progressing(const ControlComm& comm) {
  if constexpr (simulated) {
    // Of other ranks exchanges may be active or not: SMPI's two forms go together.
    if (!any_active()) return check_mpi(MPI_Barrier(comm.get()), "MPI_Barrier");
    std::vector<MPI_Request> request(1, MPI_REQUEST_NULL);
    check_mpi(MPI_Ibarrier(comm.get(), request.data()), "MPI_Ibarrier");
    return wait_all_progressing(comm, request);
  }
  ControlRounds rounds(comm);
  for (Rank distance = 1; distance < comm.size(); distance *= 2)
    (void)rounds.exchange({{(comm.rank() + distance) % comm.size(), {}}},
                          {(comm.rank() - distance + comm.size()) % comm.size()}, PrivateComm::barrier_tag);
}

std::vector<Bytes> ControlRounds::carry(Round round) {
  if (round.kind == Round::Kind::exchange)
    return exchange(std::move(round.control_messages), round.from, PrivateComm::setup_tag);
  if (round.kind == Round::Kind::largest) return largest(round.numbers);
  return region_gather(*round.region, round.contribution);
}

std::vector<Bytes> ControlRounds::largest(const std::vector<double>& numbers) {
  return {to_bytes(reduce_progressing(numbers, MPI_DOUBLE, MPI_MAX, comm_))};
}

std::vector<Bytes> ControlRounds::exchange(std::vector<ControlMessage> control_messages, const std::vector<Rank>& from,
                                           int tag) {
  ControlMessages sent(comm_);
  for (ControlMessage& message : control_messages) {
    check_size(message.data);
    // SimGrid has all messages that nobody waits for in one list, and looks through it whenever one of them arrives.
    sent.send(message.peer, tag, std::move(message.data), simulated);
  }
  std::vector<Bytes> inbox;
  inbox.reserve(from.size());
  for (Rank rank : from) inbox.push_back(receive_control_message(comm_, rank, tag));
  sent.wait();
  return inbox;
}

Bytes ControlRounds::ask_leader(const std::vector<Rank>& members, Bytes contribution, const Answer& answer) {
  const Rank leader = members.front();
  if (comm_.rank() != leader)
    return exchange({{leader, std::move(contribution)}}, {leader}, PrivateComm::gather_tag).front();
  const std::vector<Rank> others(members.begin() + 1, members.end());
  std::vector<Bytes> contributions = exchange({}, others, PrivateComm::gather_tag);
  contributions.insert(contributions.begin(), std::move(contribution));
  const Bytes all = answer(contributions);
  std::vector<ControlMessage> answers;
  for (const Rank other : others) answers.push_back({other, all});
  (void)exchange(std::move(answers), {}, PrivateComm::gather_tag);
  return all;
}

Bytes ControlRounds::ask_first_rank(Bytes contribution, const Answer& answer) {
  std::vector<Rank> members(comm_.rank() == 0 ? static_cast<std::size_t>(comm_.size()) : 1);
  std::iota(members.begin(), members.end(), Rank{0});
  return ask_leader(members, std::move(contribution), answer);
}

/// Few members send to each other: one hop, and messages too short for a rendezvous. Many gather at the first, which
/// sends all to the others. Neither needs a communicator of its own, which would have to be created.
std::vector<Bytes> ControlRounds::region_gather(const Region& region, const Bytes& contribution) {
  constexpr std::size_t few = 16;
  if (region.members.size() <= few) return to_each_other(region, contribution);
  const Bytes all = ask_leader(region.members, contribution, [](const std::vector<Bytes>& parts) {
    Writer writer;
    for (const Bytes& part : parts) writer.put(part);
    return writer.take();
  });
  Reader reader(all);
  std::vector<Bytes> inbox(region.members.size());
  for (Bytes& part : inbox) part = reader.get_bytes();
  return inbox;
}

std::vector<Bytes> ControlRounds::to_each_other(const Region& region, const Bytes& contribution) {
  std::vector<Rank> others;
  std::vector<ControlMessage> control_messages;
  for (Rank member : region.members) {
    if (member == comm_.rank()) continue;
    others.push_back(member);
    control_messages.push_back({member, contribution});
  }
  std::vector<Bytes> inbox = exchange(std::move(control_messages), others, PrivateComm::gather_tag);
  const auto own = std::find(region.members.begin(), region.members.end(), comm_.rank());
  inbox.insert(inbox.begin() + (own - region.members.begin()), contribution);
  return inbox;
}

}  // namespace laneway
