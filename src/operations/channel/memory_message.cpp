#include "operations/channel/memory_message.hpp"

#include <cstring>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/process/relax.hpp"
#include "mpi/check.hpp"
#include "runtime/carriers/messages/advance.hpp"

namespace laneway {

MemoryMessage::MemoryMessage(std::shared_ptr<PairComm> pairs, std::shared_ptr<std::byte> mapping,
                             const Message& message, const OwnProcess& other)
    : pairs_(std::move(pairs)),
      mapping_(std::move(mapping)),
      message_(message),
      memory_(mapping_.get(), message.bytes, segments) {
  other_.watch(other.process);
}

void MemoryMessage::start(int, int) {
  is_under_way_ = true;
  if (!message_.is_send) return;
  (void)memory_.put(segment_, message_.data, message_.bytes);  // fails where the receiver has been freed
  segment_ = (segment_ + 1) % segments;
}

bool MemoryMessage::take() {
  if (!memory_.has_come(segment_)) return false;
  if (message_.bytes > 0) std::memcpy(message_.data, memory_.data(segment_), static_cast<std::size_t>(message_.bytes));
  (void)memory_.release(segment_);
  segment_ = (segment_ + 1) % segments;
  return true;
}

bool MemoryMessage::test_all() {
  if (!is_under_way_) return true;
  if (!(message_.is_send ? has_room() : take())) {
    look_for_other_end();
    return false;
  }
  is_under_way_ = false;
  return true;
}

void MemoryMessage::look_for_other_end() {
  if (++fruitless_ % turns_before_messages != 0) return;
  advance_mpi(pairs_->get());
  if (!other_.has_ended()) return;
  throw Error(ErrorKind::mpi,
              "rank " + std::to_string(message_.peer) + ", with which this one shares memory of the node, has ended",
              class_of_ended_process());
}

int MemoryMessage::poll(std::span<int> completed) {
  if (!is_under_way_) return -1;
  if (!test_all()) return 0;
  completed[0] = 0;
  return 1;
}

void MemoryMessage::wait_all() {
  for (int turns = 0; !test_all();) relax(turns);
}

}  // namespace laneway
