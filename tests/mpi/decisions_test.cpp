// Equal decisions: under lnw_check=decisions what all ranks must decide alike is compared in every call that may wait
// for the others. So each family is run with what ranks may differ in: a wrong call of one of them before, buffers,
// datatypes, and how late they come. A difference that is made on purpose is named.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>

#include "communicator/decisions.hpp"
#include "setting.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class DecisionsTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    check_ = std::make_unique<Setting>("LANEWAY_CHECK", "decisions");
    MPI_Type_contiguous(1, MPI_INT, &derived_);
    MPI_Type_commit(&derived_);
  }
  void TearDown() override {
    MPI_Type_free(&derived_);
    check_.reset();
    MpiTest::TearDown();
  }

  static Comm copy() {
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    return Comm(made);
  }

  /// What may differ between ranks in call number `turn`.
  struct Turn {
    int turn;
    MPI_Datatype type;
    int* send;
    int* receive;
    bool is_wrong;  ///< on this rank a wrong call comes before
  };

  /// Calls `call` often enough that rules are tried; `wrong` is a call that fails on this rank alone.
  void repeat(int turns, const std::function<int(const Turn&)>& call, const std::function<int(const Turn&)>& wrong) {
    for (int turn = 0; turn < turns; ++turn) {
      const bool is_mine = (turn + rank()) % size() == 0;
      const Turn here{turn, is_mine ? derived_ : MPI_INT, &send_[static_cast<std::size_t>(turn + rank()) % 64],
                      &receive_[static_cast<std::size_t>(turn * rank()) % 64], is_mine && turn % 3 == 0};
      if (is_mine && turn % 5 == 0) usleep(300);
      if (here.is_wrong && wrong) {
        EXPECT_NE(wrong(here), MPI_SUCCESS);
      }
      const int code = call(here);
      ASSERT_EQ(code, MPI_SUCCESS) << "call " << turn << ": " << error_text(code);
    }
  }

  std::unique_ptr<Setting> check_;
  MPI_Datatype derived_ = MPI_DATATYPE_NULL;
  std::array<int, 4096> send_{}, receive_{};
};

TEST_F(DecisionsTest, DifferencesAreNamed) {
  if (size() < 2) GTEST_SKIP() << "SKIP: to differ takes two ranks";
  const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()));
  MPI_Comm_set_errhandler(graph.get(), MPI_ERRORS_RETURN);
  LNW_Request request = LNW_REQUEST_NULL;
  const auto init = [&] {
    return LNW_Neighbor_alltoall_init(send_.data(), 1, MPI_INT, receive_.data(), 1, MPI_INT, graph.get(), MPI_INFO_NULL,
                                      &request);
  };
  EXPECT_MPI(init());
  EXPECT_MPI(LNW_Request_free(&request));
  const int last = size() - 1;
  laneway::note_decision(laneway::Communicator::of(graph.get()),
                         [&] { return rank() == last ? "a rule: ring" : "a rule: bruck"; });
  const int code = init();
  EXPECT_NE(code, MPI_SUCCESS);
  const std::string text = error_text(code);
  for (const std::string& part :
       {std::string("LNW_Neighbor_alltoall_init on rank " + std::to_string(rank())),
        std::string("is 'a rule: bruck' on rank 0, but 'a rule: ring' on rank ") + std::to_string(last)})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_MPI(init());
  EXPECT_MPI(LNW_Request_free(&request));
}

