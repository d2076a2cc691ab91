#include "mpi/communicator.hpp"

#include <algorithm>
#include <array>
#include <mutex>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/simulated.hpp"
#include "core/tell.hpp"
#include "exec/progress.hpp"
#include "exec/progress_thread.hpp"
#include "exec/remains.hpp"
#include "mpi/discovery.hpp"
#include "mpi/engine.hpp"
#include "mpi/fixed_operation.hpp"
#include "mpi/kept_plans.hpp"
#include "mpi/mailbox.hpp"
#include "mpi/network_place.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/quick_calibration.hpp"
#include "mpi/routes.hpp"
#include "mpi/running.hpp"
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

/// Runs at the beginning of MPI_Finalize (MPI 4.0, section 11.2.4). Functions that the program has attached to
/// MPI_COMM_SELF earlier run later, and may use and free what there is: no duplicate is freed from here on.
int on_finalize(MPI_Comm, int, void*, void*) {
  stop_progress_thread();
  call_in_engine(nullptr);
  set_ending();
  std::vector<std::shared_ptr<PrivateComm>> left;
  {
    const std::lock_guard lock(live_mutex);
    finalizing = true;
    for (PrivateComm* comm : live) left.push_back(comm->weak_from_this().lock());
  }
  // Without the lock: MPICH deletes the attributes of a communicator when the last creation from it is complete.
  for (const auto& comm : left)
    if (comm) comm->end_creation();
  look_through_remains();
  return MPI_SUCCESS;
}

void create_keys() {
  static std::atomic<bool> created{false};
  if (created.load(std::memory_order_acquire)) return;
  const std::lock_guard lock(live_mutex);
  if (communicator_key != MPI_KEYVAL_INVALID) return;
  if (has_world()) {
    int finalize_key = MPI_KEYVAL_INVALID;
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, on_finalize, &finalize_key, nullptr),
              "MPI_Comm_create_keyval");
    check_mpi(MPI_Comm_set_attr(MPI_COMM_SELF, finalize_key, nullptr), "MPI_Comm_set_attr");
  }
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_communicator, &communicator_key, nullptr),
            "MPI_Comm_create_keyval");
  set_running();
  created.store(true, std::memory_order_release);
}

/// Errors of MPI on a user's communicator are returned as long as this lives: whoever calls decides what becomes of
/// them.
class ReturnedErrors {
 public:
  explicit ReturnedErrors(MPI_Comm comm) : comm_(comm) {
    if constexpr (simulated) return;
    check_mpi(MPI_Comm_get_errhandler(comm, &before_), "MPI_Comm_get_errhandler");
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  }
  ~ReturnedErrors() {
    if constexpr (simulated) return;
    MPI_Comm_set_errhandler(comm_, before_);
    MPI_Errhandler_free(&before_);
  }
  ReturnedErrors(const ReturnedErrors&) = delete;
  ReturnedErrors& operator=(const ReturnedErrors&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler before_ = MPI_ERRHANDLER_NULL;
};

/// MPICH 4.0 makes no communicator from a group without MPI_COMM_WORLD.
MPI_Comm split_all(MPI_Comm original) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(original, &rank), "MPI_Comm_rank");
  MPI_Comm copy = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split(original, 0, rank, &copy), "MPI_Comm_split");
  return copy;
}

/// A communicator of the same ranks. Made from the group: MPI_Comm_dup would call the user's attribute copy functions.
MPI_Comm duplicate(MPI_Comm original) {
  const ReturnedErrors returned(original);
  // The creation below blocks without advancing active exchanges, which others may wait for before they come here.
  barrier_progressing(original);
  if (!has_world()) return split_all(original);
  MPI_Group group = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(original, &group), "MPI_Comm_group");
  MPI_Comm copy = MPI_COMM_NULL;
  const int code = MPI_Comm_create(original, group, &copy);
  MPI_Group_free(&group);
  check_mpi(code, "MPI_Comm_create");
  return copy;
}

