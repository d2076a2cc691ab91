#include "operations/channel/other_process.hpp"

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <system_error>
#include <vector>

#include "base/process/ended.hpp"

namespace laneway {

namespace {

/// When the system is asked again of a process that has ended.
constexpr auto for_good = std::numeric_limits<std::int64_t>::max();

/// Processes that number processes in different ways are given apart, and those of nodes that are emulated on one
/// machine, which have names of their own.
std::uint64_t running_system() {
  static const std::uint64_t system = [] {
    std::string text;
    std::ifstream file("/proc/sys/kernel/random/boot_id");
    std::getline(file, text);
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) text += name.data();
    std::error_code failed;
    text += std::filesystem::read_symlink("/proc/self/ns/pid", failed).string();
    return text.empty() || failed ? 0 : static_cast<std::uint64_t>(std::hash<std::string>()(text));
  }();
  return system;
}

/// As launchers tell it; 0 if this one does not.
std::size_t ranks_of_launcher() {
  for (const char* const name : {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"})
    if (const char* const text = std::getenv(name)) return std::strtoul(text, nullptr, 10);
  return 0;
}

}  // namespace

OwnProcess own_process() {
  return {running_system(), getpid(), own_processors()};
}

void learn_patience_of(const OwnProcess& other, std::size_t ranks) {
  const OwnProcess own = own_process();
  if (own.machine == 0 || own.machine != other.machine) return;
  std::vector<Processors> known = {own.processors};
  if (other.process != own.process) known.push_back(other.processors);
  if (const std::size_t given = ranks_of_launcher(); given > 0) ranks = given;
  if (ranks > 0) learn_patience(ranks, known);
}

class OtherProcess::Descriptor {
 public:
  explicit Descriptor(int descriptor) : descriptor_(descriptor) {}
  ~Descriptor() { close(descriptor_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

  /// Null where the system has none.
  [[nodiscard]] static std::shared_ptr<const Descriptor> of([[maybe_unused]] std::int64_t process) {
#ifdef SYS_pidfd_open
    static std::mutex mutex;
    static auto* const known = new std::map<std::int64_t, std::weak_ptr<const Descriptor>>;  // never destroyed
    const std::lock_guard lock(mutex);
    std::erase_if(*known, [](const auto& each) { return each.second.expired(); });
    if (const auto found = known->find(process); found != known->end())
      // The number is of another process only once this one has ended, which its descriptor says.
      if (auto shared = found->second.lock()) return shared;
    const int opened = static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(process), 0));
    if (opened < 0) return nullptr;
    auto made = std::make_shared<const Descriptor>(opened);
    (*known)[process] = made;
    return made;
#else
    return nullptr;
#endif
  }

 private:
  int descriptor_;
};

void OtherProcess::watch(std::int64_t process) {
  if (descriptor_ || process <= 0 || process == getpid()) return;
  descriptor_ = Descriptor::of(process);
  // Between what it said of itself and now.
  if (!descriptor_ && laneway::has_ended(process)) next_question_.store(for_good, std::memory_order_relaxed);
}

bool OtherProcess::has_ended() const {
  const std::int64_t next = next_question_.load(std::memory_order_relaxed);
  if (next == for_good || !descriptor_) return next == for_good;
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  if (now.count() < next) return false;
  pollfd ended{descriptor_->get(), POLLIN, 0};
  const bool has = poll(&ended, 1, 0) > 0;
  next_question_.store(has ? for_good : (now + time_between_questions).count(), std::memory_order_relaxed);
  return has;
}

}  // namespace laneway
