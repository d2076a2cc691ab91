#include "stream.hpp"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

namespace laneway::sim {

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

struct FirstFailure {
  std::atomic<bool> is_set{false};
  std::mutex mutex;
  std::string what;
};

FirstFailure& first_failure() {
  static FirstFailure* const first = new FirstFailure;
  return *first;
}

template <class Load>
void poll_until(std::uint64_t value, Load load) {
  for (int turns = 0; load() < value; ++turns)
    if (turns < 50)
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(turns < 500 ? 20 : 200));
}

constexpr int most_users = 16;

/// A name of a socket that is in no file system, and gone with whoever has it.
std::pair<sockaddr_un, socklen_t> address_of(const std::string& name, int place) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string full = name + std::to_string(place);
  std::memcpy(address.sun_path + 1, full.data(), std::min(full.size(), sizeof address.sun_path - 1));
  return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + full.size())};
}

}  // namespace

void remember_failure(const std::string& what) {
  FirstFailure& first = first_failure();
  const std::lock_guard lock(first.mutex);
  if (!first.is_set.exchange(true)) first.what = what;
}

void check_earlier_work() {
  FirstFailure& first = first_failure();
  if (!first.is_set.load(std::memory_order_relaxed)) return;
  const std::lock_guard lock(first.mutex);
  throw Failure(LNW_DEVICE_FAILED, "earlier work failed: " + first.what);
}

bool& in_host_call() {
  thread_local bool in = false;
  return in;
}

void wait_until(const std::uint64_t& word, std::uint64_t value) {
  poll_until(value, [&] { return __atomic_load_n(&word, __ATOMIC_ACQUIRE); });
}

void wait_until(const std::atomic<std::uint64_t>& word, std::uint64_t value) {
  poll_until(value, [&] { return word.load(std::memory_order_acquire); });
}

std::shared_ptr<Stream> Stream::create(int device, const Pace& pace) {
  const std::shared_ptr<Stream> stream(new Stream(device, pace));
  std::thread([stream] { stream->run(); }).detach();
  return stream;
}

void Stream::end() {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  changed_.notify_all();
}

void Stream::put(Work work) {
  const std::lock_guard lock(mutex_);
  ++put_;
  work_.push_back(std::move(work));
  changed_.notify_all();
}

std::uint64_t Stream::put_so_far() const {
  const std::lock_guard lock(mutex_);
  return put_;
}

/// Takes no lock, which who asks again and again would keep from the stream's thread.
bool Stream::idle() const {
  return done_.load(std::memory_order_acquire) == put_.load(std::memory_order_acquire);
}

void Stream::synchronize() const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&, until = put_.load()] { return done_ >= until; });
}

void Stream::hesitate() {
  if (!reorders() || random_() % 2 == 0) return;
  const double longest = pace_.delay_seconds.load(std::memory_order_relaxed);
  std::this_thread::sleep_for(Seconds(std::uniform_real_distribution(0.0, longest)(random_)));
}

void Stream::run() {
  constexpr double late_delays = 50;  // longer than others hesitate meanwhile
  prctl(PR_SET_TIMERSLACK, 1000UL);   // nanoseconds: a device sees words that have changed sooner than in 50 us
  static std::atomic<std::uint64_t> streams{0};
  const std::uint64_t number = streams++;
  std::uint64_t seed = ~pace_.seed.load();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return !work_.empty() || ended_; });
    if (work_.empty()) return;
    const Work work = std::move(work_.front());
    const std::uint64_t place = done_ + 1;
    lock.unlock();
    if (seed != pace_.seed.load()) {
      seed = pace_.seed.load();
      std::seed_seq mixed{seed, number};
      random_.seed(mixed);
    }
    try {
      hesitate();
      if (place <= late_until_) std::this_thread::sleep_for(Seconds(late_delays * pace_.delay_seconds));
      work(*this);
    } catch (const std::exception& error) {
      remember_failure(error.what());
    }
    lock.lock();
    work_.pop_front();
    ++done_;
    changed_.notify_all();
  }
}

EngineShare::EngineShare(int device, const char* engine)
    : name_("laneway-sim." + std::to_string(getuid()) + "." + std::to_string(device) + "." + engine + "."),
      socket_(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
  for (int place = 0; place < most_users; ++place) {
    const auto [address, size] = address_of(name_, place);
    if (bind(socket_, reinterpret_cast<const sockaddr*>(&address), size) == 0) return;
  }
}

EngineShare::~EngineShare() {
  close(socket_);
}

int EngineShare::users() const {
  const int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  int users = 0;
  for (int place = 0; place < most_users; ++place) {
    const auto [address, size] = address_of(name_, place);
    if (connect(probe, reinterpret_cast<const sockaddr*>(&address), size) == 0) ++users;
  }
  close(probe);
  return std::max(users, 1);
}

void EngineShare::move(const Rate& rate, std::size_t bytes) {
  constexpr Seconds slice(500e-6);
  std::this_thread::sleep_for(Seconds(rate.seconds));
  if (rate.bytes_per_second <= 0) return;
  double left = static_cast<double>(bytes) / rate.bytes_per_second;
  while (left > 0) {
    const int sharers = users();
    const auto begin = Clock::now();
    std::this_thread::sleep_for(std::min(Seconds(left * sharers), slice));
    left -= Seconds(Clock::now() - begin).count() / sharers;
  }
}

}  // namespace laneway::sim
