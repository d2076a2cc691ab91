// Random programs of sends and receives that repeat: streams, sizes, kinds of calls, orders, threads, late ranks. What
// each message must be follows from its stream and number. Arguments: the first seed, how many; or `nightly`, which
// begins with another seed each day, and how many; or `early` or `late`, when a call with a wildcard breaks the promise
// that LANEWAY_P2P is.
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string_view>
#include <thread>

#include "check.hpp"

namespace {

constexpr int most_bytes = 20000;

enum Style { persistent, nonblocking, blocking };
enum How { standard, ready_or_synchronous, derived };

struct Stream {
  int source, destination, tag;
  Style style;
  How how;
  bool is_long;
  int each;  // messages a round

  [[nodiscard]] std::uint32_t hash(std::uint32_t number, std::uint32_t i) const {
    std::uint32_t x =
        number * 2654435761U + i * 40503U + static_cast<std::uint32_t>(tag + 7 * source + 61 * destination);
    x ^= x >> 15;
    x *= 2246822519U;
    return x ^ (x >> 13);
  }
  [[nodiscard]] int bytes(std::uint32_t number) const {
    const std::uint32_t chosen = hash(number, 99991);
    if (style == persistent) number = 0;
    const int short_one = static_cast<int>(hash(number, 77) % 600) / 8 * 8;
    return is_long && (style == persistent || chosen % 4 == 0)
               ? 8190 + static_cast<int>(hash(number, 5) % 11000) / 8 * 8
               : short_one;
  }
  void fill(std::vector<unsigned char>& data, std::uint32_t number) const {
    for (int i = 0; i < bytes(number); ++i)
      data[static_cast<std::size_t>(i)] = static_cast<unsigned char>(hash(number, static_cast<std::uint32_t>(i)));
  }
};

/// Every other byte of twice as many.
MPI_Datatype every_other() {
  static const MPI_Datatype made = [] {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_create_resized(MPI_BYTE, 0, 2, &type);
    MPI_Type_commit(&type);
    return type;
  }();
  return made;
}

struct Transfer {
  int stream = 0;
  bool sends = false;
  std::uint32_t number = 0;
  std::vector<unsigned char> data = std::vector<unsigned char>(2 * most_bytes);
  MPI_Request request = MPI_REQUEST_NULL;
};

struct Program {
  std::mt19937 random, own;
  MPI_Comm comm;
  int rank, ranks;
  std::vector<Stream> streams;
  std::vector<std::vector<Transfer>> transfers;  // by stream, each message of a round
  std::vector<std::uint32_t> numbers;

  explicit Program(unsigned seed, MPI_Comm on) : random(seed), comm(on), rank(rank_in(on)), ranks(size_of(on)) {
    own.seed(seed * 131U + static_cast<unsigned>(rank));
    const auto draw = [&](unsigned n) { return static_cast<int>(random() % n); };
    const int count = 2 + draw(9);
    for (int s = 0; s < count; ++s) {
      Stream stream{draw(static_cast<unsigned>(ranks)),
                    0,
                    draw(3),
                    static_cast<Style>(draw(3)),
                    static_cast<How>(draw(3)),
                    draw(3) == 0,
                    1 + draw(2)};
      stream.destination = (stream.source + 1 + draw(static_cast<unsigned>(ranks) - 1)) % ranks;
      const bool known = std::ranges::any_of(streams, [&](const Stream& other) {
        return other.source == stream.source && other.destination == stream.destination && other.tag == stream.tag;
      });
      if (known) continue;
      streams.push_back(stream);
    }
    numbers.assign(streams.size(), 0);
    transfers.resize(streams.size());
    for (std::size_t s = 0; s < streams.size(); ++s) {
      const Stream& stream = streams[s];
      if (stream.source != rank && stream.destination != rank) continue;
      for (int k = 0; k < stream.each; ++k) {
        Transfer& transfer = transfers[s].emplace_back();
        transfer.stream = static_cast<int>(s);
        transfer.sends = stream.source == rank;
        if (stream.style != persistent) continue;
        const MPI_Datatype type = stream.how == derived ? every_other() : MPI_BYTE;
        if (transfer.sends)
          (stream.how == ready_or_synchronous ? MPI_Ssend_init : MPI_Send_init)(
              transfer.data.data(), stream.bytes(0), type, stream.destination, stream.tag, comm, &transfer.request);
        else
          MPI_Recv_init(transfer.data.data(), most_bytes, type, stream.source, stream.tag, comm, &transfer.request);
      }
    }
  }

  ~Program() {
    for (auto& of_stream : transfers)
      for (Transfer& transfer : of_stream)
        if (transfer.request != MPI_REQUEST_NULL) MPI_Request_free(&transfer.request);
  }

