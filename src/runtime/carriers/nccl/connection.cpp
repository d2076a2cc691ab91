#include "runtime/carriers/nccl/connection.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <optional>
#include <vector>

#include "base/error.hpp"
#include "runtime/device/topology.hpp"

namespace laneway {

NcclConnection::NcclConnection(const NcclLibrary& library, const Device& device, const NcclLibrary::UniqueId& id,
                               Rank ranks, Rank rank)
    : library_(library), device_(device), stream_(device, true) {
  NcclLibrary::Comm comm = nullptr;
  library_.check(library_.comm_init_rank(&comm, ranks, id, rank), "ncclCommInitRank");
  comm_ = comm;
}

void NcclConnection::end(int (*how)(NcclLibrary::Comm)) noexcept {
  if (NcclLibrary::Comm const comm = comm_.exchange(nullptr)) (void)how(comm);
}

void NcclConnection::check() const {
  NcclLibrary::Comm const comm = comm_.load(std::memory_order_acquire);
  require(comm != nullptr, ErrorKind::device, "the communicator of NCCL has ended, since another exchange has failed");
  int error = NcclLibrary::success;
  library_.check(library_.comm_get_async_error(comm, &error), "ncclCommGetAsyncError");
  if (error != NcclLibrary::in_progress) library_.check(error, "what ncclCommGetAsyncError reports");
}

void NcclConnection::group(std::span<const Transfer> transfers) const {
  NcclLibrary::Comm const comm = comm_.load(std::memory_order_acquire);
  library_.check(library_.group_start(), "ncclGroupStart");
  for (const Transfer& one : transfers) {
    const auto count = static_cast<std::size_t>(one.bytes);
    const int result = one.is_send
                           ? library_.send(one.data, count, NcclLibrary::uint8, one.peer, comm, stream_.handle())
                           : library_.receive(one.data, count, NcclLibrary::uint8, one.peer, comm, stream_.handle());
    if (result == NcclLibrary::success) continue;
    (void)library_.group_end();  // or the thread's next calls of NCCL would be in the group
    library_.fail(result, one.is_send ? "ncclSend" : "ncclRecv");
  }
  library_.check(library_.group_end(), "ncclGroupEnd");
}

bool NcclConnection::launch(std::uint64_t turn, std::span<const Transfer> transfers, const Event& done) {
  check();
  if (turn_.load(std::memory_order_acquire) != turn) return false;
  group(transfers);
  done.record(stream_);
  turn_.store(turn + 1, std::memory_order_release);
  return true;
}

void NcclConnection::meet(std::span<const Rank> sends_to, std::span<const Rank> receives_from) const {
  const DeviceMemory bytes(device_, 1 + receives_from.size());
  std::vector<Transfer> transfers;
  for (const Rank peer : sends_to) transfers.push_back({true, peer, bytes.data(), 1});
  std::byte* next = bytes.data();
  for (const Rank peer : receives_from) transfers.push_back({false, peer, ++next, 1});
  if (transfers.empty()) return;
  group(transfers);
  stream_.synchronize();
  check();
}

namespace {

/// What each rank says of itself before it is connected.
struct Introduction {
  DeviceIdentity device{};
  NcclLibrary::UniqueId id{};   ///< of the first rank
  std::uint64_t begun = 0;      ///< exchanges by NCCL
  bool all_complete = false;    ///< those
  bool has_problem = false;     ///< it cannot be connected
  std::array<char, 256> why{};  ///< then, for people
};

/// Why this rank cannot be connected; null: it can. Sets what else it says.
const NcclLibrary* introduce(const DeviceEnds& ends, const NcclConnection* kept, bool is_first, Introduction& mine) {
  require(ends.problem.empty(), ErrorKind::unsupported, ends.problem);
  std::string why;
  const NcclLibrary* const library = find_nccl(ends.device.plugin(), why);
  require(library != nullptr, ErrorKind::unsupported, why);
  int chosen = -1;
  ends.device.check(ends.device.table().current_device(&chosen), "ask for the current device");
  const std::string number = std::to_string(ends.device.number());
  require(chosen == ends.device.number(), ErrorKind::unsupported,
          "its thread has chosen device " + std::to_string(chosen) + ", and the buffers are on device " + number);
  require(kept == nullptr || kept->device() == ends.device, ErrorKind::unsupported,
          "its buffers are on device " + number + ", and the communicator is connected by another");
  mine.device = identity(ends.device);
  if (kept == nullptr && is_first) library->check(library->get_unique_id(&mine.id), "ncclGetUniqueId");
  return library;
}

/// Why they cannot be connected, for people; the same on all ranks.
std::string refusal_of(std::span<const Introduction> all) {
  const auto rank = [](std::size_t index) { return "rank " + std::to_string(index); };
  for (std::size_t a = 0; a < all.size(); ++a)
    if (all[a].has_problem) return rank(a) + ": " + all[a].why.data();
  for (std::size_t a = 0; a < all.size(); ++a) {
    if (all[a].device.vendor != all[0].device.vendor)
      return rank(a) + " has a device of another vendor than " + rank(0);
    for (std::size_t b = 0; b < a; ++b)
      if (all[a].device == all[b].device)
        return rank(b) + " and " + rank(a) + " have the same device, and NCCL wants one for each";
  }
  return {};
}

}  // namespace

std::shared_ptr<NcclConnection> connect_by_nccl(Bootstrap& bootstrap, const DeviceEnds& ends,
                                                std::shared_ptr<NcclConnection>& kept, std::string& why) {
  const NcclLibrary* library = nullptr;
  Introduction mine;
  try {
    library = introduce(ends, kept.get(), bootstrap.rank() == 0, mine);
    if (kept) kept->check();
  } catch (const std::exception& error) {
    mine.has_problem = true;
    std::strncpy(mine.why.data(), error.what(), mine.why.size() - 1);
  }
  if (kept) {
    mine.begun = kept->begun();
    mine.all_complete = kept->all_complete();
  }
  Region everyone{0, {}};
  for (Rank rank = 0; rank < ends.ranks; ++rank) everyone.members.push_back(rank);
  const std::vector<Introduction> all = gather(bootstrap, everyone, mine);
  why = refusal_of(all);
  if (!why.empty()) return nullptr;
  // An exchange that some rank has yet to begin would be taken for what comes now.
  const bool may_meet = !kept || std::ranges::all_of(all, [&](const Introduction& one) {
    return one.all_complete && one.begun == all.front().begun;
  });
  try {
    if (!kept)
      kept = std::make_shared<NcclConnection>(*library, ends.device, all.front().id, ends.ranks, bootstrap.rank());
    if (may_meet) kept->meet(ends.sends_to, ends.receives_from);
  } catch (const std::exception& error) {
    why = error.what();
  }
  if (bootstrap.common_bits(why.empty() ? 1 : 0) != 0) return kept;
  if (why.empty()) why = "another rank could not be connected";
  kept = nullptr;
  return nullptr;
}

}  // namespace laneway
