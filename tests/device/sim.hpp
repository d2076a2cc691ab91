#pragma once

#include <gtest/gtest.h>
#include <laneway/sim_device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "runtime/carriers/device/ipc.hpp"
#include "runtime/device/device.hpp"

namespace laneway {

inline Device sim_device(int number = 0) {
  return {&device_plugins().front(), number};
}

inline const lnw_sim_device& sim_extension() {
  return *static_cast<const lnw_sim_device*>(device_plugins().front()->extension(LNW_SIM_DEVICE_EXTENSION));
}

inline lnw_sim_counters sim_counters() {
  lnw_sim_counters counters{};
  EXPECT_EQ(sim_extension().counters(&counters), LNW_DEVICE_OK);
  return counters;
}

inline void configure(const std::string& settings) {
  ASSERT_EQ(sim_extension().configure(settings.c_str()), LNW_DEVICE_OK) << device_plugins().front()->message(3);
}

template <class T>
std::vector<T> read(const void* from, std::size_t count) {
  std::vector<T> values(count);
  EXPECT_EQ(sim_extension().copy_now(values.data(), from, count * sizeof(T)), LNW_DEVICE_OK);
  return values;
}

template <class T>
void write(void* to, const std::vector<T>& values) {
  EXPECT_EQ(sim_extension().copy_now(to, values.data(), values.size() * sizeof(T)), LNW_DEVICE_OK);
}

template <class T = std::uint32_t>
std::vector<T> count_up(std::size_t count, T first = 0) {
  std::vector<T> values(count);
  for (T& value : values) value = first++;
  return values;
}

/// The text of what `call` throws, or nothing.
template <class Call>
std::string thrown(Call&& call, ErrorKind kind) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

/// A process that does what it is told, with a pipe in each direction.
class Child {
 public:
  explicit Child(const std::function<void(Child&)>& body) {
    int to_child[2], to_parent[2];
    EXPECT_EQ(pipe(to_child), 0);
    EXPECT_EQ(pipe(to_parent), 0);
    process_ = fork();
    const bool here = process_ == 0;
    in_ = here ? to_child[0] : to_parent[0];
    out_ = here ? to_parent[1] : to_child[1];
    close(here ? to_child[1] : to_parent[1]);
    close(here ? to_parent[0] : to_child[0]);
    if (!here) return;
    try {
      body(*this);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (process_ > 0) {
      EXPECT_EQ(wait(), 0);
    }
  }

  template <class T>
  void send(const T& value) {
    EXPECT_EQ(::write(out_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
  }
  template <class T>
  T receive() {
    T value{};
    EXPECT_EQ(::read(in_, &value, sizeof value), static_cast<ssize_t>(sizeof value));
    return value;
  }
  /// Its exit status.
  int wait() {
    int status = -1;
    close(in_);
    close(out_);
    waitpid(process_, &status, 0);
    process_ = -1;
    return status;
  }

 private:
  pid_t process_ = -1;
  int in_ = -1, out_ = -1;
};

}  // namespace laneway
