// Legal programs in which a rank that relays for others sits in another MPI call: whatever it calls, the others
// complete. Each case: the first rank starts an operation and blocks in a call that ends only after another rank has
// completed its own part of the operation. With an argument, all operations are known to be taken over.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>

#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace {

#ifdef LANEWAY_HAS_PERSISTENT
#define ALLTOALL_INIT MPI_Neighbor_alltoall_init
#elif defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
#define ALLTOALL_INIT MPIX_Neighbor_alltoall_init
#endif

constexpr int elements = 500;

/// One word of each rank; in memory that the node shares only where several ranks are on it.
struct Windows {
  int* word = nullptr;
  MPI_Win remote = MPI_WIN_NULL;
  MPI_Win shared = MPI_WIN_NULL;
  std::vector<int> node;  // its ranks

  void make() {
    // Some networks have none: Open MPI 4.1 over TCP without shared memory.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &word, &remote) != MPI_SUCCESS) {
      remote = MPI_WIN_NULL;
      if (rank_in(MPI_COMM_WORLD) == 0) std::puts("SKIP of one-sided cases: the MPI library has no windows here");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    node.resize(static_cast<std::size_t>(size_of(comm)));
    const int rank = rank_in(MPI_COMM_WORLD);
    MPI_Allgather(&rank, 1, MPI_INT, node.data(), 1, MPI_INT, comm);
    if (node.size() > 1) {
      int* own = nullptr;
      MPI_Win_allocate_shared(sizeof(int), sizeof(int), MPI_INFO_NULL, comm, &own, &shared);
      MPI_Win_lock_all(MPI_MODE_NOCHECK, shared);
      *own = 0;
      MPI_Win_sync(shared);
    }
    MPI_Comm_free(&comm);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  void free() {
    if (shared != MPI_WIN_NULL) {
      MPI_Win_unlock_all(shared);
      MPI_Win_free(&shared);
    }
    if (remote != MPI_WIN_NULL) MPI_Win_free(&remote);
  }
};
Windows windows;
bool taken = false;

MPI_Group group_of(int rank) {
  MPI_Group all = MPI_GROUP_NULL, one = MPI_GROUP_NULL;
  MPI_Comm_group(MPI_COMM_WORLD, &all);
  MPI_Group_incl(all, 1, &rank, &one);
  MPI_Group_free(&all);
  return one;
}

struct Case {
  const char* name;
  /// Called by the rank that blocks, and by the others once they have completed the operation.
  std::function<void(int blocker)> block;
};

/// What another rank sends to the one that blocks.
void release(int blocker, const std::function<void()>& blocked, const std::function<void()>& others) {
  if (rank_in(MPI_COMM_WORLD) == blocker)
    blocked();
  else
    others();
}

std::vector<Case> cases() {
  static std::vector<int> large(1 << 20, 7);
  const int size = size_of(MPI_COMM_WORLD);
  const auto other = [size](int blocker) { return (blocker + 1) % size; };
  const auto only = [other](int blocker, const std::function<void()>& action) {
    if (rank_in(MPI_COMM_WORLD) == other(blocker)) action();
  };
  return {
      {"Recv",
       [=](int blocker) {
         int word = 0;
         release(
             blocker, [&] { MPI_Recv(&word, 1, MPI_INT, other(blocker), 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); },
             [&] { only(blocker, [&] { MPI_Send(&word, 1, MPI_INT, blocker, 1, MPI_COMM_WORLD); }); });
       }},
      {"Send",
       [=](int blocker) {
         const int count = static_cast<int>(large.size());
         release(
             blocker, [&] { MPI_Send(large.data(), count, MPI_INT, other(blocker), 1, MPI_COMM_WORLD); },
             [&] {
               only(blocker,
                    [&] { MPI_Recv(large.data(), count, MPI_INT, blocker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
             });
       }},
      {"Ssend",
       [=](int blocker) {
         int word = 0;
         release(
             blocker, [&] { MPI_Ssend(&word, 1, MPI_INT, other(blocker), 1, MPI_COMM_WORLD); },
             [&] {
               only(blocker, [&] { MPI_Recv(&word, 1, MPI_INT, blocker, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE); });
             });
       }},
      {"Sendrecv",
       [=](int blocker) {
         int words[2] = {1, 0};
         const auto swap = [&](int peer) {
           MPI_Sendrecv(&words[0], 1, MPI_INT, peer, 1, &words[1], 1, MPI_INT, peer, 1, MPI_COMM_WORLD,
                        MPI_STATUS_IGNORE);
         };
         release(
             blocker, [&] { swap(other(blocker)); }, [&] { only(blocker, [&] { swap(blocker); }); });
       }},
      {"Sendrecv_replace",
       [=](int blocker) {
         int word = 1;
         const auto swap = [&](int peer) {
           MPI_Sendrecv_replace(&word, 1, MPI_INT, peer, 1, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
         };
         release(
             blocker, [&] { swap(other(blocker)); }, [&] { only(blocker, [&] { swap(blocker); }); });
       }},
      {"Probe",
       [=](int blocker) {
         int word = 0;
         release(
             blocker,
             [&] {
               MPI_Status status;
               MPI_Probe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &status);
               MPI_Recv(&word, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
             },
             [&] { only(blocker, [&] { MPI_Send(&word, 1, MPI_INT, blocker, 1, MPI_COMM_WORLD); }); });
       }},
      {"Mprobe",
       [=](int blocker) {
         int word = 0;
         release(
             blocker,
             [&] {
               MPI_Message message = MPI_MESSAGE_NULL;
               MPI_Mprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
               MPI_Mrecv(&word, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
             },
             [&] { only(blocker, [&] { MPI_Send(&word, 1, MPI_INT, blocker, 1, MPI_COMM_WORLD); }); });
       }},
      {"Wait",
       [=](int blocker) {
         int word = 0;
         release(
             blocker,
             [&] {
               MPI_Request request = MPI_REQUEST_NULL;
               MPI_Irecv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &request);
               MPI_Wait(&request, MPI_STATUS_IGNORE);
             },
             [&] { only(blocker, [&] { MPI_Send(&word, 1, MPI_INT, blocker, 1, MPI_COMM_WORLD); }); });
       }},
      {"Barrier", [](int) { MPI_Barrier(MPI_COMM_WORLD); }},
      {"Bcast",
       [=](int blocker) {
         int word = 3;
         MPI_Bcast(&word, 1, MPI_INT, other(blocker), MPI_COMM_WORLD);
       }},
      {"Allreduce",
       [](int) {
         int one = 1, sum = 0;
         MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
         CHECK(sum == size_of(MPI_COMM_WORLD));
       }},
      {"Reduce",
       [](int blocker) {
         int one = 1, sum = 0;
         MPI_Reduce(&one, &sum, 1, MPI_INT, MPI_SUM, blocker, MPI_COMM_WORLD);
       }},
      {"Alltoall",
       [=](int) {
         std::vector<int> send(static_cast<std::size_t>(size)), receive(static_cast<std::size_t>(size));
         MPI_Alltoall(send.data(), 1, MPI_INT, receive.data(), 1, MPI_INT, MPI_COMM_WORLD);
       }},
      {"Comm_dup",
       [](int) {
         MPI_Comm copy = MPI_COMM_NULL;
         MPI_Comm_dup(MPI_COMM_WORLD, &copy);
         MPI_Comm_free(&copy);
       }},
      {"Comm_split",
       [](int) {
         MPI_Comm part = MPI_COMM_NULL;
         MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &part);
         MPI_Comm_free(&part);
       }},
      {"Dist_graph_create_adjacent",
       [](int) {
         MPI_Comm ring = ring_graph(size_of(MPI_COMM_WORLD)).create_adjacent(MPI_COMM_WORLD);
         MPI_Comm_free(&ring);
       }},
      {"Win_fence",
       [](int) {
         if (windows.remote == MPI_WIN_NULL) return;
         int word = 0;
         MPI_Win window = MPI_WIN_NULL;
         MPI_Win_create(&word, sizeof word, sizeof word, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
         MPI_Win_fence(0, window);
         MPI_Win_free(&window);
       }},
      {"Iprobe",
       [=](int blocker) {
         int word = 0;
         release(
             blocker,
             [&] {
               for (int flag = 0; !flag;) MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
               MPI_Recv(&word, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
             },
             [&] { only(blocker, [&] { MPI_Send(&word, 1, MPI_INT, blocker, 1, MPI_COMM_WORLD); }); });
       }},
      {"Win_start and Win_complete",
       [=](int blocker) {
         if (windows.remote == MPI_WIN_NULL) return;
         if (rank_in(MPI_COMM_WORLD) != blocker && rank_in(MPI_COMM_WORLD) != other(blocker)) return;
         const int peer = rank_in(MPI_COMM_WORLD) == blocker ? other(blocker) : blocker;
         const MPI_Group one = group_of(peer);
         release(
             blocker,
             [&] {
               const int word = 5;
               MPI_Win_start(one, 0, windows.remote);
               MPI_Put(&word, 1, MPI_INT, peer, 0, 1, MPI_INT, windows.remote);
               MPI_Win_complete(windows.remote);
             },
             [&] {
               MPI_Win_post(one, 0, windows.remote);
               MPI_Win_wait(windows.remote);
             });
         MPI_Group free_me = one;
         MPI_Group_free(&free_me);
       }},
      {"Win_flush until a word has another value",
       [=](int blocker) {
         if (windows.remote == MPI_WIN_NULL) return;
         const auto put = [&](int word) {
           MPI_Win_lock(MPI_LOCK_SHARED, blocker, 0, windows.remote);
           MPI_Accumulate(&word, 1, MPI_INT, blocker, 0, 1, MPI_INT, MPI_REPLACE, windows.remote);
           MPI_Win_unlock(blocker, windows.remote);
         };
         release(
             blocker,
             [&] {
               int found = 0;
               MPI_Win_lock(MPI_LOCK_SHARED, blocker, 0, windows.remote);
               while (found != 100 + blocker) {
                 MPI_Fetch_and_op(nullptr, &found, MPI_INT, blocker, 0, MPI_NO_OP, windows.remote);
                 MPI_Win_flush(blocker, windows.remote);
               }
               MPI_Win_unlock(blocker, windows.remote);
               put(0);
             },
             [&] { only(blocker, [&] { put(100 + blocker); }); });
       }},
      {"Win_sync until a shared word has another value",
       [=](int blocker) {
         // The first other rank of the node writes. Open MPI's own operations wait for ever here.
         if (windows.shared == MPI_WIN_NULL || !taken) return;
         const auto there = std::find(windows.node.begin(), windows.node.end(), blocker);
         if (there == windows.node.end()) return;
         const int writer = windows.node[there == windows.node.begin() ? 1 : 0];
         MPI_Aint bytes = 0;
         int unit = 0;
         int* word = nullptr;
         MPI_Win_shared_query(windows.shared, static_cast<int>(there - windows.node.begin()), &bytes, &unit, &word);
         const std::atomic_ref<int> shared(*word);
         release(
             blocker,
             [&] {
               while (shared.load() != 100 + blocker) MPI_Win_sync(windows.shared);
               shared.store(0);
             },
             [&] {
               if (rank_in(MPI_COMM_WORLD) != writer) return;
               shared.store(100 + blocker);
               MPI_Win_sync(windows.shared);
             });
       }},
      {"a blocking neighborhood operation", nullptr},
  };
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int size = size_of(MPI_COMM_WORLD);
  const int rank = rank_in(MPI_COMM_WORLD);
  taken = argc > 1;
  windows.make();
  Graph complete;
  for (int s = 0; s < size; ++s)
    for (int d = 0; d < size; ++d) complete.edges.push_back({s, d});
  MPI_Comm graph = complete.create_adjacent(MPI_COMM_WORLD);
  MPI_Comm another = complete.create_adjacent(MPI_COMM_WORLD);
  const auto total = static_cast<std::size_t>(elements) * static_cast<std::size_t>(size);
  std::vector<int> send(total), receive(total), counts(static_cast<std::size_t>(size), elements);
  std::vector<int> places(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) places[static_cast<std::size_t>(r)] = r * elements;

  std::vector<std::pair<const char*, std::function<void(MPI_Request*)>>> forms;
#ifdef ALLTOALL_INIT
  MPI_Request persistent = MPI_REQUEST_NULL;
  ALLTOALL_INIT(send.data(), elements, MPI_INT, receive.data(), elements, MPI_INT, graph, MPI_INFO_NULL, &persistent);
  forms.emplace_back("persistent", [&](MPI_Request* request) {
    MPI_Start(&persistent);
    *request = persistent;
  });
#endif
  forms.emplace_back("nonblocking", [&](MPI_Request* request) {
    MPI_Ineighbor_alltoall(send.data(), elements, MPI_INT, receive.data(), elements, MPI_INT, graph, request);
  });
  forms.emplace_back("nonblocking v", [&](MPI_Request* request) {
    MPI_Ineighbor_alltoallv(send.data(), counts.data(), places.data(), MPI_INT, receive.data(), counts.data(),
                            places.data(), MPI_INT, graph, request);
  });
  // What must be agreed on is, before the cases.
  for (auto& [form, start] : forms) {
    MPI_Request request = MPI_REQUEST_NULL;
    start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }

  int round = 0;
  for (auto& [form, start] : forms)
    for (const Case& tested : cases())
      for (int blocker = 0; blocker < size; ++blocker) {
        if (rank == 0 && std::getenv("LANEWAY_TEST_TRACE"))
          std::printf("%s, %s, %d\n", form, tested.name, blocker), std::fflush(stdout);
        ++round;
        for (std::size_t i = 0; i < total; ++i) send[i] = rank * 1000 + static_cast<int>(i) / elements + 100000 * round;
        MPI_Request request = MPI_REQUEST_NULL;
        start(&request);
        const auto block = [&] {
          if (tested.block) return tested.block(blocker);
          std::vector<int> all(static_cast<std::size_t>(size));
          MPI_Neighbor_allgather(&rank, 1, MPI_INT, all.data(), 1, MPI_INT, another);
          for (int r = 0; r < size; ++r) CHECK(all[static_cast<std::size_t>(r)] == r);
        };
        if (rank == blocker) block();
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        if (rank != blocker) block();
        bool right = true;
        for (std::size_t i = 0; i < total; ++i)
          right = right && receive[i] == static_cast<int>(i) / elements * 1000 + rank + 100000 * round;
        CHECK(right);
        MPI_Barrier(MPI_COMM_WORLD);
      }
#ifdef ALLTOALL_INIT
  MPI_Request_free(&persistent);
#endif
  windows.free();
  MPI_Comm_free(&graph);
  MPI_Comm_free(&another);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
