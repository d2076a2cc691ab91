// Bags: random messages to any ranks in rounds, against lists of what every rank sends; threads; bad arguments.
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "laneway/laneway.hpp"
#include "support.hpp"

namespace laneway::test {
namespace {

class BagTest : public MpiTest {};

using Lists = std::map<int, std::vector<std::vector<int>>>;  // of messages, by source

/// Sizes from nothing to more than a bundle.
std::vector<int> message(std::uint64_t seed, int source, int number) {
  Random random(static_cast<std::uint32_t>(
      mix({seed, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(number), 77})));
  const int words = pick(random, 0, 60) == 0 ? 30000 : pick(random, 0, 3) == 0 ? 0 : pick(random, 1, 20);
  std::vector<int> data(static_cast<std::size_t>(words));
  for (int& word : data) word = pick(random, 0, 1 << 30);
  return data;
}

int count_of(std::uint64_t seed, int source) {
  Random random(static_cast<std::uint32_t>(mix({seed, static_cast<std::uint64_t>(source)})));
  return pick(random, 0, 3) == 0 ? 0 : pick(random, 1, 80);
}

int destination_of(std::uint64_t seed, int source, int number) {
  Random random(static_cast<std::uint32_t>(
      mix({seed, static_cast<std::uint64_t>(source), static_cast<std::uint64_t>(number), 5})));
  return pick(random, 0, 4) == 0 ? 0 : pick(random, 0, size() - 1);
}

Lists expected_in(std::uint64_t seed) {
  Lists lists;
  for (int source = 0; source < size(); ++source)
    for (int i = 0; i < count_of(seed, source); ++i)
      if (destination_of(seed, source, i) == rank()) lists[source].push_back(message(seed, source, i));
  return lists;
}

bool take(LNW_Bag bag, Lists& lists) {
  int source = -1, flag = -1;
  void* data = nullptr;
  MPI_Count bytes = -1;
  EXPECT_MPI(LNW_Bag_next(bag, &source, &data, &bytes, &flag));
  if (flag != 1) return false;
  std::vector<int> words(static_cast<std::size_t>(bytes) / sizeof(int));
  if (!words.empty()) std::memcpy(words.data(), data, static_cast<std::size_t>(bytes));
  lists[source].push_back(std::move(words));
  return true;
}

void send_all(LNW_Bag bag, std::uint64_t seed, Lists* taken) {
  for (int i = 0; i < count_of(seed, rank()); ++i) {
    const std::vector<int> data = message(seed, rank(), i);
    EXPECT_MPI(LNW_Bag_send(bag, destination_of(seed, rank(), i), data.data(),
                            static_cast<MPI_Count>(data.size() * sizeof(int))));
    if (taken != nullptr && i % 3 == 0) (void)take(bag, *taken);
  }
}

/// Odd rounds end by a nonblocking flush; in every third one, messages are taken while others are sent.
void run_round(LNW_Bag bag, int round, const std::string& where) {
  const auto seed = static_cast<std::uint64_t>(round) + 100;
  Lists taken;
  Lists* const early = round % 3 == 0 ? &taken : nullptr;
  send_all(bag, seed, early);
  if (round % 2 == 1) {
    LNW_Request request = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Bag_iflush(bag, &request));
    for (int flag = 0; flag == 0;) {
      EXPECT_MPI(LNW_Test(&request, &flag, MPI_STATUS_IGNORE));
      if (flag == 0 && early != nullptr) (void)take(bag, taken);
    }
  } else {
    EXPECT_MPI(LNW_Bag_flush(bag));
  }
  while (take(bag, taken)) {
  }
  EXPECT_TRUE(taken == expected_in(seed)) << where << ", round " << round;
}

TEST_F(BagTest, RandomRounds) {
  const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int first = 0;
  for (const std::string& machine : machines()) {
    setenv("LANEWAY_MACHINE", machine.c_str(), 1);
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (const Hints& hints : {Hints{{"lnw_bag_memory", "0"}}, Hints{{"lnw_progress", "wait"}}}) {
      const Info info(hints);
      LNW_Bag bag = LNW_BAG_NULL;
      EXPECT_MPI(LNW_Bag_create(comm, info.get(), &bag));
      if (bag == LNW_BAG_NULL) continue;
      for (int round = 0; round < effort(3); ++round) run_round(bag, first + round, machine);
      ++first;
      EXPECT_MPI(LNW_Bag_free(&bag));
      EXPECT_EQ(bag, LNW_BAG_NULL);
    }
    MPI_Comm_free(&comm);
  }
  unsetenv("LANEWAY_MACHINE");
}

TEST_F(BagTest, AnswersComeWithoutAFlush) {
  // Each rank asks the next one, which answers as it hears.
  LNW_Bag bag = LNW_BAG_NULL;
  EXPECT_MPI(LNW_Bag_create(MPI_COMM_WORLD, MPI_INFO_NULL, &bag));
  const int question = 1000 + rank();
  EXPECT_MPI(LNW_Bag_send(bag, (rank() + 1) % size(), &question, sizeof question));
  int answer = -1;
  bool asked = false;
  while (answer < 0 || !asked) {
    int source = -1, flag = 0;
    void* data = nullptr;
    MPI_Count bytes = 0;
    EXPECT_MPI(LNW_Bag_next(bag, &source, &data, &bytes, &flag));
    if (!flag) continue;
    const int value = *static_cast<int*>(data);
    if (value < 1000) {
      answer = value;
    } else {
      asked = true;
      const int said = value - 1000;
      EXPECT_MPI(LNW_Bag_send(bag, source, &said, sizeof said));
    }
  }
  EXPECT_EQ(answer, rank());
  EXPECT_MPI(LNW_Bag_free(&bag));
}

TEST_F(BagTest, TwoBagsAndMessagesThatNobodyTakes) {
  laneway::Bag first(MPI_COMM_WORLD), second(MPI_COMM_WORLD);
  for (int to = 0; to < size(); ++to) {
    first.send(to, std::array{rank(), 1});
    second.send(to, std::array{rank(), 2});
  }
  second.flush();
  int messages = 0;
  second.take<int>([&](int source, std::span<const int> data) {
    EXPECT_EQ(std::vector<int>(data.begin(), data.end()), (std::vector<int>{source, 2}));
    ++messages;
  });
  EXPECT_EQ(messages, size());
}

TEST_F(BagTest, BadArguments) {
  LNW_Bag bag = LNW_BAG_NULL;
  EXPECT_MPI(LNW_Bag_create(MPI_COMM_WORLD, MPI_INFO_NULL, &bag));
  const int data = 1;
  {
    const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    expect_error_class(LNW_Bag_send(bag, size(), &data, 4), MPI_ERR_RANK);
    expect_error_class(LNW_Bag_send(bag, 0, &data, -1), MPI_ERR_COUNT);
    expect_error_class(LNW_Bag_send(bag, 0, nullptr, 4), MPI_ERR_ARG);
    expect_error_class(LNW_Bag_next(bag, nullptr, nullptr, nullptr, nullptr), MPI_ERR_ARG);
  }
  EXPECT_MPI(LNW_Bag_send(bag, MPI_PROC_NULL, &data, 4));
  // One flush at a time. On one rank it may be over in the call that begins it.
  LNW_Request request = LNW_REQUEST_NULL, second = LNW_REQUEST_NULL;
  if (size() > 1) {
    const Handler handler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank() == 0) {
      EXPECT_MPI(LNW_Bag_iflush(bag, &request));
      expect_error_class(LNW_Bag_iflush(bag, &second), MPI_ERR_REQUEST);
      EXPECT_EQ(second, LNW_REQUEST_NULL);
      const int code = LNW_Bag_flush(bag);
      expect_error_class(code, MPI_ERR_REQUEST);
      EXPECT_NE(error_text(code).find("a flush of the bag is active already"), std::string::npos) << error_text(code);
    }
    MPI_Barrier(MPI_COMM_WORLD);  // until here the others have not begun
    if (rank() != 0) EXPECT_MPI(LNW_Bag_iflush(bag, &request));
    EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Bag_flush(bag));
  }
  EXPECT_MPI(LNW_Bag_free(&bag));
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  // One rank's hint is bad: no rank gets a bag.
  const Info info(Hints{{"lnw_bag_memory", rank() == 0 ? "much" : "1000"}});
  EXPECT_NE(LNW_Bag_create(comm, info.get(), &bag), MPI_SUCCESS);
  EXPECT_EQ(bag, LNW_BAG_NULL);
  MPI_Comm_free(&comm);
}

