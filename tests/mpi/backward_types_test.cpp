// Datatypes with negative extents and strides, of which some MPI libraries move the wrong bytes; and buffers that no
// rank reads or writes.

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "algorithms/collective/rules.hpp"
#include "dense_operations.hpp"
#include "setting.hpp"

namespace laneway::test {
namespace {

class BackwardTypesTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    MPI_Type_contiguous(2, MPI_INT, &two_ints_);
    MPI_Type_commit(&two_ints_);
    MPI_Type_create_resized(two_ints_, 0, -8, &elements_);
    MPI_Type_commit(&elements_);
    MPI_Datatype vector = MPI_DATATYPE_NULL;
    MPI_Type_create_hvector(8, 1, -1, MPI_BYTE, &vector);
    MPI_Type_create_resized(vector, 0, -8, &bytes_);
    MPI_Type_commit(&bytes_);
    MPI_Type_free(&vector);
  }
  void TearDown() override {
    for (MPI_Datatype* type : {&two_ints_, &elements_, &bytes_}) MPI_Type_free(type);
    MpiTest::TearDown();
  }

  MPI_Datatype two_ints_ = MPI_DATATYPE_NULL;
  MPI_Datatype elements_ = MPI_DATATYPE_NULL;  // of two ints in ascending order, each before the last one
  MPI_Datatype bytes_ = MPI_DATATYPE_NULL;     // each before the last one
};

TEST_F(BackwardTypesTest, EveryMovementInEveryWay) {
  const Comm comm = duplicate_of(MPI_COMM_WORLD);
  const std::array<Elements, 3> sides = {Elements{two_ints_, 8},
                                         Elements{.type = elements_, .extent = 8, .backward = 8},
                                         Elements{.type = bytes_, .extent = 8, .backward = 1}};
  std::uint64_t turn = 0;
  for (const std::string& operation : movements())
    for (const bool in_place : {false, true})
      for (const Elements& sent : sides)
        for (const Elements& received : sides) {
          if (in_place && (!takes_in_place(operation) || sent.backward != received.backward)) continue;
          ++turn;
          Dense dense{.operation = operation, .comm = comm.get(), .sent = sides[0], .received = sides[0]};
          dense.count = turn % 3 == 0 ? 200 : 5;
          dense.root = static_cast<int>(turn) % size();
          dense.in_place = in_place;
          dense.seed = turn;
          const std::vector<std::byte> expected = dense.run(Way::mpi);
          dense.sent = sent;
          dense.received = received;
          for (const Way way : ways) {
            ASSERT_TRUE(dense.run(way) == expected)
                << operation << ' ' << name(way) << (in_place ? " in place" : "") << ", units of " << sent.backward
                << " to " << received.backward << " bytes, " << error_text(dense.code);
            ASSERT_EQ(dense.code, MPI_SUCCESS);
          }
        }
}

TEST_F(BackwardTypesTest, EveryRule) {
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", size() == 1 ? "ranks:1" : "ranks:1," + std::to_string(size() - 1));
  const Elements plain{two_ints_, 8};
  for (const laneway::DenseRule& rule : laneway::dense_rules()) {
    const std::string family = laneway::name(rule.kind);
    const Setting collective("LANEWAY_COLLECTIVE", family + ":" + std::string(rule.name));
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    for (const std::string& operation : movements()) {
      if (operation != family && operation != family + "v" && operation != family + "w") continue;
      Dense dense{.operation = operation, .comm = comm.get(), .sent = plain, .received = plain, .count = 5};
      dense.root = size() - 1;
      dense.seed = 11;
      const std::vector<std::byte> expected = dense.run(Way::mpi);
      for (const Elements& backward : {Elements{.type = elements_, .extent = 8, .backward = 8},
                                       Elements{.type = bytes_, .extent = 8, .backward = 1}}) {
        dense.sent = dense.received = backward;
        for (const Way way : {Way::blocking, Way::persistent})
          ASSERT_TRUE(dense.run(way) == expected)
              << rule.name << ": " << operation << ' ' << name(way) << ", units of " << backward.backward << " bytes";
      }
    }
  }
}

