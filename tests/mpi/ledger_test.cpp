// What is made is given back: every form of every family, by an account of what the library asks of MPI.
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "every_form.hpp"
#include "mpi_ledger.hpp"
#include "setting.hpp"
#include "support.hpp"
#include "system_limits.hpp"

namespace laneway::test {
namespace {

class LedgerTest : public MpiTest {};

MPI_Comm duplicate(MPI_Comm comm = MPI_COMM_WORLD) {
  MPI_Comm copy = MPI_COMM_NULL;
  PMPI_Comm_dup(comm, &copy);
  return copy;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text + "; ";
  return all;
}

/// On a communicator of its own, which is freed at once.
void run(const ObjectForm& form, bool use) {
  MPI_Comm comm = duplicate();
  form.run(comm, use);
  PMPI_Comm_free(&comm);
}

/// How often an object is made and freed where growth is looked for.
int turns() {
  const char* const asked = std::getenv("LANEWAY_TEST_TURNS");
  return asked != nullptr ? std::atoi(asked) : 2;
}

TEST_F(LedgerTest, NothingIsLeftOfAnyForm) {
  // As it is, and on two nodes, of which one has one rank.
  const std::string two_nodes = "ranks:1," + std::to_string(std::max(1, size() - 1));
  for (const bool split : {false, true}) {
    std::optional<Setting> setting;
    if (split && size() > 1) setting.emplace("LANEWAY_MACHINE", two_nodes);
    for (const ObjectForm& form : every_form()) {
      for (int warm = 0; warm < 3; ++warm) run(form, warm % 2 == 0);
      const auto before = Ledger::made();
      for (int turn = 0; turn < turns(); ++turn) {
        run(form, true);
        run(form, false);
      }
      PMPI_Barrier(MPI_COMM_WORLD);
      for (const auto& [what, now] : Ledger::made()) {
        const std::int64_t grown = now - (before.contains(what) ? before.at(what) : 0);
        // Communicators and what goes with them are freed when the next ones are made.
        EXPECT_LE(grown, what == "descriptors" || what == "mappings" ? 1 : 2) << what << ": " << form.name;
      }
      EXPECT_EQ(joined(Ledger::faults()), "") << form.name;
    }
  }
  EXPECT_EQ(joined(Ledger::unreceived()), "");
  EXPECT_GT(Ledger::freed(), static_cast<std::int64_t>(every_form().size()));
}

/// The program's own may be there at the same time, and would be mixed up with it.
TEST_F(LedgerTest, NothingIsUnderWayOnTheUsersCommunicator) {
  for (const ObjectForm& form : every_form()) {
    MPI_Comm comm = duplicate();
    form.run(comm, true);
    EXPECT_EQ(joined(Ledger::under_way()), "") << form.name;
    PMPI_Comm_free(&comm);
  }
}

/// Ranks free what is theirs when they like.
TEST_F(LedgerTest, FreedInOppositeOrdersWhereFreesSynchronise) {
  Ledger::let_frees_synchronise(true);
  for (const ObjectForm& form : every_form()) {
    if (!form.make) continue;
    for (int turn = 0; turn < 3; ++turn) {
      std::array<MPI_Comm, 2> comms = {duplicate(), duplicate()};
      std::array<std::function<void()>, 2> frees = {form.make(comms[0]), form.make(comms[1])};
      for (MPI_Comm& comm : comms) PMPI_Comm_free(&comm);
      const auto first = static_cast<std::size_t>(rank() % 2);
      frees[first]();
      frees[1 - first]();
      MPI_Comm same = duplicate();
      frees = {form.make(same), form.make(same)};
      frees[first]();
      frees[1 - first]();
      PMPI_Comm_free(&same);
    }
  }
  Ledger::let_frees_synchronise(false);
}

/// More communicators than MPI libraries have contexts, none of which is of the same ranks as the last one.
TEST_F(LedgerTest, CommunicatorsOfEverOtherRanks) {
  const int most = is_mpich() ? 300 : 1000;
  for (int turn = 0; turn < most; ++turn) {
    MPI_Comm part = MPI_COMM_NULL;
    PMPI_Comm_split(MPI_COMM_WORLD, (turn >> (rank() % 8)) & 1, rank() ^ turn, &part);
    int value = 1, sum = 0;
    EXPECT_MPI(LNW_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, part));
    PMPI_Comm_free(&part);
    EXPECT_GE(sum, 1);
  }
  EXPECT_LT(Ledger::made().at("communicators"), 300);
}

/// Of all that a call makes of a user's datatypes, each in turn cannot be made, on all ranks.
TEST_F(LedgerTest, DatatypesAreFreedWhereALaterOneCannotBeMade) {
  // Backward, so that Open MPI gets others in their place.
  MPI_Datatype once = MPI_DATATYPE_NULL, backward = MPI_DATATYPE_NULL;
  PMPI_Type_create_hvector(3, 1, -8, MPI_INT, &once);
  PMPI_Type_create_resized(once, -16, 24, &backward);
  PMPI_Type_commit(&backward);
  const std::vector<int> ones(static_cast<std::size_t>(size()), 1);
  std::vector<int> all(ones.size()), places;
  std::iota(all.begin(), all.end(), 0);
  std::vector<MPI_Aint> wide_places;
  for (int i = 0; i < size(); ++i) wide_places.push_back(places.emplace_back(16 + 24 * i));
  const std::vector<MPI_Datatype> types(ones.size(), backward);
  const std::vector<std::byte> sent(24 * ones.size());
  std::vector<std::byte> received(sent.size());
  const Info own(Hints{{"lnw_collective", "alltoallw:mpi"}});
  const std::vector<std::function<int(MPI_Comm, LNW_Request*)>> calls = {
      [&](MPI_Comm comm, LNW_Request* request) {
        return LNW_Alltoallw_init(sent.data(), ones.data(), places.data(), types.data(), received.data(), ones.data(),
                                  places.data(), types.data(), comm, own.get(), request);
      },
      [&](MPI_Comm comm, LNW_Request* request) {
        return LNW_Ialltoallw(sent.data(), ones.data(), places.data(), types.data(), received.data(), ones.data(),
                              places.data(), types.data(), comm, request);
      },
      [&](MPI_Comm comm, LNW_Request* request) {
        return LNW_Ineighbor_alltoallw(sent.data(), ones.data(), wide_places.data(), types.data(), received.data(),
                                       ones.data(), wide_places.data(), types.data(), comm, request);
      }};
  int refused = 0;
  for (std::size_t c = 0; c < calls.size(); ++c)
    for (int nth = 0; nth <= 2 * size() + 2; ++nth) {
      MPI_Comm comm = c == 2 ? MPI_COMM_NULL : duplicate();
      if (c == 2)
        PMPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size(), all.data(), MPI_UNWEIGHTED, size(), all.data(),
                                        MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
      PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
      const auto before = Ledger::made();
      Ledger::refuse_datatype(nth);
      LNW_Request request = LNW_REQUEST_NULL;
      int code = calls[c](comm, &request);
      Ledger::refuse_datatype(0);
      refused += code != MPI_SUCCESS ? 1 : 0;
      // A call that starts later keeps datatypes, and one that starts at once does not: where the library's own
      // communicator is complete on some ranks only, only the others are refused. They call again.
      const int failed = code != MPI_SUCCESS ? 1 : 0;
      int failures = 0;
      PMPI_Allreduce(&failed, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
      if (failed != 0 && failures < size()) EXPECT_MPI(code = calls[c](comm, &request));
      if (code == MPI_SUCCESS && c != 0) EXPECT_MPI(LNW_Wait(&request, MPI_STATUS_IGNORE));
      if (code == MPI_SUCCESS && c == 0) EXPECT_MPI(LNW_Request_free(&request));
      const auto kept = [](const auto& made) { return made.contains("datatypes") ? made.at("datatypes") : 0; };
      PMPI_Comm_free(&comm);  // with what its plans keep
      // What the first call learns of the datatype comes with handles of MPI's that are not in the account.
      if (nth > 0) {
        EXPECT_EQ(kept(Ledger::made()), kept(before)) << "call " << c << ", refused " << nth;
      }
    }
  EXPECT_GT(refused, 0);
  PMPI_Type_free(&once);
  PMPI_Type_free(&backward);
}

/// Local, and without the other end.
TEST_F(LedgerTest, TagsAreGivenBack) {
  const TagLimit limit(4096);
  MPI_Comm comm = duplicate();
  const int other = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  EXPECT_MPI(LNW_Comm_prepare(comm));
  const Info messages(Hints{{"lnw_transport", "p2p"}, {"lnw_partition_message", "1"}});
  std::vector<int> sent(64, rank()), received(64, -1);
  for (int turn = 0; turn < 100; ++turn) {
    LNW_Request send = LNW_REQUEST_NULL, receive = LNW_REQUEST_NULL;
    EXPECT_MPI(LNW_Psend_init(sent.data(), 64, 1, MPI_INT, other, 0, comm, messages.get(), &send));
    EXPECT_MPI(LNW_Precv_init(received.data(), 1, 64, MPI_INT, before, 0, comm, messages.get(), &receive));
    EXPECT_MPI(LNW_Start(&receive));
    EXPECT_MPI(LNW_Start(&send));
    EXPECT_MPI(LNW_Pready_range(0, 63, send));
    EXPECT_MPI(LNW_Wait(&receive, MPI_STATUS_IGNORE));
    EXPECT_MPI(LNW_Wait(&send, MPI_STATUS_IGNORE));
    EXPECT_EQ(received, std::vector<int>(64, before));
    EXPECT_MPI(LNW_Request_free(&send));
    EXPECT_MPI(LNW_Request_free(&receive));
    std::fill(received.begin(), received.end(), -1);
  }
  // Of ends whose others are never made.
  for (int turn = 0; turn < 100; ++turn) {
    LNW_Channel channel = LNW_CHANNEL_NULL;
    EXPECT_MPI(LNW_Channel_create(comm, other, LNW_CHANNEL_SEND, 8, 1000, messages.get(), &channel));
    EXPECT_MPI(LNW_Channel_free(&channel));
  }
  PMPI_Comm_free(&comm);
}

/// A communicator on which two channels of 2,500 long segments to one rank do not fit.
struct RingOfFewTags {
  TagLimit limit{4096};
  MPI_Comm comm = duplicate();
  int other = (rank() + 1) % size();
  int before = (rank() + size() - 1) % size();
  Info messages{Hints{{"lnw_transport", "p2p"}}};

  RingOfFewTags() {
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    EXPECT_MPI(LNW_Comm_prepare(comm));
  }
  ~RingOfFewTags() { PMPI_Comm_free(&comm); }
  RingOfFewTags(const RingOfFewTags&) = delete;
  RingOfFewTags& operator=(const RingOfFewTags&) = delete;
};

TEST_F(LedgerTest, BothEndsHearThatThereAreNoTags) {
  const RingOfFewTags ring;
  MPI_Comm const comm = ring.comm;
  const int other = ring.other, before = ring.before;
  std::array<LNW_Channel, 4> channels{};
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_MPI(LNW_Channel_create(comm, other, LNW_CHANNEL_SEND, 2048, 2500, ring.messages.get(), &channels[2 * i]));
    EXPECT_MPI(
        LNW_Channel_create(comm, before, LNW_CHANNEL_RECEIVE, 2048, 2500, ring.messages.get(), &channels[2 * i + 1]));
  }
  void* data = nullptr;
  MPI_Count bytes = 0;
  int flag = 0;
  // The first whose receiver's word arrives takes the tags; which one that is differs from run to run.
  const auto is_refused = [](int code) {
    if (code == MPI_SUCCESS) return 0;
    EXPECT_NE(error_text(code).find("no more tags for messages from rank "), std::string::npos) << error_text(code);
    return 1;
  };
  std::array<int, 2> at_sender{}, at_receiver{}, told{};
  for (std::size_t i = 0; i < 2; ++i)
    at_sender.at(i) = is_refused(LNW_Channel_put(channels.at(2 * i), 0, &other, sizeof other));
  for (std::size_t i = 0; i < 2; ++i)
    at_receiver.at(i) = is_refused(LNW_Channel_wait(channels.at(2 * i + 1), 0, &data, &bytes));
  EXPECT_EQ(at_sender[0] + at_sender[1], 1);
  PMPI_Sendrecv(at_sender.data(), 2, MPI_INT, other, 0, told.data(), 2, MPI_INT, before, 0, comm, MPI_STATUS_IGNORE);
  EXPECT_EQ(at_receiver, told);
  for (LNW_Channel& channel : channels) EXPECT_MPI(LNW_Channel_free(&channel));
  // The tags of the first are free again, when both ends have heard that they have been freed.
  for (std::size_t i = 0; i < 2; ++i) {
    PMPI_Barrier(comm);
    EXPECT_MPI(LNW_Channel_create(comm, other, LNW_CHANNEL_SEND, 2048, 2500, ring.messages.get(), &channels[0]));
    EXPECT_MPI(LNW_Channel_create(comm, before, LNW_CHANNEL_RECEIVE, 2048, 2500, ring.messages.get(), &channels[1]));
    EXPECT_MPI(LNW_Channel_put(channels[0], 0, &other, sizeof other));
    EXPECT_MPI(LNW_Channel_wait(channels[1], 0, &data, &bytes));
    EXPECT_MPI(LNW_Channel_test_free(channels[0], 0, &flag));
    for (LNW_Channel* const channel : {&channels[0], &channels[1]}) EXPECT_MPI(LNW_Channel_free(channel));
  }
}

/// Who has heard that the other end has been freed gives back its tags, and its memory, all the same.
TEST_F(LedgerTest, EndThatHasHeardOfTheOthersEndLeavesNothing) {
  const RingOfFewTags ring;
  MPI_Comm const comm = ring.comm;
  const int other = ring.other, before = ring.before;
  for (int turn = 0; turn < 4; ++turn) {
    std::array<LNW_Channel, 2> channels{};
    void* data = nullptr;
    MPI_Count bytes = 0;
    // Two of so many tags do not fit.
    EXPECT_MPI(LNW_Channel_create(comm, other, LNW_CHANNEL_SEND, 2048, 2500, ring.messages.get(), &channels[0]));
    EXPECT_MPI(LNW_Channel_create(comm, before, LNW_CHANNEL_RECEIVE, 2048, 2500, ring.messages.get(), &channels[1]));
    EXPECT_MPI(LNW_Channel_put(channels[0], 0, &other, sizeof other));
    EXPECT_MPI(LNW_Channel_wait(channels[1], 0, &data, &bytes));
    EXPECT_MPI(LNW_Channel_release(channels[1], 0));
    EXPECT_MPI(LNW_Channel_free(&channels[0]));
    const int code = LNW_Channel_wait(channels[1], 1, &data, &bytes);
    EXPECT_NE(error_text(code).find(" has freed its end of the channel"), std::string::npos) << error_text(code);
    EXPECT_MPI(LNW_Channel_free(&channels[1]));
    // The sender hears of that when it makes the next one.
    PMPI_Sendrecv(nullptr, 0, MPI_INT, before, 0, nullptr, 0, MPI_INT, other, 0, comm, MPI_STATUS_IGNORE);
  }
}

/// One for the peer's process, and one for its memory.
TEST_F(LedgerTest, ManyChannelsHaveFewDescriptors) {
  MPI_Comm comm = duplicate();
  const int other = (rank() + 1) % size(), before = (rank() + size() - 1) % size();
  EXPECT_MPI(LNW_Comm_prepare(comm));
  const auto none = Ledger::made();
  std::vector<LNW_Channel> channels;
  for (int i = 0; i < 300; ++i) {
    EXPECT_MPI(LNW_Channel_create(comm, other, LNW_CHANNEL_SEND, 64, 1, MPI_INFO_NULL, &channels.emplace_back()));
    EXPECT_MPI(LNW_Channel_create(comm, before, LNW_CHANNEL_RECEIVE, 64, 1, MPI_INFO_NULL, &channels.emplace_back()));
  }
  for (std::size_t i = 0; i < channels.size(); i += 2) {
    EXPECT_MPI(LNW_Channel_put(channels[i], 0, &i, sizeof i));
    void* data = nullptr;
    MPI_Count bytes = 0;
    EXPECT_MPI(LNW_Channel_wait(channels[i + 1], 0, &data, &bytes));
    EXPECT_EQ(*static_cast<std::size_t*>(data), i);
  }
  const auto many = Ledger::made();
  EXPECT_LE(many.at("descriptors") - none.at("descriptors"), 4);
  EXPECT_LE(many.at("mappings") - none.at("mappings"), 2);
  for (LNW_Channel& channel : channels) EXPECT_MPI(LNW_Channel_free(&channel));
  PMPI_Barrier(comm);
  // A receiver keeps memory until it has heard that the sender does not use it.
  LNW_Channel last = LNW_CHANNEL_NULL;
  EXPECT_MPI(LNW_Channel_create(comm, other, LNW_CHANNEL_SEND, 0, 1, MPI_INFO_NULL, &last));
  EXPECT_MPI(LNW_Channel_free(&last));
  EXPECT_LE(Ledger::made().at("descriptors"), none.at("descriptors"));
  EXPECT_LE(Ledger::made().at("mappings"), none.at("mappings"));
  PMPI_Comm_free(&comm);
}

/// What this process has: resident memory, what is allocated from the heap, in KiB, and the objects of the account.
std::map<std::string, std::int64_t> possessions() {
  std::map<std::string, std::int64_t> all = Ledger::made();
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages >> pages;
  all["resident KiB"] = pages * sysconf(_SC_PAGESIZE) / 1024;
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
  const auto heap = mallinfo2();
  all["heap KiB"] = static_cast<std::int64_t>((heap.uordblks + heap.hblkhd) / 1024);
#endif
  return all;
}

/// Objects of one family, whose forms take turns.
struct Cycles {
  std::vector<const ObjectForm*> forms;
  MPI_Comm comm;
  int turn = 0;

