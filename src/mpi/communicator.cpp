#include "mpi/communicator.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/error.hpp"
#include "mpi/discovery.hpp"
#include "mpi/mailbox.hpp"
#include "transport/p2p.hpp"

namespace laneway {

namespace {

/// Duplicates live in this process, in the order of their creation, which is the same on all their ranks.
std::vector<PrivateComm*> live;
std::mutex live_mutex;
bool finalizing = false;

int communicator_key = MPI_KEYVAL_INVALID;

int delete_communicator(MPI_Comm, int, void* attribute, void*) {
  delete static_cast<Communicator*>(attribute);
  return MPI_SUCCESS;
}

/// Runs first in MPI_Finalize (MPI 4.0, section 11.2.4): frees what is left, and from here on nothing more.
int on_finalize(MPI_Comm, int, void*, void*) {
  const std::lock_guard lock(live_mutex);
  finalizing = true;
  for (PrivateComm* comm : live) comm->free();
  return MPI_SUCCESS;
}

void create_keys() {
  const std::lock_guard lock(live_mutex);
  if (communicator_key != MPI_KEYVAL_INVALID) return;
  int finalize_key = MPI_KEYVAL_INVALID;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &finalize_key, nullptr),
            "MPI_Comm_create_keyval");
  check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, nullptr), "MPI_Comm_set_attr");
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_communicator, &communicator_key, nullptr),
            "MPI_Comm_create_keyval");
}

/// A communicator of the same ranks. Made from the group: MPI_Comm_dup would call the user's attribute copy functions.
MPI_Comm duplicate(MPI_Comm original) {
  // The creation below blocks without advancing active exchanges, which others may wait for before they come here.
  std::vector<MPI_Request> barrier(1, MPI_REQUEST_NULL);
  check_mpi(MPI_Ibarrier(original, barrier.data()), "MPI_Ibarrier");
  wait_all_progressing(barrier);
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(original, &group), "MPI_Comm_group");
  MPI_Comm copy = MPI_COMM_NULL;
  const int code = MPI_Comm_create(original, group, &copy);
  MPI_Group_free(&group);
  check_mpi(code, "MPI_Comm_create");
  return copy;
}

}  // namespace

PrivateComm::PrivateComm(MPI_Comm original) : comm_(duplicate(original)) {
  check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  void* bound = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &bound, &found), "MPI_Comm_get_attr");
  if (found) last_tag_ = std::min(*static_cast<int*>(bound), tag_limit_for_tests);
  const std::lock_guard lock(live_mutex);
  live.push_back(this);
}

PrivateComm::~PrivateComm() {
  {
    const std::lock_guard lock(live_mutex);
    std::erase(live, this);
    if (finalizing) return;
  }
  free();  // without the lock: MPI has locks of its own, and calls delete_communicator while it holds them
}

void PrivateComm::free() {
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

bool PrivateComm::has_tags() const {
  return next_tag_ <= last_tag_ - plan_channels;
}

int PrivateComm::take_tags() {
  LANEWAY_ASSERT(1, has_tags());
  const int tag = next_tag_;
  next_tag_ += plan_channels;
  return tag;
}

bool single_threaded() {
  static const bool single = [] {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    return level != MPI_THREAD_MULTIPLE;
  }();
  return single;
}

Communicator::Communicator(std::shared_ptr<PrivateComm> priv) : private_(std::move(priv)) {}

Communicator* Communicator::find(MPI_Comm comm) {
  require(comm != MPI_COMM_NULL, ErrorKind::communicator, "comm: MPI_COMM_NULL");
  int inter = 0;
  check_mpi(MPI_Comm_test_inter(comm, &inter), "MPI_Comm_test_inter");
  require(!inter, ErrorKind::communicator, "comm: an intercommunicator");
  create_keys();
  void* attribute = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm, communicator_key, &attribute, &found), "MPI_Comm_get_attr");
  return found ? static_cast<Communicator*>(attribute) : nullptr;
}

Communicator& Communicator::attach(MPI_Comm comm, std::shared_ptr<PrivateComm> priv) {
  auto fresh = std::unique_ptr<Communicator>(new Communicator(std::move(priv)));
  check_mpi(MPI_Comm_set_attr(comm, communicator_key, fresh.get()), "MPI_Comm_set_attr");
  return *fresh.release();
}

Communicator& Communicator::of(MPI_Comm comm) {
  Communicator* known = find(comm);
  return known ? *known : attach(comm, std::make_shared<PrivateComm>(comm));
}

Communicator& Communicator::derive(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent) {
  return single_threaded() ? attach(comm, parent) : of(comm);
}

std::shared_ptr<PrivateComm> Communicator::private_comm(MPI_Comm comm) {
  if (!private_->has_tags()) private_ = std::make_shared<PrivateComm>(comm);
  return private_;
}

const Topology& Communicator::topology(MPI_Comm comm) {
  if (!topology_) topology_ = std::make_unique<Topology>(read_topology(comm));
  return *topology_;
}

const Region& Communicator::node(const std::string& machine) {
  Hints settings;
  settings.machine = machine;
  return regions(settings).front();
}

std::shared_ptr<const Fabric> Communicator::fabric(const std::string& machine) {
  if (machine.empty()) return nullptr;
  auto it = fabrics_.find(machine);
  if (it == fabrics_.end()) it = fabrics_.emplace(machine, find_fabric(private_->get(), machine)).first;
  return it->second;
}

const std::vector<Region>& Communicator::regions(const Hints& settings, bool translate) {
  std::vector<std::string> names = {settings.level};
  for (const LevelChoice& level : settings.inner) names.push_back(level.level);
  std::vector<std::string> key = names;
  key.push_back(settings.grid.empty() ? settings.machine : settings.grid);
  const auto it = regions_.find(key);
  if (it != regions_.end()) return it->second;
  std::vector<Region> found;
  if (settings.grid.empty()) {
    found = find_levels(private_->get(), settings.machine, names, translate);
  } else {
    const Machine grid = Machine::parse(settings.grid, private_->size());
    for (std::size_t level = 0; level < names.size(); ++level)
      found.push_back(grid.region(static_cast<int>(level), private_->rank()));
  }
  return regions_.emplace(std::move(key), std::move(found)).first->second;
}

}  // namespace laneway
