// A library with NCCL's functions for devices of the sim plugin (lnw_transport=nccl), where no GPU is: what is sent
// goes to other processes in the order of streams, through memory that they share and that has no name once all are
// there. Stricter than NCCL: a receive of another size than its send is an error. The device of a rank is the one that
// the thread has chosen; two ranks on one are refused.
//
// LANEWAY_TEST_NCCL_FAILS names a function that returns an error. Declarations are those of nccl.h.
#include <dlfcn.h>
#include <fcntl.h>
#include <laneway/device.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

extern "C" {
typedef struct ncclComm* ncclComm_t;
typedef struct {
  char internal[128];
} ncclUniqueId;
typedef enum {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7
} ncclResult_t;
typedef int ncclDataType_t;
}

namespace stand_in {

constexpr int most_ranks = 16;
constexpr std::size_t ring_bytes = 8192;

/// From one rank to another.
struct Ring {
  std::atomic<std::uint64_t> written{0};
  std::atomic<std::uint64_t> read{0};
  std::array<unsigned char, ring_bytes> bytes;
};
struct Shared {
  std::atomic<int> joined{0};
  std::atomic<int> refused{0};
  std::atomic<int> aborted{0};
  unsigned char devices[most_ranks][16];
  Ring rings[most_ranks][most_ranks];  // by sender, receiver
};

/// What one side of a message has done so far, its size first.
struct Message {
  bool is_send = false;
  int peer = 0;
  void* device = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t size = 0;  // as the sender says
  std::uint64_t done = 0;  // of the size's bytes and its own
  std::vector<unsigned char> data = {};

  [[nodiscard]] bool is_done() const { return done == sizeof size + bytes; }
};
struct Group {
  ncclComm* comm = nullptr;
  std::vector<Message> messages;
  std::atomic<bool> is_over{false};
};

}  // namespace stand_in