  void begin(Transfer& transfer) {
    const Stream& stream = streams[static_cast<std::size_t>(transfer.stream)];
    const MPI_Datatype type = stream.how == derived ? every_other() : MPI_BYTE;
    const int bytes = stream.bytes(transfer.number);
    if (transfer.sends) {
      stream.fill(transfer.data, transfer.number);
      if (stream.how == derived)
        for (int i = bytes - 1; i > 0; --i)
          transfer.data[static_cast<std::size_t>(2 * i)] = transfer.data[static_cast<std::size_t>(i)];
    } else {
      std::ranges::fill(transfer.data, 238);
    }
    if (stream.style == persistent) {
      MPI_Start(&transfer.request);
    } else if (!transfer.sends) {
      if (stream.style == nonblocking)
        MPI_Irecv(transfer.data.data(), most_bytes, type, stream.source, stream.tag, comm, &transfer.request);
    } else if (stream.style == nonblocking || stream.is_long) {
      (stream.how == ready_or_synchronous ? MPI_Issend : MPI_Isend)(
          transfer.data.data(), bytes, type, stream.destination, stream.tag, comm, &transfer.request);
    } else {
      MPI_Send(transfer.data.data(), bytes, type, stream.destination, stream.tag, comm);
    }
  }

  void check(const Transfer& transfer, MPI_Status& status) {
    if (transfer.sends) return;
    const Stream& stream = streams[static_cast<std::size_t>(transfer.stream)];
    const int bytes = stream.bytes(transfer.number);
    int elements = -1;
    int cancelled = -1;
    MPI_Get_elements(&status, stream.how == derived ? every_other() : MPI_BYTE, &elements);
    MPI_Test_cancelled(&status, &cancelled);
    CHECK(elements == bytes && cancelled == 0);
    CHECK(status.MPI_SOURCE == stream.source && status.MPI_TAG == stream.tag);
    const std::size_t step = stream.how == derived ? 2 : 1;
    int wrong = 0;
    for (int i = 0; i < bytes; ++i)
      wrong += transfer.data[static_cast<std::size_t>(i) * step] !=
               static_cast<unsigned char>(stream.hash(transfer.number, static_cast<std::uint32_t>(i)));
    CHECK(wrong == 0);
    CHECK(transfer.data[static_cast<std::size_t>(bytes) * step] == 238);
    if (stream.how == derived && bytes > 0) CHECK(transfer.data[1] == 238);
  }

  void complete(std::vector<Transfer*>& active) {
    std::ranges::shuffle(active, own);
    std::vector<MPI_Request> requests;
    for (const Transfer* transfer : active) requests.push_back(transfer->request);
    const int n = static_cast<int>(requests.size());
    std::vector<MPI_Status> statuses(requests.size() + 1);  // MPICH takes no null where nothing is active
    std::vector<int> indices(requests.size());
    const auto is_complete = [&](int i, MPI_Status& status) {
      Transfer& transfer = *active[static_cast<std::size_t>(i)];
      transfer.request = requests[static_cast<std::size_t>(i)];
      CHECK((transfer.request == MPI_REQUEST_NULL) ==
            (streams[static_cast<std::size_t>(transfer.stream)].style != persistent));
      check(transfer, status);
    };
    const auto all = [&] {
      for (int i = 0; i < n; ++i) is_complete(i, statuses[static_cast<std::size_t>(i)]);
    };
    int flag = 0;
    int count = 0;
    int index = 0;
    switch (own() % 6) {
      case 0:
        MPI_Waitall(n, requests.data(), statuses.data());
        return all();
      case 1:
        while (flag == 0) MPI_Testall(n, requests.data(), &flag, statuses.data());
        return all();
      case 2:
        for (int k = 0; k < n; ++k) {
          MPI_Waitany(n, requests.data(), &index, statuses.data());
          is_complete(index, statuses[0]);
        }
        MPI_Waitany(n, requests.data(), &index, statuses.data());
        CHECK(index == MPI_UNDEFINED);
        return;
      case 3:
        for (int left = n; left > 0; left -= count) {
          if (own() % 2 == 0)
            MPI_Waitsome(n, requests.data(), &count, indices.data(), statuses.data());
          else
            MPI_Testsome(n, requests.data(), &count, indices.data(), statuses.data());
          CHECK(count >= 0 && count <= left);
          for (int k = 0; k < count; ++k)
            is_complete(indices[static_cast<std::size_t>(k)], statuses[static_cast<std::size_t>(k)]);
        }
        return;
      case 4:
        for (int i = 0; i < n; ++i) {
          MPI_Wait(&requests[static_cast<std::size_t>(i)], statuses.data());
          is_complete(i, statuses[0]);
        }
        return;
      default:
        for (int i = 0; i < n; ++i) {
          for (flag = 0; flag == 0;)
            MPI_Request_get_status(requests[static_cast<std::size_t>(i)], &flag, statuses.data());
          check(*active[static_cast<std::size_t>(i)], statuses[0]);
          for (flag = 0; flag == 0;) MPI_Test(&requests[static_cast<std::size_t>(i)], &flag, statuses.data());
          is_complete(i, statuses[0]);
        }
    }
  }

