// All neighborhood operations in all forms that the MPI library has, on several graphs. What must arrive is computed.
// Arguments: the shape of the graphs; `at_once` for no persistent operations.
#include <functional>
#include <numeric>

#include "check.hpp"
#if __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace {

bool has_persistent = true;

#ifdef LANEWAY_HAS_PERSISTENT
#define INIT(operation) MPI_Neighbor_##operation##_init
#elif defined(LANEWAY_HAS_EXTENSION_PERSISTENT)
#define INIT(operation) MPIX_Neighbor_##operation##_init
#endif

int value(int edge, int element, int round) {
  return 1000003 * edge + 31 * element + 7919 * round;
}

/// An operation on one communicator with buffers of its own.
class Exchange {
 public:
  enum class Kind { allgather, allgatherv, alltoall, alltoallv, alltoallw };
  static constexpr Kind kinds[] = {Kind::allgather, Kind::allgatherv, Kind::alltoall, Kind::alltoallv, Kind::alltoallw};

  Exchange(const Graph& graph, MPI_Comm comm, Kind kind, int count) : kind_(kind), comm_(comm), count_(count) {
    const int rank = rank_in(comm);
    // Open MPI takes no null arrays at degree zero.
    for (std::vector<int>* array : {&sendcounts_, &recvcounts_, &sdispls_, &rdispls_}) array->reserve(1);
    for (std::vector<MPI_Aint>* array : {&sbytes_, &rbytes_, &large_sdispls_, &large_rdispls_}) array->reserve(1);
    for (std::vector<MPI_Count>* array : {&large_sendcounts_, &large_recvcounts_}) array->reserve(1);
    const bool gathers = kind == Kind::allgather || kind == Kind::allgatherv;
    const auto uniform = [&] { return kind == Kind::allgather || kind == Kind::alltoall; };
    const auto size_from = [&](int e) { return uniform() ? count : (e * 5 + count) % (count + 2); };
    const auto elements = [&](int e) {
      return gathers ? size_from(graph.edges[static_cast<std::size_t>(e)].source) : size_from(e);
    };
    for (int e : graph.out(rank)) add(out_, sendcounts_, sdispls_, gathers ? rank : e, gathers ? 0 : elements(e));
    if (gathers) {
      out_ = {rank};
      send_.resize(static_cast<std::size_t>(size_from(rank)) + 1);
      sendcount_ = size_from(rank);
    } else {
      send_.resize(total(sendcounts_) + 1);
      sendcount_ = count;
    }
    for (int e : graph.in(rank))
      add(in_, recvcounts_, rdispls_, gathers ? graph.edges[static_cast<std::size_t>(e)].source : e, elements(e));
    receive_.resize(total(recvcounts_) + 1);
    for (std::size_t i = 0; i < sdispls_.size(); ++i) sbytes_.push_back(MPI_Aint{4} * sdispls_[i]);
    for (std::size_t i = 0; i < rdispls_.size(); ++i) rbytes_.push_back(MPI_Aint{4} * rdispls_[i]);
    sendtypes_.assign(sendcounts_.size() + 1, MPI_INT);
    recvtypes_.assign(recvcounts_.size() + 1, MPI_INT);
    large(sendcounts_, large_sendcounts_), large(recvcounts_, large_recvcounts_);
    large(sdispls_, large_sdispls_), large(rdispls_, large_rdispls_);
  }

