// Control variables and counters, as tools read them.
#include <cstdlib>
#include <map>
#include <string>

#include "laneway/laneway.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class Variables : public MpiTest {};

using Counters = std::map<std::string, MPI_Count>;

/// What each counter has grown by.
Counters since(const Counters& before, MPI_Comm comm = MPI_COMM_NULL) {
  Counters now = counters(comm);
  for (auto& [name, value] : now) value -= before.at(name);
  return now;
}

struct Ring {
  Ring() : graph(make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()))) {
    EXPECT_MPI(LNW_Neighbor_allgather_init(send.data(), 8, MPI_INT, receive.data(), 8, MPI_INT, graph.get(),
                                           MPI_INFO_NULL, &request));
    EXPECT_MPI(LNW_Request_get_statistics(request, &each));
  }
  void run(int exchanges) {
    for (int i = 0; i < exchanges; ++i) {
      EXPECT_MPI(LNW_Start(&request));
      EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    }
  }

  Comm graph;
  std::vector<int> send = std::vector<int>(8), receive = std::vector<int>(16);
  LNW_Request request = LNW_REQUEST_NULL;
  LNW_Request_statistics each{};
};

void expect_exchanges(Counters grown, const LNW_Request_statistics& each, int exchanges) {
  EXPECT_EQ(grown["exchanges"], exchanges);
  EXPECT_EQ(grown["messages"], exchanges * each.messages);
  EXPECT_EQ(grown["bytes"], exchanges * each.bytes);
  EXPECT_EQ(grown["net_messages"], exchanges * each.net_messages);
  EXPECT_EQ(grown["net_bytes"], exchanges * each.net_bytes);
  EXPECT_EQ(grown["copied_bytes"], exchanges * each.copied_bytes);
}

TEST_F(Variables, CountWhatRequestsDo) {
  const Counters before = counters();
  Ring ring;
  // The duplicates may have served communicators that are gone.
  const Counters of_graph = counters(ring.graph.get());
  const Comm other = duplicate_of(MPI_COMM_WORLD);
  const Counters of_other = counters(other.get());
  ring.run(3);
  EXPECT_MPI(LNW_Startall(1, &ring.request));
  EXPECT_MPI(LNW_Waitall(1, &ring.request, MPI_STATUSES_IGNORE));
  Counters grown = since(before);
  expect_exchanges(grown, ring.each, 4);
  EXPECT_EQ(grown["requests_made"], 1);
  EXPECT_EQ(grown["requests"], 1);
  EXPECT_EQ(grown["held_staging_bytes"], ring.each.staging_bytes);
  EXPECT_EQ(grown["held_window_bytes"], ring.each.window_bytes);
  EXPECT_EQ(grown["held_metadata_bytes"], ring.each.metadata_bytes);
  // Of one communicator, and not of another.
  expect_exchanges(since(of_graph, ring.graph.get()), ring.each, 4);
  EXPECT_EQ(since(of_other, other.get()).at("exchanges"), 0);

  LNW_Queue queue = LNW_QUEUE_NULL;
  EXPECT_MPI(LNW_Queue_init(&queue, LNW_QUEUE_HOST | LNW_QUEUE_PROGRESS_BY_HOST, nullptr));
  EXPECT_MPI(LNW_Enqueue_start(queue, &ring.request));
  EXPECT_MPI(LNW_Enqueue_wait(queue, &ring.request));
  EXPECT_MPI(LNW_Queue_wait(queue));
  EXPECT_MPI(LNW_Queue_free(&queue));
  EXPECT_MPI(LNW_Request_free(&ring.request));
  grown = since(before);
  expect_exchanges(grown, ring.each, 5);
  EXPECT_EQ(grown["requests"], 0);
  EXPECT_EQ(grown["held_metadata_bytes"], 0);
  expect_exchanges(since(of_graph, ring.graph.get()), ring.each, 5);
}