/// What a rank says it reserves is bounded by the hint, where that is more than the least.
TEST_F(BagTest, MemoryIsToldAndBounded) {
  constexpr long memory = 1 << 20;
  const Info info(Hints{{"lnw_bag_memory", std::to_string(memory)}});
  LNW_Bag bag = LNW_BAG_NULL;
  EXPECT_MPI(LNW_Bag_create(MPI_COMM_WORLD, info.get(), &bag));
  for (int i = 0; i < 20000; ++i) {
    const std::array<int, 4> data = {rank(), i, 0, 0};
    EXPECT_MPI(LNW_Bag_send(bag, (rank() + i) % size(), data.data(), sizeof data));
  }
  EXPECT_MPI(LNW_Bag_flush(bag));
  const auto told = [&](const char* key) {
    MPI_Info about = MPI_INFO_NULL;
    EXPECT_MPI(LNW_Bag_get_info(bag, &about));
    std::array<char, 64> text{};
    int flag = 0;
    MPI_Info_get(about, key, 63, text.data(), &flag);
    MPI_Info_free(&about);
    return flag != 0 ? std::strtol(text.data(), nullptr, 10) : -1;
  };
  EXPECT_GT(told("lnw_bag_memory"), memory / 8);
  EXPECT_LE(told("lnw_bag_memory"), memory);
  // And what has arrived in the flush: 20000 messages of 16 bytes, each with up to 14 more.
  EXPECT_LE(told("lnw_most_bytes"), told("lnw_bag_memory") + 2 * 20000 * 30);
  EXPECT_GT(told("lnw_most_bytes"), 0);
  int messages = 0;
  for (Lists lists; take(bag, lists); ++messages) {
  }
  EXPECT_EQ(messages, 20000);
  EXPECT_MPI(LNW_Bag_free(&bag));
}

