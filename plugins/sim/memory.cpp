#include "memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <mutex>
#include <random>
#include <string>

#include "node.hpp"

namespace laneway::sim {

namespace {

/// What the bytes of lnw_ipc_memory.handle are.
struct Handle {
  std::int64_t descriptor;
  std::uint64_t token;
};

[[noreturn]] void fail_by_system(const char* call) {
  const int status =
      errno == ENOMEM || errno == EMFILE || errno == ENFILE ? LNW_DEVICE_OUT_OF_MEMORY : LNW_DEVICE_FAILED;
  throw Failure(status, std::string(call) + ": " + std::strerror(errno));
}

std::size_t whole_pages(std::size_t bytes) {
  static const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return (bytes + page - 1) / page * page;
}

std::byte* map(std::size_t bytes, int protection, int flags, int descriptor, off_t offset) {
  void* const mapped = mmap(nullptr, bytes, protection, flags, descriptor, offset);
  if (mapped == MAP_FAILED) fail_by_system("mmap");
  return static_cast<std::byte*>(mapped);
}

}  // namespace

std::uint64_t new_token() {
  std::random_device random;
  return (std::uint64_t{random()} << 32) | random();
}

int make_shared(std::size_t bytes, std::uint64_t token) {
  const int descriptor = memfd_create("laneway-sim", MFD_CLOEXEC);
  if (descriptor < 0) fail_by_system("memfd_create");
  if (fchmod(descriptor, S_IRUSR | S_IWUSR) != 0 ||
      ftruncate(descriptor, static_cast<off_t>(shared_header_bytes + bytes)) != 0 ||
      pwrite(descriptor, &token, sizeof token, 0) != static_cast<ssize_t>(sizeof token)) {
    close(descriptor);
    fail_by_system("memfd_create");
  }
  return descriptor;
}

int open_shared(std::int64_t process, std::int64_t descriptor, std::uint64_t token) {
  const std::string path = "/proc/" + std::to_string(process) + "/fd/" + std::to_string(descriptor);
  // Where the process is another one than meant, opening what it has there could have effects.
  char target[32] = {};
  const bool is_meant = readlink(path.c_str(), target, sizeof target - 1) > 0 &&
                        std::string_view(target).starts_with("/memfd:laneway-sim");
  const int opened = is_meant ? ::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
  std::uint64_t found = 0;
  if (opened >= 0 && pread(opened, &found, sizeof found, 0) == static_cast<ssize_t>(sizeof found) && found == token)
    return opened;
  if (opened >= 0) ::close(opened);
  throw Failure(LNW_DEVICE_INVALID, "it was freed, or process " + std::to_string(process) + " has ended");
}

std::byte* map_shared(int descriptor, std::size_t bytes) {
  return map(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, static_cast<off_t>(shared_header_bytes));
}

void write_uuid(int device, unsigned char uuid[16]) {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string machine((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::uint64_t hash = std::hash<std::string>{}(machine + host);
  std::memcpy(uuid, &hash, sizeof hash);
  std::memcpy(uuid + 8, "sim", 4);
  std::memcpy(uuid + 12, &device, 4);
}

std::byte* Memory::take_view(std::size_t bytes) {
  if (auto& kept = views_[bytes]; !kept.empty()) {
    std::byte* const view = kept.back();
    kept.pop_back();
    freed_.erase(view);
    return view;
  }
  return map(bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

/// Lets the host touch device memory where everybody knows it, if it may.
void Memory::show(const Allocation& allocation) const {
  if ((settings_.features & LNW_DEVICE_HAS_DIRECT_HOST) == 0) return;
  if (mmap(allocation.base, allocation.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
           allocation.descriptor, static_cast<off_t>(shared_header_bytes)) == MAP_FAILED)
    fail_by_system("mmap");
}

void Memory::add(Allocation allocation) {
  allocation.buffer_id = ++last_buffer_id_;
  const std::byte* const base = allocation.base;
  allocations_[base] = std::make_shared<Allocation>(std::move(allocation));
}

std::byte* Memory::allocate(lnw_memory_kind kind, int device, std::size_t bytes) {
  if (bytes == 0) return nullptr;
  const std::lock_guard lock(mutex_);
  Allocation made;
  made.kind = kind;
  made.device = device;
  made.bytes = bytes;
  made.mapped_bytes = whole_pages(bytes);
  if (kind != LNW_MEMORY_DEVICE) {
    made.base = made.accessible = map(made.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    add(made);
    return made.base;
  }
  std::uint64_t& used = used_[device];
  if (made.mapped_bytes > settings_.memory_bytes || used > settings_.memory_bytes - made.mapped_bytes)
    throw Failure(LNW_DEVICE_OUT_OF_MEMORY, std::to_string(bytes) + " bytes on sim device " + std::to_string(device) +
                                                ", which has " + std::to_string(settings_.memory_bytes) + " and " +
                                                std::to_string(used) + " in use");
  made.descriptor = make_shared(made.mapped_bytes, new_token());
  try {
    made.accessible = map_shared(made.descriptor, made.mapped_bytes);
    made.base = take_view(made.mapped_bytes);
    show(made);
  } catch (...) {
    if (made.accessible != nullptr) munmap(made.accessible, made.mapped_bytes);
    ::close(made.descriptor);
    throw;
  }
  used += made.mapped_bytes;
  add(made);
  return made.base;
}

void Memory::unmap(const Allocation& allocation) {
  munmap(allocation.accessible, allocation.mapped_bytes);
  if (allocation.base == allocation.accessible) return;
  ::close(allocation.descriptor);
  if ((settings_.features & LNW_DEVICE_HAS_DIRECT_HOST) != 0)
    mmap(allocation.base, allocation.mapped_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
         -1, 0);
  freed_[allocation.base] = allocation.mapped_bytes;
  views_[allocation.mapped_bytes].push_back(allocation.base);
}

std::shared_ptr<Allocation> Memory::remove(void* pointer, const char* what) {
  const auto found = allocations_.find(static_cast<const std::byte*>(pointer));
  if (found == allocations_.end())
    throw Failure(LNW_DEVICE_INVALID, std::string("no ") + what + " begins at this address");
  std::shared_ptr<Allocation> allocation = std::move(found->second);
  allocations_.erase(found);
  return allocation;
}

void Memory::free(void* pointer, bool device_memory) {
  if (pointer == nullptr) return;
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(static_cast<const std::byte*>(pointer));
  if (found == allocations_.end() || found->second->imported || found->second->mapped_bytes == 0 ||
      (found->second->kind != LNW_MEMORY_PINNED) != device_memory)
    throw Failure(LNW_DEVICE_INVALID,
                  std::string("no ") + (device_memory ? "device" : "pinned") + " memory was allocated at this address");
  const auto allocation = remove(pointer, "memory");
  if (allocation->kind == LNW_MEMORY_DEVICE) used_[allocation->device] -= allocation->mapped_bytes;
  unmap(*allocation);
}

void Memory::pin(int device, void* pointer, std::size_t bytes) {
  if (pointer == nullptr || bytes == 0) throw Failure(LNW_DEVICE_INVALID, "no memory to register");
  const std::lock_guard lock(mutex_);
  auto* const begin = static_cast<std::byte*>(pointer);
  const auto after = allocations_.lower_bound(begin + bytes);
  if (after != allocations_.begin()) {
    const Allocation& before = *std::prev(after)->second;
    if (before.base + before.bytes > begin)
      throw Failure(LNW_DEVICE_INVALID, "part of the memory is registered, or was allocated as pinned or a device's");
  }
  Allocation made;
  made.kind = LNW_MEMORY_PINNED;
  made.device = device;
  made.base = made.accessible = begin;
  made.bytes = bytes;
  add(made);
}

void Memory::unpin(void* pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(static_cast<const std::byte*>(pointer));
  if (found == allocations_.end() || found->second->mapped_bytes != 0)
    throw Failure(LNW_DEVICE_INVALID, "no memory was registered at this address");
  allocations_.erase(found);
}

std::shared_ptr<const Allocation> Memory::find(const void* pointer) const {
  const std::shared_lock lock(mutex_);
  const auto* const at = static_cast<const std::byte*>(pointer);
  const auto after = allocations_.upper_bound(at);
  if (after == allocations_.begin()) return nullptr;
  const auto& before = std::prev(after)->second;
  return at < before->base + before->bytes ? before : nullptr;
}

std::byte* Memory::accessible(const void* pointer, std::size_t bytes) const {
  auto* const at = static_cast<std::byte*>(const_cast<void*>(pointer));
  if (const auto found = find(pointer)) {
    const auto offset = static_cast<std::size_t>(at - found->base);
    if (found->kind != LNW_MEMORY_PINNED && bytes > found->bytes - offset)
      throw Failure(LNW_DEVICE_FAILED, "illegal address: " + std::to_string(bytes) + " bytes from byte " +
                                           std::to_string(offset) + " of device memory of " +
                                           std::to_string(found->bytes) + " bytes");
    return found->accessible + offset;
  }
  const std::shared_lock lock(mutex_);
  const auto after = freed_.upper_bound(at);
  if (after != freed_.begin() && at < std::prev(after)->first + std::prev(after)->second)
    throw Failure(LNW_DEVICE_FAILED, "illegal address: device memory that was freed");
  return at;
}

void Memory::share(const void* pointer, lnw_ipc_memory* memory) const {
  const auto found = find(pointer);
  if (!found || found->kind != LNW_MEMORY_DEVICE || found->imported)
    throw Failure(LNW_DEVICE_UNSUPPORTED, "only this process's device memory can be shared");
  *memory = {};
  Handle handle{found->descriptor, 0};
  if (pread(found->descriptor, &handle.token, sizeof handle.token, 0) != static_cast<ssize_t>(sizeof handle.token))
    fail_by_system("pread");
  std::memcpy(memory->handle, &handle, sizeof handle);
  write_uuid(found->device, memory->device_uuid);
  memory->buffer_id = found->buffer_id;
  memory->base = reinterpret_cast<std::uintptr_t>(found->base);
  memory->bytes = found->bytes;
  memory->offset = static_cast<std::uint64_t>(static_cast<const std::byte*>(pointer) - found->base);
  memory->process = getpid();
  memory->process_began_at = plugin::process_began_at();
}

std::byte* Memory::open(const lnw_ipc_memory& memory) {
  if (memory.process == getpid()) throw Failure(LNW_DEVICE_INVALID, "it is of this process");
  int owner = 0;
  for (unsigned char uuid[16]; owner < settings_.devices; ++owner) {
    write_uuid(owner, uuid);
    if (std::memcmp(uuid, memory.device_uuid, sizeof uuid) == 0) break;
  }
  if (owner == settings_.devices) throw Failure(LNW_DEVICE_INVALID, "its device is not of this node");
  Handle handle{};
  std::memcpy(&handle, memory.handle, sizeof handle);
  Allocation made;
  made.device = owner;
  made.bytes = memory.bytes;
  made.mapped_bytes = whole_pages(memory.bytes);
  made.imported = true;
  made.descriptor = open_shared(memory.process, handle.descriptor, handle.token);
  struct stat opened {};
  fstat(made.descriptor, &opened);
  const std::lock_guard lock(mutex_);
  for (const auto& [base, other] : allocations_) {
    struct stat known {};
    if (!other->imported || fstat(other->descriptor, &known) != 0 || known.st_ino != opened.st_ino) continue;
    ::close(made.descriptor);
    throw Failure(LNW_DEVICE_UNSUPPORTED, "it is open here already");
  }
  made.accessible = map_shared(made.descriptor, made.mapped_bytes);
  made.base = take_view(made.mapped_bytes);
  show(made);
  add(made);
  return made.base;
}

void Memory::close(void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = allocations_.find(static_cast<const std::byte*>(base));
  if (found == allocations_.end() || !found->second->imported)
    throw Failure(LNW_DEVICE_INVALID, "no memory of another process was opened at this address");
  unmap(*remove(base, "memory"));
}

std::size_t Memory::allocations() const {
  const std::shared_lock lock(mutex_);
  return allocations_.size();
}

}  // namespace laneway::sim