/// Two lines of bytes that lie between each other, as a reversed array of single bytes in Fortran's order has them.
TEST_F(BackwardTypesTest, NeighborsGetBytesInTheOrderOfTheType) {
  constexpr int lines = 2;
  constexpr int line = 3;
  constexpr int count = 4;
  constexpr int all = lines * line * count;
  MPI_Datatype inner = MPI_DATATYPE_NULL;
  MPI_Datatype outer = MPI_DATATYPE_NULL;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  MPI_Type_create_hvector(line, 1, -lines, MPI_BYTE, &inner);
  MPI_Type_create_hvector(lines, 1, -1, inner, &outer);
  MPI_Type_create_resized(outer, 0, -lines * line, &type);
  MPI_Type_commit(&type);
  std::vector<int> places;
  for (int i = 0; i < count; ++i)
    for (int j = 0; j < lines; ++j)
      for (int k = 0; k < line; ++k) places.push_back(all - 1 - lines * line * i - j - lines * k);
  const int next = (rank() + 1) % size();
  const int last = (rank() + size() - 1) % size();
  MPI_Comm ring = MPI_COMM_NULL;
  EXPECT_MPI(LNW_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED,
                                            MPI_INFO_NULL, 0, &ring));
  std::array<unsigned char, all> sent{};
  std::array<unsigned char, all> expected{};
  for (int i = 0; i < all; ++i) {
    sent[static_cast<std::size_t>(places[i])] = static_cast<unsigned char>(i + 30 * rank());
    expected[static_cast<std::size_t>(places[i])] = static_cast<unsigned char>(i + 30 * last);
  }
  const auto first = [](auto& bytes) { return bytes.data() + all - 1; };
  const MPI_Aint zero = 0;
  const int none = 0;
  for (const bool persistent : {false, true})
    for (const bool typed : {false, true}) {
      std::array<unsigned char, all> received{};
      LNW_Request request = LNW_REQUEST_NULL;
      if (persistent && typed)
        EXPECT_MPI(LNW_Neighbor_alltoallw_init(first(sent), &count, &zero, &type, first(received), &count, &zero, &type,
                                               ring, MPI_INFO_NULL, &request));
      else if (persistent)
        EXPECT_MPI(LNW_Neighbor_alltoallv_init(first(sent), &count, &none, type, first(received), &count, &none, type,
                                               ring, MPI_INFO_NULL, &request));
      else if (typed)
        EXPECT_MPI(
            LNW_Neighbor_alltoallw(first(sent), &count, &zero, &type, first(received), &count, &zero, &type, ring));
      else
        EXPECT_MPI(
            LNW_Neighbor_alltoallv(first(sent), &count, &none, type, first(received), &count, &none, type, ring));
      if (persistent) {
        EXPECT_MPI(LNW_Start(&request));
        EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
        EXPECT_MPI(LNW_Request_free(&request));
      }
      EXPECT_EQ(received, expected) << (persistent ? "persistent" : "blocking")
                                    << (typed ? " alltoallw" : " alltoallv");
    }
  MPI_Comm unknown = MPI_COMM_NULL;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, MPI_UNWEIGHTED, 1, &next, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                 &unknown);
  std::array<unsigned char, all> received{};
  LNW_Request request = LNW_REQUEST_NULL;
  EXPECT_MPI(LNW_Ineighbor_alltoallv(first(sent), &count, &none, type, first(received), &count, &none, type, unknown,
                                     &request));
  EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
  EXPECT_EQ(received, expected) << "nonblocking, as first call";
  MPI_Comm_free(&unknown);
  MPI_Comm_free(&ring);
  for (MPI_Datatype* made : {&inner, &outer, &type}) MPI_Type_free(made);
}

/// MPI does not use the first rank's receive buffer in an exscan that is not in place.
TEST_F(BackwardTypesTest, TheFirstRankOfAnExscanNeedsNoBuffer) {
  std::vector<std::string> rules = {"mpi"};
  for (const laneway::DenseRule& rule : laneway::dense_rules())
    if (rule.kind == laneway::Dense::exscan) rules.emplace_back(rule.name);
  ASSERT_GT(rules.size(), 2U);
  const Setting progress("LANEWAY_PROGRESS", "wait");
  const Setting machine("LANEWAY_MACHINE", size() == 1 ? "ranks:1" : "ranks:1," + std::to_string(size() - 1));
  for (const std::string& rule : rules) {
    const Setting collective("LANEWAY_COLLECTIVE", "exscan:" + rule);
    const Comm comm = duplicate_of(MPI_COMM_WORLD);
    for (const int count : {0, 3, 300}) {
      Dense dense{.operation = "exscan", .comm = comm.get(), .count = count, .seed = 5};
      const std::vector<std::byte> expected = dense.run(Way::mpi);
      dense.first_has_no_buffer = true;
      for (const Way way : ways) {
        const std::vector<std::byte> received = dense.run(way);
        ASSERT_EQ(dense.code, MPI_SUCCESS) << rule << ' ' << name(way) << ": " << error_text(dense.code);
        ASSERT_TRUE(rank() == 0 || received == expected) << rule << ' ' << name(way) << ", count " << count;
      }
    }
  }
}

}  // namespace
}  // namespace laneway::test
