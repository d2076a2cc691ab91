/// What the MPI tests share: the world, random graphs, machines and strategies to try, error codes.
#pragma once

#include <gtest/gtest.h>
#include <mpi.h>

#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "laneway/laneway.h"

namespace laneway::test {

[[nodiscard]] int rank();
[[nodiscard]] int size();

/// The plan of a persistent request, as JSON.
[[nodiscard]] std::string plan_text(LNW_Request request);

/// By the library that runs, not by its headers.
[[nodiscard]] bool is_mpich();

/// LANEWAY_TEST_LONG=1.
[[nodiscard]] bool long_tests();

/// How many random cases a test should try: fewer where a rank count makes them slow, as MPICH on few cores.
[[nodiscard]] int effort(int cases);

/// A test that all ranks run. It fails where it fails on any rank, and ends on all ranks together.
class MpiTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;
};

/// The same number on all ranks for the same arguments.
[[nodiscard]] std::uint64_t mix(std::initializer_list<std::uint64_t> values);

using Random = std::mt19937;
[[nodiscard]] int pick(Random& random, int least, int most);

class Comm {
 public:
  Comm() = default;
  explicit Comm(MPI_Comm comm) : comm_(comm) {}
  ~Comm() { free(); }
  Comm(Comm&& other) noexcept : comm_(std::exchange(other.comm_, MPI_COMM_NULL)) {}
  Comm& operator=(Comm&& other) noexcept {
    std::swap(comm_, other.comm_);
    return *this;
  }
  void free() {
    if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
  }
  [[nodiscard]] MPI_Comm get() const { return comm_; }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
};

[[nodiscard]] Comm duplicate_of(MPI_Comm comm);

using Hints = std::vector<std::pair<std::string, std::string>>;

class Info {
 public:
  explicit Info(const Hints& hints);
  ~Info() { MPI_Info_free(&info_); }
  Info(const Info&) = delete;
  Info& operator=(const Info&) = delete;
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

/// Whether a communicator still has the keys that its MPI library does not know.
[[nodiscard]] bool keeps_hints(MPI_Comm comm);

/// Every strategy of the registry, with and without deduplication.
struct Choice {
  std::string strategy;
  std::string deduplicate;
  std::string machine;
  bool on_grid = false;
  std::string transport = "auto";
  std::string path = "auto";

  /// For operations on `comm`, whose ranks form the grid where the strategy needs one.
  [[nodiscard]] Hints hints(MPI_Comm comm = MPI_COMM_WORLD) const;
  [[nodiscard]] std::string text() const;
};
[[nodiscard]] std::vector<Choice> choices(const std::string& machine);

/// Descriptions of machines with the world's number of ranks: as discovered, even, uneven, one rank a node, scattered.
[[nodiscard]] std::vector<std::string> machines();
/// Uneven nodes of 5, 3, 8, 1, 2, … ranks.
[[nodiscard]] std::string uneven_machine();

/// One rank's part of a graph.
struct Shape {
  std::vector<int> sources;
  std::vector<int> destinations;
};

/// Uneven degrees, some isolated ranks, self edges, edges that occur twice; both lists in random order.
[[nodiscard]] Shape random_shape(std::uint64_t seed, int rank, int size);
/// Every rank with every rank: with relays, everybody waits for everybody.
[[nodiscard]] Shape complete_shape(int size);
/// Both neighbours on a ring.
[[nodiscard]] Shape ring_shape(int rank, int size);

[[nodiscard]] Comm make_graph(MPI_Comm comm, const Shape& shape, MPI_Info info = MPI_INFO_NULL);

[[nodiscard]] std::string error_text(int code);
[[nodiscard]] int error_class(int code);
/// MPICH 4.0 loses the texts of codes in its own classes; there the class may be one of this library's.
void expect_error_class(int code, int wanted);

/// Sets the error handler of a communicator for a while.
class Handler {
 public:
  Handler(MPI_Comm comm, MPI_Errhandler handler) : comm_(comm) {
    MPI_Comm_get_errhandler(comm, &before_);
    MPI_Comm_set_errhandler(comm, handler);
  }
  ~Handler() {
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }
  Handler(const Handler&) = delete;
  Handler& operator=(const Handler&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// Fails the test, with the text of the error, unless an MPI function has returned MPI_SUCCESS.
void expect_success(int code, const char* call, const char* file, int line);
#define EXPECT_MPI(call) ::laneway::test::expect_success(call, #call, __FILE__, __LINE__)

}  // namespace laneway::test
