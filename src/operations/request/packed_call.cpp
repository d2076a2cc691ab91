#include "operations/request/packed_call.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/bytes/address.hpp"
#include "communicator/datatypes/datatype.hpp"
#include "mpi/check.hpp"
#include "mpi/quirks.hpp"
#include "runtime/device/device.hpp"
#include "runtime/device/memory.hpp"

namespace laneway {

namespace {

/// Copies from and to a buffer that may be on a device.
class Mover {
 public:
  explicit Mover(const void* buffer) {
    const MemoryInfo memory = memory_at(buffer);
    if (!memory.host_may_touch()) stream_ = Stream(Device(memory));
  }
  ~Mover() = default;
  Mover(const Mover&) = delete;
  Mover& operator=(const Mover&) = delete;

  void operator()(void* to, const void* from, std::int64_t bytes) const {
    if (!stream_)
      std::memcpy(to, from, static_cast<std::size_t>(bytes));
    else
      stream_.copy(to, from, static_cast<std::size_t>(bytes));
  }
  void end() const {
    if (stream_) stream_.synchronize();
  }

 private:
  Stream stream_;
};

/// How many blocks a side has.
int blocks_of(const CollectiveCall& call, bool sends, int peers) {
  switch (call.kind) {
    case DenseKind::allgather:
    case DenseKind::allgatherv:
    case DenseKind::gather:
    case DenseKind::gatherv:
      return sends ? 1 : peers;
    case DenseKind::scatter:
    case DenseKind::scatterv:
      return sends ? peers : 1;
    default:
      return call.kind == DenseKind::bcast ? 1 : peers;
  }
}

MPI_Datatype type_of(const SideArguments& side, int block) {
  return side.types != nullptr ? side.types[block] : side.type;
}

std::int64_t count_of(const SideArguments& side, int block) {
  return side.counts.null() ? side.count : side.counts[block];
}

bool is_misplaced(const SideArguments& side, int blocks) {
  MPI_Datatype last = MPI_DATATYPE_NULL;
  for (int block = 0; block < blocks; ++block) {
    const MPI_Datatype type = type_of(side, block);
    if (type == last || count_of(side, block) <= 0) continue;
    if (type == MPI_DATATYPE_NULL) return false;
    if (is_misplaced_by_mpi(type)) return true;
    last = type;
  }
  return false;
}

MadeType bytes_like(MPI_Datatype type) {
  int size = 0;
  check_mpi(MPI_Type_size(type, &size), "MPI_Type_size");
  MadeType made;
  check_mpi(MPI_Type_contiguous(size, MPI_BYTE, made.place()), "MPI_Type_contiguous");
  check_mpi(MPI_Type_commit(made.place()), "MPI_Type_commit");
  return made;
}

}  // namespace

bool is_misplaced_by_mpi(MPI_Datatype type) {
  return quirks.misplaces_backward_types && !is_predefined(type) && type_map(type)->goes_backward;
}

MadeType type_of_places(const RangeList& places) {
  std::vector<int> lengths;
  std::vector<MPI_Aint> offsets;
  places.for_each([&](const Range& range) {
    constexpr std::int64_t most = std::numeric_limits<int>::max();
    for (std::int64_t done = 0; done < range.bytes; done += most) {
      lengths.push_back(static_cast<int>(std::min(most, range.bytes - done)));
      offsets.push_back(range.offset + done);
    }
  });
  MadeType made;
  check_mpi(MPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE,
                                     made.place()),
            "MPI_Type_create_hindexed");
  check_mpi(MPI_Type_commit(made.place()), "MPI_Type_commit");
  return made;
}

void pack_bytes(std::vector<std::byte>& copy, const void* from, const RangeList& places) {
  copy.resize(static_cast<std::size_t>(places.bytes()));
  std::int64_t done = 0;
  const Mover move(from);
  places.for_each([&](const Range& range) {
    move(at(copy.data(), done), at(static_cast<std::byte*>(const_cast<void*>(from)), range.offset), range.bytes);
    done += range.bytes;
  });
  move.end();
}

void unpack_bytes(void* to, const std::vector<std::byte>& copy, const RangeList& places) {
  std::int64_t done = 0;
  const Mover move(to);
  places.for_each([&](const Range& range) {
    move(at(static_cast<std::byte*>(to), range.offset), at(const_cast<std::byte*>(copy.data()), done), range.bytes);
    done += range.bytes;
  });
  move.end();
}

std::unique_ptr<PackedCall> PackedCall::make(const CollectiveCall& call, int peers, bool is_root) {
  if (!quirks.misplaces_backward_types || reduces(call.kind)) return nullptr;
  if (has_root(call.kind) && call.root < 0) return nullptr;  // between two groups, where one side means nothing
  const int sent = uses_send(call, is_root) ? blocks_of(call, true, peers) : 0;
  const int received = uses_receive(call, is_root) ? blocks_of(call, false, peers) : 0;
  const bool packs_sent = is_misplaced(call.send, sent);
  const bool packs_received = is_misplaced(call.receive, received);
  if (!packs_sent && !packs_received) return nullptr;
  std::unique_ptr<PackedCall> packed(new PackedCall(call));
  if (packs_sent) {
    describe(packed->send_, packed->call_.send, row_of(call.kind).send, sent);
    packed->call_.sendbuf = packed->send_.copy.data();
  }
  if (packs_received) {
    describe(packed->receive_, packed->call_.receive, row_of(call.kind).receive, received);
    packed->call_.recvbuf = packed->receive_.copy.data();
  }
  return packed;
}

void PackedCall::describe(Side& side, SideArguments& arguments, const SideRow& names, int blocks) {
  const bool has_types = arguments.types != nullptr;
  std::int64_t end = 0;
  for (int block = 0; block < blocks; ++block) {
    const MPI_Datatype type = type_of(arguments, block);
    const std::int64_t count = count_of(arguments, block);
    if (has_types || block == 0) side.types.push_back(side.made.emplace_back(bytes_like(type)).get());
    side.displacements.push_back(end);
    if (count <= 0) continue;
    const std::shared_ptr<const TypeMap> map = type_map(type);
    const std::int64_t place = arguments.displacements.null() ? block * count : arguments.displacements[block];
    side.places.append(map->elements(count, has_types ? place : place * map->extent));
    end += has_types ? count * map->ranges.bytes() : count;
  }
  side.copy.resize(static_cast<std::size_t>(side.places.bytes()) + 1);
  if (names.displacements != nullptr) arguments.displacements = side.displacements.data();
  if (has_types)
    arguments.types = side.types.data();
  else
    arguments.type = side.types.front();
}

/// What is received, too: a part of it may be given in place.
void PackedCall::fetch() {
  if (!send_.places.empty()) pack_bytes(send_.copy, sendbuf_, send_.places);
  if (!receive_.places.empty()) pack_bytes(receive_.copy, recvbuf_, receive_.places);
}

void PackedCall::put_back() const {
  if (!receive_.places.empty()) unpack_bytes(recvbuf_, receive_.copy, receive_.places);
}

}  // namespace laneway