  /// Blocks. Probes say what comes.
  void receive(Transfer& transfer) {
    const Stream& stream = streams[static_cast<std::size_t>(transfer.stream)];
    const MPI_Datatype type = stream.how == derived ? every_other() : MPI_BYTE;
    MPI_Message found = MPI_MESSAGE_NULL;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Status status;
    int flag = 0;
    const auto is_known = [&] {
      int elements = -1;
      MPI_Get_elements(&status, type, &elements);
      CHECK(elements == stream.bytes(transfer.number) && status.MPI_SOURCE == stream.source &&
            status.MPI_TAG == stream.tag);
    };
    switch (own() % 7) {
      case 0:
        MPI_Probe(stream.source, stream.tag, comm, &status);
        is_known();
        break;
      case 1:
        while (flag == 0) MPI_Iprobe(stream.source, stream.tag, comm, &flag, &status);
        is_known();
        break;
      case 2:
        MPI_Probe(MPI_ANY_SOURCE, stream.tag, comm, &status);
        CHECK(status.MPI_TAG == stream.tag);
        if (status.MPI_SOURCE == stream.source) is_known();
        break;
      case 3:
        MPI_Mprobe(stream.source, stream.tag, comm, &found, &status);
        is_known();
        MPI_Mrecv(transfer.data.data(), most_bytes, type, &found, &status);
        return check(transfer, status);
      case 4:
        while (flag == 0) MPI_Improbe(stream.source, stream.tag, comm, &flag, &found, MPI_STATUS_IGNORE);
        MPI_Imrecv(transfer.data.data(), most_bytes, type, &found, &request);
        MPI_Wait(&request, &status);
        return check(transfer, status);
      case 5: {
        // Where no other stream matches.
        const auto matches = [&](const Stream& other) { return other.destination == rank && other.tag == stream.tag; };
        if (std::ranges::count_if(streams, matches) != 1) break;
        if (own() % 2 == 0)
          MPI_Recv(transfer.data.data(), most_bytes, type, MPI_ANY_SOURCE, stream.tag, comm, &status);
        else
          MPI_Sendrecv(nullptr, 0, MPI_BYTE, MPI_PROC_NULL, 0, transfer.data.data(), most_bytes, type, MPI_ANY_SOURCE,
                       stream.tag, comm, &status);
        return check(transfer, status);
      }
      default:
        break;
    }
    MPI_Recv(transfer.data.data(), most_bytes, type, stream.source, stream.tag, comm, &status);
    check(transfer, status);
  }

  void cancel_one() {
    MPI_Barrier(comm);
    for (const Stream& stream : streams) {
      if (stream.destination != rank || own() % 2 == 0) continue;
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_Status status;
      int cancelled = 0;
      char byte = 0;
      MPI_Irecv(&byte, 1, MPI_BYTE, stream.source, stream.tag, comm, &request);
      MPI_Cancel(&request);
      MPI_Wait(&request, &status);
      MPI_Test_cancelled(&status, &cancelled);
      CHECK(cancelled == 1);
    }
    MPI_Barrier(comm);
  }

  void round() {
    if (own() % 8 == 0) usleep(static_cast<useconds_t>(own() % 300));
    std::vector<Transfer*> active;
    std::vector<Transfer*> late;
    // Each stream in its order, the streams mixed.
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < streams.size(); ++s) order.insert(order.end(), transfers[s].size(), s);
    std::ranges::shuffle(order, own);
    std::vector<std::size_t> next(streams.size(), 0);
    for (const std::size_t s : order) {
      Transfer& transfer = transfers[s][next[s]++];
      transfer.number = numbers[s]++;
      if (streams[s].style == blocking) {
        late.push_back(&transfer);
        continue;
      }
      begin(transfer);
      active.push_back(&transfer);
    }
    for (Transfer* transfer : late) {
      if (!transfer->sends) continue;
      begin(*transfer);
      if (transfer->request != MPI_REQUEST_NULL) active.push_back(transfer);
    }
    if (random() % 6 == 0) MPI_Barrier(comm);
    for (Transfer* transfer : late) {
      if (transfer->sends) continue;
      begin(*transfer);
      receive(*transfer);
    }
    complete(active);
    if (random() % 7 == 0) cancel_one();
  }
};

