// Exchanges that fail: error codes are returned wherever the communicator returns errors, texts name the message, the
// user's handler gets the user's communicator, and nothing is written into memory any more once the error is reported.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "operations/choose/reasons.hpp"
#include "support.hpp"

namespace {

/// Messages of exchanges, not of setups, to this rank are twice as long as they should be.
int lengthen_to = -1;
constexpr int first_tag_of_exchanges = 64;

int lengthened(int count, int peer, int tag) {
  return peer == lengthen_to && tag >= first_tag_of_exchanges ? 2 * count : count;
}

}  // namespace

extern "C" {
int MPI_Send_init(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm,
                  MPI_Request* request) {
  return PMPI_Send_init(data, lengthened(count, peer, tag), type, peer, tag, comm, request);
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int peer, int tag, MPI_Comm comm, MPI_Request* request) {
  return PMPI_Isend(data, lengthened(count, peer, tag), type, peer, tag, comm, request);
}
}

namespace laneway::test {
namespace {

constexpr int elements = 40;
constexpr int spread = 2 * elements;  // of elements that are apart

/// Rank 0 receives a block from rank 1, which sends more than that, and one from rank 2, which sends late.
enum class Way { blocking, nonblocking, persistent };
struct Case {
  Way way;
  bool strided;  // through staging memory
  int late = 1;  // edges from rank 2
};

/// Where errors of the world would end the job.
class FailuresTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    if (size() < 3) GTEST_SKIP() << "SKIP: needs 3 ranks, there are " << size();
    MPI_Type_vector(elements, 1, 2, MPI_DOUBLE, &strided_);
    MPI_Type_commit(&strided_);
  }
  void TearDown() override {
    lengthen_to = -1;
    if (strided_ != MPI_DATATYPE_NULL) MPI_Type_free(&strided_);
    MpiTest::TearDown();
  }

  /// Never freed: messages of failed exchanges stay on what belongs to it.
  static MPI_Comm returning() {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    return comm;
  }

  static LNW_Topology star(MPI_Comm comm, int late, const Hints& hints = {{"lnw_transport", "p2p"}}) {
    const Info info(hints);
    const std::array<int, 4> sources{1, 2, 2, 2};
    const std::array<int, 3> destinations{0, 0, 0};
    const int outdegree = rank() == 1 ? 1 : rank() == 2 ? late : 0;
    LNW_Topology topology = LNW_TOPOLOGY_NULL;
    EXPECT_MPI(LNW_Topology_create(comm, rank() == 0 ? 1 + late : 0, sources.data(), MPI_UNWEIGHTED, outdegree,
                                   destinations.data(), MPI_UNWEIGHTED, info.get(), &topology));
    return topology;
  }

  MPI_Datatype strided_ = MPI_DATATYPE_NULL;
};

/// Whether a late message, which is on its way, has had time to do harm.
void let_messages_arrive() {
  for (int turns = 0; turns < 50; ++turns) {
    int flag = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    usleep(1000);
  }
}

/// Blocks of the sizes that the library's own memory may have had, all filled.
class Heap {
 public:
  explicit Heap(std::size_t bytes) {
    for (int i = 0; i < 64; ++i) blocks_.emplace_back(bytes, std::byte{0x5a});
  }
  [[nodiscard]] std::size_t overwritten() const {
    std::size_t n = 0;
    for (const std::vector<std::byte>& block : blocks_)
      n += block.size() - static_cast<std::size_t>(std::count(block.begin(), block.end(), std::byte{0x5a}));
    return n;
  }

 private:
  std::vector<std::vector<std::byte>> blocks_;
};

