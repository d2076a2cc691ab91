#include "data/dense_case.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstring>
#include <vector>

#include "base/error.hpp"
#include "output/dense_report.hpp"

namespace laneway::bench {
namespace {

using Bytes = std::vector<std::byte>;

std::vector<std::byte> sized(std::int64_t bytes) {
  return Bytes(static_cast<std::size_t>(bytes));
}

/// What all ranks contribute, and what they would have received: carried out here, block by block.
struct Everybody {
  explicit Everybody(const DenseCase& given) : dense(given) {
    for (Rank rank = 0; rank < dense.ranks; ++rank) {
      send.push_back(sized(dense.send_bytes(rank)));
      receive.push_back(sized(dense.receive_bytes(rank)));
      dense.fill(rank, send.back(), receive.back(), 5);
    }
  }

  void move_blocks(bool same_for_all) {
    for (Rank to = 0; to < dense.ranks; ++to)
      for (Rank from = 0; from < dense.ranks; ++from) {
        const DenseBlocks out = blocks_of(dense, from);
        const DenseBlocks in = blocks_of(dense, to);
        const auto bytes = static_cast<std::size_t>(in.receive_counts[static_cast<std::size_t>(from)]);
        ASSERT_EQ(bytes, static_cast<std::size_t>(out.send_counts[static_cast<std::size_t>(to)]));
        const int begin = same_for_all ? 0 : out.send_displacements[static_cast<std::size_t>(to)];
        if (bytes > 0)
          std::memcpy(
              receive[static_cast<std::size_t>(to)].data() + in.receive_displacements[static_cast<std::size_t>(from)],
              send[static_cast<std::size_t>(from)].data() + begin, bytes);
      }
  }

  [[nodiscard]] std::vector<double> sums() const {
    std::vector<double> total(static_cast<std::size_t>(dense.elements()));
    for (const Bytes& own : send)
      for (std::size_t i = 0; i < total.size(); ++i) {
        double value = 0;
        std::memcpy(&value, own.data() + i * 8, 8);
        total[i] += value;
      }
    return total;
  }

  DenseCase dense;
  std::vector<Bytes> send;
  std::vector<Bytes> receive;
};

TEST(DenseCase, KnowsWhatArrivesAndWhatDoesNot) {
  for (const DenseKind kind :
       {DenseKind::alltoall, DenseKind::alltoallv, DenseKind::allgather, DenseKind::gather, DenseKind::scatter}) {
    Everybody all({.kind = kind, .bytes = 13, .ranks = 5, .root = 2});
    all.move_blocks(kind == DenseKind::allgather);
    for (Rank rank = 0; rank < 5; ++rank) {
      Bytes& found = all.receive[static_cast<std::size_t>(rank)];
      EXPECT_TRUE(all.dense.arrived(rank, found, 5)) << name(kind);
      if (found.empty()) continue;
      EXPECT_FALSE(all.dense.arrived(rank, found, 6)) << "of another run: " << name(kind);
      found.back() ^= std::byte{1};
      EXPECT_FALSE(all.dense.arrived(rank, found, 5)) << "the last bit: " << name(kind);
    }
  }
}

TEST(DenseCase, KnowsSumsExactly) {
  for (const DenseKind kind : {DenseKind::allreduce, DenseKind::reduce, DenseKind::reduce_scatter}) {
    Everybody all({.kind = kind, .bytes = 100, .ranks = 3, .root = 1});
    const std::vector<double> total = all.sums();
    ASSERT_EQ(total.size(), 13U) << "whole elements";
    std::int64_t first = 0;
    for (Rank rank = 0; rank < 3; ++rank) {
      Bytes& found = all.receive[static_cast<std::size_t>(rank)];
      const bool is_part = kind == DenseKind::reduce_scatter;
      if (!found.empty()) std::memcpy(found.data(), total.data() + (is_part ? first : 0), found.size());
      first += all.dense.part(rank);
      EXPECT_TRUE(all.dense.arrived(rank, found, 5)) << name(kind);
      if (found.empty()) continue;
      double least_more = 0;
      std::memcpy(&least_more, found.data(), 8);
      least_more += 1;
      std::memcpy(found.data(), &least_more, 8);
      EXPECT_FALSE(all.dense.arrived(rank, found, 5)) << "counted twice: " << name(kind);
    }
    EXPECT_EQ(first, 13) << "parts are all there is";
  }
}

TEST(DenseCase, BusiestNode) {
  const Nodes uneven = make_nodes(std::vector<Rank>{0, 0, 0, 1, 2, 2});  // 3, 1 and 2 ranks
  const auto busiest = [&](DenseKind kind, Rank root = 0) {
    return DenseCase{.kind = kind, .bytes = 80, .ranks = 6, .root = root}.busiest_bytes(uneven).value_or(-1);
  };
  EXPECT_EQ(busiest(DenseKind::alltoall), 80 * 3 * 3);
  EXPECT_EQ(busiest(DenseKind::allgather), 80 * 5) << "into the node of one rank";
  EXPECT_EQ(busiest(DenseKind::allreduce), 2 * 80 * 2 / 3);
  EXPECT_EQ(busiest(DenseKind::bcast), 80);
  EXPECT_EQ(busiest(DenseKind::reduce), 80);
  EXPECT_EQ(busiest(DenseKind::reduce_scatter), 80 * 5 / 6);
  EXPECT_EQ(busiest(DenseKind::gather), 80 * 3);
  EXPECT_EQ(busiest(DenseKind::scatter, 3), 80 * 5);
  EXPECT_EQ(busiest(DenseKind::barrier), -1);
  EXPECT_FALSE(
      (DenseCase{.kind = DenseKind::bcast, .bytes = 8, .ranks = 2}).busiest_bytes(make_nodes(std::vector<Rank>{0, 0})));
}

TEST(DenseCase, NamesAreThoseOfMpi) {
  for (const DenseKind kind : dense_kinds()) EXPECT_EQ(parse_dense_kind(name(kind)), kind);
  EXPECT_THROW((void)parse_dense_kind("alltoallx"), Error);
}

DenseResult timed(const char* candidate, bool is_of_mpi, std::vector<double> samples) {
  DenseResult result;
  result.candidate = candidate;
  result.is_of_mpi = is_of_mpi;
  result.samples = std::move(samples);
  return result;
}

TEST(DenseReport, ComparesWithTheFastestOfMpi) {
  DenseReport report;
  report.dense = {.kind = DenseKind::bcast, .bytes = 1000, .ranks = 2};
  report.nodes = make_nodes(std::vector<Rank>{0, 1});
  report.goodput = 1e6;
  report.results = {timed("mpi", true, {4, 4, 4}), timed("mpi:chain", true, {2, 4, 2}), timed("auto", false, {1, 2, 1}),
                    timed("wrong", true, {})};
  evaluate(report);
  ASSERT_NE(report.best_of_mpi(), nullptr);
  EXPECT_EQ(report.best_of_mpi()->candidate, "mpi:chain");
  EXPECT_DOUBLE_EQ(report.results[2].ratio->median, 0.5);
  EXPECT_DOUBLE_EQ(report.limit().value(), 1e-3);
  EXPECT_FALSE(report.results[3].times);
}

}  // namespace
}  // namespace laneway::bench