constexpr int repeated_tag = 4;

/// One message from the first rank to the last.
void repeat(MPI_Comm comm, int number) {
  const int last = size_of(comm) - 1;
  int value = number;
  if (rank_in(comm) == 0) CHECK(MPI_Send(&value, 1, MPI_INT, last, repeated_tag, comm) == MPI_SUCCESS);
  if (rank_in(comm) != last) return;
  value = -1;
  CHECK(MPI_Recv(&value, 1, MPI_INT, 0, repeated_tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS);
  CHECK(value == number);
}

/// A long buffered send returns before its receive, in a stream that has been handed over, too.
void buffer_both_ways(MPI_Comm comm) {
  const int rank = rank_in(comm);
  const int last = size_of(comm) - 1;
  if (rank != 0 && rank != last) return;
  std::vector<char> attached(2 * most_bytes + MPI_BSEND_OVERHEAD);
  std::vector<char> data(most_bytes, static_cast<char>(rank + 1));
  void* detached = nullptr;
  int bytes = 0;
  MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  for (const int count : {1, 2, 3, 4, 12000, 20000, 5}) {
    MPI_Bsend(data.data(), count, MPI_BYTE, last - rank, 6, comm);
    std::vector<char> come(most_bytes);
    MPI_Recv(come.data(), most_bytes, MPI_BYTE, last - rank, 6, comm, MPI_STATUS_IGNORE);
    CHECK(std::count(come.begin(), come.end(), static_cast<char>(last - rank + 1)) == count);
    MPI_Buffer_detach(&detached, &bytes);
    MPI_Buffer_attach(attached.data(), static_cast<int>(attached.size()));
  }
  MPI_Buffer_detach(&detached, &bytes);
}

void break_promise(MPI_Comm comm, bool early) {
  const bool receives = rank_in(comm) == size_of(comm) - 1;
  int flag = 0;
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  if (early && receives) {
    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, repeated_tag, comm, &request) == MPI_SUCCESS);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(comm);
  for (int i = 0; i < 6; ++i) repeat(comm, i);
  if (receives) {
    for (int i = 0; i < 2; ++i) {
      CHECK(MPI_Iprobe(0, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS);
      // A probe for one tag breaks no promise.
      CHECK(MPI_Iprobe(0, repeated_tag, comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0);
      CHECK(MPI_Iprobe(MPI_ANY_SOURCE, repeated_tag, comm, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag == 0);
      CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, repeated_tag, comm, &request) != MPI_SUCCESS);
      CHECK(MPI_Recv(&value, 1, MPI_INT, 0, MPI_ANY_TAG, comm, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    }
#ifdef LANEWAY_HAS_ISENDRECV
    CHECK(MPI_Isendrecv_replace(&value, 1, MPI_INT, 0, 0, 0, 0, comm, &request) != MPI_SUCCESS);
#endif
    // No message with this tag repeats.
    CHECK(MPI_Irecv(&value, 1, MPI_INT, MPI_ANY_SOURCE, repeated_tag + 1, comm, &request) == MPI_SUCCESS);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  MPI_Barrier(comm);
  repeat(comm, 6);
  buffer_both_ways(comm);
}

}  // namespace

int main(int argc, char** argv) {
  int level = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
  const std::string_view when = argc > 1 ? argv[1] : "";
  if (when == "early" || when == "late") {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    break_promise(comm, when == "early");
    MPI_Comm_free(&comm);
    const int status = verdict();
    MPI_Finalize();
    return status;
  }
  int first = argc > 1 ? std::atoi(argv[1]) : 0;
  int seeds = argc > 2 ? std::atoi(argv[2]) : 50;
  if (when == "nightly") {
    const char* const programs = std::getenv("LANEWAY_TEST_PROGRAMS");
    if (programs != nullptr) seeds = std::atoi(programs);
    first = static_cast<int>(std::time(nullptr) / 86400 % 10000) * 200000;
    MPI_Bcast(&first, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank_in(MPI_COMM_WORLD) == 0) std::printf("seeds %d to %d\n", first, first + seeds - 1);
  }
  for (int seed = first; seed < first + seeds && failures == 0; ++seed) {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    {
      Program program(static_cast<unsigned>(seed), comm);
      for (int round = 0; round < 14; ++round) {
        if (level >= MPI_THREAD_SERIALIZED && program.own() % 8 == 0)
          std::thread([&] { program.round(); }).join();
        else
          program.round();
      }
      if (failures != 0) std::printf("wrong: seed %d\n", seed);
    }
    MPI_Comm_free(&comm);
  }
  const int status = verdict();
  MPI_Finalize();
  return status;
}