  void fill(int round) {
    round_ = round;
    std::size_t at = 0;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      const int elements = gathers() ? sendcount_ : sendcounts_[i];
      for (int j = 0; j < elements; ++j) send_[at++] = value(out_[i], j, round);
    }
    std::fill(receive_.begin(), receive_.end(), -1);
  }

  void check() const {
    std::size_t at = 0;
    bool right = true;
    for (std::size_t i = 0; i < in_.size(); ++i)
      for (int j = 0; j < recvcounts_[i]; ++j) right = right && receive_[at++] == value(in_[i], j, round_);
    CHECK(right);
    CHECK(receive_.back() == -1);
  }

  void blocking() {
    int code = MPI_SUCCESS;
    switch (kind_) {
      case Kind::allgather:
        code = MPI_Neighbor_allgather(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_);
        break;
      case Kind::alltoall:
        code = MPI_Neighbor_alltoall(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_);
        break;
      case Kind::allgatherv:
        code = MPI_Neighbor_allgatherv(send(), sendcount_, MPI_INT, receive(), recvcounts_.data(), rdispls_.data(),
                                       MPI_INT, comm_);
        break;
      case Kind::alltoallv:
        code = MPI_Neighbor_alltoallv(send(), sendcounts_.data(), sdispls_.data(), MPI_INT, receive(),
                                      recvcounts_.data(), rdispls_.data(), MPI_INT, comm_);
        break;
      case Kind::alltoallw:
        code = MPI_Neighbor_alltoallw(send(), sendcounts_.data(), sbytes_.data(), sendtypes_.data(), receive(),
                                      recvcounts_.data(), rbytes_.data(), recvtypes_.data(), comm_);
        break;
    }
    CHECK(code == MPI_SUCCESS);
  }

  MPI_Request nonblocking() {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    switch (kind_) {
      case Kind::allgather:
        code = MPI_Ineighbor_allgather(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, &request);
        break;
      case Kind::alltoall:
        code = MPI_Ineighbor_alltoall(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, &request);
        break;
      case Kind::allgatherv:
        code = MPI_Ineighbor_allgatherv(send(), sendcount_, MPI_INT, receive(), recvcounts_.data(), rdispls_.data(),
                                        MPI_INT, comm_, &request);
        break;
      case Kind::alltoallv:
        code = MPI_Ineighbor_alltoallv(send(), sendcounts_.data(), sdispls_.data(), MPI_INT, receive(),
                                       recvcounts_.data(), rdispls_.data(), MPI_INT, comm_, &request);
        break;
      case Kind::alltoallw:
        code = MPI_Ineighbor_alltoallw(send(), sendcounts_.data(), sbytes_.data(), sendtypes_.data(), receive(),
                                       recvcounts_.data(), rbytes_.data(), recvtypes_.data(), comm_, &request);
        break;
    }
    CHECK(code == MPI_SUCCESS);
    return request;
  }

#ifdef INIT
  MPI_Request persistent() {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    switch (kind_) {
      case Kind::allgather:
        code = INIT(allgather)(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, MPI_INFO_NULL, &request);
        break;
      case Kind::alltoall:
        code = INIT(alltoall)(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, MPI_INFO_NULL, &request);
        break;
      case Kind::allgatherv:
        code = INIT(allgatherv)(send(), sendcount_, MPI_INT, receive(), recvcounts_.data(), rdispls_.data(), MPI_INT,
                                comm_, MPI_INFO_NULL, &request);
        break;
      case Kind::alltoallv:
        code = INIT(alltoallv)(send(), sendcounts_.data(), sdispls_.data(), MPI_INT, receive(), recvcounts_.data(),
                               rdispls_.data(), MPI_INT, comm_, MPI_INFO_NULL, &request);
        break;
      case Kind::alltoallw:
        code = INIT(alltoallw)(send(), sendcounts_.data(), sbytes_.data(), sendtypes_.data(), receive(),
                               recvcounts_.data(), rbytes_.data(), recvtypes_.data(), comm_, MPI_INFO_NULL, &request);
        break;
    }
    CHECK(code == MPI_SUCCESS);
    return request;
  }
#endif

