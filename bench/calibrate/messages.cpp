#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>

#include "calibrate/calibrate.hpp"
#include "candidates/devices/device_buffers.hpp"
#include "operations/choose/device_support.hpp"

namespace laneway::bench {

namespace {

int rank_in(MPI_Comm comm) {
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  return rank;
}

/// Of the device, or of the host.
std::shared_ptr<std::byte[]> allocate(const std::optional<Device>& device, int bytes) {
  const auto size = static_cast<std::size_t>(bytes);
  if (!device) return std::make_shared<std::byte[]>(size);
  const auto memory = std::make_shared<DeviceMemory>(*device, size);
  return {memory, memory->data()};
}

/// The device that a rank's messages may begin and end on: nothing if some rank has none, or its MPI library does not
/// take addresses there. Collective.
std::optional<Device> device_for_messages(const Run& run) {
  const std::optional<Device> device = device_of_rank(run.rank);
  int takes = device && device_support(*device).takes ? 1 : 0;
  MPI_Allreduce(MPI_IN_PLACE, &takes, 1, MPI_INT, MPI_LAND, run.comm);
  return takes != 0 ? device : std::nullopt;
}

/// A message from the first of two ranks to the second and back.
std::function<void()> ping_pong(MPI_Comm comm, int bytes, const std::optional<Device>& device = std::nullopt) {
  return [comm, bytes, rank = rank_in(comm), buffer = allocate(device, bytes)] {
    for (const int sender : {0, 1})
      if (rank == sender)
        MPI_Send(buffer.get(), bytes, MPI_BYTE, 1 - rank, 0, comm);
      else
        MPI_Recv(buffer.get(), bytes, MPI_BYTE, 1 - rank, 0, comm, MPI_STATUS_IGNORE);
  };
}

/// Powers of two, and 1.5 times these where the protocols of MPI libraries change.
std::vector<int> message_sizes(bool quick) {
  constexpr int largest = 4 << 20;
  constexpr int smallest_half = 256;
  std::vector<int> sizes = {0};
  for (int bytes = 1; bytes <= largest; bytes *= 2) {
    sizes.push_back(bytes);
    if (!quick && bytes >= smallest_half && bytes < largest) sizes.push_back(bytes + bytes / 2);
  }
  return sizes;
}

void add_ping_pongs(const std::vector<Link>& links, const std::optional<Device>& device, bool quick,
                    std::vector<Measurement>& list) {
  const std::string measure = device ? "device_pingpong" : "pingpong";
  for (const Link& link : links)
    for (const int bytes : message_sizes(quick))
      list.push_back({.what = {{"measure", measure}, {"link", link.name}, {"bytes", bytes}},
                      .ranks = link.ends,
                      .prepare = [bytes, device](MPI_Comm comm) { return ping_pong(comm, bytes, device); },
                      .parts = 2,
                      .sweep = measure + " " + link.name});
}

/// What one rank sends and receives at a time, all blocks of one size.
struct Batch {
  std::vector<Shift> shifts;
  int bytes = 0;
};

/// All messages of a batch at once.
std::function<void()> exchange(MPI_Comm comm, const Batch& batch) {
  const std::size_t total = batch.shifts.size() * static_cast<std::size_t>(batch.bytes);
  struct Buffers {
    std::vector<std::byte> send;
    std::vector<std::byte> receive;
    std::vector<MPI_Request> requests;
  };
  Buffers buffers{std::vector<std::byte>(total), std::vector<std::byte>(total),
                  std::vector<MPI_Request>(2 * batch.shifts.size())};
  return [comm, batch, buffers = std::move(buffers)]() mutable {
    MPI_Request* request = buffers.requests.data();
    std::ptrdiff_t at = 0;
    for (const Shift& shift : batch.shifts) {
      MPI_Irecv(buffers.receive.data() + at, batch.bytes, MPI_BYTE, shift.source, 0, comm, request++);
      at += batch.bytes;
    }
    at = 0;
    for (const Shift& shift : batch.shifts) {
      MPI_Isend(buffers.send.data() + at, batch.bytes, MPI_BYTE, shift.destination, 0, comm, request++);
      at += batch.bytes;
    }
    MPI_Waitall(static_cast<int>(buffers.requests.size()), buffers.requests.data(), MPI_STATUSES_IGNORE);
  };
}

std::vector<Rank> first_of_two_nodes(const std::vector<std::vector<Rank>>& nodes, int active) {
  std::vector<Rank> ranks;
  for (const std::vector<Rank>& node : {nodes[0], nodes[1]})
    ranks.insert(ranks.end(), node.begin(), node.begin() + active);
  return ranks;
}

/// The first `active` ranks of two nodes, each with its partner on the other: one way or both. Then they answer each
/// other, so that nobody's time ends while messages are still on their way.
Measurement injection(const std::vector<std::vector<Rank>>& nodes, int active, int bytes, int directions) {
  constexpr std::size_t window = 2;
  Measurement result{
      .what = {{"measure", "injection"}, {"active", active}, {"directions", directions}, {"bytes", bytes}},
      .ranks = first_of_two_nodes(nodes, active)};
  result.prepare = [active, bytes, directions](MPI_Comm comm) -> std::function<void()> {
    const int rank = rank_in(comm);
    const bool first = rank < active;
    const int partner = first ? rank + active : rank - active;
    Shift shift{partner, partner};
    if (directions == 1) (first ? shift.source : shift.destination) = MPI_PROC_NULL;
    return [messages = exchange(comm, {std::vector<Shift>(window, shift), bytes}),
            answers = exchange(comm, {{{partner, partner}}, 0})] {
      messages();
      answers();
    };
  };
  result.parts = window;
  return result;
}

/// Short messages of all ranks of two nodes to so many of the other node each, no two between the same ranks: these
/// could travel together.
Measurement gap(const std::vector<std::vector<Rank>>& nodes, int active, int partners, int bytes) {
  Measurement result{.what = {{"measure", "gap"}, {"messages", active * partners}, {"bytes", bytes}},
                     .ranks = first_of_two_nodes(nodes, active)};
  result.prepare = [active, partners, bytes](MPI_Comm comm) -> std::function<void()> {
    const int rank = rank_in(comm);
    const int own = rank % active;
    const int other = rank < active ? active : 0;
    Batch batch{{}, bytes};
    for (int i = 0; i < partners; ++i)
      batch.shifts.push_back({other + (own + active - i) % active, other + (own + i) % active});
    return exchange(comm, batch);
  };
  return result;
}

void add_gaps(const Run& run, std::vector<Measurement>& list) {
  if (run.nodes.count == 1) return;
  const std::vector<std::vector<Rank>> nodes = members_of(run.nodes);
  const auto active = static_cast<int>(std::min(nodes[0].size(), nodes[1].size()));
  for (const int partners : doubling(active))
    for (const int bytes : {1024, 2048, 4096}) list.push_back(gap(nodes, active, partners, bytes));
}

void add_injections(const Run& run, std::vector<Measurement>& list) {
  if (run.nodes.count == 1) return;
  const std::vector<std::vector<Rank>> nodes = members_of(run.nodes);
  for (const int directions : {1, 2})
    for (const int active : doubling(static_cast<int>(std::min(nodes[0].size(), nodes[1].size()))))
      for (const int bytes : {64 << 10, 128 << 10, 256 << 10, 512 << 10})
        list.push_back(injection(nodes, active, bytes, directions));
}

/// All ranks at once exchange 1 to `most` messages each.
template <class Shifts>
void add_overheads(const Run& run, const std::string& path, int most, Shifts&& shifts_of,
                   std::vector<Measurement>& list) {
  for (const int bytes : {8, 512, 1024, 4096})
    for (const int messages : doubling(most)) {
      const std::vector<Shift> shifts = shifts_of(run, static_cast<std::size_t>(messages));
      if (shifts.empty()) return;
      list.push_back({.what = {{"measure", "overhead"},
                               {"path", path},
                               {"messages", messages_of_rank(run, shifts)},
                               {"bytes", bytes}},
                      .ranks = all_ranks(run),
                      .prepare =
                          [shifts, bytes](MPI_Comm comm) {
                            return exchange(comm, {shifts, bytes});
                          },
                      .busy = true});
    }
}

/// Receives that stay posted while others come and go.
class PostedReceives {
 public:
  PostedReceives(MPI_Comm comm, int count)
      : comm_(comm), words_(static_cast<std::size_t>(count)), requests_(static_cast<std::size_t>(count)) {
    for (std::size_t i = 0; i < words_.size(); ++i)
      MPI_Irecv(&words_[i], 1, MPI_CHAR, 1 - rank_in(comm_), tag, comm_, &requests_[i]);
  }
  ~PostedReceives() {
    for (char word : words_) MPI_Send(&word, 1, MPI_CHAR, 1 - rank_in(comm_), tag, comm_);
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  PostedReceives(const PostedReceives&) = delete;
  PostedReceives& operator=(const PostedReceives&) = delete;

 private:
  static constexpr int tag = 1;
  MPI_Comm comm_;
  std::vector<char> words_;
  std::vector<MPI_Request> requests_;
};

void add_matches(const Link& link, std::vector<Measurement>& list) {
  for (const int posted : doubling(512))
    list.push_back({.what = {{"measure", "match"}, {"posted", posted}},
                    .ranks = link.ends,
                    .prepare = [posted](MPI_Comm comm) -> std::function<void()> {
                      return [receives = std::make_shared<PostedReceives>(comm, posted),
                              round_trip = ping_pong(comm, 8)]() { round_trip(); };
                    },
                    .parts = 2});
}

}  // namespace

std::vector<Measurement> measure_messages(const Run& run, bool quick) {
  const std::vector<Link> links = find_links(run);
  std::vector<Measurement> list;
  add_ping_pongs(links, std::nullopt, quick, list);
  if (const std::optional<Device> device = device_for_messages(run)) add_ping_pongs(links, device, quick, list);
  add_injections(run, list);
  add_gaps(run, list);
  constexpr int most = 32;
  // Several short messages to one rank of another node may travel together.
  add_overheads(run, "network", std::clamp(partners_between_nodes(run), 4, most), shifts_between_nodes, list);
  add_overheads(run, "node", most, shifts_inside_nodes, list);
  if (!links.empty()) add_matches(links.front(), list);
  return list;
}

}  // namespace laneway::bench