namespace {

using namespace stand_in;

const lnw_device_table& table() {
  static const lnw_device_table* const found = [] {
    const std::string plugins = std::getenv("LANEWAY_DEVICE_PLUGINS");
    void* const library = dlopen(plugins.substr(0, plugins.find(':')).c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto get = reinterpret_cast<lnw_device_table_function>(dlsym(library, LNW_DEVICE_TABLE_SYMBOL));
    return get(LNW_DEVICE_TABLE_VERSION);
  }();
  return *found;
}

bool fails(const char* function) {
  const char* const named = std::getenv("LANEWAY_TEST_NCCL_FAILS");
  return named != nullptr && std::strcmp(named, function) == 0;
}

}  // namespace

struct ncclComm {
  stand_in::Shared* shared = nullptr;
  int ranks = 0;
  int rank = 0;
  int device = 0;
  std::atomic<int> error{ncclSuccess};
  std::vector<std::unique_ptr<stand_in::Group>> groups;  // that have begun
};

namespace {

/// What the thread's group has so far.
thread_local int depth = 0;
thread_local std::unique_ptr<Group> group_of_thread;
thread_local void* stream_of_group = nullptr;
int communicators = 0;  // of the process
int messages = 0;

/// When the process ends.
struct Ending {
  ~Ending() {
    if (communicators > 0) std::fprintf(stderr, "stand-in of NCCL: %d communicators are left\n", communicators);
  }
} ending;

/// Moves what it can now. Returns whether that was anything.
bool advance(Message& message, Ring& ring) {
  const std::uint64_t written = ring.written.load(std::memory_order_acquire);
  const std::uint64_t read = ring.read.load(std::memory_order_acquire);
  const std::uint64_t ready = message.is_send ? ring_bytes - (written - read) : written - read;
  const std::uint64_t now = std::min(ready, sizeof message.size + message.bytes - message.done);
  for (std::uint64_t i = 0; i < now; ++i, ++message.done) {
    unsigned char* const own = message.done < sizeof message.size
                                   ? reinterpret_cast<unsigned char*>(&message.size) + message.done
                                   : message.data.data() + message.done - sizeof message.size;
    unsigned char& there = ring.bytes[((message.is_send ? written : read) + i) % ring_bytes];
    (message.is_send ? there : *own) = message.is_send ? *own : there;
  }
  (message.is_send ? ring.written : ring.read).fetch_add(now, std::memory_order_release);
  return now > 0;
}

/// In the stream, between copies from and to the device. Messages of two ranks go one after another.
void move(void* argument) {
  Group& group = *static_cast<Group*>(argument);
  ncclComm& comm = *group.comm;
  for (bool is_over = false; !is_over && comm.shared->aborted == 0 && comm.error == ncclSuccess;) {
    is_over = true;
    bool moved = false;
    std::array<std::array<bool, most_ranks>, 2> waits{};
    for (Message& message : group.messages) {
      bool& waits_before = waits[message.is_send ? 1 : 0][static_cast<std::size_t>(message.peer)];
      if (message.is_done() || waits_before) continue;
      Ring& ring =
          message.is_send ? comm.shared->rings[comm.rank][message.peer] : comm.shared->rings[message.peer][comm.rank];
      moved = advance(message, ring) || moved;
      if (message.done >= sizeof message.size && message.size != message.bytes) {
        std::fprintf(stderr, "stand-in of NCCL: rank %d sends %llu bytes to rank %d, which receives %llu\n",
                     message.peer, static_cast<unsigned long long>(message.size), comm.rank,
                     static_cast<unsigned long long>(message.bytes));
        comm.error = ncclInvalidUsage;
        comm.shared->aborted = 1;
      }
      waits_before = !message.is_done();
      is_over = is_over && message.is_done();
    }
    if (!moved) sched_yield();
  }
  if (comm.shared->aborted != 0 && comm.error == ncclSuccess) comm.error = ncclRemoteError;
}

ncclResult_t launch(std::unique_ptr<Group> group, void* stream) {
  ncclComm& comm = *group->comm;
  const lnw_device_table& on = table();
  std::erase_if(comm.groups, [](const auto& one) { return one->is_over.load(); });
  int wrong = 0;
  for (Message& message : group->messages) {
    message.size = message.is_send ? message.bytes : 0;
    message.data.resize(message.bytes);
    if (message.is_send) wrong |= on.copy(comm.device, stream, message.data.data(), message.device, message.bytes);
  }
  wrong |= on.host_call(comm.device, stream, move, group.get());
  for (Message& message : group->messages)
    if (!message.is_send) wrong |= on.copy(comm.device, stream, message.device, message.data.data(), message.bytes);
  const auto end = [](void* over) { static_cast<std::atomic<bool>*>(over)->store(true); };
  wrong |= on.host_call(comm.device, stream, end, &group->is_over);
  comm.groups.push_back(std::move(group));
  return wrong == LNW_DEVICE_OK ? ncclSuccess : ncclUnhandledCudaError;
}

ncclResult_t add(Message message, ncclComm_t comm, void* stream, int type) {
  if (comm == nullptr || type > 1 || message.peer < 0 || message.peer >= comm->ranks) return ncclInvalidArgument;
  lnw_device_memory memory{};
  if (message.bytes > 0 && (table().memory_at(message.device, &memory) != LNW_DEVICE_OK ||
                            memory.kind == LNW_MEMORY_HOST || memory.device != comm->device))
    return ncclInvalidArgument;
  const bool is_alone = depth == 0;
  if (!group_of_thread) group_of_thread = std::make_unique<Group>();
  if (group_of_thread->comm != nullptr && (group_of_thread->comm != comm || stream_of_group != stream))
    return ncclInvalidUsage;
  group_of_thread->comm = comm;
  stream_of_group = stream;
  ++messages;
  group_of_thread->messages.push_back(std::move(message));
  return is_alone ? launch(std::move(group_of_thread), stream) : ncclSuccess;
}

ncclResult_t end(ncclComm_t comm) {
  while (std::ranges::any_of(comm->groups, [](const auto& one) { return !one->is_over; })) sched_yield();
  munmap(comm->shared, sizeof(Shared));
  delete comm;
  --communicators;
  return ncclSuccess;
}

}  // namespace

extern "C" {
#pragma GCC visibility push(default)

/// How many communicators the process has, and messages it has given to groups. Not NCCL's.
int stand_in_communicators() {
  return communicators;
}
int stand_in_messages() {
  return messages;
}

const char* ncclGetErrorString(ncclResult_t result) {
  constexpr const char* texts[] = {"no error",
                                   "unhandled cuda error",
                                   "unhandled system error",
                                   "internal error",
                                   "invalid argument",
                                   "invalid usage",
                                   "remote process exited or there was a network error",
                                   "NCCL operation in progress"};
  return texts[result];
}

ncclResult_t ncclGetVersion(int* version) {
  *version = 22700;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static int made = 0;
  if (fails("ncclGetUniqueId")) return ncclSystemError;
  std::snprintf(id->internal, sizeof id->internal, "/laneway-nccl-%d-%d", static_cast<int>(getpid()), made++);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  const bool refuses = fails("ncclCommInitRank");
  if (ranks > most_ranks) return ncclInvalidArgument;
  const int file = shm_open(id.internal, O_CREAT | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return ncclSystemError;
  void* const memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  auto made = std::make_unique<ncclComm>();
  made->shared = static_cast<Shared*>(memory);
  made->ranks = ranks;
  made->rank = rank;
  lnw_device_info info{};
  if (table().current_device(&made->device) != LNW_DEVICE_OK ||
      table().device_info(made->device, &info) != LNW_DEVICE_OK)
    return ncclUnhandledCudaError;
  std::memcpy(made->shared->devices[rank], info.uuid, sizeof info.uuid);
  if (refuses) made->shared->refused = 1;
  if (++made->shared->joined == ranks) shm_unlink(id.internal);
  while (made->shared->joined < ranks) sched_yield();
  bool is_valid = made->shared->refused == 0;
  for (int other = 0; other < ranks; ++other)
    is_valid =
        is_valid && (other == rank || std::memcmp(made->shared->devices[other], info.uuid, sizeof info.uuid) != 0);
  if (!is_valid) {
    munmap(memory, sizeof(Shared));
    return refuses ? ncclSystemError : ncclInvalidUsage;
  }
  ++communicators;
  *comm = made.release();
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return end(comm);
}

ncclResult_t ncclCommAbort(ncclComm_t comm) {
  comm->shared->aborted = 1;
  return end(comm);
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  *error = fails("ncclCommGetAsyncError") ? ncclRemoteError : static_cast<ncclResult_t>(comm->error.load());
  return ncclSuccess;
}

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (depth == 0) return ncclInvalidUsage;
  if (--depth > 0 || !group_of_thread) return ncclSuccess;
  if (fails("ncclGroupEnd")) {
    group_of_thread = nullptr;
    return ncclInternalError;
  }
  return launch(std::move(group_of_thread), stream_of_group);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, void* stream) {
  if (fails("ncclSend")) return ncclInvalidUsage;
  return add({.is_send = true, .peer = peer, .device = const_cast<void*>(from), .bytes = count}, comm, stream, type);
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, void* stream) {
  return add({.peer = peer, .device = to, .bytes = count}, comm, stream, type);
}

#pragma GCC visibility pop
}