#ifdef LANEWAY_HAS_PERSISTENT_LARGE_COUNT
  MPI_Request persistent_large() {
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS;
    switch (kind_) {
      case Kind::allgather:
        code = MPI_Neighbor_allgather_init_c(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, MPI_INFO_NULL,
                                             &request);
        break;
      case Kind::alltoall:
        code = MPI_Neighbor_alltoall_init_c(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, MPI_INFO_NULL,
                                            &request);
        break;
      case Kind::allgatherv:
        code = MPI_Neighbor_allgatherv_init_c(send(), sendcount_, MPI_INT, receive(), large_recvcounts_.data(),
                                              large_rdispls_.data(), MPI_INT, comm_, MPI_INFO_NULL, &request);
        break;
      case Kind::alltoallv:
        code = MPI_Neighbor_alltoallv_init_c(send(), large_sendcounts_.data(), large_sdispls_.data(), MPI_INT,
                                             receive(), large_recvcounts_.data(), large_rdispls_.data(), MPI_INT, comm_,
                                             MPI_INFO_NULL, &request);
        break;
      case Kind::alltoallw:
        code = MPI_Neighbor_alltoallw_init_c(send(), large_sendcounts_.data(), sbytes_.data(), sendtypes_.data(),
                                             receive(), large_recvcounts_.data(), rbytes_.data(), recvtypes_.data(),
                                             comm_, MPI_INFO_NULL, &request);
        break;
    }
    CHECK(code == MPI_SUCCESS);
    return request;
  }
#endif

#ifdef LANEWAY_HAS_LARGE_COUNT
  void blocking_large() {
    switch (kind_) {
      case Kind::allgather:
        MPI_Neighbor_allgather_c(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_);
        break;
      case Kind::alltoall:
        MPI_Neighbor_alltoall_c(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_);
        break;
      case Kind::allgatherv:
        MPI_Neighbor_allgatherv_c(send(), sendcount_, MPI_INT, receive(), large_recvcounts_.data(),
                                  large_rdispls_.data(), MPI_INT, comm_);
        break;
      case Kind::alltoallv:
        MPI_Neighbor_alltoallv_c(send(), large_sendcounts_.data(), large_sdispls_.data(), MPI_INT, receive(),
                                 large_recvcounts_.data(), large_rdispls_.data(), MPI_INT, comm_);
        break;
      case Kind::alltoallw:
        MPI_Neighbor_alltoallw_c(send(), large_sendcounts_.data(), sbytes_.data(), sendtypes_.data(), receive(),
                                 large_recvcounts_.data(), rbytes_.data(), recvtypes_.data(), comm_);
        break;
    }
  }
  MPI_Request nonblocking_large() {
    MPI_Request request = MPI_REQUEST_NULL;
    switch (kind_) {
      case Kind::allgather:
        MPI_Ineighbor_allgather_c(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, &request);
        break;
      case Kind::alltoall:
        MPI_Ineighbor_alltoall_c(send(), count_, MPI_INT, receive(), count_, MPI_INT, comm_, &request);
        break;
      case Kind::allgatherv:
        MPI_Ineighbor_allgatherv_c(send(), sendcount_, MPI_INT, receive(), large_recvcounts_.data(),
                                   large_rdispls_.data(), MPI_INT, comm_, &request);
        break;
      case Kind::alltoallv:
        MPI_Ineighbor_alltoallv_c(send(), large_sendcounts_.data(), large_sdispls_.data(), MPI_INT, receive(),
                                  large_recvcounts_.data(), large_rdispls_.data(), MPI_INT, comm_, &request);
        break;
      case Kind::alltoallw:
        MPI_Ineighbor_alltoallw_c(send(), large_sendcounts_.data(), sbytes_.data(), sendtypes_.data(), receive(),
                                  large_recvcounts_.data(), rbytes_.data(), recvtypes_.data(), comm_, &request);
        break;
    }
    return request;
  }