TEST_F(DecisionsTest, OfDenseOperations) {
  const Setting machine("LANEWAY_MACHINE", "node:* rank:2");
  for (const char* const rules : {"auto", "alltoall:pairwise,allreduce:ring,bcast:binomial"}) {
    const Setting collective("LANEWAY_COLLECTIVE", rules);
    const Comm comm = copy();
    LNW_Request request = LNW_REQUEST_NULL;
    repeat(
        120,
        [&](const Turn& t) {
          if (t.turn % 4 != 3) return LNW_Alltoall(t.send, 2, t.type, t.receive, 2, MPI_INT, comm.get());
          const int code = LNW_Ialltoall(t.send, 2, MPI_INT, t.receive, 2, t.type, comm.get(), &request);
          return code != MPI_SUCCESS ? code : LNW_Wait(&request, MPI_STATUS_IGNORE);
        },
        [&](const Turn& t) { return LNW_Alltoall(t.send, -1, t.type, t.receive, 2, MPI_INT, comm.get()); });
    repeat(
        60, [&](const Turn& t) { return LNW_Allreduce(t.send, t.receive, 4, MPI_INT, MPI_MAX, comm.get()); },
        [&](const Turn& t) { return LNW_Allreduce(nullptr, t.receive, 4, MPI_INT, MPI_MAX, comm.get()); });
    repeat(
        60, [&](const Turn& t) { return LNW_Bcast(t.send, 4, t.type, 0, comm.get()); },
        [&](const Turn& t) { return LNW_Bcast(t.send, 4, MPI_DATATYPE_NULL, 0, comm.get()); });
    repeat(
        6,
        [&](const Turn& t) {
          int code = LNW_Allgather_init(t.send, 2, t.type, t.receive, 2, MPI_INT, comm.get(), MPI_INFO_NULL, &request);
          if (code == MPI_SUCCESS) code = LNW_Start(&request);
          if (code == MPI_SUCCESS) code = LNW_Wait(&request, MPI_STATUS_IGNORE);
          return code != MPI_SUCCESS ? code : LNW_Request_free(&request);
        },
        nullptr);
  }
}

TEST_F(DecisionsTest, OfNeighborhoods) {
  for (const bool fixed : {false, true}) {
    Hints hints{{"lnw_machine", "node:* rank:2"}, {"lnw_strategy", fixed ? "three_step" : "auto"}};
    if (fixed) hints.emplace_back("lnw_fixed_counts", "true");
    const Info info(hints);
    const Comm graph = make_graph(MPI_COMM_WORLD, ring_shape(rank(), size()), info.get());
    MPI_Comm_set_errhandler(graph.get(), MPI_ERRORS_RETURN);
    LNW_Request request = LNW_REQUEST_NULL;
    repeat(
        40,
        [&](const Turn& t) {
          if (t.turn % 4 != 3) return LNW_Neighbor_alltoall(t.send, 1, t.type, t.receive, 1, MPI_INT, graph.get());
          const int code = LNW_Ineighbor_allgather(t.send, 1, MPI_INT, t.receive, 1, t.type, graph.get(), &request);
          return code != MPI_SUCCESS ? code : LNW_Wait(&request, MPI_STATUS_IGNORE);
        },
        [&](const Turn& t) { return LNW_Neighbor_alltoall(t.send, 1, t.type, nullptr, 1, MPI_INT, graph.get()); });
    repeat(
        6,
        [&](const Turn& t) {
          int code = LNW_Neighbor_alltoall_init(t.send, 3, t.type, t.receive, 3, MPI_INT, graph.get(), MPI_INFO_NULL,
                                                &request);
          if (code == MPI_SUCCESS) code = LNW_Start(&request);
          if (code == MPI_SUCCESS) code = LNW_Wait(&request, MPI_STATUS_IGNORE);
          return code != MPI_SUCCESS ? code : LNW_Request_free(&request);
        },
        nullptr);
  }
}

TEST_F(DecisionsTest, OfFoundPartners) {
  const Comm comm = copy();
  const std::array<int, 2> to{(rank() + 1) % size(), rank()};
  LNW_Distributor distributor = LNW_DISTRIBUTOR_NULL;
  EXPECT_MPI(LNW_Distributor_create(comm.get(), 2, to.data(), MPI_INFO_NULL, &distributor));
  repeat(
      12,
      [&](const Turn& t) {
        LNW_Arrivals arrivals = LNW_ARRIVALS_NULL;
        const int code = LNW_Sparse_alltoall(2, to.data(), t.send, 1, t.type, comm.get(), MPI_INFO_NULL, &arrivals);
        if (code == MPI_SUCCESS) EXPECT_MPI(LNW_Arrivals_free(&arrivals));
        return code != MPI_SUCCESS ? code : LNW_Distributor_exchange(distributor, t.send, t.receive, t.type);
      },
      nullptr);
  EXPECT_MPI(LNW_Distributor_free(&distributor));
  LNW_Bag bag = LNW_BAG_NULL;
  EXPECT_MPI(LNW_Bag_create(comm.get(), MPI_INFO_NULL, &bag));
  EXPECT_MPI(LNW_Bag_send(bag, to[0], send_.data(), 4));
  EXPECT_MPI(LNW_Bag_free(&bag));
}

}  // namespace
}  // namespace laneway::test