TEST_F(BagTest, ThreadsSend) {
  int level = MPI_THREAD_SINGLE;
  MPI_Query_thread(&level);
  if (level != MPI_THREAD_MULTIPLE) GTEST_SKIP() << "SKIP: no MPI_THREAD_MULTIPLE";
  constexpr int threads = 3, each = 200;
  const Info info(Hints{{"lnw_bag_memory", "0"}});
  LNW_Bag bag = LNW_BAG_NULL;
  EXPECT_MPI(LNW_Bag_create(MPI_COMM_WORLD, info.get(), &bag));
  std::vector<std::thread> running;
  std::array<int, threads> failed{};
  for (int thread = 0; thread < threads; ++thread)
    running.emplace_back([&, thread] {
      for (int i = 0; i < each; ++i) {
        const std::array<int, 3> data = {rank(), thread, i};
        failed[static_cast<std::size_t>(thread)] +=
            LNW_Bag_send(bag, (i + thread) % size(), data.data(), sizeof data) != MPI_SUCCESS;
      }
    });
  std::map<std::pair<int, int>, int> last;  // of a source's thread
  int got = 0, out_of_order = 0;
  const auto take_one = [&] {
    int source = -1, flag = 0;
    void* data = nullptr;
    MPI_Count bytes = 0;
    EXPECT_MPI(LNW_Bag_next(bag, &source, &data, &bytes, &flag));
    if (!flag) return false;
    const int* const words = static_cast<int*>(data);
    int& before = last.try_emplace({words[0], words[1]}, -1).first->second;
    out_of_order += words[2] <= before || words[0] != source;
    before = words[2];
    ++got;
    return true;
  };
  for (int i = 0; i < 200; ++i) (void)take_one();
  for (std::thread& thread : running) thread.join();
  EXPECT_MPI(LNW_Bag_flush(bag));
  while (take_one()) {
  }
  EXPECT_EQ(failed, (std::array<int, threads>{}));
  EXPECT_EQ(out_of_order, 0);
  int all = 0;
  MPI_Allreduce(&got, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  EXPECT_EQ(all, threads * each * size());
  EXPECT_MPI(LNW_Bag_free(&bag));
}

}  // namespace
}  // namespace laneway::test