TEST_F(FailuresTest, NothingIsWrittenAfterTheErrorIsReported) {
  for (const Case& c : {Case{Way::blocking, false}, Case{Way::blocking, true}, Case{Way::nonblocking, false},
                        Case{Way::nonblocking, true}, Case{Way::persistent, false}, Case{Way::persistent, true},
                        Case{Way::nonblocking, false, 3}, Case{Way::persistent, true, 3}}) {
    SCOPED_TRACE(std::to_string(c.late) + " late messages, " + "way " + std::to_string(static_cast<int>(c.way)) +
                 (c.strided ? ", strided" : ", contiguous"));
    MPI_Comm comm = returning();
    LNW_Topology topology = star(comm, c.late);
    std::vector<double> out(4 * elements, 1000 * rank());
    std::vector<double> in(8 * elements, -1);
    std::array<int, 4> counts{};
    std::array<MPI_Datatype, 4> types{};
    std::array<MPI_Aint, 4> places{};
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<MPI_Aint>(i * spread * sizeof(double));
    counts.fill(c.strided ? 1 : elements);
    types.fill(c.strided ? strided_ : MPI_DOUBLE);
    const std::array<int, 3> sendcounts{elements, elements, elements};
    const std::array<MPI_Aint, 3> sendplaces{};
    const std::array<MPI_Datatype, 3> sendtypes{MPI_DOUBLE, MPI_DOUBLE, MPI_DOUBLE};
    LNW_Request request = LNW_REQUEST_NULL;
    lengthen_to = rank() == 1 ? 0 : -1;
    if (c.way == Way::persistent) {
      EXPECT_MPI(LNW_Neighbor_alltoallw_init_topology(out.data(), sendcounts.data(), sendplaces.data(),
                                                      sendtypes.data(), in.data(), counts.data(), places.data(),
                                                      types.data(), topology, MPI_INFO_NULL, &request));
    }
    const auto exchange = [&] {
      if (c.way == Way::blocking)
        return LNW_Neighbor_alltoallw_topology(out.data(), sendcounts.data(), sendplaces.data(), sendtypes.data(),
                                               in.data(), counts.data(), places.data(), types.data(), topology);
      if (c.way == Way::persistent) {
        EXPECT_MPI(LNW_Start(&request));
      } else {
        EXPECT_MPI(LNW_Ineighbor_alltoallw_topology(out.data(), sendcounts.data(), sendplaces.data(), sendtypes.data(),
                                                    in.data(), counts.data(), places.data(), types.data(), topology,
                                                    &request));
      }
      if (c.late == 1) return LNW_Wait(&request, MPI_STATUS_IGNORE);
      // Waiting may wait for all messages.
      int flag = 0;
      int code = MPI_SUCCESS;
      while (flag == 0 && code == MPI_SUCCESS) code = LNW_Test(&request, &flag, MPI_STATUS_IGNORE);
      return code;
    };
    if (rank() == 0) {
      const int code = exchange();
      expect_error_class(code, MPI_ERR_TRUNCATE);
      const std::string text = error_text(code);
      for (const char* part : {"rank 0", "edge 1 -> 0", "recvcounts and recvtype say 320 bytes", "the _init form"})
        EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
      if (c.way == Way::persistent) {
        const int again = LNW_Start(&request);
        expect_error_class(again, MPI_ERR_REQUEST);
        EXPECT_NE(error_text(again).find("has failed before"), std::string::npos) << error_text(again);
        EXPECT_NE(LNW_Request_set_buffers(request, out.data(), in.data()), MPI_SUCCESS);
      }
      if (c.way != Way::blocking) {
        EXPECT_MPI(LNW_Request_free(&request));
      }
      const Heap small(spread * sizeof(double));
      const Heap large(2 * spread * sizeof(double));
      std::fill(in.begin(), in.end(), 7);
      MPI_Barrier(MPI_COMM_WORLD);  // the late message is sent after it
      MPI_Barrier(MPI_COMM_WORLD);
      let_messages_arrive();
      EXPECT_EQ(small.overwritten() + large.overwritten(), 0U);
      EXPECT_EQ(std::count(in.begin(), in.end(), 7), static_cast<std::ptrdiff_t>(in.size()));
    } else {
      if (rank() == 2) MPI_Barrier(MPI_COMM_WORLD);
      EXPECT_MPI(exchange());
      if (rank() != 2) MPI_Barrier(MPI_COMM_WORLD);
      MPI_Barrier(MPI_COMM_WORLD);
      if (request != LNW_REQUEST_NULL) {
        EXPECT_MPI(LNW_Request_free(&request));
      }
    }
    lengthen_to = -1;
    EXPECT_MPI(LNW_Topology_free(&topology));
  }
}