/// A communicator of `members` of `parent`, made by these alone.
MPI_Comm create_among(const PrivateComm& parent, const std::vector<Rank>& members, int tag) {
  barrier_progressing(parent, members, tag);  // for the same reason
  if (!has_world()) {
    require(static_cast<Rank>(members.size()) == parent.size(), ErrorKind::unsupported,
            "comm: no communicator of a part of its ranks can be made in a program that only opens sessions");
    return split_all(parent.get());
  }
  MPI_Group all = MPI_GROUP_NULL;
  check_mpi(MPI_Comm_group(parent.get(), &all), "MPI_Comm_group");
  MPI_Group group = MPI_GROUP_NULL;
  int code = MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &group);
  MPI_Group_free(&all);
  check_mpi(code, "MPI_Group_incl");
  MPI_Comm made = MPI_COMM_NULL;
  code = MPI_Comm_create_group(parent.get(), group, tag + 1, &made);
  MPI_Group_free(&group);
  check_mpi(code, "MPI_Comm_create_group");
  return made;
}

void begin_duplicate(MPI_Comm original, MPI_Comm* copy, MPI_Request* request) {
#ifdef LANEWAY_HAS_COMM_IDUP
  check_mpi(MPI_Comm_idup(original, copy, request), "MPI_Comm_idup");
#else
  (void)original, (void)copy, (void)request;
  throw Error(
      ErrorKind::unsupported,
      "comm: this MPI library has no MPI_Comm_idup, so the first call on a communicator must be a blocking one");
#endif
}

}  // namespace

PrivateComm::PrivateComm(MPI_Comm original, Creation creation) {
  if (creation == Creation::nonblocking)
    begin_duplicate(original, &comm_, &creation_);
  else
    comm_ = duplicate(original);
  begin_to_live(original);
}

PrivateComm::PrivateComm(const PrivateComm& parent, const std::vector<Rank>& members, int tag)
    : comm_(create_among(parent, members, tag)) {
  begin_to_live(comm_);
}

void PrivateComm::begin_to_live(MPI_Comm original) {
  check_mpi(MPI_Comm_rank(original, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(original, &size_), "MPI_Comm_size");
  if (creation_ == MPI_REQUEST_NULL) {
    check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    ready_.store(true, std::memory_order_relaxed);
  }
  void* bound = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(has_world() ? MPI_COMM_WORLD : original, MPI_TAG_UB, &bound, &found),
            "MPI_Comm_get_attr");
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
  end_creation();
  if (graph_ != MPI_COMM_NULL) MPI_Comm_free(&graph_);
  if (comm_ != MPI_COMM_NULL) MPI_Comm_free(&comm_);
}

void PrivateComm::end_creation() {
  // All ranks have begun the creation before any of them can come here.
  if (creation_ != MPI_REQUEST_NULL) MPI_Wait(&creation_, MPI_STATUS_IGNORE);
}

