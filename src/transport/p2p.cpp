#include "transport/p2p.hpp"

#include <climits>
#include <string>
#include <vector>

#include "core/error.hpp"

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

/// Sends up to this size are nonblocking rather than persistent: Open MPI sends them inline, without a request, in half
/// the time that starting a persistent one takes; with MPICH both cost the same.
constexpr std::int64_t inline_send_bytes = 256;

class P2PEndpoint final : public Endpoint {
 public:
  P2PEndpoint(MPI_Comm comm, int tag_base, std::span<const Message> messages) : comm_(comm) {
    requests_.reserve(messages.size());
    for (const Message& message : messages) {
      inline_sends_.push_back(
          {message.data, message.is_send && message.bytes <= inline_send_bytes ? static_cast<int>(message.bytes) : -1,
           message.peer, tag_base + message.channel});
      if (inline_sends_.back().bytes >= 0) {
        requests_.push_back(MPI_REQUEST_NULL);
        continue;
      }
      const LargeType large(message.bytes);
      const bool is_large = large.get() != MPI_DATATYPE_NULL;
      const MPI_Datatype type = is_large ? large.get() : MPI_BYTE;
      const int count = is_large ? 1 : static_cast<int>(message.bytes);
      const int tag = tag_base + message.channel;
      MPI_Request request = MPI_REQUEST_NULL;
      if (message.is_send)
        check_mpi(MPI_Send_init(message.data, count, type, message.peer, tag, comm, &request), "MPI_Send_init");
      else
        check_mpi(MPI_Recv_init(message.data, count, type, message.peer, tag, comm, &request), "MPI_Recv_init");
      requests_.push_back(request);
    }
  }

  ~P2PEndpoint() override {
    for (MPI_Request& request : requests_)
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
  P2PEndpoint(const P2PEndpoint&) = delete;
  P2PEndpoint& operator=(const P2PEndpoint&) = delete;

  void start(int first, int count) override {
    const int end = first + count;
    for (int begin = first; begin < end;) {
      const auto at = static_cast<std::size_t>(begin);
      const InlineSend& send = inline_sends_[at];
      if (send.bytes >= 0) {
        check_mpi(MPI_Isend(send.data, send.bytes, MPI_BYTE, send.peer, send.tag, comm_, &requests_[at]), "MPI_Isend");
        ++begin;
        continue;
      }
      int next = begin + 1;
      while (next < end && inline_sends_[static_cast<std::size_t>(next)].bytes < 0) ++next;
      check_mpi(next - begin == 1 ? MPI_Start(&requests_[at]) : MPI_Startall(next - begin, &requests_[at]),
                "MPI_Start");
      begin = next;
    }
  }

  int poll(std::span<int> completed) override {
    int n = 0;
    check_mpi(MPI_Testsome(size(), requests_.data(), &n, completed.data(), MPI_STATUSES_IGNORE), "MPI_Testsome");
    return n == MPI_UNDEFINED ? 0 : n;
  }

  bool test_all() override {
    int flag = 0;
    check_mpi(MPI_Testall(size(), requests_.data(), &flag, MPI_STATUSES_IGNORE), "MPI_Testall");
    return flag != 0;
  }

  void wait_all() override { check_mpi(MPI_Waitall(size(), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall"); }

 private:
  struct InlineSend {
    const std::byte* data;
    int bytes;  // -1: a persistent request
    Rank peer;
    int tag;
  };

  [[nodiscard]] int size() const { return static_cast<int>(requests_.size()); }

  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
  std::vector<InlineSend> inline_sends_;
};

}  // namespace

std::unique_ptr<Endpoint> P2PTransport::bind(std::span<const Message> messages) {
  return std::make_unique<P2PEndpoint>(comm_, tag_base_, messages);
}

}  // namespace laneway