TEST_F(Variables, CountNonblockingOperations) {
  Ring ring;
  const Counters before = counters();
  LNW_Request request = LNW_REQUEST_NULL;
  for (int i = 0; i < 2; ++i) {
    EXPECT_MPI(LNW_Ineighbor_allgather(ring.send.data(), 8, MPI_INT, ring.receive.data(), 8, MPI_INT, ring.graph.get(),
                                       &request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  }
  Counters grown = since(before);
  EXPECT_EQ(grown["requests_made"], 2);
  EXPECT_EQ(grown["exchanges"], 2);
  EXPECT_EQ(grown["requests"], 0);
  EXPECT_MPI(LNW_Request_free(&ring.request));
}

TEST_F(Variables, CountBlockingOperations) {
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  // A graph has the duplicate of the communicator that it is made from, and counts with it.
  const Comm other = duplicate_of(MPI_COMM_WORLD);
  const Handler handler(other.get(), MPI_ERRORS_RETURN);
  std::array<int, 2> sent{}, received{};
  const auto call = [&] {
    EXPECT_MPI(LNW_Neighbor_allgather(sent.data(), 1, MPI_INT, received.data(), 1, MPI_INT, graph.get()));
    EXPECT_MPI(LNW_Allreduce(sent.data(), received.data(), 1, MPI_INT, MPI_SUM, other.get()));
    EXPECT_NE(LNW_Bcast(sent.data(), 1, MPI_INT, size(), other.get()), MPI_SUCCESS);
  };
  call();
  const Counters before = counters(), of_graph = counters(graph.get()), of_other = counters(other.get());
  for (int i = 0; i < 3; ++i) call();
  EXPECT_EQ(since(before)["blocking_calls"], 6);
  EXPECT_EQ(since(of_graph, graph.get())["blocking_calls"], 3);
  EXPECT_EQ(since(of_other, other.get())["blocking_calls"], 3);
  EXPECT_EQ(since(before)["requests_made"], 0);
}

TEST_F(Variables, HintsInForce) {
  setenv("LANEWAY_EXCHANGES", "17", 1);
  const Info info(Hints{{"lnw_strategy", "direct"}});
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
  const auto of_all = control_variables(), of_graph = control_variables(graph.get());
  unsetenv("LANEWAY_EXCHANGES");
  EXPECT_EQ(of_graph.at("lnw_strategy"), "direct");
  EXPECT_EQ(of_all.at("lnw_strategy"), std::getenv("LANEWAY_STRATEGY") ? std::getenv("LANEWAY_STRATEGY") : "auto");
  EXPECT_EQ(of_all.at("lnw_exchanges"), "17");
  EXPECT_EQ(of_graph.at("lnw_exchanges"), "17");
  int index = -1, length = 0;
  LNW_Variable variable{};
  std::array<char, 4> text{'x', 'x', 'x', 'x'};
  EXPECT_MPI(LNW_Cvar_get_index("lnw_strategy", &index));
  EXPECT_MPI(LNW_Cvar_get_info(index, &variable));
  EXPECT_STREQ(variable.environment, "LANEWAY_STRATEGY");
  EXPECT_GT(std::string(variable.description).size(), 20U);
  EXPECT_MPI(LNW_Cvar_read(index, graph.get(), text.data(), 3, &length));
  EXPECT_EQ(length, 6);
  EXPECT_EQ(std::string(text.data(), 4), std::string("di\0x", 4));
}

TEST_F(Variables, NamesAndNumbersThatAreNone) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  LNW_Variable variable{};
  MPI_Count value = 0;
  int index = 0, number = 0;
  EXPECT_MPI(LNW_Pvar_get_num(&number));
  expect_error_class(LNW_Pvar_get_info(number, &variable), MPI_ERR_ARG);
  expect_error_class(LNW_Pvar_read(-1, MPI_COMM_NULL, &value), MPI_ERR_ARG);
  const int code = LNW_Pvar_get_index("lnw_strategy", &index);
  EXPECT_NE(error_text(code).find("name is lnw_strategy"), std::string::npos) << error_text(code);
}

}  // namespace
}  // namespace laneway::test
