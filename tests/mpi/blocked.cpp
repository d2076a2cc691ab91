// Programs in which ranks block in MPI between start and completion, for messages that rank 0 sends after its own
// completion: legal, so they must end. Arguments: the thread level (single, multiple, mixed: multiple on rank 0 alone),
// and whether relays are expected (relays, direct). Prints "all right", or "wrong: ...".
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace {

int rank = 0;
int size = 0;
bool relays = false;
bool right = true;

void check(bool holds, const std::string& what) {
  if (holds) return;
  right = false;
  std::printf("wrong: rank %d: %s\n", rank, what.c_str());
}

using Hints = std::vector<std::pair<const char*, const char*>>;

class Info {
 public:
  explicit Info(const Hints& hints) {
    MPI_Info_create(&info_);
    for (const auto& [key, value] : hints) MPI_Info_set(info_, key, value);
  }
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

std::string value_of(LNW_Request request, const char* key) {
  MPI_Info info = MPI_INFO_NULL;
  char value[MPI_MAX_INFO_VAL + 1] = "";
  int found = 0;
  LNW_Request_get_info(request, &info);
  MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
  MPI_Info_free(&info);
  return found ? value : "";
}

enum class Kind { persistent, nonblocking };

/// Three exchanges of `count` doubles over each edge to the ranks that `peers` names, as often as it does.
void exchange(const std::vector<int>& peers, int count, Kind kind, MPI_Info info, const char* strategy, bool direct) {
  const auto edges = peers.size();
  const std::string what = std::string(strategy) + ", " + std::to_string(edges) + " edges of " + std::to_string(count) +
                           (kind == Kind::persistent ? ", persistent" : ", nonblocking");
  MPI_Comm graph = MPI_COMM_NULL;
  LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, static_cast<int>(edges), peers.data(), MPI_UNWEIGHTED,
                                 static_cast<int>(edges), peers.data(), MPI_UNWEIGHTED, info, 0, &graph);
  const auto values = static_cast<std::size_t>(count);
  std::vector<double> send(edges * values);
  std::vector<double> receive(edges * values);
  LNW_Request request = LNW_REQUEST_NULL;
  if (kind == Kind::persistent)
    LNW_Neighbor_alltoall_init(send.data(), count, MPI_DOUBLE, receive.data(), count, MPI_DOUBLE, graph, MPI_INFO_NULL,
                               &request);
  for (int turn = 0; turn < 3; ++turn) {
    // The expected values come from plain messages.
    std::vector<double> expected(edges * values);
    std::vector<MPI_Request> plain(2 * edges);
    for (std::size_t i = 0; i < send.size(); ++i) send[i] = 1e6 * rank + 1e4 * turn + static_cast<double>(i);
    for (std::size_t e = 0; e < edges; ++e) {
      MPI_Irecv(&expected[e * values], count, MPI_DOUBLE, peers[e], 1, MPI_COMM_WORLD, &plain[e]);
      MPI_Isend(&send[e * values], count, MPI_DOUBLE, peers[e], 1, MPI_COMM_WORLD, &plain[edges + e]);
    }
    MPI_Waitall(static_cast<int>(plain.size()), plain.data(), MPI_STATUSES_IGNORE);
    if (kind == Kind::persistent)
      LNW_Start(&request);
    else
      LNW_Ineighbor_alltoall(send.data(), count, MPI_DOUBLE, receive.data(), count, MPI_DOUBLE, graph, &request);
    if (turn == 0) {
      const char* name = "";
      LNW_Request_get_strategy(request, &name);
      check(name == std::string(direct ? "direct" : strategy), what + ": the strategy is " + name);
    }
    int token = 0;
    if (rank == 0) {
      LNW_Wait(&request, MPI_STATUS_IGNORE);
      for (int other = 1; other < size; ++other) MPI_Send(&token, 1, MPI_INT, other, 2, MPI_COMM_WORLD);
    } else {
      MPI_Recv(&token, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      LNW_Wait(&request, MPI_STATUS_IGNORE);
    }
    check(receive == expected, what + ": other bytes");
  }
  if (kind == Kind::persistent) {
    const std::string by = value_of(request, "lnw_progress_by");
    check(direct ? by == "mpi" || by == "engine" || by == "thread" : by == "engine" || by == "thread",
          what + ": lnw_progress_by is " + by);
    const bool told = !value_of(request, "lnw_progress_reason").empty();
    check(told == (direct && strategy != std::string("direct")), what + ": lnw_progress_reason");
    LNW_Request_free(&request);
  }
  MPI_Comm_free(&graph);
}

void exchange_all() {
  std::vector<int> all;
  for (int other = 0; other < size; ++other) all.push_back(other);
  const Info strict(Hints{{"lnw_progress", "strict"}});
  for (const Kind kind : {Kind::persistent, Kind::nonblocking}) {
    for (const char* strategy : {"three_step", "two_step"}) {
      const Info info(Hints{{"lnw_strategy", strategy}, {"lnw_machine", "node:2 rank:2"}});
      for (const int count : {8, 20000}) exchange(all, count, kind, info.get(), strategy, !relays);
    }
    // Every pair of ranks has many edges.
    for (const int edges : {16, 17, 40})
      for (const int count : {1, 9000})
        exchange(std::vector<int>(static_cast<std::size_t>(edges), size - 1 - rank), count, kind, strict.get(),
                 "direct", true);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string level = argc > 1 ? argv[1] : "";
  relays = argc > 2 && std::strcmp(argv[2], "relays") == 0;
  const char* const place =
      std::getenv("PMI_RANK") != nullptr ? std::getenv("PMI_RANK") : std::getenv("OMPI_COMM_WORLD_RANK");
  const bool first = place != nullptr && std::strcmp(place, "0") == 0;
  const bool multiple = level == "multiple" || (level == "mixed" && first);
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, multiple ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  exchange_all();
  if (right && rank == 0) std::puts("all right");
  MPI_Finalize();
  return right ? 0 : 1;
}
