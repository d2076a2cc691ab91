#include "operations/collective/dense_origin.hpp"

#include <algorithm>
#include <climits>
#include <numeric>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "mpi/owned_info.hpp"
#include "operations/collective/collective.hpp"
#include "operations/request/request.hpp"

namespace laneway {

namespace {

bool is_root(const CollectiveCall& call, Rank rank) {
  return !has_root(call.kind) || call.root == rank;
}

/// The arrays mean something, and so does the datatype.
KeptSide kept(const SideArguments& given, bool is_used, int entries) {
  if (!is_used) return {};
  std::vector<int> slots(static_cast<std::size_t>(entries));
  std::iota(slots.begin(), slots.end(), 0);
  return {given, entries, slots};
}

/// The same with a displacement for each block.
DenseKind with_places(DenseKind kind) {
  switch (kind) {
    case DenseKind::alltoall:
      return DenseKind::alltoallv;
    case DenseKind::allgather:
      return DenseKind::allgatherv;
    case DenseKind::gather:
      return DenseKind::gatherv;
    case DenseKind::scatter:
      return DenseKind::scatterv;
    default:
      return kind;
  }
}

/// The arguments of one side for those that are left.
struct FewerBlocks {
  std::vector<MPI_Datatype> all_types;  // of all
  std::vector<MPI_Datatype> types;
  KeptIntegers counts;
  KeptIntegers displacements;
  SideArguments side;

  /// `has_list`: as it is to be given, for each rank a block.
  FewerBlocks(const KeptSide& kept, bool has_list, const std::vector<Rank>& ranks, bool is_large) {
    side = kept.get(all_types);
    if (!has_list) return;
    std::vector<std::int64_t> numbers;
    std::vector<std::int64_t> places;
    const bool is_equal = side.counts.null();
    const bool has_places = is_equal || !side.displacements.null();
    for (const Rank rank : ranks) {
      numbers.push_back(is_equal ? side.count : side.counts[rank]);
      if (has_places) places.push_back(is_equal ? side.count * rank : side.displacements[rank]);
      if (side.types != nullptr) types.push_back(side.types[rank]);
    }
    counts = KeptIntegers(numbers, is_large);
    displacements = KeptIntegers(places, is_large);
    side.counts = counts.get();
    if (has_places) side.displacements = displacements.get();
    if (side.types != nullptr) side.types = types.data();
  }
};

bool has_list(const SideRow& row) {
  return row.blocks == BlockForm::counted || row.blocks == BlockForm::typed;
}

}  // namespace

DenseOrigin::DenseOrigin(const Communicator& communicator, MPI_Info info, const CollectiveCall& call)
    : call_(call),
      sends_(uses_send(call, is_root(call, communicator.rank()))),
      receives_(uses_receive(call, is_root(call, communicator.rank())) || reduces(call.kind)),
      send_(kept(call.send, sends_, entries(call, communicator.ranks(), communicator.ranks()))),
      receive_(kept(call.receive, receives_, entries(call, communicator.ranks(), communicator.ranks()))),
      op_(reduces(call.kind) ? call.op : MPI_OP_NULL),
      hints_(hints_in(info)) {
  call_.send = {};
  call_.receive = {};
  for (const auto& [key, text] : communicator.hints) hints_.emplace(key, text);
}

std::string DenseOrigin::text() const {
  return std::string(name(call_.kind)) + (has_root(call_.kind) ? " of root " + std::to_string(call_.root) : "");
}

Origin::Remake DenseOrigin::among(const RankTranslation& ranks, const EdgePartitions*) const {
  CollectiveCall call = call_;
  call.op = op_.get();
  if (has_root(call.kind)) {
    call.root = ranks(call_.root);
    require(call.root != MPI_PROC_NULL, ErrorKind::rank, [&] {
      return "root " + std::to_string(call_.root) + " of the " + name(call.kind) + " that made request is not in comm";
    });
  }
  const bool moves = !ranks.moves_nobody();
  require(!moves || (call.kind != DenseKind::reduce_scatter && call.kind != DenseKind::reduce_scatter_block),
          ErrorKind::unsupported, [&] {
            return std::string(name(call.kind)) +
                   " that made request has one vector for all ranks: it cannot be made again without those in the "
                   "middle, or in another order";
          });
  if (moves) call.kind = with_places(call.kind);
  return [this, call, kept = ranks.kept(), old_size = ranks.old_size()](MPI_Comm comm) {
    CollectiveCall fewer = call;
    const DenseRow& row = row_of(call.kind);
    std::vector<MPI_Datatype> unused;
    const MPI_Count most = std::max(sends_ ? send_.get(unused).count : 0, receives_ ? receive_.get(unused).count : 0);
    // Displacements of equal blocks, which had none.
    fewer.is_large = fewer.is_large || (call.kind != call_.kind && most > INT_MAX / old_size);
    const FewerBlocks send(send_, sends_ && has_list(row.send), kept, fewer.is_large);
    const FewerBlocks receive(receive_, receives_ && has_list(row.receive), kept, fewer.is_large);
    if (sends_) fewer.send = send.side;
    if (receives_) fewer.receive = receive.side;
    const OwnedInfo info(hints_);
    return make_dense(comm, info.get(), fewer);
  };
}

void DenseOrigin::check_fits(Communicator&) const {
  throw Error(ErrorKind::request, std::string("request is of ") + name(call_.kind) +
                                      ", which has no neighborhoods: LNW_Request_rebuild makes it again");
}

std::unique_ptr<Request> DenseOrigin::on(Communicator& topology, const EdgePartitions*) const {
  check_fits(topology);
  return nullptr;
}

}  // namespace laneway
