#include "queue_line.hpp"

#include <dlfcn.h>
#include <sched.h>

#include <cstdlib>
#include <cstring>
#include <string>

namespace laneway::test {

namespace {

void check(int status) {
  EXPECT_EQ(status, LNW_DEVICE_OK) << sim_table()->message(status);
}

}  // namespace

const lnw_device_table* sim_table() {
  static const lnw_device_table* const loaded = []() -> const lnw_device_table* {
    const char* const plugins = std::getenv("LANEWAY_DEVICE_PLUGINS");
    if (plugins == nullptr || *plugins == '\0') return nullptr;
    const std::string all(plugins);
    void* const library = dlopen(all.substr(0, all.find(':')).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return nullptr;
    const auto get = reinterpret_cast<lnw_device_table_function>(dlsym(library, LNW_DEVICE_TABLE_SYMBOL));
    const lnw_device_table* const table = get(LNW_DEVICE_TABLE_VERSION);
    return table->extension(LNW_SIM_DEVICE_EXTENSION) != nullptr ? table : nullptr;
  }();
  return loaded;
}

LineMemory::LineMemory(int kind, std::size_t bytes) : kind_(kind) {
  if (kind_ == LNW_QUEUE_HOST) {
    host_.resize(bytes);
    data_ = host_.data();
  } else {
    check(sim_table()->device_malloc(0, bytes, &data_));
  }
}

LineMemory::~LineMemory() {
  if (kind_ != LNW_QUEUE_HOST) check(sim_table()->device_free(0, data_));
}

Line::Line(int kind, int flags) : kind_(kind) {
  if (kind_ == LNW_QUEUE_SIM) check(sim_table()->stream_create(0, 0, &stream_));
  EXPECT_MPI(LNW_Queue_init(&queue_, kind_ | flags, stream_));
}

Line::~Line() {
  EXPECT_MPI(LNW_Queue_free(&queue_));
  if (stream_ != nullptr) check(sim_table()->stream_destroy(0, stream_));
}

void Line::copy(void* to, const void* from, std::size_t bytes) {
  if (kind_ == LNW_QUEUE_SIM) return check(sim_table()->copy(0, stream_, to, from, bytes));
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
