#include "transport/p2p.hpp"

#include <algorithm>
#include <climits>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/simulated.hpp"

namespace laneway {

void throw_mpi_error(int code, const char* call) {
  char text[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw Error(ErrorKind::mpi, std::string(call) + ": " + text);
}

namespace {

/// A datatype of `bytes` contiguous bytes where they do not fit into an int count; MPI_DATATYPE_NULL where they do.
class LargeType {
 public:
  explicit LargeType(std::int64_t bytes) {
    if (bytes <= INT_MAX) return;
    constexpr std::int64_t chunk = 1 << 30;
    MPI_Datatype chunk_type = MPI_DATATYPE_NULL;
    MPI_Datatype chunks = MPI_DATATYPE_NULL;
    check_mpi(MPI_Type_contiguous(static_cast<int>(chunk), MPI_BYTE, &chunk_type), "MPI_Type_contiguous");
    check_mpi(MPI_Type_contiguous(static_cast<int>(bytes / chunk), chunk_type, &chunks), "MPI_Type_contiguous");
    int lengths[2] = {1, static_cast<int>(bytes % chunk)};
    MPI_Aint displacements[2] = {0, static_cast<MPI_Aint>(bytes / chunk * chunk)};
    MPI_Datatype types[2] = {chunks, MPI_BYTE};
    check_mpi(MPI_Type_create_struct(2, lengths, displacements, types, &type_), "MPI_Type_create_struct");
    check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
    MPI_Type_free(&chunks);
    MPI_Type_free(&chunk_type);
  }
  ~LargeType() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
  }
  LargeType(const LargeType&) = delete;
  LargeType& operator=(const LargeType&) = delete;

  [[nodiscard]] MPI_Datatype get() const { return type_; }

 private:
  MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Messages up to this size leave the sender at once in every MPI library.
constexpr std::int64_t short_bytes = 4096;

/// Sends up to this size, and all simulated ones, are nonblocking rather than persistent. Open MPI sends up to 256
/// bytes inline, without a request, in half the time that starting a persistent one takes, but larger ones more slowly;
/// elsewhere a nonblocking send of a short message takes a little less time than a persistent one.
#ifdef OPEN_MPI
constexpr std::int64_t inline_send_bytes = 256;
#else
constexpr std::int64_t inline_send_bytes = short_bytes;
#endif

/// Bytes that a receive of `bytes` claims. SMPI has a second queue, for receives that are shorter than what is under
/// way when it is sent, and gives a short message to a longer receive that was posted later but waits in the first
/// queue. With receives that are all so long there is one queue, in order. Only what was sent is written.
std::int64_t claimed_bytes(std::int64_t bytes) {
  return simulated ? std::max(bytes, simulated_eager_bytes()) : bytes;
}

class P2PEndpoint final : public Endpoint {
 public:
  P2PEndpoint(MPI_Comm comm, int tag_base, std::span<const Message> messages) : comm_(comm) {
    one_by_one_ = messages.size() <= 2 && std::all_of(messages.begin(), messages.end(), [](const Message& message) {
                    return message.bytes <= short_bytes;
                  });
    requests_.reserve(messages.size());
    starts_.reserve(messages.size());
    for (const Message& message : messages) {
      starts_.push_back({0, static_cast<int>(std::min<std::int64_t>(message.bytes, INT_MAX)), message.peer,
                         tag_base + message.channel, message.data});
      if (message.is_send && message.bytes <= (simulated ? INT_MAX : inline_send_bytes)) {
        requests_.push_back(MPI_REQUEST_NULL);
        continue;
      }
      const std::int64_t bytes = message.is_send ? message.bytes : claimed_bytes(message.bytes);
      const LargeType large(bytes);
      const bool is_large = large.get() != MPI_DATATYPE_NULL;
      const MPI_Datatype type = is_large ? large.get() : MPI_BYTE;
      const int count = is_large ? 1 : static_cast<int>(bytes);
      const int tag = tag_base + message.channel;
      MPI_Request request = MPI_REQUEST_NULL;
      if (message.is_send)
        check_mpi(MPI_Send_init(message.data, count, type, message.peer, tag, comm, &request), "MPI_Send_init");
      else
        check_mpi(MPI_Recv_init(message.data, count, type, message.peer, tag, comm, &request), "MPI_Recv_init");
      requests_.push_back(request);
    }
    for (std::size_t m = messages.size(); m-- > 0;)
      if (requests_[m] != MPI_REQUEST_NULL) starts_[m].run = 1 + (m + 1 < messages.size() ? starts_[m + 1].run : 0);
  }

  void advance() override {
    int flag = 0;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm_, &flag, MPI_STATUS_IGNORE), "MPI_Iprobe");
  }

  ~P2PEndpoint() override {
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  P2PEndpoint(const P2PEndpoint&) = delete;
  P2PEndpoint& operator=(const P2PEndpoint&) = delete;

  void start(int first, int count) override {
    const int end = first + count;
    for (int next = first; next < end;) {
      const auto at = static_cast<std::size_t>(next);
      const Start& from_here = starts_[at];
      const int run = std::min(from_here.run, end - next);
      if (run > 1 && !one_by_one_) {
        check_mpi(MPI_Startall(run, &requests_[at]), "MPI_Startall");
        next += run;
        continue;
      }
      if (run > 0) {
        check_mpi(MPI_Start(&requests_[at]), "MPI_Start");
      } else {
        check_mpi(
            MPI_Isend(from_here.data, from_here.bytes, MPI_BYTE, from_here.peer, from_here.tag, comm_, &requests_[at]),
            "MPI_Isend");
      }
      ++next;
    }
  }

  int poll(std::span<int> completed) override {
    int n = 0;
    check_mpi(MPI_Testsome(size(), requests_.data(), &n, completed.data(), MPI_STATUSES_IGNORE), "MPI_Testsome");
    return n == MPI_UNDEFINED ? 0 : n;
  }

  int wait_some(std::span<int> completed) override {
    int index = MPI_UNDEFINED;
    const double begin = MPI_Wtime();
    check_mpi(MPI_Waitany(size(), requests_.data(), &index, MPI_STATUS_IGNORE), "MPI_Waitany");
    if (simulated && MPI_Wtime() > begin) pass(simulated_costs().turn);
    if (index == MPI_UNDEFINED) return 0;
    completed[0] = index;
    return 1;
  }

  bool test_all() override {
    int flag = 0;
    check_mpi(MPI_Testall(size(), requests_.data(), &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
    return flag != 0;
  }

  void wait_all() override {
    if (!one_by_one_)
      check_mpi(MPI_Waitall(size(), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
    else
      for (MPI_Request& request : requests_) check_mpi(MPI_Wait(&request, MPI_STATUS_IGNORE), "MPI_Wait");
  }

 private:
  struct Start {
    int run;  // persistent requests in a row from here on; 0 for an inline send, which alone needs the rest
    int bytes;
    Rank peer;
    int tag;
    const std::byte* data;
  };

  [[nodiscard]] int size() const { return static_cast<int>(requests_.size()); }

  MPI_Comm comm_;
  bool one_by_one_;  // two short messages take less time so than in one call for both
  std::vector<MPI_Request> requests_;
  std::vector<Start> starts_;  // by message
};

}  // namespace

std::unique_ptr<Endpoint> P2PTransport::bind(std::span<const Message> messages) {
  return std::make_unique<P2PEndpoint>(comm_, tag_base_, messages);
}

}  // namespace laneway
