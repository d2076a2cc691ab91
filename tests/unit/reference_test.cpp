#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "offline/reference.hpp"

namespace laneway {
namespace {

Memory memory(const std::string& text, std::int64_t first = 0) {
  Memory result{first, {}};
  for (char c : text) result.bytes.push_back(static_cast<std::byte>(c));
  return result;
}

std::string text(const Memory& memory) {
  std::string result;
  for (std::byte byte : memory.bytes) result += static_cast<char>(byte);
  return result;
}

Step message(StepKind kind, Rank peer, Span span, std::vector<int> after = {}) {
  Step step;
  step.kind = kind;
  step.peer = peer;
  step.span = span;
  step.after = std::move(after);
  return step;
}

std::string run(const std::vector<std::vector<Step>>& steps, std::vector<Memory>& received, bool rendezvous = false,
                std::uint64_t seed = 1) {
  std::vector<Plan> plans;
  for (const auto& s : steps) plans.push_back({static_cast<Rank>(plans.size()), 16, s});
  const std::vector<Memory> send(plans.size(), memory("abcdefgh"));
  received.assign(plans.size(), memory("........"));
  try {
    run_reference(plans, send, received, {seed, rendezvous});
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr Span sent_from(std::int64_t offset, std::int64_t bytes) {
  return {Buffer::send, offset, bytes};
}
constexpr Span received_at(std::int64_t offset, std::int64_t bytes) {
  return {Buffer::receive, offset, bytes};
}

TEST(Oracle, MovesEdgesInOrder) {
  Pattern pattern(2);
  pattern[0].out = {{1, {{-2, 2}, {0, 1}}}, {1, {{3, 2}}}, {0, {{0, 1}}}};
  pattern[0].in = {{0, {{3, 1}}}};
  pattern[1].in = {{0, {{0, 1}, {4, 2}}}, {0, {{5, 2}}}};
  const std::vector<Memory> send = {memory("xyabcdef", -2), memory("")};
  std::vector<Memory> receive = {memory("...."), memory(".......")};
  exchange(pattern, send, receive);
  EXPECT_EQ(text(receive[0]), "...a");
  EXPECT_EQ(text(receive[1]), "x...yde");  // the second edge overwrites the end of the first
}

TEST(Oracle, RefusesBytesOutsideTheBuffers) {
  Pattern pattern(1);
  pattern[0].out = {{0, {{2, 2}}}};
  pattern[0].in = {{0, {{0, 2}}}};
  const std::vector<Memory> send = {memory("abc")};
  std::vector<Memory> receive = {memory("..")};
  EXPECT_THROW(exchange(pattern, send, receive), Error);
}

TEST(Reference, MovesMessagesAndCopies) {
  Step copy;
  copy.from = Buffer::staging;
  copy.runs = {{1, 6, 1, 1, -3, 3}};
  copy.after = {0};
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    for (bool rendezvous : {false, true}) {
      std::vector<Memory> received;
      EXPECT_EQ(run({{message(StepKind::send, 1, sent_from(2, 4))},
                     {message(StepKind::receive, 0, {Buffer::staging, 0, 4}), copy}},
                    received, rendezvous, seed),
                "");
      EXPECT_EQ(text(received[0]), "........");
      EXPECT_EQ(text(received[1]), "f..e..d.");
    }
}

TEST(Reference, AChannelMatchesInStartOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Memory> received;
    EXPECT_EQ(
        run({{message(StepKind::send, 1, sent_from(0, 2)), message(StepKind::send, 1, sent_from(4, 2))},
             {message(StepKind::receive, 0, received_at(0, 2)), message(StepKind::receive, 0, received_at(2, 2))}},
            received, seed % 2 == 0, seed),
        "");
    EXPECT_EQ(text(received[1]), "abef....");
  }
}

/// Sends that are complete before their receives have started depend on buffering.
TEST(Reference, RendezvousGetsStuckWhereEagerDoesNot) {
  const std::vector<std::vector<Step>> steps = {
      {message(StepKind::send, 1, sent_from(0, 1)), message(StepKind::receive, 1, received_at(0, 1), {0})},
      {message(StepKind::send, 0, sent_from(1, 1)), message(StepKind::receive, 0, received_at(0, 1), {0})}};
  std::vector<Memory> received;
  EXPECT_EQ(run(steps, received, false), "");
  EXPECT_EQ(text(received[0]), "b.......");
  EXPECT_EQ(run(steps, received, true), "stuck: rank 0 step 0 (send) cannot complete");
}

TEST(Reference, ContradictionsAreNamed) {
  std::vector<Memory> received;
  EXPECT_EQ(run({{message(StepKind::send, 1, sent_from(0, 1))}, {}}, received),
            "nobody receives a message from rank 0 to rank 1");
  EXPECT_EQ(run({{}, {message(StepKind::receive, 0, received_at(0, 1))}}, received),
            "stuck: rank 1 step 0 (receive) cannot complete");
  EXPECT_EQ(run({{message(StepKind::send, 1, sent_from(0, 1))}, {message(StepKind::receive, 0, received_at(0, 2))}},
                received),
            "rank 0 step 0 (send) and rank 1 step 0 (receive) differ in size");
  EXPECT_NE(run({{message(StepKind::send, 1, sent_from(4, 5))}, {message(StepKind::receive, 0, received_at(0, 5))}},
                received),
            "");
}

/// Two receives into the same place: the result depends on the order of events, and the seeds show both.
TEST(Reference, SeedsShowRaces) {
  bool first = false;
  bool second = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<Memory> received;
    ASSERT_EQ(
        run({{message(StepKind::send, 1, sent_from(0, 1)), message(StepKind::send, 1, sent_from(1, 1))},
             {message(StepKind::receive, 0, received_at(0, 1)), message(StepKind::receive, 0, received_at(0, 1))}},
            received, false, seed),
        "");
    (text(received[1])[0] == 'a' ? first : second) = true;
  }
  EXPECT_TRUE(first);
  EXPECT_TRUE(second);
}

}  // namespace
}  // namespace laneway