#endif

 private:
  [[nodiscard]] bool gathers() const {
    return kind_ == Kind::allgather || kind_ == Kind::allgatherv;
  }
  static void add(std::vector<int>& ids, std::vector<int>& counts, std::vector<int>& displs, int id, int count) {
    displs.push_back(static_cast<int>(total(counts)));
    ids.push_back(id);
    counts.push_back(count);
  }
  static std::size_t total(const std::vector<int>& counts) {
    return static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), 0));
  }
  template <class T>
  static void large(const std::vector<int>& from, std::vector<T>& to) {
    to.assign(from.begin(), from.end());
  }
  int* send() {
    return send_.data();
  }
  int* receive() {
    return receive_.data();
  }

  Kind kind_;
  MPI_Comm comm_;
  int count_;
  int sendcount_ = 0;
  int round_ = 0;
  std::vector<int> out_, in_, sendcounts_, recvcounts_, sdispls_, rdispls_, send_, receive_;
  std::vector<MPI_Aint> sbytes_, rbytes_, large_sdispls_, large_rdispls_;
  std::vector<MPI_Count> large_sendcounts_, large_recvcounts_;
  std::vector<MPI_Datatype> sendtypes_, recvtypes_;
};

std::vector<Exchange> all_exchanges(const Graph& graph, MPI_Comm comm, int count) {
  std::vector<Exchange> made;
  for (Exchange::Kind kind : Exchange::kinds) made.emplace_back(graph, comm, kind, count);
  return made;
}

void test_at_once(std::vector<Exchange>& exchanges) {
  for (int round = 0; round < 3; ++round) {
    for (Exchange& exchange : exchanges) {
      exchange.fill(round);
      exchange.blocking();
      exchange.check();
#ifdef LANEWAY_HAS_LARGE_COUNT
      exchange.fill(round + 10);
      exchange.blocking_large();
      exchange.check();
#endif
    }
  }
}

