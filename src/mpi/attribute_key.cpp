#include "mpi/attribute_key.hpp"
#include "mpi/check.hpp"

#include <mutex>

namespace laneway {

namespace {

std::atomic<int> attributes{0};
std::atomic<int> instance{0};

}  // namespace

int mpi_instance() {
  return instance.load(std::memory_order_acquire);
}

int AttributeKey::key() {
  if (const int made = key_.load(std::memory_order_acquire); made != MPI_KEYVAL_INVALID) return made;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  int key = key_.load(std::memory_order_relaxed);
  if (key != MPI_KEYVAL_INVALID) return key;
  check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, deleted, &key, this), "MPI_Comm_create_keyval");
  key_.store(key, std::memory_order_release);
  return key;
}

void* AttributeKey::find(MPI_Comm comm) {
  void* attribute = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(comm, key(), &attribute, &found), "MPI_Comm_get_attr");
  return found != 0 ? attribute : nullptr;
}

void AttributeKey::set(MPI_Comm comm, void* attribute) {
  const int to = key();
  kept_.fetch_add(1);
  attributes.fetch_add(1);
  const int code = MPI_Comm_set_attr(comm, to, attribute);
  if (code != MPI_SUCCESS) {
    kept_.fetch_sub(1);
    attributes.fetch_sub(1);
  }
  check_mpi(code, "MPI_Comm_set_attr");
}

void AttributeKey::erase(MPI_Comm comm) {
  MPI_Comm_delete_attr(comm, key());
}

int AttributeKey::deleted(MPI_Comm, int, void* attribute, void* self) {
  auto& of = *static_cast<AttributeKey*>(self);
  of.forget_(attribute);
  of.forgotten();
  return MPI_SUCCESS;
}

void AttributeKey::forgotten() noexcept {
  int has_world = 1;
  const bool last_of_key = kept_.fetch_sub(1) == 1;
  const bool last_of_all = attributes.fetch_sub(1) == 1;
  if (!last_of_key || MPI_Initialized(&has_world) != MPI_SUCCESS || has_world != 0) return;
  if (last_of_all) instance.fetch_add(1, std::memory_order_release);
  int last = key_.exchange(MPI_KEYVAL_INVALID);
  if (last != MPI_KEYVAL_INVALID) MPI_Comm_free_keyval(&last);
}

}  // namespace laneway
