// What calls cost grows with what they move, and with nothing else: not with how many requests there are.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include "support.hpp"

namespace {

std::atomic<long> allocations{0};
std::atomic<long> variables_read{0};
/// Seconds that MPI's clock goes forward each time that it is read.
std::atomic<double> clock_leap{0};

[[maybe_unused]] bool count_allocation() {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace

#define LANEWAY_TEST_ALLOCATES(bytes) count_allocation()
#include "own_new.hpp"

#ifndef LANEWAY_TEST_SANITIZED
/// In place of the C library's: counts who asks for variables of this project.
extern "C" char* getenv(const char* name) noexcept {
  const std::size_t length = std::strlen(name);
  if (std::strncmp(name, "LANEWAY_", 8) == 0) variables_read.fetch_add(1, std::memory_order_relaxed);
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    if (std::strncmp(*entry, name, length) == 0 && (*entry)[length] == '=') return *entry + length + 1;
  return nullptr;
}
#endif

extern "C" double MPI_Wtime() {
  static std::atomic<double> leapt{0};
  leapt = leapt + clock_leap;
  return PMPI_Wtime() + leapt;
}

namespace laneway::test {
namespace {

class Cost : public MpiTest {};

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// The least of a few.
template <class F>
double cpu_seconds_of(F&& f) {
  double least = 1e9;
  for (int turn = 0; turn < 5; ++turn) {
    const double begin = cpu_seconds();
    f();
    least = std::min(least, cpu_seconds() - begin);
  }
  return least;
}

/// Persistent requests of this rank alone, with a self edge each.
class OwnRequests {
 public:
  explicit OwnRequests(std::size_t n) : send_(n, 1), receive_(n), requests_(n) {
    const int self = 0;
    EXPECT_MPI(LNW_Topology_create(MPI_COMM_SELF, 1, &self, MPI_UNWEIGHTED, 1, &self, MPI_UNWEIGHTED, MPI_INFO_NULL,
                                   &topology_));
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_MPI(LNW_Neighbor_alltoall_init_topology(&send_[i], 1, MPI_INT, &receive_[i], 1, MPI_INT, topology_,
                                                     MPI_INFO_NULL, &requests_[i]));
  }
  ~OwnRequests() {
    for (LNW_Request& request : requests_) EXPECT_MPI(LNW_Request_free(&request));
    EXPECT_MPI(LNW_Topology_free(&topology_));
  }
  OwnRequests(const OwnRequests&) = delete;
  OwnRequests& operator=(const OwnRequests&) = delete;

  [[nodiscard]] int count() const { return static_cast<int>(requests_.size()); }
  [[nodiscard]] LNW_Request* data() { return requests_.data(); }

 private:
  std::vector<int> send_;
  std::vector<int> receive_;
  std::vector<LNW_Request> requests_;
  LNW_Topology topology_ = LNW_TOPOLOGY_NULL;
};

TEST_F(Cost, StartallTakesAsLongAsItsStarts) {
#ifdef LANEWAY_TEST_SANITIZED
  OwnRequests requests(
      200);  // the sanitizer records a whole stack of each allocation: a minute for thousands of requests
#else
  OwnRequests requests(8000);
#endif
  const auto wait = [&] { EXPECT_MPI(LNW_Waitall(requests.count(), requests.data(), MPI_STATUSES_IGNORE)); };
  const double one_by_one = cpu_seconds_of([&] {
    for (int i = 0; i < requests.count(); ++i) LNW_Start(requests.data() + i);
    wait();
  });
  const double together = cpu_seconds_of([&] {
    EXPECT_MPI(LNW_Startall(requests.count(), requests.data()));
    wait();
  });
  EXPECT_LT(together, 10 * one_by_one);
}

/// Calls of one operation, from and to any buffers, with the same arguments each time.
struct Calls {
  const char* name;
  std::function<void(const double* send, double* receive)> blocking;
  std::function<void(const double* send, double* receive, LNW_Request* request)> nonblocking;
};

class RepeatedCalls : public Cost {
 protected:
  static constexpr int each = 16;

  RepeatedCalls() : shape_(random_shape(7, test::rank(), test::size())) {
    for (std::size_t i = 0; i < shape_.destinations.size(); ++i) places_out_.push_back(static_cast<int>(i) * each);
    for (std::size_t i = 0; i < shape_.sources.size(); ++i) places_in_.push_back(static_cast<int>(i) * each);
    counts_out_.assign(shape_.destinations.size(), each);
    counts_in_.assign(shape_.sources.size(), each);
    MPI_Type_vector(each, 1, 2, MPI_DOUBLE, &spread_);
    MPI_Type_commit(&spread_);
    types_out_.assign(shape_.destinations.size(), MPI_DOUBLE);
    types_in_.assign(shape_.sources.size(), MPI_DOUBLE);
    for (int place : places_out_) bytes_out_.push_back(place * MPI_Aint{sizeof(double)});
    for (int place : places_in_) bytes_in_.push_back(place * MPI_Aint{sizeof(double)});
  }
  ~RepeatedCalls() override { MPI_Type_free(&spread_); }

  [[nodiscard]] std::vector<Calls> operations(MPI_Comm comm) const {
    const auto* const co = counts_out_.data();
    const auto* const po = places_out_.data();
    const auto* const ci = counts_in_.data();
    const auto* const pi = places_in_.data();
    return {
        {"allgather",
         [=](const double* s, double* r) {
           EXPECT_MPI(LNW_Neighbor_allgather(s, each, MPI_DOUBLE, r, each, MPI_DOUBLE, comm));
         },
         [=](const double* s, double* r, LNW_Request* q) {
           EXPECT_MPI(LNW_Ineighbor_allgather(s, each, MPI_DOUBLE, r, each, MPI_DOUBLE, comm, q));
         }},
        {"alltoall",
         [=](const double* s, double* r) {
           EXPECT_MPI(LNW_Neighbor_alltoall(s, each, MPI_DOUBLE, r, each, MPI_DOUBLE, comm));
         },
         [=](const double* s, double* r, LNW_Request* q) {
           EXPECT_MPI(LNW_Ineighbor_alltoall(s, each, MPI_DOUBLE, r, each, MPI_DOUBLE, comm, q));
         }},
        {"alltoallv",
         [=](const double* s, double* r) {
           EXPECT_MPI(LNW_Neighbor_alltoallv(s, co, po, MPI_DOUBLE, r, ci, pi, MPI_DOUBLE, comm));
         },
         [=](const double* s, double* r, LNW_Request* q) {
           EXPECT_MPI(LNW_Ineighbor_alltoallv(s, co, po, MPI_DOUBLE, r, ci, pi, MPI_DOUBLE, comm, q));
         }},
        {"alltoallw",
         [=, this](const double* s, double* r) {
           EXPECT_MPI(LNW_Neighbor_alltoallw(s, co, bytes_out_.data(), types_out_.data(), r, ci, bytes_in_.data(),
                                             types_in_.data(), comm));
         },
         [=, this](const double* s, double* r, LNW_Request* q) {
           EXPECT_MPI(LNW_Ineighbor_alltoallw(s, co, bytes_out_.data(), types_out_.data(), r, ci, bytes_in_.data(),
                                              types_in_.data(), comm, q));
         }},
        {"allgather of a derived type",
         [=, this](const double* s, double* r) {
           EXPECT_MPI(LNW_Neighbor_allgather(s, 1, spread_, r, each, MPI_DOUBLE, comm));
         },
         [=, this](const double* s, double* r, LNW_Request* q) {
           EXPECT_MPI(LNW_Ineighbor_allgather(s, 1, spread_, r, each, MPI_DOUBLE, comm, q));
         }},
    };
  }

  [[nodiscard]] std::size_t send_size() const { return 2 * each + each * shape_.destinations.size(); }
  [[nodiscard]] std::size_t receive_size() const { return each * shape_.sources.size() + 1; }

  const Shape shape_;
  std::vector<int> counts_out_, counts_in_, places_out_, places_in_;
  std::vector<MPI_Aint> bytes_out_, bytes_in_;
  std::vector<MPI_Datatype> types_out_, types_in_;
  MPI_Datatype spread_ = MPI_DATATYPE_NULL;
};

const std::vector<Hints>& ways() {
  static const std::vector<Hints> all = {{},
                                         {{"lnw_strategy", "three_step"}, {"lnw_machine", "node:* rank:2"}},
                                         {{"lnw_fixed_counts", "true"}, {"lnw_transport", "p2p"}}};
  return all;
}

TEST_F(RepeatedCalls, AllocateNothingAndReadNoEnvironment) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: the sanitizer has its own operator new";
#endif
  std::vector<double> send(send_size(), rank());
  std::vector<double> receive(receive_size());
  for (const Hints& hints : ways()) {
    const Info info(hints);
    const Comm graph = make_graph(MPI_COMM_WORLD, shape_, info.get());
    for (const Calls& calls : operations(graph.get())) {
      SCOPED_TRACE(std::string(calls.name) + (hints.empty() ? "" : " with " + hints.front().first));
      const bool fixed = !hints.empty() && hints.front().first == "lnw_fixed_counts";
      for (int i = 0; i < 3; ++i) calls.blocking(send.data(), receive.data());
      const long before = allocations;
      const long read_before = variables_read;
      constexpr int times = 10;
      for (int i = 0; i < times; ++i) calls.blocking(send.data(), receive.data());
      EXPECT_LE(allocations - before, fixed ? 40 * times : 0);
      EXPECT_EQ(variables_read, read_before);
      LNW_Request request = LNW_REQUEST_NULL;
      const auto nonblocking = [&] {
        calls.nonblocking(send.data(), receive.data(), &request);
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      };
      for (int i = 0; i < 3; ++i) nonblocking();
      const long between = allocations;
      const long read_between = variables_read;
      for (int i = 0; i < times; ++i) nonblocking();
      EXPECT_LE(allocations - between, 60 * times);
      EXPECT_EQ(variables_read, read_between);
    }
  }
}

/// Where a relayed exchange is chosen, it is chosen however long its choice has taken.
TEST_F(Cost, PlansDependOnNoClock) {
  const Comm graph = make_graph(MPI_COMM_WORLD, complete_shape(size()));
  const Info info(
      {{"lnw_machine", "node:* rank:4"}, {"lnw_parameters", "cluster-4x4-50mbit"}, {"lnw_transport", "p2p"}});
  constexpr int each = 128;
  std::vector<double> receive(static_cast<std::size_t>(size()) * each);
  const std::vector<double> send(each, rank());
  const auto strategy = [&] {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), each, MPI_DOUBLE, receive.data(), each, MPI_DOUBLE, graph.get(),
                                           info.get(), &request));
    const char* name = nullptr;
    EXPECT_MPI(LNW_Request_get_strategy(request, &name));
    const std::string plan = plan_text(request);
    const std::string kept = name;
    EXPECT_MPI(LNW_Request_free(&request));
    return kept + plan;
  };
  const std::string usual = strategy();
  if (size() == 8) {
    EXPECT_NE(usual.substr(0, 6), "direct");
  }
  clock_leap = 1;
  EXPECT_EQ(strategy(), usual);
  clock_leap = 0;
}

}  // namespace
}  // namespace laneway::test