/// Also in the functions for many requests, and at a rank that relays, whose messages are looked at in any order.
TEST_F(FailuresTest, CodesAreReturnedWhereDataIsRelayed) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "SKIP: messages that are too long are read from beyond their memory";
#endif
  for (const std::string how : {"test", "testall", "waitany", "waitsome", "relay"}) {
    SCOPED_TRACE(how);
    const int receiver = how == "relay" ? 2 : 0;
    MPI_Comm comm = returning();
    std::string machine = "ranks:1," + std::to_string(size() - 1);
    LNW_Topology topology =
        star(comm, 1, {{"lnw_transport", "p2p"}, {"lnw_strategy", "three_step"}, {"lnw_machine", machine}});
    std::vector<double> out(4 * elements, rank());
    std::vector<double> in(4 * elements, -1);
    LNW_Request request = LNW_REQUEST_NULL;
    lengthen_to = rank() == 0 ? -1 : receiver;
    EXPECT_MPI(LNW_Neighbor_alltoall_init_topology(out.data(), elements, MPI_DOUBLE, in.data(), elements, MPI_DOUBLE,
                                                   topology, MPI_INFO_NULL, &request));
    EXPECT_MPI(LNW_Start(&request));
    std::array<LNW_Request, 2> requests{LNW_REQUEST_NULL, request};
    int code = MPI_SUCCESS;
    int index = -7;
    int flag = 0;
    std::array<int, 2> indices{};
    if (how == "relay" && rank() == 0) {
      MPI_Barrier(MPI_COMM_WORLD);  // waits for what never comes: the request stays
      continue;
    }
    if (how == "test" || how == "relay")
      while (code == MPI_SUCCESS && flag == 0) code = LNW_Test(&request, &flag, MPI_STATUS_IGNORE);
    else if (how == "testall")
      while (code == MPI_SUCCESS && flag == 0) code = LNW_Testall(2, requests.data(), &flag, MPI_STATUSES_IGNORE);
    else if (how == "waitany")
      code = LNW_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
    else
      code = LNW_Waitsome(2, requests.data(), &flag, indices.data(), MPI_STATUSES_IGNORE);
    if (rank() == receiver) {
      const std::string stage = how == "relay" ? "gather" : "network";
      expect_error_class(code, MPI_ERR_TRUNCATE);
      EXPECT_NE(error_text(code).find("message of the stage " + stage), std::string::npos) << error_text(code);
      if (how == "waitany") {
        EXPECT_EQ(index, 1);
      }
    }
    lengthen_to = -1;
    EXPECT_MPI(LNW_Request_free(&request));
    MPI_Barrier(MPI_COMM_WORLD);
    EXPECT_MPI(LNW_Topology_free(&topology));
  }
}

MPI_Comm expected = MPI_COMM_NULL;
int handler_calls = 0;
int comparison = MPI_UNEQUAL;
void compare(MPI_Comm* comm, int*, ...) {
  ++handler_calls;
  MPI_Comm_compare(*comm, expected, &comparison);
}

class HandlerTest : public MpiTest {};

TEST_F(HandlerTest, GetsTheUsersCommunicator) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  MPI_Comm_create_errhandler(compare, &handler);
  Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  MPI_Comm_set_errhandler(graph.get(), handler);
  expected = graph.get();
  handler_calls = 0;
  int value = 0;
  std::array<int, 2> values{};
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Topology topology = LNW_TOPOLOGY_NULL;
  EXPECT_MPI(
      LNW_Neighbor_allgather_init(&value, 1, MPI_INT, values.data(), 1, MPI_INT, graph.get(), MPI_INFO_NULL, &request));
  EXPECT_MPI(LNW_Topology_from_comm(graph.get(), &topology));
  const auto fail = [&] {
    EXPECT_MPI(LNW_Start(&request));
    comparison = MPI_UNEQUAL;
    EXPECT_NE(LNW_Start(&request), MPI_SUCCESS);
    EXPECT_EQ(handler_calls, 1);
    const int of_request = comparison;
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    comparison = MPI_UNEQUAL;
    EXPECT_NE(LNW_Neighbor_allgather_topology(&value, -1, MPI_INT, values.data(), 1, MPI_INT, topology), MPI_SUCCESS);
    EXPECT_EQ(handler_calls, 2);
    handler_calls = 0;
    EXPECT_EQ(comparison, of_request);
    return of_request;
  };
  EXPECT_EQ(fail(), MPI_IDENT);
  graph.free();
  expected = MPI_COMM_WORLD;
  EXPECT_NE(fail(), MPI_IDENT);  // a communicator of the library
  EXPECT_MPI(LNW_Request_free(&request));
  EXPECT_MPI(LNW_Topology_free(&topology));
  MPI_Errhandler_free(&handler);
}

TEST_F(HandlerTest, LongValuesOfAnInfoAreCut) {
  Reasons reasons;
  reasons.strategy = "direct";
  reasons.remembered = std::string(3000, 'f');
  reasons.path_reason = std::string(5000, 'r');
  const Handler world(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Info info = info_of(reasons);
  std::vector<char> value(MPI_MAX_INFO_VAL + 1);
  int found = 0;
  MPI_Info_get(info, "lnw_remembered", MPI_MAX_INFO_VAL, value.data(), &found);
  EXPECT_TRUE(found);
  EXPECT_EQ(std::string(value.data()), std::string(std::min(3000, MPI_MAX_INFO_VAL - 1), 'f'));
  MPI_Info_free(&info);
}

}  // namespace
}  // namespace laneway::test
