// Control messages at their seams: another kind or size than expected, a receiver that has been freed, tags that are
// given back, a rank that fails while others wait, one that comes late.
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "communicator/control/control_comm.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/deferred_free.hpp"
#include "communicator/private_comm.hpp"
#include "mpi/tag_space.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

Bytes bytes_of(std::int64_t number) {
  Writer writer;
  writer.put(number);
  return writer.take();
}

/// Rank 0 sends to rank 1.
class ControlTest : public MpiTest {
 protected:
  void SetUp() override {
    MpiTest::SetUp();
    comm_ = PrivateComm::make();
    comm_->create(MPI_COMM_WORLD, nullptr, nullptr);
  }
  void TearDown() override {
    comm_->quiesce();
    comm_.reset();
    MpiTest::TearDown();
  }

  static void finish(ControlMessages& sent) {
    progress_until([&] { return sent.all_complete(); });
  }
  [[nodiscard]] bool has_come(int source, ControlComm::Tag kind) const {
    bool has_come = false;
    progress_until([&] { return (has_come = comm_->find(source, kind).has_value()); });
    return has_come;
  }
  /// A rank that waits for a message that does not come looks for failures meanwhile.
  void wait_for_nothing() const {
    (void)receive_control_message(*comm_, (rank() + 1) % size(), ControlComm::share_tag);
  }
  /// The text of what `step` throws, as one that all ranks complete or none.
  template <class Step>
  [[nodiscard]] std::string failure_in(const Step& step) const {
    std::string text;
    try {
      together(*comm_, step);
    } catch (const std::exception& error) {
      text = error.what();
    }
    return text;
  }

  std::shared_ptr<PrivateComm> comm_;
};

TEST_F(ControlTest, EachKindGoesToThoseThatTakeIt) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a message takes two ranks";
  ControlMessages sent(*comm_);
  if (rank() == 0) {
    sent.send(1, ControlComm::check_tag, bytes_of(7));
    for (const std::int64_t number : {1, 2, 3}) sent.send(1, ControlComm::handshake_tag, bytes_of(number));
  }
  if (rank() == 1) {
    EXPECT_TRUE(has_come(0, ControlComm::check_tag));
    std::vector<std::int64_t> handshakes;
    progress_until([&] {
      comm_->take_all<std::int64_t>(ControlComm::handshake_tag, [&](Rank source, std::int64_t number) {
        EXPECT_EQ(source, 0);
        handshakes.push_back(number);
      });
      return handshakes.size() == 3;
    });
    EXPECT_EQ(handshakes, (std::vector<std::int64_t>{1, 2, 3}));
    EXPECT_FALSE(comm_->find(MPI_ANY_SOURCE, ControlComm::answer_tag));
    // What nobody takes is there until somebody drops it.
    EXPECT_TRUE(comm_->find(0, ControlComm::check_tag));
    EXPECT_FALSE(comm_->drop_message(0, ControlComm::handshake_tag));
    EXPECT_TRUE(comm_->drop_message(0, ControlComm::check_tag));
    EXPECT_FALSE(comm_->find(MPI_ANY_SOURCE, ControlComm::check_tag));
  }
  finish(sent);
}

TEST_F(ControlTest, AnotherSizeIsAnErrorAndNothingIsLeftOfIt) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a message takes two ranks";
  ControlMessages sent(*comm_);
  if (rank() == 0) {
    sent.send(1, ControlComm::handshake_tag, Bytes(5));
    sent.send(1, ControlComm::handshake_tag, Bytes(80));
    sent.send(1, ControlComm::handshake_tag, bytes_of(4));
  }
  if (rank() == 1) {
    for (const char* const bytes : {"5 bytes", "80 bytes"}) {
      EXPECT_TRUE(has_come(0, ControlComm::handshake_tag));
      try {
        comm_->take_all<std::int64_t>(ControlComm::handshake_tag, [](Rank, std::int64_t) { FAIL(); });
        FAIL() << "a message of " << bytes << " has been taken for one of 8";
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::internal);
        EXPECT_NE(std::string(error.what()).find(bytes), std::string::npos) << error.what();
      }
    }
    EXPECT_TRUE(has_come(0, ControlComm::handshake_tag));
    EXPECT_EQ(comm_->find(0, ControlComm::handshake_tag)->as<std::int64_t>(), 4);
  }
  finish(sent);
}

