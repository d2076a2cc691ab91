/// A queue with its stream, for tests: of host tasks, or of the first device.
#pragma once

#include <laneway/device.h>
#include <laneway/sim_device.h>

#include <atomic>
#include <cstddef>
#include <deque>
#include <vector>

#include "device_memory.hpp"
#include "support.hpp"

namespace laneway::test {

/// Null unless the first plugin is the sim device's.
[[nodiscard]] const lnw_sim_graphs* sim_graphs();
/// LNW_QUEUE_CUDA, _HIP or _SIM.
[[nodiscard]] int device_kind();

/// Host memory that copies of the line's stream read and write while the host goes on.
class HostMemory {
 public:
  HostMemory(int kind, std::vector<unsigned char> bytes);
  ~HostMemory();
  HostMemory(const HostMemory&) = delete;
  HostMemory& operator=(const HostMemory&) = delete;
  [[nodiscard]] unsigned char* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::vector<unsigned char> bytes() const { return {data_, data_ + size_}; }
  void set(const std::vector<unsigned char>& bytes);

 private:
  int kind_;
  std::size_t size_;
  unsigned char* data_ = nullptr;
};

/// Memory that the line's kind of queue is for; zero at first.
class LineMemory {
 public:
  LineMemory(int kind, std::size_t bytes);
  ~LineMemory();
  LineMemory(const LineMemory&) = delete;
  LineMemory& operator=(const LineMemory&) = delete;
  [[nodiscard]] void* data() const { return data_; }

 private:
  int kind_;
  void* data_ = nullptr;
  std::vector<unsigned char> host_;
};

class Line {
 public:
  explicit Line(int kind, int flags = 0);
  ~Line();
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;

  [[nodiscard]] LNW_Queue queue() const { return queue_; }
  [[nodiscard]] void* stream() const { return stream_; }
  /// Put into the stream; both arrays must stay.
  void copy(void* to, const void* from, std::size_t bytes);
  /// Put into the stream, which it holds until `gate` is true.
  void hold(const std::atomic<bool>& gate);
  void start(LNW_Request& request) { EXPECT_MPI(LNW_Enqueue_start(queue_, &request)); }
  void wait(LNW_Request& request) { EXPECT_MPI(LNW_Enqueue_wait(queue_, &request)); }
  void finish() {
    EXPECT_MPI(LNW_Queue_wait(queue_));
    copies_.clear();
  }
  [[nodiscard]] LNW_Queue_statistics statistics() const;

 private:
  struct Copy {
    void* to;
    const void* from;
    std::size_t bytes;
  };
  int kind_;
  void* stream_ = nullptr;
  LNW_Queue queue_ = LNW_QUEUE_NULL;
  std::deque<Copy> copies_;
};

}  // namespace laneway::test
