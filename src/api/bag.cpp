#include <string>
#include <utility>

#include "api/barrier.hpp"
#include "base/failure.hpp"
#include "communicator/revoked.hpp"
#include "mpi/check.hpp"
#include "operations/sparse/bag.hpp"

using namespace laneway;

namespace {

MpiBag& bag_of(LNW_Bag handle) {
  require(handle != LNW_BAG_NULL, ErrorKind::request, "bag is LNW_BAG_NULL");
  return *reinterpret_cast<MpiBag*>(handle);
}

int raise_on_bag(LNW_Bag bag, const char* call) noexcept {
  if (bag == LNW_BAG_NULL || is_too_late()) return raise_on(MPI_COMM_WORLD, call);
  const MpiBag& found = *reinterpret_cast<MpiBag*>(bag);
  const int code = error_code(call, found.rank());
  found.call_error_handler(code);
  return code;
}

/// Messages are short: a call advances the bag when it fills a bundle, and nothing else.
template <class Body>
int guarded_in_bag(const char* call, LNW_Bag bag, Body&& body) noexcept {
  try {
    require_running();
    std::forward<Body>(body)();
    return MPI_SUCCESS;
  } catch (...) {
    return raise_on_bag(bag, call);
  }
}

}  // namespace

int LNW_Bag_create(MPI_Comm comm, MPI_Info info, LNW_Bag* bag) {
  return guarded(__func__, comm, [&] {
    const std::exception_ptr failure = failure_of([&] { require_pointer(bag, "bag"); });
    auto made = std::make_unique<MpiBag>(Communicator::of(comm), info, failure);
    revoke_with(comm, made->comm());
    *bag = reinterpret_cast<LNW_Bag>(made.release());
  });
}

int LNW_Bag_send(LNW_Bag bag, int destination, const void* data, MPI_Count bytes) {
  return guarded_in_bag(__func__, bag, [&] { bag_of(bag).send(destination, data, bytes); });
}

int LNW_Bag_next(LNW_Bag bag, int* source, void** data, MPI_Count* bytes, int* flag) {
  return guarded_in_bag(__func__, bag, [&] {
    require_pointer(source, "source");
    require_pointer(data, "data");
    require_pointer(bytes, "bytes");
    require_pointer(flag, "flag");
    const std::optional<Bag::Message> message = bag_of(bag).next();
    *flag = message.has_value();
    if (!message) return;
    *source = message->source;
    *data = const_cast<std::byte*>(message->data.data());
    *bytes = static_cast<MPI_Count>(message->data.size());
  });
}

int LNW_Bag_flush(LNW_Bag bag) {
  return guarded_in_bag(__func__, bag, [&] { bag_of(bag).flush(); });
}

int LNW_Bag_iflush(LNW_Bag bag, LNW_Request* request) {
  return guarded_in_bag(__func__, bag, [&] {
    require_pointer(request, "request");
    *request = handle_of(bag_of(bag).start_flush());
  });
}

int LNW_Bag_get_info(LNW_Bag bag, MPI_Info* info) {
  return guarded_in_bag(__func__, bag, [&] {
    require_pointer(info, "info");
    MpiBag& found = bag_of(bag);
    const Bag::Counts counts = found.counts();
    MPI_Info made = MPI_INFO_NULL;
    check_mpi(MPI_Info_create(&made), "MPI_Info_create");
    MPI_Info_set(made, "lnw_messages", std::to_string(counts.sent).c_str());
    MPI_Info_set(made, "lnw_bundles", std::to_string(counts.bundles).c_str());
    MPI_Info_set(made, "lnw_waves", std::to_string(counts.waves).c_str());
    MPI_Info_set(made, "lnw_most_bytes", std::to_string(counts.most_bytes).c_str());
    MPI_Info_set(made, "lnw_bag_memory", std::to_string(found.most_kept()).c_str());
    MPI_Info_set(made, "lnw_relays", found.relays() ? "true" : "false");
    *info = made;
  });
}

int LNW_Bag_free(LNW_Bag* bag) {
  if (is_too_late()) {
    if (bag != nullptr && *bag != LNW_BAG_NULL) delete &bag_of(*bag);
    if (bag != nullptr) *bag = LNW_BAG_NULL;
    return MPI_SUCCESS;
  }
  return guarded_in_bag(__func__, bag != nullptr ? *bag : LNW_BAG_NULL, [&] {
    require_pointer(bag, "bag");
    MpiBag& found = bag_of(*bag);
    found.quiesce();
    delete &found;
    *bag = LNW_BAG_NULL;
  });
}