/// All active together, with messages of the program among them.
void test_nonblocking(std::vector<Exchange>& exchanges, MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  for (int round = 0; round < 4; ++round) {
    std::vector<MPI_Request> requests;
    int received = -1;
    requests.push_back(MPI_REQUEST_NULL);
    MPI_Irecv(&received, 1, MPI_INT, (rank + size - 1) % size, 5, comm, &requests.emplace_back());
    for (Exchange& exchange : exchanges) {
      exchange.fill(round);
#ifdef LANEWAY_HAS_LARGE_COUNT
      requests.push_back(round % 2 ? exchange.nonblocking_large() : exchange.nonblocking());
#else
      requests.push_back(exchange.nonblocking());
#endif
    }
    MPI_Isend(&rank, 1, MPI_INT, (rank + 1) % size, 5, comm, &requests.emplace_back());
    const int count = static_cast<int>(requests.size());
    std::vector<MPI_Status> statuses(requests.size());
    if (round == 0) {
      CHECK(MPI_Waitall(count, requests.data(), statuses.data()) == MPI_SUCCESS);
      CHECK(statuses[1].MPI_SOURCE == (rank + size - 1) % size && statuses[1].MPI_TAG == 5);
    } else if (round == 1) {
      for (int index = 0; index != MPI_UNDEFINED;)
        CHECK(MPI_Waitany(count, requests.data(), &index, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else if (round == 2) {
      std::vector<int> indices(requests.size());
      int done = 0;
      for (int some = 0; some != MPI_UNDEFINED; done += some > 0 ? some : 0)
        CHECK(MPI_Waitsome(count, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
      CHECK(done == count - 1);
    } else {
      for (std::size_t i = requests.size(); i-- > 0;) CHECK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE) == MPI_SUCCESS);
    }
    for (MPI_Request request : requests) CHECK(request == MPI_REQUEST_NULL);
    CHECK(received == (rank + size - 1) % size);
    for (const Exchange& exchange : exchanges) exchange.check();
  }
}

#ifdef INIT
using Init = MPI_Request (Exchange::*)();

void test_persistent(std::vector<Exchange>& exchanges, MPI_Comm comm, Init init) {
  const int rank = rank_in(comm);
  const int size = size_of(comm);
  int received = -1;
  std::vector<MPI_Request> requests;
  for (Exchange& exchange : exchanges) requests.push_back((exchange.*init)());
  MPI_Recv_init(&received, 1, MPI_INT, (rank + size - 1) % size, 5, comm, &requests.emplace_back());
  MPI_Send_init(&rank, 1, MPI_INT, (rank + 1) % size, 5, comm, &requests.emplace_back());
  const int count = static_cast<int>(requests.size());
  for (int round = 0; round < 6; ++round) {
    for (Exchange& exchange : exchanges) exchange.fill(round);
    if (round % 2)
      CHECK(MPI_Startall(count, requests.data()) == MPI_SUCCESS);
    else
      for (std::size_t i = requests.size(); i-- > 0;) CHECK(MPI_Start(&requests[i]) == MPI_SUCCESS);
    int flag = 0;
    if (round == 0) {
      CHECK(MPI_Waitall(count, requests.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    } else if (round == 1) {
      while (!flag) CHECK(MPI_Testall(count, requests.data(), &flag, MPI_STATUSES_IGNORE) == MPI_SUCCESS);
    } else if (round == 2) {
      for (MPI_Request& request : requests)
        for (flag = 0; !flag;) CHECK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    } else if (round == 3) {
      for (int index = 0; index != MPI_UNDEFINED;) {
        for (flag = 0; !flag;)
          CHECK(MPI_Testany(count, requests.data(), &index, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      }
    } else if (round == 4) {
      std::vector<int> indices(requests.size());
      int done = 0;
      for (int some = 0; some != MPI_UNDEFINED; done += some > 0 ? some : 0)
        CHECK(MPI_Testsome(count, requests.data(), &some, indices.data(), MPI_STATUSES_IGNORE) == MPI_SUCCESS);
      CHECK(done == count);
    } else {
      for (MPI_Request& request : requests) {
        for (flag = 0; !flag;) CHECK(MPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS);
        CHECK(MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
      }
    }
    for (MPI_Request request : requests) CHECK(request != MPI_REQUEST_NULL);
    CHECK(received == (rank + size - 1) % size);
    for (const Exchange& exchange : exchanges) exchange.check();
  }
  for (MPI_Request& request : requests) {
    CHECK(MPI_Request_free(&request) == MPI_SUCCESS);
    CHECK(request == MPI_REQUEST_NULL);
  }
}
#endif

void test(const Graph& graph, MPI_Comm comm) {
  for (int count : {1, 7, 3000}) {
    // Under the promise of fixed counts: each operation keeps its own.
    const MPI_Comm mine = graph.create_adjacent(comm);
    std::vector<Exchange> exchanges = all_exchanges(graph, mine, count);
    test_at_once(exchanges);
    test_nonblocking(exchanges, mine);
#ifdef INIT
    if (has_persistent) test_persistent(exchanges, mine, &Exchange::persistent);
#ifdef LANEWAY_HAS_PERSISTENT_LARGE_COUNT
    if (has_persistent) test_persistent(exchanges, mine, &Exchange::persistent_large);
#endif
#endif
    MPI_Comm free_me = mine;
    CHECK(MPI_Comm_free(&free_me) == MPI_SUCCESS);
  }
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  has_persistent = argc < 3;
  const std::string wanted = argc > 1 ? argv[1] : "any";
  const Shape shape = wanted == "symmetric" ? Shape::symmetric
                      : wanted == "simple"  ? Shape::no_repeated_edges
                                            : Shape::any;
  const int size = size_of(MPI_COMM_WORLD);
  test(ring_graph(size), MPI_COMM_WORLD);
  for (unsigned seed = 1; seed <= 3; ++seed) test(random_graph(size, seed, shape), MPI_COMM_WORLD);
  MPI_Comm half = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank_in(MPI_COMM_WORLD) % 2, 0, &half);
  test(random_graph(size_of(half), 9, shape), half);
  MPI_Comm_free(&half);
  const int status = verdict();
  MPI_Finalize();
  return status;
}
