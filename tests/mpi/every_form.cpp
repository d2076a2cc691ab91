#include "every_form.hpp"

#include <array>
#include <cstdlib>
#include <memory>
#include <utility>

#include "dense_operations.hpp"
#include "exchange.hpp"
#include "mpi_ledger.hpp"
#include "support.hpp"

namespace laneway::test {

namespace {

/// This rank's neighbours on the ring of all.
struct Ring {
  explicit Ring(MPI_Comm comm) {
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
  }
  int rank = 0;
  int size = 1;
  int next = 0;
  int previous = 0;
};

using Freed = std::function<void()>;

/// A row whose object can be freed at any time.
ObjectForm form(std::string name, std::function<Freed(MPI_Comm, bool use)> make) {
  return {std::move(name), [make](MPI_Comm comm, bool use) { make(comm, use)(); },
          [make](MPI_Comm comm) { return make(comm, true); }};
}

void exchange(LNW_Request request) {
  EXPECT_MPI(LNW_Start(&request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
}

Freed free_request(LNW_Request request) {
  return [request]() mutable { EXPECT_MPI(LNW_Request_free(&request)); };
}

Freed make_channel(MPI_Comm comm, bool use, const Hints& hints, bool own_buffer, MPI_Count bytes) {
  const Ring ring(comm);
  const Info info(hints);
  const auto buffer = std::make_shared<std::vector<unsigned char>>(static_cast<std::size_t>(2 * bytes));
  LNW_Channel send = LNW_CHANNEL_NULL, receive = LNW_CHANNEL_NULL;
  EXPECT_MPI(LNW_Comm_prepare(comm));
  EXPECT_MPI(LNW_Channel_create(comm, ring.next, LNW_CHANNEL_SEND, bytes, 2, info.get(), &send));
  EXPECT_MPI(own_buffer ? LNW_Channel_create_with_buffer(comm, ring.previous, LNW_CHANNEL_RECEIVE, buffer->data(),
                                                         bytes, 2, info.get(), &receive)
                        : LNW_Channel_create(comm, ring.previous, LNW_CHANNEL_RECEIVE, bytes, 2, info.get(), &receive));
  if (use) {
    const std::vector<unsigned char> sent(static_cast<std::size_t>(bytes), static_cast<unsigned char>(ring.rank + 1));
    for (const int segment : {1, 0}) EXPECT_MPI(LNW_Channel_put(send, segment, sent.data(), bytes));
    void* data = nullptr;
    MPI_Count come = 0;
    // The other is left where it is: its end is freed before it has been taken.
    EXPECT_MPI(LNW_Channel_wait(receive, 0, &data, &come));
    EXPECT_EQ(come, bytes);
    EXPECT_EQ(static_cast<unsigned char*>(data)[bytes - 1], ring.previous + 1);
    EXPECT_MPI(LNW_Channel_release(receive, 0));
    EXPECT_MPI(LNW_Channel_flush(send));
    PMPI_Barrier(comm);  // to flush is an error when the other end is freed
  }
  return [send, receive, buffer]() mutable {
    EXPECT_MPI(LNW_Channel_free(&send));
    EXPECT_MPI(LNW_Channel_free(&receive));
  };
}

Freed make_partitioned(MPI_Comm comm, bool use, const Hints& hints) {
  const Ring ring(comm);
  const Info info(hints);
  const auto data = std::make_shared<std::array<std::array<int, 8>, 2>>();
  (*data)[0].fill(ring.rank);
  LNW_Request send = LNW_REQUEST_NULL, receive = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Comm_prepare(comm));
  EXPECT_MPI(LNW_Psend_init((*data)[0].data(), 8, 1, MPI_INT, ring.next, 3, comm, info.get(), &send));
  EXPECT_MPI(LNW_Precv_init((*data)[1].data(), 4, 2, MPI_INT, ring.previous, 3, comm, info.get(), &receive));
  if (use) {
    EXPECT_MPI(LNW_Start(&receive));
    EXPECT_MPI(LNW_Start(&send));
    EXPECT_MPI(LNW_Pready_range(0, 7, send));
    EXPECT_MPI(LNW_Wait(&receive, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&send, MPI_STATUS_IGNORE));
    EXPECT_EQ((*data)[1][7], ring.previous);
  }
  return [send, receive, data]() mutable {
    EXPECT_MPI(LNW_Request_free(&send));
    EXPECT_MPI(LNW_Request_free(&receive));
  };
}

LNW_Arrivals find_sparsely(MPI_Comm comm, const Hints& hints, bool blocking) {
  const Ring ring(comm);
  const Info info(hints);
  const int one = 1, zero = 0;
  LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
  if (blocking) {
    EXPECT_MPI(LNW_Sparse_alltoallv(1, &ring.next, &ring.rank, &one, &zero, MPI_INT, comm, info.get(), &arrivals));
  } else {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(
        LNW_Isparse_alltoallv(1, &ring.next, &ring.rank, &one, &zero, MPI_INT, comm, info.get(), &arrivals, &request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  }
  void* data = nullptr;
  MPI_Count bytes = 0;
  EXPECT_MPI(LNW_Arrivals_get_data(arrivals, &data, &bytes));
  EXPECT_EQ(bytes, static_cast<MPI_Count>(sizeof(int)));
  if (bytes == sizeof(int)) {
    EXPECT_EQ(*static_cast<int*>(data), ring.previous);
  }
  return arrivals;
}

Freed make_topology(MPI_Comm comm, bool use, bool from_arrivals) {
  const Ring ring(comm);
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  if (from_arrivals) {
    LNW_Arrivals arrivals = find_sparsely(comm, {}, true);
    EXPECT_MPI(LNW_Topology_from_arrivals(arrivals, MPI_INFO_NULL, &topology));
    EXPECT_MPI(LNW_Arrivals_free(&arrivals));
  } else {
    EXPECT_MPI(LNW_Topology_create(comm, 1, &ring.previous, MPI_UNWEIGHTED, 1, &ring.next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, &topology));
  }
  int come = -1;
  LNW_Request request = LNW_REQUEST_NULL;
  if (use) {
    EXPECT_MPI(LNW_Neighbor_alltoall_init_topology(&ring.rank, 1, MPI_INT, &come, 1, MPI_INT, topology, MPI_INFO_NULL,
                                                   &request));
    exchange(request);
    EXPECT_EQ(come, ring.previous);
    come = -1;
    EXPECT_MPI(LNW_Neighbor_alltoall_topology(&ring.rank, 1, MPI_INT, &come, 1, MPI_INT, topology));
    EXPECT_EQ(come, ring.previous);
  }
  return [topology, request]() mutable {
    EXPECT_MPI(LNW_Topology_free(&topology));
    if (request != LNW_REQUEST_NULL) EXPECT_MPI(LNW_Request_free(&request));
  };
}

Freed make_halo(MPI_Comm comm, bool use) {
  const Ring ring(comm);
  const auto values = std::make_shared<std::array<double, 5>>();
  const MPI_Count first = 3 * ring.rank, all = 3 * ring.size;
  const std::array<MPI_Count, 2> ghosts{(first + all - 1) % all, (first + 3) % all};
  for (int i = 0; i < 3; ++i) (*values)[static_cast<std::size_t>(i)] = static_cast<double>(first + i);
  LNW_Halo halo = LNW_HALO_NULL;
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Halo_create(comm, first, 3, 2, ghosts.data(), MPI_INFO_NULL, &halo));
  if (use) {
    EXPECT_MPI(LNW_Halo_init(halo, values->data(), MPI_DOUBLE, MPI_INFO_NULL, &request));
    exchange(request);
    EXPECT_EQ((*values)[3], static_cast<double>(ghosts[0]));
    EXPECT_EQ((*values)[4], static_cast<double>(ghosts[1]));
  }
  return [halo, request, values]() mutable {
    EXPECT_MPI(LNW_Halo_free(&halo));
    if (request != LNW_REQUEST_NULL) EXPECT_MPI(LNW_Request_free(&request));
  };
}

Freed make_distributor(MPI_Comm comm, bool use) {
  const Ring ring(comm);
  const std::array<int, 2> to{ring.next, ring.rank};
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  EXPECT_MPI(LNW_Distributor_create(comm, 2, to.data(), MPI_INFO_NULL, &distributor));
  if (use) {
    const std::array<int, 2> sent{ring.rank, ring.rank};
    std::array<int, 2> come{-1, -1};
    EXPECT_MPI(LNW_Distributor_exchange(distributor, sent.data(), come.data(), MPI_INT));
    EXPECT_EQ(come[0] + come[1], ring.rank + ring.previous);
  }
  return [distributor]() mutable { EXPECT_MPI(LNW_Distributor_free(&distributor)); };
}

void run_bag(MPI_Comm comm, bool use) {
  const Ring ring(comm);
  LNW_Bag bag = LNW_BAG_NULL;
  EXPECT_MPI(LNW_Bag_create(comm, MPI_INFO_NULL, &bag));
  if (use) {
    for (int i = 0; i < 100; ++i) EXPECT_MPI(LNW_Bag_send(bag, ring.next, &ring.rank, sizeof ring.rank));
    EXPECT_MPI(LNW_Bag_flush(bag));
    int found = 1, taken = 0;
    for (;; ++taken) {
      int source = -1;
      void* data = nullptr;
      MPI_Count bytes = 0;
      EXPECT_MPI(LNW_Bag_next(bag, &source, &data, &bytes, &found));
      if (found == 0) break;
      EXPECT_EQ(source, ring.previous);
    }
    EXPECT_EQ(taken, 100);
  }
  EXPECT_MPI(LNW_Bag_free(&bag));
}

int answer(int, const void* request, MPI_Count, void*, LNW_Answer answer) {
  return LNW_Answer_append(answer, request, sizeof(int));
}

void run_query(MPI_Comm comm, bool) {
  const Ring ring(comm);
  const int one = 1, zero = 0;
  LNW_Arrivals answers = LNW_ARRIVALS_NULL;
  EXPECT_MPI(LNW_Sparse_query(1, &ring.next, &ring.rank, &one, &zero, MPI_INT, answer, nullptr, comm, MPI_INFO_NULL,
                              &answers));
  void* data = nullptr;
  MPI_Count bytes = 0;
  EXPECT_MPI(LNW_Arrivals_get_data(answers, &data, &bytes));
  if (bytes == sizeof(int)) {
    EXPECT_EQ(*static_cast<int*>(data), ring.rank);
  }
  EXPECT_MPI(LNW_Arrivals_free(&answers));
}

/// All that the library has of one goes with it.
void run_communicator(MPI_Comm comm, bool use) {
  MPI_Comm own = MPI_COMM_NULL;
  PMPI_Comm_dup(comm, &own);
  EXPECT_MPI(LNW_Comm_prepare(own));
  if (use) {
    int one = 1, sum = 0;
    EXPECT_MPI(LNW_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, own));
    EXPECT_EQ(sum, Ring(comm).size);
  }
  PMPI_Comm_free(&own);
}

Comm ring_graph(MPI_Comm comm) {
  const Ring ring(comm);
  MPI_Comm graph = MPI_COMM_NULL;
  EXPECT_MPI(LNW_Dist_graph_create_adjacent(comm, 1, &ring.previous, MPI_UNWEIGHTED, 1, &ring.next, MPI_UNWEIGHTED,
                                            MPI_INFO_NULL, 0, &graph));
  Ledger::give_to_user(graph);
  return Comm(graph);
}

enum class Call { blocking, nonblocking, persistent };

ObjectForm neighbor_form(Op op, Call call, bool large) {
  const std::string called = std::array{"blocking", "nonblocking", "persistent"}[static_cast<std::size_t>(call)];
  return {"neighbor " + std::to_string(static_cast<int>(op)) + " " + called + (large ? " large" : ""),
          [op, call, large](MPI_Comm comm, bool use) {
            const Comm graph = ring_graph(comm);
            Exchange one(op, graph.get(), 7, false);
            one.fill(0);
            one.reference();
            Form way;
            way.large = large;
            LNW_Request request = LNW_REQUEST_NULL;
            if (call == Call::blocking) {
              EXPECT_MPI(one.blocking(way));
            } else if (call == Call::nonblocking) {
              EXPECT_MPI(one.nonblocking(&request, way));
              EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
            } else {
              EXPECT_MPI(one.init(MPI_INFO_NULL, &request, way));
              if (use) exchange(request);
              EXPECT_MPI(LNW_Request_free(&request));
              if (!use) return;
            }
            EXPECT_TRUE(one.arrived());
          },
          nullptr, "neighbor " + called};
}

ObjectForm dense_form(const std::string& operation, Way way) {
  return {operation + " " + name(way),
          [operation, way](MPI_Comm comm, bool) {
            Dense dense;
            dense.operation = operation;
            dense.comm = comm;
            dense.count = 3;
            dense.seed = 5;
            EXPECT_EQ(dense.run(way), dense.run(Way::mpi));
          },
          nullptr, std::string("dense ") + name(way)};
}

/// By MPI's own operation, and in windows, whose objects take all ranks to be freed.
Freed make_dense(MPI_Comm comm, bool use, const char* rule) {
  const Ring ring(comm);
  const Info info(Hints{{"lnw_collective", rule}});
  const auto size = static_cast<std::size_t>(ring.size);
  const auto data = std::make_shared<std::array<std::vector<int>, 2>>();
  (*data)[0].assign(size, ring.rank);
  (*data)[1].assign(size, -1);
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(
      LNW_Alltoall_init((*data)[0].data(), 1, MPI_INT, (*data)[1].data(), 1, MPI_INT, comm, info.get(), &request));
  if (use) {
    exchange(request);
    for (std::size_t i = 0; i < size; ++i) EXPECT_EQ((*data)[1][i], static_cast<int>(i));
  }
  return [free = free_request(request), data] { free(); };
}

std::vector<ObjectForm> make_forms() {
  std::vector<ObjectForm> forms;
  for (const Op op : all_ops)
    for (const Call call : {Call::blocking, Call::nonblocking, Call::persistent})
      for (const bool large : {false, true}) forms.push_back(neighbor_form(op, call, large));
  for (const auto* const operations : {&movements(), &reductions()})
    for (const std::string& operation : *operations)
      for (const Way way : {Way::blocking, Way::nonblocking, Way::persistent, Way::large_persistent})
        forms.push_back(dense_form(operation, way));
  const Hints messages = {{"lnw_transport", "p2p"}};
  forms.push_back(form("channel", [](MPI_Comm c, bool use) { return make_channel(c, use, {}, false, 100); }));
  for (const MPI_Count bytes : {100, 200000}) {
    const std::string of = " of " + std::to_string(bytes) + " bytes";
    forms.push_back(form("channel by messages" + of,
                         [=](MPI_Comm c, bool use) { return make_channel(c, use, messages, false, bytes); }));
    forms.push_back(form("channel by messages with a buffer" + of,
                         [=](MPI_Comm c, bool use) { return make_channel(c, use, messages, true, bytes); }));
  }
  forms.push_back(form("partitioned", [](MPI_Comm c, bool use) { return make_partitioned(c, use, {}); }));
  forms.push_back(form("partitioned, a message each", [](MPI_Comm c, bool use) {
    return make_partitioned(c, use, {{"lnw_partition_message", "1"}});
  }));
  forms.push_back(form("topology", [](MPI_Comm c, bool use) { return make_topology(c, use, false); }));
  forms.push_back({"made again",
                   [](MPI_Comm comm, bool use) {
                     const Comm graph = ring_graph(comm), other = duplicate_of(comm);
                     Exchange one(Op::alltoallw, graph.get(), 9, true);
                     one.fill(0);
                     one.reference();
                     LNW_Request request = LNW_REQUEST_NULL, again = LNW_REQUEST_NULL;
                     EXPECT_MPI(one.init(MPI_INFO_NULL, &request));
                     EXPECT_MPI(LNW_Request_rebuild(request, other.get(), &again));
                     EXPECT_MPI(LNW_Request_free(&request));
                     if (use) {
                       exchange(again);
                       EXPECT_TRUE(one.arrived());
                     }
                     EXPECT_MPI(LNW_Request_free(&again));
                   },
                   nullptr});
  forms.push_back(form("topology from arrivals", [](MPI_Comm c, bool use) { return make_topology(c, use, true); }));
  forms.push_back(form("halo", make_halo));
  forms.push_back(form("distributor", make_distributor));
  for (const char* const rule : {"alltoall:mpi", "alltoall:rma_fence", "alltoall:rma_lock", "alltoall:pairwise"})
    forms.push_back(form(rule, [rule](MPI_Comm c, bool use) { return make_dense(c, use, rule); }));
  forms.push_back({"bag", run_bag, nullptr});
  forms.push_back({"communicator", run_communicator, nullptr});
  forms.push_back({"query", run_query, nullptr});
  for (const char* const find : {"auto", "nbx", "rma"})
    for (const bool blocking : {true, false})
      forms.push_back({std::string("sparse ") + find + (blocking ? "" : " nonblocking"),
                       [=](MPI_Comm comm, bool) {
                         LNW_Arrivals arrivals = find_sparsely(comm, {{"lnw_find", find}}, blocking);
                         EXPECT_MPI(LNW_Arrivals_free(&arrivals));
                       },
                       nullptr});
  forms.push_back({"queue",
                   [](MPI_Comm, bool) {
                     LNW_Queue queue = LNW_QUEUE_NULL;
                     EXPECT_MPI(LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr));
                     EXPECT_MPI(LNW_Queue_free(&queue));
                   },
                   nullptr});
  return forms;
}

}  // namespace

const std::vector<ObjectForm>& every_form() {
  static const std::vector<ObjectForm> forms = [] {
    std::vector<ObjectForm> all = make_forms();
    const char* const asked = std::getenv("LANEWAY_TEST_FORMS");
    const std::string text = asked != nullptr ? asked : "";
    const bool excludes = text.starts_with("-");
    std::erase_if(all, [&](const ObjectForm& form) {
      return !text.empty() && (form.name.find(text.substr(excludes ? 1 : 0)) != std::string::npos) == excludes;
    });
    return all;
  }();
  return forms;
}

}  // namespace laneway::test
