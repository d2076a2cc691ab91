/// A small runtime of tasks, some of which are exchanges: a task that computes becomes ready when those before it are
/// done, whether they compute or communicate. No task waits; functions of requests say what has come.
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "laneway/laneway.hpp"

namespace {

class Runtime;

/// Done when `body` has returned or, if it is one that communicates, when its exchange is complete.
struct Task {
  std::function<void()> body;
  std::vector<Task*> after_it = {};
  int needs = 0;
  std::atomic<int> missing{0};
  bool communicates = false;
  Runtime* runtime = nullptr;
};

class Runtime {
 public:
  Task& add(std::function<void()> body, std::initializer_list<Task*> before) {
    Task& task = tasks_.emplace_back();
    task.body = std::move(body);
    task.runtime = this;
    for (Task* each : before) each->after_it.push_back(&task);
    task.needs = static_cast<int>(before.size());
    return task;
  }
  /// The exchange of a request, which it completes and starts again.
  Task& add(LNW_Request& request, std::initializer_list<Task*> before) {
    Task& task = add(
        [&request] {
          laneway::check(LNW_Wait(&request, MPI_STATUS_IGNORE));  // of the round before: it is complete
          laneway::check(LNW_Start(&request));
        },
        before);
    task.communicates = true;
    // Whoever advances exchanges is in here: what is ready now is run by the loop below.
    const auto function = [](int, void* state) {
      auto& done = *static_cast<Task*>(state);
      done.runtime->finish(done);
    };
    laneway::check(LNW_Request_on_complete(request, function, &task));
    return task;
  }

  /// Runs every task once.
  void run() {
    left_ = static_cast<int>(tasks_.size());
    for (Task& task : tasks_) task.missing = task.needs;
    for (Task& task : tasks_)
      if (task.needs == 0) push(task);
    while (left_ > 0) {
      if (Task* const task = pop()) {
        task->body();
        if (!task->communicates) finish(*task);
        continue;
      }
      // Any call of the library advances exchanges that have functions.
      LNW_Request none = LNW_REQUEST_NULL;
      int flag = 0;
      laneway::check(LNW_Test(&none, &flag, MPI_STATUS_IGNORE));
    }
  }

 private:
  void finish(Task& task) {
    for (Task* const next : task.after_it)
      if (--next->missing == 0) push(*next);
    --left_;
  }
  void push(Task& task) {
    const std::lock_guard lock(mutex_);
    ready_.push_back(&task);
  }
  Task* pop() {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) return nullptr;
    Task* const task = ready_.front();
    ready_.pop_front();
    return task;
  }

  std::deque<Task> tasks_;
  std::deque<Task*> ready_;
  std::mutex mutex_;
  std::atomic<int> left_{0};
};

constexpr int cells = 500;
constexpr int steps = 64;

/// Cells on a ring of which each is the exclusive or of its two neighbours before.
struct Cells {
  std::vector<int> now = std::vector<int>(cells + 2), next = std::vector<int>(cells + 2);
  int sent[2] = {}, received[2] = {}, alive = 0, all_alive = 0;

  void step(int first, int last) {
    for (int i = first; i < last; ++i) next[i] = now[i - 1] ^ now[i + 1];
  }
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int wrong = 0;
  {
    Cells ring;
    for (int i = 0; i < cells; ++i) ring.now[i + 1] = (rank * cells + i) % 11 == 4;
    const int left = (rank + size - 1) % size, right = (rank + 1) % size;
    const int sources[2] = {right, left}, destinations[2] = {left, right};
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    laneway::check(LNW_Topology_create(MPI_COMM_WORLD, 2, sources, MPI_UNWEIGHTED, 2, destinations, MPI_UNWEIGHTED,
                                       MPI_INFO_NULL, &topology));
    LNW_Request halo = LNW_REQUEST_NULL, count = LNW_REQUEST_NULL;
    laneway::check(LNW_Neighbor_alltoall_init_topology(ring.sent, 1, MPI_INT, ring.received, 1, MPI_INT, topology,
                                                       MPI_INFO_NULL, &halo));
    laneway::check(
        LNW_Allreduce_init(&ring.alive, &ring.all_alive, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &count));

    Runtime runtime;
    Task& pack = runtime.add([&] { ring.sent[0] = ring.now[1], ring.sent[1] = ring.now[cells]; }, {});
    Task& exchange = runtime.add(halo, {&pack});
    Task& inner = runtime.add([&] { ring.step(2, cells); }, {});
    Task& edges = runtime.add(
        [&] {
          ring.now[cells + 1] = ring.received[0], ring.now[0] = ring.received[1];
          ring.step(1, 2), ring.step(cells, cells + 1);
        },
        {&exchange});
    Task& swap = runtime.add(
        [&] {
          std::swap(ring.now, ring.next);
          ring.alive = static_cast<int>(std::count(ring.now.begin() + 1, ring.now.end() - 1, 1));
        },
        {&inner, &edges});
    (void)runtime.add(count, {&swap});
    for (int step = 0; step < steps; ++step) runtime.run();
    for (LNW_Request* request : {&halo, &count}) {
      laneway::check(LNW_Wait(request, MPI_STATUS_IGNORE));
      laneway::check(LNW_Request_free(request));
    }
    laneway::check(LNW_Topology_free(&topology));

    // After 2^k steps a cell is the exclusive or of those 2^k to its left and right.
    const int total = size * cells;
    const auto after = [&](int i) {
      const auto before = [&](int at) { return ((at % total + total) % total) % 11 == 4; };
      return static_cast<int>(before(i - steps)) ^ static_cast<int>(before(i + steps));
    };
    int alive = 0;
    for (int i = 0; i < total; ++i) alive += after(i);
    for (int i = 0; i < cells; ++i) wrong += ring.now[i + 1] != after(rank * cells + i);
    wrong += ring.all_alive != alive;
  }
  std::printf("rank %d: %s\n", rank, wrong == 0 ? "all cells are right" : "WRONG");
  MPI_Finalize();
  return wrong != 0;
}
