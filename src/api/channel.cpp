#include "operations/channel/channel.hpp"

#include "api/barrier.hpp"
#include "mpi/check.hpp"

using namespace laneway;

namespace {

Channel& channel_of(LNW_Channel handle) {
  require(handle != LNW_CHANNEL_NULL, ErrorKind::request, "channel is LNW_CHANNEL_NULL");
  return *reinterpret_cast<Channel*>(handle);
}

/// Whether the hints allow memory of the node between this rank and `peer` and, if not, why.
void look_at_hints(MPI_Comm comm, const Hints& hints, Channel::Options& options) {
  options.progress = hints.progress;
  options.no_memory = why_no_memory(comm, hints, options.peer);
  options.may_share = options.no_memory.empty();
  options.may_put = hints.sharing == Sharing::puts;
}

Hints hints_of(MPI_Comm comm, MPI_Info info) {
  const Communicator* const known = Communicator::find(comm);
  return resolve_hints(hints_in(info), known != nullptr ? known->hints : HintTexts{});
}

int create(const char* call, MPI_Comm comm, int peer, int role, void* buffer, MPI_Count bytes, int segments,
           MPI_Info info, LNW_Channel* channel) noexcept {
  return guarded(call, comm, [&] {
    const std::shared_ptr<PairComm> pairs = PairComm::of(comm);
    require_pointer(channel, "channel");
    pairs->check_rank(peer, "peer");
    require(role == LNW_CHANNEL_SEND || role == LNW_CHANNEL_RECEIVE, ErrorKind::argument,
            [&] { return "role is " + std::to_string(role) + ", neither LNW_CHANNEL_SEND nor LNW_CHANNEL_RECEIVE"; });
    require(bytes >= 0, ErrorKind::count, [&] { return "bytes is " + std::to_string(bytes); });
    require(segments >= 1, ErrorKind::count, [&] { return "segments is " + std::to_string(segments); });
    require(buffer != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, "buffer is not contiguous");
    Channel::Options options;
    options.peer = peer;
    options.is_sender = role == LNW_CHANNEL_SEND;
    options.bytes = bytes;
    options.segments = segments;
    options.buffer = options.is_sender ? nullptr : static_cast<std::byte*>(buffer);
    look_at_hints(comm, hints_of(comm, info), options);
    *channel = reinterpret_cast<LNW_Channel>(std::make_unique<Channel>(pairs, options).release());
  });
}

}  // namespace

namespace laneway {

int raise_on(LNW_Channel channel, const char* call) noexcept {
  if (channel == LNW_CHANNEL_NULL) return raise_on(MPI_COMM_WORLD, call);
  const Channel& found = *reinterpret_cast<Channel*>(channel);
  const int code = error_code(call, found.rank());
  found.call_error_handler(code);
  return code;
}

}  // namespace laneway

int LNW_Comm_prepare(MPI_Comm comm) {
  return guarded(__func__, comm, [&] { PairComm::of(comm)->prepare(hints_of(comm, MPI_INFO_NULL)); });
}

int LNW_Channel_create(MPI_Comm comm, int peer, int role, MPI_Count bytes, int segments, MPI_Info info,
                       LNW_Channel* channel) {
  return create(__func__, comm, peer, role, nullptr, bytes, segments, info, channel);
}

int LNW_Channel_create_with_buffer(MPI_Comm comm, int peer, int role, void* buffer, MPI_Count bytes, int segments,
                                   MPI_Info info, LNW_Channel* channel) {
  const bool receives_nowhere = role == LNW_CHANNEL_RECEIVE && bytes > 0 && buffer == nullptr;
  if (receives_nowhere) return guarded(__func__, comm, [] { throw_null("buffer"); });
  return create(__func__, comm, peer, role, buffer, bytes, segments, info, channel);
}

int LNW_Channel_put(LNW_Channel channel, int segment, const void* data, MPI_Count bytes) {
  return guarded(__func__, channel, [&] {
    require(data != LNW_NOT_CONTIGUOUS, ErrorKind::buffer, "data is not contiguous");
    channel_of(channel).put(segment, data, bytes);
  });
}

int LNW_Channel_flush(LNW_Channel channel) {
  return guarded(__func__, channel, [&] { channel_of(channel).flush(); });
}

int LNW_Channel_test_free(LNW_Channel channel, int segment, int* flag) {
  return guarded(__func__, channel, [&] {
    require_pointer(flag, "flag");
    *flag = channel_of(channel).is_free(segment);
  });
}

int LNW_Channel_test(LNW_Channel channel, int segment, int* flag, void** data, MPI_Count* bytes) {
  return guarded(__func__, channel, [&] {
    require_pointer(flag, "flag");
    require_pointer(data, "data");
    require_pointer(bytes, "bytes");
    const std::optional<Arrived> arrived = channel_of(channel).test(segment);
    *flag = arrived.has_value();
    if (!arrived) return;
    *data = const_cast<void*>(arrived->data);
    *bytes = arrived->bytes;
  });
}

int LNW_Channel_wait(LNW_Channel channel, int segment, void** data, MPI_Count* bytes) {
  return guarded(__func__, channel, [&] {
    require_pointer(data, "data");
    require_pointer(bytes, "bytes");
    const Arrived arrived = channel_of(channel).wait(segment);
    *data = const_cast<void*>(arrived.data);
    *bytes = arrived.bytes;
  });
}

int LNW_Channel_release(LNW_Channel channel, int segment) {
  return guarded(__func__, channel, [&] { channel_of(channel).release(segment); });
}

int LNW_Channel_get_info(LNW_Channel channel, MPI_Info* info) {
  return guarded(__func__, channel, [&] {
    require_pointer(info, "info");
    Channel& found = channel_of(channel);
    const std::string carrier = found.carrier();
    const std::string reason = found.reason().substr(0, MPI_MAX_INFO_VAL - 1);
    MPI_Info made = MPI_INFO_NULL;
    check_mpi(MPI_Info_create(&made), "MPI_Info_create");
    MPI_Info_set(made, "lnw_carrier", carrier.c_str());
    MPI_Info_set(made, "lnw_carrier_reason", reason.c_str());
    *info = made;
  });
}

int LNW_Channel_free(LNW_Channel* channel) {
  if (is_too_late()) {
    if (channel != nullptr && *channel != LNW_CHANNEL_NULL) delete &channel_of(*channel);
    if (channel != nullptr) *channel = LNW_CHANNEL_NULL;
    return MPI_SUCCESS;
  }
  return guarded(__func__, channel != nullptr ? *channel : LNW_CHANNEL_NULL, [&] {
    require_pointer(channel, "channel");
    delete &channel_of(*channel);
    *channel = LNW_CHANNEL_NULL;
  });
}
