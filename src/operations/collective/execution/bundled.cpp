#include "operations/collective/execution/bundled.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/simulated.hpp"
#include "communicator/control/control_rounds.hpp"
#include "communicator/control/mpi_bootstrap.hpp"
#include "mpi/check.hpp"
#include "mpi/quirks.hpp"
#include "operations/collective/execution/mpi.hpp"
#include "runtime/carriers/messages/advance.hpp"
#include "runtime/carriers/node/sharing.hpp"
#include "runtime/executor/progress.hpp"

namespace laneway {

namespace {

constexpr std::int64_t most_memory = std::numeric_limits<int>::max();  // so that MPI can count the bytes of a bundle

std::vector<Rank> ranks_by_place(const Layout& layout) {
  std::vector<Rank> ranks;
  ranks.reserve(static_cast<std::size_t>(layout.ranks()));
  for (Rank region = 0; region < layout.regions(); ++region)
    for (const Rank member : layout.members(region)) ranks.push_back(member);
  return ranks;
}

/// In virtual time: what a rank spends on bytes that it hands to others of its node, or takes from them.
void pass_for(std::int64_t bytes) {
  if constexpr (simulated) pass(simulated_costs().shared + static_cast<double>(bytes) * simulated_costs().shared_byte);
}

/// MPI puts such bytes elsewhere (see Quirks::misplaces_backward_types).
bool is_misplaced(const BlockSide::Block& block) {
  return quirks.misplaces_backward_types && block.map->goes_backward;
}

}  // namespace

BundledAlltoall::BundledAlltoall(std::shared_ptr<PrivateComm> comm, std::shared_ptr<const DenseKnowledge> known,
                                 int tag)
    : comm_(std::move(comm)),
      known_(std::move(known)),
      bundle_tag_(tag),
      long_tag_(tag + 1),
      lanes_(known_->layout, known_->hints.lowering.network_message_bytes),
      home_(known_->layout.region(comm_->rank())),
      index_(known_->layout.index(comm_->rank())),
      ranks_(ranks_by_place(known_->layout)),
      parts_(members()),
      cursors_(members()),
      places_(2 * ranks_.size()) {
  const std::size_t most = 2 * (ranks_.size() + static_cast<std::size_t>(known_->layout.regions()));
  requests_.reserve(most);
  messages_.reserve(most);
  expected_.reserve(static_cast<std::size_t>(known_->layout.regions()));
  completed_.resize(most);
  statuses_.resize(most);
}

std::unique_ptr<BundledAlltoall> BundledAlltoall::make(std::shared_ptr<PrivateComm> comm,
                                                       std::shared_ptr<const DenseKnowledge> known, int tag, int of,
                                                       std::int64_t mean_bytes) {
  std::unique_ptr<BundledAlltoall> made(new BundledAlltoall(comm, known, tag));
  const Hints& hints = known->hints;
  const Rank rank = comm->rank();
  const std::int64_t moved = made->lanes_.most_received(rank) + made->lanes_.most_sent(rank);
  const bool can_share = std::ranges::includes(known->sharing.members, known->node.members);
  std::vector<std::int64_t> needs = {2 * (comm->size() + moved), can_share ? 0 : 1, mean_bytes};
  needs = reduce_progressing(needs, MPI_INT64_T, MPI_MAX, *comm);
  if (needs[1] != 0) return nullptr;
  const std::int64_t memory = std::min({hints.local.all_mailboxes_bytes, hints.staging_limit, most_memory}) / of;
  const std::int64_t most = std::min(hints.local.mailbox_bytes, memory / needs[0]);
  const Rank ranks = known->layout.largest();
  // Inside a node two copies pay up to half of what mailboxes take, as everywhere else that has no way back.
  const std::int64_t block_bytes = known->layout.regions() > 1 ? longest_in_bundle(*known->parameters, ranks, most)
                                                               : longest_in_memory(*known->parameters, ranks, most / 2);
  if (block_bytes == 0 || (known->layout.regions() == 1 && needs[2] > block_bytes)) return nullptr;
  const std::int32_t failed = made->share(block_bytes) ? 0 : 1;
  if (reduce_progressing(std::vector{failed}, MPI_INT32_T, MPI_MAX, *comm).front() != 0) return nullptr;
  return made;
}

bool BundledAlltoall::share(std::int64_t block_bytes) {
  const Rank rank = comm_->rank();
  const BundleMemory::Shape shape{known_->layout.regions(), comm_->size(), block_bytes,
                                  lanes_.most_received(rank) * block_bytes};
  MpiBootstrap bootstrap(*comm_);
  std::shared_ptr<NodeMemory> memory = share_windows(bootstrap, known_->node, BundleMemory::bytes_of(shape));
  if (!memory) return false;
  memory_ = BundleMemory(std::move(memory), known_->node.members, shape);
  memory_.begin(own());
  bundles_.reset(new std::byte[static_cast<std::size_t>(lanes_.most_sent(rank) * block_bytes) + 1]);
  block_bytes_ = block_bytes;
  return true;
}

void BundledAlltoall::run(CallBlocks& blocks) {
  start(blocks);
  progress_until([&] { return progress(); });
}

void BundledAlltoall::start(CallBlocks& blocks) {
  require(!has_failed_, ErrorKind::internal, "an earlier all-to-all on this communicator has failed");
  has_failed_ = true;
  blocks_ = &blocks;
  ++call_;
  for (std::size_t member = 0; member < members(); ++member) parts_[member] = memory_.part(member, call_);
  requests_.clear();
  messages_.clear();
  expected_.clear();
  under_way_ = seen_ = 0;
  has_crossed_ = false;
  try {
    // In place, all that is sent is copied before anything comes in.
    if (blocks.in_place) post();
    start_long();
    if (!blocks.in_place) post();
  } catch (...) {
    abandon();
    throw;
  }
}

bool BundledAlltoall::progress() {
  try {
    if (!advance()) return false;
  } catch (...) {
    abandon();
    throw;
  }
  blocks_->types.end_call();
  large_types_.clear();
  if (static_cast<std::int64_t>(aside_.size()) > known_->hints.staging_limit) aside_ = {};
  has_failed_ = false;
  return true;
}

bool BundledAlltoall::advance() {
  if (!has_crossed_) {
    if (!have_all_posted()) {
      poll();
      return false;
    }
    cross();
    take_local();
    has_crossed_ = true;
  }
  poll();
  for (std::size_t i = 0; i < expected_.size();) {
    const Expected expected = expected_[i];
    if (!memory_.has_arrived(expected.member, expected.region, call_)) {
      ++i;
      continue;
    }
    take(expected);
    expected_[i] = expected_.back();
    expected_.pop_back();
  }
  return expected_.empty() && under_way_ == 0;
}

/// A message of its own for each long block. Ranks begin with their neighbours, so that not all send to one.
void BundledAlltoall::start_long() {
  put_aside();
  const Rank ranks = comm_->size();
  const Rank rank = comm_->rank();
  for (Rank i = 0; i < ranks; ++i) {
    const Rank from = (rank - i + ranks) % ranks;
    const bool is_own = from == rank;
    if (is_short(received_from(from).bytes) || (is_own && blocks_->in_place)) continue;
    std::byte* const sent = is_own ? sent_to(rank).together() : nullptr;
    std::byte* const received = is_own ? received_from(rank).together() : nullptr;
    if (sent != nullptr && received != nullptr) {
      std::memcpy(received, sent, static_cast<std::size_t>(sent_to(rank).bytes));
      continue;
    }
    receive_long(from);
    if (is_own) send_long(rank);
  }
  for (Rank i = 1; i < ranks; ++i)
    if (const Rank to = (rank + i) % ranks; !is_short(sent_to(to).bytes)) send_long(to);
}

/// Copies what is sent from where it is about to be received, and finds memory for what MPI would put elsewhere.
void BundledAlltoall::put_aside() {
  std::int64_t bytes = 0;
  const std::size_t ranks = ranks_.size();
  for (std::size_t i = 0; i < 2 * ranks; ++i) {
    const bool sends = i < ranks;
    const auto peer = static_cast<Rank>(i % ranks);
    const BlockSide::Block& block = sends ? sent_to(peer) : received_from(peer);
    const bool is_aside = !is_short(block.bytes) && ((sends && blocks_->in_place) || is_misplaced(block) ||
                                                     (!blocks_->keeps_types && block.together() == nullptr));
    places_[i] = is_aside ? bytes : -1;
    bytes += is_aside ? block.bytes : 0;
  }
  if (static_cast<std::size_t>(bytes) > aside_.size()) aside_.resize(static_cast<std::size_t>(bytes));
  for (std::size_t i = 0; i < ranks; ++i)
    if (places_[i] >= 0) sent_to(static_cast<Rank>(i)).gather(aside_.data() + places_[i]);
}

MPI_Request* BundledAlltoall::add(const Message& message) {
  messages_.push_back(message);
  ++under_way_;
  return &requests_.emplace_back(MPI_REQUEST_NULL);
}

namespace {

/// What MPI is told of a block: counts have to fit into int.
struct Given {
  void* first;
  int count;
  MPI_Datatype type;
};

/// `bytes_at`: where its bytes lie together; null: as its datatype says.
Given given(const BlockSide::Block& block, std::byte* bytes_at, std::vector<MadeType>& made) {
  const std::int64_t count = bytes_at != nullptr ? block.bytes : block.count;
  const MPI_Datatype type = bytes_at != nullptr ? MPI_BYTE : block.type;
  void* const first = bytes_at != nullptr ? bytes_at : block.first;
  if (count <= std::numeric_limits<int>::max()) return {first, static_cast<int>(count), type};
  return {first, 1, made.emplace_back(as_one(count, type)).get()};
}

}  // namespace

void BundledAlltoall::receive_long(Rank from) {
  const BlockSide::Block& block = received_from(from);
  const std::int64_t place = places_[ranks_.size() + static_cast<std::size_t>(from)];
  const bool is_aside = place >= 0;
  const Given to = given(block, is_aside ? aside_.data() + place : block.together(), large_types_);
  MPI_Request* const request = add({.peer = is_aside ? from : -1, .place = place});
  check_mpi(MPI_Irecv(to.first, to.count, to.type, from, long_tag_, comm_->get(), request), "MPI_Irecv");
}

void BundledAlltoall::send_long(Rank to) {
  const BlockSide::Block& block = sent_to(to);
  const std::int64_t place = places_[static_cast<std::size_t>(to)];
  const Given from = given(block, place >= 0 ? aside_.data() + place : block.together(), large_types_);
  check_mpi(MPI_Isend(from.first, from.count, from.type, to, long_tag_, comm_->get(), add({})), "MPI_Isend");
}

/// Leaves short blocks for others, and what is to be known of them, in this rank's part of the node's memory.
void BundledAlltoall::post() {
  const Layout& layout = known_->layout;
  const BundleMemory::Part& part = parts_[own()];
  std::int64_t end = 0;
  std::size_t place = 0;
  for (Rank region = 0; region < layout.regions(); ++region) {
    part.begins[region] = end;
    part.received[region] = 0;
    for (Rank left = layout.size(region); left > 0; --left, ++place) {
      const Rank peer = ranks_[place];
      const BlockSide::Block& block = sent_to(peer);
      const std::int64_t bytes = is_short(block.bytes) ? block.bytes : 0;
      if (bytes > 0) block.gather(part.blocks + end);
      part.sizes[place] = static_cast<std::int32_t>(bytes);
      end += bytes;
      part.received[region] += is_short(received_from(peer).bytes) ? received_from(peer).bytes : 0;
    }
    part.sent[region] = end - part.begins[region];
  }
  pass_for(end);
  memory_.post(own(), call_);
}

bool BundledAlltoall::have_all_posted() {
  while (seen_ < members() && memory_.has_posted(seen_, call_)) ++seen_;
  if (seen_ < members()) return false;
  if constexpr (simulated) pass(simulated_costs().flag);
  return true;
}

void BundledAlltoall::cross() {
  bundled_ = received_ = 0;
  const Rank regions = known_->layout.regions();
  for (Rank i = 1; i < regions; ++i) receive_bundles((home_ - i + regions) % regions);
  for (Rank i = 1; i < regions; ++i) send_bundle((home_ + i) % regions);
  pass_for(bundled_);
}

/// What this rank takes in for its node, and what others take in for it.
void BundledAlltoall::receive_bundles(Rank region) {
  const Rank here = known_->layout.size(home_);
  std::int64_t all = 0;
  for (const BundleMemory::Part& part : parts_) all += part.received[region];
  const Rank lanes = lanes_.lanes(region, home_, all);
  const auto bytes_between = [&](Rank first, Rank last) {
    std::int64_t bytes = 0;
    for (Rank member = first; member < last; ++member)
      bytes += parts_[static_cast<std::size_t>(member)].received[region];
    return bytes;
  };
  const Rank lane = lanes_.lane_received_by(index_, region, home_);
  if (lane < lanes) {
    const std::int64_t bytes =
        bytes_between(BundleLanes::first(here, lanes, lane), BundleLanes::first(here, lanes, lane + 1));
    if (bytes > 0) {
      BundleMemory::Part& own_part = parts_[own()];
      own_part.bundles[region] = received_;
      std::byte* const to = memory_.bundles(own(), call_) + received_;
      received_ += bytes;
      const Rank from = lanes_.sender(lane, region, home_);
      MPI_Request* const request = add({.region = region, .bytes = bytes});
      check_mpi(MPI_Irecv(to, static_cast<int>(bytes), MPI_BYTE, from, bundle_tag_, comm_->get(), request),
                "MPI_Irecv");
    }
  }
  if (parts_[own()].received[region] == 0) return;
  const Rank taken = BundleLanes::lane_of(here, lanes, index_);
  expected_.push_back({region, static_cast<std::size_t>(lanes_.receiving(taken, region, home_)),
                       bytes_between(BundleLanes::first(here, lanes, taken), index_)});
}

void BundledAlltoall::send_bundle(Rank region) {
  std::int64_t all = 0;
  for (const BundleMemory::Part& part : parts_) all += part.sent[region];
  const Rank lanes = lanes_.lanes(home_, region, all);
  const Rank lane = lanes_.lane_sent_by(index_, home_, region);
  if (lane >= lanes) return;
  const Rank there = known_->layout.size(region);
  std::byte* const bundle = bundles_.get() + bundled_;
  const std::int64_t before = bundled_;
  fill_bundle(region, BundleLanes::first(there, lanes, lane), BundleLanes::first(there, lanes, lane + 1), bundle);
  if (bundled_ == before) return;
  const Rank to = lanes_.receiver(lane, home_, region);
  check_mpi(MPI_Isend(bundle, static_cast<int>(bundled_ - before), MPI_BYTE, to, bundle_tag_, comm_->get(), add({})),
            "MPI_Isend");
}

/// Destination by destination, so that each finds its blocks together; in each, the members in their order.
void BundledAlltoall::fill_bundle(Rank region, Rank first, Rank last, std::byte* to) {
  const Rank before = known_->layout.ranks_before(region);
  for (std::size_t member = 0; member < members(); ++member) {
    const BundleMemory::Part& part = parts_[member];
    cursors_[member] = part.begins[region];
    for (Rank place = before; place < before + first; ++place) cursors_[member] += part.sizes[place];
  }
  for (Rank place = before + first; place < before + last; ++place)
    for (std::size_t member = 0; member < members(); ++member) {
      const BundleMemory::Part& part = parts_[member];
      const std::int64_t bytes = part.sizes[place];
      std::memcpy(to, part.blocks + cursors_[member], static_cast<std::size_t>(bytes));
      to += bytes;
      cursors_[member] += bytes;
      bundled_ += bytes;
    }
}

/// Blocks that stay on the node, the own one among them.
void BundledAlltoall::take_local() {
  const Rank before = known_->layout.ranks_before(home_);
  std::int64_t taken = 0;
  for (std::size_t member = 0; member < members(); ++member) {
    const BundleMemory::Part& part = parts_[member];
    const BlockSide::Block& block = received_from(ranks_[static_cast<std::size_t>(before) + member]);
    if (!is_short(block.bytes) || block.bytes == 0) continue;
    std::int64_t at = part.begins[home_];
    for (Rank place = before; place < before + index_; ++place) at += part.sizes[place];
    block.scatter(part.blocks + at);
    taken += block.bytes;
  }
  pass_for(taken);
}

void BundledAlltoall::take(const Expected& expected) {
  const std::byte* const bundles = memory_.bundles(expected.member, call_);
  const std::byte* from = bundles + parts_[expected.member].bundles[expected.region] + expected.skipped;
  const std::byte* const first = from;
  std::size_t place = static_cast<std::size_t>(known_->layout.ranks_before(expected.region));
  for (Rank left = known_->layout.size(expected.region); left > 0; --left, ++place) {
    const BlockSide::Block& block = received_from(ranks_[place]);
    if (!is_short(block.bytes)) continue;
    block.scatter(from);
    from += block.bytes;
  }
  if constexpr (simulated) pass(simulated_costs().flag);
  pass_for(from - first);
}

/// What else this rank has under way, for which those may wait that it waits for, needs MPI's progress even where
/// nothing comes here.
void BundledAlltoall::poll() {
  constexpr unsigned looks_before_advance = 64;
  if (under_way_ == 0) {
    if (++fruitless_ % looks_before_advance == 0) advance_mpi(comm_->get());
    return;
  }
  if constexpr (quirks.arrays_return_errors) {
    int n = 0;
    const int code =
        MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &n, completed_.data(), statuses_.data());
    if (code != MPI_SUCCESS && mpi_error_class(code) == MPI_ERR_IN_STATUS)
      for (int i = 0; i < n; ++i)
        if (const int error = statuses_[static_cast<std::size_t>(i)].MPI_ERROR; error != MPI_SUCCESS)
          check_mpi(error, "MPI_Testsome");
    check_mpi(code, "MPI_Testsome");
    for (int i = 0; i < n; ++i)
      complete(static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]),
               statuses_[static_cast<std::size_t>(i)]);
    return;
  }
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    int flag = 0;
    MPI_Status status;
    check_mpi(MPI_Test(&requests_[i], &flag, &status), "MPI_Test");
    if (flag != 0) complete(i, status);
  }
}

void BundledAlltoall::complete(std::size_t number, const MPI_Status& status) {
  --under_way_;
  const Message& message = messages_[number];
  if (message.peer >= 0) received_from(message.peer).scatter(aside_.data() + message.place);
  if (message.region < 0) return;
  int bytes = 0;
  check_mpi(MPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  require(bytes == message.bytes, ErrorKind::mpi, [&] {
    return "the node of rank " + std::to_string(known_->layout.leader(message.region)) + " has sent " +
           std::to_string(bytes) + " bytes of short blocks, where counts say " + std::to_string(message.bytes);
  });
  memory_.arrive(own(), message.region, call_);
}

/// What is still to be received would be written to buffers that the caller has back.
void BundledAlltoall::abandon() noexcept {
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    if (!simulated) MPI_Cancel(&requests_[i]);
    MPI_Request_free(&requests_[i]);
  }
}

}  // namespace laneway