  /// Ranks go together, or what waits for a rank that is late is taken for growth.
  void run(int n) {
    for (int i = 0; i < n; ++i, ++turn) {
      const auto at = static_cast<std::size_t>(turn) % (2 * forms.size());
      forms[at / 2]->run(comm, at % 2 == 0);
      if (i % 16 != 0) continue;
      PMPI_Barrier(comm);
      Ledger::forget_freed();
    }
    PMPI_Barrier(comm);
  }
};

/// How much more of it one half of the cycles may leave. Communicators are freed when the next ones are made.
std::int64_t allowed(const std::string& what, int cycles, const std::string& family) {
  constexpr std::int64_t anything = std::numeric_limits<std::int64_t>::max();
  if (what == "operators") return anything;
  // Open MPI 4.1 keeps 34 KB of each window that MPI_Accumulate was used on.
  if (!is_mpich() && family.starts_with("sparse rma") && what.ends_with(" KiB")) return anything;
  return what.ends_with(" KiB") ? 512 + cycles / 500 : 8;
}

/// A hundred thousand times of each: LANEWAY_TEST_CYCLES=100000, some minutes for each family.
TEST_F(LedgerTest, MadeAndFreedAgainAndAgain) {
#ifdef LANEWAY_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer keeps what is freed, and looks for what is not itself";
#endif
  const char* const asked = std::getenv("LANEWAY_TEST_CYCLES");
  const int few = is_mpich() && size() > 2 ? 20 : 100;
  // Fewer than 2,000 would count plans that trials keep in the second half.
  const int cycles = asked != nullptr ? std::atoi(asked) : long_tests() ? 2000 : few;
  std::map<std::string, std::vector<const ObjectForm*>> families;
  for (const ObjectForm& form : every_form()) families[form.family.empty() ? form.name : form.family].push_back(&form);
  for (const auto& [name, forms] : families) {
    Cycles cycle{forms, duplicate()};
    const double begin = PMPI_Wtime();
    // The first half brings pools of the MPI library, and of the allocator, to their size.
    cycle.run(cycles / 2);
    // What leaks grows in every half; a pool, or what is on its way, in one.
    std::map<std::string, std::int64_t> grown;
    for (int half = 0; half < 3; ++half) {
      const auto before = possessions();
      cycle.run(cycles - cycles / 2);
      grown = possessions();
      for (auto& [what, now] : grown) now -= before.contains(what) ? before.at(what) : 0;
      int much = 0;
      for (const auto& [what, more] : grown)
        if (more > allowed(what, cycles, name)) much = 1;
      PMPI_Allreduce(MPI_IN_PLACE, &much, 1, MPI_INT, MPI_MAX, cycle.comm);
      if (much == 0) break;
    }
    if (asked != nullptr) {
      std::printf("rank %d: %d of %s: %.0f s, resident %+ld KiB, heap %+ld KiB\n", rank(), cycles, name.c_str(),
                  PMPI_Wtime() - begin, static_cast<long>(grown["resident KiB"]), static_cast<long>(grown["heap KiB"]));
      std::fflush(stdout);
    }
    for (const auto& [what, more] : grown)
      EXPECT_LE(more, allowed(what, cycles, name)) << what << ": " << cycles << " of " << name;
    PMPI_Comm_free(&cycle.comm);
  }
}

}  // namespace
}  // namespace laneway::test
