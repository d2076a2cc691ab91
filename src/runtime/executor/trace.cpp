#include "runtime/executor/trace.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

#include "base/log_line.hpp"
#include "base/simulated.hpp"

namespace laneway {

namespace {

/// The traces of this process that have not been written, and the file that they are written to.
class Traces {
 public:
  /// Whether traces are wanted is asked once, so that a process has one file.
  static Traces& of_process() {
    static Traces all;
    return all;
  }
  Traces(const Traces&) = delete;
  Traces& operator=(const Traces&) = delete;

  [[nodiscard]] bool wanted() const { return !path_.empty(); }

  void add(const Trace& trace) {
    const std::lock_guard lock(mutex_);
    open_.insert(&trace);
  }

  void finish(const Trace& trace, Rank world_rank) {
    const std::lock_guard lock(mutex_);
    if (open_.erase(&trace) > 0) write(trace, world_rank);
  }

 private:
  Traces() {
    if (const char* const path = std::getenv("LANEWAY_TRACE")) path_ = path;
  }
  /// Executors that the program never freed end with the process.
  ~Traces() {
    for (const Trace* const trace : open_) write(*trace, rank_);
    if (file_ != nullptr) std::fclose(file_);
  }

  void write(const Trace& trace, Rank world_rank) {
    if (path_.empty()) return;
    if (file_ == nullptr) {
      rank_ = world_rank;
      const std::string name = path_ + "." + std::to_string(rank_);
      file_ = std::fopen(name.c_str(), "w");
      if (file_ == nullptr) {
        log_line("LANEWAY_TRACE: cannot write '" + name + "', so nothing is traced");
        path_.clear();
        return;
      }
    }
    const std::string line = trace.line() + "\n";
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size() || std::fflush(file_) != 0) {
      log_line("LANEWAY_TRACE: '" + path_ + "." + std::to_string(rank_) + "' could not be written whole");
      path_.clear();
    }
  }

  std::mutex mutex_;
  std::string path_;
  std::FILE* file_ = nullptr;
  Rank rank_ = 0;
  std::set<const Trace*> open_;
};

std::int64_t now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::string host() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// Of a step that is a message, by whatever way, the peer.
std::vector<Rank> peers_of(const Plan& plan) {
  std::vector<Rank> peers;
  for (const Step& step : plan.steps)
    if (step.peer >= 0) peers.push_back(step.peer);
  std::sort(peers.begin(), peers.end());
  peers.erase(std::unique(peers.begin(), peers.end()), peers.end());
  return peers;
}

}  // namespace

std::unique_ptr<Trace> Trace::of(std::shared_ptr<const Plan> plan, const Transport& transport, bool uses_device) {
  Traces& traces = Traces::of_process();
  if (simulated || !traces.wanted()) return nullptr;
  MessageNames names = transport.names(plan->rank, peers_of(*plan));
  auto trace = std::make_unique<Trace>(std::move(plan), std::move(names), uses_device);
  traces.add(*trace);
  return trace;
}

Trace::Trace(std::shared_ptr<const Plan> plan, MessageNames names, bool uses_device, std::int64_t bytes)
    : plan_(std::move(plan)), names_(std::move(names)), uses_device_(uses_device) {
  // Not less than one exchange.
  const std::size_t one = 2 * plan_->steps.size() + 2;
  records_.resize(std::bit_ceil(std::max(one, static_cast<std::size_t>(bytes) / sizeof(Record))));
}

Trace::~Trace() {
  Traces::of_process().finish(*this, names_.own);
}

void Trace::record(int step, Moment what) {
  Record& record = records_[recorded_++ & (records_.size() - 1)];
  record = {now(), step, exchange_ << 2 | static_cast<std::uint32_t>(what)};
}

std::string Trace::line() const {
  std::string plan = to_json(*plan_);
  std::ranges::replace(plan, '\n', ' ');  // which are between tokens alone
  const std::uint64_t kept = std::min<std::uint64_t>(recorded_, records_.size());
  std::string text = "{\"schema\":1,\"rank\":" + std::to_string(names_.own) + ",\"host\":\"" + host() +
                     "\",\"group\":" + std::to_string(names_.group) + ",\"tag\":" + std::to_string(names_.tag) +
                     ",\"device\":" + (uses_device_ ? "true" : "false") + ",\"world\":{";
  const std::vector<Rank> peers = peers_of(*plan_);
  for (std::size_t p = 0; p < peers.size(); ++p)
    text += (p == 0 ? "\"" : ",\"") + std::to_string(peers[p]) + "\":" + std::to_string(names_.peers.at(p));
  text += "},\"dropped\":" + std::to_string(recorded_ - kept) + ",\"plan\":" + plan + ",\"moments\":[";
  for (std::uint64_t n = recorded_ - kept; n < recorded_; ++n) {
    const Record& each = records_[n & (records_.size() - 1)];
    text += (n == recorded_ - kept ? "[" : ",[") + std::to_string(each.exchange_and_what >> 2) + "," +
            std::to_string(each.exchange_and_what & 3U) + "," + std::to_string(each.step) + "," +
            std::to_string(each.nanoseconds) + "]";
  }
  return text + "]}";
}

}  // namespace laneway