bool PrivateComm::advance_creation() {
  if (advancing_.exchange(true, std::memory_order_acquire)) return false;
  int flag = ready_.load(std::memory_order_relaxed);
  try {
    if (!flag) {
      check_mpi(MPI_Test(&creation_, &flag, MPI_STATUS_IGNORE), "MPI_Comm_idup");
      if (flag) check_mpi(MPI_Comm_set_errhandler(comm_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
  } catch (...) {
    advancing_.store(false, std::memory_order_release);
    throw;
  }
  if (flag) ready_.store(true, std::memory_order_release);
  advancing_.store(false, std::memory_order_release);
  return flag != 0;
}

void PrivateComm::call_error_handler(MPI_Errhandler handler, int code) const {
  MPI_Comm target = created() ? comm_ : MPI_COMM_SELF;
  // Other threads must not meet the handler in calls that expect errors to be returned.
  const bool is_shared = !single_threaded() && has_world();
  static std::mutex mutex;
  if (is_shared) {
    const std::lock_guard lock(mutex);
    MPI_Group self = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_SELF, &self);
    MPI_Comm_create(MPI_COMM_SELF, self, &target);
    MPI_Group_free(&self);
  }
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(target, &before);
  MPI_Comm_set_errhandler(target, handler);
  laneway::call_error_handler(target, code);
  MPI_Comm_set_errhandler(target, before);
  MPI_Errhandler_free(&before);
  if (is_shared) MPI_Comm_free(&target);
}

bool PrivateComm::has_tags() const {
  return next_tag_ <= last_tag_ - plan_channels;
}

int PrivateComm::take_tags(int count) {
  LANEWAY_ASSERT(1, count <= plan_channels && has_tags());
  return std::exchange(next_tag_, next_tag_ + count);
}

bool single_threaded() {
  if constexpr (simulated) return true;
  static const bool single = [] {
    int level = MPI_THREAD_SINGLE;
    check_mpi(MPI_Query_thread(&level), "MPI_Query_thread");
    return level != MPI_THREAD_MULTIPLE;
  }();
  return single;
}

void call_error_handler(MPI_Comm comm, int code) {
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (MPI_Comm_get_errhandler(comm, &handler) == MPI_SUCCESS) {
    if (handler == MPI_ERRORS_ARE_FATAL) {
      std::array<char, MPI_MAX_ERROR_STRING + 1> text{};
      int length = 0;
      if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS) tell(text.data());
    }
    MPI_Errhandler_free(&handler);
  }
  MPI_Comm_call_errhandler(comm, code);
}

ErrorHandler::ErrorHandler(MPI_Comm comm, std::shared_ptr<const UserComm> user) : user_(std::move(user)) {
  check_mpi(MPI_Comm_get_errhandler(comm, &handler_), "MPI_Comm_get_errhandler");
}

ErrorHandler::~ErrorHandler() {
  if (handler_ != MPI_ERRHANDLER_NULL && !mpi_is_finalized()) MPI_Errhandler_free(&handler_);
}

void ErrorHandler::call(const PrivateComm& stand_in, int code) const {
  const MPI_Comm user = user_->load(std::memory_order_acquire);
  if (user != MPI_COMM_NULL)
    call_error_handler(user, code);
  else if (handler_ != MPI_ERRORS_RETURN)
    stand_in.call_error_handler(handler_, code);
}

Communicator::Communicator(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag)
    : kept_plans(std::make_unique<KeptPlans>()),
      comm_(comm),
      user_(std::make_shared<UserComm>(comm)),
      private_(std::move(priv)),
      start_order_(std::make_shared<StartOrder>(private_, nonblocking_tag)) {}

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

Communicator& Communicator::attach(MPI_Comm comm, std::shared_ptr<PrivateComm> priv, int nonblocking_tag) {
  auto fresh = std::unique_ptr<Communicator>(new Communicator(comm, std::move(priv), nonblocking_tag));
  check_mpi(MPI_Comm_set_attr(comm, communicator_key, fresh.get()), "MPI_Comm_set_attr");
  return *fresh.release();
}

Communicator& Communicator::of(MPI_Comm comm) {
  Communicator* known = find(comm);
  return known ? *known : attach(comm, std::make_shared<PrivateComm>(comm), PrivateComm::nonblocking_tag);
}

Communicator& Communicator::of_nonblocking(MPI_Comm comm) {
  Communicator* known = find(comm);
  if (known != nullptr && !known->unmade_) return *known;
  auto begun = std::make_shared<PrivateComm>(comm, PrivateComm::Creation::nonblocking);
  if (known == nullptr) return attach(comm, std::move(begun), PrivateComm::nonblocking_tag);
  known->use(std::move(begun));
  return *known;
}

Communicator& Communicator::derive(MPI_Comm comm, const std::shared_ptr<PrivateComm>& parent) {
  return attach(comm, parent, parent->take_tags());
}

void Communicator::part_from_parent() {
  unmade_ = {{}, start_order_->tag()};
}

void Communicator::restrict_to(std::vector<Rank> members, bool single) {
  partial = true;
  idle = !std::ranges::binary_search(members, private_->rank());
  if (single) of_all_ = private_;
  (void)topology();  // in ranks of the parent's, as long as it can be read
  if (!idle) unmade_ = {std::move(members), start_order_->tag()};
}

void Communicator::use(std::shared_ptr<PrivateComm> own) {
  private_ = std::move(own);
  start_order_ = std::make_shared<StartOrder>(private_, PrivateComm::nonblocking_tag);
  unmade_.reset();
}

void Communicator::make_own() {
  std::vector<Rank> members = unmade_->members;
  if (members.empty()) {
    members.resize(static_cast<std::size_t>(private_->size()));
    std::iota(members.begin(), members.end(), 0);
  }
  use(std::make_shared<PrivateComm>(*private_, members, unmade_->tag));
  if (!partial) return;
  // What is known is in ranks of the parent's.
  Topology translated = *topology_;
  for (std::vector<Neighbor>* neighbors : {&translated.sources, &translated.destinations})
    for (Neighbor& neighbor : *neighbors)
      neighbor.rank = static_cast<Rank>(std::ranges::lower_bound(members, neighbor.rank) - members.begin());
  set_topology(std::move(translated));
  fabrics_.clear();
  regions_.clear();
  peer_regions_.clear();
}

std::unique_ptr<Communicator> Communicator::with_topology(MPI_Comm comm, Topology topology, bool single) {
  const std::shared_ptr<PrivateComm> parent = of(comm).private_comm();
  const auto priv = single ? parent : std::make_shared<PrivateComm>(parent->get());
  const int tag = single ? parent->take_tags() : int{PrivateComm::nonblocking_tag};
  auto made = std::unique_ptr<Communicator>(new Communicator(MPI_COMM_NULL, priv, tag));
  made->topology_ = std::make_unique<Topology>(std::move(topology));
  made->error_handler_ = of(comm).error_handler();
  return made;
}

std::shared_ptr<PrivateComm> Communicator::private_comm_of_all() {
  if (!partial) return private_comm();
  if (of_all_ && !of_all_->has_tags()) of_all_ = std::make_shared<PrivateComm>(of_all_->get());
  return of_all_;
}

Rank Communicator::ranks() const {
  return unmade_ && !unmade_->members.empty() ? static_cast<Rank>(unmade_->members.size()) : private_->size();
}

std::shared_ptr<PrivateComm> Communicator::private_comm() {
  if (unmade_) make_own();
  if (!private_->ready()) progress_until([&] { return private_->ready(); });
  if (!private_->has_tags()) {
    private_ = std::make_shared<PrivateComm>(private_->get());
    kept_plans->forget();  // they would keep the old one
  }
  return private_;
}

const Topology& Communicator::topology() {
  if (!topology_) topology_ = std::make_unique<Topology>(read_topology(comm_));
  return *topology_;
}

const Communicator::CallHints& Communicator::call_hints() {
  if (!call_hints_) call_hints_ = {resolve_progress(hints), resolve_memory_path(hints)};
  return *call_hints_;
}

Communicator::~Communicator() {
  if (comm_ != MPI_COMM_NULL) user_->store(MPI_COMM_NULL, std::memory_order_release);
}

const Region& Communicator::node(const std::string& machine) {
  Hints settings;
  settings.machine = machine;
  return regions(settings).front();
}

std::shared_ptr<const ErrorHandler> Communicator::error_handler() const {
  return error_handler_ ? error_handler_ : std::make_shared<const ErrorHandler>(comm_, user_);
}

void Communicator::read_descriptions(Hints& settings) {
  // Read once for a communicator, as what they describe is.
  const std::pair files(settings.machine, settings.parameters);
  auto known = file_hashes_.find(files);
  if (known == file_hashes_.end())
    known = file_hashes_.emplace(files, hash_of_files(settings.machine, settings.parameters)).first;
  settings.files = known->second;
  if (!settings.machine.empty() || !settings.grid.empty()) (void)regions(settings);
  (void)fabric(settings.machine);
  if (!settings.machine.empty()) (void)network_distance(settings);
  if (!settings.parameters.empty() && settings.parameters != measured_parameters) (void)parameters(settings, false);
}

std::shared_ptr<const Parameters> Communicator::parameters(const Hints& settings, bool one_node) {
  if (settings.parameters == measured_parameters) {
    std::shared_ptr<const Parameters>& known = private_->measured[settings.machine];
    if (!known)
      known = std::make_shared<const Parameters>(
          calibrate_quickly(*private_, node(settings.machine), Parameters::read(kind_of_machine(one_node))));
    return known;
  }
  const std::string name = settings.parameters.empty() ? kind_of_machine(one_node) : settings.parameters;
  std::shared_ptr<const Parameters>& known = private_->parameters[name];
  if (!known) known = std::make_shared<const Parameters>(Parameters::read(name));
  return known;
}

std::shared_ptr<const Fabric> Communicator::fabric(const std::string& machine) {
  if (machine.empty()) return nullptr;
  auto it = fabrics_.find(machine);
  if (it == fabrics_.end()) it = fabrics_.emplace(machine, find_fabric(private_->get(), machine)).first;
  return it->second;
}

int Communicator::network_distance(const Hints& settings, const MemoryInfo& buffer) {
  if (!settings.level.empty() || !settings.grid.empty()) return 0;
  const std::string& machine = settings.machine;
  if (machine.empty()) return own_network_distance(buffer);
  auto it = network_distances_.find(machine);
  if (it == network_distances_.end())
    it = network_distances_.emplace(machine, described_network_distance(machine)).first;
  return it->second;
}

namespace {

const std::string& described(const Hints& settings) {
  return settings.grid.empty() ? settings.machine : settings.grid;
}

}  // namespace

std::optional<Rank> Communicator::known_region(const Hints& settings) {
  if (!described(settings).empty()) return regions(settings).front().id;
  const bool is_node = settings.inner.empty() && (settings.level.empty() || settings.level == "node");
  if (!is_node || known_world() == 0) return std::nullopt;
  return find_node(private_->get(), "", true).id;
}

const std::map<Rank, Rank>* Communicator::peer_regions(const Hints& settings) const {
  const auto known = peer_regions_.find({described(settings), settings.level});
  return known == peer_regions_.end() ? nullptr : &known->second;
}

void Communicator::learn_regions(const Hints& settings, const std::map<Rank, Rank>& regions) {
  if (!regions.empty()) peer_regions_.try_emplace({described(settings), settings.level}, regions);
}

const std::vector<Region>& Communicator::regions(const Hints& settings, bool translate) {
  std::vector<std::string> names = {settings.level};
  for (const LevelChoice& level : settings.inner) names.push_back(level.level);
  std::vector<std::string> key = names;
  key.push_back(described(settings));
  const Region* const on_one_device = settings.machine.empty() && node_devices ? &node_devices->sharing : nullptr;
  if (on_one_device != nullptr) key.emplace_back("gpu");
  const auto it = regions_.find(key);
  if (it != regions_.end()) return it->second;
  std::vector<Region> found;
  if (settings.grid.empty()) {
    found = find_levels(private_->get(), settings.machine, names, translate, on_one_device);
  } else {
    const Machine grid = Machine::parse(settings.grid, private_->size());
    for (std::size_t level = 0; level < names.size(); ++level)
      found.push_back(grid.region(static_cast<int>(level), private_->rank()));
  }
  return regions_.emplace(std::move(key), std::move(found)).first->second;
}

}  // namespace laneway