TEST_F(ControlTest, LongMessagesAreTakenInOrderOrAsTheyCome) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a message takes two ranks";
  constexpr std::size_t large = 1 << 20;
  for (const bool in_order : {true, false}) {
    ControlMessages sent(*comm_), received(*comm_);
    if (rank() == 0)
      for (const std::size_t bytes : {large, std::size_t{1}, large + 1, std::size_t{0}})
        sent.send(1, ControlComm::bag_tag, Bytes(bytes, std::byte{42}));
    std::vector<std::size_t> sizes;
    if (rank() == 1)
      progress_until([&] {
        received.receive(ControlComm::bag_tag);
        while (const std::optional<MessageUnderWay> message = received.take(in_order)) {
          EXPECT_EQ(message->other, 0);
          EXPECT_EQ(message->data, Bytes(message->data.size(), std::byte{42}));
          sizes.push_back(message->data.size());
        }
        return sizes.size() == 4;
      });
    if (!in_order) std::ranges::sort(sizes);
    if (rank() == 1) {
      EXPECT_EQ(sizes, (in_order ? std::vector<std::size_t>{large, 1, large + 1, 0}
                                 : std::vector<std::size_t>{0, 1, large, large + 1}));
      EXPECT_TRUE(received.empty());
    }
    finish(sent);
    barrier_progressing(*comm_);
  }
}

TEST_F(ControlTest, QueuedMessagesWaitUntilTheyAreBegun) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a message takes two ranks";
  ControlMessages sent(*comm_);
  if (rank() == 0) {
    sent.queue(1, ControlComm::answer_tag, bytes_of(1));
    sent.queue(1, ControlComm::answer_tag, bytes_of(2));
    EXPECT_FALSE(sent.all_complete()) << "what is not begun is not complete";
  }
  barrier_progressing(*comm_);
  EXPECT_FALSE(comm_->find(0, ControlComm::answer_tag));
  barrier_progressing(*comm_);
  sent.begin_all();
  for (const std::int64_t number : {1, 2}) {
    if (rank() != 1) continue;
    EXPECT_EQ(receive_control_message(*comm_, 0, ControlComm::answer_tag), bytes_of(number));
  }
  finish(sent);
}

TEST_F(ControlTest, ARankThatFailsIsHeardByAllThatWait) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a rank alone waits for nobody";
  const std::string failure = failure_in([&] {
    if (rank() == 0) throw Error(ErrorKind::argument, "no luck");
    wait_for_nothing();
  });
  EXPECT_EQ(failure, rank() == 0 ? "no luck" : "rank 0 has failed in this call: no luck");
  EXPECT_TRUE(comm_->spoilt());
}

TEST_F(ControlTest, ALateRankHearsOfAFailureBeforeItCame) {
  if (size() < 2) GTEST_SKIP() << "SKIP: to be late takes two ranks";
  if (rank() == size() - 1) usleep(50000);
  const std::string failure = failure_in([&] {
    if (rank() == 0) throw std::bad_alloc();
    comm_->meet();
  });
  EXPECT_TRUE(rank() == 0 || failure == "rank 0 has failed in this call: out of memory") << failure;
}

TEST_F(ControlTest, ALateRankIsWaitedForAndMissesNothing) {
  for (int turn = 0; turn < 4; ++turn) {
    if (rank() == turn % size()) usleep(20000);
    const std::string failure = failure_in([&] {
      const std::vector<int> sum = reduce_progressing(std::vector<int>{rank() + turn, 1}, MPI_INT, MPI_SUM, *comm_);
      EXPECT_EQ(sum, (std::vector<int>{size() * (size() - 1) / 2 + size() * turn, size()}));
    });
    EXPECT_EQ(failure, "");
    EXPECT_FALSE(comm_->spoilt());
  }
}

/// Those who meet do not leave each other for the failure of a rank that they do not meet.
TEST_F(ControlTest, AMeetingEndsBeforeAFailureElsewhereIsHeard) {
  if (size() < 3) GTEST_SKIP() << "SKIP: a part of all ranks that meets takes three";
  bool has_met = false;
  const std::string failure = failure_in([&] {
    if (rank() == 0) throw Error(ErrorKind::argument, "no luck");
    std::vector<Rank> others;
    for (Rank other = 1; other < size(); ++other) others.push_back(other);
    if (rank() == 2) usleep(50000);
    comm_->meet(others, ControlComm::nonblocking_tag, false);
    has_met = true;
  });
  EXPECT_EQ(has_met, rank() > 0);
  EXPECT_NE(failure, "");
}

