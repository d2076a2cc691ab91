#include "mpi/control_message.hpp"

#include <memory>
#include <new>
#include <string>

#include "mpi/check.hpp"

namespace laneway {

namespace {

/// The name of the function of MPI that has failed, or null.
const char* look(MPI_Comm comm, int source, int tag, std::optional<FoundMessage>& found, int& code) noexcept {
  int flag = 0;
  MPI_Status status;
  code = MPI_Iprobe(source, tag, comm, &flag, &status);
  if (code != MPI_SUCCESS) return "MPI_Iprobe";
  if (flag == 0) return nullptr;
  FoundMessage message{comm, status.MPI_SOURCE, status.MPI_TAG};
  code = MPI_Get_count(&status, MPI_BYTE, &message.bytes);
  if (code != MPI_SUCCESS) return "MPI_Get_count";
  found = message;
  return nullptr;
}

}  // namespace

std::optional<FoundMessage> find_message(MPI_Comm comm, int source, int tag) {
  std::optional<FoundMessage> found;
  int code = MPI_SUCCESS;
  if (const char* const failed = look(comm, source, tag, found, code)) throw_mpi_error(code, failed);
  return found;
}

std::optional<FoundMessage> look_for_message(MPI_Comm comm, int source, int tag, int* failed) noexcept {
  std::optional<FoundMessage> found;
  int code = MPI_SUCCESS;
  (void)look(comm, source, tag, found, code);
  if (failed != nullptr) *failed = code;
  return found;
}

Bytes FoundMessage::take() const {
  Bytes data(static_cast<std::size_t>(bytes));
  check_mpi(MPI_Recv(data.data(), bytes, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
  return data;
}

void FoundMessage::take_into(void* place, std::size_t size) const {
  if (static_cast<std::size_t>(bytes) != size) {
    (void)drop();
    throw Error(ErrorKind::internal, "a control message of tag " + std::to_string(tag) + " from rank " +
                                         std::to_string(source) + " has " + std::to_string(bytes) + " bytes, not " +
                                         std::to_string(size));
  }
  check_mpi(MPI_Recv(place, bytes, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
}

bool FoundMessage::drop() const noexcept {
  const std::unique_ptr<std::byte[]> place(new (std::nothrow) std::byte[static_cast<std::size_t>(bytes) + 1]);
  return place && MPI_Recv(place.get(), bytes, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS;
}

int send_away(const void* data, std::size_t bytes, Rank to, int tag, MPI_Comm comm) noexcept {
  MPI_Request request = MPI_REQUEST_NULL;
  const int code = MPI_Isend(data, static_cast<int>(bytes), MPI_BYTE, to, tag, comm, &request);
  if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  return code;
}

void MessageUnderWay::send(MPI_Comm comm) {
  check_mpi((is_acknowledged ? MPI_Issend : MPI_Isend)(data.data(), static_cast<int>(data.size()), MPI_BYTE, other, tag,
                                                       comm, &request),
            is_acknowledged ? "MPI_Issend" : "MPI_Isend");
}

void MessageUnderWay::receive(const FoundMessage& found) {
  other = found.source;
  tag = found.tag;
  data.resize(static_cast<std::size_t>(found.bytes));
  check_mpi(MPI_Irecv(data.data(), found.bytes, MPI_BYTE, other, tag, found.comm, &request), "MPI_Irecv");
}

bool MessageUnderWay::is_complete() {
  int flag = 0;
  check_mpi(MPI_Test(&request, &flag, MPI_STATUS_IGNORE), "MPI_Test");
  return flag != 0;
}

}  // namespace laneway
