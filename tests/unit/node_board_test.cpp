// What ranks of a node write for each other in rounds of discovery, without MPI. Also run under ThreadSanitizer.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "algorithms/rendezvous/node_board.hpp"

namespace laneway {
namespace {

struct alignas(64) BoardLine {
  std::array<std::byte, 64> bytes{};
};

class Boards {
 public:
  explicit Boards(std::size_t members)
      : memory_(members * static_cast<std::size_t>(NodeBoard::bytes_of_rank()) / sizeof(BoardLine)) {
    std::vector<std::byte*> parts;
    for (std::size_t i = 0; i < members; ++i)
      parts.push_back(memory_.front().bytes.data() + i * static_cast<std::size_t>(NodeBoard::bytes_of_rank()));
    for (std::size_t i = 0; i < members; ++i) boards_.push_back(std::make_unique<NodeBoard>(parts, i));
  }
  NodeBoard& operator[](std::size_t member) { return *boards_[member]; }

 private:
  std::vector<BoardLine> memory_;
  std::vector<std::unique_ptr<NodeBoard>> boards_;
};

Bytes board_text(std::size_t member, std::int64_t round, std::size_t bytes) {
  Bytes data(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(member * 31 + static_cast<std::size_t>(round) * 7 + i);
  return data;
}

void expect_said(const NodeBoard::Posted& said, const Bytes& expected) {
  ASSERT_EQ(said.form, NodeBoard::Form::memory);
  EXPECT_EQ(Bytes(said.data.begin(), said.data.end()), expected);
}

TEST(NodeBoards, CarryWhatIsSaidAndTold) {
  Boards boards(3);
  for (std::int64_t round = 0; round < 3 * NodeBoard::rounds_at_once; ++round) {
    for (std::size_t member = 1; member < 3; ++member) {
      EXPECT_EQ(boards[0].said(member, round).form, NodeBoard::Form::none);
      const Bytes what = board_text(member, round, member == 1 ? 0 : static_cast<std::size_t>(NodeBoard::most_bytes));
      EXPECT_TRUE(boards[member].say(round, what));
      expect_said(boards[0].said(member, round), what);
      EXPECT_EQ(boards[member].scattered(round).form, NodeBoard::Form::none);
      EXPECT_TRUE(boards[0].put(member, round, board_text(member, round + 9, 100)));
      expect_said(boards[member].scattered(round), board_text(member, round + 9, 100));
    }
    for (std::size_t member = 0; member < 3; ++member) boards[member].complete(round);
  }
}

TEST(NodeBoards, WhatDoesNotFitGoesByMessage) {
  Boards boards(2);
  EXPECT_FALSE(boards[1].say(0, Bytes(static_cast<std::size_t>(NodeBoard::most_bytes) + 1)));
  EXPECT_EQ(boards[0].said(1, 0).form, NodeBoard::Form::message);
  EXPECT_FALSE(boards[0].put(1, 0, Bytes(static_cast<std::size_t>(NodeBoard::most_bytes) + 1)));
  EXPECT_EQ(boards[1].scattered(0).form, NodeBoard::Form::message);
}

TEST(NodeBoards, AnAreaIsFreeWhenItsOwnerHasCompletedAllRoundsThatUseIt) {
  Boards boards(2);
  const Bytes what = board_text(1, 1, 10);
  for (std::int64_t round = 0; round < NodeBoard::areas; ++round) {
    EXPECT_TRUE(boards[1].say(round, what));
    EXPECT_TRUE(boards[0].put(1, round, what));
  }
  // Round 0 is not over: what was told in it may still be read, and the same area is asked for.
  EXPECT_FALSE(boards[1].say(NodeBoard::areas, what));
  EXPECT_FALSE(boards[0].put(1, NodeBoard::areas, what));
  boards[1].complete(NodeBoard::areas);  // by messages, before round 0
  EXPECT_FALSE(boards[0].put(1, 2 * NodeBoard::areas, what));
  expect_said(boards[1].scattered(0), what);
  boards[1].complete(0);
  EXPECT_TRUE(boards[1].say(2 * NodeBoard::areas, what));
}

TEST(NodeBoards, ThreadsOfSeveralRanksAndRounds) {
  // Each rank has two threads, for even and odd rounds, as several requests may have.
  constexpr std::size_t members = 3;
  constexpr std::int64_t rounds = 3000;
  Boards boards(members);
  std::array<std::atomic<std::int64_t>, 2 * members> wrong{};
  const auto wait_for = [](auto&& look) {
    for (;;) {
      const NodeBoard::Posted said = look();
      if (said.form != NodeBoard::Form::none) return said;
      std::this_thread::yield();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t member = 0; member < members; ++member)
    for (std::int64_t parity = 0; parity < 2; ++parity)
      threads.emplace_back([&, member, parity] {
        std::atomic<std::int64_t>& faults = wrong[2 * member + static_cast<std::size_t>(parity)];
        for (std::int64_t round = parity; round < rounds; round += 2) {
          NodeBoard& board = boards[member];
          const auto bytes = static_cast<std::size_t>(round % 200);
          const auto check = [&](const NodeBoard::Posted& said, const Bytes& expected) {
            // A thread's rounds come one after another, and use other areas than the other's: all are free.
            if (said.form != NodeBoard::Form::memory || Bytes(said.data.begin(), said.data.end()) != expected) ++faults;
          };
          if (member != 0) {
            (void)board.say(round, board_text(member, round, bytes));
            check(wait_for([&] { return board.scattered(round); }), board_text(member, round + 1, bytes));
          } else {
            for (std::size_t other = 1; other < members; ++other)
              check(wait_for([&] { return board.said(other, round); }), board_text(other, round, bytes));
            for (std::size_t other = 1; other < members; ++other)
              (void)board.put(other, round, board_text(other, round + 1, bytes));
          }
          board.complete(round);
        }
      });
  for (std::thread& thread : threads) thread.join();
  for (const auto& faults : wrong) EXPECT_EQ(faults, 0);
}

}  // namespace
}  // namespace laneway