TEST_F(ControlTest, NothingIsLeftOfAStepThatHasFailed) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a message takes two ranks";
  constexpr std::size_t large = 1 << 20;  // not sent before somebody receives it
  const std::string failure = failure_in([&] {
    if (rank() != 0) wait_for_nothing();
    ControlMessages sent(*comm_);
    for (const ControlComm::Tag kind : {ControlComm::setup_tag, ControlComm::check_tag, ControlComm::bag_tag}) {
      sent.send(1, kind, Bytes(large));
      sent.send(1, kind, bytes_of(1));
    }
    throw Error(ErrorKind::argument, "no luck");
  });
  EXPECT_NE(failure, "");
  EXPECT_TRUE(comm_->is_doubtful());
  comm_->quiesce();
  EXPECT_FALSE(comm_->is_doubtful()) << "it can never be freed";
  PMPI_Barrier(MPI_COMM_WORLD);
  EXPECT_FALSE(look_for_message(comm_->get(), MPI_ANY_SOURCE, MPI_ANY_TAG));
  PMPI_Barrier(MPI_COMM_WORLD);
  EXPECT_EQ(failure_in([&] { comm_->meet(); }), "");
}

/// Sends that nobody receives any more, since their receiver has been freed.
class Freed final : public Resident {
 public:
  explicit Freed(const PrivateComm& comm) : rank_(comm.rank()), sent_(comm) {
    if (rank_ != 0) return;
    sent_.queue(1, ControlComm::answer_tag, Bytes(1 << 20));
    sent_.queue(1, ControlComm::handshake_tag, bytes_of(1));
  }
  [[nodiscard]] bool has_sent_all() override {
    sent_.begin_all();
    return sent_.all_complete();
  }
  [[nodiscard]] std::vector<Rank> peers() const override {
    return rank_ == 0 ? std::vector<Rank>{1} : std::vector<Rank>{};
  }
  [[nodiscard]] bool is_idle() const override { return true; }

 private:
  Rank rank_;
  ControlMessages sent_;
};

int communicators_freed = 0;

TEST_F(ControlTest, WhatComesAfterItsReceiverHasBeenFreedIsReceivedBeforeTheCommunicatorIsFreed) {
  if (size() < 2) GTEST_SKIP() << "SKIP: a message takes two ranks";
  int key = MPI_KEYVAL_INVALID;
  MPI_Comm_create_keyval(
      MPI_COMM_NULL_COPY_FN, [](MPI_Comm, int, void*, void*) { return communicators_freed++, MPI_SUCCESS; }, &key,
      nullptr);
  communicators_freed = 0;
  MPI_Comm_set_attr(comm_->get(), key, nullptr);
  auto freed = std::make_unique<Freed>(*comm_);
  comm_->set_resident(freed.get());
  comm_->keep_resident(std::move(freed));
  if (rank() == 0) usleep(20000);
  comm_.reset();
  int least = 0;
  for (int turn = 0; turn < 1000 && least == 0; ++turn) {
    advance_retired();
    usleep(100);
    if (turn % 100 != 99) continue;
    comm_ = PrivateComm::make();
    comm_->create(MPI_COMM_WORLD, nullptr, nullptr);
    PMPI_Allreduce(&communicators_freed, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  }
  EXPECT_EQ(least, 1) << "messages that nobody has received keep it from being freed";
  EXPECT_FALSE(look_for_message(comm_->get(), MPI_ANY_SOURCE, MPI_ANY_TAG));
  MPI_Comm_free_keyval(&key);
}

/// Against a list of which tags are taken.
TEST(TagSpaceTest, GivesOutNothingTwiceAndAllThatIsGivenBack) {
  constexpr int begin = 64, end = 400;
  TagSpace tags(begin, end);
  std::vector<bool> is_taken(end, false);
  std::vector<std::pair<int, int>> ranges;
  Random random(1);
  for (int turn = 0; turn < 5000; ++turn) {
    if (pick(random, 0, 1) == 0 && !ranges.empty()) {
      const auto at = ranges.begin() + pick(random, 0, static_cast<int>(ranges.size()) - 1);
      for (int tag = at->first; tag < at->first + at->second; ++tag) is_taken[static_cast<std::size_t>(tag)] = false;
      tags.give_back(at->first, at->second);
      ranges.erase(at);
      continue;
    }
    const int count = pick(random, 1, 60);
    int longest = 0;
    for (int tag = begin, run = 0; tag < end; ++tag) {
      run = is_taken[static_cast<std::size_t>(tag)] ? 0 : run + 1;
      longest = std::max(longest, run);
    }
    EXPECT_EQ(tags.has(count), longest >= count);
    const std::optional<int> first = tags.take(count);
    ASSERT_EQ(first.has_value(), longest >= count) << "in turn " << turn;
    if (!first) continue;
    for (int tag = *first; tag < *first + count; ++tag) {
      ASSERT_TRUE(tag >= begin && tag < end && !is_taken[static_cast<std::size_t>(tag)]);
      is_taken[static_cast<std::size_t>(tag)] = true;
    }
    ranges.emplace_back(*first, count);
  }
  for (const auto& [first, count] : ranges) tags.give_back(first, count);
  EXPECT_EQ(tags.take(end - begin), begin);
}

}  // namespace
}  // namespace laneway::test
