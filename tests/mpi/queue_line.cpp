#include "queue_line.hpp"

#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace laneway::test {

namespace {

void check(int status) {
  EXPECT_EQ(status, LNW_DEVICE_OK) << device_table()->message(status);
}

}  // namespace

const lnw_sim_graphs* sim_graphs() {
  if (device_table() == nullptr) return nullptr;
  return static_cast<const lnw_sim_graphs*>(device_table()->extension(LNW_SIM_GRAPHS_EXTENSION));
}

int device_kind() {
  const std::string vendor = device_table() != nullptr ? device_table()->vendor : "";
  return vendor == "nvidia" ? LNW_QUEUE_CUDA : vendor == "amd" ? LNW_QUEUE_HIP : LNW_QUEUE_SIM;
}

HostMemory::HostMemory(int kind, std::vector<unsigned char> bytes) : kind_(kind), size_(bytes.size()) {
  if (kind_ == LNW_QUEUE_HOST) {
    data_ = new unsigned char[size_];
  } else {
    void* made = nullptr;
    check(device_table()->host_malloc(0, size_, &made));
    data_ = static_cast<unsigned char*>(made);
  }
  set(bytes);
}

HostMemory::~HostMemory() {
  if (kind_ == LNW_QUEUE_HOST)
    delete[] data_;
  else
    check(device_table()->host_free(0, data_));
}

void HostMemory::set(const std::vector<unsigned char>& bytes) {
  std::memcpy(data_, bytes.data(), size_);
}

LineMemory::LineMemory(int kind, std::size_t bytes) : kind_(kind) {
  if (kind_ == LNW_QUEUE_HOST) {
    host_.resize(bytes);
    data_ = host_.data();
  } else {
    check(device_table()->device_malloc(0, bytes, &data_));
  }
}

LineMemory::~LineMemory() {
  if (kind_ != LNW_QUEUE_HOST) check(device_table()->device_free(0, data_));
}

Line::Line(int kind, int flags) : kind_(kind) {
  if (kind_ != LNW_QUEUE_HOST) check(device_table()->stream_create(0, 0, &stream_));
  EXPECT_MPI(LNW_Queue_init(&queue_, kind_ | flags, stream_));
}

Line::~Line() {
  EXPECT_MPI(LNW_Queue_free(&queue_));
  if (stream_ != nullptr) check(device_table()->stream_destroy(0, stream_));
}

void Line::copy(void* to, const void* from, std::size_t bytes) {
  if (kind_ != LNW_QUEUE_HOST) return check(device_table()->copy(0, stream_, to, from, bytes));
  copies_.push_back({to, from, bytes});
  EXPECT_MPI(LNW_Enqueue_call(
      queue_,
      [](void* argument) {
        const Copy& one = *static_cast<const Copy*>(argument);
        std::memcpy(one.to, one.from, one.bytes);
      },
      &copies_.back()));
}

void Line::hold(const std::atomic<bool>& gate) {
  EXPECT_MPI(LNW_Enqueue_call(
      queue_,
      [](void* argument) {
        while (!static_cast<const std::atomic<bool>*>(argument)->load(std::memory_order_acquire)) sched_yield();
      },
      const_cast<std::atomic<bool>*>(&gate)));
}

LNW_Queue_statistics Line::statistics() const {
  LNW_Queue_statistics statistics{};
  EXPECT_MPI(LNW_Queue_get_statistics(queue_, &statistics));
  return statistics;
}

}  // namespace laneway::test
